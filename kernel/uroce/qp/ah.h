/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address vectors, which say where packets go, and address handles, which
 * contain one.
 */
#ifndef UROCE_AH_H
#define UROCE_AH_H

#include <linux/seqlock.h>
#include <rdma/ib_verbs.h>

#include "../net/net.h"

struct uroce_dev;

/**
 * struct uroce_av - address vector: the way to a peer
 * @flow: addresses, for packets
 * @dev_id: uroce_dev.id of the peer's device if no packets are needed: it is in
 *	this namespace or in one that policy.c allows. 0 if packets are needed.
 */
struct uroce_av {
	struct uroce_flow flow;
	u64 dev_id;
};

/**
 * struct uroce_ah - an address handle
 * @ib: first member
 * @lock: a modification replaces @attr and @av as a whole
 * @attr: as the handle was created or modified
 * @av: the same, for packets; a request takes a copy of it
 * @index: number in private rings
 */
struct uroce_ah {
	struct ib_ah ib;
	seqlock_t lock;
	struct rdma_ah_attr attr;
	struct uroce_av av;
	u32 index;
};

static inline struct uroce_ah *to_uah(struct ib_ah *ib)
{
	return container_of(ib, struct uroce_ah, ib);
}

int uroce_av_init(struct uroce_dev *dev, struct uroce_av *av,
		  const struct rdma_ah_attr *attr);
int uroce_ah_create(struct ib_ah *ib, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata);
int uroce_ah_modify(struct ib_ah *ib, struct rdma_ah_attr *attr);
int uroce_ah_destroy(struct ib_ah *ib, u32 flags);
int uroce_ah_query(struct ib_ah *ib, struct rdma_ah_attr *attr);
void uroce_ah_load(struct uroce_ah *ah, struct uroce_av *av);
bool uroce_ah_copy(u32 index, struct uroce_av *av);

#endif
