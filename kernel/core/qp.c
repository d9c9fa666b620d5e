// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: ibv_create_qp(3), ibv_modify_qp(3), ibv_query_qp(3). */
#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "attr.h"
#include "context.h"
#include "cq.h"
#include "ioctl.h"
#include "mcast.h"
#include "native.h"
#include "pd.h"
#include "poller.h"
#include "qp.h"
#include "reason.h"
#include "region.h"
#include "srq.h"
#include "xrcd.h"

/* The rnr_retry that means without end. */
#define QP_RNR_FOREVER 7

/* Keeps a slot within a page. */
#define UNIV_MAX_INLINE 4032

static const struct rhashtable_params qp_table_params = {
	.key_len = sizeof(struct ib_qp *),
	.key_offset = offsetof(struct univ_qp, ib),
	.head_offset = offsetof(struct univ_qp, by_ib),
	.automatic_shrinking = true,
};

int univ_qp_table_init(struct univ_context *ctx)
{
	return rhashtable_init(&ctx->qps, &qp_table_params);
}

/*
 * Whose completion it is. A completion that waits in the device names a queue
 * pair that may have been destroyed since, so the pointer is compared and never
 * followed. Context: cq->lock held, within an RCU section.
 */
struct univ_qp *univ_qp_find(struct univ_cq *cq, const struct ib_qp *ib)
{
	lockdep_assert_held(&cq->lock);
	if (cq->last_ib == ib)
		return cq->last_qp;
	cq->last_qp = rhashtable_lookup(&cq->obj.ctx->qps, &ib,
					qp_table_params);
	cq->last_ib = cq->last_qp ? ib : NULL;
	return cq->last_qp;
}

/*
 * The memory of a destroyed queue pair can be a new one's before the former's
 * completions are drained. Its name is then still taken, for a short time.
 */
static int qp_table_insert(struct univ_qp *qp)
{
	int ret;

	while ((ret = rhashtable_lookup_insert_fast(&qp->obj.ctx->qps,
						    &qp->by_ib,
						    qp_table_params)) == -EEXIST)
		usleep_range(10, 100);
	return ret;
}

static void qp_forget(struct univ_cq *cq, const struct univ_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->last_qp == qp) {
		cq->last_qp = NULL;
		cq->last_ib = NULL;
	}
	if (cq->partner == qp->send_cq)
		WRITE_ONCE(cq->partner, NULL);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * Its completions have been drained: nobody asks for it any more. It leaves the table
 * last: from then on its name may be another queue pair's, which nobody may find in
 * the completion queues' memory as this one.
 */
static void qp_table_remove(struct univ_qp *qp)
{
	qp_forget(qp->send_cq, qp);
	qp_forget(qp->recv_cq, qp);
	rhashtable_remove_fast(&qp->obj.ctx->qps, &qp->by_ib, qp_table_params);
}

void univ_qp_event_handler(struct ib_event *event, void *context)
{
	struct univ_qp *qp = context;

	/* It says that its last receive was taken, which qp_take_receives() asked for */
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

/* qp_lock() for a call; returns what univ_call_lock() does */
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

static int qp_to_error(struct univ_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int ret;

	lockdep_assert_held(&qp->mutex);
	ret = ib_modify_qp(qp->ib, &attr, IB_QP_STATE);
	if (!ret)
		WRITE_ONCE(qp->state, IB_QPS_ERR);
	return ret;
}

/* Before a look whether the queue pair is free for the error state */
#define QP_ERROR_RETRY msecs_to_jiffies(10)

static void qp_queue_error(struct univ_qp *qp, unsigned long delay)
{
	queue_delayed_work(system_unbound_wq, &qp->error_work, delay);
}

/*
 * A request was refused or a completion lost, found out where one cannot sleep.
 * In error the device flushes what it has; what is still in the ring follows.
 *
 * A call that modifies the queue pair may take a second, to resolve an address. A
 * worker does not wait for that: with many queue pairs a process could have all
 * that the kernel runs at once.
 */
static void qp_error_work(struct work_struct *work)
{
	struct univ_qp *qp =
		container_of(work, struct univ_qp, error_work.work);
	unsigned long flags;

	if (!mutex_trylock(&qp->mutex)) {
		qp_queue_error(qp, QP_ERROR_RETRY);
		return;
	}
	if (!qp->dying && qp->state != IB_QPS_RESET && READ_ONCE(qp->failed))
		qp_to_error(qp);
	mutex_unlock(&qp->mutex);

	spin_lock_irqsave(&qp->sq.feed.lock, flags);
	qp->sq.broken = false;
	spin_unlock_irqrestore(&qp->sq.feed.lock, flags);
	univ_send_queue_feed(&qp->sq);
	univ_recv_queue_feed(&qp->rq);
}

/*
 * Put the queue pair in error soon. Any context. A reset meanwhile takes it
 * back: what failed is forgotten with the rest.
 */
void univ_qp_fail(struct univ_qp *qp)
{
	WRITE_ONCE(qp->failed, true);
	qp_queue_error(qp, 0);
}

static void qp_retry_work(struct work_struct *work)
{
	struct univ_qp *qp =
		container_of(work, struct univ_qp, retry_work.work);

	univ_send_queue_feed(&qp->sq);
	univ_recv_queue_feed(&qp->rq);
}

static int qp_check_type(struct univ_context *ctx, struct univ_qp_create *cmd)
{
	switch (cmd->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		return 0;
	case IB_QPT_SMI:
	case IB_QPT_GSI:
		return univ_explain(&cmd->hdr, -EPERM, UNIV_REASON_QP_TYPE, 0,
				    cmd->qp_type, 0);
	case IB_QPT_RAW_PACKET:
		if (!capable(CAP_NET_RAW))
			return univ_explain(&cmd->hdr, -EPERM,
					    UNIV_REASON_PERMISSION, 0,
					    CAP_NET_RAW, 0);
		break;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		if (univ_xrc_offered(ctx->dev))
			return 0;
		break;
	default:
		break;
	}
	return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_QP_TYPE, 0,
			    cmd->qp_type, 0);
}

static int qp_check_caps(struct univ_context *ctx, struct univ_qp_create *cmd)
{
	const struct ib_device_attr *attr = &ctx->dev->ib->attrs;
	const struct {
		enum univ_limit limit;
		u32 value;
		u32 max;
	} caps[] = {
		{ UNIV_LIMIT_SEND_WR, cmd->max_send_wr, attr->max_qp_wr },
		{ UNIV_LIMIT_RECV_WR, cmd->max_recv_wr, attr->max_qp_wr },
		{ UNIV_LIMIT_SEND_SGE, cmd->max_send_sge,
		  min_t(u32, attr->max_send_sge, UNIV_MAX_SGE) },
		{ UNIV_LIMIT_RECV_SGE, cmd->max_recv_sge,
		  min_t(u32, attr->max_recv_sge, UNIV_MAX_SGE) },
		{ UNIV_LIMIT_INLINE, cmd->max_inline, UNIV_MAX_INLINE },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(caps); i++)
		if (caps[i].value > caps[i].max)
			return univ_explain_limit(&cmd->hdr, caps[i].limit,
						  caps[i].value, caps[i].max);
	return 0;
}

static int qp_check(struct univ_context *ctx, struct univ_qp_create *cmd)
{
	int ret;

	if (cmd->create_flags)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    0, cmd->create_flags, 0);
	if (cmd->sq_sig_all > 1)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    0, cmd->sq_sig_all, 1);
	ret = qp_check_type(ctx, cmd);
	return ret ? ret : qp_check_caps(ctx, cmd);
}

/* One of XRC has a protection domain and a completion queue of its own. */
static struct univ_srq *qp_get_srq(struct univ_context *ctx,
				   struct univ_qp_create *cmd)
{
	struct univ_srq *srq = univ_srq_get(ctx, cmd->srq, &cmd->hdr);

	if (IS_ERR(srq) || !srq->xrcd)
		return srq;
	univ_object_put(&srq->obj);
	return ERR_PTR(univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_SRQ_OF_XRC,
				    0, cmd->srq, 0));
}

/* Find what the queue pair is built on; each is held. */
static int qp_get_parents(struct univ_qp *qp, struct univ_call *call,
			  struct univ_qp_create *cmd)
{
	struct univ_context *ctx = call->ctx;
	int ret;

	qp->pd = univ_pd_get(ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(qp->pd))
		return PTR_ERR(qp->pd);
	qp->send_cq = univ_cq_get(ctx, cmd->send_cq, &cmd->hdr);
	if (IS_ERR(qp->send_cq)) {
		ret = PTR_ERR(qp->send_cq);
		goto put_pd;
	}
	qp->recv_cq = univ_cq_get(ctx, cmd->recv_cq, &cmd->hdr);
	if (IS_ERR(qp->recv_cq)) {
		ret = PTR_ERR(qp->recv_cq);
		goto put_send_cq;
	}
	if (qp->send_cq != qp->recv_cq &&
	    qp->send_cq->channel == qp->recv_cq->channel)
		qp->partner = qp->send_cq;
	if (!cmd->srq)
		return 0;
	qp->srq = qp_get_srq(ctx, cmd);
	if (!IS_ERR(qp->srq))
		return 0;
	ret = PTR_ERR(qp->srq);
	univ_object_put(&qp->recv_cq->obj);
put_send_cq:
	univ_object_put(&qp->send_cq->obj);
put_pd:
	univ_object_put(&qp->pd->obj);
	return ret;
}

/* Do @op to everything that the queue pair is built on. */
static void qp_parents(struct univ_qp *qp, void (*op)(struct univ_object *))
{
	if (qp->srq)
		op(&qp->srq->obj);
	op(&qp->recv_cq->obj);
	op(&qp->send_cq->obj);
	op(&qp->pd->obj);
}

static u32 ring_slots(u32 wr)
{
	return wr ? roundup_pow_of_two(wr) : 0;
}

/* For the pump: a device that takes rings keeps what it needs itself */
static int qp_create_records(struct univ_qp *qp, u32 slots)
{
	qp->sq.records = kvcalloc(slots, sizeof(*qp->sq.records),
				  GFP_KERNEL_ACCOUNT);
	return qp->sq.records ? 0 : -ENOMEM;
}

/*
 * Both rings in one mapping. A send slot has room for the asked entries or the
 * asked inline bytes, whichever is more; inline gets what rounding leaves.
 */
static int qp_create_rings(struct univ_qp *qp, struct univ_qp_create *cmd)
{
	u32 send = offsetof(struct univ_send_wr, data) +
		   max_t(u32, cmd->max_inline,
			 cmd->max_send_sge * sizeof(struct univ_sge));
	size_t size;

	size = univ_ring_place(&cmd->sq, 0, ring_slots(cmd->max_send_wr),
			       ALIGN(send, UNIV_CACHE_LINE));
	size = univ_ring_place(&cmd->rq, size, ring_slots(cmd->max_recv_wr),
			       univ_recv_stride(cmd->max_recv_sge));
	qp->region = univ_region_create(qp->obj.ctx, size, &cmd->hdr);
	if (!qp->region)
		return -ENOMEM;
	if (!qp->obj.ctx->dev->queue && qp_create_records(qp, cmd->sq.slots)) {
		univ_region_destroy(qp->obj.ctx, qp->region);
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	}
	univ_send_queue_init(&qp->sq, &cmd->sq, qp->region->vaddr);
	univ_recv_queue_init(&qp->rq, &cmd->rq, qp->region->vaddr,
			     cmd->max_recv_sge);
	qp->rq.qp = qp;
	return 0;
}

static void qp_destroy_rings(struct univ_qp *qp)
{
	kvfree(qp->sq.records);
	univ_region_destroy(qp->obj.ctx, qp->region);
}

/*
 * What the process may use is what both the ring and the device have. The
 * device is asked for a full ring of requests, so that it is never the first
 * to be full.
 */
static int qp_create_ib(struct univ_qp *qp, struct univ_qp_create *cmd)
{
	u32 max_wr = qp->pd->ib->device->attrs.max_qp_wr;
	struct ib_qp_init_attr attr = {
		.event_handler = univ_qp_event_handler,
		.qp_context = qp,
		.send_cq = qp->send_cq->ib,
		.recv_cq = qp->recv_cq->ib,
		.srq = qp->srq ? qp->srq->ib : NULL,
		.cap = {
			.max_send_wr = min(cmd->sq.slots, max_wr),
			.max_recv_wr = min(cmd->rq.slots, max_wr),
			.max_send_sge = cmd->max_send_sge,
			.max_recv_sge = cmd->max_recv_sge,
			.max_inline_data = cmd->max_inline,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = cmd->qp_type,
	};
	u32 room = cmd->sq.stride - offsetof(struct univ_send_wr, data);

	qp->ib = ib_create_qp_kernel(qp->pd->ib, &attr, qp->obj.ctx->name);
	if (IS_ERR(qp->ib))
		return univ_explain_driver(&cmd->hdr, PTR_ERR(qp->ib));
	qp->num = qp->ib->qp_num;
	qp->cap = attr.cap;
	qp->cap.max_send_wr = min(attr.cap.max_send_wr, cmd->sq.slots);
	qp->cap.max_recv_wr = min(attr.cap.max_recv_wr, cmd->rq.slots);
	qp->cap.max_send_sge = cmd->max_send_sge;
	qp->cap.max_recv_sge = cmd->max_recv_sge;
	qp->cap.max_inline_data = min(attr.cap.max_inline_data, room);
	return 0;
}

static void qp_reply(struct univ_qp *qp, struct univ_qp_create *cmd)
{
	cmd->handle = qp->obj.handle;
	cmd->qp_num = qp->ib->qp_num;
	cmd->map_offset = univ_region_offset(qp->region);
	cmd->map_length = qp->region->size;
	cmd->max_send_wr = qp->cap.max_send_wr;
	cmd->max_recv_wr = qp->cap.max_recv_wr;
	cmd->max_send_sge = qp->cap.max_send_sge;
	cmd->max_recv_sge = qp->cap.max_recv_sge;
	cmd->max_inline = qp->cap.max_inline_data;
}

/*
 * See univ_qp.eager. Context: @mutex held, or nobody else knows the queue pair
 * yet or any more.
 */
static void qp_set_eager(struct univ_qp *qp, bool eager)
{
	struct univ_recv_queue *rq = qp->srq ? &qp->srq->rq : &qp->rq;

	if (qp->eager == eager || qp->obj.ctx->dev->queue)
		return;
	qp->eager = eager;
	if (eager)
		univ_recv_queue_hurry(rq);
	else
		univ_recv_queue_relax(rq);
}

static void qp_polled(struct univ_qp *qp, bool polled)
{
	if (polled) {
		univ_poller_add(qp->obj.ctx, &qp->sq.feed);
		/* A device that takes rings looks for receives when it needs one */
		if (!qp->obj.ctx->dev->queue)
			univ_poller_add(qp->obj.ctx, &qp->rq.feed);
	} else {
		univ_poller_remove(&qp->sq.feed);
		univ_poller_remove(&qp->rq.feed);
	}
}

/* Who moves requests and completions: the device itself, or the pump. */
static int qp_take_over(struct univ_qp *qp)
{
	int ret;

	if (qp->obj.ctx->dev->queue) {
		ret = univ_queue_attach_qp(qp);
		if (ret)
			return ret;
	}
	return qp_table_insert(qp);
}

static int qp_build(struct univ_qp *qp, struct univ_call *call,
		    struct univ_qp_create *cmd)
{
	int ret;

	qp->obj.kicks = UNIV_KICK_SEND | UNIV_KICK_RECV;
	ret = univ_object_reserve(call->ctx, &qp->obj, UNIV_OBJECT_QP,
				  &cmd->hdr);
	if (ret) {
		kfree(qp);
		return ret;
	}
	ret = qp_create_rings(qp, cmd);
	if (ret)
		goto release;
	ret = qp_create_ib(qp, cmd);
	if (ret)
		goto destroy_rings;
	ret = qp_take_over(qp);
	if (ret) {
		univ_explain_driver(&cmd->hdr, ret);
		goto destroy_ib;
	}
	qp_reply(qp, cmd);
	qp_parents(qp, univ_object_depend);
	qp_set_eager(qp, true);
	qp_polled(qp, true);
	return univ_object_announce(call, &qp->obj, univ_qp_destroy);

destroy_ib:
	ib_destroy_qp_user(qp->ib, NULL);
	univ_event_forget(&call->ctx->events, &qp->events);
destroy_rings:
	qp_destroy_rings(qp);
release:
	univ_object_release(&qp->obj);
	return ret;
}

static void qp_init(struct univ_qp *qp, const struct univ_qp_create *cmd)
{
	mutex_init(&qp->mutex);
	INIT_LIST_HEAD(&qp->groups);
	INIT_DELAYED_WORK(&qp->error_work, qp_error_work);
	univ_event_source_init(&qp->events, cmd->cookie, 0);
	qp->state = IB_QPS_RESET;
	qp->datagrams = cmd->qp_type == IB_QPT_UD;
	qp->sq.sig_all = cmd->sq_sig_all;
	INIT_DELAYED_WORK(&qp->retry_work, qp_retry_work);
}

/* A queue to complete receives on spares everybody a question. */
static void qp_receives_nothing(struct univ_qp_create *cmd)
{
	cmd->srq = 0;
	cmd->recv_cq = cmd->send_cq;
	cmd->max_recv_wr = 0;
	cmd->max_recv_sge = 0;
}

int univ_qp_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_qp_create *cmd = arg;
	struct univ_qp *qp, parents;
	int ret;

	ret = qp_check(call->ctx, cmd);
	if (ret)
		return ret;
	if (cmd->qp_type == IB_QPT_XRC_TGT)
		return univ_target_create(call, cmd);
	if (cmd->qp_type == IB_QPT_XRC_INI)
		qp_receives_nothing(cmd);
	if (cmd->srq)
		cmd->max_recv_wr = 0;
	qp = kzalloc(sizeof(*qp), GFP_KERNEL_ACCOUNT);
	if (!qp)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	qp_init(qp, cmd);
	ret = qp_get_parents(qp, call, cmd);
	if (ret) {
		kfree(qp);
		return ret;
	}
	/* A failed build frees the queue pair; these are still to be put. */
	parents.pd = qp->pd;
	parents.send_cq = qp->send_cq;
	parents.recv_cq = qp->recv_cq;
	parents.srq = qp->srq;
	ret = qp_build(qp, call, cmd);
	qp_parents(&parents, univ_object_put);
	return ret;
}

static void qp_drain_queues(struct univ_qp *qp)
{
	univ_pump_drain(qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		univ_pump_drain(qp->recv_cq);
}

/* Move to the process what the device still has of this queue pair's. */
static void qp_drain(struct univ_qp *qp)
{
	if (qp->obj.ctx->dev->queue)
		return;
	qp_drain_queues(qp);
	if (qp->srq)
		univ_recv_queue_credit(&qp->srq->rq);
}

/*
 * Reset has happened in the device: no completion of this queue pair follows.
 * Those before it are moved to the process, then the rings start afresh.
 */
static void qp_forget_requests(struct univ_qp *qp)
{
	qp_drain(qp);
	if (!qp->obj.ctx->dev->queue) {
		univ_send_queue_reset(qp);
		univ_recv_queue_reset(&qp->rq);
	}
	WRITE_ONCE(qp->failed, false);
}

/*
 * Find the queue pair of @handle and do @op to it, alone. @arg is the call's
 * struct, whose head tells why when there is no such queue pair.
 */
int univ_qp_call(struct univ_call *call, u32 handle, void *arg,
		 int (*op)(struct univ_qp *qp, void *arg))
{
	struct univ_object *obj =
		univ_object_get(call->ctx, handle, UNIV_OBJECT_QP, arg);
	struct univ_qp *qp = container_of(obj, struct univ_qp, obj);
	int ret;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = qp_lock_for(call, qp);
	if (!ret) {
		ret = op(qp, arg);
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

static int qp_modify(struct univ_qp *qp, void *arg)
{
	struct univ_qp_modify *cmd = arg;
	/*
	 * With user data the core resolves the destination's MAC address, as
	 * for a process; drivers find it inside a bundle.
	 */
	struct uverbs_attr_bundle bundle = {};
	struct univ_qp_attr *in = &cmd->attr;
	struct univ_context *ctx = qp->obj.ctx;
	struct ib_qp_attr attr;
	int ret;

	in->attr_mask = univ_qp_attr_mask(qp, in->attr_mask);
	ret = univ_qp_check_modify(qp, in, &cmd->hdr);
	if (ret)
		return ret;
	univ_qp_attr_in(in, &attr);
	if (in->attr_mask & IB_QP_AV)
		ret = univ_ah_attr_in(ctx, &in->ah, &attr.ah_attr, &cmd->hdr);
	if (!ret && in->attr_mask & IB_QP_ALT_PATH)
		ret = univ_ah_attr_in(ctx, &in->alt_ah, &attr.alt_ah_attr,
				      &cmd->hdr);
	if (ret)
		return ret;
	ret = ib_modify_qp_with_udata(qp->ib, &attr, in->attr_mask,
				      &bundle.driver_udata);
	if (ret)
		return qp_explain_modify(&cmd->hdr, ret);
	if (in->attr_mask & IB_QP_RNR_RETRY)
		qp_set_eager(qp, in->rnr_retry != QP_RNR_FOREVER);
	if (!(in->attr_mask & IB_QP_STATE))
		return 0;
	WRITE_ONCE(qp->state, in->qp_state);
	if (qp->state == IB_QPS_RESET) {
		qp_set_eager(qp, true);
		qp_forget_requests(qp);
	}
	return 0;
}

int univ_qp_modify_ioctl(struct univ_call *call, void *arg)
{
	struct univ_qp_modify *cmd = arg;

	return univ_qp_call(call, cmd->handle, cmd, qp_modify);
}

static int qp_query(struct univ_qp *qp, void *arg)
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
	cmd->sq_sig_all = qp->sq.sig_all;
	return 0;
}

int univ_qp_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_qp_query *cmd = arg;

	return univ_qp_call(call, cmd->handle, cmd, qp_query);
}

/* The device goes: let it complete what it has, as flushed. */
void univ_qp_flush(struct univ_object *obj)
{
	struct univ_qp *qp = container_of(obj, struct univ_qp, obj);

	qp_lock(qp);
	if (qp->state != IB_QPS_RESET)
		qp_to_error(qp);
	qp_unlock(qp);
	if (qp->xrcd)
		return;
	univ_send_queue_feed(&qp->sq);
	univ_recv_queue_feed(&qp->rq);
}

static void qp_set_dying(struct univ_qp *qp, bool dying)
{
	mutex_lock(&qp->mutex);
	qp->dying = dying;
	mutex_unlock(&qp->mutex);
	/* Closed for good: the driver has the rings */
	if (qp->obj.ctx->dev->queue)
		return;
	if (dying) {
		univ_feed_close(&qp->sq.feed);
		univ_feed_close(&qp->rq.feed);
	} else {
		univ_feed_reopen(&qp->sq.feed);
		univ_feed_reopen(&qp->rq.feed);
	}
}

/*
 * A device may throw away the completions of a queue pair that it destroys, as mlx4
 * and mlx5 do for users in the kernel. Each of a receive is a request that the
 * shared queue has back; without it the ring would be shorter by one for good. So
 * the queue pair takes no more receives, and those that it took are drained first.
 */
static void qp_take_receives(struct univ_qp *qp)
{
	if (!qp->srq || qp->obj.ctx->dev->queue)
		return;
	mutex_lock(&qp->mutex);
	if (qp->state != IB_QPS_RESET)
		qp_to_error(qp);
	mutex_unlock(&qp->mutex);
	qp_drain_queues(qp);
}

/*
 * The device's queue pair goes first, then its last completions are drained;
 * only then can nothing find ours any more. Not reset before: on rdma_rxe a
 * reset races with packets that arrive (Documentation/architecture.rst).
 */
int univ_qp_destroy(struct univ_object *obj)
{
	struct univ_qp *qp = container_of(obj, struct univ_qp, obj);
	int ret;

	if (qp->xrcd)
		return univ_target_destroy(qp);
	qp_polled(qp, false);
	qp_set_dying(qp, true);
	univ_mcast_detach_all(qp);
	qp_take_receives(qp);
	ret = ib_destroy_qp_user(qp->ib, NULL);
	if (ret) {
		qp_set_dying(qp, false);
		qp_polled(qp, true);
		return ret;
	}
	qp_drain(qp);
	qp_table_remove(qp);
	qp_set_eager(qp, false);
	/* Nothing schedules them any more. */
	cancel_delayed_work_sync(&qp->error_work);
	cancel_delayed_work_sync(&qp->retry_work);
	univ_event_forget(&obj->ctx->events, &qp->events);
	obj->async_events = qp->events.delivered_async;
	qp_destroy_rings(qp);
	qp_parents(qp, univ_object_undepend);
	return 0;
}

int univ_qp_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_QP, univ_qp_destroy);
}
