// SPDX-License-Identifier: GPL-2.0
/* See net.h. */
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netns/generic.h>
#include <net/sock.h>

#include "icrc.h"
#include "net.h"

static bool wire = true;
module_param(wire, bool, 0444);
MODULE_PARM_DESC(wire, "packets to and from other hosts (default: yes)");

/* ---- listening ---------------------------------------------------------------- */

/*
 * The socket sends nothing. It is charged for packets on their way out, so that
 * senders see how many there are, by code that stays when this module goes.
 */
struct uroce_net {
	struct mutex lock;	/* protects users, and orders the rest with it */
	unsigned int users;
	struct socket *sock;
};

static unsigned int net_id;

/* @crc: that of the headers up to the base header */
static bool intact(const struct uroce_packet *pkt, u32 crc)
{
	const struct sk_buff *skb = pkt->skb;
	unsigned int from = (u8 *)(pkt->bth + 1) - skb->data;
	unsigned int to = skb->len - UROCE_ICRC_SIZE;
	__le32 told;

	crc = uroce_icrc_add_skb(crc, skb, from, to - from);
	return !skb_copy_bits(skb, to, &told, sizeof(told)) &&
	       told == uroce_icrc_end(crc);
}

static bool is_roce(struct sk_buff *skb, unsigned int ip_len)
{
	const struct udphdr *udp;

	if (!pskb_may_pull(skb, ip_len + sizeof(*udp)))
		return false;
	udp = (void *)(skb->data + ip_len);
	return udp->dest == htons(UROCE_UDP_PORT) &&
	       ntohs(udp->len) == skb->len - ip_len;
}

static bool is_group(const struct in6_addr *addr)
{
	return ipv6_addr_is_multicast(addr) ||
	       (ipv6_addr_v4mapped(addr) &&
		ipv4_is_multicast(addr->s6_addr32[3]));
}

/* A group's packets are for the device that they came to, unless it sent them */
static struct uroce_dev *device_of(const struct nf_hook_state *state,
				   const struct uroce_packet *pkt)
{
	if (!is_group(&pkt->dst))
		return uroce_net_device(state->net, &pkt->dst);
	if (uroce_net_device(state->net, &pkt->src))
		return NULL;
	return uroce_dev_by_netdev(state->in);
}

static unsigned int hook_ipv4(void *priv, struct sk_buff *skb,
			      const struct nf_hook_state *state)
{
	struct uroce_packet pkt = { .skb = skb };
	const struct iphdr *ip = ip_hdr(skb);
	struct uroce_dev *dev;
	u32 crc;

	if (ip->protocol != IPPROTO_UDP || ip->ihl != sizeof(*ip) / 4 ||
	    !is_roce(skb, sizeof(*ip)))
		return NF_ACCEPT;
	ip = ip_hdr(skb);
	ipv6_addr_set_v4mapped(ip->saddr, &pkt.src);
	ipv6_addr_set_v4mapped(ip->daddr, &pkt.dst);
	dev = device_of(state, &pkt);
	if (!dev)
		return NF_ACCEPT;
	if (!uroce_packet_parse(&pkt, sizeof(*ip) + sizeof(struct udphdr)))
		goto drop;
	ip = ip_hdr(skb);
	pkt.ce = INET_ECN_is_ce(ip->tos);
	crc = uroce_icrc_ipv4(ip, (void *)(ip + 1), pkt.bth);
	if (intact(&pkt, crc))
		uroce_net_receive(dev, &pkt);
	else
		uroce_net_damaged(dev);
drop:
	/* Others may be in the group as well */
	if (is_group(&pkt.dst))
		return NF_ACCEPT;
	consume_skb(skb);
	return NF_STOLEN;
}

static unsigned int hook_ipv6(void *priv, struct sk_buff *skb,
			      const struct nf_hook_state *state)
{
	struct uroce_packet pkt = { .skb = skb };
	const struct ipv6hdr *ip = ipv6_hdr(skb);
	struct uroce_dev *dev;
	u32 crc;

	if (ip->nexthdr != IPPROTO_UDP || !is_roce(skb, sizeof(*ip)))
		return NF_ACCEPT;
	ip = ipv6_hdr(skb);
	pkt.src = ip->saddr;
	pkt.dst = ip->daddr;
	dev = device_of(state, &pkt);
	if (!dev)
		return NF_ACCEPT;
	if (!uroce_packet_parse(&pkt, sizeof(*ip) + sizeof(struct udphdr)))
		goto drop;
	ip = ipv6_hdr(skb);
	pkt.ce = INET_ECN_is_ce(ipv6_get_dsfield(ip));
	crc = uroce_icrc_ipv6(ip, (void *)(ip + 1), pkt.bth);
	if (intact(&pkt, crc))
		uroce_net_receive(dev, &pkt);
	else
		uroce_net_damaged(dev);
drop:
	/* Others may be in the group as well */
	if (is_group(&pkt.dst))
		return NF_ACCEPT;
	consume_skb(skb);
	return NF_STOLEN;
}

/* Last, so that whatever a firewall refuses is refused */
static const struct nf_hook_ops hooks[] = {
	{
		.hook = hook_ipv4,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP_PRI_LAST,
	}, {
		.hook = hook_ipv6,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP6_PRI_LAST,
	},
};

#ifdef CONFIG_NETFILTER
static int listen_start(struct net *net)
{
	return nf_register_net_hooks(net, hooks, ARRAY_SIZE(hooks));
}

static void listen_stop(struct net *net)
{
	nf_unregister_net_hooks(net, hooks, ARRAY_SIZE(hooks));
}
#else
/* Devices of one host still talk to each other */
static int listen_start(struct net *net)
{
	pr_warn_once("uroce: no packets without CONFIG_NETFILTER (%zu hooks)\n",
		     ARRAY_SIZE(hooks));
	return 0;
}

static void listen_stop(struct net *net)
{
}
#endif

static int net_start(struct net *net, struct uroce_net *un)
{
	int ret = sock_create_kern(net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &un->sock);

	if (ret)
		return ret;
	ret = listen_start(net);
	if (ret)
		sock_release(un->sock);
	return ret;
}

/* Whoever sends may have looked the socket up before its device left */
static void net_stop(struct net *net, struct uroce_net *un)
{
	struct socket *sock = un->sock;

	listen_stop(net);
	WRITE_ONCE(un->sock, NULL);
	synchronize_rcu();
	sock_release(sock);
}

/* Whether there are packets at all. */
bool uroce_net_wire(void)
{
	return wire;
}

int uroce_net_join(struct net *net)
{
	struct uroce_net *un = net_generic(net, net_id);
	int ret = 0;

	if (!wire)
		return 0;
	mutex_lock(&un->lock);
	if (!un->users)
		ret = net_start(net, un);
	if (!ret)
		un->users++;
	mutex_unlock(&un->lock);
	return ret;
}

void uroce_net_leave(struct net *net)
{
	struct uroce_net *un = net_generic(net, net_id);

	if (!wire)
		return;
	mutex_lock(&un->lock);
	if (!--un->users)
		net_stop(net, un);
	mutex_unlock(&un->lock);
}

/* What packets that leave are charged to; NULL while nobody counts. Context: RCU. */
struct sock *uroce_net_sock(struct net_device *dev)
{
	struct uroce_net *un = net_generic(dev_net(dev), net_id);
	struct socket *sock = READ_ONCE(un->sock);

	return sock ? sock->sk : NULL;
}

/* ---- namespaces --------------------------------------------------------------- */

static int __net_init net_begin(struct net *net)
{
	struct uroce_net *un = net_generic(net, net_id);

	mutex_init(&un->lock);
	return 0;
}

static struct pernet_operations net_ops = {
	.init = net_begin,
	.id = &net_id,
	.size = sizeof(struct uroce_net),
};

int uroce_net_init(void)
{
	int ret = uroce_icrc_init();

	if (ret)
		return ret;
	ret = register_pernet_subsys(&net_ops);
	if (ret)
		uroce_icrc_exit();
	return ret;
}

void uroce_net_exit(void)
{
	unregister_pernet_subsys(&net_ops);
	uroce_icrc_exit();
}
