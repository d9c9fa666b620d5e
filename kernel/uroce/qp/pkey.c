// SPDX-License-Identifier: GPL-2.0
/*
 * Partitions of queue pairs. A queue pair has the index of a P_Key in the table
 * of its device, and keeps a copy of this P_Key. Queue pair 1 has all P_Keys:
 * each of its requests names the index of one.
 */
#include "pair.h"

/* Values of uroce_qp.rx_match and .tx_match that equal no other value. */
#define RX_UNSURE	BIT(8)
#define TX_UNSURE	BIT(9)

/* Queue pair 1 exchanges datagrams with those of type UD. */
static u32 rx_type(const struct uroce_qp *qp)
{
	return qp->type == IB_QPT_GSI ? IB_QPT_UD : qp->type;
}

static u32 tx_type(const struct uroce_qp *qp)
{
	return qp->type == IB_QPT_XRC_INI ? IB_QPT_XRC_TGT : rx_type(qp);
}

/*
 * All members of a partition take the messages of a full member. The rest is
 * left to uroce_qp_matches_slowly().
 */
void uroce_qp_partition(struct uroce_qp *qp)
{
	u16 pkey = READ_ONCE(qp->dev->pkeys[qp->attr.pkey_index]);
	bool own = pkey && qp->type != IB_QPT_GSI;

	WRITE_ONCE(qp->pkey, pkey);
	qp->rx_match = own ? (u32)(pkey | UROCE_PKEY_FULL) << 16 | rx_type(qp) :
			     RX_UNSURE;
	qp->tx_match = own && pkey & UROCE_PKEY_FULL ?
			     (u32)pkey << 16 | tx_type(qp) : TX_UNSURE;
}

/*
 * Prefers an entry with which the port is a full member, as
 * ib_find_cached_pkey() does.
 */
static int find_index(const struct uroce_dev *dev, u16 pkey)
{
	int i, limited = -ENOENT;
	u16 own;

	for (i = 0; i < UROCE_PKEYS; i++) {
		own = READ_ONCE(dev->pkeys[i]);
		if (!uroce_pkeys_meet(own, pkey))
			continue;
		if (own & UROCE_PKEY_FULL)
			return i;
		limited = i;
	}
	return limited;
}

int uroce_qp_pkey_index(const struct uroce_qp *qp, u16 pkey)
{
	lockdep_assert_held(&qp->resp.lock);
	if (unlikely(qp->type == IB_QPT_GSI))
		return find_index(qp->dev, pkey);
	return likely(uroce_pkeys_meet(qp->pkey, pkey)) ? qp->attr.pkey_index :
							 -ENOENT;
}

noinline bool uroce_qp_matches_slowly(struct uroce_qp *peer,
				      const struct uroce_qp *qp, u16 pkey)
{
	if (rx_type(peer) != tx_type(qp))
		return false;
	if (uroce_qp_pkey_index(peer, pkey) >= 0)
		return true;
	atomic_inc(&peer->dev->pkey_violations);
	return false;
}
