// SPDX-License-Identifier: GPL-2.0
/*
 * The faults of devices over generic netlink; see uapi/uroce_fault.h. The lock
 * of the family is held during a request, so requests do not run concurrently,
 * nor after uroce_fault_nl_exit(). A device stays while a request holds it.
 */
#include <linux/capability.h>
#include <linux/rculist.h>
#include <net/genetlink.h>

#include "control.h"

#define MAX_ATTR UROCE_A_PKEYS
#define RATE NLA_POLICY_FULL_RANGE(NLA_U32, &rate_range)
#define AT NLA_POLICY_EXACT_LEN(sizeof(struct uroce_fault_at))

static struct netlink_range_validation rate_range = {
	.max = UROCE_FAULT_MAX_PPM,
};

static struct netlink_range_validation delay_range = {
	.max = UROCE_FAULT_MAX_DELAY_US,
};

static const struct nla_policy at_policy[UROCE_A_COMPLETION_ERROR + 1] = {
	[UROCE_A_DROP ... UROCE_A_COMPLETION_ERROR] = AT,
};

static const struct nla_policy policy[MAX_ATTR + 1] = {
	[UROCE_A_DEV] = { .type = NLA_NUL_STRING,
			  .len = IB_DEVICE_NAME_MAX - 1 },
	[UROCE_A_DROP ... UROCE_A_COMPLETION_ERROR] = RATE,
	[UROCE_A_DELAY_US] = NLA_POLICY_FULL_RANGE(NLA_U32, &delay_range),
	[UROCE_A_PORT_DOWN] = NLA_POLICY_MAX(NLA_U32, 1),
	[UROCE_A_AT] = NLA_POLICY_NESTED(at_policy),
	[UROCE_A_QP] = { .type = NLA_U32 },
	[UROCE_A_SEED] = { .type = NLA_U32 },
	[UROCE_A_STATUS] = NLA_POLICY_RANGE(NLA_U32, 1, UROCE_FAULT_MAX_STATUS),
	[UROCE_A_VERB] = NLA_POLICY_MAX(NLA_U32, UROCE_VERBS - 1),
	[UROCE_A_VERB_AT] = { .type = NLA_U32 },
	[UROCE_A_VERB_ERRNO] = NLA_POLICY_RANGE(NLA_U32, 1,
						UROCE_FAULT_MAX_ERRNO),
	[UROCE_A_MIRROR] = NLA_POLICY_MAX(NLA_U32, 1),
	[UROCE_A_PKEYS] = { .type = NLA_BINARY,
			    .len = UROCE_PKEYS * sizeof(u16) },
};

static const enum uroce_attr rate_attr[UROCE_FAULTS] = {
	[UROCE_FAULT_DROP] = UROCE_A_DROP,
	[UROCE_FAULT_DUPLICATE] = UROCE_A_DUPLICATE,
	[UROCE_FAULT_CORRUPT] = UROCE_A_CORRUPT,
	[UROCE_FAULT_DELAY] = UROCE_A_DELAY,
	[UROCE_FAULT_RNR] = UROCE_A_RNR,
	[UROCE_FAULT_REMOTE] = UROCE_A_REMOTE_ERROR,
	[UROCE_FAULT_COMPLETION] = UROCE_A_COMPLETION_ERROR,
};

static struct genl_family family;

/*
 * A device that is being removed cannot be held any more, and another device
 * may already have its name. From 7.3 on devices of different namespaces may
 * have the same name.
 */
static struct uroce_dev *dev_find(const char *name, const struct net *net)
{
	struct uroce_dev *dev;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &uroce_devices, link)
		if (!strcmp(dev->ib.name, name) &&
		    rdma_dev_access_netns(&dev->ib, net) &&
		    ib_device_try_get(&dev->ib))
			goto unlock;
	dev = NULL;
unlock:
	rcu_read_unlock();
	return dev;
}

/* The caller ends the hold with ib_device_put(). */
static struct uroce_dev *dev_get(struct genl_info *info)
{
	struct nlattr *name = info->attrs[UROCE_A_DEV];
	struct uroce_dev *dev;

	if (!name) {
		NL_SET_ERR_MSG(info->extack, "the request names no device");
		return ERR_PTR(-EINVAL);
	}
	dev = dev_find(nla_data(name), genl_info_net(info));
	if (dev)
		return dev;
	NL_SET_ERR_MSG_ATTR(info->extack, name,
			    "no uroce device here has this name");
	return ERR_PTR(-ENODEV);
}

/* The rates, and the numbers of those faults that have some. */
static int put_rules(struct sk_buff *skb, const struct uroce_faults *f)
{
	struct nlattr *nest;
	int i;

	for (i = 0; i < UROCE_FAULTS; i++)
		if (nla_put_u32(skb, rate_attr[i], READ_ONCE(f->rule[i].rate)))
			return -EMSGSIZE;
	nest = nla_nest_start(skb, UROCE_A_AT);
	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < UROCE_FAULTS; i++) {
		struct uroce_fault_at at = {
			.first = READ_ONCE(f->rule[i].at.first),
			.last = READ_ONCE(f->rule[i].at.last),
		};

		if (at.last && nla_put(skb, rate_attr[i], sizeof(at), &at))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int put_faults(struct sk_buff *skb, struct uroce_dev *dev)
{
	const struct uroce_faults *f = &dev->faults;
	char name[IB_DEVICE_NAME_MAX];
	const struct { u16 attr; u32 value; } values[] = {
		{ UROCE_A_DELAY_US, READ_ONCE(f->delay_us) },
		{ UROCE_A_PORT_DOWN, uroce_fault_down(dev) },
		{ UROCE_A_QP, READ_ONCE(f->qpn) },
		{ UROCE_A_SEED, READ_ONCE(f->seed) },
		{ UROCE_A_STATUS, uroce_fault_status(dev) },
		{ UROCE_A_VERB, READ_ONCE(f->verb.verb) },
		{ UROCE_A_VERB_AT, READ_ONCE(f->verb.at) },
		{ UROCE_A_VERB_ERRNO, READ_ONCE(f->verb.error) },
		{ UROCE_A_MIRROR, READ_ONCE(dev->mirror) },
	};
	int i;

	/*
	 * If the device is renamed meanwhile, the name is made of parts of both
	 * names.
	 */
	strscpy(name, dev->ib.name, sizeof(name));
	if (nla_put_string(skb, UROCE_A_DEV, name) || put_rules(skb, f))
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(values); i++)
		if (nla_put_u32(skb, values[i].attr, values[i].value))
			return -EMSGSIZE;
	return nla_put(skb, UROCE_A_PKEYS, sizeof(dev->pkeys), dev->pkeys);
}

static int put_message(struct sk_buff *skb, u32 portid, u32 seq, int flags,
		       struct uroce_dev *dev)
{
	void *hdr = genlmsg_put(skb, portid, seq, &family, flags,
				UROCE_CMD_FAULT_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (put_faults(skb, dev)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int fault_get(struct sk_buff *request, struct genl_info *info)
{
	struct uroce_dev *dev = dev_get(info);
	struct sk_buff *skb;
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	ret = skb ? put_message(skb, info->snd_portid, info->snd_seq, 0, dev) :
		    -ENOMEM;
	ib_device_put(&dev->ib);
	if (!ret)
		return genlmsg_reply(skb, info);
	nlmsg_free(skb);
	return ret;
}

/*
 * The list is in ascending order of @id, so a dump continues after the last @id
 * that it has reported.
 */
static int fault_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	struct uroce_dev *dev;
	u64 *last = (u64 *)cb->ctx;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &uroce_devices, link) {
		if (dev->id <= *last || READ_ONCE(dev->gone) ||
		    !rdma_dev_access_netns(&dev->ib, net))
			continue;
		if (put_message(skb, NETLINK_CB(cb->skb).portid,
				cb->nlh->nlmsg_seq, NLM_F_MULTI, dev))
			break;
		*last = dev->id;
	}
	rcu_read_unlock();
	return skb->len;
}

static bool at_is_valid(const struct uroce_fault_at *at)
{
	return at->first && at->first <= at->last;
}

/*
 * Checks the rules that the policies cannot express, before anything is
 * changed.
 */
static int check_at(struct genl_info *info)
{
	const struct nlattr *attr;
	int left;

	if (!info->attrs[UROCE_A_AT])
		return 0;
	nla_for_each_nested(attr, info->attrs[UROCE_A_AT], left) {
		if (at_is_valid(nla_data(attr)) &&
		    !info->attrs[nla_type(attr)])
			continue;
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "need 1 <= first <= last, and no rate for the same fault");
		return -EINVAL;
	}
	return 0;
}

/*
 * The first entry is not empty: queue pairs that no program has given a P_Key
 * have index 0.
 */
static int check_pkeys(struct genl_info *info)
{
	const struct nlattr *attr = info->attrs[UROCE_A_PKEYS];
	const u16 *pkey = attr ? nla_data(attr) : NULL;
	u32 i, count = attr ? nla_len(attr) / sizeof(*pkey) : 0;

	if (!attr)
		return 0;
	if (!count || nla_len(attr) % sizeof(*pkey) || !pkey[0])
		goto wrong;
	for (i = 0; i < count; i++)
		if (pkey[i] == UROCE_PKEY_FULL)
			goto wrong;
	return 0;

wrong:
	NL_SET_ERR_MSG_ATTR(info->extack, attr,
			    "entry 0 must be a P_Key, and 0x8000 is not a P_Key");
	return -EINVAL;
}

static void set_pkeys(struct uroce_dev *dev, const struct nlattr *attr)
{
	u16 pkeys[UROCE_PKEYS] = {};
	u32 i;

	memcpy(pkeys, nla_data(attr), nla_len(attr));
	if (!memcmp(dev->pkeys, pkeys, sizeof(pkeys)))
		return;
	for (i = 0; i < UROCE_PKEYS; i++)
		WRITE_ONCE(dev->pkeys[i], pkeys[i]);
	uroce_qp_partitions(dev);
	uroce_dev_changed(dev, UROCE_CHANGE_PKEYS);
}

static void set_rules(struct uroce_dev *dev, struct nlattr **attrs)
{
	struct nlattr *at[UROCE_A_COMPLETION_ERROR + 1] = {};
	struct uroce_fault_at none = {};
	int i;

	/* The request was validated already. */
	if (attrs[UROCE_A_AT])
		nla_parse_nested(at, UROCE_A_COMPLETION_ERROR,
				 attrs[UROCE_A_AT], at_policy, NULL);
	for (i = 0; i < UROCE_FAULTS; i++) {
		struct nlattr *rate = attrs[rate_attr[i]];
		struct nlattr *numbers = at[rate_attr[i]];

		if (rate)
			uroce_fault_set_rule(dev, i, nla_get_u32(rate), none);
		else if (numbers)
			uroce_fault_set_rule(dev, i, 0,
					     *(struct uroce_fault_at *)
						     nla_data(numbers));
	}
}

static u32 value_or(const struct nlattr *attr, u32 value)
{
	return attr ? nla_get_u32(attr) : value;
}

/* A verb that is named anew fails at its next call with ENOMEM. */
static void set_verb(struct uroce_dev *dev, struct nlattr **attrs)
{
	const struct uroce_verb_rule *old = &dev->faults.verb;
	struct nlattr *verb = attrs[UROCE_A_VERB];

	if (!verb && !attrs[UROCE_A_VERB_AT] && !attrs[UROCE_A_VERB_ERRNO])
		return;
	uroce_fault_set_verb(dev, value_or(verb, old->verb),
			     value_or(attrs[UROCE_A_VERB_AT],
				      verb ? 1 : old->at),
			     value_or(attrs[UROCE_A_VERB_ERRNO],
				      verb ? ENOMEM : old->error));
}

static void set_all(struct uroce_dev *dev, struct nlattr **attrs)
{
	struct uroce_faults *f = &dev->faults;

	if (attrs[UROCE_A_QP])
		WRITE_ONCE(f->qpn, nla_get_u32(attrs[UROCE_A_QP]));
	if (attrs[UROCE_A_SEED])
		uroce_fault_set_seed(dev, nla_get_u32(attrs[UROCE_A_SEED]));
	if (attrs[UROCE_A_STATUS])
		WRITE_ONCE(f->status, nla_get_u32(attrs[UROCE_A_STATUS]));
	if (attrs[UROCE_A_DELAY_US])
		WRITE_ONCE(f->delay_us, nla_get_u32(attrs[UROCE_A_DELAY_US]));
	set_rules(dev, attrs);
	set_verb(dev, attrs);
	if (attrs[UROCE_A_MIRROR])
		uroce_mirror_set(dev, nla_get_u32(attrs[UROCE_A_MIRROR]));
	if (attrs[UROCE_A_PKEYS])
		set_pkeys(dev, attrs[UROCE_A_PKEYS]);
	if (attrs[UROCE_A_PORT_DOWN])
		uroce_fault_set_down(dev,
				     nla_get_u32(attrs[UROCE_A_PORT_DOWN]));
}

/*
 * If namespaces share RDMA devices, a device is visible in namespaces that do
 * not own it. The check runs under RCU, since the net device may leave its
 * namespace, and that namespace may end.
 */
static int may_set(struct sk_buff *request, const struct uroce_dev *dev)
{
	int ret = 0;

	rcu_read_lock();
	if (READ_ONCE(dev->gone))
		ret = -ENODEV;
	else if (!netlink_ns_capable(request, dev_net(dev->netdev)->user_ns,
				     CAP_NET_ADMIN))
		ret = -EPERM;
	rcu_read_unlock();
	return ret;
}

static int fault_set(struct sk_buff *request, struct genl_info *info)
{
	struct uroce_dev *dev = dev_get(info);
	int ret;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = may_set(request, dev) ?: check_at(info) ?: check_pkeys(info);
	if (!ret)
		set_all(dev, info->attrs);
	else if (ret == -EPERM)
		NL_SET_ERR_MSG(info->extack,
			       "this needs CAP_NET_ADMIN where the net device is");
	ib_device_put(&dev->ib);
	return ret;
}

static const struct genl_ops ops[] = {
	{
		.cmd = UROCE_CMD_FAULT_GET,
		.doit = fault_get,
		.dumpit = fault_dump,
	},
	{
		.cmd = UROCE_CMD_FAULT_SET,
		.doit = fault_set,
	},
};

static struct genl_family family __ro_after_init = {
	.name = UROCE_GENL_NAME,
	.version = UROCE_GENL_VERSION,
	.maxattr = MAX_ATTR,
	.policy = policy,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.resv_start_op = UROCE_CMD_FAULT_SET + 1,
	.netnsok = true,
	.module = THIS_MODULE,
};

int __init uroce_fault_nl_init(void)
{
	return genl_register_family(&family);
}

void uroce_fault_nl_exit(void)
{
	genl_unregister_family(&family);
}
