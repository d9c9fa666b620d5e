// SPDX-License-Identifier: GPL-2.0
/*
 * The changes of state that a queue pair may make, and the attributes that each
 * takes. The kernel and the driver check them as well, but answer EINVAL; this
 * table names the attribute that is wrong. InfiniBand specification 1.4, volume
 * 1, 10.3.1 and 11.2.5.2 (modify queue pair).
 */
#include <linux/capability.h>
#include <rdma/ib_verbs.h>

#include "qp.h"

/* Retry counts have three bits, and the RNR timer has five. */
#define MAX_RETRIES 7
#define MAX_RNR_RETRIES 6	/* An rnr_retry of 7 has no limit. */
#define RNR_TIMER_MASK 31
#define PSN_MASK 0xffffff

/* Controlled Q_Keys have the highest bit set. */
#define PRIVILEGED_QKEY 0x80000000u

/* Connected attributes that several transitions share. */
#define UC_PATH	(IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PATH_MIG_STATE)
#define RC_PATH	(UC_PATH | IB_QP_MIN_RNR_TIMER)

/* An XRC queue pair has only one side. */
#define XRC_FIRST (IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS)

struct qp_masks {
	u32 required;
	u32 optional;
};

/*
 * By transport: RC, UC, UD, XRC send, XRC receive, raw packets. Raw packets
 * take no attribute but the port.
 */
struct qp_transition {
	u8 from;
	u8 to;
	struct qp_masks masks[6];
};

static const struct qp_transition transitions[] = {
	{ IB_QPS_RESET, IB_QPS_INIT, {
		{ IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS, 0 },
		{ IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS, 0 },
		{ IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, 0 },
		{ XRC_FIRST, 0 },
		{ XRC_FIRST, 0 },
		{ IB_QP_PORT, 0 } } },
	{ IB_QPS_INIT, IB_QPS_INIT, {
		{ 0, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
		{ 0, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
		{ 0, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY },
		{ 0, XRC_FIRST },
		{ 0, XRC_FIRST } } },
	{ IB_QPS_INIT, IB_QPS_RTR, {
		{ IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
		  IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER,
		  IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX },
		{ IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN,
		  IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX },
		{ 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
		{ IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN,
		  IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX },
		{ IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
		  IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER,
		  IB_QP_ALT_PATH | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX } } },
	{ IB_QPS_RTR, IB_QPS_RTS, {
		{ IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
		  IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC,
		  IB_QP_CUR_STATE | RC_PATH },
		{ IB_QP_SQ_PSN, IB_QP_CUR_STATE | UC_PATH },
		{ IB_QP_SQ_PSN, IB_QP_CUR_STATE | IB_QP_QKEY },
		{ IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
		  IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC,
		  IB_QP_CUR_STATE | UC_PATH },
		{ IB_QP_SQ_PSN | IB_QP_TIMEOUT, IB_QP_CUR_STATE | RC_PATH } } },
	{ IB_QPS_RTS, IB_QPS_RTS, {
		{ 0, IB_QP_CUR_STATE | RC_PATH },
		{ 0, IB_QP_CUR_STATE | UC_PATH },
		{ 0, IB_QP_CUR_STATE | IB_QP_QKEY },
		{ 0, IB_QP_CUR_STATE | UC_PATH },
		{ 0, IB_QP_CUR_STATE | RC_PATH } } },
	{ IB_QPS_RTS, IB_QPS_SQD, {
		{ 0, IB_QP_EN_SQD_ASYNC_NOTIFY },
		{ 0, IB_QP_EN_SQD_ASYNC_NOTIFY },
		{ 0, IB_QP_EN_SQD_ASYNC_NOTIFY },
		{ 0, IB_QP_EN_SQD_ASYNC_NOTIFY },
		{ 0, IB_QP_EN_SQD_ASYNC_NOTIFY } } },
	{ IB_QPS_SQD, IB_QPS_RTS, {
		{ 0, IB_QP_CUR_STATE | RC_PATH },
		{ 0, IB_QP_CUR_STATE | UC_PATH },
		{ 0, IB_QP_CUR_STATE | IB_QP_QKEY },
		{ 0, IB_QP_CUR_STATE | UC_PATH },
		{ 0, IB_QP_CUR_STATE | RC_PATH } } },
	{ IB_QPS_SQD, IB_QPS_SQD, {
		{ 0, RC_PATH | IB_QP_PORT | IB_QP_AV |
		     IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
		     IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC |
		     IB_QP_PKEY_INDEX },
		{ 0, UC_PATH | IB_QP_AV | IB_QP_PKEY_INDEX },
		{ 0, IB_QP_PKEY_INDEX | IB_QP_QKEY },
		{ 0, UC_PATH | IB_QP_PORT | IB_QP_AV |
		     IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
		     IB_QP_MAX_QP_RD_ATOMIC | IB_QP_PKEY_INDEX },
		{ 0, RC_PATH | IB_QP_PORT | IB_QP_AV | IB_QP_TIMEOUT |
		     IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_PKEY_INDEX } } },
	{ IB_QPS_SQE, IB_QPS_RTS, {
		{ 0, 0 },
		{ 0, IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS },
		{ 0, IB_QP_CUR_STATE | IB_QP_QKEY } } },
};

static u32 qp_transport(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_UC:
		return 1;
	case IB_QPT_UD:
		return 2;
	case IB_QPT_XRC_INI:
		return 3;
	case IB_QPT_XRC_TGT:
		return 4;
	case IB_QPT_RAW_PACKET:
		return 5;
	default:
		return 0;
	}
}

static const struct qp_masks *qp_masks(const struct univ_qp *qp, u32 from,
				       u32 to)
{
	/*
	 * A change to RESET, and to the error state from any state but RESET,
	 * takes no other attribute.
	 */
	static const struct qp_masks end;
	u32 transport = qp_transport(qp->ib->qp_type);
	size_t i;

	if (to == IB_QPS_RESET || (to == IB_QPS_ERR && from != IB_QPS_RESET))
		return &end;
	for (i = 0; i < ARRAY_SIZE(transitions); i++)
		if (transitions[i].from == from && transitions[i].to == to)
			return &transitions[i].masks[transport];
	return NULL;
}

/*
 * The rate of a queue pair can be limited with each transition to RTS, if the
 * device limits any. The RDMA core's table knows it for few types.
 */
static u32 qp_optional(const struct univ_qp *qp, u32 to)
{
	return to == IB_QPS_RTS && univ_rate_offered(qp) ?
		       IB_QP_RATE_LIMIT : 0;
}

/*
 * A failed request moves a queue pair from RTS or SQD to SQE without a call.
 * The process has seen the completion and gives SQE as the current state.
 */
static u32 qp_state(const struct univ_qp *qp, const struct univ_qp_attr *attr)
{
	if ((qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD) &&
	    attr->attr_mask & IB_QP_CUR_STATE &&
	    attr->cur_qp_state == IB_QPS_SQE)
		return IB_QPS_SQE;
	return qp->state;
}

static int qp_check_masks(struct univ_qp *qp, const struct univ_qp_attr *attr,
			  struct univ_hdr *hdr)
{
	u32 mask = attr->attr_mask;
	u32 from = qp_state(qp, attr);
	u32 to = mask & IB_QP_STATE ? attr->qp_state : from;
	u32 change = from << 8 | (to & 0xff);
	const struct qp_masks *masks;

	if (to > IB_QPS_ERR)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_ATTR_VALUE,
				    IB_QP_STATE, to, IB_QPS_ERR);
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != from)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_CUR_STATE, 0,
				    attr->cur_qp_state, from);
	masks = qp_masks(qp, from, to);
	if (!masks)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_QP_STATE, change,
				    0, 0);
	if (masks->required & ~mask)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_ATTR_MISSING,
				    change, masks->required & ~mask, 0);
	mask &= ~(masks->required | masks->optional | IB_QP_STATE |
		  qp_optional(qp, to));
	if (mask)
		return univ_explain(hdr, -EINVAL, UNIV_REASON_ATTR_SURPLUS,
				    change, mask, 0);
	return 0;
}

struct qp_bound {
	u32 attr;
	u32 value;
	u32 max;
	u32 min;
};

static int qp_check_bounds(struct univ_qp *qp, const struct univ_qp_attr *attr,
			   struct univ_hdr *hdr)
{
	const struct ib_device_attr *dev = &qp->ib->device->attrs;
	const struct qp_bound bounds[] = {
		{ IB_QP_PATH_MTU, attr->path_mtu, IB_MTU_4096, IB_MTU_256 },
		{ IB_QP_TIMEOUT, attr->timeout, 31 },
		{ IB_QP_ALT_PATH, attr->alt_timeout, 31 },
		{ IB_QP_PATH_MIG_STATE, attr->path_mig_state,
		  univ_altpath_max_state(qp) },
		{ IB_QP_DEST_QPN, attr->dest_qp_num, 0xffffff },
		{ IB_QP_MAX_QP_RD_ATOMIC, attr->max_rd_atomic,
		  dev->max_qp_init_rd_atom },
		{ IB_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic,
		  dev->max_qp_rd_atom },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bounds); i++)
		if (attr->attr_mask & bounds[i].attr &&
		    (bounds[i].value > bounds[i].max ||
		     bounds[i].value < bounds[i].min))
			return univ_explain(hdr, -EINVAL,
					    UNIV_REASON_ATTR_VALUE,
					    bounds[i].attr, bounds[i].value,
					    bounds[i].max);
	return 0;
}

/*
 * On InfiniBand the subnet manager may fill an empty entry later. RoCE has no
 * subnet manager. Entry 0 is never empty, so the common case does not ask the
 * device, which may have to run a firmware command.
 */
static bool pkey_is_empty(struct ib_device *ib, u32 port, u32 index)
{
	u16 pkey;

	return index && rdma_protocol_roce(ib, port) &&
	       !ib_query_pkey(ib, port, index, &pkey) && !(pkey & 0x7fff);
}

static int qp_check_pkey(struct univ_context *ctx, u32 port, u32 index,
			 struct univ_hdr *hdr)
{
	struct ib_device *ib = ctx->dev->ib;
	u32 len = ib->port_data[port].immutable.pkey_tbl_len;

	if (index < len && !pkey_is_empty(ib, port, index))
		return 0;
	return univ_explain(hdr, -EINVAL, UNIV_REASON_PKEY_INDEX, 0, index,
			    len);
}

static int qp_check_port(struct univ_qp *qp, const struct univ_qp_attr *attr,
			 struct univ_hdr *hdr)
{
	struct univ_context *ctx = qp->obj.ctx;
	u32 port = attr->attr_mask & IB_QP_PORT ? attr->port_num :
		   qp->ib->real_qp->port;
	int ret;

	if (attr->attr_mask & IB_QP_PORT) {
		ret = univ_port_check(ctx, port, hdr);
		if (ret)
			return ret;
	}
	if (attr->attr_mask & IB_QP_PKEY_INDEX && port) {
		ret = qp_check_pkey(ctx, port, attr->pkey_index, hdr);
		if (ret)
			return ret;
	}
	if (attr->attr_mask & IB_QP_AV) {
		ret = univ_port_check(ctx, attr->ah.port_num, hdr);
		if (ret)
			return ret;
		/* A path must start at the port of the queue pair. */
		if (attr->ah.port_num != port)
			return univ_explain(hdr, -EINVAL,
					    UNIV_REASON_ATTR_VALUE, IB_QP_AV,
					    attr->ah.port_num, port);
	}
	if (!(attr->attr_mask & IB_QP_ALT_PATH))
		return 0;
	ret = univ_port_check(ctx, attr->alt_port_num, hdr);
	if (ret)
		return ret;
	return qp_check_pkey(ctx, attr->alt_port_num, attr->alt_pkey_index,
			     hdr);
}

/* Q_Keys with the highest bit set are for privileged programs (10.2.5). */
static int qp_check_qkey(const struct univ_qp_attr *attr, struct univ_hdr *hdr)
{
	if (!(attr->attr_mask & IB_QP_QKEY) ||
	    !(attr->qkey & PRIVILEGED_QKEY) ||
	    capable(CAP_NET_RAW))
		return 0;
	return univ_explain(hdr, -EPERM, UNIV_REASON_PERMISSION, 0, CAP_NET_RAW,
			    0);
}

/*
 * Returns the attributes that count. Programs set those of both sides on each
 * side of XRC, and ib_uverbs accepts that. Context: as univ_qp_check_modify().
 */
u32 univ_qp_attr_mask(const struct univ_qp *qp, u32 mask)
{
	if (qp->ib->qp_type == IB_QPT_XRC_INI)
		mask &= ~(IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	else if (qp->ib->qp_type == IB_QPT_XRC_TGT)
		mask &= ~(IB_QP_MAX_QP_RD_ATOMIC | IB_QP_RETRY_CNT |
			  IB_QP_RNR_RETRY);
	return mask;
}

/*
 * Fits attributes into their fields on the wire, as programs do not expect an
 * error: mlx5 drops the upper bits, rdma_rxe stores any value. Dropping bits
 * would make 2 of 10 retries and none of 8, so a count becomes the highest. The
 * RDMA core drops the upper bits of a PSN itself, but warns each time in the
 * log of the kernel.
 */
void univ_qp_attr_fit(struct univ_qp_attr *attr)
{
	attr->retry_cnt = min_t(u8, attr->retry_cnt, MAX_RETRIES);
	if (attr->rnr_retry > MAX_RETRIES)
		attr->rnr_retry = MAX_RNR_RETRIES;
	attr->min_rnr_timer &= RNR_TIMER_MASK;
	attr->rq_psn &= PSN_MASK;
	attr->sq_psn &= PSN_MASK;
}

/*
 * Checks whether ibv_modify_qp(3) can do this. Returns 0, -EINVAL or -EPERM,
 * with the attribute in the reason, or -EOPNOTSUPP, as drivers do, for a limit
 * of the rate that the device does not have. Context: qp->mutex is held.
 */
int univ_qp_check_modify(struct univ_qp *qp, const struct univ_qp_attr *attr,
			 struct univ_hdr *hdr)
{
	int ret;

	lockdep_assert_held(&qp->mutex);
	if (attr->attr_mask & IB_QP_RATE_LIMIT && !univ_rate_offered(qp))
		return univ_explain_driver(hdr, -EOPNOTSUPP);
	ret = qp_check_masks(qp, attr, hdr);
	if (!ret)
		ret = qp_check_bounds(qp, attr, hdr);
	if (!ret)
		ret = qp_check_port(qp, attr, hdr);
	if (!ret)
		ret = qp_check_qkey(attr, hdr);
	if (!ret && attr->attr_mask & IB_QP_RATE_LIMIT)
		ret = univ_rate_check(qp, attr->rate_limit, hdr);
	return ret;
}
