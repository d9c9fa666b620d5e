/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_QP_H
#define UNIV_QP_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "event.h"
#include "object.h"
#include "pump.h"

struct univ_cq;
struct univ_pd;
struct univ_region;
struct univ_srq;
struct univ_xrcd;

struct univ_qp {
	struct univ_object obj;
	struct ib_qp *ib;		/* key in univ_context.qps */
	struct rhash_head by_ib;
	u32 num;
	struct univ_pd *pd;		/* dependant of these four */
	struct univ_cq *send_cq;
	struct univ_cq *recv_cq;
	struct univ_cq *partner;	/* @send_cq, if it is another one that
					 * has the channel of @recv_cq */
	struct univ_srq *srq;		/* NULL for none */
	struct univ_xrcd *xrcd;		/* XRC receive: of it alone; target.c */
	struct univ_region *region;
	struct ib_qp_cap cap;

	struct mutex mutex;		/* state, groups, modify and query */
	enum ib_qp_state state;
	bool datagrams;			/* of type UD; @ib may be gone */
	bool dying;			/* @ib is being destroyed */
	bool failed;			/* what error_work is for; not @mutex */
	/*
	 * A message that finds no receive in the device, though one waits in
	 * the ring, is lost or fails: so of unreliable transports, and of a
	 * reliable one until rnr_retry says that peers try again for ever. A
	 * queue pair knows its own side's only; both sides are one program's.
	 */
	bool eager;
	struct list_head groups;	/* of struct univ_mcast_group */

	struct univ_send_queue sq;
	struct univ_recv_queue rq;	/* no slots with a shared one */
	struct delayed_work error_work;	/* to the error state, from interrupts */
	struct delayed_work retry_work;	/* feeds when the device was full */
	struct univ_event_source events;
};

int univ_qp_call(struct univ_call *call, u32 handle, void *arg,
		 int (*op)(struct univ_qp *qp, void *arg));
int univ_qp_table_init(struct univ_context *ctx);
struct univ_qp *univ_qp_find(struct univ_cq *cq, const struct ib_qp *ib);
void univ_qp_event_handler(struct ib_event *event, void *context);
void univ_qp_fail(struct univ_qp *qp);
void univ_qp_flush(struct univ_object *obj);
int univ_qp_create_ioctl(struct univ_call *call, void *arg);
int univ_qp_modify_ioctl(struct univ_call *call, void *arg);
int univ_qp_query_ioctl(struct univ_call *call, void *arg);
int univ_qp_destroy_ioctl(struct univ_call *call, void *arg);
int univ_qp_destroy(struct univ_object *obj);

/* target.c */
int univ_target_create(struct univ_call *call, struct univ_qp_create *cmd);
int univ_qp_open_ioctl(struct univ_call *call, void *arg);
void univ_target_lock(struct univ_qp *qp);
int univ_target_lock_for(struct univ_call *call, struct univ_qp *qp);
void univ_target_unlock(struct univ_qp *qp);
int univ_target_destroy(struct univ_qp *qp);

/* qpstate.c */
u32 univ_qp_attr_mask(const struct univ_qp *qp, u32 mask);
int univ_qp_check_modify(struct univ_qp *qp, const struct univ_qp_attr *attr,
			 struct univ_hdr *hdr);

#endif
