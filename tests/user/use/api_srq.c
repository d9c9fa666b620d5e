// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues: sizes, limit, traffic from several queue pairs. */
#include "events.h"
#include "testlib.h"

static void create_query_modify(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 100, .max_sge = 3 }, .srq_context = &init };
	struct ibv_srq_attr attr;
	struct test_dev dev;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	uint32_t num;

	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	srq = ibv_create_srq(pd, &init);
	NEED_PTR(srq, "create_srq");
	CHECK(init.attr.max_wr >= 100 && init.attr.max_sge >= 3, "got %u and %u",
	      init.attr.max_wr, init.attr.max_sge);
	CHECK(srq->srq_context == &init && srq->pd == pd, "fields of the queue");
	CHECK_ERR(ibv_query_srq(srq, &attr), 0);
	CHECK(attr.max_wr >= init.attr.max_wr && attr.max_sge == init.attr.max_sge &&
	      !attr.srq_limit, "query: %u %u %u", attr.max_wr, attr.max_sge, attr.srq_limit);
	attr.srq_limit = 10;
	CHECK_ERR(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	CHECK_ERR(ibv_query_srq(srq, &attr), 0);
	CHECK(attr.srq_limit == 10, "limit %u", attr.srq_limit);
	attr.srq_limit = attr.max_wr + 2;
	CHECK(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), "a limit above the queue's size");
	attr.srq_limit = 1;
	if (why_known())
		CHECK(ibv_modify_srq(srq, &attr, 0x100), "an unknown mask");
	CHECK(ibv_get_srq_num(srq, &num), "a number of a queue without one");
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

/* Programs do not set srq_limit before ibv_create_srq(), which does not use it. */
static void limit_not_set(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1, .srq_limit = 0xdeadbeef } };
	struct ibv_srq_attr attr;
	struct test_dev dev;
	struct ibv_srq *srq;
	struct ibv_pd *pd;

	/* The stock library passes it to the kernel, where rdma_rxe uses it. */
	if (!why_known())
		return;
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	for (int i = 0; i < 2; i++) {
		srq = ibv_create_srq(pd, &init);
		NEED(srq, "create_srq: %s; %s", err_name(errno), why_text());
		CHECK_ERR(ibv_query_srq(srq, &attr), 0);
		CHECK(!attr.srq_limit, "limit %u", attr.srq_limit);
		CHECK_ERR(ibv_destroy_srq(srq), 0);
		init.attr.srq_limit = 2;
	}
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

static void traffic(void)
{
	struct pair_want want = { .use_srq = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 2; i++) {
			fill(p.buf[i], 100, round + i);
			CHECK_ERR(post_recv_at(&p, 0, round, 8192, 256), 0);
			CHECK_ERR(post_send_at(&p, i, i, 0, 100, IBV_SEND_SIGNALED), 0);
			if (!WANT_WC(p.cq[!i], &wc, IBV_WC_SUCCESS))
				goto out;
			CHECK(wc.wr_id == (uint64_t)round && wc.byte_len == 100 &&
			      wc.qp_num == p.qp[!i]->qp_num, "wr_id %" PRIu64 " len %u qp %u",
			      wc.wr_id, wc.byte_len, wc.qp_num);
			CHECK_BYTES(p.buf[0] + 8192, 100, round + i, "message");
			WANT_WC(p.cq[i], &wc, IBV_WC_SUCCESS);
		}
	}
out:
	pair_close(&p);
}

/* Falling below the limit causes one event and disarms the limit. */
static void limit_event(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 5 };
	struct pair_want want = { .use_srq = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int k = 0; k < 8; k++)
		CHECK_ERR(post_recv_at(&p, 0, k, 8192, 64), 0);
	CHECK_ERR(ibv_modify_srq(p.srq, &attr, IBV_SRQ_LIMIT), 0);
	for (int k = 0; k < 3; k++) {
		CHECK_ERR(post_send_at(&p, 0, k, 0, 8, IBV_SEND_SIGNALED), 0);
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	}
	CHECK(no_event_within(p.dev.ctx, 100), "an event before the limit is passed");
	CHECK_ERR(post_send_at(&p, 0, 4, 0, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	want_async(p.dev.ctx, IBV_EVENT_SRQ_LIMIT_REACHED, p.srq);
	CHECK_ERR(ibv_query_srq(p.srq, &attr), 0);
	CHECK(!attr.srq_limit, "limit is still %u", attr.srq_limit);
	pair_close(&p);
}

static void extended_create(void)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
	};
	struct test_dev dev;
	struct ibv_srq *srq;

	dev_open(&dev);
	init.pd = ibv_alloc_pd(dev.ctx);
	srq = ibv_create_srq_ex(dev.ctx, &init);
	NEED(srq, "create_srq_ex: %s; %s", err_name(errno), why_text());
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	init.srq_type = IBV_SRQT_TM;
	CHECK(!ibv_create_srq_ex(dev.ctx, &init), "a tag-matching queue");
	CHECK_ERR(ibv_dealloc_pd(init.pd), 0);
	dev_close(&dev);
}

/* Posting a receive to a queue pair that has an SRQ is an error. */
static void not_to_the_qp(void)
{
	struct pair_want want = { .use_srq = 1 };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	struct pair p;
	int ret;

	pair_open(&p, &want);
	ret = ibv_post_recv(p.qp[0], &wr, &bad);
	CHECK(ret && (bad == &wr || !why_known()), "post_recv with a shared queue: %s", err_name(ret));
	pair_close(&p);
}

/* There are more messages than receive requests, which are refilled as messages arrive. */
static void refill(void)
{
	struct pair_want want = { .use_srq = 1, .recv_wr = 8 };
	struct ibv_wc wc;
	struct pair p;
	int sent = 0, got = 0;

	pair_open(&p, &want);
	for (int k = 0; k < 8; k++)
		CHECK_ERR(post_recv_at(&p, 0, k, 8192, 64), 0);
	while (got < 200) {
		while (sent < 200 && sent - got < 8)
			CHECK_ERR(post_send_at(&p, 0, sent++, 0, 8, IBV_SEND_SIGNALED), 0);
		if (!WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS) || !WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
		got++;
		CHECK_ERR(post_recv_at(&p, 0, got, 8192, 64), 0);
	}
	pair_close(&p);
}

/* The messages of both queue pairs arrive although no receive request is posted for a while. */
static void late(void)
{
	struct pair_want want = { .use_srq = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int i = 0; i < 2; i++) {
		fill(p.buf[i], 64, 7 + i);
		CHECK_ERR(post_send_at(&p, i, i, 0, 64, IBV_SEND_SIGNALED), 0);
	}
	sleep_ms(100);
	for (int i = 0; i < 2; i++)
		WANT_EMPTY(p.cq[i]);
	for (int k = 0; k < 2; k++)
		CHECK_ERR(post_recv_at(&p, 0, 10 + k, 8192 + 64 * k, 64), 0);
	for (int i = 0; i < 2; i++)
		for (int n = 0; n < 2; n++)
			WANT_WC(p.cq[i], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static void use_srq_of(struct pair *p, struct ibv_pd *pd)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };

	for (int i = 0; i < 2; i++)
		NEED_OK(ibv_destroy_qp(p->qp[i]));
	NEED_OK(ibv_destroy_srq(p->srq));
	p->srq = ibv_create_srq(pd, &init);
	NEED_PTR(p->srq, "create_srq");
	for (int i = 0; i < 2; i++)
		pair_create_qp(p, i);
	pair_make_ready(p);
}

static void receive_by_key(struct pair *p, uint32_t lkey, enum ibv_wc_status status)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p->buf[0] + 8192, .length = 64, .lkey = lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	CHECK_ERR(ibv_post_srq_recv(p->srq, &wr, &bad), 0);
	CHECK_ERR(post_send_at(p, 0, 2, 0, 64, IBV_SEND_SIGNALED), 0);
	WANT_WC(p->cq[1], &wc, status);
}

/* The memory of a receive belongs to the domain of the shared queue, as with mlx5. */
static void of_another_domain(void)
{
	struct pair_want want = { .use_srq = 1, .stay_reset = 1 };
	struct ibv_pd *other;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct pair p;

	/* rdma_rxe looks in the domain of the queue pair. */
	if (!on_uroce())
		return;
	pair_open(&p, &want);
	other = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(other, "alloc_pd");
	mr = ibv_reg_mr(other, p.buf[0], PAIR_HALF, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	use_srq_of(&p, other);
	fill(p.buf[0], 64, 9);
	receive_by_key(&p, mr->lkey, IBV_WC_SUCCESS);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[0] + 8192, 64, 9, "message");
	receive_by_key(&p, p.mr->lkey, IBV_WC_LOC_PROT_ERR);
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_qp(p.qp[i]), 0);
		p.qp[i] = NULL;
	}
	CHECK_ERR(ibv_destroy_srq(p.srq), 0);
	p.srq = NULL;
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_dealloc_pd(other), 0);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "create_query_modify", create_query_modify },
	{ "limit_not_set", limit_not_set },
	{ "traffic", traffic },
	{ "limit_event", limit_event },
	{ "extended_create", extended_create },
	{ "not_to_the_qp", not_to_the_qp },
	{ "refill", refill },
	{ "late", late },
	{ "of_another_domain", of_another_domain },
};

TEST_MAIN("api_srq", cases, 30)
