// SPDX-License-Identifier: GPL-2.0
/* Regions that are registered again: ibv_rereg_mr(3). */
#include <linux/err.h>
#include <linux/sched.h>

#include "../dev/dev.h"
#include "pin.h"
#include "region.h"

#define PAGING (IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB)

/*
 * Afterwards no look-up finds the region and no copy uses it. The grace period
 * is for readers that looked at the region while it could be used but have not
 * taken a reference yet.
 */
static void mr_pause(struct uroce_mr *mr)
{
	WRITE_ONCE(mr->valid, false);
	WRITE_ONCE(mr->pageable, false);
	synchronize_rcu();
	uroce_mr_put(mr);
	wait_for_completion(&mr->idle);
}

/* Releases: pair with the acquires in uroce_mr_hold() and mr_hold_odp(). */
static void mr_resume(struct uroce_mr *mr)
{
	reinit_completion(&mr->idle);
	refcount_set(&mr->ref, 1);
	if (mr->odp)
		smp_store_release(&mr->pageable, true);
	else
		smp_store_release(&mr->valid, true);
}

static void mr_swap_memory(struct uroce_mr *mr, struct uroce_mr *other)
{
	swap(mr->pin, other->pin);
	swap(mr->umem, other->umem);
	swap(mr->odp, other->odp);
	swap(mr->kind, other->kind);
	swap(mr->pages, other->pages);
	swap(mr->npages, other->npages);
	swap(mr->room, other->room);
	swap(mr->start, other->start);
	swap(mr->mm, other->mm);
	swap(mr->iova, other->iova);
	swap(mr->length, other->length);
	swap(mr->offset, other->offset);
}

/*
 * Can the region have @access without other memory? Pages that were pinned for
 * reading only, or are faulted in for reading only, must not be written.
 */
static bool mr_keeps_memory(const struct uroce_mr *mr, u32 access)
{
	if ((access ^ mr->access) & PAGING)
		return false;
	return !ib_access_writable(access) ||
	       (mr->pin ? mr->pin->writable :
			  ib_access_writable(mr->access));
}

/*
 * Makes the new memory, if any. If the range does not change, only the process
 * that registered the region can pin it again. An implicit region stays
 * on-demand.
 */
static int mr_renew(const struct uroce_mr *mr, struct uroce_mr *other,
		    int flags, u64 start, u64 length, u64 iova)
{
	if (flags & IB_MR_REREG_TRANS)
		return uroce_mr_fill(other, start, length, iova);
	if (mr_keeps_memory(mr, other->access))
		return 0;
	if (mr->mm != current->mm)
		return -EOPNOTSUPP;
	if (mr->length > mr->ib.device->attrs.max_mr_size &&
	    (other->access & PAGING) != IB_ACCESS_ON_DEMAND)
		return -EOPNOTSUPP;
	return uroce_mr_fill(other, mr->start, mr->length, mr->iova);
}

/*
 * Changes the range, access or domain; the keys stay. All steps that can fail
 * come first, so the region is either changed or left as it was. Context: one
 * caller at a time.
 */
struct ib_mr *uroce_mr_rereg(struct ib_mr *ib, int flags, u64 start, u64 length,
			     u64 iova, int access, struct ib_pd *pd,
			     struct ib_udata *udata)
{
	struct uroce_mr *mr = to_umr(ib), *other;
	int ret;

	ret = uroce_fault_verb(to_udev(ib->device), UROCE_VERB_REREG_MR);
	if (ret)
		return ERR_PTR(ret);
	other = uroce_mr_new(pd,
			     flags & IB_MR_REREG_ACCESS ? access : mr->access);
	if (!other)
		return ERR_PTR(-ENOMEM);
	ret = mr_renew(mr, other, flags, start, length, iova);
	if (!ret && !uroce_mr_close(mr))
		ret = -EBUSY;
	if (ret) {
		uroce_mr_free(other);
		return ERR_PTR(ret);
	}
	mr_pause(mr);
	if (other->umem || other->odp)
		mr_swap_memory(mr, other);
	mr->access = other->access;
	ib->pd = pd;
	mr_resume(mr);
	atomic_set(&mr->windows, 0);
	uroce_mr_free(other);
	return NULL;
}
