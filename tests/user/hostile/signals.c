// SPDX-License-Identifier: GPL-2.0
/*
 * adv30. Signals arrive during long registrations. Each registration succeeds, or fails
 * with EINTR and leaves nothing pinned. A registration that is killed leaves nothing pinned
 * either.
 */
#include <sys/prctl.h>
#include <sys/time.h>
#include "raw.h"

#define BIG (48ul << 20)

static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

/* Omit SA_RESTART, so that interruptible calls return EINTR. */
static void storm_begin(void)
{
	struct sigaction act = { .sa_handler = tick };
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } };

	ticks = 0;
	NEED(!sigaction(SIGPROF, &act, NULL), "sigaction: %s", err_name(errno));
	NEED(!setitimer(ITIMER_PROF, &often, NULL), "setitimer: %s", err_name(errno));
}

static void storm_end(void)
{
	struct itimerval never = { 0 };

	NEED(!setitimer(ITIMER_PROF, &never, NULL), "setitimer: %s", err_name(errno));
}

static long pinned_kib(void)
{
	char line[128];
	long pin = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld", &pin);
	if (f)
		fclose(f);
	return pin;
}

/* Return untouched memory, so that the call must fault in each page. */
static void *fresh_memory(void)
{
	void *mem = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	return mem;
}

static int big_reg(int fd, uint32_t pd, void *mem, uint32_t *handle)
{
	struct univ_mr_reg arg = {
		.pd = pd, .access = ALL_ACCESS, .length = BIG,
		.addr = (uintptr_t)mem, .iova = (uintptr_t)mem,
	};
	int err = raw_call(fd, UNIV_MR_REG, &arg);

	*handle = arg.handle;
	return err;
}

/* Return whether the registration was interrupted. */
static bool big_round(int fd, uint32_t pd)
{
	void *mem = fresh_memory();
	uint32_t handle;
	int err = big_reg(fd, pd, mem, &handle);

	CHECK(!err || err == EINTR, "a registration under signals: %s", err_name(err));
	if (!err) {
		CHECK(pinned_kib() >= (long)(BIG >> 10), "%ld KiB are pinned", pinned_kib());
		CHECK_ERR(raw_destroy(fd, UNIV_MR_DEREG, handle), 0);
	}
	CHECK(!pinned_kib(), "%ld KiB are still pinned", pinned_kib());
	munmap(mem, BIG);
	return err == EINTR;
}

static void in_registrations(void)
{
	int fd = raw_open(), interrupted = 0, rounds = test_rounds(20);
	uint32_t pd = raw_pd(fd);

	storm_begin();
	for (int i = 0; i < rounds; i++)
		interrupted += big_round(fd, pd);
	storm_end();
	CHECK(ticks > rounds, "%d signals came in %d rounds", (int)ticks, rounds);
	printf("%d of %d registrations were interrupted by %d signals\n", interrupted, rounds,
	       (int)ticks);
	/* A leftover region would make this EBUSY. */
	CHECK_ERR(raw_destroy(fd, UNIV_PD_DEALLOC, pd), 0);
	close(fd);
}

/* Create all other kinds of objects under signals. */
static void in_creations(void)
{
	struct univ_channel_create channel = { 0 };
	struct univ_qp_attr attr;
	struct raw_cq cq;
	struct raw_qp qp;
	int fd = raw_open();
	uint32_t pd;

	storm_begin();
	for (int i = 0; i < test_rounds(200); i++) {
		pd = raw_pd(fd);
		NEED_OK(raw_call(fd, UNIV_CHANNEL_CREATE, &channel));
		raw_cq(fd, &cq, 4096, channel.fd);
		raw_qp(fd, &qp, IBV_QPT_RC, pd, cq.handle, 0);
		raw_attr_init(&attr, IBV_QPT_RC);
		CHECK_ERR(raw_modify(fd, qp.handle, &attr), 0);
		CHECK_ERR(raw_destroy(fd, UNIV_QP_DESTROY, qp.handle), 0);
		CHECK_ERR(raw_destroy(fd, UNIV_CQ_DESTROY, cq.handle), 0);
		CHECK_ERR(raw_destroy(fd, UNIV_PD_DEALLOC, pd), 0);
		raw_unmap(&qp.map);
		raw_unmap(&cq.map);
		close(channel.fd);
	}
	storm_end();
	close(fd);
}

/* ---- SIGKILL -------------------------------------------------------------- */

static long vmstat(const char *name)
{
	char word[64];
	long value;
	FILE *f = fopen("/proc/vmstat", "r");

	while (f && fscanf(f, "%63s %ld", word, &value) == 2)
		if (!strcmp(word, name)) {
			fclose(f);
			return value;
		}
	if (f)
		fclose(f);
	return -1;
}

/* Poll, because the kernel sums its per-CPU counters only now and then. */
static bool all_unpinned(void)
{
	uint64_t end = deadline_ms(15000 * test_slowness());

	while (now_ns() < end) {
		if (vmstat("nr_foll_pin_acquired") == vmstat("nr_foll_pin_released"))
			return true;
		sleep_ms(50);
	}
	return false;
}

static void register_for_ever(void)
{
	int fd = raw_open();
	uint32_t pd = raw_pd(fd), handle;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		void *mem = fresh_memory();

		if (!big_reg(fd, pd, mem, &handle))
			raw_destroy(fd, UNIV_MR_DEREG, handle);
		munmap(mem, BIG);
	}
}

static void killed_in_it(void)
{
	uint64_t seed = rnd_seed();
	int status;
	pid_t pid;

	for (int i = 0; i < test_rounds(20); i++) {
		pid = fork();
		if (!pid)
			register_for_ever();
		NEED(pid > 0, "fork: %s", err_name(errno));
		sleep_ms(20 + rnd(&seed) % 150);
		kill(pid, SIGKILL);
		NEED(waitpid(pid, &status, 0) == pid, "waitpid: %s", err_name(errno));
	}
	CHECK(all_unpinned(), "pages of the killed are pinned: %ld were, %ld are not any more",
	      vmstat("nr_foll_pin_acquired"), vmstat("nr_foll_pin_released"));
}

static const struct test_case cases[] = {
	{ "in_registrations", in_registrations },
	{ "in_creations", in_creations },
	{ "killed_in_it", killed_in_it },
};

TEST_MAIN("signals (adv30)", cases, 60)
