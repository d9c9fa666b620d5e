// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The operations that a queue pair takes, according to the table of base/opcode.h. */
#include <errno.h>

#include "base/base.h"
#include "ring/post.h"
#include "why/why.h"

struct opcode {
	uint64_t ex_flag;
	uint32_t types;
	uint32_t feature;
};

/* No ibv_wr_x(3) posts this operation. */
#define IBV_QP_EX_WITH_DRIVER1 0

#define ROW(name, word, the_types, traits, the_feature)	\
	[UNIV_WR_##name] = {					\
		.ex_flag = IBV_QP_EX_WITH_##name,		\
		.types = (the_types),				\
		.feature = (the_feature),			\
	},

static const struct opcode opcodes[] = { UNIV_OPCODES(ROW) };

/* The opcodes that a queue pair of @type takes on a device with @features. */
static uint32_t opcodes_of(uint32_t features, enum ibv_qp_type type)
{
	uint32_t found = 0, i;

	for (i = 0; i < UNIV_COUNT(opcodes); i++)
		if ((uint32_t)type < 32 && (opcodes[i].types >> type & 1) &&
		    (opcodes[i].feature & ~features) == 0)
			found |= 1u << i;
	return found;
}

uint32_t univ_qp_opcodes(const struct univ_context *ctx, enum ibv_qp_type type)
{
	return opcodes_of(ctx->features, type);
}

/* A list of work requests has no place for some operations. */
uint32_t univ_qp_opcodes_listed(const struct univ_context *ctx, enum ibv_qp_type type)
{
	return univ_qp_opcodes(ctx, type) & ~UNIV_OPCODES_EX_ONLY;
}

/*
 * The operations that send_quick() writes. They need no member besides the ones that all operations
 * have.
 */
uint32_t univ_qp_quick(const struct univ_qp *qp)
{
	if (qp->ibv.qp_type != IBV_QPT_RC && qp->ibv.qp_type != IBV_QPT_UC)
		return 0;
	return qp->sq.max_sge ? qp->opcodes & UNIV_OPCODES_QUICK : 0;
}

/* Bits of enum ibv_qp_create_send_ops_flags. */
static uint64_t ex_flags_of(uint32_t taken)
{
	uint64_t flags = 0;
	uint32_t i;

	for (i = 0; i < UNIV_COUNT(opcodes); i++)
		if (taken >> i & 1)
			flags |= opcodes[i].ex_flag;
	return flags;
}

int univ_qp_ex_check(const struct univ_context *ctx, enum ibv_qp_type type, uint64_t ops)
{
	uint64_t offered = ex_flags_of(univ_qp_opcodes(ctx, type));

	if (ops & ~offered)
		return univ_fail_flags("ibv_create_qp_ex", EOPNOTSUPP, UNIV_FLAGS_SEND_OPS, ops,
				       offered);
	return 0;
}

/* @qp does not take the operation: either its type never does, or its device lacks it. */
int univ_send_impossible(const char *verb, int err, const struct univ_qp *qp, uint32_t opcode)
{
	if (opcode < 32 && (opcodes_of(UINT32_MAX, qp->ibv.qp_type) >> opcode & 1))
		return univ_fail_no_operation(verb, err, opcode);
	return univ_fail_opcode(verb, err, qp->ibv.qp_type, opcode);
}
