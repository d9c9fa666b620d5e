/* SPDX-License-Identifier: GPL-2.0 */
/* Regions of on-demand paging, and operations between them. */
#ifndef ODP_H
#define ODP_H

#include "testlib.h"
#include "raw.h"

#define ODP (ALL_ACCESS | IBV_ACCESS_ON_DEMAND)
/* Several chunks of the kernel's list of pages, and more than is copied in one turn. */
#define BIG (5u << 20)

/* A mapping, and its region. */
struct odp {
	uint8_t *mem;
	size_t len;
	struct ibv_mr *mr;
};

static MAYBE_UNUSED uint8_t *map(size_t len, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);

	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	return mem;
}

static MAYBE_UNUSED struct odp odp_of(const struct pair *p, void *mem, size_t len)
{
	struct odp o = { mem, len, ibv_reg_mr(p->pd, mem, len, ODP) };

	NEED(o.mr, "reg_mr: %s; %s", err_name(errno), why_text());
	return o;
}

static MAYBE_UNUSED struct odp odp_open(const struct pair *p, size_t len)
{
	return odp_of(p, map(len, -1), len);
}

static MAYBE_UNUSED void odp_close(struct odp *o)
{
	CHECK_ERR(ibv_dereg_mr(o->mr), 0);
	munmap(o->mem, o->len);
}

static MAYBE_UNUSED void need_odp(const struct pair *p)
{
	struct ibv_device_attr_ex ex;

	NEED_OK(ibv_query_device_ex(p->dev.ctx, NULL, &ex));
	if (!(ex.odp_caps.general_caps & IBV_ODP_SUPPORT))
		SKIP("the device has no on-demand paging");
}

static MAYBE_UNUSED void start(struct pair *p, const struct pair_want *want)
{
	pair_open(p, want);
	need_odp(p);
}

static MAYBE_UNUSED struct ibv_sge sge_of(const struct odp *o, size_t off, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)o->mem + off, len, o->mr->lkey };
}

/* Ask for pages to be faulted in for writing. With IBV_ADVISE_MR_FLAG_FLUSH, wait for them and for earlier ones. */
static MAYBE_UNUSED void prefetch(const struct pair *p, const struct odp *o, size_t off, uint32_t len,
				  uint32_t flags)
{
	struct ibv_sge sge = sge_of(o, off, len);

	CHECK_ERR(ibv_advise_mr(p->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, flags, &sge, 1), 0);
}

/* Post an operation of the first side from @from at @off to or from @to at @there. */
static MAYBE_UNUSED void post(const struct pair *p, enum ibv_wr_opcode op, const struct odp *from, size_t off,
		 const struct odp *to, size_t there, uint32_t len)
{
	struct ibv_sge sge = sge_of(from, off, len);
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htobe32(77),
	};

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = (uintptr_t)to->mem + there;
		wr.wr.atomic.rkey = to->mr->rkey;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 9;
	} else if (to) {
		wr.wr.rdma.remote_addr = (uintptr_t)to->mem + there;
		wr.wr.rdma.rkey = to->mr->rkey;
	}
	CHECK_ERR(post_one(p, 0, &wr), 0);
}

static MAYBE_UNUSED bool done(const struct pair *p, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	return WANT_WC(p->cq[0], &wc, status);
}

#endif
