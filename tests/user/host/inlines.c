/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The inline functions of <infiniband/verbs.h>: each calls its operation with the same
 * arguments, and returns EOPNOTSUPP if the context may lack the operation. The file
 * compiles as C and as C++.
 */
#include <stdio.h>

#include <infiniband/verbs.h>

static int failed;

#define CHECK(cond) do {							\
	if (!(cond)) {								\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);	\
		failed = 1;							\
	}									\
} while (0)

/* The last operation that was called, and its first argument. */
static const char *called = "";
static void *arg;

static int saw(const char *op, void *first)
{
	called = op;
	arg = first;
	return 7;
}

static int was(const char *op, void *first)
{
	int ok = !strcmp(called, op) && arg == first;

	if (!ok)
		fprintf(stderr, "expected %s(%p), got %s(%p)\n", op, first, called, arg);
	called = "";
	return ok;
}

static struct verbs_context vctx;
static struct ibv_context *const ctx = &vctx.context;
static struct ibv_pd pd;
static struct ibv_qp_ex qpx;
static struct ibv_qp *const qp = &qpx.qp_base;
static struct ibv_cq_ex cqx;
static struct ibv_srq srq;
static struct ibv_wq wq;
static struct ibv_mw mw;
static struct ibv_dm dm;
static struct ibv_td td;
static struct ibv_xrcd xrcd;
static struct ibv_flow flow;
static struct ibv_flow_action action;
static struct ibv_counters counters;
static struct ibv_rwq_ind_table table;

/* Functions of the library that the inline functions fall back to. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#ifdef __cplusplus
extern "C" {
#endif

int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *port_attr)
{
	(void)port_num;
	(void)port_attr;
	return saw("lib query_port", context);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	attr->max_qp = 5;
	return saw("lib query_device", context) - 7;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *domain, void *addr, size_t length, int access)
{
	(void)addr;
	(void)length;
	(void)access;
	saw("lib reg_mr", domain);
	return NULL;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *domain, void *addr, size_t length, uint64_t iova,
			       int access)
{
	(void)addr;
	(void)length;
	(void)iova;
	(void)access;
	saw("lib reg_mr_iova", domain);
	return NULL;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *domain, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	(void)addr;
	(void)length;
	(void)iova;
	(void)access;
	saw("lib reg_mr_iova2", domain);
	return NULL;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *domain, struct ibv_srq_init_attr *attr)
{
	(void)domain;
	saw("lib create_srq", attr);
	return NULL;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *domain, struct ibv_qp_init_attr *attr)
{
	(void)domain;
	saw("lib create_qp", attr);
	return NULL;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	(void)port_num;
	(void)gid_index;
	(void)entry;
	(void)flags;
	CHECK(entry_size == sizeof(*entry));
	return saw("lib query_gid_ex", context);
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	(void)max_entries;
	(void)flags;
	CHECK(entry_size == sizeof(*entries));
	return saw("lib query_gid_table", context);
}

#ifdef __cplusplus
}
#endif

#define ibv_query_port(context, port_num, port_attr) \
	___ibv_query_port(context, port_num, port_attr)
#define ibv_reg_mr(pd, addr, length, access) \
	__ibv_reg_mr(pd, addr, length, access, __verbs_access_const(access))
#define ibv_reg_mr_iova(pd, addr, length, iova, access) \
	__ibv_reg_mr_iova(pd, addr, length, iova, access, __verbs_access_const(access))

/*
 * One operation for every slot: it is called only through the slot's type, and reads its
 * first argument. It returns 7, or as a pointer the address 7.
 */
static uintptr_t op_any(void *first)
{
	saw("op", first);
	return 7;
}

/* Set a function pointer of any type. */
#define SET(slot, fn) do {				\
	uintptr_t (*fn_)(void *) = fn;			\
	memcpy((void *)&(slot), &fn_, sizeof(fn_));	\
} while (0)

/* Without the operation the call returns EOPNOTSUPP, with it the operation's result. */
#define TEST_INT(slot, call, first) do {	\
	SET(slot, NULL);			\
	CHECK((call) == EOPNOTSUPP);		\
	CHECK(was("", arg));			\
	SET(slot, op_any);			\
	CHECK((call) == 7);			\
	CHECK(was("op", first));		\
	SET(slot, NULL);			\
} while (0)

#define TEST_PTR(slot, call, first) do {	\
	SET(slot, NULL);			\
	errno = 0;				\
	CHECK(!(call) && errno == EOPNOTSUPP);	\
	CHECK(was("", arg));			\
	SET(slot, op_any);			\
	CHECK((uintptr_t)(call) == 7);		\
	CHECK(was("op", first));		\
	SET(slot, NULL);			\
} while (0)

/*
 * Operations without a check: every context has them, or the user asked for them when
 * creating the object.
 */
#define TEST_DIRECT(slot, call, first) do {	\
	SET(slot, op_any);			\
	call;					\
	CHECK(was("op", first));		\
	SET(slot, NULL);			\
} while (0)

static void test_domains(void)
{
	TEST_PTR(vctx.alloc_td, ibv_alloc_td(ctx, NULL), ctx);
	TEST_INT(vctx.dealloc_td, ibv_dealloc_td(&td), &td);
	TEST_PTR(vctx.alloc_parent_domain, ibv_alloc_parent_domain(ctx, NULL), ctx);
	TEST_PTR(vctx.open_xrcd, ibv_open_xrcd(ctx, NULL), ctx);
	TEST_INT(vctx.close_xrcd, ibv_close_xrcd(&xrcd), &xrcd);
}

static void test_memory(void)
{
	struct ibv_mw_bind bind;
	struct ibv_mr mr;

	memset(&bind, 0, sizeof(bind));
	memset(&mr, 0, sizeof(mr));
	TEST_INT(vctx.advise_mr,
		 ibv_advise_mr(&pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0), &pd);
	TEST_PTR(vctx.alloc_null_mr, ibv_alloc_null_mr(&pd), &pd);
	TEST_PTR(vctx.alloc_dm, ibv_alloc_dm(ctx, NULL), ctx);
	TEST_INT(vctx.free_dm, ibv_free_dm(&dm), &dm);
	TEST_INT(dm.memcpy_to_dm, ibv_memcpy_to_dm(&dm, 0, NULL, 0), &dm);
	TEST_INT(dm.memcpy_from_dm, ibv_memcpy_from_dm(&mr, &dm, 0, 0), &mr);
	TEST_PTR(vctx.reg_dm_mr, ibv_reg_dm_mr(&pd, &dm, 0, 0, 0), &pd);
	TEST_PTR(ctx->ops.alloc_mw, ibv_alloc_mw(&pd, IBV_MW_TYPE_1), &pd);
	TEST_INT(ctx->ops.dealloc_mw, ibv_dealloc_mw(&mw), &mw);

	mw.type = IBV_MW_TYPE_2;
	CHECK(ibv_bind_mw(qp, &mw, &bind) == EINVAL);
	mw.type = IBV_MW_TYPE_1;
	bind.bind_info.length = 1;
	CHECK(ibv_bind_mw(qp, &mw, &bind) == EINVAL);
	bind.bind_info.mr = &mr;
	CHECK(ibv_bind_mw(qp, &mw, &bind) == EPERM);
	mr.pd = &pd;
	TEST_INT(ctx->ops.bind_mw, ibv_bind_mw(qp, &mw, &bind), qp);

	CHECK(ibv_inc_rkey(0x123456fe) == 0x123456ff);
	CHECK(ibv_inc_rkey(0x123456ff) == 0x12345600);
}

/* Optional access flags go to ibv_reg_mr_iova2(), and so do flags that are not a constant. */
static void test_reg_mr(void)
{
	volatile int hidden = 0;
	int access = hidden;

	ibv_reg_mr(&pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(was("lib reg_mr", &pd));
	ibv_reg_mr(&pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
	CHECK(was("lib reg_mr_iova2", &pd));
	ibv_reg_mr(&pd, NULL, 0, access);
	CHECK(was("lib reg_mr_iova2", &pd));
	ibv_reg_mr_iova(&pd, NULL, 0, 1, 0);
	CHECK(was("lib reg_mr_iova", &pd));
	ibv_reg_mr_iova(&pd, NULL, 0, 1, IBV_ACCESS_RELAXED_ORDERING);
	CHECK(was("lib reg_mr_iova2", &pd));
	ibv_reg_mr_iova(&pd, NULL, 0, 1, access);
	CHECK(was("lib reg_mr_iova2", &pd));
}

static void test_device(void)
{
	struct ibv_query_device_ex_input input = { 1 };
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	struct ibv_gid_entry entry;

	CHECK(ibv_query_device_ex(ctx, &input, &attr) == EINVAL);
	memset(&attr, 0xff, sizeof(attr));
	CHECK(ibv_query_device_ex(ctx, NULL, &attr) == 0);
	CHECK(was("lib query_device", ctx));
	CHECK(attr.orig_attr.max_qp == 5 && attr.phys_port_cnt_ex == 0);
	TEST_DIRECT(vctx.query_device_ex, CHECK(ibv_query_device_ex(ctx, NULL, &attr) == 7), ctx);

	memset(&port, 0xff, sizeof(port));
	CHECK(ibv_query_port(ctx, 1, &port) == 7);
	CHECK(was("lib query_port", ctx) && port.port_cap_flags2 == 0);
	TEST_DIRECT(vctx.query_port, CHECK(ibv_query_port(ctx, 1, &port) == 7), ctx);

	ibv_query_gid_ex(ctx, 1, 0, &entry, 0);
	CHECK(was("lib query_gid_ex", ctx));
	ibv_query_gid_table(ctx, &entry, 1, 0);
	CHECK(was("lib query_gid_table", ctx));
	TEST_INT(vctx.query_rt_values, ibv_query_rt_values_ex(ctx, NULL), ctx);

	CHECK(ibv_is_qpt_supported(1 << IBV_QPT_UD, IBV_QPT_UD) == 1);
	CHECK(ibv_is_qpt_supported(1 << IBV_QPT_UD, IBV_QPT_RC) == 0);
	CHECK(ibv_flow_label_to_udp_sport(0) == 0xc000);
	CHECK(ibv_flow_label_to_udp_sport(0xfffff) == (0xc000 | (0x3fff ^ 0x3f)));
	CHECK(ibv_flow_label_to_udp_sport(0x12345) == (0xc000 | (0x2345 ^ 0x4)));
}

static void test_queues(void)
{
	struct ibv_cq *cq = ibv_cq_ex_to_cq(&cqx);
	struct ibv_send_wr send, *bad_send;
	struct ibv_recv_wr recv, *bad_recv;
	struct ibv_ops_wr op, *bad_op;

	TEST_DIRECT(ctx->ops.poll_cq, CHECK(ibv_poll_cq(cq, 1, NULL) == 7), cq);
	TEST_DIRECT(ctx->ops.req_notify_cq, CHECK(ibv_req_notify_cq(cq, 0) == 7), cq);
	TEST_INT(vctx.modify_cq, ibv_modify_cq(cq, NULL), cq);
	TEST_PTR(vctx.create_cq_ex, ibv_create_cq_ex(ctx, NULL), ctx);

	TEST_DIRECT(ctx->ops.post_send, CHECK(ibv_post_send(qp, &send, &bad_send) == 7), qp);
	TEST_DIRECT(ctx->ops.post_recv, CHECK(ibv_post_recv(qp, &recv, &bad_recv) == 7), qp);
	TEST_DIRECT(ctx->ops.post_srq_recv,
		    CHECK(ibv_post_srq_recv(&srq, &recv, &bad_recv) == 7), &srq);
	TEST_INT(vctx.post_srq_ops, ibv_post_srq_ops(&srq, &op, &bad_op), &srq);
	CHECK(bad_op == &op);
	TEST_INT(vctx.get_srq_num, ibv_get_srq_num(&srq, NULL), &srq);
	TEST_INT(vctx.modify_qp_rate_limit, ibv_modify_qp_rate_limit(qp, NULL), qp);
	TEST_PTR(vctx.open_qp, ibv_open_qp(ctx, NULL), ctx);
	TEST_INT(vctx.modify_wq, ibv_modify_wq(&wq, NULL), &wq);
	TEST_INT(vctx.destroy_wq, ibv_destroy_wq(&wq), &wq);
	TEST_DIRECT(wq.post_recv, ibv_post_wq_recv(&wq, NULL, NULL), &wq);
	TEST_PTR(vctx.create_rwq_ind_table, ibv_create_rwq_ind_table(ctx, NULL), ctx);
	TEST_INT(vctx.destroy_rwq_ind_table, ibv_destroy_rwq_ind_table(&table), &table);
}

static struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	(void)attr;
	saw("create_wq", context);
	wq.events_completed = 9;
	return &wq;
}

static void test_create_wq(void)
{
	struct ibv_wq_init_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.wq_context = &attr;
	errno = 0;
	CHECK(!ibv_create_wq(ctx, &attr) && errno == EOPNOTSUPP);
	vctx.create_wq = create_wq;
	CHECK(ibv_create_wq(ctx, &attr) == &wq);
	CHECK(was("create_wq", ctx));
	CHECK(wq.wq_context == &attr && !wq.events_completed);
	CHECK(!pthread_mutex_trylock(&wq.mutex));
}

static void test_create_ex(void)
{
	struct ibv_srq_init_attr_ex srq_attr;
	struct ibv_qp_init_attr_ex qp_attr;

	memset(&srq_attr, 0, sizeof(srq_attr));
	srq_attr.comp_mask = IBV_SRQ_INIT_ATTR_PD;
	srq_attr.srq_type = IBV_SRQT_XRC;
	ibv_create_srq_ex(ctx, &srq_attr);
	CHECK(was("lib create_srq", &srq_attr));
	srq_attr.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE;
	TEST_PTR(vctx.create_srq_ex, ibv_create_srq_ex(ctx, &srq_attr), ctx);
	srq_attr.srq_type = IBV_SRQT_BASIC;
	ibv_create_srq_ex(ctx, &srq_attr);
	CHECK(was("lib create_srq", &srq_attr));
	srq_attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	TEST_PTR(vctx.create_srq_ex, ibv_create_srq_ex(ctx, &srq_attr), ctx);

	memset(&qp_attr, 0, sizeof(qp_attr));
	qp_attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	ibv_create_qp_ex(ctx, &qp_attr);
	CHECK(was("lib create_qp", &qp_attr));
	qp_attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	TEST_PTR(vctx.create_qp_ex, ibv_create_qp_ex(ctx, &qp_attr), ctx);
}

static void test_flows(void)
{
	TEST_PTR(vctx.ibv_create_flow, ibv_create_flow(qp, NULL), qp);
	TEST_INT(vctx.ibv_destroy_flow, ibv_destroy_flow(&flow), &flow);
	TEST_PTR(vctx.create_flow_action_esp, ibv_create_flow_action_esp(ctx, NULL), ctx);
	TEST_INT(vctx.modify_flow_action_esp, ibv_modify_flow_action_esp(&action, NULL), &action);
	TEST_INT(vctx.destroy_flow_action, ibv_destroy_flow_action(&action), &action);
	TEST_PTR(vctx.create_counters, ibv_create_counters(ctx, NULL), ctx);
	TEST_INT(vctx.destroy_counters, ibv_destroy_counters(&counters), &counters);
	TEST_INT(vctx.attach_counters_point_flow,
		 ibv_attach_counters_point_flow(&counters, NULL, NULL), &counters);
	TEST_INT(vctx.read_counters, ibv_read_counters(&counters, NULL, 0, 0), &counters);
}

static void test_extended_cq(void)
{
	TEST_DIRECT(cqx.start_poll, ibv_start_poll(&cqx, NULL), &cqx);
	TEST_DIRECT(cqx.next_poll, ibv_next_poll(&cqx), &cqx);
	TEST_DIRECT(cqx.end_poll, ibv_end_poll(&cqx), &cqx);
	TEST_DIRECT(cqx.read_opcode, ibv_wc_read_opcode(&cqx), &cqx);
	TEST_DIRECT(cqx.read_vendor_err, ibv_wc_read_vendor_err(&cqx), &cqx);
	TEST_DIRECT(cqx.read_byte_len, ibv_wc_read_byte_len(&cqx), &cqx);
	TEST_DIRECT(cqx.read_imm_data, ibv_wc_read_imm_data(&cqx), &cqx);
	TEST_DIRECT(cqx.read_imm_data, ibv_wc_read_invalidated_rkey(&cqx), &cqx);
	TEST_DIRECT(cqx.read_qp_num, ibv_wc_read_qp_num(&cqx), &cqx);
	TEST_DIRECT(cqx.read_src_qp, ibv_wc_read_src_qp(&cqx), &cqx);
	TEST_DIRECT(cqx.read_wc_flags, ibv_wc_read_wc_flags(&cqx), &cqx);
	TEST_DIRECT(cqx.read_slid, ibv_wc_read_slid(&cqx), &cqx);
	TEST_DIRECT(cqx.read_sl, ibv_wc_read_sl(&cqx), &cqx);
	TEST_DIRECT(cqx.read_dlid_path_bits, ibv_wc_read_dlid_path_bits(&cqx), &cqx);
	TEST_DIRECT(cqx.read_completion_ts, ibv_wc_read_completion_ts(&cqx), &cqx);
	TEST_DIRECT(cqx.read_completion_wallclock_ns,
		    ibv_wc_read_completion_wallclock_ns(&cqx), &cqx);
	TEST_DIRECT(cqx.read_cvlan, ibv_wc_read_cvlan(&cqx), &cqx);
	TEST_DIRECT(cqx.read_flow_tag, ibv_wc_read_flow_tag(&cqx), &cqx);
	TEST_DIRECT(cqx.read_tm_info, ibv_wc_read_tm_info(&cqx, NULL), &cqx);
}

static void test_extended_qp(void)
{
	TEST_DIRECT(qpx.wr_start, ibv_wr_start(&qpx), &qpx);
	TEST_DIRECT(qpx.wr_complete, CHECK(ibv_wr_complete(&qpx) == 7), &qpx);
	TEST_DIRECT(qpx.wr_abort, ibv_wr_abort(&qpx), &qpx);
	TEST_DIRECT(qpx.wr_send, ibv_wr_send(&qpx), &qpx);
	TEST_DIRECT(qpx.wr_send_imm, ibv_wr_send_imm(&qpx, 0), &qpx);
	TEST_DIRECT(qpx.wr_send_inv, ibv_wr_send_inv(&qpx, 0), &qpx);
	TEST_DIRECT(qpx.wr_send_tso, ibv_wr_send_tso(&qpx, NULL, 0, 0), &qpx);
	TEST_DIRECT(qpx.wr_rdma_read, ibv_wr_rdma_read(&qpx, 0, 0), &qpx);
	TEST_DIRECT(qpx.wr_rdma_write, ibv_wr_rdma_write(&qpx, 0, 0), &qpx);
	TEST_DIRECT(qpx.wr_rdma_write_imm, ibv_wr_rdma_write_imm(&qpx, 0, 0, 0), &qpx);
	TEST_DIRECT(qpx.wr_atomic_cmp_swp, ibv_wr_atomic_cmp_swp(&qpx, 0, 0, 0, 0), &qpx);
	TEST_DIRECT(qpx.wr_atomic_fetch_add, ibv_wr_atomic_fetch_add(&qpx, 0, 0, 0), &qpx);
	TEST_DIRECT(qpx.wr_atomic_write, ibv_wr_atomic_write(&qpx, 0, 0, NULL), &qpx);
	TEST_DIRECT(qpx.wr_bind_mw, ibv_wr_bind_mw(&qpx, NULL, 0, NULL), &qpx);
	TEST_DIRECT(qpx.wr_local_inv, ibv_wr_local_inv(&qpx, 0), &qpx);
	TEST_DIRECT(qpx.wr_set_ud_addr, ibv_wr_set_ud_addr(&qpx, NULL, 0, 0), &qpx);
	TEST_DIRECT(qpx.wr_set_xrc_srqn, ibv_wr_set_xrc_srqn(&qpx, 0), &qpx);
	TEST_DIRECT(qpx.wr_set_sge, ibv_wr_set_sge(&qpx, 0, 0, 0), &qpx);
	TEST_DIRECT(qpx.wr_set_sge_list, ibv_wr_set_sge_list(&qpx, 0, NULL), &qpx);
	TEST_DIRECT(qpx.wr_set_inline_data, ibv_wr_set_inline_data(&qpx, NULL, 0), &qpx);
	TEST_DIRECT(qpx.wr_set_inline_data_list, ibv_wr_set_inline_data_list(&qpx, 0, NULL), &qpx);
}

/*
 * A context of an older library lacks the members that were added in front; the oldest has
 * no such struct.
 */
static void test_old_context(void)
{
	SET(vctx.query_port, op_any);
	SET(vctx.advise_mr, op_any);
	CHECK(verbs_get_ctx_op(ctx, query_port) == &vctx);
	vctx.sz -= sizeof(vctx.query_port);
	CHECK(verbs_get_ctx_op(ctx, query_port) == NULL);
	CHECK(verbs_get_ctx_op(ctx, advise_mr) == &vctx);
	ctx->abi_compat = NULL;
	CHECK(verbs_get_ctx(ctx) == NULL);
	CHECK(verbs_get_ctx_op(ctx, advise_mr) == NULL);
}

int main(void)
{
	vctx.sz = sizeof(vctx);
	ctx->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pd.context = qp->context = cqx.context = srq.context = wq.context = ctx;
	mw.context = dm.context = td.context = xrcd.context = flow.context = ctx;
	action.context = counters.context = table.context = ctx;
	mw.pd = &pd;

	test_domains();
	test_memory();
	test_reg_mr();
	test_device();
	test_queues();
	test_create_wq();
	test_create_ex();
	test_flows();
	test_extended_cq();
	test_extended_qp();
	test_old_context();
	return failed;
}
