/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The library's side of uapi/univerbs_ring.h: the only code that touches the
 * words shared with the kernel. The library trusts the kernel. The barriers here are needed because
 * both run at the same time.
 */
#ifndef UNIV_RING_SHARED_H
#define UNIV_RING_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "univerbs.h"
#include "univerbs_ring.h"

/*
 * A ring of work requests. @tail is private: it counts the requests written so
 * far. Those before the shared index are published.
 */
struct univ_ring {
	struct univ_ring_head *head;
	uint8_t *slots;
	size_t stride;
	uint32_t mask;
	uint32_t tail;
	uint32_t max_wr;	/* requests that may be outstanding */
	uint32_t max_sge;
};

static inline void univ_ring_init(struct univ_ring *ring, void *base,
				  const struct univ_ring_map *map, uint32_t max_wr,
				  uint32_t max_sge)
{
	ring->head = (void *)((char *)base + map->head_offset);
	ring->slots = (uint8_t *)base + map->slot_offset;
	ring->mask = map->slots - 1;
	ring->stride = map->stride;
	ring->tail = 0;
	ring->max_wr = max_wr;
	ring->max_sge = max_sge;
}

/*
 * The number of requests that fit behind @tail. Acquire: pairs with the release
 * in the kernel's univ_ring_retire(), so the kernel has read the slots that are
 * overwritten now.
 */
static inline uint32_t univ_ring_room(const struct univ_ring *ring, uint32_t tail)
{
	return ring->max_wr - (tail - univ_load_acquire(&ring->head->kernel.index));
}

static inline void *univ_ring_slot(const struct univ_ring *ring, uint32_t index)
{
	return ring->slots + (index & ring->mask) * ring->stride;
}

/*
 * Shows all requests before @tail to the kernel. Returns true if the kernel must
 * be kicked. Release: pairs with the acquire in the kernel's
 * univ_ring_published(). Fence: pairs with the fence in the kernel between its
 * store of NEED_KICK and its last look at the ring.
 */
static inline bool univ_ring_publish_at(struct univ_ring_head *head, uint32_t tail)
{
	univ_store_release(&head->user.index, tail);
	univ_fence_before_recheck();
	return univ_load_relaxed(&head->kernel.flags) & UNIV_RING_NEED_KICK;
}

static inline bool univ_ring_publish(struct univ_ring *ring, uint32_t tail)
{
	ring->tail = tail;
	return univ_ring_publish_at(ring->head, tail);
}

/*
 * Where the next completion will appear, in one word that can be read without
 * the lock: the address of its slot, and in the low bits the phase that the
 * completion will have. Completions are 64 bytes and aligned; phases are 1 and 2.
 */
typedef uintptr_t univ_cq_cursor;

#define UNIV_CURSOR_PHASE ((univ_cq_cursor)3)

static inline univ_cq_cursor univ_cursor_make(struct univ_cqe *slots, uint32_t mask, uint32_t head)
{
	return (univ_cq_cursor)&slots[head & mask] | UNIV_CQE_PHASE(head, mask + 1);
}

static inline const struct univ_cqe *univ_cursor_cqe(univ_cq_cursor cursor)
{
	return (const struct univ_cqe *)(cursor & ~UNIV_CURSOR_PHASE);
}

/*
 * Whether the completion at @cursor is there. Acquire: pairs with the release in
 * the kernel's univ_cq_ring_show(), so the rest of the completion can be read.
 */
static inline bool univ_cursor_ready(univ_cq_cursor cursor)
{
	return univ_load_acquire(&univ_cursor_cqe(cursor)->phase) == (cursor & UNIV_CURSOR_PHASE);
}

/*
 * As univ_cursor_ready(), by a plain load: the caller must look again, with
 * acquire order, before it reads a completion that this function has found.
 */
static inline bool univ_cursor_ready_plain(univ_cq_cursor cursor)
{
	univ_cq_cursor phase = cursor & UNIV_CURSOR_PHASE;

	return univ_load_plain(&((const struct univ_cqe *)(cursor - phase))->phase) ==
	       (uint32_t)phase;
}

/*
 * Gives the slots of the completions before @head back to the kernel. Release:
 * the completions were read before; pairs with the acquire in the kernel's
 * univ_cq_ring_full().
 */
static inline void univ_cq_ring_consume(struct univ_ring_head *ring, uint32_t head)
{
	univ_store_release(&ring->user.index, head);
}

/* Whether the event that was requested by arming with @arm is still to be sent. */
static inline bool univ_cq_ring_armed(const struct univ_ring_head *ring, uint32_t arm)
{
	return univ_load_relaxed(&ring->kernel.fired) != arm;
}

/*
 * The index after the newest completion that was there when the last event was raised, or 0 if
 * the kernel does not know it. It means little when more than a ring was polled since then.
 */
static inline uint32_t univ_cq_ring_fired_index(const struct univ_ring_head *ring)
{
	return univ_load_relaxed(&ring->kernel.fired_index);
}

/*
 * Asks for an event. Fence: a caller that polls after arming sees each completion
 * for which no event is sent. It pairs with the fence in the kernel between the
 * store of a phase and the load of this word.
 */
static inline void univ_cq_ring_arm(struct univ_ring_head *ring, uint32_t arm)
{
	univ_store_relaxed(&ring->user.arm, arm);
	univ_fence_before_recheck();
}

static inline uint32_t univ_cq_ring_broken(const struct univ_ring_head *ring)
{
	return univ_load_plain(&ring->kernel.flags) & (UNIV_RING_DEAD | UNIV_RING_OVERRUN);
}

#endif
