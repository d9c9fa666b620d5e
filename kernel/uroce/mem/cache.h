/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the room of memory: pinned pages that are registered again. */
#ifndef UROCE_CACHE_H
#define UROCE_CACHE_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "mr.h"
#include "removal.h"

struct uroce_pin;
struct uroce_watch;

#ifdef CONFIG_MMU_NOTIFIER
/* Ranges that are remembered after their deregistration. */
#define SEEN_BITS	6
#define IDLE_BITS	5

/**
 * struct uroce_seen - a range that was deregistered
 * @first: address of its first page
 * @npages: number of pages; 0: none
 */
struct uroce_seen {
	unsigned long first;
	u32 npages;
};

/**
 * struct uroce_cache - idle pages of a protection domain
 * @ref: references: of the domain, of each watch, and of uroce_cache_empty()
 * @rcu: freed after a grace period, since other look-ups may find it in caches
 * @node: in caches
 * @mm: the only address space whose pages it has; only to be compared. Each
 *	watch holds a reference to it
 * @lock: protects the members below, and uroce_watch.idle
 * @closed: the domain is gone, or is about to be
 * @idle: idle pages, the oldest ones first
 * @by_range: the same, by the address of the first page
 * @count: number of entries of @idle
 * @npages: number of their pages
 * @stale: pages that were idle and are to be unpinned
 * @releasing: number of tasks that unpin such pages now
 * @seen: ranges that were deregistered, by the address of the first page
 * @work: unpins @stale
 */
struct uroce_cache {
	refcount_t ref;
	struct rcu_head rcu;
	struct hlist_node node;
	const struct mm_struct *mm;
	spinlock_t lock;
	bool closed;
	struct list_head idle;
	DECLARE_HASHTABLE(by_range, IDLE_BITS);
	u32 count;
	u64 npages;
	struct list_head stale;
	u32 releasing;
	struct uroce_seen seen[1 << SEEN_BITS];
	struct work_struct work;
};

/**
 * struct uroce_watch - the notifier of pinned pages
 * @notifier: of their range
 * @seq: the notifier's sequence number before they were pinned. While it is the
 *	notifier's, they are the pages of the process in this range
 * @cache: where they may become idle
 * @first: address of the first page
 * @npages: number of pages
 * @removal: removes the notifier, with the last region of the pages
 * @idle: the members below are in use
 * @pin: the pages
 * @pages: uroce_mr.pages of the last region
 * @link: in uroce_cache.idle; or, while @idle is false, in uroce_cache.stale
 * @node: in uroce_cache.by_range
 */
struct uroce_watch {
	struct mmu_interval_notifier notifier;
	unsigned long seq;
	struct uroce_cache *cache;
	unsigned long first;
	u32 npages;
	struct uroce_removal removal;
	bool idle;
	struct uroce_pin *pin;
	void **pages;
	struct list_head link;
	struct hlist_node node;
};

static inline u32 uroce_range_pages(u64 start, u64 length)
{
	return (PAGE_ALIGN(start + length) - (start & PAGE_MASK)) >> PAGE_SHIFT;
}

/* watch.c */
struct uroce_watch *uroce_watch_create(struct uroce_cache *cache, u64 start,
				       u64 length);
struct uroce_watch *uroce_watch_check(struct uroce_watch *watch, bool writable);
void uroce_watch_end(struct uroce_watch *watch);
void uroce_watch_note(struct uroce_cache *cache, unsigned long first,
		      u32 npages);

/* cache.c */
void uroce_cache_put(struct uroce_cache *cache);
void uroce_cache_retire(struct uroce_watch *watch);
bool uroce_cache_take(struct uroce_mr *mr, u64 start, u64 length);
struct uroce_watch *uroce_cache_watch(const struct uroce_mr *mr, u64 start,
				      u64 length);
bool uroce_cache_keep(struct uroce_mr *mr, struct uroce_pin *pin);
bool uroce_cache_empty(void);
void uroce_cache_resume(void);
#else
static inline bool uroce_cache_take(struct uroce_mr *mr, u64 start, u64 length)
{
	return false;
}

static inline struct uroce_watch *
uroce_cache_watch(const struct uroce_mr *mr, u64 start, u64 length)
{
	return NULL;
}

static inline struct uroce_watch *uroce_watch_check(struct uroce_watch *watch,
						    bool writable)
{
	return NULL;
}

static inline void uroce_watch_end(struct uroce_watch *watch) {}
static inline bool uroce_cache_keep(struct uroce_mr *mr, struct uroce_pin *pin)
{
	return false;
}

static inline bool uroce_cache_empty(void)
{
	return false;
}

static inline void uroce_cache_resume(void) {}
#endif

#endif
