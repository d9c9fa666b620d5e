/* SPDX-License-Identifier: GPL-2.0 */
/* What a queue pair has when its peer is on another host. */
#ifndef UROCE_PEER_H
#define UROCE_PEER_H

#include <linux/skbuff.h>

#include "conn.h"
#include "uroce.h"

/**
 * struct uroce_wire_wqe - what is kept of a send request until the peer has
 *	acknowledged it
 * @msg: what packets need
 * @wr_id: its name
 * @opcode: enum univ_wr_opcode
 * @flags: enum univ_wr_flags
 * @count: pieces in its scatter list
 *
 * As many as the ring has slots, so with the scatter lists they are most of what
 * a connection takes: one cache line each.
 */
struct uroce_wire_wqe {
	struct uroce_msg msg;
	u64 wr_id;
	u8 opcode;
	u8 flags;
	u16 count;
};

static_assert(sizeof(struct uroce_wire_wqe) == 64);

/**
 * struct uroce_wire - the wire of a queue pair
 * @qp: whose
 * @conn: requester and responder, under sq.lock and resp.lock
 * @req_flow: for requests, under sq.lock
 * @resp_flow: for responses, under resp.lock
 * @req_run: requests that go out together, empty when sq.lock is free
 * @resp_run: responses, and resp.lock
 * @mapped: the request whose memory is held; NULL when sq.lock is free
 * @vec: that memory
 * @answers: packets for the requester, which whoever holds sq.lock takes
 * @wqes: as many as the ring has slots
 * @sges: their scatter lists
 * @count: slots
 * @loaded: requests copied so far
 * @why: why a window was not bound, enum univ_reason, until that request is completed
 * @began: the requester has begun
 * @rcu: freed after a grace period, but for routes and what is allocated apart
 */
struct uroce_wire {
	struct uroce_qp *qp;
	struct uroce_conn conn;
	struct uroce_flow req_flow;
	struct uroce_flow resp_flow;
	struct uroce_run req_run;
	struct uroce_run resp_run;
	struct uroce_wire_wqe *mapped;
	struct uroce_vec vec;
	struct sk_buff_head answers;
	struct uroce_wire_wqe *wqes;
	struct univ_sge *sges;
	u32 count;
	u32 loaded;
	u16 why;
	bool began;
	struct rcu_head rcu;
};

void uroce_msg_fill(struct uroce_msg *msg, const struct uroce_wqe *wqe);
void uroce_wire_answer(struct uroce_wire *w, const struct uroce_packet *pkt);
void uroce_wire_request(struct uroce_wire *w, const struct uroce_packet *pkt);
void uroce_packet_put(const struct uroce_packet *pkt, const struct uroce_vec *vec,
		      u32 offset);

#endif
