// SPDX-License-Identifier: GPL-2.0
/*
 * XRC receive queue pairs, which kernel verbs call XRC targets. A target
 * belongs to its domain. Each process that created or opened it has a handle,
 * with which it may modify the queue pair and gets its events. The last handle
 * that is closed ends the queue pair. There are no rings: messages go to shared
 * receive queues of the domain.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "qp.h"

/*
 * The owner's name in dumps. A target may outlive the context that created it,
 * so it cannot have that context's name.
 */
#define TARGET_OWNER "univerbs"

static struct univ_qp *target_alloc(struct univ_call *call,
				    struct univ_xrcd *xrcd, u64 cookie,
				    struct univ_hdr *hdr)
{
	struct univ_qp *qp;
	int ret;

	qp = kzalloc(sizeof(*qp), GFP_KERNEL_ACCOUNT);
	if (!qp)
		return ERR_PTR(univ_explain_driver(hdr, -ENOMEM));
	mutex_init(&qp->mutex);
	INIT_LIST_HEAD(&qp->groups);
	univ_event_source_init(&qp->events, cookie, 0);
	qp->xrcd = xrcd;
	qp->state = IB_QPS_RESET;
	ret = univ_object_reserve(call->ctx, &qp->obj, UNIV_OBJECT_QP, hdr);
	if (!ret)
		return qp;
	kfree(qp);
	return ERR_PTR(ret);
}

/* Begins to make a target, with its domain held until target_finish(). */
static struct univ_qp *target_begin(struct univ_call *call, u32 xrcd_handle,
				    u64 cookie, struct univ_hdr *hdr)
{
	struct univ_xrcd *xrcd = univ_xrcd_get(call->ctx, xrcd_handle, hdr);
	struct univ_qp *qp;

	if (IS_ERR(xrcd))
		return ERR_CAST(xrcd);
	qp = target_alloc(call, xrcd, cookie, hdr);
	if (IS_ERR(qp))
		univ_object_put(&xrcd->obj);
	return qp;
}

static int target_close(struct univ_qp *qp)
{
	struct univ_domain *domain = qp->xrcd->domain;
	int ret;

	mutex_lock(&domain->lock);
	ret = ib_destroy_qp_user(qp->ib, NULL);
	mutex_unlock(&domain->lock);
	return ret;
}

/* Context: @qp->ib was made, or is an error. */
static int target_finish(struct univ_qp *qp, struct univ_call *call,
			 u32 *handle)
{
	struct univ_object *domain = &qp->xrcd->obj;
	int ret;

	if (IS_ERR(qp->ib)) {
		ret = univ_explain_driver(call->hdr, PTR_ERR(qp->ib));
		goto release;
	}
	qp->num = qp->ib->qp_num;
	*handle = qp->obj.handle;
	univ_object_depend(domain);
	ret = univ_object_announce(call, &qp->obj, univ_qp_destroy);
	goto put;

release:
	/* A handle that target_bound() closed may have got an event before. */
	univ_channel_forget(call->ctx, &qp->events);
	univ_object_release(&qp->obj);
put:
	univ_object_put(domain);
	return ret;
}

/* Fills the reply, which says that there are no rings. */
static void target_reply(const struct univ_qp *qp, struct univ_qp_create *cmd)
{
	if (IS_ERR(qp->ib))
		return;
	cmd->qp_num = qp->ib->qp_num;
	cmd->map_offset = 0;
	cmd->map_length = 0;
	memset(&cmd->sq, 0, sizeof(cmd->sq));
	memset(&cmd->rq, 0, sizeof(cmd->rq));
	cmd->max_send_wr = 0;
	cmd->max_recv_wr = 0;
	cmd->max_send_sge = 0;
	cmd->max_recv_sge = 0;
	cmd->max_inline = 0;
}

/*
 * When memory is short the kernel may count the domain as used by a queue pair
 * that was not made, so the domain could never go (seen in 6.1). The domain's
 * lock keeps other callers from changing that count meanwhile.
 */
static struct ib_qp *target_make(struct ib_device *dev,
				 struct univ_domain *domain,
				 struct ib_qp_init_attr *attr)
{
	struct ib_qp *ib;
	int users;

	mutex_lock(&domain->lock);
	users = atomic_read(&domain->ib->usecnt);
	ib = ib_create_qp_user(dev, NULL, attr, NULL, NULL, TARGET_OWNER);
	if (IS_ERR(ib))
		atomic_set(&domain->ib->usecnt, users);
	mutex_unlock(&domain->lock);
	return ib;
}

int univ_target_create(struct univ_call *call, struct univ_qp_create *cmd)
{
	struct ib_qp_init_attr attr = {
		.event_handler = univ_qp_event_handler,
		.qp_type = IB_QPT_XRC_TGT,
	};
	struct univ_qp *qp;

	qp = target_begin(call, cmd->xrcd, cmd->cookie, &cmd->hdr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	attr.qp_context = qp;
	attr.xrcd = qp->xrcd->domain->ib;
	qp->ib = target_make(call->ctx->dev->ib, qp->xrcd->domain, &attr);
	target_reply(qp, cmd);
	return target_finish(qp, call, &cmd->handle);
}

/*
 * The RDMA core raises an event of a target for each of its handles, in all
 * processes, with interrupts off, and other targets of the device wait.
 */
#define TARGET_HANDLES 4096

static struct ib_qp *target_bound(struct univ_qp *qp, struct ib_qp *ib,
				  struct univ_hdr *hdr)
{
	if (atomic_read(&ib->real_qp->usecnt) <= TARGET_HANDLES)
		return ib;
	qp->ib = ib;
	target_close(qp);
	return ERR_PTR(univ_explain(hdr, -ENOMEM, UNIV_REASON_LIMIT,
				    UNIV_LIMIT_TARGET_HANDLES,
				    TARGET_HANDLES + 1, TARGET_HANDLES));
}

static struct ib_qp *target_open(struct univ_qp *qp, struct univ_qp_open *cmd)
{
	struct ib_qp_open_attr attr = {
		.event_handler = univ_qp_event_handler,
		.qp_context = qp,
		.qp_num = cmd->qp_num,
		.qp_type = IB_QPT_XRC_TGT,
	};
	struct ib_qp *ib = ib_open_qp(qp->xrcd->domain->ib, &attr);

	if (!IS_ERR(ib))
		return target_bound(qp, ib, &cmd->hdr);
	if (PTR_ERR(ib) == -EINVAL)
		univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_XRC_QPN, 0,
			     cmd->qp_num, 0);
	return ib;
}

int univ_qp_open_ioctl(struct univ_call *call, void *arg)
{
	struct univ_qp_open *cmd = arg;
	struct univ_qp *qp;

	if (cmd->qp_type != IB_QPT_XRC_TGT)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_QP_TYPE, 0,
				    cmd->qp_type, 0);
	qp = target_begin(call, cmd->xrcd, cmd->cookie, &cmd->hdr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	qp->ib = target_open(qp, cmd);
	return target_finish(qp, call, &cmd->handle);
}

static void target_look(struct univ_qp *qp)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};

	if (!ib_query_qp(qp->ib, &attr, IB_QP_STATE, &init))
		WRITE_ONCE(qp->state, attr.qp_state);
}

/*
 * Other processes may modify the target by handles of their own. One does so at
 * a time, and each reads the state first.
 */
void univ_target_lock(struct univ_qp *qp)
{
	mutex_lock(&qp->xrcd->domain->lock);
	target_look(qp);
}

/* univ_target_lock() for a call. Returns as univ_call_lock() does. */
int univ_target_lock_for(struct univ_call *call, struct univ_qp *qp)
{
	int ret = univ_call_lock(call, &qp->xrcd->domain->lock);

	if (!ret)
		target_look(qp);
	return ret;
}

void univ_target_unlock(struct univ_qp *qp)
{
	mutex_unlock(&qp->xrcd->domain->lock);
}

/* Closes the handle. The kernel ends the queue pair with the last handle. */
int univ_target_destroy(struct univ_qp *qp)
{
	struct univ_context *ctx = qp->obj.ctx;
	int ret = target_close(qp);

	if (ret)
		return ret;
	univ_channel_forget(ctx, &qp->events);
	univ_channel_leave(&qp->events);
	qp->obj.async_events = qp->events.delivered_async;
	univ_object_undepend(&qp->xrcd->obj);
	return 0;
}
