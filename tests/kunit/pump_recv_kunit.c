// SPDX-License-Identifier: GPL-2.0
/* Receives on their way to the mock device and back (adv03, adv04). */
#include <rdma/ib_verbs.h>

#include "pump_fixture.h"

static void pump_recv_translated(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_recv_wr *wr;
	struct univ_cqe *cqe;
	int i;

	for (i = 0; i < 3; i++) {
		wr = pump_recv_next(p, 70 + i);
		wr->count = i;
		wr->sge[1] = (struct univ_sge){ 0x9000, 5, 0x200 };
	}
	KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
	KUNIT_ASSERT_EQ(test, p->mock->num_recvs, 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, p->mock->recvs[i].wr_id, 70 + i);
		KUNIT_EXPECT_EQ(test, p->mock->recvs[i].num_sge, i);
	}
	KUNIT_EXPECT_EQ(test, p->mock->recvs[2].sge[1].addr, 0x9000);
	pump_recv_complete(p, 70, IB_WC_SUCCESS);
	cqe = pump_poll(p);
	KUNIT_ASSERT_NOT_NULL(test, cqe);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 70);
	KUNIT_EXPECT_EQ(test, cqe->byte_len, 33);
	KUNIT_EXPECT_EQ(test, cqe->opcode, IB_WC_RECV);
}

/*
 * Return the service level that the process sees for a receive with these flags and
 * this header type.
 */
static u8 sl_told(struct pump *p, int flags, u8 network)
{
	const struct ib_wc wc = {
		.wr_id = 1, .opcode = IB_WC_RECV, .byte_len = 60, .qp = p->qp->ib,
		.wc_flags = flags, .network_hdr_type = network, .sl = 4,
	};
	struct univ_cqe *cqe;

	pump_recv_next(p, 1);
	pump_recv_kick(p);
	pump_complete(p->cq, &wc);
	cqe = pump_poll(p);
	return cqe ? cqe->sl : 0xff;
}

/* The header type is reported in the service level, where mlx5 reports it too. */
static void pump_recv_network(struct kunit *test)
{
	const int both = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	struct pump *p = pump_rc(test);

	KUNIT_EXPECT_EQ(test, (int)sl_told(p, both, RDMA_NETWORK_IPV4), 4);
	p->qp->pump->datagrams = true;
	KUNIT_EXPECT_EQ(test, (int)sl_told(p, both, RDMA_NETWORK_IPV6), 4 | 1);
	KUNIT_EXPECT_EQ(test, (int)sl_told(p, both, RDMA_NETWORK_IPV4), 4 | 2);
	KUNIT_EXPECT_EQ(test, (int)sl_told(p, both, RDMA_NETWORK_ROCE_V1), 4);
	KUNIT_EXPECT_EQ(test, (int)sl_told(p, IB_WC_GRH, RDMA_NETWORK_IPV4), 4);
}

static void pump_recv_around(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u64 id = 0;
	int round, i;

	for (round = 0; round < 40; round++) {
		for (i = 0; i < 11; i++)
			pump_recv_next(p, id + i);
		KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
		for (i = 0; i < 11; i++)
			pump_recv_complete(p, id + i, IB_WC_SUCCESS);
		for (i = 0; i < 11; i++)
			pump_expect_cqe(test, p, id + i, IB_WC_SUCCESS);
		id += 11;
		KUNIT_EXPECT_EQ(test, p->mock->num_recvs, (u32)id);
	}
	KUNIT_EXPECT_FALSE(test, p->qp->pump->rq.corrupt);
}

static void pump_recv_wraps_at_2_32(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 start = U32_MAX - 20;
	int i;

	p->recv_tail = start;
	p->qp->pump->rq.fed = start;
	p->qp->pump->rq.retired = start;
	for (i = 0; i < 50; i++) {
		pump_recv_next(p, i);
		KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_recvs, i + 1);
		pump_recv_complete(p, i, IB_WC_SUCCESS);
		pump_expect_cqe(test, p, i, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_FALSE(test, p->qp->pump->rq.corrupt);
}

/* Modify the queue pair as a process does, because the core derives state from rnr_retry. */
static void pump_rnr_retry(struct kunit *test, struct pump *p, u8 tries)
{
	struct univ_qp_modify arg = {
		.handle = p->qp->obj.handle,
		.attr = {
			.attr_mask = IB_QP_STATE | IB_QP_SQ_PSN |
				     IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
				     IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC,
			.qp_state = IB_QPS_RTS,
			.rnr_retry = tries,
		},
	};

	fixture_qp_state(p->qp, IB_QPS_RTR);
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_QP_MODIFY, &arg,
					   sizeof(arg)), 0);
}

/* If the peer does not retry for a missing receive, the device gets each receive at once. */
static void pump_recv_eager(struct kunit *test)
{
	static const struct {
		enum ib_qp_type type;
		bool rts;
		u8 rnr_retry;
	} eager[] = {
		{ IB_QPT_RC, false, 0 },
		{ IB_QPT_RC, true, 0 },
		{ IB_QPT_RC, true, 6 },
		{ IB_QPT_UC, false, 0 },
		{ IB_QPT_UD, false, 0 },
	};
	struct pump *p;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(eager); i++) {
		p = pump_new(test, eager[i].type, 64);
		if (eager[i].rts)
			pump_rnr_retry(test, p, eager[i].rnr_retry);
		for (j = 0; j < WR; j++) {
			pump_recv_next(p, j);
			KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
			KUNIT_EXPECT_TRUE_MSG(test,
					      p->qp->rings.recv.head->kernel.flags &
					      UNIV_RING_NEED_KICK,
					      "row %d", i);
		}
		KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR);
	}
}

/* Receives that wait in the ring are posted when the queue becomes eager. */
static void pump_recv_becomes_eager(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	int i;

	pump_rnr_retry(test, p, 7);
	for (i = 0; i < WR - 1; i++)
		pump_recv_next(p, i);
	KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
	pump_recv_next(p, i);
	smp_store_release(&p->qp->rings.recv.head->user.index, p->recv_tail);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR - 1);
	pump_rnr_retry(test, p, 3);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR);
}

/* While the device holds enough receives, completions feed it and the ring requests no kick. */
static void pump_recv_need_kick(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_ring_kernel *kernel = &p->qp->rings.recv.head->kernel;
	int i;

	pump_rnr_retry(test, p, 7);
	KUNIT_EXPECT_TRUE(test, kernel->flags & UNIV_RING_NEED_KICK);
	for (i = 0; i < WR; i++)
		pump_recv_next(p, i);
	KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
	KUNIT_EXPECT_FALSE(test, kernel->flags & UNIV_RING_NEED_KICK);
	pump_recv_complete(p, 0, IB_WC_SUCCESS);
	/* Publish a receive without a kick: the next completion posts it. */
	pump_recv_next(p, WR);
	smp_store_release(&p->qp->rings.recv.head->user.index, p->recv_tail);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR);
	pump_recv_complete(p, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR + 1);
	/* When the device runs low on receives, the ring requests kicks again. */
	for (i = 2; i <= WR; i++)
		pump_recv_complete(p, i, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kernel->flags & UNIV_RING_NEED_KICK);
}

/* Publish a receive as a process does if the ring asks for no kick. */
static void publish_quietly(struct pump *p, u64 id)
{
	pump_recv_next(p, id);
	smp_store_release(&p->qp->rings.recv.head->user.index, p->recv_tail);
}

static void publish_meanwhile(struct mock *mock)
{
	mock->posting = NULL;
	publish_quietly(mock->posting_data, 9);
}

/*
 * The device runs low on receives, and the process publishes one before the pump sets
 * the flag of the ring. That receive is posted, although no kick follows.
 */
static void pump_recv_before_flag(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_RECV,
			    .qp = p->qp->ib };
	struct univ_ring_kernel *kernel = &p->qp->rings.recv.head->kernel;
	int i;

	pump_rnr_retry(test, p, 7);
	for (i = 0; i < WR / 2; i++)
		pump_recv_next(p, i);
	KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
	KUNIT_EXPECT_FALSE(test, kernel->flags & UNIV_RING_NEED_KICK);
	publish_quietly(p, 8);
	p->mock->posting_data = p;
	p->mock->posting = publish_meanwhile;
	for (i = 0; i < 3; i++) {
		wc.wr_id = i;
		mock_complete_quietly(p->cq->ib, &wc);
	}
	pump_recv_complete(p, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR / 2 + 2);
	KUNIT_EXPECT_TRUE(test, kernel->flags & UNIV_RING_NEED_KICK);
}

static void pump_recv_refused(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cqe *cqe;

	pump_recv_next(p, 1)->count = 5;
	KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 0);
	cqe = pump_poll(p);
	KUNIT_ASSERT_NOT_NULL(test, cqe);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 1);
	KUNIT_EXPECT_EQ(test, cqe->reason, UNIV_REASON_WR_SGE);
	flush_delayed_work(&p->qp->pump->error_work);
	KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
}

/*
 * A process that sleeps until a completion comes is woken by that of a refused request. The
 * device does not have the request, and raises no event for it.
 */
static void pump_refused_wakes(struct kunit *test)
{
	struct pump *recv = pump_rc(test);
	struct pump *send = pump_rc(test);

	recv->cq->ring.head->user.arm = 2;
	pump_recv_next(recv, 1)->count = 5;
	KUNIT_EXPECT_EQ(test, pump_recv_kick(recv), 0);
	KUNIT_EXPECT_EQ(test, recv->cq->ring.head->kernel.fired, 2);
	send->cq->ring.head->user.arm = 2;
	pump_send_next(send, 1)->opcode = U8_MAX;
	KUNIT_EXPECT_EQ(test, pump_send_kick(send), 0);
	KUNIT_EXPECT_EQ(test, send->cq->ring.head->kernel.fired, 2);
	flush_delayed_work(&recv->qp->pump->error_work);
	flush_delayed_work(&send->qp->pump->error_work);
}

static void pump_recv_tail_lies(struct kunit *test)
{
	static const u32 lies[] = { WR + 1, 1000, S32_MAX, U32_MAX };
	struct univ_cqe *cqe;
	struct pump *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		p = pump_rc(test);
		p->recv_tail = lies[i];
		KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 0);
		cqe = pump_poll(p);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
		if (cqe)
			KUNIT_EXPECT_EQ(test, cqe->reason,
					UNIV_REASON_RING_CORRUPT);
	}
}

/* A driver that fails a batch without saying where has taken nothing of it. */
static void pump_recv_refused_nameless(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cqe *cqe;
	u32 i;

	p->mock->nameless = true;
	mock_fail(p->mock, MOCK_POST_RECV, 1, -EINVAL);
	for (i = 0; i < 4; i++)
		pump_recv_next(p, 70 + i);
	KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
	cqe = pump_poll(p);
	KUNIT_ASSERT_NOT_NULL(test, cqe);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 70);
	KUNIT_EXPECT_EQ(test, cqe->reason, UNIV_REASON_WR_REFUSED);
	flush_delayed_work(&p->qp->pump->error_work);
	KUNIT_EXPECT_EQ(test, p->qp->pump->rq.fed, 4);
}

static void pump_recv_device_full(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 i;

	p->mock->recv_room = 4;
	for (i = 0; i < 10; i++)
		pump_recv_next(p, i);
	KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 4);
	p->mock->recv_room = 100;
	pump_recv_complete(p, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 10);
}

static void pump_shared_recv(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_srq *srq = fixture_srq(p->f, p->pd, 8, 2);
	struct univ_recv_wr *wr;
	struct univ_qp *qp;
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_RECV };
	int i;

	KUNIT_ASSERT_NOT_NULL(test, srq);
	qp = fixture_qp(p->f, IB_QPT_RC, p->pd, p->cq, srq, WR);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	mock_reset(p->mock);
	for (i = 0; i < 8; i++) {
		wr = univ_ring_slot(&srq->ring, i);
		wr->wr_id = 30 + i;
		wr->count = 1;
	}
	srq->ring.head->user.index = 8;
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, srq->obj.handle,
					   UNIV_KICK_RECV), 0);
	KUNIT_EXPECT_EQ(test, mock_calls(p->mock, MOCK_POST_SRQ_RECV), 8);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, srq->obj.handle,
					   UNIV_KICK_SEND), -EINVAL);
	wc.qp = qp->ib;
	wc.wr_id = 30;
	pump_complete(p->cq, &wc);
	KUNIT_EXPECT_EQ(test, srq->pump->rq.retired, 1);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, pump_poll(p));
}

/*
 * A shared receive queue has no completion queue. A refused request is told by an event, and does
 * not take room of the ring.
 */
static void pump_shared_refused(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_srq *srq = fixture_srq(p->f, p->pd, 8, 2);
	struct univ_recv_wr *wr;

	KUNIT_ASSERT_NOT_NULL(test, srq);
	wr = univ_ring_slot(&srq->ring, 0);
	wr->wr_id = 30;
	wr->count = srq->max_sge + 1;
	srq->ring.head->user.index = 1;
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, srq->obj.handle, UNIV_KICK_RECV), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 0);
	KUNIT_EXPECT_EQ(test, srq->events.num_pending, 1);
	KUNIT_EXPECT_EQ(test, srq->events.pending[0], IB_EVENT_SRQ_ERR);
	KUNIT_EXPECT_EQ(test, srq->ring.head->kernel.index, 1u);
}

/* The device refuses a request. The requests behind it are not affected. */
static void pump_shared_goes_on(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_srq *srq = fixture_srq(p->f, p->pd, 8, 2);
	struct univ_recv_wr *wr;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, srq);
	for (i = 0; i < 8; i++) {
		wr = univ_ring_slot(&srq->ring, i);
		wr->wr_id = 30 + i;
		wr->count = 1;
	}
	mock_fail(p->mock, MOCK_POST_SRQ_RECV, 2, -EINVAL);
	srq->ring.head->user.index = 8;
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, srq->obj.handle, UNIV_KICK_RECV), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 7);
	KUNIT_EXPECT_EQ(test, p->mock->recvs[6].wr_id, 37);
	KUNIT_EXPECT_EQ(test, srq->events.num_pending, 1);
}

static void pump_recv_dma_key(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_recv_wr *wr;
	struct univ_cqe *cqe;
	struct pump *p;

	f->mock->ib.attrs.kernel_cap_flags |= IBK_LOCAL_DMA_LKEY;
	f->mock->ib.local_dma_lkey = 0x4200;
	p = pump_rc(test);
	pump_recv_next(p, 1);
	wr = pump_recv_next(p, 2);
	wr->count = 2;
	wr->sge[1] = wr->sge[0];
	wr->sge[1].lkey = 0x4200;
	KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 1);
	cqe = pump_poll(p);
	KUNIT_ASSERT_NOT_NULL(test, cqe);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 2);
	KUNIT_EXPECT_EQ(test, cqe->reason, UNIV_REASON_WR_KEY);
	flush_delayed_work(&p->qp->pump->error_work);
}

/* The completion flags of kernel verbs have other values than the flags of the process. */
static void pump_recv_flags(struct kunit *test)
{
	static const struct {
		int ib;
		u16 flags;
	} rows[] = {
		{ 0, 0 },
		{ IB_WC_GRH, 1 << 0 },
		{ IB_WC_WITH_IMM, 1 << 1 },
		{ IB_WC_IP_CSUM_OK, 1 << 2 },
		{ IB_WC_WITH_INVALIDATE, 1 << 3 },
	};
	struct pump *p = pump_rc(test);
	struct ib_wc wc = { .opcode = IB_WC_RECV, .qp = p->qp->ib };
	struct univ_cqe *cqe;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		pump_recv_next(p, i);
		KUNIT_EXPECT_EQ(test, pump_recv_kick(p), 0);
		wc.wr_id = i;
		wc.wc_flags = rows[i].ib;
		wc.ex.invalidate_rkey = 0x1234;
		pump_complete(p->cq, &wc);
		cqe = pump_poll(p);
		KUNIT_ASSERT_NOT_NULL(test, cqe);
		KUNIT_EXPECT_EQ(test, cqe->wc_flags, rows[i].flags);
		KUNIT_EXPECT_EQ(test, cqe->imm,
				rows[i].flags & 0xa ? 0x1234 : 0);
	}
}

static struct kunit_case pump_recv_cases[] = {
	KUNIT_CASE(pump_recv_translated),
	KUNIT_CASE(pump_recv_network),
	KUNIT_CASE(pump_recv_around),
	KUNIT_CASE(pump_recv_wraps_at_2_32),
	KUNIT_CASE(pump_recv_eager),
	KUNIT_CASE(pump_recv_becomes_eager),
	KUNIT_CASE(pump_recv_need_kick),
	KUNIT_CASE(pump_recv_before_flag),
	KUNIT_CASE(pump_recv_refused),
	KUNIT_CASE(pump_refused_wakes),
	KUNIT_CASE(pump_recv_refused_nameless),
	KUNIT_CASE(pump_recv_tail_lies),
	KUNIT_CASE(pump_recv_device_full),
	KUNIT_CASE(pump_shared_recv),
	KUNIT_CASE(pump_shared_refused),
	KUNIT_CASE(pump_shared_goes_on),
	KUNIT_CASE(pump_recv_dma_key),
	KUNIT_CASE(pump_recv_flags),
	{}
};

static struct kunit_suite pump_recv_suite = {
	.name = "univ_pump_recv",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = pump_recv_cases,
};
kunit_test_suite(pump_recv_suite);
