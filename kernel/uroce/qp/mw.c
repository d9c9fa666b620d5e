// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows: a part of a region, under a key of its own, for peers.
 * Requests in a send queue bind and unbind them. They share the index space of
 * keys with regions.
 *
 * Type 1 serves every queue pair of its domain. Type 2 is type 2B of the
 * specification: it serves the queue pair that bound it, and ends with that
 * queue pair.
 *
 * A region counts its windows and can be neither deregistered nor changed while
 * it has any (ibv_dereg_mr(3) fails), so a window never outlives its memory.
 *
 * Locks: a copy through a window holds its lock for reading. Once a bind or an
 * invalidation has completed, no copy uses the former key any more. For the
 * order of locks see qp.h.
 */
#include <linux/slab.h>

#include "mw.h"

/*
 * Flags that a bind request may contain. Flags that concern only the owner of a
 * region, or bus ordering, have no meaning in a window; programs set them as
 * for regions, and mlx5 and rdma_rxe accept them.
 */
#define MW_ACCESS (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
		   IB_ACCESS_REMOTE_ATOMIC | IB_ZERO_BASED | \
		   IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND | \
		   IB_ACCESS_OPTIONAL)
#define MW_CHANGES (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct uroce_mw - a memory window
 * @rcu: freed after a grace period, since a look-up may still use it
 * @bound: in uroce_qp.windows, under uroce_dev.bound_lock, while @qp is set
 * @dev: device
 * @pd: protection domain
 * @type: type of the window
 * @lock: protects the fields below
 * @gone: deallocated; stays unbound
 * @rkey: index << 8 | low byte that the last bind request chose
 * @mr: region that the window is bound to, which counts it; NULL for none
 * @qp: type 2: the queue pair that bound it, the only one that may use it
 * @addr: address of the first byte, as requests name it
 * @length: in bytes
 * @base: offset of the first byte from the start of @mr
 * @access: rights of peers
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

/* Context: bottom halves off, which keep the result from being freed. */
static struct uroce_mw *mw_find(struct uroce_dev *dev, u32 key)
{
	return xa_load(&dev->mws, key >> 8);
}

/* ---- bind and unbind ----------------------------------------------------- */

/*
 * Counts a window that is about to be bound to the region, which contains its
 * first byte. Returns 0, or the reason why the window may not be bound.
 */
static u16 region_take(struct uroce_mr *mr, const struct univ_send_wr *wr)
{
	u32 access = wr->bind.access;

	if (wr->bind.length > READ_ONCE(mr->length) -
			      (wr->remote_addr - mr->iova))
		return UNIV_REASON_KEY_RANGE;
	if (access & ~MW_ACCESS)
		return UNIV_REASON_FLAGS;
	if (access & MW_CHANGES && !(mr->access & IB_ACCESS_LOCAL_WRITE))
		return UNIV_REASON_KEY_ACCESS;
	/* Not a process's region, or one that is being deregistered. */
	if ((!mr->umem && !mr->odp && !mr->dmabuf) ||
	    !atomic_inc_unless_negative(&mr->windows))
		return UNIV_REASON_KEY_UNKNOWN;
	return 0;
}

/*
 * Returns the region that a window is to be bound to, with the window counted;
 * or NULL, with the cause in @reason.
 */
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
	/*
	 * A deregistration that finds no window may free the region: pairs with
	 * uroce_mr_close().
	 */
	smp_mb__before_atomic();
	atomic_dec(&mr->windows);
}

/* Returns the former region, for region_put(). */
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
 * Returns the reason why the window may not be bound, or 0. A window of type 2
 * must be invalidated before it is bound again, and cannot be unbound by a bind
 * of length 0. It serves only the peer of the queue pair that bound it, and an
 * XRC initiator serves none.
 */
static u16 window_check(const struct uroce_mw *mw, const struct uroce_qp *qp,
			const struct uroce_mr *mr, u32 access)
{
	if (mw->gone)
		return UNIV_REASON_KEY_UNKNOWN;
	if (mw->type == IB_MW_TYPE_1)
		return access & IB_ZERO_BASED ? UNIV_REASON_MW_TYPE : 0;
	if (!mr || qp->type == IB_QPT_XRC_INI)
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
 * Executes a BIND_MW request, whose fields are untrusted; @reason says why it
 * is refused. Context: the send queue's lock.
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
	*reason = window_check(mw, qp, mr, wr->bind.access);
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

/*
 * Invalidates the key of a region or a window. Otherwise see
 * uroce_mr_invalidate().
 */
int uroce_invalidate(struct uroce_qp *qp, u32 key)
{
	int ret = uroce_mr_invalidate(qp->resp.pd, key);

	return ret == -EINVAL ? mw_invalidate(qp, key) : ret;
}

/* ---- access -------------------------------------------------------------- */

static bool allows(const struct uroce_mw *mw, const struct uroce_qp *qp,
		   u32 key, u64 addr, u32 len, u32 access)
{
	u64 from = addr - mw->addr;

	return mw->mr && mw->rkey == key && mw->pd == qp->resp.pd &&
	       (!mw->qp || mw->qp == qp) && !(access & ~mw->access) &&
	       from <= mw->length && len <= mw->length - from;
}

/*
 * Resolves the key of a window for a peer of @qp. If access is granted, the
 * window's lock is held for reading. Context: bottom halves off.
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
	/* The caller releases the lock; sparse cannot follow the condition. */
	__release(&mw->lock);
	return true;
}

void uroce_mw_put(struct uroce_mw *mw)
{
	/* Acquired in uroce_mw_get(). */
	__acquire(&mw->lock);
	read_unlock(&mw->lock);
}

/* ---- allocation and release ---------------------------------------------- */

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

/* The window is marked as gone, so its key does not change any more. */
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
	struct uroce_mw *mw;
	int ret;

	ret = uroce_fault_verb(to_udev(ib->device), UROCE_VERB_ALLOC_MW);
	if (ret)
		return ret;
	mw = kzalloc(sizeof(*mw), GFP_KERNEL_ACCOUNT);
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

/*
 * A look-up that found the window earlier sees @gone; the memory is freed after
 * a grace period.
 */
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

/* See struct univ_queue_ops. A bound region cannot be deregistered. */
void uroce_mw_query(struct ib_mw *ib, struct univ_queue_window *window)
{
	struct uroce_mw *mw = container_of(ib, struct uroce_ibmw, ib)->mw;

	read_lock_bh(&mw->lock);
	window->rkey = mw->rkey;
	window->bound = mw->mr;
	if (mw->mr) {
		window->lkey = mw->mr->ib.lkey;
		window->access = mw->access;
		window->qp_num = mw->qp ? mw->qp->num : 0;
		window->addr = mw->addr;
		window->length = mw->length;
		window->offset = mw->base;
	}
	read_unlock_bh(&mw->lock);
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

/*
 * The queue pair is being destroyed and is idle. Unbinds the windows that it
 * had bound.
 */
void uroce_mw_qp_gone(struct uroce_qp *qp)
{
	struct uroce_mw *mw;

	do {
		/* RCU keeps a window that is deallocated meanwhile. */
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
