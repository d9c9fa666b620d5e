/* SPDX-License-Identifier: GPL-2.0 */
/* A connected pair of queue pairs on one device, with one half of a buffer for each of them. */
#ifndef PAIR_H
#define PAIR_H

#include <sys/mman.h>
#include "state.h"

#define PAIR_HALF (512u << 10)

/* Each queue pair has one completion queue for both directions, and one half of the buffer. */
struct pair {
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_qp_cap cap;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *buf[2];
	struct ibv_ah *ah;
	enum ibv_qp_type type;
	struct pair_want want;
};

static MAYBE_UNUSED struct ibv_qp *pair_create_ex(struct pair *p,
						  const struct ibv_qp_init_attr *from)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = from->qp_context,
		.send_cq = from->send_cq,
		.recv_cq = from->recv_cq,
		.srq = from->srq,
		.cap = from->cap,
		.qp_type = from->qp_type,
		.sq_sig_all = from->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = p->pd,
	};
	struct ibv_qp *qp;

	if (from->qp_type == IBV_QPT_UD)
		ex.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	else
		ex.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE |
			IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
			IBV_QP_EX_WITH_SEND_WITH_IMM;
	if (from->qp_type == IBV_QPT_RC)
		ex.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ |
			IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	ex.send_ops_flags |= p->want.ex_ops;
	qp = ibv_create_qp_ex(p->dev.ctx, &ex);
	p->cap = ex.cap;
	return qp;
}

static MAYBE_UNUSED void pair_create_qp(struct pair *p, int i)
{
	const struct pair_want *w = &p->want;
	struct ibv_qp_init_attr init = {
		.qp_context = p,
		.send_cq = p->cq[i],
		.recv_cq = p->cq[i],
		.srq = p->srq,
		.qp_type = p->type,
		.sq_sig_all = w->sig_all,
		.cap = {
			.max_send_wr = w->send_wr ? w->send_wr : 64,
			.max_recv_wr = w->recv_wr ? w->recv_wr : 64,
			.max_send_sge = w->send_sge ? w->send_sge : 4,
			.max_recv_sge = w->recv_sge ? w->recv_sge : 4,
			.max_inline_data = w->inline_data ? w->inline_data : 64,
		},
	};

	if (w->use_ex) {
		p->qp[i] = pair_create_ex(p, &init);
	} else {
		p->qp[i] = ibv_create_qp(p->pd, &init);
		p->cap = init.cap;
	}
	NEED(p->qp[i], "create_qp: %s; %s", err_name(errno), why_text());
}

static MAYBE_UNUSED void pair_create_srq(struct pair *p)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = p->want.recv_wr ? p->want.recv_wr : 64, .max_sge = 4 },
	};

	p->srq = ibv_create_srq(p->pd, &init);
	NEED_PTR(p->srq, "create_srq");
}

static MAYBE_UNUSED void pair_alloc_buffer(struct pair *p)
{
	void *mem = mmap(NULL, 2 * PAIR_HALF, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	p->buf[0] = mem;
	p->buf[1] = p->buf[0] + PAIR_HALF;
	p->mr = ibv_reg_mr(p->pd, mem, 2 * PAIR_HALF, ALL_ACCESS);
	NEED(p->mr, "reg_mr: %s; %s", err_name(errno), why_text());
}

static MAYBE_UNUSED void pair_make_ready(struct pair *p)
{
	struct ibv_ah_attr ah;

	for (int i = 0; i < 2; i++)
		qp_connect(&p->dev, p->qp[i], p->qp[!i]->qp_num, &p->want);
	if (p->type != IBV_QPT_UD)
		return;
	ah_attr_to(&p->dev, &ah);
	p->ah = ibv_create_ah(p->pd, &ah);
	NEED_PTR(p->ah, "create_ah");
}

static MAYBE_UNUSED void pair_open(struct pair *p, const struct pair_want *want)
{
	memset(p, 0, sizeof(*p));
	if (want)
		p->want = *want;
	p->type = p->want.type ? p->want.type : IBV_QPT_RC;
	dev_open(&p->dev);
	p->pd = ibv_alloc_pd(p->dev.ctx);
	NEED_PTR(p->pd, "alloc_pd");
	if (p->want.use_channel) {
		p->ch = ibv_create_comp_channel(p->dev.ctx);
		NEED_PTR(p->ch, "create_comp_channel");
	}
	if (p->want.use_srq)
		pair_create_srq(p);
	pair_alloc_buffer(p);
	for (int i = 0; i < 2; i++) {
		p->cq[i] = ibv_create_cq(p->dev.ctx, p->want.cqe ? p->want.cqe : 256, &p->cq[i],
					 p->ch, 0);
		NEED_PTR(p->cq[i], "create_cq");
		pair_create_qp(p, i);
	}
	if (!p->want.stay_reset)
		pair_make_ready(p);
}

/*
 * Let the first side of @p, which was opened with stay_reset, complete into @cq; then
 * connect both sides.
 */
static MAYBE_UNUSED void pair_replace_cq(struct pair *p, struct ibv_cq *cq)
{
	NEED_OK(ibv_destroy_qp(p->qp[0]));
	NEED_OK(ibv_destroy_cq(p->cq[0]));
	p->cq[0] = cq;
	pair_create_qp(p, 0);
	pair_make_ready(p);
}

/* The same with an extended completion queue, whose events go to the channel of @p if it has one. */
static MAYBE_UNUSED struct ibv_cq_ex *pair_extend_cq(struct pair *p, struct ibv_cq_init_attr_ex init)
{
	struct ibv_cq_ex *cq;

	init.channel = p->ch;
	cq = ibv_create_cq_ex(p->dev.ctx, &init);
	NEED_PTR(cq, "create_cq_ex");
	pair_replace_cq(p, ibv_cq_ex_to_cq(cq));
	return cq;
}

static MAYBE_UNUSED void pair_close(struct pair *p)
{
	if (p->ah)
		CHECK_ERR(ibv_destroy_ah(p->ah), 0);
	for (int i = 0; i < 2; i++) {
		if (p->qp[i])
			CHECK_ERR(ibv_destroy_qp(p->qp[i]), 0);
		if (p->cq[i])
			CHECK_ERR(ibv_destroy_cq(p->cq[i]), 0);
	}
	if (p->srq)
		CHECK_ERR(ibv_destroy_srq(p->srq), 0);
	if (p->ch)
		CHECK_ERR(ibv_destroy_comp_channel(p->ch), 0);
	CHECK_ERR(ibv_dereg_mr(p->mr), 0);
	munmap(p->buf[0], 2 * PAIR_HALF);
	CHECK_ERR(ibv_dealloc_pd(p->pd), 0);
	dev_close(&p->dev);
}

#endif
