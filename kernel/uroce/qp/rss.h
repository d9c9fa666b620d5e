/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs that spread the frames they receive over work queues. */
#ifndef UROCE_RSS_H
#define UROCE_RSS_H

#include "wq.h"

/**
 * struct uroce_rss - how a queue pair spreads frames
 * @rcu: a frame may still be on its way when the queue pair is destroyed
 * @fields: enum univ_rx_hash_fields
 * @key: of the Toeplitz hash
 * @mask: number of entries of @receivers, minus 1
 * @receivers: the queue pair of the work queue of each entry. The memory of
 *	these, too, is freed after a grace period
 *
 * Nothing changes after the queue pair was created.
 */
struct uroce_rss {
	struct rcu_head rcu;
	u64 fields;
	u8 key[UNIV_RX_HASH_KEY];
	u32 mask;
	struct uroce_qp *receivers[];
};

struct uroce_rss *uroce_rss_create(const struct ib_rwq_ind_table *table);
int uroce_qp_hash(struct ib_qp *ib, const struct univ_queue_hash *hash);

#endif
