/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A software RoCEv2 HCA: its structures.
 *
 *	link.c verbs.c		`rdma link add`, the device; ib_device_ops
 *	qp.c cq.c mem.c		objects: control path
 *	queue.c			who runs a send queue; requests out of rings,
 *				completions into them
 *	local.c			queue pairs of one host: one copy, no packet
 *	req.c resp.c comp.c	queue pairs of two hosts: packets
 *
 * Requests lie in rings of univerbs_ring.h's format, always: a ring is shared
 * with a process (attached, kernel/include/queue.h), or private and written by
 * our post functions for users in the kernel.
 *
 * Locks, outermost first. The first two are taken with bottom halves off.
 *
 *	uroce_sendq.lock	the requester: the send queue and what it does.
 *				Only ever tried by whoever has work for it, who
 *				else leaves word in @again; so nobody that holds
 *				any lock waits for it. Control verbs wait.
 *	uroce_resp.lock		the responder: receive queue, expected PSN, and
 *				uroce_qp.state. A requester takes its peer's, or
 *				its own, never two at once.
 *	uroce_recvq.lock	a shared receive queue's head
 *	uroce_*.post		the tail of a private ring; interrupts off
 *	uroce_cq.lock, univ_cq.lock	interrupts off
 *
 * Lifetime. struct uroce_qp is freed after a grace period, so a look-up by
 * number needs RCU alone; whoever found it takes one of its locks and looks at
 * @dead. Destroying sets @dead under both, so nothing is running in it after
 * that, and completion queues and memory go no earlier. Memory regions are
 * counted by those who copy.
 *
 * Completion handlers of kernel users run in a tasklet, never under our locks.
 */
#ifndef UROCE_H
#define UROCE_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/in6.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "net.h"
#include "queue.h"
#include "wire.h"

#define UROCE_MAX_SGE		32
#define UROCE_MAX_INLINE	1024
#define UROCE_MAX_WR		16384
#define UROCE_MAX_CQE		(1 << 20)
#define UROCE_MAX_RD_ATOMIC	128
#define UROCE_PKEY		0xffff

struct ib_umem;
struct uroce_wire;

/**
 * struct uroce_dev - a device
 * @ib: first
 * @link: in uroce_devices, under RCU
 * @netdev: what packets leave by; for as long as the device is registered
 * @gsi: queue pair 1, under RCU
 * @mrs: index to struct uroce_mr, under RCU
 * @groups: multicast
 * @counters: by enum uroce_counter
 */
struct uroce_dev {
	struct ib_device ib;
	struct list_head link;
	struct net_device *netdev;
	struct uroce_qp __rcu *gsi;
	struct xarray mrs;
	u32 next_mr;
	spinlock_t groups_lock;
	struct list_head groups;
	u64 __percpu *counters;
};

enum uroce_counter {
	UROCE_CNT_LOCAL_MSGS,
	UROCE_CNT_SENT_PKTS,
	UROCE_CNT_RECEIVED_PKTS,
	UROCE_CNT_DUPLICATES,
	UROCE_CNT_OUT_OF_SEQUENCE,
	UROCE_CNT_RNR_SENT,
	UROCE_CNT_RNR_RECEIVED,
	UROCE_CNT_TIMEOUTS,
	UROCE_CNT_RETRY_EXCEEDED,
	UROCE_CNT_NAKS,
	UROCE_COUNTERS
};

/**
 * struct uroce_mr - registered memory
 * @ib: first; @ib.lkey and @ib.rkey are @index << 8 | variant
 * @ref: the owner and everybody who copies
 * @idle: the last of them has gone
 * @umem: pinned pages of a process, or NULL
 * @pages: page of each @page_shift bytes; NULL for kernel addresses
 * @iova: address of the first byte, in requests
 * @length: bytes
 * @offset: of the first byte in @pages[0]
 * @access: enum ib_access_flags
 * @kernel: addresses are kernel addresses (get_dma_mr)
 */
struct uroce_mr {
	struct ib_mr ib;
	struct rcu_head rcu;
	refcount_t ref;
	struct completion idle;
	struct ib_umem *umem;
	struct page **pages;
	u32 npages;
	u32 max_pages;
	u64 iova;
	u64 length;
	u32 offset;
	u32 access;
	bool kernel;
	bool valid;
};

/**
 * struct uroce_seg - a piece of memory that requests name
 * @mr: held; NULL for an address in the kernel
 * @base: @mr: bytes from its start; otherwise a kernel address
 * @len: bytes
 */
struct uroce_seg {
	struct uroce_mr *mr;
	u64 base;
	u32 len;
};

/**
 * struct uroce_vec - memory as one run of bytes
 * @seg: pieces
 * @count: of them
 * @len: bytes in all
 */
struct uroce_vec {
	struct uroce_seg *seg;
	u32 count;
	u32 len;
};

/* A request that became known to be done, or failed */
struct uroce_cq {
	struct ib_cq ib;
	struct univ_cq *core;		/* attached: completions go there */

	spinlock_t lock;		/* private ring, for kernel users */
	struct univ_cqe *cqes;
	struct ib_qp **qps;		/* whose, by slot */
	u32 size;			/* power of two */
	u32 head;
	u32 tail;
	enum ib_cq_notify_flags armed;
	bool overrun;
	struct tasklet_struct task;	/* calls the handler */
};

/**
 * struct uroce_recvq - requests to receive; of a queue pair or shared
 * @lock: @head, @limit; of a shared queue. A queue pair's own is guarded by
 *	uroce_resp.lock.
 * @ring: shared or private
 * @head: requests taken so far
 * @retired: requests whose slots were given back
 * @post: tail of a private ring
 * @tail: of a private ring
 * @max_sge: of a request
 * @attached: the ring is a process's
 */
struct uroce_recvq {
	spinlock_t lock;
	struct univ_ring ring;
	u32 head;
	spinlock_t post;
	u32 tail;
	u32 max_sge;
	bool attached;
	bool corrupt;
	void *memory;			/* private ring */
};

struct uroce_srq {
	struct ib_srq ib;
	struct uroce_recvq rq;
	u32 max_wr;
	u32 limit;			/* under rq.lock; 0 is off */
};

/**
 * struct uroce_av - the way to a peer
 * @flow: addresses; what packets are sent with
 * @local: the address is a uroce device's of this namespace
 * @dev_index: ib.index of that device
 */
struct uroce_av {
	struct uroce_flow flow;
	struct rdma_ah_attr attr;
	bool local;
	struct uroce_dev *peer;		/* may be gone: compare, don't follow */
};

struct uroce_ah {
	struct ib_ah ib;
	struct uroce_av av;
	u32 index;			/* in uroce_ahs: what a private slot says */
};

/**
 * struct uroce_wqe - the private copy of the request at the head of a send
 *	queue
 * @wr: as in the ring; @wr.count is checked
 * @vec: its memory, held; inline data is one piece without region
 * @len: bytes
 * @done: bytes that are through
 * @loaded: the copy is there
 */
struct uroce_wqe {
	struct univ_send_wr wr;
	struct uroce_vec vec;
	struct uroce_av *av;		/* datagrams */
	struct ib_ah *ah;		/* held until the request is done */
	u32 done;
	bool loaded;
};

enum uroce_wait {
	UROCE_WAIT_NONE,
	UROCE_WAIT_RNR,			/* the timer goes on */
	UROCE_WAIT_RETRY,		/* peer does not answer; the timer tries again */
};

/**
 * struct uroce_sendq - the requester
 * @lock: everything here
 * @again: look once more; see uroce_send_run()
 * @ring: shared or private
 * @head: the first request that is not complete
 * @wqe: that request, for queue pairs of one host
 * @tail: of a private ring, under @post
 */
struct uroce_sendq {
	spinlock_t lock;
	bool again;
	bool dead;
	struct univ_ring ring;
	u32 head;
	struct uroce_wqe wqe;
	enum uroce_wait wait;
	u8 rnr_left;
	u8 retry_left;
	u32 max_sge;
	u32 max_inline;
	bool sig_all;
	bool attached;
	struct hrtimer timer;
	struct tasklet_struct task;
	spinlock_t post;
	u32 tail;
	void *memory;			/* private ring */
};

/**
 * struct uroce_recv - the receive request that a message is being put in
 * @wr_id: its name
 * @vec: its memory, held
 * @done: bytes that are in
 * @taken: there is one
 */
struct uroce_recv {
	u64 wr_id;
	struct uroce_vec vec;
	u32 done;
	bool taken;
};

/**
 * struct uroce_resp - the responder
 * @lock: everything here, the own receive queue, and uroce_qp.state
 */
struct uroce_resp {
	spinlock_t lock;
	bool dead;
	struct uroce_recv recv;
};

struct uroce_qp {
	struct ib_qp *ib;
	struct uroce_dev *dev;
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq;
	struct uroce_srq *srq;		/* NULL for none */
	struct univ_qp *core;		/* attached */
	struct rcu_head rcu;
	u32 num;
	enum ib_qp_type type;

	/* Written with both locks but to ERR, which takes the responder's */
	enum ib_qp_state state;
	/* Written by modify with both locks */
	struct ib_qp_attr attr;
	struct uroce_av av;
	u32 mtu;
	struct ib_qp_cap cap;

	struct uroce_sendq sq;
	struct uroce_recvq rq;
	struct uroce_resp resp;

	/* req.c, resp.c, comp.c: NULL until the queue pair needs packets */
	struct uroce_wire *wire;
};

/* The queue pair as the core of RDMA has it */
struct uroce_ibqp {
	struct ib_qp ib;
	struct uroce_qp *qp;
};

struct uroce_pd {
	struct ib_pd ib;
};

static inline struct uroce_dev *to_udev(struct ib_device *ib)
{
	return container_of(ib, struct uroce_dev, ib);
}

static inline struct uroce_cq *to_ucq(struct ib_cq *ib)
{
	return container_of(ib, struct uroce_cq, ib);
}

static inline struct uroce_srq *to_usrq(struct ib_srq *ib)
{
	return container_of(ib, struct uroce_srq, ib);
}

static inline struct uroce_mr *to_umr(struct ib_mr *ib)
{
	return container_of(ib, struct uroce_mr, ib);
}

static inline struct uroce_ah *to_uah(struct ib_ah *ib)
{
	return container_of(ib, struct uroce_ah, ib);
}

static inline struct uroce_qp *to_uqp(struct ib_qp *ib)
{
	return container_of(ib, struct uroce_ibqp, ib)->qp;
}

static inline void uroce_count(struct uroce_dev *dev, enum uroce_counter what)
{
	this_cpu_inc(dev->counters[what]);
}

/* mem.c */
struct uroce_mr *uroce_mr_get(struct ib_pd *pd, u32 key, u64 addr, u32 len,
			      u32 access);
void uroce_mr_release(struct uroce_mr *mr);
void uroce_vec_put(struct uroce_vec *vec);
void uroce_vec_copy(const struct uroce_vec *dst, u32 dst_off,
		    const struct uroce_vec *src, u32 src_off, u32 len);
void uroce_vec_read(const struct uroce_vec *vec, u32 off, void *to, u32 len);
void uroce_vec_write(const struct uroce_vec *vec, u32 off, const void *from,
		     u32 len);
bool uroce_atomic(struct uroce_mr *mr, u64 addr, u8 opcode, u64 compare_add,
		  u64 swap, u64 *orig);

static inline void uroce_mr_put(struct uroce_mr *mr)
{
	if (refcount_dec_and_test(&mr->ref))
		uroce_mr_release(mr);
}

/*
 * queue.c: requests and completions, for local.c and the wire alike.
 *
 * Send side, uroce_sendq.lock held: uroce_send_load() makes the private copy of
 * the request at an index and holds its memory; uroce_send_done() completes the
 * request at sq.head and steps over it, with an error puts the queue pair in
 * ERR. uroce_send_run() is what timers and packets call to go on: no lock held.
 *
 * Receive side, uroce_resp.lock held: uroce_recv_take() takes the next receive
 * request into resp.recv; false when there is none (RNR); an error status in
 * *status when it is bad. uroce_recv_done() completes it.
 */
enum ib_wc_status uroce_send_load(struct uroce_qp *qp, u32 index,
				  struct uroce_wqe *wqe, u16 *reason);
u32 uroce_send_published(struct uroce_qp *qp);
void uroce_send_unload(struct uroce_qp *qp, struct uroce_wqe *wqe);
void uroce_send_done(struct uroce_qp *qp, const struct uroce_wqe *wqe,
		     enum ib_wc_status status, u16 reason);
void uroce_send_run(struct uroce_qp *qp);

bool uroce_recv_take(struct uroce_qp *qp, enum ib_wc_status *status);
void uroce_recv_done(struct uroce_qp *qp, struct univ_cqe *cqe, bool solicited);
void uroce_recv_flush(struct uroce_qp *qp);

/* resp.lock held: the queue pair is in ERR; the rest is flushed soon */
void uroce_qp_fail(struct uroce_qp *qp, enum ib_event_type event);

/* cq.c */
bool uroce_cq_add(struct uroce_cq *cq, struct uroce_qp *qp,
		  const struct univ_cqe *cqe, bool solicited);
void uroce_cq_notify(struct uroce_cq *cq);

/* qp.c: look-up, under RCU */
struct uroce_qp *uroce_qp_find(u32 num);
struct uroce_qp *uroce_qp_at(struct uroce_dev *dev, u32 num);
u64 uroce_rnr_ns(u8 timer);
u64 uroce_timeout_ns(u8 timeout);

/* local.c: sq.lock held; true when there is more to do at once */
bool uroce_local_step(struct uroce_qp *qp);

/*
 * The wire, req.c: begin is called by modify (may sleep) once the way to the
 * peer is known and is not local, and for datagrams; end by destroy and reset.
 * step runs the requester with sq.lock held; flush drops what it has in flight.
 */
int uroce_wire_begin(struct uroce_qp *qp);
void uroce_wire_end(struct uroce_qp *qp);
bool uroce_wire_step(struct uroce_qp *qp);
void uroce_wire_reset(struct uroce_qp *qp);

#endif
