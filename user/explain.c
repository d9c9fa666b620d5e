// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Failures in words. Here are the sentences of what the kernel alone finds; the
 * others stand beside the functions that record them, see line.h. What they call
 * things is in vocabulary.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "line.h"
#include "vocabulary.h"

void univ_say(struct univ_line *line, const char *format, ...)
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
static void say_attributes(struct univ_line *line, uint64_t mask)
{
	const char *separator = "";
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		if (!(mask >> bit & 1))
			continue;
		univ_say(line, "%s%s", separator, univ_attribute_name(bit));
		separator = ", ";
	}
}

static void say_transition(struct univ_line *line, const struct univ_failure *f)
{
	uint32_t from = f->detail >> 8, to = f->detail & 0xff;

	univ_say(line, "%s -> %s", univ_state_name(from), univ_state_name(to));
	if (f->bound)
		univ_say(line, " of %s queue pair", univ_qp_type_name((uint32_t)f->bound));
}

static void explain_busy(struct univ_line *line, const struct univ_failure *f)
{
	const char *users = univ_object_users(f->detail);

	univ_say(line, "the %s is still in use", univ_object_name(f->detail));
	if (f->bound)
		univ_say(line, " by %llu %s", (ull)f->bound, f->bound == 1 ? "object" : "objects");
	if (users)
		univ_say(line, ": %s", users);
}

static void explain_handle_type(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "handle %llu is a %s, not a %s", (ull)f->value,
	    univ_object_name((uint32_t)f->bound), univ_object_name(f->detail));
}

static void explain_attr_value(struct univ_line *line, const struct univ_failure *f)
{
	say_attributes(line, f->detail);
	if (f->detail == IBV_QP_PATH_MTU)
		univ_say(line, " must be one of IBV_MTU_256 to IBV_MTU_4096");
	else if (f->detail == IBV_QP_AV)
		univ_say(line, ": ah_attr.port_num is %llu, it must be the queue pair's port, %llu",
			 (ull)f->value, (ull)f->bound);
	else
		univ_say(line, " is %llu, the highest allowed is %llu", (ull)f->value,
			 (ull)f->bound);
}

static void explain_missing(struct univ_line *line, const struct univ_failure *f)
{
	say_transition(line, f);
	univ_say(line, " needs ");
	say_attributes(line, f->value);
}

static void explain_surplus(struct univ_line *line, const struct univ_failure *f)
{
	say_transition(line, f);
	univ_say(line, " does not take ");
	say_attributes(line, f->value);
}

static void explain_qp_state(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "there is no transition ");
	say_transition(line, f);
}

/* Of ibv_modify_qp alone */
static void say_given(struct univ_line *line, const struct univ_failure *f)
{
	if (!f->bound)
		return;
	univ_say(line, "; given: ");
	say_attributes(line, f->bound);
}

static void explain_refused(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the device's driver refused: %s (dmesg may say why; so may the device's "
		 "limits, ibv_devinfo -v)", strerror((int)f->value));
	say_given(line, f);
}

static void explain_unsupported(struct univ_line *line, const struct univ_failure *f)
{
	univ_say(line, "the device does not offer this");
	say_given(line, f);
}

static void explain_xrcd_file(struct univ_line *line, const struct univ_failure *f)
{
	static const char *const why[] = {
		[UNIV_XRCD_FILE_CLOSED] = "is not open",
		[UNIV_XRCD_FILE_NONE] = "has no XRC domain, and O_CREAT was not given",
		[UNIV_XRCD_FILE_EXISTS] = "has an XRC domain, and O_EXCL was given",
	};

	if (f->detail < sizeof(why) / sizeof(why[0]))
		univ_say(line, "descriptor %llu %s", (ull)f->value, why[f->detail]);
}

static univ_explainer *const explainers[UNIV_REASON_COUNT] = {
	[UNIV_REASON_SIZE] = univ_explain_size,
	[UNIV_REASON_FLAGS] = univ_explain_flags,
	[UNIV_REASON_DEVICE_GONE] = univ_explain_gone,
	[UNIV_REASON_DEVICE_REFUSED] = explain_refused,
	[UNIV_REASON_UNSUPPORTED] = explain_unsupported,
	[UNIV_REASON_HANDLE] = univ_explain_handle,
	[UNIV_REASON_HANDLE_TYPE] = explain_handle_type,
	[UNIV_REASON_BUSY] = explain_busy,
	[UNIV_REASON_LIMIT] = univ_explain_limit,
	[UNIV_REASON_ZERO] = univ_explain_zero,
	[UNIV_REASON_CGROUP] = univ_explain_cgroup,
	[UNIV_REASON_NO_MEMORY] = univ_explain_memory,
	[UNIV_REASON_ACCESS_FLAGS] = univ_explain_access,
	[UNIV_REASON_ADDRESS] = univ_explain_address,
	[UNIV_REASON_QP_TYPE] = univ_explain_qp_type,
	[UNIV_REASON_QP_STATE] = explain_qp_state,
	[UNIV_REASON_ATTR_MISSING] = explain_missing,
	[UNIV_REASON_ATTR_SURPLUS] = explain_surplus,
	[UNIV_REASON_ATTR_VALUE] = explain_attr_value,
	[UNIV_REASON_GID_INDEX] = univ_explain_gid_index,
	[UNIV_REASON_NO_ROUTE] = univ_explain_no_route,
	[UNIV_REASON_WR_OPCODE] = univ_explain_wr_opcode,
	[UNIV_REASON_WR_SGE] = univ_explain_wr_sge,
	[UNIV_REASON_WR_INLINE] = univ_explain_wr_inline,
	[UNIV_REASON_WR_AH] = univ_explain_wr_ah,
	[UNIV_REASON_WR_KEY] = univ_explain_wr_key,
	[UNIV_REASON_QUEUE_FULL] = univ_explain_full,
	[UNIV_REASON_POST_STATE] = univ_explain_post_state,
	[UNIV_REASON_NO_MODULE] = univ_explain_no_module,
	[UNIV_REASON_NO_DEVICE] = univ_explain_no_device,
	[UNIV_REASON_NODE_PERMISSION] = univ_explain_node_permission,
	[UNIV_REASON_CHANNEL_BUSY] = univ_explain_channel_busy,
	[UNIV_REASON_NOT_OFFERED] = univ_explain_not_offered,
	[UNIV_REASON_MW_TYPE] = univ_explain_mw_type,
	[UNIV_REASON_XRCD_FILE] = explain_xrcd_file,
	[UNIV_REASON_NOT_XRC] = univ_explain_not_xrc,
	[UNIV_REASON_FLAGS_MISSING] = univ_explain_flags_missing,
	[UNIV_REASON_WR_NOT_ASKED] = univ_explain_wr_not_asked,
	[UNIV_REASON_WR_DEVICE] = univ_explain_wr_device,
	[UNIV_REASON_WR_BATCH] = univ_explain_wr_batch,
	[UNIV_REASON_ATOMIC] = univ_explain_atomic,
	[UNIV_REASON_CONTEXT] = univ_explain_context,
	[UNIV_REASON_NO_VERBS] = univ_explain_no_verbs,
	[UNIV_REASON_DRIVER_UNCHECKED] = univ_explain_driver_unchecked,
	[UNIV_REASON_UNACKNOWLEDGED] = univ_explain_unacknowledged,
	[UNIV_REASON_NOT_ARMED] = univ_explain_not_armed,
	[UNIV_REASON_UNSIGNALED] = univ_explain_unsignaled,
	[UNIV_REASON_NO_TIMEOUT] = univ_explain_no_timeout,
	[UNIV_REASON_LEFT_OBJECTS] = univ_explain_left_objects,
	[UNIV_REASON_FORKED] = univ_explain_forked,
	[UNIV_REASON_QKEY] = univ_explain_qkey,
	[UNIV_REASON_RECV_SHORT] = univ_explain_recv_short,
};

/* Those that a sentence with the two numbers says; the rest is above. */
static void explain_plainly(struct univ_line *line, const struct univ_failure *f)
{
	const ull value = f->value, bound = f->bound;

	switch (f->reason) {
	case UNIV_REASON_TAIL:
		univ_say(line, "struct of %llu bytes asks for what this kernel's %llu do not hold",
		    value, bound);
		break;
	case UNIV_REASON_RESERVED:
		univ_say(line, "the reserved field at byte %llu is not zero", value);
		break;
	case UNIV_REASON_FAULT:
		univ_say(line, "memory of the caller cannot be read or written");
		break;
	case UNIV_REASON_NOT_ATTACHED:
		univ_say(line, "the queue pair is not attached to that multicast group (LID %llu)",
			 value);
		break;
	case UNIV_REASON_MEMLOCK:
		univ_say(line, "%llu bytes asked, RLIMIT_MEMLOCK leaves %llu (ulimit -l)", value,
			 bound);
		break;
	case UNIV_REASON_ADDRESS_WRAP:
		univ_say(line, "%llu bytes at 0x%llx pass the end of the address space", bound,
			 value);
		break;
	case UNIV_REASON_PERMISSION:
		univ_say(line, "needs the capability %s", univ_capability_name((uint32_t)value));
		break;
	case UNIV_REASON_CUR_STATE:
		univ_say(line, "IBV_QP_CUR_STATE says %s, the queue pair is in %s",
		    univ_state_name((uint32_t)value), univ_state_name((uint32_t)bound));
		break;
	case UNIV_REASON_PORT:
		univ_say(line, "there is no port %llu; the device has %llu, from 1", value, bound);
		break;
	case UNIV_REASON_PKEY_INDEX:
		univ_say(line, "no P_Key at index %llu; the table has %llu entries", value, bound);
		break;
	case UNIV_REASON_NO_GRH:
		univ_say(line, "RoCE needs a global route header (ah_attr.is_global = 1 and grh)");
		break;
	case UNIV_REASON_NOT_MULTICAST:
		univ_say(line, "the GID is not a multicast address");
		break;
	case UNIV_REASON_CQ_SHRINK:
		univ_say(line, "%llu completions wait, they do not fit in %llu entries", bound,
			 value);
		break;
	case UNIV_REASON_FD:
		univ_say(line, "descriptor %llu is not a completion channel of this context", value);
		break;
	case UNIV_REASON_VECTOR:
		univ_say(line, "there is no completion vector %llu; the device has %llu, from 0",
			 value, bound);
		break;
	case UNIV_REASON_XRC_QPN:
		univ_say(line, "the domain has no XRC receive queue pair %llu (any more)", value);
		break;
	case UNIV_REASON_DOMAIN:
		univ_say(line, "the buffer was made in another protection domain (ibv_alloc_buf)");
		break;
	case UNIV_REASON_SRQ_OF_XRC:
		univ_say(line, "the shared receive queue was created with IBV_SRQT_XRC, and takes "
			 "messages of XRC alone");
		break;
	default:
		univ_say(line, "%s", strerror(f->err));
		if (f->subject[0])
			univ_say(line, " (%s)", f->subject);
		break;
	}
}

/* A completion is the only failure without an errno value. */
void univ_explain(const struct univ_failure *failure, char *text, size_t size)
{
	struct univ_line line = {
		.text = text,
		.size = size,
	};

	univ_say(&line, "%s: ", failure->verb);
	if (!failure->err)
		univ_explain_completion(&line, failure);
	else if (failure->reason < UNIV_REASON_COUNT && explainers[failure->reason])
		explainers[failure->reason](&line, failure);
	else
		explain_plainly(&line, failure);
}
