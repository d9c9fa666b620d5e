// SPDX-License-Identifier: GPL-2.0
/* Frames that raw packet queue pairs send. */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip6_checksum.h>
#include <net/sock.h>

#include "raw.h"

u16 uroce_frame_check(const struct uroce_dev *dev, const struct uroce_wqe *wqe)
{
	if (uroce_wr_is(wqe->wr.opcode, UROCE_WRF_TSO))
		return wqe->len <= UROCE_MAX_TSO ? 0 : UNIV_REASON_TSO_FRAMES;
	return wqe->len >= ETH_HLEN &&
	       wqe->len <= READ_ONCE(dev->netdev->mtu) + VLAN_ETH_HLEN ?
		       0 : UNIV_REASON_FRAME_LENGTH;
}

/* The frame has a whole header, and its payload fits the MTU. */
static bool length_is_valid(const struct sk_buff *skb)
{
	u32 head = eth_type_vlan(skb->protocol) ? VLAN_ETH_HLEN : ETH_HLEN;

	return skb->len >= head && skb->len <= READ_ONCE(skb->dev->mtu) + head;
}

static struct sk_buff *copy(const struct uroce_dev *dev,
			    const struct uroce_wqe *wqe)
{
	struct net_device *netdev = dev->netdev;
	/* A tunnel may raise it at any time, so it is read once. */
	u32 head = LL_RESERVED_SPACE(netdev);
	struct sk_buff *skb;

	skb = alloc_skb(head + wqe->len + READ_ONCE(netdev->needed_tailroom),
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, head);
	skb_reset_mac_header(skb);
	uroce_vec_read(&wqe->vec, 0, skb_put(skb, wqe->len), wqe->len);
	skb->dev = netdev;
	skb->protocol = eth_hdr(skb)->h_proto;
	return skb;
}

/* ---- checksums ----------------------------------------------------------- */

__be16 uroce_frame_network(struct sk_buff *skb)
{
	skb_set_network_header(skb, ETH_HLEN);
	if (!eth_type_vlan(skb->protocol))
		return skb->protocol;
	skb_set_network_header(skb, VLAN_ETH_HLEN);
	return vlan_eth_hdr(skb)->h_vlan_encapsulated_proto;
}

/* The checksum of TCP or UDP; NULL for other protocols. */
static __sum16 *find_sum(void *at, u32 len, u8 proto)
{
	if (proto == IPPROTO_TCP && len >= sizeof(struct tcphdr))
		return &((struct tcphdr *)at)->check;
	if (proto == IPPROTO_UDP && len >= sizeof(struct udphdr))
		return &((struct udphdr *)at)->check;
	return NULL;
}

static bool sum_ipv4(struct sk_buff *skb, u32 room)
{
	struct iphdr *ip = ip_hdr(skb);
	u32 head, len;
	__sum16 *sum;
	void *at;

	if (room < sizeof(*ip) || ip->version != IPVERSION || ip->ihl < 5)
		return false;
	head = ip->ihl * 4;
	len = ntohs(ip->tot_len);
	if (len < head || len > room)
		return false;
	ip->check = 0;
	ip->check = ip_fast_csum(ip, ip->ihl);
	at = (void *)ip + head;
	len -= head;
	sum = ip_is_fragment(ip) ? NULL : find_sum(at, len, ip->protocol);
	if (!sum)
		return false;
	*sum = 0;
	*sum = csum_tcpudp_magic(ip->saddr, ip->daddr, len, ip->protocol,
				 csum_partial(at, len, 0)) ?:
	       CSUM_MANGLED_0;
	return true;
}

static bool sum_ipv6(struct sk_buff *skb, u32 room)
{
	struct ipv6hdr *ip = ipv6_hdr(skb);
	u32 len;
	__sum16 *sum;
	void *at;

	if (room < sizeof(*ip) || ip->version != 6)
		return false;
	len = ntohs(ip->payload_len);
	if (len > room - sizeof(*ip))
		return false;
	at = ip + 1;
	sum = find_sum(at, len, ip->nexthdr);
	if (!sum)
		return false;
	*sum = 0;
	*sum = csum_ipv6_magic(&ip->saddr, &ip->daddr, len, ip->nexthdr,
			       csum_partial(at, len, 0)) ?:
	       CSUM_MANGLED_0;
	return true;
}

/*
 * IBV_SEND_IP_CSUM: inserts the checksums of IP, and of TCP or UDP. They are
 * computed here, since the frame may be delivered on this host as well. A frame
 * of other protocols is sent as it is.
 */
static bool sum(struct sk_buff *skb, __be16 type)
{
	u32 room = skb->len - skb_network_offset(skb);

	if (type == htons(ETH_P_IP))
		return sum_ipv4(skb, room);
	return type == htons(ETH_P_IPV6) && sum_ipv6(skb, room);
}

/* ---- output -------------------------------------------------------------- */

/*
 * The device gives frames for itself and multicast frames to its own flows, as
 * hardware does. Frames on a loopback interface come back by themselves, unless
 * the module sends none.
 */
static bool is_for_flows(const struct sk_buff *skb)
{
	const u8 *dst = eth_hdr(skb)->h_dest;

	if (skb->dev->flags & IFF_LOOPBACK)
		return !uroce_net_enabled();
	return is_multicast_ether_addr(dst) ||
	       ether_addr_equal(dst, skb->dev->dev_addr);
}

/*
 * The frame is charged to the socket of the namespace, as packets of uroce are,
 * whose limit uroce_net_room() checks before. Without packets (wire=0) there is
 * no such socket, and the frame does not leave the device. Context: RCU.
 */
static u32 output(struct uroce_qp *qp, struct sk_buff *skb)
{
	struct uroce_dev *dev = qp->dev;
	struct sock *sk = uroce_net_sock(dev->netdev);
	u32 frames = skb_shinfo(skb)->gso_segs ?: 1;
	u32 copies;

	if (!uroce_frame_may_leave(dev, skb)) {
		kfree_skb(skb);
		return 0;
	}
	copies = is_for_flows(skb) ? uroce_frames_input(dev, skb, qp) : 0;
	if (!sk) {
		consume_skb(skb);
		return copies;
	}
	skb_set_owner_w(skb, sk);
	uroce_count_many(dev, UROCE_CNT_SENT_PKTS, frames);
	uroce_count_many(dev, UROCE_CNT_SENT_BYTES,
			 skb->len + (frames - 1) * skb_headlen(skb));
	dev_queue_xmit(skb);
	return copies;
}

static struct sk_buff *build(const struct uroce_dev *dev,
			     const struct uroce_wqe *wqe, u16 *reason)
{
	struct sk_buff *skb = copy(dev, wqe);
	__be16 type;

	if (!skb)
		return NULL;
	if (!length_is_valid(skb)) {
		*reason = UNIV_REASON_FRAME_LENGTH;
		kfree_skb(skb);
		return NULL;
	}
	type = uroce_frame_network(skb);
	if (wqe->wr.flags & UNIV_WR_IP_CSUM && sum(skb, type))
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	return skb;
}

int uroce_frame_send(struct uroce_qp *qp, const struct uroce_wqe *wqe,
		     u16 *reason)
{
	struct uroce_dev *dev = qp->dev;
	struct sk_buff *skb;

	lockdep_assert_held(&qp->sq.lock);
	if (uroce_is_silent(dev))
		return 0;
	if (uroce_wr_is(wqe->wr.opcode, UROCE_WRF_TSO))
		skb = uroce_tso_build(qp, wqe, reason);
	else
		skb = build(dev, wqe, reason);
	if (!skb)
		return *reason ? 0 : -ENOMEM;
	return output(qp, skb);
}
