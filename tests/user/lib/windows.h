/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for the tests of memory windows: two queue pairs, memory that is accessible
 * only through windows, and each request with its expected completion.
 */
#ifndef WINDOWS_H
#define WINDOWS_H

#include "raw.h"

#define REGION 65536
#define AT 4096			/* Offset of most windows in the region. */
#define SIZE 8192		/* Length of most windows. */
#define LEN 256
#define READ_WRITE (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

/*
 * Queue pair 1 owns the memory and queue pair 0 is its peer. The same holds for @other, in
 * the same protection domain.
 */
static struct pair p;
static MAYBE_UNUSED struct ibv_qp *other[2];
static struct ibv_mr *mr;
static uint8_t *mem;

static MAYBE_UNUSED struct ibv_qp *make_qp(struct ibv_pd *pd, int side)
{
	struct ibv_qp_init_attr init = {
		.send_cq = p.cq[side],
		.recv_cq = p.cq[side],
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	NEED_PTR(qp, "create_qp");
	return qp;
}

static void connect_two(struct ibv_qp *qp[2])
{
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		NEED_OK(qp_to_state(qp[i], IBV_QPS_RESET));
	for (int i = 0; i < 2; i++)
		while (ibv_poll_cq(p.cq[i], 1, &wc) > 0)
			;
	for (int i = 0; i < 2; i++)
		qp_connect(&p.dev, qp[i], qp[!i]->qp_num, NULL);
}

static void set_up_type(enum ibv_qp_type type)
{
	pair_open(&p, &(struct pair_want){ .type = type });
	mem = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	/* Peers have access only through windows. */
	mr = ibv_reg_mr(p.pd, mem, REGION, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	NEED_PTR(mr, "reg_mr");
}

static MAYBE_UNUSED void set_up(void)
{
	set_up_type(IBV_QPT_RC);
}

static MAYBE_UNUSED void tear_down(void)
{
	if (mr)
		CHECK(!ibv_dereg_mr(mr), "dereg_mr: %s; %s", err_name(errno), why_text());
	pair_close(&p);
	munmap(mem, REGION);
}

static struct ibv_mw *new_window(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, type);

	NEED(mw, "alloc_mw: %s; %s", err_name(errno), why_text());
	CHECK(mw->pd == pd && mw->context == pd->context && mw->type == type && mw->rkey,
	      "what ibv_alloc_mw returned");
	return mw;
}

/* ---- requests ------------------------------------------------------------------ */

static void finish(struct ibv_qp *qp[2], int side, enum ibv_wc_status want, int opcode)
{
	struct ibv_wc wc;

	WANT_WC(p.cq[side], &wc, want);
	if (want == IBV_WC_SUCCESS)
		CHECK((int)wc.opcode == opcode, "opcode %d, expected %d", wc.opcode, opcode);
	else
		connect_two(qp);
}

static struct ibv_mw_bind_info range(uint64_t from, uint64_t length, unsigned int access)
{
	return (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)mem + from, .length = length,
		.mw_access_flags = access,
	};
}

static MAYBE_UNUSED void bind1_by(struct ibv_qp *qp[2], struct ibv_mw *mw, struct ibv_mw_bind_info info,
		     enum ibv_wc_status want)
{
	struct ibv_mw_bind bind = {
		.wr_id = 7, .send_flags = IBV_SEND_SIGNALED, .bind_info = info,
	};
	uint32_t before = mw->rkey;

	CHECK_ERR(ibv_bind_mw(qp[1], mw, &bind), 0);
	CHECK(mw->rkey == ibv_inc_rkey(before), "key %#x after %#x", mw->rkey, before);
	finish(qp, 1, want, IBV_WC_BIND_MW);
	if (want != IBV_WC_SUCCESS)
		mw->rkey = before;
}

static MAYBE_UNUSED void bind1(struct ibv_mw *mw, struct ibv_mw_bind_info info, enum ibv_wc_status want)
{
	bind1_by(p.qp, mw, info, want);
}

static MAYBE_UNUSED void unbind1(struct ibv_mw *mw)
{
	bind1(mw, (struct ibv_mw_bind_info){ 0 }, IBV_WC_SUCCESS);
}

static MAYBE_UNUSED struct ibv_send_wr bind_wr(struct ibv_mw *mw, uint32_t key, struct ibv_mw_bind_info info)
{
	return (struct ibv_send_wr){
		.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw, .rkey = key, .bind_info = info },
	};
}

static int post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(qp, wr, &bad);
}

static MAYBE_UNUSED void bind2(struct ibv_mw *mw, uint32_t key, struct ibv_mw_bind_info info,
		  enum ibv_wc_status want)
{
	struct ibv_send_wr wr = bind_wr(mw, key, info);

	CHECK_ERR(post(p.qp[1], &wr), 0);
	finish(p.qp, 1, want, IBV_WC_BIND_MW);
}

static MAYBE_UNUSED void invalidate_by(struct ibv_qp *qp[2], uint32_t key, enum ibv_wc_status want)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = key,
	};

	CHECK_ERR(post(qp[1], &wr), 0);
	finish(qp, 1, want, IBV_WC_LOCAL_INV);
}

static MAYBE_UNUSED void invalidate(uint32_t key, enum ibv_wc_status want)
{
	invalidate_by(p.qp, key, want);
}

/* The peer accesses @addr by @key, from or to the start of its buffer. */
static MAYBE_UNUSED void use_by(struct ibv_qp *qp[2], enum ibv_wr_opcode opcode, uint32_t key, uint64_t addr,
		   uint32_t len, enum ibv_wc_status want)
{
	static const int done[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE, [IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
	};
	struct ibv_sge sge = pair_sge(&p, 0, 0, len);
	struct ibv_send_wr wr = {
		.opcode = opcode, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
	};

	wr_remote(&wr, addr, key, 1);
	CHECK_ERR(post(qp[0], &wr), 0);
	finish(qp, 0, want, done[opcode]);
}

static MAYBE_UNUSED void use(enum ibv_wr_opcode opcode, uint32_t key, uint64_t off, uint32_t len,
		enum ibv_wc_status want)
{
	use_by(p.qp, opcode, key, (uintptr_t)mem + off, len, want);
}

/* The peer's write by this key arrives there, and no other byte changes. */
static MAYBE_UNUSED void works(uint32_t key, uint64_t off, uint32_t seed)
{
	memset(mem, 0, REGION);
	fill(p.buf[0], LEN, seed);
	use(IBV_WR_RDMA_WRITE, key, off, LEN, IBV_WC_SUCCESS);
	CHECK_BYTES(mem + off, LEN, seed, "written through the window");
	CHECK(all_zero(mem, off) && all_zero(mem + off + LEN, REGION - off - LEN),
	      "bytes beside it were written");
}

/* Every access of the peer by this key is refused, and no byte changes. */
static MAYBE_UNUSED void is_shut(uint32_t key, uint64_t off)
{
	memset(mem, 0, REGION);
	memset(p.buf[0], 0x5a, LEN);
	use(IBV_WR_RDMA_WRITE, key, off, LEN, IBV_WC_REM_ACCESS_ERR);
	use(IBV_WR_RDMA_READ, key, off, LEN, IBV_WC_REM_ACCESS_ERR);
	use(IBV_WR_ATOMIC_FETCH_AND_ADD, key, off & ~7, 8, IBV_WC_REM_ACCESS_ERR);
	CHECK(all_zero(mem, REGION), "memory was written");
	CHECK(p.buf[0][0] == 0x5a, "memory was read");
}

/*
 * Check that a window is bound to the region. A successful deregistration would make the
 * rest of the test meaningless, so exit.
 */
static MAYBE_UNUSED void stays(void)
{
	int err = ibv_dereg_mr(mr);

	NEED(err == EBUSY, "dereg_mr: expected EBUSY, got %s", err_name(err));
}

static MAYBE_UNUSED bool is_offered(void)
{
	bool offered;

	test_now = "offered";
	dev_open(&p.dev);
	offered = raw_has_windows(p.dev.ctx->cmd_fd);
	dev_close(&p.dev);
	return offered;
}

#endif
