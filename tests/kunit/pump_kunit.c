// SPDX-License-Identifier: GPL-2.0
/*
 * The pump between rings and a device that counts (adv01, adv03, adv04, adv17).
 * Each test writes rings as a process would, kicks, and looks at what the device
 * was given and what came back.
 */
#include <linux/delay.h>
#include <rdma/ib_verbs.h>

#include "fixture.h"
#include "pump.h"

#define WR 16

struct pump {
	struct fixture *f;
	struct mock *mock;
	u32 pd;
	struct univ_cq *cq;
	struct univ_qp *qp;
	u32 send_tail;
	u32 recv_tail;
	u32 cq_head;
};

static struct pump *pump_new(struct kunit *test, enum ib_qp_type type, u32 cqe)
{
	struct fixture *f = test->priv;
	struct pump *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->f = f;
	p->mock = f->mock;
	p->pd = fixture_pd(f);
	p->cq = fixture_cq(f, cqe);
	KUNIT_ASSERT_NOT_NULL(test, p->cq);
	p->qp = fixture_qp(f, type, p->pd, p->cq, NULL, WR);
	KUNIT_ASSERT_NOT_NULL(test, p->qp);
	fixture_qp_state(p->qp, IB_QPS_RTS);
	mock_reset(p->mock);
	return p;
}

static struct pump *pump_rc(struct kunit *test)
{
	return pump_new(test, IB_QPT_RC, 64);
}

/* The next slot, filled with a signaled write of 8 bytes */
static struct univ_send_wr *send_next(struct pump *p, u64 id)
{
	struct univ_send_wr *wr = univ_ring_slot(&p->qp->sq.ring,
						 p->send_tail++);

	memset(wr, 0, p->qp->sq.ring.stride);
	wr->wr_id = id;
	wr->opcode = UNIV_WR_RDMA_WRITE;
	wr->flags = UNIV_WR_SIGNALED;
	wr->count = 1;
	wr->rkey = 0x77;
	wr->remote_addr = 0x10000 + id;
	wr->sge[0] = (struct univ_sge){ 0x2000 + id, 8, 0x100 };
	return wr;
}

static void send_publish(struct pump *p)
{
	smp_store_release(&p->qp->sq.ring.head->user.index, p->send_tail);
}

static int send_kick(struct pump *p)
{
	send_publish(p);
	return fixture_kick(p->f, p->qp->obj.handle, UNIV_KICK_SEND);
}

static struct univ_recv_wr *recv_next(struct pump *p, u64 id)
{
	struct univ_recv_wr *wr = univ_ring_slot(&p->qp->rq.ring,
						 p->recv_tail++);

	memset(wr, 0, p->qp->rq.ring.stride);
	wr->wr_id = id;
	wr->count = 1;
	wr->sge[0] = (struct univ_sge){ 0x3000 + id, 64, 0x100 };
	return wr;
}

static int recv_kick(struct pump *p)
{
	smp_store_release(&p->qp->rq.ring.head->user.index, p->recv_tail);
	return fixture_kick(p->f, p->qp->obj.handle, UNIV_KICK_RECV);
}

/* The device ends the request that it got as its @nth send */
static void send_complete(struct pump *p, u32 nth, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = p->mock->sends[nth % MOCK_KEPT].wr_id,
		.status = status,
		.opcode = IB_WC_RDMA_WRITE,
		.qp = p->qp->ib,
	};

	mock_complete(p->cq->ib, &wc);
}

static void recv_complete(struct pump *p, u64 id, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = id,
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = 33,
		.qp = p->qp->ib,
	};

	mock_complete(p->cq->ib, &wc);
}

/* The next completion, or NULL */
static struct univ_cqe *poll(struct pump *p)
{
	struct univ_ring *ring = &p->cq->ring;
	struct univ_cqe *cqe = univ_ring_slot(ring, p->cq_head);

	if (smp_load_acquire(&cqe->phase) !=
	    UNIV_CQE_PHASE(p->cq_head, ring->count))
		return NULL;
	p->cq_head++;
	smp_store_release(&ring->head->user.index, p->cq_head);
	return cqe;
}

static void expect_cqe(struct kunit *test, struct pump *p, u64 id, int status)
{
	struct univ_cqe *cqe = poll(p);

	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
	if (!cqe)
		return;
	KUNIT_EXPECT_EQ(test, cqe->wr_id, id);
	KUNIT_EXPECT_EQ(test, cqe->status, status);
	KUNIT_EXPECT_EQ(test, cqe->qp_num, p->qp->ib->qp_num);
	KUNIT_EXPECT_EQ(test, cqe->reserved, 0);
}

static void expect_no_cqe(struct kunit *test, struct pump *p)
{
	struct univ_cqe *cqe = poll(p);

	KUNIT_EXPECT_PTR_EQ_MSG(test, cqe, NULL, "wr_id %llu status %u",
				cqe ? cqe->wr_id : 0, cqe ? cqe->status : 0);
}

/* ---- Sends ---------------------------------------------------------------- */

static void pump_send_translated(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_send_wr *wr;
	struct mock_wr *got = p->mock->sends;

	send_next(p, 1);
	wr = send_next(p, 2);
	wr->opcode = UNIV_WR_ATOMIC_CMP_AND_SWP;
	wr->atomic.compare_add = 5;
	wr->atomic.swap = 6;
	wr = send_next(p, 3);
	wr->opcode = UNIV_WR_SEND_WITH_IMM;
	wr->imm = 0x01020304;
	wr->flags |= UNIV_WR_SOLICITED | UNIV_WR_FENCE;
	wr = send_next(p, 4);
	wr->flags |= UNIV_WR_INLINE;
	wr->count = 9;
	memcpy(wr->data, "123456789", 9);
	wr = send_next(p, 5);
	wr->opcode = UNIV_WR_SEND;
	wr->count = 0;
	KUNIT_EXPECT_EQ(test, send_kick(p), 0);

	KUNIT_ASSERT_EQ(test, p->mock->num_sends, 5);
	KUNIT_EXPECT_EQ(test, got[0].opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, got[0].remote_addr, 0x10001);
	KUNIT_EXPECT_EQ(test, got[0].rkey, 0x77);
	KUNIT_EXPECT_EQ(test, got[0].num_sge, 1);
	KUNIT_EXPECT_EQ(test, got[0].sge[0].addr, 0x2001);
	KUNIT_EXPECT_EQ(test, got[0].sge[0].length, 8);
	KUNIT_EXPECT_EQ(test, got[0].sge[0].lkey, 0x100);
	KUNIT_EXPECT_EQ(test, got[1].opcode, IB_WR_ATOMIC_CMP_AND_SWP);
	KUNIT_EXPECT_EQ(test, got[1].compare_add, 5);
	KUNIT_EXPECT_EQ(test, got[1].swap, 6);
	KUNIT_EXPECT_EQ(test, got[2].opcode, IB_WR_SEND_WITH_IMM);
	KUNIT_EXPECT_EQ(test, got[2].imm, 0x01020304);
	KUNIT_EXPECT_TRUE(test, got[2].flags & IB_SEND_SOLICITED);
	KUNIT_EXPECT_TRUE(test, got[2].flags & IB_SEND_FENCE);
	KUNIT_EXPECT_TRUE(test, got[3].flags & IB_SEND_INLINE);
	KUNIT_EXPECT_EQ(test, got[3].sge[0].length, 9);
	KUNIT_EXPECT_EQ(test, memcmp(got[3].inline_data, "123456789", 9), 0);
	KUNIT_EXPECT_EQ(test, got[4].num_sge, 0);
}

/* Many times around, so that every index and phase wraps; one index near 2^32 */
static void pump_send_around(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u64 id = 0;
	int round, i;

	for (round = 0; round < 40; round++) {
		for (i = 0; i < 7; i++)
			send_next(p, id + i);
		KUNIT_EXPECT_EQ(test, send_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_sends, (u32)id + 7);
		for (i = 0; i < 7; i++)
			send_complete(p, id + i, IB_WC_SUCCESS);
		for (i = 0; i < 7; i++)
			expect_cqe(test, p, id + i, IB_WC_SUCCESS);
		expect_no_cqe(test, p);
		id += 7;
		KUNIT_EXPECT_EQ(test, p->qp->sq.ring.head->kernel.index,
				(u32)id);
	}
}

/* As if 2^32 requests had passed already */
static void pump_send_wraps_at_2_32(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 start = U32_MAX - 20;
	int i;

	p->send_tail = start;
	p->qp->sq.fed = start;
	p->qp->sq.retired = start;
	for (i = 0; i < 50; i++) {
		send_next(p, i);
		KUNIT_EXPECT_EQ(test, send_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_sends, i + 1);
		send_complete(p, i, IB_WC_SUCCESS);
		expect_cqe(test, p, i, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_FALSE(test, p->qp->sq.corrupt);
}

/* One completion of the device stands for all before it */
static void pump_send_implied(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	int i;

	for (i = 0; i < 8; i++)
		send_next(p, i)->flags = i % 2 ? UNIV_WR_SIGNALED : 0;
	KUNIT_EXPECT_EQ(test, send_kick(p), 0);
	send_complete(p, 7, IB_WC_SUCCESS);
	for (i = 1; i < 8; i += 2)
		expect_cqe(test, p, i, IB_WC_SUCCESS);
	expect_no_cqe(test, p);
}

/* The last of what was posted together is always signaled to the device */
static void pump_send_signals_last(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 n, i, last;

	for (n = 1; n <= WR; n++) {
		mock_reset(p->mock);
		for (i = 0; i < n; i++)
			send_next(p, i);
		KUNIT_EXPECT_EQ(test, send_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_sends, n);
		last = n - 1;
		KUNIT_EXPECT_TRUE(test, p->mock->sends[last].flags &
					IB_SEND_SIGNALED);
		send_complete(p, last, IB_WC_SUCCESS);
		for (i = 0; i < n; i++)
			expect_cqe(test, p, i, IB_WC_SUCCESS);
	}
}

/* What is refused before the device sees it */
static void pump_send_refused(struct kunit *test)
{
	static const struct {
		u8 opcode;
		u8 flags;
		u16 count;
		u16 reason;
	} wrong[] = {
		{ UNIV_WR_LOCAL_INV, 0, 0, UNIV_REASON_WR_OPCODE },
		{ UNIV_WR_BIND_MW, 0, 0, UNIV_REASON_WR_OPCODE },
		{ UNIV_WR_TSO, 0, 1, UNIV_REASON_WR_OPCODE },
		{ UNIV_WR_DRIVER1, 0, 1, UNIV_REASON_WR_OPCODE },
		{ 31, 0, 1, UNIV_REASON_WR_OPCODE },
		{ 32, 0, 1, UNIV_REASON_WR_OPCODE },
		{ 255, 0, 1, UNIV_REASON_WR_OPCODE },
		{ UNIV_WR_SEND, 0x10, 1, UNIV_REASON_FLAGS },
		{ UNIV_WR_SEND, 0x80, 1, UNIV_REASON_FLAGS },
		{ UNIV_WR_SEND, 0, 5, UNIV_REASON_WR_SGE },
		{ UNIV_WR_SEND, 0, U16_MAX, UNIV_REASON_WR_SGE },
		{ UNIV_WR_SEND, UNIV_WR_INLINE, 1000, UNIV_REASON_WR_INLINE },
		{ UNIV_WR_RDMA_READ, UNIV_WR_INLINE, 8, UNIV_REASON_WR_OPCODE },
	};
	struct univ_send_wr *wr;
	struct univ_cqe *cqe;
	struct pump *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		p = pump_rc(test);
		wr = send_next(p, 1000 + i);
		wr->opcode = wrong[i].opcode;
		wr->flags = wrong[i].flags;
		wr->count = wrong[i].count;
		KUNIT_EXPECT_EQ(test, send_kick(p), 0);
		cqe = poll(p);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
		if (!cqe)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, p->mock->num_sends, 0, "case %zu", i);
		KUNIT_EXPECT_EQ(test, cqe->wr_id, 1000 + i);
		KUNIT_EXPECT_NE(test, cqe->status, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ_MSG(test, cqe->reason, wrong[i].reason,
				    "case %zu", i);
		flush_work(&p->qp->error_work);
		KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
		KUNIT_EXPECT_EQ(test, mock_calls(p->mock, MOCK_MODIFY_QP), 1);
	}
}

/*
 * One is refused while those before it are under way: each of all requests
 * completes once and none with success (the ring is in its second round, so its
 * records are not fresh).
 */
static void refused_between(struct kunit *test, bool by_device)
{
	struct pump *p = pump_rc(test);
	struct univ_send_wr *wr;
	struct univ_cqe *cqe;
	u32 first = WR, i;
	u64 seen = 0;

	for (i = 0; i < first; i++) {
		send_next(p, 500 + i);
		send_kick(p);
		send_complete(p, i, IB_WC_SUCCESS);
		expect_cqe(test, p, 500 + i, IB_WC_SUCCESS);
	}
	send_next(p, 0);
	send_next(p, 1);
	wr = send_next(p, 2);
	if (by_device)
		mock_fail(p->mock, MOCK_POST_SEND, 3, -EINVAL);
	else
		wr->opcode = UNIV_WR_LOCAL_INV;
	send_next(p, 3);
	KUNIT_EXPECT_EQ(test, send_kick(p), 0);
	flush_work(&p->qp->error_work);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, first + 3);
	for (i = 0; i < 3; i++)
		send_complete(p, first + i, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 4; i++) {
		cqe = poll(p);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
		if (!cqe)
			return;
		KUNIT_EXPECT_LT(test, cqe->wr_id, 4);
		KUNIT_EXPECT_NE_MSG(test, cqe->status, IB_WC_SUCCESS,
				    "wr_id %llu", cqe->wr_id);
		KUNIT_EXPECT_FALSE(test, seen & BIT(cqe->wr_id & 63));
		seen |= BIT(cqe->wr_id & 63);
	}
	expect_no_cqe(test, p);
	KUNIT_EXPECT_EQ(test, p->qp->sq.ring.head->kernel.index, first + 4);
}

static void pump_send_refused_by_us_between(struct kunit *test)
{
	refused_between(test, false);
}

static void pump_send_refused_by_device_between(struct kunit *test)
{
	refused_between(test, true);
}

/* Every request of a long run is the one at which the device fails */
static void pump_send_fails_at_each(struct kunit *test)
{
	struct pump *p;
	u32 at, i;

	for (at = 1; at <= 12; at++) {
		p = pump_rc(test);
		mock_fail(p->mock, MOCK_POST_SEND, at, -EINVAL);
		for (i = 0; i < 12; i++)
			send_next(p, i);
		KUNIT_EXPECT_EQ(test, send_kick(p), 0);
		flush_work(&p->qp->error_work);
		/* All but that one reach the device, the later ones in error */
		KUNIT_EXPECT_EQ_MSG(test, p->mock->num_sends, 11, "at %u", at);
		KUNIT_EXPECT_EQ(test, p->qp->sq.fed, 12);
		KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
	}
}

/* Full is no error: what waits is posted when something has completed */
static void pump_send_device_full(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 i;

	p->mock->send_room = 5;
	for (i = 0; i < 12; i++)
		send_next(p, i);
	KUNIT_EXPECT_EQ(test, send_kick(p), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 5);
	for (i = 0; i < 5; i++)
		send_complete(p, i, IB_WC_SUCCESS);
	p->mock->send_room = 100;
	flush_delayed_work(&p->qp->retry_work);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 12);
	for (i = 5; i < 12; i++)
		send_complete(p, i, IB_WC_SUCCESS);
	for (i = 0; i < 12; i++)
		expect_cqe(test, p, i, IB_WC_SUCCESS);
	expect_no_cqe(test, p);
}

/* A tail that no library would write stops the queue and harms nothing */
static void pump_send_tail_lies(struct kunit *test)
{
	static const u32 lies[] = { WR + 1, WR + 2, 1000, S32_MAX,
				    (u32)S32_MAX + 1, U32_MAX, U32_MAX - WR };
	struct univ_cqe *cqe;
	struct pump *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		p = pump_rc(test);
		p->send_tail = lies[i];
		KUNIT_EXPECT_EQ(test, send_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_sends, 0);
		cqe = poll(p);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
		if (cqe)
			KUNIT_EXPECT_EQ(test, cqe->reason,
					UNIV_REASON_RING_CORRUPT);
		flush_work(&p->qp->error_work);
		KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
	}
}

/* The same with requests under way, whose completions still come */
static void pump_send_tail_lies_later(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cqe *cqe;
	u32 i, found = 0;

	send_next(p, 0);
	send_kick(p);
	p->send_tail = 5000;
	KUNIT_EXPECT_EQ(test, send_kick(p), 0);
	flush_work(&p->qp->error_work);
	send_complete(p, 0, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 2; i++) {
		cqe = poll(p);
		if (cqe && cqe->reason != UNIV_REASON_RING_CORRUPT)
			found++;
	}
	KUNIT_EXPECT_EQ_MSG(test, found, 1,
			    "the request under way has no completion");
}

/* Completions that the device has no right to send change nothing */
static void pump_send_stray_completions(struct kunit *test)
{
	static const u32 strays[] = { 1, 2, WR, WR + 1, U32_MAX, 1 << 31 };
	struct pump *p = pump_rc(test);
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_SEND,
			    .qp = p->qp->ib };
	size_t i;

	send_next(p, 0);
	send_kick(p);
	send_complete(p, 0, IB_WC_SUCCESS);
	expect_cqe(test, p, 0, IB_WC_SUCCESS);
	/* Again, and indices outside of the ring's window */
	send_complete(p, 0, IB_WC_SUCCESS);
	expect_no_cqe(test, p);
	for (i = 2; i < ARRAY_SIZE(strays); i++) {
		wc.wr_id = UNIV_SEND_TOKEN(strays[i] + 1);
		if ((u32)wc.wr_id - p->qp->sq.retired < WR)
			continue;
		mock_complete(p->cq->ib, &wc);
		expect_no_cqe(test, p);
		KUNIT_EXPECT_EQ(test, p->qp->sq.retired, 1);
	}
}

/* ---- Receives ------------------------------------------------------------- */

static void pump_recv_translated(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_recv_wr *wr;
	struct univ_cqe *cqe;
	int i;

	for (i = 0; i < 3; i++) {
		wr = recv_next(p, 70 + i);
		wr->count = i;
		wr->sge[1] = (struct univ_sge){ 0x9000, 5, 0x200 };
	}
	KUNIT_EXPECT_EQ(test, recv_kick(p), 0);
	KUNIT_ASSERT_EQ(test, p->mock->num_recvs, 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, p->mock->recvs[i].wr_id, 70 + i);
		KUNIT_EXPECT_EQ(test, p->mock->recvs[i].num_sge, i);
	}
	KUNIT_EXPECT_EQ(test, p->mock->recvs[2].sge[1].addr, 0x9000);
	recv_complete(p, 70, IB_WC_SUCCESS);
	cqe = poll(p);
	KUNIT_ASSERT_NOT_NULL(test, cqe);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 70);
	KUNIT_EXPECT_EQ(test, cqe->byte_len, 33);
	KUNIT_EXPECT_EQ(test, cqe->opcode, IB_WC_RECV);
}

static void pump_recv_around(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u64 id = 0;
	int round, i;

	for (round = 0; round < 40; round++) {
		for (i = 0; i < 11; i++)
			recv_next(p, id + i);
		KUNIT_EXPECT_EQ(test, recv_kick(p), 0);
		for (i = 0; i < 11; i++)
			recv_complete(p, id + i, IB_WC_SUCCESS);
		for (i = 0; i < 11; i++)
			expect_cqe(test, p, id + i, IB_WC_SUCCESS);
		id += 11;
		KUNIT_EXPECT_EQ(test, p->mock->num_recvs, (u32)id);
	}
	KUNIT_EXPECT_FALSE(test, p->qp->rq.corrupt);
}

static void pump_recv_wraps_at_2_32(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 start = U32_MAX - 20;
	int i;

	p->recv_tail = start;
	p->qp->rq.fed = start;
	p->qp->rq.retired = start;
	for (i = 0; i < 50; i++) {
		recv_next(p, i);
		KUNIT_EXPECT_EQ(test, recv_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_recvs, i + 1);
		recv_complete(p, i, IB_WC_SUCCESS);
		expect_cqe(test, p, i, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_FALSE(test, p->qp->rq.corrupt);
}

/* As the process does it, for the core draws conclusions from rnr_retry */
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

/* A peer that does not wait for receives: the device gets each at once */
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
			recv_next(p, j);
			KUNIT_EXPECT_EQ(test, recv_kick(p), 0);
			KUNIT_EXPECT_TRUE_MSG(test,
					      p->qp->rq.ring.head->kernel.flags &
					      UNIV_RING_NEED_KICK,
					      "row %d", i);
		}
		KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR);
	}
}

/* What waits in the ring is handed over when the queue becomes an eager one */
static void pump_recv_becomes_eager(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	int i;

	pump_rnr_retry(test, p, 7);
	for (i = 0; i < WR - 1; i++)
		recv_next(p, i);
	KUNIT_EXPECT_EQ(test, recv_kick(p), 0);
	recv_next(p, i);
	smp_store_release(&p->qp->rq.ring.head->user.index, p->recv_tail);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR - 1);
	pump_rnr_retry(test, p, 3);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR);
}

/* While the device holds enough, no kick is asked for; then completions feed */
static void pump_recv_need_kick(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_ring_kernel *kernel = &p->qp->rq.ring.head->kernel;
	int i;

	pump_rnr_retry(test, p, 7);
	KUNIT_EXPECT_TRUE(test, kernel->flags & UNIV_RING_NEED_KICK);
	for (i = 0; i < WR; i++)
		recv_next(p, i);
	KUNIT_EXPECT_EQ(test, recv_kick(p), 0);
	KUNIT_EXPECT_FALSE(test, kernel->flags & UNIV_RING_NEED_KICK);
	recv_complete(p, 0, IB_WC_SUCCESS);
	/* Published without a kick; the next completion finds it */
	recv_next(p, WR);
	smp_store_release(&p->qp->rq.ring.head->user.index, p->recv_tail);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR);
	recv_complete(p, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, WR + 1);
	/* Until it runs low: then it asks again */
	for (i = 2; i <= WR; i++)
		recv_complete(p, i, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kernel->flags & UNIV_RING_NEED_KICK);
}

static void pump_recv_refused(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cqe *cqe;

	recv_next(p, 1)->count = 5;
	KUNIT_EXPECT_EQ(test, recv_kick(p), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 0);
	cqe = poll(p);
	KUNIT_ASSERT_NOT_NULL(test, cqe);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 1);
	KUNIT_EXPECT_EQ(test, cqe->reason, UNIV_REASON_WR_SGE);
	flush_work(&p->qp->error_work);
	KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
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
		KUNIT_EXPECT_EQ(test, recv_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 0);
		cqe = poll(p);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
		if (cqe)
			KUNIT_EXPECT_EQ(test, cqe->reason,
					UNIV_REASON_RING_CORRUPT);
	}
}

static void pump_recv_device_full(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 i;

	p->mock->recv_room = 4;
	for (i = 0; i < 10; i++)
		recv_next(p, i);
	KUNIT_EXPECT_EQ(test, recv_kick(p), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_recvs, 4);
	p->mock->recv_room = 100;
	recv_complete(p, 0, IB_WC_SUCCESS);
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
		wr = univ_ring_slot(&srq->rq.ring, i);
		wr->wr_id = 30 + i;
		wr->count = 1;
	}
	srq->rq.ring.head->user.index = 8;
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, srq->obj.handle,
					   UNIV_KICK_RECV), 0);
	KUNIT_EXPECT_EQ(test, mock_calls(p->mock, MOCK_POST_SRQ_RECV), 8);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, srq->obj.handle,
					   UNIV_KICK_SEND), -EINVAL);
	wc.qp = qp->ib;
	wc.wr_id = 30;
	mock_complete(p->cq->ib, &wc);
	KUNIT_EXPECT_EQ(test, srq->rq.retired, 1);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, poll(p));
}

/* ---- Completion queues ----------------------------------------------------- */

/* Overrun: the last slot is kept, the event raised, nothing is overwritten */
static void pump_cq_overrun(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, 4);
	struct univ_cqe *cqe;
	int i;

	for (i = 0; i < 6; i++)
		recv_next(p, i);
	recv_kick(p);
	for (i = 0; i < 6; i++)
		recv_complete(p, i, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, p->cq->ring.head->kernel.flags &
				UNIV_RING_OVERRUN);
	KUNIT_EXPECT_TRUE(test, p->cq->async_events.pending &
				BIT(IB_EVENT_CQ_ERR));
	for (i = 0; i < 4; i++) {
		cqe = poll(p);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
		if (cqe)
			KUNIT_EXPECT_EQ(test, cqe->wr_id, i);
	}
	expect_no_cqe(test, p);
	flush_work(&p->qp->error_work);
	KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
}

/*
 * The queue pair is destroyed while completions wait in the device for a full
 * queue: what is found out then must not outlive the queue pair. That it does
 * not, the kernel's own checks say (KASAN, debug objects).
 */
static void pump_destroy_with_overrun(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, 1);
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_RECV,
			    .qp = p->qp->ib };
	struct univ_qp *qp = p->qp;
	int i;

	for (i = 0; i < 8; i++)
		mock_complete_quietly(p->cq->ib, &wc);
	KUNIT_EXPECT_EQ(test, fixture_destroy(p->f, UNIV_QP_DESTROY,
					      qp->obj.handle), 0);
	/* The memory goes after a grace period, so this is still safe to ask */
	KUNIT_EXPECT_FALSE_MSG(test, work_busy(&qp->error_work),
			       "error work is queued for a queue pair that is gone");
	rcu_barrier();
	msleep(50);
}

/* Armed once, told once, again only when armed anew */
static void pump_cq_arm(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_ring_head *head = p->cq->ring.head;
	int i;

	for (i = 0; i < 8; i++)
		recv_next(p, i);
	recv_kick(p);
	recv_complete(p, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, 0);
	head->user.arm = 2;
	recv_complete(p, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, 2);
	recv_complete(p, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, 2);
	head->user.arm = U32_MAX - 1;
	recv_complete(p, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, U32_MAX - 1);
	/* Solicited only: a send of ours is not */
	head->user.arm = 1;
	send_next(p, 1);
	send_kick(p);
	send_complete(p, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, U32_MAX - 1);
	recv_complete(p, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, head->kernel.fired, 1);
}

/*
 * The device has completed a send, but nobody has looked yet; a process that
 * reads the event of the receive queue finds the send complete as well.
 */
static void pump_event_settles(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cq *send_cq = fixture_cq(p->f, 8);
	struct univ_event_source *source = &p->cq->comp_events;
	struct univ_cqe *cqe;
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_SEND };

	KUNIT_ASSERT_NOT_NULL(test, send_cq);
	p->qp = fixture_qp_of_two(p->f, IB_QPT_UC, p->pd, send_cq, p->cq, NULL,
				  WR);
	KUNIT_ASSERT_NOT_NULL(test, p->qp);
	fixture_qp_state(p->qp, IB_QPS_RTS);
	mock_reset(p->mock);
	send_next(p, 1);
	send_kick(p);
	recv_next(p, 2);
	recv_kick(p);
	wc.wr_id = p->mock->sends[0].wr_id;
	wc.qp = p->qp->ib;
	mock_complete_quietly(send_cq->ib, &wc);
	recv_complete(p, 2, IB_WC_SUCCESS);
	cqe = univ_ring_slot(&send_cq->ring, 0);
	KUNIT_EXPECT_EQ(test, cqe->phase, 0);
	KUNIT_ASSERT_NOT_NULL(test, source->settle);
	rcu_read_lock();
	source->settle(source);
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, cqe->phase, UNIV_CQE_PHASE(0, 8));
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 1);
	/* It does not outlive the queue pair that brought the two together */
	KUNIT_EXPECT_PTR_EQ(test, p->cq->partner, send_cq);
	KUNIT_EXPECT_EQ(test, fixture_destroy(p->f, UNIV_QP_DESTROY,
					      p->qp->obj.handle), 0);
	KUNIT_EXPECT_PTR_EQ(test, p->cq->partner, NULL);
}

/* A head that lies makes the queue overrun itself, and nothing else */
static void pump_cq_head_lies(struct kunit *test)
{
	static const u32 lies[] = { 1, 5, 64, S32_MAX, U32_MAX - 64, U32_MAX };
	struct pump *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		p = pump_rc(test);
		recv_next(p, 1);
		recv_kick(p);
		p->cq->ring.head->user.index = lies[i];
		recv_complete(p, 1, IB_WC_SUCCESS);
		flush_work(&p->qp->error_work);
		KUNIT_EXPECT_LE(test, p->cq->index, 1);
	}
}

static void pump_cq_resized(struct kunit *test)
{
	struct pump *p = pump_new(test, IB_QPT_RC, 8);
	struct univ_cq_resize arg = { .handle = p->cq->obj.handle, .cqe = 32 };
	int i;

	for (i = 0; i < 8; i++)
		recv_next(p, i);
	recv_kick(p);
	for (i = 0; i < 6; i++)
		recv_complete(p, i, IB_WC_SUCCESS);
	expect_cqe(test, p, 0, IB_WC_SUCCESS);
	expect_cqe(test, p, 1, IB_WC_SUCCESS);
	/* Four wait: they do not fit into two */
	arg.cqe = 2;
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_CQ_RESIZE, &arg,
					   sizeof(arg)), -EINVAL);
	KUNIT_EXPECT_EQ(test, arg.hdr.reason, UNIV_REASON_CQ_SHRINK);
	KUNIT_EXPECT_EQ(test, arg.hdr.bound, 4);
	arg.cqe = 32;
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_CQ_RESIZE, &arg,
					   sizeof(arg)), 0);
	KUNIT_EXPECT_EQ(test, arg.ring.slots, 32);
	p->cq_head = 0;
	recv_complete(p, 6, IB_WC_SUCCESS);
	for (i = 2; i < 7; i++)
		expect_cqe(test, p, i, IB_WC_SUCCESS);
	expect_no_cqe(test, p);
}

/* ---- Reset ------------------------------------------------------------------- */

static void pump_reset_forgets(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_qp_modify arg = {
		.handle = p->qp->obj.handle,
		.attr = { .attr_mask = IB_QP_STATE, .qp_state = IB_QPS_RESET },
	};
	int i;

	for (i = 0; i < 5; i++)
		send_next(p, i);
	send_kick(p);
	for (i = 0; i < 5; i++)
		recv_next(p, i);
	recv_kick(p);
	KUNIT_EXPECT_EQ(test, fixture_call(p->f, UNIV_QP_MODIFY, &arg,
					   sizeof(arg)), 0);
	KUNIT_EXPECT_EQ(test, p->qp->sq.ring.head->kernel.index, 5);
	KUNIT_EXPECT_EQ(test, p->qp->rq.ring.head->kernel.index, 5);
	expect_no_cqe(test, p);
	fixture_qp_state(p->qp, IB_QPS_RTS);
	send_next(p, 9);
	send_kick(p);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 6);
	send_complete(p, 5, IB_WC_SUCCESS);
	expect_cqe(test, p, 9, IB_WC_SUCCESS);
}

static void pump_kick_wrong(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 qp = p->qp->obj.handle;

	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, qp, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, qp, 1 << 24), -EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, qp, UNIV_KICK_SEND | 1 << 29),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, qp + 100, UNIV_KICK_SEND),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, p->pd, UNIV_KICK_SEND),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, p->cq->obj.handle,
					   UNIV_KICK_RECV), -EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_kick(p->f, qp,
					   UNIV_KICK_SEND | UNIV_KICK_RECV), 0);
}

static struct kunit_case pump_cases[] = {
	KUNIT_CASE(pump_send_translated),
	KUNIT_CASE(pump_send_around),
	KUNIT_CASE(pump_send_wraps_at_2_32),
	KUNIT_CASE(pump_send_implied),
	KUNIT_CASE(pump_send_signals_last),
	KUNIT_CASE(pump_send_refused),
	KUNIT_CASE(pump_send_refused_by_us_between),
	KUNIT_CASE(pump_send_refused_by_device_between),
	KUNIT_CASE(pump_send_fails_at_each),
	KUNIT_CASE(pump_send_device_full),
	KUNIT_CASE(pump_send_tail_lies),
	KUNIT_CASE(pump_send_tail_lies_later),
	KUNIT_CASE(pump_send_stray_completions),
	KUNIT_CASE(pump_recv_translated),
	KUNIT_CASE(pump_recv_around),
	KUNIT_CASE(pump_recv_wraps_at_2_32),
	KUNIT_CASE(pump_recv_eager),
	KUNIT_CASE(pump_recv_becomes_eager),
	KUNIT_CASE(pump_recv_need_kick),
	KUNIT_CASE(pump_recv_refused),
	KUNIT_CASE(pump_recv_tail_lies),
	KUNIT_CASE(pump_recv_device_full),
	KUNIT_CASE(pump_shared_recv),
	KUNIT_CASE(pump_cq_overrun),
	KUNIT_CASE(pump_destroy_with_overrun),
	KUNIT_CASE(pump_cq_arm),
	KUNIT_CASE(pump_event_settles),
	KUNIT_CASE(pump_cq_head_lies),
	KUNIT_CASE(pump_cq_resized),
	KUNIT_CASE(pump_reset_forgets),
	KUNIT_CASE(pump_kick_wrong),
	{}
};

static struct kunit_suite pump_suite = {
	.name = "univ_pump",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = pump_cases,
};
kunit_test_suite(pump_suite);
