// SPDX-License-Identifier: GPL-2.0
/*
 * Registers the same memory with two devices in turn. The cost of a registration depends on
 * the physical pages, so figures of two processes, or of two mappings of one process, do not
 * compare two devices. Prints NAME<TAB>NANOSECONDS<TAB>NANOSECONDS, one column for each
 * device; in a guest that counts instructions as time they are instructions. A device that has
 * no on-demand paging has a dash in the rows of it.
 *   regions DEVICE OTHER
 */
#include "measure.h"

#define SAMPLES 41

struct column {
	struct ibv_pd *pd;
	bool pages;			/* It has on-demand paging. */
	uint64_t took[2][SAMPLES];	/* Registering, deregistering. */
};

static void column_open(struct column *column, const char *device)
{
	struct ibv_context *ctx = dev_open_named(device);
	struct ibv_device_attr_ex attr;

	NEED(ctx, "cannot open %s: %s; %s", device, err_name(errno), why_text());
	NEED_OK(ibv_query_device_ex(ctx, NULL, &attr));
	column->pages = attr.odp_caps.general_caps & IBV_ODP_SUPPORT;
	column->pd = ibv_alloc_pd(ctx);
	NEED_PTR(column->pd, "alloc_pd");
}

static void sample(struct column *column, void *mem, size_t length, int access, int i)
{
	uint64_t from = now_ns();
	struct ibv_mr *mr = ibv_reg_mr(column->pd, mem, length, access);

	column->took[0][i] = now_ns() - from;
	NEED_PTR(mr, "reg_mr");
	from = now_ns();
	NEED_OK(ibv_dereg_mr(mr));
	column->took[1][i] = now_ns() - from;
}

static void measure(struct column *columns, const char *name, size_t length, int advice)
{
	static const char * const call[] = { "reg_mr", "dereg_mr" };
	char *mem = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(mem != MAP_FAILED, "mmap");
	madvise(mem, length, advice);
	memset(mem, 1, length);
	for (int i = 0; i < SAMPLES; i++)
		for (int c = 0; c < 2; c++)
			sample(&columns[c], mem, length, ALL_ACCESS, i);
	for (int k = 0; k < 2; k++)
		printf("%s %s\t%" PRIu64 "\t%" PRIu64 "\n", call[k], name, median(columns[0].took[k], SAMPLES),
		       median(columns[1].took[k], SAMPLES));
	munmap(mem, length);
}

static void show(struct column *column, int k)
{
	if (column->pages)
		printf("\t%" PRIu64, median(column->took[k], SAMPLES));
	else
		printf("\t-");
}

/*
 * Regions of on-demand paging, none of whose pages is there: only their registration is measured.
 * A length of SIZE_MAX stands for the region of all addresses.
 */
static void measure_odp(struct column *columns, const char *name, size_t length)
{
	static const char * const call[] = { "reg_mr", "dereg_mr" };
	bool all = length == SIZE_MAX;
	char *mem = NULL;

	if (!all)
		mem = mmap(NULL, length, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	NEED(mem != MAP_FAILED, "mmap");
	for (int i = 0; i < SAMPLES; i++)
		for (int c = 0; c < 2; c++)
			if (columns[c].pages)
				sample(&columns[c], mem, length, ALL_ACCESS | IBV_ACCESS_ON_DEMAND, i);
	for (int k = 0; k < 2; k++) {
		printf("%s %s", call[k], name);
		for (int c = 0; c < 2; c++)
			show(&columns[c], k);
		printf("\n");
	}
	if (!all)
		munmap(mem, length);
}

int main(int argc, char **argv)
{
	struct column columns[2];

	NEED(argc == 3, "usage: regions DEVICE OTHER");
	for (int c = 0; c < 2; c++)
		column_open(&columns[c], argv[1 + c]);
	measure(columns, "4 KiB", 4096, MADV_NOHUGEPAGE);
	measure(columns, "1 MiB", 1 << 20, MADV_NOHUGEPAGE);
	measure(columns, "16 MiB in huge pages", 16 << 20, MADV_HUGEPAGE);
	measure_odp(columns, "4 KiB on demand", 4096);
	measure_odp(columns, "1 MiB on demand", 1 << 20);
	measure_odp(columns, "1 GiB on demand", 1 << 30);
	measure_odp(columns, "all addresses on demand", SIZE_MAX);
	return 0;
}
