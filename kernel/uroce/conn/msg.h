/* SPDX-License-Identifier: GPL-2.0 */
/* A send request as packets need it. Part of conn.h. */
#ifndef UROCE_MSG_H
#define UROCE_MSG_H

#include <linux/types.h>

#include "../net/net.h"

/**
 * struct uroce_msg - a send request, as far as packets need it
 * @va: remote address
 * @compare_add: first operand of an atomic or of a bind
 * @swap: second operand of an atomic or of a bind
 * @flush: operands of a flush, as in struct univ_send_wr.flush
 * @flush.length: bytes to flush
 * @flush.type: enum univ_flush_type, as bits
 * @flush.level: enum univ_flush_level
 * @imm: requests without operands: immediate data; in host order as __force,
 *	the key to invalidate, or the access flags of a fast registration
 * @rkey: remote key
 * @length: bytes of payload
 * @first: requester: sequence number of the first packet
 * @last: requester: sequence number of the last packet; before @first if there
 *	is none
 * @srqn: XRC: the remote shared receive queue
 * @op: enum univ_wr_opcode, or %UROCE_WR_REG_MR
 * @fence: wait until earlier reads and atomics are complete
 * @solicited: the peer raises a solicited event
 * @executed: requester: a local operation that has been carried out
 *
 * A queue pair has one for each request that it can hold, so it is kept small.
 */
struct uroce_msg {
	u64 va;
	union {
		struct {
			u64 compare_add;
			u64 swap;
		};
		struct {
			u64 length;
			u32 type;
			u32 level;
		} flush;
		__be32 imm;
	};
	u32 rkey;
	u32 length;
	u32 first;
	u32 last;
	u32 srqn;
	u8 op;
	bool fence : 1;
	bool solicited : 1;
	bool executed : 1;
};

static inline bool uroce_msg_is_local(const struct uroce_msg *msg)
{
	return uroce_wr_is(msg->op, UROCE_WRF_LOCAL);
}

static inline bool uroce_msg_is_read(const struct uroce_msg *msg)
{
	return uroce_wr_is(msg->op, UROCE_WRF_READ);
}

static inline bool uroce_msg_is_atomic(const struct uroce_msg *msg)
{
	return uroce_wr_is(msg->op, UROCE_WRF_ATOMIC);
}

/* Is the request complete only when its response has arrived? */
static inline bool uroce_msg_has_response(const struct uroce_msg *msg)
{
	return uroce_wr_is(msg->op, UROCE_WRF_RESPONSE);
}

#endif
