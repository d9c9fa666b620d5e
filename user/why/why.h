/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Room why: records the last failure of each thread and turns it into a sentence.
 * It has one function for each reason that the library finds. It does not know the
 * library's objects: callers pass the numbers that a sentence needs. This is its one
 * header for the other rooms.
 */
#ifndef UNIV_WHY_H
#define UNIV_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "base/base.h"
#include "univerbs.h"
#include "univerbs_ring.h"

/*
 * Values of univ_failure.detail for UNIV_REASON_ADDRESS, UNIV_REASON_POST_STATE and
 * UNIV_REASON_NOT_OFFERED.
 */
enum univ_address_detail {
	UNIV_ADDRESS_OFFSET,	/* iova and address differ in their offset in the page */
	UNIV_ADDRESS_OUTSIDE,	/* not all of the memory lies in the buffer */
	UNIV_ADDRESS_NULL,
};

enum univ_post_detail {
	UNIV_POST_SEND,
	UNIV_POST_NO_QUEUE,	/* the queue pair has no receive queue of its own */
	UNIV_POST_RECV,
	UNIV_POST_WQ,
};

enum univ_lack {
	UNIV_LACK_ANY,
	UNIV_LACK_TAGS,		/* tag matching */
	UNIV_LACK_ECE,		/* enhanced connection establishment */
	UNIV_LACK_IPSEC,	/* flow actions */
	UNIV_LACK_DMABUF,	/* a buffer that is a dma-buf */
};

struct univ_failure {
	const char *verb;	/* literal; NULL when nothing has failed yet */
	int err;
	uint32_t reason;
	uint32_t detail;	/* the meaning of these three depends on the reason: */
	uint64_t value;		/* Documentation/errors.rst */
	uint64_t bound;		/* often the limit */
	char subject[96];	/* the name of a device, a node or a peer, or empty */
};

/*
 * A function that records a failure sets errno and returns it. If the user wants
 * that (UNIVERBS_EXPLAIN), the failure is printed at once. Failures that
 * are found under the lock of a queue are not printed there: other threads
 * must not wait for the reader of standard error, and a thread that is cancelled
 * while it prints must not keep a lock. The caller prints those failures by
 * univ_fail_tell() when it has released the lock.
 */
int univ_fail(const struct univ_failure *failure) UNIV_COLD;
void univ_fail_tell(void) UNIV_COLD;

/* From now on this thread's failures and warnings are printed only by univ_fail_tell(). */
void univ_fail_defer(void) UNIV_COLD;

/* Whether the user wants failures to be printed. */
bool univ_fail_printed(void);

/* The kernel's reason, from the head of an ioctl's struct. */
int univ_fail_hdr(const char *verb, int err, const struct univ_hdr *hdr) UNIV_COLD;

/*
 * Records a failure for each reason that the library finds, and warns about programs
 * that wait in vain. The functions come from the rows of reasons.def; @verb must be a
 * literal. Each univ_fail_x() returns the errno value that it has set.
 */
#define DECLARE_FAIL(function, name, parameters, ...) int function parameters UNIV_COLD;
#define DECLARE_ABOUT(function, name, parameters, about, ...) int function parameters UNIV_COLD;
#define DECLARE_WARN(function, name, parameters, ...) void function parameters UNIV_COLD;
#define FAIL DECLARE_FAIL
#define FAIL_LATER DECLARE_FAIL
#define FAIL_ABOUT DECLARE_ABOUT
#define FAIL_ABOUT_LATER DECLARE_ABOUT
#define WARN DECLARE_WARN
#include "why/rows.h"

/* fail.c: the node at @path could not be opened, with the errno value @err. */
int univ_fail_open(const char *verb, int err, const char *path) UNIV_COLD;

/*
 * fail.c: as univ_fail_lacking(), for a verb that programs call to ask for a feature: not printed.
 */
int univ_fail_probe(const char *verb, enum univ_lack what) UNIV_COLD;

#define UNIV_COMPLETION_VERB "ibv_poll_cq"

/* Why a request was flushed, as far as the library knows. */
enum univ_flush {
	UNIV_FLUSH_UNKNOWN,
	UNIV_FLUSH_BY_FAILURE,	/* of an earlier request */
	UNIV_FLUSH_BY_MODIFY,	/* the program moved the queue pair to the error state */
};

/* A completion with an error status, and the known data of its queue pair. */
struct univ_wc_failure {
	uint32_t reason;
	uint32_t status;
	uint64_t wr_id;
	uint32_t qp_num;
	const union ibv_gid *peer_gid;	/* NULL: unknown */
	uint32_t peer_qpn;
	enum univ_flush flush;
	uint64_t failed_wr_id;		/* of the earlier request */
	uint32_t failed_status;
	bool quiet;			/* recorded, but not printed */
};

/* completion.c: the poll itself has not failed, so errno stays. */
void univ_fail_completion(const struct univ_wc_failure *failure) UNIV_COLD;

/* explain.c: writes the sentence. */
void univ_explain(const struct univ_failure *failure, char *text, size_t size);

#endif
