/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion counters of a queue pair. They are attached in RESET or INIT, with
 * both locks, and stay until the queue pair is destroyed.
 */
#ifndef UROCE_CNTR_H
#define UROCE_CNTR_H

#include "pair.h"

#define UROCE_CNTR_OPS 6

/**
 * struct uroce_cntrs - the counters of a queue pair
 * @ops: enum univ_cntr_ops that have a counter
 * @of: by bit number of the operation
 */
struct uroce_cntrs {
	u32 ops;
	struct univ_queue_cntr of[UROCE_CNTR_OPS];
};

int uroce_cntr_attach(struct ib_qp *ib, u32 ops,
		      const struct univ_queue_cntr *cntr);
/* A send request was completed. Context: sq.lock. */
void uroce_cntrs_sent(struct uroce_qp *qp, u8 opcode, bool ok, u32 len);
/* A receive request was completed. Context: resp.lock. */
void uroce_cntrs_received(struct uroce_qp *qp, bool ok, u32 len);
/* A read or a write of the peer was executed. Context: resp.lock. */
void uroce_cntrs_served(struct uroce_qp *qp, bool read, u32 len);

/* The access flags that the counted requests of the peer need. */
u32 uroce_cntrs_served_by(const struct uroce_qp *qp);

#endif
