// SPDX-License-Identifier: GPL-2.0
/* Completions: written into the ring of a process, and announced. */
#include <linux/module.h>

#include "compat.h"
#include "queues.h"

/*
 * A completion found no room. Context: cq->lock is held. Out of line, as
 * univ_cq_fire(), so that univ_queue_complete() stays short.
 */
noinline void univ_cq_overrun(struct univ_cq *cq)
{
	if (cq->flags & UNIV_CQ_IGNORE_OVERRUN)
		return;
	univ_ring_set_flags(&cq->ring, cq->ring.flags | UNIV_RING_OVERRUN);
	univ_event_raise(&cq->obj.ctx->events, &cq->async_events,
			 IB_EVENT_CQ_ERR);
}

/*
 * Raises the event that the process armed the queue for, or holds it back.
 * Context: cq->lock is held.
 */
noinline void univ_cq_fire(struct univ_cq *cq, u32 arm)
{
	lockdep_assert_held(&cq->lock);
	if (unlikely(!cq->tell)) {
		univ_cq_hold_event(cq, arm);
		return;
	}
	univ_cq_answer(cq, arm);
	univ_event_complete(&cq->tell->events, &cq->comp_events);
}

/*
 * Returns false if there is no room, unless the queue has
 * UNIV_CQ_IGNORE_OVERRUN: it then loses this completion and no other. It does
 * not write over the oldest one, as hardware does: a reader finds a completion
 * by the phase of its slot, and would wait for a phase that has passed.
 * Context: cq->lock is held.
 */
static __always_inline bool write_one(struct univ_cq *cq,
				      const struct univ_cqe *cqe,
				      bool solicited)
{
	struct univ_cqe *slot = univ_cq_reserve(cq);

	if (unlikely(!slot))
		return cq->flags & UNIV_CQ_IGNORE_OVERRUN;
	memcpy(slot, cqe, offsetof(struct univ_cqe, timestamp));
	slot->flow_tag = cqe->flow_tag;
	univ_cq_commit(cq, slot, solicited);
	return true;
}

/* Writes completions one by one. Returns how many did not fit. */
static noinline u32 write_each(struct univ_cq *cq, const struct univ_cqe *cqes,
			       u32 count, bool solicited)
{
	while (write_one(cq, cqes++, solicited) && --count)
		;
	return count;
}

/*
 * Is there room for all, in a queue without flags? Completions with times, and
 * those of a queue that ignores an overrun, are written one by one. One look at
 * the index of the process serves for all. Context: cq->lock is held.
 */
static __always_inline bool has_room(const struct univ_cq *cq, u32 count)
{
	return !(cq->flags | (cq->ring.flags & UNIV_RING_OVERRUN)) &&
	       univ_cq_ring_fits(&cq->ring, cq->index, count);
}

/* Writes completions for which there is room. Context: as above. */
static __always_inline void write_all(struct univ_cq *cq,
				      const struct univ_cqe *cqe, u32 count)
{
	const struct univ_cqe *end = cqe + count;
	u32 index = cq->index, mask = cq->ring.count - 1;
	struct univ_cqe *slots = cq->ring.slots, *slot;

	do {
		slot = &slots[index & mask];
		memcpy(slot, cqe, offsetof(struct univ_cqe, timestamp));
		slot->timestamp = 0;
		slot->wallclock = 0;
		slot->flow_tag = cqe->flow_tag;
		univ_cq_ring_show(&cq->ring, slot, index++);
	} while (++cqe != end);
	cq->index = index;
}

/**
 * univ_queue_complete() - write a completion
 * @cq: the core's queue, as passed to univ_queue_ops.cq_attach()
 * @cqe: what to write; times and phase are filled in here
 * @solicited: wakes a process that waits for solicited completions; the driver
 *	sets this for each error, too
 *
 * Any context. univ_queue_notify() has to follow, for one completion or many.
 *
 * Return: false when the completion is lost: the process left no room and was
 * told, or the queue is closed. The driver then moves the queue pair to the
 * error state. An open queue that ignores overruns always returns true
 */
bool univ_queue_complete(struct univ_cq *cq, const struct univ_cqe *cqe,
			 bool solicited)
{
	return univ_queue_complete_all(cq, cqe, 1,
				       solicited ? UNIV_COMPLETE_SOLICITED : 0);
}
EXPORT_SYMBOL_NS_GPL(univ_queue_complete, UNIVERBS_NS);

/**
 * univ_queue_complete_all() - write several completions in their order
 * @cq: as for univ_queue_complete()
 * @cqes: what to write; see there
 * @count: how many, at least one. Interrupts are off meanwhile, so a driver
 *	passes a few at a time.
 * @flags: enum univ_complete_flags, for all of them
 *
 * univ_queue_complete() for each, and univ_queue_notify() if @flags says so,
 * with the lock of the queue taken once.
 *
 * Return: false when not all were written; the rest is lost, see
 * univ_queue_complete()
 */
bool univ_queue_complete_all(struct univ_cq *cq, const struct univ_cqe *cqes,
			     u32 count, u32 flags)
{
	bool solicited = flags & UNIV_COMPLETE_SOLICITED;
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	if (unlikely(cq->closed))
		goto unlock;
	if (likely(has_room(cq, count))) {
		write_all(cq, cqes, count);
		univ_cq_written(cq, solicited);
		count = 0;
	} else {
		count = write_each(cq, cqes, count, solicited);
	}
	if (flags & (UNIV_COMPLETE_NOTIFY | UNIV_COMPLETE_LOOK))
		univ_cq_look(cq, flags & UNIV_COMPLETE_NOTIFY);
unlock:
	spin_unlock_irqrestore(&cq->lock, irq);
	return !count;
}
EXPORT_SYMBOL_NS_GPL(univ_queue_complete_all, UNIVERBS_NS);

/**
 * univ_queue_timed() - do the completions of a queue have times?
 * @cq: the core's queue, as passed to univ_queue_ops.cq_attach()
 *
 * Each completion gets the time at which it is written. A driver that collects
 * completions writes those of such a queue at once, so that the time is that of
 * the end of the request.
 *
 * Return: the answer, which does not change
 */
bool univ_queue_timed(const struct univ_cq *cq)
{
	return cq->flags & (UNIV_CQ_TIMESTAMP | UNIV_CQ_WALLCLOCK);
}
EXPORT_SYMBOL_NS_GPL(univ_queue_timed, UNIVERBS_NS);

/**
 * univ_queue_notify() - raise the event if the process armed the queue
 * @cq: after univ_queue_complete()
 *
 * Any context.
 */
void univ_queue_notify(struct univ_cq *cq)
{
	unsigned long flags;

	/*
	 * The caller sees its own store. Other writers notify for themselves.
	 */
	if (!READ_ONCE(cq->fresh))
		return;
	spin_lock_irqsave(&cq->lock, flags);
	if (!cq->closed)
		univ_cq_notify(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
}
EXPORT_SYMBOL_NS_GPL(univ_queue_notify, UNIVERBS_NS);

/**
 * univ_queue_cq_ring() - the ring of a completion queue
 * @cq: the core's queue, as passed to univ_queue_ops.cq_attach()
 *
 * For a device that writes completions (%UNIV_QUEUE_WRITES_CQ). The device
 * writes slots, with the phase last, and nothing in the head.
 *
 * Return: the ring, which stays until destroy_cq
 */
const struct univ_ring *univ_queue_cq_ring(struct univ_cq *cq)
{
	return &cq->ring;
}
EXPORT_SYMBOL_NS_GPL(univ_queue_cq_ring, UNIVERBS_NS);

/**
 * univ_queue_raise() - the device has written a completion for which the
 *	process waits
 * @cq: of a device with %UNIV_QUEUE_WRITES_CQ
 *
 * The device has seen an arm word that it had not answered yet, behind a fence
 * after its store of the phase (F2 in Documentation/ordering.rst), and has
 * raised an interrupt. Any context.
 */
void univ_queue_raise(struct univ_cq *cq)
{
	unsigned long flags;
	u32 arm;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->closed)
		goto unlock;
	arm = READ_ONCE(cq->ring.head->user.arm);
	if (arm != cq->fired)
		univ_cq_fire(cq, arm);
unlock:
	spin_unlock_irqrestore(&cq->lock, flags);
}
EXPORT_SYMBOL_NS_GPL(univ_queue_raise, UNIVERBS_NS);

/**
 * univ_queue_overrun() - the device found no room for a completion
 * @cq: of a device with %UNIV_QUEUE_WRITES_CQ, which writes no completion to it
 *	any more
 *
 * Any context.
 */
void univ_queue_overrun(struct univ_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (!cq->closed)
		univ_cq_overrun(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
}
EXPORT_SYMBOL_NS_GPL(univ_queue_overrun, UNIVERBS_NS);
