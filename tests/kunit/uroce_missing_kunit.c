// SPDX-License-Identifier: GPL-2.0
/* Selective repeat: the packets that are sent again after a loss, and only those. */
#include "uroce_end.h"

/* Two packets of eight are lost, and two are repeated. */
static void missing_two(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_write(w, 8, 0x11);
	wire_ask(w, 2);
	wire_lose(&w->a.out, 1);
	wire_ask(w, 2);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	/* No byte behind the gap is written yet. */
	repeat_expect_bytes(test, 0x11, 2 * MTU);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	repeat_expect_again(test, UROCE_WRITE_MIDDLE, NEXT + 2);
	repeat_expect_bytes(test, 0x11, 5 * MTU);
	repeat_expect_again(test, UROCE_WRITE_MIDDLE, NEXT + 5);
	repeat_expect_clean(test, 2, 2);
	repeat_expect_bytes(test, 0x11, 8 * MTU);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.tries, w->a.conn.req.retry_cnt);
}

/* The first packet is lost twice; a packet behind it shows the second loss. */
static void missing_again(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_write(w, 4, 0x11);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, wire_lose(&w->a.out, 1), 0);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	repeat_write(w, 2, 0x11);
	wire_ask(w, -1);
	wire_tell(w, -1);
	repeat_expect_again(test, UROCE_WRITE_FIRST, NEXT);
	repeat_expect_clean(test, 3, 2);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
}

/* Two packets are lost, there is no room, and all NAKs of end b arrive or only the last one. */
static void expect_pressed(struct kunit *test, bool all)
{
	struct wire *w = test->priv;

	repeat_write(w, 8, 0x11);
	wire_lose(&w->a.out, 1);
	wire_ask(w, 2);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	wire_lose(&w->b.out, all ? 0 : skb_queue_len(&w->b.out) - 1);
	w->a.full = true;
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	/* It asks, since other packets may wait for long. */
	repeat_expect_again(test, UROCE_WRITE_FIRST, NEXT);
	KUNIT_EXPECT_FALSE(test, skb_queue_empty(&w->b.out));
	wire_run(w);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	w->a.full = false;
	wire_end_wait(w);
	repeat_expect_again(test, UROCE_WRITE_MIDDLE, NEXT + 3);
	repeat_expect_clean(test, 2, 2);
	repeat_expect_bytes(test, 0x11, 8 * MTU);
}

/* The oldest packet is repeated although there is no room. */
static void missing_presses(struct kunit *test)
{
	expect_pressed(test, true);
}

/* The packets behind it wait for room, even if one NAK names both. */
static void missing_waits(struct kunit *test)
{
	expect_pressed(test, false);
}

/* The last packets are lost, and a probe finds out. It costs no try. */
static void missing_tail(struct kunit *test)
{
	struct wire *w = test->priv;
	u8 tries = w->a.conn.req.tries;

	repeat_write(w, 4, 0x11);
	wire_ask(w, 2);
	wire_lose(&w->a.out, -1);
	w->a.conn.req.missing.due = true;
	wire_run(w);
	repeat_expect_again(test, UROCE_WRITE_LAST, NEXT + 3);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.tries + 1, tries);
	repeat_expect_again(test, UROCE_WRITE_MIDDLE, NEXT + 2);
	repeat_expect_clean(test, 2, 1);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
}

/* There are only so many probes in a row. */
static void missing_probes(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	repeat_write(w, 2, 0x11);
	wire_lose(&w->a.out, -1);
	for (i = 0; i < 20; i++) {
		w->a.conn.req.missing.due = true;
		wire_run(w);
	}
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 6u);
	wire_lose(&w->a.out, -1);
	wire_expire(w);
	repeat_expect_clean(test, 2, 0);
}

/* A NAK that is repeated without end causes a bounded number of packets. */
static void missing_flood(struct kunit *test)
{
	struct wire *w = test->priv;
	struct sk_buff *nak;
	int i;

	repeat_write(w, 4, 0x11);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	nak = skb_copy(skb_peek(&w->b.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, nak);
	for (i = 0; i < 100; i++) {
		skb_queue_tail(&w->b.out, skb_copy(nak, GFP_KERNEL));
		wire_tell(w, -1);
	}
	kfree_skb(nak);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	repeat_expect_clean(test, 2, 1);
}

/* Change the words of the first NAK of end b, and deliver it. */
static void tell_words(struct kunit *test, u64 word, u32 at)
{
	struct wire *w = test->priv;
	struct sk_buff *skb = skb_peek(&w->b.out);
	struct uroce_held_eth *eth;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	eth = (void *)(skb->data + uroce_ops[UROCE_ACKNOWLEDGE].length);
	eth->held[at] = cpu_to_be64(word);
	wire_tell(w, 1);
}

/* A NAK that claims to hold packets that were never sent is not believed. */
static void missing_lies(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_write(w, 4, 0x11);
	wire_lose(&w->a.out, 1);
	wire_ask(w, 1);
	tell_words(test, BIT_ULL(3), 0);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	wire_ask(w, 2);
	tell_words(test, ~0ull, 3);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	KUNIT_EXPECT_EQ(test, w->a.completed, 1u);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
}

/* The same after a probe, when a NAK may name packets that are still to be sent again. */
static void missing_lies_after_probe(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_write(w, 4, 0x11);
	wire_lose(&w->a.out, 1);
	wire_ask(w, 1);
	wire_lose(&w->a.out, -1);
	w->a.conn.req.missing.due = true;
	wire_run(w);
	KUNIT_EXPECT_EQ(test, (int)w->a.conn.req.missing.probes, 1);
	tell_words(test, BIT_ULL(3), 0);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	/* The probe is held, and its NAK is true. */
	repeat_expect_again(test, UROCE_WRITE_LAST, NEXT + 3);
	repeat_expect_clean(test, 2, 2);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
}

/* A peer that claims to hold what it does not hold gets it after the timer. */
static void missing_claims(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_write(w, 4, 0x11);
	wire_lose(&w->a.out, 2);
	wire_ask(w, 1);
	tell_words(test, 7, 0);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	wire_lose(&w->a.out, -1);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
}

/* One end does not know selective repeat: the requester goes back. */
static void expect_back(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_lose_second(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	wire_tell(w, -1);
	repeat_expect_again(test, UROCE_WRITE_MIDDLE, NEXT + 1);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_REPEATED], 0u);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->b.budget), 0);
}

static void missing_plain_requester(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.selective = false;
	w->b.conn.resp.held.known = false;
	expect_back(test);
}

static void missing_plain_responder(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.conn.resp.held.known = false;
	expect_back(test);
}

/* Without an ACK timer nothing would find the loss of the last packets, so the requester goes back. */
static void missing_without_timer(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.timeout = 0;
	KUNIT_EXPECT_FALSE(test, uroce_missing_shown(&w->a.conn));
	repeat_lose_second(w);
	wire_tell(w, -1);
	repeat_expect_again(test, UROCE_WRITE_MIDDLE, NEXT + 1);
	repeat_expect_again(test, UROCE_WRITE_MIDDLE, NEXT + 2);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_REPEATED], 0u);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
}

/* A requester stops showing that it supports selective repeat to an end that does not. */
static void missing_plain_for_long(struct kunit *test)
{
	struct wire *w = test->priv;
	struct sk_buff *skb;
	int i;

	w->a.conn.req.missing.known = false;
	w->b.conn.selective = false;
	w->b.conn.resp.held.known = false;
	for (i = 0; i <= 16; i++) {
		repeat_write(w, 1, 0x11);
		skb = skb_peek(&w->a.out);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		KUNIT_EXPECT_EQ(test, uroce_bth_selective((void *)skb->data), i < 16);
		wire_settle(w);
	}
	KUNIT_EXPECT_EQ(test, w->a.completed, 18u);
}

/* Neither end says anything about it to an end that did not. */
static void missing_unsaid(struct kunit *test)
{
	struct wire *w = test->priv;
	struct sk_buff *skb;

	w->a.conn.selective = false;
	w->b.conn.resp.held.known = false;
	repeat_write(w, 1, 0x11);
	skb = skb_peek(&w->a.out);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_FALSE(test, uroce_bth_selective((void *)skb->data));
	wire_ask(w, -1);
	skb = skb_peek(&w->b.out);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_FALSE(test, uroce_bth_selective((void *)skb->data));
	w->a.conn.selective = true;
	wire_settle(w);
	KUNIT_EXPECT_FALSE(test, w->b.conn.resp.held.known);
}

/* A lost request of a read is repeated, and the write behind it is not. */
static void missing_read(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_RDMA_READ, 3 * MTU);
	wire_post(w, IB_WR_RDMA_WRITE, 1)->va = 4 * MTU;
	wire_run(w);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	repeat_expect_again(test, UROCE_READ_REQUEST, NEXT);
	repeat_expect_clean(test, 3, 1);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.reads, 0u);
	KUNIT_EXPECT_EQ(test, w->b.reads[0], 3u);
}

/* A read behind a gap takes several sequence numbers, and is not repeated. */
static void missing_before_read(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_RDMA_WRITE, 1)->va = 4 * MTU;
	wire_post(w, IB_WR_RDMA_READ, 3 * MTU);
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	repeat_expect_again(test, UROCE_WRITE_ONLY, NEXT);
	repeat_expect_clean(test, 4, 1);
	KUNIT_EXPECT_EQ(test, w->b.reads[0], 3u);
	KUNIT_EXPECT_EQ(test, w->b.received, 2u);
}

/* Few missing packets leave the window as it is, and many halve it. */
static void missing_window(struct kunit *test)
{
	struct wire *w = test->priv;
	u32 window = w->a.conn.req.window;

	repeat_lose_second(w);
	wire_tell(w, -1);
	KUNIT_EXPECT_GE(test, w->a.conn.req.window, window);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.care.left, 0u);
	repeat_expect_clean(test, 2, 1);
	window = w->a.conn.req.window;
	repeat_write(w, 8, 0x11);
	wire_lose(&w->a.out, 4);
	wire_ask(w, -1);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.window, window / 2);
	KUNIT_EXPECT_GT(test, w->a.conn.req.care.left, 0u);
	repeat_expect_clean(test, 3, 5);
}

/* A NAK names packets to a requester that does not repeat selectively. */
static void missing_unasked(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_lose_second(w);
	w->a.conn.selective = false;
	wire_tell(w, -1);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	KUNIT_EXPECT_EQ(test, w->a.completed, 1u);
}

/* Packets of one window that are lost one by one, each with an answer of its own, halve it as well. */
static void missing_one_by_one(struct kunit *test)
{
	struct wire *w = test->priv;
	u32 window = 0;
	int i;

	repeat_write(w, 12, 0x11);
	wire_ask(w, 1);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_REPEATED], (u32)i);
		wire_lose(&w->a.out, 1);
		wire_ask(w, 1);
		window = w->a.conn.req.window;
		wire_tell(w, -1);
	}
	KUNIT_EXPECT_EQ(test, w->a.conn.req.window, window / 2);
	repeat_expect_clean(test, 2, 3);
	repeat_expect_bytes(test, 0x11, 12 * MTU);
}

/* The timer fires while there is no room for the second packet to be repeated. */
static void missing_back(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_write(w, 6, 0x11);
	wire_ask(w, 1);
	wire_lose(&w->a.out, 1);
	wire_ask(w, 1);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	w->a.full = true;
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, wire_lose(&w->a.out, 1), 0);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	KUNIT_EXPECT_TRUE(test, uroce_missing_left(&w->a.conn.req));
	wire_expire(w);
	w->a.full = false;
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_FALSE(test, uroce_missing_left(&w->a.conn.req));
	repeat_expect_bytes(test, 0x11, 6 * MTU);
}

/*
 * The requester has gone back, and the oldest packet is lost again. The packet behind it shows that,
 * although the peer holds others that are still to be sent again. It is one try in all.
 */
static void missing_after_back(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_write(w, 5, 0x11);
	wire_lose(&w->a.out, 1);
	wire_ask(w, 1);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	wire_lose(&w->b.out, -1);
	wire_expire(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.tries + 1, (int)w->a.conn.req.retry_cnt);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	repeat_expect_again(test, UROCE_WRITE_FIRST, NEXT);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_REPEATED], 1u);
	repeat_expect_bytes(test, 0x11, 5 * MTU);
}

/* The ACK timer begins anew when the oldest packet is repeated, as when the requester goes back. */
static void missing_timer(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_write(w, 4, 0x11);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	mod_timer(&w->a.conn.req.timer, jiffies + 500 * HZ);
	wire_tell(w, -1);
	KUNIT_EXPECT_TRUE(test, time_after(w->a.conn.req.timer.expires, jiffies + 1000 * HZ));
	repeat_expect_clean(test, 2, 1);
}

/* A loss is a try, as for a requester that goes back; here none is left. */
static void missing_tries(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_lose_second(w);
	w->a.conn.req.retry_cnt = 0;
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, w->a.completed, 2u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[1], (int)IB_WC_RETRY_EXC_ERR);
}

/* Without a try the connection migrates, as for a requester that goes back. */
static void missing_migrates(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.paths = 1;
	repeat_lose_second(w);
	w->a.conn.req.retry_cnt = 0;
	wire_tell(w, 1);
	KUNIT_EXPECT_EQ(test, w->a.paths, 0u);
	KUNIT_EXPECT_EQ(test, w->a.completed, 1u);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 3u);
	wire_settle(w);
	wire_expect_done(test, 2);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
}

/* The probes on the former path do not count on another one. */
static void missing_other_path(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	repeat_write(w, 2, 0x11);
	for (i = 0; i < 20; i++) {
		w->a.conn.req.missing.due = true;
		wire_run(w);
	}
	IN_BOTTOM_HALF(uroce_req_again(&w->a.conn));
	wire_run(w);
	wire_lose(&w->a.out, -1);
	w->a.conn.req.missing.due = true;
	wire_run(w);
	repeat_expect_again(test, UROCE_WRITE_LAST, NEXT + 1);
	repeat_expect_clean(test, 2, 1);
}

/* Return the packets that the next read packet of end a asks for. */
static u32 next_asks(struct wire *w)
{
	struct sk_buff *skb = skb_peek(&w->a.out);
	struct uroce_reth *reth;

	if (!skb)
		return 0;
	reth = (void *)(skb->data + sizeof(struct uroce_bth));
	return be32_to_cpu(reth->len) / MTU;
}

/*
 * One piece of a read is lost on its way to the responder, and is repeated alone. It keeps its
 * boundaries, although new pieces are larger.
 */
static void missing_piece(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.max_reads = 4;
	w->a.conn.req.window = 8;
	wire_post(w, IB_WR_RDMA_READ, 16 * MTU);
	wire_run(w);
	wire_ask(w, 1);
	wire_lose(&w->a.out, 1);
	wire_ask(w, 2);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, next_asks(w), 4u);
	repeat_expect_again(test, UROCE_READ_REQUEST, NEXT + 8);
	KUNIT_EXPECT_EQ(test, next_asks(w), 2u);
	repeat_expect_again(test, UROCE_READ_REQUEST, NEXT + 2);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	repeat_expect_clean(test, 2, 1);
	KUNIT_EXPECT_NULL(test, memchr_inv(w->a.bytes + 1, 0xbb, BYTES - 1));
}

static struct kunit_case missing_cases[] = {
	KUNIT_CASE(missing_two),
	KUNIT_CASE(missing_again),
	KUNIT_CASE(missing_presses),
	KUNIT_CASE(missing_waits),
	KUNIT_CASE(missing_tail),
	KUNIT_CASE(missing_probes),
	KUNIT_CASE(missing_flood),
	KUNIT_CASE(missing_lies),
	KUNIT_CASE(missing_lies_after_probe),
	KUNIT_CASE(missing_claims),
	KUNIT_CASE(missing_plain_requester),
	KUNIT_CASE(missing_plain_responder),
	KUNIT_CASE(missing_plain_for_long),
	KUNIT_CASE(missing_without_timer),
	KUNIT_CASE(missing_unsaid),
	KUNIT_CASE(missing_read),
	KUNIT_CASE(missing_before_read),
	KUNIT_CASE(missing_piece),
	KUNIT_CASE(missing_window),
	KUNIT_CASE(missing_one_by_one),
	KUNIT_CASE(missing_unasked),
	KUNIT_CASE(missing_back),
	KUNIT_CASE(missing_after_back),
	KUNIT_CASE(missing_timer),
	KUNIT_CASE(missing_tries),
	KUNIT_CASE(missing_migrates),
	KUNIT_CASE(missing_other_path),
	{}
};

static struct kunit_suite missing_suite = {
	.name = "univ_uroce_missing",
	.init = repeat_init,
	.exit = wire_exit,
	.test_cases = missing_cases,
};

kunit_test_suite(missing_suite);
