/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_CQ_H
#define UNIV_CQ_H

#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "event.h"
#include "object.h"
#include "ring.h"

struct univ_channel;
struct univ_region;

/* Completions that the pump takes from the device at once. */
#define UNIV_WC_BATCH 16

struct univ_cq {
	struct univ_object obj;
	struct ib_cq *ib;
	struct univ_channel *channel;	/* counted; NULL for none */
	struct mutex resize;		/* region */
	struct univ_region *region;
	struct irq_work soon;		/* univ_pump_comp_soon() */
	struct work_struct later;	/* goes on where @soon has done enough */
	bool lost;			/* for @soon: completions in the device */

	/*
	 * Everything below, the sends' retired indices of the queue pairs that
	 * complete here, and the order of completions. Taken in the device's
	 * interrupt context; inside it only event queues' locks.
	 */
	spinlock_t lock;
	struct univ_ring ring;
	u32 index;			/* completions written */
	u32 fired;			/* arm word that the last event answered */
	u32 flags;			/* enum univ_cq_flags */
	bool closed;
	bool used;			/* the device has completed something */
	struct univ_cq *partner;	/* see univ_qp.partner; may be NULL */
	const struct ib_qp *last_ib;	/* the last univ_qp_find(), and */
	struct univ_qp *last_qp;	/* what it found */
	bool fresh;			/* written since the last look at arm */
	bool fresh_solicited;
	struct ib_wc wc[UNIV_WC_BATCH];

	struct univ_event_source comp_events;	/* in the channel's queue */
	struct univ_event_source async_events;	/* in the context's queue */
};

struct univ_cq *univ_cq_get(struct univ_context *ctx, u32 handle,
			    struct univ_hdr *hdr);
void univ_cq_overrun(struct univ_cq *cq);
void univ_cq_fire(struct univ_cq *cq, u32 arm);

int univ_cq_create_ioctl(struct univ_call *call, void *arg);
int univ_cq_resize_ioctl(struct univ_call *call, void *arg);
int univ_cq_moderate_ioctl(struct univ_call *call, void *arg);
int univ_cq_destroy_ioctl(struct univ_call *call, void *arg);
int univ_cq_destroy(struct univ_object *obj);

/*
 * The slot of the next completion, for the caller to fill (all but phase and
 * times) and to hand to univ_cq_commit(). NULL when there is no room: the queue
 * is then in error for good, the process gets IBV_EVENT_CQ_ERR, and the caller
 * puts the queue pair in error. Context: cq->lock held until the commit.
 */
static inline struct univ_cqe *univ_cq_reserve(struct univ_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (unlikely(cq->ring.flags & UNIV_RING_OVERRUN))
		return NULL;
	if (unlikely(univ_cq_ring_full(&cq->ring, cq->index))) {
		univ_cq_overrun(cq);
		return NULL;
	}
	return univ_ring_slot(&cq->ring, cq->index);
}

static inline void univ_cq_stamp(const struct univ_cq *cq, struct univ_cqe *cqe)
{
	cqe->timestamp = 0;
	cqe->wallclock = 0;
	if (likely(!cq->flags))
		return;
	if (cq->flags & UNIV_CQ_TIMESTAMP)
		cqe->timestamp = ktime_get_ns();
	if (cq->flags & UNIV_CQ_WALLCLOCK)
		cqe->wallclock = ktime_get_real_ns();
}

/* Show a completion to the process; univ_cq_notify() is to follow. */
static inline void univ_cq_commit(struct univ_cq *cq, struct univ_cqe *cqe,
				  bool solicited)
{
	univ_cq_stamp(cq, cqe);
	univ_cq_ring_show(&cq->ring, cqe, cq->index++);
	cq->fresh = true;
	cq->fresh_solicited |= solicited;
}

/*
 * Raise the event if the process armed the queue. The fence pairs with the one
 * in the library's univ_cq_ring_arm(): either we see its arm word, or it sees our
 * completion when it polls after arming. Context: cq->lock held.
 */
static inline void univ_cq_notify(struct univ_cq *cq)
{
	bool solicited = cq->fresh_solicited;
	u32 arm;

	lockdep_assert_held(&cq->lock);
	if (!cq->fresh)
		return;
	cq->fresh = false;
	cq->fresh_solicited = false;
	smp_mb();
	arm = READ_ONCE(cq->ring.head->user.arm);
	if (unlikely(arm != cq->fired && (solicited || !(arm & 1))))
		univ_cq_fire(cq, arm);
}

#endif
