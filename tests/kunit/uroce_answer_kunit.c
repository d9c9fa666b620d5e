// SPDX-License-Identifier: GPL-2.0
/* Answers that the responder keeps: atomics and reads, repeated and at once. */
#include "uroce_end.h"

static void conn_atomic_once(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_ATOMIC_FETCH_AND_ADD, sizeof(u64));
	wire_run(w);
	wire_ask(w, -1);
	wire_lose(&w->b.out, -1);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.atomics, 1u);
}

static u64 value_there(struct wire *w)
{
	u64 value;

	memcpy(&value, w->b.bytes + 8, sizeof(value));
	return value;
}

/* The responder gets the requested operands, and the old value comes back. */
static void conn_atomic_operands(struct kunit *test)
{
	struct wire *w = test->priv;
	const u64 before = value_there(w);

	wire_post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 0x100000003ull, 0);
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, w->a.found, before);
	KUNIT_EXPECT_EQ(test, value_there(w), before + 0x100000003ull);
	wire_post_atomic(w, IB_WR_ATOMIC_CMP_AND_SWP, before, 7);
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, w->a.found, before + 0x100000003ull);
	KUNIT_EXPECT_EQ(test, value_there(w), before + 0x100000003ull);
	wire_post_atomic(w, IB_WR_ATOMIC_CMP_AND_SWP, before + 0x100000003ull, 7);
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, value_there(w), 7ull);
	wire_expect_done(test, 3);
}

static struct uroce_msg *post_flush(struct wire *w, u32 type, u32 level)
{
	struct uroce_msg *msg = wire_post(w, UNIV_WR_FLUSH, 0);

	msg->va = 8;
	msg->flush.length = 24;
	msg->flush.type = type;
	msg->flush.level = level;
	wire_run(w);
	return msg;
}

static u32 word_at(const struct sk_buff *skb, u32 offset)
{
	__be32 word;

	memcpy(&word, skb->data + offset, sizeof(word));
	return be32_to_cpu(word);
}

/* The headers of a flush, by their offsets in annex A19 of the specification. */
static void expect_flush(struct kunit *test, u32 feth, u32 va, u32 len)
{
	struct wire *w = test->priv;
	const struct sk_buff *skb = skb_peek(&w->a.out);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_EQ(test, skb->len, 32u + UROCE_ICRC_SIZE);
	KUNIT_EXPECT_EQ(test, (int)skb->data[0], 0x1c);
	KUNIT_EXPECT_EQ(test, word_at(skb, 12), feth);
	KUNIT_EXPECT_EQ(test, word_at(skb, 16), 0u);
	KUNIT_EXPECT_EQ(test, word_at(skb, 20), va);
	KUNIT_EXPECT_EQ(test, word_at(skb, 24), (u32)RKEY);
	KUNIT_EXPECT_EQ(test, word_at(skb, 28), len);
}

static void conn_flush(struct kunit *test)
{
	struct wire *w = test->priv;

	post_flush(w, UNIV_FLUSH_GLOBAL, UNIV_FLUSH_RANGE);
	expect_flush(test, 0x01, 8, 24);
	wire_settle(w);
	post_flush(w, UNIV_FLUSH_GLOBAL, UNIV_FLUSH_MR);
	expect_flush(test, 0x11, 0, 0);
	wire_ask(w, -1);
	wire_expect_packet(test, &w->b.out, UROCE_READ_ONLY, FIRST_PSN + 1);
	/* The answer is lost: the flush is answered once more, and not executed again. */
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.flushes, 2u);
}

static void conn_flush_refused(struct kunit *test)
{
	struct wire *w = test->priv;

	post_flush(w, UNIV_FLUSH_PERSISTENT, UNIV_FLUSH_RANGE);
	w->b.conn.resp.access |= UNIV_ACCESS_FLUSH;
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_TRUE(test, w->b.broken);
	KUNIT_EXPECT_EQ(test, w->b.flushes, 0u);
}

static void conn_flush_of_no_type(struct kunit *test)
{
	struct wire *w = test->priv;

	post_flush(w, 0, UNIV_FLUSH_RANGE);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_REM_INV_REQ_ERR);
	KUNIT_EXPECT_EQ(test, w->b.flushes, 0u);
}

/* The queue pair permits everything, so that only the flush itself is refused. */
static void conn_flush_of_unknown_type(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.conn.resp.access = U32_MAX;
	post_flush(w, UNIV_FLUSH_GLOBAL | 8, UNIV_FLUSH_RANGE);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_REM_INV_REQ_ERR);
	KUNIT_EXPECT_EQ(test, w->b.flushes, 0u);
}

/* A flush finds no room for its answer: it is executed when the peer repeats it. */
static void conn_flush_without_room(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.conn.resp.limit = 1;
	w->b.full = true;
	wire_post(w, IB_WR_RDMA_READ, 3 * MTU);
	post_flush(w, UNIV_FLUSH_GLOBAL, UNIV_FLUSH_RANGE);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, w->b.flushes, 0u);
	w->b.full = false;
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	wire_settle(w);
	wire_expect_done(test, 1);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.flushes, 1u);
}

/* No more reads and atomics are outstanding than the responder keeps responses for. */
static void conn_reads_at_once(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_RDMA_READ, 1);
	wire_post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	wire_post(w, IB_WR_RDMA_READ, 1);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), w->a.conn.req.max_reads);
	wire_settle(w);
	wire_expect_done(test, 3);
}

/*
 * A late duplicate of a read is answered in part. Then its memory is withdrawn: the rest is
 * dropped, and the connection goes on.
 */
static void conn_read_withdrawn(struct kunit *test)
{
	struct wire *w = test->priv;
	struct sk_buff *again;

	wire_post(w, IB_WR_RDMA_READ, 3 * MTU);
	wire_run(w);
	again = skb_copy(skb_peek(&w->a.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	wire_settle(w);
	wire_expect_done(test, 1);
	w->b.full = true;
	skb_queue_tail(&w->a.out, again);
	wire_ask(w, 1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	KUNIT_EXPECT_TRUE(test, w->b.responses[0].pending);

	w->b.responses[0].rkey = RKEY + 1;
	w->b.full = false;
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	wire_post(w, IB_WR_SEND, 8);
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 2);
}

/* Advance both ends as if @n packets had been sent, and their messages executed. */
static void skip_packets(struct wire *w, u32 n)
{
	struct uroce_requester *req = &w->a.conn.req;

	req->psn = uroce_psn_add(req->psn, n);
	req->free = req->psn;
	req->una = req->psn;
	req->high = req->psn;
	w->b.conn.resp.psn = req->psn;
}

/*
 * After PSNs have wrapped, an atomic with the PSN of an old one does not get the old
 * one's result.
 */
static void conn_atomic_forgotten(struct kunit *test)
{
	struct wire *w = test->priv;
	struct sk_buff *again;
	int i;

	wire_post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	wire_run(w);
	again = skb_copy(skb_peek(&w->a.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	wire_settle(w);
	for (i = 0; i < 8; i++) {
		skip_packets(w, 1 << 21);
		wire_post(w, IB_WR_SEND, 0);
		wire_run(w);
		wire_settle(w);
	}
	KUNIT_EXPECT_EQ(test, w->a.completed, 9u);
	KUNIT_EXPECT_EQ(test, w->b.received, 8u);
	skb_queue_tail(&w->a.out, again);
	wire_ask(w, 1);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.out));
}

/*
 * The responder keeps as many responses as it has memory for. Growing the memory keeps
 * those present.
 */
static void conn_more_reads(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_response *more = kunit_kcalloc(test, 8, sizeof(*more), GFP_KERNEL);
	struct sk_buff *again;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, more);
	w->b.conn.resp.count = U32_MAX - 2;	/* wraps below */
	wire_post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	wire_run(w);
	again = skb_copy(skb_peek(&w->a.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	wire_settle(w);
	KUNIT_EXPECT_PTR_EQ(test, uroce_resp_grow(&w->b.conn, more, 8),
			    (struct uroce_response *)w->b.responses);
	/* The response from before is still kept, and the rest of the room can be used. */
	skb_queue_tail(&w->a.out, again);
	wire_ask(w, 1);
	KUNIT_EXPECT_EQ(test, wire_lose(&w->b.out, 1), 0);
	w->a.conn.req.max_reads = 8;
	w->b.full = true;
	for (i = 0; i < 7; i++)
		wire_post(w, IB_WR_RDMA_READ, 2 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	w->b.full = false;
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	wire_settle(w);
	wire_expect_done(test, 8);
	KUNIT_EXPECT_EQ(test, w->b.atomics, 1u);
}

/*
 * An answer that travels alone finds a full queue, which the flush does not report. It is sent
 * later.
 */
static void expect_answered_later(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.refused = 1;
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.out));
	KUNIT_EXPECT_FALSE(test, w->b.broken);
	KUNIT_EXPECT_TRUE(test, timer_was_started(&w->b.conn.resp.soon));
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_TIMEOUTS], 0u);
}

static void conn_ack_refused(struct kunit *test)
{
	wire_post(test->priv, IB_WR_RDMA_WRITE, 8);
	expect_answered_later(test);
	wire_expect_done(test, 1);
}

static void conn_atomic_refused(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	expect_answered_later(test);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.atomics, 1u);
}

/* The connection ends when its last NAK has been sent. */
static void conn_nak_refused(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_RDMA_WRITE, 8)->rkey = RKEY + 1;
	expect_answered_later(test);
	KUNIT_EXPECT_TRUE(test, w->b.broken);
	KUNIT_EXPECT_EQ(test, w->a.completed, 1u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_REM_ACCESS_ERR);
}

static struct kunit_case answer_cases[] = {
	KUNIT_CASE(conn_atomic_once),
	KUNIT_CASE(conn_atomic_operands),
	KUNIT_CASE(conn_atomic_forgotten),
	KUNIT_CASE(conn_more_reads),
	KUNIT_CASE(conn_reads_at_once),
	KUNIT_CASE(conn_read_withdrawn),
	KUNIT_CASE(conn_ack_refused),
	KUNIT_CASE(conn_atomic_refused),
	KUNIT_CASE(conn_nak_refused),
	KUNIT_CASE(conn_flush),
	KUNIT_CASE(conn_flush_refused),
	KUNIT_CASE(conn_flush_of_no_type),
	KUNIT_CASE(conn_flush_of_unknown_type),
	KUNIT_CASE(conn_flush_without_room),
	{}
};

static struct kunit_suite answer_suite = {
	.name = "univ_uroce_answer",
	.init = wire_init,
	.exit = wire_exit,
	.test_cases = answer_cases,
};

kunit_test_suite(answer_suite);
