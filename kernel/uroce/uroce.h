/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A software RoCEv2 HCA: its structures.
 *
 *	link.c move.c verbs.c	`rdma link add`, the device; ib_device_ops
 *	qp.c cq.c mem.c xrc.c	objects: control path
 *	queue.c			who runs a send queue; requests out of rings,
 *				completions into them
 *	local.c			queue pairs of one host: one copy, no packet
 *	datagram.c		datagrams, to queue pairs of this host and by packets
 *	mirror.h		what that would be in packets, for tcpdump
 *	conn.h			queue pairs of two hosts: packets
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
 *	uroce_mw.lock		a memory window, for as long as a copy goes through
 *	uroce_dev.bound_lock	which windows a queue pair has bound
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
#include <linux/rhashtable.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "fault.h"
#include "mem.h"
#include "mirror.h"
#include "net.h"
#include "queue.h"
#include "trace.h"
#include "stats.h"
#include "wire.h"

#define UROCE_MAX_SGE		32
#define UROCE_MAX_INLINE	1024
#define UROCE_MAX_WR		16384
#define UROCE_MAX_CQE		(1 << 20)
#define UROCE_MAX_RD_ATOMIC	128
#define UROCE_PKEY		0xffff

struct uroce_mw;
struct uroce_wire;

/**
 * struct uroce_dev - a device
 * @ib: first
 * @link: in the list of devices, under RCU
 * @id: never used again by another device; 0 is no device
 * @netdev: what packets leave by; for as long as the device is registered
 * @net: namespace that we have joined, NULL once @netdev left it
 * @gone: it has left, or is about to. Whoever finds this clear in an RCU section may
 *	use dev_net(@netdev) to its end. Set under groups_lock.
 * @gsi: queue pair 1, under RCU
 * @mrs_lock: changing @mrs and @table
 * @mrs: which indices of regions and windows are taken
 * @table: regions
 * @mws: memory windows by index, under RCU
 * @bound_lock: uroce_qp.windows
 * @groups_lock: changing @groups and @group_count, and what @netdev listens to
 * @groups: members of multicast groups, under RCU
 * @group_count: groups that have a member
 * @counters: by enum uroce_counter, but for
 * @qkey_violations: in one place, since every query of the port reports them
 * @faults: on request
 * @mirror: taps of @netdev are shown what goes without packets
 */
struct uroce_dev {
	struct ib_device ib;
	struct list_head link;
	u64 id;
	struct net_device *netdev;
	struct net *net;
	bool gone;
	struct uroce_qp __rcu *gsi;
	struct mutex mrs_lock;
	struct xarray mrs;
	struct uroce_mr_table __rcu *table;
	struct xarray mws;
	spinlock_t bound_lock;
	struct mutex groups_lock;
	struct rhltable groups;
	u32 group_count;
	u64 __percpu *counters;
	atomic_t qkey_violations;
	struct uroce_faults faults;
	bool mirror;
};

/* Nothing leaves: the port is held down, or the netdev is in another namespace */
static inline bool uroce_is_silent(struct uroce_dev *dev)
{
	return unlikely(READ_ONCE(dev->gone)) || uroce_port_is_down(dev);
}

/**
 * struct uroce_seg - a piece of memory that requests name
 * @mr: held; NULL for an address in the kernel
 * @mw: of a peer's requests alone: the window that leads there, held; or NULL
 * @base: @mr: bytes from its start; otherwise a kernel address
 * @len: bytes
 */
struct uroce_seg {
	struct uroce_mr *mr;
	struct uroce_mw *mw;
	u64 base;
	u32 len;
};

/**
 * struct uroce_vec - memory as one run of bytes
 * @seg: pieces
 * @count: of them
 * @len: bytes in all
 *
 * Holding memory keeps its owner from deregistering it, so a vec is made for one
 * copy and put after it, under one lock; what waits for a peer or a timer keeps
 * the scatter list alone.
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
 * @head: requests taken so far; a slot is given back when it was copied
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
	void *memory;			/* private ring */
};

struct uroce_srq {
	struct ib_srq ib;
	struct uroce_recvq rq;
	u32 max_wr;
	u32 limit;			/* under rq.lock; 0 is off */
};

/**
 * struct uroce_xrcd - an XRC domain
 * @srqs: its shared receive queues by number, under RCU and see xrc.c
 * @lock: @targets; taken before a uroce_resp.lock
 * @targets: of uroce_qp.target
 */
struct uroce_xrcd {
	struct ib_xrcd ib;
	struct xarray srqs;
	struct mutex lock;
	struct list_head targets;
};

/**
 * struct uroce_av - the way to a peer
 * @flow: addresses; what packets are sent with
 * @peer: uroce_dev.id when the address is a uroce device's of this namespace or
 *	of one that policy.c allows, 0 for one that packets lead to
 */
struct uroce_av {
	struct uroce_flow flow;
	u64 peer;
};

struct uroce_ah {
	struct ib_ah ib;
	struct rdma_ah_attr attr;
	struct uroce_av av;
	u32 index;			/* what a private slot says */
};

/**
 * struct uroce_wqe - the private copy of the request at the head of a send
 *	queue
 * @wr: as in the ring; @wr.count is checked
 * @sge: its scatter list, copied; room for uroce_sendq.max_sge
 * @data: inline data, in the slot; NULL for a scatter list
 * @len: bytes
 * @vec: its memory, between uroce_send_map() and uroce_vec_put()
 * @av: datagrams: where to; a copy, without a route of its own
 * @done: bytes that are through
 * @placed: all of them, and only a key of the peer's is to be taken back
 * @loaded: the copy is there
 */
struct uroce_wqe {
	struct univ_send_wr wr;
	struct univ_sge *sge;
	void *data;
	u32 len;
	struct uroce_vec vec;
	struct uroce_av av;
	u32 done;
	bool placed;
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
 * @peer: the last uroce_qp_peer(), and
 * @peer_seen: uroce_qp_ends of then; another says to look again
 * @word: a receive was posted that the peer's responder waited for; written by
 *	whoever posted it, cleared under the peer's uroce_resp.lock
 * @tried: the request at the head was not done at once
 * @waits: how often it has waited for a shared receive queue, or for packets to
 *	leave, up to a limit
 * @opcodes: a bit for each that the queue pair may send
 * @untold: uroce_cq_notify() is due
 * @draining: in SQD, with requests that have begun
 * @tell_drained: an event at the end of that
 * @shown_psn: sequence number of the next packet that a mirror shows, and
 * @shown_msn: of the next message
 * @task: what others found out under locks, and the timer
 * @rest: goes on with a queue after the turns of whoever ran it
 * @tail: of a private ring, under @post
 */
struct uroce_sendq {
	spinlock_t lock;
	bool again;
	bool dead;
	struct univ_ring ring;
	u32 head;
	struct uroce_wqe wqe;
	struct uroce_qp *peer;
	u64 peer_seen;
	u32 opcodes;
	enum uroce_wait wait;
	bool due;			/* the timer has been */
	bool word;
	bool tried;
	u8 waits;
	u8 rnr_left;
	u8 retry_left;
	u32 max_sge;
	u32 max_inline;
	bool sig_all;
	bool untold;
	bool draining;
	bool tell_drained;
	bool attached;
	bool datagrams;
	u32 shown_psn;
	u32 shown_msn;
	struct hrtimer timer;
	struct tasklet_struct task;
	union {
		struct work_struct rest;
		struct rcu_head rcu;	/* of the queue pair, which nothing runs in */
	};
	spinlock_t post;
	u32 tail;
	void *memory;			/* private ring */
};

/**
 * struct uroce_recv - the receive request that a message is being put in
 * @srq: what it was taken from; NULL for the own queue
 * @pd: what its memory belongs to
 * @cq: where it completes. These three change for an XRC target alone, which takes
 *	from any queue of its domain, and are NULL before it did.
 * @wr_id: its name
 * @sge: its scatter list, copied
 * @count: of it
 * @len: bytes of room
 * @vec: its memory, between uroce_recv_map() and uroce_vec_put()
 * @done: bytes that are in
 * @taken: there is one
 * @surplus: its list is longer than the queue takes
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

/**
 * struct uroce_resp - the responder
 * @lock: everything here, the own receive queue, and uroce_qp.state
 * @srq: XRC target: what the request under way is for
 * @pd: what the peer's keys belong to; NULL for nothing
 * @wanted: the peer, on this host, waits for a receive request
 * @heard: a message has come in RTR, and the owner was told
 */
struct uroce_resp {
	spinlock_t lock;
	bool dead;
	bool wanted;
	bool heard;
	struct uroce_srq *srq;
	struct ib_pd *pd;
	struct uroce_recv recv;
};

struct uroce_qp {
	struct ib_qp *ib;
	struct uroce_dev *dev;
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq;
	struct uroce_srq *srq;		/* NULL for none */
	struct uroce_xrcd *xrcd;	/* of an XRC target */
	struct list_head target;	/* in it */
	struct univ_qp *core;		/* attached */
	u32 num;
	enum ib_qp_type type;

	/* Written with both locks but to ERR, which takes the responder's */
	enum ib_qp_state state;
	bool lost;			/* a completion found no room */
	unsigned long events;		/* to be raised by the task */
	/* Written by modify with both locks; its cap never changes */
	struct ib_qp_attr attr;
	struct uroce_av av;
	u32 mtu;

	struct uroce_sendq sq;
	struct uroce_recvq rq;
	struct uroce_resp resp;

	struct list_head windows;	/* of type 2, bound by it */

	/* req.c, resp.c, comp.c: NULL until the queue pair needs packets */
	struct uroce_wire *wire;
};

/* The queue pair as the core of RDMA has it */
struct uroce_ibqp {
	struct ib_qp ib;
	struct uroce_qp *qp;
};

/* A window likewise: requests may still look at what is behind it */
struct uroce_ibmw {
	struct ib_mw ib;
	struct uroce_mw *mw;
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

static inline struct uroce_xrcd *to_uxrcd(struct ib_xrcd *ib)
{
	return container_of(ib, struct uroce_xrcd, ib);
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

/* stats.c */
const char *uroce_counter_name(enum uroce_counter what);

static inline void uroce_count_many(struct uroce_dev *dev,
				    enum uroce_counter what, u32 n)
{
	this_cpu_add(dev->counters[what], n);
}

/*
 * The peer's rights. A queue pair whose max_dest_rd_atomic is 0 refuses reads and atomics
 * and takes writes, as mlx5 does.
 */
static inline u32 uroce_qp_access(const struct uroce_qp *qp)
{
	u32 access = qp->attr.qp_access_flags;

	if (!qp->attr.max_dest_rd_atomic)
		access &= ~(u32)(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC);
	return access;
}

/* What is acknowledged; a target's peer is an initiator */
static inline bool uroce_qp_is_reliable(const struct uroce_qp *qp)
{
	return qp->type == IB_QPT_RC || qp->type == IB_QPT_XRC_INI ||
	       qp->type == IB_QPT_XRC_TGT;
}

static inline bool uroce_qp_is_connected(const struct uroce_qp *qp)
{
	return uroce_qp_is_reliable(qp) || qp->type == IB_QPT_UC;
}

/* Requests of its peer are executed and answered. Context: resp.lock */
static inline bool uroce_qp_listens(const struct uroce_qp *qp)
{
	return !qp->resp.dead && qp->state >= IB_QPS_RTR && qp->state <= IB_QPS_SQE;
}

/* The upper bits of the opcodes that its packets have */
static inline u8 uroce_service(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_UC:
		return UROCE_UC;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return UROCE_XRC;
	default:
		return UROCE_RC;
	}
}

/* Its requests need no connection of packets */
static inline bool uroce_qp_is_local(const struct uroce_qp *qp)
{
	return qp->av.peer || qp->sq.datagrams;
}

static inline void uroce_count(struct uroce_dev *dev, enum uroce_counter what)
{
	uroce_count_many(dev, what, 1);
}

/* For what is worth a line in a trace */
static inline void uroce_note(struct uroce_qp *qp, enum uroce_counter what)
{
	uroce_count(qp->dev, what);
	trace_uroce_transport(&qp->dev->ib, qp->num, uroce_counter_name(what));
}

/*
 * mem.c: what needs bottom halves off is what RCU protects too: they keep a grace
 * period from ending.
 */
u16 uroce_mr_why(const struct ib_pd *pd, u32 key, u64 addr, u32 len,
		 u32 access);
struct uroce_mr *uroce_mr_get(struct ib_pd *pd, u32 key, u64 addr, u32 len,
			      u32 access);
int uroce_key_alloc(struct uroce_dev *dev, void *owner, u32 *key);
void uroce_key_free(struct uroce_dev *dev, u32 key);
void uroce_mr_exit(struct uroce_dev *dev);
void uroce_mr_copy(const struct uroce_mr *to, u64 to_off,
		   const struct uroce_mr *from, u64 from_off, u32 len);
void uroce_mr_write(const struct uroce_mr *mr, u64 off, const void *from,
		    u32 len);
void uroce_vec_put(struct uroce_vec *vec);
void uroce_vec_copy(const struct uroce_vec *dst, u32 dst_off,
		    const struct uroce_vec *src, u32 src_off, u32 len);
void uroce_vec_read(const struct uroce_vec *vec, u32 off, void *to, u32 len);
void uroce_vec_write(const struct uroce_vec *vec, u32 off, const void *from,
		     u32 len);
bool uroce_vec_attach(const struct uroce_vec *vec, u32 off, u32 len,
		      struct sk_buff *skb);
bool uroce_atomic(const struct uroce_seg *seg, u8 opcode, u64 compare_add,
		  u64 swap, u64 *orig);
bool uroce_atomic_write(const struct uroce_seg *seg, u64 value);

/* One piece of memory, as uroce_mr_get(). False, and nothing is held, if it may not. */
static inline bool uroce_seg_get(struct uroce_seg *seg, struct ib_pd *pd,
				 u32 key, u64 addr, u32 len, u32 access)
{
	seg->mr = uroce_mr_get(pd, key, addr, len, access);
	if (unlikely(!seg->mr))
		return false;
	seg->base = addr - seg->mr->iova;
	seg->len = len;
	return true;
}

/*
 * mw.c. Those with a queue pair run with its sq.lock (bind, and invalidate by its
 * own request) or with bottom halves off.
 */
enum ib_wc_status uroce_mw_bind(struct uroce_qp *qp,
				const struct univ_send_wr *wr, u16 *reason);
int uroce_invalidate(struct uroce_qp *qp, u32 key);
bool uroce_mw_get(struct uroce_qp *qp, struct uroce_seg *seg, u32 key, u64 addr,
		  u32 len, u32 access);
void uroce_mw_put(struct uroce_mw *mw);
void uroce_mw_qp_gone(struct uroce_qp *qp);
int uroce_mw_alloc(struct ib_mw *ib, struct ib_udata *udata);
int uroce_mw_dealloc(struct ib_mw *ib);

/*
 * What a peer of @qp names, by the key of a region or of a window: the one check
 * of both paths. False, and nothing is held, if it may not.
 */
static inline bool uroce_remote_get(struct uroce_qp *qp, struct uroce_seg *seg,
				    u32 key, u64 addr, u32 len, u32 access)
{
	seg->mw = NULL;
	if (likely(uroce_seg_get(seg, qp->resp.pd, key, addr, len, access)))
		return true;
	return uroce_mw_get(qp, seg, key, addr, len, access);
}

static inline void uroce_remote_put(const struct uroce_seg *seg)
{
	if (unlikely(seg->mw))
		uroce_mw_put(seg->mw);
	else
		uroce_mr_put(seg->mr);
}

/*
 * queue.c: requests and completions, for local.c and the wire alike.
 *
 * Send side, uroce_sendq.lock held: uroce_send_load() makes the private copy of
 * the request at an index (and says in @reason what is wrong with it, if that
 * is known), uroce_send_map() finds its memory, with the access given;
 * uroce_send_done() completes the request at sq.head and steps over it, with an
 * error puts the queue pair in ERR. uroce_send_run() goes on with a send queue, for
 * those who hold no lock; uroce_send_later() does so soon and from anywhere.
 *
 * Receive side, uroce_resp.lock held: uroce_recv_take() takes the next request
 * into resp.recv: IB_WC_SUCCESS, IB_WC_RNR_RETRY_EXC_ERR when there is none, or
 * what is wrong with it. uroce_recv_take_for() leaves a request that is shorter
 * than a message in the queue and returns IB_WC_LOC_LEN_ERR; it is for datagrams.
 * uroce_recv_map() finds the memory of its first bytes, as many as the caller is
 * about to reach, of those that there are. uroce_recv_done()
 * completes it with the status and what the caller has filled in of @cqe.
 */
#define UROCE_WR_REG_MR 0x40

enum ib_wc_status uroce_send_load(struct uroce_qp *qp, u32 index,
				  struct uroce_wqe *wqe, u16 *reason);
enum ib_wc_status uroce_send_map(struct uroce_qp *qp, struct uroce_wqe *wqe,
				 u32 access);
void uroce_send_done(struct uroce_qp *qp, struct uroce_wqe *wqe,
		     enum ib_wc_status status, u16 reason);
void uroce_send_complete(struct uroce_qp *qp, const struct uroce_wqe *wqe,
			 bool last);
void uroce_send_run(struct uroce_qp *qp);
void uroce_send_kick(struct uroce_qp *qp);
u32 uroce_send_tail(struct uroce_qp *qp);
bool uroce_send_unflushed(const struct uroce_qp *qp, u32 tail);
void uroce_send_flush(struct uroce_qp *qp, u32 tail);
void uroce_send_later(struct uroce_qp *qp);
void uroce_send_wait(struct uroce_qp *qp, enum uroce_wait what, u64 ns);

/*
 * The slot is given back before its completion is seen, or a program that keeps
 * the queue full would find no room.
 */
static inline void uroce_send_retire(struct uroce_sendq *sq,
				     struct uroce_wqe *wqe)
{
	lockdep_assert_held(&sq->lock);
	wqe->loaded = false;
	sq->head++;
	univ_ring_retire(&sq->ring, sq->head);
}

/*
 * The request at the head was done. If it is the @last of those that there are the
 * process is told at once. Context: sq.lock, maybe a resp.lock.
 */
static inline void uroce_send_success(struct uroce_qp *qp,
				      struct uroce_wqe *wqe, bool last)
{
	struct uroce_sendq *sq = &qp->sq;

	uroce_send_retire(sq, wqe);
	if (sq->sig_all || wqe->wr.flags & UNIV_WR_SIGNALED)
		uroce_send_complete(qp, wqe, last);
}

enum ib_wc_status uroce_recv_take_for(struct uroce_qp *qp, u32 least);
static inline enum ib_wc_status uroce_recv_take(struct uroce_qp *qp)
{
	return uroce_recv_take_for(qp, 0);
}

enum ib_wc_status uroce_recv_map(struct uroce_qp *qp, u32 len);
void uroce_recv_done(struct uroce_qp *qp, struct univ_cqe *cqe,
		     enum ib_wc_status status, bool solicited);
void uroce_recv_flush(struct uroce_qp *qp);
void uroce_recv_posted(struct uroce_qp *qp);

/*
 * The kind of header in front of a datagram (enum rdma_network_type). Programs look
 * for it where mlx5 reports it, in the lower bits of the service level: 1 is IPv6, 2
 * is IPv4. Users in the kernel have a field for it, see cqe_to_wc().
 */
static inline void uroce_tell_network(const struct uroce_qp *qp,
				      struct univ_cqe *cqe, u8 network)
{
	if (qp->core)
		cqe->sl = network == RDMA_NETWORK_IPV4 ? 2 : 1;
	else
		cqe->reserved = network;
}

/* resp.lock held: to ERR; the task raises @event (0 for none) and flushes */
void uroce_qp_fail(struct uroce_qp *qp, u32 event);

int uroce_queue_start(void);
void uroce_queue_stop(void);
int uroce_queue_init(struct uroce_qp *qp);
void uroce_queue_free(struct uroce_qp *qp);
int uroce_queue_private(struct uroce_qp *qp);
void uroce_queue_reset(struct uroce_qp *qp);
int uroce_recvq_private(struct uroce_recvq *rq, u32 max_wr);
int uroce_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad);
int uroce_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad);
int uroce_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);

/* xrc.c */
int uroce_xrcd_alloc(struct ib_xrcd *ib, struct ib_udata *udata);
int uroce_xrcd_dealloc(struct ib_xrcd *ib, struct ib_udata *udata);
int uroce_xrc_srq_add(struct uroce_srq *srq);
void uroce_xrc_srq_remove(struct uroce_srq *srq);
void uroce_target_add(struct uroce_qp *qp);
void uroce_target_remove(struct uroce_qp *qp);
bool uroce_target_aim(struct uroce_qp *qp, u32 srqn);
struct uroce_srq *uroce_target_take(struct uroce_qp *qp);
void uroce_xrc_exit(void);

/* sqstate.c */
void uroce_send_failed(struct uroce_qp *qp, u16 reason);
bool uroce_send_drain(struct uroce_qp *qp);

/* attach.c */
extern const struct univ_queue_ops uroce_queue_ops;

/* stats.c */
struct rdma_hw_stats *uroce_stats_alloc(struct ib_device *ib, u32 port);
int uroce_stats_get(struct ib_device *ib, struct rdma_hw_stats *stats, u32 port,
		    int index);

/* cq.c */
bool uroce_cq_add_private(struct uroce_cq *cq, struct uroce_qp *qp,
			  const struct univ_cqe *cqe, bool solicited);

static inline bool uroce_cq_add(struct uroce_cq *cq, struct uroce_qp *qp,
				const struct univ_cqe *cqe, bool solicited)
{
	if (likely(cq->core))
		return univ_queue_complete(cq->core, cqe, solicited);
	return uroce_cq_add_private(cq, qp, cqe, solicited);
}

/* As both that and uroce_cq_notify() */
static inline bool uroce_cq_add_last(struct uroce_cq *cq, struct uroce_qp *qp,
				     const struct univ_cqe *cqe, bool solicited)
{
	if (likely(cq->core))
		return univ_queue_complete_last(cq->core, cqe, solicited);
	return uroce_cq_add_private(cq, qp, cqe, solicited);
}

/* After one or more completions */
static inline void uroce_cq_notify(struct uroce_cq *cq)
{
	if (likely(cq->core))
		univ_queue_notify(cq->core);
}

/* After sends were completed. Context: sq.lock */
static inline void uroce_send_notify(struct uroce_qp *qp)
{
	if (likely(!qp->sq.untold))
		return;
	qp->sq.untold = false;
	uroce_cq_notify(qp->send_cq);
}

/* After receives were completed. An XRC target that took none has nobody to tell. */
static inline void uroce_recv_notify(struct uroce_qp *qp)
{
	if (likely(qp->resp.recv.cq))
		uroce_cq_notify(qp->resp.recv.cq);
}

int uroce_cq_private(struct uroce_cq *cq);
int uroce_cq_create(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		    struct univ_cq_attrs *attrs);
int uroce_cq_destroy(struct ib_cq *ib, struct ib_udata *udata);
int uroce_cq_poll(struct ib_cq *ib, int count, struct ib_wc *wc);
int uroce_cq_arm(struct ib_cq *ib, enum ib_cq_notify_flags flags);

/* mem.c, control path */
struct ib_mr *uroce_mr_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			   int access, UNIV_DMAH_ARG struct ib_udata *udata);
struct ib_mr *uroce_mr_rereg(struct ib_mr *ib, int flags, u64 start, u64 length,
			     u64 iova, int access, struct ib_pd *pd,
			     struct ib_udata *udata);
struct ib_mr *uroce_mr_dma(struct ib_pd *pd, int access);
struct ib_mr *uroce_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max);
int uroce_mr_map(struct ib_mr *ib, struct scatterlist *sgl, int n,
		 unsigned int *offset);
int uroce_mr_dereg(struct ib_mr *ib, struct ib_udata *udata);
int uroce_mr_fast(struct uroce_qp *qp, struct ib_mr *ib, u32 key, u32 access);
int uroce_mr_invalidate(struct ib_pd *pd, u32 key);

/* qp.c: look-up, under RCU; of the connected peer, with sq.lock */
struct uroce_qp *uroce_qp_find(u64 dev_id, u32 num);
void uroce_qp_leave_net(const struct uroce_dev *dev);
struct uroce_qp *uroce_qp_peer_again(struct uroce_qp *qp, u64 now);
/* How many queue pairs have gone; 64 bits, which no uptime makes come round */
extern atomic64_t uroce_qp_ends;

/*
 * The queue pair that this one is connected to, if it is of this host. What was
 * found is right until any queue pair ends, and its memory stays for as long as
 * bottom halves are off, since RCU waits for that too.
 */
static inline struct uroce_qp *uroce_qp_peer(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;
	/* Acquire: pairs with the barrier in number_free() */
	u64 now = atomic64_read_acquire(&uroce_qp_ends);

	lockdep_assert_held(&sq->lock);
	if (likely(sq->peer && sq->peer_seen == now))
		return sq->peer;
	return uroce_qp_peer_again(qp, now);
}

u64 uroce_rnr_ns(u8 timer);
u64 uroce_timeout_ns(u8 timeout);
int uroce_qp_create(struct ib_qp *ib, struct ib_qp_init_attr *init,
		    struct ib_udata *udata);
int uroce_qp_modify(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int uroce_qp_query(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int uroce_qp_destroy(struct ib_qp *ib, struct ib_udata *udata);
void uroce_qp_exit(void);

/* ah.c */
int uroce_av_init(struct uroce_dev *dev, struct uroce_av *av,
		  const struct rdma_ah_attr *attr);
int uroce_ah_create(struct ib_ah *ib, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata);
int uroce_ah_destroy(struct ib_ah *ib, u32 flags);
int uroce_ah_query(struct ib_ah *ib, struct rdma_ah_attr *attr);
bool uroce_ah_copy(u32 index, struct uroce_av *av);

/* mcast.c */
#define UROCE_MCAST_QPN 0xffffff
#define UROCE_MAX_GROUPS 8192
/* As hardware has it, since each datagram to a group is copied so often */
#define UROCE_MAX_MEMBERS 240
int uroce_mcast_init(struct uroce_dev *dev);
void uroce_mcast_exit(struct uroce_dev *dev);
int uroce_mcast_attach(struct ib_qp *ib, union ib_gid *gid, u16 lid);
int uroce_mcast_detach(struct ib_qp *ib, union ib_gid *gid, u16 lid);
void uroce_mcast_leave(struct uroce_dev *dev);
u32 uroce_mcast_each(struct uroce_dev *dev, const union ib_gid *gid,
		     void (*each)(struct uroce_qp *qp, void *arg), void *arg);

/* link.c: the device of a namespace that has this address, or NULL; RCU */
struct uroce_dev *uroce_dev_by_gid(struct net *net, const union ib_gid *gid);
/* That of a namespace that the one given reaches without packets; RCU */
struct uroce_dev *uroce_dev_across(struct net *net, const union ib_gid *gid);
extern struct list_head uroce_devices;	/* by @link, under RCU, ever greater @id */
struct uroce_dev *uroce_dev_by_id(u64 id);
int uroce_dev_new(const char *name, struct net_device *netdev);
void uroce_port_event(struct uroce_dev *dev);
int uroce_dev_enable(struct ib_device *ib);
void uroce_dev_dealloc(struct ib_device *ib);

/* move.c: devices that go with their netdev to another namespace */
bool uroce_move(struct uroce_dev *dev);
int uroce_move_init(void);
void uroce_move_end(void);
void uroce_move_exit(void);

/* policy.c: which namespaces talk without packets; RCU */
bool uroce_policy_across(const struct net *a, const struct net *b);
int uroce_policy_init(void);
void uroce_policy_exit(void);

/* verbs.c */
extern const struct ib_device_ops uroce_dev_ops;
bool uroce_port_up(struct uroce_dev *dev);

/* local.c: sq.lock held; true when there is more to do at once */
bool uroce_local_step(struct uroce_qp *qp, u32 tail);

/*
 * The wire, req.c: begin is called by modify (may sleep) once the way to the
 * peer is known and is not local, and for datagrams; end by destroy and reset.
 * step runs the requester with sq.lock held; flush drops what it has in flight.
 */
int uroce_wire_begin(struct uroce_qp *qp);
void uroce_wire_end(struct uroce_qp *qp);
void uroce_wire_lose_way(struct uroce_qp *qp);
bool uroce_wire_step(struct uroce_qp *qp, u32 tail);
void uroce_wire_flush(struct uroce_qp *qp);
void uroce_wire_changed(struct uroce_qp *qp, bool way);
int uroce_wire_remember(struct uroce_qp *qp);
bool uroce_wire_idle(struct uroce_qp *qp);
void uroce_wire_again(struct uroce_qp *qp);
void uroce_wire_psns(const struct uroce_qp *qp, struct ib_qp_attr *attr);
/* Sends a mapped datagram to @wqe->av, which may take a route in its flow */
void uroce_wire_datagram(struct uroce_qp *qp, struct uroce_wqe *wqe);
struct sk_buff *uroce_datagram_build(struct uroce_qp *qp,
				     const struct uroce_wqe *wqe);
void uroce_wire_reset(struct uroce_qp *qp);

#endif
