// SPDX-License-Identifier: GPL-2.0
/* Alternate paths of queue pairs. */
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "qp.h"

#define PATH_BITS (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE)

/* The RDMA core refuses alternate paths on RoCE, whatever a driver reports. */
bool univ_altpath_offered(const struct univ_device *dev)
{
	return dev->queue->qp_path ||
	       rdma_protocol_ib(dev->ib, rdma_start_port(dev->ib));
}

/*
 * Does the implementation of the queues get the alternate path, without the
 * RDMA core? See struct univ_queue_ops.
 */
bool univ_altpath_apart(const struct univ_qp *qp, u32 mask)
{
	return mask & PATH_BITS && qp->obj.ctx->dev->queue->qp_path;
}

/*
 * The highest state that a program may set. A queue pair is armed by its peer.
 * Other devices get every state, since the RDMA core refuses none.
 */
u32 univ_altpath_max_state(const struct univ_qp *qp)
{
	return qp->obj.ctx->dev->queue->qp_path ? IB_MIG_REARM : IB_MIG_ARMED;
}

static int load(struct univ_qp *qp, struct ib_qp_attr *attr, u32 mask,
		u32 *cause)
{
	struct rdma_ah_attr *ah = &attr->alt_ah_attr;
	const struct ib_gid_attr *gid = NULL;
	int ret;

	if (mask & IB_QP_ALT_PATH) {
		gid = rdma_get_gid_attr(qp->ib->device, ah->port_num,
					ah->grh.sgid_index);
		if (IS_ERR(gid))
			return PTR_ERR(gid);
		ah->grh.sgid_attr = gid;
	}
	ret = qp->obj.ctx->dev->queue->qp_path(qp->ib->real_qp, attr, mask,
					       cause);
	if (gid)
		rdma_put_gid_attr(gid);
	ah->grh.sgid_attr = NULL;
	return ret;
}

/*
 * Loads the path of a call that modifies a queue pair. If that fails later, the
 * path has to be forgotten by univ_altpath_cancel(). Context: qp->mutex is
 * held.
 */
int univ_altpath_load(struct univ_qp *qp, struct ib_qp_attr *attr, u32 mask,
		      struct univ_hdr *hdr)
{
	u32 cause = 0;
	int ret = load(qp, attr, mask & PATH_BITS, &cause);

	if (ret && cause)
		return univ_explain(hdr, ret, UNIV_REASON_PATH_MIG, cause, 0,
				    0);
	return ret ? univ_explain_driver(hdr, ret) : 0;
}

void univ_altpath_cancel(struct univ_qp *qp)
{
	qp->obj.ctx->dev->queue->qp_path(qp->ib->real_qp, NULL, 0, NULL);
}
