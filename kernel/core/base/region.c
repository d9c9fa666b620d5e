// SPDX-License-Identifier: GPL-2.0
/* Ring memory and the doorbell page: creation, mmap, and the end of both. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "bell.h"
#include "compat.h"
#include "context.h"
#include "limit.h"
#include "queue.h"
#include "reason.h"
#include "region.h"
#include "univerbs_ring.h"

/*
 * The mmap offset of a region other than an arena is its number, shifted so
 * that a 32-bit process can map it. Number 0 is the doorbell page. The bell
 * page lies above these regions. A large region overlaps the offsets of others,
 * which does no harm: only a whole region can be mapped.
 */
#define REGION_SHIFT		20

/*
 * The upper half of the numbers is for arenas. Their offsets have
 * UNIV_MAP_SHARED. These numbers are used in turn: the library must not take a
 * new arena for one that it has not unmapped yet.
 */
#define REGION_ARENA_SHIFT	32
#define REGION_FIRST_ARENA	((u32)(UNIV_MAP_SHARED >> REGION_ARENA_SHIFT))
#define REGION_MAX_ID		(2 * REGION_FIRST_ARENA - 1)

/* The maximum size of a region: offsets in it fit the ABI's 32 bits. */
#define REGION_MAX_SIZE		(1ul << 30)

/* unmap_mapping_range() of the bell page must not meet a ring. */
static_assert(((u64)REGION_FIRST_ARENA << REGION_SHIFT) + REGION_MAX_SIZE <=
	      UNIV_BELL_OFFSET);
static_assert(UNIV_BELL_OFFSET + PAGE_SIZE <= UNIV_REGION_REACH_32);
static_assert(REGION_SHIFT >= PAGE_SHIFT);

/* The maximum size of a row of contiguous pages that is asked for. */
#define REGION_MAX_ROW		(8 * PAGE_SIZE)

/*
 * A small ring takes a few contiguous pages if there are any. They avoid the
 * mapping that vmalloc sets up and tears down, which is most of the cost of a
 * small ring.
 */
static void *region_alloc_pages(size_t size)
{
	void *vaddr = NULL;

	if (size <= REGION_MAX_ROW)
		vaddr = alloc_pages_exact(size, GFP_KERNEL_ACCOUNT |
					  __GFP_ZERO | __GFP_NORETRY |
					  __GFP_NOWARN);
	if (vaddr)
		return vaddr;
	return __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

static void region_free_pages(struct univ_region *region)
{
	if (is_vmalloc_addr(region->vaddr))
		vfree(region->vaddr);
	else
		free_pages_exact(region->vaddr, region->size);
}

struct page *univ_region_page(struct univ_region *region, size_t offset)
{
	void *vaddr = region->vaddr + offset;

	return is_vmalloc_addr(vaddr) ? vmalloc_to_page(vaddr) :
					virt_to_page(vaddr);
}

static struct univ_region *region_alloc(size_t size)
{
	struct univ_region *region;

	region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	if (!region)
		return NULL;
	kref_init(&region->ref);
	region->size = PAGE_ALIGN(size);
	region->vaddr = region_alloc_pages(region->size);
	if (region->vaddr)
		return region;
	kfree(region);
	return NULL;
}

static void region_release(struct kref *ref)
{
	struct univ_region *region = container_of(ref, struct univ_region, ref);

	region_free_pages(region);
	if (region->ctx) {
		univ_limit_uncharge_rings(region->ctx, region->size);
		univ_context_put(region->ctx);
	}
	kfree(region);
}

void univ_region_get(struct univ_region *region)
{
	kref_get(&region->ref);
}

void univ_region_put(struct univ_region *region)
{
	kref_put(&region->ref, region_release);
}

/*
 * Allocates a region that is charged to the context and keeps the context until
 * its end. The charge comes first, so that the limit bounds the memory at any
 * time.
 */
static struct univ_region *region_charged(struct univ_context *ctx, size_t size,
					  struct univ_hdr *hdr)
{
	struct univ_region *region;

	if (univ_limit_charge_rings(ctx, size, hdr))
		return NULL;
	region = region_alloc(size);
	if (region) {
		univ_context_get(ctx);
		region->ctx = ctx;
		return region;
	}
	univ_limit_uncharge_rings(ctx, size);
	univ_explain(hdr, -ENOMEM, UNIV_REASON_NO_MEMORY, 0, size, 0);
	return NULL;
}

static int region_show(struct univ_context *ctx, struct univ_region *region)
{
	int ret = 0;

	if (ctx->dev->queue->caps & UNIV_QUEUE_DMA)
		ret = univ_region_dma_map(region, ctx->dev->ib);
	if (ret)
		return ret;
	ret = xa_alloc(&ctx->regions, &region->id, region,
		       XA_LIMIT(1, REGION_FIRST_ARENA - 1), GFP_KERNEL_ACCOUNT);
	if (ret)
		univ_region_dma_unmap(region);
	return ret;
}

static struct univ_region *region_create(struct univ_context *ctx, size_t size,
					 bool read_only, struct univ_hdr *hdr)
{
	struct univ_region *region;
	int ret;

	if (size > REGION_MAX_SIZE)
		return ERR_PTR(univ_explain(hdr, -ENOMEM,
					    UNIV_REASON_NO_MEMORY, 0, size,
					    0));
	region = region_charged(ctx, PAGE_ALIGN(size), hdr);
	if (!region)
		return ERR_PTR(-ENOMEM);
	region->read_only = read_only;
	ret = region_show(ctx, region);
	if (!ret)
		return region;
	kref_put(&region->ref, region_release);
	return ERR_PTR(univ_explain_driver(hdr, ret));
}

/*
 * Allocates @size bytes of zeroed memory that the process can map, and the
 * device too if it has %UNIV_QUEUE_DMA. They are charged to the caller's memory
 * cgroup and against the limits of limit.h until the region and its last
 * mapping are gone. May sleep. Returns an ERR_PTR with the reason in @hdr.
 */
struct univ_region *univ_region_create(struct univ_context *ctx, size_t size,
				       struct univ_hdr *hdr)
{
	return region_create(ctx, size, false, hdr);
}

/* The same for memory that the process cannot write. */
struct univ_region *univ_region_create_read_only(struct univ_context *ctx,
						 size_t size,
						 struct univ_hdr *hdr)
{
	return region_create(ctx, size, true, hdr);
}

/*
 * Allocates a region for an arena. A failure is not explained, since the caller
 * has another way.
 */
struct univ_region *univ_region_create_arena(struct univ_context *ctx,
					     size_t size)
{
	struct univ_region *region;
	struct univ_hdr hdr = {};
	int ret;

	region = region_charged(ctx, size, &hdr);
	if (!region)
		return ERR_PTR(-ENOMEM);
	region->mm = current->mm;
	ret = xa_alloc_cyclic(&ctx->regions, &region->id, region,
			      XA_LIMIT(REGION_FIRST_ARENA, REGION_MAX_ID),
			      &ctx->next_arena, GFP_KERNEL_ACCOUNT);
	if (ret >= 0)
		return region;
	kref_put(&region->ref, region_release);
	return ERR_PTR(ret);
}

/*
 * Removes the region from the table of mmap(), so that no new mapping can be
 * made. Existing mappings keep the memory. A part goes back to its arena, which
 * can still be mapped, and may be used again at once.
 * Context: the device does not use the region any more.
 */
void univ_region_destroy(struct univ_context *ctx, struct univ_region *region)
{
	if (!region)
		return;
	if (region->arena) {
		univ_arena_return(ctx, region);
		return;
	}
	xa_erase(&ctx->regions, region->id);
	univ_region_dma_unmap(region);
	kref_put(&region->ref, region_release);
}

/* Describes a ring that lies in the region. */
void univ_region_ring(struct univ_region *region, struct univ_ring *ring,
		      const struct univ_ring_map *map)
{
	univ_ring_init(ring, region->vaddr, map);
	ring->dma = region->dma;
}

u64 univ_region_offset(const struct univ_region *region)
{
	if (region->id < REGION_FIRST_ARENA)
		return (u64)region->id << REGION_SHIFT;
	return (u64)region->id << REGION_ARENA_SHIFT;
}

/*
 * The doorbell page is made when it is first mapped, because a program that
 * only queries never needs one and opening should stay cheap.
 */
static struct univ_region *doorbell_get(struct univ_context *ctx)
{
	struct univ_region *region;
	struct univ_doorbell *doorbell;

	mutex_lock(&ctx->doorbell_lock);
	if (!ctx->doorbell) {
		ctx->doorbell = region_alloc(PAGE_SIZE);
		if (ctx->doorbell) {
			ctx->doorbell->read_only = true;
			doorbell = ctx->doorbell->vaddr;
			if (ctx->doorbell_dead)
				doorbell->state = UNIV_RING_DEAD;
		}
	}
	region = ctx->doorbell;
	if (region)
		kref_get(&region->ref);
	mutex_unlock(&ctx->doorbell_lock);
	return region;
}

/* Tells the fast path of the process that the device is gone. */
void univ_doorbell_kill(struct univ_context *ctx)
{
	struct univ_doorbell *doorbell;

	mutex_lock(&ctx->doorbell_lock);
	ctx->doorbell_dead = true;
	if (ctx->doorbell) {
		doorbell = ctx->doorbell->vaddr;
		WRITE_ONCE(doorbell->state, UNIV_RING_DEAD);
	}
	mutex_unlock(&ctx->doorbell_lock);
}

void univ_doorbell_free(struct univ_context *ctx)
{
	if (ctx->doorbell)
		kref_put(&ctx->doorbell->ref, region_release);
}

static struct univ_region *region_get(struct univ_context *ctx, u32 id)
{
	struct univ_region *region;

	if (!id)
		return doorbell_get(ctx);
	/*
	 * The table's lock keeps a racing destroy from dropping the last ref.
	 */
	xa_lock(&ctx->regions);
	region = xa_load(&ctx->regions, id);
	if (region)
		kref_get(&region->ref);
	xa_unlock(&ctx->regions);
	return region;
}

/*
 * Fills the mapping at once. A fault later would cost more and could find the
 * region gone. vm_insert_page() counts each page for the mapping.
 */
static int region_insert(struct univ_region *region, struct vm_area_struct *vma,
			 size_t offset)
{
	unsigned long addr;
	int ret;

	for (addr = vma->vm_start; addr < vma->vm_end; addr += PAGE_SIZE) {
		ret = vm_insert_page(vma, addr,
				     univ_region_page(region, offset));
		if (ret)
			return ret;
		offset += PAGE_SIZE;
	}
	return 0;
}

/*
 * mmap(2) of a file that keeps @region: maps a part of it, shared, from the
 * offset in @vma on. The caller has compared the part with the region's size.
 * Context: mmap_lock is held.
 */
int univ_region_map(struct univ_region *region, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	return region_insert(region, vma, vma->vm_pgoff << PAGE_SHIFT);
}

/* In fork(), @vma is the child's. */
static void region_notice(struct univ_region *region,
			  const struct vm_area_struct *vma)
{
	if (vma->vm_mm != region->mm)
		WRITE_ONCE(region->strange, true);
}

/* A mapping keeps its region, and so the charge of the memory. */
static void region_vm_open(struct vm_area_struct *vma)
{
	struct univ_region *region = vma->vm_private_data;

	kref_get(&region->ref);
	region_notice(region, vma);
}

static void region_vm_close(struct vm_area_struct *vma)
{
	struct univ_region *region = vma->vm_private_data;

	kref_put(&region->ref, region_release);
}

static const struct vm_operations_struct region_vm_ops = {
	.open = region_vm_open,
	.close = region_vm_close,
};

static int region_check(struct univ_region *region, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff != univ_region_offset(region) >> PAGE_SHIFT)
		return -EINVAL;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_end - vma->vm_start != region->size)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (region->read_only && vma->vm_flags & VM_WRITE)
		return -EPERM;
	return 0;
}

/* The number in an offset. region_check() compares the rest of the offset. */
static unsigned long pgoff_id(unsigned long pgoff)
{
	if (pgoff & (UNIV_MAP_SHARED >> PAGE_SHIFT))
		return pgoff >> (REGION_ARENA_SHIFT - PAGE_SHIFT);
	return pgoff >> (REGION_SHIFT - PAGE_SHIFT);
}

/*
 * mmap(2) of the node: maps the whole of one region, shared. Returns -EINVAL
 * for anything else, and -EPERM for a protection that the region does not
 * allow.
 * Context: mmap_lock is held and no lock of the core.
 */
int univ_region_mmap(struct univ_context *ctx, struct vm_area_struct *vma)
{
	unsigned long id = pgoff_id(vma->vm_pgoff);
	struct univ_region *region;
	int ret = -EINVAL;

	if (vma->vm_pgoff == UNIV_BELL_OFFSET >> PAGE_SHIFT)
		return univ_bell_mmap(ctx, vma);
	if (id > REGION_MAX_ID)
		return -EINVAL;
	region = region_get(ctx, id);
	if (!region && READ_ONCE(ctx->dead))
		return -ENODEV;
	if (!region)
		return id ? -EINVAL : -ENOMEM;
	ret = region_check(region, vma);
	if (ret)
		goto put;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP,
			  VM_MAYEXEC | (region->read_only ? VM_MAYWRITE : 0));
	ret = region_insert(region, vma, 0);
	if (ret)
		goto put;
	vma->vm_ops = &region_vm_ops;
	vma->vm_private_data = region;
	region_notice(region, vma);
	return 0;

put:
	kref_put(&region->ref, region_release);
	return ret;
}

/*
 * Lays out a ring at @offset of a mapping: the head, then the slots. Returns
 * where the next ring may begin. @slots of 0 makes no ring. The offsets in @map
 * have 32 bits. A layout that does not fit in them exceeds REGION_MAX_SIZE, so
 * univ_region_create() refuses it.
 */
size_t univ_ring_place(struct univ_ring_map *map, size_t offset, u32 slots,
		       u32 stride)
{
	memset(map, 0, sizeof(*map));
	map->head_offset = offset;
	map->slot_offset = offset + sizeof(struct univ_ring_head);
	map->slots = slots;
	map->stride = stride;
	return map->slot_offset + (size_t)slots * stride;
}

/*
 * Returns the size of a receive slot with room for @max_sge entries. Most
 * receives have one entry. Two of these share a cache line, so their queue
 * takes half the memory.
 */
u32 univ_recv_stride(u32 max_sge)
{
	size_t size = offsetof(struct univ_recv_wr, sge) +
		      max_sge * sizeof(struct univ_sge);

	return size <= UNIV_CACHE_LINE / 2 ? UNIV_CACHE_LINE / 2 :
					     ALIGN(size, UNIV_CACHE_LINE);
}
