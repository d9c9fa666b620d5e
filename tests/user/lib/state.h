/* SPDX-License-Identifier: GPL-2.0 */
/* The states of a queue pair: the ways to each of them, and the current one. */
#ifndef STATE_H
#define STATE_H

#include <stdlib.h>
#include "device.h"

#define PAIR_QKEY 0x11223344u

#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
		    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* Options of a pair; zero means the default. */
struct pair_want {
	enum ibv_qp_type type;
	uint32_t send_wr;
	uint32_t recv_wr;
	uint32_t send_sge;
	uint32_t recv_sge;
	uint32_t inline_data;
	int cqe;
	int sig_all;
	int use_srq;
	int use_channel;
	int use_ex;
	uint64_t ex_ops;		/* In addition to the default operations. */
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t timeout;
	int stay_reset;
	struct ibv_context *ctx;
};

static MAYBE_UNUSED int qp_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qkey = PAIR_QKEY,
		.qp_access_flags = ALL_ACCESS,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	mask |= qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	if (qp->qp_type == IBV_QPT_UC)
		a.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	return ibv_modify_qp(qp, &a, mask);
}

/* UNIV_TEST_CLASS is the traffic class of connections and address handles, if it is set. */
static MAYBE_UNUSED uint8_t class_wanted(uint8_t otherwise)
{
	const char *wanted = getenv("UNIV_TEST_CLASS");

	return wanted ? strtoul(wanted, NULL, 0) : otherwise;
}

static MAYBE_UNUSED void ah_attr_to(const struct test_dev *dev, struct ibv_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	ah->dlid = dev->port.lid;
	ah->is_global = !dev->port.lid;
	ah->grh.dgid = dev->gid;
	ah->grh.sgid_index = dev->gid_index;
	ah->grh.hop_limit = 64;
	ah->grh.traffic_class = class_wanted(0);
	ah->port_num = PORT;
}

static bool qp_is_reliable(const struct ibv_qp *qp)
{
	return qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND ||
	       qp->qp_type == IBV_QPT_XRC_RECV;
}

static MAYBE_UNUSED int qp_to_rtr(const struct test_dev *dev, struct ibv_qp *qp,
				  uint32_t dest_qpn)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = dev->port.active_mtu,
		.dest_qp_num = dest_qpn,
		.rq_psn = 100,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 1,
	};
	int mask = IBV_QP_STATE;

	if (qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp_is_reliable(qp))
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	ah_attr_to(dev, &a.ah_attr);
	return ibv_modify_qp(qp, &a, mask);
}

/*
 * Connect the queue pair to a neighbour that does not answer, the last address of an IPv4
 * network. The call needs a second or more to detect that.
 */
static MAYBE_UNUSED int qp_to_nobody(const struct test_dev *dev, struct ibv_qp *qp)
{
	struct test_dev nobody = *dev;
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = 17,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
	};

	nobody.gid.raw[15] = 254;
	ah_attr_to(&nobody, &a.ah_attr);
	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
}

static MAYBE_UNUSED int qp_to_rts(struct ibv_qp *qp, const struct pair_want *want)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 100,
		.timeout = want && want->timeout ? want->timeout : 14,
		.retry_cnt = want && want->retry_cnt ? want->retry_cnt : 6,
		.rnr_retry = want && want->rnr_retry ? want->rnr_retry : 7,
		.max_rd_atomic = 8,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp_is_reliable(qp))
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(qp, &a, mask);
}

static MAYBE_UNUSED int qp_to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = { .qp_state = state };

	return ibv_modify_qp(qp, &a, IBV_QP_STATE);
}

static MAYBE_UNUSED enum ibv_qp_state qp_state_now(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	NEED_OK(ibv_query_qp(qp, &a, IBV_QP_STATE, &init));
	return a.qp_state;
}

/*
 * Wait for the error state, because a driver may complete the failed request before it
 * changes the state.
 */
static MAYBE_UNUSED enum ibv_qp_state qp_state_after_error(struct ibv_qp *qp)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	enum ibv_qp_state state;

	do
		state = qp_state_now(qp);
	while (state == IBV_QPS_RTS && now_ns() < end);
	return state;
}

static MAYBE_UNUSED void qp_connect(const struct test_dev *dev, struct ibv_qp *qp,
				    uint32_t dest_qpn, const struct pair_want *want)
{
	NEED_OK(qp_to_init(qp));
	NEED_OK(qp_to_rtr(dev, qp, dest_qpn));
	NEED_OK(qp_to_rts(qp, want));
}

#endif
