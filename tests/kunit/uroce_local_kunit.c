// SPDX-License-Identifier: GPL-2.0
/*
 * Messages between queue pairs of one host: the memory that the copy may touch, the
 * bounds of the copy, and the completions and events of each side.
 */
#include <linux/delay.h>

#include "uroce_host.h"

/* ---- Requests ----------------------------------------------------------------- */

static struct ib_sge piece_of(const struct side *side, u64 at, u32 len)
{
	return (struct ib_sge){ .addr = IOVA + at, .length = len, .lkey = side->area.mr->lkey };
}

static int receive(struct host *h, struct side *side, u64 id, u64 at, u32 len)
{
	struct ib_sge sge = piece_of(side, at, len);
	const struct ib_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return uroce_post_recv(&side->qp.ib, &wr, &bad);
}

/* Post a request with @len bytes at @at of the first side's memory and @to of the second side's. */
static int ask(struct host *h, u64 id, enum ib_wr_opcode opcode, u64 at, u64 to, u32 len)
{
	struct ib_sge sge = piece_of(&h->a, at, len);
	const struct ib_rdma_wr wr = {
		.wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
			.send_flags = IB_SEND_SIGNALED },
		.remote_addr = IOVA + to, .rkey = h->b.area.mr->rkey,
	};
	const struct ib_send_wr *bad;

	return uroce_post_send(&h->a.qp.ib, &wr.wr, &bad);
}

/* Expect this as the next completion of a side. */
static void expect_wc(struct kunit *test, struct side *side, u64 id, enum ib_wc_status status)
{
	struct ib_wc wc = {};

	KUNIT_ASSERT_EQ(test, uroce_cq_poll(&side->cq.ib, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, wc.wr_id, id);
	KUNIT_EXPECT_EQ(test, (int)wc.status, (int)status);
}

static void expect_none(struct kunit *test, struct side *side)
{
	struct ib_wc wc;

	KUNIT_EXPECT_EQ(test, uroce_cq_poll(&side->cq.ib, 1, &wc), 0);
}

static enum ib_qp_state state_of(const struct side *side)
{
	return READ_ONCE(side->qp.qp->state);
}

static bool is_stale(const struct side *side)
{
	return host_differs(&side->area, 0, 0, 0, 0) < 0;
}

/*
 * Expect a refusal: the first side gets its status, and only the state of the second
 * side changes.
 */
static void expect_refused(struct kunit *test, enum ib_wc_status status,
			   enum ib_event_type event)
{
	struct host *h = test->priv;

	expect_wc(test, &h->a, 1, status);
	expect_none(test, &h->a);
	expect_none(test, &h->b);
	KUNIT_EXPECT_EQ(test, (int)state_of(&h->a), (int)IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, (int)state_of(&h->b), (int)IB_QPS_ERR);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
	/* The task of the queue pair raises the event. */
	tasklet_unlock_wait(&h->b.qp.qp->sq.task);
	KUNIT_EXPECT_EQ(test, h->b.events, (u32)BIT(event));
	host_again(test, IB_QPT_RC, 7);
}

/* ---- Tests -------------------------------------------------------------------- */

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
				KUNIT_ASSERT_EQ(test, ask(h, k, IB_WR_RDMA_WRITE, from, to, len), 0);
				expect_wc(test, &h->a, k, IB_WC_SUCCESS);
				KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, to, from, len, 1), -1);
				host_stale(&h->b.area);
			}
	KUNIT_ASSERT_EQ(test, ask(h, 9, IB_WR_RDMA_WRITE, 0, 0, BYTES), 0);
	expect_wc(test, &h->a, 9, IB_WC_SUCCESS);
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
		KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, at[i].to, at[i].len), 0);
		if (!at[i].good) {
			expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
			continue;
		}
		expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, at[i].to, 0, at[i].len, 1), -1);
		host_stale(&h->b.area);
	}
	/* The bounds also hold for local memory, which a read writes to. */
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_READ, BYTES - 15, 0, 16), 0);
	expect_wc(test, &h->a, 1, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, (int)state_of(&h->b), (int)IB_QPS_RTS);
	host_again(test, IB_QPT_RC, 7);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, -1, 0, 16), 0);
	expect_wc(test, &h->a, 1, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
}

/* Access rights of a region and of a queue pair. */
static void local_rights(struct kunit *test)
{
	struct ib_qp_attr a = { .qp_access_flags = IB_ACCESS_REMOTE_READ };
	struct host *h = test->priv;

	host_reopen(test, &h->b, &h->pd, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	host_reopen(test, &h->b, &h->pd, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_READ, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	/* The region grants all rights, but belongs to another protection domain. */
	host_reopen(test, &h->b, &h->other, ALL_ACCESS);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	host_reopen(test, &h->b, &h->pd, ALL_ACCESS);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->b.qp.ib, &a, IB_QP_ACCESS_FLAGS, NULL), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR);
	/* A responder with max_dest_rd_atomic 0 accepts no read, as on hardware. */
	h->b.qp.qp->attr.max_dest_rd_atomic = 0;
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	host_stale(&h->b.area);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_READ, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR);
	/*
	 * Local memory: a region of another domain, and a region without the right to
	 * be written by a read.
	 */
	host_reopen(test, &h->a, &h->other, ALL_ACCESS);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_wc(test, &h->a, 1, IB_WC_LOC_PROT_ERR);
	host_reopen(test, &h->a, &h->pd, 0);
	host_again(test, IB_QPT_RC, 7);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_READ, 0, 0, 8), 0);
	expect_wc(test, &h->a, 1, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, (int)*host_byte(&h->a.area, 0), (int)host_pattern(0, 1));
}

/* Use a key of a destroyed region, and a key that never existed. */
static void local_keys(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_mr *mr = h->b.area.mr;

	mr->rkey ^= 1;
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	mr->rkey ^= 1;
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	local_bh_disable();
	KUNIT_EXPECT_EQ(test, uroce_mr_invalidate(&h->pd, mr->rkey), 0);
	local_bh_enable();
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 8), 0);
	expect_refused(test, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
}

/* Test the memory of a receive request. */
static void local_receives(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5, PAGE_SIZE - BEGIN - 3, 64), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_SEND, 7, 0, 64), 0);
	expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, PAGE_SIZE - BEGIN - 3, 7, 64, 1), -1);
	host_stale(&h->b.area);
	/*
	 * The receive is a byte too short: the receiver gets a length error, and the
	 * sender an invalid request.
	 */
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5, 0, 63), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	expect_wc(test, &h->b, 5, IB_WC_LOC_LEN_ERR);
	expect_wc(test, &h->a, 1, IB_WC_REM_INV_REQ_ERR);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
	host_again(test, IB_QPT_RC, 7);
	/*
	 * The receive's memory is of another domain or ends too early: the receiver
	 * gets the error.
	 */
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5, BYTES - 63, 64), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	expect_wc(test, &h->b, 5, IB_WC_LOC_PROT_ERR);
	expect_wc(test, &h->a, 1, IB_WC_REM_OP_ERR);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
	host_reopen(test, &h->b, &h->pd, ALL_ACCESS & ~IB_ACCESS_LOCAL_WRITE);
	host_again(test, IB_QPT_RC, 7);
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_SEND, 0, 0, 8), 0);
	expect_wc(test, &h->b, 5, IB_WC_LOC_PROT_ERR);
	expect_wc(test, &h->a, 1, IB_WC_REM_OP_ERR);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
}

/* A message of no bytes needs no memory, but is still delivered. */
static void local_nothing(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_mr *mr = h->b.area.mr;

	mr->rkey ^= 0x100;
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, BYTES + 5, -7, 0), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 2, IB_WR_RDMA_READ, BYTES + 5, -7, 0), 0);
	mr->rkey ^= 0x100;
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 6, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 3, IB_WR_SEND, 0, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 4, IB_WR_RDMA_WRITE_WITH_IMM, 0, 0, 0), 0);
	expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	expect_wc(test, &h->b, 6, IB_WC_SUCCESS);
	expect_wc(test, &h->a, 3, IB_WC_SUCCESS);
	expect_wc(test, &h->a, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
	KUNIT_EXPECT_EQ(test, (int)state_of(&h->b), (int)IB_QPS_RTS);
}

/* A receive is posted late, for a sender that waits for ever and for a sender that does not. */
static void local_not_ready(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_wc wc = {};

	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 2, IB_WR_RDMA_WRITE, 0, 1000, 64), 0);
	msleep(20);
	expect_none(test, &h->a);
	/* The requests behind the waiting one have not overtaken it. */
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5, 0, 64), 0);
	EVENTUALLY(uroce_cq_poll(&h->b.cq.ib, 1, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 5ull);
	EVENTUALLY(READ_ONCE(h->a.cq.tail) - h->a.cq.head >= 2);
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	host_again(test, IB_QPT_RC, 0);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	expect_wc(test, &h->a, 1, IB_WC_RNR_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, (int)state_of(&h->a), (int)IB_QPS_ERR);
	/* The receiver's queue pair is not affected. */
	KUNIT_EXPECT_EQ(test, (int)state_of(&h->b), (int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, h->b.events, 0u);
}

/*
 * Completions keep their order: the failed request, the requests behind it, and later
 * ones. So do receives.
 */
static void local_flush(struct kunit *test)
{
	struct host *h = test->priv;
	u64 i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, receive(h, &h->a, 10 + i, 0, 64), 0);
	/* The first send waits for a receive until its retries are used up. */
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, ask(h, 1 + i, IB_WR_SEND, 0, 0, 64), 0);
	expect_none(test, &h->a);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &(struct ib_qp_attr){
		.qp_state = IB_QPS_ERR }, IB_QP_STATE, NULL), 0);
	for (i = 0; i < 3; i++)
		expect_wc(test, &h->a, 10 + i, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 4; i++)
		expect_wc(test, &h->a, 1 + i, IB_WC_WR_FLUSH_ERR);
	KUNIT_ASSERT_EQ(test, ask(h, 8, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	expect_wc(test, &h->a, 8, IB_WC_WR_FLUSH_ERR);
	KUNIT_ASSERT_EQ(test, receive(h, &h->a, 20, 0, 64), 0);
	EVENTUALLY(h->a.cq.head != READ_ONCE(h->a.cq.tail));
	expect_wc(test, &h->a, 20, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
	KUNIT_EXPECT_EQ(test, (int)state_of(&h->b), (int)IB_QPS_RTS);
}

/* The sender gets no report of a lost message, and the receiver is unchanged. */
static void local_unreliable(struct kunit *test)
{
	struct host *h = test->priv;

	host_again(test, IB_QPT_UC, 0);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 2, IB_WR_RDMA_WRITE, 0, BYTES - 8, 64), 0);
	expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, ask(h, 3, IB_WR_RDMA_WRITE_WITH_IMM, 0, BYTES, 64), 0);
	expect_wc(test, &h->a, 3, IB_WC_SUCCESS);
	expect_none(test, &h->b);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
	KUNIT_EXPECT_EQ(test, (int)state_of(&h->b), (int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, h->b.events, 0u);
	/* The receive request is still posted. */
	KUNIT_ASSERT_EQ(test, ask(h, 3, IB_WR_SEND, 0, 0, 64), 0);
	expect_wc(test, &h->a, 3, IB_WC_SUCCESS);
	expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, 0, 0, 64, 1), -1);
	/* A receive request that an aborted message had taken serves the next message. */
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 6, 0, 64), 0);
	spin_lock_bh(&h->b.qp.qp->resp.lock);
	KUNIT_EXPECT_EQ(test, (int)uroce_recv_take(h->b.qp.qp), (int)IB_WC_SUCCESS);
	spin_unlock_bh(&h->b.qp.qp->resp.lock);
	KUNIT_ASSERT_EQ(test, ask(h, 4, IB_WR_SEND, 0, 0, 32), 0);
	expect_wc(test, &h->a, 4, IB_WC_SUCCESS);
	expect_wc(test, &h->b, 6, IB_WC_SUCCESS);
	/*
	 * Errors of the sender's own memory are reported; the sender enters SQE and may
	 * leave it.
	 */
	KUNIT_ASSERT_EQ(test, ask(h, 4, IB_WR_RDMA_WRITE, BYTES - 8, 0, 64), 0);
	expect_wc(test, &h->a, 4, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, (int)state_of(&h->a), (int)IB_QPS_SQE);
	KUNIT_ASSERT_EQ(test, ask(h, 5, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	expect_wc(test, &h->a, 5, IB_WC_WR_FLUSH_ERR);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &(struct ib_qp_attr){
		.qp_state = IB_QPS_RTS }, IB_QP_STATE, NULL), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 6, IB_WR_RDMA_WRITE, 0, 0, 32), 0);
	expect_wc(test, &h->a, 6, IB_WC_SUCCESS);
}

/* ---- Regressions -------------------------------------------------------------- */

static int datagram(struct host *h, u64 id, u32 len)
{
	struct uroce_ah ah = { .index = h->dev.id };
	struct ib_sge sge = piece_of(&h->a, 0, len);
	const struct ib_ud_wr wr = {
		.wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED },
		.ah = &ah.ib, .remote_qpn = h->b.qp.ib.qp_num, .remote_qkey = QKEY,
	};
	const struct ib_send_wr *bad;

	return uroce_post_send(&h->a.qp.ib, &wr.wr, &bad);
}

static u64 counted(const struct host *h, enum uroce_counter what)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(h->dev.counters, cpu)[what];
	return sum;
}

/*
 * A datagram that is too long is dropped. The receive request serves a datagram that
 * fits, and the queue pair continues.
 */
static void local_datagram_too_long(struct kunit *test)
{
	struct host *h = test->priv;

	h->dev.netdev->mtu = 1500;
	host_again(test, IB_QPT_UD, 0);
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5, 0, 40 + 64), 0);
	KUNIT_ASSERT_EQ(test, datagram(h, 1, 65), 0);
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	expect_none(test, &h->b);
	KUNIT_EXPECT_EQ(test, (int)state_of(&h->b), (int)IB_QPS_RTS);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
	KUNIT_ASSERT_EQ(test, datagram(h, 2, 64), 0);
	expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)*host_byte(&h->b.area, 40), (int)host_pattern(0, 1));
	KUNIT_EXPECT_EQ(test, counted(h, UROCE_CNT_OUT_OF_BUFFER), 1ull);
	/* No receive request is left. */
	KUNIT_ASSERT_EQ(test, datagram(h, 3, 1), 0);
	expect_wc(test, &h->a, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, counted(h, UROCE_CNT_OUT_OF_BUFFER), 2ull);
}

/*
 * A group has as many members as the device reports, and accepts another after a member
 * has left.
 */
static void local_group_limit(struct kunit *test)
{
	struct uroce_qp *qps = kunit_kcalloc(test, UROCE_MAX_MEMBERS + 1, sizeof(*qps),
					     GFP_KERNEL);
	struct uroce_ibqp member = { .ib.device = NULL };
	union ib_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
	struct host *h = test->priv;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, qps);
	for (i = 0; i <= UROCE_MAX_MEMBERS; i++) {
		qps[i].dev = &h->dev;
		member.qp = &qps[i];
		KUNIT_EXPECT_EQ(test, uroce_mcast_attach(&member.ib, &gid, 0),
				i < UROCE_MAX_MEMBERS ? 0 : -ENOMEM);
	}
	KUNIT_EXPECT_EQ(test, h->dev.group_count, 1u);
	/* Attach a member that is attached already, then use the place of a member that leaves. */
	member.qp = &qps[0];
	KUNIT_EXPECT_EQ(test, uroce_mcast_attach(&member.ib, &gid, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, uroce_mcast_detach(&member.ib, &gid, 0), 0);
	KUNIT_EXPECT_EQ(test, uroce_mcast_detach(&member.ib, &gid, 0), -EINVAL);
	member.qp = &qps[UROCE_MAX_MEMBERS];
	KUNIT_EXPECT_EQ(test, uroce_mcast_attach(&member.ib, &gid, 0), 0);
	for (i = 1; i <= UROCE_MAX_MEMBERS; i++) {
		member.qp = &qps[i];
		KUNIT_EXPECT_EQ(test, uroce_mcast_detach(&member.ib, &gid, 0), 0);
	}
	KUNIT_EXPECT_EQ(test, h->dev.group_count, 0u);
}

/*
 * The peer was destroyed after it was found, and 2^32 other queue pairs have been
 * destroyed since.
 */
static void local_peer_seen(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	uroce_qp_destroy(&h->b.qp.ib, NULL);
	h->b.qp.qp = NULL;
	rcu_barrier();
	atomic64_add(U32_MAX, &uroce_qp_ends);
	KUNIT_ASSERT_EQ(test, ask(h, 2, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	/* The sender waits for a new peer, and does not use the destroyed one. */
	KUNIT_EXPECT_TRUE(test, READ_ONCE(h->a.qp.qp->sq.peer) == NULL);
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
 * The first message of a UC chain is too long and puts the peer in error: none of the
 * rest is delivered.
 */
static void local_unreliable_chain(struct kunit *test)
{
	struct host *h = test->priv;
	struct ib_sge sge[2] = { piece_of(&h->a, 0, 65), piece_of(&h->a, 0, 64) };
	const struct ib_send_wr second = { .wr_id = 2, .sg_list = &sge[1], .num_sge = 1,
					   .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	const struct ib_send_wr first = { .wr_id = 1, .sg_list = &sge[0], .num_sge = 1,
					  .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
					  .next = (struct ib_send_wr *)&second };
	const struct ib_send_wr *bad;
	u64 i;

	host_again(test, IB_QPT_UC, 0);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5 + i, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, uroce_post_send(&h->a.qp.ib, &first, &bad), 0);
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	expect_wc(test, &h->b, 5, IB_WC_LOC_LEN_ERR);
	tasklet_unlock_wait(&h->b.qp.qp->sq.task);
	EVENTUALLY(h->b.cq.head != READ_ONCE(h->b.cq.tail));
	expect_wc(test, &h->b, 6, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
}

/* A requester was reset in the middle of a message: its next message is out of sequence. */
static void local_unfinished(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 6, 0, 64), 0);
	spin_lock_bh(&h->b.qp.qp->resp.lock);
	KUNIT_EXPECT_EQ(test, (int)uroce_recv_take(h->b.qp.qp), (int)IB_WC_SUCCESS);
	spin_unlock_bh(&h->b.qp.qp->resp.lock);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_SEND, 0, 0, 32), 0);
	expect_wc(test, &h->a, 1, IB_WC_REM_INV_REQ_ERR);
	EVENTUALLY(READ_ONCE(h->b.cq.tail) - h->b.cq.head >= 2);
	expect_wc(test, &h->b, 5, IB_WC_REM_INV_REQ_ERR);
	expect_wc(test, &h->b, 6, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, h->b.events, 0u);
	KUNIT_EXPECT_TRUE(test, is_stale(&h->b));
}

/* The first message for a queue pair in RTR raises an event there, and the second raises none. */
static void local_established(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->b.qp.ib, &(struct ib_qp_attr){
		.qp_state = IB_QPS_RESET }, IB_QP_STATE, NULL), 0);
	KUNIT_ASSERT_EQ(test, host_to_init(&h->b), 0);
	KUNIT_ASSERT_EQ(test, host_to_rtr(&h->b, &h->a), 0);
	/* The peer does not learn of a request that fails locally. */
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, BYTES, 0, 64), 0);
	expect_wc(test, &h->a, 1, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_FALSE(test, h->b.qp.qp->resp.heard);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &(struct ib_qp_attr){
		.qp_state = IB_QPS_RESET }, IB_QP_STATE, NULL), 0);
	KUNIT_ASSERT_EQ(test, host_to_init(&h->a), 0);
	KUNIT_ASSERT_EQ(test, host_to_rtr(&h->a, &h->b), 0);
	KUNIT_ASSERT_EQ(test, host_to_rts(&h->a, 7), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	EVENTUALLY(READ_ONCE(h->b.events));
	KUNIT_EXPECT_EQ(test, h->b.events, (u32)BIT(IB_EVENT_COMM_EST));
	KUNIT_ASSERT_EQ(test, ask(h, 2, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	KUNIT_EXPECT_EQ(test, h->b.qp.qp->events, 0ul);
}

static int to_state(struct side *side, enum ib_qp_state state, u8 port, int mask)
{
	struct ib_qp_attr a = { .qp_state = state, .ah_attr.port_num = port };

	return uroce_qp_modify(&side->qp.ib, &a, IB_QP_STATE | mask, NULL);
}

/*
 * Messages within a host have no PSNs that packets could continue, so the connection
 * stays local.
 */
static void local_stays_local(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, to_state(&h->a, IB_QPS_SQD, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, to_state(&h->a, IB_QPS_SQD, FAR_PORT, IB_QP_AV), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, to_state(&h->a, IB_QPS_SQD, 0, IB_QP_AV), 0);
	KUNIT_EXPECT_EQ(test, to_state(&h->a, IB_QPS_RTS, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
}

/* A queue pair without a receive queue is never ready for a send; it does no other harm. */
static void local_no_receives(struct kunit *test)
{
	struct host *h = test->priv;

	h->no_receives = true;
	host_again(test, IB_QPT_RC, 0);
	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	expect_wc(test, &h->a, 1, IB_WC_RNR_RETRY_EXC_ERR);
}

static u64 waits(struct host *h)
{
	u64 n = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		n += per_cpu_ptr(h->dev.counters, cpu)[UROCE_CNT_RNR_RECEIVED];
	return n;
}

/* A sender that waits for a receive rarely polls, and continues as soon as a receive is posted. */
static void local_wait_is_cheap(struct kunit *test)
{
	struct host *h = test->priv;
	ktime_t from = ktime_get();
	u64 looked;

	KUNIT_ASSERT_EQ(test, ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	msleep(50);
	looked = waits(h);
	/* The peer's RNR timer is ten microseconds. */
	KUNIT_EXPECT_LT(test, looked,
			10 + (u64)ktime_ms_delta(ktime_get(), from) / 50);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(h->b.qp.qp->resp.wanted));
	KUNIT_ASSERT_EQ(test, receive(h, &h->b, 5, 0, 64), 0);
	EVENTUALLY(h->b.cq.head != READ_ONCE(h->b.cq.tail));
	expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(h->b.qp.qp->resp.wanted));
}

/* The work item may begin while the function that queued it still holds the lock. */
static void local_rest_begins_early(struct kunit *test)
{
	struct host *h = test->priv;
	struct uroce_sendq *sq = &h->a.qp.qp->sq;

	spin_lock_bh(&sq->lock);
	KUNIT_EXPECT_EQ(test, ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	queue_work(system_unbound_wq, &sq->rest);
	mdelay(50);
	spin_unlock_bh(&sq->lock);
	flush_work(&sq->rest);
	expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
}

static struct kunit_case local_cases[] = {
	KUNIT_CASE(local_edges),
	KUNIT_CASE(local_bounds),
	KUNIT_CASE(local_rights),
	KUNIT_CASE(local_keys),
	KUNIT_CASE(local_receives),
	KUNIT_CASE(local_nothing),
	KUNIT_CASE(local_not_ready),
	KUNIT_CASE(local_flush),
	KUNIT_CASE(local_unreliable),
	KUNIT_CASE(local_datagram_too_long),
	KUNIT_CASE(local_group_limit),
	KUNIT_CASE(local_peer_seen),
	KUNIT_CASE(local_keys_differ),
	KUNIT_CASE(local_unreliable_chain),
	KUNIT_CASE(local_unfinished),
	KUNIT_CASE(local_established),
	KUNIT_CASE(local_stays_local),
	KUNIT_CASE(local_no_receives),
	KUNIT_CASE(local_wait_is_cheap),
	KUNIT_CASE(local_rest_begins_early),
	{}
};

static struct kunit_suite local_suite = {
	.name = "univ_uroce_local",
	.init = host_init,
	.exit = host_exit,
	.test_cases = local_cases,
};

kunit_test_suite(local_suite);
