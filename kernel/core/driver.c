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

/* A row with the driver's reading in Documentation/drivers.rst comes first. */
static const struct univ_driver drivers[] = {
	{
		/*
		 * Local keys in rxe_mr.c: copy_data(), remote ones in rxe_resp.c:
		 * check_rkey(): lookup_mr() and rxe_lookup_mw() want the queue
		 * pair's domain, whoever made it. 6.1 calls handlers from a
		 * tasklet of their own (rxe_cq.c: rxe_send_complete()), which
		 * rxe_destroy_cq() does not kill. 6.4 and later call them from
		 * rxe_cq_post(), from 6.5 on with cq_lock held.
		 */
		.id = RDMA_DRIVER_RXE,
		.polls_in_handler = LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0),
		.frees_under_tasklet = LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0),
	},
	{
		/*
		 * All keys in siw_mem.c: siw_check_mem(), whose domain is the
		 * queue pair's. siw_qp.c calls handlers after it has let go of the
		 * completion queue's lock; the state lock, which may be held, is
		 * only tried by posts.
		 */
		.id = RDMA_DRIVER_SIW,
		.polls_in_handler = true,
	},
};

/* A driver that the administrator has named; nothing is known of its handlers. */
static const struct univ_driver unchecked = {
	.id = RDMA_DRIVER_UNKNOWN,
};

/* Whether @name is an element of the list; a module's name has either sign. */
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
 * Returns the entry of the device's driver, or NULL for a driver that is not served.
 * The name of a driver that is built into the kernel is "kernel".
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
			 "univerbs: served on request (unchecked_drivers=%s): nobody knows whether this driver keeps processes from kernel memory\n",
			 name);
		return &unchecked;
	}
	dev_warn(&ib->dev,
		 "univerbs: not served: nobody has checked that driver %s keeps processes from kernel memory (Documentation/drivers.rst)\n",
		 name);
	return NULL;
}
