// SPDX-License-Identifier: GPL-2.0
/* Memory regions: keys and pinned pages. */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "../dev/dev.h"
#include "queue.h"
#include "dmabuf.h"
#include "pin.h"
#include "region.h"

struct uroce_mr *uroce_mr_new(struct ib_pd *pd, int access)
{
	struct uroce_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (!mr)
		return NULL;
	mr->ib.pd = pd;
	mr->ib.device = pd->device;
	mr->access = access;
	refcount_set(&mr->ref, 1);
	init_completion(&mr->idle);
	return mr;
}

static u8 *table_variants(struct uroce_mr_table *table)
{
	return (u8 *)&table->slot[table->size];
}

/*
 * Makes room for a region of this index. Look-ups continue in the old table
 * meanwhile. The table is charged to no process: it belongs to the device and
 * outlives the process whose region made it grow. The number of regions bounds
 * its size.
 */
static int table_grow(struct uroce_dev *dev, u32 index)
{
	struct uroce_mr_table *old, *new;
	u32 size;

	old = rcu_dereference_protected(dev->table,
					lockdep_is_held(&dev->mrs_lock));
	if (old && index < old->size)
		return 0;
	size = max_t(u32, 64, roundup_pow_of_two(index + 1));
	new = kvzalloc(struct_size(new, slot, size) + size, GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->size = size;
	/* The first key of an index must not be predictable. */
	get_random_bytes(table_variants(new), size);
	if (old) {
		memcpy(new->slot, old->slot,
		       flex_array_size(old, slot, old->size));
		memcpy(table_variants(new), table_variants(old), old->size);
	}
	rcu_assign_pointer(dev->table, new);
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

static void table_set(struct uroce_dev *dev, u32 index, struct uroce_mr *mr)
{
	struct uroce_mr_table *table;

	table = rcu_dereference_protected(dev->table,
					  lockdep_is_held(&dev->mrs_lock));
	rcu_assign_pointer(table->slot[index], mr);
}

/* The device is freed, and has no regions any more. */
void uroce_mr_exit(struct uroce_dev *dev)
{
	kvfree(rcu_dereference_protected(dev->table, true));
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->mws);
}

static u8 *key_variant(struct uroce_dev *dev, u32 index)
{
	struct uroce_mr_table *table;

	table = rcu_dereference_protected(dev->table,
					  lockdep_is_held(&dev->mrs_lock));
	return &table_variants(table)[index];
}

/*
 * Allocates a key of a region or a window. The lowest free index may have been
 * freed just now, and a peer may still use its old key. So the low byte
 * continues from the latest key of the index, and a key repeats after 256
 * allocations at the earliest.
 */
int uroce_key_alloc(struct uroce_dev *dev, void *owner, u32 *key)
{
	u32 index;
	int ret;

	lockdep_assert_held(&dev->mrs_lock);
	ret = xa_alloc(&dev->mrs, &index, owner, XA_LIMIT(1, 0xffffff),
		       GFP_KERNEL);
	if (ret)
		return ret == -EBUSY ? -ENOMEM : ret;
	ret = table_grow(dev, index);
	if (ret) {
		xa_erase(&dev->mrs, index);
		return ret;
	}
	*key = index << 8 | ++*key_variant(dev, index);
	return 0;
}

/*
 * @key is the latest key: requests may have changed its low byte since it was
 * allocated.
 */
void uroce_key_free(struct uroce_dev *dev, u32 key)
{
	lockdep_assert_held(&dev->mrs_lock);
	*key_variant(dev, key >> 8) = key;
	xa_erase(&dev->mrs, key >> 8);
}

static int mr_publish(struct uroce_mr *mr, bool valid)
{
	struct uroce_dev *dev = to_udev(mr->ib.device);
	int ret;

	mutex_lock(&dev->mrs_lock);
	ret = uroce_key_alloc(dev, mr, &mr->key);
	if (ret)
		goto unlock;
	mr->ib.lkey = mr->key;
	mr->ib.rkey = mr->key;
	mr->valid = valid;
	mr->pageable = mr->odp;
	table_set(dev, mr->key >> 8, mr);
	trace_uroce_mr_create(&mr->ib, mr->iova, mr->length);
unlock:
	mutex_unlock(&dev->mrs_lock);
	return ret;
}

static void mr_unpublish(struct uroce_mr *mr)
{
	struct uroce_dev *dev = to_udev(mr->ib.device);

	mutex_lock(&dev->mrs_lock);
	table_set(dev, mr->key >> 8, NULL);
	uroce_key_free(dev, mr->key);
	mutex_unlock(&dev->mrs_lock);
}

void uroce_mr_free(struct uroce_mr *mr)
{
	if (mr->odp)
		uroce_odp_end(mr->odp);
	uroce_pin_put(mr);
	if (mr->dmabuf)
		uroce_dmabuf_close(mr->dmabuf);
	kvfree(mr->pages);
	kfree_rcu(mr, rcu);
}

/*
 * The first step of a registration by a process. The others fill in the memory,
 * and call uroce_mr_finish() with their result.
 */
struct uroce_mr *uroce_mr_begin(struct ib_pd *pd, int access)
{
	int ret = uroce_fault_verb(to_udev(pd->device), UROCE_VERB_REG_MR);

	if (ret)
		return ERR_PTR(ret);
	return uroce_mr_new(pd, access) ?: ERR_PTR(-ENOMEM);
}

/* The last step: publishes the region, or frees it if a step failed. */
struct ib_mr *uroce_mr_finish(struct uroce_mr *mr, int err, bool valid)
{
	if (!err)
		err = mr_publish(mr, valid);
	if (!err)
		return &mr->ib;
	uroce_mr_free(mr);
	return ERR_PTR(err);
}

void uroce_mr_set_range(struct uroce_mr *mr, u64 length, u64 iova)
{
	mr->iova = iova;
	mr->ib.iova = iova;
	mr->length = length;
	mr->ib.length = length;
}

static int mr_pin(struct uroce_mr *mr, u64 start, u64 length, u64 iova)
{
	uroce_mr_set_range(mr, length, iova);
	return uroce_pin_region(mr, start, length);
}

/*
 * The pages of a process, on demand. An implicit region, of all addresses, has
 * the length U64_MAX.
 */
static int mr_page(struct uroce_mr *mr, u64 start, u64 length, u64 iova)
{
	struct uroce_odp *odp;

	if (!start && !iova && length == U64_MAX)
		length = TASK_SIZE;
	if (!access_ok((void __user *)(uintptr_t)start, length))
		return -EFAULT;
	odp = uroce_odp_create(mr->ib.device, start, mr->access);
	if (IS_ERR(odp))
		return PTR_ERR(odp);
	mr->odp = odp;
	mr->kind = UROCE_MR_ODP;
	uroce_mr_set_range(mr, length, iova);
	return 0;
}

/*
 * Makes the memory of a new region, whose access flags were set, out of the
 * caller's.
 */
int uroce_mr_fill(struct uroce_mr *mr, u64 start, u64 length, u64 iova)
{
	mr->start = start;
	mr->mm = current->mm;
	return mr->access & IB_ACCESS_ON_DEMAND ?
		       mr_page(mr, start, length, iova) :
		       mr_pin(mr, start, length, iova);
}

struct ib_mr *uroce_mr_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			   int access, UNIV_DMAH_ARG struct ib_udata *udata)
{
	struct uroce_mr *mr = uroce_mr_begin(pd, access);
	int ret;

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	ret = uroce_mr_fill(mr, start, length, iova);
	return uroce_mr_finish(mr, ret, !mr->odp);
}

/* See struct univ_queue_ops. */
struct ib_mr *uroce_mr_share(struct ib_pd *pd, struct ib_mr *of, u64 iova,
			     int access)
{
	struct uroce_mr *from = to_umr(of), *mr;

	if (!from->pin)
		return ERR_PTR(-EOPNOTSUPP);
	if (ib_access_writable(access) && !from->pin->writable)
		return ERR_PTR(-EACCES);
	mr = uroce_mr_begin(pd, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	uroce_mr_set_range(mr, from->length, iova);
	return uroce_mr_finish(mr, uroce_pin_share(mr, from), true);
}

/* All of the kernel's memory, for users in the kernel. */
struct ib_mr *uroce_mr_dma(struct ib_pd *pd, int access)
{
	struct uroce_mr *mr = uroce_mr_new(pd, access);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->kind = UROCE_MR_KERNEL;
	mr->length = U64_MAX;
	return uroce_mr_finish(mr, 0, true);
}

static void *block_at(const struct uroce_mr *mr, u64 off, u32 *len)
{
	u64 size = BIT_ULL(mr->shift);

	off += mr->offset;
	*len = min_t(u64, *len, size - (off & (size - 1)));
	return mr->pages[off >> mr->shift] + (off & (size - 1));
}

/* See uroce_mr_at(), for regions that do not consist of pages. */
void *uroce_mr_at_other(const struct uroce_mr *mr, u64 off, u32 *len,
			bool write)
{
	if (mr->kind == UROCE_MR_KERNEL)
		return (void *)(uintptr_t)off;
	if (mr->kind == UROCE_MR_ODP)
		return uroce_odp_at(mr, off, len);
	if (mr->kind == UROCE_MR_BLOCKS)
		return block_at(mr, off, len);
	off = offset_in_page(off);
	*len = min_t(u32, *len, PAGE_SIZE - off);
	return (write ? (void *)mr->pages : page_address(ZERO_PAGE(0))) + off;
}

/* For fast registration: a REG_MR request makes the region valid. */
struct ib_mr *uroce_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max)
{
	struct uroce_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EINVAL);
	mr = uroce_mr_new(pd, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max;
	mr->pages = kvmalloc_array(max, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT);
	return uroce_mr_finish(mr, mr->pages ? 0 : -ENOMEM, false);
}

static int mr_set_page(struct ib_mr *ib, u64 addr)
{
	struct uroce_mr *mr = to_umr(ib);

	if (mr->npages == mr->max_pages)
		return -ENOMEM;
	mr->pages[mr->npages++] = (void *)(uintptr_t)addr;
	return 0;
}

int uroce_mr_map(struct ib_mr *ib, struct scatterlist *sgl, int n,
		 unsigned int *offset)
{
	struct uroce_mr *mr = to_umr(ib);

	mr->npages = 0;
	if (ib->page_size < PAGE_SIZE || !is_power_of_2(ib->page_size))
		return -EINVAL;
	return ib_sg_to_pages(ib, sgl, n, offset, mr_set_page);
}

/*
 * Does a copy use the region? The fence pairs with the one in uroce_mr_hold():
 * either this function sees the reference of the copy, or the copy sees that
 * the region is invalid.
 */
static bool mr_held(const struct uroce_mr *mr)
{
	smp_mb();
	return refcount_read(&mr->ref) != 1;
}

/* Do the pages that ib_map_mr_sg() has set hold all bytes of the region? */
static bool mr_holds(const struct uroce_mr *mr, const struct ib_mr *ib,
		     u8 shift)
{
	u64 size = (u64)mr->npages << shift;
	u64 offset = ib->iova & (BIT_ULL(shift) - 1);

	return ib->length <= size - min(size, offset);
}

/*
 * Executes a REG_MR request. -EAGAIN: a copy that began before the region was
 * invalidated has not finished. The keys in @ib are those of the latest request
 * that was posted, which may be a later one. The size of a page comes from
 * ib_map_mr_sg(). Context: the send queue's lock.
 */
int uroce_mr_fast(struct ib_pd *pd, struct ib_mr *ib, u32 key, u32 access)
{
	struct uroce_mr *mr = to_umr(ib);
	u8 shift = mr->npages ? ilog2(ib->page_size) : PAGE_SHIFT;

	if (ib->pd != pd || key >> 8 != mr->key >> 8 || mr->valid ||
	    !mr->max_pages || !mr_holds(mr, ib, shift))
		return -EINVAL;
	if (mr_held(mr))
		return -EAGAIN;
	mr->access = access;
	mr->iova = ib->iova;
	mr->length = ib->length;
	mr->shift = shift;
	mr->offset = ib->iova & (BIT_ULL(mr->shift) - 1);
	mr->kind = mr->shift == PAGE_SHIFT ? UROCE_MR_PAGES : UROCE_MR_BLOCKS;
	mr->key = key;
	/* Pairs with the acquire in uroce_mr_hold(). */
	smp_store_release(&mr->valid, true);
	return 0;
}

/*
 * Invalidates a key for a request of the peer or of this queue pair. When the
 * request completes, no copy may use the pages any more, since their owner in
 * the kernel then reuses them. -EAGAIN: another queue pair is still copying a
 * bounded piece; the caller tries again, without holding the region. Context:
 * bottom halves off.
 */
int uroce_mr_invalidate(struct ib_pd *pd, u32 key)
{
	struct uroce_dev *dev = to_udev(pd->device);
	struct uroce_mr *mr =
		uroce_mr_lookup(rcu_dereference_bh(dev->table), key >> 8);

	if (!mr || mr->ib.pd != pd || mr->key != key || !mr->max_pages)
		return -EINVAL;
	WRITE_ONCE(mr->valid, false);
	return mr_held(mr) ? -EAGAIN : 0;
}

/*
 * From now on no window can be bound to the region. Returns false if one is
 * bound: the specification and ibv_dereg_mr(3) demand that deregistration then
 * fails, since the owner of the window could not tell that its memory is gone.
 */
bool uroce_mr_close(struct uroce_mr *mr)
{
	/* Ordering: pairs with the barrier in region_put() of mw.c. */
	return !atomic_cmpxchg(&mr->windows, 0, INT_MIN);
}

int uroce_mr_dereg(struct ib_mr *ib, struct ib_udata *udata)
{
	struct uroce_mr *mr = to_umr(ib);

	if (!uroce_mr_close(mr))
		return -EBUSY;
	trace_uroce_mr_destroy(ib, mr->iova, mr->length);
	mr_unpublish(mr);
	uroce_mr_put(mr);
	/* A copy may still run. It waits for nothing. */
	wait_for_completion(&mr->idle);
	uroce_mr_free(mr);
	return 0;
}

void uroce_mr_release(struct uroce_mr *mr)
{
	complete(&mr->idle);
}

/*
 * As uroce_mr_hold(), for regions of on-demand paging, whose keys no request
 * changes or invalidates. mr_pause() waits for a grace period before it waits
 * for references, so the look at @pageable need not be repeated.
 */
static struct uroce_mr *mr_hold_odp(const struct uroce_mr_table *table,
				    const struct ib_pd *pd, u32 key, u64 addr,
				    u32 len, u32 access)
{
	struct uroce_mr *mr = uroce_mr_lookup(table, key >> 8);

	/* Acquire: pairs with the release in mr_resume(). */
	if (!mr || !smp_load_acquire(&mr->pageable) ||
	    !refcount_inc_not_zero(&mr->ref))
		return NULL;
	if (mr->key == key && mr->ib.pd == pd &&
	    uroce_mr_allows(mr, addr, len, access))
		return mr;
	uroce_mr_put(mr);
	return NULL;
}

/* See uroce_mr_hold(). */
struct uroce_mr *uroce_mr_get(struct ib_pd *pd, u32 key, u64 addr, u32 len,
			      u32 access)
{
	struct uroce_dev *dev = to_udev(pd->device);
	const struct uroce_mr_table *table = rcu_dereference_bh(dev->table);
	struct uroce_mr *mr;

	mr = uroce_mr_hold(table, pd, key, addr, len, access);
	return likely(mr) ? mr :
			    mr_hold_odp(table, pd, key, addr, len, access);
}

/*
 * The reason why uroce_mr_get() refused, enum univ_reason, or 0. With a valid
 * key of on-demand paging it is a page that could not be faulted in. A key of
 * another domain is reported as unknown, so that a process learns nothing about
 * keys of other processes. Context: bottom halves off.
 */
u16 uroce_mr_why(const struct ib_pd *pd, u32 key, u64 addr, u32 len, u32 access)
{
	struct uroce_dev *dev = to_udev(pd->device);
	const struct uroce_mr *mr;

	mr = uroce_mr_lookup(rcu_dereference_bh(dev->table), key >> 8);
	if (!mr || (!READ_ONCE(mr->valid) && !READ_ONCE(mr->pageable)) ||
	    mr->key != key || mr->ib.pd != pd)
		return UNIV_REASON_KEY_UNKNOWN;
	if (access & ~mr->access)
		return UNIV_REASON_KEY_ACCESS;
	if (!uroce_mr_allows(mr, addr, len, access))
		return UNIV_REASON_KEY_RANGE;
	return READ_ONCE(mr->pageable) ? UNIV_REASON_PAGE_FAULT : 0;
}
