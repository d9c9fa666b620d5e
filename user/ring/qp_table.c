// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The queue pairs of a context, and the data of each that explanations need: its peer, and its
 * first failure. The table is looked at only when a completion fails, and changed when a queue pair
 * is created, modified or destroyed.
 */
#include "ring/post.h"
#include "why/why.h"

static struct univ_qp **bucket(struct univ_context *ctx, uint32_t qp_num)
{
	return &ctx->qps[qp_num % UNIV_QP_BUCKETS];
}

void univ_qp_table_add(struct univ_context *ctx, struct univ_qp *qp)
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

void univ_qp_table_remove(struct univ_context *ctx, struct univ_qp *qp)
{
	univ_lock(&ctx->table_lock);
	*qp->link = qp->next;
	if (qp->next)
		qp->next->link = qp->link;
	univ_unlock(&ctx->table_lock);
}

/* ibv_modify_qp(3) has succeeded. */
void univ_qp_table_modified(struct univ_context *ctx, struct univ_qp *qp,
			    const struct ibv_qp_attr *attr, int mask)
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

/* The number of requests that the queue pairs of @cq may have outstanding. */
uint64_t univ_qp_table_requests(struct univ_context *ctx, const struct univ_cq *cq)
{
	const struct ibv_cq *ibv = (const struct ibv_cq *)cq;
	const struct univ_qp *qp;
	uint64_t requests = 0;
	int i;

	univ_lock(&ctx->table_lock);
	for (i = 0; i < UNIV_QP_BUCKETS; i++)
		for (qp = ctx->qps[i]; qp; qp = qp->next) {
			if (qp->ibv.send_cq == ibv)
				requests += qp->cap.max_send_wr;
			if (qp->ibv.recv_cq == ibv)
				requests += qp->cap.max_recv_wr;
		}
	univ_unlock(&ctx->table_lock);
	return requests;
}

/*
 * After a failure only the first completion that flushes the queue is printed, and it names the
 * failure. If the program itself moved its queue pair to the error state, none is printed.
 */
static void flush_describe(struct univ_wc_failure *failure, struct univ_qp *qp)
{
	failure->quiet = qp->flush_told;
	qp->flush_told = true;
	if (qp->failed) {
		failure->flush = UNIV_FLUSH_BY_FAILURE;
		failure->failed_wr_id = qp->failed_wr_id;
		failure->failed_status = qp->failed_status;
	} else if (qp->ibv.state == IBV_QPS_ERR) {
		failure->flush = UNIV_FLUSH_BY_MODIFY;
		failure->quiet = true;
	}
}

static void failure_remember(struct univ_qp *qp, const struct univ_cqe *cqe)
{
	if (qp->failed)
		return;
	qp->failed = true;
	qp->failed_status = cqe->status;
	qp->failed_wr_id = cqe->wr_id;
}

static void describe(struct univ_wc_failure *failure, struct univ_qp *qp,
		     const struct univ_cqe *cqe)
{
	if (cqe->status == IBV_WC_WR_FLUSH_ERR) {
		flush_describe(failure, qp);
		return;
	}
	failure->peer_gid = qp->has_peer ? &qp->peer_gid : NULL;
	failure->peer_qpn = qp->peer_qpn;
	failure_remember(qp, cqe);
}

void univ_completion_failed(struct univ_context *ctx, const struct univ_cqe *cqe)
{
	struct univ_wc_failure failure = {
		.reason = cqe->reason,
		.status = cqe->status,
		.wr_id = cqe->wr_id,
		.qp_num = cqe->qp_num,
	};
	union ibv_gid peer;
	struct univ_qp *qp;

	univ_lock(&ctx->table_lock);
	qp = find(ctx, cqe->qp_num);
	if (qp)
		describe(&failure, qp, cqe);
	/* The queue pair may go when the lock is released. */
	if (failure.peer_gid) {
		peer = *failure.peer_gid;
		failure.peer_gid = &peer;
	}
	univ_unlock(&ctx->table_lock);
	univ_fail_completion(&failure);
}
