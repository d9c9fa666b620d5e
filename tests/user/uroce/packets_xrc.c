// SPDX-License-Identifier: GPL-2.0
/*
 * adv21. Forged packets to an XRC target and to an initiator: with a wrong number of the
 * shared receive queue, of a wrong service, or in the middle of messages. They change no
 * memory that the peer may not write, and a refused packet consumes no receive request.
 */
#include <poll.h>
#include "packets.h"
#include "xrc.h"

#define PSN	0xfffffeu
#define ROOM	4096u			/* The memory that the peer may write. */
#define CANARY	8192u			/* On either side of that memory. */
#define INBOX	4096u			/* Receive buffer of each queue. */
#define ALL	(CANARY + ROOM + CANARY + 2 * INBOX)
#define POSTED	4

static struct {
	struct xrc x;
	struct ibv_mr *room;		/* Remotely accessible, by queues of x.pd. */
	struct ibv_mr *inbox;
	uint8_t *mem;			/* Canary, room, canary, inboxes. */
	uint32_t psn;			/* The PSN that the target expects. */
	struct ibv_xrcd *elsewhere;
	struct ibv_srq *other;		/* In another XRC domain. */
	uint32_t other_num;
	struct ibv_pd *pd;
	struct ibv_srq *foreign;	/* In this XRC domain, but another PD. */
	uint32_t foreign_num;
} env;

static uint8_t *room(void)
{
	return env.mem + CANARY;
}

static uint8_t *inbox(int which)
{
	return env.mem + CANARY + ROOM + CANARY + which * INBOX;
}

/* ---- our side ------------------------------------------------------------------ */

static void post_inbox(int which)
{
	receive_by(env.x.srq[which], which, (struct ibv_sge){
		(uintptr_t)inbox(which), INBOX, env.inbox->lkey });
}

/* Connect @qp, a target or an initiator, to the peer's only queue pair. */
static void connect_to_peer(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = PEER_QPN,
		.rq_psn = PSN, .max_dest_rd_atomic = 2, .min_rnr_timer = 12,
	};

	ah_attr_to(&env.x.dev, &a.ah_attr);
	a.ah_attr.grh.dgid.raw[15] = 2;
	packets_arrived();
	NEED_OK(qp_to_state(qp, IBV_QPS_RESET));
	NEED_OK(qp_to_init(qp));
	NEED_OK(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			      IBV_QP_MIN_RNR_TIMER));
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .sq_psn = PSN, .timeout = 20, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 2,
	};
	NEED_OK(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

/*
 * Start again: reconnect, expect PSN, fill the memory with its pattern and replace consumed
 * receives.
 */
static void restart(void)
{
	struct ibv_wc wc;

	connect_to_peer(env.x.tgt);
	for (int i = 0; i < 2; i++)
		while (ibv_poll_cq(env.x.rcq[i], 1, &wc) > 0)
			if (!i)
				post_inbox(0);
	memset(env.mem, 0xc5, ALL);
	env.psn = PSN;
	peer.qpn = env.x.tgt->qp_num;
}

static void open_all(void)
{
	struct xrc *x = &env.x;

	xrc_open_queues(x, -1);
	env.mem = mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(env.mem != MAP_FAILED, "mmap: %s", err_name(errno));
	env.room = ibv_reg_mr(x->pd, room(), ROOM, ALL_ACCESS);
	env.inbox = ibv_reg_mr(x->pd, inbox(0), 2 * INBOX, IBV_ACCESS_LOCAL_WRITE);
	NEED(env.room && env.inbox, "reg_mr: %s", err_name(errno));
	x->ini = initiator_of(x->pd, x->cq, 0);
	x->tgt = target_of(x->dev.ctx, x->xrcd, x);
	env.elsewhere = xrcd_of(x->dev.ctx, -1, O_CREAT);
	NEED_PTR(env.elsewhere, "open_xrcd");
	env.other = srq_of(x->pd, env.elsewhere, x->rcq[1], &env.other_num);
	env.pd = ibv_alloc_pd(x->dev.ctx);
	NEED_PTR(env.pd, "alloc_pd");
	env.foreign = srq_of(env.pd, x->xrcd, x->rcq[1], &env.foreign_num);
	receive_by(env.other, 2, (struct ibv_sge){ (uintptr_t)inbox(1), INBOX, env.inbox->lkey });
	peer_open();
	for (int i = 0; i < POSTED; i++)
		post_inbox(0);
	restart();
}

static void close_all(void)
{
	CHECK_ERR(ibv_destroy_srq(env.foreign), 0);
	CHECK_ERR(ibv_dealloc_pd(env.pd), 0);
	CHECK_ERR(ibv_destroy_srq(env.other), 0);
	CHECK_ERR(ibv_close_xrcd(env.elsewhere), 0);
	CHECK_ERR(ibv_dereg_mr(env.room), 0);
	CHECK_ERR(ibv_dereg_mr(env.inbox), 0);
	xrc_close(&env.x);
	munmap(env.mem, ALL);
	peer_close();
}

/* ---- Expected effects ---------------------------------------------------------- */

static bool in_error(struct ibv_qp *qp)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);

	while (qp_state_now(qp) != IBV_QPS_ERR)
		if (now_ns() > end)
			return false;
	return true;
}

static bool canaries(void)
{
	return is(env.mem, CANARY, 0xc5) && is(room() + ROOM, CANARY, 0xc5);
}

static bool untouched(void)
{
	return is(env.mem, ALL, 0xc5);
}

/* The headers at the beginning of every XRC request. */
static void xrc_begin(struct packet *p, uint8_t opcode, uint32_t srqn, uint32_t len)
{
	packet_begin(p, SERVICE_XRC | opcode, env.psn, len);
	put32(p->byte + p->len, srqn);
	p->len += 4;
}

static void send_to(uint8_t opcode, uint32_t srqn, uint32_t len)
{
	struct packet p;

	xrc_begin(&p, opcode, srqn, len);
	packet_fill(&p, len, 0x11);
	packet_send(&p);
	env.psn++;
}

/* A good message arrives, so the target works and still expects the same PSN. */
static bool still_there(void)
{
	struct ibv_wc wc;

	send_to(SEND_ONLY, env.x.srqn[0], 8);
	if (wait_wc(env.x.rcq[0], &wc, WC_TIMEOUT) != 1)
		return false;
	post_inbox(0);
	return wc.status == IBV_WC_SUCCESS && wc.byte_len == 8 && is(inbox(0), 8, 0x11);
}

static void want_ignored(const char *what, unsigned int n)
{
	struct ibv_wc wc;

	CHECK(untouched(), "%s %u: memory has changed", what, n);
	CHECK(still_there(), "%s %u: not ignored; state %d", what, n, qp_state_now(env.x.tgt));
	CHECK(!ibv_poll_cq(env.x.rcq[0], 1, &wc), "%s %u: a receive was used up", what, n);
	restart();
}

static void want_refused(const char *what, unsigned int n)
{
	struct ibv_wc wc;

	CHECK(in_error(env.x.tgt), "%s %u: not refused", what, n);
	CHECK(untouched(), "%s %u: memory has changed", what, n);
	CHECK(!ibv_poll_cq(env.x.rcq[0], 1, &wc) && !ibv_poll_cq(env.x.rcq[1], 1, &wc),
	      "%s %u: a receive was used up", what, n);
	restart();
}

/* ---- Valid packets, for comparison --------------------------------------------- */

static void reth_to_room(struct packet *p, uint32_t len)
{
	packet_reth(p, (uintptr_t)room(), env.room->rkey, len);
}

static void good_ones(void)
{
	struct packet p;
	struct ibv_wc wc;

	CHECK(still_there(), "a good send");
	/* The reserved byte before the SRQ number is ignored. */
	send_to(SEND_ONLY, 0xff000000 | env.x.srqn[0], 8);
	WANT_WC(env.x.rcq[0], &wc, IBV_WC_SUCCESS);
	post_inbox(0);
	send_to(SEND_FIRST, env.x.srqn[0], 1024);
	send_to(SEND_MIDDLE, env.x.srqn[0], 1024);
	send_to(SEND_LAST, env.x.srqn[0], 4);
	WANT_WC(env.x.rcq[0], &wc, IBV_WC_SUCCESS);
	post_inbox(0);
	CHECK(wc.byte_len == 2052 && is(inbox(0), 2052, 0x11), "length %u", wc.byte_len);
	xrc_begin(&p, WRITE_ONLY, env.x.srqn[0], 64);
	reth_to_room(&p, 64);
	packet_fill(&p, 64, 0x33);
	packet_send(&p);
	env.psn++;
	CHECK(still_there(), "a good write");
	CHECK(canaries() && is(room(), 64, 0x33) && is(room() + 64, ROOM - 64, 0xc5),
	      "what was written");
	restart();
}

/* If the SRQ has no receive request, the target only answers with an RNR NAK. */
static void not_ready(void)
{
	struct ibv_wc wc;

	send_to(SEND_ONLY, env.x.srqn[1], 8);
	env.psn--;
	sleep_ms(5);
	CHECK(qp_state_now(env.x.tgt) == IBV_QPS_RTS && untouched(), "no receive is there");
	post_inbox(1);
	send_to(SEND_ONLY, env.x.srqn[1], 8);
	WANT_WC(env.x.rcq[1], &wc, IBV_WC_SUCCESS);
	WANT_EMPTY(env.x.rcq[0]);
	restart();
}

/* The peer shows that it supports selective repeat. */
static void send_repeatable(uint32_t srqn)
{
	struct packet p;

	xrc_begin(&p, SEND_ONLY, srqn, 8);
	p.byte[8] |= 0x40;
	packet_fill(&p, 8, 0x11);
	packet_send(&p);
	env.psn++;
}

/*
 * A lost message and the one behind it, which was held, belong to different queues. Both queues
 * raise their events.
 */
static void two_queues(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(env.x.dev.ctx);
	struct pollfd fd = { .events = POLLIN };
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	uint32_t number;
	void *context;

	NEED_PTR(channel, "create_comp_channel");
	cq = ibv_create_cq(env.x.dev.ctx, POSTED, NULL, channel, 0);
	NEED_PTR(cq, "create_cq");
	srq = srq_of(env.x.pd, env.x.xrcd, cq, &number);
	receive_by(srq, 3, (struct ibv_sge){ (uintptr_t)inbox(1), INBOX, env.inbox->lkey });
	NEED_OK(ibv_req_notify_cq(cq, 0));
	send_repeatable(env.x.srqn[0]);
	WANT_WC(env.x.rcq[0], &wc, IBV_WC_SUCCESS);
	post_inbox(0);
	env.psn++;
	send_repeatable(env.x.srqn[0]);
	sleep_ms(5);
	WANT_EMPTY(env.x.rcq[0]);
	env.psn -= 2;
	send_repeatable(number);
	WANT_WC(env.x.rcq[0], &wc, IBV_WC_SUCCESS);
	post_inbox(0);
	fd.fd = channel->fd;
	CHECK(poll(&fd, 1, WC_TIMEOUT) == 1, "no event of the queue with the lost message");
	if (fd.revents && !ibv_get_cq_event(channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	WANT_WC(cq, &wc, IBV_WC_SUCCESS);
	connect_to_peer(env.x.tgt);
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	CHECK_ERR(ibv_destroy_cq(cq), 0);
	CHECK_ERR(ibv_destroy_comp_channel(channel), 0);
	restart();
}

/* ---- Forged packets ------------------------------------------------------------ */

static const uint8_t requests[] = { SEND_FIRST, SEND_ONLY, SEND_ONLY_IMM, SEND_ONLY_INV, WRITE_FIRST,
	WRITE_ONLY, WRITE_ONLY_IMM, READ_REQUEST, COMPARE_SWAP, FETCH_ADD, FLUSH, ATOMIC_WRITE };

/* Send a valid request of this opcode, except for the SRQ number @srqn. */
static void request_for(uint8_t opcode, uint32_t srqn)
{
	bool first = opcode == SEND_FIRST || opcode == WRITE_FIRST;
	bool is_atomic = opcode == COMPARE_SWAP || opcode == FETCH_ADD;
	uint32_t len = first ? 1024 : is_atomic || opcode == READ_REQUEST || opcode == FLUSH ? 0 : 8;
	struct packet p;

	xrc_begin(&p, opcode, srqn, len);
	if (opcode == FLUSH) {
		put32(p.byte + p.len, 1);
		p.len += 4;
	}
	if (is_atomic) {
		put64(p.byte + p.len, (uintptr_t)room());
		put32(p.byte + p.len + 8, env.room->rkey);
		put64(p.byte + p.len + 12, ~0ull);
		put64(p.byte + p.len + 20, ~0ull);
		p.len += 28;
	} else if (opcode >= WRITE_FIRST && opcode != SEND_ONLY_INV) {
		reth_to_room(&p, opcode == WRITE_FIRST ? 2048 : 8);
	}
	if (opcode == SEND_ONLY_IMM || opcode == WRITE_ONLY_IMM || opcode == SEND_ONLY_INV)
		p.len += 4;
	packet_fill(&p, len, 0x44);
	packet_send(&p);
	env.psn++;
}

/* Numbers of no SRQ, and the number of an SRQ in another domain. */
static void wrong_numbers(void)
{
	uint32_t number[] = { 0, 0xffffff, 0x800000, env.x.srqn[0] ^ 0x10000, env.other_num,
			      env.x.tgt->qp_num, 0 };
	struct ibv_srq *gone = srq_of(env.x.pd, env.x.xrcd, env.x.rcq[1], &number[6]);

	CHECK_ERR(ibv_destroy_srq(gone), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(number); i++)
		for (unsigned int k = 0; k < ARRAY_SIZE(requests); k++) {
			request_for(requests[k], number[i]);
			want_refused("number", i * 100 + k);
			want_failure(env.x.dev.ctx, IBV_EVENT_QP_REQ_ERR, &env.x);
		}
}

/* The key is valid, but its memory region belongs to another protection domain than the SRQ. */
static void foreign_memory(void)
{
	static const uint8_t rdma[] = { WRITE_FIRST, WRITE_ONLY, READ_REQUEST, COMPARE_SWAP,
					FETCH_ADD, ATOMIC_WRITE };

	for (unsigned int k = 0; k < ARRAY_SIZE(rdma); k++) {
		request_for(rdma[k], env.foreign_num);
		want_refused("foreign", rdma[k]);
		want_failure(env.x.dev.ctx, IBV_EVENT_QP_ACCESS_ERR, &env.x);
		request_for(rdma[k], env.x.srqn[0]);
		CHECK(rdma[k] == WRITE_FIRST || still_there(), "%u by its own queue", rdma[k]);
		restart();
	}
}

/* The SRQ number changes in the middle of a message. */
static void changes_its_mind(void)
{
	const uint32_t then[] = { env.x.srqn[1], env.foreign_num, env.other_num, 0 };
	struct ibv_wc wc;

	for (unsigned int i = 0; i < ARRAY_SIZE(then); i++) {
		send_to(SEND_FIRST, env.x.srqn[0], 1024);
		send_to(SEND_LAST, then[i], 8);
		CHECK(in_error(env.x.tgt), "send %u: not refused", i);
		CHECK(canaries() && is(room(), ROOM, 0xc5) && is(inbox(0) + 1024, INBOX - 1024, 0xc5) &&
		      is(inbox(1), INBOX, 0xc5), "send %u: memory has changed", i);
		/* Only the receive request of the first packet completes, with an error. */
		WANT_WC(env.x.rcq[0], &wc, IBV_WC_REM_INV_REQ_ERR);
		WANT_EMPTY(env.x.rcq[0]);
		WANT_EMPTY(env.x.rcq[1]);
		post_inbox(0);
		restart();
		request_for(WRITE_FIRST, env.x.srqn[0]);
		send_to(WRITE_LAST, then[i], 1024);
		CHECK(in_error(env.x.tgt), "write %u: not refused", i);
		CHECK(canaries() && is(room() + 1024, ROOM - 1024, 0xc5), "write %u: went on", i);
		WANT_EMPTY(env.x.rcq[0]);
		restart();
	}
}

/* The SRQ is destroyed in the middle of a message. */
static void queue_goes(void)
{
	struct xrc *x = &env.x;
	struct ibv_wc wc;

	post_inbox(1);
	send_to(SEND_FIRST, x->srqn[1], 1024);
	packets_arrived();
	CHECK(is(inbox(1), 1024, 0x11), "the first packet did not arrive");
	CHECK_ERR(ibv_destroy_srq(x->srq[1]), 0);
	memset(inbox(1), 0xc5, INBOX);
	send_to(SEND_LAST, x->srqn[1], 8);
	CHECK(in_error(x->tgt), "half a message for a queue that has gone");
	CHECK(untouched(), "memory has changed");
	WANT_WC(x->rcq[1], &wc, IBV_WC_WR_FLUSH_ERR);
	WANT_EMPTY(x->rcq[0]);
	x->srq[1] = srq_of(x->pd, x->xrcd, x->rcq[1], &x->srqn[1]);
	restart();
}

/* Packets whose headers are cut short, beginning with the XRCETH. */
static void truncated(void)
{
	struct packet whole, p;

	xrc_begin(&whole, WRITE_ONLY, env.x.srqn[0], 64);
	reth_to_room(&whole, 64);
	packet_fill(&whole, 64, 0x33);
	for (uint32_t len = 0; len < whole.len; len++) {
		p = whole;
		p.len = len;
		packet_send(&p);
		if (len >= 32)
			want_refused("write of length", len);
		else
			want_ignored("write of length", len);
	}
	for (uint32_t len = 0; len < 16; len++) {
		xrc_begin(&p, SEND_ONLY, env.x.srqn[0], 0);
		p.len = len;
		packet_send(&p);
		want_ignored("send of length", len);
	}
}

/*
 * Packets of other services, and responses. A target sends no requests, so it expects no
 * response.
 */
static void other_services(void)
{
	for (unsigned int op = 0; op < 256; op++) {
		bool is_xrc = (op & 0xe0) == SERVICE_XRC, answers = op % 32 >= 13 && op % 32 <= 18;
		struct packet p;

		if (is_xrc && !answers && op % 32 <= 23 && op % 32 != 21)
			continue;
		if (op == (SERVICE_XRC | ATOMIC_WRITE))
			continue;
		packet_begin(&p, op, env.psn, 64);
		put32(p.byte + p.len, env.x.srqn[0]);
		p.len += 4;
		reth_to_room(&p, 64);
		packet_fill(&p, 64, 0x22);
		packet_send(&p);
		want_ignored("opcode", op);
	}
}

/* An initiator executes no requests, and ignores each response that does not match its request. */
static void initiator(void)
{
	struct ibv_qp *ini = env.x.ini;
	struct ibv_sge sge = { (uintptr_t)room(), 64, env.room->lkey };
	struct ibv_send_wr wr;
	struct packet p;
	struct ibv_wc wc;

	connect_to_peer(ini);
	peer.qpn = ini->qp_num;
	for (unsigned int k = 0; k < ARRAY_SIZE(requests); k++)
		request_for(requests[k], env.x.srqn[0]);
	sleep_ms(5);
	CHECK(qp_state_now(ini) == IBV_QPS_RTS && untouched(), "asked, it did something");
	wr = request(&env.x, IBV_WR_RDMA_READ, env.x.srqn[0], 0, &sge);
	post(ini, &wr);
	for (int psn = -2; psn < 3; psn++) {
		/*
		 * A response of the RC service with the right PSN, and XRC responses with
		 * wrong PSNs.
		 */
		packet_begin(&p, (psn ? SERVICE_XRC : SERVICE_RC) | READ_ONLY, PSN + psn, 64);
		put32(p.byte + 12, 0x1f000001);
		p.len += 4;
		packet_fill(&p, 64, 0x66);
		packet_send(&p);
	}
	CHECK(!wait_wc(env.x.cq, &wc, 30) && untouched(), "it believed an answer");
	packet_begin(&p, SERVICE_XRC | READ_ONLY, PSN, 1000);
	p.len += 4;
	packet_fill(&p, 1000, 0x66);
	packet_send(&p);
	WANT_WC(env.x.cq, &wc, IBV_WC_BAD_RESP_ERR);
	CHECK(untouched(), "more than was asked for");
	NEED_OK(qp_to_state(ini, IBV_QPS_RESET));
	restart();
}

/* Change bytes of good packets. The SRQ number is a valid one or close to one. */
static void random_bytes(void)
{
	const uint32_t near[] = { env.x.srqn[0], env.x.srqn[0], env.x.srqn[1], env.foreign_num,
				  env.other_num, 0, 0xffffff, env.x.srqn[0] + 1 };
	int rounds = test_rounds(10000);

	for (int n = 0; n < rounds; n++) {
		uint32_t len = random_next() % 4 ? random_next() % 80 : 1024;
		struct packet p;

		xrc_begin(&p, random_next() % 0x20, near[random_next() % ARRAY_SIZE(near)], len);
		if (random_next() % 2)
			packet_reth(&p, (uintptr_t)room() + random_next() % ROOM, env.room->rkey, len);
		packet_fill(&p, len, n);
		for (uint32_t i = random_next() % 3; i; i--)
			p.byte[random_next() % 60] = random_next();
		put32(p.byte + 4, peer.qpn);
		if (!(random_next() % 16))
			p.len = random_next() % (p.len + 1);
		packet_send(&p);
		env.psn += random_next() % 2;
		if (n % 8)
			continue;
		if (!CHECK(canaries(), "packet %d: a canary has changed", n))
			break;
		restart();
	}
	restart();
	CHECK(still_there(), "no message arrives any more");
	restart();
}

static const struct test_case cases[] = {
	{ "open", open_all },
	{ "good_ones", good_ones },
	{ "not_ready", not_ready },
	{ "two_queues", two_queues },
	{ "wrong_numbers", wrong_numbers },
	{ "foreign_memory", foreign_memory },
	{ "changes_its_mind", changes_its_mind },
	{ "queue_goes", queue_goes },
	{ "truncated", truncated },
	{ "other_services", other_services },
	{ "initiator", initiator },
	{ "random_bytes", random_bytes },
	{ "close", close_all },
};

TEST_MAIN("packets_xrc (adv21)", cases, 120)
