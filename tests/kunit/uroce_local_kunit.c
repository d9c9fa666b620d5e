// SPDX-License-Identifier: GPL-2.0
/*
 * Messages between queue pairs of one host: the memory that the copy may touch, the keys, and
 * the bounds of the copy.
 */
#include <linux/kthread.h>

#include "../../kernel/uroce/qp/mw.h"
#include "bh.h"
#include "uroce_host.h"

/*
 * Expect a refusal: the first side gets its status, and only the state of the second
 * side changes.
 */
static void expect_refused(struct kunit *test, enum ib_wc_status status,
			   enum ib_event_type event)
{
	struct host *h = test->priv;

	host_expect_wc(test, &h->a, 1, status);
	host_expect_none(test, &h->a);
	host_expect_none(test, &h->b);
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->a), (int)IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->b), (int)IB_QPS_ERR);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
	/* The task of the queue pair raises the event. */
	tasklet_unlock_wait(&h->b.qp.qp->sq.task);
	KUNIT_EXPECT_EQ(test, h->b.events, (u32)BIT(event));
	host_again(test, IB_QPT_RC, 7);
}

/* Copy every length around a page, between all positions around the edge of a page. */
static void local_edges(struct kunit *test)
{
	static const int around[] = { -9, -1, 0, 1, 8 };
	struct host *h = test->priv;
	u32 i, j, k, from, to, len;

	for (i = 0; i < ARRAY_SIZE(around); i++)
		for (j = 0; j < ARRAY_SIZE(around); j++)
			for (k = 0; k < ARRAY_SIZE(around); k++) {
				from = PAGE_SIZE - BEGIN + around[i];
				to = 2 * PAGE_SIZE - BEGIN + around[j];
				len = k % 2 ? PAGE_SIZE + around[k] : 10 + around[k];
				KUNIT_ASSERT_EQ(test, host_ask(h, k, IB_WR_RDMA_WRITE, from, to, len), 0);
				host_expect_wc(test, &h->a, k, IB_WC_SUCCESS);
				KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, to, from, len, 1), -1);
				host_stale(&h->b.area);
			}
	KUNIT_ASSERT_EQ(test, host_ask(h, 9, IB_WR_RDMA_WRITE, 0, 0, BYTES), 0);
	host_expect_wc(test, &h->a, 9, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, 0, 0, BYTES, 1), -1);
}

/* Access the first and the last byte of a region, and the bytes before and behind it. */
static void local_bounds(struct kunit *test)
{
	static const struct {
		s64 to;
		u32 len;
		bool good;
	} at[] = {
		{ 0, 1, true }, { BYTES - 1, 1, true }, { BYTES - 16, 16, true },
		{ -1, 1 }, { -1, 2 }, { BYTES, 1 }, { BYTES - 1, 2 }, { BYTES - 16, 17 },
		{ 1, BYTES }, { -BEGIN, 16 }, { BYTES + BEGIN, 8 },
		/* Addresses that wrap. */
		{ -(s64)IOVA - 8, 16 }, { -(s64)IOVA - 1, 1 }, { S64_MAX, 16 },
	};
	struct host *h = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, at[i].to, at[i].len), 0);
		if (!at[i].good) {
			expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
			continue;
		}
		host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, at[i].to, 0, at[i].len, 1), -1);
		host_stale(&h->b.area);
	}
	/* The bounds also hold for local memory, which a read writes to. */
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_READ, BYTES - 15, 0, 16), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->b), (int)IB_QPS_RTS);
	host_again(test, IB_QPT_RC, 7);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, -1, 0, 16), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
}

/* Access rights of a region and of a queue pair. */
static void local_rights(struct kunit *test)
{
	struct ib_qp_attr a = { .qp_access_flags = IB_ACCESS_REMOTE_READ };
	struct host *h = test->priv;

	host_reopen(test, &h->b, &h->pd, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	host_reopen(test, &h->b, &h->pd, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_READ, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	/* The region grants all rights, but belongs to another protection domain. */
	host_reopen(test, &h->b, &h->other, ALL_ACCESS);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	host_reopen(test, &h->b, &h->pd, ALL_ACCESS);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->b.qp.ib, &a, IB_QP_ACCESS_FLAGS, NULL), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR);
	/* A responder with max_dest_rd_atomic 0 accepts no read, as on hardware. */
	h->b.qp.qp->attr.max_dest_rd_atomic = 0;
	uroce_qp_grant(h->b.qp.qp);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	host_stale(&h->b.area);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_READ, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR);
	/*
	 * Local memory: a region of another domain, and a region without the right to
	 * be written by a read.
	 */
	host_reopen(test, &h->a, &h->other, ALL_ACCESS);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_LOC_PROT_ERR);
	host_reopen(test, &h->a, &h->pd, 0);
	host_again(test, IB_QPT_RC, 7);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_READ, 0, 0, 8), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, (int)*host_byte(&h->a.area, 0), (int)host_pattern(0, 1));
}

/* Use a key of a destroyed region, and a key that never existed. */
static void local_keys(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_mr *mr = h->b.area.mr;

	mr->rkey ^= 1;
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	mr->rkey ^= 1;
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, uroce_mr_invalidate(&h->pd, mr->rkey), 0);
	local_bh_enable();
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
}

/*
 * The owner of a region names its next key when it posts the requests that invalidate the former one and register the
 * next one. Until they are executed, the former key is the valid one.
 */
static void local_keys_ahead(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_mr *mr = h->b.area.mr;
	u32 former = mr->rkey, next = ib_inc_rkey(former);
	int ret;

	ib_update_fast_reg_key(mr, next);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	IN_BOTTOM_HALF(ret = uroce_mr_invalidate(&h->pd, next));
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	IN_BOTTOM_HALF(ret = uroce_mr_invalidate(&h->pd, former));
	KUNIT_EXPECT_EQ(test, ret, 0);
	/* The owner may be one more key ahead when the region is registered. */
	ib_update_fast_reg_key(mr, ib_inc_rkey(next));
	KUNIT_EXPECT_EQ(test, uroce_mr_fast(&h->pd, mr, next, ALL_ACCESS), 0);
	KUNIT_EXPECT_EQ(test, mr->rkey, ib_inc_rkey(next));
	ib_update_fast_reg_key(mr, next);
	KUNIT_ASSERT_EQ(test, host_ask(h, 2, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	host_expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
}

/* A region of two blocks of four pages each, as a user in the kernel may register. */
static struct ib_mr *blocks_register(struct kunit *test, u8 **block, u32 size)
{
	struct host *h = test->priv;
	struct scatterlist sg[2];
	struct ib_mr *mr;
	int i;

	mr = uroce_mr_alloc(&h->pd, IB_MR_TYPE_MEM_REG, 2);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	sg_init_table(sg, 2);
	for (i = 0; i < 2; i++) {
		sg_dma_address(&sg[i]) = (uintptr_t)block[i] + (i ? 0 : BEGIN);
		sg_dma_len(&sg[i]) = size - (i ? 0 : BEGIN);
		memset(block[i], STALE, size);
	}
	mr->page_size = size;
	KUNIT_EXPECT_EQ(test, uroce_mr_map(mr, sg, 2, NULL), 2);
	mr->page_size = 3 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, uroce_mr_map(mr, sg, 2, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, uroce_mr_fast(&h->pd, mr, mr->lkey, ALL_ACCESS), -EINVAL);
	mr->page_size = size;
	KUNIT_EXPECT_EQ(test, uroce_mr_map(mr, sg, 2, NULL), 2);
	mr->iova = IOVA;
	/* No region is longer than its pages. */
	mr->length++;
	KUNIT_EXPECT_EQ(test, uroce_mr_fast(&h->pd, mr, mr->lkey, ALL_ACCESS), -EINVAL);
	mr->length--;
	KUNIT_EXPECT_EQ(test, uroce_mr_fast(&h->pd, mr, mr->lkey, ALL_ACCESS), 0);
	return mr;
}

/* A message that crosses the end of a block goes on at the begin of the next one. */
static void local_blocks(struct kunit *test)
{
	const u32 size = 4 * PAGE_SIZE, to = 10000, len = 12000;
	struct host *h = test->priv;
	struct ib_mr *pages = h->b.area.mr;
	u8 *block[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		block[i] = kunit_kmalloc(test, size, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, block[i]);
		/* A power of two is aligned to itself. */
		KUNIT_ASSERT_EQ(test, (uintptr_t)block[i] % size, (uintptr_t)0);
	}
	/* The second block does not follow the first one in memory. */
	if (block[0] < block[1])
		swap(block[0], block[1]);
	h->b.area.mr = blocks_register(test, block, size);
	KUNIT_EXPECT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, to, len), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	for (i = 0; i < 2 * size; i++) {
		u32 at = i - BEGIN - to;
		u8 want = at < len ? host_pattern(at, 1) : STALE;

		if (block[i / size][i % size] != want)
			break;
	}
	KUNIT_EXPECT_EQ(test, i, 2 * size);
	KUNIT_EXPECT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 2 * size - BEGIN - 4, 8), 0);
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, uroce_mr_dereg(h->b.area.mr, NULL), 0);
	h->b.area.mr = pages;
}

/* A queue pair of another protection domain cannot invalidate a key. */
static void local_invalidated_elsewhere(struct kunit *test)
{
	struct host *h = test->priv;
	int ret;

	IN_BOTTOM_HALF(ret = uroce_mr_invalidate(&h->other, h->b.area.mr->rkey));
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, 0, 0, 8, 1), -1);
}

/* Test the memory of a receive request. */
static void local_receives(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, PAGE_SIZE - BEGIN - 3, 64), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 7, 0, 64), 0);
	host_expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, PAGE_SIZE - BEGIN - 3, 7, 64, 1), -1);
	host_stale(&h->b.area);
	/*
	 * The receive is a byte too short: the receiver gets a length error, and the
	 * sender an invalid request.
	 */
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 63), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_wc(test, &h->b, 5, IB_WC_LOC_LEN_ERR);
	host_expect_wc(test, &h->a, 1, IB_WC_REM_INV_REQ_ERR);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
	host_again(test, IB_QPT_RC, 7);
	/*
	 * The receive's memory is of another domain or ends too early: the receiver
	 * gets the error.
	 */
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, BYTES - 63, 64), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_wc(test, &h->b, 5, IB_WC_LOC_PROT_ERR);
	host_expect_wc(test, &h->a, 1, IB_WC_REM_OP_ERR);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
	host_reopen(test, &h->b, &h->pd, ALL_ACCESS & ~IB_ACCESS_LOCAL_WRITE);
	host_again(test, IB_QPT_RC, 7);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 8), 0);
	host_expect_wc(test, &h->b, 5, IB_WC_LOC_PROT_ERR);
	host_expect_wc(test, &h->a, 1, IB_WC_REM_OP_ERR);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
}

/*
 * Completions of a chain of requests are written several at a time. Both queues have them
 * in the order of the requests, up to the one that fails, and then the flushed ones.
 */
static void local_chain(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_sge sge = host_piece(&h->a, 0, 64);
	const struct ib_send_wr *bad;
	const u32 fails = QUEUE - 2;
	struct ib_send_wr *wr;
	u32 i;

	wr = kunit_kcalloc(test, QUEUE, sizeof(*wr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wr);
	for (i = 0; i < QUEUE; i++) {
		KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 100 + i, 64 * i, i == fails ? 63 : 64), 0);
		wr[i] = (struct ib_send_wr){
			.next = i + 1 < QUEUE ? &wr[i + 1] : NULL, .wr_id = i, .sg_list = &sge, .num_sge = 1,
			.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		};
	}
	KUNIT_ASSERT_EQ(test, uroce_post_send(&h->a.qp.ib, wr, &bad), 0);
	for (i = 0; i < fails; i++) {
		host_expect_wc(test, &h->a, i, IB_WC_SUCCESS);
		host_expect_wc(test, &h->b, 100 + i, IB_WC_SUCCESS);
	}
	host_expect_wc(test, &h->a, fails, IB_WC_REM_INV_REQ_ERR);
	host_expect_wc(test, &h->a, fails + 1, IB_WC_WR_FLUSH_ERR);
	host_expect_wc(test, &h->b, 100 + fails, IB_WC_LOC_LEN_ERR);
	host_expect_soon(test, &h->b, 100 + fails + 1, IB_WC_WR_FLUSH_ERR);
	host_expect_none(test, &h->a);
	host_expect_none(test, &h->b);
}

/* Source and destination of a copy may overlap. */
static void local_overlaps(struct kunit *test)
{
	static const int shifts[] = { -65, -33, -17, -8, -1, 0, 1, 8, 20, 40 };
	struct host *h = test->priv;
	struct uroce_mr *mr = to_umr(h->b.area.mr);
	u8 *at = host_byte(&h->b.area, 0), model[256];
	u32 len, i, k;

	for (len = 1; len <= 72; len++)
		for (k = 0; k < ARRAY_SIZE(shifts); k++) {
			for (i = 0; i < sizeof(model); i++)
				at[i] = model[i] = host_pattern(i, len);
			memmove(model + 80 + shifts[k], model + 80, len);
			uroce_mr_copy(mr, 80 + shifts[k], mr, 80, len);
			KUNIT_ASSERT_EQ_MSG(test, memcmp(at, model, sizeof(model)), 0,
					    "%u bytes, moved by %d", len, shifts[k]);
		}
}

/* A message of no bytes needs no memory, but is still delivered. */
static void local_nothing(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_mr *mr = h->b.area.mr;

	mr->rkey ^= 0x100;
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, BYTES + 5, -7, 0), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 2, IB_WR_RDMA_READ, BYTES + 5, -7, 0), 0);
	mr->rkey ^= 0x100;
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	host_expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 6, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 3, IB_WR_SEND, 0, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 4, IB_WR_RDMA_WRITE_WITH_IMM, 0, 0, 0), 0);
	host_expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	host_expect_wc(test, &h->b, 6, IB_WC_SUCCESS);
	host_expect_wc(test, &h->a, 3, IB_WC_SUCCESS);
	host_expect_wc(test, &h->a, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->b), (int)IB_QPS_RTS);
}

/* The next region gets the index of the destroyed region, but another key. */
static void local_keys_differ(struct kunit *test)
{
	struct host *h = test->priv;
	u32 first = h->b.area.mr->rkey, last;
	int i;

	for (i = 0; i < 255; i++) {
		last = h->b.area.mr->rkey;
		host_reopen(test, &h->b, &h->pd, ALL_ACCESS);
		KUNIT_EXPECT_EQ(test, h->b.area.mr->rkey >> 8, first >> 8);
		KUNIT_EXPECT_NE(test, h->b.area.mr->rkey, last);
		KUNIT_EXPECT_NE(test, h->b.area.mr->rkey, first);
	}
}

/*
 * Change the low byte of the key of a region or a window, as requests do, and destroy the region or
 * the window. Return the key.
 */
static u32 change_and_free(struct kunit *test, struct ib_mr *mr, struct uroce_ibmw *mw)
{
	struct host *h = test->priv;
	u32 key = ib_inc_rkey(mr ? mr->rkey : mw->ib.rkey);
	const struct univ_send_wr wr = { .rkey = key };
	u16 reason;
	int ret;

	if (mr) {
		KUNIT_EXPECT_EQ(test, uroce_mr_fast(&h->pd, mr, key, 0), 0);
		KUNIT_EXPECT_EQ(test, uroce_mr_dereg(mr, NULL), 0);
		return key;
	}
	IN_BOTTOM_HALF(ret = uroce_mw_bind(h->a.qp.qp, &wr, &reason));
	KUNIT_EXPECT_EQ(test, ret, (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, uroce_mw_dealloc(&mw->ib), 0);
	return key;
}

/* The next region or window gets another key than the latest one, which a request has changed. */
static void local_keys_changed(struct kunit *test)
{
	struct host *h = test->priv;
	struct uroce_ibmw mw = {
		.ib = { .device = &h->dev.ib, .pd = &h->pd, .type = IB_MW_TYPE_1 },
	};
	struct ib_mr *mr;
	u32 former;

	mr = uroce_mr_alloc(&h->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	former = change_and_free(test, mr, NULL);
	KUNIT_ASSERT_EQ(test, uroce_mw_alloc(&mw.ib, NULL), 0);
	KUNIT_EXPECT_EQ(test, mw.ib.rkey >> 8, former >> 8);
	KUNIT_EXPECT_NE(test, mw.ib.rkey, former);
	former = change_and_free(test, NULL, &mw);
	mr = uroce_mr_alloc(&h->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_EXPECT_EQ(test, mr->rkey >> 8, former >> 8);
	KUNIT_EXPECT_NE(test, mr->rkey, former);
	KUNIT_EXPECT_EQ(test, uroce_mr_dereg(mr, NULL), 0);
}

#define FRESH 100		/* more than the first table of regions has */

/* A peer cannot predict the first key of an index, because its low byte is random. */
static void local_keys_random(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_mr *mr[FRESH];
	int i, n, alike = 0;

	for (n = 0; n < FRESH; n++) {
		mr[n] = uroce_mr_alloc(&h->pd, IB_MR_TYPE_MEM_REG, 1);
		if (IS_ERR(mr[n]))
			break;
	}
	KUNIT_EXPECT_EQ(test, n, FRESH);
	for (i = 1; i < n; i++)
		alike += (mr[i]->rkey & 0xff) == (mr[i - 1]->rkey & 0xff);
	KUNIT_EXPECT_LT(test, alike, FRESH / 5);
	while (n--)
		KUNIT_EXPECT_EQ(test, uroce_mr_dereg(mr[n], NULL), 0);
}

/* Post a request that changes the key of the second side's region. */
static int change_key(struct host *h, u64 id, enum ib_wr_opcode opcode, u32 key)
{
	const struct ib_reg_wr wr = {
		.wr = { .wr_id = id, .opcode = opcode, .send_flags = IB_SEND_SIGNALED,
			.ex.invalidate_rkey = key },
		.mr = h->b.area.mr, .key = key, .access = ALL_ACCESS,
	};
	const struct ib_send_wr *bad;

	return uroce_post_send(&h->a.qp.ib, &wr.wr, &bad);
}

/* Expect that a request which has been posted completes when the copy has ended. */
static void expect_wait(struct kunit *test, u64 id, struct uroce_mr *copied)
{
	struct host *h = test->priv;
	struct ib_wc wc = {};
	int early = uroce_cq_poll(&h->a.cq.ib, 1, &wc);

	uroce_mr_put(copied);
	KUNIT_ASSERT_EQ(test, early, 0);
	host_expect_soon(test, &h->a, id, IB_WC_SUCCESS);
}

/*
 * The owner reuses the memory once its key is invalidated, and a region that is registered anew has
 * other pages. So neither request completes while a copy uses the region.
 */
static void local_changes_wait(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_mr *mr = h->b.area.mr;
	struct uroce_mr *copied;
	u32 key = ib_inc_rkey(mr->rkey);
	int ret;

	IN_BOTTOM_HALF(copied = uroce_mr_get(&h->pd, mr->lkey, IOVA, 8, 0));
	KUNIT_ASSERT_NOT_NULL(test, copied);
	KUNIT_EXPECT_EQ(test, change_key(h, 1, IB_WR_LOCAL_INV, mr->rkey), 0);
	expect_wait(test, 1, copied);
	KUNIT_ASSERT_EQ(test, change_key(h, 2, IB_WR_REG_MR, key), 0);
	host_expect_wc(test, &h->a, 2, IB_WC_SUCCESS);

	IN_BOTTOM_HALF(copied = uroce_mr_get(&h->pd, key, IOVA, 8, 0));
	KUNIT_ASSERT_NOT_NULL(test, copied);
	IN_BOTTOM_HALF(ret = uroce_mr_invalidate(&h->pd, key));
	KUNIT_EXPECT_EQ(test, ret, -EAGAIN);
	KUNIT_EXPECT_EQ(test, change_key(h, 3, IB_WR_REG_MR, ib_inc_rkey(key)), 0);
	expect_wait(test, 3, copied);
	ib_update_fast_reg_key(mr, ib_inc_rkey(key));
	KUNIT_ASSERT_EQ(test, host_ask(h, 4, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	host_expect_wc(test, &h->a, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, 0, 0, 8, 1), -1);
}

struct closer {
	struct ib_mr *mr;
	struct completion begun;
	struct completion done;
};

static int closer_thread(void *data)
{
	struct closer *c = data;

	complete(&c->begun);
	uroce_mr_dereg(c->mr, NULL);
	complete(&c->done);
	return 0;
}

/* Deregistration waits for a copy that uses the region. */
static void local_dereg_waits(struct kunit *test)
{
	struct host *h = test->priv;
	struct closer c = { .mr = h->b.area.mr };
	struct task_struct *task;
	struct uroce_mr *copied;
	unsigned long early;

	init_completion(&c.begun);
	init_completion(&c.done);
	IN_BOTTOM_HALF(copied = uroce_mr_get(&h->pd, c.mr->lkey, IOVA, 8, 0));
	KUNIT_ASSERT_NOT_NULL(test, copied);
	task = kthread_run(closer_thread, &c, "univ-kunit");
	if (IS_ERR(task)) {
		uroce_mr_put(copied);
		KUNIT_FAIL(test, "no thread");
		return;
	}
	h->b.area.mr = NULL;
	wait_for_completion(&c.begun);
	early = wait_for_completion_timeout(&c.done, msecs_to_jiffies(200));
	KUNIT_EXPECT_EQ(test, early, 0ul);
	if (early)
		return;
	uroce_mr_put(copied);
	wait_for_completion(&c.done);
}

static struct kunit_case local_cases[] = {
	KUNIT_CASE(local_edges),
	KUNIT_CASE(local_bounds),
	KUNIT_CASE(local_rights),
	KUNIT_CASE(local_keys),
	KUNIT_CASE(local_keys_ahead),
	KUNIT_CASE(local_blocks),
	KUNIT_CASE(local_invalidated_elsewhere),
	KUNIT_CASE(local_keys_differ),
	KUNIT_CASE(local_keys_changed),
	KUNIT_CASE(local_keys_random),
	KUNIT_CASE(local_receives),
	KUNIT_CASE(local_chain),
	KUNIT_CASE(local_overlaps),
	KUNIT_CASE(local_nothing),
	KUNIT_CASE(local_changes_wait),
	KUNIT_CASE(local_dereg_waits),
	{}
};

static struct kunit_suite local_suite = {
	.name = "univ_uroce_local",
	.init = host_init,
	.exit = host_exit,
	.test_cases = local_cases,
};

kunit_test_suite(local_suite);
