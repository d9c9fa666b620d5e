/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The invariant CRC: the CRC-32 of Ethernet over all fields that routers must
 * not change, from the IP header to the end of the padding. It begins with
 * eight bytes of ones, in place of the local route header that InfiniBand has
 * and RoCE lacks. Fields that may change on the way (TTL, traffic class, flow
 * label, checksums, congestion bits) count as ones.
 */
#ifndef UROCE_ICRC_H
#define UROCE_ICRC_H

#include <asm/byteorder.h>
#include <linux/types.h>

struct iphdr;
struct ipv6hdr;
struct sk_buff;
struct udphdr;
struct uroce_bth;

int uroce_icrc_init(void);
void uroce_icrc_exit(void);

/*
 * The CRC of the headers; uroce_icrc_add() continues it and uroce_icrc_end()
 * ends it.
 */
u32 uroce_icrc_ipv4(const struct iphdr *ip, const struct udphdr *udp,
		    const struct uroce_bth *bth);
u32 uroce_icrc_ipv6(const struct ipv6hdr *ip, const struct udphdr *udp,
		    const struct uroce_bth *bth);
u32 uroce_icrc_add(u32 crc, const void *data, size_t len);
u32 uroce_icrc_add_skb(u32 crc, const struct sk_buff *skb, unsigned int offset,
		       unsigned int len);

static inline __le32 uroce_icrc_end(u32 crc)
{
	return cpu_to_le32(~crc);
}

#endif
