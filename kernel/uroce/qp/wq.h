/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive work queues. A work queue is implemented as a queue pair that never
 * sends. No packet finds it by its number. Its states
 * IB_WQS_RESET, IB_WQS_RDY and IB_WQS_ERR are IB_QPS_RESET, IB_QPS_RTR and
 * IB_QPS_ERR of this queue pair.
 */
#ifndef UROCE_WQ_H
#define UROCE_WQ_H

#include "pair.h"

/**
 * struct uroce_wq - a receive work queue
 * @ib: as the RDMA core knows it
 * @receiver: the queue pair, which the RDMA core does not know
 */
struct uroce_wq {
	struct ib_wq ib;
	struct uroce_ibqp receiver;
};

static inline struct uroce_wq *to_uwq(struct ib_wq *ib)
{
	return container_of(ib, struct uroce_wq, ib);
}

/* number.c */
int uroce_wq_number(struct uroce_qp *qp);
void uroce_wq_unnumber(struct uroce_qp *qp);

#endif
