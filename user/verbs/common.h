/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Inside the room verbs: declarations that its files share. */
#ifndef UNIV_VERBS_COMMON_H
#define UNIV_VERBS_COMMON_H

#include "ring/ring.h"
#include "verbs/verbs.h"

struct univ_xrcd {
	struct ibv_xrcd ibv;
	uint32_t handle;
};

static inline struct univ_xrcd *to_uxrcd(struct ibv_xrcd *xrcd)
{
	return (struct univ_xrcd *)xrcd;
}

/* ah.c */
void univ_ah_attr_from_ibv(struct univ_ah_attr *to, const struct ibv_ah_attr *from);
void univ_ah_attr_to_ibv(struct ibv_ah_attr *to, const struct univ_ah_attr *from);

/* event.c */
struct univ_acks {
	const char *verb;
	enum univ_object_type type;
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
};

/* Waits until the program has acknowledged as many events as the kernel has @delivered. */
void univ_acks_wait(const struct univ_acks *acks, const uint32_t *done, uint32_t delivered);

/* doorbell.c: sets @doorbell to the context's doorbell page, which is mapped once. */
int univ_doorbell_map(const char *verb, struct ibv_context *context,
		      const struct univ_doorbell **doorbell);

/* qp.c */
struct univ_qp *univ_qp_alloc(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr);
void univ_qp_free(struct univ_qp *qp);

/* xrc_recv.c */
int univ_xrc_recv_create(struct univ_qp *qp, const struct ibv_qp_init_attr_ex *attr);

#endif
