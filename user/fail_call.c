// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Failures of calls other than posts: each reason's function and its sentence. */
#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "line.h"
#include "vocabulary.h"

int univ_fail_unknown(const char *verb, int err)
{
	return univ_fail(&(struct univ_failure) { .verb = verb, .err = err });
}

int univ_fail_size(const char *verb, int err, uint64_t given, uint64_t least)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = err,
		.reason = UNIV_REASON_SIZE,
		.value = given,
		.bound = least,
	});
}

void univ_explain_size(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "struct of %llu bytes is too short, %llu are needed", (ull)f->value,
		 (ull)f->bound);
}

int univ_fail_flags(const char *verb, int err, enum univ_flags word, uint64_t given,
		    uint64_t known)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = err,
		.reason = UNIV_REASON_FLAGS,
		.detail = word,
		.value = given,
		.bound = known,
	});
}

/* "IBV_QP_EX_WITH_FLUSH, 0x40000000" */
static void say_bits(struct univ_line *line, uint32_t word, uint64_t flags)
{
	const char *separator = "", *name;
	uint64_t unnamed = 0, bit;

	for (bit = 1; bit; bit <<= 1) {
		name = flags & bit ? univ_flag_name(word, bit) : NULL;
		if (name) {
			univ_say(line, "%s%s", separator, name);
			separator = ", ";
		} else {
			unnamed |= flags & bit;
		}
	}
	if (unnamed)
		univ_say(line, "%s0x%llx", separator, (ull)unnamed);
}

/* The same, and " (send_ops_flags)" */
static void say_flags(struct univ_line *line, uint32_t word, uint64_t flags)
{
	const char *name = univ_flags_word(word);

	say_bits(line, word, flags);
	if (name)
		univ_say(line, " (%s)", name);
}

void univ_explain_flags(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "flags ");
	say_flags(line, f->detail, f->value & ~f->bound);
	univ_say(line, " are not supported");
	if (!f->bound)
		return;
	univ_say(line, "; supported are ");
	say_bits(line, f->detail, f->bound);
}

int univ_fail_flags_missing(const char *verb, enum univ_flags word, uint64_t missing)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_FLAGS_MISSING,
		.detail = word,
		.value = missing,
	});
}

void univ_explain_flags_missing(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "add ");
	say_flags(line, f->detail, f->value);
}

int univ_fail_zero(const char *verb, enum univ_limit what)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_ZERO,
		.detail = what,
	});
}

void univ_explain_zero(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the number of %s must not be 0", univ_limit_name(f->detail));
}

void univ_explain_limit(struct univ_line *line, const struct univ_failure *f)
{
	switch (f->detail) {
	case UNIV_LIMIT_RINGS:
		univ_say(line, "%llu bytes of ring memory asked, %llu are left (parameters "
			 "max_ring_mib and max_device_ring_mib of the module)", (ull)f->value,
			 (ull)f->bound);
		return;
	case UNIV_LIMIT_OBJECTS:
		univ_say(line, "the context has %llu objects, and may have no more (parameter "
			 "max_objects of the module)", (ull)f->bound);
		return;
	case UNIV_LIMIT_POLLERS:
		univ_say(line, "%llu poller threads run already (parameter max_pollers of the "
			 "module); posting makes system calls", (ull)f->bound);
		return;
	case UNIV_LIMIT_CONTEXTS:
		univ_say(line, "%s is open too often (parameter max_contexts of the module), or "
			 "there are too many open files", f->subject);
		return;
	}
	univ_say(line, "%llu %s asked, the limit is %llu", (ull)f->value,
		 univ_limit_name(f->detail), (ull)f->bound);
}

int univ_fail_memory(const char *verb, size_t bytes)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = ENOMEM,
		.reason = UNIV_REASON_NO_MEMORY,
		.detail = 1,
		.value = bytes,
	});
}

int univ_fail_kernel_memory(const char *verb, int err, size_t bytes)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = err,
		.reason = UNIV_REASON_NO_MEMORY,
		.value = bytes,
	});
}

void univ_explain_memory(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "no memory");
	if (f->value)
		univ_say(line, " for %llu bytes", (ull)f->value);
	univ_say(line, f->detail ? " in the process" : " in the kernel");
}

/* The program gave none; what the kernel does not find has a handle. */
int univ_fail_no_object(const char *verb, enum univ_object_type type)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_HANDLE,
		.detail = type,
	});
}

void univ_explain_handle(struct univ_line *line, const struct univ_failure *f)
{
	if (f->value)
		univ_say(line, "there is no such %s (handle %llu)", univ_object_name(f->detail),
			 (ull)f->value);
	else
		univ_say(line, "no %s was given", univ_object_name(f->detail));
}

/* A buffer is of the domain that it was allocated in. */
int univ_fail_other_domain(const char *verb)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_DOMAIN,
	});
}

int univ_fail_context(const char *verb, enum univ_object_type type)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_CONTEXT,
		.detail = type,
	});
}

void univ_explain_context(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the %s is of another context (another ibv_open_device); make all objects "
		 "that belong together with one", univ_object_name(f->detail));
}

int univ_fail_no_address(const char *verb, size_t length)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_ADDRESS,
		.detail = 2,
		.bound = length,
	});
}

/* Not all of the bytes lie in the buffer that was given with them. */
int univ_fail_outside(const char *verb, const void *addr, size_t length)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_ADDRESS,
		.detail = 1,
		.value = (uintptr_t)addr,
		.bound = length,
	});
}

void univ_explain_address(struct univ_line *line, const struct univ_failure *f)
{
	if (f->err == EFAULT)
		univ_say(line, "not all of the %llu bytes at 0x%llx is mapped with that permission",
			 (ull)f->bound, (ull)f->value);
	else if (f->detail == 2)
		univ_say(line, "no address was given for the %llu bytes", (ull)f->bound);
	else if (f->detail)
		univ_say(line, "the %llu bytes at 0x%llx are not all within the buffer",
			 (ull)f->bound, (ull)f->value);
	else
		univ_say(line, "iova 0x%llx and the memory's address differ in their low 12 bits; "
			 "both must have the same offset in their page", (ull)f->value);
}

void univ_explain_access(struct univ_line *line, const struct univ_failure *f)
{
	const uint64_t writes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	if ((f->value & writes) && !(f->value & IBV_ACCESS_LOCAL_WRITE)) {
		univ_say(line, "%s needs IBV_ACCESS_LOCAL_WRITE",
			 f->value & IBV_ACCESS_REMOTE_WRITE ?
			 "IBV_ACCESS_REMOTE_WRITE" : "IBV_ACCESS_REMOTE_ATOMIC");
		return;
	}
	univ_say(line, "not all of these flags are offered by the device: ");
	say_flags(line, UNIV_FLAGS_ACCESS, f->value);
}

int univ_fail_qp_type(const char *verb, uint32_t type)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_QP_TYPE,
		.value = type,
	});
}

void univ_explain_qp_type(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "not possible for %s queue pair", univ_qp_type_name((uint32_t)f->value));
}

int univ_fail_no_gid(const char *verb, int err, uint32_t index)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = err,
		.reason = UNIV_REASON_GID_INDEX,
		.value = index,
	});
}

void univ_explain_gid_index(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "there is no GID at index %llu", (ull)f->value);
	if (f->bound && f->value >= f->bound)
		univ_say(line, "; the port's table ends at %llu", (ull)f->bound - 1);
	else
		univ_say(line, " now (the table: /sys/class/infiniband/*/ports/*/gids)");
}

int univ_fail_no_route(const char *verb, int err)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = err,
		.reason = UNIV_REASON_NO_ROUTE,
	});
}

void univ_explain_no_route(struct univ_line *line, const struct univ_failure *f)
{
	(void)f;
	univ_say(line, "the destination cannot be resolved (no route, no neighbour, or no GID of "
		 "ours to reach it from)");
}

int univ_fail_channel_busy(const char *verb, int queues)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EBUSY,
		.reason = UNIV_REASON_CHANNEL_BUSY,
		.value = (uint64_t)queues,
	});
}

void univ_explain_channel_busy(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%llu completion queues use the channel still", (ull)f->value);
}

int univ_fail_not_xrc(const char *verb)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_NOT_XRC,
	});
}

void univ_explain_not_xrc(struct univ_line *line, const struct univ_failure *f)
{
	(void)f;
	univ_say(line, "the shared receive queue is not one of XRC (make it with IBV_SRQT_XRC)");
}

int univ_fail_unsupported(const char *verb)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EOPNOTSUPP,
		.reason = UNIV_REASON_NOT_OFFERED,
	});
}

int univ_fail_no_dmabuf(const char *verb)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = ENODATA,
		.reason = UNIV_REASON_NOT_OFFERED,
	});
}

void univ_explain_not_offered(struct univ_line *line, const struct univ_failure *f)
{
	(void)f;
	univ_say(line, "not offered by univerbs");
}
