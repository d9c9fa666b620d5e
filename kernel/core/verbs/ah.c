// SPDX-License-Identifier: GPL-2.0
/* Address handles: ibv_create_ah(3). */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "verbs.h"

static int ah_explain(struct univ_hdr *hdr, int err)
{
	switch (err) {
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -ETIMEDOUT:
	case -ENODATA:
		return univ_explain(hdr, err, UNIV_REASON_NO_ROUTE, 0, 0, 0);
	default:
		return univ_explain_driver(hdr, err);
	}
}

/*
 * rdma_create_user_ah() is used, because rdma_create_ah() does not resolve the
 * destination's MAC address.
 */
static struct univ_ah *ah_create(struct univ_call *call,
				 struct univ_ah_create *cmd, struct univ_pd *pd)
{
	const struct univ_queue_ops *queue = call->ctx->dev->queue;
	struct rdma_ah_attr attr;
	struct univ_ah *ah;
	int ret;

	ret = univ_ah_attr_in(call->ctx, &cmd->attr, &attr, &cmd->hdr);
	if (ret)
		return ERR_PTR(ret);
	ah = kzalloc(sizeof(*ah), GFP_KERNEL_ACCOUNT);
	if (!ah)
		return ERR_PTR(univ_explain_driver(&cmd->hdr, -ENOMEM));
	ah->pd = pd;
	mutex_init(&ah->modify);
	ret = univ_object_reserve(call->ctx, &ah->obj, UNIV_OBJECT_AH,
				  &cmd->hdr);
	if (ret) {
		kfree(ah);
		return ERR_PTR(ret);
	}
	ah->ib = rdma_create_user_ah(pd->ib, &attr, NULL);
	if (IS_ERR(ah->ib)) {
		ret = ah_explain(&cmd->hdr, PTR_ERR(ah->ib));
		goto release;
	}
	if (!queue->ah_attach)
		return ah;
	ret = queue->ah_attach(ah->ib, ah->obj.handle);
	if (!ret)
		return ah;
	univ_explain_driver(&cmd->hdr, ret);
	rdma_destroy_ah_user(ah->ib, RDMA_DESTROY_AH_SLEEPABLE, NULL);
release:
	univ_object_release(&ah->obj);
	return ERR_PTR(ret);
}

int univ_ah_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_ah_create *cmd = arg;
	struct univ_pd *pd;
	struct univ_ah *ah;
	int ret;

	pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ah = ah_create(call, cmd, pd);
	if (IS_ERR(ah)) {
		ret = PTR_ERR(ah);
		goto put;
	}
	cmd->handle = ah->obj.handle;
	univ_object_depend(&pd->obj);
	ret = univ_object_announce(call, &ah->obj, univ_ah_destroy);
put:
	univ_object_put(&pd->obj);
	return ret;
}

/*
 * Kernel verbs resolve the destination and its hop limit only when they create
 * an address handle. So one is created, to fill in @attr and to find out
 * whether the destination can be reached.
 */
static int ah_resolve(struct univ_ah *ah, struct rdma_ah_attr *attr,
		      struct univ_hdr *hdr)
{
	struct ib_ah *ib = rdma_create_user_ah(ah->pd->ib, attr, NULL);

	if (IS_ERR(ib))
		return ah_explain(hdr, PTR_ERR(ib));
	rdma_destroy_ah_user(ib, RDMA_DESTROY_AH_SLEEPABLE, NULL);
	return 0;
}

static int ah_modify(struct univ_call *call, struct univ_ah_modify *cmd,
		     struct univ_ah *ah)
{
	struct ib_device *ib = call->ctx->dev->ib;
	struct rdma_ah_attr attr;
	int ret;

	/*
	 * Other drivers change the address while requests read it, or have
	 * requests in progress that refer to it.
	 */
	if (!ib->ops.modify_ah || !univ_queue_ops(ib))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	ret = univ_ah_attr_in(call->ctx, &cmd->attr, &attr, &cmd->hdr);
	if (!ret)
		ret = ah_resolve(ah, &attr, &cmd->hdr);
	if (ret)
		return ret;
	mutex_lock(&ah->modify);
	ret = rdma_modify_ah(ah->ib, &attr);
	mutex_unlock(&ah->modify);
	return ret ? ah_explain(&cmd->hdr, ret) : 0;
}

int univ_ah_modify_ioctl(struct univ_call *call, void *arg)
{
	struct univ_ah_modify *cmd = arg;
	struct univ_object *obj;
	int ret;

	obj = univ_object_get(call->ctx, cmd->handle, UNIV_OBJECT_AH,
			      &cmd->hdr);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = ah_modify(call, cmd, container_of(obj, struct univ_ah, obj));
	univ_object_put(obj);
	return ret;
}

int univ_ah_destroy(struct univ_object *obj)
{
	struct univ_ah *ah = container_of(obj, struct univ_ah, obj);
	int ret;

	ret = rdma_destroy_ah_user(ah->ib, RDMA_DESTROY_AH_SLEEPABLE, NULL);
	if (!ret)
		univ_object_undepend(&ah->pd->obj);
	return ret;
}

int univ_ah_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_AH, univ_ah_destroy);
}
