/* SPDX-License-Identifier: GPL-2.0 */
/* Memory windows, and the look-up of keys that peers use. */
#ifndef UROCE_MW_H
#define UROCE_MW_H

#include <rdma/ib_verbs.h>

#include "../mem/mem.h"
#include "pair.h"

/*
 * The window as the RDMA core knows it. The struct behind it is separate since
 * requests may still look at it.
 */
struct uroce_ibmw {
	struct ib_mw ib;
	struct uroce_mw *mw;
};

/*
 * Functions with a queue pair run under its sq.lock (bind, and invalidate for
 * its own request) or with bottom halves off.
 */
enum ib_wc_status uroce_mw_bind(struct uroce_qp *qp,
				const struct univ_send_wr *wr, u16 *reason);
int uroce_invalidate(struct uroce_qp *qp, u32 key);
bool uroce_mw_get(struct uroce_qp *qp, struct uroce_seg *seg, u32 key, u64 addr,
		  u32 len, u32 access);
void uroce_mw_put(struct uroce_mw *mw);
void uroce_mw_qp_gone(struct uroce_qp *qp);
int uroce_mw_alloc(struct ib_mw *ib, struct ib_udata *udata);
int uroce_mw_dealloc(struct ib_mw *ib);
void uroce_mw_query(struct ib_mw *ib, struct univ_queue_window *window);

/*
 * Resolves the key that a peer of @qp names, of a region or of a window. This
 * is the only check, on both paths. Returns false, and holds nothing, if access
 * is denied.
 */
static inline bool uroce_rkey_get(struct uroce_qp *qp, struct uroce_seg *seg,
				    u32 key, u64 addr, u32 len, u32 access)
{
	seg->mw = NULL;
	if (likely(uroce_seg_get(seg, qp->resp.pd, key, addr, len, access)))
		return true;
	return uroce_mw_get(qp, seg, key, addr, len, access);
}

static inline void uroce_rkey_put(const struct uroce_seg *seg)
{
	if (unlikely(seg->mw))
		uroce_mw_put(seg->mw);
	else
		uroce_mr_put(seg->mr);
}

#endif
