// SPDX-License-Identifier: GPL-2.0
/*
 * The work of the device: it takes requests out of the rings of processes, has them
 * executed, and completes them. What a process writes is hostile, so each request is copied
 * once and then checked.
 */
#include <string.h>
#include <time.h>

#include "engine.h"

/*
 * The work of one pass, between two looks at the commands. A step is a request, a receive,
 * or a piece of memory of at most a page. The next pass goes on where this one ended.
 */
#define PASS_STEPS	16384

uint32_t steps;

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- queue pairs --------------------------------------------------------- */

static void qp_forget(struct guest *guest, struct ring *ring)
{
	if (ring->page)
		ring_retire(guest, ring, ring_index(guest, ring));
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

void qp_fail(struct guest *guest, struct qp *qp)
{
	if (qp->state == IBV_QPS_ERR)
		return;
	qp_enter(guest, qp, IBV_QPS_ERR);
	qp->tell = true;
}

/* ---- requests ------------------------------------------------------------ */

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
