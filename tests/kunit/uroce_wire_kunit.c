// SPDX-License-Identifier: GPL-2.0
/* RoCEv2 headers: their layout, the headers of each opcode, PSN arithmetic, and times. */
#include <kunit/test.h>
#include <linux/string.h>

#include "../../kernel/uroce/net/wire.c"

/* A packet captured from hardware: UC, send only, two bytes of padding. */
static const u8 captured[] = {
	0x24, 0x60, 0xff, 0xff, 0x00, 0x00, 0x00, 0xd3, 0x00, 0xcf, 0x17, 0x10,
};

static void wire_sizes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sizeof(struct uroce_bth), (size_t)12);
	KUNIT_EXPECT_EQ(test, sizeof(struct uroce_deth), (size_t)8);
	KUNIT_EXPECT_EQ(test, sizeof(struct uroce_reth), (size_t)16);
	KUNIT_EXPECT_EQ(test, sizeof(struct uroce_feth), (size_t)4);
	KUNIT_EXPECT_EQ(test, sizeof(struct uroce_atomic_eth), (size_t)28);
	KUNIT_EXPECT_EQ(test, sizeof(struct uroce_aeth), (size_t)4);
	KUNIT_EXPECT_EQ(test, sizeof(struct uroce_atomic_ack), (size_t)8);
}

static void wire_captured(struct kunit *test)
{
	struct uroce_bth bth;

	memcpy(&bth, captured, sizeof(bth));
	KUNIT_EXPECT_EQ(test, (int)bth.opcode, UROCE_UC | UROCE_SEND_ONLY);
	KUNIT_EXPECT_EQ(test, uroce_bth_pad(&bth), 2u);
	KUNIT_EXPECT_EQ(test, uroce_bth_qpn(&bth), 211u);
	KUNIT_EXPECT_EQ(test, uroce_bth_psn(&bth), 13571856u);
	KUNIT_EXPECT_FALSE(test, uroce_bth_ack_req(&bth));
	bth.psn |= cpu_to_be32(UROCE_BTH_ACK_REQ);
	bth.qpn |= cpu_to_be32(UROCE_BTH_RESV8A);
	KUNIT_EXPECT_TRUE(test, uroce_bth_ack_req(&bth));
	KUNIT_EXPECT_EQ(test, uroce_bth_psn(&bth), 13571856u);
	KUNIT_EXPECT_EQ(test, uroce_bth_qpn(&bth), 211u);
}

static void wire_pad(struct kunit *test)
{
	static const u32 pad[] = { 0, 3, 2, 1 };
	u32 len;

	for (len = 0; len < 32; len++)
		KUNIT_EXPECT_EQ(test, uroce_pad(len), pad[len % 4]);
}

static void wire_psn(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, uroce_psn_add(0xffffff, 1), 0u);
	KUNIT_EXPECT_EQ(test, uroce_psn_add(0xfffff0, 0x20), 0x10u);
	KUNIT_EXPECT_EQ(test, uroce_psn_add(0, -1u), 0xffffffu);
	KUNIT_EXPECT_EQ(test, uroce_psn_diff(5, 5), 0);
	KUNIT_EXPECT_EQ(test, uroce_psn_diff(0, 0xffffff), 1);
	KUNIT_EXPECT_EQ(test, uroce_psn_diff(0xffffff, 0), -1);
	KUNIT_EXPECT_EQ(test, uroce_psn_diff(0x7fffff, 0), 0x7fffff);
	/* PSNs half of the number space apart compare as behind, from either side. */
	KUNIT_EXPECT_EQ(test, uroce_psn_diff(0x800000, 0), -0x800000);
	KUNIT_EXPECT_EQ(test, uroce_psn_diff(0, 0x800000), -0x800000);
}

/* Lengths of headers, as in the tables of the specification. */
static const struct {
	u8 opcode;
	u16 length;
} lengths[] = {
	{ UROCE_RC | UROCE_SEND_FIRST, 12 },
	{ UROCE_RC | UROCE_SEND_LAST_IMM, 16 },
	{ UROCE_RC | UROCE_SEND_ONLY, 12 },
	{ UROCE_RC | UROCE_SEND_ONLY_INV, 16 },
	{ UROCE_RC | UROCE_WRITE_FIRST, 28 },
	{ UROCE_RC | UROCE_WRITE_LAST_IMM, 16 },
	{ UROCE_RC | UROCE_WRITE_ONLY_IMM, 32 },
	{ UROCE_RC | UROCE_READ_REQUEST, 28 },
	{ UROCE_RC | UROCE_READ_FIRST, 16 },
	{ UROCE_RC | UROCE_READ_MIDDLE, 12 },
	{ UROCE_RC | UROCE_READ_ONLY, 16 },
	{ UROCE_RC | UROCE_ACKNOWLEDGE, 16 },
	{ UROCE_RC | UROCE_ATOMIC_ACK, 24 },
	{ UROCE_RC | UROCE_COMPARE_SWAP, 40 },
	{ UROCE_RC | UROCE_FETCH_ADD, 40 },
	{ UROCE_RC | UROCE_FLUSH, 32 },
	{ UROCE_RC | UROCE_ATOMIC_WRITE, 28 },
	{ UROCE_UC | UROCE_WRITE_ONLY, 28 },
	{ UROCE_UD | UROCE_SEND_ONLY, 20 },
	{ UROCE_UD | UROCE_SEND_ONLY_IMM, 24 },
	{ UROCE_XRC | UROCE_SEND_ONLY, 16 },
	{ UROCE_XRC | UROCE_FLUSH, 36 },
	{ UROCE_XRC | UROCE_ACKNOWLEDGE, 16 },
	{ UROCE_CNP, 28 },
};

static void wire_lengths(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		KUNIT_EXPECT_EQ_MSG(test, uroce_ops[lengths[i].opcode].length,
				    lengths[i].length, "opcode %#x",
				    lengths[i].opcode);
}

/* Of 256 opcodes, undefined ones have no headers, and the headers of the others are consistent. */
static void wire_all_opcodes(struct kunit *test)
{
	unsigned int i, known = 0;

	for (i = 0; i < 256; i++) {
		const struct uroce_op *op = &uroce_ops[i];
		u32 dir = op->flags & (UROCE_OP_REQUEST | UROCE_OP_RESPONSE);

		if (!op->flags) {
			KUNIT_EXPECT_EQ_MSG(test, (int)op->length, 0, "opcode %#x", i);
			continue;
		}
		known++;
		KUNIT_EXPECT_TRUE_MSG(test, dir == UROCE_OP_REQUEST ||
				      dir == UROCE_OP_RESPONSE, "opcode %#x", i);
		KUNIT_EXPECT_GE_MSG(test, op->length, (u16)12, "opcode %#x", i);
		KUNIT_EXPECT_LE_MSG(test, op->length, (u16)44, "opcode %#x", i);
		KUNIT_EXPECT_EQ_MSG(test, op->length % 4, 0, "opcode %#x", i);
	}
	/* RC, UC, UD, XRC, and the congestion notification packet. */
	KUNIT_EXPECT_EQ(test, known, 25 + 12 + 2 + 25 + 1u);
}

static bool parses(struct sk_buff *skb, u32 len)
{
	struct uroce_packet pkt = { .skb = skb };

	skb_trim(skb, len + UROCE_ICRC_SIZE);
	return uroce_packet_parse(&pkt, 0);
}

/* A flush is a packet only with all of its headers, and without payload. */
static void wire_flush_lengths(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);
	u32 len;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, 64);
	skb->data[0] = UROCE_RC | UROCE_FLUSH;
	KUNIT_EXPECT_FALSE(test, parses(skb, 36));
	KUNIT_EXPECT_TRUE(test, parses(skb, 32));
	for (len = 31; len; len--)
		KUNIT_EXPECT_FALSE_MSG(test, parses(skb, len), "length %u", len);
	kfree_skb(skb);
}

/* The times of the specification, in nanoseconds: the local ACK timeout and the RNR timer. */
static void wire_times(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, uroce_timeout_ns(1), 8192ull);
	KUNIT_EXPECT_EQ(test, uroce_timeout_ns(14), 67108864ull);
	KUNIT_EXPECT_EQ(test, uroce_timeout_ns(20), 4294967296ull);
	KUNIT_EXPECT_EQ(test, uroce_timeout_ns(31), 8796093022208ull);
	KUNIT_EXPECT_EQ(test, uroce_rnr_ns(0), 655360000ull);
	KUNIT_EXPECT_EQ(test, uroce_rnr_ns(1), 10000ull);
	KUNIT_EXPECT_EQ(test, uroce_rnr_ns(2), 20000ull);
	KUNIT_EXPECT_EQ(test, uroce_rnr_ns(31), 491520000ull);
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE(wire_sizes),
	KUNIT_CASE(wire_captured),
	KUNIT_CASE(wire_pad),
	KUNIT_CASE(wire_psn),
	KUNIT_CASE(wire_lengths),
	KUNIT_CASE(wire_all_opcodes),
	KUNIT_CASE(wire_flush_lengths),
	KUNIT_CASE(wire_times),
	{}
};

static struct kunit_suite wire_suite = {
	.name = "univ_uroce_wire",
	.test_cases = wire_cases,
};

kunit_test_suite(wire_suite);
