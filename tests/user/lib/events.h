/* SPDX-License-Identifier: GPL-2.0 */
/* Asynchronous events of a device, apart from those that its network raises. */
#ifndef EVENTS_H
#define EVENTS_H

#include <poll.h>
#include <stdbool.h>
#include <infiniband/verbs.h>
#include "check.h"
#include "completion.h"
#include "device.h"

/* Ports and GIDs follow the net device late, so these events may come at any time. */
static MAYBE_UNUSED bool is_of_network(enum ibv_event_type type)
{
	return type == IBV_EVENT_GID_CHANGE || type == IBV_EVENT_LID_CHANGE ||
	       type == IBV_EVENT_PORT_ACTIVE || type == IBV_EVENT_PORT_ERR;
}

/*
 * Wait @ms for an event, and acknowledge it. Events of the network are skipped, unless they are
 * of the type @want.
 */
static MAYBE_UNUSED bool take_event(struct ibv_context *ctx, enum ibv_event_type want,
				    struct ibv_async_event *event, int ms)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };

	do {
		if (poll(&pfd, 1, ms) != 1 || ibv_get_async_event(ctx, event))
			return false;
		ibv_ack_async_event(event);
	} while (event->event_type != want && is_of_network(event->event_type));
	return true;
}

/*
 * The next event, apart from those of the network, is of @type and names @object. An event of the
 * port has no object.
 */
static MAYBE_UNUSED void want_async(struct ibv_context *ctx, enum ibv_event_type type,
				    const void *object)
{
	struct ibv_async_event event;

	if (!CHECK(take_event(ctx, type, &event, WC_TIMEOUT), "no %s", ibv_event_type_str(type)))
		return;
	CHECK(event.event_type == type, "%s instead of %s", ibv_event_type_str(event.event_type),
	      ibv_event_type_str(type));
	CHECK(object ? event.element.qp == object : event.element.port_num == PORT,
	      "%s of another object", ibv_event_type_str(event.event_type));
}

static MAYBE_UNUSED bool no_event_within(struct ibv_context *ctx, int ms)
{
	struct ibv_async_event event;

	/* This type is not of the network, so no event of the network is wanted. */
	return !take_event(ctx, IBV_EVENT_DEVICE_FATAL, &event, ms);
}

#endif
