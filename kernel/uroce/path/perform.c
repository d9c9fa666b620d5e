// SPDX-License-Identifier: GPL-2.0
/*
 * Executes requests between connected queue pairs of one host on the peer's
 * receive queue and memory. Both sides get the same results as with packets.
 */
#include "local.h"

/*
 * The peer refuses the request and fails as well. On an unreliable connection,
 * a request that is not permitted is treated as lost.
 */
enum outcome uroce_local_refuse(struct turn *t, enum ib_wc_status status,
				u32 event)
{
	bool loses =
		t->qp->type == IB_QPT_UC && (event == IB_EVENT_QP_REQ_ERR ||
					     event == IB_EVENT_QP_ACCESS_ERR);

	/*
	 * Another thread may flush the peer's queues as soon as it fails. The
	 * completions of requests that have succeeded are written before.
	 */
	uroce_recv_write(t->peer);
	uroce_send_write(t->qp);
	if (!loses)
		uroce_qp_fail(t->peer, event);
	return turn_fail(t, status);
}

/*
 * A receive request of the peer was completed; its process is notified when the
 * turn ends, or by leave_srq().
 */
static void tell(struct turn *t)
{
	t->told = t->peer->resp.recv.cq;
}

/* The peer's receive request completes with an error. */
static enum outcome refuse_recv(struct turn *t, enum ib_wc_status theirs,
				enum ib_wc_status ours)
{
	struct univ_cqe cqe = { .opcode = IB_WC_RECV };

	uroce_recv_done(t->peer, &cqe, theirs, true);
	tell(t);
	return uroce_local_refuse(t, ours, 0);
}

/*
 * Asks the thread that posts the peer's next receive request to run this send
 * queue, see uroce_recv_posted() and uroce_srq_posted(). Returns false if no
 * request can come, or if the message is not repeated.
 */
static bool ask_for_recv(struct turn *t)
{
	struct uroce_qp *peer = t->peer;

	if (!uroce_qp_is_reliable(peer) ||
	    (!peer->xrcd && !peer->srq && !peer->rq.ring.count))
		return false;
	WRITE_ONCE(t->qp->sq.recv_posted, false);
	uroce_recv_want(peer);
	return true;
}

static inline enum ib_wc_status take_or_ask(struct turn *t)
{
	enum ib_wc_status status;

	leave_srq(t);
	status = uroce_recv_take(t->peer);
	if (unlikely(status == IB_WC_RNR_RETRY_EXC_ERR) && ask_for_recv(t)) {
		status = uroce_recv_take(t->peer);
		t->asked = status == IB_WC_RNR_RETRY_EXC_ERR;
	}
	if (unlikely(t->peer->resp.wanted) && !t->asked)
		uroce_recv_unwant(t->peer);
	return status;
}

/*
 * A message begins. A receive request that an unfinished unreliable message
 * left behind is used again. After an unfinished reliable message (its
 * requester was reset) the packets would have an invalid sequence of opcodes.
 */
static __always_inline enum outcome take_recv(struct turn *t)
{
	enum ib_wc_status status;

	if (unlikely(t->peer->resp.recv.taken))
		return t->qp->type == IB_QPT_UC ? LOCAL_DONE :
		       refuse_recv(t, IB_WC_REM_INV_REQ_ERR,
				   IB_WC_REM_INV_REQ_ERR);
	status = take_or_ask(t);
	if (likely(status == IB_WC_SUCCESS))
		return LOCAL_DONE;
	if (status == IB_WC_RNR_RETRY_EXC_ERR)
		return LOCAL_RNR;
	if (t->peer->resp.recv.taken)
		return refuse_recv(t, status, IB_WC_REM_OP_ERR);
	return uroce_local_refuse(t, IB_WC_REM_OP_ERR, IB_EVENT_QP_FATAL);
}

/* The number of bytes of the request that this turn copies. */
static u32 piece(struct turn *t)
{
	u32 n = min(t->wqe->len - t->wqe->done, t->bytes);

	t->bytes -= n;
	return n;
}

/* @inv: a constant; the quick path has no requests that invalidate a key. */
static __always_inline void complete_recv(struct turn *t, u8 opcode, bool inv)
{
	const struct univ_send_wr *wr = &t->wqe->wr;
	struct univ_cqe *cqe = uroce_recv_next(t->peer);

	cqe->opcode = opcode;
	cqe->byte_len = t->wqe->len;
	cqe->src_qp = t->qp->num;
	if (uroce_wr_is(wr->opcode, UROCE_WRF_IMM)) {
		cqe->wc_flags = UNIV_WC_WITH_IMM;
		cqe->imm = wr->imm;
	} else if (inv && uroce_wr_is(wr->opcode, UROCE_WRF_INV)) {
		cqe->wc_flags = UNIV_WC_WITH_INV;
		cqe->imm = wr->imm;
	}
	uroce_recv_count(t->peer, cqe, wr->flags & UNIV_WR_SOLICITED);
	tell(t);
}

static enum outcome refuse_short(struct turn *t)
{
	t->reason = UNIV_REASON_RECV_SHORT;
	return refuse_recv(t, IB_WC_LOC_LEN_ERR, IB_WC_REM_INV_REQ_ERR);
}

/*
 * The pages of a receive request that was taken are not there. The request
 * stays taken while they are faulted in.
 */
static enum outcome recv_absent(struct turn *t, enum outcome out)
{
	if (out == LOCAL_PAGING)
		t->wqe->stage = UROCE_STAGE_TAKEN;
	return out == LOCAL_ABSENT ?
		       refuse_recv(t, IB_WC_LOC_PROT_ERR, IB_WC_REM_OP_ERR) :
		       out;
}

/* Copies the next @n bytes into the peer's receive request. */
static enum outcome place_piece(struct turn *t, u32 n)
{
	struct uroce_recv *r = &t->peer->resp.recv;
	struct uroce_wqe *wqe = t->wqe;
	enum outcome out;

	if (uroce_recv_map(t->peer, wqe->done + n))
		return refuse_recv(t, IB_WC_LOC_PROT_ERR, IB_WC_REM_OP_ERR);
	out = turn_enter_both(t, &r->vec, n, false, true);
	if (likely(out == LOCAL_DONE)) {
		uroce_vec_copy(&r->vec, wqe->done, &wqe->vec, wqe->done, n);
		turn_leave_both(t, &r->vec);
	}
	uroce_vec_put(&r->vec);
	return likely(out == LOCAL_DONE) ? out : recv_absent(t, out);
}

/* Copies a piece of a message into the peer's receive request. */
static enum outcome place_message(struct turn *t)
{
	struct uroce_recv *r = &t->peer->resp.recv;
	struct uroce_wqe *wqe = t->wqe;
	enum outcome out;
	u32 n;

	if (!wqe->done && wqe->stage == UROCE_STAGE_NEW) {
		/* A message whose own pages are missing takes no request. */
		out = turn_enter(t, min(wqe->len, t->bytes), false);
		if (unlikely(out != LOCAL_DONE))
			return out;
		uroce_vec_leave(&wqe->vec);
		out = take_recv(t);
		if (out != LOCAL_DONE)
			return out;
		if (wqe->len > r->len)
			return refuse_short(t);
	} else if (!r->taken) {
		return LOCAL_SILENT;
	}
	n = piece(t);
	out = place_piece(t, n);
	if (unlikely(out != LOCAL_DONE)) {
		t->bytes += n;
		return out;
	}
	return turn_moved(t, n);
}

/* Invalidates the peer's key. @vec may hold the same region until then. */
static enum outcome invalidate(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	int ret;

	uroce_vec_put(&wqe->vec);
	wqe->stage = UROCE_STAGE_PLACED;
	if (!t->peer->resp.recv.taken)
		return LOCAL_SILENT;
	ret = uroce_invalidate(t->peer, wqe->wr.imm);
	if (ret == -EAGAIN)
		return LOCAL_MORE;
	if (!ret)
		return LOCAL_DONE;
	t->reason = UNIV_REASON_MW_TYPE;
	return refuse_recv(t, IB_WC_LOC_QP_OP_ERR, IB_WC_REM_ACCESS_ERR);
}

static enum outcome send(struct turn *t)
{
	enum outcome out = t->wqe->stage == UROCE_STAGE_PLACED ?
				   LOCAL_DONE : place_message(t);

	if (out == LOCAL_DONE && uroce_wr_is(t->wqe->wr.opcode, UROCE_WRF_INV))
		out = invalidate(t);
	if (out != LOCAL_DONE)
		return out;
	complete_recv(t, IB_WC_RECV, true);
	return LOCAL_DONE;
}

/*
 * Copies a message into a receive request that may have several segments.
 * @from: the region of the message, whose pages are pinned, or NULL for inline
 * data.
 */
static noinline enum outcome scatter(struct turn *t,
				     const struct uroce_mr *from)
{
	struct uroce_recv *r = &t->peer->resp.recv;
	const struct uroce_wqe *wqe = t->wqe;
	struct uroce_seg seg = {
		.mr = (struct uroce_mr *)from,
		.base = from ? wqe->sge->addr - from->iova :
			       (uintptr_t)wqe->data,
		.len = wqe->len,
	};
	const struct uroce_vec message = {
		.seg = &seg, .count = 1, .len = wqe->len,
	};
	enum outcome out;

	if (uroce_recv_map(t->peer, wqe->len))
		return refuse_recv(t, IB_WC_LOC_PROT_ERR, IB_WC_REM_OP_ERR);
	out = turn_enter_theirs(t, &r->vec, wqe->len, true);
	if (likely(out == LOCAL_DONE)) {
		uroce_vec_copy(&r->vec, 0, &message, 0, wqe->len);
		uroce_vec_leave(&r->vec);
	}
	uroce_vec_put(&r->vec);
	return likely(out == LOCAL_DONE) ? out : recv_absent(t, out);
}

/* Copies a message into the receive request that was taken. */
static inline enum outcome fill_recv(struct turn *t,
				     const struct uroce_mr *from)
{
	struct uroce_recv *r = &t->peer->resp.recv;
	const struct uroce_wqe *wqe = t->wqe;
	struct uroce_mr *to = NULL;
	u32 len = wqe->len;
	u64 off;

	if (unlikely(len > r->len))
		return refuse_short(t);
	if (likely(r->count == 1))
		to = turn_region(&t->theirs, t->peer, r->pd, r->sge->lkey,
				 r->sge->addr, len, IB_ACCESS_LOCAL_WRITE);
	if (unlikely(!to))
		return scatter(t, from);
	off = r->sge->addr - to->iova;
	if (from)
		uroce_mr_copy(to, off, from, wqe->sge->addr - from->iova, len);
	else
		turn_inline(to, off, wqe->data, len);
	return LOCAL_DONE;
}

/*
 * The fast path of sends, for quick_path() in local.c. Errors that are found
 * after the receive request was taken are reported here.
 */
enum outcome uroce_local_send(struct turn *t)
{
	struct uroce_mr *from = NULL;
	enum outcome out;

	/* An unreliable connection treats most errors as losses. */
	if (unlikely(t->qp->type == IB_QPT_UC || !aims_at_srq(t)))
		return LOCAL_SLOW;
	if (!t->wqe->data) {
		from = turn_own(t, t->wqe->len, 0);
		if (unlikely(!from))
			return LOCAL_SLOW;
	}
	out = take_recv(t);
	if (likely(out == LOCAL_DONE))
		out = fill_recv(t, from);
	if (unlikely(out != LOCAL_DONE))
		return out;
	t->bytes -= t->wqe->len;
	complete_recv(t, IB_WC_RECV, false);
	return LOCAL_DONE;
}

/* Does the peer's queue pair permit the request? */
static enum outcome remote_permits(struct turn *t, u32 access)
{
	if (!(access & ~t->peer->resp.access))
		return LOCAL_DONE;
	/* Refused by the access flags, or because max_dest_rd_atomic is 0. */
	t->reason = access & ~t->peer->attr.qp_access_flags ?
			    UNIV_REASON_QP_ACCESS : UNIV_REASON_LIMIT;
	return uroce_local_refuse(t, IB_WC_REM_INV_REQ_ERR,
				  IB_EVENT_QP_REQ_ERR);
}

/* The peer's region does not grant the request. */
static enum outcome refuse_key(struct turn *t, u32 len, u32 access)
{
	const struct univ_send_wr *wr = &t->wqe->wr;

	t->reason = uroce_mr_why(t->peer->resp.pd, wr->rkey, wr->remote_addr,
				 len, access);
	return uroce_local_refuse(t, IB_WC_REM_ACCESS_ERR,
				  IB_EVENT_QP_ACCESS_ERR);
}

/* Resolves the whole memory of the peer that the request names. */
static enum outcome remote_memory(struct turn *t, struct uroce_seg *seg,
				  u32 len, u32 access)
{
	const struct univ_send_wr *wr = &t->wqe->wr;
	enum outcome out = remote_permits(t, access);

	if (out != LOCAL_DONE)
		return out;
	seg->mr = NULL;
	seg->base = 0;
	seg->len = len;
	if (!len)
		return LOCAL_DONE;
	if (!uroce_rkey_get(t->peer, seg, wr->rkey, wr->remote_addr, len,
			      access))
		return refuse_key(t, len, access);
	return LOCAL_DONE;
}

/* Pages of the peer are not there. */
static enum outcome memory_absent(struct turn *t, enum outcome out)
{
	if (out != LOCAL_ABSENT)
		return out;
	t->reason = UNIV_REASON_PAGE_FAULT;
	return uroce_local_refuse(t, IB_WC_REM_ACCESS_ERR,
				  IB_EVENT_QP_ACCESS_ERR);
}

/* The length of an atomic operation is not 8, or its address not aligned. */
static enum outcome askew(struct turn *t)
{
	t->reason = UNIV_REASON_ATOMIC;
	return uroce_local_refuse(t, IB_WC_REM_INV_REQ_ERR,
				  IB_EVENT_QP_REQ_ERR);
}

/*
 * Copies the next @n bytes of a write or a read. @takes: the request takes a
 * receive request.
 */
static enum outcome transfer(struct turn *t, const struct uroce_vec *theirs,
			     u32 n, bool read, bool takes)
{
	struct uroce_wqe *wqe = t->wqe;
	enum outcome out = turn_enter_both(t, theirs, n, read, !read);

	if (unlikely(out != LOCAL_DONE))
		return out;
	if (takes && !wqe->done)
		out = take_recv(t);
	if (out == LOCAL_DONE && read)
		uroce_vec_copy(&wqe->vec, wqe->done, theirs, wqe->done, n);
	else if (out == LOCAL_DONE)
		uroce_vec_copy(theirs, wqe->done, &wqe->vec, wqe->done, n);
	turn_leave_both(t, theirs);
	return out;
}

/* Executes a write or a read. */
static enum outcome rdma(struct turn *t, bool read)
{
	struct uroce_wqe *wqe = t->wqe;
	struct uroce_seg seg;
	struct uroce_vec theirs = { .seg = &seg, .count = 1, .len = wqe->len };
	bool takes = uroce_wr_is(wqe->wr.opcode, UROCE_WRF_RECV);
	enum outcome out;
	u32 n;

	out = remote_memory(t, &seg, wqe->len,
		     read ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE);
	if (out != LOCAL_DONE)
		return out;
	n = piece(t);
	out = transfer(t, &theirs, n, read, takes);
	if (seg.mr)
		uroce_rkey_put(&seg);
	if (unlikely(out != LOCAL_DONE)) {
		t->bytes += n;
		return memory_absent(t, out);
	}
	out = turn_moved(t, n);
	if (out == LOCAL_MORE)
		return out;
	if (takes && !t->peer->resp.recv.taken)
		return LOCAL_SILENT;
	if (unlikely(t->peer->resp.access != t->peer->resp.quick))
		uroce_cntrs_served(t->peer, read, wqe->len);
	if (takes)
		complete_recv(t, IB_WC_RECV_RDMA_WITH_IMM, false);
	return LOCAL_DONE;
}

static enum outcome atomic(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	const struct univ_send_wr *wr = &wqe->wr;
	struct uroce_seg seg;
	struct uroce_vec theirs = { .seg = &seg, .count = 1 };
	enum outcome out;
	bool aligned;
	u64 orig;

	if (wqe->len < sizeof(orig)) {
		t->reason = UNIV_REASON_ATOMIC;
		return turn_fail(t, IB_WC_LOC_LEN_ERR);
	}
	out = remote_memory(t, &seg, sizeof(orig), IB_ACCESS_REMOTE_ATOMIC);
	if (out != LOCAL_DONE)
		return out;
	out = turn_enter_both(t, &theirs, sizeof(orig), true, true);
	if (unlikely(out != LOCAL_DONE)) {
		uroce_rkey_put(&seg);
		return memory_absent(t, out);
	}
	aligned = uroce_atomic(&seg, wr->opcode, wr->atomic.compare_add,
			       wr->atomic.swap, &orig);
	if (aligned)
		uroce_vec_write(&wqe->vec, 0, &orig, sizeof(orig));
	turn_leave_both(t, &theirs);
	uroce_rkey_put(&seg);
	if (!aligned)
		return askew(t);
	wqe->len = sizeof(orig);
	return LOCAL_DONE;
}

static enum outcome atomic_write(struct turn *t)
{
	u64 va = t->wqe->wr.remote_addr, value;
	struct uroce_seg seg;
	struct uroce_vec theirs = { .seg = &seg, .count = 1 };
	enum outcome out;
	bool aligned;

	if (va % sizeof(value))
		return askew(t);
	out = remote_memory(t, &seg, sizeof(value), IB_ACCESS_REMOTE_WRITE);
	if (out != LOCAL_DONE)
		return out;
	out = turn_enter_both(t, &theirs, sizeof(value), false, true);
	if (unlikely(out != LOCAL_DONE)) {
		uroce_rkey_put(&seg);
		return memory_absent(t, out);
	}
	uroce_vec_read(&t->wqe->vec, 0, &value, sizeof(value));
	aligned = uroce_atomic_write(&seg, value);
	turn_leave_both(t, &theirs);
	uroce_rkey_put(&seg);
	return aligned ? LOCAL_DONE : askew(t);
}

/* Earlier requests of the queue have been executed. */
static enum outcome flush(struct turn *t)
{
	const struct univ_send_wr *wr = &t->wqe->wr;
	bool whole = wr->flush.level == UNIV_FLUSH_MR;
	u32 access = uroce_flush_access(wr->flush.type);
	u32 len = whole ? 0 : wr->flush.length;
	enum outcome out = remote_permits(t, access);

	if (out != LOCAL_DONE)
		return out;
	if (uroce_mr_flush(t->peer->resp.pd, wr->rkey, wr->remote_addr, len,
			   access, whole))
		return LOCAL_DONE;
	return refuse_key(t, len, access);
}

/* Changes keys of the requester's own queue pair. */
static enum outcome change_own_key(struct turn *t)
{
	const struct univ_send_wr *wr = &t->wqe->wr;
	struct ib_mr *mr = (void *)(uintptr_t)wr->remote_addr;
	int ret;

	if (wr->opcode == UNIV_WR_BIND_MW) {
		t->status = uroce_mw_bind(t->qp, wr, &t->reason);
		return t->status ? LOCAL_FAILED : LOCAL_DONE;
	}
	if (wr->opcode == UNIV_WR_LOCAL_INV)
		ret = uroce_invalidate(t->qp, wr->imm);
	else
		ret = uroce_mr_fast(t->qp->ib->pd, mr, wr->rkey, wr->imm);
	if (ret == -EAGAIN)
		return LOCAL_MORE;
	if (!ret)
		return LOCAL_DONE;
	t->reason = UNIV_REASON_MW_TYPE;
	return turn_fail(t, IB_WC_LOC_QP_OP_ERR);
}

static enum outcome perform(struct turn *t)
{
	if (unlikely(!aims_at_srq(t))) {
		t->reason = UNIV_REASON_XRC_SRQN;
		return uroce_local_refuse(t, IB_WC_REM_INV_REQ_ERR,
					  IB_EVENT_QP_REQ_ERR);
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
	case UNIV_WR_FLUSH:
		return flush(t);
	default:
		return send(t);
	}
}

static u32 local_access(u8 opcode)
{
	return uroce_wr_is(opcode, UROCE_WRF_FETCH) ? IB_ACCESS_LOCAL_WRITE : 0;
}

/*
 * Executes a request, or a piece of it. Context: sq.lock, and the peer's lock
 * if there is a peer.
 */
enum outcome uroce_local_request(struct turn *t)
{
	struct uroce_wqe *wqe = t->wqe;
	enum outcome out = LOCAL_SILENT;

	if (uroce_wr_is(wqe->wr.opcode, UROCE_WRF_LOCAL))
		return change_own_key(t);
	t->status = uroce_send_map(t->qp, wqe, local_access(wqe->wr.opcode));
	if (unlikely(t->status))
		return LOCAL_FAILED;
	if (likely(t->answers)) {
		t->reached = true;
		out = perform(t);
	}
	uroce_vec_put(&wqe->vec);
	/*
	 * The sender on an unreliable connection is not told that its peer has
	 * failed.
	 */
	if (unlikely(t->qp->type == IB_QPT_UC) && out != LOCAL_MORE &&
	    out != LOCAL_PAGING &&
	    !(out == LOCAL_FAILED && t->status == IB_WC_LOC_PROT_ERR)) {
		t->answers = t->answers && uroce_local_answers(t->qp, t->peer);
		t->quick &= t->answers;
		/* The reason belongs to a message that was lost. */
		t->reason = UNIV_REASON_NONE;
		return LOCAL_DONE;
	}
	return out;
}
