// SPDX-License-Identifier: GPL-2.0
/*
 * Receive work queues: ibv_create_wq(3), ibv_modify_wq(3). A work queue is a
 * receive queue with a completion queue and no queue pair. Only a native driver
 * can have them: kernel verbs have no function that posts to a work queue.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "verbs.h"

bool univ_wq_offered(const struct univ_device *dev)
{
	return univ_queue_can(dev, UNIV_QUEUE_WQ);
}

struct univ_wq *univ_wq_get(struct univ_context *ctx, u32 handle,
			    struct univ_hdr *hdr)
{
	struct univ_object *obj =
		univ_object_get(ctx, handle, UNIV_OBJECT_WQ, hdr);

	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_wq, obj);
}

static void wq_event_handler(struct ib_event *event, void *context)
{
	struct univ_wq *wq = context;

	univ_event_raise(&wq->obj.ctx->events, &wq->events, event->event);
}

static int wq_check_size(struct univ_context *ctx, struct univ_wq_create *cmd)
{
	const struct ib_device_attr *attr = &ctx->dev->ib->attrs;
	u32 max_sge = min_t(u32, attr->max_recv_sge, UNIV_MAX_SGE);

	if (!cmd->max_wr)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_ZERO,
				    UNIV_LIMIT_WQ_WR, 0, attr->max_qp_wr);
	if (cmd->max_wr > attr->max_qp_wr)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_WQ_WR,
					  cmd->max_wr, attr->max_qp_wr);
	if (cmd->max_sge > max_sge)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_WQ_SGE,
					  cmd->max_sge, max_sge);
	return 0;
}

/* Flags that may change while the queue exists. */
#define WQ_FLAGS_CHANGED (IB_WQ_FLAGS_CVLAN_STRIPPING | IB_WQ_FLAGS_SCATTER_FCS)

static u32 wq_flags(const struct univ_device *dev)
{
	const struct ib_device_attr *attr = &dev->ib->attrs;
	u32 flags = IB_WQ_FLAGS_CVLAN_STRIPPING;

	if (!univ_raw_offered(dev))
		return 0;
	if (attr->raw_packet_caps & IB_RAW_PACKET_CAP_SCATTER_FCS)
		flags |= IB_WQ_FLAGS_SCATTER_FCS;
	if (attr->raw_packet_caps & IB_RAW_PACKET_CAP_DELAY_DROP)
		flags |= IB_WQ_FLAGS_DELAY_DROP;
	if (attr->device_cap_flags & IB_DEVICE_PCI_WRITE_END_PADDING)
		flags |= IB_WQ_FLAGS_PCI_WRITE_END_PADDING;
	return flags;
}

static int wq_check_flags(u32 flags, u32 known, struct univ_hdr *hdr)
{
	if (!(flags & ~known))
		return 0;
	return univ_explain(hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS, UNIV_FLAGS_WQ,
			    flags, known);
}

static int wq_check(struct univ_context *ctx, struct univ_wq_create *cmd)
{
	int ret;

	if (!univ_wq_offered(ctx->dev) || cmd->wq_type != IB_WQT_RQ)
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	ret = wq_check_flags(cmd->create_flags, wq_flags(ctx->dev), &cmd->hdr);
	return ret ? ret : wq_check_size(ctx, cmd);
}

static int wq_create_ring(struct univ_wq *wq, struct univ_wq_create *cmd)
{
	cmd->max_sge = max_t(u32, cmd->max_sge, 1);
	wq->region = univ_recv_region_create(wq->obj.ctx, cmd->max_wr,
					     cmd->max_sge, &cmd->ring,
					     &cmd->hdr);
	if (IS_ERR(wq->region))
		return PTR_ERR(wq->region);
	univ_region_ring(wq->region, &wq->ring, &cmd->ring);
	univ_ring_set_flags(&wq->ring, UNIV_RING_NEED_KICK);
	cmd->map_offset = univ_region_offset(wq->region);
	cmd->map_length = wq->region->size;
	return 0;
}

static int wq_create_ib(struct univ_wq *wq, struct univ_wq_create *cmd)
{
	struct ib_wq_init_attr attr = {
		.event_handler = wq_event_handler,
		.wq_context = wq,
		.wq_type = IB_WQT_RQ,
		.max_wr = cmd->max_wr,
		.max_sge = cmd->max_sge,
		.cq = wq->cq->ib,
		.create_flags = cmd->create_flags,
	};
	int ret;

	wq->ib = ib_create_wq(wq->pd->ib, &attr);
	if (IS_ERR(wq->ib))
		return univ_explain_driver(&cmd->hdr, PTR_ERR(wq->ib));
	ret = wq->obj.ctx->dev->queue->wq_attach(wq->ib, &wq->ring);
	if (!ret)
		return 0;
	ib_destroy_wq_user(wq->ib, NULL);
	/* A device may have raised events before it refused the queue. */
	univ_channel_forget(wq->obj.ctx, &wq->events);
	return univ_explain_driver(&cmd->hdr, ret);
}

static int wq_build(struct univ_wq *wq, struct univ_call *call,
		    struct univ_wq_create *cmd)
{
	int ret;

	mutex_init(&wq->mutex);
	univ_event_source_init(&wq->events, cmd->cookie, 0);
	wq->obj.kicks = UNIV_KICK_RECV;
	ret = univ_object_reserve(call->ctx, &wq->obj, UNIV_OBJECT_WQ,
				  &cmd->hdr);
	if (ret) {
		kfree(wq);
		return ret;
	}
	ret = wq_create_ring(wq, cmd);
	if (ret)
		goto release;
	ret = wq_create_ib(wq, cmd);
	if (ret)
		goto destroy_region;
	cmd->handle = wq->obj.handle;
	cmd->wq_num = wq->ib->wq_num;
	univ_object_depend(&wq->pd->obj);
	univ_object_depend(&wq->cq->obj);
	return univ_object_announce(call, &wq->obj, univ_wq_destroy);

destroy_region:
	univ_region_destroy(call->ctx, wq->region);
release:
	univ_object_release(&wq->obj);
	return ret;
}

static int wq_create(struct univ_call *call, struct univ_wq_create *cmd,
		     struct univ_pd *pd, struct univ_cq *cq)
{
	struct univ_wq *wq = kzalloc(sizeof(*wq), GFP_KERNEL_ACCOUNT);

	if (!wq)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	wq->pd = pd;
	wq->cq = cq;
	return wq_build(wq, call, cmd);
}

int univ_wq_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_wq_create *cmd = arg;
	struct univ_pd *pd;
	struct univ_cq *cq;
	int ret;

	ret = wq_check(call->ctx, cmd);
	if (ret)
		return ret;
	pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	cq = univ_cq_get(call->ctx, cmd->cq, &cmd->hdr);
	if (IS_ERR(cq)) {
		ret = PTR_ERR(cq);
	} else {
		ret = wq_create(call, cmd, pd, cq);
		univ_object_put(&cq->obj);
	}
	univ_object_put(&pd->obj);
	return ret;
}

/* Context: wq->mutex is held, unless the context ends. */
static int wq_modify_ib(struct univ_wq *wq, struct ib_wq_attr *attr, u32 mask)
{
	return wq->ib->device->ops.modify_wq(wq->ib, attr, mask, NULL);
}

/*
 * The driver checks the states, since a queue may change to the error state by
 * itself, and it has stored the current one.
 */
static int wq_explain_modify(const struct univ_wq *wq,
			     struct univ_wq_modify *cmd, int err)
{
	u32 state = READ_ONCE(wq->ib->state);

	if (err != -EINVAL)
		return univ_explain_driver(&cmd->hdr, err);
	if (cmd->attr_mask & IB_WQ_CUR_STATE && cmd->curr_wq_state != state)
		return univ_explain(&cmd->hdr, err, UNIV_REASON_WQ_STATE,
				    UNIV_WQ_STATE_CURRENT, cmd->curr_wq_state,
				    state);
	return univ_explain(&cmd->hdr, err, UNIV_REASON_WQ_STATE,
			    UNIV_WQ_STATE_NEXT, cmd->wq_state, state);
}

static int wq_modify(struct univ_wq *wq, struct univ_wq_modify *cmd)
{
	const u32 known = IB_WQ_STATE | IB_WQ_CUR_STATE | IB_WQ_FLAGS;
	struct ib_wq_attr attr = {
		.wq_state = cmd->wq_state,
		.curr_wq_state = cmd->curr_wq_state,
		.flags = cmd->flags,
		.flags_mask = cmd->flags_mask,
	};
	int ret = -EINVAL;

	if (cmd->attr_mask & ~known)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    UNIV_FLAGS_WQ_MASK, cmd->attr_mask, known);
	if (cmd->attr_mask & IB_WQ_FLAGS &&
	    wq_check_flags(cmd->flags_mask,
			   wq_flags(wq->obj.ctx->dev) & WQ_FLAGS_CHANGED,
			   &cmd->hdr))
		return -EOPNOTSUPP;
	if (!(cmd->attr_mask & IB_WQ_STATE) || cmd->wq_state <= IB_WQS_ERR)
		ret = wq_modify_ib(wq, &attr, cmd->attr_mask);
	return ret ? wq_explain_modify(wq, cmd, ret) : 0;
}

int univ_wq_modify_ioctl(struct univ_call *call, void *arg)
{
	struct univ_wq_modify *cmd = arg;
	struct univ_wq *wq;
	int ret;

	wq = univ_wq_get(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(wq))
		return PTR_ERR(wq);
	ret = univ_call_lock(call, &wq->mutex);
	if (!ret) {
		ret = wq_modify(wq, cmd);
		mutex_unlock(&wq->mutex);
	}
	univ_object_put(&wq->obj);
	return ret;
}

/* The device is being removed: flush the requests that were posted. */
void univ_wq_flush(struct univ_object *obj)
{
	struct univ_wq *wq = container_of(obj, struct univ_wq, obj);
	struct ib_wq_attr attr = { .wq_state = IB_WQS_ERR };

	if (READ_ONCE(wq->ib->state) != IB_WQS_RESET)
		wq_modify_ib(wq, &attr, IB_WQ_STATE);
}

static void wq_withdraw_events(struct univ_wq *wq)
{
	univ_channel_forget(wq->obj.ctx, &wq->events);
	wq->obj.async_events = wq->events.delivered_async;
}

/* As univ_cq_keep(). The core takes no request out of this ring. */
void univ_wq_keep(struct univ_object *obj)
{
	wq_withdraw_events(container_of(obj, struct univ_wq, obj));
}

int univ_wq_destroy(struct univ_object *obj)
{
	struct univ_wq *wq = container_of(obj, struct univ_wq, obj);
	int ret = ib_destroy_wq_user(wq->ib, NULL);

	if (ret)
		return ret;
	wq_withdraw_events(wq);
	univ_channel_leave(&wq->events);
	univ_region_destroy(obj->ctx, wq->region);
	univ_object_undepend(&wq->pd->obj);
	univ_object_undepend(&wq->cq->obj);
	return 0;
}

int univ_wq_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_WQ, univ_wq_destroy);
}
