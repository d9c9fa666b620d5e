/* SPDX-License-Identifier: GPL-2.0 */
/* XRC domains and XRC receive queue pairs, which the kernel calls targets. */
#ifndef UROCE_XRC_H
#define UROCE_XRC_H

#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

struct uroce_qp;
struct uroce_srq;

/**
 * struct uroce_xrcd - an XRC domain
 * @ib: first member
 * @srqs: shared receive queues of the domain by number; looked up with @lock
 * @lock: protects the lists of targets of these queues, see xrc.c. It may be
 *	taken under a uroce_resp.lock
 */
struct uroce_xrcd {
	struct ib_xrcd ib;
	struct xarray srqs;
	spinlock_t lock;
};

static inline struct uroce_xrcd *to_uxrcd(struct ib_xrcd *ib)
{
	return container_of(ib, struct uroce_xrcd, ib);
}

int uroce_xrcd_alloc(struct ib_xrcd *ib, struct ib_udata *udata);
int uroce_xrcd_dealloc(struct ib_xrcd *ib, struct ib_udata *udata);
int uroce_xrc_srq_add(struct uroce_srq *srq);
void uroce_xrc_srq_remove(struct uroce_srq *srq);
void uroce_target_remove(struct uroce_qp *qp);
bool uroce_target_aim(struct uroce_qp *qp, u32 srqn);
struct uroce_srq *uroce_target_take(struct uroce_qp *qp);
void uroce_xrc_exit(void);

#endif
