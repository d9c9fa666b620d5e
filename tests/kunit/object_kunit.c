// SPDX-License-Identifier: GPL-2.0
/* The object table: reserve, publish, get, put, unpublish, release (adv05, adv13). */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "fixture.h"

static struct univ_object *object_new(struct kunit *test,
				      enum univ_object_type type)
{
	struct fixture *f = test->priv;
	struct univ_hdr hdr = {};
	struct univ_object *obj = kzalloc(sizeof(*obj), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_ASSERT_EQ(test, univ_object_reserve(f->ctx, obj, type, &hdr), 0);
	return obj;
}

static void object_gone(struct kunit *test, struct univ_object *obj)
{
	struct fixture *f = test->priv;
	struct univ_hdr hdr = {};

	KUNIT_EXPECT_PTR_EQ(test, obj,
			    univ_object_unpublish(f->ctx, obj->handle,
						  obj->type, &hdr));
	univ_object_release(obj);
}

/* An object is found only while it is published. */
static void object_life(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_object *obj = object_new(test, UNIV_OBJECT_PD);
	struct univ_hdr hdr = {};
	u32 handle = obj->handle;

	KUNIT_EXPECT_NE(test, handle, 0);
	KUNIT_EXPECT_PTR_EQ(test, univ_object_find(f->ctx, handle), NULL);
	univ_object_publish(obj);
	KUNIT_EXPECT_PTR_EQ(test, univ_object_find(f->ctx, handle), obj);
	univ_object_put(obj);
	KUNIT_EXPECT_PTR_EQ(test,
			    univ_object_get(f->ctx, handle, UNIV_OBJECT_PD,
					    &hdr), obj);
	univ_object_put(obj);
	object_gone(test, obj);
	KUNIT_EXPECT_PTR_EQ(test, univ_object_find(f->ctx, handle), NULL);
	KUNIT_EXPECT_EQ(test,
			PTR_ERR(univ_object_get(f->ctx, handle, UNIV_OBJECT_PD,
						&hdr)), -EINVAL);
	KUNIT_EXPECT_EQ(test, hdr.reason, UNIV_REASON_HANDLE);
	KUNIT_EXPECT_EQ(test, hdr.value, handle);
}

static void object_wrong_kind(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_object *obj = object_new(test, UNIV_OBJECT_CQ);
	struct univ_hdr hdr = {};
	u32 type;

	univ_object_publish(obj);
	for (type = UNIV_OBJECT_NONE + 1; type < UNIV_OBJECT_TYPES; type++) {
		if (type == UNIV_OBJECT_CQ)
			continue;
		KUNIT_EXPECT_EQ(test,
				PTR_ERR(univ_object_get(f->ctx, obj->handle,
							type, &hdr)), -EINVAL);
		KUNIT_EXPECT_EQ(test, hdr.reason, UNIV_REASON_HANDLE_TYPE);
		KUNIT_EXPECT_EQ(test, hdr.detail, type);
		KUNIT_EXPECT_EQ(test, hdr.bound, UNIV_OBJECT_CQ);
		KUNIT_EXPECT_EQ(test,
				PTR_ERR(univ_object_unpublish(f->ctx,
							      obj->handle, type,
							      &hdr)), -EINVAL);
	}
	/* None of these look-ups has taken a reference. */
	KUNIT_EXPECT_EQ(test, refcount_read(&obj->users), 1);
	object_gone(test, obj);
}

static void object_busy_stays(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_object *obj = object_new(test, UNIV_OBJECT_PD);
	struct univ_hdr hdr = {};

	univ_object_publish(obj);
	univ_object_depend(obj);
	univ_object_depend(obj);
	KUNIT_EXPECT_EQ(test,
			PTR_ERR(univ_object_unpublish(f->ctx, obj->handle,
						      UNIV_OBJECT_PD, &hdr)),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, hdr.reason, UNIV_REASON_BUSY);
	KUNIT_EXPECT_EQ(test, hdr.bound, 2);
	KUNIT_EXPECT_PTR_EQ(test, univ_object_find(f->ctx, obj->handle), obj);
	univ_object_put(obj);
	univ_object_undepend(obj);
	univ_object_undepend(obj);
	object_gone(test, obj);
}

/* An object that could not be destroyed is usable as before. */
static void object_republished(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_object *obj = object_new(test, UNIV_OBJECT_PD);
	struct univ_hdr hdr = {};
	int i;

	univ_object_publish(obj);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_PTR_EQ(test,
				    univ_object_unpublish(f->ctx, obj->handle,
							  UNIV_OBJECT_PD,
							  &hdr), obj);
		KUNIT_EXPECT_PTR_EQ(test,
				    univ_object_find(f->ctx, obj->handle),
				    NULL);
		univ_object_republish(obj);
		KUNIT_EXPECT_PTR_EQ(test,
				    univ_object_find(f->ctx, obj->handle), obj);
		univ_object_put(obj);
	}
	object_gone(test, obj);
}

struct taker {
	struct univ_context *ctx;
	u32 handle;
	struct univ_object *got;
	struct completion done;
};

static int taker_thread(void *data)
{
	struct taker *t = data;
	struct univ_hdr hdr = {};

	t->got = univ_object_unpublish(t->ctx, t->handle, UNIV_OBJECT_PD, &hdr);
	complete(&t->done);
	return 0;
}

/*
 * Destroying waits for a call that holds the object. A second destroy call does not
 * find the object.
 */
static void object_waits_for_users(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_object *obj = object_new(test, UNIV_OBJECT_PD);
	struct taker t = { .ctx = f->ctx, .handle = obj->handle };
	struct univ_hdr hdr = {};
	struct task_struct *task;

	init_completion(&t.done);
	univ_object_publish(obj);
	KUNIT_EXPECT_PTR_EQ(test, univ_object_find(f->ctx, obj->handle), obj);
	task = kthread_run(taker_thread, &t, "univ-kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (univ_object_find(f->ctx, obj->handle)) {
		univ_object_put(obj);
		usleep_range(1000, 2000);
	}
	/* Give the thread time to return, if it does not wait. */
	msleep(20);
	KUNIT_EXPECT_FALSE(test, completion_done(&t.done));
	KUNIT_EXPECT_EQ(test,
			PTR_ERR(univ_object_unpublish(f->ctx, obj->handle,
						      UNIV_OBJECT_PD, &hdr)),
			-EINVAL);
	univ_object_put(obj);
	wait_for_completion(&t.done);
	KUNIT_EXPECT_PTR_EQ(test, t.got, obj);
	univ_object_release(obj);
}

/* A dependant was created while the destroyer waited, so the object is published again. */
static void object_used_while_hidden(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_object *obj = object_new(test, UNIV_OBJECT_PD);
	struct taker t = { .ctx = f->ctx, .handle = obj->handle };
	struct task_struct *task;

	init_completion(&t.done);
	univ_object_publish(obj);
	KUNIT_EXPECT_PTR_EQ(test, univ_object_find(f->ctx, obj->handle), obj);
	task = kthread_run(taker_thread, &t, "univ-kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (univ_object_find(f->ctx, obj->handle)) {
		univ_object_put(obj);
		usleep_range(1000, 2000);
	}
	univ_object_depend(obj);
	univ_object_put(obj);
	wait_for_completion(&t.done);
	KUNIT_EXPECT_EQ(test, PTR_ERR(t.got), -EBUSY);
	KUNIT_EXPECT_PTR_EQ(test, univ_object_find(f->ctx, obj->handle), obj);
	univ_object_put(obj);
	univ_object_undepend(obj);
	object_gone(test, obj);
}

/* No two objects share a handle, including reserved handles, and a kick can name every handle. */
static void object_handles_unique(struct kunit *test)
{
	struct univ_object *obj[64];
	int i, j;

	for (i = 0; i < ARRAY_SIZE(obj); i++) {
		obj[i] = object_new(test, UNIV_OBJECT_PD);
		KUNIT_EXPECT_LE(test, obj[i]->handle, UNIV_KICK_HANDLE);
		KUNIT_EXPECT_GE(test, obj[i]->handle, 1);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_NE(test, obj[i]->handle, obj[j]->handle);
		if (i % 3)
			univ_object_publish(obj[i]);
	}
	for (i = 0; i < ARRAY_SIZE(obj); i++) {
		if (i % 3)
			object_gone(test, obj[i]);
		else
			univ_object_release(obj[i]);
	}
}

/* A handle beyond the range that a kick can name is never found. */
static void object_strange_handles(struct kunit *test)
{
	static const u32 handles[] = { 0, 1, UNIV_KICK_HANDLE,
				       UNIV_KICK_HANDLE + 1, S32_MAX, U32_MAX };
	struct fixture *f = test->priv;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(handles); i++)
		KUNIT_EXPECT_PTR_EQ(test,
				    univ_object_find(f->ctx, handles[i]), NULL);
}

static u32 ah_new(struct kunit *test, u32 pd)
{
	struct univ_ah_create ah = {
		.pd = pd,
		.attr = { .port_num = 1, .dlid = 1 },
	};

	KUNIT_ASSERT_EQ(test, fixture_call(test->priv, UNIV_AH_CREATE, &ah,
					   sizeof(ah)), 0);
	return ah.handle;
}

/*
 * The driver refuses to destroy a queue pair when the device goes. The device may still
 * use it, so the queue pair stays, with the objects that it needs. They are closed, and
 * their unread events are withdrawn.
 */
static void object_kept_at_the_end(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f), other = fixture_pd(f), ah = ah_new(test, pd);
	struct univ_cq *cq = fixture_cq(f, 8);
	struct univ_srq *srq = fixture_srq(f, pd, 8, 1);
	struct univ_qp *qp;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	KUNIT_ASSERT_NOT_NULL(test, srq);
	qp = fixture_qp(f, IB_QPT_RC, pd, cq, srq, 8);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	univ_event_raise(&f->ctx->events, &qp->events, IB_EVENT_QP_FATAL);
	univ_event_raise(&f->ctx->events, &srq->events, IB_EVENT_SRQ_ERR);
	univ_event_raise(&f->ctx->events, &cq->async_events, IB_EVENT_CQ_ERR);
	mock_fail_all(f->mock, MOCK_DESTROY_QP, -EIO);
	fixture_kill(f);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->mock->objects), 5);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&f->ctx->objects, qp->obj.handle),
			    &qp->obj);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&f->ctx->objects, cq->obj.handle),
			    &cq->obj);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&f->ctx->objects, srq->obj.handle),
			    &srq->obj);
	KUNIT_EXPECT_NOT_NULL(test, xa_load(&f->ctx->objects, ah));
	KUNIT_EXPECT_NOT_NULL(test, xa_load(&f->ctx->objects, pd));
	KUNIT_EXPECT_NULL(test, xa_load(&f->ctx->objects, other));
	KUNIT_EXPECT_TRUE(test, cq->closed);
	KUNIT_EXPECT_TRUE(test, list_empty(&qp->events.link));
	KUNIT_EXPECT_TRUE(test, list_empty(&srq->events.link));
	KUNIT_EXPECT_TRUE(test, list_empty(&cq->async_events.link));
	/* The device still has the queue pair, and may raise an event. */
	univ_event_raise(&f->ctx->events, &qp->events, IB_EVENT_QP_FATAL);
	KUNIT_EXPECT_TRUE(test, list_empty(&qp->events.link));

	mock_reset(f->mock);
	fixture_kill_again(f);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->mock->objects), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&f->ctx->objects));
}

static struct kunit_case object_cases[] = {
	KUNIT_CASE(object_life),
	KUNIT_CASE(object_wrong_kind),
	KUNIT_CASE(object_busy_stays),
	KUNIT_CASE(object_republished),
	KUNIT_CASE(object_waits_for_users),
	KUNIT_CASE(object_used_while_hidden),
	KUNIT_CASE(object_handles_unique),
	KUNIT_CASE(object_strange_handles),
	KUNIT_CASE(object_kept_at_the_end),
	{}
};

static struct kunit_suite object_suite = {
	.name = "univ_object",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = object_cases,
};
kunit_test_suite(object_suite);

MODULE_DESCRIPTION("KUnit suites of univerbs");
MODULE_LICENSE("GPL");
