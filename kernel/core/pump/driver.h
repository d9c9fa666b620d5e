/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The drivers that the pump serves.
 *
 * The pump creates objects as a user in the kernel does, and passes on keys
 * that a process has chosen. A driver may trust users in the kernel with keys
 * that reach all of kernel memory, or may expect a process's context. So the
 * source of each driver is read before the driver is served;
 * Documentation/drivers.rst describes which code was read, and the result.
 */
#ifndef UNIV_DRIVER_H
#define UNIV_DRIVER_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

/**
 * struct univ_driver - the properties of a driver
 * @id: ib_device_ops.driver_id
 * @polls_in_handler: completion handlers may poll and arm completion queues and
 *	post receives, because the driver holds none of the locks of these
 *	functions when it calls a handler
 * @frees_under_tasklet: calls completion handlers from a tasklet, and destroys
 *	a completion queue without waiting for it
 */
struct univ_driver {
	enum rdma_driver_id id;
	bool polls_in_handler;
	bool frees_under_tasklet;
};

const struct univ_driver *univ_driver_find(struct ib_device *ib);

#endif
