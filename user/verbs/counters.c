// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Flow counters. The kernel keeps their points and values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/common.h"
#include "why/why.h"

static struct univ_counters *to_ucounters(struct ibv_counters *counters)
{
	return univ_container(counters, struct univ_counters, ibv);
}

struct ibv_counters *univ_create_counters(struct ibv_context *context,
					  struct ibv_counters_init_attr *attr)
{
	struct univ_counters_create cmd = {};
	struct univ_counters *counters;

	if (attr->comp_mask) {
		univ_fail_flags("ibv_create_counters", EOPNOTSUPP, UNIV_FLAGS_COUNTERS_MASK,
				attr->comp_mask, 0);
		return NULL;
	}
	counters = malloc(sizeof(*counters));
	if (!counters) {
		univ_fail_memory("ibv_create_counters", sizeof(*counters));
		return NULL;
	}
	if (univ_cmd_counters_create(context->cmd_fd, &cmd)) {
		free(counters);
		return NULL;
	}
	*counters = (struct univ_counters) {
		.ibv.context = context,
		.handle = cmd.handle,
	};
	return &counters->ibv;
}

int univ_destroy_counters(struct ibv_counters *counters)
{
	struct univ_destroy cmd = { .handle = to_ucounters(counters)->handle };
	int err = univ_cmd_counters_destroy(counters->context->cmd_fd, &cmd);

	if (!err)
		free(to_ucounters(counters));
	return err;
}

int univ_attach_counters_point_flow(struct ibv_counters *counters,
				    struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	struct univ_counters_attach cmd = {
		.handle = to_ucounters(counters)->handle,
		.flow = flow ? flow->handle : 0,
		.unit = (uint32_t)attr->counter_desc,
		.index = attr->index,
	};

	if (attr->comp_mask)
		return univ_fail_flags("ibv_attach_counters_point_flow", EOPNOTSUPP,
				       UNIV_FLAGS_COUNTERS_MASK, attr->comp_mask, 0);
	if (flow && flow->context != counters->context)
		return univ_fail_context("ibv_attach_counters_point_flow", UNIV_OBJECT_FLOW);
	return univ_cmd_counters_attach(counters->context->cmd_fd, &cmd);
}

/* The kernel returns the current values also if the program would be content with older ones. */
int univ_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count,
		       uint32_t flags)
{
	struct univ_counters_read cmd = { .handle = to_ucounters(counters)->handle };
	const uint32_t known = IBV_READ_COUNTERS_ATTR_PREFER_CACHED;
	int err;

	if (flags & ~known)
		return univ_fail_flags("ibv_read_counters", EOPNOTSUPP, UNIV_FLAGS_COUNTERS_READ,
				       flags, known);
	err = univ_cmd_counters_read(counters->context->cmd_fd, &cmd);
	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++)
		values[i] = i < UNIV_COUNTERS_VALUES ? cmd.values[i] : 0;
	return 0;
}
