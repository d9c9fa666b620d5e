// SPDX-License-Identifier: GPL-2.0
/*
 * Measure how much memory of the machine a connected queue pair uses in total: compare the free
 * memory before and after creating many of them. This needs root and an otherwise idle machine.
 *   footprint BYTES_AT_MOST
 */
#include "testlib.h"

#define QUEUES 1000
#define WARM 100

static struct test_dev dev;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp[QUEUES];

static void write_number(const char *path, int value)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return;
	fprintf(f, "%d\n", value);
	fclose(f);
}

/* Memory in the per-CPU page lists, which MemFree does not count although it is free. */
static long kept_kb(void)
{
	char line[128];
	long pages, kb = 0;
	FILE *f = fopen("/proc/zoneinfo", "r");

	NEED_PTR(f, "/proc/zoneinfo");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %ld", &pages) == 1)
			kb += pages * 4;
	fclose(f);
	return kb;
}

/* Free the caches and wait for grace periods first; stat_refresh folds the per-CPU counters. */
static long free_kb(void)
{
	char line[128];
	long kb = -1;
	FILE *f;

	sleep_ms(300);
	write_number("/proc/sys/vm/drop_caches", 3);
	write_number("/proc/sys/vm/stat_refresh", 1);
	f = fopen("/proc/meminfo", "r");
	while (f && kb < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "MemFree: %ld", &kb);
	NEED(kb >= 0, "/proc/meminfo");
	fclose(f);
	return kb + kept_kb();
}

static void create(int count)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1,
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
	long most = argc > 1 ? atol(argv[1]) : 24576, before, each;

	test_program = "footprint";
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	NEED_PTR(cq, "create_cq");
	/* The first round pays for allocations on first use. */
	create(WARM);
	destroy(WARM);
	before = free_kb();
	create(QUEUES);
	each = (before - free_kb()) * 1024 / QUEUES;
	printf("a queue pair of 64 and 64 requests: %ld bytes\n", each);
	CHECK(each > 0 && each <= most, "more than %ld", most);
	destroy(QUEUES);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	return test_failures ? 1 : 0;
}
