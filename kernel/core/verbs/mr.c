// SPDX-License-Identifier: GPL-2.0
/* Memory regions: ibv_reg_mr(3). */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "verbs.h"

/*
 * Most drivers want a user context of their own for on-demand paging. rdma_rxe
 * of 7.2 and 7.3 wants none, but looks pages up by iova and does not check that
 * it is the process's address.
 */
bool univ_odp_offered(const struct univ_device *dev)
{
	return univ_queue_can(dev, UNIV_QUEUE_ODP) &&
	       dev->ib->attrs.kernel_cap_flags & IBK_ON_DEMAND_PAGING;
}

/*
 * The flags that let peers flush, of a device that executes flushes. Kernels
 * before 6.2 do not know these flags, so they are checked here.
 */
static u32 flush_flags(struct ib_device *ib, u32 access)
{
	const struct univ_queue_ops *native = univ_queue_ops(ib);

	if (!native || !(native->caps & UNIV_QUEUE_FLUSH))
		return 0;
	return access & UNIV_ACCESS_FLUSH;
}

/*
 * @odp: on-demand paging is possible, and with it a promise that all pages are
 * huge. For pages that are pinned the promise has no effect.
 */
int univ_mr_check_access(struct ib_device *ib, struct univ_hdr *hdr, u32 access,
			 bool odp)
{
	u32 refused = odp ? 0 : IB_ACCESS_HUGETLB | IB_ACCESS_ON_DEMAND;
	u32 flush = flush_flags(ib, access), lacks = 0;
	int ret;

	if (!(ib->attrs.device_cap_flags & UNIV_CAP_FLUSH_PERSISTENT))
		lacks = flush & UNIV_ACCESS_FLUSH_PERSISTENT;
	ret = lacks || access & refused ?
		      -EOPNOTSUPP : ib_check_mr_access(ib, access & ~flush);
	if (ret)
		univ_explain(hdr, ret, UNIV_REASON_ACCESS_FLAGS, 0, access,
			     lacks);
	return ret;
}

/* Is it the region of all addresses of the process? */
static bool mr_is_implicit(const struct ib_device *ib,
			   const struct univ_mr_range *range, u32 access)
{
	return access & IB_ACCESS_ON_DEMAND && !range->addr && !range->iova &&
	       range->length == U64_MAX &&
	       ib->attrs.odp_caps.general_caps & IB_ODP_SUPPORT_IMPLICIT;
}

/*
 * Devices that pin by ib_umem_get(), mlx5 and rdma_rxe among them, take a range
 * of no bytes that begins within a page, and pin this page. No byte of such a
 * region can be accessed. At the beginning of a page there is no page to pin.
 */
static bool mr_is_empty(const struct univ_mr_range *range, u32 access)
{
	return !range->length && range->addr & ~PAGE_MASK &&
	       !(access & IB_ACCESS_ON_DEMAND);
}

static int mr_check_place(struct ib_device *ib, struct univ_hdr *hdr,
			  const struct univ_mr_range *range)
{
	u64 end;

	/* The end is rounded up to a page, so the sum must stay below 2^64. */
	if (check_add_overflow(range->addr, range->length, &end) ||
	    PAGE_ALIGN(end) < end ||
	    check_add_overflow(range->iova, range->length, &end))
		return univ_explain(hdr, -EINVAL, UNIV_REASON_ADDRESS_WRAP, 0,
				    range->addr, range->length);
	if (range->length > ib->attrs.max_mr_size)
		return univ_explain_limit(hdr, UNIV_LIMIT_MR_LENGTH,
					  range->length, ib->attrs.max_mr_size);
	/*
	 * Whole pages are mapped, so both addresses must have the same offset
	 * in a page.
	 */
	if ((range->addr ^ range->iova) & ~PAGE_MASK)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_ADDRESS, 0,
				    range->iova, range->length);
	return 0;
}

/* The access flags were checked. */
int univ_mr_check_range(struct ib_device *ib, struct univ_hdr *hdr,
			const struct univ_mr_range *range, u32 access)
{
	if (mr_is_implicit(ib, range, access))
		return access & IB_ACCESS_HUGETLB ?
			       univ_explain(hdr, -EINVAL,
					    UNIV_REASON_ACCESS_FLAGS, 0, access,
					    0) : 0;
	if (!range->length)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_ZERO,
				    UNIV_LIMIT_MR_LENGTH, 0, 0);
	return mr_check_place(ib, hdr, range);
}

/*
 * ENOMEM means RLIMIT_MEMLOCK unless the process has room left. A process with
 * a limit of 0 gets EPERM.
 */
static int mr_explain_memory(struct univ_hdr *hdr,
			     const struct univ_mr_range *range, int err)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK);
	u64 pinned = (u64)atomic64_read(&current->mm->pinned_vm) << PAGE_SHIFT;
	u64 asked = PAGE_ALIGN(range->addr + range->length) -
		    (range->addr & PAGE_MASK);
	u64 left = limit > pinned ? round_down(limit - pinned, PAGE_SIZE) : 0;

	if (asked > left && limit != RLIM_INFINITY && !capable(CAP_IPC_LOCK))
		return univ_explain(hdr, err, UNIV_REASON_MEMLOCK, 0, asked,
				    left);
	return univ_explain(hdr, err, UNIV_REASON_NO_MEMORY, 0, asked, 0);
}

/* The reason why @range could not be pinned. */
int univ_mr_explain(struct univ_hdr *hdr, const struct univ_mr_range *range,
		    int err)
{
	if (err == -ENOMEM || (err == -EPERM && !can_do_mlock()))
		return mr_explain_memory(hdr, range, err);
	if (err == -EFAULT)
		return univ_explain(hdr, err, UNIV_REASON_ADDRESS, 0,
				    range->addr, range->length);
	return univ_explain_driver(hdr, err);
}

/*
 * Drops IB_ACCESS_MW_BIND if univerbs offers no windows on the device. Only a
 * process of another stack could then bind a window to the region, and rdma_rxe
 * of some kernels (6.1 and 7.2, not 6.12) lets it do so from another domain.
 */
u32 univ_mr_access(const struct univ_device *dev, u32 access)
{
	return univ_mw_offered(dev) ? access : access & ~IB_ACCESS_MW_BIND;
}

/* The caller makes the device's region. */
struct univ_mr *univ_mr_new(struct univ_call *call, struct univ_hdr *hdr,
			    struct univ_pd *pd)
{
	struct univ_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!mr)
		return ERR_PTR(univ_explain_driver(hdr, -ENOMEM));
	mr->pd = pd;
	mutex_init(&mr->change);
	ret = univ_object_reserve(call->ctx, &mr->obj, UNIV_OBJECT_MR, hdr);
	if (!ret)
		return mr;
	kfree(mr);
	return ERR_PTR(ret);
}

/* The pages are charged to the caller, so this runs in the caller's context. */
static struct univ_mr *mr_create(struct univ_call *call,
				 struct univ_mr_reg *cmd, struct univ_pd *pd)
{
	struct univ_mr_range range = { cmd->addr, cmd->length, cmd->iova };
	struct univ_mr *mr;
	int ret;

	mr = univ_mr_new(call, &cmd->hdr, pd);
	if (IS_ERR(mr))
		return mr;
	mr->addr = cmd->addr;
	mr->access = univ_mr_access(call->ctx->dev, cmd->access);
	mr->ib = ib_reg_user_mr(pd->ib, cmd->addr, cmd->length, cmd->iova,
				mr->access);
	if (!IS_ERR(mr->ib))
		return mr;
	ret = PTR_ERR(mr->ib);
	/* Pages on demand are not charged to RLIMIT_MEMLOCK. */
	if (ret == -ENOMEM && cmd->access & IB_ACCESS_ON_DEMAND)
		univ_explain_driver(&cmd->hdr, ret);
	else
		ret = univ_mr_explain(&cmd->hdr, &range, ret);
	univ_object_release(&mr->obj);
	return ERR_PTR(ret);
}

int univ_mr_reg_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_reg *cmd = arg;
	struct univ_mr_range range = { cmd->addr, cmd->length, cmd->iova };
	struct univ_device *dev = call->ctx->dev;
	struct univ_dmah *dmah;
	struct univ_pd *pd;
	struct univ_mr *mr;
	int ret;

	ret = univ_mr_check_access(dev->ib, &cmd->hdr, cmd->access,
				   univ_odp_offered(dev));
	if (!ret)
		ret = mr_is_empty(&range, cmd->access) ?
			      mr_check_place(dev->ib, &cmd->hdr, &range) :
			      univ_mr_check_range(dev->ib, &cmd->hdr, &range,
						  cmd->access);
	if (!ret && cmd->dmah)
		ret = univ_dmah_check_access(&cmd->hdr, cmd->access);
	if (ret)
		return ret;
	pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	dmah = univ_dmah_get(call->ctx, cmd->dmah, &cmd->hdr);
	if (IS_ERR(dmah)) {
		ret = PTR_ERR(dmah);
		goto put;
	}
	mr = mr_create(call, cmd, pd);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto put_dmah;
	}
	cmd->handle = mr->obj.handle;
	cmd->lkey = mr->ib->lkey;
	cmd->rkey = mr->ib->rkey;
	univ_object_depend(&pd->obj);
	univ_mr_use_dmah(mr, dmah);
	ret = univ_object_announce(call, &mr->obj, univ_mr_destroy);
put_dmah:
	univ_dmah_put(dmah);
put:
	univ_object_put(&pd->obj);
	return ret;
}

static void mr_track(struct ib_mr *ib, const char *name)
{
	rdma_restrack_new(&ib->res, RDMA_RESTRACK_MR);
	rdma_restrack_set_name(&ib->res, name);
	rdma_restrack_add(&ib->res);
}

/*
 * The driver has made @ib by an operation that is not one of kernel verbs, so
 * the members that ib_reg_user_mr() sets are set here.
 */
void univ_mr_adopt(struct univ_mr *mr, struct ib_mr *ib)
{
	struct ib_pd *pd = mr->pd->ib;

	ib->device = pd->device;
	ib->pd = pd;
	ib->type = IB_MR_TYPE_USER;
	atomic_inc(&pd->usecnt);
	mr_track(ib, mr->obj.ctx->name);
	mr->ib = ib;
}

/*
 * Creates a region of the core's own memory, or a null region if @memory is
 * NULL. The caller announces the region.
 */
struct univ_mr *univ_mr_of_memory(struct univ_call *call, struct univ_hdr *hdr,
				  struct univ_pd *pd, void *memory, u64 length,
				  u32 access)
{
	struct univ_mr *mr = univ_mr_new(call, hdr, pd);
	struct ib_mr *ib;
	int ret;

	if (IS_ERR(mr))
		return mr;
	ib = call->ctx->dev->queue->mr_memory(pd->ib, memory, length, access);
	if (IS_ERR(ib)) {
		ret = univ_explain_driver(hdr, PTR_ERR(ib));
		univ_object_release(&mr->obj);
		return ERR_PTR(ret);
	}
	ib->length = length;
	univ_mr_adopt(mr, ib);
	mr->access = access;
	mr->kind = memory ? UNIV_MR_DM : UNIV_MR_NULL;
	return mr;
}

int univ_mr_null_alloc_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_null_alloc *cmd = arg;
	struct univ_pd *pd;
	struct univ_mr *mr;
	int ret;

	pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	if (!univ_dm_offered(call->ctx->dev)) {
		ret = univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
		goto put;
	}
	mr = univ_mr_of_memory(call, &cmd->hdr, pd, NULL, U64_MAX,
			       IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto put;
	}
	cmd->handle = mr->obj.handle;
	cmd->lkey = mr->ib->lkey;
	univ_object_depend(&pd->obj);
	ret = univ_object_announce(call, &mr->obj, univ_mr_destroy);
put:
	univ_object_put(&pd->obj);
	return ret;
}

/* Checks which changes make sense, and on which devices. */
static int mr_rereg_check(const struct univ_device *dev,
			  struct univ_mr_rereg *cmd)
{
	struct univ_mr_range range = { cmd->addr, cmd->length, cmd->iova };
	struct ib_device *ib = dev->ib;
	int ret = 0;

	if (!cmd->change || cmd->change & ~IB_MR_REREG_SUPPORTED)
		return univ_explain(&cmd->hdr,
				    cmd->change ? -EOPNOTSUPP : -EINVAL,
				    UNIV_REASON_FLAGS, 0, cmd->change,
				    IB_MR_REREG_SUPPORTED);
	if (cmd->change & IB_MR_REREG_ACCESS)
		ret = univ_mr_check_access(ib, &cmd->hdr, cmd->access,
					   univ_odp_offered(dev));
	if (!ret && cmd->change & IB_MR_REREG_TRANS)
		ret = univ_mr_check_range(ib, &cmd->hdr, &range, 0);
	if (ret)
		return ret;
	/*
	 * Kernel verbs have no such call, and the operation of a driver with a
	 * provider of its own expects that provider's user context.
	 */
	if (!ib->ops.rereg_user_mr || !univ_queue_ops(ib))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	return 0;
}

/*
 * @pd is the new domain, or NULL to keep the old one. Context: mr->change is
 * held.
 */
static int mr_rereg(struct univ_mr *mr, struct univ_mr_rereg *cmd,
		    struct univ_pd *pd)
{
	struct univ_mr_range range = { cmd->addr, cmd->length, cmd->iova };
	struct ib_mr *ib = mr->ib, *other;
	struct ib_pd *former = ib->pd;

	other = ib->device->ops.rereg_user_mr(ib, cmd->change, cmd->addr,
					      cmd->length, cmd->iova,
					      cmd->access,
					      pd ? pd->ib : former, NULL);
	/* The region stays the same object; see kernel/include/queue.h. */
	if (WARN_ON_ONCE(!IS_ERR_OR_NULL(other)))
		return univ_explain_driver(&cmd->hdr, -EIO);
	if (other)
		return univ_mr_explain(&cmd->hdr, &range, PTR_ERR(other));
	if (cmd->change & IB_MR_REREG_TRANS) {
		ib->iova = cmd->iova;
		ib->length = cmd->length;
		mr->addr = cmd->addr;
	}
	if (cmd->change & IB_MR_REREG_ACCESS)
		mr->access = cmd->access;
	if (pd) {
		atomic_inc(&pd->ib->usecnt);
		atomic_dec(&former->usecnt);
		ib->pd = pd->ib;
		univ_object_depend(&pd->obj);
		univ_object_undepend(&mr->pd->obj);
		mr->pd = pd;
	}
	cmd->access = mr->access;
	cmd->lkey = ib->lkey;
	cmd->rkey = ib->rkey;
	return 0;
}

static int mr_rereg_locked(struct univ_call *call, struct univ_mr *mr,
			   struct univ_mr_rereg *cmd)
{
	struct univ_pd *pd = NULL;
	int ret;

	if (cmd->change & IB_MR_REREG_PD) {
		pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
		if (IS_ERR(pd))
			return PTR_ERR(pd);
	}
	/*
	 * The lock is only tried, since a process can make pinning take
	 * arbitrarily long.
	 */
	if (mutex_trylock(&mr->change)) {
		ret = mr_rereg(mr, cmd, pd);
		mutex_unlock(&mr->change);
	} else {
		ret = univ_explain(&cmd->hdr, -EBUSY, UNIV_REASON_BUSY,
				   UNIV_OBJECT_MR, cmd->handle, 1);
	}
	if (pd)
		univ_object_put(&pd->obj);
	return ret;
}

/*
 * Gets a region whose range, access and domain do not change until
 * univ_mr_unlock(). The lock is only tried, since a process can make pinning
 * take arbitrarily long.
 */
struct univ_mr *univ_mr_lock(struct univ_context *ctx, u32 handle,
			     struct univ_hdr *hdr)
{
	struct univ_object *obj;
	struct univ_mr *mr;

	obj = univ_object_get(ctx, handle, UNIV_OBJECT_MR, hdr);
	if (IS_ERR(obj))
		return ERR_CAST(obj);
	mr = container_of(obj, struct univ_mr, obj);
	if (mutex_trylock(&mr->change))
		return mr;
	univ_object_put(obj);
	return ERR_PTR(univ_explain(hdr, -EBUSY, UNIV_REASON_BUSY,
				    UNIV_OBJECT_MR, handle, 1));
}

void univ_mr_unlock(struct univ_mr *mr)
{
	mutex_unlock(&mr->change);
	univ_object_put(&mr->obj);
}

/* If the copy-out fails the re-registration stands. The keys are unchanged. */
int univ_mr_rereg_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_rereg *cmd = arg;
	struct univ_object *obj;
	struct univ_mr *mr;
	int ret;

	obj = univ_object_get(call->ctx, cmd->handle, UNIV_OBJECT_MR,
			      &cmd->hdr);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	mr = container_of(obj, struct univ_mr, obj);
	ret = mr_rereg_check(call->ctx->dev, cmd);
	if (!ret && mr->kind != UNIV_MR_MEMORY)
		ret = univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (!ret && mr->dmah && cmd->change & IB_MR_REREG_ACCESS)
		ret = univ_dmah_check_access(&cmd->hdr, cmd->access);
	if (!ret)
		ret = mr_rereg_locked(call, mr, cmd);
	univ_object_put(obj);
	return ret;
}

static int advise_explain(struct univ_mr_advise *cmd, int err)
{
	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
	case -EINVAL:
	case -EPERM:
		return univ_explain(&cmd->hdr, err, UNIV_REASON_ADVICE_KEY, 0,
				    cmd->lkey, 0);
	case -ERANGE:
		/* See UNIV_QUEUE_ODP; programs expect this errno. */
		return univ_explain(&cmd->hdr, -EFAULT, UNIV_REASON_ADVICE_KEY,
				    0, cmd->lkey, 0);
	case -EFAULT:
		return univ_explain(&cmd->hdr, err, UNIV_REASON_PAGE_FAULT, 0,
				    cmd->addr, cmd->length);
	default:
		return univ_explain_driver(&cmd->hdr, err);
	}
}

static int mr_advise_check(struct univ_call *call, struct univ_mr_advise *cmd)
{
	u32 flush = IB_UVERBS_ADVISE_MR_FLAG_FLUSH;

	if (!univ_odp_offered(call->ctx->dev) ||
	    cmd->advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (cmd->flags & ~flush)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_FLAGS, 0,
				    cmd->flags, flush);
	if (cmd->length > U32_MAX)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_MR_LENGTH,
					  cmd->length, U32_MAX);
	return 0;
}

/*
 * With IBV_ADVISE_MR_FLAG_FLUSH it waits for page faults under the live lock,
 * as a registration does; see Documentation/architecture.rst.
 */
int univ_mr_advise_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_advise *cmd = arg;
	struct ib_sge sge = {
		.addr = cmd->addr,
		.length = cmd->length,
		.lkey = cmd->lkey,
	};
	struct univ_pd *pd;
	int ret = mr_advise_check(call, cmd);

	if (ret)
		return ret;
	pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = advise_explain(cmd, ib_advise_mr(pd->ib, cmd->advice, cmd->flags,
					       &sge, 1));
	univ_object_put(&pd->obj);
	return ret;
}

int univ_mr_destroy(struct univ_object *obj)
{
	struct univ_mr *mr = container_of(obj, struct univ_mr, obj);
	int ret = ib_dereg_mr_user(mr->ib, NULL);

	if (!ret) {
		univ_object_undepend(&mr->pd->obj);
		if (mr->dm)
			univ_object_undepend(&mr->dm->obj);
		if (mr->dmah)
			univ_object_undepend(&mr->dmah->obj);
		return 0;
	}
	/* The kernel removes it from its dumps even in this case. */
	mr_track(mr->ib, obj->ctx->name);
	return ret;
}

int univ_mr_dereg_ioctl(struct univ_call *call, void *arg)
{
	struct univ_destroy *cmd = arg;
	int ret = univ_object_destroy(call, cmd, UNIV_OBJECT_MR,
				      univ_mr_destroy);

	/* Only the device knows which windows are bound to the region. */
	if (ret == -EBUSY && cmd->hdr.reason == UNIV_REASON_DEVICE_REFUSED)
		return univ_explain(&cmd->hdr, ret, UNIV_REASON_BUSY,
				    UNIV_OBJECT_MR, cmd->handle, 0);
	return ret;
}
