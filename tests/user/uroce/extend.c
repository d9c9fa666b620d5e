// SPDX-License-Identifier: GPL-2.0
/*
 * adv14, adv15. univerbs_extend_mr(3): a region grows at its end while requests use it. Keys
 * and addresses stay, no request fails, and a refused extension leaves the region unchanged.
 */
#include <infiniband/univerbs_verbs.h>

#include "memlock.h"
#include "raw.h"

#define PAGES 512
#define SPACE (PAGES * PAGE)
#define LEN 300
#define FIRST (3 * PAGE - 100)	/* Length of most regions at first. */

static struct pair p;
static struct ibv_mr *mr;
static uint8_t *mem;

static void set_up(int access)
{
	pair_open(&p, NULL);
	mem = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	mr = ibv_reg_mr(p.pd, mem + 8, FIRST, access);
	NEED_PTR(mr, "reg_mr");
}

static void tear_down(void)
{
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
	munmap(mem, SPACE);
}

static void extend(size_t length)
{
	uint32_t lkey = mr->lkey, rkey = mr->rkey;
	int err = univerbs_extend_mr(mr, length);

	CHECK(!err, "to %zu bytes: %s; %s", length, err_name(err), why_text());
	CHECK(mr->length == length && mr->addr == mem + 8 && mr->lkey == lkey && mr->rkey == rkey,
	      "the region after the extension to %zu bytes", length);
}

/* The call fails, and the region has its former length, which a write to its last bytes shows. */
static void refuse(size_t length, int err, uint32_t reason, const char *what)
{
	size_t had = mr->length;
	int ret;

	ret = univerbs_extend_mr(mr, length);
	CHECK(ret == err && errno == err, "%s: expected %s, got %s", what, err_name(err), err_name(ret));
	CHECK(why_reason() == reason, "%s: expected reason %u, got %u: %s", what, reason, why_reason(),
	      why_text());
	CHECK(mr->length == had, "%s: the length is %zu", what, mr->length);
}

/* A request between the peer's buffer and the region, which the peer names by @key. */
static void remote(enum ibv_wr_opcode opcode, uint32_t key, uint64_t addr, uint32_t len,
		   enum ibv_wc_status want)
{
	struct ibv_sge sge = pair_sge(&p, 0, 0, len);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	wr_remote(&wr, addr, key, 1);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, want);
	if (want == IBV_WC_SUCCESS)
		return;
	for (int i = 0; i < 2; i++)
		NEED_OK(qp_to_state(p.qp[i], IBV_QPS_RESET));
	pair_make_ready(&p);
}

/* The peer writes, reads and changes the last bytes of the region, and no byte behind it. */
static void reaches_end(uint32_t seed)
{
	uint64_t end = (uintptr_t)mr->addr + mr->length;
	uint8_t *last = (uint8_t *)(uintptr_t)end - LEN;
	uint64_t *word = (uint64_t *)((end & ~7ull) - 8);

	fill(p.buf[0], LEN, seed);
	remote(IBV_WR_RDMA_WRITE, mr->rkey, end - LEN, LEN, IBV_WC_SUCCESS);
	CHECK_BYTES(last, LEN, seed, "written to the end");
	memset(p.buf[0], 0, LEN);
	remote(IBV_WR_RDMA_READ, mr->rkey, end - LEN, LEN, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[0], LEN, seed, "read from the end");
	*word = 41;
	remote(IBV_WR_ATOMIC_FETCH_AND_ADD, mr->rkey, (uintptr_t)word, 8, IBV_WC_SUCCESS);
	CHECK(*word == 42, "the last word is %" PRIu64, *word);
	remote(IBV_WR_RDMA_WRITE, mr->rkey, end - LEN, LEN + 1, IBV_WC_REM_ACCESS_ERR);
	CHECK(!mem[end - (uintptr_t)mem], "the byte behind the region was written");
}

/* By bytes within a page, across pages, and by more pages than the table has room for. */
static void grows(void)
{
	static const size_t to[] = {
		FIRST, FIRST + 1, 3 * PAGE - 8, 3 * PAGE - 7, 4 * PAGE, 5 * PAGE, 7 * PAGE + 11,
		100 * PAGE, 101 * PAGE, 102 * PAGE + 1, SPACE - PAGE,
	};
	long before;

	set_up(ALL_ACCESS);
	before = locked_kb();
	fill((uint8_t *)mr->addr, FIRST - LEN, 99);
	for (size_t i = 0; i < ARRAY_SIZE(to); i++) {
		extend(to[i]);
		reaches_end(i);
	}
	CHECK_BYTES((uint8_t *)mr->addr, FIRST - LEN, 99, "the former part");
	/* Each page is pinned once: three were pinned before. */
	CHECK(locked_kb() - before == (PAGES - 3) * 4, "%ld KiB more are pinned", locked_kb() - before);
	before = locked_kb();
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(before - locked_kb() == PAGES * 4, "%ld KiB are unpinned", before - locked_kb());
	memset(mem, 0, SPACE);
	mr = ibv_reg_mr(p.pd, mem + 8, FIRST, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	reaches_end(1);
	tear_down();
}

/* The address of requests is another one than that of the process. */
static void iova(void)
{
	const uint64_t at = 0x123400000008;

	set_up(ALL_ACCESS);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova2(p.pd, mem + 8, FIRST, at, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr_iova2");
	extend(9 * PAGE);
	fill(p.buf[0], LEN, 7);
	remote(IBV_WR_RDMA_WRITE, mr->rkey, at + 9 * PAGE - LEN, LEN, IBV_WC_SUCCESS);
	CHECK_BYTES(mem + 8 + 9 * PAGE - LEN, LEN, 7, "written to the end");
	remote(IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)mem + 8, LEN, IBV_WC_REM_ACCESS_ERR);
	tear_down();
}

/* The pages of each part are pinned again if they were not pinned for writing. */
static void access_later(void)
{
	set_up(ALL_ACCESS);
	/* The first part is pinned for writing, and the second one is not. */
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_READ),
	      "rereg_mr: %s", why_text());
	extend(20 * PAGE);
	remote(IBV_WR_RDMA_READ, mr->rkey, (uintptr_t)mr->addr + 19 * PAGE, LEN, IBV_WC_SUCCESS);
	remote(IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)mr->addr + 19 * PAGE, LEN,
	       IBV_WC_REM_ACCESS_ERR);
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS),
	      "rereg_mr: %s", why_text());
	reaches_end(3);
	extend(21 * PAGE);
	reaches_end(4);
	/* The part that is read-only for the process cannot become writable. */
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_READ),
	      "rereg_mr: %s", why_text());
	mprotect(mem + 22 * PAGE, PAGE, PROT_READ);
	extend(23 * PAGE - 8);
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS) && errno == EFAULT,
	      "read-only memory was registered for writing: %s", err_name(errno));
	tear_down();
}

static bool has_odp(void)
{
	struct ibv_device_attr_ex ex;
	struct test_dev dev;
	bool has;

	dev_open(&dev);
	NEED_OK(ibv_query_device_ex(dev.ctx, NULL, &ex));
	has = ex.odp_caps.general_caps & IBV_ODP_SUPPORT;
	if (!has)
		printf("# the kernel has no on-demand paging\n");
	dev_close(&dev);
	return has;
}

/* Pages on demand are not pinned, so only the range grows. */
static void on_demand(void)
{
	long before;

	if (!has_odp())
		return;
	set_up(ALL_ACCESS);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	before = locked_kb();
	mr = ibv_reg_mr(p.pd, mem + 8, FIRST, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	NEED_PTR(mr, "reg_mr");
	reaches_end(1);
	extend(40 * PAGE);
	reaches_end(2);
	CHECK(locked_kb() == before, "%ld KiB are pinned", locked_kb() - before);
	refuse(1ul << 45, EINVAL, UNIV_REASON_LIMIT, "more than max_mr_size");
	tear_down();
}

/* ---- refusals ------------------------------------------------------------------- */

static void refused(void)
{
	struct ibv_alloc_dm_attr dma = { .length = 4096 };
	struct ibv_mr *own;
	struct ibv_dm *dm;

	set_up(ALL_ACCESS);
	refuse(FIRST - 1, EINVAL, UNIV_REASON_MR_SHRINK, "fewer bytes");
	CHECK(why_value() == FIRST - 1 && why_bound() == FIRST, "%s", why_text());
	refuse(0, EINVAL, UNIV_REASON_MR_SHRINK, "no bytes");
	refuse(SIZE_MAX, EINVAL, UNIV_REASON_ADDRESS_WRAP, "2^64 - 1 bytes");
	refuse(1ul << 45, EINVAL, UNIV_REASON_LIMIT, "more than max_mr_size");
	munmap(mem + 6 * PAGE, PAGE);
	extend(6 * PAGE - 8);
	refuse(6 * PAGE - 7, EFAULT, UNIV_REASON_ADDRESS, "a byte of a hole");
	refuse(8 * PAGE, EFAULT, UNIV_REASON_ADDRESS, "a hole");
	remote(IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)mem + 6 * PAGE - LEN, LEN, IBV_WC_SUCCESS);
	remote(IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)mem + 6 * PAGE - LEN, LEN + 1,
	       IBV_WC_REM_ACCESS_ERR);

	own = mr;
	dm = ibv_alloc_dm(p.dev.ctx, &dma);
	NEED_PTR(dm, "alloc_dm");
	mr = ibv_reg_dm_mr(p.pd, dm, 0, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
	NEED_PTR(mr, "reg_dm_mr");
	refuse(128, EOPNOTSUPP, UNIV_REASON_MR_KIND, "a region of device memory");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_free_dm(dm), 0);
	mr = ibv_alloc_null_mr(p.pd);
	NEED_PTR(mr, "alloc_null_mr");
	refuse(4096, EOPNOTSUPP, UNIV_REASON_MR_KIND, "a null region");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	mr = own;
	mr->handle += 77777;
	refuse(9 * PAGE, EINVAL, UNIV_REASON_HANDLE, "a region that does not exist");
	mr->handle -= 77777;
	tear_down();
}

/* The child's call does not lengthen the region over more memory of its owner, either. */
static void in_another_process(int access)
{
	int status;
	pid_t pid;

	set_up(access);
	pid = fork();
	if (!pid) {
		test_failures = 0;
		refuse(9 * PAGE, EPERM, UNIV_REASON_MR_OWNER, "a child");
		refuse(FIRST + 1, EPERM, UNIV_REASON_MR_OWNER, "a child, within a page");
		exit(test_failures ? 1 : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "the child: status %#x", status);
	remote(IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)mr->addr + FIRST, 8, IBV_WC_REM_ACCESS_ERR);
	extend(9 * PAGE);
	reaches_end(1);
	tear_down();
}

/* The memory at the same address of another process does not become a part of the region. */
static void another_process(void)
{
	in_another_process(ALL_ACCESS);
	if (has_odp())
		in_another_process(ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
}

#define LIMIT 40

static void memlock_child(void)
{
	long before;

	set_up(ALL_ACCESS);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	drop_ipc_lock();
	before = locked_kb();
	set_limit(before * 1024 + LIMIT * PAGE);
	mr = ibv_reg_mr(p.pd, mem + 8, FIRST, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	extend(LIMIT * PAGE - 8);
	CHECK(locked_kb() - before == LIMIT * 4, "%ld KiB are accounted", locked_kb() - before);
	refuse(LIMIT * PAGE - 7, ENOMEM, UNIV_REASON_MEMLOCK, "a byte more");
	CHECK(why_value() == PAGE && !why_bound(), "asked %" PRIu64 ", left %" PRIu64, why_value(),
	      why_bound());
	CHECK(locked_kb() - before == LIMIT * 4, "a refused extension was accounted");
	reaches_end(1);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(locked_kb() == before, "%ld KiB are still accounted", locked_kb() - before);
	mr = ibv_reg_mr(p.pd, mem + 8, FIRST, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	tear_down();
}

static void memlock(void)
{
	in_child(memlock_child);
}

/* ---- traffic -------------------------------------------------------------------- */

static size_t known;	/* The region has so many bytes: the call has returned. */
static bool stop;
static unsigned long bad, done[2];

static bool finished(struct ibv_cq *cq, int i, const char *what)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	if (wait_wc(cq, &wc, WC_TIMEOUT) == 1 && wc.status == IBV_WC_SUCCESS) {
		done[i]++;
		return true;
	}
	__atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
	FAIL("%s: %s", what, ibv_wc_status_str(wc.status));
	return false;
}

static size_t known_now(void)
{
	return __atomic_load_n(&known, __ATOMIC_ACQUIRE);
}

/* The peer writes, reads and adds at the end of the region, and writes through a window. */
static void *peer(void *arg)
{
	struct ibv_mw *mw = arg;
	struct ibv_sge sge = pair_sge(&p, 0, 0, LEN);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED };
	uint64_t at;

	for (int n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++) {
		at = (uintptr_t)mr->addr + known_now() - LEN;
		sge.length = LEN;
		wr.opcode = n % 4 == 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
		wr.wr.rdma.rkey = mr->rkey;
		wr.wr.rdma.remote_addr = at;
		if (n % 4 == 2) {
			wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
			sge.length = 8;
			wr.wr.atomic.remote_addr = at & ~7ull;
			wr.wr.atomic.rkey = mr->rkey;
			wr.wr.atomic.compare_add = 1;
		} else if (n % 4 == 3) {
			wr.wr.rdma.rkey = mw->rkey;
			wr.wr.rdma.remote_addr = (uintptr_t)mr->addr + PAGE;
		}
		if (!CHECK(!post_one(&p, 0, &wr), "post") || !finished(p.cq[0], 0, "the peer"))
			break;
	}
	return NULL;
}

/* The owner sends from two places of the region in one request. */
static void *owner(void *arg)
{
	struct ibv_sge sge[2] = { { .lkey = mr->lkey, .length = LEN }, { .lkey = mr->lkey, .length = LEN } };
	struct ibv_send_wr wr = {
		.sg_list = sge, .num_sge = 2, .send_flags = IBV_SEND_SIGNALED, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)p.buf[0] + 65536, p.mr->rkey },
	};

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		sge[0].addr = (uintptr_t)mr->addr + known_now() - LEN;
		sge[1].addr = (uintptr_t)mr->addr + 17;
		if (!CHECK(!post_one(&p, 1, &wr), "post") || !finished(p.cq[1], 1, "the owner"))
			break;
	}
	return NULL;
}

static struct ibv_mw *window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { mr, (uintptr_t)mr->addr + PAGE, PAGE, IBV_ACCESS_REMOTE_WRITE },
	};
	struct ibv_wc wc;

	NEED_PTR(mw, "alloc_mw");
	NEED_OK(ibv_bind_mw(p.qp[1], mw, &bind));
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	return mw;
}

/* Extend the region until it has all of the space; return the number of extensions. */
static int extend_all(uint64_t *random)
{
	int n;

	for (n = 0; mr->length < SPACE - 8; n++) {
		size_t more = 1 + rnd(random) % (3 * PAGE);

		extend(more < SPACE - 8 - mr->length ? mr->length + more : SPACE - 8);
		__atomic_store_n(&known, mr->length, __ATOMIC_RELEASE);
		sched_yield();
	}
	return n;
}

/* Another thread has extended the region further, and its call has returned first. */
static void overtaken(void)
{
	set_up(ALL_ACCESS);
	mr->length = 9 * PAGE;
	CHECK_ERR(univerbs_extend_mr(mr, 7 * PAGE), 0);
	CHECK(mr->length == 9 * PAGE, "the length fell to %zu", mr->length);
	CHECK_ERR(univerbs_extend_mr(mr, 9 * PAGE), 0);
	extend(10 * PAGE);
	tear_down();
}

#define PARTS 4096
#define PARTS_SPACE ((PARTS + 2) * PAGE)

/* Each extension adds a part, up to a limit, and a re-registration makes one of them. */
static void parts(void)
{
	pair_open(&p, NULL);
	mem = mmap(NULL, PARTS_SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	mr = ibv_reg_mr(p.pd, mem, PAGE, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	for (size_t n = 2; n <= PARTS; n++)
		NEED_OK(univerbs_extend_mr(mr, n * PAGE));
	refuse((PARTS + 1) * PAGE, EINVAL, UNIV_REASON_LIMIT, "more parts");
	NEED_OK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem, PARTS * PAGE, 0));
	CHECK_ERR(univerbs_extend_mr(mr, (PARTS + 1) * PAGE), 0);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
	munmap(mem, PARTS_SPACE);
}

/* While the region is extended many times, no request fails. */
static void traffic(void)
{
	uint64_t random = rnd_seed();
	int rounds = test_rounds(6), extended = 0;
	pthread_t thread[2];
	struct ibv_mw *mw;

	done[0] = done[1] = bad = 0;
	for (int i = 0; i < rounds && !bad; i++) {
		set_up(ALL_ACCESS | IBV_ACCESS_MW_BIND);
		mw = window();
		known = FIRST;
		stop = false;
		NEED(!pthread_create(&thread[0], NULL, peer, mw), "pthread_create");
		NEED(!pthread_create(&thread[1], NULL, owner, NULL), "pthread_create");
		extended += extend_all(&random);
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		for (int k = 0; k < 2; k++)
			pthread_join(thread[k], NULL);
		CHECK_ERR(ibv_dereg_mr(mr), EBUSY);
		CHECK_ERR(ibv_dealloc_mw(mw), 0);
		tear_down();
	}
	CHECK(done[0] > 20 && done[1] > 20, "%lu and %lu requests", done[0], done[1]);
	printf("# extended %d times during %lu and %lu requests\n", extended, done[0], done[1]);
}

/* ---- races ---------------------------------------------------------------------- */

/* The handle, which replace() changes meanwhile. */
static uint32_t handle_now(void)
{
	return __atomic_load_n(&mr->handle, __ATOMIC_RELAXED);
}

static void *grower(void *arg)
{
	struct univ_mr_extend cmd = { 0 };
	uint64_t random = (uintptr_t)arg;
	int err;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		cmd.handle = handle_now();
		cmd.length = FIRST + rnd(&random) % (SPACE - FIRST - 8);
		err = raw_call(p.dev.ctx->cmd_fd, UNIV_MR_EXTEND, &cmd);
		if (!CHECK(!err || err == EBUSY || err == EINVAL, "an extension: %s", err_name(err)))
			break;
	}
	return NULL;
}

static void *changer(void *arg)
{
	struct univ_mr_rereg cmd;
	int err;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		cmd = (struct univ_mr_rereg){
			.handle = handle_now(), .change = IBV_REREG_MR_CHANGE_TRANSLATION,
			.addr = (uintptr_t)mem + 8, .iova = (uintptr_t)mem + 8, .length = FIRST,
		};
		err = raw_call(p.dev.ctx->cmd_fd, UNIV_MR_REREG, &cmd);
		if (!CHECK(!err || err == EBUSY || err == EINVAL, "a change: %s", err_name(err)))
			break;
	}
	return NULL;
}

/* Deregister and register the region once; with a bound window the first call fails. */
static void replace(bool bound)
{
	struct univ_destroy cmd = { .handle = mr->handle };
	struct univ_mr_reg reg = {
		.pd = p.pd->handle, .access = ALL_ACCESS | IBV_ACCESS_MW_BIND,
		.addr = (uintptr_t)mem + 8, .iova = (uintptr_t)mem + 8, .length = FIRST,
	};
	struct ibv_mw *mw;

	if (bound) {
		mw = window();
		CHECK_ERR(raw_call(p.dev.ctx->cmd_fd, UNIV_MR_DEREG, &cmd), EBUSY);
		CHECK_ERR(ibv_dealloc_mw(mw), 0);
	}
	NEED_OK(raw_call(p.dev.ctx->cmd_fd, UNIV_MR_DEREG, &cmd));
	NEED_OK(raw_call(p.dev.ctx->cmd_fd, UNIV_MR_REG, &reg));
	mr->lkey = reg.lkey;
	mr->rkey = reg.rkey;
	__atomic_store_n(&mr->handle, reg.handle, __ATOMIC_RELAXED);
}

/* Two threads extend the region, and @third does something else, while it is deregistered. */
static void race(void *(*third)(void *), bool bound)
{
	pthread_t thread[3];
	int rounds = 0;
	uint64_t end;
	long before;

	set_up(ALL_ACCESS | IBV_ACCESS_MW_BIND);
	before = locked_kb();
	stop = false;
	NEED(!pthread_create(&thread[0], NULL, grower, (void *)1), "pthread_create");
	NEED(!pthread_create(&thread[1], NULL, grower, (void *)2), "pthread_create");
	NEED(!pthread_create(&thread[2], NULL, third, (void *)3), "pthread_create");
	for (end = deadline_ms(1500); now_ns() < end; rounds++)
		replace(bound);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	replace(false);
	CHECK(locked_kb() == before, "%ld KiB too many are pinned", locked_kb() - before);
	printf("# deregistered %d times\n", rounds);
	tear_down();
}

static void against_changes(void)
{
	race(changer, false);
}

static void against_windows(void)
{
	race(grower, true);
}

static const struct test_case cases[] = {
	{ "grows", grows },
	{ "iova", iova },
	{ "access_later", access_later },
	{ "on_demand", on_demand },
	{ "refused", refused },
	{ "another_process", another_process },
	{ "memlock", memlock },
	{ "overtaken", overtaken },
	{ "parts", parts },
	{ "traffic", traffic },
	{ "against_changes", against_changes },
	{ "against_windows", against_windows },
};

TEST_MAIN("extend (adv14, adv15)", cases, 60)
