// SPDX-License-Identifier: GPL-2.0
/*
 * Selective repeat of packets of several requests, which complete or fail meanwhile, and of a read
 * of which the peer claims to hold a part.
 */
#include "uroce_end.h"

#define HELD_AT (uroce_ops[UROCE_ACKNOWLEDGE].length)	/* in a NAK that names packets */

/* Two writes of two packets each lose their first packets. One NAK names both. */
static void lose_firsts(struct wire *w)
{
	int i;

	memset(w->a.bytes, 0x11, BYTES);
	for (i = 0; i < 2; i++)
		wire_post(w, IB_WR_RDMA_WRITE, 2 * MTU)->va = i * 4 * MTU;
	wire_run(w);
	for (i = 0; i < 2; i++) {
		wire_lose(&w->a.out, 1);
		wire_ask(w, 1);
	}
	wire_lose(&w->b.out, skb_queue_len(&w->b.out) - 1);
}

static void expect_written(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_expect_clean(test, 3, 2);
	repeat_expect_bytes(test, 0x11, 2 * MTU);
	KUNIT_EXPECT_NULL(test, memchr_inv(w->b.bytes + 4 * MTU, 0x11, 2 * MTU));
	KUNIT_EXPECT_EQ(test, (int)w->b.bytes[6 * MTU], 0xbb);
}

/* The second packet to be repeated belongs to another request than the first one. */
static void repeat_two_requests(struct kunit *test)
{
	struct wire *w = test->priv;

	lose_firsts(w);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 2u);
	repeat_expect_again(test, UROCE_WRITE_FIRST, NEXT);
	repeat_expect_again(test, UROCE_WRITE_FIRST, NEXT + 2);
	expect_written(test);
}

/* The first request completes before the packet of the second one is repeated. */
static void repeat_when_first_is_done(struct kunit *test)
{
	struct wire *w = test->priv;

	lose_firsts(w);
	w->a.full = true;
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	repeat_expect_again(test, UROCE_WRITE_FIRST, NEXT);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, w->a.completed, 2u);
	w->a.full = false;
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	repeat_expect_again(test, UROCE_WRITE_FIRST, NEXT + 2);
	expect_written(test);
}

/* A packet is lost, and meanwhile the memory of its request is not registered any more. */
static void repeat_without_memory(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_lose_second(w);
	w->a.msg[1].va = BAD_SOURCE;
	wire_tell(w, 1);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	KUNIT_EXPECT_EQ(test, w->a.completed, 2u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[1], (int)IB_WC_LOC_PROT_ERR);
}

/* The same with the second of two requests. The first request succeeds before the second one fails. */
static void repeat_without_memory_later(struct kunit *test)
{
	struct wire *w = test->priv;

	lose_firsts(w);
	w->a.msg[2].va = BAD_SOURCE;
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	wire_settle(w);
	wire_expire(w);
	wire_settle(w);
	KUNIT_EXPECT_EQ(test, w->a.completed, 3u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[1], (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[2], (int)IB_WC_LOC_PROT_ERR);
	repeat_expect_bytes(test, 0x11, 2 * MTU);
}

/* A peer claims to hold a part of a read, whose request is one packet: it gets that packet once. */
static void repeat_part_of_read(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_held_eth *eth;
	struct sk_buff *skb;

	wire_post(w, IB_WR_RDMA_READ, 3 * MTU);
	wire_post(w, IB_WR_RDMA_WRITE, 1)->va = 4 * MTU;
	wire_run(w);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	skb = skb_peek(&w->b.out);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	eth = (void *)(skb->data + HELD_AT);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(eth->held[0]), 4ull);
	eth->held[0] = cpu_to_be64(1);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	repeat_expect_again(test, UROCE_READ_REQUEST, NEXT);
	repeat_expect_clean(test, 3, 1);
	KUNIT_EXPECT_EQ(test, w->b.reads[0], 3u);
}

static struct kunit_case repeat_cases[] = {
	KUNIT_CASE(repeat_two_requests),
	KUNIT_CASE(repeat_when_first_is_done),
	KUNIT_CASE(repeat_without_memory),
	KUNIT_CASE(repeat_without_memory_later),
	KUNIT_CASE(repeat_part_of_read),
	{}
};

static struct kunit_suite repeat_suite = {
	.name = "univ_uroce_repeat",
	.init = repeat_init,
	.exit = wire_exit,
	.test_cases = repeat_cases,
};

kunit_test_suite(repeat_suite);
