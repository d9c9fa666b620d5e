// SPDX-License-Identifier: GPL-2.0
/* Completion channels: ibv_create_comp_channel(3). */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/slab.h>

#include "channel.h"
#include "context.h"
#include "call.h"
#include "reason.h"

static void channel_release(struct kref *ref)
{
	struct univ_channel *channel =
		container_of(ref, struct univ_channel, ref);

	/* Not when the file is closed: a call may still hold the channel. */
	mutex_lock(&channel->ctx->dev->events_lock);
	if (channel->unaffiliated)
		channel->ctx->listening--;
	list_del(&channel->listener);
	mutex_unlock(&channel->ctx->dev->events_lock);
	univ_event_queue_destroy(&channel->events);
	univ_context_put(channel->ctx);
	kfree(channel->unaffiliated);
	kfree(channel);
}

void univ_channel_put(struct univ_channel *channel)
{
	if (channel)
		kref_put(&channel->ref, channel_release);
}

static ssize_t channel_read(struct file *file, char __user *buf, size_t len,
			    loff_t *pos)
{
	struct univ_channel *channel = file->private_data;

	return univ_event_read(&channel->events, file, buf, len);
}

static __poll_t channel_poll(struct file *file, poll_table *wait)
{
	struct univ_channel *channel = file->private_data;

	return univ_event_poll(&channel->events, file, wait);
}

static int channel_fasync(int fd, struct file *file, int on)
{
	struct univ_channel *channel = file->private_data;

	return fasync_helper(fd, file, on, &channel->events.fasync);
}

/* Undoes channel_alloc(). */
static void channel_unlink(struct univ_channel *channel)
{
	struct univ_context *ctx = channel->ctx;

	mutex_lock(&ctx->channels_lock);
	list_del(&channel->link);
	mutex_unlock(&ctx->channels_lock);
	univ_channel_put(channel);
}

static int channel_close(struct inode *inode, struct file *file)
{
	channel_unlink(file->private_data);
	return 0;
}

static const struct file_operations channel_fops = {
	.owner = THIS_MODULE,
	.read = channel_read,
	.poll = channel_poll,
	.fasync = channel_fasync,
	.release = channel_close,
};

static struct univ_channel *channel_alloc(struct univ_context *ctx)
{
	struct univ_channel *channel;

	channel = kzalloc(sizeof(*channel), GFP_KERNEL_ACCOUNT);
	if (!channel)
		return NULL;
	kref_init(&channel->ref);
	univ_event_queue_init(&channel->events);
	INIT_LIST_HEAD(&channel->listener);
	univ_context_get(ctx);
	channel->ctx = ctx;
	mutex_lock(&ctx->channels_lock);
	list_add(&channel->link, &ctx->channels);
	mutex_unlock(&ctx->channels_lock);
	return channel;
}

int univ_channel_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_channel_create *cmd = arg;
	struct univ_channel *channel;
	struct file *file;

	channel = channel_alloc(call->ctx);
	if (!channel)
		return univ_call_refuse_file(call, -ENOMEM);
	file = anon_inode_getfile("[univerbs-channel]", &channel_fops, channel,
				  O_RDWR);
	/* From here on closing the file puts the channel. */
	if (!IS_ERR(file))
		return univ_call_reply_file(call, file, &cmd->fd);
	channel_unlink(channel);
	return univ_call_refuse_file(call, PTR_ERR(file));
}

/*
 * Returns the channel of a process's fd, with a reference. Returns
 * ERR_PTR(-EBADF) when the fd is no channel or the channel belongs to another
 * context.
 */
struct univ_channel *univ_channel_get(struct univ_context *ctx, int fd,
				      struct univ_hdr *hdr)
{
	struct univ_channel *channel = NULL;
	struct file *file = fget(fd);

	if (!file)
		goto none;
	if (file->f_op == &channel_fops)
		channel = file->private_data;
	if (channel && channel->ctx != ctx)
		channel = NULL;
	if (channel)
		kref_get(&channel->ref);
	fput(file);
	if (channel)
		return channel;
none:
	return ERR_PTR(univ_explain(hdr, -EBADF, UNIV_REASON_FD, 0, (u32)fd,
				    0));
}

/*
 * The context's queues are gone. Wakes all threads that wait for their events.
 * Threads that wait for events of the device are not woken, as readers of the
 * node are not, see univ_context_kill(). Context: no call of the process runs,
 * so no channel becomes a listener meanwhile.
 */
void univ_channel_kill_all(struct univ_context *ctx)
{
	struct univ_channel *channel;

	mutex_lock(&ctx->channels_lock);
	list_for_each_entry(channel, &ctx->channels, link) {
		if (!channel->unaffiliated)
			univ_event_queue_kill(&channel->events);
		cond_resched();
	}
	mutex_unlock(&ctx->channels_lock);
}

/* ---- asynchronous events of a process that imports the device ------------ */

/*
 * The asynchronous events of an object go to the channel. Its cookie has
 * UNIV_COOKIE_NO_ASYNC, so none is queued elsewhere. Returns false if they have
 * a queue already. Context: the object is held.
 */
bool univ_channel_redirect(struct univ_channel *channel,
			   struct univ_event_source *source)
{
	struct univ_context *ctx = channel->ctx;
	bool free;

	mutex_lock(&ctx->channels_lock);
	free = source->cookie & UNIV_COOKIE_NO_ASYNC && !source->other;
	if (free) {
		kref_get(&channel->ref);
		/* Pairs with the acquire in univ_event_raise(). */
		smp_store_release(&source->other, &channel->events);
	}
	mutex_unlock(&ctx->channels_lock);
	return free;
}

/* As univ_event_forget(), of asynchronous events. */
void univ_channel_forget(struct univ_context *ctx,
			 struct univ_event_source *source)
{
	univ_event_forget(source->other ?: &ctx->events, source);
}

/*
 * Undoes univ_channel_redirect(). The device's object is gone, so no event is
 * about to be raised. May sleep.
 */
void univ_channel_leave(struct univ_event_source *source)
{
	struct univ_event_queue *other = source->other;

	source->other = NULL;
	if (other)
		univ_channel_put(container_of(other, struct univ_channel,
					      events));
}

static struct univ_event_source *unaffiliated_alloc(u32 ports)
{
	struct univ_event_source *sources;
	u32 port;

	sources = kcalloc(ports + 1, sizeof(*sources), GFP_KERNEL_ACCOUNT);
	for (port = 0; sources && port <= ports; port++)
		univ_event_source_init(&sources[port], 0, port);
	return sources;
}

/*
 * An event of the device or of a port is raised for all listeners of all
 * contexts, one after another, and later events wait. So a process cannot have
 * as many listeners as it likes. The count is lowered in channel_release().
 */
#define LISTENERS 64

/* Context: events_lock of the device. */
static int listen_locked(struct univ_channel *channel, struct univ_hdr *hdr,
			 struct univ_event_source **sources)
{
	struct univ_context *ctx = channel->ctx;

	lockdep_assert_held(&ctx->dev->events_lock);
	if (channel->unaffiliated)
		return 0;
	if (ctx->listening == LISTENERS)
		return univ_explain(hdr, -ENOMEM, UNIV_REASON_LIMIT,
				    UNIV_LIMIT_LISTENERS, LISTENERS + 1,
				    LISTENERS);
	ctx->listening++;
	channel->unaffiliated = *sources;
	list_add(&channel->listener, &ctx->listeners);
	*sources = NULL;
	return 0;
}

/* The events of the device and of its ports go to the channel, too. */
int univ_channel_listen(struct univ_channel *channel, struct univ_hdr *hdr)
{
	struct univ_device *dev = channel->ctx->dev;
	struct univ_event_source *sources = unaffiliated_alloc(dev->num_ports);
	int ret;

	if (!sources)
		return univ_explain(hdr, -ENOMEM, UNIV_REASON_NO_MEMORY, 0, 0,
				    0);
	mutex_lock(&dev->events_lock);
	ret = listen_locked(channel, hdr, &sources);
	mutex_unlock(&dev->events_lock);
	kfree(sources);
	return ret;
}

/*
 * Raises an event of a port, or of the device if @port is 0, for the file and
 * for the processes that import it. Context: events_lock of the device.
 */
void univ_channel_raise(struct univ_context *ctx, u32 port, u32 type)
{
	struct univ_channel *channel;

	lockdep_assert_held(&ctx->dev->events_lock);
	univ_event_raise(&ctx->events,
			 port ? &ctx->ports[port - 1] : &ctx->fatal, type);
	list_for_each_entry(channel, &ctx->listeners, listener)
		univ_event_raise(&channel->events, &channel->unaffiliated[port],
				 type);
}
