// SPDX-License-Identifier: GPL-2.0
/*
 * Moderation of completion events: ibv_modify_cq(3). Completions are written at
 * once. Only the event is held back, so a process that polls sees no
 * difference.
 */
#include <linux/slab.h>

#include "compat.h"
#include "queues.h"

/* Context: cq->lock is held. */
static void raise_event(struct univ_cq *cq, u32 arm)
{
	univ_cq_answer(cq, arm);
	if (cq->hold) {
		cq->hold->pending = false;
		cq->hold->since = cq->index;
	}
	if (cq->channel)
		univ_event_complete(&cq->channel->events, &cq->comp_events);
}

static bool hold_is_over(const struct univ_cq *cq,
			 const struct univ_cq_hold *hold)
{
	return !hold->period ||
	       (hold->count && cq->index - hold->since >= hold->count);
}

/*
 * An event is due, and the queue is moderated or has no channel. The timer runs
 * from the first event that is held back. Context: cq->lock is held.
 */
void univ_cq_hold_event(struct univ_cq *cq, u32 arm)
{
	struct univ_cq_hold *hold = cq->hold;

	lockdep_assert_held(&cq->lock);
	if (!cq->channel || !hold || hold_is_over(cq, hold)) {
		raise_event(cq, arm);
		return;
	}
	hold->arm = arm;
	if (hold->pending)
		return;
	hold->pending = true;
	hrtimer_start(&hold->timer,
		      ns_to_ktime((u64)hold->period * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_SOFT);
}

/*
 * Answers the arm word that the completion found. If the process has armed the
 * queue again since then, the next completion raises another event.
 */
static void raise_held(struct univ_cq *cq)
{
	if (cq->hold->pending)
		raise_event(cq, cq->hold->arm);
}

static enum hrtimer_restart hold_timer(struct hrtimer *timer)
{
	struct univ_cq_hold *hold =
		container_of(timer, struct univ_cq_hold, timer);
	struct univ_cq *cq = hold->cq;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	raise_held(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	return HRTIMER_NORESTART;
}

static struct univ_cq_hold *hold_alloc(struct univ_cq *cq)
{
	struct univ_cq_hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);

	if (!hold)
		return NULL;
	hold->cq = cq;
	hrtimer_setup(&hold->timer, hold_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	return hold;
}

/*
 * From now on an event is held back for @period microseconds, or until @count
 * completions. An event that is held back at present is raised, so it does not
 * wait by rules that hold no longer. Only one call at a time; may sleep.
 */
int univ_cq_moderate(struct univ_cq *cq, u16 count, u16 period)
{
	struct univ_cq_hold *hold = cq->hold ?: hold_alloc(cq);
	unsigned long flags;

	if (!hold)
		return -ENOMEM;
	spin_lock_irqsave(&cq->lock, flags);
	if (!cq->hold)
		hold->since = cq->index;
	cq->hold = hold;
	hold->count = count;
	hold->period = period;
	cq->tell = period ? NULL : cq->channel;
	raise_held(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	return 0;
}

/* The queue is closed, so no event is held back any more. */
void univ_cq_moderate_end(struct univ_cq *cq)
{
	if (!cq->hold)
		return;
	hrtimer_cancel(&cq->hold->timer);
	kfree(cq->hold);
	cq->hold = NULL;
}
