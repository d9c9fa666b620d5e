// SPDX-License-Identifier: GPL-2.0
/*
 * Measures the memory of an object, in the kernel and the process together, by the
 * free memory before and after the creation of many objects. Prints
 * NAME<TAB>BYTES for each type. It must run as root on an idle machine.
 */
#include "testlib.h"

static long mem_free_kb(void)
{
	char line[128];
	long kb = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && kb < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "MemFree: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

static void write_number(const char *path, int value)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return;
	fprintf(f, "%d\n", value);
	fclose(f);
}

/*
 * Returns the free memory, after dropping caches, waiting for grace periods, and
 * adding up the counters of each CPU.
 */
static long settled(void)
{
	sleep_ms(300);
	write_number("/proc/sys/vm/drop_caches", 3);
	write_number("/proc/sys/vm/stat_refresh", 1);
	return mem_free_kb();
}

static void report(const char *name, long before, int count)
{
	printf("%s\t%.0f\n", name, (double)(before - settled()) * 1024 / count);
}

/* The numbers are large, because partly filled slabs serve the first objects. */
#define CONTEXTS 3000
#define QUEUES 1000

static struct ibv_context *ctx[CONTEXTS];
static struct ibv_cq *cq[QUEUES];
static struct ibv_qp *qp[QUEUES];

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = 64 },
	};
	struct rlimit files = { 3 * CONTEXTS, 3 * CONTEXTS };
	struct test_dev dev;
	struct ibv_pd *pd;
	long before;

	if (argc > 1)
		setenv("UNIV_TEST_DEVICE", argv[1], 1);
	test_program = "memory";
	setrlimit(RLIMIT_NOFILE, &files);
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");

	/* Open once before, for memory that is allocated on first use. */
	ibv_close_device(dev_open_named(dev_wanted()));
	before = settled();
	for (int i = 0; i < CONTEXTS; i++)
		NEED_PTR(ctx[i] = dev_open_named(dev_wanted()), "open_device");
	report("context", before, CONTEXTS);
	for (int i = 0; i < CONTEXTS; i++)
		ibv_close_device(ctx[i]);

	before = settled();
	for (int i = 0; i < QUEUES; i++)
		NEED_PTR(cq[i] = ibv_create_cq(dev.ctx, 256, NULL, NULL, 0), "create_cq");
	report("CQ 256", before, QUEUES);

	init.send_cq = cq[0];
	init.recv_cq = cq[0];
	before = settled();
	for (int i = 0; i < QUEUES; i++)
		NEED_PTR(qp[i] = ibv_create_qp(pd, &init), "create_qp");
	report("QP RC 64/64", before, QUEUES);
	for (int i = 0; i < QUEUES; i++)
		ibv_destroy_qp(qp[i]);
	for (int i = 0; i < QUEUES; i++)
		ibv_destroy_cq(cq[i]);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	return test_failures ? 1 : 0;
}
