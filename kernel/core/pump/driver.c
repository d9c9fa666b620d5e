// SPDX-License-Identifier: GPL-2.0
/* Which drivers the pump serves; see driver.h. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/version.h>

#include "driver.h"

static char *unchecked_drivers;
module_param(unchecked_drivers, charp, 0444);
MODULE_PARM_DESC(unchecked_drivers,
		 "drivers to serve without knowing whether they keep processes from kernel memory, separated by commas");

/*
 * Before a row is added, Documentation/drivers.rst describes which code of the
 * driver was read, and the result.
 */
static const struct univ_driver drivers[] = {
	{
		/*
		 * Local keys are checked in rxe_mr.c: copy_data(), remote keys
		 * in rxe_resp.c: check_rkey(). lookup_mr() and rxe_lookup_mw()
		 * require the queue pair's domain for every queue pair. 6.1
		 * calls handlers from a tasklet of their own (rxe_cq.c:
		 * rxe_send_complete()), which rxe_destroy_cq() does not kill.
		 * 6.4 and later call them from rxe_cq_post(), since 6.5 with
		 * cq_lock held.
		 */
		.id = RDMA_DRIVER_RXE,
		.polls_in_handler =
			LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0),
		.frees_under_tasklet =
			LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0),
	},
	{
		/*
		 * All keys are checked in siw_mem.c: siw_check_mem(), against
		 * the queue pair's domain. siw_qp.c calls handlers without a
		 * lock, but a post to a queue pair in the error state completes
		 * at once, in siw_post_receive(). A handler that polled and
		 * posted from there would recurse, once for each queue pair.
		 */
		.id = RDMA_DRIVER_SIW,
	},
};

/*
 * The entry of a driver that the administrator has named. Its handlers may hold
 * locks.
 */
static const struct univ_driver unchecked = {
	.id = RDMA_DRIVER_UNKNOWN,
};

/* Returns whether @name is an element of the list. */
static bool driver_listed(const char *list, const char *name)
{
	const char *end;

	for (; list; list = *end ? end + 1 : NULL) {
		end = strchrnul(list, ',');
		if (strlen(name) == end - list &&
		    !strncmp(list, name, end - list))
			return true;
	}
	return false;
}

/*
 * Returns the entry of the device's driver, or NULL for a driver that is not
 * served. The name of a driver that is built into the kernel is "kernel".
 */
const struct univ_driver *univ_driver_find(struct ib_device *ib)
{
	const char *name = module_name(ib->ops.owner);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++)
		if (drivers[i].id == ib->ops.driver_id)
			return &drivers[i];
	if (driver_listed(unchecked_drivers, name)) {
		dev_warn(&ib->dev,
			 "univerbs: served on request (unchecked_drivers=%s): the driver was not checked to keep processes from kernel memory\n",
			 name);
		return &unchecked;
	}
	dev_warn(&ib->dev,
		 "univerbs: not served: driver %s was not checked to keep processes from kernel memory (Documentation/drivers.rst)\n",
		 name);
	return NULL;
}
