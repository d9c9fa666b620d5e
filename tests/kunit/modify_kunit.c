// SPDX-License-Identifier: GPL-2.0
/* Calls for a queue pair that fail in the middle: the locks and the path that they leave behind. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "fixture.h"
#include "queue.h"

static struct univ_qp *modify_qp(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_cq *cq = fixture_cq(f, 8);
	struct univ_qp *qp;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	qp = fixture_qp(f, IB_QPT_RC, fixture_pd(f), cq, NULL, 8);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	fixture_qp_state(qp, IB_QPS_RTS);
	return qp;
}

/* ---- A call that gives up ------------------------------------------------------- */

struct caller {
	struct fixture *f;
	struct univ_qp_query arg;
	int ret;
};

static int caller_thread(void *data)
{
	struct caller *caller = data;

	caller->ret = fixture_call(caller->f, UNIV_QP_QUERY, &caller->arg,
				   sizeof(caller->arg));
	return 0;
}

/* The call has the lock of the queue pair, and sleeps until it has that of the domain. */
static bool caller_waits(struct task_struct *thread, struct univ_qp *qp)
{
	int i;

	for (i = 0; i < 10000; i++) {
		if (mutex_is_locked(&qp->mutex) &&
		    READ_ONCE(thread->__state) & TASK_UNINTERRUPTIBLE)
			return true;
		usleep_range(1000, 2000);
	}
	return false;
}

static struct task_struct *caller_start(struct caller *caller)
{
	struct task_struct *thread = kthread_create(caller_thread, caller, "univ-caller");

	if (IS_ERR(thread))
		return thread;
	get_task_struct(thread);
	wake_up_process(thread);
	return thread;
}

/*
 * The queue pair stands for an XRC target, which has the lock of its domain as well. A call that
 * waits for that lock gives up when the device goes, and later calls, which destroy objects, find
 * the queue pair unlocked.
 */
static void modify_gives_up(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_qp *qp = modify_qp(test);
	struct univ_domain *domain = kunit_kzalloc(test, sizeof(*domain), GFP_KERNEL);
	struct univ_xrcd *xrcd = kunit_kzalloc(test, sizeof(*xrcd), GFP_KERNEL);
	struct caller *caller = kunit_kzalloc(test, sizeof(*caller), GFP_KERNEL);
	struct task_struct *thread;
	bool waits, unlocked;

	KUNIT_ASSERT_NOT_NULL(test, domain);
	KUNIT_ASSERT_NOT_NULL(test, xrcd);
	KUNIT_ASSERT_NOT_NULL(test, caller);
	mutex_init(&domain->lock);
	xrcd->domain = domain;
	caller->f = f;
	caller->arg.handle = qp->obj.handle;
	qp->xrcd = xrcd;
	mutex_lock(&domain->lock);
	thread = caller_start(caller);
	waits = !IS_ERR(thread) && caller_waits(thread, qp);
	WRITE_ONCE(f->dev->dead, true);
	mutex_unlock(&domain->lock);
	if (!IS_ERR(thread)) {
		kthread_stop(thread);
		put_task_struct(thread);
	}
	f->dev->dead = false;
	qp->xrcd = NULL;
	unlocked = mutex_trylock(&qp->mutex);
	if (unlocked)
		mutex_unlock(&qp->mutex);
	else
		mutex_init(&qp->mutex);
	KUNIT_EXPECT_TRUE(test, waits);
	KUNIT_EXPECT_EQ(test, caller->ret, -ENODEV);
	KUNIT_EXPECT_EQ(test, caller->arg.hdr.reason, (u32)UNIV_REASON_DEVICE_GONE);
	KUNIT_EXPECT_TRUE(test, unlocked);
}

/* ---- An alternate path ---------------------------------------------------------- */

static bool path_loaded;

static int path_load(struct ib_qp *ib, const struct ib_qp_attr *attr, int mask, u32 *cause)
{
	path_loaded = attr;
	return 0;
}

/*
 * The implementation of the queues gets the path before the device gets the rest. If the device
 * then refuses, the path is taken back, or a later migration would use it.
 */
static void modify_refused_path(struct kunit *test)
{
	struct fixture *f = test->priv;
	const struct univ_queue_ops *queue = f->dev->queue;
	struct univ_queue_ops ops = *queue;
	struct univ_qp *qp = modify_qp(test);
	struct univ_qp_modify refused = {
		.handle = qp->obj.handle,
		.attr.attr_mask = IB_QP_PATH_MIG_STATE,
		.attr.path_mig_state = IB_MIG_REARM,
	};
	struct univ_qp_modify taken = refused;

	path_loaded = false;
	ops.qp_path = path_load;
	f->dev->queue = &ops;
	mock_fail(f->mock, MOCK_MODIFY_QP, 1, -EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_QP_MODIFY, &refused, sizeof(refused)), -EINVAL);
	KUNIT_EXPECT_EQ(test, refused.hdr.reason, (u32)UNIV_REASON_DEVICE_REFUSED);
	KUNIT_EXPECT_FALSE(test, path_loaded);
	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_QP_MODIFY, &taken, sizeof(taken)), 0);
	KUNIT_EXPECT_TRUE(test, path_loaded);
	f->dev->queue = queue;
}

static struct kunit_case modify_cases[] = {
	KUNIT_CASE(modify_gives_up),
	KUNIT_CASE(modify_refused_path),
	{}
};

static struct kunit_suite modify_suite = {
	.name = "univ_modify",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = modify_cases,
};
kunit_test_suite(modify_suite);
