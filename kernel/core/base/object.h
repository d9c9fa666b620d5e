/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handles. Life of an object:
 *
 *	reserve (handle taken, cgroup charged, no call finds it)
 *	... built by its noun's file ...
 *	announce: the result is copied to the process, then the object published
 *	get/put by calls; depend/undepend by the objects that are built on it
 *	unpublish (no call finds it any more, the last call has left)
 *	... destroyed by its noun's file ...
 *	release (handle and charge given back, memory freed by RCU)
 *
 * If the device goes, an object whose events were read is buried instead of
 * released: it stays until the context is freed, see univ_object_bury().
 */
#ifndef UNIV_OBJECT_H
#define UNIV_OBJECT_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "univerbs.h"

struct univ_context;
struct univ_call;
struct rdma_cgroup;

/**
 * struct univ_object - the beginning of every verb object
 * @ctx: owner; the object never outlives it
 * @type: enum univ_object_type
 * @handle: from 1
 * @kicks: the bits that UNIV_KICK may have; 0 for an object without a ring
 * @users: one while published, plus one for each call that holds it
 * @dependants: objects that are built on it; destroying it is EBUSY meanwhile
 * @idle: completed when @users falls to zero
 * @comp_events: set on destruction: completion events that were read
 * @async_events: likewise: asynchronous events that were read
 * @cg: the rdma cgroup that is charged for the object
 * @rcu: look-ups run under RCU, so the memory goes after a grace period
 */
struct univ_object {
	struct univ_context *ctx;
	u32 type;
	u32 handle;
	u32 kicks;
	refcount_t users;
	atomic_t dependants;
	struct completion idle;
	u32 comp_events;
	u32 async_events;
#ifdef CONFIG_CGROUP_RDMA
	struct rdma_cgroup *cg;
#endif
	struct rcu_head rcu;
};

int univ_object_reserve(struct univ_context *ctx, struct univ_object *obj,
			enum univ_object_type type, struct univ_hdr *hdr);
void univ_object_publish(struct univ_object *obj);
struct univ_object *univ_object_get(struct univ_context *ctx, u32 handle,
				    enum univ_object_type type,
				    struct univ_hdr *hdr);
struct univ_object *univ_object_find(struct univ_context *ctx, u32 handle);
struct univ_object *univ_object_find_of(struct univ_context *ctx, u32 handle,
					enum univ_object_type type);
struct univ_object *univ_object_unpublish(struct univ_context *ctx, u32 handle,
					  enum univ_object_type type,
					  struct univ_hdr *hdr);
void univ_object_republish(struct univ_object *obj);
int univ_object_announce(struct univ_call *call, struct univ_object *obj,
			 int (*destroy)(struct univ_object *obj));
void univ_object_release(struct univ_object *obj);
void univ_object_bury(struct univ_object *obj);
void univ_object_remembered(struct univ_context *ctx, struct univ_destroy *cmd);
void univ_objects_free(struct univ_context *ctx);
int univ_object_destroy(struct univ_call *call, struct univ_destroy *cmd,
			enum univ_object_type type,
			int (*destroy)(struct univ_object *obj));

static inline void univ_object_put(struct univ_object *obj)
{
	if (refcount_dec_and_test(&obj->users))
		complete(&obj->idle);
}

static inline void univ_object_depend(struct univ_object *obj)
{
	atomic_inc(&obj->dependants);
}

static inline void univ_object_undepend(struct univ_object *obj)
{
	atomic_dec(&obj->dependants);
}

#endif
