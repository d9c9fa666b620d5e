/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Functions that only the libibverbs.so.1 of univerbs has. They explain why a call
 * failed. A program that may also run with another libibverbs must look them up with
 * dlsym(3).
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
 * @err: errno value; 0 for a failed completion
 * @reason: reason code, see univerbs_reason_name()
 * @detail: depends on @reason; the status (enum ibv_wc_status) of a failed completion
 * @value: depends on @reason; the wr_id of a failed completion
 * @bound: depends on @reason, often the limit; the queue pair number of a failed
 *	completion
 * @verb: name of the function that failed
 * @text: a sentence that explains the failure
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
 * univerbs_last_error() - get the last failure of the calling thread
 * @out: is filled in; its @size must be set
 *
 * A success does not erase an earlier failure.
 *
 * Return: 0, ENOENT if nothing has failed yet, EINVAL if @out is too small.
 */
int univerbs_last_error(struct univerbs_error *out);

/**
 * univerbs_explain() - get the text of univerbs_last_error()
 *
 * Return: a string that is valid until the next call of the thread; never NULL.
 */
const char *univerbs_explain(void);

/**
 * univerbs_reason_name() - get the name of a reason code, such as "ATTR_MISSING"
 * @reason: from struct univerbs_error
 *
 * Return: a constant string; never NULL.
 */
const char *univerbs_reason_name(uint32_t reason);

#ifdef __cplusplus
}
#endif

#endif
