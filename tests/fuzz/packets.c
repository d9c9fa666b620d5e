// SPDX-License-Identifier: GPL-2.0
/*
 * Packets from the peer of uroce's queue pairs. The peer is this program: it writes frames into a
 * tap, and the kernel receives a frame within the write(), so KCOV reports the code that the frame
 * reaches. An input is a list of steps: packets and messages that fit the state of a queue pair,
 * except for the fields and bytes that the input changes, and requests and changes of state by the
 * owner of the queue pairs. Packets may not change memory whose keys permit this to no peer.
 */
#define CHILD_RUNS 100
#include "fuzz.h"
#include "packet.h"
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <net/if.h>

#define TAP		"fuzz-net"
#define HERE		"10.78.0.1"
#define THERE		"10.78.0.2"
#define MTU		1024u
#define CNP		0x81	/* Congestion notification packet */
#define PEER_QPN	0x123400u	/* The peer's number for the first end; others follow. */
#define MEM		(16 * PAGE)
#define STEPS_MAX	48

enum { RC, UC, UD, SHARED, TARGET, INITIATOR, ENDS };

static const struct { uint32_t type; uint8_t service; } kinds[ENDS] = {
	[RC] = { IBV_QPT_RC, SERVICE_RC },
	[UC] = { IBV_QPT_UC, SERVICE_UC },
	[UD] = { IBV_QPT_UD, SERVICE_UD },
	[SHARED] = { IBV_QPT_RC, SERVICE_RC },
	[TARGET] = { IBV_QPT_XRC_RECV, SERVICE_XRC },
	[INITIATOR] = { IBV_QPT_XRC_SEND, SERVICE_XRC },
};

/* A queue pair of uroce, and what its packets have told about it. */
struct end {
	struct raw_qp qp;
	bool connected;		/* since this input began */
	uint32_t expects;	/* the PSN of the next request that it would take */
	uint32_t asked;		/* the PSN of its last request */
};

struct frame {
	struct ethhdr eth;
	struct packet p;
} __attribute__((packed));

static struct {
	int fd;
	int tap;
	uint8_t mac[6];
	uint32_t pd;
	uint32_t ah;
	struct raw_cq cq;
	struct raw_srq srq;
	struct raw_srq xrc_srq;
	struct end end[ENDS];
	uint8_t *open;		/* The peer may do everything here, */
	uint8_t *own;		/* only uroce itself writes here, */
	uint8_t *closed;	/* and nobody here. */
	struct raw_mr own_mr;
	uint32_t key[4];
	struct frame last;
	uint32_t last_len;
} env;

/* ---- Setup --------------------------------------------------------------- */

static void tap_open(void)
{
	struct ifreq ifr = { .ifr_name = TAP, .ifr_flags = IFF_TAP | IFF_NO_PI };

	env.tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	NEED(env.tap >= 0 && !ioctl(env.tap, TUNSETIFF, &ifr) && !ioctl(env.tap, SIOCGIFHWADDR, &ifr),
	     "tap " TAP ": %s", err_name(errno));
	memcpy(env.mac, ifr.ifr_hwaddr.sa_data, 6);
}

static uint8_t *memory(uint8_t fill)
{
	uint8_t *mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	memset(mem, fill, MEM);
	return mem;
}

/* Only the first key lets the peer write, and only into open memory. */
static void memory_open(void)
{
	uint32_t other = raw_pd(env.fd);

	env.open = memory(0);
	env.own = memory(0);
	env.closed = memory(0xc5);
	env.own_mr = raw_mr(env.fd, env.pd, env.own, MEM, IBV_ACCESS_LOCAL_WRITE);
	env.key[0] = raw_mr(env.fd, env.pd, env.open, MEM, ALL_ACCESS).rkey;
	env.key[1] = raw_mr(env.fd, env.pd, env.closed, MEM, IBV_ACCESS_LOCAL_WRITE).rkey;
	env.key[2] = raw_mr(env.fd, env.pd, env.closed, MEM, IBV_ACCESS_REMOTE_READ).rkey;
	env.key[3] = raw_mr(env.fd, other, env.closed, MEM, ALL_ACCESS).rkey;
}

static void peer_address(struct univ_ah_attr *ah)
{
	raw_ah_attr(env.fd, ah);
	memset(ah->dgid, 0, 10);
	memset(ah->dgid + 10, 0xff, 2);
	NEED(inet_pton(AF_INET, THERE, ah->dgid + 12) == 1, THERE);
}

/* Connect to the peer. Each connection starts at a PSN of its own. */
static void end_connect(struct end *e, uint32_t retries)
{
	uint32_t i = e - env.end, type = kinds[i].type;
	struct univ_qp_attr a;

	raw_psn = (raw_psn + 0x1001) & 0xffffff;
	raw_to_state(env.fd, e->qp.handle, IBV_QPS_RESET);
	raw_ring_empty(&e->qp.sq);
	raw_ring_empty(&e->qp.rq);
	raw_attr_init(&a, type);
	NEED_OK(raw_modify(env.fd, e->qp.handle, &a));
	raw_attr_rtr(env.fd, &a, type, PEER_QPN + i);
	if (type != IBV_QPT_UD)
		peer_address(&a.ah);
	NEED_OK(raw_modify(env.fd, e->qp.handle, &a));
	raw_attr_rts(&a, type);
	a.retry_cnt = retries;
	NEED_OK(raw_modify(env.fd, e->qp.handle, &a));
	e->connected = true;
	e->expects = raw_psn;
	e->asked = raw_psn;
}

static struct end *take_end(struct reader *r)
{
	struct end *e = &env.end[take(r, 1) % ENDS];

	if (!e->connected)
		end_connect(e, 3);
	return e;
}

/* ---- Packets of uroce ---------------------------------------------------- */

#define BIT(n) (1u << (n))

/* Sets of opcodes. 13 to 15 are the first, middle and last packet of a read response. */
#define RESPONSES	(BIT(13) | BIT(14) | BIT(15) | BIT(READ_ONLY) | BIT(ACKNOWLEDGE) | BIT(ATOMIC_ACK))
#define WITH_AETH	(RESPONSES & ~BIT(14))
#define WITH_RETH	(BIT(WRITE_FIRST) | BIT(WRITE_ONLY) | BIT(WRITE_ONLY_IMM) | BIT(READ_REQUEST) | \
			 BIT(FLUSH) | BIT(ATOMIC_WRITE))
#define WITH_WORD	(BIT(SEND_LAST_IMM) | BIT(SEND_ONLY_IMM) | BIT(WRITE_LAST_IMM) | \
			 BIT(WRITE_ONLY_IMM) | BIT(22) | BIT(SEND_ONLY_INV))
#define WHOLE		(BIT(SEND_FIRST) | BIT(SEND_MIDDLE) | BIT(WRITE_FIRST) | BIT(WRITE_MIDDLE) | \
			 BIT(13) | BIT(14))
#define WITH_PAYLOAD	((BIT(READ_REQUEST) - 1) | BIT(13) | BIT(14) | BIT(15) | BIT(READ_ONLY) | BIT(22) | \
			 BIT(SEND_ONLY_INV) | BIT(ATOMIC_WRITE))

static bool is(uint8_t opcode, uint32_t set)
{
	return set >> (opcode & 0x1f) & 1;
}

/* An RNR NAK and other NAKs, which have these bits in their syndrome, do not acknowledge their PSN. */
static void learn(const struct packet *p)
{
	uint32_t i = (get32(p->byte + 4) & 0xffffff) - PEER_QPN, psn = get32(p->byte + 8) & 0xffffff;

	if (i >= ENDS)
		return;
	if (!is(p->byte[0], RESPONSES))
		env.end[i].asked = psn;
	else if ((p->byte[0] & 0x1f) == ACKNOWLEDGE && p->byte[12] & 0x60)
		env.end[i].expects = psn;
	else
		env.end[i].expects = psn + 1;
}

static void listen_to_uroce(void)
{
	const ssize_t least = ETH_HLEN + offsetof(struct packet, byte[16]);
	struct frame f;
	ssize_t n;

	while ((n = read(env.tap, &f, sizeof(f))) > 0)
		if (n >= least && f.eth.h_proto == htons(ETH_P_IP) && f.p.udp.dest == htons(4791))
			learn(&f.p);
}

/* ---- Packets of the peer ------------------------------------------------- */

static void put_frame(const struct frame *f, uint32_t len)
{
	NEED(write(env.tap, f, len) == (ssize_t)len, "tap: %s", err_name(errno));
	listen_to_uroce();
}

static void packet_put(struct packet *p, uint32_t damage)
{
	struct frame *f = &env.last;

	f->p = *p;
	env.last_len = ETH_HLEN + packet_end(&f->p, THERE, HERE, damage);
	memcpy(f->eth.h_dest, env.mac, 6);
	memcpy(f->eth.h_source, "\2\0\0\0\0\2", 6);
	f->eth.h_proto = htons(ETH_P_IP);
	put_frame(f, env.last_len);
}

static void put_word(struct packet *p, uint32_t value)
{
	put32(p->byte + p->len, value);
	p->len += 4;
}

static uint32_t take_key(struct reader *r)
{
	uint32_t which = take(r, 1);

	return which >= 0xf0 ? take(r, 4) : env.key[which < 0xa0 ? 0 : which % ARRAY_SIZE(env.key)];
}

static uint64_t take_address(struct reader *r, uint32_t key)
{
	uint32_t at = take(r, 1);

	if (at >= 0xf0)
		return take_value(r);
	return (uintptr_t)(key == env.key[0] ? env.open : env.closed) + (at & 0x7f) * 512 + (at & 0x80 ? 1 : 0);
}

static void put_reth(struct reader *r, struct packet *p, uint32_t len)
{
	uint32_t key = take_key(r), how = take(r, 1);
	uint64_t va = take_address(r, key);

	if (how >= 0x80)
		len = how >= 0xc0 ? take_value(r) : (how & 7) * MTU + 8;
	packet_reth(p, va, key, len);
}

static void put_atomic(struct reader *r, struct packet *p)
{
	uint32_t key = take_key(r);

	put64(p->byte + p->len, take_address(r, key));
	put32(p->byte + p->len + 8, key);
	put64(p->byte + p->len + 12, take_value(r));
	put64(p->byte + p->len + 20, take_value(r));
	p->len += 28;
}

/* The headers that the opcode announces, for a payload of @len bytes. */
static void put_headers(struct reader *r, struct packet *p, uint32_t len)
{
	uint8_t opcode = p->byte[0], op = opcode & 0x1f, service = opcode & 0xe0;

	if (service == SERVICE_XRC && !is(op, RESPONSES))
		put_word(p, take(r, 1) < 0xf0 ? env.xrc_srq.number : take(r, 3));
	if (service == SERVICE_UD) {
		put_word(p, take(r, 1) < 0xf0 ? PAIR_QKEY : take(r, 4));
		put_word(p, PEER_QPN + UD);
	}
	if (op == FLUSH)
		put_word(p, take(r, 1));
	if (is(op, WITH_RETH))
		put_reth(r, p, len);
	if (op == COMPARE_SWAP || op == FETCH_ADD)
		put_atomic(r, p);
	if (is(op, WITH_AETH))
		put_word(p, take(r, 1) << 24 | take(r, 1));
	if (op == ATOMIC_ACK)
		put_word(p, 0), put_word(p, 7);
	if (is(op, WITH_WORD))
		put_word(p, op >= 22 ? take_key(r) : 0x1234);
}

static uint32_t take_payload(struct reader *r, uint8_t opcode)
{
	static const uint16_t lengths[] = { 0, 1, 8, 100, MTU - 1, MTU, MTU + 1, 3000 };
	uint32_t how = take(r, 1);
	uint8_t op = opcode & 0x1f;

	if (how >= 0xc0)
		return lengths[how % ARRAY_SIZE(lengths)];
	if (opcode == CNP)
		return 16;
	return is(op, WHOLE) ? MTU : is(op, WITH_PAYLOAD) ? 8 : 0;
}

/* The bitmap of packets that arrived, in a NAK of selective repeat. */
static void put_held(struct reader *r, struct packet *p)
{
	for (int i = 0; i < 4; i++) {
		put64(p->byte + p->len, take_value(r));
		p->len += 8;
	}
}

static void change_bytes(struct reader *r, struct packet *p)
{
	for (uint32_t n = take(r, 1) % 8; n > 4; n--) {
		uint32_t at = take(r, 1) % p->len;

		p->byte[at] = take(r, 1);
	}
}

/* Mostly the PSN that fits, else one near it. */
static uint32_t take_psn(struct reader *r, const struct end *e, uint8_t op)
{
	uint32_t how = take(r, 1);

	return (is(op, RESPONSES) ? e->asked : e->expects) + (how < 0xc0 ? 0 : how - 0xe0);
}

#define HOW_RAW		0x80	/* The opcode is of any service. */
#define HOW_DAMAGED	0x7c	/* All of these bits: the CRC is wrong. */
#define HOW_MARKED	0x18	/* Both of these bits: a router has marked the packet. */
#define HOW_HELD	0x02	/* The packet has a bitmap. */
#define HOW_SELECTIVE	0x01	/* The peer supports selective repeat. */

static void do_packet(struct reader *r)
{
	struct end *e = take_end(r);
	uint32_t i = e - env.end, how = take(r, 1);
	uint8_t opcode = take(r, 1);
	struct packet p;
	uint32_t len;

	if (!(how & HOW_RAW))
		opcode = kinds[i].service | (opcode & 0x1f);
	len = take_payload(r, opcode);
	packet_header(&p, opcode, e->qp.qp_num, take_psn(r, e, opcode), len);
	p.ip.tos = (how & HOW_MARKED) == HOW_MARKED ? 3 : 0;
	if (how & HOW_SELECTIVE)
		p.byte[8] |= 0x40;
	put_headers(r, &p, len);
	if (how & HOW_HELD)
		put_held(r, &p);
	else
		packet_fill(&p, len, 0x33);
	change_bytes(r, &p);
	packet_put(&p, (how & HOW_DAMAGED) == HOW_DAMAGED);
}

/* A message whose packets all fit, except for the one that is lost. */
static void do_message(struct reader *r)
{
	struct end *e = take_end(r);
	uint8_t kind = take(r, 1), first = kind & 1 ? WRITE_FIRST : SEND_FIRST, op;
	uint32_t count = 1 + take(r, 1) % 8, lost = take(r, 1), psn = e->expects, len;
	struct packet p;

	for (uint32_t i = 0; i < count; i++) {
		op = count == 1 ? first + 4 : first + (i == 0 ? 0 : i < count - 1 ? 1 : 2);
		len = i < count - 1 ? MTU : 8;
		packet_header(&p, kinds[e - env.end].service | op, e->qp.qp_num, psn + i, len);
		if (kind & 2)
			p.byte[8] |= 0x40;
		put_headers(r, &p, (count - 1) * MTU + 8);
		packet_fill(&p, len, 0x44);
		if (i != lost)
			packet_put(&p, 0);
	}
	if (e == &env.end[UC])
		e->expects = psn + count;
}

/* The network delivers the last frame again. */
static void do_again(struct reader *r)
{
	(void)r;
	if (env.last_len)
		put_frame(&env.last, env.last_len);
}

/* ---- The owner of the queue pairs ---------------------------------------- */

static void do_request(struct reader *r)
{
	static const uint8_t opcodes[] = { UNIV_WR_SEND, UNIV_WR_RDMA_WRITE, UNIV_WR_RDMA_READ,
		UNIV_WR_ATOMIC_FETCH_AND_ADD, UNIV_WR_RDMA_WRITE_WITH_IMM, UNIV_WR_SEND_WITH_INV };
	struct end *e = take_end(r);
	uint32_t how = take(r, 1);
	struct raw_ring *sq = &e->qp.sq;
	struct univ_send_wr *wr;

	if (!sq->count)
		return;
	wr = raw_slot(sq, sq->index);
	memset(wr, 0, sq->stride);
	wr->opcode = e == &env.end[UD] ? UNIV_WR_SEND : opcodes[how % ARRAY_SIZE(opcodes)];
	wr->flags = how & 0x80 ? 0 : UNIV_WR_SIGNALED;
	wr->count = 1;
	wr->srqn = e == &env.end[INITIATOR] ? 0x4321 : 0;
	wr->rkey = 0x1111;
	wr->remote_addr = 64 * how;
	wr->sge[0] = (struct univ_sge){ (uintptr_t)env.own, how & 0x40 ? 5 * MTU + 3 : 8, env.own_mr.lkey };
	if (e == &env.end[UD]) {
		wr->ud.ah = env.ah;
		wr->ud.remote_qpn = PEER_QPN + UD;
		wr->ud.remote_qkey = PAIR_QKEY;
	}
	raw_publish(env.fd, sq, e->qp.handle, UNIV_KICK_SEND);
	listen_to_uroce();
}

static struct raw_ring *recv_ring(struct end *e, uint32_t *handle)
{
	struct raw_srq *srq = e == &env.end[SHARED] ? &env.srq : &env.xrc_srq;

	*handle = e->qp.rq.count ? e->qp.handle : srq->handle;
	return e->qp.rq.count ? &e->qp.rq : &srq->ring;
}

static void do_recv(struct reader *r)
{
	uint32_t handle;
	struct raw_ring *ring = recv_ring(take_end(r), &handle);
	uint32_t how = take(r, 1);
	struct univ_recv_wr *wr;

	for (uint32_t n = how % 4; n < 4; n++) {
		wr = raw_slot(ring, ring->index);
		memset(wr, 0, ring->stride);
		wr->count = 1;
		wr->sge[0] = (struct univ_sge){ (uintptr_t)env.own + 4 * PAGE, how & 0x80 ? 16 : 8 * PAGE,
						env.own_mr.lkey };
		raw_publish(env.fd, ring, handle, UNIV_KICK_RECV);
	}
	listen_to_uroce();
}

/* A good message is acknowledged. The link needs a moment before it carries packets. */
static void first_message(void)
{
	struct end *e = &env.end[RC];
	uint64_t end = deadline_ms(5000 * test_slowness());
	struct packet p;

	end_connect(e, 3);
	NEED_OK(raw_recv_sge(env.fd, &e->qp, 1, (uintptr_t)env.own, PAGE, env.own_mr.lkey));
	do {
		packet_header(&p, SEND_ONLY, e->qp.qp_num, raw_psn, 8);
		packet_fill(&p, 8, 0x22);
		packet_put(&p, 0);
		usleep(1000);
		listen_to_uroce();
	} while (e->expects == raw_psn && now_ns() < end);
	NEED(e->expects == raw_psn + 1, "no packet is acknowledged");
}

static void do_poll(struct reader *r)
{
	struct univ_cqe cqe;

	for (uint32_t n = take(r, 1) % 64; n && raw_poll(&env.cq, &cqe); n--)
		;
}

static void do_state(struct reader *r)
{
	struct end *e = take_end(r);

	raw_to_state(env.fd, e->qp.handle, take(r, 1) % 2 ? IBV_QPS_ERR : IBV_QPS_RESET);
	listen_to_uroce();
}

static void do_connect(struct reader *r)
{
	struct end *e = take_end(r);

	end_connect(e, take(r, 1) % 4);
}

/* Short timers may expire: those of RNR, of probes, and of senders without room. */
static void do_wait(struct reader *r)
{
	usleep(take(r, 1) * 64);
	listen_to_uroce();
}

/* ---- Inputs -------------------------------------------------------------- */

static void target_open(void)
{
	struct univ_ah_create ah = { 0 };

	tap_open();
	env.fd = raw_open();
	env.pd = raw_pd(env.fd);
	memory_open();
	/* Room for all requests of an input: a queue that has overrun stays in error. */
	raw_cq(env.fd, &env.cq, 4 * STEPS_MAX + 64, -1);
	raw_srq(env.fd, &env.srq, env.pd, 16);
	raw_xrc(env.fd, env.pd, env.cq.handle, &env.xrc_srq, &env.end[TARGET].qp);
	for (int i = 0; i < ENDS; i++)
		if (i != TARGET)
			raw_qp(env.fd, &env.end[i].qp, kinds[i].type, env.pd, env.cq.handle,
			       i == SHARED ? env.srq.handle : 0);
	ah.pd = env.pd;
	peer_address(&ah.attr);
	NEED_OK(raw_call(env.fd, UNIV_AH_CREATE, &ah));
	env.ah = ah.handle;
	first_message();
}

static void (*const steps[])(struct reader *) = { do_packet, do_packet, do_packet, do_packet, do_packet,
	do_message, do_message, do_message, do_again, do_request, do_request, do_request, do_recv, do_recv,
	do_poll, do_state, do_connect, do_wait };

/* No end sends anything for the last input any more. */
static void begin(void)
{
	struct univ_cqe cqe;

	for (int i = 0; i < ENDS; i++) {
		if (env.end[i].connected)
			raw_to_state(env.fd, env.end[i].qp.handle, IBV_QPS_RESET);
		env.end[i].connected = false;
	}
	env.last_len = 0;
	raw_ring_empty(&env.srq.ring);
	raw_ring_empty(&env.xrc_srq.ring);
	while (raw_poll(&env.cq, &cqe))
		;
}

static void target_run(void)
{
	struct reader r = { .end = fuzz->current.len };

	begin();
	for (int n = 0; n < STEPS_MAX && more(&r); n++)
		steps[take(&r, 1) % ARRAY_SIZE(steps)](&r);
	for (uint32_t i = 0; i < MEM; i++)
		if (env.closed[i] != 0xc5)
			contract_broken("a packet has changed byte %u of closed memory", i);
}
