// SPDX-License-Identifier: GPL-2.0
/* Multicast groups and their members. */
#include <linux/etherdevice.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/if_inet6.h>
#include <net/ip.h>

#include "mcast.h"
#include "pair.h"

/**
 * struct member - a queue pair in a group
 * @link: in uroce_dev.groups, with the other members of the group: read under
 *	RCU, changed under groups_lock
 * @rcu: freed after a grace period
 * @gid: address of the group
 * @qp: the queue pair; it leaves the group before it is destroyed
 */
struct member {
	struct rhlist_head link;
	struct rcu_head rcu;
	union ib_gid gid;
	struct uroce_qp *qp;
};

static const struct rhashtable_params groups_params = {
	.key_len = sizeof(union ib_gid),
	.key_offset = offsetof(struct member, gid),
	.head_offset = offsetof(struct member, link),
	.automatic_shrinking = true,
};

int uroce_mcast_init(struct uroce_dev *dev)
{
	mutex_init(&dev->groups_lock);
	return rhltable_init(&dev->groups, &groups_params);
}

/* All members have left. */
void uroce_mcast_exit(struct uroce_dev *dev)
{
	rhltable_destroy(&dev->groups);
}

/* The Ethernet address of packets to the group. */
static void group_address(const union ib_gid *gid, u8 *addr)
{
	const struct in6_addr *ip = (const void *)gid->raw;

	if (ipv6_addr_v4mapped(ip))
		ip_eth_mc_map(ip->s6_addr32[3], addr);
	else
		ipv6_eth_mc_map(ip, addr);
}

/* The members of the group. Context: RCU, or groups_lock. */
static struct rhlist_head *members(struct uroce_dev *dev,
				   const union ib_gid *gid)
{
	return rhltable_lookup(&dev->groups, gid, groups_params);
}

static int attach(struct uroce_dev *dev, struct member *new)
{
	struct rhlist_head *list, *at;
	struct member *member;
	u32 n = 0;
	int ret;

	lockdep_assert_held(&dev->groups_lock);
	rcu_read_lock();
	list = members(dev, &new->gid);
	rhl_for_each_entry_rcu(member, at, list, link) {
		if (member->qp == new->qp)
			break;
		n++;
	}
	rcu_read_unlock();
	if (at)
		return -EINVAL;
	if (n >= UROCE_MAX_MEMBERS ||
	    (!n && dev->group_count >= UROCE_MAX_GROUPS))
		return -ENOMEM;
	ret = rhltable_insert(&dev->groups, &new->link, groups_params);
	if (!ret && !n)
		dev->group_count++;
	return ret;
}

/*
 * Removes the queue pair from the group. Returns its entry, which the caller
 * frees, or NULL if the queue pair was not a member.
 */
static struct member *detach(struct uroce_dev *dev, const struct uroce_qp *qp,
			     const union ib_gid *gid)
{
	struct member *member, *found = NULL;
	struct rhlist_head *at;

	lockdep_assert_held(&dev->groups_lock);
	rcu_read_lock();
	rhl_for_each_entry_rcu(member, at, members(dev, gid), link)
		if (member->qp == qp)
			found = member;
	rcu_read_unlock();
	if (!found)
		return NULL;
	rhltable_remove(&dev->groups, &found->link, groups_params);
	rcu_read_lock();
	if (!members(dev, gid))
		dev->group_count--;
	rcu_read_unlock();
	return found;
}

int uroce_mcast_attach(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct uroce_qp *qp = to_uqp(ib);
	struct uroce_dev *dev = qp->dev;
	struct member *member;
	u8 addr[ETH_ALEN];
	int ret;

	ret = uroce_fault_verb(dev, UROCE_VERB_ATTACH_MCAST);
	if (ret)
		return ret;
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		return -ENOMEM;
	member->gid = *gid;
	member->qp = qp;
	group_address(gid, addr);
	mutex_lock(&dev->groups_lock);
	ret = dev->gone ? -ENODEV : dev_mc_add(dev->netdev, addr);
	if (ret)
		goto unlock;
	ret = attach(dev, member);
	if (ret)
		dev_mc_del(dev->netdev, addr);
unlock:
	mutex_unlock(&dev->groups_lock);
	if (ret)
		kfree(member);
	return ret;
}

int uroce_mcast_detach(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct uroce_qp *qp = to_uqp(ib);
	struct uroce_dev *dev = qp->dev;
	struct member *member;
	u8 addr[ETH_ALEN];

	mutex_lock(&dev->groups_lock);
	member = detach(dev, qp, gid);
	group_address(gid, addr);
	if (member && !dev->gone)
		dev_mc_del(dev->netdev, addr);
	mutex_unlock(&dev->groups_lock);
	if (!member)
		return -EINVAL;
	kfree_rcu(member, rcu);
	return 0;
}

/*
 * The netdev leaves its namespace and loses its multicast addresses. Addresses
 * that it gets later belong to other users.
 */
void uroce_mcast_leave(struct uroce_dev *dev)
{
	mutex_lock(&dev->groups_lock);
	WRITE_ONCE(dev->gone, true);
	mutex_unlock(&dev->groups_lock);
}

/*
 * Calls @each for every member on this device and returns their number. A queue
 * pair may be about to be destroyed: @each checks @dead under its lock.
 * Context: RCU.
 */
u32 uroce_mcast_each(struct uroce_dev *dev, const union ib_gid *gid,
		     void (*each)(struct uroce_qp *qp, void *arg), void *arg)
{
	struct rhlist_head *at;
	struct member *member;
	u32 n = 0;

	rhl_for_each_entry_rcu(member, at, members(dev, gid), link) {
		each(member->qp, arg);
		n++;
	}
	return n;
}
