// SPDX-License-Identifier: GPL-2.0
/*
 * Combines packets of one flow that arrive one after the other, so that they
 * pass the network stack as one. The kernel lets the owner of the UDP port do
 * this, so there is a socket on the port while no other module needs the port.
 * The socket receives nothing, because the hook in net.c runs first.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/version.h>
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

/* The limit of the kernel's own GRO. */
#define MANY 64

/* Set for good when rdma_rxe loads, which needs UDP port 4791. */
static bool yielded;

/*
 * Is the frame addressed to the interface that received it, or to the one below
 * @dev?
 */
static bool is_for(const struct sk_buff *skb, const struct uroce_dev *dev)
{
	const u8 *to;

	if (skb->dev->type != ARPHRD_ETHER)
		return true;
	to = eth_hdr(skb)->h_dest;
	return ether_addr_equal(to, skb->dev->dev_addr) ||
	       uroce_net_ops->has_mac(dev, to);
}

/*
 * Only packets for this host are combined: a router or bridge has to forward
 * packets unchanged. A frame for a guest behind a bridge may carry an IP
 * address that this host has too.
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
	dev = uroce_net_ops->device(dev_net(skb->dev), &dst);
	return dev && is_for(skb, dev);
}

/* The packet that @skb may follow: the kernel takes it for the same flow. */
static struct sk_buff *gro_find(struct list_head *head,
				const struct sk_buff *skb)
{
	struct sk_buff *p;

	list_for_each_entry(p, head, list)
		if (NAPI_GRO_CB(p)->same_flow)
			return p;
	return NULL;
}

/*
 * Do both packets have the same TTL and DSCP? A firewall checks these fields in
 * the first packet only. ECN bits may differ: each packet keeps its own.
 */
static bool same_way(const struct sk_buff *p, struct sk_buff *skb)
{
	const struct iphdr *a = (void *)(p->data + univ_gro_ip_offset(skb));
	const struct iphdr *b = univ_gro_ip(skb);
	const struct ipv6hdr *a6 = (void *)a, *b6 = (void *)b;

	if (a->version == 4)
		return a->ttl == b->ttl &&
		       !((a->tos ^ b->tos) & ~INET_ECN_MASK);
	return a6->hop_limit == b6->hop_limit &&
	       !((ipv6_get_dsfield(a6) ^ ipv6_get_dsfield(b6)) &
		 ~INET_ECN_MASK);
}

/* Appends @skb to the list; its headers stay in front of its data. */
static bool gro_append(struct sk_buff *p, struct sk_buff *skb)
{
	unsigned int head = skb_gro_offset(skb);

	/*
	 * The base transport header is read next, so it is pulled here once: a
	 * pull is expensive.
	 */
	if (p->len + skb->len > U16_MAX ||
	    !pskb_may_pull(skb,
			   min_t(unsigned int, head + sizeof(struct uroce_bth),
				 skb->len)))
		return false;
	/* From 6.10 on the kernel sets it in the first packet only. */
	skb_set_network_header(skb, univ_gro_ip_offset(skb));
	__skb_pull(skb, head);
	/*
	 * A packet that arrived by a veth is still charged to the sender's
	 * socket, by its truesize, which changes here, and again in some
	 * kernels when the list is taken apart.
	 */
	skb_orphan(p);
	skb_orphan(skb);
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
 * The kernel's rule for super-packets: all packets have one length, and only
 * the last may be shorter.
 *
 * Return: a packet that cannot grow any more, or NULL
 */
static struct sk_buff *gro_receive(struct sock *sk, struct list_head *head,
				   struct sk_buff *skb)
{
	u32 len = skb_gro_len(skb), full;
	struct sk_buff *p;

	p = len ? gro_find(head, skb) : NULL;
	/* IPsec policies are checked for the first packet of a list only. */
	if (unlikely(secpath_exists(skb))) {
		NAPI_GRO_CB(skb)->flush = 1;
		return p;
	}
	/*
	 * The first packet of a list was checked, and the next ones have the
	 * same addresses.
	 */
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
	/*
	 * The packet is not encapsulated, although the kernel assumes so for a
	 * tunnel socket.
	 */
	skb->encapsulation = 0;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST;
	skb_shinfo(skb)->gso_segs = NAPI_GRO_CB(skb)->count;
	return 0;
}

/* A packet to an address of this host that no uroce device has. */
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

/*
 * If the port is taken already, its owner keeps it, and packets arrive one by
 * one.
 */
void uroce_gro_start(struct net *net, struct uroce_gro *gro)
{
	gro->ipv4 = gro_listen(net, AF_INET);
	gro->ipv6 = gro_listen(net, AF_INET6);
}

/* After a grace period no code runs in the functions above. */
void uroce_gro_stop(struct uroce_gro *gro)
{
	if (gro->ipv4)
		sock_release(gro->ipv4);
	if (gro->ipv6)
		sock_release(gro->ipv6);
	gro->ipv4 = NULL;
	gro->ipv6 = NULL;
}

static int module_comes(struct notifier_block *nb, unsigned long state,
			void *data)
{
	const struct module *mod = data;

	if (state == MODULE_STATE_GOING || strcmp(mod->name, "rdma_rxe"))
		return NOTIFY_DONE;
	WRITE_ONCE(yielded, true);
	uroce_net_yield();
	return NOTIFY_OK;
}

static struct notifier_block modules = { .notifier_call = module_comes };

/*
 * Since Linux 7.1 rdma_rxe binds the port when a namespace gets its first
 * device, so the port is left to it if it is loaded already, or built in. In
 * older kernels it has bound the port by then, in one namespace only.
 */
static bool rxe_binds_later(void)
{
	struct kobject *rxe;

	if (LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0))
		return false;
	rxe = kset_find_obj(THIS_MODULE->mkobj.kobj.kset, "rdma_rxe");
	kobject_put(rxe);
	return rxe || IS_BUILTIN(CONFIG_RDMA_RXE);
}

int uroce_gro_init(void)
{
	int ret = register_module_notifier(&modules);

	if (!ret && rxe_binds_later())
		WRITE_ONCE(yielded, true);
	return ret;
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
