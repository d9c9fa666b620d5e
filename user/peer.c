// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Whom each queue pair talks to, kept to name the peer when a completion
 * fails. Looked at only then, and when queue pairs are made or modified.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "univ.h"
#include "vocabulary.h"

static struct univ_qp **bucket(struct univ_context *ctx, uint32_t qp_num)
{
	return &ctx->qps[qp_num % UNIV_QP_BUCKETS];
}

void univ_peer_add(struct univ_context *ctx, struct univ_qp *qp)
{
	struct univ_qp **head = bucket(ctx, qp->ibv.qp_num);

	univ_lock(&ctx->table_lock);
	qp->next = *head;
	qp->link = head;
	if (*head)
		(*head)->link = &qp->next;
	*head = qp;
	univ_unlock(&ctx->table_lock);
}

void univ_peer_remove(struct univ_context *ctx, struct univ_qp *qp)
{
	univ_lock(&ctx->table_lock);
	*qp->link = qp->next;
	if (qp->next)
		qp->next->link = qp->link;
	univ_unlock(&ctx->table_lock);
}

void univ_peer_set(struct univ_context *ctx, struct univ_qp *qp, const struct ibv_qp_attr *attr,
		   int mask)
{
	univ_lock(&ctx->table_lock);
	if ((mask & IBV_QP_AV) && attr->ah_attr.is_global) {
		qp->peer_gid = attr->ah_attr.grh.dgid;
		qp->has_peer = true;
	}
	if (mask & IBV_QP_DEST_QPN)
		qp->peer_qpn = attr->dest_qp_num;
	if (mask & IBV_QP_TIMEOUT)
		qp->no_timeout = !attr->timeout;
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		qp->has_peer = false;
		qp->failed = false;
		qp->flush_told = false;
	}
	univ_unlock(&ctx->table_lock);
}

static struct univ_qp *find(struct univ_context *ctx, uint32_t qp_num)
{
	struct univ_qp *qp = *bucket(ctx, qp_num);

	while (qp && qp->ibv.qp_num != qp_num)
		qp = qp->next;
	return qp;
}

static void peer_name(char *text, size_t size, const struct univ_qp *qp)
{
	char gid[INET6_ADDRSTRLEN] = "";

	if (!qp->has_peer)
		return;
	inet_ntop(AF_INET6, qp->peer_gid.raw, gid, sizeof(gid));
	snprintf(text, size, "peer %s QP %u", gid, qp->peer_qpn);
}

/*
 * What flushes a queue is worth to be told: of the completions that follow the
 * first failure only one is printed, and it names that failure. A program that
 * put its queue pair in error itself knows.
 */
static bool flush_describe(struct univ_failure *failure, struct univ_qp *qp)
{
	bool quiet = qp->flush_told;

	qp->flush_told = true;
	if (qp->failed) {
		snprintf(failure->subject, sizeof(failure->subject),
			 "because request %llu failed before: %s",
			 (unsigned long long)qp->failed_wr_id,
			 univ_status_name(qp->failed_status));
	} else if (qp->ibv.state == IBV_QPS_ERR) {
		snprintf(failure->subject, sizeof(failure->subject),
			 "by ibv_modify_qp to state ERR");
		quiet = true;
	}
	return quiet;
}

static void failure_remember(struct univ_qp *qp, const struct univ_cqe *cqe)
{
	if (qp->failed)
		return;
	qp->failed = true;
	qp->failed_status = cqe->status;
	qp->failed_wr_id = cqe->wr_id;
}

static bool describe(struct univ_failure *failure, struct univ_qp *qp, const struct univ_cqe *cqe)
{
	if (cqe->status == IBV_WC_WR_FLUSH_ERR)
		return flush_describe(failure, qp);
	peer_name(failure->subject, sizeof(failure->subject), qp);
	failure_remember(qp, cqe);
	return false;
}

/* How many requests the queue pairs of @cq may have outstanding */
uint64_t univ_peer_requests(struct univ_context *ctx, const struct univ_cq *cq)
{
	const struct univ_qp *qp;
	uint64_t requests = 0;
	int i;

	univ_lock(&ctx->table_lock);
	for (i = 0; i < UNIV_QP_BUCKETS; i++)
		for (qp = ctx->qps[i]; qp; qp = qp->next) {
			if (qp->ibv.send_cq == univ_cq_ibv((struct univ_cq *)cq))
				requests += qp->cap.max_send_wr;
			if (qp->ibv.recv_cq == univ_cq_ibv((struct univ_cq *)cq))
				requests += qp->cap.max_recv_wr;
		}
	univ_unlock(&ctx->table_lock);
	return requests;
}

void univ_peer_completion_failed(struct univ_context *ctx, const struct univ_cqe *cqe)
{
	struct univ_failure failure = {
		.verb = UNIV_COMPLETION_VERB,
		.reason = cqe->reason,
		.detail = cqe->status,
		.value = cqe->wr_id,
		.bound = cqe->qp_num,
	};
	struct univ_qp *qp;
	bool quiet = false;

	univ_lock(&ctx->table_lock);
	qp = find(ctx, cqe->qp_num);
	if (qp)
		quiet = describe(&failure, qp, cqe);
	univ_unlock(&ctx->table_lock);
	univ_fail_completion(&failure, quiet);
}
