// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows of both types as programs use them, and the library's explanations of
 * invalid requests. A device without windows must say so. bad_windows.c tests the accesses
 * that windows refuse.
 */
#include "windows.h"

/* ---- Valid uses ---------------------------------------------------------------- */

static void type1(void)
{
	struct ibv_mw *mw;
	uint32_t fresh, first;

	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_1);
	fresh = mw->rkey;
	is_shut(fresh, AT);
	bind1(mw, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	first = mw->rkey;
	works(first, AT, 1);
	works(first, AT + SIZE - LEN, 2);
	use(IBV_WR_RDMA_READ, first, AT + SIZE - LEN, LEN, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[0], LEN, 2, "read through the window");
	is_shut(fresh, AT);
	/* Bind a bound window to another range. */
	bind1(mw, range(32768, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	works(mw->rkey, 32768, 3);
	is_shut(mw->rkey, AT);
	is_shut(first, AT);
	is_shut(first, 32768);
	unbind1(mw);
	is_shut(mw->rkey, 32768);
	bind1(mw, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	works(mw->rkey, AT, 4);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	tear_down();
}

static void type2(void)
{
	struct ibv_mw *mw;
	uint32_t key;

	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	is_shut(mw->rkey, AT);
	/* The consumer chooses the low 8 bits of the key. */
	key = mw->rkey ^ 0xa5;
	bind2(mw, key, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	works(key, AT, 1);
	is_shut(mw->rkey, AT);
	/* A bound type 2 window must be invalidated before it is bound again. */
	bind2(mw, ibv_inc_rkey(key), range(0, SIZE, READ_WRITE), IBV_WC_MW_BIND_ERR);
	works(key, AT, 2);
	invalidate(ibv_inc_rkey(key), IBV_WC_LOC_QP_OP_ERR);
	works(key, AT, 3);
	invalidate(key, IBV_WC_SUCCESS);
	is_shut(key, AT);
	bind2(mw, ibv_inc_rkey(key), range(0, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	works(ibv_inc_rkey(key), 0, 4);
	is_shut(key, 0);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	is_shut(ibv_inc_rkey(key), 0);
	tear_down();
}

static void send_inv(uint32_t key, enum ibv_wc_status ours, enum ibv_wc_status theirs)
{
	struct ibv_sge sge = pair_sge(&p, 0, 0, 8);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = key,
	};
	struct ibv_wc wc;

	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 64), 0);
	CHECK_ERR(post(p.qp[0], &wr), 0);
	WANT_WC(p.cq[1], &wc, theirs);
	if (theirs == IBV_WC_SUCCESS)
		CHECK(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == key,
		      "flags %#x key %#x, expected %#x", wc.wc_flags, wc.invalidated_rkey, key);
	finish(p.qp, 0, ours, IBV_WC_SEND);
}

/* The same by ibv_wr_send_inv(). */
static void send_inv_by_wr_call(struct ibv_mw *mw)
{
	struct ibv_qp *qp[2] = { NULL, make_qp(p.pd, 1) };
	struct ibv_send_wr bind = bind_wr(mw, mw->rkey, range(AT, SIZE, READ_WRITE));
	struct ibv_recv_wr recv = {}, *bad;
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;

	qp[0] = ibv_create_qp_ex(p.dev.ctx, &(struct ibv_qp_init_attr_ex){
		.send_cq = p.cq[0], .recv_cq = p.cq[0], .qp_type = IBV_QPT_RC, .pd = p.pd,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_INV });
	NEED(qp[0], "create_qp_ex: %s; %s", err_name(errno), why_text());
	connect_two(qp);
	CHECK_ERR(post(qp[1], &bind), 0);
	finish(qp, 1, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
	CHECK_ERR(ibv_post_recv(qp[1], &recv, &bad), 0);
	ex = ibv_qp_to_qp_ex(qp[0]);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_inv(ex, mw->rkey);
	CHECK_ERR(ibv_wr_complete(ex), 0);
	if (WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS))
		CHECK(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == mw->rkey,
		      "flags %#x key %#x", wc.wc_flags, wc.invalidated_rkey);
	finish(qp, 0, IBV_WC_SUCCESS, IBV_WC_SEND);
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_qp(qp[i]), 0);
}

static void invalidated_remotely(void)
{
	struct ibv_mw *mw, *one;

	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	bind2(mw, mw->rkey, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	works(mw->rkey, AT, 1);
	send_inv(ibv_inc_rkey(mw->rkey), IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_QP_OP_ERR);
	works(mw->rkey, AT, 2);
	send_inv(mw->rkey, IBV_WC_SUCCESS, IBV_WC_SUCCESS);
	is_shut(mw->rkey, AT);
	send_inv_by_wr_call(mw);
	bind2(mw, mw->rkey, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	works(mw->rkey, AT, 3);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	/* A type 1 window and a region cannot be invalidated by a request. */
	one = new_window(p.pd, IBV_MW_TYPE_1);
	bind1(one, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	send_inv(one->rkey, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_QP_OP_ERR);
	invalidate(one->rkey, IBV_WC_LOC_QP_OP_ERR);
	works(one->rkey, AT, 4);
	send_inv(p.mr->rkey, IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_QP_OP_ERR);
	invalidate(p.mr->rkey, IBV_WC_LOC_QP_OP_ERR);
	CHECK(pair_works(&p), "the region is gone");
	CHECK_ERR(ibv_dealloc_mw(one), 0);
	tear_down();
}

/* Offset 0 is the first byte of the window, wherever that is. */
static void zero_based(void)
{
	struct ibv_mw *mw, *one;

	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	bind2(mw, mw->rkey, range(AT + 24, SIZE, ALL_ACCESS & ~IBV_ACCESS_LOCAL_WRITE),
	      IBV_WC_SUCCESS);
	*(uint64_t *)(mem + AT + 24) = 41;
	use(IBV_WR_ATOMIC_FETCH_AND_ADD, mw->rkey, AT + 24, 8, IBV_WC_SUCCESS);
	CHECK(*(uint64_t *)(mem + AT + 24) == 42, "fetch and add through the window");
	invalidate(mw->rkey, IBV_WC_SUCCESS);
	bind2(mw, mw->rkey, range(AT + 24, SIZE, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_ATOMIC |
				  READ_WRITE), IBV_WC_SUCCESS);
	fill(p.buf[0], LEN, 9);
	use_by(p.qp, IBV_WR_RDMA_WRITE, mw->rkey, 0, LEN, IBV_WC_SUCCESS);
	CHECK_BYTES(mem + AT + 24, LEN, 9, "written to 0");
	*(uint64_t *)(mem + AT + 40) = 1;
	use_by(p.qp, IBV_WR_ATOMIC_FETCH_AND_ADD, mw->rkey, 16, 8, IBV_WC_SUCCESS);
	CHECK(*(uint64_t *)(mem + AT + 40) == 2, "fetch and add at 16");
	use_by(p.qp, IBV_WR_RDMA_READ, mw->rkey, SIZE - LEN + 1, LEN, IBV_WC_REM_ACCESS_ERR);
	use_by(p.qp, IBV_WR_RDMA_READ, mw->rkey, -1ull, LEN, IBV_WC_REM_ACCESS_ERR);
	is_shut(mw->rkey, AT + 24);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	one = new_window(p.pd, IBV_MW_TYPE_1);
	bind1(one, range(AT, SIZE, READ_WRITE | IBV_ACCESS_ZERO_BASED), IBV_WC_MW_BIND_ERR);
	CHECK_ERR(ibv_dealloc_mw(one), 0);
	tear_down();
}

/* The requests of one list take effect in order. */
static void in_order(void)
{
	struct ibv_mw *mw;
	struct ibv_send_wr wr[4];
	struct ibv_sge sge;
	struct ibv_wc wc;

	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	for (uint32_t round = 0; round < 20; round++) {
		uint32_t key = ibv_inc_rkey(mw->rkey), next = ibv_inc_rkey(key);

		/* The send at the end of the list tells the peer, which uses the key at once. */
		sge = pair_sge(&p, 1, 0, 8);
		wr[0] = bind_wr(mw, key, range(0, SIZE, READ_WRITE));
		wr[1] = (struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = key };
		wr[2] = bind_wr(mw, next, range(AT, SIZE, READ_WRITE));
		wr[3] = (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
					      .send_flags = IBV_SEND_SIGNALED };
		for (int i = 0; i < 3; i++) {
			wr[i].next = &wr[i + 1];
			wr[i].send_flags = 0;
		}
		CHECK_ERR(post_recv_at(&p, 0, 1, 4096, 64), 0);
		CHECK_ERR(post(p.qp[1], wr), 0);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
		works(next, AT, round);
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		WANT_EMPTY(p.cq[1]);
		invalidate(next, IBV_WC_SUCCESS);
		mw->rkey = next;
	}
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	tear_down();
}

/* These requests send no data, so IBV_SEND_INLINE has no effect on them. */
static void inline_flag(void)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};
	struct ibv_send_wr bind;
	struct ibv_mw *mw;
	uint32_t key;

	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	key = ibv_inc_rkey(mw->rkey);
	bind = bind_wr(mw, key, range(AT, SIZE, READ_WRITE));
	bind.send_flags |= IBV_SEND_INLINE;
	CHECK_ERR(post(p.qp[1], &bind), 0);
	finish(p.qp, 1, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
	works(key, AT, 1);
	wr.invalidate_rkey = key;
	CHECK_ERR(post(p.qp[1], &wr), 0);
	finish(p.qp, 1, IBV_WC_SUCCESS, IBV_WC_LOCAL_INV);
	is_shut(key, AT);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	tear_down();
}

static void by_wr_calls(void)
{
	struct ibv_mw_bind_info info;
	struct ibv_qp *qp[2];
	struct ibv_qp_ex *ex;
	struct ibv_mw *mw;
	struct ibv_wc wc;

	set_up();
	qp[0] = make_qp(p.pd, 0);
	qp[1] = ibv_create_qp_ex(p.dev.ctx, &(struct ibv_qp_init_attr_ex){
		.send_cq = p.cq[1], .recv_cq = p.cq[1], .qp_type = IBV_QPT_RC, .pd = p.pd,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV });
	NEED(qp[1], "create_qp_ex: %s; %s", err_name(errno), why_text());
	connect_two(qp);
	ex = ibv_qp_to_qp_ex(qp[1]);
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	info = range(AT, SIZE, READ_WRITE);
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, mw, mw->rkey, &(struct ibv_mw_bind_info){ .mr = mr });
	CHECK_ERR(ibv_wr_complete(ex), EINVAL);
	CHECK(why_reason() == UNIV_REASON_ZERO, "%s", why_text());
	ibv_wr_start(ex);
	ex->wr_id = 5;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, mw->rkey, &info);
	CHECK_ERR(ibv_wr_complete(ex), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK(wc.opcode == IBV_WC_BIND_MW && wc.wr_id == 5, "opcode %d", wc.opcode);
	fill(p.buf[0], LEN, 5);
	use_by(qp, IBV_WR_RDMA_WRITE, mw->rkey, (uintptr_t)mem + AT, LEN, IBV_WC_SUCCESS);
	CHECK_BYTES(mem + AT, LEN, 5, "written through the window");
	ibv_wr_start(ex);
	ibv_wr_local_inv(ex, mw->rkey);
	CHECK_ERR(ibv_wr_complete(ex), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	CHECK(wc.opcode == IBV_WC_LOCAL_INV, "opcode %d", wc.opcode);
	use_by(qp, IBV_WR_RDMA_WRITE, mw->rkey, (uintptr_t)mem + AT, LEN, IBV_WC_REM_ACCESS_ERR);
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_qp(qp[i]), 0);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	tear_down();
}

/* Wait for the last byte of a pattern, as long as for a completion. */
static void arrives(const uint8_t *at)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);

	while (differs(at, LEN, 1) >= 0 && now_ns() < end)
		sleep_ms(1);
}

/* On an unreliable connection a refused request is dropped without an error. */
static void unreliable(void)
{
	struct ibv_mw *mw, *two;

	set_up_type(IBV_QPT_UC);
	mw = new_window(p.pd, IBV_MW_TYPE_1);
	two = new_window(p.pd, IBV_MW_TYPE_2);
	bind1(mw, range(AT, SIZE, IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS);
	bind2(two, two->rkey, range(32768, SIZE, IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS);
	fill(p.buf[0], LEN, 1);
	use(IBV_WR_RDMA_WRITE, mw->rkey, AT, LEN, IBV_WC_SUCCESS);
	use(IBV_WR_RDMA_WRITE, two->rkey, 32768, LEN, IBV_WC_SUCCESS);
	arrives(mem + AT);
	arrives(mem + 32768);
	CHECK_BYTES(mem + AT, LEN, 1, "written through the window of type 1");
	CHECK_BYTES(mem + 32768, LEN, 1, "written through the window of type 2");
	invalidate(two->rkey, IBV_WC_SUCCESS);
	memset(mem, 0, REGION);
	use(IBV_WR_RDMA_WRITE, two->rkey, 32768, LEN, IBV_WC_SUCCESS);
	sleep_ms(200);
	CHECK(all_zero(mem, REGION), "written through a window that was invalidated");
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	CHECK_ERR(ibv_dealloc_mw(two), 0);
	tear_down();
}

/* ---- Explanations by the library ----------------------------------------------- */

static void refused_post(struct ibv_mw *mw, uint32_t key, struct ibv_mw_bind_info info,
			 uint32_t reason)
{
	struct ibv_send_wr wr = bind_wr(mw, key, info);

	CHECK_ERR(post(p.qp[1], &wr), EINVAL);
	CHECK(why_reason() == reason, "expected reason %u: %s", reason, why_text());
}

/* Nothing is bound by a full queue, and the window keeps its key. */
static void full_queue(struct ibv_mw *one)
{
	struct ibv_mw_bind bind = { .bind_info = range(0, SIZE, READ_WRITE) };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	uint32_t before = one->rkey;
	int n;

	/* The peer has posted no receive request, so these wait. */
	for (n = 0; n < 4096 && !post(p.qp[1], &wr); n++)
		;
	CHECK_ERR(ibv_bind_mw(p.qp[1], one, &bind), ENOMEM);
	CHECK(why_reason() == UNIV_REASON_QUEUE_FULL && one->rkey == before, "%s", why_text());
	connect_two(p.qp);
}

/* In a queue pair of another context, the window's handle could be that of another window. */
static void other_context(struct ibv_mw *one)
{
	struct ibv_mw_bind bind = { .bind_info = range(0, SIZE, READ_WRITE) };
	struct pair another;

	pair_open(&another, NULL);
	CHECK_ERR(ibv_bind_mw(another.qp[1], one, &bind), EINVAL);
	CHECK(why_reason() == UNIV_REASON_CONTEXT, "%s", why_text());
	pair_close(&another);
}

static void misuse(void)
{
	struct ibv_mw_bind bind = { .bind_info = { .mw_access_flags = READ_WRITE } };
	struct ibv_mw *one, *two;
	uint32_t before;

	set_up();
	one = new_window(p.pd, IBV_MW_TYPE_1);
	two = new_window(p.pd, IBV_MW_TYPE_2);
	refused_post(one, one->rkey, range(0, SIZE, READ_WRITE), UNIV_REASON_MW_TYPE);
	refused_post(two, two->rkey + 256, range(0, SIZE, READ_WRITE), UNIV_REASON_WR_KEY);
	refused_post(two, two->rkey, range(0, 0, READ_WRITE), UNIV_REASON_ZERO);
	refused_post(two, two->rkey, (struct ibv_mw_bind_info){ .length = 1 },
		     UNIV_REASON_HANDLE);
	refused_post(NULL, 0, range(0, SIZE, READ_WRITE), UNIV_REASON_HANDLE);
	CHECK_ERR(ibv_bind_mw(p.qp[1], two, &bind), EINVAL);
	bind.bind_info = range(0, SIZE, READ_WRITE);
	NEED_OK(qp_to_state(p.qp[1], IBV_QPS_RESET));
	before = one->rkey;
	CHECK_ERR(ibv_bind_mw(p.qp[1], one, &bind), EINVAL);
	CHECK(why_reason() == UNIV_REASON_POST_STATE && one->rkey == before, "%s", why_text());
	connect_two(p.qp);
	full_queue(one);
	other_context(one);
	CHECK_NULL(ibv_alloc_mw(p.pd, 3), EINVAL);
	CHECK(why_reason() == UNIV_REASON_MW_TYPE, "%s", why_text());
	CHECK_NULL(ibv_alloc_mw(p.pd, 0), EINVAL);
	bind1(one, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	works(one->rkey, AT, 1);
	CHECK_ERR(ibv_dealloc_mw(one), 0);
	CHECK_ERR(ibv_dealloc_mw(two), 0);
	tear_down();
}

static bool advertised(void)
{
	const uint64_t caps = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;

	return (p.dev.attr.device_cap_flags & caps) == caps && p.dev.attr.max_mw > 0;
}

/* A device without windows reports no such capability, and refuses every call for windows. */
static void not_offered(void)
{
	const uint64_t caps = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2A |
			      IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV };
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = p.cq[0], .recv_cq = p.cq[0], .qp_type = IBV_QPT_RC, .pd = p.pd,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_BIND_MW,
	};
	struct ibv_mw_bind bind = { .bind_info = { .mr = p.mr, .length = 8 } };
	struct ibv_mw mw = { .context = p.dev.ctx, .pd = p.pd, .type = IBV_MW_TYPE_1 };

	CHECK(!(p.dev.attr.device_cap_flags & caps) && !p.dev.attr.max_mw,
	      "the device says that it has windows");
	for (int type = IBV_MW_TYPE_1; type <= IBV_MW_TYPE_2; type++) {
		CHECK_NULL(ibv_alloc_mw(p.pd, type), EOPNOTSUPP);
		CHECK(why_reason() == UNIV_REASON_UNSUPPORTED, "%s", why_text());
	}
	CHECK_ERR(post(p.qp[0], &wr), EINVAL);
	CHECK(why_reason() == UNIV_REASON_WR_DEVICE, "%s", why_text());
	wr = bind_wr(&mw, 0, bind.bind_info);
	CHECK_ERR(post(p.qp[0], &wr), EINVAL);
	CHECK(why_reason() == UNIV_REASON_WR_DEVICE, "%s", why_text());
	CHECK_ERR(ibv_bind_mw(p.qp[0], &mw, &bind), EINVAL);
	CHECK(why_reason() == UNIV_REASON_WR_DEVICE, "%s", why_text());
	CHECK_NULL(ibv_create_qp_ex(p.dev.ctx, &attr), EOPNOTSUPP);
	CHECK(pair_works(&p), "the pair does not work after it");
}

static const struct test_case cases[] = {
	{ "type1", type1 },
	{ "type2", type2 },
	{ "invalidated_remotely", invalidated_remotely },
	{ "zero_based", zero_based },
	{ "in_order", in_order },
	{ "inline_flag", inline_flag },
	{ "by_wr_calls", by_wr_calls },
	{ "unreliable", unreliable },
	{ "misuse", misuse },
};

int main(int argc, char **argv)
{
	bool offered = is_offered();

	pair_open(&p, NULL);
	if (offered)
		CHECK(advertised(), "the device does not say that it has windows");
	else
		not_offered();
	pair_close(&p);
	if (!offered) {
		printf("windows: not offered, %d failed checks\n", test_failures);
		return test_failures ? 1 : 0;
	}
	return test_run("windows", argc, argv, cases, ARRAY_SIZE(cases), 60);
}
