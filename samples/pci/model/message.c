// SPDX-License-Identifier: GPL-2.0
/*
 * Messages between queue pairs: requests of reliable connections, datagrams, and the
 * receives that they take.
 */
#include <string.h>

#include "engine.h"

#define PATIENCE_MS	5000	/* for a peer that is not connected yet */
#define RNR_MS		100	/* for each retry; 7 of them are for ever */
#define RNR_FOREVER	7
#define GRH		40
#define MAX_DATAGRAM	4096

static struct iovec ours[2 * UPCI_MAX_SGE + UPCI_MAX_MSG / UPCI_PAGE];
static struct iovec theirs[2 * UPCI_MAX_SGE + UPCI_MAX_MSG / UPCI_PAGE];

#define PIECES(array) \
	((struct pieces) { array, .max = sizeof(array) / sizeof(*(array)), .need = UINT64_MAX })

/* ---- receives ------------------------------------------------------------ */

struct receive {
	struct univ_recv_wr wr;		/* up to the list */
	struct univ_sge sge[UPCI_MAX_SGE];
	bool bad;			/* the list does not fit its slot */
};

static struct ring *recv_ring(struct qp *qp)
{
	return qp->srq ? &qp->srq->ring : &qp->recv;
}

static bool recv_waits(struct guest *guest, struct qp *qp)
{
	int64_t n = ring_waiting(guest, recv_ring(qp));

	if (n < 0)
		qp_fail(guest, qp);
	return n > 0;
}

/* Returns false if there is none. */
static bool recv_take(struct guest *guest, struct qp *qp, struct receive *recv)
{
	const uint32_t head = offsetof(struct univ_recv_wr, sge);
	struct ring *ring = recv_ring(qp);

	if (!recv_waits(guest, qp))
		return false;
	steps++;
	ring_copy(guest, ring, ring->index, 0, &recv->wr, head);
	recv->bad = recv->wr.count > UPCI_MAX_SGE ||
		    recv->wr.count > (ring->at.stride - head) / sizeof(struct univ_sge);
	if (recv->bad)
		recv->wr.count = 0;
	ring_copy(guest, ring, ring->index, head, recv->sge,
		  recv->wr.count * (uint32_t)sizeof(struct univ_sge));
	ring_retire(guest, ring, ring->index + 1);
	return true;
}

static void recv_done(struct guest *guest, struct qp *qp, struct univ_cqe *cqe, bool solicited)
{
	cqe->qp_num = qp->number;
	if (!cq_write(guest, qp->recv_cq, cqe, solicited) || cqe->status)
		qp_fail(guest, qp);
}

/* The process may post as fast as receives are flushed, so the turn has an end. */
void recv_flush(struct guest *guest, struct qp *qp)
{
	struct receive recv;
	struct univ_cqe cqe;
	int i;

	for (i = 0; i < TURN; i++) {
		if (qp->srq || qp->recv_cq->overrun || !recv_take(guest, qp, &recv))
			return;
		cqe = (struct univ_cqe) {
			.wr_id = recv.wr.wr_id,
			.status = IBV_WC_WR_FLUSH_ERR,
			.opcode = IBV_WC_RECV,
		};
		recv_done(guest, qp, &cqe, true);
	}
	qp->runnable = true;
}

/* Adds the memory of a receive. Returns a status and sets the reason. */
static uint8_t recv_pieces(const struct guest *guest, const struct qp *qp,
			   const struct receive *recv, struct pieces *to, uint64_t length,
			   struct univ_cqe *cqe)
{
	if (recv->bad) {
		cqe->reason = UNIV_REASON_WR_SGE;
		return IBV_WC_LOC_QP_OP_ERR;
	}
	to->need = length;
	cqe->reason = pieces_list(guest, to, qp->pd, recv->sge, recv->wr.count,
				  IBV_ACCESS_LOCAL_WRITE);
	if (cqe->reason)
		return IBV_WC_LOC_PROT_ERR;
	if (to->length >= length)
		return IBV_WC_SUCCESS;
	cqe->reason = UNIV_REASON_RECV_SHORT;
	return IBV_WC_LOC_LEN_ERR;
}

/* ---- peers --------------------------------------------------------------- */

static struct guest *guest_find(uint32_t lid)
{
	return lid && lid <= (uint32_t)num_guests && guests[lid - 1].socket >= 0 ?
		       &guests[lid - 1] : NULL;
}

static struct qp *qp_find(struct guest *guest, uint32_t number)
{
	struct qp *qp = guest && number < UPCI_MAX_QUEUES ? &guest->qps[number] : NULL;

	return qp && qp->used && (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS) ? qp : NULL;
}

/* The request at the head waits. Returns true when it has waited too long. */
static bool qp_wait(struct qp *qp, uint64_t ms)
{
	if (!qp->waits_until)
		qp->waits_until = now_ms() + ms;
	return now_ms() >= qp->waits_until;
}

/* ---- reliable connections ------------------------------------------------ */

struct link {
	struct guest *guest;		/* the requester */
	struct qp *qp;
	struct guest *far;		/* the responder */
	struct qp *peer;
};

static uint8_t rc_no_receive(struct link *l)
{
	struct qp *qp = l->qp;

	if (l->peer->state == IBV_QPS_ERR)
		return IBV_WC_REM_OP_ERR;
	if (qp->rnr_retry == RNR_FOREVER)
		qp_wait(qp, UINT32_MAX);
	else if (qp_wait(qp, (1 + qp->rnr_retry) * RNR_MS))
		return IBV_WC_RNR_RETRY_EXC_ERR;
	return WAIT;
}

/* The message is in @from; an error here ends the receive as well. */
static uint8_t rc_receive(struct link *l, const struct request *r, const struct pieces *from)
{
	bool write = r->wr.opcode == UNIV_WR_RDMA_WRITE_WITH_IMM;
	struct pieces to = PIECES(theirs);
	struct receive recv;
	struct univ_cqe cqe = {
		.opcode = write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.byte_len = r->length,
	};

	if (!recv_take(l->far, l->peer, &recv))
		return rc_no_receive(l);
	cqe.wr_id = recv.wr.wr_id;
	if (r->wr.opcode != UNIV_WR_SEND) {
		cqe.wc_flags = IBV_WC_WITH_IMM;
		cqe.imm = r->wr.imm;
	}
	if (!write)
		cqe.status = recv_pieces(l->far, l->peer, &recv, &to, from->length, &cqe);
	if (!write && !cqe.status)
		pieces_copy(&to, from);
	recv_done(l->far, l->peer, &cqe, r->wr.flags & UNIV_WR_SOLICITED);
	if (cqe.status == IBV_WC_LOC_LEN_ERR)
		return IBV_WC_REM_INV_REQ_ERR;
	return cqe.status ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS;
}

/* The peer's memory; an error puts the peer into the error state as well. */
static uint8_t rc_remote(struct link *l, const struct request *r, struct pieces *to,
			 uint64_t length, uint32_t access, uint16_t *reason)
{
	if (length && (l->peer->access & access) != access)
		*reason = UNIV_REASON_QP_ACCESS;
	else
		*reason = pieces_add(l->far, to, l->peer->pd, r->wr.rkey, r->wr.remote_addr, length,
				     access);
	if (!*reason)
		return IBV_WC_SUCCESS;
	qp_fail(l->far, l->peer);
	return IBV_WC_REM_ACCESS_ERR;
}

/* A write that waits for a receive is not copied each time. */
static uint8_t rc_write(struct link *l, const struct request *r, const struct pieces *local,
			uint16_t *reason)
{
	bool receives = r->wr.opcode == UNIV_WR_RDMA_WRITE_WITH_IMM;
	struct pieces remote = PIECES(theirs);
	uint8_t status = rc_remote(l, r, &remote, local->length, IBV_ACCESS_REMOTE_WRITE, reason);

	if (status)
		return status;
	if (receives && !recv_waits(l->far, l->peer))
		return rc_no_receive(l);
	pieces_copy(&remote, local);
	return receives ? rc_receive(l, r, local) : IBV_WC_SUCCESS;
}

/* The processors of the guest may use the word at the same time. */
static uint8_t rc_atomic(struct link *l, struct request *r, const struct pieces *local,
			 uint16_t *reason)
{
	struct pieces remote = PIECES(theirs), result = PIECES(theirs);
	uint8_t status = rc_remote(l, r, &remote, 8, IBV_ACCESS_REMOTE_ATOMIC, reason);
	uint64_t *word, old = r->wr.atomic.compare_add;
	struct iovec iov = { &old, sizeof(old) };

	if (status)
		return status;
	if (r->wr.remote_addr % 8 || local->length < 8) {
		*reason = UNIV_REASON_ATOMIC;
		qp_fail(l->far, l->peer);
		return IBV_WC_REM_INV_REQ_ERR;
	}
	word = remote.iov[0].iov_base;
	if (r->wr.opcode == UNIV_WR_ATOMIC_FETCH_AND_ADD)
		old = __atomic_fetch_add(word, r->wr.atomic.compare_add, __ATOMIC_SEQ_CST);
	else
		__atomic_compare_exchange_n(word, &old, r->wr.atomic.swap, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	result = (struct pieces) { .iov = &iov, .count = 1, .length = sizeof(old) };
	pieces_copy(local, &result);
	return IBV_WC_SUCCESS;
}

static uint8_t rc_perform(struct link *l, struct request *r, uint16_t *reason)
{
	bool fetches = r->wr.opcode == UNIV_WR_RDMA_READ ||
		       r->wr.opcode == UNIV_WR_ATOMIC_CMP_AND_SWP ||
		       r->wr.opcode == UNIV_WR_ATOMIC_FETCH_AND_ADD;
	struct pieces local = PIECES(ours), remote = PIECES(theirs);
	uint8_t status;

	*reason = pieces_of(l->guest, &local, l->qp, r, fetches ? IBV_ACCESS_LOCAL_WRITE : 0);
	if (*reason)
		return IBV_WC_LOC_PROT_ERR;
	r->length = (uint32_t)local.length;
	switch (r->wr.opcode) {
	case UNIV_WR_SEND:
	case UNIV_WR_SEND_WITH_IMM:
		return rc_receive(l, r, &local);
	case UNIV_WR_RDMA_WRITE:
	case UNIV_WR_RDMA_WRITE_WITH_IMM:
		return rc_write(l, r, &local, reason);
	case UNIV_WR_RDMA_READ:
		status = rc_remote(l, r, &remote, local.length, IBV_ACCESS_REMOTE_READ, reason);
		if (!status)
			pieces_copy(&local, &remote);
		return status;
	default:
		return rc_atomic(l, r, &local, reason);
	}
}

uint8_t rc_request(struct guest *guest, struct qp *qp, struct request *r, uint16_t *reason)
{
	struct link l = { .guest = guest, .qp = qp, .far = guest_find(qp->dlid) };

	/* Another queue pair may have got the number of a peer that is gone: it has another PSN. */
	l.peer = qp_find(l.far, qp->dest_qpn);
	if (!l.peer || l.peer->type != IBV_QPT_RC || l.peer->dest_qpn != qp->number ||
	    l.peer->dlid != guest->lid || l.peer->rq_psn != qp->sq_psn)
		return qp_wait(qp, PATIENCE_MS) ? IBV_WC_RETRY_EXC_ERR : WAIT;
	return rc_perform(&l, r, reason);
}

/* ---- datagrams ----------------------------------------------------------- */

static const struct ah *ah_find(const struct guest *guest, uint32_t pd, uint32_t handle)
{
	uint32_t i;

	for (i = 0; i < UPCI_MAX_AHS; i++)
		if (guest->ahs[i].used && guest->ahs[i].pd == pd && guest->ahs[i].handle == handle)
			return &guest->ahs[i];
	return NULL;
}

/* A datagram that the receiver has no use for is lost. */
static void ud_deliver(struct guest *guest, struct qp *qp, const struct request *r,
		       const struct pieces *from, uint32_t dlid)
{
	struct guest *far = guest_find(dlid);
	struct qp *peer = qp_find(far, r->wr.ud.remote_qpn);
	struct pieces to = PIECES(theirs), body = *from;
	struct iovec iov[1 + UPCI_MAX_SGE * 2];
	static uint8_t grh[GRH];
	struct receive recv;
	struct univ_cqe cqe = {
		.opcode = IBV_WC_RECV,
		.byte_len = r->length + GRH,
		.src_qp = qp->number,
		.slid = (uint16_t)guest->lid,
	};

	if (!peer || peer->type != IBV_QPT_UD || peer->qkey != r->wr.ud.remote_qkey ||
	    !recv_take(far, peer, &recv))
		return;
	cqe.wr_id = recv.wr.wr_id;
	if (r->wr.opcode == UNIV_WR_SEND_WITH_IMM) {
		cqe.wc_flags = IBV_WC_WITH_IMM;
		cqe.imm = r->wr.imm;
	}
	cqe.status = recv_pieces(far, peer, &recv, &to, from->length + GRH, &cqe);
	if (!cqe.status) {
		iov[0] = (struct iovec) { grh, GRH };
		memcpy(iov + 1, from->iov, from->count * sizeof(*iov));
		body.iov = iov;
		body.count++;
		pieces_copy(&to, &body);
	}
	recv_done(far, peer, &cqe, r->wr.flags & UNIV_WR_SOLICITED);
}

uint8_t ud_request(struct guest *guest, struct qp *qp, struct request *r, uint16_t *reason)
{
	const struct ah *ah = ah_find(guest, qp->pd, r->wr.ud.ah);
	struct pieces from = PIECES(ours);

	if (!ah) {
		*reason = UNIV_REASON_WR_AH;
		return IBV_WC_LOC_QP_OP_ERR;
	}
	*reason = pieces_of(guest, &from, qp, r, 0);
	if (*reason)
		return IBV_WC_LOC_PROT_ERR;
	r->length = (uint32_t)from.length;
	if (from.length > MAX_DATAGRAM) {
		*reason = UNIV_REASON_LIMIT;
		return IBV_WC_LOC_LEN_ERR;
	}
	ud_deliver(guest, qp, r, &from, ah->dlid);
	return IBV_WC_SUCCESS;
}
