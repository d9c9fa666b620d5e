// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory that the library allocates for regions, and regions described by a struct. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/common.h"
#include "why/why.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define MR_MASK_FD (IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET)
#define MR_MASK_KNOWN (IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_ADDR | MR_MASK_FD | \
		       IBV_REG_MR_MASK_DMAH | IBV_REG_MR_MASK_BUF)

struct ibv_buf {
	struct ibv_pd *pd;
	void *addr;
	size_t size;
	int fd;			/* of the dma-buf, or -1 */
};

/*
 * Returns a dma-buf of device memory, which stays when the device memory is freed, or -1. The
 * program has allowed special memory and does not depend on it, so this is no failure.
 */
static int dmabuf_new(struct ibv_context *context, size_t size)
{
	struct univ_dm_alloc alloc = { .length = size };
	struct univ_dm_export export = {};
	struct univ_destroy destroy = {};
	int err;

	if (!(to_ucontext(context)->features & UNIV_FEATURE_DMABUF) ||
	    univ_cmd_dm_try(context->cmd_fd, &alloc))
		return -1;
	export.handle = alloc.handle;
	destroy.handle = alloc.handle;
	err = univ_cmd_dm_export_try(context->cmd_fd, &export);
	univ_cmd_dm_free(context->cmd_fd, &destroy);
	return err ? -1 : export.fd;
}

/* Anonymous memory, unless the domain allows special memory and the device has it. */
static void buf_map(struct ibv_buf *buf)
{
	const int prot = PROT_READ | PROT_WRITE;

	if (to_upd(buf->pd)->special)
		buf->fd = dmabuf_new(buf->pd->context, buf->size);
	if (buf->fd >= 0)
		buf->addr = mmap(NULL, buf->size, prot, MAP_SHARED, buf->fd, 0);
	else
		buf->addr = mmap(NULL, buf->size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void buf_close(struct ibv_buf *buf)
{
	if (buf->fd >= 0)
		close(buf->fd);
	free(buf);
}

UNIV_EXPORT void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	struct ibv_buf *new;

	if (!size) {
		univ_fail_zero("ibv_alloc_buf", UNIV_LIMIT_MR_LENGTH);
		return NULL;
	}
	new = malloc(sizeof(*new));
	if (!new) {
		univ_fail_memory("ibv_alloc_buf", sizeof(*new));
		return NULL;
	}
	*new = (struct ibv_buf) { .pd = pd, .size = size, .fd = -1 };
	buf_map(new);
	if (new->addr == MAP_FAILED) {
		buf_close(new);
		univ_fail_memory("ibv_alloc_buf", size);
		return NULL;
	}
	univ_pd_hold(pd);
	*buf = new;
	return new->addr;
}

UNIV_EXPORT void ibv_free_buf(struct ibv_buf *buf)
{
	munmap(buf->addr, buf->size);
	univ_pd_release(buf->pd);
	buf_close(buf);
}

/* rdma-core returns ENODATA for ordinary memory too. */
UNIV_EXPORT int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	int fd;

	if (buf->fd < 0) {
		univ_fail_no_dmabuf("ibv_export_buf_dmabuf_fd");
		return -1;
	}
	fd = fcntl(buf->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		univ_fail_unknown("ibv_export_buf_dmabuf_fd", errno);
	return fd;
}

static int buf_check(const struct ibv_pd *pd, const struct ibv_mr_init_attr *attr)
{
	const struct ibv_buf *buf = attr->buf;
	uintptr_t offset = (uintptr_t)attr->addr - (uintptr_t)buf->addr;

	if (!univ_pd_same(pd, buf->pd))
		return univ_fail_other_domain("ibv_reg_mr_ex");
	/* An address below the buffer gives a large offset. */
	if (offset > buf->size || attr->length > buf->size - offset)
		return univ_fail_outside("ibv_reg_mr_ex", attr->addr, attr->length);
	/* As rdma-core: requests use the addresses of the mapping. */
	if (buf->fd >= 0 && attr->comp_mask & IBV_REG_MR_MASK_IOVA)
		return univ_fail_flags("ibv_reg_mr_ex", EINVAL, UNIV_FLAGS_MR_MASK,
				       attr->comp_mask, MR_MASK_KNOWN & ~IBV_REG_MR_MASK_IOVA);
	return 0;
}

/* The region has the addresses that the program knows. */
static struct ibv_mr *buf_reg(struct ibv_pd *pd, const struct ibv_mr_init_attr *attr,
			      struct ibv_dmah *dmah)
{
	const struct ibv_buf *buf = attr->buf;
	uint64_t iova = (uintptr_t)attr->addr;
	struct ibv_mr *mr;

	mr = univ_mr_dmabuf_reg(pd, iova - (uintptr_t)buf->addr, attr->length, iova, buf->fd,
				attr->access, dmah);
	if (mr)
		mr->addr = attr->addr;
	return mr;
}

static int mr_attr_check(const struct ibv_pd *pd, const struct ibv_mr_init_attr *attr)
{
	uint64_t mask = attr->comp_mask;

	if (mask & ~(uint64_t)MR_MASK_KNOWN)
		return univ_fail_flags("ibv_reg_mr_ex", EOPNOTSUPP, UNIV_FLAGS_MR_MASK, mask,
				       MR_MASK_KNOWN);
	if (mask & IBV_REG_MR_MASK_DMAH && univ_dmah_check("ibv_reg_mr_ex", pd, attr->dmah))
		return errno;
	/* The memory is a part of a dma-buf or of the process, and not of both. */
	if (mask & IBV_REG_MR_MASK_FD && !(mask & (IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_BUF)))
		return 0;
	if (mask & MR_MASK_FD)
		return univ_fail_flags("ibv_reg_mr_ex", EINVAL, UNIV_FLAGS_MR_MASK, mask,
				       MR_MASK_KNOWN & ~MR_MASK_FD);
	if (!(mask & IBV_REG_MR_MASK_ADDR))
		return univ_fail_flags_missing("ibv_reg_mr_ex", UNIV_FLAGS_MR_MASK,
					       IBV_REG_MR_MASK_ADDR);
	return mask & IBV_REG_MR_MASK_BUF ? buf_check(pd, attr) : 0;
}

UNIV_EXPORT struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	bool dmabuf = attr->comp_mask & IBV_REG_MR_MASK_FD;
	uint64_t offset = attr->comp_mask & IBV_REG_MR_MASK_FD_OFFSET ? attr->fd_offset : 0;
	uint64_t iova = dmabuf ? offset : (uintptr_t)attr->addr;
	struct ibv_dmah *dmah = attr->comp_mask & IBV_REG_MR_MASK_DMAH ? attr->dmah : NULL;

	if (mr_attr_check(pd, attr))
		return NULL;
	if (attr->comp_mask & IBV_REG_MR_MASK_IOVA)
		iova = attr->iova;
	if (attr->comp_mask & IBV_REG_MR_MASK_BUF && attr->buf->fd >= 0)
		return buf_reg(pd, attr, dmah);
	if (dmabuf)
		return univ_mr_dmabuf_reg(pd, offset, attr->length, iova, attr->fd, attr->access,
					  dmah);
	return univ_mr_reg(pd, attr->addr, attr->length, iova, (unsigned int)attr->access, dmah);
}

UNIV_EXPORT struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr,
					  size_t length, int access)
{
	struct ibv_mr_init_attr attr = {
		.length = length,
		.access = access,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_BUF,
		.addr = addr,
		.buf = buf,
	};

	return ibv_reg_mr_ex(pd, &attr);
}
