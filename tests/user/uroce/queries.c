// SPDX-License-Identifier: GPL-2.0
/*
 * univerbs_query_mr(3), univerbs_query_mw(3), univerbs_query_ah(3), univerbs_query_cq(3): the
 * attributes that the kernel has. Where possible a case changes them behind the library's back.
 */
#include <infiniband/univerbs_verbs.h>

#include "windows.h"

#define ASK(verb, object) ({							\
	struct univerbs_##verb##_attr __a = { .size = sizeof(__a) };		\
	int __err = univerbs_query_##verb(object, &__a);			\
	CHECK(!__err, "query_" #verb ": %s; %s", err_name(__err), why_text());	\
	CHECK(__a.size == sizeof(__a), "size %u", __a.size);			\
	__a;									\
})

/* ---- regions -------------------------------------------------------------------- */

static void region(void)
{
	const uint64_t iova = 0x55500000000;
	struct univerbs_mr_attr a;
	struct ibv_mr *own;

	set_up();
	own = ibv_reg_mr_iova2(p.pd, mem, SIZE, iova, READ_WRITE | IBV_ACCESS_LOCAL_WRITE);
	NEED_PTR(own, "reg_mr");
	a = ASK(mr, own);
	CHECK(a.pd_handle == p.pd->handle && a.lkey == own->lkey && a.rkey == own->rkey, "domain, keys");
	CHECK(a.addr == (uintptr_t)mem && a.length == SIZE && a.iova == iova, "%#" PRIx64 ", %" PRIu64
	      " bytes, iova %#" PRIx64, a.addr, a.length, a.iova);
	CHECK(a.access == (READ_WRITE | IBV_ACCESS_LOCAL_WRITE), "access %#x", a.access);
	CHECK(a.kind == UNIVERBS_MR_MEMORY, "kind %u", a.kind);
	CHECK_ERR(ibv_dereg_mr(own), 0);
	tear_down();
}

/* The library does not see these changes. */
static void region_changes(void)
{
	struct univ_mr_extend more = { .length = 3 * SIZE };
	struct univ_mr_rereg change = {
		.change = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS |
			  IBV_REREG_MR_CHANGE_PD,
		.length = SIZE, .access = IBV_ACCESS_REMOTE_READ, .iova = 4096,
	};
	struct univerbs_mr_attr a;
	struct ibv_pd *pd;
	struct ibv_mr *own;

	set_up();
	pd = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	own = ibv_reg_mr(p.pd, mem, 100, ALL_ACCESS);
	NEED_PTR(own, "reg_mr");
	change.handle = own->handle;
	change.pd = pd->handle;
	change.addr = (uintptr_t)mem + 4096;
	NEED_OK(raw_call(p.dev.ctx->cmd_fd, UNIV_MR_REREG, &change));
	a = ASK(mr, own);
	CHECK(a.addr == change.addr && a.length == SIZE && a.iova == 4096 && a.pd_handle == pd->handle &&
	      a.access == IBV_ACCESS_REMOTE_READ, "the re-registered region");
	more.handle = own->handle;
	NEED_OK(raw_call(p.dev.ctx->cmd_fd, UNIV_MR_EXTEND, &more));
	a = ASK(mr, own);
	CHECK(a.length == 3 * SIZE && a.addr == change.addr, "the extended region: %" PRIu64, a.length);
	CHECK(own->length == 100, "the library saw the change");
	CHECK_ERR(ibv_dereg_mr(own), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	tear_down();
}

static void region_kinds(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 128 };
	struct univerbs_mr_attr a;
	struct ibv_mr *own;
	struct ibv_dm *dm;

	set_up();
	own = ibv_alloc_null_mr(p.pd);
	NEED_PTR(own, "alloc_null_mr");
	a = ASK(mr, own);
	CHECK(a.kind == UNIVERBS_MR_NULL && a.lkey == own->lkey && !a.rkey && !a.addr &&
	      a.length == UINT64_MAX, "a null region");
	CHECK_ERR(ibv_dereg_mr(own), 0);
	dm = ibv_alloc_dm(p.dev.ctx, &attr);
	NEED_PTR(dm, "alloc_dm");
	own = ibv_reg_dm_mr(p.pd, dm, 64, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
	NEED_PTR(own, "reg_dm_mr");
	a = ASK(mr, own);
	CHECK(a.kind == UNIVERBS_MR_DM && a.length == 64 && !a.iova && a.rkey == own->rkey &&
	      a.access == (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED), "a region of device memory");
	CHECK_ERR(ibv_dereg_mr(own), 0);
	CHECK_ERR(ibv_free_dm(dm), 0);
	tear_down();
}

/* ---- windows -------------------------------------------------------------------- */

static void is_unbound(struct ibv_mw *mw, uint32_t key)
{
	struct univerbs_mw_attr a = ASK(mw, mw);

	CHECK(a.pd_handle == p.pd->handle && a.type == mw->type && a.rkey == key,
	      "domain %u, type %u, key %#x, expected %#x", a.pd_handle, a.type, a.rkey, key);
	CHECK(!a.bound && !a.lkey && !a.access && !a.qp_num && !a.addr && !a.length && !a.offset,
	      "an unbound window");
}

static void window1(void)
{
	struct univerbs_mw_attr a;
	struct ibv_mw *mw;

	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_1);
	is_unbound(mw, mw->rkey);
	bind1(mw, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	a = ASK(mw, mw);
	CHECK(a.bound == 1 && a.rkey == mw->rkey && a.lkey == mr->lkey && a.access == READ_WRITE &&
	      !a.qp_num && a.addr == (uintptr_t)mem + AT && a.length == SIZE && a.offset == AT,
	      "a bound window of type 1");
	bind1(mw, range(0, 8, IBV_ACCESS_REMOTE_READ), IBV_WC_SUCCESS);
	a = ASK(mw, mw);
	CHECK(a.length == 8 && !a.offset && a.access == IBV_ACCESS_REMOTE_READ, "another range");
	unbind1(mw);
	is_unbound(mw, mw->rkey);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	tear_down();
}

static void window2(void)
{
	struct univerbs_mw_attr a;
	struct ibv_mw *mw;
	uint32_t key;

	set_up();
	mw = new_window(p.pd, IBV_MW_TYPE_2);
	key = mw->rkey ^ 0x5a;
	bind2(mw, key, range(AT, SIZE, READ_WRITE | IBV_ACCESS_ZERO_BASED), IBV_WC_SUCCESS);
	a = ASK(mw, mw);
	CHECK(a.bound == 1 && a.rkey == key && a.lkey == mr->lkey && a.qp_num == p.qp[1]->qp_num &&
	      a.access == (READ_WRITE | IBV_ACCESS_ZERO_BASED) && !a.addr && a.length == SIZE &&
	      a.offset == AT && a.type == IBV_MW_TYPE_2, "a bound window of type 2");
	invalidate(key, IBV_WC_SUCCESS);
	is_unbound(mw, key);
	bind2(mw, key, range(AT, SIZE, READ_WRITE), IBV_WC_SUCCESS);
	CHECK(ASK(mw, mw).bound, "bound again");
	/* The window ends with its queue pair. */
	NEED_OK(ibv_destroy_qp(p.qp[1]));
	p.qp[1] = NULL;
	is_unbound(mw, key);
	CHECK_ERR(ibv_dealloc_mw(mw), 0);
	tear_down();
}

/* ---- address handles ------------------------------------------------------------ */

static void address(void)
{
	struct univerbs_ah_attr a;
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	set_up();
	ah_attr_to(&p.dev, &attr);
	attr.grh.traffic_class = 0x48;
	attr.grh.flow_label = 0x12345;
	attr.sl = 5;
	ah = ibv_create_ah(p.pd, &attr);
	NEED_PTR(ah, "create_ah");
	a = ASK(ah, ah);
	CHECK(a.pd_handle == p.pd->handle && a.attr.is_global && a.attr.port_num == attr.port_num &&
	      a.attr.sl == 5 && a.attr.grh.traffic_class == 0x48 && a.attr.grh.flow_label == 0x12345 &&
	      a.attr.grh.sgid_index == attr.grh.sgid_index &&
	      !memcmp(&a.attr.grh.dgid, &attr.grh.dgid, sizeof(attr.grh.dgid)), "an address handle");
	CHECK_ERR(ibv_destroy_ah(ah), 0);
	tear_down();
}

/* ---- completion queues ---------------------------------------------------------- */

/* The second side sends a message to the first one. */
static void message(bool solicited)
{
	struct ibv_wc wc;

	CHECK_ERR(post_recv_at(&p, 0, 1, 4096, 64), 0);
	CHECK_ERR(post_send_at(&p, 1, 2, 0, 8, IBV_SEND_SIGNALED | (solicited ? IBV_SEND_SOLICITED : 0)), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
}

static void event(void)
{
	struct ibv_cq *cq;
	void *context;

	NEED_OK(ibv_get_cq_event(p.ch, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

static void queue(void)
{
	struct ibv_modify_cq_attr moderate = {
		.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = { 3, 400 },
	};
	struct univerbs_cq_attr a;
	struct ibv_cq *plain;

	pair_open(&p, &(struct pair_want){ .use_channel = 1, .cqe = 100 });
	a = ASK(cq, p.cq[0]);
	CHECK(a.cqe == (uint32_t)p.cq[0]->cqe && a.cqe >= 100, "%u entries", a.cqe);
	CHECK(!a.comp_vector && a.channel == 1 && a.armed == UNIVERBS_CQ_UNARMED && !a.overrun &&
	      !a.moderation_count && !a.moderation_period, "a new queue");
	NEED_OK(ibv_req_notify_cq(p.cq[0], 0));
	CHECK(ASK(cq, p.cq[0]).armed == UNIVERBS_CQ_ARMED, "armed");
	message(false);
	event();
	CHECK(ASK(cq, p.cq[0]).armed == UNIVERBS_CQ_UNARMED, "fired");
	NEED_OK(ibv_req_notify_cq(p.cq[0], 1));
	CHECK(ASK(cq, p.cq[0]).armed == UNIVERBS_CQ_ARMED_SOLICITED, "armed for solicited completions");
	message(false);
	CHECK(ASK(cq, p.cq[0]).armed == UNIVERBS_CQ_ARMED_SOLICITED, "still armed");
	message(true);
	event();
	CHECK(ASK(cq, p.cq[0]).armed == UNIVERBS_CQ_UNARMED, "fired");
	NEED_OK(ibv_modify_cq(p.cq[0], &moderate));
	NEED_OK(ibv_resize_cq(p.cq[0], 1000));
	a = ASK(cq, p.cq[0]);
	CHECK(a.moderation_count == 3 && a.moderation_period == 400 && a.cqe == 1024,
	      "moderated by %u and %u, %u entries", a.moderation_count, a.moderation_period, a.cqe);
	plain = ibv_create_cq(p.dev.ctx, 10, NULL, NULL, p.dev.ctx->num_comp_vectors - 1);
	NEED_PTR(plain, "create_cq");
	a = ASK(cq, plain);
	CHECK(!a.channel && a.comp_vector == (uint32_t)p.dev.ctx->num_comp_vectors - 1, "vector %u",
	      a.comp_vector);
	CHECK_ERR(ibv_destroy_cq(plain), 0);
	pair_close(&p);
}

static void overrun(void)
{
	pair_open(&p, &(struct pair_want){ .cqe = 1, .send_wr = 200 });
	for (int i = 0; i < p.cq[0]->cqe + 1; i++)
		CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	for (uint64_t end = deadline_ms(WC_TIMEOUT); !ASK(cq, p.cq[0]).overrun && now_ns() < end;)
		sched_yield();
	CHECK(ASK(cq, p.cq[0]).overrun == 1, "completions were not lost");
	CHECK(!ASK(cq, p.cq[1]).overrun, "the other queue is overrun");
	pair_close(&p);
}

/* ---- structs of other sizes, and objects that do not exist ------------------------- */

static void sizes(void)
{
	struct {
		struct univerbs_mr_attr a;
		uint32_t later[2];
	} longer = { .a.size = sizeof(longer), .later = { 7, 7 } };
	struct univerbs_mr_attr a = { .size = sizeof(a) - 1, .access = 77 };

	set_up();
	CHECK_ERR(univerbs_query_mr(mr, &a), EINVAL);
	CHECK(why_reason() == UNIV_REASON_SIZE && a.access == 77, "a short struct: %s", why_text());
	CHECK_ERR(univerbs_query_mr(mr, &longer.a), 0);
	CHECK(longer.a.size == sizeof(a) && longer.a.length == REGION && !longer.later[0] &&
	      !longer.later[1], "a long struct");
	tear_down();
}

static void unknown(void)
{
	struct univerbs_mr_attr a = { .size = sizeof(a) };
	struct univerbs_cq_attr c = { .size = sizeof(c) };
	uint32_t handle;

	set_up();
	handle = mr->handle;
	mr->handle += 77777;
	CHECK_ERR(univerbs_query_mr(mr, &a), EINVAL);
	CHECK(why_reason() == UNIV_REASON_HANDLE, "%s", why_text());
	mr->handle = handle;
	handle = p.cq[0]->handle;
	p.cq[0]->handle = p.pd->handle;
	CHECK_ERR(univerbs_query_cq(p.cq[0], &c), EINVAL);
	CHECK(why_reason() == UNIV_REASON_HANDLE_TYPE, "%s", why_text());
	p.cq[0]->handle = handle;
	tear_down();
}

static const struct test_case cases[] = {
	{ "region", region },
	{ "region_changes", region_changes },
	{ "region_kinds", region_kinds },
	{ "window1", window1 },
	{ "window2", window2 },
	{ "address", address },
	{ "queue", queue },
	{ "overrun", overrun },
	{ "sizes", sizes },
	{ "unknown", unknown },
};

TEST_MAIN("queries", cases, 60)
