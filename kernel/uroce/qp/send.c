// SPDX-License-Identifier: GPL-2.0
/* Send requests: taken out of their ring, and completed. */
#include "compat.h"
#include "cntr.h"
#include "send.h"
#include "sges.h"

/* The opcodes that uroce_send_load_quick() accepts. */
#define QUICK_OPCODES (BIT(UNIV_WR_RDMA_WRITE) | BIT(UNIV_WR_SEND) | \
		       BIT(UNIV_WR_SEND_WITH_IMM) | BIT(UNIV_WR_RDMA_READ))

static u8 services(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
	case IB_QPT_XRC_INI:
		return UROCE_WRS_RC;
	case IB_QPT_UC:
		return UROCE_WRS_UC;
	case IB_QPT_RAW_PACKET:
		return UROCE_WRS_RAW;
	default:
		return UROCE_WRS_UD;
	}
}

void uroce_send_allow(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;
	u8 service = services(qp->type), op;
	u32 opcodes = 0;

	for (op = 0; op < BITS_PER_TYPE(opcodes); op++)
		if (uroce_wr_ops[op].services & service)
			opcodes |= BIT(op);
	sq->opcodes = opcodes & ~BIT(UNIV_WR_TSO);
	sq->quick = uroce_qp_is_connected(qp) && sq->max_sge ?
			    opcodes & QUICK_OPCODES : 0;
}

static bool flush_is_valid(const struct univ_send_wr *wr)
{
	u32 type = wr->flush.type;

	if (!type || type & ~(UNIV_FLUSH_GLOBAL | UNIV_FLUSH_PERSISTENT))
		return false;
	if (wr->flush.level == UNIV_FLUSH_RANGE)
		return wr->flush.length <= UROCE_MAX_MESSAGE;
	return wr->flush.level == UNIV_FLUSH_MR;
}

static u16 send_check_tso(const struct uroce_sendq *sq,
			  const struct univ_send_wr *wr)
{
	if (wr->flags & UNIV_WR_INLINE)
		return UNIV_REASON_WR_OPCODE;
	if (wr->count > sq->max_sge)
		return UNIV_REASON_WR_SGE;
	return wr->tso.header > sq->max_tso ? UNIV_REASON_TSO_HEADER : 0;
}

/* Requests whose slots differ from those of sends, writes and reads. */
static noinline u16 send_check_other(const struct uroce_sendq *sq,
				     struct univ_send_wr *wr)
{
	if (uroce_wr_is(wr->opcode, UROCE_WRF_TSO))
		return send_check_tso(sq, wr);
	if (uroce_wr_is(wr->opcode, UROCE_WRF_WORD))
		return wr->flags & UNIV_WR_INLINE && wr->count == sizeof(u64) ?
			0 : UNIV_REASON_WR_INLINE;
	wr->count = 0;
	return flush_is_valid(wr) ? 0 : UNIV_REASON_FLUSH;
}

static u16 send_check(const struct uroce_qp *qp, struct univ_send_wr *wr)
{
	const struct uroce_sendq *sq = &qp->sq;

	if (unlikely(wr->opcode >= BITS_PER_TYPE(u32) ||
		     !(sq->opcodes & BIT(wr->opcode))))
		return uroce_wr_is(wr->opcode, UROCE_WRF_KERNEL) &&
		       !sq->attached && !sq->datagrams ?
			       0 : UNIV_REASON_WR_OPCODE;
	if (unlikely(wr->flags & ~UROCE_SEND_FLAGS) &&
	    (wr->flags & ~(UROCE_SEND_FLAGS | UNIV_WR_IP_CSUM) ||
	     qp->type != IB_QPT_RAW_PACKET))
		return UNIV_REASON_FLAGS;
	if (unlikely(uroce_wr_is(wr->opcode, UROCE_WRF_WORD | UROCE_WRF_FLUSH |
					     UROCE_WRF_TSO)))
		return send_check_other(sq, wr);
	if (!(wr->flags & UNIV_WR_INLINE))
		return wr->count > sq->max_sge ? UNIV_REASON_WR_SGE : 0;
	if (uroce_wr_is(wr->opcode, UROCE_WRF_FETCH))
		return UNIV_REASON_WR_OPCODE;
	return wr->count > sq->max_inline ? UNIV_REASON_WR_INLINE : 0;
}

/*
 * Copies the address vector of a datagram, so that the address handle may be
 * destroyed.
 */
static noinline bool send_load_av(struct uroce_qp *qp, struct uroce_wqe *wqe)
{
	struct univ_queue_ah ah;

	if (!qp->sq.attached)
		return uroce_ah_copy(wqe->wr.ud.ah, &wqe->av);
	if (!univ_queue_ah_get(qp->core, wqe->wr.ud.ah, &ah))
		return false;
	uroce_ah_load(to_uah(ah.ib), &wqe->av);
	univ_queue_ah_put(&ah);
	return true;
}

enum ib_wc_status uroce_send_load(struct uroce_qp *qp, u32 index,
				  struct uroce_wqe *wqe, u16 *reason)
{
	void *slot = univ_ring_slot(&qp->sq.ring, index);
	u64 len;
	u16 bad;

	univ_ring_fetch(&wqe->wr, slot, UROCE_SEND_HEAD);
	wqe->done = 0;
	wqe->stage = UROCE_STAGE_NEW;
	wqe->loaded = true;
	bad = send_check(qp, &wqe->wr);
	if (unlikely(bad)) {
		*reason = bad;
		wqe->len = 0;
		return IB_WC_LOC_QP_OP_ERR;
	}
	if (wqe->wr.flags & UNIV_WR_INLINE) {
		wqe->data = slot + UROCE_SEND_HEAD;
		wqe->len = wqe->wr.count;
	} else {
		wqe->data = NULL;
		len = uroce_sges_load(wqe->sge, slot + UROCE_SEND_HEAD,
				      wqe->wr.count);
		if (unlikely(len > UROCE_MAX_SEND)) {
			*reason = UNIV_REASON_LIMIT;
			return IB_WC_LOC_LEN_ERR;
		}
		wqe->len = len;
	}
	if (unlikely(qp->sq.datagrams) && qp->type != IB_QPT_RAW_PACKET) {
		if (!send_load_av(qp, wqe)) {
			*reason = UNIV_REASON_WR_AH;
			return IB_WC_LOC_QP_OP_ERR;
		}
		wqe->wr.ud.remote_qpn &= 0xffffff;
	}
	return IB_WC_SUCCESS;
}

/* An atomic operation returns eight bytes, whatever the length of its list. */
static u32 send_reach(const struct uroce_wqe *wqe)
{
	if (uroce_wr_is(wqe->wr.opcode, UROCE_WRF_ATOMIC))
		return min_t(u32, wqe->len, sizeof(u64));
	return wqe->len;
}

/* @access: the right that local memory must grant: none, or write access. */
enum ib_wc_status uroce_send_map(struct uroce_qp *qp, struct uroce_wqe *wqe,
				 u32 access)
{
	struct uroce_seg *seg = wqe->vec.seg;

	if (!wqe->data)
		return uroce_sges_map(qp, qp->ib->pd, &wqe->vec, wqe->sge,
				wqe->wr.count, send_reach(wqe), access,
				qp->sq.attached);
	seg->mr = NULL;
	seg->base = (uintptr_t)wqe->data;
	seg->len = wqe->len;
	wqe->vec.len = wqe->len;
	wqe->vec.count = !!wqe->len;
	return IB_WC_SUCCESS;
}

void uroce_send_lost(struct uroce_qp *qp)
{
	WRITE_ONCE(qp->lost, true);
	uroce_send_later(qp);
}

/* There are completions to write. Context: sq.lock. */
void uroce_send_write_out(struct uroce_qp *qp, u32 flags)
{
	lockdep_assert_held(&qp->sq.lock);
	if (unlikely(!uroce_cq_add(qp->send_cq, qp, &qp->sq.done, flags)))
		uroce_send_lost(qp);
}

void uroce_send_counted(struct uroce_qp *qp, const struct uroce_wqe *wqe)
{
	uroce_cntrs_sent(qp, wqe->wr.opcode, true, wqe->len);
	if (qp->sq.signal == UROCE_SIGNAL_COUNTED_ALL ||
	    wqe->wr.flags & UNIV_WR_SIGNALED)
		uroce_send_complete(qp, wqe);
}

/*
 * The reason why local memory is not accessible, as far as a request can tell.
 */
static u16 send_why(const struct uroce_qp *qp, const struct uroce_wqe *wqe)
{
	bool reads = uroce_wr_is(wqe->wr.opcode, UROCE_WRF_FETCH);

	if (wqe->data)
		return 0;
	return uroce_sges_why(qp->ib->pd, wqe->sge, wqe->wr.count,
			reads ? IB_ACCESS_LOCAL_WRITE : 0);
}

static void send_complete_error(struct uroce_qp *qp,
				const struct uroce_wqe *wqe,
				enum ib_wc_status status, u16 reason)
{
	struct univ_cqe *cqe = uroce_send_next(qp, wqe);

	cqe->status = status;
	cqe->reason = reason;
	/* No request was taken out of a corrupt ring. */
	if (reason != UNIV_REASON_RING_CORRUPT)
		uroce_cntrs_sent(qp, wqe->wr.opcode, false, 0);
	if (status == IB_WC_LOC_PROT_ERR && !reason)
		cqe->reason = send_why(qp, wqe);
	qp->sq.done.flags |= UNIV_COMPLETE_SOLICITED;
	qp->sq.done.count++;
}

void uroce_send_done(struct uroce_qp *qp, struct uroce_wqe *wqe,
		     enum ib_wc_status status, u16 reason)
{
	struct uroce_sendq *sq = &qp->sq;

	if (likely(!status)) {
		uroce_send_success(qp, wqe);
		return;
	}
	uroce_send_retire(sq, wqe);
	send_complete_error(qp, wqe, status, reason);
	if (status == IB_WC_WR_FLUSH_ERR)
		return;
	/* Another thread may flush the receive queue as soon as this fails. */
	uroce_send_write(qp);
	uroce_send_failed(qp, reason);
}

/* Context: any. */
void uroce_send_later(struct uroce_qp *qp)
{
	tasklet_schedule(&qp->sq.task);
}

/* Stops the queue until @ns have passed. Context: sq.lock. */
void uroce_send_wait(struct uroce_qp *qp, enum uroce_wait what, u64 ns)
{
	struct uroce_sendq *sq = &qp->sq;

	sq->wait = what;
	sq->early = false;
	WRITE_ONCE(sq->due, false);
	if (ns)
		hrtimer_start(&sq->timer, ns_to_ktime(ns),
			      HRTIMER_MODE_REL_SOFT);
}
