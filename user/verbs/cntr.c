// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion counters. Their values lie in a page that the kernel writes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "verbs/common.h"
#include "why/why.h"

struct univ_comp_cntr {
	struct ibv_comp_cntr ibv;
	struct univ_map map;
};

static struct univ_comp_cntr *to_ucntr(struct ibv_comp_cntr *cntr)
{
	return univ_container(cntr, struct univ_comp_cntr, ibv);
}

/* ibv_devinfo calls it for every device, and reads the struct even after a failure. */
UNIV_EXPORT int _ibv_query_comp_cntr_caps(struct ibv_context *context,
					  struct ibv_comp_cntr_caps *caps, size_t size)
{
	struct univ_cntr_query cmd = {};
	struct ibv_comp_cntr_caps found;
	int err;

	memset(caps, 0, size);
	if (!(to_ucontext(context)->features & UNIV_FEATURE_CNTRS))
		return univ_fail_probe("ibv_query_comp_cntr_caps", UNIV_LACK_ANY);
	err = univ_cmd_cntr_query(context->cmd_fd, &cmd);
	if (err)
		return err;
	found = (struct ibv_comp_cntr_caps) {
		.max_value = cmd.max_value,
		.max_counters = cmd.max_counters,
		.supported_qp_attach_ops = cmd.ops,
	};
	memcpy(caps, &found, size < sizeof(found) ? size : sizeof(found));
	return 0;
}

static int cntr_create(struct univ_comp_cntr *cntr, struct ibv_context *context,
		       const struct ibv_comp_cntr_init_attr *attr)
{
	struct univ_cntr_create cmd = { .type = (uint32_t)attr->type };
	struct univ_destroy destroy;
	int err = univ_cmd_cntr_create(context->cmd_fd, &cmd);

	if (err)
		return err;
	cntr->ibv.context = context;
	cntr->ibv.handle = cmd.handle;
	err = univ_map_read_only("ibv_create_comp_cntr", context->cmd_fd, &cntr->map,
				 cmd.map_offset, cmd.map_length);
	if (err) {
		destroy = (struct univ_destroy) { .handle = cmd.handle };
		univ_cmd_cntr_destroy(context->cmd_fd, &destroy);
		errno = err;
	}
	return err;
}

UNIV_EXPORT struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
						       struct ibv_comp_cntr_init_attr *attr)
{
	struct univ_comp_cntr *cntr;

	if (attr->comp_mask) {
		univ_fail_flags("ibv_create_comp_cntr", EOPNOTSUPP, UNIV_FLAGS_CNTR_MASK,
				attr->comp_mask, 0);
		return NULL;
	}
	if (attr->flags) {
		univ_fail_flags("ibv_create_comp_cntr", EOPNOTSUPP, UNIV_FLAGS_CNTR,
				attr->flags, 0);
		return NULL;
	}
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr) {
		univ_fail_memory("ibv_create_comp_cntr", sizeof(*cntr));
		return NULL;
	}
	if (cntr_create(cntr, context, attr)) {
		free(cntr);
		return NULL;
	}
	return &cntr->ibv;
}

UNIV_EXPORT int ibv_destroy_comp_cntr(struct ibv_comp_cntr *ibv)
{
	struct univ_destroy cmd = { .handle = ibv->handle };
	int err = univ_cmd_cntr_destroy(ibv->context->cmd_fd, &cmd);

	if (err)
		return err;
	univ_unmap_ring(&to_ucntr(ibv)->map);
	free(to_ucntr(ibv));
	return 0;
}

static struct univ_cntr_modify change_of(const struct ibv_comp_cntr *cntr,
					 enum univ_cntr_change change, uint64_t amount)
{
	return (struct univ_cntr_modify) {
		.handle = cntr->handle,
		.change = change,
		.amount = amount,
	};
}

UNIV_EXPORT int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	struct univ_cntr_modify cmd = change_of(cntr, UNIV_CNTR_SET, value);

	return univ_cmd_cntr_set(cntr->context->cmd_fd, &cmd);
}

UNIV_EXPORT int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	struct univ_cntr_modify cmd = change_of(cntr, UNIV_CNTR_SET_ERR, value);

	return univ_cmd_cntr_set_err(cntr->context->cmd_fd, &cmd);
}

UNIV_EXPORT int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	struct univ_cntr_modify cmd = change_of(cntr, UNIV_CNTR_INC, amount);

	return univ_cmd_cntr_inc(cntr->context->cmd_fd, &cmd);
}

UNIV_EXPORT int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	struct univ_cntr_modify cmd = change_of(cntr, UNIV_CNTR_INC_ERR, amount);

	return univ_cmd_cntr_inc_err(cntr->context->cmd_fd, &cmd);
}

/* Acquire: the data of a message that is counted is in memory; univ_queue_count() releases it. */
UNIV_EXPORT int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	const struct univ_cntr *words = to_ucntr(cntr)->map.base;

	*value = univ_load_acquire_64(&words->done);
	return 0;
}

UNIV_EXPORT int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	const struct univ_cntr *words = to_ucntr(cntr)->map.base;

	*value = univ_load_acquire_64(&words->failed);
	return 0;
}

UNIV_EXPORT int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
					struct ibv_qp_attach_comp_cntr_attr *attr)
{
	struct univ_qp_cntr cmd = {
		.handle = qp->handle,
		.cntr = cntr->handle,
		.ops = attr->op_mask,
	};

	if (attr->comp_mask)
		return univ_fail_flags("ibv_qp_attach_comp_cntr", EOPNOTSUPP, UNIV_FLAGS_CNTR_MASK,
				       attr->comp_mask, 0);
	if (cntr->context != qp->context)
		return univ_fail_context("ibv_qp_attach_comp_cntr", UNIV_OBJECT_CNTR);
	return univ_cmd_qp_cntr(qp->context->cmd_fd, &cmd);
}
