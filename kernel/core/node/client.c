// SPDX-License-Identifier: GPL-2.0
/* Arrival, removal and events of RDMA devices, and the answer to netlink. */
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "pump.h"
#include "queues.h"

static void client_port_event(struct univ_device *dev, struct ib_event *event)
{
	u32 port = event->element.port_num;
	struct univ_context *ctx;

	mutex_lock(&dev->events_lock);
	list_for_each_entry(ctx, &dev->contexts, link) {
		if (port >= 1 && port <= dev->num_ports)
			univ_channel_raise(ctx, port, event->event);
		cond_resched();
	}
	mutex_unlock(&dev->events_lock);
}

static void client_device_event(struct univ_device *dev, struct ib_event *event)
{
	struct univ_context *ctx;

	mutex_lock(&dev->events_lock);
	list_for_each_entry(ctx, &dev->contexts, link) {
		univ_channel_raise(ctx, 0, event->event);
		cond_resched();
	}
	mutex_unlock(&dev->events_lock);
}

/*
 * Unaffiliated events. Events of queues come through the objects' handlers.
 * Context: a worker of the RDMA core.
 */
static void client_event(struct ib_event_handler *handler,
			 struct ib_event *event)
{
	struct univ_device *dev =
		container_of(handler, struct univ_device, event_handler);

	if (univ_speed_changes(event))
		return client_device_event(dev, event);
	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		return client_device_event(dev, event);
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_GID_CHANGE:
		return client_port_event(dev, event);
	default:
		return;
	}
}

/*
 * The client data of a device without a node. An xarray cannot keep an errno.
 */
static char client_refused __aligned(sizeof(long));

static int client_get_nl_info(struct ib_device *ib, void *client_data,
			      struct ib_client_nl_info *res)
{
	struct univ_device *dev = client_data;

	if (client_data == &client_refused)
		return -EKEYREJECTED;
	if (res->port != U32_MAX)
		return -EINVAL;
	res->abi = UNIV_ABI_VERSION;
	res->cdev = &dev->dev;
	return 0;
}

static int client_add(struct ib_device *ib);
static void client_remove(struct ib_device *ib, void *client_data);

static struct ib_client univ_client = {
	.name = UNIV_CLIENT_NAME,
	.add = client_add,
	.remove = client_remove,
	.get_nl_info = client_get_nl_info,
	/* A native driver needs no kernel verbs for its queues. */
	.no_kverbs_req = true,
};

/*
 * The device gets no node. A program that asks netlink for it gets
 * EKEYREJECTED, which the library explains.
 */
static int client_refuse(struct ib_device *ib)
{
	ib_set_client_data(ib, &univ_client, &client_refused);
	return 0;
}

/* A process that opens the new node at once misses no event. */
static int client_show(struct ib_device *ib, struct univ_device *dev)
{
	int ret;

	INIT_IB_EVENT_HANDLER(&dev->event_handler, ib, client_event);
	ib_register_event_handler(&dev->event_handler);
	ret = univ_chardev_add(dev);
	if (ret) {
		ib_unregister_event_handler(&dev->event_handler);
		return ret;
	}
	ib_set_client_data(ib, &univ_client, dev);
	return 0;
}

/* Returns a context that is still attached, with a reference, or NULL. */
static struct univ_context *client_next_context(struct univ_device *dev)
{
	struct univ_context *ctx;

	mutex_lock(&dev->lock);
	ctx = list_first_entry_or_null(&dev->contexts, struct univ_context,
				       link);
	if (ctx) {
		mutex_lock(&dev->events_lock);
		list_del_init(&ctx->link);
		mutex_unlock(&dev->events_lock);
		univ_context_get(ctx);
	}
	mutex_unlock(&dev->lock);
	return ctx;
}

/*
 * The device has no node any more. On return no object is on it, and none will
 * be.
 */
static void client_end(struct univ_device *dev)
{
	struct univ_context *ctx;

	mutex_lock(&dev->lock);
	/*
	 * Calls read it without the lock: calls that wait for a mutex give up,
	 * and only calls that destroy still begin.
	 */
	WRITE_ONCE(dev->dead, true);
	mutex_unlock(&dev->lock);

	while ((ctx = client_next_context(dev))) {
		univ_context_kill(ctx, true);
		univ_context_put(ctx);
	}
	put_device(&dev->dev);
}

/*
 * A driver that has called univ_queue_register() serves its device itself. The
 * pump serves all other devices.
 */
static int client_add(struct ib_device *ib)
{
	const struct univ_queue_ops *queue = univ_queue_ops(ib);
	const struct univ_driver *driver = NULL;
	struct univ_device *dev;
	int ret = 0;

	/* The pump needs the device's kernel verbs. */
	if (!queue && !ib->kverbs_provider)
		return -EOPNOTSUPP;
	if (!queue) {
		driver = univ_driver_find(ib);
		if (!driver)
			return client_refuse(ib);
	}
	dev = univ_device_alloc(ib);
	if (!dev)
		return -ENOMEM;
	dev->queue = queue;
	if (driver)
		ret = univ_pump_add(dev, driver);
	if (!ret)
		ret = client_show(ib, dev);
	/*
	 * An inode with the number of a former device may have been opened
	 * before the registration of the node failed.
	 */
	if (ret)
		client_end(dev);
	return ret;
}

/*
 * On return the module has no object on the device any more. Files stay open
 * and answer ENODEV. The removal never waits for a process to close a file.
 *
 * A close may run at the same time. It kills the context before it takes it off
 * the list. The live lock of the context decides which of the two kills it.
 */
static void client_remove(struct ib_device *ib, void *client_data)
{
	struct univ_device *dev = client_data;

	if (client_data == &client_refused)
		return;
	ib_unregister_event_handler(&dev->event_handler);
	univ_chardev_remove(dev);
	client_end(dev);
}

int univ_client_register(void)
{
	return ib_register_client(&univ_client);
}

void univ_client_unregister(void)
{
	ib_unregister_client(&univ_client);
}
