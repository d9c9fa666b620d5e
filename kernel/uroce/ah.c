// SPDX-License-Identifier: GPL-2.0
/* Ways to peers, and address handles. */
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "uroce.h"

static bool local = true;
module_param(local, bool, 0644);
MODULE_PARM_DESC(local, "queue pairs of one host talk without packets (default: yes)");

/*
 * Address handles by number: a request in a private ring names one so. The
 * connection manager makes some with interrupts off.
 */
static DEFINE_XARRAY_FLAGS(handles, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);

/* Addresses that every namespace has, or each link */
static bool is_confined(const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return ipv4_is_loopback(addr->s6_addr32[3]) ||
		       ipv4_is_linklocal_169(addr->s6_addr32[3]);
	return ipv6_addr_loopback(addr) ||
	       ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL;
}

/*
 * Whether the address is one of this host's, in the device's namespace or in one
 * that policy.c lets it reach
 */
static u64 av_peer(struct uroce_dev *dev, const union ib_gid *dgid)
{
	const struct in6_addr *addr = (const void *)dgid->raw;
	struct uroce_dev *peer;
	struct net *net;
	u64 id = 0;

	if (!READ_ONCE(local) || rdma_is_multicast_addr((void *)dgid->raw))
		return 0;
	rcu_read_lock();
	if (!READ_ONCE(dev->gone)) {
		net = dev_net(dev->netdev);
		peer = uroce_dev_by_gid(net, dgid);
		if (!peer && !is_confined(addr))
			peer = uroce_dev_across(net, dgid);
		id = peer ? peer->id : 0;
	}
	rcu_read_unlock();
	return id;
}

/*
 * The net device that has the source address: ours, or one on top of it, whose packets
 * leave with a tag, or with another address below. Packets never leave by a net device of
 * another namespace: they go by ours.
 */
static int source_netdev(const struct uroce_dev *dev, const struct ib_gid_attr *sgid)
{
	const struct net_device *has;
	int ifindex = dev->netdev->ifindex;

	rcu_read_lock();
	has = rdma_read_gid_attr_ndev_rcu(sgid);
	if (!IS_ERR(has) && net_eq(dev_net(has), dev_net(dev->netdev)))
		ifindex = has->ifindex;
	rcu_read_unlock();
	return ifindex;
}

/* Any context that ib_create_ah() may be called in */
int uroce_av_init(struct uroce_dev *dev, struct uroce_av *av,
		  const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !grh->sgid_attr)
		return -EINVAL;
	memset(av, 0, sizeof(*av));
	memcpy(&av->flow.src, &grh->sgid_attr->gid, sizeof(av->flow.src));
	memcpy(&av->flow.dst, &grh->dgid, sizeof(av->flow.dst));
	av->flow.label = grh->flow_label;
	av->flow.tclass = grh->traffic_class;
	av->flow.hops = grh->hop_limit;
	/* Of the range that the specification sets aside for this */
	av->flow.sport = htons(rdma_flow_label_to_udp_sport(
		av->flow.label ?: get_random_u32() & IB_GRH_FLOWLABEL_MASK));
	av->flow.oif = source_netdev(dev, grh->sgid_attr);
	av->peer = av_peer(dev, &grh->dgid);
	if (!av->peer && !uroce_net_wire() &&
	    !rdma_is_multicast_addr((void *)grh->dgid.raw))
		return -EHOSTUNREACH;
	return 0;
}

int uroce_ah_create(struct ib_ah *ib, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata)
{
	gfp_t gfp = init->flags & RDMA_CREATE_AH_SLEEPABLE ? GFP_KERNEL :
							     GFP_ATOMIC;
	struct uroce_ah *ah = to_uah(ib);
	unsigned long flags;
	int ret;

	ret = uroce_av_init(to_udev(ib->device), &ah->av, init->ah_attr);
	if (ret)
		return ret;
	ah->attr = *init->ah_attr;
	ah->attr.grh.sgid_attr = NULL;
	xa_lock_irqsave(&handles, flags);
	ret = __xa_alloc(&handles, &ah->index, ah, XA_LIMIT(1, INT_MAX), gfp);
	xa_unlock_irqrestore(&handles, flags);
	return ret;
}

int uroce_ah_destroy(struct ib_ah *ib, u32 flags)
{
	struct uroce_ah *ah = to_uah(ib);
	unsigned long irq;

	xa_lock_irqsave(&handles, irq);
	__xa_erase(&handles, ah->index);
	xa_unlock_irqrestore(&handles, irq);
	uroce_flow_release(&ah->av.flow);
	return 0;
}

int uroce_ah_query(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	*attr = to_uah(ib)->attr;
	return 0;
}

/* Any context */
bool uroce_ah_copy(u32 index, struct uroce_av *av)
{
	struct uroce_ah *ah;
	unsigned long flags;

	xa_lock_irqsave(&handles, flags);
	ah = xa_load(&handles, index);
	if (ah) {
		*av = ah->av;
		av->flow.route = NULL;
	}
	xa_unlock_irqrestore(&handles, flags);
	return ah;
}
