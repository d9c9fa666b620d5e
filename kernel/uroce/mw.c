// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: part of a region, under a key of its own, for peers. They are
 * bound and unbound by requests in a send queue and found by the index in their
 * keys, which they share with regions.
 *
 * Type 1 serves every queue pair of its domain; type 2 is what the specification
 * calls 2B: it serves the queue pair that bound it and ends with that.
 *
 * A region counts what is bound to it, and is neither deregistered nor altered
 * meanwhile: ibv_dereg_mr(3) fails then, and so a window never outlives its memory.
 *
 * Locks: whoever copies through a window holds its lock for reading; so once a bind
 * or an invalidation has completed, nobody copies by the former key any more. What
 * comes below it is in uroce.h.
 */
#include <linux/slab.h>

#include "uroce.h"

/*
 * Flags that a bind may ask for. A flag that concerns a region's owner alone, or how a
 * bus orders, means nothing in a window; programs set it as they do for regions, and
 * mlx5 and rdma_rxe take it.
 */
#define MW_ACCESS (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
		   IB_ACCESS_REMOTE_ATOMIC | IB_ZERO_BASED | \
		   IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND | \
		   IB_ACCESS_OPTIONAL)
#define MW_CHANGES (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct uroce_mw - a memory window
 * @rcu: who looked it up may still look at it
 * @bound: in uroce_qp.windows, under uroce_dev.bound_lock; while @qp is not NULL
 * @dev: device
 * @pd: domain
 * @type: of window
 * @lock: all that follows
 * @gone: deallocated; stays unbound
 * @rkey: index << 8 | what the latest request to bind it chose
 * @mr: bound to this, which counts it; NULL for none
 * @qp: type 2: bound by this, and for no other
 * @addr: of the first byte, in requests
 * @length: bytes
 * @base: of the first byte, from the start of @mr
 * @access: what peers may do
 */
struct uroce_mw {
	struct rcu_head rcu;
	struct list_head bound;
	struct uroce_dev *dev;
	struct ib_pd *pd;
	enum ib_mw_type type;
	rwlock_t lock;
	bool gone;
	u32 rkey;
	struct uroce_mr *mr;
	struct uroce_qp *qp;
	u64 addr;
	u64 length;
	u64 base;
	u32 access;
};

/* Context: bottom halves off, which keep what was found */
static struct uroce_mw *mw_find(struct uroce_dev *dev, u32 key)
{
	return xa_load(&dev->mws, key >> 8);
}

/* ---- bound and unbound -------------------------------------------------------- */

/*
 * Count a window that is to be bound to the region, which has its first byte; or say
 * why it may not be.
 */
static u16 region_take(struct uroce_mr *mr, const struct univ_send_wr *wr)
{
	u32 access = wr->bind.access;

	if (wr->bind.length > mr->length - (wr->remote_addr - mr->iova))
		return UNIV_REASON_KEY_RANGE;
	if (access & ~MW_ACCESS)
		return UNIV_REASON_FLAGS;
	if (access & MW_CHANGES && !(mr->access & IB_ACCESS_LOCAL_WRITE))
		return UNIV_REASON_KEY_ACCESS;
	/* No region of a process, or one that goes */
	if (!mr->umem || !atomic_inc_unless_negative(&mr->windows))
		return UNIV_REASON_KEY_UNKNOWN;
	return 0;
}

/* The region that a window is to be bound to, counted; NULL, and @reason says why not */
static struct uroce_mr *region_get(struct uroce_qp *qp,
				   const struct univ_send_wr *wr, u16 *reason)
{
	struct ib_pd *pd = qp->ib->pd;
	struct uroce_mr *mr;

	mr = uroce_mr_get(pd, wr->bind.lkey, wr->remote_addr, 0,
			  IB_ACCESS_MW_BIND);
	if (!mr) {
		*reason = uroce_mr_why(pd, wr->bind.lkey, wr->remote_addr, 0,
				       IB_ACCESS_MW_BIND);
		return NULL;
	}
	*reason = region_take(mr, wr);
	uroce_mr_put(mr);
	return *reason ? NULL : mr;
}

static void region_put(struct uroce_mr *mr)
{
	if (!mr)
		return;
	/* Whoever finds none may free it: pairs with mr_close() */
	smp_mb__before_atomic();
	atomic_dec(&mr->windows);
}

/* Returns the region that it was bound to, for region_put() */
static struct uroce_mr *unbind(struct uroce_mw *mw)
{
	struct uroce_mr *mr = mw->mr;

	mw->mr = NULL;
	if (mw->qp) {
		spin_lock(&mw->dev->bound_lock);
		list_del(&mw->bound);
		spin_unlock(&mw->dev->bound_lock);
		mw->qp = NULL;
	}
	return mr;
}

/*
 * Why the window may not be bound, or 0. Type 2 is invalidated before it is bound
 * again, and not by binding it to nothing.
 */
static u16 window_check(const struct uroce_mw *mw, const struct uroce_mr *mr,
			u32 access)
{
	if (mw->gone)
		return UNIV_REASON_KEY_UNKNOWN;
	if (mw->type == IB_MW_TYPE_1)
		return access & IB_ZERO_BASED ? UNIV_REASON_MW_TYPE : 0;
	if (!mr)
		return UNIV_REASON_MW_TYPE;
	return mw->mr ? UNIV_REASON_BUSY : 0;
}

static void bind(struct uroce_mw *mw, struct uroce_qp *qp, struct uroce_mr *mr,
		 const struct univ_send_wr *wr)
{
	mw->rkey = wr->rkey;
	mw->mr = mr;
	if (!mr)
		return;
	mw->addr = wr->bind.access & IB_ZERO_BASED ? 0 : wr->remote_addr;
	mw->base = wr->remote_addr - mr->iova;
	mw->length = wr->bind.length;
	mw->access = wr->bind.access;
	if (mw->type == IB_MW_TYPE_1)
		return;
	mw->qp = qp;
	spin_lock(&mw->dev->bound_lock);
	list_add(&mw->bound, &qp->windows);
	spin_unlock(&mw->dev->bound_lock);
}

/*
 * A BIND_MW request, of which all is hostile; @reason says why it is refused.
 * Context: the send queue's lock.
 */
enum ib_wc_status uroce_mw_bind(struct uroce_qp *qp,
				const struct univ_send_wr *wr, u16 *reason)
{
	struct uroce_mw *mw = mw_find(qp->dev, wr->rkey);
	struct uroce_mr *mr = NULL, *former;

	*reason = UNIV_REASON_KEY_UNKNOWN;
	if (!mw || mw->pd != qp->ib->pd)
		return IB_WC_MW_BIND_ERR;
	if (wr->bind.length) {
		mr = region_get(qp, wr, reason);
		if (!mr)
			return IB_WC_MW_BIND_ERR;
	}
	write_lock(&mw->lock);
	former = mr;
	*reason = window_check(mw, mr, wr->bind.access);
	if (!*reason) {
		former = unbind(mw);
		bind(mw, qp, mr, wr);
	}
	write_unlock(&mw->lock);
	region_put(former);
	return *reason ? IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
}

static int mw_invalidate(struct uroce_qp *qp, u32 key)
{
	struct uroce_mw *mw = mw_find(qp->dev, key);
	struct uroce_mr *former = NULL;
	int ret = -EINVAL;

	if (!mw || mw->pd != qp->resp.pd || mw->type != IB_MW_TYPE_2)
		return ret;
	write_lock(&mw->lock);
	if (!mw->gone && mw->rkey == key && (!mw->qp || mw->qp == qp)) {
		former = unbind(mw);
		ret = 0;
	}
	write_unlock(&mw->lock);
	region_put(former);
	return ret;
}

/* A key of a region or a window is taken back; otherwise as uroce_mr_invalidate() */
int uroce_invalidate(struct uroce_qp *qp, u32 key)
{
	int ret = uroce_mr_invalidate(qp->resp.pd, key);

	return ret == -EINVAL ? mw_invalidate(qp, key) : ret;
}

/* ---- used --------------------------------------------------------------------- */

static bool allows(const struct uroce_mw *mw, const struct uroce_qp *qp,
		   u32 key, u64 addr, u32 len, u32 access)
{
	u64 from = addr - mw->addr;

	return mw->mr && mw->rkey == key && mw->pd == qp->resp.pd &&
	       (!mw->qp || mw->qp == qp) && !(access & ~mw->access) &&
	       from <= mw->length && len <= mw->length - from;
}

/*
 * What a peer of @qp reaches by the key of a window, if it may; the window's lock is
 * held for reading then. Context: bottom halves off.
 */
bool uroce_mw_get(struct uroce_qp *qp, struct uroce_seg *seg, u32 key, u64 addr,
		  u32 len, u32 access)
{
	struct uroce_mw *mw = mw_find(qp->dev, key);

	if (!mw)
		return false;
	read_lock(&mw->lock);
	if (!allows(mw, qp, key, addr, len, access)) {
		read_unlock(&mw->lock);
		return false;
	}
	seg->mw = mw;
	seg->mr = mw->mr;
	seg->base = mw->base + (addr - mw->addr);
	seg->len = len;
	/* The caller's now, which sparse does not follow through a condition */
	__release(&mw->lock);
	return true;
}

void uroce_mw_put(struct uroce_mw *mw)
{
	/* From uroce_mw_get() */
	__acquire(&mw->lock);
	read_unlock(&mw->lock);
}

/* ---- made and unmade ---------------------------------------------------------- */

static int mw_publish(struct uroce_mw *mw)
{
	struct uroce_dev *dev = mw->dev;
	int ret;

	mutex_lock(&dev->mrs_lock);
	ret = uroce_key_alloc(dev, mw, &mw->rkey);
	if (ret)
		goto unlock;
	ret = xa_err(xa_store(&dev->mws, mw->rkey >> 8, mw, GFP_KERNEL));
	if (ret)
		uroce_key_free(dev, mw->rkey);
unlock:
	mutex_unlock(&dev->mrs_lock);
	return ret;
}

/* The window is gone, so its key does not change any more */
static void mw_unpublish(struct uroce_mw *mw)
{
	struct uroce_dev *dev = mw->dev;

	mutex_lock(&dev->mrs_lock);
	xa_erase(&dev->mws, mw->rkey >> 8);
	uroce_key_free(dev, mw->rkey);
	mutex_unlock(&dev->mrs_lock);
}

int uroce_mw_alloc(struct ib_mw *ib, struct ib_udata *udata)
{
	struct uroce_mw *mw = kzalloc(sizeof(*mw), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!mw)
		return -ENOMEM;
	mw->dev = to_udev(ib->device);
	mw->pd = ib->pd;
	mw->type = ib->type;
	rwlock_init(&mw->lock);
	ret = mw_publish(mw);
	if (ret) {
		kfree(mw);
		return ret;
	}
	ib->rkey = mw->rkey;
	container_of(ib, struct uroce_ibmw, ib)->mw = mw;
	return 0;
}

/* The memory goes later: who looked it up before sees that it is gone */
int uroce_mw_dealloc(struct ib_mw *ib)
{
	struct uroce_mw *mw = container_of(ib, struct uroce_ibmw, ib)->mw;
	struct uroce_mr *former;

	write_lock_bh(&mw->lock);
	mw->gone = true;
	former = unbind(mw);
	write_unlock_bh(&mw->lock);
	region_put(former);
	mw_unpublish(mw);
	kfree_rcu(mw, rcu);
	return 0;
}

static void orphan(struct uroce_mw *mw, const struct uroce_qp *qp)
{
	struct uroce_mr *former = NULL;

	write_lock_bh(&mw->lock);
	if (mw->qp == qp)
		former = unbind(mw);
	write_unlock_bh(&mw->lock);
	region_put(former);
}

/* The queue pair ends, and nothing runs in it: so do windows that it had bound */
void uroce_mw_qp_gone(struct uroce_qp *qp)
{
	struct uroce_mw *mw;

	do {
		/* One that is deallocated meanwhile stays until we have looked */
		rcu_read_lock();
		spin_lock_bh(&qp->dev->bound_lock);
		mw = list_first_entry_or_null(&qp->windows, struct uroce_mw,
					      bound);
		spin_unlock_bh(&qp->dev->bound_lock);
		if (mw)
			orphan(mw, qp);
		rcu_read_unlock();
	} while (mw);
}
