// SPDX-License-Identifier: GPL-2.0
/*
 * adv21. Forged datagrams: of another partition, Q_Key or group, and longer than the receive
 * requests. None of them breaks the queue pair, which may be queue pair 1.
 */
#include "endpoint.h"

static void datagram_begin(struct packet *p, uint16_t pkey)
{
	packet_begin(p, SERVICE_UD | SEND_ONLY, 0, 8);
	p->byte[2] = pkey >> 8;
	p->byte[3] = pkey;
	put32(p->byte + 12, PAIR_QKEY);
	put32(p->byte + 16, PEER_QPN);
	p->len += 8;
	packet_fill(p, 8, 0x77);
}

/* Open a UD queue pair with receive requests, and direct the packet helpers to it. */
static struct ibv_qp *datagram_open(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = env.cq, .recv_cq = env.cq, .cap = { 1, 8, 1, 1 },
	};
	struct ibv_sge sge = { (uintptr_t)inbox(), INBOX / 2, env.inbox->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp *qp = ibv_create_qp(env.pd, &init);

	NEED_PTR(qp, "create_qp");
	NEED_OK(qp_to_init(qp));
	NEED_OK(qp_to_state(qp, IBV_QPS_RTR));
	for (int i = 0; i < 8; i++)
		CHECK_ERR(ibv_post_recv(qp, &wr, &bad), 0);
	peer.qpn = qp->qp_num;
	return qp;
}

static uint32_t pkey_violations(void)
{
	struct ibv_port_attr port;

	NEED_OK(ibv_query_port(env.dev.ctx, PORT, &port));
	return port.bad_pkey_cntr;
}

/* A datagram of another partition is counted, at a queue pair as at queue pair 1. */
static void other_partitions(void)
{
	struct ibv_qp *qp = datagram_open();
	const uint32_t to[] = { qp->qp_num, 1 };
	uint32_t before = pkey_violations();
	struct packet p;

	for (size_t i = 0; i < ARRAY_SIZE(to); i++) {
		for (int other = 0; other < 2; other++) {
			datagram_begin(&p, other ? 0x9234 : 0xffff);
			put32(p.byte + 4, to[i]);
			packet_send(&p);
		}
		for (uint64_t end = deadline_ms(WC_TIMEOUT); pkey_violations() == before + i &&
		     now_ns() < end;)
			sleep_ms(100);
	}
	CHECK(pkey_violations() == before + 2, "%u violations were counted", pkey_violations() - before);
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	peer.qpn = env.qp->qp_num;
	restart();
}

/*
 * A datagram with another P_Key or another Q_Key is dropped, and so is a datagram to a
 * multicast address with the number of a queue pair.
 */
static void stray_datagrams(void)
{
	struct in_addr from = { inet_addr("10.89.0.2") };
	struct ibv_qp *qp = datagram_open();
	struct packet p;
	struct ibv_wc wc;

	NEED(!setsockopt(peer.sock, IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof(from)),
	     "IP_MULTICAST_IF: %s", err_name(errno));
	datagram_begin(&p, 0x1234);
	packet_send(&p);
	CHECK(wait_wc(env.cq, &wc, 100) == 0, "another partition's datagram arrived");
	datagram_begin(&p, 0xffff);
	put32(p.byte + 12, PAIR_QKEY + 1);
	packet_send(&p);
	CHECK(wait_wc(env.cq, &wc, 100) == 0, "a datagram with another Q_Key arrived");
	datagram_begin(&p, 0xffff);
	/* Every host is a member of this group. */
	packet_send_to(&p, "10.89.0.2", "224.0.0.1", 0);
	CHECK(wait_wc(env.cq, &wc, 100) == 0, "a group's datagram arrived at a queue pair's number");
	for (int full = 0; full < 2; full++) {
		datagram_begin(&p, full ? 0xffff : 0x7fff);
		packet_send(&p);
		WANT_WC(env.cq, &wc, IBV_WC_SUCCESS);
	}
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	peer.qpn = env.qp->qp_num;
	restart();
}

static void send_datagram(uint32_t qpn, uint32_t qkey, uint32_t len)
{
	struct packet p;

	packet_begin(&p, SERVICE_UD | SEND_ONLY, 0, len);
	put32(p.byte + 4, qpn);
	put32(p.byte + 12, qkey);
	put32(p.byte + 16, PEER_QPN);
	p.len = 20;
	packet_fill(&p, len, 0x44);
	packet_send(&p);
}

static bool gsi_works(void)
{
	char cmd[200];

	snprintf(cmd, sizeof(cmd), "rdma resource show qp link %s/1 lqpn 1 | grep -q 'state RTS'",
		 ibv_get_device_name(env.dev.ctx->device));
	return !system(cmd);
}

/*
 * A single datagram from an arbitrary host must not break rdma_cm, which all users of the
 * device share.
 */
static void too_long_for_gsi(void)
{
	CHECK(gsi_works(), "queue pair 1 is not in RTS before the test");
	send_datagram(1, 0x80010000, 257);
	send_datagram(1, 0x80010000, 300);
	send_datagram(1, 0x80010000, 1024);
	sleep_ms(100);
	CHECK(gsi_works(), "queue pair 1 has failed by a datagram that is longer than its receives");
}

/* The number of datagrams that found no receive request. */
static uint64_t out_of_buffer(void)
{
	return hw_counter(ibv_get_device_name(env.dev.ctx->device), "out_of_buffer");
}

/* Open a UD queue pair with a receive request of @len bytes. */
static struct ibv_qp *receiver_open(uint32_t len)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .cap = { 8, 8, 1, 1, 0 }, .send_cq = env.cq, .recv_cq = env.cq,
	};
	struct ibv_sge sge = { (uintptr_t)inbox(), len, env.inbox->lkey };
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp *qp = ibv_create_qp(env.pd, &init);

	NEED_PTR(qp, "create_qp");
	NEED_OK(qp_to_init(qp));
	NEED_OK(ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR }, IBV_QP_STATE));
	CHECK_ERR(ibv_post_recv(qp, &wr, &bad), 0);
	return qp;
}

static void too_long_for_ud(void)
{
	struct ibv_qp *qp = receiver_open(40 + 64);
	unsigned long long before = out_of_buffer(), dropped;
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct ibv_wc wc;

	send_datagram(qp->qp_num, PAIR_QKEY, 65);
	while (out_of_buffer() == before && now_ns() < end)
		sleep_ms(100);
	dropped = out_of_buffer() - before;
	CHECK(dropped == 1, "%llu datagrams were counted as dropped", dropped);
	WANT_EMPTY(env.cq);
	CHECK(qp_state_now(qp) == IBV_QPS_RTR, "state %d", qp_state_now(qp));
	CHECK(is(inbox(), INBOX, 0xc5), "memory has changed");
	/* The receive request was not consumed. */
	send_datagram(qp->qp_num, PAIR_QKEY, 64);
	if (WANT_WC(env.cq, &wc, IBV_WC_SUCCESS))
		CHECK(wc.wr_id == 7 && wc.byte_len == 104, "id %d, %u bytes", (int)wc.wr_id,
		      wc.byte_len);
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	restart();
}

static uint64_t too_long(void)
{
	return hw_counter(ibv_get_device_name(env.dev.ctx->device), "rcvd_too_long");
}

/*
 * A datagram of the maximum length of any port is received. A longer one is dropped and
 * counted.
 */
static void too_long_for_any_port(void)
{
	struct ibv_qp *qp = receiver_open(INBOX);
	uint64_t before = too_long(), end = deadline_ms(WC_TIMEOUT);
	struct ibv_wc wc;

	send_datagram(qp->qp_num, PAIR_QKEY, 4097);
	while (too_long() == before && now_ns() < end)
		sleep_ms(100);
	CHECK(too_long() == before + 1, "the datagram was not counted");
	WANT_EMPTY(env.cq);
	send_datagram(qp->qp_num, PAIR_QKEY, 4096);
	if (WANT_WC(env.cq, &wc, IBV_WC_SUCCESS))
		CHECK(wc.byte_len == 40 + 4096, "%u bytes", wc.byte_len);
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	restart();
}

/*
 * Frames reach a queue pair of raw packets by its flows alone. A datagram with its number is
 * dropped. Such a queue pair has no Q_Key, so one of the datagrams has the Q_Key 0.
 */
static void to_raw_packets(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .cap = { 1, 8, 1, 1 }, .send_cq = env.cq, .recv_cq = env.cq,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT };
	struct ibv_sge sge = { (uintptr_t)inbox(), INBOX / 2, env.inbox->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp *raw = ibv_create_qp(env.pd, &init), *qp;
	struct ibv_wc wc;

	NEED_PTR(raw, "create_qp");
	NEED_OK(ibv_modify_qp(raw, &attr, IBV_QP_STATE | IBV_QP_PORT));
	NEED_OK(qp_to_state(raw, IBV_QPS_RTR));
	for (int i = 0; i < 4; i++)
		CHECK_ERR(ibv_post_recv(raw, &wr, &bad), 0);
	send_datagram(raw->qp_num, 0, 64);
	send_datagram(raw->qp_num, PAIR_QKEY, 64);
	packets_arrived();
	WANT_EMPTY(env.cq);
	CHECK(is(inbox(), INBOX, 0xc5), "memory has changed");
	CHECK(qp_state_now(raw) == IBV_QPS_RTR, "state %d", qp_state_now(raw));
	qp = receiver_open(40 + 64);
	send_datagram(qp->qp_num, PAIR_QKEY, 64);
	WANT_WC(env.cq, &wc, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_destroy_qp(qp), 0);
	CHECK_ERR(ibv_destroy_qp(raw), 0);
	restart();
}

static const struct test_case cases[] = {
	{ "open", open_all },
	{ "too_long_for_gsi", too_long_for_gsi },
	{ "too_long_for_ud", too_long_for_ud },
	{ "too_long_for_any_port", too_long_for_any_port },
	{ "to_raw_packets", to_raw_packets },
	{ "stray_datagrams", stray_datagrams },
	{ "other_partitions", other_partitions },
	{ "close", close_all },
};

TEST_MAIN("packets_ud (adv21)", cases, 120)
