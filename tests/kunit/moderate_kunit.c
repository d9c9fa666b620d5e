// SPDX-License-Identifier: GPL-2.0
/* Moderation of completion events: which completion raises the event, and when the timer ends. */
#include <linux/delay.h>
#include <linux/hrtimer.h>

#include "bh.h"
#include "channel.h"
#include "fixture.h"
#include "queues.h"

/* The longest period, in microseconds. */
#define LONG	U16_MAX

/*
 * A channel without a file. One reference is that of the completion queue, and the other one
 * stays, since the memory is KUnit's.
 */
static struct univ_channel *bare_channel(struct kunit *test)
{
	struct univ_channel *channel = kunit_kzalloc(test, sizeof(*channel), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, channel);
	kref_init(&channel->ref);
	kref_get(&channel->ref);
	INIT_LIST_HEAD(&channel->link);
	INIT_LIST_HEAD(&channel->listener);
	univ_event_queue_init(&channel->events);
	return channel;
}

static struct univ_cq *moderated_cq(struct kunit *test, u16 count, u16 period)
{
	struct fixture *f = test->priv;
	struct univ_cq_moderate arg = { .count = count, .period = period };
	struct univ_cq *cq = fixture_cq(f, 64);

	KUNIT_ASSERT_NOT_NULL(test, cq);
	cq->channel = bare_channel(test);
	arg.handle = cq->obj.handle;
	KUNIT_ASSERT_EQ(test, fixture_call(f, UNIV_CQ_MODERATE, &arg, sizeof(arg)), 0);
	return cq;
}

/* Write a completion. Return how many events the process has not read. */
static u32 complete_one(struct univ_cq *cq)
{
	const struct univ_cqe cqe = {};

	univ_queue_complete(cq, &cqe, false);
	univ_queue_notify(cq);
	return READ_ONCE(cq->comp_events.completions);
}

/* Arm the queue as the library does, and write three completions. */
static void complete_three(struct univ_cq *cq, u32 arm, u32 events[3])
{
	int i;

	cq->ring.head->user.arm = arm;
	for (i = 0; i < 3; i++)
		events[i] = complete_one(cq);
}

/*
 * Every third completion raises an event, counted from the one that raised the last. Bottom
 * halves are disabled, so the timer does not raise it before.
 */
static void moderate_by_count(struct kunit *test)
{
	struct univ_cq *cq = moderated_cq(test, 3, LONG);
	u32 first[3], second[3];

	IN_BOTTOM_HALF({
		complete_three(cq, 2, first);
		complete_three(cq, 4, second);
	});
	KUNIT_EXPECT_EQ(test, first[0], 0u);
	KUNIT_EXPECT_EQ(test, first[1], 0u);
	KUNIT_EXPECT_EQ(test, first[2], 1u);
	KUNIT_EXPECT_EQ(test, second[0], 1u);
	KUNIT_EXPECT_EQ(test, second[1], 1u);
	KUNIT_EXPECT_EQ(test, second[2], 2u);
}

/*
 * The period begins with the first event that is held back. If each completion began it afresh, a
 * queue whose completions come more often than that would never raise an event.
 */
static void moderate_by_time(struct kunit *test)
{
	struct univ_cq *cq = moderated_cq(test, 0, LONG);
	ktime_t first, last;
	int i;

	cq->ring.head->user.arm = 2;
	IN_BOTTOM_HALF({
		complete_one(cq);
		first = hrtimer_get_expires(&cq->hold->timer);
		for (i = 0; i < 20; i++)
			complete_one(cq);
		last = hrtimer_get_expires(&cq->hold->timer);
	});
	KUNIT_EXPECT_EQ(test, ktime_to_ns(last), ktime_to_ns(first));
	for (i = 0; i < 10000 && !READ_ONCE(cq->comp_events.completions); i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, READ_ONCE(cq->comp_events.completions), 1u);
	KUNIT_EXPECT_EQ(test, cq->ring.head->kernel.fired, 2u);
}

static struct kunit_case moderate_cases[] = {
	KUNIT_CASE(moderate_by_count),
	KUNIT_CASE(moderate_by_time),
	{}
};

static struct kunit_suite moderate_suite = {
	.name = "univ_moderate",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = moderate_cases,
};
kunit_test_suite(moderate_suite);
