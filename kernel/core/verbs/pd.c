// SPDX-License-Identifier: GPL-2.0
/* Protection domains: ibv_alloc_pd(3). */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "verbs.h"

struct univ_pd *univ_pd_get(struct univ_context *ctx, u32 handle,
			    struct univ_hdr *hdr)
{
	struct univ_object *obj =
		univ_object_get(ctx, handle, UNIV_OBJECT_PD, hdr);

	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_pd, obj);
}

/*
 * ib_alloc_pd() is not used: on a device without a reserved local key it makes
 * a region of all of kernel memory in each new domain, with a key that a
 * process can guess. A domain made here contains only what the process
 * registers.
 */
static struct ib_pd *pd_create(struct univ_context *ctx)
{
	struct ib_device *ib = ctx->dev->ib;
	struct ib_pd *pd;
	int ret;

	pd = rdma_zalloc_drv_obj(ib, ib_pd);
	if (!pd)
		return ERR_PTR(-ENOMEM);
	pd->device = ib;
	rdma_restrack_new(&pd->res, RDMA_RESTRACK_PD);
	rdma_restrack_set_name(&pd->res, ctx->name);
	ret = ib->ops.alloc_pd(pd, NULL);
	if (ret) {
		rdma_restrack_put(&pd->res);
		kfree(pd);
		return ERR_PTR(ret);
	}
	rdma_restrack_add(&pd->res);
	return pd;
}

int univ_pd_alloc_ioctl(struct univ_call *call, void *arg)
{
	struct univ_pd_alloc *cmd = arg;
	struct univ_pd *pd;
	int ret;

	pd = kzalloc(sizeof(*pd), GFP_KERNEL_ACCOUNT);
	if (!pd)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	ret = univ_object_reserve(call->ctx, &pd->obj, UNIV_OBJECT_PD,
				  &cmd->hdr);
	if (ret)
		goto free;
	pd->ib = pd_create(call->ctx);
	if (IS_ERR(pd->ib)) {
		ret = univ_explain_driver(&cmd->hdr, PTR_ERR(pd->ib));
		goto release;
	}
	cmd->handle = pd->obj.handle;
	return univ_object_announce(call, &pd->obj, univ_pd_destroy);

release:
	univ_object_release(&pd->obj);
	return ret;
free:
	kfree(pd);
	return ret;
}

int univ_pd_destroy(struct univ_object *obj)
{
	return ib_dealloc_pd_user(container_of(obj, struct univ_pd, obj)->ib,
				  NULL);
}

int univ_pd_dealloc_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_PD, univ_pd_destroy);
}
