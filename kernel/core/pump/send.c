// SPDX-License-Identifier: GPL-2.0
/*
 * Send rings: take a private copy of each request, check it, translate it and
 * post it to the device. The library checks a request before it publishes it,
 * so a request is refused here only if a process fills rings by itself or the
 * device refuses it. The answer is an error completion, and the queue pair
 * moves to the error state.
 *
 * Not every request that the process has signaled is signaled to the device.
 * Requests complete in order, so in a run of small one-sided requests that are
 * posted together the device signals the last one, and the pump writes the
 * completions of the others. A request that needs the peer's software, such as
 * a send, which waits for a receive, ends such a run: the process may wait for
 * the completion of the request before it until it makes the peer go on.
 */
#include "compat.h"
#include "pump_queue.h"

/* Requests posted to the device at once; bounds the stack. */
#define SEND_BATCH	(UNIV_SEND_RUN / 2)
/* Requests fed with interrupts off, before they may come in again. */
#define SEND_STEP	64

/* Longest request whose completion may stand for those before it, in bytes. */
#define SEND_COALESCE	4096

#define SEND_WR_HEAD	offsetof(struct univ_send_wr, data)

/*
 * The requests of one call of the device's post_send. It lives on the stack and
 * is exempt from automatic zeroing, which would cost more than all the rest.
 */
struct send_batch {
	union {
		struct ib_send_wr send;
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
		struct ib_ud_wr ud;
	} wr[SEND_BATCH];
	struct ib_sge sge[UNIV_MAX_SGE];
	struct univ_queue_ah ah[SEND_BATCH];
	u32 count;
	u32 sges;
	u32 ahs;
	bool paid;		/* the first request has an owed signal */
};

#define OP(op) BIT(UNIV_WR_##op)

/* The requests that a process may make, by transport. */
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

static u16 send_check(const struct pump_qp *qp, const struct univ_send_wr *wr)
{
	const struct ib_qp_cap *cap = &qp->core->cap;

	if (wr->opcode >= BITS_PER_TYPE(u32) ||
	    !(send_opcodes(qp->ib->qp_type) & BIT(wr->opcode)))
		return UNIV_REASON_WR_OPCODE;
	if (wr->flags & ~(UNIV_WR_FENCE | UNIV_WR_SIGNALED |
			  UNIV_WR_SOLICITED | UNIV_WR_INLINE))
		return UNIV_REASON_FLAGS;
	if (!(wr->flags & UNIV_WR_INLINE))
		return wr->count > cap->max_send_sge ? UNIV_REASON_WR_SGE : 0;
	if (wr->opcode == UNIV_WR_RDMA_READ ||
	    wr->opcode == UNIV_WR_ATOMIC_CMP_AND_SWP ||
	    wr->opcode == UNIV_WR_ATOMIC_FETCH_AND_ADD)
		return UNIV_REASON_WR_OPCODE;
	return wr->count > cap->max_inline_data ? UNIV_REASON_WR_INLINE : 0;
}

/*
 * A device-wide local key reaches all of kernel memory. Every other key belongs
 * to a protection domain, which the device checks.
 */
static bool send_key_allowed(struct ib_device *ib, u32 lkey)
{
	return !(ib->attrs.kernel_cap_flags & IBK_LOCAL_DMA_LKEY) ||
	       lkey != ib->local_dma_lkey;
}

/*
 * The device's post function reads inline data from a kernel address. That is
 * the slot itself: the length is a private copy, and a process that changes the
 * bytes meanwhile only sends other bytes.
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

/*
 * Copies entries one by one: a short copy of known size is cheaper than a call.
 */
static void send_fetch_sges(struct ib_sge *sge, const void *from, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		univ_ring_fetch(&sge[i], from + i * sizeof(*sge), sizeof(*sge));
}

static u16 send_add_sges(struct pump_qp *qp, struct send_batch *batch,
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

/*
 * The handle is held until the post call returns: the device needs it no
 * longer.
 */
static u16 send_add_ah(struct pump_qp *qp, struct send_batch *batch,
		       struct ib_ud_wr *ud, const struct univ_send_wr *wr)
{
	struct univ_queue_ah *ah = &batch->ah[batch->ahs];

	if (!univ_queue_ah_get(qp->core, wr->ud.ah, ah))
		return UNIV_REASON_WR_AH;
	batch->ahs++;
	ud->ah = ah->ib;
	ud->remote_qpn = wr->ud.remote_qpn & 0xffffff;
	ud->remote_qkey = wr->ud.remote_qkey;
	return 0;
}

/*
 * An atomic returns eight bytes. A process may offer more room. rdma_rxe
 * accepts that from a process, but since 6.4 not from a user in the kernel.
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

/* Context: the scatter list has been added. */
static u16 send_add_remote(struct pump_qp *qp, struct send_batch *batch,
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

/* The opcodes of kernel verbs, by ours. */
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
 * Returns whether the device is to signal this request. If the completion of
 * this request implies that of the one before it in the batch, the device is
 * not asked to signal the latter.
 */
static bool send_signal(struct univ_send_queue *sq, struct send_batch *batch,
			const struct univ_send_record *record, bool one_sided)
{
	bool signal = record->signaled || sq->owed;
	struct ib_send_wr *prev;

	/* The request with the owed signal stays signaled. */
	batch->paid |= sq->owed;
	sq->owed = false;
	if (batch->count <= batch->paid || !one_sided ||
	    record->length > SEND_COALESCE)
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

static struct univ_send_record *send_record(struct pump_qp *qp, u32 index)
{
	return &qp->records[index & (qp->sq.ring.count - 1)];
}

/*
 * Adds the request of @index to the batch. Returns 0, or the reason of a
 * refusal; then the request is not part of the batch.
 */
static u16 send_add(struct pump_qp *qp, struct send_batch *batch, u32 index,
		    const struct univ_send_wr *wr, void *slot)
{
	struct univ_send_queue *sq = &qp->sq;
	struct univ_send_record *record = send_record(qp, index);
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
	record->refused = false;
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

/*
 * Returns how many of the batch the device took before it failed at @bad. A
 * driver that fails without naming a request of the batch has taken none.
 */
static u32 send_taken(const struct send_batch *batch,
		      const struct ib_send_wr *bad)
{
	u32 i;

	for (i = 0; i < batch->count; i++)
		if (&batch->wr[i].send == bad)
			return i;
	return 0;
}

/* The pump or the device refuses the request at sq->fed. */
static void send_break(struct pump_qp *qp, u64 wr_id, u16 reason)
{
	struct univ_send_queue *sq = &qp->sq;
	u8 status = IB_WC_LOC_QP_OP_ERR;

	if (READ_ONCE(qp->core->state) == IB_QPS_ERR)
		status = IB_WC_WR_FLUSH_ERR;
	else if (reason == UNIV_REASON_WR_KEY)
		status = IB_WC_LOC_PROT_ERR;
	sq->broken = true;
	univ_pump_refuse_send(qp, sq->fed++, wr_id, status, reason);
	pump_qp_fail(qp);
}

/* Returns false when the device did not take all. */
static bool send_post(struct pump_qp *qp, struct send_batch *batch)
{
	struct univ_send_queue *sq = &qp->sq;
	const struct ib_send_wr *bad = NULL;
	int ret = 0;
	u32 i;

	if (batch->count)
		ret = ib_post_send(qp->ib, &batch->wr[0].send, &bad);
	for (i = 0; i < batch->ahs; i++)
		univ_queue_ah_put(&batch->ah[i]);
	sq->fed += ret ? send_taken(batch, bad) : batch->count;
	batch->count = 0;
	batch->sges = 0;
	batch->ahs = 0;
	batch->paid = false;
	if (!ret) {
		sq->busy = 0;
		return true;
	}

	/*
	 * A request that the device took may rely on the signal of one that it
	 * refused.
	 */
	sq->owed = true;
	if ((ret == -ENOMEM && sq->fed != READ_ONCE(sq->retired)) ||
	    univ_post_busy(ret, &sq->busy))
		schedule_delayed_work(&qp->retry_work, UNIV_POST_RETRY);
	else
		send_break(qp, send_record(qp, sq->fed)->wr_id,
			   UNIV_REASON_WR_REFUSED);
	return false;
}

static bool send_batch_full(const struct send_batch *batch,
			    const struct univ_send_wr *wr)
{
	u32 sges = wr->flags & UNIV_WR_INLINE ? 1 : wr->count;

	return batch->count == SEND_BATCH || batch->sges + sges > UNIV_MAX_SGE;
}

/* Feeds requests up to @end. Returns false when the queue broke or stalled. */
static noinline bool send_feed_to(struct pump_qp *qp, u32 end)
{
	struct send_batch batch __uninitialized;
	struct univ_send_wr wr __uninitialized;
	u32 index = qp->sq.fed;
	void *slot;
	u16 reason;

	batch.count = 0;
	batch.sges = 0;
	batch.ahs = 0;
	batch.paid = false;
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
 * The library never publishes more requests than the ring has slots. After an
 * index that says so nothing in the ring can be trusted.
 */
static void send_corrupt(struct pump_qp *qp)
{
	qp->sq.corrupt = true;
	univ_pump_corrupt_send(qp);
	pump_qp_fail(qp);
}

/*
 * Asks for a kick, unless a poller is awake. Returns true when requests were
 * published meanwhile, as recv_watch() does.
 */
static bool send_watch(struct univ_send_queue *sq)
{
	struct univ_poller *poller = READ_ONCE(sq->feed.polled.poller);

	if (poller && univ_poller_awake(poller)) {
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
	struct pump_qp *qp = container_of(sq, struct pump_qp, sq);
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
	WRITE_ONCE(feed->moved, true);
	if (!send_feed_to(qp, sq->fed + todo))
		return false;
	return send_watch(sq) || sq->fed != tail;
}

/* Feeds the device with all that was published. Any context. */
void univ_send_queue_feed(struct univ_send_queue *sq)
{
	univ_feed_run(&sq->feed);
}

/* @ring must lie in zeroed memory. */
void univ_send_queue_init(struct univ_send_queue *sq,
			  const struct univ_ring *ring, bool sig_all)
{
	univ_feed_init(&sq->feed, send_step);
	sq->ring = *ring;
	sq->sig_all = sig_all;
}

/*
 * Called after a refusal. Earlier requests may have lost their signal to the
 * refused one, so no completion would report their success. So post one more
 * signaled request with the refused one's index; in the error state the device
 * flushes it after them. Datagrams keep their signals. Context: the queue
 * pair's mutex is held, so the state does not change.
 */
void univ_send_queue_mend(struct pump_qp *qp)
{
	struct univ_send_queue *sq = &qp->sq;
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	const struct ib_send_wr *bad;
	unsigned long flags;

	spin_lock_irqsave(&sq->feed.lock, flags);
	wr.wr_id = UNIV_SEND_TOKEN(sq->fed - 1);
	if (!sq->feed.closed && sq->broken && sq->owed && !qp->datagrams &&
	    READ_ONCE(sq->retired) != sq->fed &&
	    READ_ONCE(qp->core->state) == IB_QPS_ERR)
		sq->owed = ib_post_send(qp->ib, &wr, &bad);
	sq->broken = false;
	spin_unlock_irqrestore(&sq->feed.lock, flags);
}

/*
 * The queue pair was reset, so requests that were published are forgotten. The
 * device holds none of them any more, and its completions were drained.
 */
void univ_send_queue_reset(struct pump_qp *qp)
{
	struct univ_send_queue *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->feed.lock, flags);
	sq->fed = univ_ring_published(&sq->ring);
	sq->broken = false;
	sq->corrupt = false;
	sq->owed = false;
	/* A corrupt ring was not watched, so the flag may be missing. */
	univ_ring_set_flags(&sq->ring, UNIV_RING_NEED_KICK);
	spin_lock(&qp->core->send_cq->lock);
	sq->retired = sq->fed;
	univ_ring_retire(&sq->ring, sq->retired);
	spin_unlock(&qp->core->send_cq->lock);
	spin_unlock_irqrestore(&sq->feed.lock, flags);
}
