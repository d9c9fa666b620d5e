// SPDX-License-Identifier: GPL-2.0
/* Packets on their way out: headers, checksum, route. See net.h. */
#include <linux/if_vlan.h>
#include <linux/skbuff.h>
#include <net/inet_dscp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "icrc.h"
#include "net.h"

/* Bytes of memory in packets that no device has sent yet: a few milliseconds' worth */
#define UNDER_WAY (1 << 20)
/* The same, with the packets of senders that have waited in vain */
#define UNDER_WAY_MOST (4 * UNDER_WAY)

/*
 * A tunnel behind a veth or a bridge, where the route does not show it: Geneve with all
 * the options that it can have, over IPv6, with a tag on the outer and on the inner
 * frame. The kernel makes room for that in front of the first packet of a run, and
 * expects it in front of the others.
 */
#define TUNNEL_HEADERS								\
	(2 * VLAN_ETH_HLEN + sizeof(struct ipv6hdr) + sizeof(struct udphdr) + 8 + 252)

/* What follows the base header begins at a multiple of 16, which fast checksums want */
#define HEADROOM								\
	(ALIGN(max_t(size_t, MAX_HEADER, TUNNEL_HEADERS) + sizeof(struct ipv6hdr) +	\
	       sizeof(struct udphdr) + sizeof(struct uroce_bth), 16) -		\
	 sizeof(struct uroce_bth))

/* Behind a packet whose payload lies in pages come its padding and the checksum */
#define TAIL (2 * UROCE_ICRC_SIZE)

static unsigned int with_info(unsigned int size)
{
	return SKB_DATA_ALIGN(size) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
}

/*
 * Packets lie in pieces of pages that are used again and again: from the allocator
 * a full one would get twice what it needs, and that zeroed. The rest of a piece,
 * @tail bytes, is not in the packet. Both caches are the processor's, hence of
 * bottom halves.
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
 * uroce_net_alloc() - an empty packet
 * @len: bytes from the base transport header to the padding
 * @pages: payload and padding come as uroce_net_end_pages() has it, and do not count
 *
 * Context: bottom halves off
 */
struct sk_buff *uroce_net_alloc(unsigned int len, bool pages)
{
	unsigned int size = HEADROOM + len + UROCE_ICRC_SIZE;
	struct sk_buff *skb = alloc_piece(size, pages ? TAIL : 0);

	/* There may be no run of pages to have, but single ones */
	if (!skb)
		skb = alloc_skb(size, GFP_ATOMIC);
	if (skb)
		skb_reserve(skb, HEADROOM);
	return skb;
}

/* Is a packet of pages not copied together on the way anyhow? */
bool uroce_net_takes_pages(const struct uroce_flow *flow)
{
	return flow->route && flow->route->dev->features & NETIF_F_SG;
}

/*
 * Payload lies in pages; what follows it has to lie behind them, in the rest of the
 * piece that the packet began in. False: it has none.
 */
bool uroce_net_end_pages(struct sk_buff *skb)
{
	void *tail = skb_end_pointer(skb) + with_info(0);
	struct page *page;

	if (!skb->head_frag)
		return false;
	page = virt_to_head_page(tail);
	get_page(page);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page,
			tail - page_address(page), 0, TAIL);
	return true;
}

/* Room at the end of a packet: of its one piece, or in the last of its fragments */
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
 * uroce_net_room() - may more packets leave, without drowning the queues ahead?
 * @dev: by which they leave
 * @waited: the sender has waited for milliseconds, and expects no answer. Others may
 *	fill the queues again as soon as there is room, or keep packets for ever, and
 *	no timer of the sender's would tell it
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

/* IPsec's tunnels go to another address than the packet; their route knows which */
static struct neighbour *neighbour(struct sk_buff *skb)
{
	const struct dst_entry *dst = skb_dst(skb);

	if (!dst_xfrm(dst))
		return dst_neigh_lookup_skb(dst, skb);
	return dst_neigh_lookup(dst, ip_hdr(skb)->version == IPVERSION ?
					     (void *)&ip_hdr(skb)->daddr :
					     (void *)&ipv6_hdr(skb)->daddr);
}

/* Is the neighbour that the packet goes to known? */
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
 * The socket that pays for a packet, which has its route; NULL while the device leaves
 * its namespace. Packets to a neighbour that does not answer wait for it for seconds, in
 * a queue that the kernel keeps short. The queues of a few such neighbours would be all
 * that may be under way, so these packets pay for half of it at most. Context: RCU.
 */
static struct sock *payer(struct net_device *dev, struct sk_buff *skb)
{
	struct sock *sk = uroce_net_sock(dev);

	if (sk && refcount_read(&sk->sk_wmem_alloc) > UNDER_WAY / 2 &&
	    !has_neighbour(skb))
		return NULL;
	return sk;
}

static void charge(struct net_device *dev, struct sk_buff *skb)
{
	struct sock *sk;

	rcu_read_lock();
	sk = payer(dev, skb);
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
	};
	struct dst_entry *dst = ip6_dst_lookup_flow(dev_net(dev), NULL, &fl, NULL);

	if (IS_ERR(dst))
		return NULL;
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
		/* Never in pieces, hence no need of a number but in a run */
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

/* Headers; @id is what segmentation gives a packet of a run */
static void push_headers(const struct uroce_flow *flow, struct sk_buff *skb, u16 id)
{
	push_udp(flow, skb);
	if (is_ipv4(flow))
		push_ipv4(flow, skb, id);
	else
		push_ipv6(flow, skb);
}

static u32 crc_of_headers(const struct sk_buff *skb, int ip_len)
{
	const void *ip = skb_network_header(skb);
	const struct udphdr *udp = ip + ip_len;

	return skb->protocol == htons(ETH_P_IP) ?
		uroce_icrc_ipv4(ip, udp, (void *)(udp + 1)) :
		uroce_icrc_ipv6(ip, udp, (void *)(udp + 1));
}

static int ip_len_of(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IP) ? sizeof(struct iphdr) :
						  sizeof(struct ipv6hdr);
}

/**
 * uroce_net_seal() - put what is around a packet
 * @flow: where it goes
 * @skb: from uroce_net_alloc(), filled from the base transport header to the
 *	padding; gets IP and UDP headers in front, and the invariant CRC behind
 * @id: of IPv4
 */
void uroce_net_seal(const struct uroce_flow *flow, struct sk_buff *skb, u16 id)
{
	unsigned int len = skb->len - sizeof(struct uroce_bth);
	__le32 icrc;
	u32 crc;

	push_headers(flow, skb, id);
	crc = uroce_icrc_add_skb(crc_of_headers(skb, ip_len_of(skb)), skb,
				 skb->len - len, len);
	icrc = uroce_icrc_end(crc);
	memcpy(uroce_net_put(skb, sizeof(icrc)), &icrc, sizeof(icrc));
}

static void set_route(struct sk_buff *skb, struct dst_entry *dst)
{
	skb_dst_set(skb, dst_clone(dst));
	skb->dev = dst->dev;
}

static int send_one(struct net_device *dev, const struct uroce_flow *flow,
		    struct dst_entry *dst, struct sk_buff *skb)
{
	uroce_net_seal(flow, skb, 0);
	set_route(skb, dst);
	charge(dev, skb);
	return xmit(dev_net(dev), skb);
}

/**
 * uroce_net_xmit() - send a packet
 * @dev: of our address
 * @flow: where it goes
 * @skb: as for uroce_net_seal(); consumed
 *
 * Return: 0, -ENOBUFS when a queue on the way is full, or why it cannot leave
 */
int uroce_net_xmit(struct net_device *dev, struct uroce_flow *flow,
		   struct sk_buff *skb)
{
	struct dst_entry *dst = uroce_net_wire() ? flow_route(dev, flow) : NULL;

	if (dst)
		return send_one(dev, flow, dst, skb);
	kfree_skb(skb);
	return -EHOSTUNREACH;
}

/* ---- checksums at the last moment --------------------------------------------- */

/*
 * A packet in the list of a run needs its checksum only when the list is taken
 * apart, for a device that wants packets; a peer on this host takes what never
 * was on a wire as it is, as TCP does. Taking a list apart is what the kernel does
 * in skb_segment_list(), where it releases what packets are charged to: then ours
 * is computed. Wherever else somebody copies them out of the list, they are as
 * good as damaged, and sent again one by one.
 */
static atomic_t unsealed = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(all_sealed);

static void seal_late(struct sk_buff *skb)
{
	int ip_len = ip_len_of(skb);
	const struct udphdr *udp = (void *)(skb_network_header(skb) + ip_len);
	int from = skb_network_offset(skb) + ip_len + (int)sizeof(*udp);
	int rest = from + (int)sizeof(struct uroce_bth);
	int to = (int)skb->len - UROCE_ICRC_SIZE;
	__le32 icrc;
	u32 crc;

	/*
	 * Not whole any more, and dropped; where it ends now may be the memory of a
	 * process
	 */
	if (from < 0 || rest > to ||
	    (int)skb->len - from + (int)sizeof(*udp) != ntohs(udp->len))
		return;
	crc = uroce_icrc_add_skb(crc_of_headers(skb, ip_len), skb, rest, to - rest);
	icrc = uroce_icrc_end(crc);
	skb_store_bits(skb, to, &icrc, sizeof(icrc));
}

static void unsealed_gone(void)
{
	if (atomic_dec_and_test(&unsealed))
		wake_up(&all_sealed);
}

/*
 * From now on one like others, which shows what it is charged to. Whoever pulled or
 * trimmed it in between took it for one that nobody is charged for.
 */
static void no_longer_listed(struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);

	skb->truesize = info->tskey;
	skb->sk = info->destructor_arg;
	skb->destructor = skb->sk ? sock_wfree : NULL;
}

/* Called once, by whoever takes the list apart, though the kernel leaves it there */
static void release_unsealed(struct sk_buff *skb)
{
	seal_late(skb);
	no_longer_listed(skb);
	skb_orphan(skb);
	unsealed_gone();
}

/*
 * Where the kernel takes a list apart it expects that none has a socket: what it
 * is charged to, and for how much, waits where the kernel does not look.
 */
static void set_unsealed(struct sk_buff *skb, struct sock *sk)
{
	if (sk)
		skb_set_owner_w(skb, sk);
	skb->sk = NULL;
	skb_shinfo(skb)->destructor_arg = sk;
	skb_shinfo(skb)->tskey = skb->truesize;
	atomic_inc(&unsealed);
	skb->destructor = release_unsealed;
}

/*
 * Somebody else has it as well, who may look at it, or forget it for as long as he
 * likes: it gets its checksum, and nobody is charged any more. Of two who find that
 * out at once, on their ways with copies of the first one, one does it. Its sk stays
 * NULL, since others look at that meanwhile.
 */
static bool seal_shared(struct sk_buff *skb)
{
	struct sk_buff charged = {
		.sk = skb_shinfo(skb)->destructor_arg,
		.truesize = skb_shinfo(skb)->tskey,
	};

	if (cmpxchg(&skb->destructor, release_unsealed, NULL) != release_unsealed)
		return false;
	seal_late(skb);
	if (charged.sk)
		sock_wfree(&charged);
	unsealed_gone();
	return true;
}

/*
 * True if @skb was in no other hands since we put it in a list: it has not been
 * damaged, and its checksum does not matter.
 */
bool uroce_run_untouched(struct sk_buff *skb)
{
	if (skb_shared(skb))
		return seal_shared(skb);
	/* Who had it as well has let it go, with release semantics, after sealing it */
	smp_rmb();
	if (READ_ONCE(skb->destructor) != release_unsealed)
		return false;
	no_longer_listed(skb);
	unsealed_gone();
	return true;
}

/* Nobody sends any more: what is still in queues, which end by themselves */
void uroce_output_exit(void)
{
	wait_event(all_sealed, !atomic_read(&unsealed));
	/* Whoever was the last may still be on its way out of here */
	synchronize_rcu();
}

/* ---- runs --------------------------------------------------------------------- */

#define RUN_MAX 64

/* How long a packet without headers and checksum will be */
static u32 length_on_way(const struct uroce_flow *flow, const struct sk_buff *skb)
{
	u32 ip = is_ipv4(flow) ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);

	return ip + sizeof(struct udphdr) + skb->len + UROCE_ICRC_SIZE;
}

/*
 * May a packet of @len bytes join? Not when it is too long for the way, which is
 * for each alone to be told. Whoever forwards a run looks at the length of its first
 * packet alone, so none is longer, but where every way bears it.
 */
static bool run_takes(const struct uroce_run *run, const struct uroce_flow *flow,
		      u32 len)
{
	return run->head && !flow->wary && run->count < run->max_count &&
	       run->len + len <= run->max_len && len <= run->longest &&
	       skb_dst(run->head) == flow->route;
}

/*
 * None may follow a first one that is too long for the way, nor where encapsulation
 * would put more before each packet than there is room for, which nobody looks for
 * in a list.
 */
static void run_begin(struct net_device *dev, struct uroce_run *run,
		      struct dst_entry *dst, struct sk_buff *skb)
{
	const struct net_device *out = dst->dev;
	u32 mtu = dst_mtu(dst);

	run->head = skb;
	run->tail = skb;
	run->sk = payer(dev, skb);
	run->count = 1;
	run->len = skb->len;
	run->longest = clamp_t(u32, IPV6_MIN_MTU, skb->len, max(skb->len, mtu));
	run->max_len = min_t(u32, IP_MAX_MTU, READ_ONCE(out->gso_max_size));
	run->max_count = min_t(u32, RUN_MAX, READ_ONCE(out->gso_max_segs));
	if (skb->len > mtu || LL_RESERVED_SPACE(out) > MAX_HEADER)
		run->max_count = 1;
}

/*
 * Behind the first a packet lies in the list with its IP header before its data.
 * It is charged on its own, since kernels differ in whether the truesize of a
 * list stays with the first one when the list is taken apart.
 */
static void run_append(const struct uroce_flow *flow, struct uroce_run *run,
		       struct sk_buff *skb)
{
	push_headers(flow, skb, run->count);
	memset(uroce_net_put(skb, UROCE_ICRC_SIZE), 0, UROCE_ICRC_SIZE);
	run->len += skb->len;
	run->count++;
	set_unsealed(skb, run->sk);
	__skb_pull(skb, skb_transport_offset(skb) + sizeof(struct udphdr));
	if (run->tail == run->head)
		skb_shinfo(run->head)->frag_list = skb;
	else
		run->tail->next = skb;
	run->tail = skb;
}

/* From now on @skb, the first, stands for all */
static void run_close(struct sk_buff *skb, u32 count)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	struct sk_buff *seg;

	info->gso_size = skb->len - skb_transport_offset(skb) -
			 sizeof(struct udphdr);
	info->gso_segs = count;
	info->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST;
	for (seg = info->frag_list; seg; seg = seg->next) {
		skb->len += seg->len;
		skb->data_len += seg->len;
		skb->truesize += seg->truesize;
	}
	udp_hdr(skb)->len = htons(skb->len - skb_transport_offset(skb));
	/* There is none to be computed */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

static int run_xmit(struct net_device *dev, struct uroce_run *run)
{
	struct sk_buff *skb = run->head;
	int ret;

	if (!skb)
		return 0;
	run->head = NULL;
	if (run->count > 1)
		run_close(skb, run->count);
	else
		charge(dev, skb);
	ret = xmit(dev_net(dev), skb);
	if (ret == -ENOBUFS)
		run->lost = true;
	return ret;
}

/**
 * uroce_run_send() - send what was added
 * @dev: of our address
 * @run: empty afterwards
 *
 * Return: as uroce_net_xmit(), for all since the last time
 */
int uroce_run_send(struct net_device *dev, struct uroce_run *run)
{
	int ret = run_xmit(dev, run);

	if (!run->lost)
		return ret;
	run->lost = false;
	return -ENOBUFS;
}

static int run_start(struct net_device *dev, struct uroce_flow *flow,
		     struct uroce_run *run, struct sk_buff *skb)
{
	struct dst_entry *dst = uroce_net_wire() ? flow_route(dev, flow) : NULL;
	int ret = run_xmit(dev, run);

	if (!dst)
		ret = -EHOSTUNREACH;
	if (!dst || ret == -ENOBUFS) {
		kfree_skb(skb);
		return ret;
	}
	if (flow->wary)
		return send_one(dev, flow, dst, skb);
	uroce_net_seal(flow, skb, 0);
	set_route(skb, dst);
	run_begin(dev, run, dst, skb);
	return 0;
}

/**
 * uroce_run_add() - send a packet, together with others
 * @dev: of our address
 * @flow: where it goes; the same for all of a run
 * @run: which; sent when it is full, or else by uroce_run_send(), before bottom
 *	halves are on again
 * @skb: as of uroce_net_xmit(); consumed
 *
 * Return: as uroce_net_xmit(). -ENOBUFS: those before it are lost, and it too;
 * uroce_run_send() says so once more.
 */
int uroce_run_add(struct net_device *dev, struct uroce_flow *flow,
		  struct uroce_run *run, struct sk_buff *skb)
{
	if (!run_takes(run, flow, length_on_way(flow, skb)))
		return run_start(dev, flow, run, skb);
	run_append(flow, run, skb);
	return 0;
}
