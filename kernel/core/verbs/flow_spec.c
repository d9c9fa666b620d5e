// SPDX-License-Identifier: GPL-2.0
/*
 * The specs of a flow. Each one is checked here, so that a driver sees only
 * fields that exist and only values that they can have. Two specs are refused
 * that exclude each other: different values of one header, two headers of one
 * layer, and a header whose type the header in front of it excludes. A flow
 * that no frame belongs to for another reason is accepted.
 */
#include <linux/etherdevice.h>
#include <linux/in.h>
#include <linux/in6.h>

#include "flows.h"

/* A tag has 24 bits, as in completions of mlx5. */
#define FLOW_TAGS	BIT(24)
#define FLOW_LABELS	BIT(20)
#define FLOW_VNIS	BIT(24)

#define OUTSIDE(type)	((type) & ~UNIV_FLOW_INNER)

/* ---- one spec ------------------------------------------------------------ */

/* The bytes of a filter that a type of spec has; -1 if it is unknown. */
static int spec_bytes(u32 type)
{
	switch (type) {
	case UNIV_FLOW_ETH:
	case UNIV_FLOW_ETH | UNIV_FLOW_INNER:
		return offsetofend(struct ib_flow_eth_filter, vlan_tag);
	case UNIV_FLOW_IPV4:
	case UNIV_FLOW_IPV4 | UNIV_FLOW_INNER:
		return offsetofend(struct ib_flow_ipv4_filter, flags);
	case UNIV_FLOW_IPV6:
	case UNIV_FLOW_IPV6 | UNIV_FLOW_INNER:
		return offsetofend(struct ib_flow_ipv6_filter, hop_limit);
	case UNIV_FLOW_ESP:
	case UNIV_FLOW_ESP | UNIV_FLOW_INNER:
		return offsetofend(struct ib_flow_esp_filter, seq);
	case UNIV_FLOW_TCP:
	case UNIV_FLOW_UDP:
	case UNIV_FLOW_TCP | UNIV_FLOW_INNER:
	case UNIV_FLOW_UDP | UNIV_FLOW_INNER:
		return offsetofend(struct ib_flow_tcp_udp_filter, src_port);
	case UNIV_FLOW_VXLAN:
		return offsetofend(struct ib_flow_tunnel_filter, tunnel_id);
	case UNIV_FLOW_GRE:
		return offsetofend(struct ib_flow_gre_filter, key);
	case UNIV_FLOW_MPLS:
	case UNIV_FLOW_MPLS | UNIV_FLOW_INNER:
		return offsetofend(struct ib_flow_mpls_filter, tag);
	case UNIV_FLOW_TAG:
	case UNIV_FLOW_DROP:
	case UNIV_FLOW_COUNT:
		return 0;
	default:
		return -1;
	}
}

#define FILTER_NUMBER(filter, type, member) \
	get_unaligned_be32((filter) + offsetof(struct type, member))

static bool filter_is_valid(const u8 *filter, u32 type, int bytes)
{
	const int room = sizeof_field(struct univ_flow_spec, val);

	if (bytes < room && memchr_inv(filter + bytes, 0, room - bytes))
		return false;
	if (OUTSIDE(type) == UNIV_FLOW_IPV6)
		return FILTER_NUMBER(filter, ib_flow_ipv6_filter, flow_label) <
		       FLOW_LABELS;
	if (type == UNIV_FLOW_VXLAN)
		return FILTER_NUMBER(filter, ib_flow_tunnel_filter, tunnel_id) <
		       FLOW_VNIS;
	return true;
}

static bool spec_is_valid(const struct univ_flow_spec *spec, int bytes)
{
	if (spec->type != UNIV_FLOW_COUNT &&
	    spec->tag >= (spec->type == UNIV_FLOW_TAG ? FLOW_TAGS : 1))
		return false;
	return filter_is_valid(spec->val, spec->type, bytes) &&
	       filter_is_valid(spec->mask, spec->type, bytes);
}

static int spec_check(struct univ_flow_create *cmd, u32 i)
{
	const struct univ_flow_spec *spec = &cmd->specs[i];
	int bytes = spec_bytes(spec->type);

	if (bytes < 0)
		return univ_flow_explain(&cmd->hdr, -EOPNOTSUPP,
					 UNIV_FLOW_FAULT_SPEC, spec->type, i);
	if (bytes && cmd->type != UNIV_FLOW_NORMAL)
		return univ_flow_explain(&cmd->hdr, -EINVAL,
					 UNIV_FLOW_FAULT_SPECS, cmd->type, 0);
	if (spec->type == UNIV_FLOW_TAG && cmd->flow_flags & UNIV_FLOW_EGRESS)
		return univ_flow_explain(&cmd->hdr, -EINVAL,
					 UNIV_FLOW_FAULT_EGRESS_TAG, spec->tag,
					 i);
	if (!spec_is_valid(spec, bytes))
		return univ_flow_explain(&cmd->hdr, -EINVAL,
					 UNIV_FLOW_FAULT_VALUE, spec->type, i);
	return 0;
}

/* ---- specs that exclude each other --------------------------------------- */

/* The protocol that the IP header before such a header names; 0 for any. */
static u8 spec_proto(u32 type)
{
	switch (OUTSIDE(type)) {
	case UNIV_FLOW_TCP:
		return IPPROTO_TCP;
	case UNIV_FLOW_UDP:
	case UNIV_FLOW_VXLAN:
		return IPPROTO_UDP;
	case UNIV_FLOW_ESP:
		return IPPROTO_ESP;
	case UNIV_FLOW_GRE:
		return IPPROTO_GRE;
	default:
		return 0;
	}
}

/* The type that an Ethernet header before such a header has; 0 for any. */
static u16 spec_ether_type(u32 type)
{
	return OUTSIDE(type) == UNIV_FLOW_IPV4 ? ETH_P_IP :
	       OUTSIDE(type) == UNIV_FLOW_IPV6 ? ETH_P_IPV6 : 0;
}

static bool excludes_proto_v4(const struct univ_flow_spec *ip, u8 proto)
{
	size_t at = offsetof(struct ib_flow_ipv4_filter, proto);

	return (ip->val[at] ^ proto) & ip->mask[at];
}

/* IPv6 may name an extension header, behind which any protocol may lie. */
static bool excludes_proto_v6(const struct univ_flow_spec *ip, u8 proto)
{
	const u8 next[] = { proto, IPPROTO_HOPOPTS, IPPROTO_ROUTING,
			    IPPROTO_FRAGMENT, IPPROTO_DSTOPTS };
	size_t at = offsetof(struct ib_flow_ipv6_filter, next_hdr);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(next); i++)
		if (!((ip->val[at] ^ next[i]) & ip->mask[at]))
			return false;
	return true;
}

static bool excludes_proto(const struct univ_flow_spec *ip, u8 proto)
{
	return OUTSIDE(ip->type) == UNIV_FLOW_IPV4 ?
		       excludes_proto_v4(ip, proto) :
		       excludes_proto_v6(ip, proto);
}

static bool excludes_type(const struct univ_flow_spec *eth, u16 type)
{
	size_t at = offsetof(struct ib_flow_eth_filter, ether_type);

	return (get_unaligned_be16(eth->val + at) ^ type) &
	       get_unaligned_be16(eth->mask + at);
}

/* IP may lie behind labels of MPLS. */
static bool excludes_ip(const struct univ_flow_spec *eth, u16 type)
{
	return excludes_type(eth, type) &&
	       excludes_type(eth, ETH_P_MPLS_UC) &&
	       excludes_type(eth, ETH_P_MPLS_MC);
}

static bool differ(const struct univ_flow_spec *a,
		   const struct univ_flow_spec *b)
{
	size_t i;

	for (i = 0; i < sizeof(a->val); i++)
		if ((a->val[i] ^ b->val[i]) & a->mask[i] & b->mask[i])
			return true;
	return false;
}

/* Both specs are of headers outside of a tunnel, or both of inner ones. */
static bool excludes(const struct univ_flow_spec *a,
		     const struct univ_flow_spec *b)
{
	u16 a_type = spec_ether_type(a->type);
	u16 b_type = spec_ether_type(b->type);
	u8 a_proto = spec_proto(a->type), b_proto = spec_proto(b->type);

	/* Several specs of MPLS may name labels of different places. */
	if (a->type == b->type)
		return OUTSIDE(a->type) != UNIV_FLOW_MPLS && differ(a, b);
	if (a_type && b_type)
		return true;
	if (a_proto && b_proto)
		return a_proto != b_proto;
	if (a_type && b_proto)
		return excludes_proto(a, b_proto);
	return OUTSIDE(a->type) == UNIV_FLOW_ETH && b_type &&
	       excludes_ip(a, b_type);
}

static bool contradict(const struct univ_flow_spec *a,
		       const struct univ_flow_spec *b)
{
	return !((a->type ^ b->type) & UNIV_FLOW_INNER) &&
	       (excludes(a, b) || excludes(b, a));
}

/* Compares a spec with those before it. */
static int spec_compare(struct univ_flow_create *cmd, u32 i)
{
	const struct univ_flow_spec *spec = &cmd->specs[i];
	u32 k;

	for (k = 0; k < i; k++) {
		if (spec->type == UNIV_FLOW_COUNT &&
		    cmd->specs[k].type == UNIV_FLOW_COUNT)
			return univ_flow_explain(&cmd->hdr, -EINVAL,
						 UNIV_FLOW_FAULT_COUNTS,
						 spec->tag, i);
		if (contradict(&cmd->specs[k], spec))
			return univ_flow_explain(&cmd->hdr, -EINVAL,
						 UNIV_FLOW_FAULT_CONTRADICTION,
						 k, i);
	}
	return 0;
}

int univ_flow_specs_check(struct univ_flow_create *cmd)
{
	int ret = 0;
	u32 i;

	if (cmd->count > UNIV_FLOW_SPECS)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_FLOW_SPECS,
					  cmd->count, UNIV_FLOW_SPECS);
	for (i = 0; !ret && i < cmd->count; i++) {
		ret = spec_check(cmd, i);
		if (!ret)
			ret = spec_compare(cmd, i);
	}
	return ret;
}

/* ---- specs for the device ------------------------------------------------ */

/* The filter of a spec follows its type and its size, and the mask follows. */
#define SPEC_FILL(to, from, last)					\
	do {								\
		(to)->size = sizeof(*(to));				\
		memcpy(&(to)->val, (from)->val,				\
		       offsetofend(typeof((to)->val), last));		\
		memcpy(&(to)->mask, (from)->mask,			\
		       offsetofend(typeof((to)->mask), last));		\
	} while (0)

/* Returns the spec that follows. */
static union ib_flow_spec *spec_fill(union ib_flow_spec *to,
				     const struct univ_flow_spec *from)
{
	to->type = from->type;
	switch (OUTSIDE(from->type)) {
	case UNIV_FLOW_ETH:
		SPEC_FILL(&to->eth, from, vlan_tag);
		break;
	case UNIV_FLOW_IPV4:
		SPEC_FILL(&to->ipv4, from, flags);
		break;
	case UNIV_FLOW_IPV6:
		SPEC_FILL(&to->ipv6, from, hop_limit);
		break;
	case UNIV_FLOW_ESP:
		SPEC_FILL(&to->esp, from, seq);
		break;
	case UNIV_FLOW_TCP:
	case UNIV_FLOW_UDP:
		SPEC_FILL(&to->tcp_udp, from, src_port);
		break;
	case UNIV_FLOW_VXLAN:
		SPEC_FILL(&to->tunnel, from, tunnel_id);
		break;
	case UNIV_FLOW_GRE:
		SPEC_FILL(&to->gre, from, key);
		break;
	case UNIV_FLOW_MPLS:
		SPEC_FILL(&to->mpls, from, tag);
		break;
	case UNIV_FLOW_TAG:
		to->flow_tag.size = sizeof(to->flow_tag);
		to->flow_tag.tag_id = from->tag;
		break;
	default:
		to->drop.size = sizeof(to->drop);
	}
	return (void *)to + to->size;
}

/*
 * Each flow has one spec of counters, since points may be attached to it later.
 */
static union ib_flow_spec *spec_count(union ib_flow_spec *to,
				      struct univ_flow_counts *counts)
{
	to->type = UNIV_FLOW_COUNT;
	to->flow_count.size = sizeof(to->flow_count);
	to->flow_count.counters = &counts->ib;
	return (void *)to + to->size;
}

void univ_flow_specs_fill(struct ib_flow_attr *attr,
			  const struct univ_flow_create *cmd,
			  struct univ_flow_counts *counts)
{
	union ib_flow_spec *spec = attr->flows;
	u32 i;

	for (i = 0; i < cmd->count; i++) {
		if (cmd->specs[i].type == UNIV_FLOW_COUNT)
			continue;
		spec = spec_fill(spec, &cmd->specs[i]);
		attr->num_of_specs++;
	}
	spec = spec_count(spec, counts);
	attr->num_of_specs++;
	attr->size = (void *)spec - (void *)attr;
}
