// SPDX-License-Identifier: GPL-2.0
/*
 * Automatic path migration, as far as it does not depend on packets.
 *
 * A program loads an alternate path and sets the state REARM. The queue pair is
 * ARMED when its peer has been rearmed, too: packets show it. Then either side
 * may migrate, which makes the alternate path the primary one and the state
 * MIGRATED: at the program's request, when its peer does not answer, or when
 * its peer has migrated. Within a host the addresses do not matter, and the
 * state of the peer is changed at once.
 *
 * The responder may find out that the peer has migrated. It switches under its
 * own lock and leaves the path in uroce_qp.moved. The rest, which belongs to
 * the requester, follows under both locks (uroce_mig_follow()).
 */
#include <linux/slab.h>

#include "migrate.h"
#include "send.h"

/* ---- the program's requests ---------------------------------------------- */

/*
 * Returns why the state cannot be set, enum univ_path_mig_cause, or 0. The
 * state changes without a call, so this is checked again under the locks. A new
 * path replaces the one that an armed queue pair may migrate to at any time, so
 * the program has to set REARM in the same call.
 */
static u32 cause_of(const struct uroce_qp *qp, const struct ib_qp_attr *attr,
		    int mask, bool loads)
{
	enum ib_mig_state is = READ_ONCE(qp->mig), to = attr->path_mig_state;
	bool sets = mask & IB_QP_PATH_MIG_STATE;

	if (sets && to == IB_MIG_REARM && !loads &&
	    !rcu_access_pointer(qp->alt))
		return UNIV_PATH_MIG_NO_PATH;
	if (sets && to == IB_MIG_MIGRATED && is == IB_MIG_REARM)
		return UNIV_PATH_MIG_NOT_ARMED;
	if (loads && is == IB_MIG_ARMED && !(sets && to == IB_MIG_REARM))
		return UNIV_PATH_MIG_ARMED;
	return 0;
}

static struct uroce_alt *alt_alloc(struct uroce_dev *dev,
				   const struct ib_qp_attr *attr)
{
	struct uroce_alt *alt = kzalloc(sizeof(*alt), GFP_KERNEL_ACCOUNT);
	struct uroce_av av;
	int ret;

	if (!alt)
		return ERR_PTR(-ENOMEM);
	ret = uroce_av_init(dev, &av, &attr->alt_ah_attr);
	if (ret) {
		kfree(alt);
		return ERR_PTR(ret);
	}
	alt->flow = av.flow;
	alt->dev_id = av.dev_id;
	alt->ah = attr->alt_ah_attr;
	alt->ah.grh.sgid_attr = NULL;
	alt->pkey_index = attr->alt_pkey_index;
	alt->port_num = attr->alt_port_num;
	alt->timeout = attr->alt_timeout;
	return alt;
}

int uroce_mig_prepare(struct uroce_qp *qp, const struct ib_qp_attr *attr,
		      int mask, u32 *cause)
{
	bool loads = mask & IB_QP_ALT_PATH;
	struct uroce_alt *alt;

	*cause = cause_of(qp, attr, mask, loads);
	if (*cause)
		return -EINVAL;
	if (!loads)
		return 0;
	if (attr->alt_port_num != 1 || attr->alt_timeout > 31 ||
	    attr->alt_pkey_index >= UROCE_PKEYS)
		return -EINVAL;
	alt = alt_alloc(qp->dev, attr);
	if (IS_ERR(alt))
		return PTR_ERR(alt);
	uroce_mig_cancel(qp);
	qp->alt_next = alt;
	return 0;
}

/* The call has failed. */
void uroce_mig_cancel(struct uroce_qp *qp)
{
	kfree(qp->alt_next);
	qp->alt_next = NULL;
}

/*
 * @dev_id: of the primary path. Messages stay within the host, or go by
 * packets, whichever path they take.
 */
int uroce_mig_check(const struct uroce_qp *qp, const struct ib_qp_attr *attr,
		    int mask, u64 dev_id)
{
	const struct uroce_alt *next = qp->alt_next;

	if (mask & IB_QP_PATH_MIG_STATE && attr->path_mig_state > IB_MIG_REARM)
		return -EINVAL;
	if (cause_of(qp, attr, mask, next))
		return -EINVAL;
	if (next && dev_id && next->dev_id != dev_id)
		return -EOPNOTSUPP;
	return 0;
}

static void set_alt(struct uroce_qp *qp, struct uroce_alt *alt)
{
	struct uroce_alt *old = rcu_replace_pointer(qp->alt, alt,
			lockdep_is_held(&qp->resp.lock));

	kfree_rcu(old, rcu);
}

static void load(struct uroce_qp *qp)
{
	struct uroce_alt *alt = qp->alt_next;

	if (!alt)
		return;
	qp->alt_next = NULL;
	qp->attr.alt_ah_attr = alt->ah;
	qp->attr.alt_pkey_index = alt->pkey_index;
	qp->attr.alt_port_num = alt->port_num;
	qp->attr.alt_timeout = alt->timeout;
	set_alt(qp, alt);
	/* Release: a packet that finds this number finds the path. */
	smp_store_release(&qp->loads, qp->loads + 1);
}

/* The caller then calls uroce_remote_follow(), which changes the packets. */
void uroce_mig_modify(struct uroce_qp *qp, const struct ib_qp_attr *attr,
		      int mask)
{
	load(qp);
	if (!(mask & IB_QP_PATH_MIG_STATE))
		return;
	if (attr->path_mig_state == IB_MIG_REARM)
		WRITE_ONCE(qp->mig, IB_MIG_REARM);
	else if (qp->mig == IB_MIG_ARMED)
		uroce_mig_move(qp);
}

void uroce_mig_reset(struct uroce_qp *qp)
{
	lockdep_assert_held(&qp->resp.lock);
	WRITE_ONCE(qp->mig, IB_MIG_MIGRATED);
	set_alt(qp, NULL);
	kfree_rcu(qp->moved, rcu);
	WRITE_ONCE(qp->moved, NULL);
}

/* ---- migration ----------------------------------------------------------- */

/*
 * Judges a packet of the peer. @alternate: it came by the alternate path.
 * @requests: its MigReq bit is set: the peer is MIGRATED. @fits: its sequence
 * number is one that the peer may use now. All else is forged, or late.
 */
enum uroce_mig_step uroce_mig_hear(enum ib_mig_state state, bool alternate,
				   bool requests, bool fits)
{
	if (alternate)
		return state == IB_MIG_ARMED && requests && fits ?
			UROCE_MIG_MOVE : UROCE_MIG_DROP;
	if (!fits || state == IB_MIG_MIGRATED)
		return UROCE_MIG_TAKE;
	if (state == IB_MIG_REARM)
		return requests ? UROCE_MIG_TAKE : UROCE_MIG_ARM;
	return requests ? UROCE_MIG_REFUSE : UROCE_MIG_TAKE;
}

static void raise(struct uroce_qp *qp, enum ib_event_type event)
{
	set_bit(event, &qp->events);
	uroce_send_later(qp);
}

/* The queue pair is ARMED, so it has an alternate path. */
void uroce_mig_move(struct uroce_qp *qp)
{
	lockdep_assert_held(&qp->resp.lock);
	WARN_ON_ONCE(qp->moved);
	WRITE_ONCE(qp->moved, rcu_replace_pointer(qp->alt, NULL,
				lockdep_is_held(&qp->resp.lock)));
	WRITE_ONCE(qp->mig, IB_MIG_MIGRATED);
	raise(qp, IB_EVENT_PATH_MIG);
}

/* The peer has migrated, but does not use the alternate path. */
void uroce_mig_refuse(struct uroce_qp *qp)
{
	raise(qp, IB_EVENT_PATH_MIG_ERR);
}

/* The new primary path is that of uroce_qp.moved. */
void uroce_mig_follow(struct uroce_qp *qp)
{
	struct uroce_alt *to = qp->moved;

	lockdep_assert_held(&qp->sq.lock);
	lockdep_assert_held(&qp->resp.lock);
	if (!to)
		return;
	WRITE_ONCE(qp->moved, NULL);
	uroce_flow_release(&qp->av.flow);
	qp->av.flow = to->flow;
	qp->attr.ah_attr = to->ah;
	qp->attr.pkey_index = to->pkey_index;
	qp->attr.port_num = to->port_num;
	qp->attr.timeout = to->timeout;
	uroce_qp_partition(qp);
	kfree_rcu(to, rcu);
}

/* ---- peers on this host -------------------------------------------------- */

/* The type of the queue pairs that one of @type is connected to. */
static enum ib_qp_type type_of_peer(enum ib_qp_type type)
{
	if (type == IB_QPT_XRC_INI)
		return IB_QPT_XRC_TGT;
	return type == IB_QPT_XRC_TGT ? IB_QPT_XRC_INI : type;
}

/* No message is refused here, so no violation of a partition is counted. */
static bool is_connected_to(const struct uroce_qp *peer,
			    const struct uroce_qp *qp)
{
	return peer->state >= IB_QPS_RTR && peer->state <= IB_QPS_SQE &&
	       uroce_qp_is_connected(peer) &&
	       peer->type == type_of_peer(qp->type) &&
	       peer->attr.dest_qp_num == qp->num &&
	       peer->av.dev_id == qp->dev->id &&
	       uroce_pkeys_meet(peer->pkey, READ_ONCE(qp->pkey));
}

/*
 * A kick that found sq.lock taken has set sq.again and returned. The queue is
 * scheduled behind the unlock: a task that found the lock taken as well would
 * return likewise.
 */
static void peer_goes_on(struct uroce_qp *peer)
{
	spin_lock_bh(&peer->resp.lock);
	if (!peer->resp.dead)
		uroce_send_later(peer);
	spin_unlock_bh(&peer->resp.lock);
}

/* Returns true if @qp is armed. */
static bool peer_matches(struct uroce_qp *peer, const struct uroce_qp *qp,
			 enum ib_mig_state state)
{
	bool arms = false;

	spin_lock_bh(&peer->sq.lock);
	spin_lock(&peer->resp.lock);
	if (peer->resp.dead || !is_connected_to(peer, qp))
		goto unlock;
	if (state == IB_MIG_REARM && peer->mig != IB_MIG_MIGRATED) {
		WRITE_ONCE(peer->mig, IB_MIG_ARMED);
		arms = true;
	} else if (state == IB_MIG_MIGRATED && peer->mig == IB_MIG_ARMED) {
		uroce_mig_move(peer);
		uroce_mig_follow(peer);
	}
unlock:
	spin_unlock(&peer->resp.lock);
	spin_unlock_bh(&peer->sq.lock);
	peer_goes_on(peer);
	return arms;
}

static void arm(struct uroce_qp *qp)
{
	spin_lock_bh(&qp->resp.lock);
	if (qp->mig == IB_MIG_REARM)
		WRITE_ONCE(qp->mig, IB_MIG_ARMED);
	spin_unlock_bh(&qp->resp.lock);
}

/*
 * If both sides set REARM at the same time, the later call finds its peer in
 * REARM and arms the peer, then @qp. In between the peer may migrate, and @qp,
 * still in REARM, does not follow. So the peer's state is read again.
 */
void uroce_mig_tell(struct uroce_qp *qp, enum ib_mig_state before)
{
	enum ib_mig_state state = READ_ONCE(qp->mig);
	struct uroce_qp *peer;

	if (!qp->av.dev_id || state == before || state == IB_MIG_ARMED)
		return;
	rcu_read_lock();
	peer = uroce_qp_find(qp->av.dev_id, qp->attr.dest_qp_num);
	if (peer && peer_matches(peer, qp, state)) {
		arm(qp);
		if (READ_ONCE(peer->mig) == IB_MIG_MIGRATED)
			peer_matches(qp, peer, IB_MIG_MIGRATED);
	}
	rcu_read_unlock();
}
