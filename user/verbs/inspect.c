// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queries of objects, which the kernel answers: univerbs_query_mr(3), univerbs_query_mw(3),
 * univerbs_query_ah(3), univerbs_query_cq(3).
 */
#include <errno.h>
#include <string.h>

#include <infiniband/univerbs_verbs.h>

#include "verbs/common.h"
#include "why/why.h"

_Static_assert((int)UNIVERBS_MR_DMABUF == UNIV_MR_DMABUF, "values of enum univerbs_mr_kind");
_Static_assert((int)UNIVERBS_CQ_ARMED_SOLICITED == UNIV_CQ_ARMED_SOLICITED,
	       "values of enum univerbs_cq_armed");

/* No struct has grown yet, so a shorter one is a mistake. */
static int size_check(const char *verb, uint32_t size, size_t known)
{
	return size < known ? univ_fail_size(verb, EINVAL, size, known) : 0;
}

/* Fills the caller's struct, which may be longer than the library's. */
#define GIVE(to, ...) do {								\
	memset((to), 0, (to)->size);							\
	*(to) = (__typeof__(*(to))){ .size = sizeof(*(to)), __VA_ARGS__ };		\
} while (0)

UNIV_EXPORT int univerbs_query_mr(struct ibv_mr *mr, struct univerbs_mr_attr *attr)
{
	struct univ_mr_query cmd = { .handle = mr->handle };
	int err = size_check("univerbs_query_mr", attr->size, sizeof(*attr));

	if (!err)
		err = univ_cmd_mr_query(mr->context->cmd_fd, &cmd);
	if (err)
		return err;
	GIVE(attr, .pd_handle = cmd.domain, .lkey = cmd.lkey, .rkey = cmd.rkey,
	     .access = cmd.access, .kind = cmd.kind, .addr = cmd.addr, .length = cmd.length,
	     .iova = cmd.iova);
	return 0;
}

UNIV_EXPORT int univerbs_query_mw(struct ibv_mw *mw, struct univerbs_mw_attr *attr)
{
	struct univ_mw_query cmd = { .handle = mw->handle };
	int err = size_check("univerbs_query_mw", attr->size, sizeof(*attr));

	if (!err)
		err = univ_cmd_mw_query(mw->context->cmd_fd, &cmd);
	if (err)
		return err;
	GIVE(attr, .pd_handle = cmd.domain, .type = cmd.type, .rkey = cmd.rkey,
	     .bound = cmd.bound, .lkey = cmd.lkey, .access = cmd.access, .qp_num = cmd.qp_num,
	     .addr = cmd.addr, .length = cmd.length, .offset = cmd.offset);
	return 0;
}

UNIV_EXPORT int univerbs_query_ah(struct ibv_ah *ah, struct univerbs_ah_attr *attr)
{
	struct univ_ah_query cmd = { .handle = ah->handle };
	int err = size_check("univerbs_query_ah", attr->size, sizeof(*attr));

	if (!err)
		err = univ_cmd_ah_query(ah->context->cmd_fd, &cmd);
	if (err)
		return err;
	GIVE(attr, .pd_handle = cmd.domain);
	univ_ah_attr_to_ibv(&attr->attr, &cmd.attr);
	return 0;
}

UNIV_EXPORT int univerbs_query_cq(struct ibv_cq *cq, struct univerbs_cq_attr *attr)
{
	struct univ_cq_query cmd = { .handle = cq->handle };
	int err = size_check("univerbs_query_cq", attr->size, sizeof(*attr));

	if (!err)
		err = univ_cmd_cq_query(cq->context->cmd_fd, &cmd);
	if (err)
		return err;
	GIVE(attr, .cqe = cmd.cqe, .comp_vector = cmd.comp_vector, .channel = cmd.channel,
	     .armed = cmd.armed, .moderation_count = cmd.count, .moderation_period = cmd.period,
	     .overrun = cmd.overrun);
	return 0;
}
