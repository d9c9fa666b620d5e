// SPDX-License-Identifier: GPL-2.0
/* GRO puts packets together only if they are for this host and have come the same way. */
#include <kunit/test.h>
#include <linux/ip.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/xfrm.h>

/* The suite of runs defines the same names. */
#define uroce_gro_start	gro_kunit_start
#define uroce_gro_stop	gro_kunit_stop
#define uroce_gro_init	gro_kunit_init
#define uroce_gro_exit	gro_kunit_exit
#define uroce_net_ops	gro_kunit_ops

/* Test kernels need not have IPsec. */
static bool all_protected;

#define secpath_exists(skb) all_protected

#include "../../kernel/uroce/net/gro.c"

#define OURS	htonl(0x0a4d0001)
#define THEIRS	htonl(0x0a4d0002)
#define PAYLOAD	64

static const u8 port_mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 1 };
static const u8 bridge_mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 2 };
static const u8 guest_mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 3 };

/* uroce's device is on a bridge; this is a port of the bridge. */
static struct net_device port = { .type = ARPHRD_ETHER, .dev_addr = port_mac };

static struct uroce_dev *our_device(struct net *net, const struct in6_addr *dst)
{
	return dst->s6_addr32[3] == OURS ? (void *)&port : NULL;
}

static bool our_mac(const struct uroce_dev *dev, const u8 *mac)
{
	return ether_addr_equal(mac, bridge_mac);
}

static const struct uroce_net_ops ops = { .device = our_device, .has_mac = our_mac };
const struct uroce_net_ops *uroce_net_ops = &ops;

/* A packet as the kernel passes it to the owner of the UDP port. */
static struct sk_buff *arriving(struct kunit *test, __be32 daddr, const u8 *mac)
{
	struct sk_buff *skb = alloc_skb(256, GFP_KERNEL);
	struct iphdr *ip;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	dev_net_set(&port, &init_net);
	skb->dev = &port;
	skb_reset_mac_header(skb);
	memcpy(skb_put_zero(skb, ETH_HLEN), mac, ETH_ALEN);
	skb_pull(skb, ETH_HLEN);
	skb_reset_network_header(skb);
	ip = skb_put_zero(skb, sizeof(*ip) + sizeof(struct udphdr) + PAYLOAD);
	ip->version = IPVERSION;
	ip->ihl = sizeof(*ip) / 4;
	ip->daddr = daddr;
	memset(NAPI_GRO_CB(skb), 0, sizeof(*NAPI_GRO_CB(skb)));
	skb_gro_pull(skb, sizeof(*ip) + sizeof(struct udphdr));
	return skb;
}

/* Return whether a packet may become the first one of a list. */
static bool gathered(struct kunit *test, __be32 daddr, const u8 *mac)
{
	struct sk_buff *skb = arriving(test, daddr, mac);
	LIST_HEAD(none);
	bool flush;

	KUNIT_EXPECT_NULL(test, gro_receive(NULL, &none, skb));
	flush = NAPI_GRO_CB(skb)->flush;
	kfree_skb(skb);
	return !flush;
}

/*
 * A bridge may forward a frame to a guest behind it, with a destination address that
 * this host has as well. Such a frame has to leave unchanged.
 */
static void gro_is_ours(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, gathered(test, OURS, port_mac));
	KUNIT_EXPECT_TRUE(test, gathered(test, OURS, bridge_mac));
	KUNIT_EXPECT_FALSE(test, gathered(test, THEIRS, port_mac));
	KUNIT_EXPECT_FALSE(test, gathered(test, OURS, guest_mac));
}

/*
 * Return whether a packet joins the list of a packet of its flow whose TTL and TOS are 0. The list
 * is complete if it does not.
 */
static bool joins(struct kunit *test, u8 ttl, u8 tos)
{
	struct sk_buff *first = arriving(test, OURS, port_mac), *complete;
	struct sk_buff *skb = arriving(test, OURS, port_mac);
	LIST_HEAD(held);
	bool joined;

	NAPI_GRO_CB(first)->last = first;
	NAPI_GRO_CB(first)->count = 1;
	NAPI_GRO_CB(first)->same_flow = 1;
	skb_shinfo(first)->gso_size = PAYLOAD;
	list_add(&first->list, &held);
	ip_hdr(skb)->ttl = ttl;
	ip_hdr(skb)->tos = tos;
	complete = gro_receive(NULL, &held, skb);
	joined = NAPI_GRO_CB(first)->count == 2;
	KUNIT_EXPECT_PTR_EQ(test, complete, joined ? NULL : first);
	KUNIT_EXPECT_EQ(test, skb_has_frag_list(first), joined);
	skb_list_del_init(first);
	if (!joined)
		kfree_skb(skb);
	kfree_skb(first);
	return joined;
}

/*
 * A firewall sees the headers of the first packet of a list alone. A router may have marked some of
 * the packets.
 */
static void gro_same_way(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, joins(test, 0, 0));
	KUNIT_EXPECT_TRUE(test, joins(test, 0, INET_ECN_CE));
	KUNIT_EXPECT_FALSE(test, joins(test, 1, 0));
	KUNIT_EXPECT_FALSE(test, joins(test, 0, INET_ECN_MASK + 1));
}

/*
 * The kernel checks the IPsec policy of the first packet of a list alone, so a protected packet is
 * in no list.
 */
static void gro_protected(struct kunit *test)
{
	all_protected = true;
	KUNIT_EXPECT_FALSE(test, gathered(test, OURS, port_mac));
	KUNIT_EXPECT_FALSE(test, joins(test, 0, 0));
	all_protected = false;
}

/* A packet that may become the first one of a list. */
static struct sk_buff *lone(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(256, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, PAYLOAD);
	memset(NAPI_GRO_CB(skb), 0, sizeof(*NAPI_GRO_CB(skb)));
	NAPI_GRO_CB(skb)->last = skb;
	NAPI_GRO_CB(skb)->count = 1;
	return skb;
}

/* A list keeps the order of its packets, and is no longer than an IP header can say. */
static void gro_lengthens(struct kunit *test)
{
	struct sk_buff *first = lone(test), *second = lone(test), *third = lone(test);
	struct sk_buff *fourth = lone(test);

	KUNIT_EXPECT_TRUE(test, gro_append(first, second));
	KUNIT_EXPECT_TRUE(test, gro_append(first, third));
	KUNIT_EXPECT_PTR_EQ(test, skb_shinfo(first)->frag_list, second);
	KUNIT_EXPECT_PTR_EQ(test, second->next, third);
	KUNIT_EXPECT_NULL(test, third->next);
	KUNIT_EXPECT_EQ(test, (int)NAPI_GRO_CB(first)->count, 3);
	KUNIT_EXPECT_EQ(test, first->len, 3u * PAYLOAD);
	first->len = U16_MAX;
	KUNIT_EXPECT_FALSE(test, gro_append(first, fourth));
	first->len = 3 * PAYLOAD;
	kfree_skb(fourth);
	kfree_skb(first);
}

static struct sk_buff *charged(struct kunit *test, struct socket *sock)
{
	struct sk_buff *skb = lone(test);

	skb_set_owner_w(skb, sock->sk);
	return skb;
}

/*
 * Packets that have come by a veth are charged to their sender. Kernels differ in what they give back when a list is taken
 * apart, so packets of a list have no charge.
 */
static void gro_uncharges(struct kunit *test)
{
	struct sk_buff *first, *second;
	struct socket *sock;

	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &sock), 0);
	first = charged(test, sock);
	second = charged(test, sock);
	KUNIT_EXPECT_GT(test, sk_wmem_alloc_get(sock->sk), 0);
	KUNIT_EXPECT_TRUE(test, gro_append(first, second));
	KUNIT_EXPECT_EQ(test, sk_wmem_alloc_get(sock->sk), 0);
	kfree_skb(first);
	sock_release(sock);
}

static struct kunit_case gro_cases[] = {
	KUNIT_CASE(gro_is_ours),
	KUNIT_CASE(gro_same_way),
	KUNIT_CASE(gro_protected),
	KUNIT_CASE(gro_lengthens),
	KUNIT_CASE(gro_uncharges),
	{}
};

static struct kunit_suite gro_suite = {
	.name = "univ_uroce_gro",
	.test_cases = gro_cases,
};

kunit_test_suite(gro_suite);
