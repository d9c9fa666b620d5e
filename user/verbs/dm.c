// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Device memory. The process maps it, so that a copy needs no system call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/common.h"
#include "why/why.h"

struct univ_dm {
	struct ibv_dm ibv;
	size_t length;
	struct univ_map map;
};

static struct univ_dm *to_udm(struct ibv_dm *dm)
{
	return (struct univ_dm *)dm;
}

/*
 * Cards take whole words of 4 bytes, so programs must not rely on less. The errno values and
 * their order are those of mlx5.
 */
static int copy_check(const char *verb, const struct univ_dm *dm, uint64_t offset, size_t length)
{
	if (offset > dm->length || length > dm->length - offset)
		return univ_fail_dm_range(verb, EFAULT, offset, length);
	if ((offset | length) % 4)
		return univ_fail_dm_range(verb, EINVAL, offset, length);
	return 0;
}

static int copy_to(struct ibv_dm *ibv, uint64_t offset, const void *from, size_t length)
{
	struct univ_dm *dm = to_udm(ibv);
	int err = copy_check("ibv_memcpy_to_dm", dm, offset, length);

	if (!err)
		memcpy((char *)dm->map.base + offset, from, length);
	return err;
}

static int copy_from(void *to, struct ibv_dm *ibv, uint64_t offset, size_t length)
{
	struct univ_dm *dm = to_udm(ibv);
	int err = copy_check("ibv_memcpy_from_dm", dm, offset, length);

	if (!err)
		memcpy(to, (const char *)dm->map.base + offset, length);
	return err;
}

static struct univ_dm *dm_new(const char *verb, struct ibv_context *context)
{
	struct univ_dm *dm = calloc(1, sizeof(*dm));

	if (!dm) {
		univ_fail_memory(verb, sizeof(*dm));
		return NULL;
	}
	dm->ibv = (struct ibv_dm) {
		.context = context,
		.memcpy_to_dm = copy_to,
		.memcpy_from_dm = copy_from,
		.comp_mask = IBV_DM_MASK_HANDLE,
	};
	return dm;
}

static int dm_create(struct univ_dm *dm, const struct ibv_alloc_dm_attr *attr)
{
	int fd = dm->ibv.context->cmd_fd, err;
	struct univ_dm_alloc cmd = {
		.length = attr->length,
		.log_align = attr->log_align_req,
	};
	struct univ_destroy destroy = {};

	err = univ_cmd_dm_alloc(fd, &cmd);
	if (err)
		return err;
	dm->ibv.handle = cmd.handle;
	dm->length = attr->length;
	err = univ_map_ring("ibv_alloc_dm", fd, &dm->map, cmd.map_offset, cmd.map_length);
	if (err) {
		destroy.handle = cmd.handle;
		univ_cmd_dm_free(fd, &destroy);
		errno = err;
	}
	return err;
}

struct ibv_dm *univ_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct univ_dm *dm;

	if (attr->comp_mask) {
		univ_fail_flags("ibv_alloc_dm", EOPNOTSUPP, UNIV_FLAGS_NONE, attr->comp_mask, 0);
		return NULL;
	}
	dm = dm_new("ibv_alloc_dm", context);
	if (!dm)
		return NULL;
	if (dm_create(dm, attr)) {
		free(dm);
		return NULL;
	}
	return &dm->ibv;
}

UNIV_EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
	univ_unmap_ring(&to_udm(dm)->map);
	free(to_udm(dm));
}

int univ_free_dm(struct ibv_dm *dm)
{
	struct univ_destroy cmd = { .handle = dm->handle };
	int err = univ_cmd_dm_free(dm->context->cmd_fd, &cmd);

	if (!err)
		ibv_unimport_dm(dm);
	return err;
}

UNIV_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	struct univ_handle_query cmd = { .handle = dm_handle, .type = UNIV_OBJECT_DM };
	struct univ_dm *dm = dm_new("ibv_import_dm", context);

	if (!dm)
		return NULL;
	if (univ_cmd_dm_import(context->cmd_fd, &cmd) ||
	    univ_map_ring("ibv_import_dm", context->cmd_fd, &dm->map, cmd.map_offset,
			  cmd.map_length)) {
		free(dm);
		return NULL;
	}
	dm->ibv.handle = dm_handle;
	dm->length = cmd.length;
	return &dm->ibv;
}

struct ibv_mr *univ_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			      unsigned int access)
{
	struct univ_mr_dm_reg cmd = {
		.pd = pd->handle,
		.dm = dm->handle,
		.offset = offset,
		.length = length,
		.access = access,
	};
	struct ibv_mr *mr;
	int err;

	if (dm->context != pd->context) {
		univ_fail_context("ibv_reg_dm_mr", UNIV_OBJECT_DM);
		return NULL;
	}
	mr = univ_mr_new("ibv_reg_dm_mr", pd);
	if (!mr)
		return NULL;
	err = univ_cmd_mr_dm_reg(pd->context->cmd_fd, &cmd);
	mr->length = length;
	mr->handle = cmd.handle;
	mr->lkey = cmd.lkey;
	mr->rkey = cmd.rkey;
	return univ_mr_finish(mr, err);
}

/* Returns a file descriptor, or -1 with errno. */
UNIV_EXPORT int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	struct univ_dm_export cmd = { .handle = dm->handle };

	return univ_cmd_dm_export(dm->context->cmd_fd, &cmd) ? -1 : cmd.fd;
}
