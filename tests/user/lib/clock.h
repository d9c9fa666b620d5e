/* SPDX-License-Identifier: GPL-2.0 */
/* Time, and how slow this machine is. */
#ifndef CLOCK_H
#define CLOCK_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include "check.h"

/* Return how many times slower this machine is than the usual one. */
static MAYBE_UNUSED unsigned int test_slowness(void)
{
	const char *slow = getenv("UNIV_SLOW");

	return slow && atoi(slow) > 0 ? atoi(slow) : 1;
}

/* Reduce @n rounds so that they take the usual time on this machine. */
static MAYBE_UNUSED int test_rounds(int n)
{
	return (n + test_slowness() - 1) / test_slowness();
}

static MAYBE_UNUSED uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static MAYBE_UNUSED uint64_t deadline_ms(unsigned int ms)
{
	return now_ns() + ms * 1000000ull;
}

/*
 * A race goes on until @end. If it has not @met what it is about, because the threads did not run
 * beside each other, it goes on for some time longer.
 */
static MAYBE_UNUSED bool race_goes_on(uint64_t end, bool met)
{
	return now_ns() < end + (met ? 0 : 20000000000ull * test_slowness());
}

static MAYBE_UNUSED void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000l };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

#endif
