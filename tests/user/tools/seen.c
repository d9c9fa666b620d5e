// SPDX-License-Identifier: GPL-2.0
/*
 * Print everything that a program observes of a set of exchanges: each completion, queue pair
 * state, asynchronous event and received byte, without values that differ from run to run. Two
 * equivalent transports print the same. This program judges nothing itself.
 *   seen [EXCHANGE]...
 */
#include "process.h"
#include "testlib.h"

#define SLOT (16u << 10)
#define MESSAGES 120

static struct pair p;
static struct ibv_mr *shut;		/* Accessible only to its owner. */
static uint8_t *shut_mem;
/*
 * Completions by side and direction. They are kept apart, since two directions complete in
 * any order.
 */
static char *log_of[2][2];
static size_t log_length[2][2];

__attribute__((format(printf, 3, 4)))
static void note(int side, int receive, const char *fmt, ...)
{
	char line[160];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log_of[side][receive] = realloc(log_of[side][receive], log_length[side][receive] + n + 1);
	NEED_PTR(log_of[side][receive], "realloc");
	memcpy(log_of[side][receive] + log_length[side][receive], line, n + 1);
	log_length[side][receive] += n;
}

static const char *who(uint32_t qpn)
{
	return qpn == p.qp[0]->qp_num ? "0" : qpn == p.qp[1]->qp_num ? "1" : qpn ? "?" : "-";
}

/* Receives have odd wr_ids, sends even ones. */
static void note_wc(int side, const struct ibv_wc *wc)
{
	int receive = wc->wr_id & 1;

	if (wc->status) {
		note(side, receive, "    %3" PRIu64 " %s\n", wc->wr_id, ibv_wc_status_str(wc->status));
		return;
	}
	note(side, receive, "    %3" PRIu64 " opcode %d", wc->wr_id, wc->opcode);
	if (receive || wc->opcode == IBV_WC_RDMA_READ)
		note(side, receive, " bytes %u", wc->byte_len);
	if (receive)
		note(side, receive, " flags %x imm %x from %s", wc->wc_flags,
		     wc->wc_flags & IBV_WC_WITH_IMM ? be32toh(wc->imm_data) : 0,
		     p.type == IBV_QPT_UD ? who(wc->src_qp) : "-");
	note(side, receive, "\n");
}

static int collect(void)
{
	struct ibv_wc wc;
	int got = 0;

	for (int side = 0; side < 2; side++)
		while (ibv_poll_cq(p.cq[side], 1, &wc) == 1) {
			note_wc(side, &wc);
			got++;
		}
	return got;
}

/* Wait for @count completions, and then for unexpected ones within @quiet_ms. */
static void settle_in(int count, unsigned int quiet_ms)
{
	uint64_t end = deadline_ms(WC_TIMEOUT), quiet;

	while (count > 0 && now_ns() < end) {
		count -= collect();
		sched_yield();
	}
	if (count > 0)
		printf("  completions that did not come: %d\n", count);
	quiet = deadline_ms(quiet_ms);
	while (now_ns() < quiet) {
		collect();
		sleep_ms(10);
	}
}

static void settle(int count)
{
	settle_in(count, 300);
}

static uint32_t sum(const uint8_t *mem, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ mem[i]) * 16777619u;
	return hash;
}

static void print_events(void)
{
	int flags = fcntl(p.dev.ctx->async_fd, F_GETFL);
	int count[64] = {};
	struct ibv_async_event event;

	fcntl(p.dev.ctx->async_fd, F_SETFL, flags | O_NONBLOCK);
	while (!ibv_get_async_event(p.dev.ctx, &event)) {
		for (int side = 0; side < 2; side++)
			if (event.event_type < 32 && event.element.qp == p.qp[side])
				count[event.event_type * 2 + side]++;
		ibv_ack_async_event(&event);
	}
	for (int i = 0; i < 64; i++)
		if (count[i])
			printf("  event of %d: %s, %d\n", i & 1, ibv_event_type_str(i / 2), count[i]);
}

static void open_pair(const struct pair_want *want)
{
	pair_open(&p, want);
	shut_mem = aligned_alloc(4096, SLOT);
	NEED_PTR(shut_mem, "memory");
	memset(shut_mem, 0x77, SLOT);
	shut = ibv_reg_mr(p.pd, shut_mem, SLOT, 0);
	NEED_PTR(shut, "reg_mr");
	for (int side = 0; side < 2; side++)
		fill(p.buf[side], PAIR_HALF, side + 1);
}

static void close_pair(void)
{
	for (int side = 0; side < 2; side++)
		for (int receive = 0; receive < 2; receive++) {
			printf("  completions of %d's %s:\n%s", side, receive ? "receives" : "sends",
			       log_of[side][receive] ? log_of[side][receive] : "");
			free(log_of[side][receive]);
			log_of[side][receive] = NULL;
			log_length[side][receive] = 0;
		}
	for (int side = 0; side < 2; side++)
		if (p.qp[side])
			printf("  state of %d: %d\n", side, qp_state_now(p.qp[side]));
	print_events();
	printf("  shut memory: %08x\n", sum(shut_mem, SLOT));
	ibv_dereg_mr(shut);
	free(shut_mem);
	pair_close(&p);
}

/* ---- Exchanges that succeed ----------------------------------------------- */

/* The sequence is the same in each run. */
static uint32_t dice_state;

static uint32_t dice(uint32_t sides)
{
	dice_state = dice_state * 1664525u + 1013904223u;
	return (dice_state >> 8) % sides;
}

static uint32_t message_length(void)
{
	static const uint32_t odd[] = { 0, 1, 3, 63, 64, 65, 255, 256, 1023, 4095, 4096, 4097, 8192, 12289, SLOT };

	return p.type == IBV_QPT_UD ? dice(1000) : odd[dice(ARRAY_SIZE(odd))];
}

static enum ibv_wr_opcode any_opcode(void)
{
	static const enum ibv_wr_opcode all[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};

	return all[dice(p.type == IBV_QPT_RC ? 7 : p.type == IBV_QPT_UC ? 4 : 2)];
}

static bool takes_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/*
 * Post one message from the first slots of @side to later ones of the peer, or from there
 * to its last ones. Return the number of completions that it causes.
 */
static int any_message(int side, int i, bool last)
{
	enum ibv_wr_opcode opcode = any_opcode();
	uint32_t length = message_length(), cut = dice(length + 1);
	bool is_atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	size_t from = is_atomic || opcode == IBV_WR_RDMA_READ ? 24 * SLOT : 0;
	struct ibv_sge sge[2] = {
		pair_sge(&p, side, from + dice(SLOT), cut),
		pair_sge(&p, side, from + 2 * SLOT + dice(SLOT), length - cut),
	};
	struct ibv_send_wr wr = {
		.wr_id = 2 * i, .opcode = opcode, .sg_list = sge, .num_sge = 2,
		.send_flags = dice(3) || last ? IBV_SEND_SIGNALED : 0, .imm_data = htobe32(dice(1 << 20)),
	};
	uint64_t to = (uintptr_t)p.buf[!side] + 4 * SLOT + dice(8) * SLOT;

	if (is_atomic) {
		sge[0].length = 8;
		wr.num_sge = 1;
		wr.wr.atomic.remote_addr = to;
		wr.wr.atomic.rkey = p.mr->rkey;
		wr.wr.atomic.compare_add = dice(100);
		wr.wr.atomic.swap = dice(100);
	} else if (p.type == IBV_QPT_UD) {
		wr_address(&p, side, &wr);
	} else {
		wr.wr.rdma.remote_addr = to + dice(100);
		wr.wr.rdma.rkey = p.mr->rkey;
	}
	if (!is_atomic && opcode != IBV_WR_RDMA_READ && length <= 64 && dice(2))
		wr.send_flags |= IBV_SEND_INLINE;
	if (takes_receive(opcode))
		NEED_OK(post_recv_at(&p, !side, 2 * i + 1, 14 * SLOT + dice(8) * SLOT, SLOT + 40));
	NEED_OK(post_one(&p, side, &wr));
	return !!(wr.send_flags & IBV_SEND_SIGNALED) + takes_receive(opcode);
}

/*
 * Send in batches from both sides. The memory of a UD pair is not printed, because the GRH
 * in front of datagrams differs from run to run.
 */
static void traffic(enum ibv_qp_type type)
{
	struct pair_want want = { .type = type };

	open_pair(&want);
	dice_state = type;
	for (int i = 0; i < MESSAGES; ) {
		int side = dice(2), batch = 1 + dice(10), expected = 0;

		for (; batch && i < MESSAGES; batch--, i++)
			expected += any_message(side, i, batch == 1 || i + 1 == MESSAGES);
		settle_in(expected, type == IBV_QPT_RC ? 0 : 50);
	}
	if (type != IBV_QPT_UD)
		for (int side = 0; side < 2; side++)
			printf("  memory of %d: %08x\n", side, sum(p.buf[side], PAIR_HALF));
	close_pair();
}

static void rc_traffic(void) { traffic(IBV_QPT_RC); }
static void uc_traffic(void) { traffic(IBV_QPT_UC); }
static void ud_traffic(void) { traffic(IBV_QPT_UD); }

/* ---- Exchanges that fail -------------------------------------------------- */

struct failure {
	enum ibv_wr_opcode opcode;
	bool local_key;		/* Use an invalid local key. */
	bool remote_key;	/* Use an invalid remote key. */
	bool remote_shut;	/* Use remote memory without remote access. */
	bool beyond;		/* Exceed the end of the peer's memory. */
	int received;		/* 0: no receive; 1: too short; 2: invalid key. */
	bool inform;		/* The responder has a request of its own to flush. */
};

/* Post a good request, the bad one, two behind it, and receives on both sides. */
static void fails(const struct pair_want *want, const struct failure *f)
{
	struct ibv_sge sge, into;
	struct ibv_send_wr wr = {
		.wr_id = 4, .opcode = f->opcode, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	};
	uint64_t to;
	uint32_t rkey;
	int expected = 4;

	open_pair(want);
	sge = pair_sge(&p, 0, 0, 64);
	to = (uintptr_t)p.buf[1] + (f->beyond ? PAIR_HALF - 8 : 0);
	rkey = f->remote_key ? p.mr->rkey ^ 0x55 : f->remote_shut ? shut->rkey : p.mr->rkey;
	if (f->remote_shut)
		to = (uintptr_t)shut_mem;
	if (f->local_key)
		sge.lkey ^= 0x55;
	if (f->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		sge.length = 8;
	wr_remote(&wr, to, rkey, 1);
	if (f->received) {
		into = pair_sge(&p, 1, SLOT, f->received == 1 ? 8 : 256);
		if (f->received == 2)
			into.lkey ^= 0x55;
		NEED_OK(post_recv(&p, 1, 1, &into, 1));
		expected++;
	}
	if (f->inform) {
		NEED_OK(post_recv_at(&p, 1, 3, SLOT, 256));
		expected++;
	}
	NEED_OK(post_recv_at(&p, 0, 5, SLOT, 256));
	NEED_OK(post_rdma(&p, 0, 2, IBV_WR_RDMA_WRITE, 100, IBV_SEND_SIGNALED));
	NEED_OK(post_one(&p, 0, &wr));
	NEED_OK(post_rdma(&p, 0, 6, IBV_WR_RDMA_WRITE, 100, IBV_SEND_SIGNALED));
	NEED_OK(post_rdma(&p, 0, 8, IBV_WR_RDMA_WRITE, 100, 0));
	settle(expected);
	printf("  memory of 1: %08x\n", sum(p.buf[1], PAIR_HALF));
	close_pair();
}

#define FAILURE(name, ...)							\
static void name(void)								\
{										\
	fails(NULL, &(struct failure){ __VA_ARGS__ });				\
}

FAILURE(bad_lkey, .opcode = IBV_WR_RDMA_WRITE, .local_key = true, .inform = true)
FAILURE(bad_rkey, .opcode = IBV_WR_RDMA_WRITE, .remote_key = true, .inform = true)
FAILURE(bad_rkey_read, .opcode = IBV_WR_RDMA_READ, .remote_key = true, .inform = true)
FAILURE(bad_rkey_atomic, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .remote_key = true)
FAILURE(shut_write, .opcode = IBV_WR_RDMA_WRITE, .remote_shut = true)
FAILURE(shut_read, .opcode = IBV_WR_RDMA_READ, .remote_shut = true)
FAILURE(shut_atomic, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .remote_shut = true)
FAILURE(beyond_the_end, .opcode = IBV_WR_RDMA_WRITE, .beyond = true)
FAILURE(beyond_read, .opcode = IBV_WR_RDMA_READ, .beyond = true)
FAILURE(receive_too_short, .opcode = IBV_WR_SEND, .received = 1, .inform = true)
FAILURE(receive_bad_key, .opcode = IBV_WR_SEND, .received = 2, .inform = true)
FAILURE(write_imm_bad_rkey, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .remote_key = true, .inform = true)

/* The responder detects the bad key before it needs a receive request. */
FAILURE(write_imm_no_receive, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .remote_key = true)

/* The peer has no receive request, and the sender retries only twice. */
static void receiver_not_ready(void)
{
	fails(&(struct pair_want){ .rnr_retry = 2 }, &(struct failure){ .opcode = IBV_WR_SEND });
}

/* The receive request comes late, and the sender retries without a limit. */
static void receive_comes_late(void)
{
	open_pair(NULL);
	NEED_OK(post_send_at(&p, 0, 2, 0, 5000, IBV_SEND_SIGNALED));
	sleep_ms(200);
	NEED_OK(post_recv_at(&p, 1, 1, SLOT, SLOT));
	settle(2);
	printf("  memory of 1: %08x\n", sum(p.buf[1], PAIR_HALF));
	close_pair();
}

static void peer_is_gone(void)
{
	open_pair(&(struct pair_want){ .timeout = 8, .retry_cnt = 2 });
	NEED_OK(ibv_destroy_qp(p.qp[1]));
	p.qp[1] = NULL;
	for (int i = 0; i < 3; i++)
		NEED_OK(post_rdma(&p, 0, 2 + 2 * i, IBV_WR_RDMA_WRITE, 100, IBV_SEND_SIGNALED));
	settle(3);
	close_pair();
}

static void peer_in_error(void)
{
	open_pair(&(struct pair_want){ .timeout = 8, .retry_cnt = 2 });
	NEED_OK(post_recv_at(&p, 1, 1, SLOT, 256));
	NEED_OK(qp_to_state(p.qp[1], IBV_QPS_ERR));
	NEED_OK(post_send_at(&p, 0, 2, 0, 64, IBV_SEND_SIGNALED));
	settle(2);
	close_pair();
}

/* Messages without a receive request are lost, and the sender gets no error. */
static void uc_lost(void)
{
	open_pair(&(struct pair_want){ .type = IBV_QPT_UC });
	NEED_OK(post_send_at(&p, 0, 2, 0, 64, IBV_SEND_SIGNALED));
	settle(1);
	NEED_OK(post_recv_at(&p, 1, 1, SLOT, 256));
	NEED_OK(post_send_at(&p, 0, 4, 64, 64, IBV_SEND_SIGNALED));
	settle(2);
	printf("  memory of 1: %08x\n", sum(p.buf[1], PAIR_HALF));
	close_pair();
}

/* Refused messages are lost as well, and their receive request serves the next message. */
static void uc_refused(void)
{
	static const enum ibv_wr_opcode opcode[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM };
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED };

	open_pair(&(struct pair_want){ .type = IBV_QPT_UC });
	sge = pair_sge(&p, 0, 0, 5000);
	NEED_OK(post_recv_at(&p, 1, 1, SLOT, 256));
	for (unsigned int i = 0; i < 4; i++) {
		wr.wr_id = 2 * i;
		wr.opcode = opcode[i % 2];
		wr.wr.rdma.remote_addr = i < 2 ? (uintptr_t)shut_mem : (uintptr_t)p.buf[1] + PAIR_HALF - 8;
		wr.wr.rdma.rkey = i < 2 ? shut->rkey : p.mr->rkey;
		NEED_OK(post_one(&p, 0, &wr));
		settle(1);
	}
	NEED_OK(post_send_at(&p, 0, 10, 64, 64, IBV_SEND_SIGNALED));
	settle(2);
	printf("  memory of 1: %08x\n", sum(p.buf[1], PAIR_HALF));
	close_pair();
}

/*
 * A receive request that is too short completes with an error, and its queue pair enters
 * the error state.
 */
static void uc_too_short(void)
{
	open_pair(&(struct pair_want){ .type = IBV_QPT_UC });
	NEED_OK(post_recv_at(&p, 1, 1, SLOT, 8));
	NEED_OK(post_recv_at(&p, 1, 3, SLOT, 256));
	NEED_OK(post_send_at(&p, 0, 2, 0, 64, IBV_SEND_SIGNALED));
	settle(3);
	printf("  memory of 1: %08x\n", sum(p.buf[1], PAIR_HALF));
	close_pair();
}

/* An error on the sender's side moves it to SQE, until the program moves it back to RTS. */
static void uc_stopped(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	open_pair(&(struct pair_want){ .type = IBV_QPT_UC });
	for (int i = 0; i < 3; i++)
		NEED_OK(post_recv_at(&p, 1, 2 * i + 1, SLOT * (i + 1), 256));
	NEED_OK(post_recv_at(&p, 0, 1, SLOT, 256));
	sge = pair_sge(&p, 0, 0, 64);
	sge.lkey ^= 0x55;
	NEED_OK(post_one(&p, 0, &wr));
	NEED_OK(post_send_at(&p, 0, 4, 0, 64, IBV_SEND_SIGNALED));
	settle(2);
	printf("  state of 0: %d\n", qp_state_now(p.qp[0]));
	/* It still receives. */
	NEED_OK(post_send_at(&p, 1, 2, 0, 64, IBV_SEND_SIGNALED));
	settle(2);
	NEED_OK(post_send_at(&p, 0, 6, 0, 64, IBV_SEND_SIGNALED));
	settle(1);
	NEED_OK(qp_to_state(p.qp[0], IBV_QPS_RTS));
	NEED_OK(post_send_at(&p, 0, 8, 32, 64, IBV_SEND_SIGNALED));
	settle(2);
	printf("  memory of 1: %08x\n", sum(p.buf[1], PAIR_HALF));
	close_pair();
}

static void ud_wrong_qkey(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.wr_id = 2, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	};

	open_pair(&(struct pair_want){ .type = IBV_QPT_UD });
	sge = pair_sge(&p, 0, 0, 64);
	NEED_OK(post_recv_at(&p, 1, 1, SLOT, 256));
	wr_address(&p, 0, &wr);
	wr.wr.ud.remote_qkey++;
	NEED_OK(post_one(&p, 0, &wr));
	settle(1);
	wr.wr.ud.remote_qkey--;
	wr.wr_id = 4;
	NEED_OK(post_one(&p, 0, &wr));
	settle(2);
	close_pair();
}

/* A datagram meets a receive request that cannot take it. A good one and another datagram follow. */
static void ud_bad_receives(uint32_t length, uint32_t key)
{
	struct ibv_sge into;

	open_pair(&(struct pair_want){ .type = IBV_QPT_UD });
	into = pair_sge(&p, 1, SLOT, length);
	into.lkey ^= key;
	NEED_OK(post_recv(&p, 1, 1, &into, 1));
	NEED_OK(post_recv_at(&p, 1, 3, 2 * SLOT, 256));
	for (int i = 1; i < 3; i++) {
		NEED_OK(post_send_at(&p, 0, 2 * i, 0, 64, IBV_SEND_SIGNALED));
		settle(1);
	}
	printf("  memory of 1: %08x\n", sum(p.buf[1] + SLOT + 40, SLOT - 40));
	close_pair();
}

static void ud_receive_bad_key(void) { ud_bad_receives(256, 0x55); }
static void ud_receive_too_short(void) { ud_bad_receives(60, 0); }
static void ud_receive_less_than_grh(void) { ud_bad_receives(16, 0); }

/* Inline data in two pieces goes to memory in two pieces; the boundaries differ. */
static void inline_pieces(void)
{
	struct ibv_sge from[2], into[2];
	struct ibv_send_wr wr = {
		.sg_list = from, .num_sge = 2, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};

	open_pair(NULL);
	from[0] = pair_sge(&p, 0, 3, 23);
	from[1] = pair_sge(&p, 0, SLOT + 1, 37);
	into[0] = pair_sge(&p, 1, SLOT + 5, 11);
	into[1] = pair_sge(&p, 1, 3 * SLOT - 20, 64);
	NEED_OK(post_recv(&p, 1, 1, into, 2));
	wr.wr_id = 2;
	wr.opcode = IBV_WR_SEND;
	NEED_OK(post_one(&p, 0, &wr));
	settle(2);
	wr.wr_id = 4;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr_remote(&wr, (uintptr_t)p.buf[1] + 5 * SLOT + 7, p.mr->rkey, 1);
	NEED_OK(post_one(&p, 0, &wr));
	settle(1);
	printf("  memory of 1: %08x\n", sum(p.buf[1], PAIR_HALF));
	/* The second piece of this receive request has a wrong key. */
	into[1].lkey ^= 0x55;
	NEED_OK(post_recv(&p, 1, 3, into, 2));
	wr.wr_id = 6;
	wr.opcode = IBV_WR_SEND;
	NEED_OK(post_one(&p, 0, &wr));
	settle(2);
	close_pair();
}

static void flushed_by_modify(void)
{
	open_pair(NULL);
	for (int i = 0; i < 3; i++) {
		NEED_OK(post_recv_at(&p, 0, 2 * i + 1, SLOT, 256));
		NEED_OK(post_send_at(&p, 0, 2 * i + 2, 0, 64, IBV_SEND_SIGNALED));
	}
	NEED_OK(qp_to_state(p.qp[0], IBV_QPS_ERR));
	settle(6);
	close_pair();
}

static const struct test_case exchanges[] = {
	{ "rc_traffic", rc_traffic },
	{ "uc_traffic", uc_traffic },
	{ "ud_traffic", ud_traffic },
	{ "bad_lkey", bad_lkey },
	{ "bad_rkey", bad_rkey },
	{ "bad_rkey_read", bad_rkey_read },
	{ "bad_rkey_atomic", bad_rkey_atomic },
	{ "shut_write", shut_write },
	{ "shut_read", shut_read },
	{ "shut_atomic", shut_atomic },
	{ "beyond_the_end", beyond_the_end },
	{ "beyond_read", beyond_read },
	{ "receive_too_short", receive_too_short },
	{ "receive_bad_key", receive_bad_key },
	{ "write_imm_bad_rkey", write_imm_bad_rkey },
	{ "write_imm_no_receive", write_imm_no_receive },
	{ "receiver_not_ready", receiver_not_ready },
	{ "receive_comes_late", receive_comes_late },
	{ "peer_is_gone", peer_is_gone },
	{ "peer_in_error", peer_in_error },
	{ "uc_lost", uc_lost },
	{ "uc_refused", uc_refused },
	{ "uc_too_short", uc_too_short },
	{ "uc_stopped", uc_stopped },
	{ "ud_wrong_qkey", ud_wrong_qkey },
	{ "ud_receive_bad_key", ud_receive_bad_key },
	{ "ud_receive_too_short", ud_receive_too_short },
	{ "ud_receive_less_than_grh", ud_receive_less_than_grh },
	{ "inline_pieces", inline_pieces },
	{ "flushed_by_modify", flushed_by_modify },
};

int main(int argc, char **argv)
{
	test_program = "seen";
	CHECK(processes_run(argc, argv, exchanges, ARRAY_SIZE(exchanges)), "no such exchange");
	return test_failures ? 1 : 0;
}
