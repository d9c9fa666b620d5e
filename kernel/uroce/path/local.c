// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues of queue pairs whose peer is on this host: one copy from the
 * sender's registered memory to the receiver's, by the thread that runs the
 * send queue. Both sides get the same results as with packets.
 */
#include "compat.h"
#include "local.h"

/* Requests and bytes that are handled before other work gets a turn. */
#define STEP_WRS	64
#define STEP_BYTES	(256u << 10)
/* No completion waits while a message of this many bytes or more is copied. */
#define LONG_MESSAGE	2048
/*
 * The wait for a peer that does not answer, if the queue pair has no timeout.
 */
#define FOREVER_NS	(100 * NSEC_PER_MSEC)
/*
 * A request is tried again after 10 us, then after twice the former time, up to
 * 82 ms, while its pages are being faulted in, or while the peer has no receive
 * request and no post will notify the sender. So a wait takes at most twice as
 * long as necessary, except for pages that are asked for again: see
 * turn_asks().
 */
#define AGAIN_FIRST_NS	(10ull * NSEC_PER_USEC)
#define AGAIN_DOUBLINGS	13

/* ---- the fast path ------------------------------------------------------- */

/*
 * Drops the regions that the turn holds. A caller that continues the turn has
 * to clear @own and @theirs.
 */
static void put_regions(const struct turn *t)
{
	if (t->own)
		uroce_mr_put(t->own);
	if (t->theirs)
		uroce_mr_put(t->theirs);
}

/* Can the request be executed as a whole in this turn? */
static __always_inline bool fits(const struct turn *t,
				 const struct uroce_wqe *wqe)
{
	return wqe->len && !wqe->done && wqe->len <= t->bytes;
}

/* The peer's memory that a write or a read names. */
static __always_inline struct uroce_mr *
remote_region(struct turn *t, const struct uroce_wqe *wqe, u32 access)
{
	const struct univ_send_wr *wr = &wqe->wr;

	if (!(t->peer->resp.quick & access) || !aims_at_srq(t))
		return NULL;
	return turn_region(&t->theirs, t->peer, t->peer->resp.pd, wr->rkey,
			   wr->remote_addr, wqe->len, access);
}

/*
 * The fast path for the most common message: a write of one segment, as a
 * whole, to a region. Returns false, with nothing done, if it is another kind
 * of request or if an error is found, which the slow path reports. Context: the
 * lock of the peer, which is able to answer.
 */
static __always_inline bool quick_write(struct turn *t,
					const struct uroce_wqe *wqe)
{
	const struct univ_send_wr *wr = &wqe->wr;
	struct uroce_mr *from, *to;
	u32 len = wqe->len;
	u64 off;

	to = remote_region(t, wqe, IB_ACCESS_REMOTE_WRITE);
	if (unlikely(!to))
		return false;
	off = wr->remote_addr - to->iova;
	if (wqe->data) {
		turn_inline(to, off, wqe->data, len);
	} else {
		from = turn_own(t, len, 0);
		if (unlikely(!from))
			return false;
		uroce_mr_copy(to, off, from, wqe->sge->addr - from->iova, len);
	}
	t->bytes -= len;
	return true;
}

/* The same for a read. */
static noinline bool quick_read(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	struct uroce_mr *from, *to;
	u32 len = wqe->len;

	to = turn_own(t, len, IB_ACCESS_LOCAL_WRITE);
	if (unlikely(!to))
		return false;
	from = remote_region(t, wqe, IB_ACCESS_REMOTE_READ);
	if (unlikely(!from))
		return false;
	uroce_mr_copy(to, wqe->sge->addr - to->iova, from,
		      wqe->wr.remote_addr - from->iova, len);
	t->bytes -= len;
	return true;
}

/*
 * The fast path. Returns LOCAL_SLOW if the slow path has to execute the
 * request.
 */
static __always_inline enum outcome quick_path(struct turn *t,
					       const struct uroce_wqe *wqe)
{
	if (unlikely(!t->quick || !fits(t, wqe)))
		return LOCAL_SLOW;
	switch (wqe->wr.opcode) {
	case UNIV_WR_RDMA_WRITE:
		return likely(quick_write(t, wqe)) ? LOCAL_DONE : LOCAL_SLOW;
	case UNIV_WR_SEND:
	case UNIV_WR_SEND_WITH_IMM:
		return uroce_local_send(t);
	case UNIV_WR_RDMA_READ:
		return quick_read(t) ? LOCAL_DONE : LOCAL_SLOW;
	default:
		return LOCAL_SLOW;
	}
}

/* ---- the send queue ------------------------------------------------------ */

static void refill(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;

	sq->tried = false;
	sq->early = false;
	sq->waits = 0;
	sq->asks = 0;
	sq->rnr_left = qp->attr.rnr_retry;
	/* The first try is not a retry, and each try is followed by a wait. */
	sq->retry_left = qp->attr.retry_cnt + 1;
}

/*
 * The next waiting time: @first_ns, then twice the last one, up to @times
 * doublings. A request may wait for several reasons, and each has a limit of
 * its own.
 */
static u64 doubled(struct uroce_sendq *sq, u64 first_ns, u8 times)
{
	u8 waits = min(sq->waits, times);

	if (sq->waits < times)
		sq->waits++;
	return first_ns << waits;
}

/*
 * A requester that retries without limit need not ask again as early as it may.
 * It waits at least 100 ms if the peer's next post notifies it, otherwise 10
 * us, doubled up to 82 ms. Timers of 10 us in many queue pairs would use up a
 * processor, and those of a millisecond in thousands of them.
 */
static u64 rnr_patience_ns(struct uroce_sendq *sq, bool asked)
{
	if (asked)
		return FOREVER_NS;
	return doubled(sq, AGAIN_FIRST_NS, AGAIN_DOUBLINGS);
}

/*
 * The peer has no receive request. A try before the timer fires, which a posted
 * receive request has caused (@early), is not counted: another sender may have
 * taken that request of a shared receive queue, and rnr_retry limits how often
 * the timer expires.
 */
static void not_ready(struct uroce_qp *qp, u8 timer, bool asked)
{
	struct uroce_sendq *sq = &qp->sq;
	u64 ns = uroce_rnr_ns(timer);

	if (sq->early) {
		/* The timer still runs, or has fired by now. */
		sq->wait = UROCE_WAIT_RNR;
		return;
	}
	uroce_note(qp, UROCE_CNT_RNR_RECEIVED);
	if (!sq->rnr_left) {
		uroce_send_done(qp, &sq->wqe, IB_WC_RNR_RETRY_EXC_ERR, 0);
		return;
	}
	sq->tried = true;
	if (qp->attr.rnr_retry != 7)
		sq->rnr_left--;
	else
		ns = max(ns, rnr_patience_ns(sq, asked));
	uroce_send_wait(qp, UROCE_WAIT_RNR, ns);
}

static void no_answer(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;

	uroce_note(qp, UROCE_CNT_TIMEOUTS);
	if (!qp->attr.timeout) {
		uroce_send_wait(qp, UROCE_WAIT_RETRY, FOREVER_NS);
		return;
	}
	if (!sq->retry_left) {
		uroce_note(qp, UROCE_CNT_RETRY_EXCEEDED);
		uroce_send_done(qp, &sq->wqe, IB_WC_RETRY_EXC_ERR, 0);
		return;
	}
	sq->tried = true;
	sq->retry_left--;
	uroce_send_wait(qp, UROCE_WAIT_RETRY,
			uroce_timeout_ns(qp->attr.timeout));
}

/* Handles a request that was not completed. Context: no lock but sq.lock. */
static void give_up(struct turn *t, enum outcome out)
{
	struct uroce_qp *qp = t->qp;

	switch (out) {
	case LOCAL_RNR:
		not_ready(qp, READ_ONCE(t->peer->attr.min_rnr_timer), t->asked);
		return;
	case LOCAL_SILENT:
		no_answer(qp);
		return;
	case LOCAL_HELD:
		/* A wait of 0 ns starts no timer. */
		uroce_send_wait(qp, UROCE_WAIT_RETRY,
				uroce_fault_delay_ns(qp->dev) + 1);
		return;
	case LOCAL_PAGING:
		qp->sq.tried = true;
		uroce_send_wait(qp, UROCE_WAIT_RETRY,
				doubled(&qp->sq, AGAIN_FIRST_NS,
					AGAIN_DOUBLINGS));
		return;
	case LOCAL_FULL:
		qp->sq.tried = true;
		uroce_send_wait(qp, UROCE_WAIT_RETRY,
				doubled(&qp->sq, UROCE_FULL_FIRST_NS,
					UROCE_FULL_DOUBLINGS));
		return;
	case LOCAL_PACED:
		qp->sq.tried = true;
		uroce_send_wait(qp, UROCE_WAIT_PACE,
				uroce_pace_wait(&qp->sq.pace) + 1);
		return;
	default:
		uroce_send_done(qp, t->wqe, t->status, t->reason);
	}
}

/*
 * Faults of the peer's side. Context: the lock of the peer, which is able to
 * answer.
 */
static enum outcome peer_fault(struct turn *t)
{
	bool takes = uroce_wr_is(t->wqe->wr.opcode, UROCE_WRF_RECV);

	if (takes && uroce_fault(t->peer->dev, t->peer->num, UROCE_FAULT_RNR))
		return LOCAL_RNR;
	if (uroce_fault(t->peer->dev, t->peer->num, UROCE_FAULT_REMOTE))
		return uroce_local_refuse(t, takes ? IB_WC_REM_OP_ERR :
						     IB_WC_REM_ACCESS_ERR,
					  IB_EVENT_QP_REQ_ERR);
	return LOCAL_SLOW;
}

/*
 * Faults on request; a message is delayed only once. Returns LOCAL_SLOW if no
 * fault decides the outcome.
 */
static noinline enum outcome fault_of(struct turn *t, bool fresh)
{
	struct uroce_dev *dev = t->qp->dev;
	bool reliable = uroce_qp_is_reliable(t->qp);

	if (t->wqe->done || uroce_wr_is(t->wqe->wr.opcode, UROCE_WRF_LOCAL))
		return LOCAL_SLOW;
	if (fresh && uroce_fault(dev, t->qp->num, UROCE_FAULT_DELAY))
		return LOCAL_HELD;
	if (uroce_fault(dev, t->qp->num, UROCE_FAULT_COMPLETION))
		return turn_fail(t, uroce_fault_status(dev));
	if (uroce_port_is_down(dev) ||
	    (t->answers && uroce_port_is_down(t->peer->dev)))
		return reliable ? LOCAL_SILENT : LOCAL_DONE;
	return t->answers && reliable ? peer_fault(t) : LOCAL_SLOW;
}

/*
 * The syndrome that an acknowledgement of the peer would have; false if the
 * peer would not answer.
 */
static bool syndrome(const struct turn *t, enum outcome out, u8 *says)
{
	if (out == LOCAL_DONE)
		*says = UROCE_AETH_NO_CREDIT;
	else if (out == LOCAL_RNR)
		*says = UROCE_AETH_RNR |
			(t->peer->attr.min_rnr_timer & UROCE_AETH_DETAIL);
	else if (t->status == IB_WC_REM_INV_REQ_ERR)
		*says = UROCE_NAK_INVALID;
	else if (t->status == IB_WC_REM_ACCESS_ERR)
		*says = UROCE_NAK_ACCESS;
	else if (t->status == IB_WC_REM_OP_ERR)
		*says = UROCE_NAK_OPERATION;
	else
		return false;
	return true;
}

/*
 * Shows the message to packet sockets, before the process sees its completion.
 * For datagrams deliver_to() does it.
 */
static noinline void show_to_taps(struct turn *t, enum outcome out)
{
	u8 says;

	if (uroce_wr_is(t->wqe->wr.opcode, UROCE_WRF_LOCAL) ||
	    uroce_port_is_down(t->qp->dev))
		return;
	if (out != LOCAL_DONE && out != LOCAL_RNR && out != LOCAL_FAILED)
		return;
	if (t->answers && syndrome(t, out, &says))
		uroce_mirror_message(t->qp, t->peer->dev, t->wqe, says);
}

/*
 * Requests that invalidate keys wait for all references to a region, so none
 * may be held here.
 */
static noinline enum outcome slow_path(struct turn *t)
{
	put_regions(t);
	t->own = NULL;
	t->theirs = NULL;
	return t->qp->av.dev_id ? uroce_local_request(t) :
				  uroce_local_datagram(t);
}

/*
 * Shows the completions of both sides, the receiver's first: a program that
 * finds a request complete may look for the message at the other end. Context:
 * if a message has arrived, the peer's lock.
 */
static noinline void write_completions(struct turn *t)
{
	if (t->told)
		uroce_recv_write(t->peer);
	uroce_send_write(t->qp);
}

/*
 * Loads the request at the head. Returns false if it is bad. @connected: see
 * send_batch().
 */
static __always_inline bool load_one(struct turn *t, struct uroce_qp *qp,
				     bool connected)
{
	struct uroce_wqe *wqe = &qp->sq.wqe;

	if (!connected || unlikely(!uroce_send_load_quick(&qp->sq, wqe))) {
		t->status = uroce_send_load(qp, qp->sq.head, wqe, &t->reason);
		if (unlikely(t->status))
			return false;
	}
	if (unlikely(wqe->len >= LONG_MESSAGE))
		write_completions(t);
	return true;
}

/*
 * Handles one request, or a piece of it. Context: sq.lock, and the peer's lock
 * if there is a peer.
 */
static __always_inline enum outcome send_one(struct turn *t,
					     struct uroce_qp *qp,
					     bool connected)
{
	struct uroce_wqe *wqe = &qp->sq.wqe;
	bool fresh = !wqe->loaded;
	enum outcome out = LOCAL_SLOW;

	if (likely(fresh) && unlikely(!load_one(t, qp, connected)))
		return LOCAL_FAILED;
	if (static_branch_unlikely(&uroce_faults_on.key))
		out = fault_of(t, fresh);
	if (connected && likely(out == LOCAL_SLOW))
		out = quick_path(t, wqe);
	if (out == LOCAL_SLOW)
		out = slow_path(t);
	if (static_branch_unlikely(&uroce_mirrors_on))
		show_to_taps(t, out);
	if (unlikely(out != LOCAL_DONE))
		return out;
	uroce_send_success(qp, wqe);
	if (unlikely(qp->sq.tried))
		refill(qp);
	return LOCAL_DONE;
}

/*
 * Handles a batch of requests and returns the outcome of the last one. @qp is
 * the sender. It is an argument so that the compiler does not load it from @t
 * for each request.
 * @connected: it has a peer on this host.
 */
static __always_inline enum outcome
send_batch(struct turn *t, struct uroce_qp *qp, bool connected)
{
	struct uroce_sendq *sq = &qp->sq;
	enum outcome out = LOCAL_DONE;
	u32 n;

	for (n = 0; n < STEP_WRS && t->bytes && sq->head != t->tail;) {
		out = send_one(t, qp, connected);
		if (unlikely(out > LOCAL_MORE))
			break;
		n += sq->step;
		/*
		 * Each request has completed one of its peer at most. The last
		 * ones are written by the caller.
		 */
		if (n % UROCE_BATCH == 0 && sq->head != t->tail)
			write_completions(t);
	}
	return out;
}

/* Datagrams, and requests whose peer does not exist. */
static noinline enum outcome send_batch_alone(struct turn *t)
{
	return send_batch(t, t->qp, false);
}

/*
 * The first message for a peer that does not send yet. Context: the peer's
 * lock.
 */
static noinline void established(struct turn *t)
{
	struct uroce_qp *peer = t->peer;

	if (!t->reached || peer->resp.established)
		return;
	peer->resp.established = true;
	set_bit(IB_EVENT_COMM_EST, &peer->events);
	uroce_send_later(peer);
}

/*
 * A batch of requests is handled under one lock, the peer's resp.lock: the
 * responder executes requests one after the other.
 */
static __always_inline enum outcome send_batch_to(struct turn *t,
						  struct uroce_qp *qp,
						  struct uroce_qp *peer)
{
	enum outcome out;

	spin_lock(&peer->resp.lock);
	t->answers = uroce_local_answers(qp, peer);
	t->quick = t->answers && qp->sq.wqe.stage != UROCE_STAGE_TAKEN &&
		   (peer->resp.established || peer->state != IB_QPS_RTR);
	out = send_batch(t, qp, true);
	put_regions(t);
	if (unlikely(peer->state == IB_QPS_RTR))
		established(t);
	/*
	 * Notified after the sender's completions are written, since a program
	 * that is woken may look for them.
	 */
	if (t->told) {
		if (peer->resp.done.count)
			uroce_recv_write_out(peer, UNIV_COMPLETE_LOOK);
		uroce_send_notify(qp);
		uroce_cq_notify(t->told);
	}
	spin_unlock(&peer->resp.lock);
	return out;
}

bool uroce_local_step(struct uroce_qp *qp, u32 tail)
{
	struct uroce_sendq *sq = &qp->sq;
	struct uroce_qp *peer = qp->av.dev_id ? uroce_qp_peer(qp) : NULL;
	struct turn t __uninitialized;
	u32 from = sq->head;
	enum outcome out;

	t.qp = qp;
	t.peer = peer;
	t.answers = false;
	t.wqe = &sq->wqe;
	t.reason = 0;
	t.bytes = STEP_BYTES;
	t.tail = tail;
	t.own = NULL;
	t.theirs = NULL;
	t.told = NULL;
	t.asked = false;
	t.quick = false;
	t.reached = false;
	out = likely(peer) ? send_batch_to(&t, qp, peer) :
			     send_batch_alone(&t);
	uroce_count_many(qp->dev, UROCE_CNT_LOCAL_MSGS, sq->head - from);
	uroce_count_many(qp->dev, UROCE_CNT_LOCAL_BYTES, STEP_BYTES - t.bytes);
	if (unlikely(out > LOCAL_MORE))
		give_up(&t, out);
	uroce_send_notify(qp);
	return sq->head != tail &&
	       (out <= LOCAL_MORE || READ_ONCE(qp->state) >= IB_QPS_SQE);
}
