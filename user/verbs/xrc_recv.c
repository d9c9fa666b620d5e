// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * XRC receive queue pairs, created or opened. They have a handle and events, but no
 * rings: their messages go to shared receive queues.
 */
#include <errno.h>
#include <stdlib.h>

#include "verbs/common.h"
#include "why/why.h"

#define VERB_OPEN "ibv_open_qp"

int univ_xrc_recv_create(struct univ_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	struct univ_qp_create cmd = {
		.qp_type = IBV_QPT_XRC_RECV,
		.create_flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ?
				attr->create_flags : 0,
		.cookie = univ_cookie(qp->ibv.context, qp),
		.xrcd = to_uxrcd(attr->xrcd)->handle,
	};
	/* A post fails, and reads the doorbell page to tell whether the device is gone. */
	int err = univ_doorbell_map("ibv_create_qp_ex", qp->ibv.context, &qp->doorbell);

	if (!err)
		err = univ_cmd_qp_create(qp->ibv.context->cmd_fd, &cmd);
	if (!err)
		univ_events_begin(qp->ibv.context, cmd.handle);
	qp->ibv.handle = cmd.handle;
	qp->ibv.qp_num = cmd.qp_num;
	return err;
}

static int xrc_recv_open(struct univ_qp *qp, const struct ibv_qp_open_attr *attr)
{
	struct univ_qp_open cmd = {
		.xrcd = to_uxrcd(attr->xrcd)->handle,
		.qp_num = attr->qp_num,
		.qp_type = (uint32_t)attr->qp_type,
		.cookie = univ_cookie(qp->ibv.context, qp),
	};
	int err = univ_doorbell_map(VERB_OPEN, qp->ibv.context, &qp->doorbell);

	if (!err)
		err = univ_cmd_qp_open(qp->ibv.context->cmd_fd, &cmd);
	if (!err)
		univ_events_begin(qp->ibv.context, cmd.handle);
	qp->ibv.handle = cmd.handle;
	qp->ibv.qp_num = attr->qp_num;
	return err;
}

static int open_check(const struct ibv_context *context, const struct ibv_qp_open_attr *attr)
{
	const uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
				IBV_QP_OPEN_ATTR_TYPE;
	const uint32_t known = needed | IBV_QP_OPEN_ATTR_CONTEXT;

	if (attr->comp_mask & ~known)
		return univ_fail_flags(VERB_OPEN, EOPNOTSUPP, UNIV_FLAGS_OPEN_MASK,
				       attr->comp_mask, known);
	if (~attr->comp_mask & needed)
		return univ_fail_flags_missing(VERB_OPEN, UNIV_FLAGS_OPEN_MASK,
					       needed & ~attr->comp_mask);
	if (!attr->xrcd)
		return univ_fail_no_object(VERB_OPEN, UNIV_OBJECT_XRCD);
	if (attr->xrcd->context != context)
		return univ_fail_context(VERB_OPEN, UNIV_OBJECT_XRCD);
	return 0;
}

struct ibv_qp *univ_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const struct ibv_qp_init_attr_ex init = {
		.qp_context = attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : NULL,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct univ_qp *qp;

	if (open_check(context, attr))
		return NULL;
	qp = univ_qp_alloc(context, &init);
	if (!qp)
		return NULL;
	if (xrc_recv_open(qp, attr)) {
		univ_qp_free(qp);
		return NULL;
	}
	univ_qp_table_add(to_ucontext(context), qp);
	return &qp->ibv;
}
