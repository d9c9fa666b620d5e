// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The functions that record a failure, generated from the rows of reasons.def. */
#include <errno.h>
#include <stdio.h>

#include "why/line.h"

static void about(struct univ_failure *failure, const char *subject)
{
	snprintf(failure->subject, sizeof(failure->subject), "%s", subject);
}

#define FAILURE(name, ...) { .verb = verb, .reason = UNIV_REASON_##name, ##__VA_ARGS__ }

#define DEFINE_FAIL(record, function, name, parameters, ...)			\
	int function parameters							\
	{									\
		const struct univ_failure failure = FAILURE(name, __VA_ARGS__);	\
										\
		return record(&failure);					\
	}

#define DEFINE_ABOUT(record, function, name, parameters, subject, ...)	\
	int function parameters						\
	{								\
		struct univ_failure failure = FAILURE(name, __VA_ARGS__);	\
									\
		about(&failure, subject);				\
		return record(&failure);				\
	}

/* A warning is no failure; ETIME stands for a wait that takes too long. */
#define DEFINE_WARN(function, name, parameters, ...)				\
	void function parameters						\
	{									\
		univ_warn(&(struct univ_failure)				\
			  FAILURE(name, .err = ETIME, ##__VA_ARGS__));		\
	}

#define FAIL(...) DEFINE_FAIL(univ_fail, __VA_ARGS__)
#define FAIL_LATER(...) DEFINE_FAIL(univ_fail_later, __VA_ARGS__)
#define FAIL_ABOUT(...) DEFINE_ABOUT(univ_fail, __VA_ARGS__)
#define FAIL_ABOUT_LATER(...) DEFINE_ABOUT(univ_fail_later, __VA_ARGS__)
#define WARN(...) DEFINE_WARN(__VA_ARGS__)
#include "why/rows.h"

int univ_fail_open(const char *verb, int err, const char *path)
{
	struct univ_failure failure = { .verb = verb, .err = err };

	about(&failure, path);
	if (err == EACCES || err == EPERM) {
		failure.reason = UNIV_REASON_NODE_PERMISSION;
	} else if (err == ENXIO || err == ENODEV) {
		failure.reason = UNIV_REASON_DEVICE_GONE;
	} else if (err == ENOENT) {
		failure.reason = UNIV_REASON_NO_DEVICE;
	} else if (err == EAGAIN) {
		failure.reason = UNIV_REASON_CGROUP;
	} else if (err == ENFILE) {
		failure.reason = UNIV_REASON_LIMIT;
		failure.detail = UNIV_LIMIT_CONTEXTS;
	}
	return univ_fail(&failure);
}

int univ_fail_hdr(const char *verb, int err, const struct univ_hdr *hdr)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = err,
		.reason = hdr->reason,
		.detail = hdr->detail,
		.value = hdr->value,
		.bound = hdr->bound,
	});
}

int univ_fail_probe(const char *verb, enum univ_lack what)
{
	univ_fail_record(&(struct univ_failure) {
		.verb = verb,
		.err = EOPNOTSUPP,
		.reason = UNIV_REASON_NOT_OFFERED,
		.detail = what,
	}, true);
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}
