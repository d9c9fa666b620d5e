// SPDX-License-Identifier: GPL-2.0
/*
 * States of two queue pairs of one host: waits for a receive, flushes, errors and events of
 * each side, and the order of completions.
 */
#include <linux/delay.h>

#include "uroce_host.h"

/* A receive is posted late, for a sender that waits for ever and for a sender that does not. */
static void local_not_ready(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_wc wc = {};

	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 2, IB_WR_RDMA_WRITE, 0, 1000, 64), 0);
	msleep(20);
	host_expect_none(test, &h->a);
	/* The requests behind the waiting one have not overtaken it. */
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 64), 0);
	EVENTUALLY(uroce_cq_poll(&h->b.cq.ib, 1, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 5ull);
	EVENTUALLY(READ_ONCE(h->a.cq.tail) - h->a.cq.head >= 2);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	host_expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	host_again(test, IB_QPT_RC, 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_RNR_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->a), (int)IB_QPS_ERR);
	/* The receiver's queue pair is not affected. */
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->b), (int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, h->b.events, 0u);
}

/*
 * Completions keep their order: the failed request, the requests behind it, and later
 * ones. So do receives.
 */
static void local_flush(struct kunit *test)
{
	struct host *h = test->priv;
	u64 i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, host_receive(h, &h->a, 10 + i, 0, 64), 0);
	/* The first send waits for a receive until its retries are used up. */
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, host_ask(h, 1 + i, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_none(test, &h->a);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &(struct ib_qp_attr){
		.qp_state = IB_QPS_ERR }, IB_QP_STATE, NULL), 0);
	for (i = 0; i < 3; i++)
		host_expect_wc(test, &h->a, 10 + i, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 4; i++)
		host_expect_wc(test, &h->a, 1 + i, IB_WC_WR_FLUSH_ERR);
	KUNIT_ASSERT_EQ(test, host_ask(h, 8, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 8, IB_WC_WR_FLUSH_ERR);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->a, 20, 0, 64), 0);
	EVENTUALLY(h->a.cq.head != READ_ONCE(h->a.cq.tail));
	host_expect_wc(test, &h->a, 20, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->b), (int)IB_QPS_RTS);
}

/* The sender gets no report of a lost message, and the receiver is unchanged. */
static void local_unreliable(struct kunit *test)
{
	struct host *h = test->priv;

	host_again(test, IB_QPT_UC, 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 2, IB_WR_RDMA_WRITE, 0, BYTES - 8, 64), 0);
	host_expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, host_ask(h, 3, IB_WR_RDMA_WRITE_WITH_IMM, 0, BYTES, 64), 0);
	host_expect_wc(test, &h->a, 3, IB_WC_SUCCESS);
	host_expect_none(test, &h->b);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->b), (int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, h->b.events, 0u);
	/* The receive request is still posted. */
	KUNIT_ASSERT_EQ(test, host_ask(h, 3, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 3, IB_WC_SUCCESS);
	host_expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, 0, 0, 64, 1), -1);
	/* A receive request that an aborted message had taken serves the next message. */
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 6, 0, 64), 0);
	host_take(test, &h->b);
	KUNIT_ASSERT_EQ(test, host_ask(h, 4, IB_WR_SEND, 0, 0, 32), 0);
	host_expect_wc(test, &h->a, 4, IB_WC_SUCCESS);
	host_expect_wc(test, &h->b, 6, IB_WC_SUCCESS);
	/*
	 * Errors of the sender's own memory are reported; the sender enters SQE and may
	 * leave it.
	 */
	KUNIT_ASSERT_EQ(test, host_ask(h, 4, IB_WR_RDMA_WRITE, BYTES - 8, 0, 64), 0);
	host_expect_wc(test, &h->a, 4, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->a), (int)IB_QPS_SQE);
	KUNIT_ASSERT_EQ(test, host_ask(h, 5, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 5, IB_WC_WR_FLUSH_ERR);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &(struct ib_qp_attr){
		.qp_state = IB_QPS_RTS }, IB_QP_STATE, NULL), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 6, IB_WR_RDMA_WRITE, 0, 0, 32), 0);
	host_expect_wc(test, &h->a, 6, IB_WC_SUCCESS);
}

/*
 * The peer was destroyed after it was found, and 2^32 other queue pairs have been
 * destroyed since.
 */
static void local_peer_seen(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	uroce_qp_destroy(&h->b.qp.ib, NULL);
	h->b.qp.qp = NULL;
	rcu_barrier();
	atomic64_add(U32_MAX, &uroce_qp_ends.count);
	KUNIT_ASSERT_EQ(test, host_ask(h, 2, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	/* The sender waits for a new peer, and does not use the destroyed one. */
	KUNIT_EXPECT_TRUE(test, READ_ONCE(h->a.qp.qp->sq.peer) == NULL);
}

/*
 * The first message of a UC chain is too long and puts the peer in error: none of the
 * rest is delivered.
 */
static void local_unreliable_chain(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_sge sge[2] = { host_piece(&h->a, 0, 65), host_piece(&h->a, 0, 64) };
	const struct ib_send_wr second = { .wr_id = 2, .sg_list = &sge[1], .num_sge = 1,
					   .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr first = { .wr_id = 1, .sg_list = &sge[0], .num_sge = 1,
					  .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
					  .next = (struct ib_send_wr *)&second };
	const struct ib_send_wr *bad;
	u64 i;

	host_again(test, IB_QPT_UC, 0);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5 + i, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, uroce_post_send(&h->a.qp.ib, &first, &bad), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	host_expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	host_expect_wc(test, &h->b, 5, IB_WC_LOC_LEN_ERR);
	tasklet_unlock_wait(&h->b.qp.qp->sq.task);
	EVENTUALLY(h->b.cq.head != READ_ONCE(h->b.cq.tail));
	host_expect_wc(test, &h->b, 6, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
}

/* A requester was reset in the middle of a message: its next message is out of sequence. */
static void local_unfinished(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 6, 0, 64), 0);
	host_take(test, &h->b);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 32), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_REM_INV_REQ_ERR);
	EVENTUALLY(READ_ONCE(h->b.cq.tail) - h->b.cq.head >= 2);
	host_expect_wc(test, &h->b, 5, IB_WC_REM_INV_REQ_ERR);
	host_expect_wc(test, &h->b, 6, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, h->b.events, 0u);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
}

/* The first message for a queue pair in RTR raises an event there, and the second raises none. */
static void local_established(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->b.qp.ib, &(struct ib_qp_attr){
		.qp_state = IB_QPS_RESET }, IB_QP_STATE, NULL), 0);
	KUNIT_ASSERT_EQ(test, host_to_init(&h->b), 0);
	KUNIT_ASSERT_EQ(test, host_to_rtr(&h->b, &h->a), 0);
	/* The peer does not learn of a request that fails locally. */
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, BYTES, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_FALSE(test, h->b.qp.qp->resp.established);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &(struct ib_qp_attr){
		.qp_state = IB_QPS_RESET }, IB_QP_STATE, NULL), 0);
	KUNIT_ASSERT_EQ(test, host_to_init(&h->a), 0);
	KUNIT_ASSERT_EQ(test, host_to_rtr(&h->a, &h->b), 0);
	KUNIT_ASSERT_EQ(test, host_to_rts(&h->a, 7), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	EVENTUALLY(READ_ONCE(h->b.events));
	KUNIT_EXPECT_EQ(test, h->b.events, (u32)BIT(IB_EVENT_COMM_EST));
	KUNIT_ASSERT_EQ(test, host_ask(h, 2, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	KUNIT_EXPECT_EQ(test, h->b.qp.qp->events, 0ul);
}

static int to_state(struct side *side, enum ib_qp_state state, u8 port, int mask)
{
	struct ib_qp_attr a = { .qp_state = state, .ah_attr.port_num = port };

	return uroce_qp_modify(&side->qp.ib, &a, IB_QP_STATE | mask, NULL);
}

/*
 * Messages within a host have no PSNs that packets could continue, so the connection
 * stays local.
 */
static void local_stays_local(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, to_state(&h->a, IB_QPS_SQD, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, to_state(&h->a, IB_QPS_SQD, FAR_PORT, IB_QP_AV), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, to_state(&h->a, IB_QPS_SQD, 0, IB_QP_AV), 0);
	KUNIT_EXPECT_EQ(test, to_state(&h->a, IB_QPS_RTS, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
}

/* Reset a queue pair, and connect it to @peer as if it were new. */
static void connect_again(struct kunit *test, struct side *side, const struct side *peer)
{
	KUNIT_ASSERT_EQ(test, to_state(side, IB_QPS_RESET, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, host_to_init(side), 0);
	KUNIT_ASSERT_EQ(test, host_to_rtr(side, peer), 0);
	KUNIT_ASSERT_EQ(test, host_to_rts(side, 7), 0);
}

/*
 * A queue pair that has sent to one peer is reset and connected to another one: its messages go
 * there, although the first peer would still accept them.
 */
static void local_other_peer(struct kunit *test)
{
	struct side *others = kunit_kcalloc(test, 2, sizeof(*others), GFP_KERNEL);
	struct host *h = test->priv;
	struct ib_wc wc = {};
	int i;

	KUNIT_ASSERT_NOT_NULL(test, others);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, host_side_init(test, &others[i]), 0);
	/* No queue pair is destroyed from here on: the sender would look its peer up again. */
	host_connect(test, &others[0], &others[1], IB_QPT_RC, 7);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	host_expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	connect_again(test, &h->a, &others[0]);
	connect_again(test, &others[0], &h->a);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 6, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, host_receive(h, &others[0], 7, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 2, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	host_expect_none(test, &h->b);
	/* No ASSERT, since the others have to end. */
	KUNIT_EXPECT_EQ(test, uroce_cq_poll(&others[0].cq.ib, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 7ull);
	for (i = 0; i < 2; i++) {
		host_drop(&others[i]);
		host_side_exit(&others[i]);
	}
}

/* The first side is connected anew, with this timeout, to a peer that does not answer. */
static void connect_to_silence(struct kunit *test, u8 timeout)
{
	struct ib_qp_attr a = { .qp_state = IB_QPS_RTS, .timeout = timeout, .retry_cnt = 1,
				.rnr_retry = 7, .max_rd_atomic = 2 };
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, to_state(&h->b, IB_QPS_RESET, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, to_state(&h->a, IB_QPS_RESET, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, host_to_init(&h->a), 0);
	KUNIT_ASSERT_EQ(test, host_to_rtr(&h->a, &h->b), 0);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &a, IB_QP_STATE | IB_QP_SQ_PSN |
					      IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
					      IB_QP_MAX_QP_RD_ATOMIC, NULL), 0);
}

/* A sender whose peer does not answer tries again after its timeout, here the longest one. */
static void local_silent_peer(struct kunit *test)
{
	const s64 timeout = 8796093022208;
	struct host *h = test->priv;
	struct hrtimer *timer;
	ktime_t before;

	connect_to_silence(test, 31);
	before = ktime_get();
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	host_expect_none(test, &h->a);
	timer = &h->a.qp.qp->sq.timer;
	KUNIT_EXPECT_GE(test, ktime_to_ns(ktime_sub(hrtimer_get_expires(timer), before)), timeout);
	KUNIT_EXPECT_LE(test, ktime_to_ns(hrtimer_get_remaining(timer)), timeout);
}

/* A sender without a timeout waits for its peer for as long as it takes. */
static void local_patient(struct kunit *test)
{
	struct host *h = test->priv;

	connect_to_silence(test, 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	msleep(20);
	host_expect_none(test, &h->a);
	KUNIT_ASSERT_EQ(test, host_to_init(&h->b), 0);
	KUNIT_ASSERT_EQ(test, host_to_rtr(&h->b, &h->a), 0);
	host_expect_soon(test, &h->a, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, 0, 0, 64, 1), -1);
}

/*
 * A message has taken a receive request, and is to go on later. In the error state this request is
 * flushed, before those that are in the queue.
 */
static void local_flush_taken(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 6, 0, 64), 0);
	host_take(test, &h->b);
	KUNIT_ASSERT_EQ(test, to_state(&h->b, IB_QPS_ERR, 0, 0), 0);
	EVENTUALLY(READ_ONCE(h->b.cq.tail) - h->b.cq.head >= 2);
	host_expect_wc(test, &h->b, 5, IB_WC_WR_FLUSH_ERR);
	host_expect_wc(test, &h->b, 6, IB_WC_WR_FLUSH_ERR);
	host_expect_none(test, &h->b);
}

static int far_rtr(struct host *h)
{
	struct ib_qp_attr a = {
		.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_1024, .dest_qp_num = 7,
		.max_dest_rd_atomic = 2, .ah_attr.port_num = FAR_PORT,
	};

	return uroce_qp_modify(&h->a.qp.ib, &a, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			       IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			       IB_QP_MIN_RNR_TIMER, NULL);
}

/* A change that gets no memory changes nothing, so it can be repeated. */
static void local_lacks_memory(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, to_state(&h->a, IB_QPS_RESET, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, host_to_init(&h->a), 0);
	host_lacks_memory = true;
	KUNIT_EXPECT_EQ(test, far_rtr(h), -ENOMEM);
	host_lacks_memory = false;
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->a), (int)IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, far_rtr(h), 0);
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->a), (int)IB_QPS_RTR);
}

/* A queue pair without a receive queue is never ready for a send; it does no other harm. */
static void local_no_receives(struct kunit *test)
{
	struct host *h = test->priv;

	h->no_receives = true;
	host_again(test, IB_QPT_RC, 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_RNR_RETRY_EXC_ERR);
}

static u64 waits(struct host *h)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += per_cpu_ptr(h->dev.counters, cpu)[UROCE_CNT_RNR_RECEIVED];
	return n;
}

/* A sender that waits for a receive rarely polls, and continues as soon as a receive is posted. */
static void local_wait_is_cheap(struct kunit *test)
{
	struct host *h = test->priv;
	ktime_t from = ktime_get();
	u64 looked;

	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	msleep(50);
	looked = waits(h);
	/* The peer's RNR timer is ten microseconds. */
	KUNIT_EXPECT_LT(test, looked,
			10 + (u64)ktime_ms_delta(ktime_get(), from) / 50);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(h->b.qp.qp->resp.wanted));
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 64), 0);
	EVENTUALLY(h->b.cq.head != READ_ONCE(h->b.cq.tail));
	host_expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(h->b.qp.qp->resp.wanted));
}

/* The work item may begin while the function that queued it still holds the lock. */
static void local_rest_begins_early(struct kunit *test)
{
	struct host *h = test->priv;
	struct uroce_sendq *sq = &h->a.qp.qp->sq;

	spin_lock_bh(&sq->lock);
	KUNIT_EXPECT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	queue_work(system_unbound_wq, &sq->rest);
	mdelay(50);
	spin_unlock_bh(&sq->lock);
	flush_work(&sq->rest);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
}

static struct kunit_case states_cases[] = {
	KUNIT_CASE(local_not_ready),
	KUNIT_CASE(local_flush),
	KUNIT_CASE(local_unreliable),
	KUNIT_CASE(local_peer_seen),
	KUNIT_CASE(local_unreliable_chain),
	KUNIT_CASE(local_unfinished),
	KUNIT_CASE(local_established),
	KUNIT_CASE(local_stays_local),
	KUNIT_CASE(local_other_peer),
	KUNIT_CASE(local_silent_peer),
	KUNIT_CASE(local_patient),
	KUNIT_CASE(local_flush_taken),
	KUNIT_CASE(local_lacks_memory),
	KUNIT_CASE(local_no_receives),
	KUNIT_CASE(local_wait_is_cheap),
	KUNIT_CASE(local_rest_begins_early),
	{}
};

static struct kunit_suite states_suite = {
	.name = "univ_uroce_states",
	.init = host_init,
	.exit = host_exit,
	.test_cases = states_cases,
};

kunit_test_suite(states_suite);
