/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Automatic path migration (17.2.8 of the specification): the alternate path of
 * a queue pair, and the state of its migration.
 */
#ifndef UROCE_MIGRATE_H
#define UROCE_MIGRATE_H

#include <rdma/ib_verbs.h>

#include "pair.h"

/**
 * struct uroce_alt - an alternate path
 * @rcu: frees it after a grace period, since packets are compared with it
 *	without a lock
 * @flow: addresses, without a route
 * @dev_id: as uroce_av.dev_id
 * @ah: as it was given
 * @pkey_index: index of its P_Key
 * @port_num: 1
 * @timeout: local ACK timeout after a migration
 */
struct uroce_alt {
	struct rcu_head rcu;
	struct uroce_flow flow;
	u64 dev_id;
	struct rdma_ah_attr ah;
	u16 pkey_index;
	u8 port_num;
	u8 timeout;
};

/**
 * enum uroce_mig_step - the effect of a packet on the migration
 * @UROCE_MIG_TAKE: none
 * @UROCE_MIG_DROP: the packet is dropped
 * @UROCE_MIG_ARM: the peer has an alternate path, too
 * @UROCE_MIG_MOVE: the peer has migrated, and so does this queue pair
 * @UROCE_MIG_REFUSE: the peer asks for a migration on the primary path
 */
enum uroce_mig_step {
	UROCE_MIG_TAKE,
	UROCE_MIG_DROP,
	UROCE_MIG_ARM,
	UROCE_MIG_MOVE,
	UROCE_MIG_REFUSE,
};

/*
 * Checks the alternate path and the migration state of a call that modifies a
 * queue pair, and allocates the path for uroce_mig_modify(). May sleep. Returns
 * 0 or an errno, with @cause set if the caller can be told one.
 */
int uroce_mig_prepare(struct uroce_qp *qp, const struct ib_qp_attr *attr,
		      int mask, u32 *cause);
void uroce_mig_cancel(struct uroce_qp *qp);

/* Context of the following functions: both locks. */
int uroce_mig_check(const struct uroce_qp *qp, const struct ib_qp_attr *attr,
		    int mask, u64 dev_id);
void uroce_mig_modify(struct uroce_qp *qp, const struct ib_qp_attr *attr,
		      int mask);
void uroce_mig_follow(struct uroce_qp *qp);
void uroce_mig_reset(struct uroce_qp *qp);

/* Context: resp.lock. */
enum uroce_mig_step uroce_mig_hear(enum ib_mig_state state, bool alternate,
				   bool requests, bool fits);
void uroce_mig_move(struct uroce_qp *qp);
void uroce_mig_refuse(struct uroce_qp *qp);

/*
 * The program has changed the state of a queue pair whose peer is on this host.
 * Context: no lock.
 */
void uroce_mig_tell(struct uroce_qp *qp, enum ib_mig_state before);

#endif
