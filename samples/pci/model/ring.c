// SPDX-License-Identifier: GPL-2.0
/* Rings of processes, as uapi/univerbs_ring.h says, and the completions in them. */
#include <string.h>

#include "engine.h"

/* A byte of the pages in which the ring lies. No cache line is in two pages. */
static void *ring_byte(const struct guest *guest, const struct ring *ring, uint64_t at)
{
	return bus(guest, ring->page[at / UPCI_PAGE]) + at % UPCI_PAGE;
}

struct univ_ring_user *ring_user(const struct guest *guest, const struct ring *ring)
{
	return ring_byte(guest, ring, ring->at.head + offsetof(struct univ_ring_head, user));
}

static struct univ_ring_kernel *ring_kernel(const struct guest *guest, const struct ring *ring)
{
	return ring_byte(guest, ring, ring->at.head + offsetof(struct univ_ring_head, kernel));
}

static uint64_t ring_slot(const struct ring *ring, uint32_t index)
{
	return ring->at.slots + (uint64_t)(index & (ring->at.count - 1)) * ring->at.stride;
}

/* Returns the number of requests published, or of completions polled, by the process. */
uint32_t ring_index(const struct guest *guest, const struct ring *ring)
{
	return __atomic_load_n(&ring_user(guest, ring)->index, __ATOMIC_ACQUIRE);
}

void ring_copy(const struct guest *guest, const struct ring *ring, uint32_t index,
	       uint32_t offset, void *to, uint32_t length)
{
	uint64_t at = ring_slot(ring, index) + offset;
	uint32_t n;

	for (; length; length -= n, at += n, to = (char *)to + n) {
		n = UPCI_PAGE - at % UPCI_PAGE;
		n = n < length ? n : length;
		memcpy(to, ring_byte(guest, ring, at), n);
	}
	__asm__ __volatile__("" ::: "memory");
}

/* P1. Negative if the index is out of bounds. */
int64_t ring_waiting(const struct guest *guest, const struct ring *ring)
{
	uint32_t n;

	if (!ring->page)
		return 0;
	n = ring_index(guest, ring) - ring->index;
	return n > ring->at.count ? -1 : (int64_t)n;
}

/* P2 */
void ring_retire(const struct guest *guest, struct ring *ring, uint32_t index)
{
	ring->index = index;
	__atomic_store_n(&ring_kernel(guest, ring)->index, index, __ATOMIC_RELEASE);
}

void ring_flags(const struct guest *guest, const struct ring *ring, uint32_t flags)
{
	__atomic_store_n(&ring_kernel(guest, ring)->flags, flags, __ATOMIC_RELEASE);
}

/* P3 and P4. Returns false if there is no room. */
bool cq_write(struct guest *guest, struct cq *cq, struct univ_cqe *cqe, bool solicited)
{
	uint32_t index = cq->ring.index, count = cq->ring.at.count;
	struct univ_cqe *slot = ring_byte(guest, &cq->ring, ring_slot(&cq->ring, index));

	if (cq->overrun)
		return false;
	if (index - ring_index(guest, &cq->ring) >= count) {
		cq->overrun = true;
		cq->tell = true;
		return false;
	}
	memcpy(slot, cqe, offsetof(struct univ_cqe, phase));
	__atomic_store_n(&slot->phase, UNIV_CQE_PHASE(index, count), __ATOMIC_RELEASE);
	cq->ring.index++;
	cq->fresh = true;
	cq->solicited |= solicited || cqe->status;
	return true;
}
