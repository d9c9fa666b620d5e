// SPDX-License-Identifier: GPL-2.0
/* Looking a device up by an address, where two network namespaces share a bucket of the hash table. */
#include <kunit/test.h>
#include <rdma/ib_cache.h>

static const struct ib_gid_attr *address_of(struct ib_device *ib);
static bool never_across(const struct net *a, const struct net *b);

/*
 * Every device has every address. uroce_host.c has stubs of uroce_dev_by_id() and
 * uroce_dev_vlan(), so these get other names here.
 */
#define rdma_find_gid_by_port(ib, gid, type, port, on)	address_of(ib)
#define rdma_put_gid_attr(attr)				do { } while (0)
#define uroce_policy_across				never_across
#define uroce_dev_by_id					listed_by_id
#define uroce_dev_vlan					listed_vlan
#include "../../kernel/uroce/dev/device.c"

static bool never_across(const struct net *a, const struct net *b)
{
	return false;
}

/**
 * struct listed - a device in the list
 * @dev: the device
 * @netdev: its network device
 * @upper: a network device on top of it
 * @attr: the address that a search finds
 */
struct listed {
	struct uroce_dev dev;
	struct net_device netdev;
	struct net_device upper;
	struct ib_gid_attr attr;
};

static const struct ib_gid_attr *address_of(struct ib_device *ib)
{
	return &container_of(ib, struct listed, dev.ib)->attr;
}

/* Nothing is loaded from a namespace, so these have no memory. */
static struct net *namespace(unsigned long n)
{
	return (struct net *)(n * PAGE_SIZE);
}

static struct net *in_bucket_of(struct kunit *test, struct net *other)
{
	unsigned long n;

	for (n = 1; n < 1 << 16; n++)
		if (namespace(n) != other && bucket_of(namespace(n)) == bucket_of(other))
			return namespace(n);
	KUNIT_FAIL(test, "no other namespace has this bucket");
	return NULL;
}

static struct listed *list_in(struct kunit *test, struct net *net)
{
	struct listed *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->dev.netdev = &l->netdev;
	l->dev.net = net;
	dev_net_set(&l->netdev, net);
	rcu_assign_pointer(l->attr.ndev, &l->netdev);
	KUNIT_EXPECT_TRUE(test, uroce_dev_add(&l->dev));
	return l;
}

static struct uroce_dev *found_in(struct net *net)
{
	static const union ib_gid gid;
	struct uroce_dev *dev;

	rcu_read_lock();
	dev = uroce_dev_by_gid(net, &gid);
	rcu_read_unlock();
	return dev;
}

/* A namespace does not reach a device of another namespace by its address, not even from the same bucket. */
static void device_of_own_namespace(struct kunit *test)
{
	struct net *near = namespace(1), *far = in_bucket_of(test, near);
	struct listed *a = list_in(test, near), *b = list_in(test, far);

	KUNIT_EXPECT_PTR_EQ(test, found_in(near), &a->dev);
	KUNIT_EXPECT_PTR_EQ(test, found_in(far), &b->dev);
	uroce_dev_remove(&b->dev);
	KUNIT_EXPECT_PTR_EQ(test, found_in(far), NULL);
	uroce_dev_remove(&a->dev);
	KUNIT_EXPECT_PTR_EQ(test, found_in(near), NULL);
}

static struct uroce_dev *listener(struct listed *l)
{
	struct uroce_dev *dev;

	rcu_read_lock();
	dev = uroce_next_listener(&l->netdev, NULL);
	rcu_read_unlock();
	return dev;
}

/* A packet to a group is for the device of its netdev, which need not be the first in the list. */
static void device_that_listens(struct kunit *test)
{
	struct net *near = namespace(1), *far = in_bucket_of(test, near);
	struct listed *l[3] = { list_in(test, near), list_in(test, near), list_in(test, far) };
	int i;

	for (i = 0; i < ARRAY_SIZE(l); i++)
		KUNIT_EXPECT_PTR_EQ(test, listener(l[i]), &l[i]->dev);
	l[0]->dev.gone = true;
	KUNIT_EXPECT_PTR_EQ(test, listener(l[0]), NULL);
	for (i = 0; i < ARRAY_SIZE(l); i++)
		uroce_dev_remove(&l[i]->dev);
}

/* A device that is about to leave its namespace is not found, and is not entered twice. */
static void device_that_leaves(struct kunit *test)
{
	struct net *net = namespace(1);
	struct listed *a = list_in(test, net);

	KUNIT_EXPECT_FALSE(test, uroce_dev_add(&a->dev));
	a->dev.gone = true;
	KUNIT_EXPECT_PTR_EQ(test, found_in(net), NULL);
	uroce_dev_remove(&a->dev);
}

/* The device of the network device that has the address comes before devices below that network device. */
static void device_above_comes_first(struct kunit *test)
{
	struct net *net = namespace(1);
	struct listed *below = list_in(test, net), *exact = list_in(test, net);

	rcu_assign_pointer(below->attr.ndev, &below->upper);
	KUNIT_EXPECT_PTR_EQ(test, found_in(net), &exact->dev);
	uroce_dev_remove(&exact->dev);
	KUNIT_EXPECT_PTR_EQ(test, found_in(net), &below->dev);
	uroce_dev_remove(&below->dev);
}

static struct kunit_case device_cases[] = {
	KUNIT_CASE(device_of_own_namespace),
	KUNIT_CASE(device_that_listens),
	KUNIT_CASE(device_that_leaves),
	KUNIT_CASE(device_above_comes_first),
	{}
};

static struct kunit_suite device_suite = {
	.name = "univ_uroce_device",
	.test_cases = device_cases,
};
kunit_test_suite(device_suite);
