/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions: what keys lead to, and how it is held. The rest is mem.c. */
#ifndef UROCE_MEM_H
#define UROCE_MEM_H

#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

struct ib_umem;

/**
 * struct uroce_mr_table - regions by the index in their keys, under RCU
 * @size: of @slot
 * @slot: NULL for none
 *
 * Behind @slot is a byte for each index: the low byte of the latest key of that
 * index, under uroce_dev.mrs_lock.
 */
struct uroce_mr_table {
	struct rcu_head rcu;
	u32 size;
	struct uroce_mr __rcu *slot[];
};

/**
 * struct uroce_mr - registered memory
 * @ib: first; @ib.lkey and @ib.rkey are @index << 8 | variant
 * @ref: the owner and everybody who copies
 * @idle: the last of them has gone
 * @umem: pinned pages of a process, or NULL
 * @pages: address of each page; NULL for kernel addresses
 * @iova: address of the first byte, in requests
 * @length: bytes
 * @offset: of the first byte in @pages[0]
 * @access: enum ib_access_flags
 * @kernel: addresses are kernel addresses (get_dma_mr)
 * @windows: bound to it; negative when none may be any more
 */
struct uroce_mr {
	struct ib_mr ib;
	struct rcu_head rcu;
	refcount_t ref;
	struct completion idle;
	struct ib_umem *umem;
	void **pages;
	u32 npages;
	u32 max_pages;
	u64 iova;
	u64 length;
	u32 offset;
	u32 access;
	bool kernel;
	bool valid;
	atomic_t windows;
};

void uroce_mr_release(struct uroce_mr *mr);

static inline bool uroce_mr_allows(const struct uroce_mr *mr, u64 addr, u32 len,
				   u32 access)
{
	u64 from = addr - mr->iova;

	return !(access & ~mr->access) && from <= mr->length &&
	       len <= mr->length - from;
}

/* Whether a region that is held is still what uroce_mr_get() would find */
static inline bool uroce_mr_serves(const struct uroce_mr *mr,
				   const struct ib_pd *pd, u32 key, u64 addr,
				   u32 len, u32 access)
{
	return mr->ib.rkey == key && mr->ib.pd == pd && READ_ONCE(mr->valid) &&
	       uroce_mr_allows(mr, addr, len, access);
}

static inline void uroce_mr_put(struct uroce_mr *mr)
{
	if (refcount_dec_and_test(&mr->ref))
		uroce_mr_release(mr);
}

static inline struct uroce_mr *
uroce_mr_lookup(const struct uroce_mr_table *table, u32 index)
{
	if (unlikely(!table || index >= table->size))
		return NULL;
	/* A key is whatever a process or a peer says */
	index = array_index_nospec(index, table->size);
	return rcu_dereference_bh(table->slot[index]);
}

/*
 * The region of @key if it has these bytes and grants @access; held.
 * Held before it is looked at, so that what was found stays true: the fence
 * pairs with that of mr_held(). Inline for who is in a hurry; otherwise
 * uroce_mr_get(). Context: bottom halves off.
 */
static __always_inline struct uroce_mr *
uroce_mr_hold(const struct uroce_mr_table *table, const struct ib_pd *pd,
	      u32 key, u64 addr, u32 len, u32 access)
{
	struct uroce_mr *mr = uroce_mr_lookup(table, key >> 8);

	if (unlikely(!mr || !refcount_inc_not_zero(&mr->ref)))
		return NULL;
	smp_mb__after_atomic();
	/* Acquire: pairs with the release in uroce_mr_fast() */
	if (likely(smp_load_acquire(&mr->valid) && mr->ib.lkey == key &&
		   mr->ib.pd == pd && uroce_mr_allows(mr, addr, len, access)))
		return mr;
	uroce_mr_put(mr);
	return NULL;
}

/* Address of a byte of a region, and in @len how many follow it there at most */
static inline void *uroce_mr_at(const struct uroce_mr *mr, u64 off, u32 *len)
{
	if (unlikely(mr->kernel))
		return (void *)(uintptr_t)off;
	off += mr->offset;
	*len = min_t(u32, *len, PAGE_SIZE - offset_in_page(off));
	return mr->pages[off >> PAGE_SHIFT] + offset_in_page(off);
}

#endif
