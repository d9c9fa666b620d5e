// SPDX-License-Identifier: GPL-2.0
/* Control verbs of queue pairs: create, modify, query and destroy. */
#include <linux/slab.h>
#include <rdma/ib_addr.h>

#include "control.h"
#include "qp_attr.h"

static void drop_routes(struct uroce_qp *qp)
{
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	uroce_remote_drop_routes(qp);
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	/* A kick that found sq.lock taken has set sq.again and returned. */
	uroce_send_rest(qp);
}

/*
 * The device has left its namespace, which may end from now on, so no queue
 * pair may keep a route. Queue pairs that are being destroyed drop theirs
 * before a grace period ends, and so before the namespace is freed.
 */
void uroce_qp_leave_net(const struct uroce_dev *dev)
{
	uroce_qp_each(dev, drop_routes);
}

/* Context: both locks. */
static void partition(struct uroce_qp *qp)
{
	/* The index of the P_Key is that of the path. */
	uroce_remote_follow(qp);
	uroce_qp_partition(qp);
	uroce_remote_partition(qp);
}

static void partition_again(struct uroce_qp *qp)
{
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	partition(qp);
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	/* A kick that found sq.lock taken has set sq.again and returned. */
	uroce_send_rest(qp);
}

/*
 * The P_Key table has changed. A queue pair that is being created takes its
 * P_Key when it leaves RESET.
 */
void uroce_qp_partitions(const struct uroce_dev *dev)
{
	uroce_qp_each(dev, partition_again);
}

static int check_cap(struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (cap->max_send_wr > UROCE_MAX_WR ||
	    cap->max_send_sge > UROCE_MAX_SGE ||
	    cap->max_inline_data > UROCE_MAX_INLINE)
		return -EINVAL;
	if (!init->srq && (cap->max_recv_wr > UROCE_MAX_WR ||
			   cap->max_recv_sge > UROCE_MAX_SGE))
		return -EINVAL;
	return 0;
}

static int check_type(struct ib_qp_init_attr *init)
{
	bool complete = init->send_cq && init->recv_cq;
	u32 flags = 0;

	switch (init->qp_type) {
	case IB_QPT_XRC_TGT:
		/* A target has no queues of its own. */
		memset(&init->cap, 0, sizeof(init->cap));
		init->send_cq = NULL;
		init->recv_cq = NULL;
		init->srq = NULL;
		complete = init->xrcd;
		break;
	case IB_QPT_XRC_INI:
		init->cap.max_recv_wr = 0;
		init->cap.max_recv_sge = 0;
		init->srq = NULL;
		complete = init->send_cq;
		break;
	case IB_QPT_UD:
		flags = IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK |
			IB_QP_CREATE_SOURCE_QPN;
		break;
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_GSI:
		break;
	case IB_QPT_RAW_PACKET:
		if (!init->rwq_ind_tbl) {
			flags = IB_QP_CREATE_CVLAN_STRIPPING |
				IB_QP_CREATE_SCATTER_FCS |
				IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK |
				IB_QP_CREATE_PCI_WRITE_END_PADDING;
			break;
		}
		/* It has no receive queue of its own. */
		init->cap.max_recv_wr = 0;
		init->cap.max_recv_sge = 0;
		init->recv_cq = NULL;
		init->srq = NULL;
		complete = init->send_cq || !init->cap.max_send_wr;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->rwq_ind_tbl && init->qp_type != IB_QPT_RAW_PACKET)
		return -EOPNOTSUPP;
	return init->create_flags & ~flags || !complete ? -EOPNOTSUPP : 0;
}

static void qp_fill(struct uroce_qp *qp, struct ib_qp *ib,
		    struct ib_qp_init_attr *init)
{
	qp->ib = ib;
	qp->dev = to_udev(ib->device);
	qp->type = init->qp_type;
	qp->send_cq = init->send_cq ? to_ucq(init->send_cq) : NULL;
	/* An initiator receives nothing. */
	qp->recv_cq = init->recv_cq ? to_ucq(init->recv_cq) : qp->send_cq;
	qp->srq = init->srq ? to_usrq(init->srq) : NULL;
	if (qp->type == IB_QPT_XRC_TGT) {
		qp->xrcd = to_uxrcd(init->xrcd);
		qp->resp.prompt = true;
	}
	qp->strips = init->create_flags & IB_QP_CREATE_CVLAN_STRIPPING;
	qp->fcs = init->create_flags & IB_QP_CREATE_SCATTER_FCS;
	qp->mutes_self = init->create_flags &
			 IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	qp->state = IB_QPS_RESET;
	qp->attr.cap = init->cap;
	qp->sq.max_sge = init->cap.max_send_sge;
	/* A slot has room for as much inline data as for its scatter list. */
	qp->sq.max_inline = max_t(u32, init->cap.max_inline_data,
				  init->cap.max_send_sge *
				  sizeof(struct univ_sge));
	qp->sq.signal = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->sq.step = 1;
	qp->rq.max_sge = init->cap.max_recv_sge;
	qp->mtu = UROCE_MAX_MTU;
	uroce_qp_partition(qp);
	INIT_LIST_HEAD(&qp->windows);
	init->cap.max_inline_data = qp->sq.max_inline;
	qp->attr.cap.max_inline_data = qp->sq.max_inline;
}

int uroce_qp_create(struct ib_qp *ib, struct ib_qp_init_attr *init,
		    struct ib_udata *udata)
{
	struct uroce_qp *qp;
	int ret;

	ret = check_type(init);
	if (!ret && init->qp_type == IB_QPT_RAW_PACKET &&
	    !uroce_raw_is_allowed(to_udev(ib->device)))
		ret = -EPERM;
	if (!ret)
		ret = check_cap(init);
	if (!ret)
		ret = uroce_fault_verb(to_udev(ib->device),
				       UROCE_VERB_CREATE_QP);
	if (ret)
		return ret;
	qp = uroce_qp_alloc();
	if (!qp)
		return -ENOMEM;
	qp_fill(qp, ib, init);
	uroce_send_init(qp);
	ret = uroce_queue_init(qp);
	if (!ret && init->rwq_ind_tbl) {
		qp->rss = uroce_rss_create(init->rwq_ind_tbl);
		ret = qp->rss ? 0 : -ENOMEM;
	}
	if (!ret)
		ret = uroce_qp_number(qp);
	if (ret) {
		uroce_queue_free(qp);
		kfree(qp->rss);
		uroce_qp_free(qp);
		return ret;
	}
	qp->source = init->create_flags & IB_QP_CREATE_SOURCE_QPN ?
			     init->source_qpn & 0xffffff : qp->num;
	container_of(ib, struct uroce_ibqp, ib)->qp = qp;
	ib->qp_num = qp->num;
	trace_uroce_qp_create(&qp->dev->ib, qp->num, qp->type);
	return 0;
}

static int check_attr(struct uroce_qp *qp, const struct ib_qp_attr *attr,
		      int mask)
{
	if (mask & IB_QP_PORT && attr->port_num != 1)
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX &&
	    (attr->pkey_index >= UROCE_PKEYS ||
	     !READ_ONCE(qp->dev->pkeys[attr->pkey_index])))
		return -EINVAL;
	/* Processes load one by univ_queue_ops.qp_path(). */
	if (mask & IB_QP_ALT_PATH)
		return -EOPNOTSUPP;
	if (mask & IB_QP_PATH_MTU && (attr->path_mtu < IB_MTU_256 ||
				      attr->path_mtu > IB_MTU_4096))
		return -EINVAL;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC &&
	    attr->max_rd_atomic > UROCE_MAX_RD_ATOMIC)
		return -EINVAL;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	    attr->max_dest_rd_atomic > UROCE_MAX_RD_ATOMIC)
		return -EINVAL;
	if ((mask & IB_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IB_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & IB_QP_RNR_RETRY && attr->rnr_retry > 7) ||
	    (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31))
		return -EINVAL;
	return 0;
}

/* Context: both locks. */
static void take_attr(struct uroce_qp *qp, const struct ib_qp_attr *attr,
		      int mask)
{
	univ_qp_attr_keep(&qp->attr, attr, mask);
	uroce_qp_grant(qp);
	partition(qp);
	if (mask & IB_QP_PATH_MTU)
		qp->mtu = ib_mtu_enum_to_int(attr->path_mtu);
	qp->sq.rnr_left = qp->attr.rnr_retry;
	qp->sq.retry_left = qp->attr.retry_cnt + 1;
	/* The peer may have changed. */
	qp->sq.peer = NULL;
	if (mask & IB_QP_SQ_PSN) {
		qp->sq.shown_psn = attr->sq_psn & UROCE_PSN_MASK;
		qp->sq.shown_msn = 0;
	}
}

/* Context: both locks. */
static void enter_state(struct uroce_qp *qp, enum ib_qp_state state)
{
	bool fails = state == IB_QPS_ERR && qp->state != IB_QPS_ERR;

	if (qp->state == IB_QPS_SQE && state == IB_QPS_RTS)
		uroce_remote_again(qp);
	WRITE_ONCE(qp->sq.draining, state == IB_QPS_SQD &&
		   (qp->sq.draining || qp->state != IB_QPS_SQD));
	if (state != qp->state)
		trace_uroce_qp_state(&qp->dev->ib, qp->num, qp->state, state);
	WRITE_ONCE(qp->state, state);
	if (state == IB_QPS_RESET) {
		uroce_queue_reset(qp);
		uroce_mig_reset(qp);
		qp->attr = (struct ib_qp_attr){ .cap = qp->attr.cap };
		uroce_qp_grant(qp);
		partition(qp);
		qp->sq.pace = (struct uroce_pace){ 0 };
		qp->sq.tell_drained = false;
	}
	if (state == IB_QPS_ERR)
		uroce_recv_flush(qp);
	if (fails && (qp->srq || qp->xrcd))
		set_bit(IB_EVENT_QP_LAST_WQE_REACHED, &qp->events);
}

/*
 * The steps that may sleep or fail. Nothing has changed if one fails, so that
 * the caller may try again.
 */
static int prepare(struct uroce_qp *qp, const struct ib_qp_attr *attr, int mask,
		   struct uroce_av *av, struct uroce_spare *spare)
{
	int ret = check_attr(qp, attr, mask);

	if (!ret && mask & IB_QP_AV)
		ret = uroce_av_init(qp->dev, av, &attr->ah_attr);
	if (!ret && mask & IB_QP_STATE && attr->qp_state == IB_QPS_INIT)
		ret = uroce_queue_private(qp);
	if (!ret)
		ret = uroce_remote_prepare(qp, attr, mask,
					   mask & IB_QP_AV && !av->dev_id,
					   spare);
	return ret;
}

/*
 * Takes both locks. In SQE it first flushes the requests that were posted
 * before this call. A process can see the failed completion and call modify
 * before the state changes to SQE, so the state is looked at again under the
 * locks, and flushing is repeated if necessary.
 */
static void lock_flushed(struct uroce_qp *qp)
	__acquires(&qp->sq.lock) __acquires(&qp->resp.lock)
{
	u32 tail = uroce_send_tail(qp);

	for (;;) {
		uroce_send_flush(qp, tail);
		spin_lock_bh(&qp->sq.lock);
		spin_lock(&qp->resp.lock);
		if (likely(!uroce_send_unflushed(qp, tail)))
			return;
		spin_unlock(&qp->resp.lock);
		spin_unlock_bh(&qp->sq.lock);
	}
}

/*
 * No fault is injected into a transition to the error state, since users in the
 * kernel rely on it when they clean up.
 */
static int modify_fault(struct uroce_qp *qp, const struct ib_qp_attr *attr,
			int mask)
{
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_ERR)
		return 0;
	return uroce_fault_verb(qp->dev, UROCE_VERB_MODIFY_QP);
}

int uroce_qp_modify(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct uroce_qp *qp = to_uqp(ib);
	struct uroce_spare spare = {};
	enum ib_qp_state cur, next;
	enum ib_mig_state mig;
	struct uroce_av av;
	int ret;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	ret = modify_fault(qp, attr, mask);
	if (!ret)
		ret = prepare(qp, attr, mask, &av, &spare);
	if (ret)
		return ret;
	lock_flushed(qp);
	uroce_remote_follow(qp);
	cur = qp->state;
	mig = qp->mig;
	next = mask & IB_QP_STATE ? attr->qp_state : cur;
	if ((mask & IB_QP_CUR_STATE && attr->cur_qp_state != cur) ||
	    !ib_modify_qp_is_ok(cur, next, ib->qp_type, mask)) {
		ret = -EINVAL;
		goto unlock;
	}
	if (cur == IB_QPS_SQD && mask & IB_QP_AV && !qp->remote &&
	    av.dev_id != qp->av.dev_id) {
		ret = -EOPNOTSUPP;
		goto unlock;
	}
	ret = uroce_mig_check(qp, attr, mask, mask & IB_QP_AV ? av.dev_id :
			      qp->av.dev_id);
	if (ret)
		goto unlock;
	take_attr(qp, attr, mask);
	if (mask & IB_QP_AV) {
		uroce_flow_release(&qp->av.flow);
		qp->av = av;
	}
	/* The flag applies to this transition only. */
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		qp->sq.tell_drained = attr->en_sqd_async_notify;
	else if (next == IB_QPS_SQD && cur != IB_QPS_SQD)
		qp->sq.tell_drained = false;
	if (cur == IB_QPS_SQD)
		uroce_remote_changed(qp, mask & IB_QP_AV);
	uroce_mig_modify(qp, attr, mask);
	uroce_remote_follow(qp);
	if (mask & IB_QP_STATE)
		enter_state(qp, next);
unlock:
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	if (!ret) {
		uroce_remote_begin(qp, &spare);
		uroce_remote_remember(qp, &spare);
		if (next == IB_QPS_RESET)
			uroce_remote_end(qp);
	}
	uroce_spare_free(&spare);
	uroce_mig_tell(qp, mig);
	if (READ_ONCE(qp->events))
		uroce_send_later(qp);
	uroce_send_run(qp);
	return ret;
}

int uroce_qp_query(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct uroce_qp *qp = to_uqp(ib);

	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	uroce_remote_follow(qp);
	*attr = qp->attr;
	attr->path_mig_state = qp->mig;
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->sq_draining = qp->sq.draining;
	uroce_remote_psns(qp, attr);
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	/* A kick that found sq.lock taken has set sq.again and returned. */
	uroce_send_rest(qp);
	init->event_handler = ib->event_handler;
	init->qp_context = ib->qp_context;
	init->send_cq = ib->send_cq;
	init->recv_cq = ib->recv_cq;
	init->srq = ib->srq;
	init->cap = attr->cap;
	init->sq_sig_type = uroce_signals_all(&qp->sq) ? IB_SIGNAL_ALL_WR :
							 IB_SIGNAL_REQ_WR;
	init->qp_type = ib->qp_type;
	return 0;
}

/*
 * After both locks were held to set @dead, no thread does work in the queue
 * pair or completes its requests.
 */
int uroce_qp_destroy(struct ib_qp *ib, struct ib_udata *udata)
{
	struct uroce_qp *qp = to_uqp(ib);

	trace_uroce_qp_destroy(&qp->dev->ib, qp->num, qp->type);
	/*
	 * Without its number uroce_qp_leave_net() does not find the queue pair,
	 * so its routes are dropped in the same RCU section.
	 */
	rcu_read_lock();
	uroce_qp_unnumber(qp);
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	qp->sq.dead = true;
	qp->resp.dead = true;
	uroce_recv_unwant(qp);
	uroce_mig_reset(qp);
	uroce_remote_drop_routes(qp);
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	rcu_read_unlock();
	uroce_remote_end(qp);
	hrtimer_cancel(&qp->sq.timer);
	/* A queue of the domain that is destroyed may wake a target up. */
	if (qp->xrcd)
		uroce_target_remove(qp);
	tasklet_kill(&qp->sq.task);
	cancel_work_sync(&qp->sq.rest);
	uroce_mw_qp_gone(qp);
	uroce_flow_release(&qp->av.flow);
	uroce_queue_free(qp);
	kfree_rcu(qp->rss, rcu);
	uroce_qp_free(qp);
	return 0;
}
