// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: their memory; the set-up, release and reset of their queues; and
 * the effect of a failure.
 */
#include <linux/slab.h>

#include "cntr.h"
#include "pair.h"
#include "recv.h"
#include "send.h"

/*
 * A slab holds 9 queue pairs where it would hold 8 objects of kmalloc(), which
 * has no size between a queue pair and 2 KiB.
 */
static struct kmem_cache *qps;

int uroce_qp_slab_init(void)
{
	qps = KMEM_CACHE(uroce_qp, SLAB_ACCOUNT);
	return qps ? 0 : -ENOMEM;
}

/*
 * No queue pair is left, and rcu_barrier() has waited for those that were
 * freed.
 */
void uroce_qp_slab_exit(void)
{
	kmem_cache_destroy(qps);
}

struct uroce_qp *uroce_qp_alloc(void)
{
	return kmem_cache_zalloc(qps, GFP_KERNEL);
}

static void qp_free(struct rcu_head *rcu)
{
	kmem_cache_free(qps, container_of(rcu, struct uroce_qp, sq.rcu));
}

/* kfree_rcu() was rejected: before 6.12 nothing waits for it to end. */
void uroce_qp_free(struct uroce_qp *qp)
{
	call_rcu(&qp->sq.rcu, qp_free);
}

static int alloc_lists(struct univ_sge **sge, struct uroce_vec *vec, u32 max)
{
	*sge = kcalloc(max, sizeof(**sge), GFP_KERNEL_ACCOUNT);
	/* Inline data and remote memory take one segment. */
	vec->seg = kcalloc(max_t(u32, max, 1), sizeof(*vec->seg),
			   GFP_KERNEL_ACCOUNT);
	return *sge && vec->seg ? 0 : -ENOMEM;
}

/*
 * The longest scatter list of a receive request. An XRC target may use any SRQ
 * of its domain, so it needs the maximum.
 */
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
	/* A receive uses memory of the domain of the queue it was posted to. */
	qp->resp.recv.pd = qp->srq ? qp->srq->ib.pd : qp->ib->pd;
	qp->resp.recv.cq = qp->recv_cq;
	INIT_LIST_HEAD(&qp->waiter);
	INIT_LIST_HEAD(&qp->aimed);
	INIT_LIST_HEAD(&qp->held);
	uroce_send_allow(qp);
	sq->datagrams = qp->type == IB_QPT_UD || qp->type == IB_QPT_GSI ||
			qp->type == IB_QPT_RAW_PACKET;
	if (alloc_lists(&sq->wqe.sge, &sq->wqe.vec, sq->max_sge) ||
	    alloc_lists(&qp->resp.recv.sge, &qp->resp.recv.vec,
			recv_sges(qp)))
		return -ENOMEM;
	return 0;
}

/* The queue pair is idle. */
void uroce_queue_free(struct uroce_qp *qp)
{
	WARN_ON_ONCE(qp->sq.done.count || qp->resp.done.count);
	uroce_ask_drop(&qp->sq.ask);
	uroce_ask_drop(&qp->resp.ask);
	kfree(qp->cntrs);
	kfree(qp->sq.wqe.sge);
	kfree(qp->sq.wqe.vec.seg);
	kfree(qp->resp.recv.sge);
	kfree(qp->resp.recv.vec.seg);
	kvfree(qp->sq.memory);
	kvfree(qp->rq.memory);
}

/* Drops all posted requests. Context: both locks. */
void uroce_queue_reset(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;

	sq->wqe.loaded = false;
	sq->wait = UROCE_WAIT_NONE;
	sq->early = false;
	sq->waits = 0;
	sq->asks = 0;
	WRITE_ONCE(qp->lost, false);
	qp->resp.recv.taken = false;
	qp->resp.established = false;
	uroce_recv_unwant(qp);
	uroce_ask_drop(&sq->ask);
	uroce_ask_drop(&qp->resp.ask);
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

/*
 * A queue pair whose max_dest_rd_atomic is 0 refuses reads and atomics but
 * accepts writes, as mlx5 does. Context: both locks.
 */
void uroce_qp_grant(struct uroce_qp *qp)
{
	u32 access = qp->attr.qp_access_flags;

	if (!qp->attr.max_dest_rd_atomic)
		access &=
			~(u32)(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC);
	qp->resp.access = access;
	qp->resp.quick = access & ~uroce_cntrs_served_by(qp);
}

/* ---- failures ------------------------------------------------------------ */

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

/* Requests that are posted already are flushed even if no kick follows. */
static void stop_sending(struct uroce_qp *qp)
{
	WRITE_ONCE(qp->state, IB_QPS_SQE);
	uroce_send_later(qp);
}

/*
 * A failed request ends a reliable connection. Other queue pairs stop sending
 * until they leave SQE, and still receive. Context: sq.lock.
 */
void uroce_send_failed(struct uroce_qp *qp, u16 reason)
{
	spin_lock(&qp->resp.lock);
	if (uroce_qp_is_reliable(qp) || reason == UNIV_REASON_RING_CORRUPT)
		uroce_qp_fail(qp, 0);
	else if (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD)
		stop_sending(qp);
	spin_unlock(&qp->resp.lock);
}
