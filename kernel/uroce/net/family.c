// SPDX-License-Identifier: GPL-2.0
/* See family.h. */
#include <linux/skbuff.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/xfrm.h>

#include "family.h"
#include "icrc.h"

static bool is_udp_ipv4(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);

	return ip->protocol == IPPROTO_UDP && ip->ihl == sizeof(*ip) / 4;
}

static void addresses_ipv4(struct uroce_packet *pkt)
{
	const struct iphdr *ip = ip_hdr(pkt->skb);

	ipv6_addr_set_v4mapped(ip->saddr, &pkt->src);
	ipv6_addr_set_v4mapped(ip->daddr, &pkt->dst);
}

static bool met_congestion_ipv4(const struct sk_buff *skb)
{
	return INET_ECN_is_ce(ip_hdr(skb)->tos);
}

static u32 crc_ipv4(const struct uroce_packet *pkt)
{
	const struct iphdr *ip = ip_hdr(pkt->skb);

	return uroce_icrc_ipv4(ip, (void *)(ip + 1), pkt->bth);
}

static void set_len_ipv4(struct sk_buff *skb)
{
	ip_hdr(skb)->tot_len = htons(skb->len);
}

/* The check that UDP does for its sockets: IPsec may be required. */
static bool policy_ipv4(struct sk_buff *skb)
{
	return xfrm4_policy_check(NULL, XFRM_POLICY_IN, skb);
}

const struct uroce_family uroce_ipv4 = {
	.ip_len = sizeof(struct iphdr),
	.is_udp = is_udp_ipv4,
	.addresses = addresses_ipv4,
	.met_congestion = met_congestion_ipv4,
	.crc = crc_ipv4,
	.set_len = set_len_ipv4,
	.policy = policy_ipv4,
};

static bool is_udp_ipv6(const struct sk_buff *skb)
{
	return ipv6_hdr(skb)->nexthdr == IPPROTO_UDP;
}

/* A VRF overwrites skb_iif, but not IP6CB()->iif. */
static void addresses_ipv6(struct uroce_packet *pkt)
{
	pkt->src = ipv6_hdr(pkt->skb)->saddr;
	pkt->dst = ipv6_hdr(pkt->skb)->daddr;
	if (ipv6_addr_type(&pkt->dst) & IPV6_ADDR_LINKLOCAL)
		pkt->link = IP6CB(pkt->skb)->iif;
}

static bool met_congestion_ipv6(const struct sk_buff *skb)
{
	return INET_ECN_is_ce(ipv6_get_dsfield(ipv6_hdr(skb)));
}

static u32 crc_ipv6(const struct uroce_packet *pkt)
{
	const struct ipv6hdr *ip = ipv6_hdr(pkt->skb);

	return uroce_icrc_ipv6(ip, (void *)(ip + 1), pkt->bth);
}

static void set_len_ipv6(struct sk_buff *skb)
{
	ipv6_hdr(skb)->payload_len = htons(skb->len - sizeof(struct ipv6hdr));
}

static bool policy_ipv6(struct sk_buff *skb)
{
	return xfrm6_policy_check(NULL, XFRM_POLICY_IN, skb);
}

const struct uroce_family uroce_ipv6 = {
	.ip_len = sizeof(struct ipv6hdr),
	.is_udp = is_udp_ipv6,
	.addresses = addresses_ipv6,
	.met_congestion = met_congestion_ipv6,
	.crc = crc_ipv6,
	.set_len = set_len_ipv6,
	.policy = policy_ipv6,
};
