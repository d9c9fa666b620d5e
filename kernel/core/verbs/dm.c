// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory: ibv_alloc_dm(3), ibv_reg_dm_mr(3). It is memory of the kernel
 * that the process maps like a ring, so it is charged and limited like one.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "verbs.h"

bool univ_dm_offered(const struct univ_device *dev)
{
	return dev->queue->mr_memory;
}

static int dm_check(struct univ_call *call, struct univ_dm_alloc *cmd)
{
	if (!univ_dm_offered(call->ctx->dev))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (!cmd->length)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_ZERO,
				    UNIV_LIMIT_DM_LENGTH, 0, 0);
	if (cmd->length > UNIV_DM_MAX)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_DM_LENGTH,
					  cmd->length, UNIV_DM_MAX);
	/* The memory begins at a page boundary. */
	if (cmd->log_align > PAGE_SHIFT)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_DM_ALIGN,
					  cmd->log_align, PAGE_SHIFT);
	return 0;
}

static struct univ_dm *dm_create(struct univ_call *call,
				 struct univ_dm_alloc *cmd)
{
	struct univ_dm *dm = kzalloc(sizeof(*dm), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!dm)
		return ERR_PTR(univ_explain_driver(&cmd->hdr, -ENOMEM));
	dm->length = cmd->length;
	ret = univ_object_reserve(call->ctx, &dm->obj, UNIV_OBJECT_DM,
				  &cmd->hdr);
	if (ret) {
		kfree(dm);
		return ERR_PTR(ret);
	}
	dm->region = univ_region_create(call->ctx, cmd->length, &cmd->hdr);
	if (!IS_ERR(dm->region))
		return dm;
	ret = PTR_ERR(dm->region);
	univ_object_release(&dm->obj);
	return ERR_PTR(ret);
}

int univ_dm_alloc_ioctl(struct univ_call *call, void *arg)
{
	struct univ_dm_alloc *cmd = arg;
	struct univ_dm *dm;
	int ret = dm_check(call, cmd);

	if (ret)
		return ret;
	dm = dm_create(call, cmd);
	if (IS_ERR(dm))
		return PTR_ERR(dm);
	cmd->handle = dm->obj.handle;
	cmd->map_offset = univ_region_offset(dm->region);
	cmd->map_length = dm->region->size;
	return univ_object_announce(call, &dm->obj, univ_dm_destroy);
}

/* Mappings of the memory keep it. */
int univ_dm_destroy(struct univ_object *obj)
{
	struct univ_dm *dm = container_of(obj, struct univ_dm, obj);

	univ_region_destroy(obj->ctx, dm->region);
	return 0;
}

int univ_dm_free_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_DM, univ_dm_destroy);
}

static int mr_check(struct univ_call *call, struct univ_mr_dm_reg *cmd,
		    const struct univ_dm *dm)
{
	u64 end;

	if (!(cmd->access & IB_ZERO_BASED))
		return univ_explain(&cmd->hdr, -EINVAL,
				    UNIV_REASON_FLAGS_MISSING,
				    UNIV_FLAGS_ACCESS, IB_ZERO_BASED, 0);
	if (check_add_overflow(cmd->offset, cmd->length, &end) ||
	    end > dm->length)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_DM_LENGTH,
					  cmd->length,
					  cmd->offset < dm->length ?
					  dm->length - cmd->offset : 0);
	return univ_mr_check_access(call->ctx->dev->ib, &cmd->hdr, cmd->access,
				    false);
}

static int mr_reg(struct univ_call *call, struct univ_mr_dm_reg *cmd,
		  struct univ_pd *pd, struct univ_dm *dm)
{
	struct univ_mr *mr;
	int ret = mr_check(call, cmd, dm);

	if (ret)
		return ret;
	mr = univ_mr_of_memory(call, &cmd->hdr, pd,
			       dm->region->vaddr + cmd->offset, cmd->length,
			       cmd->access);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->dm = dm;
	cmd->handle = mr->obj.handle;
	cmd->lkey = mr->ib->lkey;
	cmd->rkey = mr->ib->rkey;
	univ_object_depend(&pd->obj);
	univ_object_depend(&dm->obj);
	return univ_object_announce(call, &mr->obj, univ_mr_destroy);
}

int univ_mr_dm_reg_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_dm_reg *cmd = arg;
	struct univ_object *obj;
	struct univ_pd *pd;
	int ret;

	pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	obj = univ_object_get(call->ctx, cmd->dm, UNIV_OBJECT_DM, &cmd->hdr);
	if (IS_ERR(obj)) {
		ret = PTR_ERR(obj);
	} else {
		ret = mr_reg(call, cmd, pd,
			     container_of(obj, struct univ_dm, obj));
		univ_object_put(obj);
	}
	univ_object_put(&pd->obj);
	return ret;
}
