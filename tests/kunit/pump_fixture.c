// SPDX-License-Identifier: GPL-2.0
/* See pump_fixture.h. */
#include <linux/kthread.h>

#include "pump_fixture.h"

struct pump *pump_new(struct kunit *test, enum ib_qp_type type, u32 cqe)
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

struct pump *pump_rc(struct kunit *test)
{
	return pump_new(test, IB_QPT_RC, 64);
}

struct univ_send_wr *pump_send_next(struct pump *p, u64 id)
{
	struct univ_send_wr *wr = univ_ring_slot(&p->qp->rings.send,
						 p->send_tail++);

	memset(wr, 0, p->qp->rings.send.stride);
	wr->wr_id = id;
	wr->opcode = UNIV_WR_RDMA_WRITE;
	wr->flags = UNIV_WR_SIGNALED;
	wr->count = 1;
	wr->rkey = 0x77;
	wr->remote_addr = 0x10000 + id;
	wr->sge[0] = (struct univ_sge){ 0x2000 + id, 8, 0x100 };
	return wr;
}

void pump_send_publish(struct pump *p)
{
	smp_store_release(&p->qp->rings.send.head->user.index, p->send_tail);
}

int pump_send_kick(struct pump *p)
{
	pump_send_publish(p);
	return fixture_kick(p->f, p->qp->obj.handle, UNIV_KICK_SEND);
}

struct univ_recv_wr *pump_recv_next(struct pump *p, u64 id)
{
	struct univ_recv_wr *wr = univ_ring_slot(&p->qp->rings.recv,
						 p->recv_tail++);

	memset(wr, 0, p->qp->rings.recv.stride);
	wr->wr_id = id;
	wr->count = 1;
	wr->sge[0] = (struct univ_sge){ 0x3000 + id, 64, 0x100 };
	return wr;
}

int pump_recv_kick(struct pump *p)
{
	smp_store_release(&p->qp->rings.recv.head->user.index, p->recv_tail);
	return fixture_kick(p->f, p->qp->obj.handle, UNIV_KICK_RECV);
}

void pump_settled(struct univ_cq *cq)
{
	do {
		irq_work_sync(&cq->lost);
		irq_work_sync(&cq->pump->soon);
	} while (flush_work(&cq->pump->later));
}

void pump_complete(struct univ_cq *cq, const struct ib_wc *wc)
{
	mock_complete(cq->ib, wc);
	pump_settled(cq);
}

void pump_send_complete(struct pump *p, u32 nth, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = p->mock->sends[nth % MOCK_KEPT].wr_id,
		.status = status,
		.opcode = IB_WC_RDMA_WRITE,
		.qp = p->qp->ib,
	};

	pump_complete(p->cq, &wc);
}

void pump_recv_complete(struct pump *p, u64 id, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = id,
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = 33,
		.qp = p->qp->ib,
	};

	pump_complete(p->cq, &wc);
}

struct univ_cqe *pump_poll(struct pump *p)
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

void pump_expect_cqe(struct kunit *test, struct pump *p, u64 id, int status)
{
	struct univ_cqe *cqe = pump_poll(p);

	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, cqe);
	if (!cqe)
		return;
	KUNIT_EXPECT_EQ(test, cqe->wr_id, id);
	KUNIT_EXPECT_EQ(test, cqe->status, status);
	KUNIT_EXPECT_EQ(test, cqe->qp_num, p->qp->ib->qp_num);
	KUNIT_EXPECT_EQ(test, cqe->flow_tag, 0);
}

void pump_expect_no_cqe(struct kunit *test, struct pump *p)
{
	struct univ_cqe *cqe = pump_poll(p);

	KUNIT_EXPECT_PTR_EQ_MSG(test, cqe, NULL, "wr_id %llu status %u",
				cqe ? cqe->wr_id : 0, cqe ? cqe->status : 0);
}

struct task_struct *pump_thread_on(int cpu, int (*fn)(void *), void *data)
{
	struct task_struct *thread = kthread_create(fn, data, "univ-other");

	if (IS_ERR(thread))
		return thread;
	kthread_bind(thread, cpu);
	get_task_struct(thread);
	wake_up_process(thread);
	return thread;
}

void pump_thread_stop(struct task_struct *thread)
{
	kthread_stop(thread);
	put_task_struct(thread);
}
