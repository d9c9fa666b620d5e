// SPDX-License-Identifier: GPL-2.0
/* Tests of the feed of a ring: which thread runs it, and for how long. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/preempt.h>
#include <linux/workqueue.h>

#include "feed.h"

#define MANY 100000u
#define FEW 1000u

/* A ring with @left pieces of work left. */
struct supply {
	struct univ_feed feed;
	u32 left;
	u32 done;
	u32 asked;		/* steps that found the ring empty */
	struct task_struct *caller;
	u32 by_caller;
	bool bottom_halves_off;
};

static bool supply_step(struct univ_feed *feed)
{
	struct supply *s = container_of(feed, struct supply, feed);

	if (!s->left) {
		s->asked++;
		return false;
	}
	s->left--;
	s->done++;
	s->by_caller += current == s->caller;
	return true;
}

static struct supply *supply_new(struct kunit *test, u32 left)
{
	struct supply *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	univ_feed_init(&s->feed, supply_step);
	s->left = left;
	return s;
}

static void feed_until_empty(struct kunit *test)
{
	struct supply *s = supply_new(test, 5);

	univ_feed_kick(&s->feed);
	KUNIT_EXPECT_EQ(test, s->done, 5u);
	KUNIT_EXPECT_EQ(test, s->asked, 1u);
	KUNIT_EXPECT_FALSE(test, s->feed.again);
	univ_feed_close(&s->feed);
}

/*
 * A caller stops after a bounded number of steps although there is more work. A worker
 * continues.
 */
static void feed_bounded(struct kunit *test)
{
	struct supply *s = supply_new(test, MANY);

	/* MANY is large enough that a worker on another processor has not finished yet. */
	univ_feed_run(&s->feed);
	KUNIT_EXPECT_LT(test, READ_ONCE(s->done), MANY);
	while (flush_work(&s->feed.later))
		;
	KUNIT_EXPECT_EQ(test, s->done, MANY);
	KUNIT_EXPECT_GE(test, s->asked, 1u);
	univ_feed_close(&s->feed);
}

/* With interrupts disabled a caller does little, and a worker does the rest. */
static void feed_interrupts_off(struct kunit *test)
{
	struct supply *s = supply_new(test, FEW);
	unsigned long flags;

	s->caller = current;
	local_irq_save(flags);
	univ_feed_run(&s->feed);
	local_irq_restore(flags);
	while (flush_work(&s->feed.later))
		;
	KUNIT_EXPECT_LE(test, s->by_caller, 2u);
	KUNIT_EXPECT_EQ(test, s->done, FEW);
	univ_feed_close(&s->feed);
}

/* The worker may begin before the caller that queued it has released the ring. */
static void feed_worker_begins_early(struct kunit *test)
{
	struct supply *s = supply_new(test, 5);
	unsigned long flags;

	spin_lock_irqsave(&s->feed.lock, flags);
	queue_work(system_unbound_wq, &s->feed.later);
	mdelay(20);
	spin_unlock_irqrestore(&s->feed.lock, flags);
	while (flush_work(&s->feed.later))
		;
	KUNIT_EXPECT_EQ(test, s->done, 5u);
	univ_feed_close(&s->feed);
}

/* The poller has other rings to serve: it takes one step and learns whether there is more work. */
static void feed_one_turn(struct kunit *test)
{
	struct supply *s = supply_new(test, 2);

	KUNIT_EXPECT_TRUE(test, univ_feed_turn(&s->feed));
	KUNIT_EXPECT_EQ(test, s->done, 1u);
	KUNIT_EXPECT_TRUE(test, univ_feed_turn(&s->feed));
	KUNIT_EXPECT_EQ(test, s->done, 2u);
	KUNIT_EXPECT_FALSE(test, univ_feed_turn(&s->feed));
	KUNIT_EXPECT_EQ(test, s->asked, 1u);
	univ_feed_close(&s->feed);
	s->left = 1;
	KUNIT_EXPECT_FALSE(test, univ_feed_turn(&s->feed));
	KUNIT_EXPECT_EQ(test, s->done, 2u);
}

/* A step during which another feeder finds the ring busy. */
static bool busy_step(struct univ_feed *feed)
{
	struct supply *s = container_of(feed, struct supply, feed);

	s->done++;
	if (s->left) {
		s->left--;
		univ_feed_run(feed);
	}
	return false;
}

/* A feeder that finds the ring busy leaves a word, and the poller's step reports it. */
static void feed_turn_sees_word(struct kunit *test)
{
	struct supply *s = supply_new(test, 1);

	s->feed.step = busy_step;
	KUNIT_EXPECT_TRUE(test, univ_feed_turn(&s->feed));
	KUNIT_EXPECT_EQ(test, s->done, 1u);
	KUNIT_EXPECT_FALSE(test, univ_feed_turn(&s->feed));
	KUNIT_EXPECT_EQ(test, s->done, 2u);
	univ_feed_close(&s->feed);
}

static bool looking_step(struct univ_feed *feed)
{
	struct supply *s = container_of(feed, struct supply, feed);

	s->bottom_halves_off = in_softirq();
	return false;
}

/*
 * The tasklets that a software device schedules in a step run here as soon as the kick
 * is over, since it enables bottom halves then.
 */
static void feed_bottom_halves_off(struct kunit *test)
{
	struct supply *s = supply_new(test, 1);

	s->feed.step = looking_step;
	KUNIT_ASSERT_FALSE(test, in_softirq());
	univ_feed_kick(&s->feed);
	KUNIT_EXPECT_TRUE(test, s->bottom_halves_off);
	KUNIT_EXPECT_FALSE(test, in_softirq());
	univ_feed_close(&s->feed);
}

/* After the close the feed does not run, not even later in a worker. */
static void feed_closed(struct kunit *test)
{
	struct supply *s = supply_new(test, U32_MAX);
	u32 done;

	univ_feed_run(&s->feed);
	univ_feed_close(&s->feed);
	done = s->done;
	KUNIT_EXPECT_GT(test, done, 0u);
	univ_feed_run(&s->feed);
	KUNIT_EXPECT_FALSE(test, work_pending(&s->feed.later));
	KUNIT_EXPECT_EQ(test, s->done, done);
	s->left = 3;
	univ_feed_reopen(&s->feed);
	KUNIT_EXPECT_EQ(test, s->left, 0u);
	univ_feed_close(&s->feed);
}

static struct kunit_case feed_cases[] = {
	KUNIT_CASE(feed_until_empty),
	KUNIT_CASE(feed_bounded),
	KUNIT_CASE(feed_interrupts_off),
	KUNIT_CASE(feed_worker_begins_early),
	KUNIT_CASE(feed_one_turn),
	KUNIT_CASE(feed_turn_sees_word),
	KUNIT_CASE(feed_bottom_halves_off),
	KUNIT_CASE(feed_closed),
	{}
};

static struct kunit_suite feed_suite = {
	.name = "univ_feed",
	.test_cases = feed_cases,
};
kunit_test_suite(feed_suite);
