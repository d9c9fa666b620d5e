// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Flows of raw packet queue pairs. The specs of a program follow struct ibv_flow_attr and have
 * different lengths; the kernel gets them in an array.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/common.h"
#include "why/why.h"

#define VERB "ibv_create_flow"

/* The filters of a type of spec lie in struct ibv_flow_spec in this way. */
struct spec_layout {
	uint32_t type;		/* of enum ibv_flow_spec_type */
	uint32_t kernel;	/* of enum univ_flow_spec_type */
	size_t val;
	size_t mask;
	size_t bytes;
};

/* The types may have IBV_FLOW_SPEC_INNER; the kernel refuses it for tunnels. */
#define LAYOUT(the_type, the_kernel, member)						\
	{										\
		.type = IBV_FLOW_SPEC_##the_type,					\
		.kernel = UNIV_FLOW_##the_kernel,					\
		.val = offsetof(struct ibv_flow_spec, member.val),			\
		.mask = offsetof(struct ibv_flow_spec, member.mask),			\
		.bytes = sizeof(((struct ibv_flow_spec *)0)->member.val),		\
	}

static const struct spec_layout layouts[] = {
	LAYOUT(ETH, ETH, eth),
	LAYOUT(IPV4, IPV4, ipv4),
	LAYOUT(IPV4_EXT, IPV4, ipv4_ext),
	LAYOUT(IPV6, IPV6, ipv6),
	LAYOUT(ESP, ESP, esp),
	LAYOUT(TCP, TCP, tcp_udp),
	LAYOUT(UDP, UDP, tcp_udp),
	LAYOUT(VXLAN_TUNNEL, VXLAN, tunnel),
	LAYOUT(GRE, GRE, gre),
	LAYOUT(MPLS, MPLS, mpls),
};

/* Specs follow one another without padding, so one may lie at an address that is not aligned. */
typedef struct ibv_flow_spec __attribute__((aligned(1))) packed_spec;

static const struct spec_layout *layout_of(uint32_t type)
{
	for (size_t i = 0; i < UNIV_COUNT(layouts); i++)
		if (layouts[i].type == (type & ~(uint32_t)IBV_FLOW_SPEC_INNER))
			return &layouts[i];
	return NULL;
}

/* The last bytes of an IPv6 filter are padding, which a program need not clear. */
static size_t filter_bytes(const struct spec_layout *layout)
{
	return layout->kernel == UNIV_FLOW_IPV6 ?
		       offsetof(struct ibv_flow_ipv6_filter, hop_limit) + 1 : layout->bytes;
}

static int counters_fill(struct univ_flow_spec *to, const struct ibv_counters *counters,
			 const struct ibv_context *context)
{
	if (counters->context != context)
		return univ_fail_context(VERB, UNIV_OBJECT_COUNTERS);
	to->tag = univ_container(counters, const struct univ_counters, ibv)->handle;
	return 0;
}

/* The kernel refuses the types that it does not know. */
static int spec_fill(struct univ_flow_spec *to, const packed_spec *from,
		     const struct ibv_context *context)
{
	const struct spec_layout *layout = layout_of(from->hdr.type);
	size_t least = layout ? layout->mask + layout->bytes : sizeof(from->hdr);

	if (from->hdr.type == IBV_FLOW_SPEC_ACTION_TAG)
		least = sizeof(from->flow_tag);
	if (from->hdr.type == IBV_FLOW_SPEC_ACTION_COUNT)
		least = sizeof(from->flow_count);
	if (from->hdr.size < least)
		return univ_fail_size(VERB, EINVAL, from->hdr.size, least);
	to->type = layout ? layout->kernel | (from->hdr.type & IBV_FLOW_SPEC_INNER) :
			    (uint32_t)from->hdr.type;
	if (from->hdr.type == IBV_FLOW_SPEC_ACTION_TAG)
		to->tag = from->flow_tag.tag_id;
	if (from->hdr.type == IBV_FLOW_SPEC_ACTION_COUNT)
		return counters_fill(to, from->flow_count.counters, context);
	if (!layout)
		return 0;
	memcpy(to->val, (const char *)from + layout->val, filter_bytes(layout));
	memcpy(to->mask, (const char *)from + layout->mask, filter_bytes(layout));
	return 0;
}

/* Surplus specs are not read: the kernel refuses their number. */
static int specs_fill(struct univ_flow_create *cmd, const struct ibv_flow_attr *attr,
		      const struct ibv_context *context)
{
	const packed_spec *spec = (const void *)(attr + 1);
	uint32_t i;
	int err;

	for (i = 0; i < cmd->count && i < UNIV_FLOW_SPECS; i++) {
		err = spec_fill(&cmd->specs[i], spec, context);
		if (err)
			return err;
		spec = (const void *)((const char *)spec + spec->hdr.size);
	}
	return 0;
}

struct ibv_flow *univ_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct univ_flow_create cmd = {
		.qp = qp->handle,
		.type = (uint32_t)attr->type,
		.flow_flags = attr->flags,
		.priority = attr->priority,
		.port_num = attr->port,
		.count = attr->num_of_specs,
	};
	struct ibv_flow *flow;

	if (specs_fill(&cmd, attr, qp->context))
		return NULL;
	flow = malloc(sizeof(*flow));
	if (!flow) {
		univ_fail_memory(VERB, sizeof(*flow));
		return NULL;
	}
	if (univ_cmd_flow_create(qp->context->cmd_fd, &cmd)) {
		free(flow);
		return NULL;
	}
	*flow = (struct ibv_flow) {
		.context = qp->context,
		.handle = cmd.handle,
	};
	return flow;
}

int univ_destroy_flow(struct ibv_flow *flow)
{
	struct univ_destroy cmd = { .handle = flow->handle };
	int err = univ_cmd_flow_destroy(flow->context->cmd_fd, &cmd);

	if (!err)
		free(flow);
	return err;
}
