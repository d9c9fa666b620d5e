// SPDX-License-Identifier: GPL-2.0
/*
 * UNIV_KICK: the process has published requests and nobody is looking. The one
 * ioctl of the data path, so it goes past the dispatcher and takes no lock of the
 * context's: the queue is held instead, and whoever ends the context waits for
 * those who hold one (univ_kick_retire()) before anything that a kick uses goes.
 */
#include "context.h"
#include "kick.h"
#include "native.h"
#include "object.h"
#include "poller.h"
#include "pump.h"

static struct univ_kicked *kicked_of(struct univ_context *ctx, u32 handle)
{
	return &ctx->kicked[handle % UNIV_KICKED];
}

/* Not before the second kick in a row: who kicks many in turn gains nothing */
static void kick_remember(struct univ_kicked *kicked, struct univ_object *obj)
{
	struct univ_context *ctx = obj->ctx;

	if (READ_ONCE(kicked->last) != obj->handle) {
		WRITE_ONCE(kicked->last, obj->handle);
		return;
	}
	xa_lock(&ctx->objects);
	if (xa_load(&ctx->objects, obj->handle) == obj)
		WRITE_ONCE(kicked->obj, obj);
	xa_unlock(&ctx->objects);
}

/* The object is being taken out of the table. Context: the table's lock. */
void univ_kick_forget(struct univ_object *obj)
{
	struct univ_kicked *kicked = kicked_of(obj->ctx, obj->handle);

	lockdep_assert_held(&obj->ctx->objects.xa_lock);
	if (kicked->obj == obj)
		WRITE_ONCE(kicked->obj, NULL);
}

/*
 * The context ends: wait until the kicks that hold the object have left, and let
 * no other find it. Whoever remembers it holds it, so after that it is forgotten
 * for good.
 * Context: live lock held for writing, so that nobody else takes it away.
 */
void univ_kick_retire(struct univ_object *obj)
{
	lockdep_assert_held_write(&obj->ctx->live);
	if (!refcount_dec_and_test(&obj->users))
		wait_for_completion(&obj->idle);
	xa_lock(&obj->ctx->objects);
	univ_kick_forget(obj);
	xa_unlock(&obj->ctx->objects);
}

/* What was asked for before costs no look into the table. */
static inline struct univ_object *kick_find_known(struct univ_context *ctx,
						  u32 handle)
{
	struct univ_object *obj;

	rcu_read_lock_sched();
	obj = READ_ONCE(kicked_of(ctx, handle)->obj);
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
	if (ops)
		univ_queue_kick(obj, ops, which);
	else
		univ_pump_kick(obj, which);
	poller = READ_ONCE(ctx->poller);
	if (unlikely(poller))
		univ_poller_wake(poller);
	return 0;
}

/* A context that ends lets nobody find its queues: wait to see whether it does. */
static long kick_nothing(struct univ_context *ctx)
{
	long ret;

	down_read(&ctx->live);
	ret = ctx->dead ? -ENODEV : -EINVAL;
	up_read(&ctx->live);
	return ret;
}

/*
 * Only what has a ring may be held without the live lock: nobody who ends the
 * context waits for the others, univ_kick_retire() is not for them.
 */
static struct univ_object *kick_find(struct univ_context *ctx, u32 handle)
{
	struct univ_object *obj;

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
	kick_remember(kicked_of(ctx, handle), obj);
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
