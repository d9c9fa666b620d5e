// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of completion handlers: locks that the device holds around them, the time that
 * they take, and the behaviour of devices when queue pairs change state or are
 * destroyed.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/rhashtable.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "pump_fixture.h"

/*
 * The mock calls the handler with a lock held that its poll takes. A pump that polls
 * from the handler deadlocks; lockdep reports it first.
 */
static void handler_under_lock(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	int i;

	for (i = 0; i < 4; i++)
		pump_recv_next(p, i);
	pump_recv_kick(p);
	for (i = 0; i < 4; i++) {
		pump_recv_complete(p, i, IB_WC_SUCCESS);
		pump_expect_cqe(test, p, i, IB_WC_SUCCESS);
	}
	pump_expect_no_cqe(test, p);
}

/* The pump takes a completion that arrives between its last poll and its arming of the device. */
static void handler_looks_again(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct ib_wc late = { .wr_id = 2, .status = IB_WC_SUCCESS, .opcode = IB_WC_RECV,
			      .qp = p->qp->ib };

	pump_recv_next(p, 1);
	pump_recv_next(p, 2);
	pump_recv_kick(p);
	p->mock->late = &late;
	pump_recv_complete(p, 1, IB_WC_SUCCESS);
	pump_expect_cqe(test, p, 1, IB_WC_SUCCESS);
	pump_expect_cqe(test, p, 2, IB_WC_SUCCESS);
	pump_expect_no_cqe(test, p);
}

/* A device that is known to allow it is polled in the handler. */
static void handler_without_lock(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_RECV };
	struct pump *p;

	f->dev->pump->polls_in_handler = true;
	f->mock->unlocked = true;
	p = pump_rc(test);
	pump_recv_next(p, 7);
	pump_recv_kick(p);
	wc.wr_id = 7;
	wc.qp = p->qp->ib;
	p->mock->polls = 0;
	p->mock->poller = current;
	mock_complete(p->cq->ib, &wc);
	p->mock->poller = NULL;
	KUNIT_EXPECT_EQ(test, p->mock->polls, 1u);
	pump_expect_cqe(test, p, 7, IB_WC_SUCCESS);
}

/* The same holds for the event that reports lost completions. */
static void handler_cq_error(struct kunit *test)
{
	struct pump *p = pump_rc(test);

	/* Complete one receive, so that lockdep learns the nesting of the locks. */
	pump_recv_next(p, 1);
	pump_recv_kick(p);
	pump_recv_complete(p, 1, IB_WC_SUCCESS);
	mock_cq_error(p->cq->ib);
	pump_settled(p->cq);
	KUNIT_EXPECT_TRUE(test, p->cq->ring.head->kernel.flags &
				UNIV_RING_OVERRUN);
	KUNIT_EXPECT_EQ(test, p->cq->async_events.num_pending, 1u);
	KUNIT_EXPECT_EQ(test, p->cq->async_events.pending[0], IB_EVENT_CQ_ERR);
}

/* A caller polls 16 batches of 16 completions, and a worker polls the rest. */
static void handler_budget(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, MOCK_WCS);
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_RECV,
			    .qp = p->qp->ib };
	int i;

	for (i = 0; i < 600; i++) {
		wc.wr_id = i;
		mock_complete_quietly(p->cq->ib, &wc);
	}
	p->mock->polls = 0;
	p->mock->poller = current;
	p->cq->ib->comp_handler(p->cq->ib, p->cq);
	p->mock->poller = NULL;
	KUNIT_EXPECT_LE(test, p->mock->polls, 16u);
	pump_settled(p->cq);
	for (i = 0; i < 600; i++)
		pump_expect_cqe(test, p, i, IB_WC_SUCCESS);
	pump_expect_no_cqe(test, p);
}

/* ---- A tasklet that waits on another processor --------------------------------- */

struct late {
	struct tasklet_struct tasklet;
	struct completion scheduled;
	bool destroyed;
	bool ran;
};

/* How long the tasklet waits, if the destruction does not return before. */
#define LATE_MS	200

static void late_run(struct tasklet_struct *tasklet)
{
	struct late *late = from_tasklet(late, tasklet, tasklet);

	WRITE_ONCE(late->ran, true);
}

/* The tasklet is scheduled here, and cannot run until bottom halves are enabled. */
static int late_thread(void *arg)
{
	struct late *late = arg;
	int i;

	local_bh_disable();
	tasklet_schedule(&late->tasklet);
	complete(&late->scheduled);
	for (i = 0; i < LATE_MS && !READ_ONCE(late->destroyed); i++)
		mdelay(1);
	local_bh_enable();
	return 0;
}

static struct task_struct *late_start(struct late *late, int cpu)
{
	struct task_struct *thread;

	tasklet_setup(&late->tasklet, late_run);
	init_completion(&late->scheduled);
	thread = pump_thread_on(cpu, late_thread, late);
	if (!IS_ERR(thread))
		wait_for_completion(&late->scheduled);
	return thread;
}

/* A completion queue that the device has used is destroyed while the tasklet waits on @cpu. */
static void expect_waits(struct kunit *test, struct late *late, int cpu)
{
	struct fixture *f = test->priv;
	struct pump *p = pump_rc(test);
	struct task_struct *thread;

	late->ran = false;
	late->destroyed = false;
	pump_recv_next(p, 1);
	pump_recv_kick(p);
	pump_recv_complete(p, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_QP_DESTROY,
					      p->qp->obj.handle), 0);
	thread = late_start(late, cpu);
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_CQ_DESTROY,
					      p->cq->obj.handle), 0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(late->ran));
	WRITE_ONCE(late->destroyed, true);
	pump_thread_stop(thread);
	tasklet_kill(&late->tasklet);
}

/*
 * For a driver that frees a queue under its tasklet, the pump waits for the tasklet
 * before it destroys the queue, and for each queue again.
 */
static void destroy_waits_for_tasklet(struct kunit *test)
{
	struct fixture *f = test->priv;
	int other = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct late *late = kunit_kzalloc(test, sizeof(*late), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, late);
	if (other >= nr_cpu_ids)
		kunit_skip(test, "there is one processor");
	f->dev->pump->frees_under_tasklet = true;
	for (i = 0; i < 3; i++)
		expect_waits(test, late, other);
}

/* ---- A queue pair at the address of one that is not forgotten yet ------------- */

static const struct rhashtable_params table_params = {
	.key_len = sizeof(struct pump_qp_key),
	.key_offset = offsetof(struct pump_qp, key),
	.head_offset = offsetof(struct pump_qp, by_ib),
	.automatic_shrinking = true,
};

struct former {
	struct rhashtable *table;
	struct delayed_work end;
	bool over;
	struct pump_qp qp;
};

static void former_end(struct work_struct *work)
{
	struct former *former =
		container_of(work, struct former, end.work);

	WRITE_ONCE(former->over, true);
	rhashtable_remove_fast(former->table, &former->qp.by_ib, table_params);
}

static void former_begin(struct mock *mock, struct ib_qp *ib)
{
	struct former *former = mock->made_data;

	mock->made_qp = NULL;
	former->qp.key.ib = ib;
	if (!rhashtable_insert_fast(former->table, &former->qp.by_ib,
				    table_params))
		schedule_delayed_work(&former->end, msecs_to_jiffies(50));
}

static void qp_waits_for_name(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct former *former = kunit_kzalloc(test, sizeof(*former), GFP_KERNEL);
	struct pump_qp *found;
	struct univ_qp *qp;

	KUNIT_ASSERT_NOT_NULL(test, former);
	former->table = &p->f->dev->pump->qps;
	former->qp.key.ctx = p->cq->obj.ctx;
	INIT_DELAYED_WORK(&former->end, former_end);
	p->mock->made_data = former;
	p->mock->made_qp = former_begin;
	qp = fixture_qp(p->f, IB_QPT_RC, p->pd, p->cq, NULL, WR);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(former->over));
	flush_delayed_work(&former->end);
	/* Wait for a grace period, since readers of the table may still see the entry. */
	synchronize_rcu();
	KUNIT_ASSERT_NOT_NULL(test, qp);
	rcu_read_lock();
	spin_lock_irq(&p->cq->lock);
	found = pump_qp_find(p->cq->pump, qp->ib);
	spin_unlock_irq(&p->cq->lock);
	rcu_read_unlock();
	KUNIT_EXPECT_PTR_EQ(test, found, qp->pump);
}

/* ---- A device that throws completions away ------------------------------------ */

static void destroy_counts_receives(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_srq *srq = fixture_srq(p->f, p->pd, 8, 2);
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_RECV };
	struct univ_recv_wr *wr;
	struct univ_qp *qp;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, srq);
	qp = fixture_qp(p->f, IB_QPT_RC, p->pd, p->cq, srq, WR);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	fixture_qp_state(qp, IB_QPS_RTS);
	p->mock->drops = true;
	for (i = 0; i < 8; i++) {
		wr = univ_ring_slot(&srq->ring, i);
		wr->wr_id = i;
		wr->count = 1;
	}
	srq->ring.head->user.index = 8;
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, srq->obj.handle,
					   UNIV_KICK_RECV), 0);
	wc.qp = qp->ib;
	for (i = 0; i < 5; i++) {
		wc.wr_id = i;
		mock_complete_quietly(p->cq->ib, &wc);
	}
	KUNIT_EXPECT_EQ(test, fixture_destroy(p->f, UNIV_QP_DESTROY,
					      qp->obj.handle), 0);
	/* Five receives were completed, and a message may have begun with a sixth. */
	KUNIT_EXPECT_EQ(test, srq->ring.head->kernel.index, 6u);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, pump_poll(p));
}

/* ---- A device that is not ready to look ---------------------------------------- */

static void busy_passes(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 i;

	mock_fail(p->mock, MOCK_POST_RECV, 1, -ENOTCONN);
	mock_fail(p->mock, MOCK_POST_SEND, 1, -ENOTCONN);
	pump_recv_next(p, 1);
	pump_send_next(p, 2);
	pump_recv_kick(p);
	pump_send_kick(p);
	/* The work may be refused a second time and queue itself again. */
	for (i = 0; i < 1000 && !(READ_ONCE(p->mock->num_sends) &&
				  READ_ONCE(p->mock->num_recvs)); i++)
		flush_delayed_work(&p->qp->pump->retry_work);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 1u);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 1u);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(p->qp->pump->failed));
	pump_expect_no_cqe(test, p);
	pump_send_complete(p, 0, IB_WC_SUCCESS);
	pump_expect_cqe(test, p, 2, IB_WC_SUCCESS);
	pump_recv_complete(p, 1, IB_WC_SUCCESS);
	pump_expect_cqe(test, p, 1, IB_WC_SUCCESS);
}

/* If the device never becomes ready, the request fails. */
static void busy_for_good(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cqe *cqe;
	int i;

	mock_fail_all(p->mock, MOCK_POST_SEND, -ENOTCONN);
	pump_send_next(p, 2);
	pump_send_publish(p);
	for (i = 0; i < 1000 && !READ_ONCE(p->qp->pump->sq.broken); i++)
		univ_send_queue_feed(&p->qp->pump->sq);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 0u);
	cqe = pump_poll(p);
	KUNIT_ASSERT_NOT_NULL(test, cqe);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 2);
	KUNIT_EXPECT_EQ(test, cqe->reason, UNIV_REASON_WR_REFUSED);
	flush_delayed_work(&p->qp->pump->error_work);
}

static struct kunit_case pump_handler_cases[] = {
	KUNIT_CASE(handler_under_lock),
	KUNIT_CASE(handler_looks_again),
	KUNIT_CASE(handler_without_lock),
	KUNIT_CASE(handler_cq_error),
	KUNIT_CASE(handler_budget),
	KUNIT_CASE(destroy_waits_for_tasklet),
	KUNIT_CASE(qp_waits_for_name),
	KUNIT_CASE(destroy_counts_receives),
	KUNIT_CASE(busy_passes),
	KUNIT_CASE(busy_for_good),
	{}
};

static struct kunit_suite pump_handler_suite = {
	.name = "univ_pump_handler",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = pump_handler_cases,
};
kunit_test_suite(pump_handler_suite);
