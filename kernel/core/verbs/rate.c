// SPDX-License-Identifier: GPL-2.0
/* Limits of the rate of a queue pair: ibv_modify_qp_rate_limit(3). */
#include <rdma/ib_verbs.h>

#include "qp.h"

bool univ_rate_offered(const struct univ_qp *qp)
{
	const struct univ_queue_ops *queue = qp->obj.ctx->dev->queue;

	return queue->qp_rate && queue->rate_types & BIT(qp->ib->qp_type);
}

int univ_rate_check(const struct univ_qp *qp, u32 kbps, struct univ_hdr *hdr)
{
	u32 max = qp->obj.ctx->dev->queue->rate_max;

	if (kbps <= max)
		return 0;
	return univ_explain(hdr, -EINVAL, UNIV_REASON_ATTR_VALUE,
			    IB_QP_RATE_LIMIT, kbps, max);
}

/* Context: qp->mutex is held; the rate was checked. */
void univ_rate_set(struct univ_qp *qp, const struct univ_queue_rate *rate)
{
	qp->obj.ctx->dev->queue->qp_rate(qp->ib, rate);
}

/* As on other devices, a burst without a rate is an error. */
static int rate_modify(struct univ_qp *qp, struct univ_call *call, void *arg)
{
	struct univ_qp_rate *cmd = arg;
	struct univ_queue_rate rate = {
		.kbps = cmd->rate_limit,
		.burst = cmd->max_burst_sz,
		.packet = cmd->typical_pkt_sz,
	};
	int ret;

	if (!univ_rate_offered(qp))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (!rate.kbps && (rate.burst || rate.packet))
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_ZERO,
				    UNIV_LIMIT_RATE, 0, 0);
	ret = univ_rate_check(qp, rate.kbps, &cmd->hdr);
	if (!ret)
		univ_rate_set(qp, &rate);
	return ret;
}

int univ_qp_rate_ioctl(struct univ_call *call, void *arg)
{
	struct univ_qp_rate *cmd = arg;

	return univ_qp_call(call, cmd->handle, cmd, rate_modify);
}
