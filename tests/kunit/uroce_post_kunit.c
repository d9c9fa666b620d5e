// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that users in the kernel post. A ring accepts no more of them than it has slots, and no
 * request that is longer than a slot.
 */
#include "uroce_host.h"

#define INLINE	64		/* bytes of inline data that a request has room for */

/* Inline data in one or two pieces: the bytes that begin the first side's memory. */
struct inline_send {
	struct ib_sge sge[2];
	struct ib_send_wr wr;
};

static void inline_fill(struct kunit *test, struct inline_send *s, u64 id, u32 first, u32 second)
{
	struct host *h = test->priv;
	u8 *from = host_byte(&h->a.area, 0);

	*s = (struct inline_send){
		.sge = {
			{ .addr = (uintptr_t)from, .length = first },
			{ .addr = (uintptr_t)from + first, .length = second },
		},
		.wr = {
			.wr_id = id, .sg_list = s->sge, .num_sge = second ? 2 : 1,
			.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED | IB_SEND_INLINE,
		},
	};
}

static void expect_arrival(struct kunit *test, u64 id, u32 len)
{
	struct host *h = test->priv;

	host_expect_wc(test, &h->a, id, IB_WC_SUCCESS);
	host_expect_wc(test, &h->b, id, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, 0, 0, len, 1), -1);
	host_stale(&h->b.area);
}

/* Inline data fit: the bytes arrive. */
static void expect_inline(struct kunit *test, u64 id, u32 first, u32 second)
{
	struct host *h = test->priv;
	const struct ib_send_wr *bad;
	struct inline_send s;

	inline_fill(test, &s, id, first, second);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, id, 0, INLINE), 0);
	KUNIT_ASSERT_EQ(test, uroce_post_send(&h->a.qp.ib, &s.wr, &bad), 0);
	expect_arrival(test, id, first + second);
}

/* Inline data are too long: the requests before and after are executed. */
static void expect_too_long(struct kunit *test, u32 first, u32 second)
{
	struct host *h = test->priv;
	const struct ib_send_wr *bad = NULL;
	struct inline_send before, s;

	inline_fill(test, &before, 2, 8, 0);
	inline_fill(test, &s, 3, first, second);
	before.wr.next = &s.wr;
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 2, 0, INLINE), 0);
	KUNIT_ASSERT_EQ(test, uroce_post_send(&h->a.qp.ib, &before.wr, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&s.wr);
	expect_arrival(test, 2, 8);
	host_expect_none(test, &h->a);
	expect_inline(test, 4, 8, 0);
}

static void post_inline_bounds(struct kunit *test)
{
	expect_inline(test, 1, INLINE, 0);
	expect_inline(test, 1, INLINE - 4, 4);
	expect_too_long(test, INLINE + 1, 0);
	expect_too_long(test, INLINE - 4, 5);
	expect_too_long(test, INLINE, U32_MAX);
}

/* A full queue accepts no request, and keeps the ones that it has. */
static void post_full(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_sge sge = host_piece(&h->a, 0, 64);
	const struct ib_send_wr *bad = NULL;
	struct ib_send_wr *wr;
	u32 i;

	wr = kunit_kcalloc(test, QUEUE + 1, sizeof(*wr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wr);
	for (i = 0; i <= QUEUE; i++)
		wr[i] = (struct ib_send_wr){
			.next = i < QUEUE ? &wr[i + 1] : NULL, .wr_id = i,
			.sg_list = &sge, .num_sge = 1,
			.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		};
	/* The other side has no receive request, so none of them ends. */
	KUNIT_ASSERT_EQ(test, uroce_post_send(&h->a.qp.ib, wr, &bad), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&wr[QUEUE]);
	KUNIT_ASSERT_EQ(test, host_ask(h, QUEUE, IB_WR_SEND, 0, 0, 64), -ENOMEM);
	for (i = 0; i < QUEUE; i++)
		KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 100 + i, 64 * i, 64), 0);
	for (i = 0; i < QUEUE; i++) {
		host_expect_soon(test, &h->a, i, IB_WC_SUCCESS);
		host_expect_soon(test, &h->b, 100 + i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, memcmp(host_byte(&h->b.area, 64 * i),
					     host_byte(&h->a.area, 0), 64), 0);
	}
	host_expect_none(test, &h->a);
	host_expect_none(test, &h->b);
}

/* The same for receive requests. */
static void post_full_of_receives(struct kunit *test)
{
	struct host *h = test->priv;
	const struct ib_recv_wr *bad = NULL;
	struct ib_recv_wr *wr;
	struct ib_sge *sge;
	u32 i;

	wr = kunit_kcalloc(test, QUEUE + 1, sizeof(*wr), GFP_KERNEL);
	sge = kunit_kcalloc(test, QUEUE + 1, sizeof(*sge), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, wr && sge);
	for (i = 0; i <= QUEUE; i++) {
		sge[i] = host_piece(&h->b, 64 * i, 64);
		wr[i] = (struct ib_recv_wr){
			.next = i < QUEUE ? &wr[i + 1] : NULL, .wr_id = 100 + i,
			.sg_list = &sge[i], .num_sge = 1,
		};
	}
	KUNIT_ASSERT_EQ(test, uroce_post_recv(&h->b.qp.ib, wr, &bad), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_recv_wr *)&wr[QUEUE]);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 100 + QUEUE, 0, 64), -ENOMEM);
	for (i = 0; i < QUEUE; i++) {
		KUNIT_ASSERT_EQ(test, host_ask(h, i, IB_WR_SEND, 64 * i, 0, 64), 0);
		host_expect_wc(test, &h->a, i, IB_WC_SUCCESS);
		host_expect_wc(test, &h->b, 100 + i, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, 0, 0, 64 * QUEUE, 1), -1);
	KUNIT_EXPECT_EQ(test, host_receive(h, &h->b, 100 + QUEUE, 0, 64), 0);
}

/* A request has more pieces than its slot has room for. */
static void post_pieces(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_sge to[3], from[3];
	struct ib_recv_wr recv = { .wr_id = 6, .sg_list = to, .num_sge = 3 };
	const struct ib_recv_wr *bad_recv = NULL;
	struct ib_send_wr send = {
		.wr_id = 6, .sg_list = from, .num_sge = 3, .opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	const struct ib_send_wr *bad_send = NULL;
	u32 i;

	for (i = 0; i < 3; i++) {
		to[i] = host_piece(&h->b, 8 * i, 8);
		from[i] = host_piece(&h->a, 8 * i, 8);
	}
	KUNIT_EXPECT_EQ(test, uroce_post_recv(&h->b.qp.ib, &recv, &bad_recv), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad_recv, (const struct ib_recv_wr *)&recv);
	KUNIT_EXPECT_EQ(test, uroce_post_send(&h->a.qp.ib, &send, &bad_send), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad_send, (const struct ib_send_wr *)&send);
	recv.num_sge = send.num_sge = 2;
	KUNIT_ASSERT_EQ(test, uroce_post_recv(&h->b.qp.ib, &recv, &bad_recv), 0);
	KUNIT_ASSERT_EQ(test, uroce_post_send(&h->a.qp.ib, &send, &bad_send), 0);
	expect_arrival(test, 6, 16);
	host_expect_none(test, &h->a);
	host_expect_none(test, &h->b);
}

/* An operation that does not exist here, and requests of a queue pair that is not connected. */
static void post_refused(struct kunit *test)
{
	struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };
	struct host *h = test->priv;

	KUNIT_EXPECT_EQ(test, host_ask(h, 1, IB_WR_LSO, 0, 0, 8), -EINVAL);
	KUNIT_ASSERT_EQ(test, host_ask(h, 2, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	host_expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &reset, IB_QP_STATE, NULL), 0);
	KUNIT_EXPECT_EQ(test, host_ask(h, 3, IB_WR_RDMA_WRITE, 0, 0, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, host_receive(h, &h->a, 3, 0, 8), -EINVAL);
	host_again(test, IB_QPT_RC, 7);
	KUNIT_ASSERT_EQ(test, host_ask(h, 4, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	host_expect_wc(test, &h->a, 4, IB_WC_SUCCESS);
}

static struct kunit_case post_cases[] = {
	KUNIT_CASE(post_inline_bounds),
	KUNIT_CASE(post_full),
	KUNIT_CASE(post_full_of_receives),
	KUNIT_CASE(post_pieces),
	KUNIT_CASE(post_refused),
	{}
};

static struct kunit_suite post_suite = {
	.name = "univ_uroce_post",
	.init = host_init,
	.exit = host_exit,
	.test_cases = post_cases,
};

kunit_test_suite(post_suite);
