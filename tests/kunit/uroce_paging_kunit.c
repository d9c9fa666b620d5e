// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: regions that wait because other regions of their process are being served. The
 * tests run the work item that serves a region themselves.
 */
#include <linux/mman.h>
#include <linux/workqueue.h>

#include "../../kernel/uroce/mem/mr.h"
#include "fixture.h"

static unsigned long waits;	/* how long the work item is to wait, in jiffies */

static bool begin_wait(struct workqueue_struct *wq, struct delayed_work *work,
		       unsigned long delay)
{
	waits = delay;
	return true;
}

#define queue_delayed_work begin_wait
#include "../../kernel/uroce/mem/odp.c"
#undef queue_delayed_work

/* A region, and as many others as are served at the same time; their faults do not end. */
struct paging {
	unsigned long addr;
	struct uroce_odp *odp;
	struct uroce_ask *ask;
	struct uroce_odp others[MM_SERVED];
};

static void others_begin(struct paging *p, struct mm_struct *mm)
{
	int i;

	spin_lock(&served_lock);
	for (i = 0; i < MM_SERVED; i++) {
		p->others[i].mm = mm;
		list_add(&p->others[i].served, &served);
	}
	spin_unlock(&served_lock);
}

static void others_end(struct paging *p)
{
	int i;

	spin_lock(&served_lock);
	for (i = 0; i < MM_SERVED; i++)
		list_del(&p->others[i].served);
	spin_unlock(&served_lock);
}

/* A copy misses the page of the region. */
static void miss(struct kunit *test)
{
	struct paging *p = test->priv;

	waits = ULONG_MAX;
	p->ask = uroce_ask_ahead(p->odp, 0, PAGE_SIZE, true, true, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p->ask);
	KUNIT_EXPECT_EQ(test, waits, 0ul);
}

/* The work item runs. Return true if it has served the region. */
static bool serves(struct paging *p)
{
	odp_work(&p->odp->work.work);
	return smp_load_acquire(&p->ask->done);
}

static void expect_served(struct kunit *test)
{
	struct paging *p = test->priv;

	KUNIT_EXPECT_TRUE(test, serves(p));
	KUNIT_EXPECT_EQ(test, p->ask->ret, 0);
	uroce_ask_drop(&p->ask);
}

/* Regions of another process whose faults do not end are no reason to wait. */
static void paging_of_others(struct kunit *test)
{
	struct paging *p = test->priv;

	miss(test);
	/* Address spaces are only compared. */
	others_begin(p, (void *)p);
	KUNIT_EXPECT_TRUE(test, serves(p));
	others_end(p);
	if (READ_ONCE(p->odp->running))
		serves(p);
	uroce_ask_drop(&p->ask);
}

/*
 * A region waits while too many others of its process are served: 10 ms, and twice as long each
 * time, up to 1.28 s. When it was served, its next wait is short again.
 */
static void paging_waits(struct kunit *test)
{
	struct paging *p = test->priv;
	int i;

	miss(test);
	others_begin(p, p->odp->mm);
	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_FALSE(test, serves(p));
		KUNIT_EXPECT_EQ(test, waits, msecs_to_jiffies(10 << min(i, 7)));
	}
	others_end(p);
	expect_served(test);
	miss(test);
	others_begin(p, p->odp->mm);
	KUNIT_EXPECT_FALSE(test, serves(p));
	KUNIT_EXPECT_EQ(test, waits, msecs_to_jiffies(10));
	others_end(p);
	expect_served(test);
}

static int odp_init(struct kunit *test)
{
	struct paging *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	fixture_enter(NULL);
	p->addr = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, 0);
	p->odp = uroce_odp_create(NULL, p->addr, 0);
	fixture_leave(NULL);
	if (IS_ERR(p->odp))
		return PTR_ERR(p->odp);
	test->priv = p;
	return uroce_removal_init();
}

static void odp_exit(struct kunit *test)
{
	struct paging *p = test->priv;

	if (!p)
		return;
	uroce_odp_end(p->odp);
	uroce_removal_exit();
	fixture_enter(NULL);
	vm_munmap(p->addr, PAGE_SIZE);
	fixture_leave(NULL);
}

static struct kunit_case paging_cases[] = {
	KUNIT_CASE(paging_of_others),
	KUNIT_CASE(paging_waits),
	{}
};

static struct kunit_suite paging_suite = {
	.name = "univ_uroce_paging",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = odp_init,
	.exit = odp_exit,
	.test_cases = paging_cases,
};

kunit_test_suite(paging_suite);
