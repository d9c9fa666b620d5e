// SPDX-License-Identifier: GPL-2.0
/* The invariant CRC against packets that hardware sent, and what it must not see. */
#include <kunit/test.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/udp.h>

#include "../../kernel/uroce/icrc.c"

/* From the IP header to the CRC */

/* A congestion notification of a ConnectX-4 */
static const u8 cnp[] __aligned(4) = {
	0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61,
	0x0a, 0x00, 0x11, 0x01, 0x0a, 0x00, 0x12, 0x01,
	0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
	0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x82, 0xfd, 0x00, 0x2a,
};

/* A UC send of a ConnectX-3 */
static const u8 uc_send[] __aligned(4) = {
	0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11, 0xb4, 0xd5,
	0xc0, 0xa8, 0x00, 0x07, 0xc0, 0xa8, 0x00, 0x07,
	0xc0, 0x00, 0x12, 0xb7, 0x00, 0x2c, 0xac, 0xa2,
	0x24, 0x60, 0xff, 0xff, 0x00, 0x00, 0x00, 0xd3, 0x00, 0xcf, 0x17, 0x10,
	0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9, 0x0e, 0x9a, 0x95, 0x50,
	0x54, 0x01, 0xbe, 0x88, 0x5e, 0x50, 0x00, 0x00,
	0x78, 0xf3, 0x53, 0xf3,
};

#define PACKET_MAX 128

static u32 crc_of(const u8 *packet, size_t len)
{
	const struct iphdr *ip = (const void *)packet;
	const struct udphdr *udp = (const void *)(ip + 1);
	const struct uroce_bth *bth = (const void *)(udp + 1);
	u32 crc = uroce_icrc_ipv4(ip, udp, bth);
	const u8 *rest = (const u8 *)(bth + 1);

	crc = uroce_icrc_add(crc, rest, packet + len - UROCE_ICRC_SIZE - rest);
	return (__force u32)uroce_icrc_end(crc);
}

static u32 crc_told(const u8 *packet, size_t len)
{
	u32 told;

	memcpy(&told, packet + len - UROCE_ICRC_SIZE, sizeof(told));
	return told;
}

static void icrc_published(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, crc_of(cnp, sizeof(cnp)), crc_told(cnp, sizeof(cnp)));
	KUNIT_EXPECT_EQ(test, crc_of(uc_send, sizeof(uc_send)),
			crc_told(uc_send, sizeof(uc_send)));
}

/* Bytes that a router may rewrite: class, TTL, both checksums, congestion bits */
static bool variant(size_t at)
{
	return at == 1 || at == 8 || at == 10 || at == 11 || at == 26 ||
	       at == 27 || at == 32;
}

static void icrc_each_bit(struct kunit *test)
{
	u8 *packet = kunit_kmalloc(test, sizeof(uc_send), GFP_KERNEL);
	size_t at;
	int bit;

	KUNIT_ASSERT_NOT_NULL(test, packet);
	memcpy(packet, uc_send, sizeof(uc_send));
	for (at = 0; at < sizeof(uc_send); at++) {
		for (bit = 0; bit < 8; bit++) {
			packet[at] ^= 1 << bit;
			KUNIT_EXPECT_EQ_MSG(test, variant(at),
					    crc_of(packet, sizeof(uc_send)) ==
					    crc_told(packet, sizeof(uc_send)),
					    "byte %zu bit %d", at, bit);
			packet[at] ^= 1 << bit;
		}
	}
}

/* Version, addresses, next header, length count; class, flow label, hops do not */
static void icrc_ipv6(struct kunit *test)
{
	struct ipv6hdr ip = { .version = 6, .nexthdr = IPPROTO_UDP, .hop_limit = 64 };
	struct udphdr udp = { .dest = htons(UROCE_UDP_PORT) };
	struct uroce_bth bth = { .opcode = UROCE_CNP };
	u32 crc = uroce_icrc_ipv6(&ip, &udp, &bth);

	ip.priority = 5;
	ip.flow_lbl[0] = 0x12;
	ip.flow_lbl[2] = 0x34;
	ip.hop_limit = 3;
	udp.check = htons(0x1234);
	KUNIT_EXPECT_EQ(test, uroce_icrc_ipv6(&ip, &udp, &bth), crc);
	ip.payload_len = htons(4);
	KUNIT_EXPECT_NE(test, uroce_icrc_ipv6(&ip, &udp, &bth), crc);
	ip.payload_len = 0;
	ip.daddr.s6_addr[15] = 1;
	KUNIT_EXPECT_NE(test, uroce_icrc_ipv6(&ip, &udp, &bth), crc);
}

/* However the bytes lie in an skb, and whichever implementation adds them up */
static void icrc_skb(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL);
	struct sk_buff *skb = alloc_skb(PACKET_MAX, GFP_KERNEL);
	u8 *bytes, *flat = kunit_kmalloc(test, 3000, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, page && skb && flat);
	for (i = 0; i < 3000; i++)
		flat[i] = i * 7;
	bytes = page_address(page);
	memcpy(skb_put(skb, 100), flat, 100);
	memcpy(bytes + 5, flat + 100, 2900);
	skb_add_rx_frag(skb, 0, page, 5, 2900, PAGE_SIZE);
	for (i = 0; i < 3000; i += 99)
		KUNIT_EXPECT_EQ(test, uroce_icrc_add_skb(0, skb, i, 3000 - i),
				uroce_icrc_add(0, flat + i, 3000 - i));
	/* Not a byte behind the end, where a packet has its own CRC */
	for (i = 101; i < 3000; i += 99)
		KUNIT_EXPECT_EQ(test, uroce_icrc_add_skb(0, skb, 7, i - 7),
				uroce_icrc_add(0, flat + 7, i - 7));
	KUNIT_EXPECT_EQ(test, uroce_icrc_add_skb(1, skb, 10, 50),
			uroce_icrc_add(1, flat + 10, 50));
	kfree_skb(skb);
}

static int icrc_suite_init(struct kunit_suite *suite)
{
	return uroce_icrc_init();
}

static void icrc_suite_exit(struct kunit_suite *suite)
{
	uroce_icrc_exit();
}

static struct kunit_case icrc_cases[] = {
	KUNIT_CASE(icrc_published),
	KUNIT_CASE(icrc_each_bit),
	KUNIT_CASE(icrc_ipv6),
	KUNIT_CASE(icrc_skb),
	{}
};

static struct kunit_suite icrc_suite = {
	.name = "univ_uroce_icrc",
	.suite_init = icrc_suite_init,
	.suite_exit = icrc_suite_exit,
	.test_cases = icrc_cases,
};

kunit_test_suite(icrc_suite);
