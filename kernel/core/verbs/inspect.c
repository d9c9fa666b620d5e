// SPDX-License-Identifier: GPL-2.0
/*
 * The attributes of objects, as the kernel and the device know them:
 * univerbs_query_mr(3), univerbs_query_mw(3), univerbs_query_ah(3),
 * univerbs_query_cq(3).
 */
#include <rdma/ib_verbs.h>

#include "verbs.h"

int univ_mr_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_query *cmd = arg;
	struct univ_mr *mr;

	mr = univ_mr_lock(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	cmd->domain = mr->pd->obj.handle;
	cmd->kind = mr->kind;
	cmd->access = mr->access;
	cmd->lkey = mr->ib->lkey;
	cmd->rkey = cmd->kind == UNIV_MR_NULL ? 0 : mr->ib->rkey;
	cmd->addr = mr->addr;
	cmd->length = mr->ib->length;
	cmd->iova = mr->ib->iova;
	univ_mr_unlock(mr);
	return 0;
}

static void mw_fill(struct univ_mw_query *cmd,
		    const struct univ_queue_window *window)
{
	cmd->rkey = window->rkey;
	cmd->bound = window->bound;
	cmd->lkey = window->lkey;
	cmd->access = window->access;
	cmd->qp_num = window->qp_num;
	cmd->addr = window->addr;
	cmd->length = window->length;
	cmd->offset = window->offset;
}

int univ_mw_query_ioctl(struct univ_call *call, void *arg)
{
	const struct univ_queue_ops *queue = call->ctx->dev->queue;
	struct univ_queue_window window = {};
	struct univ_mw_query *cmd = arg;
	struct univ_object *obj;
	struct univ_mw *mw;
	int ret = 0;

	obj = univ_object_get(call->ctx, cmd->handle, UNIV_OBJECT_MW,
			      &cmd->hdr);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	mw = container_of(obj, struct univ_mw, obj);
	if (queue->mw_query) {
		queue->mw_query(mw->ib, &window);
		cmd->domain = mw->pd->obj.handle;
		cmd->type = mw->ib->type;
		mw_fill(cmd, &window);
	} else {
		ret = univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	}
	univ_object_put(obj);
	return ret;
}

int univ_ah_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_ah_query *cmd = arg;
	struct rdma_ah_attr attr = {};
	struct univ_object *obj;
	struct univ_ah *ah;
	int ret;

	obj = univ_object_get(call->ctx, cmd->handle, UNIV_OBJECT_AH,
			      &cmd->hdr);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ah = container_of(obj, struct univ_ah, obj);
	ret = rdma_query_ah(ah->ib, &attr);
	if (ret) {
		univ_explain_driver(&cmd->hdr, ret);
	} else {
		cmd->domain = ah->pd->obj.handle;
		univ_ah_attr_out(&attr, &cmd->attr);
	}
	univ_object_put(obj);
	return ret;
}

/* The arm word is the process's, and tells only what the process wrote. */
static u32 cq_armed(const struct univ_cq *cq)
{
	u32 arm = READ_ONCE(cq->ring.head->user.arm);

	lockdep_assert_held(&cq->lock);
	if (arm == cq->fired)
		return UNIV_CQ_UNARMED;
	return arm & 1 ? UNIV_CQ_ARMED_SOLICITED : UNIV_CQ_ARMED;
}

/* Context: cq->resize is held. */
static void cq_fill(struct univ_cq *cq, struct univ_cq_query *cmd)
{
	unsigned long flags;

	cmd->cqe = min_t(u32, cq->ring.count, cq->ib->cqe);
	cmd->comp_vector = cq->comp_vector;
	cmd->cq_flags = cq->flags;
	cmd->channel = !!cq->channel;
	cmd->count = cq->moderation.count;
	cmd->period = cq->moderation.period;
	spin_lock_irqsave(&cq->lock, flags);
	cmd->armed = cq_armed(cq);
	cmd->overrun = !!(cq->ring.flags & UNIV_RING_OVERRUN);
	spin_unlock_irqrestore(&cq->lock, flags);
}

int univ_cq_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_cq_query *cmd = arg;
	struct univ_cq *cq;
	int ret;

	cq = univ_cq_get(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ret = univ_call_lock(call, &cq->resize);
	if (!ret) {
		cq_fill(cq, cmd);
		mutex_unlock(&cq->resize);
	}
	univ_object_put(&cq->obj);
	return ret;
}
