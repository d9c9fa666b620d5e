// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: ibv_create_qp(3). */
#include <linux/capability.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "qp.h"

/* Keeps a slot within a page. */
#define UNIV_MAX_INLINE 4032

/* More than the longest Ethernet, IP and TCP headers have. */
#define UNIV_MAX_TSO_HEADER 512

static int qp_check_type(struct univ_context *ctx, struct univ_qp_create *cmd)
{
	switch (cmd->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		return 0;
	case IB_QPT_SMI:
	case IB_QPT_GSI:
		return univ_explain(&cmd->hdr, -EPERM, UNIV_REASON_QP_TYPE, 0,
				    cmd->qp_type, 0);
	case IB_QPT_RAW_PACKET:
		if (!capable(CAP_NET_RAW))
			return univ_explain(&cmd->hdr, -EPERM,
					    UNIV_REASON_PERMISSION, 0,
					    CAP_NET_RAW, 0);
		if (univ_raw_offered(ctx->dev))
			return 0;
		break;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		if (univ_xrc_offered(ctx->dev))
			return 0;
		break;
	default:
		break;
	}
	return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_QP_TYPE, 0,
			    cmd->qp_type, 0);
}

static int qp_check_caps(struct univ_context *ctx, struct univ_qp_create *cmd)
{
	const struct ib_device_attr *attr = &ctx->dev->ib->attrs;
	const struct {
		enum univ_limit limit;
		u32 value;
		u32 max;
	} caps[] = {
		{ UNIV_LIMIT_SEND_WR, cmd->max_send_wr, attr->max_qp_wr },
		{ UNIV_LIMIT_RECV_WR, cmd->max_recv_wr, attr->max_qp_wr },
		{ UNIV_LIMIT_SEND_SGE, cmd->max_send_sge,
		  min_t(u32, attr->max_send_sge, UNIV_MAX_SGE) },
		{ UNIV_LIMIT_RECV_SGE, cmd->max_recv_sge,
		  min_t(u32, attr->max_recv_sge, UNIV_MAX_SGE) },
		{ UNIV_LIMIT_INLINE, cmd->max_inline, UNIV_MAX_INLINE },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(caps); i++)
		if (caps[i].value > caps[i].max)
			return univ_explain_limit(&cmd->hdr, caps[i].limit,
						  caps[i].value, caps[i].max);
	return 0;
}

/* Segmentation is for raw packets, on devices that offer it. */
static int qp_check_tso(struct univ_context *ctx, struct univ_qp_create *cmd)
{
	bool offered = cmd->qp_type == IB_QPT_RAW_PACKET &&
		       univ_tso_offered(ctx->dev);
	u32 max = offered ? UNIV_MAX_TSO_HEADER : 0;

	if (cmd->max_tso_header <= max)
		return 0;
	return univ_explain(&cmd->hdr, offered ? -EINVAL : -EOPNOTSUPP,
			    UNIV_REASON_LIMIT, UNIV_LIMIT_TSO_HEADER,
			    cmd->max_tso_header, max);
}

static u32 qp_raw_flags(const struct ib_device_attr *attr)
{
	u32 flags = UNIV_QP_CVLAN_STRIPPING;

	if (attr->raw_packet_caps & IB_RAW_PACKET_CAP_SCATTER_FCS)
		flags |= UNIV_QP_SCATTER_FCS;
	if (attr->device_cap_flags & IB_DEVICE_PCI_WRITE_END_PADDING)
		flags |= UNIV_QP_PCI_WRITE_END_PADDING;
	return flags;
}

static u32 qp_flags(struct univ_context *ctx, const struct univ_qp_create *cmd)
{
	const struct ib_device_attr *attr = &ctx->dev->ib->attrs;
	u32 flags = attr->kernel_cap_flags & IBK_BLOCK_MULTICAST_LOOPBACK ?
			    UNIV_QP_BLOCK_SELF_MCAST : 0;

	if (cmd->qp_type == IB_QPT_UD &&
	    univ_queue_can(ctx->dev, UNIV_QUEUE_SOURCE_QPN))
		return flags | UNIV_QP_SOURCE_QPN;
	if (cmd->qp_type == IB_QPT_UD)
		return flags;
	return cmd->qp_type == IB_QPT_RAW_PACKET && !cmd->table &&
	       univ_raw_offered(ctx->dev) ? flags | qp_raw_flags(attr) : 0;
}

static int qp_check(struct univ_context *ctx, struct univ_qp_create *cmd)
{
	u32 flags = qp_flags(ctx, cmd);
	int ret;

	if (cmd->create_flags & ~flags)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    0, cmd->create_flags, flags);
	/* A peer could take the sender for another one. */
	if (cmd->create_flags & UNIV_QP_SOURCE_QPN && !capable(CAP_NET_RAW))
		return univ_explain(&cmd->hdr, -EPERM, UNIV_REASON_PERMISSION,
				    0, CAP_NET_RAW, 0);
	if (cmd->sq_sig_all > 1)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    0, cmd->sq_sig_all, 1);
	ret = qp_check_type(ctx, cmd);
	if (!ret && cmd->table)
		ret = univ_rss_check(ctx, cmd);
	if (!ret)
		ret = qp_check_tso(ctx, cmd);
	return ret ? ret : qp_check_caps(ctx, cmd);
}

/*
 * A shared receive queue of XRC has a protection domain and a completion queue.
 */
static struct univ_srq *qp_get_srq(struct univ_context *ctx,
				   struct univ_qp_create *cmd)
{
	struct univ_srq *srq = univ_srq_get(ctx, cmd->srq, &cmd->hdr);

	if (IS_ERR(srq) || !srq->xrcd)
		return srq;
	univ_object_put(&srq->obj);
	return ERR_PTR(univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_SRQ_OF_XRC,
				    0, cmd->srq, 0));
}

/* The objects that a queue pair is built on. */
struct qp_parents {
	struct univ_pd *pd;
	struct univ_cq *send_cq;
	struct univ_cq *recv_cq;
	struct univ_srq *srq;
	struct univ_table *table;
};

/*
 * The work queues of the table complete the receives, so the queue pair has a
 * completion queue only if it can send.
 */
static int qp_get_table_parents(struct qp_parents *on, struct univ_context *ctx,
				struct univ_qp_create *cmd)
{
	int ret;

	on->pd = univ_pd_get(ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(on->pd))
		return PTR_ERR(on->pd);
	on->table = univ_table_get(ctx, cmd->table, &cmd->hdr);
	if (IS_ERR(on->table)) {
		ret = PTR_ERR(on->table);
		goto put_pd;
	}
	ret = univ_rss_check_table(on->table, cmd);
	if (ret)
		goto put_table;
	if (!cmd->max_send_wr)
		return 0;
	on->send_cq = univ_cq_get(ctx, cmd->send_cq, &cmd->hdr);
	if (!IS_ERR(on->send_cq))
		return 0;
	ret = PTR_ERR(on->send_cq);
put_table:
	univ_object_put(&on->table->obj);
put_pd:
	univ_object_put(&on->pd->obj);
	return ret;
}

/* Finds the objects that the queue pair is built on. Each is held. */
static int qp_get_parents(struct qp_parents *on, struct univ_context *ctx,
			  struct univ_qp_create *cmd)
{
	int ret;

	if (cmd->table)
		return qp_get_table_parents(on, ctx, cmd);
	on->pd = univ_pd_get(ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(on->pd))
		return PTR_ERR(on->pd);
	on->send_cq = univ_cq_get(ctx, cmd->send_cq, &cmd->hdr);
	if (IS_ERR(on->send_cq)) {
		ret = PTR_ERR(on->send_cq);
		goto put_pd;
	}
	on->recv_cq = univ_cq_get(ctx, cmd->recv_cq, &cmd->hdr);
	if (IS_ERR(on->recv_cq)) {
		ret = PTR_ERR(on->recv_cq);
		goto put_send_cq;
	}
	if (!cmd->srq)
		return 0;
	on->srq = qp_get_srq(ctx, cmd);
	if (!IS_ERR(on->srq))
		return 0;
	ret = PTR_ERR(on->srq);
	univ_object_put(&on->recv_cq->obj);
put_send_cq:
	univ_object_put(&on->send_cq->obj);
put_pd:
	univ_object_put(&on->pd->obj);
	return ret;
}

static void qp_put_parents(const struct qp_parents *on)
{
	if (on->table)
		univ_object_put(&on->table->obj);
	if (on->srq)
		univ_object_put(&on->srq->obj);
	if (on->recv_cq)
		univ_object_put(&on->recv_cq->obj);
	if (on->send_cq)
		univ_object_put(&on->send_cq->obj);
	univ_object_put(&on->pd->obj);
}

static u32 ring_slots(u32 wr)
{
	return wr ? roundup_pow_of_two(wr) : 0;
}

static void ring_init(struct univ_ring *ring, struct univ_qp *qp,
		      const struct univ_ring_map *map)
{
	univ_region_ring(qp->region, ring, map);
	univ_ring_set_flags(ring, UNIV_RING_NEED_KICK);
}

/*
 * Both rings are in one mapping. A send slot has room for the entries and a TSO
 * header, or for the inline bytes that were asked for, whichever is more.
 * Inline data gets the room that rounding leaves.
 */
static int qp_create_rings(struct univ_qp *qp, struct univ_qp_create *cmd)
{
	u32 send = offsetof(struct univ_send_wr, data) +
		   max_t(u32, cmd->max_inline,
			 cmd->max_send_sge * sizeof(struct univ_sge) +
			 cmd->max_tso_header);
	size_t size;

	size = univ_ring_place(&cmd->sq, 0, ring_slots(cmd->max_send_wr),
			       ALIGN(send, UNIV_CACHE_LINE));
	size = univ_ring_place(&cmd->rq, size, ring_slots(cmd->max_recv_wr),
			       univ_recv_stride(cmd->max_recv_sge));
	qp->region = univ_region_create_shared(qp->obj.ctx, size, &cmd->hdr);
	if (IS_ERR(qp->region))
		return PTR_ERR(qp->region);
	ring_init(&qp->rings.send, qp, &cmd->sq);
	ring_init(&qp->rings.recv, qp, &cmd->rq);
	return 0;
}

/*
 * The process may use what both the ring and the device have. The device is
 * asked for a full ring of requests, so that it is never the first to be full.
 */
static int qp_create_ib(struct univ_qp *qp, struct univ_qp_create *cmd)
{
	u32 max_wr = qp->pd->ib->device->attrs.max_qp_wr;
	struct ib_qp_init_attr attr = {
		.event_handler = univ_qp_event_handler,
		.qp_context = qp,
		.send_cq = qp->send_cq ? qp->send_cq->ib : NULL,
		.recv_cq = qp->recv_cq ? qp->recv_cq->ib : NULL,
		.srq = qp->srq ? qp->srq->ib : NULL,
		.rwq_ind_tbl = qp->table ? qp->table->ib : NULL,
		.cap = {
			.max_send_wr = min(cmd->sq.slots, max_wr),
			.max_recv_wr = min(cmd->rq.slots, max_wr),
			.max_send_sge = cmd->max_send_sge,
			.max_recv_sge = cmd->max_recv_sge,
			.max_inline_data = cmd->max_inline,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = cmd->qp_type,
		.create_flags = cmd->create_flags,
		.source_qpn = cmd->source_qpn,
	};
	u32 room = cmd->sq.stride - offsetof(struct univ_send_wr, data);

	qp->ib = ib_create_qp_kernel(qp->pd->ib, &attr, qp->obj.ctx->name);
	if (IS_ERR(qp->ib) && cmd->qp_type == IB_QPT_RAW_PACKET)
		return univ_raw_explain(&cmd->hdr, PTR_ERR(qp->ib));
	if (IS_ERR(qp->ib))
		return univ_explain_driver(&cmd->hdr, PTR_ERR(qp->ib));
	qp->num = qp->ib->qp_num;
	qp->cap = attr.cap;
	qp->cap.max_send_wr = min(attr.cap.max_send_wr, cmd->sq.slots);
	qp->cap.max_recv_wr = min(attr.cap.max_recv_wr, cmd->rq.slots);
	qp->cap.max_send_sge = cmd->max_send_sge;
	qp->cap.max_recv_sge = cmd->max_recv_sge;
	qp->cap.max_inline_data = min(attr.cap.max_inline_data, room);
	return 0;
}

static void qp_reply(struct univ_qp *qp, struct univ_qp_create *cmd)
{
	cmd->handle = qp->obj.handle;
	cmd->qp_num = qp->ib->qp_num;
	cmd->map_offset = univ_region_offset(qp->region);
	cmd->map_length = univ_region_length(qp->region);
	univ_region_shift(qp->region, &cmd->sq);
	univ_region_shift(qp->region, &cmd->rq);
	cmd->max_send_wr = qp->cap.max_send_wr;
	cmd->max_recv_wr = qp->cap.max_recv_wr;
	cmd->max_send_sge = qp->cap.max_send_sge;
	cmd->max_recv_sge = qp->cap.max_recv_sge;
	cmd->max_inline = qp->cap.max_inline_data;
}

static int qp_hash(struct univ_qp *qp, const struct univ_qp_create *cmd)
{
	struct univ_queue_hash hash = { .fields = cmd->rx_hash_fields };

	memcpy(hash.key, cmd->rx_hash_key, sizeof(hash.key));
	return qp->obj.ctx->dev->queue->qp_hash(qp->ib, &hash);
}

static int qp_attach(struct univ_qp *qp, struct univ_qp_create *cmd)
{
	const struct univ_queue_ops *queue = qp->obj.ctx->dev->queue;
	const struct univ_queue_page *page = univ_bell_page(qp->obj.ctx);
	int ret = qp->table ? qp_hash(qp, cmd) : 0;

	if (!ret)
		ret = queue->qp_attach(qp->ib, &qp->rings);
	cmd->sq_bell = (struct univ_bell){};
	cmd->rq_bell = (struct univ_bell){};
	if (!ret && page)
		ret = queue->qp_bells(qp->ib, page, &cmd->sq_bell,
				      &cmd->rq_bell);
	return ret ? univ_explain_driver(&cmd->hdr, ret) : 0;
}

static int qp_build(struct univ_qp *qp, struct univ_call *call,
		    struct univ_qp_create *cmd)
{
	int ret;

	ret = univ_object_reserve(call->ctx, &qp->obj, UNIV_OBJECT_QP,
				  &cmd->hdr);
	if (ret) {
		kfree(qp);
		return ret;
	}
	ret = qp_create_rings(qp, cmd);
	if (ret)
		goto release;
	ret = qp_create_ib(qp, cmd);
	if (ret)
		goto destroy_region;
	ret = qp_attach(qp, cmd);
	if (ret)
		goto destroy_ib;
	qp_reply(qp, cmd);
	univ_qp_depend(qp, univ_object_depend);
	univ_queue_watch(qp);
	return univ_object_announce(call, &qp->obj, univ_qp_destroy);

destroy_ib:
	ib_destroy_qp_user(qp->ib, NULL);
	univ_channel_forget(call->ctx, &qp->events);
destroy_region:
	univ_region_destroy(call->ctx, qp->region);
release:
	univ_object_release(&qp->obj);
	return ret;
}

static struct univ_qp *qp_alloc(const struct univ_qp_create *cmd,
				const struct qp_parents *on)
{
	struct univ_qp *qp = kzalloc(sizeof(*qp), GFP_KERNEL_ACCOUNT);

	if (!qp)
		return NULL;
	mutex_init(&qp->mutex);
	INIT_LIST_HEAD(&qp->groups);
	univ_event_source_init(&qp->events, cmd->cookie, 0);
	qp->state = IB_QPS_RESET;
	qp->obj.kicks = UNIV_KICK_SEND | UNIV_KICK_RECV;
	qp->pd = on->pd;
	qp->send_cq = on->send_cq;
	qp->recv_cq = on->recv_cq;
	qp->srq = on->srq;
	qp->table = on->table;
	qp->rings.core = qp;
	qp->rings.max_tso = cmd->max_tso_header;
	qp->rings.sig_all = cmd->sq_sig_all;
	return qp;
}

/*
 * An XRC initiator receives nothing. Its send completion queue is its receive
 * completion queue as well, so that univ_qp.recv_cq is not NULL.
 */
static void qp_receives_nothing(struct univ_qp_create *cmd)
{
	cmd->srq = 0;
	cmd->recv_cq = cmd->send_cq;
	cmd->max_recv_wr = 0;
	cmd->max_recv_sge = 0;
}

int univ_qp_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_qp_create *cmd = arg;
	struct qp_parents on = {};
	struct univ_qp *qp;
	int ret;

	ret = qp_check(call->ctx, cmd);
	if (ret)
		return ret;
	if (cmd->qp_type == IB_QPT_XRC_TGT)
		return univ_target_create(call, cmd);
	if (cmd->qp_type == IB_QPT_XRC_INI)
		qp_receives_nothing(cmd);
	if (cmd->srq)
		cmd->max_recv_wr = 0;
	ret = qp_get_parents(&on, call->ctx, cmd);
	if (ret)
		return ret;
	qp = qp_alloc(cmd, &on);
	if (qp)
		ret = qp_build(qp, call, cmd);
	else
		ret = univ_explain_driver(&cmd->hdr, -ENOMEM);
	qp_put_parents(&on);
	return ret;
}
