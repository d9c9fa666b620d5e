// SPDX-License-Identifier: GPL-2.0
/*
 * The work of the device: it takes requests out of the rings of processes as
 * uapi/univerbs_ring.h says, moves the bytes, and writes completions. What a
 * process writes is hostile, so each request is copied once and then checked.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model.h"

#define TURN		32	/* requests of one queue pair before the next has its turn */
#define PATIENCE_MS	5000	/* for a peer that is not connected yet */
#define RNR_MS		100	/* for each retry; 7 of them are for ever */
#define RNR_FOREVER	7
#define GRH		40
#define MAX_DATAGRAM	4096

/*
 * The work of one pass, between two looks at the commands. A step is a request, a receive,
 * or a piece of memory of at most a page. The next pass goes on where this one ended.
 */
#define PASS_STEPS	16384

static uint32_t steps;

struct request {
	struct univ_send_wr wr;		/* up to the list */
	struct univ_sge sge[UPCI_MAX_SGE];
	uint8_t data[UPCI_PAGE];
	uint32_t length;
};

/* Pieces of memory of one side of a transfer, each within a page. */
struct pieces {
	struct iovec *iov;
	uint32_t count;
	uint32_t max;
	uint64_t length;
	uint64_t need;		/* bytes behind these are checked and not used */
};

static struct iovec ours[2 * UPCI_MAX_SGE + UPCI_MAX_MSG / UPCI_PAGE];
static struct iovec theirs[2 * UPCI_MAX_SGE + UPCI_MAX_MSG / UPCI_PAGE];

#define PIECES(array) \
	((struct pieces) { array, .max = sizeof(array) / sizeof(*(array)), .need = UINT64_MAX })

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- rings --------------------------------------------------------------- */

static struct univ_ring_head *ring_head(const struct guest *guest, const struct ring *ring)
{
	return (void *)(bus(guest, ring->page[0]) + ring->at.head);
}

/* The kernel's line of the head may be in the next page. */
static uint32_t *ring_word(const struct guest *guest, const struct ring *ring, size_t offset)
{
	uint64_t at = ring->at.head + offset;

	return (void *)(bus(guest, ring->page[at / UPCI_PAGE]) + at % UPCI_PAGE);
}

static uint32_t *ring_kernel(const struct guest *guest, const struct ring *ring, size_t offset)
{
	return ring_word(guest, ring, offsetof(struct univ_ring_head, kernel) + offset);
}

static void ring_copy(const struct guest *guest, const struct ring *ring, uint32_t index,
		      uint32_t offset, void *to, uint32_t length)
{
	uint64_t at = ring->at.slots + (uint64_t)(index & (ring->at.count - 1)) * ring->at.stride +
		      offset;
	uint32_t n;

	for (; length; length -= n, at += n, to = (char *)to + n) {
		n = UPCI_PAGE - at % UPCI_PAGE;
		n = n < length ? n : length;
		memcpy(to, bus(guest, ring->page[at / UPCI_PAGE]) + at % UPCI_PAGE, n);
	}
	__asm__ __volatile__("" ::: "memory");
}

/* P1. Negative if the index is out of bounds. */
static int64_t ring_waiting(const struct guest *guest, const struct ring *ring)
{
	uint32_t n;

	if (!ring->page)
		return 0;
	n = __atomic_load_n(&ring_head(guest, ring)->user.index, __ATOMIC_ACQUIRE) - ring->index;
	return n > ring->at.count ? -1 : (int64_t)n;
}

/* P2 */
static void ring_retire(const struct guest *guest, struct ring *ring, uint32_t index)
{
	ring->index = index;
	__atomic_store_n(ring_kernel(guest, ring, offsetof(struct univ_ring_kernel, index)), index,
			 __ATOMIC_RELEASE);
}

static void ring_flags(const struct guest *guest, const struct ring *ring, uint32_t flags)
{
	__atomic_store_n(ring_kernel(guest, ring, offsetof(struct univ_ring_kernel, flags)), flags,
			 __ATOMIC_RELEASE);
}

/* ---- completions --------------------------------------------------------- */

/* P3 and P4. Returns false if there is no room. */
static bool cq_write(struct guest *guest, struct cq *cq, struct univ_cqe *cqe, bool solicited)
{
	uint32_t index = cq->ring.index, count = cq->ring.at.count;
	struct univ_cqe *slot;
	uint64_t at;

	if (cq->overrun)
		return false;
	if (index - __atomic_load_n(&ring_head(guest, &cq->ring)->user.index, __ATOMIC_ACQUIRE) >=
	    count) {
		cq->overrun = true;
		cq->tell = true;
		return false;
	}
	at = cq->ring.at.slots + (uint64_t)(index & (count - 1)) * sizeof(*cqe);
	slot = (void *)(bus(guest, cq->ring.page[at / UPCI_PAGE]) + at % UPCI_PAGE);
	memcpy(slot, cqe, offsetof(struct univ_cqe, phase));
	__atomic_store_n(&slot->phase, UNIV_CQE_PHASE(index, count), __ATOMIC_RELEASE);
	cq->ring.index++;
	cq->fresh = true;
	cq->solicited |= solicited || cqe->status;
	return true;
}

static void qp_fail(struct guest *guest, struct qp *qp)
{
	if (qp->state == IBV_QPS_ERR)
		return;
	qp_enter(guest, qp, IBV_QPS_ERR);
	qp->tell = true;
}

/* IBV_WC_SEND is 0. */
static const uint8_t wc_opcode[UINT8_MAX + 1] = {
	[UNIV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
	[UNIV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[UNIV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	[UNIV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
	[UNIV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
};

/* The slot is retired first, so that it is free when the process polls. */
static void send_done(struct guest *guest, struct qp *qp, const struct request *r, uint8_t status,
		      uint16_t reason)
{
	struct univ_cqe cqe = {
		.wr_id = r->wr.wr_id,
		.status = status,
		.opcode = wc_opcode[r->wr.opcode],
		.byte_len = r->length,
		.qp_num = qp->number,
		.reason = reason,
	};

	qp->waits_until = 0;
	ring_retire(guest, &qp->send, qp->send.index + 1);
	if (!status && !qp->sig_all && !(r->wr.flags & UNIV_WR_SIGNALED))
		return;
	if (!cq_write(guest, qp->send_cq, &cqe, false) || status)
		qp_fail(guest, qp);
}

/* ---- memory -------------------------------------------------------------- */

static bool piece_add(struct pieces *p, void *base, uint64_t length)
{
	if (p->count == p->max)
		return false;
	steps++;
	p->iov[p->count++] = (struct iovec) { base, length };
	p->length += length;
	return true;
}

/* Adds the bytes behind a key. Returns the reason why the domain may not use them, or 0. */
static uint16_t pieces_add(const struct guest *guest, struct pieces *p, uint32_t pd, uint32_t key,
			   uint64_t addr, uint64_t length, uint32_t access)
{
	const struct mr *mr = key < UPCI_MAX_KEYS ? &guest->mrs[key] : NULL;
	uint64_t at, n;

	if (!length)
		return 0;
	if (!mr || !mr->used || mr->pd != pd)
		return UNIV_REASON_KEY_UNKNOWN;
	if ((mr->access & access) != access)
		return UNIV_REASON_KEY_ACCESS;
	if (addr < mr->iova || addr - mr->iova > mr->length ||
	    length > mr->length - (addr - mr->iova))
		return UNIV_REASON_KEY_RANGE;
	if (length > p->need - p->length)
		length = p->need - p->length;
	at = addr - mr->iova + mr->iova % UPCI_PAGE;
	for (; length; length -= n, at += n) {
		n = UPCI_PAGE - at % UPCI_PAGE;
		n = n < length ? n : length;
		if (!piece_add(p, bus(guest, mr->page[at / UPCI_PAGE]) + at % UPCI_PAGE, n))
			return UNIV_REASON_LIMIT;
	}
	return 0;
}

static uint16_t pieces_list(const struct guest *guest, struct pieces *p, uint32_t pd,
			    const struct univ_sge *sge, uint32_t count, uint32_t access)
{
	uint16_t reason = 0;

	for (; count && !reason; count--, sge++)
		reason = pieces_add(guest, p, pd, sge->lkey, sge->addr, sge->length, access);
	return reason;
}

static uint16_t pieces_of(const struct guest *guest, struct pieces *p, const struct qp *qp,
			  struct request *r, uint32_t access)
{
	if (r->wr.flags & UNIV_WR_INLINE)
		return piece_add(p, r->data, r->wr.count) ? 0 : UNIV_REASON_LIMIT;
	return pieces_list(guest, p, qp->pd, r->sge, r->wr.count, access);
}

/* Copies all of @from, for which @to has room. */
static void pieces_copy(const struct pieces *to, const struct pieces *from)
{
	size_t n, done_to = 0, done_from = 0;
	uint32_t i = 0, j = 0;

	while (i < from->count && j < to->count) {
		n = from->iov[i].iov_len - done_from;
		if (n > to->iov[j].iov_len - done_to)
			n = to->iov[j].iov_len - done_to;
		memmove((char *)to->iov[j].iov_base + done_to,
			(char *)from->iov[i].iov_base + done_from, n);
		done_from += n;
		done_to += n;
		if (done_from == from->iov[i].iov_len) {
			i++;
			done_from = 0;
		}
		if (done_to == to->iov[j].iov_len) {
			j++;
			done_to = 0;
		}
	}
}

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
static void recv_flush(struct guest *guest, struct qp *qp)
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

/* ---- queue pairs --------------------------------------------------------- */

static void qp_forget(struct guest *guest, struct ring *ring)
{
	if (ring->page)
		ring_retire(guest, ring,
			    __atomic_load_n(&ring_head(guest, ring)->user.index, __ATOMIC_ACQUIRE));
}

/*
 * F1: in the error state receives are flushed when they are posted, so the process
 * is asked to ring for them, and the ring is looked at behind the fence.
 */
void qp_enter(struct guest *guest, struct qp *qp, uint32_t state)
{
	qp->state = state;
	qp->runnable = true;
	qp->tell = false;
	qp->waits_until = 0;
	if (state == IBV_QPS_RESET) {
		qp_forget(guest, &qp->send);
		qp_forget(guest, &qp->recv);
	}
	if (qp->recv.page)
		ring_flags(guest, &qp->recv, state == IBV_QPS_ERR ? UNIV_RING_NEED_KICK : 0);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

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

/* The result of a request for its sender; WAIT if it stays at the head. */
#define WAIT 255

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

static uint8_t rc_request(struct guest *guest, struct qp *qp, struct request *r, uint16_t *reason)
{
	struct link l = { .guest = guest, .qp = qp, .far = guest_find(qp->dlid) };

	l.peer = qp_find(l.far, qp->dest_qpn);
	if (!l.peer || l.peer->type != IBV_QPT_RC || l.peer->dest_qpn != qp->number ||
	    l.peer->dlid != guest->lid)
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

static uint8_t ud_request(struct guest *guest, struct qp *qp, struct request *r, uint16_t *reason)
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

/* ---- requests ------------------------------------------------------------ */

#define BIT(n) (1u << (n))
#define RC_OPCODES (BIT(UNIV_WR_RDMA_WRITE) | BIT(UNIV_WR_RDMA_WRITE_WITH_IMM) | \
		    BIT(UNIV_WR_SEND) | BIT(UNIV_WR_SEND_WITH_IMM) | BIT(UNIV_WR_RDMA_READ) | \
		    BIT(UNIV_WR_ATOMIC_CMP_AND_SWP) | BIT(UNIV_WR_ATOMIC_FETCH_AND_ADD))
#define UD_OPCODES (BIT(UNIV_WR_SEND) | BIT(UNIV_WR_SEND_WITH_IMM))
#define INLINE_OPCODES (UD_OPCODES | BIT(UNIV_WR_RDMA_WRITE) | BIT(UNIV_WR_RDMA_WRITE_WITH_IMM))
#define FLAGS (UNIV_WR_FENCE | UNIV_WR_SIGNALED | UNIV_WR_SOLICITED | UNIV_WR_INLINE)

/* The one copy of the request at the head, checked. Returns a reason, or 0. */
static uint16_t request_load(struct guest *guest, struct qp *qp, struct request *r)
{
	const uint32_t head = offsetof(struct univ_send_wr, sge);
	uint32_t room = qp->send.at.stride - head, opcodes, i;
	uint64_t length = 0;

	if (room > sizeof(r->data))
		room = sizeof(r->data);
	ring_copy(guest, &qp->send, qp->send.index, 0, &r->wr, head);
	r->length = 0;
	opcodes = qp->type == IBV_QPT_RC ? RC_OPCODES : UD_OPCODES;
	if (r->wr.opcode > 31 || !(opcodes >> r->wr.opcode & 1))
		return UNIV_REASON_WR_OPCODE;
	if (r->wr.flags & ~FLAGS)
		return UNIV_REASON_FLAGS;
	if (r->wr.flags & UNIV_WR_INLINE) {
		if (!(INLINE_OPCODES >> r->wr.opcode & 1) || r->wr.count > room)
			return UNIV_REASON_WR_INLINE;
		ring_copy(guest, &qp->send, qp->send.index, head, r->data, r->wr.count);
		return 0;
	}
	if (r->wr.count > qp->max_sge || r->wr.count > room / sizeof(struct univ_sge))
		return UNIV_REASON_WR_SGE;
	ring_copy(guest, &qp->send, qp->send.index, head, r->sge,
		  r->wr.count * (uint32_t)sizeof(struct univ_sge));
	for (i = 0; i < r->wr.count; i++)
		length += r->sge[i].length;
	return length > UPCI_MAX_MSG ? UNIV_REASON_LIMIT : 0;
}

/* Executes the request at the head. Returns false if there is none, or if it waits. */
static bool request_run(struct guest *guest, struct qp *qp)
{
	static struct request r;
	int64_t n = ring_waiting(guest, &qp->send);
	uint16_t reason = 0;
	uint8_t status;

	if (!n)
		return false;
	steps++;
	if (n < 0) {
		/* The index is corrupt: one last completion. */
		memset(&r, 0, sizeof(r));
		qp_forget(guest, &qp->send);
		qp->send.index--;
		send_done(guest, qp, &r, IBV_WC_LOC_QP_OP_ERR, UNIV_REASON_RING_CORRUPT);
		return false;
	}
	reason = request_load(guest, qp, &r);
	if (qp->state == IBV_QPS_ERR) {
		reason = 0;
		status = IBV_WC_WR_FLUSH_ERR;
	} else if (reason) {
		status = IBV_WC_LOC_QP_OP_ERR;
	} else if (qp->type == IBV_QPT_RC) {
		status = rc_request(guest, qp, &r, &reason);
	} else {
		status = ud_request(guest, qp, &r, &reason);
	}
	if (status == WAIT)
		return false;
	send_done(guest, qp, &r, status, reason);
	return true;
}

/* A turn of a queue pair. */
static void qp_run(struct guest *guest, struct qp *qp)
{
	int i;

	qp->runnable = false;
	if (qp->state == IBV_QPS_ERR)
		recv_flush(guest, qp);
	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_ERR)
		return;
	for (i = 0; i < TURN && steps < PASS_STEPS; i++)
		if (!request_run(guest, qp))
			return;
	qp->runnable = true;
}

/* A request that waits is tried again every millisecond. Returns -1 if there is none. */
static int next_work(void)
{
	int ms = -1, g;
	struct qp *qp;

	for (g = 0; g < num_guests; g++)
		for (qp = guests[g].qps; qp < guests[g].qps + UPCI_MAX_QUEUES; qp++)
			if (qp->used && qp->runnable)
				return 0;
			else if (qp->used && qp->waits_until)
				ms = 1;
	return ms;
}

int engine_run(void)
{
	static uint32_t next;		/* the queue pair that has the next turn */
	uint32_t all = (uint32_t)num_guests * UPCI_MAX_QUEUES, i;
	struct qp *qp;
	int g;

	steps = 0;
	for (i = 0; i < all && steps < PASS_STEPS; i++, next = (next + 1) % all) {
		qp = &guests[next / UPCI_MAX_QUEUES].qps[next % UPCI_MAX_QUEUES];
		if (qp->used && (qp->runnable || qp->waits_until))
			qp_run(&guests[next / UPCI_MAX_QUEUES], qp);
	}
	for (g = 0; g < num_guests; g++)
		if (guests[g].socket >= 0)
			event_try(&guests[g]);
	return next_work();
}

/* A bell says no more than that one of some queues may have requests. */
void engine_bell(struct guest *guest, int vector)
{
	uint32_t i;

	for (i = 0; i < UPCI_MAX_QUEUES; i++)
		if (guest->qps[i].used && UPCI_BELL_QUEUE(i) == (uint32_t)vector)
			guest->qps[i].runnable = true;
}
