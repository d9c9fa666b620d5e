// SPDX-License-Identifier: GPL-2.0
/*
 * Notifiers of pinned pages, for cache.c: which ranges have one, and when their
 * pages become stale.
 */
#include <linux/backing-dev.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/pkeys.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "cache.h"

/*
 * The page tables of the range are about to change. Called with locks of memory
 * management held, by reclaim too. The type of event does not matter: retiring
 * pages that remain valid only costs time.
 */
static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range,
		       unsigned long seq)
{
	struct uroce_watch *watch =
		container_of(notifier, struct uroce_watch, notifier);
	struct uroce_cache *cache = watch->cache;

	spin_lock(&cache->lock);
	mmu_interval_set_seq(notifier, seq);
	if (watch->idle)
		uroce_cache_retire(watch);
	spin_unlock(&cache->lock);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

static struct uroce_seen *seen_slot(struct uroce_cache *cache,
				    unsigned long first)
{
	return &cache->seen[hash_long(first >> PAGE_SHIFT, SEEN_BITS)];
}

/*
 * Was the range deregistered before? It is then forgotten until it is
 * deregistered once more without being kept. So a program that maps other
 * memory at the same address each time pays for every second notifier only.
 */
static bool range_seen(struct uroce_cache *cache, unsigned long first,
		       u32 npages)
{
	struct uroce_seen *seen = seen_slot(cache, first);
	bool found;

	spin_lock(&cache->lock);
	found = seen->first == first && seen->npages == npages;
	if (found)
		seen->npages = 0;
	spin_unlock(&cache->lock);
	return found;
}

void uroce_watch_note(struct uroce_cache *cache, unsigned long first,
		      u32 npages)
{
	struct uroce_seen *seen = seen_slot(cache, first);

	spin_lock(&cache->lock);
	seen->first = first;
	seen->npages = npages;
	spin_unlock(&cache->lock);
}

static struct uroce_watch *watch_insert(struct uroce_cache *cache,
					unsigned long first, u32 npages)
{
	struct uroce_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);

	if (!watch)
		return NULL;
	watch->cache = cache;
	watch->first = first;
	watch->npages = npages;
	if (mmu_interval_notifier_insert(&watch->notifier, current->mm, first,
					 npages * PAGE_SIZE, &notifier_ops)) {
		kfree(watch);
		return NULL;
	}
	refcount_inc(&cache->ref);
	/* Pairs with mmu_interval_read_retry() in watch_keep(). */
	watch->seq = mmu_interval_read_begin(&watch->notifier);
	return watch;
}

/*
 * Watches a range that was registered before, and whose pages will be pinned.
 * Returns NULL for another range, or if memory is short.
 */
struct uroce_watch *uroce_watch_create(struct uroce_cache *cache, u64 start,
				       u64 length)
{
	u32 npages = uroce_range_pages(start, length);

	start &= PAGE_MASK;
	return range_seen(cache, start, npages) ?
		       watch_insert(cache, start, npages) :
		       NULL;
}

/*
 * A thread can withdraw its rights to memory with a protection key without a
 * system call, and then must not register it. Nothing tells the notifier. And
 * unpinning a page of a file that was written waits for the lock of the page,
 * which a file system that does not answer may hold, FUSE for example. Many
 * such pages could take all work items from other processes. Since Linux 6.5
 * pages of such files cannot be pinned for writing.
 */
static bool area_fits(struct vm_area_struct *vma, bool writable)
{
	if (vma_pkey(vma))
		return false;
	return !writable || !vma->vm_file || !(vma->vm_flags & VM_SHARED) ||
	       !mapping_can_writeback(vma->vm_file->f_mapping);
}

/*
 * A tagged address (TBI of arm64, LAM of x86) lies in no area. The addresses of
 * which the kernel tells the notifier have no tags. The lock may be held for as
 * long as a page fault in a FUSE file takes. A removal of the device waits for
 * this call, so a process that is killed does not wait.
 */
static bool range_fits(struct mm_struct *mm, const struct uroce_watch *watch,
		       bool writable)
{
	unsigned long at = watch->first, end = at + watch->npages * PAGE_SIZE;
	struct vm_area_struct *vma;

	if (mmap_read_lock_killable(mm))
		return false;
	while (at < end) {
		vma = find_vma(mm, at);
		if (!vma || vma->vm_start > at || !area_fits(vma, writable))
			break;
		at = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return at >= end;
}

/*
 * The pages of @watch, which may be NULL, were pinned. Returns NULL, and ends
 * the watch, if they must not become idle. A later change calls the notifier.
 * mprotect(2) and pkey_mprotect(2) do so only for parts that have page tables,
 * which a range may lack before it is pinned.
 */
struct uroce_watch *uroce_watch_check(struct uroce_watch *watch, bool writable)
{
	if (!watch || range_fits(current->mm, watch, writable))
		return watch;
	uroce_watch_end(watch);
	return NULL;
}

static void watch_free(struct uroce_removal *removal)
{
	struct uroce_watch *watch =
		container_of(removal, struct uroce_watch, removal);

	uroce_cache_put(watch->cache);
	kfree(watch);
}

/* @watch may be NULL. Does not wait: a device may be being removed. */
void uroce_watch_end(struct uroce_watch *watch)
{
	if (!watch)
		return;
	kvfree(watch->pages);
	uroce_removal_begin(&watch->removal, &watch->notifier, watch_free);
}
