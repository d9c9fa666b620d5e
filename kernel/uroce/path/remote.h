/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The connection over packets of a queue pair whose peer is on another host.
 * Private to this room.
 */
#ifndef UROCE_REMOTE_H
#define UROCE_REMOTE_H

#include <linux/skbuff.h>
#include <net/inet_ecn.h>

#include "../conn/conn.h"
#include "path.h"

/**
 * struct uroce_remote_wqe - a send request, until the peer has acknowledged it
 * @msg: the request as packets need it
 * @wr_id: wr_id of the request
 * @flags: enum univ_wr_flags
 * @count: number of segments of its scatter list
 *
 * There are as many as the ring has slots. With the scatter lists they are most
 * of the memory of a connection, so each has one cache line.
 */
struct uroce_remote_wqe {
	struct uroce_msg msg;
	u64 wr_id;
	u8 flags;
	u16 count;
};

static_assert(sizeof(struct uroce_remote_wqe) == 64);

/**
 * struct uroce_remote - a queue pair's connection over packets
 * @qp: the queue pair
 * @conn: requester, under sq.lock, and responder, under resp.lock
 * @req_flow: addresses and route of requests, under sq.lock
 * @resp_flow: addresses and route of responses, under resp.lock
 * @req_run: requests that are sent together; empty when sq.lock is released
 * @resp_run: responses that are sent together; empty when resp.lock is released
 * @mapped: the request whose memory is held; NULL when sq.lock is released
 * @vec: memory of @mapped
 * @answers: packets for the requester, taken under sq.lock
 * @fit: requests, as many as the ring has slots
 * @loaded: number of requests copied out of the ring, free-running
 * @why: the reason why a window was not bound, enum univ_reason, until that
 *	request completes
 * @began: the requester has begun
 * @moves: how often the requester has migrated, written with both locks
 * @rcu: frees it after a grace period; routes and separate allocations are
 *	freed earlier
 */
struct uroce_remote {
	struct uroce_qp *qp;
	struct uroce_conn conn;
	struct uroce_flow req_flow;
	struct uroce_flow resp_flow;
	struct uroce_run req_run;
	struct uroce_run resp_run;
	struct uroce_remote_wqe *mapped;
	struct uroce_vec vec;
	struct sk_buff_head answers;
	struct uroce_fit fit;
	u32 loaded;
	u16 why;
	bool began;
	u8 moves;
	struct rcu_head rcu;
};

static inline struct uroce_remote *wire_of(struct uroce_conn *conn)
{
	return container_of(conn, struct uroce_remote, conn);
}

static inline struct uroce_remote_wqe *wqe_of(struct uroce_msg *msg)
{
	return container_of(msg, struct uroce_remote_wqe, msg);
}

static inline struct uroce_remote_wqe *wqe_at(struct uroce_remote *w, u32 index)
{
	return &w->fit.wqes[index & (w->fit.count - 1)];
}

static inline struct univ_sge *sges_of(struct uroce_remote *w,
					const struct uroce_remote_wqe *kept)
{
	return w->fit.sges + (kept - w->fit.wqes) * w->qp->sq.max_sge;
}

/*
 * A copy of the addresses for a connection. With ECT(0) routers mark packets
 * instead of dropping them; a connection reacts to the marks.
 */
static inline struct uroce_flow
uroce_remote_way(const struct uroce_flow *flow)
{
	struct uroce_flow way = *flow;

	way.route = NULL;
	way.tclass = (way.tclass & ~INET_ECN_MASK) | INET_ECN_ECT_0;
	return way;
}

/* remote.c */
void uroce_msg_fill(struct uroce_msg *msg, const struct uroce_wqe *wqe);
bool uroce_remote_is_from(const struct uroce_remote *w,
			  const struct uroce_packet *pkt);
void uroce_remote_retime(struct uroce_remote *w);

/* fit.c */
int uroce_fit_alloc(struct uroce_fit *fit, u32 count, u32 max_sge);

/* remote_ops.c */
extern const struct uroce_conn_ops uroce_remote_ops;
void uroce_remote_revive(struct uroce_conn *conn, const struct uroce_msg *msg,
		       struct uroce_wqe *wqe);

#endif
