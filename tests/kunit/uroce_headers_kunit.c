// SPDX-License-Identifier: GPL-2.0
/*
 * The headers of frames, of which the sender chooses each byte: no byte behind the end of a frame
 * is read, it does not matter where the bytes lie, and the number of headers is limited.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/random.h>

#include "../../kernel/uroce/raw/headers.c"

#define ROOM	512

/* A frame under construction. */
struct bytes {
	u8 at[ROOM];
	u32 len;
};

static void add(struct bytes *b, const void *from, u32 len)
{
	if (b->len + len > ROOM)
		return;
	memcpy(b->at + b->len, from, len);
	b->len += len;
}

static void add_be32(struct bytes *b, u32 word)
{
	__be32 be = htonl(word);

	add(b, &be, sizeof(be));
}

static void add_be16(struct bytes *b, u16 word)
{
	__be16 be = htons(word);

	add(b, &be, sizeof(be));
}

static void add_eth(struct bytes *b, u16 type)
{
	static const u8 macs[2 * ETH_ALEN] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2 };

	add(b, macs, sizeof(macs));
	add_be16(b, type);
}

static void add_ipv4(struct bytes *b, u8 proto, u8 ihl)
{
	struct iphdr ip = { .version = 4, .ihl = ihl, .protocol = proto, .ttl = 1 };

	add(b, &ip, sizeof(ip));
	for (; ihl > 5; ihl--)
		add_be32(b, 0x01010101);
}

static void add_ipv6(struct bytes *b, u8 proto)
{
	struct ipv6hdr ip = { .version = 6, .nexthdr = proto };

	add(b, &ip, sizeof(ip));
}

/* @len is in units of 8 bytes behind the first 8; @fragment is the offset and the bits of a fragment header. */
static void add_extension(struct bytes *b, u8 next, u8 len, u16 fragment)
{
	add_be16(b, next << 8 | len);
	add_be16(b, fragment);
	add_be32(b, 0);
	for (; len; len--) {
		add_be32(b, 0);
		add_be32(b, 0);
	}
}

static void add_udp(struct bytes *b, u16 port)
{
	add_be16(b, 4000);
	add_be16(b, port);
	add_be32(b, 0);
}

static void add_vxlan(struct bytes *b)
{
	add_be32(b, VXLAN_HAS_VNI);
	add_be32(b, 0xabcdef00);
}

/* The bytes in the linear part of @skb, and the others in a page; @behind lies behind both. */
static struct sk_buff *skb_of(struct kunit *test, const struct bytes *b, u32 linear, u8 behind)
{
	struct sk_buff *skb = alloc_skb(ROOM + 128, GFP_KERNEL);
	struct page *page;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reset_mac_header(skb);
	memset(skb->data, behind, skb_tailroom(skb));
	skb_put_data(skb, b->at, linear);
	if (linear == b->len)
		return skb;
	page = alloc_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, page);
	memset(page_address(page), behind, PAGE_SIZE);
	memcpy(page_address(page), b->at + linear, b->len - linear);
	skb_add_rx_frag(skb, 0, page, 0, b->len - linear, PAGE_SIZE);
	return skb;
}

static void parse(struct kunit *test, const struct bytes *b, u32 linear, u8 behind,
		  struct uroce_frame *frame)
{
	struct sk_buff *skb = skb_of(test, b, linear, behind);

	KUNIT_ASSERT_TRUE(test, uroce_frame_parse(frame, skb, false));
	frame->skb = NULL;
	kfree_skb(skb);
}

/* Wherever the bytes are, and whatever lies behind them, the headers are the same. */
static void parse_alike(struct kunit *test, const struct bytes *b, struct uroce_frame *frame)
{
	static const u8 behind[] = { 0x45, 0x60, 0xff };
	const u32 linear[] = { b->len, ETH_HLEN, min_t(u32, b->len, 60) };
	struct uroce_frame other;
	int i;

	parse(test, b, b->len, 0, frame);
	for (i = 0; i < ARRAY_SIZE(linear); i++) {
		parse(test, b, linear[i], behind[i], &other);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(frame, &other, sizeof(other)), 0, "%u of %u bytes linear: %*ph",
				    linear[i], b->len, min_t(int, b->len, 64), b->at);
	}
}

static bool one_bit(u32 bits)
{
	return !(bits & (bits - 1));
}

/* Is the result possible at all? */
static bool is_sane(const struct uroce_frame *frame, u32 len)
{
	const u32 l3 = UROCE_HAS_IPV4 | UROCE_HAS_IPV6;
	const u32 l4 = UROCE_HAS_TCP | UROCE_HAS_UDP | UROCE_HAS_ESP;
	u32 has = frame->has, inner = has >> UROCE_INNER & 0xff;

	if (!one_bit(has & l3) || !one_bit(inner & l3) || !one_bit(has & l4) || !one_bit(inner & l4))
		return false;
	if ((has & l4 && !(has & l3)) || (inner & l4 && !(inner & l3)) || (inner && !(has & l3)))
		return false;
	if ((has & UROCE_HAS_UDP && frame->outer.ports_at + 4 > len) ||
	    (inner & UROCE_HAS_UDP && frame->inner.ports_at + 4 > len))
		return false;
	return frame->body + frame->len == len && !frame->sums_ok;
}

/* ---- whole frames, and their beginnings ---- */

static void vxlan_frame(struct bytes *b)
{
	add_eth(b, ETH_P_8021Q);
	add_be16(b, 0x123);
	add_be16(b, ETH_P_IP);
	add_ipv4(b, IPPROTO_UDP, 7);
	add_udp(b, VXLAN_PORT);
	add_vxlan(b);
	add_eth(b, ETH_P_MPLS_UC);
	add_be32(b, 0x11111000);
	add_be32(b, 0x22222100);
	add_ipv6(b, IPPROTO_ESP);
	add_be32(b, 0x1234);
	add_be32(b, 7);
}

static void gre_frame(struct bytes *b)
{
	add_eth(b, ETH_P_MPLS_MC);
	add_be32(b, 0x11111100);
	add_ipv6(b, IPPROTO_GRE);
	add_be16(b, 0xb000);
	add_be16(b, ETH_P_MPLS_UC);
	add_be32(b, 1);
	add_be32(b, 0xcafe);
	add_be32(b, 2);
	add_be32(b, 0x33333100);
	add_ipv4(b, IPPROTO_TCP, 5);
	add_udp(b, 80);
}

/* As the kernel's own tunnels send it, and with more extension headers. */
static void extensions_frame(struct bytes *b)
{
	add_eth(b, ETH_P_IPV6);
	add_ipv6(b, IPPROTO_DSTOPTS);
	add_extension(b, IPPROTO_GRE, 0, 0);
	add_be16(b, 0);
	add_be16(b, ETH_P_IPV6);
	add_ipv6(b, IPPROTO_HOPOPTS);
	add_extension(b, IPPROTO_FRAGMENT, 2, 0);
	add_extension(b, IPPROTO_TCP, 0, 0);
	add_udp(b, 80);
}

/* Each beginning of a frame has a part of its headers. */
static void beginnings(struct kunit *test, void (*make)(struct bytes *b), u32 has)
{
	struct bytes b = {};
	struct uroce_frame frame;
	u32 last = 0, whole;

	make(&b);
	whole = b.len;
	for (b.len = ETH_HLEN; b.len <= whole; b.len++) {
		parse_alike(test, &b, &frame);
		KUNIT_EXPECT_TRUE_MSG(test, is_sane(&frame, b.len), "%u bytes: %#x", b.len, frame.has);
		KUNIT_EXPECT_EQ_MSG(test, last & ~frame.has, 0u, "%u bytes: %#x after %#x", b.len,
				    frame.has, last);
		last = frame.has;
	}
	KUNIT_EXPECT_EQ(test, last, has);
}

static void in_vxlan(struct kunit *test)
{
	beginnings(test, vxlan_frame,
		   UROCE_HAS_ETH | UROCE_HAS_TAG | UROCE_HAS_IPV4 | UROCE_HAS_UDP | UROCE_HAS_VXLAN |
		   (UROCE_HAS_ETH | UROCE_HAS_MPLS | UROCE_HAS_IPV6 | UROCE_HAS_ESP) << UROCE_INNER);
}

static void in_gre(struct kunit *test)
{
	beginnings(test, gre_frame,
		   UROCE_HAS_ETH | UROCE_HAS_MPLS | UROCE_HAS_IPV6 | UROCE_HAS_GRE | UROCE_HAS_GRE_KEY |
		   UROCE_HAS_GRE_MPLS | (UROCE_HAS_IPV4 | UROCE_HAS_TCP) << UROCE_INNER);
}

static void behind_extensions(struct kunit *test)
{
	beginnings(test, extensions_frame,
		   UROCE_HAS_ETH | UROCE_HAS_IPV6 | UROCE_HAS_GRE |
		   (UROCE_HAS_IPV6 | UROCE_HAS_TCP) << UROCE_INNER);
}

static void fields(struct kunit *test)
{
	struct bytes b = {};
	struct uroce_frame frame;

	vxlan_frame(&b);
	parse_alike(test, &b, &frame);
	KUNIT_EXPECT_EQ(test, ntohl(frame.vni), 0xabcdefu);
	KUNIT_EXPECT_EQ(test, ntohs(frame.outer.eth.tci), 0x123);
	KUNIT_EXPECT_EQ(test, ntohs(frame.outer.eth.type), ETH_P_IP);
	KUNIT_EXPECT_EQ(test, ntohl(frame.inner.mpls), 0x11111000u);
	KUNIT_EXPECT_EQ(test, ntohl(frame.inner.esp.spi), 0x1234u);
	b.len = 0;
	gre_frame(&b);
	parse_alike(test, &b, &frame);
	KUNIT_EXPECT_EQ(test, ntohl(frame.gre.key), 0xcafeu);
	KUNIT_EXPECT_EQ(test, ntohl(frame.outer.mpls), 0x11111100u);
	KUNIT_EXPECT_EQ(test, ntohl(frame.gre_mpls), 0x33333100u);
	KUNIT_EXPECT_EQ(test, ntohs(frame.inner.ports.dst), 80);
}

/* ---- too many headers ---- */

static void tags(struct kunit *test)
{
	struct bytes b = {};
	struct uroce_frame frame;
	int i;

	add_eth(&b, ETH_P_8021Q);
	for (i = 0; i < MAX_TAGS; i++) {
		add_be16(&b, i + 1);
		add_be16(&b, i < MAX_TAGS - 1 ? ETH_P_8021AD : ETH_P_IP);
	}
	add_ipv4(&b, IPPROTO_UDP, 5);
	parse_alike(test, &b, &frame);
	KUNIT_EXPECT_EQ(test, frame.has, UROCE_HAS_ETH | UROCE_HAS_TAG | UROCE_HAS_IPV4);
	KUNIT_EXPECT_EQ(test, ntohs(frame.outer.eth.tci), 1);
	KUNIT_EXPECT_EQ(test, ntohs(frame.type), ETH_P_8021AD);
	/* One more tag hides what is behind it. */
	b.len -= sizeof(struct iphdr) + 2;
	add_be16(&b, ETH_P_8021Q);
	add_be16(&b, 9);
	add_be16(&b, ETH_P_IP);
	add_ipv4(&b, IPPROTO_UDP, 5);
	parse_alike(test, &b, &frame);
	KUNIT_EXPECT_EQ(test, frame.has, UROCE_HAS_ETH | UROCE_HAS_TAG);
}

static void labels(struct kunit *test)
{
	struct bytes b = {};
	struct uroce_frame frame;
	int i;

	add_eth(&b, ETH_P_MPLS_UC);
	for (i = 0; i < MAX_LABELS - 1; i++)
		add_be32(&b, 0x44444000);
	add_be32(&b, 0x44444100);
	add_ipv4(&b, IPPROTO_UDP, 5);
	parse_alike(test, &b, &frame);
	KUNIT_EXPECT_EQ(test, frame.has, UROCE_HAS_ETH | UROCE_HAS_MPLS | UROCE_HAS_IPV4);
	b.at[ETH_HLEN + 4 * MAX_LABELS - 2] = 0;
	parse_alike(test, &b, &frame);
	KUNIT_EXPECT_EQ(test, frame.has, UROCE_HAS_ETH | UROCE_HAS_MPLS);
}

/* Extension headers of IPv6 in front of UDP. */
struct extensions {
	u8 types[MAX_EXTENSIONS + 1];
	u8 count;
	u8 len;
	u16 fragment;
	bool skipped;
};

static void extensions_check(struct kunit *test, const struct extensions *e)
{
	u32 has = UROCE_HAS_ETH | UROCE_HAS_IPV6 | (e->skipped ? UROCE_HAS_UDP : 0), i;
	struct bytes b = {};
	struct uroce_frame frame;

	add_eth(&b, ETH_P_IPV6);
	add_ipv6(&b, e->types[0]);
	for (i = 1; i <= e->count; i++)
		add_extension(&b, i < e->count ? e->types[i] : IPPROTO_UDP, e->len, e->fragment);
	add_udp(&b, 53);
	parse_alike(test, &b, &frame);
	KUNIT_EXPECT_EQ_MSG(test, frame.has, has, "%u headers, the first of type %u", e->count, e->types[0]);
	KUNIT_EXPECT_EQ(test, frame.outer.ip.v6.next_hdr, e->types[0]);
	KUNIT_EXPECT_EQ(test, ntohs(frame.outer.ports.dst), e->skipped ? 53 : 0);
}

static void extensions(struct kunit *test)
{
	static const struct extensions all[] = {
		{ { IPPROTO_DSTOPTS }, 1, 0, 0, true },
		{ { IPPROTO_HOPOPTS }, 1, 3, 0, true },
		{ { IPPROTO_FRAGMENT }, 1, 0, 0, true },
		{ { IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_FRAGMENT, IPPROTO_DSTOPTS }, 4, 0, 0, true },
		/* Too many of them, a later fragment, and the first one. */
		{ { IPPROTO_HOPOPTS, IPPROTO_DSTOPTS, IPPROTO_DSTOPTS, IPPROTO_DSTOPTS, IPPROTO_DSTOPTS }, 5 },
		{ { IPPROTO_FRAGMENT }, 1, 0, 8 },
		{ { IPPROTO_FRAGMENT }, 1, 0, IP6_MF },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		extensions_check(test, &all[i]);
}

/* The checksum of UDP is verified: are those of the frame known to be right? */
static void expect_sums(struct kunit *test, const struct bytes *b, int row, bool ok)
{
	struct sk_buff *skb = skb_of(test, b, b->len, 0);
	struct uroce_frame frame;

	KUNIT_EXPECT_TRUE(test, uroce_frame_parse(&frame, skb, true));
	KUNIT_EXPECT_TRUE(test, frame.has & UROCE_HAS_UDP);
	KUNIT_EXPECT_EQ_MSG(test, frame.sums_ok, ok, "row %d", row);
	kfree_skb(skb);
}

/* The checksum that a network card has verified may be another one. */
static void verified(struct kunit *test)
{
	struct bytes b;
	int i;

	for (i = 0; i < 2; i++) {
		b.len = 0;
		add_eth(&b, ETH_P_IPV6);
		add_ipv6(&b, i ? IPPROTO_ROUTING : IPPROTO_UDP);
		if (i)
			add_extension(&b, IPPROTO_UDP, 0, 0);
		add_udp(&b, 53);
		expect_sums(test, &b, i, !i);
	}
}

/* The checksum of IPv4 counts as well. A fragment and a packet behind labels have none that is verified. */
static void verified_ipv4(struct kunit *test)
{
	static const struct {
		u16 fragment;
		u16 wrong;		/* bits of the checksum */
		bool labelled;
		bool ok;
	} all[] = {
		{ .ok = true }, { .fragment = IP_DF, .ok = true }, { .wrong = 1 }, { .wrong = 0x8000 },
		{ .fragment = IP_MF }, { .labelled = true },
	};
	struct iphdr ip;
	struct bytes b;
	int i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		b.len = 0;
		add_eth(&b, all[i].labelled ? ETH_P_MPLS_UC : ETH_P_IP);
		if (all[i].labelled)
			add_be32(&b, 0x11111100);
		ip = (struct iphdr){ .version = 4, .ihl = 5, .protocol = IPPROTO_UDP,
				     .ttl = 1, .frag_off = htons(all[i].fragment) };
		ip.check = (__force __sum16)((__force u16)ip_fast_csum(&ip, 5) ^ all[i].wrong);
		add(&b, &ip, sizeof(ip));
		add_udp(&b, 53);
		expect_sums(test, &b, i, all[i].ok);
	}
}

/* ---- random frames ---- */

static u32 any(struct rnd_state *rnd, u32 below)
{
	return prandom_u32_state(rnd) % below;
}

static u16 any_type(struct rnd_state *rnd)
{
	static const u16 types[] = {
		ETH_P_IP, ETH_P_IPV6, ETH_P_8021Q, ETH_P_8021AD, ETH_P_MPLS_UC, ETH_P_MPLS_MC, ETH_P_TEB,
	};

	return any(rnd, 20) ? types[any(rnd, ARRAY_SIZE(types))] : prandom_u32_state(rnd);
}

static u8 any_proto(struct rnd_state *rnd)
{
	static const u8 protos[] = {
		IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP, IPPROTO_ESP, IPPROTO_GRE, IPPROTO_GRE,
		IPPROTO_IPIP, IPPROTO_IPV6, IPPROTO_MPLS,
	};

	return any(rnd, 20) ? protos[any(rnd, ARRAY_SIZE(protos))] : prandom_u32_state(rnd);
}

static void add_type(struct bytes *b, struct rnd_state *rnd, u16 type, int depth);

/* GRE with any of its words. */
static void add_gre(struct bytes *b, struct rnd_state *rnd, int depth)
{
	u32 flags = any(rnd, 16), bit;
	u16 type = any_type(rnd);

	add_be16(b, flags << 12 | (any(rnd, 8) ? 0 : any(rnd, 8)));
	add_be16(b, type);
	for (bit = 0; bit < 4; bit++)
		if (flags & ~4 & BIT(bit))
			add_be32(b, prandom_u32_state(rnd));
	add_type(b, rnd, type, depth - 1);
}

static void add_proto(struct bytes *b, struct rnd_state *rnd, u8 proto, int depth)
{
	static const u16 ports[] = { VXLAN_PORT, MPLS_PORT, 53 };
	u16 port = ports[any(rnd, ARRAY_SIZE(ports))];

	switch (proto) {
	case IPPROTO_UDP:
		add_udp(b, port);
		if (port == VXLAN_PORT)
			add_vxlan(b);
		add_type(b, rnd, port == VXLAN_PORT ? ETH_P_TEB : ETH_P_MPLS_UC, depth - 1);
		break;
	case IPPROTO_GRE:
		add_gre(b, rnd, depth);
		break;
	case IPPROTO_IPIP:
		add_type(b, rnd, ETH_P_IP, depth - 1);
		break;
	case IPPROTO_IPV6:
		add_type(b, rnd, ETH_P_IPV6, depth - 1);
		break;
	case IPPROTO_MPLS:
		add_type(b, rnd, ETH_P_MPLS_UC, depth - 1);
		break;
	default:
		add_udp(b, 80);
	}
}

static void add_ip(struct bytes *b, struct rnd_state *rnd, bool v6, int depth)
{
	static const u8 types[] = { IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_FRAGMENT, IPPROTO_DSTOPTS };
	u8 proto = any_proto(rnd);

	if (v6 && !any(rnd, 3)) {
		add_ipv6(b, types[any(rnd, ARRAY_SIZE(types))]);
		add_extension(b, proto, 0, 0);
	} else if (v6) {
		add_ipv6(b, proto);
	} else {
		add_ipv4(b, proto, any(rnd, 4) ? 5 : any(rnd, 16));
	}
	add_proto(b, rnd, proto, depth);
}

static void add_type(struct bytes *b, struct rnd_state *rnd, u16 type, int depth)
{
	u16 next = any_type(rnd);

	if (!depth)
		return;
	switch (type) {
	case ETH_P_IP:
	case ETH_P_IPV6:
		add_ip(b, rnd, type == ETH_P_IPV6, depth);
		break;
	case ETH_P_8021Q:
	case ETH_P_8021AD:
		add_be16(b, any(rnd, 0x10000));
		add_be16(b, next);
		add_type(b, rnd, next, depth - 1);
		break;
	case ETH_P_MPLS_UC:
	case ETH_P_MPLS_MC:
		next = any(rnd, 3) ? (any(rnd, 2) ? ETH_P_IP : ETH_P_IPV6) : type;
		add_be32(b, (prandom_u32_state(rnd) & ~MPLS_LS_S_MASK) | (next == type ? 0 : MPLS_LS_S_MASK));
		add_type(b, rnd, next, depth - 1);
		break;
	case ETH_P_TEB:
		add_eth(b, next);
		add_type(b, rnd, next, depth - 1);
		break;
	}
}

/* Headers that follow each other, some bytes of which are other ones, or the beginning of them. */
static void make_any(struct bytes *b, struct rnd_state *rnd)
{
	u32 i;

	b->len = 0;
	add_type(b, rnd, ETH_P_TEB, 10);
	for (i = any(rnd, 8); i > 4; i--)
		b->at[any(rnd, b->len)] ^= 1 << any(rnd, 8);
	if (!any(rnd, 3))
		b->len = ETH_HLEN + any(rnd, b->len - ETH_HLEN + 1);
}

static void random_frames(struct kunit *test)
{
	struct uroce_frame frame;
	struct rnd_state rnd;
	struct bytes b = {};
	u32 tunnels = 0, i;
	u64 seed = get_random_u64();

	/* An assertion ends the case at once, so the seed is told first. */
	kunit_info(test, "seed %#llx", seed);
	prandom_seed_state(&rnd, seed);
	for (i = 0; i < 5000 && !test->status; i++) {
		make_any(&b, &rnd);
		parse_alike(test, &b, &frame);
		KUNIT_EXPECT_TRUE_MSG(test, is_sane(&frame, b.len), "frame %u of seed %#llx: %*ph", i, seed,
				      min_t(int, b.len, 64), b.at);
		tunnels += !!(frame.has >> UROCE_INNER);
		if (!(i % 1000))
			cond_resched();
	}
	/* The frames reach the checks behind tunnels. */
	KUNIT_EXPECT_GT(test, tunnels, 500u);
}

static struct kunit_case headers_cases[] = {
	KUNIT_CASE(in_vxlan),
	KUNIT_CASE(in_gre),
	KUNIT_CASE(behind_extensions),
	KUNIT_CASE(fields),
	KUNIT_CASE(tags),
	KUNIT_CASE(labels),
	KUNIT_CASE(extensions),
	KUNIT_CASE(verified),
	KUNIT_CASE(verified_ipv4),
	KUNIT_CASE(random_frames),
	{}
};

static struct kunit_suite headers_suite = {
	.name = "univ_uroce_headers",
	.test_cases = headers_cases,
};

kunit_test_suite(headers_suite);
