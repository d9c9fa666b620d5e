// SPDX-License-Identifier: GPL-2.0
/*
 * The answers to a process that was given a handle by another process. A
 * context belongs to its file, so each process that holds the file reaches its
 * objects.
 */
#include <rdma/ib_verbs.h>

#include "verbs.h"

static int pd_query(struct univ_call *call, struct univ_handle_query *cmd)
{
	struct univ_pd *pd = univ_pd_get(call->ctx, cmd->handle, &cmd->hdr);

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	univ_object_put(&pd->obj);
	return 0;
}

static int mr_answer(struct univ_mr *mr, struct univ_handle_query *cmd)
{
	lockdep_assert_held(&mr->change);
	if (mr->pd->obj.handle != cmd->domain)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_DOMAIN,
				    UNIV_OBJECT_MR, cmd->handle, 0);
	cmd->lkey = mr->ib->lkey;
	cmd->rkey = mr->kind == UNIV_MR_NULL ? 0 : mr->ib->rkey;
	cmd->length = mr->ib->length;
	cmd->iova = mr->ib->iova;
	return 0;
}

static int mr_query(struct univ_call *call, struct univ_handle_query *cmd)
{
	struct univ_mr *mr = univ_mr_lock(call->ctx, cmd->handle, &cmd->hdr);
	int ret;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ret = mr_answer(mr, cmd);
	univ_mr_unlock(mr);
	return ret;
}

static int dm_query(struct univ_call *call, struct univ_handle_query *cmd)
{
	struct univ_object *obj = univ_object_get(call->ctx, cmd->handle,
						  UNIV_OBJECT_DM, &cmd->hdr);
	struct univ_dm *dm;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	dm = container_of(obj, struct univ_dm, obj);
	cmd->length = dm->length;
	cmd->map_offset = univ_region_offset(dm->region);
	cmd->map_length = dm->region->size;
	univ_object_put(obj);
	return 0;
}

int univ_handle_query_ioctl(struct univ_call *call, void *arg)
{
	struct univ_handle_query *cmd = arg;

	switch (cmd->type) {
	case UNIV_OBJECT_PD:
		return pd_query(call, cmd);
	case UNIV_OBJECT_MR:
		return mr_query(call, cmd);
	case UNIV_OBJECT_DM:
		return dm_query(call, cmd);
	default:
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	}
}
