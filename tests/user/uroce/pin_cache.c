// SPDX-License-Identifier: GPL-2.0
/*
 * adv14, adv15. Memory that is registered again in the same protection domain is not pinned
 * again, unless its pages are no longer those of the process: each case changes the memory
 * while its pages are idle, and the device must then see the new memory.
 */
#include <sys/ioctl.h>
#include <linux/loop.h>
#include <infiniband/univerbs_verbs.h>

#include "pins.h"

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
	int control, number, fd = memfd_create("disk", 0), disk;

	NEED(fd >= 0 && !ftruncate(fd, LEN), "memfd_create");
	/* A kernel may have it built in. */
	if (system("modprobe -q loop"))
		printf("no module of loop devices\n");
	control = open("/dev/loop-control", O_RDWR);
	NEED(control >= 0, "loop-control: %s", err_name(errno));
	number = ioctl(control, LOOP_CTL_GET_FREE);
	snprintf(path, size, "/dev/loop%d", number);
	disk = open(path, O_RDWR);
	NEED(disk >= 0, "%s: %s", path, err_name(errno));
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
		CHECK(system("grep -qw ospke /proc/cpuinfo"), "pkey_alloc: %s", err_name(errno));
		printf("the processor has no protection keys\n");
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

/* ---- threads -------------------------------------------------------------------- */

static _Atomic bool ended;

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
	{ "threads", threads },
};

TEST_MAIN("pin_cache", cases, 40)
