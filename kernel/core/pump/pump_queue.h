/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The structures of the pump, for its own files:
 *
 *	pump.c		the operations, and the life of queues
 *	table.c		the queue pair that a completion names
 *	feed.c		one feeder at a time for each ring
 *	send.c		send rings
 *	recv.c		receive and shared receive rings
 *	comp.c		completions
 *	driver.c	the drivers that are served
 *
 * A kick of the process, the poller and a completion handler can feed a ring,
 * the last one in interrupt context. Only one of them works at a time: another
 * one sets @again and leaves. So a completion handler that the device calls
 * from inside the pump's own post never waits for the pump's lock.
 *
 * A driver may call a handler with its own locks held, even those that its poll
 * and post functions take. Unless driver.c says that the driver holds none, a
 * handler takes no lock and calls no function of the driver: it asks for an
 * interrupt, which does the work.
 */
#ifndef UNIV_PUMP_QUEUE_H
#define UNIV_PUMP_QUEUE_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "queues.h"
#include "feed.h"

/* Completions that are taken from the device at once. */
#define UNIV_WC_BATCH 16

/**
 * struct univ_send_record - the pump's record of a request that the device has
 * @wr_id: the wr_id of the request
 * @length: bytes
 * @opcode: enum ib_wc_opcode of the completion
 * @signaled: the process wants a completion if the request succeeds
 * @refused: the device does not have it, and the process was told
 */
struct univ_send_record {
	u64 wr_id;
	u32 length;
	u8 opcode;
	bool signaled;
	bool refused;
};

/**
 * struct univ_send_queue - requests of a queue pair on their way to the device
 * @feed: feeds the device from the ring
 * @ring: shared with the process
 * @fed: index up to which requests were given to the device
 * @retired: index up to which requests are known to be complete; under the lock
 *	of the send completion queue
 * @sig_all: every request is signaled
 * @owed: the next request must be signaled to the device, because an earlier
 *	request that was not signaled to it still needs a completion
 * @busy: how often in a row the device was not ready to look at a request
 * @broken: a request was refused; nothing is fed until the queue pair is in
 *	error
 * @corrupt: the ring's index made no sense; nothing is fed until reset
 */
struct univ_send_queue {
	struct univ_feed feed;
	struct univ_ring ring;
	u32 fed;
	u32 retired;
	bool sig_all;
	bool owed;
	u8 busy;
	bool broken;
	bool corrupt;
};

/**
 * struct univ_recv_queue - receive requests on their way to the device
 * @feed: feeds the device from the ring
 * @ring: shared with the process
 * @srq: the device's shared receive queue; NULL for the queue of a queue pair
 * @fed: index up to which requests were given to the device
 * @retire_lock: protects @retired and its publication; innermost. The requests
 *	of a shared queue complete in several completion queues at once.
 * @retired: how many requests completed
 * @eager: users of the queue for which the device must know of each request at
 *	once, so that each post needs a kick
 * @limited: a limit event is armed, with the same consequence
 * @max_sge: of a request
 * @busy: as of a send queue
 * @corrupt: the ring's contents made no sense; nothing is fed until reset
 */
struct univ_recv_queue {
	struct univ_feed feed;
	struct univ_ring ring;
	struct ib_srq *srq;
	u32 fed;
	spinlock_t retire_lock;
	u32 retired;
	atomic_t eager;
	bool limited;
	u32 max_sge;
	u8 busy;
	bool corrupt;
};

/**
 * struct pump_device - the pump's state of a device
 * @polls_in_handler: see driver.h
 * @frees_under_tasklet: see driver.h
 * @qps: the queue pairs by struct pump_qp_key; see pump_qp_find()
 */
struct pump_device {
	bool polls_in_handler;
	bool frees_under_tasklet;
	struct rhashtable qps;
};

/**
 * struct pump_cq - the pump's state of a completion queue
 * @core: the core's completion queue
 * @soon: an interrupt of our own, which takes completions
 * @soon_queued: @soon was queued once
 * @later: a worker, which goes on where @soon has done enough
 *
 * The rest is written under the lock of @core. @used and @partner are also read
 * without it:
 * @used: the device has completed something
 * @partner: the send completion queue of the queue pair that received last, if
 *	it is another queue on the same channel; NULL otherwise
 * @last_ib: the device's queue pair of the last pump_qp_find()
 * @last_qp: its result
 * @wc: completions that were taken
 * @rcu: handlers may come late
 */
struct pump_cq {
	struct univ_cq *core;
	struct irq_work soon;
	bool soon_queued;
	struct work_struct later;
	bool used;
	struct univ_cq *partner;
	const struct ib_qp *last_ib;
	struct pump_qp *last_qp;
	struct ib_wc wc[UNIV_WC_BATCH];
	struct rcu_head rcu;
};

/**
 * struct pump_srq - the pump's state of a shared receive queue
 * @core: the core's
 * @rq: its requests
 * @rcu: a completion feeds the queue without a lock
 */
struct pump_srq {
	struct univ_srq *core;
	struct univ_recv_queue rq;
	struct rcu_head rcu;
};

/**
 * struct pump_qp_key - the name of a queue pair in pump_device.qps
 * @ib: the device's, which may be gone
 * @ctx: its context. Completions name queue pairs of their own context only,
 *	and a context never waits until another one has destroyed a queue pair.
 */
struct pump_qp_key {
	const struct ib_qp *ib;
	const struct univ_context *ctx;
};

/**
 * struct pump_qp - the pump's state of a queue pair
 * @core: the core's queue pair
 * @ib: the device's queue pair, which may be gone
 * @key: key in pump_device.qps
 * @by_ib: entry in pump_device.qps
 * @partner: the send completion queue, if it is another one than that of
 *	receives and has the same channel; NULL otherwise
 * @datagrams: the type is UD
 * @failed: a request was refused or a completion lost; see @error_work
 * @eager: a message that finds no receive in the device, though one waits in
 *	the ring, is lost or fails. This is so for unreliable transports, and
 *	for a reliable one until rnr_retry says that the peer tries again for
 *	ever. A queue pair knows its own rnr_retry only; programs set both sides
 *	alike.
 * @sq: requests to send
 * @rq: requests to receive; no slots with a shared receive queue
 * @error_work: moves the queue pair to the error state, for callers that cannot
 *	sleep
 * @retry_work: feeds both rings when the device was full
 * @rcu: a completion feeds the receive queue without a lock
 * @records: of send requests, by slot; written before the request is posted and
 *	read when it completes
 */
struct pump_qp {
	struct univ_qp *core;
	struct ib_qp *ib;
	struct pump_qp_key key;
	struct rhash_head by_ib;
	struct univ_cq *partner;
	bool datagrams;
	bool failed;
	bool eager;
	struct univ_send_queue sq;
	struct univ_recv_queue rq;
	struct delayed_work error_work;
	struct delayed_work retry_work;
	struct rcu_head rcu;
	struct univ_send_record records[];
};

/* The queue that a queue pair receives from. */
static inline struct univ_recv_queue *pump_recv_queue(struct pump_qp *qp)
{
	return qp->core->srq ? &qp->core->srq->pump->rq : &qp->rq;
}

/* pump.c */
void pump_qp_fail(struct pump_qp *qp);

/* table.c */
int pump_table_init(struct pump_device *pump);
void pump_table_destroy(struct pump_device *pump);
int pump_table_insert(struct pump_qp *qp);
void pump_table_remove(struct pump_qp *qp);
struct pump_qp *pump_qp_find(struct pump_cq *cq, const struct ib_qp *ib);

/* send.c */
void univ_send_queue_init(struct univ_send_queue *sq,
			  const struct univ_ring *ring, bool sig_all);
void univ_send_queue_feed(struct univ_send_queue *sq);
void univ_send_queue_reset(struct pump_qp *qp);
void univ_send_queue_mend(struct pump_qp *qp);

/* recv.c */
void univ_recv_queue_init(struct univ_recv_queue *rq,
			  const struct univ_ring *ring, u32 max_sge);
void univ_recv_queue_feed(struct univ_recv_queue *rq);
void univ_recv_queue_reset(struct univ_recv_queue *rq);
void univ_recv_queue_credit(struct univ_recv_queue *rq);
void univ_recv_queue_retire(struct univ_recv_queue *rq);
void univ_recv_queue_hurry(struct univ_recv_queue *rq);
void univ_recv_queue_relax(struct univ_recv_queue *rq);
void univ_recv_queue_limit(struct univ_recv_queue *rq, bool armed);

/* comp.c */
int univ_pump_comp_attach(struct ib_cq *ib, struct univ_cq *core);
void univ_pump_comp_quiesce(struct univ_cq *core);
void univ_pump_comp_reopen(struct univ_cq *core);
void univ_pump_comp_end(struct univ_cq *core);
void univ_pump_drain(struct univ_cq *core);
void univ_pump_refuse_send(struct pump_qp *qp, u32 index, u64 wr_id, u8 status,
			   u16 reason);
void univ_pump_corrupt_send(struct pump_qp *qp);
void univ_pump_fail_recv(struct univ_recv_queue *rq, u64 wr_id, u16 reason);

/*
 * The pump tries again after a while when the device is full or is not ready to
 * look at a request: siw fails a post with ENOTCONN while the state of the
 * queue pair changes. A device that stays so for UNIV_POST_TRIES is taken to
 * refuse the request.
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
 * The maximum number of completed sends that wait for the completion of a later
 * one. It bounds the work in interrupt context.
 */
#define UNIV_SEND_RUN 16

/*
 * The pump posts this as the wr_id of a send: the tag and the request's index.
 */
#define UNIV_SEND_TAG		0x756e6976ull
#define UNIV_SEND_TOKEN(index)	(UNIV_SEND_TAG << 32 | (u32)(index))

#endif
