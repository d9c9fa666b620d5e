// SPDX-License-Identifier: GPL-2.0
/*
 * adv14, adv15. Idle pages, which uroce keeps pinned for another registration, have limits and
 * an end: they never take the charge from memory that is registered, they are bounded, and they
 * are unpinned when memory is short and when their domain or their process ends.
 */
#include <infiniband/univerbs_verbs.h>

#include "pins.h"

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

static _Atomic bool ended;

static void *fills(void *arg)
{
	uint8_t *own = map_at(NULL);
	struct ibv_pd *pd = p.pd;
	int i;

	for (i = 0; !ended; i++) {
		if (arg && i % 4 == 0) {
			pd = ibv_alloc_pd(p.dev.ctx);
			NEED_PTR(pd, "alloc_pd");
		}
		again_in(pd, own, LEN - i / 2 % 3 * PAGE, ALL_ACCESS);
		if (arg && i % 4 == 3)
			CHECK_ERR(ibv_dealloc_pd(pd), 0);
	}
	if (arg && i % 4)
		CHECK_ERR(ibv_dealloc_pd(pd), 0);
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

/* A domain keeps at most 256 parts, however short they are. */
static void in_parts(void)
{
	const long most = 256 * (long)PAGE / 1024;
	const size_t parts = 300;
	uint8_t *m = mmap(NULL, parts * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t end;

	NEED(m != MAP_FAILED, "mmap");
	madvise(m, parts * PAGE, MADV_NOHUGEPAGE);
	set_up();
	for (size_t i = 0; i < 2 * parts; i++)
		again_in(p.pd, m + i / 2 * PAGE, PAGE, ALL_ACCESS);
	end = deadline_ms(WC_TIMEOUT);
	while (locked_kb() > before + most && now_ns() < end)
		sleep_ms(1);
	CHECK(locked_kb() == before + most, "%ld KiB are idle instead of %ld", locked_kb() - before, most);
	tear_down();
	munmap(m, parts * PAGE);
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

static const struct test_case cases[] = {
	{ "memlock", memlock },
	{ "crowded", crowded },
	{ "bounded", bounded },
	{ "in_parts", in_parts },
	{ "off", off },
	{ "pressure", pressure },
	{ "domain_ends", domain_ends },
	{ "process_ends", process_ends },
};

TEST_MAIN("pin_limits", cases, 40)
