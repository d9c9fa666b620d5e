// SPDX-License-Identifier: GPL-2.0
/*
 * The knobs of fault.c over generic netlink; see uapi/uroce_fault.h. The family's
 * lock is held during a request, so none runs beside another or after
 * uroce_fault_nl_exit(). A device does not go while we hold it.
 */
#include <linux/capability.h>
#include <linux/rculist.h>
#include <net/genetlink.h>

#include "uroce_fault.h"
#include "control.h"

#define MAX_ATTR UROCE_A_PORT_DOWN
#define RATE NLA_POLICY_FULL_RANGE(NLA_U32, &rate_range)

static struct netlink_range_validation rate_range = {
	.max = UROCE_FAULT_MAX_PPM,
};

static struct netlink_range_validation delay_range = {
	.max = UROCE_FAULT_MAX_DELAY_US,
};

static const struct nla_policy policy[MAX_ATTR + 1] = {
	[UROCE_A_DEV] = { .type = NLA_NUL_STRING, .len = IB_DEVICE_NAME_MAX - 1 },
	[UROCE_A_DROP] = RATE,
	[UROCE_A_DUPLICATE] = RATE,
	[UROCE_A_CORRUPT] = RATE,
	[UROCE_A_DELAY] = RATE,
	[UROCE_A_RNR] = RATE,
	[UROCE_A_REMOTE_ERROR] = RATE,
	[UROCE_A_COMPLETION_ERROR] = RATE,
	[UROCE_A_DELAY_US] = NLA_POLICY_FULL_RANGE(NLA_U32, &delay_range),
	[UROCE_A_PORT_DOWN] = NLA_POLICY_MAX(NLA_U32, 1),
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

/* A device that ends cannot be held any more, and another one may have its name already */
static struct uroce_dev *dev_find(const char *name)
{
	struct uroce_dev *dev;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &uroce_devices, link)
		if (!strcmp(dev->ib.name, name) && ib_device_try_get(&dev->ib))
			goto unlock;
	dev = NULL;
unlock:
	rcu_read_unlock();
	return dev;
}

/* Held until ib_device_put() */
static struct uroce_dev *dev_get(struct genl_info *info)
{
	struct nlattr *name = info->attrs[UROCE_A_DEV];
	struct uroce_dev *dev;

	if (!name) {
		NL_SET_ERR_MSG(info->extack, "a device is wanted");
		return ERR_PTR(-EINVAL);
	}
	dev = dev_find(nla_data(name));
	if (dev && rdma_dev_access_netns(&dev->ib, genl_info_net(info)))
		return dev;
	if (dev)
		ib_device_put(&dev->ib);
	NL_SET_ERR_MSG_ATTR(info->extack, name,
			    "no uroce device here has this name");
	return ERR_PTR(-ENODEV);
}

static int put_faults(struct sk_buff *skb, struct uroce_dev *dev)
{
	char name[IB_DEVICE_NAME_MAX];
	int i;

	/* It may be renamed meanwhile; then this is part of both names */
	strscpy(name, dev->ib.name, sizeof(name));
	if (nla_put_string(skb, UROCE_A_DEV, name) ||
	    nla_put_u32(skb, UROCE_A_DELAY_US, READ_ONCE(dev->faults.delay_us)) ||
	    nla_put_u32(skb, UROCE_A_PORT_DOWN, uroce_fault_down(dev)))
		return -EMSGSIZE;
	for (i = 0; i < UROCE_FAULTS; i++)
		if (nla_put_u32(skb, rate_attr[i], READ_ONCE(dev->faults.rate[i])))
			return -EMSGSIZE;
	return 0;
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

/* Devices have ever greater numbers, so the last one told is a place to go on from */
static int fault_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	struct uroce_dev *dev;
	u64 *told = (u64 *)cb->ctx;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &uroce_devices, link) {
		if (dev->id <= *told || READ_ONCE(dev->gone) ||
		    !rdma_dev_access_netns(&dev->ib, net))
			continue;
		if (put_message(skb, NETLINK_CB(cb->skb).portid,
				cb->nlh->nlmsg_seq, NLM_F_MULTI, dev))
			break;
		*told = dev->id;
	}
	rcu_read_unlock();
	return skb->len;
}

static void set_all(struct uroce_dev *dev, struct nlattr **attrs)
{
	int i;

	for (i = 0; i < UROCE_FAULTS; i++)
		if (attrs[rate_attr[i]])
			uroce_fault_set_rate(dev, i,
					     nla_get_u32(attrs[rate_attr[i]]));
	if (attrs[UROCE_A_DELAY_US])
		uroce_fault_set_delay(dev, nla_get_u32(attrs[UROCE_A_DELAY_US]));
	if (attrs[UROCE_A_PORT_DOWN])
		uroce_fault_set_down(dev, nla_get_u32(attrs[UROCE_A_PORT_DOWN]));
}

/*
 * In "shared" mode of RDMA's namespaces a device is seen by those who do not own it.
 * Under RCU, since the netdev may leave its namespace and that one end.
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
	ret = may_set(request, dev);
	if (!ret)
		set_all(dev, info->attrs);
	else if (ret == -EPERM)
		NL_SET_ERR_MSG(info->extack,
			       "CAP_NET_ADMIN is wanted where the device's net device is");
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
