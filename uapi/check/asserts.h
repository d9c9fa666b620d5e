/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/* The assertions of layout.h and its parts, which remain defined. */
#ifndef UNIV_CHECK_ASSERTS_H
#define UNIV_CHECK_ASSERTS_H

#define SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), "size of struct " #type)
#define AT(type, member, bytes) \
	_Static_assert(__builtin_offsetof(struct type, member) == (bytes), \
		       #type "." #member)

#endif
