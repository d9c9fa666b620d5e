/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Inside the room ring: the quick half of posting. Most programs post one request
 * of one SGE at a time, and such a request is written here by straight code. All
 * else is left to post_send.c and post_recv.c, which are called last, so that the
 * quick half needs no more registers than a function may use without saving them.
 * A list of send requests is posted there, but each is written here if it can be.
 *
 * The price is that each request is written in two ways, and the two must agree.
 * The gain, in instructions of one call without a kick (gcc 12, x86-64, counted by
 * valgrind): 79 instead of 157 for a send or a write of one piece, 113 instead of
 * 189 for 16 bytes inline, 50 instead of 131 for a receive.
 */
#ifndef UNIV_RING_QUICK_H
#define UNIV_RING_QUICK_H

#include <string.h>

#include "ring/post.h"

/* The work that the quick half leaves; 0 if none. */
enum post_rest {
	POST_KICK = 1 << 0,
	POST_WAKE = UNIV_LOCK_WAITED,	/* a thread waits for the lock */
	POST_ALL = 1 << 2,		/* nothing was posted */
	POST_LOCKED = 1 << 3,		/* and the lock is held */
};

/* Copies short data without a call of memcpy(). */
static inline void bytes_copy(uint8_t *to, const uint8_t *from, uint32_t length)
{
	if (length > 16) {
		memcpy(to, from, length);
	} else if (length >= 8) {
		/* The two halves overlap if the length is below 16. */
		memcpy(to, from, 8);
		memcpy(to + length - 8, from + length - 8, 8);
	} else {
		while (length--)
			*to++ = *from++;
	}
}

/* Layouts are the same, so a list of pieces is copied as it is. */
_Static_assert(sizeof(struct ibv_sge) == sizeof(struct univ_sge), "sge");
_Static_assert(offsetof(struct ibv_sge, addr) == offsetof(struct univ_sge, addr), "sge");
_Static_assert(offsetof(struct ibv_sge, length) == offsetof(struct univ_sge, length), "sge");
_Static_assert(offsetof(struct ibv_sge, lkey) == offsetof(struct univ_sge, lkey), "sge");

static inline void sges_copy(struct univ_sge *to, const struct ibv_sge *from, uint32_t count)
{
	const struct ibv_sge *end = from + count;

	for (; from != end; from++, to++)
		memcpy(to, from, sizeof(*to));
}

/* The longest inline data that is copied word by word; memcpy() is faster for more. */
#define QUICK_INLINE 64

/* @length is at least 8. The last word overlaps with the one before if @length is no multiple. */
static inline void words_copy(uint8_t *to, const uint8_t *from, uint32_t length)
{
	const uint8_t *last = from + length - 8;

	for (; from < last; from += 8, to += 8)
		memcpy(to, from, 8);
	memcpy(to - (from - last), last, 8);
}

static inline bool quick_inline(const struct univ_qp *qp, struct univ_send_wr *slot,
				const struct ibv_sge *sge, uint32_t opcode)
{
	const uint8_t *from = (const uint8_t *)(uintptr_t)sge->addr;
	uint32_t length = sge->length;

	if (univ_unlikely(length > QUICK_INLINE || length > qp->max_inline ||
			  opcode == UNIV_WR_RDMA_READ))
		return false;
	slot->count = (uint16_t)length;
	if (length < 8)
		bytes_copy(slot->data, from, length);
	else
		words_copy(slot->data, from, length);
	return true;
}

/* Does quick_fill() know how to write the request? */
static inline bool quick_takes(const struct univ_qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t opcode = (uint32_t)wr->opcode;

	return univ_likely(wr->num_sge == 1 && opcode <= 31 && (qp->quick >> opcode & 1));
}

/*
 * Writes one request of one piece. Returns false if the slow half has to write
 * the slot, which is not published. The remote address is copied for a send as
 * well, since nothing reads it there.
 */
static inline __attribute__((always_inline)) bool
quick_fill(const struct univ_qp *qp, struct univ_send_wr *slot, const struct ibv_send_wr *wr)
{
	uint32_t opcode = (uint32_t)wr->opcode, flags = wr->send_flags;

	slot->wr_id = wr->wr_id;
	slot->opcode = (uint8_t)opcode;
	slot->flags = (uint8_t)(flags & UNIV_WR_FLAGS);
	slot->srqn = 0;
	slot->imm = wr->imm_data;
	slot->rkey = wr->wr.rdma.rkey;
	slot->remote_addr = wr->wr.rdma.remote_addr;
	if (flags & UNIV_WR_INLINE)
		return univ_likely(quick_inline(qp, slot, wr->sg_list, opcode));
	slot->count = 1;
	memcpy(slot->sge, wr->sg_list, sizeof(*slot->sge));
	return true;
}

/* Posts one request of one piece. */
static inline __attribute__((always_inline)) unsigned int
send_quick(struct univ_qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t tail;
	bool kick;

	if (univ_unlikely(!wr || wr->next || !quick_takes(qp, wr) || !univ_trylock(&qp->sq_lock)))
		return POST_ALL;
	tail = qp->sq.tail;
	if (univ_unlikely(!univ_ring_room(&qp->sq, tail)))
		return POST_ALL | POST_LOCKED;
	if (univ_unlikely(!quick_fill(qp, univ_ring_slot(&qp->sq, tail), wr)))
		return POST_ALL | POST_LOCKED;
	kick = univ_ring_publish(&qp->sq, tail + 1);
	return (kick ? POST_KICK : 0) | univ_unlock_quiet(&qp->sq_lock);
}

/* Posts one receive request of one piece. The ring has room for a piece. */
static inline __attribute__((always_inline)) unsigned int
recv_quick(struct univ_lock *lock, struct univ_ring *ring, const struct ibv_recv_wr *wr)
{
	struct univ_ring_head *head;
	struct univ_recv_wr *slot;
	uint32_t tail;
	bool kick;

	if (univ_unlikely(!wr || wr->next || wr->num_sge != 1 || !univ_trylock(lock)))
		return POST_ALL;
	head = ring->head;
	tail = ring->tail;
	if (univ_unlikely(!univ_ring_room(ring, tail)))
		return POST_ALL | POST_LOCKED;
	slot = univ_ring_slot(ring, tail);
	slot->wr_id = wr->wr_id;
	slot->count = 1;
	slot->reserved = 0;
	memcpy(slot->sge, wr->sg_list, sizeof(*slot->sge));
	ring->tail = ++tail;
	kick = univ_ring_publish_at(head, tail);
	return (kick ? POST_KICK : 0) | univ_unlock_quiet(lock);
}

#endif
