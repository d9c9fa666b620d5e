/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the files of the path within the host share: local.c walks
 * send queues, perform.c executes requests of connected queue pairs, datagram.c
 * delivers datagrams. Private to this room.
 */
#ifndef UROCE_LOCAL_H
#define UROCE_LOCAL_H

#include "path.h"

/*
 * If too many packets are queued below, a datagram is tried again after this
 * time, and then ever later, up to 12.8 ms, since thousands of queue pairs may
 * wait like this.
 */
#define UROCE_FULL_FIRST_NS	(100ull * NSEC_PER_USEC)
#define UROCE_FULL_DOUBLINGS	7

enum outcome {
	LOCAL_DONE,
	LOCAL_MORE,		/* a piece is done */
	LOCAL_RNR,		/* the peer has no receive request */
	LOCAL_SILENT,		/* the peer does not answer */
	LOCAL_FULL,		/* too many packets are queued below */
	LOCAL_PACED,		/* the limit of the rate allows no packet now */
	LOCAL_HELD,		/* delayed by a fault on request */
	LOCAL_PAGING,		/* pages are being faulted in */
	LOCAL_ABSENT,		/* the peer's pages cannot be faulted in */
	LOCAL_FAILED,
	LOCAL_SLOW,		/* nothing is done, the slow path has to */
};

/**
 * struct turn - one request on its way to a queue pair of this host
 * @qp: the sender
 * @peer: the receiver; its resp.lock is held
 * @answers: the peer is connected to @qp and able to answer
 * @quick: the same, and it has received a message or may send: the fast path
 *	may be used
 * @reached: a request has reached the peer
 * @asked: the thread that posts the peer's next receive request will run @qp
 * @wqe: the request
 * @status: status of a failed request
 * @reason: reason of a failed request, enum univ_reason
 * @bytes: bytes that may still be copied in this turn
 * @tail: tail of the send queue
 * @own: region of @qp that the last request used, held for the next one, or
 *	NULL; no key is invalidated meanwhile
 * @theirs: the same of @peer
 * @told: completion queue of received messages, to be notified at the end; or
 *	NULL
 */
struct turn {
	struct uroce_qp *qp;
	struct uroce_qp *peer;
	bool answers;
	bool quick;
	bool reached;
	bool asked;
	struct uroce_wqe *wqe;
	enum ib_wc_status status;
	u16 reason;
	u32 bytes;
	u32 tail;
	struct uroce_mr *own;
	struct uroce_mr *theirs;
	struct uroce_cq *told;
};

static inline enum outcome turn_fail(struct turn *t, enum ib_wc_status status)
{
	t->status = status;
	return LOCAL_FAILED;
}

/*
 * Pages are missing. If they are asked for anew, the wait begins anew: under
 * memory pressure the kernel reclaims pages again, and pages that have come
 * must not be gone when a long wait for earlier ones ends. Thousands of queue
 * pairs may ask for pages that never stay. So if no byte moves, 128 asks with
 * waits from 10 us on are followed by 128 asks with waits from 5 to 41 ms on.
 */
#define QUICK_ASKS	128
#define SLOW_WAITS	9
#define ASKS_DOUBLE	32

static inline void turn_asks(struct turn *t, struct uroce_ask *ask)
{
	struct uroce_sendq *sq = &t->qp->sq;

	if (!uroce_ask_is_new(ask))
		return;
	sq->waits = 0;
	if (sq->asks >= QUICK_ASKS)
		sq->waits = SLOW_WAITS + (sq->asks - QUICK_ASKS) / ASKS_DOUBLE;
	/* After 255 comes 0. */
	sq->asks++;
}

/*
 * Begins an access to the next @n bytes of the request's own memory, which is
 * mapped; uroce_vec_leave() ends it.
 */
static inline enum outcome turn_enter(struct turn *t, u32 n, bool write)
{
	int ret = uroce_vec_enter(&t->wqe->vec, t->wqe->done, n, write,
				  &t->qp->sq.ask);

	if (likely(!ret))
		return LOCAL_DONE;
	if (ret != -EAGAIN)
		return turn_fail(t, IB_WC_LOC_PROT_ERR);
	turn_asks(t, t->qp->sq.ask);
	return LOCAL_PAGING;
}

/* A piece was copied. The next one begins with the shortest wait again. */
static inline enum outcome turn_moved(struct turn *t, u32 n)
{
	t->wqe->done += n;
	if (t->wqe->done == t->wqe->len)
		return LOCAL_DONE;
	t->qp->sq.waits = 0;
	t->qp->sq.asks = 0;
	return LOCAL_MORE;
}

/* Begins an access to the peer's memory. */
static inline enum outcome turn_enter_theirs(struct turn *t,
					     const struct uroce_vec *theirs,
					     u32 n, bool write)
{
	int ret = uroce_vec_enter(theirs, t->wqe->done, n, write,
				  &t->peer->resp.ask);

	if (likely(!ret))
		return LOCAL_DONE;
	if (ret != -EAGAIN)
		return LOCAL_ABSENT;
	turn_asks(t, t->peer->resp.ask);
	return LOCAL_PAGING;
}

/*
 * Begins an access to the next @n bytes on both sides. @own: this side's memory
 * is written; @their: the peer's is.
 */
static inline enum outcome turn_enter_both(struct turn *t,
					   const struct uroce_vec *theirs,
					   u32 n, bool own, bool their)
{
	enum outcome out = turn_enter(t, n, own);

	if (unlikely(out != LOCAL_DONE))
		return out;
	out = turn_enter_theirs(t, theirs, n, their);
	if (unlikely(out != LOCAL_DONE))
		uroce_vec_leave(&t->wqe->vec);
	return out;
}

static inline void turn_leave_both(struct turn *t,
				   const struct uroce_vec *theirs)
{
	uroce_vec_leave(theirs);
	uroce_vec_leave(&t->wqe->vec);
}

/*
 * A receive request is about to be taken. An XRC target may take it from
 * another queue than the last one. The former queue and its completion queue
 * can be destroyed as soon as the target has left it, so that completion queue
 * is notified before.
 */
static inline void leave_srq(struct turn *t)
{
	const struct uroce_resp *resp = &t->peer->resp;

	if (likely(!t->peer->xrcd) || !t->told ||
	    resp->recv.srq == resp->srq)
		return;
	uroce_cq_notify(t->told);
	t->told = NULL;
}

/* XRC: does the request name a shared receive queue of the peer's domain? */
static inline bool aims_at_srq(struct turn *t)
{
	return likely(!t->peer->xrcd) ||
	       uroce_target_aim(t->peer, t->wqe->wr.srqn);
}

/*
 * Resolves memory for the fast path. Requests that follow each other mostly use
 * one region on either side, so it is looked up once and held, until a request
 * needs another one or the slow path, or the turn ends. Context: bottom halves
 * off.
 */
static __always_inline struct uroce_mr *
turn_region(struct uroce_mr **held, const struct uroce_qp *qp,
	    const struct ib_pd *pd, u32 key, u64 addr, u32 len, u32 access)
{
	struct uroce_mr *mr = *held;

	if (likely(mr)) {
		if (likely(uroce_mr_serves(mr, pd, key, addr, len, access)))
			return mr;
		uroce_mr_put(mr);
	}
	mr = uroce_mr_hold(rcu_dereference_bh(qp->dev->table), pd, key, addr,
			   len, access);
	*held = mr;
	return mr;
}

/* The sender's memory, if the request has one segment and no inline data. */
static __always_inline struct uroce_mr *turn_own(struct turn *t, u32 len,
						 u32 access)
{
	const struct univ_sge *sge = t->wqe->sge;

	if (unlikely(t->wqe->wr.count != 1))
		return NULL;
	return turn_region(&t->own, t->qp, t->qp->ib->pd, sge->lkey, sge->addr,
			   len, access);
}

/* Copies inline data, which mostly has one or two words. */
static __always_inline void turn_inline(const struct uroce_mr *mr, u64 off,
					const void *from, u32 len)
{
	u64 head, tail;
	void *to;

	to = uroce_mr_whole(mr, off, len);
	if (unlikely(!to || len < 8 || len > 16)) {
		uroce_mr_write(mr, off, from, len);
		return;
	}
	/*
	 * Both words are read before one is written, since source and
	 * destination may overlap. The last byte is written once and last: a
	 * program that waits for it may then write to the memory itself.
	 */
	memcpy(&head, from, 8);
	memcpy(&tail, from + len - 8, 8);
	if (len > 8)
		memcpy(to, &head, 8);
	barrier();
	memcpy(to + len - 8, &tail, 8);
}

/*
 * Is the peer connected to @qp, and able to answer? Context: the peer's lock.
 */
static inline bool uroce_local_answers(const struct uroce_qp *qp,
				       struct uroce_qp *peer)
{
	return !peer->resp.dead && peer->state >= IB_QPS_RTR &&
	       peer->state <= IB_QPS_SQE &&
	       peer->attr.dest_qp_num == qp->num &&
	       peer->av.dev_id == qp->dev->id && uroce_qp_matches(peer, qp);
}

/* perform.c. Context: sq.lock, and the peer's resp.lock if there is one */
enum outcome uroce_local_request(struct turn *t);
enum outcome uroce_local_send(struct turn *t);
enum outcome uroce_local_refuse(struct turn *t, enum ib_wc_status status,
				u32 event);

/* datagram.c. Context: sq.lock */
enum outcome uroce_local_datagram(struct turn *t);

#endif
