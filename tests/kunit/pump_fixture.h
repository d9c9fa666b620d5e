/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair over the mock device, with a completion queue of its own, and functions
 * that fill its rings as a process would.
 */
#ifndef PUMP_FIXTURE_H
#define PUMP_FIXTURE_H

#include "fixture.h"
#include "pump_queue.h"

#define WR 16

struct pump {
	struct fixture *f;
	struct mock *mock;
	u32 pd;
	struct univ_cq *cq;
	struct univ_qp *qp;
	u32 send_tail;
	u32 recv_tail;
	u32 cq_head;
};

struct pump *pump_new(struct kunit *test, enum ib_qp_type type, u32 cqe);
struct pump *pump_rc(struct kunit *test);

/* Fill the next slot: with a signaled RDMA write of 8 bytes, or a receive of 64 bytes. */
struct univ_send_wr *pump_send_next(struct pump *p, u64 id);
struct univ_recv_wr *pump_recv_next(struct pump *p, u64 id);

/* Publish and kick as a process does. */
void pump_send_publish(struct pump *p);
int pump_send_kick(struct pump *p);
int pump_recv_kick(struct pump *p);

/* The device completes the request that was its @nth send, or the receive @id. */
void pump_send_complete(struct pump *p, u32 nth, enum ib_wc_status status);
void pump_recv_complete(struct pump *p, u64 id, enum ib_wc_status status);

/* The device completes a request; the function returns when the pump has handled it. */
void pump_complete(struct univ_cq *cq, const struct ib_wc *wc);
void pump_settled(struct univ_cq *cq);

/* Start a thread on @cpu, or return an ERR_PTR(). pump_thread_stop() waits for its end. */
struct task_struct *pump_thread_on(int cpu, int (*fn)(void *), void *data);
void pump_thread_stop(struct task_struct *thread);

/* Return the next completion, or NULL. */
struct univ_cqe *pump_poll(struct pump *p);
void pump_expect_cqe(struct kunit *test, struct pump *p, u64 id, int status);
void pump_expect_no_cqe(struct kunit *test, struct pump *p);

#endif
