/* SPDX-License-Identifier: GPL-2.0 */
/* One feeder at a time for each ring. */
#ifndef UNIV_FEED_H
#define UNIV_FEED_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "queues.h"

/**
 * struct univ_feed - feeds the device from a ring
 * @lock: held while feeding; protects everything of the queue except the
 *	members that are said to be under a completion queue's lock
 * @step: feeds a bounded piece; see univ_feed_init()
 * @polled: for the poller; its @poller is cleared under @lock
 * @later: goes on for a caller that has done enough
 * @again: look once more
 * @closed: the device's object is going: do not post to it
 * @moved: something was fed; for the poller
 */
struct univ_feed {
	spinlock_t lock;
	bool (*step)(struct univ_feed *feed);
	struct univ_polled polled;
	struct work_struct later;
	bool again;
	bool closed;
	bool moved;
};

void univ_feed_init(struct univ_feed *feed,
		    bool (*step)(struct univ_feed *feed));
void univ_feed_close(struct univ_feed *feed);
void univ_feed_reopen(struct univ_feed *feed);
void univ_feed_run(struct univ_feed *feed);
void univ_feed_kick(struct univ_feed *feed);
bool univ_feed_turn(struct univ_feed *feed);

#endif
