// SPDX-License-Identifier: GPL-2.0
/* Rings of processes: attached by univerbs, and kicked by it. */
#include <linux/mm.h>

#include "../mem/mr.h"
#include "../raw/raw.h"
#include "engine.h"

static int cq_attach(struct ib_cq *cq, struct univ_cq *core)
{
	to_ucq(cq)->core = core;
	to_ucq(cq)->timed = univ_queue_timed(core);
	return 0;
}

/* A queue pair that spreads frames may have no completion queue. */
static bool is_timed(const struct uroce_cq *cq)
{
	return cq && cq->timed;
}

/* The queue pair is in RESET and not published yet. */
static int qp_attach(struct ib_qp *ib, const struct univ_queue_rings *rings)
{
	struct uroce_qp *qp = to_uqp(ib);

	qp->core = rings->core;
	qp->sq.ring = rings->send;
	qp->sq.signal = rings->sig_all;
	qp->sq.max_tso = rings->max_tso;
	if (rings->max_tso && qp->type == IB_QPT_RAW_PACKET)
		qp->sq.opcodes |= BIT(UNIV_WR_TSO);
	qp->sq.attached = true;
	qp->rq.ring = rings->recv;
	qp->rq.attached = true;
	if (is_timed(qp->send_cq))
		qp->sq.step = UROCE_BATCH;
	qp->resp.prompt = is_timed(qp->recv_cq);
	/*
	 * A message takes its receive request itself, so posting one needs no
	 * kick.
	 */
	if (qp->rq.ring.count)
		univ_ring_set_flags(&qp->rq.ring, 0);
	return 0;
}

static int srq_attach(struct ib_srq *ib, const struct univ_ring *ring)
{
	struct uroce_srq *srq = to_usrq(ib);
	void *memory;

	/* A peer may already know or guess the number of an XRC queue. */
	spin_lock_bh(&srq->rq.lock);
	memory = srq->rq.memory;
	srq->rq.memory = NULL;
	srq->rq.ring = *ring;
	srq->rq.attached = true;
	univ_ring_set_flags(&srq->rq.ring, list_empty(&srq->waiters) ?
						   0 : UNIV_RING_NEED_KICK);
	spin_unlock_bh(&srq->rq.lock);
	kvfree(memory);
	return 0;
}

/* The queue is in RESET, in which no frame is written to it. */
static int wq_attach(struct ib_wq *ib, const struct univ_ring *ring)
{
	struct uroce_recvq *rq = &to_uwq(ib)->receiver.qp->rq;

	rq->ring = *ring;
	rq->attached = true;
	univ_ring_set_flags(&rq->ring, 0);
	return 0;
}

static void qp_kick(struct ib_qp *ib, unsigned long which)
{
	struct uroce_qp *qp = to_uqp(ib);

	if (unlikely(which & UNIV_KICK_RECV))
		uroce_recv_posted(qp);
	if (likely(which & UNIV_KICK_SEND))
		uroce_send_kick(qp);
}

static void srq_kick(struct ib_srq *ib)
{
	uroce_srq_posted(to_usrq(ib));
}

/* Only the error state and frames that wait for requests need a kick. */
static void wq_kick(struct ib_wq *ib)
{
	uroce_delay_posted(to_uwq(ib)->receiver.qp);
	uroce_recv_posted(to_uwq(ib)->receiver.qp);
}

static int srq_resize(struct ib_srq *ib, const struct univ_ring *ring,
		      const struct ib_srq_attr *attr, int mask, u32 *posted)
{
	struct uroce_srq_move move = {
		.ring = ring,
		.attr = attr,
		.mask = mask,
	};
	int ret;

	ret = uroce_fault_verb(to_udev(ib->device), UROCE_VERB_MODIFY_SRQ);
	if (ret)
		return ret;
	ret = uroce_srq_move(to_usrq(ib), &move);
	*posted = move.posted;
	return ret;
}

/* Datagrams follow the MTU of the port, see uroce_port_mtu(). */
static u32 sent_mtu(const struct uroce_qp *qp)
{
	return uroce_qp_is_connected(qp) ? qp->mtu :
		ib_mtu_enum_to_int(uroce_port_mtu(qp->dev));
}

/*
 * A datagram that waits for its time, at the former rate, is tried again at
 * once.
 */
static void qp_rate(struct ib_qp *ib, const struct univ_queue_rate *rate)
{
	struct uroce_qp *qp = to_uqp(ib);
	struct uroce_sendq *sq = &qp->sq;

	spin_lock_bh(&sq->lock);
	spin_lock(&qp->resp.lock);
	qp->attr.rate_limit = rate->kbps;
	uroce_pace_set(&sq->pace, sent_mtu(qp), rate);
	if (sq->wait == UROCE_WAIT_PACE)
		WRITE_ONCE(sq->due, true);
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&sq->lock);
	uroce_send_run(qp);
}

/* The path is taken over by the next modify_qp. */
static int qp_path(struct ib_qp *ib, const struct ib_qp_attr *attr, int mask,
		   u32 *cause)
{
	if (attr)
		return uroce_mig_prepare(to_uqp(ib), attr, mask, cause);
	uroce_mig_cancel(to_uqp(ib));
	return 0;
}

/*
 * An exporter may map its memory uncached. Processors of x86 execute atomic
 * operations and unaligned copies there; others may answer them with an
 * exception.
 */
#define MR_DMABUF (IS_ENABLED(CONFIG_X86) ? uroce_mr_dmabuf : NULL)

const struct univ_queue_ops uroce_queue_ops = {
	.caps = UNIV_QUEUE_WINDOWS | UNIV_QUEUE_XRC | UNIV_QUEUE_ATOMIC_WRITE |
		UNIV_QUEUE_ODP | UNIV_QUEUE_FLUSH | UNIV_QUEUE_RAW |
		UNIV_QUEUE_WQ | UNIV_QUEUE_DMAH | UNIV_QUEUE_SOURCE_QPN,
	.max_tso = UROCE_MAX_TSO,
	.cntr_ops = UNIV_CNTR_SEND | UNIV_CNTR_RECV | UNIV_CNTR_READ |
		    UNIV_CNTR_PEER_READ | UNIV_CNTR_WRITE |
		    UNIV_CNTR_PEER_WRITE,
	.hash_fields = UNIV_RX_HASH_SRC_IPV4 | UNIV_RX_HASH_DST_IPV4 |
		       UNIV_RX_HASH_SRC_IPV6 | UNIV_RX_HASH_DST_IPV6 |
		       UNIV_RX_HASH_SRC_PORT_TCP | UNIV_RX_HASH_DST_PORT_TCP |
		       UNIV_RX_HASH_SRC_PORT_UDP | UNIV_RX_HASH_DST_PORT_UDP,
	.cq_attach = cq_attach,
	.qp_hash = uroce_qp_hash,
	.qp_attach = qp_attach,
	.srq_attach = srq_attach,
	.wq_attach = wq_attach,
	.qp_kick = qp_kick,
	.srq_kick = srq_kick,
	.wq_kick = wq_kick,
	.srq_resize = srq_resize,
	.mr_memory = uroce_mr_memory,
	.mr_extend = uroce_mr_extend,
	.mr_share = uroce_mr_share,
	.mw_query = uroce_mw_query,
	.mr_dmabuf = MR_DMABUF,
	.qp_cntr = uroce_cntr_attach,
	.qp_rate = qp_rate,
	.qp_path = qp_path,
	.qp_resize = uroce_qp_resize,
	.rate_max = U32_MAX,
	.rate_types = BIT(IB_QPT_RC) | BIT(IB_QPT_UC) | BIT(IB_QPT_UD) |
		      BIT(IB_QPT_XRC_INI),
};
