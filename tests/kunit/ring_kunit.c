// SPDX-License-Identifier: GPL-2.0
/* Ring arithmetic at every wrap, with wrong words in shared memory (adv01, adv04). */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/sizes.h>

#include "base.h"
#include "ring.h"

/* Indices where a value wraps: zero, the ring's length, 2^31, 2^32. */
static const u32 around[] = {
	0, 1, 2, 3, 4, 7, 8, 15, 16, 255, 256, 65535, 65536,
	S32_MAX - 1, S32_MAX, (u32)S32_MAX + 1, (u32)S32_MAX + 2,
	U32_MAX - 256, U32_MAX - 16, U32_MAX - 1, U32_MAX,
};

static void ring_make(struct kunit *test, struct univ_ring *ring, u32 slots,
		      u32 stride)
{
	struct univ_ring_map map;
	size_t size = univ_ring_place(&map, 0, slots, stride);
	void *base = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, base);
	univ_ring_init(ring, base, &map);
}

/* For every index the whole slot lies within the ring. */
static void ring_slot_in_bounds(struct kunit *test)
{
	struct univ_ring ring;
	u32 slots, i;
	void *slot;

	for (slots = 1; slots <= 256; slots *= 2) {
		ring_make(test, &ring, slots, 128);
		for (i = 0; i < ARRAY_SIZE(around); i++) {
			slot = univ_ring_slot(&ring, around[i]);
			KUNIT_EXPECT_TRUE(test, slot >= ring.slots);
			KUNIT_EXPECT_TRUE(test, slot + 128 <=
						ring.slots + slots * 128);
			KUNIT_EXPECT_PTR_EQ(test, slot,
					    univ_ring_slot(&ring,
							   around[i] + slots));
		}
	}
}

/* Slots with consecutive indices are adjacent in memory, also across 2^32. */
static void ring_slots_in_order(struct kunit *test)
{
	struct univ_ring ring;
	u32 i, index;

	ring_make(test, &ring, 8, 64);
	for (i = 0, index = U32_MAX - 15; i < 32; i++, index++)
		KUNIT_EXPECT_PTR_EQ(test, univ_ring_slot(&ring, index),
				    ring.slots + (index % 8) * 64);
}

/* Two passes over the same slot never have the same phase, and no phase is zero. */
static void ring_phase_alternates(struct kunit *test)
{
	u32 slots, i;

	for (slots = 1; slots <= 65536; slots *= 4)
		for (i = 0; i < ARRAY_SIZE(around); i++) {
			u32 now = UNIV_CQE_PHASE(around[i], slots);
			u32 then = UNIV_CQE_PHASE(around[i] + slots, slots);

			KUNIT_EXPECT_NE(test, now, 0);
			KUNIT_EXPECT_NE(test, now, then);
		}
}

static void ring_shows_one_at_a_time(struct kunit *test)
{
	struct univ_ring ring;
	struct univ_cqe *next;
	u32 index, i;

	ring_make(test, &ring, 4, sizeof(struct univ_cqe));
	for (i = 0, index = 0; i < 20; i++, index++) {
		next = univ_ring_slot(&ring, index);
		univ_cq_ring_show(&ring, next, index);
		KUNIT_EXPECT_EQ(test, next->phase, UNIV_CQE_PHASE(index, 4));
		next = univ_ring_slot(&ring, index + 1);
		KUNIT_EXPECT_NE(test, next->phase,
				UNIV_CQE_PHASE(index + 1, 4));
	}
}

/*
 * A ring is full when the process has left as many entries as there are slots. A head
 * that is ahead of the tail, or far behind it, is invalid and counts as full.
 */
static void ring_full(struct kunit *test)
{
	struct univ_ring ring;
	u32 i, used;

	ring_make(test, &ring, 8, sizeof(struct univ_cqe));
	for (i = 0; i < ARRAY_SIZE(around); i++) {
		for (used = 0; used < 8; used++) {
			ring.head->user.index = around[i] - used;
			KUNIT_EXPECT_FALSE(test,
					   univ_cq_ring_full(&ring, around[i]));
		}
		for (used = 8; used < 20; used++) {
			ring.head->user.index = around[i] - used;
			KUNIT_EXPECT_TRUE(test,
					  univ_cq_ring_full(&ring, around[i]));
		}
		ring.head->user.index = around[i] + 1;
		KUNIT_EXPECT_TRUE(test, univ_cq_ring_full(&ring, around[i]));
		ring.head->user.index = around[i] + BIT(31);
		KUNIT_EXPECT_TRUE(test, univ_cq_ring_full(&ring, around[i]));
	}
}

/* As many completions fit as the process left slots, and none if its index is invalid. */
static void ring_fits(struct kunit *test)
{
	struct univ_ring ring;
	u32 i, used;

	ring_make(test, &ring, 8, sizeof(struct univ_cqe));
	for (i = 0; i < ARRAY_SIZE(around); i++) {
		for (used = 0; used <= 8; used++) {
			ring.head->user.index = around[i] - used;
			KUNIT_EXPECT_TRUE(test, univ_cq_ring_fits(&ring, around[i], 8 - used));
			KUNIT_EXPECT_FALSE(test, univ_cq_ring_fits(&ring, around[i], 9 - used));
		}
		ring.head->user.index = around[i] + 1;
		KUNIT_EXPECT_FALSE(test, univ_cq_ring_fits(&ring, around[i], 1));
		KUNIT_EXPECT_FALSE(test, univ_cq_ring_fits(&ring, around[i], 8));
		ring.head->user.index = around[i] + BIT(31);
		KUNIT_EXPECT_FALSE(test, univ_cq_ring_fits(&ring, around[i], 1));
	}
}

/*
 * The kernel writes the flags only when they change, and ignores values that the
 * process writes there.
 */
static void ring_flags(struct kunit *test)
{
	struct univ_ring ring;

	ring_make(test, &ring, 8, 64);
	univ_ring_set_flags(&ring, UNIV_RING_NEED_KICK);
	KUNIT_EXPECT_EQ(test, ring.head->kernel.flags, UNIV_RING_NEED_KICK);
	ring.head->kernel.flags = 0x5555;
	univ_ring_set_flags(&ring, UNIV_RING_NEED_KICK);
	KUNIT_EXPECT_EQ(test, ring.head->kernel.flags, 0x5555);
	univ_ring_set_flags(&ring, UNIV_RING_DEAD);
	KUNIT_EXPECT_EQ(test, ring.head->kernel.flags, UNIV_RING_DEAD);
}

static void ring_indices(struct kunit *test)
{
	struct univ_ring ring;
	u32 i;

	ring_make(test, &ring, 8, 64);
	for (i = 0; i < ARRAY_SIZE(around); i++) {
		ring.head->user.index = around[i];
		KUNIT_EXPECT_EQ(test, univ_ring_published(&ring), around[i]);
		univ_ring_retire(&ring, around[i]);
		KUNIT_EXPECT_EQ(test, ring.head->kernel.index, around[i]);
	}
}

/* For all sizes, the head and the slots never overlap, and no size is truncated. */
static void ring_place_disjoint(struct kunit *test)
{
	static const u32 slots[] = { 0, 1, 2, 64, 4096, 1 << 20 };
	static const u32 strides[] = { 64, 128, 576, 4096 };
	struct univ_ring_map a, b;
	size_t i, j, end_a, end_b;

	for (i = 0; i < ARRAY_SIZE(slots); i++)
		for (j = 0; j < ARRAY_SIZE(strides); j++) {
			end_a = univ_ring_place(&a, 0, slots[i], strides[j]);
			end_b = univ_ring_place(&b, end_a, slots[i],
						strides[j]);
			KUNIT_EXPECT_EQ(test, a.slot_offset,
					sizeof(struct univ_ring_head));
			KUNIT_EXPECT_EQ(test, end_a, a.slot_offset +
					(size_t)slots[i] * strides[j]);
			if (end_b > U32_MAX)
				continue;	/* refused before it is mapped */
			KUNIT_EXPECT_GE(test, (size_t)b.head_offset, end_a);
			KUNIT_EXPECT_EQ(test, end_b, b.slot_offset +
					(size_t)slots[i] * strides[j]);
			KUNIT_EXPECT_EQ(test, b.head_offset % UNIV_CACHE_LINE,
					0);
		}
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(ring_slot_in_bounds),
	KUNIT_CASE(ring_slots_in_order),
	KUNIT_CASE(ring_phase_alternates),
	KUNIT_CASE(ring_shows_one_at_a_time),
	KUNIT_CASE(ring_full),
	KUNIT_CASE(ring_fits),
	KUNIT_CASE(ring_flags),
	KUNIT_CASE(ring_indices),
	KUNIT_CASE(ring_place_disjoint),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "univ_ring",
	.test_cases = ring_cases,
};
kunit_test_suite(ring_suite);
