// SPDX-License-Identifier: GPL-2.0
/*
 * adv14, adv15. univerbs_share_mr(3): a further region of the pages of a region. The pages are
 * pinned and counted once, until both regions are gone; each has its own keys, address, access
 * flags and protection domain, and none can write to pages that were pinned for reading.
 */
#include <infiniband/univerbs_verbs.h>

#include "memlock.h"
#include "raw.h"

#define PAGES 32
#define SPACE (PAGES * PAGE)
#define BYTES (SPACE - 1000)
#define LEN 300
#define READ (IBV_ACCESS_REMOTE_READ)

static struct pair p;
static struct ibv_mr *mr;
static uint8_t *mem;

static void set_up(int access)
{
	pair_open(&p, NULL);
	mem = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	mr = ibv_reg_mr(p.pd, mem, BYTES, access);
	NEED_PTR(mr, "reg_mr");
}

static void tear_down(void)
{
	if (mr)
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
	munmap(mem, SPACE);
}

static struct ibv_mr *share(struct ibv_pd *pd, uint64_t iova, unsigned int access)
{
	struct ibv_mr *other = univerbs_share_mr(mr, pd, iova, access);

	NEED(other, "share_mr: %s; %s", err_name(errno), why_text());
	CHECK(other->pd == pd && other->addr == mr->addr && other->length == mr->length &&
	      other->lkey != mr->lkey && other->rkey != mr->rkey, "the shared region");
	return other;
}

/* The peer accesses @addr by @key. */
static void use(enum ibv_wr_opcode opcode, uint32_t key, uint64_t addr, enum ibv_wc_status want)
{
	struct ibv_sge sge = pair_sge(&p, 0, 0, LEN);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { addr, key },
	};
	struct ibv_wc wc;

	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, want);
	if (want == IBV_WC_SUCCESS)
		return;
	for (int i = 0; i < 2; i++)
		NEED_OK(qp_to_state(p.qp[i], IBV_QPS_RESET));
	pair_make_ready(&p);
}

/* A write by @key to @at arrives at @off of the memory. */
static void writes(uint32_t key, uint64_t at, size_t off, uint32_t seed)
{
	fill(p.buf[0], LEN, seed);
	use(IBV_WR_RDMA_WRITE, key, at, IBV_WC_SUCCESS);
	CHECK_BYTES(mem + off, LEN, seed, "written through a shared region");
}

/* ---- use ------------------------------------------------------------------------ */

/* The regions end in either order, and the pages stay pinned and counted once until then. */
static void lives(void)
{
	const uint64_t iova = 0x77700000000;
	struct ibv_mr *first, *other, *third;
	long before, with;

	set_up(ALL_ACCESS);
	with = locked_kb();
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	before = locked_kb();
	CHECK(with - before == PAGES * 4, "%ld KiB are pinned", with - before);
	for (int order = 0; order < 2; order++) {
		mr = ibv_reg_mr(p.pd, mem, BYTES, ALL_ACCESS);
		NEED_PTR(mr, "reg_mr");
		other = share(p.pd, iova, ALL_ACCESS);
		CHECK(locked_kb() == with, "%ld KiB more are pinned", locked_kb() - with);
		writes(mr->rkey, (uintptr_t)mem, 0, 1);
		writes(other->rkey, iova + BYTES - LEN, BYTES - LEN, 2);
		use(IBV_WR_RDMA_WRITE, other->rkey, iova + BYTES - LEN + 1, IBV_WC_REM_ACCESS_ERR);
		use(IBV_WR_RDMA_WRITE, other->rkey, (uintptr_t)mem, IBV_WC_REM_ACCESS_ERR);
		first = order ? other : mr;
		if (order)
			other = mr;
		CHECK_ERR(ibv_dereg_mr(first), 0);
		CHECK(locked_kb() == with, "%ld KiB were unpinned", with - locked_kb());
		/* The pages that the region has are still those of the process. */
		writes(other->rkey, order ? (uintptr_t)mem : iova, 0, 3 + order);
		mr = other;
		third = share(p.pd, (uintptr_t)mem, ALL_ACCESS);
		CHECK_ERR(ibv_dereg_mr(mr), 0);
		writes(third->rkey, (uintptr_t)mem + 5 * PAGE - 9, 5 * PAGE - 9, 5);
		CHECK_ERR(ibv_dereg_mr(third), 0);
		CHECK(locked_kb() == before, "%ld KiB are still pinned", locked_kb() - before);
	}
	mr = NULL;
	tear_down();
}

/* A queue pair uses the key of its own domain. */
static void domains(void)
{
	struct ibv_mr *other;
	struct ibv_pd *pd;

	set_up(ALL_ACCESS);
	pd = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	other = share(pd, (uintptr_t)mem, ALL_ACCESS);
	use(IBV_WR_RDMA_WRITE, other->rkey, (uintptr_t)mem, IBV_WC_REM_ACCESS_ERR);
	CHECK_ERR(ibv_dealloc_pd(pd), EBUSY);
	CHECK(!ibv_rereg_mr(other, IBV_REREG_MR_CHANGE_PD, p.pd, NULL, 0, 0), "rereg_mr: %s", why_text());
	writes(other->rkey, (uintptr_t)mem + 77, 77, 1);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	CHECK_ERR(ibv_dereg_mr(other), 0);
	tear_down();
}

/* Each region has its own rights, and its own length after an extension or a re-registration. */
static void independent(void)
{
	struct univerbs_mr_attr a = { .size = sizeof(a) };
	struct ibv_mr *other, *late;
	uint8_t *elsewhere;
	long before;

	set_up(ALL_ACCESS);
	other = share(p.pd, (uintptr_t)mem, READ);
	CHECK_ERR(univerbs_query_mr(other, &a), 0);
	CHECK(a.access == READ && a.length == BYTES && a.iova == (uintptr_t)mem && a.addr == (uintptr_t)mem &&
	      a.kind == UNIVERBS_MR_MEMORY, "the attributes of the shared region");
	use(IBV_WR_RDMA_READ, other->rkey, (uintptr_t)mem, IBV_WC_SUCCESS);
	use(IBV_WR_RDMA_WRITE, other->rkey, (uintptr_t)mem, IBV_WC_REM_ACCESS_ERR);
	writes(mr->rkey, (uintptr_t)mem, 0, 1);
	CHECK_ERR(ibv_dereg_mr(other), 0);

	/* A page behind the end, which the first region gets alone; then both. */
	munmap(mem, SPACE);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	mem = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	mr = ibv_reg_mr(p.pd, mem, 4 * PAGE, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	other = share(p.pd, (uintptr_t)mem, ALL_ACCESS);
	before = locked_kb();
	CHECK_ERR(univerbs_extend_mr(mr, 6 * PAGE), 0);
	late = share(p.pd, (uintptr_t)mem, ALL_ACCESS);
	CHECK(locked_kb() - before == 8, "%ld KiB more are pinned", locked_kb() - before);
	writes(mr->rkey, (uintptr_t)mem + 5 * PAGE, 5 * PAGE, 2);
	writes(late->rkey, (uintptr_t)mem + 5 * PAGE + 50, 5 * PAGE + 50, 3);
	use(IBV_WR_RDMA_WRITE, other->rkey, (uintptr_t)mem + 5 * PAGE, IBV_WC_REM_ACCESS_ERR);
	CHECK_ERR(univerbs_extend_mr(late, 7 * PAGE), 0);
	writes(late->rkey, (uintptr_t)mem + 7 * PAGE - LEN, 7 * PAGE - LEN, 4);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(locked_kb() - before == 12, "%ld KiB more are pinned", locked_kb() - before);
	writes(late->rkey, (uintptr_t)mem + 5 * PAGE, 5 * PAGE, 5);

	/* Another mapping replaces the pages of one region; those of the other stay. */
	elsewhere = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(elsewhere != MAP_FAILED, "mmap: %s", err_name(errno));
	CHECK(!ibv_rereg_mr(late, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, elsewhere, 3 * PAGE, 0),
	      "rereg_mr: %s", why_text());
	CHECK(locked_kb() - before == 12, "%ld KiB more are pinned", locked_kb() - before);
	writes(other->rkey, (uintptr_t)mem, 0, 6);
	fill(p.buf[0], LEN, 7);
	use(IBV_WR_RDMA_WRITE, late->rkey, (uintptr_t)elsewhere, IBV_WC_SUCCESS);
	CHECK_BYTES(elsewhere, LEN, 7, "written elsewhere");
	CHECK_BYTES(mem, LEN, 6, "the shared page");
	CHECK_ERR(ibv_dereg_mr(late), 0);
	CHECK_ERR(ibv_dereg_mr(other), 0);
	CHECK(locked_kb() - before == -16, "%ld KiB are still pinned", locked_kb() - before + 16);
	mr = NULL;
	munmap(elsewhere, SPACE);
	tear_down();
}

/* A window counts for the region that it is bound to, and not for the other one. */
static void windows(void)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mr *other;
	struct ibv_mw *mw;
	struct ibv_wc wc;

	set_up(IBV_ACCESS_LOCAL_WRITE);
	other = share(p.pd, 0x5000, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_1);
	NEED_PTR(mw, "alloc_mw");
	bind.bind_info = (struct ibv_mw_bind_info){ other, 0x6000, PAGE, IBV_ACCESS_REMOTE_WRITE };
	NEED_OK(ibv_bind_mw(p.qp[1], mw, &bind));
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_dereg_mr(other), EBUSY);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	mr = NULL;
	writes(mw->rkey, 0x6000, PAGE, 1);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	CHECK_ERR(ibv_dereg_mr(other), 0);
	tear_down();
}

/* ---- refusals ------------------------------------------------------------------- */

static void refuse(unsigned int access, uint64_t iova, int err, uint32_t reason, const char *what)
{
	struct ibv_mr *other;

	errno = 0;
	other = univerbs_share_mr(mr, p.pd, iova, access);
	if (!CHECK(!other, "%s: was shared", what)) {
		ibv_dereg_mr(other);
		return;
	}
	CHECK(errno == err, "%s: expected %s, got %s", what, err_name(err), err_name(errno));
	CHECK(why_reason() == reason, "%s: expected reason %u, got %u: %s", what, reason, why_reason(),
	      why_text());
}

/* Another thread has just extended the region, and this one does not know its length yet. */
static void extended(void)
{
	struct univ_mr_extend more = { .length = SPACE };
	struct ibv_mr *other;

	set_up(ALL_ACCESS);
	more.handle = mr->handle;
	NEED_OK(raw_call(p.dev.ctx->cmd_fd, UNIV_MR_EXTEND, &more));
	other = univerbs_share_mr(mr, p.pd, (uintptr_t)mem, ALL_ACCESS);
	NEED_PTR(other, "share_mr");
	CHECK(other->length == SPACE && mr->length == BYTES, "%zu of %lu bytes", other->length, SPACE);
	writes(other->rkey, (uintptr_t)mem + SPACE - LEN, SPACE - LEN, 6);
	CHECK_ERR(ibv_dereg_mr(other), 0);
	tear_down();
}

/* Memory that the process cannot write must not become writable. */
static void read_only(void)
{
	struct ibv_mr *other;

	set_up(ALL_ACCESS);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	fill(mem, LEN, 9);
	mprotect(mem, SPACE, PROT_READ);
	mr = ibv_reg_mr(p.pd, mem, BYTES, READ);
	NEED_PTR(mr, "reg_mr");
	refuse(IBV_ACCESS_LOCAL_WRITE, (uintptr_t)mem, EACCES, UNIV_REASON_MR_READ_ONLY, "local write");
	CHECK(why_value() == IBV_ACCESS_LOCAL_WRITE, "flags %#" PRIx64, why_value());
	refuse(ALL_ACCESS, (uintptr_t)mem, EACCES, UNIV_REASON_MR_READ_ONLY, "all rights");
	refuse(IBV_ACCESS_REMOTE_WRITE, (uintptr_t)mem, EINVAL, UNIV_REASON_ACCESS_FLAGS, "remote write alone");
	refuse(IBV_ACCESS_MW_BIND, (uintptr_t)mem, EACCES, UNIV_REASON_MR_READ_ONLY, "windows");
	other = share(p.pd, (uintptr_t)mem, READ);
	/* Nor by a re-registration of the shared region. */
	CHECK(ibv_rereg_mr(other, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS) && errno == EFAULT,
	      "read-only memory became writable: %s", err_name(errno));
	use(IBV_WR_RDMA_READ, other->rkey, (uintptr_t)mem, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[0], LEN, 9, "read through the shared region");
	use(IBV_WR_RDMA_WRITE, other->rkey, (uintptr_t)mem, IBV_WC_REM_ACCESS_ERR);
	CHECK_ERR(ibv_dereg_mr(other), 0);
	CHECK_ERR(ibv_dereg_mr(mr), 0);

	/* A read-only part behind a writable one. */
	mprotect(mem, 2 * PAGE, PROT_READ | PROT_WRITE);
	mr = ibv_reg_mr(p.pd, mem, 2 * PAGE, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, READ), "rereg_mr: %s", why_text());
	other = share(p.pd, (uintptr_t)mem, ALL_ACCESS);
	CHECK_ERR(ibv_dereg_mr(other), 0);
	CHECK_ERR(univerbs_extend_mr(mr, 3 * PAGE), 0);
	refuse(ALL_ACCESS, (uintptr_t)mem, EACCES, UNIV_REASON_MR_READ_ONLY, "a part that is read-only");
	tear_down();
}

static void refused(void)
{
	struct ibv_device_attr_ex ex;
	struct ibv_pd foreign;
	struct ibv_mr *own;

	set_up(ALL_ACCESS);
	refuse(ALL_ACCESS, (uintptr_t)mem + 8, EINVAL, UNIV_REASON_ADDRESS, "another offset in the page");
	refuse(ALL_ACCESS, -PAGE, EINVAL, UNIV_REASON_ADDRESS_WRAP, "an address that wraps");
	refuse(ALL_ACCESS | IBV_ACCESS_ON_DEMAND, (uintptr_t)mem, EOPNOTSUPP, UNIV_REASON_ACCESS_FLAGS,
	       "on-demand paging");
	foreign = *p.pd;
	foreign.handle = 0x7ffff;
	CHECK(!univerbs_share_mr(mr, &foreign, 0, 0) && why_reason() == UNIV_REASON_HANDLE, "%s", why_text());
	foreign.context = NULL;
	CHECK(!univerbs_share_mr(mr, &foreign, 0, 0) && errno == EINVAL &&
	      why_reason() == UNIV_REASON_CONTEXT, "%s", why_text());
	own = mr;
	mr = ibv_alloc_null_mr(p.pd);
	NEED_PTR(mr, "alloc_null_mr");
	refuse(IBV_ACCESS_LOCAL_WRITE, 0, EOPNOTSUPP, UNIV_REASON_MR_KIND, "a null region");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	NEED_OK(ibv_query_device_ex(p.dev.ctx, NULL, &ex));
	if (ex.odp_caps.general_caps & IBV_ODP_SUPPORT) {
		mr = ibv_reg_mr(p.pd, mem, BYTES, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
		NEED_PTR(mr, "reg_mr");
		refuse(ALL_ACCESS, (uintptr_t)mem, EOPNOTSUPP, UNIV_REASON_MR_KIND, "pages on demand");
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	}
	mr = own;
	tear_down();
}

/* The pages stay pinned, and stay those of this process, although a child shares them. */
static void forked(void)
{
	struct ibv_mr *other;
	int status;
	pid_t pid;

	set_up(ALL_ACCESS);
	pid = fork();
	if (!pid) {
		test_failures = 0;
		other = share(p.pd, (uintptr_t)mem, ALL_ACCESS);
		CHECK_ERR(univerbs_extend_mr(other, SPACE), EPERM);
		CHECK_ERR(ibv_dereg_mr(other), 0);
		share(p.pd, 0x1000, ALL_ACCESS);
		_exit(test_failures ? 1 : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "the child: status %#x", status);
	writes(mr->rkey, (uintptr_t)mem, 0, 1);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	mr = NULL;
	CHECK_ERR(ibv_dealloc_pd(p.pd), EBUSY);
	/* The region that the child has left ends with the context. */
	exit(test_failures ? 1 : 0);
}

static void forked_in_child(void)
{
	in_child(forked);
}

/* ---- races ---------------------------------------------------------------------- */

static bool stop;

static void *sharer(void *arg)
{
	struct univ_mr_share cmd = { .pd = p.pd->handle, .access = ALL_ACCESS, .iova = (uintptr_t)mem };
	unsigned long *count = arg;
	int err;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		cmd.mr = __atomic_load_n(&mr->handle, __ATOMIC_RELAXED);
		err = raw_call(p.dev.ctx->cmd_fd, UNIV_MR_SHARE, &cmd);
		if (!CHECK(!err || err == EBUSY || err == EINVAL, "share: %s", err_name(err)))
			break;
		if (err)
			continue;
		__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
		CHECK_ERR(raw_destroy(p.dev.ctx->cmd_fd, UNIV_MR_DEREG, cmd.handle), 0);
	}
	return NULL;
}

/* Regions are shared while the first one is extended, re-registered and deregistered. */
static void races(void)
{
	unsigned long count = 0;
	struct univ_mr_reg reg = {
		.access = ALL_ACCESS, .length = PAGE,
	};
	struct univ_mr_extend more = { .length = SPACE };
	pthread_t thread[2];
	uint64_t end;
	long before;
	int i;

	set_up(ALL_ACCESS);
	before = locked_kb();
	reg.pd = p.pd->handle;
	reg.addr = (uintptr_t)mem;
	reg.iova = (uintptr_t)mem;
	stop = false;
	for (i = 0; i < 2; i++)
		NEED(!pthread_create(&thread[i], NULL, sharer, &count), "pthread_create");
	end = deadline_ms(2000);
	while (race_goes_on(end, __atomic_load_n(&count, __ATOMIC_RELAXED))) {
		CHECK_ERR(raw_destroy(p.dev.ctx->cmd_fd, UNIV_MR_DEREG, mr->handle), 0);
		NEED_OK(raw_call(p.dev.ctx->cmd_fd, UNIV_MR_REG, &reg));
		__atomic_store_n(&mr->handle, reg.handle, __ATOMIC_RELAXED);
		/* The region is busy during most of the extensions, and not before them. */
		sched_yield();
		for (i = 1; i < PAGES; i++) {
			more.handle = reg.handle;
			more.length = i * PAGE + 5;
			raw_call(p.dev.ctx->cmd_fd, UNIV_MR_EXTEND, &more);
		}
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	more.handle = mr->handle;
	more.length = BYTES;
	raw_call(p.dev.ctx->cmd_fd, UNIV_MR_EXTEND, &more);
	CHECK(locked_kb() <= before, "%ld KiB too many are pinned", locked_kb() - before);
	CHECK(count, "the region was never shared");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(before - locked_kb() == PAGES * 4, "%ld KiB are still pinned",
	      PAGES * 4 - (before - locked_kb()));
	mr = NULL;
	printf("# shared %lu times\n", count);
	tear_down();
}

static const struct test_case cases[] = {
	{ "lives", lives },
	{ "domains", domains },
	{ "independent", independent },
	{ "windows", windows },
	{ "extended", extended },
	{ "read_only", read_only },
	{ "refused", refused },
	{ "forked", forked_in_child },
	{ "races", races },
};

TEST_MAIN("share (adv14, adv15)", cases, 60)
