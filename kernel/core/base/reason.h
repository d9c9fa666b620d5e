/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_REASON_H
#define UNIV_REASON_H

#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "univerbs.h"

/*
 * The one way to fail a call: stores why in the head that goes back to the
 * process and returns @err, so that a check is one line.
 */
static inline int univ_explain(struct univ_hdr *hdr, int err,
			       enum univ_reason reason, u32 detail, u64 value,
			       u64 bound)
{
	hdr->reason = reason;
	hdr->detail = detail;
	hdr->value = value;
	hdr->bound = bound;
	return err;
}

int univ_explain_driver(struct univ_hdr *hdr, int err);
int univ_explain_limit(struct univ_hdr *hdr, enum univ_limit limit, u64 asked,
		       u64 bound);

/* A call that failed. */
struct univ_failed_call {
	struct timespec64 at;	/* since the boot */
	const char *name;	/* of the ioctl */
	char by[TASK_COMM_LEN + 12]; /* univ_context.name */
	int err;
	u32 reason;
	u32 detail;
	u64 value;
	u64 bound;
};

#define UNIV_FAILED_CALLS 32

/*
 * The last calls that failed on a device, for a report by root. A process can
 * fail as often as it likes, so new entries take the place of old ones.
 */
struct univ_failed_calls {
	spinlock_t lock;	/* all members */
	u64 count;		/* of all calls that failed */
	struct univ_failed_call last[UNIV_FAILED_CALLS];
};

void univ_failed_calls_add(struct univ_failed_calls *calls, const char *name,
			   const char *by, int err, const struct univ_hdr *hdr);
ssize_t univ_failed_calls_show(struct univ_failed_calls *calls, char *buf);

#endif
