// SPDX-License-Identifier: GPL-2.0
/* Packets that are lost or repeated: the requests that are sent again, and the ones that are not. */
#include "uroce_end.h"

static void conn_request_lost(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_SEND, 4 * MTU);
	wire_run(w);
	wire_ask(w, 1);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	/* One response is sent for the two packets that arrived too early. */
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	wire_tell(w, -1);
	wire_expect_packet(test, &w->a.out, UROCE_SEND_MIDDLE, FIRST_PSN + 1);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
}

static void expect_naks(struct kunit *test, u32 n)
{
	struct wire *w = test->priv;

	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_NAKS_SENT], n);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_NAKS], n);
}

/* Both ends count NAKs of packets out of sequence and of refused requests, and no ACKs. */
static void conn_naks_counted(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_SEND, 2 * MTU);
	wire_run(w);
	wire_lose(&w->a.out, 1);
	wire_settle(w);
	wire_expect_done(test, 1);
	expect_naks(test, 1);
	wire_post(w, IB_WR_RDMA_WRITE, 1)->rkey = RKEY + 1;
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[1], (int)IB_WC_REM_ACCESS_ERR);
	expect_naks(test, 2);
}

static void conn_answer_lost(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_SEND, 2 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	wire_lose(&w->b.out, -1);
	KUNIT_EXPECT_EQ(test, w->a.completed, 0u);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_DUPLICATES], 2u);
}

static void conn_tries(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_expect_tries(test);
}

static void conn_read_lost(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_RDMA_READ, 5 * MTU);
	wire_run(w);
	wire_expect_packet(test, &w->a.out, UROCE_READ_REQUEST, FIRST_PSN);
	wire_expire(w);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 5u);
	wire_tell(w, 2);
	wire_lose(&w->b.out, 1);
	wire_tell(w, -1);
	/* The requester asks for the missing part, starting at the first missing packet. */
	wire_ask(w, -1);
	wire_expect_packet(test, &w->b.out, UROCE_READ_FIRST, FIRST_PSN + 2);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, (int)w->a.bytes[5 * MTU - 1], 0xbb);
	KUNIT_EXPECT_EQ(test, (int)w->a.bytes[5 * MTU], 0xaa);
}

/* Expect an ACK of the responder, and drop it. */
static void expect_ack(struct kunit *test, u32 psn)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wire_next(&w->b.out, &pkt));
	KUNIT_EXPECT_EQ(test, (int)pkt.bth->opcode, (int)UROCE_ACKNOWLEDGE);
	KUNIT_EXPECT_EQ(test, pkt.psn, psn & UROCE_PSN_MASK);
	kfree_skb(pkt.skb);
}

/*
 * A write is repeated because its ACK was lost, and the response to the request behind
 * it was lost as well. The new ACK must not carry the PSN of that later request,
 * because rdma_rxe would take it for the response.
 */
static void conn_ack_spares(struct kunit *test, enum ib_wr_opcode op, u32 length)
{
	struct wire *w = test->priv;
	int i;

	wire_post(w, IB_WR_RDMA_WRITE, 1);
	wire_post(w, op, length);
	wire_run(w);
	wire_ask(w, -1);
	wire_lose(&w->b.out, -1);
	wire_expire(w);
	wire_ask(w, 1);
	expect_ack(test, FIRST_PSN);
	wire_lose(&w->a.out, -1);
	for (i = 0; i < 2; i++) {
		wire_expire(w);
		wire_settle(w);
	}
	wire_expect_done(test, 2);
}

static void conn_ack_spares_read(struct kunit *test)
{
	conn_ack_spares(test, IB_WR_RDMA_READ, 2 * MTU);
}

static void conn_ack_spares_atomic(struct kunit *test)
{
	conn_ack_spares(test, IB_WR_ATOMIC_FETCH_AND_ADD, sizeof(u64));
}

/* An ACK of a PSN that was not sent yet completes nothing. */
static void conn_ack_of_unsent(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_lose(&w->a.out, -1);
	uroce_resp_ack(&w->b.conn, UROCE_AETH_NO_CREDIT, w->a.conn.req.high);
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, w->a.completed, 0u);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 1);
}

/* A read response that is repeated long after the read has completed causes no retry. */
static void conn_answer_again(struct kunit *test)
{
	struct wire *w = test->priv;
	struct sk_buff *again;

	wire_post(w, IB_WR_RDMA_READ, 3 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	again = skb_copy(skb_peek(&w->b.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	wire_settle(w);
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	skb_queue_tail(&w->b.out, again);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.tries, w->a.conn.req.retry_cnt);
	wire_settle(w);
	wire_expect_done(test, 2);
}

/* A read is counted when its last response was sent, and once if it is repeated. */
static void conn_read_counted(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.conn.resp.counted = true;
	wire_post(w, IB_WR_RDMA_READ, 3 * MTU);
	wire_run(w);
	w->b.full = true;
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, w->b.served, 0u);
	w->b.full = false;
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	KUNIT_EXPECT_EQ(test, w->b.served, 1u);
	KUNIT_EXPECT_EQ(test, w->b.served_bytes, 3u * MTU);
	wire_lose(&w->b.out, -1);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.served, 1u);
}

/* Packets are lost in a queue of this host, and then one more on the way, which the first NAK reports. */
static void conn_lost_here(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.timeout = 0;
	w->a.overflows = true;
	wire_post(w, IB_WR_RDMA_WRITE, 3 * MTU);
	wire_run(w);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	wire_run(w);
	wire_lose(&w->a.out, 1);
	wire_settle(w);
	wire_expect_done(test, 1);
}

/* The longest length that a peer can write into a read has packets, however it is divided. */
static void conn_lengths(struct kunit *test)
{
	struct wire *w = test->priv;

	KUNIT_EXPECT_EQ(test, uroce_req_packets(&w->a.conn, 0), 1u);
	KUNIT_EXPECT_EQ(test, uroce_req_packets(&w->a.conn, MTU), 1u);
	KUNIT_EXPECT_EQ(test, uroce_req_packets(&w->a.conn, MTU + 1), 2u);
	KUNIT_EXPECT_EQ(test, uroce_req_packets(&w->a.conn, U32_MAX), U32_MAX / MTU + 1);
}

/* A read that is repeated, but for more than it asked for before, gets no response. */
static void conn_read_grows(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;
	struct uroce_reth *reth;
	struct sk_buff *again;

	wire_post(w, IB_WR_RDMA_READ, 2 * MTU);
	wire_run(w);
	again = skb_copy(skb_peek(&w->a.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	wire_settle(w);
	wire_expect_done(test, 1);
	pkt = (struct uroce_packet){ .skb = again };
	KUNIT_ASSERT_TRUE(test, uroce_packet_parse(&pkt, 0));
	reth = (void *)(pkt.bth + 1);
	reth->len = cpu_to_be32(3 * MTU);
	IN_BOTTOM_HALF(uroce_resp_receive(&w->b.conn, &pkt));
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.out));
	kfree_skb(again);
}

/* A response to a read does not acknowledge a send. */
static void conn_read_response_to_send(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_bth *bth;
	struct sk_buff *again;

	wire_post(w, IB_WR_RDMA_READ, 0);
	wire_run(w);
	wire_ask(w, -1);
	again = skb_copy(skb_peek(&w->b.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	wire_settle(w);
	wire_expect_done(test, 1);
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_lose(&w->a.out, -1);
	bth = (void *)again->data;
	bth->psn = cpu_to_be32((FIRST_PSN + 1) & UROCE_PSN_MASK);
	skb_queue_tail(&w->b.out, again);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, w->a.completed, 2u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[1], (int)IB_WC_BAD_RESP_ERR);
}

/* Change the opcode of the first answer of end b, and its syndrome, and deliver it. */
static void tell_forged(struct wire *w, u8 opcode, u8 syndrome)
{
	struct sk_buff *skb = skb_peek(&w->b.out);
	u8 *aeth = skb->data + sizeof(struct uroce_bth);

	((struct uroce_bth *)skb->data)->opcode = opcode;
	aeth[0] = syndrome;
	wire_tell(w, 1);
}

static void expect_status(struct kunit *test, u8 opcode, u8 syndrome, enum ib_wc_status status)
{
	struct wire *w = test->priv;

	wire_run(w);
	wire_ask(w, -1);
	KUNIT_ASSERT_NOT_NULL(test, skb_peek(&w->b.out));
	tell_forged(w, opcode, syndrome);
	KUNIT_EXPECT_EQ(test, w->a.completed, 1u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)status);
}

static void expect_bad(struct kunit *test, u8 opcode, u8 syndrome)
{
	expect_status(test, opcode, syndrome, IB_WC_BAD_RESP_ERR);
}

/* The response to a request of one packet promises that more packets follow. */
static void conn_response_goes_on(struct kunit *test)
{
	wire_post(test->priv, IB_WR_RDMA_READ, 0);
	expect_bad(test, UROCE_READ_FIRST, UROCE_AETH_NO_CREDIT);
}

/* The response to a request of one packet claims that it began earlier. */
static void conn_response_began(struct kunit *test)
{
	wire_post(test->priv, IB_WR_RDMA_READ, 0);
	expect_bad(test, UROCE_READ_LAST, UROCE_AETH_NO_CREDIT);
}

static void conn_flush_response_goes_on(struct kunit *test)
{
	struct uroce_msg *msg = wire_post(test->priv, UNIV_WR_FLUSH, 0);

	msg->flush.type = UNIV_FLUSH_GLOBAL;
	expect_bad(test, UROCE_READ_FIRST, UROCE_AETH_NO_CREDIT);
}

/* The response to a read ends before the read does. */
static void conn_response_ends_early(struct kunit *test)
{
	wire_post(test->priv, IB_WR_RDMA_READ, 2 * MTU);
	expect_bad(test, UROCE_READ_ONLY, UROCE_AETH_NO_CREDIT);
}

/* A response with data whose syndrome is that of a NAK. */
static void conn_response_refuses(struct kunit *test)
{
	wire_post(test->priv, IB_WR_RDMA_READ, 1);
	expect_bad(test, UROCE_READ_ONLY, UROCE_NAK_ACCESS);
}

static void conn_atomic_response_refuses(struct kunit *test)
{
	wire_post_atomic(test->priv, IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	expect_bad(test, UROCE_ATOMIC_ACK, UROCE_AETH_RNR);
}

/* Without a timeout, a request would wait for ever if such a NAK were ignored. */
static void conn_nak_reserved_first(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.timeout = 0;
	wire_post(w, IB_WR_SEND, 1);
	expect_status(test, UROCE_ACKNOWLEDGE, UROCE_NAK_OPERATION + 1, IB_WC_REM_OP_ERR);
}

static void conn_nak_reserved_last(struct kunit *test)
{
	wire_post(test->priv, IB_WR_SEND, 1);
	expect_status(test, UROCE_ACKNOWLEDGE, 0x7f, IB_WC_REM_OP_ERR);
}

/* Only bits 5 and 6 of the syndrome are the type; 2 is the reserved one. */
static void conn_aeth_reserved(struct kunit *test)
{
	wire_post(test->priv, IB_WR_SEND, 1);
	expect_bad(test, UROCE_ACKNOWLEDGE, 0x40);
}

/* The type is reserved, but everything before the packet is acknowledged already. */
static void conn_aeth_reserved_late(struct kunit *test)
{
	struct wire *w = test->priv;
	struct sk_buff *late;

	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_ASSERT_NOT_NULL(test, skb_peek(&w->b.out));
	late = skb_copy(skb_peek(&w->b.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, late);
	wire_tell(w, -1);
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	skb_queue_tail(&w->b.out, late);
	tell_forged(w, UROCE_ACKNOWLEDGE, 0x40);
	KUNIT_EXPECT_EQ(test, w->a.completed, 1u);
	wire_settle(w);
	wire_expect_done(test, 2);
}

static struct kunit_case loss_cases[] = {
	KUNIT_CASE(conn_request_lost),
	KUNIT_CASE(conn_naks_counted),
	KUNIT_CASE(conn_answer_lost),
	KUNIT_CASE(conn_tries),
	KUNIT_CASE(conn_read_lost),
	KUNIT_CASE(conn_ack_spares_read),
	KUNIT_CASE(conn_ack_spares_atomic),
	KUNIT_CASE(conn_ack_of_unsent),
	KUNIT_CASE(conn_answer_again),
	KUNIT_CASE(conn_read_response_to_send),
	KUNIT_CASE(conn_response_goes_on),
	KUNIT_CASE(conn_response_began),
	KUNIT_CASE(conn_flush_response_goes_on),
	KUNIT_CASE(conn_response_ends_early),
	KUNIT_CASE(conn_response_refuses),
	KUNIT_CASE(conn_atomic_response_refuses),
	KUNIT_CASE(conn_nak_reserved_first),
	KUNIT_CASE(conn_nak_reserved_last),
	KUNIT_CASE(conn_aeth_reserved),
	KUNIT_CASE(conn_aeth_reserved_late),
	KUNIT_CASE(conn_lost_here),
	KUNIT_CASE(conn_lengths),
	KUNIT_CASE(conn_read_grows),
	KUNIT_CASE(conn_read_counted),
	{}
};

static struct kunit_suite loss_suite = {
	.name = "univ_uroce_loss",
	.init = wire_init,
	.exit = wire_exit,
	.test_cases = loss_cases,
};

kunit_test_suite(loss_suite);
