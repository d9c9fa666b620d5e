// SPDX-License-Identifier: GPL-2.0
/* Regions: offsets, their mmap(), and lifetimes of regions and mappings (adv11, adv12). */
#include <linux/file.h>
#include <linux/dma-mapping.h>
#include <linux/mman.h>
#include <linux/platform_device.h>
#include <linux/uaccess.h>

#include "fixture.h"

#define RW	(PROT_READ | PROT_WRITE)

static void region_offsets_unique(struct kunit *test)
{
	struct univ_region *regions[64];
	struct fixture *f = test->priv;
	struct univ_hdr hdr = {};
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(regions); i++) {
		regions[i] = univ_region_create(f->ctx, 1 + i * 1000,
						&hdr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, regions[i]);
		KUNIT_EXPECT_EQ(test, regions[i]->size,
				PAGE_ALIGN(1 + i * 1000));
		KUNIT_EXPECT_NE(test, univ_region_offset(regions[i]), 0);
		KUNIT_EXPECT_PTR_EQ(test,
				    memchr_inv(regions[i]->vaddr, 0,
					       regions[i]->size), NULL);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_NE(test, univ_region_offset(regions[j]),
					univ_region_offset(regions[i]));
	}
	for (i = 0; i < ARRAY_SIZE(regions); i++)
		univ_region_destroy(f->ctx, regions[i]);
	univ_region_destroy(f->ctx, NULL);
}

static void region_shared_memory(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_hdr hdr = {};
	struct univ_region *region = univ_region_create(f->ctx, 3 * PAGE_SIZE,
							&hdr);
	unsigned long addr;
	u32 *words;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	words = region->vaddr;
	addr = fixture_map(f, univ_region_offset(region), region->size, RW, MAP_SHARED);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	for (i = 0; i < 3; i++) {
		words[i * PAGE_SIZE / 4] = 100 + i;
		KUNIT_EXPECT_EQ(test, fixture_peek(f, addr + i * PAGE_SIZE), 100 + i);
		KUNIT_EXPECT_TRUE(test, fixture_poke(f, addr + i * PAGE_SIZE, 200 + i));
		KUNIT_EXPECT_EQ(test, words[i * PAGE_SIZE / 4], 200 + i);
	}
	/* The mapping outlives the region. */
	univ_region_destroy(f->ctx, region);
	KUNIT_EXPECT_EQ(test, fixture_peek(f, addr), 200);
	KUNIT_EXPECT_TRUE(test, fixture_poke(f, addr + 2 * PAGE_SIZE, 7));
	fixture_unmap(f, addr, 3 * PAGE_SIZE);
}

static void region_wrong_mmaps(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_hdr hdr = {};
	struct univ_region *region = univ_region_create(f->ctx, 2 * PAGE_SIZE,
							&hdr);
	u64 at;
	const struct {
		u64 offset;
		size_t length;
		unsigned long prot;
		unsigned long flags;
		int err;
	} wrong[] = {
		{ 0, PAGE_SIZE, RW, MAP_SHARED, -EINVAL },
		{ 0, 3 * PAGE_SIZE, RW, MAP_SHARED, -EINVAL },
		{ PAGE_SIZE, PAGE_SIZE, RW, MAP_SHARED, -EINVAL },
		{ PAGE_SIZE, 2 * PAGE_SIZE, RW, MAP_SHARED, -EINVAL },
		{ 1ull << 32, 2 * PAGE_SIZE, RW, MAP_SHARED, -EINVAL },
		{ (1ull << 32) - PAGE_SIZE, 2 * PAGE_SIZE, RW, MAP_SHARED,
		  -EINVAL },
		{ 0, 2 * PAGE_SIZE, RW, MAP_PRIVATE, -EINVAL },
		{ 0, 2 * PAGE_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, -EPERM },
	};
	unsigned long addr;
	size_t i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	at = univ_region_offset(region);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		addr = fixture_map(f, at + wrong[i].offset, wrong[i].length,
			   wrong[i].prot, wrong[i].flags);
		KUNIT_EXPECT_EQ_MSG(test, (long)addr, (long)wrong[i].err,
				    "case %zu", i);
		if (!IS_ERR_VALUE(addr))
			fixture_unmap(f, addr, wrong[i].length);
	}
	/* Test the numbers of arenas and larger ones, up to the largest offset that mmap() accepts. */
	for (i = 43; i < 63; i++)
		KUNIT_EXPECT_TRUE(test,
				  IS_ERR_VALUE(fixture_map(f, 1ull << i, PAGE_SIZE, RW,
						   MAP_SHARED)));
	univ_region_destroy(f->ctx, region);
	KUNIT_EXPECT_EQ(test, (long)fixture_map(f, at, 2 * PAGE_SIZE, RW, MAP_SHARED),
			(long)-EINVAL);
}

/* The numbers that a context with so many rings uses up; nothing is at the entries. */
static void numbers_take(struct kunit *test, u32 count)
{
	struct fixture *f = test->priv;
	u32 id;

	for (id = 1; id <= count; id++)
		KUNIT_ASSERT_EQ(test, xa_insert(&f->ctx->regions, id,
						xa_mk_value(id), GFP_KERNEL), 0);
}

static void numbers_give(struct fixture *f, u32 count)
{
	u32 id;

	for (id = 1; id <= count; id++)
		xa_erase(&f->ctx->regions, id);
}

/* mmap2(2) of a 32-bit process reaches 44 bits. Only arenas lie beyond, which such a process gets none of. */
static void region_offsets_in_reach(struct kunit *test)
{
	struct univ_region last = { .id = (u32)(UNIV_MAP_SHARED >> 32) - 1 };
	const u32 many = 5000;
	struct fixture *f = test->priv;
	struct univ_region *region;
	struct univ_hdr hdr = {};
	unsigned long addr;

	numbers_take(test, many);
	region = univ_region_create(f->ctx, PAGE_SIZE, &hdr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	KUNIT_EXPECT_EQ(test, region->id, many + 1);
	KUNIT_EXPECT_LE(test, univ_region_offset(region) >> 12, U32_MAX);
	KUNIT_EXPECT_LE(test, univ_region_offset(&last) >> 12, U32_MAX);
	*(u32 *)region->vaddr = 44;
	addr = fixture_map(f, univ_region_offset(region), PAGE_SIZE, RW, MAP_SHARED);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	KUNIT_EXPECT_EQ(test, fixture_peek(f, addr), 44);
	fixture_unmap(f, addr, PAGE_SIZE);
	univ_region_destroy(f->ctx, region);
	numbers_give(f, many);
}

static void region_doorbell(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long addr, again;

	KUNIT_EXPECT_EQ(test, (long)fixture_map(f, 0, PAGE_SIZE, RW, MAP_SHARED),
			(long)-EPERM);
	addr = fixture_map(f, 0, PAGE_SIZE, PROT_READ, MAP_SHARED);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	KUNIT_EXPECT_EQ(test, fixture_peek(f, addr), 0);
	KUNIT_EXPECT_FALSE(test, fixture_poke(f, addr, 1));
	again = fixture_map(f, 0, PAGE_SIZE, PROT_READ, MAP_SHARED);
	univ_doorbell_kill(f->ctx);
	KUNIT_EXPECT_EQ(test, fixture_peek(f, addr), UNIV_RING_DEAD);
	KUNIT_EXPECT_EQ(test, fixture_peek(f, again), UNIV_RING_DEAD);
	fixture_unmap(f, addr, PAGE_SIZE);
	fixture_unmap(f, again, PAGE_SIZE);
}

/* A doorbell that is first mapped after the device was removed shows the removal at once. */
static void region_doorbell_late(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long addr;

	fixture_kill(f);
	addr = fixture_map(f, 0, PAGE_SIZE, PROT_READ, MAP_SHARED);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	KUNIT_EXPECT_EQ(test, fixture_peek(f, addr), UNIV_RING_DEAD);
	fixture_unmap(f, addr, PAGE_SIZE);
}

/* The queue operations of the mock, with regions that its device reaches. */
static struct univ_queue_ops dma_ops(struct fixture *f)
{
	struct univ_queue_ops ops = *f->ctx->dev->queue;

	ops.caps |= UNIV_QUEUE_DMA;
	return ops;
}

/* Without a DMA device no ring can be made, and nothing is left. */
static void region_dma_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	const struct univ_queue_ops *old = f->ctx->dev->queue;
	struct univ_queue_ops ops = dma_ops(f);
	struct univ_hdr hdr = {};

	KUNIT_ASSERT_NULL(test, f->mock->ib.dma_device);
	f->ctx->dev->queue = &ops;
	KUNIT_EXPECT_EQ(test, PTR_ERR(univ_region_create(f->ctx, PAGE_SIZE,
							 &hdr)), -EOPNOTSUPP);
	f->ctx->dev->queue = old;
	KUNIT_EXPECT_EQ(test, hdr.reason, UNIV_REASON_UNSUPPORTED);
	KUNIT_EXPECT_TRUE(test, xa_empty(&f->ctx->regions));
}

/* A device reaches each page, whether the pages are one row or not. */
static void expect_dma(struct kunit *test, size_t size)
{
	struct univ_ring_map map = { .head_offset = 192, .slot_offset = 320,
				     .slots = 2, .stride = 64 };
	struct fixture *f = test->priv;
	struct univ_hdr hdr = {};
	struct univ_region *region = univ_region_create(f->ctx, size, &hdr);
	struct univ_ring ring;
	size_t i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	univ_region_ring(region, &ring, &map);
	KUNIT_EXPECT_EQ(test, ring.offset, 192);
	KUNIT_EXPECT_PTR_EQ(test, ring.slots, region->vaddr + 320);
	KUNIT_ASSERT_PTR_EQ(test, ring.dma, region->dma);
	KUNIT_ASSERT_EQ(test, ring.dma->count, size / PAGE_SIZE);
	for (i = 0; i < ring.dma->count; i++)
		KUNIT_EXPECT_EQ(test, ring.dma->page[i],
				page_to_phys(univ_region_page(region,
							      i * PAGE_SIZE)));
	univ_region_destroy(f->ctx, region);
}

static void region_dma(struct kunit *test)
{
	struct fixture *f = test->priv;
	const struct univ_queue_ops *old = f->ctx->dev->queue;
	struct univ_queue_ops ops = dma_ops(f);
	struct platform_device *pdev;

	pdev = platform_device_register_simple("univ_region_kunit",
					       PLATFORM_DEVID_AUTO, NULL, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pdev));
	KUNIT_EXPECT_EQ(test, dma_coerce_mask_and_coherent(&pdev->dev,
							   DMA_BIT_MASK(64)),
			0);
	f->mock->ib.dma_device = &pdev->dev;
	f->ctx->dev->queue = &ops;
	expect_dma(test, PAGE_SIZE);
	expect_dma(test, 64 * PAGE_SIZE);
	f->ctx->dev->queue = old;
	f->mock->ib.dma_device = NULL;
	platform_device_unregister(pdev);
}

static struct univ_region *part_of(struct fixture *f, size_t size)
{
	struct univ_hdr hdr = {};

	return univ_region_create_shared(f->ctx, size, &hdr);
}

static bool parts_overlap(const struct univ_region *a,
			  const struct univ_region *b)
{
	return a->vaddr < b->vaddr + b->size && b->vaddr < a->vaddr + a->size;
}

/* Small parts lie beside each other in one mapping, at the offsets that the process gets. */
static void region_arena_shared(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_region *parts[3];
	struct univ_ring_map map;
	unsigned long addr;
	size_t length;
	int i;

	for (i = 0; i < 3; i++) {
		parts[i] = part_of(f, 1000 + i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(parts[i]));
	}
	length = univ_region_length(parts[0]);
	KUNIT_EXPECT_TRUE(test, univ_region_offset(parts[0]) & UNIV_MAP_SHARED);
	/* The number of an arena in the offset of a region of its own names nothing. */
	KUNIT_EXPECT_EQ(test, (long)fixture_map(f, univ_region_offset(parts[0]) >> 12, length, RW,
						MAP_SHARED), (long)-EINVAL);
	addr = fixture_map(f, univ_region_offset(parts[0]), length, RW,
			   MAP_SHARED);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, univ_region_offset(parts[i]),
				univ_region_offset(parts[0]));
		map = (struct univ_ring_map){ .slot_offset = 128 };
		univ_region_shift(parts[i], &map);
		KUNIT_EXPECT_EQ(test, map.slot_offset, map.head_offset + 128);
		*(u32 *)parts[i]->vaddr = 70 + i;
		KUNIT_EXPECT_EQ(test, fixture_peek(f, addr + map.head_offset),
				70 + i);
	}
	for (i = 0; i < 3; i++)
		univ_region_destroy(f->ctx, parts[i]);
	fixture_unmap(f, addr, length);
}

/* An arena has room for the rings of eleven queue pairs of 16 and 16 requests with one SGE. */
static void region_arena_room(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_region *parts[12];
	int i;

	if (PAGE_SIZE > 4096)
		return;
	for (i = 0; i < 12; i++) {
		parts[i] = part_of(f, 256 + 16 * 128 + 16 * 32);
		KUNIT_ASSERT_FALSE(test, IS_ERR(parts[i]));
		KUNIT_EXPECT_EQ(test, univ_region_offset(parts[i]) == univ_region_offset(parts[0]), i < 11);
	}
	for (i = 0; i < 12; i++)
		univ_region_destroy(f->ctx, parts[i]);
}

/* No two parts overlap, however their sizes mix, and a new part is zero. */
static void region_arena_apart(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_region *parts[40] = {};
	u32 i, j, n, seed = 7;

	for (n = 0; n < 400; n++) {
		seed = seed * 1103515245 + 12345;
		i = (seed >> 8) % ARRAY_SIZE(parts);
		univ_region_destroy(f->ctx, parts[i]);
		parts[i] = part_of(f, 1 + (seed >> 4) % 9000);
		KUNIT_ASSERT_FALSE(test, IS_ERR(parts[i]));
		KUNIT_ASSERT_PTR_EQ(test, memchr_inv(parts[i]->vaddr, 0,
						     parts[i]->size), NULL);
		for (j = 0; j < ARRAY_SIZE(parts); j++)
			if (parts[j] && j != i)
				KUNIT_ASSERT_FALSE(test,
						   parts_overlap(parts[i],
								 parts[j]));
		memset(parts[i]->vaddr, 0xaa, parts[i]->size);
	}
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		univ_region_destroy(f->ctx, parts[i]);
}

/* One empty arena is kept and used again, and its memory goes with the context. */
static void region_arena_kept(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_region *a;
	u64 kept;

	a = part_of(f, 16384);
	KUNIT_ASSERT_FALSE(test, IS_ERR(a));
	kept = univ_region_offset(a);
	univ_region_destroy(f->ctx, a);
	a = part_of(f, 3000);
	KUNIT_EXPECT_EQ(test, univ_region_offset(a), kept);
	univ_region_destroy(f->ctx, a);
	KUNIT_EXPECT_FALSE(test, xa_empty(&f->ctx->regions));
	fixture_kill(f);
	KUNIT_EXPECT_TRUE(test, xa_empty(&f->ctx->regions));
	KUNIT_EXPECT_EQ(test, atomic_long_read(&f->ctx->ring_bytes), 0);
}

/* A process that still has the former arena mapped must not take a new one for it. */
static void region_arena_numbers(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_region *part[5];
	u64 first, second;
	int i;

	for (i = 0; i < 4; i++) {
		part[i] = part_of(f, 16384);
		KUNIT_ASSERT_FALSE(test, IS_ERR(part[i]));
	}
	first = univ_region_offset(part[0]);
	second = univ_region_offset(part[2]);
	KUNIT_EXPECT_NE(test, first, second);
	/* The first arena ends when the second one is empty too. */
	for (i = 0; i < 4; i++)
		univ_region_destroy(f->ctx, part[i]);
	for (i = 0; i < 5; i++) {
		part[i] = part_of(f, 16384);
		KUNIT_ASSERT_FALSE(test, IS_ERR(part[i]));
		KUNIT_EXPECT_NE(test, univ_region_offset(part[i]), first);
	}
	KUNIT_EXPECT_EQ(test, univ_region_offset(part[0]), second);
	for (i = 0; i < 5; i++)
		univ_region_destroy(f->ctx, part[i]);
}

/* An arena that another process has mapped gets no more parts, and is not kept. */
static void region_arena_strange(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_region *a = part_of(f, 1000), *b, *whole;
	u64 first;

	KUNIT_ASSERT_FALSE(test, IS_ERR(a));
	first = univ_region_offset(a);
	whole = xa_load(&f->ctx->regions, first >> 32);
	whole->strange = true;
	b = part_of(f, 1000);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b));
	KUNIT_EXPECT_NE(test, univ_region_offset(b), first);
	univ_region_destroy(f->ctx, a);
	KUNIT_EXPECT_NULL(test, xa_load(&f->ctx->regions, first >> 32));
	univ_region_destroy(f->ctx, b);
}

/* After a fork all arenas are strange. There are more of them than a call looks at, and yet it finds a new one. */
static void region_arena_many_strange(struct kunit *test)
{
	struct univ_region *old[20], *first, *second, *whole;
	struct fixture *f = test->priv;
	unsigned long id;
	int i;

	for (i = 0; i < (int)ARRAY_SIZE(old); i++) {
		old[i] = part_of(f, 16384);
		KUNIT_ASSERT_FALSE(test, IS_ERR(old[i]));
	}
	xa_for_each(&f->ctx->regions, id, whole)
		whole->strange = true;
	first = part_of(f, 1000);
	KUNIT_ASSERT_FALSE(test, IS_ERR(first));
	for (i = 0; i < (int)ARRAY_SIZE(old); i += 2)
		univ_region_destroy(f->ctx, old[i]);
	second = part_of(f, 1000);
	KUNIT_ASSERT_FALSE(test, IS_ERR(second));
	KUNIT_EXPECT_EQ(test, univ_region_offset(second),
			univ_region_offset(first));
	for (i = 1; i < (int)ARRAY_SIZE(old); i += 2)
		univ_region_destroy(f->ctx, old[i]);
	univ_region_destroy(f->ctx, first);
	univ_region_destroy(f->ctx, second);
}

static void expect_own(struct kunit *test, size_t size)
{
	struct fixture *f = test->priv;
	struct univ_region *region = part_of(f, size);

	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	KUNIT_EXPECT_FALSE(test, univ_region_offset(region) & UNIV_MAP_SHARED);
	KUNIT_EXPECT_EQ(test, univ_region_length(region), PAGE_ALIGN(size));
	univ_region_destroy(f->ctx, region);
}

/* Large rings, and rings where the limit leaves no arena, have a mapping of their own. */
static void region_arena_own(struct kunit *test)
{
	struct fixture *f = test->priv;
	long used = atomic_long_read(&f->ctx->ring_bytes);
	long all = atomic_long_read(&f->ctx->dev->ring_bytes);
	long most = (long)univ_limit_ring_pages() << PAGE_SHIFT;

	expect_own(test, 16385);
	expect_own(test, 1 << 20);
	/* The smaller of the two limits refuses. */
	atomic_long_set(&f->ctx->ring_bytes, most - PAGE_SIZE);
	atomic_long_set(&f->ctx->dev->ring_bytes, most - PAGE_SIZE);
	expect_own(test, 1000);
	KUNIT_EXPECT_EQ(test, PTR_ERR(part_of(f, PAGE_SIZE + 1)), -ENOMEM);
	atomic_long_set(&f->ctx->ring_bytes, used);
	atomic_long_set(&f->ctx->dev->ring_bytes, all);
}

static struct kunit_case region_cases[] = {
	KUNIT_CASE(region_offsets_unique),
	KUNIT_CASE(region_offsets_in_reach),
	KUNIT_CASE(region_shared_memory),
	KUNIT_CASE(region_wrong_mmaps),
	KUNIT_CASE(region_doorbell),
	KUNIT_CASE(region_doorbell_late),
	KUNIT_CASE(region_dma_refused),
	KUNIT_CASE(region_dma),
	KUNIT_CASE(region_arena_shared),
	KUNIT_CASE(region_arena_room),
	KUNIT_CASE(region_arena_apart),
	KUNIT_CASE(region_arena_kept),
	KUNIT_CASE(region_arena_numbers),
	KUNIT_CASE(region_arena_strange),
	KUNIT_CASE(region_arena_many_strange),
	KUNIT_CASE(region_arena_own),
	{}
};

static struct kunit_suite region_suite = {
	.name = "univ_region",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = region_cases,
};
kunit_test_suite(region_suite);
