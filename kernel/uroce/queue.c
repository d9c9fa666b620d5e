// SPDX-License-Identifier: GPL-2.0
/* Requests out of rings, completions into queues, and who runs a send queue. */
#include <linux/slab.h>

#include "uroce.h"

#define SEND_HEAD	offsetof(struct univ_send_wr, data)
#define RECV_HEAD	offsetof(struct univ_recv_wr, sge)
/* What processes call it; of the kernel's own numbers another one in 6.1 */
#define UROCE_WC_ATOMIC_WRITE 9

/* ---- memory that requests name ------------------------------------------------ */

static bool is_dma_key(const struct uroce_qp *qp, u32 key, bool attached)
{
	return !attached && key == qp->dev->ib.local_dma_lkey;
}

/*
 * Hold the memory of the first @len bytes that a scatter list names. What a message
 * does not reach is not looked at: hardware and rdma_rxe do not either, and programs
 * post receives that are longer than the memory behind them.
 */
static enum ib_wc_status map_sges(struct uroce_qp *qp, struct ib_pd *pd,
				  struct uroce_vec *vec,
				  const struct univ_sge *sge, u32 count, u32 len,
				  u32 access, bool attached)
{
	const struct univ_sge *end = sge + count;
	struct uroce_seg *seg = vec->seg;
	u32 run;

	vec->count = 0;
	vec->len = len;
	for (; len && sge != end; len -= run, sge++) {
		run = min(sge->length, len);
		if (!run)
			continue;
		if (is_dma_key(qp, sge->lkey, attached)) {
			seg->mr = NULL;
			seg->base = sge->addr;
			seg->len = run;
		} else {
			if (!uroce_seg_get(seg, pd, sge->lkey, sge->addr, run,
					   access))
				goto bad;
		}
		vec->count++;
		seg++;
	}
	return IB_WC_SUCCESS;
bad:
	uroce_vec_put(vec);
	return IB_WC_LOC_PROT_ERR;
}

/* Which check of map_sges() failed, for the completion */
static u16 sges_why(const struct ib_pd *pd, const struct univ_sge *sge,
		    u32 count, u32 access)
{
	u16 reason = 0;
	u32 i;

	for (i = 0; i < count && !reason; i++)
		if (sge[i].length)
			reason = uroce_mr_why(pd, sge[i].lkey, sge[i].addr,
					      sge[i].length, access);
	return reason;
}

/* ---- send requests ------------------------------------------------------------ */

#define OP(op) BIT(UNIV_WR_##op)

static u32 send_opcodes(const struct uroce_qp *qp)
{
	switch (qp->type) {
	case IB_QPT_RC:
	case IB_QPT_XRC_INI:
		return OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | OP(SEND) |
		       OP(SEND_WITH_IMM) | OP(SEND_WITH_INV) | OP(RDMA_READ) |
		       OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD) |
		       OP(ATOMIC_WRITE) | OP(LOCAL_INV) | OP(BIND_MW);
	case IB_QPT_UC:
		return OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | OP(SEND) |
		       OP(SEND_WITH_IMM) | OP(LOCAL_INV) | OP(BIND_MW);
	default:
		return OP(SEND) | OP(SEND_WITH_IMM);
	}
}

/* What has no data of its own to send */
#define NEVER_INLINE (OP(RDMA_READ) | OP(ATOMIC_CMP_AND_SWP) |	\
		      OP(ATOMIC_FETCH_AND_ADD))

static u16 send_check(const struct uroce_qp *qp, const struct univ_send_wr *wr)
{
	const struct uroce_sendq *sq = &qp->sq;

	if (unlikely(wr->opcode >= BITS_PER_TYPE(u32) ||
		     !(sq->opcodes & BIT(wr->opcode))))
		return wr->opcode == UROCE_WR_REG_MR && !sq->attached ?
			0 : UNIV_REASON_WR_OPCODE;
	if (wr->flags & ~(UNIV_WR_FENCE | UNIV_WR_SIGNALED | UNIV_WR_SOLICITED |
			  UNIV_WR_INLINE))
		return UNIV_REASON_FLAGS;
	if (unlikely(wr->opcode == UNIV_WR_ATOMIC_WRITE))
		return wr->flags & UNIV_WR_INLINE && wr->count == sizeof(u64) ?
			0 : UNIV_REASON_WR_INLINE;
	if (!(wr->flags & UNIV_WR_INLINE))
		return wr->count > sq->max_sge ? UNIV_REASON_WR_SGE : 0;
	if (BIT(wr->opcode) & NEVER_INLINE)
		return UNIV_REASON_WR_OPCODE;
	return wr->count > sq->max_inline ? UNIV_REASON_WR_INLINE : 0;
}

/* The way of a datagram; a copy, so that the handle may go */
static noinline bool send_load_av(struct uroce_qp *qp, struct uroce_wqe *wqe)
{
	struct univ_queue_ah ah;

	if (!qp->sq.attached)
		return uroce_ah_copy(wqe->wr.ud.ah, &wqe->av);
	if (!univ_queue_ah_get(qp->core, wqe->wr.ud.ah, &ah))
		return false;
	wqe->av = to_uah(ah.ib)->av;
	univ_queue_ah_put(&ah);
	wqe->av.flow.route = NULL;
	return true;
}

/* Copy a list of checked length; returns the bytes that it names */
static u64 load_sges(struct univ_sge *sge, const void *from, u32 count)
{
	const struct univ_sge *end = sge + count;
	u64 len = 0;

	for (; sge != end; sge++, from += sizeof(*sge)) {
		univ_ring_fetch(sge, from, sizeof(*sge));
		len += sge->length;
	}
	return len;
}

enum ib_wc_status uroce_send_load(struct uroce_qp *qp, u32 index,
				  struct uroce_wqe *wqe, u16 *reason)
{
	void *slot = univ_ring_slot(&qp->sq.ring, index);
	u64 len;
	u16 bad;

	univ_ring_fetch(&wqe->wr, slot, SEND_HEAD);
	wqe->done = 0;
	wqe->placed = false;
	wqe->loaded = true;
	bad = send_check(qp, &wqe->wr);
	if (unlikely(bad)) {
		*reason = bad;
		wqe->len = 0;
		return IB_WC_LOC_QP_OP_ERR;
	}
	if (wqe->wr.flags & UNIV_WR_INLINE) {
		wqe->data = slot + SEND_HEAD;
		wqe->len = wqe->wr.count;
	} else {
		wqe->data = NULL;
		len = load_sges(wqe->sge, slot + SEND_HEAD, wqe->wr.count);
		if (unlikely(len > UROCE_MAX_SEND)) {
			*reason = UNIV_REASON_LIMIT;
			return IB_WC_LOC_LEN_ERR;
		}
		wqe->len = len;
	}
	if (unlikely(qp->sq.datagrams)) {
		if (!send_load_av(qp, wqe)) {
			*reason = UNIV_REASON_WR_AH;
			return IB_WC_LOC_QP_OP_ERR;
		}
		wqe->wr.ud.remote_qpn &= 0xffffff;
	}
	return IB_WC_SUCCESS;
}

/* An atomic operation returns eight bytes, however long its list is */
static u32 send_reach(const struct uroce_wqe *wqe)
{
	if (BIT(wqe->wr.opcode) & (OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD)))
		return min_t(u32, wqe->len, sizeof(u64));
	return wqe->len;
}

/* @access: what the local memory must grant: nothing, or to be written */
enum ib_wc_status uroce_send_map(struct uroce_qp *qp, struct uroce_wqe *wqe,
				 u32 access)
{
	struct uroce_seg *seg = wqe->vec.seg;

	if (!wqe->data)
		return map_sges(qp, qp->ib->pd, &wqe->vec, wqe->sge,
				wqe->wr.count, send_reach(wqe), access,
				qp->sq.attached);
	seg->mr = NULL;
	seg->base = (uintptr_t)wqe->data;
	seg->len = wqe->len;
	wqe->vec.len = wqe->len;
	wqe->vec.count = !!wqe->len;
	return IB_WC_SUCCESS;
}

static u8 send_wc_opcode(u8 opcode)
{
	switch (opcode) {
	case UNIV_WR_RDMA_WRITE:
	case UNIV_WR_RDMA_WRITE_WITH_IMM:
		return IB_WC_RDMA_WRITE;
	case UNIV_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case UNIV_WR_ATOMIC_CMP_AND_SWP:
		return IB_WC_COMP_SWAP;
	case UNIV_WR_ATOMIC_FETCH_AND_ADD:
		return IB_WC_FETCH_ADD;
	case UNIV_WR_ATOMIC_WRITE:
		return UROCE_WC_ATOMIC_WRITE;
	case UNIV_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case UNIV_WR_BIND_MW:
		return IB_WC_BIND_MW;
	case UROCE_WR_REG_MR:
		return IB_WC_REG_MR;
	default:
		return IB_WC_SEND;
	}
}

/* It found no room */
static noinline void send_lost(struct uroce_qp *qp)
{
	WRITE_ONCE(qp->lost, true);
	uroce_send_later(qp);
}

void uroce_send_complete(struct uroce_qp *qp, const struct uroce_wqe *wqe,
			 bool last)
{
	struct uroce_sendq *sq = &qp->sq;
	struct univ_cqe cqe __uninitialized;

	lockdep_assert_held(&sq->lock);
	/* Times are not ours; a shorter run of zeros is no loop */
	memset(&cqe, 0, offsetof(struct univ_cqe, timestamp));
	cqe.reserved = 0;
	cqe.wr_id = wqe->wr.wr_id;
	cqe.opcode = send_wc_opcode(wqe->wr.opcode);
	cqe.byte_len = wqe->len;
	cqe.qp_num = qp->num;
	sq->untold = !last;
	if (unlikely(last ? !uroce_cq_add_last(qp->send_cq, qp, &cqe, false) :
			    !uroce_cq_add(qp->send_cq, qp, &cqe, false)))
		send_lost(qp);
}

/* Of local memory that does not serve: why, as far as requests can tell */
static u16 send_why(const struct uroce_qp *qp, const struct uroce_wqe *wqe)
{
	bool reads = BIT(wqe->wr.opcode) & NEVER_INLINE;

	if (wqe->data)
		return 0;
	return sges_why(qp->ib->pd, wqe->sge, wqe->wr.count,
			reads ? IB_ACCESS_LOCAL_WRITE : 0);
}

static void send_complete_error(struct uroce_qp *qp,
				const struct uroce_wqe *wqe,
				enum ib_wc_status status, u16 reason)
{
	struct univ_cqe cqe = {
		.wr_id = wqe->wr.wr_id,
		.status = status,
		.opcode = send_wc_opcode(wqe->wr.opcode),
		.qp_num = qp->num,
		.reason = reason,
	};

	if (status == IB_WC_LOC_PROT_ERR && !reason)
		cqe.reason = send_why(qp, wqe);
	qp->sq.untold = true;
	if (!uroce_cq_add(qp->send_cq, qp, &cqe, true))
		send_lost(qp);
}

void uroce_send_done(struct uroce_qp *qp, struct uroce_wqe *wqe,
		     enum ib_wc_status status, u16 reason)
{
	struct uroce_sendq *sq = &qp->sq;

	if (likely(!status)) {
		uroce_send_success(qp, wqe, false);
		return;
	}
	uroce_send_retire(sq, wqe);
	send_complete_error(qp, wqe, status, reason);
	if (status != IB_WC_WR_FLUSH_ERR)
		uroce_send_failed(qp, reason);
}

/* ---- running a send queue ----------------------------------------------------- */

/*
 * Requests that are flushed, or looked at, before others get a turn; and turns before
 * the rest is left to a work item. A process may publish as fast as we complete, for
 * ever, and a message may be 1 GiB long. A system call does more turns, between
 * which the scheduler may switch; in the tasklet they would be nobody's time.
 */
#define STEP		64
#define TURNS		16
#define TASK_TURNS	4

static struct workqueue_struct *send_wq;

/* Memory may be reclaimed by way of this device */
int uroce_queue_start(void)
{
	send_wq = alloc_workqueue("uroce", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return send_wq ? 0 : -ENOMEM;
}

void uroce_queue_stop(void)
{
	destroy_workqueue(send_wq);
}

/* The process wrote nonsense to its tail: nothing in the ring can be trusted */
static noinline void send_corrupt(struct uroce_qp *qp)
{
	struct uroce_wqe wqe = {};

	qp->sq.head = univ_ring_published(&qp->sq.ring) - 1;
	uroce_send_done(qp, &wqe, IB_WC_LOC_QP_OP_ERR,
			UNIV_REASON_RING_CORRUPT);
	uroce_send_notify(qp);
}

static noinline bool flush_step(struct uroce_qp *qp, u32 tail)
{
	struct uroce_sendq *sq = &qp->sq;
	u16 reason;
	u32 n;

	for (n = 0; n < STEP && sq->head != tail; n++) {
		if (!sq->wqe.loaded)
			uroce_send_load(qp, sq->head, &sq->wqe, &reason);
		uroce_send_done(qp, &sq->wqe, IB_WC_WR_FLUSH_ERR, 0);
	}
	if (n)
		trace_uroce_flush(&qp->dev->ib, qp->num, n);
	uroce_send_notify(qp);
	return sq->head != tail;
}

/* Where the process's requests end, for uroce_send_flush() */
u32 uroce_send_tail(struct uroce_qp *qp)
{
	return qp->sq.ring.count ? univ_ring_published(&qp->sq.ring) : 0;
}

/*
 * Are there requests before @tail that SQE is to flush? A tail that is not good any
 * more ends it as well. Context: the send queue's lock.
 */
bool uroce_send_unflushed(const struct uroce_qp *qp, u32 tail)
{
	const struct uroce_sendq *sq = &qp->sq;

	return qp->state == IB_QPS_SQE && !sq->dead && sq->head != tail &&
	       tail - sq->head <= sq->ring.count;
}

/*
 * In SQE, flush what was posted before @tail: the state may be left then, and requests
 * that follow one that failed are not to be carried out. May sleep.
 */
void uroce_send_flush(struct uroce_qp *qp, u32 tail)
{
	bool more = READ_ONCE(qp->state) == IB_QPS_SQE;

	while (more) {
		spin_lock_bh(&qp->sq.lock);
		more = uroce_send_unflushed(qp, tail) && flush_step(qp, tail);
		spin_unlock_bh(&qp->sq.lock);
		cond_resched();
	}
}

/* Whether a wait is over */
static bool send_may_go_on(struct uroce_sendq *sq)
{
	if (READ_ONCE(sq->due) ||
	    (sq->wait == UROCE_WAIT_RNR && READ_ONCE(sq->word)))
		sq->wait = UROCE_WAIT_NONE;
	return sq->wait == UROCE_WAIT_NONE;
}

/* In a state that is not RTS. @tail is good. */
static noinline bool send_step_state(struct uroce_qp *qp, u32 tail,
				     enum ib_qp_state state)
{
	if (state == IB_QPS_ERR || state == IB_QPS_SQE) {
		qp->sq.wait = UROCE_WAIT_NONE;
		uroce_wire_flush(qp);
		return flush_step(qp, tail);
	}
	if (qp->sq.wait != UROCE_WAIT_NONE && !send_may_go_on(&qp->sq))
		return false;
	return uroce_send_drain(qp);
}

/* Context: sq.lock. True when there is more to do. */
static inline bool send_step(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;
	enum ib_qp_state state = READ_ONCE(qp->state);
	u32 tail;

	if (unlikely(!sq->ring.count || state < IB_QPS_RTS))
		return false;
	tail = univ_ring_published(&sq->ring);
	if (unlikely(tail - sq->head > sq->ring.count)) {
		send_corrupt(qp);
		return false;
	}
	if (unlikely(state != IB_QPS_RTS))
		return send_step_state(qp, tail, state);
	if (unlikely(sq->wait != UROCE_WAIT_NONE) && !send_may_go_on(sq))
		return false;
	if (tail == sq->head && !qp->wire)
		return false;
	return uroce_qp_is_local(qp) ? uroce_local_step(qp, tail) :
				       uroce_wire_step(qp, tail);
}

/* Do a bounded piece. @word: somebody may have left one. Context: sq.lock. */
static inline void send_piece(struct uroce_qp *qp, bool word)
{
	struct uroce_sendq *sq = &qp->sq;

	/* Cleared before the look for work, see below */
	if (unlikely(word))
		smp_store_mb(sq->again, false);
	if (likely(!sq->dead) && unlikely(send_step(qp)))
		WRITE_ONCE(sq->again, true);
}

/* Sends a piece of the queue's work; false if somebody else is at it */
static bool send_turn(struct uroce_qp *qp, bool word)
{
	if (unlikely(!spin_trylock_bh(&qp->sq.lock)))
		return false;
	send_piece(qp, word);
	spin_unlock_bh(&qp->sq.lock);
	/* Whoever found the lock taken has left word, or sees it free; see below */
	smp_mb();
	return true;
}

/* Destroying sets @dead under the lock, and cancels the work item after that */
static void send_rest(struct uroce_qp *qp)
{
	spin_lock_bh(&qp->sq.lock);
	if (!qp->sq.dead)
		queue_work(send_wq, &qp->sq.rest);
	spin_unlock_bh(&qp->sq.lock);
}

static noinline void send_more(struct uroce_qp *qp, u32 turns, bool may_sleep)
{
	while (--turns) {
		if (may_sleep)
			cond_resched();
		if (!send_turn(qp, true) || !READ_ONCE(qp->sq.again))
			return;
	}
	send_rest(qp);
}

/*
 * Go on with a send queue until nothing is left to do, or leave word for whoever
 * is at it. The fence between storing @again and trying the lock pairs with the
 * one between unlocking and loading @again: either we get the lock, or its holder
 * sees our word after it let go. The fence behind clearing it puts that before the
 * look for work, or it might wipe out the word of one who came between the two.
 * Who gets the lock at once needs no word, and lets one that it finds stand: that
 * is good for another turn. Whoever had all its turns leaves the word for the
 * work item.
 */
static __always_inline void send_run(struct uroce_qp *qp, u32 turns,
				     bool may_sleep)
{
	struct uroce_sendq *sq = &qp->sq;

	if (unlikely(!send_turn(qp, false))) {
		/* What we come for was there before our word for it */
		smp_store_release(&sq->again, true);
		/* Either we get the lock or its holder sees @again, see above */
		smp_mb();
	}
	if (unlikely(READ_ONCE(sq->again)))
		send_more(qp, turns, may_sleep);
}

/* Context: any but with interrupts off, no lock of ours held */
void uroce_send_run(struct uroce_qp *qp)
{
	send_run(qp, TASK_TURNS, false);
}

/* As that. Context: may sleep */
void uroce_send_kick(struct uroce_qp *qp)
{
	send_run(qp, TURNS, true);
}

/*
 * send_rest() queues this under the lock and does not look for a word after that, so
 * the lock is waited for here: were it only tried, nobody would go on.
 */
static void send_work(struct work_struct *work)
{
	struct uroce_qp *qp = container_of(work, struct uroce_qp, sq.rest);

	spin_lock_bh(&qp->sq.lock);
	send_piece(qp, true);
	spin_unlock_bh(&qp->sq.lock);
	/* Pairs with the barrier of whoever found the lock taken, as the one in send_turn() does */
	smp_mb();
	if (READ_ONCE(qp->sq.again))
		send_more(qp, TURNS, true);
}

/* From anywhere */
void uroce_send_later(struct uroce_qp *qp)
{
	tasklet_schedule(&qp->sq.task);
}

static void raise_events(struct uroce_qp *qp, unsigned long events)
{
	struct ib_event event = {
		.device = &qp->dev->ib,
		.element.qp = qp->ib,
	};
	int bit;

	if (!qp->ib->event_handler)
		return;
	for_each_set_bit(bit, &events, BITS_PER_LONG) {
		event.event = bit;
		qp->ib->event_handler(&event, qp->ib->qp_context);
	}
}

/*
 * A peer that waits for a receive request goes on. It is found anew, since it may
 * have been destroyed; the caller's RCU section keeps it. Context: resp.lock.
 */
static struct uroce_qp *recv_wanted(struct uroce_qp *qp)
{
	struct uroce_qp *peer;

	WRITE_ONCE(qp->resp.wanted, false);
	univ_ring_set_flags(&qp->rq.ring, 0);
	peer = uroce_qp_find(qp->av.peer, qp->attr.dest_qp_num);
	if (peer)
		WRITE_ONCE(peer->sq.word, true);
	return peer;
}

/*
 * Messages take receives by themselves. Whoever posts one is told to say so where
 * nobody else takes it, in error, or where a peer waits for it: then its message is
 * delivered at once, by the receiver. Context: no lock of ours held.
 */
void uroce_recv_posted(struct uroce_qp *qp)
{
	struct uroce_qp *peer = NULL;

	rcu_read_lock();
	spin_lock_bh(&qp->resp.lock);
	if (!qp->resp.dead && qp->state == IB_QPS_ERR)
		uroce_recv_flush(qp);
	else if (!qp->resp.dead && qp->resp.wanted)
		peer = recv_wanted(qp);
	spin_unlock_bh(&qp->resp.lock);
	if (peer)
		uroce_send_run(peer);
	rcu_read_unlock();
}

/*
 * Facts found under locks that forbid to act on them. Events are taken under
 * the lock that fails a queue pair, after the flush: the one that says that the last
 * request of a shared queue is done comes after that request's completion, whoever
 * fails the queue pair meanwhile.
 */
static void send_task(struct tasklet_struct *task)
{
	struct uroce_qp *qp = from_tasklet(qp, task, sq.task);
	unsigned long events;

	spin_lock_bh(&qp->resp.lock);
	if (!qp->resp.dead && READ_ONCE(qp->lost) &&
	    qp->state != IB_QPS_RESET)
		uroce_qp_fail(qp, IB_EVENT_QP_FATAL);
	if (!qp->resp.dead && qp->state == IB_QPS_ERR)
		uroce_recv_flush(qp);
	events = xchg(&qp->events, 0);
	spin_unlock_bh(&qp->resp.lock);
	if (events)
		raise_events(qp, events);
	if (READ_ONCE(qp->resp.wanted))
		uroce_recv_posted(qp);
	send_run(qp, TASK_TURNS, false);
}

static enum hrtimer_restart send_timer(struct hrtimer *timer)
{
	struct uroce_qp *qp = container_of(timer, struct uroce_qp, sq.timer);

	/* Whoever runs the queue next ends the wait */
	WRITE_ONCE(qp->sq.due, true);
	uroce_send_later(qp);
	return HRTIMER_NORESTART;
}

/* Nothing more until @ns have passed. Context: sq.lock. */
void uroce_send_wait(struct uroce_qp *qp, enum uroce_wait what, u64 ns)
{
	struct uroce_sendq *sq = &qp->sq;

	sq->wait = what;
	WRITE_ONCE(sq->due, false);
	if (ns)
		hrtimer_start(&sq->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}

/* ---- receive requests --------------------------------------------------------- */

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
 * Take the request at the head. One of fewer than @least bytes stays in the queue
 * for a shorter message.
 */
static enum ib_wc_status recv_load(struct uroce_recvq *rq, struct uroce_recv *r,
				   u32 least)
{
	struct univ_recv_wr wr;
	void *slot;
	u32 tail;
	u64 len;

	/* A queue pair of the kernel's may have been made without a ring */
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
	slot = univ_ring_slot(&rq->ring, rq->head);
	univ_ring_fetch(&wr, slot, RECV_HEAD);
	r->wr_id = wr.wr_id;
	r->done = 0;
	r->count = min(wr.count, rq->max_sge);
	len = load_sges(r->sge, slot + RECV_HEAD, r->count);
	r->len = min_t(u64, len, UROCE_MAX_MESSAGE);
	r->attached = rq->attached;
	r->surplus = wr.count > rq->max_sge;
	if (unlikely(r->len < least) && !r->surplus)
		return IB_WC_LOC_LEN_ERR;
	rq->head++;
	univ_ring_retire(&rq->ring, rq->head);
	return r->surplus ? IB_WC_LOC_QP_OP_ERR : IB_WC_SUCCESS;
}

static enum ib_wc_status srq_load(struct uroce_srq *srq, struct uroce_recv *r,
				  u32 least)
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
	r->taken = status == IB_WC_SUCCESS || status == IB_WC_LOC_QP_OP_ERR;
	if (unlikely(status == IB_WC_LOC_LEN_ERR))
		uroce_count(qp->dev, UROCE_CNT_RECV_SHORT);
	return status;
}

enum ib_wc_status uroce_recv_map(struct uroce_qp *qp, u32 len)
{
	struct uroce_recv *r = &qp->resp.recv;

	return map_sges(qp, r->pd, &r->vec, r->sge, r->count, len,
			IB_ACCESS_LOCAL_WRITE, r->attached);
}

static noinline u16 recv_why(const struct uroce_recv *r,
			     enum ib_wc_status status)
{
	if (status == IB_WC_LOC_LEN_ERR)
		return UNIV_REASON_RECV_SHORT;
	if (status == IB_WC_LOC_PROT_ERR)
		return sges_why(r->pd, r->sge, r->count,
				IB_ACCESS_LOCAL_WRITE);
	if (status == IB_WC_LOC_QP_OP_ERR)
		return r->surplus ? UNIV_REASON_WR_SGE : UNIV_REASON_MW_TYPE;
	return 0;
}

void uroce_recv_done(struct uroce_qp *qp, struct univ_cqe *cqe,
		     enum ib_wc_status status, bool solicited)
{
	struct uroce_recv *r = &qp->resp.recv;

	if (unlikely(status))
		cqe->reason = recv_why(r, status);

	r->taken = false;
	cqe->wr_id = r->wr_id;
	cqe->status = status;
	cqe->qp_num = qp->num;
	if (uroce_cq_add(r->cq, qp, cqe, solicited || status))
		return;
	WRITE_ONCE(qp->lost, true);
	uroce_send_later(qp);
}

/*
 * In error nobody takes receives any more but we, so each post must be told:
 * ask for a kick, and look once more (F1).
 */
void uroce_recv_flush(struct uroce_qp *qp)
{
	struct univ_cqe cqe = { .opcode = IB_WC_RECV };
	u32 n;

	lockdep_assert_held(&qp->resp.lock);
	if (qp->resp.recv.taken)
		uroce_recv_done(qp, &cqe, IB_WC_WR_FLUSH_ERR, true);
	if (!qp->srq && qp->rq.ring.count) {
		univ_ring_set_flags(&qp->rq.ring, UNIV_RING_NEED_KICK);
		/* F1: the process sees the flag, or we its tail */
		smp_mb();
		for (n = 0; n < STEP && recv_load(&qp->rq, &qp->resp.recv, 0) !=
		     IB_WC_RNR_RETRY_EXC_ERR; n++)
			uroce_recv_done(qp, &cqe, IB_WC_WR_FLUSH_ERR, true);
		if (n == STEP)
			uroce_send_later(qp);
	}
	uroce_recv_notify(qp);
}

void uroce_qp_fail(struct uroce_qp *qp, u32 event)
{
	lockdep_assert_held(&qp->resp.lock);
	if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_RESET)
		return;
	trace_uroce_qp_state(&qp->dev->ib, qp->num, qp->state, IB_QPS_ERR);
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	if (event)
		set_bit(event, &qp->events);
	if (qp->srq || qp->xrcd)
		set_bit(IB_EVENT_QP_LAST_WQE_REACHED, &qp->events);
	uroce_send_later(qp);
}

/* ---- making and unmaking ------------------------------------------------------ */

static int alloc_lists(struct univ_sge **sge, struct uroce_vec *vec, u32 max)
{
	*sge = kcalloc(max, sizeof(**sge), GFP_KERNEL_ACCOUNT);
	/* Inline data and remote memory are one piece */
	vec->seg = kcalloc(max_t(u32, max, 1), sizeof(*vec->seg),
			   GFP_KERNEL_ACCOUNT);
	return *sge && vec->seg ? 0 : -ENOMEM;
}

/* The longest list of a receive request; a target takes whosever of its domain's */
static u32 recv_sges(const struct uroce_qp *qp)
{
	if (qp->xrcd)
		return UROCE_MAX_SGE;
	return qp->srq ? qp->srq->rq.max_sge : qp->rq.max_sge;
}

int uroce_queue_init(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;

	spin_lock_init(&sq->lock);
	spin_lock_init(&sq->post);
	spin_lock_init(&qp->resp.lock);
	spin_lock_init(&qp->rq.lock);
	spin_lock_init(&qp->rq.post);
	qp->resp.pd = qp->ib->pd;
	qp->resp.recv.srq = qp->srq;
	qp->resp.recv.pd = qp->ib->pd;
	qp->resp.recv.cq = qp->recv_cq;
	hrtimer_setup(&sq->timer, send_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	sq->opcodes = send_opcodes(qp);
	sq->datagrams = qp->type == IB_QPT_UD || qp->type == IB_QPT_GSI;
	tasklet_setup(&sq->task, send_task);
	INIT_WORK(&sq->rest, send_work);
	if (alloc_lists(&sq->wqe.sge, &sq->wqe.vec, sq->max_sge) ||
	    alloc_lists(&qp->resp.recv.sge, &qp->resp.recv.vec,
			recv_sges(qp)))
		return -ENOMEM;
	return 0;
}

/* Nobody is in it any more */
void uroce_queue_free(struct uroce_qp *qp)
{
	kfree(qp->sq.wqe.sge);
	kfree(qp->sq.wqe.vec.seg);
	kfree(qp->resp.recv.sge);
	kfree(qp->resp.recv.vec.seg);
	kvfree(qp->sq.memory);
	kvfree(qp->rq.memory);
}

/* Forget what was published. Context: both locks. */
void uroce_queue_reset(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;

	sq->wqe.loaded = false;
	sq->wait = UROCE_WAIT_NONE;
	sq->waits = 0;
	WRITE_ONCE(qp->lost, false);
	qp->resp.recv.taken = false;
	qp->resp.heard = false;
	WRITE_ONCE(qp->resp.wanted, false);
	if (sq->ring.count) {
		sq->head = univ_ring_published(&sq->ring);
		univ_ring_retire(&sq->ring, sq->head);
	}
	if (!qp->srq && qp->rq.ring.count) {
		qp->rq.head = univ_ring_published(&qp->rq.ring);
		univ_ring_retire(&qp->rq.ring, qp->rq.head);
		univ_ring_set_flags(&qp->rq.ring, 0);
	}
}
