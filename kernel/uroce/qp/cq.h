/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues. */
#ifndef UROCE_CQ_H
#define UROCE_CQ_H

#include <linux/interrupt.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "queue.h"

struct uroce_qp;

/* Few: completions wait until a batch is full, and a queue pair has two. */
#define UROCE_BATCH 4

/**
 * struct uroce_batch - completions of one queue of a queue pair that are
 *	written together
 * @count: number of entries of @cqe in use
 * @flags: enum univ_complete_flags
 * @cqe: in the order in which the requests were executed
 *
 * Protected by the lock of the queue, whose holder writes them before it
 * releases the lock.
 */
struct uroce_batch {
	u32 count;
	u32 flags;
	struct univ_cqe cqe[UROCE_BATCH];
};

/*
 * The next completion of a batch that is not full. The caller fills it in and
 * increments @count. Clearing a constant number of bytes needs no loop; the
 * core adds the timestamps.
 */
static inline struct univ_cqe *uroce_batch_next(struct uroce_batch *batch)
{
	struct univ_cqe *cqe = &batch->cqe[batch->count];

	memset(cqe, 0, offsetof(struct univ_cqe, timestamp));
	cqe->flow_tag = 0;
	return cqe;
}

/*
 * A completion queue: a process's ring if @core is set, else the private ring
 * below.
 */
struct uroce_cq {
	struct ib_cq ib;
	struct univ_cq *core;		/* gets the completions, if set */
	bool timed;			/* each gets the time of its writing */

	spinlock_t lock;		/* protects the private ring */
	struct univ_cqe *cqes;
	struct ib_qp **qps;		/* queue pair of each slot */
	u32 size;			/* a power of two */
	u32 head;
	u32 tail;
	enum ib_cq_notify_flags armed;
	bool overrun;
	bool told;			/* of @overrun; @task */
	bool dead;			/* the handler is not called any more */
	struct tasklet_struct task;	/* calls the completion handler */
};

static inline struct uroce_cq *to_ucq(struct ib_cq *ib)
{
	return container_of(ib, struct uroce_cq, ib);
}

bool uroce_cq_add_private(struct uroce_cq *cq, struct uroce_qp *qp,
			  const struct uroce_batch *batch);

/*
 * Writes a batch, which is empty then. @flags: UNIV_COMPLETE_NOTIFY; or
 * UNIV_COMPLETE_LOOK or 0, if uroce_cq_notify() follows. Returns false if a
 * completion is lost.
 */
static inline bool uroce_cq_add(struct uroce_cq *cq, struct uroce_qp *qp,
				struct uroce_batch *batch, u32 flags)
{
	bool fits;

	if (likely(cq->core))
		fits = univ_queue_complete_all(cq->core, batch->cqe,
					       batch->count,
					       batch->flags | flags);
	else
		fits = uroce_cq_add_private(cq, qp, batch);
	batch->count = 0;
	batch->flags = 0;
	return fits;
}

/* Called after one or more completions. */
static inline void uroce_cq_notify(struct uroce_cq *cq)
{
	if (likely(cq->core))
		univ_queue_notify(cq->core);
}

int uroce_cq_private(struct uroce_cq *cq);
int uroce_cq_create(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		    struct univ_cq_attrs *attrs);
int uroce_cq_destroy(struct ib_cq *ib, struct ib_udata *udata);
int uroce_cq_poll(struct ib_cq *ib, int count, struct ib_wc *wc);
int uroce_cq_arm(struct ib_cq *ib, enum ib_cq_notify_flags flags);

#endif
