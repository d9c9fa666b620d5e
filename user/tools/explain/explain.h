/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libuniverbs-explain.so is loaded between a program and any libibverbs.so.1. Its
 * functions have the names of verbs. They call the verbs of the library and print
 * the reason of a failure, in the sentences of the univerbs library.
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define VERB __attribute__((visibility("default")))

/* Finds the library's function of this name, which the wrapper here calls. */
#define REAL(name) ({						\
	static __typeof__(name) *behind;			\
								\
	if (!behind)						\
		behind = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);	\
	behind;							\
})

/* context.c: false with the univerbs library, which explains its own failures in more detail. */
bool to_explain(void);

/* qps.c: a record of each queue pair, to name the peer of a queue pair that fails. */
void qp_add(struct ibv_qp *qp);
void qp_remove(const struct ibv_qp *qp);
void qp_modified(const struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask);
void completion_failed(const struct ibv_context *context, const struct ibv_wc *wc);

/* modify.c */
void explain_modify(struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask, int err);

/* Returns true if it has explained why a path with these attributes is impossible. */
bool explain_path(const char *verb, int err, struct ibv_context *context,
		  const struct ibv_ah_attr *ah, uint8_t port);

/* create.c */
struct ibv_qp *explained_create_qp_ex(struct ibv_context *context,
				      struct ibv_qp_init_attr_ex *attr);

/* The library's function that explained_create_qp_ex() calls, see context.c. */
struct ibv_qp *real_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/* post.c */
void explain_post_send(struct ibv_qp *qp, const struct ibv_send_wr *wr, int err);
void explain_post_recv(struct ibv_qp *qp, const struct ibv_recv_wr *wr, int err);
void explain_post_srq_recv(struct ibv_srq *srq, const struct ibv_recv_wr *wr, int err);

#endif
