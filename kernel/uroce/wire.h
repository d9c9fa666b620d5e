/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCEv2 packets as they are on the wire: UDP to port 4791, a base transport
 * header, what its opcode announces, payload with padding, the invariant CRC.
 * Headers are big endian, the CRC is little endian.
 */
#ifndef UROCE_WIRE_H
#define UROCE_WIRE_H

#include <linux/align.h>
#include <linux/bits.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#define UROCE_UDP_PORT 4791
#define UROCE_ICRC_SIZE 4

/* Bytes, the longest of the specification */
#define UROCE_MAX_MESSAGE (1u << 31)
/* That one has more packets of MTU 256 than may be under way, so ours are shorter */
#define UROCE_MAX_SEND (1u << 30)

/* Packet sequence numbers have 24 bits and wrap */
#define UROCE_PSN_MASK 0xffffffu

static inline u32 uroce_psn_add(u32 psn, u32 n)
{
	return (psn + n) & UROCE_PSN_MASK;
}

/* How far @a is ahead of @b: negative when it is behind */
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
/* In @qpn: congestion met, congestion told back, and the byte that ICRC skips */
#define UROCE_BTH_FECN		BIT(31)
#define UROCE_BTH_BECN		BIT(30)
#define UROCE_BTH_RESV8A	GENMASK(31, 24)
/* In @psn */
#define UROCE_BTH_ACK_REQ	BIT(31)

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

/* The top bit of a key tells the kind of member; ours is a full one, which hears both */
static inline bool uroce_pkey_matches(const struct uroce_bth *bth, u16 pkey)
{
	return !((be16_to_cpu(bth->pkey) ^ pkey) & 0x7fff);
}

/* What makes the payload of @len bytes a multiple of four */
static inline u32 uroce_pad(u32 len)
{
	return -len & 3;
}

/* Datagrams: what the receiver compares, and who sent */
struct uroce_deth {
	__be32 qkey;
	__be32 sqp;
};

/* RDMA: where, and how much in all */
struct uroce_reth {
	__be64 va;
	__be32 rkey;
	__be32 len;
} __packed __aligned(4);

struct uroce_atomic_eth {
	__be64 va;
	__be32 rkey;
	__be64 swap_add;
	__be64 compare;
} __packed __aligned(4);

/* Acknowledge: a syndrome, and 24 bits of message sequence number */
struct uroce_aeth {
	__be32 smsn;
};

struct uroce_atomic_ack {
	__be64 orig;
} __packed __aligned(4);

/* Syndrome: two bits of kind above five bits of detail */
enum uroce_syndrome {
	UROCE_AETH_KIND		= 0x60,
	UROCE_AETH_ACK		= 0x00,
	UROCE_AETH_RNR		= 0x20,
	UROCE_AETH_NAK		= 0x60,
	UROCE_AETH_DETAIL	= 0x1f,

	/* The credits of an acknowledge say that they count nothing */
	UROCE_AETH_NO_CREDIT	= 0x1f,

	UROCE_NAK_SEQUENCE	= 0x60,
	UROCE_NAK_INVALID	= 0x61,
	UROCE_NAK_ACCESS	= 0x62,
	UROCE_NAK_OPERATION	= 0x63,
};

/* Zeros that a congestion notification ends with */
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
	UROCE_ATOMIC_WRITE	= 0x1d,
};

/* What an opcode announces */
enum uroce_op_flags {
	UROCE_OP_REQUEST	= BIT(0),
	UROCE_OP_RESPONSE	= BIT(1),
	UROCE_OP_FIRST		= BIT(2),	/* begins a message */
	UROCE_OP_LAST		= BIT(3),	/* ends one */
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
	/* Takes a receive request away */
	UROCE_OP_RECV		= BIT(14),
	/* Eight bytes at once, answered by a read response without any */
	UROCE_OP_ATOMIC_WRITE	= BIT(15),
};

/**
 * struct uroce_op - one opcode
 * @flags: enum uroce_op_flags; none for an opcode that does not exist
 * @length: bytes of headers, from the base header to the payload
 */
struct uroce_op {
	u16 flags;
	u16 length;
};

extern const struct uroce_op uroce_ops[256];

/* Immediate data, or the key to invalidate, ends the headers */
static inline unsigned int uroce_imm_offset(u8 opcode)
{
	return uroce_ops[opcode].length - sizeof(__be32);
}

#endif
