/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the fuzzers share. An input is a string of bytes that the fuzzer interprets as a
 * program; every string is valid. Inputs are changed at random. If the kernel reports which code it
 * ran (KCOV), inputs that reach new code are kept and changed further. A child process runs the
 * inputs, so an input that crashes the process only costs a new child. A complaint in the kernel
 * log ends the search.
 *
 *   NAME [-s SEED] [-t SECONDS] [-n RUNS] [-o DIRECTORY] INPUT|DIRECTORY...
 *
 * The named inputs are run first. -o: the directory for inputs that reached new code, and for the
 * input that ran when a check failed. Without -t and -n only the named inputs are run.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <sys/prctl.h>
#include "coverage.h"
#include "pool.h"

#ifndef CHILD_RUNS
#define CHILD_RUNS 300
#endif
/* A call takes up to a second on a kernel with many checks; a soak runs other programs beside it. */
#define INPUT_SECONDS (30 * test_slowness())

/* Defined by each fuzzer: called once in each child, and for each input. */
static void target_open(void);
static void target_run(void);

static int klog = -1;

static bool klog_known(const char *line)
{
	return strstr(line, "rxe_comp.c") && strstr(line, "rxe_completer");
}

/* Returns whether the kernel has complained since the last call. */
static bool klog_complains(void)
{
	static const char *const bad[] = { "WARNING:", "BUG:", "KASAN", "UBSAN", "Oops",
		"general protection", "possible circular", "inconsistent", "suspicious RCU",
		"refcount_t", "list_add corruption", "list_del corruption", "blocked for more" };
	bool found = false;
	char line[1024];
	ssize_t n;

	while ((n = read(klog, line, sizeof(line) - 1)) > 0) {
		line[n] = '\0';
		if (klog_known(line))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
			if (strstr(line, bad[i])) {
				printf("kernel: %s", line);
				found = true;
				break;
			}
	}
	return found;
}

#define EXIT_COMPLAINT 3
#define EXIT_CONTRACT 4

/* Something succeeded that must fail. Runs in the child. */
__attribute__((format(printf, 1, 2), noreturn))
static MAYBE_UNUSED void contract_broken(const char *format, ...)
{
	va_list args;

	printf("the contract is broken: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(EXIT_CONTRACT);
}

static void input_judge(void)
{
	unsigned int fresh = kcov_take();

	if (!fresh || fuzz->next_named < fuzz->named)
		return;
	if (fuzz->pool_count < POOL_MAX)
		fuzz->pool[fuzz->pool_count++] = fuzz->current;
	input_save(&fuzz->current, "new", fuzz->kept++);
}

/* ---- Running inputs ------------------------------------------------------ */

static bool fuzz_over(uint64_t end, uint64_t runs)
{
	return fuzz->next_named >= fuzz->named && (now_ns() >= end || fuzz->runs >= runs);
}

static void child(uint64_t end, uint64_t runs)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	target_open();
	kcov_open();
	for (int i = 0; i < CHILD_RUNS && !fuzz_over(end, runs); i++) {
		input_next();
		fuzz->runs++;
		input_running();
		alarm(INPUT_SECONDS);
		target_run();
		alarm(0);
		input_judge();
		if (klog_complains())
			_exit(EXIT_COMPLAINT);
	}
	_exit(0);
}

/* Returns whether the search may continue. */
static bool child_ended(int status, unsigned int *died)
{
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1) {
		FAIL("the fuzzer cannot set up what it needs");
		return false;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CONTRACT) {
		input_save(&fuzz->current, "contract", fuzz->runs);
		FAIL("the contract is broken; the input is contract-%" PRIu64, fuzz->runs);
		return false;
	}
	if (klog_complains() || (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_COMPLAINT)) {
		input_save(&fuzz->current, "complaint", fuzz->runs);
		FAIL("the kernel complains; the input is complaint-%" PRIu64, fuzz->runs);
		return false;
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
		input_save(&fuzz->current, "hangs", fuzz->runs);
		FAIL("no end after %u s; the input is hangs-%" PRIu64, INPUT_SECONDS, fuzz->runs);
		return false;
	}
	/* The child has crashed. */
	input_save(&fuzz->current, "died", fuzz->runs);
	if (++*died < 20 + fuzz->runs / 10)
		return true;
	FAIL("too many children die");
	return false;
}

static void fuzz_loop(uint64_t end, uint64_t runs)
{
	unsigned int died = 0;
	bool go_on = true;
	int status;
	pid_t pid;

	while (go_on && !fuzz_over(end, runs)) {
		fflush(stdout);
		pid = fork();
		if (!pid)
			child(end, runs);
		NEED(pid > 0 && waitpid(pid, &status, 0) == pid, "fork: %s", err_name(errno));
		go_on = child_ended(status, &died);
	}
	printf("%" PRIu64 " runs, %u children died, %u inputs given, %u kept, %u edges\n", fuzz->runs,
	       died, fuzz->named, fuzz->kept, fuzz->edges);
}

int main(int argc, char **argv)
{
	uint64_t end = 0, runs = 0;
	int opt;

	fuzz = mmap(NULL, sizeof(*fuzz), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(fuzz != MAP_FAILED, "mmap: %s", err_name(errno));
	fuzz->seed = 1;
	while ((opt = getopt(argc, argv, "s:t:n:o:")) != -1) {
		switch (opt) {
		case 's':
			fuzz->seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			end = deadline_ms(atoi(optarg) * 1000);
			runs = UINT64_MAX;
			break;
		case 'n':
			runs = strtoull(optarg, NULL, 0);
			end = UINT64_MAX;
			break;
		case 'o':
			fuzz_out = optarg;
			break;
		default:
			return 2;
		}
	}
	for (; optind < argc; optind++)
		inputs_load(argv[optind]);
	fuzz->named = fuzz->pool_count;
	klog = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	NEED(klog >= 0 && lseek(klog, 0, SEEK_END) >= 0, "/dev/kmsg: %s", err_name(errno));
	fuzz_loop(end, runs);
	return test_failures ? 1 : 0;
}

#endif
