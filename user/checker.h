/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What valgrind cannot know by itself: memory that the kernel wrote behind a
 * call that says nothing of it. Structs of ioctls are set before the call,
 * rings are mappings, and read() it knows; what is left is on no path where
 * the few instructions of a request that nobody answers would count.
 *
 * Compiled in wherever valgrind's header is at hand, unless NVALGRIND is set.
 */
#ifndef UNIV_CHECKER_H
#define UNIV_CHECKER_H

#include <stddef.h>

#if !defined(NVALGRIND) && defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif
#endif

static inline void univ_kernel_wrote(void *mem, size_t length)
{
#ifdef VALGRIND_MAKE_MEM_DEFINED
	VALGRIND_MAKE_MEM_DEFINED(mem, length);
#else
	(void)mem;
	(void)length;
#endif
}

#endif
