// SPDX-License-Identifier: GPL-2.0
/* One feeder at a time for each ring. */
#include <linux/bottom_half.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "feed.h"

/*
 * The maximum number of steps of one caller, with bottom halves or interrupts
 * off. A process that publishes as fast as a device completes must not keep a
 * completion handler busy for ever, nor a kick, for which the removal of the
 * device waits.
 */
#define FEED_TURNS 16
/*
 * The same where interrupts stay off. Mostly nothing is left after the first.
 */
#define FEED_TURNS_IRQ 2

/*
 * The caller that queued this work may still hold the lock, and takes no
 * further step after it unlocks. If the worker only tried the lock, its request
 * to go on would be lost.
 */
static void feed_later(struct work_struct *work)
{
	struct univ_feed *feed = container_of(work, struct univ_feed, later);
	unsigned long flags;

	spin_lock_irqsave(&feed->lock, flags);
	spin_unlock_irqrestore(&feed->lock, flags);
	univ_feed_kick(feed);
}

/* Context: the poller's lock is held. */
static void feed_leave_poller(struct univ_polled *polled)
{
	struct univ_feed *feed = container_of(polled, struct univ_feed, polled);
	unsigned long flags;

	spin_lock_irqsave(&feed->lock, flags);
	WRITE_ONCE(polled->poller, NULL);
	spin_unlock_irqrestore(&feed->lock, flags);
}

/* Context: the poller's lock is held. */
static bool feed_poll(struct univ_polled *polled)
{
	struct univ_feed *feed = container_of(polled, struct univ_feed, polled);
	bool more = univ_feed_turn(feed);

	if (!READ_ONCE(feed->moved))
		return more;
	WRITE_ONCE(feed->moved, false);
	return true;
}

/* @step feeds a bounded piece and returns true when there is more. */
void univ_feed_init(struct univ_feed *feed,
		    bool (*step)(struct univ_feed *feed))
{
	spin_lock_init(&feed->lock);
	INIT_LIST_HEAD(&feed->polled.link);
	INIT_WORK(&feed->later, feed_later);
	feed->polled.poller = NULL;
	feed->polled.turn = feed_poll;
	feed->polled.leave = feed_leave_poller;
	feed->step = step;
	feed->again = false;
	feed->closed = false;
	feed->moved = false;
}

/*
 * After this no feeder is inside the device's post functions, and none calls
 * them any more. Sleeps. @later is queued under the lock only while the feed is
 * open, so it can be cancelled here.
 */
void univ_feed_close(struct univ_feed *feed)
{
	unsigned long flags;

	spin_lock_irqsave(&feed->lock, flags);
	feed->closed = true;
	spin_unlock_irqrestore(&feed->lock, flags);
	cancel_work_sync(&feed->later);
}

/* Feeds once, since feeders that came meanwhile did nothing. */
void univ_feed_reopen(struct univ_feed *feed)
{
	unsigned long flags;

	spin_lock_irqsave(&feed->lock, flags);
	feed->closed = false;
	spin_unlock_irqrestore(&feed->lock, flags);
	univ_feed_kick(feed);
}

/*
 * Feeds until nothing is left, or sets @again for the feeder that holds the
 * lock. Any context. A step does a bounded piece, so that interrupts are not
 * off for long. After FEED_TURNS steps a worker goes on.
 *
 * The fence between storing @again and trying the lock pairs with the fence
 * between unlocking and loading @again: either this caller gets the lock, or
 * the holder sees @again after it unlocked.
 *
 * The release makes a caller's requests visible before its @again. The holder
 * clears @again first and looks for requests after the fence of
 * smp_store_mb(). Without that fence it could look first, and then clear an
 * @again that was set since.
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
			queue_work(system_dfl_wq, &feed->later);
		spin_unlock_irqrestore(&feed->lock, flags);
		smp_mb();
	}
}

/*
 * Feeds one step, for the poller, which has other rings to look at and returns
 * later. It does not set @again for a holder of the lock: the holder feeds the
 * ring, and a feeder that finds it empty sets the flag of the ring and looks
 * again. Process context. Returns whether there is something left to do at
 * once.
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
		/* As in univ_feed_run(): another feeder may have set @again. */
		smp_mb();
		more |= READ_ONCE(feed->again);
	}
	local_bh_enable();
	return more;
}

/*
 * Feeds in process context. Bottom halves are off meanwhile, so that a software
 * device that works in tasklets runs them here when bottom halves are enabled
 * again, and no thread is woken for them.
 */
void univ_feed_kick(struct univ_feed *feed)
{
	local_bh_disable();
	univ_feed_run(feed);
	local_bh_enable();
}
