// SPDX-License-Identifier: GPL-2.0
/*
 * Migration of connections over packets. Packets are untrusted: one that asks
 * for a migration has an effect only if it comes from the peer's address of the
 * alternate path, to ours, in the partition of that path, and with a sequence
 * number that the peer may use now.
 */
#include "move.h"

static u16 pkey_of(const struct uroce_qp *qp, const struct uroce_alt *alt)
{
	return READ_ONCE(qp->dev->pkeys[alt->pkey_index]);
}

/*
 * The paths may have the same addresses, and differ in the partition. Context:
 * resp.lock, or RCU.
 */
static bool comes_by(const struct uroce_remote *w, const struct uroce_alt *alt,
		     const struct uroce_packet *pkt)
{
	return uroce_flow_matches(&alt->flow, pkt) &&
	       uroce_conn_accepts(&w->conn, pkt, pkey_of(w->qp, alt));
}

bool uroce_move_comes_by(const struct uroce_remote *w,
			 const struct uroce_packet *pkt)
{
	const struct uroce_alt *alt = rcu_dereference(w->qp->alt);

	return alt && comes_by(w, alt, pkt);
}

/*
 * The responder takes another path. The packets that it holds behind a gap came
 * by the former one. Context: resp.lock.
 */
static void take_path(struct uroce_remote *w, const struct uroce_alt *to)
{
	uroce_flow_release(&w->resp_flow);
	w->resp_flow = uroce_remote_way(&to->flow);
	uroce_throttle_end(&w->conn.resp.throttle);
	uroce_held_purge(&w->conn);
}

/* The requester follows later. Context: resp.lock. */
static void move(struct uroce_remote *w)
{
	struct uroce_qp *qp = w->qp;

	uroce_mig_move(qp);
	take_path(w, qp->moved);
	WRITE_ONCE(w->conn.pkey, pkey_of(qp, qp->moved));
	WRITE_ONCE(w->conn.mig, UROCE_BTH_MIG);
}

/*
 * The requester takes the path of the responder. A migration that the program
 * has asked for is completed here, too. The caller then runs the send queue,
 * which sends the outstanding requests again. Context: both locks.
 */
void uroce_remote_follow(struct uroce_qp *qp)
{
	struct uroce_remote *w = qp->remote;
	const struct uroce_alt *to = qp->moved;

	if (w && to) {
		take_path(w, to);
		uroce_flow_release(&w->req_flow);
		w->req_flow = uroce_remote_way(&to->flow);
		uroce_throttle_end(&w->conn.req.throttle);
		WRITE_ONCE(w->moves, w->moves + 1);
	}
	uroce_mig_follow(qp);
	if (!w)
		return;
	WRITE_ONCE(w->conn.mig,
		   qp->mig == IB_MIG_MIGRATED ? UROCE_BTH_MIG : 0);
	if (!to)
		return;
	uroce_remote_partition(qp);
	uroce_remote_retime(w);
	if (w->began)
		uroce_req_again(&w->conn);
}

void uroce_move_catch_up(struct uroce_remote *w)
{
	spin_lock(&w->qp->resp.lock);
	uroce_remote_follow(w->qp);
	spin_unlock(&w->qp->resp.lock);
}

/*
 * The requester of a connection that has lost its peer. The responder may have
 * migrated already. The first packet on the new path is not a retry.
 */
bool uroce_move_away(struct uroce_conn *conn)
{
	struct uroce_remote *w = wire_of(conn);
	struct uroce_qp *qp = w->qp;
	bool moves;

	spin_lock(&qp->resp.lock);
	if (qp->mig == IB_MIG_ARMED)
		move(w);
	moves = qp->moved;
	if (moves)
		uroce_remote_follow(qp);
	spin_unlock(&qp->resp.lock);
	if (moves)
		conn->req.tries = conn->req.retry_cnt + 1;
	return moves;
}

/* Context: resp.lock. */
static bool hear(struct uroce_remote *w, bool alternate, bool requests,
		 bool fits)
{
	struct uroce_qp *qp = w->qp;

	switch (uroce_mig_hear(qp->mig, alternate, requests, fits)) {
	case UROCE_MIG_DROP:
		return false;
	case UROCE_MIG_ARM:
		WRITE_ONCE(qp->mig, IB_MIG_ARMED);
		break;
	case UROCE_MIG_MOVE:
		move(w);
		break;
	case UROCE_MIG_REFUSE:
		uroce_mig_refuse(qp);
		break;
	case UROCE_MIG_TAKE:
		break;
	}
	return true;
}

static bool requests_move(const struct uroce_packet *pkt)
{
	return pkt->bth->flags & UROCE_BTH_MIG;
}

static bool by_alternate(const struct uroce_remote *w,
			 const struct uroce_packet *pkt)
{
	const struct uroce_qp *qp = w->qp;
	const struct uroce_alt *alt = rcu_dereference_protected(qp->alt,
			lockdep_is_held(&qp->resp.lock));

	return qp->mig == IB_MIG_ARMED && requests_move(pkt) &&
	       comes_by(w, alt, pkt);
}

bool uroce_move_request(struct uroce_remote *w, const struct uroce_packet *pkt,
			bool alternate)
{
	const struct uroce_conn *conn = &w->conn;
	struct uroce_qp *qp = w->qp;

	if (likely(!alternate && qp->mig == IB_MIG_MIGRATED))
		return true;
	if (by_alternate(w, pkt))
		return hear(w, true, true, uroce_resp_expects(conn, pkt->psn));
	/* The queue pair may have migrated since the packet was looked at. */
	if (alternate && !(uroce_remote_is_from(w, pkt) &&
			   uroce_conn_accepts(conn, pkt, conn->pkey)))
		return false;
	return hear(w, false, requests_move(pkt), pkt->psn == conn->resp.psn);
}

/*
 * Does an answer on the primary path show the state of the peer? The answer
 * before the oldest one that is expected may be a late one. An answer that
 * arrived before the queue pair was armed may be older than the state ARMED of
 * the peer. Context: resp.lock.
 */
static bool shows_state(const struct uroce_remote *w,
			const struct uroce_packet *pkt,
			const struct uroce_arrival *at)
{
	if (pkt->psn == uroce_psn_add(w->conn.req.una, -1))
		return false;
	return at->armed || w->qp->mig != IB_MIG_ARMED;
}

/*
 * The addresses of an answer were compared when it arrived. A notification of
 * congestion has no sequence number.
 */
bool uroce_move_answer(struct uroce_remote *w, const struct uroce_packet *pkt,
		       const struct uroce_arrival *at)
{
	struct uroce_qp *qp = w->qp;
	bool alternate, taken;

	if (likely(!at->alternate && READ_ONCE(qp->mig) == IB_MIG_MIGRATED))
		return true;
	if (pkt->bth->opcode == UROCE_CNP)
		return !at->alternate;
	spin_lock(&qp->resp.lock);
	uroce_remote_follow(qp);
	/* After a migration the path that the answer came by is the primary. */
	alternate = at->alternate && w->moves == at->moves;
	/* The program may have replaced that path by another one. */
	taken = !(alternate && qp->loads != at->loads) &&
		hear(w, alternate, requests_move(pkt),
		     uroce_req_expects(&w->conn, pkt->psn) &&
		     (alternate || shows_state(w, pkt, at)));
	uroce_remote_follow(qp);
	spin_unlock(&qp->resp.lock);
	return taken;
}
