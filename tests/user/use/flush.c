// SPDX-License-Identifier: GPL-2.0
/*
 * Flushes: what was written before is in memory when a flush completes, of a range or of
 * the whole region, and only where region and queue pair permit this type of flush. Every
 * invalid flush is refused. A device without the operation must say so.
 */
#include "send_ops.h"

#define PAIR_OPS { .use_ex = 1, .ex_ops = IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_BIND_MW }
#define CAP_FLUSH_GLOBAL	(1ull << 38)
#define CAP_FLUSH_PERSISTENT	(1ull << 39)
#define FLUSHABLE (ALL_ACCESS | IBV_ACCESS_FLUSH_GLOBAL)
#define LONGEST (1ull << 31)
#define CHAIN 40

static uint64_t caps;
static bool offered;

static void capabilities(void)
{
	struct ibv_device_attr_ex attr;
	struct test_dev dev;

	dev_open(&dev);
	NEED_OK(ibv_query_device_ex(dev.ctx, NULL, &attr));
	caps = attr.device_cap_flags_ex;
	offered = caps & CAP_FLUSH_GLOBAL;
	dev_close(&dev);
}

/* Queue pair 1 permits flushes of both types, and its memory has a region for them. */
struct flushes {
	struct pair p;
	struct ibv_mr *mr;
	uint8_t *mem;
	struct ibv_qp_ex *ex;
};

static void permit(struct pair *p, unsigned int access)
{
	struct ibv_qp_attr a = { .qp_access_flags = access };

	NEED_OK(ibv_modify_qp(p->qp[1], &a, IBV_QP_ACCESS_FLAGS));
}

static void begin(struct flushes *f, unsigned int access)
{
	struct pair_want want = PAIR_OPS;

	pair_open(&f->p, &want);
	permit(&f->p, FLUSHABLE | IBV_ACCESS_FLUSH_PERSISTENT);
	f->mem = f->p.buf[1];
	f->mr = ibv_reg_mr(f->p.pd, f->mem, 4096, access);
	NEED(f->mr, "reg_mr: %s", why_text());
	f->ex = ibv_qp_to_qp_ex(f->p.qp[0]);
	NEED(f->ex, "no extended interface");
}

static void end(struct flushes *f)
{
	CHECK_ERR(ibv_dereg_mr(f->mr), 0);
	pair_close(&f->p);
}

static void post(struct flushes *f, uint32_t rkey, uint64_t from, size_t len, uint8_t type, uint8_t level)
{
	ibv_wr_start(f->ex);
	f->ex->wr_id = 5;
	f->ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(f->ex, rkey, from, len, type, level);
	NEED_OK(ibv_wr_complete(f->ex));
}

/* ---- Valid flushes --------------------------------------------------------- */

static void completes_with(uint64_t off, size_t len, uint8_t level)
{
	struct flushes f;
	struct ibv_wc wc;

	begin(&f, FLUSHABLE);
	post(&f, f.mr->rkey, (uintptr_t)f.mem + off, len, IBV_FLUSH_GLOBAL, level);
	if (WANT_WC(f.p.cq[0], &wc, IBV_WC_SUCCESS))
		CHECK(wc.opcode == IBV_WC_FLUSH && wc.wr_id == 5 && !wc.byte_len, "opcode %d, %u bytes",
		      wc.opcode, wc.byte_len);
	WANT_EMPTY(f.p.cq[1]);
	CHECK(pair_works(&f.p), "the pair is spoilt");
	end(&f);
}

static void completes(void)
{
	completes_with(0, 4096, IBV_FLUSH_RANGE);
	completes_with(1, 1, IBV_FLUSH_RANGE);
	completes_with(0, 0, IBV_FLUSH_RANGE);
	completes_with(4096, 0, IBV_FLUSH_RANGE);
	/* Of the whole region; address and length do not matter. */
	completes_with(0, 0, IBV_FLUSH_MR);
	completes_with(1 << 20, 4096, IBV_FLUSH_MR);
	completes_with(-1ull << 40, LONGEST + 1, IBV_FLUSH_MR);
}

/*
 * More flushes than reads may be under way at once, each behind a write. When a flush has
 * completed, the write before it is in memory.
 */
static void in_order(void)
{
	struct flushes f;
	struct ibv_wc wc;
	uint32_t *words;

	begin(&f, FLUSHABLE);
	words = (void *)f.mem;
	memset(words, 0, 4096);
	ibv_wr_start(f.ex);
	for (uint32_t i = 0; i < CHAIN / 2; i++) {
		uint32_t value = i + 1;

		f.ex->wr_flags = 0;
		ibv_wr_rdma_write(f.ex, f.mr->rkey, (uintptr_t)&words[i]);
		ibv_wr_set_inline_data(f.ex, &value, sizeof(value));
		f.ex->wr_id = i;
		f.ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_flush(f.ex, f.mr->rkey, (uintptr_t)&words[i], 4, IBV_FLUSH_GLOBAL,
			     i % 2 ? IBV_FLUSH_MR : IBV_FLUSH_RANGE);
	}
	NEED_OK(ibv_wr_complete(f.ex));
	for (uint32_t i = 0; i < CHAIN / 2; i++) {
		if (!WANT_WC(f.p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
		CHECK(wc.wr_id == i, "flush %" PRIu64 " instead of %u", wc.wr_id, i);
		CHECK(__atomic_load_n(&words[i], __ATOMIC_RELAXED) == i + 1, "word %u is %u", i, words[i]);
	}
	end(&f);
}

/* Re-registration grants the right to an old region. */
static void granted_later(void)
{
	struct flushes f;
	struct ibv_wc wc;

	begin(&f, ALL_ACCESS);
	CHECK_ERR(ibv_rereg_mr(f.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, FLUSHABLE), 0);
	post(&f, f.mr->rkey, (uintptr_t)f.mem, 64, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	WANT_WC(f.p.cq[0], &wc, IBV_WC_SUCCESS);
	end(&f);
}

/* A scatter list that a program sets has no meaning. */
static void ignores_list(void)
{
	struct flushes f;
	struct ibv_wc wc;

	begin(&f, FLUSHABLE);
	ibv_wr_start(f.ex);
	f.ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(f.ex, f.mr->rkey, (uintptr_t)f.mem, 64, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_set_sge(f.ex, f.p.mr->lkey + 1, 4, 77);
	NEED_OK(ibv_wr_complete(f.ex));
	WANT_WC(f.p.cq[0], &wc, IBV_WC_SUCCESS);
	end(&f);
}

/* ---- Refused flushes ------------------------------------------------------- */

/* The peer refuses the request, for this reason if it is on this host. */
static void want_refused(struct flushes *f, enum ibv_wc_status status, uint32_t reason)
{
	struct ibv_wc wc;

	if (WANT_WC(f->p.cq[0], &wc, status) && !by_packets())
		CHECK(why_reason() == reason, "explained as: %s", why_text());
	CHECK(qp_state_after_error(f->p.qp[0]) == IBV_QPS_ERR, "state %d", qp_state_now(f->p.qp[0]));
}

static void refused(uint64_t off, size_t len, uint32_t key_change, unsigned int access, uint8_t type,
		    uint8_t level, uint32_t reason)
{
	struct flushes f;

	begin(&f, access);
	post(&f, f.mr->rkey ^ key_change, (uintptr_t)f.mem + off, len, type, level);
	want_refused(&f, IBV_WC_REM_ACCESS_ERR, reason);
	end(&f);
}

static void bad_targets(void)
{
	refused(0, 64, 0x55, FLUSHABLE, 1, IBV_FLUSH_RANGE, UNIV_REASON_KEY_UNKNOWN);
	refused(0, 64, 0x55, FLUSHABLE, 1, IBV_FLUSH_MR, UNIV_REASON_KEY_UNKNOWN);
	refused(0, 0, 0x55, FLUSHABLE, 1, IBV_FLUSH_RANGE, UNIV_REASON_KEY_UNKNOWN);
	refused(0, 4097, 0, FLUSHABLE, 1, IBV_FLUSH_RANGE, UNIV_REASON_KEY_RANGE);
	refused(0, LONGEST, 0, FLUSHABLE, 1, IBV_FLUSH_RANGE, UNIV_REASON_KEY_RANGE);
	refused(4097, 0, 0, FLUSHABLE, 1, IBV_FLUSH_RANGE, UNIV_REASON_KEY_RANGE);
	refused(-1ull, 1, 0, FLUSHABLE, 1, IBV_FLUSH_RANGE, UNIV_REASON_KEY_RANGE);
}

/* The right to write does not include the right to flush, nor does one type include the other. */
static void not_granted(void)
{
	refused(0, 64, 0, ALL_ACCESS, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, UNIV_REASON_KEY_ACCESS);
	refused(0, 64, 0, ALL_ACCESS, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR, UNIV_REASON_KEY_ACCESS);
	refused(0, 64, 0, FLUSHABLE, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE, UNIV_REASON_KEY_ACCESS);
	refused(0, 64, 0, FLUSHABLE, IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR, UNIV_REASON_KEY_ACCESS);
	refused(0, 64, 0, FLUSHABLE, IBV_FLUSH_PERSISTENT | IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE,
		UNIV_REASON_KEY_ACCESS);
}

static void queue_pair_allows_none(void)
{
	static const unsigned int access[] = { ALL_ACCESS, ALL_ACCESS | IBV_ACCESS_FLUSH_PERSISTENT };
	struct flushes f;

	for (size_t i = 0; i < ARRAY_SIZE(access); i++) {
		begin(&f, FLUSHABLE);
		permit(&f.p, access[i]);
		post(&f, f.mr->rkey, (uintptr_t)f.mem, 64, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
		want_refused(&f, IBV_WC_REM_INV_REQ_ERR, UNIV_REASON_QP_ACCESS);
		end(&f);
	}
}

static void bind_window(struct flushes *f, struct ibv_mw *mw, unsigned int access, enum ibv_wc_status status)
{
	const struct ibv_mw_bind_info info = {
		.mr = f->mr, .addr = (uintptr_t)f->mem, .length = 64, .mw_access_flags = access,
	};
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(f->p.qp[1]);
	struct ibv_wc wc;

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, ibv_inc_rkey(mw->rkey), &info);
	NEED_OK(ibv_wr_complete(ex));
	WANT_WC(f->p.cq[1], &wc, status);
}

/* A window grants no flush, even if its region does. */
static void through_window(void)
{
	struct flushes f;
	struct ibv_mw *mw;

	for (int i = 0; i < 2; i++) {
		begin(&f, FLUSHABLE | IBV_ACCESS_MW_BIND);
		mw = ibv_alloc_mw(f.p.pd, IBV_MW_TYPE_2);
		NEED_PTR(mw, "alloc_mw");
		if (i) {
			bind_window(&f, mw, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_FLUSH_GLOBAL,
				    IBV_WC_MW_BIND_ERR);
		} else {
			bind_window(&f, mw, IBV_ACCESS_REMOTE_WRITE, IBV_WC_SUCCESS);
			post(&f, ibv_inc_rkey(mw->rkey), (uintptr_t)f.mem, 64, IBV_FLUSH_GLOBAL,
			     IBV_FLUSH_RANGE);
			want_refused(&f, IBV_WC_REM_ACCESS_ERR, UNIV_REASON_KEY_UNKNOWN);
		}
		CHECK_ERR(ibv_dealloc_mw(mw), 0);
		end(&f);
	}
}

/* ---- Invalid arguments ----------------------------------------------------- */

static void invalid(void)
{
	static const struct {
		size_t len;
		uint8_t type, level;
	} bad[] = {
		{ 64, 0, IBV_FLUSH_RANGE }, { 64, 4, IBV_FLUSH_RANGE }, { 64, 5, IBV_FLUSH_RANGE },
		{ 64, 0xff, IBV_FLUSH_MR }, { 64, IBV_FLUSH_GLOBAL, 2 }, { 64, IBV_FLUSH_GLOBAL, 0xff },
		{ LONGEST + 1, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE }, { SIZE_MAX, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE },
	};
	struct flushes f;

	begin(&f, FLUSHABLE);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ibv_wr_start(f.ex);
		ibv_wr_flush(f.ex, f.mr->rkey, (uintptr_t)f.mem, bad[i].len, bad[i].type, bad[i].level);
		CHECK_ERR(ibv_wr_complete(f.ex), EINVAL);
		CHECK(why_reason() == UNIV_REASON_FLUSH, "%zu: %s", i, why_text());
	}
	CHECK(pair_works(&f.p), "the pair is spoilt");
	end(&f);
}

/*
 * Write the request into the ring to bypass the checks of the library. Each call needs a
 * new pair of queue pairs, which permit no flush.
 */
static void by_hand(uint8_t flags, uint16_t count, uint64_t length, uint32_t type, uint32_t level,
		    uint8_t status, uint16_t reason)
{
	static uint8_t mem[4096] __attribute__((aligned(4096)));
	int fd = raw_open();
	uint32_t pd = raw_pd(fd);
	struct raw_mr mr = raw_mr(fd, pd, mem, sizeof(mem), FLUSHABLE);
	struct univ_send_wr *wr;
	struct raw_qp qp[2];
	struct univ_cqe cqe;
	struct raw_cq cq;

	raw_cq(fd, &cq, 16, -1);
	for (int i = 0; i < 2; i++)
		raw_qp(fd, &qp[i], IBV_QPT_RC, pd, cq.handle, 0);
	for (int i = 0; i < 2; i++)
		raw_connect(fd, &qp[i], qp[!i].qp_num);
	wr = raw_slot(&qp[0].sq, qp[0].sq.index);
	memset(wr, 0xff, qp[0].sq.stride);
	wr->opcode = UNIV_WR_FLUSH;
	wr->flags = flags | UNIV_WR_SIGNALED;
	wr->count = count;
	wr->remote_addr = (uintptr_t)mem;
	wr->rkey = mr.rkey;
	wr->flush.length = length;
	wr->flush.type = type;
	wr->flush.level = level;
	NEED_OK(raw_publish(fd, &qp[0].sq, qp[0].handle, UNIV_KICK_SEND));
	if (CHECK(raw_wait(&cq, &cqe, WC_TIMEOUT), "no completion"))
		CHECK(cqe.status == status && cqe.reason == reason, "status %u, reason %u", cqe.status,
		      cqe.reason);
	close(fd);
	raw_unmap(&cq.map);
	for (int i = 0; i < 2; i++)
		raw_unmap(&qp[i].map);
}

static void bad_by_hand(uint64_t length, uint32_t type, uint32_t level)
{
	by_hand(0, 0, length, type, level, IBV_WC_LOC_QP_OP_ERR, UNIV_REASON_FLUSH);
}

static void hostile(void)
{
	uint16_t refuses = by_packets() ? UNIV_REASON_NONE : UNIV_REASON_QP_ACCESS;

	bad_by_hand(64, 0, UNIV_FLUSH_RANGE);
	bad_by_hand(64, 4, UNIV_FLUSH_RANGE);
	bad_by_hand(64, 0x101, UNIV_FLUSH_RANGE);
	bad_by_hand(64, ~0u, UNIV_FLUSH_MR);
	bad_by_hand(64, UNIV_FLUSH_GLOBAL, 2);
	bad_by_hand(64, UNIV_FLUSH_GLOBAL, 0x100);
	bad_by_hand(64, UNIV_FLUSH_GLOBAL, ~0u);
	bad_by_hand(LONGEST + 1, UNIV_FLUSH_GLOBAL, UNIV_FLUSH_RANGE);
	bad_by_hand(1ull << 32, UNIV_FLUSH_GLOBAL, UNIV_FLUSH_RANGE);
	bad_by_hand(~0ull, UNIV_FLUSH_GLOBAL, UNIV_FLUSH_RANGE);
	/* These pass the requester's checks, whatever the count is. */
	by_hand(0, 0xffff, 64, UNIV_FLUSH_GLOBAL, UNIV_FLUSH_RANGE, IBV_WC_REM_INV_REQ_ERR, refuses);
	by_hand(UNIV_WR_INLINE, 0xffff, 64, UNIV_FLUSH_GLOBAL, UNIV_FLUSH_RANGE, IBV_WC_REM_INV_REQ_ERR, refuses);
	by_hand(0, 0, ~0ull, UNIV_FLUSH_GLOBAL, UNIV_FLUSH_MR, IBV_WC_REM_INV_REQ_ERR, refuses);
}

/* ---- Not offered ----------------------------------------------------------- */

/* Ordinary memory cannot be registered as persistent. */
static void not_persistent(void)
{
	struct pair_want want = { .stay_reset = 1 };
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p, &want);
	mr = ibv_reg_mr(p.pd, p.buf[0], 4096, FLUSHABLE | IBV_ACCESS_FLUSH_PERSISTENT);
	CHECK(!mr && (errno == EOPNOTSUPP || (errno == EINVAL && !on_uroce())),
	      "registered, or %s", err_name(errno));
	if (offered) {
		CHECK(!(caps & CAP_FLUSH_PERSISTENT), "the device claims to flush persistent memory");
		CHECK(why_reason() == UNIV_REASON_ACCESS_FLAGS &&
		      strstr(why_text(), "FLUSH_PERSISTENT needs persistent memory"), "%s", why_text());
	}
	pair_close(&p);
}

static void not_there(void)
{
	CHECK(offered || !on_uroce(), "uroce offers no flushes");
	send_op_of_reliable(IBV_QP_EX_WITH_FLUSH, offered);
}

/* A flush needs IBV_QP_EX_WITH_FLUSH, and cannot be posted by ibv_post_send(). */
static void not_asked(void)
{
	struct pair_want want = { .use_ex = 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_FLUSH };
	struct ibv_qp_ex *ex;
	struct pair p;

	pair_open(&p, &want);
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	ibv_wr_start(ex);
	ibv_wr_flush(ex, p.mr->rkey, (uintptr_t)p.buf[1], 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	CHECK_ERR(ibv_wr_complete(ex), EOPNOTSUPP);
	CHECK(why_reason() == (offered ? UNIV_REASON_WR_NOT_ASKED : UNIV_REASON_WR_DEVICE), "%s", why_text());
	CHECK_ERR(post_one(&p, 0, &wr), EINVAL);
	CHECK(why_reason() == (offered ? UNIV_REASON_WR_BATCH : UNIV_REASON_WR_DEVICE), "%s", why_text());
	CHECK(!offered || strstr(why_text(), "ibv_wr_flush alone"), "%s", why_text());
	CHECK(pair_works(&p), "the pair is spoilt");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "not_there", not_there },
	{ "not_asked", not_asked },
	{ "not_persistent", not_persistent },
	{ "completes", completes },
	{ "in_order", in_order },
	{ "granted_later", granted_later },
	{ "ignores_list", ignores_list },
	{ "bad_targets", bad_targets },
	{ "not_granted", not_granted },
	{ "queue_pair_allows_none", queue_pair_allows_none },
	{ "through_window", through_window },
	{ "invalid", invalid },
	{ "hostile", hostile },
};

int main(int argc, char **argv)
{
	capabilities();
	return test_run("flush", argc, argv, cases, offered ? ARRAY_SIZE(cases) : 3, 60);
}
