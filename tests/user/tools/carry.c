// SPDX-License-Identifier: GPL-2.0
/*
 * Carries messages between two processes, on one host or on two, and checks each byte of them.
 *   carry PORT TRANSPORT KIND		waits for the other process at this TCP port
 *   carry PORT TRANSPORT KIND ADDRESS	connects to it
 * TRANSPORT is RC, UC, UD or XRC; KIND is send, write, read or atomic. Both processes send and
 * receive: a round has a message in each of DEPTH slots in each direction. Between rounds both wait
 * for each other over the TCP connection, so that no receive queue is empty and no buffer is used
 * twice. In every second round they wait for the event of a completion before they poll.
 */
#include "testlib.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>

#define ROUNDS	12
#define DEPTH	16
#define SLOT	(80u << 10)
#define HALF	(DEPTH * SLOT)
#define INLINE	64
#define GRH	40
#define BESIDE	0x5a	/* No message writes these bytes of a slot. */

/* The pattern of message @n depends on which process sends it. Both processes know it. */
#define SEED(n, server) (2 * (n) + (server))

/* The facts that one process tells the other one. */
struct place {
	uint64_t addr;
	uint32_t rkey, qpn;
	uint32_t target, srqn;		/* Of XRC. */
	uint32_t mtu;
	union ibv_gid gid;
};

static struct {
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq[2];		/* Of sends, of receives. */
	struct ibv_qp *qp;
	struct ibv_xrcd *xrcd;		/* Of XRC: the domain, and the objects that receive. */
	struct ibv_qp *target;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint8_t *from, *to;		/* Slots of what is sent, and of what arrives. */
	struct place peer;
	enum ibv_qp_type type;
	enum ibv_mtu mtu;
	int tcp;
	bool server, sleeps;
	uint32_t messages;
} me;

/* ---- the TCP connection ------------------------------------------------------------------- */

static int tcp_accept(const struct sockaddr_in *at)
{
	int one = 1, fd, all = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd ready = { .fd = all, .events = POLLIN };

	setsockopt(all, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	NEED(!bind(all, (const void *)at, sizeof(*at)) && !listen(all, 1), "listen: %s",
	     err_name(errno));
	NEED(poll(&ready, 1, WC_TIMEOUT) == 1, "nobody connects");
	fd = accept(all, NULL, NULL);
	close(all);
	return fd;
}

static void tcp_open(uint16_t port, const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct timeval patience = { .tv_sec = WC_TIMEOUT / 1000 };
	int one = 1;

	if (address) {
		NEED(inet_pton(AF_INET, address, &at.sin_addr) == 1, "%s is no address", address);
		me.tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		NEED(!connect(me.tcp, (void *)&at, sizeof(at)), "connect: %s", err_name(errno));
	} else {
		me.tcp = tcp_accept(&at);
	}
	setsockopt(me.tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(me.tcp, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* Tell the other process @ours, and return when it has told the same. */
static void exchange(const void *ours, void *theirs, size_t size)
{
	NEED(send(me.tcp, ours, size, MSG_NOSIGNAL) == (ssize_t)size, "tell: %s", err_name(errno));
	NEED(recv(me.tcp, theirs, size, MSG_WAITALL) == (ssize_t)size,
	     "the other process has failed");
}

static void both_are_here(void)
{
	char here = 0;

	exchange(&here, &here, sizeof(here));
}

/* ---- the queue pair ----------------------------------------------------------------------- */

static void memory_open(void)
{
	me.from = mmap(NULL, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(me.from != MAP_FAILED, "mmap: %s", err_name(errno));
	me.to = me.from + HALF;
	me.mr = ibv_reg_mr(me.pd, me.from, 2 * HALF, ALL_ACCESS);
	NEED_PTR(me.mr, "reg_mr");
}

/* A queue pair of XRC sends only. Messages to the target take receive requests of the SRQ. */
static void target_open(void)
{
	me.xrcd = ibv_open_xrcd(me.dev.ctx, &(struct ibv_xrcd_init_attr){
		.fd = -1, .oflags = O_CREAT,
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS });
	NEED_PTR(me.xrcd, "open_xrcd");
	me.srq = ibv_create_srq_ex(me.dev.ctx, &(struct ibv_srq_init_attr_ex){
		.attr = { .max_wr = DEPTH, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .pd = me.pd, .xrcd = me.xrcd, .cq = me.cq[1] });
	NEED_PTR(me.srq, "create_srq_ex");
	me.target = ibv_create_qp_ex(me.dev.ctx, &(struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_XRC_RECV, .xrcd = me.xrcd,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD });
	NEED_PTR(me.target, "create_qp_ex");
}

static void qp_open(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = me.type, .cap = { DEPTH, DEPTH, 2, 2, INLINE },
	};

	if (me.type == IBV_QPT_XRC_SEND)
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	dev_open(&me.dev);
	me.pd = ibv_alloc_pd(me.dev.ctx);
	NEED_PTR(me.pd, "alloc_pd");
	memory_open();
	me.ch = ibv_create_comp_channel(me.dev.ctx);
	NEED_PTR(me.ch, "create_comp_channel");
	for (int i = 0; i < 2; i++) {
		me.cq[i] = ibv_create_cq(me.dev.ctx, DEPTH, NULL, me.ch, 0);
		NEED_PTR(me.cq[i], "create_cq");
	}
	init.send_cq = me.cq[0];
	init.recv_cq = me.cq[1];
	me.qp = ibv_create_qp(me.pd, &init);
	NEED_PTR(me.qp, "create_qp");
	if (me.type == IBV_QPT_XRC_SEND)
		target_open();
}

static void qp_join(void)
{
	struct place here = {
		.addr = (uintptr_t)me.to, .rkey = me.mr->rkey, .qpn = me.qp->qp_num,
		.mtu = me.dev.port.active_mtu, .gid = me.dev.gid,
	};
	/* The other guest may stop for a second if its host is busy. */
	const struct pair_want patient = { .timeout = 18 };
	struct test_dev far = me.dev;
	struct ibv_ah_attr ah;

	if (me.target) {
		here.target = me.target->qp_num;
		NEED_OK(ibv_get_srq_num(me.srq, &here.srqn));
	}
	exchange(&here, &me.peer, sizeof(here));
	far.gid = me.peer.gid;
	if (me.peer.mtu < here.mtu)
		far.port.active_mtu = me.peer.mtu;
	me.mtu = far.port.active_mtu;
	if (me.target)
		qp_connect(&far, me.target, me.peer.qpn, &patient);
	qp_connect(&far, me.qp, me.target ? me.peer.target : me.peer.qpn, &patient);
	if (me.type != IBV_QPT_UD)
		return;
	ah_attr_to(&far, &ah);
	me.ah = ibv_create_ah(me.pd, &ah);
	NEED_PTR(me.ah, "create_ah");
}

static void qp_close(void)
{
	if (me.ah)
		CHECK_ERR(ibv_destroy_ah(me.ah), 0);
	CHECK_ERR(ibv_destroy_qp(me.qp), 0);
	if (me.target) {
		CHECK_ERR(ibv_destroy_qp(me.target), 0);
		CHECK_ERR(ibv_destroy_srq(me.srq), 0);
		CHECK_ERR(ibv_close_xrcd(me.xrcd), 0);
	}
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_cq(me.cq[i]), 0);
	CHECK_ERR(ibv_destroy_comp_channel(me.ch), 0);
	CHECK_ERR(ibv_dereg_mr(me.mr), 0);
	CHECK_ERR(ibv_dealloc_pd(me.pd), 0);
	dev_close(&me.dev);
}

/* ---- messages ----------------------------------------------------------------------------- */

/* Sizes from zero to many packets, most of them not a multiple of an MTU. */
static uint32_t size_of(uint32_t n)
{
	static const uint32_t sizes[] = { 1, 64, 1023, 1024, 1025, 5000, 33333, 65536, 0, 4097, 77777 };
	uint32_t size = sizes[n % ARRAY_SIZE(sizes)], most = 128u << me.mtu;

	return me.type == IBV_QPT_UD && size > most ? most : size;
}

static uint8_t *slot(uint8_t *half, uint32_t n)
{
	return half + n % DEPTH * SLOT;
}

static bool is_atomic(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static bool is_inline(const struct ibv_send_wr *wr, uint32_t len)
{
	return wr->wr_id % 2 && len <= INLINE && wr->opcode != IBV_WR_RDMA_READ && !is_atomic(wr);
}

/* A request of message @n, whose bytes are in two pieces. The result of an atomic operation is in one. */
static void post(uint32_t n, struct ibv_send_wr wr, uint8_t *at, uint32_t len)
{
	uint32_t first = is_atomic(&wr) ? 0 : len / 3;
	struct ibv_sge sge[2] = {
		{ (uintptr_t)at, first, me.mr->lkey },
		{ (uintptr_t)at + first, len - first, me.mr->lkey },
	};
	struct ibv_send_wr *bad;

	wr.wr_id = n;
	wr.sg_list = first ? sge : sge + 1;
	wr.num_sge = len ? 1 + !!first : 0;
	wr.send_flags = IBV_SEND_SIGNALED | (is_inline(&wr, len) ? IBV_SEND_INLINE : 0);
	if (me.ah) {
		wr.wr.ud.ah = me.ah;
		wr.wr.ud.remote_qpn = me.peer.qpn;
		wr.wr.ud.remote_qkey = PAIR_QKEY;
	}
	if (me.target)
		wr.qp_type.xrc.remote_srqn = me.peer.srqn;
	NEED_OK(ibv_post_send(me.qp, &wr, &bad));
}

static void post_receive(uint32_t n)
{
	struct ibv_sge sge = { (uintptr_t)slot(me.to, n), SLOT, me.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (me.srq)
		NEED_OK(ibv_post_srq_recv(me.srq, &wr, &bad));
	else
		NEED_OK(ibv_post_recv(me.qp, &wr, &bad));
}

/* Take an event, and return its queue; NULL if there is none within @wait milliseconds. */
static struct ibv_cq *event_within(int wait)
{
	struct pollfd ready = { .fd = me.ch->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&ready, 1, wait) != 1)
		return NULL;
	NEED_OK(ibv_get_cq_event(me.ch, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	return cq;
}

/* The queue is empty. Afterwards no event is left, and the next completion makes one. */
static void expect_event(struct ibv_cq *cq)
{
	if (!me.sleeps)
		return;
	while (event_within(0))
		;
	NEED_OK(ibv_req_notify_cq(cq, 0));
}

/* The event that expect_event() has asked for. The other queue may still have been armed. */
static void await_event(const struct ibv_cq *cq)
{
	const struct ibv_cq *got = NULL;

	while (me.sleeps && got != cq) {
		got = event_within(WC_TIMEOUT);
		NEED(got, "the first completion of a round makes no event");
	}
}

static void take(struct ibv_cq *cq, struct ibv_wc *wc)
{
	if (me.sleeps) {
		int n = ibv_poll_cq(cq, 1, wc);

		while (!n) {
			NEED_OK(ibv_req_notify_cq(cq, 0));
			n = ibv_poll_cq(cq, 1, wc);
			if (n)
				break;
			NEED(event_within(WC_TIMEOUT), "no event of a completion");
			n = ibv_poll_cq(cq, 1, wc);
		}
		NEED(n == 1, "poll_cq: %d", n);
	} else {
		NEED(wait_wc(cq, wc, WC_TIMEOUT) == 1, "no completion");
	}
	NEED(wc->status == IBV_WC_SUCCESS, "message %" PRIu64 ": %s", wc->wr_id,
	     ibv_wc_status_str(wc->status));
}

/* The requests of this process complete in their order. */
static void take_sent(uint32_t first)
{
	struct ibv_wc wc;

	for (uint32_t n = first; n < first + DEPTH; n++) {
		take(me.cq[0], &wc);
		CHECK(wc.wr_id == n, "request %" PRIu64 " is complete instead of %u", wc.wr_id, n);
	}
}

/* Message @n has arrived at @at, and the bytes from there to the end of its slot are as before. */
static void want_message(uint32_t n, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *behind = at + size_of(n);

	CHECK_BYTES(at, size_of(n), SEED(n, !me.server), "message");
	CHECK(*behind == BESIDE && !memcmp(behind, behind + 1, end - behind - 1),
	      "message %u: a byte behind it has changed", n);
	me.messages++;
}

static void take_received(uint32_t first, enum ibv_wc_opcode opcode)
{
	uint32_t grh = me.type == IBV_QPT_UD ? GRH : 0;
	struct ibv_wc wc;

	for (uint32_t n = first; n < first + DEPTH; n++) {
		take(me.cq[1], &wc);
		NEED(wc.wr_id == n, "message %" PRIu64 " arrived instead of %u", wc.wr_id, n);
		CHECK(wc.opcode == opcode, "message %u: opcode %d", n, wc.opcode);
		CHECK(wc.byte_len == size_of(n) + grh, "message %u has %u bytes", n, wc.byte_len);
		CHECK(be32toh(wc.imm_data) == SEED(n, !me.server), "message %u: its immediate is %u", n,
		      be32toh(wc.imm_data));
		want_message(n, slot(me.to, n) + grh, slot(me.to, n) + SLOT);
	}
}

/* ---- kinds -------------------------------------------------------------------------------- */

/* Messages that take a receive request: sends, and writes with immediate. */
static void with_receives(uint32_t first, enum ibv_wr_opcode opcode, enum ibv_wc_opcode received)
{
	memset(me.to, BESIDE, HALF);
	for (uint32_t n = first; n < first + DEPTH; n++)
		post_receive(n);
	expect_event(me.cq[1]);
	both_are_here();
	for (uint32_t n = first; n < first + DEPTH; n++) {
		struct ibv_send_wr wr = { .opcode = opcode, .imm_data = htobe32(SEED(n, me.server)) };

		wr.wr.rdma.remote_addr = me.peer.addr + n % DEPTH * SLOT;
		wr.wr.rdma.rkey = me.peer.rkey;
		fill(slot(me.from, n), size_of(n), SEED(n, me.server));
		post(n, wr, slot(me.from, n), size_of(n));
	}
	await_event(me.cq[1]);
	take_received(first, received);
	take_sent(first);
}

static void sends(uint32_t first)
{
	with_receives(first, IBV_WR_SEND_WITH_IMM, IBV_WC_RECV);
}

static void writes(uint32_t first)
{
	with_receives(first, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
}

/* The other process reads the slots of @to, so here the bytes arrive in those of @from. */
static void reads(uint32_t first)
{
	memset(me.from, BESIDE, HALF);
	for (uint32_t n = first; n < first + DEPTH; n++)
		fill(slot(me.to, n), size_of(n), SEED(n, me.server));
	expect_event(me.cq[0]);
	both_are_here();
	for (uint32_t n = first; n < first + DEPTH; n++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ };

		wr.wr.rdma.remote_addr = me.peer.addr + n % DEPTH * SLOT;
		wr.wr.rdma.rkey = me.peer.rkey;
		post(n, wr, slot(me.from, n), size_of(n));
	}
	await_event(me.cq[0]);
	take_sent(first);
	for (uint32_t n = first; n < first + DEPTH; n++)
		want_message(n, slot(me.from, n), slot(me.from, n) + SLOT);
}

/*
 * Each process adds to the first word of the other one's memory and exchanges the second word. The
 * words show that each request was executed once, in its order.
 */
static void atomics(uint32_t first)
{
	uint64_t *words = (uint64_t *)me.to;

	expect_event(me.cq[0]);
	both_are_here();
	for (uint32_t n = first; n < first + DEPTH; n++) {
		bool adds = n % 2;
		struct ibv_send_wr wr = {
			.opcode = adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP,
		};

		wr.wr.atomic.remote_addr = me.peer.addr + (adds ? 0 : 8);
		wr.wr.atomic.rkey = me.peer.rkey;
		wr.wr.atomic.compare_add = adds ? 1 : n;
		wr.wr.atomic.swap = n + 2;
		post(n, wr, slot(me.from, n), 8);
	}
	await_event(me.cq[0]);
	take_sent(first);
	for (uint32_t n = first; n < first + DEPTH; n++) {
		uint64_t got = *(uint64_t *)slot(me.from, n), want = n % 2 ? n / 2 : n;

		CHECK(got == want, "operation %u found %" PRIu64 ", not %" PRIu64, n, got, want);
		me.messages++;
	}
	both_are_here();
	CHECK(words[0] == (first + DEPTH) / 2 && words[1] == first + DEPTH,
	      "after operation %u: %" PRIu64 " and %" PRIu64, first + DEPTH, words[0], words[1]);
}

static const struct kind {
	const char *name;
	void (*round)(uint32_t first);
} kinds[] = {
	{ "send", sends }, { "write", writes }, { "read", reads }, { "atomic", atomics },
};

static const struct kind *kind_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(name, kinds[i].name))
			return &kinds[i];
	NEED(0, "no kind %s", name);
	return NULL;
}

static enum ibv_qp_type transport_named(const char *name)
{
	if (!strcmp(name, "UD"))
		return IBV_QPT_UD;
	if (!strcmp(name, "XRC"))
		return IBV_QPT_XRC_SEND;
	return strcmp(name, "UC") ? IBV_QPT_RC : IBV_QPT_UC;
}

int main(int argc, char **argv)
{
	const struct kind *kind;

	NEED(argc == 4 || argc == 5, "carry PORT TRANSPORT KIND [ADDRESS]");
	test_program = "carry";
	test_limit(60);
	kind = kind_named(argv[3]);
	me.type = transport_named(argv[2]);
	me.server = argc == 4;
	tcp_open(atoi(argv[1]), argv[4]);
	qp_open();
	qp_join();
	for (uint32_t round = 0; round < ROUNDS; round++) {
		me.sleeps = round % 2;
		kind->round(round * DEPTH);
		both_are_here();
	}
	qp_close();
	printf("carry %s %s: %u messages, %d failed checks\n", argv[2], argv[3], me.messages,
	       test_failures);
	return !!test_failures;
}
