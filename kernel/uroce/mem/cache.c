// SPDX-License-Identifier: GPL-2.0
/*
 * Pinned pages that are registered again.
 *
 * Pinning the pages of a region costs more than everything else that a
 * registration does. So pages whose last region was deregistered may stay
 * pinned and charged, until the process registers the same pages in the same
 * protection domain again. Only the pages and the table of their addresses are
 * used again. The region and its keys are new.
 *
 * Such pages are idle. An interval notifier of the kernel watches their range
 * of addresses since before they were pinned, and is called before the page
 * tables of the range lose a page or a right: by munmap(2), mremap(2),
 * mprotect(2), madvise(2), truncate(2), fork(2), a page fault that copies, or
 * the end of the process. Idle pages are then stale at once, and a work item
 * unpins them: the notifier must not sleep. Pages that are in use become stale
 * as well, and are unpinned with their last region. So after such a system call
 * has returned, no registration gets the former pages.
 *
 * The notifier and idle pages cost programs that register memory only once. A
 * range is therefore watched from the second registration on, and its pages are
 * first used again by the third one.
 *
 * No work item waits for a file system: pages of files that are written back do
 * not become idle if they were pinned for writing. Nor does it wait until no
 * thread of the process changes its page tables: see removal.c.
 *
 * Locks: uroce_cache.lock and caches_lock are taken inside all other locks, and
 * neither inside the other. Reclaim and the notifier take uroce_cache.lock, so
 * no memory is allocated under it. Pages are unpinned without a lock of this
 * file, because that sleeps.
 */
#include <linux/capability.h>
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <rdma/ib_umem.h>

#include "../dev/dev.h"
#include "cache.h"
#include "pin.h"

/* Bounds the time that a search takes. */
#define IDLE_MAX	256
#define RETRY_BITS	6

static struct workqueue_struct *cache_wq;
static struct shrinker *cache_shrinker;
/* Caches by address space: changed under caches_lock, read under RCU */
static DEFINE_HASHTABLE(caches, 6);
static DEFINE_SPINLOCK(caches_lock);
/* Idle pages of all caches */
static atomic_long_t idle_pages = ATOMIC_LONG_INIT(0);
/* There was a cache since the module was loaded. */
static bool caches_used;
/*
 * Registrations that are being tried again, by address space. Two may share a
 * counter, which only costs time.
 */
static atomic_t retries[1 << RETRY_BITS];

/* Off unless the administrator wants it. */
static unsigned int pin_cache_mib;

/* The maximum number of idle pages of a cache. */
static u64 cache_limit(void)
{
	return (u64)READ_ONCE(pin_cache_mib) << (20 - PAGE_SHIFT);
}

static atomic_t *retries_of(const struct mm_struct *mm)
{
	return &retries[hash_ptr(mm, RETRY_BITS)];
}

/* ---- caches -------------------------------------------------------------- */

void uroce_cache_put(struct uroce_cache *cache)
{
	if (refcount_dec_and_test(&cache->ref))
		kfree_rcu(cache, rcu);
}

/*
 * The cache for the calling process, or NULL. A process that has inherited the
 * domain by fork(2) has none.
 */
static struct uroce_cache *cache_of(const struct uroce_mr *mr)
{
	struct uroce_pd *pd = to_upd(mr->ib.pd);
	/* Pairs with the release in cache_publish(). */
	struct uroce_cache *cache = smp_load_acquire(&pd->cache);

	return cache && cache->mm == current->mm ? cache : NULL;
}

/* The numbers are read without the lock too. */
static void cache_count(struct uroce_cache *cache, int count, long npages)
{
	lockdep_assert_held(&cache->lock);
	WRITE_ONCE(cache->count, cache->count + count);
	WRITE_ONCE(cache->npages, cache->npages + npages);
	atomic_long_add(npages, &idle_pages);
}

static void watch_unlist(struct uroce_watch *watch)
{
	struct uroce_cache *cache = watch->cache;

	lockdep_assert_held(&cache->lock);
	watch->idle = false;
	list_del(&watch->link);
	hash_del(&watch->node);
	cache_count(cache, -1, -(long)watch->npages);
}

static void watch_list(struct uroce_watch *watch)
{
	struct uroce_cache *cache = watch->cache;

	lockdep_assert_held(&cache->lock);
	watch->idle = true;
	list_add_tail(&watch->link, &cache->idle);
	hash_add(cache->by_range, &watch->node, watch->first);
	cache_count(cache, 1, watch->npages);
}

/* No registration finds these pages any more. The caller has them unpinned. */
static void watch_retire(struct uroce_watch *watch)
{
	watch_unlist(watch);
	list_add_tail(&watch->link, &watch->cache->stale);
}

/* Retires idle pages and has them unpinned. Context: the cache's lock. */
void uroce_cache_retire(struct uroce_watch *watch)
{
	watch_retire(watch);
	queue_work(cache_wq, &watch->cache->work);
}

/* Retires the oldest pages while there are more than @npages, or more parts. */
static void cache_trim(struct uroce_cache *cache, u64 npages)
{
	lockdep_assert_held(&cache->lock);
	while (cache->npages > npages || cache->count > IDLE_MAX)
		watch_retire(list_first_entry(&cache->idle, struct uroce_watch,
					      link));
}

static struct uroce_watch *stale_take(struct uroce_cache *cache)
{
	struct uroce_watch *watch;

	spin_lock(&cache->lock);
	watch = list_first_entry_or_null(&cache->stale, struct uroce_watch,
					 link);
	if (watch) {
		list_del(&watch->link);
		WRITE_ONCE(cache->releasing, cache->releasing + 1);
	}
	spin_unlock(&cache->lock);
	return watch;
}

static void stale_done(struct uroce_cache *cache)
{
	spin_lock(&cache->lock);
	WRITE_ONCE(cache->releasing, cache->releasing - 1);
	spin_unlock(&cache->lock);
	/* Orders @releasing before the look for a waiter. */
	smp_mb();
	wake_up_var(&cache->releasing);
}

/*
 * Unpins stale pages, one part at a time, so that several tasks can do so. The
 * caller has a reference to the cache.
 */
static void cache_release(struct uroce_cache *cache)
{
	struct uroce_watch *watch;

	while ((watch = stale_take(cache))) {
		uroce_pin_free(watch->pin);
		stale_done(cache);
		cond_resched();
	}
}

static void cache_work(struct work_struct *work)
{
	cache_release(container_of(work, struct uroce_cache, work));
}

/*
 * The table has a cache before the domain does, so uroce_cache_empty() finds
 * every cache with idle pages. Returns false if another thread was faster.
 */
static bool cache_publish(struct uroce_pd *pd, struct uroce_cache *cache)
{
	bool first;

	spin_lock(&caches_lock);
	first = !pd->cache;
	if (first) {
		hash_add_rcu(caches, &cache->node, (unsigned long)cache->mm);
		/* Pairs with the acquire in cache_of(). */
		smp_store_release(&pd->cache, cache);
	}
	spin_unlock(&caches_lock);
	return first;
}

/* Another thread may have made one meanwhile. The next region uses that one. */
static struct uroce_cache *cache_create(const struct uroce_mr *mr)
{
	struct uroce_pd *pd = to_upd(mr->ib.pd);
	struct uroce_cache *cache;

	if (READ_ONCE(pd->cache))
		return NULL;
	WRITE_ONCE(caches_used, true);
	cache = kzalloc(sizeof(*cache), GFP_KERNEL_ACCOUNT);
	if (!cache)
		return NULL;
	refcount_set(&cache->ref, 1);
	cache->mm = current->mm;
	spin_lock_init(&cache->lock);
	INIT_LIST_HEAD(&cache->idle);
	hash_init(cache->by_range);
	INIT_LIST_HEAD(&cache->stale);
	INIT_WORK(&cache->work, cache_work);
	if (cache_publish(pd, cache))
		return cache;
	kfree(cache);
	return NULL;
}

/*
 * The domain has no regions any more. Regions that have left it may still have
 * pages that are watched: these are unpinned with their last region. On return
 * nothing unpins pages of this cache, so the device may be freed.
 */
void uroce_cache_close(struct ib_pd *pd)
{
	struct uroce_cache *cache = to_upd(pd)->cache;

	if (!cache)
		return;
	spin_lock(&cache->lock);
	cache->closed = true;
	cache_trim(cache, 0);
	spin_unlock(&cache->lock);
	/* The work item is queued under the lock, for pages that were idle. */
	cancel_work_sync(&cache->work);
	cache_release(cache);
	wait_var_event(&cache->releasing, !READ_ONCE(cache->releasing));
	/* Its pages were charged until now: see uroce_cache_empty(). */
	spin_lock(&caches_lock);
	hash_del_rcu(&cache->node);
	spin_unlock(&caches_lock);
	uroce_cache_put(cache);
}

/* ---- registrations ------------------------------------------------------- */

/*
 * Idle pages of the range that were pinned for @writable. A region that only
 * reads must not get pages that were pinned for writing: another process that
 * has the domain could give it the right to write.
 */
static struct uroce_watch *watch_find(struct uroce_cache *cache,
				      unsigned long first, u32 npages,
				      bool writable)
{
	struct uroce_watch *watch;

	lockdep_assert_held(&cache->lock);
	hash_for_each_possible(cache->by_range, watch, node, first)
		if (watch->first == first && watch->npages == npages &&
		    watch->pin->writable == writable)
			return watch;
	return NULL;
}

/* The limit may have become lower than what the process has pinned. */
static bool may_pin(void)
{
	return atomic64_read(&current->mm->pinned_vm) <=
		       rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT ||
	       capable(CAP_IPC_LOCK);
}

static void region_use(struct uroce_mr *mr, struct uroce_watch *watch,
		       u64 start)
{
	refcount_set(&watch->pin->ref, 1);
	mr->pin = watch->pin;
	mr->umem = watch->pin->umem;
	mr->offset = offset_in_page(start);
	mr->npages = watch->npages;
	mr->room = watch->npages;
	mr->pages = watch->pages;
	watch->pages = NULL;
	uroce_count(to_udev(mr->ib.device), UROCE_CNT_PINS_REUSED);
}

/*
 * Gives a region that is not published idle pages of its range. Returns false
 * if there are none.
 */
bool uroce_cache_take(struct uroce_mr *mr, u64 start, u64 length)
{
	struct uroce_cache *cache = cache_of(mr);
	struct uroce_watch *watch;

	if (!cache)
		return false;
	/* Other processes may keep the work items busy. */
	if (!list_empty_careful(&cache->stale))
		cache_release(cache);
	if (!READ_ONCE(cache->count) || !may_pin())
		return false;
	spin_lock(&cache->lock);
	watch = watch_find(cache, start & PAGE_MASK,
			   uroce_range_pages(start, length),
			   ib_access_writable(mr->access));
	if (watch)
		watch_unlist(watch);
	spin_unlock(&cache->lock);
	if (!watch)
		return false;
	region_use(mr, watch, start);
	return true;
}

/*
 * Before the pages of a new region are pinned: watches them, if they are to be
 * kept after it. Returns NULL otherwise, also if memory is short.
 */
struct uroce_watch *uroce_cache_watch(const struct uroce_mr *mr, u64 start,
				      u64 length)
{
	struct uroce_cache *cache = cache_of(mr);

	if (!cache || uroce_range_pages(start, length) > cache_limit())
		return NULL;
	return uroce_watch_create(cache, start, length);
}

/*
 * Keeps pages unless they are stale, others of the same range are kept, or the
 * process needs the charge. Pairs with mmu_interval_read_begin() in
 * watch_insert().
 */
static bool watch_keep(struct uroce_watch *watch, struct uroce_mr *mr)
{
	struct uroce_cache *cache = watch->cache;
	u64 limit = cache_limit();

	lockdep_assert_held(&cache->lock);
	if (cache->closed || watch->npages > limit ||
	    atomic_read(retries_of(cache->mm)) ||
	    mmu_interval_read_retry(&watch->notifier, watch->seq) ||
	    watch_find(cache, watch->first, watch->npages,
		       mr->pin->writable))
		return false;
	watch->pin = mr->pin;
	watch->pages = mr->pages;
	mr->pages = NULL;
	watch_list(watch);
	cache_trim(cache, limit);
	return true;
}

static bool region_keep(struct uroce_mr *mr, struct uroce_watch *watch)
{
	struct uroce_cache *cache = watch->cache;
	bool kept;

	/* The caller has no reference to the cache once others find it. */
	refcount_inc(&cache->ref);
	spin_lock(&cache->lock);
	kept = watch_keep(watch, mr);
	spin_unlock(&cache->lock);
	if (kept)
		cache_release(cache);
	uroce_cache_put(cache);
	return kept;
}

/*
 * The last region of these pages, which is being freed, gives them up. Returns
 * true if they are kept. A region that was extended has another table, one that
 * could not be made has none, and a process that ends would have them unpinned
 * right away.
 */
bool uroce_cache_keep(struct uroce_mr *mr, struct uroce_pin *pin)
{
	struct uroce_watch *watch = pin->watch;
	struct uroce_cache *cache;

	if (pin->before || pin->umem->owning_mm != current->mm ||
	    current->flags & PF_EXITING || !mr->pages || !cache_limit())
		return false;
	if (watch && watch->npages == mr->npages && region_keep(mr, watch))
		return true;
	cache = cache_of(mr) ?: cache_create(mr);
	if (cache)
		uroce_watch_note(cache, mr->umem->address & PAGE_MASK,
				 mr->npages);
	return false;
}

/* ---- release ------------------------------------------------------------- */

/*
 * Unpins the idle pages of a cache, and waits for other tasks that unpin some:
 * they are charged until then.
 */
static void cache_empty(struct uroce_cache *cache)
{
	spin_lock(&cache->lock);
	cache_trim(cache, 0);
	spin_unlock(&cache->lock);
	cache_release(cache);
	wait_var_event_killable(&cache->releasing,
				!READ_ONCE(cache->releasing));
}

/*
 * Empties the caches of an address space. If a domain ends meanwhile, the walk
 * begins again. The cache of a domain that is ending is found until its pages
 * are unpinned; nothing becomes idle in it.
 */
static void caches_empty(const struct mm_struct *mm)
{
	struct uroce_cache *cache;
	bool gone;

	rcu_read_lock();
again:
	hash_for_each_possible_rcu(caches, cache, node, (unsigned long)mm) {
		if (cache->mm != mm || !refcount_inc_not_zero(&cache->ref))
			continue;
		rcu_read_unlock();
		cache_empty(cache);
		rcu_read_lock();
		gone = hlist_unhashed_lockless(&cache->node);
		uroce_cache_put(cache);
		if (gone)
			goto again;
	}
	rcu_read_unlock();
}

/*
 * Unpins the idle pages of the calling process, in all of its protection
 * domains. Returns whether there may have been any when the caller failed: they
 * may have been unpinned since, and their domain may have ended. The caller
 * then tries again and calls uroce_cache_resume(). No pages become idle until
 * then, since those of other threads could be too many again. The lock of each
 * cache orders the counter before its look in watch_keep().
 */
bool uroce_cache_empty(void)
{
	if (!READ_ONCE(caches_used))
		return false;
	atomic_inc(retries_of(current->mm));
	/* Before the look for caches; a new one looks at the counter. */
	smp_mb__after_atomic();
	caches_empty(current->mm);
	return true;
}

void uroce_cache_resume(void)
{
	atomic_dec(retries_of(current->mm));
}

static unsigned long shrink_count(struct shrinker *shrinker,
				  struct shrink_control *sc)
{
	return atomic_long_read(&idle_pages) ?: SHRINK_EMPTY;
}

/* Retires the oldest pages of a cache. Returns their number. */
static u64 cache_shrink(struct uroce_cache *cache, u64 npages)
{
	u64 before, after;

	spin_lock(&cache->lock);
	before = cache->npages;
	cache_trim(cache, before - min(before, npages));
	after = cache->npages;
	/* Nothing is idle once the cache is closed. */
	if (after != before)
		queue_work(cache_wq, &cache->work);
	spin_unlock(&cache->lock);
	return before - after;
}

/*
 * Has up to @npages unpinned, and some more if a part has more. The work items
 * unpin them, since that may wait for a lock of a page that the caller holds.
 * There may be very many caches, most of them without pages.
 */
static u64 caches_shrink(u64 npages)
{
	struct uroce_cache *cache;
	u64 done = 0;
	int i;

	rcu_read_lock();
	hash_for_each_rcu(caches, i, cache, node) {
		if (done >= npages)
			break;
		if (READ_ONCE(cache->npages))
			done += cache_shrink(cache, npages - done);
	}
	rcu_read_unlock();
	return done;
}

/*
 * Has all idle pages unpinned. Takes the lock of caches without pages too: a
 * region that is being kept there may have read the former limit.
 */
static void caches_drain(void)
{
	struct uroce_cache *cache;
	int i;

	rcu_read_lock();
	hash_for_each_rcu(caches, i, cache, node)
		cache_shrink(cache, U64_MAX);
	rcu_read_unlock();
}

static unsigned long shrink_scan(struct shrinker *shrinker,
				 struct shrink_control *sc)
{
	sc->nr_scanned = caches_shrink(sc->nr_to_scan);
	return sc->nr_scanned ?: SHRINK_STOP;
}

/* Each write unpins all idle pages, also if the limit rises. */
static int limit_set(const char *text, const struct kernel_param *kp)
{
	int ret = param_set_uint(text, kp);

	if (!ret)
		caches_drain();
	return ret;
}

static const struct kernel_param_ops limit_ops = {
	.set = limit_set,
	.get = param_get_uint,
};
module_param_cb(pin_cache_mib, &limit_ops, &pin_cache_mib, 0644);
MODULE_PARM_DESC(pin_cache_mib,
		 "MiB of idle pinned pages kept per protection domain for re-registration (0: none)");

int uroce_cache_init(void)
{
	/* Unbound: one item with many pages delays no other one. */
	cache_wq = alloc_workqueue("uroce_cache", WQ_UNBOUND | WQ_MEM_RECLAIM,
				   WQ_MAX_ACTIVE);
	if (!cache_wq)
		return -ENOMEM;
	cache_shrinker = univ_shrinker_add("uroce-cache", shrink_count,
					   shrink_scan);
	if (cache_shrinker)
		return 0;
	destroy_workqueue(cache_wq);
	return -ENOMEM;
}

/* Every domain is gone, and its work item with it. */
void uroce_cache_exit(void)
{
	univ_shrinker_remove(cache_shrinker);
	destroy_workqueue(cache_wq);
}
