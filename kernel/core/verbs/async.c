// SPDX-License-Identifier: GPL-2.0
/*
 * Files for asynchronous events: ibv_get_async_event(3). A process that imports
 * a device, ibv_import_device(3), reads them from a channel of its own.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>

#include "verbs.h"

/* The node and the file below have the same three operations. */
ssize_t univ_async_read(struct file *file, char __user *buf, size_t len,
			loff_t *pos)
{
	struct univ_context *ctx = file->private_data;

	return univ_event_read(&ctx->events, file, buf, len);
}

__poll_t univ_async_poll(struct file *file, poll_table *wait)
{
	struct univ_context *ctx = file->private_data;

	return univ_event_poll(&ctx->events, file, wait);
}

int univ_async_fasync(int fd, struct file *file, int on)
{
	struct univ_context *ctx = file->private_data;

	return fasync_helper(fd, file, on, &ctx->events.fasync);
}

static int async_close(struct inode *inode, struct file *file)
{
	univ_context_put(file->private_data);
	return 0;
}

static const struct file_operations async_fops = {
	.owner = THIS_MODULE,
	.read = univ_async_read,
	.poll = univ_async_poll,
	.fasync = univ_async_fasync,
	.release = async_close,
};

/* The file keeps the memory of the context, and not its objects. */
int univ_async_open_ioctl(struct univ_call *call, void *arg)
{
	struct univ_async_open *cmd = arg;
	struct file *file;

	file = anon_inode_getfile("[univerbs-async]", &async_fops, call->ctx,
				  O_RDWR);
	if (IS_ERR(file))
		return univ_call_refuse_file(call, PTR_ERR(file));
	univ_context_get(call->ctx);
	return univ_call_reply_file(call, file, &cmd->fd);
}

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
