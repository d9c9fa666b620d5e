// SPDX-License-Identifier: GPL-2.0
/* Extended queue pairs: the interface of ibv_wr_start() for posting. */
#include "testlib.h"
#include <univerbs.h>

static void ex_rdma(struct pair *p, struct ibv_qp_ex *qp)
{
	struct ibv_sge list[2] = { pair_sge(p, 0, 0, 100), pair_sge(p, 0, 100, 200) };
	struct ibv_wc wc;

	fill(p->buf[0], 300, 30);
	CHECK_ERR(post_recv(p, 1, 4, NULL, 0), 0);
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, p->mr->rkey, (uintptr_t)p->buf[1]);
	ibv_wr_set_sge_list(qp, 2, list);
	qp->wr_id = 2;
	ibv_wr_rdma_write_imm(qp, p->mr->rkey, (uintptr_t)p->buf[1] + 1000, htobe32(5));
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0], 300);
	qp->wr_id = 3;
	ibv_wr_rdma_read(qp, p->mr->rkey, (uintptr_t)p->buf[1]);
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0] + 2000, 300);
	CHECK_ERR(ibv_wr_complete(qp), 0);
	for (uint64_t k = 1; k <= 3; k++) {
		WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == k, "wr_id %" PRIu64 ", expected %" PRIu64, wc.wr_id, k);
	}
	WANT_WC(p->cq[1], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p->buf[1], 300, 30, "wr_rdma_write");
	CHECK_BYTES(p->buf[1] + 1000, 300, 30, "wr_rdma_write_imm");
	CHECK_BYTES(p->buf[0] + 2000, 300, 30, "wr_rdma_read");
}

static void ex_atomics(struct pair *p, struct ibv_qp_ex *qp)
{
	uint64_t *cell = (uint64_t *)p->buf[1], *old = (uint64_t *)p->buf[0];
	struct ibv_wc wc;

	*cell = 10;
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_fetch_add(qp, p->mr->rkey, (uintptr_t)cell, 5);
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)old, 8);
	ibv_wr_atomic_cmp_swp(qp, p->mr->rkey, (uintptr_t)cell, 15, 77);
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)(old + 1), 8);
	CHECK_ERR(ibv_wr_complete(qp), 0);
	for (int k = 0; k < 2; k++)
		WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(old[0] == 10 && old[1] == 15 && *cell == 77, "%" PRIu64 " %" PRIu64 " %" PRIu64,
	      old[0], old[1], *cell);
}

static void ex_sends(struct pair *p, struct ibv_qp_ex *qp)
{
	struct ibv_data_buf pieces[2];
	uint8_t local[48];
	struct ibv_wc wc;

	fill(local, sizeof(local), 90);
	pieces[0] = (struct ibv_data_buf){ local, 16 };
	pieces[1] = (struct ibv_data_buf){ local + 16, 32 };
	for (int k = 0; k < 2; k++)
		CHECK_ERR(post_recv_at(p, 1, k, k * 256, 256), 0);
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	if (p->type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(qp, p->ah, p->qp[1]->qp_num, PAIR_QKEY);
	ibv_wr_set_inline_data(qp, local, 48);
	ibv_wr_send_imm(qp, htobe32(6));
	if (p->type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(qp, p->ah, p->qp[1]->qp_num, PAIR_QKEY);
	ibv_wr_set_inline_data_list(qp, 2, pieces);
	CHECK_ERR(ibv_wr_complete(qp), 0);
	for (int k = 0; k < 2; k++) {
		size_t grh = p->type == IBV_QPT_UD ? 40 : 0;

		WANT_WC(p->cq[1], &wc, IBV_WC_SUCCESS);
		CHECK(wc.byte_len == 48 + grh, "%u bytes", wc.byte_len);
		CHECK_BYTES(p->buf[1] + k * 256 + grh, 48, 90, "wr_send");
		CHECK(!k == !(wc.wc_flags & IBV_WC_WITH_IMM), "message %d: flags %#x", k,
		      wc.wc_flags);
		CHECK(!k || be32toh(wc.imm_data) == 6, "immediate data %#x", be32toh(wc.imm_data));
		WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
	}
}

/* Inline data of no bytes is no inline data, so a read may have it. */
static void ex_inline_nothing(void)
{
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;
	struct pair p;

	if (!why_known())
		return;
	pair_open(&p, &(struct pair_want) { .use_ex = 1 });
	qp = ibv_qp_to_qp_ex(p.qp[0]);
	for (size_t count = 0; count < 2; count++) {
		struct ibv_data_buf empty = {};

		ibv_wr_start(qp);
		qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
		ibv_wr_rdma_read(qp, p.mr->rkey, (uintptr_t)p.buf[1]);
		ibv_wr_set_inline_data_list(qp, count, &empty);
		CHECK_ERR(ibv_wr_complete(qp), 0);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		CHECK(wc.opcode == IBV_WC_RDMA_READ, "opcode %d", wc.opcode);
	}
	pair_close(&p);
}

static void ex_abort(struct pair *p, struct ibv_qp_ex *qp)
{
	struct ibv_wc wc;

	memset(p->buf[1], 0, 64);
	fill(p->buf[0], 64, 1);
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, p->mr->rkey, (uintptr_t)p->buf[1]);
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0], 64);
	ibv_wr_abort(qp);
	sleep_ms(50);
	WANT_EMPTY(p->cq[0]);
	CHECK(all_zero(p->buf[1], 64), "an aborted write was done");
	CHECK_ERR(post_rdma(p, 0, 5, IBV_WR_RDMA_WRITE, 64, IBV_SEND_SIGNALED), 0);
	WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(wc.wr_id == 5, "wr_id %" PRIu64 " after an abort", wc.wr_id);
}

/* Post more requests than fit: ibv_wr_complete() returns ENOMEM and posts nothing of the batch. */
static void ex_too_many(struct pair *p, struct ibv_qp_ex *qp)
{
	uint32_t n = p->cap.max_send_wr + 10000;
	struct ibv_wc wc;
	int ret;

	memset(p->buf[1], 0, 64);
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	for (uint32_t k = 0; k < n; k++) {
		ibv_wr_rdma_write(qp, p->mr->rkey, (uintptr_t)p->buf[1]);
		ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0], 64);
	}
	ret = ibv_wr_complete(qp);
	CHECK(ret == ENOMEM, "wr_complete of %u requests: %s", n, err_name(ret));
	sleep_ms(50);
	WANT_EMPTY(p->cq[0]);
	CHECK_ERR(post_rdma(p, 0, 6, IBV_WR_RDMA_WRITE, 64, IBV_SEND_SIGNALED), 0);
	WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
}

static void ex_rc(void)
{
	struct pair_want want = { .use_ex = 1 };
	struct ibv_qp_ex *qp;
	struct pair p;

	/* rxe's own library gathers lists wrongly and loses inline data here. */
	if (!why_known())
		return;
	pair_open(&p, &want);
	qp = ibv_qp_to_qp_ex(p.qp[0]);
	NEED(qp, "qp_to_qp_ex gave NULL");
	ex_rdma(&p, qp);
	ex_atomics(&p, qp);
	ex_sends(&p, qp);
	ex_abort(&p, qp);
	ex_too_many(&p, qp);
	CHECK(pair_works(&p), "classic posting on an extended queue pair");
	pair_close(&p);
}

static void ex_ud(void)
{
	struct pair_want want = { .use_ex = 1, .type = IBV_QPT_UD };
	struct pair p;

	if (!why_known())
		return;
	pair_open(&p, &want);
	ex_sends(&p, ibv_qp_to_qp_ex(p.qp[0]));
	pair_close(&p);
}

/*
 * A datagram without an address is not sent, not even to the address of the request that
 * used its slot before.
 */
static void ex_ud_unaddressed(void)
{
	struct pair_want want = { .use_ex = 1, .type = IBV_QPT_UD, .send_wr = 1 };
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;
	struct pair p;
	int n;

	if (!why_known())
		return;
	pair_open(&p, &want);
	qp = ibv_qp_to_qp_ex(p.qp[0]);
	n = p.cap.max_send_wr;
	NEED(n < 256, "a ring of %d", n);
	for (int k = 0; k < 512; k++) {
		ibv_wr_start(qp);
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(qp);
		ibv_wr_set_ud_addr(qp, p.ah, p.qp[1]->qp_num, PAIR_QKEY);
		ibv_wr_set_sge(qp, p.mr->lkey, (uintptr_t)p.buf[0], 8);
		CHECK_ERR(ibv_wr_complete(qp), 0);
		if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
	}
	ibv_wr_start(qp);
	qp->wr_id = 9;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, p.mr->lkey, (uintptr_t)p.buf[0], 8);
	CHECK_ERR(ibv_wr_complete(qp), 0);
	if (WANT_WC(p.cq[0], &wc, IBV_WC_LOC_QP_OP_ERR)) {
		CHECK(wc.wr_id == 9, "request %" PRIu64, wc.wr_id);
		CHECK(strstr(why_text(), "address handle"), "%s", why_text());
	}
	pair_close(&p);
}

/* A queue pair created without send_ops_flags has no extended interface. */
static void ex_not_asked(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK(!ibv_qp_to_qp_ex(p.qp[0]), "an extended interface that nobody asked for");
	pair_close(&p);
}

/* The flags of the operations, in the order of call_operation(). */
static const uint64_t operations[] = {
	IBV_QP_EX_WITH_SEND, IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_INV,
	IBV_QP_EX_WITH_LOCAL_INV, IBV_QP_EX_WITH_RDMA_READ, IBV_QP_EX_WITH_RDMA_WRITE,
	IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_QP_EX_WITH_BIND_MW,
	IBV_QP_EX_WITH_TSO, IBV_QP_EX_WITH_FLUSH,
};

static void call_operation(struct ibv_qp_ex *qp, size_t n)
{
	static const struct ibv_mw_bind_info bind;
	uint64_t word = 0;

	switch (n) {
	case 0:
		ibv_wr_send(qp);
		break;
	case 1:
		ibv_wr_send_imm(qp, 1);
		break;
	case 2:
		ibv_wr_send_inv(qp, 1);
		break;
	case 3:
		ibv_wr_local_inv(qp, 1);
		break;
	case 4:
		ibv_wr_rdma_read(qp, 1, 0);
		break;
	case 5:
		ibv_wr_rdma_write(qp, 1, 0);
		break;
	case 6:
		ibv_wr_rdma_write_imm(qp, 1, 0, 1);
		break;
	case 7:
		ibv_wr_atomic_cmp_swp(qp, 1, 0, 0, 1);
		break;
	case 8:
		ibv_wr_atomic_fetch_add(qp, 1, 0, 1);
		break;
	case 9:
		ibv_wr_atomic_write(qp, 1, 0, &word);
		break;
	case 10:
		ibv_wr_bind_mw(qp, NULL, 1, &bind);
		break;
	case 11:
		ibv_wr_send_tso(qp, &word, 8, 100);
		break;
	case 12:
		ibv_wr_flush(qp, 1, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
		break;
	}
}

/* Operations that the creation did not ask for are refused, and post nothing. */
static void ex_others_asked(void)
{
	static const uint64_t asked[] = { IBV_QP_EX_WITH_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_READ };
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	struct pair p;
	int err;

	pair_open(&p, NULL);
	init.pd = p.pd;
	init.send_cq = p.cq[0];
	init.recv_cq = p.cq[0];
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		init.send_ops_flags = asked[i];
		qp = ibv_create_qp_ex(p.dev.ctx, &init);
		NEED_PTR(qp, "create_qp_ex");
		qp_connect(&p.dev, qp, p.qp[1]->qp_num, &p.want);
		ex = ibv_qp_to_qp_ex(qp);
		for (size_t n = 0; n < ARRAY_SIZE(operations); n++) {
			if (operations[n] == asked[i])
				continue;
			ibv_wr_start(ex);
			call_operation(ex, n);
			err = ibv_wr_complete(ex);
			CHECK(err == EOPNOTSUPP, "operation %zu: %s", n, err_name(err));
		}
		WANT_EMPTY(p.cq[0]);
		/* A queue pair in RESET refuses even the operation that was asked for. */
		NEED_OK(qp_to_state(qp, IBV_QPS_RESET));
		ibv_wr_start(ex);
		call_operation(ex, i ? 4 : 5);
		ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)p.buf[0], 8);
		CHECK_ERR(ibv_wr_complete(ex), EINVAL);
		CHECK(why_reason() == UNIV_REASON_POST_STATE, "reason %u", why_reason());
		CHECK_ERR(ibv_destroy_qp(qp), 0);
	}
	pair_close(&p);
}

/* Requests that the calls between ibv_wr_start() and ibv_wr_complete() refuse. */
static void set_too_many(struct ibv_qp_ex *qp, struct pair *p)
{
	struct ibv_sge list[64] = {};

	ibv_wr_send(qp);
	ibv_wr_set_sge_list(qp, p->cap.max_send_sge + 1, list);
}

static void set_too_long(struct ibv_qp_ex *qp, struct pair *p)
{
	ibv_wr_send(qp);
	ibv_wr_set_inline_data(qp, p->buf[0], p->cap.max_inline_data + 1);
}

static void add_askew(struct ibv_qp_ex *qp, struct pair *p)
{
	ibv_wr_atomic_fetch_add(qp, p->mr->rkey, (uintptr_t)p->buf[1] + 4, 1);
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0], 8);
}

static void to_shared_queue(struct ibv_qp_ex *qp, struct pair *p)
{
	ibv_wr_send(qp);
	ibv_wr_set_xrc_srqn(qp, 1);
	ibv_wr_set_sge(qp, p->mr->lkey, (uintptr_t)p->buf[0], 8);
}

/* A refused request is explained, and the request before it is not posted either. */
static void ex_refused(void)
{
	static const struct {
		void (*build)(struct ibv_qp_ex *qp, struct pair *p);
		uint32_t reason;
	} all[] = {
		{ set_too_many, UNIV_REASON_WR_SGE }, { set_too_long, UNIV_REASON_WR_INLINE },
		{ add_askew, UNIV_REASON_ATOMIC }, { to_shared_queue, UNIV_REASON_QP_TYPE },
	};
	struct ibv_qp_ex *qp;
	struct pair p;

	if (!why_known())
		return;
	pair_open(&p, &(struct pair_want) { .use_ex = 1 });
	NEED(p.cap.max_send_sge < 64, "%u pieces", p.cap.max_send_sge);
	qp = ibv_qp_to_qp_ex(p.qp[0]);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(all); i++) {
		ibv_wr_start(qp);
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qp, p.mr->rkey, (uintptr_t)p.buf[1]);
		ibv_wr_set_sge(qp, p.mr->lkey, (uintptr_t)p.buf[0], 8);
		all[i / 2].build(qp, &p);
		if (i % 2)
			ibv_wr_abort(qp);
		else
			CHECK_ERR(ibv_wr_complete(qp), EINVAL);
		CHECK(why_reason() == all[i / 2].reason, "request %zu: %s", i / 2, why_text());
		WANT_EMPTY(p.cq[0]);
	}
	CHECK(pair_works(&p), "the pair does not work after refused requests");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "ex_rc", ex_rc },
	{ "ex_inline_nothing", ex_inline_nothing },
	{ "ex_ud", ex_ud },
	{ "ex_ud_unaddressed", ex_ud_unaddressed },
	{ "ex_not_asked", ex_not_asked },
	{ "ex_others_asked", ex_others_asked },
	{ "ex_refused", ex_refused },
};

TEST_MAIN("api_qp_ex", cases, 30)
