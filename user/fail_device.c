// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Failures about devices, and programs that hang without a failure: each reason's
 * function and its sentence.
 */
#include <errno.h>
#include <stdio.h>

#include "line.h"
#include "vocabulary.h"

static struct univ_failure about(const char *verb, int err, enum univ_reason reason,
				 const char *subject)
{
	struct univ_failure failure = {
		.verb = verb,
		.err = err,
		.reason = reason,
	};

	snprintf(failure.subject, sizeof(failure.subject), "%s", subject);
	return failure;
}

int univ_fail_gone(const char *verb, const char *device)
{
	struct univ_failure failure = about(verb, ENODEV, UNIV_REASON_DEVICE_GONE, device);

	return univ_fail(&failure);
}

/* Under the lock of a queue, see fail_post.c. */
int univ_fail_gone_later(const char *verb, const char *device)
{
	struct univ_failure failure = about(verb, ENODEV, UNIV_REASON_DEVICE_GONE, device);

	return univ_fail_later(&failure);
}

void univ_explain_gone(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the device was removed");
	if (f->subject[0])
		univ_say(line, " (%s)", f->subject);
}

int univ_fail_no_module(const char *verb, const char *device)
{
	struct univ_failure failure = about(verb, ENODEV, UNIV_REASON_NO_MODULE, device);

	return univ_fail(&failure);
}

int univ_fail_version(const char *verb, uint64_t module, const char *device)
{
	struct univ_failure failure = about(verb, EPROTONOSUPPORT, UNIV_REASON_NO_MODULE, device);

	failure.value = module;
	failure.bound = UNIV_ABI_VERSION;
	return univ_fail(&failure);
}

void univ_explain_no_module(struct univ_line *line, const struct univ_failure *f)
{
	if (f->bound)
		univ_say(line, "the module univerbs speaks version %llu of the interface, this "
			 "library version %llu", (ull)f->value, (ull)f->bound);
	else
		univ_say(line, "module univerbs is not loaded (modprobe univerbs)");
	if (f->subject[0])
		univ_say(line, "; device %s", f->subject);
}

int univ_fail_no_device(const char *verb)
{
	struct univ_failure failure = about(verb, ENODEV, UNIV_REASON_NO_DEVICE, "");

	return univ_fail(&failure);
}

void univ_explain_no_device(struct univ_line *line, const struct univ_failure *f)
{
	if (f->subject[0])
		univ_say(line, "there is no %s (is udev running?)", f->subject);
	else
		univ_say(line, "there is no RDMA device (rdma link)");
}

int univ_fail_no_verbs(const char *verb, const char *device)
{
	struct univ_failure failure = about(verb, ENODEV, UNIV_REASON_NO_VERBS, device);

	return univ_fail(&failure);
}

void univ_explain_no_verbs(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "module univerbs is loaded and has no node for device %s: its driver offers "
		 "no verbs in the kernel, as efa and usnic, or making the node failed (dmesg)",
		 f->subject);
}

int univ_fail_driver_unchecked(const char *verb, const char *device)
{
	struct univ_failure failure = about(verb, ENODEV, UNIV_REASON_DRIVER_UNCHECKED, device);

	return univ_fail(&failure);
}

void univ_explain_driver_unchecked(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "univerbs does not serve device %s: nobody has checked that its driver keeps "
		 "processes from the kernel's memory (the module's parameter unchecked_drivers; the "
		 "kernel log names the driver)", f->subject);
}

/* Opening the node at @path gave @err. */
int univ_fail_open(const char *verb, int err, const char *path)
{
	struct univ_failure failure = about(verb, err, UNIV_REASON_NONE, path);

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

void univ_explain_node_permission(struct univ_line *line, const struct univ_failure *f)
{
	if (f->err == EPERM)
		univ_say(line, "%s is forbidden here: its device is in another network namespace, "
			 "or a device cgroup leaves the node out", f->subject);
	else
		univ_say(line, "no permission on %s (add the user to the group of that node)",
			 f->subject);
}

void univ_explain_cgroup(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the rdma cgroup allows no further %s (rdma.max)",
		 f->detail ? univ_object_name(f->detail) : "context");
}

/* No failure, so the number is that of a call that takes too long. */
#define WARNING(the_verb, the_reason, the_detail, the_value, the_bound)	\
	univ_warn(&(struct univ_failure) {				\
		.verb = (the_verb),					\
		.err = ETIME,						\
		.reason = UNIV_REASON_##the_reason,			\
		.detail = (the_detail),					\
		.value = (the_value),					\
		.bound = (the_bound),					\
	})

void univ_warn_unacknowledged(const char *verb, enum univ_object_type type, uint32_t events)
{
	WARNING(verb, UNACKNOWLEDGED, type, events, 0);
}

void univ_explain_unacknowledged(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "waits until %llu %s of the %s that the program has read %s acknowledged "
		 "(%s)",
		 (ull)f->value, f->value == 1 ? "event" : "events", univ_object_name(f->detail),
		 f->value == 1 ? "is" : "are",
		 f->detail == UNIV_OBJECT_CQ ? "ibv_ack_cq_events, ibv_ack_async_event" :
					       "ibv_ack_async_event");
}

void univ_warn_not_armed(void)
{
	WARNING("ibv_get_cq_event", NOT_ARMED, 0, 0, 0);
}

void univ_explain_not_armed(struct univ_line *line, const struct univ_failure *f)
{
	(void)f;
	univ_say(line, "waits for an event, and no completion queue of the channel is armed "
		 "(ibv_req_notify_cq, after each event)");
}

void univ_warn_unsignaled(uint32_t qp_num, uint32_t requests)
{
	WARNING(UNIV_COMPLETION_VERB, UNSIGNALED, 0, requests, qp_num);
}

void univ_explain_unsignaled(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "polled for a second in vain: none of the %llu requests on the send queue "
		 "of QP %llu is signaled (IBV_SEND_SIGNALED, or sq_sig_all)", (ull)f->value,
		 (ull)f->bound);
}

void univ_warn_no_timeout(uint32_t qp_num, uint32_t requests)
{
	WARNING(UNIV_COMPLETION_VERB, NO_TIMEOUT, 0, requests, qp_num);
}

void univ_explain_no_timeout(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "polled for a second in vain: QP %llu has %llu requests without an answer, "
		 "and with a timeout of 0 it waits for a lost peer for ever (IBV_QP_TIMEOUT)",
		 (ull)f->bound, (ull)f->value);
}

void univ_warn_ah_context(const char *verb)
{
	WARNING(verb, CONTEXT, UNIV_OBJECT_AH, 0, 0);
}

void univ_warn_qkey(uint32_t qp_num, uint64_t datagrams)
{
	WARNING(UNIV_COMPLETION_VERB, QKEY, 0, datagrams, qp_num);
}

static void explain_dropped(struct univ_line *line, const struct univ_failure *f,
			    const char *which)
{
	univ_say(line, "polled for a second in vain: since QP %llu is there, the port has dropped "
		 "%llu datagrams %s", (ull)f->bound, (ull)f->value, which);
}

void univ_explain_qkey(struct univ_line *line, const struct univ_failure *f)
{
	explain_dropped(line, f, "whose Q_Key (wr.ud.remote_qkey) was not the one of their "
			"receiver (IBV_QP_QKEY)");
}

void univ_warn_recv_short(uint32_t qp_num, uint64_t datagrams)
{
	WARNING(UNIV_COMPLETION_VERB, RECV_SHORT, 0, datagrams, qp_num);
}

void univ_explain_recv_short(struct univ_line *line, const struct univ_failure *f)
{
	explain_dropped(line, f, "that were longer than the receive request (a datagram needs 40 "
			"bytes more, for the GRH)");
}

void univ_warn_left_objects(int objects)
{
	WARNING("ibv_close_device", LEFT_OBJECTS, 0, (uint64_t)objects, 0);
}

void univ_explain_left_objects(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "%llu %s of the context not destroyed before; the kernel's half is gone, "
		 "the library's memory is lost", (ull)f->value,
		 f->value == 1 ? "object was" : "objects were");
}

void univ_warn_forked(const char *verb)
{
	WARNING(verb, FORKED, 0, 0, 0);
}

void univ_explain_forked(struct univ_line *line, const struct univ_failure *f)
{
	(void)f;
	univ_say(line, "this process is a child of fork(), and the queue pair is its parent's: "
		 "both write to one ring; open the device in the child");
}
