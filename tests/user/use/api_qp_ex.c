// SPDX-License-Identifier: GPL-2.0
/* Extended queue pairs: the interface of ibv_wr_start() for posting. */
#include "testlib.h"

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
	if (!ibv_wr_complete(qp)) {
		CHECK(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1 && wc.wr_id == 9 &&
		      wc.status != IBV_WC_SUCCESS, "a datagram without an address was sent");
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

static const struct test_case cases[] = {
	{ "ex_rc", ex_rc },
	{ "ex_ud", ex_ud },
	{ "ex_ud_unaddressed", ex_ud_unaddressed },
	{ "ex_not_asked", ex_not_asked },
};

TEST_MAIN("api_qp_ex", cases, 30)
