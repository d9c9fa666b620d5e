// SPDX-License-Identifier: GPL-2.0
/*
 * IBV_WQ_FLAGS_DELAY_DROP: a frame that finds no receive request in its work
 * queue waits for one, and so do the frames behind it. The thread that posts
 * the next request delivers them. Other hosts decide how many frames come, so
 * the time that a frame waits is limited, and the number and the memory of the
 * frames; a frame beyond that is lost, as it is without the flag.
 */
#include <linux/jiffies.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/dst.h>

#include "compat.h"
#include "raw.h"

/* The time that mlx5 waits. */
#define DELAY		(HZ / 10)
#define MAX_FRAMES	256
/* Memory of the frames that wait in all work queues of a device. */
#define MAX_BYTES	(8u << 20)
/* Memory in one of them, so that no queue can take that of the others. */
#define MAX_QUEUE_BYTES	(MAX_BYTES / 8)
/* Bytes that are copied to receive requests with bottom halves off. */
#define MAX_TURN	(256u << 10)

/**
 * struct uroce_delay - frames that wait for receive requests of a work queue
 * @qp: its receiver
 * @frames: copies, in their order, under @qp's resp.lock
 * @bytes: their memory, likewise
 * @timer: ends the wait of the first one, and tries again to deliver it
 */
struct uroce_delay {
	struct uroce_qp *qp;
	struct sk_buff_head frames;
	u32 bytes;
	struct timer_list timer;
};

/**
 * struct waiting - in sk_buff.cb of a frame that waits
 * @until: jiffies
 * @tag: of the flow
 * @sums_ok: uroce_frame.sums_ok
 */
struct waiting {
	unsigned long until;
	u32 tag;
	bool sums_ok;
};

static struct waiting *waiting_of(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct waiting) > sizeof(skb->cb));
	return (void *)skb->cb;
}

/* Context: resp.lock. */
static void forget(struct uroce_delay *delay, struct sk_buff *skb)
{
	lockdep_assert_held(&delay->qp->resp.lock);
	__skb_unlink(skb, &delay->frames);
	delay->bytes -= skb->truesize;
	atomic_sub(skb->truesize, &delay->qp->dev->delayed);
	consume_skb(skb);
}

static void lose(struct uroce_delay *delay, struct sk_buff *skb)
{
	uroce_note(delay->qp, UROCE_CNT_OUT_OF_BUFFER);
	forget(delay, skb);
}

/*
 * A post needs a kick only while frames wait, and in the error state, in which
 * it is flushed. A taken receive request has pages that are being faulted in.
 * The end of the fault is not announced, so the timer tries again @soon.
 * Context: resp.lock.
 */
static void settle(struct uroce_delay *delay, bool soon)
{
	const struct sk_buff *skb = skb_peek(&delay->frames);

	if (!skb) {
		if (uroce_qp_listens(delay->qp))
			univ_ring_set_flags(&delay->qp->rq.ring, 0);
		return;
	}
	if (soon || delay->qp->resp.recv.taken)
		timer_reduce(&delay->timer, jiffies + 1);
	else
		timer_reduce(&delay->timer, waiting_of(skb)->until);
}

/*
 * Returns false if there is no receive request, or if its pages are missing.
 * Context: resp.lock.
 */
static bool give(struct uroce_delay *delay, struct sk_buff *skb)
{
	const struct waiting *w = waiting_of(skb);
	struct uroce_frame frame;

	if (!uroce_frame_parse(&frame, skb, w->sums_ok))
		return true;
	return uroce_frame_give(delay->qp, &frame, w->tag);
}

/*
 * Gives frames to receive requests for as long as there are both. A request may
 * fail, after which the work queue takes no more. Returns true if the turn has
 * ended before that. Context: resp.lock.
 */
static bool run(struct uroce_delay *delay)
{
	struct sk_buff *skb;
	u32 bytes = 0;

	while (bytes < MAX_TURN && (skb = skb_peek(&delay->frames)) &&
	       uroce_qp_listens(delay->qp) && give(delay, skb)) {
		bytes += skb->len;
		forget(delay, skb);
	}
	settle(delay, bytes >= MAX_TURN);
	return bytes >= MAX_TURN;
}

static void lose_old(struct uroce_delay *delay)
{
	struct sk_buff *skb;

	while ((skb = skb_peek(&delay->frames)) &&
	       time_after_eq(jiffies, waiting_of(skb)->until))
		lose(delay, skb);
	settle(delay, false);
}

/* Frames that a turn has left over may find requests, so they are not lost. */
static void expire(struct timer_list *timer)
{
	struct uroce_delay *delay = timer_container_of(delay, timer, timer);

	spin_lock(&delay->qp->resp.lock);
	if (!run(delay))
		lose_old(delay);
	spin_unlock(&delay->qp->resp.lock);
}

/*
 * The copy shares the bytes of @skb: code that changes them copies them first
 * if there is a clone. It holds nothing of the host's network stack.
 */
static struct sk_buff *clone(const struct sk_buff *skb)
{
	struct sk_buff *copy = skb_clone((struct sk_buff *)skb, GFP_ATOMIC);

	if (!copy)
		return NULL;
	skb_orphan(copy);
	skb_dst_drop(copy);
	nf_reset_ct(copy);
	skb_ext_reset(copy);
	return copy;
}

/* forget() undoes it. Context: resp.lock. */
static bool charge(struct uroce_delay *delay, const struct sk_buff *skb)
{
	atomic_t *all = &delay->qp->dev->delayed;

	if (skb->truesize > MAX_QUEUE_BYTES - delay->bytes)
		return false;
	if (atomic_add_return(skb->truesize, all) > MAX_BYTES) {
		atomic_sub(skb->truesize, all);
		return false;
	}
	delay->bytes += skb->truesize;
	return true;
}

/* Context: resp.lock. */
static bool add(struct uroce_delay *delay, const struct uroce_frame *frame,
		u32 tag)
{
	struct sk_buff *skb;

	if (skb_queue_len(&delay->frames) >= MAX_FRAMES)
		return false;
	skb = clone(frame->skb);
	if (!skb)
		return false;
	if (!charge(delay, skb)) {
		consume_skb(skb);
		return false;
	}
	*waiting_of(skb) = (struct waiting){
		.until = jiffies + DELAY,
		.tag = tag,
		.sums_ok = frame->sums_ok,
	};
	__skb_queue_tail(&delay->frames, skb);
	return true;
}

void uroce_delay_receive(struct uroce_qp *qp, const struct uroce_frame *frame,
			 u32 tag)
{
	struct uroce_delay *delay = qp->delay;

	lockdep_assert_held(&qp->resp.lock);
	if (skb_queue_empty(&delay->frames) &&
	    uroce_frame_give(qp, frame, tag))
		return;
	if (!add(delay, frame, tag))
		uroce_note(qp, UROCE_CNT_OUT_OF_BUFFER);
	univ_ring_set_flags(&qp->rq.ring, UNIV_RING_NEED_KICK);
	/*
	 * F1 (Documentation/ordering.rst): either the thread that posts a
	 * receive request sees the flag, or this thread sees its tail.
	 */
	smp_mb();
	run(delay);
}

static bool run_posted(struct uroce_qp *qp)
{
	bool more;

	spin_lock_bh(&qp->resp.lock);
	more = !qp->resp.dead && run(qp->delay);
	spin_unlock_bh(&qp->resp.lock);
	return more;
}

/*
 * May sleep. Other frames may arrive meanwhile, so the turns are limited to
 * those that the frames of a full queue need. The timer does the rest.
 */
void uroce_delay_posted(struct uroce_qp *qp)
{
	u32 turns = MAX_QUEUE_BYTES / MAX_TURN;

	if (!qp->delay)
		return;
	while (run_posted(qp) && --turns)
		cond_resched();
}

void uroce_delay_drop(struct uroce_qp *qp)
{
	struct sk_buff *skb;

	lockdep_assert_held(&qp->resp.lock);
	if (!qp->delay)
		return;
	while ((skb = skb_peek(&qp->delay->frames)))
		lose(qp->delay, skb);
}

int uroce_delay_create(struct uroce_qp *qp)
{
	struct uroce_delay *delay = kzalloc(sizeof(*delay), GFP_KERNEL_ACCOUNT);

	if (!delay)
		return -ENOMEM;
	delay->qp = qp;
	__skb_queue_head_init(&delay->frames);
	timer_setup(&delay->timer, expire, 0);
	qp->delay = delay;
	return 0;
}

void uroce_delay_destroy(struct uroce_qp *qp)
{
	if (!qp->delay)
		return;
	timer_delete_sync(&qp->delay->timer);
	kfree(qp->delay);
}
