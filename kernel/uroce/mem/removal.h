/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the room of memory: the removal of notifiers, which may not end. */
#ifndef UROCE_REMOVAL_H
#define UROCE_REMOVAL_H

#include <linux/list.h>
#include <linux/workqueue.h>

struct mm_struct;
struct mmu_interval_notifier;

/**
 * struct uroce_removal - the removal of a notifier
 * @notifier: of an address space, which it keeps
 * @mm: that address space; only to be compared
 * @free: frees this struct and the notifier
 * @node: the removal is the first one of its address space
 * @others: further ones of the same address space; or in the list of the first
 * @work: removes the notifiers of the address space; only of the first
 */
struct uroce_removal {
	struct mmu_interval_notifier *notifier;
	const struct mm_struct *mm;
	void (*free)(struct uroce_removal *removal);
	struct hlist_node node;
	struct list_head others;
	struct work_struct work;
};

void uroce_removal_begin(struct uroce_removal *removal,
			 struct mmu_interval_notifier *notifier,
			 void (*free)(struct uroce_removal *removal));

#endif
