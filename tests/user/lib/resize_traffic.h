/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages from side 0 of a pair to side 1, while another thread changes the size of queues:
 * one thread posts the receives, and one sends and polls.
 */
#ifndef RESIZE_TRAFFIC_H
#define RESIZE_TRAFFIC_H

#include <pthread.h>
#include <sched.h>

#include "lasterror.h"
#include "post.h"

#define OUTSTANDING 24

struct traffic {
	struct pair p;
	uint32_t total;			/* messages */
	uint32_t got;			/* receives that have completed */
	bool failed;
	pthread_t poster, exchange;
};

static bool under_way(struct traffic *t)
{
	return __atomic_load_n(&t->got, __ATOMIC_ACQUIRE) < t->total &&
	       !__atomic_load_n(&t->failed, __ATOMIC_RELAXED);
}

static void *poster(void *arg)
{
	struct traffic *t = arg;
	uint32_t posted = 0;
	int err;

	while (posted < t->total && under_way(t)) {
		if (posted - __atomic_load_n(&t->got, __ATOMIC_ACQUIRE) >= OUTSTANDING) {
			sched_yield();
			continue;
		}
		err = post_recv_at(&t->p, 1, posted++, 8192, 64);
		if (err) {
			FAIL("receive %u: %s; %s", posted, err_name(err), why_text());
			__atomic_store_n(&t->failed, true, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

/* The receives complete in the order in which they were posted, none twice and none never. */
static void *exchange(void *arg)
{
	struct traffic *t = arg;
	uint32_t sent = 0, done = 0;
	struct ibv_wc wc;

	while (under_way(t)) {
		while (sent < t->total && sent - done < 16)
			CHECK_ERR(post_send_at(&t->p, 0, sent++, 0, 64, IBV_SEND_SIGNALED), 0);
		if (!WANT_WC(t->p.cq[1], &wc, IBV_WC_SUCCESS) ||
		    !CHECK(wc.wr_id == t->got, "receive %" PRIu64 " after %u", wc.wr_id, t->got) ||
		    !WANT_WC(t->p.cq[0], &wc, IBV_WC_SUCCESS)) {
			__atomic_store_n(&t->failed, true, __ATOMIC_RELAXED);
			break;
		}
		done++;
		__atomic_store_n(&t->got, t->got + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void traffic_start(struct traffic *t)
{
	pthread_create(&t->poster, NULL, poster, t);
	pthread_create(&t->exchange, NULL, exchange, t);
}

static void traffic_join(struct traffic *t)
{
	pthread_join(t->poster, NULL);
	pthread_join(t->exchange, NULL);
}

#endif
