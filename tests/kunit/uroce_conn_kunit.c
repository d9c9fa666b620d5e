// SPDX-License-Identifier: GPL-2.0
/* Connections: packets of each request, order, fences, and requests that are held or refused. */
#include <linux/string.h>

#include "frags.h"
#include "uroce_end.h"

static void conn_packets(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_SEND, 3 * MTU - 1);
	wire_post(w, IB_WR_SEND_WITH_IMM, 0);
	wire_run(w);
	wire_expect_packet(test, &w->a.out, UROCE_SEND_FIRST, FIRST_PSN);
	wire_expect_packet(test, &w->a.out, UROCE_SEND_MIDDLE, FIRST_PSN + 1);
	wire_expect_packet(test, &w->a.out, UROCE_SEND_LAST, FIRST_PSN + 2);
	wire_expect_packet(test, &w->a.out, UROCE_SEND_ONLY_IMM, FIRST_PSN + 3);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
}

/* Expect that the only packet of a queue has @len bytes of payload, and zeros as padding. */
static void expect_padding(struct kunit *test, struct sk_buff_head *queue, u32 len)
{
	struct sk_buff *skb = skb_peek(queue);
	u32 n = uroce_pad(len);
	u8 pad[4];

	KUNIT_ASSERT_EQ(test, skb_queue_len(queue), 1u);
	KUNIT_EXPECT_EQ(test, uroce_bth_pad((void *)skb->data), n);
	KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, skb->len - UROCE_ICRC_SIZE - n, pad, n), 0);
	KUNIT_EXPECT_NULL_MSG(test, memchr_inv(pad, 0, n), "%u bytes of payload", len);
}

/* The padding of requests and of responses shows no bytes that were in the memory before. */
static void conn_padding(struct kunit *test)
{
	struct wire *w = test->priv;
	u32 len;

	for (len = 1; len < 20; len++) {
		wire_post(w, IB_WR_RDMA_WRITE, len);
		local_bh_disable();
		frags_fill(0xee);
		wire_run(w);
		local_bh_enable();
		expect_padding(test, &w->a.out, len);
		wire_settle(w);
		wire_post(w, IB_WR_RDMA_READ, len);
		wire_run(w);
		local_bh_disable();
		frags_fill(0xee);
		wire_ask(w, -1);
		local_bh_enable();
		expect_padding(test, &w->b.out, len);
		wire_settle(w);
	}
	KUNIT_EXPECT_EQ(test, w->a.completed, 2 * (len - 1));
}

/* Post a request with a solicited event, and expect the bit in the last packet, or nowhere. */
static void expect_solicited(struct kunit *test, enum ib_wr_opcode op, u32 len, bool set)
{
	struct wire *w = test->priv;
	struct sk_buff *skb;
	bool found, last;

	wire_post(w, op, len)->solicited = true;
	wire_run(w);
	KUNIT_ASSERT_FALSE(test, skb_queue_empty(&w->a.out));
	skb_queue_walk(&w->a.out, skb) {
		found = ((struct uroce_bth *)skb->data)->flags & UROCE_BTH_SE;
		last = skb_queue_is_last(&w->a.out, skb);
		KUNIT_EXPECT_EQ_MSG(test, found, set && last, "opcode %d", op);
	}
	wire_settle(w);
}

/* 9.2 of the specification allows the bit only in requests that consume a receive request. */
static void conn_solicited(struct kunit *test)
{
	struct wire *w = test->priv;

	expect_solicited(test, IB_WR_SEND, 3 * MTU, true);
	expect_solicited(test, IB_WR_SEND_WITH_IMM, 1, true);
	expect_solicited(test, IB_WR_SEND_WITH_INV, 1, true);
	expect_solicited(test, IB_WR_RDMA_WRITE_WITH_IMM, 2 * MTU, true);
	expect_solicited(test, IB_WR_RDMA_WRITE, 2 * MTU, false);
	expect_solicited(test, IB_WR_RDMA_READ, 1, false);
	expect_solicited(test, IB_WR_ATOMIC_FETCH_AND_ADD, sizeof(u64), false);
	wire_expect_done(test, 7);
	KUNIT_EXPECT_EQ(test, w->b.received, 4u);
}

static void conn_good(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_SEND, 3 * MTU - 1);
	wire_post(w, IB_WR_RDMA_WRITE, 5 * MTU);
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	KUNIT_EXPECT_EQ(test, (int)w->b.bytes[5 * MTU - 1], 0xaa);
	KUNIT_EXPECT_EQ(test, (int)w->b.bytes[5 * MTU], 0xbb);
}

/* The last packet that is sent requests an acknowledgement, also before local operations. */
static void conn_asks_before_local(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_SEND, 2 * MTU);
	wire_post(w, IB_WR_LOCAL_INV, 0);
	wire_post(w, IB_WR_BIND_MW, 0);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, w->a.invalidated, 2u);
	wire_settle(w);
	wire_expect_done(test, 3);
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_DUPLICATES], 0u);
}

/* A request without valid memory does not leave earlier requests waiting for a timer. */
static void conn_asks_before_bad(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.retry_cnt = 0;
	w->a.conn.req.tries = 0;
	wire_post(w, IB_WR_RDMA_WRITE, 2 * MTU);
	wire_post(w, IB_WR_RDMA_WRITE, MTU)->va = BAD_SOURCE;
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, w->a.completed, 2u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[1], (int)IB_WC_LOC_PROT_ERR);
	/* One repetition is enough. */
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_DUPLICATES], 1u);
}

/* A request with a fence waits until the reads before it are answered. */
static void conn_fence(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_RDMA_READ, 1);
	wire_post(w, IB_WR_SEND, 1)->fence = true;
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
}

/* A fence also holds back a local operation, which sends no packet. */
static void conn_fence_local(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_RDMA_READ, 1);
	wire_post(w, IB_WR_LOCAL_INV, 0)->fence = true;
	wire_run(w);
	KUNIT_EXPECT_EQ(test, w->a.invalidated, 0u);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, w->a.invalidated, 1u);
	wire_expect_done(test, 2);
}

/* An unreliable message with a missing packet is lost; the messages behind it are not. */
static void conn_unreliable_hole(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.service = UROCE_UC;
	w->b.conn.service = UROCE_UC;
	wire_post(w, IB_WR_SEND, 3 * MTU);
	wire_post(w, IB_WR_SEND, 2 * MTU);
	wire_run(w);
	wire_ask(w, 1);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	wire_expect_done(test, 2);
}

/* A peer may ask an unreliable responder for an acknowledgement, for which UC has no opcode. */
static void conn_unreliable_asks(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_bth *bth;

	w->a.conn.service = UROCE_UC;
	w->b.conn.service = UROCE_UC;
	wire_post(w, IB_WR_SEND, 0);
	wire_run(w);
	bth = (void *)skb_peek(&w->a.out)->data;
	bth->psn |= cpu_to_be32(UROCE_BTH_ACK_REQ);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.out));
}

/* Requests before a refused request are answered before it is. */
static void conn_refused(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_RDMA_READ, 3 * MTU);
	wire_post(w, IB_WR_RDMA_WRITE, 1)->rkey = RKEY + 1;
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, w->a.completed, 2u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[1], (int)IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_TRUE(test, w->b.broken);
	KUNIT_EXPECT_EQ(test, w->b.event, (u32)IB_EVENT_QP_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, w->b.received, 0u);
}

/*
 * A request waits for a copy from a region that is being invalidated, and no request
 * overtakes it.
 */
static void conn_held_here(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.held = 2;
	wire_post(w, IB_WR_LOCAL_INV, 0);
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	KUNIT_EXPECT_TRUE(test, timer_was_started(&w->a.conn.req.soon));
	wire_run(w);
	KUNIT_EXPECT_EQ(test, w->a.completed, 0u);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, w->a.invalidated, 1u);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
}

/* A local operation that waits is not complete when the request before it is. */
static void conn_held_behind(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.held = 100;
	wire_post(w, IB_WR_SEND, 1);
	wire_post(w, IB_WR_LOCAL_INV, 0);
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->a.invalidated, 0u);
	w->a.held = 0;
	wire_run(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->a.invalidated, 1u);
}

/* A message waits at the responder: it is delivered once, when it is repeated. */
static void conn_held_there(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.held = 1;
	wire_post(w, IB_WR_SEND_WITH_INV, 2 * MTU);
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, w->b.received, 0u);
	KUNIT_EXPECT_EQ(test, w->a.completed, 0u);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	KUNIT_EXPECT_EQ(test, w->b.invalidated, 1u);
	KUNIT_EXPECT_EQ(test, w->b.recvs, 2u * MSGS - 1);
}

/* Post @n requests one by one, and return the number of packets that were sent. */
static u32 sent_of(struct wire *w, int n, enum ib_wr_opcode op, u32 length)
{
	u32 before = skb_queue_len(&w->a.out);

	while (n--) {
		wire_post(w, op, length);
		wire_run(w);
	}
	return skb_queue_len(&w->a.out) - before;
}

/* A requester that posts many small requests sends later ones together. */
static void conn_gathers(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.recvs = 100;
	KUNIT_EXPECT_EQ(test, sent_of(w, 8, IB_WR_SEND, 64), 8u);
	wire_ask(w, 4);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, w->a.completed, 4u);
	/* With requests under way, three more wait for others, or for a response. */
	KUNIT_EXPECT_EQ(test, sent_of(w, 3, IB_WR_SEND, 64), 0u);
	wire_ask(w, -1);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 3u);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, w->a.completed, 11u);
	KUNIT_EXPECT_EQ(test, w->b.received, 11u);
	/* A requester that posts one by one has each request sent at once. */
	KUNIT_EXPECT_EQ(test, sent_of(w, 2, IB_WR_SEND, 64), 2u);
	wire_settle(w);
}

/*
 * These requests do not wait: a few at a time with a pause, a read, and requests
 * without a timeout.
 */
static void conn_gathers_not(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.recvs = 100;
	KUNIT_EXPECT_EQ(test, sent_of(w, 4, IB_WR_SEND, 64), 4u);
	wire_settle(w);
	wire_post(w, IB_WR_SEND, 64);
	KUNIT_EXPECT_EQ(test, sent_of(w, 3, IB_WR_SEND, 64), 4u);
	KUNIT_EXPECT_EQ(test, sent_of(w, 1, IB_WR_RDMA_READ, 64), 1u);
	wire_settle(w);
	w->a.conn.req.timeout = 0;
	wire_post(w, IB_WR_SEND, 64);
	KUNIT_EXPECT_EQ(test, sent_of(w, 7, IB_WR_SEND, 64), 8u);
	wire_ask(w, 4);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, sent_of(w, 3, IB_WR_SEND, 64), 3u);
	wire_settle(w);
}

/*
 * In SQD a request of which nothing was sent waits, and the last packet that was sent asks
 * for its acknowledgement, since no packet follows it.
 */
static void conn_withdrawn(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;

	/* The packets 3, 6, 9 and 12 ask; the window is full after 13. */
	req->window = 13;
	wire_post(w, IB_WR_SEND, 13 * MTU);
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 13u);
	KUNIT_EXPECT_FALSE(test, uroce_bth_ack_req((void *)skb_peek_tail(&w->a.out)->data));
	req->posted = uroce_req_withdraw(&w->a.conn);
	KUNIT_EXPECT_EQ(test, req->posted, 1u);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 14u);
	KUNIT_EXPECT_TRUE(test, uroce_bth_ack_req((void *)skb_peek_tail(&w->a.out)->data));
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_DUPLICATES], 1u);
	req->posted = 2;
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.received, 2u);
}

/* A request of which a packet was sent continues, and so does one that is sent again. */
static void conn_withdrawn_not(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.window = 2;
	wire_post(w, IB_WR_SEND, 5 * MTU);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, uroce_req_withdraw(&w->a.conn), 1u);
	wire_lose(&w->a.out, -1);
	wire_expire(w);
	KUNIT_EXPECT_EQ(test, uroce_req_withdraw(&w->a.conn), 1u);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
}

/* A request that waits for a receive was sent before, and keeps its sequence numbers. */
static void conn_withdrawn_waits(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.recvs = 0;
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_TRUE(test, w->a.conn.req.waiting);
	KUNIT_EXPECT_EQ(test, uroce_req_withdraw(&w->a.conn), 1u);
	w->b.recvs = 1;
	wire_end_wait(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
}

static struct kunit_case conn_cases[] = {
	KUNIT_CASE(conn_packets),
	KUNIT_CASE(conn_padding),
	KUNIT_CASE(conn_solicited),
	KUNIT_CASE(conn_good),
	KUNIT_CASE(conn_asks_before_local),
	KUNIT_CASE(conn_asks_before_bad),
	KUNIT_CASE(conn_fence),
	KUNIT_CASE(conn_fence_local),
	KUNIT_CASE(conn_unreliable_hole),
	KUNIT_CASE(conn_unreliable_asks),
	KUNIT_CASE(conn_refused),
	KUNIT_CASE(conn_held_here),
	KUNIT_CASE(conn_held_behind),
	KUNIT_CASE(conn_held_there),
	KUNIT_CASE(conn_gathers),
	KUNIT_CASE(conn_gathers_not),
	KUNIT_CASE(conn_withdrawn),
	KUNIT_CASE(conn_withdrawn_not),
	KUNIT_CASE(conn_withdrawn_waits),
	{}
};

static struct kunit_suite conn_suite = {
	.name = "univ_uroce_conn",
	.init = wire_init,
	.exit = wire_exit,
	.test_cases = conn_cases,
};

kunit_test_suite(conn_suite);
