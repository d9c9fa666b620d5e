// SPDX-License-Identifier: GPL-2.0
/* Completion queues of kernel users. */
#include <linux/delay.h>
#include <linux/kthread.h>

#include "uroce_host.h"

#define ENTRIES	4

struct queue {
	struct uroce_cq cq;
	struct uroce_qp *qp;
	struct completion added;
	u32 calls;
	u32 errors;
};

static void count_call(struct ib_cq *cq, void *context)
{
	struct queue *q = context;

	WRITE_ONCE(q->calls, q->calls + 1);
}

static void count_event(struct ib_event *event, void *context)
{
	struct queue *q = context;

	if (event->event == IB_EVENT_CQ_ERR && event->element.cq == &q->cq.ib)
		WRITE_ONCE(q->errors, q->errors + 1);
}

static struct queue *queue_create(struct kunit *test)
{
	const struct ib_cq_init_attr attr = { .cqe = ENTRIES };
	struct queue *q = kunit_kzalloc(test, sizeof(*q), GFP_KERNEL);
	struct host *h = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, q);
	init_completion(&q->added);
	q->qp = h->a.qp.qp;
	q->cq.ib.device = &h->dev.ib;
	q->cq.ib.comp_handler = count_call;
	q->cq.ib.event_handler = count_event;
	q->cq.ib.cq_context = q;
	KUNIT_ASSERT_EQ(test, uroce_cq_create(&q->cq.ib, &attr, NULL), 0);
	KUNIT_ASSERT_EQ(test, uroce_cq_private(&q->cq), 0);
	return q;
}

/* Add completions @id and so on. */
static bool add(struct queue *q, u64 id, u32 count)
{
	struct uroce_batch batch = { .count = count };
	u32 i;

	for (i = 0; i < count; i++)
		batch.cqe[i].wr_id = id + i;
	return uroce_cq_add_private(&q->cq, q->qp, &batch);
}

/* Expect @id as the next completion. */
static void expect_id(struct kunit *test, struct queue *q, u64 id)
{
	struct ib_wc wc = {};

	KUNIT_EXPECT_EQ(test, uroce_cq_poll(&q->cq.ib, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.wr_id, id);
}

/* Expect @calls of the handler so far, and no more of them to come. */
static void expect_calls(struct kunit *test, struct queue *q, u32 calls)
{
	EVENTUALLY(READ_ONCE(q->calls) >= calls);
	/* A call that is scheduled still comes. */
	tasklet_kill(&q->cq.task);
	KUNIT_EXPECT_EQ(test, q->calls, calls);
}

/* The tasklet is scheduled here, and cannot run until bottom halves are enabled, after the destruction has begun. */
static int add_late(void *arg)
{
	struct queue *q = arg;
	int ms;

	local_bh_disable();
	add(q, 0, 1);
	complete(&q->added);
	for (ms = 0; ms < 5000 && !READ_ONCE(q->cq.dead); ms++)
		mdelay(1);
	local_bh_enable();
	return 0;
}

static void start_on(struct kunit *test, struct queue *q, int cpu)
{
	struct task_struct *thread = kthread_create(add_late, q, "univ-cq");

	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	kthread_bind(thread, cpu);
	wake_up_process(thread);
	wait_for_completion(&q->added);
}

/* The consumer has ended the work item that its handler queues, so the handler must not be called any more. */
static void destroyed_calls_nobody(struct kunit *test)
{
	int other = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct queue *q;

	if (other >= nr_cpu_ids)
		kunit_skip(test, "there is one processor");
	q = queue_create(test);
	q->cq.armed = IB_CQ_NEXT_COMP;
	start_on(test, q, other);
	KUNIT_EXPECT_EQ(test, uroce_cq_destroy(&q->cq.ib, NULL), 0);
	KUNIT_EXPECT_EQ(test, q->calls, 0u);
}

/*
 * A consumer that arms the queue is told of completions that it has not polled, if it asks for
 * that. Its handler is called once for the next completion.
 */
static void missed_are_told(struct kunit *test)
{
	const int ask = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	struct queue *q = queue_create(test);

	KUNIT_EXPECT_TRUE(test, add(q, 1, 1));
	KUNIT_EXPECT_EQ(test, uroce_cq_arm(&q->cq.ib, ask), 1);
	KUNIT_EXPECT_EQ(test, uroce_cq_arm(&q->cq.ib, IB_CQ_NEXT_COMP), 0);
	expect_id(test, q, 1);
	KUNIT_EXPECT_EQ(test, uroce_cq_arm(&q->cq.ib, ask), 0);
	expect_calls(test, q, 0);
	KUNIT_EXPECT_TRUE(test, add(q, 2, 1));
	expect_calls(test, q, 1);
	KUNIT_EXPECT_TRUE(test, add(q, 3, 1));
	expect_calls(test, q, 1);
	KUNIT_EXPECT_EQ(test, uroce_cq_destroy(&q->cq.ib, NULL), 0);
}

/* A full queue loses the next completion, and reports an error once. It keeps the others. */
static void overrun_loses_the_last(struct kunit *test)
{
	struct queue *q = queue_create(test);
	u64 id;

	KUNIT_EXPECT_TRUE(test, add(q, 1, ENTRIES));
	KUNIT_ASSERT_FALSE(test, add(q, 1 + ENTRIES, 1));
	EVENTUALLY(READ_ONCE(q->errors));
	KUNIT_EXPECT_FALSE(test, add(q, 2 + ENTRIES, 1));
	tasklet_kill(&q->cq.task);
	KUNIT_EXPECT_EQ(test, q->errors, 1u);
	for (id = 1; id <= ENTRIES; id++)
		expect_id(test, q, id);
	KUNIT_EXPECT_EQ(test, uroce_cq_destroy(&q->cq.ib, NULL), 0);
}

static struct kunit_case cq_cases[] = {
	KUNIT_CASE(destroyed_calls_nobody),
	KUNIT_CASE(missed_are_told),
	KUNIT_CASE(overrun_loses_the_last),
	{}
};

static struct kunit_suite cq_suite = {
	.name = "univ_uroce_cq",
	.init = host_init,
	.exit = host_exit,
	.test_cases = cq_cases,
};

kunit_test_suite(cq_suite);
