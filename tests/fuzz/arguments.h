/* SPDX-License-Identifier: GPL-2.0 */
/* The arguments of a call: values with which it should succeed, and the changes that the input makes. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "calls.h"
#include "objects.h"

static void default_qp(struct reader *r, struct univ_qp_create *arg)
{
	static const uint32_t types[] = { IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RC };
	uint32_t srq = take(r, 1) % 4 ? 0 : pick(r, UNIV_OBJECT_SRQ);
	uint32_t which = take(r, 1);
	uint32_t type = which < 0xc0 ? types[which % ARRAY_SIZE(types)] :
			which % 2 ? IBV_QPT_XRC_SEND : IBV_QPT_XRC_RECV;
	uint32_t pd = pick(r, UNIV_OBJECT_PD);

	raw_qp_arg(arg, type, pd, pick(r, UNIV_OBJECT_CQ), srq);
	arg->recv_cq = pick(r, UNIV_OBJECT_CQ);
	if (type == IBV_QPT_XRC_RECV)
		arg->xrcd = pick(r, UNIV_OBJECT_XRCD);
}

/*
 * The number of the peer: the queue pair itself, or for XRC a queue pair of the other side.
 * Context: as object_of().
 */
static uint32_t peer_num(const struct object *qp)
{
	uint32_t other = qp->qp_type == IBV_QPT_XRC_SEND ? IBV_QPT_XRC_RECV :
			 qp->qp_type == IBV_QPT_XRC_RECV ? IBV_QPT_XRC_SEND : 0;

	for (uint32_t i = 0; other && i < env.count; i++)
		if (env.object[i].type == UNIV_OBJECT_QP && env.object[i].qp_type == other)
			return env.object[i].qp_num;
	return qp->qp_num;
}

/* A state transition that follows the present state of a queue pair. */
static void default_modify(struct reader *r, struct univ_qp_modify *arg)
{
	uint32_t step = take(r, 1) % 8;
	uint32_t type = IBV_QPT_RC, num = 0;
	struct object *o;

	arg->handle = pick(r, UNIV_OBJECT_QP);
	pthread_mutex_lock(&env.lock);
	o = object_of(arg->handle);
	if (o) {
		type = o->qp_type;
		num = peer_num(o);
	}
	pthread_mutex_unlock(&env.lock);
	switch (step) {
	case 0:
	case 1:
		raw_attr_init(&arg->attr, type);
		break;
	case 2:
	case 3:
		raw_attr_rtr(env.fd, &arg->attr, type, num);
		break;
	case 4:
	case 5:
		raw_attr_rts(&arg->attr, type);
		break;
	default:
		arg->attr.attr_mask = IBV_QP_STATE;
		arg->attr.qp_state = take(r, 1) % 8;
	}
}

/* Attributes of an existing object. */
static uint32_t any_qp_num(struct reader *r)
{
	uint32_t handle = pick(r, UNIV_OBJECT_QP), num = 0;
	struct object *o;

	pthread_mutex_lock(&env.lock);
	o = object_of(handle);
	if (o)
		num = o->qp_num;
	pthread_mutex_unlock(&env.lock);
	return num;
}

static void default_mr(struct reader *r, struct univ_mr_reg *arg)
{
	arg->pd = pick(r, UNIV_OBJECT_PD);
	arg->access = ALL_ACCESS;
	arg->addr = (uintptr_t)env.arena + take(r, 1) * 64;
	arg->length = 1 + take(r, 2);
	arg->iova = arg->addr;
}

/* Sets the handles and channels of all structs but the ones above, by the names of the fields. */
static void default_handles(struct reader *r, const struct call *call, uint8_t *arg)
{
	for (uint16_t i = 0; i < call->count; i++) {
		const struct call_field *f = &call->fields[i];
		enum univ_object_type type = UNIV_OBJECT_NONE;
		uint32_t handle;

		if (!strcmp(f->name, "pd"))
			type = UNIV_OBJECT_PD;
		else if (!strcmp(f->name, "qp"))
			type = UNIV_OBJECT_QP;
		else if (!strcmp(f->name, "xrcd"))
			type = UNIV_OBJECT_XRCD;
		else if (!strcmp(f->name, "handle"))
			type = call_kind(call);
		if (!strcmp(f->name, "port_num"))
			arg[f->offset] = PORT;
		if (type == UNIV_OBJECT_NONE || f->size != sizeof(handle))
			continue;
		handle = pick(r, type);
		memcpy(arg + f->offset, &handle, sizeof(handle));
	}
}

static void defaults(struct reader *r, const struct call *call, void *arg)
{
	static const uint8_t group[16] = { 0xff, 0x0e, [15] = 7 };

	switch (call->cmd) {
	case UNIV_QP_CREATE:
		return default_qp(r, arg);
	case UNIV_QP_MODIFY:
		return default_modify(r, arg);
	case UNIV_MR_REG:
		return default_mr(r, arg);
	default:
		default_handles(r, call, arg);
	}
	switch (call->cmd) {
	case UNIV_AH_CREATE:
		((struct univ_ah_create *)arg)->attr = env.self;
		break;
	case UNIV_MW_ALLOC:
		((struct univ_mw_alloc *)arg)->type = 1 + take(r, 1) % 2;
		break;
	case UNIV_CQ_CREATE:
		((struct univ_cq_create *)arg)->cqe = 1 + take(r, 1);
		((struct univ_cq_create *)arg)->channel_fd = take(r, 1) % 2 ? env.channel : -1;
		break;
	case UNIV_CQ_RESIZE:
		((struct univ_cq_resize *)arg)->cqe = 1 + take(r, 1);
		break;
	case UNIV_SRQ_CREATE:
		((struct univ_srq_create *)arg)->max_wr = 1 + take(r, 1) % 64;
		((struct univ_srq_create *)arg)->max_sge = 2;
		if (take(r, 1) < 0xc0)
			break;
		((struct univ_srq_create *)arg)->srq_type = IBV_SRQT_XRC;
		((struct univ_srq_create *)arg)->cq = pick(r, UNIV_OBJECT_CQ);
		break;
	case UNIV_WQ_CREATE:
		((struct univ_wq_create *)arg)->max_wr = 1 + take(r, 1) % 64;
		((struct univ_wq_create *)arg)->max_sge = 2;
		break;
	case UNIV_WQ_MODIFY:
		((struct univ_wq_modify *)arg)->attr_mask = IBV_WQ_ATTR_STATE;
		((struct univ_wq_modify *)arg)->wq_state = take(r, 1) % 3;
		break;
	case UNIV_TABLE_CREATE:
		((struct univ_table_create *)arg)->log_size = 1;
		for (int i = 0; i < 2; i++)
			((struct univ_table_create *)arg)->wqs[i] = pick(r, UNIV_OBJECT_WQ);
		break;
	case UNIV_DMAH_ALLOC:
		((struct univ_dmah_alloc *)arg)->fields = UNIV_DMAH_PH;
		break;
	case UNIV_XRCD_OPEN:
		((struct univ_xrcd_open *)arg)->fd = take(r, 1) % 2 ? env.fd : -1;
		((struct univ_xrcd_open *)arg)->oflags = O_CREAT;
		break;
	case UNIV_QP_OPEN:
		((struct univ_qp_open *)arg)->qp_num = any_qp_num(r);
		((struct univ_qp_open *)arg)->qp_type = IBV_QPT_XRC_RECV;
		break;
	case UNIV_GID_TABLE:
		((struct univ_gid_table *)arg)->entries = (uintptr_t)env.arena;
		((struct univ_gid_table *)arg)->max = 64;
		break;
	case UNIV_MCAST_ATTACH:
	case UNIV_MCAST_DETACH:
		memcpy(((struct univ_mcast *)arg)->gid, group, sizeof(group));
		break;
	default:
		break;
	}
}

/* The value is never an address of this process outside of the arena. */
static uint64_t take_address(struct reader *r)
{
	uint64_t value = take_value(r);

	if (value >= PAGE && value < 1ull << 47)
		value = (uintptr_t)env.arena + value % ARENA;
	return value;
}

static void change_field(struct reader *r, const struct call *call, uint8_t *arg)
{
	const struct call_field *f = &call->fields[take(r, 1) % call->count];
	uint64_t value = f->size == 8 ? take_address(r) : take_value(r);

	/* The size does not exceed the room; the bytes behind the struct come from the input. */
	if (!strcmp(f->name, "hdr.size") && value > 2 * PAGE)
		value = 2 * PAGE;
	for (uint16_t at = 0; at < f->size; at += 8)
		memcpy(arg + f->offset + at, &value, f->size - at < 8 ? f->size - at : 8);
}

#endif
