/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that destroys a completion queue as soon as the kernel lets it go, which is while
 * another thread destroys the last queue that it serves. In every other round the library of that
 * other thread goes on when the completion queue is destroyed; in the rest both go on at once.
 */
#ifndef CQ_ENDER_H
#define CQ_ENDER_H

#include "ioctl.h"
#include "testlib.h"
#include "univerbs.h"

struct cq_ender {
	struct ibv_cq *cq;
	pthread_t thread;
	bool runs;
	bool first;		/* it ends before the library goes on */
	bool tries;
};

static struct cq_ender cq_ender;

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
static void cq_ender_start(struct ibv_cq *cq, int round)
{
	cq_ender = (struct cq_ender) { .cq = cq, .first = round % 2 == 0 };
	NEED(!pthread_create(&cq_ender.thread, NULL, cq_ender_run, &cq_ender), "pthread_create");
	cq_ender.runs = true;
	while (!__atomic_load_n(&cq_ender.tries, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void cq_ender_join(void)
{
	if (cq_ender.runs)
		pthread_join(cq_ender.thread, NULL);
	cq_ender.runs = false;
}

/*
 * The kernel has destroyed a queue, and the library looks for its completions next. Without a wait,
 * the other thread is mostly late.
 */
static int library_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = kernel_ioctl(fd, request, arg);

	if (!ret && cq_ender.first && (request == UNIV_QP_DESTROY || request == UNIV_WQ_DESTROY))
		cq_ender_join();
	return ret;
}

#endif
