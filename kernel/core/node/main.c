// SPDX-License-Identifier: GPL-2.0
/*
 * Init and exit of the module.
 *
 * The room of the character device: nodes for devices (client.c, chardev.c),
 * and the dispatcher of ioctls (ioctl.c). The room knows all others, since it
 * joins them. It does not know how a verb is executed, and no other room uses
 * it.
 */
#include <linux/module.h>

#include "base.h"
#include "univerbs.h"
#include "version.h"

static int __init univ_init(void)
{
	int ret;

	ret = univ_event_init();
	if (ret)
		return ret;
	ret = univ_chardev_init();
	if (ret)
		goto event_exit;
	ret = univ_client_register();
	if (ret)
		goto chardev_exit;
	return 0;

chardev_exit:
	univ_chardev_exit();
event_exit:
	univ_event_exit();
	return ret;
}

static void __exit univ_exit(void)
{
	univ_client_unregister();
	univ_chardev_exit();
	univ_event_exit();
}

module_init(univ_init);
module_exit(univ_exit);

MODULE_DESCRIPTION("RDMA verbs with one ring format for every device");
MODULE_LICENSE("GPL");
MODULE_VERSION(UNIV_VERSION);
MODULE_ALIAS("rdma-client-" UNIV_CLIENT_NAME);
