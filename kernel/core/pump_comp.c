// SPDX-License-Identifier: GPL-2.0
/* Completions on their way from the device to the process. */
#include <linux/cpu.h>
#include <linux/interrupt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "context.h"
#include "cq.h"
#include "pump.h"
#include "qp.h"
#include "srq.h"

/*
 * Batches that one caller takes, in interrupt context or under RCU. Several
 * processors that post to queue pairs of one completion queue must not keep a
 * handler that takes what they complete.
 */
#define COMP_ROUNDS 16
/* Batches that are taken in an interrupt of our own */
#define COMP_ROUNDS_IRQ 4

/* Receive queues that lost a request in one batch, to be fed afterwards. */
struct comp_touched {
	struct univ_recv_queue *rq[UNIV_WC_BATCH];
	u32 count;
};

static void touched_add(struct comp_touched *touched,
			struct univ_recv_queue *rq)
{
	if (!touched->count || touched->rq[touched->count - 1] != rq)
		touched->rq[touched->count++] = rq;
}

/* Two flags have other places in the ABI of libibverbs. */
static u16 comp_flags(int ib)
{
	u16 flags = 0;

	if (ib & IB_WC_GRH)
		flags |= UNIV_WC_GRH;
	if (ib & IB_WC_WITH_IMM)
		flags |= UNIV_WC_WITH_IMM;
	if (ib & IB_WC_IP_CSUM_OK)
		flags |= UNIV_WC_IP_CSUM_OK;
	if (ib & IB_WC_WITH_INVALIDATE)
		flags |= UNIV_WC_WITH_INV;
	return flags;
}

/*
 * Whose completion is it? The opcode says so on success only. Otherwise the tag
 * in wr_id does: a process that gives a receive that very value takes a failed
 * receive for one of its own sends, which is its own loss.
 */
static bool comp_is_send(const struct ib_wc *wc)
{
	if (wc->status == IB_WC_SUCCESS)
		return !(wc->opcode & IB_WC_RECV);
	return wc->wr_id >> 32 == UNIV_SEND_TAG;
}

/* A completion that tells no more than how it ended. */
static void comp_fill(struct univ_cqe *cqe, const struct univ_qp *qp, u64 wr_id,
		      u8 status, u8 opcode, u32 byte_len)
{
	cqe->wr_id = wr_id;
	cqe->status = status;
	cqe->opcode = opcode;
	cqe->wc_flags = 0;
	cqe->byte_len = byte_len;
	cqe->imm = 0;
	cqe->qp_num = qp->num;
	cqe->src_qp = 0;
	cqe->slid = 0;
	cqe->pkey_index = 0;
	cqe->vendor_err = 0;
	cqe->sl = 0;
	cqe->dlid_path_bits = 0;
	cqe->reason = UNIV_REASON_NONE;
	cqe->reserved = 0;
}

/*
 * Programs look for the kind of header in front of a datagram where mlx5 reports it, in
 * the lower bits of the service level: 1 is IPv6, 2 is IPv4. Drivers tell their users in
 * the kernel so in a field that libibverbs does not have.
 */
static u8 comp_sl(const struct univ_qp *qp, const struct ib_wc *wc)
{
	if (!qp->datagrams || !(wc->wc_flags & IB_WC_GRH) ||
	    !(wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE))
		return wc->sl;
	if (wc->network_hdr_type == RDMA_NETWORK_IPV4)
		return wc->sl | 2;
	if (wc->network_hdr_type == RDMA_NETWORK_IPV6)
		return wc->sl | 1;
	return wc->sl;
}

static void comp_fill_recv(struct univ_cqe *cqe, const struct univ_qp *qp,
			   const struct ib_wc *wc)
{
	cqe->opcode = wc->opcode;
	cqe->wc_flags = comp_flags(wc->wc_flags);
	cqe->byte_len = wc->byte_len;
	if (wc->wc_flags & IB_WC_WITH_IMM)
		cqe->imm = (__force u32)wc->ex.imm_data;
	else if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		cqe->imm = wc->ex.invalidate_rkey;
	cqe->src_qp = wc->src_qp;
	cqe->slid = wc->slid;
	cqe->pkey_index = wc->pkey_index;
	cqe->sl = comp_sl(qp, wc);
	cqe->dlid_path_bits = wc->dlid_path_bits;
}

/* A completion is lost: the process overran its queue. */
static void comp_lost(struct univ_qp *qp)
{
	univ_qp_fail(qp);
}

/*
 * Give back the slots up to and with @index, so that a process that keeps the
 * queue full finds room when it sees the completion. From here on the record of
 * @index may be another request's.
 */
static void comp_send_retire(struct univ_send_queue *sq, u32 index)
{
	WRITE_ONCE(sq->retired, index + 1);
	univ_ring_retire(&sq->ring, index + 1);
}

static void comp_send_one(struct univ_cq *cq, struct univ_qp *qp, u32 index,
			  u8 status, u32 vendor_err)
{
	struct univ_send_queue *sq = &qp->sq;
	struct univ_send_record record =
		sq->records[index & (sq->ring.count - 1)];
	struct univ_cqe *cqe;

	comp_send_retire(sq, index);
	if (status == IB_WC_SUCCESS && !record.signaled)
		return;
	cqe = univ_cq_reserve(cq);
	if (!cqe)
		return comp_lost(qp);
	comp_fill(cqe, qp, record.wr_id, status, record.opcode,
		  status == IB_WC_SUCCESS ? record.length : 0);
	cqe->vendor_err = vendor_err;
	univ_cq_commit(cq, cqe, status != IB_WC_SUCCESS);
}

/*
 * Everything before a completed send is complete as well, with success, or the
 * device would have told. An index that was retired before, or never fed, is
 * the device's mistake or that of a process that forged a receive's wr_id.
 */
static void comp_send(struct univ_cq *cq, struct univ_qp *qp,
		      const struct ib_wc *wc)
{
	struct univ_send_queue *sq = &qp->sq;
	u32 index = (u32)wc->wr_id;
	u32 done = sq->retired;

	if (index - done >= sq->ring.count)
		return;
	if (index - done > UNIV_SEND_RUN)
		done = index - UNIV_SEND_RUN;
	for (; done != index; done++)
		comp_send_one(cq, qp, done, IB_WC_SUCCESS, 0);
	comp_send_one(cq, qp, index, wc->status, wc->vendor_err);
}

static void comp_recv(struct univ_cq *cq, struct univ_qp *qp,
		      const struct ib_wc *wc, struct comp_touched *touched)
{
	struct univ_recv_queue *rq = qp->srq ? &qp->srq->rq : &qp->rq;
	struct univ_cqe *cqe;

	univ_recv_queue_retire(rq);
	touched_add(touched, rq);
	if (qp->partner)
		WRITE_ONCE(cq->partner, qp->partner);
	cqe = univ_cq_reserve(cq);
	if (!cqe)
		return comp_lost(qp);
	comp_fill(cqe, qp, wc->wr_id, wc->status, IB_WC_RECV, 0);
	if (wc->status == IB_WC_SUCCESS)
		comp_fill_recv(cqe, qp, wc);
	cqe->vendor_err = wc->vendor_err;
	univ_cq_commit(cq, cqe, true);
}

/*
 * wc->qp is not looked into: the device's queue pair may be gone already. Ours
 * stays until its completion queues have been drained under this lock.
 *
 * Kernel verbs do not say whether a receive was solicited. Every receive counts
 * as such: a queue armed for solicited completions may be woken too often but
 * never too seldom.
 */
static void comp_one(struct univ_cq *cq, const struct ib_wc *wc,
		     struct comp_touched *touched)
{
	struct univ_qp *qp = univ_qp_find(cq, wc->qp);

	lockdep_assert_held(&cq->lock);
	if (WARN_ON_ONCE(!qp))
		return;
	if (comp_is_send(wc))
		comp_send(cq, qp, wc);
	else
		comp_recv(cq, qp, wc, touched);
}

/* One batch. Returns how many completions there were. */
static int comp_batch(struct univ_cq *cq, struct comp_touched *touched)
{
	int count, i;

	count = ib_poll_cq(cq->ib, UNIV_WC_BATCH, cq->wc);
	if (count && !cq->used)
		cq->used = true;
	for (i = 0; i < count; i++)
		comp_one(cq, &cq->wc[i], touched);
	return count;
}

/*
 * The queues live at least until the end of the RCU section, and a queue that
 * is closed meanwhile is left alone.
 */
static void comp_feed(struct comp_touched *touched)
{
	u32 i;

	for (i = 0; i < touched->count; i++)
		univ_recv_queue_feed(touched->rq[i]);
}

/*
 * Take a batch, with the device armed again if @arm and nothing is left.
 * Returns whether there may be more.
 */
static bool comp_round(struct univ_cq *cq, bool arm)
{
	struct comp_touched touched __uninitialized;
	unsigned long flags;
	bool more = false;

	touched.count = 0;
	spin_lock_irqsave(&cq->lock, flags);
	if (cq->closed)
		goto out;
	more = comp_batch(cq, &touched) == UNIV_WC_BATCH;
	if (!more && arm)
		more = ib_req_notify_cq(cq->ib,
					IB_CQ_NEXT_COMP |
					IB_CQ_REPORT_MISSED_EVENTS) > 0;
	univ_cq_notify(cq);
out:
	spin_unlock_irqrestore(&cq->lock, flags);
	comp_feed(&touched);
	return more;
}

/* Let a worker go on. One that is asked for after the queue was closed is not. */
static void comp_go_on(struct univ_cq *cq)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (!cq->closed)
		queue_work(system_unbound_wq, &cq->later);
	spin_unlock_irqrestore(&cq->lock, flags);
}

static void comp_run(struct univ_cq *cq, u32 most)
{
	u32 rounds = 1;

	rcu_read_lock();
	while (comp_round(cq, true)) {
		if (rounds++ < most)
			continue;
		comp_go_on(cq);
		break;
	}
	rcu_read_unlock();
}

static void comp_later(struct work_struct *work)
{
	comp_run(container_of(work, struct univ_cq, later), COMP_ROUNDS);
}

/*
 * An interrupt of our own: none of the driver's locks is held. It comes as soon as
 * interrupts are on again on the processor that asked for it, so a completion
 * that a worker of the driver has made waits for no other thread.
 */
static void comp_soon(struct irq_work *work)
{
	struct univ_cq *cq = container_of(work, struct univ_cq, soon);
	unsigned long flags;

	if (READ_ONCE(cq->lost)) {
		WRITE_ONCE(cq->lost, false);
		spin_lock_irqsave(&cq->lock, flags);
		univ_cq_overrun(cq);
		spin_unlock_irqrestore(&cq->lock, flags);
	}
	if (!cq->obj.ctx->dev->queue)
		comp_run(cq, COMP_ROUNDS_IRQ);
}

void univ_pump_comp_init(struct univ_cq *cq)
{
	init_irq_work(&cq->soon, comp_soon);
	INIT_WORK(&cq->later, comp_later);
}

static void mark_run(struct tasklet_struct *mark)
{
}

/*
 * A processor runs its tasklets in the order in which they were scheduled there. A
 * thread of that processor schedules the mark, since it cannot run in the middle of
 * that, as an interrupt can.
 */
static long comp_pass_here(void *unused)
{
	struct tasklet_struct mark;

	tasklet_setup(&mark, mark_run);
	local_bh_disable();
	tasklet_schedule(&mark);
	local_bh_enable();
	tasklet_kill(&mark);
	return 0;
}

static void comp_pass_tasklets(void)
{
	int cpu;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		work_on_cpu(cpu, comp_pass_here, NULL);
	cpus_read_unlock();
}

/*
 * Before the device's queue, to which nothing adds any more, is destroyed: wait until
 * the driver's tasklet, which calls our handler, has run, if the driver does not. A
 * processor that finds the tasklet at work on another one puts it at the end of its
 * list again; the second pass comes after that. When the first completion queue of a
 * context that dies goes, all of its queue pairs are gone: once is enough then. Sleeps.
 */
void univ_pump_comp_quiesce(struct univ_cq *cq)
{
	struct univ_context *ctx = cq->obj.ctx;

	if (!ctx->dev->frees_under_tasklet || !cq->used || ctx->quiesced)
		return;
	comp_pass_tasklets();
	comp_pass_tasklets();
	ctx->quiesced = ctx->ending;
}

/*
 * The device's queue is gone, and ours is closed: no handler runs any more, and
 * what the last ones asked for is not to come later. No worker is ever asked to go
 * on with a queue of a device that takes rings itself. Sleeps.
 */
void univ_pump_comp_end(struct univ_cq *cq)
{
	irq_work_sync(&cq->soon);
	if (!cq->obj.ctx->dev->queue)
		cancel_work_sync(&cq->later);
}

/*
 * The completion handler of a device whose queue may be polled, and whose receive
 * queues may be posted to, from inside it. @context is freed after a grace period
 * only, so a handler that comes late finds it closed.
 */
void univ_pump_comp_handler(struct ib_cq *ib, void *context)
{
	comp_run(context, COMP_ROUNDS);
}

/*
 * That of every other device. rdma_rxe since 6.5, for one, calls it with the lock
 * held that its poll function takes.
 */
void univ_pump_comp_defer(struct ib_cq *ib, void *context)
{
	struct univ_cq *cq = context;

	irq_work_queue(&cq->soon);
}

/* The device lost completions. As for a completion, and for the same reason. */
void univ_pump_comp_lost(struct univ_cq *cq)
{
	WRITE_ONCE(cq->lost, true);
	irq_work_queue(&cq->soon);
}

/*
 * Take everything that the device has, now: no more than its queue holds, however
 * fast others add to it. Process context; the caller holds the queue.
 */
void univ_pump_drain(struct univ_cq *cq)
{
	u32 rounds = cq->ib->cqe / UNIV_WC_BATCH + 1;
	bool more;

	do {
		rcu_read_lock();
		more = comp_round(cq, false);
		rcu_read_unlock();
		cond_resched();
	} while (more && --rounds);
}

/*
 * Take what the device has of a queue that may be going. Context: an RCU section,
 * which keeps it.
 */
void univ_pump_settle(struct univ_cq *cq)
{
	u32 rounds = COMP_ROUNDS;

	while (comp_round(cq, false) && --rounds)
		;
}

static void comp_fail(struct univ_cq *cq, struct univ_qp *qp, u64 wr_id,
		      u8 status, u8 opcode, u16 reason)
{
	struct univ_cqe *cqe = univ_cq_reserve(cq);

	if (!cqe)
		return;
	comp_fill(cqe, qp, wr_id, status, opcode, 0);
	cqe->reason = reason;
	univ_cq_commit(cq, cqe, true);
	univ_cq_notify(cq);
}

/*
 * Complete the send at @index, which the device never saw. It is retired at
 * once when nothing before it is outstanding, and otherwise, silently, with
 * what follows it; then its error overtakes the completions of older requests,
 * which only a process that fills rings by itself can bring about.
 * Context: the send queue's feed lock is held.
 */
void univ_pump_refuse_send(struct univ_qp *qp, u32 index, u64 wr_id, u8 status,
			   u16 reason)
{
	struct univ_send_queue *sq = &qp->sq;
	struct univ_cq *cq = qp->send_cq;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	sq->records[index & (sq->ring.count - 1)].signaled = false;
	if (sq->retired == index)
		comp_send_retire(sq, index);
	comp_fail(cq, qp, wr_id, status, IB_WC_SEND, reason);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* Tell that a send ring's index makes no sense; no request is meant. */
void univ_pump_corrupt_send(struct univ_qp *qp)
{
	struct univ_cq *cq = qp->send_cq;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	comp_fail(cq, qp, 0, IB_WC_LOC_QP_OP_ERR, IB_WC_SEND,
		  UNIV_REASON_RING_CORRUPT);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* Complete a receive that the device never saw; see recv_break(). */
void univ_pump_fail_recv(struct univ_recv_queue *rq, u64 wr_id, u16 reason)
{
	u8 status = IB_WC_LOC_QP_OP_ERR;
	struct univ_qp *qp = rq->qp;
	unsigned long flags;

	if (reason != UNIV_REASON_RING_CORRUPT)
		univ_recv_queue_retire(rq);
	if (!qp) {
		univ_event_raise(&rq->srq->obj.ctx->events, &rq->srq->events,
				 IB_EVENT_SRQ_ERR);
		return;
	}
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		status = IB_WC_WR_FLUSH_ERR;
	spin_lock_irqsave(&qp->recv_cq->lock, flags);
	comp_fail(qp->recv_cq, qp, wr_id, status, IB_WC_RECV, reason);
	spin_unlock_irqrestore(&qp->recv_cq->lock, flags);
	univ_qp_fail(qp);
}
