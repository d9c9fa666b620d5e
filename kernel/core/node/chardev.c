// SPDX-License-Identifier: GPL-2.0
/* The node /dev/infiniband/univerbsN and the context behind each open of it. */
#include <linux/capability.h>
#include <linux/cgroup_rdma.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>

#include "compat.h"
#include "pump.h"
#include "verbs.h"

#define UNIV_MAX_MINORS 1024

static DEFINE_IDA(minors);
static dev_t first_devt;

static char *univ_devnode(univ_devnode_dev *dev, umode_t *mode)
{
	return kasprintf(GFP_KERNEL, "infiniband/%s", dev_name(dev));
}

static struct class univ_class = {
	.name = "univerbs",
	.devnode = univ_devnode,
};

#ifdef CONFIG_CGROUP_RDMA
static int context_charge(struct univ_context *ctx)
{
	return rdmacg_try_charge(&ctx->cg, &ctx->dev->ib->cg_device,
				 RDMACG_RESOURCE_HCA_HANDLE);
}

static void context_uncharge(struct univ_context *ctx)
{
	rdmacg_uncharge(ctx->cg, &ctx->dev->ib->cg_device,
			RDMACG_RESOURCE_HCA_HANDLE);
}
#else
static int context_charge(struct univ_context *ctx)
{
	return 0;
}

static void context_uncharge(struct univ_context *ctx)
{
}
#endif

static int context_attach(struct univ_context *ctx)
{
	struct univ_device *dev = ctx->dev;
	int ret = -ENODEV;

	mutex_lock(&dev->lock);
	if (dev->dead)
		goto out;
	ret = -EPERM;
	if (!rdma_dev_access_netns(dev->ib, current->nsproxy->net_ns))
		goto out;
	ret = -ENFILE;
	if (!univ_limit_context(dev))
		goto out;
	ret = context_charge(ctx);
	if (ret)
		goto out;
	ret = univ_bell_open(ctx);
	if (ret) {
		context_uncharge(ctx);
		goto out;
	}
	dev->num_contexts++;
	mutex_lock(&dev->events_lock);
	list_add(&ctx->link, &dev->contexts);
	mutex_unlock(&dev->events_lock);
out:
	mutex_unlock(&dev->lock);
	return ret;
}

static int univ_open(struct inode *inode, struct file *file)
{
	struct univ_device *dev =
		container_of(inode->i_cdev, struct univ_device, cdev);
	struct univ_context *ctx;
	int ret;

	ctx = univ_context_alloc(dev);
	if (!ctx)
		return -ENOMEM;
	ctx->mapping = file->f_mapping;
	ret = context_attach(ctx);
	if (ret) {
		univ_context_put(ctx);
		return ret;
	}
	file->private_data = ctx;
	return stream_open(inode, file);
}

/*
 * The order of destruction: each type comes before the types that its objects
 * are built on.
 */
static const struct object_teardown {
	enum univ_object_type type;
	int (*destroy)(struct univ_object *obj);
	void (*keep)(struct univ_object *obj);
} teardown[] = {
	{ UNIV_OBJECT_FLOW, univ_flow_destroy },
	{ UNIV_OBJECT_COUNTERS, univ_counters_destroy },
	{ UNIV_OBJECT_QP, univ_qp_destroy, univ_qp_keep },
	{ UNIV_OBJECT_TABLE, univ_table_destroy },
	{ UNIV_OBJECT_WQ, univ_wq_destroy, univ_wq_keep },
	{ UNIV_OBJECT_CNTR, univ_cntr_destroy },
	{ UNIV_OBJECT_SRQ, univ_srq_destroy, univ_srq_keep },
	{ UNIV_OBJECT_CQ, univ_cq_destroy, univ_cq_keep },
	{ UNIV_OBJECT_AH, univ_ah_destroy },
	{ UNIV_OBJECT_MW, univ_mw_destroy },
	{ UNIV_OBJECT_MR, univ_mr_destroy },
	{ UNIV_OBJECT_DM, univ_dm_destroy },
	{ UNIV_OBJECT_DMAH, univ_dmah_destroy },
	{ UNIV_OBJECT_XRCD, univ_xrcd_destroy },
	{ UNIV_OBJECT_PD, univ_pd_destroy },
};

/*
 * The device of a driver that refuses here may still use the objects, and no
 * later call would destroy them. So their memory stays for ever, with all that
 * it refers to: the context, the device's structure and this module.
 */
static void context_keep(struct univ_context *ctx, u32 refused)
{
	ibdev_err(ctx->dev->ib,
		  "the driver refused to destroy %u objects of %s; their memory stays allocated\n",
		  refused, ctx->name);
	__module_get(THIS_MODULE);
	univ_context_get(ctx);
}

/*
 * The objects that a refused one was built on must stay, too. So must address
 * handles, since a queue pair that stays may have requests that name them.
 */
static bool object_is_needed(const struct univ_object *obj, u32 refused)
{
	return atomic_read(&obj->dependants) ||
	       (refused && obj->type == UNIV_OBJECT_AH);
}

/* Returns false if the object stays. */
static bool object_end(const struct object_teardown *type,
		       struct univ_object *obj, u32 refused, bool unplugged)
{
	if (object_is_needed(obj, refused) || type->destroy(obj)) {
		if (type->keep)
			type->keep(obj);
		return false;
	}
	if (unplugged)
		univ_object_bury(obj);
	else
		univ_object_release(obj);
	return true;
}

/* Returns false if the driver has refused, so that objects stay. */
static bool context_destroy_objects(struct univ_context *ctx, bool unplugged)
{
	struct univ_object *obj;
	unsigned long handle;
	u32 refused = 0;
	size_t i;

	lockdep_assert_held_write(&ctx->live);
	/*
	 * Most programs leave no object, and looking for each type takes time.
	 */
	for (i = 0; i < ARRAY_SIZE(teardown) && !xa_empty(&ctx->objects); i++) {
		xa_for_each(&ctx->objects, handle, obj) {
			cond_resched();
			if (obj->type != teardown[i].type)
				continue;
			if (!object_end(&teardown[i], obj, refused, unplugged))
				refused++;
		}
	}
	if (refused)
		context_keep(ctx, refused);
	return !refused;
}

/*
 * Kicks do not take the live lock. After this none is under way, and a later
 * kick finds no queue, waits for the lock and sees that the context is dead.
 */
static void context_stop_kicks(struct univ_context *ctx)
{
	struct univ_object *obj;
	unsigned long handle;

	lockdep_assert_held_write(&ctx->live);
	univ_kicked_end(ctx);
	xa_for_each(&ctx->objects, handle, obj) {
		if (obj->kicks)
			univ_kicked_wait(obj);
		cond_resched();
	}
}

/* Flushes the requests that were posted, so that a program sees their end. */
static void context_flush(struct univ_context *ctx)
{
	struct univ_object *obj;
	unsigned long handle;

	xa_for_each(&ctx->objects, handle, obj) {
		if (obj->type == UNIV_OBJECT_QP)
			univ_qp_flush(obj);
		else if (obj->type == UNIV_OBJECT_WQ)
			univ_wq_flush(obj);
		cond_resched();
	}
}

/*
 * A program may free its own state at this event. So it is the last one: queues
 * that are flushed raise events, and an object takes its unread events along.
 */
static void context_tell_removal(struct univ_context *ctx)
{
	mutex_lock(&ctx->dev->events_lock);
	univ_channel_raise(ctx, 0, IB_EVENT_DEVICE_FATAL);
	mutex_unlock(&ctx->dev->events_lock);
}

/*
 * Ends a context on close, or when its device goes (@unplugged). Waits for the
 * calls under way; one that pins memory may wait for a file system. Later calls
 * get ENODEV. Close and removal may race: the first one does the work, and the
 * other waits for the lock, so that after either no object is left but those
 * that the driver refused to destroy. Only IBV_EVENT_DEVICE_FATAL wakes readers
 * of asynchronous events, as with the stock stack: a thread that a close woke
 * would use memory that the library has freed.
 */
void univ_context_kill(struct univ_context *ctx, bool unplugged)
{
	down_write(&ctx->live);
	if (ctx->dead)
		goto out;
	context_stop_kicks(ctx);
	univ_poller_stop(ctx);
	if (unplugged) {
		context_flush(ctx);
		univ_doorbell_kill(ctx);
		univ_bell_revoke(ctx);
	}
	/* Queues that stay are bound to the bell page. */
	if (context_destroy_objects(ctx, unplugged))
		univ_bell_close(ctx);
	if (unplugged)
		context_tell_removal(ctx);
	univ_arena_end(ctx);
	context_uncharge(ctx);
	ctx->dead = true;
	univ_channel_kill_all(ctx);
out:
	up_write(&ctx->live);
}

static int univ_release(struct inode *inode, struct file *file)
{
	struct univ_context *ctx = file->private_data;
	struct univ_device *dev = ctx->dev;

	univ_context_kill(ctx, false);
	mutex_lock(&dev->lock);
	mutex_lock(&dev->events_lock);
	list_del_init(&ctx->link);
	mutex_unlock(&dev->events_lock);
	dev->num_contexts--;
	mutex_unlock(&dev->lock);
	univ_context_put(ctx);
	return 0;
}

static int univ_mmap(struct file *file, struct vm_area_struct *vma)
{
	return univ_region_mmap(file->private_data, vma);
}

#ifdef CONFIG_COMPAT
/* The argument of a kick is a number, of which compat_ptr() may change bits. */
static long univ_compat_ioctl(struct file *file, unsigned int cmd,
			      unsigned long arg)
{
	if (cmd != UNIV_KICK)
		arg = (unsigned long)compat_ptr(arg);
	return univ_ioctl(file, cmd, arg);
}
#endif

static const struct file_operations univ_fops = {
	.owner = THIS_MODULE,
	.open = univ_open,
	.release = univ_release,
	.read = univ_async_read,
	.poll = univ_async_poll,
	.fasync = univ_async_fasync,
	.mmap = univ_mmap,
	.unlocked_ioctl = univ_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = univ_compat_ioctl,
#endif
};

static void device_release(struct device *device)
{
	struct univ_device *dev = container_of(device, struct univ_device, dev);

	univ_pump_remove(dev);
	ida_free(&minors, dev->minor);
	kfree(dev);
}

/*
 * Allocates a device structure with a minor number but no node yet. Returns
 * NULL when memory or numbers are used up. Undone by put_device().
 */
struct univ_device *univ_device_alloc(struct ib_device *ib)
{
	struct univ_device *dev;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return NULL;
	dev->minor = ida_alloc_max(&minors, UNIV_MAX_MINORS - 1, GFP_KERNEL);
	if (dev->minor < 0) {
		kfree(dev);
		return NULL;
	}
	dev->ib = ib;
	dev->num_ports = ib->phys_port_cnt;
	mutex_init(&dev->lock);
	mutex_init(&dev->events_lock);
	INIT_LIST_HEAD(&dev->contexts);
	mutex_init(&dev->domains_lock);
	dev->domains = RB_ROOT;
	spin_lock_init(&dev->failed.lock);
	device_initialize(&dev->dev);
	dev->dev.class = &univ_class;
	dev->dev.parent = ib->dev.parent;
	dev->dev.devt = first_devt + dev->minor;
	dev->dev.release = device_release;
	cdev_init(&dev->cdev, &univ_fops);
	dev->cdev.owner = THIS_MODULE;
	return dev;
}

/* Shows the node. From here on processes can open it. */
int univ_chardev_add(struct univ_device *dev)
{
	int ret = dev_set_name(&dev->dev, "univerbs%d", dev->minor);

	if (ret)
		return ret;
	return cdev_device_add(&dev->cdev, &dev->dev);
}

/* Removes the node. Files that are open stay open. */
void univ_chardev_remove(struct univ_device *dev)
{
	cdev_device_del(&dev->cdev, &dev->dev);
}

static ssize_t ibdev_show(struct device *device, struct device_attribute *attr,
			  char *buf)
{
	struct univ_device *dev = container_of(device, struct univ_device, dev);
	ssize_t ret = -ENODEV;

	mutex_lock(&dev->lock);
	if (!dev->dead)
		ret = sysfs_emit(buf, "%s\n", dev_name(&dev->ib->dev));
	mutex_unlock(&dev->lock);
	return ret;
}
static DEVICE_ATTR_RO(ibdev);

/*
 * For root alone, because it tells about the processes of all users. The root
 * of a container has the same number, and seldom the capability.
 */
static ssize_t failed_calls_show(struct device *device,
				 struct device_attribute *attr, char *buf)
{
	struct univ_device *dev = container_of(device, struct univ_device, dev);

	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	return univ_failed_calls_show(&dev->failed, buf);
}
static DEVICE_ATTR_ADMIN_RO(failed_calls);

static struct attribute *univ_attrs[] = {
	&dev_attr_ibdev.attr,
	&dev_attr_failed_calls.attr,
	NULL
};
ATTRIBUTE_GROUPS(univ);

int univ_chardev_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&first_devt, 0, UNIV_MAX_MINORS, "univerbs");
	if (ret)
		return ret;
	univ_class.dev_groups = univ_groups;
	ret = class_register(&univ_class);
	if (ret)
		unregister_chrdev_region(first_devt, UNIV_MAX_MINORS);
	return ret;
}

void univ_chardev_exit(void)
{
	class_unregister(&univ_class);
	unregister_chrdev_region(first_devt, UNIV_MAX_MINORS);
	ida_destroy(&minors);
}
