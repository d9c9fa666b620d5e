// SPDX-License-Identifier: GPL-2.0
/*
 * The pages of on-demand paging that are present, in chunks of the address
 * space. For the locks see odp.c.
 *
 * The umems of the RDMA core for on-demand paging were rejected: they take two
 * more lists of the pages, and charge none of them.
 */
#include <linux/hmm.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "odp.h"

/* How long a fault is repeated while the page tables keep changing. */
#define FAULT_TIME	msecs_to_jiffies(HMM_RANGE_DEFAULT_TIMEOUT)

/*
 * The maximum number of chunks of a region. With pages of 4 KiB they list 256
 * MiB. The oldest chunk gives way to a new one.
 */
#define CHUNKS_MAX	128

/*
 * The chunks of all regions should take at most this part of the memory. Beyond
 * it, a region that has CHUNKS_MIN chunks gives up its oldest one for a new
 * one. A request needs a few at the same time.
 */
#define CHUNKS_PART	64
#define CHUNKS_MIN	8

static atomic_long_t chunks;

static bool too_many(void)
{
	return atomic_long_read(&chunks) > totalram_pages() / CHUNKS_PART;
}

static unsigned long chunk_end(const struct uroce_chunk *c)
{
	return c->start + CHUNK_SIZE;
}

static bool chunk_has(struct uroce_chunk *c, unsigned long from,
		      unsigned long to)
{
	for (; from < to; from += PAGE_SIZE)
		if (*chunk_entry(c, from))
			return true;
	return false;
}

/* The dirty flag is set without the lock, which is taken in softirqs. */
static void chunk_unlist(struct uroce_chunk *c, unsigned long from,
			 unsigned long to)
{
	struct uroce_odp *odp = c->odp;
	unsigned long at, *entry;

	write_lock_bh(&odp->lock);
	for (at = from; at < to; at += PAGE_SIZE) {
		entry = chunk_entry(c, at);
		WRITE_ONCE(*entry, *entry & ~ENTRY_VALID);
	}
	write_unlock_bh(&odp->lock);
	for (at = from; at < to; at += PAGE_SIZE) {
		entry = chunk_entry(c, at);
		if (*entry & ENTRY_WRITE)
			set_page_dirty(virt_to_page((void *)*entry));
		WRITE_ONCE(*entry, 0);
	}
}

/* Removes pages. On return no copy uses them. */
static void chunk_forget(struct uroce_chunk *c, unsigned long from,
			 unsigned long to)
{
	lockdep_assert_held(&c->lock);
	/* The region may be gone once the list is. */
	if (c->entries && chunk_has(c, from, to))
		chunk_unlist(c, from, to);
}

/*
 * The OOM reaper must not wait, and skips an area of which one notifier
 * refuses. The lock is held only briefly, and the reaper tries again.
 */
static bool chunk_lock(struct uroce_chunk *c, bool wait)
{
	if (!wait)
		return mutex_trylock(&c->lock);
	mutex_lock(&c->lock);
	return true;
}

/* The process's page tables are about to lose pages, or their write access. */
static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range,
		       unsigned long seq)
{
	struct uroce_chunk *c =
		container_of(notifier, struct uroce_chunk, notifier);

	if (!chunk_lock(c, mmu_notifier_range_blockable(range)))
		return false;
	mmu_interval_set_seq(notifier, seq);
	chunk_forget(c, max(range->start, c->start),
		     min(range->end, chunk_end(c)));
	mutex_unlock(&c->lock);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

static void entries_free(struct uroce_chunk *c)
{
	free_page((unsigned long)c->entries);
	c->entries = NULL;
	atomic_long_dec(&chunks);
}

/* No copy uses its pages on return, and the notifier finds none any more. */
static void chunk_empty(struct uroce_chunk *c)
{
	struct uroce_odp *odp = c->odp;

	list_del(&c->link);
	odp->count--;
	mutex_lock(&c->lock);
	/* A copy that has found the pages looks the chunk up again. */
	write_lock_bh(&odp->lock);
	xa_erase_bh(&odp->chunks, c->start / CHUNK_SIZE);
	write_unlock_bh(&odp->lock);
	chunk_forget(c, c->start, chunk_end(c));
	entries_free(c);
	mutex_unlock(&c->lock);
}

/* Waits for as long as threads of the process change its page tables. */
static void chunk_release(struct uroce_chunk *c)
{
	chunk_empty(c);
	mmu_interval_notifier_remove(&c->notifier);
	kfree(c);
}

static void chunk_free(struct uroce_removal *removal)
{
	kfree(container_of(removal, struct uroce_chunk, removal));
}

/* The region is gone. Does not wait. */
void uroce_chunk_end(struct uroce_chunk *c)
{
	chunk_empty(c);
	uroce_removal_begin(&c->removal, &c->notifier, chunk_free);
}

static struct uroce_chunk *chunk_alloc(struct uroce_odp *odp,
				       unsigned long start)
{
	struct uroce_chunk *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	int ret = -ENOMEM;

	if (!c)
		return ERR_PTR(ret);
	atomic_long_inc(&chunks);
	c->odp = odp;
	c->start = start;
	mutex_init(&c->lock);
	c->entries = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (c->entries)
		ret = mmu_interval_notifier_insert(&c->notifier, odp->mm, start,
						   CHUNK_SIZE, &notifier_ops);
	if (!ret)
		return c;
	entries_free(c);
	kfree(c);
	return ERR_PTR(ret);
}

static struct uroce_chunk *chunk_get(struct uroce_odp *odp, unsigned long addr)
{
	struct uroce_chunk *c = xa_load(&odp->chunks, addr / CHUNK_SIZE);
	int ret;

	if (c)
		return c;
	if (odp->count == CHUNKS_MAX ||
	    (odp->count >= CHUNKS_MIN && too_many()))
		chunk_release(list_first_entry(&odp->order, struct uroce_chunk,
					       link));
	c = chunk_alloc(odp, ALIGN_DOWN(addr, CHUNK_SIZE));
	if (IS_ERR(c))
		return c;
	ret = xa_err(xa_store_bh(&odp->chunks, addr / CHUNK_SIZE, c,
				 GFP_KERNEL));
	if (ret) {
		mmu_interval_notifier_remove(&c->notifier);
		entries_free(c);
		kfree(c);
		return ERR_PTR(ret);
	}
	list_add_tail(&c->link, &odp->order);
	odp->count++;
	return c;
}

/*
 * Is the page mapped as a part of a huge one, if the region demands it? The
 * owner of such a region promises that, and other devices rely on it. So a
 * program that breaks the promise fails here too.
 */
static bool page_is_fit(const struct uroce_odp *odp, unsigned long pfn)
{
	return !odp->huge ||
	       hmm_pfn_to_map_order(pfn) + PAGE_SHIFT >= HPAGE_SHIFT;
}

/*
 * A page that could be written stays the same page until it is removed. A page
 * that the kernel itself cannot reach (memfd_secret(2)) is refused: its address
 * stays unmapped while it is that page.
 */
static int chunk_list(struct uroce_chunk *c, const struct hmm_range *range,
		      bool write)
{
	const unsigned long *pfn = range->hmm_pfns;
	unsigned long at, *entry, flags;
	void *page;
	u8 byte;

	lockdep_assert_held(&c->lock);
	for (at = range->start; at < range->end; at += PAGE_SIZE, pfn++) {
		/* Nothing was faulted in, and the page is not there. */
		if (!(*pfn & HMM_PFN_VALID))
			continue;
		page = page_address(hmm_pfn_to_page(*pfn));
		if (!page_is_fit(c->odp, *pfn) ||
		    copy_from_kernel_nofault(&byte, page, sizeof(byte)))
			return -EFAULT;
		flags = ENTRY_VALID;
		if (write && *pfn & HMM_PFN_WRITE)
			flags |= ENTRY_WRITE;
		entry = chunk_entry(c, at);
		WRITE_ONCE(*entry, (unsigned long)page | flags |
			   (*entry & ENTRY_WRITE));
	}
	return 0;
}

/*
 * Only the processor writes to a shadow stack, although its pages count as
 * writable. A process cannot write there, nor have it pinned for writing.
 */
static bool has_shadow_stack(struct mm_struct *mm,
			     const struct hmm_range *range)
{
	unsigned long at = range->start;
	struct vm_area_struct *vma;
	bool found = false;

	if (!VM_SHADOW_STACK)
		return false;
	mmap_read_lock(mm);
	while (!found && at < range->end) {
		vma = find_vma(mm, at);
		if (!vma || vma->vm_start >= range->end)
			break;
		found = vma->vm_flags & VM_SHADOW_STACK;
		at = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return found;
}

/*
 * Finds the pages of a range in the page tables. On success the caller unlocks
 * the chunk: until then the pages belong to the process. A mapping that changes
 * after the look at the areas changes the notifier's sequence number as well.
 */
static int pages_lock(struct uroce_chunk *c, struct hmm_range *range,
		      bool write)
{
	unsigned long end = jiffies + FAULT_TIME;
	int ret;

	do {
		ret = hmm_range_fault_unlocked_timeout(range, FAULT_TIME);
		if (ret)
			return ret;
		if (write && has_shadow_stack(c->odp->mm, range))
			return -EFAULT;
		mutex_lock(&c->lock);
		if (!mmu_interval_read_retry(&c->notifier, range->notifier_seq))
			return 0;
		mutex_unlock(&c->lock);
	} while (time_before(jiffies, end));
	return -EBUSY;
}

static int chunk_fill(struct uroce_chunk *c, unsigned long addr,
		      unsigned long len, bool write, bool fault)
{
	struct hmm_range range = {
		.notifier = &c->notifier,
		.start = addr & PAGE_MASK,
		.end = PAGE_ALIGN(addr + len),
	};
	int ret;

	if (fault)
		range.default_flags = HMM_PFN_REQ_FAULT |
				      (write ? HMM_PFN_REQ_WRITE : 0);
	range.hmm_pfns = kcalloc((range.end - range.start) >> PAGE_SHIFT,
				 sizeof(*range.hmm_pfns), GFP_KERNEL_ACCOUNT);
	if (!range.hmm_pfns)
		return -ENOMEM;
	ret = pages_lock(c, &range, write);
	if (!ret) {
		ret = chunk_list(c, &range, write);
		mutex_unlock(&c->lock);
	}
	kfree(range.hmm_pfns);
	return ret;
}

/* A chunk that lists nothing is not kept: addresses alone cost no memory. */
static void chunk_drop_empty(struct uroce_chunk *c)
{
	if (!chunk_has(c, c->start, chunk_end(c)))
		chunk_release(c);
}

static int chunk_fault(struct uroce_odp *odp, unsigned long addr,
		       unsigned long len, bool write, bool fault)
{
	struct uroce_chunk *c = chunk_get(odp, addr);
	int ret;

	if (IS_ERR(c))
		return PTR_ERR(c);
	ret = chunk_fill(c, addr, len, write, fault);
	if (ret || !fault)
		chunk_drop_empty(c);
	return ret;
}

/*
 * Does a task still own @mm? A work item whose fault never ends may keep the mm
 * of a process that has exited.
 */
static bool mm_has_owner(const struct mm_struct *mm)
{
#ifdef CONFIG_MEMCG
	return rcu_access_pointer(mm->owner);
#else
	return true;
#endif
}

/*
 * Lists pages of one chunk, and faults them in if @fault is set. The chunks and
 * the page tables are charged to the process. -EAGAIN: try again; -EFAULT: the
 * process has no such memory.
 */
int uroce_chunk_fault(struct uroce_odp *odp, unsigned long addr,
		      unsigned long len, bool write, bool fault)
{
	struct mem_cgroup *memcg, *former;
	int ret = -ESRCH;

	if (!mmget_not_zero(odp->mm))
		return -EFAULT;
	if (!mm_has_owner(odp->mm))
		goto put_mm;
	memcg = get_mem_cgroup_from_mm(odp->mm);
	former = set_active_memcg(memcg);
	ret = chunk_fault(odp, addr, len, write, fault);
	set_active_memcg(former);
	mem_cgroup_put(memcg);
put_mm:
	mmput_async(odp->mm);
	if (!ret)
		return 0;
	return ret == -EBUSY || ret == -ENOMEM ? -EAGAIN : -EFAULT;
}
