/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of output.c, which sends single packets, that run.c calls. Private
 * to this room.
 */
#ifndef UROCE_OUTPUT_H
#define UROCE_OUTPUT_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/dst.h>
#include <net/ipv6.h>

#include "net.h"

static inline bool uroce_flow_is_ipv4(const struct uroce_flow *flow)
{
	return ipv6_addr_v4mapped(&flow->dst);
}

static inline int uroce_output_ip_len(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IP) ? sizeof(struct iphdr) :
						  sizeof(struct ipv6hdr);
}

static inline void uroce_output_set_route(struct sk_buff *skb,
					  struct dst_entry *dst)
{
	skb_dst_set(skb, dst_clone(dst));
	skb->dev = dst->dev;
}

struct sock *uroce_output_payer(struct net_device *dev, struct sk_buff *skb);
void uroce_output_charge(struct net_device *dev, struct sk_buff *skb);
struct dst_entry *uroce_flow_route(struct net_device *dev,
				   struct uroce_flow *flow);
void uroce_output_headers(const struct uroce_flow *flow, struct sk_buff *skb,
			  u16 id);
u32 uroce_output_crc(const struct sk_buff *skb, int ip_len);
int uroce_output_xmit(struct net *net, struct sk_buff *skb);
int uroce_output_one(struct net_device *dev, const struct uroce_flow *flow,
		     struct dst_entry *dst, struct sk_buff *skb);

#endif
