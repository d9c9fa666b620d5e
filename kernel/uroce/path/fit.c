// SPDX-License-Identifier: GPL-2.0
/*
 * The memory in which a connection over packets keeps its requests, as many as
 * the send ring has slots.
 */
#include <linux/slab.h>

#include "remote.h"

/* Allocates the memory for @count requests. May sleep. */
int uroce_fit_alloc(struct uroce_fit *fit, u32 count, u32 max_sge)
{
	fit->count = count;
	if (!count)
		return 0;
	fit->wqes = kvcalloc(count, sizeof(*fit->wqes), GFP_KERNEL_ACCOUNT);
	fit->sges = kvcalloc(array_size(count, max_t(u32, max_sge, 1)),
			     sizeof(*fit->sges), GFP_KERNEL_ACCOUNT);
	return fit->wqes && fit->sges ? 0 : -ENOMEM;
}

/* A connection does not begin or end meanwhile. */
int uroce_remote_fit(const struct uroce_qp *qp, u32 count,
		     struct uroce_fit *fit)
{
	*fit = (struct uroce_fit){};
	return qp->remote ? uroce_fit_alloc(fit, count, qp->sq.max_sge) :
			    0;
}

void uroce_remote_refit(struct uroce_qp *qp, struct uroce_fit *fit)
{
	if (qp->remote)
		swap(qp->remote->fit, *fit);
}

void uroce_fit_free(struct uroce_fit *fit)
{
	kvfree(fit->sges);
	kvfree(fit->wqes);
}
