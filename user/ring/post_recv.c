// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting by ibv_post_recv(3), ibv_post_srq_recv(3) and ibv_post_wq_recv(3), with the
 * same properties as post_send.c.
 */
#include <errno.h>

#include "ring/quick.h"
#include "why/why.h"

#define VERB_RECV "ibv_post_recv"
#define VERB_SRQ_RECV "ibv_post_srq_recv"
#define VERB_WQ_RECV "ibv_post_wq_recv"

static __attribute__((cold, noinline)) int recv_bad(const char *verb, const struct univ_ring *ring,
						    const struct ibv_recv_wr *wr, uint32_t tail)
{
	uint32_t room = univ_ring_room(ring, tail);

	if ((uint32_t)wr->num_sge > ring->max_sge)
		return univ_fail_sges(verb, (uint32_t)wr->num_sge, ring->max_sge);
	return univ_fail_full(verb, UNIV_LIMIT_RECV_WR, ring->max_wr - room, ring->max_wr);
}

static inline void recv_write(struct univ_recv_wr *slot, const struct ibv_recv_wr *wr)
{
	slot->wr_id = wr->wr_id;
	slot->count = (uint32_t)wr->num_sge;
	slot->reserved = 0;
	sges_copy(slot->sge, wr->sg_list, (uint32_t)wr->num_sge);
}

static __attribute__((noinline)) int recv_kick(const char *verb, const struct ibv_context *context,
					       uint32_t handle, struct ibv_recv_wr *first,
					       struct ibv_recv_wr **bad)
{
	int err = univ_cmd_kick(verb, context->cmd_fd, handle | UNIV_KICK_RECV);

	if (err)
		*bad = first;
	return err;
}

struct recv_queue {
	const char *verb;
	const struct ibv_context *context;
	struct univ_lock *lock;
	struct univ_ring *ring;
	uint32_t handle;
};

static inline __attribute__((always_inline)) int
recv_tell(const struct recv_queue *q, const struct univ_bell_at *bell, struct ibv_recv_wr *first,
	  struct ibv_recv_wr **bad)
{
	return bell ? univ_bell_ring(bell) :
		      recv_kick(q->verb, q->context, q->handle, first, bad);
}

/*
 * Posts a list. The caller holds the lock, which is released here. @bell is NULL in the
 * functions for queues that are kicked.
 */
static inline __attribute__((always_inline)) int
recv_list(const struct recv_queue *q, const struct univ_bell_at *bell, struct ibv_recv_wr *first,
	  struct ibv_recv_wr **bad)
{
	struct univ_ring *ring = q->ring;
	uint32_t tail = ring->tail, room = univ_ring_room(ring, tail);
	struct ibv_recv_wr *wr;
	bool kick = false;
	int err = 0, kicked;

	for (wr = first; wr; wr = wr->next) {
		if (univ_unlikely(!room-- || (uint32_t)wr->num_sge > ring->max_sge)) {
			err = recv_bad(q->verb, ring, wr, tail);
			*bad = wr;
			break;
		}
		recv_write(univ_ring_slot(ring, tail++), wr);
	}
	if (univ_likely(tail != ring->tail))
		kick = univ_ring_publish(ring, tail);
	univ_unlock(q->lock);
	if (univ_unlikely(err))
		univ_fail_tell();
	if (univ_likely(!kick))
		return err;
	kicked = recv_tell(q, bell, first, bad);
	return kicked ? kicked : err;
}

static inline __attribute__((always_inline)) int
recv_rest(const struct recv_queue *q, const struct univ_bell_at *bell, struct ibv_recv_wr *wr,
	  struct ibv_recv_wr **bad, unsigned int rest)
{
	if (rest & POST_ALL) {
		if (!(rest & POST_LOCKED))
			univ_lock(q->lock);
		return recv_list(q, bell, wr, bad);
	}
	if (rest & POST_WAKE)
		univ_lock_wake(q->lock);
	return rest & POST_KICK ? recv_tell(q, bell, wr, bad) : 0;
}

static __attribute__((cold, noinline)) int recv_refused(const struct univ_qp *qp)
{
	if (univ_device_gone(qp->doorbell))
		return univ_fail_gone(VERB_RECV, qp->ibv.context->device->name);
	if (qp->ibv.qp_type == IBV_QPT_XRC_SEND || qp->ibv.qp_type == IBV_QPT_XRC_RECV)
		return univ_fail_qp_type(VERB_RECV, qp->ibv.qp_type);
	if (!qp->rq.head)
		return univ_fail_no_receives(VERB_RECV, qp->ibv.state, qp->ibv.srq);
	return univ_fail_recv_state(VERB_RECV, qp->ibv.state);
}

static __attribute__((noinline)) int qp_recv_rest(struct ibv_qp *ibv, struct ibv_recv_wr *wr,
						  struct ibv_recv_wr **bad, unsigned int rest)
{
	struct univ_qp *qp = to_uqp(ibv);
	const struct recv_queue q = { VERB_RECV, ibv->context, &qp->rq_lock, &qp->rq, ibv->handle };

	return recv_rest(&q, NULL, wr, bad, rest);
}

static __attribute__((noinline)) int qp_recv_rest_bell(struct ibv_qp *ibv, struct ibv_recv_wr *wr,
						       struct ibv_recv_wr **bad, unsigned int rest)
{
	struct univ_qp *qp = to_uqp(ibv);
	const struct recv_queue q = { VERB_RECV, ibv->context, &qp->rq_lock, &qp->rq, ibv->handle };

	return recv_rest(&q, &qp->rq_bell, wr, bad, rest);
}

typedef int qp_recv_rests(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
			  unsigned int rest);

/*
 * For univ_qp.takes_recv == 0 (the queue pair is in RESET, or has no receive queue, or a
 * max_recv_sge of 0), and if the device is gone.
 */
static inline __attribute__((always_inline)) int
recv_slowly(struct univ_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
	    qp_recv_rests *slow)
{
	if (univ_load_relaxed(&qp->ibv.state) != IBV_QPS_RESET && qp->rq.head &&
	    !univ_device_gone(qp->doorbell))
		return slow(&qp->ibv, wr, bad, POST_ALL);
	*bad = wr;
	return recv_refused(qp);
}

static __attribute__((noinline)) int recv_slowly_kick(struct univ_qp *qp, struct ibv_recv_wr *wr,
						      struct ibv_recv_wr **bad)
{
	return recv_slowly(qp, wr, bad, qp_recv_rest);
}

static __attribute__((noinline)) int recv_slowly_bell(struct univ_qp *qp, struct ibv_recv_wr *wr,
						      struct ibv_recv_wr **bad)
{
	return recv_slowly(qp, wr, bad, qp_recv_rest_bell);
}

int univ_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct univ_qp *qp = to_uqp(ibv);
	unsigned int rest;

	if (univ_unlikely(!univ_load_plain(&qp->takes_recv) || univ_device_gone(qp->doorbell)))
		return recv_slowly_kick(qp, wr, bad);
	rest = recv_quick(&qp->rq_lock, &qp->rq, wr);
	return univ_likely(!rest) ? 0 : qp_recv_rest(ibv, wr, bad, rest);
}

/* The same for a context whose queues have bells. */
int univ_post_recv_bell(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct univ_qp *qp = to_uqp(ibv);
	unsigned int rest;

	if (univ_unlikely(!univ_load_plain(&qp->takes_recv) || univ_device_gone(qp->doorbell)))
		return recv_slowly_bell(qp, wr, bad);
	rest = recv_quick(&qp->rq_lock, &qp->rq, wr);
	return univ_likely(!rest) ? 0 : qp_recv_rest_bell(ibv, wr, bad, rest);
}

static __attribute__((noinline)) int srq_recv_rest(struct ibv_srq *ibv, struct ibv_recv_wr *wr,
						   struct ibv_recv_wr **bad, unsigned int rest)
{
	struct univ_srq *srq = to_usrq(ibv);
	const struct recv_queue q = { VERB_SRQ_RECV, ibv->context, &srq->lock, &srq->ring,
				      ibv->handle };

	return recv_rest(&q, NULL, wr, bad, rest);
}

static __attribute__((noinline)) int srq_recv_rest_bell(struct ibv_srq *ibv,
							struct ibv_recv_wr *wr,
							struct ibv_recv_wr **bad, unsigned int rest)
{
	struct univ_srq *srq = to_usrq(ibv);
	const struct recv_queue q = { VERB_SRQ_RECV, ibv->context, &srq->lock, &srq->ring,
				      ibv->handle };

	return recv_rest(&q, &srq->bell, wr, bad, rest);
}

int univ_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct univ_srq *srq = to_usrq(ibv);
	unsigned int rest;

	if (univ_unlikely(univ_device_gone(srq->doorbell))) {
		*bad = wr;
		return univ_fail_gone(VERB_SRQ_RECV, ibv->context->device->name);
	}
	rest = recv_quick(&srq->lock, &srq->ring, wr);
	return univ_likely(!rest) ? 0 : srq_recv_rest(ibv, wr, bad, rest);
}

/* The same for a context whose queues have bells. */
int univ_post_srq_recv_bell(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct univ_srq *srq = to_usrq(ibv);
	unsigned int rest;

	if (univ_unlikely(univ_device_gone(srq->doorbell))) {
		*bad = wr;
		return univ_fail_gone(VERB_SRQ_RECV, ibv->context->device->name);
	}
	rest = recv_quick(&srq->lock, &srq->ring, wr);
	return univ_likely(!rest) ? 0 : srq_recv_rest_bell(ibv, wr, bad, rest);
}

static __attribute__((noinline)) int wq_recv_rest(struct ibv_wq *ibv, struct ibv_recv_wr *wr,
						  struct ibv_recv_wr **bad, unsigned int rest)
{
	struct univ_wq *wq = to_uwq(ibv);
	const struct recv_queue q = { VERB_WQ_RECV, ibv->context, &wq->lock, &wq->ring,
				      ibv->handle };

	return recv_rest(&q, NULL, wr, bad, rest);
}

/*
 * As a queue pair, a work queue takes no requests in RESET. Other devices would lose them
 * (mlx5 empties the queue when it becomes ready).
 */
int univ_post_wq_recv(struct ibv_wq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct univ_wq *wq = to_uwq(ibv);
	unsigned int rest;

	if (univ_unlikely(univ_device_gone(wq->doorbell))) {
		*bad = wr;
		return univ_fail_gone(VERB_WQ_RECV, ibv->context->device->name);
	}
	if (univ_unlikely(univ_load_relaxed(&ibv->state) == IBV_WQS_RESET)) {
		*bad = wr;
		return univ_fail_wq_reset(VERB_WQ_RECV);
	}
	rest = recv_quick(&wq->lock, &wq->ring, wr);
	return univ_likely(!rest) ? 0 : wq_recv_rest(ibv, wr, bad, rest);
}
