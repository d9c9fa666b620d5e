// SPDX-License-Identifier: GPL-2.0
/* Memory regions: keys, pinned pages, and copies between them. */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "uroce.h"

#ifdef CONFIG_HIGHMEM
#error "every page must have an address"
#endif

static struct uroce_mr *mr_new(struct ib_pd *pd, int access)
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
 * Room for a region of this index; look-ups go on in the old table meanwhile. The
 * table is charged to nobody: it is the device's, and stays when the process goes
 * whose region made it grow. How many regions there may be bounds it.
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
	/* Where the keys begin is not to be guessed */
	get_random_bytes(table_variants(new), size);
	if (old) {
		memcpy(new->slot, old->slot, flex_array_size(old, slot, old->size));
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

/* The device goes, and had no region any more */
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
 * A key of a region or a window. The lowest index that is free may be that of one
 * that has just gone, whose key somebody may still use, so the low byte goes on from
 * that of the latest key of the index: it comes back after 256 keys at the earliest.
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

/* @key: the latest; requests may have changed its low byte since it was allocated */
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
	ret = uroce_key_alloc(dev, mr, &mr->ib.lkey);
	if (ret)
		goto unlock;
	mr->ib.rkey = mr->ib.lkey;
	mr->valid = valid;
	table_set(dev, mr->ib.lkey >> 8, mr);
	trace_uroce_mr_create(&mr->ib, mr->iova, mr->length);
unlock:
	mutex_unlock(&dev->mrs_lock);
	return ret;
}

static void mr_unpublish(struct uroce_mr *mr)
{
	struct uroce_dev *dev = to_udev(mr->ib.device);

	mutex_lock(&dev->mrs_lock);
	table_set(dev, mr->ib.lkey >> 8, NULL);
	uroce_key_free(dev, mr->ib.lkey);
	mutex_unlock(&dev->mrs_lock);
}

static int mr_list_pages(struct uroce_mr *mr)
{
	struct sg_table *table = &mr->umem->sgt_append.sgt;
	struct scatterlist *sg;
	u32 n = 0, i, run;
	void *first;
	int s;

	mr->npages = ib_umem_num_pages(mr->umem);
	mr->pages = kvmalloc_array(mr->npages, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT);
	if (!mr->pages)
		return -ENOMEM;
	for_each_sgtable_sg(table, sg, s) {
		run = PAGE_ALIGN(sg->offset + sg->length) >> PAGE_SHIFT;
		first = page_address(sg_page(sg));
		for (i = 0; i < run && n < mr->npages; i++)
			mr->pages[n++] = first + i * PAGE_SIZE;
	}
	return n == mr->npages ? 0 : -EINVAL;
}

static void mr_free(struct uroce_mr *mr)
{
	if (mr->umem)
		ib_umem_release(mr->umem);
	kvfree(mr->pages);
	kfree_rcu(mr, rcu);
}

/* Pin the pages of a process; what was pinned goes with mr_free() */
static int mr_pin(struct uroce_mr *mr, u64 start, u64 length, u64 iova)
{
	mr->umem = ib_umem_get_va(mr->ib.device, start, length, mr->access);
	if (IS_ERR(mr->umem)) {
		int ret = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return ret;
	}
	mr->iova = iova;
	mr->ib.iova = iova;
	mr->length = length;
	mr->ib.length = length;
	mr->offset = start & ~PAGE_MASK;
	return mr_list_pages(mr);
}

struct ib_mr *uroce_mr_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			   int access, UNIV_DMAH_ARG struct ib_udata *udata)
{
	struct uroce_mr *mr = mr_new(pd, access);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	ret = mr_pin(mr, start, length, iova);
	if (!ret)
		ret = mr_publish(mr, true);
	if (!ret)
		return &mr->ib;
	mr_free(mr);
	return ERR_PTR(ret);
}

/*
 * Nobody finds the region, and whoever copies has finished. The grace period is
 * for those who looked at it before it was invalid but hold it not yet.
 */
static void mr_pause(struct uroce_mr *mr)
{
	WRITE_ONCE(mr->valid, false);
	synchronize_rcu();
	uroce_mr_put(mr);
	wait_for_completion(&mr->idle);
}

static void mr_resume(struct uroce_mr *mr)
{
	reinit_completion(&mr->idle);
	refcount_set(&mr->ref, 1);
	/* Pairs with the acquire in uroce_mr_hold() */
	smp_store_release(&mr->valid, true);
}

static void mr_swap_pages(struct uroce_mr *mr, struct uroce_mr *other)
{
	swap(mr->umem, other->umem);
	swap(mr->pages, other->pages);
	swap(mr->npages, other->npages);
	swap(mr->iova, other->iova);
	swap(mr->length, other->length);
	swap(mr->offset, other->offset);
}

/*
 * From now on no window is bound to it; false if one is. The specification wants
 * that refused, and ibv_dereg_mr(3) says so: a window that lost its memory behind
 * its owner's back could not be told from one that works.
 */
static bool mr_close(struct uroce_mr *mr)
{
	/* Orders: pairs with the barrier where a window leaves, in mw.c */
	return !atomic_cmpxchg(&mr->windows, 0, INT_MIN);
}

/*
 * Another range, access or domain; the keys stay. All that can fail comes first,
 * so the region is altered or as it was. Context: one caller at a time.
 */
struct ib_mr *uroce_mr_rereg(struct ib_mr *ib, int flags, u64 start, u64 length,
			     u64 iova, int access, struct ib_pd *pd,
			     struct ib_udata *udata)
{
	struct uroce_mr *mr = to_umr(ib), *other;
	int ret = 0;

	other = mr_new(pd, flags & IB_MR_REREG_ACCESS ? access : mr->access);
	if (!other)
		return ERR_PTR(-ENOMEM);
	/* Pages that were pinned for reading only are not written */
	if (flags & IB_MR_REREG_TRANS)
		ret = mr_pin(other, start, length, iova);
	else if (ib_access_writable(other->access) && !mr->umem->writable)
		ret = mr_pin(other, mr->umem->address, mr->length, mr->iova);
	if (!ret && !mr_close(mr))
		ret = -EBUSY;
	if (ret) {
		mr_free(other);
		return ERR_PTR(ret);
	}
	mr_pause(mr);
	if (other->umem)
		mr_swap_pages(mr, other);
	mr->access = other->access;
	ib->pd = pd;
	mr_resume(mr);
	atomic_set(&mr->windows, 0);
	mr_free(other);
	return NULL;
}

/* All of kernel memory, for users in the kernel */
struct ib_mr *uroce_mr_dma(struct ib_pd *pd, int access)
{
	struct uroce_mr *mr = mr_new(pd, access);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->kernel = true;
	mr->length = U64_MAX;
	ret = mr_publish(mr, true);
	if (!ret)
		return &mr->ib;
	mr_free(mr);
	return ERR_PTR(ret);
}

/* For fast registration: a request makes it valid */
struct ib_mr *uroce_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max)
{
	struct uroce_mr *mr;
	int ret = -ENOMEM;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EINVAL);
	mr = mr_new(pd, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max;
	mr->pages = kvmalloc_array(max, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT);
	if (mr->pages)
		ret = mr_publish(mr, false);
	if (!ret)
		return &mr->ib;
	mr_free(mr);
	return ERR_PTR(ret);
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
	if (ib->page_size != PAGE_SIZE)
		return -EINVAL;
	n = ib_sg_to_pages(ib, sgl, n, offset, mr_set_page);
	mr->offset = ib->iova & ~PAGE_MASK;
	return n;
}

/*
 * Whether somebody copies. The fence pairs with the one in uroce_mr_hold():
 * either we see its reference, or it sees that the region is invalid.
 */
static bool mr_held(const struct uroce_mr *mr)
{
	smp_mb();
	return refcount_read(&mr->ref) != 1;
}

/*
 * A REG_MR request. -EAGAIN: a copy from before the region was taken back is
 * under way. Context: the send queue's lock.
 */
int uroce_mr_fast(struct uroce_qp *qp, struct ib_mr *ib, u32 key, u32 access)
{
	struct uroce_mr *mr = to_umr(ib);

	if (ib->pd != qp->ib->pd || key >> 8 != ib->lkey >> 8 || mr->valid ||
	    !mr->max_pages)
		return -EINVAL;
	if (mr_held(mr))
		return -EAGAIN;
	mr->access = access;
	mr->iova = ib->iova;
	mr->length = ib->length;
	ib->lkey = key;
	ib->rkey = key;
	/* Pairs with the acquire in uroce_mr_hold() */
	smp_store_release(&mr->valid, true);
	return 0;
}

/*
 * A peer's or our own request takes a key back. When it completes nobody reads
 * or writes the pages any more, since their owner in the kernel uses them for
 * something else then. -EAGAIN: another queue pair copies still, a piece that is
 * bounded; to be asked again, without holding the region. Context: bottom halves
 * off.
 */
int uroce_mr_invalidate(struct ib_pd *pd, u32 key)
{
	struct uroce_dev *dev = to_udev(pd->device);
	struct uroce_mr *mr =
		uroce_mr_lookup(rcu_dereference_bh(dev->table), key >> 8);

	if (!mr || mr->ib.pd != pd || mr->ib.rkey != key || !mr->max_pages)
		return -EINVAL;
	WRITE_ONCE(mr->valid, false);
	return mr_held(mr) ? -EAGAIN : 0;
}

int uroce_mr_dereg(struct ib_mr *ib, struct ib_udata *udata)
{
	struct uroce_mr *mr = to_umr(ib);

	if (!mr_close(mr))
		return -EBUSY;
	trace_uroce_mr_destroy(ib, mr->iova, mr->length);
	mr_unpublish(mr);
	uroce_mr_put(mr);
	/* A copy under way; none waits for anything */
	wait_for_completion(&mr->idle);
	mr_free(mr);
	return 0;
}

void uroce_mr_release(struct uroce_mr *mr)
{
	complete(&mr->idle);
}

/* As uroce_mr_hold() */
struct uroce_mr *uroce_mr_get(struct ib_pd *pd, u32 key, u64 addr, u32 len,
			      u32 access)
{
	struct uroce_dev *dev = to_udev(pd->device);

	return uroce_mr_hold(rcu_dereference_bh(dev->table), pd, key, addr, len,
			     access);
}

/*
 * Why uroce_mr_get() refused, enum univ_reason, or 0. A key of another domain is
 * told as one that is unknown: whose keys there are is nobody's business.
 * Context: bottom halves off.
 */
u16 uroce_mr_why(const struct ib_pd *pd, u32 key, u64 addr, u32 len, u32 access)
{
	struct uroce_dev *dev = to_udev(pd->device);
	const struct uroce_mr *mr;

	mr = uroce_mr_lookup(rcu_dereference_bh(dev->table), key >> 8);
	if (!mr || !READ_ONCE(mr->valid) || mr->ib.rkey != key ||
	    mr->ib.pd != pd)
		return UNIV_REASON_KEY_UNKNOWN;
	if (access & ~mr->access)
		return UNIV_REASON_KEY_ACCESS;
	return uroce_mr_allows(mr, addr, len, access) ? 0 :
							UNIV_REASON_KEY_RANGE;
}

void uroce_vec_put(struct uroce_vec *vec)
{
	u32 i;

	for (i = 0; i < vec->count; i++)
		if (vec->seg[i].mr)
			uroce_mr_put(vec->seg[i].mr);
	vec->count = 0;
}

/* Address of a byte of a piece, and how many follow it there */
static inline void *seg_at(const struct uroce_seg *seg, u32 off, u32 *len)
{
	u64 at = seg->base + off;

	*len = seg->len - off;
	return seg->mr ? uroce_mr_at(seg->mr, at, len) : (void *)(uintptr_t)at;
}

struct cursor {
	const struct uroce_seg *seg;
	const struct uroce_seg *end;
	u32 off;
};

static void cursor_init(struct cursor *c, const struct uroce_vec *vec, u32 off)
{
	c->seg = vec->seg;
	c->end = vec->seg + vec->count;
	while (c->seg != c->end && off >= c->seg->len) {
		off -= c->seg->len;
		c->seg++;
	}
	c->off = off;
}

static void cursor_step(struct cursor *c, u32 len)
{
	c->off += len;
	while (c->seg != c->end && c->off == c->seg->len) {
		c->seg++;
		c->off = 0;
	}
}

/* Between regions that are held; most messages lie in one page on either side */
void uroce_mr_copy(const struct uroce_mr *to, u64 to_off,
		   const struct uroce_mr *from, u64 from_off, u32 len)
{
	u32 done = 0, run;
	void *d, *s;

	do {
		run = len - done;
		d = uroce_mr_at(to, to_off + done, &run);
		s = uroce_mr_at(from, from_off + done, &run);
		/* Both may be the same memory */
		memmove(d, s, run);
		done += run;
	} while (unlikely(done < len));
}

/* To a region that is held, from memory that is ours or shared with us */
void uroce_mr_write(const struct uroce_mr *mr, u64 off, const void *from,
		    u32 len)
{
	u32 run;
	void *d;

	for (; len; len -= run, off += run, from += run) {
		run = len;
		d = uroce_mr_at(mr, off, &run);
		/* A process may have registered its rings */
		memmove(d, from, run);
	}
}

/* Copy what both have; the caller has compared lengths */
void uroce_vec_copy(const struct uroce_vec *dst, u32 dst_off,
		    const struct uroce_vec *src, u32 src_off, u32 len)
{
	struct cursor to, from;
	u32 run, more;
	void *d, *s;

	cursor_init(&to, dst, dst_off);
	cursor_init(&from, src, src_off);
	while (len && to.seg != to.end && from.seg != from.end) {
		d = seg_at(to.seg, to.off, &run);
		s = seg_at(from.seg, from.off, &more);
		run = min3(run, more, len);
		/* Both may be the same memory */
		memmove(d, s, run);
		cursor_step(&to, run);
		cursor_step(&from, run);
		len -= run;
	}
}

/* To and from packets. Where those have a region's pages as well a program writes what it sends. */
void uroce_vec_read(const struct uroce_vec *vec, u32 off, void *to, u32 len)
{
	struct cursor from;
	u32 run;
	void *s;

	cursor_init(&from, vec, off);
	while (len && from.seg != from.end) {
		s = seg_at(from.seg, from.off, &run);
		run = min(run, len);
		memcpy(to, s, run);
		cursor_step(&from, run);
		to += run;
		len -= run;
	}
}

void uroce_vec_write(const struct uroce_vec *vec, u32 off, const void *from,
		     u32 len)
{
	struct cursor to;
	u32 run;
	void *d;

	cursor_init(&to, vec, off);
	while (len && to.seg != to.end) {
		d = seg_at(to.seg, to.off, &run);
		run = min(run, len);
		memcpy(d, from, run);
		cursor_step(&to, run);
		from += run;
		len -= run;
	}
}

/* Pages of a process are anybody's to hold; those of kernel users and of devices are not */
static bool seg_has_pages(const struct uroce_seg *seg)
{
	return seg->mr && seg->mr->umem && !seg->mr->umem->is_dmabuf;
}

/**
 * uroce_vec_attach() - memory as fragments of a packet, without a copy
 * @vec: memory
 * @off: from where on
 * @len: bytes
 * @skb: gets them; holds their pages by itself, so that the region may go
 *
 * What the owner writes there before the packet has left is sent, or makes a
 * packet that its checksum calls damaged; no harm is done to anybody else.
 *
 * Return: false if that is not possible; then the packet is of no use any more
 */
bool uroce_vec_attach(const struct uroce_vec *vec, u32 off, u32 len,
		      struct sk_buff *skb)
{
	struct cursor from;
	u32 run;
	void *s;

	cursor_init(&from, vec, off);
	while (len) {
		/* One stays for what follows */
		if (from.seg == from.end || !seg_has_pages(from.seg) ||
		    skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS - 1)
			return false;
		s = seg_at(from.seg, from.off, &run);
		run = min(run, len);
		get_page(virt_to_page(s));
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, virt_to_page(s),
				offset_in_page(s), run, run);
		cursor_step(&from, run);
		len -= run;
	}
	/* Its owner may write to it, so nobody on the way may use it as a buffer */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return true;
}

/*
 * An atomic operation on eight aligned bytes of held memory: atomic towards
 * other devices, and towards the process's own instructions.
 */
bool uroce_atomic(const struct uroce_seg *seg, u8 opcode, u64 compare_add,
		  u64 swap, u64 *orig)
{
	atomic64_t *at;
	u32 len;

	at = seg_at(seg, 0, &len);
	if (len < 8 || (uintptr_t)at & 7)
		return false;
	if (opcode == UNIV_WR_ATOMIC_FETCH_AND_ADD)
		*orig = atomic64_fetch_add(compare_add, at);
	else
		*orig = atomic64_cmpxchg(at, compare_add, swap);
	return true;
}

/* Nobody sees a part of it. False as above. */
bool uroce_atomic_write(const struct uroce_seg *seg, u64 value)
{
	atomic64_t *at;
	u32 len;

	at = seg_at(seg, 0, &len);
	if (len < 8 || (uintptr_t)at & 7)
		return false;
	/* Release: what the peer has written before is seen by whoever sees this */
	atomic64_set_release(at, value);
	return true;
}
