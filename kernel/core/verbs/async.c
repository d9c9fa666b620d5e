// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events of a process that imports a device,
 * ibv_import_device(3): it reads them from a channel of its own.
 */
#include "verbs.h"

/* The asynchronous events of an object, or NULL. */
static struct univ_event_source *events_of(struct univ_object *obj)
{
	switch (obj->type) {
	case UNIV_OBJECT_CQ:
		return &container_of(obj, struct univ_cq, obj)->async_events;
	case UNIV_OBJECT_SRQ:
		return &container_of(obj, struct univ_srq, obj)->events;
	case UNIV_OBJECT_QP:
		return &container_of(obj, struct univ_qp, obj)->events;
	case UNIV_OBJECT_WQ:
		return &container_of(obj, struct univ_wq, obj)->events;
	default:
		return NULL;
	}
}

static int object_set(struct univ_async_set *cmd, struct univ_channel *channel)
{
	struct univ_object *obj = univ_object_find(channel->ctx, cmd->handle);
	struct univ_event_source *events;
	int ret;

	if (!obj)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_HANDLE,
				    UNIV_OBJECT_QP, cmd->handle, 0);
	events = events_of(obj);
	if (!events)
		ret = univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_HANDLE_TYPE,
				   UNIV_OBJECT_QP, cmd->handle, obj->type);
	else if (univ_channel_redirect(channel, events))
		ret = 0;
	else
		ret = univ_explain(&cmd->hdr, -EBUSY, UNIV_REASON_BUSY,
				   obj->type, cmd->handle, 0);
	univ_object_put(obj);
	return ret;
}

int univ_async_set_ioctl(struct univ_call *call, void *arg)
{
	struct univ_async_set *cmd = arg;
	struct univ_channel *channel;
	int ret;

	channel = univ_channel_get(call->ctx, cmd->channel_fd, &cmd->hdr);
	if (IS_ERR(channel))
		return PTR_ERR(channel);
	if (cmd->handle)
		ret = object_set(cmd, channel);
	else
		ret = univ_channel_listen(channel, &cmd->hdr);
	univ_channel_put(channel);
	return ret;
}
