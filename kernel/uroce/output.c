// SPDX-License-Identifier: GPL-2.0
/* Packets on their way out: headers, checksum, route. See net.h. */
#include <linux/skbuff.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "icrc.h"
#include "net.h"

/* Bytes of memory in packets that no device has sent yet: a few milliseconds' worth */
#define UNDER_WAY (1 << 20)

#define HEADROOM (MAX_HEADER + sizeof(struct ipv6hdr) + sizeof(struct udphdr))

struct sk_buff *uroce_net_alloc(unsigned int len, gfp_t gfp)
{
	struct sk_buff *skb = alloc_skb(HEADROOM + len + UROCE_ICRC_SIZE, gfp);

	if (skb)
		skb_reserve(skb, HEADROOM);
	return skb;
}

/**
 * uroce_net_room() - may more packets leave, without drowning the queues ahead?
 * @dev: by which they leave
 */
bool uroce_net_room(struct net_device *dev)
{
	struct sock *sk;
	bool room;

	rcu_read_lock();
	sk = uroce_net_sock(dev);
	room = !sk || refcount_read(&sk->sk_wmem_alloc) < UNDER_WAY;
	rcu_read_unlock();
	return room;
}

/* Nobody counts what is sent while the namespace is being left */
static void charge(struct net_device *dev, struct sk_buff *skb)
{
	struct sock *sk;

	rcu_read_lock();
	sk = uroce_net_sock(dev);
	if (sk)
		skb_set_owner_w(skb, sk);
	rcu_read_unlock();
}

void uroce_flow_release(struct uroce_flow *flow)
{
	dst_release(flow->route);
	flow->route = NULL;
}

static bool is_ipv4(const struct uroce_flow *flow)
{
	return ipv6_addr_v4mapped(&flow->dst);
}

static struct dst_entry *route_ipv4(struct net_device *dev,
				    const struct uroce_flow *flow)
{
	struct flowi4 fl = {
		.flowi4_oif = dev->ifindex,
		.flowi4_tos = flow->tclass & IPTOS_RT_MASK,
		.flowi4_proto = IPPROTO_UDP,
		.saddr = flow->src.s6_addr32[3],
		.daddr = flow->dst.s6_addr32[3],
		.fl4_sport = flow->sport,
		.fl4_dport = htons(UROCE_UDP_PORT),
	};
	struct rtable *rt = ip_route_output_key(dev_net(dev), &fl);

	return IS_ERR(rt) ? NULL : &rt->dst;
}

static struct dst_entry *route_ipv6(struct net_device *dev,
				    const struct uroce_flow *flow, u32 *cookie)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct flowi6 fl = {
		.flowi6_oif = dev->ifindex,
		.flowi6_proto = IPPROTO_UDP,
		.saddr = flow->src,
		.daddr = flow->dst,
		.fl6_sport = flow->sport,
		.fl6_dport = htons(UROCE_UDP_PORT),
	};
	struct dst_entry *dst = ip6_route_output(dev_net(dev), NULL, &fl);

	if (dst->error) {
		dst_release(dst);
		return NULL;
	}
	*cookie = rt6_get_cookie((struct rt6_info *)dst);
	return dst;
#else
	return NULL;
#endif
}

/* The route, with a reference of the flow's own */
static struct dst_entry *flow_route(struct net_device *dev, struct uroce_flow *flow)
{
	if (flow->route && dst_check(flow->route, flow->cookie))
		return flow->route;
	uroce_flow_release(flow);
	flow->cookie = 0;
	flow->route = is_ipv4(flow) ? route_ipv4(dev, flow) :
				      route_ipv6(dev, flow, &flow->cookie);
	return flow->route;
}

static struct udphdr *push_udp(const struct uroce_flow *flow, struct sk_buff *skb)
{
	struct udphdr *udp = __skb_push(skb, sizeof(*udp));

	skb_reset_transport_header(skb);
	udp->source = flow->sport;
	udp->dest = htons(UROCE_UDP_PORT);
	udp->len = htons(skb->len + UROCE_ICRC_SIZE);
	udp->check = 0;
	return udp;
}

static u32 push_ipv4(const struct uroce_flow *flow, struct sk_buff *skb,
		     const struct udphdr *udp)
{
	struct iphdr *ip = __skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	skb->protocol = htons(ETH_P_IP);
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	*ip = (struct iphdr) {
		.version = IPVERSION,
		.ihl = sizeof(*ip) / 4,
		.tos = flow->tclass,
		.tot_len = htons(skb->len + UROCE_ICRC_SIZE),
		/* Never in pieces, hence no need of a number */
		.frag_off = htons(IP_DF),
		.ttl = flow->hops ?: IPDEFTTL,
		.protocol = IPPROTO_UDP,
		.saddr = flow->src.s6_addr32[3],
		.daddr = flow->dst.s6_addr32[3],
	};
	return uroce_icrc_ipv4(ip, udp, (void *)(udp + 1));
}

static u32 push_ipv6(const struct uroce_flow *flow, struct sk_buff *skb,
		     const struct udphdr *udp)
{
	struct ipv6hdr *ip = __skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	skb->protocol = htons(ETH_P_IPV6);
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	ip6_flow_hdr(ip, flow->tclass, htonl(flow->label & 0xfffff));
	ip->payload_len = htons(skb->len - sizeof(*ip) + UROCE_ICRC_SIZE);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = flow->hops ?: IPDEFTTL;
	ip->saddr = flow->src;
	ip->daddr = flow->dst;
	return uroce_icrc_ipv6(ip, udp, (void *)(udp + 1));
}

/* A full queue says so with a positive number, or runs out of buffers */
static int xmit(struct net *net, struct sk_buff *skb)
{
	int ret;

	if (skb->protocol == htons(ETH_P_IP))
		ret = ip_local_out(net, NULL, skb);
	else
		ret = ip6_local_out(net, NULL, skb);
	if (ret > 0)
		return net_xmit_eval(ret) ? -ENOBUFS : 0;
	return ret;
}

/**
 * uroce_net_xmit() - send a packet
 * @dev: of our address
 * @flow: where it goes
 * @skb: from uroce_net_alloc(), filled from the base transport header to the
 *	padding; consumed
 *
 * Return: 0, -ENOBUFS when a queue on the way is full, or why it cannot leave
 */
int uroce_net_xmit(struct net_device *dev, struct uroce_flow *flow,
		   struct sk_buff *skb)
{
	struct dst_entry *dst = uroce_net_wire() ? flow_route(dev, flow) : NULL;
	unsigned int len = skb->len - sizeof(struct uroce_bth);
	struct udphdr *udp;
	__le32 icrc;
	u32 crc;

	if (!dst) {
		kfree_skb(skb);
		return -EHOSTUNREACH;
	}
	udp = push_udp(flow, skb);
	crc = is_ipv4(flow) ? push_ipv4(flow, skb, udp) : push_ipv6(flow, skb, udp);
	crc = uroce_icrc_add_skb(crc, skb, skb->len - len, len);
	icrc = uroce_icrc_end(crc);
	skb_put_data(skb, &icrc, sizeof(icrc));
	skb_dst_set(skb, dst_clone(dst));
	skb->dev = dst->dev;
	charge(dev, skb);
	return xmit(dev_net(dev), skb);
}
