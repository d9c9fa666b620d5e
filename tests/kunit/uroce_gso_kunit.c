// SPDX-License-Identifier: GPL-2.0
/* GSO packets: how the kernel cuts one, and how a peer on the same host receives it. */
#include <linux/bitfield.h>
#include <linux/string.h>
#include <net/ip.h>
#include <rdma/ib_umem.h>

#include "../../kernel/uroce/mem/mem.h"
#include "compat.h"
#include "frags.h"
#include "uroce_stack.h"

#define GSO_LEN ((PACKETS - 1) * PAYLOAD + LAST_PAYLOAD)

/* The payload of a packet: the last one of a message is shorter. */
static u32 length(u32 i, u8 opcode)
{
	bool last = i == PACKETS - 1 && uroce_ops[opcode].flags & UROCE_OP_LAST;

	return last ? LAST_PAYLOAD : PAYLOAD;
}

/* Send a GSO packet for PACKETS packets. Return the skb that was sent to the stack, to be freed. */
static struct sk_buff *send_gso(struct kunit *test, struct uroce_flow *flow, u8 opcode, u32 bits)
{
	struct sk_buff *skb = headers(opcode, bits, 0, true);
	struct uroce_run run = {};
	void *to;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	((struct uroce_bth *)skb->data)->flags = UROCE_BTH_SE | UROCE_BTH_MIG;
	for (i = 0; i < PACKETS; i++) {
		IN_BOTTOM_HALF(to = uroce_net_more(skb, length(i, opcode)));
		KUNIT_ASSERT_NOT_NULL(test, to);
		memset(to, i, length(i, opcode));
	}
	KUNIT_ASSERT_TRUE(test, uroce_net_end_pages(skb));
	uroce_gso_mark(skb, skb->len - uroce_ops[opcode].length, PAYLOAD);
	/*
	 * The packets before and behind it do not join it, even if all of them together fit the MTU, and the one before it
	 * is longer.
	 */
	seen.mtu = U16_MAX;
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), flow, &run, packet(100, 2 * GSO_LEN)), 0);
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), flow, &run, skb), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 1u);
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), flow, &run, packet(101, 64)), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 2u);
	skb = take_sent();
	KUNIT_EXPECT_EQ(test, uroce_run_send(card(), &run), 0);
	KUNIT_EXPECT_EQ(test, seen.sends, 3u);
	kfree_skb(take_sent());
	KUNIT_ASSERT_NOT_NULL(test, skb);
	return skb;
}

static struct sk_buff *sent_gso(struct kunit *test, bool ipv6, u8 opcode)
{
	struct uroce_flow flow;

	flow_init(&flow, ipv6);
	return send_gso(test, &flow, opcode, 0);
}

static void gso_whole(struct kunit *test, bool ipv6)
{
	struct sk_buff *skb = sent_gso(test, ipv6, UROCE_RC | UROCE_WRITE_ONLY);

	KUNIT_EXPECT_EQ(test, arrive(skb, ipv6), (unsigned int)NF_STOLEN);
	KUNIT_EXPECT_EQ(test, seen.received, 1u);
	KUNIT_EXPECT_EQ(test, seen.got[0].len, (u32)GSO_LEN);
}

static void gso_whole_ipv4(struct kunit *test)
{
	gso_whole(test, false);
}

static void gso_whole_ipv6(struct kunit *test)
{
	gso_whole(test, true);
}

/* A receiver that does not take it whole gets the packets, whose checksums are right. */
static void gso_refused(struct kunit *test, bool ipv6)
{
	seen.single = true;
	arrive(sent_gso(test, ipv6, UROCE_RC | UROCE_SEND_ONLY), ipv6);
	expect_all(test);
}

static void gso_refused_ipv4(struct kunit *test)
{
	gso_refused(test, false);
}

static void gso_refused_ipv6(struct kunit *test)
{
	gso_refused(test, true);
}

/* The packet with these headers and payload, sent alone. */
static struct sk_buff *alone(struct kunit *test, u32 i, u8 opcode)
{
	u32 len = length(i, opcode);
	struct sk_buff *skb = headers(opcode, i, len, false);
	struct uroce_flow flow;
	struct uroce_bth *bth;

	if (!skb)
		return NULL;
	bth = (void *)skb->data;
	bth->flags = i < PACKETS - 1 ? UROCE_BTH_MIG : UROCE_BTH_MIG | UROCE_BTH_SE;
	if (i == PACKETS - 1)
		bth->psn |= cpu_to_be32(UROCE_BTH_ACK_REQ);
	memset(skb_put(skb, len), i, len);
	flow_init(&flow, true);
	KUNIT_EXPECT_EQ(test, uroce_net_xmit(card(), &flow, skb), 0);
	return take_sent();
}

/*
 * The packet equals the one that is sent alone, except for its extended headers, and so for the checksum. Those are the
 * first ones of the GSO packet, or its last ones.
 */
static void gso_expect_piece(struct kunit *test, struct sk_buff *seg, u32 i, u8 opcode, u8 whole)
{
	u32 at = sizeof(struct ipv6hdr) + sizeof(struct udphdr) + sizeof(struct uroce_bth);
	u32 payload = at + uroce_ops[opcode].length - sizeof(struct uroce_bth);
	struct sk_buff *skb = alone(test, i, opcode);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	__skb_pull(seg, ETH_HLEN);
	KUNIT_ASSERT_EQ(test, seg->len, skb->len);
	KUNIT_ASSERT_EQ(test, skb_linearize(seg), 0);
	KUNIT_EXPECT_EQ(test, memcmp(seg->data, skb->data, at), 0);
	KUNIT_EXPECT_EQ(test, memcmp(seg->data + payload, skb->data + payload,
				     skb->len - payload - UROCE_ICRC_SIZE), 0);
	if (payload > at)
		KUNIT_EXPECT_TRUE(test, seg->data[payload - 1] == 1 ||
				  seg->data[at] == uroce_ops[whole].length - sizeof(struct uroce_bth));
	kfree_skb(skb);
}

struct cut {
	u8 whole;
	u8 first;
	u8 middle;
	u8 last;
};

static const struct cut cuts[] = {
	{ UROCE_RC | UROCE_WRITE_ONLY, UROCE_RC | UROCE_WRITE_FIRST,
	  UROCE_RC | UROCE_WRITE_MIDDLE, UROCE_RC | UROCE_WRITE_LAST },
	{ UROCE_RC | UROCE_WRITE_ONLY_IMM, UROCE_RC | UROCE_WRITE_FIRST,
	  UROCE_RC | UROCE_WRITE_MIDDLE, UROCE_RC | UROCE_WRITE_LAST_IMM },
	{ UROCE_RC | UROCE_WRITE_FIRST, UROCE_RC | UROCE_WRITE_FIRST,
	  UROCE_RC | UROCE_WRITE_MIDDLE, UROCE_RC | UROCE_WRITE_MIDDLE },
	{ UROCE_RC | UROCE_WRITE_LAST_IMM, UROCE_RC | UROCE_WRITE_MIDDLE,
	  UROCE_RC | UROCE_WRITE_MIDDLE, UROCE_RC | UROCE_WRITE_LAST_IMM },
	{ UROCE_RC | UROCE_SEND_MIDDLE, UROCE_RC | UROCE_SEND_MIDDLE,
	  UROCE_RC | UROCE_SEND_MIDDLE, UROCE_RC | UROCE_SEND_MIDDLE },
	{ UROCE_RC | UROCE_SEND_ONLY_INV, UROCE_RC | UROCE_SEND_FIRST,
	  UROCE_RC | UROCE_SEND_MIDDLE, UROCE_RC | UROCE_SEND_LAST_INV },
	{ UROCE_RC | UROCE_SEND_LAST_IMM, UROCE_RC | UROCE_SEND_MIDDLE,
	  UROCE_RC | UROCE_SEND_MIDDLE, UROCE_RC | UROCE_SEND_LAST_IMM },
	{ UROCE_XRC | UROCE_WRITE_ONLY_IMM, UROCE_XRC | UROCE_WRITE_FIRST,
	  UROCE_XRC | UROCE_WRITE_MIDDLE, UROCE_XRC | UROCE_WRITE_LAST_IMM },
	{ UROCE_RC | UROCE_READ_ONLY, UROCE_RC | UROCE_READ_FIRST,
	  UROCE_RC | UROCE_READ_MIDDLE, UROCE_RC | UROCE_READ_LAST },
	{ UROCE_XRC | UROCE_READ_LAST, UROCE_XRC | UROCE_READ_MIDDLE,
	  UROCE_XRC | UROCE_READ_MIDDLE, UROCE_XRC | UROCE_READ_LAST },
};

/* Cut by the kernel, each packet equals one that was sent alone: opcode, PSN, flags, lengths, payload. */
static void gso_cut(struct kunit *test)
{
	struct sk_buff *segs, *seg, *next;
	const struct cut *cut;
	struct uroce_flow flow;
	u32 i;

	for (cut = cuts; cut < cuts + ARRAY_SIZE(cuts); cut++) {
		seen.sends = 0;
		flow_init(&flow, true);
		segs = cut_up(test, send_gso(test, &flow, cut->whole, UROCE_BTH_ACK_REQ));
		KUNIT_ASSERT_NOT_NULL(test, segs);
		KUNIT_EXPECT_NULL(test, segs->prev->next);
		i = 0;
		skb_list_walk_safe(segs, seg, next) {
			skb_mark_not_on_list(seg);
			gso_expect_piece(test, seg, i, !i ? cut->first : next ? cut->middle : cut->last,
					 cut->whole);
			kfree_skb(seg);
			i++;
		}
		KUNIT_EXPECT_EQ(test, i, (u32)PACKETS);
	}
}

/* The IDs of IPv4 count, lengths and checksums are right, and so the packets arrive. */
static void expect_pieces(struct kunit *test, netdev_features_t features)
{
	struct sk_buff *segs = cut_up_for(test, sent_gso(test, false, UROCE_RC | UROCE_WRITE_LAST),
					  features);
	struct sk_buff *seg, *next;
	u32 i = 0;

	skb_list_walk_safe(segs, seg, next) {
		skb_mark_not_on_list(seg);
		__skb_pull(seg, ETH_HLEN);
		KUNIT_EXPECT_EQ(test, ntohs(ip_hdr(seg)->id), i);
		KUNIT_EXPECT_EQ(test, ip_fast_csum(ip_hdr(seg), 5), (__sum16)0);
		KUNIT_EXPECT_EQ(test, skb_is_nonlinear(seg), !!(features & NETIF_F_SG));
		arrive(seg, false);
		i++;
	}
	expect_all(test);
}

static void gso_cut_ipv4(struct kunit *test)
{
	expect_pieces(test, NETIF_F_SG);
}

/* A device without scatter-gather would send what lies behind the headers. */
static void gso_cut_linear(struct kunit *test)
{
	expect_pieces(test, 0);
}

/* Send a GSO packet alone, whose payload is complete. Return the skb that was sent to the stack. */
static struct sk_buff *send_one(struct kunit *test, struct sk_buff *skb, u32 payload)
{
	struct uroce_flow flow;
	struct uroce_run run = {};

	uroce_gso_mark(skb, payload, PAYLOAD);
	flow_init(&flow, true);
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), &flow, &run, skb), 0);
	KUNIT_EXPECT_EQ(test, uroce_run_send(card(), &run), 0);
	skb = take_sent();
	KUNIT_ASSERT_NOT_NULL(test, skb);
	return skb;
}

/* A GSO packet for two packets, of which the last one has @pad bytes of padding. */
static struct sk_buff *padded(struct kunit *test, u32 pad)
{
	struct sk_buff *skb = headers(UROCE_RC | UROCE_WRITE_ONLY, 0, 0, true);
	u32 len = PAYLOAD + LAST_PAYLOAD - pad;
	void *to;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	((struct uroce_bth *)skb->data)->flags = FIELD_PREP(UROCE_BTH_PAD_MASK, pad);
	IN_BOTTOM_HALF(to = uroce_net_more(skb, len));
	KUNIT_ASSERT_NOT_NULL(test, to);
	memset(to, 0x11, len);
	KUNIT_ASSERT_TRUE(test, uroce_net_end_pages(skb));
	memset(uroce_net_put(skb, pad), 0, pad);
	return send_one(test, skb, len);
}

static void expect_padding(struct kunit *test, u32 pad, netdev_features_t features)
{
	struct sk_buff *skb = padded(test, pad), *segs, *last;
	u8 bytes[4];

	local_bh_disable();
	frags_fill(0xee);
	segs = cut_up_for(test, skb, features);
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, segs);
	last = segs->next;
	KUNIT_ASSERT_NOT_NULL(test, last);
	KUNIT_EXPECT_EQ(test, skb_copy_bits(last, last->len - UROCE_ICRC_SIZE - pad, bytes, pad), 0);
	KUNIT_EXPECT_NULL_MSG(test, memchr_inv(bytes, 0, pad), "%u bytes of padding", pad);
	kfree_skb_list(segs);
}

/* The padding of a packet that was cut shows no bytes that were in its memory before. */
static void gso_padding(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 12; i++) {
		expect_padding(test, 1 + i % 3, NETIF_F_SG);
		expect_padding(test, 1 + i % 3, 0);
	}
}

/*
 * Pages of a process lie in a GSO packet, and in the packets that are cut from it. The process may
 * write to them, so each of these packets tells the kernel that its pages are shared.
 */
static void gso_shared_pages(struct kunit *test)
{
	struct sk_buff *skb = headers(UROCE_RC | UROCE_WRITE_ONLY, 0, 0, true), *segs, *seg, *next;
	struct uroce_mr *mr = kunit_kzalloc(test, sizeof(*mr), GFP_KERNEL);
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct uroce_seg piece = { .mr = mr, .len = 3 * PAYLOAD };
	struct uroce_vec vec = { .seg = &piece, .count = 1, .len = piece.len };
	struct ib_umem umem = {};
	void *at;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_NOT_NULL(test, mr);
	KUNIT_ASSERT_NOT_NULL(test, page);
	at = page_address(page);
	mr->umem = &umem;
	mr->pages = &at;
	KUNIT_ASSERT_TRUE(test, uroce_vec_attach(&vec, 0, vec.len, skb));
	KUNIT_ASSERT_TRUE(test, uroce_net_end_pages(skb));
	skb = send_one(test, skb, vec.len);
	KUNIT_EXPECT_TRUE(test, skb_has_shared_frag(skb));
	segs = cut_up(test, skb);
	KUNIT_ASSERT_NOT_NULL(test, segs);
	skb_list_walk_safe(segs, seg, next) {
		KUNIT_EXPECT_PTR_EQ(test, skb_frag_page(&skb_shinfo(seg)->frags[0]), page);
		KUNIT_EXPECT_TRUE(test, skb_has_shared_frag(seg));
	}
	kfree_skb_list(segs);
	__free_page(page);
}

/* The kernel compares the length of the packets with the MTU before it cuts. */
static void gso_fits(struct kunit *test)
{
	struct sk_buff *skb = sent_gso(test, false, UROCE_RC | UROCE_WRITE_ONLY);
	u32 longest = sizeof(struct iphdr) + sizeof(struct udphdr) +
		      uroce_ops[UROCE_RC | UROCE_WRITE_FIRST].length + PAYLOAD + UROCE_ICRC_SIZE;

	KUNIT_EXPECT_TRUE(test, skb_gso_validate_network_len(skb, longest));
	KUNIT_EXPECT_FALSE(test, skb_gso_validate_network_len(skb, longest - 1));
	kfree_skb(skb);
}

/* A packet whose headers do not fit its length, or that is of another type, is dropped. */
static void gso_hostile(struct kunit *test)
{
	struct sk_buff *skb = sent_gso(test, false, UROCE_RC | UROCE_WRITE_ONLY);

	/* Packets of four bytes */
	skb_shinfo(skb)->gso_size = 4 + sizeof(struct udphdr) + UROCE_ICRC_SIZE;
	seen.single = true;
	arrive(skb, false);
	KUNIT_EXPECT_EQ(test, seen.received, 0u);

	seen.sends = 0;
	skb = sent_gso(test, false, UROCE_RC | UROCE_WRITE_ONLY);
	skb_shinfo(skb)->gso_type |= SKB_GSO_DODGY;
	arrive(skb, false);
	KUNIT_EXPECT_EQ(test, seen.received, 0u);

	seen.sends = 0;
	skb = sent_gso(test, false, UROCE_RC | UROCE_READ_REQUEST);
	arrive(skb, false);
	KUNIT_EXPECT_EQ(test, seen.received, 0u);

	/* Another program has changed the opcode into one that has no packets of these kinds. */
	seen.sends = 0;
	skb = sent_gso(test, false, UROCE_RC | UROCE_SEND_ONLY);
	*(skb_transport_header(skb) + sizeof(struct udphdr)) = UROCE_UD | UROCE_SEND_ONLY;
	arrive(skb, false);
	KUNIT_EXPECT_EQ(test, seen.received, 0u);
	seen.sends = 0;
	skb = sent_gso(test, false, UROCE_RC | UROCE_SEND_ONLY);
	*(skb_transport_header(skb) + sizeof(struct udphdr)) = UROCE_RC | UROCE_ATOMIC_WRITE;
	arrive(skb, false);
	KUNIT_EXPECT_EQ(test, seen.received, 0u);
}

/*
 * A program on the way has cleared the number of bytes of padding, so they count as payload. The last packet then has as
 * many fragments as a packet may have, and none is left for its own padding and checksum.
 */
static void gso_many_pieces(struct kunit *test)
{
	struct sk_buff *skb = headers(UROCE_RC | UROCE_WRITE_ONLY, 0, 0, true);
	struct uroce_flow flow;
	struct uroce_run run = {};
	void *to;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	for (i = 0; i < MAX_SKB_FRAGS - 1; i++) {
		IN_BOTTOM_HALF(to = uroce_net_more(skb, i ? 10 : PAYLOAD + 6));
		KUNIT_ASSERT_NOT_NULL(test, to);
	}
	KUNIT_ASSERT_TRUE(test, uroce_net_end_pages(skb));
	/* These bytes were the padding. */
	uroce_net_put(skb, 4 - (MAX_SKB_FRAGS * 10 - 14) % 4);
	uroce_gso_mark(skb, skb->len - uroce_ops[UROCE_RC | UROCE_WRITE_ONLY].length, PAYLOAD);
	flow_init(&flow, false);
	seen.mtu = U16_MAX;
	KUNIT_EXPECT_EQ(test, uroce_run_add(card(), &flow, &run, skb), 0);
	KUNIT_EXPECT_EQ(test, uroce_run_send(card(), &run), 0);
	seen.single = true;
	arrive(take_sent(), false);
	KUNIT_EXPECT_EQ(test, seen.received, 0u);
}

/* UDP and tc mark a packet as one without a checksum. The kernel warns of such a packet once it is cut, but not of this. */
static void gso_unchecked(struct kunit *test)
{
	struct sk_buff *skb = sent_gso(test, false, UROCE_RC | UROCE_SEND_ONLY), *segs;

	memset(skb_push(skb, ETH_HLEN), 0, ETH_HLEN);
	((struct ethhdr *)skb->data)->h_proto = skb->protocol;
	skb_reset_mac_header(skb);
	skb->ip_summed = CHECKSUM_NONE;
	segs = __skb_gso_segment(skb, NETIF_F_SG, false);
	KUNIT_EXPECT_EQ(test, (int)skb->ip_summed, CHECKSUM_UNNECESSARY);
	kfree_skb(skb);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(segs));
	kfree_skb_list(segs);
}

/*
 * A virtual machine wants a packet to be cut into IP fragments. It may want 64 k of them. The kernel would compute the
 * checksum of UDP first.
 */
static void gso_fragments(struct kunit *test)
{
	struct uroce_flow flow;
	struct sk_buff *skb;

	flow_init(&flow, false);
	KUNIT_ASSERT_EQ(test, uroce_net_xmit(card(), &flow, packet(0, 4 * PAYLOAD)), 0);
	skb = skb_get(take_sent());
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP;
	skb_shinfo(skb)->gso_size = PAYLOAD;
	skb_shinfo(skb)->gso_segs = 4;
	arrive(skb, false);
	KUNIT_EXPECT_EQ(test, seen.received, 0u);
	KUNIT_EXPECT_EQ(test, udp_hdr(skb)->check, (__sum16)0);
	kfree_skb(skb);
}

static struct kunit_case gso_cases[] = {
	KUNIT_CASE(gso_whole_ipv4),
	KUNIT_CASE(gso_whole_ipv6),
	KUNIT_CASE(gso_refused_ipv4),
	KUNIT_CASE(gso_refused_ipv6),
	KUNIT_CASE(gso_cut),
	KUNIT_CASE(gso_cut_ipv4),
	KUNIT_CASE(gso_cut_linear),
	KUNIT_CASE(gso_padding),
	KUNIT_CASE(gso_shared_pages),
	KUNIT_CASE(gso_fits),
	KUNIT_CASE(gso_hostile),
	KUNIT_CASE(gso_fragments),
	KUNIT_CASE(gso_many_pieces),
	KUNIT_CASE(gso_unchecked),
	{}
};

static struct kunit_suite gso_suite = {
	.name = "univ_uroce_gso",
	.init = stack_init,
	.exit = stack_exit,
	.test_cases = gso_cases,
};

kunit_test_suite(gso_suite);
