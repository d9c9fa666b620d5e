// SPDX-License-Identifier: GPL-2.0
/* The ring of events, which the device writes into BAR2. */
#include <linux/io.h>

#include "compat.h"
#include "upci.h"

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
void upci_events_handle(struct upci_dev *dev)
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

/*
 * The device has forgotten an object with events. Those that it wrote before
 * are handled, interrupt or not, so that none of them meets the object that
 * gets the number next. The interrupt, or another thread that handles events,
 * may still have found this object.
 */
void upci_forget(struct upci_dev *dev, struct xarray *table, u32 number)
{
	upci_events_handle(dev);
	xa_erase(table, number);
	spin_lock_irq(&dev->events_lock);
	spin_unlock_irq(&dev->events_lock);
}
