/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two structures that outlive a call: the device, and the context, which is
 * the state of an open file.
 *
 * Lock order, outermost first:
 *
 *	univ_context.live
 *	> univ_qp.mutex, univ_srq.mutex, univ_wq.mutex, univ_cq.resize,
 *	univ_ah.modify
 *	> univ_domain.lock
 *	> mmap_lock (registration pins pages)
 *	> univ_context.doorbell_lock, univ_bell_page.lock, and the tables' own
 *	locks
 *
 *	univ_context.live > univ_poller.lock > feed locks of rings
 *
 *	and, with interrupts off:
 *	feed locks of rings > (the device's own) > univ_cq.lock
 *	> univ_recv_queue.retire_lock, univ_event_queue.lock
 *
 * A native driver writes completions under locks of its own. The pump polls and
 * arms the device under univ_cq.lock, so the device's locks for that come after
 * univ_cq.lock; see pump_queue.h for the device's completion handlers.
 *
 * univ_device.lock is held around the device's lists and the charge for a
 * context. univ_device.events_lock and univ_context.channels_lock are held
 * around lists and the locks of event queues. univ_device.domains_lock is held
 * under a live lock, around the creation and the end of domains.
 * univ_counters.lock, univ_flow.lock and univ_context.arena_lock are taken last
 * and not together. univ_mr.change is only tried. mmap() runs under mmap_lock,
 * so it takes none of the sleeping locks above it.
 */
#ifndef UNIV_CONTEXT_H
#define UNIV_CONTEXT_H

#include <linux/atomic.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "event.h"
#include "lines.h"
#include "reason.h"

struct address_space;
struct pump_device;
struct univ_arena;
struct univ_bell_page;
struct univ_object;
struct univ_poller;
struct univ_queue_ops;
struct univ_region;

/*
 * The core's structure for an ib_device. @dev carries the reference count. An
 * open file holds a reference, so the structure outlives the device. @ib may be
 * used only under @lock, or under the live lock of a context that is not dead.
 */
struct univ_device {
	struct device dev;
	struct cdev cdev;
	struct ib_device *ib;
	const struct univ_queue_ops *queue; /* takes the rings */
	struct pump_device *pump;	/* the pump's own */
	struct ib_event_handler event_handler;
	/* contexts, num_contexts, dead */
	struct mutex lock ____cacheline_aligned_in_smp;
	struct mutex events_lock;	/* contexts, for the event handler */
	struct list_head contexts;
	u32 num_contexts;
	atomic_long_t ring_bytes;	/* see limit.h */
	struct mutex domains_lock;	/* domains */
	struct rb_root domains;		/* XRC, by file; see verbs.h */
	bool dead;
	int minor;
	u32 num_ports;			/* of @ib, which may be gone */
	struct univ_failed_calls failed; /* its lock is taken last */
};

univ_other_line(struct univ_device, queue, lock);

#define UNIV_KICKED 16

struct univ_context {
	/* Read for each kick. */
	struct univ_device *dev;
	struct univ_poller *poller;	/* NULL for none */
	/*
	 * Queues that are kicked again and again, by handle, which a kick finds
	 * without a look into the table (kicked.c). An entry is set under the
	 * lock of @objects while the object is in that table, and cleared when
	 * the object is taken out or the context ends. It is read under RCU.
	 */
	struct univ_object *kicked[UNIV_KICKED];

	/* Written by calls. */
	struct kref ref ____cacheline_aligned_in_smp;
	struct list_head link;		/* dev->contexts */

	/*
	 * Read: a call runs and may use dev->ib and any object it looks up.
	 * Write: the context ends; all objects are destroyed under it, once.
	 */
	struct rw_semaphore live;
	bool dead;
	bool ending;			/* see univ_kicked_end() */
	bool quiesced;			/* see univ_pump_comp_quiesce() */

	struct xarray objects;		/* handle -> univ_object */
	/*
	 * For each entry of @kicked, the handle of the last kick that did not
	 * find its queue there.
	 */
	u32 kicked_last[UNIV_KICKED];

	struct xarray regions;		/* mmap id -> univ_region */
	u32 next_arena;			/* its mmap id */
	struct list_head arenas;	/* latest change first; see arena.c */
	struct univ_arena *idle_arena;	/* NULL, or the one that is empty */
	spinlock_t arena_lock;		/* arenas, idle_arena, the parts */
	atomic_long_t ring_bytes;	/* see limit.h */
	struct univ_region *doorbell;	/* NULL until first mapped */
	struct mutex doorbell_lock;	/* doorbell, doorbell_dead */
	bool doorbell_dead;
	struct univ_bell_page *bell;	/* NULL for none */
	struct address_space *mapping;	/* of the open file */

	struct univ_event_queue events;
	struct univ_event_source fatal;
	struct univ_event_source *ports; /* one for each of dev->num_ports */

	struct mutex channels_lock;	/* channels */
	struct list_head channels;
	struct list_head listeners;	/* dev->events_lock */
	u32 listening;			/* entries of it; dev->events_lock */

#ifdef CONFIG_CGROUP_RDMA
	struct rdma_cgroup *cg;
#endif
	/* Owner as `rdma resource show` names it: comm:pid. */
	char name[TASK_COMM_LEN + 12];
};

univ_other_line(struct univ_context, kicked, live);
univ_other_line(struct univ_context, kicked, kicked_last);

/* client.c */
int univ_client_register(void);
void univ_client_unregister(void);

/* chardev.c */
int univ_chardev_init(void);
void univ_chardev_exit(void);
int univ_chardev_add(struct univ_device *dev);
void univ_chardev_remove(struct univ_device *dev);
struct univ_device *univ_device_alloc(struct ib_device *ib);
void univ_context_kill(struct univ_context *ctx, bool unplugged);

/* context.c */
struct univ_context *univ_context_alloc(struct univ_device *dev);
void univ_context_get(struct univ_context *ctx);
void univ_context_put(struct univ_context *ctx);

/* ioctl.c */
long univ_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif
