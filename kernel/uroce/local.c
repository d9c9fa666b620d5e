// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs of one host: one copy from the sender's registered memory to the
 * receiver's, by whoever runs the send queue. What each side sees is what it
 * would see of packets.
 */
#include "local.h"

/* Requests, and bytes, before others get a turn */
#define STEP_WRS	64
#define STEP_BYTES	(256u << 10)
/* A peer that is not there, when no timeout says how long to wait */
#define FOREVER_NS	(100 * NSEC_PER_MSEC)
/* The time until a shared receive queue is looked at again doubles up to 1.28 ms */
#define RNR_FIRST_NS	(10ull * NSEC_PER_USEC)
#define RNR_DOUBLINGS	7

/*
 * The peer refuses: it goes to error as well. Of an unreliable connection, what may
 * not be done is as good as lost.
 */
static enum outcome refuse(struct turn *t, enum ib_wc_status status, u32 event)
{
	bool loses = t->qp->type == IB_QPT_UC && (event == IB_EVENT_QP_REQ_ERR ||
						  event == IB_EVENT_QP_ACCESS_ERR);

	if (!loses)
		uroce_qp_fail(t->peer, event);
	return fail(t, status);
}

/* The peer's receive request ends with an error */
static enum outcome refuse_recv(struct turn *t, enum ib_wc_status theirs,
				enum ib_wc_status ours)
{
	struct univ_cqe cqe = { .opcode = IB_WC_RECV };

	uroce_recv_done(t->peer, &cqe, theirs, true);
	uroce_recv_notify(t->peer);
	return refuse(t, ours, 0);
}

/*
 * The call that posts the peer's next receive is asked to go on with our queue, see
 * uroce_recv_posted(). False if nobody can be asked: many wait for a shared queue's.
 */
static bool ask_for_word(struct turn *t)
{
	struct uroce_qp *peer = t->peer;

	if (peer->type != IB_QPT_RC || peer->srq || !peer->rq.ring.count)
		return false;
	WRITE_ONCE(t->qp->sq.word, false);
	WRITE_ONCE(peer->resp.wanted, true);
	univ_ring_set_flags(&peer->rq.ring, UNIV_RING_NEED_KICK);
	/* F1: who posts a receive sees the flag or @wanted, or we its tail */
	smp_mb();
	return true;
}

static enum ib_wc_status take_or_ask(struct turn *t)
{
	enum ib_wc_status status = uroce_recv_take(t->peer);

	if (likely(status != IB_WC_RNR_RETRY_EXC_ERR) || !ask_for_word(t))
		return status;
	status = uroce_recv_take(t->peer);
	t->asked = status == IB_WC_RNR_RETRY_EXC_ERR;
	return status;
}

/*
 * A message begins. A receive request that an unreliable one left behind serves
 * again. After a reliable one that was not finished, a requester that was reset, this
 * is what packets call a bad sequence of opcodes.
 */
static enum outcome take_recv(struct turn *t)
{
	enum ib_wc_status status;

	if (unlikely(t->peer->resp.recv.taken))
		return t->qp->type == IB_QPT_UC ? DONE :
		       refuse_recv(t, IB_WC_REM_INV_REQ_ERR,
				   IB_WC_REM_INV_REQ_ERR);
	status = take_or_ask(t);
	if (likely(status == IB_WC_SUCCESS))
		return DONE;
	if (status == IB_WC_RNR_RETRY_EXC_ERR)
		return RNR;
	if (t->peer->resp.recv.taken)
		return refuse_recv(t, status, IB_WC_REM_OP_ERR);
	return refuse(t, IB_WC_REM_OP_ERR, IB_EVENT_QP_FATAL);
}

/* How much of the request this turn does */
static u32 piece(struct turn *t)
{
	u32 n = min(t->wqe->len - t->wqe->done, t->bytes);

	t->bytes -= n;
	return n;
}

/* Nothing goes to the peer */
static bool is_own(u8 opcode)
{
	return opcode == UNIV_WR_LOCAL_INV || opcode == UNIV_WR_BIND_MW ||
	       opcode == UROCE_WR_REG_MR;
}

static void complete_recv(struct turn *t, u8 opcode)
{
	const struct univ_send_wr *wr = &t->wqe->wr;
	struct univ_cqe cqe = {
		.opcode = opcode,
		.byte_len = t->wqe->len,
		.src_qp = t->qp->num,
	};

	if (has_imm(wr->opcode)) {
		cqe.wc_flags = UNIV_WC_WITH_IMM;
		cqe.imm = wr->imm;
	} else if (wr->opcode == UNIV_WR_SEND_WITH_INV) {
		cqe.wc_flags = UNIV_WC_WITH_INV;
		cqe.imm = wr->imm;
	}
	uroce_recv_done(t->peer, &cqe, IB_WC_SUCCESS,
			wr->flags & UNIV_WR_SOLICITED);
	/* An XRC target's receives complete in several queues */
	if (unlikely(t->told && t->told != t->peer->resp.recv.cq))
		uroce_cq_notify(t->told);
	t->told = t->peer->resp.recv.cq;
}

/* A piece of a message into the peer's receive request */
static enum outcome place(struct turn *t)
{
	struct uroce_recv *r = &t->peer->resp.recv;
	struct uroce_wqe *wqe = t->wqe;
	enum outcome out;
	u32 n;

	if (!wqe->done) {
		out = take_recv(t);
		if (out != DONE)
			return out;
		if (wqe->len > r->len) {
			t->reason = UNIV_REASON_RECV_SHORT;
			return refuse_recv(t, IB_WC_LOC_LEN_ERR,
					   IB_WC_REM_INV_REQ_ERR);
		}
	} else if (!r->taken) {
		return SILENT;
	}
	n = piece(t);
	if (uroce_recv_map(t->peer, wqe->done + n))
		return refuse_recv(t, IB_WC_LOC_PROT_ERR, IB_WC_REM_OP_ERR);
	uroce_vec_copy(&r->vec, wqe->done, &wqe->vec, wqe->done, n);
	uroce_vec_put(&r->vec);
	wqe->done += n;
	return wqe->done < wqe->len ? MORE : DONE;
}

/* The peer's key; what we have copied from may be the same region */
static enum outcome invalidate(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	int ret;

	uroce_vec_put(&wqe->vec);
	wqe->placed = true;
	if (!t->peer->resp.recv.taken)
		return SILENT;
	ret = uroce_invalidate(t->peer, wqe->wr.imm);
	if (ret == -EAGAIN)
		return MORE;
	if (!ret)
		return DONE;
	t->reason = UNIV_REASON_MW_TYPE;
	return refuse_recv(t, IB_WC_LOC_QP_OP_ERR, IB_WC_REM_ACCESS_ERR);
}

static enum outcome send(struct turn *t)
{
	enum outcome out = t->wqe->placed ? DONE : place(t);

	if (out == DONE && t->wqe->wr.opcode == UNIV_WR_SEND_WITH_INV)
		out = invalidate(t);
	if (out != DONE)
		return out;
	complete_recv(t, IB_WC_RECV);
	return DONE;
}

/* The peer's memory, all that the request names */
static enum outcome remote(struct turn *t, struct uroce_seg *seg, u32 len,
			   u32 access)
{
	const struct univ_send_wr *wr = &t->wqe->wr;

	if (!(uroce_qp_access(t->peer) & access)) {
		/* Its flags, or its max_dest_rd_atomic of 0 */
		t->reason = t->peer->attr.qp_access_flags & access ?
				    UNIV_REASON_LIMIT : UNIV_REASON_QP_ACCESS;
		return refuse(t, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR);
	}
	seg->mr = NULL;
	seg->base = 0;
	seg->len = len;
	if (!len)
		return DONE;
	if (!uroce_remote_get(t->peer, seg, wr->rkey, wr->remote_addr, len,
			      access)) {
		t->reason = uroce_mr_why(t->peer->resp.pd, wr->rkey,
					 wr->remote_addr, len, access);
		return refuse(t, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR);
	}
	return DONE;
}

/* An atomic operation that is not of eight bytes, or not at a multiple of eight */
static enum outcome askew(struct turn *t)
{
	t->reason = UNIV_REASON_ATOMIC;
	return refuse(t, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR);
}

/* A write or a read */
static enum outcome rdma(struct turn *t, bool read)
{
	struct uroce_wqe *wqe = t->wqe;
	struct uroce_seg seg;
	struct uroce_vec theirs = { .seg = &seg, .count = 1, .len = wqe->len };
	enum outcome out;
	u32 n;

	out = remote(t, &seg, wqe->len,
		     read ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE);
	if (out == DONE && wqe->wr.opcode == UNIV_WR_RDMA_WRITE_WITH_IMM &&
	    !wqe->done) {
		out = take_recv(t);
		if (out != DONE && seg.mr)
			uroce_remote_put(&seg);
	}
	if (out != DONE)
		return out;
	n = piece(t);
	if (read)
		uroce_vec_copy(&wqe->vec, wqe->done, &theirs, wqe->done, n);
	else
		uroce_vec_copy(&theirs, wqe->done, &wqe->vec, wqe->done, n);
	if (seg.mr)
		uroce_remote_put(&seg);
	wqe->done += n;
	if (wqe->done < wqe->len)
		return MORE;
	if (wqe->wr.opcode != UNIV_WR_RDMA_WRITE_WITH_IMM)
		return DONE;
	if (!t->peer->resp.recv.taken)
		return SILENT;
	complete_recv(t, IB_WC_RECV_RDMA_WITH_IMM);
	return DONE;
}

static enum outcome atomic(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	const struct univ_send_wr *wr = &wqe->wr;
	struct uroce_seg seg;
	enum outcome out;
	bool aligned;
	u64 orig;

	if (wqe->len < sizeof(orig)) {
		t->reason = UNIV_REASON_ATOMIC;
		return fail(t, IB_WC_LOC_LEN_ERR);
	}
	out = remote(t, &seg, sizeof(orig), IB_ACCESS_REMOTE_ATOMIC);
	if (out != DONE)
		return out;
	aligned = uroce_atomic(&seg, wr->opcode, wr->atomic.compare_add,
			       wr->atomic.swap, &orig);
	uroce_remote_put(&seg);
	if (!aligned)
		return askew(t);
	uroce_vec_write(&wqe->vec, 0, &orig, sizeof(orig));
	wqe->len = sizeof(orig);
	return DONE;
}

static enum outcome atomic_write(struct turn *t)
{
	u64 va = t->wqe->wr.remote_addr, value;
	struct uroce_seg seg;
	enum outcome out;
	bool aligned;

	if (va % sizeof(value))
		return askew(t);
	out = remote(t, &seg, sizeof(value), IB_ACCESS_REMOTE_WRITE);
	if (out != DONE)
		return out;
	uroce_vec_read(&t->wqe->vec, 0, &value, sizeof(value));
	aligned = uroce_atomic_write(&seg, value);
	uroce_remote_put(&seg);
	return aligned ? DONE : askew(t);
}

/* What changes keys of our own */
static enum outcome own(struct turn *t)
{
	const struct univ_send_wr *wr = &t->wqe->wr;
	struct ib_mr *mr = (void *)(uintptr_t)wr->remote_addr;
	int ret;

	if (wr->opcode == UNIV_WR_BIND_MW) {
		t->status = uroce_mw_bind(t->qp, wr, &t->reason);
		return t->status ? FAILED : DONE;
	}
	if (wr->opcode == UNIV_WR_LOCAL_INV)
		ret = uroce_invalidate(t->qp, wr->imm);
	else
		ret = uroce_mr_fast(t->qp, mr, wr->rkey, wr->imm);
	if (ret == -EAGAIN)
		return MORE;
	if (!ret)
		return DONE;
	t->reason = UNIV_REASON_MW_TYPE;
	return fail(t, IB_WC_LOC_QP_OP_ERR);
}

/* XRC: the request is for a shared receive queue that the peer has */
static bool aim(struct turn *t)
{
	return likely(!t->peer->xrcd) ||
	       uroce_target_aim(t->peer, t->wqe->wr.srqn);
}

static void let_go(struct turn *t)
{
	if (t->into)
		uroce_mr_put(t->into);
	t->into = NULL;
}

/*
 * Where a write goes. Those of a chain mostly go to one region, which is looked up
 * once and held until something else is done, or the turn ends.
 */
static __always_inline struct uroce_mr *reach(struct turn *t)
{
	const struct univ_send_wr *wr = &t->wqe->wr;
	struct uroce_qp *peer = t->peer;
	u32 len = t->wqe->len;

	if (t->into && uroce_mr_serves(t->into, peer->resp.pd, wr->rkey,
				       wr->remote_addr, len,
				       IB_ACCESS_REMOTE_WRITE))
		return t->into;
	let_go(t);
	t->into = uroce_mr_hold(rcu_dereference_bh(peer->dev->table),
				peer->resp.pd, wr->rkey, wr->remote_addr, len,
				IB_ACCESS_REMOTE_WRITE);
	return t->into;
}

/* Inline data, which is mostly a word or two */
static __always_inline void fill(const struct uroce_mr *mr, u64 off,
				 const void *from, u32 len)
{
	u64 head, tail;
	u32 run = len;
	void *to;

	to = uroce_mr_at(mr, off, &run);
	if (unlikely(run < len || len < 8 || len > 16)) {
		uroce_mr_write(mr, off, from, len);
		return;
	}
	/* Both are read before one is written: it may be the same memory */
	memcpy(&head, from, 8);
	memcpy(&tail, from + len - 8, 8);
	memcpy(to, &head, 8);
	memcpy(to + len - 8, &tail, 8);
}

static inline bool copy_piece(struct turn *t, const struct uroce_mr *to, u64 off)
{
	const struct univ_sge *sge = t->wqe->sge;
	u32 len = t->wqe->len;
	struct uroce_mr *from;

	if (unlikely(t->wqe->wr.count != 1))
		return false;
	from = uroce_mr_hold(rcu_dereference_bh(t->qp->dev->table),
			     t->qp->ib->pd, sge->lkey, sge->addr, len, 0);
	if (unlikely(!from))
		return false;
	uroce_mr_copy(to, off, from, sge->addr - from->iova, len);
	uroce_mr_put(from);
	return true;
}

/*
 * What most messages are: a write of one piece, as a whole, to a region. False, and
 * nothing was done, when it is not that or something is wrong, which the long way
 * finds out. Context: the peer's lock, who answers.
 */
static __always_inline bool quick_write(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	const struct univ_send_wr *wr = &wqe->wr;
	u32 len = wqe->len;
	struct uroce_mr *to;
	u64 off;

	if (wr->opcode != UNIV_WR_RDMA_WRITE || !len || wqe->done ||
	    len > t->bytes ||
	    !(t->peer->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE) || !aim(t))
		return false;
	to = reach(t);
	if (unlikely(!to))
		return false;
	off = wr->remote_addr - to->iova;
	if (wqe->data)
		fill(to, off, wqe->data, len);
	else if (!copy_piece(t, to, off))
		return false;
	t->bytes -= len;
	return true;
}

static enum outcome perform(struct turn *t)
{
	if (unlikely(!aim(t))) {
		t->reason = UNIV_REASON_XRC_SRQN;
		return refuse(t, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR);
	}
	switch (t->wqe->wr.opcode) {
	case UNIV_WR_RDMA_WRITE:
	case UNIV_WR_RDMA_WRITE_WITH_IMM:
		return rdma(t, false);
	case UNIV_WR_RDMA_READ:
		return rdma(t, true);
	case UNIV_WR_ATOMIC_CMP_AND_SWP:
	case UNIV_WR_ATOMIC_FETCH_AND_ADD:
		return atomic(t);
	case UNIV_WR_ATOMIC_WRITE:
		return atomic_write(t);
	default:
		return send(t);
	}
}

static enum ib_qp_type peer_type(const struct uroce_qp *qp)
{
	return qp->type == IB_QPT_XRC_INI ? IB_QPT_XRC_TGT : qp->type;
}

/* Whether the peer is connected to us and listens. Context: its lock. */
static bool answers(const struct uroce_qp *qp, const struct uroce_qp *peer)
{
	return !peer->resp.dead && peer->state >= IB_QPS_RTR &&
	       peer->state <= IB_QPS_SQE && peer->type == peer_type(qp) &&
	       peer->attr.dest_qp_num == qp->num &&
	       peer->av.peer == qp->dev->id;
}

static u32 local_access(u8 opcode)
{
	return opcode == UNIV_WR_RDMA_READ ||
	       opcode == UNIV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == UNIV_WR_ATOMIC_FETCH_AND_ADD ?
		       IB_ACCESS_LOCAL_WRITE : 0;
}

/* Context: the peer's lock, if there is one */
static enum outcome connected(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	enum outcome out = SILENT;

	if (is_own(wqe->wr.opcode))
		return own(t);
	t->status = uroce_send_map(t->qp, wqe, local_access(wqe->wr.opcode));
	if (unlikely(t->status))
		return FAILED;
	if (likely(t->answers)) {
		t->reached = true;
		out = perform(t);
	}
	uroce_vec_put(&wqe->vec);
	/* A sender of an unreliable connection is not told that its peer has failed */
	if (unlikely(t->qp->type == IB_QPT_UC) && out != MORE &&
	    !(out == FAILED && t->status == IB_WC_LOC_PROT_ERR)) {
		t->answers = t->answers && answers(t->qp, t->peer);
		t->quick &= t->answers;
		/* That of a message which was lost */
		t->reason = UNIV_REASON_NONE;
		return DONE;
	}
	return out;
}

/* ---- the send queue ----------------------------------------------------------- */

static void refill(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;

	sq->tried = false;
	sq->waits = 0;
	sq->rnr_left = qp->attr.rnr_retry;
	/* The first try is not a retry, and each is waited for */
	sq->retry_left = qp->attr.retry_cnt + 1;
}

/* How long the request waits now: twice as long as the last time, up to @times doublings */
static u64 doubled(struct uroce_sendq *sq, u64 first_ns, u8 times)
{
	if (sq->waits < times)
		sq->waits++;
	return first_ns << sq->waits;
}

/*
 * A requester that never gives up need not ask again as soon as it may: not before
 * 100 ms if it is told, or else ever more seldom. Timers of 10 microseconds in many
 * queue pairs would leave a processor no time for anything else.
 */
static u64 rnr_patience_ns(struct uroce_sendq *sq, bool asked)
{
	if (asked)
		return FOREVER_NS;
	return doubled(sq, RNR_FIRST_NS, RNR_DOUBLINGS);
}

static void not_ready(struct uroce_qp *qp, u8 timer, bool asked)
{
	struct uroce_sendq *sq = &qp->sq;
	u64 ns = uroce_rnr_ns(timer);

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
	uroce_send_wait(qp, UROCE_WAIT_RETRY, uroce_timeout_ns(qp->attr.timeout));
}

/* What was not done. Context: no lock but sq.lock. */
static void give_up(struct turn *t, enum outcome out)
{
	struct uroce_qp *qp = t->qp;

	switch (out) {
	case RNR:
		not_ready(qp, READ_ONCE(t->peer->attr.min_rnr_timer), t->asked);
		return;
	case SILENT:
		no_answer(qp);
		return;
	case HELD:
		uroce_send_wait(qp, UROCE_WAIT_RETRY,
				uroce_fault_delay_ns(qp->dev));
		return;
	case FULL:
		qp->sq.tried = true;
		uroce_send_wait(qp, UROCE_WAIT_RETRY,
				doubled(&qp->sq, UROCE_FULL_FIRST_NS,
					UROCE_FULL_DOUBLINGS));
		return;
	default:
		uroce_send_done(qp, t->wqe, t->status, t->reason);
	}
}

/* What the peer's side does wrong. Context: the peer's lock, who answers. */
static bool peer_faulty(struct turn *t, enum outcome *out)
{
	u8 opcode = t->wqe->wr.opcode;
	bool takes = has_imm(opcode) || opcode == UNIV_WR_SEND ||
		     opcode == UNIV_WR_SEND_WITH_INV;

	if (takes && uroce_fault(t->peer->dev, UROCE_FAULT_RNR))
		*out = RNR;
	else if (uroce_fault(t->peer->dev, UROCE_FAULT_REMOTE))
		*out = refuse(t, takes ? IB_WC_REM_OP_ERR : IB_WC_REM_ACCESS_ERR,
			      IB_EVENT_QP_REQ_ERR);
	else
		return false;
	return true;
}

/* Faults on request; a message is delayed once. True if @out is what happens. */
static bool faulty(struct turn *t, bool fresh, enum outcome *out)
{
	struct uroce_dev *dev = t->qp->dev;
	bool reliable = uroce_qp_is_reliable(t->qp);

	if (t->wqe->done || is_own(t->wqe->wr.opcode))
		return false;
	if (fresh && uroce_fault(dev, UROCE_FAULT_DELAY))
		*out = HELD;
	else if (uroce_fault(dev, UROCE_FAULT_COMPLETION))
		*out = fail(t, IB_WC_GENERAL_ERR);
	else if (uroce_port_is_down(dev) ||
		 (t->answers && uroce_port_is_down(t->peer->dev)))
		*out = reliable ? SILENT : DONE;
	else
		return t->answers && reliable && peer_faulty(t, out);
	return true;
}

/* What the peer answers, as packets say it; false when it does not */
static bool syndrome(const struct turn *t, enum outcome out, u8 *says)
{
	if (out == DONE)
		*says = UROCE_AETH_NO_CREDIT;
	else if (out == RNR)
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
 * Taps see what went to a connected peer who listens, before the process knows.
 * deliver_to() does it for datagrams.
 */
static void show(struct turn *t, enum outcome out)
{
	u8 says;

	if (is_own(t->wqe->wr.opcode) || uroce_port_is_down(t->qp->dev))
		return;
	if (out != DONE && out != RNR && out != FAILED)
		return;
	if (t->answers && syndrome(t, out, &says))
		uroce_mirror_message(t->qp, t->peer->dev, t->wqe, says);
}

/* What takes keys back waits for those who hold a region, so nobody does here */
static enum outcome otherwise(struct turn *t)
{
	let_go(t);
	return t->qp->av.peer ? connected(t) : uroce_local_datagram(t);
}

/* One request, or a piece of it. Context: sq.lock, the peer's lock if any. */
static inline enum outcome one(struct turn *t)
{
	struct uroce_qp *qp = t->qp;
	bool fresh = !t->wqe->loaded;
	enum outcome out;

	if (likely(fresh)) {
		t->status = uroce_send_load(qp, qp->sq.head, t->wqe, &t->reason);
		if (unlikely(t->status))
			return FAILED;
	}
	if (static_branch_unlikely(&uroce_faults_on) && faulty(t, fresh, &out))
		;
	else if (likely(t->quick && quick_write(t)))
		out = DONE;
	else
		out = otherwise(t);
	if (static_branch_unlikely(&uroce_mirrors_on))
		show(t, out);
	if (unlikely(out != DONE))
		return out;
	uroce_send_success(qp, t->wqe, qp->sq.head + 1 == t->tail);
	if (unlikely(qp->sq.tried))
		refill(qp);
	return DONE;
}

/* What the last one came to */
static enum outcome many(struct turn *t)
{
	struct uroce_sendq *sq = &t->qp->sq;
	enum outcome out = DONE;
	u32 n;

	for (n = 0; n < STEP_WRS && t->bytes && sq->head != t->tail; n++) {
		out = one(t);
		if (unlikely(out > MORE))
			break;
	}
	return out;
}

/* The first message for a peer that does not send yet. Context: its lock. */
static noinline void heard(struct turn *t)
{
	struct uroce_qp *peer = t->peer;

	if (!t->reached || peer->resp.heard)
		return;
	peer->resp.heard = true;
	set_bit(IB_EVENT_COMM_EST, &peer->events);
	uroce_send_later(peer);
}

/*
 * A whole batch goes under one lock of the peer's: it is the responder that takes
 * requests one after the other, whoever brings them.
 */
static __always_inline enum outcome many_to(struct turn *t, struct uroce_qp *peer)
{
	enum outcome out;

	spin_lock(&peer->resp.lock);
	t->answers = answers(t->qp, peer);
	t->quick = t->answers &&
		   (peer->resp.heard || peer->state != IB_QPS_RTR);
	out = many(t);
	let_go(t);
	if (unlikely(peer->state == IB_QPS_RTR))
		heard(t);
	/* After the sender's completions, which whoever is woken may look for */
	if (t->told)
		uroce_cq_notify(t->told);
	spin_unlock(&peer->resp.lock);
	return out;
}

bool uroce_local_step(struct uroce_qp *qp, u32 tail)
{
	struct uroce_sendq *sq = &qp->sq;
	struct uroce_qp *peer = qp->av.peer ? uroce_qp_peer(qp) : NULL;
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
	t.into = NULL;
	t.told = NULL;
	t.asked = false;
	t.quick = false;
	t.reached = false;
	out = likely(peer) ? many_to(&t, peer) : many(&t);
	uroce_count_many(qp->dev, UROCE_CNT_LOCAL_MSGS, sq->head - from);
	uroce_count_many(qp->dev, UROCE_CNT_LOCAL_BYTES, STEP_BYTES - t.bytes);
	if (unlikely(out > MORE))
		give_up(&t, out);
	uroce_send_notify(qp);
	return sq->head != tail &&
	       (out <= MORE || READ_ONCE(qp->state) >= IB_QPS_SQE);
}
