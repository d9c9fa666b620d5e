// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that come one behind the other from the wire go up the stack as one. For
 * that the kernel asks whoever has the UDP port; so there is a socket on it, as long
 * as nobody else wants it. It receives nothing: the hook in net.c is before it.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/gro.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/udp_tunnel.h>
#include <net/xfrm.h>

#include "compat.h"
#include "gro.h"
#include "net.h"

#if IS_ENABLED(CONFIG_NET_UDP_TUNNEL)

/* As many as the kernel puts together itself */
#define MANY 64

/* rdma_rxe has come, which does without the port only by failing */
static bool yielded;

/* Is the frame for the interface that it came by, or for the one that @dev lies on? */
static bool is_for(const struct sk_buff *skb, const struct uroce_dev *dev)
{
	const u8 *to;

	if (skb->dev->type != ARPHRD_ETHER)
		return true;
	to = eth_hdr(skb)->h_dest;
	return ether_addr_equal(to, skb->dev->dev_addr) ||
	       uroce_net_has_mac(dev, to);
}

/*
 * Packets for this host alone are gathered: what a router or a bridge passes on has to
 * leave as it came. A frame for a guest behind a bridge may have an IP address that this
 * host has as well.
 */
static bool is_ours(struct sk_buff *skb)
{
	const struct iphdr *ip = univ_gro_ip(skb);
	struct uroce_dev *dev;
	struct in6_addr dst;

	if (ip->version == 4)
		ipv6_addr_set_v4mapped(ip->daddr, &dst);
	else
		dst = ((const struct ipv6hdr *)ip)->daddr;
	dev = uroce_net_device(dev_net(skb->dev), &dst);
	return dev && is_for(skb, dev);
}

/* The packet that @skb can follow, of the same flow as far as the kernel knows */
static struct sk_buff *gro_find(struct list_head *head, const struct sk_buff *skb)
{
	struct sk_buff *p;

	list_for_each_entry(p, head, list)
		if (NAPI_GRO_CB(p)->same_flow)
			return p;
	return NULL;
}

/*
 * What came by a veth is still charged to its sender, each packet for its own size;
 * and only packets of one sender become one. The first one's size grows now, so its
 * charge has to grow as well, or it has to go.
 */
static void gro_charge(struct sk_buff *p, struct sk_buff *skb)
{
	if (skb->sk && skb->sk == p->sk && skb->destructor == sock_wfree &&
	    p->destructor == sock_wfree) {
		skb->destructor = NULL;
		skb->sk = NULL;
		return;
	}
	skb_orphan(p);
	skb_orphan(skb);
}

/*
 * Have both packets one TTL and one DSCP? A firewall may look at these, and sees those of
 * the first packet alone. Marks of congestion (ECN) may differ: each packet keeps its own.
 */
static bool same_way(const struct sk_buff *p, struct sk_buff *skb)
{
	const struct iphdr *a = (void *)(p->data + univ_gro_ip_offset(skb));
	const struct iphdr *b = univ_gro_ip(skb);
	const struct ipv6hdr *a6 = (void *)a, *b6 = (void *)b;

	if (a->version == 4)
		return a->ttl == b->ttl && !((a->tos ^ b->tos) & ~INET_ECN_MASK);
	return a6->hop_limit == b6->hop_limit &&
	       !((ipv6_get_dsfield(a6) ^ ipv6_get_dsfield(b6)) & ~INET_ECN_MASK);
}

/* Behind the last of the list, with its headers before its data */
static bool gro_append(struct sk_buff *p, struct sk_buff *skb)
{
	unsigned int head = skb_gro_offset(skb);

	/* Down to the base header, which is looked at next: a pull is dear */
	if (p->len + skb->len > U16_MAX ||
	    !pskb_may_pull(skb, min_t(unsigned int, head + sizeof(struct uroce_bth),
				      skb->len)))
		return false;
	__skb_pull(skb, head);
	gro_charge(p, skb);
	if (NAPI_GRO_CB(p)->last == p)
		skb_shinfo(p)->frag_list = skb;
	else
		NAPI_GRO_CB(p)->last->next = skb;
	NAPI_GRO_CB(p)->last = skb;
	NAPI_GRO_CB(p)->count++;
	NAPI_GRO_CB(skb)->same_flow = 1;
	p->len += skb->len;
	p->data_len += skb->len;
	p->truesize += skb->truesize;
	return true;
}

/*
 * All of one length, and the end of a message may be shorter: the kernel's rule for
 * super-packets, so that nobody stumbles over ours.
 *
 * Return: what cannot grow any more
 */
static struct sk_buff *gro_receive(struct sock *sk, struct list_head *head,
				   struct sk_buff *skb)
{
	u32 len = skb_gro_len(skb), full;
	struct sk_buff *p;

	p = len ? gro_find(head, skb) : NULL;
	/* IPsec's policies are asked about the first of a list alone */
	if (unlikely(secpath_exists(skb))) {
		NAPI_GRO_CB(skb)->flush = 1;
		return p;
	}
	/* The first of a list was, and the next ones have its addresses */
	if (!p) {
		NAPI_GRO_CB(skb)->flush |= !len || !is_ours(skb);
		return NULL;
	}
	full = skb_shinfo(p)->gso_size;
	if (len > full || NAPI_GRO_CB(skb)->flush || !same_way(p, skb) ||
	    !gro_append(p, skb))
		return p;
	return len < full || NAPI_GRO_CB(p)->count >= MANY ? p : NULL;
}

static int gro_complete(struct sock *sk, struct sk_buff *skb, int offset)
{
	/* It is inside of nothing, as the kernel supposed for what has a socket like ours */
	skb->encapsulation = 0;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST;
	skb_shinfo(skb)->gso_segs = NAPI_GRO_CB(skb)->count;
	return 0;
}

/* To an address of this host that no device of ours has */
static int drop(struct sock *sk, struct sk_buff *skb)
{
	kfree_skb(skb);
	return 0;
}

static struct socket *gro_listen(struct net *net, u8 family)
{
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = htons(UROCE_UDP_PORT),
		.use_udp6_rx_checksums = false,
		.ipv6_v6only = true,
	};
	struct udp_tunnel_sock_cfg cfg = {
		.encap_type = 1,
		.encap_rcv = drop,
		.gro_receive = gro_receive,
		.gro_complete = gro_complete,
	};
	struct socket *sock;

	if (READ_ONCE(yielded) || udp_sock_create(net, &port, &sock))
		return NULL;
	univ_setup_udp_tunnel_sock(net, sock, &cfg);
	return sock;
}

/* Whoever has the port already keeps it, and packets come one by one */
void uroce_gro_start(struct net *net, struct uroce_gro *gro)
{
	gro->ipv4 = gro_listen(net, AF_INET);
	gro->ipv6 = gro_listen(net, AF_INET6);
}

/* A grace period later nobody is in our functions */
void uroce_gro_stop(struct uroce_gro *gro)
{
	if (gro->ipv4)
		sock_release(gro->ipv4);
	if (gro->ipv6)
		sock_release(gro->ipv6);
	gro->ipv4 = NULL;
	gro->ipv6 = NULL;
}

static int module_comes(struct notifier_block *nb, unsigned long state, void *data)
{
	const struct module *mod = data;

	if (state != MODULE_STATE_COMING || strcmp(mod->name, "rdma_rxe"))
		return NOTIFY_DONE;
	WRITE_ONCE(yielded, true);
	uroce_net_yield();
	return NOTIFY_OK;
}

static struct notifier_block modules = { .notifier_call = module_comes };

int uroce_gro_init(void)
{
	return register_module_notifier(&modules);
}

void uroce_gro_exit(void)
{
	unregister_module_notifier(&modules);
}

#else

void uroce_gro_start(struct net *net, struct uroce_gro *gro)
{
}

void uroce_gro_stop(struct uroce_gro *gro)
{
}

int uroce_gro_init(void)
{
	return 0;
}

void uroce_gro_exit(void)
{
}

#endif
