// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that cannot be posted: full queues, wrong states, too many pieces, operations
 * that the queue pair does not have. bad_wr points at the refused request.
 */
#include "testlib.h"
#include <univerbs.h>

static void chain_sends(struct pair *p, struct ibv_send_wr *wr, struct ibv_sge *sge, int n)
{
	for (int i = 0; i < n; i++) {
		sge[i] = pair_sge(p, 0, 0, 8);
		wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.wr.rdma = { .remote_addr = (uintptr_t)p->buf[1], .rkey = p->mr->rkey },
		};
	}
}

/*
 * Requests that the device cannot complete, here sends without a receive, stay in the
 * queue. The queue takes as many as were granted and refuses the next one.
 */
static void send_queue_full(void)
{
	struct pair_want want = { .send_wr = 16, .cqe = 1000 };
	struct ibv_send_wr *wr, *bad = NULL;
	struct ibv_sge *sge;
	struct ibv_wc wc;
	struct pair p;
	int n, ret;

	pair_open(&p, &want);
	n = p.cap.max_send_wr;
	wr = calloc(n + 10, sizeof(*wr));
	sge = calloc(n + 10, sizeof(*sge));
	chain_sends(&p, wr, sge, n + 10);
	for (int i = 0; i < n + 10; i++)
		wr[i].opcode = IBV_WR_SEND;
	ret = ibv_post_send(p.qp[0], wr, &bad);
	CHECK(ret == ENOMEM, "%d requests into a queue of %d: %s", n + 10, n, err_name(ret));
	CHECK(bad == &wr[n], "bad_wr is request %td, expected %d", bad ? bad - wr : -1, n);
	if (why_known())
		CHECK(why_reason() == UNIV_REASON_QUEUE_FULL && why_bound() == (uint64_t)n,
		      "reason %u bound %" PRIu64 ": %s", why_reason(), why_bound(), why_text());
	bad = NULL;
	ret = ibv_post_send(p.qp[0], &wr[n + 9], &bad);
	CHECK(ret == ENOMEM && bad == &wr[n + 9], "one more: %s", err_name(ret));
	for (int i = 0; i < n; i++) {
		CHECK_ERR(post_recv_at(&p, 1, i, 4096, 64), 0);
		if (!WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS) || !WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
		CHECK(wc.wr_id == (uint64_t)i, "wr_id %" PRIu64 ", expected %d", wc.wr_id, i);
	}
	WANT_EMPTY(p.cq[0]);
	CHECK(pair_works(&p), "the pair does not work after its queue was full");
	free(wr);
	free(sge);
	pair_close(&p);
}

static void fill_receives(struct pair *p, int n)
{
	struct ibv_recv_wr *wr = calloc(n + 3, sizeof(*wr)), *bad = NULL;
	struct ibv_sge sge = pair_sge(p, 0, 4096, 2048);
	int ret;

	for (int i = 0; i < n + 3; i++)
		wr[i] = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &sge, .num_sge = 1,
			.next = i < n + 2 ? &wr[i + 1] : NULL };
	ret = p->srq ? ibv_post_srq_recv(p->srq, wr, &bad) : ibv_post_recv(p->qp[1], wr, &bad);
	CHECK(ret == ENOMEM, "%d requests into a queue of %d: %s", n + 3, n, err_name(ret));
	CHECK(bad == &wr[n], "bad_wr is request %td, expected %d", bad ? bad - wr : -1, n);
	CHECK(why_reason() == UNIV_REASON_QUEUE_FULL, "reason %u: %s", why_reason(), why_text());
	free(wr);
}

static void receive_queue_full(void)
{
	struct pair_want want = { .recv_wr = 16 };
	struct ibv_wc wc;
	struct pair p;
	int n;

	pair_open(&p, &want);
	n = p.cap.max_recv_wr;
	fill_receives(&p, n);
	for (int i = 0; i < n; i++) {
		CHECK_ERR(post_send_at(&p, 0, i, 0, 8, IBV_SEND_SIGNALED), 0);
		if (!WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS) || !WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
	}
	CHECK(pair_works(&p), "the pair does not work after its queue was full");
	pair_close(&p);
}

static void shared_queue_full(void)
{
	struct pair_want want = { .use_srq = 1, .recv_wr = 16 };
	struct ibv_srq_attr attr;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	NEED_OK(ibv_query_srq(p.srq, &attr));
	fill_receives(&p, attr.max_wr);
	for (uint32_t i = 0; i < attr.max_wr; i++) {
		CHECK_ERR(post_send_at(&p, 0, i, 0, 8, IBV_SEND_SIGNALED), 0);
		if (!WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS) || !WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
	}
	CHECK(pair_works(&p), "the pair does not work after its queue was full");
	pair_close(&p);
}

static void want_bad(struct pair *p, struct ibv_send_wr *wr, int at, int err, const char *what)
{
	struct ibv_send_wr *bad = NULL;
	int ret = ibv_post_send(p->qp[0], wr, &bad);

	CHECK(ret == err, "%s: expected %s, got %s", what, err_name(err), err_name(ret));
	CHECK(bad == &wr[at], "%s: bad_wr is %td, expected %d", what, bad ? bad - wr : -1, at);
	CHECK(why_reason(), "%s: no reason", what);
}

static void malformed(void)
{
	struct pair_want want = { .send_sge = 2, .inline_data = 32 };
	struct ibv_sge sge[64], many[64];
	struct ibv_send_wr wr[3];
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int i = 0; i < 64; i++)
		many[i] = pair_sge(&p, 0, 0, 64);

	chain_sends(&p, wr, sge, 3);
	wr[1].sg_list = many;
	wr[1].num_sge = p.cap.max_send_sge + 1;
	want_bad(&p, wr, 1, EINVAL, "too many pieces");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	sleep_ms(20);
	WANT_EMPTY(p.cq[0]);

	chain_sends(&p, wr, sge, 1);
	wr[0].num_sge = -1;
	want_bad(&p, wr, 0, EINVAL, "a negative number of pieces");

	chain_sends(&p, wr, sge, 1);
	wr[0].send_flags |= IBV_SEND_INLINE;
	sge[0].length = p.cap.max_inline_data + 1;
	want_bad(&p, wr, 0, EINVAL, "too much inline data");

	chain_sends(&p, wr, sge, 1);
	wr[0].send_flags |= IBV_SEND_INLINE;
	wr[0].sg_list = many;
	wr[0].num_sge = 2;
	many[0].length = 0xffffffffu;
	many[1].length = 2;
	want_bad(&p, wr, 0, EINVAL, "inline lengths whose sum wraps");

	chain_sends(&p, wr, sge, 1);
	wr[0].opcode = 200;
	want_bad(&p, wr, 0, EINVAL, "an unknown opcode");

	chain_sends(&p, wr, sge, 1);
	wr[0].opcode = IBV_WR_RDMA_READ;
	wr[0].send_flags |= IBV_SEND_INLINE;
	want_bad(&p, wr, 0, EINVAL, "an inline read");
	CHECK(pair_works(&p), "the pair does not work after refused requests");
	pair_close(&p);
}

static void wrong_states(void)
{
	struct pair_want want = { .stay_reset = 1 };
	struct pair p;
	int ret;

	pair_open(&p, &want);
	ret = post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED);
	CHECK(ret == EINVAL, "post_send in RESET: %s", err_name(ret));
	CHECK(why_reason() == UNIV_REASON_POST_STATE, "reason %u: %s", why_reason(), why_text());
	ret = post_recv_at(&p, 0, 1, 0, 8);
	CHECK(ret == EINVAL, "post_recv in RESET: %s", err_name(ret));
	CHECK(why_reason() == UNIV_REASON_POST_STATE, "reason %u: %s", why_reason(), why_text());
	NEED_OK(qp_to_init(p.qp[0]));
	ret = post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED);
	CHECK(ret == EINVAL, "post_send in INIT: %s", err_name(ret));
	CHECK_ERR(post_recv_at(&p, 0, 1, 0, 8), 0);
	NEED_OK(qp_to_rtr(&p.dev, p.qp[0], p.qp[0]->qp_num));
	ret = post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED);
	CHECK(ret == EINVAL, "post_send in RTR: %s", err_name(ret));
	NEED_OK(qp_to_state(p.qp[0], IBV_QPS_RESET));
	pair_make_ready(&p);
	CHECK(pair_works(&p), "the pair does not work after it");
	pair_close(&p);
}

/*
 * Post receives without memory, which are enough for messages that consist of immediate
 * data alone.
 */
static void no_pieces(void)
{
	struct pair_want want = { 0 };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_sge sge;
	struct ibv_qp *qp;
	struct pair p;
	int ret;

	pair_open(&p, &want);
	init = (struct ibv_qp_init_attr) {
		.send_cq = p.cq[0],
		.recv_cq = p.cq[0],
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1 },
	};
	qp = ibv_create_qp(p.pd, &init);
	NEED_PTR(qp, "create_qp");
	CHECK(ibv_post_recv(qp, &wr, &bad) == EINVAL && bad == &wr, "a receive in RESET");
	NEED_OK(qp_to_init(qp));
	CHECK_ERR(ibv_post_recv(qp, &wr, &bad), 0);
	if (!init.cap.max_recv_sge) {
		sge = pair_sge(&p, 0, 0, 8);
		wr.sg_list = &sge;
		wr.num_sge = 1;
		bad = NULL;
		ret = ibv_post_recv(qp, &wr, &bad);
		CHECK(ret == EINVAL && bad == &wr, "a piece too many: %s", err_name(ret));
		CHECK(why_reason() == UNIV_REASON_WR_SGE, "reason %u", why_reason());
	}
	NEED_OK(qp_to_state(qp, IBV_QPS_RESET));
	wr.num_sge = 0;
	CHECK(ibv_post_recv(qp, &wr, &bad) == EINVAL, "a receive after a reset");
	ibv_destroy_qp(qp);
	pair_close(&p);
}

/* Operations that the transport does not support. */
static void wrong_for_type(void)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_wr_opcode opcode;
	} bad[] = {
		{ IBV_QPT_UC, IBV_WR_RDMA_READ },
		{ IBV_QPT_UC, IBV_WR_ATOMIC_FETCH_AND_ADD },
		{ IBV_QPT_UD, IBV_WR_RDMA_WRITE },
		{ IBV_QPT_UD, IBV_WR_RDMA_READ },
		{ IBV_QPT_UD, IBV_WR_ATOMIC_CMP_AND_SWP },
		{ IBV_QPT_RC, IBV_WR_TSO },
		{ IBV_QPT_UD, IBV_WR_LOCAL_INV },
		{ IBV_QPT_UD, IBV_WR_BIND_MW },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct pair_want want = { .type = bad[i].type };
		struct pair p;
		int ret;

		pair_open(&p, &want);
		ret = post_rdma(&p, 0, 1, bad[i].opcode, 8, IBV_SEND_SIGNALED);
		CHECK(ret == EINVAL, "type %d, opcode %d: %s", bad[i].type, bad[i].opcode,
		      err_name(ret));
		CHECK(why_reason() == UNIV_REASON_WR_OPCODE, "type %d, opcode %d: reason %u",
		      bad[i].type, bad[i].opcode, why_reason());
		CHECK(pair_works(&p), "type %d: does not work after it", bad[i].type);
		pair_close(&p);
	}
}

static void no_address(void)
{
	struct pair_want want = { .type = IBV_QPT_UD };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct pair p;
	int ret;

	pair_open(&p, &want);
	wr.wr.ud.remote_qpn = p.qp[1]->qp_num;
	ret = post_one(&p, 0, &wr);
	CHECK(ret == EINVAL, "a datagram without address handle: %s", err_name(ret));
	CHECK(why_reason() == UNIV_REASON_WR_AH, "reason %u: %s", why_reason(), why_text());
	CHECK(strstr(why_text(), "needs an address handle"), "explained as: %s", why_text());
	pair_close(&p);
}

/* A program may use one struct for the explanations of all failures. */
static void explained_twice(void)
{
	int (*get)(struct univerbs_error *) = dlsym(RTLD_DEFAULT, "univerbs_last_error");
	struct univerbs_error e = { .size = sizeof(e) };
	struct {
		struct univerbs_error known;
		uint8_t newer[16];
	} longer;
	struct pair p;

	if (!get)
		return;
	pair_open(&p, &(struct pair_want){ .stay_reset = 1 });
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED), EINVAL);
	CHECK_ERR(get(&e), 0);
	CHECK(!strcmp(e.verb, "ibv_post_send"), "the first failure is that of %s", e.verb);
	CHECK_ERR(post_recv_at(&p, 0, 1, 0, 8), EINVAL);
	CHECK_ERR(get(&e), 0);
	CHECK(!strcmp(e.verb, "ibv_post_recv") && e.reason == UNIV_REASON_POST_STATE,
	      "the second failure is that of %s: %s", e.verb, e.text);
	/* Members that the library does not know read as 0 for a program with a longer struct. */
	memset(&longer, 0xa5, sizeof(longer));
	longer.known.size = sizeof(longer);
	CHECK_ERR(get(&longer.known), 0);
	CHECK(!strcmp(longer.known.verb, e.verb) && longer.known.size == sizeof(e) &&
	      all_zero(longer.newer, sizeof(longer.newer)), "%u bytes of %s", longer.known.size,
	      longer.known.verb);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "send_queue_full", send_queue_full },
	{ "receive_queue_full", receive_queue_full },
	{ "shared_queue_full", shared_queue_full },
	{ "malformed", malformed },
	{ "wrong_states", wrong_states },
	{ "explained_twice", explained_twice },
	{ "no_pieces", no_pieces },
	{ "wrong_for_type", wrong_for_type },
	{ "no_address", no_address },
};

TEST_MAIN("bad_post", cases, 60)
