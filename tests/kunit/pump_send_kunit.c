// SPDX-License-Identifier: GPL-2.0
/*
 * Sends on their way from the ring to the mock device and back (adv01, adv03, adv04).
 * Each test writes the rings as a process would, kicks, and checks the requests that
 * the device got and the completions that came back.
 */
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "pump_fixture.h"

static void pump_send_translated(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_send_wr *wr;
	struct mock_wr *got = p->mock->sends;

	pump_send_next(p, 1);
	wr = pump_send_next(p, 2);
	wr->opcode = UNIV_WR_ATOMIC_CMP_AND_SWP;
	wr->atomic.compare_add = 5;
	wr->atomic.swap = 6;
	wr = pump_send_next(p, 3);
	wr->opcode = UNIV_WR_SEND_WITH_IMM;
	wr->imm = 0x01020304;
	wr->flags |= UNIV_WR_SOLICITED | UNIV_WR_FENCE;
	wr = pump_send_next(p, 4);
	wr->flags |= UNIV_WR_INLINE;
	wr->count = 9;
	memcpy(wr->data, "123456789", 9);
	wr = pump_send_next(p, 5);
	wr->opcode = UNIV_WR_SEND;
	wr->count = 0;
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);

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

/* A slot has room for more entries than struct univ_send_wr declares. */
static struct univ_sge *second_sge(struct univ_send_wr *wr)
{
	struct univ_sge *sge = wr->sge;

	wr->count = 2;
	sge[1] = sge[0];
	return &sge[1];
}

/* The device gets a buffer of exactly the eight bytes that an atomic returns. */
static void pump_send_atomic_room(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct mock_wr *got = p->mock->sends;
	struct univ_send_wr *wr;

	wr = pump_send_next(p, 1);
	wr->opcode = UNIV_WR_ATOMIC_FETCH_AND_ADD;
	wr->sge[0].length = 3;
	second_sge(wr)->length = 64;
	wr = pump_send_next(p, 2);
	wr->opcode = UNIV_WR_ATOMIC_CMP_AND_SWP;
	wr->sge[0].length = 64;
	second_sge(wr);
	wr = pump_send_next(p, 3);
	wr->opcode = UNIV_WR_ATOMIC_CMP_AND_SWP;
	wr->sge[0].length = 4;
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);

	KUNIT_ASSERT_EQ(test, p->mock->num_sends, 3);
	KUNIT_ASSERT_EQ(test, got[0].num_sge, 2);
	KUNIT_EXPECT_EQ(test, got[0].sge[0].length, 3);
	KUNIT_EXPECT_EQ(test, got[0].sge[1].length, 5);
	KUNIT_ASSERT_EQ(test, got[1].num_sge, 1);
	KUNIT_EXPECT_EQ(test, got[1].sge[0].length, 8);
	KUNIT_ASSERT_EQ(test, got[2].num_sge, 1);
	KUNIT_EXPECT_EQ(test, got[2].sge[0].length, 4);
}

/*
 * Go around the ring many times, so that every index and phase wraps; one index starts
 * near 2^32.
 */
static void pump_send_around(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u64 id = 0;
	int round, i;

	for (round = 0; round < 40; round++) {
		for (i = 0; i < 7; i++)
			pump_send_next(p, id + i);
		KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_sends, (u32)id + 7);
		for (i = 0; i < 7; i++)
			pump_send_complete(p, id + i, IB_WC_SUCCESS);
		for (i = 0; i < 7; i++)
			pump_expect_cqe(test, p, id + i, IB_WC_SUCCESS);
		pump_expect_no_cqe(test, p);
		id += 7;
		KUNIT_EXPECT_EQ(test, p->qp->rings.send.head->kernel.index,
				(u32)id);
	}
}

/* Start as if 2^32 requests had passed already. */
static void pump_send_wraps_at_2_32(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 start = U32_MAX - 20;
	int i;

	p->send_tail = start;
	p->qp->pump->sq.fed = start;
	p->qp->pump->sq.retired = start;
	for (i = 0; i < 50; i++) {
		pump_send_next(p, i);
		KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_sends, i + 1);
		pump_send_complete(p, i, IB_WC_SUCCESS);
		pump_expect_cqe(test, p, i, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_FALSE(test, p->qp->pump->sq.corrupt);
}

/* One completion of the device implies the completion of all requests before it. */
static void pump_send_implied(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	int i;

	for (i = 0; i < 8; i++)
		pump_send_next(p, i)->flags = i % 2 ? UNIV_WR_SIGNALED : 0;
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	pump_send_complete(p, 7, IB_WC_SUCCESS);
	for (i = 1; i < 8; i += 2)
		pump_expect_cqe(test, p, i, IB_WC_SUCCESS);
	pump_expect_no_cqe(test, p);
}

/* The last request of a batch is always signaled to the device. */
static void pump_send_signals_last(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 n, i, last;

	for (n = 1; n <= WR; n++) {
		mock_reset(p->mock);
		for (i = 0; i < n; i++)
			pump_send_next(p, i);
		KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_sends, n);
		last = n - 1;
		KUNIT_EXPECT_TRUE(test, p->mock->sends[last].flags &
					IB_SEND_SIGNALED);
		pump_send_complete(p, last, IB_WC_SUCCESS);
		for (i = 0; i < n; i++)
			pump_expect_cqe(test, p, i, IB_WC_SUCCESS);
	}
}

/* Requests that are refused before the device sees them. */
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
		wr = pump_send_next(p, 1000 + i);
		wr->opcode = wrong[i].opcode;
		wr->flags = wrong[i].flags;
		wr->count = wrong[i].count;
		KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
		cqe = pump_poll(p);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
		if (!cqe)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, p->mock->num_sends, 0, "case %zu", i);
		KUNIT_EXPECT_EQ(test, cqe->wr_id, 1000 + i);
		KUNIT_EXPECT_NE(test, cqe->status, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ_MSG(test, cqe->reason, wrong[i].reason,
				    "case %zu", i);
		flush_delayed_work(&p->qp->pump->error_work);
		KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
		KUNIT_EXPECT_EQ(test, mock_calls(p->mock, MOCK_MODIFY_QP), 1);
	}
}

/*
 * One request is refused while earlier requests are under way: each of them completes
 * once, and none with success. The ring is in its second round, so its records hold old
 * data.
 */
static void refused_between(struct kunit *test, bool by_device)
{
	struct pump *p = pump_rc(test);
	struct univ_send_wr *wr;
	struct univ_cqe *cqe;
	u32 first = WR, i;
	u64 seen = 0;

	for (i = 0; i < first; i++) {
		pump_send_next(p, 500 + i);
		pump_send_kick(p);
		pump_send_complete(p, i, IB_WC_SUCCESS);
		pump_expect_cqe(test, p, 500 + i, IB_WC_SUCCESS);
	}
	pump_send_next(p, 0);
	pump_send_next(p, 1);
	wr = pump_send_next(p, 2);
	if (by_device)
		mock_fail(p->mock, MOCK_POST_SEND, 3, -EINVAL);
	else
		wr->opcode = UNIV_WR_LOCAL_INV;
	pump_send_next(p, 3);
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	flush_delayed_work(&p->qp->pump->error_work);
	/* One more request follows those whose signal the refused one had. */
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, first + 3 + by_device);
	for (i = 0; i < 3 + by_device; i++)
		pump_send_complete(p, first + i, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 4; i++) {
		cqe = pump_poll(p);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
		if (!cqe)
			return;
		KUNIT_EXPECT_LT(test, cqe->wr_id, 4);
		KUNIT_EXPECT_NE_MSG(test, cqe->status, IB_WC_SUCCESS,
				    "wr_id %llu", cqe->wr_id);
		KUNIT_EXPECT_FALSE(test, seen & BIT(cqe->wr_id & 63));
		seen |= BIT(cqe->wr_id & 63);
	}
	pump_expect_no_cqe(test, p);
	KUNIT_EXPECT_EQ(test, p->qp->rings.send.head->kernel.index, first + 4);
}

static void pump_send_refused_by_us_between(struct kunit *test)
{
	refused_between(test, false);
}

static void pump_send_refused_by_device_between(struct kunit *test)
{
	refused_between(test, true);
}

/*
 * The device refuses the last request of a batch, which has the signal of all of them,
 * and has executed the others before the error state.
 */
static void pump_send_refused_after_success(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cqe *cqe;

	pump_send_next(p, 0);
	pump_send_next(p, 1);
	pump_send_next(p, 2);
	mock_fail(p->mock, MOCK_POST_SEND, 3, -EINVAL);
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	flush_delayed_work(&p->qp->pump->error_work);
	KUNIT_ASSERT_EQ(test, p->mock->num_sends, 3);
	KUNIT_EXPECT_FALSE(test, p->mock->sends[1].flags & IB_SEND_SIGNALED);
	pump_send_complete(p, 2, IB_WC_WR_FLUSH_ERR);
	cqe = pump_poll(p);
	KUNIT_ASSERT_NOT_NULL(test, cqe);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 2);
	KUNIT_EXPECT_EQ(test, cqe->status, IB_WC_LOC_QP_OP_ERR);
	pump_expect_cqe(test, p, 0, IB_WC_SUCCESS);
	pump_expect_cqe(test, p, 1, IB_WC_SUCCESS);
	pump_expect_no_cqe(test, p);
	KUNIT_EXPECT_EQ(test, p->qp->rings.send.head->kernel.index, 3);
}

/*
 * The device is full at the last request of a batch, again and again. Each time the next
 * request that it takes keeps the signal for those before it.
 */
static void pump_send_owed_is_paid(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 i, run = 0;

	for (i = 0; i < 14; i++)
		pump_send_next(p, i);
	p->mock->send_room = 3;
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	for (i = 0; i < 4; i++) {
		p->mock->send_room = 3;
		mod_delayed_work(system_wq, &p->qp->pump->retry_work, 0);
		flush_delayed_work(&p->qp->pump->retry_work);
	}
	KUNIT_ASSERT_EQ(test, p->mock->num_sends, 14);
	for (i = 0; i < 14; i++) {
		run = p->mock->sends[i].flags & IB_SEND_SIGNALED ? 0 : run + 1;
		KUNIT_EXPECT_LT_MSG(test, run, 6, "request %u", i);
	}
}

/* The device fails at each request of a long run in turn. */
static void pump_send_fails_at_each(struct kunit *test)
{
	struct pump *p;
	u32 at, i;

	for (at = 1; at <= 12; at++) {
		p = pump_rc(test);
		mock_fail(p->mock, MOCK_POST_SEND, at, -EINVAL);
		for (i = 0; i < 12; i++)
			pump_send_next(p, i);
		KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
		flush_delayed_work(&p->qp->pump->error_work);
		/*
		 * All other requests reach the device, the later ones in the error state. One
		 * more follows those that may have lost their signal.
		 */
		KUNIT_EXPECT_EQ_MSG(test, p->mock->num_sends, at == 1 ? 11 : 12, "at %u", at);
		KUNIT_EXPECT_EQ(test, p->qp->pump->sq.fed, 12);
		KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
	}
}

/* A driver that fails a batch without saying where has taken nothing of it. */
static void pump_send_refused_nameless(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cqe *cqe;
	u32 i;

	p->mock->nameless = true;
	mock_fail(p->mock, MOCK_POST_SEND, 1, -EINVAL);
	for (i = 0; i < 4; i++)
		pump_send_next(p, 70 + i);
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	flush_delayed_work(&p->qp->pump->error_work);
	cqe = pump_poll(p);
	KUNIT_ASSERT_NOT_NULL(test, cqe);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 70);
	KUNIT_EXPECT_EQ(test, cqe->reason, UNIV_REASON_WR_REFUSED);
	/* The others are posted again, in the error state. */
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 3);
	KUNIT_EXPECT_EQ(test, p->qp->pump->sq.fed, 4);
}

/* A full device is no error: waiting requests are posted when a request has completed. */
static void pump_send_device_full(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	u32 i;

	p->mock->send_room = 5;
	for (i = 0; i < 12; i++)
		pump_send_next(p, i);
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 5);
	for (i = 0; i < 4; i++)
		pump_send_complete(p, i, IB_WC_SUCCESS);
	/*
	 * The device has room before its last request completes, since the retry
	 * may run at any moment: a device that is full and has no request is
	 * broken.
	 */
	p->mock->send_room = 100;
	pump_send_complete(p, 4, IB_WC_SUCCESS);
	/* A request that found no room a moment ago is retried. */
	for (i = 0; i < 1000 && READ_ONCE(p->mock->num_sends) < 12; i++)
		flush_delayed_work(&p->qp->pump->retry_work);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 12);
	for (i = 5; i < 12; i++)
		pump_send_complete(p, i, IB_WC_SUCCESS);
	for (i = 0; i < 12; i++)
		pump_expect_cqe(test, p, i, IB_WC_SUCCESS);
	pump_expect_no_cqe(test, p);
}

/* A tail that no library would write stops the queue and harms nothing else. */
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
		KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
		KUNIT_EXPECT_EQ(test, p->mock->num_sends, 0);
		cqe = pump_poll(p);
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
		if (cqe)
			KUNIT_EXPECT_EQ(test, cqe->reason,
					UNIV_REASON_RING_CORRUPT);
		flush_delayed_work(&p->qp->pump->error_work);
		KUNIT_EXPECT_EQ(test, p->qp->state, IB_QPS_ERR);
	}
}

/* The same with requests under way, which still complete. */
static void pump_send_tail_lies_later(struct kunit *test)
{
	struct pump *p = pump_rc(test);
	struct univ_cqe *cqe;
	u32 i, found = 0;

	pump_send_next(p, 0);
	pump_send_kick(p);
	p->send_tail = 5000;
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	flush_delayed_work(&p->qp->pump->error_work);
	pump_send_complete(p, 0, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 2; i++) {
		cqe = pump_poll(p);
		if (cqe && cqe->reason != UNIV_REASON_RING_CORRUPT)
			found++;
	}
	KUNIT_EXPECT_EQ_MSG(test, found, 1,
			    "the request under way has no completion");
}

/* Unexpected completions of the device change nothing. */
static void pump_send_stray_completions(struct kunit *test)
{
	static const u32 strays[] = { 1, 2, WR, WR + 1, U32_MAX, 1 << 31 };
	struct pump *p = pump_rc(test);
	struct ib_wc wc = { .status = IB_WC_SUCCESS, .opcode = IB_WC_SEND,
			    .qp = p->qp->ib };
	size_t i;

	pump_send_next(p, 0);
	pump_send_kick(p);
	pump_send_complete(p, 0, IB_WC_SUCCESS);
	pump_expect_cqe(test, p, 0, IB_WC_SUCCESS);
	/*
	 * Complete the first request a second time, and use indices outside of the
	 * ring's window.
	 */
	pump_send_complete(p, 0, IB_WC_SUCCESS);
	pump_expect_no_cqe(test, p);
	for (i = 2; i < ARRAY_SIZE(strays); i++) {
		wc.wr_id = UNIV_SEND_TOKEN(strays[i] + 1);
		if ((u32)wc.wr_id - p->qp->pump->sq.retired < WR)
			continue;
		pump_complete(p->cq, &wc);
		pump_expect_no_cqe(test, p);
		KUNIT_EXPECT_EQ(test, p->qp->pump->sq.retired, 1);
	}
}

/*
 * On a device that has a key for all memory (local_dma_lkey), this key is refused and
 * any other key is not.
 */
static void pump_send_dma_key(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_send_wr *wr;
	struct univ_cqe *cqe;
	struct pump *p;

	f->mock->ib.attrs.kernel_cap_flags |= IBK_LOCAL_DMA_LKEY;
	f->mock->ib.local_dma_lkey = 0x4200;
	p = pump_rc(test);
	pump_send_next(p, 1);
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 1);
	wr = pump_send_next(p, 2);
	second_sge(wr)->lkey = 0x4200;
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 1);
	cqe = pump_poll(p);
	KUNIT_ASSERT_NOT_NULL(test, cqe);
	KUNIT_EXPECT_EQ(test, cqe->wr_id, 2);
	KUNIT_EXPECT_EQ(test, cqe->status, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, cqe->reason, UNIV_REASON_WR_KEY);
	flush_delayed_work(&p->qp->pump->error_work);
}

/* The process publishes a request, without a kick since the ring asks for none. */
static void publish_meanwhile(struct mock *mock)
{
	struct pump *p = mock->posting_data;

	mock->posting = NULL;
	pump_send_next(p, 2);
	pump_send_publish(p);
}

/*
 * The flag of the ring is still clear, because a poller was awake. A request that is
 * published before the pump sets the flag is posted, too.
 */
static void pump_send_before_flag(struct kunit *test)
{
	struct pump *p = pump_rc(test);

	univ_ring_set_flags(&p->qp->pump->sq.ring, 0);
	p->mock->posting_data = p;
	p->mock->posting = publish_meanwhile;
	pump_send_next(p, 1);
	KUNIT_EXPECT_EQ(test, pump_send_kick(p), 0);
	KUNIT_EXPECT_EQ(test, p->mock->num_sends, 2);
	KUNIT_EXPECT_TRUE(test, p->qp->rings.send.head->kernel.flags &
				UNIV_RING_NEED_KICK);
}

static struct kunit_case pump_send_cases[] = {
	KUNIT_CASE(pump_send_translated),
	KUNIT_CASE(pump_send_atomic_room),
	KUNIT_CASE(pump_send_around),
	KUNIT_CASE(pump_send_wraps_at_2_32),
	KUNIT_CASE(pump_send_implied),
	KUNIT_CASE(pump_send_signals_last),
	KUNIT_CASE(pump_send_refused),
	KUNIT_CASE(pump_send_refused_by_us_between),
	KUNIT_CASE(pump_send_refused_by_device_between),
	KUNIT_CASE(pump_send_fails_at_each),
	KUNIT_CASE(pump_send_refused_after_success),
	KUNIT_CASE(pump_send_owed_is_paid),
	KUNIT_CASE(pump_send_refused_nameless),
	KUNIT_CASE(pump_send_device_full),
	KUNIT_CASE(pump_send_tail_lies),
	KUNIT_CASE(pump_send_tail_lies_later),
	KUNIT_CASE(pump_send_stray_completions),
	KUNIT_CASE(pump_send_dma_key),
	KUNIT_CASE(pump_send_before_flag),
	{}
};

static struct kunit_suite pump_send_suite = {
	.name = "univ_pump_send",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = pump_send_cases,
};
kunit_test_suite(pump_send_suite);
