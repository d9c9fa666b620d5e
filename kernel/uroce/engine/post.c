// SPDX-License-Identifier: GPL-2.0
/*
 * Posting by users in the kernel: requests are written to a private ring of the
 * same format as rings of processes, so that one path serves both.
 */
#include <linux/log2.h>
#include <linux/mm.h>

#include "engine.h"

static void *private_ring(struct univ_ring *ring, u32 slots, u32 stride)
{
	struct univ_ring_map map = {
		.slot_offset = sizeof(struct univ_ring_head),
		.slots = roundup_pow_of_two(slots),
		.stride = ALIGN(stride, UNIV_CACHE_LINE),
	};
	void *memory;

	memory = kvzalloc(map.slot_offset + (size_t)map.slots * map.stride,
			  GFP_KERNEL_ACCOUNT);
	if (memory)
		univ_ring_init(ring, memory, &map);
	return memory;
}

static void *private_recv_ring(const struct uroce_recvq *rq,
			       struct univ_ring *ring, u32 max_wr)
{
	return private_ring(ring, max_wr,
			    offsetof(struct univ_recv_wr, sge) +
			    rq->max_sge * sizeof(struct univ_sge));
}

int uroce_recvq_private(struct uroce_recvq *rq, u32 max_wr)
{
	if (rq->attached || rq->memory || !max_wr)
		return 0;
	rq->memory = private_recv_ring(rq, &rq->ring, max_wr);
	return rq->memory ? 0 : -ENOMEM;
}

/* The queue belongs to a kernel user. */
int uroce_srq_resize(struct uroce_srq *srq, const struct ib_srq_attr *attr,
		     int mask)
{
	struct univ_ring ring;
	struct uroce_srq_move move = {
		.ring = &ring,
		.memory = private_recv_ring(&srq->rq, &ring, attr->max_wr),
		.attr = attr,
		.mask = mask,
	};
	int ret;

	if (!move.memory)
		return -ENOMEM;
	ret = uroce_srq_move(srq, &move);
	kvfree(move.memory);
	return ret;
}

/*
 * A queue pair of a kernel user leaves RESET. One with a receive indirection
 * table is of no use there.
 */
int uroce_queue_private(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;
	int ret;

	if (sq->attached || qp->xrcd || qp->rss)
		return 0;
	ret = uroce_cq_private(qp->send_cq);
	if (!ret)
		ret = uroce_cq_private(qp->recv_cq);
	if (!ret && !qp->srq)
		ret = uroce_recvq_private(&qp->rq, qp->attr.cap.max_recv_wr);
	if (ret || sq->memory || !qp->attr.cap.max_send_wr)
		return ret;
	sq->memory = private_ring(&sq->ring, qp->attr.cap.max_send_wr,
				  offsetof(struct univ_send_wr, data) +
				  max_t(u32, sq->max_inline,
					sq->max_sge * sizeof(struct univ_sge)));
	return sq->memory ? 0 : -ENOMEM;
}

static bool ring_full(const struct univ_ring *ring, u32 tail, u32 max)
{
	return tail - smp_load_acquire(&ring->head->kernel.index) >=
	       min(max, ring->count);
}

static void ring_publish(struct univ_ring *ring, u32 tail)
{
	smp_store_release(&ring->head->user.index, tail);
}

/*
 * A slot is longer than its struct, whose arrays have the minimum length.
 * Fortified memcpy() of later kernels (seen on 7.3) rejects longer writes to a
 * field.
 */
#define slot_part(slot, member) \
	((void *)(slot) + offsetof(typeof(*(slot)), member))

static int post_inline(const struct ib_send_wr *wr, struct univ_send_wr *slot,
		       u32 max)
{
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > max - len)
			return -EINVAL;
		memcpy(slot_part(slot, data) + len,
		       (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		len += wr->sg_list[i].length;
	}
	slot->count = len;
	return 0;
}

/* Only users of queue pair 1 have to set the index of a P_Key. */
static bool post_pkey(const struct ib_send_wr *wr, struct univ_send_wr *slot)
{
	slot->ud.reserved = ud_wr(wr)->pkey_index;
	return slot->ud.reserved < UROCE_PKEYS;
}

/* Translates opcodes of the kernel's verbs and their operands. */
static int post_translate(const struct uroce_qp *qp,
			  const struct ib_send_wr *wr,
			  struct univ_send_wr *slot)
{
	slot->imm = (__force u32)wr->ex.imm_data;
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		slot->remote_addr = rdma_wr(wr)->remote_addr;
		slot->rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		slot->remote_addr = atomic_wr(wr)->remote_addr;
		slot->rkey = atomic_wr(wr)->rkey;
		slot->atomic.compare_add = atomic_wr(wr)->compare_add;
		slot->atomic.swap = atomic_wr(wr)->swap;
		break;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
		if (qp->type != IB_QPT_UD && qp->type != IB_QPT_GSI)
			break;
		if (qp->type == IB_QPT_GSI && !post_pkey(wr, slot))
			return -EINVAL;
		slot->ud.ah = to_uah(ud_wr(wr)->ah)->index;
		slot->ud.remote_qpn = ud_wr(wr)->remote_qpn;
		slot->ud.remote_qkey = ud_wr(wr)->remote_qkey;
		break;
	case IB_WR_LOCAL_INV:
		break;
	case IB_WR_REG_MR:
		slot->remote_addr = (uintptr_t)reg_wr(wr)->mr;
		slot->rkey = reg_wr(wr)->key;
		slot->imm = reg_wr(wr)->access;
		slot->opcode = UROCE_WR_REG_MR;
		return 0;
	default:
		return -EINVAL;
	}
	slot->opcode = wr->opcode;
	return 0;
}

static int post_one(struct uroce_qp *qp, const struct ib_send_wr *wr)
{
	struct uroce_sendq *sq = &qp->sq;
	struct univ_send_wr *slot;
	int ret;

	BUILD_BUG_ON((int)UNIV_WR_ATOMIC_FETCH_AND_ADD !=
		     (int)IB_WR_ATOMIC_FETCH_AND_ADD);
	BUILD_BUG_ON((int)UNIV_WR_SEND_WITH_INV != (int)IB_WR_SEND_WITH_INV);
	BUILD_BUG_ON((int)UNIV_WR_LOCAL_INV != (int)IB_WR_LOCAL_INV);
	if (!sq->memory || wr->num_sge > sq->max_sge)
		return -EINVAL;
	if (ring_full(&sq->ring, sq->tail, qp->attr.cap.max_send_wr))
		return -ENOMEM;
	slot = univ_ring_slot(&sq->ring, sq->tail);
	slot->wr_id = wr->wr_id;
	slot->flags = wr->send_flags & (UNIV_WR_FENCE | UNIV_WR_SIGNALED |
					UNIV_WR_SOLICITED | UNIV_WR_INLINE);
	slot->count = wr->num_sge;
	ret = post_translate(qp, wr, slot);
	if (ret)
		return ret;
	if (wr->send_flags & IB_SEND_INLINE)
		ret = post_inline(wr, slot, sq->max_inline);
	else if (wr->num_sge)
		memcpy(slot_part(slot, sge), wr->sg_list,
		       wr->num_sge * sizeof(*wr->sg_list));
	if (!ret)
		sq->tail++;
	return ret;
}

int uroce_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad)
{
	struct uroce_qp *qp = to_uqp(ib);
	struct uroce_sendq *sq = &qp->sq;
	unsigned long flags;
	int ret = 0;

	if (READ_ONCE(qp->state) < IB_QPS_RTS) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&sq->post, flags);
	for (; wr; wr = wr->next) {
		ret = post_one(qp, wr);
		if (ret) {
			*bad = wr;
			break;
		}
	}
	if (sq->memory)
		ring_publish(&sq->ring, sq->tail);
	spin_unlock_irqrestore(&sq->post, flags);
	if (irqs_disabled())
		uroce_send_later(qp);
	else
		uroce_send_run(qp);
	return ret;
}

static int post_recv(struct uroce_recvq *rq, const u32 *max,
		     const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct univ_recv_wr *slot;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&rq->post, flags);
	for (; wr; wr = wr->next) {
		if (!rq->memory || wr->num_sge > rq->max_sge)
			ret = -EINVAL;
		else if (ring_full(&rq->ring, rq->tail, *max))
			ret = -ENOMEM;
		if (ret) {
			*bad = wr;
			break;
		}
		slot = univ_ring_slot(&rq->ring, rq->tail++);
		slot->wr_id = wr->wr_id;
		slot->count = wr->num_sge;
		memcpy(slot_part(slot, sge), wr->sg_list,
		       wr->num_sge * sizeof(*wr->sg_list));
	}
	if (rq->memory)
		ring_publish(&rq->ring, rq->tail);
	spin_unlock_irqrestore(&rq->post, flags);
	return ret;
}

int uroce_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad)
{
	struct uroce_qp *qp = to_uqp(ib);
	int ret;

	if (qp->srq || READ_ONCE(qp->state) == IB_QPS_RESET) {
		*bad = wr;
		return -EINVAL;
	}
	ret = post_recv(&qp->rq, &qp->attr.cap.max_recv_wr, wr, bad);
	/*
	 * Pairs with the fences that uroce_recv_flush() and uroce_recv_want()
	 * execute before they look at the tail.
	 */
	smp_mb();
	if (READ_ONCE(qp->state) == IB_QPS_ERR || READ_ONCE(qp->resp.wanted))
		uroce_send_later(qp);
	return ret;
}

int uroce_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad)
{
	struct uroce_srq *srq = to_usrq(ib);
	int ret;

	ret = post_recv(&srq->rq, &srq->max_wr, wr, bad);
	/* Pairs with the fence in uroce_recv_want(). */
	smp_mb();
	if (!list_empty(&srq->waiters))
		uroce_srq_later(srq);
	return ret;
}
