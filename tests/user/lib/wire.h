/* SPDX-License-Identifier: GPL-2.0 */
/* The bytes of RoCEv2 packets over IPv4: big-endian numbers, and the checksums. */
#ifndef WIRE_H
#define WIRE_H

#include "testlib.h"
#include <arpa/inet.h>

static MAYBE_UNUSED uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return ntohl(value);
}

static MAYBE_UNUSED uint64_t get64(const uint8_t *at)
{
	return (uint64_t)get32(at) << 32 | get32(at + 4);
}

static MAYBE_UNUSED void put32(uint8_t *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, 4);
}

static MAYBE_UNUSED void put64(uint8_t *at, uint64_t value)
{
	put32(at, value >> 32);
	put32(at + 4, value);
}

static MAYBE_UNUSED uint32_t crc32_add(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *byte = data;

	while (len--) {
		crc ^= *byte++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/*
 * The invariant CRC of a packet of @len bytes without the CRC, which may end within its headers.
 * Ones take the place of the fields that routers may change.
 */
static MAYBE_UNUSED uint32_t icrc(const uint8_t *ip, size_t len)
{
	static const uint8_t ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	uint8_t head[28 + 5] = {};
	size_t masked = len < sizeof(head) ? len : sizeof(head);
	uint32_t crc = crc32_add(~0u, ones, 8);

	memcpy(head, ip, masked);
	head[1] = 0xff;				/* Type of service. */
	head[8] = 0xff;				/* Time to live. */
	memset(head + 10, 0xff, 2);		/* Checksums, and in the BTH the reserved byte. */
	memset(head + 26, 0xff, 2);
	head[28 + 4] = 0xff;
	return ~crc32_add(crc32_add(crc, head, masked), ip + masked, len - masked);
}

/* The sum over an IPv4 header: 0xffff with the right checksum in it. */
static MAYBE_UNUSED uint16_t ip_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum >> 16) + (sum & 0xffff);
	return sum + (sum >> 16);
}

/* Make the checksum of an IPv4 header right. */
static MAYBE_UNUSED void ip_seal(uint8_t *ip)
{
	uint16_t sum;

	ip[10] = ip[11] = 0;
	sum = (uint16_t)~ip_sum(ip);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

#endif
