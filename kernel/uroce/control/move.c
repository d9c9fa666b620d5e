// SPDX-License-Identifier: GPL-2.0
/*
 * A netdev that changes its namespace takes its device along. For users of the
 * device it is removed, since addresses, routes and permissions belong to the
 * old namespace. After that, a device of the same name is created in the new
 * one.
 *
 * On module removal uroce_move_end() prevents further creations and waits for
 * those that run.
 */
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "control.h"

static struct workqueue_struct *queue;
static bool ended;

struct move {
	struct work_struct work;
	struct uroce_dev *dev;		/* referenced, as the netdev is */
	struct net_device *netdev;
	netdevice_tracker tracker;
};

/*
 * ib_unregister_device() returns when the name is free, even if another thread
 * unregisters the device.
 */
static void move_work(struct work_struct *work)
{
	struct move *move = container_of(work, struct move, work);
	struct ib_device *ib = &move->dev->ib;
	char name[IB_DEVICE_NAME_MAX];
	int ret;

	strscpy(name, ib->name, sizeof(name));
	ib_unregister_device(ib);
	put_device(&ib->dev);
	/* Meanwhile the netdev may change its namespace again, or end. */
	do
		ret = READ_ONCE(ended) ? 0 : uroce_dev_new(name, move->netdev);
	while (ret == -ESHUTDOWN &&
	       univ_netdev_registered(move->netdev));
	if (ret && ret != -ESHUTDOWN)
		netdev_warn(move->netdev, "%s does not come along (%d)\n", name, ret);
	netdev_put(move->netdev, &move->tracker);
	kfree(move);
}

/**
 * uroce_move() - unregister a device whose netdev leaves its namespace, and
 *	create it again there
 * @dev: the device, held by the caller
 *
 * A netdev that ends, or whose namespace ends, is not followed.
 *
 * Context: RTNL, in the notifier for NETDEV_UNREGISTER.
 *
 * Return: false if the device is only to be unregistered.
 */
bool uroce_move(struct uroce_dev *dev)
{
	struct net_device *netdev = dev->netdev;
	struct move *move;

	if (netdev->reg_state != NETREG_REGISTERED ||
	    !check_net(dev_net(netdev)) || READ_ONCE(ended))
		return false;
	move = kzalloc(sizeof(*move), GFP_KERNEL);
	if (!move)
		return false;
	INIT_WORK(&move->work, move_work);
	move->dev = dev;
	get_device(&dev->ib.dev);
	move->netdev = netdev;
	netdev_hold(netdev, &move->tracker, GFP_KERNEL);
	queue_work(queue, &move->work);
	return true;
}

int uroce_move_init(void)
{
	queue = alloc_workqueue("uroce-move", WQ_UNBOUND, 0);
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
