/* SPDX-License-Identifier: GPL-2.0 */
/* Posting to a pair, and a message each way. */
#ifndef POST_H
#define POST_H

#include "completion.h"
#include "pair.h"
#include "pattern.h"

/* A scatter/gather entry in half @i of the buffer, at offset @off. */
static MAYBE_UNUSED struct ibv_sge pair_sge(const struct pair *p, int i, size_t off, uint32_t len)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)p->buf[i] + off,
		.length = len,
		.lkey = p->mr->lkey,
	};
}

static MAYBE_UNUSED int post_recv(const struct pair *p, int i, uint64_t id,
				  struct ibv_sge *sge, int n)
{
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = sge, .num_sge = n }, *bad = NULL;

	if (p->srq)
		return ibv_post_srq_recv(p->srq, &wr, &bad);
	return ibv_post_recv(p->qp[i], &wr, &bad);
}

static MAYBE_UNUSED int post_recv_at(const struct pair *p, int i, uint64_t id, size_t off,
				     uint32_t len)
{
	struct ibv_sge sge = pair_sge(p, i, off, len);

	return post_recv(p, i, id, &sge, 1);
}

/* Fill in the destination of a datagram. */
static MAYBE_UNUSED void wr_address(const struct pair *p, int i, struct ibv_send_wr *wr)
{
	if (p->type != IBV_QPT_UD)
		return;
	wr->wr.ud.ah = p->ah;
	wr->wr.ud.remote_qpn = p->qp[!i]->qp_num;
	wr->wr.ud.remote_qkey = PAIR_QKEY;
}

/* Fill in the remote memory of a write, of a read, or of an atomic operation that adds @add. */
static MAYBE_UNUSED void wr_remote(struct ibv_send_wr *wr, uint64_t addr, uint32_t rkey,
				   uint64_t add)
{
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = addr;
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.compare_add = add;
	} else {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = rkey;
	}
}

static MAYBE_UNUSED int post_one(const struct pair *p, int i, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;

	return ibv_post_send(p->qp[i], wr, &bad);
}

static MAYBE_UNUSED int post_send_at(const struct pair *p, int i, uint64_t id, size_t off,
				     uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = pair_sge(p, i, off, len);
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	};

	wr_address(p, i, &wr);
	return post_one(p, i, &wr);
}

/* Post an RDMA operation between half @i and the start of the other half. */
static MAYBE_UNUSED int post_rdma(const struct pair *p, int i, uint64_t id,
				  enum ibv_wr_opcode opcode, uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = pair_sge(p, i, 0, len);
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = flags,
		.imm_data = htobe32(0xabcd1234),
		.wr.rdma = { .remote_addr = (uintptr_t)p->buf[!i], .rkey = p->mr->rkey },
	};

	return post_one(p, i, &wr);
}

/* Write @len bytes from the first half to @remote in @mr, which @to points to in this process. */
static MAYBE_UNUSED void write_through(struct pair *p, const struct ibv_mr *mr, uint64_t remote,
				       const uint8_t *to, uint32_t len, uint32_t seed)
{
	struct ibv_sge sge = pair_sge(p, 0, 0, len);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote, .rkey = mr->rkey },
	};
	struct ibv_wc wc;

	fill(p->buf[0], len, seed);
	CHECK_ERR(post_one(p, 0, &wr), 0);
	WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(to, len, seed, "written through the region");
}

/* Send one message each way, to check that a connected pair works. */
static MAYBE_UNUSED bool pair_works(struct pair *p)
{
	size_t grh = p->type == IBV_QPT_UD ? 40 : 0;
	struct ibv_wc wc;
	int before = test_failures;

	for (int i = 0; i < 2; i++) {
		fill(p->buf[i], 1000, i + 1);
		memset(p->buf[!i] + 4096, 0, 2000);
		CHECK_ERR(post_recv_at(p, !i, 1, 4096, 2000), 0);
		CHECK_ERR(post_send_at(p, i, 2, 0, 1000, IBV_SEND_SIGNALED), 0);
		WANT_WC(p->cq[!i], &wc, IBV_WC_SUCCESS);
		WANT_WC(p->cq[i], &wc, IBV_WC_SUCCESS);
		CHECK_BYTES(p->buf[!i] + 4096 + grh, 1000, i + 1, "message");
	}
	return test_failures == before;
}

/*
 * Send @count messages from the first side; they take the receive requests of the second side from
 * @*first on in order.
 */
static MAYBE_UNUSED void take_receives(struct pair *p, uint64_t *first, uint32_t count)
{
	struct ibv_wc wc;

	for (; count; count--, (*first)++) {
		CHECK_ERR(post_send_at(p, 0, *first, 0, 8, IBV_SEND_SIGNALED), 0);
		if (!WANT_WC(p->cq[1], &wc, IBV_WC_SUCCESS))
			return;
		CHECK(wc.wr_id == *first, "receive %" PRIu64 ", expected %" PRIu64, wc.wr_id, *first);
		WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
	}
}

#endif
