// SPDX-License-Identifier: GPL-2.0
/* Protection domains: ibv_alloc_pd(3). */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "context.h"
#include "ioctl.h"
#include "pd.h"
#include "reason.h"

struct univ_pd *univ_pd_get(struct univ_context *ctx, u32 handle,
			    struct univ_hdr *hdr)
{
	struct univ_object *obj =
		univ_object_get(ctx, handle, UNIV_OBJECT_PD, hdr);

	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_pd, obj);
}

/*
 * On a device without a reserved local key the core makes a region of all of
 * kernel memory in each new domain, with a key that a process can guess. Ours
 * has nothing in it that the process did not register, so that region goes
 * before anybody can name the domain.
 */
static struct ib_pd *pd_create(struct univ_context *ctx)
{
	struct ib_pd *pd = __ib_alloc_pd(ctx->dev->ib, 0, ctx->name);
	int ret;

	if (IS_ERR(pd) || !pd->__internal_mr)
		return pd;
	ret = ctx->dev->ib->ops.dereg_mr(pd->__internal_mr, NULL);
	if (ret) {
		ib_dealloc_pd_user(pd, NULL);
		return ERR_PTR(ret);
	}
	pd->__internal_mr = NULL;
	pd->local_dma_lkey = 0;
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
	ret = univ_call_reply(call);
	if (ret)
		goto dealloc;
	univ_object_publish(&pd->obj);
	return 0;

dealloc:
	ib_dealloc_pd_user(pd->ib, NULL);
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
