// SPDX-License-Identifier: GPL-2.0
/* Memory regions that grow while requests use them: univerbs_extend_mr(3). */
#include <linux/mm.h>
#include <rdma/ib_verbs.h>

#include "verbs.h"

static int extend_check(const struct univ_mr *mr, struct univ_mr_extend *cmd)
{
	const struct univ_mr_range range = {
		mr->addr, cmd->length, mr->ib->iova,
	};

	if (cmd->length < mr->ib->length)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_MR_SHRINK,
				    0, cmd->length, mr->ib->length);
	return univ_mr_check_range(mr->ib->device, &cmd->hdr, &range,
				   mr->access);
}

static int extend_explain(const struct univ_mr *mr, struct univ_mr_extend *cmd,
			  int err)
{
	/* The rest of the last page was pinned with the region. */
	u64 from = PAGE_ALIGN(mr->addr + mr->ib->length);
	u64 end = max(from, mr->addr + cmd->length);
	const struct univ_mr_range more = { from, end - from, };

	switch (err) {
	case -EOPNOTSUPP:
		return univ_explain(&cmd->hdr, err, UNIV_REASON_MR_KIND, 0, 0,
				    0);
	case -EXDEV:
		return univ_explain(&cmd->hdr, -EPERM, UNIV_REASON_MR_OWNER, 0,
				    0, 0);
	case -E2BIG:
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_MR_PARTS,
					  UNIV_MR_PARTS + 1, UNIV_MR_PARTS);
	default:
		return univ_mr_explain(&cmd->hdr, &more, err);
	}
}

/* Context: mr->change is held. */
static int mr_extend(struct univ_mr *mr, struct univ_mr_extend *cmd)
{
	int ret;

	lockdep_assert_held(&mr->change);
	if (!mr->obj.ctx->dev->queue->mr_extend)
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (mr->kind != UNIV_MR_MEMORY)
		return extend_explain(mr, cmd, -EOPNOTSUPP);
	cmd->access = mr->access;
	if (cmd->length == mr->ib->length)
		return 0;
	ret = extend_check(mr, cmd);
	if (ret)
		return ret;
	ret = mr->obj.ctx->dev->queue->mr_extend(mr->ib, cmd->length);
	if (ret)
		return extend_explain(mr, cmd, ret);
	mr->ib->length = cmd->length;
	return 0;
}

/* If the copy-out fails the extension stands. */
int univ_mr_extend_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_extend *cmd = arg;
	struct univ_mr *mr;
	int ret;

	mr = univ_mr_lock(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ret = mr_extend(mr, cmd);
	univ_mr_unlock(mr);
	return ret;
}
