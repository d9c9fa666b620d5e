/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The library's table of opcodes. The row of an operation has all of its properties: the queue
 * pairs that take it, the contents of its slot, and its name in ibv_wr_opcode_str(3). The names
 * UNIV_WR_x, IBV_WR_x and IBV_QP_EX_WITH_x follow from the first column.
 *
 * UNIV_OPCODES(ROW) calls ROW(name, word, types, traits, feature) for each row:
 *
 * types    bits of enum ibv_qp_type: the queue pairs that take the operation
 * traits   bits of enum univ_opcode_trait
 * feature  the feature that the device must have (enum univ_feature), or 0
 *
 * A new operation needs a row, and its ibv_wr_x(3) in ring/post_ex.c. ibv_post_send(3) posts it by
 * its traits. Documentation/adding.rst lists the other files.
 */
#ifndef UNIV_OPCODE_H
#define UNIV_OPCODE_H

enum univ_opcode_trait {
	UNIV_OP_OUT = 1 << 0,		/* its data goes to the peer, so it may be inline */
	UNIV_OP_REMOTE = 1 << 1,	/* its address and rkey are in wr.rdma */
	UNIV_OP_ATOMIC = 1 << 2,	/* it has operands for an atomic operation */
	UNIV_OP_QUICK = 1 << 3,		/* ring/quick.h writes it */
	UNIV_OP_EX_ONLY = 1 << 4,	/* struct ibv_send_wr has no place for it */
};

#define UNIV_ON(type) (1u << IBV_QPT_##type)

/* All connected queue pairs that send. */
#define UNIV_ON_CONNECTED (UNIV_ON(RC) | UNIV_ON(UC) | UNIV_ON(XRC_SEND))
#define UNIV_ON_RELIABLE (UNIV_ON(RC) | UNIV_ON(XRC_SEND))

#define UNIV_OPCODES(ROW)								\
	ROW(RDMA_WRITE, "rdma-write", UNIV_ON_CONNECTED,				\
	    UNIV_OP_OUT | UNIV_OP_REMOTE | UNIV_OP_QUICK, 0)		\
	ROW(RDMA_WRITE_WITH_IMM, "rdma-write-with-imm", UNIV_ON_CONNECTED,		\
	    UNIV_OP_OUT | UNIV_OP_REMOTE | UNIV_OP_QUICK, 0)		\
	ROW(SEND, "send", UNIV_ON_CONNECTED | UNIV_ON(UD) | UNIV_ON(RAW_PACKET),	\
	    UNIV_OP_OUT | UNIV_OP_QUICK, 0)				\
	ROW(SEND_WITH_IMM, "send-with-imm", UNIV_ON_CONNECTED | UNIV_ON(UD),		\
	    UNIV_OP_OUT | UNIV_OP_QUICK, 0)				\
	ROW(RDMA_READ, "rdma-read", UNIV_ON_RELIABLE,					\
	    UNIV_OP_REMOTE | UNIV_OP_QUICK, 0)				\
	ROW(ATOMIC_CMP_AND_SWP, "atomic-cmp-and-swp", UNIV_ON_RELIABLE,			\
	    UNIV_OP_ATOMIC, 0)						\
	ROW(ATOMIC_FETCH_AND_ADD, "atomic-fetch-and-add", UNIV_ON_RELIABLE,		\
	    UNIV_OP_ATOMIC, 0)						\
	ROW(LOCAL_INV, "local-inv", UNIV_ON_CONNECTED, 0, UNIV_FEATURE_WINDOWS) \
	ROW(BIND_MW, "bind-mw", UNIV_ON_CONNECTED, 0, UNIV_FEATURE_WINDOWS)	\
	ROW(SEND_WITH_INV, "send-with-inv", UNIV_ON_RELIABLE, UNIV_OP_OUT, 0) \
	ROW(TSO, "tso", UNIV_ON(RAW_PACKET), 0, UNIV_FEATURE_TSO)		\
	ROW(DRIVER1, "driver1", 0, 0, 0)						\
	ROW(FLUSH, "flush", UNIV_ON_RELIABLE, UNIV_OP_EX_ONLY, UNIV_FEATURE_FLUSH)	\
	ROW(ATOMIC_WRITE, "atomic-write", UNIV_ON_RELIABLE, UNIV_OP_EX_ONLY,	\
	    UNIV_FEATURE_ATOMIC_WRITE)

#endif
