// SPDX-License-Identifier: GPL-2.0
/*
 * The pages of on-demand paging that are present, in chunks of the address
 * space. Each chunk is a umem of the RDMA core. For the locks see odp.c.
 */
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_umem_odp.h>

#include "odp.h"

/*
 * The maximum number of chunks of a region. With pages of 4 KiB they take three
 * pages each, which are charged to no process, and list 256 MiB. The oldest
 * chunk gives way to a new one.
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
	return atomic_long_read(&chunks) > totalram_pages() / 3 / CHUNKS_PART;
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

/*
 * Removes pages. On return no copy uses them. Pages behind one that was refused
 * are mapped and not listed: see chunk_list().
 */
static void chunk_forget(struct uroce_chunk *c, unsigned long from,
			 unsigned long to)
{
	lockdep_assert_held(&c->umem->umem_mutex);
	if (chunk_has(c, from, to))
		chunk_unlist(c, from, to);
	ib_umem_odp_unmap_dma_pages(c->umem, from, to);
}

/*
 * The process's page tables are about to lose pages, or their write access. May
 * be called before @private is set; then no page is listed.
 */
static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range,
		       unsigned long seq)
{
	struct ib_umem_odp *umem =
		container_of(notifier, struct ib_umem_odp, notifier);
	struct uroce_chunk *c;

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&umem->umem_mutex);
	mmu_interval_set_seq(notifier, seq);
	c = READ_ONCE(umem->private);
	if (c)
		chunk_forget(c, max(range->start, ib_umem_start(umem)),
			     min(range->end, ib_umem_end(umem)));
	mutex_unlock(&umem->umem_mutex);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

static void chunk_free(struct uroce_chunk *c)
{
	free_page((unsigned long)c->entries);
	kfree(c);
	atomic_long_dec(&chunks);
}

void uroce_chunk_release(struct uroce_chunk *c)
{
	struct uroce_odp *odp = c->odp;

	list_del(&c->link);
	odp->count--;
	mutex_lock(&c->umem->umem_mutex);
	/* A copy that has found the pages looks the chunk up again. */
	write_lock_bh(&odp->lock);
	xa_erase_bh(&odp->chunks, ib_umem_start(c->umem) / CHUNK_SIZE);
	write_unlock_bh(&odp->lock);
	chunk_forget(c, ib_umem_start(c->umem), ib_umem_end(c->umem));
	mutex_unlock(&c->umem->umem_mutex);
	ib_umem_odp_release(c->umem);
	chunk_free(c);
}

static struct uroce_chunk *chunk_alloc(struct uroce_odp *odp,
				       unsigned long addr)
{
	struct uroce_chunk *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return ERR_PTR(-ENOMEM);
	atomic_long_inc(&chunks);
	c->odp = odp;
	c->entries = (void *)get_zeroed_page(GFP_KERNEL);
	if (!c->entries) {
		chunk_free(c);
		return ERR_PTR(-ENOMEM);
	}
	c->umem = ib_umem_odp_alloc_child(odp->root,
					  ALIGN_DOWN(addr, CHUNK_SIZE),
					  CHUNK_SIZE, &notifier_ops);
	if (IS_ERR(c->umem)) {
		int ret = PTR_ERR(c->umem);

		chunk_free(c);
		return ERR_PTR(ret);
	}
	WRITE_ONCE(c->umem->private, c);
	return c;
}

static struct uroce_chunk *chunk_get(struct uroce_odp *odp, unsigned long addr)
{
	struct uroce_chunk *c = xa_load(&odp->chunks, addr / CHUNK_SIZE);
	int ret;

	if (c)
		return c;
	if (odp->count == CHUNKS_MAX ||
	    (odp->count >= CHUNKS_MIN && too_many()))
		uroce_chunk_release(list_first_entry(&odp->order,
						     struct uroce_chunk, link));
	c = chunk_alloc(odp, addr);
	if (IS_ERR(c))
		return c;
	ret = xa_err(xa_store_bh(&odp->chunks, addr / CHUNK_SIZE, c,
				 GFP_KERNEL));
	if (ret) {
		ib_umem_odp_release(c->umem);
		chunk_free(c);
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
 * stays unmapped as long as it is that page.
 */
static int chunk_list(struct uroce_chunk *c, unsigned long addr,
		      unsigned long len, bool write)
{
	const unsigned long *pfns = univ_odp_pfns(c->umem);
	unsigned long at = addr & PAGE_MASK, *entry, pfn;
	unsigned long flags = ENTRY_VALID | (write ? ENTRY_WRITE : 0);
	void *page;
	u8 byte;

	lockdep_assert_held(&c->umem->umem_mutex);
	for (; at < addr + len; at += PAGE_SIZE) {
		entry = chunk_entry(c, at);
		pfn = pfns[entry - c->entries];
		/* Nothing was faulted in, and the page is not there. */
		if (!(pfn & HMM_PFN_VALID))
			continue;
		page = page_address(hmm_pfn_to_page(pfn));
		if (!page_is_fit(c->odp, pfn) ||
		    copy_from_kernel_nofault(&byte, page, sizeof(byte)))
			return -EFAULT;
		WRITE_ONCE(*entry, (unsigned long)page | flags |
			   (*entry & ENTRY_WRITE));
	}
	return 0;
}

/* A chunk that lists nothing is not kept: addresses alone cost no memory. */
static void chunk_drop_empty(struct uroce_chunk *c)
{
	if (!chunk_has(c, ib_umem_start(c->umem), ib_umem_end(c->umem)))
		uroce_chunk_release(c);
}

/*
 * Lists pages, and faults them in if @fault is set. -EAGAIN: try again;
 * -EFAULT: the process has no such memory.
 */
int uroce_chunk_fault(struct uroce_odp *odp, unsigned long addr,
		      unsigned long len, bool write, bool fault)
{
	struct uroce_chunk *c = chunk_get(odp, addr);
	int ret;

	if (IS_ERR(c))
		return PTR_ERR(c) == -ENOMEM ? -EAGAIN : -EFAULT;
	ret = ib_umem_odp_map_dma_and_lock(c->umem, addr, len,
					   write ? UNIV_ODP_WRITE :
						   UNIV_ODP_READ, fault);
	if (ret >= 0) {
		ret = chunk_list(c, addr, len, write);
		mutex_unlock(&c->umem->umem_mutex);
	}
	if (ret || !fault)
		chunk_drop_empty(c);
	if (!ret)
		return 0;
	return ret == -EBUSY || ret == -ENOMEM ? -EAGAIN : -EFAULT;
}
