/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The last failure of each thread, and one function for each reason to record it. */
#ifndef UNIV_USER_REASON_H
#define UNIV_USER_REASON_H

#include <stdbool.h>
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

#define UNIV_COLD __attribute__((cold))

/*
 * Functions that record a failure set errno and return it. They print it, if the user
 * wants that; but for those of fail_post.c, which are called under the lock of a
 * queue: nobody is to wait there for whoever reads standard error, and a thread
 * that is cancelled while it prints must not keep a lock. What they recorded is
 * printed by univ_fail_tell(), which whoever unlocks calls.
 */
int univ_fail(const struct univ_failure *failure) UNIV_COLD;
int univ_fail_later(const struct univ_failure *failure) UNIV_COLD;
void univ_fail_tell(void) UNIV_COLD;

/* From now on all of this thread's failures and warnings are printed by univ_fail_tell() alone. */
void univ_fail_defer(void) UNIV_COLD;

/* Whether the user wants failures to be printed. */
bool univ_fail_printed(void);

int univ_fail_hdr(const char *verb, int err, const struct univ_hdr *hdr) UNIV_COLD;

/* fail_call.c: @verb must outlive the thread, here and below. */
int univ_fail_unknown(const char *verb, int err) UNIV_COLD;
int univ_fail_size(const char *verb, int err, uint64_t given, uint64_t least) UNIV_COLD;
int univ_fail_flags(const char *verb, int err, enum univ_flags word, uint64_t given,
		    uint64_t known) UNIV_COLD;
int univ_fail_flags_missing(const char *verb, enum univ_flags word, uint64_t missing) UNIV_COLD;
int univ_fail_zero(const char *verb, enum univ_limit what) UNIV_COLD;
int univ_fail_memory(const char *verb, size_t bytes) UNIV_COLD;
int univ_fail_kernel_memory(const char *verb, int err, size_t bytes) UNIV_COLD;
int univ_fail_no_object(const char *verb, enum univ_object_type type) UNIV_COLD;
int univ_fail_context(const char *verb, enum univ_object_type type) UNIV_COLD;
int univ_fail_no_address(const char *verb, size_t length) UNIV_COLD;
int univ_fail_outside(const char *verb, const void *addr, size_t length) UNIV_COLD;
int univ_fail_other_domain(const char *verb) UNIV_COLD;
int univ_fail_no_dmabuf(const char *verb) UNIV_COLD;
int univ_fail_qp_type(const char *verb, uint32_t type) UNIV_COLD;
int univ_fail_no_gid(const char *verb, int err, uint32_t index) UNIV_COLD;
int univ_fail_no_route(const char *verb, int err) UNIV_COLD;
int univ_fail_channel_busy(const char *verb, int queues) UNIV_COLD;
int univ_fail_not_xrc(const char *verb) UNIV_COLD;

/* A verb that univerbs does not have: EOPNOTSUPP. */
int univ_fail_unsupported(const char *verb) UNIV_COLD;

/* The same of a question to which programs take no for an answer: not printed. */
int univ_fail_probe(const char *verb) UNIV_COLD;

/* fail_post.c: printed by univ_fail_tell() */
int univ_fail_opcode(const char *verb, int err, uint32_t qp_type, uint32_t opcode) UNIV_COLD;
int univ_fail_not_asked(const char *verb, uint32_t opcode) UNIV_COLD;
int univ_fail_no_operation(const char *verb, int err, uint32_t opcode) UNIV_COLD;
int univ_fail_batch_only(const char *verb, uint32_t opcode) UNIV_COLD;
int univ_fail_sges(const char *verb, uint64_t given, uint32_t most) UNIV_COLD;
int univ_fail_inline(const char *verb, uint64_t bytes, uint32_t most) UNIV_COLD;
int univ_fail_inline_read(const char *verb) UNIV_COLD;
int univ_fail_no_ah(const char *verb) UNIV_COLD;
int univ_fail_window_key(const char *verb, uint32_t key, uint32_t window) UNIV_COLD;
int univ_fail_window_type(const char *verb, uint32_t type) UNIV_COLD;
int univ_fail_not_xrc_send(const char *verb, uint32_t type) UNIV_COLD;
int univ_fail_bind_nothing(const char *verb, enum univ_object_type missing) UNIV_COLD;
int univ_fail_bind_empty(const char *verb) UNIV_COLD;
int univ_fail_atomic(const char *verb, uint64_t address, uint64_t length) UNIV_COLD;
int univ_fail_full(const char *verb, enum univ_limit queue, uint32_t used, uint32_t most) UNIV_COLD;
int univ_fail_overrun(uint32_t entries, uint64_t requests) UNIV_COLD;
int univ_fail_post_state(const char *verb, uint32_t state, bool receive) UNIV_COLD;
int univ_fail_no_receives(const char *verb, uint32_t state, bool shared) UNIV_COLD;

/*
 * A completion that failed: not an error of the poll, and errno stays. What
 * @quiet is recorded, but not printed.
 */
void univ_fail_completion(const struct univ_failure *failure, bool quiet) UNIV_COLD;
#define UNIV_COMPLETION_VERB "ibv_poll_cq"

/* fail_device.c */
int univ_fail_gone(const char *verb, const char *device) UNIV_COLD;
int univ_fail_gone_later(const char *verb, const char *device) UNIV_COLD;
int univ_fail_no_module(const char *verb, const char *device) UNIV_COLD;
int univ_fail_version(const char *verb, uint64_t module, const char *device) UNIV_COLD;
int univ_fail_no_device(const char *verb) UNIV_COLD;
int univ_fail_no_verbs(const char *verb, const char *device) UNIV_COLD;
int univ_fail_driver_unchecked(const char *verb, const char *device) UNIV_COLD;
int univ_fail_open(const char *verb, int err, const char *path) UNIV_COLD;

/* Hangs and losses that are no failure yet: printed, if the user wants that. */
void univ_warn(const struct univ_failure *failure) UNIV_COLD;
void univ_warn_unacknowledged(const char *verb, enum univ_object_type type,
			      uint32_t events) UNIV_COLD;
void univ_warn_not_armed(void) UNIV_COLD;
void univ_warn_unsignaled(uint32_t qp_num, uint32_t requests) UNIV_COLD;
void univ_warn_no_timeout(uint32_t qp_num, uint32_t requests) UNIV_COLD;
void univ_warn_ah_context(const char *verb) UNIV_COLD;
void univ_warn_qkey(uint32_t qp_num, uint64_t datagrams) UNIV_COLD;
void univ_warn_recv_short(uint32_t qp_num, uint64_t datagrams) UNIV_COLD;
void univ_warn_left_objects(int objects) UNIV_COLD;
void univ_warn_forked(const char *verb) UNIV_COLD;

/* explain.c */
void univ_explain(const struct univ_failure *failure, char *text, size_t size);

#endif
