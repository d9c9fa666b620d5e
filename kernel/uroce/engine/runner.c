// SPDX-License-Identifier: GPL-2.0
/* Decides which thread, task or timer runs a send queue. */
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "../path/path.h"
#include "engine.h"

/*
 * The number of turns before a work item continues. A process may publish
 * requests as fast as they complete, for ever, and a message may have 1 GiB. A
 * system call does more turns, between which the scheduler may switch; time in
 * the tasklet would be charged to no task.
 */
#define TURNS		16
#define TASK_TURNS	4
/*
 * The maximum number of waiting peers that one call of srq_run() runs. Each of
 * them may copy 256 KiB in each of TASK_TURNS.
 */
#define WAITERS		4

/*
 * A processor runs all tasklets that wait there, one after another, and a
 * process may have any number of queue pairs whose tasklets wait. So they may
 * use half of the time of a processor. Beyond that they leave flushes and
 * messages to the work items of their queue pairs, which the scheduler can
 * preempt.
 */
#define TASK_WINDOW_NS	(8 * NSEC_PER_MSEC)

struct task_time {
	u64 window;		/* its beginning */
	u64 spent;		/* in the window so far */
};

static DEFINE_PER_CPU(struct task_time, task_time);

static struct workqueue_struct *send_wq;

/*
 * The time of a work item is not charged to the process whose requests it
 * executes, and a process may have any number of queue pairs that wait for one.
 * At most half as many work items run at a time as there are processors. Linux
 * 6.6 to 6.8 apply this limit to each processor, so there it has no effect;
 * older kernels apply it to each NUMA node. With WQ_SYSFS an administrator can
 * restrict the work items to some processors. WQ_MEM_RECLAIM: memory may be
 * reclaimed by I/O over this device.
 */
int uroce_queue_start(void)
{
	send_wq = alloc_workqueue("uroce",
				  WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS,
				  DIV_ROUND_UP(num_online_cpus(), 2));
	return send_wq ? 0 : -ENOMEM;
}

void uroce_queue_stop(void)
{
	destroy_workqueue(send_wq);
}

/* The process wrote an invalid tail, so nothing in the ring can be trusted. */
static noinline void send_corrupt(struct uroce_qp *qp)
{
	struct uroce_wqe wqe = {};

	qp->sq.head = univ_ring_published(&qp->sq.ring) - 1;
	uroce_send_done(qp, &wqe, IB_WC_LOC_QP_OP_ERR,
			UNIV_REASON_RING_CORRUPT);
	uroce_send_notify(qp);
}

static noinline bool flush_step(struct uroce_qp *qp, u32 tail)
{
	struct uroce_sendq *sq = &qp->sq;
	u16 reason;
	u32 n;

	for (n = 0; n < UROCE_FLUSH_TURN && sq->head != tail; n++) {
		if (!sq->wqe.loaded)
			uroce_send_load(qp, sq->head, &sq->wqe, &reason);
		uroce_send_done(qp, &sq->wqe, IB_WC_WR_FLUSH_ERR, 0);
	}
	if (n)
		trace_uroce_flush(&qp->dev->ib, qp->num, n);
	uroce_send_notify(qp);
	return sq->head != tail;
}

/* The current tail, for uroce_send_flush(). */
u32 uroce_send_tail(struct uroce_qp *qp)
{
	return qp->sq.ring.count ? univ_ring_published(&qp->sq.ring) : 0;
}

/*
 * Are there requests before @tail that SQE has to flush? False too if @tail is
 * not valid any more. Context: the send queue's lock.
 */
bool uroce_send_unflushed(const struct uroce_qp *qp, u32 tail)
{
	const struct uroce_sendq *sq = &qp->sq;

	return READ_ONCE(qp->state) == IB_QPS_SQE && !sq->dead &&
	       sq->head != tail &&
	       tail - sq->head <= sq->ring.count;
}

/*
 * In SQE, flushes requests that were posted before @tail: the caller may leave
 * the state, and requests behind a failed one must not be executed. May sleep.
 */
void uroce_send_flush(struct uroce_qp *qp, u32 tail)
{
	bool more = READ_ONCE(qp->state) == IB_QPS_SQE;

	while (more) {
		spin_lock_bh(&qp->sq.lock);
		more = uroce_send_unflushed(qp, tail) && flush_step(qp, tail);
		spin_unlock_bh(&qp->sq.lock);
		cond_resched();
	}
}

/*
 * Has the timer of this wait fired? The callback of a former wait may have set
 * @due after this wait had started the timer again. The end of a wait for the
 * rate does not depend on the timer alone, see qp_rate().
 */
static bool send_is_due(struct uroce_sendq *sq)
{
	return READ_ONCE(sq->due) && (sq->wait == UROCE_WAIT_PACE ||
				      !hrtimer_is_queued(&sq->timer));
}

/*
 * Is the wait over? A receive request of the peer (@recv_posted) ends it before
 * the timer fires, and the timer keeps running.
 */
static bool send_may_go_on(struct uroce_sendq *sq)
{
	bool due = send_is_due(sq);

	if (!due && !(sq->wait == UROCE_WAIT_RNR && READ_ONCE(sq->recv_posted)))
		return false;
	sq->wait = UROCE_WAIT_NONE;
	sq->early = !due;
	return true;
}

/* All requests that had begun before SQD are complete. Context: sq.lock. */
static void send_drained(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;

	if (!sq->draining)
		return;
	WRITE_ONCE(sq->draining, false);
	if (!sq->tell_drained)
		return;
	set_bit(IB_EVENT_SQ_DRAINED, &qp->events);
	uroce_send_later(qp);
}

/* In SQD no new request begins. Returns true if there is more to do. */
static bool send_drain(struct uroce_qp *qp)
{
	bool local = uroce_qp_on_local_path(qp), more = false;

	if (!local)
		more = uroce_remote_step(qp, qp->sq.head);
	else if (qp->sq.wqe.loaded)
		more = uroce_local_step(qp, qp->sq.head + 1);
	if (local ? !qp->sq.wqe.loaded : uroce_remote_idle(qp))
		send_drained(qp);
	return more;
}

/* Handles states other than RTS. @tail is valid. */
static noinline bool send_step_state(struct uroce_qp *qp, u32 tail,
				     enum ib_qp_state state)
{
	if (state == IB_QPS_ERR || state == IB_QPS_SQE) {
		qp->sq.wait = UROCE_WAIT_NONE;
		uroce_remote_flush(qp);
		return flush_step(qp, tail);
	}
	if (qp->sq.wait != UROCE_WAIT_NONE && !send_may_go_on(&qp->sq))
		return false;
	return send_drain(qp);
}

/* Context: sq.lock. Returns true if there is more to do. */
static inline bool send_step(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;
	enum ib_qp_state state = READ_ONCE(qp->state);
	u32 tail;

	if (unlikely(!sq->ring.count || state < IB_QPS_RTS)) {
		/* Nothing is under way in a queue without a ring. */
		if (state == IB_QPS_SQD)
			send_drained(qp);
		return false;
	}
	tail = univ_ring_published(&sq->ring);
	if (unlikely(tail - sq->head > sq->ring.count)) {
		send_corrupt(qp);
		return false;
	}
	if (unlikely(state != IB_QPS_RTS))
		return send_step_state(qp, tail, state);
	if (unlikely(sq->wait != UROCE_WAIT_NONE) && !send_may_go_on(sq))
		return false;
	if (tail == sq->head && !qp->remote)
		return false;
	return uroce_qp_on_local_path(qp) ? uroce_local_step(qp, tail) :
					    uroce_remote_step(qp, tail);
}

/*
 * Does a bounded amount of work. @shared: another thread may have set @again.
 * Context: sq.lock.
 */
static inline void send_piece(struct uroce_qp *qp, bool shared)
{
	struct uroce_sendq *sq = &qp->sq;

	/* Cleared before the look for work, see send_run(). */
	if (unlikely(shared))
		smp_store_mb(sq->again, false);
	if (likely(!sq->dead) && unlikely(send_step(qp)))
		WRITE_ONCE(sq->again, true);
}

/*
 * Does some of the queue's work. Returns false if another thread holds the
 * lock. Inline, so that a kick makes no call for it.
 */
static __always_inline bool send_turn(struct uroce_qp *qp, bool shared)
{
	if (unlikely(!spin_trylock_bh(&qp->sq.lock)))
		return false;
	send_piece(qp, shared);
	spin_unlock_bh(&qp->sq.lock);
	/*
	 * Pairs with the fence in send_run(): a thread that found the lock
	 * taken has either set @again, or sees the lock free.
	 */
	smp_mb();
	return true;
}

/*
 * Destroying the queue pair sets @dead under the lock, and cancels the work
 * item after that.
 */
void uroce_send_rest(struct uroce_qp *qp)
{
	spin_lock_bh(&qp->sq.lock);
	if (!qp->sq.dead)
		queue_work(send_wq, &qp->sq.rest);
	spin_unlock_bh(&qp->sq.lock);
}

static noinline void send_more(struct uroce_qp *qp, u32 turns, bool may_sleep)
{
	while (--turns) {
		if (may_sleep)
			cond_resched();
		if (!send_turn(qp, true) || !READ_ONCE(qp->sq.again))
			return;
	}
	uroce_send_rest(qp);
}

/*
 * Runs a send queue until nothing is left to do, or sets @again for the thread
 * that holds the lock. The fence between setting @again and trying the lock
 * pairs with the fence between unlocking and loading @again: either this thread
 * gets the lock, or the holder sees @again after it has unlocked. The fence
 * behind clearing @again orders that before the look for work; otherwise the
 * holder could clear @again of a thread that came in between. A thread that
 * gets the lock at once neither sets @again nor clears it; if it is set,
 * another turn follows. A thread that has used up its turns leaves @again for
 * the work item.
 */
static __always_inline void send_run(struct uroce_qp *qp, u32 turns,
				     bool may_sleep)
{
	struct uroce_sendq *sq = &qp->sq;

	if (unlikely(!send_turn(qp, false))) {
		/* Release: our work is visible before @again is. */
		smp_store_release(&sq->again, true);
		/*
		 * Either this thread gets the lock, or its holder sees @again;
		 * see above.
		 */
		smp_mb();
	}
	if (unlikely(READ_ONCE(sq->again)))
		send_more(qp, turns, may_sleep);
}

/* Context: any with interrupts enabled and without a lock of uroce. */
void uroce_send_run(struct uroce_qp *qp)
{
	send_run(qp, TASK_TURNS, false);
}

/*
 * Opens a new window if the last one has ended. Returns whether the tasklets of
 * this processor have used up the time of this one.
 */
static bool task_window(u64 now)
{
	struct task_time *time = this_cpu_ptr(&task_time);

	if (now - time->window >= TASK_WINDOW_NS)
		*time = (struct task_time){ .window = now };
	return time->spent > TASK_WINDOW_NS / 2;
}

static void task_ran(u64 since)
{
	this_cpu_add(task_time.spent, local_clock() - since);
}

/* As uroce_send_run(). Context: may sleep. */
void uroce_send_kick(struct uroce_qp *qp)
{
	send_run(qp, TURNS, true);
}

static void raise_events(struct uroce_qp *qp, unsigned long events)
{
	struct ib_event event = {
		.device = &qp->dev->ib,
		.element.qp = qp->ib,
	};
	int bit;

	if (!qp->ib->event_handler)
		return;
	for_each_set_bit(bit, &events, BITS_PER_LONG) {
		event.event = bit;
		qp->ib->event_handler(&event, qp->ib->qp_context);
	}
}

/*
 * Resumes a peer that waits for a receive request. It is looked up again, since
 * it may have been destroyed; the caller's RCU section keeps it. Context:
 * resp.lock.
 */
static struct uroce_qp *recv_wanted(struct uroce_qp *qp)
{
	struct uroce_qp *peer;

	uroce_recv_unwant(qp);
	peer = uroce_qp_find(qp->av.dev_id, qp->attr.dest_qp_num);
	if (peer)
		WRITE_ONCE(peer->sq.recv_posted, true);
	return peer;
}

/*
 * Messages take receive requests by themselves. A post is notified only in the
 * error state, in which no message takes it, or if a peer waits for it: the
 * posting thread then delivers the peer's message. Context: no lock of uroce.
 */
void uroce_recv_posted(struct uroce_qp *qp)
{
	struct uroce_qp *peer = NULL;

	rcu_read_lock();
	spin_lock_bh(&qp->resp.lock);
	if (!qp->resp.dead && qp->state == IB_QPS_ERR)
		uroce_recv_flush(qp);
	else if (!qp->resp.dead && qp->resp.wanted && !qp->resp.awaited)
		peer = recv_wanted(qp);
	spin_unlock_bh(&qp->resp.lock);
	if (peer)
		uroce_send_run(peer);
	rcu_read_unlock();
}

/*
 * Receive requests were posted to a shared receive queue. Peers that wait are
 * run one after the other for as long as requests are left, so a request wakes
 * one peer and not all of them. A peer that does not take the request, since it
 * was reset or destroyed, leaves it for the next one.
 */
static void srq_run(struct uroce_srq *srq)
{
	struct uroce_qp *peer;
	int n;

	rcu_read_lock();
	for (n = 0; n < WAITERS; n++) {
		if (!uroce_srq_next(srq, &peer))
			break;
		if (peer)
			uroce_send_run(peer);
	}
	rcu_read_unlock();
	if (n == WAITERS)
		uroce_srq_later(srq);
}

/* As uroce_srq_posted(), by a work item. Context: any. */
void uroce_srq_later(struct uroce_srq *srq)
{
	queue_work(send_wq, &srq->rest);
}

/* Context: no lock of uroce. */
void uroce_srq_posted(struct uroce_srq *srq)
{
	srq_run(srq);
}

static void srq_work(struct work_struct *work)
{
	srq_run(container_of(work, struct uroce_srq, rest));
}

/* Called before the shared receive queue can be used. */
void uroce_srq_init(struct uroce_srq *srq)
{
	INIT_WORK(&srq->rest, srq_work);
}

/*
 * Handles events that were found under locks, and nothing else does. Events
 * that are pending together are raised in the order of their numbers, of which
 * IB_EVENT_QP_LAST_WQE_REACHED has the highest. Events are taken under the lock
 * that fails a queue pair, after the flush, so that this event follows the
 * completion of the last request of a shared receive queue, even if another
 * thread fails the queue pair meanwhile; a target of XRC has one at most.
 * @late: the flush of an own receive queue is left to the work item.
 */
static void task_attend(struct uroce_qp *qp, bool late)
{
	unsigned long events;

	spin_lock_bh(&qp->resp.lock);
	if (!qp->resp.dead && READ_ONCE(qp->lost) &&
	    qp->state != IB_QPS_RESET)
		uroce_qp_fail(qp, IB_EVENT_QP_FATAL);
	if (!qp->resp.dead && qp->state == IB_QPS_ERR &&
	    (!late || qp->srq || qp->xrcd))
		uroce_recv_flush(qp);
	events = xchg(&qp->events, 0);
	spin_unlock_bh(&qp->resp.lock);
	if (events)
		raise_events(qp, events);
}

static void send_task(struct tasklet_struct *task)
{
	struct uroce_qp *qp = from_tasklet(qp, task, sq.task);
	u64 now = local_clock();
	bool late = task_window(now);

	task_attend(qp, late);
	if (late) {
		uroce_send_rest(qp);
		return;
	}
	if (READ_ONCE(qp->resp.wanted))
		uroce_recv_posted(qp);
	uroce_send_run(qp);
	task_ran(now);
}

/*
 * Continues a queue pair whose thread or tasklet has used up its turns or its
 * time. uroce_send_rest() queues this work under the lock and does not check
 * @again afterwards. So this function waits for the lock: if it only tried, the
 * work could be lost.
 */
static void send_work(struct work_struct *work)
{
	struct uroce_qp *qp = container_of(work, struct uroce_qp, sq.rest);

	if (READ_ONCE(qp->state) == IB_QPS_ERR || READ_ONCE(qp->resp.wanted))
		uroce_recv_posted(qp);
	spin_lock_bh(&qp->sq.lock);
	send_piece(qp, true);
	spin_unlock_bh(&qp->sq.lock);
	/*
	 * Pairs with the fence in send_run(), as the one in send_turn() does.
	 */
	smp_mb();
	if (READ_ONCE(qp->sq.again))
		send_more(qp, TURNS, true);
}

static enum hrtimer_restart send_timer(struct hrtimer *timer)
{
	struct uroce_qp *qp = container_of(timer, struct uroce_qp, sq.timer);

	/* The next run of the queue ends the wait. */
	WRITE_ONCE(qp->sq.due, true);
	uroce_send_later(qp);
	return HRTIMER_NORESTART;
}

/* Called before the queue pair can be run. */
void uroce_send_init(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;

	hrtimer_setup(&sq->timer, send_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	tasklet_setup(&sq->task, send_task);
	INIT_WORK(&sq->rest, send_work);
}
