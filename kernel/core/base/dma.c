// SPDX-License-Identifier: GPL-2.0
/* The DMA addresses of a region, for a device that reaches rings by itself. */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "region.h"

/*
 * The process and the device use a ring at the same time, and nothing tells the
 * kernel when to copy or to flush. So a page that needs either is refused: a
 * device that is not coherent, and a bounce buffer of swiotlb.
 */
static int dma_map(struct univ_ring_dma *dma, struct page *page)
{
	dma_addr_t addr = dma_map_page(dma->dev, page, 0, PAGE_SIZE,
				       DMA_BIDIRECTIONAL);

	if (dma_mapping_error(dma->dev, addr))
		return -ENOMEM;
	dma->page[dma->count++] = addr;
	return univ_dma_need_sync(dma->dev, addr) ? -EOPNOTSUPP : 0;
}

/*
 * Maps each page of the region for the DMA device of @ib. An IOMMU is
 * respected. May sleep. Returns -EOPNOTSUPP where the pages would have to be
 * copied or flushed, or -ENOMEM.
 */
int univ_region_dma_map(struct univ_region *region, struct ib_device *ib)
{
	struct univ_ring_dma *dma;
	size_t done;
	int ret = 0;

	if (!ib->dma_device)
		return -EOPNOTSUPP;
	dma = kvzalloc(struct_size(dma, page, region->size / PAGE_SIZE),
		       GFP_KERNEL_ACCOUNT);
	if (!dma)
		return -ENOMEM;
	dma->dev = ib->dma_device;
	region->dma = dma;
	for (done = 0; done < region->size && !ret; done += PAGE_SIZE) {
		ret = dma_map(dma, univ_region_page(region, done));
		cond_resched();
	}
	if (ret)
		univ_region_dma_unmap(region);
	return ret;
}

/*
 * The device does not use the region any more. Does nothing if the region was
 * not mapped for a device.
 */
void univ_region_dma_unmap(struct univ_region *region)
{
	struct univ_ring_dma *dma = region->dma;

	if (!dma)
		return;
	region->dma = NULL;
	while (dma->count--) {
		dma_unmap_page(dma->dev, dma->page[dma->count], PAGE_SIZE,
			       DMA_BIDIRECTIONAL);
		cond_resched();
	}
	kvfree(dma);
}
