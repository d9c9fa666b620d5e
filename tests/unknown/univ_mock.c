// SPDX-License-Identifier: GPL-2.0
/*
 * univ_mock.ko: the mock device of the KUnit suites by itself, as a device of a driver
 * that univerbs does not know. Its operations do nothing. With the parameter no_verbs it offers no
 * kernel verbs, as efa.
 */
#include "../kunit/mock.c"

static struct mock *mock;

static bool no_verbs;
module_param(no_verbs, bool, 0444);
MODULE_PARM_DESC(no_verbs, "offer the kernel no verbs");

static int __init univ_mock_init(void)
{
	mock = mock_create();
	if (!mock)
		return -ENODEV;
	/* The value that ib_core sets if a mandatory operation is missing. */
	if (no_verbs)
		mock->ib.kverbs_provider = false;
	return 0;
}

static void __exit univ_mock_exit(void)
{
	mock_destroy(mock);
}

module_init(univ_mock_init);
module_exit(univ_mock_exit);

MODULE_DESCRIPTION("RDMA device of a driver that univerbs does not know");
MODULE_LICENSE("GPL");
