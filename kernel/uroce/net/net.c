// SPDX-License-Identifier: GPL-2.0
/* See net.h. */
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netfilter/nf_conntrack.h>
#include <net/netns/generic.h>
#include <net/sock.h>

#include "compat.h"
#include "family.h"
#include "gro.h"
#include "gso.h"
#include "icrc.h"
#include "net.h"

const struct uroce_net_ops *uroce_net_ops;

static bool wire = true;
module_param(wire, bool, 0444);
MODULE_PARM_DESC(wire, "packets to and from other hosts (default: yes)");

/* ---- listening ----------------------------------------------------------- */

/*
 * The socket sends nothing. Outgoing packets are charged to it, so that senders
 * see how many packets are in the queues below. The kernel uncharges them by a
 * function that stays when this module is unloaded.
 */
struct uroce_net {
	struct mutex lock;	/* protects users and the rest of the struct */
	unsigned int users;
	struct socket *sock;
	struct uroce_gro gro;
};

static unsigned int net_id;

/* @crc: the CRC of the headers up to the base transport header. */
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

/*
 * Receives one packet, with its IP header at the start of its data. @untouched:
 * a device of this host sent it, and it has not left the kernel since.
 */
static void receive_one(const struct uroce_family *f, struct uroce_dev *dev,
			struct uroce_packet *pkt, bool untouched)
{
	if (!uroce_packet_parse(pkt, f->ip_len + sizeof(struct udphdr)))
		return;
	pkt->ce = f->met_congestion(pkt->skb);
	if (untouched || intact(pkt, f->crc(pkt)))
		uroce_net_ops->receive(dev, pkt);
	else
		uroce_net_ops->damaged(dev);
}

/*
 * Frees into the cache of this processor. A packet that a program has held in a
 * netfilter queue arrives in a system call, with bottom halves on.
 */
static void done_with(struct sk_buff *skb)
{
	napi_consume_skb(skb, !!in_softirq());
}

/*
 * Receives one packet of a list, which has to belong to the first packet's
 * flow.
 */
static void receive_next(const struct uroce_family *f, struct uroce_dev *dev,
			 const struct uroce_packet *first, struct sk_buff *skb,
			 bool untouched)
{
	struct uroce_packet pkt = { .skb = skb };

	if (!is_roce(skb, f->ip_len) || !f->is_udp(skb))
		return;
	/*
	 * Only the first packet of a list has passed the net devices above and
	 * the removal of a VLAN tag.
	 */
	skb->skb_iif = first->skb->skb_iif;
	skb->protocol = first->skb->protocol;
	f->addresses(&pkt);
	pkt.link = first->link;
	if (ipv6_addr_equal(&pkt.src, &first->src) &&
	    ipv6_addr_equal(&pkt.dst, &first->dst))
		receive_one(f, dev, &pkt, untouched);
}

/*
 * Moves the data pointer from the link header, or from behind the UDP header,
 * to the network header.
 */
static bool at_network_header(const struct uroce_family *f, struct sk_buff *skb)
{
	int offset = skb_network_offset(skb),
	    behind = f->ip_len + sizeof(struct udphdr);

	if (offset == -behind)
		__skb_push(skb, behind);
	else if (offset >= 0 && offset <= skb_headlen(skb))
		__skb_pull(skb, offset);
	else
		return false;
	return true;
}

static void receive_list(const struct uroce_family *f, struct uroce_dev *dev,
			 const struct uroce_packet *first, struct sk_buff *list)
{
	struct sk_buff *skb, *next;
	bool untouched;

	skb_list_walk_safe(list, skb, next) {
		untouched = uroce_run_untouched(skb);
		/*
		 * A copy of the first packet that a packet socket holds may
		 * share the list.
		 */
		skb = skb_share_check(skb, GFP_ATOMIC);
		if (!skb)
			continue;
		skb_mark_not_on_list(skb);
		if (at_network_header(f, skb))
			receive_next(f, dev, first, skb, untouched);
		done_with(skb);
	}
}

/*
 * Detaches the list from its first packet, whose headers and truesize describe
 * the whole list, so that the first packet is one like the others. A charge for
 * the list is released before. Returns NULL without memory.
 */
static struct sk_buff *take_list(const struct uroce_family *f,
				 struct sk_buff *skb)
{
	struct sk_buff *list, *seg;
	struct udphdr *udp;

	if (skb_unclone(skb, GFP_ATOMIC))
		return NULL;
	skb_orphan(skb);
	list = skb_shinfo(skb)->frag_list;
	skb_shinfo(skb)->frag_list = NULL;
	for (seg = list; seg; seg = seg->next) {
		skb->len -= seg->len;
		skb->data_len -= seg->len;
		skb->truesize -= seg->truesize;
	}
	skb_gso_reset(skb);
	udp = (void *)(skb->data + f->ip_len);
	udp->len = htons(skb->len - f->ip_len);
	f->set_len(skb);
	return list;
}

/*
 * One payload, to be cut at equal lengths: not a packet of uroce. The kernel
 * cuts it.
 */
static struct sk_buff *cut(struct sk_buff *skb)
{
	struct sk_buff *segs;

	__skb_push(skb, skb->data - skb_mac_header(skb));
	if (skb->ip_summed == CHECKSUM_NONE)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	segs = __skb_gso_segment(skb, NETIF_F_SG | NETIF_F_HW_CSUM, false);
	return IS_ERR(segs) ? NULL : segs;
}

static void receive_pieces(const struct uroce_family *f, struct uroce_dev *dev,
			   const struct uroce_packet *whole)
{
	struct sk_buff *skb, *next;

	skb_list_walk_safe(uroce_gso_split(whole->skb, f->ip_len), skb, next) {
		skb_mark_not_on_list(skb);
		receive_next(f, dev, whole, skb, true);
		done_with(skb);
	}
}

/* A GSO packet has not left the kernel, and has no checksum. */
static void receive_gso(const struct uroce_family *f, struct uroce_dev *dev,
			struct uroce_packet *pkt)
{
	if (!uroce_packet_parse(pkt, f->ip_len + sizeof(struct udphdr)) ||
	    !uroce_gso_fits(pkt))
		return;
	pkt->ce = f->met_congestion(pkt->skb);
	if (!uroce_net_ops->receive(dev, pkt))
		receive_pieces(f, dev, pkt);
}

/*
 * Each packet of a super-packet is checked on its own. Packets of a list still
 * have the headers that they were sent with, which their checksums cover.
 */
static void receive_many(const struct uroce_family *f, struct uroce_dev *dev,
			 struct uroce_packet *first)
{
	struct sk_buff *skb = first->skb, *list;

	if (uroce_gso_is(skb)) {
		receive_gso(f, dev, first);
		return;
	}
	if (!(skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST)) {
		/*
		 * The kernel can cut a packet of another type, which is to
		 * become IP fragments. A virtual machine chooses their length,
		 * and may want 64 k fragments of a byte.
		 */
		if (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4)
			receive_list(f, dev, first, cut(skb));
		return;
	}
	list = take_list(f, skb);
	if (list)
		receive_one(f, dev, first, false);
	receive_list(f, dev, first, list);
}

/*
 * Connection tracking confirms a connection in a hook behind all others. The
 * hook here consumes its packets, so each packet would begin a new connection
 * if it were not confirmed here. Returns false if the packet must be dropped.
 */
static bool tracked(struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	enum ip_conntrack_info info;
	struct nf_conn *ct = nf_ct_get(skb, &info);

	return likely(!ct) || nf_ct_is_confirmed(ct) || univ_ct_confirm(skb);
#else
	return true;
#endif
}

/*
 * Sockets may be members of the group as well, so the packet continues. If a
 * device of the same namespace sent the packet, its own members have it
 * already.
 */
static unsigned int receive_group(const struct uroce_family *f,
				  struct uroce_packet *pkt,
				  const struct nf_hook_state *state)
{
	struct uroce_dev *dev = uroce_net_ops->next_listener(state->in, NULL);
	struct uroce_dev *sender;

	if (!dev)
		return NF_ACCEPT;
	if (!f->policy(pkt->skb) || !tracked(pkt->skb))
		return NF_DROP;
	sender = uroce_net_ops->device(state->net, &pkt->src);
	for (; dev; dev = uroce_net_ops->next_listener(state->in, dev))
		if (dev != sender)
			receive_one(f, dev, pkt, false);
	return NF_ACCEPT;
}

static unsigned int receive(const struct uroce_family *f, struct sk_buff *skb,
			    const struct nf_hook_state *state)
{
	struct uroce_packet pkt = { .skb = skb };
	struct uroce_dev *dev;

	if (!f->is_udp(skb) || !is_roce(skb, f->ip_len))
		return NF_ACCEPT;
	f->addresses(&pkt);
	if (is_group(&pkt.dst))
		return receive_group(f, &pkt, state);
	dev = uroce_net_ops->device(state->net, &pkt.dst);
	if (!dev)
		return NF_ACCEPT;
	if (!f->policy(skb) || !tracked(skb))
		return NF_DROP;
	if (skb_is_gso(skb))
		receive_many(f, dev, &pkt);
	else
		receive_one(f, dev, &pkt, false);
	done_with(skb);
	return NF_STOLEN;
}

static unsigned int hook_ipv4(void *priv, struct sk_buff *skb,
			      const struct nf_hook_state *state)
{
	return receive(&uroce_ipv4, skb, state);
}

static unsigned int hook_ipv6(void *priv, struct sk_buff *skb,
			      const struct nf_hook_state *state)
{
	return receive(&uroce_ipv6, skb, state);
}

/* Last, so that packets that a firewall drops do not arrive here. */
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
/* Devices of one host still communicate. */
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

/*
 * A queue pair whose net device has just moved into the namespace may look the
 * socket up, so it is shown only when nothing can fail any more.
 */
static int net_start(struct net *net, struct uroce_net *un)
{
	struct socket *sock;
	int ret;

	ret = sock_create_kern(net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (ret)
		return ret;
	ret = listen_start(net);
	if (ret) {
		sock_release(sock);
		return ret;
	}
	/* Pairs with the load in uroce_net_sock(). */
	smp_store_release(&un->sock, sock);
	uroce_gro_start(net, &un->gro);
	return 0;
}

/* A sender may have looked up the socket before its device left. */
static void net_stop(struct net *net, struct uroce_net *un)
{
	struct socket *sock = un->sock;

	listen_stop(net);
	uroce_gro_stop(&un->gro);
	WRITE_ONCE(un->sock, NULL);
	synchronize_rcu();
	sock_release(sock);
}

/*
 * Delivers a packet that uroce_net_ops.receive was called for: it was delayed,
 * or is duplicated.
 */
void uroce_net_deliver(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	uroce_net_ops->deliver(dev, pkt);
}

/* Does the module send and receive packets at all? */
bool uroce_net_enabled(void)
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

/*
 * The socket that outgoing packets are charged to; NULL if the namespace has
 * none. Context: RCU.
 */
struct sock *uroce_net_sock(struct net_device *dev)
{
	struct uroce_net *un = net_generic(dev_net(dev), net_id);
	/* Pairs with the release in net_start(). */
	struct socket *sock = smp_load_acquire(&un->sock);

	return sock ? sock->sk : NULL;
}

/* ---- namespaces ---------------------------------------------------------- */

static int __net_init net_begin(struct net *net)
{
	struct uroce_net *un = net_generic(net, net_id);

	mutex_init(&un->lock);
	return 0;
}

void uroce_net_yield(void)
{
	struct uroce_net *un;
	struct net *net;

	down_read(&net_rwsem);
	for_each_net(net) {
		un = net_generic(net, net_id);
		mutex_lock(&un->lock);
		uroce_gro_stop(&un->gro);
		mutex_unlock(&un->lock);
	}
	up_read(&net_rwsem);
}

static struct pernet_operations net_ops = {
	.init = net_begin,
	.id = &net_id,
	.size = sizeof(struct uroce_net),
};

int uroce_net_init(const struct uroce_net_ops *ops)
{
	int ret = uroce_icrc_init();

	if (ret)
		return ret;
	uroce_net_ops = ops;
	uroce_gso_init();
	ret = register_pernet_subsys(&net_ops);
	if (ret)
		goto exit_gso;
	ret = uroce_gro_init();
	if (ret)
		goto unregister;
	return 0;

unregister:
	unregister_pernet_subsys(&net_ops);
exit_gso:
	uroce_gso_exit();
	uroce_icrc_exit();
	return ret;
}

void uroce_net_exit(void)
{
	uroce_gro_exit();
	unregister_pernet_subsys(&net_ops);
	uroce_gso_exit();
	uroce_output_exit();
	uroce_icrc_exit();
}
