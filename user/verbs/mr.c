// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>

#include "verbs/common.h"
#include "why/why.h"

/* The public header has macros of these names, whose inline functions call the exported ones. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

struct ibv_mr *univ_mr_new(const char *verb, struct ibv_pd *pd)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	if (!mr) {
		univ_fail_memory(verb, sizeof(*mr));
		return NULL;
	}
	mr->context = pd->context;
	mr->pd = pd;
	return mr;
}

struct ibv_mr *univ_mr_finish(struct ibv_mr *mr, int err)
{
	if (err) {
		free(mr);
		return NULL;
	}
	univ_pd_hold(mr->pd);
	return mr;
}

/*
 * The device may write there from now on; received data is not marked again. A region without
 * an address has all of them.
 */
static void mark_written(void *addr, size_t length, unsigned int access)
{
	const unsigned int written = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_ATOMIC;

	if (addr && access & written)
		univ_kernel_wrote(addr, length);
}

struct ibv_mr *univ_mr_reg(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			   unsigned int access, struct ibv_dmah *dmah)
{
	struct univ_mr_reg cmd = {
		.pd = pd->handle,
		.access = access,
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = iova,
		.dmah = univ_dmah_handle(dmah),
	};
	struct ibv_mr *mr = univ_mr_new("ibv_reg_mr", pd);
	int err;

	if (!mr)
		return NULL;
	err = univ_cmd_mr_reg(pd->context->cmd_fd, &cmd);
	if (!err)
		mark_written(addr, length, access);
	mr->addr = addr;
	mr->length = length;
	mr->handle = cmd.handle;
	mr->lkey = cmd.lkey;
	mr->rkey = cmd.rkey;
	return univ_mr_finish(mr, err);
}

UNIV_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					    uint64_t iova, unsigned int access)
{
	return univ_mr_reg(pd, addr, length, iova, access, NULL);
}

UNIV_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

UNIV_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					   uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

static int rereg_input_check(const struct ibv_mr *mr, int flags, const struct ibv_pd *pd,
			     const void *addr, size_t length, int access)
{
	const char *verb = "ibv_rereg_mr";

	if (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED)
		return univ_fail_flags(verb, EINVAL, UNIV_FLAGS_REREG, (uint32_t)flags,
				       IBV_REREG_MR_FLAGS_SUPPORTED);
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return univ_fail_flags_missing(verb, UNIV_FLAGS_REREG, IBV_REREG_MR_CHANGE_ACCESS);
	if (!flags)
		return univ_fail_flags_missing(verb, UNIV_FLAGS_REREG,
					       IBV_REREG_MR_FLAGS_SUPPORTED);
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && !length)
		return univ_fail_zero(verb, UNIV_LIMIT_MR_LENGTH);
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && !addr)
		return univ_fail_no_address(verb, length);
	if ((flags & IBV_REREG_MR_CHANGE_PD) && pd->context != mr->context)
		return univ_fail_context(verb, UNIV_OBJECT_PD);
	return 0;
}

/* Updates the public members that cmd->change names. */
static void rereg_done(struct ibv_mr *mr, const struct univ_mr_rereg *cmd, struct ibv_pd *pd,
		       void *addr)
{
	mr->lkey = cmd->lkey;
	mr->rkey = cmd->rkey;
	if (cmd->change & IBV_REREG_MR_CHANGE_PD) {
		univ_pd_hold(pd);
		univ_pd_release(mr->pd);
		mr->pd = pd;
	}
	if (cmd->change & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = addr;
		mr->length = cmd->length;
	}
	/* The access flags are the region's, also if they have not changed. */
	if (cmd->change & (IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS))
		mark_written(mr->addr, mr->length, cmd->access);
}

UNIV_EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
			     size_t length, int access)
{
	struct univ_mr_rereg cmd = {
		.handle = mr->handle,
		.change = (uint32_t)flags,
		.access = (uint32_t)access,
	};
	int err;

	if (rereg_input_check(mr, flags, pd, addr, length, access))
		return IBV_REREG_MR_ERR_INPUT;
	if (flags & IBV_REREG_MR_CHANGE_PD)
		cmd.pd = pd->handle;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		cmd.addr = (uintptr_t)addr;
		cmd.length = length;
		cmd.iova = (uintptr_t)addr;
	}
	err = univ_cmd_mr_rereg(mr->context->cmd_fd, &cmd);
	/* The kernel returns these errors before it changes the region. */
	if (err == EOPNOTSUPP || err == EINVAL || err == EBUSY)
		return IBV_REREG_MR_ERR_INPUT;
	if (err)
		return IBV_REREG_MR_ERR_CMD;
	rereg_done(mr, &cmd, pd, addr);
	return 0;
}

UNIV_EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct univ_destroy cmd = { .handle = mr->handle };
	int err = univ_cmd_mr_dereg(mr->context->cmd_fd, &cmd);

	if (err)
		return err;
	univ_pd_release(mr->pd);
	free(mr);
	return 0;
}

/* The memory has no address in this process, so ibv_mr.addr is the offset, as in rdma-core. */
struct ibv_mr *univ_mr_dmabuf_reg(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				  int fd, int access, struct ibv_dmah *dmah)
{
	struct univ_mr_dmabuf_reg cmd = {
		.pd = pd->handle,
		.access = (uint32_t)access,
		.offset = offset,
		.length = length,
		.iova = iova,
		.fd = fd,
		.dmah = univ_dmah_handle(dmah),
	};
	struct ibv_mr *mr = univ_mr_new("ibv_reg_dmabuf_mr", pd);
	int err;

	if (!mr)
		return NULL;
	err = univ_cmd_mr_dmabuf_reg(pd->context->cmd_fd, &cmd);
	mr->addr = (void *)(uintptr_t)offset;
	mr->length = length;
	mr->handle = cmd.handle;
	mr->lkey = cmd.lkey;
	mr->rkey = cmd.rkey;
	return univ_mr_finish(mr, err);
}

UNIV_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					     uint64_t iova, int fd, int access)
{
	return univ_mr_dmabuf_reg(pd, offset, length, iova, fd, access, NULL);
}

int univ_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		   struct ibv_sge *list, uint32_t count)
{
	if (!count)
		return univ_fail_zero("ibv_advise_mr", UNIV_LIMIT_SEND_SGE);
	for (uint32_t i = 0; i < count; i++) {
		struct univ_mr_advise cmd = {
			.pd = pd->handle,
			.advice = advice,
			.flags = flags,
			.lkey = list[i].lkey,
			.addr = list[i].addr,
			.length = list[i].length,
		};
		int err = univ_cmd_mr_advise(pd->context->cmd_fd, &cmd);

		if (err)
			return err;
	}
	return 0;
}

struct ibv_mr *univ_alloc_null_mr(struct ibv_pd *pd)
{
	struct univ_mr_null_alloc cmd = { .pd = pd->handle };
	struct ibv_mr *mr = univ_mr_new("ibv_alloc_null_mr", pd);
	int err;

	if (!mr)
		return NULL;
	err = univ_cmd_mr_null_alloc(pd->context->cmd_fd, &cmd);
	mr->length = SIZE_MAX;
	mr->handle = cmd.handle;
	mr->lkey = cmd.lkey;
	return univ_mr_finish(mr, err);
}

/* The memory may not be mapped in this process, so the region has no address here. */
UNIV_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	struct univ_handle_query cmd = {
		.handle = mr_handle,
		.type = UNIV_OBJECT_MR,
		.domain = pd->handle,
	};
	struct ibv_mr *mr = univ_mr_new("ibv_import_mr", pd);
	int err;

	if (!mr)
		return NULL;
	err = univ_cmd_mr_import(pd->context->cmd_fd, &cmd);
	mr->length = cmd.length;
	mr->handle = mr_handle;
	mr->lkey = cmd.lkey;
	mr->rkey = cmd.rkey;
	return univ_mr_finish(mr, err);
}

UNIV_EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
	univ_pd_release(mr->pd);
	free(mr);
}
