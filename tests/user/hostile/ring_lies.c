// SPDX-License-Identifier: GPL-2.0
/*
 * Each test corrupts one word of a ring, which must end in a completion with the right
 * status and reason. All other words form a request that would succeed. ringabuse.c writes
 * rubbish at random.
 */
#include "events.h"
#include "ioctl.h"
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

/*
 * An atomic returns 8 bytes, and both pieces together have room for less, @first + @second. The
 * library refuses such a request before it publishes it. A device must change no memory.
 */
static void short_atomic(uint8_t opcode, uint32_t first, uint32_t second)
{
	struct univ_send_wr *wr;
	struct univ_cqe cqe;

	set_up();
	memset(env.mem, 0x5a, PAGE);
	wr = write_good();
	wr->opcode = opcode;
	wr->atomic.compare_add = 0x5a5a5a5a5a5a5a5a;
	wr->atomic.swap = 1;
	wr->count = 2;
	wr->sge[0].length = first;
	wr->sge[1] = (struct univ_sge){ (uintptr_t)env.mem + PAGE / 4, second, env.mr.lkey };
	raw_publish(env.fd, &env.qp.sq, env.qp.handle, UNIV_KICK_SEND);
	if (on_uroce())
		want_error("too little room", IBV_WC_LOC_LEN_ERR, UNIV_REASON_ATOMIC);
	else if (CHECK(raw_wait(&env.cq, &cqe, WC_TIMEOUT), "no completion"))
		CHECK(cqe.status, "an atomic succeeds with too little room");
	for (uint32_t i = 0; i < PAGE; i++)
		if (!CHECK(env.mem[i] == 0x5a, "opcode %u, room for %u and %u bytes: byte %u is %#x",
			   opcode, first, second, i, env.mem[i]))
			break;
	tear_down();
}

static void send_atomic(void)
{
	static const uint8_t opcodes[] = {
		UNIV_WR_ATOMIC_FETCH_AND_ADD, UNIV_WR_ATOMIC_CMP_AND_SWP,
	};

	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		short_atomic(opcodes[i], 0, 0);
		short_atomic(opcodes[i], 7, 0);
		short_atomic(opcodes[i], 3, 4);
	}
}

static struct univ_srq_create srq_made;	/* What the kernel told the library. */

static int library_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = kernel_ioctl(fd, request, arg);

	if (!ret && request == UNIV_SRQ_CREATE)
		srq_made = *(struct univ_srq_create *)arg;
	return ret;
}

/*
 * A shared queue has no completion queue of its own, so an event names it. The library made the
 * queue, and destroys it when the event has been acknowledged.
 */
static void srq_tail(void)
{
	struct ibv_async_event event;
	struct raw_ring ring;
	struct raw_map map;
	struct pair p;

	if (!on_uroce() && !on_rxe()) {
		printf("%s raises no events of shared queues\n", dev_wanted());
		return;
	}
	pair_open(&p, &(struct pair_want){ .use_srq = 1 });
	raw_map(p.dev.ctx->cmd_fd, &map, srq_made.map_offset, srq_made.map_length);
	raw_ring_at(&ring, &map, &srq_made.ring);
	ring.index = ring.count;
	raw_publish(p.dev.ctx->cmd_fd, &ring, srq_made.handle, UNIV_KICK_RECV);
	/* A native device checks the queue when a message arrives. */
	CHECK_ERR(post_send_at(&p, 0, 1, 0, LENGTH, IBV_SEND_SIGNALED), 0);
	do {
		NEED(take_event(p.dev.ctx, IBV_EVENT_SRQ_ERR, &event, WC_TIMEOUT), "no event of the queue");
	} while (event.event_type != IBV_EVENT_SRQ_ERR);
	CHECK(event.element.srq == p.srq, "the event names another object");
	raw_unmap(&map);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "send_tail", send_tail },
	{ "send_pieces", send_pieces },
	{ "send_one_piece_more", send_one_piece_more },
	{ "send_inline", send_inline },
	{ "send_atomic", send_atomic },
	{ "recv_tail", recv_tail },
	{ "recv_pieces", recv_pieces },
	{ "srq_tail", srq_tail },
};

TEST_MAIN("ring_lies (adv03 adv04)", cases, 60)
