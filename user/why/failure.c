// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The last failure of each thread: records it, prints it, and returns it to the program. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/univerbs.h>

#include "base/base.h"
#include "why/line.h"

#define TEXT_SIZE 512

/*
 * The last failure of a thread. A program may load the library late, for example by a plugin: the
 * memory for thread-local variables that is left then is small, and all libraries share it. So a
 * thread allocates this when it fails for the first time.
 */
struct record {
	struct univ_failure last;
	char text[TEXT_SIZE];
};

static __thread struct record *record;
static pthread_key_t record_key;
static bool record_has_key;
static pthread_once_t record_once = PTHREAD_ONCE_INIT;

static void record_free(void *arg)
{
	record = NULL;
	free(arg);
}

static void record_init(void)
{
	record_has_key = !pthread_key_create(&record_key, record_free);
}

/* Threads that end later must not call a function of an unloaded library. */
static __attribute__((destructor)) void record_fini(void)
{
	if (record_has_key) {
		record_has_key = false;
		pthread_key_delete(record_key);
	}
}

static struct record *record_new(void)
{
	struct record *new;

	pthread_once(&record_once, record_init);
	if (!record_has_key)
		return NULL;
	new = calloc(1, sizeof(*new));
	if (new && pthread_setspecific(record_key, new)) {
		free(new);
		return NULL;
	}
	return new;
}

/* Without memory nothing is recorded. */
static void record_set(const struct univ_failure *failure)
{
	if (!record)
		record = record_new();
	if (record)
		record->last = *failure;
}

/* Failures that univ_fail_tell() will print, the oldest first. */
struct untold {
	struct untold *next;
	struct univ_failure failure;
};

static __thread struct untold *untold;
static __thread bool deferring;

static bool printing;
static pthread_once_t printing_once = PTHREAD_ONCE_INIT;

static void printing_init(void)
{
	const char *env = secure_getenv("UNIVERBS_EXPLAIN");

	printing = env && *env && strcmp(env, "0");
}

bool univ_fail_printed(void)
{
	pthread_once(&printing_once, printing_init);
	return printing;
}

/*
 * Writes a line by one call, so that lines of several threads do not mix. Verbs are
 * no cancellation points, so cancellation is disabled during the call.
 */
static void print(const struct univ_failure *failure)
{
	char line[TEXT_SIZE + 16];
	char body[TEXT_SIZE];
	int length, state;

	univ_explain(failure, body, sizeof(body));
	length = snprintf(line, sizeof(line), "univerbs: %s\n", body);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		line[0] = '\0';	/* standard error is closed */
	pthread_setcancelstate(state, &state);
}

/* Without memory the failure is recorded, but not printed. */
static void print_later(const struct univ_failure *failure)
{
	struct untold *entry = malloc(sizeof(*entry)), **end = &untold;

	if (!entry)
		return;
	entry->next = NULL;
	entry->failure = *failure;
	while (*end)
		end = &(*end)->next;
	*end = entry;
}

static void tell(const struct univ_failure *failure)
{
	if (!univ_fail_printed())
		return;
	if (deferring)
		print_later(failure);
	else
		print(failure);
}

int univ_fail(const struct univ_failure *failure)
{
	record_set(failure);
	tell(failure);
	errno = failure->err;
	return failure->err;
}

int univ_fail_later(const struct univ_failure *failure)
{
	record_set(failure);
	if (univ_fail_printed())
		print_later(failure);
	errno = failure->err;
	return failure->err;
}

void univ_fail_defer(void)
{
	deferring = true;
}

void univ_fail_tell(void)
{
	struct untold *entry;
	int err = errno;

	deferring = false;
	while ((entry = untold)) {
		untold = entry->next;
		print(&entry->failure);
		free(entry);
	}
	errno = err;
}

void univ_warn(const struct univ_failure *failure)
{
	int err = errno;

	tell(failure);
	errno = err;
}

void univ_fail_record(const struct univ_failure *failure, bool quiet)
{
	record_set(failure);
	if (!quiet && univ_fail_printed())
		print_later(failure);
}

UNIV_EXPORT const char *univerbs_explain(void)
{
	if (!record)
		return "no failure";
	univ_explain(&record->last, record->text, sizeof(record->text));
	return record->text;
}

static void error_fill(struct univerbs_error *error)
{
	if (record) {
		error->err = record->last.err;
		error->reason = record->last.reason;
		error->detail = record->last.detail;
		error->value = record->last.value;
		error->bound = record->last.bound;
		snprintf(error->verb, sizeof(error->verb), "%s", record->last.verb);
	}
	snprintf(error->text, sizeof(error->text), "%s", univerbs_explain());
}

/* A program compiled with a shorter or longer struct gets the members that both know. */
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
	return record ? 0 : ENOENT;
}
