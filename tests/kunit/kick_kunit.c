// SPDX-License-Identifier: GPL-2.0
/* The kick: how it finds the queue, and which operations wait for it. */
#include <linux/delay.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "pump_fixture.h"

static struct univ_object *known(const struct pump *p, u32 handle)
{
	return READ_ONCE(p->f->ctx->kicked[handle % UNIV_KICKED]);
}

/*
 * The second kick of a queue remembers it, and later kicks use that until the queue is
 * destroyed.
 */
static void kick_remembers(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 handle = p->qp->obj.handle;
	int i;

	for (i = 0; i < 4; i++) {
		pump_send_next(p, i);
		KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_sends, i + 1);
		KUNIT_EXPECT_EQ(test, known(p, handle) == &p->qp->obj, i > 0);
	}
	KUNIT_EXPECT_EQ(test, refcount_read(&p->qp->obj.users), 1);
	KUNIT_EXPECT_EQ(test, fixture_destroy(p->f, UNIV_QP_DESTROY, handle), 0);
	KUNIT_EXPECT_NULL(test, known(p, handle));
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, handle, UNIV_KICK_SEND),
			-EINVAL);
}

/* The handles of two queues may share the place at which a kicked queue is remembered. */
static void kick_of_another(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct pump other = *p;
	u32 place = p->qp->obj.handle % UNIV_KICKED;
	int i;

	for (i = 0; i < 2 * UNIV_KICKED; i++) {
		other.qp = fixture_qp(p->f, IB_QPT_RC, p->pd, p->cq, NULL, WR);
		KUNIT_ASSERT_NOT_NULL(test, other.qp);
		if (other.qp->obj.handle % UNIV_KICKED == place)
			break;
	}
	KUNIT_ASSERT_EQ(test, other.qp->obj.handle % UNIV_KICKED, place);
	fixture_qp_state(other.qp, IB_QPS_RTS);
	for (i = 0; i < 2; i++) {
		pump_send_next(p, i);
		KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	}
	KUNIT_EXPECT_PTR_EQ(test, known(p, p->qp->obj.handle), &p->qp->obj);
	pump_send_next(&other, 7);
	KUNIT_EXPECT_EQ(test, pump_send_kick(&other), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 3u);
	KUNIT_EXPECT_EQ(test, p->mock->sends[2].remote_addr, 0x10000ull + 7);
}

/*
 * univ_kicked_wait() waits only for kicks of queues, so the kick must not remember
 * other objects.
 */
static void kick_forgets_others(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	int i;

	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, fixture_kick(p->f, p->pd, UNIV_KICK_SEND),
				-EINVAL);
		KUNIT_EXPECT_EQ(test, fixture_kick(p->f, p->cq->obj.handle,
						   UNIV_KICK_RECV), -EINVAL);
	}
	KUNIT_EXPECT_NULL(test, known(p, p->pd));
	KUNIT_EXPECT_NULL(test, known(p, p->cq->obj.handle));
}

struct end {
	struct work_struct work;
	struct univ_context *ctx;
	bool over;
};

static void end_run(struct work_struct *work)
{
	struct end *end = container_of(work, struct end, work);

	univ_context_kill(end->ctx, true);
	WRITE_ONCE(end->over, true);
}

/*
 * A kick that is under way while the device is removed holds the object; the removal
 * waits for it.
 */
static void kick_is_waited_for(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 handle = p->qp->obj.handle;
	struct univ_object *obj;
	struct end end = { .ctx = p->f->ctx };

	pump_send_next(p, 0);
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	obj = univ_object_find(p->f->ctx, handle);
	KUNIT_ASSERT_PTR_EQ(test, obj, &p->qp->obj);

	INIT_WORK_ONSTACK(&end.work, end_run);
	schedule_work(&end.work);
	msleep(50);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(end.over));
	KUNIT_EXPECT_GT(test, atomic_read(&p->mock->objects), 0);

	univ_object_put(obj);
	flush_work(&end.work);
	destroy_work_on_stack(&end.work);
	KUNIT_EXPECT_TRUE(test, end.over);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->mock->objects), 0);
	KUNIT_EXPECT_NULL(test, known(p, handle));
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, handle, UNIV_KICK_SEND),
			-ENODEV);
}

struct late_kick {
	struct work_struct work;
	struct completion begun;
	struct fixture *f;
	u32 handle;
	int ret;
};

static void late_kick_run(struct work_struct *work)
{
	struct late_kick *late = container_of(work, struct late_kick, work);

	complete(&late->begun);
	late->ret = fixture_kick(late->f, late->handle, UNIV_KICK_SEND);
}

/* The removal gives its reference back, and then waits for the one of @obj. */
static bool removal_waits(struct univ_object *obj)
{
	int i;

	for (i = 0; i < 1000 && refcount_read(&obj->users) > 1; i++)
		msleep(10);
	return refcount_read(&obj->users) == 1;
}

/* Kicks that begin while the removal waits for another one find no queue, so the wait ends. */
static void kick_is_not_joined(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct late_kick late = { .f = p->f, .handle = p->qp->obj.handle };
	struct end end = { .ctx = p->f->ctx };
	struct univ_object *obj;
	int i;

	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	KUNIT_EXPECT_PTR_EQ(test, known(p, late.handle), &p->qp->obj);
	obj = univ_object_find(p->f->ctx, late.handle);
	KUNIT_ASSERT_PTR_EQ(test, obj, &p->qp->obj);
	INIT_WORK_ONSTACK(&end.work, end_run);
	queue_work(system_dfl_wq, &end.work);
	KUNIT_EXPECT_TRUE(test, removal_waits(obj));

	pump_send_next(p, 0);
	pump_send_publish(p);
	init_completion(&late.begun);
	INIT_WORK_ONSTACK(&late.work, late_kick_run);
	queue_work(system_dfl_wq, &late.work);
	wait_for_completion(&late.begun);
	msleep(50);
	KUNIT_EXPECT_EQ(test, refcount_read(&obj->users), 1);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 0u);
	/* A kick that found the queue before does not bring it back. */
	univ_kicked_remember(obj);
	KUNIT_EXPECT_NULL(test, known(p, late.handle));

	univ_object_put(obj);
	flush_work(&end.work);
	flush_work(&late.work);
	destroy_work_on_stack(&end.work);
	destroy_work_on_stack(&late.work);
	KUNIT_EXPECT_EQ(test, late.ret, -ENODEV);
}

static struct kunit_case kick_cases[] = {
	KUNIT_CASE(kick_remembers),
	KUNIT_CASE(kick_of_another),
	KUNIT_CASE(kick_forgets_others),
	KUNIT_CASE(kick_is_waited_for),
	KUNIT_CASE(kick_is_not_joined),
	{}
};

static struct kunit_suite kick_suite = {
	.name = "univ_kick",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = kick_cases,
};
kunit_test_suite(kick_suite);
