// SPDX-License-Identifier: GPL-2.0
/* The list of devices, and the state of their port. */
#include <linux/hashtable.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>

#include "dev.h"

LIST_HEAD(uroce_devices);		/* under RCU */
/*
 * The same devices by their network namespaces, since each packet looks for one
 * and a host may have hundreds of containers.
 */
static DEFINE_HASHTABLE(devices_by_net, 8);
static DEFINE_SPINLOCK(devices_lock);	/* protects changes of both */
static u64 last_id;

static struct hlist_head *bucket_of(const struct net *net)
{
	return &devices_by_net[hash_ptr(net, HASH_BITS(devices_by_net))];
}

/*
 * Returns false if the device is in the list already: the RDMA core enables
 * some devices twice.
 */
bool uroce_dev_add(struct uroce_dev *dev)
{
	bool first;

	spin_lock(&devices_lock);
	first = !dev->id;
	if (first) {
		dev->id = ++last_id;
		list_add_tail_rcu(&dev->link, &uroce_devices);
		hlist_add_tail_rcu(&dev->in_net,
				   bucket_of(READ_ONCE(dev->net)));
	}
	spin_unlock(&devices_lock);
	return first;
}

/* On return no look-up finds the device any more. */
void uroce_dev_remove(struct uroce_dev *dev)
{
	if (!dev->id)
		return;
	spin_lock(&devices_lock);
	list_del_rcu(&dev->link);
	hlist_del_rcu(&dev->in_net);
	spin_unlock(&devices_lock);
	synchronize_rcu();
}

struct uroce_dev *uroce_dev_by_id(u64 id)
{
	struct uroce_dev *dev;

	list_for_each_entry_rcu(dev, &uroce_devices, link)
		if (dev->id == id)
			return dev;
	return NULL;
}

/* @on: the netdev that has the address; NULL: any. */
static const struct ib_gid_attr *find_gid(struct uroce_dev *dev,
					  const union ib_gid *gid,
					  struct net_device *on)
{
	return rdma_find_gid_by_port(&dev->ib, gid, IB_GID_TYPE_ROCE_UDP_ENCAP,
				     1, on);
}

/*
 * Sets @exact if the address belongs to the device's own netdev, and not to a
 * VLAN, bridge or bond on top of it.
 */
static bool dev_has_gid(struct uroce_dev *dev, const union ib_gid *gid,
			bool *exact)
{
	const struct ib_gid_attr *attr = find_gid(dev, gid, NULL);

	if (IS_ERR(attr))
		return false;
	*exact = rcu_access_pointer(attr->ndev) == dev->netdev;
	rdma_put_gid_attr(attr);
	return true;
}

/*
 * A device also has the addresses of net devices on top of its own (VLANs, a
 * bridge, a bond). If the upper net device has an RDMA device of its own, that
 * device is returned.
 */
struct uroce_dev *uroce_dev_by_gid(struct net *net, const union ib_gid *gid)
{
	struct uroce_dev *dev, *below = NULL;
	bool exact;

	hlist_for_each_entry_rcu(dev, bucket_of(net), in_net) {
		if (READ_ONCE(dev->gone) ||
		    !net_eq(dev_net(dev->netdev), net) ||
		    !dev_has_gid(dev, gid, &exact))
			continue;
		if (exact)
			return dev;
		below = below ?: dev;
	}
	return below;
}

/*
 * If two devices have the address, none is returned: the address does not say
 * which one is meant.
 */
struct uroce_dev *uroce_dev_across(struct net *net, const union ib_gid *gid)
{
	struct uroce_dev *dev, *found = NULL;
	bool exact;

	list_for_each_entry_rcu(dev, &uroce_devices, link) {
		if (READ_ONCE(dev->gone) ||
		    !uroce_policy_across(net, dev_net(dev->netdev)) ||
		    !dev_has_gid(dev, gid, &exact))
			continue;
		if (found)
			return NULL;
		found = dev;
	}
	return found;
}

struct uroce_dev *uroce_dev_by_netdev(const struct net_device *netdev)
{
	struct uroce_dev *dev;

	list_for_each_entry_rcu(dev, &uroce_devices, link)
		if (dev->netdev == netdev && !READ_ONCE(dev->gone))
			return dev;
	return NULL;
}

/* First device in the hash bucket of a namespace, which others may share. */
static struct uroce_dev *first_in(const struct net *net)
{
	struct hlist_node *node;

	node = rcu_dereference(hlist_first_rcu(bucket_of(net)));
	return hlist_entry_safe(node, struct uroce_dev, in_net);
}

static struct uroce_dev *next_in(const struct uroce_dev *dev)
{
	struct hlist_node *node;

	node = rcu_dereference(hlist_next_rcu(&dev->in_net));
	return hlist_entry_safe(node, struct uroce_dev, in_net);
}

/* As uroce_dev_by_netdev(), for a packet. */
static struct uroce_dev *own_device(const struct net_device *netdev)
{
	struct uroce_dev *dev = first_in(dev_net(netdev));

	while (dev && (dev->netdev != netdev || READ_ONCE(dev->gone)))
		dev = next_in(dev);
	return dev;
}

/*
 * Does the net device take over the packets of the net devices below it? A
 * macvlan does not: the net device below it receives multicast packets as well,
 * so that its members would receive them twice.
 */
static bool takes_over(const struct net_device *netdev)
{
	return is_vlan_dev(netdev) || netif_is_bridge_master(netdev) ||
	       netif_is_lag_master(netdev);
}

/* An upper net device may have moved to another namespace. */
static bool is_below(const struct uroce_dev *dev, struct net_device *upper)
{
	return !READ_ONCE(dev->gone) &&
	       net_eq(dev_net(dev->netdev), dev_net(upper)) &&
	       netdev_has_upper_dev_all_rcu(dev->netdev, upper);
}

/*
 * The net device's own device, or else all devices below it, which have its
 * addresses: a bridge or a bond does not tell which of its ports has received a
 * packet, and the group members on each port belong to that network.
 */
struct uroce_dev *uroce_next_listener(struct net_device *netdev,
				      struct uroce_dev *last)
{
	struct uroce_dev *dev = last;

	if (!last) {
		dev = own_device(netdev);
		if (dev || !takes_over(netdev))
			return dev;
		dev = first_in(dev_net(netdev));
	} else if (last->netdev == netdev) {
		return NULL;
	} else {
		dev = next_in(last);
	}
	while (dev && !is_below(dev, netdev))
		dev = next_in(dev);
	return dev;
}

static int vlan_below(struct net_device *lower, struct netdev_nested_priv *priv)
{
	if (!is_vlan_dev(lower))
		return 0;
	*(u16 *)priv->data = vlan_dev_vlan_id(lower);
	return 1;
}

/*
 * As rdma_read_gid_l2_fields(), which loads the pointer to the
 * net device twice, although the RDMA core clears it when the address goes.
 */
static u16 vlan_of(const struct ib_gid_attr *attr)
{
	struct net_device *netdev = rcu_dereference(attr->ndev);
	u16 vlan = UROCE_NO_VLAN;
	struct netdev_nested_priv priv = { .data = &vlan };

	if (!netdev)
		return vlan;
	if (is_vlan_dev(netdev))
		return vlan_dev_vlan_id(netdev);
	netdev_walk_all_lower_dev_rcu(netdev, vlan_below, &priv);
	return vlan;
}

u16 uroce_dev_vlan(struct uroce_dev *dev, const union ib_gid *gid, int ifindex)
{
	const struct ib_gid_attr *attr;
	struct net_device *on;
	u16 vlan;

	if (READ_ONCE(dev->gone))
		return UROCE_NO_VLAN;
	on = dev_get_by_index_rcu(dev_net(dev->netdev), ifindex);
	attr = find_gid(dev, gid, on);
	if (IS_ERR(attr) && on)
		attr = find_gid(dev, gid, NULL);
	if (IS_ERR(attr))
		return UROCE_NO_VLAN;
	vlan = vlan_of(attr);
	rdma_put_gid_attr(attr);
	return vlan;
}

bool uroce_port_up(struct uroce_dev *dev)
{
	return netif_running(dev->netdev) && netif_carrier_ok(dev->netdev) &&
	       !uroce_port_is_down(dev);
}

static void pkeys_event(struct uroce_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = 1,
		.event = IB_EVENT_PKEY_CHANGE,
	};

	ib_dispatch_event(&event);
}

static void tell_changes(struct work_struct *work)
{
	struct uroce_dev *dev = container_of(work, struct uroce_dev, tell);

	/* The RDMA core reads the table again. */
	if (test_and_clear_bit(UROCE_CHANGE_PKEYS, &dev->changes))
		pkeys_event(dev);
	if (test_and_clear_bit(UROCE_CHANGE_PORT, &dev->changes))
		uroce_port_event(dev);
	ib_device_put(&dev->ib);
}

void uroce_dev_prepare(struct uroce_dev *dev)
{
	INIT_WORK(&dev->tell, tell_changes);
}

/*
 * A request over netlink or debugfs has changed the device. The RDMA core
 * allocates memory for each event, so a process that changes a device again
 * and again could fill the memory: changes that come before the core is told of
 * the last one of their kind are one event. The work item keeps the device
 * registered, since no event may follow its removal.
 */
void uroce_dev_changed(struct uroce_dev *dev, enum uroce_change what)
{
	set_bit(what, &dev->changes);
	if (!ib_device_try_get(&dev->ib))
		return;
	if (!queue_work(ib_wq, &dev->tell))
		ib_device_put(&dev->ib);
}

/* The port went up or down, or may have done so. */
void uroce_port_event(struct uroce_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = 1,
		.event = uroce_port_up(dev) ? IB_EVENT_PORT_ACTIVE :
					      IB_EVENT_PORT_ERR,
	};

	trace_uroce_link(&dev->ib, event.event == IB_EVENT_PORT_ACTIVE);
	ib_dispatch_event(&event);
}
