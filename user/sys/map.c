// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Rings of queues, mapped from the node. */
#include <errno.h>
#include <sys/mman.h>

#include "sys/sys.h"
#include "why/why.h"

static int map_shared(const char *verb, int fd, struct univ_map *map, uint64_t offset,
		      uint64_t length, int prot)
{
	void *base = mmap(NULL, length, prot, MAP_SHARED, fd, (off_t)offset);

	if (base == MAP_FAILED)
		return univ_fail_kernel_memory(verb, errno, length);
	map->base = base;
	map->length = length;
	return 0;
}

int univ_map_ring(const char *verb, int fd, struct univ_map *map, uint64_t offset, uint64_t length)
{
	return map_shared(verb, fd, map, offset, length, PROT_READ | PROT_WRITE);
}

int univ_map_read_only(const char *verb, int fd, struct univ_map *map, uint64_t offset,
		       uint64_t length)
{
	return map_shared(verb, fd, map, offset, length, PROT_READ);
}

void univ_unmap_ring(struct univ_map *map)
{
	if (map->base)
		munmap(map->base, map->length);
	map->base = NULL;
}
