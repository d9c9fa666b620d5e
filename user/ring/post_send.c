// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting by ibv_post_send(3). A list is published as a whole, and kicks the
 * kernel at most once. Memory is allocated only when a thread fails for the first
 * time. The only system calls are that kick, and the sleep when another thread
 * keeps the lock for long.
 */
#include <errno.h>
#include <string.h>

#include "ring/quick.h"
#include "why/why.h"

#define VERB "ibv_post_send"

/* An XRC receive queue pair has no send queue in any state. */
#define SEND_STATES (BIT(IBV_QPS_RTS) | BIT(IBV_QPS_SQD) | BIT(IBV_QPS_SQE) | BIT(IBV_QPS_ERR))

#define ATOMIC_SIZE 8

uint32_t univ_send_flags(enum ibv_qp_type type)
{
	return type == IBV_QPT_RAW_PACKET ? UNIV_WR_FLAGS | UNIV_WR_IP_CSUM : UNIV_WR_FLAGS;
}

uint32_t univ_send_states(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_RECV ? 0 : SEND_STATES;
}

bool univ_send_allowed(const struct univ_qp *qp)
{
	return (BIT(univ_load_plain(&qp->ibv.state)) & qp->send_states) &&
	       !univ_device_gone(qp->doorbell);
}

int univ_send_refused(const char *verb, const struct univ_qp *qp)
{
	if (univ_device_gone(qp->doorbell))
		return univ_fail_gone(verb, qp->ibv.context->device->name);
	if (!qp->send_states)
		return univ_fail_qp_type(verb, qp->ibv.qp_type);
	return univ_fail_send_state(verb, qp->ibv.state);
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

	if (opcode < 32 && (UNIV_OPCODES_EX_ONLY & BIT(opcode)) &&
	    (univ_qp_opcodes(to_ucontext(qp->ibv.context), qp->ibv.qp_type) & BIT(opcode)))
		return univ_fail_batch_only(VERB, opcode);
	if (opcode > 31 || !(qp->opcodes & BIT(opcode)))
		return univ_send_impossible(VERB, EINVAL, qp, opcode);
	return univ_fail_sges(VERB, (uint32_t)wr->num_sge, qp->sq.max_sge);
}

static __attribute__((noinline)) int send_fill_atomic(struct univ_send_wr *slot,
						      const struct ibv_send_wr *wr)
{
	uint64_t address = wr->wr.atomic.remote_addr, length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	if (univ_unlikely(length < ATOMIC_SIZE || (address & (ATOMIC_SIZE - 1))))
		return univ_fail_atomic(VERB, address, length);
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
		return univ_fail_no_ah(VERB);
	slot->ud.ah = wr->wr.ud.ah->handle;
	slot->ud.remote_qpn = wr->wr.ud.remote_qpn;
	slot->ud.remote_qkey = wr->wr.ud.remote_qkey;
	slot->ud.reserved = 0;
	return 0;
}

/* Operations that few programs use, so that one test finds them. */
static __attribute__((noinline)) int send_fill_rare(const struct univ_qp *qp,
						    struct univ_send_wr *slot,
						    const struct ibv_send_wr *wr)
{
	if ((uint32_t)wr->opcode == UNIV_WR_TSO)
		return univ_send_fill_tso(VERB, qp, slot, wr->tso.hdr, wr->tso.hdr_sz, wr->tso.mss);
	return univ_send_fill_bind(VERB, slot, wr->bind_mw.mw, wr->bind_mw.rkey,
				   &wr->bind_mw.bind_info);
}

static inline int send_fill_target(const struct univ_qp *qp, struct univ_send_wr *slot,
				   const struct ibv_send_wr *wr)
{
	uint32_t bit = BIT(wr->opcode);

	if (bit & UNIV_OPCODES_REMOTE) {
		slot->remote_addr = wr->wr.rdma.remote_addr;
		slot->rkey = wr->wr.rdma.rkey;
		return 0;
	}
	if (qp->ibv.qp_type == IBV_QPT_UD)
		return send_fill_datagram(slot, wr);
	if (bit & UNIV_OPCODES_ATOMIC)
		return send_fill_atomic(slot, wr);
	return univ_unlikely(bit & (BIT(UNIV_WR_BIND_MW) | BIT(UNIV_WR_TSO))) ?
		send_fill_rare(qp, slot, wr) : 0;
}

static inline int send_copy_inline(const struct univ_qp *qp, struct univ_send_wr *slot,
				   const struct ibv_send_wr *wr)
{
	const struct ibv_sge *sge = wr->sg_list, *end = sge + (uint32_t)wr->num_sge;
	uint64_t used = 0;

	for (; sge != end; sge++) {
		if (univ_unlikely(used + sge->length > qp->max_inline))
			return univ_fail_inline(VERB, used + sge->length, qp->max_inline);
		bytes_copy(slot->data + used, (const uint8_t *)(uintptr_t)sge->addr, sge->length);
		used += sge->length;
	}
	slot->count = (uint16_t)used;
	return 0;
}

/*
 * Some programs set IBV_SEND_INLINE on each small request. As in other libraries it is ignored for
 * zero bytes, also if the opcode sends no data (a read, for example).
 */
static __attribute__((noinline)) int send_fill_nothing(struct univ_send_wr *slot,
						       const struct ibv_send_wr *wr)
{
	for (int i = 0; i < wr->num_sge; i++)
		if (wr->sg_list[i].length)
			return univ_fail_inline_read(VERB);
	slot->flags &= (uint8_t)~UNIV_WR_INLINE;
	slot->count = 0;
	return 0;
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
	slot->flags = (uint8_t)(flags & qp->send_flags);
	slot->srqn = univ_unlikely(qp->ibv.qp_type == IBV_QPT_XRC_SEND) ?
			     wr->qp_type.xrc.remote_srqn : 0;
	slot->imm = wr->imm_data;
	err = send_fill_target(qp, slot, wr);
	if (univ_unlikely(err))
		return err;
	if (flags & UNIV_WR_INLINE) {
		if (univ_unlikely(!(BIT(opcode) & UNIV_OPCODES_OUT)))
			return send_fill_nothing(slot, wr);
		return send_copy_inline(qp, slot, wr);
	}
	slot->count = (uint16_t)count;
	sges_copy(slot->sge, wr->sg_list, count);
	return 0;
}

/* Most requests of a list are written by the quick half as well. */
static inline __attribute__((always_inline)) int
send_either(const struct univ_qp *qp, struct univ_send_wr *slot, const struct ibv_send_wr *wr)
{
	if (quick_takes(qp, wr) && quick_fill(qp, slot, wr))
		return 0;
	return send_write(qp, slot, wr);
}

/* Fills slots until the end of the list or the first bad request, to which @wr then points. */
static inline __attribute__((always_inline)) int
send_fill(const struct univ_qp *qp, uint32_t *tail, struct ibv_send_wr **wr)
{
	uint32_t room = univ_ring_room(&qp->sq, *tail);
	int err;

	for (; *wr; *wr = (*wr)->next) {
		if (univ_unlikely(!room--))
			return univ_send_full(VERB, qp, *tail);
		err = send_either(qp, univ_ring_slot(&qp->sq, *tail), *wr);
		if (univ_unlikely(err))
			return err;
		(*tail)++;
	}
	return 0;
}

/* Tells the device that requests were published: by the kick, or by the bell. */
typedef int send_tell(const struct univ_qp *qp, struct ibv_send_wr *first,
		      struct ibv_send_wr **bad);

static __attribute__((noinline)) int send_kick(const struct univ_qp *qp, struct ibv_send_wr *first,
					       struct ibv_send_wr **bad)
{
	int err = univ_send_kick(VERB, qp);

	if (univ_unlikely(err))
		*bad = first;
	return err;
}

static inline int send_ring(const struct univ_qp *qp, struct ibv_send_wr *first,
			    struct ibv_send_wr **bad)
{
	(void)first;
	(void)bad;
	return univ_bell_ring(&qp->sq_bell);
}

/* Posts a list. The caller holds the lock, which is released here. */
static inline __attribute__((always_inline)) int
send_list(struct univ_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad, send_tell *tell)
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
	kicked = kick ? tell(qp, first, bad) : 0;
	return kicked ? kicked : err;
}

typedef int send_lists(struct univ_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

static __attribute__((noinline)) int send_list_kick(struct univ_qp *qp, struct ibv_send_wr *wr,
						    struct ibv_send_wr **bad)
{
	return send_list(qp, wr, bad, send_kick);
}

static __attribute__((noinline)) int send_list_bell(struct univ_qp *qp, struct ibv_send_wr *wr,
						    struct ibv_send_wr **bad)
{
	return send_list(qp, wr, bad, send_ring);
}

static inline __attribute__((always_inline)) int
send_rest(struct univ_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad, unsigned int rest,
	  send_lists *list, send_tell *tell)
{
	if (rest & POST_ALL) {
		if (!(rest & POST_LOCKED))
			univ_lock(&qp->sq_lock);
		return list(qp, wr, bad);
	}
	if (rest & POST_WAKE)
		univ_lock_wake(&qp->sq_lock);
	return rest & POST_KICK ? tell(qp, wr, bad) : 0;
}

static __attribute__((noinline)) int send_rest_kick(struct univ_qp *qp, struct ibv_send_wr *wr,
						    struct ibv_send_wr **bad, unsigned int rest)
{
	return send_rest(qp, wr, bad, rest, send_list_kick, send_kick);
}

static __attribute__((noinline)) int send_rest_bell(struct univ_qp *qp, struct ibv_send_wr *wr,
						    struct ibv_send_wr **bad, unsigned int rest)
{
	return send_rest(qp, wr, bad, rest, send_list_bell, send_ring);
}

static __attribute__((cold, noinline)) int send_refused(const struct univ_qp *qp,
							struct ibv_send_wr *wr,
							struct ibv_send_wr **bad)
{
	*bad = wr;
	return univ_send_refused(VERB, qp);
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
	return rest ? send_rest_kick(qp, wr, bad, rest) : 0;
}

/* The same for a context whose queues have bells. */
int univ_post_send_bell(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct univ_qp *qp = to_uqp(ibv);
	unsigned int rest;

	if (univ_unlikely(!univ_send_allowed(qp)))
		return send_refused(qp, wr, bad);
	rest = send_quick(qp, wr);
	if (univ_likely(rest == POST_KICK))
		return send_ring(qp, wr, bad);
	return rest ? send_rest_bell(qp, wr, bad, rest) : 0;
}
