// SPDX-License-Identifier: GPL-2.0
/*
 * The removal of notifiers of address spaces.
 *
 * The kernel removes an interval notifier only at a moment when no thread of
 * the process changes its page tables. Threads that call madvise(2) again and
 * again can leave no such moment for as long as the process lives. So a caller
 * that must not wait, for example one that removes a device, hands the notifier
 * over, and a work item removes it. Only the exit of the module waits for that.
 *
 * One work item at a time removes the notifiers of an address space, so a
 * process delays no removals of other processes, and only hundreds of them take
 * all work items. Nothing is allocated. The memory of a notifier stays charged
 * to the memory cgroup until it is removed.
 */
#include <linux/hashtable.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/spinlock.h>

#include "mr.h"
#include "removal.h"

static struct workqueue_struct *removal_wq;
/* The first removal of each address space. */
static DEFINE_HASHTABLE(firsts, 6);
/* Protects @firsts and uroce_removal.others. */
static DEFINE_SPINLOCK(removal_lock);

/* The next one; NULL after the last one, which ends the work item. */
static struct uroce_removal *removal_next(struct uroce_removal *first)
{
	struct uroce_removal *next;

	spin_lock(&removal_lock);
	next = list_first_entry_or_null(&first->others, struct uroce_removal,
					others);
	if (next)
		list_del(&next->others);
	else
		hash_del(&first->node);
	spin_unlock(&removal_lock);
	return next;
}

static void removal_work(struct work_struct *work)
{
	struct uroce_removal *first = container_of(work, struct uroce_removal,
						   work);
	struct uroce_removal *next;

	/* The first one stays in the table until all of them are removed. */
	mmu_interval_notifier_remove(first->notifier);
	while ((next = removal_next(first))) {
		mmu_interval_notifier_remove(next->notifier);
		next->free(next);
		cond_resched();
	}
	first->free(first);
}

static struct uroce_removal *removal_first(const struct mm_struct *mm)
{
	struct uroce_removal *first;

	lockdep_assert_held(&removal_lock);
	hash_for_each_possible(firsts, first, node, (unsigned long)mm)
		if (first->mm == mm)
			return first;
	return NULL;
}

/*
 * Removes a notifier soon, and frees it then. It may be called until that time,
 * and must find nothing to do. Waits for nothing.
 */
void uroce_removal_begin(struct uroce_removal *removal,
			 struct mmu_interval_notifier *notifier,
			 void (*free)(struct uroce_removal *removal))
{
	struct uroce_removal *first;

	removal->notifier = notifier;
	removal->mm = notifier->mm;
	removal->free = free;
	spin_lock(&removal_lock);
	first = removal_first(removal->mm);
	if (first) {
		list_add_tail(&removal->others, &first->others);
	} else {
		INIT_LIST_HEAD(&removal->others);
		INIT_WORK(&removal->work, removal_work);
		hash_add(firsts, &removal->node, (unsigned long)removal->mm);
		queue_work(removal_wq, &removal->work);
	}
	spin_unlock(&removal_lock);
}

int uroce_removal_init(void)
{
	/* Unbound: an item that waits delays no other one. */
	removal_wq = alloc_workqueue("uroce_removal", WQ_UNBOUND,
				     WQ_MAX_ACTIVE);
	return removal_wq ? 0 : -ENOMEM;
}

/* Nothing begins a removal any more. Waits for those that have begun. */
void uroce_removal_exit(void)
{
	destroy_workqueue(removal_wq);
}
