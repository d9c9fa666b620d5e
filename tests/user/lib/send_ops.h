/* SPDX-License-Identifier: GPL-2.0 */
/* Operations that a queue pair must be created for: send_ops_flags that are refused. */
#ifndef SEND_OPS_H
#define SEND_OPS_H

#include "raw.h"

/* Expect that no queue pair of @type can be created for the operation @flag, and why. */
static MAYBE_UNUSED void send_op_refused(enum ibv_qp_type type, uint64_t flag)
{
	struct pair_want want = { .type = type, .stay_reset = 1 };
	struct ibv_qp_init_attr_ex ex = {
		.qp_type = type, .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.send_ops_flags = flag,
	};
	struct pair p;

	pair_open(&p, &want);
	ex.pd = p.pd;
	ex.send_cq = p.cq[0];
	ex.recv_cq = p.cq[0];
	CHECK_NULL(ibv_create_qp_ex(p.dev.ctx, &ex), EOPNOTSUPP);
	CHECK(why_reason() == UNIV_REASON_FLAGS && why_value() == flag, "%s", why_text());
	pair_close(&p);
}

/* The operation @flag belongs to RC and XRC send (xrc_ops.c), and is @offered on RC or not. */
static MAYBE_UNUSED void send_op_of_reliable(uint64_t flag, bool offered)
{
	send_op_refused(IBV_QPT_UC, flag);
	send_op_refused(IBV_QPT_UD, flag);
	if (!offered)
		send_op_refused(IBV_QPT_RC, flag);
}

#endif
