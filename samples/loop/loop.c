// SPDX-License-Identifier: GPL-2.0
/*
 * The smallest native driver. Its only device, loop0, connects queue pairs of
 * the same device. It supports reliable connections, sends, and scatter lists
 * of one entry. Documentation/driver.rst explains the code step by step.
 *
 * All work is done in the calls of processes, under one mutex. kernel/uroce
 * shows the parts that a driver of hardware also needs: work after the call has
 * returned, kernel users, and shared receive queues.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "queue.h"

#define MAX_WR		4096
#define MAX_MESSAGE	(1 << 20)

struct loop_dev {
	struct ib_device ib;
	struct mutex lock;		/* protects @qps, @mrs, @bounce, QPs */
	struct xarray qps;		/* indexed by number */
	u32 next_qp;
	struct xarray mrs;		/* indexed by key */
	u8 bounce[PAGE_SIZE];
};

struct loop_pd {
	struct ib_pd ib;
};

struct loop_cq {
	struct ib_cq ib;
	struct univ_cq *core;
};

struct loop_mr {
	struct ib_mr ib;
	struct ib_umem *umem;
	u64 iova;
	u64 length;
	int access;
};

struct loop_qp {
	struct ib_qp ib;
	struct univ_ring send;
	struct univ_ring recv;
	u32 sent;			/* requests taken from @send */
	u32 received;			/* requests taken from @recv */
	bool sig_all;
	enum ib_qp_state state;
	u32 dest;
};

/* A message, with private copies of its requests. */
struct message {
	struct univ_send_wr wr;
	struct univ_sge from;
	const void *data;		/* inline data in the slot, or NULL */
	u32 len;
	struct univ_recv_wr recv;
	struct univ_sge to;
};

static struct loop_dev *to_loop(struct ib_device *ib)
{
	return container_of(ib, struct loop_dev, ib);
}

static struct loop_qp *to_qp(struct ib_qp *ib)
{
	return container_of(ib, struct loop_qp, ib);
}

/* ---- memory: step 3 ------------------------------------------------------ */

static struct ib_mr *mr_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			    int access, UNIV_DMAH_ARG struct ib_udata *udata)
{
	struct loop_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->iova = iova;
	mr->length = length;
	mr->access = access;
	mr->ib.pd = pd;
	mr->umem = ib_umem_get_va(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		goto free;
	}
	ret = xa_alloc(&to_loop(pd->device)->mrs, &mr->ib.lkey, mr,
		       xa_limit_31b, GFP_KERNEL);
	if (ret)
		goto release;
	mr->ib.rkey = mr->ib.lkey;
	return &mr->ib;

release:
	ib_umem_release(mr->umem);
free:
	kfree(mr);
	return ERR_PTR(ret);
}

static int mr_dereg(struct ib_mr *ib, struct ib_udata *udata)
{
	struct loop_mr *mr = container_of(ib, struct loop_mr, ib);
	struct loop_dev *dev = to_loop(ib->device);

	/* mr_copy() runs under the lock, so no copy uses the pages any more. */
	mutex_lock(&dev->lock);
	xa_erase(&dev->mrs, ib->lkey);
	mutex_unlock(&dev->lock);
	ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}

/*
 * Copies from (@read) or to the region of a key. Fails if the region belongs to
 * another protection domain, is too short, or does not permit the access.
 */
static bool mr_copy(struct loop_qp *qp, const struct univ_sge *at, u32 off,
		    void *buf, u32 len, bool read)
{
	struct loop_mr *mr = xa_load(&to_loop(qp->ib.device)->mrs, at->lkey);
	u64 from;

	if (!mr || mr->ib.pd != qp->ib.pd ||
	    !(read || mr->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	from = at->addr - mr->iova;
	if (from > mr->length || at->length > mr->length - from)
		return false;
	sg_copy_buffer(mr->umem->sgt_append.sgt.sgl,
		       mr->umem->sgt_append.sgt.orig_nents, buf, len,
		       ib_umem_offset(mr->umem) + from + off, read);
	return true;
}

/* ---- requests and completions: steps 6 and 7 ----------------------------- */

/*
 * Writes a completion. An error status or a full completion queue moves the
 * queue pair to the error state.
 */
static void tell(struct loop_qp *qp, struct ib_cq *ib, struct univ_cqe *cqe)
{
	struct univ_cq *cq = container_of(ib, struct loop_cq, ib)->core;

	cqe->qp_num = qp->ib.qp_num;
	if (!univ_queue_complete(cq, cqe, true) || cqe->status)
		qp->state = IB_QPS_ERR;
	univ_queue_notify(cq);
}

static void tell_sender(struct loop_qp *qp, const struct message *m,
			enum ib_wc_status status, u16 reason)
{
	struct univ_cqe cqe = {
		.wr_id = m->wr.wr_id,
		.status = status,
		.opcode = IB_WC_SEND,
		.reason = reason,
	};

	/* Retire the slot first, so that it is free when the process polls. */
	univ_ring_retire(&qp->send, ++qp->sent);
	if (status || qp->sig_all || m->wr.flags & UNIV_WR_SIGNALED)
		tell(qp, qp->ib.send_cq, &cqe);
}

static void tell_receiver(struct loop_qp *qp, const struct message *m,
			  enum ib_wc_status status)
{
	struct univ_cqe cqe = {
		.wr_id = m->recv.wr_id,
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = m->len,
	};

	if (m->wr.opcode == UNIV_WR_SEND_WITH_IMM) {
		cqe.wc_flags = IB_WC_WITH_IMM;
		cqe.imm = m->wr.imm;
	}
	tell(qp, qp->ib.recv_cq, &cqe);
}

/* Copies and checks the request at the head. Returns a reason, or 0. */
static u16 load_send(struct loop_qp *qp, struct message *m)
{
	u16 reason = univ_ring_fetch_send(&qp->send, qp->sent, &m->wr, &m->from,
					  1);

	m->data = NULL;
	m->len = 0;
	if (reason)
		return reason;
	if (m->wr.flags & UNIV_WR_INLINE) {
		m->data = univ_ring_inline(&qp->send, qp->sent);
		m->len = m->wr.count;
	} else if (m->wr.count) {
		m->len = m->from.length;
	}
	if (m->wr.opcode != UNIV_WR_SEND &&
	    m->wr.opcode != UNIV_WR_SEND_WITH_IMM)
		return UNIV_REASON_WR_OPCODE;
	return m->len > MAX_MESSAGE ? UNIV_REASON_WR_SGE : 0;
}

/* Takes the next receive request. Returns false if there is none. */
static bool load_recv(struct loop_qp *qp, struct message *m)
{
	int n = univ_ring_waiting(&qp->recv, qp->received);

	if (n < 0)
		qp->state = IB_QPS_ERR;
	if (n <= 0)
		return false;
	univ_ring_fetch_recv(&qp->recv, qp->received, &m->recv, &m->to, 1);
	univ_ring_retire(&qp->recv, ++qp->received);
	return true;
}

/* ---- the device's work: step 5 ------------------------------------------- */

static enum ib_wc_status move(struct loop_qp *qp, struct loop_qp *peer,
			      const struct message *m)
{
	u8 *bounce = to_loop(qp->ib.device)->bounce;
	u32 off, n;

	for (off = 0; off < m->len; off += n) {
		n = min_t(u32, m->len - off, PAGE_SIZE);
		if (m->data)
			memcpy(bounce, m->data + off, n);
		else if (!mr_copy(qp, &m->from, off, bounce, n, true))
			return IB_WC_LOC_PROT_ERR;
		if (!mr_copy(peer, &m->to, off, bounce, n, false))
			return IB_WC_REM_OP_ERR;
	}
	return IB_WC_SUCCESS;
}

/* Returns false if the peer, or its receive request, is not there yet. */
static bool perform(struct loop_qp *qp, struct message *m)
{
	struct loop_qp *peer = xa_load(&to_loop(qp->ib.device)->qps, qp->dest);
	enum ib_wc_status ours, theirs = IB_WC_SUCCESS;

	if (!peer || peer->dest != qp->ib.qp_num ||
	    (peer->state != IB_QPS_RTR && peer->state != IB_QPS_RTS) ||
	    !load_recv(peer, m))
		return false;
	if (m->len > (m->recv.count ? m->to.length : 0)) {
		ours = IB_WC_REM_INV_REQ_ERR;
		theirs = IB_WC_LOC_LEN_ERR;
	} else {
		ours = move(qp, peer, m);
		if (ours == IB_WC_REM_OP_ERR)
			theirs = IB_WC_LOC_PROT_ERR;
		else if (ours)
			theirs = IB_WC_WR_FLUSH_ERR;
	}
	tell_receiver(peer, m, theirs);
	tell_sender(qp, m, ours, 0);
	return true;
}

/* Processes the requests of a queue pair. Context: the device's lock. */
static void run(struct loop_qp *qp)
{
	struct message m = {};
	u16 reason;
	int n;

	while (qp->state == IB_QPS_RTS || qp->state == IB_QPS_ERR) {
		n = univ_ring_waiting(&qp->send, qp->sent);
		if (!n)
			break;
		if (n < 0) {
			/* The index is corrupt: report one last completion. */
			qp->sent = univ_ring_published(&qp->send) - 1;
			tell_sender(qp, &m, IB_WC_LOC_QP_OP_ERR,
				    UNIV_REASON_RING_CORRUPT);
			break;
		}
		reason = load_send(qp, &m);
		if (qp->state == IB_QPS_ERR)
			tell_sender(qp, &m, IB_WC_WR_FLUSH_ERR, 0);
		else if (reason)
			tell_sender(qp, &m, IB_WC_LOC_QP_OP_ERR, reason);
		else if (!perform(qp, &m))
			break;
	}
	memset(&m, 0, sizeof(m));
	while (qp->state == IB_QPS_ERR && load_recv(qp, &m))
		tell_receiver(qp, &m, IB_WC_WR_FLUSH_ERR);
}

/* A change to a queue pair can let requests of its peer proceed as well. */
static void run_both(struct loop_qp *qp)
{
	struct loop_qp *peer = xa_load(&to_loop(qp->ib.device)->qps, qp->dest);

	run(qp);
	if (peer && peer != qp && peer->dest == qp->ib.qp_num)
		run(peer);
}

static void qp_kick(struct ib_qp *ib, unsigned long which)
{
	struct loop_dev *dev = to_loop(ib->device);

	mutex_lock(&dev->lock);
	run_both(to_qp(ib));
	mutex_unlock(&dev->lock);
}

/* ---- queues: step 4 ------------------------------------------------------ */

static int cq_attach(struct ib_cq *ib, struct univ_cq *core)
{
	container_of(ib, struct loop_cq, ib)->core = core;
	return 0;
}

static int qp_attach(struct ib_qp *ib, const struct univ_queue_rings *rings)
{
	struct loop_qp *qp = to_qp(ib);

	/* The core has set NEED_KICK in both rings, and it stays set. */
	qp->send = rings->send;
	qp->recv = rings->recv;
	qp->sig_all = rings->sig_all;
	return 0;
}

static const struct univ_queue_ops loop_queue_ops = {
	.cq_attach = cq_attach,
	.qp_attach = qp_attach,
	.qp_kick = qp_kick,
};

static int cq_create(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		     struct univ_cq_attrs *attrs)
{
	ib->cqe = attr->cqe;
	return attr->cqe > MAX_WR * 2 ? -EINVAL : 0;
}

static int cq_destroy(struct ib_cq *ib, struct ib_udata *udata)
{
	return 0;
}

static int qp_create(struct ib_qp *ib, struct ib_qp_init_attr *init,
		     struct ib_udata *udata)
{
	struct loop_qp *qp = to_qp(ib);
	struct ib_qp_cap *cap = &init->cap;
	int ret;

	if (init->qp_type != IB_QPT_RC || init->srq)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > MAX_WR || cap->max_recv_wr > MAX_WR ||
	    cap->max_send_sge > 1 || cap->max_recv_sge > 1)
		return -EINVAL;
	cap->max_inline_data = cap->max_send_sge * sizeof(struct univ_sge);
	/* Programs may still hold completions of a queue pair that has gone. */
	ret = xa_alloc_cyclic(&to_loop(ib->device)->qps, &ib->qp_num, qp,
			      XA_LIMIT(2, 0xffffff),
			      &to_loop(ib->device)->next_qp, GFP_KERNEL);
	return min(ret, 0);
}

static int qp_destroy(struct ib_qp *ib, struct ib_udata *udata)
{
	struct loop_dev *dev = to_loop(ib->device);

	/* Look-ups and uses happen under the lock, so the QP is idle now. */
	mutex_lock(&dev->lock);
	xa_erase(&dev->qps, ib->qp_num);
	mutex_unlock(&dev->lock);
	return 0;
}

/* Step 9: discards the requests that were published. */
static void qp_reset(struct loop_qp *qp)
{
	qp->dest = 0;
	if (qp->send.count) {
		qp->sent = univ_ring_published(&qp->send);
		univ_ring_retire(&qp->send, qp->sent);
	}
	if (qp->recv.count) {
		qp->received = univ_ring_published(&qp->recv);
		univ_ring_retire(&qp->recv, qp->received);
	}
}

static int qp_modify(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		     struct ib_udata *udata)
{
	struct loop_dev *dev = to_loop(ib->device);
	struct loop_qp *qp = to_qp(ib);
	enum ib_qp_state next;
	int ret = 0;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	mutex_lock(&dev->lock);
	next = mask & IB_QP_STATE ? attr->qp_state : qp->state;
	if (next == IB_QPS_SQD || next == IB_QPS_SQE ||
	    !ib_modify_qp_is_ok(qp->state, next, IB_QPT_RC, mask)) {
		ret = -EINVAL;
		goto unlock;
	}
	if (mask & IB_QP_DEST_QPN)
		qp->dest = attr->dest_qp_num;
	qp->state = next;
	if (next == IB_QPS_RESET)
		qp_reset(qp);
	run_both(qp);
unlock:
	mutex_unlock(&dev->lock);
	return ret;
}

/* ---- the device: steps 1 and 2 ------------------------------------------- */

static int query_device(struct ib_device *ib, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	attr->max_mr_size = 1ull << 40;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 1 << 16;
	attr->max_qp_wr = MAX_WR;
	attr->max_send_sge = 1;
	attr->max_recv_sge = 1;
	attr->max_cq = 1 << 16;
	attr->max_cqe = MAX_WR * 2;
	attr->max_mr = 1 << 16;
	attr->max_pd = 1 << 16;
	/* There are no RDMA reads, but programs request a depth for them. */
	attr->max_qp_rd_atom = 1;
	attr->max_qp_init_rd_atom = 1;
	attr->max_pkeys = 1;
	return 0;
}

static int query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = MAX_MESSAGE;
	attr->lid = 1;
	attr->sm_lid = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_SDR;
	return 0;
}

static int port_immutable(struct ib_device *ib, u32 port,
			  struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	return 0;
}

static int query_gid(struct ib_device *ib, u32 port, int index,
		     union ib_gid *gid)
{
	gid->global.subnet_prefix = cpu_to_be64(0xfe80000000000000ull);
	gid->global.interface_id = ib->node_guid;
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

/* A protection domain has no state: only its address is compared. */
static int pd_alloc(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int pd_dealloc(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static const struct ib_device_ops loop_ops = {
	.owner = THIS_MODULE,
	.alloc_pd = pd_alloc,
	.create_cq = cq_create,
	.create_qp = qp_create,
	.dealloc_pd = pd_dealloc,
	.dereg_mr = mr_dereg,
	.destroy_cq = cq_destroy,
	.destroy_qp = qp_destroy,
	.get_port_immutable = port_immutable,
	.modify_qp = qp_modify,
	.query_device = query_device,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.query_port = query_port,
	.reg_user_mr = mr_reg,

	INIT_RDMA_OBJ_SIZE(ib_cq, loop_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, loop_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, loop_qp, ib),
};

static struct loop_dev *loop;

static int __init loop_init(void)
{
	int ret;

	loop = ib_alloc_device(loop_dev, ib);
	if (!loop)
		return -ENOMEM;
	mutex_init(&loop->lock);
	xa_init_flags(&loop->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&loop->mrs, XA_FLAGS_ALLOC1);
	loop->ib.node_type = RDMA_NODE_IB_CA;
	loop->ib.node_guid = cpu_to_be64(0x0200000000000001ull);
	loop->ib.phys_port_cnt = 1;
	loop->ib.num_comp_vectors = 1;
	ib_set_device_ops(&loop->ib, &loop_ops);
	/* Register the operations before the device becomes visible. */
	ret = univ_queue_register(&loop->ib, &loop_queue_ops);
	if (ret)
		goto dealloc;
	ret = ib_register_device(&loop->ib, "loop%d", NULL);
	if (!ret)
		return 0;
	univ_queue_unregister(&loop->ib);
dealloc:
	ib_dealloc_device(&loop->ib);
	return ret;
}

static void __exit loop_exit(void)
{
	/* This destroys the objects of all processes. */
	ib_unregister_device(&loop->ib);
	univ_queue_unregister(&loop->ib);
	ib_dealloc_device(&loop->ib);
}

module_init(loop_init);
module_exit(loop_exit);

MODULE_DESCRIPTION("Sample of a driver that serves the rings itself");
MODULE_AUTHOR("univerbs maintainers");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(UNIVERBS_NS);
