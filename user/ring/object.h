/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The objects behind the pointers that programs hold. Each public struct is the first member of its
 * private struct, so a cast converts one pointer to the other.
 *
 * Locks: the lock of a queue protects the private words of its ring and the
 * members that stand beside it here. univ_context.table_lock protects the table
 * of queue pairs and the members of a queue pair that explanations need. A
 * failed completion is explained under the lock of its queue, so table_lock is
 * the inner lock. Resizing a completion queue takes arm_lock inside its lock.
 * Resizing and destroying a queue pair take rq_lock inside sq_lock, and resizing
 * takes the lock of the arenas inside both. No other two locks are held together, except the two of
 * device/device.c, which states their order.
 */
#ifndef UNIV_RING_OBJECT_H
#define UNIV_RING_OBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

#include "base/base.h"
#include "ring/shared.h"
#include "sys/sys.h"

#define UNIV_QP_BUCKETS 64

struct univ_qp;
struct univ_cq;

/*
 * How the lower rooms call the room watch, which is above them. A context has
 * these operations only if failures are printed (UNIVERBS_EXPLAIN).
 */
struct univ_watch_ops {
	/* A verb of the data path was called; warns if a child of fork() called it. */
	void (*call)(const char *verb, struct ibv_context *context);
	/* The queue was polled; @taken tells whether a completion was there. */
	void (*polled)(struct univ_cq *cq, bool taken);
	/* ibv_modify_qp(3) gave the queue pair its port. */
	void (*port_set)(struct univ_qp *qp, uint8_t port);
	/*
	 * The caller is about to block in read(2) for an event. Negative, with errno,
	 * when a signal has ended the wait.
	 */
	int (*event_wait)(struct ibv_comp_channel *channel);
};

/*
 * The functions that post. There are two sets: one tells the device by the kick that requests
 * were published, the other by a store to a register of the device. A context gets one of the
 * sets when it is opened, so that no function has to test for it.
 */
struct univ_post_ops {
	int (*send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int (*recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	int (*srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	int (*bind)(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
	int (*complete)(struct ibv_qp_ex *ex);
};

/* The doorbell register of a ring, and the value that is stored there. */
struct univ_bell_at {
	volatile uint32_t *reg;
	uint32_t value;
};

struct univ_context {
	struct verbs_context vctx;
	const struct univ_doorbell *doorbell;	/* NULL until the first queue */
	uint64_t doorbell_offset;
	uint32_t features;			/* enum univ_feature */
	bool imported;				/* by ibv_import_device(3) */
	bool gives_way;				/* see univ_polled_nothing() */
	struct univ_lock table_lock;
	struct univ_qp *qps[UNIV_QP_BUCKETS];	/* by number */
	struct univ_cq *channel_cqs;		/* queues with a channel, under vctx's mutex */
	const struct univ_watch_ops *watch;	/* NULL if failures are not printed */
	pid_t pid;				/* watch: the process that watches, or 0 */
	const struct univ_post_ops *post;
	uint64_t bell_offset;			/* 0 if there is no bell page */
	void *bells;				/* NULL until the first queue */
	struct univ_arenas arenas;		/* rings of queue pairs */
};

struct univ_cq_past;

struct univ_cq {
	struct ibv_cq_ex ibv;
	univ_cq_cursor cursor;		/* written under @lock, read without */
	struct univ_ring_head *ring;	/* likewise */
	struct univ_lock lock;
	bool single_threaded;
	uint32_t head;			/* as @cursor */
	uint32_t mask;
	/* Programs arm the queue while ibv_start_poll(3) holds @lock for them. */
	struct univ_lock arm_lock;
	uint32_t arm;			/* written under @arm_lock; watch.c reads it without */
	uint32_t told;			/* @head when the program read an event; under @arm_lock */
	uint32_t moved;			/* index behind those that were moved, as @cursor */
	struct univ_cqe *slots;
	const struct univ_cqe *current;	/* between start_poll and end_poll */
	struct univ_map map;
	struct univ_cq_past *past;	/* rings from before ibv_resize_cq(3) */
	struct univ_cq *next;		/* univ_context.channel_cqs */
	struct ibv_pd *pd;		/* the parent domain, or NULL */
	uint32_t refs;			/* the program's, and one of each queue that it serves */
	uint32_t idle_since;		/* watch: 0 when the queue is not idle */
};

struct univ_srq {
	struct ibv_srq ibv;
	struct univ_lock lock;
	struct univ_ring ring;
	const struct univ_doorbell *doorbell;
	struct univ_map map;
	uint32_t number;		/* XRC; otherwise 0 */
	struct univ_bell_at bell;
};

struct univ_wq {
	struct ibv_wq ibv;
	struct univ_lock lock;
	struct univ_ring ring;
	const struct univ_doorbell *doorbell;
	struct univ_map map;
};

/* watch: how many datagrams a port has dropped. */
struct univ_dropped {
	uint8_t port;			/* 0: the counters have not been read */
	uint64_t qkey;
	uint64_t length;
};

/* A request that ibv_wr_*(3) are building; under the send lock. */
struct univ_qp_build {
	struct univ_send_wr *slot;	/* NULL before the first */
	uint32_t tail;
	int err;
};

struct univ_qp {
	union {
		struct ibv_qp ibv;
		struct ibv_qp_ex ex;
	};
	struct univ_lock sq_lock;
	struct univ_ring sq;
	uint32_t max_inline;
	uint32_t opcodes;		/* bits of enum univ_wr_opcode */
	uint32_t quick;			/* the opcodes that send_quick() writes */
	uint32_t send_flags;		/* enum univ_wr_flags that requests may have */
	uint32_t send_states;		/* bits of the states in which requests are taken */
	uint32_t sq_first;		/* the first request that @sq has held */
	const struct univ_doorbell *doorbell;
	struct univ_qp_build build;
	bool is_ex;
	bool sq_sig_all;
	uint16_t max_tso;		/* bytes of a TSO header; 0: no such requests */

	struct univ_lock rq_lock __attribute__((aligned(64)));
	struct univ_ring rq;
	uint32_t takes_recv;		/* 0: recv_quick() must not be tried, as in RESET */
	struct univ_map map;
	struct ibv_qp_cap cap;
	/*
	 * The completion queues that the kernel keeps as long as the queue pair is there, or NULL.
	 * A program may destroy any other that the creation named. Each has a reference.
	 */
	struct ibv_cq *kept_cq[2];

	/* Up to @dropped: for explanations; under univ_context.table_lock. */
	struct univ_qp *next;
	struct univ_qp **link;
	union ibv_gid peer_gid;
	uint32_t peer_qpn;
	bool has_peer;
	bool failed;			/* a request has failed since the last reset */
	bool flush_told;
	bool no_timeout;		/* IBV_QP_TIMEOUT is 0: a lost peer is never noticed */
	uint8_t failed_status;
	uint64_t failed_wr_id;
	struct univ_dropped dropped;	/* by the port before the queue pair used it */

	struct univ_bell_at sq_bell;
	struct univ_bell_at rq_bell;
};

static inline struct univ_context *to_ucontext(struct ibv_context *context)
{
	return univ_container(context, struct univ_context, vctx.context);
}

static inline struct univ_cq *to_ucq(struct ibv_cq *cq)
{
	return (struct univ_cq *)cq;
}

static inline struct ibv_cq *univ_cq_ibv(struct univ_cq *cq)
{
	return (struct ibv_cq *)cq;
}

static inline struct univ_srq *to_usrq(struct ibv_srq *srq)
{
	return (struct univ_srq *)srq;
}

static inline struct univ_wq *to_uwq(struct ibv_wq *wq)
{
	return (struct univ_wq *)wq;
}

static inline struct univ_qp *to_uqp(struct ibv_qp *qp)
{
	return (struct univ_qp *)qp;
}

static inline struct univ_arenas *univ_qp_arenas(struct univ_qp *qp)
{
	return &to_ucontext(qp->ibv.context)->arenas;
}

/* Programs see our objects through the public structs. */
_Static_assert(offsetof(struct univ_context, vctx) == 0, "context");
_Static_assert(offsetof(struct univ_qp, ibv) == 0, "qp");
_Static_assert(offsetof(struct univ_cq, ibv) == 0, "cq");

#endif
