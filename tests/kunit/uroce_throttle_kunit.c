// SPDX-License-Identifier: GPL-2.0
/*
 * Senders that no window limits, UC and responses to requesters of other kinds, reduce their rate
 * at congestion notifications. Time passes when a test says so: it makes the last cut older.
 */
#include <linux/string.h>

#include "uroce_end.h"

#define PERIOD_NS	(10 * (u64)NSEC_PER_MSEC)
#define LEAST		(MTU * 8 / 10)	/* kbit/s: a packet in 10 ms */

/* The rate grows no more, however slow the machine is, and may be cut. */
static void freeze(struct uroce_throttle *t)
{
	t->calm = U32_MAX;
}

/* Packets of @bytes have left for @ms milliseconds. */
static void send(struct uroce_throttle *t, u32 bytes, u32 ms)
{
	t->sent = bytes;
	t->busy = ms * (u64)NSEC_PER_MSEC;
	freeze(t);
}

static void cut(struct uroce_throttle *t)
{
	uroce_throttle_cut(t, MTU);
}

/* Return the rate @periods after the last cut. A machine that is too slow begins again. */
static u32 rate_after(struct uroce_throttle *t, u32 periods)
{
	struct uroce_throttle before = *t;
	u64 now;

	do {
		*t = before;
		now = ktime_get_ns();
		t->cut = now - periods * PERIOD_NS - PERIOD_NS / 10;
		uroce_throttle_wait(t);
	} while (ktime_get_ns() - now >= PERIOD_NS / 2);
	return t->pace.kbps;
}

/* The second notification sets half of the rate at which packets left since the first one. */
static void throttle_measures(struct kunit *test)
{
	struct uroce_throttle t = {};

	KUNIT_EXPECT_FALSE(test, uroce_throttle_on(&t));
	uroce_throttle_take(&t, 1 << 20);
	KUNIT_EXPECT_EQ(test, t.sent, 0ull);
	cut(&t);
	KUNIT_EXPECT_TRUE(test, uroce_throttle_on(&t));
	KUNIT_EXPECT_FALSE(test, uroce_throttle_limits(&t));
	/* 1 MB in 50 ms are 160 Mbit/s. */
	send(&t, 1000000, 50);
	cut(&t);
	KUNIT_EXPECT_TRUE(test, uroce_throttle_limits(&t));
	KUNIT_EXPECT_EQ(test, t.pace.kbps, 80000u);
	KUNIT_EXPECT_EQ(test, t.sent + t.busy, 0ull);
}

/* A burst that is shorter than a period counts as if it had taken one. */
static void throttle_burst(struct kunit *test)
{
	struct uroce_throttle t = {};

	cut(&t);
	send(&t, 1000000, 1);
	cut(&t);
	KUNIT_EXPECT_EQ(test, t.pace.kbps, 400000u);
}

/* Each packet counts with its headers below UDP, and the time between packets up to a period. */
static void throttle_counts(struct kunit *test)
{
	struct uroce_throttle t = {};

	cut(&t);
	uroce_throttle_take(&t, 100);
	KUNIT_EXPECT_LE(test, t.busy, t.last - t.cut);
	KUNIT_EXPECT_GT(test, t.pace.next, 0ull);
	t.busy = 0;
	t.last -= 70 * PERIOD_NS;
	uroce_throttle_take(&t, 100);
	KUNIT_EXPECT_EQ(test, t.busy, PERIOD_NS);
	KUNIT_EXPECT_EQ(test, t.sent, 2ull * (100 + 20 + 8 + 4));
}

/* Notifications within a period after a cut, and those about nothing that was sent, are ignored. */
static void throttle_ignores(struct kunit *test)
{
	struct uroce_throttle t = {};
	u64 last;

	cut(&t);
	last = t.cut;
	t.sent = 1 << 20;
	cut(&t);
	if (ktime_get_ns() - last < PERIOD_NS)
		KUNIT_EXPECT_EQ(test, t.pace.kbps, UROCE_THROTTLE_OPEN);
	t = (struct uroce_throttle){};
	cut(&t);
	freeze(&t);
	cut(&t);
	KUNIT_EXPECT_EQ(test, t.pace.kbps, UROCE_THROTTLE_OPEN);
}

/* A sender that does not use its rate is cut below what it sends. */
static void throttle_uses(struct kunit *test)
{
	struct uroce_throttle t = {};

	cut(&t);
	send(&t, 10000000, 500);
	cut(&t);
	send(&t, 1000000, 500);
	cut(&t);
	KUNIT_EXPECT_EQ(test, t.pace.kbps, 8000u);
}

/* The rate is never below a packet in each period. */
static void throttle_least(struct kunit *test)
{
	struct uroce_throttle t = {};

	cut(&t);
	send(&t, 1, 0);
	cut(&t);
	KUNIT_EXPECT_EQ(test, t.pace.kbps, (u32)LEAST);
}

/* The rate grows in each period, twice as fast after each four of them, and then is not limited. */
static void throttle_grows(struct kunit *test)
{
	struct uroce_throttle t = {};
	u32 grown = 1000, i;

	cut(&t);
	send(&t, 1, 0);
	cut(&t);
	t.pace.kbps = grown;
	for (i = 0; i < 9; i++) {
		grown += LEAST << i / 4;
		KUNIT_EXPECT_EQ(test, rate_after(&t, i + 1), grown);
	}
	KUNIT_EXPECT_GT(test, rate_after(&t, 99), grown);
	KUNIT_EXPECT_EQ(test, rate_after(&t, 101), 0u);
	/* The next notification begins a measurement again. */
	cut(&t);
	KUNIT_EXPECT_EQ(test, t.pace.kbps, UROCE_THROTTLE_OPEN);
}

/* The rate that grows does not become small again. */
static void throttle_most(struct kunit *test)
{
	struct uroce_throttle t = { .mtu = 4096 };

	t.pace.kbps = UROCE_THROTTLE_OPEN - 1;
	KUNIT_EXPECT_EQ(test, rate_after(&t, 50), UROCE_THROTTLE_OPEN);
}

/* Tell an end of congestion. */
static void tell(struct end *end)
{
	struct uroce_bth bth = { .opcode = UROCE_CNP };
	struct uroce_packet pkt = { .bth = &bth, .op = &uroce_ops[UROCE_CNP] };

	IN_BOTTOM_HALF(uroce_comp_receive(&end->conn, &pkt));
}

/* A sender of UC is limited by its rate. */
static void throttle_unreliable(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_conn *conn = &w->a.conn;

	conn->service = UROCE_UC;
	tell(&w->a);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_CNP_HANDLED], 1u);
	KUNIT_EXPECT_TRUE(test, uroce_throttle_on(&conn->req.throttle));
	freeze(&conn->req.throttle);
	wire_post(w, IB_WR_SEND, 4 * MTU);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 4u);
	KUNIT_EXPECT_GE(test, conn->req.throttle.sent, 4ull * MTU);
	/* From now on nothing may leave. */
	conn->req.throttle.pace.next = ktime_get_ns() + 3600 * (u64)NSEC_PER_SEC;
	wire_post(w, IB_WR_SEND, 4 * MTU);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 4u);
	KUNIT_EXPECT_GT(test, ktime_to_ns(hrtimer_get_remaining(&conn->req.soon)), NSEC_PER_SEC);
	/* A connection that begins again knows of no congestion. */
	uroce_req_start(conn, FIRST_PSN);
	KUNIT_EXPECT_FALSE(test, uroce_throttle_on(&conn->req.throttle));
}

/* The window of a reliable sender is halved, and its rate is not limited. */
static void throttle_reliable(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_SEND, MTU);
	wire_run(w);
	tell(&w->a);
	KUNIT_EXPECT_FALSE(test, uroce_throttle_on(&w->a.conn.req.throttle));
	/* A request was under way, so the notification is about it. */
	KUNIT_EXPECT_EQ(test, w->a.conn.resp.congested, 0ul);
	wire_settle(w);
	wire_expect_done(test, 1);
}

/* The notification does not become old for an hour. */
static void keep_new(struct uroce_responder *resp)
{
	resp->congested += 3600 * HZ;
}

/* End b is told of congestion, and has to answer a read of eight packets. */
static struct uroce_responder *told_reader(struct wire *w)
{
	tell(&w->b);
	wire_post(w, IB_WR_RDMA_READ, 8 * MTU);
	wire_run(w);
	return &w->b.conn.resp;
}

/* Responses travel together while their rate is measured, and one by one when it is limited. */
static void throttle_responses(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_responder *resp = told_reader(w);

	KUNIT_EXPECT_NE(test, resp->congested, 0ul);
	keep_new(resp);
	w->b.gso = 4 * MTU;
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, resp->congested, 0ul);
	KUNIT_EXPECT_TRUE(test, uroce_throttle_on(&resp->throttle));
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 2u);
	KUNIT_EXPECT_GE(test, resp->throttle.sent, 8ull * MTU);
	wire_tell(w, -1);
	wire_expect_done(test, 1);
	freeze(&resp->throttle);
	tell(&w->b);
	keep_new(resp);
	/* From now on no response may leave. */
	resp->throttle.pace.next = ktime_get_ns() + 3600 * (u64)NSEC_PER_SEC;
	wire_post(w, IB_WR_RDMA_READ, 2 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_EXPECT_TRUE(test, uroce_throttle_limits(&resp->throttle));
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.out));
	KUNIT_EXPECT_GT(test, ktime_to_ns(hrtimer_get_remaining(&resp->soon)), NSEC_PER_SEC);
	resp->throttle.pace.next = 0;
	resp->throttle.pace.burst = NSEC_PER_SEC;
	freeze(&resp->throttle);
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 2u);
	wire_settle(w);
	wire_expect_done(test, 2);
	uroce_resp_start(&w->b.conn, FIRST_PSN);
	KUNIT_EXPECT_FALSE(test, uroce_throttle_on(&resp->throttle));
}

/* A notification of long ago says nothing about the next response. */
static void throttle_stale(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_responder *resp = told_reader(w);

	resp->congested -= HZ;
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, resp->congested, 0ul);
	KUNIT_EXPECT_FALSE(test, uroce_throttle_on(&resp->throttle));
	wire_settle(w);
	wire_expect_done(test, 1);
}

/* A uroce device limits the responses that it asks for by its window. */
static void throttle_known(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_responder *resp = told_reader(w);

	resp->held.known = true;
	keep_new(resp);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, resp->congested, 0ul);
	KUNIT_EXPECT_FALSE(test, uroce_throttle_on(&resp->throttle));
	wire_settle(w);
	wire_expect_done(test, 1);
}

static struct kunit_case throttle_cases[] = {
	KUNIT_CASE(throttle_measures),
	KUNIT_CASE(throttle_burst),
	KUNIT_CASE(throttle_counts),
	KUNIT_CASE(throttle_ignores),
	KUNIT_CASE(throttle_uses),
	KUNIT_CASE(throttle_least),
	KUNIT_CASE(throttle_grows),
	KUNIT_CASE(throttle_most),
	KUNIT_CASE(throttle_unreliable),
	KUNIT_CASE(throttle_reliable),
	KUNIT_CASE(throttle_responses),
	KUNIT_CASE(throttle_stale),
	KUNIT_CASE(throttle_known),
	{}
};

static struct kunit_suite throttle_suite = {
	.name = "univ_uroce_throttle",
	.init = wire_init,
	.exit = wire_exit,
	.test_cases = throttle_cases,
};

kunit_test_suite(throttle_suite);
