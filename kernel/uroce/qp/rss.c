// SPDX-License-Identifier: GPL-2.0
/* Queue pairs that spread the frames they receive over work queues. */
#include <linux/overflow.h>
#include <linux/slab.h>

#include "rss.h"

/* Without uroce_qp_hash() all frames go to the first work queue. */
struct uroce_rss *uroce_rss_create(const struct ib_rwq_ind_table *table)
{
	u32 i, count = 1u << table->log_ind_tbl_size;
	struct uroce_rss *rss;

	rss = kzalloc(struct_size(rss, receivers, count), GFP_KERNEL_ACCOUNT);
	if (!rss)
		return NULL;
	rss->mask = count - 1;
	for (i = 0; i < count; i++)
		rss->receivers[i] = to_uwq(table->ind_tbl[i])->receiver.qp;
	return rss;
}

/* The queue pair has no flow yet. */
int uroce_qp_hash(struct ib_qp *ib, const struct univ_queue_hash *hash)
{
	struct uroce_rss *rss = to_uqp(ib)->rss;

	rss->fields = hash->fields;
	memcpy(rss->key, hash->key, sizeof(rss->key));
	return 0;
}
