// SPDX-License-Identifier: GPL-2.0
/* Contexts: the memory and the references of an open file's state. */
#include <linux/slab.h>

#include "bell.h"
#include "context.h"
#include "object.h"
#include "region.h"

static int context_init_ports(struct univ_context *ctx)
{
	u32 port, num = ctx->dev->num_ports;

	ctx->ports = kcalloc(num, sizeof(*ctx->ports), GFP_KERNEL_ACCOUNT);
	if (!ctx->ports)
		return -ENOMEM;
	for (port = 0; port < num; port++)
		univ_event_source_init(&ctx->ports[port], 0, port + 1);
	return 0;
}

/* The device may be gone already, so dev->ib is not used here. */
struct univ_context *univ_context_alloc(struct univ_device *dev)
{
	struct univ_context *ctx;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return NULL;
	ctx->dev = dev;
	if (context_init_ports(ctx)) {
		kfree(ctx);
		return NULL;
	}
	get_device(&dev->dev);
	kref_init(&ctx->ref);
	init_rwsem(&ctx->live);
	xa_init_flags(&ctx->objects, XA_FLAGS_ALLOC1);
	xa_init_flags(&ctx->regions, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&ctx->arenas);
	spin_lock_init(&ctx->arena_lock);
	mutex_init(&ctx->doorbell_lock);
	univ_event_queue_init(&ctx->events);
	univ_event_source_init(&ctx->fatal, 0, 0);
	mutex_init(&ctx->channels_lock);
	INIT_LIST_HEAD(&ctx->channels);
	INIT_LIST_HEAD(&ctx->listeners);
	INIT_LIST_HEAD(&ctx->link);
	snprintf(ctx->name, sizeof(ctx->name), "%s:%d", current->comm,
		 task_tgid_nr(current));
	return ctx;
}

static void context_release(struct kref *ref)
{
	struct univ_context *ctx = container_of(ref, struct univ_context, ref);

	univ_event_queue_destroy(&ctx->events);
	univ_doorbell_free(ctx);
	univ_bell_free(ctx);
	univ_objects_free(ctx);
	xa_destroy(&ctx->regions);
	put_device(&ctx->dev->dev);
	kfree(ctx->ports);
	kfree(ctx);
}

void univ_context_get(struct univ_context *ctx)
{
	kref_get(&ctx->ref);
}

void univ_context_put(struct univ_context *ctx)
{
	kref_put(&ctx->ref, context_release);
}
