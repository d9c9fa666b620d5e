// SPDX-License-Identifier: GPL-2.0
/*
 * upci: a PCI device whose queues and doorbells lie in the process, so that no
 * kernel code runs when a request is posted, executed or polled. The device is
 * QEMU's ivshmem-doorbell with the program samples/pci/model behind it.
 * Documentation/driver.rst explains the code in "A device with doorbells".
 *
 * BAR0 of an ivshmem device is one page with one doorbell register, so all
 * contexts of a device get the same page. A process can therefore ring for
 * queues of another one, which makes the device look at a ring in vain, and can
 * raise this guest's own interrupts. A device of your own has a page for each
 * context, and takes a doorbell only through the page of the queue's context.
 */
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "queue.h"
#include "upci_hw.h"

#define COMMAND_TIMEOUT	(60 * HZ)
#define HEART_PERIOD	(2 * HZ)
#define HEART_MISSES	10		/* periods without a beat */

enum upci_flag {
	UPCI_DEAD,			/* it does not answer any more */
	UPCI_REGISTERED,
};

struct upci_dev {
	struct ib_device ib;
	struct pci_dev *pdev;
	void __iomem *regs;		/* BAR0 */
	struct upci_mem __iomem *mem;	/* BAR2 */
	struct mutex lock;		/* the command, and the list in BAR2 */
	wait_queue_head_t done;		/* of the command */
	unsigned long flags;		/* enum upci_flag, by bit */
	spinlock_t events_lock;		/* the event ring */
	struct delayed_work watch;
	u32 heart;
	u32 misses;
	struct xarray cqs;		/* by number; for the events, too */
	struct xarray qps;
	struct xarray srqs;
	struct xarray mrs;		/* by key */
	struct xarray ahs;
	struct xarray pds;
};

struct upci_pd {
	struct ib_pd ib;
	u32 number;
};

struct upci_cq {
	struct ib_cq ib;
	u32 number;
	struct univ_cq *core;
	struct univ_ring_dma *dma;
};

struct upci_srq {
	struct ib_srq ib;
	u32 number;
	struct univ_ring_dma *dma;
};

struct upci_qp {
	struct ib_qp ib;
	struct ib_qp_attr attr;		/* as modified; the state is @state */
	enum ib_qp_state state;		/* the device changes it to ERR */
	bool attached;
	u32 max_sge;			/* of a send request */
	struct univ_ring recv;
	struct univ_ring_dma *send_dma;
	struct univ_ring_dma *recv_dma;	/* NULL with a shared queue */
};

struct upci_mr {
	struct ib_mr ib;
	struct ib_umem *umem;
};

struct upci_ah {
	struct ib_ah ib;
	u32 dlid;
	u32 number;			/* 0 until it is attached */
};

static struct upci_dev *to_upci(struct ib_device *ib)
{
	return container_of(ib, struct upci_dev, ib);
}

static struct upci_qp *to_qp(struct ib_qp *ib)
{
	return container_of(ib, struct upci_qp, ib);
}

static u32 pd_number(struct ib_pd *ib)
{
	return container_of(ib, struct upci_pd, ib)->number;
}

static u32 cq_number(struct ib_cq *ib)
{
	return container_of(ib, struct upci_cq, ib)->number;
}

/* ---- commands ------------------------------------------------------------ */

static void ring_model(struct upci_dev *dev, u32 vector)
{
	writel(UPCI_MODEL_ID << 16 | vector, dev->regs + UPCI_DOORBELL);
}

static bool is_dead(const struct upci_dev *dev)
{
	return test_bit(UPCI_DEAD, &dev->flags);
}

/*
 * The device does not answer. A PCI device reaches no memory from here on, so
 * that the destroying functions may free what it used. The model is a process
 * beside the bus: it ends, or it writes to memory that is not its own any more.
 * The watch takes the device away, once there is one.
 */
static void upci_die(struct upci_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ib,
		.event = IB_EVENT_DEVICE_FATAL,
		.element.port_num = 1,
	};

	if (test_and_set_bit(UPCI_DEAD, &dev->flags))
		return;
	dev_err(&dev->pdev->dev, "the device does not answer\n");
	pci_clear_master(dev->pdev);
	wake_up_all(&dev->done);
	if (!test_bit(UPCI_REGISTERED, &dev->flags))
		return;
	ib_dispatch_event(&event);
	mod_delayed_work(system_long_wq, &dev->watch, 0);
}

/*
 * The device writes the number of the command behind its result. An interrupt
 * alone is no proof, since any process that maps BAR0 can raise one.
 */
static bool command_done(struct upci_dev *dev, u32 asked)
{
	return is_dead(dev) || readl(&dev->mem->cmd_done) == asked;
}

/*
 * Executes a command; its list is in BAR2 already. A dead device has forgotten
 * all objects, so a destruction succeeds. Context: the lock is held.
 */
static int command_locked(struct upci_dev *dev, const struct upci_cmd *cmd)
{
	u32 asked = readl(&dev->mem->cmd_asked) + 1;

	lockdep_assert_held(&dev->lock);
	if (is_dead(dev))
		return cmd->op >= UPCI_DESTROY_CQ ? 0 : -EIO;
	memcpy_toio(&dev->mem->cmd, cmd, sizeof(*cmd));
	writel(asked, &dev->mem->cmd_asked);
	ring_model(dev, UPCI_BELL_COMMAND);
	if (!wait_event_timeout(dev->done, command_done(dev, asked),
				COMMAND_TIMEOUT))
		upci_die(dev);
	if (is_dead(dev))
		return cmd->op >= UPCI_DESTROY_CQ ? 0 : -EIO;
	return (int)readl(&dev->mem->cmd_result);
}

static int command(struct upci_dev *dev, const struct upci_cmd *cmd)
{
	int ret;

	mutex_lock(&dev->lock);
	ret = command_locked(dev, cmd);
	mutex_unlock(&dev->lock);
	return ret;
}

static int destroy(struct upci_dev *dev, enum upci_op op, u32 number)
{
	struct upci_cmd cmd = { .op = op, .number = number };

	return command(dev, &cmd);
}

/* Appends the pages of a ring to the list. Returns the new end of the list. */
static u32 list_ring(struct upci_dev *dev, u32 at, struct upci_ring *to,
		     const struct univ_ring *ring,
		     const struct univ_ring_dma *dma)
{
	void __iomem *list = (void __iomem *)dev->mem + UPCI_LIST;
	u32 i;

	*to = (struct upci_ring){
		.head = dma->head,
		.slots = dma->slots,
		.count = ring->count,
		.stride = ring->stride,
		.pages = dma->count,
	};
	for (i = 0; i < dma->count; i++)
		writeq(dma->page[i], list + (at + i) * 8);
	return at + dma->count;
}

/* A command that creates a queue with one or two rings. */
static int command_rings(struct upci_dev *dev, struct upci_cmd *cmd,
			 const struct univ_ring *ring,
			 const struct univ_ring_dma *dma,
			 const struct univ_ring *recv,
			 const struct univ_ring_dma *recv_dma)
{
	u32 at = 0;
	int ret;

	if (dma->count + (recv_dma ? recv_dma->count : 0) > UPCI_LIST_MAX)
		return -ENOMEM;
	mutex_lock(&dev->lock);
	at = list_ring(dev, at, &cmd->ring, ring, dma);
	if (recv_dma)
		list_ring(dev, at, &cmd->recv, recv, recv_dma);
	ret = command_locked(dev, cmd);
	mutex_unlock(&dev->lock);
	return ret;
}

/* ---- events -------------------------------------------------------------- */

static void event_handle(struct upci_dev *dev, u32 type, u32 number)
{
	struct upci_qp *qp;
	struct upci_cq *cq;

	switch (type) {
	case UPCI_EVENT_COMPLETION:
		cq = xa_load(&dev->cqs, number);
		if (cq && cq->core)
			univ_queue_raise(cq->core);
		return;
	case UPCI_EVENT_OVERRUN:
		cq = xa_load(&dev->cqs, number);
		if (cq && cq->core)
			univ_queue_overrun(cq->core);
		return;
	case UPCI_EVENT_QP_ERROR:
		qp = xa_load(&dev->qps, number);
		if (qp)
			WRITE_ONCE(qp->state, IB_QPS_ERR);
		return;
	default:
		return;
	}
}

/*
 * D2: the device has written the completion to memory before it writes the
 * event, and the event before it raises the interrupt.
 */
static void events_handle(struct upci_dev *dev)
{
	struct upci_event __iomem *event;
	unsigned long flags;
	u32 head, tail;

	spin_lock_irqsave(&dev->events_lock, flags);
	head = readl(&dev->mem->event_head);
	tail = readl(&dev->mem->event_tail);
	if (tail - head > UPCI_EVENTS)
		tail = head;
	for (; head != tail; head++) {
		event = &dev->mem->events[head % UPCI_EVENTS];
		event_handle(dev, readl(&event->type), readl(&event->number));
	}
	writel(head, &dev->mem->event_head);
	spin_unlock_irqrestore(&dev->events_lock, flags);
}

static irqreturn_t event_irq(int irq, void *data)
{
	events_handle(data);
	return IRQ_HANDLED;
}

static irqreturn_t command_irq(int irq, void *data)
{
	struct upci_dev *dev = data;

	wake_up(&dev->done);
	return IRQ_HANDLED;
}

/*
 * The device has forgotten an object with events. Those that it wrote before
 * are handled, interrupt or not, so that none of them meets the object that
 * gets the number next. The interrupt may still have found this object.
 */
static void forget(struct upci_dev *dev, struct xarray *table, u32 number)
{
	events_handle(dev);
	xa_erase(table, number);
	synchronize_irq(pci_irq_vector(dev->pdev, UPCI_IRQ_EVENT));
}

/*
 * The device beats as long as it lives. When it is dead, the device is taken
 * from all programs as if it had been pulled out.
 */
static void upci_watch(struct work_struct *work)
{
	struct upci_dev *dev = container_of(to_delayed_work(work),
					    struct upci_dev, watch);
	u32 heart = readl(&dev->mem->heart);

	dev->misses = heart == dev->heart ? dev->misses + 1 : 0;
	dev->heart = heart;
	if (dev->misses == HEART_MISSES)
		upci_die(dev);
	if (is_dead(dev))
		ib_unregister_device(&dev->ib);
	else
		queue_delayed_work(system_long_wq, &dev->watch, HEART_PERIOD);
}

/* ---- memory -------------------------------------------------------------- */

static int mr_create(struct upci_dev *dev, struct upci_mr *mr,
		     struct upci_cmd *cmd)
{
	void __iomem *list = (void __iomem *)dev->mem + UPCI_LIST;
	struct ib_block_iter block;
	int ret;

	mutex_lock(&dev->lock);
	rdma_umem_for_each_dma_block(mr->umem, &block, UPCI_PAGE)
		writeq(rdma_block_iter_dma_address(&block),
		       list + cmd->pages++ * 8);
	ret = command_locked(dev, cmd);
	mutex_unlock(&dev->lock);
	return ret;
}

static struct ib_mr *mr_reg(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			    int access, UNIV_DMAH_ARG struct ib_udata *udata)
{
	struct upci_cmd cmd = {
		.op = UPCI_CREATE_MR,
		.pd = pd_number(pd),
		.access = access,
		.iova = iova,
		.length = length,
	};
	struct upci_dev *dev = to_upci(pd->device);
	struct upci_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int ret;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->ib.pd = pd;
	mr->umem = ib_umem_get_va(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		goto free;
	}
	ret = -ENOMEM;
	if (ib_umem_num_dma_blocks(mr->umem, UPCI_PAGE) > UPCI_LIST_MAX)
		goto release;
	ret = xa_alloc(&dev->mrs, &mr->ib.lkey, mr,
		       XA_LIMIT(1, UPCI_MAX_KEYS - 1), GFP_KERNEL);
	if (ret)
		goto release;
	cmd.number = mr->ib.lkey;
	ret = mr_create(dev, mr, &cmd);
	if (ret)
		goto erase;
	mr->ib.rkey = mr->ib.lkey;
	return &mr->ib;

erase:
	xa_erase(&dev->mrs, mr->ib.lkey);
release:
	ib_umem_release(mr->umem);
free:
	kfree(mr);
	return ERR_PTR(ret);
}

static int mr_dereg(struct ib_mr *ib, struct ib_udata *udata)
{
	struct upci_mr *mr = container_of(ib, struct upci_mr, ib);
	struct upci_dev *dev = to_upci(ib->device);
	int ret = destroy(dev, UPCI_DESTROY_MR, ib->lkey);

	if (ret)
		return ret;
	xa_erase(&dev->mrs, ib->lkey);
	ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}

static int pd_alloc(struct ib_pd *ib, struct ib_udata *udata)
{
	struct upci_pd *pd = container_of(ib, struct upci_pd, ib);

	return xa_alloc(&to_upci(ib->device)->pds, &pd->number, pd,
			xa_limit_31b, GFP_KERNEL);
}

static int pd_dealloc(struct ib_pd *ib, struct ib_udata *udata)
{
	xa_erase(&to_upci(ib->device)->pds, pd_number(ib));
	return 0;
}

/* ---- address handles ----------------------------------------------------- */

static int ah_create(struct ib_ah *ib, struct rdma_ah_init_attr *init,
		     struct ib_udata *udata)
{
	struct upci_ah *ah = container_of(ib, struct upci_ah, ib);

	ah->dlid = rdma_ah_get_dlid(init->ah_attr);
	return 0;
}

/* The device finds the handle of a request by its domain and this number. */
static int ah_attach(struct ib_ah *ib, u32 handle)
{
	struct upci_ah *ah = container_of(ib, struct upci_ah, ib);
	struct upci_dev *dev = to_upci(ib->device);
	struct upci_cmd cmd = {
		.op = UPCI_CREATE_AH,
		.pd = pd_number(ib->pd),
		.type = handle,
		.dlid = ah->dlid,
	};
	int ret = xa_alloc(&dev->ahs, &ah->number, ah,
			   XA_LIMIT(1, UPCI_MAX_AHS - 1), GFP_KERNEL);

	if (ret)
		return ret;
	cmd.number = ah->number;
	ret = command(dev, &cmd);
	if (!ret)
		return 0;
	xa_erase(&dev->ahs, ah->number);
	ah->number = 0;
	return ret;
}

static int ah_destroy(struct ib_ah *ib, u32 flags)
{
	struct upci_ah *ah = container_of(ib, struct upci_ah, ib);
	struct upci_dev *dev = to_upci(ib->device);

	if (!ah->number)
		return 0;
	destroy(dev, UPCI_DESTROY_AH, ah->number);
	xa_erase(&dev->ahs, ah->number);
	return 0;
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
	const struct univ_ring *ring = univ_queue_cq_ring(core);
	struct upci_dev *dev = to_upci(ib->device);
	struct univ_ring_dma *dma = univ_ring_dma_map(ib->device, ring);

	if (IS_ERR(dma))
		return PTR_ERR(dma);
	/* destroy_cq() follows in any case. */
	cq->dma = dma;
	WRITE_ONCE(cq->core, core);
	return command_rings(dev, &cmd, ring, dma, NULL, NULL);
}

static int cq_destroy(struct ib_cq *ib, struct ib_udata *udata)
{
	struct upci_cq *cq = container_of(ib, struct upci_cq, ib);
	struct upci_dev *dev = to_upci(ib->device);

	if (cq->dma)
		destroy(dev, UPCI_DESTROY_CQ, cq->number);
	forget(dev, &dev->cqs, cq->number);
	univ_ring_dma_unmap(cq->dma);
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
		.pd = pd_number(ib->pd),
	};
	struct univ_ring_dma *dma = univ_ring_dma_map(ib->device, ring);
	struct univ_ring view = *ring;

	if (IS_ERR(dma))
		return PTR_ERR(dma);
	srq->dma = dma;
	/* The device looks at the ring when a message arrives. */
	univ_ring_set_flags(&view, 0);
	return command_rings(to_upci(ib->device), &cmd, ring, dma, NULL, NULL);
}

static int srq_destroy(struct ib_srq *ib, struct ib_udata *udata)
{
	struct upci_srq *srq = container_of(ib, struct upci_srq, ib);
	struct upci_dev *dev = to_upci(ib->device);

	if (srq->dma)
		destroy(dev, UPCI_DESTROY_SRQ, srq->number);
	xa_erase(&dev->srqs, srq->number);
	univ_ring_dma_unmap(srq->dma);
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

	if (init->qp_type != IB_QPT_RC && init->qp_type != IB_QPT_UD)
		return -EOPNOTSUPP;
	to_qp(ib)->max_sge = cap->max_send_sge;
	cap->max_inline_data = max_t(u32, cap->max_inline_data,
				     cap->max_send_sge *
					     sizeof(struct univ_sge));
	return xa_alloc(&to_upci(ib->device)->qps, &ib->qp_num, to_qp(ib),
			XA_LIMIT(2, UPCI_MAX_QUEUES - 1), GFP_KERNEL);
}

static int qp_map(struct upci_qp *qp, const struct univ_queue_rings *rings)
{
	struct univ_ring_dma *dma;

	dma = univ_ring_dma_map(qp->ib.device, &rings->send);
	if (IS_ERR(dma))
		return PTR_ERR(dma);
	qp->send_dma = dma;
	if (!rings->recv.count)
		return 0;
	dma = univ_ring_dma_map(qp->ib.device, &rings->recv);
	if (IS_ERR(dma))
		return PTR_ERR(dma);
	qp->recv_dma = dma;
	return 0;
}

static int qp_attach(struct ib_qp *ib, const struct univ_queue_rings *rings)
{
	struct upci_qp *qp = to_qp(ib);
	struct upci_cmd cmd = {
		.op = UPCI_CREATE_QP,
		.number = ib->qp_num,
		.pd = pd_number(ib->pd),
		.type = ib->qp_type,
		.send_cq = cq_number(ib->send_cq),
		.recv_cq = cq_number(ib->recv_cq),
		.sig_all = rings->sig_all,
		.max_sge = qp->max_sge,
	};
	int ret;

	if (!rings->send.count)
		return -EINVAL;
	ret = qp_map(qp, rings);
	if (ret)
		return ret;
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
	ret = command_rings(to_upci(ib->device), &cmd, &rings->send,
			    qp->send_dma, &rings->recv, qp->recv_dma);
	qp->attached = !ret;
	return ret;
}

static int qp_destroy(struct ib_qp *ib, struct ib_udata *udata)
{
	struct upci_dev *dev = to_upci(ib->device);
	struct upci_qp *qp = to_qp(ib);

	if (qp->attached)
		destroy(dev, UPCI_DESTROY_QP, ib->qp_num);
	forget(dev, &dev->qps, ib->qp_num);
	univ_ring_dma_unmap(qp->send_dma);
	univ_ring_dma_unmap(qp->recv_dma);
	return 0;
}

static void qp_keep(struct upci_qp *qp, const struct ib_qp_attr *from, int mask)
{
	struct ib_qp_attr *to = &qp->attr;

#define KEEP(bit, member)				\
	do {						\
		if (mask & (bit))			\
			to->member = from->member;	\
	} while (0)

	KEEP(IB_QP_ACCESS_FLAGS, qp_access_flags);
	KEEP(IB_QP_PKEY_INDEX, pkey_index);
	KEEP(IB_QP_PORT, port_num);
	KEEP(IB_QP_QKEY, qkey);
	KEEP(IB_QP_AV, ah_attr);
	KEEP(IB_QP_PATH_MTU, path_mtu);
	KEEP(IB_QP_TIMEOUT, timeout);
	KEEP(IB_QP_RETRY_CNT, retry_cnt);
	KEEP(IB_QP_RNR_RETRY, rnr_retry);
	KEEP(IB_QP_RQ_PSN, rq_psn);
	KEEP(IB_QP_SQ_PSN, sq_psn);
	KEEP(IB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	KEEP(IB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	KEEP(IB_QP_MIN_RNR_TIMER, min_rnr_timer);
	KEEP(IB_QP_DEST_QPN, dest_qp_num);
#undef KEEP
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
	ret = command(to_upci(ib->device), &cmd);
	if (ret)
		return ret;
	/*
	 * It stays in ERR if the device has put it there meanwhile. A reset
	 * ends this, so the errors of before are handled first.
	 */
	if (next == IB_QPS_RESET) {
		events_handle(to_upci(ib->device));
		WRITE_ONCE(qp->state, next);
	} else {
		cmpxchg(&qp->state, now, next);
	}
	qp_keep(qp, attr, mask);
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

/* ---- doorbells ----------------------------------------------------------- */

/* All contexts share the page; see the head of the file. */
static int page_alloc(struct ib_device *ib, struct univ_queue_page *page)
{
	page->addr = pci_resource_start(to_upci(ib)->pdev, 0);
	page->write_combining = false;
	return PAGE_ALIGNED(page->addr) ? 0 : -ENOSPC;
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
	ring_model(to_upci(ib->device), UPCI_BELL_QUEUE(ib->qp_num));
}

/* The device finds receives when a message arrives. */
static void srq_kick(struct ib_srq *ib)
{
}

static const struct univ_queue_ops upci_queue_ops = {
	.caps = UNIV_QUEUE_WRITES_CQ,
	.cq_attach = cq_attach,
	.qp_attach = qp_attach,
	.srq_attach = srq_attach,
	.qp_kick = qp_kick,
	.srq_kick = srq_kick,
	.page_alloc = page_alloc,
	.page_free = page_free,
	.qp_bells = qp_bells,
	.srq_bell = srq_bell,
	.ah_attach = ah_attach,
};

/* ---- the RDMA device ----------------------------------------------------- */

static int query_device(struct ib_device *ib, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	struct pci_dev *pdev = to_upci(ib)->pdev;

	attr->sys_image_guid = ib->node_guid;
	attr->vendor_id = pdev->vendor;
	attr->vendor_part_id = pdev->device;
	attr->max_mr_size = (u64)UPCI_LIST_MAX * UPCI_PAGE;
	attr->page_size_cap = UPCI_PAGE;
	attr->max_qp = UPCI_MAX_QUEUES - 2;
	attr->max_qp_wr = UPCI_MAX_WR;
	attr->max_send_sge = UPCI_MAX_SGE;
	attr->max_recv_sge = UPCI_MAX_SGE;
	attr->max_sge_rd = UPCI_MAX_SGE;
	attr->max_cq = UPCI_MAX_QUEUES - 1;
	attr->max_cqe = UPCI_MAX_WR * 4;
	attr->max_srq = UPCI_MAX_QUEUES - 1;
	attr->max_srq_wr = UPCI_MAX_WR;
	attr->max_srq_sge = UPCI_MAX_SGE;
	attr->max_mr = UPCI_MAX_KEYS - 1;
	attr->max_ah = UPCI_MAX_AHS - 1;
	attr->max_pd = INT_MAX;
	attr->max_qp_rd_atom = 16;
	attr->max_qp_init_rd_atom = 16;
	attr->max_res_rd_atom = 16 * (UPCI_MAX_QUEUES - 2);
	attr->atomic_cap = IB_ATOMIC_HCA;
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
	attr->max_msg_sz = UPCI_MAX_MSG;
	attr->lid = readl(&to_upci(ib)->mem->lid);
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

static const struct ib_device_ops upci_ops = {
	.owner = THIS_MODULE,
	.alloc_pd = pd_alloc,
	.create_ah = ah_create,
	.create_cq = cq_create,
	.create_qp = qp_create,
	.create_srq = srq_create,
	.create_user_ah = ah_create,
	.dealloc_pd = pd_dealloc,
	.dereg_mr = mr_dereg,
	.destroy_ah = ah_destroy,
	.destroy_cq = cq_destroy,
	.destroy_qp = qp_destroy,
	.destroy_srq = srq_destroy,
	.get_port_immutable = port_immutable,
	.modify_qp = qp_modify,
	.query_device = query_device,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.query_port = query_port,
	.query_qp = qp_query,
	.query_srq = srq_query,
	.reg_user_mr = mr_reg,

	INIT_RDMA_OBJ_SIZE(ib_ah, upci_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, upci_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, upci_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, upci_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, upci_srq, ib),
};

/* ---- the PCI device ------------------------------------------------------ */

static void upci_init(struct upci_dev *dev, struct pci_dev *pdev)
{
	dev->pdev = pdev;
	mutex_init(&dev->lock);
	init_waitqueue_head(&dev->done);
	spin_lock_init(&dev->events_lock);
	INIT_DELAYED_WORK(&dev->watch, upci_watch);
	xa_init_flags(&dev->cqs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->srqs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->pds, XA_FLAGS_ALLOC1);
	dev->ib.dev.parent = &pdev->dev;
	dev->ib.node_type = RDMA_NODE_IB_CA;
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = 1;
	ib_set_device_ops(&dev->ib, &upci_ops);
}

/* The resources of pcim functions end with the binding of the driver. */
static int upci_setup(struct upci_dev *dev, struct pci_dev *pdev)
{
	int ret = pcim_enable_device(pdev);

	if (!ret)
		ret = pcim_iomap_regions(pdev, BIT(0) | BIT(2), "upci");
	if (!ret)
		ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	dev->regs = pcim_iomap_table(pdev)[0];
	dev->mem = pcim_iomap_table(pdev)[2];
	/* The model knows pages of this size alone. */
	if (PAGE_SIZE != UPCI_PAGE)
		return -EOPNOTSUPP;
	if (pci_resource_len(pdev, 2) < UPCI_MEM_SIZE ||
	    readl(&dev->mem->magic) != UPCI_MAGIC)
		return -ENODEV;
	dev->ib.node_guid = cpu_to_be64(readq(&dev->mem->guid));
	pci_set_master(pdev);
	ret = pci_alloc_irq_vectors(pdev, 2, 2, PCI_IRQ_MSIX);
	if (ret < 0)
		return ret;
	ret = pci_request_irq(pdev, UPCI_IRQ_COMMAND, command_irq, NULL, dev,
			      "upci-command");
	if (ret)
		return ret;
	ret = pci_request_irq(pdev, UPCI_IRQ_EVENT, event_irq, NULL, dev,
			      "upci-event");
	if (ret)
		pci_free_irq(pdev, UPCI_IRQ_COMMAND, dev);
	return ret;
}

/* The interrupts use @dev. */
static void upci_free(struct upci_dev *dev)
{
	pci_free_irq(dev->pdev, UPCI_IRQ_COMMAND, dev);
	pci_free_irq(dev->pdev, UPCI_IRQ_EVENT, dev);
	ib_dealloc_device(&dev->ib);
}

static int upci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct upci_cmd reset = { .op = UPCI_RESET };
	struct upci_dev *dev = ib_alloc_device(upci_dev, ib);
	int ret;

	if (!dev)
		return -ENOMEM;
	upci_init(dev, pdev);
	pci_set_drvdata(pdev, dev);
	ret = upci_setup(dev, pdev);
	if (ret) {
		ib_dealloc_device(&dev->ib);
		return ret;
	}
	ret = command(dev, &reset);
	if (ret)
		goto free;
	ret = univ_queue_register(&dev->ib, &upci_queue_ops);
	if (ret)
		goto free;
	ret = ib_register_device(&dev->ib, "upci%d", &pdev->dev);
	if (ret)
		goto unregister_queue;
	set_bit(UPCI_REGISTERED, &dev->flags);
	queue_delayed_work(system_long_wq, &dev->watch, HEART_PERIOD);
	return 0;

unregister_queue:
	univ_queue_unregister(&dev->ib);
free:
	upci_free(dev);
	return ret;
}

static void upci_remove(struct pci_dev *pdev)
{
	struct upci_dev *dev = pci_get_drvdata(pdev);

	/* A device that was pulled out does not answer any more. */
	if (!pci_device_is_present(pdev))
		upci_die(dev);
	/* This destroys the objects of all processes. */
	ib_unregister_device(&dev->ib);
	cancel_delayed_work_sync(&dev->watch);
	univ_queue_unregister(&dev->ib);
	upci_free(dev);
}

/* QEMU's ivshmem; one that is not upci has no UPCI_MAGIC in BAR2. */
static const struct pci_device_id upci_ids[] = {
	{ PCI_DEVICE(0x1af4, 0x1110) },
	{ }
};
MODULE_DEVICE_TABLE(pci, upci_ids);

static struct pci_driver upci_driver = {
	.name = "upci",
	.id_table = upci_ids,
	.probe = upci_probe,
	.remove = upci_remove,
};
module_pci_driver(upci_driver);

MODULE_DESCRIPTION("Sample of a driver for a PCI device with doorbells");
MODULE_AUTHOR("univerbs maintainers");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(UNIVERBS_NS);
