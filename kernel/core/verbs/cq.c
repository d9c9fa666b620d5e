// SPDX-License-Identifier: GPL-2.0
/* Completion queues: ibv_create_cq(3), ibv_resize_cq(3). */
#include <linux/slab.h>

#include "compat.h"
#include "verbs.h"

struct univ_cq *univ_cq_get(struct univ_context *ctx, u32 handle,
			    struct univ_hdr *hdr)
{
	struct univ_object *obj =
		univ_object_get(ctx, handle, UNIV_OBJECT_CQ, hdr);

	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_cq, obj);
}

/* The device lost completions. */
static void cq_lost(struct irq_work *work)
{
	univ_queue_overrun(container_of(work, struct univ_cq, lost));
}

/*
 * The device lost completions, and the process must learn of it. The driver may
 * hold a lock that its poll function takes, which is called under the lock of
 * the queue. So an interrupt does the rest. Any context.
 */
static void cq_event_handler(struct ib_event *event, void *context)
{
	struct univ_cq *cq = context;

	WRITE_ONCE(cq->lost_queued, true);
	irq_work_queue(&cq->lost);
}

/*
 * The driver raises no events any more. On PREEMPT_RT irq_work_sync() takes a
 * grace period, and a process that ends may have thousands of queues.
 */
static void cq_events_end(struct univ_cq *cq)
{
	if (READ_ONCE(cq->lost_queued))
		irq_work_sync(&cq->lost);
}

/* Nothing was attached yet, so there is nothing to poll. */
static void cq_comp_handler(struct ib_cq *ib, void *context)
{
}

/* A queue of the device, behind the ring, overruns by its own rules. */
bool univ_cq_overrun_offered(const struct univ_device *dev)
{
	return !univ_queue_can(dev, UNIV_QUEUE_DEVICE_CQ) &&
	       !univ_queue_can(dev, UNIV_QUEUE_WRITES_CQ);
}

static u32 cq_flags_offered(const struct univ_device *dev)
{
	u32 flags = 0;

	/* The core cannot stamp completions that the device writes. */
	if (!univ_queue_can(dev, UNIV_QUEUE_WRITES_CQ))
		flags |= UNIV_CQ_TIMESTAMP | UNIV_CQ_WALLCLOCK;
	if (univ_cq_overrun_offered(dev))
		flags |= UNIV_CQ_IGNORE_OVERRUN;
	return flags;
}

static int cq_check(struct univ_context *ctx, struct univ_cq_create *cmd)
{
	struct ib_device *ib = ctx->dev->ib;
	u32 known = cq_flags_offered(ctx->dev);

	if (cmd->cq_flags & ~known)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    0, cmd->cq_flags, known);
	if (cmd->comp_vector >= ib->num_comp_vectors)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_VECTOR, 0,
				    cmd->comp_vector, ib->num_comp_vectors);
	return 0;
}

static int cq_check_size(struct univ_context *ctx, u32 cqe,
			 struct univ_hdr *hdr)
{
	u32 max = ctx->dev->ib->attrs.max_cqe;

	if (!cqe)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_ZERO,
				    UNIV_LIMIT_CQE, 0, max);
	if (cqe > max)
		return univ_explain_limit(hdr, UNIV_LIMIT_CQE, cqe, max);
	return 0;
}

static struct univ_region *cq_ring_create(struct univ_context *ctx, u32 cqe,
					  struct univ_ring_map *map,
					  struct univ_hdr *hdr)
{
	size_t size = univ_ring_place(map, 0, roundup_pow_of_two(cqe),
				      sizeof(struct univ_cqe));

	return univ_region_create(ctx, size, hdr);
}

static int cq_init_channel(struct univ_cq *cq, struct univ_cq_create *cmd,
			   struct univ_context *ctx)
{
	struct univ_channel *channel;

	if (cmd->channel_fd == -1)
		return 0;
	channel = univ_channel_get(ctx, cmd->channel_fd, &cmd->hdr);
	if (IS_ERR(channel))
		return PTR_ERR(channel);
	cq->channel = channel;
	cq->tell = channel;
	return 0;
}

/*
 * Returns the number of entries to request from the device: one for each slot
 * of the ring, but at most the device's maximum.
 */
static u32 cq_device_size(const struct univ_device *dev, u32 slots)
{
	return min_t(u32, slots, dev->ib->attrs.max_cqe);
}

/* The process may use as many entries as both the ring and the device have. */
static u32 cq_size(const struct univ_cq *cq, u32 slots)
{
	return min_t(u32, slots, cq->ib->cqe);
}

static void cq_set_closed(struct univ_cq *cq, bool closed)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->closed = closed;
	if (closed && cq->obj.ctx->doorbell_dead)
		univ_ring_set_flags(&cq->ring,
				    cq->ring.flags | UNIV_RING_DEAD);
	spin_unlock_irqrestore(&cq->lock, flags);
}

static int cq_create_ib(struct univ_cq *cq, struct univ_cq_create *cmd)
{
	struct univ_device *dev = cq->obj.ctx->dev;
	struct ib_cq_init_attr attr = {
		.cqe = cq_device_size(dev, cq->ring.count),
		.comp_vector = cmd->comp_vector,
	};
	int ret;

	cq->ib = __ib_create_cq(dev->ib, cq_comp_handler, cq_event_handler, cq,
				&attr, cq->obj.ctx->name);
	if (IS_ERR(cq->ib))
		return univ_explain_driver(&cmd->hdr, PTR_ERR(cq->ib));
	ret = dev->queue->cq_attach(cq->ib, cq);
	if (!ret)
		return 0;
	ib_destroy_cq_user(cq->ib, NULL);
	return univ_explain_driver(&cmd->hdr, ret);
}

/*
 * Completions that come after the queue is closed stay in the device, which is
 * not armed again.
 */
static void cq_close(struct univ_cq *cq)
{
	const struct univ_queue_ops *queue = cq->obj.ctx->dev->queue;

	cq_set_closed(cq, true);
	if (queue->cq_close)
		queue->cq_close(cq);
}

static int cq_destroy_ib(struct univ_cq *cq)
{
	const struct univ_queue_ops *queue = cq->obj.ctx->dev->queue;
	int ret;

	cq_close(cq);
	ret = ib_destroy_cq_user(cq->ib, NULL);
	if (ret) {
		if (cq->obj.ctx->ending)
			return ret;
		cq_set_closed(cq, false);
		if (queue->cq_reopen)
			queue->cq_reopen(cq);
		return ret;
	}
	cq_events_end(cq);
	return 0;
}

static void cq_reply(struct univ_cq *cq, struct univ_cq_create *cmd,
		     const struct univ_ring_map *map)
{
	cmd->cqe = cq_size(cq, map->slots);
	cmd->handle = cq->obj.handle;
	cmd->map_offset = univ_region_offset(cq->region);
	cmd->map_length = cq->region->size;
	cmd->ring = *map;
}

int univ_cq_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_cq_create *cmd = arg;
	struct univ_ring_map map;
	struct univ_cq *cq;
	int ret;

	ret = cq_check(call->ctx, cmd);
	if (!ret)
		ret = cq_check_size(call->ctx, cmd->cqe, &cmd->hdr);
	if (ret)
		return ret;
	cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	if (!cq)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize);
	init_irq_work(&cq->lost, cq_lost);
	cq->flags = cmd->cq_flags;
	cq->comp_vector = cmd->comp_vector;
	univ_event_source_init(&cq->comp_events, cmd->cookie, 0);
	univ_event_source_init(&cq->async_events, cmd->cookie, 0);
	ret = univ_object_reserve(call->ctx, &cq->obj, UNIV_OBJECT_CQ,
				  &cmd->hdr);
	if (ret)
		goto free;
	ret = cq_init_channel(cq, cmd, call->ctx);
	if (ret)
		goto release;
	cq->region = cq_ring_create(call->ctx, cmd->cqe, &map, &cmd->hdr);
	if (IS_ERR(cq->region)) {
		ret = PTR_ERR(cq->region);
		goto put_channel;
	}
	univ_region_ring(cq->region, &cq->ring, &map);
	ret = cq_create_ib(cq, cmd);
	if (ret)
		goto destroy_region;
	cq_reply(cq, cmd, &map);
	return univ_object_announce(call, &cq->obj, univ_cq_destroy);

destroy_region:
	cq_events_end(cq);
	/* A device may have raised events before it refused the queue. */
	if (cq->channel)
		univ_event_forget(&cq->channel->events, &cq->comp_events);
	univ_channel_forget(call->ctx, &cq->async_events);
	univ_region_destroy(call->ctx, cq->region);
put_channel:
	univ_channel_put(cq->channel);
release:
	univ_object_release(&cq->obj);
	return ret;
free:
	kfree(cq);
	return ret;
}

/* Completions that are copied to a new ring before other threads may run. */
#define CQ_MOVE_STEP	4096
/* The last ones, which are copied with interrupts off. */
#define CQ_MOVE_LAST	64

/*
 * Returns how many completions the process has not taken. The process's own
 * index is bounded.
 */
static u32 cq_waiting(const struct univ_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	return min(cq->index - univ_ring_published(&cq->ring), cq->ring.count);
}

/* Returns the index of the oldest completion that the process has not taken. */
static u32 cq_oldest(struct univ_cq *cq)
{
	unsigned long flags;
	u32 oldest;

	spin_lock_irqsave(&cq->lock, flags);
	oldest = cq->index - cq_waiting(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	return oldest;
}

/*
 * Copies @count completions from @from of the present ring to @to of @ring. The
 * process can write to the slots, but only bytes are copied.
 */
static void cq_copy(struct univ_cq *cq, u32 from, struct univ_ring *ring,
		    u32 to, u32 count)
{
	struct univ_cqe *slot;

	for (; count; count--, from++, to++) {
		slot = univ_ring_slot(ring, to);
		memcpy(slot, univ_ring_slot(&cq->ring, from),
		       offsetof(struct univ_cqe, phase));
		univ_cq_ring_show(ring, slot, to);
	}
}

/* Continues in @ring, where the next completion is @index. */
static void cq_switch_ring(struct univ_cq *cq, struct univ_ring *ring,
			   u32 index)
{
	const u32 shift = index - cq->index;
	u32 told = 0;

	lockdep_assert_held(&cq->lock);
	univ_ring_set_flags(ring, cq->ring.flags);
	/* If the process armed the queue, it stays armed. */
	WRITE_ONCE(ring->head->user.arm, READ_ONCE(cq->ring.head->user.arm));
	WRITE_ONCE(ring->head->kernel.fired, cq->fired);
	cq->ring = *ring;
	if (cq->hold)
		cq->hold->since += shift;
	cq->solicited_end += shift;
	cq->fired_index += shift;
	/*
	 * 0 means that the index is not known, as before the first event. The
	 * one before it is an old one.
	 */
	if (cq->fired)
		told = cq->fired_index ?: U32_MAX;
	WRITE_ONCE(ring->head->kernel.fired_index, told);
	cq->index = index;
}

/*
 * Moves the completions that the process has not taken to the new ring and
 * continues there. Most are copied with interrupts on: old completions do not
 * change, and new ones are copied in the next round. Returns false when they do
 * not fit; then nothing has changed. Context: cq->resize is held.
 */
static bool cq_try_switch(struct univ_cq *cq, struct univ_region *region,
			  const struct univ_ring_map *map, u32 *waiting)
{
	u32 oldest = cq_oldest(cq), done = 0, todo;
	struct univ_ring ring;
	unsigned long flags;
	bool fits, last;

	univ_region_ring(region, &ring, map);
	for (;;) {
		spin_lock_irqsave(&cq->lock, flags);
		*waiting = cq->index - oldest;
		todo = *waiting - done;
		fits = *waiting <= ring.count;
		last = fits && todo <= CQ_MOVE_LAST;
		if (last) {
			cq_copy(cq, oldest + done, &ring, done, todo);
			cq_switch_ring(cq, &ring, *waiting);
		}
		spin_unlock_irqrestore(&cq->lock, flags);
		if (last || !fits)
			return fits;
		todo = min_t(u32, todo, CQ_MOVE_STEP);
		cq_copy(cq, oldest + done, &ring, done, todo);
		done += todo;
		cond_resched();
	}
}

static bool cq_can_resize(const struct univ_cq *cq)
{
	const struct univ_device *dev = cq->obj.ctx->dev;

	if (univ_queue_can(dev, UNIV_QUEUE_DEVICE_CQ))
		return univ_can_resize_cq(cq->ib);
	return !univ_queue_can(dev, UNIV_QUEUE_WRITES_CQ);
}

static int cq_resize_ib(struct univ_cq *cq, u32 slots)
{
	struct univ_device *dev = cq->obj.ctx->dev;

	if (dev->queue->cq_resize)
		return dev->queue->cq_resize(cq, slots);
	/* The device has no queue to resize. */
	cq->ib->cqe = cq_device_size(dev, slots);
	return 0;
}

/*
 * The device's queue is never smaller than the process was told: it grows
 * before the ring and shrinks after it. If it then refuses to shrink, no harm
 * is done.
 */
static int cq_resize(struct univ_cq *cq, struct univ_call *call,
		     struct univ_cq_resize *cmd)
{
	struct univ_context *ctx = call->ctx;
	struct univ_region *region, *old = cq->region;
	struct univ_ring_map map;
	u32 asked = cmd->cqe, had = cq->ring.count;
	u32 waiting;
	int ret = 0;

	if (!cq_can_resize(cq))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	region = cq_ring_create(ctx, asked, &map, &cmd->hdr);
	if (IS_ERR(region))
		return PTR_ERR(region);
	if (map.slots >= had)
		ret = cq_resize_ib(cq, map.slots);
	if (ret) {
		univ_explain_driver(&cmd->hdr, ret);
		goto destroy;
	}
	cmd->cqe = cq_size(cq, map.slots);
	cmd->map_offset = univ_region_offset(region);
	cmd->map_length = region->size;
	cmd->ring = map;
	ret = univ_call_reply(call);
	if (ret)
		goto destroy;
	if (!cq_try_switch(cq, region, &map, &waiting)) {
		ret = univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_CQ_SHRINK,
				   0, asked, waiting);
		goto destroy;
	}
	cq->region = region;
	univ_region_destroy(ctx, old);
	if (map.slots < had)
		cq_resize_ib(cq, map.slots);
	return 0;

destroy:
	univ_region_destroy(ctx, region);
	return ret;
}

int univ_cq_resize_ioctl(struct univ_call *call, void *arg)
{
	struct univ_cq_resize *cmd = arg;
	struct univ_cq *cq;
	int ret;

	ret = cq_check_size(call->ctx, cmd->cqe, &cmd->hdr);
	if (ret)
		return ret;
	cq = univ_cq_get(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ret = univ_call_lock(call, &cq->resize);
	if (!ret) {
		ret = cq_resize(cq, call, cmd);
		mutex_unlock(&cq->resize);
	}
	univ_object_put(&cq->obj);
	return ret;
}

/*
 * A device that moderates its own queue delays completions, not only events.
 * The core cannot count the completions of a device that writes them itself.
 */
static int cq_moderate(struct univ_cq *cq, u16 count, u16 period)
{
	if (cq->ib->device->ops.modify_cq)
		return rdma_set_cq_moderation(cq->ib, count, period);
	if (univ_queue_can(cq->obj.ctx->dev, UNIV_QUEUE_WRITES_CQ))
		return -EOPNOTSUPP;
	return univ_cq_moderate(cq, count, period);
}

/*
 * Is there a completion that was solicited or failed, and that no event has
 * reported? After 2^32 completions without another one, an old one may count
 * again and cause a surplus event. The process may set its index to any value;
 * that affects only this event.
 */
static bool solicited_waits(const struct univ_cq *cq)
{
	/* The core does not see the completions that the device writes. */
	if (univ_queue_can(cq->obj.ctx->dev, UNIV_QUEUE_WRITES_CQ))
		return true;
	return cq->index - cq->solicited_end < cq_waiting(cq);
}

/* The event is that of a completion which is new for the process. */
int univ_cq_notify_ioctl(struct univ_call *call, void *arg)
{
	struct univ_cq_notify *cmd = arg;
	unsigned long flags;
	struct univ_cq *cq;

	cq = univ_cq_get(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	spin_lock_irqsave(&cq->lock, flags);
	if (!cq->closed) {
		cq->fresh = true;
		cq->fresh_solicited |= solicited_waits(cq);
		univ_cq_notify(cq);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	univ_object_put(&cq->obj);
	return 0;
}

int univ_cq_moderate_ioctl(struct univ_call *call, void *arg)
{
	struct univ_cq_moderate *cmd = arg;
	struct univ_cq *cq;
	int ret;

	cq = univ_cq_get(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ret = univ_call_lock(call, &cq->resize);
	if (!ret) {
		ret = cq_moderate(cq, cmd->count, cmd->period);
		if (ret)
			univ_explain_driver(&cmd->hdr, ret);
		else
			cq->moderation = (struct univ_cq_moderation){
				cmd->count, cmd->period,
			};
		mutex_unlock(&cq->resize);
	}
	univ_object_put(&cq->obj);
	return ret;
}

/* The unread events go; the process has to acknowledge the others. */
static void cq_withdraw_events(struct univ_cq *cq)
{
	univ_cq_moderate_end(cq);
	if (cq->channel)
		univ_event_forget(&cq->channel->events, &cq->comp_events);
	univ_channel_forget(cq->obj.ctx, &cq->async_events);
	cq->obj.comp_events = cq->comp_events.delivered;
	cq->obj.async_events = cq->async_events.delivered_async;
}

/*
 * The queue stays at the end of its context, because the driver has refused to
 * destroy it or a queue pair of it. The device may go, and is not called again.
 */
void univ_cq_keep(struct univ_object *obj)
{
	struct univ_cq *cq = container_of(obj, struct univ_cq, obj);

	cq_close(cq);
	cq_withdraw_events(cq);
}

/*
 * The queue pairs of this queue are gone, so no completion is written any more.
 */
int univ_cq_destroy(struct univ_object *obj)
{
	struct univ_cq *cq = container_of(obj, struct univ_cq, obj);
	struct univ_context *ctx = obj->ctx;
	int ret;

	ret = cq_destroy_ib(cq);
	if (ret)
		return ret;
	cq_withdraw_events(cq);
	univ_channel_leave(&cq->async_events);
	/* Last: an event that is being read may look for completions. */
	if (ctx->dev->queue->cq_detach)
		ctx->dev->queue->cq_detach(cq);
	univ_channel_put(cq->channel);
	univ_region_destroy(ctx, cq->region);
	return 0;
}

int univ_cq_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_CQ, univ_cq_destroy);
}
