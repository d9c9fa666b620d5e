/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The opcodes of send requests, in one table: services, packets, completion and
 * properties of an opcode are looked up in its row. Documentation/adding.rst
 * lists the other files of a new opcode.
 */
#ifndef UROCE_OPCODE_H
#define UROCE_OPCODE_H

#include <linux/bits.h>
#include <linux/types.h>

#include "queue.h"
#include "univerbs_ring.h"

/* The opcode of fast registration, which only users in the kernel may post. */
#define UROCE_WR_REG_MR 0x40

enum uroce_wr_flags {
	/* Only users in the kernel may post it. */
	UROCE_WRF_KERNEL	= BIT(0),
	/* It changes keys of the requester's own, and no packet is sent. */
	UROCE_WRF_LOCAL		= BIT(1),
	/* It is complete only when its response has arrived. */
	UROCE_WRF_RESPONSE	= BIT(2),
	/*
	 * The response brings data for the requester's memory, which has to be
	 * writable; so it cannot be inline.
	 */
	UROCE_WRF_FETCH		= BIT(3),
	/* It reads any number of bytes of the peer's memory. */
	UROCE_WRF_READ		= BIT(4),
	/*
	 * It alters eight bytes of the peer's memory and returns the old ones.
	 */
	UROCE_WRF_ATOMIC	= BIT(5),
	/* It is inline and has exactly eight bytes. */
	UROCE_WRF_WORD		= BIT(6),
	/* It consumes a receive request of the peer. */
	UROCE_WRF_RECV		= BIT(7),
	/* It carries immediate data. */
	UROCE_WRF_IMM		= BIT(8),
	/* It carries a key that the peer invalidates. */
	UROCE_WRF_INV		= BIT(9),
	/*
	 * The request has two operands, which take the place of immediate data.
	 */
	UROCE_WRF_OPERANDS	= BIT(10),
	/* It carries no data and names memory of the peer to be flushed. */
	UROCE_WRF_FLUSH		= BIT(11),
	/* It is divided into frames, each with a copy of its header. */
	UROCE_WRF_TSO		= BIT(12),
};

/* Transport services that may send a request. */
enum uroce_wr_services {
	UROCE_WRS_RC		= BIT(0),	/* XRC too */
	UROCE_WRS_UC		= BIT(1),
	UROCE_WRS_UD		= BIT(2),
	UROCE_WRS_RAW		= BIT(3),	/* raw packets */
};

/**
 * struct uroce_wr_op - the properties of one opcode
 * @flags: enum uroce_wr_flags
 * @services: enum uroce_wr_services; 0 for an opcode that no process may post
 * @wc: opcode of the completion, as processes know it
 * @packet: opcodes of the request's packets, without the service: middle,
 *	first, last, only
 */
struct uroce_wr_op {
	u16 flags;
	u8 services;
	u8 wc;
	u8 packet[4];
};

/* An opcode has eight bits, so that any of them has a row; most are empty. */
extern const struct uroce_wr_op uroce_wr_ops[256];

static inline bool uroce_wr_is(u8 opcode, u16 flags)
{
	return uroce_wr_ops[opcode].flags & flags;
}

/*
 * The access flags that a flush needs. Each type has a flag of its own; that of
 * an unknown type is not in %UNIV_ACCESS_FLUSH.
 */
static inline u32 uroce_flush_access(u32 type)
{
	static_assert(UNIV_ACCESS_FLUSH_PERSISTENT ==
		      UNIV_FLUSH_PERSISTENT * UNIV_ACCESS_FLUSH_GLOBAL);
	return type * UNIV_ACCESS_FLUSH_GLOBAL;
}

/* The opcode of a request's packet, which is its first, its last, or both. */
static inline u8 uroce_wr_packet(u8 opcode, bool first, bool last)
{
	return uroce_wr_ops[opcode].packet[first | last << 1];
}

#endif
