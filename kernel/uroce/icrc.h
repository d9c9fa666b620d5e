/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The invariant CRC: the CRC-32 of Ethernet over what no router may change, from
 * the IP header to the end of the padding. It begins with eight bytes of ones in
 * place of a header that InfiniBand has and RoCE has not; what may change on the
 * way (TTL, class, flow label, checksums, congestion bits) counts as ones.
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

/* Over the headers; goes on with uroce_icrc_add(), ends with uroce_icrc_end() */
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
