/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Room ring: posts requests, polls completions and arms completion queues. It knows
 * the library's objects, and does not know how they are created or destroyed; the
 * only ioctl that it calls is the kick. This is its one header for the other rooms.
 */
#ifndef UNIV_RING_H
#define UNIV_RING_H

#include "ring/object.h"

/*
 * opcode.c: bits of enum univ_wr_opcode. univ_qp_opcodes_listed() leaves out the operations
 * that only ibv_wr_*(3) can post.
 */
uint32_t univ_qp_opcodes(const struct univ_context *ctx, enum ibv_qp_type type);
uint32_t univ_qp_opcodes_listed(const struct univ_context *ctx, enum ibv_qp_type type);
uint32_t univ_qp_quick(const struct univ_qp *qp);
int univ_qp_ex_check(const struct univ_context *ctx, enum ibv_qp_type type, uint64_t ops);

/* post_send.c, post_recv.c, bind.c */
uint32_t univ_send_flags(enum ibv_qp_type type);
uint32_t univ_send_states(enum ibv_qp_type type);

/* bell.c */
extern const struct univ_post_ops univ_post_by_kick;
extern const struct univ_post_ops univ_post_by_bell;

/* post_ex.c, poll_ex.c: fill in the operations of an extended queue. */
void univ_qp_ex_init(struct univ_qp *qp, uint64_t ops);
void univ_cq_ex_init(struct univ_cq *cq);

/* poll.c */
int univ_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc);
int univ_req_notify_cq(struct ibv_cq *cq, int solicited_only);
void univ_cq_told(struct univ_cq *cq);
void univ_cq_forget(struct ibv_cq *cq, uint32_t qp_num);

/* post_recv.c: ibv_wq.post_recv. Work queues have no bells. */
int univ_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* qp_table.c */
void univ_qp_table_add(struct univ_context *ctx, struct univ_qp *qp);
void univ_qp_table_remove(struct univ_context *ctx, struct univ_qp *qp);
void univ_qp_table_modified(struct univ_context *ctx, struct univ_qp *qp,
			    const struct ibv_qp_attr *attr, int mask);

#endif
