/* SPDX-License-Identifier: GPL-2.0 */
/* Receive queues, shared receive queues, and the receive request in use. */
#ifndef UROCE_RECVQ_H
#define UROCE_RECVQ_H

#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "ring.h"
#include "../mem/mem.h"
#include "cq.h"

/**
 * struct uroce_recvq - a receive queue, of one queue pair or shared
 * @ring: shared with a process, or private
 * @memory: memory of a private ring
 * @max_sge: maximum number of segments of a request
 * @attached: the ring belongs to a process
 * @head: number of requests taken; a slot is given back when it has been copied
 * @lock: of a shared queue: protects @head, the flags of @ring, and
 *	uroce_srq.limit and @waiters. The queue of a queue pair is protected by
 *	uroce_resp.lock.
 * @post: protects the tail of a private ring
 * @tail: tail of a private ring
 */
struct uroce_recvq {
	struct univ_ring ring;
	void *memory;
	u32 max_sge;
	bool attached;
	u32 head;
	spinlock_t lock;
	spinlock_t post;
	u32 tail;
};

struct uroce_srq {
	struct ib_srq ib;
	struct uroce_recvq rq;
	u32 max_wr;			/* written under rq.lock and rq.post */
	u32 limit;			/* under rq.lock; 0: no limit event */
	/*
	 * Queue pairs whose peer, on this host, waits for a receive request, in
	 * the order in which they began; linked by uroce_qp.waiter.
	 */
	struct list_head waiters;
	/* XRC: targets that use the queue, under uroce_xrcd.lock; see xrc.c */
	struct list_head aimed;
	struct list_head held;
	struct work_struct rest;	/* runs further peers of @waiters */
};

/**
 * struct uroce_recv - the receive request that a message is written to
 * @srq: shared receive queue that it was taken from; NULL for the own queue
 * @pd: protection domain of its memory
 * @cq: where it completes. @srq, @pd and @cq change only for an XRC target,
 *	which takes requests from any queue of its domain; they are NULL before
 *	the first one.
 * @wr_id: wr_id of the request
 * @sge: its scatter list, copied
 * @count: number of segments
 * @len: total length
 * @vec: its memory, between uroce_recv_map() and uroce_vec_put()
 * @done: bytes written so far
 * @attached: it was taken from the ring of a process
 * @taken: a request is held
 * @surplus: its scatter list is longer than the queue permits
 */
struct uroce_recv {
	struct uroce_srq *srq;
	struct ib_pd *pd;
	struct uroce_cq *cq;
	u64 wr_id;
	struct univ_sge *sge;
	u32 count;
	u32 len;
	struct uroce_vec vec;
	u32 done;
	bool attached;
	bool taken;
	bool surplus;
};

static inline struct uroce_srq *to_usrq(struct ib_srq *ib)
{
	return container_of(ib, struct uroce_srq, ib);
}

#endif
