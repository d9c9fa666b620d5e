// SPDX-License-Identifier: GPL-2.0
/*
 * Measure how much memory of the machine a connected queue pair uses in total: compare the free
 * memory before and after creating many of them. This needs root and an otherwise idle machine.
 *   footprint REQUESTS BYTES: each queue has REQUESTS, and a queue pair takes BYTES at most.
 */
#include "free_memory.h"
#include "testlib.h"

#define QUEUES 1000
#define WARM 100

static struct test_dev dev;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp[QUEUES];
static int requests;

static void create(int count)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = requests, .max_recv_wr = requests, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = 64 },
	};

	for (int i = 0; i < count; i++)
		NEED_PTR(qp[i] = ibv_create_qp(pd, &init), "create_qp");
	for (int i = 0; i < count; i++)
		qp_connect(&dev, qp[i], qp[i ^ 1]->qp_num, NULL);
}

static void destroy(int count)
{
	for (int i = 0; i < count; i++)
		NEED_OK(ibv_destroy_qp(qp[i]));
}

int main(int argc, char **argv)
{
	long most, before, each;

	test_program = "footprint";
	NEED(argc == 3, "usage: footprint REQUESTS BYTES");
	requests = atoi(argv[1]);
	most = atol(argv[2]);
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	NEED_PTR(cq, "create_cq");
	/* The first round pays for allocations on first use. */
	create(WARM);
	destroy(WARM);
	before = free_memory();
	create(QUEUES);
	each = (before - free_memory()) * 1024 / QUEUES;
	printf("a queue pair of %d and %d requests: %ld bytes\n", requests, requests, each);
	CHECK(each > 0 && each <= most, "more than %ld", most);
	destroy(QUEUES);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	return test_failures ? 1 : 0;
}
