// SPDX-License-Identifier: GPL-2.0
/*
 * Pinned pages of a process, and regions that grow or share them.
 *
 * A copy checks the length of a region and then looks up the address of a page,
 * without a lock. So the table of pages is complete before the length grows,
 * and a table that was replaced is freed after a grace period: copies run with
 * bottom halves off.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "../dev/dev.h"
#include "queue.h"
#include "cache.h"
#include "mr.h"
#include "odp.h"
#include "pin.h"

#ifdef CONFIG_HIGHMEM
#error "every page must have an address"
#endif

/*
 * Pages that wait to be registered again are charged to the process, and a
 * process without them could pin this memory. So they are unpinned before the
 * call fails.
 */
static struct ib_umem *umem_get(const struct uroce_mr *mr, u64 start,
				u64 length)
{
	struct ib_umem *umem;

	umem = ib_umem_get_va(mr->ib.device, start, length, mr->access);
	if (umem != ERR_PTR(-ENOMEM) || !uroce_cache_empty())
		return umem;
	umem = ib_umem_get_va(mr->ib.device, start, length, mr->access);
	uroce_cache_resume();
	return umem;
}

/* Takes over the caller's reference to @before if it succeeds. */
static struct uroce_pin *pin_new(const struct uroce_mr *mr, u64 start,
				 u64 length, struct uroce_pin *before)
{
	struct uroce_pin *pin = kzalloc(sizeof(*pin), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!pin)
		return ERR_PTR(-ENOMEM);
	if (!before)
		pin->watch = uroce_cache_watch(mr, start, length);
	pin->umem = umem_get(mr, start, length);
	if (IS_ERR(pin->umem)) {
		ret = PTR_ERR(pin->umem);
		uroce_watch_end(pin->watch);
		kfree(pin);
		return ERR_PTR(ret);
	}
	refcount_set(&pin->ref, 1);
	pin->before = before;
	pin->depth = before ? before->depth + 1 : 1;
	/*
	 * A region that may be written has no part that was pinned for reading
	 * only: with its rights it got all of its pages pinned again.
	 */
	pin->writable = pin->umem->writable;
	pin->watch = uroce_watch_check(pin->watch, pin->writable);
	return pin;
}

/* Unpins the pages. May sleep. */
void uroce_pin_free(struct uroce_pin *pin)
{
	ib_umem_release(pin->umem);
	uroce_watch_end(pin->watch);
	kfree(pin);
}

/*
 * Drops the reference of a region that is being freed to its pages, if it has
 * any. The parts that no other region has are unpinned, or kept for a further
 * registration together with the table of their addresses.
 */
void uroce_pin_put(struct uroce_mr *mr)
{
	struct uroce_pin *pin = mr->pin, *before;

	while (pin && refcount_dec_and_test(&pin->ref)) {
		if (pin == mr->pin && uroce_cache_keep(mr, pin))
			return;
		before = pin->before;
		uroce_pin_free(pin);
		pin = before;
		/* A region may have been extended many times. */
		cond_resched();
	}
}

/* Writes the addresses of the @count pages of a part to @pages. */
static int list_pages(struct ib_umem *umem, void **pages, u32 count)
{
	struct sg_table *table = &umem->sgt_append.sgt;
	struct scatterlist *sg;
	u32 n = 0, i, run;
	void *first;
	int s;

	for_each_sgtable_sg(table, sg, s) {
		run = PAGE_ALIGN(sg->offset + sg->length) >> PAGE_SHIFT;
		first = page_address(sg_page(sg));
		for (i = 0; i < run && n < count; i++)
			pages[n++] = first + i * PAGE_SIZE;
	}
	return n == count ? 0 : -EINVAL;
}

/* A region without a complete table must have none: see uroce_cache_keep(). */
static int table_fill(struct uroce_mr *mr)
{
	int ret = -ENOMEM;

	mr->pages = kvmalloc_array(mr->room, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT);
	if (mr->pages)
		ret = list_pages(mr->pin->umem, mr->pages, mr->npages);
	if (ret) {
		kvfree(mr->pages);
		mr->pages = NULL;
	}
	return ret;
}

/*
 * Pins the pages of a region that is not published. uroce_mr_free() unpins
 * them.
 */
int uroce_pin_region(struct uroce_mr *mr, u64 start, u64 length)
{
	struct uroce_pin *pin;

	if (uroce_cache_take(mr, start, length))
		return 0;
	pin = pin_new(mr, start, length, NULL);
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	mr->pin = pin;
	mr->umem = pin->umem;
	mr->offset = offset_in_page(start);
	mr->npages = ib_umem_num_pages(pin->umem);
	mr->room = mr->npages;
	return table_fill(mr);
}

/*
 * Gives a region that is not published the pages of another one, which does not
 * change meanwhile. They are pinned until both regions are gone.
 */
int uroce_pin_share(struct uroce_mr *mr, const struct uroce_mr *of)
{
	refcount_inc(&of->pin->ref);
	mr->pin = of->pin;
	mr->umem = of->umem;
	mr->start = of->start;
	mr->mm = of->mm;
	mr->offset = of->offset;
	mr->npages = of->npages;
	mr->room = of->npages;
	mr->pages = kvmalloc_array(mr->room, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT);
	if (!mr->pages)
		return -ENOMEM;
	memcpy(mr->pages, of->pages, mr->npages * sizeof(*mr->pages));
	return 0;
}

/*
 * Makes room for @npages pages in the table, and for half as many again, so
 * that few of many small extensions wait for a grace period. The extension may
 * still fail afterwards.
 */
static int table_grow(struct uroce_mr *mr, u32 npages)
{
	void **former = mr->pages, **pages;
	u32 room;

	if (npages <= mr->room)
		return 0;
	room = min_t(u64, npages + npages / 2, INT_MAX / sizeof(*pages));
	pages = kvmalloc_array(room, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return -ENOMEM;
	memcpy(pages, former, mr->npages * sizeof(*pages));
	/* A copy that finds the new table must find its entries. */
	smp_store_release(&mr->pages, pages);
	mr->room = room;
	synchronize_rcu();
	kvfree(former);
	return 0;
}

/* Pins the bytes from @start on, which is the first byte of a page. */
static int pin_more(struct uroce_mr *mr, u64 start, u64 length)
{
	struct uroce_pin *pin;
	u32 more;
	int ret;

	/* The parts are freed one by one. */
	if (mr->pin->depth == UNIV_MR_PARTS)
		return -E2BIG;
	pin = pin_new(mr, start, length, mr->pin);
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	more = ib_umem_num_pages(pin->umem);
	ret = table_grow(mr, mr->npages + more);
	if (!ret)
		ret = list_pages(pin->umem, mr->pages + mr->npages, more);
	if (ret) {
		uroce_pin_free(pin);
		return ret;
	}
	mr->pin = pin;
	mr->npages += more;
	return 0;
}

static int extend_pinned(struct uroce_mr *mr, u64 length)
{
	/* The first registration of these pages may have begun elsewhere. */
	u64 start = mr->start;
	u64 from = PAGE_ALIGN(start + mr->length), end = start + length;

	if (mr->umem->owning_mm != current->mm)
		return -EXDEV;
	/* The last page is pinned as a whole. */
	return end > from ? pin_more(mr, from, end - from) : 0;
}

static int extend_odp(struct uroce_mr *mr, u64 length)
{
	u64 start = mr->odp->start;

	if (mr->odp->mm != current->mm)
		return -EXDEV;
	return access_ok((void __user *)(uintptr_t)start, length) ? 0 : -EFAULT;
}

/* See struct univ_queue_ops. Context: one caller at a time. */
int uroce_mr_extend(struct ib_mr *ib, u64 length)
{
	struct uroce_mr *mr = to_umr(ib);
	int ret;

	if (!mr->pin && !mr->odp)
		return -EOPNOTSUPP;
	ret = uroce_fault_verb(to_udev(ib->device), UROCE_VERB_REREG_MR);
	if (!ret)
		ret = mr->odp ? extend_odp(mr, length) :
				extend_pinned(mr, length);
	if (ret)
		return ret;
	/* Pairs with the acquire in uroce_mr_allows(). */
	smp_store_release(&mr->length, length);
	return 0;
}
