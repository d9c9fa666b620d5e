/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What stands behind the objects that programs see: each public struct comes
 * first in its own, so that the pointer to one is the pointer to the other.
 *
 * Locks: that of a queue protects its ring's private words and whatever stands
 * beside it here; univ_context.table_lock the table of queue pairs and what they
 * hold for explanations. A completion that failed is explained under the lock of
 * its queue, so table_lock is the inner one. Resizing a completion queue takes
 * its arm_lock inside its lock. No other two are held together, but for those of
 * device.c, which says so.
 */
#ifndef UNIV_H
#define UNIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

#include "export.h"
#include "lock.h"
#include "reason.h"
#include "ring.h"
#include "univerbs.h"

#define univ_likely(x) __builtin_expect(!!(x), 1)
#define univ_unlikely(x) __builtin_expect(!!(x), 0)

#define univ_container(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define UNIV_PAGE_SIZE 4096
#define UNIV_QP_BUCKETS 64

struct univ_device {
	struct ibv_device ibv;
	/* Programs that link to a driver's library compare it with that driver's. */
	const void *driver;
	struct univ_device *next;	/* device.c: those that exist */
	unsigned int refs;		/* that list, lists given out, contexts */
	uint32_t index;
	__be64 guid;
	dev_t node;
};

struct univ_qp;

struct univ_context {
	struct verbs_context vctx;
	const struct univ_doorbell *doorbell;	/* NULL until the first queue */
	uint64_t doorbell_offset;
	uint32_t features;			/* enum univ_feature */
	struct univ_lock table_lock;
	struct univ_qp *qps[UNIV_QP_BUCKETS];	/* by number */
	struct univ_cq *channel_cqs;		/* those with a channel, under the mutex */
	pid_t pid;				/* watch.c: whose it is; 0: not watched */
};

struct univ_map {
	void *base;
	size_t length;
};

/* A former ring of a resized queue; its address stays readable (cq.c). */
struct univ_cq_past {
	struct univ_cq_past *next;
	struct univ_map map;
};

struct univ_cq {
	struct ibv_cq_ex ibv;
	univ_cq_cursor cursor;		/* written under @lock, read without */
	struct univ_ring_head *ring;	/* likewise */
	struct univ_lock lock;
	bool single_threaded;
	uint32_t head;
	uint32_t mask;
	/* Programs arm while they hold @lock by ibv_start_poll(3). */
	struct univ_lock arm_lock;
	uint32_t arm;			/* under @arm_lock */
	struct univ_cqe *slots;
	const struct univ_cqe *current;	/* between start_poll and end_poll */
	struct univ_map map;
	struct univ_cq_past *past;
	struct univ_cq *next;		/* univ_context.channel_cqs */
	uint32_t idle_since;		/* watch.c: 0 when not idle */
};

struct univ_srq {
	struct ibv_srq ibv;
	struct univ_lock lock;
	struct univ_ring ring;
	const struct univ_doorbell *doorbell;
	struct univ_map map;
	uint32_t number;		/* XRC; otherwise 0 */
};

struct univ_xrcd {
	struct ibv_xrcd ibv;
	uint32_t handle;
};

/* watch.c: datagrams that a port has dropped without a word */
struct univ_dropped {
	uint8_t port;			/* 0: nobody has looked */
	uint64_t qkey;
	uint64_t length;
};

/* A request under construction by ibv_wr_*(3); under the send lock. */
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
	uint32_t quick;			/* those that univ_post_send() is quick with */
	uint32_t send_states;		/* bits of states that take requests */
	const struct univ_doorbell *doorbell;
	struct univ_qp_build build;
	bool is_ex;
	bool sq_sig_all;

	struct univ_lock rq_lock __attribute__((aligned(64)));
	struct univ_ring rq;
	uint32_t recv_sge;		/* of rq; 0 if it takes no requests, as in RESET */
	struct univ_map map;
	struct ibv_qp_cap cap;

	/* For explanations; under univ_context.table_lock. */
	struct univ_qp *next;
	struct univ_qp **link;
	union ibv_gid peer_gid;
	uint32_t peer_qpn;
	bool has_peer;
	bool failed;			/* since the last reset */
	bool flush_told;
	bool no_timeout;		/* IBV_QP_TIMEOUT of 0: waits for ever */
	uint8_t failed_status;
	uint64_t failed_wr_id;
	struct univ_dropped dropped;	/* by the port when the queue pair got it */
};

static inline struct univ_device *to_udevice(struct ibv_device *device)
{
	return (struct univ_device *)device;
}

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

static inline struct univ_xrcd *to_uxrcd(struct ibv_xrcd *xrcd)
{
	return (struct univ_xrcd *)xrcd;
}

static inline struct univ_qp *to_uqp(struct ibv_qp *qp)
{
	return (struct univ_qp *)qp;
}

/* device.c */
void univ_device_get(struct univ_device *device);
void univ_device_put(struct univ_device *device);

/* context.c */
int univ_context_doorbell(struct univ_context *ctx);
int univ_map_ring(const char *verb, int fd, struct univ_map *map, uint64_t offset,
		  uint64_t length);
void univ_unmap_ring(struct univ_map *map);

/* ah.c */
void univ_ah_attr_from_ibv(struct univ_ah_attr *to, const struct ibv_ah_attr *from);
void univ_ah_attr_to_ibv(struct ibv_ah_attr *to, const struct univ_ah_attr *from);

/* event.c */
struct univ_acks {
	const char *verb;
	enum univ_object_type type;
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
};

void univ_wait_acks(const struct univ_acks *acks, const uint32_t *done, uint32_t told);

/* watch.c */
void univ_watch_context(struct univ_context *ctx);
int univ_watch_channel(struct ibv_comp_channel *channel);
void univ_watch_close(struct univ_context *ctx);
void univ_watch_fork(const char *verb, struct ibv_context *context);
void univ_watch_poll(struct univ_cq *cq, bool taken);
void univ_watch_port(struct univ_context *ctx, struct univ_qp *qp, uint8_t port);

/* cq.c, cq_ex.c */
struct univ_cq *univ_cq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
			       uint32_t flags);
int univ_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc);
int univ_req_notify_cq(struct ibv_cq *cq, int solicited_only);
void univ_cq_forget(struct ibv_cq *cq, uint32_t qp_num);
int univ_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int univ_cq_broken(struct univ_cq *cq);
struct ibv_cq_ex *univ_create_cq_ex(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr);

/* mw.c */
struct ibv_mw *univ_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int univ_dealloc_mw(struct ibv_mw *mw);
int univ_send_fill_bind(const char *verb, struct univ_send_wr *slot, const struct ibv_mw *mw,
			uint32_t rkey, const struct ibv_mw_bind_info *info);
int univ_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* xrcd.c, target.c */
struct ibv_xrcd *univ_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int univ_close_xrcd(struct ibv_xrcd *xrcd);
int univ_target_create(struct univ_qp *qp, const struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *univ_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/* qp.c, post.c, qp_ex.c */
struct univ_qp *univ_qp_alloc(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr);
void univ_qp_free(struct univ_qp *qp);
struct univ_qp *univ_qp_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *univ_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
void univ_qp_ex_init(struct univ_qp *qp, uint64_t ops);
int univ_qp_ex_check(const struct univ_context *ctx, enum ibv_qp_type type, uint64_t ops);
int univ_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int univ_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int univ_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
uint32_t univ_send_states(enum ibv_qp_type type);
uint32_t univ_qp_quick(const struct univ_qp *qp);
uint32_t univ_qp_opcodes(const struct univ_context *ctx, enum ibv_qp_type type);
bool univ_send_allowed(const struct univ_qp *qp);
int univ_send_refused(const char *verb, const struct univ_qp *qp);
int univ_send_impossible(const char *verb, int err, const struct univ_qp *qp, uint32_t opcode);
int univ_send_full(const char *verb, const struct univ_qp *qp, uint32_t tail);
int univ_send_kick(const char *verb, const struct univ_qp *qp);

/* srq.c */
struct ibv_srq *univ_create_srq_ex(struct ibv_context *context,
				   struct ibv_srq_init_attr_ex *attr);
int univ_get_srq_num(struct ibv_srq *srq, uint32_t *number);

/* peer.c */
void univ_peer_add(struct univ_context *ctx, struct univ_qp *qp);
void univ_peer_remove(struct univ_context *ctx, struct univ_qp *qp);
void univ_peer_set(struct univ_context *ctx, struct univ_qp *qp, const struct ibv_qp_attr *attr,
		   int mask);
uint64_t univ_peer_requests(struct univ_context *ctx, const struct univ_cq *cq);
void univ_peer_completion_failed(struct univ_context *ctx, const struct univ_cqe *cqe);

/* query.c */
int univ_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		    size_t length);
int univ_query_device_ex(struct ibv_context *context,
			 const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t size);
int univ_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* unsupported.c */
void univ_unsupported_ops(struct verbs_context *vctx);

#endif
