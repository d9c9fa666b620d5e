// SPDX-License-Identifier: GPL-2.0
/* Mistakes in requests, and the causes of failed completions: see mistakes.h. */
#include "mistakes.h"
#include "univerbs.h"

/* ---- Posting ---------------------------------------------------------------- */

static int post(struct pair *p, enum ibv_wr_opcode opcode, unsigned int flags, int pieces)
{
	struct ibv_sge sge[32];
	struct ibv_send_wr wr = { .opcode = opcode, .send_flags = flags, .sg_list = sge,
		.num_sge = pieces };

	for (int i = 0; i < 32; i++)
		sge[i] = pair_sge(p, 0, 0, 64);
	return post_one(p, 0, &wr);
}

static void too_many_sges(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want) { .send_sge = 1 });
	CHECK(post(&p, IBV_WR_SEND, 0, p.cap.max_send_sge + 1), "posted");
	SAYS("ibv_post_send", "scatter/gather entries", "max_send_sge");
	pair_close(&p);
}

static void too_much_inline(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want) { .inline_data = 16 });
	CHECK(post(&p, IBV_WR_RDMA_READ, IBV_SEND_INLINE, 1), "posted");
	SAYS("IBV_SEND_INLINE is for data that is sent");
	CHECK(post(&p, IBV_WR_SEND, IBV_SEND_INLINE, p.cap.max_inline_data / 64 + 1), "posted");
	SAYS("ibv_post_send", "max_inline_data");
	pair_close(&p);
}

static void operation_of_other_devices(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK(post(&p, IBV_WR_ATOMIC_WRITE, 0, 1), "posted");
	SAYS("ibv_post_send", "IBV_WR_ATOMIC_WRITE", on_uroce() ? "ibv_wr_atomic_write alone" :
	     "the device does not offer");
	if (!on_uroce()) {
		CHECK(post(&p, IBV_WR_BIND_MW, 0, 1), "posted");
		SAYS("the device does not offer IBV_WR_BIND_MW");
	}
	pair_close(&p);
}

static void operation_not_asked_for(void)
{
	struct pair_want want = { .use_ex = 1 };
	struct ibv_qp_ex *qp;
	struct pair p;

	pair_open(&p, &want);
	qp = ibv_qp_to_qp_ex(p.qp[0]);
	ibv_wr_start(qp);
	ibv_wr_send_inv(qp, 5);
	CHECK(ibv_wr_complete(qp) == EOPNOTSUPP, "posted");
	SAYS("ibv_wr_complete", "created without IBV_QP_EX_WITH_SEND_WITH_INV");
	pair_close(&p);
}

static void window_of_no_bytes(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW }, *bad;
	struct pair p;
	struct ibv_mw *mw;

	if (!on_uroce())
		return;
	pair_open(&p, NULL);
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_2);
	NEED_PTR(mw, "alloc_mw");
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info.mr = p.mr;
	wr.bind_mw.bind_info.addr = (uintptr_t)p.buf[0];
	CHECK(ibv_post_send(p.qp[0], &wr, &bad), "bound to nothing");
	SAYS("ibv_post_send", "bytes in a memory window must not be 0");
	NEED_OK(ibv_dealloc_mw(mw));
	pair_close(&p);
}

static void send_queue_full(void)
{
	struct pair p;
	int n;

	pair_open(&p, &(struct pair_want) { .send_wr = 4 });
	for (n = 0; n < 4096 && !post(&p, IBV_WR_SEND, 0, 1); n++)
		;
	SAYS("ibv_post_send", "queue is full", "poll", "IBV_SEND_SIGNALED");
	pair_close(&p);
}

static void inline_data_too_long(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE,
		.sg_list = &sge, .num_sge = 1 };
	struct pair p;

	pair_open(&p, NULL);
	sge = pair_sge(&p, 0, 0, p.cap.max_inline_data + 1);
	CHECK(post_one(&p, 0, &wr), "posted");
	SAYS("ibv_post_send", "max_inline_data");
	pair_close(&p);
}

static void receive_queue_misused(void)
{
	struct ibv_sge sge[64] = {};
	struct pair p;
	int n;

	pair_open(&p, &(struct pair_want) { .recv_wr = 4, .recv_sge = 1 });
	NEED(p.cap.max_recv_sge < 64, "%u pieces", p.cap.max_recv_sge);
	CHECK(post_recv(&p, 0, 1, sge, (int)p.cap.max_recv_sge + 1), "posted");
	SAYS("ibv_post_recv", "scatter/gather entries", "max_recv_sge");
	for (n = 0; n < 4096 && !post_recv_at(&p, 0, 1, 4096, 64); n++)
		;
	SAYS("ibv_post_recv", "queue is full");
	pair_close(&p);
}

static void post_in_wrong_state(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1 });
	CHECK(post(&p, IBV_WR_SEND, 0, 1), "posted");
	SAYS("ibv_post_send", "state RESET", "from RTS on", "ibv_modify_qp");
	CHECK(post_recv_at(&p, 0, 1, 0, 64), "posted");
	SAYS("ibv_post_recv", "state RESET", "from INIT on");
	pair_close(&p);
}

static void receive_beside_shared_queue(void)
{
	struct ibv_recv_wr recv = {}, *bad;
	struct pair p;

	pair_open(&p, &(struct pair_want) { .use_srq = 1 });
	CHECK(ibv_post_recv(p.qp[0], &recv, &bad), "posted");
	SAYS("ibv_post_recv", "ibv_post_srq_recv");
	pair_close(&p);
}

static void shared_queue_misused(void)
{
	struct ibv_sge sge[32] = {};
	struct ibv_recv_wr recv = { .sg_list = sge, .num_sge = 32 }, *bad;
	struct pair p;
	int n;

	pair_open(&p, &(struct pair_want) { .use_srq = 1, .recv_wr = 4 });
	CHECK(ibv_post_srq_recv(p.srq, &recv, &bad), "posted");
	SAYS("ibv_post_srq_recv", "32 scatter/gather entries", "max_recv_sge");
	recv.num_sge = 0;
	for (n = 0; n < 4096 && !ibv_post_srq_recv(p.srq, &recv, &bad); n++)
		;
	SAYS("ibv_post_srq_recv", "queue is full");
	pair_close(&p);
}

static void datagram_without_address(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want) { .type = IBV_QPT_UD });
	CHECK(post(&p, IBV_WR_SEND, 0, 1), "posted");
	SAYS("ibv_post_send", "address handle");
	pair_close(&p);
}

/*
 * A request carries only the handle's number. The number of @mine may be unused in the
 * other context.
 */
static void address_of_another_context(void)
{
	struct pair other, p;
	struct ibv_ah *mine;

	pair_open(&other, &(struct pair_want) { .type = IBV_QPT_UD });
	pair_open(&p, &(struct pair_want) { .type = IBV_QPT_UD });
	mine = p.ah;
	p.ah = other.ah;
	forget();
	post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED);
	SAYS("ibv_post_send", "address handle is of another context");
	p.ah = mine;
	NEED_OK(qp_to_state(p.qp[0], IBV_QPS_RESET));
	pair_close(&p);
	pair_close(&other);
}

/* ---- Completions -------------------------------------------------------------- */

/*
 * Post a write of 64 bytes; the caller passes the wrong key or address. rdma_rxe may report
 * another error than @status.
 */
static void write_fails(struct pair *p, uint32_t lkey, uint64_t remote, uint32_t rkey,
			enum ibv_wc_status status)
{
	struct ibv_sge sge = { (uintptr_t)p->buf[0], 64, lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { remote, rkey } };
	struct ibv_wc wc;

	forget();
	CHECK_ERR(post_one(p, 0, &wr), 0);
	if (CHECK(wait_wc(p->cq[0], &wc, WC_TIMEOUT) == 1, "the write did not end"))
		CHECK(wc.status == status || (wc.status != IBV_WC_SUCCESS && !on_uroce()),
		      "the write ended with: %s", ibv_wc_status_str(wc.status));
}

static void wrong_keys(void)
{
	const char *unknown = on_uroce() ? "no memory region" : "protection domain";
	struct pair other, p;
	struct ibv_mr *mr;

	pair_open(&other, NULL);
	pair_open(&p, NULL);
	write_fails(&p, other.mr->lkey + 77777, (uintptr_t)p.buf[1], p.mr->rkey,
		    IBV_WC_LOC_PROT_ERR);
	/* rdma_rxe tells only that the request failed. */
	if (on_uroce())
		SAYS("local protection error", "lkey", unknown);
	else
		SAYS("ibv_poll_cq", "work request 0", "local");
	pair_close(&p);
	pair_open(&p, NULL);
	write_fails(&p, p.mr->lkey, (uintptr_t)p.buf[1], p.mr->rkey + 77777,
		    IBV_WC_REM_ACCESS_ERR);
	SAYS("remote access error", "rkey", unknown);
	pair_close(&p);
	pair_open(&p, NULL);
	write_fails(&p, p.mr->lkey, (uintptr_t)p.buf[1] + PAIR_HALF, p.mr->rkey,
		    IBV_WC_REM_ACCESS_ERR);
	SAYS("remote access error", "rkey", on_uroce() ? "does not have all of these bytes" :
	     "has not these bytes");
	pair_close(&p);
	pair_open(&p, NULL);
	mr = ibv_reg_mr(p.pd, p.buf[1], 4096, IBV_ACCESS_LOCAL_WRITE);
	NEED_PTR(mr, "reg_mr");
	write_fails(&p, p.mr->lkey, (uintptr_t)p.buf[1], mr->rkey,
		    IBV_WC_REM_ACCESS_ERR);
	SAYS("remote access error", "IBV_ACCESS_REMOTE_");
	NEED_OK(ibv_dereg_mr(mr));
	pair_close(&p);
	pair_close(&other);
}

static void key_of_another_domain(void)
{
	const char *domain = on_uroce() ? "peer's protection domain" : "protection domain";
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p, NULL);
	pd = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	mr = ibv_reg_mr(pd, p.buf[1], 4096, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	write_fails(&p, p.mr->lkey, (uintptr_t)p.buf[1], mr->rkey,
		    IBV_WC_REM_ACCESS_ERR);
	SAYS("remote access error", "rkey", domain);
	NEED_OK(ibv_dereg_mr(mr));
	NEED_OK(ibv_dealloc_pd(pd));
	pair_close(&p);
}

/*
 * A process does not learn which keys there are in other domains. So their rights and bounds do
 * not matter, and the reason is that of a key that does not exist.
 */
static void keys_of_others_are_unknown(void)
{
	static const struct {
		int access;
		size_t off;
	} tries[] = { { ALL_ACCESS, 0 }, { ALL_ACCESS, 4096 }, { IBV_ACCESS_LOCAL_WRITE, 0 } };
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct pair p;

	if (!on_uroce())
		return;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(tries); i++) {
		bool own = i % 2;

		pair_open(&p, NULL);
		pd = ibv_alloc_pd(p.dev.ctx);
		NEED_PTR(pd, "alloc_pd");
		mr = ibv_reg_mr(pd, p.buf[!own] + tries[i / 2].off, 4096, tries[i / 2].access);
		NEED_PTR(mr, "reg_mr");
		write_fails(&p, own ? mr->lkey : p.mr->lkey, (uintptr_t)p.buf[1],
			    own ? p.mr->rkey : mr->rkey,
			    own ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR);
		/* A packet cannot carry the reason. */
		CHECK(why_reason() == UNIV_REASON_KEY_UNKNOWN || (!own && by_packets()),
		      "%s, try %zu: reason %u, %s", own ? "lkey" : "rkey", i / 2, why_reason(),
		      why_text());
		NEED_OK(ibv_dereg_mr(mr));
		NEED_OK(ibv_dealloc_pd(pd));
		pair_close(&p);
	}
}

static void peer_forbids(void)
{
	struct ibv_qp_attr a = { .qp_access_flags = 0 };
	struct pair p;

	pair_open(&p, NULL);
	NEED_OK(ibv_modify_qp(p.qp[1], &a, IBV_QP_ACCESS_FLAGS));
	write_fails(&p, p.mr->lkey, (uintptr_t)p.buf[1], p.mr->rkey,
		    IBV_WC_REM_INV_REQ_ERR);
	/* A packet cannot carry the reason, and rdma_rxe has none. */
	CHECK(why_reason() == UNIV_REASON_QP_ACCESS || !on_uroce() || by_packets(), "reason %u",
	      why_reason());
	SAYS("qp_access_flags");
	pair_close(&p);
}

/* A request fails, and the explanation of the next one, which is flushed, names it. */
static void fails_and_flushes(struct pair *p)
{
	struct ibv_wc wc;

	write_fails(p, p->mr->lkey, (uintptr_t)p->buf[1], p->mr->rkey + 77777,
		    IBV_WC_REM_ACCESS_ERR);
	forget();
	CHECK_ERR(post_rdma(p, 0, 5, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p->cq[0], &wc, IBV_WC_WR_FLUSH_ERR);
	SAYS("work request 5: flushed", "because request 0 failed before", "remote access error");
}

static void flushed(void)
{
	struct pair p;

	pair_open(&p, NULL);
	fails_and_flushes(&p);
	pair_close(&p);
}

/* The queue pair is found among others. The tables of queue pairs have 64 and 256 lists. */
static void flushed_among_many(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp *others[300];
	struct pair p;

	pair_open(&p, NULL);
	init.send_cq = init.recv_cq = p.cq[1];
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = ibv_create_qp(p.pd, &init);
		NEED_PTR(others[i], "create_qp");
	}
	fails_and_flushes(&p);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		NEED_OK(ibv_destroy_qp(others[i]));
	pair_close(&p);
}

/*
 * By ibv_start_poll(), the line comes at ibv_end_poll(). Two requests fail in one batch, and there
 * is a line for each of them.
 */
static void failed_ex_with(uint32_t flags)
{
	struct ibv_poll_cq_attr attr = {};
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct ibv_cq_ex *cq;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED };
	struct pair p;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1 });
	cq = pair_extend_cq(&p, (struct ibv_cq_init_attr_ex) { .cqe = 16, .flags = flags,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS });
	sge = pair_sge(&p, 0, 0, 64);
	wr.wr.rdma.remote_addr = (uintptr_t)p.buf[1];
	wr.wr.rdma.rkey = p.mr->rkey + 77777;
	forget();
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	while (ibv_start_poll(cq, &attr))
		NEED(now_ns() < end, "no completion");
	CHECK(cq->status != IBV_WC_SUCCESS, "the write did not fail");
	wr.wr_id = 5;
	/* The completion of this one is flushed while the first one is read. */
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	while (ibv_next_poll(cq))
		NEED(now_ns() < end, "no second completion");
	CHECK(cq->status == IBV_WC_WR_FLUSH_ERR, "status %d", cq->status);
	ibv_end_poll(cq);
	CHECK(some_line_has((const char *const[]) { "work request 0: remote access error", NULL }),
	      "printed: %s", all_printed());
	SAYS("work request 5: flushed", "because request 0 failed before");
	pair_close(&p);
}

static void failed_ex(void)
{
	failed_ex_with(0);
	failed_ex_with(IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
}

static void no_receive(void)
{
	struct pair_want want = { .rnr_retry = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_RNR_RETRY_EXC_ERR);
	SAYS("receiver-not-ready", "no receive request", "rnr_retry");
	pair_close(&p);
}

static void no_peer(void)
{
	struct pair_want want = { .timeout = 8, .retry_cnt = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	NEED_OK(qp_to_state(p.qp[1], IBV_QPS_RESET));
	CHECK_ERR(post_rdma(&p, 0, 5, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_RETRY_EXC_ERR);
	SAYS("retries exceeded", "RTR", "path MTU", "hop_limit", "4791");
	/* The sentence is not cut off in struct univerbs_error. */
	if (why_known())
		CHECK(strstr(why_text(), "4791"), "the text ends with: %s", why_text());
	pair_close(&p);
}

static void message_too_long(void)
{
	struct ibv_wc wc;
	struct pair p;

	/* rdma_rxe reports another status. */
	if (!on_uroce())
		return;
	pair_open(&p, NULL);
	CHECK_ERR(post_recv_at(&p, 1, 1, 4096, 50), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 100, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_LOC_LEN_ERR);
	CHECK(why_reason() == UNIV_REASON_RECV_SHORT, "reason %u", why_reason());
	SAYS("local length error", "longer than the receive request's memory");
	pair_close(&p);
}

/*
 * uroce and the rdma_rxe of newer kernels drop the datagram, and the request waits: see
 * mistakes_hangs.c.
 */
static void no_room_for_grh(void)
{
	struct ibv_wc wc;
	struct pair p;

	if (on_uroce() || later_rxe())
		return;
	pair_open(&p, &(struct pair_want){ .type = IBV_QPT_UD });
	CHECK_ERR(post_recv_at(&p, 1, 1, 4096, 100), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 100, IBV_SEND_SIGNALED), 0);
	CHECK(wait_wc(p.cq[1], &wc, WC_TIMEOUT) == 1 && wc.status != IBV_WC_SUCCESS,
	      "the receive did not fail");
	SAYS("work request 1", "40 bytes more, for the GRH");
	pair_close(&p);
}

/* Wait for the event of a queue that has overrun, and skip those of its queue pairs. */
static bool overrun_comes(struct ibv_context *ctx)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	do {
		if (poll(&pfd, 1, WC_TIMEOUT) != 1 || ibv_get_async_event(ctx, &event))
			return false;
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_CQ_ERR);
	return true;
}

static void completion_queue_too_small(void)
{
	struct pair_want want = { .cqe = 1, .send_wr = 500 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int k = 0; k < p.cq[0]->cqe + 1; k++)
		CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	CHECK(overrun_comes(p.dev.ctx), "no IBV_EVENT_CQ_ERR");
	while (ibv_poll_cq(p.cq[0], 1, &wc) > 0)
		;
	CHECK(ibv_poll_cq(p.cq[0], 1, &wc) < 0, "the queue did not overrun");
	SAYS("overrun", "entries", "create it with as many entries");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "too_many_sges", too_many_sges },
	{ "too_much_inline", too_much_inline },
	{ "operation_of_other_devices", operation_of_other_devices },
	{ "operation_not_asked_for", operation_not_asked_for },
	{ "window_of_no_bytes", window_of_no_bytes },
	{ "send_queue_full", send_queue_full },
	{ "inline_data_too_long", inline_data_too_long },
	{ "receive_queue_misused", receive_queue_misused },
	{ "post_in_wrong_state", post_in_wrong_state },
	{ "receive_beside_shared_queue", receive_beside_shared_queue },
	{ "shared_queue_misused", shared_queue_misused },
	{ "datagram_without_address", datagram_without_address },
	{ "address_of_another_context", address_of_another_context },
	{ "wrong_keys", wrong_keys },
	{ "key_of_another_domain", key_of_another_domain },
	{ "keys_of_others_are_unknown", keys_of_others_are_unknown },
	{ "peer_forbids", peer_forbids },
	{ "flushed", flushed },
	{ "flushed_among_many", flushed_among_many },
	{ "failed_ex", failed_ex },
	{ "no_receive", no_receive },
	{ "no_peer", no_peer },
	{ "message_too_long", message_too_long },
	{ "no_room_for_grh", no_room_for_grh },
	{ "completion_queue_too_small", completion_queue_too_small },
};

TEST_MAIN("mistakes_work", cases, 60)
