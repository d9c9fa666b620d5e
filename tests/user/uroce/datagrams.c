// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams between two devices with a network between them. The IP header in the first
 * bytes of each receive buffer shows the addresses, the traffic class and the flow label.
 * UNIV_TEST_PEER names the second device; UNIV_TEST_GIDS selects the addresses if they are
 * not IPv4.
 */
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include "side.h"

#define MESSAGES	200
#define SLOT		8192
#define SLOTS		8
#define GRH		40
#define TCLASS		0x28		/* without UNIV_TEST_CLASS */
#define LABEL		0xabcde
#define HOPS		64		/* The kernel ignores this value and uses the hop limit
					 * of the route. */
/* BTH, DETH, ImmDt and ICRC of a datagram with immediate data. */
#define HEADERS		(12 + 8 + 4 + 4)
#define GROUP		0xffffff	/* the queue pair that a multicast packet names */

static struct ibv_ah *way(const struct side *from, const struct side *to, uint32_t label)
{
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	ah_attr_to(&from->dev, &attr);
	attr.grh.dgid = to->dev.gid;
	attr.grh.traffic_class = class_wanted(TCLASS);
	attr.grh.flow_label = label;
	attr.grh.hop_limit = HOPS;
	ah = ibv_create_ah(from->pd, &attr);
	NEED_PTR(ah, "create_ah");
	return ah;
}

/* Bytes behind the IP header of a datagram of @len bytes, padded to a multiple of four. */
static uint32_t behind_ip(uint32_t len)
{
	return sizeof(struct udphdr) + HEADERS + (len + 3) / 4 * 4;
}

static void check_ipv4(const uint8_t *grh, const struct side *from, const struct side *to, uint32_t len)
{
	const struct iphdr *ip = (const void *)(grh + GRH - sizeof(*ip));

	CHECK(ip->version == 4 && ip->ihl == 5, "IPv%u, %u words", ip->version, ip->ihl);
	CHECK(!memcmp(&ip->saddr, from->dev.gid.raw + 12, 4), "source address");
	CHECK(!memcmp(&ip->daddr, to->dev.gid.raw + 12, 4), "destination address");
	CHECK(ip->tos == class_wanted(TCLASS), "type of service %#x", ip->tos);
	CHECK(ip->ttl == HOPS, "%u hops", ip->ttl);
	CHECK(ip->protocol == IPPROTO_UDP, "protocol %u", ip->protocol);
	CHECK(be16toh(ip->tot_len) == sizeof(*ip) + behind_ip(len), "%u bytes: total length %u", len,
	      be16toh(ip->tot_len));
}

static void check_ipv6(const uint8_t *grh, const struct side *from, const struct side *to, uint32_t len)
{
	const struct ip6_hdr *ip = (const void *)grh;

	CHECK(be32toh(ip->ip6_flow) == (6u << 28 | class_wanted(TCLASS) << 20 | LABEL),
	      "version, class and label %#x", be32toh(ip->ip6_flow));
	CHECK(!memcmp(&ip->ip6_src, &from->dev.gid, 16), "source address");
	CHECK(!memcmp(&ip->ip6_dst, &to->dev.gid, 16), "destination address");
	CHECK(ip->ip6_hlim == HOPS, "%u hops", ip->ip6_hlim);
	CHECK(ip->ip6_nxt == IPPROTO_UDP, "next header %u", ip->ip6_nxt);
	CHECK(be16toh(ip->ip6_plen) == behind_ip(len), "%u bytes: payload length %u", len,
	      be16toh(ip->ip6_plen));
}

static bool deliver_to(struct side *from, struct side *to, struct ibv_ah *ah, uint32_t qp_num,
		       uint32_t n, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)from->buf, len, from->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = n, .sg_list = &sge, .num_sge = !!len, .opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htobe32(n),
		.wr.ud = { ah, qp_num, PAIR_QKEY },
	}, *bad;
	struct ibv_wc wc;

	NEED_OK(ibv_post_send(from->qp, &wr, &bad));
	return WANT_WC(from->cq, &wc, IBV_WC_SUCCESS) &&
	       WANT_WC(to->cq, &wc, IBV_WC_SUCCESS) &&
	       CHECK(wc.byte_len == GRH + len, "datagram %u: %u bytes", n, wc.byte_len) &&
	       CHECK(wc.wc_flags & IBV_WC_GRH, "datagram %u: no GRH", n) &&
	       CHECK(be32toh(wc.imm_data) == n, "datagram %u: immediate", n);
}

static bool deliver(struct side *from, struct side *to, struct ibv_ah *ah, uint32_t n, uint32_t len)
{
	return deliver_to(from, to, ah, to->qp->qp_num, n, len);
}

static void post_slot(struct side *s)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, SLOT, s->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	NEED_OK(ibv_post_recv(s->qp, &wr, &bad));
}

static bool exchange_len(struct side *from, struct side *to, struct ibv_ah *ah, uint32_t n,
			 uint32_t len)
{
	memset(to->buf, 0x5a, SLOT);
	fill(from->buf, len, n);
	post_slot(to);
	if (!deliver(from, to, ah, n, len))
		return false;
	CHECK_BYTES(to->buf + GRH, len, n, "datagram");
	CHECK(to->buf[GRH + len] == 0x5a, "datagram %u: a byte behind it", n);
	(gid_is_ipv4(&from->dev.gid) ? check_ipv4 : check_ipv6)(to->buf, from, to, len);
	return true;
}

static bool exchange(struct side *from, struct side *to, struct ibv_ah *ah, uint32_t n)
{
	static const uint32_t sizes[] = { 0, 1, 63, 64, 1000, 1024 };

	return exchange_len(from, to, ah, n, sizes[n % ARRAY_SIZE(sizes)]);
}

static void both_ways(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { SLOTS, SLOTS, 1, 1, 0 } };
	struct side side[2] = {};
	struct ibv_ah *ah[2];

	sides_open(side, init, SLOTS * SLOT);
	for (int i = 0; i < 2; i++) {
		qp_connect(&side[i].dev, side[i].qp, 0, NULL);
		ah[i] = way(&side[i], &side[!i], LABEL);
	}
	for (int n = 0; n < test_rounds(MESSAGES); n++)
		if (!exchange(&side[n % 2], &side[!(n % 2)], ah[n % 2], n))
			break;
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_ah(ah[i]), 0);
		side_close(&side[i]);
	}
}

/*
 * A member of a group of the other device gets a datagram, also if both devices are in one network
 * namespace. Each host is in the group of all nodes, which needs IPv6. The datagram has the last
 * PSN, and 0 follows it.
 */
static void to_all_nodes(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { SLOTS, SLOTS, 1, 1, 0 } };
	struct ibv_ah_attr attr;
	struct ibv_qp_attr state = { .qp_state = IBV_QPS_RTS, .sq_psn = 0xffffff };
	const union ibv_gid all = { .raw = { 0xff, 0x02, [15] = 1 } };
	struct side side[2] = {};
	struct ibv_ah *ah;

	sides_open(side, init, SLOTS * SLOT);
	NEED_OK(qp_to_init(side[0].qp));
	NEED_OK(qp_to_rtr(&side[0].dev, side[0].qp, 0));
	NEED_OK(ibv_modify_qp(side[0].qp, &state, IBV_QP_STATE | IBV_QP_SQ_PSN));
	qp_connect(&side[1].dev, side[1].qp, 0, NULL);
	NEED_OK(ibv_attach_mcast(side[1].qp, &all, 0));
	ah_attr_to(&side[0].dev, &attr);
	attr.grh.dgid = all;
	ah = ibv_create_ah(side[0].pd, &attr);
	NEED_PTR(ah, "create_ah");
	post_slot(&side[1]);
	deliver_to(&side[0], &side[1], ah, GROUP, 7, 100);
	NEED_OK(ibv_query_qp(side[0].qp, &state, IBV_QP_SQ_PSN, &init));
	CHECK(!state.sq_psn, "sq_psn %#x", state.sq_psn);
	CHECK_ERR(ibv_destroy_ah(ah), 0);
	CHECK_ERR(ibv_detach_mcast(side[1].qp, &all, 0), 0);
	for (int i = 0; i < 2; i++)
		side_close(&side[i]);
}

/* A datagram carries the number that its queue pair was created with, and not its own one. */
static void source_number(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { SLOTS, SLOTS, 1, 1, 0 } };
	struct ibv_qp_init_attr_ex ex = {
		.qp_type = IBV_QPT_UD, .cap = init.cap, .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_SOURCE_QPN, .source_qpn = 0x123456,
	};
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct side side[2] = {};
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct ibv_wc wc;

	sides_open(side, init, SLOTS * SLOT);
	CHECK_ERR(ibv_destroy_qp(side[0].qp), 0);
	ex.pd = side[0].pd;
	ex.send_cq = ex.recv_cq = side[0].cq;
	side[0].qp = ibv_create_qp_ex(side[0].dev.ctx, &ex);
	NEED(side[0].qp, "create_qp_ex: %s; %s", err_name(errno), why_text());
	for (int i = 0; i < 2; i++)
		qp_connect(&side[i].dev, side[i].qp, 0, NULL);
	ah = way(&side[0], &side[1], LABEL);
	sge = (struct ibv_sge){ (uintptr_t)side[1].buf, SLOT, side[1].mr->lkey };
	wr.sg_list = &sge;
	NEED_OK(ibv_post_recv(side[1].qp, &wr, &bad));
	sge = (struct ibv_sge){ (uintptr_t)side[0].buf, 64, side[0].mr->lkey };
	NEED_OK(ibv_post_send(side[0].qp, &(struct ibv_send_wr){
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { ah, side[1].qp->qp_num, PAIR_QKEY } }, &(struct ibv_send_wr *){ NULL }));
	WANT_WC(side[0].cq, &wc, IBV_WC_SUCCESS);
	if (WANT_WC(side[1].cq, &wc, IBV_WC_SUCCESS))
		CHECK(wc.src_qp == 0x123456, "src_qp %#x", wc.src_qp);
	CHECK_ERR(ibv_destroy_ah(ah), 0);
	for (int i = 0; i < 2; i++)
		side_close(&side[i]);
}

static uint32_t port_mtu(const struct side *s)
{
	struct ibv_port_attr port;

	NEED_OK(ibv_query_port(s->dev.ctx, 1, &port));
	return 128u << port.active_mtu;
}

/*
 * The MTU of the port changes while the queue pairs are in use: the command DATAGRAMS_GROW
 * raises it, and DATAGRAMS_SHRINK lowers it again. A datagram of the MTU that
 * ibv_query_port() reports is sent and received, and a send of one more byte fails.
 */
static void mtu_changes(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { SLOTS, SLOTS, 1, 1, 0 } };
	const char *grow = getenv("DATAGRAMS_GROW"), *shrink = getenv("DATAGRAMS_SHRINK");
	struct side side[2] = {};
	struct ibv_ah *ah[2];
	struct ibv_sge sge;
	struct ibv_wc wc;
	uint32_t before;

	NEED(grow && shrink, "DATAGRAMS_GROW and DATAGRAMS_SHRINK are not set");
	sides_open(side, init, SLOTS * SLOT);
	before = port_mtu(&side[0]);
	for (int i = 0; i < 2; i++) {
		qp_connect(&side[i].dev, side[i].qp, 0, NULL);
		ah[i] = way(&side[i], &side[!i], LABEL);
	}
	NEED(!system(grow), "%s", grow);
	CHECK(port_mtu(&side[0]) > before, "the MTU is still %u", before);
	for (int i = 0; i < 2; i++)
		exchange_len(&side[i], &side[!i], ah[i], i, port_mtu(&side[i]));
	NEED(!system(shrink), "%s", shrink);
	CHECK(port_mtu(&side[0]) == before, "the MTU is %u, not %u", port_mtu(&side[0]), before);
	exchange_len(&side[0], &side[1], ah[0], 2, before);
	sge = (struct ibv_sge){ (uintptr_t)side[0].buf, before + 1, side[0].mr->lkey };
	NEED_OK(ibv_post_send(side[0].qp, &(struct ibv_send_wr){
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { ah[0], side[1].qp->qp_num, PAIR_QKEY } }, &(struct ibv_send_wr *){ NULL }));
	WANT_WC(side[0].cq, &wc, IBV_WC_LOC_LEN_ERR);
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_ah(ah[i]), 0);
		side_close(&side[i]);
	}
}

/* Open a queue pair on each side, and another one on the device of the first. */
static void three_open(struct side side[2], struct side *third)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { SLOTS, SLOTS, 1, 1, 0 } };

	sides_open(side, init, SLOTS * SLOT);
	side_open(third, ibv_get_device_name(side[0].dev.ctx->device), init, SLOTS * SLOT);
	qp_connect(&third->dev, third->qp, 0, NULL);
	for (int i = 0; i < 2; i++)
		qp_connect(&side[i].dev, side[i].qp, 0, NULL);
}

/* Send a datagram and expect its completion. It need not arrive. */
static bool leave(struct side *from, struct side *to, struct ibv_ah *ah)
{
	struct ibv_sge sge = { (uintptr_t)from->buf, 64, from->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { ah, to->qp->qp_num, PAIR_QKEY },
	}, *bad;
	struct ibv_wc wc;

	NEED_OK(ibv_post_send(from->qp, &wr, &bad));
	return WANT_WC(from->cq, &wc, IBV_WC_SUCCESS);
}

/*
 * A number of a queue pair of another device reaches nothing at this address, although both devices
 * are in this host. The datagram behind it has arrived, so the first one has been dropped.
 */
static void other_device(void)
{
	struct side side[2] = {}, elsewhere = {};
	struct ibv_ah *ah;

	three_open(side, &elsewhere);
	ah = way(&side[0], &side[1], LABEL);
	post_slot(&elsewhere);
	if (leave(&side[0], &elsewhere, ah))
		exchange(&side[0], &side[1], ah, 1);
	WANT_EMPTY(elsewhere.cq);
	CHECK_ERR(ibv_destroy_ah(ah), 0);
	side_close(&elsewhere);
	for (int i = 0; i < 2; i++)
		side_close(&side[i]);
}

/* ---- the UDP source port, by which switches tell flows apart ---- */

/*
 * Open a packet socket that sees packets leaving through the network device below the RDMA
 * device of @s; both have the same name.
 */
static int watch(const struct side *s)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htobe16(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(ibv_get_device_name(s->dev.ctx->device)),
	};
	struct timeval limit = { .tv_sec = WC_TIMEOUT / 1000 };
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);

	NEED(fd >= 0 && at.sll_ifindex && !bind(fd, (void *)&at, sizeof(at)) &&
	     !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
	     "packet socket: %s", err_name(errno));
	return fd;
}

/* Return the source port of the next outgoing RoCE packet, or 0 if none is sent. */
static uint16_t seen_sport(int fd, size_t ip_header)
{
	struct sockaddr_ll at;
	socklen_t size = sizeof(at);
	struct udphdr udp;
	uint8_t byte[2048];
	ssize_t got;

	while ((got = recvfrom(fd, byte, sizeof(byte), 0, (void *)&at, &size)) >= 0) {
		size = sizeof(at);
		memcpy(&udp, byte + ip_header, sizeof(udp));
		if (at.sll_pkttype == PACKET_OUTGOING && got >= (ssize_t)(ip_header + sizeof(udp)) &&
		    be16toh(udp.dest) == 4791)
			return be16toh(udp.source);
	}
	return 0;
}

/*
 * Annex A17 of the specification derives the source port from the flow label: it is at
 * least 0xc000, and all 20 bits of the label count. Without a label, any port from 0xc000
 * up is right.
 */
static void want_sport(uint32_t label, uint16_t port)
{
	uint16_t want = 0xc000 | ((label ^ label >> 14) & 0x3fff);

	if (label)
		CHECK(port == want, "label %#x: port %#x, not %#x", label, port, want);
	else
		CHECK(port >= 0xc000, "no label: port %#x", port);
}

static void source_port(void)
{
	static const uint32_t labels[] = { 0, 1, 0x4000, 0xfc001, LABEL, 0xfffff };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { SLOTS, SLOTS, 1, 1, 0 } };
	struct side side[2] = {};
	size_t ip_header;
	int fd;

	sides_open(side, init, SLOTS * SLOT);
	for (int i = 0; i < 2; i++)
		qp_connect(&side[i].dev, side[i].qp, 0, NULL);
	ip_header = gid_is_ipv4(&side[0].dev.gid) ? sizeof(struct iphdr) : sizeof(struct ip6_hdr);
	for (unsigned int i = 0; i < ARRAY_SIZE(labels); i++) {
		struct ibv_ah *ah = way(&side[0], &side[1], labels[i]);

		post_slot(&side[1]);
		fd = watch(&side[0]);
		if (deliver(&side[0], &side[1], ah, i, 64))
			want_sport(labels[i], seen_sport(fd, ip_header));
		close(fd);
		CHECK_ERR(ibv_destroy_ah(ah), 0);
	}
	for (int i = 0; i < 2; i++)
		side_close(&side[i]);
}

/* ---- Neighbours that stop answering ---- */

#define SILENT		6
#define SILENT_FIRST	101	/* The last byte of the first neighbour's address. */

/* Post up to 200 datagrams, or fewer if the queue is full. */
static void flood(struct side *s, struct ibv_ah *const *ah, unsigned int *posted)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, 1024, s->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;

	for (int i = 0; i < 200; i++) {
		wr.wr.ud.ah = ah[*posted % SILENT];
		wr.wr.ud.remote_qpn = 17;
		if (ibv_post_send(s->qp, &wr, &bad))
			break;
		++*posted;
		while (ibv_poll_cq(s->cq, 1, &wc) > 0)
			;
	}
}

/*
 * One queue pair sends to six neighbours that do not answer; this must not delay the
 * datagrams of another queue pair. The neighbours are addresses of the peer's host until
 * the command DATAGRAMS_SILENCE removes them.
 */
static void silent(void)
{
	const char *silence = getenv("DATAGRAMS_SILENCE");
	struct side side[2] = {}, sender = {};
	struct ibv_ah *ah[SILENT], *live;
	unsigned int posted = 0, slow = 0, n;
	uint64_t end, start;

	NEED(silence, "DATAGRAMS_SILENCE is not set");
	three_open(side, &sender);
	live = way(&side[0], &side[1], LABEL);
	for (int i = 0; i < SILENT; i++) {
		struct side there = side[1];

		there.dev.gid.raw[15] = SILENT_FIRST + i;
		ah[i] = way(&sender, &there, LABEL);
	}
	NEED(!system(silence), "%s", silence);
	end = deadline_ms(4000 * test_slowness());
	for (n = 0; race_goes_on(end, n >= 20 && posted > 500); n++) {
		flood(&sender, ah, &posted);
		start = now_ns();
		if (!exchange(&side[0], &side[1], live, n))
			break;
		slow += now_ns() - start > 300 * 1000000ull * test_slowness();
	}
	printf("%u datagrams to nobody; %u of %u others took long\n", posted, slow, n);
	/*
	 * A stall of the machine delays a few datagrams. A queue that unreachable
	 * neighbours fill would delay each of them.
	 */
	CHECK(slow * 4 < n, "others wait");
	CHECK(posted > 500, "only %u were sent", posted);
	for (int i = 0; i < SILENT; i++)
		CHECK_ERR(ibv_destroy_ah(ah[i]), 0);
	CHECK_ERR(ibv_destroy_ah(live), 0);
	side_close(&sender);
	for (int i = 0; i < 2; i++)
		side_close(&side[i]);
}

/* ---- A link that holds back every packet ---- */

#define WRITERS		128

/*
 * Connect to a queue pair that does not exist on @to's host, and post as many writes of the
 * whole buffer as the queue holds.
 */
static struct ibv_qp *writer_open(const struct side *s, const struct side *to)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { SLOTS, 1, 1, 1, 0 }, .send_cq = s->cq, .recv_cq = s->cq,
	};
	struct ibv_sge sge = { (uintptr_t)s->buf, s->size, s->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)to->buf, to->mr->rkey },
	}, *bad;
	const struct pair_want want = { .timeout = 22 };
	struct ibv_qp *qp = ibv_create_qp(s->pd, &init);
	struct test_dev there = s->dev;

	NEED_PTR(qp, "create_qp");
	there.gid = to->dev.gid;
	qp_connect(&there, qp, 0xabcdef, &want);
	for (int i = 0; i < SLOTS; i++)
		NEED_OK(ibv_post_send(qp, &wr, &bad));
	return qp;
}

/*
 * Connections use up the packets that a namespace may have under way, and take each slot as
 * soon as it is free. Datagrams are sent all the same. The command DATAGRAMS_HOLD makes the
 * link hold its packets back.
 */
static void full(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { SLOTS, SLOTS, 1, 1, 0 } };
	const char *hold = getenv("DATAGRAMS_HOLD");
	struct ibv_qp *writer[WRITERS];
	struct side side[2] = {};
	struct ibv_ah *ah;
	int slow = 0;

	NEED(hold, "DATAGRAMS_HOLD is not set");
	sides_open(side, init, SLOTS * SLOT);
	for (int i = 0; i < 2; i++)
		qp_connect(&side[i].dev, side[i].qp, 0, NULL);
	ah = way(&side[0], &side[1], LABEL);
	if (exchange(&side[0], &side[1], ah, 0)) {
		NEED(!system(hold), "%s", hold);
		for (int i = 0; i < WRITERS; i++)
			writer[i] = writer_open(&side[0], &side[1]);
		for (int i = 0; i < 20; i++) {
			uint64_t start = now_ns();

			if (!leave(&side[0], &side[1], ah))
				break;
			slow += now_ns() - start > 1000000000ull * test_slowness();
		}
		/* As in silent(): a queue that the writers fill would delay each of them. */
		CHECK(slow * 4 < 20, "%d of 20 datagrams took long", slow);
		for (int i = 0; i < WRITERS; i++)
			CHECK_ERR(ibv_destroy_qp(writer[i]), 0);
	}
	CHECK_ERR(ibv_destroy_ah(ah), 0);
	for (int i = 0; i < 2; i++)
		side_close(&side[i]);
}

static const struct test_case cases[] = {
	{ "both_ways", both_ways },
	{ "to_all_nodes", to_all_nodes },
	{ "source_number", source_number },
	{ "other_device", other_device },
	{ "mtu_changes", mtu_changes },
	{ "source_port", source_port },
	{ "silent", silent },
	{ "full", full },
};

TEST_MAIN("datagrams", cases, 60)
