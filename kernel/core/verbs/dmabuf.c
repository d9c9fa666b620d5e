// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that drivers share as dma-bufs: regions of it, ibv_reg_dmabuf_mr(3),
 * and device memory as a dma-buf, ibv_dm_export_dmabuf_fd(3).
 */
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "verbs.h"

MODULE_IMPORT_NS(UNIV_DMA_BUF_NS);

bool univ_dmabuf_offered(const struct univ_device *dev)
{
	return dev->queue->mr_dmabuf;
}

/* ---- regions ------------------------------------------------------------- */

static int reg_explain(struct univ_mr_dmabuf_reg *cmd, int err,
		       enum univ_dmabuf_cause cause)
{
	return univ_explain(&cmd->hdr, err, UNIV_REASON_DMABUF, cause,
			    (u32)cmd->fd, 0);
}

/* Nothing of the dma-buf is known yet. */
static int reg_check(struct univ_device *dev, struct univ_mr_dmabuf_reg *cmd)
{
	u64 end;

	if (!univ_dmabuf_offered(dev))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	/*
	 * UCX asks with descriptor -1 whether the memory of a graphics card can
	 * be registered, and takes EBADF for yes.
	 */
	if (cmd->fd < 0 && !univ_queue_can(dev, UNIV_QUEUE_DMA))
		return reg_explain(cmd, -EOPNOTSUPP, UNIV_DMABUF_NONE);
	/* Requests name the first byte by @iova, so it is not zero-based. */
	if (cmd->access & IB_ZERO_BASED)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP,
				    UNIV_REASON_ACCESS_FLAGS, 0, cmd->access,
				    0);
	if (!cmd->length)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_ZERO,
				    UNIV_LIMIT_MR_LENGTH, 0, 0);
	if (check_add_overflow(cmd->iova, cmd->length, &end))
		return univ_explain(&cmd->hdr, -EINVAL,
				    UNIV_REASON_ADDRESS_WRAP, 0, cmd->iova,
				    cmd->length);
	if (cmd->length > dev->ib->attrs.max_mr_size)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_MR_LENGTH,
					  cmd->length,
					  dev->ib->attrs.max_mr_size);
	/* As ibv_reg_dmabuf_mr(3) demands. */
	if ((cmd->offset ^ cmd->iova) & ~PAGE_MASK)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_ADDRESS, 0,
				    cmd->iova, cmd->length);
	return univ_mr_check_access(dev->ib, &cmd->hdr, cmd->access, false);
}

/* The descriptor grants what mmap(2) of it would grant. */
static int buf_check(struct univ_mr_dmabuf_reg *cmd, const struct dma_buf *buf)
{
	fmode_t need = FMODE_READ;

	if (ib_access_writable(cmd->access))
		need |= FMODE_WRITE;
	if ((buf->file->f_mode & need) != need)
		return reg_explain(cmd, -EACCES, UNIV_DMABUF_MODE);
	if (cmd->offset > buf->size || cmd->length > buf->size - cmd->offset)
		return univ_explain(&cmd->hdr, -EINVAL, UNIV_REASON_DMABUF,
				    UNIV_DMABUF_RANGE, cmd->offset, buf->size);
	return 0;
}

static int mr_create(struct univ_call *call, struct univ_mr_dmabuf_reg *cmd,
		     struct univ_mr *mr, struct dma_buf *buf)
{
	struct ib_mr *ib;

	ib = call->ctx->dev->queue->mr_dmabuf(mr->pd->ib, buf, cmd->offset,
					      cmd->length, cmd->iova,
					      cmd->access);
	if (!IS_ERR(ib)) {
		univ_mr_adopt(mr, ib);
		mr->access = cmd->access;
		mr->kind = UNIV_MR_DMABUF;
		return 0;
	}
	if (PTR_ERR(ib) == -EOPNOTSUPP)
		return reg_explain(cmd, -EOPNOTSUPP, UNIV_DMABUF_MEMORY);
	return univ_explain_driver(&cmd->hdr, PTR_ERR(ib));
}

static int mr_reg(struct univ_call *call, struct univ_mr_dmabuf_reg *cmd,
		  struct univ_pd *pd, struct univ_dmah *dmah,
		  struct dma_buf *buf)
{
	struct univ_mr *mr;
	int ret = buf_check(cmd, buf);

	if (ret)
		return ret;
	mr = univ_mr_new(call, &cmd->hdr, pd);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	ret = mr_create(call, cmd, mr, buf);
	if (ret) {
		univ_object_release(&mr->obj);
		return ret;
	}
	cmd->handle = mr->obj.handle;
	cmd->lkey = mr->ib->lkey;
	cmd->rkey = mr->ib->rkey;
	univ_object_depend(&pd->obj);
	univ_mr_use_dmah(mr, dmah);
	return univ_object_announce(call, &mr->obj, univ_mr_destroy);
}

int univ_mr_dmabuf_reg_ioctl(struct univ_call *call, void *arg)
{
	struct univ_mr_dmabuf_reg *cmd = arg;
	struct univ_dmah *dmah;
	struct dma_buf *buf;
	struct univ_pd *pd;
	int ret;

	ret = reg_check(call->ctx->dev, cmd);
	if (ret)
		return ret;
	pd = univ_pd_get(call->ctx, cmd->pd, &cmd->hdr);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	dmah = univ_dmah_get(call->ctx, cmd->dmah, &cmd->hdr);
	if (IS_ERR(dmah)) {
		ret = PTR_ERR(dmah);
		goto put;
	}
	buf = dma_buf_get(cmd->fd);
	if (IS_ERR(buf)) {
		ret = reg_explain(cmd, PTR_ERR(buf), UNIV_DMABUF_NONE);
	} else {
		ret = mr_reg(call, cmd, pd, dmah, buf);
		dma_buf_put(buf);
	}
	univ_dmah_put(dmah);
put:
	univ_object_put(&pd->obj);
	return ret;
}

/* ---- device memory as a dma-buf ------------------------------------------ */

static int table_fill(struct sg_table *table, struct univ_region *region)
{
	u32 count = region->size >> PAGE_SHIFT, i;
	struct page **pages;
	int ret;

	pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		pages[i] = univ_region_page(region, i * PAGE_SIZE);
	ret = sg_alloc_table_from_pages(table, pages, count, 0, region->size,
					GFP_KERNEL);
	kvfree(pages);
	return ret;
}

/*
 * Processors and devices use the memory at the same time, as a ring. So a
 * device that needs copies or flushes of the cache is refused.
 */
static bool table_is_coherent(struct sg_table *table, struct device *dev)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(table, sg, i)
		if (univ_dma_need_sync(dev, sg_dma_address(sg)))
			return false;
	return true;
}

static int table_map(struct sg_table *table, struct device *dev,
		     enum dma_data_direction direction)
{
	int ret = dma_map_sgtable(dev, table, direction, 0);

	if (ret || table_is_coherent(table, dev))
		return ret;
	dma_unmap_sgtable(dev, table, direction, 0);
	return -EOPNOTSUPP;
}

static struct sg_table *dm_map(struct dma_buf_attachment *attach,
			       enum dma_data_direction direction)
{
	struct sg_table *table = kzalloc(sizeof(*table), GFP_KERNEL);
	int ret;

	if (!table)
		return ERR_PTR(-ENOMEM);
	ret = table_fill(table, attach->dmabuf->priv);
	if (ret)
		goto free;
	ret = table_map(table, attach->dev, direction);
	if (!ret)
		return table;
	sg_free_table(table);
free:
	kfree(table);
	return ERR_PTR(ret);
}

static void dm_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
		     enum dma_data_direction direction)
{
	dma_unmap_sgtable(attach->dev, table, direction, 0);
	sg_free_table(table);
	kfree(table);
}

static int dm_vmap(struct dma_buf *buf, struct iosys_map *map)
{
	struct univ_region *region = buf->priv;

	iosys_map_set_vaddr(map, region->vaddr);
	return 0;
}

/* The mapping keeps the file of the dma-buf, and so the memory. */
static int dm_mmap(struct dma_buf *buf, struct vm_area_struct *vma)
{
	return univ_region_map(buf->priv, vma);
}

static void dm_release(struct dma_buf *buf)
{
	univ_region_put(buf->priv);
}

static const struct dma_buf_ops dm_buf_ops = {
	.map_dma_buf = dm_map,
	.unmap_dma_buf = dm_unmap,
	.vmap = dm_vmap,
	.mmap = dm_mmap,
	.release = dm_release,
};

/* The dma-buf keeps the memory when the device memory was freed. */
static struct dma_buf *dm_export(struct univ_dm *dm)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *buf;

	info.ops = &dm_buf_ops;
	info.size = dm->region->size;
	info.flags = O_RDWR;
	info.priv = dm->region;
	univ_region_get(dm->region);
	buf = dma_buf_export(&info);
	if (IS_ERR(buf))
		univ_region_put(dm->region);
	return buf;
}

int univ_dm_export_ioctl(struct univ_call *call, void *arg)
{
	struct univ_dm_export *cmd = arg;
	struct univ_object *obj;
	struct dma_buf *buf;

	obj = univ_object_get(call->ctx, cmd->handle, UNIV_OBJECT_DM,
			      &cmd->hdr);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	buf = dm_export(container_of(obj, struct univ_dm, obj));
	univ_object_put(obj);
	if (IS_ERR(buf))
		return univ_explain_driver(&cmd->hdr, PTR_ERR(buf));
	return univ_call_reply_file(call, buf->file, &cmd->fd);
}
