// SPDX-License-Identifier: GPL-2.0
/*
 * XRC domains, and the shared receive queue that a request is for. A target, as
 * the kernel calls an XRC receive queue pair, has no memory, queues or
 * completions of its own. Each request names a shared receive queue of its
 * domain: its protection domain limits RDMA, and its completion queue gets the
 * completions. Queues of other domains are not found.
 *
 * A shared receive queue that is destroyed is first removed from its domain's
 * table. Then each target is visited under its uroce_resp.lock: users that
 * found the queue earlier have finished by then, and the target forgets it.
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
	mutex_init(&xrcd->lock);
	INIT_LIST_HEAD(&xrcd->targets);
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

void uroce_target_add(struct uroce_qp *qp)
{
	struct uroce_xrcd *xrcd = qp->xrcd;

	mutex_lock(&xrcd->lock);
	list_add(&qp->target, &xrcd->targets);
	mutex_unlock(&xrcd->lock);
}

/* The target is idle. */
void uroce_target_remove(struct uroce_qp *qp)
{
	struct uroce_xrcd *xrcd = qp->xrcd;

	mutex_lock(&xrcd->lock);
	list_del(&qp->target);
	mutex_unlock(&xrcd->lock);
}

/*
 * Selects the shared receive queue for the following operations of the target.
 * Returns false if its domain has no queue of this number. Context: resp.lock.
 */
bool uroce_target_aim(struct uroce_qp *qp, u32 srqn)
{
	struct uroce_srq *srq;

	lockdep_assert_held(&qp->resp.lock);
	srq = xa_load(&qp->xrcd->srqs, srqn & 0xffffff);
	qp->resp.srq = srq;
	qp->resp.pd = srq ? srq->ib.pd : NULL;
	return srq;
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

	r->srq = srq;
	r->pd = srq->ib.pd;
	r->cq = to_ucq(srq->ib.ext.cq);
	return srq;
}

/*
 * A message that is half received cannot be completed any more. A peer whose
 * message waits for a request of the queue learns of the end of the queue when
 * its RNR timer expires. Context: resp.lock.
 */
static void target_forget(struct uroce_qp *qp, struct uroce_srq *srq)
{
	struct uroce_resp *resp = &qp->resp;
	struct univ_cqe cqe = { .opcode = IB_WC_RECV };

	if (resp->awaited == srq)
		uroce_recv_unwant(qp);
	if (resp->srq == srq) {
		resp->srq = NULL;
		resp->pd = NULL;
	}
	if (resp->recv.srq != srq)
		return;
	if (resp->recv.taken) {
		uroce_recv_done(qp, &cqe, IB_WC_WR_FLUSH_ERR, true);
		uroce_recv_notify(qp);
		uroce_qp_fail(qp, IB_EVENT_QP_FATAL);
	}
	resp->recv.srq = NULL;
	resp->recv.pd = NULL;
	resp->recv.cq = NULL;
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
	ret = xa_err(xa_store(&xrcd->srqs, num, srq, GFP_KERNEL));
	if (ret) {
		xa_erase(&numbers, num);
		return ret;
	}
	srq->ib.ext.xrc.srq_num = num;
	return 0;
}

/* On return no target uses the queue. */
void uroce_xrc_srq_remove(struct uroce_srq *srq)
{
	struct uroce_xrcd *xrcd = to_uxrcd(srq->ib.ext.xrc.xrcd);
	struct uroce_qp *qp;

	xa_erase(&xrcd->srqs, srq->ib.ext.xrc.srq_num);
	mutex_lock(&xrcd->lock);
	list_for_each_entry(qp, &xrcd->targets, target) {
		spin_lock_bh(&qp->resp.lock);
		target_forget(qp, srq);
		spin_unlock_bh(&qp->resp.lock);
	}
	mutex_unlock(&xrcd->lock);
	xa_erase(&numbers, srq->ib.ext.xrc.srq_num);
}
