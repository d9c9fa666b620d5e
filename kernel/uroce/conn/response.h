/* SPDX-License-Identifier: GPL-2.0 */
/* A read or an atomic of the peer, and its response. Part of conn.h. */
#ifndef UROCE_RESPONSE_H
#define UROCE_RESPONSE_H

#include <linux/types.h>

/**
 * struct uroce_response - a read or an atomic, for as long as the peer may
 *	repeat it
 * @op: flags of its packet opcode; 0 for a free slot
 * @pending: the response has not been sent completely
 * @again: it had been sent completely, before the peer asked for it again
 * @first: sequence number of the first response
 * @last: sequence number of the last response
 * @psn: next sequence number to send
 * @until: last sequence number to send
 * @srqn: XRC: the shared receive queue that the request named
 * @rkey: key of the memory that is read
 * @va: address of the first byte of the packet @from
 * @from: the sequence number that @va belongs to
 * @end: address behind the last byte
 * @len: bytes of the whole read
 * @msn: message sequence number
 * @orig: value that an atomic returned
 */
struct uroce_response {
	u32 op;
	bool pending;
	bool again;
	u32 first;
	u32 last;
	u32 psn;
	u32 until;
	u32 srqn;
	u32 rkey;
	u64 va;
	u32 from;
	u64 end;
	u32 len;
	u32 msn;
	u64 orig;
};

#endif
