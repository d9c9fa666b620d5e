/* SPDX-License-Identifier: GPL-2.0 */
/* The driver of upci; upci.c describes the device. */
#ifndef UPCI_H
#define UPCI_H

#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "queue.h"
#include "upci_hw.h"

enum upci_flag {
	UPCI_DEAD,			/* it does not answer any more */
	UPCI_REGISTERED,
};

struct upci_dev {
	struct ib_device ib;
	struct pci_dev *pdev;
	void __iomem *regs;		/* BAR0 */
	struct resource rest;		/* of the page that BAR0 begins */
	bool whole_page;		/* @rest is reserved for this device */
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
	u32 next_qp;
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
};

struct upci_qp {
	struct ib_qp ib;
	struct ib_qp_attr attr;		/* as modified; the state is @state */
	enum ib_qp_state state;		/* the device changes it to ERR */
	u32 max_sge;			/* of a send request */
	struct univ_ring recv;
};

static inline struct upci_dev *to_upci(struct ib_device *ib)
{
	return container_of(ib, struct upci_dev, ib);
}

static inline u32 upci_pd_number(struct ib_pd *ib)
{
	return container_of(ib, struct upci_pd, ib)->number;
}

/* command.c: commands, and the death of the device. Context: may sleep. */
#define UPCI_HEART_PERIOD	(2 * HZ)

void upci_ring_model(struct upci_dev *dev, u32 vector);
int upci_command(struct upci_dev *dev, const struct upci_cmd *cmd);
int upci_command_locked(struct upci_dev *dev, const struct upci_cmd *cmd);
int upci_command_rings(struct upci_dev *dev, struct upci_cmd *cmd,
		       const struct univ_ring *ring,
		       const struct univ_ring *recv);
void upci_destroy(struct upci_dev *dev, enum upci_op op, u32 number);
void upci_die(struct upci_dev *dev);
void upci_watch(struct work_struct *work);

/* event.c */
void upci_events_handle(struct upci_dev *dev);
void upci_forget(struct upci_dev *dev, struct xarray *table, u32 number);

/* memory.c: protection domains, memory regions, address handles */
extern const struct ib_device_ops upci_memory_verbs;
int upci_ah_attach(struct ib_ah *ib, u32 handle);

/* queue.c: queues and doorbells */
extern const struct ib_device_ops upci_queue_verbs;
extern const struct univ_queue_ops upci_queue_ops;

#endif
