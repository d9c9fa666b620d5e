// SPDX-License-Identifier: GPL-2.0
/* Address vectors and address handles. */
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "../dev/dev.h"
#include "ah.h"

static bool local = true;
module_param(local, bool, 0644);
MODULE_PARM_DESC(local, "queue pairs of one host communicate without packets (default: yes)");

/*
 * Address handles by number: a request in a private ring names its handle so.
 * The connection manager creates handles with interrupts off.
 */
static DEFINE_XARRAY_FLAGS(handles, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);

/* Addresses that exist in every namespace, or on every link. */
static bool is_confined(const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return ipv4_is_loopback(addr->s6_addr32[3]) ||
		       ipv4_is_linklocal_169(addr->s6_addr32[3]);
	return ipv6_addr_loopback(addr) ||
	       ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL;
}

/*
 * The device in another namespace that has the address, if policy.c lets @dev
 * reach it. Each side of a connection decides by itself whether it needs
 * packets, and both must decide alike. So the peer must find @dev by its
 * address.
 */
static struct uroce_dev *peer_across(struct uroce_dev *dev,
				     const union ib_gid *sgid,
				     const union ib_gid *dgid)
{
	struct uroce_dev *peer;

	peer = uroce_dev_across(dev_net(dev->netdev), dgid);
	if (peer && uroce_dev_across(dev_net(peer->netdev), sgid) != dev)
		return NULL;
	return peer;
}

/*
 * The id of the device on this host that has the address, in the device's own
 * namespace or in one that policy.c lets it reach; 0 if packets are needed.
 */
static u64 av_peer(struct uroce_dev *dev, const union ib_gid *sgid,
		   const union ib_gid *dgid)
{
	const struct in6_addr *from = (const void *)sgid->raw;
	const struct in6_addr *to = (const void *)dgid->raw;
	struct uroce_dev *peer;
	u64 id = 0;

	if (!READ_ONCE(local) || rdma_is_multicast_addr((void *)dgid->raw))
		return 0;
	rcu_read_lock();
	if (!READ_ONCE(dev->gone)) {
		peer = uroce_dev_by_gid(dev_net(dev->netdev), dgid);
		if (!peer && !is_confined(from) && !is_confined(to))
			peer = peer_across(dev, sgid, dgid);
		id = peer ? peer->id : 0;
	}
	rcu_read_unlock();
	return id;
}

/*
 * The index of the net device that has the source address: the device's own, or
 * one on top of it, which adds a VLAN tag or has another MAC address. Packets
 * never leave by a net device of another namespace; they leave by the device's
 * own.
 */
static int source_netdev(const struct uroce_dev *dev,
			 const struct ib_gid_attr *sgid)
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

/* Context: any in which ib_create_ah() may be called. */
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
	/* A port of the range that the specification reserves for this. */
	av->flow.sport = htons(rdma_flow_label_to_udp_sport(
		av->flow.label ?: get_random_u32() & IB_GRH_FLOWLABEL_MASK));
	av->flow.oif = source_netdev(dev, grh->sgid_attr);
	av->dev_id = av_peer(dev, &grh->sgid_attr->gid, &grh->dgid);
	if (!av->dev_id && !uroce_net_enabled() &&
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

	ret = uroce_fault_verb(to_udev(ib->device), UROCE_VERB_CREATE_AH);
	if (!ret)
		ret = uroce_av_init(to_udev(ib->device), &ah->av,
				    init->ah_attr);
	if (ret)
		return ret;
	seqlock_init(&ah->lock);
	ah->attr = *init->ah_attr;
	ah->attr.grh.sgid_attr = NULL;
	xa_lock_irqsave(&handles, flags);
	ret = __xa_alloc(&handles, &ah->index, ah, XA_LIMIT(1, INT_MAX), gfp);
	xa_unlock_irqrestore(&handles, flags);
	return ret;
}

/*
 * Requests that were not executed yet go to the new address. Context: one
 * caller at a time.
 */
int uroce_ah_modify(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	struct uroce_ah *ah = to_uah(ib);
	unsigned long flags;
	struct uroce_av av;
	int ret;

	ret = uroce_fault_verb(to_udev(ib->device), UROCE_VERB_CREATE_AH);
	if (!ret)
		ret = uroce_av_init(to_udev(ib->device), &av, attr);
	if (ret)
		return ret;
	write_seqlock_irqsave(&ah->lock, flags);
	ah->attr = *attr;
	ah->attr.grh.sgid_attr = NULL;
	ah->av = av;
	write_sequnlock_irqrestore(&ah->lock, flags);
	return 0;
}

int uroce_ah_destroy(struct ib_ah *ib, u32 flags)
{
	struct uroce_ah *ah = to_uah(ib);
	unsigned long irq;

	xa_lock_irqsave(&handles, irq);
	__xa_erase(&handles, ah->index);
	xa_unlock_irqrestore(&handles, irq);
	return 0;
}

int uroce_ah_query(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	struct uroce_ah *ah = to_uah(ib);
	unsigned int seq;

	do {
		seq = read_seqbegin(&ah->lock);
		*attr = ah->attr;
	} while (read_seqretry(&ah->lock, seq));
	return 0;
}

/*
 * Copies the address vector: the one before a modification or the one after it.
 * It has no route, since only copies of it are sent to. Context: any.
 */
void uroce_ah_load(struct uroce_ah *ah, struct uroce_av *av)
{
	unsigned int seq;

	do {
		seq = read_seqbegin(&ah->lock);
		*av = ah->av;
	} while (read_seqretry(&ah->lock, seq));
}

/* Context: any. */
bool uroce_ah_copy(u32 index, struct uroce_av *av)
{
	struct uroce_ah *ah;
	unsigned long flags;

	xa_lock_irqsave(&handles, flags);
	ah = xa_load(&handles, index);
	if (ah)
		uroce_ah_load(ah, av);
	xa_unlock_irqrestore(&handles, flags);
	return ah;
}
