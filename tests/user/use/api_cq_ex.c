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
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		CHECK(ibv_wc_read_completion_ts(cq), "no timestamp");
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		CHECK(ibv_wc_read_completion_wallclock_ns(cq), "no wall-clock time");
}

static void poll_all_ex(struct ibv_cq_ex *cq, struct pair *p, uint64_t flags, int want)
{
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t end = deadline_ms(5000);
	int ret;

	while (want > 0 && now_ns() < end) {
		ret = ibv_start_poll(cq, &attr);
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
	struct ibv_cq_init_attr_ex init = { .cqe = 16 };
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq *got = NULL;
	struct ibv_cq_ex *cq;
	struct pair p;
	void *context;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1, .use_channel = 1 });
	init.channel = p.ch;
	cq = ibv_create_cq_ex(p.dev.ctx, &init);
	NEED_PTR(cq, "create_cq_ex");
	pair_replace_cq(&p, ibv_cq_ex_to_cq(cq));
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

/* The raw clock is one number in tv_nsec, in the units of the completion timestamps. */
static void raw_clock(void)
{
	struct ibv_values_ex before = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, after = before;
	struct test_dev dev;

	/* rxe's own library has no clock. */
	if (!why_known())
		return;
	dev_open(&dev);
	NEED_OK(ibv_query_rt_values_ex(dev.ctx, &before));
	sleep_ms(1100);
	NEED_OK(ibv_query_rt_values_ex(dev.ctx, &after));
	CHECK(!before.raw_clock.tv_sec && !after.raw_clock.tv_sec, "tv_sec is used");
	CHECK(after.raw_clock.tv_nsec - before.raw_clock.tv_nsec >= 1100000000L &&
	      (uint64_t)after.raw_clock.tv_nsec <= now_ns(), "tv_nsec went from %ld to %ld",
	      before.raw_clock.tv_nsec, after.raw_clock.tv_nsec);
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
	{ "raw_clock", raw_clock },
	{ "extended_refuses", extended_refuses },
};

TEST_MAIN("api_cq_ex", cases, 30)
