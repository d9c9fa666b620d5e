/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections over packets that migrate to the alternate path of their queue
 * pair. Private to this room.
 */
#ifndef UROCE_MOVE_H
#define UROCE_MOVE_H

#include "remote.h"

/**
 * struct uroce_arrival - the migration of a queue pair when a packet arrived
 * @armed: it was ARMED; otherwise the other members are 0
 * @alternate: the packet came by the alternate path, and asks for a migration
 * @moves: uroce_remote.moves
 * @loads: uroce_qp.loads
 */
struct uroce_arrival {
	bool armed;
	bool alternate;
	u8 moves;
	u8 loads;
};

bool uroce_move_comes_by(const struct uroce_remote *w,
			 const struct uroce_packet *pkt);

/*
 * Does the packet ask for a migration, by the alternate path? It is checked
 * again before it has an effect. Both paths may have the same addresses.
 * Context: RCU.
 */
static inline bool uroce_move_alternate(const struct uroce_remote *w,
					const struct uroce_packet *pkt)
{
	return unlikely(READ_ONCE(w->qp->mig) == IB_MIG_ARMED) &&
	       pkt->bth->flags & UROCE_BTH_MIG && uroce_move_comes_by(w, pkt);
}

/*
 * Acquire: the path that is compared is the last one of @loads paths, or a
 * later one. Context: RCU.
 */
static inline struct uroce_arrival
uroce_move_arrival(const struct uroce_remote *w, const struct uroce_packet *pkt)
{
	struct uroce_arrival at = {};

	if (likely(READ_ONCE(w->qp->mig) != IB_MIG_ARMED))
		return at;
	at.armed = true;
	at.moves = READ_ONCE(w->moves);
	at.loads = smp_load_acquire(&w->qp->loads);
	at.alternate = uroce_move_alternate(w, pkt);
	return at;
}

/*
 * The effect of a packet on the migration, before the connection gets it.
 * @alternate: it came by the alternate path. Returns false if it is dropped.
 * Context: resp.lock for a request, sq.lock for an answer.
 */
bool uroce_move_request(struct uroce_remote *w, const struct uroce_packet *pkt,
			bool alternate);
bool uroce_move_answer(struct uroce_remote *w, const struct uroce_packet *pkt,
		       const struct uroce_arrival *at);

/* The requester follows its responder. Context: sq.lock. */
void uroce_move_catch_up(struct uroce_remote *w);

/* The operation of struct uroce_conn_ops. Context: sq.lock. */
bool uroce_move_away(struct uroce_conn *conn);

#endif
