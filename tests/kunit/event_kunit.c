// SPDX-License-Identifier: GPL-2.0
/* Event queues and sources: each event is delivered exactly once, and wakes every waiter. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/uaccess.h>

#include "fixture.h"

struct events {
	struct fixture *f;
	struct univ_event_queue queue;
	struct univ_event_source a;
	struct univ_event_source b;
};

static int events_init(struct kunit *test)
{
	struct events *e;
	int ret = fixture_init(test);

	if (ret)
		return ret;
	e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	if (!e)
		return -ENOMEM;
	e->f = test->priv;
	e->f->file->f_flags |= O_NONBLOCK;
	e->f->file->private_data = e;
	univ_event_queue_init(&e->queue);
	univ_event_source_init(&e->a, 0xa, 1);
	univ_event_source_init(&e->b, 0xc, 0);
	return 0;
}

static struct events *events(struct kunit *test)
{
	return ((struct fixture *)test->priv)->file->private_data;
}

/* Call read(2) with @len bytes and store the events in @got. */
static ssize_t take(struct events *e, struct univ_event *got, size_t len)
{
	struct fixture *f = e->f;
	ssize_t ret;

	fixture_enter(f);
	ret = univ_event_read(&e->queue, f->file, (char __user *)f->user, len);
	if (ret > 0 && copy_from_user(got, (void __user *)f->user, ret))
		ret = -EFAULT;
	fixture_leave(f);
	return ret;
}

static void expect_one(struct kunit *test, u32 type, u64 cookie)
{
	struct univ_event event;

	KUNIT_EXPECT_EQ(test, take(events(test), &event, sizeof(event)),
			(ssize_t)sizeof(event));
	KUNIT_EXPECT_EQ(test, event.type, type);
	KUNIT_EXPECT_EQ(test, event.cookie, cookie);
}

static void expect_none(struct kunit *test)
{
	struct univ_event event;

	KUNIT_EXPECT_EQ(test, take(events(test), &event, sizeof(event)),
			(ssize_t)-EAGAIN);
}

static void event_empty(struct kunit *test)
{
	struct events *e = events(test);
	struct univ_event event[2];
	size_t len;

	expect_none(test);
	for (len = 0; len < sizeof(event[0]); len++)
		KUNIT_EXPECT_EQ(test, take(e, event, len), (ssize_t)-EINVAL);
}

/* Unread asynchronous events that are equal are merged; different events are not. */
static void event_async_merge(struct kunit *test)
{
	struct events *e = events(test);

	univ_event_raise(&e->queue, &e->a, IB_EVENT_PORT_ERR);
	univ_event_raise(&e->queue, &e->a, IB_EVENT_PORT_ERR);
	univ_event_raise(&e->queue, &e->a, IB_EVENT_PORT_ACTIVE);
	expect_one(test, IB_EVENT_PORT_ERR, 0xa);
	expect_one(test, IB_EVENT_PORT_ACTIVE, 0xa);
	expect_none(test);
	KUNIT_EXPECT_EQ(test, e->a.delivered_async, 2);
	univ_event_raise(&e->queue, &e->a, IB_EVENT_PORT_ERR);
	expect_one(test, IB_EVENT_PORT_ERR, 0xa);
}

/*
 * Events are read in the order they were raised, whatever their types. Of equal events,
 * the latest counts.
 */
static void event_order(struct kunit *test)
{
	struct events *e = events(test);
	u32 type, round;

	for (round = 0; round < 3; round++)
		for (type = UNIV_EVENT_TYPES; type; type--)
			univ_event_raise(&e->queue, &e->a, type - 1);
	univ_event_raise(&e->queue, &e->a, 7);
	univ_event_raise(&e->queue, &e->a, 7);
	for (type = UNIV_EVENT_TYPES; type; type--)
		if (type - 1 != 7)
			expect_one(test, type - 1, 0xa);
	expect_one(test, 7, 0xa);
	expect_none(test);
}

/* The process of such a source reads completion events, and no asynchronous ones. */
static void event_no_async(struct kunit *test)
{
	struct events *e = events(test);

	e->b.cookie |= UNIV_COOKIE_NO_ASYNC;
	univ_event_raise(&e->queue, &e->b, IB_EVENT_QP_FATAL);
	expect_none(test);
	KUNIT_EXPECT_EQ(test, e->b.delivered_async, 0);
	univ_event_complete(&e->queue, &e->b);
	expect_one(test, UNIV_EVENT_COMPLETION, 0xc | UNIV_COOKIE_NO_ASYNC);
}

static void event_completions_count(struct kunit *test)
{
	struct events *e = events(test);
	int i;

	for (i = 0; i < 5; i++)
		univ_event_complete(&e->queue, &e->a);
	for (i = 0; i < 5; i++)
		expect_one(test, UNIV_EVENT_COMPLETION, 0xa);
	expect_none(test);
	KUNIT_EXPECT_EQ(test, e->a.delivered, 5);
	KUNIT_EXPECT_EQ(test, e->a.delivered_async, 0);
}

/* The count of unread completions saturates, so a ready source always has an event. */
static void event_completions_end(struct kunit *test)
{
	struct events *e = events(test);

	univ_event_complete(&e->queue, &e->a);
	e->a.completions = U32_MAX;
	univ_event_complete(&e->queue, &e->a);
	expect_one(test, UNIV_EVENT_COMPLETION, 0xa);
	KUNIT_EXPECT_EQ(test, e->a.completions, U32_MAX - 1);
	univ_event_forget(&e->queue, &e->a);
	expect_none(test);
}

/* A busy source does not hide the other sources. */
static void event_take_turns(struct kunit *test)
{
	struct events *e = events(test);
	int i;

	for (i = 0; i < 3; i++)
		univ_event_complete(&e->queue, &e->a);
	univ_event_complete(&e->queue, &e->b);
	expect_one(test, UNIV_EVENT_COMPLETION, 0xa);
	expect_one(test, UNIV_EVENT_COMPLETION, 0xc);
	expect_one(test, UNIV_EVENT_COMPLETION, 0xa);
	expect_one(test, UNIV_EVENT_COMPLETION, 0xa);
	expect_none(test);
}

static void event_several_at_once(struct kunit *test)
{
	struct events *e = events(test);
	struct univ_event got[8];
	int i;

	for (i = 0; i < 5; i++)
		univ_event_complete(&e->queue, &e->a);
	/* A read returns whole events only. */
	KUNIT_EXPECT_EQ(test, take(e, got, 3 * sizeof(got[0]) + 7),
			(ssize_t)(3 * sizeof(got[0])));
	KUNIT_EXPECT_EQ(test, take(e, got, sizeof(got)),
			(ssize_t)(2 * sizeof(got[0])));
	expect_none(test);
}

static void event_forgotten(struct kunit *test)
{
	struct events *e = events(test);

	univ_event_complete(&e->queue, &e->a);
	univ_event_raise(&e->queue, &e->a, IB_EVENT_CQ_ERR);
	univ_event_complete(&e->queue, &e->b);
	univ_event_forget(&e->queue, &e->a);
	expect_one(test, UNIV_EVENT_COMPLETION, 0xc);
	expect_none(test);
	/* Its device may raise more events, which nobody reads. */
	univ_event_complete(&e->queue, &e->a);
	univ_event_raise(&e->queue, &e->a, IB_EVENT_CQ_ERR);
	expect_none(test);
	/* Forgetting a source a second time, or with nothing queued, does no harm. */
	univ_event_forget(&e->queue, &e->a);
	univ_event_forget(&e->queue, &e->b);
	KUNIT_EXPECT_EQ(test, e->a.delivered, 0);
}

/* Event types beyond the last that a source has room for are not delivered. */
static void event_strange_types(struct kunit *test)
{
	struct events *e = events(test);

	univ_event_raise(&e->queue, &e->a, 32);
	univ_event_raise(&e->queue, &e->a, U32_MAX);
	univ_event_raise(&e->queue, &e->a, UNIV_EVENT_COMPLETION);
	expect_none(test);
	univ_event_raise(&e->queue, &e->a, 31);
	expect_one(test, 31, 0xa);
}

/* Events queued before the device is removed can be read; later reads always return ENODEV. */
static void event_queue_dead(struct kunit *test)
{
	struct events *e = events(test);
	struct univ_event event;
	int i;

	univ_event_raise(&e->queue, &e->a, IB_EVENT_DEVICE_FATAL);
	univ_event_queue_kill(&e->queue);
	expect_one(test, IB_EVENT_DEVICE_FATAL, 0xa);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, take(e, &event, sizeof(event)),
				(ssize_t)-ENODEV);
}

static void event_poll_says(struct kunit *test)
{
	struct events *e = events(test);
	struct file *file = e->f->file;

	KUNIT_EXPECT_EQ(test, univ_event_poll(&e->queue, file, NULL), 0);
	univ_event_complete(&e->queue, &e->a);
	KUNIT_EXPECT_EQ(test, univ_event_poll(&e->queue, file, NULL),
			EPOLLIN | EPOLLRDNORM);
	expect_one(test, UNIV_EVENT_COMPLETION, 0xa);
	KUNIT_EXPECT_EQ(test, univ_event_poll(&e->queue, file, NULL), 0);
	univ_event_queue_kill(&e->queue);
	KUNIT_EXPECT_EQ(test, univ_event_poll(&e->queue, file, NULL),
			EPOLLERR | EPOLLHUP);
}

/* A bad buffer loses the event, and read(2) reports EFAULT. */
static void event_bad_buffer(struct kunit *test)
{
	struct events *e = events(test);
	ssize_t ret;

	univ_event_complete(&e->queue, &e->a);
	fixture_enter(e->f);
	ret = univ_event_read(&e->queue, e->f->file, (char __user *)8,
			      sizeof(struct univ_event));
	fixture_leave(e->f);
	KUNIT_EXPECT_EQ(test, ret, (ssize_t)-EFAULT);
	expect_none(test);
}

struct reader {
	struct events *e;
	ssize_t ret;
	struct completion done;
};

/* A kernel thread has no process memory, so a waiting read returns EFAULT. */
static int reader_thread(void *data)
{
	struct reader *r = data;

	r->ret = univ_event_read(&r->e->queue, r->e->f->file, NULL,
				 sizeof(struct univ_event));
	complete(&r->done);
	return 0;
}

static void wait_for_sleeper(struct events *e)
{
	while (!waitqueue_active(&e->queue.wait))
		usleep_range(1000, 2000);
}

static void event_wakes_reader(struct kunit *test)
{
	struct events *e = events(test);
	struct reader r = { .e = e };
	int i;

	e->f->file->f_flags &= ~O_NONBLOCK;
	for (i = 0; i < 3; i++) {
		init_completion(&r.done);
		KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(reader_thread, &r,
							    "univ-kunit")));
		wait_for_sleeper(e);
		if (i == 0)
			univ_event_complete(&e->queue, &e->a);
		else if (i == 1)
			univ_event_raise(&e->queue, &e->b, IB_EVENT_CQ_ERR);
		else
			univ_event_queue_kill(&e->queue);
		KUNIT_EXPECT_NE(test,
				wait_for_completion_timeout(&r.done, 10 * HZ),
				0);
		KUNIT_EXPECT_EQ(test, r.ret,
				(ssize_t)(i == 2 ? -ENODEV : -EFAULT));
	}
}

static struct kunit_case event_cases[] = {
	KUNIT_CASE(event_empty),
	KUNIT_CASE(event_async_merge),
	KUNIT_CASE(event_order),
	KUNIT_CASE(event_no_async),
	KUNIT_CASE(event_completions_count),
	KUNIT_CASE(event_completions_end),
	KUNIT_CASE(event_take_turns),
	KUNIT_CASE(event_several_at_once),
	KUNIT_CASE(event_forgotten),
	KUNIT_CASE(event_strange_types),
	KUNIT_CASE(event_queue_dead),
	KUNIT_CASE(event_poll_says),
	KUNIT_CASE(event_bad_buffer),
	KUNIT_CASE(event_wakes_reader),
	{}
};

static struct kunit_suite event_suite = {
	.name = "univ_event",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = events_init,
	.exit = fixture_exit,
	.test_cases = event_cases,
};
kunit_test_suite(event_suite);
