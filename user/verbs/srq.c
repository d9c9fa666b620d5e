// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shared receive queues. Posting to them is in ring/post_recv.c. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/common.h"
#include "why/why.h"

static int srq_destroy_kernel(const struct ibv_srq *srq, struct univ_destroy *cmd)
{
	*cmd = (struct univ_destroy) { .handle = srq->handle };
	return univ_cmd_srq_destroy(srq->context->cmd_fd, cmd);
}

/* @handle if the mask says that the member is set, else 0. */
#define HANDLE(attr, bit, handle) ((attr)->comp_mask & IBV_SRQ_INIT_ATTR_##bit ? (handle) : 0)

static void srq_init(struct ibv_srq *srq, struct ibv_pd *pd, void *srq_context)
{
	srq->context = pd->context;
	srq->srq_context = srq_context;
	srq->pd = pd;
	pthread_mutex_init(&srq->mutex, NULL);
	pthread_cond_init(&srq->cond, NULL);
}

static int ring_map(struct univ_srq *srq, const struct univ_srq_create *cmd)
{
	int err = univ_doorbell_map("ibv_create_srq", srq->ibv.context, &srq->doorbell);

	if (err)
		return err;
	err = univ_map_ring("ibv_create_srq", srq->ibv.context->cmd_fd, &srq->map, cmd->map_offset,
			    cmd->map_length);
	if (err)
		return err;
	univ_ring_init(&srq->ring, srq->map.base, &cmd->ring, cmd->max_wr, cmd->max_sge);
	univ_bell_set(&srq->bell, srq->ibv.context, &cmd->bell);
	return 0;
}

/* On return @ex holds the real size of the queue. */
static int srq_create_kernel(struct univ_srq *srq, struct ibv_srq_init_attr_ex *ex)
{
	struct ibv_srq_attr *attr = &ex->attr;
	struct univ_srq_create cmd = {
		.pd = srq->ibv.pd->handle,
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
		.limit = attr->srq_limit,
		.cookie = univ_cookie(srq->ibv.context, srq),
		.srq_type = HANDLE(ex, TYPE, ex->srq_type),
		.cq = HANDLE(ex, CQ, ex->cq->handle),
		.xrcd = HANDLE(ex, XRCD, to_uxrcd(ex->xrcd)->handle),
	};
	struct univ_destroy destroy;
	int err = univ_cmd_srq_create(srq->ibv.context->cmd_fd, &cmd);

	if (err)
		return err;
	srq->ibv.handle = cmd.handle;
	err = ring_map(srq, &cmd);
	if (err) {
		srq_destroy_kernel(&srq->ibv, &destroy);
		errno = err;
		return err;
	}
	univ_events_begin(srq->ibv.context, cmd.handle);
	attr->max_wr = cmd.max_wr;
	attr->max_sge = cmd.max_sge;
	srq->number = cmd.srq_num;
	return 0;
}

static struct ibv_srq *srq_create(struct ibv_pd *pd, struct ibv_srq_init_attr_ex *attr)
{
	struct univ_srq *srq = calloc(1, sizeof(*srq));

	if (!srq) {
		univ_fail_memory("ibv_create_srq", sizeof(*srq));
		return NULL;
	}
	srq_init(&srq->ibv, pd, attr->srq_context);
	if (srq_create_kernel(srq, attr)) {
		free(srq);
		return NULL;
	}
	univ_pd_hold(pd);
	return &srq->ibv;
}

UNIV_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
	};
	struct ibv_srq *srq;

	/* Programs leave the member unset, because this call does not use it. */
	ex.attr.srq_limit = 0;
	srq = srq_create(pd, &ex);
	if (srq) {
		attr->attr.max_wr = ex.attr.max_wr;
		attr->attr.max_sge = ex.attr.max_sge;
	}
	return srq;
}

/* In another context a handle is unknown, or names another object. */
static int contexts_check(const struct ibv_context *context,
			  const struct ibv_srq_init_attr_ex *attr)
{
	const char *verb = "ibv_create_srq_ex";

	if (attr->pd->context != context)
		return univ_fail_context(verb, UNIV_OBJECT_PD);
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) && attr->cq->context != context)
		return univ_fail_context(verb, UNIV_OBJECT_CQ);
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) && attr->xrcd->context != context)
		return univ_fail_context(verb, UNIV_OBJECT_XRCD);
	return 0;
}

struct ibv_srq *univ_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | xrc;
	bool is_xrc = (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
		      attr->srq_type == IBV_SRQT_XRC;

	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TM) {
		univ_fail_lacking("ibv_create_srq_ex", UNIV_LACK_TAGS);
		return NULL;
	}
	if (attr->comp_mask & ~known) {
		univ_fail_flags("ibv_create_srq_ex", EOPNOTSUPP, UNIV_FLAGS_SRQ_MASK,
				attr->comp_mask, known);
		return NULL;
	}
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && attr->srq_type != IBV_SRQT_BASIC &&
	    !is_xrc) {
		univ_fail_unsupported("ibv_create_srq_ex");
		return NULL;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD)) {
		univ_fail_flags_missing("ibv_create_srq_ex", UNIV_FLAGS_SRQ_MASK,
					IBV_SRQ_INIT_ATTR_PD);
		return NULL;
	}
	if (is_xrc && (attr->comp_mask & xrc) != xrc) {
		univ_fail_flags_missing("ibv_create_srq_ex", UNIV_FLAGS_SRQ_MASK,
					xrc & ~attr->comp_mask);
		return NULL;
	}
	if (contexts_check(context, attr))
		return NULL;
	return srq_create(attr->pd, attr);
}

int univ_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	if (!to_usrq(srq)->number)
		return univ_fail_not_xrc("ibv_get_srq_num");
	*number = to_usrq(srq)->number;
	return 0;
}

/*
 * The kernel uses the new ring, which cannot be mapped. The queue reads as full, so that
 * nothing is posted to the former ring.
 */
static int resize_lost(struct univ_srq *srq, int err)
{
	struct univ_ring *ring = &srq->ring;

	ring->max_wr -= univ_ring_room(ring, ring->tail);
	return err;
}

/* Continues in the new ring, where the next request has the same index. */
static int resize_locked(struct univ_srq *srq, struct univ_srq_modify *cmd)
{
	int fd = srq->ibv.context->cmd_fd;
	uint32_t tail = srq->ring.tail;
	struct univ_map map;
	int err = univ_cmd_srq_modify(fd, cmd);

	if (err)
		return err;
	err = univ_map_ring("ibv_modify_srq", fd, &map, cmd->map_offset, cmd->map_length);
	if (err)
		return resize_lost(srq, err);
	univ_ring_init(&srq->ring, map.base, &cmd->ring, cmd->max_wr, srq->ring.max_sge);
	srq->ring.tail = tail;
	univ_unmap_ring(&srq->map);
	srq->map = map;
	return 0;
}

static int srq_resize(struct univ_srq *srq, struct univ_srq_modify *cmd)
{
	int err;

	/* Failures under the lock are printed without it. */
	univ_fail_defer();
	univ_lock(&srq->lock);
	err = resize_locked(srq, cmd);
	univ_unlock_pass(&srq->lock);
	univ_fail_tell();
	return err;
}

UNIV_EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int attr_mask)
{
	struct univ_srq_modify cmd = {
		.handle = srq->handle,
		.attr_mask = (uint32_t)attr_mask,
		.max_wr = attr_mask & IBV_SRQ_MAX_WR ? attr->max_wr : 0,
		.limit = attr_mask & IBV_SRQ_LIMIT ? attr->srq_limit : 0,
	};

	if (attr_mask & IBV_SRQ_MAX_WR)
		return srq_resize(to_usrq(srq), &cmd);
	return univ_cmd_srq_modify(srq->context->cmd_fd, &cmd);
}

UNIV_EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct univ_srq_query cmd = { .handle = srq->handle };
	int err = univ_cmd_srq_query(srq->context->cmd_fd, &cmd);

	if (err)
		return err;
	attr->max_wr = cmd.max_wr;
	attr->max_sge = cmd.max_sge;
	attr->srq_limit = cmd.limit;
	return 0;
}

UNIV_EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	const struct univ_acks acks = { "ibv_destroy_srq", UNIV_OBJECT_SRQ, &srq->mutex,
					&srq->cond };
	struct univ_destroy cmd;
	int err = srq_destroy_kernel(srq, &cmd);

	if (err)
		return err;
	univ_acks_wait(&acks, &srq->events_completed,
		       cmd.async_events);
	univ_unmap_ring(&to_usrq(srq)->map);
	pthread_mutex_destroy(&srq->mutex);
	pthread_cond_destroy(&srq->cond);
	univ_pd_release(srq->pd);
	free(to_usrq(srq));
	return 0;
}
