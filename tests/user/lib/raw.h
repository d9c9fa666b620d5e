/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The node without the library: the test makes the ioctls, maps the rings and writes the
 * requests itself, to do things that the library would never do.
 */
#ifndef RAW_H
#define RAW_H

#include "testlib.h"
#include <univerbs.h>
#include <univerbs_ring.h>

#define PAGE 4096ul

/* Return 0 or an errno value; @arg begins with struct univ_hdr. */
static MAYBE_UNUSED int raw_call_size(int fd, unsigned long cmd, void *arg, uint32_t size)
{
	((struct univ_hdr *)arg)->size = size;
	return ioctl(fd, cmd, arg) ? errno : 0;
}

#define raw_call(fd, cmd, arg) raw_call_size(fd, cmd, arg, sizeof(*(arg)))

static MAYBE_UNUSED int raw_open(void)
{
	int fd = open(node_path(), O_RDWR | O_CLOEXEC);

	NEED(fd >= 0, "open %s: %s", node_path(), err_name(errno));
	return fd;
}

struct raw_ring {
	struct univ_ring_head *head;
	uint8_t *slots;
	uint32_t count;
	uint32_t stride;
	uint32_t index;		/* The index that the process published last. */
};

struct raw_map {
	uint8_t *base;
	size_t length;
	uint64_t offset;
};

struct raw_cq {
	uint32_t handle;
	uint32_t cqe;
	struct raw_map map;
	struct raw_ring ring;
};

struct raw_qp {
	uint32_t handle;
	uint32_t qp_num;
	uint32_t type;
	struct raw_map map;
	struct raw_ring sq;
	struct raw_ring rq;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
};

struct raw_srq {
	uint32_t handle;
	uint32_t number;		/* The XRC number. */
	struct raw_map map;
	struct raw_ring ring;
};

struct raw_mr {
	uint32_t handle;
	uint32_t lkey;
	uint32_t rkey;
};

static MAYBE_UNUSED void raw_map(int fd, struct raw_map *map, uint64_t offset, uint64_t length)
{
	map->base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	NEED(map->base != MAP_FAILED, "mmap offset %#" PRIx64 " length %#" PRIx64 ": %s", offset,
	     length, err_name(errno));
	map->length = length;
	map->offset = offset;
}

static MAYBE_UNUSED void raw_unmap(struct raw_map *map)
{
	CHECK(!munmap(map->base, map->length), "munmap: %s", err_name(errno));
}

static MAYBE_UNUSED void raw_ring_at(struct raw_ring *ring, const struct raw_map *map,
				     const struct univ_ring_map *at)
{
	memset(ring, 0, sizeof(*ring));
	if (!at->slots)
		return;
	ring->head = (void *)(map->base + at->head_offset);
	ring->slots = map->base + at->slot_offset;
	ring->count = at->slots;
	ring->stride = at->stride;
	CHECK(!(at->slots & (at->slots - 1)), "%u slots are no power of two", at->slots);
	CHECK(at->stride && (at->stride == 32 || !(at->stride % 64)), "stride %u", at->stride);
	CHECK(at->head_offset + sizeof(struct univ_ring_head) <= map->length &&
	      at->slot_offset + (uint64_t)at->slots * at->stride <= map->length,
	      "the ring passes the end of its mapping");
}

static MAYBE_UNUSED uint32_t raw_pd(int fd)
{
	struct univ_pd_alloc arg = { 0 };
	int err = raw_call(fd, UNIV_PD_ALLOC, &arg);

	NEED(!err, "UNIV_PD_ALLOC: %s, reason %u", err_name(err), arg.hdr.reason);
	return arg.handle;
}

/* Return whether the context has all these features, which only a native device may have. */
static MAYBE_UNUSED bool raw_offers(int fd, uint32_t features)
{
	struct univ_context_query arg = { 0 };

	NEED_OK(raw_call(fd, UNIV_CONTEXT_QUERY, &arg));
	return (arg.features & features) == features;
}

static MAYBE_UNUSED bool raw_has_windows(int fd)
{
	return raw_offers(fd, UNIV_FEATURE_WINDOWS);
}

static MAYBE_UNUSED int raw_destroy(int fd, unsigned long cmd, uint32_t handle)
{
	struct univ_destroy arg = { .handle = handle };

	return raw_call(fd, cmd, &arg);
}

static MAYBE_UNUSED struct raw_mr raw_mr(int fd, uint32_t pd, void *addr, size_t length,
					 uint32_t access)
{
	struct univ_mr_reg arg = {
		.pd = pd,
		.access = access,
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = (uintptr_t)addr,
	};
	int err = raw_call(fd, UNIV_MR_REG, &arg);

	NEED(!err, "UNIV_MR_REG: %s, reason %u", err_name(err), arg.hdr.reason);
	return (struct raw_mr){ arg.handle, arg.lkey, arg.rkey };
}

static MAYBE_UNUSED void raw_cq(int fd, struct raw_cq *cq, uint32_t cqe, int channel)
{
	struct univ_cq_create arg = { .cqe = cqe, .channel_fd = channel, .cookie = 0xc0c0 };
	int err = raw_call(fd, UNIV_CQ_CREATE, &arg);

	NEED(!err, "UNIV_CQ_CREATE: %s, reason %u", err_name(err), arg.hdr.reason);
	cq->handle = arg.handle;
	cq->cqe = arg.cqe;
	raw_map(fd, &cq->map, arg.map_offset, arg.map_length);
	raw_ring_at(&cq->ring, &cq->map, &arg.ring);
}

static MAYBE_UNUSED void raw_srq_make(int fd, struct raw_srq *srq, struct univ_srq_create *arg)
{
	int err = raw_call(fd, UNIV_SRQ_CREATE, arg);

	NEED(!err, "UNIV_SRQ_CREATE: %s, reason %u", err_name(err), arg->hdr.reason);
	srq->handle = arg->handle;
	srq->number = arg->srq_num;
	raw_map(fd, &srq->map, arg->map_offset, arg->map_length);
	raw_ring_at(&srq->ring, &srq->map, &arg->ring);
}

static MAYBE_UNUSED void raw_srq(int fd, struct raw_srq *srq, uint32_t pd, uint32_t max_wr)
{
	struct univ_srq_create arg = { .pd = pd, .max_wr = max_wr, .max_sge = 2 };

	raw_srq_make(fd, srq, &arg);
}

static MAYBE_UNUSED void raw_qp_arg(struct univ_qp_create *arg, uint32_t type, uint32_t pd,
				    uint32_t cq, uint32_t srq)
{
	*arg = (struct univ_qp_create){
		.pd = pd,
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = type,
		.max_send_wr = 32,
		.max_recv_wr = srq ? 0 : 32,
		.max_send_sge = 4,
		.max_recv_sge = srq ? 0 : 4,
		.max_inline = 64,
		.cookie = 0x9090,
	};
}

static MAYBE_UNUSED void raw_qp_make(int fd, struct raw_qp *qp, struct univ_qp_create *arg)
{
	int err = raw_call(fd, UNIV_QP_CREATE, arg);

	NEED(!err, "UNIV_QP_CREATE: %s, reason %u", err_name(err), arg->hdr.reason);
	qp->handle = arg->handle;
	qp->qp_num = arg->qp_num;
	qp->type = arg->qp_type;
	qp->max_send_sge = arg->max_send_sge;
	qp->max_recv_sge = arg->max_recv_sge;
	raw_map(fd, &qp->map, arg->map_offset, arg->map_length);
	raw_ring_at(&qp->sq, &qp->map, &arg->sq);
	raw_ring_at(&qp->rq, &qp->map, &arg->rq);
}

static MAYBE_UNUSED void raw_qp(int fd, struct raw_qp *qp, uint32_t type, uint32_t pd,
				uint32_t cq, uint32_t srq)
{
	struct univ_qp_create arg;

	raw_qp_arg(&arg, type, pd, cq, srq);
	raw_qp_make(fd, qp, &arg);
}

/* The first PSN of connections. */
static MAYBE_UNUSED uint32_t raw_psn = 5;

/* Find the first usable GID of the node's device. */
static MAYBE_UNUSED int raw_gid(int fd, struct univ_gid_entry *found)
{
	struct univ_gid_entry entries[64];
	struct univ_gid_table arg = { .entries = (uintptr_t)entries, .max = ARRAY_SIZE(entries) };
	int err = raw_call(fd, UNIV_GID_TABLE, &arg);

	if (err)
		return err;
	for (uint32_t i = 0; i < arg.count; i++) {
		if (entries[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    !gid_is_ipv4((void *)entries[i].gid))
			continue;
		*found = entries[i];
		return 0;
	}
	return ENOENT;
}

static MAYBE_UNUSED void raw_ah_attr(int fd, struct univ_ah_attr *ah)
{
	struct univ_port_query port = { .port_num = PORT };
	struct univ_gid_entry gid;

	memset(ah, 0, sizeof(*ah));
	NEED_OK(raw_call(fd, UNIV_PORT_QUERY, &port));
	/* A port with a LID needs no GID. */
	if (port.lid) {
		ah->dlid = (uint16_t)port.lid;
		ah->port_num = PORT;
		return;
	}
	NEED_OK(raw_gid(fd, &gid));
	memcpy(ah->dgid, gid.gid, 16);
	ah->sgid_index = gid.gid_index;
	ah->hop_limit = 64;
	ah->is_global = 1;
	ah->port_num = PORT;
}

/*
 * An XRC initiator has only the attributes of a requester, and a target only those of a
 * responder.
 */
static MAYBE_UNUSED bool raw_asks(uint32_t type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

static MAYBE_UNUSED bool raw_answers(uint32_t type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
}

static MAYBE_UNUSED void raw_attr_init(struct univ_qp_attr *a, uint32_t type)
{
	*a = (struct univ_qp_attr){
		.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qkey = PAIR_QKEY,
		.qp_access_flags = raw_answers(type) ? ALL_ACCESS :
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
}

static MAYBE_UNUSED void raw_attr_rtr(int fd, struct univ_qp_attr *a, uint32_t type, uint32_t qpn)
{
	*a = (struct univ_qp_attr){
		.attr_mask = IBV_QP_STATE,
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.rq_psn = raw_psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
	};
	if (type == IBV_QPT_UD)
		return;
	a->attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (raw_answers(type))
		a->attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	raw_ah_attr(fd, &a->ah);
}

static MAYBE_UNUSED void raw_attr_rts(struct univ_qp_attr *a, uint32_t type)
{
	*a = (struct univ_qp_attr){
		.attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN,
		.qp_state = IBV_QPS_RTS,
		.sq_psn = raw_psn,
		.timeout = 12,
		.retry_cnt = 3,
		.rnr_retry = 3,
		.max_rd_atomic = 4,
	};
	if (raw_asks(type))
		a->attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	if (raw_asks(type) || raw_answers(type))
		a->attr_mask |= IBV_QP_TIMEOUT;
}

static MAYBE_UNUSED int raw_modify(int fd, uint32_t handle, const struct univ_qp_attr *attr)
{
	struct univ_qp_modify arg = { .handle = handle, .attr = *attr };

	return raw_call(fd, UNIV_QP_MODIFY, &arg);
}

static MAYBE_UNUSED int raw_to_state(int fd, uint32_t handle, uint32_t state)
{
	struct univ_qp_attr a = { .attr_mask = IBV_QP_STATE, .qp_state = state };

	return raw_modify(fd, handle, &a);
}

static MAYBE_UNUSED void raw_connect(int fd, struct raw_qp *qp, uint32_t dest_qpn)
{
	struct univ_qp_attr a;

	raw_attr_init(&a, qp->type);
	NEED_OK(raw_modify(fd, qp->handle, &a));
	raw_attr_rtr(fd, &a, qp->type, dest_qpn);
	NEED_OK(raw_modify(fd, qp->handle, &a));
	raw_attr_rts(&a, qp->type);
	NEED_OK(raw_modify(fd, qp->handle, &a));
}

/* A page of memory, and an RC queue pair that is connected to itself. */
struct raw_self {
	int fd;
	uint32_t pd;
	struct raw_cq cq;
	struct raw_qp qp;
	struct raw_mr mr;
	uint8_t *mem;
};

static MAYBE_UNUSED void raw_self_open(struct raw_self *self)
{
	self->fd = raw_open();
	self->pd = raw_pd(self->fd);
	self->mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	self->mr = raw_mr(self->fd, self->pd, self->mem, PAGE, ALL_ACCESS);
	raw_cq(self->fd, &self->cq, 64, -1);
	raw_qp(self->fd, &self->qp, IBV_QPT_RC, self->pd, self->cq.handle, 0);
	raw_connect(self->fd, &self->qp, self->qp.qp_num);
}

static MAYBE_UNUSED void raw_self_close(struct raw_self *self)
{
	raw_unmap(&self->qp.map);
	raw_unmap(&self->cq.map);
	close(self->fd);
	munmap(self->mem, PAGE);
}

/* ---- Posting and polling by hand ----------------------------------------- */

static MAYBE_UNUSED void *raw_slot(struct raw_ring *ring, uint32_t index)
{
	return ring->slots + (size_t)(index & (ring->count - 1)) * ring->stride;
}

static MAYBE_UNUSED int raw_kick(int fd, uint32_t handle, uint32_t which)
{
	return ioctl(fd, UNIV_KICK, (unsigned long)(handle | which)) ? errno : 0;
}

/* Publish the request in the next slot, and kick whether the ring asks for it or not. */
static MAYBE_UNUSED int raw_publish(int fd, struct raw_ring *ring, uint32_t handle, uint32_t which)
{
	__atomic_store_n(&ring->head->user.index, ++ring->index, __ATOMIC_RELEASE);
	return raw_kick(fd, handle, which);
}

static MAYBE_UNUSED int raw_send_sge(int fd, struct raw_qp *qp, uint64_t id, uint64_t addr,
				     uint32_t length, uint32_t lkey)
{
	struct univ_send_wr *wr = raw_slot(&qp->sq, qp->sq.index);

	memset(wr, 0, qp->sq.stride);
	wr->wr_id = id;
	wr->opcode = UNIV_WR_SEND;
	wr->flags = UNIV_WR_SIGNALED;
	wr->count = 1;
	wr->sge[0] = (struct univ_sge){ addr, length, lkey };
	return raw_publish(fd, &qp->sq, qp->handle, UNIV_KICK_SEND);
}

static MAYBE_UNUSED int raw_recv_sge(int fd, struct raw_qp *qp, uint64_t id, uint64_t addr,
				     uint32_t length, uint32_t lkey)
{
	struct univ_recv_wr *wr = raw_slot(&qp->rq, qp->rq.index);

	memset(wr, 0, qp->rq.stride);
	wr->wr_id = id;
	wr->count = 1;
	wr->sge[0] = (struct univ_sge){ addr, length, lkey };
	return raw_publish(fd, &qp->rq, qp->handle, UNIV_KICK_RECV);
}

/* Return 1 and a copy of the completion, or 0 if there is none. */
static MAYBE_UNUSED int raw_poll(struct raw_cq *cq, struct univ_cqe *cqe)
{
	struct univ_cqe *slot = raw_slot(&cq->ring, cq->ring.index);
	uint32_t phase = UNIV_CQE_PHASE(cq->ring.index, cq->ring.count);

	if (__atomic_load_n(&slot->phase, __ATOMIC_ACQUIRE) != phase)
		return 0;
	*cqe = *slot;
	__atomic_store_n(&cq->ring.head->user.index, ++cq->ring.index, __ATOMIC_RELEASE);
	return 1;
}

static MAYBE_UNUSED int raw_wait(struct raw_cq *cq, struct univ_cqe *cqe, unsigned int ms)
{
	uint64_t end = deadline_ms(ms);

	do {
		if (raw_poll(cq, cqe))
			return 1;
		sched_yield();
	} while (now_ns() < end);
	/* Poll once more, because this process may not have run since the last poll. */
	return raw_poll(cq, cqe);
}

/* A pseudo-random sequence that depends only on the seed. */
static MAYBE_UNUSED uint32_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static MAYBE_UNUSED uint64_t rnd_seed(void)
{
	const char *text = getenv("UNIV_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : now_ns();

	printf("seed: UNIV_TEST_SEED=%" PRIu64 "\n", seed);
	return seed;
}

#endif
