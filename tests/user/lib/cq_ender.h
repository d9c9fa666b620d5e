/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that destroys a completion queue as soon as the kernel lets it go, which is while
 * another thread destroys the last queue that it serves.
 */
#ifndef CQ_ENDER_H
#define CQ_ENDER_H

#include "testlib.h"

struct cq_ender {
	struct ibv_cq *cq;
	pthread_t thread;
	bool tries;
};

static void *cq_ender_run(void *arg)
{
	struct cq_ender *e = arg;
	int err;

	do {
		err = ibv_destroy_cq(e->cq);
		__atomic_store_n(&e->tries, true, __ATOMIC_RELEASE);
	} while (err == EBUSY);
	CHECK_ERR(err, 0);
	return NULL;
}

/* Returns when the queue has been found in use once. */
static MAYBE_UNUSED void cq_ender_start(struct cq_ender *e, struct ibv_cq *cq)
{
	*e = (struct cq_ender) { .cq = cq };
	NEED(!pthread_create(&e->thread, NULL, cq_ender_run, e), "pthread_create");
	while (!__atomic_load_n(&e->tries, __ATOMIC_ACQUIRE))
		sched_yield();
}

static MAYBE_UNUSED void cq_ender_join(struct cq_ender *e)
{
	pthread_join(e->thread, NULL);
}

#endif
