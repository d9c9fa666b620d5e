// SPDX-License-Identifier: GPL-2.0
/* Completions on their way from the device to the process. */
#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

#include "context.h"
#include "cq.h"
#include "pump.h"
#include "qp.h"
#include "srq.h"

/* Receive queues that lost a request in one batch, to be fed afterwards. */
struct comp_touched {
	struct univ_recv_queue *rq[UNIV_WC_BATCH];
	struct univ_send_queue *sq;
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
		flags |= 1 << 0;
	if (ib & IB_WC_WITH_IMM)
		flags |= 1 << 1;
	if (ib & IB_WC_IP_CSUM_OK)
		flags |= 1 << 2;
	if (ib & IB_WC_WITH_INVALIDATE)
		flags |= 1 << 3;
	return flags;
}

static void comp_fill(struct univ_cqe *cqe, const struct ib_wc *wc)
{
	memset(cqe, 0, sizeof(*cqe));
	cqe->wr_id = wc->wr_id;
	cqe->status = wc->status;
	cqe->opcode = wc->opcode;
	cqe->qp_num = wc->qp->qp_num;
	cqe->vendor_err = wc->vendor_err;
	if (wc->status != IB_WC_SUCCESS)
		return;
	cqe->wc_flags = comp_flags(wc->wc_flags);
	cqe->byte_len = wc->byte_len;
	if (wc->wc_flags & IB_WC_WITH_IMM)
		cqe->imm = (__force u32)wc->ex.imm_data;
	else if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		cqe->imm = wc->ex.invalidate_rkey;
	cqe->src_qp = wc->src_qp;
	cqe->slid = wc->slid;
	cqe->pkey_index = wc->pkey_index;
	cqe->sl = wc->sl;
	cqe->dlid_path_bits = wc->dlid_path_bits;
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

/*
 * Everything before a completed send is complete as well, so that unsignaled
 * requests are retired with the next signaled one.
 */
static void comp_send(struct univ_qp *qp, struct univ_cqe *cqe,
		      struct comp_touched *touched)
{
	struct univ_send_queue *sq = &qp->sq;
	u32 index = (u32)cqe->wr_id;

	if (!sq->ring.count)
		return;
	cqe->wr_id = sq->wr_ids[index & (sq->ring.count - 1)];
	if (cqe->status != IB_WC_SUCCESS)
		cqe->opcode = IB_WC_SEND;
	if (index - sq->retired < sq->ring.count) {
		WRITE_ONCE(sq->retired, index + 1);
		univ_ring_retire(&sq->ring, sq->retired);
	}
	if (READ_ONCE(sq->stalled))
		touched->sq = sq;
}

static void comp_recv(struct univ_qp *qp, struct univ_cqe *cqe,
		      struct comp_touched *touched)
{
	struct univ_recv_queue *rq = qp->srq ? &qp->srq->rq : &qp->rq;

	if (cqe->status != IB_WC_SUCCESS)
		cqe->opcode = IB_WC_RECV;
	atomic_inc(&rq->retired);
	touched_add(touched, rq);
}

/*
 * wc->qp is valid: before a queue pair is freed it is reset, and then its
 * completion queues are drained under this lock.
 *
 * Kernel verbs do not say whether a receive was solicited. Every receive counts
 * as such: a queue armed for solicited completions may be woken too often but
 * never too seldom.
 */
static void comp_one(struct univ_cq *cq, const struct ib_wc *wc,
		     struct comp_touched *touched)
{
	struct univ_qp *qp = wc->qp->qp_context;
	bool send = comp_is_send(wc);
	struct univ_cqe cqe;

	lockdep_assert_held(&cq->lock);
	comp_fill(&cqe, wc);
	if (send)
		comp_send(qp, &cqe, touched);
	else
		comp_recv(qp, &cqe, touched);
	if (!univ_cq_push(cq, &cqe, !send || cqe.status != IB_WC_SUCCESS))
		schedule_work(&qp->error_work);
}

/* One batch. Returns how many completions there were. */
static int comp_batch(struct univ_cq *cq, struct comp_touched *touched)
{
	int count, i;

	count = ib_poll_cq(cq->ib, UNIV_WC_BATCH, cq->wc);
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
	if (touched->sq)
		univ_send_queue_feed(touched->sq);
}

/*
 * Take a batch, with the device armed again if @arm and nothing is left.
 * Returns whether there may be more.
 */
static bool comp_round(struct univ_cq *cq, bool arm)
{
	struct comp_touched touched = { .count = 0 };
	unsigned long flags;
	bool more = false;

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

/*
 * The device's completion handler: interrupt context. @context is freed after a
 * grace period only, so a handler that comes late finds it closed.
 */
void univ_pump_comp_handler(struct ib_cq *ib, void *context)
{
	struct univ_cq *cq = context;

	rcu_read_lock();
	while (comp_round(cq, true))
		;
	rcu_read_unlock();
}

/* Take everything that the device has, now. Process context. */
void univ_pump_drain(struct univ_cq *cq)
{
	rcu_read_lock();
	while (comp_round(cq, false))
		;
	rcu_read_unlock();
}

/*
 * Complete a send that the device never saw. It is retired at once when nothing
 * before it is outstanding, and otherwise with what follows it.
 * Context: the send queue's feed lock is held. @index is behind the request.
 */
void univ_pump_fail_send(struct univ_qp *qp, u32 index, u64 wr_id, u8 status,
			 u16 reason)
{
	struct univ_cqe cqe = {
		.wr_id = wr_id,
		.status = status,
		.opcode = IB_WC_SEND,
		.qp_num = qp->ib->qp_num,
		.reason = reason,
	};
	struct univ_cq *cq = qp->send_cq;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	univ_cq_push(cq, &cqe, true);
	if (qp->sq.retired == index - 1) {
		WRITE_ONCE(qp->sq.retired, index);
		univ_ring_retire(&qp->sq.ring, index);
	}
	univ_cq_notify(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* The same of a receive; see recv_break() for shared queues. */
void univ_pump_fail_recv(struct univ_recv_queue *rq, u64 wr_id, u16 reason)
{
	struct univ_qp *qp = rq->qp;
	struct univ_cqe cqe = {
		.wr_id = wr_id,
		.status = IB_WC_LOC_QP_OP_ERR,
		.opcode = IB_WC_RECV,
		.reason = reason,
	};
	unsigned long flags;

	if (reason != UNIV_REASON_RING_CORRUPT)
		atomic_inc(&rq->retired);
	if (!qp) {
		univ_event_raise(&rq->srq->obj.ctx->events, &rq->srq->events,
				 IB_EVENT_SRQ_ERR);
		return;
	}
	cqe.qp_num = qp->ib->qp_num;
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		cqe.status = IB_WC_WR_FLUSH_ERR;
	spin_lock_irqsave(&qp->recv_cq->lock, flags);
	univ_cq_push(qp->recv_cq, &cqe, true);
	univ_cq_notify(qp->recv_cq);
	spin_unlock_irqrestore(&qp->recv_cq->lock, flags);
	schedule_work(&qp->error_work);
}
