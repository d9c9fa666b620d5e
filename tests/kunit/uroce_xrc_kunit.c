// SPDX-License-Identifier: GPL-2.0
/* XRC connections: each request names the shared receive queue that it uses. */
#include "uroce_end.h"

static void xrc(struct wire *w)
{
	w->a.conn.service = UROCE_XRC;
	w->b.conn.service = UROCE_XRC;
}

static void xrc_packets(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;
	int i;

	xrc(w);
	wire_post(w, IB_WR_SEND, 2 * MTU)->srqn = 0x123456;
	wire_post(w, IB_WR_RDMA_READ, MTU)->srqn = 0x123456;
	wire_run(w);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wire_next(&w->a.out, &pkt));
		KUNIT_EXPECT_EQ(test, pkt.bth->opcode & UROCE_SERVICE,
				(int)UROCE_XRC);
		KUNIT_EXPECT_EQ(test, be32_to_cpup((__be32 *)(pkt.bth + 1)),
				0x123456u);
		kfree_skb(pkt.skb);
	}
}

/* Each message uses the SRQ that it names. */
static void xrc_choice(struct kunit *test)
{
	struct wire *w = test->priv;
	static const u32 srqn[] = { 2, 1, 3, 2 };
	u32 i;

	xrc(w);
	for (i = 0; i < ARRAY_SIZE(srqn); i++)
		wire_post(w, i % 2 ? IB_WR_SEND : IB_WR_RDMA_WRITE_WITH_IMM,
			  3 * MTU)->srqn = srqn[i];
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, ARRAY_SIZE(srqn));
	KUNIT_EXPECT_EQ(test, w->b.received, (u32)ARRAY_SIZE(srqn));
	KUNIT_EXPECT_EQ(test, w->b.taken[1], 1u);
	KUNIT_EXPECT_EQ(test, w->b.taken[2], 2u);
	KUNIT_EXPECT_EQ(test, w->b.taken[3], 1u);
}

/*
 * An error is reported in a receive completion if the message has taken one, or else by
 * an event.
 */
static void expect_invalid(struct kunit *test, bool shown)
{
	struct wire *w = test->priv;

	wire_settle(w);
	KUNIT_EXPECT_TRUE(test, w->b.broken);
	KUNIT_EXPECT_EQ(test, w->b.event, shown ? 0 : (u32)IB_EVENT_QP_REQ_ERR);
	KUNIT_EXPECT_EQ(test, w->a.completed, 1u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_REM_INV_REQ_ERR);
	KUNIT_EXPECT_EQ(test, w->b.received, shown ? 1u : 0u);
}

static void xrc_unknown(struct kunit *test)
{
	struct wire *w = test->priv;

	xrc(w);
	wire_post(w, IB_WR_RDMA_WRITE, MTU)->srqn = SRQS;
	wire_run(w);
	expect_invalid(test, false);
	KUNIT_EXPECT_EQ(test, (int)w->b.bytes[0], 0xbb);
}

/* A message that begins with one SRQ cannot continue with another. */
static void xrc_changed(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;

	xrc(w);
	wire_post(w, IB_WR_SEND, 3 * MTU)->srqn = 1;
	wire_run(w);
	wire_ask(w, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wire_next(&w->a.out, &pkt));
	*(__be32 *)(pkt.bth + 1) = cpu_to_be32(2);
	IN_BOTTOM_HALF(uroce_resp_receive(&w->b.conn, &pkt));
	kfree_skb(pkt.skb);
	expect_invalid(test, true);
	KUNIT_EXPECT_EQ(test, (int)w->b.bytes[MTU], 0xbb);
	KUNIT_EXPECT_EQ(test, w->b.taken[2], 0u);
}

/* A read that is answered later is answered with the SRQ number of its own request. */
static void xrc_reads(struct kunit *test)
{
	struct wire *w = test->priv;

	xrc(w);
	w->b.full = true;
	wire_post(w, IB_WR_RDMA_READ, MTU)->srqn = 3;
	wire_post(w, IB_WR_RDMA_READ, 2 * MTU)->srqn = 1;
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, w->b.aimed, 1u);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 2u);
	w->b.full = false;
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	wire_settle(w);
	wire_expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.reads[3], 1u);
	KUNIT_EXPECT_EQ(test, w->b.reads[1], 2u);
}

/* A flush names the SRQ whose protection domain its key belongs to, in front of its own headers. */
static void xrc_flush(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_msg *msg;

	xrc(w);
	msg = wire_post(w, UNIV_WR_FLUSH, 0);
	msg->srqn = 2;
	msg->va = 8;
	msg->flush.length = 24;
	msg->flush.type = UNIV_FLUSH_GLOBAL;
	msg->flush.level = UNIV_FLUSH_RANGE;
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.flushes, 1u);
	KUNIT_EXPECT_EQ(test, w->b.aimed, 2u);
	/* Without an SRQ there is no domain. */
	msg = wire_post(w, UNIV_WR_FLUSH, 0);
	msg->flush.type = UNIV_FLUSH_GLOBAL;
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[1], (int)IB_WC_REM_INV_REQ_ERR);
	KUNIT_EXPECT_EQ(test, w->b.flushes, 1u);
}

static struct kunit_case xrc_cases[] = {
	KUNIT_CASE(xrc_packets),
	KUNIT_CASE(xrc_choice),
	KUNIT_CASE(xrc_unknown),
	KUNIT_CASE(xrc_changed),
	KUNIT_CASE(xrc_reads),
	KUNIT_CASE(xrc_flush),
	{}
};

static struct kunit_suite xrc_suite = {
	.name = "univ_uroce_xrc",
	.init = wire_init,
	.exit = wire_exit,
	.test_cases = xrc_cases,
};

kunit_test_suite(xrc_suite);
