// SPDX-License-Identifier: GPL-2.0
/* Regions that share the pages of another region: univerbs_share_mr(3). */
#include <rdma/ib_verbs.h>

#include "verbs.h"

static int share_explain(struct univ_mr_share *cmd, int err)
{
	const u32 writes = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			   IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_MW_BIND;

	switch (err) {
	case -EOPNOTSUPP:
		return univ_explain(&cmd->hdr, err, UNIV_REASON_MR_KIND, 0, 0,
				    0);
	case -EACCES:
		return univ_explain(&cmd->hdr, err, UNIV_REASON_MR_READ_ONLY, 0,
				    cmd->access & writes, 0);
	default:
		return univ_explain_driver(&cmd->hdr, err);
	}
}

static int share_check(struct univ_call *call, struct univ_mr_share *cmd,
		       const struct univ_mr *of)
{
	const struct univ_device *dev = call->ctx->dev;
	const struct univ_mr_range range = {
		of->addr, of->ib->length, cmd->iova,
	};
	int ret;

	if (!dev->queue->mr_share)
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	/* Before the range, which such a region need not have. */
	if (of->kind != UNIV_MR_MEMORY || of->access & IB_ACCESS_ON_DEMAND)
		return share_explain(cmd, -EOPNOTSUPP);
	ret = univ_mr_check_access(dev->ib, &cmd->hdr, cmd->access, false);
	return ret ?: univ_mr_check_range(dev->ib, &cmd->hdr, &range,
					  cmd->access);
}

/* Context: of->change is held, so the region does not change. */
static struct univ_mr *share_create(struct univ_call *call,
				    struct univ_mr_share *cmd,
				    struct univ_pd *pd, struct univ_mr *of)
{
	const struct univ_device *dev = call->ctx->dev;
	struct univ_mr *mr = univ_mr_new(call, &cmd->hdr, pd);
	struct ib_mr *ib;
	int ret;

	lockdep_assert_held(&of->change);
	if (IS_ERR(mr))
		return mr;
	mr->addr = of->addr;
	mr->access = univ_mr_access(dev, cmd->access);
	ib = dev->queue->mr_share(pd->ib, of->ib, cmd->iova, mr->access);
	if (!IS_ERR(ib)) {
		univ_mr_adopt(mr, ib);
		return mr;
	}
	ret = share_explain(cmd, PTR_ERR(ib));
	univ_object_release(&mr->obj);
	return ERR_PTR(ret);
}

static struct univ_mr *share(struct univ_call *call, struct univ_mr_share *cmd,
			     struct univ_pd *pd)
{
	struct univ_mr *of = univ_mr_lock(call->ctx, cmd->mr, &cmd->hdr), *mr;
	int ret;

	if (IS_ERR(of))
		return of;
	ret = share_check(call, cmd, of);
	mr = ret ? ERR_PTR(ret) : share_create(call, cmd, pd, of);
	univ_mr_unlock(of);
	return mr;
}

int univ_mr_share_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_share *cmd = arg;
	struct univ_pd *pd;
	struct univ_mr *mr;
	int ret;

	pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	mr = share(call, cmd, pd);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto put;
	}
	cmd->handle = mr->obj.handle;
	cmd->lkey = mr->ib->lkey;
	cmd->rkey = mr->ib->rkey;
	cmd->length = mr->ib->length;
	univ_object_depend(&pd->obj);
	ret = univ_object_announce(call, &mr->obj, univ_mr_destroy);
put:
	univ_object_put(&pd->obj);
	return ret;
}
