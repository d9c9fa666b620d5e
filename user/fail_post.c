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

int univ_fail_atomic(const char *verb, uint64_t address, uint32_t length)
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

/* The words that a reason adds to the status of a completion, or NULL. */
static const char *completion_cause(const struct univ_failure *f)
{
	switch (f->reason) {
	case UNIV_REASON_RING_CORRUPT:
		return "the ring's index was overwritten";
	case UNIV_REASON_WR_OPCODE:
		return "the operation is not possible on this kind of queue pair";
	case UNIV_REASON_FLAGS:
		return "unknown flags in the request";
	case UNIV_REASON_WR_SGE:
		return "too many scatter/gather entries";
	case UNIV_REASON_WR_INLINE:
		return "too much inline data";
	case UNIV_REASON_WR_AH:
		return "no such address handle, or one of another protection domain "
		       "(ibv_wr_set_ud_addr)";
	case UNIV_REASON_WR_KEY:
		return "a local key that is not of this process";
	case UNIV_REASON_WR_REFUSED:
		return "the device refused the request (dmesg may say why)";
	case UNIV_REASON_DEVICE_GONE:
		return "the device was removed";
	case UNIV_REASON_KEY_UNKNOWN:
		return f->detail == IBV_WC_LOC_PROT_ERR ?
			"no memory region of the queue pair's protection domain has that lkey "
			"(another domain's, or deregistered?)" :
			"no memory region of the peer's protection domain has that rkey (another "
			"domain's, or deregistered?), and no window bound there grants this";
	case UNIV_REASON_KEY_RANGE:
		return f->detail == IBV_WC_LOC_PROT_ERR ?
			"the memory region of that lkey does not have all of these bytes" :
			"the memory region of that rkey does not have all of these bytes";
	case UNIV_REASON_KEY_ACCESS:
		return f->detail == IBV_WC_LOC_PROT_ERR ?
			"the memory region of that lkey was registered without "
			"IBV_ACCESS_LOCAL_WRITE" :
			"the memory region of that rkey was registered without the access that "
			"the operation needs (IBV_ACCESS_REMOTE_...)";
	case UNIV_REASON_QP_ACCESS:
		return "the peer's qp_access_flags do not allow the operation";
	case UNIV_REASON_RECV_SHORT:
		return "the message is longer than the receive request's memory (a datagram needs "
		       "40 bytes more, for the GRH)";
	default:
		return univ_status_cause(f->detail);
	}
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
