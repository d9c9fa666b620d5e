/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_CHANNEL_H
#define UNIV_CHANNEL_H

#include <linux/kref.h>
#include <linux/list.h>

#include "event.h"

struct univ_context;
struct univ_hdr;

/* A completion channel: a file of its own that completion queues report to. */
struct univ_channel {
	struct kref ref;		/* the file, each completion queue */
	struct univ_context *ctx;	/* counted */
	struct list_head link;		/* ctx->channels, until it is closed */
	struct univ_event_queue events;
};

struct univ_channel *univ_channel_get(struct univ_context *ctx, int fd,
				      struct univ_hdr *hdr);
void univ_channel_put(struct univ_channel *channel);
void univ_channel_kill_all(struct univ_context *ctx);

#endif
