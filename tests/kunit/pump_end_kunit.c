// SPDX-License-Identifier: GPL-2.0
/*
 * The end of the pump's queues: a destruction returns only when no interrupt and no worker of
 * the queue is left, because its memory is freed then.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/preempt.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "pump_fixture.h"

/* How long the interrupt or the worker stays, if the destruction does not return before. */
#define STAY_MS	200

/* ---- An interrupt that waits on another processor ------------------------------ */

struct off {
	void (*raise)(struct ib_cq *ib);
	struct ib_cq *ib;
	struct completion raised;
	bool destroyed;
	bool over;
};

/* The interrupt is requested here, and cannot come until interrupts are enabled. */
static int off_thread(void *arg)
{
	struct off *off = arg;
	int i;

	local_irq_disable();
	off->raise(off->ib);
	complete(&off->raised);
	for (i = 0; i < STAY_MS && !READ_ONCE(off->destroyed); i++)
		mdelay(1);
	WRITE_ONCE(off->over, true);
	local_irq_enable();
	return 0;
}

static struct task_struct *off_start(struct off *off, int cpu)
{
	struct task_struct *thread;

	init_completion(&off->raised);
	thread = pump_thread_on(cpu, off_thread, off);
	if (!IS_ERR(thread))
		wait_for_completion(&off->raised);
	return thread;
}

/* The destruction stays on this processor, since the other one does nothing else meanwhile. */
static void expect_waits_for_interrupt(struct kunit *test, void (*raise)(struct ib_cq *ib))
{
	struct off *off = kunit_kzalloc(test, sizeof(*off), GFP_KERNEL);
	struct univ_cq *cq = fixture_cq(test->priv, 8);
	struct task_struct *thread;
	int ret = -ENOMEM;

	KUNIT_ASSERT_NOT_NULL(test, off);
	KUNIT_ASSERT_NOT_NULL(test, cq);
	if (num_online_cpus() < 2)
		kunit_skip(test, "there is one processor");
	off->raise = raise;
	off->ib = cq->ib;
	migrate_disable();
	thread = off_start(off, cpumask_any_but(cpu_online_mask, smp_processor_id()));
	if (!IS_ERR(thread)) {
		ret = fixture_destroy(test->priv, UNIV_CQ_DESTROY, cq->obj.handle);
		KUNIT_EXPECT_TRUE(test, READ_ONCE(off->over));
		WRITE_ONCE(off->destroyed, true);
		pump_thread_stop(thread);
	}
	migrate_enable();
	KUNIT_EXPECT_EQ(test, ret, 0);
}

static void end_waits_for_lost(struct kunit *test)
{
	expect_waits_for_interrupt(test, mock_cq_error);
}

static void call_handler(struct ib_cq *ib)
{
	ib->comp_handler(ib, ib->cq_context);
}

/* The driver's handlers may hold locks, so the completions are taken in an interrupt. */
static void end_waits_for_handler(struct kunit *test)
{
	expect_waits_for_interrupt(test, call_handler);
}

/* ---- A worker that is slow ------------------------------------------------------ */

static struct slow {
	struct completion begun;
	struct completion destroyed;
	struct completion left;
	bool over;
} slow;

/* It stands for a worker of the queue. It uses no memory of the queue. */
static void slow_work(struct work_struct *work)
{
	complete(&slow.begun);
	wait_for_completion_timeout(&slow.destroyed, msecs_to_jiffies(STAY_MS));
	WRITE_ONCE(slow.over, true);
	complete(&slow.left);
}

static void slow_init(void)
{
	init_completion(&slow.begun);
	init_completion(&slow.destroyed);
	init_completion(&slow.left);
	WRITE_ONCE(slow.over, false);
}

static void expect_waits_for_worker(struct kunit *test, unsigned int cmd, u32 handle)
{
	wait_for_completion(&slow.begun);
	KUNIT_EXPECT_EQ(test, fixture_destroy(test->priv, cmd, handle), 0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(slow.over));
	complete(&slow.destroyed);
	wait_for_completion(&slow.left);
}

/* The worker that takes the completions for which a handler had no time. */
static void end_waits_for_later(struct kunit *test)
{
	struct univ_cq *cq = fixture_cq(test->priv, 8);

	KUNIT_ASSERT_NOT_NULL(test, cq);
	slow_init();
	INIT_WORK(&cq->pump->later, slow_work);
	queue_work(system_dfl_wq, &cq->pump->later);
	expect_waits_for_worker(test, UNIV_CQ_DESTROY, cq->obj.handle);
}

/* The worker that posts again what the device was not ready for. */
static void end_waits_for_retry(struct kunit *test)
{
	struct pump *p = pump_rc(test);

	slow_init();
	INIT_DELAYED_WORK(&p->qp->pump->retry_work, slow_work);
	schedule_delayed_work(&p->qp->pump->retry_work, 0);
	expect_waits_for_worker(test, UNIV_QP_DESTROY, p->qp->obj.handle);
}

static struct kunit_case pump_end_cases[] = {
	KUNIT_CASE(end_waits_for_lost),
	KUNIT_CASE(end_waits_for_handler),
	KUNIT_CASE(end_waits_for_later),
	KUNIT_CASE(end_waits_for_retry),
	{}
};

static struct kunit_suite pump_end_suite = {
	.name = "univ_pump_end",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = pump_end_cases,
};
kunit_test_suite(pump_end_suite);
