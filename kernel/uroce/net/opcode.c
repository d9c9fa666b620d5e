// SPDX-License-Identifier: GPL-2.0
/* The table of opcodes. See opcode.h. */
#include <rdma/ib_verbs.h>

#include "opcode.h"
#include "wire.h"

/*
 * The value of IBV_WC_ATOMIC_WRITE; Linux 6.1 uses this number for another
 * opcode.
 */
#define WC_ATOMIC_WRITE 9

#define RC		UROCE_WRS_RC
#define CONNECTED	(UROCE_WRS_RC | UROCE_WRS_UC)
#define ANY		(UROCE_WRS_RC | UROCE_WRS_UC | UROCE_WRS_UD)

#define F_RECV	UROCE_WRF_RECV
#define F_IMM	(UROCE_WRF_RECV | UROCE_WRF_IMM)
#define F_INV	(UROCE_WRF_RECV | UROCE_WRF_INV)
#define F_READ	(UROCE_WRF_RESPONSE | UROCE_WRF_FETCH | UROCE_WRF_READ)
#define F_ATOMIC	(UROCE_WRF_RESPONSE | UROCE_WRF_FETCH | \
			 UROCE_WRF_ATOMIC | UROCE_WRF_OPERANDS)

/* Messages of several packets: middle, first, last, only. */
#define SENDS(last, only) \
	{ UROCE_SEND_MIDDLE, UROCE_SEND_FIRST,		\
	  UROCE_SEND_##last, UROCE_SEND_##only }
#define WRITES(last, only) \
	{ UROCE_WRITE_MIDDLE, UROCE_WRITE_FIRST,	\
	  UROCE_WRITE_##last, UROCE_WRITE_##only }
/* Every packet of the request has the same opcode. */
#define ONE(op)	{ UROCE_##op, UROCE_##op, UROCE_##op, UROCE_##op }

const struct uroce_wr_op uroce_wr_ops[256] = {
	[UNIV_WR_RDMA_WRITE] = {
		0, CONNECTED, IB_WC_RDMA_WRITE, WRITES(LAST, ONLY)
	},
	[UNIV_WR_RDMA_WRITE_WITH_IMM] = {
		F_IMM, CONNECTED, IB_WC_RDMA_WRITE, WRITES(LAST_IMM, ONLY_IMM)
	},
	[UNIV_WR_SEND] = {
		F_RECV, ANY, IB_WC_SEND, SENDS(LAST, ONLY)
	},
	[UNIV_WR_SEND_WITH_IMM] = {
		F_IMM, ANY, IB_WC_SEND, SENDS(LAST_IMM, ONLY_IMM)
	},
	[UNIV_WR_SEND_WITH_INV] = {
		F_INV, RC, IB_WC_SEND, SENDS(LAST_INV, ONLY_INV)
	},
	[UNIV_WR_RDMA_READ] = {
		F_READ, RC, IB_WC_RDMA_READ, ONE(READ_REQUEST)
	},
	[UNIV_WR_ATOMIC_CMP_AND_SWP] = {
		F_ATOMIC, RC, IB_WC_COMP_SWAP, ONE(COMPARE_SWAP)
	},
	[UNIV_WR_ATOMIC_FETCH_AND_ADD] = {
		F_ATOMIC, RC, IB_WC_FETCH_ADD, ONE(FETCH_ADD)
	},
	[UNIV_WR_ATOMIC_WRITE] = {
		UROCE_WRF_RESPONSE | UROCE_WRF_WORD, RC, WC_ATOMIC_WRITE,
		ONE(ATOMIC_WRITE)
	},
	[UNIV_WR_LOCAL_INV] = {
		UROCE_WRF_LOCAL, CONNECTED, IB_WC_LOCAL_INV
	},
	[UNIV_WR_BIND_MW] = {
		UROCE_WRF_LOCAL | UROCE_WRF_OPERANDS, CONNECTED, IB_WC_BIND_MW
	},
	[UROCE_WR_REG_MR] = {
		UROCE_WRF_LOCAL | UROCE_WRF_KERNEL, 0, IB_WC_REG_MR
	},
};
