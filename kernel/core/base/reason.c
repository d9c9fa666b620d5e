// SPDX-License-Identifier: GPL-2.0
/* Explained errors: the forms that many handlers share; the last failures. */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>

#include "reason.h"

/*
 * The device's driver failed a call that passed the core's checks. A reason
 * that a deeper layer has given already is more exact and stays.
 */
int univ_explain_driver(struct univ_hdr *hdr, int err)
{
	/* Kernel-internal codes must not reach a process. */
	if (err == -ENOTSUPP || err == -ENOSYS)
		err = -EOPNOTSUPP;
	if (hdr->reason)
		return err;
	if (err == -EOPNOTSUPP)
		return univ_explain(hdr, err, UNIV_REASON_UNSUPPORTED, 0, 0, 0);
	if (err == -ENOMEM)
		return univ_explain(hdr, err, UNIV_REASON_NO_MEMORY, 0, 0, 0);
	return univ_explain(hdr, err, UNIV_REASON_DEVICE_REFUSED, 0, -err, 0);
}

int univ_explain_limit(struct univ_hdr *hdr, enum univ_limit limit, u64 asked,
		       u64 bound)
{
	return univ_explain(hdr, -EINVAL, UNIV_REASON_LIMIT, limit, asked,
			    bound);
}

void univ_failed_calls_add(struct univ_failed_calls *calls, const char *name,
			   const char *by, int err, const struct univ_hdr *hdr)
{
	struct univ_failed_call *call;

	spin_lock(&calls->lock);
	call = &calls->last[calls->count++ % UNIV_FAILED_CALLS];
	ktime_get_boottime_ts64(&call->at);
	call->name = name;
	strscpy(call->by, by, sizeof(call->by));
	call->err = err;
	call->reason = hdr->reason;
	call->detail = hdr->detail;
	call->value = hdr->value;
	call->bound = hdr->bound;
	spin_unlock(&calls->lock);
}

static u64 failed_calls_count(struct univ_failed_calls *calls)
{
	u64 count;

	spin_lock(&calls->lock);
	count = calls->count;
	spin_unlock(&calls->lock);
	return count;
}

/* Copies a call by its number. False if there is none, or none any more. */
static bool failed_call_get(struct univ_failed_calls *calls, u64 number,
			    struct univ_failed_call *call)
{
	bool there;

	spin_lock(&calls->lock);
	there = number < calls->count &&
		calls->count - number <= UNIV_FAILED_CALLS;
	if (there)
		*call = calls->last[number % UNIV_FAILED_CALLS];
	spin_unlock(&calls->lock);
	return there;
}

/* A process chooses its own name, so the name is escaped. */
static int failed_call_show(const struct univ_failed_call *call, char *buf,
			    int at)
{
	int used = sysfs_emit_at(buf, at, "%lld.%06ld %s error %d reason %u ",
				 call->at.tv_sec,
				 call->at.tv_nsec / NSEC_PER_USEC, call->name,
				 call->err, call->reason);

	return used + sysfs_emit_at(buf, at + used,
				    "detail %#x value %llu bound %llu by %*pE\n",
				    call->detail, call->value, call->bound,
				    (int)strlen(call->by), call->by);
}

/* With the longest numbers, and each byte of the name escaped. */
#define FAILED_CALL_LINE 256

/*
 * The newest call is first. The oldest are left out if the lines do not fit
 * into the page.
 */
ssize_t univ_failed_calls_show(struct univ_failed_calls *calls, char *buf)
{
	u64 number = failed_calls_count(calls);
	struct univ_failed_call call;
	int at = 0;

	while (at <= PAGE_SIZE - FAILED_CALL_LINE && number-- &&
	       failed_call_get(calls, number, &call))
		at += failed_call_show(&call, buf, at);
	return at;
}
