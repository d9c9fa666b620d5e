// SPDX-License-Identifier: GPL-2.0
/* Receive requests: taken out of their ring, and completed. */
#include <linux/sched/signal.h>

#include "cntr.h"
#include "recv.h"
#include "send.h"
#include "sges.h"

#define RECV_HEAD	offsetof(struct univ_recv_wr, sge)

/*
 * The pages of this many bytes behind a packet are faulted in with its pages.
 */
#define RECV_AHEAD	(64u << 10)

static void srq_event(struct uroce_srq *srq, enum ib_event_type type)
{
	struct ib_event event = {
		.device = srq->ib.device,
		.element.srq = &srq->ib,
		.event = type,
	};

	if (srq->ib.event_handler)
		srq->ib.event_handler(&event, srq->ib.srq_context);
}

/*
 * Takes the request at the head. A request of fewer than @least bytes stays in
 * the queue for a shorter message.
 */
static __always_inline enum ib_wc_status
recv_load(struct uroce_recvq *rq, struct uroce_recv *r, u32 least)
{
	const struct univ_recv_wr *wr;
	u32 tail, count;
	u64 len;

	/*
	 * A queue pair of a kernel user may have been created without a ring.
	 */
	if (!rq->ring.count)
		return IB_WC_RNR_RETRY_EXC_ERR;
	tail = univ_ring_published(&rq->ring);
	if (tail == rq->head)
		return IB_WC_RNR_RETRY_EXC_ERR;
	if (tail - rq->head > rq->ring.count) {
		rq->head = tail;
		univ_ring_retire(&rq->ring, tail);
		return IB_WC_GENERAL_ERR;
	}
	wr = univ_ring_slot(&rq->ring, rq->head);
	/* Each word is read once, since the process may write it meanwhile. */
	r->wr_id = READ_ONCE(wr->wr_id);
	count = READ_ONCE(wr->count);
	r->done = 0;
	r->count = min(count, rq->max_sge);
	len = uroce_sges_load(r->sge, (const void *)wr + RECV_HEAD, r->count);
	r->len = min_t(u64, len, UROCE_MAX_MESSAGE);
	r->attached = rq->attached;
	r->surplus = count > rq->max_sge;
	if (unlikely(r->len < least) && !r->surplus)
		return IB_WC_LOC_LEN_ERR;
	rq->head++;
	univ_ring_retire(&rq->ring, rq->head);
	return r->surplus ? IB_WC_LOC_QP_OP_ERR : IB_WC_SUCCESS;
}

static noinline enum ib_wc_status
srq_load(struct uroce_srq *srq, struct uroce_recv *r, u32 least)
{
	enum ib_wc_status status;
	bool low = false;

	spin_lock(&srq->rq.lock);
	status = recv_load(&srq->rq, r, least);
	if (srq->limit && status == IB_WC_SUCCESS &&
	    univ_ring_published(&srq->rq.ring) - srq->rq.head < srq->limit) {
		srq->limit = 0;
		low = true;
	}
	spin_unlock(&srq->rq.lock);
	if (low)
		srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	if (status == IB_WC_GENERAL_ERR)
		srq_event(srq, IB_EVENT_SRQ_ERR);
	return status;
}

enum ib_wc_status uroce_recv_take_for(struct uroce_qp *qp, u32 least)
{
	struct uroce_recv *r = &qp->resp.recv;
	struct uroce_srq *srq = qp->xrcd ? uroce_target_take(qp) : qp->srq;
	enum ib_wc_status status;

	lockdep_assert_held(&qp->resp.lock);
	status = srq ? srq_load(srq, r, least) : recv_load(&qp->rq, r, least);
	if (likely(status == IB_WC_SUCCESS)) {
		r->taken = true;
		return status;
	}
	r->taken = status == IB_WC_LOC_QP_OP_ERR;
	if (status == IB_WC_LOC_LEN_ERR)
		uroce_count(qp->dev, UROCE_CNT_RECV_SHORT);
	return status;
}

/*
 * Takes a receive request for a datagram of @len bytes, or uses the one again
 * whose pages were not there when the last datagram was to be written to it.
 */
enum ib_wc_status uroce_recv_take_datagram(struct uroce_qp *qp, u32 len)
{
	const struct uroce_recv *r = &qp->resp.recv;

	if (likely(!r->taken))
		return uroce_recv_take_for(qp, len);
	if (r->len >= len)
		return IB_WC_SUCCESS;
	uroce_count(qp->dev, UROCE_CNT_RECV_SHORT);
	return IB_WC_LOC_LEN_ERR;
}

enum ib_wc_status uroce_recv_map(struct uroce_qp *qp, u32 len)
{
	struct uroce_recv *r = &qp->resp.recv;

	return uroce_sges_map(qp, r->pd, &r->vec, r->sge, r->count, len,
			IB_ACCESS_LOCAL_WRITE, r->attached);
}

/*
 * Maps @len bytes of the receive request and begins an access to them at
 * @offset. IB_WC_RNR_RETRY_EXC_ERR: pages are missing, and are being faulted
 * in. The request stays taken.
 */
enum ib_wc_status uroce_recv_enter(struct uroce_qp *qp, u32 offset, u32 len)
{
	struct uroce_recv *r = &qp->resp.recv;
	enum ib_wc_status status = uroce_recv_map(qp, offset + len);
	int ret;

	if (unlikely(status))
		return status;
	/* A message of several packets is likely to go on. */
	if (offset && r->vec.count)
		r->vec.seg[r->vec.count - 1].len += RECV_AHEAD;
	ret = uroce_vec_enter(&r->vec, offset, len, true, &qp->resp.ask);
	if (likely(!ret))
		return IB_WC_SUCCESS;
	uroce_vec_put(&r->vec);
	return ret == -EAGAIN ? IB_WC_RNR_RETRY_EXC_ERR : IB_WC_LOC_PROT_ERR;
}

void uroce_recv_leave(struct uroce_qp *qp)
{
	uroce_vec_leave(&qp->resp.recv.vec);
	uroce_vec_put(&qp->resp.recv.vec);
}

static noinline u16 recv_why(const struct uroce_recv *r,
			     enum ib_wc_status status)
{
	if (status == IB_WC_LOC_LEN_ERR)
		return UNIV_REASON_RECV_SHORT;
	if (status == IB_WC_LOC_PROT_ERR)
		return uroce_sges_why(r->pd, r->sge, r->count,
				IB_ACCESS_LOCAL_WRITE);
	if (status == IB_WC_LOC_QP_OP_ERR)
		return r->surplus ? UNIV_REASON_WR_SGE : UNIV_REASON_MW_TYPE;
	return 0;
}

/* There are completions to write. */
void uroce_recv_write_out(struct uroce_qp *qp, u32 flags)
{
	struct uroce_resp *resp = &qp->resp;

	lockdep_assert_held(&resp->lock);
	if (likely(uroce_cq_add(resp->recv.cq, qp, &resp->done, flags)))
		return;
	WRITE_ONCE(qp->lost, true);
	uroce_send_later(qp);
}

void uroce_recv_done(struct uroce_qp *qp, const struct univ_cqe *cqe,
		     enum ib_wc_status status, bool solicited)
{
	struct univ_cqe *to = uroce_recv_next(qp);

	to->status = status;
	to->opcode = cqe->opcode;
	to->wc_flags = cqe->wc_flags;
	to->byte_len = cqe->byte_len;
	to->imm = cqe->imm;
	to->src_qp = cqe->src_qp;
	to->pkey_index = cqe->pkey_index;
	to->sl = cqe->sl;
	to->cvlan = cqe->cvlan;
	to->flow_tag = cqe->flow_tag;
	if (unlikely(status))
		to->reason = recv_why(&qp->resp.recv, status);
	uroce_recv_count(qp, to, solicited || status);
}

/* ---- peers that wait ----------------------------------------------------- */

/*
 * A waiter that has met an empty queue again, because another sender was
 * faster, keeps its place.
 */
static void srq_want(struct uroce_srq *srq, struct uroce_qp *qp)
{
	spin_lock(&srq->rq.lock);
	if (list_empty(&qp->waiter))
		list_add_tail(&qp->waiter, &srq->waiters);
	univ_ring_set_flags(&srq->rq.ring, UNIV_RING_NEED_KICK);
	spin_unlock(&srq->rq.lock);
}

/* Context: the queue's lock. */
static void srq_remove(struct uroce_srq *srq, struct uroce_qp *qp)
{
	lockdep_assert_held(&srq->rq.lock);
	list_del_init(&qp->waiter);
	if (list_empty(&srq->waiters))
		univ_ring_set_flags(&srq->rq.ring, 0);
}

/* Context: resp.lock. */
void uroce_recv_want(struct uroce_qp *qp)
{
	struct uroce_srq *srq = qp->xrcd ? qp->resp.srq : qp->srq;

	lockdep_assert_held(&qp->resp.lock);
	WRITE_ONCE(qp->resp.wanted, true);
	qp->resp.awaited = srq;
	if (srq)
		srq_want(srq, qp);
	else
		univ_ring_set_flags(&qp->rq.ring, UNIV_RING_NEED_KICK);
	/*
	 * F1 (Documentation/ordering.rst): either the thread that posts a
	 * receive request sees the flag, @wanted or the waiter, or the caller
	 * sees its tail.
	 */
	smp_mb();
}

/* Context: resp.lock. */
void uroce_recv_unwant(struct uroce_qp *qp)
{
	struct uroce_srq *srq = qp->resp.awaited;

	lockdep_assert_held(&qp->resp.lock);
	if (!qp->resp.wanted)
		return;
	WRITE_ONCE(qp->resp.wanted, false);
	qp->resp.awaited = NULL;
	if (!srq) {
		univ_ring_set_flags(&qp->rq.ring, 0);
		return;
	}
	spin_lock(&srq->rq.lock);
	srq_remove(srq, qp);
	spin_unlock(&srq->rq.lock);
}

/*
 * The address of the peer does not change while the queue pair is a waiter:
 * uroce_queue_reset() removes it before the peer can become another one.
 */
bool uroce_srq_next(struct uroce_srq *srq, struct uroce_qp **peer)
{
	struct uroce_qp *qp = NULL;

	*peer = NULL;
	spin_lock_bh(&srq->rq.lock);
	if (univ_ring_waiting(&srq->rq.ring, srq->rq.head))
		qp = list_first_entry_or_null(&srq->waiters, struct uroce_qp,
					      waiter);
	if (qp) {
		srq_remove(srq, qp);
		*peer = uroce_qp_find(qp->av.dev_id, qp->attr.dest_qp_num);
	}
	spin_unlock_bh(&srq->rq.lock);
	if (*peer)
		WRITE_ONCE((*peer)->sq.recv_posted, true);
	return qp;
}

/* ---- shared receive queues that get another ring ------------------------- */

/* Requests that are copied before other threads may run. */
#define MOVE_STEP	1024
/* The last ones, which are copied with interrupts off. */
#define MOVE_LAST	64
/* Steps for requests that are posted meanwhile, however short the queue is. */
#define MOVE_SPARE	16

/* Indices stay the same, so @index is a place in both rings. */
static void move_copy(const struct univ_ring *from, const struct univ_ring *to,
		      u32 index, u32 count)
{
	for (; count; count--, index++)
		memcpy(univ_ring_slot(to, index), univ_ring_slot(from, index),
		       to->stride);
}

/* Context: the locks of the queue. */
static void move_switch(struct uroce_srq *srq, struct uroce_srq_move *move,
			u32 tail)
{
	struct uroce_recvq *rq = &srq->rq;
	struct univ_ring ring = *move->ring;

	lockdep_assert_held(&rq->lock);
	WRITE_ONCE(ring.head->user.index, tail);
	univ_ring_retire(&ring, rq->head);
	univ_ring_set_flags(&ring, rq->ring.flags);
	rq->ring = ring;
	swap(rq->memory, move->memory);
	srq->max_wr = move->attr->max_wr;
	if (move->mask & IB_SRQ_LIMIT)
		srq->limit = move->attr->srq_limit;
}

/*
 * Takes a step of a move: switches if at most MOVE_LAST requests from @done on
 * are to be copied. Otherwise it returns how many. Messages take requests
 * meanwhile, so @done may have to catch up with the head of the queue. A
 * process that writes a wrong tail finds a wrong number of its own requests in
 * the new ring, or too many to fit.
 */
static int move_step(struct uroce_srq *srq, struct uroce_srq_move *move,
		     u32 *done)
{
	struct uroce_recvq *rq = &srq->rq;
	u32 tail = univ_ring_published(&rq->ring);
	s32 todo;

	if (tail - rq->head > min(move->attr->max_wr, rq->ring.count)) {
		move->posted = tail - rq->head;
		return -EINVAL;
	}
	if ((s32)(rq->head - *done) > 0)
		*done = rq->head;
	todo = max_t(s32, tail - *done, 0);
	if (todo > MOVE_LAST)
		return todo;
	move_copy(&rq->ring, move->ring, *done, todo);
	move_switch(srq, move, tail);
	return 0;
}

/*
 * The number of steps is limited, since a process could post and take requests
 * fast enough to keep its call in the kernel.
 */
int uroce_srq_move(struct uroce_srq *srq, struct uroce_srq_move *move)
{
	struct uroce_recvq *rq = &srq->rq;
	u32 done = READ_ONCE(rq->head);
	u32 steps = 2 * rq->ring.count / MOVE_STEP + MOVE_SPARE;
	unsigned long flags;
	int todo;

	while (steps--) {
		spin_lock_bh(&rq->lock);
		spin_lock_irqsave(&rq->post, flags);
		todo = move_step(srq, move, &done);
		spin_unlock_irqrestore(&rq->post, flags);
		spin_unlock_bh(&rq->lock);
		if (todo <= 0)
			return todo;
		if (fatal_signal_pending(current))
			return -EINTR;
		todo = min(todo, MOVE_STEP);
		move_copy(&rq->ring, move->ring, done, todo);
		done += todo;
		cond_resched();
	}
	return -EBUSY;
}

/*
 * In the error state no message takes receive requests, so each post has to be
 * flushed: request a kick, and look at the tail once more (F1).
 */
void uroce_recv_flush(struct uroce_qp *qp)
{
	struct univ_cqe cqe = { .opcode = IB_WC_RECV };
	enum ib_wc_status status;
	u32 n;

	lockdep_assert_held(&qp->resp.lock);
	uroce_recv_unwant(qp);
	if (qp->resp.recv.taken)
		uroce_recv_done(qp, &cqe, IB_WC_WR_FLUSH_ERR, true);
	if (!qp->srq && qp->rq.ring.count) {
		univ_ring_set_flags(&qp->rq.ring, UNIV_RING_NEED_KICK);
		/*
		 * F1: either the process sees the flag, or this thread sees its
		 * tail.
		 */
		smp_mb();
		for (n = 0; n < UROCE_FLUSH_TURN; n++) {
			status = recv_load(&qp->rq, &qp->resp.recv, 0);
			/* No request, or an index that makes no sense. */
			if (status == IB_WC_RNR_RETRY_EXC_ERR ||
			    status == IB_WC_GENERAL_ERR)
				break;
			uroce_recv_done(qp, &cqe, IB_WC_WR_FLUSH_ERR, true);
		}
		if (n == UROCE_FLUSH_TURN)
			uroce_send_later(qp);
	}
	uroce_recv_notify(qp);
}
