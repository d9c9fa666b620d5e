// SPDX-License-Identifier: GPL-2.0
/* Extended completion queues: ibv_start_poll(), timestamps and their clock. */
#include "testlib.h"

/* The extended interface: call all read functions on a batch between start and end. */
static void read_one_ex(struct ibv_cq_ex *cq, struct pair *p, uint64_t flags)
{
	if (cq->wr_id >= 100) {
		CHECK(ibv_wc_read_opcode(cq) == IBV_WC_RECV, "opcode %d", ibv_wc_read_opcode(cq));
		CHECK(ibv_wc_read_byte_len(cq) == 24, "byte_len %u", ibv_wc_read_byte_len(cq));
		CHECK(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM, "flags %#x",
		      ibv_wc_read_wc_flags(cq));
		CHECK(ibv_wc_read_imm_data(cq) == htobe32(0x01020304), "imm %#x",
		      ibv_wc_read_imm_data(cq));
		CHECK(ibv_wc_read_qp_num(cq) == p->qp[1]->qp_num, "qp_num");
	} else {
		CHECK(ibv_wc_read_opcode(cq) == IBV_WC_SEND, "opcode %d", ibv_wc_read_opcode(cq));
		CHECK(ibv_wc_read_qp_num(cq) == p->qp[0]->qp_num, "qp_num");
	}
	CHECK(!ibv_wc_read_vendor_err(cq), "vendor_err %u", ibv_wc_read_vendor_err(cq));
	ibv_wc_read_src_qp(cq);
	ibv_wc_read_slid(cq);
	CHECK(!ibv_wc_read_sl(cq), "sl %u", ibv_wc_read_sl(cq));
	ibv_wc_read_dlid_path_bits(cq);
	if (why_known()) {
		struct ibv_wc_tm_info tags = { .tag = 1, .priv = 1 };

		ibv_wc_read_tm_info(cq, &tags);
		CHECK(!tags.tag && !tags.priv, "a tag, though no message has one");
	}
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		CHECK(ibv_wc_read_completion_ts(cq), "no timestamp");
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		CHECK(ibv_wc_read_completion_wallclock_ns(cq), "no wall-clock time");
}

static void poll_all_ex(struct ibv_cq_ex *cq, struct pair *p, uint64_t flags, int want)
{
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t end = deadline_ms(WC_TIMEOUT);
	int ret;

	while (want > 0) {
		ret = ibv_start_poll(cq, &attr);
		if (ret == ENOENT && now_ns() > end)
			break;
		if (ret == ENOENT)
			continue;
		if (!CHECK(!ret, "start_poll: %s", err_name(ret)))
			return;
		do {
			CHECK(cq->status == IBV_WC_SUCCESS, "status %d", cq->status);
			read_one_ex(cq, p, flags);
			want--;
			ret = ibv_next_poll(cq);
		} while (!ret);
		CHECK(ret == ENOENT, "next_poll: %s", err_name(ret));
		ibv_end_poll(cq);
	}
	CHECK(!want, "%d completions are missing", want);
	if (!why_known())
		return;
	CHECK(ibv_start_poll(cq, &attr) == ENOENT, "start_poll of an empty queue");
	attr.comp_mask = 1;
	CHECK(ibv_start_poll(cq, &attr) == EINVAL, "start_poll with an unknown mask");
}

static void ex_send(struct pair *p, int k)
{
	struct ibv_sge sge = pair_sge(p, 0, 0, 24);
	struct ibv_send_wr wr = {
		.wr_id = k,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0x01020304),
	};

	CHECK_ERR(post_recv_at(p, 1, 100 + k, 1024, 64), 0);
	CHECK_ERR(post_one(p, 0, &wr), 0);
}

static void extended_with(uint64_t flags)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 64, .wc_flags = flags, .cq_context = &init };
	struct pair_want want = { .stay_reset = 1 };
	struct ibv_cq_ex *cq;
	struct pair p;

	pair_open(&p, &want);
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_qp(p.qp[i]), 0);
		CHECK_ERR(ibv_destroy_cq(p.cq[i]), 0);
	}
	cq = ibv_create_cq_ex(p.dev.ctx, &init);
	NEED(cq, "create_cq_ex with flags %#" PRIx64 ": %s; %s", flags, err_name(errno),
	     why_text());
	for (int i = 0; i < 2; i++) {
		p.cq[i] = ibv_cq_ex_to_cq(cq);
		pair_create_qp(&p, i);
	}
	pair_make_ready(&p);
	for (int k = 0; k < 8; k++)
		ex_send(&p, k);
	poll_all_ex(cq, &p, flags, 16);
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_qp(p.qp[i]), 0);
		p.qp[i] = NULL;
		p.cq[i] = NULL;
	}
	CHECK_ERR(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	pair_close(&p);
}

static void extended(void)
{
	extended_with(IBV_WC_STANDARD_FLAGS);
}

static void extended_times(void)
{
	if (!why_known())
		return;
	extended_with(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	extended_with(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
}

/* A program that polls by ibv_start_poll() may arm the queue before ibv_end_poll(). */
static void extended_arms(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq *got = NULL;
	struct ibv_cq_ex *cq;
	struct pair p;
	void *context;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1, .use_channel = 1 });
	cq = pair_extend_cq(&p, (struct ibv_cq_init_attr_ex) { .cqe = 16 });
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	for (uint64_t end = deadline_ms(WC_TIMEOUT); ibv_start_poll(cq, &attr); sched_yield())
		NEED(now_ns() < end, "no completion");
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	ibv_end_poll(cq);
	CHECK_ERR(post_rdma(&p, 0, 2, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	CHECK(!ibv_get_cq_event(p.ch, &got, &context) && got == p.cq[0], "no event");
	ibv_ack_cq_events(p.cq[0], 1);
	pair_close(&p);
}

#define TIMES (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
#define CHAIN 32
#define ROUNDS 16

/* A connected pair whose side @i has a completion queue with times. */
static struct ibv_cq_ex *timed_side(struct pair *p, int i)
{
	struct ibv_cq_init_attr_ex init = { .cqe = CHAIN, .wc_flags = TIMES, .channel = p->ch };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(p->dev.ctx, &init);

	NEED_PTR(cq, "create_cq_ex with times");
	NEED_OK(ibv_destroy_qp(p->qp[i]));
	NEED_OK(ibv_destroy_cq(p->cq[i]));
	p->cq[i] = ibv_cq_ex_to_cq(cq);
	pair_create_qp(p, i);
	return cq;
}

struct moment {
	uint64_t raw;
	uint64_t wall;
};

static struct moment now_of(struct ibv_context *ctx)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct timespec wall;

	NEED_OK(ibv_query_rt_values_ex(ctx, &values));
	CHECK(values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK, "no raw clock");
	NEED(!clock_gettime(CLOCK_REALTIME, &wall), "clock_gettime");
	return (struct moment){
		.raw = (uint64_t)values.raw_clock.tv_nsec,
		.wall = (uint64_t)wall.tv_sec * 1000000000 + (uint64_t)wall.tv_nsec,
	};
}

/* Take @n successful completions, and their times. */
static void take_times(struct ibv_cq_ex *cq, struct moment *at, int n)
{
	struct ibv_poll_cq_attr attr = {};
	uint64_t end = deadline_ms(WC_TIMEOUT);

	for (int i = 0; i < n; i++) {
		while (ibv_start_poll(cq, &attr))
			NEED(now_ns() < end, "%d completions of %d", i, n);
		CHECK(cq->status == IBV_WC_SUCCESS, "status %d", cq->status);
		at[i].raw = ibv_wc_read_completion_ts(cq);
		at[i].wall = ibv_wc_read_completion_wallclock_ns(cq);
		ibv_end_poll(cq);
	}
}

static void check_between(const struct moment *from, const struct moment *at, const struct moment *to)
{
	CHECK(from->raw <= at->raw && at->raw <= to->raw, "timestamp %" PRIu64 ", not from %" PRIu64
	      " to %" PRIu64, at->raw, from->raw, to->raw);
	CHECK(from->wall <= at->wall && at->wall <= to->wall, "wall clock %" PRIu64 ", not from %" PRIu64
	      " to %" PRIu64, at->wall, from->wall, to->wall);
}

/* Wait for the event of each side's queue, without polling the queues. */
static void both_events(struct pair *p)
{
	struct ibv_cq *got;
	void *context;

	for (int i = 0; i < 2; i++) {
		NEED(!ibv_get_cq_event(p->ch, &got, &context), "%s", err_name(errno));
		ibv_ack_cq_events(got, 1);
	}
}

/*
 * A request ends between the reading of the clock before it is posted and one that follows its
 * end, however late it is polled. A message has arrived before its sender is told. The events
 * show that both completions are there before the second reading.
 */
static void times_of_requests(void)
{
	struct moment before, after, at[2];
	struct ibv_cq_ex *cq[2];
	struct pair p;

	if (!why_known())
		return;
	pair_open(&p, &(struct pair_want) { .stay_reset = 1, .use_channel = 1 });
	for (int i = 0; i < 2; i++)
		cq[i] = timed_side(&p, i);
	pair_make_ready(&p);
	for (int k = 0; k < 8; k++) {
		for (int i = 0; i < 2; i++)
			CHECK_ERR(ibv_req_notify_cq(p.cq[i], 0), 0);
		before = now_of(p.dev.ctx);
		ex_send(&p, k);
		both_events(&p);
		after = now_of(p.dev.ctx);
		sleep_ms(20);
		for (int i = 0; i < 2; i++) {
			take_times(cq[i], &at[i], 1);
			check_between(&before, &at[i], &after);
		}
		CHECK(!on_uroce() || at[1].raw <= at[0].raw, "sent at %" PRIu64 ", received at %" PRIu64,
		      at[0].raw, at[1].raw);
	}
	pair_close(&p);
}

/* Post @CHAIN signaled requests at once. */
static void post_chain(struct pair *p, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = pair_sge(p, 0, 0, 1024);
	struct ibv_send_wr wr[CHAIN], *bad = NULL;

	for (int i = 0; i < CHAIN; i++) {
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < CHAIN ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcode,
			.send_flags = IBV_SEND_SIGNALED,
		};
		wr_remote(&wr[i], (uintptr_t)p->buf[1], p->mr->rkey, 0);
		if (opcode == IBV_WR_SEND)
			CHECK_ERR(post_recv_at(p, 1, i, 0, 1024), 0);
	}
	NEED_OK(ibv_post_send(p->qp[0], wr, &bad));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * The times of side @side. uroce writes completions of other queues four at a time; times that
 * were taken then would come in groups of four.
 */
static void chain_of(enum ibv_wr_opcode opcode, int side)
{
	uint64_t inner[ROUNDS * CHAIN], outer[ROUNDS * CHAIN], gap;
	struct moment at[CHAIN];
	struct ibv_wc wc[CHAIN];
	struct ibv_cq_ex *cq;
	int n = 0, m = 0;
	struct pair p;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1 });
	cq = timed_side(&p, side);
	pair_make_ready(&p);
	for (int k = 0; k < ROUNDS; k++) {
		post_chain(&p, opcode);
		take_times(cq, at, CHAIN);
		for (int i = 0; side && i < CHAIN; i++)
			WANT_WC(p.cq[0], &wc[i], IBV_WC_SUCCESS);
		for (int i = 1; i < CHAIN; i++) {
			CHECK(at[i].raw >= at[i - 1].raw, "the time goes back");
			gap = at[i].raw - at[i - 1].raw;
			if (i % 4)
				inner[n++] = gap;
			else
				outer[m++] = gap;
		}
	}
	qsort(inner, n, sizeof(*inner), by_value);
	qsort(outer, m, sizeof(*outer), by_value);
	CHECK(!on_uroce() || outer[m / 2] <= 3 * inner[n / 2], "every fourth request takes %" PRIu64
	      " ns and the others %" PRIu64, outer[m / 2], inner[n / 2]);
	pair_close(&p);
}

static void times_of_a_chain(void)
{
	if (!why_known())
		return;
	chain_of(IBV_WR_RDMA_WRITE, 0);
	chain_of(IBV_WR_SEND, 1);
}

/*
 * The raw clock is one number in tv_nsec, in the units of the completion timestamps. Programs convert
 * such numbers by hca_core_clock, which is in kHz.
 */
static void raw_clock(void)
{
	struct ibv_values_ex before = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, after = before;
	struct ibv_device_attr_ex attr;
	uint64_t start, ticks, ns;
	struct test_dev dev;

	/* rxe's own library has no clock. */
	if (!why_known())
		return;
	dev_open(&dev);
	NEED_OK(ibv_query_device_ex(dev.ctx, NULL, &attr));
	NEED(attr.hca_core_clock, "the device tells no frequency");
	start = now_ns();
	NEED_OK(ibv_query_rt_values_ex(dev.ctx, &before));
	sleep_ms(1100);
	NEED_OK(ibv_query_rt_values_ex(dev.ctx, &after));
	CHECK(!before.raw_clock.tv_sec && !after.raw_clock.tv_sec, "tv_sec is used");
	CHECK(after.raw_clock.tv_nsec - before.raw_clock.tv_nsec >= 1100000000L &&
	      (uint64_t)after.raw_clock.tv_nsec <= now_ns(), "tv_nsec went from %ld to %ld",
	      before.raw_clock.tv_nsec, after.raw_clock.tv_nsec);
	ticks = (uint64_t)(after.raw_clock.tv_nsec - before.raw_clock.tv_nsec);
	ns = ticks * 1000000 / attr.hca_core_clock;
	CHECK(ns >= 1100000000 && ns <= now_ns() - start, "%" PRIu64 " ticks of %" PRIu64 " kHz",
	      ticks, attr.hca_core_clock);
	dev_close(&dev);
}

static void extended_refuses(void)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 64, .wc_flags = 1ull << 40 };
	struct test_dev dev;

	dev_open(&dev);
	CHECK(!ibv_create_cq_ex(dev.ctx, &init), "unknown wc_flags accepted");
	init.wc_flags = 0;
	init.comp_mask = 1 << 20;
	CHECK(!ibv_create_cq_ex(dev.ctx, &init), "unknown comp_mask accepted");
	dev_close(&dev);
}

static const struct test_case cases[] = {
	{ "extended", extended },
	{ "extended_times", extended_times },
	{ "extended_arms", extended_arms },
	{ "times_of_requests", times_of_requests },
	{ "times_of_a_chain", times_of_a_chain },
	{ "raw_clock", raw_clock },
	{ "extended_refuses", extended_refuses },
};

TEST_MAIN("api_cq_ex", cases, 30)
