/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues: the part that the control verbs, the drivers and the pump share.
 *
 * This room knows the rings, how a completion is written and announced, the
 * kick and the poller. It does not know how a queue is made or modified
 * (verbs/) nor whether a driver or the pump takes requests out of the rings: it
 * calls either through struct univ_queue_ops.
 */
#ifndef UNIV_QUEUES_H
#define UNIV_QUEUES_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "base.h"
#include "lines.h"
#include "queue.h"

struct pump_cq;
struct pump_qp;
struct pump_srq;
struct univ_cntr_use;
struct univ_poller;
struct univ_table;
struct univ_xrcd;

/*
 * The maximum number of scatter/gather entries of a request; bounds the pump's
 * stack.
 */
#define UNIV_MAX_SGE 32

struct univ_pd {
	struct univ_object obj;
	struct ib_pd *ib;
};

struct univ_ah {
	struct univ_object obj;
	struct ib_ah *ib;
	struct univ_pd *pd;		/* dependant of it */
	struct mutex modify;		/* one modification at a time */
};

/*
 * The moderation of a completion queue: an event is held back until @count
 * completions have been written since the last event, or until @period has
 * passed. Protected by univ_cq.lock, but for @timer.
 */
struct univ_cq_hold {
	struct univ_cq *cq;
	struct hrtimer timer;
	u16 count;			/* 0: only the time counts */
	u16 period;			/* microseconds; 0: not moderated */
	bool pending;			/* an event is held back */
	u32 arm;			/* the arm word that it answers */
	u32 since;			/* univ_cq.index at the last event */
};

/* As the process has set it; struct univ_cq_moderate. */
struct univ_cq_moderation {
	u16 count;
	u16 period;
};

struct univ_cq {
	struct univ_object obj;
	struct ib_cq *ib;
	u32 comp_vector;
	struct pump_cq *pump;		/* the pump's own */
	struct univ_channel *channel;	/* counted; NULL for none */
	struct univ_cq_hold *hold;	/* NULL until it is moderated */
	struct mutex resize;		/* region, moderation */
	struct univ_cq_moderation moderation;
	struct univ_region *region;
	struct irq_work lost;		/* the device lost completions */
	bool lost_queued;		/* @lost was queued once */
	/*
	 * Protects everything below, the index up to which the sends that
	 * complete here are retired, and the order of completions. It is taken
	 * in interrupt context. Locks of event queues are taken inside it, and
	 * by the pump also retire_lock of receive queues and the device's
	 * locks for polling.
	 */
	spinlock_t lock;
	struct univ_ring ring;
	u32 index;			/* completions written */
	u32 fired;			/* arm word of the last event */
	u32 fired_index;		/* @index at the last event */
	/*
	 * Index after the newest solicited or failed completion of which no
	 * event has told. It means nothing if the process has taken that
	 * completion, or if it lies a ring or more behind @index.
	 */
	u32 solicited_end;
	u32 flags;			/* enum univ_cq_flags */
	bool closed;
	bool fresh;			/* written since the last look at arm */
	bool fresh_solicited;
	/*
	 * @channel if an event is raised at once; NULL if there is no channel,
	 * or if @hold decides.
	 */
	struct univ_channel *tell;
	struct univ_event_source async_events;	/* in the context's queue */
	/* In the channel's queue. A thread that reads events writes to it. */
	struct univ_event_source comp_events;
};

univ_other_line(struct univ_cq, index, comp_events);
univ_other_line(struct univ_cq, fresh, comp_events);

/**
 * struct univ_polled - a ring that a poller looks at
 * @link: in one of the poller's lists
 * @poller: the poller; NULL for none. Changes under the poller's lock
 * @empty: turns in succession that found nothing, up to the number that makes
 *	the ring a cold one; the poller's own
 * @turn: looks at the ring once; returns whether something was found or more is
 *	to be done at once. Context: the poller's lock is held
 * @leave: the poller stops looking: clears @poller
 */
struct univ_polled {
	struct list_head link;
	struct univ_poller *poller;
	u32 empty;
	bool (*turn)(struct univ_polled *polled);
	void (*leave)(struct univ_polled *polled);
};

struct univ_srq {
	struct univ_object obj;
	struct ib_srq *ib;
	struct pump_srq *pump;		/* the pump's own */
	struct univ_pd *pd;		/* dependant of it */
	struct univ_cq *cq;		/* XRC: likewise of these two */
	struct univ_xrcd *xrcd;
	struct univ_region *region;
	struct univ_ring ring;
	struct mutex mutex;		/* modify and query */
	u32 max_wr;
	u32 max_sge;
	struct univ_event_source events;
};

struct univ_wq {
	struct univ_object obj;
	struct ib_wq *ib;		/* its wq_context is this struct */
	struct univ_pd *pd;		/* dependant of these two */
	struct univ_cq *cq;
	struct univ_region *region;
	struct univ_ring ring;
	struct mutex mutex;		/* modify */
	struct univ_event_source events;
};

struct univ_qp {
	struct univ_object obj;
	struct ib_qp *ib;
	struct pump_qp *pump;		/* the pump's own */
	struct univ_pd *pd;		/* dependant of these five */
	struct univ_cq *send_cq;	/* NULL with @table if it cannot send */
	struct univ_cq *recv_cq;	/* NULL with @table */
	struct univ_srq *srq;		/* NULL for none */
	struct univ_table *table;	/* likewise */
	struct univ_xrcd *xrcd;		/* XRC receive: dependant of it alone */
	struct univ_region *region;
	struct univ_queue_rings rings;
	struct ib_qp_cap cap;
	struct univ_cntr_use *cntrs;	/* attached to it; under @mutex */

	struct mutex mutex;		/* state, groups, modify and query */
	enum ib_qp_state state;
	bool dying;			/* @ib is being destroyed */
	struct list_head groups;	/* of struct univ_mcast_group */

	struct univ_polled watch;	/* the send ring, for its driver */
	u32 looked;			/* index seen in it */
	u32 num;
	struct univ_event_source events;
};

/* native.c */
const struct univ_queue_ops *univ_queue_ops(struct ib_device *ib);
void univ_queue_watch(struct univ_qp *qp);
void univ_queue_watch_again(struct univ_qp *qp);

/* complete.c */
void univ_cq_overrun(struct univ_cq *cq);
void univ_cq_fire(struct univ_cq *cq, u32 arm);

/* moderate.c */
int univ_cq_moderate(struct univ_cq *cq, u16 count, u16 period);
void univ_cq_moderate_end(struct univ_cq *cq);
void univ_cq_hold_event(struct univ_cq *cq, u32 arm);

/* kick.c */
long univ_kick(struct univ_context *ctx, unsigned long arg);

/* poller.c */
void univ_poller_stop(struct univ_context *ctx);
void univ_poller_add(struct univ_context *ctx, struct univ_polled *polled);
void univ_poller_remove(struct univ_polled *polled);
bool univ_poller_awake(const struct univ_poller *poller);
void univ_poller_wake(struct univ_poller *poller);

/* Whether the device does what all of @caps say; enum univ_queue_caps. */
static inline bool univ_queue_can(const struct univ_device *dev, u32 caps)
{
	return (dev->queue->caps & caps) == caps;
}

/* Tell the implementation that requests were published; see univ_kick(). */
static inline void univ_queue_kick(struct univ_object *obj,
				   const struct univ_queue_ops *ops, u32 which)
{
	if (likely(obj->type == UNIV_OBJECT_QP))
		ops->qp_kick(container_of(obj, struct univ_qp, obj)->ib, which);
	else if (obj->type == UNIV_OBJECT_SRQ)
		ops->srq_kick(container_of(obj, struct univ_srq, obj)->ib);
	else
		ops->wq_kick(container_of(obj, struct univ_wq, obj)->ib);
}

/*
 * Returns the slot of the next completion. The caller fills it, all but the
 * phase and the times, and hands it to univ_cq_commit(). Returns NULL when
 * there is no room: the queue is then in error for good, the process gets
 * IBV_EVENT_CQ_ERR, and the caller moves the queue pair to the error state. A
 * queue with UNIV_CQ_IGNORE_OVERRUN loses the completion instead.
 * Context: cq->lock is held until the commit.
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

/*
 * Completions were written, all of them solicited or none, and cq->index is
 * behind them. Context: cq->lock is held.
 */
static inline void univ_cq_written(struct univ_cq *cq, bool solicited)
{
	cq->fresh = true;
	if (!solicited)
		return;
	cq->fresh_solicited = true;
	cq->solicited_end = cq->index;
}

/* Shows a completion to the process. univ_cq_notify() has to follow. */
static inline void univ_cq_commit(struct univ_cq *cq, struct univ_cqe *cqe,
				  bool solicited)
{
	univ_cq_stamp(cq, cqe);
	univ_cq_ring_show(&cq->ring, cqe, cq->index++);
	univ_cq_written(cq, solicited);
}

/*
 * An event is raised for @arm, and tells of all completions that were written.
 * Context: cq->lock is held.
 */
static inline void univ_cq_answer(struct univ_cq *cq, u32 arm)
{
	lockdep_assert_held(&cq->lock);
	cq->fired = arm;
	cq->fired_index = cq->index;
	cq->solicited_end = cq->index - cq->ring.count;
	/* See the library's event_end() for what the index is ordered with. */
	WRITE_ONCE(cq->ring.head->kernel.fired_index, cq->fired_index);
	WRITE_ONCE(cq->ring.head->kernel.fired, arm);
}

/*
 * Looks whether the process armed the queue, and raises the event if @fire is
 * set; otherwise a later call has to. The fence pairs with the one in the
 * library's univ_cq_ring_arm(): either the kernel sees the arm word, or the
 * process sees the completion when it polls after arming.
 * Context: cq->lock is held.
 */
static inline void univ_cq_look(struct univ_cq *cq, bool fire)
{
	bool armed;
	u32 arm;

	lockdep_assert_held(&cq->lock);
	if (!cq->fresh)
		return;
	smp_mb();
	arm = READ_ONCE(cq->ring.head->user.arm);
	armed = arm != cq->fired && (cq->fresh_solicited || !(arm & 1));
	if (unlikely(armed) && !fire)
		return;
	cq->fresh = false;
	cq->fresh_solicited = false;
	if (unlikely(armed))
		univ_cq_fire(cq, arm);
}

/* Raises the event if the process armed the queue. Context: as above. */
static inline void univ_cq_notify(struct univ_cq *cq)
{
	univ_cq_look(cq, true);
}

#endif
