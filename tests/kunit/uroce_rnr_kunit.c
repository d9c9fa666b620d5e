// SPDX-License-Identifier: GPL-2.0
/* Receivers that are not ready: RNR NAKs, and the waits of the requester. */
#include "uroce_end.h"

static void conn_not_ready(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.recvs = 0;
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_TRUE(test, w->a.conn.req.waiting);
	w->b.recvs = 1;
	wire_end_wait(w);
	wire_settle(w);
	wire_expect_done(test, 1);
}

/*
 * If the packet that the requester repeats after an RNR wait is lost, the responder
 * sends a NAK at once.
 */
static void conn_not_ready_lost(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.recvs = 0;
	w->b.conn.resp.rnr_timer = 0;	/* 655 ms */
	wire_post(w, IB_WR_SEND, 3 * MTU);
	wire_run(w);
	wire_ask(w, 1);
	w->b.conn.resp.patience = U64_MAX; /* never expires, however slow the machine is */
	wire_ask(w, -1);
	/* The two packets behind the first get no response: they were already under way. */
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	wire_tell(w, -1);
	w->b.recvs = 1;
	w->b.conn.resp.patience = 1;	/* the wait is over */
	wire_end_wait(w);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_TIMEOUTS], 0u);
}

static void conn_never_ready(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	w->b.recvs = 0;
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	for (i = 0; i < 10 && !w->a.completed; i++) {
		wire_settle(w);
		wire_end_wait(w);
	}
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_RNR_SENT], 1u + w->a.conn.req.rnr_retry);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_RNR_RETRY_EXC_ERR);
}

/* Each request has all retries, however many the request before it has used. */
static void conn_not_ready_anew(struct kunit *test)
{
	struct wire *w = test->priv;
	u32 i, waits;

	for (i = 1; i <= 2; i++) {
		w->b.recvs = 0;
		wire_post(w, IB_WR_SEND, 1);
		wire_run(w);
		for (waits = 0; waits < w->a.conn.req.rnr_retry; waits++) {
			wire_settle(w);
			wire_end_wait(w);
		}
		w->b.recvs = 1;
		wire_settle(w);
		wire_expect_done(test, i);
		KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_RNR_SENT], i * waits);
	}
}

/*
 * An RNR NAK waits for responses that find no room. No NAK of a gap replaces it, which would count
 * as another retry, and the peer waits from the time at which it leaves.
 */
static void conn_not_ready_later(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_responder *resp = &w->b.conn.resp;
	u64 now;
	int i;

	w->b.full = true;
	w->b.recvs = 0;
	wire_post(w, IB_WR_RDMA_READ, 2 * MTU);
	for (i = 0; i < 2; i++)
		wire_post(w, IB_WR_SEND, MTU);
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_EXPECT_TRUE(test, resp->ack);
	KUNIT_EXPECT_EQ(test, resp->syndrome & UROCE_AETH_KIND, UROCE_AETH_RNR);
	KUNIT_EXPECT_EQ(test, resp->patience, UROCE_PATIENCE_BEGINS);
	w->b.full = false;
	now = ktime_get_ns();
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	KUNIT_EXPECT_GE(test, resp->patience, now + uroce_rnr_ns(resp->rnr_timer));
	KUNIT_EXPECT_LE(test, resp->patience, ktime_get_ns() + NSEC_PER_SEC);
	w->b.recvs = 2;
	wire_tell(w, -1);
	wire_end_wait(w);
	wire_settle(w);
	wire_expect_done(test, 3);
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_NAKS_SENT], 0u);
}

/* Copies of an RNR NAK that arrive during the wait are no further retries. */
static void conn_not_ready_twice(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;
	int i;

	w->b.recvs = 0;
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_ASSERT_NOT_NULL(test, skb_peek(&w->b.out));
	for (i = 0; i < w->a.conn.req.rnr_retry; i++)
		skb_queue_tail(&w->b.out, skb_copy(skb_peek(&w->b.out), GFP_KERNEL));
	/* The requester does not run meanwhile, so the wait does not end on a slow machine. */
	while (wire_next(&w->b.out, &pkt)) {
		IN_BOTTOM_HALF(uroce_comp_receive(&w->a.conn, &pkt));
		kfree_skb(pkt.skb);
	}
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_RNR_RECEIVED], 1u);
	w->b.recvs = 1;
	wire_end_wait(w);
	wire_settle(w);
	wire_expect_done(test, 1);
}

/* The wait is as long as the peer asks for, and the timer of a lost packet does not end it. */
static void conn_not_ready_wait(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	u64 before = ktime_get_ns();

	w->b.recvs = 0;
	w->b.conn.resp.rnr_timer = 31;	/* 491.52 ms */
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_GE(test, req->ready_at, before + 491520000);
	KUNIT_EXPECT_LE(test, req->ready_at, (u64)ktime_get_ns() + 491520000);
	KUNIT_EXPECT_FALSE(test, timer_pending(&req->timer));
	req->ready_at = U64_MAX;	/* never ends, however slow the machine is */
	wire_expire(w);
	KUNIT_EXPECT_TRUE(test, req->waiting);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_TIMEOUTS], 0u);
	w->b.recvs = 1;
	wire_end_wait(w);
	wire_settle(w);
	wire_expect_done(test, 1);
}

/* Without a limit of retries, waits of 10 microseconds grow until they last 10 ms. */
static void conn_not_ready_grows(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	u64 before;
	int i;

	w->b.recvs = 0;
	w->b.conn.resp.rnr_timer = 1;
	req->rnr_retry = 7;
	req->rnr_tries = 7;
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	for (i = 0; i < 20; i++) {
		before = ktime_get_ns();
		wire_settle(w);
		KUNIT_EXPECT_GE(test, req->ready_at, before + (10000 << min(i + 1, 10)));
		KUNIT_EXPECT_LE(test, req->ready_at, (u64)ktime_get_ns() + 10240000);
		wire_end_wait(w);
	}
	w->b.recvs = 1;
	wire_settle(w);
	wire_end_wait(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, req->rnr_waits, (u8)0);
}

/* A message whose pages are missing waits with the RNR timer @want if the responder has @timer. */
static void wait_for_pages(struct kunit *test, u8 timer, u8 want)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	u32 told = w->b.counts[UROCE_CNT_RNR_SENT];
	u64 begun = ktime_get_ns();

	w->b.conn.resp.rnr_timer = timer;
	w->b.pages_missing = 1;
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	/* On a slow machine the wait may end meanwhile. */
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_RNR_SENT], told + 1);
	KUNIT_EXPECT_GE(test, req->ready_at, begun + uroce_rnr_ns(want));
	KUNIT_EXPECT_LE(test, req->ready_at, (u64)ktime_get_ns() + uroce_rnr_ns(want));
	wire_end_wait(w);
	wire_settle(w);
}

/* It is 0.64 ms, or longer if the responder's owner has chosen a longer time: 0 is not chosen. */
static void conn_pages_missing(struct kunit *test)
{
	wait_for_pages(test, 12, 12);
	wait_for_pages(test, 1, 12);
	wait_for_pages(test, 0, 12);
	wait_for_pages(test, 20, 20);
	wire_expect_done(test, 4);
}

static struct kunit_case rnr_cases[] = {
	KUNIT_CASE(conn_not_ready),
	KUNIT_CASE(conn_not_ready_lost),
	KUNIT_CASE(conn_never_ready),
	KUNIT_CASE(conn_not_ready_anew),
	KUNIT_CASE(conn_not_ready_later),
	KUNIT_CASE(conn_not_ready_twice),
	KUNIT_CASE(conn_not_ready_wait),
	KUNIT_CASE(conn_not_ready_grows),
	KUNIT_CASE(conn_pages_missing),
	{}
};

static struct kunit_suite rnr_suite = {
	.name = "univ_uroce_rnr",
	.init = wire_init,
	.exit = wire_exit,
	.test_cases = rnr_cases,
};

kunit_test_suite(rnr_suite);
