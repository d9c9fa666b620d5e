/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel side of the rings of uapi/univerbs_ring.h: the only code that touches
 * the shared words. Whatever it reads there is hostile: bounds are checked
 * against the private numbers in struct univ_ring, never against shared ones.
 */
#ifndef UNIV_RING_H
#define UNIV_RING_H

#include <linux/compiler.h>
#include <linux/log2.h>
#include <linux/string.h>
#include <asm/barrier.h>

#include "univerbs.h"
#include "univerbs_ring.h"

/**
 * struct univ_ring - the kernel's private view of one ring
 * @head: shared
 * @slots: shared, first slot
 * @count: slots, a power of two; 0 when there is no ring
 * @stride: bytes from slot to slot
 * @flags: the last value written to @head->kernel.flags
 */
struct univ_ring {
	struct univ_ring_head *head;
	void *slots;
	u32 count;
	u32 stride;
	u32 flags;
};

/**
 * univ_ring_init() - describe a ring that lies in zeroed shared memory
 * @ring: to fill
 * @base: kernel address of the mapping
 * @map: where in it the ring lies
 */
static inline void univ_ring_init(struct univ_ring *ring, void *base,
				  const struct univ_ring_map *map)
{
	ring->head = base + map->head_offset;
	ring->slots = base + map->slot_offset;
	ring->count = map->slots;
	ring->stride = map->stride;
	ring->flags = 0;
}

/**
 * univ_ring_slot() - kernel address of the slot of an index
 * @ring: ring with at least one slot
 * @index: free-running
 *
 * In bounds for every @index.
 */
static inline void *univ_ring_slot(const struct univ_ring *ring, u32 index)
{
	return ring->slots + (size_t)(index & (ring->count - 1)) * ring->stride;
}

/**
 * univ_ring_fetch() - the one private copy of shared bytes
 * @dst: private
 * @src: shared
 * @len: bytes
 *
 * The barrier keeps the compiler from reading @src again instead of @dst, so
 * that what was checked is what is used (adv03).
 */
static inline void univ_ring_fetch(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	barrier();
}

/**
 * univ_ring_published() - how many requests the process has published
 * @ring: ring
 *
 * Acquire: pairs with the store-release in the library's univ_ring_publish(); the
 * slots before the returned index are filled. Hostile: compare before use.
 */
static inline u32 univ_ring_published(const struct univ_ring *ring)
{
	return smp_load_acquire(&ring->head->user.index);
}

/**
 * univ_ring_retire() - let the process reuse the slots before an index
 * @ring: ring
 * @index: free-running
 *
 * Release: whatever was read from the slots was read before. Pairs with the
 * load-acquire in the library's univ_ring_room().
 */
static inline void univ_ring_retire(struct univ_ring *ring, u32 index)
{
	smp_store_release(&ring->head->kernel.index, index);
}

/**
 * univ_ring_set_flags() - tell the process what the driver asks of it
 * @ring: ring
 * @flags: enum univ_ring_flags
 *
 * A caller that sets %UNIV_RING_NEED_KICK because it stops looking must follow
 * with smp_mb() and look once more. Callers serialise among themselves.
 */
static inline void univ_ring_set_flags(struct univ_ring *ring, u32 flags)
{
	if (ring->flags == flags)
		return;
	ring->flags = flags;
	/* Release: who sees a queue dead or overrun sees all that it completed. */
	smp_store_release(&ring->head->kernel.flags, flags);
}

/**
 * univ_cq_ring_full() - whether the process left no room for a completion
 * @ring: completion ring
 * @index: completions written so far
 *
 * A head that lies counts as full: the process overruns its own queue.
 */
static inline bool univ_cq_ring_full(const struct univ_ring *ring, u32 index)
{
	/* Acquire: pairs with the library's release of the head it consumed. */
	return index - smp_load_acquire(&ring->head->user.index) >= ring->count;
}

/**
 * univ_cq_ring_show() - let the process see a completion
 * @ring: completion ring with room
 * @index: its index, whose slot is filled but for the phase
 *
 * Release: pairs with the load-acquire of the phase in the library's
 * univ_cursor_ready(). The slot's old phase stays in place until then.
 */
static inline void univ_cq_ring_show(struct univ_ring *ring, u32 index)
{
	struct univ_cqe *slot = univ_ring_slot(ring, index);

	smp_store_release(&slot->phase, UNIV_CQE_PHASE(index, ring->count));
}

#endif
