/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send requests: taken out of their ring, and completed. Context: sq.lock,
 * except for uroce_send_later().
 */
#ifndef UROCE_SEND_H
#define UROCE_SEND_H

#include "pair.h"

#define UROCE_SEND_HEAD	offsetof(struct univ_send_wr, data)

/* The flags that requests of every type may have. */
#define UROCE_SEND_FLAGS (UNIV_WR_FENCE | UNIV_WR_SIGNALED | \
			  UNIV_WR_SOLICITED | UNIV_WR_INLINE)

/* Requests that are flushed before other work gets a turn. */
#define UROCE_FLUSH_TURN 64

/*
 * uroce_send_load() makes the private copy of the request at an index; if the
 * request is bad, @reason says why, as far as it is known. uroce_send_map()
 * maps its memory with the given access. uroce_send_done() completes the
 * request at sq.head and advances the head; with an error it moves the queue
 * pair to ERR or SQE. uroce_send_counted() counts a request that has succeeded,
 * and completes it if it is signaled. uroce_send_later() schedules a run of the
 * queue.
 *
 * Completions collect in sq.done. uroce_send_write() shows them to the process,
 * and uroce_send_notify(), which ends each hold of the lock in which requests
 * were completed, wakes it as well.
 */
enum ib_wc_status uroce_send_load(struct uroce_qp *qp, u32 index,
				  struct uroce_wqe *wqe, u16 *reason);
enum ib_wc_status uroce_send_map(struct uroce_qp *qp, struct uroce_wqe *wqe,
				 u32 access);
void uroce_send_done(struct uroce_qp *qp, struct uroce_wqe *wqe,
		     enum ib_wc_status status, u16 reason);
void uroce_send_counted(struct uroce_qp *qp, const struct uroce_wqe *wqe);
void uroce_send_write_out(struct uroce_qp *qp, u32 flags);
/* A completion found no room. */
void uroce_send_lost(struct uroce_qp *qp);
/*
 * Sets the opcodes that the queue pair may send, by its type; without TSO, for
 * which a slot needs room.
 */
void uroce_send_allow(struct uroce_qp *qp);
void uroce_send_later(struct uroce_qp *qp);
void uroce_send_wait(struct uroce_qp *qp, enum uroce_wait what, u64 ns);

/*
 * As uroce_send_load(), for the most common requests of a connection: sends,
 * writes and reads of one segment or of inline data. Returns false for others,
 * among them each bad one; uroce_send_load() then makes the copy again.
 * Context: sq.lock.
 */
static __always_inline bool uroce_send_load_quick(struct uroce_sendq *sq,
						  struct uroce_wqe *wqe)
{
	void *slot = univ_ring_slot(&sq->ring, sq->head);
	struct univ_send_wr *wr = &wqe->wr;

	lockdep_assert_held(&sq->lock);
	univ_ring_fetch(wr, slot, UROCE_SEND_HEAD);
	if (unlikely(wr->opcode >= BITS_PER_TYPE(u32) ||
		     !(sq->quick & BIT(wr->opcode)) ||
		     wr->flags & ~UROCE_SEND_FLAGS))
		return false;
	if (wr->flags & UNIV_WR_INLINE) {
		if (unlikely(wr->count > sq->max_inline ||
			     wr->opcode == UNIV_WR_RDMA_READ))
			return false;
		wqe->data = slot + UROCE_SEND_HEAD;
		wqe->len = wr->count;
	} else {
		if (unlikely(wr->count != 1))
			return false;
		univ_ring_fetch(wqe->sge, slot + UROCE_SEND_HEAD,
				sizeof(*wqe->sge));
		if (unlikely(wqe->sge->length > UROCE_MAX_SEND))
			return false;
		wqe->data = NULL;
		wqe->len = wqe->sge->length;
	}
	wqe->done = 0;
	wqe->stage = UROCE_STAGE_NEW;
	wqe->loaded = true;
	return true;
}

/*
 * The slot is given back before the completion is visible. Otherwise a program
 * that keeps the queue full would find no room.
 */
static inline void uroce_send_retire(struct uroce_sendq *sq,
				     struct uroce_wqe *wqe)
{
	lockdep_assert_held(&sq->lock);
	wqe->loaded = false;
	sq->head++;
	univ_ring_retire(&sq->ring, sq->head);
}

/* Context: sq.lock. */
static inline void uroce_send_write(struct uroce_qp *qp)
{
	if (!qp->sq.done.count)
		return;
	qp->sq.untold = true;
	uroce_send_write_out(qp, 0);
}

/* Called after send requests were completed. Context: sq.lock. */
static inline void uroce_send_notify(struct uroce_qp *qp)
{
	if (qp->sq.done.count) {
		/* As uroce_send_write_out(), without a call. */
		if (unlikely(!uroce_cq_add(qp->send_cq, qp, &qp->sq.done,
					   UNIV_COMPLETE_NOTIFY)))
			uroce_send_lost(qp);
	} else if (unlikely(qp->sq.untold)) {
		uroce_cq_notify(qp->send_cq);
	}
	qp->sq.untold = false;
}

/*
 * The completion of a request, to be filled in; the caller then counts it in
 * sq.done. Context: sq.lock.
 */
static inline struct univ_cqe *uroce_send_next(struct uroce_qp *qp,
					       const struct uroce_wqe *wqe)
{
	struct uroce_batch *done = &qp->sq.done;
	struct univ_cqe *cqe;

	lockdep_assert_held(&qp->sq.lock);
	if (unlikely(done->count == UROCE_BATCH))
		uroce_send_write(qp);
	cqe = uroce_batch_next(done);
	cqe->wr_id = wqe->wr.wr_id;
	cqe->opcode = uroce_wr_ops[wqe->wr.opcode].wc;
	cqe->qp_num = qp->num;
	return cqe;
}

static inline void uroce_send_complete(struct uroce_qp *qp,
				       const struct uroce_wqe *wqe)
{
	uroce_send_next(qp, wqe)->byte_len = wqe->len;
	qp->sq.done.count++;
}

/*
 * The request at the head has succeeded. Context: sq.lock, possibly a
 * resp.lock.
 */
static inline void uroce_send_success(struct uroce_qp *qp,
				      struct uroce_wqe *wqe)
{
	struct uroce_sendq *sq = &qp->sq;

	uroce_send_retire(sq, wqe);
	if (!sq->signal && !(wqe->wr.flags & UNIV_WR_SIGNALED))
		return;
	if (unlikely(sq->signal < 0))
		uroce_send_counted(qp, wqe);
	else
		uroce_send_complete(qp, wqe);
}

#endif
