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

/*
 * A completion queue: a process's ring if @core is set, else the private ring
 * below.
 */
struct uroce_cq {
	struct ib_cq ib;
	struct univ_cq *core;		/* gets the completions, if set */

	spinlock_t lock;		/* protects the private ring */
	struct univ_cqe *cqes;
	struct ib_qp **qps;		/* queue pair of each slot */
	u32 size;			/* a power of two */
	u32 head;
	u32 tail;
	enum ib_cq_notify_flags armed;
	bool overrun;
	struct tasklet_struct task;	/* calls the completion handler */
};

static inline struct uroce_cq *to_ucq(struct ib_cq *ib)
{
	return container_of(ib, struct uroce_cq, ib);
}

bool uroce_cq_add_private(struct uroce_cq *cq, struct uroce_qp *qp,
			  const struct univ_cqe *cqe, bool solicited);

static inline bool uroce_cq_add(struct uroce_cq *cq, struct uroce_qp *qp,
				const struct univ_cqe *cqe, bool solicited)
{
	if (likely(cq->core))
		return univ_queue_complete(cq->core, cqe, solicited);
	return uroce_cq_add_private(cq, qp, cqe, solicited);
}

/*
 * The last completion of a batch: uroce_cq_add() and uroce_cq_notify() in one.
 */
static inline bool uroce_cq_add_last(struct uroce_cq *cq, struct uroce_qp *qp,
				     const struct univ_cqe *cqe, bool solicited)
{
	if (likely(cq->core))
		return univ_queue_complete_all(
			cq->core, cqe, 1,
			UNIV_COMPLETE_NOTIFY |
				(solicited ? UNIV_COMPLETE_SOLICITED : 0));
	return uroce_cq_add_private(cq, qp, cqe, solicited);
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
