// SPDX-License-Identifier: GPL-2.0
/* Rings for a device: the DMA addresses of their pages. */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "queues.h"

static struct page *dma_page(void *vaddr)
{
	return is_vmalloc_addr(vaddr) ? vmalloc_to_page(vaddr) :
					virt_to_page(vaddr);
}

/*
 * The process and the device use a ring at the same time, and nothing tells the
 * kernel when to copy or to flush. So a page that needs either is refused: a
 * device that is not coherent, and a bounce buffer of swiotlb.
 */
static int dma_map(struct univ_ring_dma *dma, void *vaddr)
{
	dma_addr_t addr = dma_map_page(dma->dev, dma_page(vaddr), 0, PAGE_SIZE,
				       DMA_BIDIRECTIONAL);

	if (dma_mapping_error(dma->dev, addr))
		return -ENOMEM;
	dma->page[dma->count++] = addr;
	return univ_dma_need_sync(dma->dev, addr) ? -EOPNOTSUPP : 0;
}

/**
 * univ_ring_dma_map() - give a device the addresses of a ring
 * @ib: a device with a DMA device
 * @ring: of an attached queue, with at least one slot
 *
 * The device must be coherent and must reach the pages without a bounce buffer;
 * an IOMMU is respected. May sleep.
 *
 * Return: the addresses, which univ_ring_dma_unmap() takes back after the
 * device has stopped using the ring and before its queue is destroyed; or
 * ERR_PTR(-EOPNOTSUPP) where the pages would have to be copied or flushed, or
 * ERR_PTR(-ENOMEM)
 */
struct univ_ring_dma *univ_ring_dma_map(struct ib_device *ib,
					const struct univ_ring *ring)
{
	void *end = ring->slots + (size_t)ring->count * ring->stride;
	void *vaddr = (void *)((unsigned long)ring->head & PAGE_MASK);
	struct univ_ring_dma *dma;
	int ret = 0;

	dma = kvzalloc(struct_size(dma, page,
				   DIV_ROUND_UP(end - vaddr, PAGE_SIZE)),
		       GFP_KERNEL_ACCOUNT);
	if (!dma)
		return ERR_PTR(-ENOMEM);
	dma->dev = ib->dma_device;
	dma->head = (void *)ring->head - vaddr;
	dma->slots = ring->slots - vaddr;
	for (; vaddr < end && !ret; vaddr += PAGE_SIZE)
		ret = dma->dev ? dma_map(dma, vaddr) : -EOPNOTSUPP;
	if (!ret)
		return dma;
	univ_ring_dma_unmap(dma);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_NS_GPL(univ_ring_dma_map, UNIVERBS_NS);

/**
 * univ_ring_dma_unmap() - the device does not use the ring any more
 * @dma: from univ_ring_dma_map(), or NULL
 */
void univ_ring_dma_unmap(struct univ_ring_dma *dma)
{
	if (!dma)
		return;
	while (dma->count--)
		dma_unmap_page(dma->dev, dma->page[dma->count], PAGE_SIZE,
			       DMA_BIDIRECTIONAL);
	kvfree(dma);
}
EXPORT_SYMBOL_NS_GPL(univ_ring_dma_unmap, UNIVERBS_NS);
