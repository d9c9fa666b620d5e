// SPDX-License-Identifier: GPL-2.0
/* The table of packet opcodes: the headers and the meaning of each. */
#include <linux/skbuff.h>

#include "gso.h"
#include "net.h"
#include "wire.h"

#define LEN_BTH		12
#define LEN_RETH	16
#define LEN_FETH	4
#define LEN_ATOMIC	28
#define LEN_AETH	4
#define LEN_IMM		4

#define REQUEST	UROCE_OP_REQUEST
#define RESPONSE UROCE_OP_RESPONSE
#define ATOMIC	UROCE_OP_ATOMIC
#define SEND	(UROCE_OP_REQUEST | UROCE_OP_SEND | UROCE_OP_PAYLOAD)
#define WRITE_DATA	(UROCE_OP_REQUEST | UROCE_OP_WRITE | UROCE_OP_PAYLOAD)
#define READ_DATA	(UROCE_OP_RESPONSE | UROCE_OP_READ | UROCE_OP_PAYLOAD)
#define FIRST	UROCE_OP_FIRST
#define LAST	UROCE_OP_LAST
#define ONLY	(FIRST | LAST)
#define IMM	(UROCE_OP_IMM | UROCE_OP_RECV)
#define INV	UROCE_OP_INV
#define RECV	UROCE_OP_RECV
#define RETH	UROCE_OP_RETH
#define AETH	UROCE_OP_AETH

/*
 * @extra: bytes that each request of the service has behind its base transport
 * header.
 */
#define OP(service, op, bits, len, extra) \
	[UROCE_##service | UROCE_##op] = {	\
		.flags = (bits), .length = LEN_BTH + (len) + (extra) }

/* Sends and writes, which reliable and unreliable connections share. */
#define MESSAGES(service, extra) \
	OP(service, SEND_FIRST, SEND | FIRST, 0, extra), \
	OP(service, SEND_MIDDLE, SEND, 0, extra), \
	OP(service, SEND_LAST, SEND | LAST | RECV, 0, extra), \
	OP(service, SEND_LAST_IMM, SEND | LAST | IMM, LEN_IMM, extra), \
	OP(service, SEND_ONLY, SEND | ONLY | RECV, 0, extra), \
	OP(service, SEND_ONLY_IMM, SEND | ONLY | IMM, LEN_IMM, extra), \
	OP(service, WRITE_FIRST, WRITE_DATA | FIRST | RETH, LEN_RETH, extra), \
	OP(service, WRITE_MIDDLE, WRITE_DATA, 0, extra), \
	OP(service, WRITE_LAST, WRITE_DATA | LAST, 0, extra), \
	OP(service, WRITE_LAST_IMM, WRITE_DATA | LAST | IMM, LEN_IMM, extra), \
	OP(service, WRITE_ONLY, WRITE_DATA | ONLY | RETH, LEN_RETH, extra), \
	OP(service, WRITE_ONLY_IMM, WRITE_DATA | ONLY | IMM | RETH, \
	   LEN_RETH + LEN_IMM, extra)

#define RELIABLE(service, extra) \
	MESSAGES(service, extra), \
	OP(service, READ_REQUEST, REQUEST | UROCE_OP_READ | ONLY | RETH, \
	   LEN_RETH, extra), \
	OP(service, READ_FIRST, READ_DATA | FIRST | AETH, LEN_AETH, 0), \
	OP(service, READ_MIDDLE, READ_DATA, 0, 0), \
	OP(service, READ_LAST, READ_DATA | LAST | AETH, LEN_AETH, 0), \
	OP(service, READ_ONLY, READ_DATA | ONLY | AETH, LEN_AETH, 0), \
	OP(service, ACKNOWLEDGE, RESPONSE | ONLY | AETH, LEN_AETH, 0), \
	OP(service, ATOMIC_ACK, RESPONSE | ATOMIC | ONLY | AETH, \
	   LEN_AETH + 8, 0), \
	OP(service, COMPARE_SWAP, REQUEST | ATOMIC | ONLY, LEN_ATOMIC, extra), \
	OP(service, FETCH_ADD, REQUEST | ATOMIC | ONLY, LEN_ATOMIC, extra), \
	OP(service, SEND_LAST_INV, SEND | LAST | RECV | INV, LEN_IMM, extra), \
	OP(service, SEND_ONLY_INV, SEND | ONLY | RECV | INV, LEN_IMM, extra), \
	OP(service, FLUSH, REQUEST | UROCE_OP_FLUSH | ONLY | RETH, \
	   LEN_FETH + LEN_RETH, extra), \
	OP(service, ATOMIC_WRITE, REQUEST | UROCE_OP_ATOMIC_WRITE | \
	   UROCE_OP_PAYLOAD | ONLY | RETH, LEN_RETH, extra)

#define DATAGRAM (SEND | ONLY | RECV | UROCE_OP_DETH)

const struct uroce_op uroce_ops[256] = {
	RELIABLE(RC, 0),
	MESSAGES(UC, 0),
	OP(UD, SEND_ONLY, DATAGRAM, 0, sizeof(struct uroce_deth)),
	OP(UD, SEND_ONLY_IMM, DATAGRAM | IMM, LEN_IMM,
	   sizeof(struct uroce_deth)),
	RELIABLE(XRC, 4),
	/*
	 * A congestion notification belongs to no service and has a reserved
	 * field.
	 */
	[UROCE_CNP] = {
		.flags = RESPONSE | ONLY,
		.length = LEN_BTH + UROCE_CNP_RESERVED,
	},
};

/*
 * May the packet have its payload? Besides the packets with data, a NAK of
 * selective repeat has one.
 */
static bool may_carry(const struct uroce_packet *pkt)
{
	if (likely(!pkt->len || (pkt->op->flags & UROCE_OP_PAYLOAD)))
		return true;
	return (pkt->bth->opcode & UROCE_OPERATION) == UROCE_ACKNOWLEDGE &&
	       uroce_bth_selective(pkt->bth) &&
	       pkt->len == sizeof(struct uroce_held_eth);
}

static void count_packets(struct uroce_packet *pkt)
{
	pkt->packets = 1;
	pkt->mtu = 0;
	if (likely(!skb_is_gso(pkt->skb)) || !uroce_gso_is(pkt->skb))
		return;
	pkt->mtu = uroce_gso_mtu(pkt->skb);
	pkt->packets = max(DIV_ROUND_UP(pkt->len, pkt->mtu), 1u);
}

/**
 * uroce_packet_parse() - parse the packet behind the UDP header
 * @pkt: @pkt->skb is set; the other fields are filled in
 * @start: offset of the base transport header
 *
 * Return: false if this cannot be a packet of uroce
 */
bool uroce_packet_parse(struct uroce_packet *pkt, unsigned int start)
{
	struct sk_buff *skb = pkt->skb;
	unsigned int tail;

	if (!pskb_may_pull(skb, start + sizeof(struct uroce_bth)))
		return false;
	pkt->bth = (void *)(skb->data + start);
	pkt->op = &uroce_ops[pkt->bth->opcode];
	if (!pkt->op->flags || (pkt->bth->flags & UROCE_BTH_VERSION))
		return false;
	if (!pskb_may_pull(skb, start + pkt->op->length))
		return false;
	pkt->bth = (void *)(skb->data + start);
	pkt->payload = start + pkt->op->length;
	tail = UROCE_ICRC_SIZE + uroce_bth_pad(pkt->bth);
	if (skb->len < pkt->payload + tail)
		return false;
	pkt->len = skb->len - pkt->payload - tail;
	pkt->psn = uroce_bth_psn(pkt->bth);
	count_packets(pkt);
	pkt->qpn = uroce_bth_qpn(pkt->bth);
	return may_carry(pkt);
}

/* The specification's table of RNR timers, in units of 10 microseconds. */
u64 uroce_rnr_ns(u8 timer)
{
	static const u16 units[32] = {
		65536 >> 1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
		192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144,
		8192, 12288, 16384, 24576, 32768, 49152,
	};

	/* Value 0 is the longest time, twice what an entry can hold. */
	return (u64)units[timer & 31] * (timer & 31 ? 1 : 2) * 10000;
}

/* 4.096 microseconds times a power of two. */
u64 uroce_timeout_ns(u8 timeout)
{
	return 4096ull << (timeout & 31);
}
