// SPDX-License-Identifier: GPL-2.0
/*
 * Regions of on-demand paging that are registered again, regions that begin or cease to be
 * pinned, and huge pages on demand.
 */
#include "odp.h"

#define HUGE (2u << 20)

#define ACCESS IBV_REREG_MR_CHANGE_ACCESS
#define TRANS IBV_REREG_MR_CHANGE_TRANSLATION

static struct pair p;
static struct odp a, b;

static void set_up(void)
{
	start(&p, NULL);
	a = odp_open(&p, 16 * PAGE);
	b = odp_open(&p, 16 * PAGE);
}

static void tear_down(void)
{
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

/* Queue pair 0 sends again after a request has failed. */
static void connect_again(void)
{
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		NEED_OK(qp_to_state(p.qp[i], IBV_QPS_RESET));
	for (int i = 0; i < 2; i++)
		while (ibv_poll_cq(p.cq[i], 1, &wc) > 0)
			;
	for (int i = 0; i < 2; i++)
		qp_connect(&p.dev, p.qp[i], p.qp[!i]->qp_num, NULL);
}

static void rereg(struct odp *o, int flags, void *mem, unsigned int access)
{
	uint32_t lkey = o->mr->lkey, rkey = o->mr->rkey;

	NEED(!ibv_rereg_mr(o->mr, flags, NULL, mem, mem ? o->len : 0, (int)access),
	     "rereg_mr: %s; %s", err_name(errno), why_text());
	CHECK(o->mr->lkey == lkey && o->mr->rkey == rkey, "the keys have changed");
	if (mem)
		o->mem = mem;
}

/* The peer writes to and reads from @b, at both ends. */
static void works(int seed, const char *what)
{
	fill(a.mem, a.len, seed);
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, a.len);
	done(&p, IBV_WC_SUCCESS);
	CHECK_BYTES(b.mem, b.len, seed, what);
	fill(b.mem, b.len, seed + 1);
	post(&p, IBV_WR_RDMA_READ, &a, 0, &b, 0, a.len);
	done(&p, IBV_WC_SUCCESS);
	CHECK_BYTES(a.mem, a.len, seed + 1, what);
	post(&p, IBV_WR_RDMA_WRITE, &b, 0, &a, 0, a.len);
	done(&p, IBV_WC_SUCCESS);
}

/* Does the region follow the process when it gives its pages back? */
static bool follows(void)
{
	fill(a.mem, PAGE, 9);
	madvise(b.mem, b.len, MADV_DONTNEED);
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, PAGE);
	done(&p, IBV_WC_SUCCESS);
	return differs(b.mem, PAGE, 9) < 0;
}

static void pinned_and_back(void)
{
	set_up();
	works(1, "on demand");
	for (int round = 0; round < 3; round++) {
		rereg(&b, ACCESS, NULL, ALL_ACCESS);
		works(2, "pinned");
		CHECK(!follows(), "the pages are not pinned");
		rereg(&b, ACCESS, NULL, ODP);
		works(3, "on demand again");
		CHECK(follows(), "the pages are pinned");
	}
	rereg(&b, ACCESS, NULL, ALL_ACCESS);
	tear_down();
}

/* Other memory, and another kind of memory at once. */
static void moved(void)
{
	uint8_t *first, *mem[3];

	set_up();
	first = b.mem;
	for (int i = 0; i < 3; i++)
		mem[i] = map(16 * PAGE, -1);
	rereg(&b, TRANS, mem[0], 0);
	works(11, "other memory");
	CHECK(all_zero(first, 16 * PAGE), "the former memory was written");
	rereg(&b, TRANS | ACCESS, mem[1], ALL_ACCESS);
	works(12, "other memory, pinned");
	rereg(&b, TRANS | ACCESS, mem[2], ODP);
	works(13, "other memory, on demand");
	CHECK(differs(mem[0], 16 * PAGE, 12) < 0 && differs(mem[1], 16 * PAGE, 13) < 0,
	      "former memory was written");
	b.mem = first;
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, 100);
	done(&p, IBV_WC_REM_ACCESS_ERR);
	for (int i = 0; i < 3; i++)
		munmap(mem[i], 16 * PAGE);
	tear_down();
}

static void access_and_domain(void)
{
	struct ibv_pd *other;

	set_up();
	rereg(&b, ACCESS, NULL, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, 100);
	done(&p, IBV_WC_REM_ACCESS_ERR);
	connect_again();
	rereg(&b, ACCESS, NULL, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	post(&p, IBV_WR_RDMA_READ, &a, 0, &b, 0, 100);
	done(&p, IBV_WC_SUCCESS);
	rereg(&b, ACCESS, NULL, ODP);
	works(21, "all access again");
	other = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(other, "alloc_pd");
	CHECK_ERR(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, 100);
	done(&p, IBV_WC_REM_ACCESS_ERR);
	connect_again();
	CHECK_ERR(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, p.pd, NULL, 0, 0), 0);
	works(22, "the former domain");
	CHECK_ERR(ibv_dealloc_pd(other), 0);
	tear_down();
}

/* A failed call leaves the region as it was. */
static void refused(void)
{
	struct odp all;

	set_up();
	CHECK_ERR(ibv_rereg_mr(b.mr, TRANS | ACCESS, NULL, (void *)(uintptr_t)PAGE, PAGE, ALL_ACCESS),
		  IBV_REREG_MR_ERR_CMD);
	CHECK(errno == EFAULT, "pinning a hole: %s", err_name(errno));
	works(31, "after a hole");
	all.mr = ibv_reg_mr(p.pd, NULL, SIZE_MAX, ODP);
	NEED(all.mr, "reg_mr: %s; %s", err_name(errno), why_text());
	CHECK(ibv_rereg_mr(all.mr, ACCESS, NULL, NULL, 0, ALL_ACCESS) && errno == EOPNOTSUPP,
	      "all addresses were pinned: %s", err_name(errno));
	CHECK_ERR(ibv_rereg_mr(all.mr, ACCESS, NULL, NULL, 0,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND), 0);
	CHECK_ERR(ibv_rereg_mr(all.mr, ACCESS, NULL, NULL, 0, ODP), 0);
	all.mem = b.mem;
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &all, 0, 100);
	done(&p, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_dereg_mr(all.mr), 0);
	tear_down();
}

static void window(void)
{
	struct ibv_mw_bind bind = { .wr_id = 7, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw;
	struct ibv_wc wc;

	set_up();
	rereg(&b, ACCESS, NULL, ODP | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_1);
	NEED(mw, "alloc_mw: %s; %s", err_name(errno), why_text());
	bind.bind_info = (struct ibv_mw_bind_info){
		b.mr, (uintptr_t)b.mem, PAGE, IBV_ACCESS_REMOTE_WRITE,
	};
	CHECK_ERR(ibv_bind_mw(p.qp[1], mw, &bind), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_rereg_mr(b.mr, ACCESS, NULL, NULL, 0, ALL_ACCESS), IBV_REREG_MR_ERR_INPUT);
	CHECK(errno == EBUSY, "rereg_mr: %s", err_name(errno));
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	rereg(&b, ACCESS, NULL, ALL_ACCESS);
	works(41, "after the window");
	tear_down();
}

/*
 * The region changes while the peer writes to it. A request may meet it without memory and
 * fails then, and all after it are flushed. How many are over before is a matter of time.
 */
static void under_traffic(void)
{
	struct ibv_wc wc;
	bool failed;

	set_up();
	for (int round = 0; round < 40; round++) {
		failed = false;
		for (int i = 0; i < 16; i++)
			post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, a.len);
		rereg(&b, ACCESS, NULL, round & 1 ? ODP : ALL_ACCESS);
		for (int i = 0; i < 16; i++) {
			NEED(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "no completion");
			CHECK(failed ? wc.status == IBV_WC_WR_FLUSH_ERR :
			      wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_REM_ACCESS_ERR,
			      "status %d%s", wc.status, failed ? " after a failure" : "");
			failed |= wc.status != IBV_WC_SUCCESS;
		}
		if (failed)
			connect_again();
		works(round, "after the change");
	}
	tear_down();
}

static bool set_huge_pages(int count)
{
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "w");

	if (!f)
		return false;
	fprintf(f, "%d\n", count);
	fclose(f);
	return true;
}

/* Memory of huge pages works, and other memory fails like memory that does not exist. */
static void huge_pages(void)
{
	const int flags = ODP | IBV_ACCESS_HUGETLB;
	struct odp huge, small;

	set_up();
	CHECK_NULL(ibv_reg_mr(p.pd, NULL, SIZE_MAX, flags), EINVAL);
	CHECK(strstr(why_text(), "a region of all addresses"), "explained as: %s", why_text());
	huge.mr = ibv_reg_mr(p.pd, a.mem, a.len, ALL_ACCESS | IBV_ACCESS_HUGETLB);
	NEED(huge.mr, "pinned: %s; %s", err_name(errno), why_text());
	CHECK_ERR(ibv_dereg_mr(huge.mr), 0);
	small = (struct odp){ map(16 * PAGE, -1), 16 * PAGE, NULL };
	madvise(small.mem, small.len, MADV_NOHUGEPAGE);
	small.mr = ibv_reg_mr(p.pd, small.mem, small.len, flags);
	NEED(small.mr, "reg_mr: %s; %s", err_name(errno), why_text());
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &small, 0, 100);
	done(&p, IBV_WC_REM_ACCESS_ERR);
	connect_again();
	post(&p, IBV_WR_RDMA_READ, &small, 0, &a, 0, 100);
	done(&p, IBV_WC_LOC_PROT_ERR);
	connect_again();
	odp_close(&small);
	huge.mem = set_huge_pages(4) ?
		   mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) : MAP_FAILED;
	if (huge.mem == MAP_FAILED) {
		printf("no huge pages here\n");
		tear_down();
		return;
	}
	huge = (struct odp){ huge.mem, 2 * HUGE, ibv_reg_mr(p.pd, huge.mem, 2 * HUGE, flags) };
	NEED(huge.mr, "reg_mr: %s; %s", err_name(errno), why_text());
	fill(a.mem, a.len, 51);
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &huge, HUGE - 8 * PAGE, a.len);
	done(&p, IBV_WC_SUCCESS);
	CHECK_BYTES(huge.mem + HUGE - 8 * PAGE, a.len, 51, "across huge pages");
	rereg(&huge, ACCESS, NULL, ODP);
	rereg(&huge, ACCESS, NULL, flags);
	post(&p, IBV_WR_RDMA_READ, &b, 0, &huge, HUGE - 8 * PAGE, b.len);
	done(&p, IBV_WC_SUCCESS);
	CHECK_BYTES(b.mem, b.len, 51, "from huge pages");
	odp_close(&huge);
	set_huge_pages(0);
	tear_down();
}

static const struct test_case cases[] = {
	{ "pinned_and_back", pinned_and_back },
	{ "moved", moved },
	{ "access_and_domain", access_and_domain },
	{ "refused", refused },
	{ "window", window },
	{ "under_traffic", under_traffic },
	{ "huge_pages", huge_pages },
};

TEST_MAIN("odp_rereg", cases, 60)
