/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Room abi: symbols, operations and names that the library has for the sake of the
 * ABI. It does not know devices, nor the library's objects. This is its one header
 * for the other rooms.
 */
#ifndef UNIV_ABI_H
#define UNIV_ABI_H

#include <infiniband/verbs.h>

/* unsupported.c: fills in the operations that are not offered, which are never NULL. */
void univ_unsupported_ops(struct verbs_context *vctx);

#endif
