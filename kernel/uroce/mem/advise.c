// SPDX-License-Identifier: GPL-2.0
/* Advice about regions of on-demand paging: ibv_advise_mr(3). */
#include <linux/bottom_half.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <rdma/ib_verbs.h>

#include "../dev/dev.h"
#include "mr.h"
#include "queue.h"

/*
 * Why uroce_mr_get() found no region. A region of another process does not
 * exist for the caller, so that a process learns nothing about keys of other
 * processes. The core changes -ERANGE, see UNIV_QUEUE_ODP. Context: bottom
 * halves off.
 */
static int mr_refusal(const struct ib_pd *pd, const struct ib_sge *sge)
{
	const struct uroce_mr_table *table =
		rcu_dereference_bh(to_udev(pd->device)->table);
	const struct uroce_mr *mr;

	if (uroce_mr_why(pd, sge->lkey, sge->addr, sge->length, 0) ==
	    UNIV_REASON_KEY_RANGE)
		return -ERANGE;
	mr = uroce_mr_lookup(table, sge->lkey >> 8);
	if (mr && mr->key == sge->lkey && mr->ib.pd != pd &&
	    READ_ONCE(mr->mm) == current->mm)
		return -EPERM;
	return -ENOENT;
}

/* Asks for the pages of one part of a region, and waits for them if told. */
static int mr_advise(struct ib_pd *pd, const struct ib_sge *sge, bool write,
		     bool fault, bool wait)
{
	struct uroce_ask *ask = NULL;
	struct uroce_mr *mr;
	int ret = 0;

	local_bh_disable();
	mr = uroce_mr_get(pd, sge->lkey, sge->addr, sge->length, 0);
	if (!mr)
		ret = mr_refusal(pd, sge);
	local_bh_enable();
	if (!mr)
		return ret;
	if (!mr->odp)
		ret = -EINVAL;
	else if (write && !ib_access_writable(mr->access))
		ret = -EPERM;
	else
		ask = uroce_ask_ahead(mr->odp, sge->addr - mr->iova,
				      sge->length, write, fault, wait);
	/* A region that is held cannot be deregistered. */
	uroce_mr_put(mr);
	if (IS_ERR(ask))
		return PTR_ERR(ask);
	if (wait && ask)
		ret = uroce_ask_wait(ask);
	uroce_ask_drop(&ask);
	return ret;
}

int uroce_mr_advise(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		    u32 flags, struct ib_sge *sge, u32 count,
		    struct uverbs_attr_bundle *attrs)
{
	bool write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	bool fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
	bool wait = flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH;
	int ret = 0;
	u32 i;

	for (i = 0; i < count && !ret; i++)
		ret = mr_advise(pd, &sge[i], write, fault, wait);
	return ret;
}
