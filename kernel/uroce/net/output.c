// SPDX-License-Identifier: GPL-2.0
/* Outgoing packets: headers, checksum, route. See net.h. */
#include <linux/if_vlan.h>
#include <linux/skbuff.h>
#include <net/inet_dscp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "icrc.h"
#include "output.h"

/*
 * Limit for the memory of packets in the queues below: some milliseconds of
 * traffic.
 */
#define UNDER_WAY (1 << 20)
/* The limit for senders that have waited in vain. */
#define UNDER_WAY_MOST (4 * UNDER_WAY)

/*
 * The largest encapsulation behind a veth or a bridge, where the route does not
 * show it: Geneve with all options over IPv6, with VLAN tags on the outer and
 * inner frame. The kernel makes room for headers in front of the first packet
 * of a run, and expects it in front of the others.
 */
#define TUNNEL_HEADERS                                                        \
	(2 * VLAN_ETH_HLEN + sizeof(struct ipv6hdr) + sizeof(struct udphdr) + \
	 8 + 252)

/*
 * The data behind the base transport header is aligned to 16 bytes, which fast
 * checksum code needs.
 */
#define HEADROOM                                                        \
	(ALIGN(max_t(size_t, MAX_HEADER, TUNNEL_HEADERS) +              \
		       sizeof(struct ipv6hdr) + sizeof(struct udphdr) + \
		       sizeof(struct uroce_bth),                        \
	       16) -                                                    \
	 sizeof(struct uroce_bth))

/* Room for padding and checksum behind a packet whose payload lies in pages. */
#define TAIL (2 * UROCE_ICRC_SIZE)

static unsigned int with_info(unsigned int size)
{
	return SKB_DATA_ALIGN(size) +
	       SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
}

/*
 * Packets are allocated from page fragments, which are recycled: the slab
 * allocator would take twice the memory for a full packet, and zero it. @tail
 * bytes at the end of the fragment are not part of the packet. Both caches
 * belong to the processor and need bottom halves off.
 */
static struct sk_buff *alloc_piece(unsigned int size, unsigned int tail)
{
	struct sk_buff *skb;
	void *data;

	lockdep_assert(in_softirq());
	data = napi_alloc_frag(with_info(size) + tail);
	if (!data)
		return NULL;
	skb = napi_build_skb(data, with_info(size));
	if (!skb)
		skb_free_frag(data);
	return skb;
}

/**
 * uroce_net_alloc() - allocate an empty packet
 * @len: bytes from the base transport header to the padding
 * @pages: payload and padding are added as pages (see uroce_net_end_pages())
 *	and are not counted in @len
 *
 * Context: bottom halves off
 */
struct sk_buff *uroce_net_alloc(unsigned int len, bool pages)
{
	unsigned int size = HEADROOM + len + UROCE_ICRC_SIZE;
	struct sk_buff *skb = alloc_piece(size, pages ? TAIL : 0);

	/* If no page fragment is free, single objects may be. */
	if (!skb)
		skb = alloc_skb(size, GFP_ATOMIC);
	if (skb)
		skb_reserve(skb, HEADROOM);
	return skb;
}

/*
 * A virtual device passes packets on to other code of this host, for example to
 * a packet socket in another namespace, which may hold them for as long as it
 * likes. A card has read a packet once and frees it.
 */
static bool is_card(const struct net_device *dev)
{
	while (is_vlan_dev(dev))
		dev = vlan_dev_real_dev((struct net_device *)dev);
	return dev->dev.parent;
}

/* Does the device below accept a nonlinear packet? */
bool uroce_net_gathers(const struct uroce_flow *flow)
{
	return flow->route && flow->route->dev->features & NETIF_F_SG;
}

/*
 * May a packet have pages of a process? The process reuses them once the peer
 * has acknowledged the packet, and a packet still held would show the new data.
 */
bool uroce_net_takes_pages(const struct uroce_flow *flow)
{
	return flow->route && is_card(flow->route->dev);
}

/*
 * Adds a page fragment of @len bytes, at most UROCE_NET_PIECE, to a packet
 * whose payload lies in pages. Returns its address, or NULL without memory.
 * Context: bottom halves off.
 */
void *uroce_net_more(struct sk_buff *skb, u32 len)
{
	void *data = napi_alloc_frag(UROCE_NET_PIECE);
	struct page *page;

	if (!data)
		return NULL;
	page = virt_to_head_page(data);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page,
			data - page_address(page), len, UROCE_NET_PIECE);
	return data;
}

/*
 * The payload lies in pages. Padding and checksum must follow it, so they take
 * the rest of the page fragment that the packet was allocated from. Returns
 * false if there is none, and if the payload has taken every fragment.
 */
bool uroce_net_end_pages(struct sk_buff *skb)
{
	void *tail = skb_end_pointer(skb) + with_info(0);
	struct page *page;

	if (!skb->head_frag || skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS)
		return false;
	page = virt_to_head_page(tail);
	get_page(page);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page,
			tail - page_address(page), 0, TAIL);
	return true;
}

/* Room at the end of a packet: in its linear part, or in its last fragment. */
void *uroce_net_put(struct sk_buff *skb, unsigned int len)
{
	skb_frag_t *last;
	void *at;

	if (!skb_is_nonlinear(skb))
		return skb_put(skb, len);
	last = &skb_shinfo(skb)->frags[skb_shinfo(skb)->nr_frags - 1];
	at = skb_frag_address(last) + skb_frag_size(last);
	skb_frag_size_add(last, len);
	skb->len += len;
	skb->data_len += len;
	return at;
}

/**
 * uroce_net_room() - may more packets be sent without flooding the queues
 *	below?
 * @dev: the net device that sends them
 * @waited: the sender has waited for milliseconds and expects no answer. Other
 *	senders may fill the queues whenever there is room, or hold packets for
 *	ever, and no timer of this sender would notice it
 */
bool uroce_net_room(struct net_device *dev, bool waited)
{
	unsigned int most = waited ? UNDER_WAY_MOST : UNDER_WAY;
	struct sock *sk;
	bool room;

	rcu_read_lock();
	sk = uroce_net_sock(dev);
	room = !sk || refcount_read(&sk->sk_wmem_alloc) < most;
	rcu_read_unlock();
	return room;
}

/*
 * An IPsec tunnel sends to another address than the packet's. Its route knows
 * that address.
 */
static struct neighbour *neighbour(struct sk_buff *skb)
{
	const struct dst_entry *dst = skb_dst(skb);

	if (!dst_xfrm(dst))
		return dst_neigh_lookup_skb(dst, skb);
	return dst_neigh_lookup(dst, ip_hdr(skb)->version == IPVERSION ?
					     (void *)&ip_hdr(skb)->daddr :
					     (void *)&ipv6_hdr(skb)->daddr);
}

/* Is the link-layer address of the packet's next hop known? */
static bool has_neighbour(struct sk_buff *skb)
{
	struct neighbour *neigh = neighbour(skb);
	bool known;

	if (!neigh)
		return true;
	known = READ_ONCE(neigh->nud_state) & NUD_VALID;
	neigh_release(neigh);
	return known;
}

/*
 * Returns the socket to which @skb is charged, or NULL while the device leaves
 * its namespace. The route of @skb is set. The kernel keeps packets for a
 * neighbour that does not answer in a short queue, for seconds. A few such
 * neighbours would use up the whole limit, so NULL is also returned for packets
 * to them when half of the limit is used. Context: RCU.
 */
struct sock *uroce_output_payer(struct net_device *dev, struct sk_buff *skb)
{
	struct sock *sk = uroce_net_sock(dev);

	if (sk && refcount_read(&sk->sk_wmem_alloc) > UNDER_WAY / 2 &&
	    !has_neighbour(skb))
		return NULL;
	return sk;
}

void uroce_output_charge(struct net_device *dev, struct sk_buff *skb)
{
	struct sock *sk;

	rcu_read_lock();
	sk = uroce_output_payer(dev, skb);
	if (sk)
		skb_set_owner_w(skb, sk);
	rcu_read_unlock();
}

void uroce_flow_release(struct uroce_flow *flow)
{
	dst_release(flow->route);
	flow->route = NULL;
}

static struct dst_entry *route_ipv4(struct net_device *dev,
				    const struct uroce_flow *flow)
{
	struct flowi4 fl = {};
	struct rtable *rt;

	flowi4_init_output(&fl, flow->oif, 0, flow->tclass & INET_DSCP_MASK,
			   RT_SCOPE_UNIVERSE, IPPROTO_UDP, 0,
			   flow->dst.s6_addr32[3], flow->src.s6_addr32[3],
			   htons(UROCE_UDP_PORT), flow->sport, GLOBAL_ROOT_UID);
	rt = ip_route_output_key(dev_net(dev), &fl);
	return IS_ERR(rt) ? NULL : &rt->dst;
}

static struct dst_entry *route_ipv6(struct net_device *dev,
				    const struct uroce_flow *flow, u32 *cookie)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct flowi6 fl = {
		.flowi6_oif = flow->oif,
		.flowi6_proto = IPPROTO_UDP,
		.saddr = flow->src,
		.daddr = flow->dst,
		.fl6_sport = flow->sport,
		.fl6_dport = htons(UROCE_UDP_PORT),
		.flowlabel = ip6_make_flowinfo(flow->tclass & INET_DSCP_MASK,
					       0),
	};
	struct dst_entry *dst =
		ip6_dst_lookup_flow(dev_net(dev), NULL, &fl, NULL);

	if (IS_ERR(dst))
		return NULL;
	*cookie = rt6_get_cookie((struct rt6_info *)dst);
	return dst;
#else
	return NULL;
#endif
}

/* The route, whose reference belongs to the flow. */
struct dst_entry *uroce_flow_route(struct net_device *dev,
				   struct uroce_flow *flow)
{
	if (flow->route && dst_check(flow->route, flow->cookie))
		return flow->route;
	uroce_flow_release(flow);
	flow->cookie = 0;
	flow->route = uroce_flow_is_ipv4(flow) ? route_ipv4(dev, flow) :
				      route_ipv6(dev, flow, &flow->cookie);
	return flow->route;
}

static void push_udp(const struct uroce_flow *flow, struct sk_buff *skb)
{
	struct udphdr *udp = __skb_push(skb, sizeof(*udp));

	skb_reset_transport_header(skb);
	udp->source = flow->sport;
	udp->dest = htons(UROCE_UDP_PORT);
	udp->len = htons(skb->len + UROCE_ICRC_SIZE);
	udp->check = 0;
}

static void push_ipv4(const struct uroce_flow *flow, struct sk_buff *skb,
		      u16 id)
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
		/* DF is set, so the ID matters only within a run. */
		.id = htons(id),
		.frag_off = htons(IP_DF),
		.ttl = flow->hops ?: IPDEFTTL,
		.protocol = IPPROTO_UDP,
		.saddr = flow->src.s6_addr32[3],
		.daddr = flow->dst.s6_addr32[3],
	};
}

static void push_ipv6(const struct uroce_flow *flow, struct sk_buff *skb)
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
}

/* A full queue is reported by a positive number, or by -ENOBUFS. */
int uroce_output_xmit(struct net *net, struct sk_buff *skb)
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

/* @id: the ID that segmentation gives to a packet of a run. */
void uroce_output_headers(const struct uroce_flow *flow, struct sk_buff *skb,
			  u16 id)
{
	push_udp(flow, skb);
	if (uroce_flow_is_ipv4(flow))
		push_ipv4(flow, skb, id);
	else
		push_ipv6(flow, skb);
}

u32 uroce_output_crc(const struct sk_buff *skb, int ip_len)
{
	const void *ip = skb_network_header(skb);
	const struct udphdr *udp = ip + ip_len;

	return skb->protocol == htons(ETH_P_IP) ?
		uroce_icrc_ipv4(ip, udp, (void *)(udp + 1)) :
		uroce_icrc_ipv6(ip, udp, (void *)(udp + 1));
}

/**
 * uroce_net_seal() - add the headers and checksum around a packet
 * @flow: where it goes
 * @skb: from uroce_net_alloc(), filled from the base transport header to the
 *	padding; gets IP and UDP headers in front and the invariant CRC behind
 * @id: ID of the IPv4 header
 */
void uroce_net_seal(const struct uroce_flow *flow, struct sk_buff *skb, u16 id)
{
	unsigned int len = skb->len - sizeof(struct uroce_bth);
	__le32 icrc;
	u32 crc;

	uroce_output_headers(flow, skb, id);
	crc = uroce_icrc_add_skb(uroce_output_crc(skb,
						  uroce_output_ip_len(skb)),
				 skb, skb->len - len, len);
	icrc = uroce_icrc_end(crc);
	memcpy(uroce_net_put(skb, sizeof(icrc)), &icrc, sizeof(icrc));
}

int uroce_output_one(struct net_device *dev, const struct uroce_flow *flow,
		    struct dst_entry *dst, struct sk_buff *skb)
{
	uroce_net_seal(flow, skb, 0);
	uroce_output_set_route(skb, dst);
	uroce_output_charge(dev, skb);
	return uroce_output_xmit(dev_net(dev), skb);
}

/**
 * uroce_net_xmit() - send one packet
 * @dev: device that has the source address
 * @flow: destination
 * @skb: as for uroce_net_seal(); consumed
 *
 * Return: 0, -ENOBUFS if a queue below is full, or the error why the packet
 * cannot be sent
 */
int uroce_net_xmit(struct net_device *dev, struct uroce_flow *flow,
		   struct sk_buff *skb)
{
	struct dst_entry *dst =
		uroce_net_enabled() ? uroce_flow_route(dev, flow) : NULL;

	if (dst)
		return uroce_output_one(dev, flow, dst, skb);
	kfree_skb(skb);
	return -EHOSTUNREACH;
}
