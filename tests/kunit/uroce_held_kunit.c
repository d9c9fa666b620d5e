// SPDX-License-Identifier: GPL-2.0
/* Selective repeat: the packets that a responder holds behind a gap, and for how long. */
#include <linux/bits.h>
#include <linux/mm.h>

#include "uroce_end.h"

/* A packet that comes twice is held once, whatever the order. */
static void held_duplicates(struct kunit *test)
{
	struct wire *w = test->priv;
	struct sk_buff *skb, *again;

	repeat_write(w, 4, 0x11);
	wire_lose(&w->a.out, 1);
	skb = skb_dequeue_tail(&w->a.out);
	again = skb_copy(skb, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	skb_queue_head(&w->a.out, skb);
	skb_queue_tail(&w->a.out, again);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.conn.resp.held.packets), 3u);
	wire_settle(w);
	wire_expect_done(test, 2);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
}

/* Number the first packet of end a anew, and deliver it. */
static void ask_numbered(struct kunit *test, u32 psn)
{
	struct wire *w = test->priv;
	struct sk_buff *skb = skb_peek(&w->a.out);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	((struct uroce_bth *)skb->data)->psn = cpu_to_be32(psn & UROCE_PSN_MASK);
	wire_ask(w, 1);
}

/* A packet is not held if a NAK could not name it. */
static void held_far(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_write(w, 4, 0x11);
	ask_numbered(test, NEXT + UROCE_HELD_SPAN);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.conn.resp.held.packets));
	ask_numbered(test, NEXT + UROCE_HELD_SPAN - 1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.conn.resp.held.packets), 1u);
}

/* The NAK names each sequence number of a read, across its words. */
static void held_named(struct kunit *test)
{
	struct wire *w = test->priv;
	const struct uroce_held_eth *eth;
	struct sk_buff *skb;

	w->a.conn.req.window = UROCE_HELD_SPAN;
	w->a.conn.req.max_reads = 4;
	wire_post(w, IB_WR_SEND, 1);
	wire_post(w, IB_WR_RDMA_READ, 100 * MTU);
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	skb = skb_peek_tail(&w->b.out);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	eth = (void *)(skb->data + uroce_ops[UROCE_ACKNOWLEDGE].length);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(eth->held[0]), ~0ull);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(eth->held[1]), GENMASK_ULL(36, 0));
	KUNIT_EXPECT_EQ(test, be64_to_cpu(eth->held[2]), 0ull);
}

/* A peer asks for a read that ends behind the last packet that a NAK can name. */
static void held_named_beyond(struct kunit *test)
{
	struct wire *w = test->priv;
	const struct uroce_held_eth *eth;
	struct uroce_reth *reth;
	struct sk_buff *skb;
	int i;

	wire_post(w, IB_WR_SEND, 1);
	wire_post(w, IB_WR_RDMA_READ, 1);
	wire_run(w);
	wire_lose(&w->a.out, 1);
	skb = skb_peek(&w->a.out);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	reth = (void *)(skb->data + sizeof(struct uroce_bth));
	reth->len = cpu_to_be32((UROCE_HELD_SPAN + 64) * MTU);
	wire_ask(w, -1);
	skb = skb_peek_tail(&w->b.out);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_EQ(test, skb->len, (u32)(uroce_ops[UROCE_ACKNOWLEDGE].length + sizeof(*eth) +
					      UROCE_ICRC_SIZE));
	eth = (void *)(skb->data + uroce_ops[UROCE_ACKNOWLEDGE].length);
	for (i = 0; i < UROCE_HELD_WORDS; i++)
		KUNIT_EXPECT_EQ(test, be64_to_cpu(eth->held[i]), ~0ull);
}

/* Packets behind a gap that is never closed are freed after some time. */
static void held_expires(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_held *held = &w->b.conn.resp.held;

	repeat_lose_second(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&held->packets), 2u);
	KUNIT_EXPECT_TRUE(test, timer_pending(&held->expire));
	KUNIT_EXPECT_GT(test, atomic_read(&w->b.budget), 2 * MTU);
	uroce_held_check(&w->b.conn, false);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&held->packets), 2u);
	timer_delete_sync(&held->expire);
	held->expired = true;
	uroce_held_check(&w->b.conn, false);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&held->packets));
	KUNIT_EXPECT_EQ(test, atomic_read(&w->b.budget), 0);
	wire_settle(w);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
}

/* The time until then does not begin anew with each packet, but when one is executed. */
static void held_expires_anyway(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_held *held = &w->b.conn.resp.held;
	unsigned long far = jiffies + 1000 * HZ;

	repeat_write(w, 6, 0x11);
	wire_ask(w, 1);
	wire_lose(&w->a.out, 1);
	wire_ask(w, 1);
	mod_timer(&held->expire, far);
	wire_ask(w, 1);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&held->packets), 3u);
	KUNIT_EXPECT_EQ(test, held->expire.expires, far);
	wire_tell(w, -1);
	wire_ask(w, 1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&held->packets), 1u);
	KUNIT_EXPECT_TRUE(test, time_before(held->expire.expires, far));
	repeat_expect_clean(test, 2, 2);
}

/* In the error state nothing is held. */
static void held_ends(struct kunit *test)
{
	struct wire *w = test->priv;

	repeat_lose_second(w);
	uroce_held_check(&w->b.conn, true);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.conn.resp.held.packets));
}

/* The first packet finds no receive request. Those behind it will all be sent again. */
static void held_told_to_wait(struct kunit *test)
{
	struct wire *w = test->priv;

	wire_post(w, IB_WR_SEND, 1);
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	w->b.recvs = 0;
	wire_ask(w, -1);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.conn.resp.held.packets));
	wire_tell(w, -1);
	w->b.recvs = 2;
	wire_end_wait(w);
	repeat_expect_clean(test, 3, 0);
}

/* The wait is over and all are sent again: a gap is a new loss, and one try. */
static void held_after_wait(struct kunit *test)
{
	struct wire *w = test->priv;
	const struct uroce_requester *req = &w->a.conn.req;
	int i;

	for (i = 0; i < 3; i++)
		wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	w->b.recvs = 0;
	wire_ask(w, -1);
	wire_tell(w, -1);
	KUNIT_EXPECT_TRUE(test, req->waiting);
	w->b.recvs = 3;
	w->b.conn.resp.patience = 1;
	wire_end_wait(w);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.conn.resp.held.packets), 2u);
	wire_tell(w, -1);
	KUNIT_EXPECT_EQ(test, req->tries + 1, (int)req->retry_cnt);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	repeat_expect_clean(test, 4, 1);
}

/* Held sends find no receive request: the peer is told to wait, and sends again. */
static void held_not_ready(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	for (i = 0; i < 3; i++)
		wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	w->b.recvs = 1;
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	wire_tell(w, -1);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, w->b.received, 2u);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.conn.resp.held.packets));
	wire_tell(w, -1);
	KUNIT_EXPECT_TRUE(test, w->a.conn.req.waiting);
	w->b.recvs = 2;
	wire_end_wait(w);
	wire_settle(w);
	wire_expect_done(test, 4);
	KUNIT_EXPECT_EQ(test, w->b.received, 4u);
}

/* There are more reads behind the gap than the responder remembers; each is answered in its turn. */
static void held_reads(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	w->a.conn.req.max_reads = 4;
	wire_post(w, IB_WR_RDMA_WRITE, 1)->va = 4 * MTU;
	for (i = 0; i < 3; i++)
		wire_post(w, IB_WR_RDMA_READ, MTU);
	wire_run(w);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.conn.resp.held.packets), 3u);
	wire_tell(w, -1);
	repeat_expect_clean(test, 5, 1);
	KUNIT_EXPECT_EQ(test, w->b.reads[0], 3u);
}

/* The payload of a held packet lies in a page that its sender overwrites before it is executed. */
static void held_shared(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL);
	struct wire *w = test->priv;
	struct sk_buff *first, *skb;
	u32 head = uroce_ops[UROCE_WRITE_LAST].length, len;

	KUNIT_ASSERT_NOT_NULL(test, page);
	repeat_write(w, 2, 0x11);
	first = skb_dequeue(&w->a.out);
	skb = skb_peek(&w->a.out);
	len = skb->len - head;
	skb_copy_bits(skb, head, page_address(page), len);
	skb_trim(skb, head);
	get_page(page);
	skb_add_rx_frag(skb, 0, page, 0, len, PAGE_SIZE);
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	wire_ask(w, 1);
	memset(page_address(page), 0x22, len);
	put_page(page);
	wire_lose(&w->b.out, -1);
	skb_queue_head(&w->a.out, first);
	repeat_expect_clean(test, 2, 0);
	repeat_expect_bytes(test, 0x11, 2 * MTU);
}

/* So much is held that nothing may be added. The requester goes back. */
static void expect_no_room(struct kunit *test, atomic_t *held, int limit)
{
	struct wire *w = test->priv;

	atomic_add(limit, held);
	repeat_lose_second(w);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.conn.resp.held.packets));
	KUNIT_EXPECT_EQ(test, atomic_read(held), limit);
	atomic_sub(limit, held);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->b.budget), 0);
	wire_settle(w);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 2);
	repeat_expect_bytes(test, 0x11, 4 * MTU);
}

/* The device holds as much as it may. */
static void held_by_device(struct kunit *test)
{
	struct wire *w = test->priv;

	expect_no_room(test, &w->b.budget, UROCE_HELD_DEVICE);
}

/* All devices hold as much as they may. */
static void held_by_all(struct kunit *test)
{
	expect_no_room(test, &uroce_held_by_all, UROCE_HELD_HOST);
}

static struct kunit_case held_cases[] = {
	KUNIT_CASE(held_duplicates),
	KUNIT_CASE(held_far),
	KUNIT_CASE(held_named),
	KUNIT_CASE(held_named_beyond),
	KUNIT_CASE(held_expires),
	KUNIT_CASE(held_expires_anyway),
	KUNIT_CASE(held_ends),
	KUNIT_CASE(held_told_to_wait),
	KUNIT_CASE(held_after_wait),
	KUNIT_CASE(held_not_ready),
	KUNIT_CASE(held_reads),
	KUNIT_CASE(held_shared),
	KUNIT_CASE(held_by_device),
	KUNIT_CASE(held_by_all),
	{}
};

static struct kunit_suite held_suite = {
	.name = "univ_uroce_held",
	.init = repeat_init,
	.exit = wire_exit,
	.test_cases = held_cases,
};

kunit_test_suite(held_suite);
