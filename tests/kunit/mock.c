// SPDX-License-Identifier: GPL-2.0
/* See mock.h. */
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "mock.h"

struct mock_pd { struct ib_pd ib; };
struct mock_ah { struct ib_ah ib; };
struct mock_srq { struct ib_srq ib; };
struct mock_qp { struct ib_qp ib; };

static struct mock *to_mock(struct ib_device *ib)
{
	return container_of(ib, struct mock, ib);
}

/* Count a call. Return the error that it is to fail with, or 0. */
static int called(struct ib_device *ib, enum mock_op op)
{
	struct mock *mock = to_mock(ib);
	int call = atomic_inc_return(&mock->calls[op]);

	if (mock->fail_call[op] == MOCK_EVERY_CALL)
		return mock->fail_with[op];
	return call == mock->fail_call[op] ? mock->fail_with[op] : 0;
}

static int born(struct ib_device *ib, enum mock_op op)
{
	int ret = called(ib, op);

	if (!ret)
		atomic_inc(&to_mock(ib)->objects);
	return ret;
}

static int died(struct ib_device *ib, enum mock_op op)
{
	int ret = called(ib, op);

	if (!ret)
		atomic_dec(&to_mock(ib)->objects);
	return ret;
}

static int mock_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 1024;
	attr->max_qp_wr = MOCK_QP_WR;
	attr->max_send_sge = 32;
	attr->max_recv_sge = 32;
	attr->max_sge_rd = 32;
	attr->max_cq = 1024;
	attr->max_cqe = 65536;
	attr->max_mr = 1024;
	attr->max_pd = 1024;
	attr->max_qp_rd_atom = 16;
	attr->max_qp_init_rd_atom = 16;
	attr->max_ah = 1024;
	attr->max_srq = 64;
	attr->max_srq_wr = 4096;
	attr->max_srq_sge = 32;
	attr->max_pkeys = 1;
	attr->max_mcast_grp = 8;
	attr->max_mcast_qp_attach = 8;
	return 0;
}

static int mock_query_port(struct ib_device *ib, u32 port,
			   struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = SZ_1G;
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_SDR;
	attr->port_cap_flags = BIT(1) | BIT(26);
	attr->ip_gids = container_of(ib, struct mock, ib)->ip_gids;
	return 0;
}

static int mock_immutable(struct ib_device *ib, u32 port,
			  struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	return 0;
}

static int mock_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

static int mock_query_gid(struct ib_device *ib, u32 port, int index,
			  union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0xfe;
	gid->raw[1] = 0x80;
	gid->raw[15] = 1;
	return 0;
}

static enum rdma_link_layer mock_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_INFINIBAND;
}

static int mock_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return born(pd->device, MOCK_ALLOC_PD);
}

static int mock_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return died(pd->device, MOCK_DEALLOC_PD);
}

static struct ib_mr *mock_mr(struct ib_pd *pd, enum mock_op op)
{
	struct mock *mock = to_mock(pd->device);
	struct ib_mr *mr;
	int ret;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	ret = born(pd->device, op);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	mr->device = pd->device;
	mr->lkey = ++mock->last_key << 8;
	mr->rkey = mr->lkey;
	return mr;
}

static struct ib_mr *mock_get_dma_mr(struct ib_pd *pd, int access)
{
	return mock_mr(pd, MOCK_GET_DMA_MR);
}

static struct ib_mr *mock_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				      u64 iova, int access,
				      UNIV_DMAH_ARG struct ib_udata *udata)
{
	to_mock(pd->device)->access = access;
	return mock_mr(pd, MOCK_REG_MR);
}

static int mock_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	int ret = died(mr->device, MOCK_DEREG_MR);

	if (!ret)
		kfree(mr);
	return ret;
}

static int mock_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *attr,
			  struct ib_udata *udata)
{
	return born(ah->device, MOCK_CREATE_AH);
}

static int mock_destroy_ah(struct ib_ah *ah, u32 flags)
{
	return died(ah->device, MOCK_DESTROY_AH);
}

static int mock_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
			  struct univ_cq_attrs *attrs)
{
	struct mock_cq *cq = container_of(ib, struct mock_cq, ib);
	struct mock *mock = to_mock(ib->device);
	struct ib_event event = { .event = IB_EVENT_CQ_ERR };
	size_t i;

	spin_lock_init(&cq->lock);
	ib->cqe = attr->cqe;
	if (mock->early)
		ib->event_handler(&event, ib->cq_context);
	for (i = 0; i < ARRAY_SIZE(mock->cqs); i++) {
		if (mock->cqs[i])
			continue;
		mock->cqs[i] = cq;
		break;
	}
	return born(ib->device, MOCK_CREATE_CQ);
}

#ifdef UNIV_HAS_RESIZE_CQ
static int mock_resize_cq(struct ib_cq *ib, int cqe, struct ib_udata *udata)
{
	int ret = called(ib->device, MOCK_RESIZE_CQ);

	if (!ret)
		ib->cqe = cqe;
	return ret;
}
#endif

static int mock_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct mock *mock = to_mock(ib->device);
	int ret = died(ib->device, MOCK_DESTROY_CQ);
	size_t i;

	for (i = 0; !ret && i < ARRAY_SIZE(mock->cqs); i++)
		if (mock->cqs[i] && &mock->cqs[i]->ib == ib)
			mock->cqs[i] = NULL;
	return ret;
}

static int mock_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc)
{
	struct mock_cq *cq = container_of(ib, struct mock_cq, ib);
	struct mock *mock = to_mock(ib->device);
	unsigned long flags;
	int n = 0;

	if (mock->poller == current)
		mock->polls++;
	spin_lock_irqsave(&cq->lock, flags);
	while (n < num && cq->head != cq->tail)
		wc[n++] = cq->wc[cq->head++ % MOCK_WCS];
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

static int mock_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags notify)
{
	struct mock_cq *cq = container_of(ib, struct mock_cq, ib);
	struct mock *mock = to_mock(ib->device);
	unsigned long flags;
	int missed;

	called(ib->device, MOCK_NOTIFY_CQ);
	spin_lock_irqsave(&cq->lock, flags);
	if (mock->late)
		cq->wc[cq->tail++ % MOCK_WCS] = *mock->late;
	mock->late = NULL;
	cq->armed = true;
	missed = cq->head != cq->tail;
	spin_unlock_irqrestore(&cq->lock, flags);
	return notify & IB_CQ_REPORT_MISSED_EVENTS ? missed : 0;
}

void mock_complete_quietly(struct ib_cq *ib, const struct ib_wc *wc)
{
	struct mock_cq *cq = container_of(ib, struct mock_cq, ib);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->wc[cq->tail++ % MOCK_WCS] = *wc;
	spin_unlock_irqrestore(&cq->lock, flags);
}

void mock_complete(struct ib_cq *ib, const struct ib_wc *wc)
{
	struct mock_cq *cq = container_of(ib, struct mock_cq, ib);
	bool locked = !to_mock(ib->device)->unlocked;
	unsigned long flags;
	bool armed;

	spin_lock_irqsave(&cq->lock, flags);
	cq->wc[cq->tail++ % MOCK_WCS] = *wc;
	armed = cq->armed;
	cq->armed = false;
	if (armed && locked)
		ib->comp_handler(ib, ib->cq_context);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (armed && !locked)
		ib->comp_handler(ib, ib->cq_context);
}

void mock_cq_error(struct ib_cq *ib)
{
	struct mock_cq *cq = container_of(ib, struct mock_cq, ib);
	struct ib_event event = {
		.device = ib->device,
		.element.cq = ib,
		.event = IB_EVENT_CQ_ERR,
	};
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	ib->event_handler(&event, ib->cq_context);
	spin_unlock_irqrestore(&cq->lock, flags);
}

static int mock_create_srq(struct ib_srq *srq, struct ib_srq_init_attr *attr,
			   struct ib_udata *udata)
{
	struct ib_event event = { .event = IB_EVENT_SRQ_ERR };

	if (to_mock(srq->device)->early)
		srq->event_handler(&event, srq->srq_context);
	return born(srq->device, MOCK_CREATE_SRQ);
}

static int mock_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr,
			   enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	return called(srq->device, MOCK_MODIFY_SRQ);
}

static int mock_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr)
{
	return called(srq->device, MOCK_QUERY_SRQ);
}

static int mock_destroy_srq(struct ib_srq *srq, struct ib_udata *udata)
{
	return died(srq->device, MOCK_DESTROY_SRQ);
}

static int mock_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			  struct ib_udata *udata)
{
	static atomic_t number = ATOMIC_INIT(100);
	struct ib_event event = { .event = IB_EVENT_QP_FATAL };
	struct mock *mock = to_mock(qp->device);

	if (mock->made_qp)
		mock->made_qp(mock, qp);
	qp->qp_num = atomic_inc_return(&number);
	if (mock->early)
		attr->event_handler(&event, attr->qp_context);
	return born(qp->device, MOCK_CREATE_QP);
}

static int mock_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	return called(qp->device, MOCK_MODIFY_QP);
}

static int mock_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			 struct ib_qp_init_attr *init)
{
	return called(qp->device, MOCK_QUERY_QP);
}

/* Drop the completions of @qp. The completions of other queue pairs stay, in their order. */
static void cq_drop(struct mock_cq *cq, const struct ib_qp *qp)
{
	unsigned long flags;
	u32 from, to;

	spin_lock_irqsave(&cq->lock, flags);
	for (from = to = cq->head; from != cq->tail; from++)
		if (cq->wc[from % MOCK_WCS].qp != qp)
			cq->wc[to++ % MOCK_WCS] = cq->wc[from % MOCK_WCS];
	cq->tail = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}

static int mock_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	struct mock *mock = to_mock(qp->device);
	size_t i;

	if (mock->ending)
		mock->ending(mock);
	for (i = 0; mock->drops && i < ARRAY_SIZE(mock->cqs); i++)
		if (mock->cqs[i])
			cq_drop(mock->cqs[i], qp);
	return died(qp->device, MOCK_DESTROY_QP);
}

static void keep_sges(struct mock_wr *kept, const struct ib_sge *sge, int num)
{
	kept->num_sge = num;
	memcpy(kept->sge, sge, min_t(size_t, num, ARRAY_SIZE(kept->sge)) *
				       sizeof(*sge));
}

static void keep_send(struct mock_wr *kept, const struct ib_qp *qp,
		      const struct ib_send_wr *wr)
{
	memset(kept, 0, sizeof(*kept));
	kept->wr_id = wr->wr_id;
	kept->opcode = wr->opcode;
	kept->flags = wr->send_flags;
	kept->imm = (__force u32)wr->ex.imm_data;
	keep_sges(kept, wr->sg_list, wr->num_sge);
	if (wr->send_flags & IB_SEND_INLINE && wr->num_sge)
		memcpy(kept->inline_data, (void *)(uintptr_t)wr->sg_list->addr,
		       min_t(u32, wr->sg_list->length,
			     sizeof(kept->inline_data)));
	if (qp->qp_type == IB_QPT_UD) {
		kept->remote_qpn = ud_wr(wr)->remote_qpn;
		return;
	}
	switch (wr->opcode) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		kept->remote_addr = atomic_wr(wr)->remote_addr;
		kept->rkey = atomic_wr(wr)->rkey;
		kept->compare_add = atomic_wr(wr)->compare_add;
		kept->swap = atomic_wr(wr)->swap;
		break;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		kept->remote_addr = rdma_wr(wr)->remote_addr;
		kept->rkey = rdma_wr(wr)->rkey;
		break;
	default:
		break;
	}
}

/* Each request counts as a call, so that any request of a list can fail. */
static int mock_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	struct mock *mock = to_mock(qp->device);
	int ret;

	mock->batches++;
	if (mock->posting)
		mock->posting(mock);
	for (; wr; wr = wr->next) {
		ret = called(qp->device, MOCK_POST_SEND);
		if (!ret && !mock->send_room)
			ret = -ENOMEM;
		if (ret) {
			if (!mock->nameless)
				*bad = wr;
			return ret;
		}
		mock->send_room--;
		keep_send(&mock->sends[mock->num_sends++ % MOCK_KEPT], qp, wr);
	}
	return 0;
}

static int post_recvs(struct ib_device *ib, enum mock_op op,
		      const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct mock *mock = to_mock(ib);
	struct mock_wr *kept;
	int ret;

	if (mock->posting)
		mock->posting(mock);
	for (; wr; wr = wr->next) {
		ret = called(ib, op);
		if (!ret && !mock->recv_room)
			ret = -ENOMEM;
		if (ret) {
			if (!mock->nameless)
				*bad = wr;
			return ret;
		}
		mock->recv_room--;
		kept = &mock->recvs[mock->num_recvs++ % MOCK_KEPT];
		memset(kept, 0, sizeof(*kept));
		kept->wr_id = wr->wr_id;
		keep_sges(kept, wr->sg_list, wr->num_sge);
	}
	return 0;
}

static int mock_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad)
{
	return post_recvs(qp->device, MOCK_POST_RECV, wr, bad);
}

static int mock_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
			      const struct ib_recv_wr **bad)
{
	return post_recvs(srq->device, MOCK_POST_SRQ_RECV, wr, bad);
}

static int mock_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	return called(qp->device, MOCK_ATTACH_MCAST);
}

static int mock_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid)
{
	return called(qp->device, MOCK_DETACH_MCAST);
}

static const struct ib_device_ops mock_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.query_device = mock_query_device,
	.query_port = mock_query_port,
	.get_port_immutable = mock_immutable,
	.query_pkey = mock_query_pkey,
	.query_gid = mock_query_gid,
	.get_link_layer = mock_link_layer,
	.alloc_pd = mock_alloc_pd,
	.dealloc_pd = mock_dealloc_pd,
	.get_dma_mr = mock_get_dma_mr,
	.reg_user_mr = mock_reg_user_mr,
	.dereg_mr = mock_dereg_mr,
	.create_ah = mock_create_ah,
	.create_user_ah = mock_create_ah,
	.destroy_ah = mock_destroy_ah,
	.create_cq = mock_create_cq,
#ifdef UNIV_HAS_RESIZE_CQ
	.resize_cq = mock_resize_cq,
#endif
	.destroy_cq = mock_destroy_cq,
	.poll_cq = mock_poll_cq,
	.req_notify_cq = mock_notify_cq,
	.create_srq = mock_create_srq,
	.modify_srq = mock_modify_srq,
	.query_srq = mock_query_srq,
	.destroy_srq = mock_destroy_srq,
	.post_srq_recv = mock_post_srq_recv,
	.create_qp = mock_create_qp,
	.modify_qp = mock_modify_qp,
	.query_qp = mock_query_qp,
	.destroy_qp = mock_destroy_qp,
	.post_send = mock_post_send,
	.post_recv = mock_post_recv,
	.attach_mcast = mock_attach_mcast,
	.detach_mcast = mock_detach_mcast,

	INIT_RDMA_OBJ_SIZE(ib_pd, mock_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_ah, mock_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, mock_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, mock_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, mock_qp, ib),
};

void mock_reset(struct mock *mock)
{
	int op;

	for (op = 0; op < MOCK_OPS; op++)
		atomic_set(&mock->calls[op], 0);
	memset(mock->fail_call, 0, sizeof(mock->fail_call));
	mock->num_sends = 0;
	mock->num_recvs = 0;
	mock->batches = 0;
	mock->send_room = UINT_MAX;
	mock->recv_room = UINT_MAX;
}

void mock_fail_all(struct mock *mock, enum mock_op op, int err)
{
	mock->fail_with[op] = err;
	mock->fail_call[op] = MOCK_EVERY_CALL;
}

void mock_fail(struct mock *mock, enum mock_op op, int call, int err)
{
	mock->fail_call[op] = mock_calls(mock, op) + call;
	mock->fail_with[op] = err;
}

struct mock *mock_create(void)
{
	struct mock *mock = ib_alloc_device(mock, ib);

	if (!mock)
		return NULL;
	mock->ib.node_type = RDMA_NODE_IB_CA;
	mock->ib.phys_port_cnt = 1;
	mock->ib.num_comp_vectors = 2;
	mock->ib.node_guid = cpu_to_be64(0x1122334455667788ull);
	ib_set_device_ops(&mock->ib, &mock_ops);
	mock_reset(mock);
	if (!ib_register_device(&mock->ib, "mock%d", NULL))
		return mock;
	ib_dealloc_device(&mock->ib);
	return NULL;
}

void mock_destroy(struct mock *mock)
{
	ib_unregister_device(&mock->ib);
	ib_dealloc_device(&mock->ib);
}
