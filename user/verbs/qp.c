// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queue pairs. Posting to them is in the room ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/common.h"
#include "why/why.h"

#define VERB_CREATE "ibv_create_qp"

static int qp_destroy_kernel(const struct univ_qp *qp, struct univ_destroy *cmd)
{
	*cmd = (struct univ_destroy) { .handle = qp->ibv.handle };
	return univ_cmd_qp_destroy(qp->ibv.context->cmd_fd, cmd);
}

static void qp_init(struct univ_qp *qp, struct ibv_context *context,
		    const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *ibv = &qp->ibv;

	ibv->context = context;
	ibv->qp_context = attr->qp_context;
	ibv->pd = attr->qp_type == IBV_QPT_XRC_RECV ? NULL : attr->pd;
	ibv->send_cq = attr->send_cq;
	ibv->recv_cq = attr->recv_cq;
	ibv->srq = attr->srq;
	ibv->qp_type = attr->qp_type;
	ibv->state = IBV_QPS_RESET;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
	qp->sq_sig_all = !!attr->sq_sig_all;
	qp->opcodes = univ_qp_opcodes_listed(to_ucontext(context), attr->qp_type);
	qp->send_flags = univ_send_flags(attr->qp_type);
	qp->send_states = univ_send_states(attr->qp_type);
}

/* Relaxed: other threads may read both words while they post. */
static void set_state(struct univ_qp *qp, enum ibv_qp_state state)
{
	univ_store_relaxed(&qp->ibv.state, state);
	univ_store_relaxed(&qp->takes_recv, state != IBV_QPS_RESET && qp->rq.max_sge);
}

static int rings_map(struct univ_qp *qp, const struct univ_qp_create *cmd)
{
	int err = univ_doorbell_map(VERB_CREATE, qp->ibv.context, &qp->doorbell);

	if (err)
		return err;
	/* A failure under the lock of the arenas is printed without it. */
	univ_fail_defer();
	err = univ_map_shared(VERB_CREATE, qp->ibv.context->cmd_fd, univ_qp_arenas(qp), &qp->map,
			      cmd->map_offset, cmd->map_length);
	univ_fail_tell();
	if (err)
		return err;
	qp->max_inline = cmd->max_inline;
	qp->max_tso = (uint16_t)cmd->max_tso_header;
	univ_ring_init(&qp->sq, qp->map.base, &cmd->sq, cmd->max_send_wr, cmd->max_send_sge);
	qp->quick = univ_qp_quick(qp);
	univ_bell_set(&qp->sq_bell, qp->ibv.context, &cmd->sq_bell);
	univ_bell_set(&qp->rq_bell, qp->ibv.context, &cmd->rq_bell);
	if (cmd->rq.slots)
		univ_ring_init(&qp->rq, qp->map.base, &cmd->rq, cmd->max_recv_wr,
			       cmd->max_recv_sge);
	return 0;
}

static uint32_t cq_handle(const struct ibv_cq *cq)
{
	return cq ? cq->handle : 0;
}

/* The number means nothing without its flag, which the kernel checks. */
static uint32_t source_qpn(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	       attr->create_flags & IBV_QP_CREATE_SOURCE_QPN ? attr->source_qpn : 0;
}

static struct univ_qp_create create_command(const struct univ_qp *qp,
					    const struct ibv_qp_init_attr_ex *attr)
{
	return (struct univ_qp_create) {
		.pd = qp->ibv.pd->handle,
		.send_cq = cq_handle(attr->send_cq),
		.recv_cq = cq_handle(attr->recv_cq),
		.srq = attr->srq ? attr->srq->handle : 0,
		.qp_type = (uint32_t)attr->qp_type,
		.sq_sig_all = qp->sq_sig_all,
		.max_send_wr = attr->cap.max_send_wr,
		.max_recv_wr = attr->srq ? 0 : attr->cap.max_recv_wr,
		.max_send_sge = attr->cap.max_send_sge,
		.max_recv_sge = attr->srq ? 0 : attr->cap.max_recv_sge,
		.max_inline = attr->cap.max_inline_data,
		.create_flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ?
				attr->create_flags : 0,
		.cookie = univ_cookie(qp->ibv.context, qp),
		.max_tso_header = attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER ?
				  attr->max_tso_header : 0,
		.source_qpn = source_qpn(attr),
	};
}

/* An initiator of XRC and a queue pair with an indirection table have no receive queue. */
static void keep_queues(struct univ_qp *qp, const struct univ_qp_create *cmd)
{
	if (!cmd->table || cmd->max_send_wr)
		qp->kept_cq[0] = qp->ibv.send_cq;
	if (!cmd->table && qp->ibv.qp_type != IBV_QPT_XRC_SEND &&
	    qp->ibv.recv_cq != qp->ibv.send_cq)
		qp->kept_cq[1] = qp->ibv.recv_cq;
	for (int i = 0; i < 2; i++)
		if (qp->kept_cq[i])
			univ_cq_get(qp->kept_cq[i]);
}

static void leave_queues(const struct univ_qp *qp)
{
	for (int i = 0; i < 2; i++)
		if (qp->kept_cq[i])
			univ_cq_put(qp->kept_cq[i]);
}

static int qp_create_kernel(struct univ_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	struct univ_qp_create cmd = create_command(qp, attr);
	struct univ_destroy destroy;
	int err;

	univ_rss_fill(&cmd, attr);
	err = univ_cmd_qp_create(qp->ibv.context->cmd_fd, &cmd);
	if (err)
		return err;
	qp->ibv.handle = cmd.handle;
	qp->ibv.qp_num = cmd.qp_num;
	err = rings_map(qp, &cmd);
	if (err) {
		qp_destroy_kernel(qp, &destroy);
		errno = err;
		return err;
	}
	univ_events_begin(qp->ibv.context, cmd.handle);
	keep_queues(qp, &cmd);
	qp->cap = (struct ibv_qp_cap) {
		.max_send_wr = cmd.max_send_wr,
		.max_recv_wr = cmd.max_recv_wr,
		.max_send_sge = cmd.max_send_sge,
		.max_recv_sge = cmd.max_recv_sge,
		.max_inline_data = cmd.max_inline,
	};
	return 0;
}

void univ_qp_free(struct univ_qp *qp)
{
	univ_unmap_shared(univ_qp_arenas(qp), &qp->map);
	pthread_mutex_destroy(&qp->ibv.mutex);
	pthread_cond_destroy(&qp->ibv.cond);
	free(qp);
}

struct univ_qp *univ_qp_alloc(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	void *qp;

	/* The send and the receive side each have cache lines of their own. */
	if (posix_memalign(&qp, __alignof__(struct univ_qp), sizeof(struct univ_qp))) {
		univ_fail_memory(VERB_CREATE, sizeof(struct univ_qp));
		return NULL;
	}
	memset(qp, 0, sizeof(struct univ_qp));
	qp_init(qp, context, attr);
	return qp;
}

/* In another context a handle is unknown, or names another object. */
static int contexts_check(const struct ibv_context *context,
			  const struct ibv_qp_init_attr_ex *attr)
{
	bool xrc_recv = attr->qp_type == IBV_QPT_XRC_RECV;

	if (xrc_recv)
		return attr->xrcd->context == context ? 0 :
			univ_fail_context(VERB_CREATE, UNIV_OBJECT_XRCD);
	if (attr->pd->context != context)
		return univ_fail_context(VERB_CREATE, UNIV_OBJECT_PD);
	if ((attr->send_cq && attr->send_cq->context != context) ||
	    (attr->recv_cq && attr->recv_cq->context != context))
		return univ_fail_context(VERB_CREATE, UNIV_OBJECT_CQ);
	if (attr->srq && attr->srq->context != context)
		return univ_fail_context(VERB_CREATE, UNIV_OBJECT_SRQ);
	return 0;
}

static struct univ_qp *qp_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	bool xrc_recv = attr->qp_type == IBV_QPT_XRC_RECV;
	struct univ_qp *qp;

	if (contexts_check(context, attr))
		return NULL;
	qp = univ_qp_alloc(context, attr);
	if (!qp)
		return NULL;
	if (xrc_recv ? univ_xrc_recv_create(qp, attr) : qp_create_kernel(qp, attr)) {
		univ_qp_free(qp);
		return NULL;
	}
	if (qp->ibv.pd)
		univ_pd_hold(qp->ibv.pd);
	univ_qp_table_add(to_ucontext(context), qp);
	attr->cap = qp->cap;
	return qp;
}

UNIV_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.pd = pd,
	};
	struct univ_qp *qp;

	/* This queue pair needs an XRC domain, which this verb cannot pass. */
	if (attr->qp_type == IBV_QPT_XRC_RECV) {
		univ_fail_qp_type(VERB_CREATE, attr->qp_type);
		return NULL;
	}
	qp = qp_create(pd->context, &ex);
	if (!qp)
		return NULL;
	attr->cap = ex.cap;
	return &qp->ibv;
}

/* The domain that a queue pair of the type is created in. */
static int attr_ex_check_domain(const struct ibv_qp_init_attr_ex *attr)
{
	bool xrc_recv = attr->qp_type == IBV_QPT_XRC_RECV;
	uint32_t needed = xrc_recv ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD;

	if (!(attr->comp_mask & needed))
		return univ_fail_flags_missing("ibv_create_qp_ex", UNIV_FLAGS_QP_MASK, needed);
	if (xrc_recv ? !!attr->xrcd : !!attr->pd)
		return 0;
	return univ_fail_no_object("ibv_create_qp_ex", xrc_recv ? UNIV_OBJECT_XRCD : UNIV_OBJECT_PD);
}

static int attr_ex_check(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			       IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH |
			       IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	int err;

	if (attr->comp_mask & ~known)
		return univ_fail_flags("ibv_create_qp_ex", EOPNOTSUPP, UNIV_FLAGS_QP_MASK,
				       attr->comp_mask, known);
	err = attr_ex_check_domain(attr);
	if (!err)
		err = univ_rss_check(context, attr);
	if (err)
		return err;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return univ_qp_ex_check(to_ucontext(context), attr->qp_type, attr->send_ops_flags);
	return 0;
}

struct ibv_qp *univ_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct univ_qp *qp;

	if (attr_ex_check(context, attr))
		return NULL;
	qp = qp_create(context, attr);
	if (!qp)
		return NULL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		univ_qp_ex_init(qp, attr->send_ops_flags);
	return &qp->ibv;
}

UNIV_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return to_uqp(qp)->is_ex ? &to_uqp(qp)->ex : NULL;
}

/* Members whose bit is not set may hold anything; the kernel does not read them. */
static void attr_from_ibv(struct univ_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
	*to = (struct univ_qp_attr) {
		.attr_mask = (uint32_t)mask,
		.qp_state = (uint32_t)from->qp_state,
		.cur_qp_state = (uint32_t)from->cur_qp_state,
		.path_mtu = (uint32_t)from->path_mtu,
		.path_mig_state = (uint32_t)from->path_mig_state,
		.qkey = from->qkey,
		.rq_psn = from->rq_psn,
		.sq_psn = from->sq_psn,
		.dest_qp_num = from->dest_qp_num,
		.qp_access_flags = from->qp_access_flags,
		.rate_limit = mask & IBV_QP_RATE_LIMIT ? from->rate_limit : 0,
		.pkey_index = from->pkey_index,
		.alt_pkey_index = from->alt_pkey_index,
		.en_sqd_async_notify = from->en_sqd_async_notify,
		.sq_draining = from->sq_draining,
		.max_rd_atomic = from->max_rd_atomic,
		.max_dest_rd_atomic = from->max_dest_rd_atomic,
		.min_rnr_timer = from->min_rnr_timer,
		.port_num = from->port_num,
		.timeout = from->timeout,
		.retry_cnt = from->retry_cnt,
		.rnr_retry = from->rnr_retry,
		.alt_port_num = from->alt_port_num,
		.alt_timeout = from->alt_timeout,
	};
	if (mask & IBV_QP_AV)
		univ_ah_attr_from_ibv(&to->ah, &from->ah_attr);
	if (mask & IBV_QP_ALT_PATH)
		univ_ah_attr_from_ibv(&to->alt_ah, &from->alt_ah_attr);
}

static struct ibv_qp_attr attr_to_ibv(const struct univ_qp_query *query)
{
	const struct univ_qp_attr *from = &query->attr;
	struct ibv_qp_attr to = {
		.qp_state = (enum ibv_qp_state)from->qp_state,
		.cur_qp_state = (enum ibv_qp_state)from->cur_qp_state,
		.path_mtu = (enum ibv_mtu)from->path_mtu,
		.path_mig_state = (enum ibv_mig_state)from->path_mig_state,
		.qkey = from->qkey,
		.rq_psn = from->rq_psn,
		.sq_psn = from->sq_psn,
		.dest_qp_num = from->dest_qp_num,
		.qp_access_flags = from->qp_access_flags,
		.cap = {
			.max_send_wr = query->max_send_wr,
			.max_recv_wr = query->max_recv_wr,
			.max_send_sge = query->max_send_sge,
			.max_recv_sge = query->max_recv_sge,
			.max_inline_data = query->max_inline,
		},
		.pkey_index = from->pkey_index,
		.alt_pkey_index = from->alt_pkey_index,
		.en_sqd_async_notify = from->en_sqd_async_notify,
		.sq_draining = from->sq_draining,
		.max_rd_atomic = from->max_rd_atomic,
		.max_dest_rd_atomic = from->max_dest_rd_atomic,
		.min_rnr_timer = from->min_rnr_timer,
		.port_num = from->port_num,
		.timeout = from->timeout,
		.retry_cnt = from->retry_cnt,
		.rnr_retry = from->rnr_retry,
		.alt_port_num = from->alt_port_num,
		.alt_timeout = from->alt_timeout,
	};

	univ_ah_attr_to_ibv(&to.ah_attr, &from->ah);
	univ_ah_attr_to_ibv(&to.alt_ah_attr, &from->alt_ah);
	return to;
}

/*
 * The struct of a program that was built before rdma-core 13 ends before the rate, although the
 * symbol is the same. Only a program that knows the rate asks for it.
 */
static void attr_give(struct ibv_qp_attr *to, const struct univ_qp_query *query)
{
	const struct ibv_qp_attr attr = attr_to_ibv(query);

	memcpy(to, &attr, offsetof(struct ibv_qp_attr, rate_limit));
	if (query->attr_mask & IBV_QP_RATE_LIMIT)
		to->rate_limit = query->attr.rate_limit;
}

/* The kernel uses other values in place of some that the specification does not have. */
static void explain_fitted(const struct ibv_qp_attr *attr, int mask)
{
	const struct {
		uint32_t attr, given, used;
	} fitted[] = {
		{ IBV_QP_RETRY_CNT, attr->retry_cnt, attr->retry_cnt > 7 ? 7 : attr->retry_cnt },
		{ IBV_QP_RNR_RETRY, attr->rnr_retry, attr->rnr_retry > 7 ? 6 : attr->rnr_retry },
		{ IBV_QP_MIN_RNR_TIMER, attr->min_rnr_timer, attr->min_rnr_timer & 31 },
	};

	for (size_t i = 0; i < sizeof(fitted) / sizeof(fitted[0]); i++)
		if ((uint32_t)mask & fitted[i].attr && fitted[i].given != fitted[i].used)
			univ_warn_fitted("ibv_modify_qp", fitted[i].attr, fitted[i].given,
					 fitted[i].used);
}

static void forget_completions(const struct univ_qp *qp)
{
	for (int i = 0; i < 2; i++)
		if (qp->kept_cq[i])
			univ_cq_forget(qp->kept_cq[i], qp->ibv.qp_num);
}

/*
 * A reset needs no change of the rings here: the kernel then counts all published
 * requests as retired, so the rings are empty.
 */
UNIV_EXPORT int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask)
{
	const struct univ_watch_ops *watch = to_ucontext(ibv->context)->watch;
	struct univ_qp_modify cmd = { .handle = ibv->handle };
	int err;

	if (attr_mask & IBV_QP_CAP)
		return univ_qp_resize(to_uqp(ibv), attr, attr_mask);
	attr_from_ibv(&cmd.attr, attr, attr_mask);
	err = univ_cmd_qp_modify(ibv->context->cmd_fd, &cmd, ibv->qp_type);
	if (err)
		return err;
	if (attr_mask & (IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_TIMEOUT))
		univ_qp_table_modified(to_ucontext(ibv->context), to_uqp(ibv), attr, attr_mask);
	if (watch)
		explain_fitted(attr, attr_mask);
	if ((attr_mask & IBV_QP_PORT) && watch)
		watch->port_set(to_uqp(ibv), attr->port_num);
	if (attr_mask & IBV_QP_STATE)
		set_state(to_uqp(ibv), attr->qp_state);
	if (attr_mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		forget_completions(to_uqp(ibv));
	return 0;
}

int univ_modify_qp_rate_limit(struct ibv_qp *ibv, struct ibv_qp_rate_limit_attr *attr)
{
	struct univ_qp_rate cmd = {
		.handle = ibv->handle,
		.rate_limit = attr->rate_limit,
		.max_burst_sz = attr->max_burst_sz,
		.typical_pkt_sz = attr->typical_pkt_sz,
	};

	return univ_cmd_qp_rate(ibv->context->cmd_fd, &cmd);
}

/*
 * The device was asked when the state was @before. The queue pair enters the error states without a
 * call. All other states come from ibv_modify_qp(); a state that a concurrent call has stored since
 * @before is kept. The handles of an XRC receive queue pair, which post nothing, learn the state
 * from each other.
 */
static void learn_state(struct univ_qp *qp, enum ibv_qp_state before, enum ibv_qp_state now)
{
	if (qp->ibv.qp_type == IBV_QPT_XRC_RECV)
		set_state(qp, now);
	else if (now == IBV_QPS_ERR || now == IBV_QPS_SQE)
		__atomic_compare_exchange_n(&qp->ibv.state, &before, now, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

UNIV_EXPORT int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask,
			     struct ibv_qp_init_attr *init_attr)
{
	struct univ_qp_query cmd = {
		.handle = ibv->handle,
		.attr_mask = (uint32_t)attr_mask,
	};
	enum ibv_qp_state before = univ_load_relaxed(&ibv->state);
	int err = univ_cmd_qp_query(ibv->context->cmd_fd, &cmd);

	if (err)
		return err;
	attr_give(attr, &cmd);
	*init_attr = (struct ibv_qp_init_attr) {
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.srq = ibv->srq,
		.cap = attr->cap,
		.qp_type = ibv->qp_type,
		.sq_sig_all = (int)cmd.sq_sig_all,
	};
	if (attr_mask & IBV_QP_STATE)
		learn_state(to_uqp(ibv), before, attr->qp_state);
	return 0;
}

/*
 * No device promises an order of its bytes: Documentation/limits.rst says why uroce does not.
 * Unknown flags give 0 as well, as in rdma-core.
 */
UNIV_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
					   uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

UNIV_EXPORT int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct univ_qp *qp = to_uqp(ibv);
	const struct univ_acks acks = { "ibv_destroy_qp", UNIV_OBJECT_QP, &ibv->mutex, &ibv->cond };
	struct univ_destroy cmd;
	int err = qp_destroy_kernel(qp, &cmd);

	if (err)
		return err;
	/* Explanations look at the rings, whose place another queue pair may have now. */
	univ_qp_table_remove(to_ucontext(ibv->context), qp);
	if (cmd.async_events != univ_load_relaxed(&ibv->events_completed))
		univ_qp_rings_lost(qp);
	/* The wr_id of a completion may point to what the program frees with the queue pair. */
	forget_completions(qp);
	leave_queues(qp);
	univ_acks_wait(&acks, &ibv->events_completed,
		       cmd.async_events);
	if (ibv->pd)
		univ_pd_release(ibv->pd);
	univ_qp_free(qp);
	return 0;
}
