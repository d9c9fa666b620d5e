// SPDX-License-Identifier: GPL-2.0
/* Requests with mistakes between two queue pairs of one host, and the completions of both sides. */
#include "../../kernel/uroce/qp/mw.h"
#include "../../kernel/uroce/qp/sges.h"
#include "bh.h"
#include "uroce_host.h"

/* The queue pair is in the error state, and nothing was written to its memory. */
static void expect_broken(struct kunit *test, struct side *side)
{
	KUNIT_EXPECT_EQ(test, (int)host_state(side), (int)IB_QPS_ERR);
	KUNIT_EXPECT_TRUE(test, host_is_stale(side));
}

/* Add 5 to eight bytes at @to of the second side. The first side has room for @len bytes. */
static int fetch_and_add(struct host *h, u64 id, u64 to, u32 len)
{
	struct ib_sge sge = host_piece(&h->a, 0, len);
	const struct ib_atomic_wr wr = {
		.wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1,
			.opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IB_SEND_SIGNALED },
		.remote_addr = IOVA + to, .compare_add = 5, .rkey = h->b.area.mr->rkey,
	};
	const struct ib_send_wr *bad;

	return uroce_post_send(&h->a.qp.ib, &wr.wr, &bad);
}

/* The requester has no room for the answer, or the address is no multiple of eight. */
static void mistake_atomic(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_ASSERT_EQ(test, fetch_and_add(h, 1, 4, 7), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_LOC_LEN_ERR);
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->b), (int)IB_QPS_RTS);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
	host_again(test, IB_QPT_RC, 7);
	KUNIT_ASSERT_EQ(test, fetch_and_add(h, 2, 5, 8), 0);
	host_expect_wc(test, &h->a, 2, IB_WC_REM_INV_REQ_ERR);
	expect_broken(test, &h->b);
	host_again(test, IB_QPT_RC, 7);
	KUNIT_ASSERT_EQ(test, fetch_and_add(h, 3, 4, 8), 0);
	host_expect_wc(test, &h->a, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)*host_byte(&h->a.area, 0), STALE);
	KUNIT_EXPECT_FALSE(test, host_is_stale(&h->b));
}

/* A process writes a receive request with more pieces than its queue pair has. */
static void mistake_receive_pieces(struct kunit *test)
{
	struct host *h = test->priv;
	struct uroce_recvq *rq = &h->b.qp.qp->rq;
	struct univ_recv_wr *wr;

	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 64), 0);
	wr = univ_ring_slot(&rq->ring, rq->head);
	wr->count = rq->max_sge + 1;
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_REM_OP_ERR);
	host_expect_wc(test, &h->b, 5, IB_WC_LOC_QP_OP_ERR);
	expect_broken(test, &h->b);
}

/* The memory of a receive request ends too early: an unreliable sender does not learn of it. */
static void mistake_receive_unreliable(struct kunit *test)
{
	struct host *h = test->priv;

	host_again(test, IB_QPT_UC, 0);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, BYTES - 63, 64), 0);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_SEND, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	host_expect_wc(test, &h->b, 5, IB_WC_LOC_PROT_ERR);
	expect_broken(test, &h->b);
}

/* The key of an empty piece does not matter, so it is not the reason of a failure. */
static void mistake_empty_piece(struct kunit *test)
{
	struct host *h = test->priv;
	const struct univ_sge sge[] = {
		{ .addr = 7, .length = 0, .lkey = h->a.area.mr->lkey ^ 0x100 },
		{ .addr = IOVA + BYTES - 8, .length = 16, .lkey = h->a.area.mr->lkey },
	};
	u16 reason;

	IN_BOTTOM_HALF(reason = uroce_sges_why(&h->pd, sge, 1, 0));
	KUNIT_EXPECT_EQ(test, (int)reason, 0);
	IN_BOTTOM_HALF(reason = uroce_sges_why(&h->pd, sge, 2, 0));
	KUNIT_EXPECT_EQ(test, (int)reason, (int)UNIV_REASON_KEY_RANGE);
}

/* A window cannot be bound to a region of the kernel, which does not know of windows. */
static void mistake_window(struct kunit *test)
{
	struct host *h = test->priv;
	struct uroce_ibmw mw = {
		.ib = { .device = &h->dev.ib, .pd = &h->pd, .type = IB_MW_TYPE_1 },
	};
	struct univ_send_wr wr = { .remote_addr = IOVA };
	u16 reason = 0;
	int ret;

	host_reopen(test, &h->a, &h->pd, ALL_ACCESS | IB_ACCESS_MW_BIND);
	KUNIT_ASSERT_EQ(test, uroce_mw_alloc(&mw.ib, NULL), 0);
	wr.rkey = ib_inc_rkey(mw.ib.rkey);
	wr.bind.lkey = h->a.area.mr->lkey;
	wr.bind.length = 8;
	wr.bind.access = IB_ACCESS_REMOTE_READ;
	IN_BOTTOM_HALF(ret = uroce_mw_bind(h->a.qp.qp, &wr, &reason));
	KUNIT_EXPECT_EQ(test, ret, (int)IB_WC_MW_BIND_ERR);
	KUNIT_EXPECT_EQ(test, (int)reason, (int)UNIV_REASON_KEY_UNKNOWN);
	KUNIT_EXPECT_EQ(test, uroce_mw_dealloc(&mw.ib), 0);
}

/* A consumer in the kernel asks for a state that does not follow: nothing changes. */
static void mistake_state(struct kunit *test)
{
	struct ib_qp_attr a = { .qp_state = IB_QPS_RTS, .cur_qp_state = IB_QPS_SQD };
	struct host *h = test->priv;

	KUNIT_EXPECT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &a, IB_QP_STATE | IB_QP_CUR_STATE, NULL),
			-EINVAL);
	a.qp_state = IB_QPS_RTR;
	KUNIT_EXPECT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &a, IB_QP_STATE, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->a), (int)IB_QPS_RTS);
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
}

static struct kunit_case mistakes_cases[] = {
	KUNIT_CASE(mistake_atomic),
	KUNIT_CASE(mistake_receive_pieces),
	KUNIT_CASE(mistake_receive_unreliable),
	KUNIT_CASE(mistake_empty_piece),
	KUNIT_CASE(mistake_window),
	KUNIT_CASE(mistake_state),
	{}
};

static struct kunit_suite mistakes_suite = {
	.name = "univ_uroce_mistakes",
	.init = host_init,
	.exit = host_exit,
	.test_cases = mistakes_cases,
};

kunit_test_suite(mistakes_suite);
