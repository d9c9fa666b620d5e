/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cases of a program. Without arguments the program runs all of them, with arguments the
 * named ones. UNIV_TEST_WITHOUT names cases to leave out, each between spaces. The exit status
 * is 0 if all passed, 1 if some failed, 77 if it skipped.
 */
#ifndef CASES_H
#define CASES_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#include "clock.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct test_case {
	const char *name;
	void (*run)(void);
};

static const char *test_program = "?";

static void test_alarm(int sig)
{
	static const char text[] = " hangs: time is up\n";
	ssize_t n;

	(void)sig;
	n = write(1, test_program, strlen(test_program));
	n = write(1, ": ", 2);
	n = write(1, test_now, strlen(test_now));
	n = write(1, text, sizeof(text) - 1);
	(void)n;
	_exit(1);
}

/* UNIV_LIMITS=off: a debugger may stop the program for any time. */
static MAYBE_UNUSED void test_limit(unsigned int seconds)
{
	const char *limits = getenv("UNIV_LIMITS");

	if (limits && !strcmp(limits, "off"))
		return;
	signal(SIGALRM, test_alarm);
	alarm(seconds * test_slowness());
}

static bool test_left_out(const char *name)
{
	const char *without = getenv("UNIV_TEST_WITHOUT");
	char word[64];

	snprintf(word, sizeof(word), " %s ", name);
	return without && strstr(without, word);
}

static bool test_wanted(int argc, char **argv, const char *name)
{
	if (test_left_out(name))
		return false;
	if (argc < 2)
		return true;
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

static MAYBE_UNUSED int test_run(const char *program, int argc, char **argv,
				 const struct test_case *cases, size_t count,
				 unsigned int seconds_each)
{
	int before, ran = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_program = program;
	for (size_t i = 0; i < count; i++) {
		if (!test_wanted(argc, argv, cases[i].name))
			continue;
		test_now = cases[i].name;
		before = test_failures;
		test_limit(seconds_each);
		cases[i].run();
		alarm(0);
		printf("%s %s\n", test_failures == before ? "ok  " : "FAIL", cases[i].name);
		ran++;
	}
	if (ran < (argc < 2 ? 1 : argc - 1)) {
		printf("%s: no such case\n", program);
		return 1;
	}
	printf("%s: %d cases, %d failed checks\n", program, ran, test_failures);
	return test_failures ? 1 : 0;
}

/* The first argument names the program and the rows of tests/adversaries that it covers. */
#define TEST_MAIN(program, cases, seconds_each)					\
int main(int argc, char **argv)							\
{										\
	return test_run(program, argc, argv, cases, ARRAY_SIZE(cases), seconds_each); \
}

#endif
