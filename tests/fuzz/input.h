/* SPDX-License-Identifier: GPL-2.0 */
/* Inputs, the state that all children share, and how one thread reads its input. */
#ifndef INPUT_H
#define INPUT_H

#include "raw.h"

#define INPUT_MAX 512
#define POOL_MAX 2048

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

#endif
