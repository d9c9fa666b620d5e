// SPDX-License-Identifier: GPL-2.0
/*
 * Completion counters: ibv_create_comp_cntr(3). The process reads the values in
 * a page of shared memory, and cannot write there, so that the kernel is their
 * only writer.
 */
#include <linux/slab.h>

#include "qp.h"

struct univ_comp_cntr {
	struct univ_object obj;
	struct univ_region *region;
	bool bytes;
};

/* A counter that is attached to a queue pair, and depended on by it. */
struct univ_cntr_use {
	struct univ_cntr_use *next;
	struct univ_comp_cntr *cntr;
	u32 ops;
};

static u32 cntr_ops(const struct univ_context *ctx)
{
	return ctx->dev->queue->cntr_ops;
}

static struct univ_comp_cntr *cntr_get(struct univ_context *ctx, u32 handle,
				       struct univ_hdr *hdr)
{
	struct univ_object *obj =
		univ_object_get(ctx, handle, UNIV_OBJECT_CNTR, hdr);

	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_comp_cntr, obj);
}

int univ_cntr_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_cntr_query *cmd = arg;

	if (!cntr_ops(call->ctx))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	cmd->max_value = U64_MAX;
	cmd->max_counters = min(univ_limit_objects(), univ_limit_ring_pages());
	cmd->ops = cntr_ops(call->ctx);
	return 0;
}

static int cntr_build(struct univ_comp_cntr *cntr, struct univ_call *call,
		      struct univ_cntr_create *cmd)
{
	int ret;

	cntr->region = univ_region_create_read_only(call->ctx,
						    sizeof(struct univ_cntr),
						    &cmd->hdr);
	if (IS_ERR(cntr->region)) {
		ret = PTR_ERR(cntr->region);
		univ_object_release(&cntr->obj);
		return ret;
	}
	cmd->handle = cntr->obj.handle;
	cmd->map_offset = univ_region_offset(cntr->region);
	cmd->map_length = cntr->region->size;
	return univ_object_announce(call, &cntr->obj, univ_cntr_destroy);
}

int univ_cntr_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_cntr_create *cmd = arg;
	struct univ_comp_cntr *cntr;
	int ret;

	if (!cntr_ops(call->ctx))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (cmd->type > UNIV_CNTR_BYTES)
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	cntr = kzalloc(sizeof(*cntr), GFP_KERNEL_ACCOUNT);
	if (!cntr)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	cntr->bytes = cmd->type == UNIV_CNTR_BYTES;
	ret = univ_object_reserve(call->ctx, &cntr->obj, UNIV_OBJECT_CNTR,
				  &cmd->hdr);
	if (ret) {
		kfree(cntr);
		return ret;
	}
	return cntr_build(cntr, call, cmd);
}

/* The words of the shared page, as the kernel counts in them. */
static struct univ_queue_cntr cntr_words(const struct univ_comp_cntr *cntr)
{
	struct univ_cntr *words = cntr->region->vaddr;

	static_assert(sizeof(atomic64_t) == sizeof(words->done));
	return (struct univ_queue_cntr) {
		.done = (atomic64_t *)&words->done,
		.failed = (atomic64_t *)&words->failed,
		.bytes = cntr->bytes,
	};
}

int univ_cntr_modify_ioctl(struct univ_call *call, void *arg)
{
	struct univ_cntr_modify *cmd = arg;
	struct univ_comp_cntr *cntr;
	struct univ_queue_cntr words;
	int ret = 0;

	cntr = cntr_get(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(cntr))
		return PTR_ERR(cntr);
	words = cntr_words(cntr);
	switch (cmd->change) {
	case UNIV_CNTR_SET:
		atomic64_set(words.done, cmd->amount);
		break;
	case UNIV_CNTR_SET_ERR:
		atomic64_set(words.failed, cmd->amount);
		break;
	case UNIV_CNTR_INC:
		atomic64_add(cmd->amount, words.done);
		break;
	case UNIV_CNTR_INC_ERR:
		atomic64_add(cmd->amount, words.failed);
		break;
	default:
		ret = univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	}
	univ_object_put(&cntr->obj);
	return ret;
}

/*
 * At the end of a context a driver may have refused to destroy a queue pair,
 * which continues to count. The values then stay in memory.
 */
int univ_cntr_destroy(struct univ_object *obj)
{
	struct univ_comp_cntr *cntr =
		container_of(obj, struct univ_comp_cntr, obj);

	if (atomic_read(&obj->dependants))
		return -EBUSY;
	univ_region_destroy(obj->ctx, cntr->region);
	return 0;
}

int univ_cntr_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_CNTR,
				   univ_cntr_destroy);
}

/* ---- queue pairs --------------------------------------------------------- */

static u32 ops_taken(const struct univ_qp *qp)
{
	const struct univ_cntr_use *use;
	u32 ops = 0;

	for (use = qp->cntrs; use; use = use->next)
		ops |= use->ops;
	return ops;
}

/* The operations that a queue pair executes. */
static u32 ops_of(const struct univ_qp *qp)
{
	const u32 writes = UNIV_CNTR_WRITE | UNIV_CNTR_PEER_WRITE;
	const u32 reads = UNIV_CNTR_READ | UNIV_CNTR_PEER_READ;
	const u32 sends = UNIV_CNTR_SEND | UNIV_CNTR_RECV;

	switch (qp->ib->qp_type) {
	case IB_QPT_RC:
		return sends | writes | reads;
	case IB_QPT_UC:
		return sends | writes;
	case IB_QPT_XRC_INI:
		return UNIV_CNTR_SEND | UNIV_CNTR_WRITE | UNIV_CNTR_READ;
	default:
		/* With an indirection table, work queues receive instead. */
		return qp->table ? UNIV_CNTR_SEND : sends;
	}
}

static int attach_check(struct univ_qp *qp, struct univ_qp_cntr *cmd)
{
	u32 known = cntr_ops(qp->obj.ctx) & ops_of(qp);

	/* Its handles belong to several contexts, and a counter only to one. */
	if (qp->xrcd)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_QP_TYPE,
				    0, IB_QPT_XRC_TGT, 0);
	if (!cmd->ops)
		return univ_explain(&cmd->hdr, -EINVAL,
				    UNIV_REASON_FLAGS_MISSING,
				    UNIV_FLAGS_CNTR_OPS, known, 0);
	if (cmd->ops & ~known)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    UNIV_FLAGS_CNTR_OPS, cmd->ops, known);
	if (qp->state != IB_QPS_RESET && qp->state != IB_QPS_INIT)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_CNTR_STATE,
				    0, qp->state, 0);
	if (cmd->ops & ops_taken(qp))
		return univ_explain(&cmd->hdr, -EBUSY, UNIV_REASON_CNTR_TAKEN,
				    0, cmd->ops & ops_taken(qp), 0);
	return 0;
}

static int attach_to(struct univ_qp *qp, struct univ_comp_cntr *cntr,
		     struct univ_qp_cntr *cmd)
{
	struct univ_queue_cntr words = cntr_words(cntr);
	struct univ_cntr_use *use;
	int ret;

	use = kzalloc(sizeof(*use), GFP_KERNEL_ACCOUNT);
	if (!use)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	ret = qp->obj.ctx->dev->queue->qp_cntr(qp->ib, cmd->ops, &words);
	if (ret) {
		kfree(use);
		return univ_explain_driver(&cmd->hdr, ret);
	}
	use->cntr = cntr;
	use->ops = cmd->ops;
	use->next = qp->cntrs;
	qp->cntrs = use;
	univ_object_depend(&cntr->obj);
	return 0;
}

/* Context: qp->mutex is held. */
static int qp_attach_cntr(struct univ_qp *qp, struct univ_call *call, void *arg)
{
	struct univ_qp_cntr *cmd = arg;
	struct univ_comp_cntr *cntr;
	int ret;

	cntr = cntr_get(qp->obj.ctx, cmd->cntr, &cmd->hdr);
	if (IS_ERR(cntr))
		return PTR_ERR(cntr);
	ret = attach_check(qp, cmd);
	if (!ret)
		ret = attach_to(qp, cntr, cmd);
	univ_object_put(&cntr->obj);
	return ret;
}

int univ_qp_cntr_ioctl(struct univ_call *call, void *arg)
{
	struct univ_qp_cntr *cmd = arg;

	return univ_qp_call(call, cmd->handle, cmd, qp_attach_cntr);
}

void univ_cntrs_detach(struct univ_qp *qp)
{
	struct univ_cntr_use *use;

	while (qp->cntrs) {
		use = qp->cntrs;
		qp->cntrs = use->next;
		univ_object_undepend(&use->cntr->obj);
		kfree(use);
	}
}
