// SPDX-License-Identifier: GPL-2.0
/* GRO puts packets together only if they are for this host. */
#include <kunit/test.h>
#include <linux/ip.h>
#include <linux/skbuff.h>
#include <linux/udp.h>

/* The suite of runs defines the same names. */
#define uroce_gro_start	gro_kunit_start
#define uroce_gro_stop	gro_kunit_stop
#define uroce_gro_init	gro_kunit_init
#define uroce_gro_exit	gro_kunit_exit
#define uroce_net_ops	gro_kunit_ops

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

/*
 * Pass a packet as the kernel does to the owner of the UDP port. Return whether it may
 * join a list.
 */
static bool gathered(struct kunit *test, __be32 daddr, const u8 *mac)
{
	struct sk_buff *skb = alloc_skb(256, GFP_KERNEL);
	LIST_HEAD(none);
	struct iphdr *ip;
	bool flush;

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

static struct sk_buff *charged(struct kunit *test, struct socket *sock)
{
	struct sk_buff *skb = alloc_skb(256, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, PAYLOAD);
	memset(NAPI_GRO_CB(skb), 0, sizeof(*NAPI_GRO_CB(skb)));
	NAPI_GRO_CB(skb)->last = skb;
	NAPI_GRO_CB(skb)->count = 1;
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
	KUNIT_CASE(gro_uncharges),
	{}
};

static struct kunit_suite gro_suite = {
	.name = "univ_uroce_gro",
	.test_cases = gro_cases,
};

kunit_test_suite(gro_suite);
