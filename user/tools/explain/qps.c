// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A table of queue pairs by number, with their peers and whether a request has failed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/explain/explain.h"
#include "why/why.h"

#define BUCKETS 256

struct known_qp {
	struct known_qp *next;
	const struct ibv_qp *qp;
	union ibv_gid peer_gid;
	uint32_t peer_qpn;
	bool has_peer;
	bool failed;			/* a request failed since the last reset */
	bool flush_told;
	enum ibv_wc_status failed_status;
	uint64_t failed_wr_id;
};

static struct known_qp *buckets[BUCKETS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct known_qp **find(const struct ibv_context *context, uint32_t qp_num)
{
	struct known_qp **link = &buckets[qp_num % BUCKETS];

	while (*link && ((*link)->qp->context != context || (*link)->qp->qp_num != qp_num))
		link = &(*link)->next;
	return link;
}

void qp_add(struct ibv_qp *qp)
{
	struct known_qp *known = calloc(1, sizeof(*known));

	if (!known)
		return;
	known->qp = qp;
	pthread_mutex_lock(&mutex);
	known->next = buckets[qp->qp_num % BUCKETS];
	buckets[qp->qp_num % BUCKETS] = known;
	pthread_mutex_unlock(&mutex);
}

void qp_remove(const struct ibv_qp *qp)
{
	struct known_qp **link, *known;

	pthread_mutex_lock(&mutex);
	link = find(qp->context, qp->qp_num);
	known = *link;
	if (known)
		*link = known->next;
	pthread_mutex_unlock(&mutex);
	free(known);
}

void qp_modified(const struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct known_qp *known;

	pthread_mutex_lock(&mutex);
	known = *find(qp->context, qp->qp_num);
	if (known) {
		if ((mask & IBV_QP_AV) && attr->ah_attr.is_global) {
			known->peer_gid = attr->ah_attr.grh.dgid;
			known->has_peer = true;
		}
		if (mask & IBV_QP_DEST_QPN)
			known->peer_qpn = attr->dest_qp_num;
		if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
			known->has_peer = known->failed = known->flush_told = false;
	}
	pthread_mutex_unlock(&mutex);
}

/*
 * Only one flushed request is explained, and none if the program moved the queue
 * pair to the error state itself.
 */
static void describe_flush(struct known_qp *known, struct univ_wc_failure *failure)
{
	failure->quiet = known->flush_told || !known->failed;
	failure->flush = UNIV_FLUSH_BY_FAILURE;
	failure->failed_wr_id = known->failed_wr_id;
	failure->failed_status = known->failed_status;
	known->flush_told = true;
}

static void describe(struct known_qp *known, const struct ibv_wc *wc,
		     struct univ_wc_failure *failure)
{
	if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		describe_flush(known, failure);
		return;
	}
	if (!known->failed) {
		known->failed = true;
		known->failed_status = wc->status;
		known->failed_wr_id = wc->wr_id;
	}
	if (known->has_peer)
		failure->peer_gid = &known->peer_gid;
	failure->peer_qpn = known->peer_qpn;
}

void completion_failed(const struct ibv_context *context, const struct ibv_wc *wc)
{
	struct univ_wc_failure failure = {
		.status = wc->status,
		.wr_id = wc->wr_id,
		.qp_num = wc->qp_num,
	};
	struct known_qp *known;

	pthread_mutex_lock(&mutex);
	known = *find(context, wc->qp_num);
	if (known)
		describe(known, wc, &failure);
	univ_fail_completion(&failure);
	pthread_mutex_unlock(&mutex);
	univ_fail_tell();
}
