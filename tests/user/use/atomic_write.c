// SPDX-License-Identifier: GPL-2.0
/*
 * adv22. Atomic writes: eight bytes arrive all at once or not at all, in order, and only
 * where the peer may write. Every invalid atomic write is refused. A device without the
 * operation must say so.
 */
#include "send_ops.h"

#define PAIR_OPS { .use_ex = 1, .ex_ops = IBV_QP_EX_WITH_ATOMIC_WRITE }
#define CAP_ATOMIC_WRITE (1ull << 40)
#define CHAIN 40

static bool offered;

static void capabilities(void)
{
	struct ibv_device_attr_ex attr;
	struct test_dev dev;

	dev_open(&dev);
	NEED_OK(ibv_query_device_ex(dev.ctx, NULL, &attr));
	offered = attr.device_cap_flags_ex & CAP_ATOMIC_WRITE;
	dev_close(&dev);
}

/* Write eight bytes of one value to half 1 of the pair. */
static void post(struct pair *p, uint64_t to, uint32_t rkey, uint64_t value, unsigned int flags)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(p->qp[0]);

	NEED(ex, "no extended interface");
	ibv_wr_start(ex);
	ex->wr_id = value;
	ex->wr_flags = flags;
	ibv_wr_atomic_write(ex, rkey, to, &value);
	/* ibv_wr_atomic_write() has copied the value. */
	value = ~value;
	NEED_OK(ibv_wr_complete(ex));
}

/* ---- Valid atomic writes --------------------------------------------------- */

static void arrives(void)
{
	struct pair_want want = PAIR_OPS;
	uint64_t *mem, value = 0x0123456789abcdef;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	mem = (void *)p.buf[1];
	memset(mem, 0x55, 64);
	post(&p, (uintptr_t)&mem[3], p.mr->rkey, value, IBV_SEND_SIGNALED);
	if (WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
		CHECK(wc.opcode == IBV_WC_ATOMIC_WRITE && wc.wr_id == value, "opcode %d", wc.opcode);
	for (int i = 0; i < 8; i++)
		CHECK(mem[i] == (i == 3 ? value : 0x5555555555555555), "word %d is %" PRIx64, i, mem[i]);
	WANT_EMPTY(p.cq[1]);
	pair_close(&p);
}

/*
 * More atomic writes than may be under way at once, mixed with reads that must see them. A
 * read whose response is lost is executed again, so the next write has to wait for the
 * read.
 */
static void in_order(void)
{
	struct pair_want want = PAIR_OPS;
	uint64_t *mem, *seen, value;
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	mem = (void *)p.buf[1];
	seen = (void *)(p.buf[0] + 4096);
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	NEED(ex, "no extended interface");
	ibv_wr_start(ex);
	for (int i = 0; i < CHAIN / 2; i++) {
		value = 1000 + i;
		ex->wr_flags = IBV_SEND_FENCE;
		ibv_wr_atomic_write(ex, p.mr->rkey, (uintptr_t)mem, &value);
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_read(ex, p.mr->rkey, (uintptr_t)mem);
		ibv_wr_set_sge(ex, p.mr->lkey, (uintptr_t)&seen[i], 8);
	}
	NEED_OK(ibv_wr_complete(ex));
	for (int i = 0; i < CHAIN / 2; i++)
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	for (int i = 0; i < CHAIN / 2; i++)
		CHECK(seen[i] == 1000u + i, "the read behind write %d saw %" PRIu64, i, seen[i]);
	pair_close(&p);
}

struct watch {
	uint64_t *cell;
	bool stop;
	uint64_t torn;
	uint64_t changes;
};

static void *watch(void *arg)
{
	uint64_t before = 0, now;
	struct watch *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		now = __atomic_load_n(w->cell, __ATOMIC_ACQUIRE);
		if ((uint32_t)now != (uint32_t)(now >> 32))
			w->torn++;
		w->changes += now != before;
		before = now;
	}
	return NULL;
}

/* A reader sees one value or the next, and never a mixture. */
static void not_torn(void)
{
	struct pair_want want = PAIR_OPS;
	struct watch w = { 0 };
	struct ibv_wc wc;
	struct pair p;
	pthread_t thread;

	pair_open(&p, &want);
	w.cell = (void *)p.buf[1];
	*w.cell = 0;
	NEED_OK(pthread_create(&thread, NULL, watch, &w));
	for (uint64_t i = 1; i < (uint64_t)test_rounds(3000); i++) {
		post(&p, (uintptr_t)w.cell, p.mr->rkey, i << 32 | i, IBV_SEND_SIGNALED);
		if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
	}
	__atomic_store_n(&w.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	CHECK(!w.torn, "%" PRIu64 " halves among %" PRIu64 " values", w.torn, w.changes);
	pair_close(&p);
}

/* ---- Refused atomic writes ------------------------------------------------- */

/* The peer refuses the request, no memory changes, and the queue pair enters the error state. */
static void refused(uint64_t offset, uint32_t key_change, uint32_t access, enum ibv_wc_status status)
{
	struct pair_want want = PAIR_OPS;
	struct ibv_wc wc;
	struct ibv_mr *mr;
	struct pair p;
	uint8_t *mem;

	pair_open(&p, &want);
	mem = aligned_alloc(4096, 4096);
	NEED_PTR(mem, "memory");
	memset(mem, 0x33, 4096);
	mr = ibv_reg_mr(p.pd, mem, 64, access);
	NEED_PTR(mr, "reg_mr");
	post(&p, (uintptr_t)mem + offset, mr->rkey ^ key_change, 7, IBV_SEND_SIGNALED);
	WANT_WC(p.cq[0], &wc, status);
	for (int i = 0; i < 4096; i++)
		if (!CHECK(mem[i] == 0x33, "byte %d was written", i))
			break;
	CHECK(qp_state_after_error(p.qp[0]) == IBV_QPS_ERR, "state %d", qp_state_now(p.qp[0]));
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	free(mem);
	pair_close(&p);
}

static void bad_targets(void)
{
	const uint32_t open = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	refused(0, 0x55, open, IBV_WC_REM_ACCESS_ERR);
	refused(64, 0, open, IBV_WC_REM_ACCESS_ERR);
	refused(-8ull, 0, open, IBV_WC_REM_ACCESS_ERR);
	refused(0, 0, 0, IBV_WC_REM_ACCESS_ERR);
	/* The access flag for other atomics is neither sufficient nor necessary. */
	refused(0, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ,
		IBV_WC_REM_ACCESS_ERR);
}

static void queue_pair_allows_none(void)
{
	struct pair_want want = PAIR_OPS;
	struct ibv_qp_attr a = { .qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	memset(p.buf[1], 0, 8);
	NEED_OK(ibv_modify_qp(p.qp[1], &a, IBV_QP_ACCESS_FLAGS));
	post(&p, (uintptr_t)p.buf[1], p.mr->rkey, 7, IBV_SEND_SIGNALED);
	WANT_WC(p.cq[0], &wc, IBV_WC_REM_INV_REQ_ERR);
	CHECK(all_zero(p.buf[1], 8), "something was written");
	pair_close(&p);
}

static void bind(struct pair *p, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(p->qp[1]);
	struct ibv_wc wc;

	NEED(ex, "no extended interface");
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, rkey, info);
	NEED_OK(ibv_wr_complete(ex));
	WANT_WC(p->cq[1], &wc, IBV_WC_SUCCESS);
}

/* The address is a multiple of eight, but the window's memory is not aligned. */
static void askew(void)
{
	struct pair_want want = PAIR_OPS;
	struct ibv_mw_bind_info info = {
		.length = 32, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED,
	};
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_wc wc;
	struct pair p;

	want.ex_ops |= IBV_QP_EX_WITH_BIND_MW;
	pair_open(&p, &want);
	memset(p.buf[1], 0, 64);
	mr = ibv_reg_mr(p.pd, p.buf[1], 64, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	NEED_PTR(mr, "reg_mr");
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_2);
	NEED_PTR(mw, "alloc_mw");
	info.mr = mr;
	info.addr = (uintptr_t)p.buf[1] + 4;
	bind(&p, mw, ibv_inc_rkey(mw->rkey), &info);
	post(&p, 8, ibv_inc_rkey(mw->rkey), 7, IBV_SEND_SIGNALED);
	WANT_WC(p.cq[0], &wc, IBV_WC_REM_INV_REQ_ERR);
	CHECK(all_zero(p.buf[1], 64), "something was written");
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
}

static void misaligned(void)
{
	struct pair_want want = PAIR_OPS;
	struct ibv_qp_ex *ex;
	uint64_t value = 1;
	struct pair p;

	pair_open(&p, &want);
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	NEED(ex, "no extended interface");
	for (int off = 1; off < 8; off++) {
		ibv_wr_start(ex);
		ibv_wr_atomic_write(ex, p.mr->rkey, (uintptr_t)p.buf[1] + off, &value);
		CHECK_ERR(ibv_wr_complete(ex), EINVAL);
		CHECK(why_reason() == UNIV_REASON_ATOMIC, "%s", why_text());
	}
	CHECK(pair_works(&p), "the pair is spoilt");
	pair_close(&p);
}

/*
 * Write the request into the ring to bypass the checks of the library. Each call needs a
 * new pair of queue pairs.
 */
static void by_hand(uint8_t flags, uint16_t count, uint32_t off, uint8_t status, uint16_t reason)
{
	static uint8_t mem[4096] __attribute__((aligned(4096)));
	int fd = raw_open();
	uint32_t pd = raw_pd(fd);
	struct raw_mr mr = raw_mr(fd, pd, mem, sizeof(mem), ALL_ACCESS);
	struct univ_send_wr *wr;
	struct raw_qp qp[2];
	struct univ_cqe cqe;
	struct raw_cq cq;

	memset(mem, 0x44, sizeof(mem));
	raw_cq(fd, &cq, 16, -1);
	for (int i = 0; i < 2; i++)
		raw_qp(fd, &qp[i], IBV_QPT_RC, pd, cq.handle, 0);
	for (int i = 0; i < 2; i++)
		raw_connect(fd, &qp[i], qp[!i].qp_num);
	wr = raw_slot(&qp[0].sq, qp[0].sq.index);
	memset(wr, 0, qp[0].sq.stride);
	wr->opcode = UNIV_WR_ATOMIC_WRITE;
	wr->flags = flags | UNIV_WR_SIGNALED;
	wr->count = count;
	wr->remote_addr = (uintptr_t)mem + 64 + off;
	wr->rkey = mr.rkey;
	NEED_OK(raw_publish(fd, &qp[0].sq, qp[0].handle, UNIV_KICK_SEND));
	if (CHECK(raw_wait(&cq, &cqe, WC_TIMEOUT), "no completion"))
		CHECK(cqe.status == status && cqe.reason == reason, "status %u, reason %u", cqe.status,
		      cqe.reason);
	for (size_t i = 0; i < sizeof(mem); i++)
		if (!CHECK(mem[i] == 0x44, "byte %zu was written", i))
			break;
	close(fd);
	raw_unmap(&cq.map);
	for (int i = 0; i < 2; i++)
		raw_unmap(&qp[i].map);
}

static void hostile(void)
{
	uint16_t askew = by_packets() ? UNIV_REASON_NONE : UNIV_REASON_ATOMIC;

	by_hand(0, 1, 0, IBV_WC_LOC_QP_OP_ERR, UNIV_REASON_WR_INLINE);
	by_hand(0, 8, 0, IBV_WC_LOC_QP_OP_ERR, UNIV_REASON_WR_INLINE);
	for (uint16_t count = 0; count < 17; count++)
		if (count != 8)
			by_hand(UNIV_WR_INLINE, count, 0, IBV_WC_LOC_QP_OP_ERR, UNIV_REASON_WR_INLINE);
	by_hand(UNIV_WR_INLINE, 0xffff, 0, IBV_WC_LOC_QP_OP_ERR, UNIV_REASON_WR_INLINE);
	by_hand(UNIV_WR_INLINE, 8, 4, IBV_WC_REM_INV_REQ_ERR, askew);
	by_hand(UNIV_WR_INLINE, 8, 1, IBV_WC_REM_INV_REQ_ERR, askew);
}

/* ---- Devices without atomic writes ----------------------------------------- */

static void not_there(void)
{
	CHECK(offered || !on_uroce(), "uroce offers no atomic writes");
	send_op_of_reliable(IBV_QP_EX_WITH_ATOMIC_WRITE, offered);
}

/* An atomic write needs IBV_QP_EX_WITH_ATOMIC_WRITE, and cannot be posted by ibv_post_send(). */
static void not_asked(void)
{
	struct pair_want want = { .use_ex = 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_WRITE };
	struct ibv_qp_ex *ex;
	uint64_t value = 1;
	struct pair p;

	pair_open(&p, &want);
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	ibv_wr_start(ex);
	ibv_wr_atomic_write(ex, p.mr->rkey, (uintptr_t)p.buf[1], &value);
	CHECK_ERR(ibv_wr_complete(ex), EOPNOTSUPP);
	CHECK(why_reason() == (offered ? UNIV_REASON_WR_NOT_ASKED : UNIV_REASON_WR_DEVICE), "%s", why_text());
	CHECK_ERR(post_one(&p, 0, &wr), EINVAL);
	CHECK(why_reason() == (offered ? UNIV_REASON_WR_BATCH : UNIV_REASON_WR_DEVICE), "%s", why_text());
	CHECK(pair_works(&p), "the pair is spoilt");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "not_there", not_there },
	{ "not_asked", not_asked },
	{ "arrives", arrives },
	{ "in_order", in_order },
	{ "not_torn", not_torn },
	{ "bad_targets", bad_targets },
	{ "queue_pair_allows_none", queue_pair_allows_none },
	{ "askew", askew },
	{ "misaligned", misaligned },
	{ "hostile", hostile },
};

int main(int argc, char **argv)
{
	capabilities();
	return test_run("atomic_write (adv22)", argc, argv, cases, offered ? ARRAY_SIZE(cases) : 2, 60);
}
