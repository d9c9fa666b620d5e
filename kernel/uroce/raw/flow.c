// SPDX-License-Identifier: GPL-2.0
/* Flows: which frames are for which queue pair. */
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
 * @layer: offset in struct uroce_frame of the bytes that are compared
 * @len: number of these bytes; the first and the last one have a mask
 * @l3: the frame has this IP version; 0 for any
 * @l4: the frame has ports of this protocol; 0 for any
 * @tagged: the frame has a VLAN tag
 * @val: their values, and zero where @mask is
 * @mask: bits that are compared
 */
struct match {
	u8 layer;
	u8 len;
	u8 l3;
	u8 l4;
	bool tagged;
	u8 val[40];
	u8 mask[40];
};

/**
 * struct flow - a flow
 * @ib: first member
 * @rcu: freed after a grace period
 * @link: in uroce_dev.flows, under RCU, in ascending order of @rank
 * @qp: the queue pair, which is not destroyed before the flow
 * @rank: a frame goes to all matching flows of the lowest rank that one has
 * @counters: counts the frames; NULL for flows of other users than the core
 * @tag: of completions
 * @type: enum ib_flow_attr_type
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
	const u8 *field = (const u8 *)frame + match->layer;
	u8 i;

	if ((match->l3 && match->l3 != frame->l3) ||
	    (match->l4 && match->l4 != frame->l4) ||
	    (match->tagged && !frame->tagged))
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
		return is_multicast_ether_addr(frame->eth.dst);
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

u32 uroce_flows_deliver(const struct uroce_dev *dev,
			const struct uroce_frame *frame)
{
	u32 last = U32_MAX, copies = 0;
	struct flow *flow;

	list_for_each_entry_rcu(flow, &dev->flows, link) {
		if (flow->rank > last)
			break;
		if (!wants(flow, frame))
			continue;
		if (!flow->shares)
			last = flow->rank;
		if (flow->counters)
			univ_flow_count(flow->counters, uroce_frame_len(frame));
		if (flow->drops)
			continue;
		uroce_frame_receive(flow->qp, frame, flow->tag);
		copies++;
	}
	return copies;
}

/* ---- specs --------------------------------------------------------------- */

/* Bytes without a mask at both ends are left out. */
static void match_fill(struct match *match, size_t layer, const u8 *val,
		       const u8 *mask, u8 len)
{
	u8 i;

	while (len && !mask[len - 1])
		len--;
	for (; len && !*mask; len--, layer++, mask++)
		val++;
	match->layer = layer;
	match->len = len;
	memcpy(match->val, val, len);
	memcpy(match->mask, mask, len);
	for (i = 0; i < len; i++)
		match->val[i] &= match->mask[i];
}

/* The fields of a frame lie where the filters have them. */
#define SAME_PLACE(member, field, filter, its)				\
	static_assert(offsetof(struct uroce_frame, member.field) -	\
		      offsetof(struct uroce_frame, member) ==		\
		      offsetof(struct filter, its))

SAME_PLACE(eth, tci, ib_flow_eth_filter, vlan_tag);
SAME_PLACE(ip, v4.flags, ib_flow_ipv4_filter, flags);
SAME_PLACE(ip, v6.hops, ib_flow_ipv6_filter, hop_limit);
SAME_PLACE(ports, src, ib_flow_tcp_udp_filter, src_port);

#define MATCH_FILL(match, member, spec, last)				\
	match_fill(match, offsetof(struct uroce_frame, member),		\
		   (const u8 *)&(spec)->val,				\
		   (const u8 *)&(spec)->mask,				\
		   offsetofend(typeof((spec)->val), last))

/* Returns false if the type is unknown. */
static bool spec_take(struct flow *flow, const union ib_flow_spec *spec)
{
	struct match *match = &flow->match[flow->count];

	switch (spec->type) {
	case IB_FLOW_SPEC_ETH:
		MATCH_FILL(match, eth, &spec->eth, vlan_tag);
		match->tagged = spec->eth.mask.vlan_tag;
		break;
	case IB_FLOW_SPEC_IPV4:
		MATCH_FILL(match, ip, &spec->ipv4, flags);
		match->l3 = 4;
		break;
	case IB_FLOW_SPEC_IPV6:
		MATCH_FILL(match, ip, &spec->ipv6, hop_limit);
		match->l3 = 6;
		break;
	case IB_FLOW_SPEC_TCP:
	case IB_FLOW_SPEC_UDP:
		MATCH_FILL(match, ports, &spec->tcp_udp, src_port);
		match->l4 = spec->type == IB_FLOW_SPEC_TCP ? IPPROTO_TCP :
							     IPPROTO_UDP;
		break;
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
	/* An entry that every frame meets would only cost time. */
	if (match->len || match->l3 || match->l4)
		flow->count++;
	return true;
}

static void rank_set(struct flow *flow, const struct ib_flow_attr *attr)
{
	flow->type = attr->type;
	flow->shares = attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP;
	if (attr->type == IB_FLOW_ATTR_SNIFFER)
		flow->shares = true;
	else if (attr->type == IB_FLOW_ATTR_NORMAL)
		flow->rank = RANK_NORMAL + 2 * attr->priority + !flow->drops;
	else
		flow->rank = RANK_DEFAULT + !flow->drops;
}

static struct flow *flow_alloc(struct uroce_qp *qp,
			       const struct ib_flow_attr *attr)
{
	const union ib_flow_spec *spec = attr->flows;
	struct flow *flow;
	u8 i;

	/* The core has checked the specs (kernel/core/verbs/flow.c). */
	flow = kzalloc(struct_size(flow, match, attr->num_of_specs),
		       GFP_KERNEL_ACCOUNT);
	if (!flow)
		return ERR_PTR(-ENOMEM);
	flow->qp = qp;
	for (i = 0; i < attr->num_of_specs; i++) {
		if (!spec_take(flow, spec)) {
			kfree(flow);
			return ERR_PTR(-EOPNOTSUPP);
		}
		spec = (const void *)spec + spec->size;
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
	dev->tap = (struct packet_type){
		.type = htons(ETH_P_ALL),
		.func = uroce_tap,
		.ignore_outgoing = true,
	};
}

/*
 * Frames of the net device are looked at while there is a flow, unless the
 * module receives no packets.
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
	struct flow *each;

	list_for_each_entry(each, &dev->flows, link)
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
		tap_set(dev, true);
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
	if (!--dev->flow_count)
		tap_set(dev, false);
	mutex_unlock(&dev->flows_lock);
	kfree_rcu(flow, rcu);
	return 0;
}
