/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tells valgrind about memory that the kernel wrote during a call whose arguments do not show it.
 * The structs of ioctls are initialized before the call, rings are mappings, and valgrind knows
 * read(); the other cases are marked. None of them is on the data path, so the few instructions
 * that a mark costs without valgrind do not matter.
 *
 * The marks are compiled in if valgrind's header is installed and NVALGRIND is
 * not defined.
 */
#ifndef UNIV_VALGRIND_H
#define UNIV_VALGRIND_H

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
