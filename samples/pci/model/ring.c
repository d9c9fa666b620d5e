// SPDX-License-Identifier: GPL-2.0
/* Rings of processes, as uapi/univerbs_ring.h says, and the completions in them. */
#include <string.h>

#include "engine.h"

struct univ_ring_head *ring_head(const struct guest *guest, const struct ring *ring)
{
	return (void *)(bus(guest, ring->page[0]) + ring->at.head);
}

/* The kernel's line of the head may be in the next page. */
static uint32_t *ring_word(const struct guest *guest, const struct ring *ring, size_t offset)
{
	uint64_t at = ring->at.head + offset;

	return (void *)(bus(guest, ring->page[at / UPCI_PAGE]) + at % UPCI_PAGE);
}

static uint32_t *ring_kernel(const struct guest *guest, const struct ring *ring, size_t offset)
{
	return ring_word(guest, ring, offsetof(struct univ_ring_head, kernel) + offset);
}

void ring_copy(const struct guest *guest, const struct ring *ring, uint32_t index,
	       uint32_t offset, void *to, uint32_t length)
{
	uint64_t at = ring->at.slots + (uint64_t)(index & (ring->at.count - 1)) * ring->at.stride +
		      offset;
	uint32_t n;

	for (; length; length -= n, at += n, to = (char *)to + n) {
		n = UPCI_PAGE - at % UPCI_PAGE;
		n = n < length ? n : length;
		memcpy(to, bus(guest, ring->page[at / UPCI_PAGE]) + at % UPCI_PAGE, n);
	}
	__asm__ __volatile__("" ::: "memory");
}

/* P1. Negative if the index is out of bounds. */
int64_t ring_waiting(const struct guest *guest, const struct ring *ring)
{
	uint32_t n;

	if (!ring->page)
		return 0;
	n = __atomic_load_n(&ring_head(guest, ring)->user.index, __ATOMIC_ACQUIRE) - ring->index;
	return n > ring->at.count ? -1 : (int64_t)n;
}

/* P2 */
void ring_retire(const struct guest *guest, struct ring *ring, uint32_t index)
{
	ring->index = index;
	__atomic_store_n(ring_kernel(guest, ring, offsetof(struct univ_ring_kernel, index)), index,
			 __ATOMIC_RELEASE);
}

void ring_flags(const struct guest *guest, const struct ring *ring, uint32_t flags)
{
	__atomic_store_n(ring_kernel(guest, ring, offsetof(struct univ_ring_kernel, flags)), flags,
			 __ATOMIC_RELEASE);
}

/* P3 and P4. Returns false if there is no room. */
bool cq_write(struct guest *guest, struct cq *cq, struct univ_cqe *cqe, bool solicited)
{
	uint32_t index = cq->ring.index, count = cq->ring.at.count;
	struct univ_cqe *slot;
	uint64_t at;

	if (cq->overrun)
		return false;
	if (index - __atomic_load_n(&ring_head(guest, &cq->ring)->user.index, __ATOMIC_ACQUIRE) >=
	    count) {
		cq->overrun = true;
		cq->tell = true;
		return false;
	}
	at = cq->ring.at.slots + (uint64_t)(index & (count - 1)) * sizeof(*cqe);
	slot = (void *)(bus(guest, cq->ring.page[at / UPCI_PAGE]) + at % UPCI_PAGE);
	memcpy(slot, cqe, offsetof(struct univ_cqe, phase));
	__atomic_store_n(&slot->phase, UNIV_CQE_PHASE(index, count), __ATOMIC_RELEASE);
	cq->ring.index++;
	cq->fresh = true;
	cq->solicited |= solicited || cqe->status;
	return true;
}
