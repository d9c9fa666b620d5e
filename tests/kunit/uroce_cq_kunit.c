// SPDX-License-Identifier: GPL-2.0
/* Completion queues of kernel users. */
#include <linux/delay.h>
#include <linux/kthread.h>

#include "uroce_host.h"

struct ended {
	struct uroce_cq cq;
	struct uroce_qp *qp;
	struct completion added;
	u32 calls;
};

static void count_call(struct ib_cq *cq, void *context)
{
	u32 *calls = context;

	WRITE_ONCE(*calls, *calls + 1);
}

/* The tasklet is scheduled here, and cannot run until bottom halves are enabled, after the destruction has begun. */
static int add_late(void *arg)
{
	struct uroce_batch batch = { .count = 1 };
	struct ended *e = arg;
	int ms;

	local_bh_disable();
	uroce_cq_add_private(&e->cq, e->qp, &batch);
	complete(&e->added);
	for (ms = 0; ms < 5000 && !READ_ONCE(e->cq.dead); ms++)
		mdelay(1);
	local_bh_enable();
	return 0;
}

static void start_on(struct kunit *test, struct ended *e, int cpu)
{
	struct task_struct *thread = kthread_create(add_late, e, "univ-cq");

	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	kthread_bind(thread, cpu);
	wake_up_process(thread);
	wait_for_completion(&e->added);
}

/* The consumer has ended the work item that its handler queues, so the handler must not be called any more. */
static void destroyed_calls_nobody(struct kunit *test)
{
	const struct ib_cq_init_attr attr = { .cqe = 4 };
	int other = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct ended *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	struct host *h = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, e);
	if (other >= nr_cpu_ids)
		kunit_skip(test, "there is one processor");
	init_completion(&e->added);
	e->qp = h->a.qp.qp;
	e->cq.ib.device = &h->dev.ib;
	e->cq.ib.comp_handler = count_call;
	e->cq.ib.cq_context = &e->calls;
	KUNIT_ASSERT_EQ(test, uroce_cq_create(&e->cq.ib, &attr, NULL), 0);
	KUNIT_ASSERT_EQ(test, uroce_cq_private(&e->cq), 0);
	e->cq.armed = IB_CQ_NEXT_COMP;
	start_on(test, e, other);
	KUNIT_EXPECT_EQ(test, uroce_cq_destroy(&e->cq.ib, NULL), 0);
	KUNIT_EXPECT_EQ(test, e->calls, 0u);
}

static struct kunit_case cq_cases[] = {
	KUNIT_CASE(destroyed_calls_nobody),
	{}
};

static struct kunit_suite cq_suite = {
	.name = "univ_uroce_cq",
	.init = host_init,
	.exit = host_exit,
	.test_cases = cq_cases,
};

kunit_test_suite(cq_suite);
