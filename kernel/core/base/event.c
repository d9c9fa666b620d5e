// SPDX-License-Identifier: GPL-2.0
/* Event queues behind read(), poll() and SIGIO of a node or a channel. */
#include <linux/rcupdate.h>
#include <linux/uaccess.h>

#include "event.h"
#include "univerbs.h"

/*
 * A process may have thousands of channels that each signal a group of
 * thousands of processes. One worker at a time sends these signals, in a
 * workqueue of our own: in one of the kernel's they would delay other work.
 */
static struct workqueue_struct *sigio_wq;

int univ_event_init(void)
{
	sigio_wq = alloc_ordered_workqueue("univerbs_sigio", 0);
	return sigio_wq ? 0 : -ENOMEM;
}

void univ_event_exit(void)
{
	destroy_workqueue(sigio_wq);
}

/*
 * The signal is sent by a worker. Before 6.1.176 the kernel takes tasklist_lock
 * to signal a process group, and other code holds that lock with interrupts on.
 * The caller that raises an event may hold a lock, of the core or of a driver,
 * that interrupts take.
 */
static void event_sigio(struct work_struct *work)
{
	struct univ_event_queue *queue =
		container_of(work, struct univ_event_queue, sigio);

	/* An event may have been raised just before the queue died. */
	kill_fasync(&queue->fasync, SIGIO, POLL_IN);
	if (READ_ONCE(queue->dead))
		kill_fasync(&queue->fasync, SIGIO, POLL_HUP);
}

static void event_signal(struct univ_event_queue *queue)
{
	if (READ_ONCE(queue->fasync))
		queue_work(sigio_wq, &queue->sigio);
}

void univ_event_queue_init(struct univ_event_queue *queue)
{
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->ready);
	init_waitqueue_head(&queue->wait);
	queue->fasync = NULL;
	INIT_WORK(&queue->sigio, event_sigio);
	queue->dead = false;
}

void univ_event_source_init(struct univ_event_source *source, u64 cookie,
			    u32 port_num)
{
	memset(source, 0, sizeof(*source));
	INIT_LIST_HEAD(&source->link);
	source->cookie = cookie;
	source->port_num = port_num;
}

static void event_ready(struct univ_event_queue *queue,
			struct univ_event_source *source)
{
	lockdep_assert_held(&queue->lock);
	if (list_empty(&source->link) && !source->forgotten)
		list_add_tail(&source->link, &queue->ready);
}

static void event_wake(struct univ_event_queue *queue)
{
	wake_up_interruptible_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
	event_signal(queue);
}

/* Takes the event at @index out of the pending ones. */
static void event_remove(struct univ_event_source *source, u32 index)
{
	u8 *at = source->pending + index;

	memmove(at, at + 1, --source->num_pending - index);
}

static void event_append(struct univ_event_source *source, u8 type)
{
	u8 *same = memchr(source->pending, type, source->num_pending);

	if (same)
		event_remove(source, same - source->pending);
	source->pending[source->num_pending++] = type;
}

/*
 * Raises an asynchronous event, enum ib_event_type. If the cookie of the source
 * has UNIV_COOKIE_NO_ASYNC, no event is for @queue: the source has another
 * queue, or none. Any context.
 */
void univ_event_raise(struct univ_event_queue *queue,
		      struct univ_event_source *source, u32 type)
{
	unsigned long flags;

	if (source->cookie & UNIV_COOKIE_NO_ASYNC)
		/* Pairs with the release in univ_channel_redirect(). */
		queue = smp_load_acquire(&source->other);
	if (type >= UNIV_EVENT_TYPES || !queue)
		return;
	spin_lock_irqsave(&queue->lock, flags);
	event_append(source, type);
	event_ready(queue, source);
	spin_unlock_irqrestore(&queue->lock, flags);
	event_wake(queue);
}

/*
 * Raises a completion event. The count of unread events stops at its limit. If
 * it wrapped, a source without an event would be in the list of ready ones. Any
 * context.
 */
void univ_event_complete(struct univ_event_queue *queue,
			 struct univ_event_source *source)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (likely(source->completions != U32_MAX))
		source->completions++;
	event_ready(queue, source);
	spin_unlock_irqrestore(&queue->lock, flags);
	event_wake(queue);
}

/*
 * The source's object goes, and its unread events with it. Events that are
 * raised later are not read: a device that has refused to destroy the object
 * may raise some.
 */
void univ_event_forget(struct univ_event_queue *queue,
		       struct univ_event_source *source)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	list_del_init(&source->link);
	source->forgotten = true;
	source->num_pending = 0;
	source->completions = 0;
	spin_unlock_irqrestore(&queue->lock, flags);
}

/* No event is raised any more. Wakes all readers, for good. */
void univ_event_queue_kill(struct univ_event_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	/*
	 * Pairs with the acquire in event_due(): a reader that finds the queue
	 * dead finds the events that were raised before.
	 */
	smp_store_release(&queue->dead, true);
	spin_unlock_irqrestore(&queue->lock, flags);
	wake_up_poll(&queue->wait, EPOLLIN | EPOLLERR | EPOLLHUP);
	event_signal(queue);
}

/* No file and no source is left. Context: may sleep. */
void univ_event_queue_destroy(struct univ_event_queue *queue)
{
	cancel_work_sync(&queue->sigio);
}

/*
 * Takes one event out of the source that has waited longest. Returns the
 * source, or NULL if there is no event.
 */
static struct univ_event_source *event_next(struct univ_event_queue *queue,
					    struct univ_event *event)
{
	struct univ_event_source *source;

	lockdep_assert_held(&queue->lock);
	source = list_first_entry_or_null(&queue->ready,
					  struct univ_event_source, link);
	if (!source)
		return NULL;
	event->cookie = source->cookie;
	event->port_num = source->port_num;
	if (source->completions) {
		event->type = UNIV_EVENT_COMPLETION;
		source->completions--;
		source->delivered++;
	} else {
		event->type = source->pending[0];
		event_remove(source, 0);
		source->delivered_async++;
	}
	/*
	 * To the back, so that a busy source does not hide the others. The only
	 * source stays, because has_event() must not find the list empty.
	 */
	if (!source->completions && !source->num_pending)
		list_del_init(&source->link);
	else if (!list_is_last(&source->link, &queue->ready))
		list_move_tail(&source->link, &queue->ready);
	return source;
}

/*
 * Looks without the lock, which is cheaper for a reader that has to wait. An
 * event that is raised at the same time may be missed; the thread that raises
 * it wakes the readers afterwards. An event that was there before is not
 * missed, since event_next() never empties the list while a source in it has
 * events.
 */
static bool has_event(const struct univ_event_queue *queue)
{
	return !list_empty(&queue->ready);
}

/*
 * Takes the next event. Returns false when there is none. The RCU section keeps
 * a source whose object is destroyed meanwhile. Only sources of completion
 * queues have @settle.
 */
static bool event_take(struct univ_event_queue *queue, struct univ_event *event)
{
	void (*settle)(struct univ_event_source *source) = NULL;
	struct univ_event_source *source;
	unsigned long flags;

	if (!has_event(queue))
		return false;
	memset(event, 0, sizeof(*event));
	rcu_read_lock();
	spin_lock_irqsave(&queue->lock, flags);
	source = event_next(queue, event);
	if (source && event->type == UNIV_EVENT_COMPLETION)
		settle = source->settle;
	spin_unlock_irqrestore(&queue->lock, flags);
	if (settle)
		settle(source);
	rcu_read_unlock();
	return source;
}

static bool event_due(const struct univ_event_queue *queue)
{
	/* Pairs with the release in univ_event_queue_kill(). */
	return smp_load_acquire(&queue->dead) || has_event(queue);
}

static int event_wait(struct univ_event_queue *queue, struct file *file)
{
	/* As in event_due(). */
	if (event_due(queue))
		return smp_load_acquire(&queue->dead) ? -ENODEV : 0;
	if (file->f_flags & O_NONBLOCK)
		return -EAGAIN;
	return wait_event_interruptible(queue->wait, event_due(queue));
}

/*
 * read(2): copies one or more whole struct univ_event. An event whose copy
 * fails because the process passed a bad buffer is lost, as with the stock
 * stack.
 */
ssize_t univ_event_read(struct univ_event_queue *queue, struct file *file,
			char __user *buf, size_t len)
{
	struct univ_event event;
	size_t done = 0;
	int ret;

	if (len < sizeof(event))
		return -EINVAL;

	while (!event_take(queue, &event)) {
		ret = event_wait(queue, file);
		/* Dead, but an event may have been queued just before. */
		if (ret == -ENODEV && event_take(queue, &event))
			break;
		if (ret)
			return ret;
	}
	do {
		if (copy_to_user(buf + done, &event, sizeof(event)))
			return done ? done : -EFAULT;
		done += sizeof(event);
		cond_resched();
	} while (len - done >= sizeof(event) &&
		 !fatal_signal_pending(current) &&
		 event_take(queue, &event));
	return done;
}

__poll_t univ_event_poll(struct univ_event_queue *queue, struct file *file,
			 poll_table *wait)
{
	unsigned long flags;
	__poll_t mask = 0;

	poll_wait(file, &queue->wait, wait);
	spin_lock_irqsave(&queue->lock, flags);
	if (!list_empty(&queue->ready))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (queue->dead)
		mask |= EPOLLERR | EPOLLHUP;
	spin_unlock_irqrestore(&queue->lock, flags);
	return mask;
}
