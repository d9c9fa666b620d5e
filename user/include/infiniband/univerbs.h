/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What libibverbs.so.1 of univerbs offers beyond the verbs: why something
 * failed. A program that may also run with another libibverbs finds these
 * functions with dlsym(3).
 */
#ifndef INFINIBAND_UNIVERBS_H
#define INFINIBAND_UNIVERBS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct univerbs_error - the last failure of the calling thread
 * @size: in: sizeof(struct univerbs_error); out: bytes filled
 * @err: errno value; 0 for a completion that failed
 * @reason: reason code, see univerbs_reason_name()
 * @detail: what it means depends on @reason, as is so with the next two. For
 *	a completion that failed it is its status (enum ibv_wc_status),
 * @value: its work request's wr_id,
 * @bound: and the number of its queue pair.
 * @verb: name of the function that failed
 * @text: one line that says all of this in words
 */
struct univerbs_error {
	uint32_t size;
	int err;
	uint32_t reason;
	uint32_t detail;
	uint64_t value;
	uint64_t bound;
	char verb[32];
	char text[256];
};

/**
 * univerbs_last_error() - what failed last in this thread
 * @out: to fill; its @size must be set
 *
 * A success does not erase an earlier failure.
 *
 * Return: 0, ENOENT when nothing has failed yet, EINVAL when @out is too small.
 */
int univerbs_last_error(struct univerbs_error *out);

/**
 * univerbs_explain() - the text of univerbs_last_error()
 *
 * Return: a string that stays as it is until the thread's next call; never NULL.
 */
const char *univerbs_explain(void);

/**
 * univerbs_reason_name() - name of a reason code, as in "ATTR_MISSING"
 * @reason: from struct univerbs_error
 *
 * Return: a constant string; never NULL.
 */
const char *univerbs_reason_name(uint32_t reason);

#ifdef __cplusplus
}
#endif

#endif
