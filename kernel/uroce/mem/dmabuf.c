// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of other drivers (dma-bufs), as copies use it.
 *
 * Copies are made by processors, so the exporter of a dma-buf is asked for an
 * address in the kernel (dma_buf_vmap()). Two alternatives were rejected. The
 * list of pages of an attachment is for DMA: an importer must not look at its
 * pages, of which there may be none, and a debugging option hides them. And the
 * umem of the RDMA core (ib_umem_dmabuf_get()) makes that list for the device's
 * DMA device, which uroce does not have.
 *
 * The memory must stay where it is while the region exists. So there is an
 * attachment, with which most exporters pin the memory, and those that may move
 * it are told to pin it.
 *
 * A copy runs with bottom halves off and cannot call the exporter, which may
 * sleep. So the access of processors begins with the region and ends with it. A
 * buffer of ordinary memory is coherent on its own. If it is not, a process
 * that uses it with another device tells the exporter itself, before and after
 * the messages (DMA_BUF_IOCTL_SYNC), as it would do for its own accesses.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/iosys-map.h>
#include <linux/slab.h>

#include "compat.h"
#include "dmabuf.h"

struct uroce_dmabuf {
	struct dma_buf_attachment *attach;
	struct iosys_map map;
};

void *uroce_dmabuf_memory(const struct uroce_dmabuf *dmabuf)
{
	return dmabuf->map.vaddr;
}

/*
 * dma_buf_pin() may move the memory and call this. Nothing is mapped before it
 * returns, and the memory stays where it is from then on, so there is nothing
 * to do.
 */
static void moved(struct dma_buf_attachment *attach)
{
}

static const struct dma_buf_attach_ops attach_ops = {
	.univ_move_notify = moved,
};

/*
 * An exporter that cannot pin gets an attachment without operations: otherwise
 * kernels before 6.16 map the memory for the device's DMA at once.
 */
static struct dma_buf_attachment *attach_to(struct dma_buf *buf,
					    struct ib_device *ib)
{
	if (!buf->ops->pin)
		return dma_buf_attach(buf, &ib->dev);
	return dma_buf_dynamic_attach(buf, &ib->dev, &attach_ops, NULL);
}

static int pin(struct dma_buf_attachment *attach)
{
	struct dma_buf *buf = attach->dmabuf;
	int ret;

	if (!buf->ops->pin)
		return 0;
	ret = dma_resv_lock_interruptible(buf->resv, NULL);
	if (ret)
		return ret;
	ret = dma_buf_pin(attach);
	dma_resv_unlock(buf->resv);
	return ret;
}

static void unpin(struct dma_buf_attachment *attach)
{
	struct dma_buf *buf = attach->dmabuf;

	if (!buf->ops->pin)
		return;
	dma_resv_lock(buf->resv, NULL);
	dma_buf_unpin(attach);
	dma_resv_unlock(buf->resv);
}

/* Memory of a device is not copied from and to like memory. */
static int map(struct uroce_dmabuf *dmabuf, struct dma_buf *buf)
{
	int ret = dma_buf_vmap_unlocked(buf, &dmabuf->map);

	if (ret || !dmabuf->map.is_iomem)
		return ret;
	dma_buf_vunmap_unlocked(buf, &dmabuf->map);
	return -EOPNOTSUPP;
}

static int make_ready(struct uroce_dmabuf *dmabuf, struct dma_buf *buf)
{
	int ret = pin(dmabuf->attach);

	if (ret)
		return ret;
	ret = dma_buf_begin_cpu_access(buf, DMA_BIDIRECTIONAL);
	if (ret)
		goto unpin;
	ret = map(dmabuf, buf);
	if (!ret)
		return 0;
	dma_buf_end_cpu_access(buf, DMA_BIDIRECTIONAL);
unpin:
	unpin(dmabuf->attach);
	return ret;
}

/*
 * Takes a reference to @buf. The memory can be used until uroce_dmabuf_close().
 * May wait for other devices that use the memory; a signal ends that.
 */
struct uroce_dmabuf *uroce_dmabuf_open(struct dma_buf *buf,
				       struct ib_device *ib)
{
	struct uroce_dmabuf *dmabuf;
	int ret;

	/* Before the exporter moves the memory to where it can be pinned. */
	if (!buf->ops->vmap)
		return ERR_PTR(-EOPNOTSUPP);
	dmabuf = kzalloc(sizeof(*dmabuf), GFP_KERNEL_ACCOUNT);
	if (!dmabuf)
		return ERR_PTR(-ENOMEM);
	dmabuf->attach = attach_to(buf, ib);
	if (IS_ERR(dmabuf->attach)) {
		ret = PTR_ERR(dmabuf->attach);
		goto free;
	}
	ret = make_ready(dmabuf, buf);
	if (ret)
		goto detach;
	get_dma_buf(buf);
	return dmabuf;

detach:
	dma_buf_detach(buf, dmabuf->attach);
free:
	kfree(dmabuf);
	return ERR_PTR(ret == -ERESTARTSYS ? -EINTR : ret);
}

/* No copy uses the memory any more. */
void uroce_dmabuf_close(struct uroce_dmabuf *dmabuf)
{
	struct dma_buf *buf = dmabuf->attach->dmabuf;

	dma_buf_vunmap_unlocked(buf, &dmabuf->map);
	dma_buf_end_cpu_access(buf, DMA_BIDIRECTIONAL);
	unpin(dmabuf->attach);
	dma_buf_detach(buf, dmabuf->attach);
	dma_buf_put(buf);
	kfree(dmabuf);
}
