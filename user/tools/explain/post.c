// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Explains why a request was refused, by the attributes of its queue. */
#include <errno.h>
#include <stdlib.h>

#include "tools/explain/explain.h"
#include "why/why.h"

static uint64_t bytes_of(const struct ibv_send_wr *wr)
{
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes;
}

static bool is_datagram(const struct ibv_qp *qp)
{
	return qp->qp_type == IBV_QPT_UD;
}

static void send_cause(const char *verb, const struct ibv_qp *qp, const struct ibv_qp_cap *cap,
		       enum ibv_qp_state state, const struct ibv_send_wr *wr, int err)
{
	if (state < IBV_QPS_RTS)
		univ_fail_send_state(verb, state);
	else if (wr && (uint32_t)wr->num_sge > cap->max_send_sge)
		univ_fail_sges(verb, (uint64_t)wr->num_sge, cap->max_send_sge);
	else if (wr && wr->send_flags & IBV_SEND_INLINE && bytes_of(wr) > cap->max_inline_data)
		univ_fail_inline(verb, bytes_of(wr), cap->max_inline_data);
	else if (wr && is_datagram(qp) && !wr->wr.ud.ah)
		univ_fail_no_ah(verb);
	else if (err == ENOMEM)
		univ_fail_full(verb, UNIV_LIMIT_SEND_WR, cap->max_send_wr, cap->max_send_wr);
	else
		univ_fail_unknown(verb, err);
}

void explain_post_send(struct ibv_qp *qp, const struct ibv_send_wr *wr, int err)
{
	struct ibv_qp_init_attr init = {};
	struct ibv_qp_attr attr = {};
	int saved = errno;

	if (!ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init))
		send_cause("ibv_post_send", qp, &init.cap, attr.qp_state, wr, abs(err));
	else
		univ_fail_unknown("ibv_post_send", abs(err));
	univ_fail_tell();
	errno = saved;
}

static void recv_cause(const char *verb, const struct ibv_qp *qp, const struct ibv_qp_cap *cap,
		       enum ibv_qp_state state, const struct ibv_recv_wr *wr, int err)
{
	if (qp->srq || !cap->max_recv_wr)
		univ_fail_no_receives(verb, state, qp->srq);
	else if (state == IBV_QPS_RESET)
		univ_fail_recv_state(verb, state);
	else if (wr && (uint32_t)wr->num_sge > cap->max_recv_sge)
		univ_fail_sges(verb, (uint64_t)wr->num_sge, cap->max_recv_sge);
	else if (err == ENOMEM)
		univ_fail_full(verb, UNIV_LIMIT_RECV_WR, cap->max_recv_wr, cap->max_recv_wr);
	else
		univ_fail_unknown(verb, err);
}

void explain_post_recv(struct ibv_qp *qp, const struct ibv_recv_wr *wr, int err)
{
	struct ibv_qp_init_attr init = {};
	struct ibv_qp_attr attr = {};
	int saved = errno;

	if (!ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init))
		recv_cause("ibv_post_recv", qp, &init.cap, attr.qp_state, wr, abs(err));
	else
		univ_fail_unknown("ibv_post_recv", abs(err));
	univ_fail_tell();
	errno = saved;
}

static void srq_recv_cause(const char *verb, const struct ibv_srq_attr *attr,
			   const struct ibv_recv_wr *wr, int err)
{
	if (wr && (uint32_t)wr->num_sge > attr->max_sge)
		univ_fail_sges(verb, (uint64_t)wr->num_sge, attr->max_sge);
	else if (err == ENOMEM)
		univ_fail_full(verb, UNIV_LIMIT_RECV_WR, attr->max_wr, attr->max_wr);
	else
		univ_fail_unknown(verb, err);
}

void explain_post_srq_recv(struct ibv_srq *srq, const struct ibv_recv_wr *wr, int err)
{
	struct ibv_srq_attr attr = {};
	int saved = errno;

	if (!ibv_query_srq(srq, &attr))
		srq_recv_cause("ibv_post_srq_recv", &attr, wr, abs(err));
	else
		univ_fail_unknown("ibv_post_srq_recv", abs(err));
	univ_fail_tell();
	errno = saved;
}
