// SPDX-License-Identifier: GPL-2.0
/*
 * adv14, adv15. Memory that is registered again in the same protection domain is not pinned
 * again, unless its pages are no longer those of the process: each case changes the memory
 * while its pages are idle, and the device must then see the new memory.
 */
#include <sys/ioctl.h>
#include <linux/loop.h>
#include <infiniband/univerbs_verbs.h>

#include "memlock.h"
#include "raw.h"

#define PAGES 64
#define LEN (PAGES * PAGE)
#define KIB ((long)(LEN / 1024))
#define READ IBV_ACCESS_REMOTE_READ
#define LIMIT "/sys/module/uroce/parameters/pin_cache_mib"

static struct pair p;
static uint8_t *mem;
static long before;

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	NEED(f && fputs(text, f) >= 0 && !fclose(f), "%s: %s", path, err_name(errno));
}

static uint8_t *map_at(void *at)
{
	void *m = mmap(at, LEN, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	NEED(m != MAP_FAILED, "mmap: %s", err_name(errno));
	madvise(m, LEN, MADV_NOHUGEPAGE);
	return m;
}

static void set_up(void)
{
	write_file(LIMIT, "64");
	pair_open(&p, NULL);
	mem = map_at(NULL);
	before = locked_kb();
}

static void tear_down(void)
{
	munmap(mem, LEN);
	pair_close(&p);
}

static uint64_t hits(void)
{
	return hw_counter(dev_wanted(), "pins_reused");
}

static struct ibv_mr *reg_in(struct ibv_pd *pd, void *at, size_t length, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, at, length, access);

	NEED(mr, "reg_mr: %s; %s", err_name(errno), why_text());
	return mr;
}

static struct ibv_mr *reg(int access)
{
	return reg_in(p.pd, mem, LEN, access);
}

static void again_in(struct ibv_pd *pd, void *at, size_t length, int access)
{
	CHECK_ERR(ibv_dereg_mr(reg_in(pd, at, length, access)), 0);
}

static void unpinned_soon(const char *what)
{
	uint64_t end = deadline_ms(10000 * test_slowness());

	while (locked_kb() != before && now_ns() < end)
		sleep_ms(1);
	CHECK(locked_kb() == before, "%s: %ld KiB are still pinned", what, locked_kb() - before);
}

/* The second region of a range at the latest leaves its pages idle. */
static void make_idle(int access)
{
	unpinned_soon("former pages");
	for (int i = 0; i < 2 && locked_kb() == before; i++)
		again_in(p.pd, mem, LEN, access);
	CHECK(locked_kb() == before + KIB, "%ld KiB are idle", locked_kb() - before);
}

/* One request between the peer's buffer and the region. */
static void remote(const struct ibv_mr *mr, enum ibv_wr_opcode opcode, uint8_t *at, uint32_t len)
{
	struct ibv_sge sge = pair_sge(&p, 0, 0, len);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;

	wr_remote(&wr, (uintptr_t)at, mr->rkey, 0);
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
}

/* The device reads the bytes of the process, and the process those of the device. */
static void is_seen(const struct ibv_mr *mr, bool write, const char *what)
{
	uint8_t *at = mr->addr;

	if (write)
		fill(at, mr->length, 11);
	memset(p.buf[0], 0, mr->length);
	remote(mr, IBV_WR_RDMA_READ, at, mr->length);
	CHECK(!memcmp(p.buf[0], at, mr->length), "%s: the device reads other memory", what);
	if (!write)
		return;
	fill(p.buf[0], mr->length, 12);
	remote(mr, IBV_WR_RDMA_WRITE, at, mr->length);
	CHECK_BYTES(at, mr->length, 12, what);
}

/* Registers the memory, which has changed: there must be no hit. */
static void is_new(const char *what)
{
	uint64_t hit = hits();
	struct ibv_mr *mr = reg(ALL_ACCESS);

	CHECK(hits() == hit, "%s: the former pages were used again", what);
	is_seen(mr, true, what);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
}

/* ---- use ------------------------------------------------------------------------ */

static void used_again(void)
{
	struct ibv_mr *mr, *other;
	uint64_t hit = hits();
	uint32_t key;

	set_up();
	again_in(p.pd, mem, LEN, ALL_ACCESS);
	CHECK(locked_kb() == before, "pages are idle after one registration");
	make_idle(ALL_ACCESS);
	CHECK(hits() == hit, "a hit too early");
	for (int i = 0; i < 3; i++) {
		mr = reg(ALL_ACCESS);
		CHECK(hits() == ++hit, "no hit");
		is_seen(mr, true, "used again");
		CHECK(locked_kb() == before + KIB, "%ld KiB are pinned", locked_kb() - before);
		key = mr->rkey;
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	}
	/* Other bytes of the same pages, and a region beside it, which has pages of its own. */
	mr = reg_in(p.pd, mem + 100, LEN - 200, ALL_ACCESS);
	CHECK(hits() == ++hit, "no hit with other bytes");
	CHECK(mr->rkey != key, "the key was used again");
	is_seen(mr, true, "other bytes");
	other = reg(ALL_ACCESS);
	CHECK(hits() == hit, "pages that are in use were used again");
	is_seen(other, true, "two regions");
	is_seen(mr, false, "two regions");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_dereg_mr(other), 0);
	CHECK(locked_kb() == before + KIB, "%ld KiB are idle", locked_kb() - before);
	again_in(p.pd, mem, LEN, READ);
	CHECK(hits() == hit, "a region that reads got pages for writing");
	tear_down();
	CHECK(locked_kb() <= 0, "%ld KiB are pinned in the end", locked_kb());
}

/* A region of pages that were used again grows from its own first byte. */
static void extended(void)
{
	struct ibv_mr *mr;

	set_up();
	for (int i = 0; i < 3; i++)
		again_in(p.pd, mem + 8, 2 * PAGE - 8, ALL_ACCESS);
	mr = reg_in(p.pd, mem + 100, 2 * PAGE - 200, ALL_ACCESS);
	CHECK(locked_kb() == before + 2 * (long)PAGE / 1024, "the pages are not those");
	CHECK_ERR(univerbs_extend_mr(mr, 5 * PAGE - 50), 0);
	is_seen(mr, true, "extended");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(locked_kb() == before, "%ld KiB are pinned", locked_kb() - before);
	tear_down();
}

/* ---- changes of the memory ------------------------------------------------------ */

static void unmapped(void)
{
	set_up();
	make_idle(ALL_ACCESS);
	munmap(mem, LEN);
	unpinned_soon("munmap");
	map_at(mem);
	for (int i = 0; i < 5; i++) {
		is_new("munmap");
		munmap(mem, LEN);
		map_at(mem);
	}
	tear_down();
}

static void moved(void)
{
	uint8_t *to = map_at(NULL), *from;

	set_up();
	make_idle(ALL_ACCESS);
	from = mem;
	NEED(mremap(mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to, "mremap");
	map_at(from);
	is_new("the former address");
	munmap(from, LEN);
	mem = to;
	is_new("the new address");
	tear_down();
}

static void dropped(void)
{
	set_up();
	make_idle(ALL_ACCESS);
	NEED_OK(madvise(mem, LEN, MADV_DONTNEED));
	is_new("MADV_DONTNEED");
	unpinned_soon("MADV_DONTNEED");
	/* One page in the middle is enough. */
	make_idle(ALL_ACCESS);
	NEED_OK(madvise(mem + 7 * PAGE, PAGE, MADV_DONTNEED));
	is_new("MADV_DONTNEED of one page");
	tear_down();
}

/* The pages change while a region uses them, so they must not become idle. */
static void changed_in_use(void)
{
	struct ibv_mr *mr;

	set_up();
	again_in(p.pd, mem, LEN, ALL_ACCESS);
	mr = reg(ALL_ACCESS);
	NEED_OK(madvise(mem, LEN, MADV_DONTNEED));
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(locked_kb() == before, "stale pages are idle: %ld KiB", locked_kb() - before);
	is_new("changed in use");
	tear_down();
}

static void truncated(void)
{
	int fd = memfd_create("pages", 0);

	set_up();
	NEED(fd >= 0 && !ftruncate(fd, LEN), "memfd_create");
	NEED(mmap(mem, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == mem, "mmap");
	make_idle(ALL_ACCESS);
	NEED_OK(ftruncate(fd, 0));
	NEED_OK(ftruncate(fd, LEN));
	is_new("ftruncate");
	NEED_OK(ftruncate(fd, 0));
	CHECK_NULL(ibv_reg_mr(p.pd, mem, LEN, ALL_ACCESS), EFAULT);
	unpinned_soon("ftruncate");
	close(fd);
	tear_down();
}

/* The memory of a loop device is written back like that of a file on a disk. */
static int open_disk(char *path, size_t size)
{
	int control, number = -1, fd = memfd_create("disk", 0), disk;

	NEED(fd >= 0 && !ftruncate(fd, LEN), "memfd_create");
	if (system("modprobe loop 2>/dev/null"))
		printf("note: no module of loop devices\n");
	control = open("/dev/loop-control", O_RDWR);
	if (control >= 0)
		number = ioctl(control, LOOP_CTL_GET_FREE);
	snprintf(path, size, "/dev/loop%d", number);
	disk = number < 0 ? -1 : open(path, O_RDWR);
	if (disk >= 0)
		NEED_OK(ioctl(disk, LOOP_SET_FD, fd));
	close(control);
	close(fd);
	return disk;
}

static void on_disk(void)
{
	char path[32];
	int disk = open_disk(path, sizeof(path));
	struct ibv_mr *mr;

	if (disk < 0) {
		printf("note: no loop device: %s\n", err_name(errno));
		return;
	}
	set_up();
	NEED(mmap(mem, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, disk, 0) == mem, "mmap");
	mr = ibv_reg_mr(p.pd, mem, LEN, ALL_ACCESS);
	/* Since Linux 6.5 it cannot be registered. */
	for (int i = 0; i < 4 && mr; i++) {
		CHECK_ERR(ibv_dereg_mr(mr), 0);
		CHECK(locked_kb() == before, "memory of a disk is idle");
		mr = reg(ALL_ACCESS);
	}
	if (mr)
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	make_idle(READ);
	tear_down();
	NEED_OK(ioctl(disk, LOOP_CLR_FD, 0));
	close(disk);
}

static void protected(void)
{
	set_up();
	make_idle(ALL_ACCESS);
	NEED_OK(mprotect(mem, LEN, PROT_READ));
	CHECK_NULL(ibv_reg_mr(p.pd, mem, LEN, ALL_ACCESS), EFAULT);
	/* Pages that are idle for reading do not serve a region that writes. */
	make_idle(READ);
	CHECK_NULL(ibv_reg_mr(p.pd, mem, LEN, ALL_ACCESS), EFAULT);
	NEED_OK(mprotect(mem, LEN, PROT_READ | PROT_WRITE));
	is_new("mprotect");
	tear_down();
}

/* Memory with a protection key is not kept, not even if it gets the key while it is idle. */
static void keyed(void)
{
	int key = pkey_alloc(0, 0);
	struct ibv_mr *mr;

	if (key < 0) {
		printf("note: no protection keys: %s\n", err_name(errno));
		return;
	}
	set_up();
	make_idle(ALL_ACCESS);
	NEED_OK(pkey_mprotect(mem, LEN, PROT_READ | PROT_WRITE, key));
	is_new("pkey_mprotect");
	unpinned_soon("pkey_mprotect");
	for (int i = 0; i < 4; i++) {
		again_in(p.pd, mem, LEN, ALL_ACCESS);
		CHECK(locked_kb() == before, "memory with a key is idle");
	}
	pkey_set(key, PKEY_DISABLE_ACCESS);
	CHECK_NULL(ibv_reg_mr(p.pd, mem, LEN, ALL_ACCESS), EFAULT);
	pkey_set(key, 0);
	/* The key comes while a region uses the pages, which are then not kept. */
	NEED_OK(pkey_mprotect(mem, LEN, PROT_READ | PROT_WRITE, 0));
	again_in(p.pd, mem, LEN, ALL_ACCESS);
	mr = reg(ALL_ACCESS);
	NEED_OK(pkey_mprotect(mem, LEN, PROT_READ | PROT_WRITE, key));
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(locked_kb() == before, "memory that got a key is idle");
	tear_down();
	pkey_free(key);
}

/* Where a tagged address can be registered (arm64), the kernel tells nothing about it. */
static void tagged(void)
{
	struct ibv_mr *mr;
	uint8_t *at;

	set_up();
	at = (uint8_t *)((uintptr_t)mem | 1ull << 56);
	mr = ibv_reg_mr(p.pd, at, LEN, ALL_ACCESS);
	for (int i = 0; i < 4 && mr; i++) {
		CHECK_ERR(ibv_dereg_mr(mr), 0);
		CHECK(locked_kb() == before, "memory with a tagged address is idle");
		mr = reg_in(p.pd, at, LEN, ALL_ACCESS);
	}
	if (mr)
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	tear_down();
}

static int child(uint8_t *own)
{
	long had = locked_kb();
	struct ibv_mr *mr;

	for (int i = 0; i < 4; i++) {
		mr = ibv_reg_mr(p.pd, own, LEN, ALL_ACCESS);
		if (!mr || locked_kb() != had + KIB) {
			printf("the child has %ld KiB more pinned\n", locked_kb() - had);
			return 1;
		}
		ibv_dereg_mr(mr);
	}
	return locked_kb() != had;
}

/*
 * After fork() one of the two processes gets new pages at its next write. The child uses the
 * same protection domain and the same addresses, and gets pages of its own.
 */
static void forked(void)
{
	uint64_t hit;
	int status;
	pid_t pid;

	set_up();
	memset(mem, 1, LEN);
	make_idle(ALL_ACCESS);
	hit = hits();
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(child(mem));
	memset(mem, 2, LEN);
	is_new("fork");
	NEED(waitpid(pid, &status, 0) == pid, "waitpid");
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "the child: status %#x", status);
	CHECK(hits() == hit, "the child got pages of its parent");
	tear_down();
}

/* ---- limits --------------------------------------------------------------------- */

/* Idle pages of any domain of the process make way for memory that is registered. */
static void makes_way(void)
{
	uint8_t *other = map_at(NULL);
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	set_up();
	pd = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	drop_ipc_lock();
	set_limit((before + KIB + KIB / 2) * 1024);
	make_idle(ALL_ACCESS);
	mr = reg_in(p.pd, other, LEN, ALL_ACCESS);
	is_seen(mr, true, "makes way");
	CHECK_NULL(ibv_reg_mr(p.pd, mem, LEN, ALL_ACCESS), ENOMEM);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	make_idle(ALL_ACCESS);
	CHECK_ERR(ibv_dereg_mr(reg_in(pd, other, LEN, ALL_ACCESS)), 0);
	/* Pages that became stale just now are charged no longer. */
	for (int i = 0; i < 20; i++) {
		make_idle(ALL_ACCESS);
		munmap(mem, LEN);
		CHECK_ERR(ibv_dereg_mr(reg_in(pd, other, LEN, ALL_ACCESS)), 0);
		map_at(mem);
		write_file(LIMIT, "64");
		unpinned_soon("a write to the parameter");
	}
	/* A limit that was lowered holds for idle pages too. */
	again_in(p.pd, mem, LEN, ALL_ACCESS);
	again_in(p.pd, mem, LEN, ALL_ACCESS);
	set_limit(0);
	CHECK_NULL(ibv_reg_mr(p.pd, mem, LEN, ALL_ACCESS), EPERM);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	tear_down();
}

static void memlock(void)
{
	in_child(makes_way);
}

/*
 * Each thread registers memory of its own, in a domain that ends meanwhile or in one that all
 * share. The limit is what they have registered at the same time, so none of them fails.
 */
#define RACERS 4

static volatile bool ended;

static void *fills(void *arg)
{
	uint8_t *own = map_at(NULL);
	struct ibv_pd *pd = p.pd;

	for (int i = 0; !ended; i++) {
		if (arg && i % 4 == 0) {
			pd = ibv_alloc_pd(p.dev.ctx);
			NEED_PTR(pd, "alloc_pd");
		}
		again_in(pd, own, LEN - i / 2 % 3 * PAGE, ALL_ACCESS);
		if (arg && i % 4 == 3)
			CHECK_ERR(ibv_dealloc_pd(pd), 0);
	}
	return NULL;
}

static void fill_up(void)
{
	pthread_t t[RACERS];

	set_up();
	drop_ipc_lock();
	set_limit((before + RACERS * KIB) * 1024);
	for (long i = 0; i < RACERS; i++)
		NEED_OK(pthread_create(&t[i], NULL, fills, i & 1 ? &t[i] : NULL));
	sleep_ms(5000);
	ended = true;
	for (int i = 0; i < RACERS; i++)
		pthread_join(t[i], NULL);
}

static void crowded(void)
{
	in_child(fill_up);
}

static void bounded(void)
{
	size_t part = 512 << 10;
	uint8_t *m = mmap(NULL, 4 * part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(m != MAP_FAILED, "mmap");
	set_up();
	write_file(LIMIT, "1");
	for (int i = 0; i < 8; i++)
		again_in(p.pd, m + i / 2 * part, part, ALL_ACCESS);
	CHECK(locked_kb() == before + 1024, "%ld KiB are idle", locked_kb() - before);
	for (int i = 0; i < 4; i++)
		again_in(p.pd, m, 4 * part, ALL_ACCESS);
	CHECK(locked_kb() == before + 1024, "%ld KiB are idle", locked_kb() - before);
	tear_down();
	munmap(m, 4 * part);
}

static void off(void)
{
	uint64_t hit;

	set_up();
	make_idle(ALL_ACCESS);
	hit = hits();
	write_file(LIMIT, "0");
	unpinned_soon("the parameter 0");
	for (int i = 0; i < 5; i++) {
		again_in(p.pd, mem, LEN, ALL_ACCESS);
		CHECK(locked_kb() == before, "%ld KiB are idle", locked_kb() - before);
	}
	CHECK(hits() == hit, "a hit");
	write_file(LIMIT, "64");
	tear_down();
}

static void pressure(void)
{
	set_up();
	make_idle(ALL_ACCESS);
	/* Calls every shrinker. */
	write_file("/proc/sys/vm/drop_caches", "2");
	unpinned_soon("pressure");
	is_new("pressure");
	tear_down();
}

/* ---- lifetimes ------------------------------------------------------------------ */

/* A region leaves the domain in which its pages may become idle, which then ends. */
static void domain_ends(void)
{
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	set_up();
	pd = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	for (int i = 0; i < 3; i++)
		again_in(pd, mem, LEN, ALL_ACCESS);
	CHECK(locked_kb() == before + KIB, "nothing is idle");
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	CHECK(locked_kb() == before, "pages outlive their domain");
	pd = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	again_in(pd, mem, LEN, ALL_ACCESS);
	mr = reg_in(pd, mem, LEN, ALL_ACCESS);
	CHECK(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, p.pd, NULL, 0, 0), "rereg_mr");
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	is_seen(mr, true, "another domain");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK(locked_kb() == before, "%ld KiB are pinned", locked_kb() - before);
	tear_down();
}

/* Pages of all processes that are pinned, as the kernel counts them. */
static long pins_alive(void)
{
	long acquired = 0, released = 0;
	char line[128];
	FILE *f = fopen("/proc/sys/vm/stat_refresh", "r");

	/* Adds up what each processor has counted. */
	if (f) {
		while (fgets(line, sizeof(line), f))
			;
		fclose(f);
	}
	f = fopen("/proc/vmstat", "r");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "nr_foll_pin_acquired %ld", &acquired);
		sscanf(line, "nr_foll_pin_released %ld", &released);
	}
	if (f)
		fclose(f);
	return acquired - released;
}

/* A process ends, or executes another program, with idle pages. */
static void process_ends(void)
{
	uint64_t end = deadline_ms(10000 * test_slowness());
	long alive = pins_alive();
	int status;
	pid_t pid;

	for (int i = 0; i < 2; i++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			test_failures = 0;
			set_up();
			make_idle(ALL_ACCESS);
			if (i && !test_failures)
				execl("/bin/true", "true", (char *)NULL);
			_exit(!!test_failures);
		}
		NEED(waitpid(pid, &status, 0) == pid, "waitpid");
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "the child: status %#x", status);
		while (pins_alive() > alive && now_ns() < end)
			sleep_ms(10);
		CHECK(pins_alive() <= alive, "%ld pages more are pinned", pins_alive() - alive);
	}
}

static void *registers(void *arg)
{
	struct ibv_mr *mr;

	while (!ended) {
		mr = reg_in(p.pd, mem + (arg ? PAGE : 0), LEN - PAGE, arg ? READ : ALL_ACCESS);
		CHECK_ERR(ibv_dereg_mr(mr), 0);
	}
	return NULL;
}

static void *changes(void *arg)
{
	(void)arg;
	for (int i = 0; !ended; i++) {
		madvise(mem + i % PAGES * PAGE, PAGE, MADV_DONTNEED);
		if (i % 4 == 3)
			write_file(LIMIT, "64");
		if (i % 64 == 63)
			map_at(mem);
		sleep_ms(i % 3);
	}
	return NULL;
}

/* Threads register the same and overlapping ranges while the memory changes. */
static void threads(void)
{
	pthread_t t[5];

	set_up();
	ended = false;
	for (int i = 0; i < 5; i++)
		NEED_OK(pthread_create(&t[i], NULL, i == 4 ? changes : registers,
				       i & 1 ? &t[i] : NULL));
	sleep_ms(3000);
	ended = true;
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 3; i++)
		again_in(p.pd, mem, LEN, ALL_ACCESS);
	NEED_OK(madvise(mem, LEN, MADV_DONTNEED));
	is_new("after the threads");
	tear_down();
	CHECK(locked_kb() <= 0, "%ld KiB are pinned in the end", locked_kb());
}

static const struct test_case cases[] = {
	{ "used_again", used_again },
	{ "extended", extended },
	{ "unmapped", unmapped },
	{ "moved", moved },
	{ "dropped", dropped },
	{ "changed_in_use", changed_in_use },
	{ "truncated", truncated },
	{ "on_disk", on_disk },
	{ "protected", protected },
	{ "keyed", keyed },
	{ "tagged", tagged },
	{ "forked", forked },
	{ "memlock", memlock },
	{ "crowded", crowded },
	{ "bounded", bounded },
	{ "off", off },
	{ "pressure", pressure },
	{ "domain_ends", domain_ends },
	{ "process_ends", process_ends },
	{ "threads", threads },
};

TEST_MAIN("pin_cache", cases, 40)
