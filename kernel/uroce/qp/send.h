/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send requests: taken out of their ring, and completed. Context: sq.lock,
 * except for uroce_send_later().
 */
#ifndef UROCE_SEND_H
#define UROCE_SEND_H

#include "pair.h"

/* Requests that are flushed before other work gets a turn. */
#define UROCE_FLUSH_TURN 64

/*
 * uroce_send_load() makes the private copy of the request at an index; if the
 * request is bad, @reason says why, as far as it is known. uroce_send_map()
 * maps its memory with the given access. uroce_send_done() completes the
 * request at sq.head and advances the head; with an error it moves the queue
 * pair to ERR or SQE. uroce_send_counted() counts a request that has succeeded,
 * and writes its completion if the request is signaled. uroce_send_later()
 * schedules a run of the queue.
 */
enum ib_wc_status uroce_send_load(struct uroce_qp *qp, u32 index,
				  struct uroce_wqe *wqe, u16 *reason);
enum ib_wc_status uroce_send_map(struct uroce_qp *qp, struct uroce_wqe *wqe,
				 u32 access);
void uroce_send_done(struct uroce_qp *qp, struct uroce_wqe *wqe,
		     enum ib_wc_status status, u16 reason);
void uroce_send_complete(struct uroce_qp *qp, const struct uroce_wqe *wqe,
			 bool last);
void uroce_send_counted(struct uroce_qp *qp, const struct uroce_wqe *wqe,
			bool last);
/* The opcodes that the queue pair may send, as bits by enum univ_wr_opcode. */
u32 uroce_send_opcodes(const struct uroce_qp *qp);
void uroce_send_later(struct uroce_qp *qp);
void uroce_send_wait(struct uroce_qp *qp, enum uroce_wait what, u64 ns);

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

/*
 * The request at the head has succeeded. If it is the @last one that was
 * posted, the process is notified at once. Context: sq.lock, possibly a
 * resp.lock.
 */
static inline void uroce_send_success(struct uroce_qp *qp,
				      struct uroce_wqe *wqe, bool last)
{
	struct uroce_sendq *sq = &qp->sq;

	uroce_send_retire(sq, wqe);
	if (!sq->signal && !(wqe->wr.flags & UNIV_WR_SIGNALED))
		return;
	if (unlikely(sq->signal < 0))
		uroce_send_counted(qp, wqe, last);
	else
		uroce_send_complete(qp, wqe, last);
}

/* Called after send requests were completed. Context: sq.lock. */
static inline void uroce_send_notify(struct uroce_qp *qp)
{
	if (likely(!qp->sq.untold))
		return;
	qp->sq.untold = false;
	uroce_cq_notify(qp->send_cq);
}

#endif
