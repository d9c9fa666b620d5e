// SPDX-License-Identifier: GPL-2.0
/* Queue pairs that get rings of another size: ibv_modify_qp(3), IBV_QP_CAP. */
#include <linux/log2.h>
#include <rdma/ib_verbs.h>

#include "qp.h"

bool univ_qp_resize_offered(const struct univ_device *dev)
{
	return dev->queue->qp_resize;
}

static int refuse(struct univ_hdr *hdr, enum univ_qp_size_cause cause,
		  u64 value, u64 bound)
{
	int err = cause == UNIV_QP_SIZE_BUSY ? -EBUSY : -EINVAL;

	return univ_explain(hdr, err, UNIV_REASON_QP_SIZE, cause, value, bound);
}

/*
 * A process whose struct has no room for the new rings would go on posting to
 * the former ones. Programs get EINVAL from the stock stack, which offers this
 * on no device.
 */
static int check_offered(const struct univ_qp *qp, const struct univ_call *call,
			 struct univ_qp_modify *cmd)
{
	if (!univ_qp_resize_offered(qp->obj.ctx->dev) || !qp->region ||
	    call->size < offsetofend(struct univ_qp_modify, rq))
		return refuse(&cmd->hdr, UNIV_QP_SIZE_DEVICE, 0, 0);
	return 0;
}

/* In an error state requests are being flushed. */
static int check_state(const struct univ_qp *qp, struct univ_qp_modify *cmd)
{
	const struct univ_qp_attr *attr = &cmd->attr;
	u32 others = attr->attr_mask & ~(IB_QP_CAP | IB_QP_CUR_STATE);

	if (others)
		return refuse(&cmd->hdr, UNIV_QP_SIZE_ALONE, others, 0);
	if (attr->attr_mask & IB_QP_CUR_STATE &&
	    attr->cur_qp_state != qp->state)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_CUR_STATE,
				    0, attr->cur_qp_state, qp->state);
	if (qp->state > IB_QPS_SQD)
		return refuse(&cmd->hdr, UNIV_QP_SIZE_STATE, qp->state, 0);
	return 0;
}

/* The slots of the new rings are as long as those of the former ones. */
static int check_sizes(const struct univ_qp *qp, struct univ_qp_modify *cmd)
{
	u32 max_wr = qp->ib->device->attrs.max_qp_wr;

	if (cmd->max_send_wr > max_wr)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_SEND_WR,
					  cmd->max_send_wr, max_wr);
	if (cmd->max_recv_wr > max_wr)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_RECV_WR,
					  cmd->max_recv_wr, max_wr);
	return 0;
}

/* A queue pair without a ring, as with a shared receive queue, gets none. */
static u32 slots(const struct univ_ring *ring, u32 max_wr)
{
	return ring->count && max_wr ? roundup_pow_of_two(max_wr) : ring->count;
}

static struct univ_region *make_rings(struct univ_qp *qp,
				      struct univ_qp_modify *cmd,
				      struct univ_queue_rings *rings)
{
	const struct univ_queue_rings *old = &qp->rings;
	struct univ_region *region;
	size_t size;

	size = univ_ring_place(&cmd->sq, 0, slots(&old->send, cmd->max_send_wr),
			       old->send.stride);
	size = univ_ring_place(&cmd->rq, size,
			       slots(&old->recv, cmd->max_recv_wr),
			       old->recv.stride);
	region = univ_region_create_shared(qp->obj.ctx, size, &cmd->hdr);
	if (IS_ERR(region))
		return region;
	*rings = *old;
	univ_region_ring(region, &rings->send, &cmd->sq);
	univ_region_ring(region, &rings->recv, &cmd->rq);
	/* A poller clears the flag when it looks at the new ring. */
	univ_ring_set_flags(&rings->send, UNIV_RING_NEED_KICK);
	return region;
}

static void fill_reply(const struct univ_qp *qp,
		       const struct univ_region *region,
		       struct univ_qp_modify *cmd)
{
	u32 max_wr = qp->ib->device->attrs.max_qp_wr;

	cmd->max_send_wr = min(cmd->sq.slots, max_wr);
	cmd->max_recv_wr = min(cmd->rq.slots, max_wr);
	cmd->map_offset = univ_region_offset(region);
	cmd->map_length = univ_region_length(region);
	univ_region_shift(region, &cmd->sq);
	univ_region_shift(region, &cmd->rq);
}

static int switch_rings(struct univ_qp *qp, struct univ_qp_modify *cmd,
			const struct univ_queue_rings *rings)
{
	const struct univ_queue_ops *queue = qp->obj.ctx->dev->queue;
	struct univ_queue_posted posted = {};
	int ret = queue->qp_resize(qp->ib, rings, &posted);

	if (posted.send > rings->send.count)
		return refuse(&cmd->hdr, UNIV_QP_SIZE_SEND_SHRINK,
			      rings->send.count, posted.send);
	if (posted.recv > rings->recv.count)
		return refuse(&cmd->hdr, UNIV_QP_SIZE_RECV_SHRINK,
			      rings->recv.count, posted.recv);
	if (ret == -EBUSY)
		return refuse(&cmd->hdr, UNIV_QP_SIZE_BUSY, 0, 0);
	return ret ? univ_explain_driver(&cmd->hdr, ret) : 0;
}

/*
 * The poller looks at the ring of univ_qp.rings without the mutex, so it leaves
 * the queue pair meanwhile.
 */
static int resize(struct univ_qp *qp, struct univ_qp_modify *cmd,
		  const struct univ_queue_rings *rings,
		  struct univ_region *region)
{
	int ret;

	univ_poller_remove(&qp->watch);
	ret = switch_rings(qp, cmd, rings);
	if (!ret) {
		swap(qp->region, region);
		qp->rings = *rings;
		qp->cap.max_send_wr = cmd->max_send_wr;
		qp->cap.max_recv_wr = cmd->max_recv_wr;
	}
	univ_queue_watch_again(qp);
	univ_region_destroy(qp->obj.ctx, region);
	return ret;
}

/*
 * The process knows the new rings before the kernel takes requests from them,
 * so that the call cannot fail when it must use them.
 */
int univ_qp_resize(struct univ_qp *qp, struct univ_call *call,
		   struct univ_qp_modify *cmd)
{
	struct univ_queue_rings rings;
	struct univ_region *region;
	int ret;

	lockdep_assert_held(&qp->mutex);
	ret = check_offered(qp, call, cmd);
	if (!ret)
		ret = check_state(qp, cmd);
	if (!ret)
		ret = check_sizes(qp, cmd);
	if (ret)
		return ret;
	region = make_rings(qp, cmd, &rings);
	if (IS_ERR(region))
		return PTR_ERR(region);
	fill_reply(qp, region, cmd);
	ret = univ_call_reply(call);
	if (!ret)
		return resize(qp, cmd, &rings, region);
	univ_region_destroy(qp->obj.ctx, region);
	return ret;
}
