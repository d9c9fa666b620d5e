// SPDX-License-Identifier: GPL-2.0
/* Multicast groups: who is in them. */
#include <linux/etherdevice.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/if_inet6.h>
#include <net/ip.h>

#include "uroce.h"

/**
 * struct member - a queue pair in a group
 * @link: in uroce_dev.groups: read under RCU, changed under groups_lock
 * @rcu: freed after a grace period
 * @gid: the group
 * @qp: the member; leaves before it is destroyed
 */
struct member {
	struct list_head link;
	struct rcu_head rcu;
	union ib_gid gid;
	struct uroce_qp *qp;
};

/* The Ethernet address that packets to the group have */
static void group_address(const union ib_gid *gid, u8 *addr)
{
	const struct in6_addr *ip = (const void *)gid->raw;

	if (ipv6_addr_v4mapped(ip))
		ip_eth_mc_map(ip->s6_addr32[3], addr);
	else
		ipv6_eth_mc_map(ip, addr);
}

static struct member *find(struct uroce_qp *qp, const union ib_gid *gid)
{
	struct member *member;

	list_for_each_entry(member, &qp->dev->groups, link)
		if (member->qp == qp && !memcmp(&member->gid, gid, sizeof(*gid)))
			return member;
	return NULL;
}

int uroce_mcast_attach(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct uroce_qp *qp = to_uqp(ib);
	struct uroce_dev *dev = qp->dev;
	struct member *member;
	u8 addr[ETH_ALEN];
	bool twice;
	int ret;

	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		return -ENOMEM;
	member->gid = *gid;
	member->qp = qp;
	group_address(gid, addr);
	ret = dev_mc_add(dev->netdev, addr);
	if (ret)
		goto free;
	spin_lock_bh(&dev->groups_lock);
	twice = find(qp, gid);
	if (!twice)
		list_add_rcu(&member->link, &dev->groups);
	spin_unlock_bh(&dev->groups_lock);
	if (!twice)
		return 0;
	dev_mc_del(dev->netdev, addr);
	ret = -EINVAL;
free:
	kfree(member);
	return ret;
}

int uroce_mcast_detach(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct uroce_qp *qp = to_uqp(ib);
	struct uroce_dev *dev = qp->dev;
	struct member *member;
	u8 addr[ETH_ALEN];

	spin_lock_bh(&dev->groups_lock);
	member = find(qp, gid);
	if (member)
		list_del_rcu(&member->link);
	spin_unlock_bh(&dev->groups_lock);
	if (!member)
		return -EINVAL;
	group_address(gid, addr);
	dev_mc_del(dev->netdev, addr);
	kfree_rcu(member, rcu);
	return 0;
}

/*
 * Every member on this device. The queue pair may be on its way out: @each looks
 * at @dead under its lock. Context: RCU.
 */
void uroce_mcast_each(struct uroce_dev *dev, const union ib_gid *gid,
		      void (*each)(struct uroce_qp *qp, void *arg), void *arg)
{
	struct member *member;

	list_for_each_entry_rcu(member, &dev->groups, link)
		if (!memcmp(&member->gid, gid, sizeof(*gid)))
			each(member->qp, arg);
}
