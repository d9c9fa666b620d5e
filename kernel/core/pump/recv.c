// SPDX-License-Identifier: GPL-2.0
/*
 * Receive and shared receive rings. While the device holds enough requests,
 * posting needs no kick: each completion makes the pump look at the ring again.
 */
#include "compat.h"
#include "pump_queue.h"

/* Requests posted to the device at once; bounds the stack. */
#define RECV_BATCH	8
/* Requests fed with interrupts off, before they may come in again. */
#define RECV_STEP	64
#define RECV_WR_HEAD	offsetof(struct univ_recv_wr, sge)

struct recv_batch {
	struct ib_recv_wr wr[RECV_BATCH];
	struct ib_sge sge[UNIV_MAX_SGE];
	u32 count;
	u32 sges;
};

/* Context: @rq belongs to a queue pair. */
static struct pump_qp *recv_qp(struct univ_recv_queue *rq)
{
	return container_of(rq, struct pump_qp, rq);
}

static struct ib_device *recv_device(struct univ_recv_queue *rq)
{
	return rq->srq ? rq->srq->device : recv_qp(rq)->ib->device;
}

/* See send_key_allowed(): no protection domain guards a device-wide key. */
static bool recv_keys_allowed(struct univ_recv_queue *rq,
			      const struct ib_sge *sge, u32 count)
{
	struct ib_device *ib = recv_device(rq);
	u32 i;

	if (!(ib->attrs.kernel_cap_flags & IBK_LOCAL_DMA_LKEY))
		return true;
	for (i = 0; i < count; i++)
		if (sge[i].lkey == ib->local_dma_lkey)
			return false;
	return true;
}

/* Returns 0, or the reason of a refusal. */
static u16 recv_add(struct univ_recv_queue *rq, struct recv_batch *batch,
		    const struct univ_recv_wr *wr, void *slot)
{
	struct ib_recv_wr *ib = &batch->wr[batch->count];
	struct ib_sge *sge = &batch->sge[batch->sges];

	univ_ring_fetch(sge, slot + RECV_WR_HEAD, wr->count * sizeof(*sge));
	if (!recv_keys_allowed(rq, sge, wr->count))
		return UNIV_REASON_WR_KEY;
	ib->next = NULL;
	ib->wr_id = wr->wr_id;
	ib->sg_list = sge;
	ib->num_sge = wr->count;
	if (batch->count)
		batch->wr[batch->count - 1].next = ib;
	batch->count++;
	batch->sges += wr->count;
	return 0;
}

/* See send_taken(). */
static u32 recv_taken(const struct recv_batch *batch,
		      const struct ib_recv_wr *bad)
{
	u32 i;

	for (i = 0; i < batch->count; i++)
		if (&batch->wr[i] == bad)
			return i;
	return 0;
}

/*
 * A request is refused. A queue pair moves to the error state, and the request
 * has a completion. A shared receive queue has no completion queue of its own,
 * so its request counts as complete and the process gets IBV_EVENT_SRQ_ERR.
 */
static void recv_break(struct univ_recv_queue *rq, u64 wr_id, u16 reason)
{
	/* univ_recv_queue_retire() reads it without this lock. */
	WRITE_ONCE(rq->fed, rq->fed + 1);
	univ_pump_fail_recv(rq, wr_id, reason);
}

/* Returns false when the device did not take all. */
static bool recv_post(struct univ_recv_queue *rq, struct recv_batch *batch)
{
	const struct ib_recv_wr *bad = NULL;
	int ret = 0;
	u32 taken;

	if (!batch->count)
		return true;
	if (rq->srq)
		ret = ib_post_srq_recv(rq->srq, batch->wr, &bad);
	else
		ret = ib_post_recv(recv_qp(rq)->ib, batch->wr, &bad);
	taken = ret ? recv_taken(batch, bad) : batch->count;
	WRITE_ONCE(rq->fed, rq->fed + taken);
	if (!ret) {
		rq->busy = 0;
		goto done;
	}
	/* The device is full. Each completion makes room and feeds again. */
	if (ret == -ENOMEM)
		goto done;
	if (!rq->srq && univ_post_busy(ret, &rq->busy))
		schedule_delayed_work(&recv_qp(rq)->retry_work,
				      UNIV_POST_RETRY);
	else
		recv_break(rq, batch->wr[taken].wr_id, UNIV_REASON_WR_REFUSED);
	/*
	 * A queue pair fails, and feeds the rest then. Nothing else feeds the
	 * requests behind a refused one of a shared receive queue.
	 */
	if (rq->srq)
		WRITE_ONCE(rq->feed.again, true);
done:
	batch->count = 0;
	batch->sges = 0;
	return !ret;
}

/* Feeds requests up to @end. Returns false when the device did not take all. */
static noinline bool recv_feed_to(struct univ_recv_queue *rq, u32 end)
{
	struct recv_batch batch __uninitialized;
	struct univ_recv_wr wr __uninitialized;
	u32 index = rq->fed;
	void *slot;
	u16 reason;

	batch.count = 0;
	batch.sges = 0;
	for (; index != end; index++) {
		slot = univ_ring_slot(&rq->ring, index);
		univ_ring_fetch(&wr, slot, RECV_WR_HEAD);
		reason = wr.count > rq->max_sge ? UNIV_REASON_WR_SGE : 0;
		if (!reason &&
		    (batch.count == RECV_BATCH ||
		     batch.sges + wr.count > UNIV_MAX_SGE) &&
		    !recv_post(rq, &batch))
			return false;
		if (!reason)
			reason = recv_add(rq, &batch, &wr, slot);
		if (!reason)
			continue;
		if (!recv_post(rq, &batch))
			return false;
		recv_break(rq, wr.wr_id, reason);
	}
	return recv_post(rq, &batch);
}

/*
 * A request completed, so its slot goes back to the process. That happens
 * before the process sees the completion, or a process that keeps the queue
 * full would find no room for its next request. @retired can exceed @fed for a
 * moment: during a post, or after a credit for a request that completes after
 * all. The published index is limited to @fed, and recv_retired() corrects
 * @retired at the next feeding. Any context.
 */
void univ_recv_queue_retire(struct univ_recv_queue *rq)
{
	unsigned long flags;
	u32 fed;

	spin_lock_irqsave(&rq->retire_lock, flags);
	rq->retired++;
	fed = READ_ONCE(rq->fed);
	univ_ring_retire(&rq->ring,
			 (s32)(rq->retired - fed) > 0 ? fed : rq->retired);
	spin_unlock_irqrestore(&rq->retire_lock, flags);
}

/*
 * Returns how many requests have completed. Context: the feed lock is held, so
 * no post is under way, and a surplus over @fed can only be credit.
 */
static u32 recv_retired(struct univ_recv_queue *rq)
{
	unsigned long flags;
	u32 retired;

	spin_lock_irqsave(&rq->retire_lock, flags);
	if ((s32)(rq->retired - rq->fed) > 0)
		rq->retired = rq->fed;
	retired = rq->retired;
	univ_ring_retire(&rq->ring, retired);
	spin_unlock_irqrestore(&rq->retire_lock, flags);
	return retired;
}

/*
 * Returns whether the device, which holds @held requests, has enough of them,
 * so that the process can post without a kick. It needs half of the ring, since
 * a burst of messages may come before a completion lets the pump look at the
 * ring. A poller comes soon, but not soon enough for an eager user.
 */
static bool recv_enough(const struct univ_recv_queue *rq, u32 held)
{
	struct univ_poller *poller = READ_ONCE(rq->feed.polled.poller);

	if (READ_ONCE(rq->limited) || atomic_read(&rq->eager))
		return false;
	if (poller && univ_poller_awake(poller))
		return true;
	return held >= max_t(u32, 1, rq->ring.count / 2);
}

/*
 * Asks for a kick unless the device has enough. Returns true when requests were
 * published meanwhile: the fence pairs with the one in the library's
 * univ_ring_publish(), so either the process sees the flag or the pump sees its
 * tail.
 */
static bool recv_watch(struct univ_recv_queue *rq)
{
	u32 held = rq->fed - recv_retired(rq);

	if (recv_enough(rq, held)) {
		univ_ring_set_flags(&rq->ring, 0);
		return false;
	}
	if (rq->ring.flags & UNIV_RING_NEED_KICK)
		return false;
	univ_ring_set_flags(&rq->ring, UNIV_RING_NEED_KICK);
	smp_mb();
	return univ_ring_published(&rq->ring) != rq->fed;
}

static bool recv_step(struct univ_feed *feed)
{
	struct univ_recv_queue *rq =
		container_of(feed, struct univ_recv_queue, feed);
	u32 retired, tail, todo;

	if (!rq->ring.count || rq->corrupt)
		return false;
	/*
	 * Load the tail first: a later tail may use room that @retired made
	 * since.
	 */
	tail = univ_ring_published(&rq->ring);
	retired = recv_retired(rq);
	if (tail - retired > rq->ring.count ||
	    tail - rq->fed > rq->ring.count) {
		rq->corrupt = true;
		univ_pump_fail_recv(rq, 0, UNIV_REASON_RING_CORRUPT);
		return false;
	}
	todo = min_t(u32, tail - rq->fed, RECV_STEP);
	if (todo)
		WRITE_ONCE(feed->moved, true);
	if (todo && !recv_feed_to(rq, rq->fed + todo))
		return false;
	return recv_watch(rq) || rq->fed != tail;
}

/* Feeds the device with all that was published. Any context. */
void univ_recv_queue_feed(struct univ_recv_queue *rq)
{
	univ_feed_run(&rq->feed);
}

/* @ring must lie in zeroed memory. */
void univ_recv_queue_init(struct univ_recv_queue *rq,
			  const struct univ_ring *ring, u32 max_sge)
{
	univ_feed_init(&rq->feed, recv_step);
	rq->ring = *ring;
	spin_lock_init(&rq->retire_lock);
	rq->retired = 0;
	rq->max_sge = max_sge;
	atomic_set(&rq->eager, 0);
	rq->limited = false;
}

/* The queue pair was reset, so requests that were published are forgotten. */
void univ_recv_queue_reset(struct univ_recv_queue *rq)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->feed.lock, flags);
	WRITE_ONCE(rq->fed, univ_ring_published(&rq->ring));
	rq->corrupt = false;
	spin_lock(&rq->retire_lock);
	rq->retired = rq->fed;
	univ_ring_retire(&rq->ring, rq->fed);
	spin_unlock(&rq->retire_lock);
	univ_ring_set_flags(&rq->ring, UNIV_RING_NEED_KICK);
	spin_unlock_irqrestore(&rq->feed.lock, flags);
}

/*
 * A queue pair of a shared receive queue was reset or destroyed. It may have
 * taken a request whose completion never comes. So one request is counted as
 * complete, or the ring would be shorter for good. One too many does no harm:
 * then the device says when it is full.
 */
void univ_recv_queue_credit(struct univ_recv_queue *rq)
{
	univ_recv_queue_retire(rq);
	univ_recv_queue_feed(rq);
}

/* Counts another eager user of the queue; see struct pump_qp. Any context. */
void univ_recv_queue_hurry(struct univ_recv_queue *rq)
{
	atomic_inc(&rq->eager);
	univ_recv_queue_feed(rq);
}

/*
 * Counts an eager user less, with effect from the next feeding on. Any context.
 */
void univ_recv_queue_relax(struct univ_recv_queue *rq)
{
	atomic_dec(&rq->eager);
}

/*
 * While a limit event is armed the device must know of every request at once,
 * or the event would come too early. Any context.
 */
void univ_recv_queue_limit(struct univ_recv_queue *rq, bool armed)
{
	WRITE_ONCE(rq->limited, armed);
	if (armed)
		univ_recv_queue_feed(rq);
}
