// SPDX-License-Identifier: GPL-2.0
/* Which packets are put together: those for this host alone. */
#include <kunit/test.h>
#include <linux/ip.h>
#include <linux/skbuff.h>
#include <linux/udp.h>

/* The suite of runs has these */
#define uroce_gro_start	gro_kunit_start
#define uroce_gro_stop	gro_kunit_stop
#define uroce_gro_init	gro_kunit_init
#define uroce_gro_exit	gro_kunit_exit
#define uroce_net_device gro_kunit_device
#define uroce_net_has_mac gro_kunit_has_mac

#include "../../kernel/uroce/gro.c"

#define OURS	htonl(0x0a4d0001)
#define THEIRS	htonl(0x0a4d0002)
#define PAYLOAD	64

static const u8 port_mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 1 };
static const u8 bridge_mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 2 };
static const u8 guest_mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 3 };

/* Our device lies on a bridge; this is a port of it */
static struct net_device port = { .type = ARPHRD_ETHER, .dev_addr = port_mac };

struct uroce_dev *gro_kunit_device(struct net *net, const struct in6_addr *dst)
{
	return dst->s6_addr32[3] == OURS ? (void *)&port : NULL;
}

bool gro_kunit_has_mac(const struct uroce_dev *dev, const u8 *mac)
{
	return ether_addr_equal(mac, bridge_mac);
}

/* As the kernel gives it to whoever has the UDP port. Returns whether it may become part of a list. */
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
 * A bridge may pass a frame on that is for a guest behind it, with an address inside
 * that this host has as well: it has to leave as it came.
 */
static void gro_is_ours(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, gathered(test, OURS, port_mac));
	KUNIT_EXPECT_TRUE(test, gathered(test, OURS, bridge_mac));
	KUNIT_EXPECT_FALSE(test, gathered(test, THEIRS, port_mac));
	KUNIT_EXPECT_FALSE(test, gathered(test, OURS, guest_mac));
}

static struct kunit_case gro_cases[] = {
	KUNIT_CASE(gro_is_ours),
	{}
};

static struct kunit_suite gro_suite = {
	.name = "univ_uroce_gro",
	.test_cases = gro_cases,
};

kunit_test_suite(gro_suite);
