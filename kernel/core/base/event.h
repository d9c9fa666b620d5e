/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events: queues that a file reads, and sources that wait in them. A source is
 * part of the object whose events it raises, so raising an event needs no
 * memory and none is lost. Equal asynchronous events of one source that were
 * not read yet become one event, in the place of the latest. Completion events
 * are counted. The events of one source are read in the order in which they
 * were raised, so the last one describes the present state.
 */
#ifndef UNIV_EVENT_H
#define UNIV_EVENT_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/* Values of enum ib_event_type, with room for some more. */
#define UNIV_EVENT_TYPES 32

struct univ_event_queue {
	spinlock_t lock;		/* the queue and its sources */
	struct list_head ready;
	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	struct work_struct sigio;	/* events are raised under locks */
	bool dead;			/* ENODEV once @ready is empty */
};

/**
 * struct univ_event_source - the events of one object
 * @link: in univ_event_queue.ready while anything is pending
 * @pending: enum ib_event_type of each event that was not read, oldest first
 * @num_pending: how many
 * @completions: completion events pending
 * @delivered: completion events that were read
 * @delivered_async: other events that were read
 * @forgotten: the object goes, and no event is read any more
 * @other: the queue that takes the asynchronous events in place of the
 *	context's, see univ_channel_redirect(); or NULL
 * @port_num: part of each event
 * @cookie: likewise
 * @settle: called, where not NULL, when a completion event has been taken and
 *	before the process learns of it. Process context, in an RCU section.
 */
struct univ_event_source {
	struct list_head link;
	void (*settle)(struct univ_event_source *source);
	u8 pending[UNIV_EVENT_TYPES];
	u32 num_pending;
	u32 completions;
	u32 delivered;
	u32 delivered_async;
	bool forgotten;
	struct univ_event_queue *other;
	u32 port_num;
	u64 cookie;
};

int univ_event_init(void);
void univ_event_exit(void);
void univ_event_queue_init(struct univ_event_queue *queue);
void univ_event_queue_kill(struct univ_event_queue *queue);
void univ_event_queue_destroy(struct univ_event_queue *queue);
void univ_event_source_init(struct univ_event_source *source, u64 cookie,
			    u32 port_num);
void univ_event_raise(struct univ_event_queue *queue,
		      struct univ_event_source *source, u32 type);
void univ_event_complete(struct univ_event_queue *queue,
			 struct univ_event_source *source);
void univ_event_forget(struct univ_event_queue *queue,
		       struct univ_event_source *source);
ssize_t univ_event_read(struct univ_event_queue *queue, struct file *file,
			char __user *buf, size_t len);
__poll_t univ_event_poll(struct univ_event_queue *queue, struct file *file,
			 poll_table *wait);

#endif
