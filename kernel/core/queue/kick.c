// SPDX-License-Identifier: GPL-2.0
/*
 * UNIV_KICK: the process has published requests, and the implementation does
 * not look at the ring by itself. This is the one ioctl of the data path, so it
 * goes past the dispatcher and takes no lock of the context. It holds the queue
 * instead, and univ_context_kill() waits in univ_kicked_wait() for the kicks
 * that hold a queue before it destroys anything.
 */
#include "queues.h"

/* The queue of a repeated kick is found without a look into the table. */
static inline struct univ_object *kick_find_known(struct univ_context *ctx,
						  u32 handle)
{
	struct univ_object *obj;

	rcu_read_lock_sched();
	obj = READ_ONCE(*univ_kicked_at(ctx, handle));
	if (unlikely(!obj || obj->handle != handle ||
		     !refcount_inc_not_zero(&obj->users)))
		obj = NULL;
	rcu_read_unlock_sched();
	return obj;
}

static inline long kick(struct univ_object *obj, u32 which)
{
	struct univ_context *ctx = obj->ctx;
	const struct univ_queue_ops *ops = ctx->dev->queue;
	struct univ_poller *poller;

	if (unlikely(!which || which & ~obj->kicks))
		return -EINVAL;
	univ_queue_kick(obj, ops, which);
	poller = READ_ONCE(ctx->poller);
	if (unlikely(poller))
		univ_poller_wake(poller);
	return 0;
}

/*
 * No queue was found. The reason may be that the context is ending, so wait for
 * the lock to tell the two errors apart.
 */
static long kick_nothing(struct univ_context *ctx)
{
	long ret;

	if (down_read_killable(&ctx->live))
		return -EINTR;
	ret = ctx->dead ? -ENODEV : -EINVAL;
	up_read(&ctx->live);
	return ret;
}

/*
 * Only objects with a ring may be held without the live lock:
 * univ_kicked_wait() waits for no others when the context ends. Kicks that
 * begin meanwhile must not prolong its wait.
 */
static struct univ_object *kick_find(struct univ_context *ctx, u32 handle)
{
	struct univ_object *obj;

	if (READ_ONCE(ctx->ending))
		return NULL;
	rcu_read_lock();
	obj = xa_load(&ctx->objects, handle);
	if (obj && (!obj->kicks || !refcount_inc_not_zero(&obj->users)))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

static noinline long kick_other(struct univ_context *ctx, unsigned long arg)
{
	u32 handle = arg & UNIV_KICK_HANDLE;
	struct univ_object *obj = kick_find(ctx, handle);
	long ret = -EINVAL;

	if (!obj)
		return kick_nothing(ctx);
	univ_kicked_remember(obj);
	if (arg <= U32_MAX)
		ret = kick(obj, arg & ~UNIV_KICK_HANDLE);
	univ_object_put(obj);
	return ret;
}

/* @arg: a handle, or'ed with UNIV_KICK_SEND and UNIV_KICK_RECV. */
long univ_kick(struct univ_context *ctx, unsigned long arg)
{
	struct univ_object *obj = NULL;
	long ret;

	if (likely(arg <= U32_MAX))
		obj = kick_find_known(ctx, arg & UNIV_KICK_HANDLE);
	if (unlikely(!obj))
		return kick_other(ctx, arg);
	ret = kick(obj, arg & ~UNIV_KICK_HANDLE);
	univ_object_put(obj);
	return ret;
}
