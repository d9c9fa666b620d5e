// SPDX-License-Identifier: GPL-2.0
/*
 * XRC domains, and the shared receive queue that a request is for. A target, as
 * the kernel calls an XRC receive queue pair, has no memory, queues or
 * completions of its own. Each request names a shared receive queue of its
 * domain: its protection domain limits RDMA, and its completion queue gets the
 * completions. Queues of other domains are not found.
 *
 * A shared receive queue lists the targets whose last request named it, and
 * those whose receive request came from it. So its destruction visits these
 * and no other targets of the domain, of which a process may have very many.
 * It first removes the queue from the domain's table, so that no further
 * target finds it. Then each target on the lists forgets it under its
 * uroce_resp.lock. A target that is destroyed meanwhile is safe to lock, since
 * the memory of queue pairs is freed after a grace period.
 */
#include "recv.h"
#include "xrc.h"

/*
 * Numbers are unique on this host, although each domain has a table of its own.
 */
static DEFINE_XARRAY_ALLOC(numbers);
static u32 next_number;

int uroce_xrcd_alloc(struct ib_xrcd *ib, struct ib_udata *udata)
{
	struct uroce_xrcd *xrcd = to_uxrcd(ib);
	int ret;

	ret = uroce_fault_verb(to_udev(ib->device), UROCE_VERB_OPEN_XRCD);
	if (ret)
		return ret;
	xa_init(&xrcd->srqs);
	spin_lock_init(&xrcd->lock);
	return 0;
}

/* No object uses the domain any more. */
int uroce_xrcd_dealloc(struct ib_xrcd *ib, struct ib_udata *udata)
{
	xa_destroy(&to_uxrcd(ib)->srqs);
	return 0;
}

void uroce_xrc_exit(void)
{
	xa_destroy(&numbers);
}

/* ---- targets ------------------------------------------------------------- */

/*
 * A request names another queue than the request before it. The peer does not
 * wait for a receive request of the former queue any more. Context: resp.lock.
 */
static bool target_reaim(struct uroce_qp *qp, u32 srqn)
{
	struct uroce_xrcd *xrcd = qp->xrcd;
	struct uroce_srq *srq;

	uroce_recv_unwant(qp);
	spin_lock(&xrcd->lock);
	srq = xa_load(&xrcd->srqs, srqn);
	if (srq)
		list_move(&qp->aimed, &srq->aimed);
	else
		list_del_init(&qp->aimed);
	spin_unlock(&xrcd->lock);
	qp->resp.srq = srq;
	qp->resp.pd = srq ? srq->ib.pd : NULL;
	return srq;
}

/*
 * Selects the shared receive queue for the following operations of the target.
 * Returns false if its domain has no queue of this number. Context: resp.lock.
 */
bool uroce_target_aim(struct uroce_qp *qp, u32 srqn)
{
	const struct uroce_srq *srq = qp->resp.srq;

	lockdep_assert_held(&qp->resp.lock);
	srqn &= 0xffffff;
	if (likely(srq && srq->ib.ext.xrc.srq_num == srqn))
		return true;
	return target_reaim(qp, srqn);
}

/*
 * A message begins. Its receive request comes from the shared receive queue
 * that uroce_target_aim() has selected, and completes in the completion queue
 * of that queue.
 */
struct uroce_srq *uroce_target_take(struct uroce_qp *qp)
{
	struct uroce_recv *r = &qp->resp.recv;
	struct uroce_srq *srq = qp->resp.srq;

	if (likely(r->srq == srq))
		return srq;
	spin_lock(&qp->xrcd->lock);
	list_move(&qp->held, &srq->held);
	spin_unlock(&qp->xrcd->lock);
	r->srq = srq;
	r->pd = srq->ib.pd;
	r->cq = to_ucq(srq->ib.ext.cq);
	return srq;
}

static void target_unlist(struct uroce_qp *qp, struct list_head *link)
{
	spin_lock(&qp->xrcd->lock);
	list_del_init(link);
	spin_unlock(&qp->xrcd->lock);
}

/* Context: resp.lock. */
static void forget_aim(struct uroce_qp *qp)
{
	struct uroce_resp *resp = &qp->resp;

	uroce_recv_unwant(qp);
	target_unlist(qp, &qp->aimed);
	resp->srq = NULL;
	resp->pd = NULL;
}

/*
 * A message that is half received cannot be completed any more. Context:
 * resp.lock.
 */
static void forget_recv(struct uroce_qp *qp)
{
	struct uroce_recv *r = &qp->resp.recv;
	struct univ_cqe cqe = { .opcode = IB_WC_RECV };

	if (r->taken) {
		uroce_recv_done(qp, &cqe, IB_WC_WR_FLUSH_ERR, true);
		uroce_recv_notify(qp);
		uroce_qp_fail(qp, IB_EVENT_QP_FATAL);
	}
	target_unlist(qp, &qp->held);
	r->srq = NULL;
	r->pd = NULL;
	r->cq = NULL;
}

/*
 * A peer whose message waits for a request of the queue learns of the end of
 * the queue when its RNR timer expires.
 */
static void target_forget(struct uroce_qp *qp, const struct uroce_srq *srq)
{
	spin_lock_bh(&qp->resp.lock);
	if (qp->resp.srq == srq)
		forget_aim(qp);
	if (qp->resp.recv.srq == srq)
		forget_recv(qp);
	spin_unlock_bh(&qp->resp.lock);
}

/*
 * The target is idle. A queue that has found it before sees that it is none of
 * its targets any more.
 */
void uroce_target_remove(struct uroce_qp *qp)
{
	spin_lock_bh(&qp->resp.lock);
	qp->resp.srq = NULL;
	qp->resp.recv.srq = NULL;
	target_unlist(qp, &qp->aimed);
	target_unlist(qp, &qp->held);
	spin_unlock_bh(&qp->resp.lock);
}

/* ---- shared receive queues ----------------------------------------------- */

int uroce_xrc_srq_add(struct uroce_srq *srq)
{
	struct uroce_xrcd *xrcd = to_uxrcd(srq->ib.ext.xrc.xrcd);
	u32 num;
	int ret;

	ret = uroce_cq_private(to_ucq(srq->ib.ext.cq));
	if (ret)
		return ret;
	ret = xa_alloc_cyclic(&numbers, &num, srq, XA_LIMIT(1, 0xffffff),
			      &next_number, GFP_KERNEL);
	if (ret < 0)
		return -ENOMEM;
	srq->ib.ext.xrc.srq_num = num;
	ret = xa_err(xa_store(&xrcd->srqs, num, srq, GFP_KERNEL));
	if (ret)
		xa_erase(&numbers, num);
	return ret;
}

/* A target that uses the queue; NULL for none. */
static struct uroce_qp *srq_target(struct uroce_xrcd *xrcd,
				   struct uroce_srq *srq)
{
	struct uroce_qp *qp;

	spin_lock_bh(&xrcd->lock);
	qp = list_first_entry_or_null(&srq->aimed, struct uroce_qp, aimed);
	if (!qp)
		qp = list_first_entry_or_null(&srq->held, struct uroce_qp,
					      held);
	spin_unlock_bh(&xrcd->lock);
	return qp;
}

/* On return no target uses the queue. */
void uroce_xrc_srq_remove(struct uroce_srq *srq)
{
	struct uroce_xrcd *xrcd = to_uxrcd(srq->ib.ext.xrc.xrcd);
	struct uroce_qp *qp;

	xa_erase(&xrcd->srqs, srq->ib.ext.xrc.srq_num);
	do {
		rcu_read_lock();
		qp = srq_target(xrcd, srq);
		if (qp)
			target_forget(qp, srq);
		rcu_read_unlock();
		cond_resched();
	} while (qp);
	xa_erase(&numbers, srq->ib.ext.xrc.srq_num);
}
