/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The peer is a raw socket at 10.89.0.2 in the network namespace that UNIV_TEST_PEER names;
 * this program is at 10.89.0.1. Packets get a valid CRC unless a test damages it; the test
 * chooses all other bytes.
 */
#ifndef PACKETS_H
#define PACKETS_H

#include "random.h"
#include "testlib.h"
#include "threads.h"
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>

#define PEER_QPN	0x123456u

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

static struct {
	int sock;
	int marker;			/* Sends to @seen, from the peer's namespace. */
	int seen;
	uint32_t qpn;			/* The destination of the packets. */
} peer;

static void marker_open(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr("10.89.0.1") };
	struct timeval limit = { .tv_sec = WC_TIMEOUT / 1000 };
	socklen_t len = sizeof(to);

	peer.seen = socket(AF_INET, SOCK_DGRAM, 0);
	NEED(peer.seen >= 0 && !bind(peer.seen, (void *)&to, len) &&
	     !getsockname(peer.seen, (void *)&to, &len) &&
	     !setsockopt(peer.seen, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
	     !connect(peer.marker, (void *)&to, len), "marker: %s", err_name(errno));
}

/*
 * Wait until all packets that were sent have been received. Softirqs may leave packets in
 * the processor's backlog for later; this datagram is queued behind them there.
 */
static void packets_arrived(void)
{
	char c = 0;

	NEED(send(peer.marker, &c, 1, 0) == 1 && recv(peer.seen, &c, 1, 0) == 1,
	     "marker: %s", err_name(errno));
}

static void peer_open(void)
{
	int here = open("/proc/self/ns/net", O_RDONLY), there;
	char path[128];

	snprintf(path, sizeof(path), "/run/netns/%s", getenv("UNIV_TEST_PEER"));
	there = open(path, O_RDONLY);
	NEED(here >= 0 && there >= 0 && !setns(there, CLONE_NEWNET), "%s: %s", path,
	     err_name(errno));
	peer.sock = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	peer.marker = socket(AF_INET, SOCK_DGRAM, 0);
	NEED(peer.sock >= 0 && peer.marker >= 0, "socket: %s", err_name(errno));
	NEED(!setns(here, CLONE_NEWNET), "setns: %s", err_name(errno));
	marker_open();
	close(here);
	close(there);
	stay_here();
}

static void peer_close(void)
{
	close(peer.sock);
	close(peer.marker);
	close(peer.seen);
}

static uint32_t crc32_add(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* The invariant CRC, which excludes the fields that a router may change. */
static uint32_t icrc(const struct packet *pkt)
{
	static const uint8_t ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	struct packet p = *pkt;

	p.ip.tos = 0xff;
	p.ip.ttl = 0xff;
	p.ip.check = 0xffff;
	p.udp.check = 0xffff;
	if (p.len > 4)
		p.byte[4] = 0xff;
	return ~crc32_add(crc32_add(~0u, ones, 8), &p, sizeof(p.ip) + sizeof(p.udp) + p.len);
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, 4);
}

static void put64(uint8_t *at, uint64_t value)
{
	put32(at, value >> 32);
	put32(at + 4, value);
}

/* Begin a packet with a base transport header. */
static void packet_begin(struct packet *p, uint8_t opcode, uint32_t psn, uint32_t len)
{
	memset(p, 0, sizeof(*p));
	p->byte[0] = opcode;
	p->byte[1] = 0x40 | (-len & 3) << 4;
	p->byte[2] = 0xff;
	p->byte[3] = 0xff;
	put32(p->byte + 4, peer.qpn);
	put32(p->byte + 8, 0x80000000 | (psn & 0xffffff));
	p->len = 12;
}

static void packet_fill(struct packet *p, uint32_t len, uint8_t value)
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

/* @damage is XORed into the CRC. */
static void packet_send_to(struct packet *p, const char *from, const char *dest, uint32_t damage)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr(dest) };
	uint32_t total = sizeof(p->ip) + sizeof(p->udp) + p->len + 4, crc;

	p->ip = (struct iphdr){
		.version = 4, .ihl = 5, .tos = p->ip.tos, .tot_len = htons(total), .id = htons(1),
		.frag_off = htons(IP_DF), .ttl = 64, .protocol = IPPROTO_UDP,
		.saddr = inet_addr(from), .daddr = to.sin_addr.s_addr,
	};
	p->udp = (struct udphdr){
		.source = htons(0xc000), .dest = htons(4791), .len = htons(total - sizeof(p->ip)),
	};
	crc = htole32(icrc(p) ^ damage);
	memcpy(p->byte + p->len, &crc, 4);
	NEED(sendto(peer.sock, p, total, 0, (void *)&to, sizeof(to)) == (ssize_t)total,
	     "sendto: %s", err_name(errno));
}

static void packet_send_from(struct packet *p, const char *from, uint32_t damage)
{
	packet_send_to(p, from, "10.89.0.1", damage);
}

static MAYBE_UNUSED void packet_send(struct packet *p)
{
	packet_send_from(p, "10.89.0.2", 0);
}

static MAYBE_UNUSED bool is(const uint8_t *mem, size_t len, uint8_t value)
{
	for (size_t i = 0; i < len; i++)
		if (mem[i] != value)
			return false;
	return true;
}

static MAYBE_UNUSED uint32_t random_next(void)
{
	static uint64_t state;
	static bool seeded;

	if (!seeded)
		state = rnd_seed();
	seeded = true;
	return rnd(&state);
}

#endif
