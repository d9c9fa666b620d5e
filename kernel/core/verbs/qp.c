// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: ibv_modify_qp(3), ibv_query_qp(3), ibv_destroy_qp(3). */
#include <rdma/uverbs_ioctl.h>

#include "qp.h"

void univ_qp_event_handler(struct ib_event *event, void *context)
{
	struct univ_qp *qp = context;

	/* The queue pair was moved to the error state to be destroyed. */
	if (READ_ONCE(qp->dying) &&
	    event->event == IB_EVENT_QP_LAST_WQE_REACHED)
		return;
	univ_event_raise(&qp->obj.ctx->events, &qp->events, event->event);
}

static void qp_lock(struct univ_qp *qp)
{
	mutex_lock(&qp->mutex);
	if (qp->xrcd)
		univ_target_lock(qp);
}

/* qp_lock() for a call. Returns as univ_call_lock() does. */
static int qp_lock_for(struct univ_call *call, struct univ_qp *qp)
{
	int ret = univ_call_lock(call, &qp->mutex);

	if (ret || !qp->xrcd)
		return ret;
	ret = univ_target_lock_for(call, qp);
	if (ret)
		mutex_unlock(&qp->mutex);
	return ret;
}

static void qp_unlock(struct univ_qp *qp)
{
	if (qp->xrcd)
		univ_target_unlock(qp);
	mutex_unlock(&qp->mutex);
}

/*
 * Finds the queue pair of @handle and calls @op with its mutex held. @arg is
 * the call's struct, whose head gets the reason when there is no such queue
 * pair.
 */
int univ_qp_call(struct univ_call *call, u32 handle, void *arg,
		 int (*op)(struct univ_qp *qp, struct univ_call *call,
			   void *arg))
{
	struct univ_object *obj =
		univ_object_get(call->ctx, handle, UNIV_OBJECT_QP, arg);
	struct univ_qp *qp = container_of(obj, struct univ_qp, obj);
	int ret;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = qp_lock_for(call, qp);
	if (!ret) {
		ret = op(qp, call, arg);
		qp_unlock(qp);
	}
	univ_object_put(obj);
	return ret;
}

static int qp_explain_modify(struct univ_hdr *hdr, int err)
{
	if (err == -EHOSTUNREACH || err == -ENETUNREACH || err == -ETIMEDOUT)
		return univ_explain(hdr, err, UNIV_REASON_NO_ROUTE, 0, 0, 0);
	return univ_explain_driver(hdr, err);
}

/*
 * The device gets a limit of the rate separately, and an alternate path where
 * @apart is true; see struct univ_queue_ops.
 */
static int qp_modify_ib(struct univ_qp *qp, struct ib_qp_attr *attr, u32 mask,
			bool apart)
{
	/*
	 * With user data the kernel resolves the destination's MAC address, as
	 * for a process; drivers find the user data inside a bundle.
	 */
	struct uverbs_attr_bundle bundle = {};
	struct univ_queue_rate rate = { .kbps = attr->rate_limit };
	u32 plain = mask & ~IB_QP_RATE_LIMIT;
	int ret = 0;

	if (apart)
		plain &= ~IB_QP_ALT_PATH;
	if (plain || apart)
		ret = ib_modify_qp_with_udata(qp->ib, attr, plain,
					      &bundle.driver_udata);
	if (!ret && mask & IB_QP_RATE_LIMIT)
		univ_rate_set(qp, &rate);
	return ret;
}

static int qp_modify(struct univ_qp *qp, struct univ_call *call, void *arg)
{
	struct univ_qp_modify *cmd = arg;
	struct univ_qp_attr *in = &cmd->attr;
	struct univ_context *ctx = qp->obj.ctx;
	struct ib_qp_attr attr;
	bool apart;
	int ret;

	if (in->attr_mask & IB_QP_CAP)
		return univ_qp_resize(qp, call, cmd);
	in->attr_mask = univ_qp_attr_mask(qp, in->attr_mask);
	univ_qp_attr_fit(in);
	ret = univ_qp_check_modify(qp, in, &cmd->hdr);
	if (ret)
		return ret;
	univ_qp_attr_in(in, &attr);
	if (in->attr_mask & IB_QP_AV)
		ret = univ_ah_attr_in(ctx, &in->ah, &attr.ah_attr, &cmd->hdr);
	if (!ret && in->attr_mask & IB_QP_ALT_PATH)
		ret = univ_ah_attr_in(ctx, &in->alt_ah, &attr.alt_ah_attr,
				      &cmd->hdr);
	apart = univ_altpath_apart(qp, in->attr_mask);
	if (!ret && apart)
		ret = univ_altpath_load(qp, &attr, in->attr_mask, &cmd->hdr);
	if (ret)
		return ret;
	ret = qp_modify_ib(qp, &attr, in->attr_mask, apart);
	if (ret && apart)
		univ_altpath_cancel(qp);
	if (ret)
		return qp_explain_modify(&cmd->hdr, ret);
	if (in->attr_mask & IB_QP_STATE)
		WRITE_ONCE(qp->state, in->qp_state);
	if (ctx->dev->queue->qp_modified)
		ctx->dev->queue->qp_modified(qp, &attr, in->attr_mask);
	return 0;
}

int univ_qp_modify_ioctl(struct univ_call *call, void *arg)
{
	struct univ_qp_modify *cmd = arg;

	return univ_qp_call(call, cmd->handle, cmd, qp_modify);
}

static int qp_query(struct univ_qp *qp, struct univ_call *call, void *arg)
{
	struct univ_qp_query *cmd = arg;
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	int ret;

	ret = ib_query_qp(qp->ib, &attr, cmd->attr_mask, &init);
	if (ret)
		return univ_explain_driver(&cmd->hdr, ret);
	univ_qp_attr_out(&attr, &cmd->attr);
	cmd->max_send_wr = qp->cap.max_send_wr;
	cmd->max_recv_wr = qp->cap.max_recv_wr;
	cmd->max_send_sge = qp->cap.max_send_sge;
	cmd->max_recv_sge = qp->cap.max_recv_sge;
	cmd->max_inline = qp->cap.max_inline_data;
	cmd->sq_sig_all = qp->rings.sig_all;
	return 0;
}

int univ_qp_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_qp_query *cmd = arg;

	return univ_qp_call(call, cmd->handle, cmd, qp_query);
}

/*
 * The device is being removed: flush the requests that it has, and those in the
 * rings.
 */
void univ_qp_flush(struct univ_object *obj)
{
	struct univ_qp *qp = container_of(obj, struct univ_qp, obj);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	qp_lock(qp);
	if (qp->state != IB_QPS_RESET &&
	    !ib_modify_qp(qp->ib, &attr, IB_QP_STATE))
		WRITE_ONCE(qp->state, IB_QPS_ERR);
	qp_unlock(qp);
	if (!qp->xrcd)
		univ_queue_kick(obj, obj->ctx->dev->queue,
				UNIV_KICK_SEND | UNIV_KICK_RECV);
}

static void qp_set_dying(struct univ_qp *qp, bool dying)
{
	mutex_lock(&qp->mutex);
	qp->dying = dying;
	mutex_unlock(&qp->mutex);
}

/* Calls @op with each object that the queue pair is built on. */
void univ_qp_depend(struct univ_qp *qp, void (*op)(struct univ_object *obj))
{
	if (qp->table)
		op(&qp->table->obj);
	if (qp->srq)
		op(&qp->srq->obj);
	if (qp->recv_cq)
		op(&qp->recv_cq->obj);
	if (qp->send_cq)
		op(&qp->send_cq->obj);
	op(&qp->pd->obj);
}

static void qp_close(struct univ_qp *qp)
{
	const struct univ_queue_ops *queue = qp->obj.ctx->dev->queue;

	univ_poller_remove(&qp->watch);
	qp_set_dying(qp, true);
	univ_mcast_detach_all(qp);
	if (queue->qp_close)
		queue->qp_close(qp);
}

static void qp_withdraw_events(struct univ_qp *qp)
{
	univ_channel_forget(qp->obj.ctx, &qp->events);
	qp->obj.async_events = qp->events.delivered_async;
}

/* As univ_cq_keep(). The core posts nothing to the queue pair of a target. */
void univ_qp_keep(struct univ_object *obj)
{
	struct univ_qp *qp = container_of(obj, struct univ_qp, obj);

	if (!qp->xrcd && !qp->dying)
		qp_close(qp);
	qp_withdraw_events(qp);
}

/*
 * Destroys the device's queue pair. If the device refuses, the queue pair is
 * used again, but it has left its multicast groups. At the end of the context
 * it must not be used again.
 */
static int qp_destroy_ib(struct univ_qp *qp)
{
	const struct univ_queue_ops *queue = qp->obj.ctx->dev->queue;
	int ret;

	qp_close(qp);
	ret = ib_destroy_qp_user(qp->ib, NULL);
	if (!ret) {
		if (queue->qp_detach)
			queue->qp_detach(qp);
		return 0;
	}
	if (qp->obj.ctx->ending)
		return ret;
	qp_set_dying(qp, false);
	if (queue->qp_reopen)
		queue->qp_reopen(qp);
	univ_queue_watch_again(qp);
	return ret;
}

/*
 * The queue pair is not reset before: on rdma_rxe a reset races with packets
 * that arrive (Documentation/architecture.rst).
 */
int univ_qp_destroy(struct univ_object *obj)
{
	struct univ_qp *qp = container_of(obj, struct univ_qp, obj);
	int ret;

	if (qp->xrcd)
		return univ_target_destroy(qp);
	ret = qp_destroy_ib(qp);
	if (ret)
		return ret;
	qp_withdraw_events(qp);
	univ_channel_leave(&qp->events);
	univ_region_destroy(obj->ctx, qp->region);
	univ_cntrs_detach(qp);
	univ_qp_depend(qp, univ_object_undepend);
	return 0;
}

int univ_qp_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_QP, univ_qp_destroy);
}
