// SPDX-License-Identifier: GPL-2.0
/* Queue pairs that change their size: what is posted stays, in order, also under traffic. */
#include "raw.h"
#include "resize_traffic.h"

static bool offered(void)
{
	struct test_dev dev;
	bool has;

	dev_open(&dev);
	has = dev.attr.device_cap_flags & IBV_DEVICE_RESIZE_MAX_WR;
	dev_close(&dev);
	return has;
}

/* 0 leaves a size. */
static int resize(struct ibv_qp *qp, uint32_t send, uint32_t recv)
{
	struct ibv_qp_attr attr = { .cap = { .max_send_wr = send, .max_recv_wr = recv } };

	return ibv_modify_qp(qp, &attr, IBV_QP_CAP);
}

static struct ibv_qp_cap cap_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	NEED_OK(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
	return init.cap;
}

static void want_cap(struct ibv_qp *qp, uint32_t send, uint32_t recv)
{
	struct ibv_qp_cap cap = cap_of(qp);

	CHECK(cap.max_send_wr == send && cap.max_recv_wr == recv && cap.max_send_sge == 4 &&
	      (!recv || cap.max_recv_sge == 4) && cap.max_inline_data >= 64,
	      "%u and %u requests, expected %u and %u", cap.max_send_wr, cap.max_recv_wr, send, recv);
}

/* Fill the receive queue of side 1 of @p, with ids from @*next on. */
static void fill_up(struct pair *p, uint64_t *next, uint32_t posted, uint32_t size)
{
	for (; posted < size; posted++)
		NEED_OK(post_recv_at(p, 1, (*next)++, 8192, 64));
	CHECK_ERR(post_recv_at(p, 1, 0, 8192, 64), ENOMEM);
}

/* The posted receives wrap around the ends of the rings, and are more than the kernel moves in one step. */
static void keeps_receives(void)
{
	static const uint32_t sizes[] = { 128, 64, 8192, 4096, 32, 16384, 16 };
	struct pair_want want = { .recv_wr = 64 };
	uint64_t first = 0, next = 0;
	struct pair p;

	if (!offered())
		return;
	pair_open(&p, &want);
	fill_up(&p, &next, 0, 64);
	take_receives(&p, &first, 7);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint32_t size = sizes[i], posted = next - first;

		if (posted > size)
			take_receives(&p, &first, posted - size);
		CHECK_ERR(resize(p.qp[1], 0, size), 0);
		want_cap(p.qp[1], 64, size);
		if (size < 16384)
			fill_up(&p, &next, next - first, size);
		take_receives(&p, &first, 9);
	}
	take_receives(&p, &first, next - first);
	WANT_EMPTY(p.cq[1]);
	CHECK(pair_works(&p), "the queue pairs after the resizes");
	pair_close(&p);
}

static void drain(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct ibv_qp_attr attr;

	NEED_OK(qp_to_state(qp, IBV_QPS_SQD));
	do
		NEED_OK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	while (attr.sq_draining && now_ns() < end);
	NEED(!attr.sq_draining, "the send queue is not drained");
}

/* Inline data of request @n. */
static int post_inline(struct pair *p, uint32_t n)
{
	uint64_t word = n * 0x0101010101010101ull;
	struct ibv_sge sge = { (uintptr_t)&word, sizeof(word), 0 };
	struct ibv_send_wr wr = {
		.wr_id = n, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};

	wr_remote(&wr, (uintptr_t)p->buf[1] + n % 100 * sizeof(word), p->mr->rkey, 0);
	return post_one(p, 0, &wr);
}

/* Requests that wait in a drained send queue are executed from the new ring, each once and in order. */
static void keeps_sends(void)
{
	static const uint32_t sizes[] = { 128, 4096, 256 };
	struct pair_want want = { .send_wr = 64, .cqe = 5000 };
	uint32_t next = 1, done = 1;
	struct ibv_wc wc;
	struct pair p;

	if (!offered())
		return;
	pair_open(&p, &want);
	for (; next < 50; next++)
		NEED_OK(post_inline(&p, next));
	for (; done < next; done++)
		NEED(WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS), "before");
	drain(p.qp[0]);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint32_t posted = i == 1 ? 100 : 64 + 36 * i;

		for (; next - done < posted && next - done < cap_of(p.qp[0]).max_send_wr; next++)
			NEED_OK(post_inline(&p, next));
		CHECK_ERR(resize(p.qp[0], sizes[i], 0), 0);
		want_cap(p.qp[0], sizes[i], 64);
	}
	CHECK_ERR(qp_to_state(p.qp[0], IBV_QPS_RTS), 0);
	for (; done < next; done++)
		if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS) ||
		    !CHECK(wc.wr_id == done, "send %" PRIu64 ", expected %u", wc.wr_id, done))
			break;
	for (uint32_t n = next - 100; n < next; n++) {
		uint64_t word;

		memcpy(&word, p.buf[1] + n % 100 * sizeof(word), sizeof(word));
		CHECK(word == n * 0x0101010101010101ull, "word %u is %" PRIx64, n, word);
	}
	WANT_EMPTY(p.cq[0]);
	CHECK(pair_works(&p), "the queue pairs after the resizes");
	pair_close(&p);
}

static void want_refused(const char *what, int err, int want, uint32_t cause, uint64_t value, uint64_t bound)
{
	CHECK_ERR(err, want);
	CHECK(!why_known() || (why_reason() == UNIV_REASON_QP_SIZE && why_detail() == cause &&
			       why_value() == value && why_bound() == bound),
	      "%s: reason %u detail %u value %" PRIu64 " bound %" PRIu64 ": %s", what, why_reason(), why_detail(),
	      why_value(), why_bound(), why_text());
}

/* A call that is refused changes nothing. */
static void refused(void)
{
	struct pair_want want = { .send_wr = 64, .recv_wr = 64 };
	uint64_t first = 0, next = 0;
	struct ibv_qp_attr attr = { .cap.max_inline_data = 5000 };
	struct ibv_wc wc;
	struct pair p;

	if (!offered())
		return;
	pair_open(&p, &want);
	fill_up(&p, &next, 0, 64);
	take_receives(&p, &first, 10);
	want_refused("receives", resize(p.qp[1], 0, 32), EINVAL, UNIV_QP_SIZE_RECV_SHRINK, 32, 54);
	CHECK(strstr(why_text(), "54 receive requests are posted"), "sentence: %s", why_text());
	want_refused("inline", ibv_modify_qp(p.qp[1], &attr, IBV_QP_CAP), EINVAL, UNIV_QP_SIZE_SGE, 5000,
		     cap_of(p.qp[1]).max_inline_data);
	/* The first send finds no receive and waits for one. */
	for (int i = 0; i < 40; i++)
		NEED_OK(post_send_at(&p, 1, i, 0, 8, IBV_SEND_SIGNALED));
	want_refused("busy", resize(p.qp[1], 128, 0), EBUSY, UNIV_QP_SIZE_BUSY, 0, 0);
	want_refused("sends", resize(p.qp[1], 32, 0), EINVAL, UNIV_QP_SIZE_SEND_SHRINK, 32, 40);
	want_cap(p.qp[1], 64, 64);
	for (int i = 0; i < 40; i++) {
		NEED_OK(post_recv_at(&p, 0, i, 8192, 64));
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	}
	CHECK_ERR(resize(p.qp[1], 128, 0), 0);
	want_cap(p.qp[1], 128, 64);
	CHECK_ERR(qp_to_state(p.qp[1], IBV_QPS_ERR), 0);
	want_refused("error", resize(p.qp[1], 64, 0), EINVAL, UNIV_QP_SIZE_STATE, IBV_QPS_ERR, 0);
	pair_close(&p);
}

/* Sizes beyond those of the device, and a state in which the queue pair is not. */
static void beyond(void)
{
	struct ibv_qp_attr attr = { .cap.max_send_wr = 128, .cur_qp_state = IBV_QPS_RTR };
	struct pair p;
	uint32_t most;

	if (!offered())
		return;
	pair_open(&p, NULL);
	most = p.dev.attr.max_qp_wr;
	CHECK_ERR(resize(p.qp[0], most + 1, 0), EINVAL);
	CHECK(!why_known() ||
	      (why_reason() == UNIV_REASON_LIMIT && why_detail() == UNIV_LIMIT_SEND_WR),
	      "too many sends: %s", why_text());
	CHECK_ERR(resize(p.qp[0], 0, most + 1), EINVAL);
	CHECK(!why_known() ||
	      (why_reason() == UNIV_REASON_LIMIT && why_detail() == UNIV_LIMIT_RECV_WR),
	      "too many receives: %s", why_text());
	CHECK_ERR(ibv_modify_qp(p.qp[0], &attr, IBV_QP_CAP | IBV_QP_CUR_STATE), EINVAL);
	CHECK(!why_known() || why_reason() == UNIV_REASON_CUR_STATE, "another state: %s", why_text());
	want_cap(p.qp[0], 64, 64);
	CHECK(pair_works(&p), "afterwards");
	pair_close(&p);
}

/* Before the queue pair is connected, and with a shared receive queue. */
static void early(void)
{
	struct pair_want want = { .send_wr = 16, .recv_wr = 16, .stay_reset = 1, .use_srq = 1 };
	struct pair p;

	if (!offered())
		return;
	for (int srq = 0; srq < 2; srq++) {
		want.use_srq = srq;
		pair_open(&p, &want);
		CHECK_ERR(resize(p.qp[0], 32, 64), 0);
		NEED_OK(qp_to_init(p.qp[0]));
		if (!srq)
			NEED_OK(post_recv_at(&p, 0, 1, 8192, 64));
		CHECK_ERR(resize(p.qp[0], 64, 128), 0);
		NEED_OK(qp_to_rtr(&p.dev, p.qp[0], p.qp[1]->qp_num));
		CHECK_ERR(resize(p.qp[0], 256, 32), 0);
		want_cap(p.qp[0], 256, srq ? 0 : 32);
		NEED_OK(qp_to_rts(p.qp[0], &p.want));
		qp_connect(&p.dev, p.qp[1], p.qp[0]->qp_num, &p.want);
		if (!srq) {
			struct ibv_wc wc;

			NEED_OK(post_send_at(&p, 1, 1, 0, 8, IBV_SEND_SIGNALED));
			WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
			WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		}
		CHECK(pair_works(&p), "after the resizes");
		pair_close(&p);
	}
}

/* One thread posts receives, one sends and polls, and one resizes both queue pairs. */
static void under_traffic(void)
{
	static const uint32_t sizes[] = { 128, 32, 2048, 64, 1024, 32 };
	struct pair_want want = { .recv_wr = 32, .send_wr = 32 };
	uint32_t resized = 0, busy = 0;
	struct traffic t = { .total = 6000 };

	if (!offered())
		return;
	pair_open(&t.p, &want);
	traffic_start(&t);
	while (under_way(&t)) {
		uint32_t size = sizes[resized % ARRAY_SIZE(sizes)];
		int err = resize(t.p.qp[1], size, size);

		CHECK(!err, "resize %u: %s; %s", resized, err_name(err), why_text());
		err = resize(t.p.qp[0], size, size);
		CHECK(!err || err == EBUSY, "resize %u: %s; %s", resized, err_name(err), why_text());
		busy += err == EBUSY;
		resized++;
	}
	traffic_join(&t);
	printf("resized %u times; the sender was busy %u times\n", resized, busy);
	WANT_EMPTY(t.p.cq[1]);
	pair_close(&t.p);
}

/* A process that writes its rings by itself: wrong indices, and a struct of a former version. */
static void hostile(void)
{
	static const uint32_t wrong[] = { 0x7fffffff, 0x80000000, 0xffffffff };
	struct univ_qp_modify arg = { .attr.attr_mask = IBV_QP_CAP, .max_send_wr = 64 };
	struct raw_self self;
	int err;

	if (!offered())
		return;
	raw_self_open(&self);
	arg.handle = self.qp.handle;
	err = raw_call_size(self.fd, UNIV_QP_MODIFY, &arg, offsetof(struct univ_qp_modify, max_send_wr));
	CHECK(err == EINVAL && arg.hdr.reason == UNIV_REASON_QP_SIZE, "a struct without rings: %s, reason %u",
	      err_name(err), arg.hdr.reason);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		self.qp.rq.head->user.index = wrong[i];
		arg.max_send_wr = 64;
		arg.max_recv_wr = 16384;
		err = raw_call(self.fd, UNIV_QP_MODIFY, &arg);
		CHECK(err == EINVAL && arg.hdr.reason == UNIV_REASON_QP_SIZE, "index %#x: %s, reason %u", wrong[i],
		      err_name(err), arg.hdr.reason);
	}
	raw_self_close(&self);
}

/* A device without the capability refuses to resize. */
static void unoffered(void)
{
	struct pair p;

	if (offered())
		return;
	pair_open(&p, NULL);
	CHECK_ERR(resize(p.qp[0], 100, 100), EINVAL);
	CHECK(!why_known() || why_reason() == UNIV_REASON_QP_SIZE, "reason: %s", why_text());
	CHECK(pair_works(&p), "the queue pair after a resize was refused");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "keeps_receives", keeps_receives },
	{ "keeps_sends", keeps_sends },
	{ "refused", refused },
	{ "beyond", beyond },
	{ "early", early },
	{ "under_traffic", under_traffic },
	{ "hostile", hostile },
	{ "unoffered", unoffered },
};

TEST_MAIN("qp_resize", cases, 60)
