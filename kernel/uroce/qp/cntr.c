// SPDX-License-Identifier: GPL-2.0
/* Completion counters of a queue pair. */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/slab.h>

#include "cntr.h"

static void count(const struct uroce_cntrs *cntrs, u32 op, bool ok, u32 len)
{
	if (cntrs && cntrs->ops & op)
		univ_queue_count(&cntrs->of[__ffs(op)], ok, len);
}

/* The operation that a request counts as; 0 for none. */
static u32 op_of(u8 opcode)
{
	switch (opcode) {
	case UNIV_WR_SEND:
	case UNIV_WR_SEND_WITH_IMM:
	case UNIV_WR_SEND_WITH_INV:
	case UNIV_WR_TSO:
		return UNIV_CNTR_SEND;
	case UNIV_WR_RDMA_READ:
		return UNIV_CNTR_READ;
	case UNIV_WR_RDMA_WRITE:
	case UNIV_WR_RDMA_WRITE_WITH_IMM:
		return UNIV_CNTR_WRITE;
	default:
		return 0;
	}
}

void uroce_cntrs_sent(struct uroce_qp *qp, u8 opcode, bool ok, u32 len)
{
	count(qp->cntrs, op_of(opcode), ok, len);
}

void uroce_cntrs_received(struct uroce_qp *qp, bool ok, u32 len)
{
	count(qp->cntrs, UNIV_CNTR_RECV, ok, len);
}

void uroce_cntrs_served(struct uroce_qp *qp, bool read, u32 len)
{
	count(qp->cntrs, read ? UNIV_CNTR_PEER_READ : UNIV_CNTR_PEER_WRITE,
	      true, len);
}

u32 uroce_cntrs_served_by(const struct uroce_qp *qp)
{
	u32 ops = qp->cntrs ? qp->cntrs->ops : 0;
	u32 access = 0;

	if (ops & UNIV_CNTR_PEER_WRITE)
		access |= IB_ACCESS_REMOTE_WRITE;
	if (ops & UNIV_CNTR_PEER_READ)
		access |= IB_ACCESS_REMOTE_READ;
	return access;
}

/* Context: both locks. */
static void attach(struct uroce_qp *qp, u32 ops,
		   const struct univ_queue_cntr *cntr)
{
	unsigned long bits = ops;
	int bit;

	for_each_set_bit(bit, &bits, UROCE_CNTR_OPS)
		qp->cntrs->of[bit] = *cntr;
	qp->cntrs->ops |= ops;
	if (ops & UNIV_CNTR_RECV)
		qp->resp.counted = true;
	if (ops & (UNIV_CNTR_SEND | UNIV_CNTR_READ | UNIV_CNTR_WRITE))
		qp->sq.signal = uroce_signals_all(&qp->sq) ?
					UROCE_SIGNAL_COUNTED_ALL :
					UROCE_SIGNAL_COUNTED;
	uroce_qp_grant(qp);
}

/* Only one call at a time attaches counters to a queue pair. May sleep. */
int uroce_cntr_attach(struct ib_qp *ib, u32 ops,
		      const struct univ_queue_cntr *cntr)
{
	struct uroce_qp *qp = to_uqp(ib);
	struct uroce_cntrs *fresh = NULL;

	if (!qp->cntrs) {
		fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
		if (!fresh)
			return -ENOMEM;
	}
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	if (fresh)
		qp->cntrs = fresh;
	attach(qp, ops, cntr);
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	return 0;
}
