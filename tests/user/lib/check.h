/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks of a case. A failed check is printed with its place and the name of the case that
 * runs.
 */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAYBE_UNUSED __attribute__((unused))
#define EXIT_SKIP 77

static const char *test_now = "start";
static int test_failures;

__attribute__((format(printf, 3, 4)))
static MAYBE_UNUSED void test_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	int saved = errno;
	va_list ap;

	printf("%s:%d: %s: ", base ? base + 1 : file, line, test_now);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	__atomic_add_fetch(&test_failures, 1, __ATOMIC_RELAXED);
	errno = saved;
}

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)

/* On failure, record it and continue. */
#define CHECK(cond, ...) ({				\
	bool __ok = !!(cond);				\
	if (!__ok)					\
		FAIL(__VA_ARGS__);			\
	__ok;						\
})

/* On failure, exit, because nothing after it could work. */
#define NEED(cond, ...) do {				\
	if (!(cond)) {					\
		FAIL(__VA_ARGS__);			\
		exit(1);				\
	}						\
} while (0)

#define SKIP(...) do {					\
	printf(__VA_ARGS__);				\
	printf("\n");					\
	exit(test_failures ? 1 : EXIT_SKIP);		\
} while (0)

/*
 * Say how often a step was done again because a busy machine had spoiled it; like repeated() of
 * tests/vm/lib.sh.
 */
static MAYBE_UNUSED void repeated(int times, const char *why)
{
	if (times) {
		printf("# repeated: %d times (%s)\n", times, why);
		fflush(stdout);
	}
}

static MAYBE_UNUSED const char *err_name(int err)
{
	const char *name = err ? strerrorname_np(err) : "success";

	return name ? name : "unknown errno";
}

/* For calls that return an errno value. */
#define CHECK_ERR(call, want) ({						\
	int __got = (call), __want = (want);					\
	CHECK(__got == __want, "%s: expected %s, got %d (%s)", #call,		\
	      err_name(__want), __got, err_name(__got));			\
})

#define NEED_OK(call) do {							\
	int __got = (call);							\
	NEED(!__got, "%s: expected success, got %d (%s)", #call, __got,		\
	     err_name(__got));							\
} while (0)

/* For calls that return a pointer, or NULL and errno. */
#define CHECK_NULL(call, want) ({						\
	const void *__ptr = (errno = 0, (const void *)(call));			\
	int __err = errno, __want = (want);					\
	CHECK(!__ptr && __err == __want, "%s: expected NULL and %s, got %s and %s", \
	      #call, err_name(__want), __ptr ? "an object" : "NULL", err_name(__err)); \
})

#define NEED_PTR(ptr, what) NEED((ptr), "%s: %s", (what), err_name(errno))

#endif
