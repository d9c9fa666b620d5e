// SPDX-License-Identifier: GPL-2.0
/* See uroce_stack.h. */
#include <linux/string.h>
#include <net/dst.h>

#include "../../kernel/uroce/net/net.c"
#include "uroce_stack.h"

struct seen seen;

/* ---- Stubs -------------------------------------------------------------------- */

static struct in6_addr our_address;

static struct uroce_dev *device(struct net *net, const struct in6_addr *dst)
{
	return ipv6_addr_equal(dst, &our_address) ? (void *)&seen : NULL;
}

static struct uroce_dev *listens(struct net_device *netdev, struct uroce_dev *last)
{
	return NULL;
}

static bool received(struct uroce_dev *dev, const struct uroce_packet *pkt)
{
	struct got *got;
	u8 byte;
	u32 i;

	if (seen.single && pkt->packets > 1)
		return false;
	got = &seen.got[seen.received++ % GOT_MAX];
	*got = (struct got){ .psn = pkt->psn, .len = pkt->len, .alike = true, .iif = pkt->skb->skb_iif };
	skb_copy_bits(pkt->skb, pkt->payload, &got->first, 1);
	for (i = 0; i < pkt->len; i++) {
		skb_copy_bits(pkt->skb, pkt->payload + i, &byte, 1);
		got->alike &= byte == got->first;
	}
	return true;
}

static void damaged(struct uroce_dev *dev)
{
	seen.damaged++;
}

static const struct uroce_net_ops ops = {
	.device = device,
	.next_listener = listens,
	.receive = received,
	.damaged = damaged,
};

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

/* ---- A route that ends here --------------------------------------------------- */

static int catch(struct net *net, struct sock *sk, struct sk_buff *skb)
{
	kfree_skb(seen.sent);
	seen.sent = skb;
	seen.sends++;
	return 0;
}

static unsigned int way_mtu(const struct dst_entry *dst)
{
	return seen.mtu;
}

static struct dst_ops way_ops = { .family = AF_INET, .mtu = way_mtu };
static struct dst_entry way;

struct net_device *card(void)
{
	return init_net.loopback_dev;
}

static void way_init(void)
{
	memset(&way, 0, sizeof(way));
	way.ops = &way_ops;
	way.dev = card();
	way.output = catch;
	/* The test's reference is never the last. */
#ifdef UNIV_HAS_DST_RCUREF
	rcuref_init(&way.__rcuref, 1000);
#else
	atomic_set(&way.__refcnt, 1000);
#endif
}

void flow_init(struct uroce_flow *flow, bool ipv6)
{
	*flow = (struct uroce_flow){ .sport = htons(0xc123), .route = &way };
	if (ipv6) {
		flow->src.s6_addr32[0] = htonl(0xfd000000);
		flow->dst = flow->src;
	} else {
		ipv6_addr_set_v4mapped(htonl(0x0a000000), &flow->src);
		flow->dst = flow->src;
	}
	flow->src.s6_addr[15] = 1;
	flow->dst.s6_addr[15] = 2;
	our_address = flow->dst;
}

struct sk_buff *headers(u8 opcode, u32 psn, u32 len, bool pages)
{
	u32 headers = uroce_ops[opcode].length, i;
	struct uroce_bth *bth;
	struct sk_buff *skb;

	IN_BOTTOM_HALF(skb = uroce_net_alloc(headers + len, pages));
	if (!skb)
		return NULL;
	bth = skb_put_zero(skb, sizeof(*bth));
	bth->opcode = opcode;
	bth->psn = cpu_to_be32(psn);
	for (i = sizeof(*bth); i < headers; i++)
		*(u8 *)skb_put(skb, 1) = headers - i;
	return skb;
}

struct sk_buff *packet(u32 psn, u32 len)
{
	struct sk_buff *skb = headers(UROCE_RC | UROCE_WRITE_MIDDLE, psn, len, false);

	if (skb)
		memset(skb_put(skb, len), psn, len);
	return skb;
}

struct sk_buff *take_sent(void)
{
	struct sk_buff *skb = seen.sent;

	seen.sent = NULL;
	return skb;
}

unsigned int arrive(struct sk_buff *skb, bool ipv6)
{
	struct nf_hook_state state = { .net = &init_net, .in = card() };
	unsigned int verdict;

	skb_dst_drop(skb);
	if (!skb_mac_header_was_set(skb)) {
		memset(skb_push(skb, ETH_HLEN), 0, ETH_HLEN);
		((struct ethhdr *)skb->data)->h_proto = skb->protocol;
		skb_reset_mac_header(skb);
		__skb_pull(skb, ETH_HLEN);
	}
	rcu_read_lock();
	local_bh_disable();
	verdict = ipv6 ? hook_ipv6(NULL, skb, &state) : hook_ipv4(NULL, skb, &state);
	local_bh_enable();
	rcu_read_unlock();
	if (verdict == NF_ACCEPT)
		kfree_skb(skb);
	return verdict;
}

void expect_all(struct kunit *test)
{
	u32 i, len;

	KUNIT_EXPECT_EQ(test, seen.damaged, 0u);
	KUNIT_ASSERT_EQ(test, seen.received, (u32)PACKETS);
	for (i = 0; i < PACKETS; i++) {
		len = i < PACKETS - 1 ? PAYLOAD : LAST_PAYLOAD;
		KUNIT_EXPECT_EQ(test, seen.got[i].psn, i);
		KUNIT_EXPECT_EQ(test, seen.got[i].len, len);
		KUNIT_EXPECT_EQ(test, (u32)seen.got[i].first, i);
		KUNIT_EXPECT_TRUE(test, seen.got[i].alike);
	}
}

struct sk_buff *cut_up_for(struct kunit *test, struct sk_buff *skb, netdev_features_t features)
{
	struct sk_buff *segs;
	struct ethhdr *eth = skb_push(skb, ETH_HLEN);

	memset(eth, 0, sizeof(*eth));
	eth->h_proto = skb->protocol;
	skb_reset_mac_header(skb);
	segs = skb_gso_segment(skb, features);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, segs);
	if (IS_ERR_OR_NULL(segs))
		return NULL;
	consume_skb(skb);
	return segs;
}

struct sk_buff *cut_up(struct kunit *test, struct sk_buff *skb)
{
	return cut_up_for(test, skb, NETIF_F_SG);
}

int stack_init(struct kunit *test)
{
	memset(&seen, 0, sizeof(seen));
	seen.mtu = 4200;
	way_init();
	return uroce_net_init(&ops);
}

void stack_exit(struct kunit *test)
{
	kfree_skb(take_sent());
	/* This returns when no skb of uroce is left in the stack. */
	uroce_net_exit();
}
