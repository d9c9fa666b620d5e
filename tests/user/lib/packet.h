/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCEv2 packets over IPv4, byte by byte. They get a valid CRC unless a test damages it; the test
 * chooses all other bytes.
 */
#ifndef PACKET_H
#define PACKET_H

#include "wire.h"
#include <netinet/ip.h>
#include <netinet/udp.h>

/* Opcodes of requests and responses, below the bits of the service. */
enum { SEND_FIRST = 0, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM,
       WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM,
       READ_REQUEST, READ_ONLY = 16, ACKNOWLEDGE, ATOMIC_ACK, COMPARE_SWAP, FETCH_ADD,
       SEND_ONLY_INV = 23, FLUSH = 28, ATOMIC_WRITE };

enum { SERVICE_RC = 0, SERVICE_UC = 0x20, SERVICE_UD = 0x60, SERVICE_XRC = 0xa0 };

struct packet {
	struct iphdr ip;
	struct udphdr udp;
	uint8_t byte[4160];		/* From the base transport header on. */
	uint32_t len;			/* Length of byte[], without the CRC. */
} __attribute__((packed));

/* Begin a packet for the queue pair @qpn with a base transport header, for a payload of @len bytes. */
static void packet_header(struct packet *p, uint8_t opcode, uint32_t qpn, uint32_t psn, uint32_t len)
{
	memset(p, 0, sizeof(*p));
	p->byte[0] = opcode;
	p->byte[1] = 0x40 | (-len & 3) << 4;
	p->byte[2] = 0xff;
	p->byte[3] = 0xff;
	put32(p->byte + 4, qpn);
	put32(p->byte + 8, 0x80000000 | (psn & 0xffffff));
	p->len = 12;
}

static MAYBE_UNUSED void packet_fill(struct packet *p, uint32_t len, uint8_t value)
{
	memset(p->byte + p->len, value, len);
	p->len += (len + 3) & ~3u;
}

static MAYBE_UNUSED void packet_reth(struct packet *p, uint64_t va, uint32_t rkey, uint32_t len)
{
	put64(p->byte + p->len, va);
	put32(p->byte + p->len + 8, rkey);
	put32(p->byte + p->len + 12, len);
	p->len += 16;
}

/*
 * Add the headers below and the CRC, into which @damage is XORed. A raw socket would add the
 * checksum of the IP header, and a tap would not. Returns the length from the IP header on.
 */
static uint32_t packet_end(struct packet *p, const char *from, const char *to, uint32_t damage)
{
	uint32_t total = sizeof(p->ip) + sizeof(p->udp) + p->len + 4, crc;

	p->ip = (struct iphdr){
		.version = 4, .ihl = 5, .tos = p->ip.tos, .tot_len = htons(total), .id = htons(1),
		.frag_off = htons(IP_DF), .ttl = 64, .protocol = IPPROTO_UDP,
		.saddr = inet_addr(from), .daddr = inet_addr(to),
	};
	p->ip.check = htons(~ip_sum((const uint8_t *)p));
	p->udp = (struct udphdr){
		.source = htons(0xc000), .dest = htons(4791), .len = htons(total - sizeof(p->ip)),
	};
	crc = htole32(icrc((const uint8_t *)p, total - 4) ^ damage);
	memcpy(p->byte + p->len, &crc, 4);
	return total;
}

#endif
