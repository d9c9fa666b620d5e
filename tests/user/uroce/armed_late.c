// SPDX-License-Identifier: GPL-2.0
/*
 * Completions that come between the last poll and ibv_req_notify_cq(3) raise an event, as
 * on mlx5: programs like UCX sleep without another poll.
 */
#include "raw.h"

static struct pair p;

static bool readable(int ms)
{
	struct pollfd pfd = { .fd = p.ch->fd, .events = POLLIN };

	return poll(&pfd, 1, ms) == 1;
}

static void want_event(void)
{
	struct ibv_cq *cq = NULL;
	void *context;

	if (!CHECK(readable(WC_TIMEOUT), "no event"))
		return;
	NEED_OK(ibv_get_cq_event(p.ch, &cq, &context));
	CHECK(cq == p.cq[1], "event of another queue");
	ibv_ack_cq_events(cq, 1);
}

/* The completion of the send tells that the one of the receive is in its queue. */
static void receive(unsigned int flags)
{
	struct ibv_wc wc;

	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 64), 0);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED | flags), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
}

static void receive_one(void)
{
	receive(0);
}

/* Arms the queue when a completion waits that the program does not know, and takes both. */
static void want_late_event(void)
{
	struct ibv_wc wc;

	WANT_EMPTY(p.cq[1]);
	receive_one();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	want_event();
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
}

static void set_up(void)
{
	struct pair_want want = { .use_channel = 1 };

	pair_open(&p, &want);
}

static void before_the_first_arming(void)
{
	struct ibv_wc wc;

	set_up();
	receive_one();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	want_event();
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void after_a_poll(void)
{
	set_up();
	for (int i = 0; i < 3; i++)
		want_late_event();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	CHECK(!readable(50), "an event of an empty queue");
	receive_one();
	want_event();
	pair_close(&p);
}

/* Most programs arm again before they poll. A second event would cost them a system call each time. */
static void after_an_event(void)
{
	struct ibv_wc wc;

	set_up();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	for (int i = 0; i < 3; i++) {
		receive_one();
		want_event();
		CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
		CHECK(!readable(50), "a second event for a completion");
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	}
	/* The event counts for one arming. */
	receive_one();
	want_event();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	want_event();
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/*
 * The completion of an event was polled before the event was read, as UCX does: the event tells
 * nothing of the completion that follows.
 */
static void after_a_stale_event(void)
{
	struct ibv_wc wc;

	set_up();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	for (int i = 0; i < 3; i++) {
		receive_one();
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		want_event();
		want_late_event();
		CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	}
	pair_close(&p);
}

/* A completion that comes between an event and the arming after it. */
static void after_a_newer_completion(void)
{
	struct ibv_wc wc;

	set_up();
	for (int i = 0; i < 3; i++) {
		CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
		receive_one();
		CHECK(readable(WC_TIMEOUT), "no event");
		receive_one();
		want_event();
		CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
		want_event();
		CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
		CHECK(!readable(50), "a third event for two completions");
		for (int k = 0; k < 2; k++)
			WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

/* An event that is read when its completions were polled more than a ring ago. */
static void long_after_an_event(void)
{
	struct pair_want want = { .use_channel = 1, .cqe = 32 };
	struct ibv_wc wc;

	pair_open(&p, &want);
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	for (int i = 0; i < 41; i++) {
		receive_one();
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	}
	receive_one();
	want_event();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	want_event();
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* Arms the queue, which raises an event and then gets another size. */
static void resize_after_an_event(int cqe)
{
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	receive_one();
	CHECK(readable(WC_TIMEOUT), "no event");
	CHECK_ERR(ibv_resize_cq(p.cq[1], cqe), 0);
}

/* A queue of another size counts its completions from the oldest one that waits. */
static void resized_after_an_event(void)
{
	struct ibv_wc wc;

	set_up();
	for (int i = 0; i < 3; i++) {
		receive_one();
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	}
	resize_after_an_event(500);
	want_event();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	CHECK(!readable(50), "a second event for a completion in the new ring");
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	receive_one();
	want_event();
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	resize_after_an_event(100);
	receive_one();
	want_event();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	want_event();
	for (int i = 0; i < 2; i++)
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* The program has polled all that the event told of, so the event's index in the new ring would be 0. */
static void resized_and_polled(void)
{
	struct ibv_wc wc;

	set_up();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	receive_one();
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_resize_cq(p.cq[1], 500), 0);
	receive_one();
	want_event();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	want_event();
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/*
 * Between ibv_start_poll(3) and ibv_end_poll(3), the program has the current completion already,
 * but not the one behind it. Within a host, requests complete before they are posted.
 */
static struct ibv_cq_ex *set_up_ex(void)
{
	pair_open(&p, &(struct pair_want) { .stay_reset = 1, .use_channel = 1 });
	return pair_extend_cq(&p, (struct ibv_cq_init_attr_ex) { .cqe = 16 });
}

static void while_reading(void)
{
	struct ibv_cq_ex *cq = set_up_ex();
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq *got = NULL;
	void *context;

	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	NEED_OK(ibv_start_poll(cq, &attr));
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	CHECK(!readable(50), "an event of the completion that is being read");
	CHECK_ERR(post_rdma(&p, 0, 2, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	NEED(readable(WC_TIMEOUT), "no event of the next completion");
	CHECK_ERR(post_rdma(&p, 0, 3, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	NEED_OK(ibv_get_cq_event(p.ch, &got, &context));
	NEED_OK(ibv_next_poll(cq));
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	CHECK(readable(WC_TIMEOUT), "no event of the completion behind the current one");
	NEED_OK(ibv_get_cq_event(p.ch, &got, &context));
	ibv_end_poll(cq);
	ibv_ack_cq_events(p.cq[0], 2);
	pair_close(&p);
}

/* The event of the current completion is read before the program gives that completion back. */
static void told_while_reading(void)
{
	struct ibv_cq_ex *cq = set_up_ex();
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq *got = NULL;
	void *context;

	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	NEED(readable(WC_TIMEOUT), "no event");
	NEED_OK(ibv_start_poll(cq, &attr));
	NEED_OK(ibv_get_cq_event(p.ch, &got, &context));
	CHECK_ERR(post_rdma(&p, 0, 2, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	ibv_end_poll(cq);
	CHECK(readable(WC_TIMEOUT), "no event of the completion behind the current one");
	NEED_OK(ibv_get_cq_event(p.ch, &got, &context));
	NEED_OK(ibv_start_poll(cq, &attr));
	CHECK(cq->wr_id == 2, "wr_id %" PRIu64, cq->wr_id);
	ibv_end_poll(cq);
	ibv_ack_cq_events(p.cq[0], 2);
	pair_close(&p);
}

/* Answers the request that the queue may have, so that the next completion raises no event. */
static void disarm(void)
{
	struct ibv_wc wc;

	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
	receive(IBV_SEND_SOLICITED);
	want_event();
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
}

static void arm_in_vain(const char *what)
{
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
	CHECK(!readable(50), "an event of %s", what);
}

/* As UCX does, which then sleeps without another poll. */
static void for_solicited(void)
{
	struct ibv_wc wc;

	set_up();
	receive_one();
	arm_in_vain("a completion that was not solicited");
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	disarm();
	receive(IBV_SEND_SOLICITED);
	receive_one();
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
	want_event();
	arm_in_vain("a completion that an event has told of");
	arm_in_vain("a completion that an event has told of, without a poll");
	for (int i = 0; i < 2; i++)
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	disarm();
	receive(IBV_SEND_SOLICITED);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	receive_one();
	arm_in_vain("a solicited completion that was polled");
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* A failed completion counts as a solicited one. */
static void for_failed(void)
{
	struct ibv_wc wc;

	set_up();
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 64), 0);
	CHECK_ERR(qp_to_state(p.qp[1], IBV_QPS_ERR), 0);
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
	want_event();
	WANT_WC(p.cq[1], &wc, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

/* A queue of another size counts its completions from the oldest one that waits. */
static void for_solicited_resized(void)
{
	struct ibv_wc wc;

	set_up();
	disarm();
	receive(IBV_SEND_SOLICITED);
	CHECK_ERR(ibv_resize_cq(p.cq[1], 500), 0);
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
	want_event();
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	receive_one();
	CHECK_ERR(ibv_resize_cq(p.cq[1], 100), 0);
	arm_in_vain("a completion in the new ring that was not solicited");
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* The call itself: the event comes once, and only if the queue is armed. */
static void call(void)
{
	struct univ_cq_notify arg = {};
	struct ibv_wc wc;

	set_up();
	arg.handle = p.cq[1]->handle;
	CHECK_ERR(raw_call(p.dev.ctx->cmd_fd, UNIV_CQ_NOTIFY, &arg), 0);
	CHECK(!readable(50), "an event of a queue that is not armed");
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	CHECK_ERR(raw_call(p.dev.ctx->cmd_fd, UNIV_CQ_NOTIFY, &arg), 0);
	want_event();
	CHECK_ERR(raw_call(p.dev.ctx->cmd_fd, UNIV_CQ_NOTIFY, &arg), 0);
	CHECK(!readable(50), "a second event");
	arg.handle = 12345;
	CHECK_ERR(raw_call(p.dev.ctx->cmd_fd, UNIV_CQ_NOTIFY, &arg), EINVAL);
	WANT_EMPTY(p.cq[1]);
	receive_one();
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "before_the_first_arming", before_the_first_arming },
	{ "after_a_poll", after_a_poll },
	{ "after_an_event", after_an_event },
	{ "after_a_stale_event", after_a_stale_event },
	{ "after_a_newer_completion", after_a_newer_completion },
	{ "long_after_an_event", long_after_an_event },
	{ "resized_after_an_event", resized_after_an_event },
	{ "resized_and_polled", resized_and_polled },
	{ "while_reading", while_reading },
	{ "told_while_reading", told_while_reading },
	{ "for_solicited", for_solicited },
	{ "for_failed", for_failed },
	{ "for_solicited_resized", for_solicited_resized },
	{ "call", call },
};

TEST_MAIN("armed_late", cases, 60)
