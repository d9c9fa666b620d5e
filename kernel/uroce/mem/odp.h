/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of on-demand paging that its files share: chunk.c keeps the pages
 * that are present, odp.c faults missing pages in and lets copies use them.
 * Private to this room.
 */
#ifndef UROCE_ODP_H
#define UROCE_ODP_H

#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "mem.h"
#include "removal.h"

/* The list of a chunk's pages is one page. */
#define CHUNK_PAGES	(PAGE_SIZE / sizeof(unsigned long))
#define CHUNK_SIZE	(CHUNK_PAGES << PAGE_SHIFT)

/* Flags in an entry of the list, beside the address of the page. */
#define ENTRY_VALID	1ul
#define ENTRY_WRITE	2ul

/**
 * struct uroce_chunk - pages of one part of the address space
 * @notifier: tells when the process's page tables lose such pages
 * @odp: the region; only while there are @entries
 * @start: address of the first page
 * @link: in uroce_odp.order
 * @lock: protects @entries, and the notifier's sequence number
 * @entries: the address of each page, and flags; an entry becomes invalid under
 *	uroce_odp.lock as well. NULL: the notifier is being removed
 * @removal: removes the notifier when the region is gone
 */
struct uroce_chunk {
	struct mmu_interval_notifier notifier;
	struct uroce_odp *odp;
	unsigned long start;
	struct list_head link;
	struct mutex lock;
	unsigned long *entries;
	struct uroce_removal removal;
};

/**
 * struct uroce_odp - the paging state of a region
 * @ref: references: one of the region, and one while @running
 * @id: never used again, unlike the address of the struct
 * @ib: device; only to be used while the region exists
 * @mm: address space of the process that registered the region
 * @start: address of the region's first byte in the process
 * @huge: a page that is not huge cannot be faulted in
 * @lock: see the head of odp.c; also for chunks leaving @chunks
 * @chunks: by address / CHUNK_SIZE. Only the work item changes it.
 * @order: the chunks, oldest first
 * @count: number of chunks
 * @asks_lock: protects the members below
 * @asks: pages that copies miss
 * @pending: number of @asks
 * @running: @work is queued or runs
 * @ended: the region is deregistered
 * @stays: @work, which waits for its turn, holds a reference to the module
 * @tries: how often @work has waited for its turn, at most BUSY_DOUBLINGS
 * @served: in the list of regions that are being served
 * @work: faults pages in
 */
struct uroce_odp {
	refcount_t ref;
	u64 id;
	struct ib_device *ib;
	struct mm_struct *mm;
	u64 start;
	bool huge;
	rwlock_t lock;
	struct xarray chunks;
	struct list_head order;
	u32 count;
	spinlock_t asks_lock;
	struct list_head asks;
	u32 pending;
	bool running;
	bool ended;
	bool stays;
	u8 tries;
	struct list_head served;
	struct delayed_work work;
};

static inline unsigned long *chunk_entry(struct uroce_chunk *c,
					 unsigned long addr)
{
	return &c->entries[addr / PAGE_SIZE % CHUNK_PAGES];
}

/* Context: the region's lock for reading. */
static inline unsigned long odp_entry(struct uroce_odp *odp, unsigned long addr)
{
	struct uroce_chunk *c = xa_load(&odp->chunks, addr / CHUNK_SIZE);

	return c ? READ_ONCE(*chunk_entry(c, addr)) : 0;
}

/* chunk.c. Context: the work item of the region, or nothing uses it any more */
int uroce_chunk_fault(struct uroce_odp *odp, unsigned long addr,
		      unsigned long len, bool write, bool fault);
void uroce_chunk_end(struct uroce_chunk *c);

#endif
