// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory that the library allocates for regions, and regions described by a struct. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

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
};

/* No device has special memory for this, so it is anonymous memory. */
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
	*new = (struct ibv_buf) {
		.pd = pd,
		.addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0),
		.size = size,
	};
	if (new->addr == MAP_FAILED) {
		free(new);
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
	free(buf);
}

/* The memory is not a dma-buf; rdma-core returns ENODATA for such memory too. */
UNIV_EXPORT int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	(void)buf;
	univ_fail_no_dmabuf("ibv_export_buf_dmabuf_fd");
	return -1;
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
	return 0;
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
