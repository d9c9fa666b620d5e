// SPDX-License-Identifier: GPL-2.0
/* Receive work queues and receive indirection tables. */
#include <linux/slab.h>

#include "control.h"

/* Flags that a work queue may be created with, and that may change. */
#define FLAGS_CHANGED	(IB_WQ_FLAGS_CVLAN_STRIPPING | IB_WQ_FLAGS_SCATTER_FCS)
#define FLAGS_CREATED	(FLAGS_CHANGED | IB_WQ_FLAGS_DELAY_DROP | \
			 IB_WQ_FLAGS_PCI_WRITE_END_PADDING)

/*
 * The receiver has failed. Completions tell about failed requests, so an event
 * is raised only if a completion was lost.
 */
static void wq_event(struct ib_event *from, void *context)
{
	struct uroce_wq *wq = context;
	struct ib_event event = {
		.device = wq->ib.device,
		.element.wq = &wq->ib,
		.event = IB_EVENT_WQ_FATAL,
	};

	if (from->event == IB_EVENT_QP_FATAL && wq->ib.event_handler)
		wq->ib.event_handler(&event, wq->ib.wq_context);
}

/* No kernel verb posts to a work queue, so kernel users get none. */
static int check_init(const struct ib_wq_init_attr *init)
{
	if (init->wq_type != IB_WQT_RQ || init->create_flags & ~FLAGS_CREATED ||
	    !to_ucq(init->cq)->core)
		return -EOPNOTSUPP;
	if (!init->max_wr || init->max_wr > UROCE_MAX_WR ||
	    init->max_sge > UROCE_MAX_SGE)
		return -EINVAL;
	return 0;
}

static void receiver_fill(struct uroce_wq *wq, struct uroce_qp *qp,
			  struct ib_pd *pd, const struct ib_wq_init_attr *init)
{
	struct ib_qp *ib = &wq->receiver.ib;

	ib->device = pd->device;
	ib->pd = pd;
	ib->event_handler = wq_event;
	ib->qp_context = wq;
	wq->receiver.qp = qp;
	qp->ib = ib;
	qp->dev = to_udev(pd->device);
	qp->type = IB_QPT_RAW_PACKET;
	qp->state = IB_QPS_RESET;
	qp->strips = init->create_flags & IB_WQ_FLAGS_CVLAN_STRIPPING;
	qp->fcs = init->create_flags & IB_WQ_FLAGS_SCATTER_FCS;
	qp->recv_cq = to_ucq(init->cq);
	qp->rq.max_sge = max_t(u32, init->max_sge, 1);
	qp->attr.cap.max_recv_wr = init->max_wr;
	qp->attr.cap.max_recv_sge = qp->rq.max_sge;
	INIT_LIST_HEAD(&qp->windows);
}

static int receiver_create(struct uroce_wq *wq, struct ib_pd *pd,
			   const struct ib_wq_init_attr *init)
{
	struct uroce_qp *qp = uroce_qp_alloc();
	int ret;

	if (!qp)
		return -ENOMEM;
	receiver_fill(wq, qp, pd, init);
	uroce_send_init(qp);
	ret = uroce_queue_init(qp);
	if (!ret && init->create_flags & IB_WQ_FLAGS_DELAY_DROP)
		ret = uroce_delay_create(qp);
	if (!ret)
		ret = uroce_wq_number(qp);
	if (ret) {
		uroce_delay_destroy(qp);
		uroce_queue_free(qp);
		uroce_qp_free(qp);
		return ret;
	}
	wq->ib.wq_num = qp->num;
	return 0;
}

struct ib_wq *uroce_wq_create(struct ib_pd *pd, struct ib_wq_init_attr *init,
			      struct ib_udata *udata)
{
	struct uroce_wq *wq;
	int ret;

	ret = check_init(init);
	if (ret)
		return ERR_PTR(ret);
	wq = kzalloc(sizeof(*wq), GFP_KERNEL_ACCOUNT);
	if (!wq)
		return ERR_PTR(-ENOMEM);
	ret = receiver_create(wq, pd, init);
	if (ret) {
		kfree(wq);
		return ERR_PTR(ret);
	}
	wq->ib.state = IB_WQS_RESET;
	return &wq->ib;
}

static enum ib_wq_state state_of(const struct uroce_qp *qp)
{
	switch (qp->state) {
	case IB_QPS_RESET:
		return IB_WQS_RESET;
	case IB_QPS_ERR:
		return IB_WQS_ERR;
	default:
		return IB_WQS_RDY;
	}
}

/* Context: both locks. */
static void take_flags(struct uroce_qp *qp, const struct ib_wq_attr *attr)
{
	if (attr->flags_mask & IB_WQ_FLAGS_CVLAN_STRIPPING)
		qp->strips = attr->flags & IB_WQ_FLAGS_CVLAN_STRIPPING;
	if (attr->flags_mask & IB_WQ_FLAGS_SCATTER_FCS)
		qp->fcs = attr->flags & IB_WQ_FLAGS_SCATTER_FCS;
}

/* Context: both locks. */
static int enter_state(struct uroce_qp *qp, enum ib_wq_state next)
{
	switch (next) {
	case IB_WQS_RESET:
		WRITE_ONCE(qp->state, IB_QPS_RESET);
		uroce_delay_drop(qp);
		uroce_queue_reset(qp);
		return 0;
	case IB_WQS_RDY:
		if (qp->state == IB_QPS_ERR)
			return -EINVAL;
		WRITE_ONCE(qp->state, IB_QPS_RTR);
		return 0;
	case IB_WQS_ERR:
		WRITE_ONCE(qp->state, IB_QPS_ERR);
		uroce_delay_drop(qp);
		uroce_recv_flush(qp);
		return 0;
	}
	return -EINVAL;
}

int uroce_wq_modify(struct ib_wq *ib, struct ib_wq_attr *attr, u32 mask,
		    struct ib_udata *udata)
{
	struct uroce_qp *qp = to_uwq(ib)->receiver.qp;
	int ret = 0;

	if (mask & ~(IB_WQ_STATE | IB_WQ_CUR_STATE | IB_WQ_FLAGS) ||
	    (mask & IB_WQ_FLAGS && attr->flags_mask & ~FLAGS_CHANGED))
		return -EOPNOTSUPP;
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	if (mask & IB_WQ_CUR_STATE && attr->curr_wq_state != state_of(qp))
		ret = -EINVAL;
	else if (mask & IB_WQ_STATE)
		ret = enter_state(qp, attr->wq_state);
	if (!ret && mask & IB_WQ_FLAGS)
		take_flags(qp, attr);
	WRITE_ONCE(ib->state, state_of(qp));
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	return ret;
}

/* After @dead was set under both locks, no thread uses the receiver. */
int uroce_wq_destroy(struct ib_wq *ib, struct ib_udata *udata)
{
	struct uroce_qp *qp = to_uwq(ib)->receiver.qp;

	uroce_wq_unnumber(qp);
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	qp->sq.dead = true;
	qp->resp.dead = true;
	uroce_delay_drop(qp);
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	tasklet_kill(&qp->sq.task);
	cancel_work_sync(&qp->sq.rest);
	uroce_delay_destroy(qp);
	uroce_queue_free(qp);
	uroce_qp_free(qp);
	kfree(to_uwq(ib));
	return 0;
}

/* The caller keeps the work queues in @ib. */
int uroce_table_create(struct ib_rwq_ind_table *ib,
		       struct ib_rwq_ind_table_init_attr *init,
		       struct ib_udata *udata)
{
	return init->log_ind_tbl_size > UNIV_TABLE_LOG ? -EINVAL : 0;
}

int uroce_table_destroy(struct ib_rwq_ind_table *ib)
{
	return 0;
}
