// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The operations of a context that no inline function calls any more (_compat_*). rdma-core sets
 * all of them to the functions of its driver, so a program that takes a pointer from there finds
 * the same parameters here. The public header has no types for them.
 */
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			     int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

static struct ibv_cq *create_cq(struct ibv_context *context, int cqe,
				struct ibv_comp_channel *channel, int comp_vector)
{
	return ibv_create_cq(context, cqe, NULL, channel, comp_vector);
}

/* The two tell a driver of an event. */
static void cq_event(struct ibv_cq *cq)
{
	(void)cq;
}

static void async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	(void)context;
	(void)event;
}

/* gcc does not warn of a cast by way of this type. */
#define UNTYPED(fn) ((void *(*)(void))(void (*)(void))(fn))

/* The macro of the public header hides the exported function. */
#undef ibv_query_port

void univ_compat_ops(struct ibv_context_ops *ops)
{
	ops->_compat_query_device = ibv_query_device;
	ops->_compat_query_port = ibv_query_port;
	ops->_compat_alloc_pd = UNTYPED(ibv_alloc_pd);
	ops->_compat_dealloc_pd = UNTYPED(ibv_dealloc_pd);
	ops->_compat_reg_mr = UNTYPED(reg_mr);
	ops->_compat_rereg_mr = UNTYPED(ibv_rereg_mr);
	ops->_compat_dereg_mr = UNTYPED(ibv_dereg_mr);
	ops->_compat_create_cq = UNTYPED(create_cq);
	ops->_compat_cq_event = UNTYPED(cq_event);
	ops->_compat_resize_cq = UNTYPED(ibv_resize_cq);
	ops->_compat_destroy_cq = UNTYPED(ibv_destroy_cq);
	ops->_compat_create_srq = UNTYPED(ibv_create_srq);
	ops->_compat_modify_srq = UNTYPED(ibv_modify_srq);
	ops->_compat_query_srq = UNTYPED(ibv_query_srq);
	ops->_compat_destroy_srq = UNTYPED(ibv_destroy_srq);
	ops->_compat_create_qp = UNTYPED(ibv_create_qp);
	ops->_compat_query_qp = UNTYPED(ibv_query_qp);
	ops->_compat_modify_qp = UNTYPED(ibv_modify_qp);
	ops->_compat_destroy_qp = UNTYPED(ibv_destroy_qp);
	ops->_compat_create_ah = UNTYPED(ibv_create_ah);
	ops->_compat_destroy_ah = UNTYPED(ibv_destroy_ah);
	ops->_compat_attach_mcast = UNTYPED(ibv_attach_mcast);
	ops->_compat_detach_mcast = UNTYPED(ibv_detach_mcast);
	ops->_compat_async_event = UNTYPED(async_event);
}
