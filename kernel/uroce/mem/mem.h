/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room of memory: regions, keys, references to the memory that a key names,
 * and copies. The room knows devices and protection domains. It does not know
 * queue pairs; memory windows, which these bind, are in qp/mw.c.
 */
#ifndef UROCE_MEM_H
#define UROCE_MEM_H

#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "lines.h"

struct ib_umem;
struct sk_buff;
struct uroce_ask;
struct uroce_dev;
struct uroce_dmabuf;
struct uroce_mw;
struct uroce_odp;
struct uroce_packet;
struct uroce_pin;

/**
 * struct uroce_mr_table - regions by the index in their keys, under RCU
 * @rcu: freed after a grace period, when a larger table has replaced it
 * @size: number of entries of @slot
 * @slot: region of each index, or NULL
 *
 * Behind @slot there is a byte for each index: the low byte of the latest key
 * of that index, under uroce_dev.mrs_lock.
 */
struct uroce_mr_table {
	struct rcu_head rcu;
	u32 size;
	struct uroce_mr __rcu *slot[];
};

/**
 * enum uroce_mr_kind - the memory of a region
 * @UROCE_MR_PAGES: pages
 * @UROCE_MR_KERNEL: addresses are kernel addresses (get_dma_mr)
 * @UROCE_MR_NULL: none; reads give zeros and writes are lost
 * @UROCE_MR_ODP: pages that are faulted in on demand
 * @UROCE_MR_BLOCKS: larger blocks, of users in the kernel (struct ib_mr)
 */
enum uroce_mr_kind {
	UROCE_MR_PAGES,
	UROCE_MR_KERNEL,
	UROCE_MR_NULL,
	UROCE_MR_ODP,
	UROCE_MR_BLOCKS,
};

/**
 * struct uroce_mr - registered memory
 * @ib: first member. Its keys are those of the last posted request, which may
 *	not be executed yet
 * @rcu: freed after a grace period, since a look-up may still use it
 * @ref: references: one of the owner, and one of each copy that runs
 * @idle: completed when the last reference is dropped
 * @pin: pinned pages of a process, or NULL
 * @umem: the first of them, or NULL
 * @dmabuf: the dma-buf that @pages belong to, or NULL
 * @pages: address of each page; NULL for kernel addresses; of a null region a
 *	page that takes what is written. uroce_mr_extend() replaces it
 * @npages: number of entries of @pages in use
 * @room: of pinned pages: room in @pages
 * @max_pages: of fast registration: room in @pages; otherwise 0
 * @start: address of the first byte in the process that registered it
 * @mm: address space of that process; only to be compared
 * @iova: address of the first byte, as requests name it
 * @length: in bytes; uroce_mr_extend() adds to it while copies run
 * @offset: offset of the first byte in @pages[0]
 * @access: enum ib_access_flags
 * @kind: enum uroce_mr_kind
 * @shift: of blocks: log2 of their size
 * @valid: requests may use the key; see uroce_mr_hold()
 * @pageable: likewise for on-demand paging, which stays off the fast path
 * @odp: state of on-demand paging, or NULL
 * @key: index << 8 | variant, as the last executed request has set it
 * @windows: number of bound windows; negative when no more may be bound
 */
struct uroce_mr {
	struct ib_mr ib;
	struct rcu_head rcu;
	struct uroce_pin *pin;
	struct ib_umem *umem;

	/* Read for each message. */
	void **pages;
	u64 iova;
	u64 length;
	u32 offset;
	u32 access;
	u8 kind;
	u8 shift;
	bool valid;
	bool pageable;
	u32 key;
	struct uroce_odp *odp;

	struct uroce_dmabuf *dmabuf;
	u32 npages;
	u32 room;
	u32 max_pages;
	u64 start;
	const void *mm;

	/* @ref is written by turns of send queues, @windows by binds. */
	refcount_t ref ____cacheline_aligned_in_smp;
	atomic_t windows;
	struct completion idle;
};

univ_other_line(struct uroce_mr, key, ref);
univ_other_line(struct uroce_mr, pages, ref);
univ_other_line(struct uroce_mr, odp, ref);

void uroce_mr_release(struct uroce_mr *mr);

static inline bool uroce_mr_allows(const struct uroce_mr *mr, u64 addr, u32 len,
				   u32 access)
{
	/* Acquire: pairs with the release in uroce_mr_extend(). */
	u64 length = smp_load_acquire(&mr->length);
	u64 from = addr - mr->iova;

	return !(access & ~mr->access) && from <= length &&
	       len <= length - from;
}

/* Would uroce_mr_get() still find this region, which is held? */
static inline bool uroce_mr_serves(const struct uroce_mr *mr,
				   const struct ib_pd *pd, u32 key, u64 addr,
				   u32 len, u32 access)
{
	return mr->key == key && mr->ib.pd == pd && READ_ONCE(mr->valid) &&
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
	/* The key comes from a process or from a peer. */
	index = array_index_nospec(index, table->size);
	return rcu_dereference_bh(table->slot[index]);
}

/*
 * Looks up the region of @key and takes a reference, if it contains these bytes
 * and grants @access. The reference is taken before the region is checked, so
 * that the result of the check stays valid: the fence pairs with the one in
 * mr_held(). Inline for the fast path; other callers use uroce_mr_get().
 * Context: bottom halves off.
 */
static __always_inline struct uroce_mr *
uroce_mr_hold(const struct uroce_mr_table *table, const struct ib_pd *pd,
	      u32 key, u64 addr, u32 len, u32 access)
{
	struct uroce_mr *mr = uroce_mr_lookup(table, key >> 8);

	if (unlikely(!mr || !refcount_inc_not_zero(&mr->ref)))
		return NULL;
	smp_mb__after_atomic();
	/* Acquire: pairs with the release in uroce_mr_fast() and of rereg.c. */
	if (likely(smp_load_acquire(&mr->valid) && mr->key == key &&
		   mr->ib.pd == pd && uroce_mr_allows(mr, addr, len, access)))
		return mr;
	uroce_mr_put(mr);
	return NULL;
}

void *uroce_mr_at_other(const struct uroce_mr *mr, u64 off, u32 *len,
			bool write);

/* The address of a byte. Limits @len to the bytes that follow at it. */
static inline void *uroce_mr_at(const struct uroce_mr *mr, u64 off, u32 *len,
				bool write)
{
	if (unlikely(mr->kind != UROCE_MR_PAGES))
		return uroce_mr_at_other(mr, off, len, write);
	off += mr->offset;
	*len = min_t(u32, *len, PAGE_SIZE - offset_in_page(off));
	return READ_ONCE(mr->pages)[off >> PAGE_SHIFT] + offset_in_page(off);
}

/*
 * The address at which @len bytes of a region can be copied. NULL if the
 * region has no pages, or if the bytes cross the end of a page.
 */
static inline void *uroce_mr_whole(const struct uroce_mr *mr, u64 off, u32 len)
{
	off += mr->offset;
	if (unlikely(mr->kind != UROCE_MR_PAGES ||
		     offset_in_page(off) + len > PAGE_SIZE))
		return NULL;
	return READ_ONCE(mr->pages)[off >> PAGE_SHIFT] + offset_in_page(off);
}

static inline struct uroce_mr *to_umr(struct ib_mr *ib)
{
	return container_of(ib, struct uroce_mr, ib);
}

/**
 * struct uroce_seg - a segment of memory that a request names
 * @mr: region, held; NULL for a kernel address
 * @mw: only for a peer's request: the window whose key was used, held; or NULL
 * @base: offset from the start of @mr, or a kernel address
 * @len: in bytes
 */
struct uroce_seg {
	struct uroce_mr *mr;
	struct uroce_mw *mw;
	u64 base;
	u32 len;
};

/**
 * struct uroce_vec - segments of memory as one run of bytes
 * @seg: segments
 * @count: number of segments
 * @len: number of bytes
 *
 * A region that is held cannot be deregistered. A vector is therefore built for
 * one copy and released after it, under one lock; a request that waits for a
 * peer or a timer keeps only its scatter list.
 */
struct uroce_vec {
	struct uroce_seg *seg;
	u32 count;
	u32 len;
};

static inline bool uroce_seg_is_odp(const struct uroce_seg *seg)
{
	return seg->mr && unlikely(seg->mr->kind == UROCE_MR_ODP);
}

static inline bool uroce_vec_is_odp(const struct uroce_vec *vec)
{
	u32 i;

	for (i = 0; i < vec->count; i++)
		if (uroce_seg_is_odp(&vec->seg[i]))
			return true;
	return false;
}

/* odp.c */
#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
int uroce_odp_enter(const struct uroce_vec *vec, u32 off, u32 len, bool write,
		    struct uroce_ask **slot);
void uroce_odp_leave(const struct uroce_vec *vec);
void *uroce_odp_at(const struct uroce_mr *mr, u64 off, u32 *len);
bool uroce_ask_is_new(struct uroce_ask *ask);
void uroce_ask_drop(struct uroce_ask **slot);
struct uroce_ask *uroce_ask_ahead(struct uroce_odp *odp, u64 off, u64 len,
				  bool write, bool fault, bool wait);
int uroce_ask_wait(struct uroce_ask *ask);
struct uroce_odp *uroce_odp_create(struct ib_device *ib, u64 start, int access);
void uroce_odp_end(struct uroce_odp *odp);
int uroce_odp_init(void);
void uroce_odp_exit(void);
#else
static inline int uroce_odp_enter(const struct uroce_vec *vec, u32 off, u32 len,
				  bool write, struct uroce_ask **slot)
{
	return -EFAULT;
}

static inline void uroce_odp_leave(const struct uroce_vec *vec) {}
static inline void *uroce_odp_at(const struct uroce_mr *mr, u64 off, u32 *len)
{
	return NULL;
}

static inline bool uroce_ask_is_new(struct uroce_ask *ask) { return false; }
static inline void uroce_ask_drop(struct uroce_ask **slot) {}
static inline struct uroce_ask *uroce_ask_ahead(struct uroce_odp *odp, u64 off,
						u64 len, bool write, bool fault,
						bool wait)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline int uroce_ask_wait(struct uroce_ask *ask)
{
	return 0;
}

static inline struct uroce_odp *uroce_odp_create(struct ib_device *ib,
						 u64 start, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void uroce_odp_end(struct uroce_odp *odp) {}
static inline int uroce_odp_init(void)
{
	return 0;
}

static inline void uroce_odp_exit(void) {}
#endif

/**
 * uroce_vec_enter() - begin an access to memory
 * @vec: the memory
 * @off: first byte
 * @len: bytes
 * @write: the memory is written
 * @slot: pages that the caller has asked for, or NULL for none; a pointer to
 *	NULL does not ask. Under the caller's lock
 *
 * Pages of on-demand paging stay until uroce_vec_leave(). Each access to the
 * bytes of a vector happens between these calls. Context: bottom halves off.
 *
 * Return: 0; -EAGAIN if pages are missing: they are being faulted in, and the
 * caller tries again later; -EFAULT if they cannot be faulted in
 */
static inline int uroce_vec_enter(const struct uroce_vec *vec, u32 off, u32 len,
				  bool write, struct uroce_ask **slot)
{
	return uroce_vec_is_odp(vec) ?
		       uroce_odp_enter(vec, off, len, write, slot) : 0;
}

static inline void uroce_vec_leave(const struct uroce_vec *vec)
{
	if (uroce_vec_is_odp(vec))
		uroce_odp_leave(vec);
}

/*
 * Functions that need bottom halves off rely on RCU: a section with bottom
 * halves off delays the end of a grace period.
 */
u16 uroce_mr_why(const struct ib_pd *pd, u32 key, u64 addr, u32 len,
		 u32 access);
struct uroce_mr *uroce_mr_get(struct ib_pd *pd, u32 key, u64 addr, u32 len,
			      u32 access);
bool uroce_mr_flush(struct ib_pd *pd, u32 key, u64 addr, u32 len, u32 access,
		    bool whole);
int uroce_key_alloc(struct uroce_dev *dev, void *owner, u32 *key);
void uroce_key_free(struct uroce_dev *dev, u32 key);
void uroce_mr_exit(struct uroce_dev *dev);
void uroce_mr_copy(const struct uroce_mr *to, u64 to_off,
		   const struct uroce_mr *from, u64 from_off, u32 len);
void uroce_mr_write(const struct uroce_mr *mr, u64 off, const void *from,
		    u32 len);
void uroce_vec_put(struct uroce_vec *vec);
void uroce_vec_copy(const struct uroce_vec *dst, u32 dst_off,
		    const struct uroce_vec *src, u32 src_off, u32 len);
void uroce_vec_read(const struct uroce_vec *vec, u32 off, void *to, u32 len);
void uroce_vec_write(const struct uroce_vec *vec, u32 off, const void *from,
		     u32 len);
bool uroce_vec_attach(const struct uroce_vec *vec, u32 off, u32 len,
		      struct sk_buff *skb);
bool uroce_atomic(const struct uroce_seg *seg, u8 opcode, u64 compare_add,
		  u64 swap, u64 *orig);
bool uroce_atomic_write(const struct uroce_seg *seg, u64 value);
void uroce_packet_put(const struct uroce_packet *pkt,
		      const struct uroce_vec *vec, u32 offset);

/*
 * Takes one segment, as uroce_mr_get() does. Returns false, and holds nothing,
 * if access is denied.
 */
static inline bool uroce_seg_get(struct uroce_seg *seg, struct ib_pd *pd,
				 u32 key, u64 addr, u32 len, u32 access)
{
	seg->mr = uroce_mr_get(pd, key, addr, len, access);
	if (unlikely(!seg->mr))
		return false;
	seg->base = addr - seg->mr->iova;
	seg->len = len;
	return true;
}

/* mr.c: keys that requests change. */
int uroce_mr_fast(struct ib_pd *pd, struct ib_mr *ib, u32 key, u32 access);
int uroce_mr_invalidate(struct ib_pd *pd, u32 key);

#endif
