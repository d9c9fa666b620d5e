// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Polling by ibv_poll_cq(3), and arming. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "ring/post.h"
#include "why/why.h"

/*
 * A queue that will never show a completion again must not read as empty. If the
 * queue has a lock, the caller prints the failure (univ_fail_tell()) after it has
 * released the lock; the failure of a single-threaded queue is printed here.
 */
int univ_cq_broken(struct univ_cq *cq)
{
	struct ibv_context *context = cq->ibv.context;
	uint32_t flags = univ_cq_ring_broken(univ_load_relaxed(&cq->ring));
	int err = 0;

	if (flags & UNIV_RING_DEAD)
		err = univ_fail_gone_later(UNIV_COMPLETION_VERB, context->device->name);
	else if (flags & UNIV_RING_OVERRUN)
		err = univ_fail_overrun(UNIV_COMPLETION_VERB, (uint32_t)cq->ibv.cqe,
					univ_qp_table_requests(to_ucontext(context), cq));
	if (cq->single_threaded)
		univ_fail_tell();
	return err;
}

static void wc_fill(struct ibv_wc *wc, const struct univ_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = (enum ibv_wc_status)cqe->status;
	wc->opcode = (enum ibv_wc_opcode)cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->dlid_path_bits;
}

/* Gives the slots of the completions before @head back to the kernel. */
static inline void heads_set(struct univ_cq *cq, uint32_t head, univ_cq_cursor cursor)
{
	univ_store_relaxed(&cq->head, head);
	univ_store_relaxed(&cq->cursor, cursor);
	univ_cq_ring_consume(cq->ring, head);
}

/*
 * Goes on for poll_list() from the first failed completion on, which is number
 * @taken and lies at the ring's @head. Failures are recorded under the lock and
 * printed without it.
 */
static __attribute__((noinline, cold)) int poll_failed(struct univ_cq *cq, uint32_t head,
						       int taken, int max, struct ibv_wc *wc)
{
	univ_cq_cursor cursor = univ_cursor_make(cq->slots, cq->mask, head);
	const struct univ_cqe *cqe;

	while (taken < max && univ_cursor_ready(cursor)) {
		cqe = univ_cursor_cqe(cursor);
		wc_fill(&wc[taken++], cqe);
		if (cqe->status != IBV_WC_SUCCESS)
			univ_completion_failed(to_ucontext(cq->ibv.context), cqe);
		cursor = univ_cursor_make(cq->slots, cq->mask, ++head);
	}
	heads_set(cq, head, cursor);
	if (!cq->single_threaded)
		univ_unlock(&cq->lock);
	univ_fail_tell();
	return taken;
}

/* The caller holds the lock, which is released here. */
static __attribute__((noinline)) int poll_list(struct univ_cq *cq, int max, struct ibv_wc *wc)
{
	univ_cq_cursor cursor = cq->cursor;
	const struct univ_cqe *cqe;
	uint32_t head = cq->head;
	int taken = 0;

	while (taken < max && univ_cursor_ready(cursor)) {
		cqe = univ_cursor_cqe(cursor);
		if (univ_unlikely(cqe->status != IBV_WC_SUCCESS))
			return poll_failed(cq, head, taken, max, wc);
		wc_fill(&wc[taken++], cqe);
		cursor = univ_cursor_make(cq->slots, cq->mask, ++head);
	}
	if (taken)
		heads_set(cq, head, cursor);
	if (!cq->single_threaded)
		univ_unlock(&cq->lock);
	return taken;
}

static __attribute__((noinline)) int poll_wait(struct univ_cq *cq, int max, struct ibv_wc *wc)
{
	univ_lock_wait(&cq->lock);
	return poll_list(cq, max, wc);
}

static __attribute__((noinline)) int poll_wake(struct univ_cq *cq, int taken)
{
	univ_lock_wake(&cq->lock);
	return taken;
}

/*
 * Takes one successful completion if the caller wants only one or the queue has only one. Most
 * polls that find completions are of this kind. All other cases are left to functions that are
 * called last.
 */
static __attribute__((noinline)) int poll_some(struct univ_cq *cq, int max, struct ibv_wc *wc)
{
	univ_cq_cursor cursor, next;
	const struct univ_cqe *cqe;
	uint32_t head;

	if (!cq->single_threaded && univ_unlikely(!univ_trylock(&cq->lock)))
		return poll_wait(cq, max, wc);
	cursor = cq->cursor;
	cqe = univ_cursor_cqe(cursor);
	if (univ_unlikely(max < 1 || !univ_cursor_ready(cursor) || cqe->status != IBV_WC_SUCCESS))
		return poll_list(cq, max, wc);
	head = cq->head + 1;
	next = univ_cursor_make(cq->slots, cq->mask, head);
	if (max > 1 && univ_cursor_ready(next))
		return poll_list(cq, max, wc);
	wc_fill(wc, cqe);
	univ_store_relaxed(&cq->head, head);
	univ_store_relaxed(&cq->cursor, next);
	univ_cq_ring_consume(cq->ring, head);
	if (!cq->single_threaded && univ_unlikely(univ_unlock_quiet(&cq->lock)))
		return poll_wake(cq, 1);
	return 1;
}

__thread uint8_t univ_empty_polls UNIV_TLS_QUICK;

/*
 * A yield of a SCHED_DEADLINE thread ends its budget, so that it stands still until its next period
 * (sched(7)). The policy of a thread may change at any time, so it is asked for each time.
 */
static bool thread_may_yield(void)
{
	return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_DEADLINE;
}

__attribute__((noinline, cold)) void univ_poll_give_way(const struct univ_cq *cq)
{
	if (to_ucontext(cq->ibv.context)->gives_way && thread_may_yield())
		sched_yield();
}

/*
 * Completions that came between the look at the ring and the look at its flags
 * are polled before the queue reads as broken.
 */
static __attribute__((noinline, cold)) int poll_broken(struct univ_cq *cq, int max,
							struct ibv_wc *wc)
{
	int taken;

	/* The kernel stores the flags after the last completions. */
	univ_plain_loads_done();
	taken = poll_some(cq, max, wc);
	if (taken)
		return taken;
	taken = univ_cq_broken(cq) ? -1 : 0;
	univ_fail_tell();
	return taken;
}

/*
 * Most polls find the queue empty, which is seen without the lock. The second
 * look at univ_cq.ring is for a queue that was resized meanwhile: completions may
 * wait in the new ring.
 */
int univ_poll_cq(struct ibv_cq *ibv, int max, struct ibv_wc *wc)
{
	struct univ_cq *cq = to_ucq(ibv);
	const struct univ_ring_head *ring = univ_load_acquire(&cq->ring);

	if (univ_cursor_ready_plain(univ_load_relaxed(&cq->cursor)))
		return poll_some(cq, max, wc);
	univ_plain_loads_done();
	if (univ_unlikely(univ_load_plain(&cq->ring) != ring))
		return poll_some(cq, max, wc);
	if (univ_unlikely(univ_cq_ring_broken(ring)))
		return poll_broken(cq, max, wc);
	univ_polled_nothing(cq);
	return 0;
}

static bool cqe_is_there(const struct univ_cq *cq, uint32_t index)
{
	return univ_cursor_ready(univ_cursor_make(cq->slots, cq->mask, index));
}

static bool cq_waits(const struct univ_cq *cq, uint32_t index)
{
	return index - cq->head <= cq->mask && cqe_is_there(cq, index);
}

static void cqe_move(struct univ_cq *cq, uint32_t to, uint32_t from)
{
	memcpy(&cq->slots[to & cq->mask], &cq->slots[from & cq->mask],
	       offsetof(struct univ_cqe, phase));
}

/*
 * Between ibv_start_poll(3) and ibv_end_poll(3) the current completion is polled
 * already but still lies on the ring; the next step gives its slot back.
 */
static bool cqe_is_forgotten(const struct univ_cq *cq, uint32_t index, uint32_t qp_num)
{
	if (cq->current && index == cq->head)
		return false;
	return cq->slots[index & cq->mask].qp_num == qp_num;
}

/*
 * Removes the completions of a queue pair that was reset or destroyed and that the
 * program has not polled, as mlx5 does: a program that uses the queue pair again
 * would take them for completions of its new requests. Completions of other queue
 * pairs move to later slots, each of which was ready already.
 */
void univ_cq_forget(struct ibv_cq *ibv, uint32_t qp_num)
{
	struct univ_cq *cq = to_ucq(ibv);
	uint32_t end, from, to;

	univ_lock(&cq->lock);
	for (end = cq->head; cq_waits(cq, end);)
		end++;
	for (from = to = end; from != cq->head;) {
		if (cqe_is_forgotten(cq, --from, qp_num))
			continue;
		if (--to != from)
			cqe_move(cq, to, from);
	}
	if (to != cq->head) {
		if (to != end)
			univ_store_relaxed(&cq->moved, end);
		univ_store_relaxed(&cq->head, to);
		univ_store_relaxed(&cq->cursor, univ_cursor_make(cq->slots, cq->mask, to));
		univ_cq_ring_consume(cq->ring, to);
		if (cq->current)
			univ_store_relaxed(&cq->current, &cq->slots[to & cq->mask]);
	}
	univ_unlock(&cq->lock);
}

/*
 * A completion that came between the last poll and the arming causes no event of its own. mlx5
 * raises one, so some programs do not poll once more after they have armed the queue. The kernel
 * knows which completions are solicited. A module that does not know the call leaves it at that.
 */
static __attribute__((noinline, cold)) void armed_late(struct univ_cq *cq)
{
	struct univ_cq_notify cmd = { .handle = cq->ibv.handle };
	int before = errno;

	univ_cmd_cq_notify_try(cq->ibv.context->cmd_fd, &cmd);
	errno = before;
}

/*
 * The index of the first completion that the program does not have yet. Between ibv_start_poll(3)
 * and ibv_end_poll(3) it has the one at the head, too. A thread that polls meanwhile stores the
 * head and the current completion without an order, so the latter counts only if it lies at this
 * head. The index may be that of a completion that was just polled, and is never behind one that
 * waits.
 */
static uint32_t first_not_had(const struct univ_cq *cq, uint32_t head)
{
	return head + (univ_load_relaxed(&cq->current) == &cq->slots[head & cq->mask]);
}

/*
 * An event told of the completions before @end, the index at which the last one was raised. Returns
 * that index, or @first if it is an old one, which lies before @first or a ring behind it. The load
 * needs no order with the kernel's store in univ_cq_answer(). With an older index there is one
 * event too many. A newer one belongs to an event that is in the channel, or is put there under the
 * same lock; for a completion behind it F2 (Documentation/ordering.rst) holds, since both loads
 * follow the fence of univ_cq_ring_arm().
 */
static uint32_t event_end(const struct univ_cq *cq, uint32_t first, uint32_t end)
{
	return end - first <= cq->mask + 1 ? end : first;
}

/*
 * Do completions wait of which the program does not know? If it has read an event since it took the
 * last one, it knows of those that were there when the event was raised; most programs arm the
 * queue before they poll. An event counts for one arming. The lock for polling is not taken, so a
 * thread that polls meanwhile may cause one event too many. Context: arm_lock, so that the ring is
 * not replaced.
 */
static bool unknown_wait(struct univ_cq *cq)
{
	uint32_t head = univ_load_relaxed(&cq->head);
	bool told = univ_load_relaxed(&cq->told) == head;
	uint32_t first = first_not_had(cq, head);
	uint32_t end = univ_cq_ring_fired_index(cq->ring);

	univ_store_relaxed(&cq->told, head - 1);
	if (!told)
		return cqe_is_there(cq, first);
	/*
	 * Where the kernel does not know the index, an event tells of all that wait. Programs like
	 * ib_send_lat fail if a second event comes for a completion that they have polled.
	 */
	return end && cqe_is_there(cq, event_end(cq, first, end));
}

/*
 * The program has read an event of the queue. Its completions may have been polled already: the
 * index of the last event tells which waiting completions are new. If the kernel does not know the
 * index, an event counts only if a completion waits.
 * A thread that polls meanwhile changes the head, and then the event does not count either. The
 * lock keeps the ring from being replaced. While it is held the event does not count, which causes
 * one event too many at most: a program may read events in a signal handler, in the child of a
 * fork, and in the thread for which another one waits that resizes the queue.
 */
void univ_cq_told(struct univ_cq *cq)
{
	uint32_t head;

	if (!univ_trylock(&cq->arm_lock))
		return;
	head = univ_load_relaxed(&cq->head);
	if (univ_cq_ring_fired_index(cq->ring) || cqe_is_there(cq, first_not_had(cq, head)))
		univ_store_relaxed(&cq->told, head);
	univ_unlock(&cq->arm_lock);
}

/*
 * Completions may wait in other slots than those in which the kernel has written them. Context:
 * arm_lock, so that the ring is not replaced.
 */
static bool any_moved(const struct univ_cq *cq)
{
	return univ_load_relaxed(&cq->moved) - univ_load_relaxed(&cq->head) - 1 <= cq->mask;
}

/* Another thread may have moved completions before the kernel looked for solicited ones. */
static bool moved_meanwhile(struct univ_cq *cq)
{
	bool moved;

	univ_lock(&cq->arm_lock);
	moved = any_moved(cq);
	univ_unlock(&cq->arm_lock);
	return moved;
}

/*
 * A request for any completion includes a request for solicited completions until an event has
 * answered it. The kernel does not know which of the completions that were moved are solicited, so
 * all of them count. The lock for polling is not taken: a program may arm between
 * ibv_start_poll(3) and ibv_end_poll(3), when it holds that lock itself.
 */
int univ_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct univ_cq *cq = to_ucq(ibv);
	uint32_t arm, solicited = !!solicited_only;
	bool late;

	univ_lock(&cq->arm_lock);
	if (solicited && (any_moved(cq) ||
			  (!(cq->arm & 1) && univ_cq_ring_armed(cq->ring, cq->arm))))
		solicited = 0;
	arm = ((cq->arm | 1) + 1) | solicited;
	univ_store_relaxed(&cq->arm, arm);
	univ_cq_ring_arm(cq->ring, arm);
	late = unknown_wait(cq);
	univ_unlock(&cq->arm_lock);
	if (univ_likely(!late) || !cq->ibv.channel)
		return 0;
	armed_late(cq);
	return solicited && moved_meanwhile(cq) ? univ_req_notify_cq(ibv, 0) : 0;
}
