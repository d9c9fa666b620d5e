/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The last failure of each thread. */
#ifndef UNIV_USER_REASON_H
#define UNIV_USER_REASON_H

#include <stddef.h>
#include <stdint.h>

#include "univerbs.h"

struct univ_failure {
	const char *verb;	/* literal; NULL when nothing has failed yet */
	int err;
	uint32_t reason;
	uint32_t detail;
	uint64_t value;
	uint64_t bound;
	char subject[96];	/* a node, a peer: what the reason speaks of */
};

/*
 * Record a failure, print it if the user wants that, set errno and return it.
 * @verb must outlive the thread. @subject may be NULL.
 */
int univ_fail(const char *verb, int err, enum univ_reason reason, uint32_t detail, uint64_t value,
	      uint64_t bound) __attribute__((cold));
int univ_fail_about(const char *verb, int err, enum univ_reason reason, uint32_t detail,
		    uint64_t value, uint64_t bound, const char *subject) __attribute__((cold));
int univ_fail_hdr(const char *verb, int err, const struct univ_hdr *hdr) __attribute__((cold));

/* A verb that univerbs does not have: records it, returns EOPNOTSUPP. */
int univ_fail_unsupported(const char *verb) __attribute__((cold));

/* The same of a question to which programs take no for an answer: not printed. */
int univ_fail_probe(const char *verb) __attribute__((cold));
int univ_fail_memory(const char *verb, size_t bytes) __attribute__((cold));

/*
 * A completion that failed: not an error of the poll, and errno stays. What
 * @quiet is recorded, but not printed.
 */
void univ_fail_completion(const struct univ_failure *failure, int quiet) __attribute__((cold));
#define UNIV_COMPLETION_VERB "ibv_poll_cq"

/* explain.c */
void univ_explain(const struct univ_failure *failure, char *text, size_t size);

#endif
