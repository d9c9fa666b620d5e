// SPDX-License-Identifier: GPL-2.0
/*
 * A device whose netdev ends is removed. A netdev that changes its namespace
 * takes its device along. For users of the device it is removed, since
 * addresses, routes and permissions belong to the old namespace. After that, a
 * device of the same name is created in the new one.
 *
 * On module removal uroce_move_end() prevents further creations and waits for
 * those that run.
 */
#include <linux/netdevice.h>
#include <linux/workqueue.h>

#include "control.h"

static struct workqueue_struct *queue;
static bool ended;

/* Meanwhile the netdev may change its namespace again, or end. */
static void create_again(const char *name, struct net_device *netdev)
{
	int ret;

	do
		ret = READ_ONCE(ended) ? 0 : uroce_dev_new(name, netdev);
	while (ret == -ESHUTDOWN && univ_netdev_registered(netdev));
	if (ret && ret != -ESHUTDOWN)
		netdev_warn(netdev,
			    "%s was not created again in the new namespace (%d)\n",
			    name, ret);
}

/*
 * ib_unregister_device() returns when the name is free, even if another thread
 * unregisters the device. That thread does so for a user who wants no device
 * (`rdma link del`), so none is created again.
 */
static void move_work(struct work_struct *work)
{
	struct uroce_move *move = container_of(work, struct uroce_move, work);
	struct uroce_dev *dev = container_of(move, struct uroce_dev, move);
	struct net_device *netdev = move->netdev;
	netdevice_tracker tracker = move->tracker;
	char name[IB_DEVICE_NAME_MAX];
	bool again;

	strscpy(name, dev->ib.name, sizeof(name));
	ib_unregister_device(&dev->ib);
	again = netdev && move->removed;
	put_device(&dev->ib.dev);
	if (again)
		create_again(name, netdev);
	if (netdev)
		netdev_put(netdev, &tracker);
}

/* A netdev that ends, or whose namespace ends, is not followed. */
static bool is_followed(const struct net_device *netdev)
{
	return netdev->reg_state == NETREG_REGISTERED &&
	       check_net(dev_net(netdev)) && !READ_ONCE(ended);
}

/**
 * uroce_move() - unregister a device whose netdev ends or leaves its namespace,
 *	and create it again in the new one
 * @dev: the device, for which this is called once
 *
 * Context: RTNL, in the notifier for NETDEV_UNREGISTER.
 */
void uroce_move(struct uroce_dev *dev)
{
	struct uroce_move *move = &dev->move;

	INIT_WORK(&move->work, move_work);
	get_device(&dev->ib.dev);
	if (is_followed(dev->netdev)) {
		move->netdev = dev->netdev;
		netdev_hold(move->netdev, &move->tracker, GFP_KERNEL);
	}
	queue_work(queue, &move->work);
}

int uroce_move_init(void)
{
	queue = alloc_workqueue("uroce-move", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return queue ? 0 : -ENOMEM;
}

void uroce_move_end(void)
{
	WRITE_ONCE(ended, true);
	flush_workqueue(queue);
}

/* No thread calls uroce_move() any more. */
void uroce_move_exit(void)
{
	destroy_workqueue(queue);
}
