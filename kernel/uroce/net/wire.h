/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The format of RoCEv2 packets: UDP to port 4791, a base transport header, the
 * headers that its opcode announces, payload with padding, and the invariant
 * CRC. Headers are big endian, the CRC is little endian.
 */
#ifndef UROCE_WIRE_H
#define UROCE_WIRE_H

#include <linux/align.h>
#include <linux/bits.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#define UROCE_UDP_PORT 4791
#define UROCE_ICRC_SIZE 4

/* The maximum payload of a packet. */
#define UROCE_MAX_MTU 4096

/* The maximum message length of the specification, in bytes. */
#define UROCE_MAX_MESSAGE (1u << 31)
/*
 * Such a message needs more packets of MTU 256 than may be in flight, so this
 * requester sends shorter ones.
 */
#define UROCE_MAX_SEND (1u << 30)

/* Packet sequence numbers have 24 bits and wrap. */
#define UROCE_PSN_MASK 0xffffffu

static inline u32 uroce_psn_add(u32 psn, u32 n)
{
	return (psn + n) & UROCE_PSN_MASK;
}

/* The distance from @b to @a; negative if @a is behind @b. */
static inline s32 uroce_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

/**
 * struct uroce_bth - base transport header
 * @opcode: enum uroce_opcode
 * @flags: solicited event, migration state, pad count, version
 * @pkey: partition
 * @qpn: congestion bits, and 24 bits of the destination queue pair
 * @psn: acknowledge request, and 24 bits of sequence number
 */
struct uroce_bth {
	u8 opcode;
	u8 flags;
	__be16 pkey;
	__be32 qpn;
	__be32 psn;
};

#define UROCE_BTH_SE		BIT(7)
#define UROCE_BTH_MIG		BIT(6)
#define UROCE_BTH_PAD_SHIFT	4
#define UROCE_BTH_PAD_MASK	GENMASK(5, 4)
#define UROCE_BTH_VERSION	GENMASK(3, 0)
/*
 * In @qpn: congestion experienced, its notification, and the byte that the ICRC
 * skips.
 */
#define UROCE_BTH_FECN		BIT(31)
#define UROCE_BTH_BECN		BIT(30)
#define UROCE_BTH_RESV8A	GENMASK(31, 24)
/*
 * In @psn. UROCE_BTH_SELECTIVE is a reserved bit, which other devices send as
 * zero and ignore: the sender of the packet supports selective repeat.
 */
#define UROCE_BTH_ACK_REQ	BIT(31)
#define UROCE_BTH_SELECTIVE	BIT(30)

static inline u32 uroce_bth_qpn(const struct uroce_bth *bth)
{
	return be32_to_cpu(bth->qpn) & 0xffffff;
}

static inline u32 uroce_bth_psn(const struct uroce_bth *bth)
{
	return be32_to_cpu(bth->psn) & UROCE_PSN_MASK;
}

static inline u32 uroce_bth_pad(const struct uroce_bth *bth)
{
	return (bth->flags & UROCE_BTH_PAD_MASK) >> UROCE_BTH_PAD_SHIFT;
}

static inline bool uroce_bth_ack_req(const struct uroce_bth *bth)
{
	return bth->psn & cpu_to_be32(UROCE_BTH_ACK_REQ);
}

static inline bool uroce_bth_selective(const struct uroce_bth *bth)
{
	return bth->psn & cpu_to_be32(UROCE_BTH_SELECTIVE);
}

/* The P_Key of the partition that all ports are in, and its parts. */
#define UROCE_PKEY		0xffff
#define UROCE_PKEY_FULL		BIT(15)
#define UROCE_PKEY_PARTITION	GENMASK(14, 0)

/*
 * May two members exchange packets (IBTA 10.9.3)? They must be in one
 * partition, and one of them must be a full member. Partition 0 is none.
 */
static inline bool uroce_pkeys_meet(u16 a, u16 b)
{
	return !((a ^ b) & UROCE_PKEY_PARTITION) && a & UROCE_PKEY_PARTITION &&
	       (a | b) & UROCE_PKEY_FULL;
}

static inline bool uroce_pkey_matches(const struct uroce_bth *bth, u16 pkey)
{
	if (likely(bth->pkey == cpu_to_be16(UROCE_PKEY) && pkey == UROCE_PKEY))
		return true;
	return uroce_pkeys_meet(be16_to_cpu(bth->pkey), pkey);
}

/* The padding that makes the payload of @len bytes a multiple of four. */
static inline u32 uroce_pad(u32 len)
{
	return -len & 3;
}

/* Datagram extended header: the Q_Key, and the sender's queue pair. */
struct uroce_deth {
	__be32 qkey;
	__be32 sqp;
};

/*
 * RDMA extended header: remote address, key, and length of the whole message.
 */
struct uroce_reth {
	__be64 va;
	__be32 rkey;
	__be32 len;
} __packed __aligned(4);

/*
 * FLUSH extended header (annex A19), before a RETH: the types of the flush and
 * its level. The bits above the level are reserved and ignored.
 */
struct uroce_feth {
	__be32 bits;
};

#define UROCE_FETH_TYPE		GENMASK(3, 0)
#define UROCE_FETH_LEVEL	GENMASK(5, 4)

struct uroce_atomic_eth {
	__be64 va;
	__be32 rkey;
	__be64 swap_add;
	__be64 compare;
} __packed __aligned(4);

/* ACK extended header: a syndrome, and 24 bits of message sequence number. */
struct uroce_aeth {
	__be32 smsn;
};

struct uroce_atomic_ack {
	__be64 orig;
} __packed __aligned(4);

/* Syndrome: two bits of type above five bits of detail. */
enum uroce_syndrome {
	UROCE_AETH_KIND		= 0x60,
	UROCE_AETH_ACK		= 0x00,
	UROCE_AETH_RNR		= 0x20,
	UROCE_AETH_NAK		= 0x60,
	UROCE_AETH_DETAIL	= 0x1f,

	/*
	 * An ACK with this credit count grants no credits; flow control is not
	 * used.
	 */
	UROCE_AETH_NO_CREDIT	= 0x1f,

	UROCE_NAK_SEQUENCE	= 0x60,
	UROCE_NAK_INVALID	= 0x61,
	UROCE_NAK_ACCESS	= 0x62,
	UROCE_NAK_OPERATION	= 0x63,
};

/*
 * Selective repeat: the payload of a NAK for a sequence error, from a responder
 * with UROCE_BTH_SELECTIVE to a requester with it. The packet of the NAK's
 * sequence number is missing. Bit i of word w is set if the responder holds the
 * packet whose sequence number is higher by 1 + 64 * w + i.
 */
#define UROCE_HELD_WORDS 4
#define UROCE_HELD_SPAN (64 * UROCE_HELD_WORDS)

struct uroce_held_eth {
	__be64 held[UROCE_HELD_WORDS];
} __packed __aligned(4);

/* The reserved bytes at the end of a congestion notification packet. */
#define UROCE_CNP_RESERVED 16

static inline __be32 uroce_aeth_make(u8 syndrome, u32 msn)
{
	return cpu_to_be32((u32)syndrome << 24 | (msn & 0xffffff));
}

static inline u8 uroce_aeth_syndrome(const struct uroce_aeth *aeth)
{
	return be32_to_cpu(aeth->smsn) >> 24;
}

enum uroce_opcode {
	UROCE_SERVICE		= 0xe0,
	UROCE_RC		= 0x00,
	UROCE_UC		= 0x20,
	UROCE_UD		= 0x60,
	UROCE_XRC		= 0xa0,
	UROCE_CNP		= 0x81,

	UROCE_OPERATION		= 0x1f,
	UROCE_SEND_FIRST	= 0x00,
	UROCE_SEND_MIDDLE	= 0x01,
	UROCE_SEND_LAST		= 0x02,
	UROCE_SEND_LAST_IMM	= 0x03,
	UROCE_SEND_ONLY		= 0x04,
	UROCE_SEND_ONLY_IMM	= 0x05,
	UROCE_WRITE_FIRST	= 0x06,
	UROCE_WRITE_MIDDLE	= 0x07,
	UROCE_WRITE_LAST	= 0x08,
	UROCE_WRITE_LAST_IMM	= 0x09,
	UROCE_WRITE_ONLY	= 0x0a,
	UROCE_WRITE_ONLY_IMM	= 0x0b,
	UROCE_READ_REQUEST	= 0x0c,
	UROCE_READ_FIRST	= 0x0d,
	UROCE_READ_MIDDLE	= 0x0e,
	UROCE_READ_LAST		= 0x0f,
	UROCE_READ_ONLY		= 0x10,
	UROCE_ACKNOWLEDGE	= 0x11,
	UROCE_ATOMIC_ACK	= 0x12,
	UROCE_COMPARE_SWAP	= 0x13,
	UROCE_FETCH_ADD		= 0x14,
	UROCE_SEND_LAST_INV	= 0x16,
	UROCE_SEND_ONLY_INV	= 0x17,
	UROCE_FLUSH		= 0x1c,
	UROCE_ATOMIC_WRITE	= 0x1d,
};

/* The properties of a packet opcode. */
enum uroce_op_flags {
	UROCE_OP_REQUEST	= BIT(0),
	UROCE_OP_RESPONSE	= BIT(1),
	UROCE_OP_FIRST		= BIT(2),	/* first packet of a message */
	UROCE_OP_LAST		= BIT(3),	/* last packet of a message */
	UROCE_OP_SEND		= BIT(4),
	UROCE_OP_WRITE		= BIT(5),
	UROCE_OP_READ		= BIT(6),
	UROCE_OP_ATOMIC		= BIT(7),
	UROCE_OP_IMM		= BIT(8),
	UROCE_OP_INV		= BIT(9),
	UROCE_OP_RETH		= BIT(10),
	UROCE_OP_AETH		= BIT(11),
	UROCE_OP_DETH		= BIT(12),
	UROCE_OP_PAYLOAD	= BIT(13),
	/* The packet consumes a receive request. */
	UROCE_OP_RECV		= BIT(14),
	/* Writes eight bytes at once; answered by an empty read response. */
	UROCE_OP_ATOMIC_WRITE	= BIT(15),
	/* Has a FETH; answered by an empty read response. */
	UROCE_OP_FLUSH		= BIT(16),
};

/**
 * struct uroce_op - properties of one packet opcode
 * @flags: enum uroce_op_flags; none for an opcode that does not exist
 * @length: bytes of headers, from the base header to the payload
 */
struct uroce_op {
	u32 flags;
	u16 length;
};

extern const struct uroce_op uroce_ops[256];

/* wire.c: the meaning of an RNR timer and of a local ACK timeout. */
u64 uroce_rnr_ns(u8 timer);
u64 uroce_timeout_ns(u8 timeout);

#endif
