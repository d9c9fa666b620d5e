// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues: ibv_create_srq(3). */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "context.h"
#include "cq.h"
#include "ioctl.h"
#include "native.h"
#include "pd.h"
#include "poller.h"
#include "pump.h"
#include "reason.h"
#include "region.h"
#include "srq.h"
#include "xrcd.h"

struct univ_srq *univ_srq_get(struct univ_context *ctx, u32 handle,
			      struct univ_hdr *hdr)
{
	struct univ_object *obj =
		univ_object_get(ctx, handle, UNIV_OBJECT_SRQ, hdr);

	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_srq, obj);
}

static void srq_event_handler(struct ib_event *event, void *context)
{
	struct univ_srq *srq = context;

	/* The limit disarms itself: posts need no kick again. */
	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		univ_recv_queue_limit(&srq->rq, false);
	univ_event_raise(&srq->obj.ctx->events, &srq->events, event->event);
}

static int srq_check(struct univ_context *ctx, struct univ_srq_create *cmd)
{
	const struct ib_device_attr *attr = &ctx->dev->ib->attrs;
	u32 max_sge = min_t(u32, attr->max_srq_sge, UNIV_MAX_SGE);

	if (!ctx->dev->ib->ops.create_srq || !attr->max_srq_wr)
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (cmd->srq_type != IB_SRQT_BASIC &&
	    (cmd->srq_type != IB_SRQT_XRC || !univ_xrc_offered(ctx->dev)))
		return univ_explain(&cmd->hdr, -EOPNOTSUPP,
				    UNIV_REASON_UNSUPPORTED, 0, 0, 0);
	if (!cmd->max_wr)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_ZERO,
				    UNIV_LIMIT_SRQ_WR, 0, attr->max_srq_wr);
	if (cmd->max_wr > attr->max_srq_wr)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_SRQ_WR,
					  cmd->max_wr, attr->max_srq_wr);
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

static int srq_create_ring(struct univ_srq *srq, struct univ_srq_create *cmd)
{
	struct univ_context *ctx = srq->obj.ctx;
	u32 sge = max_t(u32, cmd->max_sge, 1);
	size_t size;

	size = univ_ring_place(&cmd->ring, 0, roundup_pow_of_two(cmd->max_wr),
			       univ_recv_stride(sge));
	srq->region = univ_region_create(ctx, size, &cmd->hdr);
	if (!srq->region)
		return -ENOMEM;
	univ_recv_queue_init(&srq->rq, &cmd->ring, srq->region->vaddr, sge);
	srq->rq.srq = srq;
	cmd->max_sge = sge;
	cmd->map_offset = univ_region_offset(srq->region);
	cmd->map_length = srq->region->size;
	return 0;
}

/* Do @op to everything that the queue is built on. */
static void srq_parents(struct univ_srq *srq, void (*op)(struct univ_object *))
{
	if (srq->xrcd) {
		op(&srq->xrcd->obj);
		op(&srq->cq->obj);
	}
	op(&srq->pd->obj);
}

/* Find what the queue is built on; each is held. */
static int srq_get_parents(struct univ_srq *srq, struct univ_context *ctx,
			   struct univ_srq_create *cmd)
{
	int ret;

	srq->pd = univ_pd_get(ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(srq->pd))
		return PTR_ERR(srq->pd);
	if (cmd->srq_type != IB_SRQT_XRC)
		return 0;
	srq->cq = univ_cq_get(ctx, cmd->cq, &cmd->hdr);
	if (IS_ERR(srq->cq)) {
		ret = PTR_ERR(srq->cq);
		goto put_pd;
	}
	srq->xrcd = univ_xrcd_get(ctx, cmd->xrcd, &cmd->hdr);
	if (!IS_ERR(srq->xrcd))
		return 0;
	ret = PTR_ERR(srq->xrcd);
	univ_object_put(&srq->cq->obj);
put_pd:
	univ_object_put(&srq->pd->obj);
	return ret;
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
	if (call->ctx->dev->queue) {
		ret = univ_queue_attach_srq(srq);
		if (ret) {
			univ_explain_driver(&cmd->hdr, ret);
			goto destroy_ib;
		}
	}
	srq->max_wr = cmd->max_wr;
	cmd->handle = srq->obj.handle;
	srq_parents(srq, univ_object_depend);
	if (!call->ctx->dev->queue)
		univ_poller_add(call->ctx, &srq->rq.feed);
	univ_recv_queue_limit(&srq->rq, cmd->limit);
	return univ_object_announce(call, &srq->obj, univ_srq_destroy);

destroy_ib:
	srq_destroy_ib(srq);
	univ_event_forget(&call->ctx->events, &srq->events);
destroy_region:
	univ_region_destroy(call->ctx, srq->region);
release:
	univ_object_release(&srq->obj);
	return ret;
}

int univ_srq_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_srq_create *cmd = arg;
	struct univ_srq *srq, parents = {};
	int ret;

	ret = srq_check(call->ctx, cmd);
	if (ret)
		return ret;
	ret = srq_get_parents(&parents, call->ctx, cmd);
	if (ret)
		return ret;
	srq = kzalloc(sizeof(*srq), GFP_KERNEL_ACCOUNT);
	if (srq) {
		srq->pd = parents.pd;
		srq->cq = parents.cq;
		srq->xrcd = parents.xrcd;
		ret = srq_build(srq, call, cmd);
	} else {
		ret = univ_explain_driver(&cmd->hdr, -ENOMEM);
	}
	srq_parents(&parents, univ_object_put);
	return ret;
}

/* Only the limit can change; kernel verbs offer no other size for a ring. */
static int srq_modify(struct univ_srq *srq, struct univ_srq_modify *cmd)
{
	struct ib_srq_attr attr = { .srq_limit = cmd->limit };
	int ret;

	if (cmd->attr_mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    0, cmd->attr_mask,
				    IB_SRQ_MAX_WR | IB_SRQ_LIMIT);
	if (cmd->attr_mask & IB_SRQ_MAX_WR)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP,
				    UNIV_REASON_UNSUPPORTED, 0, 0, 0);
	if (!(cmd->attr_mask & IB_SRQ_LIMIT))
		return 0;
	if (cmd->limit > srq->max_wr)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_SRQ_LIMIT,
					  cmd->limit, srq->max_wr);
	/* First hand over what waits in the ring, then arm the limit. */
	univ_recv_queue_limit(&srq->rq, cmd->limit);
	ret = ib_modify_srq(srq->ib, &attr, IB_SRQ_LIMIT);
	return ret ? univ_explain_driver(&cmd->hdr, ret) : 0;
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
		ret = srq_modify(srq, cmd);
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
	mutex_unlock(&srq->mutex);
	cmd->max_wr = srq->max_wr;
	cmd->max_sge = srq->rq.max_sge;
	cmd->limit = attr.srq_limit;
	univ_object_put(&srq->obj);
	return ret ? univ_explain_driver(&cmd->hdr, ret) : 0;
}

int univ_srq_destroy(struct univ_object *obj)
{
	struct univ_srq *srq = container_of(obj, struct univ_srq, obj);
	int ret;

	univ_poller_remove(&srq->rq.feed);
	univ_feed_close(&srq->rq.feed);
	ret = srq_destroy_ib(srq);
	if (ret) {
		/* The driver's rings stay its own */
		if (!obj->ctx->dev->queue) {
			univ_feed_reopen(&srq->rq.feed);
			univ_poller_add(obj->ctx, &srq->rq.feed);
		}
		return ret;
	}
	univ_event_forget(&obj->ctx->events, &srq->events);
	obj->async_events = srq->events.delivered_async;
	univ_region_destroy(obj->ctx, srq->region);
	srq_parents(srq, univ_object_undepend);
	return 0;
}

int univ_srq_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_SRQ,
				   univ_srq_destroy);
}
