// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging: regions whose pages are not pinned.
 *
 * A region lists the pages that copies may use now, in chunks of the process's
 * address space; each chunk has a notifier. When the process's page tables lose
 * a page, invalidate() removes it from its chunk before the kernel uses the
 * page for something else. A copy holds the region's lock for reading, so
 * invalidate(), which takes it for writing, waits until no copy uses the page.
 * The lock is only tried by copies: they run with bottom halves off, and one
 * request may use a region twice.
 *
 * A copy that misses a page cannot wait for it, because a page fault sleeps. It
 * asks for the pages and its request is tried again: by the timer of the send
 * queue, by that of the responder, or by the peer after an RNR NAK. The pages
 * are faulted in by a work item, one at a time for each region. A file system
 * of a process may never provide a page, so nothing waits for that work item
 * without a limit, and it refers to the region's paging state alone, which may
 * outlive the region, its queue pairs and its device.
 *
 * Order of locks: uroce_chunk.lock, uroce_odp.lock. No memory is allocated
 * under either, since reclaim calls invalidate().
 */
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "../dev/dev.h"
#include "odp.h"

/*
 * The maximum number of regions of one address space that are served at the
 * same time, so that faults which never end leave work items to others. A
 * region that has to wait tries again after 10 ms, and doubles this delay each
 * time, up to 1.28 s: a process may let any number of regions wait, and each
 * try takes a lock of all processes.
 */
#define MM_SERVED	8
#define BUSY_MS		10
#define BUSY_DOUBLINGS	7

/* No more asks of a region than this wait at the same time. */
#define PENDING_MAX	64

/* How often a copy tries the lock of a region before it gives up for now. */
#define TRIES		100

/*
 * The maximum number of bytes that are faulted in by one call of the kernel. It
 * may hold the mmap_lock meanwhile and begins again if a page is lost, so all
 * of them must find room in a memory cgroup.
 */
#define PIECE		(64u << 10)

/* The maximum number of bytes that are faulted in ahead of a copy. */
#define AHEAD_MAX	(256u << 10)

/**
 * struct uroce_ask - pages that a copy misses
 * @ref: references: of the copy's queue pair, and of the list or the work item
 * @link: in uroce_odp.asks
 * @id: of the region
 * @addr: first byte in the process
 * @len: bytes
 * @ahead: bytes behind them that the request is about to use as well; they need
 *	not exist
 * @write: the copy writes to them
 * @fault: pages are faulted in; otherwise those that are present are listed
 * @ret: 0 or an errno, once @done is set
 * @done: the pages were faulted in, or cannot be
 * @is_new: no ask before it is known to have failed for these pages, and
 *	uroce_ask_is_new() was not yet called. Under the caller's lock
 */
struct uroce_ask {
	refcount_t ref;
	struct list_head link;
	u64 id;
	u64 addr;
	u64 len;
	u64 ahead;
	bool write;
	bool fault;
	int ret;
	bool done;
	bool is_new;
};

static struct workqueue_struct *odp_wq;
/* Regions that are being served. */
static LIST_HEAD(served);
static DEFINE_SPINLOCK(served_lock);
static atomic64_t last_id;

/* ---- faults -------------------------------------------------------------- */

static int list_pages(struct uroce_odp *odp, u64 addr, u64 len, bool write,
		      bool fault)
{
	unsigned long n;
	int ret;

	for (; len; len -= n, addr += n) {
		if (READ_ONCE(odp->ended))
			return -EFAULT;
		n = min_t(u64, len, PIECE - addr % PIECE);
		ret = uroce_chunk_fault(odp, addr, n, write, fault);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

static int ask_fault(struct uroce_odp *odp, const struct uroce_ask *ask)
{
	int ret = list_pages(odp, ask->addr, ask->len + ask->ahead, ask->write,
			     ask->fault);

	/* Without the bytes ahead, or once more if memory was short. */
	if (ret == -EFAULT)
		ret = list_pages(odp, ask->addr, ask->len, ask->write,
				 ask->fault);
	return ret;
}

static void ask_put(struct uroce_ask *ask)
{
	if (refcount_dec_and_test(&ask->ref))
		kfree(ask);
}

static void ask_end(struct uroce_ask *ask, int ret)
{
	ask->ret = ret;
	/* Pairs with the acquire in ask_again(). */
	smp_store_release(&ask->done, true);
	/* Orders @done before the look for a waiter. */
	smp_mb();
	wake_up_var(&ask->done);
	ask_put(ask);
}

/*
 * Nothing refers to the state any more, and no work item runs. Does not wait:
 * a device may be being removed.
 */
static void odp_free(struct uroce_odp *odp)
{
	struct uroce_chunk *c, *next;

	list_for_each_entry_safe(c, next, &odp->order, link)
		uroce_chunk_end(c);
	xa_destroy(&odp->chunks);
	mmdrop(odp->mm);
	kfree(odp);
}

static void odp_put(struct uroce_odp *odp)
{
	if (refcount_dec_and_test(&odp->ref))
		odp_free(odp);
}

/* The next ask; NULL after the last one, and then @running is false. */
static struct uroce_ask *next_ask(struct uroce_odp *odp)
{
	struct uroce_ask *ask;

	spin_lock_bh(&odp->asks_lock);
	ask = list_first_entry_or_null(&odp->asks, struct uroce_ask, link);
	if (ask) {
		list_del(&ask->link);
		odp->pending--;
	} else {
		WRITE_ONCE(odp->running, false);
	}
	spin_unlock_bh(&odp->asks_lock);
	return ask;
}

static void serve(struct uroce_odp *odp)
{
	struct uroce_ask *ask;

	while ((ask = next_ask(odp)))
		ask_end(ask, ask_fault(odp, ask));
	spin_lock(&served_lock);
	list_del(&odp->served);
	spin_unlock(&served_lock);
	/* Wakes uroce_odp_end(), which holds a reference of its own. */
	wake_up_var(&odp->running);
	odp_put(odp);
}

/* Returns false if the process has enough work items. */
static bool serve_begin(struct uroce_odp *odp)
{
	struct uroce_odp *other;
	bool may;
	u32 n = 0;

	spin_lock(&served_lock);
	list_for_each_entry(other, &served, served)
		n += other->mm == odp->mm;
	/* A region that has ended faults nothing in, so it need not wait. */
	may = n < MM_SERVED || READ_ONCE(odp->ended);
	if (may)
		list_add(&odp->served, &served);
	spin_unlock(&served_lock);
	return may;
}

/* After the last call uroce_odp_end() may free the region's paging state. */
static void look_again(struct uroce_odp *odp)
{
	unsigned long delay = msecs_to_jiffies(BUSY_MS << odp->tries);

	if (odp->tries < BUSY_DOUBLINGS)
		odp->tries++;
	queue_delayed_work(odp_wq, &odp->work, delay);
}

/*
 * The module stays while a fault lasts. If the module is being removed, its
 * devices are too, and their regions fail.
 */
static void odp_work(struct work_struct *work)
{
	struct uroce_odp *odp = container_of(to_delayed_work(work),
					     struct uroce_odp, work);
	bool stays;

	if (!odp->stays)
		odp->stays = try_module_get(THIS_MODULE);
	if (!odp->stays)
		WRITE_ONCE(odp->ended, true);
	if (!serve_begin(odp)) {
		look_again(odp);
		return;
	}
	odp->tries = 0;
	stays = odp->stays;
	odp->stays = false;
	serve(odp);
	if (stays)
		module_put(THIS_MODULE);
}

/* Pages of a region that a copy misses. */
struct gap {
	struct uroce_odp *odp;
	u64 addr;
	u64 len;
	u64 ahead;
};

/*
 * The caller's reference to the region keeps @odp. Context: any with interrupts
 * enabled.
 */
static void ask_begin(struct uroce_odp *odp, struct uroce_ask *ask)
{
	bool begins = false, ended;

	refcount_set(&ask->ref, 2);
	spin_lock_bh(&odp->asks_lock);
	ended = odp->ended;
	if (!ended) {
		list_add_tail(&ask->link, &odp->asks);
		odp->pending++;
		begins = !odp->running;
		odp->running = true;
	}
	spin_unlock_bh(&odp->asks_lock);
	if (ended)
		ask_end(ask, -EFAULT);
	if (begins) {
		refcount_inc(&odp->ref);
		queue_delayed_work(odp_wq, &odp->work, 0);
	}
}

/* Charged to the process of the region, whoever sends. Context: any. */
static struct uroce_ask *ask_alloc(struct uroce_odp *odp)
{
	const gfp_t flags = GFP_ATOMIC | __GFP_ACCOUNT;
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(odp->mm);
	struct mem_cgroup *former = set_active_memcg(memcg);
	void *ask = kmalloc(sizeof(struct uroce_ask), flags);

	set_active_memcg(former);
	mem_cgroup_put(memcg);
	return ask;
}

/* Context: bottom halves off. Returns NULL if too many asks are pending. */
static struct uroce_ask *ask_new(const struct gap *gap, bool write)
{
	struct uroce_ask *ask;

	if (READ_ONCE(gap->odp->pending) >= PENDING_MAX)
		return NULL;
	ask = ask_alloc(gap->odp);
	if (!ask)
		return NULL;
	*ask = (struct uroce_ask){
		.id = gap->odp->id,
		.addr = gap->addr,
		.len = gap->len,
		.ahead = gap->ahead,
		.write = write,
		.fault = true,
	};
	ask_begin(gap->odp, ask);
	uroce_count(to_udev(gap->odp->ib), UROCE_CNT_PAGE_FAULTS);
	return ask;
}

/*
 * Asks for pages of a region, which the caller holds, from byte @off on, before
 * a copy misses them. The caller drops the result. If too many requests are
 * pending, returns -EAGAIN with @wait, and NULL without it: the advice is
 * ignored.
 */
struct uroce_ask *uroce_ask_ahead(struct uroce_odp *odp, u64 off, u64 len,
				  bool write, bool fault, bool wait)
{
	struct uroce_ask *ask;

	if (READ_ONCE(odp->pending) >= PENDING_MAX)
		return wait ? ERR_PTR(-EAGAIN) : NULL;
	ask = kmalloc(sizeof(*ask), GFP_KERNEL_ACCOUNT);
	if (!ask)
		return ERR_PTR(-ENOMEM);
	*ask = (struct uroce_ask){
		.id = odp->id,
		.addr = odp->start + off,
		.len = len,
		.write = write,
		.fault = fault,
	};
	ask_begin(odp, ask);
	return ask;
}

/* May sleep. */
int uroce_ask_wait(struct uroce_ask *ask)
{
	int ret = wait_var_event_killable(&ask->done,
					  smp_load_acquire(&ask->done));

	return ret ?: ask->ret;
}

/* ---- copies -------------------------------------------------------------- */

/* The bytes that follow byte @off of a segment, within the region. */
static u64 seg_ahead(const struct uroce_seg *seg, u32 off)
{
	u64 end = min(seg->base + seg->len, READ_ONCE(seg->mr->length));

	return min_t(u64, end - seg->base - off, AHEAD_MAX);
}

/* Returns true if a page is missing. Context: the region's lock for reading. */
static bool seg_gap(const struct uroce_seg *seg, u32 off, u32 len, bool write,
		    struct gap *gap)
{
	struct uroce_odp *odp = seg->mr->odp;
	unsigned long need = ENTRY_VALID | (write ? ENTRY_WRITE : 0);
	u64 at = odp->start + seg->base + off, end = at + len;

	for (; at < end; at = ALIGN_DOWN(at, PAGE_SIZE) + PAGE_SIZE) {
		if ((odp_entry(odp, at) & need) == need)
			continue;
		*gap = (struct gap){
			odp, at, end - at, seg_ahead(seg, off + len),
		};
		return true;
	}
	return false;
}

static bool vec_gap(const struct uroce_vec *vec, u32 off, u32 len, bool write,
		    struct gap *gap)
{
	const struct uroce_seg *seg = vec->seg;
	u32 i, n;

	for (i = 0; i < vec->count && len; i++, seg++) {
		if (off >= seg->len) {
			off -= seg->len;
			continue;
		}
		n = min(seg->len - off, len);
		if (uroce_seg_is_odp(seg) && seg_gap(seg, off, n, write, gap))
			return true;
		len -= n;
		off = 0;
	}
	return false;
}

/* sparse cannot follow locks that are taken and released in loops. */
static void vec_unlock(const struct uroce_vec *vec, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (!uroce_seg_is_odp(&vec->seg[i]))
			continue;
		__acquire(&vec->seg[i].mr->odp->lock);
		read_unlock(&vec->seg[i].mr->odp->lock);
	}
}

static bool odp_trylock(struct uroce_odp *odp)
{
	u32 n;

	for (n = 0; n < TRIES; n++) {
		if (read_trylock(&odp->lock)) {
			__release(&odp->lock);
			return true;
		}
		cpu_relax();
	}
	return false;
}

static bool vec_trylock(const struct uroce_vec *vec)
{
	u32 i;

	for (i = 0; i < vec->count; i++) {
		if (!uroce_seg_is_odp(&vec->seg[i]))
			continue;
		if (!odp_trylock(vec->seg[i].mr->odp)) {
			vec_unlock(vec, i);
			return false;
		}
	}
	return true;
}

/*
 * Asks for pages, or looks at the answer if they were asked for already.
 * Returns -EAGAIN, or -EFAULT if the pages cannot be faulted in.
 */
static int ask_again(const struct gap *gap, bool write, struct uroce_ask **slot)
{
	struct uroce_ask *ask = *slot;
	bool same;
	int ret = 0;

	/* Pairs with the release in ask_end(). */
	if (ask && !smp_load_acquire(&ask->done))
		return -EAGAIN;
	if (ask) {
		same = ask->id == gap->odp->id && ask->write <= write &&
		       gap->addr - ask->addr < ask->len;
		ret = same ? ask->ret : 0;
		uroce_ask_drop(slot);
	}
	if (ret == -EFAULT)
		return ret;
	*slot = ask_new(gap, write);
	if (*slot)
		(*slot)->is_new = !ret;
	return -EAGAIN;
}

/* See uroce_vec_enter(). */
int uroce_odp_enter(const struct uroce_vec *vec, u32 off, u32 len, bool write,
		    struct uroce_ask **slot)
{
	struct gap gap;

	if (!vec_trylock(vec))
		return -EAGAIN;
	if (!vec_gap(vec, off, len, write, &gap)) {
		/* An old answer must not decide about a later gap. */
		if (slot && *slot && smp_load_acquire(&(*slot)->done))
			uroce_ask_drop(slot);
		return 0;
	}
	vec_unlock(vec, vec->count);
	return slot ? ask_again(&gap, write, slot) : -EAGAIN;
}

void uroce_odp_leave(const struct uroce_vec *vec)
{
	vec_unlock(vec, vec->count);
}

/* See uroce_mr_at(). The page is listed: uroce_odp_enter() has checked it. */
void *uroce_odp_at(const struct uroce_mr *mr, u64 off, u32 *len)
{
	u64 addr = mr->odp->start + off;

	*len = min_t(u32, *len, PAGE_SIZE - offset_in_page(addr));
	return (void *)(odp_entry(mr->odp, addr) & PAGE_MASK) +
	       offset_in_page(addr);
}

/*
 * Returns true once for each ask that follows none that has failed. @ask may be
 * NULL. Context: the lock that protects the slot.
 */
bool uroce_ask_is_new(struct uroce_ask *ask)
{
	if (!ask || !ask->is_new)
		return false;
	ask->is_new = false;
	return true;
}

/* A queue pair does not want its pages any more. */
void uroce_ask_drop(struct uroce_ask **slot)
{
	if (!*slot)
		return;
	ask_put(*slot);
	*slot = NULL;
}

/* ---- regions ------------------------------------------------------------- */

/* Nothing is pinned, and the length does not matter. */
struct uroce_odp *uroce_odp_create(struct ib_device *ib, u64 start, int access)
{
	struct uroce_odp *odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);

	if (!odp)
		return ERR_PTR(-ENOMEM);
	odp->huge = access & IB_ACCESS_HUGETLB;
	refcount_set(&odp->ref, 1);
	odp->id = atomic64_inc_return(&last_id);
	odp->ib = ib;
	odp->mm = current->mm;
	mmgrab(odp->mm);
	odp->start = start;
	rwlock_init(&odp->lock);
	xa_init_flags(&odp->chunks, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&odp->order);
	spin_lock_init(&odp->asks_lock);
	INIT_LIST_HEAD(&odp->asks);
	INIT_DELAYED_WORK(&odp->work, odp_work);
	return odp;
}

/*
 * A region that is deregistered waits at most END_WAIT for a fault that is
 * being handled. A device that is removed may have many such regions.
 */
#define END_WAIT msecs_to_jiffies(20)

/*
 * The region is deregistered, and no copy uses it. A fault that lasts longer
 * than the wait frees the paging state when it ends.
 */
void uroce_odp_end(struct uroce_odp *odp)
{
	struct uroce_ask *ask, *next;
	LIST_HEAD(asks);

	spin_lock_bh(&odp->asks_lock);
	WRITE_ONCE(odp->ended, true);
	list_splice_init(&odp->asks, &asks);
	spin_unlock_bh(&odp->asks_lock);
	list_for_each_entry_safe(ask, next, &asks, link)
		ask_end(ask, -EFAULT);
	if (cancel_delayed_work(&odp->work)) {
		/* The work item has not begun, and its reference is ours. */
		if (odp->stays)
			module_put(THIS_MODULE);
		odp_put(odp);
	} else {
		wait_var_event_timeout(&odp->running, !READ_ONCE(odp->running),
				       END_WAIT);
	}
	odp_put(odp);
}

/* A fault may wait for a file system. MM_SERVED limits those of a process. */
int uroce_odp_init(void)
{
	odp_wq = alloc_workqueue("uroce-odp", WQ_UNBOUND | WQ_SYSFS,
				 WQ_MAX_ACTIVE);
	return odp_wq ? 0 : -ENOMEM;
}

void uroce_odp_exit(void)
{
	destroy_workqueue(odp_wq);
}
