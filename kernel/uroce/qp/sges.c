// SPDX-License-Identifier: GPL-2.0
/* The memory that scatter lists of requests name. */
#include "sges.h"

static bool is_dma_key(const struct uroce_qp *qp, u32 key, bool attached)
{
	return !attached && key == qp->dev->ib.local_dma_lkey;
}

/*
 * Maps the memory of the first @len bytes of a scatter list. Memory behind the
 * end of the message is not checked: hardware and rdma_rxe do not check it
 * either, and programs post receive requests that are longer than the memory
 * behind them.
 */
enum ib_wc_status uroce_sges_map(struct uroce_qp *qp, struct ib_pd *pd,
				 struct uroce_vec *vec,
				 const struct univ_sge *sge, u32 count, u32 len,
				 u32 access, bool attached)
{
	const struct univ_sge *end = sge + count;
	struct uroce_seg *seg = vec->seg;
	u32 run;

	vec->count = 0;
	vec->len = len;
	for (; len && sge != end; len -= run, sge++) {
		run = min(sge->length, len);
		if (!run)
			continue;
		if (is_dma_key(qp, sge->lkey, attached)) {
			seg->mr = NULL;
			seg->base = sge->addr;
			seg->len = run;
		} else {
			if (!uroce_seg_get(seg, pd, sge->lkey, sge->addr, run,
					   access))
				goto bad;
		}
		vec->count++;
		seg++;
	}
	return IB_WC_SUCCESS;
bad:
	uroce_vec_put(vec);
	return IB_WC_LOC_PROT_ERR;
}

/*
 * The reason why uroce_sges_map() or the access to the memory failed, for the
 * completion. A missing page is the reason if no key is.
 */
u16 uroce_sges_why(const struct ib_pd *pd, const struct univ_sge *sge,
		   u32 count, u32 access)
{
	u16 reason = 0, why;
	u32 i;

	for (i = 0; i < count; i++) {
		if (!sge[i].length)
			continue;
		why = uroce_mr_why(pd, sge[i].lkey, sge[i].addr, sge[i].length,
				   access);
		if (why && why != UNIV_REASON_PAGE_FAULT)
			return why;
		reason |= why;
	}
	return reason;
}
