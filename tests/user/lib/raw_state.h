/* SPDX-License-Identifier: GPL-2.0 */
/* The states of a queue pair that was made without the library. */
#ifndef RAW_STATE_H
#define RAW_STATE_H

#include "raw_objects.h"

/* The first PSN of connections. */
static MAYBE_UNUSED uint32_t raw_psn = 5;

/* Find the first usable GID of the node's device. */
static MAYBE_UNUSED int raw_gid(int fd, struct univ_gid_entry *found)
{
	/* valgrind does not see what our ioctls write behind a pointer. */
	struct univ_gid_entry entries[64] = {};
	struct univ_gid_table arg = { .entries = (uintptr_t)entries, .max = ARRAY_SIZE(entries) };
	int err = raw_call(fd, UNIV_GID_TABLE, &arg);

	if (err)
		return err;
	for (uint32_t i = 0; i < arg.count; i++) {
		if (entries[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    !gid_is_ipv4((void *)entries[i].gid))
			continue;
		*found = entries[i];
		return 0;
	}
	return ENOENT;
}

static MAYBE_UNUSED void raw_ah_attr(int fd, struct univ_ah_attr *ah)
{
	struct univ_port_query port = { .port_num = PORT };
	struct univ_gid_entry gid;

	memset(ah, 0, sizeof(*ah));
	NEED_OK(raw_call(fd, UNIV_PORT_QUERY, &port));
	/* A port with a LID needs no GID. */
	if (port.lid) {
		ah->dlid = (uint16_t)port.lid;
		ah->port_num = PORT;
		return;
	}
	NEED_OK(raw_gid(fd, &gid));
	memcpy(ah->dgid, gid.gid, 16);
	ah->sgid_index = gid.gid_index;
	ah->hop_limit = 64;
	ah->is_global = 1;
	ah->port_num = PORT;
}

/*
 * An XRC initiator has only the attributes of a requester, and a target only those of a
 * responder.
 */
static MAYBE_UNUSED bool raw_asks(uint32_t type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

static MAYBE_UNUSED bool raw_answers(uint32_t type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
}

static MAYBE_UNUSED void raw_attr_init(struct univ_qp_attr *a, uint32_t type)
{
	*a = (struct univ_qp_attr){
		.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qkey = PAIR_QKEY,
		.qp_access_flags = raw_answers(type) ? ALL_ACCESS :
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
}

static MAYBE_UNUSED void raw_attr_rtr(int fd, struct univ_qp_attr *a, uint32_t type, uint32_t qpn)
{
	*a = (struct univ_qp_attr){
		.attr_mask = IBV_QP_STATE,
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.rq_psn = raw_psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
	};
	if (type == IBV_QPT_UD)
		return;
	a->attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (raw_answers(type))
		a->attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	raw_ah_attr(fd, &a->ah);
}

static MAYBE_UNUSED void raw_attr_rts(struct univ_qp_attr *a, uint32_t type)
{
	*a = (struct univ_qp_attr){
		.attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN,
		.qp_state = IBV_QPS_RTS,
		.sq_psn = raw_psn,
		.timeout = 12,
		.retry_cnt = 3,
		.rnr_retry = 3,
		.max_rd_atomic = 4,
	};
	if (raw_asks(type))
		a->attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	if (raw_asks(type) || raw_answers(type))
		a->attr_mask |= IBV_QP_TIMEOUT;
}

static MAYBE_UNUSED int raw_modify(int fd, uint32_t handle, const struct univ_qp_attr *attr)
{
	struct univ_qp_modify arg = { .handle = handle, .attr = *attr };

	return raw_call(fd, UNIV_QP_MODIFY, &arg);
}

static MAYBE_UNUSED int raw_to_state(int fd, uint32_t handle, uint32_t state)
{
	struct univ_qp_attr a = { .attr_mask = IBV_QP_STATE, .qp_state = state };

	return raw_modify(fd, handle, &a);
}

static MAYBE_UNUSED void raw_connect(int fd, struct raw_qp *qp, uint32_t dest_qpn)
{
	struct univ_qp_attr a;

	raw_attr_init(&a, qp->type);
	NEED_OK(raw_modify(fd, qp->handle, &a));
	raw_attr_rtr(fd, &a, qp->type, dest_qpn);
	NEED_OK(raw_modify(fd, qp->handle, &a));
	raw_attr_rts(&a, qp->type);
	NEED_OK(raw_modify(fd, qp->handle, &a));
}

/* A page of memory, and an RC queue pair that is connected to itself. */
struct raw_self {
	int fd;
	uint32_t pd;
	struct raw_cq cq;
	struct raw_qp qp;
	struct raw_mr mr;
	uint8_t *mem;
};

static MAYBE_UNUSED void raw_self_open(struct raw_self *self)
{
	self->fd = raw_open();
	self->pd = raw_pd(self->fd);
	self->mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	self->mr = raw_mr(self->fd, self->pd, self->mem, PAGE, ALL_ACCESS);
	raw_cq(self->fd, &self->cq, 64, -1);
	raw_qp(self->fd, &self->qp, IBV_QPT_RC, self->pd, self->cq.handle, 0);
	raw_connect(self->fd, &self->qp, self->qp.qp_num);
}

static MAYBE_UNUSED void raw_self_close(struct raw_self *self)
{
	raw_unmap(&self->qp.map);
	raw_unmap(&self->cq.map);
	close(self->fd);
	munmap(self->mem, PAGE);
}

#endif
