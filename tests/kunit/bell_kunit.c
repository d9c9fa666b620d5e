// SPDX-License-Identifier: GPL-2.0
/* Bell pages: what the driver answers, the mapping and its caching, and the end. */
#include <linux/file.h>
#include <linux/mman.h>

#include "bell.h"
#include "fixture.h"
#include "queue.h"

#define RW	(PROT_READ | PROT_WRITE)

/* A device whose bell page is a page of memory. */
static struct univ_queue_ops bell_ops;
static struct page *bell_page;
static int bell_answer, bell_pages;

static int bell_page_alloc(struct ib_device *ib, struct univ_queue_page *page)
{
	if (bell_answer)
		return bell_answer;
	page->addr = page_to_phys(bell_page);
	bell_pages++;
	return 0;
}

static void bell_page_free(struct ib_device *ib,
			   const struct univ_queue_page *page)
{
	bell_pages--;
}

static int bell_init(struct kunit *test)
{
	int ret = fixture_init(test);
	struct fixture *f = test->priv;

	if (ret)
		return ret;
	bell_ops = *f->dev->queue;
	bell_ops.page_alloc = bell_page_alloc;
	bell_ops.page_free = bell_page_free;
	f->dev->queue = &bell_ops;
	f->ctx->mapping = f->file->f_mapping;
	bell_answer = 0;
	bell_pages = 0;
	bell_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	return bell_page ? 0 : -ENOMEM;
}

static void bell_exit(struct kunit *test)
{
	fixture_exit(test);
	KUNIT_EXPECT_EQ(test, bell_pages, 0);
	if (bell_page)
		__free_page(bell_page);
	bell_page = NULL;
}

static u32 bell_value(void)
{
	return READ_ONCE(*(u32 *)page_address(bell_page));
}

static unsigned long bell_map(struct fixture *f)
{
	return fixture_map(f, UNIV_BELL_OFFSET, PAGE_SIZE, RW, MAP_SHARED);
}

static u64 bell_offset(struct kunit *test, struct fixture *f)
{
	struct univ_context_query query = {};

	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_CONTEXT_QUERY, &query,
					   sizeof(query)), 0);
	return query.bell_offset;
}

/* A context for which no page is left has none, and works by kicks. */
static void bell_none_left(struct kunit *test)
{
	struct fixture *f = test->priv;

	bell_answer = -ENOSPC;
	KUNIT_EXPECT_EQ(test, univ_bell_open(f->ctx), 0);
	KUNIT_EXPECT_NULL(test, univ_bell_page(f->ctx));
	KUNIT_EXPECT_EQ(test, bell_offset(test, f), 0);
	KUNIT_EXPECT_EQ(test, (long)bell_map(f), -EINVAL);
	KUNIT_EXPECT_NOT_NULL(test, fixture_cq(f, 4));
}

static void bell_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 contexts = f->dev->num_contexts;

	bell_answer = -EIO;
	KUNIT_EXPECT_EQ(test, fixture_open(f), -EIO);
	KUNIT_EXPECT_EQ(test, f->dev->num_contexts, contexts);
}

/*
 * A context that is refused for its page leaves no charge in the RDMA cgroup. The device has an
 * entry for each cgroup that it charges, and the charge of the fixture's context is the only one.
 */
static void bell_refused_not_charged(struct kunit *test)
{
#ifdef CONFIG_CGROUP_RDMA
	struct fixture *f = test->priv;
	struct list_head *charged = &f->mock->ib.cg_device.rpools;

	bell_answer = -EIO;
	KUNIT_EXPECT_EQ(test, fixture_open(f), -EIO);
	KUNIT_EXPECT_FALSE(test, list_empty(charged));
	fixture_kill(f);
	KUNIT_EXPECT_TRUE(test, list_empty(charged));
#else
	kunit_skip(test, "the kernel has no RDMA cgroups");
#endif
}

static pgprot_t bell_caching(struct fixture *f, unsigned long addr)
{
	struct vm_area_struct *vma;
	pgprot_t prot = __pgprot(0);

	fixture_enter(f);
	mmap_read_lock(current->mm);
	vma = find_vma(current->mm, addr);
	if (vma && vma->vm_start <= addr)
		prot = vma->vm_page_prot;
	mmap_read_unlock(current->mm);
	fixture_leave(f);
	return prot;
}

/* mprotect(2) keeps the caching of the mapping, and not that of a page in it. */
static void bell_mapping_uncached(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long addr;
	pgprot_t prot;

	KUNIT_ASSERT_EQ(test, univ_bell_open(f->ctx), 0);
	KUNIT_EXPECT_EQ(test, bell_offset(test, f), UNIV_BELL_OFFSET);
	addr = bell_map(f);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	prot = bell_caching(f, addr);
	KUNIT_EXPECT_NE(test, pgprot_val(prot), 0);
	KUNIT_EXPECT_EQ(test, pgprot_val(prot), pgprot_val(pgprot_noncached(prot)));
	fixture_unmap(f, addr, PAGE_SIZE);
}

/* mmap2(2) takes a number of pages that has 32 bits. */
static void bell_offset_in_reach(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, UNIV_BELL_OFFSET >> PAGE_SHIFT, U32_MAX);
}

/* A store after the revocation goes to memory of the context, and no new mapping is made. */
static void bell_revoked(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long addr;

	KUNIT_ASSERT_EQ(test, univ_bell_open(f->ctx), 0);
	addr = bell_map(f);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	KUNIT_EXPECT_TRUE(test, fixture_poke(f, addr, 11));
	KUNIT_EXPECT_EQ(test, bell_value(), 11);
	univ_bell_revoke(f->ctx);
	KUNIT_EXPECT_EQ(test, fixture_peek(f, addr), 0);
	KUNIT_EXPECT_TRUE(test, fixture_poke(f, addr, 12));
	KUNIT_EXPECT_EQ(test, fixture_peek(f, addr), 12);
	KUNIT_EXPECT_EQ(test, bell_value(), 11);
	KUNIT_EXPECT_EQ(test, (long)bell_map(f), -ENODEV);
	fixture_unmap(f, addr, PAGE_SIZE);
}

static struct kunit_case bell_cases[] = {
	KUNIT_CASE(bell_none_left),
	KUNIT_CASE(bell_refused),
	KUNIT_CASE(bell_refused_not_charged),
	KUNIT_CASE(bell_mapping_uncached),
	KUNIT_CASE(bell_offset_in_reach),
	KUNIT_CASE(bell_revoked),
	{}
};

static struct kunit_suite bell_suite = {
	.name = "univ_bell",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = bell_init,
	.exit = bell_exit,
	.test_cases = bell_cases,
};
kunit_test_suite(bell_suite);
