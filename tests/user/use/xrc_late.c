// SPDX-License-Identifier: GPL-2.0
/* XRC: receive requests that are posted when a message already waits for one. */
#include "xrc.h"

/* Set the RNR timer of the target to 655 ms. */
static void wait_long(struct xrc *x)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = 0 };

	NEED_OK(ibv_modify_qp(x->tgt, &attr, IBV_QP_MIN_RNR_TIMER));
}

/* Return the number of microseconds from the receive request to the arrival of the message. */
static uint64_t late(struct xrc *x, int which)
{
	uint64_t begin, took;
	struct ibv_wc wc;

	start(x, IBV_WR_SEND, x->srqn[which], 0, 8);
	sleep_ms(50);
	begin = now_ns();
	receive(x, which, 1, 0, 64);
	WANT_WC(x->rcq[which], &wc, IBV_WC_SUCCESS);
	took = now_ns() - begin;
	finish(x, IBV_WC_SUCCESS);
	printf("late receive request of queue %d: %" PRIu64 " us\n", which, took / 1000);
	return took / 1000;
}

/*
 * As late_requests() in retries.c: the thread that posts a receive request to the queue that the
 * message has named delivers it, and the sender does not wait for the timer.
 */
static void late_requests(void)
{
	uint64_t least = UINT64_MAX;
	int slow = 0;
	struct xrc x;

	xrc_open(&x, -1);
	wait_long(&x);
	for (int i = 0; i < 6; i++) {
		uint64_t us = late(&x, i % 2);

		if (us < least)
			least = us;
		slow += us > 500000;
	}
	CHECK(least <= 20000 * test_slowness(), "the sender has waited for %" PRIu64 " us", least);
	CHECK(slow <= 1, "%d of 6 messages have waited for the timer", slow);
	xrc_close(&x);
}

/* Forget the message that waits. The target notices nothing. */
static void reset_initiator(struct xrc *x)
{
	NEED_OK(qp_to_state(x->ini, IBV_QPS_RESET));
	NEED_OK(qp_to_init(x->ini));
	NEED_OK(xrc_to_rtr(&x->dev, x->ini, x->tgt->qp_num));
	NEED_OK(xrc_to_rts(x->ini, 7));
}

/*
 * A message waits at one queue and is forgotten, and another one waits at the other queue. If that
 * queue is destroyed, no queue has the number that its message has named, although the last receive
 * request came from the other one.
 */
static void late_for_another(void)
{
	int slow = 0;
	struct xrc x;

	xrc_open(&x, -1);
	wait_long(&x);
	for (int i = 0; i < 3; i++) {
		start(&x, IBV_WR_SEND, x.srqn[0], 0, 8);
		reset_initiator(&x);
		slow += late(&x, 1) > 500000;
	}
	CHECK(slow <= 1, "%d of 3 messages have waited for the timer", slow);
	late(&x, 0);
	receive(&x, 0, 1, 0, 64);
	start(&x, IBV_WR_SEND, x.srqn[1], 0, 8);
	CHECK_ERR(ibv_destroy_srq(x.srq[1]), 0);
	x.srq[1] = NULL;
	finish(&x, IBV_WC_REM_INV_REQ_ERR);
	WANT_EMPTY(x.rcq[0]);
	reconnect(&x);
	does(&x, IBV_WR_SEND, x.srqn[0], 0, 8, IBV_WC_SUCCESS);
	xrc_close(&x);
}

/* Each of the target, its queue and the initiator can be destroyed while a message waits. */
static void destroyed_while_waiting(void)
{
	struct xrc x;

	for (int first = 0; first < 3; first++) {
		xrc_open(&x, -1);
		wait_long(&x);
		start(&x, IBV_WR_SEND, x.srqn[0], 0, 8);
		if (first == 0) {
			CHECK_ERR(ibv_destroy_qp(x.tgt), 0);
			x.tgt = NULL;
		} else if (first == 1) {
			CHECK_ERR(ibv_destroy_qp(x.ini), 0);
			x.ini = NULL;
		} else {
			CHECK_ERR(ibv_destroy_srq(x.srq[0]), 0);
			x.srq[0] = NULL;
		}
		if (x.srq[0])
			receive(&x, 0, 1, 0, 64);
		WANT_EMPTY(x.rcq[0]);
		xrc_close(&x);
	}
}

static const struct test_case cases[] = {
	{ "late_requests", late_requests },
	{ "late_for_another", late_for_another },
	{ "destroyed_while_waiting", destroyed_while_waiting },
};

XRC_MAIN("xrc_late", cases, 40)
