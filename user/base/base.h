/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Room base: the lock, the barriers and the table of opcodes, which every room
 * needs. It does not know any object of the library. This is its one header for the
 * other rooms.
 */
#ifndef UNIV_BASE_H
#define UNIV_BASE_H

#include <stddef.h>

#include "base/barrier.h"
#include "base/export.h"
#include "base/lock.h"
#include "base/opcode.h"
#include "base/valgrind.h"

#define univ_likely(x) __builtin_expect(!!(x), 1)
#define univ_unlikely(x) __builtin_expect(!!(x), 0)

#define univ_container(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define UNIV_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define UNIV_COLD __attribute__((cold))

#define UNIV_PAGE_SIZE 4096

#endif
