// SPDX-License-Identifier: GPL-2.0
/*
 * XRC: operations that take no receive request. The protection domain of the SRQ that the request
 * names limits them, too. Only ibv_wr_atomic_write(3) and ibv_wr_flush(3) can post atomic writes
 * and flushes.
 */
#include "xrc.h"

/* Open with an initiator for the operations @ops, whose target permits @access. */
static void open_for(struct xrc *x, uint64_t ops, unsigned int access)
{
	struct ibv_qp_attr a = { .qp_access_flags = access };

	xrc_open_queues(x, -1);
	x->ini = initiator_of(x->pd, x->cq, ops);
	x->tgt = target_of(x->dev.ctx, x->xrcd, x);
	connect_pair(&x->dev, x->ini, x->tgt, 7);
	NEED_OK(ibv_modify_qp(x->tgt, &a, IBV_QP_ACCESS_FLAGS));
}

/* An SRQ of another protection domain, whose number makes the target refuse keys of the first one. */
struct stranger {
	struct ibv_pd *pd;
	struct ibv_srq *srq;
	uint32_t srqn;
};

static void stranger_open(struct xrc *x, struct stranger *s)
{
	s->pd = ibv_alloc_pd(x->dev.ctx);
	NEED_PTR(s->pd, "alloc_pd");
	s->srq = srq_of(s->pd, x->xrcd, x->rcq[1], &s->srqn);
}

static void stranger_close(struct stranger *s)
{
	CHECK_ERR(ibv_destroy_srq(s->srq), 0);
	CHECK_ERR(ibv_dealloc_pd(s->pd), 0);
}

/* Finish the batch with one more request, for the SRQ @srqn. */
static void ends_with(struct xrc *x, uint32_t srqn, enum ibv_wc_opcode opcode, enum ibv_wc_status want)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(x->ini);
	struct ibv_wc wc;

	ibv_wr_set_xrc_srqn(ex, srqn);
	NEED_OK(ibv_wr_complete(ex));
	WANT_WC(x->cq, &wc, want);
	if (want == IBV_WC_SUCCESS)
		CHECK(wc.opcode == opcode && wc.wr_id == 77, "opcode %d", wc.opcode);
}

static void writes_word(struct xrc *x, uint32_t srqn, uint64_t value, enum ibv_wc_status want)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(x->ini);

	ibv_wr_start(ex);
	ex->wr_id = 77;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(ex, x->mr->rkey, (uintptr_t)x->buf[1] + 8, &value);
	ends_with(x, srqn, IBV_WC_ATOMIC_WRITE, want);
}

static void atomic_writes(void)
{
	struct stranger s;
	uint64_t *words;
	struct xrc x;

	open_for(&x, IBV_QP_EX_WITH_ATOMIC_WRITE, ALL_ACCESS);
	words = (uint64_t *)x.buf[1];
	memset(words, 0x55, 24);
	for (uint64_t i = 0; i < 20; i++) {
		writes_word(&x, x.srqn[i % 2], 1000 + i, IBV_WC_SUCCESS);
		CHECK(words[1] == 1000 + i && words[0] == 0x5555555555555555 && words[2] == words[0],
		      "word %" PRIx64, words[1]);
	}
	writes_word(&x, 0, 7, IBV_WC_REM_INV_REQ_ERR);
	reconnect(&x);
	stranger_open(&x, &s);
	writes_word(&x, s.srqn, 7, IBV_WC_REM_ACCESS_ERR);
	CHECK(words[1] == 1019, "a refused request wrote %" PRIu64, words[1]);
	stranger_close(&s);
	xrc_close(&x);
}

/* Write @value to the start of the memory of @mr, and flush it. */
static void flushes_word(struct xrc *x, const struct ibv_mr *mr, uint32_t srqn, uint32_t value,
			 enum ibv_wc_status want)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(x->ini);

	ibv_wr_start(ex);
	ex->wr_flags = 0;
	ibv_wr_rdma_write(ex, x->mr->rkey, (uintptr_t)x->buf[1]);
	ibv_wr_set_xrc_srqn(ex, x->srqn[0]);
	ibv_wr_set_inline_data(ex, &value, sizeof(value));
	ex->wr_id = 77;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(ex, mr->rkey, (uintptr_t)x->buf[1], 4, IBV_FLUSH_GLOBAL,
		     value % 4 ? IBV_FLUSH_RANGE : IBV_FLUSH_MR);
	ends_with(x, srqn, IBV_WC_FLUSH, want);
	CHECK(*(uint32_t *)x->buf[1] == value, "the write before the flush: %u", *(uint32_t *)x->buf[1]);
}

static void flushes(void)
{
	const unsigned int access = ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL;
	struct ibv_qp_attr a = { .qp_access_flags = access };
	struct stranger s;
	struct ibv_mr *mr;
	struct xrc x;

	open_for(&x, IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_RDMA_WRITE, access);
	mr = ibv_reg_mr(x.pd, x.buf[1], 4096, access);
	NEED(mr, "reg_mr: %s", why_text());
	for (uint32_t i = 0; i < 20; i++)
		flushes_word(&x, mr, x.srqn[i % 2], i + 1, IBV_WC_SUCCESS);
	/* The region does not permit it, and then the SRQ is of another domain. */
	flushes_word(&x, x.mr, x.srqn[0], 50, IBV_WC_REM_ACCESS_ERR);
	reconnect(&x);
	NEED_OK(ibv_modify_qp(x.tgt, &a, IBV_QP_ACCESS_FLAGS));
	stranger_open(&x, &s);
	flushes_word(&x, mr, s.srqn, 51, IBV_WC_REM_ACCESS_ERR);
	reconnect(&x);
	/* The target permits no flushes any more. */
	flushes_word(&x, mr, x.srqn[1], 52, IBV_WC_REM_INV_REQ_ERR);
	stranger_close(&s);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	xrc_close(&x);
}

/* A target forgets a queue that is destroyed, although it took no receive request from it. */
static void write_before_the_end(void)
{
	struct xrc x;

	xrc_open(&x, -1);
	does(&x, IBV_WR_RDMA_WRITE, x.srqn[1], 0, 8, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_destroy_srq(x.srq[1]), 0);
	x.srq[1] = NULL;
	does(&x, IBV_WR_RDMA_WRITE, x.srqn[1], 0, 8, IBV_WC_REM_INV_REQ_ERR);
	reconnect(&x);
	does(&x, IBV_WR_RDMA_WRITE, x.srqn[0], 0, 8, IBV_WC_SUCCESS);
	xrc_close(&x);
}

static const struct test_case cases[] = {
	{ "write_before_the_end", write_before_the_end },
	{ "atomic_writes", atomic_writes },
	{ "flushes", flushes },
};

XRC_MAIN("xrc_ops", cases, 40)
