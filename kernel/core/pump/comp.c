// SPDX-License-Identifier: GPL-2.0
/* Completions on their way from the device to the process. */
#include <linux/cpu.h>
#include <linux/interrupt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat.h"
#include "pump_queue.h"

/*
 * The maximum number of batches that one caller takes, in interrupt context or
 * under RCU. Several processors that post to queue pairs of one completion
 * queue must not keep a completion handler busy for ever.
 */
#define COMP_ROUNDS 16
/* The same in an interrupt of our own. */
#define COMP_ROUNDS_IRQ 4

/*
 * Receive queues of which requests completed in one batch. They are fed
 * afterwards.
 */
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
 * Returns whether a completion is that of a send. The opcode is valid on
 * success only. Otherwise the tag in wr_id decides. A process that gives a
 * receive that very wr_id makes the pump take a failed receive for one of its
 * own sends, and harms only itself.
 */
static bool comp_is_send(const struct ib_wc *wc)
{
	if (wc->status == IB_WC_SUCCESS)
		return !(wc->opcode & IB_WC_RECV);
	return wc->wr_id >> 32 == UNIV_SEND_TAG;
}

/* Fills the members that every completion has, and zeroes the others. */
static void comp_fill(struct univ_cqe *cqe, const struct pump_qp *qp, u64 wr_id,
		      u8 status, u8 opcode, u32 byte_len)
{
	cqe->wr_id = wr_id;
	cqe->status = status;
	cqe->opcode = opcode;
	cqe->wc_flags = 0;
	cqe->byte_len = byte_len;
	cqe->imm = 0;
	cqe->qp_num = qp->core->num;
	cqe->src_qp = 0;
	cqe->slid = 0;
	cqe->pkey_index = 0;
	cqe->vendor_err = 0;
	cqe->sl = 0;
	cqe->dlid_path_bits = 0;
	cqe->reason = UNIV_REASON_NONE;
	cqe->flow_tag = 0;
}

/*
 * Programs look for the kind of IP header in front of a datagram where mlx5
 * reports it: in the lower bits of the service level, 1 for IPv6 and 2 for
 * IPv4. Drivers report it to users in the kernel in a field that libibverbs
 * does not have.
 */
static u8 comp_sl(const struct pump_qp *qp, const struct ib_wc *wc)
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

static void comp_fill_recv(struct univ_cqe *cqe, const struct pump_qp *qp,
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

/*
 * Gives back the slots up to and including @index, so that a process that keeps
 * the queue full finds room when it sees the completion. From here on the
 * record of @index may be that of another request.
 */
static void comp_send_retire(struct univ_send_queue *sq, u32 index)
{
	WRITE_ONCE(sq->retired, index + 1);
	univ_ring_retire(&sq->ring, index + 1);
}

static void comp_send_one(struct univ_cq *cq, struct pump_qp *qp, u32 index,
			  u8 status, u32 vendor_err)
{
	struct univ_send_queue *sq = &qp->sq;
	struct univ_send_record record =
		qp->records[index & (sq->ring.count - 1)];
	struct univ_cqe *cqe;

	comp_send_retire(sq, index);
	if (record.refused || (status == IB_WC_SUCCESS && !record.signaled))
		return;
	cqe = univ_cq_reserve(cq);
	if (!cqe)
		return pump_qp_fail(qp);
	comp_fill(cqe, qp, record.wr_id, status, record.opcode,
		  status == IB_WC_SUCCESS ? record.length : 0);
	cqe->vendor_err = vendor_err;
	univ_cq_commit(cq, cqe, status != IB_WC_SUCCESS);
}

/*
 * All sends before a completed one are complete as well, and successful, or the
 * device would have reported them. An index that was retired before or never
 * fed is a mistake of the device, or of a process that forged the wr_id of a
 * receive.
 */
static void comp_send(struct univ_cq *cq, struct pump_qp *qp,
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

static void comp_recv(struct pump_cq *pump, struct pump_qp *qp,
		      const struct ib_wc *wc, struct comp_touched *touched)
{
	struct univ_recv_queue *rq = pump_recv_queue(qp);
	struct univ_cq *cq = pump->core;
	struct univ_cqe *cqe;

	univ_recv_queue_retire(rq);
	touched_add(touched, rq);
	if (qp->partner)
		WRITE_ONCE(pump->partner, qp->partner);
	cqe = univ_cq_reserve(cq);
	if (!cqe)
		return pump_qp_fail(qp);
	comp_fill(cqe, qp, wc->wr_id, wc->status, IB_WC_RECV, 0);
	if (wc->status == IB_WC_SUCCESS)
		comp_fill_recv(cqe, qp, wc);
	cqe->vendor_err = wc->vendor_err;
	univ_cq_commit(cq, cqe, true);
}

/*
 * wc->qp is not followed: the device's queue pair may be gone already. The
 * pump's stays until its completion queues have been drained under this lock.
 *
 * Kernel verbs do not say whether a receive was solicited, so every receive
 * counts as solicited: a queue armed for solicited completions may raise too
 * many events but never too few.
 */
static void comp_one(struct pump_cq *pump, const struct ib_wc *wc,
		     struct comp_touched *touched)
{
	struct pump_qp *qp = pump_qp_find(pump, wc->qp);

	lockdep_assert_held(&pump->core->lock);
	if (WARN_ON_ONCE(!qp))
		return;
	if (comp_is_send(wc))
		comp_send(pump->core, qp, wc);
	else
		comp_recv(pump, qp, wc, touched);
}

/* Takes one batch. Returns how many completions there were. */
static int comp_batch(struct pump_cq *pump, struct comp_touched *touched)
{
	int count, i;

	count = ib_poll_cq(pump->core->ib, UNIV_WC_BATCH, pump->wc);
	if (count && !pump->used)
		pump->used = true;
	for (i = 0; i < count; i++)
		comp_one(pump, &pump->wc[i], touched);
	return count;
}

/*
 * Feeds receive queues of which requests completed. They live at least until
 * the end of the RCU section, and a queue that was closed meanwhile is not fed.
 */
static void comp_feed(struct comp_touched *touched)
{
	u32 i;

	for (i = 0; i < touched->count; i++)
		univ_recv_queue_feed(touched->rq[i]);
}

/*
 * Takes a batch, and arms the device again if @arm is set and nothing is left.
 * Returns whether there may be more.
 */
static bool comp_round(struct pump_cq *pump, bool arm)
{
	struct comp_touched touched __uninitialized;
	struct univ_cq *cq = pump->core;
	unsigned long flags;
	bool more = false;

	touched.count = 0;
	spin_lock_irqsave(&cq->lock, flags);
	if (cq->closed)
		goto out;
	more = comp_batch(pump, &touched) == UNIV_WC_BATCH;
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

/* Lets a worker go on, unless the queue was closed. */
static void comp_go_on(struct pump_cq *pump)
{
	struct univ_cq *cq = pump->core;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (!cq->closed)
		queue_work(system_dfl_wq, &pump->later);
	spin_unlock_irqrestore(&cq->lock, flags);
}

static void comp_run(struct pump_cq *pump, u32 most)
{
	u32 rounds = 1;

	rcu_read_lock();
	while (comp_round(pump, true)) {
		if (rounds++ < most)
			continue;
		comp_go_on(pump);
		break;
	}
	rcu_read_unlock();
}

static void comp_later(struct work_struct *work)
{
	comp_run(container_of(work, struct pump_cq, later), COMP_ROUNDS);
}

/*
 * An interrupt of our own: none of the driver's locks is held. It comes as soon
 * as interrupts are on again on the processor that asked for it, so a
 * completion from a worker of the driver does not wait for another thread.
 */
static void comp_soon(struct irq_work *work)
{
	comp_run(container_of(work, struct pump_cq, soon), COMP_ROUNDS_IRQ);
}

/*
 * The completion handler for a driver that lets a handler poll the queue and
 * post to receive queues. @context is freed after a grace period only, so a
 * handler that comes late finds the queue closed.
 */
static void comp_handler(struct ib_cq *ib, void *context)
{
	struct univ_cq *cq = context;

	comp_run(cq->pump, COMP_ROUNDS);
}

/*
 * The completion handler for every other driver. rdma_rxe since 6.5, for
 * example, calls it with the lock held that its poll function takes.
 */
static void comp_defer(struct ib_cq *ib, void *context)
{
	struct univ_cq *cq = context;

	WRITE_ONCE(cq->pump->soon_queued, true);
	irq_work_queue(&cq->pump->soon);
}

static void mark_run(struct tasklet_struct *mark)
{
}

/*
 * A processor runs its tasklets in the order in which they were scheduled
 * there. The mark is scheduled by a thread of that processor and not by an
 * interrupt, which could come while the processor is running tasklets.
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
 * The device's queue, to which nothing is added any more, will be destroyed.
 * Waits until the driver's tasklet, which calls the handler, has run, if the
 * driver does not wait for it. A processor that finds the tasklet at work on
 * another one puts it at the end of its list again; the second pass comes after
 * that. When the first completion queue of a context that ends is destroyed,
 * all of its queue pairs are gone, so once is enough then. Sleeps.
 */
void univ_pump_comp_quiesce(struct univ_cq *core)
{
	struct univ_context *ctx = core->obj.ctx;

	if (!ctx->dev->pump->frees_under_tasklet ||
	    !READ_ONCE(core->pump->used) || ctx->quiesced)
		return;
	comp_pass_tasklets();
	comp_pass_tasklets();
	ctx->quiesced = ctx->ending;
}

/*
 * Takes the completions that came while the queue was closed, and arms the
 * device.
 */
void univ_pump_comp_reopen(struct univ_cq *core)
{
	comp_run(core->pump, COMP_ROUNDS);
}

/*
 * The device's queue is gone and the core's is closed: no handler runs any
 * more, and the work that the last handlers queued must not run later. Sleeps;
 * on PREEMPT_RT irq_work_sync() takes a grace period.
 */
void univ_pump_comp_end(struct univ_cq *core)
{
	struct pump_cq *pump = core->pump;

	if (READ_ONCE(pump->soon_queued))
		irq_work_sync(&pump->soon);
	cancel_work_sync(&pump->later);
	kfree_rcu(pump, rcu);
}

/*
 * The process is about to read a completion event. Some programs have one
 * channel for their send and their receive queue. They wait for the event of a
 * send, mistake the event of the peer's answer for it, and poll the send queue.
 * With hardware that works: the device has written the completion of the send
 * to the process's memory before that of the answer. So this function takes the
 * completions that the device has for the send queue of the queue pair that
 * received last. It takes those of no other queue, since a channel may have
 * thousands of queues.
 * Context: an RCU section, which keeps the partner; pump_table_remove() clears
 * it.
 */
static void comp_settle(struct univ_event_source *source)
{
	struct univ_cq *cq = container_of(source, struct univ_cq, comp_events);
	struct univ_cq *partner = READ_ONCE(cq->pump->partner);
	u32 rounds = COMP_ROUNDS;

	if (!partner)
		return;
	while (comp_round(partner->pump, false) && --rounds)
		;
}

/*
 * The device's queue was made. It is armed at once, so that every completion is
 * moved to the process without its asking. ib_alloc_cq() sets the handler in
 * the same way.
 */
int univ_pump_comp_attach(struct ib_cq *ib, struct univ_cq *core)
{
	struct pump_cq *pump = kzalloc(sizeof(*pump), GFP_KERNEL_ACCOUNT);

	if (!pump)
		return -ENOMEM;
	pump->core = core;
	init_irq_work(&pump->soon, comp_soon);
	INIT_WORK(&pump->later, comp_later);
	core->comp_events.settle = comp_settle;
	core->pump = pump;
	/*
	 * Release: a handler finds @pump. Pairs with the driver's call of it.
	 */
	smp_store_release(&ib->comp_handler,
			  core->obj.ctx->dev->pump->polls_in_handler ?
				  comp_handler : comp_defer);
	ib_req_notify_cq(ib, IB_CQ_NEXT_COMP);
	return 0;
}

/*
 * Takes all completions that the device has now. It takes no more than the
 * device's queue holds, however fast others are added. Process context; the
 * caller holds the queue.
 */
void univ_pump_drain(struct univ_cq *core)
{
	u32 rounds = core->ib->cqe / UNIV_WC_BATCH + 1;
	bool more;

	do {
		rcu_read_lock();
		more = comp_round(core->pump, false);
		rcu_read_unlock();
		cond_resched();
	} while (more && --rounds);
}

static void comp_fail(struct univ_cq *cq, struct pump_qp *qp, u64 wr_id,
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
 * Completes the send at @index, which the pump or the device refused. It is
 * retired at once when no earlier send is outstanding. Otherwise it is retired
 * silently with a later one, and its error overtakes the completions of older
 * requests. Context: the send queue's feed lock is held.
 */
void univ_pump_refuse_send(struct pump_qp *qp, u32 index, u64 wr_id, u8 status,
			   u16 reason)
{
	struct univ_send_queue *sq = &qp->sq;
	struct univ_cq *cq = qp->core->send_cq;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	qp->records[index & (sq->ring.count - 1)].refused = true;
	if (sq->retired == index)
		comp_send_retire(sq, index);
	comp_fail(cq, qp, wr_id, status, IB_WC_SEND, reason);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* Reports that the index of a send ring makes no sense. No request is meant. */
void univ_pump_corrupt_send(struct pump_qp *qp)
{
	struct univ_cq *cq = qp->core->send_cq;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	comp_fail(cq, qp, 0, IB_WC_LOC_QP_OP_ERR, IB_WC_SEND,
		  UNIV_REASON_RING_CORRUPT);
	spin_unlock_irqrestore(&cq->lock, flags);
}

static void comp_fail_srq(struct univ_recv_queue *rq)
{
	struct univ_srq *srq = container_of(rq, struct pump_srq, rq)->core;

	univ_event_raise(&srq->obj.ctx->events, &srq->events, IB_EVENT_SRQ_ERR);
}

/*
 * Completes a refused receive (see recv_break()), or reports that the index of
 * a receive ring makes no sense.
 */
void univ_pump_fail_recv(struct univ_recv_queue *rq, u64 wr_id, u16 reason)
{
	u8 status = IB_WC_LOC_QP_OP_ERR;
	unsigned long flags;
	struct pump_qp *qp;
	struct univ_cq *cq;

	if (reason != UNIV_REASON_RING_CORRUPT)
		univ_recv_queue_retire(rq);
	if (rq->srq)
		return comp_fail_srq(rq);
	qp = container_of(rq, struct pump_qp, rq);
	cq = qp->core->recv_cq;
	if (READ_ONCE(qp->core->state) == IB_QPS_ERR)
		status = IB_WC_WR_FLUSH_ERR;
	spin_lock_irqsave(&cq->lock, flags);
	comp_fail(cq, qp, wr_id, status, IB_WC_RECV, reason);
	spin_unlock_irqrestore(&cq->lock, flags);
	pump_qp_fail(qp);
}
