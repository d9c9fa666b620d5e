// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive work queues and receive indirection tables. Posting to a work queue is in
 * ring/post_recv.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/common.h"
#include "why/why.h"

/* Programs that only ask for the ability pass attributes without objects. */
static int offered(const char *verb, struct ibv_context *context)
{
	return to_ucontext(context)->features & UNIV_FEATURE_WQ ? 0 : univ_fail_no_ability(verb);
}

static int wq_destroy_kernel(const struct ibv_wq *wq, struct univ_destroy *cmd)
{
	*cmd = (struct univ_destroy) { .handle = wq->handle };
	return univ_cmd_wq_destroy(wq->context->cmd_fd, cmd);
}

static int ring_map(struct univ_wq *wq, const struct univ_wq_create *cmd)
{
	struct ibv_context *context = wq->ibv.context;
	int err = univ_doorbell_map("ibv_create_wq", context, &wq->doorbell);

	if (!err)
		err = univ_map_ring("ibv_create_wq", context->cmd_fd, &wq->map, cmd->map_offset,
				    cmd->map_length);
	if (!err)
		univ_ring_init(&wq->ring, wq->map.base, &cmd->ring, cmd->max_wr, cmd->max_sge);
	return err;
}

/* On return @attr holds the real size of the queue. */
static int wq_create_kernel(struct univ_wq *wq, struct ibv_wq_init_attr *attr)
{
	struct univ_wq_create cmd = {
		.pd = attr->pd->handle,
		.cq = attr->cq->handle,
		.wq_type = (uint32_t)attr->wq_type,
		.create_flags = attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS ? attr->create_flags : 0,
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
		.cookie = univ_cookie(wq->ibv.context, wq),
	};
	struct univ_destroy destroy;
	int err = univ_cmd_wq_create(wq->ibv.context->cmd_fd, &cmd);

	if (err)
		return err;
	wq->ibv.handle = cmd.handle;
	wq->ibv.wq_num = cmd.wq_num;
	err = ring_map(wq, &cmd);
	if (err) {
		wq_destroy_kernel(&wq->ibv, &destroy);
		errno = err;
		return err;
	}
	univ_events_begin(wq->ibv.context, cmd.handle);
	attr->max_wr = cmd.max_wr;
	attr->max_sge = cmd.max_sge;
	return 0;
}

static int wq_check(struct ibv_context *context, const struct ibv_wq_init_attr *attr)
{
	int err = offered("ibv_create_wq", context);

	if (err)
		return err;
	if (attr->comp_mask & ~(uint32_t)IBV_WQ_INIT_ATTR_FLAGS)
		return univ_fail_flags("ibv_create_wq", EOPNOTSUPP, UNIV_FLAGS_NONE,
				       attr->comp_mask, IBV_WQ_INIT_ATTR_FLAGS);
	if (attr->pd->context != context)
		return univ_fail_context("ibv_create_wq", UNIV_OBJECT_PD);
	if (attr->cq->context != context)
		return univ_fail_context("ibv_create_wq", UNIV_OBJECT_CQ);
	return 0;
}

/* The inline function ibv_create_wq(3) sets the other members. */
struct ibv_wq *univ_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct univ_wq *wq;

	if (wq_check(context, attr))
		return NULL;
	wq = calloc(1, sizeof(*wq));
	if (!wq) {
		univ_fail_memory("ibv_create_wq", sizeof(*wq));
		return NULL;
	}
	wq->ibv.context = context;
	wq->ibv.pd = attr->pd;
	wq->ibv.cq = attr->cq;
	wq->ibv.state = IBV_WQS_RESET;
	wq->ibv.wq_type = attr->wq_type;
	wq->ibv.post_recv = univ_post_wq_recv;
	if (wq_create_kernel(wq, attr)) {
		free(wq);
		return NULL;
	}
	univ_pd_hold(attr->pd);
	univ_cq_get(attr->cq);
	return &wq->ibv;
}

/* As for a queue pair, a reset needs no change of the ring here. */
int univ_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr)
{
	bool changes = attr->attr_mask & IBV_WQ_ATTR_STATE;
	struct univ_wq_modify cmd = {
		.handle = wq->handle,
		.attr_mask = attr->attr_mask,
		.wq_state = changes ? (uint32_t)attr->wq_state : 0,
		.curr_wq_state = attr->attr_mask & IBV_WQ_ATTR_CURR_STATE ?
				 (uint32_t)attr->curr_wq_state : 0,
		.flags = attr->attr_mask & IBV_WQ_ATTR_FLAGS ? attr->flags : 0,
		.flags_mask = attr->attr_mask & IBV_WQ_ATTR_FLAGS ? attr->flags_mask : 0,
	};
	int err = univ_cmd_wq_modify(wq->context->cmd_fd, &cmd);

	if (err || !changes)
		return err;
	/* Relaxed: other threads may read the state while they post. */
	univ_store_relaxed(&wq->state, attr->wq_state);
	if (attr->wq_state == IBV_WQS_RESET)
		univ_cq_forget(wq->cq, wq->wq_num);
	return 0;
}

int univ_destroy_wq(struct ibv_wq *wq)
{
	const struct univ_acks acks = { "ibv_destroy_wq", UNIV_OBJECT_WQ, &wq->mutex, &wq->cond };
	struct univ_destroy cmd;
	int err = wq_destroy_kernel(wq, &cmd);

	if (err)
		return err;
	univ_cq_forget(wq->cq, wq->wq_num);
	univ_cq_put(wq->cq);
	univ_acks_wait(&acks, &wq->events_completed, cmd.async_events);
	univ_unmap_ring(&to_uwq(wq)->map);
	univ_pd_release(wq->pd);
	free(to_uwq(wq));
	return 0;
}

/* The kernel refuses a table that is too long, whose entries are not read. */
static int table_create_kernel(struct ibv_rwq_ind_table *table, struct ibv_context *context,
			       const struct ibv_rwq_ind_table_init_attr *attr)
{
	struct univ_table_create cmd = { .log_size = attr->log_ind_tbl_size };
	uint32_t i, count = attr->log_ind_tbl_size > UNIV_TABLE_LOG ? 0 :
			    1u << attr->log_ind_tbl_size;
	int err;

	for (i = 0; i < count; i++) {
		if (attr->ind_tbl[i]->context != context)
			return univ_fail_context("ibv_create_rwq_ind_table", UNIV_OBJECT_WQ);
		cmd.wqs[i] = attr->ind_tbl[i]->handle;
	}
	err = univ_cmd_table_create(context->cmd_fd, &cmd);
	table->context = context;
	table->ind_tbl_handle = (int)cmd.handle;
	table->ind_tbl_num = (int)cmd.handle;
	return err;
}

struct ibv_rwq_ind_table *univ_create_rwq_ind_table(struct ibv_context *context,
						    struct ibv_rwq_ind_table_init_attr *attr)
{
	struct ibv_rwq_ind_table *table;

	if (offered("ibv_create_rwq_ind_table", context))
		return NULL;
	if (attr->comp_mask) {
		univ_fail_flags("ibv_create_rwq_ind_table", EOPNOTSUPP, UNIV_FLAGS_NONE,
				attr->comp_mask, 0);
		return NULL;
	}
	table = calloc(1, sizeof(*table));
	if (!table) {
		univ_fail_memory("ibv_create_rwq_ind_table", sizeof(*table));
		return NULL;
	}
	if (table_create_kernel(table, context, attr)) {
		free(table);
		return NULL;
	}
	return table;
}

int univ_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	struct univ_destroy cmd = { .handle = (uint32_t)table->ind_tbl_handle };
	int err = univ_cmd_table_destroy(table->context->cmd_fd, &cmd);

	if (!err)
		free(table);
	return err;
}

/* ---- Queue pairs with a table -------------------------------------------------------------- */

int univ_rss_check(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t both = IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;

	if (!(attr->comp_mask & both))
		return 0;
	if ((attr->comp_mask & both) != both)
		return univ_fail_flags_missing("ibv_create_qp_ex", UNIV_FLAGS_QP_MASK,
					       both & ~attr->comp_mask);
	if (!attr->rwq_ind_tbl)
		return univ_fail_no_object("ibv_create_qp_ex", UNIV_OBJECT_TABLE);
	if (attr->rwq_ind_tbl->context != context)
		return univ_fail_context("ibv_create_qp_ex", UNIV_OBJECT_TABLE);
	return 0;
}

/* The kernel refuses a key of another length, which is not read. */
void univ_rss_fill(struct univ_qp_create *cmd, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_rx_hash_conf *conf = &attr->rx_hash_conf;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE))
		return;
	cmd->table = (uint32_t)attr->rwq_ind_tbl->ind_tbl_handle;
	cmd->rx_hash_function = conf->rx_hash_function;
	cmd->rx_hash_key_len = conf->rx_hash_key_len;
	cmd->rx_hash_fields = conf->rx_hash_fields_mask;
	if (conf->rx_hash_key_len == UNIV_RX_HASH_KEY)
		memcpy(cmd->rx_hash_key, conf->rx_hash_key, UNIV_RX_HASH_KEY);
}
