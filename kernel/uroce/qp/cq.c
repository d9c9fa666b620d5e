// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues. univerbs implements those of processes; the private ring
 * here is for users in the kernel.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "cq.h"
#include "pair.h"

/*
 * Users in the kernel have no raw packets, so the entry of a datagram contains
 * the type of its header in flow_tag and the VLAN of its destination in cvlan.
 */
static void cqe_to_wc(const struct univ_cqe *cqe, struct ib_qp *qp,
		      struct ib_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = qp;
	wc->src_qp = cqe->src_qp;
	wc->port_num = 1;
	wc->pkey_index = cqe->pkey_index;
	wc->sl = cqe->sl;
	if (cqe->wc_flags & UNIV_WC_GRH) {
		wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = cqe->flow_tag;
		if (cqe->cvlan != UROCE_NO_VLAN) {
			wc->wc_flags |= IB_WC_WITH_VLAN;
			wc->vlan_id = cqe->cvlan;
		}
	}
	if (cqe->wc_flags & UNIV_WC_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->imm;
	}
	if (cqe->wc_flags & UNIV_WC_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->imm;
	}
}

static void cq_event(struct uroce_cq *cq)
{
	struct ib_event event = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ib.event_handler)
		cq->ib.event_handler(&event, cq->ib.cq_context);
}

static void cq_task(struct tasklet_struct *task)
{
	struct uroce_cq *cq = from_tasklet(cq, task, task);

	if (READ_ONCE(cq->dead))
		return;
	/* One event: completions of other queue pairs may follow. */
	if (READ_ONCE(cq->overrun) && !cq->told) {
		cq->told = true;
		cq_event(cq);
	}
	if (cq->ib.comp_handler)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

int uroce_cq_create(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		    struct univ_cq_attrs *attrs)
{
	struct uroce_cq *cq = to_ucq(ib);
	int ret;

	if (attr->flags || !attr->cqe || attr->cqe > UROCE_MAX_CQE)
		return -EINVAL;
	ret = uroce_fault_verb(to_udev(ib->device), UROCE_VERB_CREATE_CQ);
	if (ret)
		return ret;
	spin_lock_init(&cq->lock);
	tasklet_setup(&cq->task, cq_task);
	ib->cqe = attr->cqe;
	return 0;
}

/* A queue pair of a kernel user is about to use the completion queue. */
int uroce_cq_private(struct uroce_cq *cq)
{
	u32 size = roundup_pow_of_two(cq->ib.cqe);
	struct univ_cqe *cqes;
	struct ib_qp **qps;

	if (cq->core || cq->cqes)
		return 0;
	cqes = kvcalloc(size, sizeof(*cqes), GFP_KERNEL_ACCOUNT);
	qps = kvcalloc(size, sizeof(*qps), GFP_KERNEL_ACCOUNT);
	if (!cqes || !qps) {
		kvfree(cqes);
		kvfree(qps);
		return -ENOMEM;
	}
	spin_lock_irq(&cq->lock);
	if (!cq->cqes) {
		swap(cq->cqes, cqes);
		swap(cq->qps, qps);
		cq->size = size;
	}
	spin_unlock_irq(&cq->lock);
	kvfree(cqes);
	kvfree(qps);
	return 0;
}

/*
 * ib_free_cq() has cancelled the polling work item, but the handler of a
 * completion since then may have queued it again: MADs arrive until their queue
 * pair is destroyed. So cancel it once more.
 */
int uroce_cq_destroy(struct ib_cq *ib, struct ib_udata *udata)
{
	struct uroce_cq *cq = to_ucq(ib);

	WRITE_ONCE(cq->dead, true);
	tasklet_kill(&cq->task);
	if (ib->comp_wq)
		cancel_work_sync(&ib->work);
	kvfree(cq->cqes);
	kvfree(cq->qps);
	return 0;
}

/* Returns false if a completion is lost. */
bool uroce_cq_add_private(struct uroce_cq *cq, struct uroce_qp *qp,
			  const struct uroce_batch *batch)
{
	bool solicited = batch->flags & UNIV_COMPLETE_SOLICITED;
	unsigned long flags;
	bool fits, wake = false;
	u32 n, slot;

	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < batch->count && cq->tail - cq->head < cq->size; n++) {
		slot = cq->tail++ & (cq->size - 1);
		cq->cqes[slot] = batch->cqe[n];
		cq->qps[slot] = qp->ib;
	}
	fits = n == batch->count;
	if (!fits) {
		wake = !cq->overrun;
		WRITE_ONCE(cq->overrun, true);
	}
	if (cq->armed & IB_CQ_NEXT_COMP || (cq->armed && solicited)) {
		cq->armed = 0;
		wake = true;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (wake)
		tasklet_schedule(&cq->task);
	return fits;
}

int uroce_cq_poll(struct ib_cq *ib, int count, struct ib_wc *wc)
{
	struct uroce_cq *cq = to_ucq(ib);
	unsigned long flags;
	u32 slot;
	int n;

	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < count && cq->head != cq->tail; n++) {
		slot = cq->head++ & (cq->size - 1);
		cqe_to_wc(&cq->cqes[slot], cq->qps[slot], &wc[n]);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

int uroce_cq_arm(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct uroce_cq *cq = to_ucq(ib);
	unsigned long irq;
	int missed;

	spin_lock_irqsave(&cq->lock, irq);
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	missed = flags & IB_CQ_REPORT_MISSED_EVENTS && cq->head != cq->tail;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}
