// SPDX-License-Identifier: GPL-2.0
/*
 * Send rings: take a private copy of each request, check it, translate it and
 * post it to the device. What is refused here was not built by our library,
 * which checks before it publishes; so the answer is as blunt as the
 * specification allows: an error completion, and the queue pair in error.
 *
 * Not every request that the process wants to hear of is signaled to the
 * device. Requests complete in order, so in a run of small one-sided ones that
 * are posted together the last completion stands for all, and we write the
 * others'. Not so before a request that needs the peer's software (a send
 * waits for a receive), since the process may wait for the completion before
 * it makes the peer go on.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "ah.h"
#include "context.h"
#include "cq.h"
#include "pd.h"
#include "poller.h"
#include "pump.h"
#include "qp.h"

/* Requests posted to the device at once; bounds the stack. */
#define SEND_BATCH	(UNIV_SEND_RUN / 2)
/* Requests fed with interrupts off, before they may come in again. */
#define SEND_STEP	64

/* Longest request whose completion may stand for those before it, in bytes. */
#define SEND_COALESCE	4096

#define SEND_WR_HEAD	offsetof(struct univ_send_wr, data)

/*
 * What one call of the device's post_send takes. Lives on the stack, and is
 * exempt from being zeroed there: that would cost more than all the rest.
 */
struct send_batch {
	union {
		struct ib_send_wr send;
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
		struct ib_ud_wr ud;
	} wr[SEND_BATCH];
	struct ib_sge sge[UNIV_MAX_SGE];
	struct univ_object *ah[SEND_BATCH];
	u32 count;
	u32 sges;
	u32 ahs;
};

#define OP(op) BIT(UNIV_WR_##op)

/* Requests that a process may make, by transport. */
static u32 send_opcodes(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
		return OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | OP(SEND) |
		       OP(SEND_WITH_IMM) | OP(SEND_WITH_INV) | OP(RDMA_READ) |
		       OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD);
	case IB_QPT_UC:
		return OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | OP(SEND) |
		       OP(SEND_WITH_IMM);
	case IB_QPT_UD:
		return OP(SEND) | OP(SEND_WITH_IMM);
	default:
		return 0;
	}
}

static u16 send_check(struct univ_qp *qp, const struct univ_send_wr *wr)
{
	if (wr->opcode >= BITS_PER_TYPE(u32) ||
	    !(send_opcodes(qp->ib->qp_type) & BIT(wr->opcode)))
		return UNIV_REASON_WR_OPCODE;
	if (wr->flags & ~(UNIV_WR_FENCE | UNIV_WR_SIGNALED |
			  UNIV_WR_SOLICITED | UNIV_WR_INLINE))
		return UNIV_REASON_FLAGS;
	if (!(wr->flags & UNIV_WR_INLINE))
		return wr->count > qp->cap.max_send_sge ? UNIV_REASON_WR_SGE :
							  0;
	if (wr->opcode == UNIV_WR_RDMA_READ ||
	    wr->opcode == UNIV_WR_ATOMIC_CMP_AND_SWP ||
	    wr->opcode == UNIV_WR_ATOMIC_FETCH_AND_ADD)
		return UNIV_REASON_WR_OPCODE;
	return wr->count > qp->cap.max_inline_data ? UNIV_REASON_WR_INLINE : 0;
}

/*
 * A device-wide local key reaches all of kernel memory. Every other key belongs
 * to some protection domain, and the device checks that.
 */
static bool send_key_allowed(struct ib_device *ib, u32 lkey)
{
	return !(ib->attrs.kernel_cap_flags & IBK_LOCAL_DMA_LKEY) ||
	       lkey != ib->local_dma_lkey;
}

/*
 * Inline data is read by the device's post call from a kernel address. We point
 * it at the slot itself: the length is ours, and a process that changes the
 * bytes meanwhile sends other bytes, nothing more.
 */
static u16 send_add_inline(struct send_batch *batch, struct ib_send_wr *ib,
			   const struct univ_send_wr *wr, void *slot)
{
	struct ib_sge *sge = &batch->sge[batch->sges];

	sge->addr = (uintptr_t)slot + SEND_WR_HEAD;
	sge->length = wr->count;
	sge->lkey = 0;
	ib->sg_list = sge;
	ib->num_sge = wr->count ? 1 : 0;
	batch->sges++;
	return 0;
}

/* One by one: a short copy of known size is cheaper than a call. */
static void send_fetch_sges(struct ib_sge *sge, const void *from, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		univ_ring_fetch(&sge[i], from + i * sizeof(*sge), sizeof(*sge));
}

static u16 send_add_sges(struct univ_qp *qp, struct send_batch *batch,
			 struct ib_send_wr *ib, const struct univ_send_wr *wr,
			 void *slot)
{
	struct ib_sge *sge = &batch->sge[batch->sges];
	u32 i;

	BUILD_BUG_ON(sizeof(*sge) != sizeof(struct univ_sge));
	BUILD_BUG_ON(offsetof(struct ib_sge, lkey) !=
		     offsetof(struct univ_sge, lkey));
	send_fetch_sges(sge, slot + SEND_WR_HEAD, wr->count);
	for (i = 0; i < wr->count; i++)
		if (!send_key_allowed(qp->ib->device, sge[i].lkey))
			return UNIV_REASON_WR_KEY;
	ib->sg_list = sge;
	ib->num_sge = wr->count;
	batch->sges += wr->count;
	return 0;
}

/* The handle is held until the post call has returned; then the device has
 * taken what it needs.
 */
static u16 send_add_ah(struct univ_qp *qp, struct send_batch *batch,
		       struct ib_ud_wr *ud, const struct univ_send_wr *wr)
{
	struct univ_object *obj = univ_object_find(qp->obj.ctx, wr->ud.ah);
	struct univ_ah *ah;

	if (!obj)
		return UNIV_REASON_WR_AH;
	batch->ah[batch->ahs++] = obj;
	ah = container_of(obj, struct univ_ah, obj);
	if (obj->type != UNIV_OBJECT_AH || ah->pd != qp->pd)
		return UNIV_REASON_WR_AH;
	ud->ah = ah->ib;
	ud->remote_qpn = wr->ud.remote_qpn & 0xffffff;
	ud->remote_qkey = wr->ud.remote_qkey;
	return 0;
}

/*
 * An atomic brings back eight bytes. A process may offer more room, which
 * rdma_rxe takes from a process, but from 6.4 on no more from the kernel.
 */
static void send_shorten(struct ib_send_wr *ib, u32 length)
{
	struct ib_sge *sge = ib->sg_list;
	int i;

	for (i = 0; i < ib->num_sge && length; i++) {
		sge[i].length = min(sge[i].length, length);
		length -= sge[i].length;
	}
	ib->num_sge = i;
}

/* After the list of memory was added. */
static u16 send_add_remote(struct univ_qp *qp, struct send_batch *batch,
			   const struct univ_send_wr *wr)
{
	struct ib_atomic_wr *atomic = &batch->wr[batch->count].atomic;
	struct ib_rdma_wr *rdma = &batch->wr[batch->count].rdma;

	switch (wr->opcode) {
	case UNIV_WR_RDMA_WRITE:
	case UNIV_WR_RDMA_WRITE_WITH_IMM:
	case UNIV_WR_RDMA_READ:
		rdma->remote_addr = wr->remote_addr;
		rdma->rkey = wr->rkey;
		return 0;
	case UNIV_WR_ATOMIC_CMP_AND_SWP:
	case UNIV_WR_ATOMIC_FETCH_AND_ADD:
		atomic->remote_addr = wr->remote_addr;
		atomic->rkey = wr->rkey;
		atomic->compare_add = wr->atomic.compare_add;
		atomic->swap = wr->atomic.swap;
		send_shorten(&atomic->wr, sizeof(u64));
		return 0;
	default:
		if (qp->ib->qp_type != IB_QPT_UD)
			return 0;
		return send_add_ah(qp, batch, &batch->wr[batch->count].ud, wr);
	}
}

/* What our opcodes are called in the kernel's verbs. */
static const struct {
	u8 wr;
	u8 wc;
	bool one_sided;
} send_ops[] = {
	[UNIV_WR_RDMA_WRITE] = { IB_WR_RDMA_WRITE, IB_WC_RDMA_WRITE, true },
	[UNIV_WR_RDMA_WRITE_WITH_IMM] = { IB_WR_RDMA_WRITE_WITH_IMM,
					  IB_WC_RDMA_WRITE },
	[UNIV_WR_SEND] = { IB_WR_SEND, IB_WC_SEND },
	[UNIV_WR_SEND_WITH_IMM] = { IB_WR_SEND_WITH_IMM, IB_WC_SEND },
	[UNIV_WR_SEND_WITH_INV] = { IB_WR_SEND_WITH_INV, IB_WC_SEND },
	[UNIV_WR_RDMA_READ] = { IB_WR_RDMA_READ, IB_WC_RDMA_READ, true },
	[UNIV_WR_ATOMIC_CMP_AND_SWP] = { IB_WR_ATOMIC_CMP_AND_SWP,
					 IB_WC_COMP_SWAP, true },
	[UNIV_WR_ATOMIC_FETCH_AND_ADD] = { IB_WR_ATOMIC_FETCH_AND_ADD,
					   IB_WC_FETCH_ADD, true },
};

static u32 send_length(const struct ib_send_wr *ib)
{
	u32 length = 0;
	int i;

	for (i = 0; i < ib->num_sge; i++)
		length += ib->sg_list[i].length;
	return length;
}

/*
 * Whether the device is to signal this request. Takes the signal over from the
 * one before it in the batch where this one's completion can stand for both.
 */
static bool send_signal(struct univ_send_queue *sq, struct send_batch *batch,
			const struct univ_send_record *record, bool one_sided)
{
	bool signal = record->signaled || sq->owed;
	struct ib_send_wr *prev;

	sq->owed = false;
	if (!batch->count || !one_sided || record->length > SEND_COALESCE)
		return signal;
	prev = &batch->wr[batch->count - 1].send;
	if (!(prev->send_flags & IB_SEND_SIGNALED))
		return signal;
	prev->send_flags &= ~IB_SEND_SIGNALED;
	return true;
}

static int send_flags(u8 flags, bool signal)
{
	BUILD_BUG_ON((int)UNIV_WR_FENCE != (int)IB_SEND_FENCE);
	BUILD_BUG_ON((int)UNIV_WR_SIGNALED != (int)IB_SEND_SIGNALED);
	BUILD_BUG_ON((int)UNIV_WR_SOLICITED != (int)IB_SEND_SOLICITED);
	BUILD_BUG_ON((int)UNIV_WR_INLINE != (int)IB_SEND_INLINE);
	return (flags & ~UNIV_WR_SIGNALED) | (signal ? IB_SEND_SIGNALED : 0);
}

static struct univ_send_record *send_record(struct univ_send_queue *sq,
					    u32 index)
{
	return &sq->records[index & (sq->ring.count - 1)];
}

/*
 * Add the request of @index to the batch. Returns 0, or why it is refused; then
 * it is not part of the batch.
 */
static u16 send_add(struct univ_qp *qp, struct send_batch *batch, u32 index,
		    const struct univ_send_wr *wr, void *slot)
{
	struct univ_send_queue *sq = &qp->sq;
	struct univ_send_record *record = send_record(sq, index);
	struct ib_send_wr *ib = &batch->wr[batch->count].send;
	bool signal;
	u16 reason;

	if (wr->flags & UNIV_WR_INLINE)
		reason = send_add_inline(batch, ib, wr, slot);
	else
		reason = send_add_sges(qp, batch, ib, wr, slot);
	if (!reason)
		reason = send_add_remote(qp, batch, wr);
	if (reason)
		return reason;

	record->wr_id = wr->wr_id;
	record->length = send_length(ib);
	record->opcode = send_ops[wr->opcode].wc;
	record->signaled = sq->sig_all || wr->flags & UNIV_WR_SIGNALED;
	signal = send_signal(sq, batch, record,
			     send_ops[wr->opcode].one_sided);
	ib->next = NULL;
	ib->wr_id = UNIV_SEND_TOKEN(index);
	ib->opcode = send_ops[wr->opcode].wr;
	ib->send_flags = send_flags(wr->flags, signal);
	ib->ex.imm_data = (__force __be32)wr->imm;
	if (batch->count)
		batch->wr[batch->count - 1].send.next = ib;
	batch->count++;
	return 0;
}

/* How many of the batch the device took before it failed at @bad. */
static u32 send_taken(const struct send_batch *batch,
		      const struct ib_send_wr *bad)
{
	u32 i;

	for (i = 0; i < batch->count; i++)
		if (&batch->wr[i].send == bad)
			break;
	return i;
}

/* The request at sq->fed is refused, by us or by the device. */
static void send_break(struct univ_qp *qp, u64 wr_id, u16 reason)
{
	struct univ_send_queue *sq = &qp->sq;
	u8 status = IB_WC_LOC_QP_OP_ERR;

	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		status = IB_WC_WR_FLUSH_ERR;
	else if (reason == UNIV_REASON_WR_KEY)
		status = IB_WC_LOC_PROT_ERR;
	sq->broken = true;
	univ_pump_refuse_send(qp, sq->fed++, wr_id, status, reason);
	univ_qp_fail(qp);
}

/* Returns false when the device did not take all. */
static bool send_post(struct univ_qp *qp, struct send_batch *batch)
{
	struct univ_send_queue *sq = &qp->sq;
	const struct ib_send_wr *bad = NULL;
	int ret = 0;
	u32 i;

	if (batch->count)
		ret = ib_post_send(qp->ib, &batch->wr[0].send, &bad);
	for (i = 0; i < batch->ahs; i++)
		univ_object_put(batch->ah[i]);
	sq->fed += ret ? send_taken(batch, bad) : batch->count;
	batch->count = 0;
	batch->sges = 0;
	batch->ahs = 0;
	if (!ret) {
		sq->busy = 0;
		return true;
	}

	/* What was taken may have left its signal to one that was not. */
	sq->owed = true;
	if ((ret == -ENOMEM && sq->fed != READ_ONCE(sq->retired)) ||
	    univ_post_busy(ret, &sq->busy))
		schedule_delayed_work(&qp->retry_work, UNIV_POST_RETRY);
	else
		send_break(qp, send_record(sq, sq->fed)->wr_id,
			   UNIV_REASON_WR_REFUSED);
	return false;
}

static bool send_batch_full(const struct send_batch *batch,
			    const struct univ_send_wr *wr)
{
	u32 sges = wr->flags & UNIV_WR_INLINE ? 1 : wr->count;

	return batch->count == SEND_BATCH || batch->sges + sges > UNIV_MAX_SGE;
}

/* Feed requests up to @end. Returns false when the queue broke or stalled. */
static noinline bool send_feed_to(struct univ_qp *qp, u32 end)
{
	struct send_batch batch __uninitialized;
	struct univ_send_wr wr __uninitialized;
	u32 index = qp->sq.fed;
	void *slot;
	u16 reason;

	batch.count = 0;
	batch.sges = 0;
	batch.ahs = 0;
	for (; index != end; index++) {
		slot = univ_ring_slot(&qp->sq.ring, index);
		univ_ring_fetch(&wr, slot, SEND_WR_HEAD);
		reason = send_check(qp, &wr);
		if (!reason && send_batch_full(&batch, &wr) &&
		    !send_post(qp, &batch))
			return false;
		if (!reason)
			reason = send_add(qp, &batch, index, &wr, slot);
		if (!reason)
			continue;
		if (send_post(qp, &batch))
			send_break(qp, wr.wr_id, reason);
		return false;
	}
	return send_post(qp, &batch);
}

/*
 * A tail that is further from what is complete than the ring is long was not
 * written by our library. Nothing in the ring can be trusted any more.
 */
static void send_corrupt(struct univ_qp *qp)
{
	qp->sq.corrupt = true;
	univ_pump_corrupt_send(qp);
	univ_qp_fail(qp);
}

/*
 * Ask for a kick, unless a poller is awake: the device tells us nothing when a
 * process writes to its memory. Returns true when requests were published while
 * we were asking, as recv_watch() does.
 */
static bool send_watch(struct univ_send_queue *sq)
{
	if (sq->feed.poller && univ_poller_awake(sq->feed.poller)) {
		univ_ring_set_flags(&sq->ring, 0);
		return false;
	}
	if (sq->ring.flags & UNIV_RING_NEED_KICK)
		return false;
	univ_ring_set_flags(&sq->ring, UNIV_RING_NEED_KICK);
	smp_mb();
	return univ_ring_published(&sq->ring) != sq->fed;
}

static bool send_step(struct univ_feed *feed)
{
	struct univ_send_queue *sq =
		container_of(feed, struct univ_send_queue, feed);
	struct univ_qp *qp = container_of(sq, struct univ_qp, sq);
	u32 tail, todo;

	if (!sq->ring.count || sq->broken || sq->corrupt)
		return false;
	tail = univ_ring_published(&sq->ring);
	if (tail == sq->fed)
		return send_watch(sq);
	if (tail - READ_ONCE(sq->retired) > sq->ring.count ||
	    tail - sq->fed > sq->ring.count) {
		send_corrupt(qp);
		return false;
	}
	todo = min_t(u32, tail - sq->fed, SEND_STEP);
	feed->moved = true;
	if (!send_feed_to(qp, sq->fed + todo))
		return false;
	return send_watch(sq) || sq->fed != tail;
}

/* Give the device what was published. Any context. */
void univ_send_queue_feed(struct univ_send_queue *sq)
{
	univ_feed_run(&sq->feed);
}

/* @map must describe a zeroed part of @base. */
void univ_send_queue_init(struct univ_send_queue *sq, struct univ_ring_map *map,
			  void *base)
{
	univ_feed_init(&sq->feed, send_step);
	univ_ring_init(&sq->ring, base, map);
	univ_ring_set_flags(&sq->ring, UNIV_RING_NEED_KICK);
}

/*
 * The queue pair was reset: what was published is forgotten. The device holds
 * nothing of it any more, and its completions were drained.
 */
void univ_send_queue_reset(struct univ_qp *qp)
{
	struct univ_send_queue *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->feed.lock, flags);
	sq->fed = univ_ring_published(&sq->ring);
	sq->broken = false;
	sq->corrupt = false;
	sq->owed = false;
	spin_lock(&qp->send_cq->lock);
	sq->retired = sq->fed;
	univ_ring_retire(&sq->ring, sq->retired);
	spin_unlock(&qp->send_cq->lock);
	spin_unlock_irqrestore(&sq->feed.lock, flags);
}
