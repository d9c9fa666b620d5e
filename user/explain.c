// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Failures in words. One function for each reason that needs more than a
 * sentence; what they call things is in vocabulary.c.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <infiniband/univerbs.h>
#include <infiniband/verbs.h>

#include "export.h"
#include "reason.h"
#include "vocabulary.h"

typedef unsigned long long ull;

/* A line under construction; what does not fit is cut. */
struct line {
	char *text;
	size_t size;
	size_t used;
};

static __attribute__((format(printf, 2, 3))) void say(struct line *line, const char *format, ...)
{
	va_list args;
	int length;

	if (line->used >= line->size)
		return;
	va_start(args, format);
	length = vsnprintf(line->text + line->used, line->size - line->used, format, args);
	va_end(args);
	if (length > 0)
		line->used += (size_t)length;
}

/* "IBV_QP_PATH_MTU, IBV_QP_DEST_QPN" */
static void say_attributes(struct line *line, uint64_t mask)
{
	const char *separator = "";
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		if (!(mask >> bit & 1))
			continue;
		say(line, "%s%s", separator, univ_attribute_name(bit));
		separator = ", ";
	}
}

static void say_transition(struct line *line, const struct univ_failure *f)
{
	uint32_t from = f->detail >> 8, to = f->detail & 0xff;

	say(line, "%s -> %s", univ_state_name(from), univ_state_name(to));
	if (f->bound)
		say(line, " of %s queue pair", univ_qp_type_name((uint32_t)f->bound));
}

static void explain_flags(struct line *line, const struct univ_failure *f)
{
	say(line, "flags 0x%llx are not supported", (ull)(f->value & ~f->bound));
	if (f->bound)
		say(line, " (0x%llx are)", (ull)f->bound);
}

static void explain_limit(struct line *line, const struct univ_failure *f)
{
	switch (f->detail) {
	case UNIV_LIMIT_RINGS:
		say(line, "%llu bytes of ring memory asked, %llu are left (parameters max_ring_mib "
		    "and max_device_ring_mib of the module)", (ull)f->value, (ull)f->bound);
		return;
	case UNIV_LIMIT_OBJECTS:
		say(line, "the context has %llu objects, and may have no more (parameter "
		    "max_objects of the module)", (ull)f->bound);
		return;
	case UNIV_LIMIT_POLLERS:
		say(line, "%llu poller threads run already (parameter max_pollers of the module); "
		    "posting makes system calls", (ull)f->bound);
		return;
	case UNIV_LIMIT_CONTEXTS:
		say(line, "%s is open too often (parameter max_contexts of the module), or there "
		    "are too many open files", f->subject);
		return;
	}
	say(line, "%llu %s asked, the limit is %llu", (ull)f->value, univ_limit_name(f->detail),
	    (ull)f->bound);
}

static void explain_busy(struct line *line, const struct univ_failure *f)
{
	say(line, "the %s is still in use", univ_object_name(f->detail));
	if (f->bound)
		say(line, " by %llu %s", (ull)f->bound, f->bound == 1 ? "object" : "objects");
}

static void explain_handle_type(struct line *line, const struct univ_failure *f)
{
	say(line, "handle %llu is a %s, not a %s", (ull)f->value,
	    univ_object_name((uint32_t)f->bound), univ_object_name(f->detail));
}

static void explain_memory(struct line *line, const struct univ_failure *f)
{
	say(line, "no memory");
	if (f->value)
		say(line, " for %llu bytes", (ull)f->value);
	say(line, f->detail ? " in the process" : " in the kernel");
}

static void explain_address(struct line *line, const struct univ_failure *f)
{
	if (!strncmp(f->verb, "ibv_post", 8) || !strncmp(f->verb, "ibv_wr", 6))
		say(line, "an atomic operation needs 8 bytes at a multiple of 8, not %llu at "
		    "0x%llx", (ull)f->bound, (ull)f->value);
	else if (f->err == EFAULT)
		say(line, "not all of the %llu bytes at 0x%llx is mapped with that permission",
		    (ull)f->bound, (ull)f->value);
	else if (f->value && f->bound)
		say(line, "0x%llx is not at the same place in its page as the memory's address",
		    (ull)f->value);
	else
		say(line, "address and length must not be zero");
}

static void explain_access(struct line *line, const struct univ_failure *f)
{
	const uint64_t writes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	if ((f->value & writes) && !(f->value & IBV_ACCESS_LOCAL_WRITE))
		say(line, "access flags 0x%llx: %s needs IBV_ACCESS_LOCAL_WRITE", (ull)f->value,
		    f->value & IBV_ACCESS_REMOTE_WRITE ? "IBV_ACCESS_REMOTE_WRITE" :
							 "IBV_ACCESS_REMOTE_ATOMIC");
	else
		say(line, "access flags 0x%llx are not all offered by the device", (ull)f->value);
}

static void explain_attr_value(struct line *line, const struct univ_failure *f)
{
	say_attributes(line, f->detail);
	if (f->detail == IBV_QP_PATH_MTU)
		say(line, " must be one of IBV_MTU_256 to IBV_MTU_4096");
	else if (f->detail == IBV_QP_ACCESS_FLAGS)
		say(line, " holds flags 0x%llx that mean nothing here", (ull)f->value);
	else
		say(line, " is %llu, the highest allowed is %llu", (ull)f->value, (ull)f->bound);
}

static void explain_missing(struct line *line, const struct univ_failure *f)
{
	say_transition(line, f);
	say(line, " needs ");
	say_attributes(line, f->value);
}

static void explain_surplus(struct line *line, const struct univ_failure *f)
{
	say_transition(line, f);
	say(line, " does not take ");
	say_attributes(line, f->value);
}

static void explain_qp_state(struct line *line, const struct univ_failure *f)
{
	say(line, "there is no transition ");
	say_transition(line, f);
}

static void explain_wr_inline(struct line *line, const struct univ_failure *f)
{
	if (f->value)
		say(line, "%llu bytes inline, max_inline_data is %llu", (ull)f->value,
		    (ull)f->bound);
	else
		say(line, "IBV_SEND_INLINE is for data that is sent, not for what is read");
}

static void explain_full(struct line *line, const struct univ_failure *f)
{
	if (f->detail == UNIV_LIMIT_CQE)
		say(line, "the completion queue has overrun: its %llu entries were full and a "
		    "completion was lost", (ull)f->bound);
	else
		say(line, "the queue is full: %llu requests of %llu have not completed",
		    (ull)f->value, (ull)f->bound);
}

/* detail 1: a receive on a queue pair without a receive queue. */
static void explain_post_state(struct line *line, const struct univ_failure *f)
{
	if (!f->detail)
		say(line, "the queue pair is in state %s", univ_state_name((uint32_t)f->value));
	else if (f->bound)
		say(line, "the queue pair uses a shared receive queue (ibv_post_srq_recv)");
	else
		say(line, "the queue pair was created without a receive queue");
}

static void explain_no_module(struct line *line, const struct univ_failure *f)
{
	if (f->bound)
		say(line, "the module univerbs speaks version %llu of the interface, this library "
		    "version %llu", (ull)f->value, (ull)f->bound);
	else
		say(line, "module univerbs is not loaded (modprobe univerbs)");
	if (f->subject[0])
		say(line, "; device %s", f->subject);
}

static void explain_no_device(struct line *line, const struct univ_failure *f)
{
	if (f->subject[0])
		say(line, "there is no %s (is udev running?)", f->subject);
	else
		say(line, "there is no RDMA device (rdma link)");
}

static void explain_gone(struct line *line, const struct univ_failure *f)
{
	say(line, "the device was removed");
	if (f->subject[0])
		say(line, " (%s)", f->subject);
}

static void explain_refused(struct line *line, const struct univ_failure *f)
{
	say(line, "the device's driver refused: %s", strerror((int)f->value));
}

static void explain_gid_index(struct line *line, const struct univ_failure *f)
{
	say(line, "there is no GID at index %llu", (ull)f->value);
	if (f->bound && f->value >= f->bound)
		say(line, "; the port's table ends at %llu", (ull)f->bound - 1);
	else
		say(line, " now (the table: /sys/class/infiniband/*/ports/*/gids)");
}

static void explain_wr_opcode(struct line *line, const struct univ_failure *f)
{
	say(line, "%s is not possible on ", univ_opcode_name((uint32_t)f->value));
	say(line, "%s queue pair", univ_qp_type_name(f->detail));
}

static void explain_zero(struct line *line, const struct univ_failure *f)
{
	say(line, "the number of %s must not be 0", univ_limit_name(f->detail));
}

typedef void (*explainer)(struct line *, const struct univ_failure *);

static const explainer explainers[UNIV_REASON_COUNT] = {
	[UNIV_REASON_FLAGS] = explain_flags,
	[UNIV_REASON_DEVICE_GONE] = explain_gone,
	[UNIV_REASON_DEVICE_REFUSED] = explain_refused,
	[UNIV_REASON_HANDLE_TYPE] = explain_handle_type,
	[UNIV_REASON_BUSY] = explain_busy,
	[UNIV_REASON_LIMIT] = explain_limit,
	[UNIV_REASON_ZERO] = explain_zero,
	[UNIV_REASON_NO_MEMORY] = explain_memory,
	[UNIV_REASON_ACCESS_FLAGS] = explain_access,
	[UNIV_REASON_ADDRESS] = explain_address,
	[UNIV_REASON_QP_STATE] = explain_qp_state,
	[UNIV_REASON_ATTR_MISSING] = explain_missing,
	[UNIV_REASON_ATTR_SURPLUS] = explain_surplus,
	[UNIV_REASON_ATTR_VALUE] = explain_attr_value,
	[UNIV_REASON_GID_INDEX] = explain_gid_index,
	[UNIV_REASON_WR_OPCODE] = explain_wr_opcode,
	[UNIV_REASON_WR_INLINE] = explain_wr_inline,
	[UNIV_REASON_QUEUE_FULL] = explain_full,
	[UNIV_REASON_POST_STATE] = explain_post_state,
	[UNIV_REASON_NO_MODULE] = explain_no_module,
	[UNIV_REASON_NO_DEVICE] = explain_no_device,
};

/* Those that a sentence with the two numbers says; the rest is above. */
static void explain_xrcd_file(struct line *line, const struct univ_failure *f)
{
	static const char *const why[] = {
		[UNIV_XRCD_FILE_CLOSED] = "is not open",
		[UNIV_XRCD_FILE_NONE] = "has no XRC domain, and O_CREAT was not given",
		[UNIV_XRCD_FILE_EXISTS] = "has an XRC domain, and O_EXCL was given",
	};

	if (f->detail < sizeof(why) / sizeof(why[0]))
		say(line, "descriptor %llu %s", (unsigned long long)f->value, why[f->detail]);
}

static void explain_plainly(struct line *line, const struct univ_failure *f)
{
	const ull value = f->value, bound = f->bound;

	switch (f->reason) {
	case UNIV_REASON_SIZE:
		say(line, "struct of %llu bytes is too short, %llu are needed", value, bound);
		break;
	case UNIV_REASON_TAIL:
		say(line, "struct of %llu bytes asks for what this kernel's %llu do not hold",
		    value, bound);
		break;
	case UNIV_REASON_RESERVED:
		say(line, "the reserved field at byte %llu is not zero", value);
		break;
	case UNIV_REASON_FAULT:
		say(line, "memory of the caller cannot be read or written");
		break;
	case UNIV_REASON_UNSUPPORTED:
		say(line, "the device does not offer this");
		break;
	case UNIV_REASON_HANDLE:
		say(line, "there is no such %s (handle %llu)", univ_object_name(f->detail), value);
		break;
	case UNIV_REASON_NOT_ATTACHED:
		say(line, "the queue pair is not attached to that multicast group (LID %llu)", value);
		break;
	case UNIV_REASON_MEMLOCK:
		say(line, "%llu bytes asked, RLIMIT_MEMLOCK leaves %llu (ulimit -l)", value, bound);
		break;
	case UNIV_REASON_CGROUP:
		say(line, "the rdma cgroup allows no further %s (rdma.max)",
		    f->detail ? univ_object_name(f->detail) : "context");
		break;
	case UNIV_REASON_ADDRESS_WRAP:
		say(line, "%llu bytes at 0x%llx pass the end of the address space", bound, value);
		break;
	case UNIV_REASON_PERMISSION:
		say(line, "needs the capability %s", univ_capability_name((uint32_t)value));
		break;
	case UNIV_REASON_QP_TYPE:
		say(line, "not possible for %s queue pair", univ_qp_type_name((uint32_t)value));
		break;
	case UNIV_REASON_CUR_STATE:
		say(line, "IBV_QP_CUR_STATE says %s, the queue pair is in %s",
		    univ_state_name((uint32_t)value), univ_state_name((uint32_t)bound));
		break;
	case UNIV_REASON_PORT:
		say(line, "there is no port %llu; the device has %llu, from 1", value, bound);
		break;
	case UNIV_REASON_PKEY_INDEX:
		say(line, "no P_Key at index %llu; the table has %llu entries", value, bound);
		break;
	case UNIV_REASON_NO_ROUTE:
		say(line, "the destination cannot be resolved (no route, no neighbour, or no GID "
		    "of ours to reach it from)");
		break;
	case UNIV_REASON_NO_GRH:
		say(line, "RoCE needs a global route header (ah_attr.is_global = 1 and grh)");
		break;
	case UNIV_REASON_NOT_MULTICAST:
		say(line, "the GID is not a multicast address");
		break;
	case UNIV_REASON_CQ_SHRINK:
		say(line, "%llu completions wait, they do not fit in %llu entries", bound, value);
		break;
	case UNIV_REASON_FD:
		say(line, "descriptor %llu is not a completion channel of this device", value);
		break;
	case UNIV_REASON_VECTOR:
		say(line, "there is no completion vector %llu; the device has %llu, from 0", value,
		    bound);
		break;
	case UNIV_REASON_WR_SGE:
		say(line, "%llu scatter/gather entries, the queue takes %llu", value, bound);
		break;
	case UNIV_REASON_WR_AH:
		say(line, "a datagram needs an address handle of its protection domain");
		break;
	case UNIV_REASON_NODE_PERMISSION:
		if (f->err == EPERM)
			say(line, "%s is forbidden here: its device is in another network "
			    "namespace, or a device cgroup leaves the node out", f->subject);
		else
			say(line, "no permission on %s (add the user to the group of that node)",
			    f->subject);
		break;
	case UNIV_REASON_CHANNEL_BUSY:
		say(line, "%llu completion queues use the channel still", value);
		break;
	case UNIV_REASON_WR_KEY:
		say(line, "key 0x%llx is not one of the window whose key is 0x%llx (its upper 24 "
		    "bits stay)", value, bound);
		break;
	case UNIV_REASON_MW_TYPE:
		say(line, "not possible with a memory window of type %llu", value);
		break;
	case UNIV_REASON_XRCD_FILE:
		explain_xrcd_file(line, f);
		break;
	case UNIV_REASON_XRC_QPN:
		say(line, "the domain has no XRC receive queue pair %llu (any more)", value);
		break;
	case UNIV_REASON_NOT_XRC:
		say(line, "the shared receive queue is not one of XRC");
		break;
	case UNIV_REASON_NOT_OFFERED:
		say(line, "not offered by univerbs");
		break;
	default:
		say(line, "%s", strerror(f->err));
		if (f->subject[0])
			say(line, " (%s)", f->subject);
		break;
	}
}

/* What a reason adds to the status of a completion, or NULL. */
static const char *completion_cause(uint32_t reason)
{
	switch (reason) {
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
		return "no such address handle, or one of another protection domain";
	case UNIV_REASON_WR_KEY:
		return "a local key that is not of this process";
	case UNIV_REASON_WR_REFUSED:
		return "the device refused the request";
	case UNIV_REASON_DEVICE_GONE:
		return "the device was removed";
	default:
		return NULL;
	}
}

static void explain_completion(struct line *line, const struct univ_failure *f)
{
	const char *cause = completion_cause(f->reason);

	if (!cause)
		cause = univ_status_cause(f->detail);
	say(line, "QP %llu work request %llu: %s", (ull)f->bound, (ull)f->value,
	    univ_status_name(f->detail));
	if (f->subject[0])
		say(line, ": %s", f->subject);
	if (cause && !(f->detail == IBV_WC_WR_FLUSH_ERR && f->subject[0]))
		say(line, ": %s", cause);
}

/* A completion is the only failure without an errno value. */
void univ_explain(const struct univ_failure *failure, char *text, size_t size)
{
	struct line line = {
		.text = text,
		.size = size,
	};

	say(&line, "%s: ", failure->verb);
	if (!failure->err)
		explain_completion(&line, failure);
	else if (failure->reason < UNIV_REASON_COUNT && explainers[failure->reason])
		explainers[failure->reason](&line, failure);
	else
		explain_plainly(&line, failure);
}
