// SPDX-License-Identifier: GPL-2.0
/*
 * A packet socket sees each message between two queue pairs of one host as packets, with
 * the right headers, bytes and checksum. UNIV_TEST_TAP names the network device. With
 * UNIV_TEST_WIRE the packets are real; without it a mirror makes them. The real ones are
 * the same, except for additional acknowledgements.
 */
#include "threads.h"
#include "wire.h"
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#define MTU		4096
#define PSN		100		/* The first PSN that state.h sets. */
#define LONGEST		(300u << 10)
#define SHOWN		(64u << 10)	/* The mirror shows this much of a longer message, and
					 * its last packet. */

enum {
	SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 4, SEND_ONLY_IMM, WRITE_FIRST, WRITE_MIDDLE,
	WRITE_LAST, WRITE_ONLY = 10, WRITE_ONLY_IMM, READ_REQUEST, READ_FIRST, READ_MIDDLE,
	READ_LAST, READ_ONLY, ACK, ATOMIC_ACK, COMPARE_SWAP, FETCH_ADD, FLUSH = 28, ATOMIC_WRITE, UC = 0x20, UD = 0x60,
};

/* A packet that the socket saw, from the base transport header on. */
struct packet {
	uint8_t byte[2 * MTU];
	uint32_t len;			/* Length without the CRC. */
	uint8_t op;
	uint32_t psn;
	uint32_t qpn;
};

static int sock = -1;
static bool wire;
static struct pair p;
static uint32_t psn, msn;		/* PSN and MSN of the next message of p.qp[0]. */

/* ---- The tap ------------------------------------------------------------- */

static void tap_open(void)
{
	const char *name = getenv("UNIV_TEST_TAP");
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int size = 4 << 20;

	wire = getenv("UNIV_TEST_WIRE");
	if (!name)
		SKIP("UNIV_TEST_TAP is not set");
	if (sock >= 0)
		close(sock);
	sock = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	NEED(sock >= 0, "packet socket: %s", err_name(errno));
	setsockopt(sock, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	at.sll_ifindex = if_nametoindex(name);
	NEED(!bind(sock, (struct sockaddr *)&at, sizeof(at)), "bind: %s", err_name(errno));
}

static bool take(struct packet *pkt, const uint8_t *frame, size_t len)
{
	const struct ethhdr { uint8_t addr[12]; uint16_t proto; } *eth = (const void *)frame;
	const uint8_t *ip = frame + 14, *udp = ip + 20;
	uint32_t told;

	if (len < 14 + 28 + 16 || eth->proto != htons(ETHERTYPE_IP) || ip[9] != IPPROTO_UDP ||
	    (udp[2] << 8 | udp[3]) != 4791)
		return false;
	len -= 14;
	CHECK((size_t)(ip[2] << 8 | ip[3]) == len, "the IP header says %d of %zu bytes",
	      ip[2] << 8 | ip[3], len);
	CHECK((size_t)(udp[4] << 8 | udp[5]) == len - 20, "the UDP header's length is wrong");
	CHECK(ip_sum(ip) == 0xffff, "the IP header's checksum is wrong");
	memcpy(&told, ip + len - 4, 4);
	CHECK(le32toh(told) == icrc(ip, len - 4), "the ICRC is wrong");
	pkt->len = len - 28 - 4;
	memcpy(pkt->byte, ip + 28, pkt->len);
	pkt->op = pkt->byte[0];
	pkt->qpn = get32(pkt->byte + 4) & 0xffffff;
	pkt->psn = get32(pkt->byte + 8) & 0xffffff;
	return true;
}

/* Return false if no packet arrives in time. */
static bool seen_within(struct packet *pkt, int ms)
{
	static uint8_t frame[sizeof(struct packet)];
	struct pollfd fd = { .fd = sock, .events = POLLIN };
	struct sockaddr_ll from;
	socklen_t size;
	ssize_t n;

	while (poll(&fd, 1, ms) == 1) {
		size = sizeof(from);
		n = recvfrom(sock, frame, sizeof(frame), 0, (struct sockaddr *)&from, &size);
		if (n > 0 && from.sll_pkttype == PACKET_OUTGOING && take(pkt, frame, n))
			return true;
	}
	return false;
}

/* Receive the next packet and compare it with the expected opcode, PSN and direction. */
static bool see(struct packet *pkt, uint8_t op, uint32_t want_psn, bool back)
{
	bool more;

	do {
		more = seen_within(pkt, 2000 * test_slowness());
	} while (more && wire && pkt->op == ACK && (op != ACK || pkt->psn != want_psn));
	if (!CHECK(more, "no packet %02x was seen", op))
		return false;
	CHECK(pkt->op == op, "opcode %02x instead of %02x", pkt->op, op);
	CHECK(pkt->psn == (want_psn & 0xffffff), "%02x: PSN %u instead of %u", op, pkt->psn, want_psn);
	CHECK(pkt->qpn == p.qp[!back]->qp_num, "%02x: for queue pair %u", op, pkt->qpn);
	CHECK(pkt->byte[2] == 0xff && pkt->byte[3] == 0xff, "%02x: P_Key", op);
	return pkt->op == op;
}

static void see_nothing(void)
{
	struct packet pkt;

	CHECK(!seen_within(&pkt, 200), "%02x was seen, and should not be", pkt.op);
}

/* ---- Expected packets ---------------------------------------------------- */

static void see_bytes(const struct packet *pkt, uint32_t headers, const uint8_t *want, uint32_t len)
{
	uint32_t pad = pkt->byte[1] >> 4 & 3;

	if (!CHECK(pkt->len == headers + len + pad && pad == (-len & 3),
		   "%02x: %u bytes with %u of padding instead of %u", pkt->op, pkt->len, pad,
		   headers + len))
		return;
	CHECK(!memcmp(pkt->byte + headers, want, len), "%02x: other bytes", pkt->op);
	CHECK(all_zero(pkt->byte + headers + len, pad), "%02x: the padding of %u bytes has data",
	      pkt->op, pad);
}

static void see_ack(uint8_t op, uint32_t at, uint8_t syndrome, uint32_t count)
{
	struct packet pkt;

	if (see(&pkt, op, at, true))
		CHECK(get32(pkt.byte + 12) == ((uint32_t)syndrome << 24 | count),
		      "the acknowledgement says %08x", get32(pkt.byte + 12));
}

static void see_reth(const struct packet *pkt, uint64_t va, uint32_t len)
{
	CHECK(get64(pkt->byte + 12) == va && get32(pkt->byte + 20) == p.mr->rkey &&
	      get32(pkt->byte + 24) == len, "%02x: another target", pkt->op);
}

/* Expect the packets of a write or a send. An immediate, if the opcode has one, is 0x01020304. */
static void see_data(uint8_t first, uint8_t only, const struct ibv_send_wr *wr, const uint8_t *want,
		     uint32_t len)
{
	uint32_t n = len ? (len + MTU - 1) / MTU : 1;
	struct packet pkt;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t headers = 12, part = i + 1 < n ? MTU : len - i * MTU;
		uint8_t op = n == 1 ? only : !i ? first : i + 1 == n ? first + 2 : first + 1;

		if (!wire && n > SHOWN / MTU && i >= SHOWN / MTU && i + 1 < n)
			continue;
		if (!see(&pkt, op, psn + i, false))
			return;
		if ((first & 0x1f) == WRITE_FIRST && !i) {
			see_reth(&pkt, wr->wr.rdma.remote_addr, len);
			headers += 16;
		}
		if ((op & 0x1f) == WRITE_ONLY_IMM || (op & 0x1f) == SEND_ONLY_IMM) {
			CHECK(get32(pkt.byte + headers) == 0x01020304, "immediate data");
			headers += 4;
		}
		CHECK(!(pkt.byte[1] & 0x80) == !(i + 1 == n && wr->send_flags & IBV_SEND_SOLICITED),
		      "solicited");
		see_bytes(&pkt, headers, want + i * MTU, part);
	}
	psn += n;
}

static void see_read(const struct ibv_send_wr *wr, const uint8_t *want, uint32_t len)
{
	uint32_t n = (len + MTU - 1) / MTU;
	struct packet pkt;

	if (!see(&pkt, READ_REQUEST, psn, false))
		return;
	see_reth(&pkt, wr->wr.rdma.remote_addr, len);
	for (uint32_t i = 0; i < n; i++) {
		bool ends = !i || i + 1 == n;
		uint8_t op = n == 1 ? READ_ONLY : !i ? READ_FIRST : ends ? READ_LAST : READ_MIDDLE;

		if (!see(&pkt, op, psn + i, true))
			return;
		if (ends)
			CHECK(get32(pkt.byte + 12) == (0x1f000000 | msn), "%08x", get32(pkt.byte + 12));
		see_bytes(&pkt, ends ? 16 : 12, want + i * MTU, i + 1 < n ? MTU : len - i * MTU);
	}
	psn += n;
}

static void see_atomic(const struct ibv_send_wr *wr, uint64_t found)
{
	bool swap = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct packet pkt;

	if (!see(&pkt, swap ? COMPARE_SWAP : FETCH_ADD, psn, false))
		return;
	CHECK(get64(pkt.byte + 12) == wr->wr.atomic.remote_addr &&
	      get32(pkt.byte + 20) == p.mr->rkey, "another target");
	CHECK(get64(pkt.byte + 24) == (swap ? wr->wr.atomic.swap : wr->wr.atomic.compare_add) &&
	      get64(pkt.byte + 32) == (swap ? wr->wr.atomic.compare_add : 0), "other operands");
	if (!see(&pkt, ATOMIC_ACK, psn, true))
		return;
	CHECK(pkt.len == 24 && get64(pkt.byte + 16) == found, "another answer");
	psn++;
}

/* ---- Messages ------------------------------------------------------------ */

static void begin_as(const struct pair_want *want)
{
	tap_open();
	pair_open(&p, want);
	fill(p.buf[0], PAIR_HALF, 1);
	fill(p.buf[1], PAIR_HALF, 2);
	psn = PSN;
	msn = 0;
}

static void begin(enum ibv_qp_type type)
{
	begin_as(&(struct pair_want){ .type = type });
}

static struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge *sge, uint32_t len)
{
	struct ibv_send_wr wr = {
		.wr_id = 7, .opcode = opcode, .sg_list = sge, .num_sge = 1, .imm_data = htonl(0x01020304),
		.send_flags = IBV_SEND_SIGNALED,
	};

	*sge = pair_sge(&p, 0, 64, len);
	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)p.buf[1] + 128;
		wr.wr.atomic.rkey = p.mr->rkey;
	} else if (p.type == IBV_QPT_UD) {
		wr_address(&p, 0, &wr);
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1] + 128;
		wr.wr.rdma.rkey = p.mr->rkey;
	}
	return wr;
}

static void perform(struct ibv_send_wr *wr)
{
	struct ibv_wc wc;

	NEED_OK(post_one(&p, 0, wr));
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	msn++;
}

static void data(enum ibv_wr_opcode opcode, uint32_t len, int flags)
{
	static const uint8_t base[][2] = {
		[IBV_WR_RDMA_WRITE] = { WRITE_FIRST, WRITE_ONLY },
		[IBV_WR_RDMA_WRITE_WITH_IMM] = { WRITE_FIRST, WRITE_ONLY_IMM },
		[IBV_WR_SEND] = { SEND_FIRST, SEND_ONLY },
		[IBV_WR_SEND_WITH_IMM] = { SEND_FIRST, SEND_ONLY_IMM },
	};
	uint8_t service = p.type == IBV_QPT_UC ? UC : 0;
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(opcode, &sge, len);

	/*
	 * Real packets of a long message leave in one batch, which the socket sees before
	 * it is segmented.
	 */
	if (wire && len > MTU)
		return;
	wr.send_flags |= flags;
	if (opcode != IBV_WR_RDMA_WRITE)
		NEED_OK(post_recv_at(&p, 1, 1, 1024, LONGEST));
	perform(&wr);
	see_data(service | base[opcode][0], service | base[opcode][1], &wr, p.buf[0] + 64, len);
	if (p.type == IBV_QPT_RC)
		see_ack(ACK, psn - 1, 0x1f, msn);
}

/* ---- Cases --------------------------------------------------------------- */

static void writes(void)
{
	begin(IBV_QPT_RC);
	data(IBV_WR_RDMA_WRITE, 10, IBV_SEND_INLINE);
	data(IBV_WR_RDMA_WRITE, 0, 0);
	data(IBV_WR_RDMA_WRITE, 2 * MTU + 1, 0);
	data(IBV_WR_RDMA_WRITE_WITH_IMM, 33, IBV_SEND_SOLICITED);
	see_nothing();
	pair_close(&p);
}

static void sends(void)
{
	begin(IBV_QPT_RC);
	data(IBV_WR_SEND, 0, 0);
	data(IBV_WR_SEND_WITH_IMM, 63, IBV_SEND_INLINE);
	data(IBV_WR_SEND, 3 * MTU, IBV_SEND_SOLICITED);
	see_nothing();
	pair_close(&p);
}

static void read_in(uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(IBV_WR_RDMA_READ, &sge, len);

	perform(&wr);
	see_read(&wr, p.buf[1] + 128, len);
}

static void reads(void)
{
	begin(IBV_QPT_RC);
	read_in(9);
	read_in(MTU);
	if (!wire)
		read_in(3 * MTU + 5);
	see_nothing();
	pair_close(&p);
}

static void atomics(void)
{
	uint64_t found;

	begin(IBV_QPT_RC);
	for (int i = 0; i < 4; i++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = request(i & 1 ? IBV_WR_ATOMIC_CMP_AND_SWP :
							IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 8);

		memcpy(&found, p.buf[1] + 128, 8);
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 6;
		perform(&wr);
		see_atomic(&wr, found);
	}
	see_nothing();
	pair_close(&p);
}

static void atomic_writes(void)
{
	static uint8_t value[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint64_t to;
	struct ibv_qp_ex *ex;
	struct packet pkt;
	struct ibv_wc wc;

	begin_as(&(struct pair_want){ .use_ex = 1, .ex_ops = IBV_QP_EX_WITH_ATOMIC_WRITE });
	to = (uintptr_t)p.buf[1] + 64;
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(ex, p.mr->rkey, to, value);
	NEED_OK(ibv_wr_complete(ex));
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	if (see(&pkt, ATOMIC_WRITE, psn, false)) {
		see_reth(&pkt, to, 8);
		see_bytes(&pkt, 28, value, 8);
	}
	if (see(&pkt, READ_ONLY, psn, true))
		CHECK(pkt.len == 16 && get32(pkt.byte + 12) == 0x1f000001, "another answer");
	see_nothing();
	pair_close(&p);
}

/* The types of a flush and its level, and the range, or zeros for a whole region. */
static void see_flush(const struct ibv_mr *mr, uint8_t type, uint8_t level, uint32_t len)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(p.qp[0]);
	uint64_t from = (uintptr_t)p.buf[1] + 64;
	struct packet pkt;
	struct ibv_wc wc;

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(ex, mr->rkey, from, 77, type, level);
	NEED_OK(ibv_wr_complete(ex));
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	if (see(&pkt, FLUSH, psn, false))
		CHECK(pkt.len == 32 && get32(pkt.byte + 12) == (uint32_t)(level << 4 | type) &&
		      get64(pkt.byte + 16) == (len ? from : 0) && get32(pkt.byte + 24) == mr->rkey &&
		      get32(pkt.byte + 28) == len, "another flush");
	msn++;
	if (see(&pkt, READ_ONLY, psn, true))
		CHECK(pkt.len == 16 && get32(pkt.byte + 12) == (0x1f000000 | msn), "another answer");
	psn++;
}

static void flushes(void)
{
	struct ibv_qp_attr a = { .qp_access_flags = ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL };
	struct ibv_mr *mr;

	begin_as(&(struct pair_want){ .use_ex = 1, .ex_ops = IBV_QP_EX_WITH_FLUSH });
	NEED_OK(ibv_modify_qp(p.qp[1], &a, IBV_QP_ACCESS_FLAGS));
	mr = ibv_reg_mr(p.pd, p.buf[1], 4096, a.qp_access_flags);
	NEED(mr, "reg_mr: %s", why_text());
	see_flush(mr, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, 77);
	see_flush(mr, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR, 0);
	see_nothing();
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void unreliable(void)
{
	begin(IBV_QPT_UC);
	data(IBV_WR_RDMA_WRITE, 100, 0);
	data(IBV_WR_SEND, MTU + 1, 0);
	see_nothing();
	pair_close(&p);
}

static void datagram(uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, len);
	struct packet pkt;

	NEED_OK(post_recv_at(&p, 1, 1, 1024, 2 * MTU));
	perform(&wr);
	if (see(&pkt, UD | SEND_ONLY, psn, false)) {
		CHECK(get32(pkt.byte + 12) == PAIR_QKEY && get32(pkt.byte + 16) == p.qp[0]->qp_num,
		      "another queue pair's");
		see_bytes(&pkt, 20, p.buf[0] + 64, len);
	}
	psn++;
}

static void datagrams(void)
{
	begin(IBV_QPT_UD);
	datagram(77);
	see_nothing();
	pair_close(&p);
}

/*
 * The memory of former packets is used again. Long packets come first, and the padding of the
 * short ones behind them lies where data of long ones were.
 */
static void padding(void)
{
	stay_here();
	for (int rc = 0; rc < 2; rc++) {
		begin(rc ? IBV_QPT_RC : IBV_QPT_UD);
		memset(p.buf[0], 0xff, 2 * PAIR_HALF);
		for (int i = 0; i < 60; i++) {
			uint32_t len = i < 20 ? MTU : 1 + i % 3;

			if (!rc)
				datagram(len);
			else if (i & 1)
				read_in(len);
			else
				data(IBV_WR_RDMA_WRITE, len, 0);
		}
		pair_close(&p);
	}
}

/* Post a request that the peer refuses. The mirror shows it, and the peer's NAK. */
static void refused_as(struct ibv_send_wr *wr, enum ibv_wc_status want, uint8_t op, uint8_t says)
{
	struct packet pkt;
	struct ibv_wc wc;

	NEED_OK(post_one(&p, 0, wr));
	WANT_WC(p.cq[0], &wc, want);
	see(&pkt, op, psn, false);
	see_ack(ACK, psn, says, msn);
	see_nothing();
	pair_close(&p);
}

static void refused(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	begin(IBV_QPT_RC);
	data(IBV_WR_RDMA_WRITE, 5, 0);
	wr = request(IBV_WR_RDMA_WRITE, &sge, 16);
	wr.wr.rdma.rkey ^= 0x55;
	refused_as(&wr, IBV_WC_REM_ACCESS_ERR, WRITE_ONLY, 0x62);
}

/* The queue pair of the peer permits no write. */
static void not_permitted(void)
{
	struct ibv_qp_attr a = { .qp_access_flags = IBV_ACCESS_LOCAL_WRITE };
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	begin(IBV_QPT_RC);
	NEED_OK(ibv_modify_qp(p.qp[1], &a, IBV_QP_ACCESS_FLAGS));
	wr = request(IBV_WR_RDMA_WRITE, &sge, 16);
	refused_as(&wr, IBV_WC_REM_INV_REQ_ERR, WRITE_ONLY, 0x61);
}

/* The memory of the peer's receive request is not registered. */
static void no_memory_there(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	begin(IBV_QPT_RC);
	sge = pair_sge(&p, 1, 0, 64);
	sge.lkey ^= 0x55;
	NEED_OK(post_recv(&p, 1, 1, &sge, 1));
	wr = request(IBV_WR_SEND, &sge, 16);
	refused_as(&wr, IBV_WC_REM_OP_ERR, SEND_ONLY, 0x63);
}

/* The peer has no receive request yet. */
static void not_ready(void)
{
	struct packet pkt;
	struct ibv_wc wc;

	begin(IBV_QPT_RC);
	NEED_OK(post_send_at(&p, 0, 1, 64, 16, IBV_SEND_SIGNALED));
	see(&pkt, SEND_ONLY, psn, false);
	see_ack(ACK, psn, 0x21, msn);
	NEED_OK(post_recv_at(&p, 1, 1, 1024, LONGEST));
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* The mirror leaves out the middle packets of long messages. */
static void cut(void)
{
	begin(IBV_QPT_RC);
	if (!wire) {
		data(IBV_WR_RDMA_WRITE, LONGEST, 0);
		data(IBV_WR_RDMA_WRITE, SHOWN + 1, 0);
		see_nothing();
	}
	pair_close(&p);
}

/* The mirror is off. This case runs only by name. */
static void silent(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	begin(IBV_QPT_RC);
	wr = request(IBV_WR_RDMA_WRITE, &sge, 16);
	perform(&wr);
	see_nothing();
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "writes", writes },
	{ "sends", sends },
	{ "reads", reads },
	{ "atomics", atomics },
	{ "atomic_writes", atomic_writes },
	{ "flushes", flushes },
	{ "unreliable", unreliable },
	{ "datagrams", datagrams },
	{ "padding", padding },
	{ "refused", refused },
	{ "not_permitted", not_permitted },
	{ "no_memory_there", no_memory_there },
	{ "not_ready", not_ready },
	{ "cut", cut },
	{ "silent", silent },
};

/* Without a name, run all cases but the last. */
int main(int argc, char **argv)
{
	return test_run("mirror", argc, argv, cases, ARRAY_SIZE(cases) - (argc < 2), 30);
}
