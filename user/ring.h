/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * User side of the rings of uapi/univerbs_ring.h: the only code that touches
 * the shared words. The kernel is trusted; what makes the code careful is that
 * it runs at the same time.
 */
#ifndef UNIV_USER_RING_H
#define UNIV_USER_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "barrier.h"
#include "univerbs.h"
#include "univerbs_ring.h"

/*
 * A ring of work requests. @tail is private: requests written so far, of which
 * those up to the shared index are published.
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
 * How many more requests fit behind @tail. Acquire: pairs with the release in
 * the kernel's univ_ring_retire(): it has read the slots that are overwritten.
 */
static inline uint32_t univ_ring_room(const struct univ_ring *ring, uint32_t tail)
{
	return ring->max_wr - (tail - univ_observe(&ring->head->kernel.index));
}

static inline void *univ_ring_slot(const struct univ_ring *ring, uint32_t index)
{
	return ring->slots + (index & ring->mask) * ring->stride;
}

/*
 * Shows all requests before @tail to the kernel and tells whether it must be
 * kicked. Release: pairs with the acquire in its univ_ring_published(). Fence:
 * pairs with the one between its store of NEED_KICK and its last look.
 */
static inline bool univ_ring_publish_at(struct univ_ring_head *head, uint32_t tail)
{
	univ_publish(&head->user.index, tail);
	univ_fence_before_recheck();
	return univ_peek(&head->kernel.flags) & UNIV_RING_NEED_KICK;
}

static inline bool univ_ring_publish(struct univ_ring *ring, uint32_t tail)
{
	ring->tail = tail;
	return univ_ring_publish_at(ring->head, tail);
}

/*
 * Where the next completion will appear, in one word that can be read without
 * the lock: the address of its slot, and in the low bits the phase that it
 * will bear. Completions are 64 bytes and aligned, phases are 1 and 2.
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
 * Whether the completion that @cursor waits for is there. Acquire: pairs with
 * the release in the kernel's univ_cq_ring_show(); the rest of it can be read.
 */
static inline bool univ_cursor_ready(univ_cq_cursor cursor)
{
	return univ_observe(&univ_cursor_cqe(cursor)->phase) == (cursor & UNIV_CURSOR_PHASE);
}

/*
 * As above, but orders nothing: whoever sees the completion must look again
 * before reading it.
 */
static inline bool univ_cursor_glance(univ_cq_cursor cursor)
{
	univ_cq_cursor phase = cursor & UNIV_CURSOR_PHASE;

	return univ_glance(&((const struct univ_cqe *)(cursor - phase))->phase) ==
	       (uint32_t)phase;
}

/*
 * Gives the slots of the completions before @head back. Release: they were read
 * before; pairs with the acquire in the kernel's univ_cq_ring_full().
 */
static inline void univ_cq_ring_consume(struct univ_ring_head *ring, uint32_t head)
{
	univ_publish(&ring->user.index, head);
}

/* Whether the event that arming with @arm asked for has not been sent yet. */
static inline bool univ_cq_ring_armed(const struct univ_ring_head *ring, uint32_t arm)
{
	return univ_peek(&ring->kernel.fired) != arm;
}

/*
 * Asks for an event. Fence: whoever polls after arming sees each completion
 * that sends no event; pairs with the one in the kernel between the phase and
 * its load of this word.
 */
static inline void univ_cq_ring_arm(struct univ_ring_head *ring, uint32_t arm)
{
	univ_poke(&ring->user.arm, arm);
	univ_fence_before_recheck();
}

static inline uint32_t univ_cq_ring_broken(const struct univ_ring_head *ring)
{
	return univ_glance(&ring->kernel.flags) & (UNIV_RING_DEAD | UNIV_RING_OVERRUN);
}

#endif
