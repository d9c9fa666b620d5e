// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: regions that wait because other regions of their process are being served, and
 * requests that ask for their pages again. The tests run the work item that serves a region
 * themselves.
 */
#include <linux/hmm.h>
#include <linux/mman.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "../../kernel/uroce/mem/mr.h"
#include "../../kernel/uroce/path/local.h"
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

static bool no_memory;		/* page faults fail with ENOMEM */

static void *calloc_or_fail(size_t n, size_t size, gfp_t flags)
{
	return no_memory ? NULL : kcalloc(n, size, flags);
}

static unsigned long going;	/* a page that is unmapped when it has been looked up */

static int look_up(struct hmm_range *range, unsigned long timeout)
{
	int ret = hmm_range_fault_unlocked_timeout(range, timeout);

	if (going) {
		fixture_enter(NULL);
		vm_munmap(going, PAGE_SIZE);
		fixture_leave(NULL);
		going = 0;
	}
	return ret;
}

#undef kcalloc
#define kcalloc calloc_or_fail
#define hmm_range_fault_unlocked_timeout look_up
#include "../../kernel/uroce/mem/chunk.c"
#undef hmm_range_fault_unlocked_timeout
#undef kcalloc

/*
 * A region, a request that uses its first bytes, and as many other regions as are served at the
 * same time; the faults of those do not end.
 */
struct paging {
	unsigned long addr;
	struct uroce_odp *odp;
	struct uroce_ask *ask;
	struct uroce_dev dev;
	struct uroce_mr mr;
	struct uroce_seg seg;
	struct uroce_wqe wqe;
	struct uroce_qp qp;
	struct turn turn;
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

/* The request begins the access to its memory, and ends it if all pages are there. */
static enum outcome enter(struct paging *p)
{
	enum outcome out;

	local_bh_disable();
	out = turn_enter(&p->turn, 1, true);
	if (out == LOCAL_DONE)
		uroce_vec_leave(&p->wqe.vec);
	local_bh_enable();
	return out;
}

/* The request misses its page. Return how often its next wait is doubled. */
static int misses(struct kunit *test)
{
	struct paging *p = test->priv;

	KUNIT_ASSERT_EQ(test, (int)enter(p), (int)LOCAL_PAGING);
	return p->qp.sq.waits;
}

/* The work item faults the page in, and the request finds it. */
static void expect_found(struct kunit *test)
{
	struct paging *p = test->priv;

	odp_work(&p->odp->work.work);
	KUNIT_ASSERT_EQ(test, (int)enter(p), (int)LOCAL_DONE);
}

/* The process's page tables lose the page. */
static void lose(struct paging *p)
{
	struct uroce_chunk *c = xa_load(&p->odp->chunks, p->addr / CHUNK_SIZE);

	mutex_lock(&c->lock);
	chunk_forget(c, p->addr, p->addr + PAGE_SIZE);
	mutex_unlock(&c->lock);
}

/*
 * The request asks for its page, which comes and is lost. Before it comes, the request looks for it
 * once more, which is no new ask, so the next wait is twice as long. Return how often the first
 * wait was doubled.
 */
static int ask_in_vain(struct kunit *test)
{
	struct paging *p = test->priv;
	int first;

	/* Earlier waits have left a high number. */
	p->qp.sq.waits = 20;
	first = misses(test);
	p->qp.sq.waits++;
	KUNIT_ASSERT_EQ(test, misses(test), first + 1);
	expect_found(test);
	lose(p);
	return first;
}

/*
 * A request whose pages never stay asks 128 times with waits from 10 us on. Then it asks 32 times
 * each with waits from 5, 10, 20 and 41 ms on: its wait of 10 us is doubled 9 to 12 times. After
 * that it begins anew.
 */
static void paging_asks(struct kunit *test)
{
	int i, want;

	for (i = 0; i < 2 * 256; i++) {
		want = i % 256 < 128 ? 0 : 9 + i % 128 / 32;
		KUNIT_ASSERT_EQ_MSG(test, ask_in_vain(test), want, "ask %d", i);
	}
}

/* A request that has moved a byte has short waits again. */
static void paging_moves(struct kunit *test)
{
	struct paging *p = test->priv;
	int i;

	for (i = 0; i < 130; i++)
		ask_in_vain(test);
	KUNIT_EXPECT_EQ(test, ask_in_vain(test), 9);
	KUNIT_EXPECT_EQ(test, (int)turn_moved(&p->turn, 1), (int)LOCAL_MORE);
	for (i = 0; i < 128; i++)
		KUNIT_ASSERT_EQ_MSG(test, ask_in_vain(test), 0, "ask %d", i);
	KUNIT_EXPECT_EQ(test, ask_in_vain(test), 9);
}

/*
 * A fault that fails because memory is short is repeated until there is memory. These asks are not
 * new, so each wait is twice as long as the one before it.
 */
static void paging_without_memory(struct kunit *test)
{
	struct paging *p = test->priv;
	int i;

	no_memory = true;
	KUNIT_EXPECT_EQ(test, misses(test), 0);
	for (i = 1; i < 10; i++) {
		odp_work(&p->odp->work.work);
		p->qp.sq.waits = i;
		KUNIT_EXPECT_EQ(test, misses(test), i);
		/* It has asked again. */
		KUNIT_EXPECT_TRUE(test, READ_ONCE(p->odp->running));
	}
	no_memory = false;
	expect_found(test);
	lose(p);
	KUNIT_EXPECT_EQ(test, misses(test), 0);
}

/* A page that goes after it was looked up is not listed. */
static void paging_gone_meanwhile(struct kunit *test)
{
	struct paging *p = test->priv;

	miss(test);
	going = p->addr;
	KUNIT_EXPECT_TRUE(test, serves(p));
	KUNIT_EXPECT_EQ(test, p->ask->ret, -EFAULT);
	uroce_ask_drop(&p->ask);
}

/* Too many asks are pending: a caller that can come back does so, and other advice is ignored. */
static void paging_full(struct kunit *test)
{
	struct paging *p = test->priv;
	struct uroce_ask *ask;

	waits = ULONG_MAX;
	p->odp->pending = PENDING_MAX;
	ask = uroce_ask_ahead(p->odp, 0, PAGE_SIZE, true, true, true);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(ask), -EAGAIN);
	KUNIT_EXPECT_NULL(test, uroce_ask_ahead(p->odp, 0, PAGE_SIZE, true, true, false));
	p->odp->pending = 0;
	KUNIT_EXPECT_EQ(test, waits, ULONG_MAX);
	miss(test);
	expect_served(test);
}

/* The first piece of a request was moved before a page of the second piece is missed. */
static void paging_second_piece(struct kunit *test)
{
	struct paging *p = test->priv;
	struct uroce_seg pieces[2] = { p->seg, p->seg };

	pieces[1].base = 100;
	p->wqe.vec = (struct uroce_vec){ .seg = pieces, .count = 2, .len = 4 };
	p->wqe.len = 4;
	p->wqe.done = 3;
	misses(test);
	KUNIT_EXPECT_EQ(test, p->qp.sq.ask->addr, (u64)p->addr + 101);
	expect_found(test);
}

static void request_init(struct paging *p)
{
	p->mr.kind = UROCE_MR_ODP;
	p->mr.length = PAGE_SIZE;
	p->mr.odp = p->odp;
	p->seg.mr = &p->mr;
	p->seg.len = 2;
	p->wqe.len = 2;
	p->wqe.vec = (struct uroce_vec){ &p->seg, 1, 2 };
	p->turn.qp = &p->qp;
	p->turn.wqe = &p->wqe;
}

static int odp_init(struct kunit *test)
{
	struct paging *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	no_memory = false;
	p->dev.counters = __alloc_percpu(UROCE_COUNTERS * sizeof(u64), sizeof(u64));
	if (!p->dev.counters)
		return -ENOMEM;
	fixture_enter(NULL);
	p->addr = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, 0);
	p->odp = uroce_odp_create(&p->dev.ib, p->addr, 0);
	fixture_leave(NULL);
	if (IS_ERR(p->odp)) {
		free_percpu(p->dev.counters);
		return PTR_ERR(p->odp);
	}
	request_init(p);
	test->priv = p;
	return uroce_removal_init();
}

static void odp_exit(struct kunit *test)
{
	struct paging *p = test->priv;

	if (!p)
		return;
	/* No other thread runs the work item. */
	if (READ_ONCE(p->odp->running))
		odp_work(&p->odp->work.work);
	uroce_ask_drop(&p->qp.sq.ask);
	uroce_odp_end(p->odp);
	uroce_removal_exit();
	fixture_enter(NULL);
	vm_munmap(p->addr, PAGE_SIZE);
	fixture_leave(NULL);
	free_percpu(p->dev.counters);
}

static struct kunit_case paging_cases[] = {
	KUNIT_CASE(paging_of_others),
	KUNIT_CASE(paging_waits),
	KUNIT_CASE(paging_asks),
	KUNIT_CASE(paging_moves),
	KUNIT_CASE(paging_without_memory),
	KUNIT_CASE(paging_gone_meanwhile),
	KUNIT_CASE(paging_full),
	KUNIT_CASE(paging_second_piece),
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
