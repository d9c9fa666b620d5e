// SPDX-License-Identifier: GPL-2.0
/*
 * Queues and regions that a memory cgroup counts. A script runs this program in a cgroup.
 * It holds PRESSURE_MIB of them, or less if the cgroup allows less, until its standard
 * input ends. A call that is refused fails with ENOMEM.
 */
#include "odp.h"

#define MIB	(1u << 20)
#define CQE	64u		/* Minimum size of a completion in bytes. */
#define MOST	4096
#define ENTRIES	16000		/* Of a queue, about 1 MiB. */
#define PART	(2u * MIB)	/* Of the memory of a region, and has a list of one page. */
#define PARTS	8		/* A region may always have so many lists. */

static size_t wanted(void)
{
	const char *mib = getenv("PRESSURE_MIB");

	return (size_t)(mib ? atoi(mib) : 16) * MIB;
}

static void hold(size_t bytes)
{
	char byte;

	printf("holding %zu MiB\n", bytes / MIB);
	while (read(0, &byte, 1) > 0)
		;
}

static void rings(void)
{
	static struct ibv_cq *cq[MOST];
	struct test_dev dev;
	size_t bytes = 0;
	int n;

	dev_open(&dev);
	for (n = 0; n < MOST && bytes < wanted(); n++) {
		cq[n] = ibv_create_cq(dev.ctx, ENTRIES, NULL, NULL, 0);
		if (!cq[n])
			break;
		bytes += cq[n]->cqe * CQE;
	}
	CHECK(bytes >= wanted() || errno == ENOMEM, "queue %d: %s", n, err_name(errno));
	hold(bytes);
	while (n--)
		CHECK_ERR(ibv_destroy_cq(cq[n]), 0);
	dev_close(&dev);
}

/* The pages are pinned while they are registered, and were not touched before. */
static void regions(void)
{
	struct test_dev dev;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	void *mem;

	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	mem = mmap(NULL, wanted(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	mr = ibv_reg_mr(pd, mem, wanted(), ALL_ACCESS);
	CHECK(mr || errno == ENOMEM, "reg_mr: %s", err_name(errno));
	hold(mr ? wanted() : 0);
	if (mr)
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	munmap(mem, wanted());
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

/* Returns whether the kernel has a list for each part of the region. */
static bool list_parts(const struct pair *p, const struct odp *o)
{
	struct ibv_sge sge;
	int i, err = 0;

	for (i = 0; i < PARTS && !err; i++) {
		sge = sge_of(o, (size_t)i * PART, 1);
		err = ibv_advise_mr(p->pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
				    IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
	}
	CHECK(!err || err == EAGAIN, "advise_mr: %s", err_name(err));
	return !err;
}

/* Regions of on-demand paging. All have the same memory, of which few pages are used. */
static void paging(void)
{
	static struct odp region[MOST];
	size_t bytes = 0;
	struct pair p;
	uint8_t *mem;
	int n;

	start(&p, NULL);
	/* The first page of each part is that of the address. */
	mem = map((PARTS + 1) * PART, -1);
	mem += PART - (uintptr_t)mem % PART;
	for (n = 0; n < PARTS; n++)
		mem[n * PART] = 1;
	for (n = 0; n < MOST && bytes < wanted(); n++) {
		region[n] = odp_of(&p, mem, PARTS * PART);
		if (!list_parts(&p, &region[n]))
			break;
		bytes += PARTS * PAGE;
	}
	hold(bytes);
	for (n = 0; n < MOST && region[n].mr; n++)
		CHECK_ERR(ibv_dereg_mr(region[n].mr), 0);
	pair_close(&p);
}

/* Send messages in a process that uses more and more memory until it is killed. */
static void traffic(void)
{
	struct pair p;
	uint8_t *mem;

	pair_open(&p, NULL);
	while (pair_works(&p)) {
		mem = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mem != MAP_FAILED)
			memset(mem, 1, MIB);
	}
}

static const struct test_case cases[] = {
	{ "rings", rings },
	{ "regions", regions },
	{ "paging", paging },
	{ "traffic", traffic },
};

TEST_MAIN("pressure", cases, 120)
