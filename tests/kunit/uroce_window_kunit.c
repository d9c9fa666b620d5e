// SPDX-License-Identifier: GPL-2.0
/* Full queues and congestion: the window of the requester, and packets that go alone. */
#include "uroce_end.h"

/*
 * The responder sends one CNP for many marked packets; the requester halves its window
 * once for many.
 */
static void conn_congestion(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;
	u32 before;
	int i;

	wire_post(w, IB_WR_SEND, 4 * MTU);
	wire_run(w);
	before = w->a.conn.req.window;
	for (i = 0; i < 3; i++)
		IN_BOTTOM_HALF(uroce_resp_congested(&w->b.conn));
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_ECN_MARKED], 3u);
	KUNIT_EXPECT_GE(test, w->b.counts[UROCE_CNT_CNP_SENT], 1u);
	while (wire_next(&w->b.out, &pkt)) {
		KUNIT_EXPECT_EQ(test, (int)pkt.bth->opcode, UROCE_CNP);
		KUNIT_EXPECT_TRUE(test, pkt.bth->qpn & cpu_to_be32(UROCE_BTH_BECN));
		KUNIT_EXPECT_TRUE(test, uroce_conn_accepts(&w->a.conn, &pkt, w->a.conn.pkey));
		IN_BOTTOM_HALF(uroce_comp_receive(&w->a.conn, &pkt));
		kfree_skb(pkt.skb);
	}
	KUNIT_EXPECT_EQ(test, w->a.conn.req.window, before / 2);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_CNP_HANDLED],
			w->b.counts[UROCE_CNT_CNP_SENT]);
	wire_settle(w);
	wire_expect_done(test, 1);
}

/* The answer itself was marked on its way: what this side sends may meet the same congestion. */
static void conn_congested_answer(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;
	u32 before = w->a.conn.req.window;

	wire_post(w, IB_WR_SEND, 4 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_ASSERT_NOT_NULL(test, wire_next(&w->b.out, &pkt));
	pkt.ce = true;
	IN_BOTTOM_HALF(uroce_comp_receive(&w->a.conn, &pkt));
	kfree_skb(pkt.skb);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.window, before / 2);
	wire_settle(w);
	wire_expect_done(test, 1);
}

static void conn_window(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	u32 before = req->window;
	int i;

	uroce_window_gain(req, 10);
	KUNIT_EXPECT_EQ(test, req->window, before + 10);
	req->high = uroce_psn_add(req->una, 20);
	uroce_window_cut(req);
	KUNIT_EXPECT_EQ(test, req->window, (before + 10) / 2);
	/* Further losses of the same packets do not cut the window again. */
	uroce_window_cut(req);
	KUNIT_EXPECT_EQ(test, req->window, (before + 10) / 2);
	before = req->window;
	uroce_window_gain(req, before - 1);
	KUNIT_EXPECT_EQ(test, req->window, before);
	uroce_window_gain(req, 1);
	KUNIT_EXPECT_EQ(test, req->window, before + 1);
	uroce_window_close(req);
	KUNIT_EXPECT_LT(test, req->window, 4u);
	/* A loss also counts after more than 2^23 packets without a loss. */
	for (i = 0; i < 3; i++) {
		req->una = uroce_psn_add(req->una, 1 << 22);
		uroce_window_gain(req, 100);
	}
	req->high = uroce_psn_add(req->una, 20);
	before = req->window;
	uroce_window_cut(req);
	KUNIT_EXPECT_EQ(test, req->window, before / 2);
	req->high = req->una;
}

/* Late signals of congestion, which arrive after the last acknowledgement, count once. */
static void conn_window_idle(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	u32 before = req->window;
	int i;

	for (i = 0; i < 7; i++)
		uroce_window_cut(req);
	KUNIT_EXPECT_EQ(test, req->window, before / 2);
	/* The packet that is sent next may meet congestion itself. */
	req->high = uroce_psn_add(req->una, 20);
	req->una = uroce_psn_add(req->una, 1);
	uroce_window_gain(req, 1);
	before = req->window;
	uroce_window_cut(req);
	KUNIT_EXPECT_EQ(test, req->window, before / 2);
	req->high = req->una;
}

/* Expect that every packet whose number is a multiple of @each asks for an acknowledgement. */
static void expect_asks(struct kunit *test, u32 packets, u32 each)
{
	struct wire *w = test->priv;
	u32 n = 0, wrong = 0;
	struct sk_buff *skb;

	skb_queue_walk(&w->a.out, skb)
		wrong += uroce_bth_ack_req((void *)skb->data) != (++n % each == 0);
	KUNIT_EXPECT_EQ(test, n, packets);
	KUNIT_EXPECT_EQ(test, wrong, 0u);
}

/*
 * Within long messages a requester asks four times in its window, and once in 64 packets if the
 * window has its largest size.
 */
static void conn_window_asks(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	for (i = 0; i < MSGS; i++)
		wire_post(w, IB_WR_RDMA_WRITE, BYTES);
	wire_run(w);
	expect_asks(test, 32, 8);
	wire_settle(w);
	wire_expect_done(test, MSGS);
	w->a.completed = 0;
	w->a.conn.req.window = 256;
	for (i = 0; i < MSGS; i++)
		wire_post(w, IB_WR_RDMA_WRITE, BYTES);
	wire_run(w);
	expect_asks(test, MSGS * BYTES / MTU, 64);
	wire_settle(w);
	wire_expect_done(test, MSGS);
}

/* Post more than fits into the first window. Return the number of packets that were sent. */
static u32 exceed_window(struct wire *w)
{
	int i;

	for (i = 0; i < 3; i++)
		wire_post(w, IB_WR_RDMA_WRITE, BYTES);
	wire_run(w);
	return skb_queue_len(&w->a.out);
}

/* After a loss, half of the former number of packets is sent at once. */
static void conn_window_loss(struct kunit *test)
{
	struct wire *w = test->priv;
	u32 before = exceed_window(w);

	wire_lose(&w->a.out, 1);
	wire_ask(w, 1);
	wire_lose(&w->a.out, -1);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), before / 2);
	wire_settle(w);
	wire_expect_done(test, 3);
}

/* A requester that got no answer at all sends a few packets, and waits for their answers. */
static void conn_window_silence(struct kunit *test)
{
	struct wire *w = test->priv;

	KUNIT_EXPECT_GT(test, exceed_window(w), 4u);
	wire_lose(&w->a.out, -1);
	wire_expire(w);
	KUNIT_EXPECT_LT(test, skb_queue_len(&w->a.out), 4u);
	wire_settle(w);
	wire_expect_done(test, 3);
}

/* The number of packets in flight has a limit, even if no packet is ever lost. */
static void conn_window_most(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	w->a.conn.mtu = MTU / 16;
	w->b.conn.mtu = MTU / 16;
	uroce_window_gain(&w->a.conn.req, 1 << 20);
	KUNIT_EXPECT_EQ(test, exceed_window(w), 256u);
	/* No turn sends more than that, so there are more turns. */
	for (i = 0; i < 3; i++)
		wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 256u);
	wire_settle(w);
	wire_expect_done(test, 3);
}

/* Send all single packets but the last, whose PSN is @psn. Return the PSN at which runs begin. */
static u32 last_alone(struct kunit *test, struct uroce_care *care, u32 psn)
{
	care->left = 1;
	KUNIT_EXPECT_TRUE(test, uroce_care_alone(care, psn));
	KUNIT_EXPECT_FALSE(test, uroce_care_alone(care, uroce_psn_add(psn, 1)));
	return uroce_psn_add(psn, 1);
}

/*
 * If runs are lost each time they resume, they resume after ever more packets; other
 * losses have no such effect.
 */
static void conn_care(struct kunit *test)
{
	struct uroce_care care = {};
	u32 psn = FIRST_PSN, i;

	for (i = 1; i <= 16; i++) {
		uroce_care_begin(&care, psn);
		KUNIT_EXPECT_EQ(test, care.left, min(1024u << (i - 1), 1u << 21));
		psn = last_alone(test, &care, uroce_psn_add(psn, i % 2 ? 1023 : 700));
		/* The first run arrives. */
		psn = uroce_psn_add(psn, 1);
	}
	/*
	 * The span stays when a packet is lost that is to go alone, when a later one is
	 * lost, and when one is lost that has gone alone.
	 */
	uroce_care_begin(&care, psn);
	uroce_care_begin(&care, uroce_psn_add(psn, 2000));
	KUNIT_EXPECT_EQ(test, care.left, 1u << 21);
	psn = last_alone(test, &care, psn);
	uroce_care_begin(&care, uroce_psn_add(psn, -1));
	KUNIT_EXPECT_EQ(test, care.left, 1u << 21);
	/* A loss after runs that arrived starts from the beginning. */
	psn = last_alone(test, &care, psn);
	uroce_care_begin(&care, uroce_psn_add(psn, 100));
	KUNIT_EXPECT_EQ(test, care.left, 1024u);
}

/* A requester without retries sends no runs, whatever is lost and however much it sends. */
static void conn_care_always(struct kunit *test)
{
	struct uroce_care care = {};

	uroce_care_set(&care, false);
	uroce_care_begin(&care, FIRST_PSN);
	KUNIT_EXPECT_TRUE(test, uroce_care_alone(&care, FIRST_PSN));
	KUNIT_EXPECT_EQ(test, care.left, UROCE_CARE_ALWAYS);
	uroce_care_set(&care, true);
	KUNIT_EXPECT_FALSE(test, uroce_care_alone(&care, FIRST_PSN));
	uroce_care_begin(&care, FIRST_PSN);
	uroce_care_set(&care, true);
	KUNIT_EXPECT_EQ(test, care.left, 1024u);
}

/* The queues on the route are full of other traffic: one packet is sent at a time and awaited. */
static void conn_full(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.full = true;
	wire_post(w, IB_WR_RDMA_WRITE, 3 * MTU);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	/* The timers wait for room and for a response. */
	KUNIT_EXPECT_TRUE(test, timer_was_started(&w->a.conn.req.soon));
	KUNIT_EXPECT_LE(test, hrtimer_get_remaining(&w->a.conn.req.soon), (s64)NSEC_PER_MSEC);
	KUNIT_EXPECT_TRUE(test, timer_pending(&w->a.conn.req.timer));
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_DUPLICATES], 0u);
}

/*
 * If the queues stay full and no response arrives, the request fails, and does not wait
 * for ever.
 */
static void conn_full_for_ever(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.full = true;
	wire_post(w, IB_WR_SEND, 2 * MTU);
	wire_run(w);
	wire_expect_tries(test);
}

/* The queues refuse each packet of a requester that sends no runs: its request fails, too. */
static void conn_refused_for_ever(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	w->a.conn.req.retry_cnt = 1;
	w->a.conn.req.tries = 1;
	uroce_care_set(&w->a.conn.req.care, false);
	wire_post(w, IB_WR_SEND, 1);
	for (i = 0; i < 3 && !w->a.completed; i++) {
		w->a.refused = 1;
		wire_run(w);
		KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 0u);
		KUNIT_EXPECT_TRUE(test, timer_pending(&w->a.conn.req.timer));
		w->a.refused = 1;
		wire_expire(w);
	}
	KUNIT_EXPECT_EQ(test, i, 2);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_RETRY_EXC_ERR);
}

/* The queues become full behind a packet that has asked for nothing: the next one is sent, and asks. */
static void conn_full_behind_silence(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.max_reads = 0;
	wire_post(w, IB_WR_RDMA_WRITE, 1);
	wire_post(w, IB_WR_RDMA_READ, 1);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	w->a.full = true;
	w->a.conn.req.max_reads = 1;
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	wire_settle(w);
	wire_expect_done(test, 2);
}

/* A read response waits for room no longer than a request does, and always sends one packet. */
static void conn_full_there(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.full = true;
	wire_post(w, IB_WR_RDMA_READ, 3 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	KUNIT_EXPECT_TRUE(test, timer_was_started(&w->b.conn.resp.soon));
	KUNIT_EXPECT_LE(test, hrtimer_get_remaining(&w->b.conn.resp.soon), (s64)NSEC_PER_MSEC);
	w->b.full = false;
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	wire_settle(w);
	wire_expect_done(test, 1);
}

/*
 * The responder never finds room: for each request one packet is sent, as an ACK would
 * be, and the requester asks again for the rest.
 */
static void conn_full_there_for_ever(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	w->b.full = true;
	w->a.conn.req.retry_cnt = 1;
	wire_post(w, IB_WR_RDMA_READ, 5 * MTU);
	wire_run(w);
	for (i = 0; i < 5; i++) {
		wire_ask(w, -1);
		KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
		IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
		KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
		wire_tell(w, -1);
		wire_expire(w);
	}
	wire_post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, (int)w->a.bytes[5 * MTU - 1], 0xbb);
	KUNIT_EXPECT_EQ(test, w->b.atomics, 1u);
}

/* Run as the timer would. Return the least number of nanoseconds until the timer runs again. */
static s64 soon_again(struct wire *w)
{
	struct hrtimer *timer = &w->a.conn.req.soon;
	ktime_t before;

	hrtimer_cancel(timer);
	before = ktime_get();
	wire_run(w);
	return ktime_to_ns(ktime_sub(hrtimer_get_expires(timer), before));
}

/* A requester that finds no room retries at growing intervals, until a packet is sent. */
static void conn_full_long(struct kunit *test)
{
	struct wire *w = test->priv;
	s64 wait;
	int i;

	w->a.full = true;
	wire_post(w, IB_WR_RDMA_WRITE, 3 * MTU);
	wire_run(w);
	for (i = 1; i <= 6; i++) {
		wait = UROCE_SOON_NS << min(i, 4);
		KUNIT_EXPECT_GE(test, soon_again(w), wait);
		KUNIT_EXPECT_LE(test, hrtimer_get_remaining(&w->a.conn.req.soon), wait);
	}
	w->a.full = false;
	wire_run(w);
	w->a.full = true;
	wire_post(w, IB_WR_RDMA_WRITE, MTU);
	wire_run(w);
	KUNIT_EXPECT_LE(test, hrtimer_get_remaining(&w->a.conn.req.soon),
			(s64)UROCE_SOON_NS);
}

/* A message whose pages are not there follows one that did not ask for an acknowledgement. */
static void post_absent(struct wire *w)
{
	wire_post(w, IB_WR_RDMA_WRITE, 8);
	w->a.absent = wire_post(w, IB_WR_RDMA_WRITE, 8);
}

static void expect_end_of_absent(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_TIMEOUTS], 0u);
	w->a.absent = NULL;
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 2);
}

/*
 * Pages may be missing for longer than the ACK timeout. The packet before them is sent once more,
 * and asks.
 */
static void conn_absent_asks(struct kunit *test)
{
	struct wire *w = test->priv;

	post_absent(w);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	expect_end_of_absent(test);
}

/* The packet that asks finds a full queue. */
static void conn_asks_later(struct kunit *test)
{
	struct wire *w = test->priv;

	post_absent(w);
	w->a.refused = 2;
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	KUNIT_EXPECT_TRUE(test, timer_was_started(&w->a.conn.req.soon));
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	expect_end_of_absent(test);
}

/* The packet that would have asked finds a full queue, and may be withdrawn. The one before asks. */
static void conn_refused_asks(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_RDMA_WRITE, 8);
	wire_post(w, IB_WR_RDMA_WRITE, 8);
	w->a.refused = 2;
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	wire_expect_packet(test, &w->a.out, UROCE_WRITE_ONLY, FIRST_PSN);
	wire_expect_packet(test, &w->a.out, UROCE_WRITE_ONLY, FIRST_PSN);
}

/* A packet that did not ask, because another one was to follow, fills a window that has shrunk. */
static void conn_window_shrinks(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;

	req->max_reads = 0;
	wire_post(w, IB_WR_RDMA_WRITE, 8);
	wire_post(w, IB_WR_RDMA_READ, 8);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	req->window = 1;
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	req->max_reads = 1;
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_TIMEOUTS], 0u);
}

static struct kunit_case window_cases[] = {
	KUNIT_CASE(conn_congestion),
	KUNIT_CASE(conn_congested_answer),
	KUNIT_CASE(conn_window),
	KUNIT_CASE(conn_window_idle),
	KUNIT_CASE(conn_window_asks),
	KUNIT_CASE(conn_window_shrinks),
	KUNIT_CASE(conn_refused_asks),
	KUNIT_CASE(conn_window_loss),
	KUNIT_CASE(conn_window_silence),
	KUNIT_CASE(conn_window_most),
	KUNIT_CASE(conn_care),
	KUNIT_CASE(conn_care_always),
	KUNIT_CASE(conn_full),
	KUNIT_CASE(conn_full_for_ever),
	KUNIT_CASE(conn_refused_for_ever),
	KUNIT_CASE(conn_full_behind_silence),
	KUNIT_CASE(conn_full_there),
	KUNIT_CASE(conn_full_there_for_ever),
	KUNIT_CASE(conn_full_long),
	KUNIT_CASE(conn_absent_asks),
	KUNIT_CASE(conn_asks_later),
	{}
};

static struct kunit_suite window_suite = {
	.name = "univ_uroce_window",
	.init = wire_init,
	.exit = wire_exit,
	.test_cases = window_cases,
};

kunit_test_suite(window_suite);
