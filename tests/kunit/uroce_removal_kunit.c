// SPDX-License-Identifier: GPL-2.0
/* The removal of notifiers does not wait for a process that changes its page tables. */
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>

#include "../../kernel/uroce/mem/cache.h"
#include "../../kernel/uroce/mem/odp.h"
#include "fixture.h"

#define LENGTH (4 * PAGE_SIZE)

/*
 * A change of the page tables that lasts until it is released. The kernel removes no notifier meanwhile.
 * @cache is that of the watch that ends during it.
 */
struct change {
	struct mmu_interval_notifier notifier;
	struct uroce_cache cache;
	struct mm_struct *mm;
	unsigned long addr;
	struct completion begun;
	struct completion release;
	struct completion ended;
	bool late;			/* it was not released, and ended all the same */
};

static bool wait_for_release(struct mmu_interval_notifier *notifier, const struct mmu_notifier_range *range, unsigned long seq)
{
	struct change *c = container_of(notifier, struct change, notifier);

	mmu_interval_set_seq(notifier, seq);
	complete(&c->begun);
	c->late = !wait_for_completion_timeout(&c->release, 10 * HZ);
	return true;
}

static const struct mmu_interval_notifier_ops ops = {
	.invalidate = wait_for_release,
};

static int change_memory(void *arg)
{
	struct change *c = arg;

	kthread_use_mm(c->mm);
	vm_munmap(c->addr, PAGE_SIZE);
	kthread_unuse_mm(c->mm);
	complete(&c->ended);
	return 0;
}

static unsigned long map_memory(void)
{
	return vm_mmap(NULL, 0, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
}

static int change_begin(struct change *c)
{
	struct task_struct *thread;
	int ret;

	c->mm = current->mm;
	c->addr = map_memory();
	ret = mmu_interval_notifier_insert(&c->notifier, c->mm, c->addr, PAGE_SIZE, &ops);
	if (ret)
		return ret;
	thread = kthread_run(change_memory, c, "univ-change");
	if (IS_ERR(thread)) {
		mmu_interval_notifier_remove(&c->notifier);
		return PTR_ERR(thread);
	}
	wait_for_completion(&c->begun);
	return 0;
}

/* Return -ETIMEDOUT if the change ended before it was released. */
static int change_end(struct change *c)
{
	complete_all(&c->release);
	wait_for_completion(&c->ended);
	mmu_interval_notifier_remove(&c->notifier);
	vm_munmap(c->addr, LENGTH);
	return c->late ? -ETIMEDOUT : 0;
}

/* Run @during in the memory of the process. It ends something while a change is under way. */
static void expect_no_wait(struct kunit *test, int (*during)(struct change *c))
{
	int ret;

	fixture_enter(NULL);
	ret = during(test->priv);
	fixture_leave(NULL);
	KUNIT_EXPECT_EQ(test, ret, 0);
}

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
static int end_paging(struct change *c)
{
	unsigned long addr = map_memory();
	struct uroce_odp *odp = uroce_odp_create(NULL, addr, 0);
	int ret;

	if (IS_ERR(odp))
		return PTR_ERR(odp);
	ret = uroce_chunk_fault(odp, addr, LENGTH, true, true) ?: change_begin(c);
	uroce_odp_end(odp);
	ret = ret ?: change_end(c);
	vm_munmap(addr, LENGTH);
	return ret;
}

static void paging_ends(struct kunit *test)
{
	expect_no_wait(test, end_paging);
}
#else
static void paging_ends(struct kunit *test)
{
	kunit_skip(test, "the kernel has no on-demand paging");
}
#endif

static int end_watch(struct change *c)
{
	struct uroce_cache *cache = &c->cache;
	unsigned long addr = map_memory();
	struct uroce_watch *watch;
	int ret;

	uroce_watch_note(cache, addr, LENGTH / PAGE_SIZE);
	watch = uroce_watch_create(cache, addr, LENGTH);
	if (!watch)
		return -ENOMEM;
	ret = change_begin(c);
	uroce_watch_end(watch);
	ret = ret ?: change_end(c);
	vm_munmap(addr, LENGTH);
	return ret;
}

static void watch_ends(struct kunit *test)
{
	expect_no_wait(test, end_watch);
}

static int removal_init(struct kunit *test)
{
	struct change *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	init_completion(&c->begun);
	init_completion(&c->release);
	init_completion(&c->ended);
	refcount_set(&c->cache.ref, 1);
	spin_lock_init(&c->cache.lock);
	test->priv = c;
	return uroce_removal_init();
}

/* All notifiers are removed, and what they held is released, when the module exits. */
static void removal_exit(struct kunit *test)
{
	struct change *c = test->priv;

	uroce_removal_exit();
	KUNIT_EXPECT_EQ(test, refcount_read(&c->cache.ref), 1u);
}

static struct kunit_case removal_cases[] = {
	KUNIT_CASE(paging_ends),
	KUNIT_CASE(watch_ends),
	{}
};

static struct kunit_suite removal_suite = {
	.name = "univ_uroce_removal",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = removal_init,
	.exit = removal_exit,
	.test_cases = removal_cases,
};

kunit_test_suite(removal_suite);
