// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting between ibv_wr_start(3) and ibv_wr_complete(3): each request is built in
 * its slot of the ring, and ibv_wr_complete(3) publishes them together. The send
 * lock is held from start to complete or abort. The first error is kept, later
 * calls are ignored, and ibv_wr_complete(3) then drops the whole batch.
 */
#include <errno.h>
#include <string.h>

#include "ring/post.h"
#include "why/why.h"

#define VERB "ibv_wr_complete"

/* The longest range of a flush. */
#define FLUSH_MAX (1ull << 31)

static struct univ_qp *from_ex(struct ibv_qp_ex *ex)
{
	return univ_container(ex, struct univ_qp, ex);
}

static __attribute__((cold)) void build_refuse(struct univ_qp *qp, int err)
{
	qp->build.err = err;
	qp->build.slot = NULL;
}

/*
 * Returns the slot of the next request with its head filled in, or NULL. Setters
 * find the slot in build.slot, which is NULL once an error has been recorded.
 */
static struct univ_send_wr *build_next(struct ibv_qp_ex *ex, enum univ_wr_opcode opcode)
{
	struct univ_qp *qp = from_ex(ex);
	struct univ_qp_build *build = &qp->build;
	struct univ_send_wr *slot;

	if (univ_unlikely(build->err))
		return NULL;
	if (univ_unlikely(!univ_ring_room(&qp->sq, build->tail))) {
		build_refuse(qp, univ_send_full(VERB, qp, build->tail));
		return NULL;
	}
	slot = univ_ring_slot(&qp->sq, build->tail++);
	slot->wr_id = ex->wr_id;
	slot->opcode = opcode;
	slot->flags = (uint8_t)(ex->wr_flags & qp->send_flags & ~UNIV_WR_INLINE);
	slot->count = 0;
	slot->srqn = 0;
	slot->imm = 0;
	slot->rkey = 0;
	/* Clears the address handle of a former request: a datagram without one must fail. */
	slot->ud.ah = 0;
	build->slot = slot;
	return slot;
}

static struct univ_send_wr *build_remote(struct ibv_qp_ex *ex, enum univ_wr_opcode opcode,
					 uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	struct univ_send_wr *slot = build_next(ex, opcode);

	if (!slot)
		return NULL;
	slot->rkey = rkey;
	slot->remote_addr = remote_addr;
	slot->imm = imm;
	return slot;
}

static void build_atomic(struct ibv_qp_ex *ex, enum univ_wr_opcode opcode, uint32_t rkey,
			 uint64_t remote_addr, uint64_t compare_add, uint64_t swap)
{
	struct univ_send_wr *slot = build_next(ex, opcode);

	if (!slot)
		return;
	slot->rkey = rkey;
	slot->remote_addr = remote_addr;
	slot->atomic.compare_add = compare_add;
	slot->atomic.swap = swap;
	if (remote_addr & 7)
		build_refuse(from_ex(ex), univ_fail_atomic(VERB, remote_addr, 8));
}

static void wr_send(struct ibv_qp_ex *ex)
{
	build_next(ex, UNIV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct univ_send_wr *slot = build_next(ex, UNIV_WR_SEND_WITH_IMM);

	if (slot)
		slot->imm = imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct univ_send_wr *slot = build_next(ex, UNIV_WR_SEND_WITH_INV);

	if (slot)
		slot->imm = invalidate_rkey;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	build_remote(ex, UNIV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	build_remote(ex, UNIV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	build_remote(ex, UNIV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm_data);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	build_atomic(ex, UNIV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	build_atomic(ex, UNIV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

/* The bytes are valid during the call only, so they go where inline data goes. */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	struct univ_qp *qp = from_ex(ex);
	struct univ_send_wr *slot = build_remote(ex, UNIV_WR_ATOMIC_WRITE, rkey, remote_addr, 0);

	if (!slot)
		return;
	if (univ_unlikely(remote_addr % 8)) {
		build_refuse(qp, univ_fail_atomic(VERB, remote_addr, 8));
		return;
	}
	memcpy(slot->data, atomic_wr, 8);
	slot->count = 8;
	slot->flags |= UNIV_WR_INLINE;
}

static bool flush_is_valid(size_t len, uint8_t type, uint8_t level)
{
	if (!type || type & ~(IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT))
		return false;
	return level == IBV_FLUSH_MR || (level == IBV_FLUSH_RANGE && len <= FLUSH_MAX);
}

static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t len,
		     uint8_t type, uint8_t level)
{
	struct univ_send_wr *slot = build_remote(ex, UNIV_WR_FLUSH, rkey, remote_addr, 0);

	if (!slot)
		return;
	if (univ_unlikely(!flush_is_valid(len, type, level))) {
		build_refuse(from_ex(ex), univ_fail_flush(VERB, type, level, len));
		return;
	}
	slot->flush.length = len;
	slot->flush.type = type;
	slot->flush.level = level;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct univ_send_wr *slot = build_next(ex, UNIV_WR_BIND_MW);
	int err;

	if (!slot)
		return;
	err = univ_send_fill_bind(VERB, slot, mw, rkey, info);
	if (univ_unlikely(err))
		build_refuse(from_ex(ex), err);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct univ_send_wr *slot = build_next(ex, UNIV_WR_LOCAL_INV);

	if (slot)
		slot->imm = invalidate_rkey;
}

static void wr_send_tso(struct ibv_qp_ex *ex, void *header, uint16_t size, uint16_t mss)
{
	struct univ_qp *qp = from_ex(ex);
	struct univ_send_wr *slot = build_next(ex, UNIV_WR_TSO);
	int err;

	if (!slot)
		return;
	err = univ_send_fill_tso(VERB, qp, slot, header, size, mss);
	if (univ_unlikely(err))
		build_refuse(qp, err);
}

static void refuse_opcode(struct ibv_qp_ex *ex, enum univ_wr_opcode opcode)
{
	struct univ_qp *qp = from_ex(ex);
	uint32_t offered = univ_qp_opcodes(to_ucontext(qp->ibv.context), qp->ibv.qp_type);

	if (qp->build.err)
		return;
	build_refuse(qp, offered & BIT(opcode) ?
			 univ_fail_not_asked(VERB, opcode) :
			 univ_send_impossible(VERB, EOPNOTSUPP, qp, opcode));
}

/* Operations that were not asked for at creation or are not offered are never NULL. */
static void refuse_send(struct ibv_qp_ex *ex)
{
	refuse_opcode(ex, UNIV_WR_SEND);
}

static void refuse_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	(void)imm_data;
	refuse_opcode(ex, UNIV_WR_SEND_WITH_IMM);
}

static void refuse_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	(void)rkey;
	refuse_opcode(ex, UNIV_WR_SEND_WITH_INV);
}

static void refuse_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	(void)rkey;
	refuse_opcode(ex, UNIV_WR_LOCAL_INV);
}

static void refuse_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	(void)rkey;
	(void)remote_addr;
	refuse_opcode(ex, UNIV_WR_RDMA_READ);
}

static void refuse_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	(void)rkey;
	(void)remote_addr;
	refuse_opcode(ex, UNIV_WR_RDMA_WRITE);
}

static void refuse_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				  __be32 imm_data)
{
	(void)rkey;
	(void)remote_addr;
	(void)imm_data;
	refuse_opcode(ex, UNIV_WR_RDMA_WRITE_WITH_IMM);
}

static void refuse_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				  uint64_t compare, uint64_t swap)
{
	(void)rkey;
	(void)remote_addr;
	(void)compare;
	(void)swap;
	refuse_opcode(ex, UNIV_WR_ATOMIC_CMP_AND_SWP);
}

static void refuse_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				    uint64_t add)
{
	(void)rkey;
	(void)remote_addr;
	(void)add;
	refuse_opcode(ex, UNIV_WR_ATOMIC_FETCH_AND_ADD);
}

static void refuse_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				const void *atomic_wr)
{
	(void)rkey;
	(void)remote_addr;
	(void)atomic_wr;
	refuse_opcode(ex, UNIV_WR_ATOMIC_WRITE);
}

static void refuse_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
			   const struct ibv_mw_bind_info *info)
{
	(void)mw;
	(void)rkey;
	(void)info;
	refuse_opcode(ex, UNIV_WR_BIND_MW);
}

static void refuse_send_tso(struct ibv_qp_ex *ex, void *header, uint16_t size, uint16_t mss)
{
	(void)header;
	(void)size;
	(void)mss;
	refuse_opcode(ex, UNIV_WR_TSO);
}

static void refuse_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t len,
			 uint8_t type, uint8_t level)
{
	(void)rkey;
	(void)remote_addr;
	(void)len;
	(void)type;
	(void)level;
	refuse_opcode(ex, UNIV_WR_FLUSH);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct univ_qp *qp = from_ex(ex);
	struct univ_send_wr *slot = qp->build.slot;

	if (!slot)
		return;
	/* In another context the handle is unknown, or names another object. */
	if (univ_unlikely(!ah || qp->ibv.qp_type != IBV_QPT_UD ||
			  ah->context != qp->ibv.context)) {
		build_refuse(qp, univ_fail_no_ah(VERB));
		return;
	}
	slot->ud.ah = ah->handle;
	slot->ud.remote_qpn = remote_qpn;
	slot->ud.remote_qkey = remote_qkey;
	slot->ud.reserved = 0;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct univ_qp *qp = from_ex(ex);

	if (!qp->build.slot)
		return;
	if (univ_unlikely(qp->ibv.qp_type != IBV_QPT_XRC_SEND))
		build_refuse(qp, univ_fail_not_xrc_send(VERB, qp->ibv.qp_type));
	else
		qp->build.slot->srqn = remote_srqn;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct univ_send_wr *slot = from_ex(ex)->build.slot;

	if (!slot)
		return;
	slot->sge[0] = (struct univ_sge) {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};
	slot->count = 1;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct univ_qp *qp = from_ex(ex);
	struct univ_send_wr *slot = qp->build.slot;

	if (!slot)
		return;
	if (univ_unlikely(num_sge > qp->sq.max_sge)) {
		build_refuse(qp, univ_fail_sges(VERB, num_sge, qp->sq.max_sge));
		return;
	}
	/* memcpy() takes no null pointer, even for no bytes. */
	if (num_sge)
		memcpy(slot->data, sg_list, num_sge * sizeof(*sg_list));
	slot->count = (uint16_t)num_sge;
}

/* Appends to the inline data. Returns false if there is no room. */
static bool inline_append(struct univ_qp *qp, const void *from, size_t length)
{
	struct univ_send_wr *slot = qp->build.slot;

	if (univ_unlikely(length > qp->max_inline - slot->count)) {
		build_refuse(qp, univ_fail_inline(VERB, slot->count + length, qp->max_inline));
		return false;
	}
	if (length)
		memcpy(&slot->data[slot->count], from, length);
	slot->count = (uint16_t)(slot->count + length);
	return true;
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *list)
{
	struct univ_qp *qp = from_ex(ex);
	size_t i;

	if (!qp->build.slot)
		return;
	qp->build.slot->flags |= UNIV_WR_INLINE;
	qp->build.slot->count = 0;
	for (i = 0; i < num_buf; i++) {
		if (!inline_append(qp, list[i].addr, list[i].length))
			return;
	}
	/* A read of nothing, for example, is valid; see send_fill_nothing() in post_send.c. */
	if (!qp->build.slot->count && !(BIT(qp->build.slot->opcode) & UNIV_OPCODES_OUT))
		qp->build.slot->flags &= (uint8_t)~UNIV_WR_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf one = {
		.addr = addr,
		.length = length,
	};

	wr_set_inline_data_list(ex, 1, &one);
}

static __attribute__((cold, noinline)) void start_refuse(struct univ_qp *qp)
{
	univ_fail_defer();
	build_refuse(qp, univ_send_refused(VERB, qp));
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct univ_qp *qp = from_ex(ex);

	univ_lock(&qp->sq_lock);
	qp->build = (struct univ_qp_build) { .tail = qp->sq.tail };
	if (univ_unlikely(!univ_send_allowed(qp)))
		start_refuse(qp);
}

/* The operation of programs whose failures are printed. */
static void wr_start_telling(struct ibv_qp_ex *ex)
{
	const struct univ_watch_ops *watch = to_ucontext(ex->qp_base.context)->watch;

	if (watch)
		watch->call("ibv_wr_start", ex->qp_base.context);
	wr_start(ex);
}

/* Publishes nothing. Prints the recorded failure when the lock is released. */
static __attribute__((cold, noinline)) int complete_refused(struct univ_qp *qp)
{
	int err = qp->build.err;

	univ_unlock(&qp->sq_lock);
	univ_fail_tell();
	return err;
}

static inline __attribute__((always_inline)) int
wr_complete(struct ibv_qp_ex *ex, int (*tell)(const char *verb, const struct univ_qp *qp))
{
	struct univ_qp *qp = from_ex(ex);
	bool kick = false;

	qp->build.slot = NULL;
	if (univ_unlikely(qp->build.err))
		return complete_refused(qp);
	if (univ_likely(qp->build.tail != qp->sq.tail))
		kick = univ_ring_publish(&qp->sq, qp->build.tail);
	univ_unlock(&qp->sq_lock);
	return kick ? tell(VERB, qp) : 0;
}

int univ_wr_complete(struct ibv_qp_ex *ex)
{
	return wr_complete(ex, univ_send_kick);
}

int univ_wr_complete_bell(struct ibv_qp_ex *ex)
{
	return wr_complete(ex, univ_send_ring);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct univ_qp *qp = from_ex(ex);

	qp->build.slot = NULL;
	if (qp->build.err)
		complete_refused(qp);
	else
		univ_unlock(&qp->sq_lock);
}

#define SET_OP(name, flag) (ex->wr_##name = ops & (flag) ? wr_##name : refuse_##name)

static void operations_set(struct ibv_qp_ex *ex, uint64_t ops)
{
	SET_OP(send, IBV_QP_EX_WITH_SEND);
	SET_OP(send_imm, IBV_QP_EX_WITH_SEND_WITH_IMM);
	SET_OP(send_inv, IBV_QP_EX_WITH_SEND_WITH_INV);
	SET_OP(rdma_read, IBV_QP_EX_WITH_RDMA_READ);
	SET_OP(rdma_write, IBV_QP_EX_WITH_RDMA_WRITE);
	SET_OP(rdma_write_imm, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM);
	SET_OP(atomic_cmp_swp, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP);
	SET_OP(atomic_fetch_add, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
	SET_OP(atomic_write, IBV_QP_EX_WITH_ATOMIC_WRITE);
	SET_OP(flush, IBV_QP_EX_WITH_FLUSH);
	SET_OP(bind_mw, IBV_QP_EX_WITH_BIND_MW);
	SET_OP(local_inv, IBV_QP_EX_WITH_LOCAL_INV);
	SET_OP(send_tso, IBV_QP_EX_WITH_TSO);
}

void univ_qp_ex_init(struct univ_qp *qp, uint64_t ops)
{
	struct ibv_qp_ex *ex = &qp->ex;

	operations_set(ex, ops);
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = univ_fail_printed() ? wr_start_telling : wr_start;
	ex->wr_complete = to_ucontext(qp->ibv.context)->post->complete;
	ex->wr_abort = wr_abort;
	qp->is_ex = true;
}
