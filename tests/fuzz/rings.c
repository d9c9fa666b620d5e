// SPDX-License-Identifier: GPL-2.0
/*
 * Everything that a process can write to its rings, at any time. An input is a list of steps: valid
 * requests, valid requests with changed fields, words anywhere in the shared memory, indices that
 * jump, kicks, polls, and resets of queue pairs. A second thread may repeat the last part of the
 * list meanwhile.
 */
/*
 * A completion queue that has overrun stays in error, so a new child with new queues starts now and
 * then.
 */
#define CHILD_RUNS 20
#include "fuzz.h"

#define QPS 4
#define MEM (16 * PAGE)
#define STEPS_MAX 64

static struct {
	int fd;
	uint32_t pd;
	uint32_t ah;
	struct raw_cq cq;
	struct raw_srq srq;
	struct raw_qp qp[QPS];		/* RC, UD, UC, RC with the shared queue */
	bool has_xrc;
	struct raw_qp ini;		/* sends to @target, which uses @xrc_srq */
	struct raw_qp target;
	struct raw_srq xrc_srq;
	struct raw_mr mr;
	uint8_t *mem;
	bool stop;
} env;

static void connect_to(uint32_t handle, uint32_t type, uint32_t num)
{
	struct univ_qp_attr a;

	raw_attr_init(&a, type);
	raw_modify(env.fd, handle, &a);
	raw_attr_rtr(env.fd, &a, type, num);
	raw_modify(env.fd, handle, &a);
	raw_attr_rts(&a, type);
	raw_modify(env.fd, handle, &a);
}

static void connect_qp(const struct raw_qp *qp)
{
	if (qp != &env.ini) {
		connect_to(qp->handle, qp->type, qp->qp_num);
		return;
	}
	raw_to_state(env.fd, env.target.handle, IBV_QPS_RESET);
	connect_to(qp->handle, qp->type, env.target.qp_num);
	connect_to(env.target.handle, IBV_QPT_XRC_RECV, qp->qp_num);
}

static void xrc_open(void)
{
	raw_xrc(env.fd, env.pd, env.cq.handle, &env.xrc_srq, &env.target);
	raw_qp(env.fd, &env.ini, IBV_QPT_XRC_SEND, env.pd, env.cq.handle, 0);
}

static void target_open(void)
{
	static const uint32_t types[QPS] = { IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RC };
	struct univ_ah_create ah = { 0 };

	env.fd = raw_open();
	fcntl(env.fd, F_SETFL, O_NONBLOCK);
	env.pd = raw_pd(env.fd);
	env.mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(env.mem != MAP_FAILED, "mmap: %s", err_name(errno));
	env.mr = raw_mr(env.fd, env.pd, env.mem, MEM, ALL_ACCESS);
	raw_cq(env.fd, &env.cq, 32, -1);
	raw_srq(env.fd, &env.srq, env.pd, 16);
	for (int i = 0; i < QPS; i++)
		raw_qp(env.fd, &env.qp[i], types[i], env.pd, env.cq.handle,
		       i == QPS - 1 ? env.srq.handle : 0);
	ah.pd = env.pd;
	raw_ah_attr(env.fd, &ah.attr);
	NEED_OK(raw_call(env.fd, UNIV_AH_CREATE, &ah));
	env.ah = ah.handle;
	env.has_xrc = raw_offers(env.fd, UNIV_FEATURE_XRC);
	if (env.has_xrc)
		xrc_open();
}

/* ---- Rings --------------------------------------------------------------- */

/* High bytes choose XRC, so that older inputs keep their meaning. */
static bool is_xrc(uint32_t which)
{
	return which >= 0xe0 && env.has_xrc;
}

static struct raw_qp *take_qp(struct reader *r)
{
	uint32_t which = take(r, 1);

	return is_xrc(which) ? &env.ini : &env.qp[which % QPS];
}

static struct raw_ring *recv_ring(struct raw_qp *qp, uint32_t *handle)
{
	struct raw_srq *srq = qp == &env.ini ? &env.xrc_srq : &env.srq;

	*handle = qp->rq.count ? qp->handle : srq->handle;
	return qp->rq.count ? &qp->rq : &srq->ring;
}

static struct raw_ring *take_ring(struct reader *r, uint32_t *handle)
{
	uint32_t which = take(r, 1);
	struct raw_qp *qp = &env.qp[which % (2 * QPS + 2) % QPS];

	if (is_xrc(which)) {
		*handle = which % 2 ? env.ini.handle : env.xrc_srq.handle;
		return which % 2 ? &env.ini.sq : &env.xrc_srq.ring;
	}
	which %= 2 * QPS + 2;
	*handle = qp->handle;
	if (which < QPS)
		return &qp->sq;
	if (which < 2 * QPS && qp->rq.count)
		return &qp->rq;
	*handle = env.srq.handle;
	return which == 2 * QPS + 1 ? &env.cq.ring : &env.srq.ring;
}

static void good_send(struct reader *r, struct raw_qp *qp, struct univ_send_wr *wr)
{
	static const uint8_t opcodes[] = { UNIV_WR_SEND, UNIV_WR_RDMA_WRITE, UNIV_WR_RDMA_READ,
		UNIV_WR_ATOMIC_FETCH_AND_ADD, UNIV_WR_SEND_WITH_IMM, UNIV_WR_RDMA_WRITE_WITH_IMM,
		UNIV_WR_ATOMIC_CMP_AND_SWP, UNIV_WR_SEND_WITH_INV };
	uint32_t how = take(r, 1);

	memset(wr, 0, qp->sq.stride);
	wr->opcode = opcodes[qp->type == IBV_QPT_UD ? 0 : how % ARRAY_SIZE(opcodes)];
	wr->flags = how & 0x80 ? 0 : UNIV_WR_SIGNALED;
	wr->count = 1;
	wr->srqn = qp == &env.ini ? env.xrc_srq.number : 0;
	wr->rkey = env.mr.rkey;
	wr->remote_addr = (uintptr_t)env.mem + (how & 0x70);
	wr->sge[0] = (struct univ_sge){ (uintptr_t)env.mem + 4 * PAGE, how & 8 ? 2000 : 8, env.mr.lkey };
	if (qp->type == IBV_QPT_UD) {
		/* Handles are small numbers, and most of them belong to objects of other types. */
		wr->ud.ah = how & 0x04 ? how >> 3 & 0xf : env.ah;
		wr->ud.remote_qpn = qp->qp_num;
		wr->ud.remote_qkey = PAIR_QKEY;
	}
	if (how & 0x40 && how & 1) {
		wr->flags |= UNIV_WR_INLINE;
		wr->count = 24;
	}
}

static void good_recv(struct raw_ring *ring, struct univ_recv_wr *wr)
{
	memset(wr, 0, ring->stride);
	wr->count = 1;
	wr->sge[0] = (struct univ_sge){ (uintptr_t)env.mem + 8 * PAGE, 4 * PAGE, env.mr.lkey };
}

/* Changes some bytes of a slot: mostly the bytes that decide how far the kernel reads. */
static void change_slot(struct reader *r, uint8_t *slot, uint32_t stride)
{
	for (uint32_t n = take(r, 1) % 8; n > 4; n--) {
		uint32_t at = take(r, 1), size = 1 << take(r, 1) % 4;
		uint64_t value = take_value(r);

		at = at & 0x80 ? 8 + at % 24 : at % stride;
		at -= at % size;
		if (at + size <= stride)
			memcpy(slot + at, &value, size);
	}
}

/* ---- Steps --------------------------------------------------------------- */

static void do_send(struct reader *r)
{
	struct raw_qp *qp = take_qp(r);
	uint32_t count = 1 + take(r, 1) % 8;
	uint8_t *slot;

	for (uint32_t i = 0; i < count; i++) {
		slot = raw_slot(&qp->sq, qp->sq.index);
		good_send(r, qp, (void *)slot);
		change_slot(r, slot, qp->sq.stride);
		qp->sq.index++;
	}
	qp->sq.index--;
	raw_publish(env.fd, &qp->sq, qp->handle, UNIV_KICK_SEND);
}

static void do_recv(struct reader *r)
{
	uint32_t handle;
	struct raw_ring *ring = recv_ring(take_qp(r), &handle);
	uint32_t count = 1 + take(r, 1) % 8;
	uint8_t *slot;

	for (uint32_t i = 0; i < count; i++) {
		slot = raw_slot(ring, ring->index);
		good_recv(ring, (void *)slot);
		change_slot(r, slot, ring->stride);
		ring->index++;
	}
	ring->index--;
	raw_publish(env.fd, ring, handle, UNIV_KICK_RECV);
}

static void do_leap(struct reader *r)
{
	uint32_t handle;
	struct raw_ring *ring = take_ring(r, &handle);
	uint32_t value = take_value(r);

	if (take(r, 1) % 2)
		value += ring->head->user.index;
	__atomic_store_n(&ring->head->user.index, value, __ATOMIC_RELEASE);
	if (take(r, 1) % 2)
		ring->index = value;
	raw_kick(env.fd, handle, UNIV_KICK_SEND | UNIV_KICK_RECV);
	raw_kick(env.fd, handle, UNIV_KICK_RECV);
}

/* Any word, including the words that the kernel writes. */
static void do_word(struct reader *r)
{
	struct raw_map *map;
	uint32_t which = take(r, 1), at;
	uint64_t value;

	if (is_xrc(which))
		map = which % 2 ? &env.ini.map : &env.xrc_srq.map;
	else
		map = which % 6 == 0 ? &env.cq.map : which % 6 == 1 ? &env.srq.map : &env.qp[which % QPS].map;
	/* the heads of the rings are at the beginning */
	at = which & 0x80 ? take(r, 2) : take(r, 1);
	value = take_value(r);
	*(volatile uint32_t *)(map->base + at % (map->length - 3) / 4 * 4) = value;
}

static void do_arm(struct reader *r)
{
	env.cq.ring.head->user.arm = take_value(r);
}

static void do_poll(struct reader *r)
{
	struct univ_cqe cqe;

	for (uint32_t n = take(r, 1) % 64; n && raw_poll(&env.cq, &cqe); n--)
		;
}

static void do_kick(struct reader *r)
{
	uint32_t handle = take_qp(r)->handle;

	raw_kick(env.fd, handle, take(r, 1) << 24);
	raw_kick(env.fd, env.srq.handle, UNIV_KICK_RECV);
}

static void do_state(struct reader *r)
{
	uint32_t handle = take_qp(r)->handle;

	raw_to_state(env.fd, handle, take(r, 1) % 2 ? IBV_QPS_ERR : IBV_QPS_RESET);
}

/*
 * Each connection starts at another sequence number, so that responses to the last one do not
 * match.
 */
static void revive(struct raw_qp *qp)
{
	raw_psn = (raw_psn + 0x1001) & 0xffffff;
	raw_to_state(env.fd, qp->handle, IBV_QPS_RESET);
	raw_ring_empty(&qp->sq);
	raw_ring_empty(&qp->rq);
	connect_qp(qp);
}

static void do_revive(struct reader *r)
{
	revive(take_qp(r));
}

static void do_limit(struct reader *r)
{
	struct univ_srq_modify arg = { .handle = env.srq.handle, .attr_mask = IBV_SRQ_LIMIT,
		.limit = take(r, 1) % 16 };

	raw_call(env.fd, UNIV_SRQ_MODIFY, &arg);
}

/* Maps the new ring; if that fails, later writes go to the former one. */
static void do_resize(struct reader *r)
{
	struct univ_cq_resize arg = { .handle = env.cq.handle, .cqe = 8 + take(r, 1) % 64 };

	if (raw_call(env.fd, UNIV_CQ_RESIZE, &arg))
		return;
	munmap(env.cq.map.base, env.cq.map.length);
	raw_map(env.fd, &env.cq.map, arg.map_offset, arg.map_length);
	raw_ring_at(&env.cq.ring, &env.cq.map, &arg.ring);
}

/* Likewise. */
static void do_resize_srq(struct reader *r)
{
	struct univ_srq_modify arg = { .handle = env.srq.handle, .attr_mask = IBV_SRQ_MAX_WR,
		.max_wr = 8 + take(r, 1) % 64 };

	if (raw_call(env.fd, UNIV_SRQ_MODIFY, &arg))
		return;
	munmap(env.srq.map.base, env.srq.map.length);
	raw_map(env.fd, &env.srq.map, arg.map_offset, arg.map_length);
	raw_ring_at(&env.srq.ring, &env.srq.map, &arg.ring);
}

/* The steps that the second thread may also take come first. */
static void (*const steps[])(struct reader *) = { do_word, do_word, do_leap, do_arm, do_kick,
	do_send, do_send, do_send, do_recv, do_recv, do_poll, do_poll, do_state, do_revive,
	do_limit, do_resize, do_resize_srq };

#define SCRIBBLES 5

static void run_steps(struct reader *r, uint32_t kinds)
{
	for (int n = 0; n < STEPS_MAX && more(r); n++)
		steps[take(r, 1) % kinds](r);
}

static void *scribble(void *arg)
{
	const struct reader *all = arg;
	struct reader r;

	while (!__atomic_load_n(&env.stop, __ATOMIC_RELAXED)) {
		r = *all;
		/* exclude rings that the first thread may unmap */
		run_steps(&r, SCRIBBLES);
		sched_yield();
	}
	return NULL;
}

/* Restores the state after target_open(), as far as a process can. */
static void begin(void)
{
	struct univ_cqe cqe;

	raw_ring_empty(&env.srq.ring);
	for (int i = 0; i < QPS; i++)
		revive(&env.qp[i]);
	if (env.has_xrc) {
		raw_ring_empty(&env.xrc_srq.ring);
		revive(&env.ini);
	}
	/* the index was overwritten, so the next slot of the kernel is unknown */
	while (raw_poll(&env.cq, &cqe))
		;
}

static void target_run(void)
{
	struct reader r = { .end = fuzz->current.len }, rest = r;
	bool two = take(&r, 1) >= 0x80;
	pthread_t thread;

	begin();
	env.stop = false;
	if (two) {
		r.end -= r.end / 4;
		rest.at = r.end;
		two = !pthread_create(&thread, NULL, scribble, &rest);
	}
	run_steps(&r, two ? ARRAY_SIZE(steps) - 1 : ARRAY_SIZE(steps));
	__atomic_store_n(&env.stop, true, __ATOMIC_RELAXED);
	if (two)
		pthread_join(thread, NULL);
}
