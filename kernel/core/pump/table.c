// SPDX-License-Identifier: GPL-2.0
/* The queue pair that a completion of the device names. */
#include <linux/delay.h>
#include <linux/rhashtable.h>

#include "pump_queue.h"

static const struct rhashtable_params table_params = {
	.key_len = sizeof(struct pump_qp_key),
	.key_offset = offsetof(struct pump_qp, key),
	.head_offset = offsetof(struct pump_qp, by_ib),
	.automatic_shrinking = true,
};

int pump_table_init(struct pump_device *pump)
{
	return rhashtable_init(&pump->qps, &table_params);
}

void pump_table_destroy(struct pump_device *pump)
{
	rhashtable_destroy(&pump->qps);
}

static struct rhashtable *table_of(const struct univ_object *obj)
{
	return &obj->ctx->dev->pump->qps;
}

/*
 * Returns the queue pair of a completion. A completion that waits in the device
 * names a queue pair that may have been destroyed since, so the pointer is
 * compared and never dereferenced. Context: the lock of @cq is held, within an
 * RCU section.
 */
struct pump_qp *pump_qp_find(struct pump_cq *cq, const struct ib_qp *ib)
{
	const struct pump_qp_key key = { ib, cq->core->obj.ctx };

	lockdep_assert_held(&cq->core->lock);
	if (cq->last_ib == ib)
		return cq->last_qp;
	cq->last_qp = rhashtable_lookup(table_of(&cq->core->obj), &key,
					table_params);
	cq->last_ib = cq->last_qp ? ib : NULL;
	return cq->last_qp;
}

/*
 * The device may put a new queue pair where a destroyed one was before the
 * completions of the latter are drained. The key is then still taken, for a
 * short time.
 */
int pump_table_insert(struct pump_qp *qp)
{
	struct rhashtable *table = table_of(&qp->core->obj);
	int ret;

	while ((ret = rhashtable_lookup_insert_fast(table, &qp->by_ib,
						    table_params)) == -EEXIST)
		usleep_range(10, 100);
	return ret;
}

static void table_forget(struct univ_cq *cq, const struct pump_qp *qp)
{
	struct pump_cq *pump = cq->pump;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (pump->last_qp == qp) {
		pump->last_qp = NULL;
		pump->last_ib = NULL;
	}
	if (pump->partner == qp->core->send_cq)
		WRITE_ONCE(pump->partner, NULL);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * The completions of the queue pair have been drained. Clear the look-ups that
 * completion queues have cached before the key leaves the table: from then on
 * another queue pair may have the same key.
 */
void pump_table_remove(struct pump_qp *qp)
{
	table_forget(qp->core->send_cq, qp);
	table_forget(qp->core->recv_cq, qp);
	rhashtable_remove_fast(table_of(&qp->core->obj), &qp->by_ib,
			       table_params);
}
