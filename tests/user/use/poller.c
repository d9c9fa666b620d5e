// SPDX-License-Identifier: GPL-2.0
/*
 * The poller: UNIVERBS_POLL for programs with the library, UNIV_POLLER_START for programs
 * without it.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "raw.h"
#include "lasterror.h"
#include "rounds.h"

/* From now on the system call NUMBER has the action @equal, and any other the action @other. */
static void filter(uint32_t number, uint32_t equal, uint32_t other)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, equal),
		BPF_STMT(BPF_RET | BPF_K, other),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(2);
}

/*
 * First a filter drops the library's kicks. A round that completes all the same shows that
 * the poller serves both rings. From then on any system call but exit kills the process.
 * Waiting for some time would not be enough, since the poller may not get a processor for
 * that long.
 */
static void quiet_child(volatile int *rounds)
{
	struct pair p;
	int status = 0;

	setenv("UNIVERBS_POLL", "10000000", 1);
	pair_open(&p, NULL);
	alarm(60 * test_slowness());
	/* The preparation may have taken so long that the poller sleeps, so wake it. */
	if (one_round(&p))
		_exit(1);
	filter(SYS_ioctl, SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW);
	if (one_round(&p))
		_exit(1);
	filter(SYS_exit, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
	for (int i = 0; i < ROUNDS && !status; i++, ++*rounds)
		status = one_round(&p);
	syscall(SYS_exit, status);
}

/* Return the exit status. *@stood is the number of seconds without progress before the end. */
static int quiet_program(int *stood)
{
	int *rounds = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, seen = 0;
	uint64_t moved = now_ns();
	pid_t child;

	NEED(rounds != MAP_FAILED, "mmap");
	child = fork();
	if (!child)
		quiet_child(rounds);
	NEED(child > 0, "fork");
	while (!waitpid(child, &status, WNOHANG)) {
		if (__atomic_load_n(rounds, __ATOMIC_RELAXED) != seen) {
			seen = __atomic_load_n(rounds, __ATOMIC_RELAXED);
			moved = now_ns();
		}
		usleep(20000);
	}
	*stood = (int)((now_ns() - moved) / 1000000000);
	munmap(rounds, PAGE);
	return status;
}

/*
 * Posting sends and receives, polling and arming never enter the kernel. If ten seconds pass
 * without a request, the poller sleeps and needs a kick; so a program that did not get a
 * processor for so long tries again.
 */
static void no_system_calls(void)
{
	int status, stood, again;

	for (again = 0; again < 3; again++) {
		status = quiet_program(&stood);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS || stood < 8)
			break;
		printf("it stood still for %d s\n", stood);
	}
	repeated(again, "the program stood still");
	NEED(!WIFSIGNALED(status), "the program made a system call (signal %d)", WTERMSIG(status));
	CHECK(!WEXITSTATUS(status), "the messages did not all arrive");
}

/* ---- Sleeping and waking, as the rings show it --------------------------------------- */

static struct raw_env {
	int fd;
	uint32_t pd;
	struct raw_cq cq;
	struct raw_qp qp[2];
	struct raw_mr mr;
	uint8_t *mem;
} env;

static int poller_start(int fd, uint32_t idle_us)
{
	struct univ_poller_start arg = { .idle_us = idle_us };

	return raw_call(fd, UNIV_POLLER_START, &arg);
}

static void set_up(uint32_t idle_us)
{
	env.fd = raw_open();
	NEED_OK(poller_start(env.fd, idle_us));
	env.pd = raw_pd(env.fd);
	env.mem = aligned_alloc(PAGE, PAGE);
	env.mr = raw_mr(env.fd, env.pd, env.mem, PAGE, ALL_ACCESS);
	raw_cq(env.fd, &env.cq, 64, -1);
	for (int i = 0; i < 2; i++)
		raw_qp(env.fd, &env.qp[i], IBV_QPT_RC, env.pd, env.cq.handle, 0);
	raw_connect(env.fd, &env.qp[0], env.qp[1].qp_num);
	raw_connect(env.fd, &env.qp[1], env.qp[0].qp_num);
}

static void tear_down(void)
{
	for (int i = 0; i < 2; i++)
		raw_unmap(&env.qp[i].map);
	raw_unmap(&env.cq.map);
	close(env.fd);
	free(env.mem);
}

static bool asks_for_kick(void)
{
	return __atomic_load_n(&env.qp[0].sq.head->kernel.flags, __ATOMIC_ACQUIRE) &
	       UNIV_RING_NEED_KICK;
}

static bool soon(bool want)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);

	while (asks_for_kick() != want) {
		if (now_ns() > end)
			return false;
		usleep(1000);
	}
	return true;
}

/* Publish a write of zero bytes without a kick. */
static void publish_write_to(struct raw_qp *qp)
{
	struct univ_ring_head *head = qp->sq.head;
	uint32_t tail = head->user.index;
	struct univ_send_wr *wr = (void *)((uint8_t *)qp->sq.slots +
					   (size_t)(tail & (qp->sq.count - 1)) * qp->sq.stride);

	memset(wr, 0, sizeof(*wr));
	wr->wr_id = tail;
	wr->opcode = UNIV_WR_RDMA_WRITE;
	wr->flags = UNIV_WR_SIGNALED;
	__atomic_store_n(&head->user.index, tail + 1, __ATOMIC_RELEASE);
}

static void publish_write(void) { publish_write_to(&env.qp[0]); }

static bool completes(void)
{
	struct univ_cqe cqe;

	return raw_wait(&env.cq, &cqe, WC_TIMEOUT) && cqe.status == IBV_WC_SUCCESS;
}

/*
 * Use a very short or the maximum idle time, so that the result does not depend on a busy
 * machine.
 */
static void sleeps_and_wakes(void)
{
	set_up(0);
	CHECK(soon(true), "the poller of an idle program does not sleep");
	for (int i = 0; i < 5; i++) {
		NEED_OK(poller_start(env.fd, UNIV_POLLER_MAX_IDLE_US));
		publish_write();
		NEED_OK(raw_kick(env.fd, env.qp[0].handle, UNIV_KICK_SEND));
		CHECK(completes(), "a request after a sleep is lost");
		CHECK(soon(false), "the poller does not wake up by a kick");
		publish_write();
		CHECK(completes(), "a request to a poller that is awake is lost");
		CHECK(!asks_for_kick(), "the poller has not learned its new idle time");
		NEED_OK(poller_start(env.fd, 100));
		CHECK(soon(true), "the poller does not sleep again");
	}
	tear_down();
}

/*
 * Publish a request just when the poller falls asleep, with a kick only if the ring asks
 * for it, many times.
 */
static void falls_asleep(void)
{
	int rounds = test_rounds(5000);

	set_up(1);
	for (int i = 0; i < rounds; i++) {
		publish_write();
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (asks_for_kick())
			NEED_OK(raw_kick(env.fd, env.qp[0].handle, UNIV_KICK_SEND));
		if (!completes()) {
			FAIL("request %d was lost", i);
			break;
		}
		for (int j = 0; j < (i * 37) % 1500; j++)
			__asm__ volatile("" ::: "memory");
	}
	tear_down();
}

/*
 * One ring is in use for so long that the poller looks at all others less often: each
 * request takes a pass, and POLLER_EMPTY_TURNS of them are enough. Then each of the others
 * gets a request, without a kick.
 */
static void many_rings(void)
{
	struct raw_qp others[40];

	set_up(UNIV_POLLER_MAX_IDLE_US);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		raw_qp(env.fd, &others[i], IBV_QPT_RC, env.pd, env.cq.handle, 0);
		raw_connect(env.fd, &others[i], others[i].qp_num);
	}
	NEED_OK(raw_kick(env.fd, env.qp[0].handle, UNIV_KICK_SEND));
	CHECK(soon(false), "the poller sleeps");
	for (int i = 0; i < 1200; i++) {
		publish_write();
		NEED(completes(), "request %d of the ring in use is lost", i);
	}
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
			publish_write_to(&others[i]);
			CHECK(completes(), "round %d: the poller does not look at ring %zu", round, i);
		}
	}
	CHECK(!asks_for_kick(), "the poller has slept");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		raw_unmap(&others[i].map);
	tear_down();
}

/* The kernel thread of this process's poller, or 0. */
static pid_t poller_thread(void)
{
	char command[80];
	int thread = 0;
	FILE *found;

	snprintf(command, sizeof(command), "grep -ls '^univ-poll/%d$' /proc/[0-9]*/comm", getpid());
	found = popen(command, "r");
	NEED_PTR(found, "grep");
	if (fscanf(found, "/proc/%d", &thread) != 1)
		thread = 0;
	pclose(found);
	return thread;
}

static bool thread_exists(void)
{
	return poller_thread();
}

static void ends_with_its_context(void)
{
	set_up(0);
	CHECK(thread_exists(), "the poller is no kernel thread");
	tear_down();
	/* It leaves the list of processes a moment after its end. */
	for (int n = 0; n < 100 && thread_exists(); n++)
		sleep_ms(50);
	CHECK(!thread_exists(), "the thread is still there after the file was closed");
}

/* The script has set max_pollers to 2. */
static void too_many(void)
{
	int fd[3], err;

	for (int i = 0; i < 3; i++) {
		fd[i] = raw_open();
		err = poller_start(fd[i], 0);
		CHECK(err == (i < 2 ? 0 : EAGAIN), "poller %d: %s", i + 1, err_name(err));
	}
	close(fd[0]);
	CHECK_ERR(poller_start(fd[2], 0), 0);
	close(fd[1]);
	close(fd[2]);
}

/* A program that gets no poller works without it, and can ask for the reason. */
static void goes_without(void)
{
	int fd[2] = { raw_open(), raw_open() };
	struct pair p;

	NEED_OK(poller_start(fd[0], 0));
	NEED_OK(poller_start(fd[1], 0));
	setenv("UNIVERBS_POLL", "1", 1);
	pair_open(&p, NULL);
	CHECK(why_reason() == UNIV_REASON_LIMIT && strstr(why_text(), "max_pollers"),
	      "explained as: %s", why_text());
	CHECK(!one_round(&p), "it does not work without");
	pair_close(&p);
	close(fd[0]);
	close(fd[1]);
}

/* A process that is bound to one processor would wait for its poller's time slices. */
static void one_processor(void)
{
	struct pair p;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	NEED(!sched_setaffinity(0, sizeof(one), &one), "sched_setaffinity: %s", strerror(errno));
	setenv("UNIVERBS_POLL", "1", 1);
	pair_open(&p, NULL);
	CHECK(why_reason() == UNIV_REASON_ONE_PROCESSOR && strstr(why_text(), "one processor"),
	      "explained as: %s", why_text());
	CHECK(!thread_exists(), "the process has a poller");
	CHECK(!one_round(&p), "it does not work without");
	pair_close(&p);
}

/* A poller of a process that gives way to others gives way to them as well. */
static void nice_process(void)
{
	pid_t thread;

	NEED(!setpriority(PRIO_PROCESS, 0, 7), "setpriority: %s", err_name(errno));
	set_up(0);
	thread = poller_thread();
	NEED(thread, "no poller");
	CHECK(getpriority(PRIO_PROCESS, (id_t)thread) == 7, "the poller has the nice value %d",
	      getpriority(PRIO_PROCESS, (id_t)thread));
	tear_down();
	NEED(!setpriority(PRIO_PROCESS, 0, 0), "setpriority: %s", err_name(errno));
}

/* Does the thread have the processors @want, within some seconds? It sets them when it begins. */
static bool has_processors(pid_t thread, const cpu_set_t *want)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	cpu_set_t has;

	do {
		if (!sched_getaffinity(thread, sizeof(has), &has) && CPU_EQUAL(&has, want))
			return true;
		usleep(1000);
	} while (now_ns() < end);
	return false;
}

/* A poller runs on the processors that its process may use, and on no other. */
static void some_processors(void)
{
	cpu_set_t all, some;

	NEED(!sched_getaffinity(0, sizeof(all), &all), "sched_getaffinity: %s", err_name(errno));
	if (CPU_COUNT(&all) < 3) {
		printf("this needs three processors\n");
		return;
	}
	some = all;
	for (int cpu = 0; CPU_COUNT(&some) > 2; cpu++)
		CPU_CLR(cpu, &some);
	NEED(!sched_setaffinity(0, sizeof(some), &some), "sched_setaffinity: %s", err_name(errno));
	set_up(0);
	CHECK(has_processors(poller_thread(), &some), "the poller may run on other processors");
	tear_down();
	NEED(!sched_setaffinity(0, sizeof(all), &all), "sched_setaffinity: %s", err_name(errno));
}

static const struct test_case cases[] = {
	{ "no_system_calls", no_system_calls },
	{ "sleeps_and_wakes", sleeps_and_wakes },
	{ "falls_asleep", falls_asleep },
	{ "many_rings", many_rings },
	{ "ends_with_its_context", ends_with_its_context },
	{ "too_many", too_many },
	{ "goes_without", goes_without },
	{ "nice_process", nice_process },
	{ "some_processors", some_processors },
	{ "one_processor", one_processor },
};

TEST_MAIN("poller", cases, 120)
