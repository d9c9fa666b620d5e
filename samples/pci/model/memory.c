// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a transfer: pieces behind keys, each within a page. A key, an address and a
 * length come from a process, so they are checked.
 */
#include <string.h>

#include "engine.h"

static bool piece_add(struct pieces *p, void *base, uint64_t length)
{
	if (p->count == p->max)
		return false;
	steps++;
	p->iov[p->count++] = (struct iovec) { base, length };
	p->length += length;
	return true;
}

/* Adds the bytes behind a key. Returns the reason why the domain may not use them, or 0. */
uint16_t pieces_add(const struct guest *guest, struct pieces *p, uint32_t pd, uint32_t key,
		    uint64_t addr, uint64_t length, uint32_t access)
{
	const struct mr *mr = key < UPCI_MAX_KEYS ? &guest->mrs[key] : NULL;
	uint64_t at, n;

	if (!length)
		return 0;
	if (!mr || !mr->used || mr->pd != pd)
		return UNIV_REASON_KEY_UNKNOWN;
	if ((mr->access & access) != access)
		return UNIV_REASON_KEY_ACCESS;
	if (addr < mr->iova || addr - mr->iova > mr->length ||
	    length > mr->length - (addr - mr->iova))
		return UNIV_REASON_KEY_RANGE;
	if (length > p->need - p->length)
		length = p->need - p->length;
	at = addr - mr->iova + mr->iova % UPCI_PAGE;
	for (; length; length -= n, at += n) {
		n = UPCI_PAGE - at % UPCI_PAGE;
		n = n < length ? n : length;
		if (!piece_add(p, bus(guest, mr->page[at / UPCI_PAGE]) + at % UPCI_PAGE, n))
			return UNIV_REASON_LIMIT;
	}
	return 0;
}

uint16_t pieces_list(const struct guest *guest, struct pieces *p, uint32_t pd,
		     const struct univ_sge *sge, uint32_t count, uint32_t access)
{
	uint16_t reason = 0;

	for (; count && !reason; count--, sge++)
		reason = pieces_add(guest, p, pd, sge->lkey, sge->addr, sge->length, access);
	return reason;
}

uint16_t pieces_of(const struct guest *guest, struct pieces *p, const struct qp *qp,
		   struct request *r, uint32_t access)
{
	if (r->wr.flags & UNIV_WR_INLINE)
		return piece_add(p, r->data, r->wr.count) ? 0 : UNIV_REASON_LIMIT;
	return pieces_list(guest, p, qp->pd, r->sge, r->wr.count, access);
}

/* Copies all of @from, for which @to has room. */
void pieces_copy(const struct pieces *to, const struct pieces *from)
{
	size_t n, done_to = 0, done_from = 0;
	uint32_t i = 0, j = 0;

	while (i < from->count && j < to->count) {
		n = from->iov[i].iov_len - done_from;
		if (n > to->iov[j].iov_len - done_to)
			n = to->iov[j].iov_len - done_to;
		memmove((char *)to->iov[j].iov_base + done_to,
			(char *)from->iov[i].iov_base + done_from, n);
		done_from += n;
		done_to += n;
		if (done_from == from->iov[i].iov_len) {
			i++;
			done_from = 0;
		}
		if (done_to == to->iov[j].iov_len) {
			j++;
			done_to = 0;
		}
	}
}
