/* SPDX-License-Identifier: GPL-2.0 */
/* The code that an input reaches, if the kernel reports it (KCOV). */
#ifndef COVERAGE_H
#define COVERAGE_H

#include <sys/ioctl.h>
#include "input.h"

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

#endif
