/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs, for the files that work on them. */
#ifndef UNIV_QP_H
#define UNIV_QP_H

#include "verbs.h"

/* qp.c */
int univ_qp_call(struct univ_call *call, u32 handle, void *arg,
		 int (*op)(struct univ_qp *qp, struct univ_call *call,
			   void *arg));
void univ_qp_event_handler(struct ib_event *event, void *context);
void univ_qp_depend(struct univ_qp *qp, void (*op)(struct univ_object *obj));

/* xrc_target.c */
int univ_target_create(struct univ_call *call, struct univ_qp_create *cmd);
void univ_target_lock(struct univ_qp *qp);
int univ_target_lock_for(struct univ_call *call, struct univ_qp *qp);
void univ_target_unlock(struct univ_qp *qp);
int univ_target_destroy(struct univ_qp *qp);

/* qpstate.c */
u32 univ_qp_attr_mask(const struct univ_qp *qp, u32 mask);
void univ_qp_attr_fit(struct univ_qp_attr *attr);
int univ_qp_check_modify(struct univ_qp *qp, const struct univ_qp_attr *attr,
			 struct univ_hdr *hdr);

/* rate.c */
bool univ_rate_offered(const struct univ_qp *qp);
int univ_rate_check(const struct univ_qp *qp, u32 kbps, struct univ_hdr *hdr);
void univ_rate_set(struct univ_qp *qp, const struct univ_queue_rate *rate);

/* qp_resize.c. Context: qp->mutex is held. */
int univ_qp_resize(struct univ_qp *qp, struct univ_call *call,
		   struct univ_qp_modify *cmd);

/* altpath.c */
bool univ_altpath_apart(const struct univ_qp *qp, u32 mask);
u32 univ_altpath_max_state(const struct univ_qp *qp);
int univ_altpath_load(struct univ_qp *qp, struct ib_qp_attr *attr, u32 mask,
		      struct univ_hdr *hdr);
void univ_altpath_cancel(struct univ_qp *qp);

/* mcast.c */
void univ_mcast_detach_all(struct univ_qp *qp);

#endif
