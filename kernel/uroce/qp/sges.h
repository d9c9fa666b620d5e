/* SPDX-License-Identifier: GPL-2.0 */
/* Scatter lists of send and receive requests. Private to this room. */
#ifndef UROCE_SGES_H
#define UROCE_SGES_H

#include "pair.h"

/*
 * Copies a scatter list whose length was checked. Returns the number of bytes
 * that it names.
 */
static __always_inline u64 uroce_sges_load(struct univ_sge *sge,
					   const void *from, u32 count)
{
	const struct univ_sge *end = sge + count;
	u64 len = 0;

	for (; sge != end; sge++, from += sizeof(*sge)) {
		univ_ring_fetch(sge, from, sizeof(*sge));
		len += sge->length;
	}
	return len;
}

enum ib_wc_status uroce_sges_map(struct uroce_qp *qp, struct ib_pd *pd,
				 struct uroce_vec *vec,
				 const struct univ_sge *sge, u32 count, u32 len,
				 u32 access, bool attached);
u16 uroce_sges_why(const struct ib_pd *pd, const struct univ_sge *sge,
		   u32 count, u32 access);

#endif
