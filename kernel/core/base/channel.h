/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_CHANNEL_H
#define UNIV_CHANNEL_H

#include <linux/kref.h>
#include <linux/list.h>

#include "event.h"

struct univ_context;
struct univ_hdr;

/*
 * A completion channel: a file of its own that completion queues report to, and
 * objects of a process that imports the device.
 */
struct univ_channel {
	struct kref ref;		/* the file, each such object */
	struct univ_context *ctx;	/* counted */
	struct list_head link;		/* ctx->channels, until it is closed */
	struct univ_event_queue events;
	struct list_head listener;	/* ctx->listeners, or empty */
	struct univ_event_source *unaffiliated; /* the device, each port */
};

struct univ_channel *univ_channel_get(struct univ_context *ctx, int fd,
				      struct univ_hdr *hdr);
void univ_channel_put(struct univ_channel *channel);
void univ_channel_kill_all(struct univ_context *ctx);
bool univ_channel_redirect(struct univ_channel *channel,
			   struct univ_event_source *source);
void univ_channel_forget(struct univ_context *ctx,
			 struct univ_event_source *source);
void univ_channel_leave(struct univ_event_source *source);
int univ_channel_listen(struct univ_channel *channel, struct univ_hdr *hdr);
void univ_channel_raise(struct univ_context *ctx, u32 port, u32 type);

#endif
