// SPDX-License-Identifier: GPL-2.0
/*
 * adv21. A peer that repeats single packets sends forged answers about gaps, see packets.h, and
 * messages behind gaps.
 */
#include "endpoint.h"

__attribute__((format(printf, 1, 2)))
static void shell(const char *fmt, ...)
{
	char command[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	NEED(!system(command), "%s failed", command);
}

static void ask_send(void)
{
	struct ibv_sge sge = { (uintptr_t)inbox(), 8, env.inbox->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	CHECK_ERR(ibv_post_send(env.qp, &wr, &bad), 0);
}

/* A NAK with bits of the packets that are held: @first, and @len bytes of @rest. */
static void name_held(uint64_t first, uint8_t rest, uint32_t len)
{
	struct packet p;

	packet_begin(&p, ACKNOWLEDGE, PSN, 0);
	p.byte[8] = 0x40;
	put32(p.byte + 12, 0x60000001);
	put64(p.byte + 16, first);
	p.len += 12;
	packet_fill(&p, len, rest);
	packet_send(&p);
}

static void acknowledge(uint32_t psn)
{
	struct packet p;

	packet_begin(&p, ACKNOWLEDGE, psn, 0);
	put32(p.byte + 12, 0x1f000001);
	p.len += 4;
	packet_send(&p);
}

static uint64_t repeated_packets(void)
{
	return hw_counter(dev_wanted(), "selective_repeat");
}

/*
 * The peer asks for packets again and again, and claims to hold some that were never sent. It
 * gets a limited number of packets, and nothing completes.
 */
static void forged_gaps(void)
{
	uint64_t before = repeated_packets(), repeated;
	struct ibv_wc wc;

	restart();
	for (int i = 0; i < 4; i++)
		ask_send();
	for (int n = 0; n < 300; n++) {
		name_held(random_next() % 16, 0, 24);
		name_held(random_next(), random_next(), 24);
		name_held(1, 0, 4 * (random_next() % 10));
	}
	CHECK(wait_wc(env.cq, &wc, 50) == 0, "a completion, %s", ibv_wc_status_str(wc.status));
	repeated = repeated_packets() - before;
	CHECK(repeated && repeated <= 40, "%llu packets were repeated",
	      (unsigned long long)repeated);
	acknowledge(PSN + 3);
	for (int i = 0; i < 4; i++)
		WANT_WC(env.cq, &wc, IBV_WC_SUCCESS);
	restart();
}

/* A message that is number @ahead behind the first one, of this partition and from this address. */
static void message_by(int32_t ahead, uint16_t pkey, const char *from)
{
	struct packet p;

	packet_begin(&p, SEND_ONLY_IMM, PSN + ahead, 8);
	p.byte[2] = pkey >> 8;
	p.byte[3] = pkey;
	p.byte[8] |= 0x40;
	put32(p.byte + 12, ahead);
	p.len += 4;
	packet_fill(&p, 8, ahead);
	packet_send_from(&p, from, 0);
}

static void message(int32_t ahead)
{
	message_by(ahead, 0xffff, "10.89.0.2");
}

static void want_message(int32_t ahead)
{
	struct ibv_wc wc;

	WANT_WC(env.cq, &wc, IBV_WC_SUCCESS);
	CHECK(wc.byte_len == 8 && ntohl(wc.imm_data) == (uint32_t)ahead,
	      "message %u of %u bytes instead of %d", ntohl(wc.imm_data), wc.byte_len, ahead);
}

/*
 * Messages behind a gap come in any order, twice, and with numbers that are too far ahead. They
 * arrive in their order, each once.
 */
static void behind_a_gap(void)
{
	static const int32_t ahead[] = { 4, 2, 4, 301, 3, 2, 257, 0, 1 << 22 };
	struct ibv_wc wc;

	restart();
	message(0);
	want_message(0);
	for (size_t i = 0; i < ARRAY_SIZE(ahead); i++)
		message(ahead[i]);
	CHECK(wait_wc(env.cq, &wc, 20) == 0, "a message behind a gap");
	for (size_t i = 0; i < ARRAY_SIZE(ahead); i++)
		message(ahead[i]);
	message(1);
	for (int i = 1; i < 5; i++)
		want_message(i);
	CHECK(wait_wc(env.cq, &wc, 20) == 0, "one message too many");
	CHECK(is(inbox(), 8, 4), "the last message is not the last one");
	restart();
}

/* Change attributes of the connection, for which the send queue is drained. */
static void change(struct ibv_qp_attr *attr, int mask)
{
	NEED_OK(qp_to_state(env.qp, IBV_QPS_SQD));
	NEED_OK(ibv_modify_qp(env.qp, attr, mask));
	NEED_OK(qp_to_state(env.qp, IBV_QPS_RTS));
}

/*
 * Message 2 of the former peer waits behind a gap while the attributes change. It does not arrive
 * when the gap is closed. Message 2 of the new peer does.
 */
static void behind_a_change(struct ibv_qp_attr *attr, int mask, uint16_t pkey, const char *from)
{
	restart();
	message(0);
	want_message(0);
	message(2);
	packets_arrived();
	change(attr, mask);
	message_by(1, pkey, from);
	want_message(1);
	packets_arrived();
	WANT_EMPTY(env.cq);
	message_by(2, pkey, from);
	want_message(2);
	restart();
}

static void of_a_former_partition(void)
{
	struct ibv_qp_attr attr = { .pkey_index = 1 };

	shell("%s/uroce-fault set %s pkeys 0xffff,0x8001", getenv("UNIV_LIBDIR") ?: ".", dev_wanted());
	behind_a_change(&attr, IBV_QP_PKEY_INDEX, 0x8001, "10.89.0.2");
	shell("%s/uroce-fault set %s pkeys 0xffff", getenv("UNIV_LIBDIR") ?: ".", dev_wanted());
}

/* The MAC address of the new peer is made up, since the answers to it do not matter. */
static void of_a_former_address(void)
{
	struct ibv_qp_attr attr = {};

	shell("ip neigh replace 10.89.0.3 lladdr 02:00:00:00:00:03 nud permanent dev %s", dev_wanted());
	ah_attr_to(&env.dev, &attr.ah_attr);
	attr.ah_attr.grh.dgid.raw[15] = 3;
	behind_a_change(&attr, IBV_QP_AV, 0xffff, "10.89.0.3");
	shell("ip neigh del 10.89.0.3 dev %s", dev_wanted());
}

/*
 * A NAK whose map is too short or too long is dropped, although its first bits name a packet. A
 * good NAK is obeyed afterwards.
 */
static void wrong_lengths(void)
{
	static const uint32_t lengths[] = { 0, 4, 16, 20, 28, 32, 1000 };
	uint64_t before = repeated_packets(), naks = hw_counter(dev_wanted(), "rcvd_nak");
	struct ibv_wc wc;

	restart();
	for (int i = 0; i < 4; i++)
		ask_send();
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		name_held(2, 0, lengths[i]);
		packets_arrived();
		CHECK(repeated_packets() == before, "a map of %u bytes is obeyed", 8 + lengths[i]);
	}
	CHECK(hw_counter(dev_wanted(), "rcvd_nak") == naks, "a map of a wrong length is taken for a NAK");
	CHECK(!ibv_poll_cq(env.cq, 1, &wc), "a completion, %s", ibv_wc_status_str(wc.status));
	name_held(2, 0, 24);
	packets_arrived();
	CHECK(repeated_packets() == before + 2, "%llu packets were repeated instead of 2",
	      (unsigned long long)(repeated_packets() - before));
	acknowledge(PSN + 3);
	for (int i = 0; i < 4; i++)
		WANT_WC(env.cq, &wc, IBV_WC_SUCCESS);
	restart();
}

static const struct test_case cases[] = {
	{ "open", open_all },
	{ "forged_gaps", forged_gaps },
	{ "wrong_lengths", wrong_lengths },
	{ "behind_a_gap", behind_a_gap },
	{ "of_a_former_partition", of_a_former_partition },
	{ "of_a_former_address", of_a_former_address },
	{ "close", close_all },
};

TEST_MAIN("packets_gaps", cases, 60)
