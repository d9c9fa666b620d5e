// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues. */
#include <linux/mm.h>

#include "control.h"

int uroce_srq_create(struct ib_srq *ib, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct uroce_srq *srq = to_usrq(ib);
	int ret;

	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	if (init->srq_type == IB_SRQT_XRC &&
	    (!init->ext.cq || !init->ext.xrc.xrcd))
		return -EINVAL;
	if (!init->attr.max_wr || init->attr.max_wr > UROCE_MAX_WR ||
	    init->attr.max_sge > UROCE_MAX_SGE ||
	    init->attr.srq_limit > init->attr.max_wr)
		return -EINVAL;
	ret = uroce_fault_verb(to_udev(ib->device), UROCE_VERB_CREATE_SRQ);
	if (ret)
		return ret;
	spin_lock_init(&srq->rq.lock);
	spin_lock_init(&srq->rq.post);
	INIT_LIST_HEAD(&srq->waiters);
	INIT_LIST_HEAD(&srq->aimed);
	INIT_LIST_HEAD(&srq->held);
	uroce_srq_init(srq);
	srq->max_wr = init->attr.max_wr;
	srq->limit = init->attr.srq_limit;
	srq->rq.max_sge = max_t(u32, init->attr.max_sge, 1);
	ret = uroce_recvq_private(&srq->rq, srq->max_wr);
	if (ret || init->srq_type == IB_SRQT_BASIC)
		return ret;
	ret = uroce_xrc_srq_add(srq);
	if (ret)
		kvfree(srq->rq.memory);
	return ret;
}

/* The core resizes the queue of a process by univ_queue_ops.srq_resize(). */
static int srq_check(const struct uroce_srq *srq,
		     const struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask)
{
	u32 max_wr = mask & IB_SRQ_MAX_WR ? attr->max_wr : srq->max_wr;
	u32 limit = mask & IB_SRQ_LIMIT ? attr->srq_limit :
					  READ_ONCE(srq->limit);

	if (mask & IB_SRQ_MAX_WR && srq->rq.attached)
		return -EOPNOTSUPP;
	if (!max_wr || max_wr > UROCE_MAX_WR || limit > max_wr)
		return -EINVAL;
	return 0;
}

int uroce_srq_modify(struct ib_srq *ib, struct ib_srq_attr *attr,
		      enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct uroce_srq *srq = to_usrq(ib);
	int ret;

	ret = srq_check(srq, attr, mask);
	if (!ret)
		ret = uroce_fault_verb(to_udev(ib->device),
				       UROCE_VERB_MODIFY_SRQ);
	if (ret)
		return ret;
	if (mask & IB_SRQ_MAX_WR)
		return uroce_srq_resize(srq, attr, mask);
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	spin_lock_bh(&srq->rq.lock);
	srq->limit = attr->srq_limit;
	spin_unlock_bh(&srq->rq.lock);
	return 0;
}

int uroce_srq_query(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct uroce_srq *srq = to_usrq(ib);

	attr->max_sge = srq->rq.max_sge;
	spin_lock_bh(&srq->rq.lock);
	attr->max_wr = srq->max_wr;
	attr->srq_limit = srq->limit;
	spin_unlock_bh(&srq->rq.lock);
	return 0;
}

int uroce_srq_destroy(struct ib_srq *ib, struct ib_udata *udata)
{
	if (ib->srq_type == IB_SRQT_XRC)
		uroce_xrc_srq_remove(to_usrq(ib));
	cancel_work_sync(&to_usrq(ib)->rest);
	kvfree(to_usrq(ib)->rq.memory);
	return 0;
}
