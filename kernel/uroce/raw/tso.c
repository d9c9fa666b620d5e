// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that the kernel divides into TCP segments. They become one packet
 * that the net device, or the kernel before it, segments: each frame gets the
 * header with its own sequence number, IP length, IPv4 ID and checksums, and
 * the last one alone has FIN and PSH.
 *
 * Each byte of the header is the process's. Segmentation follows the lengths
 * and the offsets in the packet, so a packet is built only if its headers are
 * exactly those that are parsed here. Length fields and checksums are written
 * by this file, whatever the header has there.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/ip6_checksum.h>

#include "raw.h"

/*
 * Each frame is compared with the flows of the device and costs the kernel a
 * packet, while sq.lock is held.
 */
#define MAX_FRAMES 128

/*
 * TCP does not use less, whatever its peer requests, so network cards may not
 * expect less.
 */
#define MIN_MSS 48

#define MIN_HEADER (ETH_HLEN + sizeof(struct iphdr) + sizeof(struct tcphdr))

/* ---- the header ---------------------------------------------------------- */

static u32 ipv4_len(const struct sk_buff *skb, u32 room)
{
	const struct iphdr *ip = ip_hdr(skb);

	if (room < sizeof(*ip) || ip->version != IPVERSION || ip->ihl < 5 ||
	    ip->protocol != IPPROTO_TCP || ip_is_fragment(ip))
		return 0;
	return ip->ihl * 4;
}

static u32 ipv6_len(const struct sk_buff *skb, u32 room)
{
	const struct ipv6hdr *ip = ipv6_hdr(skb);

	if (room < sizeof(*ip) || ip->version != 6 ||
	    ip->nexthdr != IPPROTO_TCP)
		return 0;
	return sizeof(*ip);
}

/* The length of the IP header in front of TCP; 0 if there is none. */
static u32 ip_len(const struct sk_buff *skb, __be16 type)
{
	u32 room = skb->len - skb_network_offset(skb);

	if (type == htons(ETH_P_IP))
		return ipv4_len(skb, room);
	return type == htons(ETH_P_IPV6) ? ipv6_len(skb, room) : 0;
}

/*
 * Are the bytes of @skb, which has no payload yet, an Ethernet header, perhaps
 * a VLAN tag, an IP header and a TCP header, and nothing else? Then the offsets
 * of the headers are set.
 */
static bool header_is_valid(struct sk_buff *skb)
{
	u32 len, at;

	if (skb->len < MIN_HEADER)
		return false;
	skb->protocol = eth_hdr(skb)->h_proto;
	len = ip_len(skb, uroce_frame_network(skb));
	at = skb_network_offset(skb) + len;
	if (!len || skb->len < at + sizeof(struct tcphdr))
		return false;
	skb_set_transport_header(skb, at);
	return skb->len == at + tcp_hdrlen(skb);
}

/*
 * Writes the length and the checksum of the IP header, and the sum of TCP's
 * pseudo header, to which segmentation or the net device adds the rest.
 */
static u32 seal_ipv4(struct sk_buff *skb, u32 len)
{
	struct iphdr *ip = ip_hdr(skb);

	ip->tot_len = htons(ip->ihl * 4 + len);
	ip->check = 0;
	ip->check = ip_fast_csum(ip, ip->ihl);
	tcp_hdr(skb)->check = ~csum_tcpudp_magic(ip->saddr, ip->daddr, len,
						 IPPROTO_TCP, 0);
	return SKB_GSO_TCPV4;
}

static u32 seal_ipv6(struct sk_buff *skb, u32 len)
{
	struct ipv6hdr *ip = ipv6_hdr(skb);

	ip->payload_len = htons(len);
	tcp_hdr(skb)->check = ~csum_ipv6_magic(&ip->saddr, &ip->daddr, len,
					       IPPROTO_TCP, 0);
	return SKB_GSO_TCPV6;
}

/* ---- the packet ---------------------------------------------------------- */

/* The payload lies in pages, since there may be no 64 KiB in one piece. */
static struct sk_buff *alloc(const struct uroce_dev *dev,
			     const struct uroce_wqe *wqe)
{
	struct net_device *netdev = dev->netdev;
	/* A tunnel may raise it at any time, so it is read once. */
	u32 room = LL_RESERVED_SPACE(netdev);
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(room + wqe->wr.tso.header +
				   READ_ONCE(netdev->needed_tailroom),
				   wqe->len, PAGE_ALLOC_COSTLY_ORDER, &err,
				   GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, room);
	skb_reset_mac_header(skb);
	skb->dev = netdev;
	return skb;
}

static void add_payload(struct sk_buff *skb, const struct uroce_wqe *wqe)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	u32 done = 0, len, i;

	for (i = 0; i < info->nr_frags; i++) {
		len = skb_frag_size(&info->frags[i]);
		uroce_vec_read(&wqe->vec, done,
			       skb_frag_address(&info->frags[i]), len);
		done += len;
	}
	skb->data_len = wqe->len;
	skb->len += wqe->len;
}

static bool frames_are_valid(const struct sk_buff *skb,
			     const struct uroce_wqe *wqe)
{
	u32 mss = wqe->wr.tso.mss;
	u32 len = skb->len - skb_network_offset(skb) + min(mss, wqe->len);

	return mss >= MIN_MSS && DIV_ROUND_UP(wqe->len, mss) <= MAX_FRAMES &&
	       len <= READ_ONCE(skb->dev->mtu);
}

/* A request that fits in one frame is not segmented. */
static void segment(struct sk_buff *skb, const struct uroce_wqe *wqe, u32 type)
{
	struct skb_shared_info *info = skb_shinfo(skb);

	if (wqe->len <= wqe->wr.tso.mss)
		return;
	info->gso_size = wqe->wr.tso.mss;
	info->gso_segs = DIV_ROUND_UP(wqe->len, info->gso_size);
	/* A net device may not know that the first frame alone has CWR. */
	info->gso_type = type | (tcp_hdr(skb)->cwr ? SKB_GSO_TCP_ECN : 0);
}

static u16 build(struct sk_buff *skb, struct uroce_qp *qp,
		 const struct uroce_wqe *wqe)
{
	u32 header = wqe->wr.tso.header, len, type;

	univ_ring_fetch(skb_put(skb, header),
			univ_ring_tso(&qp->sq.ring, qp->sq.head,
				      qp->sq.max_sge), header);
	if (!header_is_valid(skb))
		return UNIV_REASON_TSO_HEADER;
	if (!frames_are_valid(skb, wqe))
		return UNIV_REASON_TSO_FRAMES;
	len = tcp_hdrlen(skb) + wqe->len;
	type = ip_hdr(skb)->version == IPVERSION ? seal_ipv4(skb, len) :
						   seal_ipv6(skb, len);
	/* The header is in the linear part, so this cannot fail. */
	skb_partial_csum_set(skb, skb_transport_offset(skb),
			     offsetof(struct tcphdr, check));
	add_payload(skb, wqe);
	segment(skb, wqe, type);
	return 0;
}

struct sk_buff *uroce_tso_build(struct uroce_qp *qp,
				const struct uroce_wqe *wqe, u16 *reason)
{
	struct sk_buff *skb = alloc(qp->dev, wqe);

	if (!skb)
		return NULL;
	*reason = build(skb, qp, wqe);
	if (!*reason)
		return skb;
	kfree_skb(skb);
	return NULL;
}
