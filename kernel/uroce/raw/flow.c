// SPDX-License-Identifier: GPL-2.0
/* Flows: which frames are for which queue pair, and which may be sent. */
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "raw.h"

/**
 * struct match - a condition
 * @at: offset in struct uroce_frame of the bytes that are compared
 * @len: number of these bytes; the first and the last one have a mask
 * @has: the frame has these headers: bits of uroce_frame.has
 * @val: their values, and zero where @mask is
 * @mask: bits that are compared
 */
struct match {
	u16 at;
	u8 len;
	u32 has;
	u8 val[40];
	u8 mask[40];
};

/**
 * struct flow - a flow
 * @ib: first member
 * @rcu: freed after a grace period
 * @link: in uroce_dev.flows or @egress, under RCU, in ascending order of @rank
 * @qp: the queue pair, which is not destroyed before the flow
 * @rank: a frame goes to all matching flows of the lowest rank that one has
 * @counters: counts the frames; NULL for flows of other users than the core
 * @tag: of completions
 * @type: enum ib_flow_attr_type
 * @egress: is about frames that are sent, by any queue pair
 * @drops: drops the frames
 * @shares: flows of a higher rank see the frames as well
 * @count: number of entries of @match
 * @match: all of them have to be met
 *
 * Flows of the same rank all get a frame, since mlx5 too gives it to each queue
 * pair that has asked for exactly the same frames.
 */
struct flow {
	struct ib_flow ib;
	struct rcu_head rcu;
	struct list_head link;
	struct uroce_qp *qp;
	struct ib_counters *counters;
	u32 rank;
	u32 tag;
	u8 type;
	bool egress;
	bool drops;
	bool shares;
	u8 count;
	struct match match[];
};

/* A flow that drops comes before others of its priority. */
#define RANK_NORMAL	1u
#define RANK_DEFAULT	(RANK_NORMAL + 2 * (U16_MAX + 1))

/* ---- frames -------------------------------------------------------------- */

static bool meets(const struct uroce_frame *frame, const struct match *match)
{
	const u8 *field = (const u8 *)frame + match->at;
	u8 i;

	if (match->has & ~frame->has)
		return false;
	for (i = 0; i < match->len; i++)
		if ((field[i] & match->mask[i]) != match->val[i])
			return false;
	return true;
}

static bool wants(const struct flow *flow, const struct uroce_frame *frame)
{
	u8 i;

	if (flow->type == IB_FLOW_ATTR_MC_DEFAULT)
		return is_multicast_ether_addr(frame->outer.eth.dst);
	for (i = 0; i < flow->count; i++)
		if (!meets(frame, &flow->match[i]))
			return false;
	return true;
}

bool uroce_flows_want(const struct uroce_dev *dev,
		      const struct uroce_frame *frame)
{
	const struct flow *flow;

	list_for_each_entry_rcu(flow, &dev->flows, link)
		if (wants(flow, frame))
			return true;
	return false;
}

/* Frames that have the same headers. */
struct frames {
	const struct uroce_frame *first;
	u32 count;
	u32 bytes;
};

struct verdict {
	u32 copies;
	bool dropped;
};

static void flow_execute(const struct flow *flow, const struct frames *frames,
			 struct verdict *verdict)
{
	if (flow->counters)
		univ_flow_count(flow->counters, frames->count, frames->bytes);
	if (flow->drops) {
		verdict->dropped = true;
	} else if (!flow->egress) {
		uroce_frame_receive(flow->qp, frames->first, flow->tag);
		verdict->copies++;
	}
}

static struct verdict flows_execute(const struct list_head *flows,
				    const struct frames *frames)
{
	struct verdict verdict = {};
	const struct flow *flow;
	u32 last = U32_MAX;

	list_for_each_entry_rcu(flow, flows, link) {
		if (flow->rank > last)
			break;
		if (!wants(flow, frames->first))
			continue;
		if (!flow->shares)
			last = flow->rank;
		flow_execute(flow, frames, &verdict);
	}
	return verdict;
}

u32 uroce_flows_deliver(const struct uroce_dev *dev,
			const struct uroce_frame *frame)
{
	const struct frames one = { frame, 1, uroce_frame_len(frame) };

	return flows_execute(&dev->flows, &one).copies;
}

bool uroce_flows_pass(const struct uroce_dev *dev,
		      const struct uroce_frame *frame, u32 frames, u32 bytes)
{
	const struct frames all = { frame, frames, bytes };

	return !flows_execute(&dev->egress, &all).dropped;
}

/* ---- specs --------------------------------------------------------------- */

/* The fields of a frame lie where the filters have them. */
#define SAME_PLACE(type, first, field, filter, its)			\
	static_assert(offsetof(struct type, field) -			\
		      offsetof(struct type, first) ==			\
		      offsetof(struct filter, its))

SAME_PLACE(uroce_headers, eth, eth.tci, ib_flow_eth_filter, vlan_tag);
SAME_PLACE(uroce_headers, ip, ip.v4.flags, ib_flow_ipv4_filter, flags);
SAME_PLACE(uroce_headers, ip, ip.v6.hops, ib_flow_ipv6_filter, hop_limit);
SAME_PLACE(uroce_headers, ports, ports.src, ib_flow_tcp_udp_filter, src_port);
SAME_PLACE(uroce_headers, esp, esp.seq, ib_flow_esp_filter, seq);
SAME_PLACE(uroce_frame, gre, gre.key, ib_flow_gre_filter, key);

/* Bytes without a mask at both ends are left out. */
static void match_fill(struct match *match, size_t at, const void *filter,
		       const void *its_mask, u8 len)
{
	const u8 *val = filter, *mask = its_mask;
	u8 i;

	while (len && !mask[len - 1])
		len--;
	for (; len && !*mask; len--, at++, mask++)
		val++;
	match->at = at;
	match->len = len;
	memcpy(match->val, val, len);
	memcpy(match->mask, mask, len);
	for (i = 0; i < len; i++)
		match->val[i] &= match->mask[i];
}

#define FILL(match, at, spec, last)					\
	match_fill(match, at, &(spec)->val, &(spec)->mask,		\
		   offsetofend(typeof((spec)->val), last))

#define FIELD(member)	offsetof(struct uroce_frame, member)
#define HEADER(base, member) \
	((base) + offsetof(struct uroce_headers, member))

/* Headers that are outside of a tunnel or inside of it. */
static bool header_take(struct match *match, const union ib_flow_spec *spec)
{
	bool inner = spec->type & IB_FLOW_SPEC_INNER;
	size_t base = inner ? FIELD(inner) : FIELD(outer);

	switch (spec->type & ~IB_FLOW_SPEC_INNER) {
	case IB_FLOW_SPEC_ETH:
		FILL(match, HEADER(base, eth), &spec->eth, vlan_tag);
		match->has = UROCE_HAS_ETH;
		if (spec->eth.mask.vlan_tag)
			match->has |= UROCE_HAS_TAG;
		break;
	case IB_FLOW_SPEC_IPV4:
		FILL(match, HEADER(base, ip), &spec->ipv4, flags);
		match->has = UROCE_HAS_IPV4;
		break;
	case IB_FLOW_SPEC_IPV6:
		FILL(match, HEADER(base, ip), &spec->ipv6, hop_limit);
		match->has = UROCE_HAS_IPV6;
		break;
	case IB_FLOW_SPEC_ESP:
		FILL(match, HEADER(base, esp), &spec->esp, seq);
		match->has = UROCE_HAS_ESP;
		break;
	case IB_FLOW_SPEC_TCP:
		FILL(match, HEADER(base, ports), &spec->tcp_udp, src_port);
		match->has = UROCE_HAS_TCP;
		break;
	case IB_FLOW_SPEC_UDP:
		FILL(match, HEADER(base, ports), &spec->tcp_udp, src_port);
		match->has = UROCE_HAS_UDP;
		break;
	case IB_FLOW_SPEC_MPLS:
		FILL(match, HEADER(base, mpls), &spec->mpls, tag);
		match->has = UROCE_HAS_MPLS;
		break;
	default:
		return false;
	}
	if (inner)
		match->has <<= UROCE_INNER;
	return true;
}

/* The spec before one of MPLS says where the labels are. */
static void labels_take(struct match *match, const union ib_flow_spec *spec,
			u32 before)
{
	switch (before) {
	case IB_FLOW_SPEC_IPV4:
	case IB_FLOW_SPEC_IPV6:
		FILL(match, FIELD(ip_mpls), &spec->mpls, tag);
		match->has = UROCE_HAS_IP_MPLS;
		break;
	case IB_FLOW_SPEC_UDP:
		FILL(match, FIELD(udp_mpls), &spec->mpls, tag);
		match->has = UROCE_HAS_UDP_MPLS;
		break;
	case IB_FLOW_SPEC_GRE:
		FILL(match, FIELD(gre_mpls), &spec->mpls, tag);
		match->has = UROCE_HAS_GRE_MPLS;
		break;
	default:
		header_take(match, spec);
	}
}

/* Returns false if the type is unknown. */
static bool match_take(struct match *match, const union ib_flow_spec *spec,
		       u32 before)
{
	switch (spec->type) {
	case IB_FLOW_SPEC_MPLS:
		labels_take(match, spec, before);
		return true;
	case IB_FLOW_SPEC_MPLS | IB_FLOW_SPEC_INNER:
		/* The labels that make the tunnel count as inner ones too. */
		if (before != IB_FLOW_SPEC_UDP && before != IB_FLOW_SPEC_GRE)
			return header_take(match, spec);
		labels_take(match, spec, before);
		return true;
	case IB_FLOW_SPEC_VXLAN_TUNNEL:
		FILL(match, FIELD(vni), &spec->tunnel, tunnel_id);
		match->has = UROCE_HAS_VXLAN;
		return true;
	case IB_FLOW_SPEC_GRE:
		FILL(match, FIELD(gre), &spec->gre, key);
		match->has = UROCE_HAS_GRE;
		if (spec->gre.mask.key)
			match->has |= UROCE_HAS_GRE_KEY;
		return true;
	default:
		return header_take(match, spec);
	}
}

/* Returns false if it is a spec of a header. */
static bool action_take(struct flow *flow, const union ib_flow_spec *spec)
{
	switch (spec->type) {
	case IB_FLOW_SPEC_ACTION_TAG:
		flow->tag = spec->flow_tag.tag_id;
		return true;
	case IB_FLOW_SPEC_ACTION_DROP:
		flow->drops = true;
		return true;
	case IB_FLOW_SPEC_ACTION_COUNT:
		flow->counters = spec->flow_count.counters;
		return true;
	default:
		return false;
	}
}

/* The core has checked the specs (kernel/core/verbs/flow_spec.c). */
static int specs_take(struct flow *flow, const struct ib_flow_attr *attr)
{
	const union ib_flow_spec *spec = attr->flows;
	struct match *match;
	u32 before = 0;
	u8 i;

	for (i = 0; i < attr->num_of_specs; i++) {
		match = &flow->match[flow->count];
		if (!action_take(flow, spec)) {
			if (!match_take(match, spec, before))
				return -EOPNOTSUPP;
			before = spec->type;
			/* An entry that every frame meets only costs time. */
			if (match->len || match->has != UROCE_HAS_ETH)
				flow->count++;
		}
		spec = (const void *)spec + spec->size;
	}
	return 0;
}

static void rank_set(struct flow *flow, const struct ib_flow_attr *attr)
{
	flow->type = attr->type;
	flow->egress = attr->flags & IB_FLOW_ATTR_FLAGS_EGRESS;
	flow->shares = attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP;
	if (attr->type == IB_FLOW_ATTR_SNIFFER)
		flow->shares = true;
	else if (attr->type == IB_FLOW_ATTR_NORMAL)
		flow->rank = RANK_NORMAL + 2 * attr->priority + !flow->drops;
	else
		flow->rank = RANK_DEFAULT + !flow->drops;
	/* As over mlx5: no other flow gets a frame that is dropped. */
	if (attr->type == IB_FLOW_ATTR_NORMAL && flow->drops)
		flow->shares = false;
}

static struct flow *flow_alloc(struct uroce_qp *qp,
			       const struct ib_flow_attr *attr)
{
	struct flow *flow;
	int ret;

	flow = kzalloc(struct_size(flow, match, attr->num_of_specs),
		       GFP_KERNEL_ACCOUNT);
	if (!flow)
		return ERR_PTR(-ENOMEM);
	flow->qp = qp;
	ret = specs_take(flow, attr);
	if (ret) {
		kfree(flow);
		return ERR_PTR(ret);
	}
	rank_set(flow, attr);
	return flow;
}

/*
 * A process of another network namespace could not open a packet socket on the
 * net device. In the shared mode of RDMA namespaces it can open the device, and
 * the core checks its capability only.
 */
bool uroce_raw_is_allowed(const struct uroce_dev *dev)
{
	return net_eq(dev_net(dev->netdev), current->nsproxy->net_ns);
}

/* ---- the list ------------------------------------------------------------ */

void uroce_flows_init(struct uroce_dev *dev)
{
	mutex_init(&dev->flows_lock);
	INIT_LIST_HEAD(&dev->flows);
	INIT_LIST_HEAD(&dev->egress);
	dev->tap = (struct packet_type){
		.type = htons(ETH_P_ALL),
		.func = uroce_tap,
		.ignore_outgoing = true,
	};
}

/*
 * Frames of the net device are looked at while there is a flow for them, unless
 * the module receives no packets.
 */
static void tap_set(struct uroce_dev *dev, bool on)
{
	lockdep_assert_held(&dev->flows_lock);
	if (!uroce_net_enabled() || on == !!dev->tap.dev)
		return;
	if (on) {
		dev->tap.dev = dev->netdev;
		dev_add_pack(&dev->tap);
	} else {
		dev_remove_pack(&dev->tap);
		dev->tap.dev = NULL;
	}
}

void uroce_flows_leave(struct uroce_dev *dev)
{
	mutex_lock(&dev->flows_lock);
	tap_set(dev, false);
	mutex_unlock(&dev->flows_lock);
}

static void list_insert(struct uroce_dev *dev, struct flow *flow)
{
	struct list_head *list = flow->egress ? &dev->egress : &dev->flows;
	struct flow *each;

	list_for_each_entry(each, list, link)
		if (each->rank > flow->rank)
			break;
	list_add_tail_rcu(&flow->link, &each->link);
	dev->flow_count++;
}

static int flow_add(struct uroce_dev *dev, struct flow *flow)
{
	int ret = 0;

	mutex_lock(&dev->flows_lock);
	if (READ_ONCE(dev->gone))
		ret = -ENODEV;
	else if (dev->flow_count == UROCE_MAX_FLOWS)
		ret = -ENOSPC;
	if (!ret) {
		list_insert(dev, flow);
		tap_set(dev, !list_empty(&dev->flows));
	}
	mutex_unlock(&dev->flows_lock);
	return ret;
}

struct ib_flow *uroce_flow_create(struct ib_qp *ib, struct ib_flow_attr *attr,
				  struct ib_udata *udata)
{
	struct uroce_qp *qp = to_uqp(ib);
	struct flow *flow;
	int ret;

	if (qp->type != IB_QPT_RAW_PACKET)
		return ERR_PTR(-EINVAL);
	if (!uroce_raw_is_allowed(qp->dev))
		return ERR_PTR(-EPERM);
	flow = flow_alloc(qp, attr);
	if (IS_ERR(flow))
		return ERR_CAST(flow);
	ret = flow_add(qp->dev, flow);
	if (!ret)
		return &flow->ib;
	kfree(flow);
	return ERR_PTR(ret);
}

int uroce_flow_destroy(struct ib_flow *ib)
{
	struct flow *flow = container_of(ib, struct flow, ib);
	struct uroce_dev *dev = flow->qp->dev;

	mutex_lock(&dev->flows_lock);
	list_del_rcu(&flow->link);
	dev->flow_count--;
	if (list_empty(&dev->flows))
		tap_set(dev, false);
	mutex_unlock(&dev->flows_lock);
	kfree_rcu(flow, rcu);
	return 0;
}
