/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that is shared with the process by mmap. */
#ifndef UNIV_REGION_H
#define UNIV_REGION_H

#include <linux/kref.h>
#include <linux/mm_types.h>
#include <linux/types.h>

#include "ring.h"

/*
 * mmap2(2) takes the number of a page of 4 KiB that has 32 bits, so offsets
 * below this one are within reach of a 32-bit process.
 */
#define UNIV_REGION_REACH_32	(1ull << 44)

struct ib_device;
struct univ_arena;
struct univ_context;
struct univ_hdr;

/**
 * struct univ_region - memory that is mapped in the kernel and by the process
 * @ref: one for the owner, one for each mapping and each dma-buf
 * @ctx: charged and held; NULL for the doorbell page and a part
 * @vaddr: kernel address
 * @size: bytes, whole pages unless it is a part of an arena
 * @id: its number in mmap() offsets
 * @read_only: the process may not write
 * @dma: addresses for a device with %UNIV_QUEUE_DMA, until the owner ends
 * @arena: NULL, or the region is a part of it; a part has no @ref and no @ctx
 * @at: where the part begins, bytes
 * @mm: of an arena: the process that made it; to compare, not to follow
 * @strange: of an arena: another process has mapped it, or has inherited it
 *
 * A mapping may outlive the queue that the region was made for, the end of the
 * context and the device. It never shows anything but the region's own bytes,
 * and those of other regions of the context in the same arena.
 */
struct univ_region {
	struct kref ref;
	struct univ_context *ctx;
	void *vaddr;
	size_t size;
	u32 id;
	bool read_only;
	struct univ_ring_dma *dma;
	struct univ_arena *arena;
	size_t at;
	const struct mm_struct *mm;
	bool strange;
};

struct univ_region *univ_region_create(struct univ_context *ctx, size_t size,
				       struct univ_hdr *hdr);
struct univ_region *univ_region_create_read_only(struct univ_context *ctx,
						 size_t size,
						 struct univ_hdr *hdr);
struct univ_region *univ_region_create_arena(struct univ_context *ctx,
					     size_t size);
void univ_region_get(struct univ_region *region);
void univ_region_put(struct univ_region *region);
void univ_region_destroy(struct univ_context *ctx, struct univ_region *region);
u64 univ_region_offset(const struct univ_region *region);
int univ_region_mmap(struct univ_context *ctx, struct vm_area_struct *vma);
int univ_region_map(struct univ_region *region, struct vm_area_struct *vma);
struct page *univ_region_page(struct univ_region *region, size_t offset);
void univ_region_ring(struct univ_region *region, struct univ_ring *ring,
		      const struct univ_ring_map *map);

/* arena.c */
struct univ_region *univ_region_create_shared(struct univ_context *ctx,
					      size_t size,
					      struct univ_hdr *hdr);
void univ_arena_return(struct univ_context *ctx, struct univ_region *part);
size_t univ_region_length(const struct univ_region *region);
void univ_region_shift(const struct univ_region *region,
		       struct univ_ring_map *map);
void univ_arena_end(struct univ_context *ctx);

/* dma.c */
int univ_region_dma_map(struct univ_region *region, struct ib_device *ib);
void univ_region_dma_unmap(struct univ_region *region);

size_t univ_ring_place(struct univ_ring_map *map, size_t offset, u32 slots,
		       u32 stride);
u32 univ_recv_stride(u32 max_sge);

void univ_doorbell_kill(struct univ_context *ctx);
void univ_doorbell_free(struct univ_context *ctx);

#endif
