// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting by lists of work requests. A whole list is published at once and
 * kicks the kernel at most once. Nothing here allocates; the only system calls
 * are that kick, and the sleep when another thread keeps the lock for long.
 */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "univ.h"

#define VERB_SEND "ibv_post_send"
#define VERB_RECV "ibv_post_recv"
#define VERB_SRQ_RECV "ibv_post_srq_recv"

#define BIT(n) (1u << (n))

/* Checksum offload is for raw packets; elsewhere the flag means nothing. */
#define WR_FLAGS (UNIV_WR_FENCE | UNIV_WR_SIGNALED | UNIV_WR_SOLICITED | UNIV_WR_INLINE)

#define OPCODES_SEND (BIT(UNIV_WR_SEND) | BIT(UNIV_WR_SEND_WITH_IMM))
#define OPCODES_WRITE (BIT(UNIV_WR_RDMA_WRITE) | BIT(UNIV_WR_RDMA_WRITE_WITH_IMM))
#define OPCODES_ATOMIC (BIT(UNIV_WR_ATOMIC_CMP_AND_SWP) | BIT(UNIV_WR_ATOMIC_FETCH_AND_ADD))
#define OPCODES_WINDOWS (BIT(UNIV_WR_BIND_MW) | BIT(UNIV_WR_LOCAL_INV))
#define OPCODES_FEATURE (OPCODES_WINDOWS | BIT(UNIV_WR_ATOMIC_WRITE))
#define OPCODES_RC (OPCODES_SEND | OPCODES_WRITE | OPCODES_ATOMIC | BIT(UNIV_WR_RDMA_READ) | \
		    BIT(UNIV_WR_SEND_WITH_INV))

/* Those whose data travels to the peer, so that it can be given inline. */
#define OPCODES_OUT (OPCODES_SEND | OPCODES_WRITE | BIT(UNIV_WR_SEND_WITH_INV))
#define OPCODES_REMOTE (OPCODES_WRITE | BIT(UNIV_WR_RDMA_READ))

/* An XRC receive queue pair takes none, ever. */
#define SEND_STATES (BIT(IBV_QPS_RTS) | BIT(IBV_QPS_SQD) | BIT(IBV_QPS_SQE) | BIT(IBV_QPS_ERR))

#define ATOMIC_SIZE 8

/* Layouts are the same, so that a list of pieces is copied as it is. */
_Static_assert(sizeof(struct ibv_sge) == sizeof(struct univ_sge), "sge");
_Static_assert(offsetof(struct ibv_sge, addr) == offsetof(struct univ_sge, addr), "sge");
_Static_assert(offsetof(struct ibv_sge, length) == offsetof(struct univ_sge, length), "sge");
_Static_assert(offsetof(struct ibv_sge, lkey) == offsetof(struct univ_sge, lkey), "sge");

static uint32_t opcodes_of(uint32_t features, enum ibv_qp_type type)
{
	uint32_t windows = features & UNIV_FEATURE_WINDOWS ? OPCODES_WINDOWS : 0;
	uint32_t atomic_write =
		features & UNIV_FEATURE_ATOMIC_WRITE ? BIT(UNIV_WR_ATOMIC_WRITE) : 0;

	switch (type) {
	case IBV_QPT_RC:
		return OPCODES_RC | windows | atomic_write;
	case IBV_QPT_XRC_SEND:
		return OPCODES_RC | windows;
	case IBV_QPT_UC:
		return OPCODES_SEND | OPCODES_WRITE | windows;
	case IBV_QPT_UD:
		return OPCODES_SEND;
	default:
		return 0;
	}
}

uint32_t univ_qp_opcodes(const struct univ_context *ctx, enum ibv_qp_type type)
{
	return opcodes_of(ctx->features, type);
}

/* Those that send_quick() does: they need nothing but what all of them have. */
uint32_t univ_qp_quick(const struct univ_qp *qp)
{
	if (qp->ibv.qp_type != IBV_QPT_RC && qp->ibv.qp_type != IBV_QPT_UC)
		return 0;
	return qp->sq.max_sge ? qp->opcodes & (OPCODES_SEND | OPCODES_REMOTE) : 0;
}

uint32_t univ_send_states(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_RECV ? 0 : SEND_STATES;
}

static inline bool gone(const struct univ_doorbell *doorbell)
{
	return univ_unlikely(univ_glance(&doorbell->state) & UNIV_RING_DEAD);
}

static __attribute__((cold)) int gone_fail(const char *verb, const struct ibv_context *context)
{
	return univ_fail_gone(verb, context->device->name);
}

bool univ_send_allowed(const struct univ_qp *qp)
{
	return (BIT(univ_glance(&qp->ibv.state)) & qp->send_states) && !gone(qp->doorbell);
}

int univ_send_refused(const char *verb, const struct univ_qp *qp)
{
	if (gone(qp->doorbell))
		return gone_fail(verb, qp->ibv.context);
	if (!qp->send_states)
		return univ_fail_qp_type(verb, qp->ibv.qp_type);
	return univ_fail_post_state(verb, qp->ibv.state, false);
}

/* An operation that @qp does not take: because of its type, or of its device */
int univ_send_impossible(const char *verb, int err, const struct univ_qp *qp, uint32_t opcode)
{
	if (opcode < 32 && (OPCODES_FEATURE & BIT(opcode)) && (BIT(opcode) &
	    opcodes_of(UNIV_FEATURE_WINDOWS | UNIV_FEATURE_ATOMIC_WRITE, qp->ibv.qp_type)))
		return univ_fail_no_operation(verb, err, opcode);
	return univ_fail_opcode(verb, err, qp->ibv.qp_type, opcode);
}

int univ_send_full(const char *verb, const struct univ_qp *qp, uint32_t tail)
{
	uint32_t used = qp->sq.max_wr - univ_ring_room(&qp->sq, tail);

	return univ_fail_full(verb, UNIV_LIMIT_SEND_WR, used, qp->sq.max_wr);
}

int univ_send_kick(const char *verb, const struct univ_qp *qp)
{
	return univ_cmd_kick(verb, qp->ibv.context->cmd_fd, qp->ibv.handle | UNIV_KICK_SEND);
}

static __attribute__((cold, noinline)) int send_bad(const struct univ_qp *qp,
						    const struct ibv_send_wr *wr)
{
	uint32_t opcode = (uint32_t)wr->opcode;

	if (opcode == UNIV_WR_ATOMIC_WRITE &&
	    (univ_qp_opcodes(to_ucontext(qp->ibv.context), qp->ibv.qp_type) & BIT(opcode)))
		return univ_fail_batch_only(VERB_SEND, opcode);
	if (opcode > 31 || !(qp->opcodes & BIT(opcode)))
		return univ_send_impossible(VERB_SEND, EINVAL, qp, opcode);
	if ((unsigned int)wr->num_sge > qp->sq.max_sge)
		return univ_fail_sges(VERB_SEND, (uint32_t)wr->num_sge, qp->sq.max_sge);
	return univ_fail_inline_read(VERB_SEND);
}

static __attribute__((noinline)) int send_fill_atomic(struct univ_send_wr *slot,
						      const struct ibv_send_wr *wr)
{
	uint64_t address = wr->wr.atomic.remote_addr, length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	if (univ_unlikely(length < ATOMIC_SIZE || (address & (ATOMIC_SIZE - 1))))
		return univ_fail_atomic(VERB_SEND, address, length);
	slot->remote_addr = address;
	slot->rkey = wr->wr.atomic.rkey;
	slot->atomic.compare_add = wr->wr.atomic.compare_add;
	slot->atomic.swap = wr->wr.atomic.swap;
	return 0;
}

static __attribute__((noinline)) int send_fill_datagram(struct univ_send_wr *slot,
							const struct ibv_send_wr *wr)
{
	if (univ_unlikely(!wr->wr.ud.ah))
		return univ_fail_no_ah(VERB_SEND);
	slot->ud.ah = wr->wr.ud.ah->handle;
	slot->ud.remote_qpn = wr->wr.ud.remote_qpn;
	slot->ud.remote_qkey = wr->wr.ud.remote_qkey;
	slot->ud.reserved = 0;
	return 0;
}

static __attribute__((noinline)) int send_fill_bind(struct univ_send_wr *slot,
						    const struct ibv_send_wr *wr)
{
	return univ_send_fill_bind(VERB_SEND, slot, wr->bind_mw.mw, wr->bind_mw.rkey,
				   &wr->bind_mw.bind_info);
}

static inline int send_fill_target(const struct univ_qp *qp, struct univ_send_wr *slot,
				   const struct ibv_send_wr *wr)
{
	uint32_t bit = BIT(wr->opcode);

	if (bit & OPCODES_REMOTE) {
		slot->remote_addr = wr->wr.rdma.remote_addr;
		slot->rkey = wr->wr.rdma.rkey;
		return 0;
	}
	if (qp->ibv.qp_type == IBV_QPT_UD)
		return send_fill_datagram(slot, wr);
	if (bit & OPCODES_ATOMIC)
		return send_fill_atomic(slot, wr);
	return univ_unlikely(bit & BIT(UNIV_WR_BIND_MW)) ? send_fill_bind(slot, wr) : 0;
}

/* What is short is not worth a call. */
static inline void bytes_copy(uint8_t *to, const uint8_t *from, uint32_t length)
{
	if (length > 16) {
		memcpy(to, from, length);
	} else if (length >= 8) {
		/* The two halves overlap unless there are 16. */
		memcpy(to, from, 8);
		memcpy(to + length - 8, from + length - 8, 8);
	} else {
		while (length--)
			*to++ = *from++;
	}
}

static inline int send_copy_inline(const struct univ_qp *qp, struct univ_send_wr *slot,
				   const struct ibv_send_wr *wr)
{
	const struct ibv_sge *sge = wr->sg_list, *end = sge + (uint32_t)wr->num_sge;
	uint64_t used = 0;

	for (; sge != end; sge++) {
		if (univ_unlikely(used + sge->length > qp->max_inline))
			return univ_fail_inline(VERB_SEND, used + sge->length, qp->max_inline);
		bytes_copy(slot->data + used, (const uint8_t *)(uintptr_t)sge->addr, sge->length);
		used += sge->length;
	}
	slot->count = (uint16_t)used;
	return 0;
}

static inline void sges_copy(struct univ_sge *to, const struct ibv_sge *from, uint32_t count)
{
	const struct ibv_sge *end = from + count;

	for (; from != end; from++, to++)
		memcpy(to, from, sizeof(*to));
}

static inline __attribute__((always_inline)) int
send_write(const struct univ_qp *qp, struct univ_send_wr *slot, const struct ibv_send_wr *wr)
{
	uint32_t count = (uint32_t)wr->num_sge;
	uint32_t opcode = (uint32_t)wr->opcode;
	uint32_t flags = wr->send_flags;
	int err;

	if (univ_unlikely(opcode > 31 || !(qp->opcodes >> opcode & 1) || count > qp->sq.max_sge))
		return send_bad(qp, wr);
	slot->wr_id = wr->wr_id;
	slot->opcode = (uint8_t)opcode;
	slot->flags = (uint8_t)(flags & WR_FLAGS);
	slot->srqn = univ_unlikely(qp->ibv.qp_type == IBV_QPT_XRC_SEND) ?
			     wr->qp_type.xrc.remote_srqn : 0;
	slot->imm = wr->imm_data;
	err = send_fill_target(qp, slot, wr);
	if (univ_unlikely(err))
		return err;
	if (flags & UNIV_WR_INLINE) {
		if (univ_unlikely(!(BIT(opcode) & OPCODES_OUT)))
			return send_bad(qp, wr);
		return send_copy_inline(qp, slot, wr);
	}
	slot->count = (uint16_t)count;
	sges_copy(slot->sge, wr->sg_list, count);
	return 0;
}

/* Fills slots for as much of the list as is good; @wr moves to what is not. */
static inline __attribute__((always_inline)) int
send_fill(const struct univ_qp *qp, uint32_t *tail, struct ibv_send_wr **wr)
{
	uint32_t room = univ_ring_room(&qp->sq, *tail);
	int err;

	for (; *wr; *wr = (*wr)->next) {
		if (univ_unlikely(!room--))
			return univ_send_full(VERB_SEND, qp, *tail);
		err = send_write(qp, univ_ring_slot(&qp->sq, *tail), *wr);
		if (univ_unlikely(err))
			return err;
		(*tail)++;
	}
	return 0;
}

static __attribute__((noinline)) int send_kick(const struct univ_qp *qp, struct ibv_send_wr *first,
					       struct ibv_send_wr **bad)
{
	int err = univ_send_kick(VERB_SEND, qp);

	if (univ_unlikely(err))
		*bad = first;
	return err;
}

/* What quick posts leave to be done */
enum post_rest {
	POST_KICK = 1 << 0,
	POST_WAKE = UNIV_LOCK_WAITED,	/* whoever waits for the lock */
	POST_ALL = 1 << 2,
	POST_LOCKED = 1 << 3,	/* and the lock is held */
};

/* A list. Called with the lock held, returns without. */
static __attribute__((noinline)) int send_list(struct univ_qp *qp, struct ibv_send_wr *wr,
					       struct ibv_send_wr **bad)
{
	struct ibv_send_wr *first = wr;
	uint32_t tail = qp->sq.tail;
	bool kick = false;
	int err, kicked;

	err = send_fill(qp, &tail, &wr);
	if (univ_likely(tail != qp->sq.tail))
		kick = univ_ring_publish(&qp->sq, tail);
	univ_unlock(&qp->sq_lock);
	if (univ_unlikely(err)) {
		*bad = wr;
		univ_fail_tell();
	}
	kicked = kick ? send_kick(qp, first, bad) : 0;
	return kicked ? kicked : err;
}

/* The longest inline data that is copied word by word; a call does better with more. */
#define QUICK_INLINE 64

/* At least a word; the last one overlaps with the one before unless all are whole. */
static inline void words_copy(uint8_t *to, const uint8_t *from, uint32_t length)
{
	const uint8_t *last = from + length - 8;

	for (; from < last; from += 8, to += 8)
		memcpy(to, from, 8);
	memcpy(to - (from - last), last, 8);
}

static inline bool quick_inline(const struct univ_qp *qp, struct univ_send_wr *slot,
				const struct ibv_sge *sge, uint32_t opcode)
{
	uint32_t length = sge->length;

	const uint8_t *from = (const uint8_t *)(uintptr_t)sge->addr;

	if (univ_unlikely(length > QUICK_INLINE || length > qp->max_inline ||
			  opcode == UNIV_WR_RDMA_READ))
		return false;
	slot->count = (uint16_t)length;
	if (length < 8)
		bytes_copy(slot->data, from, length);
	else
		words_copy(slot->data, from, length);
	return true;
}

/*
 * One request of one piece, which is what most programs post at a time, without a
 * call, as recv_quick(). A slot that is not published may be written as often as
 * one likes. Of a send what would be the remote address is copied along: nobody
 * reads it.
 */
static inline __attribute__((always_inline)) unsigned int
send_quick(struct univ_qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t tail, opcode, flags;
	struct univ_send_wr *slot;
	bool kick;

	if (univ_unlikely(!wr || wr->next || wr->num_sge != 1))
		return POST_ALL;
	opcode = (uint32_t)wr->opcode;
	if (univ_unlikely(opcode > 31 || !(qp->quick >> opcode & 1) || !univ_trylock(&qp->sq_lock)))
		return POST_ALL;
	tail = qp->sq.tail;
	if (univ_unlikely(!univ_ring_room(&qp->sq, tail)))
		return POST_ALL | POST_LOCKED;
	slot = univ_ring_slot(&qp->sq, tail);
	flags = wr->send_flags;
	slot->wr_id = wr->wr_id;
	slot->opcode = (uint8_t)opcode;
	slot->flags = (uint8_t)(flags & WR_FLAGS);
	slot->srqn = 0;
	slot->imm = wr->imm_data;
	slot->rkey = wr->wr.rdma.rkey;
	slot->remote_addr = wr->wr.rdma.remote_addr;
	if (!(flags & UNIV_WR_INLINE)) {
		slot->count = 1;
		memcpy(slot->sge, wr->sg_list, sizeof(*slot->sge));
	} else if (univ_unlikely(!quick_inline(qp, slot, wr->sg_list, opcode))) {
		return POST_ALL | POST_LOCKED;
	}
	kick = univ_ring_publish(&qp->sq, tail + 1);
	return (kick ? POST_KICK : 0) | univ_unlock_quiet(&qp->sq_lock);
}

static __attribute__((noinline)) int send_rest(struct univ_qp *qp, struct ibv_send_wr *wr,
					       struct ibv_send_wr **bad, unsigned int rest)
{
	if (rest & POST_ALL) {
		if (!(rest & POST_LOCKED))
			univ_lock(&qp->sq_lock);
		return send_list(qp, wr, bad);
	}
	if (rest & POST_WAKE)
		univ_lock_wake(&qp->sq_lock);
	return rest & POST_KICK ? send_kick(qp, wr, bad) : 0;
}

static __attribute__((cold, noinline)) int send_refused(const struct univ_qp *qp,
							struct ibv_send_wr *wr,
							struct ibv_send_wr **bad)
{
	*bad = wr;
	return univ_send_refused(VERB_SEND, qp);
}

int univ_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct univ_qp *qp = to_uqp(ibv);
	unsigned int rest;

	if (univ_unlikely(!univ_send_allowed(qp)))
		return send_refused(qp, wr, bad);
	rest = send_quick(qp, wr);
	if (univ_likely(rest == POST_KICK))
		return send_kick(qp, wr, bad);
	return rest ? send_rest(qp, wr, bad, rest) : 0;
}

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

/*
 * One request of one piece, which is what most programs post at a time. Whatever
 * else is to be done is left to a function that is called last, so that this
 * needs no more registers than a function may use as it likes. The ring has room for
 * a piece.
 */
static inline __attribute__((always_inline)) unsigned int
recv_quick(struct univ_lock *lock, struct univ_ring *ring, const struct ibv_recv_wr *wr)
{
	struct univ_ring_head *head;
	struct univ_recv_wr *slot;
	uint32_t tail;
	bool kick;

	if (univ_unlikely(!wr || wr->next || wr->num_sge != 1 || !univ_trylock(lock)))
		return POST_ALL;
	head = ring->head;
	tail = ring->tail;
	if (univ_unlikely(!univ_ring_room(ring, tail)))
		return POST_ALL | POST_LOCKED;
	slot = univ_ring_slot(ring, tail);
	slot->wr_id = wr->wr_id;
	slot->count = 1;
	slot->reserved = 0;
	memcpy(slot->sge, wr->sg_list, sizeof(*slot->sge));
	ring->tail = ++tail;
	kick = univ_ring_publish_at(head, tail);
	return (kick ? POST_KICK : 0) | univ_unlock_quiet(lock);
}

struct recv_queue {
	const char *verb;
	const struct ibv_context *context;
	struct univ_lock *lock;
	struct univ_ring *ring;
	uint32_t handle;
};

/* A list. Called with the lock held, returns without. */
static int recv_list(const struct recv_queue *q, struct ibv_recv_wr *first,
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
	kicked = recv_kick(q->verb, q->context, q->handle, first, bad);
	return kicked ? kicked : err;
}

static int recv_rest(const struct recv_queue *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
		     unsigned int rest)
{
	if (rest & POST_ALL) {
		if (!(rest & POST_LOCKED))
			univ_lock(q->lock);
		return recv_list(q, wr, bad);
	}
	if (rest & POST_WAKE)
		univ_lock_wake(q->lock);
	return rest & POST_KICK ? recv_kick(q->verb, q->context, q->handle, wr, bad) : 0;
}

static __attribute__((cold, noinline)) int recv_refused(const struct univ_qp *qp)
{
	if (gone(qp->doorbell))
		return gone_fail(VERB_RECV, qp->ibv.context);
	if (qp->ibv.qp_type == IBV_QPT_XRC_SEND || qp->ibv.qp_type == IBV_QPT_XRC_RECV)
		return univ_fail_qp_type(VERB_RECV, qp->ibv.qp_type);
	if (!qp->rq.head)
		return univ_fail_no_receives(VERB_RECV, qp->ibv.state, qp->ibv.srq);
	return univ_fail_post_state(VERB_RECV, qp->ibv.state, true);
}

static __attribute__((noinline)) int qp_recv_rest(struct ibv_qp *ibv, struct ibv_recv_wr *wr,
						  struct ibv_recv_wr **bad, unsigned int rest)
{
	struct univ_qp *qp = to_uqp(ibv);
	const struct recv_queue q = { VERB_RECV, ibv->context, &qp->rq_lock, &qp->rq, ibv->handle };

	return recv_rest(&q, wr, bad, rest);
}

/* There is no queue, or none now, or its requests have no pieces. */
static __attribute__((noinline)) int recv_slowly(struct univ_qp *qp, struct ibv_recv_wr *wr,
						 struct ibv_recv_wr **bad)
{
	if (univ_peek(&qp->ibv.state) != IBV_QPS_RESET && qp->rq.head && !gone(qp->doorbell))
		return qp_recv_rest(&qp->ibv, wr, bad, POST_ALL);
	*bad = wr;
	return recv_refused(qp);
}

int univ_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct univ_qp *qp = to_uqp(ibv);
	unsigned int rest;

	if (univ_unlikely(!univ_glance(&qp->recv_sge) || gone(qp->doorbell)))
		return recv_slowly(qp, wr, bad);
	rest = recv_quick(&qp->rq_lock, &qp->rq, wr);
	return univ_likely(!rest) ? 0 : qp_recv_rest(ibv, wr, bad, rest);
}

static __attribute__((noinline)) int srq_recv_rest(struct ibv_srq *ibv, struct ibv_recv_wr *wr,
						   struct ibv_recv_wr **bad, unsigned int rest)
{
	struct univ_srq *srq = to_usrq(ibv);
	const struct recv_queue q = { VERB_SRQ_RECV, ibv->context, &srq->lock, &srq->ring,
				      ibv->handle };

	return recv_rest(&q, wr, bad, rest);
}

int univ_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct univ_srq *srq = to_usrq(ibv);
	unsigned int rest;

	if (univ_unlikely(gone(srq->doorbell))) {
		*bad = wr;
		return gone_fail(VERB_SRQ_RECV, ibv->context);
	}
	if (univ_unlikely(!srq->ring.max_sge))
		return srq_recv_rest(ibv, wr, bad, POST_ALL);
	rest = recv_quick(&srq->lock, &srq->ring, wr);
	return univ_likely(!rest) ? 0 : srq_recv_rest(ibv, wr, bad, rest);
}
