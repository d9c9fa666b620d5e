// SPDX-License-Identifier: GPL-2.0
/*
 * Handles: reserve, announce, get, put, unpublish. See object.h for the life.
 */
#include <linux/cgroup_rdma.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "context.h"
#include "call.h"
#include "kicked.h"
#include "limit.h"
#include "object.h"
#include "reason.h"

#ifdef CONFIG_CGROUP_RDMA
static int object_charge(struct univ_object *obj)
{
	return rdmacg_try_charge(&obj->cg, &obj->ctx->dev->ib->cg_device,
				 RDMACG_RESOURCE_HCA_OBJECT);
}

static void object_uncharge(struct univ_object *obj)
{
	rdmacg_uncharge(obj->cg, &obj->ctx->dev->ib->cg_device,
			RDMACG_RESOURCE_HCA_OBJECT);
}
#else
static int object_charge(struct univ_object *obj)
{
	return 0;
}

static void object_uncharge(struct univ_object *obj)
{
}
#endif

/*
 * Takes the lowest free handle for @obj and charges the object to the caller's
 * rdma cgroup. Low handles keep the table dense: with ever higher ones each
 * creation would allocate nodes of it.
 * Context: live lock held for reading; may sleep. Returns 0, -EAGAIN (cgroup),
 * -ENOMEM. Undone by univ_object_release().
 */
int univ_object_reserve(struct univ_context *ctx, struct univ_object *obj,
			enum univ_object_type type, struct univ_hdr *hdr)
{
	u32 limit = univ_limit_objects();
	int ret;

	obj->ctx = ctx;
	obj->type = type;
	refcount_set(&obj->users, 1);
	atomic_set(&obj->dependants, 0);
	init_completion(&obj->idle);

	ret = object_charge(obj);
	if (ret)
		return univ_explain(hdr, ret, UNIV_REASON_CGROUP, type, 0, 0);

	ret = xa_alloc(&ctx->objects, &obj->handle, NULL,
		       XA_LIMIT(1, limit), GFP_KERNEL_ACCOUNT);
	if (!ret)
		return 0;
	object_uncharge(obj);
	if (ret == -EBUSY)
		return univ_explain(hdr, -ENOMEM, UNIV_REASON_LIMIT,
				    UNIV_LIMIT_OBJECTS, (u64)limit + 1, limit);
	return univ_explain(hdr, ret, UNIV_REASON_NO_MEMORY, 0, 0, 0);
}

/* The reserved slot exists already, so storing needs no memory. */
void univ_object_publish(struct univ_object *obj)
{
	xa_store(&obj->ctx->objects, obj->handle, obj, GFP_KERNEL);
}

/*
 * Finds an object of any type, without an explanation; see univ_object_get().
 */
struct univ_object *univ_object_find(struct univ_context *ctx, u32 handle)
{
	struct univ_object *obj;

	rcu_read_lock();
	obj = xa_load(&ctx->objects, handle);
	if (obj && !refcount_inc_not_zero(&obj->users))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

/*
 * As univ_object_find(), for one type, and for callers that the end of a
 * context does not wait for. Then only objects that kicks use wait for their
 * users, and other types end before the queue pairs, so objects of other types
 * are not touched.
 */
struct univ_object *univ_object_find_of(struct univ_context *ctx, u32 handle,
					enum univ_object_type type)
{
	struct univ_object *obj;

	rcu_read_lock();
	obj = xa_load(&ctx->objects, handle);
	if (obj && (obj->type != type || !refcount_inc_not_zero(&obj->users)))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

static struct univ_object *object_not_found(struct univ_hdr *hdr, u32 handle,
					    enum univ_object_type type)
{
	return ERR_PTR(univ_explain(hdr, -EINVAL, UNIV_REASON_HANDLE, type,
				    handle, 0));
}

static struct univ_object *object_wrong_type(struct univ_hdr *hdr, u32 handle,
					     enum univ_object_type want,
					     enum univ_object_type is)
{
	return ERR_PTR(univ_explain(hdr, -EINVAL, UNIV_REASON_HANDLE_TYPE, want,
				    handle, is));
}

/*
 * Finds the object of @handle and keeps it from being destroyed until
 * univ_object_put(). Returns the object or ERR_PTR(-EINVAL).
 */
struct univ_object *univ_object_get(struct univ_context *ctx, u32 handle,
				    enum univ_object_type type,
				    struct univ_hdr *hdr)
{
	struct univ_object *obj = univ_object_find(ctx, handle);
	u32 is;

	if (!obj)
		return object_not_found(hdr, handle, type);
	if (obj->type == type)
		return obj;
	is = obj->type;
	univ_object_put(obj);
	return object_wrong_type(hdr, handle, type, is);
}

static struct univ_object *object_busy(struct univ_object *obj,
				       struct univ_hdr *hdr)
{
	return ERR_PTR(univ_explain(hdr, -EBUSY, UNIV_REASON_BUSY, obj->type,
				    obj->handle,
				    atomic_read(&obj->dependants)));
}

static void object_take_out(struct univ_object *obj)
{
	univ_kicked_forget(obj);
	__xa_cmpxchg(&obj->ctx->objects, obj->handle, obj, XA_ZERO_ENTRY,
		     GFP_KERNEL);
}

/* Takes the object out of the table and leaves its handle reserved. */
static struct univ_object *object_hide(struct univ_context *ctx, u32 handle,
				       enum univ_object_type type,
				       struct univ_hdr *hdr)
{
	struct univ_object *obj;

	xa_lock(&ctx->objects);
	obj = xa_load(&ctx->objects, handle);
	if (!obj)
		obj = object_not_found(hdr, handle, type);
	else if (obj->type != type)
		obj = object_wrong_type(hdr, handle, type, obj->type);
	else if (atomic_read(&obj->dependants))
		obj = object_busy(obj, hdr);
	else
		object_take_out(obj);
	xa_unlock(&ctx->objects);
	return obj;
}

/*
 * Waits until the calls that hold a hidden object have left. A call that pins
 * memory may wait for a FUSE server to provide the pages. So the wait ends with
 * -EINTR when the process is killed.
 */
static int object_wait_idle(struct univ_object *obj)
{
	if (refcount_dec_and_test(&obj->users) ||
	    !wait_for_completion_killable(&obj->idle))
		return 0;
	if (refcount_inc_not_zero(&obj->users))
		return -EINTR;
	/* The last call has left meanwhile, or is about to complete @idle. */
	wait_for_completion(&obj->idle);
	return 0;
}

/*
 * Hides the object and waits until the calls that hold it have left. If one of
 * them has built another object on it meanwhile, the object is shown again and
 * the result is -EBUSY. On success the caller owns the object. It destroys the
 * object and calls univ_object_release(), or it calls univ_object_republish().
 */
struct univ_object *univ_object_unpublish(struct univ_context *ctx, u32 handle,
					  enum univ_object_type type,
					  struct univ_hdr *hdr)
{
	struct univ_object *obj = object_hide(ctx, handle, type, hdr);

	if (IS_ERR(obj))
		return obj;
	if (object_wait_idle(obj)) {
		univ_object_publish(obj);
		return ERR_PTR(-EINTR);
	}
	if (!atomic_read(&obj->dependants))
		return obj;
	univ_object_republish(obj);
	return object_busy(obj, hdr);
}

/* Undoes univ_object_unpublish(), because the object could not be destroyed. */
void univ_object_republish(struct univ_object *obj)
{
	reinit_completion(&obj->idle);
	refcount_set(&obj->users, 1);
	univ_object_publish(obj);
}

/*
 * Gives back the handle and the charge of an object that no call can find, and
 * its memory after a grace period. The struct univ_object is the object's first
 * member.
 */
void univ_object_release(struct univ_object *obj)
{
	xa_erase(&obj->ctx->objects, obj->handle);
	object_uncharge(obj);
	kfree_rcu(obj, rcu);
}

/*
 * The end of every creating ioctl: copies the result to the process and
 * publishes the object. Publishing cannot fail. If the copy fails, @destroy
 * ends the object as it would end a published one. Freeing it would not be
 * enough: other threads may have found the object already, by the number of its
 * ring's mapping or by the device's own name for it, and have raised events of
 * it or queued work. The device may refuse to destroy it, because a memory
 * window is bound to a region, for example. Such an object stays with the
 * context.
 * Returns 0 or -EFAULT. @obj may be gone in either case.
 */
int univ_object_announce(struct univ_call *call, struct univ_object *obj,
			 int (*destroy)(struct univ_object *obj))
{
	int ret = univ_call_reply(call);

	if (ret && !destroy(obj))
		univ_object_release(obj);
	else
		univ_object_publish(obj);
	return ret;
}

/*
 * The device is being removed. The process must not free its own half of
 * an object before all events that it read are acknowledged. So an object of
 * which events were read is kept, with their numbers, for
 * univ_object_remembered(). All other calls see that the context is dead and do
 * not look for the object.
 * Context: the live lock is held for writing, and no call holds the object.
 */
void univ_object_bury(struct univ_object *obj)
{
	lockdep_assert_held_write(&obj->ctx->live);
	if (!obj->comp_events && !obj->async_events) {
		univ_object_release(obj);
		return;
	}
	object_uncharge(obj);
}

/*
 * The process destroys an object that went with the device. Reports how many of
 * its events were read. Context: the live lock is held and the context is dead.
 */
void univ_object_remembered(struct univ_context *ctx, struct univ_destroy *cmd)
{
	struct univ_object *obj = xa_load(&ctx->objects, cmd->handle);

	if (!obj)
		return;
	cmd->hdr.value = obj->comp_events;
	cmd->hdr.bound = obj->async_events;
}

/* Frees the objects that univ_object_bury() has kept. */
void univ_objects_free(struct univ_context *ctx)
{
	struct univ_object *obj;
	unsigned long handle;

	if (xa_empty(&ctx->objects))
		return;
	xa_for_each(&ctx->objects, handle, obj) {
		kfree_rcu(obj, rcu);
		cond_resched();
	}
	xa_destroy(&ctx->objects);
}

/*
 * The ioctl that destroys an object, for every type. @destroy ends the device's
 * object and lets go of the objects that this one was built on. If it fails,
 * nothing has changed.
 */
int univ_object_destroy(struct univ_call *call, struct univ_destroy *cmd,
			enum univ_object_type type,
			int (*destroy)(struct univ_object *obj))
{
	struct univ_object *obj;
	int ret;

	obj = univ_object_unpublish(call->ctx, cmd->handle, type, &cmd->hdr);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	ret = destroy(obj);
	if (ret) {
		univ_object_republish(obj);
		return univ_explain_driver(&cmd->hdr, ret);
	}
	cmd->comp_events = obj->comp_events;
	cmd->async_events = obj->async_events;
	univ_object_release(obj);
	return 0;
}
