// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * uroce's CRC-32 with VPCLMULQDQ at each length of a packet and each alignment, beside a CRC that
 * is computed bit by bit. It runs here because the emulated processor of a guest lacks the
 * instruction. Exits with 77 if this one does.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../../kernel/uroce/net/fold.h"

#define LENGTH_MAX 4224		/* A payload of 4 KiB with headers, padded to whole units. */
#define ALIGNMENTS 64

static uint32_t add(uint32_t crc, const uint8_t *at, size_t len)
{
	while (len--) {
		crc ^= *at++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* As kernel/uroce/net/icrc.c does it. */
static uint32_t add_folded(uint32_t crc, const uint8_t *at, size_t len)
{
	size_t whole = len - len % UROCE_FOLD_UNIT;
	uint8_t rest[UROCE_FOLD_REST];

	uroce_fold(rest, crc, at, whole);
	return add(add(0, rest, sizeof(rest)), at + whole, len - whole);
}

/* The bytes end at a page that cannot be read. */
static uint8_t *guarded(size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
	uint8_t *at = mmap(NULL, whole + page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + whole, page, PROT_NONE)) {
		perror("mmap");
		exit(1);
	}
	return at + whole - size;
}

static int compare(const uint8_t *at, uint32_t seed)
{
	uint32_t want = add(seed, at, UROCE_FOLD_MIN);

	for (size_t len = UROCE_FOLD_MIN;; len++) {
		uint32_t got = add_folded(seed, at, len);

		if (got != want) {
			printf("%zu bytes at %p: %#x instead of %#x\n", len, (const void *)at, got, want);
			return 1;
		}
		if (len == LENGTH_MAX)
			return 0;
		want = add(want, at + len, 1);
	}
}

int main(void)
{
	uint8_t *bytes = guarded(LENGTH_MAX + ALIGNMENTS);

	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("vpclmulqdq")) {
		printf("this processor has no VPCLMULQDQ\n");
		return 77;
	}
	for (size_t i = 0; i < LENGTH_MAX + ALIGNMENTS; i++)
		bytes[i] = rand() >> 7;
	for (uint32_t at = 0; at <= ALIGNMENTS; at++)
		if (compare(bytes + at, at % 2 ? ~0u : at << 20))
			return 1;
	return 0;
}
