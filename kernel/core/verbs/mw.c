// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: ibv_alloc_mw(3). Requests in a send ring bind them, which
 * only the device sees.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "verbs.h"

/*
 * Requests in a send ring bind a window, so the implementation must know them.
 */
bool univ_mw_offered(const struct univ_device *dev)
{
	return univ_queue_can(dev, UNIV_QUEUE_WINDOWS);
}

static struct ib_mw *mw_create(struct ib_pd *pd, enum ib_mw_type type)
{
	struct ib_mw *mw = rdma_zalloc_drv_obj(pd->device, ib_mw);
	int ret;

	if (!mw)
		return ERR_PTR(-ENOMEM);
	mw->device = pd->device;
	mw->pd = pd;
	mw->type = type;
	ret = pd->device->ops.alloc_mw(mw, NULL);
	if (ret) {
		kfree(mw);
		return ERR_PTR(ret);
	}
	atomic_inc(&pd->usecnt);
	return mw;
}

static int mw_free(struct ib_mw *mw)
{
	struct ib_pd *pd = mw->pd;
	int ret = mw->device->ops.dealloc_mw(mw);

	if (ret)
		return ret;
	atomic_dec(&pd->usecnt);
	kfree(mw);
	return 0;
}

static struct univ_mw *mw_alloc(struct univ_call *call,
				struct univ_mw_alloc *cmd, struct univ_pd *pd)
{
	struct univ_mw *mw;
	int ret;

	mw = kzalloc(sizeof(*mw), GFP_KERNEL_ACCOUNT);
	if (!mw)
		return ERR_PTR(univ_explain_driver(&cmd->hdr, -ENOMEM));
	mw->pd = pd;
	ret = univ_object_reserve(call->ctx, &mw->obj, UNIV_OBJECT_MW,
				  &cmd->hdr);
	if (ret) {
		kfree(mw);
		return ERR_PTR(ret);
	}
	mw->ib = mw_create(pd->ib, cmd->type);
	if (!IS_ERR(mw->ib))
		return mw;
	ret = univ_explain_driver(&cmd->hdr, PTR_ERR(mw->ib));
	univ_object_release(&mw->obj);
	return ERR_PTR(ret);
}

static int mw_check(struct univ_call *call, struct univ_mw_alloc *cmd)
{
	if (!univ_mw_offered(call->ctx->dev))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (cmd->type != IB_MW_TYPE_1 && cmd->type != IB_MW_TYPE_2)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_MW_TYPE, 0,
				    cmd->type, 0);
	return 0;
}

int univ_mw_alloc_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mw_alloc *cmd = arg;
	struct univ_pd *pd;
	struct univ_mw *mw;
	int ret;

	pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = mw_check(call, cmd);
	if (ret)
		goto put;
	mw = mw_alloc(call, cmd, pd);
	if (IS_ERR(mw)) {
		ret = PTR_ERR(mw);
		goto put;
	}
	cmd->handle = mw->obj.handle;
	cmd->rkey = mw->ib->rkey;
	univ_object_depend(&pd->obj);
	ret = univ_object_announce(call, &mw->obj, univ_mw_destroy);
put:
	univ_object_put(&pd->obj);
	return ret;
}

/* Destroying a bound window unbinds it, as ibv_dealloc_mw(3) says. */
int univ_mw_destroy(struct univ_object *obj)
{
	struct univ_mw *mw = container_of(obj, struct univ_mw, obj);
	int ret = mw_free(mw->ib);

	if (!ret)
		univ_object_undepend(&mw->pd->obj);
	return ret;
}

int univ_mw_dealloc_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_MW, univ_mw_destroy);
}
