/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The peer is a raw socket at 10.89.0.2 in the network namespace that UNIV_TEST_PEER names;
 * this program is at 10.89.0.1.
 */
#ifndef PACKETS_H
#define PACKETS_H

#include "packet.h"
#include "random.h"
#include "threads.h"

#define PEER_QPN	0x123456u

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

static void packet_begin(struct packet *p, uint8_t opcode, uint32_t psn, uint32_t len)
{
	packet_header(p, opcode, peer.qpn, psn, len);
}

/* @damage is XORed into the CRC. */
static void packet_send_to(struct packet *p, const char *from, const char *dest, uint32_t damage)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr(dest) };
	uint32_t total = packet_end(p, from, dest, damage);

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
