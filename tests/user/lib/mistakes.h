/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mistakes of programs, and the line that UNIVERBS_EXPLAIN=1 prints for each: it names the
 * correction. mistakes_calls.c contains mistakes that a call refuses, mistakes_work.c
 * mistakes in requests and completions, mistakes_uroce.c mistakes that only uroce reports,
 * and mistakes_hangs.c mistakes after which a program waits for ever. Three mistakes need
 * another state of the machine: tests/guest/90-nomodule.sh has no module and no device,
 * tests/guest/57-drivers.sh has a driver without verbs.
 */
#ifndef MISTAKES_H
#define MISTAKES_H

#include <fcntl.h>

#include "testlib.h"

static int printed;	/* The file that standard error was redirected to. */

static MAYBE_UNUSED void forget(void)
{
	NEED(!ftruncate(printed, 0) && !lseek(printed, 0, SEEK_SET), "%s", err_name(errno));
}

static const char *all_printed(void)
{
	static char text[1 << 16];
	ssize_t length = pread(printed, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	return text;
}

static bool line_has(const char *line, const char *const *words)
{
	for (; *words; words++)
		if (!strcasestr(line, *words))
			return false;
	return true;
}

static MAYBE_UNUSED bool some_line_has(const char *const *words)
{
	char *text = strdup(all_printed()), *rest = text, *line;
	bool found = false;

	while (!found && (line = strsep(&rest, "\n")))
		found = line_has(line, words);
	free(text);
	return found;
}

/* Expect that one line since the last forget() contains all of the words. */
#define SAYS(...) do {								\
	const char *const __words[] = { __VA_ARGS__, NULL };			\
	CHECK(some_line_has(__words), "expected a line with %s, got: %s", #__VA_ARGS__, \
	      all_printed());							\
	forget();								\
} while (0)

static void set_up(void) __attribute__((constructor));

static void set_up(void)
{
	setenv("UNIVERBS_EXPLAIN", "1", 1);
	printed = memfd_create("stderr", 0);
	dup2(printed, STDERR_FILENO);
}

#endif
