// SPDX-License-Identifier: GPL-2.0
/*
 * Each test corrupts one word of a ring, which must end in a completion with the right
 * status and reason. All other words form a request that would succeed. ringabuse.c writes
 * rubbish at random.
 */
#include "raw.h"

#define LENGTH 8
#define TOO_MANY (1u << 20)		/* Pieces, which end far behind the ring. */

static struct raw_self env;

static void set_up(void)
{
	raw_self_open(&env);
}

static void tear_down(void)
{
	raw_self_close(&env);
}

/* Expect a completion with this status and this reason. */
static void want_error(const char *what, uint8_t status, uint16_t reason)
{
	struct univ_cqe cqe;

	if (!CHECK(raw_wait(&env.cq, &cqe, WC_TIMEOUT), "%s: no completion", what))
		return;
	CHECK(cqe.status == status, "%s: status is %s", what, ibv_wc_status_str(cqe.status));
	CHECK(cqe.reason == reason, "%s: reason is %u, expected %u", what, cqe.reason, reason);
}

/* Fill in a write to our own memory, without publishing it yet. */
static struct univ_send_wr *write_good(void)
{
	struct univ_send_wr *wr = raw_slot(&env.qp.sq, env.qp.sq.index);

	memset(wr, 0, env.qp.sq.stride);
	wr->opcode = UNIV_WR_RDMA_WRITE;
	wr->flags = UNIV_WR_SIGNALED;
	wr->count = 1;
	wr->rkey = env.mr.rkey;
	wr->remote_addr = (uintptr_t)env.mem;
	wr->sge[0] = (struct univ_sge){ (uintptr_t)env.mem + PAGE / 2, LENGTH, env.mr.lkey };
	return wr;
}

static void send_tail(void)
{
	set_up();
	write_good();
	env.qp.sq.index = env.qp.sq.count;
	raw_publish(env.fd, &env.qp.sq, env.qp.handle, UNIV_KICK_SEND);
	want_error("one request more than there are slots", IBV_WC_LOC_QP_OP_ERR,
		   UNIV_REASON_RING_CORRUPT);
	tear_down();
}

static void send_pieces(void)
{
	set_up();
	write_good()->count = UINT16_MAX;
	raw_publish(env.fd, &env.qp.sq, env.qp.handle, UNIV_KICK_SEND);
	want_error("65535 pieces", IBV_WC_LOC_QP_OP_ERR, UNIV_REASON_WR_SGE);
	tear_down();
}

static void send_one_piece_more(void)
{
	set_up();
	write_good()->count = env.qp.max_send_sge + 1;
	raw_publish(env.fd, &env.qp.sq, env.qp.handle, UNIV_KICK_SEND);
	want_error("one piece too many", IBV_WC_LOC_QP_OP_ERR, UNIV_REASON_WR_SGE);
	tear_down();
}

static void send_inline(void)
{
	struct univ_send_wr *wr;

	set_up();
	wr = write_good();
	wr->flags |= UNIV_WR_INLINE;
	wr->count = PAGE;
	raw_publish(env.fd, &env.qp.sq, env.qp.handle, UNIV_KICK_SEND);
	want_error("a page of inline data", IBV_WC_LOC_QP_OP_ERR, UNIV_REASON_WR_INLINE);
	tear_down();
}

/*
 * If the core reads the rings, the receive itself completes with the error. A native device
 * checks the receive when a message arrives, and reports the error to the sender, which is
 * this process.
 */
static void send_to_ourselves(void)
{
	raw_send_sge(env.fd, &env.qp, 1, (uintptr_t)env.mem, LENGTH, env.mr.lkey);
}

static void recv_tail(void)
{
	set_up();
	raw_recv_sge(env.fd, &env.qp, 0, (uintptr_t)env.mem, LENGTH, env.mr.lkey);
	env.qp.rq.index = env.qp.rq.count;
	raw_publish(env.fd, &env.qp.rq, env.qp.handle, UNIV_KICK_RECV);
	send_to_ourselves();
	if (on_rxe())
		want_error("one receive more than there are slots", IBV_WC_LOC_QP_OP_ERR,
			   UNIV_REASON_RING_CORRUPT);
	else
		want_error("one receive more than there are slots", IBV_WC_REM_OP_ERR, 0);
	tear_down();
}

static void recv_pieces(void)
{
	struct univ_recv_wr *wr;

	set_up();
	wr = raw_slot(&env.qp.rq, 0);
	memset(wr, 0, env.qp.rq.stride);
	wr->count = TOO_MANY;
	wr->sge[0] = (struct univ_sge){ (uintptr_t)env.mem, LENGTH, env.mr.lkey };
	raw_publish(env.fd, &env.qp.rq, env.qp.handle, UNIV_KICK_RECV);
	send_to_ourselves();
	want_error("pieces that end far behind the ring", IBV_WC_LOC_QP_OP_ERR, UNIV_REASON_WR_SGE);
	tear_down();
}

static const struct test_case cases[] = {
	{ "send_tail", send_tail },
	{ "send_pieces", send_pieces },
	{ "send_one_piece_more", send_one_piece_more },
	{ "send_inline", send_inline },
	{ "recv_tail", recv_tail },
	{ "recv_pieces", recv_pieces },
};

TEST_MAIN("ring_lies (adv03 adv04)", cases, 60)
