// SPDX-License-Identifier: GPL-2.0
/* Congestion of read responses: the size of the pieces of a read. */
#include <linux/string.h>

#include "uroce_end.h"

/* Return the packets that one read packet asks for after an idle time. */
static u32 fitted(struct wire *w, u32 window, u32 max_reads)
{
	struct uroce_requester *req = &w->a.conn.req;
	struct uroce_msg msg = { .op = IB_WR_RDMA_READ, .length = 100 * MTU };

	req->window = window;
	req->max_reads = max_reads;
	uroce_piece_fits(&w->a.conn, &msg);
	return uroce_req_piece(&w->a.conn, &msg) / MTU;
}

/* A window has room for several pieces, if the peer accepts several reads. */
static void piece_sizes(struct kunit *test)
{
	struct wire *w = test->priv;

	KUNIT_EXPECT_EQ(test, fitted(w, 256, 16), 60u);
	KUNIT_EXPECT_EQ(test, fitted(w, 128, 4), 32u);
	KUNIT_EXPECT_EQ(test, fitted(w, 64, 4), 16u);
	KUNIT_EXPECT_EQ(test, fitted(w, 9, 4), 4u);
	KUNIT_EXPECT_EQ(test, fitted(w, 8, 4), 2u);
	KUNIT_EXPECT_EQ(test, fitted(w, 2, 4), 1u);
	KUNIT_EXPECT_EQ(test, fitted(w, 8, 1), 8u);
	KUNIT_EXPECT_EQ(test, fitted(w, 15, 2), 4u);
	KUNIT_EXPECT_EQ(test, fitted(w, 1, 2), 1u);
	KUNIT_EXPECT_EQ(test, fitted(w, 256, 1), 60u);
}

/* Return the packets that the next read packet asks for, and drop it. */
static u32 asked(struct wire *w)
{
	struct uroce_packet pkt;
	u32 len;

	if (!wire_next(&w->a.out, &pkt))
		return 0;
	len = be32_to_cpu(((struct uroce_reth *)(pkt.bth + 1))->len);
	kfree_skb(pkt.skb);
	return len / MTU;
}

/* The window bounds the packets that are asked for at once, and one piece is always asked for. */
static void piece_window(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;

	req->max_reads = 8;
	req->window = 6;
	wire_post(w, IB_WR_RDMA_READ, 16 * MTU);
	wire_run(w);
	KUNIT_EXPECT_EQ(test, asked(w), 2u);
	KUNIT_EXPECT_EQ(test, asked(w), 2u);
	KUNIT_EXPECT_EQ(test, asked(w), 2u);
	KUNIT_EXPECT_EQ(test, asked(w), 0u);
	/* A piece that was asked for once is asked for again in one piece. */
	req->window = 1;
	wire_expire(w);
	KUNIT_EXPECT_EQ(test, asked(w), 2u);
	KUNIT_EXPECT_EQ(test, asked(w), 0u);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 1);
}

/* No piece is asked for that would exceed the window, although the window is not full. */
static void piece_exceeds(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;

	req->max_reads = 8;
	req->window = 7;
	wire_post(w, IB_WR_RDMA_READ, 16 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 6u);
	/* A response makes room for one more piece. */
	wire_tell(w, 1);
	KUNIT_EXPECT_EQ(test, req->window, 8u);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 7u);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_NULL(test, memchr_inv(w->a.bytes, 0xbb, BYTES));
}

/*
 * A write that did not ask for an acknowledgement is followed by a piece as large as the window.
 * Nothing else would ask, so the read is requested at once.
 */
static void piece_behind_write(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;

	req->max_reads = 1;
	req->window = 8;
	wire_post(w, IB_WR_RDMA_WRITE, MTU);
	wire_post(w, IB_WR_RDMA_READ, 16 * MTU);
	wire_run(w);
	wire_expect_packet(test, &w->a.out, UROCE_WRITE_ONLY, FIRST_PSN);
	KUNIT_EXPECT_EQ(test, asked(w), 8u);
	KUNIT_EXPECT_EQ(test, asked(w), 0u);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 2);
}

/*
 * The size changes within a read, and old pieces keep theirs: the responder recognises them
 * when they are repeated, and the requester knows where each response ends.
 */
static void piece_changes(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	u32 first = req->psn;

	req->max_reads = 3;
	req->window = 6;
	wire_post(w, IB_WR_RDMA_READ, 16 * MTU);
	wire_run(w);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 6u);
	/* The size changes when the first piece has arrived, and not again before all three have. */
	req->window = 11;
	wire_tell(w, 2);
	req->window = 60;
	wire_tell(w, 2);
	KUNIT_EXPECT_EQ(test, uroce_piece_packets(req, uroce_psn_add(first, 5)), 2u);
	KUNIT_EXPECT_EQ(test, uroce_piece_packets(req, uroce_psn_add(first, 6)), 4u);
	KUNIT_EXPECT_EQ(test, asked(w), 2u);
	KUNIT_EXPECT_EQ(test, asked(w), 4u);
	KUNIT_EXPECT_EQ(test, uroce_psn_diff(req->high, first), 12);
	/* The responses to the third piece are lost, and it is repeated as it was. */
	KUNIT_EXPECT_EQ(test, wire_lose(&w->b.out, 2), 0);
	wire_expire(w);
	KUNIT_EXPECT_EQ(test, asked(w), 2u);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_NULL(test, memchr_inv(w->a.bytes, 0xbb, BYTES));
}

/* The number from which the present size counts stays behind the oldest packet in flight. */
static void piece_wraps(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	int i;

	KUNIT_EXPECT_EQ(test, fitted(w, 8, 4), 2u);
	for (i = 0; i < 3; i++) {
		req->psn = uroce_psn_add(req->psn, 1 << 22);
		req->una = req->psn;
		req->high = req->psn;
		uroce_window_gain(req, 0);
		KUNIT_EXPECT_EQ(test, fitted(w, 8, 4), 2u);
	}
	KUNIT_EXPECT_EQ(test, fitted(w, 64, 4), 16u);
}

static struct kunit_case rate_cases[] = {
	KUNIT_CASE(piece_sizes),
	KUNIT_CASE(piece_window),
	KUNIT_CASE(piece_exceeds),
	KUNIT_CASE(piece_behind_write),
	KUNIT_CASE(piece_changes),
	KUNIT_CASE(piece_wraps),
	{}
};

static struct kunit_suite rate_suite = {
	.name = "univ_uroce_rate",
	.init = wire_init,
	.exit = wire_exit,
	.test_cases = rate_cases,
};

kunit_test_suite(rate_suite);
