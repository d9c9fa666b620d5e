// SPDX-License-Identifier: GPL-2.0
/* An event of the device reaches each of its contexts once, and no other context. */
#define univ_chardev_add client_node_refused
#include "../../kernel/core/node/client.c"

#include "fixture.h"

static void tell(struct fixture *f, enum ib_event_type type, u32 port)
{
	struct ib_event event = {
		.device = &f->mock->ib,
		.event = type,
		.element.port_num = port,
	};

	INIT_IB_EVENT_HANDLER(&f->dev->event_handler, &f->mock->ib,
			      client_event);
	client_event(&f->dev->event_handler, &event);
}

/* Return the result of the next read(2) on the node, without waiting. */
static ssize_t next(struct fixture *f, struct univ_event *event)
{
	ssize_t ret;

	f->file->f_flags |= O_NONBLOCK;
	fixture_enter(f);
	ret = univ_event_read(&f->ctx->events, f->file, (char __user *)f->user,
			      sizeof(*event));
	if (ret > 0 && copy_from_user(event, (void __user *)f->user, ret))
		ret = -EFAULT;
	fixture_leave(f);
	return ret;
}

static void expect_event(struct kunit *test, u32 type, u32 port)
{
	struct univ_event event = {};

	KUNIT_EXPECT_EQ(test, next(test->priv, &event),
			(ssize_t)sizeof(event));
	KUNIT_EXPECT_EQ(test, event.type, type);
	KUNIT_EXPECT_EQ(test, event.port_num, port);
}

static void expect_nothing(struct kunit *test)
{
	struct univ_event event;

	KUNIT_EXPECT_EQ(test, next(test->priv, &event), (ssize_t)-EAGAIN);
}

static void client_events_of_ports(struct kunit *test)
{
	struct fixture *f = test->priv;

	tell(f, IB_EVENT_PORT_ERR, 1);
	tell(f, IB_EVENT_PORT_ACTIVE, 1);
	expect_event(test, IB_EVENT_PORT_ERR, 1);
	expect_event(test, IB_EVENT_PORT_ACTIVE, 1);
	expect_nothing(test);
}

/* The last port event that a process reads gives the current state of the port. */
static void client_event_that_was_last(struct kunit *test)
{
	struct fixture *f = test->priv;

	tell(f, IB_EVENT_PORT_ACTIVE, 1);
	tell(f, IB_EVENT_LID_CHANGE, 1);
	tell(f, IB_EVENT_PORT_ERR, 1);
	tell(f, IB_EVENT_PORT_ACTIVE, 1);
	expect_event(test, IB_EVENT_LID_CHANGE, 1);
	expect_event(test, IB_EVENT_PORT_ERR, 1);
	expect_event(test, IB_EVENT_PORT_ACTIVE, 1);
	expect_nothing(test);
}

/* A driver may report an event for a port that the device does not have. */
static void client_events_of_no_port(struct kunit *test)
{
	struct fixture *f = test->priv;

	tell(f, IB_EVENT_PORT_ERR, 0);
	tell(f, IB_EVENT_PORT_ERR, 2);
	tell(f, IB_EVENT_PORT_ERR, U32_MAX);
	expect_nothing(test);
}

static void client_event_of_device(struct kunit *test)
{
	struct fixture *f = test->priv;

	tell(f, IB_EVENT_DEVICE_FATAL, 0);
	expect_event(test, IB_EVENT_DEVICE_FATAL, 0);
	expect_nothing(test);
}

/* Events of queues are delivered through their queues, and not through the device. */
static void client_events_of_others(struct kunit *test)
{
	struct fixture *f = test->priv;

	tell(f, IB_EVENT_QP_FATAL, 1);
	tell(f, IB_EVENT_CQ_ERR, 1);
	tell(f, IB_EVENT_SRQ_LIMIT_REACHED, 1);
	expect_nothing(test);
}

static void look_for_event(struct mock *mock)
{
	struct fixture *f = mock->ending_data;

	mock->ending_data = list_empty(&f->ctx->events.ready) ? NULL : f;
}

/*
 * Queues that are flushed raise events, so a removal is told when no queue is left. Its event is
 * the last one, and a reader waits for more.
 */
static void client_removal_is_told_last(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_cq *cq = fixture_cq(f, 8);
	struct univ_qp *qp = NULL;

	if (cq)
		qp = fixture_qp(f, IB_QPT_RC, fixture_pd(f), cq, NULL, 8);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	f->mock->ending = look_for_event;
	f->mock->ending_data = f;
	fixture_kill(f);
	KUNIT_EXPECT_NULL(test, f->mock->ending_data);
	expect_event(test, IB_EVENT_DEVICE_FATAL, 0);
	expect_nothing(test);
}

/*
 * A process may be in open() when the device is removed. Between the look-up of the
 * node and the check that the device is alive, dev->ib must not be used.
 */
static void client_gone_before_open(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct ib_device *ib = f->dev->ib;

	f->dev->ib = NULL;
	f->dev->dead = true;
	KUNIT_EXPECT_EQ(test, fixture_open(f), -ENODEV);
	f->dev->dead = false;
	f->dev->ib = ib;
}

/*
 * The mock belongs to no checked driver: it gets no node, and a query through netlink
 * reports the refusal.
 */
static void client_refuses_driver(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct ib_client_nl_info res = { .port = U32_MAX };
	void *data;

	KUNIT_ASSERT_EQ(test, ib_register_client(&univ_client), 0);
	data = ib_get_client_data(&f->mock->ib, &univ_client);
	KUNIT_EXPECT_PTR_EQ(test, data, (void *)&client_refused);
	KUNIT_EXPECT_EQ(test, univ_client.get_nl_info(&f->mock->ib, data, &res),
			-EKEYREJECTED);
	KUNIT_EXPECT_NULL(test, res.cdev);
	ib_unregister_client(&univ_client);
}

static struct univ_context *opened;

/* Called instead of univ_chardev_add(). An inode with the number of a former device is opened. */
int client_node_refused(struct univ_device *dev)
{
	opened = fixture_attach(dev);
	return -EIO;
}

/*
 * A device whose node is not registered goes at once. A context that was opened meanwhile has
 * ended, and none follows.
 */
static void client_node_fails(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct fixture other = *f;
	struct univ_pd_alloc arg = {};

	opened = NULL;
	KUNIT_ASSERT_EQ(test, univ_queue_register(&f->mock->ib, f->dev->queue), 0);
	KUNIT_EXPECT_EQ(test, client_add(&f->mock->ib), -EIO);
	univ_queue_unregister(&f->mock->ib);
	KUNIT_ASSERT_NOT_NULL(test, opened);
	other.ctx = opened;
	other.dev = opened->dev;
	KUNIT_EXPECT_EQ(test, fixture_call(&other, UNIV_PD_ALLOC, &arg, sizeof(arg)), -ENODEV);
	KUNIT_EXPECT_EQ(test, fixture_open(&other), -ENODEV);
	/* The context has the only reference that is left. */
	KUNIT_EXPECT_EQ(test, kref_read(&opened->dev->dev.kobj.kref), 1u);
	univ_context_kill(opened, false);
	list_del_init(&opened->link);
	univ_context_put(opened);
}

static struct kunit_case client_cases[] = {
	KUNIT_CASE(client_events_of_ports),
	KUNIT_CASE(client_event_that_was_last),
	KUNIT_CASE(client_gone_before_open),
	KUNIT_CASE(client_events_of_no_port),
	KUNIT_CASE(client_event_of_device),
	KUNIT_CASE(client_events_of_others),
	KUNIT_CASE(client_removal_is_told_last),
	KUNIT_CASE(client_refuses_driver),
	KUNIT_CASE(client_node_fails),
	{}
};

static struct kunit_suite client_suite = {
	.name = "univ_client",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = client_cases,
};
kunit_test_suite(client_suite);
