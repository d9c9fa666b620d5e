// SPDX-License-Identifier: GPL-2.0
/* Tests of the list of drivers that the pump serves. */
#include "../../kernel/core/pump/driver.c"

#include <kunit/test.h>

static void driver_list(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, driver_listed("mlx5_ib", "mlx5_ib"));
	KUNIT_EXPECT_TRUE(test, driver_listed("irdma,mlx5_ib", "mlx5_ib"));
	KUNIT_EXPECT_TRUE(test, driver_listed("mlx5_ib,irdma", "mlx5_ib"));
	KUNIT_EXPECT_TRUE(test, driver_listed("a,mlx5_ib,irdma", "mlx5_ib"));
	KUNIT_EXPECT_FALSE(test, driver_listed(NULL, "mlx5_ib"));
	KUNIT_EXPECT_FALSE(test, driver_listed("", "mlx5_ib"));
	KUNIT_EXPECT_FALSE(test, driver_listed("mlx5", "mlx5_ib"));
	KUNIT_EXPECT_FALSE(test, driver_listed("mlx5_ib2", "mlx5_ib"));
	KUNIT_EXPECT_FALSE(test, driver_listed("*", "mlx5_ib"));
}

static bool served(enum rdma_driver_id id, bool *polls)
{
	struct ib_device *ib = kzalloc(sizeof(*ib), GFP_KERNEL);
	const struct univ_driver *driver = NULL;

	if (ib) {
		ib->ops.driver_id = id;
		driver = univ_driver_find(ib);
	}
	kfree(ib);
	*polls = driver && driver->polls_in_handler;
	return driver;
}

/* The pump serves the drivers that were reviewed, and no other, not even a new one. */
static void driver_served(struct kunit *test)
{
	bool polls;
	int id;

	for (id = RDMA_DRIVER_UNKNOWN; id < RDMA_DRIVER_SIW + 8; id++) {
		KUNIT_EXPECT_EQ(test, served(id, &polls),
				id == RDMA_DRIVER_RXE || id == RDMA_DRIVER_SIW);
		if (id == RDMA_DRIVER_RXE)
			KUNIT_EXPECT_EQ(test, polls,
					LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0));
		/* A handler of siw may run inside a post. */
		if (id == RDMA_DRIVER_SIW)
			KUNIT_EXPECT_FALSE(test, polls);
	}
}

static void driver_on_request(struct kunit *test)
{
	char *former = unchecked_drivers;
	bool polls = true;

	/* The device has no owner module, as with a built-in driver. */
	unchecked_drivers = "other,kernel";
	KUNIT_EXPECT_TRUE(test, served(RDMA_DRIVER_MLX5, &polls));
	KUNIT_EXPECT_FALSE(test, polls);
	unchecked_drivers = former;
}

static struct kunit_case driver_cases[] = {
	KUNIT_CASE(driver_list),
	KUNIT_CASE(driver_served),
	KUNIT_CASE(driver_on_request),
	{}
};

static struct kunit_suite driver_suite = {
	.name = "univ_driver",
	.test_cases = driver_cases,
};
kunit_test_suite(driver_suite);
