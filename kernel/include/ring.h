/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's side of the rings of uapi/univerbs_ring.h. Only this code
 * touches the shared words. Every value that is read there is hostile: bounds
 * are checked against the private numbers in struct univ_ring, never against
 * shared ones.
 */
#ifndef UNIV_RING_H
#define UNIV_RING_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "univerbs.h"
#include "univerbs_ring.h"

struct device;

/**
 * struct univ_ring_dma - the memory of rings as a device reaches it
 * @dev: the DMA device
 * @count: number of pages
 * @page: DMA address of each page of %PAGE_SIZE; valid until the destroying
 *	function of the queue has returned
 */
struct univ_ring_dma {
	struct device *dev;
	u32 count;
	dma_addr_t page[];
};

/**
 * struct univ_ring - the kernel's private view of one ring
 * @head: shared
 * @slots: shared, first slot
 * @count: slots, a power of two; 0 when there is no ring. A hostile process may
 *	publish this number of requests, and it can be more than the number that
 *	the driver was asked for when the queue was created, so a driver sizes
 *	its own arrays by it
 * @stride: bytes from slot to slot
 * @flags: the last value written to @head->kernel.flags
 * @offset: bytes from the start of @dma's first page to @head, as if the pages
 *	were one row; the first slot follows the head
 * @dma: NULL if the device has no %UNIV_QUEUE_DMA. The two rings of a queue
 *	pair lie in the same pages
 */
struct univ_ring {
	struct univ_ring_head *head;
	void *slots;
	u32 count;
	u32 stride;
	u32 flags;
	u32 offset;
	const struct univ_ring_dma *dma;
};

/**
 * univ_ring_init() - describe a ring that lies in zeroed shared memory
 * @ring: to fill
 * @base: kernel address of the memory
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
	ring->offset = map->head_offset;
	ring->dma = NULL;
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
 * univ_ring_fetch() - make the only private copy of shared bytes
 * @dst: private
 * @src: shared
 * @len: bytes
 *
 * The barrier keeps the compiler from reading @src again instead of @dst, so
 * that the bytes that were checked are the bytes that are used.
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
 * Acquire: pairs with the store-release in the library's univ_ring_publish();
 * the slots before the returned index are filled. Hostile: compare before use.
 */
static inline u32 univ_ring_published(const struct univ_ring *ring)
{
	return smp_load_acquire(&ring->head->user.index);
}

/**
 * univ_ring_waiting() - how many requests are there to be taken
 * @ring: ring; one that was never attached has none
 * @head: how many were taken so far
 *
 * Return: the number, or -EINVAL if the published index is out of bounds
 */
static inline int univ_ring_waiting(const struct univ_ring *ring, u32 head)
{
	u32 n = ring->count ? univ_ring_published(ring) - head : 0;

	return n > ring->count ? -EINVAL : n;
}

/**
 * univ_ring_inline() - inline data of a request
 * @ring: send ring
 * @index: free-running
 *
 * A process that changes the bytes meanwhile only changes the data that it
 * sends.
 */
static inline const void *univ_ring_inline(const struct univ_ring *ring,
					   u32 index)
{
	return univ_ring_slot(ring, index) +
	       offsetof(struct univ_send_wr, data);
}

/**
 * univ_ring_tso() - header of a %UNIV_WR_TSO
 * @ring: send ring
 * @index: free-running
 * @max_sge: entries of a request, as the queue pair was created
 *
 * The slot has room for univ_queue_rings.max_tso bytes.
 */
static inline const void *univ_ring_tso(const struct univ_ring *ring, u32 index,
					u32 max_sge)
{
	return univ_ring_inline(ring, index) +
	       max_sge * sizeof(struct univ_sge);
}

/* Returns whether a slot has room for @count entries behind @head bytes. */
static inline bool univ_ring_holds(const struct univ_ring *ring, size_t head,
				   u32 count)
{
	return count <= (ring->stride - head) / sizeof(struct univ_sge);
}

/**
 * univ_ring_fetch_send() - the private copy of a send request
 * @ring: send ring
 * @index: of a request that was published
 * @wr: its head goes here, up to the scatter list
 * @sge: its scatter list; none with inline data, see univ_ring_inline()
 * @max: entries that @sge has room for
 *
 * Return: 0, or an enum univ_reason when @wr->count is more than fits; then
 * @sge is not written
 */
static inline u16 univ_ring_fetch_send(const struct univ_ring *ring, u32 index,
				       struct univ_send_wr *wr,
				       struct univ_sge *sge, u32 max)
{
	const size_t head = offsetof(struct univ_send_wr, sge);
	const void *slot = univ_ring_slot(ring, index);

	univ_ring_fetch(wr, slot, head);
	if (wr->flags & UNIV_WR_INLINE)
		return wr->count > ring->stride - head ? UNIV_REASON_WR_INLINE :
							 0;
	if (wr->count > max || !univ_ring_holds(ring, head, wr->count))
		return UNIV_REASON_WR_SGE;
	univ_ring_fetch(sge, slot + head, wr->count * sizeof(*sge));
	return 0;
}

/**
 * univ_ring_fetch_recv() - the private copy of a receive request
 * @ring: receive ring
 * @index: of a request that was published
 * @wr: its head goes here, up to the scatter list; its count 0 if it is too
 *	high
 * @sge: its scatter list
 * @max: entries that @sge has room for
 *
 * The library refuses a list that does not fit, so only a process that fills
 * rings by itself loses it.
 */
static inline void univ_ring_fetch_recv(const struct univ_ring *ring, u32 index,
					struct univ_recv_wr *wr,
					struct univ_sge *sge, u32 max)
{
	const size_t head = offsetof(struct univ_recv_wr, sge);
	const void *slot = univ_ring_slot(ring, index);

	univ_ring_fetch(wr, slot, head);
	if (wr->count > max || !univ_ring_holds(ring, head, wr->count))
		wr->count = 0;
	univ_ring_fetch(sge, slot + head, wr->count * sizeof(*sge));
}

/**
 * univ_ring_retire() - let the process reuse the slots before an index
 * @ring: ring
 * @index: free-running
 *
 * Release: the reads of the slots come before. Pairs with the
 * load-acquire in the library's univ_ring_room().
 */
static inline void univ_ring_retire(struct univ_ring *ring, u32 index)
{
	smp_store_release(&ring->head->kernel.index, index);
}

/**
 * univ_ring_set_flags() - set the flags of a ring, which the process reads
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
	/* Release: a process that sees DEAD or OVERRUN sees all completions. */
	smp_store_release(&ring->head->kernel.flags, flags);
}

/**
 * univ_cq_ring_full() - whether the process left no room for a completion
 * @ring: completion ring
 * @index: completions written so far
 *
 * An impossible index of the process counts as full: it overruns its own queue.
 */
static inline bool univ_cq_ring_full(const struct univ_ring *ring, u32 index)
{
	/*
	 * Acquire: pairs with the library's release of the index up to which it
	 * has read.
	 */
	return index - smp_load_acquire(&ring->head->user.index) >= ring->count;
}

/**
 * univ_cq_ring_fits() - whether the process left room for several completions
 * @ring: completion ring
 * @index: completions written so far
 * @count: how many more
 *
 * An impossible index of the process leaves no room, see univ_cq_ring_full().
 */
static inline bool univ_cq_ring_fits(const struct univ_ring *ring, u32 index,
				     u32 count)
{
	/* Acquire: as in univ_cq_ring_full(). */
	u32 used = index - smp_load_acquire(&ring->head->user.index);

	return (u64)used + count <= ring->count;
}

/**
 * univ_cq_ring_show() - let the process see a completion
 * @ring: completion ring with room
 * @slot: its slot, filled but for the phase
 * @index: its index
 *
 * Release: pairs with the load-acquire of the phase in the library's
 * univ_cursor_ready(). The slot's old phase stays in place until then.
 */
static inline void univ_cq_ring_show(const struct univ_ring *ring,
				     struct univ_cqe *slot, u32 index)
{
	smp_store_release(&slot->phase, UNIV_CQE_PHASE(index, ring->count));
}

#endif
