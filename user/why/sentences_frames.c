// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The sentences about frames: work queues, flows and their counters. */
#include <infiniband/verbs.h>

#include "why/line.h"
#include "why/names.h"

static const char *wq_state_name(uint64_t state)
{
	return state == IBV_WQS_RESET ? "RESET" : state == IBV_WQS_RDY ? "RDY" :
	       state == IBV_WQS_ERR ? "ERR" : "UNKNOWN";
}

void univ_explain_wq_state(struct univ_line *line, const struct univ_failure *f)
{
	const char *given = wq_state_name(f->value), *is = wq_state_name(f->bound);

	if (f->detail == UNIV_WQ_STATE_CURRENT)
		univ_say(line, "curr_wq_state says %s, but the work queue is in state %s", given, is);
	else
		univ_say(line, "a work queue does not change from state %s to %s; from ERR it changes "
			 "to RESET first", is, given);
}

void univ_explain_rx_hash(struct univ_line *line, const struct univ_failure *f)
{
	switch (f->detail) {
	case UNIV_RX_HASH_FAULT_RECEIVES:
		univ_say(line, "a queue pair with a receive indirection table has no receive queue of "
			 "its own (set max_recv_wr and max_recv_sge to 0, and pass no srq)");
		break;
	case UNIV_RX_HASH_FAULT_FUNCTION:
		univ_say(line, "the hash function has to be IBV_RX_HASH_FUNC_TOEPLITZ, and not %llu",
			 (ull)f->value);
		break;
	case UNIV_RX_HASH_FAULT_KEY:
		univ_say(line, "the key of the hash has %llu bytes, and not %llu", (ull)f->bound,
			 (ull)f->value);
		break;
	default:
		univ_say(line, "without fields to hash (rx_hash_fields_mask), the receive indirection "
			 "table may have one entry, and not %llu", (ull)f->bound);
	}
}

void univ_explain_flow(struct univ_line *line, const struct univ_failure *f)
{
	ull value = (ull)f->value, bound = (ull)f->bound;

	switch (f->detail) {
	case UNIV_FLOW_FAULT_TYPE:
		univ_say(line, "there is no type %llu of flows (enum ibv_flow_attr_type)", value);
		return;
	case UNIV_FLOW_FAULT_FLAGS:
		univ_say(line, "a flow cannot have the flags 0x%llx; IBV_FLOW_ATTR_FLAGS_DONT_TRAP and "
			 "IBV_FLOW_ATTR_FLAGS_EGRESS are supported, for flows of the type "
			 "IBV_FLOW_ATTR_NORMAL", value);
		return;
	case UNIV_FLOW_FAULT_SPECS:
		univ_say(line, "a flow of the type %llu has no specs but actions, since it does not look at "
			 "headers; use IBV_FLOW_ATTR_NORMAL", value);
		return;
	case UNIV_FLOW_FAULT_SPEC:
		univ_say(line, "spec %llu of the flow has the type 0x%llx, which is not supported; supported "
			 "are all headers of enum ibv_flow_spec_type (IBV_FLOW_SPEC_INNER for those in "
			 "tunnels, but not for VXLAN and GRE), and the actions tag, drop and count", bound, value);
		return;
	case UNIV_FLOW_FAULT_VALUE:
		univ_say(line, "spec %llu of the flow (type 0x%llx) has a value out of range: a tag has 24 "
			 "bits, a flow label 20 and tunnel_id 24 bits in network order", bound, value);
		return;
	case UNIV_FLOW_FAULT_PRIORITY:
		univ_say(line, "the priority %llu of the flow is above %llu", value, bound);
		return;
	case UNIV_FLOW_FAULT_CONTRADICTION:
		univ_say(line, "no frame can match both spec %llu and spec %llu of the flow", value, bound);
		return;
	case UNIV_FLOW_FAULT_EGRESS_TAG:
		univ_say(line, "spec %llu is a tag, which only received frames have; leave it out of a flow with "
			 "IBV_FLOW_ATTR_FLAGS_EGRESS", bound);
		return;
	case UNIV_FLOW_FAULT_COUNTS:
		univ_say(line, "spec %llu names flow counters, as another spec of the flow does; attach others "
			 "with ibv_attach_counters_point_flow", bound);
		return;
	case UNIV_FLOW_FAULT_NO_POINT:
		univ_say(line, "the flow counters of spec %llu would count nothing; call "
			 "ibv_attach_counters_point_flow without a flow first", bound);
		return;
	default:
		univ_say(line, "the device has no room for another flow; destroy flows that are not needed");
	}
}

void univ_explain_counters(struct univ_line *line, const struct univ_failure *f)
{
	if (f->detail == UNIV_COUNTERS_FAULT_UNIT)
		univ_say(line, "there is no counter_desc %llu; a flow is counted by IBV_COUNTER_PACKETS and "
			 "IBV_COUNTER_BYTES", (ull)f->value);
	else
		univ_say(line, "a flow exists already that was created with the flow counters, so the points "
			 "of later flows cannot change; pass the flow, or create other flow counters");
}
