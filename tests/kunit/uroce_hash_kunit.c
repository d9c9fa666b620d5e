// SPDX-License-Identifier: GPL-2.0
/*
 * The hash that spreads frames over work queues: the values that Microsoft published for
 * receive side scaling, and the fields that count.
 */
#include <kunit/test.h>
#include <linux/inet.h>

#include "../../kernel/uroce/raw/hash.c"

#define IPV4	(UNIV_RX_HASH_SRC_IPV4 | UNIV_RX_HASH_DST_IPV4)
#define IPV6	(UNIV_RX_HASH_SRC_IPV6 | UNIV_RX_HASH_DST_IPV6)
#define TCP	(UNIV_RX_HASH_SRC_PORT_TCP | UNIV_RX_HASH_DST_PORT_TCP)
#define UDP	(UNIV_RX_HASH_SRC_PORT_UDP | UNIV_RX_HASH_DST_PORT_UDP)

static struct uroce_rss rss = {
	.key = {
		0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2,
		0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
		0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4,
		0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
		0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
	},
};

static const struct vector {
	const char *src;
	const char *dst;
	u16 sport;
	u16 dport;
	u32 addresses;
	u32 all;
} vectors[] = {
	{ "66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178 },
	{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea },
	{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
	{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f },
	{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2 },
	{ "3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d },
	{ "3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf },
	{ "3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024,
	  0x4b61e985, 0x02d1feef },
};

static struct uroce_frame frame_of(struct kunit *test, const struct vector *v, u8 l4)
{
	struct uroce_frame frame = {
		.has = (strchr(v->src, ':') ? UROCE_HAS_IPV6 : UROCE_HAS_IPV4) |
		       (l4 == IPPROTO_TCP ? UROCE_HAS_TCP :
			l4 == IPPROTO_UDP ? UROCE_HAS_UDP : 0),
		.outer.ports = { .src = htons(v->sport), .dst = htons(v->dport) },
	};
	const char *end;
	bool ok;

	if (frame.has & UROCE_HAS_IPV4)
		ok = in4_pton(v->src, -1, (u8 *)&frame.outer.ip.v4.src, -1, &end) &&
		     in4_pton(v->dst, -1, (u8 *)&frame.outer.ip.v4.dst, -1, &end);
	else
		ok = in6_pton(v->src, -1, (u8 *)&frame.outer.ip.v6.src, -1, &end) &&
		     in6_pton(v->dst, -1, (u8 *)&frame.outer.ip.v6.dst, -1, &end);
	KUNIT_ASSERT_TRUE(test, ok);
	return frame;
}

static u32 hash(const struct uroce_frame *frame, u64 fields)
{
	rss.fields = fields;
	return uroce_frame_hash(&rss, frame);
}

static void published(struct kunit *test)
{
	struct uroce_frame tcp, udp, other;
	const struct vector *v;

	for (v = vectors; v < vectors + ARRAY_SIZE(vectors); v++) {
		tcp = frame_of(test, v, IPPROTO_TCP);
		udp = frame_of(test, v, IPPROTO_UDP);
		other = frame_of(test, v, 0);
		KUNIT_EXPECT_EQ(test, hash(&tcp, IPV4 | IPV6 | TCP), v->all);
		KUNIT_EXPECT_EQ(test, hash(&udp, IPV4 | IPV6 | UDP), v->all);
		KUNIT_EXPECT_EQ(test, hash(&tcp, IPV4 | IPV6), v->addresses);
		KUNIT_EXPECT_EQ(test, hash(&tcp, IPV4 | IPV6 | UDP), v->addresses);
		KUNIT_EXPECT_EQ(test, hash(&udp, IPV4 | IPV6 | TCP), v->addresses);
		KUNIT_EXPECT_EQ(test, hash(&other, IPV4 | IPV6 | TCP | UDP), v->addresses);
	}
}

/* A field that was not chosen does not count, and the others move up. */
static void one_field(struct kunit *test)
{
	struct uroce_frame a = frame_of(test, &vectors[0], IPPROTO_TCP), b = a;

	b.outer.ip.v4.src ^= htonl(1);
	b.outer.ports.src ^= htons(1);
	KUNIT_EXPECT_EQ(test, hash(&a, UNIV_RX_HASH_DST_IPV4), hash(&b, UNIV_RX_HASH_DST_IPV4));
	KUNIT_EXPECT_NE(test, hash(&a, UNIV_RX_HASH_SRC_IPV4), hash(&b, UNIV_RX_HASH_SRC_IPV4));
	KUNIT_EXPECT_EQ(test, hash(&a, UNIV_RX_HASH_DST_PORT_TCP),
			hash(&b, UNIV_RX_HASH_DST_PORT_TCP));
	KUNIT_EXPECT_NE(test, hash(&a, UNIV_RX_HASH_SRC_PORT_TCP),
			hash(&b, UNIV_RX_HASH_SRC_PORT_TCP));
	b.outer.ip.v4.src = b.outer.ip.v4.dst;
	KUNIT_EXPECT_EQ(test, hash(&a, UNIV_RX_HASH_DST_IPV4), hash(&b, UNIV_RX_HASH_SRC_IPV4));
}

static void no_field(struct kunit *test)
{
	struct uroce_frame v4 = frame_of(test, &vectors[0], IPPROTO_TCP);
	struct uroce_frame v6 = frame_of(test, &vectors[5], IPPROTO_UDP);
	struct uroce_frame arp = {};

	KUNIT_EXPECT_EQ(test, hash(&v4, 0), 0u);
	KUNIT_EXPECT_EQ(test, hash(&v4, IPV6 | UDP), 0u);
	KUNIT_EXPECT_EQ(test, hash(&v6, IPV4 | TCP), 0u);
	KUNIT_EXPECT_EQ(test, hash(&arp, IPV4 | IPV6 | TCP | UDP), 0u);
}

/* The first fragment goes where the others go, which have no ports. */
static void fragments(struct kunit *test)
{
	struct uroce_frame first = frame_of(test, &vectors[0], IPPROTO_UDP);
	struct uroce_frame last = frame_of(test, &vectors[0], 0);

	first.outer.ip.v4.flags = UROCE_FRAME_MF;
	KUNIT_EXPECT_EQ(test, hash(&first, IPV4 | UDP), vectors[0].addresses);
	KUNIT_EXPECT_EQ(test, hash(&last, IPV4 | UDP), vectors[0].addresses);
}

static struct kunit_case hash_cases[] = {
	KUNIT_CASE(published),
	KUNIT_CASE(one_field),
	KUNIT_CASE(no_field),
	KUNIT_CASE(fragments),
	{}
};

static struct kunit_suite hash_suite = {
	.name = "univ_uroce_hash",
	.test_cases = hash_cases,
};

kunit_test_suite(hash_suite);
