// SPDX-License-Identifier: GPL-2.0
/*
 * adv23. Memory windows with wrong ranges, keys and owners. A peer reaches nothing beyond
 * the window or its region, gets no more access than granted, and cannot use a former key,
 * another queue pair, another protection domain or another process's window.
 */
#include "windows.h"

static void beyond_the_window(void)
{
	static const int64_t far[] = { -1, -LEN, 1, SIZE, -AT, REGION - AT };
	struct ibv_mw *mw;

	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_1);
	bind1(mw, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	memset(mem, 0, REGION);
	for (size_t i = 0; i < ARRAY_SIZE(far); i++) {
		/*
		 * A shift of 1 tests the last LEN bytes of the window, moved one byte
		 * beyond its end.
		 */
		uint64_t off = AT + far[i] + (far[i] == 1 ? SIZE - LEN : 0);

		memset(p.buf[0], 0x5a, LEN);
		use(IBV_WR_RDMA_WRITE, mw->rkey, off, LEN, IBV_WC_REM_ACCESS_ERR);
		use(IBV_WR_RDMA_READ, mw->rkey, off, LEN, IBV_WC_REM_ACCESS_ERR);
	}
	use(IBV_WR_RDMA_WRITE, mw->rkey, AT, SIZE + 1, IBV_WC_REM_ACCESS_ERR);
	use_by(p.qp, IBV_WR_RDMA_WRITE, mw->rkey, -(uint64_t)LEN, LEN, IBV_WC_REM_ACCESS_ERR);
	CHECK(all_zero(mem, REGION), "memory was written");
	works(mw->rkey, AT, 1);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	tear_down();
}

static void beyond_the_region(void)
{
	static const struct {
		uint64_t from, length;
	} bad[] = {
		{ -1ull, SIZE }, { REGION, 1 }, { REGION - SIZE, SIZE + 1 }, { 0, REGION + 1 },
		{ AT, -1ull }, { AT, -(uint64_t)AT }, { REGION * 2, SIZE }, { 1ull << 63, SIZE },
		{ 0, 1ull << 32 }, { 1, 1ull << 63 },
	};
	struct ibv_mw *one, *two;

	set_up();
	one = new_window(p.pd, IBV_MW_TYPE_1);
	two = new_window(p.pd, IBV_MW_TYPE_2);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		bind1(one, range(bad[i].from, bad[i].length, READ_WRITE), IBV_WC_MW_BIND_ERR);
		bind2(two, two->rkey, range(bad[i].from, bad[i].length, READ_WRITE),
		      IBV_WC_MW_BIND_ERR);
		is_shut(two->rkey, AT);
	}
	/* Bind the whole region, and the last byte of it. */
	bind1(one, range(0, REGION, READ_WRITE), IBV_WC_SUCCESS);
	works(one->rkey, REGION - LEN, 1);
	bind2(two, two->rkey, range(REGION - 1, 1, READ_WRITE), IBV_WC_SUCCESS);
	use(IBV_WR_RDMA_WRITE, two->rkey, REGION - 1, 1, IBV_WC_SUCCESS);
	/* A failed bind leaves the window as it was. */
	bind1(one, range(AT, REGION, READ_WRITE), IBV_WC_MW_BIND_ERR);
	works(one->rkey, AT, 2);
	CHECK_ERR(ibv_dealloc_mw(one), 0);
	CHECK_ERR(ibv_dealloc_mw(two), 0);
	tear_down();
}

/* Register a region with @mr_access, bind a window with @mw_access to it, and expect @want. */
static void grant(int mr_access, unsigned int mw_access, enum ibv_wc_status want)
{
	struct ibv_mr *former = mr;
	struct ibv_mw *mw;

	mr = ibv_reg_mr(p.pd, mem, REGION, mr_access);
	NEED_PTR(mr, "reg_mr");
	mw = new_window(p.pd, IBV_MW_TYPE_1);
	bind1(mw, range(AT, SIZE, mw_access), want);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	bind2(mw, mw->rkey, range(AT, SIZE, mw_access), want);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	mr = former;
}

static void rights(void)
{
	const int bind = IBV_ACCESS_MW_BIND, local = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_mw *mw;

	set_up();
	grant(ALL_ACCESS, IBV_ACCESS_REMOTE_READ, IBV_WC_MW_BIND_ERR);
	grant(bind, IBV_ACCESS_REMOTE_READ, IBV_WC_SUCCESS);
	grant(bind, IBV_ACCESS_REMOTE_WRITE, IBV_WC_MW_BIND_ERR);
	grant(bind, IBV_ACCESS_REMOTE_ATOMIC, IBV_WC_MW_BIND_ERR);
	grant(bind | local, IBV_ACCESS_REMOTE_ATOMIC, IBV_WC_SUCCESS);
	grant(bind | local, 0, IBV_WC_SUCCESS);
	/* These flags have no meaning for a window, but all other stacks accept them. */
	grant(bind, IBV_ACCESS_LOCAL_WRITE, IBV_WC_SUCCESS);
	grant(bind | local, IBV_ACCESS_MW_BIND, IBV_WC_SUCCESS);
	grant(bind | local, IBV_ACCESS_RELAXED_ORDERING, IBV_WC_SUCCESS);
	grant(bind | local, IBV_ACCESS_ON_DEMAND, IBV_WC_MW_BIND_ERR);
	grant(bind | local, 1u << 31 | IBV_ACCESS_REMOTE_READ, IBV_WC_MW_BIND_ERR);

	mw = new_window(p.pd, IBV_MW_TYPE_1);
	bind1(mw, range(AT, SIZE, IBV_ACCESS_REMOTE_READ), IBV_WC_SUCCESS);
	memset(mem, 0, REGION);
	use(IBV_WR_RDMA_READ, mw->rkey, AT, LEN, IBV_WC_SUCCESS);
	use(IBV_WR_RDMA_WRITE, mw->rkey, AT, LEN, IBV_WC_REM_ACCESS_ERR);
	use(IBV_WR_ATOMIC_FETCH_AND_ADD, mw->rkey, AT, 8, IBV_WC_REM_ACCESS_ERR);
	bind1(mw, range(AT, SIZE, IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS);
	use(IBV_WR_RDMA_READ, mw->rkey, AT, LEN, IBV_WC_REM_ACCESS_ERR);
	use(IBV_WR_ATOMIC_FETCH_AND_ADD, mw->rkey, AT, 8, IBV_WC_REM_ACCESS_ERR);
	CHECK(all_zero(mem, REGION), "memory was written");
	works(mw->rkey, AT, 1);
	bind1(mw, range(AT, SIZE, 0), IBV_WC_SUCCESS);
	is_shut(mw->rkey, AT);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	tear_down();
}

/* A type 2 window is accessible only through the queue pair that bound it. */
static void another_queue_pair(void)
{
	struct ibv_mw *one, *two;
	uint64_t at;

	set_up();
	at = (uintptr_t)mem + AT;
	for (int i = 0; i < 2; i++)
		other[i] = make_qp(p.pd, i);
	connect_two(other);
	one = new_window(p.pd, IBV_MW_TYPE_1);
	two = new_window(p.pd, IBV_MW_TYPE_2);
	bind1(one, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	bind2(two, two->rkey, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	use_by(other, IBV_WR_RDMA_WRITE, one->rkey, at, LEN, IBV_WC_SUCCESS);
	use_by(other, IBV_WR_RDMA_WRITE, two->rkey, at, LEN, IBV_WC_REM_ACCESS_ERR);
	use_by(other, IBV_WR_RDMA_READ, two->rkey, at, LEN, IBV_WC_REM_ACCESS_ERR);
	invalidate_by(other, two->rkey, IBV_WC_LOC_QP_OP_ERR);
	works(two->rkey, AT, 1);
	/* A type 1 window may be bound by one queue pair and then by another. */
	bind1_by(other, one, range(0, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	works(one->rkey, 0, 2);
	CHECK_ERR(ibv_dealloc_mw(one), 0);
	/*
	 * The windows of a destroyed queue pair become invalid; no other queue pair
	 * inherits them.
	 */
	stays();
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_qp(p.qp[i]), 0);
		p.qp[i] = NULL;
	}
	use_by(other, IBV_WR_RDMA_WRITE, two->rkey, at, LEN, IBV_WC_REM_ACCESS_ERR);
	for (int i = 0; i < 2; i++)
		p.qp[i] = make_qp(p.pd, i);
	connect_two(p.qp);
	is_shut(two->rkey, AT);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	mr = NULL;
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_qp(other[i]), 0);
	CHECK_ERR(ibv_dealloc_mw(two), 0);
	tear_down();
}

static void another_domain(void)
{
	struct ibv_mr *former;
	struct ibv_qp *qp[2];
	struct ibv_mw *mw, *foreign;
	struct ibv_pd *pd;

	set_up();
	pd = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	/* The window and the region belong to different protection domains. */
	foreign = new_window(pd, IBV_MW_TYPE_2);
	bind2(foreign, foreign->rkey, range(AT, SIZE, READ_WRITE), IBV_WC_MW_BIND_ERR);
	is_shut(foreign->rkey, AT);
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	former = mr;
	mr = ibv_reg_mr(pd, mem, REGION, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	NEED_PTR(mr, "reg_mr");
	bind2(mw, mw->rkey, range(AT, SIZE, READ_WRITE), IBV_WC_MW_BIND_ERR);
	is_shut(mw->rkey, AT);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	mr = former;
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), EBUSY);
	CHECK_ERR(ibv_dealloc_mw(foreign), 0);
	/* The queue pair and the window belong to different protection domains. */
	mw = new_window(p.pd, IBV_MW_TYPE_1);
	bind1(mw, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	qp[0] = make_qp(p.pd, 0);
	qp[1] = make_qp(pd, 1);
	connect_two(qp);
	memset(mem, 0, REGION);
	use_by(qp, IBV_WR_RDMA_WRITE, mw->rkey, (uintptr_t)mem + AT, LEN, IBV_WC_REM_ACCESS_ERR);
	CHECK(all_zero(mem, REGION), "memory was written");
	works(mw->rkey, AT, 1);
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_qp(qp[i]), 0);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	tear_down();
}

/* Use the guessed key of another process's window. */
static void another_context(void)
{
	struct ibv_context *ctx;
	struct ibv_mw *mw, fake;
	struct ibv_mr *theirs;
	struct ibv_pd *pd;

	set_up();
	ctx = dev_open_named(dev_wanted());
	NEED_PTR(ctx, "open_device");
	pd = ibv_alloc_pd(ctx);
	NEED_PTR(pd, "alloc_pd");
	mw = new_window(pd, IBV_MW_TYPE_2);
	fake = *mw;
	fake.context = p.dev.ctx;
	fake.pd = p.pd;
	bind2(&fake, fake.rkey, range(AT, SIZE, READ_WRITE), IBV_WC_MW_BIND_ERR);
	is_shut(mw->rkey, AT);
	invalidate(mw->rkey, IBV_WC_LOC_QP_OP_ERR);
	fake.type = IBV_MW_TYPE_1;
	bind1(&fake, range(AT, SIZE, READ_WRITE), IBV_WC_MW_BIND_ERR);
	fake.handle = 99999;
	CHECK_ERR(ibv_dealloc_mw(&fake), EINVAL);
	/* Bind a window to another process's memory region. */
	theirs = ibv_reg_mr(pd, mem, REGION, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	NEED_PTR(theirs, "reg_mr");
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	bind2(mw, mw->rkey, (struct ibv_mw_bind_info){ .mr = theirs, .addr = (uintptr_t)mem,
			.length = SIZE, .mw_access_flags = READ_WRITE }, IBV_WC_MW_BIND_ERR);
	is_shut(mw->rkey, 0);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	CHECK_ERR(ibv_dereg_mr(theirs), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	CHECK_ERR(ibv_close_device(ctx), 0);
	tear_down();
}

/*
 * The number of regions of this process in the list of rdma, which has it as "[NAME:PID]" or as
 * "pid PID". It is 0 in a network namespace whose devices rdma does not list.
 */
static int regions_listed(void)
{
	char line[512], ours[2][32];
	int found = 0;
	FILE *list;

	snprintf(ours[0], sizeof(ours[0]), ":%d]", getpid());
	snprintf(ours[1], sizeof(ours[1]), " pid %d ", getpid());
	list = popen("rdma resource show mr", "r");
	NEED_PTR(list, "rdma resource");
	while (fgets(line, sizeof(line), list))
		found += strstr(line, ours[0]) || strstr(line, ours[1]);
	pclose(list);
	return found;
}

static void region_first(void)
{
	struct ibv_mr gone;
	struct ibv_mw *mw, *two;
	int listed;

	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_1);
	bind1(mw, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	listed = regions_listed();
	errno = 0;
	stays();
	CHECK(why_reason() == UNIV_REASON_BUSY, "%s", why_text());
	CHECK(regions_listed() == listed, "rdma does not list the region that stays");
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE) ==
	      IBV_REREG_MR_ERR_INPUT && errno == EBUSY, "rereg_mr: %s", err_name(errno));
	works(mw->rkey, AT, 1);
	unbind1(mw);
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND), "rereg_mr: %s",
	      why_text());
	bind1(mw, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	works(mw->rkey, AT, 2);
	two = new_window(p.pd, IBV_MW_TYPE_2);
	bind2(two, two->rkey, range(0, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	/* Both windows hold the region. Deallocating a bound window unbinds it. */
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	stays();
	invalidate(two->rkey, IBV_WC_SUCCESS);
	gone = *mr;
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	mr = &gone;
	bind2(two, two->rkey, range(AT, SIZE, READ_WRITE), IBV_WC_MW_BIND_ERR);
	is_shut(two->rkey, AT);
	mr = NULL;
	CHECK_ERR(ibv_dealloc_mw(two), 0);
	tear_down();
}

/*
 * Many windows are bound when the file is closed, in whatever order the close destroys the
 * objects.
 */
static void closed_while_bound(void)
{
	int status = 0, before = test_failures;
	pid_t child = fork();

	NEED(child >= 0, "fork");
	if (!child) {
		set_up();
		for (int i = 0; i < 200; i++) {
			struct ibv_mw *mw = new_window(p.pd, i & 1 ? IBV_MW_TYPE_2 :
								      IBV_MW_TYPE_1);

			if (i & 1)
				bind2(mw, mw->rkey, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
			else
				bind1(mw, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
		}
		_exit(test_failures != before);
	}
	CHECK(waitpid(child, &status, 0) == child && !status, "the child: %#x", status);
}

#define BIG (16u << 20)

/* Test one byte of each cache line, because a copy would change all of them. */
static bool untouched(const uint8_t *from)
{
	for (size_t i = 0; i < BIG; i += 64)
		if (from[i])
			return false;
	return true;
}

static void *post_big(void *arg)
{
	CHECK_ERR(post(p.qp[0], arg), 0);
	return NULL;
}

/*
 * After the unbinding has completed, writes that the peer has under way no longer reach the
 * memory. A write may be over before the window is, so the rounds go on until one was cut.
 */
static void unbound_under_traffic(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mr *big, *from;
	uint8_t *to, *source;
	struct ibv_mw *mw;
	struct ibv_wc wc;
	pthread_t thread;
	uint64_t begun;
	int cut = 0;

	set_up();
	for (int i = 0; i < 2; i++)
		other[i] = make_qp(p.pd, i);
	connect_two(other);
	to = mmap(NULL, 2 * BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(to != MAP_FAILED, "mmap: %s", err_name(errno));
	source = to + BIG;
	memset(source, 0x5a, BIG);
	big = ibv_reg_mr(p.pd, to, BIG, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	from = ibv_reg_mr(p.pd, source, BIG, 0);
	NEED_PTR(big, "reg_mr");
	NEED_PTR(from, "reg_mr");
	sge = (struct ibv_sge){ .addr = (uintptr_t)source, .length = BIG, .lkey = from->lkey };
	mw = new_window(p.pd, IBV_MW_TYPE_1);
	begun = now_ns();
	for (int round = 0; round < test_rounds(20) || race_goes_on(begun, cut); round++) {
		struct ibv_mw_bind_info info = { .mr = big, .addr = (uintptr_t)to, .length = BIG,
						 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };

		bind1_by(other, mw, info, IBV_WC_SUCCESS);
		memset(to, 0, BIG);
		wr.wr.rdma.remote_addr = (uintptr_t)to;
		wr.wr.rdma.rkey = mw->rkey;
		NEED(!pthread_create(&thread, NULL, post_big, &wr), "pthread_create");
		for (uint64_t end = deadline_ms(2000);
		     !__atomic_load_n(to, __ATOMIC_RELAXED) && now_ns() < end;)
			;
		bind1_by(other, mw, (struct ibv_mw_bind_info){ 0 }, IBV_WC_SUCCESS);
		memset(to, 0, BIG);
		sleep_ms(20);
		CHECK(untouched(to), "round %d: written after it was unbound", round);
		pthread_join(thread, NULL);
		CHECK(wait_wc(p.cq[0], &wc, WC_TIMEOUT) == 1, "no completion");
		cut += wc.status == IBV_WC_REM_ACCESS_ERR;
		CHECK(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_REM_ACCESS_ERR, "%s",
		      ibv_wc_status_str(wc.status));
		connect_two(p.qp);
	}
	printf("# %d writes were cut\n", cut);
	CHECK(cut, "no write was cut");
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	CHECK_ERR(ibv_dereg_mr(big), 0);
	CHECK_ERR(ibv_dereg_mr(from), 0);
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_qp(other[i]), 0);
	munmap(to, 2 * BIG);
	tear_down();
}

/*
 * A bad request fails as well if the request before it needs no answer of the peer, after which
 * nothing else would make the device look at it.
 */
static void behind_a_bind(void)
{
	struct ibv_send_wr first, bad = { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 };
	struct ibv_sge too_long;
	struct ibv_mw *mw;
	struct ibv_wc wc;

	if (!on_uroce())
		return;
	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	first = bind_wr(mw, mw->rkey, range(AT, SIZE, READ_WRITE));
	too_long = pair_sge(&p, 1, 0, (1u << 30) + 1);
	bad.sg_list = &too_long;
	first.next = &bad;
	CHECK_ERR(post(p.qp[1], &first), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[1], &wc, IBV_WC_LOC_LEN_ERR);
	connect_two(p.qp);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	tear_down();
}

static const struct test_case cases[] = {
	{ "beyond_the_window", beyond_the_window },
	{ "beyond_the_region", beyond_the_region },
	{ "rights", rights },
	{ "another_queue_pair", another_queue_pair },
	{ "another_domain", another_domain },
	{ "another_context", another_context },
	{ "region_first", region_first },
	{ "closed_while_bound", closed_while_bound },
	{ "behind_a_bind", behind_a_bind },
	{ "unbound_under_traffic", unbound_under_traffic },
};

int main(int argc, char **argv)
{
	if (!is_offered())
		SKIP("the device has no memory windows");
	return test_run("bad_windows (adv23)", argc, argv, cases, ARRAY_SIZE(cases), 60);
}
