// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the frequency of this machine's time-stamp counter in kHz. An emulated processor
 * reads the same counter.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define TRIES	50
#define WAIT_NS	50000000

struct moment {
	uint64_t tsc;
	uint64_t ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* In the try that took the shortest time no interrupt came in between. */
static struct moment now(void)
{
	uint64_t shortest = UINT64_MAX;
	struct moment best = {};

	for (int i = 0; i < TRIES; i++) {
		uint64_t from = __rdtsc(), ns = now_ns(), to = __rdtsc();

		if (to - from >= shortest)
			continue;
		shortest = to - from;
		best = (struct moment){ .tsc = from + (to - from) / 2, .ns = ns };
	}
	return best;
}

int main(void)
{
	struct timespec wait = { .tv_nsec = WAIT_NS };
	struct moment from = now(), to;

	nanosleep(&wait, NULL);
	to = now();
	printf("%.0f\n", (to.tsc - from.tsc) * 1e6 / (to.ns - from.ns));
	return 0;
}
