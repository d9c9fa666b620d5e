// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Mappings that hold the rings of several queue pairs (UNIV_MAP_SHARED). */
#include <errno.h>
#include <stdlib.h>

#include "sys/sys.h"
#include "why/why.h"

struct univ_arena {
	struct univ_arena *next;
	uint64_t offset;
	struct univ_map map;
	uint32_t users;
};

static struct univ_arena **arena_bucket(struct univ_arenas *arenas, uint64_t offset)
{
	return &arenas->buckets[(offset >> 32) % UNIV_ARENA_BUCKETS];
}

static struct univ_arena *arena_find(struct univ_arenas *arenas, uint64_t offset)
{
	struct univ_arena *arena = *arena_bucket(arenas, offset);

	while (arena && arena->offset != offset)
		arena = arena->next;
	return arena;
}

static void arena_unmap(struct univ_arenas *arenas, struct univ_arena *arena)
{
	struct univ_arena **link = arena_bucket(arenas, arena->offset);

	while (*link != arena)
		link = &(*link)->next;
	*link = arena->next;
	univ_unmap_ring(&arena->map);
	free(arena);
}

/* Returns NULL with errno set. */
static struct univ_arena *arena_new(const char *verb, int fd, struct univ_arenas *arenas,
				    uint64_t offset, uint64_t length)
{
	struct univ_arena **bucket = arena_bucket(arenas, offset);
	struct univ_arena *arena = calloc(1, sizeof(*arena));

	if (!arena) {
		univ_fail_memory(verb, sizeof(*arena));
		return NULL;
	}
	if (univ_map_ring(verb, fd, &arena->map, offset, length)) {
		free(arena);
		return NULL;
	}
	arena->offset = offset;
	arena->next = *bucket;
	*bucket = arena;
	return arena;
}

/* Context: the lock is held. */
static int arena_use(const char *verb, int fd, struct univ_arenas *arenas, struct univ_map *map,
		     uint64_t offset, uint64_t length)
{
	struct univ_arena *arena = arena_find(arenas, offset);

	if (!arena)
		arena = arena_new(verb, fd, arenas, offset, length);
	if (!arena)
		return errno;
	if (arenas->idle == arena)
		arenas->idle = NULL;
	arena->users++;
	*map = arena->map;
	map->arena = arena;
	return 0;
}

int univ_map_shared(const char *verb, int fd, struct univ_arenas *arenas, struct univ_map *map,
		    uint64_t offset, uint64_t length)
{
	int err;

	map->arena = NULL;
	if (!(offset & UNIV_MAP_SHARED))
		return univ_map_ring(verb, fd, map, offset, length);
	univ_lock(&arenas->lock);
	err = arena_use(verb, fd, arenas, map, offset, length);
	univ_unlock(&arenas->lock);
	return err;
}

/*
 * As the kernel, the library keeps the arena that became empty last. It may be another one if
 * threads race: its offset does not come back, so it is only unmapped later.
 */
static void arena_leave(struct univ_arenas *arenas, struct univ_arena *arena)
{
	struct univ_arena *idle = arenas->idle;

	if (--arena->users)
		return;
	arenas->idle = arena;
	if (idle)
		arena_unmap(arenas, idle);
}

void univ_unmap_shared(struct univ_arenas *arenas, struct univ_map *map)
{
	if (!map->arena) {
		univ_unmap_ring(map);
		return;
	}
	univ_lock(&arenas->lock);
	arena_leave(arenas, map->arena);
	univ_unlock(&arenas->lock);
	map->base = NULL;
	map->arena = NULL;
}

void univ_arenas_end(struct univ_arenas *arenas)
{
	if (arenas->idle)
		arena_unmap(arenas, arenas->idle);
	arenas->idle = NULL;
}
