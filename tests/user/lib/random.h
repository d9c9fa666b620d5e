/* SPDX-License-Identifier: GPL-2.0 */
/* A pseudo-random sequence that depends only on the seed. */
#ifndef RANDOM_H
#define RANDOM_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "check.h"
#include "clock.h"

static MAYBE_UNUSED uint32_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static MAYBE_UNUSED uint64_t rnd_seed(void)
{
	const char *text = getenv("UNIV_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : now_ns();

	printf("seed: UNIV_TEST_SEED=%" PRIu64 "\n", seed);
	return seed;
}

#endif
