// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Failures of posts and of completions: each reason's function and its sentence.
 * All of them are printed by univ_fail_tell(), without the queue's lock.
 */
#include <errno.h>

#include <infiniband/verbs.h>

#include "line.h"
#include "vocabulary.h"

int univ_fail_opcode(const char *verb, int err, uint32_t qp_type, uint32_t opcode)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = err,
		.reason = UNIV_REASON_WR_OPCODE,
		.detail = qp_type,
		.value = opcode,
	});
}

void univ_explain_wr_opcode(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%s is not possible on %s queue pair",
		 univ_opcode_name((uint32_t)f->value), univ_qp_type_name(f->detail));
}

int univ_fail_not_asked(const char *verb, uint32_t opcode)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EOPNOTSUPP,
		.reason = UNIV_REASON_WR_NOT_ASKED,
		.value = opcode,
	});
}

void univ_explain_wr_not_asked(struct univ_line *line, const struct univ_failure *f)
{
	/* The flag is called as the operation, "IBV_WR_" apart. */
	univ_say(line, "the queue pair was created without IBV_QP_EX_WITH_%s in send_ops_flags",
		 univ_opcode_name((uint32_t)f->value) + sizeof("IBV_WR_") - 1);
}

int univ_fail_no_operation(const char *verb, int err, uint32_t opcode)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = err,
		.reason = UNIV_REASON_WR_DEVICE,
		.value = opcode,
	});
}

void univ_explain_wr_device(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the device does not offer %s (uroce devices do)",
		 univ_opcode_name((uint32_t)f->value));
}

int univ_fail_batch_only(const char *verb, uint32_t opcode)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_WR_BATCH,
		.value = opcode,
	});
}

void univ_explain_wr_batch(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%s is posted by ibv_wr_atomic_write alone, on a queue pair created with "
		 "IBV_QP_EX_WITH_ATOMIC_WRITE", univ_opcode_name((uint32_t)f->value));
}

int univ_fail_sges(const char *verb, uint64_t given, uint32_t most)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_WR_SGE,
		.value = given,
		.bound = most,
	});
}

void univ_explain_wr_sge(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%llu scatter/gather entries, the queue was created for %llu "
		 "(max_send_sge, max_recv_sge)", (ull)f->value, (ull)f->bound);
}

int univ_fail_inline(const char *verb, uint64_t bytes, uint32_t most)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_WR_INLINE,
		.value = bytes,
		.bound = most,
	});
}

int univ_fail_inline_read(const char *verb)
{
	return univ_fail_inline(verb, 0, 0);
}

void univ_explain_wr_inline(struct univ_line *line, const struct univ_failure *f)
{
	if (f->value)
		univ_say(line, "%llu bytes inline, the queue pair was created with a "
			 "max_inline_data of %llu", (ull)f->value, (ull)f->bound);
	else
		univ_say(line, "IBV_SEND_INLINE is for data that is sent, not for what is read");
}

int univ_fail_no_ah(const char *verb)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_WR_AH,
	});
}

void univ_explain_wr_ah(struct univ_line *line, const struct univ_failure *f)
{
	(void)f;
	univ_say(line, "a datagram needs an address handle of its protection domain");
}

int univ_fail_window_key(const char *verb, uint32_t key, uint32_t window)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_WR_KEY,
		.value = key,
		.bound = window,
	});
}

void univ_explain_wr_key(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "key 0x%llx is not one of the window whose key is 0x%llx (its upper 24 "
		 "bits stay)", (ull)f->value, (ull)f->bound);
}

int univ_fail_window_type(const char *verb, uint32_t type)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_MW_TYPE,
		.value = type,
	});
}

void univ_explain_mw_type(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "not possible with a memory window of type %llu", (ull)f->value);
}

int univ_fail_not_xrc_send(const char *verb, uint32_t type)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_QP_TYPE,
		.value = type,
	});
}

int univ_fail_bind_nothing(const char *verb, enum univ_object_type missing)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_HANDLE,
		.detail = missing,
	});
}

int univ_fail_bind_empty(const char *verb)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_ZERO,
		.detail = UNIV_LIMIT_MW_LENGTH,
	});
}

int univ_fail_atomic(const char *verb, uint64_t address, uint64_t length)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_ATOMIC,
		.value = address,
		.bound = length,
	});
}

void univ_explain_atomic(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "an atomic operation needs 8 bytes at a multiple of 8, not %llu at 0x%llx",
		 (ull)f->bound, (ull)f->value);
}

int univ_fail_full(const char *verb, enum univ_limit queue, uint32_t used, uint32_t most)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = verb,
		.err = ENOMEM,
		.reason = UNIV_REASON_QUEUE_FULL,
		.detail = queue,
		.value = used,
		.bound = most,
	});
}

/* @requests: how many the queue pairs of the completion queue may have outstanding */
int univ_fail_overrun(uint32_t entries, uint64_t requests)
{
	return univ_fail_later(&(struct univ_failure) {
		.verb = UNIV_COMPLETION_VERB,
		.err = EOVERFLOW,
		.reason = UNIV_REASON_QUEUE_FULL,
		.detail = UNIV_LIMIT_CQE,
		.value = requests,
		.bound = entries,
	});
}

void univ_explain_full(struct univ_line *line, const struct univ_failure *f)
{
	if (f->detail == UNIV_LIMIT_CQE) {
		univ_say(line, "the completion queue has overrun: its %llu entries were full and a "
			 "completion was lost", (ull)f->bound);
		if (f->value > f->bound)
			univ_say(line, "; its queue pairs may have %llu requests outstanding, "
				 "create it with as many entries", (ull)f->value);
		return;
	}
	univ_say(line, "the queue is full: %llu requests of %llu have not completed",
		 (ull)f->value, (ull)f->bound);
	if (f->detail == UNIV_LIMIT_SEND_WR)
		univ_say(line, "; poll the completion queue, and signal one request in %llu "
			 "at least (IBV_SEND_SIGNALED)", (ull)f->bound);
}

int univ_fail_post_state(const char *verb, uint32_t state, bool receive)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_POST_STATE,
		.detail = receive ? 2 : 0,
		.value = state,
	});
}

/* A receive on a queue pair without a receive queue */
int univ_fail_no_receives(const char *verb, uint32_t state, bool shared)
{
	return univ_fail(&(struct univ_failure) {
		.verb = verb,
		.err = EINVAL,
		.reason = UNIV_REASON_POST_STATE,
		.detail = 1,
		.value = state,
		.bound = shared,
	});
}

void univ_explain_post_state(struct univ_line *line, const struct univ_failure *f)
{
	if (f->detail == 1) {
		univ_say(line, f->bound ?
			 "the queue pair uses a shared receive queue (ibv_post_srq_recv)" :
			 "the queue pair was created without a receive queue (max_recv_wr)");
		return;
	}
	univ_say(line, "the queue pair is in state %s; %s (ibv_modify_qp)",
		 univ_state_name((uint32_t)f->value),
		 f->detail ? "receives are taken from INIT on" : "sends are taken from RTS on");
}

struct cause {
	uint16_t reason;
	uint16_t status;	/* of this one alone, or of any */
	const char *words;
};

#define ANY	UINT16_MAX

/* The words that a reason adds to the status of a completion: those of the first row that fits */
static const struct cause causes[] = {
	{ UNIV_REASON_RING_CORRUPT, ANY, "the ring's index was overwritten" },
	{ UNIV_REASON_WR_OPCODE, ANY, "the operation is not possible on this kind of queue pair, or not with "
		"inline data" },
	{ UNIV_REASON_FLAGS, IBV_WC_MW_BIND_ERR, "a window has no such access flags" },
	{ UNIV_REASON_FLAGS, ANY, "unknown flags in the request" },
	{ UNIV_REASON_WR_SGE, ANY, "too many scatter/gather entries" },
	{ UNIV_REASON_WR_INLINE, ANY, "too much inline data (an atomic write has 8 bytes)" },
	{ UNIV_REASON_WR_AH, ANY, "no such address handle, or one of another protection domain "
		"(ibv_wr_set_ud_addr)" },
	{ UNIV_REASON_WR_KEY, ANY, "a local key that is not of this process" },
	{ UNIV_REASON_WR_REFUSED, ANY, "the device refused the request (dmesg may say why)" },
	{ UNIV_REASON_DEVICE_GONE, ANY, "the device was removed" },
	{ UNIV_REASON_KEY_UNKNOWN, IBV_WC_LOC_PROT_ERR,
		"no memory region of the queue pair's protection domain has that lkey (another "
		"domain's, or deregistered?)" },
	{ UNIV_REASON_KEY_UNKNOWN, IBV_WC_MW_BIND_ERR,
		"no memory window of the queue pair's protection domain has that rkey, or no memory "
		"region has that lkey (another domain's, or deregistered?)" },
	{ UNIV_REASON_KEY_UNKNOWN, ANY,
		"no memory region of the peer's protection domain has that rkey (another domain's, "
		"or deregistered?), and no window bound there grants this" },
	{ UNIV_REASON_KEY_RANGE, IBV_WC_LOC_PROT_ERR,
		"the memory region of that lkey does not have all of these bytes" },
	{ UNIV_REASON_KEY_RANGE, IBV_WC_MW_BIND_ERR,
		"the memory region of that lkey does not have all of the window's bytes" },
	{ UNIV_REASON_KEY_RANGE, ANY,
		"the memory region of that rkey does not have all of these bytes" },
	{ UNIV_REASON_KEY_ACCESS, IBV_WC_LOC_PROT_ERR,
		"the memory region of that lkey was registered without IBV_ACCESS_LOCAL_WRITE" },
	{ UNIV_REASON_KEY_ACCESS, IBV_WC_MW_BIND_ERR,
		"the memory region of that lkey was registered without IBV_ACCESS_MW_BIND, or, if "
		"the peer is to write, without IBV_ACCESS_LOCAL_WRITE" },
	{ UNIV_REASON_KEY_ACCESS, ANY,
		"the memory region of that rkey was registered without the access that the "
		"operation needs (IBV_ACCESS_REMOTE_...)" },
	{ UNIV_REASON_QP_ACCESS, ANY, "the peer's qp_access_flags do not allow the operation" },
	{ UNIV_REASON_RECV_SHORT, ANY,
		"the message is longer than the receive request's memory (a datagram needs 40 bytes "
		"more, for the GRH)" },
	{ UNIV_REASON_LIMIT, IBV_WC_LOC_LEN_ERR,
		"the message is longer than the port sends: max_msg_sz, or, of a datagram, "
		"active_mtu (ibv_query_port)" },
	{ UNIV_REASON_LIMIT, ANY,
		"the peer's max_dest_rd_atomic is 0, so it takes no read and no atomic operation" },
	{ UNIV_REASON_ATOMIC, ANY, "an atomic operation needs 8 bytes at a multiple of 8" },
	{ UNIV_REASON_MW_TYPE, IBV_WC_MW_BIND_ERR,
		"a window of type 1 cannot be zero-based, and one of type 2 is not unbound by a "
		"length of 0 (IBV_WR_LOCAL_INV does that)" },
	{ UNIV_REASON_MW_TYPE, ANY,
		"the key that was to be invalidated is not that of a memory window of type 2 which "
		"its queue pair has bound" },
	{ UNIV_REASON_BUSY, ANY, "the window of type 2 is bound already (IBV_WR_LOCAL_INV first)" },
	{ UNIV_REASON_XRC_SRQN, ANY,
		"the peer's XRC domain has no shared receive queue of that number" },
};

static const char *completion_cause(const struct univ_failure *f)
{
	const struct cause *cause;

	for (cause = causes; cause < causes + sizeof(causes) / sizeof(causes[0]); cause++)
		if (cause->reason == f->reason &&
		    (cause->status == ANY || cause->status == f->detail))
			return cause->words;
	return univ_status_cause(f->detail);
}

void univ_explain_completion(struct univ_line *line, const struct univ_failure *f)
{
	const char *cause = completion_cause(f);

	univ_say(line, "QP %llu work request %llu: %s", (ull)f->bound, (ull)f->value,
		 univ_status_name(f->detail));
	if (f->subject[0])
		univ_say(line, ": %s", f->subject);
	if (cause && !(f->detail == IBV_WC_WR_FLUSH_ERR && f->subject[0]))
		univ_say(line, ": %s", cause);
}
