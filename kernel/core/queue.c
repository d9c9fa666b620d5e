// SPDX-License-Identifier: GPL-2.0
/* The native-queue interface: drivers that take the rings themselves. */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "ah.h"
#include "compat.h"
#include "context.h"
#include "cq.h"
#include "native.h"
#include "poller.h"
#include "qp.h"
#include "srq.h"

struct queue_driver {
	struct list_head link;
	struct ib_device *ib;
	const struct univ_queue_ops *ops;
};

static LIST_HEAD(drivers);
static DEFINE_MUTEX(drivers_lock);	/* drivers */

/**
 * univ_queue_register() - a device takes rings itself
 * @ib: before ib_register_device()
 * @ops: stay until univ_queue_unregister()
 *
 * Return: 0 or -ENOMEM
 */
int univ_queue_register(struct ib_device *ib, const struct univ_queue_ops *ops)
{
	struct queue_driver *driver = kmalloc(sizeof(*driver), GFP_KERNEL);

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
 * univ_queue_unregister() - the device is gone
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

/* How the device takes rings, or NULL for one that the pump serves. */
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

static __always_inline bool queue_write(struct univ_cq *cq,
					const struct univ_cqe *cqe,
					bool solicited, bool notify)
{
	struct univ_cqe *slot = NULL;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (likely(!cq->closed))
		slot = univ_cq_reserve(cq);
	if (likely(slot)) {
		memcpy(slot, cqe, offsetof(struct univ_cqe, timestamp));
		slot->reserved = 0;
		univ_cq_commit(cq, slot, solicited);
		if (notify)
			univ_cq_notify(cq);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return slot;
}

/**
 * univ_queue_complete() - write a completion
 * @cq: from the attaching of a completion queue
 * @cqe: what to write; times, phase and reserved words are filled in here
 * @solicited: wakes whoever waits for solicited completions; so do errors
 *
 * Any context. univ_queue_notify() is to follow, for one or many.
 *
 * Return: false when the process left no room: the completion is lost, the
 * process was told, and the driver puts the queue pair in the error state
 */
bool univ_queue_complete(struct univ_cq *cq, const struct univ_cqe *cqe,
			 bool solicited)
{
	return queue_write(cq, cqe, solicited, false);
}
EXPORT_SYMBOL_NS_GPL(univ_queue_complete, UNIVERBS_NS);

/**
 * univ_queue_complete_last() - write a completion, and raise the event
 * @cq: as for univ_queue_complete()
 * @cqe: likewise
 * @solicited: likewise
 *
 * univ_queue_complete() and univ_queue_notify() at the cost of one of them: for
 * what no other completion is going to follow soon.
 *
 * Return: as univ_queue_complete()
 */
bool univ_queue_complete_last(struct univ_cq *cq, const struct univ_cqe *cqe,
			      bool solicited)
{
	return queue_write(cq, cqe, solicited, true);
}
EXPORT_SYMBOL_NS_GPL(univ_queue_complete_last, UNIVERBS_NS);

/**
 * univ_queue_notify() - raise the event if the process armed the queue
 * @cq: after univ_queue_complete()
 *
 * Any context.
 */
void univ_queue_notify(struct univ_cq *cq)
{
	unsigned long flags;

	/* Whoever set it reads it here, and others notify for themselves. */
	if (!READ_ONCE(cq->fresh))
		return;
	spin_lock_irqsave(&cq->lock, flags);
	if (!cq->closed)
		univ_cq_notify(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
}
EXPORT_SYMBOL_NS_GPL(univ_queue_notify, UNIVERBS_NS);

/**
 * univ_queue_ah_get() - the address handle that a request names
 * @qp: from the attaching of the queue pair
 * @handle: of the request
 * @ah: out; stays until univ_queue_ah_put(), which is to follow soon
 *
 * Any context.
 *
 * Return: false when the process has none such in the queue pair's protection
 * domain
 */
bool univ_queue_ah_get(struct univ_qp *qp, u32 handle, struct univ_queue_ah *ah)
{
	struct univ_object *obj = univ_object_find(qp->obj.ctx, handle);
	struct univ_ah *found = container_of(obj, struct univ_ah, obj);

	if (!obj)
		return false;
	if (obj->type == UNIV_OBJECT_AH && found->pd == qp->pd) {
		ah->ib = found->ib;
		ah->held = obj;
		return true;
	}
	univ_object_put(obj);
	return false;
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
 * The poller's turn at the send ring of a queue pair. The device reads its own
 * copy of the index; ours only tells whether something was published since.
 * Context: the poller's lock.
 */
static void queue_look(struct univ_feed *feed)
{
	struct univ_send_queue *sq =
		container_of(feed, struct univ_send_queue, feed);
	struct univ_qp *qp = container_of(sq, struct univ_qp, sq);
	u32 tail;

	if (univ_poller_awake(feed->poller)) {
		univ_ring_set_flags(&sq->ring, 0);
	} else {
		univ_ring_set_flags(&sq->ring, UNIV_RING_NEED_KICK);
		/* F1: the process sees the flag, or we its tail */
		smp_mb();
	}
	tail = univ_ring_published(&sq->ring);
	if (tail == sq->looked)
		return;
	sq->looked = tail;
	feed->moved = true;
	univ_queue_kick(&qp->obj, qp->obj.ctx->dev->queue, UNIV_KICK_SEND);
}

/*
 * Give the device the rings of a queue pair that it has just made. The pump
 * leaves them alone from now on.
 */
int univ_queue_attach_qp(struct univ_qp *qp)
{
	const struct univ_queue_rings rings = {
		.core = qp,
		.send = qp->sq.ring,
		.recv = qp->rq.ring,
		.sig_all = qp->sq.sig_all,
	};

	univ_feed_close(&qp->sq.feed);
	univ_feed_close(&qp->rq.feed);
	qp->sq.feed.look = queue_look;
	return qp->obj.ctx->dev->queue->qp_attach(qp->ib, &rings);
}

int univ_queue_attach_srq(struct univ_srq *srq)
{
	univ_feed_close(&srq->rq.feed);
	return srq->obj.ctx->dev->queue->srq_attach(srq->ib, &srq->rq.ring);
}
