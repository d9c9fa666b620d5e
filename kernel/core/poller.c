// SPDX-License-Identifier: GPL-2.0
/*
 * The poller of a context; see poller.h.
 *
 * It feeds each ring as a kick would, and whoever feeds a ring sets the ring's
 * flag by univ_poller_awake(), under the ring's feed lock. Going to sleep is:
 * say so, then feed all rings once more. After that each has its flag set and
 * has been looked at behind the fence that follows (send_watch(), recv_watch(),
 * queue_look()), so what a process publishes without a kick has been found.
 *
 * The send ring of a driver that takes rings itself is not fed but looked at:
 * the driver is kicked when there is something new. Nobody else sets that ring's
 * flag, and the poller's lock guards what feed locks guard elsewhere.
 */
#include <linux/atomic.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "context.h"
#include "ioctl.h"
#include "limit.h"
#include "poller.h"
#include "pump.h"
#include "reason.h"

struct univ_poller {
	struct task_struct *task;
	struct mutex lock;		/* feeds; held during a pass */
	struct list_head feeds;		/* of struct univ_feed */
	atomic_t waiters;		/* for the lock, so a pass breaks off */
	wait_queue_head_t wait;
	u64 idle_ns;
	bool awake;
	bool nudged;			/* kicked since it began to fall asleep */
};

/* Whether rings need no kick. Context: a ring's feed lock, or the poller's. */
bool univ_poller_awake(const struct univ_poller *poller)
{
	return READ_ONCE(poller->awake);
}

/* After a kick. Any context. */
void univ_poller_wake(struct univ_poller *poller)
{
	WRITE_ONCE(poller->nudged, true);
	wake_up(&poller->wait);
}

/* One ring's turn. Returns whether there was anything to feed, or there is more. */
static bool poller_turn(struct univ_feed *feed)
{
	bool more = false;

	if (feed->look)
		feed->look(feed);
	else
		more = univ_feed_turn(feed);
	if (!READ_ONCE(feed->moved))
		return more;
	WRITE_ONCE(feed->moved, false);
	return true;
}

/* Taken by the process's calls: a pass that is under way breaks off for them */
static void poller_lock(struct univ_poller *poller)
{
	atomic_inc(&poller->waiters);
	mutex_lock(&poller->lock);
	atomic_dec(&poller->waiters);
}

/*
 * One turn of each ring. Returns whether there was anything to feed. A process may
 * have very many rings: others run in between, and a pass that somebody waits for
 * breaks off; the next one begins with the ring where it stopped.
 */
static bool poller_pass(struct univ_poller *poller)
{
	struct univ_feed *feed;
	bool moved = false;

	mutex_lock(&poller->lock);
	list_for_each_entry(feed, &poller->feeds, polled) {
		moved |= poller_turn(feed);
		if (unlikely(atomic_read(&poller->waiters))) {
			list_rotate_to_front(&feed->polled, &poller->feeds);
			list_rotate_left(&poller->feeds);
			moved = true;
			break;
		}
		cond_resched();
	}
	mutex_unlock(&poller->lock);
	return moved;
}

static void poller_sleep(struct univ_poller *poller)
{
	WRITE_ONCE(poller->nudged, false);
	WRITE_ONCE(poller->awake, false);
	if (!poller_pass(poller))
		wait_event_interruptible(poller->wait,
					 READ_ONCE(poller->nudged) ||
					 kthread_should_stop());
	WRITE_ONCE(poller->awake, true);
}

static int poller_run(void *data)
{
	struct univ_poller *poller = data;
	u64 busy = ktime_get_ns();

	while (!kthread_should_stop()) {
		if (poller_pass(poller)) {
			busy = ktime_get_ns();
		} else if (ktime_get_ns() - busy >
			   READ_ONCE(poller->idle_ns)) {
			poller_sleep(poller);
			busy = ktime_get_ns();
		}
		cond_resched();
		cpu_relax();
	}
	return 0;
}

static u64 poller_idle_ns(u32 idle_us)
{
	return (u64)idle_us * NSEC_PER_USEC;
}

static struct univ_poller *poller_alloc(u32 idle_us)
{
	struct univ_poller *poller;

	poller = kzalloc(sizeof(*poller), GFP_KERNEL_ACCOUNT);
	if (!poller)
		return NULL;
	mutex_init(&poller->lock);
	INIT_LIST_HEAD(&poller->feeds);
	init_waitqueue_head(&poller->wait);
	poller->idle_ns = poller_idle_ns(idle_us);
	poller->awake = true;
	return poller;
}

/*
 * It runs where its process may run, and no more favoured. Its time cannot be
 * charged to the process (a module cannot make a thread of it); the number of
 * pollers is bounded instead.
 */
static int poller_create_thread(struct univ_poller *poller)
{
	struct task_struct *task;

	task = kthread_create(poller_run, poller, "univ-poll/%d",
			      task_tgid_nr(current));
	if (IS_ERR(task))
		return PTR_ERR(task);
	set_user_nice(task, task_nice(current));
	set_cpus_allowed_ptr(task, current->cpus_ptr);
	poller->task = get_task_struct(task);
	return 0;
}

static void poller_destroy(struct univ_poller *poller)
{
	kthread_stop(poller->task);
	put_task_struct(poller->task);
	univ_limit_uncharge_poller();
	kfree(poller);
}

static int poller_start(struct univ_call *call, struct univ_poller_start *cmd)
{
	struct univ_poller *poller;
	int ret = -ENOMEM;

	poller = poller_alloc(cmd->idle_us);
	if (!poller)
		goto uncharge;
	ret = poller_create_thread(poller);
	if (ret)
		goto free;
	ret = univ_call_reply(call);
	if (ret)
		goto destroy;
	/* Another thread was first, with an idle time as good as ours. */
	if (cmpxchg(&call->ctx->poller, NULL, poller))
		goto destroy;
	wake_up_process(poller->task);
	return 0;

destroy:
	poller_destroy(poller);
	return ret;
free:
	kfree(poller);
uncharge:
	univ_limit_uncharge_poller();
	return univ_explain_driver(&cmd->hdr, ret);
}

/*
 * UNIV_POLLER_START. Queues that are there already are not polled. When there is
 * a poller already, only its idle time changes. EAGAIN: too many.
 */
int univ_poller_start_ioctl(struct univ_call *call, void *arg)
{
	struct univ_poller *poller = READ_ONCE(call->ctx->poller);
	struct univ_poller_start *cmd = arg;
	int ret;

	cmd->idle_us = min_t(u32, cmd->idle_us, UNIV_POLLER_MAX_IDLE_US);
	if (poller) {
		WRITE_ONCE(poller->idle_ns, poller_idle_ns(cmd->idle_us));
		return 0;
	}
	ret = univ_limit_charge_poller(&cmd->hdr);
	return ret ? ret : poller_start(call, cmd);
}

/* The context dies. Its rings stay, and ask for a kick. Context: live lock. */
void univ_poller_stop(struct univ_context *ctx)
{
	struct univ_poller *poller = ctx->poller;
	struct univ_feed *feed, *next;

	lockdep_assert_held_write(&ctx->live);
	if (!poller)
		return;
	poller_lock(poller);
	list_for_each_entry_safe(feed, next, &poller->feeds, polled) {
		list_del_init(&feed->polled);
		univ_feed_leave_poller(feed);
	}
	mutex_unlock(&poller->lock);
	ctx->poller = NULL;
	poller_destroy(poller);
}

/* A queue that is complete: look after it, if the context has a poller. */
void univ_poller_add(struct univ_context *ctx, struct univ_feed *feed)
{
	struct univ_poller *poller = READ_ONCE(ctx->poller);

	if (!poller)
		return;
	poller_lock(poller);
	feed->poller = poller;
	list_add_tail(&feed->polled, &poller->feeds);
	mutex_unlock(&poller->lock);
}

/* The queue is going. Returns when the poller is not at it any more. */
void univ_poller_remove(struct univ_feed *feed)
{
	struct univ_poller *poller = feed->poller;

	if (!poller)
		return;
	poller_lock(poller);
	list_del_init(&feed->polled);
	univ_feed_leave_poller(feed);
	mutex_unlock(&poller->lock);
}
