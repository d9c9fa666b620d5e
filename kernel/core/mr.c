// SPDX-License-Identifier: GPL-2.0
/* Memory regions: ibv_reg_mr(3). */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "context.h"
#include "ioctl.h"
#include "mr.h"
#include "pd.h"
#include "reason.h"

static int mr_check(struct univ_context *ctx, struct univ_mr_reg *cmd)
{
	struct ib_device *ib = ctx->dev->ib;
	u64 end;
	int ret;

	ret = ib_check_mr_access(ib, cmd->access);
	if (ret)
		return univ_explain(&cmd->hdr, ret, UNIV_REASON_ACCESS_FLAGS, 0,
				    cmd->access, 0);
	/* On-demand paging needs a user context of the device's own driver. */
	if (cmd->access & (IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB))
		return univ_explain(&cmd->hdr, -EOPNOTSUPP,
				    UNIV_REASON_ACCESS_FLAGS, 0, cmd->access,
				    0);
	if (!cmd->length)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_ZERO,
				    UNIV_LIMIT_MR_LENGTH, 0, 0);
	/* The last page is rounded up, so the sum must stay clear of 2^64. */
	if (check_add_overflow(cmd->addr, cmd->length, &end) ||
	    PAGE_ALIGN(end) < end ||
	    check_add_overflow(cmd->iova, cmd->length, &end))
		return univ_explain(&cmd->hdr, -EINVAL,
				    UNIV_REASON_ADDRESS_WRAP, 0, cmd->addr,
				    cmd->length);
	if (cmd->length > ib->attrs.max_mr_size)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_MR_LENGTH,
					  cmd->length, ib->attrs.max_mr_size);
	/* Pages are mapped whole, so both addresses lie alike in their page. */
	if ((cmd->addr ^ cmd->iova) & ~PAGE_MASK)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_ADDRESS, 0,
				    cmd->iova, cmd->length);
	return 0;
}

/* ENOMEM is memlock unless the process has room left. */
static int mr_explain_memory(struct univ_mr_reg *cmd)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK);
	u64 pinned = (u64)atomic64_read(&current->mm->pinned_vm) << PAGE_SHIFT;
	u64 asked = PAGE_ALIGN(cmd->addr + cmd->length) -
		    (cmd->addr & PAGE_MASK);
	u64 left = limit > pinned ? round_down(limit - pinned, PAGE_SIZE) : 0;

	if (asked > left && limit != RLIM_INFINITY && !capable(CAP_IPC_LOCK))
		return univ_explain(&cmd->hdr, -ENOMEM, UNIV_REASON_MEMLOCK, 0,
				    asked, left);
	return univ_explain(&cmd->hdr, -ENOMEM, UNIV_REASON_NO_MEMORY, 0,
			    asked, 0);
}

static int mr_explain(struct univ_mr_reg *cmd, int err)
{
	if (err == -ENOMEM)
		return mr_explain_memory(cmd);
	if (err == -EFAULT)
		return univ_explain(&cmd->hdr, err, UNIV_REASON_ADDRESS, 0,
				    cmd->addr, cmd->length);
	return univ_explain_driver(&cmd->hdr, err);
}

/*
 * Pins the pages on the caller's account, so it runs in the caller's context.
 */
static struct univ_mr *mr_create(struct univ_call *call,
				 struct univ_mr_reg *cmd, struct univ_pd *pd)
{
	struct univ_mr *mr;
	int ret;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(univ_explain_driver(&cmd->hdr, -ENOMEM));
	mr->pd = pd;
	ret = univ_object_reserve(call->ctx, &mr->obj, UNIV_OBJECT_MR,
				  &cmd->hdr);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	mr->ib = ib_reg_user_mr(pd->ib, cmd->addr, cmd->length, cmd->iova,
				cmd->access);
	if (!IS_ERR(mr->ib))
		return mr;
	ret = mr_explain(cmd, PTR_ERR(mr->ib));
	univ_object_release(&mr->obj);
	return ERR_PTR(ret);
}

int univ_mr_reg_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_reg *cmd = arg;
	struct univ_pd *pd;
	struct univ_mr *mr;
	int ret;

	ret = mr_check(call->ctx, cmd);
	if (ret)
		return ret;
	pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	mr = mr_create(call, cmd, pd);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto put;
	}
	cmd->handle = mr->obj.handle;
	cmd->lkey = mr->ib->lkey;
	cmd->rkey = mr->ib->rkey;
	ret = univ_call_reply(call);
	if (ret)
		goto dereg;
	univ_object_depend(&pd->obj);
	univ_object_publish(&mr->obj);
	univ_object_put(&pd->obj);
	return 0;

dereg:
	ib_dereg_mr_user(mr->ib, NULL);
	univ_object_release(&mr->obj);
put:
	univ_object_put(&pd->obj);
	return ret;
}

/*
 * The kernel's verbs have no such call: a driver's own entry expects the user
 * context of its own provider. Programs fall back to dereg and reg.
 */
int univ_mr_rereg_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_rereg *cmd = arg;
	struct univ_object *obj;

	obj = univ_object_get(call->ctx, cmd->handle, UNIV_OBJECT_MR,
			      &cmd->hdr);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	univ_object_put(obj);
	return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
}

int univ_mr_destroy(struct univ_object *obj)
{
	struct univ_mr *mr = container_of(obj, struct univ_mr, obj);
	int ret = ib_dereg_mr_user(mr->ib, NULL);

	if (!ret)
		univ_object_undepend(&mr->pd->obj);
	return ret;
}

int univ_mr_dereg_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_MR, univ_mr_destroy);
}
