/* SPDX-License-Identifier: GPL-2.0 */
/* Patterns of bytes, by which a program sees that memory arrived whole. */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "check.h"

static MAYBE_UNUSED void fill(void *mem, size_t len, uint32_t seed)
{
	uint8_t *p = mem;

	for (size_t i = 0; i < len; i++)
		p[i] = (i * 7 + (i >> 8) * 13 + seed) & 0xff;
}

/* Return the offset of the first byte that differs from the pattern, or -1. */
static MAYBE_UNUSED ssize_t differs(const void *mem, size_t len, uint32_t seed)
{
	const uint8_t *p = mem;

	for (size_t i = 0; i < len; i++)
		if (p[i] != (uint8_t)(i * 7 + (i >> 8) * 13 + seed))
			return i;
	return -1;
}

#define CHECK_BYTES(mem, len, seed, what) do {					\
	ssize_t __at = differs(mem, len, seed);					\
	CHECK(__at < 0, "%s: byte %zd of %zu is wrong", what, __at, (size_t)(len)); \
} while (0)

static MAYBE_UNUSED bool all_zero(const void *mem, size_t len)
{
	const uint8_t *p = mem;

	for (size_t i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

#endif
