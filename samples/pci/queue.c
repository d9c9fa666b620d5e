// SPDX-License-Identifier: GPL-2.0
/* Completion queues, shared receive queues, queue pairs, and their bells. */
#include "compat.h"
#include "qp_attr.h"
#include "upci.h"

struct upci_srq {
	struct ib_srq ib;
	u32 number;
};

static struct upci_qp *to_qp(struct ib_qp *ib)
{
	return container_of(ib, struct upci_qp, ib);
}

static u32 cq_number(struct ib_cq *ib)
{
	return container_of(ib, struct upci_cq, ib)->number;
}

/* ---- completion queues --------------------------------------------------- */

static int cq_create(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		     struct univ_cq_attrs *attrs)
{
	struct upci_cq *cq = container_of(ib, struct upci_cq, ib);

	ib->cqe = attr->cqe;
	return xa_alloc(&to_upci(ib->device)->cqs, &cq->number, cq,
			XA_LIMIT(1, UPCI_MAX_QUEUES - 1), GFP_KERNEL);
}

static int cq_attach(struct ib_cq *ib, struct univ_cq *core)
{
	struct upci_cq *cq = container_of(ib, struct upci_cq, ib);
	struct upci_cmd cmd = { .op = UPCI_CREATE_CQ, .number = cq->number };

	/* Stays set on failure: the core then calls destroy_cq(). */
	WRITE_ONCE(cq->core, core);
	return upci_command_rings(to_upci(ib->device), &cmd,
				  univ_queue_cq_ring(core), NULL);
}

static int cq_destroy(struct ib_cq *ib, struct ib_udata *udata)
{
	struct upci_cq *cq = container_of(ib, struct upci_cq, ib);
	struct upci_dev *dev = to_upci(ib->device);

	upci_destroy(dev, UPCI_DESTROY_CQ, cq->number);
	upci_forget(dev, &dev->cqs, cq->number);
	return 0;
}

/* ---- shared receive queues ----------------------------------------------- */

static int srq_create(struct ib_srq *ib, struct ib_srq_init_attr *init,
		      struct ib_udata *udata)
{
	struct upci_srq *srq = container_of(ib, struct upci_srq, ib);

	if (init->srq_type != IB_SRQT_BASIC || init->attr.srq_limit)
		return -EOPNOTSUPP;
	return xa_alloc(&to_upci(ib->device)->srqs, &srq->number, srq,
			XA_LIMIT(1, UPCI_MAX_QUEUES - 1), GFP_KERNEL);
}

static int srq_attach(struct ib_srq *ib, const struct univ_ring *ring)
{
	struct upci_srq *srq = container_of(ib, struct upci_srq, ib);
	struct upci_cmd cmd = {
		.op = UPCI_CREATE_SRQ,
		.number = srq->number,
		.pd = upci_pd_number(ib->pd),
	};
	struct univ_ring view = *ring;

	/* The device looks at the ring when a message arrives. */
	univ_ring_set_flags(&view, 0);
	return upci_command_rings(to_upci(ib->device), &cmd, ring, NULL);
}

static int srq_destroy(struct ib_srq *ib, struct ib_udata *udata)
{
	struct upci_srq *srq = container_of(ib, struct upci_srq, ib);
	struct upci_dev *dev = to_upci(ib->device);

	upci_destroy(dev, UPCI_DESTROY_SRQ, srq->number);
	xa_erase(&dev->srqs, srq->number);
	return 0;
}

static int srq_query(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	attr->srq_limit = 0;
	return 0;
}

/* ---- queue pairs --------------------------------------------------------- */

static int qp_create(struct ib_qp *ib, struct ib_qp_init_attr *init,
		     struct ib_udata *udata)
{
	struct ib_qp_cap *cap = &init->cap;
	int ret;

	if (init->qp_type != IB_QPT_RC && init->qp_type != IB_QPT_UD)
		return -EOPNOTSUPP;
	to_qp(ib)->max_sge = cap->max_send_sge;
	cap->max_inline_data = max_t(u32, cap->max_inline_data,
				     cap->max_send_sge *
					     sizeof(struct univ_sge));
	/* Programs may still hold completions of a queue pair that has gone. */
	ret = xa_alloc_cyclic(&to_upci(ib->device)->qps, &ib->qp_num, to_qp(ib),
			      XA_LIMIT(2, UPCI_MAX_QUEUES - 1),
			      &to_upci(ib->device)->next_qp, GFP_KERNEL);
	return min(ret, 0);
}

static int qp_attach(struct ib_qp *ib, const struct univ_queue_rings *rings)
{
	struct upci_qp *qp = to_qp(ib);
	struct upci_cmd cmd = {
		.op = UPCI_CREATE_QP,
		.number = ib->qp_num,
		.pd = upci_pd_number(ib->pd),
		.type = ib->qp_type,
		.send_cq = cq_number(ib->send_cq),
		.recv_cq = cq_number(ib->recv_cq),
		.sig_all = rings->sig_all,
		.max_sge = qp->max_sge,
	};

	if (!rings->send.count)
		return -EINVAL;
	if (ib->srq)
		cmd.srq = container_of(ib->srq, struct upci_srq, ib)->number;
	/*
	 * The device looks at the receive ring when a message arrives. It asks
	 * for bells in the error state, and is the only writer of the flags
	 * from here on.
	 */
	qp->recv = rings->recv;
	if (qp->recv.count)
		univ_ring_set_flags(&qp->recv, 0);
	return upci_command_rings(to_upci(ib->device), &cmd, &rings->send,
				  &rings->recv);
}

static int qp_destroy(struct ib_qp *ib, struct ib_udata *udata)
{
	struct upci_dev *dev = to_upci(ib->device);

	upci_destroy(dev, UPCI_DESTROY_QP, ib->qp_num);
	upci_forget(dev, &dev->qps, ib->qp_num);
	return 0;
}

static int qp_modify(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		     struct ib_udata *udata)
{
	struct upci_qp *qp = to_qp(ib);
	enum ib_qp_state now = READ_ONCE(qp->state);
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : now;
	struct upci_cmd cmd = {
		.op = UPCI_MODIFY_QP,
		.number = ib->qp_num,
		.state = next,
		.dest_qpn = attr->dest_qp_num,
		.qkey = attr->qkey,
		.access = attr->qp_access_flags,
		.rnr_retry = attr->rnr_retry,
		.psn = mask & IB_QP_RQ_PSN ? attr->rq_psn : attr->sq_psn,
		.mask = mask,
	};
	int ret;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	if (next == IB_QPS_SQD || next == IB_QPS_SQE ||
	    !ib_modify_qp_is_ok(now, next, ib->qp_type, mask))
		return -EINVAL;
	if (mask & IB_QP_AV)
		cmd.dlid = rdma_ah_get_dlid(&attr->ah_attr);
	ret = upci_command(to_upci(ib->device), &cmd);
	if (ret)
		return ret;
	/*
	 * If the device has moved the queue pair to ERR meanwhile, it stays in
	 * ERR. Only a reset ends that state, so events of errors before the
	 * reset are handled first.
	 */
	if (next == IB_QPS_RESET) {
		upci_events_handle(to_upci(ib->device));
		WRITE_ONCE(qp->state, next);
	} else {
		cmpxchg(&qp->state, now, next);
	}
	univ_qp_attr_keep(&qp->attr, attr, mask);
	return 0;
}

static int qp_query(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		    struct ib_qp_init_attr *init)
{
	struct upci_qp *qp = to_qp(ib);

	*attr = qp->attr;
	attr->qp_state = READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	return 0;
}

const struct ib_device_ops upci_queue_verbs = {
	.create_cq = cq_create,
	.create_qp = qp_create,
	.create_srq = srq_create,
	.destroy_cq = cq_destroy,
	.destroy_qp = qp_destroy,
	.destroy_srq = srq_destroy,
	.modify_qp = qp_modify,
	.query_qp = qp_query,
	.query_srq = srq_query,

	INIT_RDMA_OBJ_SIZE(ib_cq, upci_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, upci_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, upci_srq, ib),
};

/* ---- doorbells ----------------------------------------------------------- */

/* All contexts share the page; see the head of upci.c. */
static int page_alloc(struct ib_device *ib, struct univ_queue_page *page)
{
	page->addr = pci_resource_start(to_upci(ib)->pdev, 0);
	page->write_combining = false;
	return to_upci(ib)->whole_page ? 0 : -ENOSPC;
}

static void page_free(struct ib_device *ib, const struct univ_queue_page *page)
{
}

static struct univ_bell bell_of(u32 number)
{
	return (struct univ_bell){
		.offset = UPCI_DOORBELL,
		.value = UPCI_MODEL_ID << 16 | UPCI_BELL_QUEUE(number),
	};
}

static int qp_bells(struct ib_qp *ib, const struct univ_queue_page *page,
		    struct univ_bell *send, struct univ_bell *recv)
{
	*send = bell_of(ib->qp_num);
	*recv = *send;
	return 0;
}

static int srq_bell(struct ib_srq *ib, const struct univ_queue_page *page,
		    struct univ_bell *recv)
{
	*recv = bell_of(container_of(ib, struct upci_srq, ib)->number);
	return 0;
}

/* For a program with an old library, a poller, or a context without a page. */
static void qp_kick(struct ib_qp *ib, unsigned long which)
{
	upci_ring_model(to_upci(ib->device), UPCI_BELL_QUEUE(ib->qp_num));
}

/* The device finds receives when a message arrives. */
static void srq_kick(struct ib_srq *ib)
{
}

const struct univ_queue_ops upci_queue_ops = {
	.caps = UNIV_QUEUE_WRITES_CQ | UNIV_QUEUE_DMA,
	.cq_attach = cq_attach,
	.qp_attach = qp_attach,
	.srq_attach = srq_attach,
	.qp_kick = qp_kick,
	.srq_kick = srq_kick,
	.page_alloc = page_alloc,
	.page_free = page_free,
	.qp_bells = qp_bells,
	.srq_bell = srq_bell,
	.ah_attach = upci_ah_attach,
};
