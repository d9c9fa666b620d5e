/* SPDX-License-Identifier: GPL-2.0 */
/* Calls on the node without the library, and the objects and rings that they create. */
#ifndef RAW_OBJECTS_H
#define RAW_OBJECTS_H

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

/* An XRC domain with a shared receive queue and a target, which has no rings. */
static MAYBE_UNUSED void raw_xrc(int fd, uint32_t pd, uint32_t cq, struct raw_srq *srq,
				 struct raw_qp *target)
{
	struct univ_xrcd_open domain = { .fd = -1, .oflags = O_CREAT };
	struct univ_qp_create create = { .qp_type = IBV_QPT_XRC_RECV };
	struct univ_srq_create arg = { .pd = pd, .max_wr = 16, .max_sge = 2,
				       .srq_type = IBV_SRQT_XRC, .cq = cq };

	NEED_OK(raw_call(fd, UNIV_XRCD_OPEN, &domain));
	arg.xrcd = create.xrcd = domain.handle;
	raw_srq_make(fd, srq, &arg);
	NEED_OK(raw_call(fd, UNIV_QP_CREATE, &create));
	*target = (struct raw_qp){ .handle = create.handle, .qp_num = create.qp_num,
				   .type = IBV_QPT_XRC_RECV };
}

#endif
