// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues: ibv_create_srq(3), ibv_modify_srq(3). */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "verbs.h"

struct univ_srq *univ_srq_get(struct univ_context *ctx, u32 handle,
			      struct univ_hdr *hdr)
{
	struct univ_object *obj =
		univ_object_get(ctx, handle, UNIV_OBJECT_SRQ, hdr);

	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_srq, obj);
}

/* Tells the implementation that a limit event will be armed or was raised. */
static void srq_set_limit(struct univ_srq *srq, bool armed)
{
	const struct univ_queue_ops *queue = srq->obj.ctx->dev->queue;

	if (queue->srq_limit)
		queue->srq_limit(srq, armed);
}

static void srq_event_handler(struct ib_event *event, void *context)
{
	struct univ_srq *srq = context;

	/* The limit disarms itself. */
	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		srq_set_limit(srq, false);
	univ_event_raise(&srq->obj.ctx->events, &srq->events, event->event);
}

static int srq_check_size(struct univ_context *ctx, u32 max_wr,
			  struct univ_hdr *hdr)
{
	u32 max = ctx->dev->ib->attrs.max_srq_wr;

	if (!max_wr)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_ZERO,
				    UNIV_LIMIT_SRQ_WR, 0, max);
	if (max_wr > max)
		return univ_explain_limit(hdr, UNIV_LIMIT_SRQ_WR, max_wr, max);
	return 0;
}

static int srq_check(struct univ_context *ctx, struct univ_srq_create *cmd)
{
	const struct ib_device_attr *attr = &ctx->dev->ib->attrs;
	u32 max_sge = min_t(u32, attr->max_srq_sge, UNIV_MAX_SGE);
	int ret;

	if (!ctx->dev->ib->ops.create_srq || !attr->max_srq_wr)
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (cmd->srq_type != IB_SRQT_BASIC &&
	    (cmd->srq_type != IB_SRQT_XRC || !univ_xrc_offered(ctx->dev)))
		return univ_explain(&cmd->hdr, -EOPNOTSUPP,
				    UNIV_REASON_UNSUPPORTED, 0, 0, 0);
	ret = srq_check_size(ctx, cmd->max_wr, &cmd->hdr);
	if (ret)
		return ret;
	if (cmd->max_sge > max_sge)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_SRQ_SGE,
					  cmd->max_sge, max_sge);
	if (cmd->limit > cmd->max_wr)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_SRQ_LIMIT,
					  cmd->limit, cmd->max_wr);
	return 0;
}

static void srq_lock_domain(struct univ_srq *srq)
{
	if (srq->xrcd)
		mutex_lock(&srq->xrcd->domain->lock);
}

static void srq_unlock_domain(struct univ_srq *srq)
{
	if (srq->xrcd)
		mutex_unlock(&srq->xrcd->domain->lock);
}

static int srq_destroy_ib(struct univ_srq *srq)
{
	int ret;

	srq_lock_domain(srq);
	ret = ib_destroy_srq_user(srq->ib, NULL);
	srq_unlock_domain(srq);
	return ret;
}

/* The device's queue gets as many entries as the process may have posted. */
static int srq_create_ib(struct univ_srq *srq, struct univ_srq_create *cmd)
{
	struct ib_srq_init_attr attr = {
		.event_handler = srq_event_handler,
		.srq_context = srq,
		.attr = {
			.max_wr = cmd->max_wr,
			.max_sge = cmd->max_sge,
			.srq_limit = cmd->limit,
		},
		.srq_type = cmd->srq_type,
	};

	if (srq->xrcd) {
		attr.ext.cq = srq->cq->ib;
		attr.ext.xrc.xrcd = srq->xrcd->domain->ib;
	}
	srq_lock_domain(srq);
	srq->ib = ib_create_srq_user(srq->pd->ib, &attr, NULL, NULL);
	srq_unlock_domain(srq);
	if (IS_ERR(srq->ib))
		return univ_explain_driver(&cmd->hdr, PTR_ERR(srq->ib));
	cmd->srq_num = srq->xrcd ? srq->ib->ext.xrc.srq_num : 0;
	return 0;
}

/* The memory of a receive ring that is the only ring of its region. */
struct univ_region *univ_recv_region_create(struct univ_context *ctx,
					    u32 max_wr, u32 max_sge,
					    struct univ_ring_map *map,
					    struct univ_hdr *hdr)
{
	size_t size = univ_ring_place(map, 0, roundup_pow_of_two(max_wr),
				      univ_recv_stride(max_sge));

	return univ_region_create(ctx, size, hdr);
}

static int srq_create_ring(struct univ_srq *srq, struct univ_srq_create *cmd)
{
	u32 sge = max_t(u32, cmd->max_sge, 1);

	srq->region = univ_recv_region_create(srq->obj.ctx, cmd->max_wr, sge,
					      &cmd->ring, &cmd->hdr);
	if (IS_ERR(srq->region))
		return PTR_ERR(srq->region);
	univ_region_ring(srq->region, &srq->ring, &cmd->ring);
	univ_ring_set_flags(&srq->ring, UNIV_RING_NEED_KICK);
	srq->max_sge = sge;
	cmd->max_sge = sge;
	cmd->map_offset = univ_region_offset(srq->region);
	cmd->map_length = srq->region->size;
	return 0;
}

/*
 * The objects that a shared receive queue is built on; the last two are for XRC
 * only.
 */
struct srq_parents {
	struct univ_pd *pd;
	struct univ_cq *cq;
	struct univ_xrcd *xrcd;
};

static struct srq_parents srq_parents_of(const struct univ_srq *srq)
{
	return (struct srq_parents){ srq->pd, srq->cq, srq->xrcd };
}

/* Calls @op with each of the objects. */
static void srq_parents_each(const struct srq_parents *on,
			     void (*op)(struct univ_object *obj))
{
	if (on->xrcd) {
		op(&on->xrcd->obj);
		op(&on->cq->obj);
	}
	op(&on->pd->obj);
}

static void srq_depend(const struct univ_srq *srq,
		       void (*op)(struct univ_object *obj))
{
	struct srq_parents on = srq_parents_of(srq);

	srq_parents_each(&on, op);
}

/* Finds the objects that the queue is built on. Each is held. */
static int srq_get_parents(struct srq_parents *on, struct univ_context *ctx,
			   struct univ_srq_create *cmd)
{
	int ret;

	on->pd = univ_pd_get(ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(on->pd))
		return PTR_ERR(on->pd);
	if (cmd->srq_type != IB_SRQT_XRC)
		return 0;
	on->cq = univ_cq_get(ctx, cmd->cq, &cmd->hdr);
	if (IS_ERR(on->cq)) {
		ret = PTR_ERR(on->cq);
		goto put_pd;
	}
	on->xrcd = univ_xrcd_get(ctx, cmd->xrcd, &cmd->hdr);
	if (!IS_ERR(on->xrcd))
		return 0;
	ret = PTR_ERR(on->xrcd);
	univ_object_put(&on->cq->obj);
put_pd:
	univ_object_put(&on->pd->obj);
	return ret;
}

static int srq_attach(struct univ_srq *srq, struct univ_srq_create *cmd)
{
	const struct univ_queue_ops *queue = srq->obj.ctx->dev->queue;
	const struct univ_queue_page *page = univ_bell_page(srq->obj.ctx);
	int ret = queue->srq_attach(srq->ib, &srq->ring);

	cmd->bell = (struct univ_bell){};
	if (!ret && page)
		ret = queue->srq_bell(srq->ib, page, &cmd->bell);
	return ret ? univ_explain_driver(&cmd->hdr, ret) : 0;
}

static int srq_build(struct univ_srq *srq, struct univ_call *call,
		     struct univ_srq_create *cmd)
{
	int ret;

	mutex_init(&srq->mutex);
	univ_event_source_init(&srq->events, cmd->cookie, 0);
	srq->obj.kicks = UNIV_KICK_RECV;
	ret = univ_object_reserve(call->ctx, &srq->obj, UNIV_OBJECT_SRQ,
				  &cmd->hdr);
	if (ret) {
		kfree(srq);
		return ret;
	}
	ret = srq_create_ring(srq, cmd);
	if (ret)
		goto release;
	ret = srq_create_ib(srq, cmd);
	if (ret)
		goto destroy_region;
	ret = srq_attach(srq, cmd);
	if (ret)
		goto destroy_ib;
	srq->max_wr = cmd->max_wr;
	cmd->handle = srq->obj.handle;
	srq_depend(srq, univ_object_depend);
	srq_set_limit(srq, cmd->limit);
	return univ_object_announce(call, &srq->obj, univ_srq_destroy);

destroy_ib:
	srq_destroy_ib(srq);
	univ_channel_forget(call->ctx, &srq->events);
destroy_region:
	univ_region_destroy(call->ctx, srq->region);
release:
	univ_object_release(&srq->obj);
	return ret;
}

int univ_srq_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_srq_create *cmd = arg;
	struct srq_parents on = {};
	struct univ_srq *srq;
	int ret;

	ret = srq_check(call->ctx, cmd);
	if (ret)
		return ret;
	ret = srq_get_parents(&on, call->ctx, cmd);
	if (ret)
		return ret;
	srq = kzalloc(sizeof(*srq), GFP_KERNEL_ACCOUNT);
	if (srq) {
		srq->pd = on.pd;
		srq->cq = on.cq;
		srq->xrcd = on.xrcd;
		ret = srq_build(srq, call, cmd);
	} else {
		ret = univ_explain_driver(&cmd->hdr, -ENOMEM);
	}
	srq_parents_each(&on, univ_object_put);
	return ret;
}

/*
 * A process whose struct has no room for the new ring would go on posting to
 * the former one.
 */
static bool srq_can_resize(const struct univ_call *call)
{
	return call->ctx->dev->queue->srq_resize &&
	       call->size >= offsetofend(struct univ_srq_modify, ring);
}

/* The limit that will be armed must not exceed the size that will be valid. */
static int srq_check_limit(struct univ_srq *srq, struct univ_srq_modify *cmd)
{
	u32 max_wr = cmd->attr_mask & IB_SRQ_MAX_WR ? cmd->max_wr : srq->max_wr;
	struct ib_srq_attr attr = { .srq_limit = cmd->limit };
	int ret = 0;

	if (!(cmd->attr_mask & IB_SRQ_LIMIT))
		ret = ib_query_srq(srq->ib, &attr);
	if (ret)
		return univ_explain_driver(&cmd->hdr, ret);
	if (attr.srq_limit > max_wr)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_SRQ_LIMIT,
					  attr.srq_limit, max_wr);
	return 0;
}

/*
 * The implementation moves the requests, since it alone knows which ones it has
 * taken. It sets the limit together with the size, so that the call cannot fail
 * when the process must already use the new ring.
 */
static int srq_switch_ring(struct univ_srq *srq, struct univ_srq_modify *cmd,
			   const struct univ_ring *ring)
{
	struct ib_srq_attr attr = {
		.max_wr = cmd->max_wr,
		.srq_limit = cmd->limit,
	};
	u32 posted = 0;
	int ret;

	ret = srq->obj.ctx->dev->queue->srq_resize(srq->ib, ring, &attr,
						   cmd->attr_mask, &posted);
	if (posted)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_SRQ_SHRINK,
				    0, cmd->max_wr, posted);
	if (ret == -EBUSY)
		return univ_explain(&cmd->hdr, ret, UNIV_REASON_SRQ_BUSY, 0,
				    cmd->max_wr, 0);
	return ret ? univ_explain_driver(&cmd->hdr, ret) : 0;
}

static int srq_resize(struct univ_srq *srq, struct univ_call *call,
		      struct univ_srq_modify *cmd)
{
	struct univ_region *region, *old = srq->region;
	struct univ_ring ring;
	int ret;

	if (!srq_can_resize(call))
		return univ_explain(&cmd->hdr, -EOPNOTSUPP,
				    UNIV_REASON_UNSUPPORTED, 0, 0, 0);
	ret = srq_check_size(call->ctx, cmd->max_wr, &cmd->hdr);
	if (!ret)
		ret = srq_check_limit(srq, cmd);
	if (ret)
		return ret;
	region = univ_recv_region_create(call->ctx, cmd->max_wr, srq->max_sge,
					 &cmd->ring, &cmd->hdr);
	if (IS_ERR(region))
		return PTR_ERR(region);
	univ_region_ring(region, &ring, &cmd->ring);
	cmd->map_offset = univ_region_offset(region);
	cmd->map_length = region->size;
	ret = univ_call_reply(call);
	if (!ret)
		ret = srq_switch_ring(srq, cmd, &ring);
	if (ret) {
		univ_region_destroy(call->ctx, region);
		return ret;
	}
	srq->ring = ring;
	srq->region = region;
	srq->max_wr = cmd->max_wr;
	univ_region_destroy(call->ctx, old);
	return 0;
}

static int srq_modify(struct univ_srq *srq, struct univ_call *call,
		      struct univ_srq_modify *cmd)
{
	struct ib_srq_attr attr = { .srq_limit = cmd->limit };
	int ret;

	if (cmd->attr_mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    0, cmd->attr_mask,
				    IB_SRQ_MAX_WR | IB_SRQ_LIMIT);
	if (cmd->attr_mask & IB_SRQ_MAX_WR)
		return srq_resize(srq, call, cmd);
	if (!(cmd->attr_mask & IB_SRQ_LIMIT))
		return 0;
	ret = srq_check_limit(srq, cmd);
	if (ret)
		return ret;
	/*
	 * The device gets the requests that wait in the ring before the limit
	 * is armed.
	 */
	srq_set_limit(srq, cmd->limit);
	ret = ib_modify_srq(srq->ib, &attr, IB_SRQ_LIMIT);
	if (ret)
		return univ_explain_driver(&cmd->hdr, ret);
	/*
	 * The event of the former limit may have come in between. If it was
	 * the new one already, posts are kicked until the next limit.
	 */
	if (cmd->limit)
		srq_set_limit(srq, true);
	return 0;
}

int univ_srq_modify_ioctl(struct univ_call *call, void *arg)
{
	struct univ_srq_modify *cmd = arg;
	struct univ_srq *srq;
	int ret;

	srq = univ_srq_get(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	ret = univ_call_lock(call, &srq->mutex);
	if (!ret) {
		ret = srq_modify(srq, call, cmd);
		mutex_unlock(&srq->mutex);
	}
	univ_object_put(&srq->obj);
	return ret;
}

int univ_srq_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_srq_query *cmd = arg;
	struct ib_srq_attr attr = {};
	struct univ_srq *srq;
	int ret;

	srq = univ_srq_get(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	mutex_lock(&srq->mutex);
	ret = ib_query_srq(srq->ib, &attr);
	cmd->max_wr = srq->max_wr;
	mutex_unlock(&srq->mutex);
	cmd->max_sge = srq->max_sge;
	cmd->limit = attr.srq_limit;
	univ_object_put(&srq->obj);
	return ret ? univ_explain_driver(&cmd->hdr, ret) : 0;
}

static void srq_close(struct univ_srq *srq)
{
	const struct univ_queue_ops *queue = srq->obj.ctx->dev->queue;

	if (queue->srq_close)
		queue->srq_close(srq);
}

static void srq_withdraw_events(struct univ_srq *srq)
{
	univ_channel_forget(srq->obj.ctx, &srq->events);
	srq->obj.async_events = srq->events.delivered_async;
}

/* As univ_cq_keep(). */
void univ_srq_keep(struct univ_object *obj)
{
	struct univ_srq *srq = container_of(obj, struct univ_srq, obj);

	srq_close(srq);
	srq_withdraw_events(srq);
}

int univ_srq_destroy(struct univ_object *obj)
{
	const struct univ_queue_ops *queue = obj->ctx->dev->queue;
	struct univ_srq *srq = container_of(obj, struct univ_srq, obj);
	int ret;

	srq_close(srq);
	ret = srq_destroy_ib(srq);
	if (ret) {
		if (queue->srq_reopen && !obj->ctx->ending)
			queue->srq_reopen(srq);
		return ret;
	}
	if (queue->srq_detach)
		queue->srq_detach(srq);
	srq_withdraw_events(srq);
	univ_channel_leave(&srq->events);
	univ_region_destroy(obj->ctx, srq->region);
	srq_depend(srq, univ_object_undepend);
	return 0;
}

int univ_srq_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_SRQ,
				   univ_srq_destroy);
}
