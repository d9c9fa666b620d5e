// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: attributes, resets, the error state, and many of them. */
#include "testlib.h"

/*
 * Programs pass the flags that they register memory with. Bits without a meaning for a
 * queue pair are ignored.
 */
static void access_flags(void)
{
	struct ibv_qp_attr a = { .qp_access_flags = ALL_ACCESS | IBV_ACCESS_RELAXED_ORDERING };
	struct pair p;

	pair_open(&p, NULL);
	CHECK_ERR(ibv_modify_qp(p.qp[1], &a, IBV_QP_ACCESS_FLAGS), 0);
	CHECK(pair_works(&p), "afterwards");
	pair_close(&p);
}

static void query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p;

	pair_open(&p, &(struct pair_want){ .sig_all = 1 });
	memset(&attr, 0xa5, sizeof(attr));
	memset(&init, 0xa5, sizeof(init));
	CHECK_ERR(ibv_query_qp(p.qp[0], &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_CAP, &init), 0);
	CHECK(attr.qp_state == IBV_QPS_RTS && p.qp[0]->state == IBV_QPS_RTS, "state %d",
	      attr.qp_state);
	CHECK(attr.dest_qp_num == p.qp[1]->qp_num, "dest_qp_num %u", attr.dest_qp_num);
	CHECK(attr.path_mtu == p.dev.port.active_mtu, "path_mtu %d", attr.path_mtu);
	CHECK(attr.port_num == PORT && attr.retry_cnt == 6 && attr.rnr_retry == 7 &&
	      attr.timeout == 14 && attr.min_rnr_timer == 1, "port %u retry %u rnr %u timeout %u",
	      attr.port_num, attr.retry_cnt, attr.rnr_retry, attr.timeout);
	CHECK(!memcmp(&attr.ah_attr.grh.dgid, &p.dev.gid, 16) && attr.ah_attr.is_global &&
	      attr.ah_attr.grh.sgid_index == p.dev.gid_index, "the address vector");
	CHECK(init.cap.max_send_wr >= 64 && init.cap.max_recv_wr >= 64 &&
	      init.cap.max_send_sge >= 4 && init.cap.max_inline_data >= 64 &&
	      !memcmp(&init.cap, &attr.cap, sizeof(init.cap)), "capacities: %u %u %u %u",
	      init.cap.max_send_wr, init.cap.max_recv_wr, init.cap.max_send_sge,
	      init.cap.max_inline_data);
	CHECK(init.qp_type == IBV_QPT_RC && init.send_cq == p.cq[0] && init.recv_cq == p.cq[0] &&
	      !init.srq && init.qp_context == &p, "what it was made of");
	CHECK(init.sq_sig_all == 1, "sq_sig_all is %d", init.sq_sig_all);
	pair_close(&p);
}

/*
 * Programs that were built before rdma-core 13 pass a struct that ends before rate_limit, by the
 * same symbol. What lies behind it, as on their stack, is left alone.
 */
static void query_old_struct(void)
{
	static const int masks[] = { IBV_QP_STATE | IBV_QP_CAP | IBV_QP_AV, 0 };
	struct {
		uint8_t attr[offsetof(struct ibv_qp_attr, rate_limit)]
			__attribute__((aligned(__alignof__(struct ibv_qp_attr))));
		uint8_t behind[64];
	} old;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p;

	_Static_assert(sizeof(void *) != 8 || sizeof(old.attr) == 136, "the struct of old programs");
	pair_open(&p, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		memset(&old, 0xa5, sizeof(old));
		CHECK_ERR(ibv_query_qp(p.qp[0], (void *)old.attr, masks[i], &init), 0);
		for (size_t n = 0; n < sizeof(old.behind); n++)
			CHECK(old.behind[n] == 0xa5, "mask %#x: byte %zu behind the struct is %#x",
			      masks[i], n, old.behind[n]);
		memcpy(&attr, old.attr, sizeof(old.attr));
		CHECK(!masks[i] || (attr.qp_state == IBV_QPS_RTS && attr.cap.max_send_wr >= 64),
		      "state %d, %u requests", attr.qp_state, attr.cap.max_send_wr);
	}
	pair_close(&p);
}

/*
 * Programs ask for ten retries. Counts that the fields of the specification cannot hold are
 * accepted, as by other devices, and become the highest finite ones; the timer has five bits.
 */
static void high_counts(void)
{
	static const struct {
		uint8_t retry_cnt, rnr_retry, timer;
		uint8_t kept_retry_cnt, kept_rnr_retry, kept_timer;
	} all[] = {
		{ 7, 6, 31, 7, 6, 31 },
		{ 10, 10, 32 + 12, 7, 6, 12 },
		{ 8, 8, 32, 7, 6, 0 },
		{ 255, 255, 255, 7, 6, 31 },
		{ 0, 7, 1, 0, 7, 1 },
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	struct pair p;

	pair_open(&p, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		NEED_OK(qp_to_state(p.qp[0], IBV_QPS_RESET));
		NEED_OK(qp_to_state(p.qp[1], IBV_QPS_RESET));
		qp_connect(&p.dev, p.qp[1], p.qp[0]->qp_num, NULL);
		NEED_OK(qp_to_init(p.qp[0]));
		NEED_OK(qp_to_rtr(&p.dev, p.qp[0], p.qp[1]->qp_num));
		a = (struct ibv_qp_attr) {
			.qp_state = IBV_QPS_RTS, .sq_psn = 100, .timeout = 14, .max_rd_atomic = 8,
			.retry_cnt = all[i].retry_cnt, .rnr_retry = all[i].rnr_retry,
			.min_rnr_timer = all[i].timer,
		};
		CHECK_ERR(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_SQ_PSN |
					IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
		CHECK_ERR(ibv_query_qp(p.qp[0], &a, IBV_QP_STATE, &init), 0);
		CHECK(a.retry_cnt == all[i].kept_retry_cnt &&
		      a.rnr_retry == all[i].kept_rnr_retry &&
		      a.min_rnr_timer == all[i].kept_timer, "row %zu: retry %u rnr %u timer %u", i,
		      a.retry_cnt, a.rnr_retry, a.min_rnr_timer);
		CHECK(pair_works(&p), "row %zu: the pair does not work", i);
	}
	pair_close(&p);
}

/* Reset and reconnect: no request or completion from before the reset remains. */
static void reset_and_again(void)
{
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	for (int round = 0; round < 3; round++) {
		for (int k = 0; k < 5; k++)
			CHECK_ERR(post_recv_at(&p, 1, 50 + k, 0, 64), 0);
		CHECK_ERR(post_send_at(&p, 0, round, 0, 8, IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == 50, "receive %" PRIu64 " of round %d", wc.wr_id, round);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		for (int i = 0; i < 2; i++)
			CHECK_ERR(qp_to_state(p.qp[i], IBV_QPS_RESET), 0);
		for (int i = 0; i < 2; i++)
			WANT_EMPTY(p.cq[i]);
		for (int i = 0; i < 2; i++)
			qp_connect(&p.dev, p.qp[i], p.qp[!i]->qp_num, &p.want);
	}
	CHECK(pair_works(&p), "the pair does not work after its resets");
	pair_close(&p);
}

/*
 * A reset drops the queue pair's completions that were not polled, and keeps those of other
 * queue pairs, as on mlx5.
 */
static void reset_forgets(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_recv_wr wr = { .wr_id = 100 }, *bad;
	struct ibv_qp *other;
	struct ibv_wc wc;
	struct pair p;
	int flushed = 0;

	pair_open(&p, NULL);
	init.send_cq = p.cq[0];
	init.recv_cq = p.cq[0];
	other = ibv_create_qp(p.pd, &init);
	NEED_PTR(other, "create_qp");
	NEED_OK(qp_to_init(other));
	for (int i = 0; i < 3; i++) {
		wr.wr_id = 100 + i;
		CHECK_ERR(ibv_post_recv(other, &wr, &bad), 0);
	}
	for (int i = 0; i < 3; i++)
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	sleep_ms(100);
	CHECK_ERR(qp_to_state(other, IBV_QPS_ERR), 0);
	sleep_ms(100);
	CHECK_ERR(post_rdma(&p, 0, 3, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	sleep_ms(100);
	CHECK_ERR(qp_to_state(p.qp[0], IBV_QPS_RESET), 0);
	CHECK_ERR(qp_to_state(p.qp[1], IBV_QPS_RESET), 0);
	/* rdma_rxe of 6.1 does not flush receive requests. */
	for (; wait_wc(p.cq[0], &wc, on_uroce() && flushed < 3 ? WC_TIMEOUT : 0) == 1; flushed++)
		CHECK(wc.qp_num == other->qp_num, "a completion of the queue pair that was reset");
	CHECK(flushed == 3 || !on_uroce(), "%d of 3 completions of the other queue pair", flushed);
	/* This drops the completions that rdma_rxe adds later. */
	CHECK_ERR(ibv_destroy_qp(other), 0);
	pair_make_ready(&p);
	CHECK(pair_works(&p), "messages after the reset");
	pair_close(&p);
}

/*
 * The destruction of a queue pair removes its completions too: a wr_id may point to memory that
 * the program frees with the queue pair.
 */
static void destroy_forgets(void)
{
	struct ibv_qp *other;
	struct ibv_cq *got;
	struct ibv_wc wc;
	struct pair p;
	void *context;

	pair_open(&p, &(struct pair_want){ .use_channel = 1 });
	other = p.qp[1];
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	CHECK_ERR(post_recv_at(&p, 1, 50, 4096, 64), 0);
	for (int i = 0; i < 3; i++)
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	CHECK_ERR(post_send_at(&p, 0, 3, 0, 8, IBV_SEND_SIGNALED), 0);
	/* The message must arrive before its sender is destroyed. */
	NEED(!ibv_get_cq_event(p.ch, &got, &context), "%s", err_name(errno));
	ibv_ack_cq_events(got, 1);
	sleep_ms(200);
	CHECK_ERR(ibv_destroy_qp(p.qp[0]), 0);
	p.qp[0] = NULL;
	WANT_EMPTY(p.cq[0]);
	if (WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS))
		CHECK(wc.wr_id == 50 && wc.qp_num == other->qp_num, "wr_id %" PRIu64, wc.wr_id);
	pair_close(&p);
}

/* Both sides of @p complete into one extended completion queue without a lock. */
static struct ibv_cq_ex *open_on_one_queue(struct pair *p)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 64,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
		.wc_flags = IBV_WC_EX_WITH_QP_NUM,
	};
	struct ibv_cq_ex *cq;

	pair_open(p, &(struct pair_want) { .stay_reset = 1, .use_channel = 1 });
	init.channel = p->ch;
	cq = ibv_create_cq_ex(p->dev.ctx, &init);
	NEED_PTR(cq, "create_cq_ex");
	for (int i = 0; i < 2; i++) {
		NEED_OK(ibv_destroy_qp(p->qp[i]));
		NEED_OK(ibv_destroy_cq(p->cq[i]));
		p->cq[i] = ibv_cq_ex_to_cq(cq);
		pair_create_qp(p, i);
	}
	pair_make_ready(p);
	return cq;
}

/* Make a completion of side @i the next one in the queue, without polling the queue. */
static void complete_one(struct pair *p, int i)
{
	struct ibv_cq *cq;
	void *context;

	NEED_OK(ibv_req_notify_cq(p->cq[0], 0));
	NEED_OK(post_rdma(p, i, 7, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED));
	NEED(!ibv_get_cq_event(p->ch, &cq, &context), "get_cq_event: %s", err_name(errno));
	ibv_ack_cq_events(cq, 1);
}

/*
 * Reset side 0 while the program reads the first completion. @order tells the side of each
 * completion. The first completion is unchanged, and the completions of side 1 behind it
 * are returned.
 */
static void reset_while_polling(struct pair *p, struct ibv_cq_ex *cq, const char *order)
{
	struct ibv_poll_cq_attr attr = {};
	uint32_t first;

	for (const char *side = order; *side; side++)
		complete_one(p, *side - '0');
	NEED_OK(ibv_start_poll(cq, &attr));
	first = p->qp[*order - '0']->qp_num;
	CHECK_ERR(qp_to_state(p->qp[0], IBV_QPS_RESET), 0);
	CHECK(ibv_wc_read_qp_num(cq) == first && cq->wr_id == 7,
	      "%s: the current completion is another", order);
	for (const char *side = order + 1; *side; side++)
		if (*side == '1' && CHECK_ERR(ibv_next_poll(cq), 0))
			CHECK(ibv_wc_read_qp_num(cq) == p->qp[1]->qp_num,
			      "%s: a completion of the queue pair that was reset", order);
	CHECK_ERR(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	CHECK_ERR(qp_to_state(p->qp[1], IBV_QPS_RESET), 0);
	pair_make_ready(p);
	CHECK(pair_works(p), "%s: messages after the reset", order);
	WANT_EMPTY(p->cq[0]);
}

static void reset_between_polls(void)
{
	static const char *const orders[] = { "0", "001", "100", "0101" };
	struct ibv_cq_ex *cq;
	struct pair p;

	if (!why_known())
		return;
	cq = open_on_one_queue(&p);
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		reset_while_polling(&p, cq, orders[i]);
	p.cq[1] = NULL;
	CHECK_ERR(ibv_destroy_qp(p.qp[1]), 0);
	p.qp[1] = NULL;
	pair_close(&p);
}

static void flush(void)
{
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, NULL);
	for (int k = 0; k < 10; k++)
		CHECK_ERR(post_recv_at(&p, 1, k, 0, 64), 0);
	CHECK_ERR(qp_to_state(p.qp[1], IBV_QPS_ERR), 0);
	for (int k = 0; k < 10; k++) {
		if (!WANT_WC(p.cq[1], &wc, IBV_WC_WR_FLUSH_ERR))
			break;
		CHECK(wc.wr_id == (uint64_t)k && wc.qp_num == p.qp[1]->qp_num,
		      "flushed wr_id %" PRIu64 " of qp %u", wc.wr_id, wc.qp_num);
	}
	if (why_known()) {
		CHECK_ERR(post_recv_at(&p, 1, 99, 0, 64), 0);
		WANT_WC(p.cq[1], &wc, IBV_WC_WR_FLUSH_ERR);
	}
	CHECK_ERR(post_rdma(&p, 1, 98, IBV_WR_RDMA_WRITE, 8, 0), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_WR_FLUSH_ERR);
	CHECK(wc.wr_id == 98, "an unsignaled request is flushed too: %" PRIu64, wc.wr_id);
	pair_close(&p);
}

/* Create many queue pairs in one process. */
static void many(void)
{
	struct pair_want want = { .stay_reset = 1 };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp[200];
	struct pair p;

	pair_open(&p, &want);
	init.send_cq = p.cq[0];
	init.recv_cq = p.cq[1];
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++) {
		qp[i] = ibv_create_qp(p.pd, &init);
		NEED(qp[i], "queue pair %zu: %s; %s", i, err_name(errno), why_text());
		for (size_t k = 0; k < i; k++)
			CHECK(qp[k]->qp_num != qp[i]->qp_num, "the same number twice");
	}
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++)
		CHECK_ERR(ibv_destroy_qp(qp[i]), 0);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "access_flags", access_flags },
	{ "query", query },
	{ "query_old_struct", query_old_struct },
	{ "high_counts", high_counts },
	{ "reset_and_again", reset_and_again },
	{ "reset_forgets", reset_forgets },
	{ "destroy_forgets", destroy_forgets },
	{ "reset_between_polls", reset_between_polls },
	{ "flush", flush },
	{ "many", many },
};

TEST_MAIN("api_qp", cases, 30)
