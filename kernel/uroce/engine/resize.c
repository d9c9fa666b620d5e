// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs of processes that get rings of another size. Requests that were
 * not taken move to the new rings, where they keep their indices. A send
 * request that is being executed may use the memory of its slot, so there must
 * be none.
 */
#include <linux/sched/signal.h>

#include "../path/path.h"
#include "engine.h"

/* Requests that are copied before other threads may run. */
#define MOVE_STEP	1024
/* The last ones, which are copied under the locks of the queue pair. */
#define MOVE_LAST	64
/* Steps for requests that are posted meanwhile. */
#define MOVE_SPARE	16

/**
 * struct move - the requests of one ring on their way to another
 * @from: the former ring
 * @to: the new one; without slots if there is none
 * @head: the first request that was not taken
 * @tail: the number of published ones
 * @done: the first request that was not copied
 */
struct move {
	const struct univ_ring *from;
	const struct univ_ring *to;
	u32 head;
	u32 tail;
	u32 done;
};

struct resize {
	struct uroce_qp *qp;
	struct move send;
	struct move recv;
	struct uroce_fit fit;
};

static void copy(struct move *m, u32 count)
{
	for (; count; count--, m->done++)
		memcpy(univ_ring_slot(m->to, m->done),
		       univ_ring_slot(m->from, m->done), m->to->stride);
}

static u32 rest(const struct move *m)
{
	return m->tail - m->done;
}

/*
 * Looks at a ring. Messages take requests meanwhile, so @done may have to catch
 * up. Returns the number of posted requests if they do not fit. A process that
 * writes a wrong tail finds wrong requests in the new ring, or too many.
 */
static u32 look(struct move *m, u32 head)
{
	if (!m->to->count)
		return 0;
	m->head = head;
	m->tail = univ_ring_published(m->from);
	if (m->tail - head > min(m->to->count, m->from->count))
		return m->tail - head;
	if ((s32)(head - m->done) > 0)
		m->done = head;
	if ((s32)(m->tail - m->done) < 0)
		m->done = m->tail;
	return 0;
}

/*
 * Copies the rest and goes on in the new ring. A ring without slots has a place
 * in the new memory, too, since the former one is freed. Context: both locks.
 */
static void go_on(struct move *m, struct univ_ring *ring, u32 flags)
{
	struct univ_ring to = *m->to;

	if (to.count) {
		copy(m, rest(m));
		WRITE_ONCE(to.head->user.index, m->tail);
		univ_ring_retire(&to, m->head);
		univ_ring_set_flags(&to, flags);
	}
	*ring = to;
}

static bool sends_nothing(struct uroce_qp *qp)
{
	return !qp->sq.wqe.loaded && uroce_remote_idle(qp);
}

/* Context: both locks. Returns 1 if there is more to copy. */
static int step(struct resize *r, struct univ_queue_posted *posted)
{
	struct uroce_qp *qp = r->qp;

	/* The queue pair may have failed since the core looked at its state. */
	if (qp->state > IB_QPS_SQD)
		return -EINVAL;
	posted->send = look(&r->send, qp->sq.head);
	posted->recv = look(&r->recv, qp->rq.head);
	if (posted->send || posted->recv)
		return -EINVAL;
	if (!sends_nothing(qp))
		return -EBUSY;
	if (rest(&r->send) > MOVE_LAST || rest(&r->recv) > MOVE_LAST)
		return 1;
	/* The core sets the flags of send rings. */
	go_on(&r->send, &qp->sq.ring, r->send.to->flags);
	go_on(&r->recv, &qp->rq.ring, qp->rq.ring.flags);
	uroce_remote_refit(qp, &r->fit);
	qp->attr.cap.max_send_wr = min_t(u32, qp->sq.ring.count, UROCE_MAX_WR);
	qp->attr.cap.max_recv_wr = min_t(u32, qp->rq.ring.count, UROCE_MAX_WR);
	return 0;
}

static int locked_step(struct resize *r, struct univ_queue_posted *posted)
{
	struct uroce_qp *qp = r->qp;
	int ret;

	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	ret = step(r, posted);
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	/* A kick that found sq.lock taken has set sq.again and returned. */
	uroce_send_run(qp);
	return ret;
}

/*
 * The number of steps is limited, since a process could post and take requests
 * fast enough to keep its call in the kernel.
 */
static int move(struct resize *r, struct univ_queue_posted *posted)
{
	u32 count = max(r->qp->sq.ring.count, r->qp->rq.ring.count);
	u32 steps = 2 * count / MOVE_STEP + MOVE_SPARE;
	int ret;

	while (steps--) {
		ret = locked_step(r, posted);
		if (ret <= 0)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		copy(&r->send, min(rest(&r->send), (u32)MOVE_STEP));
		copy(&r->recv, min(rest(&r->recv), (u32)MOVE_STEP));
		cond_resched();
	}
	return -EBUSY;
}

int uroce_qp_resize(struct ib_qp *ib, const struct univ_queue_rings *rings,
		    struct univ_queue_posted *posted)
{
	struct uroce_qp *qp = to_uqp(ib);
	struct univ_ring send = qp->sq.ring, recv = qp->rq.ring;
	struct resize r = {
		.qp = qp,
		.send = { &send, &rings->send, .done = READ_ONCE(qp->sq.head) },
		.recv = { &recv, &rings->recv, .done = READ_ONCE(qp->rq.head) },
	};
	int ret;

	ret = uroce_fault_verb(qp->dev, UROCE_VERB_MODIFY_QP);
	if (!ret)
		ret = uroce_remote_fit(qp, rings->send.count, &r.fit);
	if (!ret)
		ret = move(&r, posted);
	uroce_fit_free(&r.fit);
	return ret;
}
