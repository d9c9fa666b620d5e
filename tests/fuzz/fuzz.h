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

#include "raw.h"
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define INPUT_MAX 512
#define POOL_MAX 2048
#ifndef CHILD_RUNS
#define CHILD_RUNS 300
#endif
/* A call takes up to a second on a kernel with many checks; a soak runs 13 other programs. */
#define INPUT_SECONDS (30 * test_slowness())

struct input {
	uint32_t len;
	uint8_t byte[INPUT_MAX];
};

/* The state that all children share. */
struct fuzz_state {
	uint64_t seed;
	uint64_t runs;
	uint32_t named;			/* named inputs at the start of the pool */
	uint32_t next_named;
	uint32_t pool_count;
	uint32_t edges;
	uint32_t kept;
	struct input current;
	struct input pool[POOL_MAX];
	uint8_t edge[1 << 16];
};

static struct fuzz_state *fuzz;
static const char *fuzz_out;

/* Defined by each fuzzer: called once in each child, and for each input. */
static void target_open(void);
static void target_run(void);

/* ---- Reading an input ---------------------------------------------------- */

/* The position of one thread in the input that it runs. */
struct reader {
	uint32_t at;
	uint32_t end;
};

static uint32_t take(struct reader *r, unsigned int bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | (r->at < r->end ? fuzz->current.byte[r->at++] : 0);
	return value;
}

static bool more(const struct reader *r)
{
	return r->at < r->end;
}

/* Boundary values of fields. */
static uint64_t take_value(struct reader *r)
{
	uint32_t how = take(r, 1);
	uint64_t high;

	switch (how % 8) {
	case 0:
		return take(r, 1);
	case 1:
		return take(r, 2);
	case 2:
		return take(r, 4);
	case 3:
		high = take(r, 4);
		return high << 32 | take(r, 4);
	case 4:
		return 1ull << take(r, 1) % 64;
	case 5:
		return (1ull << take(r, 1) % 64) - 1;
	case 6:
		return -(uint64_t)take(r, 1);
	default:
		return how >> 3;
	}
}

/* ---- Coverage ------------------------------------------------------------ */

#define KCOV_INIT_TRACE _IOR('c', 1, unsigned long)
#define KCOV_ENABLE _IO('c', 100)
#define KCOV_WORDS (64 << 10)

static unsigned long *kcov;

/* For the calling thread. Without KCOV no input is preferred. */
static void kcov_open(void)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	void *mem;

	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, (unsigned long)KCOV_WORDS))
		return;
	mem = mmap(NULL, KCOV_WORDS * sizeof(*kcov), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem != MAP_FAILED && !ioctl(fd, KCOV_ENABLE, 0ul))
		kcov = mem;
}

/* Returns how many edges (steps from one place in the code to another) were new. */
static unsigned int kcov_take(void)
{
	unsigned long n, pc, last = 0;
	unsigned int fresh = 0;
	uint32_t hash;

	if (!kcov)
		return 0;
	n = __atomic_load_n(&kcov[0], __ATOMIC_RELAXED);
	for (unsigned long i = 0; i < n && i + 1 < KCOV_WORDS; i++) {
		pc = kcov[i + 1];
		hash = (uint32_t)((pc * 0x9e3779b97f4a7c15ull) >> 40) ^ (uint32_t)(last >> 1);
		hash &= sizeof(fuzz->edge) - 1;
		last = (pc * 0x9e3779b97f4a7c15ull) >> 40;
		if (!fuzz->edge[hash]) {
			fuzz->edge[hash] = 1;
			fresh++;
		}
	}
	fuzz->edges += fresh;
	__atomic_store_n(&kcov[0], 0, __ATOMIC_RELAXED);
	return fresh;
}

/* ---- Complaints of the kernel --------------------------------------------- */

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

/* ---- Checks of the fuzzer -------------------------------------------------- */

#define EXIT_COMPLAINT 3
#define EXIT_CONTRACT 4

/* A call violated the contract of uapi/. Runs in the child. */
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

/* ---- Inputs -------------------------------------------------------------- */

static void input_save(const struct input *in, const char *why, uint64_t number)
{
	char path[512];
	FILE *f;

	if (!fuzz_out)
		return;
	snprintf(path, sizeof(path), "%s/%s-%" PRIu64, fuzz_out, why, number);
	f = fopen(path, "w");
	if (!f)
		return;
	fwrite(in->byte, 1, in->len, f);
	fclose(f);
}

/* The input is on disk before it runs, in case the kernel crashes. */
static void input_running(void)
{
	static int fd = -1;
	char path[512];

	if (!fuzz_out)
		return;
	if (fd < 0) {
		snprintf(path, sizeof(path), "%s/running", fuzz_out);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	}
	if (fd >= 0 && (pwrite(fd, fuzz->current.byte, fuzz->current.len, 0) < 0 ||
			ftruncate(fd, fuzz->current.len)))
		close(fd);
}

static void input_load(const char *path)
{
	struct input *in = &fuzz->pool[fuzz->pool_count];
	FILE *f = fopen(path, "r");

	NEED(f, "%s: %s", path, err_name(errno));
	if (fuzz->pool_count < POOL_MAX) {
		in->len = fread(in->byte, 1, INPUT_MAX, f);
		fuzz->pool_count++;
	}
	fclose(f);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void inputs_load(const char *path)
{
	struct dirent **entry;
	char name[512];
	struct stat st;
	int n;

	if (!stat(path, &st) && !S_ISDIR(st.st_mode)) {
		input_load(path);
		return;
	}
	n = scandir(path, &entry, NULL, by_name);
	NEED(n >= 0, "%s: %s", path, err_name(errno));
	for (int i = 0; i < n; i++) {
		if (entry[i]->d_name[0] != '.') {
			snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
			input_load(name);
		}
		free(entry[i]);
	}
	free(entry);
}

static void change_once(struct input *in, uint64_t *seed)
{
	const struct input *other = &fuzz->pool[rnd(seed) % (fuzz->pool_count ? fuzz->pool_count : 1)];
	uint32_t at = rnd(seed) % in->len, n = 1 + rnd(seed) % 16, from;

	switch (rnd(seed) % 6) {
	case 0:
		in->byte[at] ^= 1 << rnd(seed) % 8;
		break;
	case 1:
		in->byte[at] = rnd(seed);
		break;
	case 2:		/* remove a piece */
		n = n < in->len - at ? n : in->len - at;
		memmove(in->byte + at, in->byte + at + n, in->len - at - n);
		in->len -= n;
		break;
	case 3:		/* insert random bytes */
		if (in->len + n > INPUT_MAX)
			break;
		memmove(in->byte + at + n, in->byte + at, in->len - at);
		for (uint32_t i = 0; i < n; i++)
			in->byte[at + i] = rnd(seed);
		in->len += n;
		break;
	case 4:		/* continue as another input */
		if (!other->len)
			break;
		from = rnd(seed) % other->len;
		n = other->len - from < INPUT_MAX - at ? other->len - from : INPUT_MAX - at;
		memmove(in->byte + at, other->byte + from, n);
		in->len = at + n;
		break;
	default:	/* repeat a piece */
		n = n < in->len - at ? n : in->len - at;
		if (in->len + n > INPUT_MAX)
			break;
		memmove(in->byte + at + n, in->byte + at, in->len - at);
		in->len += n;
	}
}

static void input_next(void)
{
	struct input *in = &fuzz->current;
	uint64_t *seed = &fuzz->seed;

	if (fuzz->next_named < fuzz->named) {
		*in = fuzz->pool[fuzz->next_named++];
		return;
	}
	if (fuzz->pool_count && rnd(seed) % 5) {
		*in = fuzz->pool[rnd(seed) % fuzz->pool_count];
	} else {
		in->len = 8 + rnd(seed) % 200;
		for (uint32_t i = 0; i < in->len; i++)
			in->byte[i] = rnd(seed);
	}
	for (uint32_t n = 1 + rnd(seed) % 8; n && in->len; n--)
		change_once(in, seed);
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
		FAIL("a call that must fail succeeds; the input is contract-%" PRIu64, fuzz->runs);
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
