// SPDX-License-Identifier: GPL-2.0
/*
 * The poller of a context: a kernel thread that looks at all of its rings, so
 * that posting makes no system call. It sleeps when nothing was posted for a
 * while, and rings ask for a kick then.
 *
 * It gives each ring a turn. The turn of a ring sets the flag of the ring by
 * univ_poller_awake(), under the lock that guards the flag. To fall asleep, the
 * poller first clears @awake and then gives all rings one more turn. After that
 * each ring has its flag set and was looked at behind the fence that follows
 * (send_watch(), recv_watch(), queue_look()), so a request that was published
 * without a kick has been found.
 *
 * A process may have thousands of rings and use a few. A ring that was empty
 * for many turns is cold. A pass looks at every hot ring and at a few cold
 * ones, so a message on a hot ring does not wait for the turns of all others.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "queues.h"

/* A ring with this many empty turns in succession is cold. */
#define POLLER_EMPTY_TURNS	1024

/*
 * A pass looks at this many cold rings, plus one for each hot ring of the last
 * pass. So a hot ring waits for at most about 2 * (number of hot rings) +
 * POLLER_COLD_TURNS turns, and cold rings get half of the turns or more.
 */
#define POLLER_COLD_TURNS	16

struct univ_poller {
	struct task_struct *task;
	struct mutex lock;		/* both lists; held during a pass */
	struct list_head hot;		/* of struct univ_polled */
	struct list_head cold;		/* the next one to look at is first */
	unsigned int hot_turns;		/* of the last pass */
	atomic_t waiters;		/* for the lock, so a pass breaks off */
	u64 idle_ns;
	bool awake;
	/* Kicks of a context with a poller write to these two. */
	wait_queue_head_t wait ____cacheline_aligned_in_smp;
	bool nudged;			/* kicked since it began to sleep */
	struct cpumask cpus;		/* those of the process */
};

univ_other_line(struct univ_poller, awake, wait);
univ_other_line(struct univ_poller, awake, nudged);

/*
 * Returns whether rings need no kick. Context: the lock that guards the ring's
 * flag is held.
 */
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

/* For the process's calls: a pass that is under way breaks off for them. */
static void poller_lock(struct univ_poller *poller)
{
	atomic_inc(&poller->waiters);
	mutex_lock(&poller->lock);
	atomic_dec(&poller->waiters);
}

/*
 * Returns whether anything was found. A ring that was or becomes cold moves: to
 * the hot ones, or behind the other cold ones.
 */
static bool poller_turn(struct univ_poller *poller, struct univ_polled *polled)
{
	bool found = polled->turn(polled);
	bool was_cold = polled->empty == POLLER_EMPTY_TURNS;

	if (found)
		polled->empty = 0;
	else if (!was_cold)
		polled->empty++;
	if (polled->empty == POLLER_EMPTY_TURNS)
		list_move_tail(&polled->link, &poller->cold);
	else if (was_cold)
		list_move(&polled->link, &poller->hot);
	return found;
}

/* Does a call wait for the lock? If not, other threads may run in between. */
static bool poller_is_wanted(struct univ_poller *poller)
{
	if (unlikely(atomic_read(&poller->waiters)))
		return true;
	cond_resched();
	return false;
}

static bool poller_pass_cold(struct univ_poller *poller)
{
	unsigned int left = POLLER_COLD_TURNS + poller->hot_turns;
	struct univ_polled *polled;
	bool found = false;
	LIST_HEAD(rings);

	list_splice_init(&poller->cold, &rings);
	while (left-- && !list_empty(&rings)) {
		polled = list_first_entry(&rings, struct univ_polled, link);
		found |= poller_turn(poller, polled);
		if (poller_is_wanted(poller))
			break;
	}
	list_splice(&rings, &poller->cold);
	return found;
}

/*
 * A pass that a call waits for breaks off, and the next pass begins with the
 * ring where it stopped.
 */
static bool poller_pass_hot(struct univ_poller *poller)
{
	struct univ_polled *polled, *next;
	bool found = false;

	poller->hot_turns = 0;
	list_for_each_entry_safe(polled, next, &poller->hot, link) {
		found |= poller_turn(poller, polled);
		poller->hot_turns++;
		if (!poller_is_wanted(poller))
			continue;
		if (!list_entry_is_head(next, &poller->hot, link))
			list_rotate_to_front(&next->link, &poller->hot);
		return true;
	}
	return found;
}

/*
 * Gives all hot rings a turn, and some cold ones. The cold ones come first,
 * since calls that follow each other may break off every pass: each pass looks
 * at one ring of either kind. Returns whether anything was found.
 */
static bool poller_pass(struct univ_poller *poller)
{
	bool found;

	mutex_lock(&poller->lock);
	found = poller_pass_cold(poller);
	found |= poller_pass_hot(poller);
	mutex_unlock(&poller->lock);
	return found;
}

/* Gives all rings a turn. Cold ones that are still empty stay cold. */
static bool poller_pass_all(struct univ_poller *poller)
{
	bool found;

	mutex_lock(&poller->lock);
	list_splice_tail_init(&poller->cold, &poller->hot);
	found = poller_pass_hot(poller);
	mutex_unlock(&poller->lock);
	return found;
}

static void poller_sleep(struct univ_poller *poller)
{
	WRITE_ONCE(poller->nudged, false);
	WRITE_ONCE(poller->awake, false);
	if (!poller_pass_all(poller))
		wait_event_interruptible(poller->wait,
					 READ_ONCE(poller->nudged) ||
					 kthread_should_stop());
	WRITE_ONCE(poller->awake, true);
}

static int poller_run(void *data)
{
	struct univ_poller *poller = data;
	u64 busy = ktime_get_ns();

	/*
	 * From 6.14 on a thread gets a mask of the kernel's when it begins, and
	 * another one when the set of isolated processors changes.
	 */
	set_cpus_allowed_ptr(current, &poller->cpus);
	while (!kthread_should_stop()) {
		if (poller_pass(poller)) {
			busy = ktime_get_ns();
		} else if (ktime_get_ns() - busy >
			   READ_ONCE(poller->idle_ns)) {
			poller_sleep(poller);
			busy = ktime_get_ns();
		}
		/* Without it a thread that never sleeps stalls RCU tasks. */
		cond_resched_tasks_rcu_qs();
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
	INIT_LIST_HEAD(&poller->hot);
	INIT_LIST_HEAD(&poller->cold);
	init_waitqueue_head(&poller->wait);
	poller->idle_ns = poller_idle_ns(idle_us);
	poller->awake = true;
	cpumask_copy(&poller->cpus, current->cpus_ptr);
	return poller;
}

/*
 * The thread gets the CPU mask and the nice value of its process. Its time is
 * not charged to the process, so the number of pollers is bounded instead.
 * Linux 6.1 lets no module create a thread of a process. vhost_task_create()
 * does so since 6.4, with CONFIG_VHOST_TASK: it was rejected because execve()
 * and SIGKILL end such a thread, which the context survives.
 */
static int poller_create_thread(struct univ_poller *poller)
{
	struct task_struct *task;

	task = kthread_create(poller_run, poller, "univ-poll/%d",
			      task_tgid_nr(current));
	if (IS_ERR(task))
		return PTR_ERR(task);
	set_user_nice(task, task_nice(current));
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
	/* Another thread has started a poller; its idle time stands. */
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
 * On one processor the poller and the process would spin in turn, and each
 * message would take a time slice.
 */
static bool poller_has_processor(void)
{
	const struct cpumask *allowed = current->cpus_ptr;
	unsigned int first = cpumask_first_and(allowed, cpu_online_mask);

	return cpumask_next_and(first, allowed, cpu_online_mask) < nr_cpu_ids;
}

/*
 * UNIV_POLLER_START. The poller does not look at queues that exist already.
 * When the context has a poller, only its idle time changes. Fails with EAGAIN
 * when there are too many pollers, and with EINVAL when the process may use one
 * processor alone.
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
	if (!poller_has_processor())
		return univ_explain(&cmd->hdr, -EINVAL,
				    UNIV_REASON_ONE_PROCESSOR, 0, 0, 0);
	ret = univ_limit_charge_poller(&cmd->hdr);
	return ret ? ret : poller_start(call, cmd);
}

/*
 * The context ends. Its rings stay, and ask for a kick. Context: live lock
 * held.
 */
void univ_poller_stop(struct univ_context *ctx)
{
	struct univ_poller *poller = ctx->poller;
	struct univ_polled *polled, *next;

	lockdep_assert_held_write(&ctx->live);
	if (!poller)
		return;
	poller_lock(poller);
	list_splice_init(&poller->cold, &poller->hot);
	list_for_each_entry_safe(polled, next, &poller->hot, link) {
		list_del_init(&polled->link);
		polled->leave(polled);
	}
	mutex_unlock(&poller->lock);
	ctx->poller = NULL;
	poller_destroy(poller);
}

/* Looks at a ring from now on, if the context has a poller. */
void univ_poller_add(struct univ_context *ctx, struct univ_polled *polled)
{
	struct univ_poller *poller = READ_ONCE(ctx->poller);

	if (!poller)
		return;
	poller_lock(poller);
	WRITE_ONCE(polled->poller, poller);
	polled->empty = 0;
	list_add_tail(&polled->link, &poller->hot);
	mutex_unlock(&poller->lock);
}

/* The ring is going. On return the poller does not look at it any more. */
void univ_poller_remove(struct univ_polled *polled)
{
	struct univ_poller *poller = READ_ONCE(polled->poller);

	if (!poller)
		return;
	poller_lock(poller);
	list_del_init(&polled->link);
	polled->leave(polled);
	mutex_unlock(&poller->lock);
}
