// SPDX-License-Identifier: GPL-2.0
/*
 * The states SQE and SQD, on devices that implement them. A datagram or an unreliable
 * message that fails moves the queue pair to SQE, and the process moves it back to RTS. In
 * SQD the send queue completes the requests that it has begun and begins no others.
 */
#include "events.h"
#include "testlib.h"

static struct pair p;

static int send_key(uint64_t id, uint32_t lkey)
{
	struct ibv_sge sge = pair_sge(&p, 0, 0, 100);
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	sge.lkey = lkey;
	wr_address(&p, 0, &wr);
	return post_one(&p, 0, &wr);
}

/*
 * Leave SQE as ibv_modify_qp(3) describes: cur_qp_state tells that the process knows of the
 * error.
 */
static int leave_sqe(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE };

	return ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_CUR_STATE);
}

static void send_error(enum ibv_qp_type type)
{
	struct pair_want want = { .type = type };
	struct ibv_wc wc;

	pair_open(&p, &want);
	for (int i = 0; i < 3; i++) {
		CHECK_ERR(send_key(1, p.mr->lkey ^ 0x5a), 0);
		WANT_WC(p.cq[0], &wc, IBV_WC_LOC_PROT_ERR);
		CHECK(qp_state_now(p.qp[0]) == IBV_QPS_SQE, "state %d", qp_state_now(p.qp[0]));
		CHECK_ERR(send_key(2, p.mr->lkey), 0);
		WANT_WC(p.cq[0], &wc, IBV_WC_WR_FLUSH_ERR);
		/* SQE does not affect the receive queue. */
		CHECK_ERR(post_recv_at(&p, 0, 3, 4096, 2000), 0);
		CHECK_ERR(post_send_at(&p, 1, 4, 0, 1000, IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == 3, "wr_id %" PRIu64, wc.wr_id);
		CHECK_ERR(leave_sqe(), 0);
		CHECK(pair_works(&p), "after SQE");
	}
	pair_close(&p);
}

static void sqe_datagram(void)
{
	send_error(IBV_QPT_UD);
}

static void sqe_unreliable(void)
{
	send_error(IBV_QPT_UC);
}

static void sqe_reliable(void)
{
	struct ibv_wc wc;

	pair_open(&p, NULL);
	CHECK_ERR(send_key(1, p.mr->lkey ^ 0x5a), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_LOC_PROT_ERR);
	CHECK(qp_state_after_error(p.qp[0]) == IBV_QPS_ERR, "state %d", qp_state_now(p.qp[0]));
	CHECK(leave_sqe(), "a reliable connection left the error state");
	pair_close(&p);
}

/*
 * Requests behind a failed one that were posted by the same call are flushed. The program makes
 * no other call: each one would have the device look at the queue once more.
 */
static void sqe_list(void)
{
	struct pair_want want = { .type = IBV_QPT_UC };
	struct ibv_send_wr wr[3], *bad;
	struct ibv_sge sge[2];
	struct ibv_wc wc;

	pair_open(&p, &want);
	sge[0] = sge[1] = pair_sge(&p, 0, 0, 100);
	sge[0].lkey ^= 0x5a;
	for (int i = 0; i < 3; i++)
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .sg_list = &sge[!!i], .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED, .next = i < 2 ? &wr[i + 1] : NULL,
		};
	CHECK_ERR(ibv_post_send(p.qp[0], wr, &bad), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_LOC_PROT_ERR);
	WANT_WC(p.cq[0], &wc, IBV_WC_WR_FLUSH_ERR);
	WANT_WC(p.cq[0], &wc, IBV_WC_WR_FLUSH_ERR);
	CHECK(wc.wr_id == 2, "wr_id %" PRIu64, wc.wr_id);
	pair_close(&p);
}

#define MANY 4000

/*
 * Post very many requests, of which the first fails. The post returns only after they are
 * flushed, so it runs in its own thread.
 */
static void *post_many(void *arg)
{
	struct ibv_send_wr *wr = arg, *bad;

	return (void *)(intptr_t)ibv_post_send(p.qp[0], wr, &bad);
}

static struct ibv_send_wr *many(struct ibv_sge sge[2])
{
	struct ibv_send_wr *wr = calloc(MANY, sizeof(*wr));

	NEED(wr, "no memory");
	sge[0] = sge[1] = pair_sge(&p, 0, 0, 100);
	sge[0].lkey ^= 0x5a;
	for (int i = 0; i < MANY; i++) {
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .sg_list = &sge[!!i], .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED, .next = i + 1 < MANY ? &wr[i + 1] : NULL,
		};
		wr_address(&p, 0, &wr[i]);
	}
	return wr;
}

/*
 * Requests behind a failed one are flushed, even if the process leaves SQE as soon as it
 * learns of the failure, when most of them are still in the send queue.
 */
static void sqe_left_at_once(void)
{
	struct pair_want want = { .type = IBV_QPT_UD, .send_wr = MANY, .cqe = 2 * MANY };
	struct ibv_send_wr *wr;
	struct ibv_sge sge[2];
	struct ibv_wc wc;
	pthread_t poster;
	void *err;

	pair_open(&p, &want);
	wr = many(sge);
	CHECK_ERR(post_recv_at(&p, 1, 1, 4096, 2000), 0);
	NEED(!pthread_create(&poster, NULL, post_many, wr), "pthread_create");
	WANT_WC(p.cq[0], &wc, IBV_WC_LOC_PROT_ERR);
	CHECK_ERR(leave_sqe(), 0);
	for (int i = 1; i < MANY; i++)
		if (!WANT_WC(p.cq[0], &wc, IBV_WC_WR_FLUSH_ERR) ||
		    !CHECK(wc.wr_id == (unsigned int)i, "wr_id %" PRIu64 ", not %d", wc.wr_id, i))
			break;
	pthread_join(poster, &err);
	CHECK(!err, "post: %s", err_name((intptr_t)err));
	WANT_EMPTY(p.cq[1]);
	free(wr);
	pair_close(&p);
}

static int to_sqd(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	return ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

static void want_drained(void)
{
	want_async(p.dev.ctx, IBV_EVENT_SQ_DRAINED, p.qp[0]);
}

static bool draining(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	NEED_OK(ibv_query_qp(p.qp[0], &a, IBV_QP_STATE, &init));
	return a.sq_draining;
}

/* The first request has begun and finds no receive request; the second is posted behind it. */
static void sqd(void)
{
	struct ibv_wc wc;

	pair_open(&p, NULL);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 100, IBV_SEND_SIGNALED), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 100, IBV_SEND_SIGNALED), 0);
	sleep_ms(20);
	CHECK_ERR(to_sqd(), 0);
	CHECK(draining(), "there is a request under way");
	CHECK(no_event_within(p.dev.ctx, 200), "an event before it is drained");
	for (int i = 0; i < 3; i++)
		CHECK_ERR(post_recv_at(&p, 1, 10 + i, 4096, 2000), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(wc.wr_id == 1, "wr_id %" PRIu64, wc.wr_id);
	want_drained();
	CHECK(!draining() && qp_state_now(p.qp[0]) == IBV_QPS_SQD, "state %d",
	      qp_state_now(p.qp[0]));
	CHECK_ERR(post_send_at(&p, 0, 3, 0, 100, IBV_SEND_SIGNALED), 0);
	sleep_ms(50);
	WANT_EMPTY(p.cq[0]);
	CHECK_ERR(qp_to_state(p.qp[0], IBV_QPS_RTS), 0);
	for (int i = 2; i < 4; i++) {
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == (unsigned int)i, "wr_id %" PRIu64, wc.wr_id);
	}
	pair_close(&p);
}

static void sqd_idle(void)
{
	struct ibv_wc wc;

	pair_open(&p, NULL);
	CHECK_ERR(to_sqd(), 0);
	want_drained();
	CHECK(no_event_within(p.dev.ctx, 200), "another event");
	CHECK_ERR(qp_to_state(p.qp[0], IBV_QPS_RTS), 0);
	/* This transition does not ask for the event. */
	CHECK_ERR(qp_to_state(p.qp[0], IBV_QPS_SQD), 0);
	CHECK(no_event_within(p.dev.ctx, 200), "an event that was not asked for");
	CHECK_ERR(qp_to_state(p.qp[0], IBV_QPS_RTS), 0);
	while (ibv_poll_cq(p.cq[1], 1, &wc) > 0)
		;
	CHECK(pair_works(&p), "after SQD");
	pair_close(&p);
}

/* A queue that takes no requests is drained at once. */
static void sqd_without_requests(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_recv_wr = 8, .max_recv_sge = 1 },
	};
	struct ibv_qp *whole;

	pair_open(&p, NULL);
	whole = p.qp[0];
	init.send_cq = p.cq[0];
	init.recv_cq = p.cq[0];
	p.qp[0] = ibv_create_qp(p.pd, &init);
	NEED_PTR(p.qp[0], "create_qp");
	qp_connect(&p.dev, p.qp[0], p.qp[1]->qp_num, &p.want);
	CHECK_ERR(to_sqd(), 0);
	want_drained();
	CHECK(!draining() && qp_state_now(p.qp[0]) == IBV_QPS_SQD, "state %d",
	      qp_state_now(p.qp[0]));
	CHECK_ERR(ibv_destroy_qp(p.qp[0]), 0);
	p.qp[0] = whole;
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "sqe_datagram", sqe_datagram },
	{ "sqe_unreliable", sqe_unreliable },
	{ "sqe_reliable", sqe_reliable },
	{ "sqe_list", sqe_list },
	{ "sqe_left_at_once", sqe_left_at_once },
	{ "sqd", sqd },
	{ "sqd_idle", sqd_idle },
	{ "sqd_without_requests", sqd_without_requests },
};

TEST_MAIN("api_states", cases, 60)
