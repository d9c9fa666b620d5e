/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pump: moves requests from the shared rings to any ib_device through
 * kernel verbs, and completions back.
 *
 *	pump.c		who feeds a ring, and the kick
 *	pump_send.c	send rings
 *	pump_recv.c	receive and shared receive rings
 *	pump_comp.c	completions
 *
 * A ring is fed by whoever comes: the kick of a process, the poller, or whoever
 * moves completions, in interrupt context. One of them does the work; one that finds
 * another at it leaves word in @again and goes. So a completion handler that
 * the device calls from inside our own post never waits for our lock.
 *
 * A handler may be called with locks of the driver held, those that its poll and
 * post functions take among them. Unless the driver is known to hold none
 * (driver.c) a handler takes no lock of ours and calls nothing of the driver: it
 * asks for an interrupt of its own, which does the work.
 */
#ifndef UNIV_PUMP_H
#define UNIV_PUMP_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "univerbs.h"
#include "ring.h"

struct ib_cq;
struct univ_cq;
struct univ_object;
struct univ_poller;
struct univ_qp;
struct univ_srq;

/* Most scatter/gather entries of a request; bounds the pump's stack. */
#define UNIV_MAX_SGE 32

/**
 * struct univ_feed - who feeds a ring
 * @lock: held while feeding; everything of the queue but what is said to be
 *	under a completion queue's lock
 * @step: feeds a bounded piece; see univ_feed_init()
 * @look: instead, for the poller alone: a ring that the device takes itself
 * @poller: who looks at the ring without being kicked; NULL for nobody
 * @polled: in its list
 * @later: goes on for a caller that has done enough
 * @again: look once more
 * @closed: the device's object is going: leave it alone
 * @moved: something was fed; for the poller
 */
struct univ_feed {
	spinlock_t lock;
	bool (*step)(struct univ_feed *feed);
	void (*look)(struct univ_feed *feed);
	struct univ_poller *poller;
	struct list_head polled;
	struct work_struct later;
	bool again;
	bool closed;
	bool moved;
};

/**
 * struct univ_send_record - what is kept of a request that the device has
 * @wr_id: the process's word for it
 * @length: bytes
 * @opcode: enum ib_wc_opcode of its completion
 * @signaled: the process wants a completion of its success
 */
struct univ_send_record {
	u64 wr_id;
	u32 length;
	u8 opcode;
	bool signaled;
};

/**
 * struct univ_send_queue - requests of a queue pair on their way to the device
 * @feed: who feeds it
 * @ring: shared
 * @fed: index up to which requests were given to the device
 * @looked: index up to which the poller told the device of requests, if the
 *	device takes the ring itself; under the poller's lock
 * @retired: index up to which they are known to be complete; under the lock of
 *	the send completion queue
 * @records: by slot; written before the request is posted, read when it
 *	completes. NULL when the device takes the ring itself.
 * @sig_all: every request is signaled
 * @owed: the next request must be signaled to the device, because a completion
 *	is owed for one before it that was not
 * @busy: how often in a row the device was not ready to look at a request
 * @broken: a request was refused; nothing is fed until the queue pair is in
 *	error
 * @corrupt: the ring's index made no sense; nothing is fed until reset
 */
struct univ_send_queue {
	struct univ_feed feed;
	struct univ_ring ring;
	u32 fed;
	u32 looked;
	u32 retired;
	struct univ_send_record *records;
	bool sig_all;
	bool owed;
	u8 busy;
	bool broken;
	bool corrupt;
};

/**
 * struct univ_recv_queue - the same of receive requests
 * @feed: who feeds it
 * @ring: shared
 * @qp: whose they are, or
 * @srq: whose they are
 * @fed: index up to which requests were given to the device
 * @retire_lock: held around @retired and its publication; innermost. A shared
 *	queue's requests complete in several completion queues at once.
 * @retired: how many completed
 * @eager: users of the queue for whom the device must know of each request at
 *	once, so that each post needs a kick
 * @limited: a limit event is armed, with the same consequence
 * @max_sge: of a request
 * @busy: as of a send queue
 * @corrupt: the ring's contents made no sense; nothing is fed until reset
 */
struct univ_recv_queue {
	struct univ_feed feed;
	struct univ_ring ring;
	struct univ_qp *qp;
	struct univ_srq *srq;
	u32 fed;
	spinlock_t retire_lock;
	u32 retired;
	atomic_t eager;
	bool limited;
	u32 max_sge;
	u8 busy;
	bool corrupt;
};

/* pump.c */
void univ_feed_init(struct univ_feed *feed,
		    bool (*step)(struct univ_feed *feed));
void univ_feed_close(struct univ_feed *feed);
void univ_feed_reopen(struct univ_feed *feed);
void univ_feed_leave_poller(struct univ_feed *feed);
void univ_feed_run(struct univ_feed *feed);
void univ_feed_kick(struct univ_feed *feed);
bool univ_feed_turn(struct univ_feed *feed);
void univ_pump_kick(struct univ_object *obj, u32 which);
size_t univ_ring_place(struct univ_ring_map *map, size_t offset, u32 slots,
		       u32 stride);
u32 univ_recv_stride(u32 max_sge);

/* pump_send.c */
void univ_send_queue_init(struct univ_send_queue *sq, struct univ_ring_map *map,
			  void *base);
void univ_send_queue_feed(struct univ_send_queue *sq);
void univ_send_queue_reset(struct univ_qp *qp);

/* pump_recv.c */
void univ_recv_queue_init(struct univ_recv_queue *rq, struct univ_ring_map *map,
			  void *base, u32 max_sge);
void univ_recv_queue_feed(struct univ_recv_queue *rq);
void univ_recv_queue_reset(struct univ_recv_queue *rq);
void univ_recv_queue_credit(struct univ_recv_queue *rq);
void univ_recv_queue_retire(struct univ_recv_queue *rq);
void univ_recv_queue_hurry(struct univ_recv_queue *rq);
void univ_recv_queue_relax(struct univ_recv_queue *rq);
void univ_recv_queue_limit(struct univ_recv_queue *rq, bool armed);

/* pump_comp.c */
void univ_pump_comp_init(struct univ_cq *cq);
void univ_pump_comp_quiesce(struct univ_cq *cq);
void univ_pump_comp_end(struct univ_cq *cq);
void univ_pump_comp_handler(struct ib_cq *ib, void *context);
void univ_pump_comp_defer(struct ib_cq *ib, void *context);
void univ_pump_comp_lost(struct univ_cq *cq);
void univ_pump_drain(struct univ_cq *cq);
void univ_pump_settle(struct univ_cq *cq);
void univ_pump_refuse_send(struct univ_qp *qp, u32 index, u64 wr_id, u8 status,
			   u16 reason);
void univ_pump_corrupt_send(struct univ_qp *qp);
void univ_pump_fail_recv(struct univ_recv_queue *rq, u64 wr_id, u16 reason);

/*
 * When the device is full for once, or is not ready to look: siw fails a post with
 * ENOTCONN while somebody changes the queue pair's state. One that stays so is taken
 * for a refusal.
 */
#define UNIV_POST_RETRY	msecs_to_jiffies(1)
#define UNIV_POST_TRIES	200

static inline bool univ_post_busy(int ret, u8 *busy)
{
	if (ret != -ENOTCONN)
		return false;
	if (++*busy <= UNIV_POST_TRIES)
		return true;
	*busy = 0;
	return false;
}

/*
 * At most so many completed sends wait for the completion of one behind them;
 * bounds the work in interrupt context.
 */
#define UNIV_SEND_RUN 16

/* What the pump posts as wr_id of a send: the tag, and the request's index. */
#define UNIV_SEND_TAG		0x756e6976ull
#define UNIV_SEND_TOKEN(index)	(UNIV_SEND_TAG << 32 | (u32)(index))

#endif
