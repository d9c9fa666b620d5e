// SPDX-License-Identifier: GPL-2.0
/*
 * adv21. The peer of a queue pair sends forged packets. A packet that violates the
 * specification is dropped or refused, and it changes no memory that the peer may not
 * write. packets.h contains the peer; packets_ud.c has datagrams, and packets_xrc.c has the
 * same tests for XRC.
 */
#include "endpoint.h"

static bool in_error(void)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);

	while (qp_state_now(env.qp) != IBV_QPS_ERR)
		if (now_ns() > end)
			return false;
	return true;
}

static bool canaries(void)
{
	return is(env.mem, CANARY, 0xc5) && is(room() + ROOM, CANARY, 0xc5);
}

/* A good message arrives, so the queue pair is in RTS or RTR and still expects the same PSN. */
static bool still_there(void)
{
	struct packet p;
	struct ibv_wc wc;

	packet_begin(&p, SEND_ONLY, env.psn, 8);
	packet_fill(&p, 8, 0x11);
	packet_send(&p);
	env.psn++;
	return wait_wc(env.cq, &wc, WC_TIMEOUT) == 1 && wc.status == IBV_WC_SUCCESS && wc.byte_len == 8;
}

/* The packet had no effect. */
static void want_ignored(const char *what, unsigned int n)
{
	CHECK(still_there(), "%s %u: not ignored; state %d", what, n, qp_state_now(env.qp));
	CHECK(canaries() && is(room(), ROOM, 0xc5), "%s %u: memory has changed", what, n);
	restart();
}

/* The queue pair refused the packet and is in the error state. */
static void want_refused(const char *what, unsigned int n)
{
	CHECK(in_error(), "%s %u: not refused", what, n);
	CHECK(canaries() && is(room(), ROOM, 0xc5), "%s %u: memory has changed", what, n);
	restart();
}

/* Opcodes that the RC service does not define are dropped, with any payload length. */
static void opcodes(void)
{
	static const uint32_t lengths[] = { 0, 4, 37, 1024, 1028 };

	for (unsigned int op = 0; op < 256; op++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++) {
			struct packet p;

			packet_begin(&p, op, env.psn, lengths[i]);
			packet_fill(&p, lengths[i], 0x22);
			packet_send(&p);
		}
		if ((op > 0x17 && op != ATOMIC_WRITE) || op == 0x15)
			want_ignored("opcode", op);
		CHECK(canaries() && is(room(), ROOM, 0xc5), "opcode %u: memory has changed", op);
		restart();
	}
}

static void write_packet(struct packet *p, uint32_t psn, uint32_t told, uint32_t len)
{
	packet_begin(p, WRITE_ONLY, psn, len);
	packet_reth(p, (uintptr_t)room(), env.room->rkey, told);
	packet_fill(p, len, 0x33);
}

/* Cut a valid packet to each shorter length. */
static void truncated(void)
{
	struct packet whole, p;

	write_packet(&whole, env.psn, 64, 64);
	for (uint32_t len = 0; len < whole.len; len++) {
		p = whole;
		p.len = len;
		packet_send(&p);
		/* All headers are complete, but the payload is shorter than they say. */
		if (len >= 28)
			want_refused("length", len);
		else
			want_ignored("length", len);
	}
}

static void wrong_crc(void)
{
	struct packet p;

	for (unsigned int bit = 0; bit < 32; bit++) {
		write_packet(&p, env.psn, 64, 64);
		packet_send_from(&p, "10.89.0.2", 1u << bit);
	}
	want_ignored("CRC", 0);
}

/* The pad count is larger than the payload. */
static void wrong_pad(void)
{
	for (uint8_t pad = 1; pad < 4; pad++) {
		struct packet p;

		packet_begin(&p, SEND_ONLY, env.psn, 0);
		p.byte[1] |= pad << 4;
		packet_send(&p);
		want_ignored("pad", pad);
	}
}

static void one(uint8_t opcode, uint32_t len)
{
	struct packet p;

	packet_begin(&p, opcode, env.psn++, len);
	if (opcode == WRITE_FIRST)
		packet_reth(&p, (uintptr_t)room(), env.room->rkey, 4096);
	packet_fill(&p, len, 0xc5);
	packet_send(&p);
}

static void wrong_order(void)
{
	static const uint8_t alone[] = { SEND_MIDDLE, SEND_LAST, WRITE_MIDDLE, WRITE_LAST };
	static const uint8_t after[][2] = {
		{ SEND_FIRST, SEND_ONLY }, { SEND_FIRST, SEND_FIRST }, { SEND_FIRST, WRITE_LAST },
		{ WRITE_FIRST, SEND_LAST }, { WRITE_FIRST, WRITE_FIRST }, { WRITE_FIRST, READ_REQUEST },
		{ SEND_FIRST, COMPARE_SWAP },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(alone); i++) {
		one(alone[i], 1024);
		want_refused("alone", i);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(after); i++) {
		bool data = after[i][1] < READ_REQUEST;

		one(after[i][0], 1024);
		one(after[i][1], data ? 1024 : 0);
		/*
		 * The read and the atomic come without their headers, so they are dropped
		 * and not refused.
		 */
		if (data)
			want_refused("after", i);
		restart();
	}
}

/* False lengths, addresses and keys in the RETH of a write, and of a read. */
static void lengths_that_lie(void)
{
	static const struct {
		uint64_t at;
		uint32_t key, told, len;
	} lie[] = {
		{ 0, 0, 65, 64 }, { 0, 0, 63, 64 }, { 0, 0, 0, 64 }, { 0, 0, 64, 0 },
		{ 0, 0, 0xffffffff, 64 }, { 0, 0, 0x80000001, 64 }, { ROOM - 63, 0, 64, 64 },
		{ ROOM, 0, 64, 64 }, { -1ull, 0, 64, 64 }, { -64ull, 0, 64, 64 },
		{ 0, 1, 64, 64 }, { 0, 0x100, 64, 64 }, { 1ull << 63, 0, 64, 64 },
		{ 0, 0, 1025, 1025 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(lie); i++) {
		struct packet p;

		packet_begin(&p, WRITE_ONLY, env.psn, lie[i].len);
		packet_reth(&p, (uintptr_t)room() + lie[i].at, env.room->rkey ^ lie[i].key,
			    lie[i].told);
		packet_fill(&p, lie[i].len, 0x44);
		packet_send(&p);
		want_refused("write", i);
		packet_begin(&p, READ_REQUEST, env.psn, 0);
		packet_reth(&p, (uintptr_t)room() + lie[i].at, env.room->rkey ^ lie[i].key,
			    i == 0 ? ROOM + 1 : lie[i].told);
		packet_send(&p);
		/* For a read, a length that differs from the payload is no error. */
		if (i == 0 || i > 3)
			i == 13 ? restart() : want_refused("read", i);
		restart();
	}
	/* The message is longer than the receive request. */
	for (int i = 0; i < 5; i++)
		one(i ? SEND_MIDDLE : SEND_FIRST, 1024);
	want_refused("send", 0);
}

/* Keys of memory that the peer has no access to, with the right address. */
static void wrong_memory(void)
{
	struct packet p;

	packet_begin(&p, WRITE_ONLY, env.psn, 64);
	packet_reth(&p, (uintptr_t)inbox(), env.inbox->rkey, 64);
	packet_fill(&p, 64, 0x55);
	packet_send(&p);
	CHECK(in_error(), "a write to local memory was not refused");
	CHECK(is(inbox(), INBOX, 0xc5), "memory has changed");
	restart();
}

/* ---- Flushes ------------------------------------------------------------- */

#define MAY_FLUSH (ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)

static struct ibv_mr *flushable;	/* The room, for the peer to write and to flush. */

/* The types are the lowest 4 bits of @feth, and the level the next 2. */
static void flush_packet(struct packet *p, uint32_t feth, uint64_t off, uint32_t rkey, uint32_t len)
{
	struct ibv_qp_attr a = { .qp_access_flags = MAY_FLUSH };

	NEED_OK(ibv_modify_qp(env.qp, &a, IBV_QP_ACCESS_FLAGS));
	packet_begin(p, FLUSH, env.psn, 0);
	put32(p->byte + p->len, feth);
	p->len += 4;
	packet_reth(p, (uintptr_t)room() + off, rkey, len);
}

static void flush_done(uint32_t feth, uint64_t off, uint32_t len)
{
	struct packet p;

	flush_packet(&p, feth, off, flushable->rkey, len);
	packet_send(&p);
	env.psn++;
	want_ignored("flush", feth);
}

static void flush_refused(uint32_t feth, uint64_t off, uint32_t key_change, uint32_t len)
{
	struct packet p;

	flush_packet(&p, feth, off, flushable->rkey ^ key_change, len);
	packet_send(&p);
	want_refused("flush", feth);
}

static void flush_without_right(void)
{
	struct ibv_qp_attr a = { .qp_access_flags = ALL_ACCESS };
	struct packet p;

	flush_packet(&p, 1, 0, env.room->rkey, 64);
	packet_send(&p);
	want_refused("flush of another region", 1);
	flush_packet(&p, 1, 0, flushable->rkey, 64);
	NEED_OK(ibv_modify_qp(env.qp, &a, IBV_QP_ACCESS_FLAGS));
	packet_send(&p);
	want_refused("flush by another queue pair", 1);
}

/* A header is incomplete, or there is payload where no flush has it. */
static void flush_of_wrong_length(void)
{
	struct packet whole, p;

	for (uint32_t len = 12; len < 32; len++) {
		flush_packet(&whole, 1, 0, flushable->rkey, 64);
		p = whole;
		p.len = len;
		packet_send(&p);
		want_ignored("flush of length", len);
	}
	flush_packet(&p, 1, 0, flushable->rkey, 64);
	packet_fill(&p, 4, 0x77);
	packet_send(&p);
	want_ignored("flush with payload", 4);
}

/* The message that a flush interrupts is not finished. */
static void flush_in_message(void)
{
	struct packet p;

	one(SEND_FIRST, 1024);
	flush_packet(&p, 1, 0, flushable->rkey, 64);
	packet_send(&p);
	want_refused("flush in a message", 0);
}

static void flushes(void)
{
	flushable = ibv_reg_mr(env.pd, room(), ROOM, ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL);
	NEED(flushable, "reg_mr: %s", why_text());
	flush_done(1, 0, ROOM);
	flush_done(1, ROOM, 0);
	/* Reserved bits are ignored, and so is the range if the level is the region. */
	flush_done(0xffffffc1, 0, 64);
	flush_done(0x11, -1ull << 20, 0xffffffff);
	/* No type, unknown types, the type that the region does not grant; unknown levels. */
	flush_refused(0, 0, 0, 64);
	flush_refused(4, 0, 0, 64);
	flush_refused(8, 0, 0, 64);
	flush_refused(0xf, 0, 0, 64);
	flush_refused(2, 0, 0, 64);
	flush_refused(3, 0, 0, 64);
	flush_refused(0x12, 0, 0, 64);
	flush_refused(0x21, 0, 0, 64);
	flush_refused(0x31, 0, 0, 64);
	flush_refused(1, 0, 1, 64);
	flush_refused(0x11, 0, 0x100, 64);
	flush_refused(1, 0, 1, 0);
	flush_refused(1, 0, 0, ROOM + 1);
	flush_refused(1, ROOM, 0, 1);
	flush_refused(1, -1ull, 0, 1);
	flush_refused(1, 0, 0, 0x80000000);
	flush_refused(1, 0, 0, 0x80000001);
	flush_refused(1, 0, 0, 0xffffffff);
	flush_without_right();
	flush_of_wrong_length();
	flush_in_message();
	CHECK_ERR(ibv_dereg_mr(flushable), 0);
}

static void wrong_psn(void)
{
	static const int32_t off[] = { -1, -2, -1000, -0x7fffff, 1, 2, 1000, 0x7fffff };

	for (unsigned int i = 0; i < ARRAY_SIZE(off); i++) {
		struct packet p;

		write_packet(&p, env.psn + off[i], 64, 64);
		packet_send(&p);
		want_ignored("PSN", i);
	}
}

/*
 * Add or delete a second address of our network device, which has the same name as the RDMA
 * device.
 */
static void second_address(const char *add_or_del)
{
	char command[128];

	snprintf(command, sizeof(command), "ip addr %s 10.89.0.4/24 dev %s", add_or_del,
		 env.dev.ctx->device->name);
	NEED(!system(command), "%s", command);
}

static bool has_gid_of(uint8_t last_byte)
{
	static const uint8_t mapped[] = { 0xff, 0xff, 10, 89, 0 };
	union ibv_gid gid;

	for (int i = 0; i < 16; i++)
		if (!ibv_query_gid(env.dev.ctx, PORT, i, &gid) && gid.raw[15] == last_byte &&
		    !memcmp(gid.raw + 10, mapped, sizeof(mapped)))
			return true;
	return false;
}

/* The device accepts packets to this address, but the queue pair is bound to another source GID. */
static void wrong_destination(void)
{
	struct packet p;
	uint64_t end;

	second_address("add");
	end = deadline_ms(WC_TIMEOUT);
	while (!has_gid_of(4) && now_ns() < end)
		sleep_ms(10);
	NEED(has_gid_of(4), "the device does not have the second address");
	write_packet(&p, env.psn, 64, 64);
	packet_send_to(&p, "10.89.0.2", "10.89.0.4", 0);
	want_ignored("destination", 4);
	second_address("del");
}

/* Packets from another address, or with another P_Key, are dropped. */
static void strangers(void)
{
	struct packet p;

	write_packet(&p, env.psn, 64, 64);
	packet_send_from(&p, "10.89.0.3", 0);
	want_ignored("address", 3);
	write_packet(&p, env.psn, 64, 64);
	p.byte[3] = 0xfe;
	packet_send(&p);
	want_ignored("partition", 0);
	write_packet(&p, env.psn, 64, 64);
	p.byte[1] |= 1;
	packet_send(&p);
	want_ignored("version", 1);
	wrong_destination();
}

static void ask_read(uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)room(), len, env.room->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 77, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { 0x1000, 0x2000 },
	}, *bad;

	CHECK_ERR(ibv_post_send(env.qp, &wr, &bad), 0);
}

static void answer(uint8_t opcode, uint32_t psn, uint32_t aeth, uint32_t len)
{
	struct packet p;

	packet_begin(&p, opcode, psn, len);
	put32(p.byte + 12, aeth);
	p.len += 4;
	packet_fill(&p, len, 0x66);
	packet_send(&p);
}

static void want_nothing(const char *what)
{
	struct ibv_wc wc;

	CHECK(wait_wc(env.cq, &wc, 50) == 0, "%s: a completion, %s", what,
	      ibv_wc_status_str(wc.status));
	CHECK(canaries() && is(room(), ROOM, 0xc5), "%s: memory has changed", what);
}

static void forged_answers(void)
{
	struct ibv_wc wc;

	answer(ACKNOWLEDGE, PSN, 0x1f000001, 0);
	answer(READ_ONLY, PSN, 0x1f000001, 64);
	want_nothing("an answer to nothing");
	restart();
	ask_read(64);
	answer(READ_ONLY, PSN + 1, 0x1f000001, 64);
	answer(READ_ONLY, PSN - 1, 0x1f000001, 64);
	answer(ACKNOWLEDGE, PSN + 5, 0x1f000001, 0);
	/* An acknowledgement with the read's PSN does not complete a read without its data. */
	answer(ACKNOWLEDGE, PSN, 0x1f000001, 0);
	want_nothing("wrong numbers");
	answer(READ_ONLY, PSN, 0x1f000001, 1000);
	WANT_WC(env.cq, &wc, IBV_WC_BAD_RESP_ERR);
	CHECK(canaries() && is(room(), ROOM, 0xc5), "a long response was written");
	restart();
	ask_read(64);
	answer(ATOMIC_ACK, PSN, 0x1f000001, 8);
	WANT_WC(env.cq, &wc, IBV_WC_BAD_RESP_ERR);
	CHECK(canaries() && is(room(), ROOM, 0xc5), "an atomic's answer was written");
	restart();
	ask_read(64);
	answer(READ_ONLY, PSN, 0x1f000001, 64);
	WANT_WC(env.cq, &wc, IBV_WC_SUCCESS);
	CHECK(canaries() && is(room(), 64, 0x66) && is(room() + 64, ROOM - 64, 0xc5),
	      "a good response is not where it belongs");
	restart();
}

static uint64_t sent_packets(void)
{
	return hw_counter(dev_wanted(), "sent_pkts");
}

/* A read of the first 64 bytes of the room, as @psn. Returns how many packets answer it. */
static uint64_t answers_to_read(uint32_t psn, uint32_t rkey)
{
	uint64_t before = sent_packets();
	struct packet p;

	packet_begin(&p, READ_REQUEST, psn, 0);
	packet_reth(&p, (uintptr_t)room(), rkey, 64);
	packet_send(&p);
	packets_arrived();
	return sent_packets() - before;
}

/*
 * The peer repeats a read, of which it may have lost the response. It is answered again while the
 * region is registered, and is ignored afterwards.
 */
static void read_of_gone_region(void)
{
	struct ibv_mr *mr = ibv_reg_mr(env.pd, room(), ROOM, ALL_ACCESS);
	uint32_t psn = env.psn++, rkey;

	NEED(mr, "reg_mr: %s", why_text());
	rkey = mr->rkey;
	CHECK(answers_to_read(psn, rkey) == 1, "a read is not answered");
	CHECK(answers_to_read(psn, rkey) == 1, "a repeated read is not answered");
	CHECK(answers_to_read(psn, rkey ^ 1) == 0, "a repeated read is answered with another key");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(answers_to_read(psn, rkey) == 0, "a repeated read is answered without its region");
	want_ignored("repeated read", 0);
}

/*
 * The peer reads more than may be under way at once, over a slow network that the script
 * makes. When the queue pair enters the error state, the rest of the response is not sent.
 */
static void read_ends(void)
{
	const uint32_t len = 8 << 20;
	uint8_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t before, sent;
	struct ibv_mr *mr;
	struct packet p;

	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	mr = ibv_reg_mr(env.pd, mem, len, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	before = sent_packets();
	packet_begin(&p, READ_REQUEST, env.psn, 0);
	packet_reth(&p, (uintptr_t)mem, mr->rkey, len);
	packet_send(&p);
	for (int i = 0; i < 1000 && sent_packets() == before; i++)
		sleep_ms(5);
	NEED_OK(qp_to_state(env.qp, IBV_QPS_ERR));
	sent = sent_packets() - before;
	CHECK(sent > 0, "nothing of the read was sent");
	/* The packets under way have arrived by now, so more could be sent. */
	sleep_ms(1000);
	CHECK(sent_packets() - before == sent, "%" PRIu64 " packets in error",
	      sent_packets() - before - sent);
	restart();
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	munmap(mem, len);
}

/*
 * Change bytes of good packets and correct their CRC. They may change only the room and the
 * inbox.
 */
static void random_bytes(void)
{
	int rounds = test_rounds(10000);

	for (int n = 0; n < rounds; n++) {
		uint32_t len = random_next() % 4 ? random_next() % 80 : 1024;
		struct packet p;

		packet_begin(&p, random_next() % 4 ? random_next() % 0x18 : random_next(),
			     env.psn + (random_next() % 8 ? 0 : random_next() % 5), len);
		packet_reth(&p, (uintptr_t)room() + random_next() % ROOM, env.room->rkey, len);
		packet_fill(&p, len, n);
		for (uint32_t i = random_next() % 3; i; i--)
			p.byte[random_next() % 60] = random_next();
		/* Packets of a peer that repeats selectively may be held. */
		p.byte[8] ^= random_next() & 0x40;
		put32(p.byte + 4, peer.qpn);
		if (!(random_next() % 16))
			p.len = random_next() % (p.len + 1);
		packet_send(&p);
		if (n % 16)
			continue;
		if (!CHECK(canaries(), "packet %d: a canary has changed", n))
			break;
		restart();
		if (n % 64 == 0)
			ask_read(64);
	}
	restart();
	CHECK(still_there(), "no message arrives any more");
	restart();
}

static const struct test_case cases[] = {
	{ "open", open_all },
	{ "opcodes", opcodes },
	{ "truncated", truncated },
	{ "wrong_crc", wrong_crc },
	{ "wrong_pad", wrong_pad },
	{ "wrong_order", wrong_order },
	{ "lengths_that_lie", lengths_that_lie },
	{ "wrong_memory", wrong_memory },
	{ "flushes", flushes },
	{ "wrong_psn", wrong_psn },
	{ "strangers", strangers },
	{ "forged_answers", forged_answers },
	{ "read_of_gone_region", read_of_gone_region },
	{ "read_ends", read_ends },
	{ "random_bytes", random_bytes },
	{ "close", close_all },
};

TEST_MAIN("packets (adv21)", cases, 120)
