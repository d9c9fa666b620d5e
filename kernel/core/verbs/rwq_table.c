// SPDX-License-Identifier: GPL-2.0
/*
 * Receive indirection tables: ibv_create_rwq_ind_table(3). A table names a work
 * queue for each hash of a frame. The RDMA core has no function that creates
 * one, so this file fills in the struct, as ib_uverbs does.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "verbs.h"

struct univ_table *univ_table_get(struct univ_context *ctx, u32 handle,
				  struct univ_hdr *hdr)
{
	struct univ_object *obj =
		univ_object_get(ctx, handle, UNIV_OBJECT_TABLE, hdr);

	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_table, obj);
}

/* Ends the use of the first @count work queues. */
static void entries_put(const struct univ_table *table, u32 count)
{
	struct univ_wq *wq;

	while (count--) {
		wq = table->wqs[count]->wq_context;
		atomic_dec(&wq->ib->usecnt);
		univ_object_undepend(&wq->obj);
	}
}

/*
 * Each work queue is held until the table is a dependant of it, from when on it
 * cannot be destroyed.
 */
static int entries_get(struct univ_table *table, struct univ_context *ctx,
		       struct univ_table_create *cmd)
{
	struct univ_wq *wq;
	u32 i;

	for (i = 0; i < table->count; i++) {
		wq = univ_wq_get(ctx, cmd->wqs[i], &cmd->hdr);
		if (IS_ERR(wq)) {
			entries_put(table, i);
			return PTR_ERR(wq);
		}
		univ_object_depend(&wq->obj);
		atomic_inc(&wq->ib->usecnt);
		table->wqs[i] = wq->ib;
		univ_object_put(&wq->obj);
	}
	return 0;
}

static int table_create_ib(struct univ_table *table,
			   struct univ_table_create *cmd)
{
	struct ib_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = cmd->log_size,
		.ind_tbl = table->wqs,
	};
	struct ib_device *dev = table->obj.ctx->dev->ib;
	int ret;

	table->ib = rdma_zalloc_drv_obj(dev, ib_rwq_ind_table);
	if (!table->ib)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	table->ib->device = dev;
	table->ib->ind_tbl = table->wqs;
	table->ib->log_ind_tbl_size = cmd->log_size;
	ret = dev->ops.create_rwq_ind_table(table->ib, &attr, NULL);
	if (!ret)
		return 0;
	kfree(table->ib);
	return univ_explain_driver(&cmd->hdr, ret);
}

static int table_build(struct univ_table *table, struct univ_call *call,
		       struct univ_table_create *cmd)
{
	int ret;

	ret = univ_object_reserve(call->ctx, &table->obj, UNIV_OBJECT_TABLE,
				  &cmd->hdr);
	if (ret) {
		kfree(table);
		return ret;
	}
	ret = entries_get(table, call->ctx, cmd);
	if (ret)
		goto release;
	ret = table_create_ib(table, cmd);
	if (ret)
		goto put;
	cmd->handle = table->obj.handle;
	return univ_object_announce(call, &table->obj, univ_table_destroy);

put:
	entries_put(table, table->count);
release:
	univ_object_release(&table->obj);
	return ret;
}

int univ_table_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_table_create *cmd = arg;
	struct univ_table *table;

	if (!univ_wq_offered(call->ctx->dev))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (cmd->log_size > UNIV_TABLE_LOG)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_TABLE,
					  cmd->log_size, UNIV_TABLE_LOG);
	table = kzalloc(struct_size(table, wqs, 1 << cmd->log_size),
			GFP_KERNEL_ACCOUNT);
	if (!table)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	table->count = 1 << cmd->log_size;
	return table_build(table, call, cmd);
}

int univ_table_destroy(struct univ_object *obj)
{
	struct univ_table *table = container_of(obj, struct univ_table, obj);
	int ret;

	if (atomic_read(&table->ib->usecnt))
		return -EBUSY;
	ret = table->ib->device->ops.destroy_rwq_ind_table(table->ib);
	if (ret)
		return ret;
	kfree(table->ib);
	entries_put(table, table->count);
	return 0;
}

int univ_table_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_TABLE,
				   univ_table_destroy);
}

/* ---- queue pairs that use a table ---------------------------------------- */

static int rss_fault(struct univ_qp_create *cmd, int err,
		     enum univ_rx_hash_fault fault, u64 value, u64 bound)
{
	return univ_explain(&cmd->hdr, err, UNIV_REASON_RX_HASH, fault, value,
			    bound);
}

int univ_rss_check(struct univ_context *ctx, struct univ_qp_create *cmd)
{
	u64 known = ctx->dev->queue->hash_fields;

	if (!known)
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (cmd->qp_type != IB_QPT_RAW_PACKET)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_QP_TYPE,
				    0, cmd->qp_type, 0);
	if (cmd->srq || cmd->max_recv_wr || cmd->max_recv_sge)
		return rss_fault(cmd, -EINVAL, UNIV_RX_HASH_FAULT_RECEIVES, 0,
				 0);
	if (cmd->rx_hash_function != UNIV_RX_HASH_TOEPLITZ)
		return rss_fault(cmd, -EOPNOTSUPP, UNIV_RX_HASH_FAULT_FUNCTION,
				 cmd->rx_hash_function, 0);
	if (cmd->rx_hash_key_len != UNIV_RX_HASH_KEY)
		return rss_fault(cmd, -EINVAL, UNIV_RX_HASH_FAULT_KEY,
				 cmd->rx_hash_key_len, UNIV_RX_HASH_KEY);
	if (cmd->rx_hash_fields & ~known)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    UNIV_FLAGS_RX_HASH, cmd->rx_hash_fields,
				    known);
	return 0;
}

/* Without a field all frames would go to the first entry. */
int univ_rss_check_table(const struct univ_table *table,
			 struct univ_qp_create *cmd)
{
	if (cmd->rx_hash_fields || table->count == 1)
		return 0;
	return rss_fault(cmd, -EINVAL, UNIV_RX_HASH_FAULT_FIELDS, 0,
			 table->count);
}
