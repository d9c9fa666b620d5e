/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Verbs of the InfiniBand specification that libibverbs does not have. Only the
 * libibverbs.so.1 of univerbs has them. A program that may also run with another
 * libibverbs must look them up with dlsym(3). They need a device that offers them, such as
 * uroce; on other devices they fail with EOPNOTSUPP.
 */
#ifndef INFINIBAND_UNIVERBS_VERBS_H
#define INFINIBAND_UNIVERBS_VERBS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_mr;

/**
 * univerbs_extend_mr() - add memory to the end of a region that may be in use
 * @mr: memory region of this process
 * @length: bytes that the region is to have; at least @mr->length
 *
 * Keys and addresses stay. Requests that are in progress do not fail, and peers can use
 * the new bytes as soon as the call has returned. After a failure the region is unchanged.
 *
 * Return: 0 or an errno value
 */
int univerbs_extend_mr(struct ibv_mr *mr, size_t length);

#ifdef __cplusplus
}
#endif

#endif
