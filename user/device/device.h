/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Inside the room device: the list of devices, and contexts. The room joins the
 * others, and none of them includes this header.
 */
#ifndef UNIV_DEVICE_H
#define UNIV_DEVICE_H

#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

struct univ_device {
	struct ibv_device ibv;
	/* Programs that link to a driver's library compare it with that driver's. */
	const void *driver;
	struct univ_device *next;	/* the list of devices that exist */
	unsigned int refs;		/* by that list, by lists given out, by contexts */
	uint32_t index;
	__be64 guid;
	dev_t node;
};

static inline struct univ_device *to_udevice(struct ibv_device *device)
{
	return (struct univ_device *)device;
}

#define UNIV_NODE_PATH_MAX (sizeof("/dev/infiniband/") + IBV_SYSFS_NAME_MAX)
void univ_node_path(char path[UNIV_NODE_PATH_MAX], const char *name);

void univ_device_get(struct univ_device *device);
void univ_device_put(struct univ_device *device);

/* compat.c: the operations that only older programs look for */
void univ_compat_ops(struct ibv_context_ops *ops);

#endif
