// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Requests that the device divides into TCP segments. */
#include <errno.h>
#include <string.h>

#include "ring/post.h"
#include "why/why.h"

/*
 * Fills in the header of a segmentation request, which is valid during the call only. It lies
 * behind the room for all entries of a list, since ibv_wr_set_sge_list(3) sets the list afterwards.
 */
int univ_send_fill_tso(const char *verb, const struct univ_qp *qp, struct univ_send_wr *slot,
		       const void *header, uint16_t size, uint16_t mss)
{
	if (univ_unlikely(!qp->max_tso || size > qp->max_tso))
		return univ_fail_tso_header(verb, size, qp->max_tso);
	memcpy(slot->data + qp->sq.max_sge * sizeof(struct univ_sge), header, size);
	slot->tso.header = size;
	slot->tso.mss = mss;
	return 0;
}
