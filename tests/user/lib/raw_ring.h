/* SPDX-License-Identifier: GPL-2.0 */
/* Posting and polling by hand. */
#ifndef RAW_RING_H
#define RAW_RING_H

#include "raw_objects.h"

static MAYBE_UNUSED void *raw_slot(struct raw_ring *ring, uint32_t index)
{
	return ring->slots + (size_t)(index & (ring->count - 1)) * ring->stride;
}

static MAYBE_UNUSED int raw_kick(int fd, uint32_t handle, uint32_t which)
{
	return ioctl(fd, UNIV_KICK, (unsigned long)(handle | which)) ? errno : 0;
}

/* Publish the request in the next slot, and kick whether the ring asks for it or not. */
static MAYBE_UNUSED int raw_publish(int fd, struct raw_ring *ring, uint32_t handle, uint32_t which)
{
	__atomic_store_n(&ring->head->user.index, ++ring->index, __ATOMIC_RELEASE);
	return raw_kick(fd, handle, which);
}

/* Take back the requests that the kernel has not taken, before a queue pair is connected again. */
static MAYBE_UNUSED void raw_ring_empty(struct raw_ring *ring)
{
	if (!ring->count)
		return;
	ring->index = __atomic_load_n(&ring->head->kernel.index, __ATOMIC_ACQUIRE);
	__atomic_store_n(&ring->head->user.index, ring->index, __ATOMIC_RELEASE);
}

static MAYBE_UNUSED int raw_send_sge(int fd, struct raw_qp *qp, uint64_t id, uint64_t addr,
				     uint32_t length, uint32_t lkey)
{
	struct univ_send_wr *wr = raw_slot(&qp->sq, qp->sq.index);

	memset(wr, 0, qp->sq.stride);
	wr->wr_id = id;
	wr->opcode = UNIV_WR_SEND;
	wr->flags = UNIV_WR_SIGNALED;
	wr->count = 1;
	wr->sge[0] = (struct univ_sge){ addr, length, lkey };
	return raw_publish(fd, &qp->sq, qp->handle, UNIV_KICK_SEND);
}

static MAYBE_UNUSED int raw_recv_sge(int fd, struct raw_qp *qp, uint64_t id, uint64_t addr,
				     uint32_t length, uint32_t lkey)
{
	struct univ_recv_wr *wr = raw_slot(&qp->rq, qp->rq.index);

	memset(wr, 0, qp->rq.stride);
	wr->wr_id = id;
	wr->count = 1;
	wr->sge[0] = (struct univ_sge){ addr, length, lkey };
	return raw_publish(fd, &qp->rq, qp->handle, UNIV_KICK_RECV);
}

/* Return 1 and a copy of the completion, or 0 if there is none. */
static MAYBE_UNUSED int raw_poll(struct raw_cq *cq, struct univ_cqe *cqe)
{
	struct univ_cqe *slot = raw_slot(&cq->ring, cq->ring.index);
	uint32_t phase = UNIV_CQE_PHASE(cq->ring.index, cq->ring.count);

	if (__atomic_load_n(&slot->phase, __ATOMIC_ACQUIRE) != phase)
		return 0;
	*cqe = *slot;
	__atomic_store_n(&cq->ring.head->user.index, ++cq->ring.index, __ATOMIC_RELEASE);
	return 1;
}

static MAYBE_UNUSED int raw_wait(struct raw_cq *cq, struct univ_cqe *cqe, unsigned int ms)
{
	uint64_t end = deadline_ms(ms);

	do {
		if (raw_poll(cq, cqe))
			return 1;
		sched_yield();
	} while (now_ns() < end);
	/* Poll once more, because this process may not have run since the last poll. */
	return raw_poll(cq, cqe);
}

#endif
