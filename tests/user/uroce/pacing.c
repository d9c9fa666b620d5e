// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of the rate of a queue pair: packets of every transport take at least the time
 * that the limit demands, and a slow sender is not taken for a lost one. Only lower bounds
 * are checked, so a slow machine fails no test.
 */
#include "raw.h"

#define PART 65536u

static void set_up(struct pair *p, const struct pair_want *want)
{
	use_packets(true);
	pair_open(p, want);
}

static void tear_down(struct pair *p)
{
	pair_close(p);
	use_packets(false);
}

static void limit(struct pair *p, uint32_t kbps, uint32_t burst)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = kbps, .max_burst_sz = burst };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;

	CHECK_ERR(ibv_modify_qp_rate_limit(p->qp[0], &attr), 0);
	NEED_OK(ibv_query_qp(p->qp[0], &got, IBV_QP_RATE_LIMIT, &init));
	CHECK(got.rate_limit == kbps, "the rate is %u, expected %u", got.rate_limit, kbps);
}

static void post_part(struct pair *p, enum ibv_wr_opcode op, uint32_t len, bool last)
{
	struct ibv_sge sge = pair_sge(p, 0, 0, len);
	struct ibv_send_wr wr = {
		.opcode = op, .sg_list = &sge, .num_sge = 1,
		.send_flags = last ? IBV_SEND_SIGNALED : 0,
	};

	wr_address(p, 0, &wr);
	if (op == IBV_WR_RDMA_WRITE) {
		wr.wr.rdma.remote_addr = (uintptr_t)p->buf[1];
		wr.wr.rdma.rkey = p->mr->rkey;
	}
	CHECK_ERR(post_one(p, 0, &wr), 0);
}

/* Send @count messages of @len bytes; return the nanoseconds until the last has completed. */
static uint64_t take(struct pair *p, enum ibv_wr_opcode op, int count, uint32_t len)
{
	uint64_t begin = now_ns();
	struct ibv_wc wc;

	for (int i = 0; i < count; i++)
		post_part(p, op, len, i == count - 1);
	CHECK(wait_wc(p->cq[0], &wc, 6 * WC_TIMEOUT) == 1 && wc.status == IBV_WC_SUCCESS,
	      "the last message has not completed");
	return now_ns() - begin;
}

/* The least nanoseconds for so many bytes, of which one burst and one packet leave at once. */
static uint64_t least(uint64_t bytes, uint32_t burst, uint32_t kbps)
{
	return (bytes - burst - 5000) * 8 * 1000000 / kbps;
}

static void transport(enum ibv_qp_type type, enum ibv_wr_opcode op, uint32_t len)
{
	const uint32_t kbps = len == PART ? 40000 : 4000, burst = len == PART ? PART : 8192;
	const int count = len == PART ? 32 : 60;
	uint64_t took, need;
	struct pair p;

	set_up(&p, &(struct pair_want){ .type = type });
	limit(&p, kbps, burst);
	need = least((uint64_t)count * len, burst, kbps);
	took = take(&p, op, count, len);
	CHECK(took >= need, "%d messages of %u bytes took %llu us, and need %llu", count, len,
	      (unsigned long long)took / 1000, (unsigned long long)need / 1000);
	limit(&p, 0, 0);
	take(&p, op, count, len);
	tear_down(&p);
}

static void rc(void)
{
	transport(IBV_QPT_RC, IBV_WR_RDMA_WRITE, PART);
	transport(IBV_QPT_RC, IBV_WR_RDMA_WRITE, 4000);
}

static void uc(void)
{
	transport(IBV_QPT_UC, IBV_WR_RDMA_WRITE, PART);
}

static void ud(void)
{
	transport(IBV_QPT_UD, IBV_WR_SEND, 1000);
	transport(IBV_QPT_UD, IBV_WR_SEND, 1024);
}

/* The limit ends while requests wait for their time. */
static void ended(enum ibv_qp_type type, enum ibv_wr_opcode op)
{
	struct ibv_wc wc;
	struct pair p;

	set_up(&p, &(struct pair_want){ .type = type });
	/* The first wait lasts for half of the burst, which is 65 seconds. */
	limit(&p, 1, 16384);
	for (int i = 0; i < 20; i++)
		post_part(&p, op, 1000, i == 19);
	CHECK(!wait_wc(p.cq[0], &wc, 100), "20 KB need more than 30 seconds at this rate");
	limit(&p, 0, 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	tear_down(&p);
}

static void ended_early(void)
{
	ended(IBV_QPT_RC, IBV_WR_RDMA_WRITE);
	ended(IBV_QPT_UC, IBV_WR_RDMA_WRITE);
	ended(IBV_QPT_UD, IBV_WR_SEND);
}

/* With the transition to RTS, and until a reset. */
static void by_modify(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .rate_limit = 40000 }, got;
	struct ibv_qp_init_attr init;
	uint64_t need, took;
	struct pair p;

	set_up(&p, NULL);
	NEED_OK(ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT));
	NEED_OK(ibv_query_qp(p.qp[0], &got, IBV_QP_RATE_LIMIT, &init));
	CHECK(got.rate_limit == 40000, "the rate is %u", got.rate_limit);
	/* The burst is at most 16 packets, of at most 4096 bytes. */
	need = least(16 * PART, 16 * 4096, 40000);
	took = take(&p, IBV_WR_RDMA_WRITE, 16, PART);
	CHECK(took >= need, "1 MiB took %llu us, and needs %llu", (unsigned long long)took / 1000,
	      (unsigned long long)need / 1000);
	CHECK_ERR(ibv_modify_qp(p.qp[0], &attr, IBV_QP_RATE_LIMIT), 0);
	NEED_OK(qp_to_state(p.qp[0], IBV_QPS_RESET));
	NEED_OK(ibv_query_qp(p.qp[0], &got, IBV_QP_RATE_LIMIT, &init));
	CHECK(!got.rate_limit, "the rate after a reset is %u", got.rate_limit);
	tear_down(&p);
}

/* Nothing is left of a limit after a reset, nor of the packets that it has let pass. */
static void none_after_reset(void)
{
	struct ibv_wc wc;
	struct pair p;

	set_up(&p, NULL);
	/* At this rate 20 KB need more than two minutes. */
	limit(&p, 1, 16384);
	for (int i = 0; i < 20; i++)
		post_part(&p, IBV_WR_RDMA_WRITE, 1000, i == 19);
	CHECK(!wait_wc(p.cq[0], &wc, 100), "20 KB at 1 kbit/s");
	for (int i = 0; i < 2; i++)
		NEED_OK(qp_to_state(p.qp[i], IBV_QPS_RESET));
	pair_make_ready(&p);
	for (int i = 0; i < 20; i++)
		post_part(&p, IBV_WR_RDMA_WRITE, 1000, i == 19);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	tear_down(&p);
}

/*
 * Packets wait longer than the peer's silence may last: none is sent twice, and none counts
 * as lost.
 */
static void patient(void)
{
	struct pair_want want = { .timeout = 1, .retry_cnt = 1 };
	struct pair p;

	set_up(&p, &want);
	limit(&p, 200, 1);
	CHECK(take(&p, IBV_WR_RDMA_WRITE, 1, 20000) > 400000000, "20 KB at 200 kbit/s");
	tear_down(&p);
}

/*
 * A packet asks for an acknowledgement if the next one has to wait for longer than the
 * timeout. The first wait lasts for half of the burst of one packet, about a second.
 */
static void no_timeouts(void)
{
	struct pair_want want = { .timeout = 17 };
	uint64_t before;
	uint32_t mtu;
	struct pair p;

	set_up(&p, &want);
	mtu = 128 << p.dev.port.active_mtu;
	limit(&p, mtu / 256, 1);
	before = hw_counter(dev_wanted(), "ack_timeout");
	CHECK(take(&p, IBV_WR_RDMA_WRITE, 1, 2 * mtu) > 1000000000, "two packets");
	CHECK(hw_counter(dev_wanted(), "ack_timeout") == before, "an answer was missed");
	tear_down(&p);
}

static void limits(void)
{
	struct ibv_qp_rate_limit_attr attr = { .max_burst_sz = 1000 };
	struct ibv_device_attr_ex ex;
	struct pair p;

	set_up(&p, NULL);
	NEED_OK(ibv_query_device_ex(p.dev.ctx, NULL, &ex));
	CHECK(ex.packet_pacing_caps.qp_rate_limit_min == 1 &&
	      ex.packet_pacing_caps.qp_rate_limit_max == UINT32_MAX &&
	      ex.packet_pacing_caps.supported_qpts ==
	      (1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD | 1 << IBV_QPT_XRC_SEND),
	      "packet_pacing_caps");
	CHECK_ERR(ibv_modify_qp_rate_limit(p.qp[0], &attr), EINVAL);
	CHECK(strstr(why_text(), "must not be 0"), "explained as: %s", why_text());
	attr.max_burst_sz = 0;
	attr.typical_pkt_sz = 100;
	CHECK_ERR(ibv_modify_qp_rate_limit(p.qp[0], &attr), EINVAL);
	attr.rate_limit = UINT32_MAX;
	attr.max_burst_sz = UINT32_MAX;
	attr.typical_pkt_sz = UINT16_MAX;
	CHECK_ERR(ibv_modify_qp_rate_limit(p.qp[0], &attr), 0);
	CHECK(pair_works(&p), "at the highest rate");
	tear_down(&p);
}

/* A queue pair of raw packets gets no limit. The attribute is one of its type, so it is not a wrong one. */
static void raw_packets(void)
{
	struct pair_want want = { .stay_reset = 1, .type = IBV_QPT_RAW_PACKET };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT, .rate_limit = 5000 };
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 5000 };
	struct pair p;

	pair_open(&p, &want);
	NEED_OK(ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE | IBV_QP_PORT));
	attr.qp_state = IBV_QPS_RTR;
	NEED_OK(ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	CHECK_ERR(ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT), EOPNOTSUPP);
	CHECK(why_reason() == UNIV_REASON_UNSUPPORTED, "explained as: %s", why_text());
	CHECK_ERR(ibv_modify_qp_rate_limit(p.qp[0], &rate), EOPNOTSUPP);
	CHECK_ERR(ibv_modify_qp(p.qp[0], &attr, IBV_QP_STATE), 0);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "limits", limits },
	{ "raw_packets", raw_packets },
	{ "rc", rc },
	{ "uc", uc },
	{ "ud", ud },
	{ "ended_early", ended_early },
	{ "by_modify", by_modify },
	{ "none_after_reset", none_after_reset },
	{ "patient", patient },
	{ "no_timeouts", no_timeouts },
};

TEST_MAIN("pacing", cases, 90)
