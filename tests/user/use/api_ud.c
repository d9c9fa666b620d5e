// SPDX-License-Identifier: GPL-2.0
/* Datagrams: messages of UD, to one queue pair and to a group. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "testlib.h"
#include "wire.h"
#include "threads.h"
#include <univerbs.h>

/* The bytes in front of an IPv4 header are old, and may look like an IPv6 header. */
static void old_bytes_do_not_count(struct pair *p, struct ibv_wc *wc)
{
	struct ibv_ah_attr back;

	/* rdma_rxe leaves the checksum out of the headers of messages to itself. */
	ip_seal(p->buf[1] + 20);
	memset(p->buf[1], 0x66, 20);
	if (CHECK_ERR(ibv_init_ah_from_wc(p->dev.ctx, PORT, wc, (void *)p->buf[1], &back), 0))
		CHECK(!memcmp(&back.grh.dgid, &p->dev.gid, 16), "the way back, behind old bytes");
	memset(p->buf[1], 0xee, 20);
}

/*
 * An answer goes to the source of the header, and not to its destination: 192.0.2.7. It has the
 * traffic class of the header.
 */
static void answers_go_back(struct pair *p, struct ibv_wc *wc)
{
	static const uint8_t source[4] = { 192, 0, 2, 7 };
	struct ibv_ah_attr back;
	uint8_t *ipv4 = p->buf[1] + 20;

	if (p->dev.gid.raw[10] != 0xff || p->dev.gid.raw[11] != 0xff)
		return;
	old_bytes_do_not_count(p, wc);
	memcpy(ipv4 + 12, source, sizeof(source));
	ipv4[1] = 0x28;
	CHECK_ERR(ibv_init_ah_from_wc(p->dev.ctx, PORT, wc, (void *)p->buf[1], &back), 0);
	CHECK(!memcmp(&back.grh.dgid.raw[12], source, sizeof(source)), "to %u.%u.%u.%u",
	      back.grh.dgid.raw[12], back.grh.dgid.raw[13], back.grh.dgid.raw[14],
	      back.grh.dgid.raw[15]);
	CHECK(back.grh.traffic_class == 0x28, "traffic class %#x", back.grh.traffic_class);
	memcpy(ipv4 + 12, &p->dev.gid.raw[12], sizeof(source));
}

/*
 * As with mlx5, the lower bits of the service level are the kind of the header: 1 IPv6, 2 IPv4. Not
 * every rdma_rxe tells the kind.
 */
static void tells_header(const struct pair *p, const struct ibv_wc *wc)
{
	int kind = gid_is_ipv4(&p->dev.gid) ? 2 : 1;

	if (why_known() && !p->dev.port.lid)
		CHECK(wc->sl == kind || (on_rxe() && !wc->sl), "service level %u, expected %d",
		      wc->sl, kind);
}

/* A GID with an IPv6 address, which each net device has that is up. */
static int ipv6_gid(const struct test_dev *dev, union ibv_gid *gid)
{
	struct ibv_gid_entry e;

	for (int i = 0; i < dev->port.gid_tbl_len && i < 256; i++)
		if (!ibv_query_gid_ex(dev->ctx, PORT, i, &e, 0) && !gid_is_ipv4(&e.gid) &&
		    e.gid_type == IBV_GID_TYPE_ROCE_V2) {
			*gid = e.gid;
			return i;
		}
	return -1;
}

static int way_back(const struct test_dev *dev, struct ibv_grh *grh, struct ibv_ah_attr *back)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };

	return ibv_init_ah_from_wc(dev->ctx, PORT, &wc, grh, back);
}

/* The way back of a datagram with an IPv6 header; those of other packets are refused. */
static void ipv6_header(void)
{
	struct ibv_grh grh = { .version_tclass_flow = htobe32(6u << 28 | 0x28 << 20 | 0x12345),
		.next_hdr = IPPROTO_UDP, .hop_limit = 9 }, bad;
	struct ibv_ah_attr back;
	struct test_dev dev;
	int index;

	if (!why_known())
		return;
	dev_open(&dev);
	index = ipv6_gid(&dev, &grh.dgid);
	NEED(index >= 0, "the device has no GID with an IPv6 address");
	memset(&grh.sgid, 0, sizeof(grh.sgid));
	grh.sgid.raw[0] = 0xfd;
	grh.sgid.raw[15] = 7;
	CHECK_ERR(way_back(&dev, &grh, &back), 0);
	CHECK(back.is_global && back.grh.sgid_index == index &&
	      !memcmp(&back.grh.dgid, &grh.sgid, sizeof(grh.sgid)), "from GID %u, expected %d",
	      back.grh.sgid_index, index);
	CHECK(back.grh.traffic_class == 0x28 && back.grh.flow_label == 0x12345 &&
	      back.grh.hop_limit == 9, "class %#x label %#x hops %u", back.grh.traffic_class,
	      back.grh.flow_label, back.grh.hop_limit);
	bad = grh;
	bad.next_hdr = IPPROTO_TCP;
	CHECK(way_back(&dev, &bad, &back) == -1 && errno == EPROTONOSUPPORT, "TCP: %s",
	      err_name(errno));
	bad = grh;
	bad.version_tclass_flow = htobe32(5u << 28);
	CHECK(way_back(&dev, &bad, &back) == -1 && errno == EPROTONOSUPPORT, "version 5: %s",
	      err_name(errno));
	bad = grh;
	bad.dgid.raw[0] = 0xff;
	CHECK(way_back(&dev, &bad, &back) == -1 && errno == EINVAL, "a group: %s", err_name(errno));
	bad = grh;
	bad.dgid.raw[15] ^= 0xff;
	CHECK(way_back(&dev, &bad, &back) == -1 && errno == ENOENT, "no GID: %s", err_name(errno));
	dev_close(&dev);
}

static void ud_message(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	struct ibv_ah_attr back;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK(pair_works(&p), "messages over UD");
	memset(p.buf[1], 0xee, 4096);
	fill(p.buf[0], 500, 6);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 1024), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 500, IBV_SEND_SIGNALED), 0);
	memset(&wc, 0, sizeof(wc));
	if (WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS)) {
		CHECK(wc.byte_len == 540 && wc.wc_flags & IBV_WC_GRH &&
		      wc.src_qp == p.qp[0]->qp_num, "len %u flags %#x src_qp %u", wc.byte_len,
		      wc.wc_flags, wc.src_qp);
		CHECK_BYTES(p.buf[1] + 40, 500, 6, "datagram");
		tells_header(&p, &wc);
		CHECK_ERR(ibv_init_ah_from_wc(p.dev.ctx, PORT, &wc, (void *)p.buf[1], &back), 0);
		CHECK(!memcmp(&back.grh.dgid, &p.dev.gid, 16), "the way back");
		answers_go_back(&p, &wc);
		ah = ibv_create_ah_from_wc(p.pd, &wc, (void *)p.buf[1], PORT);
		CHECK(ah, "create_ah_from_wc: %s; %s", err_name(errno), why_text());
		if (ah)
			CHECK_ERR(ibv_destroy_ah(ah), 0);
	}
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void ud_imm(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(99),
	};
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	wr_address(&p, 0, &wr);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 40), 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK(wc.byte_len == 40 && wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htobe32(99),
	      "len %u flags %#x", wc.byte_len, wc.wc_flags);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* A datagram with the wrong Q_Key is dropped silently. */
static void ud_wrong_qkey(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	wr_address(&p, 0, &wr);
	wr.wr.ud.remote_qkey = PAIR_QKEY + 1;
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 64), 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	sleep_ms(100);
	WANT_EMPTY(p.cq[1]);
	pair_close(&p);
}

/* Post a datagram of @len bytes with this Q_Key from the first side. */
static void send_with_qkey(struct pair *p, uint32_t qkey, uint32_t len)
{
	struct ibv_sge sge = pair_sge(p, 0, 0, len);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	wr_address(p, 0, &wr);
	wr.wr.ud.remote_qkey = qkey;
	CHECK_ERR(post_recv_at(p, 1, 1, 0, 128), 0);
	CHECK_ERR(post_one(p, 0, &wr), 0);
	WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
}

/*
 * A Q_Key whose highest bit is set stands for the one of the sender's queue pair. rdma_rxe sends
 * it as it is. On one processor no packet overtakes another one.
 */
static void ud_own_qkey(void)
{
	static const uint32_t high[] = { 0x80000000, 0x80000001, 0x80000000 | PAIR_QKEY, 0xffffffff };
	struct pair_want want = { .type = IBV_QPT_UD };
	struct ibv_qp_attr attr = { .qkey = PAIR_QKEY + 1 };
	struct ibv_wc wc;
	struct pair p;

	if (!on_uroce())
		return;
	stay_here();
	pair_open(&p, &want);
	for (size_t i = 0; i < ARRAY_SIZE(high) && !test_failures; i++) {
		send_with_qkey(&p, high[i], 8);
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	}
	/* The peer has another Q_Key than the sender now. */
	CHECK_ERR(ibv_modify_qp(p.qp[0], &attr, IBV_QP_QKEY), 0);
	for (size_t i = 0; i < ARRAY_SIZE(high) && !test_failures; i++) {
		send_with_qkey(&p, high[i], 8);
		send_with_qkey(&p, PAIR_QKEY, 16);
		if (WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS))
			CHECK(wc.byte_len == 40 + 16, "Q_Key %#x: a datagram of another Q_Key arrived", high[i]);
	}
	pair_close(&p);
}

/* Join the group with a socket: otherwise the network does not loop a host's own datagrams back. */
static int join_group(const struct test_dev *dev, const union ibv_gid *group)
{
	struct ip_mreqn req = { 0 };
	struct ibv_gid_entry gid;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	NEED_OK(ibv_query_gid_ex(dev->ctx, PORT, dev->gid_index, &gid, 0));
	memcpy(&req.imr_multiaddr, group->raw + 12, 4);
	req.imr_ifindex = gid.ndev_ifindex;
	NEED(!setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &req, sizeof(req)),
	     "IP_ADD_MEMBERSHIP: %s", err_name(errno));
	return fd;
}

static void multicast(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_ah_attr attr;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct pair p;
	int member;

	pair_open(&p, &want);
	member = join_group(&p.dev, &group);
	CHECK(ibv_attach_mcast(p.qp[0], &p.dev.gid, 0), "attached to a GID that is no group");
	if (why_known())
		CHECK(why_reason() == UNIV_REASON_NOT_MULTICAST, "explained as: %s", why_text());
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_attach_mcast(p.qp[i], &group, 0), 0);
	ah_attr_to(&p.dev, &attr);
	attr.grh.dgid = group;
	ah = ibv_create_ah(p.pd, &attr);
	NEED(ah, "create_ah of a group: %s; %s", err_name(errno), why_text());
	for (int i = 0; i < 2; i++)
		CHECK_ERR(post_recv_at(&p, i, 1, 4096, 1024), 0);
	fill(p.buf[0], 300, 12);
	sge = pair_sge(&p, 0, 0, 300);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = PAIR_QKEY;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[1] + 4096 + 40, 300, 12, "datagram to a group");
	for (int n = 0; n < 2; n++)
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_detach_mcast(p.qp[i], &group, 0), 0);
	CHECK(ibv_detach_mcast(p.qp[0], &group, 0), "detached twice");
	/*
	 * Ethernet has no LIDs, so another LID means the same group, and the queue pair can
	 * be destroyed after one detach for each attach.
	 */
	CHECK_ERR(ibv_attach_mcast(p.qp[0], &group, 0xc001), 0);
	CHECK_ERR(ibv_attach_mcast(p.qp[0], &group, 0xc002), 0);
	CHECK_ERR(ibv_detach_mcast(p.qp[0], &group, 0xc002), 0);
	CHECK(ibv_detach_mcast(p.qp[0], &group, 0xc001), "detached twice, by another LID");
	CHECK_ERR(ibv_destroy_ah(ah), 0);
	close(member);
	pair_close(&p);
}

/* A queue pair that does not get its own multicasts, or NULL with errno. */
static struct ibv_qp *mute_qp(struct pair *p)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_UD, .send_cq = p->cq[0], .recv_cq = p->cq[0], .pd = p->pd, .cap = { 4, 4, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT, .qkey = PAIR_QKEY };
	struct ibv_qp *qp = ibv_create_qp_ex(p->dev.ctx, &init);

	if (!qp)
		return NULL;
	NEED_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	NEED_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	NEED_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	return qp;
}

static void own_multicast(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 4 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .num_sge = 1 }, *bad;
	struct ibv_recv_wr recv = { .wr_id = 9, .num_sge = 1 }, *bad_recv;
	struct ibv_sge sge, room;
	struct ibv_ah_attr attr;
	struct ibv_wc wc;
	struct ibv_qp *qp;
	struct pair p;

	pair_open(&p, &want);
	qp = mute_qp(&p);
	if (!qp) {
		CHECK(!on_uroce() && errno == EOPNOTSUPP, "create_qp_ex: %s; %s", err_name(errno), why_text());
		pair_close(&p);
		return;
	}
	sge = pair_sge(&p, 0, 0, 300);
	/* There is room for the headers, too, so the message would fit. */
	room = pair_sge(&p, 0, 4096, 1024);
	wr.sg_list = &sge;
	recv.sg_list = &room;
	CHECK_ERR(ibv_attach_mcast(qp, &group, 0), 0);
	CHECK_ERR(ibv_attach_mcast(p.qp[1], &group, 0), 0);
	CHECK_ERR(ibv_post_recv(qp, &recv, &bad_recv), 0);
	CHECK_ERR(post_recv_at(&p, 1, 1, 4096, 1024), 0);
	ah_attr_to(&p.dev, &attr);
	attr.grh.dgid = group;
	wr.wr.ud.ah = ibv_create_ah(p.pd, &attr);
	NEED(wr.wr.ud.ah, "create_ah of a group: %s; %s", err_name(errno), why_text());
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = PAIR_QKEY;
	CHECK_ERR(ibv_post_send(qp, &wr, &bad), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	if (WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
		CHECK(wc.opcode == IBV_WC_SEND, "opcode %d", wc.opcode);
	WANT_EMPTY(p.cq[0]);
	CHECK_ERR(ibv_detach_mcast(p.qp[1], &group, 0), 0);
	CHECK_ERR(ibv_detach_mcast(qp, &group, 0), 0);
	CHECK_ERR(ibv_destroy_ah(wr.wr.ud.ah), 0);
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "ud_message", ud_message },
	{ "ipv6_header", ipv6_header },
	{ "ud_imm", ud_imm },
	{ "ud_wrong_qkey", ud_wrong_qkey },
	{ "ud_own_qkey", ud_own_qkey },
	{ "multicast", multicast },
	{ "own_multicast", own_multicast },
};

TEST_MAIN("api_ud", cases, 30)
