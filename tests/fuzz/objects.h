/* SPDX-License-Identifier: GPL-2.0 */
/* The objects that the calls of an input have made, and the file and memory that they use. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include "fuzz.h"

#define OBJECTS 64
#define ARENA (32 * PAGE)

struct object {
	enum univ_object_type type;
	uint32_t handle;
	uint32_t qp_type;
	uint32_t qp_num;
	uint32_t srq_num;
	uint32_t key;
	struct raw_map map;
	struct raw_ring ring[2];	/* [0]: send or completions; [1]: receive */
};

static struct {
	int fd;
	int channel;
	uint8_t *arena;
	struct univ_ah_attr self;
	pthread_mutex_t lock;		/* protects the objects */
	struct object object[OBJECTS];
	uint32_t count;
} env = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Returns the handle of an existing object of the type, or any value that the input has. */
static uint32_t pick(struct reader *r, enum univ_object_type type)
{
	uint32_t which = take(r, 1), seen = 0, handle = 0;

	if (which >= 0xf8)
		return take(r, 1) % 16;
	pthread_mutex_lock(&env.lock);
	for (uint32_t i = 0; i < env.count; i++)
		seen += env.object[i].type == type;
	which = seen ? which % seen : 0;
	for (uint32_t i = 0; i < env.count && !handle; i++)
		if (env.object[i].type == type && !which--)
			handle = env.object[i].handle;
	pthread_mutex_unlock(&env.lock);
	return handle;
}

static struct object *object_at(struct reader *r)
{
	uint32_t which = take(r, 1);

	return env.count ? &env.object[which % env.count] : NULL;
}

/* Context: env.lock is held, or there is no other thread. */
static struct object *object_of(uint32_t handle)
{
	for (uint32_t i = 0; i < env.count; i++)
		if (env.object[i].handle == handle)
			return &env.object[i];
	return NULL;
}

static void object_add(const struct object *new)
{
	pthread_mutex_lock(&env.lock);
	if (env.count < OBJECTS)
		env.object[env.count++] = *new;
	pthread_mutex_unlock(&env.lock);
}

/* The mapping stays, so that it can be used after the object was destroyed. */
static void object_remove(uint32_t handle)
{
	struct object *gone;

	pthread_mutex_lock(&env.lock);
	gone = object_of(handle);
	if (gone)
		gone->type = UNIV_OBJECT_NONE;
	pthread_mutex_unlock(&env.lock);
}

static void object_map(struct object *o, uint64_t offset, uint64_t length,
		       const struct univ_ring_map *first, const struct univ_ring_map *second)
{
	void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, env.fd, offset);

	if (base == MAP_FAILED)
		return;
	o->map = (struct raw_map){ base, length, offset };
	raw_ring_at(&o->ring[0], &o->map, first);
	if (second)
		raw_ring_at(&o->ring[1], &o->map, second);
}

#endif
