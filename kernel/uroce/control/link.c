// SPDX-License-Identifier: GPL-2.0
/*
 * `rdma link add NAME type uroce netdev DEV`: creation and removal of devices.
 * For devices that move see move.c.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/rdma_netlink.h>

#include "../mem/mr.h"
#include "control.h"
#include "version.h"

/* The key of all memory, for users in the kernel. No region has index 0. */
#define LOCAL_DMA_LKEY 0xa5

/* The RDMA core has set up the GID table of the device. */
int uroce_dev_enable(struct ib_device *ib)
{
	struct uroce_dev *dev = to_udev(ib);

	if (uroce_dev_add(dev)) {
		uroce_fault_add(dev);
		uroce_mirror_add(dev);
	}
	return 0;
}

/*
 * Called once, when the netdev ends or leaves its namespace, or when the device
 * is removed. The queue pairs may exist for longer. On return they send nothing
 * and do not refer to the namespace, which processes do not hold. Context:
 * RTNL.
 */
static void dev_leave_net(struct uroce_dev *dev)
{
	struct net *net = xchg(&dev->net, NULL);

	uroce_mcast_leave(dev);
	uroce_flows_leave(dev);
	if (!net)
		return;
	/*
	 * Waits for senders that have not seen @gone: they run with bottom
	 * halves off.
	 */
	synchronize_net();
	uroce_qp_leave_net(dev);
	uroce_net_leave(net);
}

/*
 * The objects of the device are gone, or it never had any. While the device is
 * in the list, others can reach its netdev, which is not held any more, so
 * @gone is set first.
 */
void uroce_dev_dealloc(struct ib_device *ib)
{
	struct uroce_dev *dev = to_udev(ib);

	dev->move.removed = current_work() == &dev->move.work;
	rtnl_lock();
	dev_leave_net(dev);
	rtnl_unlock();
	uroce_dev_remove(dev);
	/*
	 * A look-up that has just ended may have put the last reference to an
	 * entry of the GID table, which the RDMA core frees soon.
	 */
	flush_workqueue(ib_wq);
	uroce_fault_remove(dev);
	uroce_mirror_remove(dev);
	univ_queue_unregister(ib);
	uroce_mcast_exit(dev);
	uroce_mr_exit(dev);
	free_percpu(dev->counters);
}

static void dev_name_guid(struct uroce_dev *dev)
{
	u8 addr[ETH_ALEN];

	ether_addr_copy(addr, dev->netdev->dev_addr);
	if (is_zero_ether_addr(addr))
		eth_random_addr(addr);
	addrconf_addr_eui48((u8 *)&dev->ib.node_guid, addr);
}

static int dev_register(struct uroce_dev *dev, const char *name,
			struct net *net)
{
	struct ib_device *ib = &dev->ib;
	int ret;

	ib->node_type = RDMA_NODE_IB_CA;
	ib->phys_port_cnt = 1;
	ib->num_comp_vectors = num_possible_cpus();
	ib->local_dma_lkey = LOCAL_DMA_LKEY;
	strscpy(ib->node_desc, "uroce", sizeof(ib->node_desc));
	dev_name_guid(dev);
	ret = ib_device_set_netdev(ib, dev->netdev, 1);
	if (ret)
		return ret;
	ret = uroce_net_join(net);
	if (ret)
		return ret;
	dev->net = net;
	ret = univ_queue_register(ib, &uroce_queue_ops);
	return ret ? ret : ib_register_device(ib, name, NULL);
}

/*
 * Events of the netdev did not reach the device while it was being created: the
 * netdev may have ended or changed its namespace. From now on the notifier
 * finds the device.
 */
static bool dev_missed_event(struct uroce_dev *dev)
{
	return !univ_netdev_registered(dev->netdev) ||
	       dev->net != dev_net(dev->netdev);
}

/* The device is registered, so a user or a notifier may unregister it. */
static int dev_settle(struct uroce_dev *dev)
{
	int ret = 0;

	rtnl_lock();
	if (!READ_ONCE(dev->gone) && dev_missed_event(dev)) {
		/* If the netdev moves once more, this thread removes it. */
		dev_leave_net(dev);
		ret = -ESHUTDOWN;
	}
	rtnl_unlock();
	if (ret)
		ib_unregister_device(&dev->ib);
	return ret;
}

/*
 * The RDMA core does not find a device while it is being registered, so this
 * lock keeps a second one of the same netdev away. RTNL is taken under it.
 */
static DEFINE_MUTEX(new_lock);

/* Returns the device, with a reference that keeps its memory. */
static struct uroce_dev *dev_new(const char *name, struct net_device *netdev,
				 struct net *net)
{
	struct ib_device *exists;
	struct uroce_dev *dev;
	int ret;

	if (netdev->type != ARPHRD_ETHER && netdev->type != ARPHRD_LOOPBACK)
		return ERR_PTR(-EINVAL);
	/*
	 * The RDMA core gives the addresses of a VLAN to the device below, and
	 * none to a device on the VLAN itself.
	 */
	if (is_vlan_dev(netdev)) {
		pr_info("uroce: %s is a VLAN; create the device on %s, which also serves its addresses\n",
			netdev->name, vlan_dev_real_dev(netdev)->name);
		return ERR_PTR(-EPERM);
	}
	exists = ib_device_get_by_netdev(netdev, uroce_dev_ops.driver_id);
	if (exists) {
		ib_device_put(exists);
		return ERR_PTR(-EEXIST);
	}
	dev = ib_alloc_device(uroce_dev, ib);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	ret = uroce_mcast_init(dev);
	if (ret) {
		ib_dealloc_device(&dev->ib);
		return ERR_PTR(ret);
	}
	dev->netdev = netdev;
	dev->pkeys[0] = UROCE_PKEY;
	uroce_flows_init(dev);
	uroce_dev_prepare(dev);
	uroce_fault_prepare(dev);
	mutex_init(&dev->mrs_lock);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	xa_init(&dev->mws);
	spin_lock_init(&dev->bound_lock);
	/* From here on ib_dealloc_device() undoes all steps. */
	ib_set_device_ops(&dev->ib, &uroce_dev_ops);
	dev->counters = __alloc_percpu(UROCE_COUNTERS * sizeof(u64),
				       sizeof(u64));
	get_device(&dev->ib.dev);
	ret = dev->counters ? dev_register(dev, name, net) : -ENOMEM;
	if (!ret)
		return dev;
	ib_dealloc_device(&dev->ib);
	put_device(&dev->ib.dev);
	return ERR_PTR(ret);
}

/**
 * uroce_dev_new() - create a device
 * @name: name of the device
 * @netdev: held by the caller
 *
 * The netdev may change its namespace at any time. The namespace that it is in
 * at first is held, since nothing makes the device leave it before
 * dev_settle().
 *
 * Context: may sleep, no locks.
 *
 * Return: 0; -EEXIST: the netdev has a device; -EPERM: it is a VLAN; -ENODEV:
 * its namespace is ending; -ESHUTDOWN: it ended or changed its namespace
 * meanwhile.
 */
int uroce_dev_new(const char *name, struct net_device *netdev)
{
	struct uroce_dev *dev;
	struct net *net;
	int ret;

	rtnl_lock();
	net = maybe_get_net(dev_net(netdev));
	rtnl_unlock();
	if (!net)
		return -ENODEV;
	mutex_lock(&new_lock);
	dev = dev_new(name, netdev, net);
	mutex_unlock(&new_lock);
	ret = PTR_ERR_OR_ZERO(dev);
	if (!ret) {
		/*
		 * Without the lock: a process may have opened the device, and
		 * its removal waits for calls of that process.
		 */
		ret = dev_settle(dev);
		put_device(&dev->ib.dev);
	}
	put_net(net);
	return ret;
}

/* The netdev of the device ends, or leaves its namespace. Context: RTNL. */
static void dev_ends(struct uroce_dev *dev)
{
	if (READ_ONCE(dev->gone))
		return;
	dev_leave_net(dev);
	uroce_move(dev);
}

/*
 * Handles all devices on the netdev. The RDMA core does not find a device that
 * is being unregistered, or that changes its own namespace (`rdma dev set
 * netns`), but it is in our list. The removal of such a device waits for RTNL,
 * which the caller holds.
 */
static void netdev_ends(const struct net_device *netdev)
{
	struct uroce_dev *dev;

	do {
		rcu_read_lock();
		dev = uroce_dev_by_netdev(netdev);
		rcu_read_unlock();
		if (dev)
			dev_ends(dev);
	} while (dev);
}

static int netdev_event(struct notifier_block *nb, unsigned long what,
			void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct ib_device *ib;

	if (what == NETDEV_UNREGISTER)
		netdev_ends(netdev);
	ib = ib_device_get_by_netdev(netdev, uroce_dev_ops.driver_id);
	if (!ib)
		return NOTIFY_OK;
	switch (what) {
	case NETDEV_UNREGISTER:
		/* A device that is being created is not in our list yet. */
		dev_ends(to_udev(ib));
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		uroce_port_event(to_udev(ib));
		break;
	}
	ib_device_put(ib);
	return NOTIFY_OK;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

static struct rdma_link_ops link_ops = {
	.type = "uroce",
	.newlink = uroce_dev_new,
};

static int __init uroce_init(void)
{
	int ret = uroce_removal_init();

	if (ret)
		return ret;
	ret = uroce_odp_init();
	if (ret)
		goto exit_removal;
	ret = uroce_cache_init();
	if (ret)
		goto exit_odp;
	ret = uroce_qp_slab_init();
	if (ret)
		goto exit_cache;
	ret = uroce_queue_start();
	if (ret)
		goto exit_slab;
	ret = uroce_net_init(&uroce_input_ops);
	if (ret)
		goto stop_queue;
	ret = uroce_policy_init();
	if (ret)
		goto exit_net;
	ret = uroce_move_init();
	if (ret)
		goto exit_policy;
	ret = register_netdevice_notifier(&netdev_notifier);
	if (ret)
		goto exit_move;
	ret = uroce_fault_nl_init();
	if (ret)
		goto exit_notifier;
	uroce_fault_init();
	rdma_link_register(&link_ops);
	return 0;

exit_notifier:
	unregister_netdevice_notifier(&netdev_notifier);
exit_move:
	uroce_move_exit();
exit_policy:
	uroce_policy_exit();
exit_net:
	uroce_net_exit();
stop_queue:
	uroce_queue_stop();
exit_slab:
	uroce_qp_slab_exit();
exit_cache:
	uroce_cache_exit();
exit_odp:
	uroce_odp_exit();
exit_removal:
	uroce_removal_exit();
	return ret;
}

static void __exit uroce_exit(void)
{
	rdma_link_unregister(&link_ops);
	uroce_fault_nl_exit();
	uroce_move_end();
	ib_unregister_driver(uroce_dev_ops.driver_id);
	unregister_netdevice_notifier(&netdev_notifier);
	uroce_move_exit();
	uroce_policy_exit();
	uroce_net_exit();
	uroce_fault_exit();
	/* The callbacks that free queue pairs and connections. */
	rcu_barrier();
	uroce_queue_stop();
	uroce_cache_exit();
	uroce_odp_exit();
	uroce_removal_exit();
	uroce_qp_exit();
	uroce_qp_slab_exit();
	uroce_xrc_exit();
}

module_init(uroce_init);
module_exit(uroce_exit);

MODULE_DESCRIPTION("Software RoCEv2 HCA with native rings");
MODULE_AUTHOR("univerbs maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(UNIV_VERSION);
MODULE_ALIAS_RDMA_LINK("uroce");
MODULE_IMPORT_NS(UNIVERBS_NS);
MODULE_IMPORT_NS(UNIV_DMA_BUF_NS);
