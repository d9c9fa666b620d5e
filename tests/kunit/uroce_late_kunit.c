// SPDX-License-Identifier: GPL-2.0
/*
 * Receive requests that are posted late, on one host: the thread that posts one continues
 * with the message of the sender that waits. The tests cancel the timers of senders, so
 * only that thread can deliver a message.
 */
#include "uroce_host.h"

#define SENDERS 20		/* more than one run of the task serves */

struct late {
	struct uroce_srq srq;
	struct side from[SENDERS];
	struct side to[SENDERS];
};

static int send_from(struct side *side, u64 id)
{
	struct ib_sge sge = { .addr = IOVA, .length = 64, .lkey = side->area.mr->lkey };
	const struct ib_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1,
				       .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr *bad;

	return uroce_post_send(&side->qp.ib, &wr, &bad);
}

/* A sender begins to wait, and its timer does not fire. */
static void begin_wait(struct kunit *test, struct side *side)
{
	KUNIT_ASSERT_EQ(test, send_from(side, 1), 0);
	hrtimer_cancel(&side->qp.qp->sq.timer);
	KUNIT_ASSERT_EQ(test, (int)side->qp.qp->sq.wait, (int)UROCE_WAIT_RNR);
	/* The timer may have fired before it was cancelled. */
	tasklet_unlock_wait(&side->qp.qp->sq.task);
	hrtimer_cancel(&side->qp.qp->sq.timer);
}

/* The RNR timer of the responder's attributes is long: 655 ms. */
static void wait_long(struct side *to)
{
	WRITE_ONCE(to->qp.qp->attr.min_rnr_timer, 0);
}

static u32 waiting(struct side *side)
{
	return READ_ONCE(side->cq.tail) - side->cq.head;
}

static int receive(struct side *side, u64 at)
{
	struct ib_sge sge = { .addr = IOVA + at, .length = 64, .lkey = side->area.mr->lkey };
	const struct ib_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	return side->qp.qp->srq ? uroce_post_srq_recv(&side->qp.qp->srq->ib, &wr, &bad) :
				  uroce_post_recv(&side->qp.ib, &wr, &bad);
}

static struct late *shared(struct kunit *test, int senders)
{
	struct late *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct ib_srq_init_attr init = { .attr = { .max_wr = 32, .max_sge = 1 } };
	struct host *h = test->priv;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->srq.ib.device = &h->dev.ib;
	l->srq.ib.pd = &h->pd;
	KUNIT_ASSERT_EQ(test, uroce_srq_create(&l->srq.ib, &init, NULL), 0);
	h->srq = &l->srq.ib;
	for (i = 0; i < senders; i++) {
		KUNIT_ASSERT_EQ(test, host_side_init(test, &l->from[i]), 0);
		KUNIT_ASSERT_EQ(test, host_side_init(test, &l->to[i]), 0);
		host_connect(test, &l->from[i], &l->to[i], IB_QPT_RC, 7);
	}
	return l;
}

static void end_shared(struct kunit *test, struct late *l, int senders)
{
	struct host *h = test->priv;
	int i;

	for (i = 0; i < senders; i++) {
		host_drop(&l->from[i]);
		host_drop(&l->to[i]);
		host_side_exit(&l->from[i]);
		host_side_exit(&l->to[i]);
	}
	KUNIT_EXPECT_TRUE(test, list_empty(&l->srq.waiters));
	uroce_srq_destroy(&l->srq.ib, NULL);
	h->srq = NULL;
}

static u64 refusals(struct host *h)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += per_cpu_ptr(h->dev.counters, cpu)[UROCE_CNT_RNR_RECEIVED];
	return n;
}

/* A receive queue of a queue pair. */
static void late_own(struct kunit *test)
{
	struct host *h = test->priv;
	u8 retries;

	for (retries = 1; retries <= 7; retries += 6) {
		host_again(test, IB_QPT_RC, retries);
		wait_long(&h->b);
		begin_wait(test, &h->a);
		KUNIT_EXPECT_EQ(test, h->b.qp.qp->rq.ring.flags, (u32)UNIV_RING_NEED_KICK);
		KUNIT_ASSERT_EQ(test, receive(&h->b, 0), 0);
		host_expect_soon(test, &h->b, 1, IB_WC_SUCCESS);
		host_expect_soon(test, &h->a, 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, h->b.qp.qp->rq.ring.flags, 0u);
		KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, 0, 0, 64, 1), -1);
	}
}

/* Each receive request of a shared queue wakes one sender, in the order of their waits. */
static void late_shared(struct kunit *test)
{
	struct late *l = shared(test, SENDERS);
	int i;

	for (i = 0; i < SENDERS; i++)
		begin_wait(test, &l->from[i]);
	KUNIT_EXPECT_EQ(test, l->srq.rq.ring.flags, (u32)UNIV_RING_NEED_KICK);
	KUNIT_ASSERT_EQ(test, receive(&l->to[0], 0), 0);
	host_expect_soon(test, &l->from[0], 1, IB_WC_SUCCESS);
	host_expect_soon(test, &l->to[0], 1, IB_WC_SUCCESS);
	for (i = 1; i < SENDERS; i++)
		KUNIT_EXPECT_EQ(test, waiting(&l->from[i]), 0u);
	KUNIT_EXPECT_EQ(test, l->srq.rq.ring.flags, (u32)UNIV_RING_NEED_KICK);
	for (i = 1; i < SENDERS; i++)
		KUNIT_ASSERT_EQ(test, receive(&l->to[i], 0), 0);
	for (i = 1; i < SENDERS; i++) {
		host_expect_soon(test, &l->from[i], 1, IB_WC_SUCCESS);
		host_expect_soon(test, &l->to[i], 1, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, l->srq.rq.ring.flags, 0u);
	end_shared(test, l, SENDERS);
}

/* More senders wait than one run serves, and all requests are there at once. */
static void late_at_once(struct kunit *test)
{
	struct late *l = shared(test, SENDERS);
	int i;

	for (i = 0; i < SENDERS; i++)
		begin_wait(test, &l->from[i]);
	/* The work item waits for this lock, and posting does not take it. */
	spin_lock_bh(&l->srq.rq.lock);
	for (i = 0; i < SENDERS; i++)
		KUNIT_EXPECT_EQ(test, receive(&l->to[i], 0), 0);
	spin_unlock_bh(&l->srq.rq.lock);
	for (i = 0; i < SENDERS; i++)
		host_expect_soon(test, &l->from[i], 1, IB_WC_SUCCESS);
	end_shared(test, l, SENDERS);
}

static int to_state(struct side *side, enum ib_qp_state state)
{
	struct ib_qp_attr a = { .qp_state = state };

	return uroce_qp_modify(&side->qp.ib, &a, IB_QP_STATE, NULL);
}

/* A sender or a receiver that is gone takes no request from those that still wait. */
static void late_gone(struct kunit *test)
{
	struct late *l = shared(test, 7);
	int i;

	for (i = 0; i < 7; i++)
		begin_wait(test, &l->from[i]);
	KUNIT_EXPECT_EQ(test, to_state(&l->from[0], IB_QPS_RESET), 0);
	KUNIT_EXPECT_EQ(test, to_state(&l->from[1], IB_QPS_ERR), 0);
	host_drop(&l->from[2]);
	KUNIT_EXPECT_EQ(test, to_state(&l->to[3], IB_QPS_RESET), 0);
	KUNIT_EXPECT_EQ(test, to_state(&l->to[4], IB_QPS_ERR), 0);
	host_drop(&l->to[5]);
	KUNIT_ASSERT_EQ(test, receive(&l->to[6], 0), 0);
	host_expect_soon(test, &l->from[6], 1, IB_WC_SUCCESS);
	host_expect_soon(test, &l->to[6], 1, IB_WC_SUCCESS);
	end_shared(test, l, 7);
}

/*
 * A process kicks although it has posted nothing: the sender goes on waiting. Then it
 * publishes an impossible index, and the sender learns that the receiver is broken.
 */
static void late_lies(struct kunit *test)
{
	struct late *l = shared(test, 1);
	int i;

	begin_wait(test, &l->from[0]);
	for (i = 0; i < 100; i++)
		uroce_srq_posted(&l->srq);
	KUNIT_EXPECT_EQ(test, waiting(&l->from[0]), 0u);
	KUNIT_EXPECT_FALSE(test, list_empty(&l->srq.waiters));
	smp_store_release(&l->srq.rq.ring.head->user.index,
			  l->srq.rq.head + l->srq.rq.ring.count + 1);
	uroce_srq_posted(&l->srq);
	host_expect_soon(test, &l->from[0], 1, IB_WC_REM_OP_ERR);
	end_shared(test, l, 1);
}

static int resize(struct late *l, u32 max_wr)
{
	struct ib_srq_attr attr = { .max_wr = max_wr };

	return uroce_srq_modify(&l->srq.ib, &attr, IB_SRQ_MAX_WR, NULL);
}

/* A kernel user changes the size of its queue: a sender goes on waiting, and requests stay. */
static void late_resized(struct kunit *test)
{
	struct late *l = shared(test, 2);
	struct ib_srq_attr attr = {};
	int i;

	begin_wait(test, &l->from[0]);
	KUNIT_ASSERT_EQ(test, resize(l, 200), 0);
	KUNIT_EXPECT_EQ(test, l->srq.rq.ring.flags, (u32)UNIV_RING_NEED_KICK);
	KUNIT_ASSERT_EQ(test, receive(&l->to[0], 0), 0);
	host_expect_soon(test, &l->from[0], 1, IB_WC_SUCCESS);
	host_expect_soon(test, &l->to[0], 1, IB_WC_SUCCESS);
	for (i = 0; i < 100; i++)
		KUNIT_ASSERT_EQ(test, receive(&l->to[1], 0), 0);
	KUNIT_EXPECT_EQ(test, resize(l, 99), -EINVAL);
	KUNIT_EXPECT_EQ(test, resize(l, 0), -EINVAL);
	KUNIT_ASSERT_EQ(test, resize(l, 100), 0);
	KUNIT_EXPECT_EQ(test, receive(&l->to[1], 0), -ENOMEM);
	KUNIT_EXPECT_EQ(test, uroce_srq_query(&l->srq.ib, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.max_wr, 100u);
	for (i = 0; i < 100; i++) {
		KUNIT_ASSERT_EQ(test, send_from(&l->from[1], 1), 0);
		host_expect_soon(test, &l->from[1], 1, IB_WC_SUCCESS);
		host_expect_soon(test, &l->to[1], 1, IB_WC_SUCCESS);
	}
	end_shared(test, l, 2);
}

/*
 * Tries that the receiver causes, and that find no request, are no retries: rnr_retry
 * counts how often the timer expires.
 */
static void late_retries(struct kunit *test)
{
	struct host *h = test->priv;
	struct uroce_qp *qp;
	u8 retries;
	int i;

	for (retries = 0; retries < 3; retries++) {
		u64 before = refusals(h);

		host_again(test, IB_QPT_RC, retries);
		qp = h->a.qp.qp;
		KUNIT_ASSERT_EQ(test, send_from(&h->a, 1), 0);
		for (i = 0; i < 100 && !waiting(&h->a); i++) {
			WRITE_ONCE(qp->sq.recv_posted, true);
			uroce_send_run(qp);
		}
		host_expect_soon(test, &h->a, 1, IB_WC_RNR_RETRY_EXC_ERR);
		KUNIT_EXPECT_EQ(test, refusals(h) - before, retries + 1ull);
	}
}

/* The first side has begun its first of two waits. Returns its send queue. */
static struct uroce_sendq *begin_first_wait(struct kunit *test)
{
	struct host *h = test->priv;
	struct uroce_sendq *sq;

	host_again(test, IB_QPT_RC, 2);
	wait_long(&h->b);
	sq = &h->a.qp.qp->sq;
	begin_wait(test, &h->a);
	KUNIT_EXPECT_EQ(test, (int)sq->rnr_left, 1);
	return sq;
}

/* The timer fires while a try that the receiver has caused finds no request. */
static void late_and_due(struct kunit *test)
{
	struct uroce_sendq *sq = begin_first_wait(test);
	struct host *h = test->priv;

	WRITE_ONCE(sq->recv_posted, true);
	uroce_send_run(h->a.qp.qp);
	KUNIT_EXPECT_EQ(test, (int)sq->wait, (int)UROCE_WAIT_RNR);
	KUNIT_EXPECT_EQ(test, (int)sq->rnr_left, 1);
	WRITE_ONCE(sq->due, true);
	uroce_send_run(h->a.qp.qp);
	hrtimer_cancel(&sq->timer);
	KUNIT_EXPECT_EQ(test, (int)sq->rnr_left, 0);
	KUNIT_ASSERT_EQ(test, receive(&h->b, 0), 0);
	host_expect_soon(test, &h->a, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)sq->rnr_left, 2);
}

/* The callback of a former wait is late, and sets @due after this wait has started the timer again. */
static void late_callback(struct kunit *test)
{
	struct uroce_sendq *sq = begin_first_wait(test);
	struct host *h = test->priv;

	hrtimer_start(&sq->timer, ktime_set(1000, 0), HRTIMER_MODE_REL_SOFT);
	WRITE_ONCE(sq->due, true);
	uroce_send_run(h->a.qp.qp);
	KUNIT_EXPECT_EQ(test, (int)sq->wait, (int)UROCE_WAIT_RNR);
	KUNIT_EXPECT_EQ(test, (int)sq->rnr_left, 1);
	hrtimer_cancel(&sq->timer);
	uroce_send_run(h->a.qp.qp);
	hrtimer_cancel(&sq->timer);
	KUNIT_EXPECT_EQ(test, (int)sq->rnr_left, 0);
	KUNIT_ASSERT_EQ(test, receive(&h->b, 0), 0);
	host_expect_soon(test, &h->a, 1, IB_WC_SUCCESS);
}

static struct kunit_case late_cases[] = {
	KUNIT_CASE(late_own),
	KUNIT_CASE(late_shared),
	KUNIT_CASE(late_at_once),
	KUNIT_CASE(late_gone),
	KUNIT_CASE(late_lies),
	KUNIT_CASE(late_resized),
	KUNIT_CASE(late_retries),
	KUNIT_CASE(late_and_due),
	KUNIT_CASE(late_callback),
	{}
};

static struct kunit_suite late_suite = {
	.name = "univ_uroce_late",
	.init = host_init,
	.exit = host_exit,
	.test_cases = late_cases,
};

kunit_test_suite(late_suite);
