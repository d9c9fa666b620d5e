// SPDX-License-Identifier: GPL-2.0
/*
 * Runs of packets: how the kernel segments a run for a device without support, how a
 * peer on the same host receives it, and super-packets that uroce did not make.
 */
#include <linux/string.h>
#include <net/ip.h>

#include "uroce_stack.h"

/*
 * Send a run of full packets and a short one. Return the skb that was sent to the
 * stack, or NULL.
 */
static struct sk_buff *send_run(struct kunit *test, struct uroce_flow *flow)
{
	struct uroce_run run = {};
	u32 i;

	for (i = 0; i < PACKETS; i++)
		KUNIT_EXPECT_EQ(test, uroce_run_add(card(), flow, &run,
			packet(i, i < PACKETS - 1 ? PAYLOAD : LAST_PAYLOAD)), 0);
	KUNIT_EXPECT_NULL(test, seen.sent);
	KUNIT_EXPECT_EQ(test, uroce_run_send(card(), &run), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 1u);
	return seen.sent;
}

/* ---- Tests -------------------------------------------------------------------- */

/* A segment equals a packet that is sent alone in every bit, except for the IPv4 identification. */
static void same_as_alone(struct kunit *test, struct sk_buff *seg, u32 psn, u32 len,
			  bool ipv6)
{
	struct uroce_flow flow;
	struct sk_buff *alone;

	flow_init(&flow, ipv6);
	KUNIT_EXPECT_EQ(test, uroce_net_xmit(card(), &flow, packet(psn, len)), 0);
	alone = take_sent();
	KUNIT_ASSERT_NOT_NULL(test, alone);
	__skb_pull(seg, ETH_HLEN);
	KUNIT_ASSERT_EQ(test, seg->len, alone->len);
	KUNIT_EXPECT_EQ(test, skb_linearize(seg), 0);
	if (ipv6) {
		KUNIT_EXPECT_EQ(test, memcmp(seg->data, alone->data, seg->len), 0);
	} else {
		struct iphdr *ip = (void *)seg->data;

		KUNIT_EXPECT_EQ(test, ntohs(ip->id), psn);
		KUNIT_EXPECT_EQ(test, ip_fast_csum(ip, 5), (__sum16)0);
		/* Ignore the identification, and with it both checksums. */
		ip->id = 0;
		ip_send_check(ip);
		KUNIT_EXPECT_EQ(test, memcmp(seg->data, alone->data,
					     seg->len - UROCE_ICRC_SIZE), 0);
	}
	kfree_skb(alone);
}

static void run_in_pieces(struct kunit *test, bool ipv6)
{
	struct sk_buff *segs, *seg, *next, *copy;
	struct uroce_flow flow;
	u32 i = 0;

	flow_init(&flow, ipv6);
	KUNIT_ASSERT_NOT_NULL(test, send_run(test, &flow));
	segs = cut_up(test, take_sent());
	skb_list_walk_safe(segs, seg, next) {
		skb_mark_not_on_list(seg);
		copy = skb_copy(seg, GFP_KERNEL);
		__skb_pull(copy, ETH_HLEN);
		skb_reset_network_header(copy);
		arrive(copy, ipv6);
		same_as_alone(test, seg, i, i < PACKETS - 1 ? PAYLOAD : LAST_PAYLOAD, ipv6);
		kfree_skb(seg);
		i++;
	}
	KUNIT_EXPECT_EQ(test, i, (u32)PACKETS);
	/* Each packet's checksum is right. */
	expect_all(test);
}

static void run_pieces_ipv4(struct kunit *test)
{
	run_in_pieces(test, false);
}

static void run_pieces_ipv6(struct kunit *test)
{
	run_in_pieces(test, true);
}

static void run_whole(struct kunit *test, bool ipv6)
{
	struct uroce_flow flow;

	flow_init(&flow, ipv6);
	KUNIT_ASSERT_NOT_NULL(test, send_run(test, &flow));
	KUNIT_EXPECT_EQ(test, arrive(take_sent(), ipv6), (unsigned int)NF_STOLEN);
	expect_all(test);
}

static void run_whole_ipv4(struct kunit *test)
{
	run_whole(test, false);
}

static void run_whole_ipv6(struct kunit *test)
{
	run_whole(test, true);
}

/* A packet socket has a clone: both get the complete run, and neither modifies the other's. */
static void run_watched(struct kunit *test)
{
	struct uroce_flow flow;
	struct sk_buff *watcher;

	flow_init(&flow, false);
	KUNIT_ASSERT_NOT_NULL(test, send_run(test, &flow));
	watcher = skb_clone(seen.sent, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, watcher);
	arrive(take_sent(), false);
	expect_all(test);
	seen.received = 0;
	arrive(watcher, false);
	expect_all(test);
}

/* Packets that were copied out of the list before they got checksums count as damaged. */
static void run_copied(struct kunit *test)
{
	struct sk_buff *segs, *seg, *next;
	struct uroce_flow flow;

	flow_init(&flow, false);
	KUNIT_ASSERT_NOT_NULL(test, send_run(test, &flow));
	KUNIT_ASSERT_EQ(test, skb_linearize(seen.sent), 0);
	segs = cut_up(test, take_sent());
	skb_list_walk_safe(segs, seg, next) {
		skb_mark_not_on_list(seg);
		__skb_pull(seg, ETH_HLEN);
		arrive(seg, false);
	}
	/* The first packet always has a checksum. */
	KUNIT_EXPECT_LE(test, seen.received, 1u);
	KUNIT_EXPECT_GE(test, seen.damaged, PACKETS - 1u);
}

/*
 * Other code has truncated a packet of the list. It gets no checksum, which would overwrite its
 * payload: that may lie in memory of a process.
 */
static void run_truncated(struct kunit *test)
{
	struct uroce_flow flow;
	struct sk_buff *seg, *watcher;
	u8 last[UROCE_ICRC_SIZE];

	flow_init(&flow, false);
	KUNIT_ASSERT_NOT_NULL(test, send_run(test, &flow));
	seg = skb_shinfo(seen.sent)->frag_list;
	KUNIT_ASSERT_EQ(test, pskb_trim(seg, seg->len - 2 * UROCE_ICRC_SIZE), 0);
	watcher = skb_clone(seg, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, watcher);
	kfree_skb(take_sent());
	KUNIT_EXPECT_EQ(test, skb_copy_bits(watcher, watcher->len - UROCE_ICRC_SIZE, last,
					    UROCE_ICRC_SIZE), 0);
	/* The payload of the second packet. */
	KUNIT_EXPECT_NULL(test, memchr_inv(last, 1, sizeof(last)));
	kfree_skb(watcher);
}

/* Damage is detected after the kernel has segmented the run. */
static void run_damaged(struct kunit *test)
{
	struct sk_buff *segs, *seg, *next;
	struct uroce_flow flow;

	flow_init(&flow, false);
	KUNIT_ASSERT_NOT_NULL(test, send_run(test, &flow));
	segs = cut_up(test, take_sent());
	skb_list_walk_safe(segs, seg, next) {
		skb_mark_not_on_list(seg);
		__skb_pull(seg, ETH_HLEN);
		seg->data[seg->len / 2] ^= 1;
		arrive(seg, false);
	}
	KUNIT_EXPECT_EQ(test, seen.received, 0u);
	KUNIT_EXPECT_EQ(test, seen.damaged, (u32)PACKETS);
}

/* Packets that are longer than the MTU of the route, and packets after a loss, are sent alone. */
static void run_alone(struct kunit *test)
{
	struct uroce_run run = {};
	struct uroce_flow flow;

	flow_init(&flow, false);
	seen.mtu = PAYLOAD;
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), &flow, &run, packet(0, PAYLOAD)), 0);
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), &flow, &run, packet(1, PAYLOAD)), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 1u);
	KUNIT_EXPECT_EQ(test, uroce_run_send(card(), &run), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 2u);
	seen.mtu = 4200;
	flow.wary = true;
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), &flow, &run, packet(2, PAYLOAD)), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 3u);
	KUNIT_EXPECT_FALSE(test, skb_is_gso(seen.sent));
}

/* A run ends at the limits of a super-packet. */
static void run_full(struct kunit *test)
{
	struct uroce_run run = {};
	struct uroce_flow flow;
	u32 i;

	flow_init(&flow, false);
	for (i = 0; i < 65; i++)
		KUNIT_EXPECT_EQ(test, uroce_run_add(card(), &flow, &run, packet(i, 64)), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 1u);
	KUNIT_EXPECT_EQ(test, (u32)skb_shinfo(seen.sent)->gso_segs, 64u);
	/* A router would take the size from a small first packet. */
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, uroce_run_add(card(), &flow, &run, packet(i, 4096)), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 3u);
	KUNIT_EXPECT_GT(test, seen.sent->len, 60000u);
	KUNIT_EXPECT_LE(test, seen.sent->len, 65535u);
	KUNIT_EXPECT_EQ(test, uroce_run_send(card(), &run), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 4u);
}

/* A packet that is longer than the first joins the run if the route's MTU admits it. */
static void run_longer(struct kunit *test)
{
	struct uroce_run run = {};
	struct uroce_flow flow;

	flow_init(&flow, false);
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), &flow, &run, packet(0, 64)), 0);
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), &flow, &run, packet(1, 1024)), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 0u);
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), &flow, &run, packet(2, 2048)), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 1u);
	KUNIT_EXPECT_EQ(test, (u32)skb_shinfo(seen.sent)->gso_segs, 2u);
	KUNIT_EXPECT_EQ(test, uroce_run_send(card(), &run), 0);
}

/* Each packet has headroom for the headers of a tunnel: Geneve with all options, over IPv6. */
static void run_room(struct kunit *test)
{
	struct uroce_flow flow;
	struct sk_buff *seg;

	flow_init(&flow, true);
	KUNIT_ASSERT_NOT_NULL(test, send_run(test, &flow));
	skb_walk_frags(seen.sent, seg)
		KUNIT_EXPECT_GE(test, (long)(skb_network_header(seg) - seg->head),
				(long)(14 + 40 + 8 + 8 + 252 + 14));
}

static struct sk_buff *sent_run(struct kunit *test)
{
	struct uroce_flow flow;

	flow_init(&flow, false);
	KUNIT_ASSERT_NOT_NULL(test, send_run(test, &flow));
	return take_sent();
}

/*
 * The net devices on top of the card, such as a VLAN, see only the first packet of a list. All of
 * them came by the same one, which decides between equal addresses.
 */
static void run_by_another_device(struct kunit *test)
{
	struct sk_buff *skb = sent_run(test);
	u32 i;

	skb->skb_iif = 77;
	arrive(skb, false);
	expect_all(test);
	for (i = 0; i < PACKETS; i++)
		KUNIT_EXPECT_EQ(test, seen.got[i].iif, 77);
}

/* None of the packets in lists with inconsistent headers is accepted without a check. */
static void run_hostile(struct kunit *test)
{
	struct sk_buff *skb, *seg;

	/* Another source address in the middle. */
	skb = sent_run(test);
	seg = skb_shinfo(skb)->frag_list;
	((struct iphdr *)skb_network_header(seg))->saddr ^= htonl(7);
	arrive(skb, false);
	KUNIT_EXPECT_EQ(test, seen.received, PACKETS - 1u);

	/* A wrong length, and another port. */
	memset(&seen, 0, offsetof(typeof(seen), mtu));
	seen.received = 0;
	skb = sent_run(test);
	seg = skb_shinfo(skb)->frag_list;
	((struct udphdr *)skb_transport_header(seg))->len = htons(60000);
	((struct udphdr *)skb_transport_header(seg->next))->dest = htons(53);
	arrive(skb, false);
	KUNIT_EXPECT_EQ(test, seen.received, PACKETS - 2u);

	/* Headers at other offsets. */
	seen.sends = 0;
	seen.received = 0;
	skb = sent_run(test);
	seg = skb_shinfo(skb)->frag_list;
	seg->network_header -= 4;
	arrive(skb, false);
	KUNIT_EXPECT_EQ(test, seen.received, PACKETS - 1u);
}

/* One payload to be segmented at equal lengths, which no device of uroce sends. */
static void run_foreign(struct kunit *test)
{
	struct sk_buff *skb = sent_run(test);

	KUNIT_ASSERT_EQ(test, skb_linearize(skb), 0);
	__skb_push(skb, ETH_HLEN);
	memset(skb->data, 0, ETH_HLEN);
	((struct ethhdr *)skb->data)->h_proto = skb->protocol;
	skb_reset_mac_header(skb);
	__skb_pull(skb, ETH_HLEN);
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	arrive(skb, false);
	/* The packets are segmented and checked one by one; only the first has a right checksum. */
	KUNIT_EXPECT_LE(test, seen.received, 1u);
	KUNIT_EXPECT_GE(test, seen.damaged, PACKETS - 1u);
}

static struct kunit_case run_cases[] = {
	KUNIT_CASE(run_pieces_ipv4),
	KUNIT_CASE(run_pieces_ipv6),
	KUNIT_CASE(run_whole_ipv4),
	KUNIT_CASE(run_whole_ipv6),
	KUNIT_CASE(run_watched),
	KUNIT_CASE(run_copied),
	KUNIT_CASE(run_damaged),
	KUNIT_CASE(run_truncated),
	KUNIT_CASE(run_alone),
	KUNIT_CASE(run_full),
	KUNIT_CASE(run_longer),
	KUNIT_CASE(run_room),
	KUNIT_CASE(run_by_another_device),
	KUNIT_CASE(run_hostile),
	KUNIT_CASE(run_foreign),
	{}
};

static struct kunit_suite run_suite = {
	.name = "univ_uroce_run",
	.init = stack_init,
	.exit = stack_exit,
	.test_cases = run_cases,
};

kunit_test_suite(run_suite);
