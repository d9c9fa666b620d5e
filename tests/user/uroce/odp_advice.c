// SPDX-License-Identifier: GPL-2.0
/*
 * Advice about regions of on-demand paging, ibv_advise_mr(3): pages are faulted in before a
 * request needs them, and advice that cannot be followed is refused.
 */
#include "odp.h"

static bool present(const struct odp *o)
{
	unsigned char vec;

	NEED(!mincore(o->mem, PAGE, &vec), "mincore: %s", err_name(errno));
	return vec & 1;
}

static int advise(const struct pair *p, const struct odp *o, enum ibv_advise_mr_advice advice,
		  uint32_t flags)
{
	struct ibv_sge sge = sge_of(o, 0, o->len);

	return ibv_advise_mr(p->pd, advice, flags, &sge, 1);
}

static void prefetched(void)
{
	uint64_t before, end;
	struct odp a, b;
	struct pair p;

	start(&p, NULL);
	a = odp_open(&p, 4 * PAGE);
	b = odp_open(&p, 4 * PAGE);
	CHECK_ERR(advise(&p, &a, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
			 IBV_ADVISE_MR_FLAG_FLUSH), 0);
	CHECK(!present(&a), "pages were faulted in");
	CHECK_ERR(advise(&p, &a, IBV_ADVISE_MR_ADVICE_PREFETCH, 0), 0);
	end = deadline_ms(WC_TIMEOUT);
	while (!present(&a) && now_ns() < end)
		sleep_ms(1);
	CHECK(present(&a), "nothing was faulted in");
	CHECK_ERR(advise(&p, &a, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH), 0);
	CHECK_ERR(advise(&p, &b, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			 IBV_ADVISE_MR_FLAG_FLUSH), 0);
	CHECK(present(&b), "nothing was faulted in for writing");
	before = hw_counter(dev_wanted(), "page_faults");
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, 4 * PAGE);
	done(&p, IBV_WC_SUCCESS);
	CHECK(hw_counter(dev_wanted(), "page_faults") == before, "a page was missing");
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

static void bad_advice(const struct pair *p, const struct odp *o, int advice, uint32_t flags,
		       int err, uint32_t reason)
{
	CHECK_ERR(advise(p, o, advice, flags), err);
	CHECK(why_reason() == reason, "reason %u: %s", why_reason(), why_text());
}

static void advice_refused(void)
{
	struct odp o, pinned, other, readable;
	struct pair p;

	start(&p, NULL);
	o = odp_open(&p, PAGE);
	other = o;
	other.len = 2 * PAGE;
	bad_advice(&p, &other, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, EFAULT, UNIV_REASON_ADVICE_KEY);
	other.len = PAGE;
	other.mem -= PAGE;
	bad_advice(&p, &other, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, EFAULT, UNIV_REASON_ADVICE_KEY);
	pinned = (struct odp){ p.buf[0], PAGE, p.mr };
	bad_advice(&p, &pinned, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, EINVAL, UNIV_REASON_ADVICE_KEY);
	readable = o;
	readable.mr = ibv_reg_mr(p.pd, o.mem, PAGE, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	NEED_PTR(readable.mr, "reg_mr");
	bad_advice(&p, &readable, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, EPERM,
		   UNIV_REASON_ADVICE_KEY);
	bad_advice(&p, &o, 3, 0, EOPNOTSUPP, UNIV_REASON_UNSUPPORTED);
	bad_advice(&p, &o, IBV_ADVISE_MR_ADVICE_PREFETCH, 2, EINVAL, UNIV_REASON_FLAGS);
	munmap(o.mem, PAGE);
	bad_advice(&p, &o, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, EFAULT,
		   UNIV_REASON_PAGE_FAULT);
	CHECK_ERR(advise(&p, &o, IBV_ADVISE_MR_ADVICE_PREFETCH, 0), 0);
	CHECK_ERR(ibv_dereg_mr(readable.mr), 0);
	CHECK_ERR(ibv_dereg_mr(o.mr), 0);
	pair_close(&p);
}

static int advise_key(struct ibv_pd *pd, const struct odp *o, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)o->mem, o->len, lkey };

	return ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

/*
 * A key of another domain is EPERM if the region is this process's, and otherwise as unknown
 * as a key that does not exist.
 */
static void advice_to_others(void)
{
	struct ibv_pd *pd, *theirs;
	struct test_dev dev;
	struct pair p;
	struct odp o;
	pid_t child;
	int status;

	start(&p, NULL);
	o = odp_open(&p, PAGE);
	pd = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	CHECK_ERR(advise_key(pd, &o, o.mr->lkey), EPERM);
	CHECK(why_reason() == UNIV_REASON_ADVICE_KEY, "%s", why_text());
	CHECK_ERR(advise_key(pd, &o, o.mr->lkey ^ 1), ENOENT);
	CHECK_ERR(advise_key(p.pd, &o, o.mr->lkey ^ 1), ENOENT);
	CHECK(why_reason() == UNIV_REASON_ADVICE_KEY, "%s", why_text());
	child = fork();
	if (!child) {
		dev_open(&dev);
		theirs = ibv_alloc_pd(dev.ctx);
		NEED_PTR(theirs, "alloc_pd");
		CHECK_ERR(advise_key(theirs, &o, o.mr->lkey), ENOENT);
		CHECK(why_reason() == UNIV_REASON_ADVICE_KEY, "%s", why_text());
		CHECK_ERR(ibv_dealloc_pd(theirs), 0);
		dev_close(&dev);
		exit(test_failures ? 1 : 0);
	}
	NEED(waitpid(child, &status, 0) == child, "waitpid");
	CHECK(!status, "the child ended with %#x", status);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	odp_close(&o);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "prefetched", prefetched },
	{ "advice_refused", advice_refused },
	{ "advice_to_others", advice_to_others },
};
TEST_MAIN("odp_advice", cases, 40)
