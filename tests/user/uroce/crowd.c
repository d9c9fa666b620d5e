// SPDX-License-Identifier: GPL-2.0
/*
 * adv27. 1500 connections, or fewer on a slow kernel, have messages under way at once, and all
 * of them share two completion queues. Every byte arrives, at the right connection.
 */
#include "testlib.h"

#define PAIRS	1500		/* Number of queue pairs on each side. */
#define SLOT	256u
#define ROUNDS	3

static struct {
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq[2];
	struct ibv_mr *mr;
	uint8_t *mem;			/* One slot for each queue pair. */
	struct ibv_qp **qp;		/* The queue pairs of side 0, then of side 1. */
	int pairs;
} c;

static uint8_t *slot(int side, int n)
{
	return c.mem + ((size_t)side * c.pairs + n) * SLOT;
}

static struct ibv_qp **qp_of(int side, int n)
{
	return &c.qp[side * c.pairs + n];
}

static void open_all(void)
{
	size_t size;

	c.pairs = test_rounds(PAIRS);
	size = 2 * c.pairs * SLOT;
	dev_open(&c.dev);
	c.pd = ibv_alloc_pd(c.dev.ctx);
	NEED_PTR(c.pd, "alloc_pd");
	c.mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(c.mem != MAP_FAILED, "mmap: %s", err_name(errno));
	c.mr = ibv_reg_mr(c.pd, c.mem, size, ALL_ACCESS);
	NEED_PTR(c.mr, "reg_mr");
	for (int side = 0; side < 2; side++) {
		c.cq[side] = ibv_create_cq(c.dev.ctx, 2 * c.pairs, NULL, NULL, 0);
		NEED_PTR(c.cq[side], "create_cq");
	}
	c.qp = calloc(2 * c.pairs, sizeof(*c.qp));
	NEED_PTR(c.qp, "calloc");
}

static void connect_all(void)
{
	struct pair_want want = { .timeout = 18 };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { 2, 2, 1, 1, 0 },
	};

	for (int i = 0; i < 2 * c.pairs; i++) {
		init.send_cq = c.cq[i >= c.pairs];
		init.recv_cq = init.send_cq;
		c.qp[i] = ibv_create_qp(c.pd, &init);
		NEED(c.qp[i], "queue pair %d: %s; %s", i, err_name(errno), why_text());
	}
	for (int n = 0; n < c.pairs; n++) {
		qp_connect(&c.dev, *qp_of(0, n), (*qp_of(1, n))->qp_num, &want);
		qp_connect(&c.dev, *qp_of(1, n), (*qp_of(0, n))->qp_num, &want);
	}
}

static void close_all(void)
{
	for (int i = 0; i < 2 * c.pairs; i++)
		CHECK_ERR(ibv_destroy_qp(c.qp[i]), 0);
	free(c.qp);
	for (int side = 0; side < 2; side++)
		CHECK_ERR(ibv_destroy_cq(c.cq[side]), 0);
	CHECK_ERR(ibv_dereg_mr(c.mr), 0);
	munmap(c.mem, 2 * c.pairs * SLOT);
	CHECK_ERR(ibv_dealloc_pd(c.pd), 0);
	dev_close(&c.dev);
}

static struct ibv_sge sge_of(int side, int n)
{
	return (struct ibv_sge){ (uintptr_t)slot(side, n), SLOT, c.mr->lkey };
}

/* Expect @count successful completions on one side. */
static void reap(int side, int count)
{
	struct ibv_wc wc;

	for (int n = 0; n < count; n++) {
		NEED(wait_wc(c.cq[side], &wc, 30000 * test_slowness()) == 1,
		     "side %d: %d of %d completions", side, n, count);
		NEED(wc.status == IBV_WC_SUCCESS, "side %d, %" PRIu64 ": %s", side, wc.wr_id,
		     ibv_wc_status_str(wc.status));
	}
}

static void post_all(enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr = {
		.num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_sge sge;

	wr.sg_list = &sge;
	for (int n = 0; n < c.pairs; n++) {
		sge = sge_of(0, n);
		wr.wr_id = n;
		wr.wr.rdma.remote_addr = (uintptr_t)slot(1, n);
		wr.wr.rdma.rkey = c.mr->rkey;
		NEED_OK(ibv_post_send(*qp_of(0, n), &wr, &bad));
	}
}

static void post_receives(void)
{
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;

	wr.sg_list = &sge;
	for (int n = 0; n < c.pairs; n++) {
		sge = sge_of(1, n);
		wr.wr_id = n;
		NEED_OK(ibv_post_recv(*qp_of(1, n), &wr, &bad));
	}
}

/* Post all messages before polling for the first completion. */
static void one_round(int round)
{
	int seed = round * 3;

	for (int n = 0; n < c.pairs; n++)
		fill(slot(0, n), SLOT, seed + n);
	post_receives();
	post_all(IBV_WR_SEND);
	reap(0, c.pairs);
	reap(1, c.pairs);
	for (int n = 0; n < c.pairs; n++) {
		CHECK_BYTES(slot(1, n), SLOT, seed + n, "sent");
		fill(slot(0, n), SLOT, seed + n + 1);
	}
	post_all(IBV_WR_RDMA_WRITE);
	reap(0, c.pairs);
	for (int n = 0; n < c.pairs; n++) {
		CHECK_BYTES(slot(1, n), SLOT, seed + n + 1, "written");
		fill(slot(1, n), SLOT, seed + n + 2);
	}
	post_all(IBV_WR_RDMA_READ);
	reap(0, c.pairs);
	for (int n = 0; n < c.pairs; n++)
		CHECK_BYTES(slot(0, n), SLOT, seed + n + 2, "read");
}

static void traffic(void)
{
	open_all();
	connect_all();
	printf("%d queue pairs\n", 2 * c.pairs);
	for (int round = 0; round < ROUNDS && !test_failures; round++)
		one_round(round);
	WANT_EMPTY(c.cq[0]);
	WANT_EMPTY(c.cq[1]);
	close_all();
}

static const struct test_case cases[] = {
	{ "traffic", traffic },
};

TEST_MAIN("crowd (adv27)", cases, 200)
