// SPDX-License-Identifier: GPL-2.0
/* Connections whose ends are on one host: several packets of a message travel as one GSO packet. */
#include "uroce_end.h"

#define LENGTH (15 * MTU - 3)

static int whole_init(struct kunit *test)
{
	int ret = wire_init(test);
	struct wire *w = test->priv;

	if (ret)
		return ret;
	w->a.gso = BYTES;
	w->b.gso = BYTES;
	return 0;
}

/* Expect a packet that stands for @packets packets, and deliver it if @to. */
static void expect_whole(struct kunit *test, struct sk_buff_head *queue, u8 opcode, u32 psn,
			 u32 packets, struct end *to)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wire_next(queue, &pkt));
	KUNIT_EXPECT_EQ(test, (int)pkt.bth->opcode, (int)opcode);
	KUNIT_EXPECT_EQ(test, pkt.psn, psn & UROCE_PSN_MASK);
	KUNIT_EXPECT_EQ(test, pkt.packets, packets);
	if (to == &w->b) {
		KUNIT_EXPECT_TRUE(test, uroce_resp_takes(&to->conn, &pkt));
		IN_BOTTOM_HALF(uroce_resp_receive(&to->conn, &pkt));
	} else if (to) {
		IN_BOTTOM_HALF(uroce_comp_receive(&to->conn, &pkt));
		wire_run(w);
	}
	kfree_skb(pkt.skb);
}

/* A window holds four of them, and the last one of a message may be shorter. */
static void whole_write(struct kunit *test)
{
	struct wire *w = test->priv;

	memset(w->a.bytes, 0x11, BYTES);
	w->a.conn.req.window = 32;
	wire_post(w, IB_WR_RDMA_WRITE, LENGTH);
	wire_run(w);
	expect_whole(test, &w->a.out, UROCE_WRITE_FIRST, FIRST_PSN, 8, &w->b);
	KUNIT_EXPECT_EQ(test, w->b.conn.resp.psn, uroce_psn_add(FIRST_PSN, 8));
	expect_whole(test, &w->a.out, UROCE_WRITE_LAST, FIRST_PSN + 8, 7, &w->b);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	/* Each has asked for an acknowledgement, which is that of its last packet. */
	wire_expect_packet(test, &w->b.out, UROCE_ACKNOWLEDGE, FIRST_PSN + 7);
	wire_tell(w, -1);
	wire_expect_done(test, 1);
	repeat_expect_bytes(test, 0x11, LENGTH);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.una, uroce_psn_add(FIRST_PSN, 15));
}

static void whole_send(struct kunit *test)
{
	struct wire *w = test->priv;

	memset(w->a.bytes, 0x12, BYTES);
	w->a.conn.req.window = 256;
	wire_post(w, IB_WR_SEND_WITH_IMM, LENGTH);
	wire_run(w);
	expect_whole(test, &w->a.out, UROCE_SEND_ONLY_IMM, FIRST_PSN, 15, &w->b);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	repeat_expect_bytes(test, 0x12, LENGTH);
}

/* A write beyond the region is refused, and nothing is written. */
static void whole_beyond(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.window = 256;
	wire_post(w, IB_WR_RDMA_WRITE, LENGTH)->va = BYTES - MTU;
	wire_run(w);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_TRUE(test, w->b.broken);
	repeat_expect_bytes(test, 0xbb, 0);
}

/* The responses to one read packet travel as one, and end where the responses of that packet end. */
static void whole_read(struct kunit *test)
{
	struct wire *w = test->priv;

	memset(w->b.bytes, 0x13, BYTES);
	w->a.conn.req.window = 16;
	wire_post(w, IB_WR_RDMA_READ, LENGTH);
	wire_run(w);
	wire_ask(w, -1);
	expect_whole(test, &w->b.out, UROCE_READ_ONLY, FIRST_PSN, 8, &w->a);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.una, uroce_psn_add(FIRST_PSN, 8));
	wire_ask(w, -1);
	expect_whole(test, &w->b.out, UROCE_READ_ONLY, FIRST_PSN + 8, 7, &w->a);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_NULL(test, memchr_inv(w->a.bytes, 0x13, LENGTH));
	KUNIT_EXPECT_EQ(test, (int)w->a.bytes[LENGTH], 0xaa);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.reads, 0u);
}

/* Memory that cannot be added as pages travels in single packets. */
static void whole_scattered(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.scattered = true;
	w->b.scattered = true;
	wire_post(w, IB_WR_RDMA_WRITE, 6 * MTU);
	wire_run(w);
	expect_whole(test, &w->a.out, UROCE_WRITE_FIRST, FIRST_PSN, 1, &w->b);
	wire_settle(w);
	wire_expect_done(test, 1);
	wire_post(w, IB_WR_RDMA_READ, 2 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	expect_whole(test, &w->b.out, UROCE_READ_FIRST, FIRST_PSN + 6, 1, &w->a);
	expect_whole(test, &w->b.out, UROCE_READ_LAST, FIRST_PSN + 7, 1, &w->a);
	wire_expect_done(test, 2);
}

/* Packets that are sent again travel one by one. */
static void whole_lost(struct kunit *test)
{
	struct wire *w = test->priv;

	memset(w->a.bytes, 0x14, BYTES);
	w->a.conn.req.window = 256;
	wire_post(w, IB_WR_RDMA_WRITE, 6 * MTU);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, wire_lose(&w->a.out, 1), 0);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	wire_expire(w);
	expect_whole(test, &w->a.out, UROCE_WRITE_FIRST, FIRST_PSN, 1, &w->b);
	wire_settle(w);
	wire_expect_done(test, 1);
	/* So do new ones for a while. */
	w->a.conn.req.window = 256;
	wire_post(w, IB_WR_RDMA_WRITE, 6 * MTU);
	wire_run(w);
	expect_whole(test, &w->a.out, UROCE_WRITE_FIRST, FIRST_PSN + 6, 1, &w->b);
	wire_settle(w);
	wire_expect_done(test, 2);
	repeat_expect_bytes(test, 0x14, 6 * MTU);
}

/* A response that is asked for again is copied. */
static void whole_read_again(struct kunit *test)
{
	struct wire *w = test->priv;

	memset(w->b.bytes, 0x15, BYTES);
	wire_post(w, IB_WR_RDMA_READ, 2 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, wire_lose(&w->b.out, 1), 0);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.out));
	wire_expire(w);
	wire_ask(w, -1);
	expect_whole(test, &w->b.out, UROCE_READ_FIRST, FIRST_PSN, 1, &w->a);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_NULL(test, memchr_inv(w->a.bytes, 0x15, 2 * MTU));
}

/* Behind a gap, or of another path MTU, it has to be cut. */
static void whole_cut(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;

	w->a.conn.req.window = 32;
	wire_post(w, IB_WR_RDMA_WRITE, 16 * MTU);
	wire_run(w);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wire_next(&w->a.out, &pkt));
	KUNIT_EXPECT_TRUE(test, uroce_resp_takes(&w->b.conn, &pkt));
	w->b.conn.mtu = 2 * MTU;
	KUNIT_EXPECT_FALSE(test, uroce_resp_takes(&w->b.conn, &pkt));
	w->b.conn.mtu = MTU;
	kfree_skb(pkt.skb);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wire_next(&w->a.out, &pkt));
	KUNIT_EXPECT_EQ(test, pkt.packets, 8u);
	KUNIT_EXPECT_FALSE(test, uroce_resp_takes(&w->b.conn, &pkt));
	kfree_skb(pkt.skb);
}

/* Deliver a response of end b, as if it stood for so many packets and bytes. */
static void deliver_changed(struct wire *w, u32 packets, u32 len)
{
	struct uroce_packet pkt;

	if (!wire_next(&w->b.out, &pkt))
		return;
	pkt.packets = packets;
	pkt.len = len;
	IN_BOTTOM_HALF(uroce_comp_receive(&w->a.conn, &pkt));
	kfree_skb(pkt.skb);
}

/* A response that stands for more packets than were asked for, or for two pieces, is refused. */
static void whole_spans(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	struct uroce_packet pkt = { .packets = 2, .mtu = 2 * MTU };

	KUNIT_EXPECT_FALSE(test, uroce_comp_takes(&w->a.conn, &pkt));
	/* Pieces of two packets, of which four are in flight. */
	req->max_reads = 4;
	req->window = 8;
	wire_post(w, IB_WR_RDMA_READ, 8 * MTU);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, req->reads, 4u);
	wire_ask(w, -1);
	deliver_changed(w, 8, 8 * MTU);
	KUNIT_EXPECT_EQ(test, w->a.completed, 1u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_BAD_RESP_ERR);
}

static void whole_beyond_high(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;

	wire_post(w, IB_WR_RDMA_READ, 2 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	deliver_changed(w, 8, 2 * MTU);
	KUNIT_EXPECT_EQ(test, req->una, (u32)FIRST_PSN);
	KUNIT_EXPECT_EQ(test, w->a.completed, 0u);
}

/* A packet that the window would cut short waits for the next acknowledgement. */
static void whole_awaits_room(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	w->a.conn.req.window = 32;
	for (i = 0; i < 3; i++)
		wire_post(w, IB_WR_RDMA_WRITE, LENGTH);
	wire_run(w);
	expect_whole(test, &w->a.out, UROCE_WRITE_FIRST, FIRST_PSN, 8, &w->b);
	expect_whole(test, &w->a.out, UROCE_WRITE_LAST, FIRST_PSN + 8, 7, &w->b);
	expect_whole(test, &w->a.out, UROCE_WRITE_FIRST, FIRST_PSN + 15, 8, NULL);
	expect_whole(test, &w->a.out, UROCE_WRITE_LAST, FIRST_PSN + 23, 7, NULL);
	/* There is room for two packets of eight. */
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	wire_tell(w, 1);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.window, 40u);
	expect_whole(test, &w->a.out, UROCE_WRITE_FIRST, FIRST_PSN + 30, 10, NULL);
	expect_whole(test, &w->a.out, UROCE_WRITE_LAST, FIRST_PSN + 40, 5, NULL);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
}

/* After losses the window is small, and runs are longer. */
static void whole_narrow(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.window = 31;
	wire_post(w, IB_WR_RDMA_WRITE, LENGTH);
	wire_run(w);
	expect_whole(test, &w->a.out, UROCE_WRITE_FIRST, FIRST_PSN, 1, &w->b);
	wire_settle(w);
	wire_expect_done(test, 1);
}

/* The limit of a rate counts single packets. */
static void whole_paced(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_pace pace = { .kbps = 1000 * 1000, .burst = NSEC_PER_SEC };

	w->a.conn.pace = &pace;
	w->a.conn.req.window = 256;
	wire_post(w, IB_WR_RDMA_WRITE, 6 * MTU);
	wire_run(w);
	expect_whole(test, &w->a.out, UROCE_WRITE_FIRST, FIRST_PSN, 1, &w->b);
	wire_settle(w);
	wire_expect_done(test, 1);
	w->a.conn.pace = NULL;
}

static struct kunit_case whole_cases[] = {
	KUNIT_CASE(whole_write),
	KUNIT_CASE(whole_send),
	KUNIT_CASE(whole_beyond),
	KUNIT_CASE(whole_read),
	KUNIT_CASE(whole_scattered),
	KUNIT_CASE(whole_lost),
	KUNIT_CASE(whole_read_again),
	KUNIT_CASE(whole_cut),
	KUNIT_CASE(whole_spans),
	KUNIT_CASE(whole_beyond_high),
	KUNIT_CASE(whole_awaits_room),
	KUNIT_CASE(whole_narrow),
	KUNIT_CASE(whole_paced),
	{}
};

static struct kunit_suite whole_suite = {
	.name = "univ_uroce_whole",
	.init = whole_init,
	.exit = wire_exit,
	.test_cases = whole_cases,
};

kunit_test_suite(whole_suite);
