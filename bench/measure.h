/* SPDX-License-Identifier: GPL-2.0 */
/* Medians, and the requests that more than one benchmark posts. */
#ifndef MEASURE_H
#define MEASURE_H

#include "testlib.h"

static MAYBE_UNUSED int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the @n values. */
static MAYBE_UNUSED uint64_t median(uint64_t *at, int n)
{
	qsort(at, n, sizeof(*at), by_value);
	return at[n / 2];
}

/* Posts @n receive requests of 64 bytes, which all have the same memory. */
static MAYBE_UNUSED void receive_some(struct pair *p, int n)
{
	struct ibv_sge to = pair_sge(p, 1, 4096, 64);
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad;

	while (n--)
		NEED_OK(ibv_post_recv(p->qp[1], &recv, &bad));
}

/* Prepares a chain of @n requests of 64 bytes that are all signaled. */
static MAYBE_UNUSED void chain_of(struct pair *p, struct ibv_send_wr *wr, struct ibv_sge *sge, int n,
				  enum ibv_wr_opcode opcode)
{
	for (int i = 0; i < n; i++) {
		sge[i] = pair_sge(p, 0, 64 * i, 64);
		wr[i] = (struct ibv_send_wr){
			.next = i < n - 1 ? &wr[i + 1] : NULL, .sg_list = &sge[i], .num_sge = 1,
			.opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = (uintptr_t)p->buf[1], .rkey = p->mr->rkey },
		};
	}
}

#endif
