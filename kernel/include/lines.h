/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cache lines that processors share. A write to a line invalidates it in the
 * caches of all other processors. Some fields that other processors read for
 * each message therefore lie in another line than fields that are written
 * meanwhile. The assertions here keep it so; Documentation/architecture.rst
 * lists the pairs.
 */
#ifndef UNIV_LINES_H
#define UNIV_LINES_H

#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/kconfig.h>
#include <linux/stddef.h>

/* The lines in which a field begins and ends. */
#define UNIV_FIRST_LINE(type, field)					\
	(offsetof(type, field) / SMP_CACHE_BYTES)
#define UNIV_LAST_LINE(type, field)					\
	((offsetofend(type, field) - 1) / SMP_CACHE_BYTES)

/**
 * univ_other_line() - assert that two fields have no cache line in common
 * @type: a struct whose memory begins with a line: one that is aligned to
 *	lines, or that is allocated by kmalloc() and larger than a line
 * @a: a field
 * @b: another field
 *
 * Lines of more than 64 bytes are not checked: some pairs would need a larger
 * struct there.
 */
#define univ_other_line(type, a, b)					\
	static_assert(!IS_ENABLED(CONFIG_SMP) || SMP_CACHE_BYTES > 64 || \
		      UNIV_LAST_LINE(type, a) < UNIV_FIRST_LINE(type, b) || \
		      UNIV_LAST_LINE(type, b) < UNIV_FIRST_LINE(type, a))

/**
 * univ_own_lines() - assert that nothing else lies in the lines of a struct
 * @type: the struct
 */
#define univ_own_lines(type)						\
	static_assert(!IS_ENABLED(CONFIG_SMP) ||			\
		      (__alignof__(type) % SMP_CACHE_BYTES == 0 &&	\
		       sizeof(type) % SMP_CACHE_BYTES == 0))

#endif
