// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the memory of an object, in the kernel and the process together, by the
 * free memory before and after the creation of many objects. Prints
 * NAME<TAB>BYTES for each type. It must run as root on an idle machine.
 */
#include "free_memory.h"
#include "testlib.h"

static void report(const char *name, long before, int count)
{
	printf("%s\t%.0f\n", name, (double)(before - free_memory()) * 1024 / count);
}

/* The numbers are large, because partly filled slabs serve the first objects. */
#define CONTEXTS 3000
#define QUEUES 1000
/* Different numbers of requests, each without and with packets */
#define KINDS 4

static struct ibv_context *ctx[CONTEXTS];
static struct ibv_cq *cq[QUEUES];
static struct ibv_qp *qp[KINDS][QUEUES];
static int kinds;
static struct test_dev dev;
static struct ibv_pd *pd;

static void contexts(void)
{
	long before;

	/* Open once before, for memory that is allocated on first use. */
	ibv_close_device(dev_open_named(dev_wanted()));
	before = free_memory();
	for (int i = 0; i < CONTEXTS; i++)
		NEED_PTR(ctx[i] = dev_open_named(dev_wanted()), "open_device");
	report("context", before, CONTEXTS);
	for (int i = 0; i < CONTEXTS; i++)
		ibv_close_device(ctx[i]);
}

static void completion_queues(void)
{
	long before = free_memory();

	for (int i = 0; i < QUEUES; i++)
		NEED_PTR(cq[i] = ibv_create_cq(dev.ctx, 256, NULL, NULL, 0), "create_cq");
	report("CQ 256", before, QUEUES);
}

/*
 * Queue pairs of @depth send and receive requests. They are kept until the end, since slabs
 * of destroyed ones would serve the next ones.
 */
static void queue_pairs(int depth, bool packets)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq[0], .recv_cq = cq[0], .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = 64 },
	};
	struct ibv_qp **all = qp[kinds++];
	long before = free_memory();
	char name[64];

	for (int i = 0; i < QUEUES; i++)
		NEED_PTR(all[i] = ibv_create_qp(pd, &init), "create_qp");
	snprintf(name, sizeof(name), "QP RC %d/%d", depth, depth);
	if (!packets)
		report(name, before, QUEUES);
	for (int i = 0; i < QUEUES; i++)
		qp_connect(&dev, all[i], all[i ^ 1]->qp_num, NULL);
	strcat(name, packets ? ", by packets" : ", connected");
	report(name, before, QUEUES);
}

/* Queue pairs of uroce copy within a host unless they have to use packets. */
static void queue_pairs_of(int depth)
{
	queue_pairs(depth, false);
	if (!on_uroce())
		return;
	use_packets(true);
	queue_pairs(depth, true);
	use_packets(false);
}

int main(int argc, char **argv)
{
	struct rlimit files = { 3 * CONTEXTS, 3 * CONTEXTS };

	if (argc > 1)
		setenv("UNIV_TEST_DEVICE", argv[1], 1);
	test_program = "memory";
	setrlimit(RLIMIT_NOFILE, &files);
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	contexts();
	completion_queues();
	queue_pairs_of(64);
	queue_pairs_of(16);
	while (kinds--)
		for (int i = 0; i < QUEUES; i++)
			ibv_destroy_qp(qp[kinds][i]);
	for (int i = 0; i < QUEUES; i++)
		ibv_destroy_cq(cq[i]);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	return test_failures ? 1 : 0;
}
