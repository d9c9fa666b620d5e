/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The differences between IPv4 and IPv6 for packets that arrive. Private to
 * this room.
 */
#ifndef UROCE_FAMILY_H
#define UROCE_FAMILY_H

#include "net.h"

struct uroce_family {
	unsigned int ip_len;
	bool (*is_udp)(const struct sk_buff *skb);
	void (*addresses)(struct uroce_packet *pkt);
	bool (*met_congestion)(const struct sk_buff *skb);
	u32 (*crc)(const struct uroce_packet *pkt);
	void (*set_len)(struct sk_buff *skb);
	bool (*policy)(struct sk_buff *skb);
};

extern const struct uroce_family uroce_ipv4;
extern const struct uroce_family uroce_ipv6;

#endif
