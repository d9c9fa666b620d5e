// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The last failure of each thread: recorded, printed if wanted, handed out. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/univerbs.h>

#include "export.h"
#include "reason.h"

#define TEXT_SIZE 256

static __thread struct univ_failure last;
static __thread char text[TEXT_SIZE];

static int printing;
static pthread_once_t printing_once = PTHREAD_ONCE_INIT;

static void printing_init(void)
{
	const char *env = secure_getenv("UNIVERBS_EXPLAIN");

	printing = env && *env && strcmp(env, "0");
}

/* One write for one line, so that those of several threads do not mix. */
static void print(void)
{
	char line[TEXT_SIZE + 16];
	char body[TEXT_SIZE];
	int length;

	pthread_once(&printing_once, printing_init);
	if (!printing)
		return;
	univ_explain(&last, body, sizeof(body));
	length = snprintf(line, sizeof(line), "univerbs: %s\n", body);
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return;	/* nobody left to be told */
}

static void record(const struct univ_failure *failure, int quiet)
{
	int err = errno;

	last = *failure;
	if (!quiet)
		print();
	errno = err;
}

int univ_fail_about(const char *verb, int err, enum univ_reason reason, uint32_t detail,
		    uint64_t value, uint64_t bound, const char *subject)
{
	struct univ_failure failure = {
		.verb = verb,
		.err = err,
		.reason = reason,
		.detail = detail,
		.value = value,
		.bound = bound,
	};

	if (subject)
		snprintf(failure.subject, sizeof(failure.subject), "%s", subject);
	record(&failure, 0);
	errno = err;
	return err;
}

int univ_fail(const char *verb, int err, enum univ_reason reason, uint32_t detail, uint64_t value,
	      uint64_t bound)
{
	return univ_fail_about(verb, err, reason, detail, value, bound, NULL);
}

int univ_fail_hdr(const char *verb, int err, const struct univ_hdr *hdr)
{
	return univ_fail(verb, err, (enum univ_reason)hdr->reason, hdr->detail, hdr->value,
			 hdr->bound);
}

int univ_fail_unsupported(const char *verb)
{
	return univ_fail(verb, EOPNOTSUPP, UNIV_REASON_NOT_OFFERED, 0, 0, 0);
}

int univ_fail_probe(const char *verb)
{
	struct univ_failure failure = {
		.verb = verb,
		.err = EOPNOTSUPP,
		.reason = UNIV_REASON_NOT_OFFERED,
	};

	record(&failure, 1);
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

int univ_fail_memory(const char *verb, size_t bytes)
{
	return univ_fail(verb, ENOMEM, UNIV_REASON_NO_MEMORY, 1, bytes, 0);
}

void univ_fail_completion(const struct univ_failure *failure, int quiet)
{
	record(failure, quiet);
}

UNIV_EXPORT const char *univerbs_explain(void)
{
	if (!last.verb)
		return "no failure";
	univ_explain(&last, text, sizeof(text));
	return text;
}

static void error_fill(struct univerbs_error *error)
{
	error->err = last.err;
	error->reason = last.reason;
	error->detail = last.detail;
	error->value = last.value;
	error->bound = last.bound;
	snprintf(error->verb, sizeof(error->verb), "%s", last.verb ? last.verb : "");
	snprintf(error->text, sizeof(error->text), "%s", univerbs_explain());
}

/* Programs compiled against a shorter or longer struct get what both know. */
UNIV_EXPORT int univerbs_last_error(struct univerbs_error *out)
{
	struct univerbs_error error = {};
	uint32_t size = out->size;

	if (size < offsetof(struct univerbs_error, reason))
		return EINVAL;
	error_fill(&error);
	if (size > sizeof(error)) {
		memset((char *)out + sizeof(error), 0, size - sizeof(error));
		size = sizeof(error);
	}
	error.size = size;
	memcpy(out, &error, size);
	return last.verb ? 0 : ENOENT;
}
