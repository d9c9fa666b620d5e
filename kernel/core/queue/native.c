// SPDX-License-Identifier: GPL-2.0
/*
 * Drivers that take rings themselves: their registration, and the functions of
 * the core that they call.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "queues.h"

struct queue_driver {
	struct list_head link;
	struct ib_device *ib;
	const struct univ_queue_ops *ops;
};

static LIST_HEAD(drivers);
static DEFINE_MUTEX(drivers_lock);	/* drivers */

/**
 * univ_queue_register() - register a device that works on the rings itself
 * @ib: before ib_register_device()
 * @ops: must stay until univ_queue_unregister()
 *
 * Return: 0, -ENOMEM, or -EINVAL if @ops has cntr_ops without qp_cntr(),
 * %UNIV_QUEUE_WQ without wq_attach() and wq_kick() or with page_alloc(), or
 * hash_fields without qp_hash() or without %UNIV_QUEUE_WQ
 */
int univ_queue_register(struct ib_device *ib, const struct univ_queue_ops *ops)
{
	struct queue_driver *driver;

	if (WARN_ON(ops->cntr_ops && !ops->qp_cntr))
		return -EINVAL;
	if (WARN_ON(ops->caps & UNIV_QUEUE_WQ &&
		    (!ops->wq_attach || !ops->wq_kick || ops->page_alloc)))
		return -EINVAL;
	if (WARN_ON(ops->hash_fields &&
		    (!ops->qp_hash || !(ops->caps & UNIV_QUEUE_WQ))))
		return -EINVAL;
	driver = kmalloc(sizeof(*driver), GFP_KERNEL);
	if (!driver)
		return -ENOMEM;
	driver->ib = ib;
	driver->ops = ops;
	mutex_lock(&drivers_lock);
	list_add(&driver->link, &drivers);
	mutex_unlock(&drivers_lock);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(univ_queue_register, UNIVERBS_NS);

static struct queue_driver *queue_find(struct ib_device *ib)
{
	struct queue_driver *driver;

	lockdep_assert_held(&drivers_lock);
	list_for_each_entry(driver, &drivers, link)
		if (driver->ib == ib)
			return driver;
	return NULL;
}

/**
 * univ_queue_unregister() - undo univ_queue_register()
 * @ib: after ib_unregister_device(); may never have been registered
 */
void univ_queue_unregister(struct ib_device *ib)
{
	struct queue_driver *driver;

	mutex_lock(&drivers_lock);
	driver = queue_find(ib);
	if (driver)
		list_del(&driver->link);
	mutex_unlock(&drivers_lock);
	kfree(driver);
}
EXPORT_SYMBOL_NS_GPL(univ_queue_unregister, UNIVERBS_NS);

/*
 * Returns the implementation that the device's driver has registered, or NULL.
 */
const struct univ_queue_ops *univ_queue_ops(struct ib_device *ib)
{
	const struct univ_queue_ops *ops;
	struct queue_driver *driver;

	mutex_lock(&drivers_lock);
	driver = queue_find(ib);
	ops = driver ? driver->ops : NULL;
	mutex_unlock(&drivers_lock);
	return ops;
}

/**
 * univ_queue_ah_get() - the address handle that a request names
 * @qp: univ_queue_rings.core, as passed to univ_queue_ops.qp_attach()
 * @handle: of the request
 * @ah: out; stays until univ_queue_ah_put(), which is to follow soon
 *
 * Any context.
 *
 * Return: false when the queue pair's protection domain has no such address
 * handle of the process
 */
bool univ_queue_ah_get(struct univ_qp *qp, u32 handle, struct univ_queue_ah *ah)
{
	struct univ_object *obj = univ_object_find_of(qp->obj.ctx, handle,
						      UNIV_OBJECT_AH);
	struct univ_ah *found = container_of(obj, struct univ_ah, obj);

	if (!obj)
		return false;
	if (found->pd != qp->pd) {
		univ_object_put(obj);
		return false;
	}
	ah->ib = found->ib;
	ah->held = obj;
	return true;
}
EXPORT_SYMBOL_NS_GPL(univ_queue_ah_get, UNIVERBS_NS);

/**
 * univ_queue_ah_put() - let go of an address handle
 * @ah: filled by univ_queue_ah_get()
 */
void univ_queue_ah_put(const struct univ_queue_ah *ah)
{
	univ_object_put(ah->held);
}
EXPORT_SYMBOL_NS_GPL(univ_queue_ah_put, UNIVERBS_NS);

/*
 * The poller's turn at the send ring of a queue pair. The driver reads the
 * index for itself; @looked only tells whether something was published since
 * the last turn.
 * Context: the poller's lock is held.
 */
static bool queue_look(struct univ_polled *polled)
{
	struct univ_qp *qp = container_of(polled, struct univ_qp, watch);
	struct univ_ring *ring = &qp->rings.send;
	u32 tail;

	if (univ_poller_awake(polled->poller)) {
		univ_ring_set_flags(ring, 0);
	} else {
		univ_ring_set_flags(ring, UNIV_RING_NEED_KICK);
		/*
		 * F1 (Documentation/ordering.rst): the process sees the flag,
		 * or the poller sees its tail.
		 */
		smp_mb();
	}
	tail = univ_ring_published(ring);
	if (tail == qp->looked)
		return false;
	qp->looked = tail;
	univ_queue_kick(&qp->obj, qp->obj.ctx->dev->queue, UNIV_KICK_SEND);
	return true;
}

/* Context: the poller's lock is held. */
static void queue_leave(struct univ_polled *polled)
{
	WRITE_ONCE(polled->poller, NULL);
}

/*
 * The queue pair is complete: let the poller of its context, if there is one,
 * look at the send ring for an implementation that does not do so itself.
 */
void univ_queue_watch(struct univ_qp *qp)
{
	if (univ_queue_can(qp->obj.ctx->dev, UNIV_QUEUE_POLLS))
		return;
	qp->watch.turn = queue_look;
	qp->watch.leave = queue_leave;
	univ_poller_add(qp->obj.ctx, &qp->watch);
}

/*
 * The poller did not look at the ring for a while, in which it may have fallen
 * asleep. The flag of the ring may still say that no kick is needed.
 */
void univ_queue_watch_again(struct univ_qp *qp)
{
	univ_queue_watch(qp);
	if (qp->watch.poller)
		univ_poller_wake(qp->watch.poller);
}
