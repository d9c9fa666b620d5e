// SPDX-License-Identifier: GPL-2.0
/* Regions of memory that the kernel has mapped: the core's, or a dma-buf's. */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../dev/dev.h"
#include "dmabuf.h"
#include "region.h"

/* A region of no bytes has a page too, since a request may name its address. */
static int mr_list_memory(struct uroce_mr *mr, void *memory)
{
	void *first = PTR_ALIGN_DOWN(memory, PAGE_SIZE);
	u32 i;

	mr->offset = offset_in_page(memory);
	mr->npages = max_t(u64, 1, PAGE_ALIGN(mr->offset + mr->length) >>
				   PAGE_SHIFT);
	mr->pages = kvmalloc_array(mr->npages, sizeof(*mr->pages),
				   GFP_KERNEL_ACCOUNT);
	if (!mr->pages)
		return -ENOMEM;
	for (i = 0; i < mr->npages; i++)
		mr->pages[i] = first + i * PAGE_SIZE;
	return 0;
}

static int mr_make_null(struct uroce_mr *mr)
{
	mr->kind = UROCE_MR_NULL;
	mr->pages = kzalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
	return mr->pages ? 0 : -ENOMEM;
}

/* Memory of the core, or none; see struct univ_queue_ops. */
struct ib_mr *uroce_mr_memory(struct ib_pd *pd, void *memory, u64 length,
			      int access)
{
	struct uroce_mr *mr = uroce_mr_begin(pd, access);
	int ret;

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->length = length;
	ret = memory ? mr_list_memory(mr, memory) : mr_make_null(mr);
	return uroce_mr_finish(mr, ret, true);
}

static int mr_list_dmabuf(struct uroce_mr *mr, struct dma_buf *buf, u64 offset)
{
	struct uroce_dmabuf *dmabuf = uroce_dmabuf_open(buf, mr->ib.device);

	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	mr->dmabuf = dmabuf;
	return mr_list_memory(mr, uroce_dmabuf_memory(dmabuf) + offset);
}

/*
 * Memory of another driver; see struct univ_queue_ops. The region is like one
 * of the core's memory: its pages belong to no process, so packets do not hold
 * references to them.
 */
struct ib_mr *uroce_mr_dmabuf(struct ib_pd *pd, struct dma_buf *buf, u64 offset,
			      u64 length, u64 iova, int access)
{
	struct uroce_mr *mr = uroce_mr_begin(pd, access);
	int ret;

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	uroce_mr_set_range(mr, length, iova);
	ret = mr_list_dmabuf(mr, buf, offset);
	return uroce_mr_finish(mr, ret, true);
}
