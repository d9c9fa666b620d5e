// SPDX-License-Identifier: GPL-2.0
/* Arenas: regions that the rings of several queue pairs of a context share. */
#include <linux/bitmap.h>
#include <linux/compat.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "context.h"
#include "queue.h"
#include "region.h"

/*
 * A process maps an arena once, which costs as much as the rest of creating a
 * queue pair, and small rings share pages.
 */
#define ARENA_SIZE	max_t(size_t, 32 * 1024, PAGE_SIZE)
#define ARENA_UNITS	128
#define ARENA_UNIT	(ARENA_SIZE / ARENA_UNITS)

/* Larger rings get a region of their own. */
#define ARENA_MAX_PART	(ARENA_SIZE / 2)

/* The number of arenas in which one call looks for room. */
#define ARENA_LOOKS	8

struct univ_arena {
	struct list_head link;		/* univ_context.arenas */
	struct univ_region *region;
	DECLARE_BITMAP(used, ARENA_UNITS);
};

static unsigned int arena_units(size_t size)
{
	return DIV_ROUND_UP(size, ARENA_UNIT);
}

/*
 * A device that reads rings by itself needs the addresses of whole pages. A
 * 32-bit process cannot map the offsets of arenas.
 */
static bool arena_serves(struct univ_context *ctx, size_t size)
{
	if (ctx->dev->queue->caps & UNIV_QUEUE_DMA)
		return false;
	if (BITS_PER_LONG == 32 || in_compat_syscall())
		return false;
	return size <= ARENA_MAX_PART;
}

/* Returns an arena that no other call can find yet. */
static struct univ_arena *arena_create(struct univ_context *ctx)
{
	struct univ_arena *arena = kzalloc(sizeof(*arena), GFP_KERNEL_ACCOUNT);

	if (!arena)
		return NULL;
	INIT_LIST_HEAD(&arena->link);
	arena->region = univ_region_create_arena(ctx, ARENA_SIZE);
	if (!IS_ERR(arena->region))
		return arena;
	kfree(arena);
	return NULL;
}

/* @arena: is in no list, or NULL. */
static void arena_destroy(struct univ_context *ctx, struct univ_arena *arena)
{
	if (!arena)
		return;
	univ_region_destroy(ctx, arena->region);
	kfree(arena);
}

/*
 * Another process that has the arena mapped must not see later queue pairs of
 * this one: a child of fork() may have closed the node and have given up its
 * privileges.
 */
static bool arena_is_own(const struct univ_arena *arena)
{
	return !READ_ONCE(arena->region->strange) &&
	       arena->region->mm == current->mm;
}

/* Returns false if the arena has no contiguous free units for the part. */
static bool arena_cut(struct univ_context *ctx, struct univ_arena *arena,
		      struct univ_region *part)
{
	unsigned int units = arena_units(part->size), at;

	at = bitmap_find_next_zero_area(arena->used, ARENA_UNITS, 0, units, 0);
	if (at >= ARENA_UNITS)
		return false;
	bitmap_set(arena->used, at, units);
	if (ctx->idle_arena == arena)
		ctx->idle_arena = NULL;
	part->arena = arena;
	part->id = arena->region->id;
	part->at = at * ARENA_UNIT;
	part->vaddr = arena->region->vaddr + part->at;
	return true;
}

static bool arena_place(struct univ_context *ctx, struct univ_region *part)
{
	struct univ_arena *arena;
	bool placed = false;
	int looks = 0;

	spin_lock(&ctx->arena_lock);
	list_for_each_entry(arena, &ctx->arenas, link) {
		if (placed || looks++ == ARENA_LOOKS)
			break;
		placed = arena_is_own(arena) && arena_cut(ctx, arena, part);
	}
	spin_unlock(&ctx->arena_lock);
	return placed;
}

/* Makes an arena for the part, without the lock: memory may be reclaimed. */
static bool arena_place_new(struct univ_context *ctx, struct univ_region *part)
{
	struct univ_arena *arena = arena_create(ctx);

	if (!arena)
		return false;
	spin_lock(&ctx->arena_lock);
	arena_cut(ctx, arena, part);
	list_add(&arena->link, &ctx->arenas);
	spin_unlock(&ctx->arena_lock);
	return true;
}

static struct univ_region *arena_part(struct univ_context *ctx, size_t size)
{
	struct univ_region *part = kzalloc(sizeof(*part), GFP_KERNEL_ACCOUNT);

	if (!part)
		return NULL;
	part->size = size;
	if (!arena_place(ctx, part) && !arena_place_new(ctx, part)) {
		kfree(part);
		return NULL;
	}
	/* A former queue pair may have left requests here. */
	memset(part->vaddr, 0, size);
	return part;
}

/*
 * As univ_region_create(), but the memory may be a part of a mapping that other
 * queue pairs of the process use too. The arena was charged when it was made.
 */
struct univ_region *univ_region_create_shared(struct univ_context *ctx,
					      size_t size, struct univ_hdr *hdr)
{
	struct univ_region *part = NULL;

	if (arena_serves(ctx, size))
		part = arena_part(ctx, size);
	return part ? part : univ_region_create(ctx, size, hdr);
}

/*
 * Keeps the empty @arena as the idle one. Returns the arena to destroy, off the
 * list: the former idle one, if any, or @arena if no queue pair will use it
 * again.
 */
static struct univ_arena *arena_keep(struct univ_context *ctx,
				     struct univ_arena *arena)
{
	struct univ_arena *other = arena;

	if (arena_is_own(arena)) {
		other = ctx->idle_arena;
		ctx->idle_arena = arena;
	}
	if (other)
		list_del_init(&other->link);
	return other;
}

/*
 * Gives a part back. The arena that became empty last is kept, so that a
 * process that creates and destroys one queue pair after another maps it once;
 * the library keeps a mapping by the same rule, though not always the same one.
 */
void univ_arena_return(struct univ_context *ctx, struct univ_region *part)
{
	struct univ_arena *arena = part->arena, *unused = NULL;

	spin_lock(&ctx->arena_lock);
	bitmap_clear(arena->used, part->at / ARENA_UNIT,
		     arena_units(part->size));
	/* Arenas that get no more parts go to the end of the list. */
	if (arena_is_own(arena))
		list_move(&arena->link, &ctx->arenas);
	else
		list_move_tail(&arena->link, &ctx->arenas);
	if (bitmap_empty(arena->used, ARENA_UNITS))
		unused = arena_keep(ctx, arena);
	spin_unlock(&ctx->arena_lock);
	arena_destroy(ctx, unused);
	kfree(part);
}

/* Returns the length of the mapping in which the region lies. */
size_t univ_region_length(const struct univ_region *region)
{
	return region->arena ? region->arena->region->size : region->size;
}

/* Makes @map count from the beginning of the mapping instead of the region. */
void univ_region_shift(const struct univ_region *region,
		       struct univ_ring_map *map)
{
	map->head_offset += region->at;
	map->slot_offset += region->at;
}

/*
 * Frees the arena that is kept, which refers to the context. Context: the
 * context has ended, and no queue pair is left in it.
 */
void univ_arena_end(struct univ_context *ctx)
{
	struct univ_arena *idle = ctx->idle_arena;

	lockdep_assert_held_write(&ctx->live);
	if (!idle)
		return;
	list_del(&idle->link);
	ctx->idle_arena = NULL;
	arena_destroy(ctx, idle);
}
