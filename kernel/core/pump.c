// SPDX-License-Identifier: GPL-2.0
/* Who feeds a ring. */
#include <linux/bottom_half.h>
#include <linux/mm.h>
#include <linux/workqueue.h>

#include "context.h"
#include "pump.h"
#include "qp.h"
#include "srq.h"

/*
 * Steps that one caller does, with bottom halves or interrupts off. A process
 * that publishes as fast as a device completes must not keep a completion
 * handler, or a thread of its own that holds the context's lock.
 */
#define FEED_TURNS 16
/* Steps where interrupts stay off. Mostly nothing is left after the first. */
#define FEED_TURNS_IRQ 2

/*
 * The caller that queued this work may still hold the lock, and takes no further step
 * when it lets go. Were the lock only tried here, the request to go on would be lost.
 */
static void feed_later(struct work_struct *work)
{
	struct univ_feed *feed = container_of(work, struct univ_feed, later);
	unsigned long flags;

	spin_lock_irqsave(&feed->lock, flags);
	spin_unlock_irqrestore(&feed->lock, flags);
	univ_feed_kick(feed);
}

/* @step feeds a bounded piece and returns true when there is more. */
void univ_feed_init(struct univ_feed *feed,
		    bool (*step)(struct univ_feed *feed))
{
	spin_lock_init(&feed->lock);
	INIT_LIST_HEAD(&feed->polled);
	INIT_WORK(&feed->later, feed_later);
	feed->poller = NULL;
	feed->step = step;
	feed->look = NULL;
	feed->again = false;
	feed->closed = false;
	feed->moved = false;
}

/* Nobody looks at the ring by himself any more. */
void univ_feed_leave_poller(struct univ_feed *feed)
{
	unsigned long flags;

	spin_lock_irqsave(&feed->lock, flags);
	feed->poller = NULL;
	spin_unlock_irqrestore(&feed->lock, flags);
}

/*
 * After this nobody is in the device's post calls, and nobody enters them.
 * Sleeps. Who goes on later is asked to under the lock, so it is known here.
 */
void univ_feed_close(struct univ_feed *feed)
{
	unsigned long flags;

	spin_lock_irqsave(&feed->lock, flags);
	feed->closed = true;
	spin_unlock_irqrestore(&feed->lock, flags);
	cancel_work_sync(&feed->later);
}

/* Whoever came meanwhile did nothing. */
void univ_feed_reopen(struct univ_feed *feed)
{
	unsigned long flags;

	spin_lock_irqsave(&feed->lock, flags);
	feed->closed = false;
	spin_unlock_irqrestore(&feed->lock, flags);
	univ_feed_kick(feed);
}

/*
 * Feed until nothing is left, or leave word for whoever is at it. Any context.
 * A step does a bounded piece, so that interrupts are not off for long, and
 * after so many a worker goes on.
 *
 * The fence between storing @again and trying the lock pairs with the one
 * between unlocking and loading @again: either we get the lock, or its holder
 * sees our word after it let go.
 *
 * Our work is published before our word for it (release), and whoever clears
 * the word looks for work after that (the fence of smp_store_mb()). Without the
 * latter the holder could look first, then wipe out a word that came since.
 */
void univ_feed_run(struct univ_feed *feed)
{
	u32 most = irqs_disabled() ? FEED_TURNS_IRQ : FEED_TURNS;
	unsigned long flags;
	u32 turns = 0;

	smp_store_release(&feed->again, true);
	smp_mb();
	while (READ_ONCE(feed->again) && turns < most &&
	       spin_trylock_irqsave(&feed->lock, flags)) {
		smp_store_mb(feed->again, false);
		if (!feed->closed && feed->step(feed))
			WRITE_ONCE(feed->again, true);
		if (++turns == most && !feed->closed)
			queue_work(system_unbound_wq, &feed->later);
		spin_unlock_irqrestore(&feed->lock, flags);
		smp_mb();
	}
}

/*
 * One step, for the poller: it has other rings to look at, and comes back. It does
 * not leave word for a holder of the lock either: who is at the ring feeds it, and
 * who finds it empty sets its flag and looks again. Process context. Returns
 * whether there is something left to do at once.
 */
bool univ_feed_turn(struct univ_feed *feed)
{
	unsigned long flags;
	bool more = true;

	local_bh_disable();
	if (spin_trylock_irqsave(&feed->lock, flags)) {
		smp_store_mb(feed->again, false);
		more = !feed->closed && feed->step(feed);
		spin_unlock_irqrestore(&feed->lock, flags);
		/* As in univ_feed_run(): who came meanwhile has left word and gone */
		smp_mb();
		more |= READ_ONCE(feed->again);
	}
	local_bh_enable();
	return more;
}

/*
 * Feed in process context. Bottom halves are off meanwhile, so that a software
 * device that works in tasklets does its work when they come on again, here and
 * now, and no thread is woken for it.
 */
void univ_feed_kick(struct univ_feed *feed)
{
	local_bh_disable();
	univ_feed_run(feed);
	local_bh_enable();
}

/* The process has published requests; see univ_kick(). */
void univ_pump_kick(struct univ_object *obj, u32 which)
{
	struct univ_qp *qp = container_of(obj, struct univ_qp, obj);
	struct univ_srq *srq = container_of(obj, struct univ_srq, obj);

	if (which & UNIV_KICK_SEND)
		univ_feed_kick(&qp->sq.feed);
	if (which & UNIV_KICK_RECV)
		univ_feed_kick(obj->type == UNIV_OBJECT_QP ? &qp->rq.feed :
							     &srq->rq.feed);
}

/*
 * Lay out a ring at @offset of a mapping: head, then slots. Returns where the
 * next thing may begin. @slots of 0 makes no ring. What univ_region_create()
 * then refuses as too large is also what @map could not hold.
 */
size_t univ_ring_place(struct univ_ring_map *map, size_t offset, u32 slots,
		       u32 stride)
{
	memset(map, 0, sizeof(*map));
	map->head_offset = offset;
	map->slot_offset = offset + sizeof(struct univ_ring_head);
	map->slots = slots;
	map->stride = stride;
	return map->slot_offset + (size_t)slots * stride;
}

/*
 * Of a slot with room for so many pieces. Most receives are of one piece, and two
 * of those share a cache line: their queue takes half the memory.
 */
u32 univ_recv_stride(u32 max_sge)
{
	size_t size = offsetof(struct univ_recv_wr, sge) +
		      max_sge * sizeof(struct univ_sge);

	return size <= UNIV_CACHE_LINE / 2 ? UNIV_CACHE_LINE / 2 :
					     ALIGN(size, UNIV_CACHE_LINE);
}
