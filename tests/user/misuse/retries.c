// SPDX-License-Identifier: GPL-2.0
/*
 * adv19. The peer does not exist or is not ready. The request ends with the right status
 * after the configured retries, more retries take longer, and the queue pair can be
 * destroyed at any moment.
 */
#include "testlib.h"

#define NOBODY 0x00fffe

static uint64_t tries(uint8_t retry_cnt, uint8_t rnr_retry, bool nobody, bool shared,
		      enum ibv_wc_status status)
{
	struct pair_want want = { .stay_reset = 1, .use_srq = shared };
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .timeout = 10, .retry_cnt = retry_cnt,
		.rnr_retry = rnr_retry, .max_rd_atomic = 1,
	};
	uint64_t start, took;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	if (!nobody)
		qp_connect(&p.dev, p.qp[1], p.qp[0]->qp_num, NULL);
	NEED_OK(qp_to_init(p.qp[0]));
	NEED_OK(qp_to_rtr(&p.dev, p.qp[0], nobody ? NOBODY : p.qp[1]->qp_num));
	if (!nobody)
		rts.sq_psn = 100;
	NEED_OK(ibv_modify_qp(p.qp[0], &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
	start = now_ns();
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 8, 0), 0);
	WANT_WC(p.cq[0], &wc, status);
	took = now_ns() - start;
	WANT_WC(p.cq[0], &wc, IBV_WC_WR_FLUSH_ERR);
	CHECK(wc.wr_id == 2, "wr_id %" PRIu64, wc.wr_id);
	pair_close(&p);
	return took / 1000;
}

static void no_answer(void)
{
	uint64_t few = UINT64_MAX, many = 0;

	for (uint8_t n = 0; n < 7; n++) {
		many = tries(n, 7, true, false, IBV_WC_RETRY_EXC_ERR);
		printf("retry_cnt %u: %" PRIu64 " us\n", n, many);
	}
	/* Take the minimum of three measurements, since the machine may stall. */
	for (int i = 0; i < 3; i++) {
		uint64_t us = tries(0, 7, true, false, IBV_WC_RETRY_EXC_ERR);

		if (us < few)
			few = us;
	}
	CHECK(many > few, "7 tries took no longer (%" PRIu64 " us) than one (%" PRIu64 " us)", many,
	      few);
}

static void not_ready(void)
{
	for (uint8_t n = 0; n < 7; n++)
		printf("rnr_retry %u: %" PRIu64 " us\n", n,
		       tries(7, n, false, false, IBV_WC_RNR_RETRY_EXC_ERR));
}

static void not_ready_shared(void)
{
	for (uint8_t n = 0; n < 7; n += 3)
		printf("rnr_retry %u: %" PRIu64 " us\n", n,
		       tries(7, n, false, true, IBV_WC_RNR_RETRY_EXC_ERR));
}

/* These counts retry for ever; only destruction ends the retries. */
static void for_ever(bool nobody, bool shared)
{
	struct pair_want want = { .stay_reset = 1, .retry_cnt = 7, .rnr_retry = 7, .timeout = 8,
				  .use_srq = shared };
	uint64_t start;
	struct pair p;

	pair_open(&p, &want);
	if (nobody) {
		qp_connect(&p.dev, p.qp[0], NOBODY, &p.want);
		qp_connect(&p.dev, p.qp[1], NOBODY, &p.want);
	} else {
		pair_make_ready(&p);
	}
	for (int i = 0; i < 10; i++)
		CHECK_ERR(post_send_at(&p, 0, i, 0, 20000, IBV_SEND_SIGNALED), 0);
	sleep_ms(100);
	start = now_ns();
	CHECK_ERR(ibv_destroy_qp(p.qp[0]), 0);
	CHECK(now_ns() - start < 20000000000ull * test_slowness(), "destroy_qp took %" PRIu64 " ms",
	      (now_ns() - start) / 1000000);
	p.qp[0] = NULL;
	pair_close(&p);
}

static void destroyed_while_retrying(void)
{
	for_ever(true, false);
	for_ever(false, false);
	for_ever(false, true);
}

/* The peer is destroyed while messages to it are under way. */
static void peer_destroyed(void)
{
	struct pair_want want = { .retry_cnt = 1, .timeout = 8 };
	struct ibv_wc wc;
	struct pair p;
	int n = 0;

	for (int round = 0; round < 5; round++) {
		pair_open(&p, &want);
		for (int i = 0; i < 8; i++)
			CHECK_ERR(post_recv_at(&p, 1, i, 0, PAIR_HALF), 0);
		for (int i = 0; i < 8; i++)
			CHECK_ERR(post_send_at(&p, 0, i, 0, 200000, IBV_SEND_SIGNALED), 0);
		CHECK_ERR(ibv_destroy_qp(p.qp[1]), 0);
		p.qp[1] = NULL;
		for (n = 0; n < 8; n++)
			if (!CHECK(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "message %d: nothing", n))
				break;
		pair_close(&p);
	}
}

/*
 * How many microseconds a message takes from the receive request on. The RNR timer is of
 * 655 ms, so it fires some 600 ms after the receive request.
 */
static uint64_t late(bool shared)
{
	struct pair_want want = { .rnr_retry = 7, .use_srq = shared };
	struct ibv_qp_attr attr = { .min_rnr_timer = 0 };
	uint64_t start, took;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	NEED_OK(ibv_modify_qp(p.qp[1], &attr, IBV_QP_MIN_RNR_TIMER));
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED), 0);
	sleep_ms(50);
	start = now_ns();
	CHECK_ERR(post_recv_at(&p, 1, 2, 0, 64), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	took = now_ns() - start;
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
	return took / 1000;
}

/*
 * Within a host the thread that posts a receive request delivers the message that waits for it,
 * in the same system call. A stall of the machine can make that longer in any try. So the
 * shortest of five tries shows the path, and the number of slow ones a lost wake-up, after
 * which the sender waits for the RNR timer of 655 ms.
 */
static void late_requests(void)
{
	uint64_t most = 20000 * test_slowness();

	if (!on_uroce())
		return;
	for (int shared = 0; shared < 2; shared++) {
		uint64_t least = UINT64_MAX;
		int slow = 0;

		for (int i = 0; i < 5; i++) {
			uint64_t us = late(shared);

			printf("late receive request%s: %" PRIu64 " us\n",
			       shared ? " of a shared queue" : "", us);
			if (us < least)
				least = us;
			slow += us > 500000;
		}
		CHECK(least <= most, "the sender has waited for %" PRIu64 " us", least);
		CHECK(slow <= 1, "%d of 5 messages have waited for the timer", slow);
	}
}

static const struct test_case cases[] = {
	{ "no_answer", no_answer },
	{ "not_ready", not_ready },
	{ "not_ready_shared", not_ready_shared },
	{ "destroyed_while_retrying", destroyed_while_retrying },
	{ "peer_destroyed", peer_destroyed },
	{ "late_requests", late_requests },
};

TEST_MAIN("retries (adv19)", cases, 60)
