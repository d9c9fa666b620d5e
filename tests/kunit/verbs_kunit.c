// SPDX-License-Identifier: GPL-2.0
/*
 * Call every verb over a device that fails: the error is returned with a reason, and no
 * object is left on either side. A destroy that the device refuses leaves the object as
 * it was. Closing the file frees everything.
 */
#include <linux/mman.h>

#include "fixture.h"

static void verbs_pd_has_no_dma_key(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f);

	KUNIT_EXPECT_NE(test, pd, 0);
	/* The region of all memory is either never created, or destroyed again. */
	KUNIT_EXPECT_EQ(test, mock_calls(f->mock, MOCK_GET_DMA_MR),
			mock_calls(f->mock, MOCK_DEREG_MR));
	KUNIT_EXPECT_EQ(test, atomic_read(&f->mock->objects), 1);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_PD_DEALLOC, pd), 0);
}

/*
 * The core offers no window to bind to the region, and windows of another stack must
 * not be bound to it.
 */
static void verbs_mr_takes_no_window(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_mr_reg cmd = {
		.pd = fixture_pd(f), .addr = f->user, .iova = f->user, .length = PAGE_SIZE,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_MW_BIND,
	};

	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_MR_REG, &cmd, sizeof(cmd)), 0);
	KUNIT_EXPECT_EQ(test, f->mock->access, (int)IB_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_MR_DEREG, cmd.handle), 0);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_PD_DEALLOC, cmd.pd), 0);
}

/* The device operation that each creating command ends in, and the objects that it depends on. */
struct creation {
	const char *name;
	enum mock_op op;
	unsigned int cmd;
	u32 size;
};

static union {
	struct univ_hdr hdr;
	struct univ_pd_alloc pd;
	struct univ_mr_reg mr;
	struct univ_ah_create ah;
	struct univ_cq_create cq;
	struct univ_srq_create srq;
	struct univ_qp_create qp;
} arg;

static const struct creation creations[] = {
	{ "alloc_pd", MOCK_ALLOC_PD, UNIV_PD_ALLOC, sizeof(arg.pd) },
	{ "reg_mr", MOCK_REG_MR, UNIV_MR_REG, sizeof(arg.mr) },
	{ "create_ah", MOCK_CREATE_AH, UNIV_AH_CREATE, sizeof(arg.ah) },
	{ "create_cq", MOCK_CREATE_CQ, UNIV_CQ_CREATE, sizeof(arg.cq) },
	{ "create_srq", MOCK_CREATE_SRQ, UNIV_SRQ_CREATE, sizeof(arg.srq) },
	{ "create_qp", MOCK_CREATE_QP, UNIV_QP_CREATE, sizeof(arg.qp) },
};

static void creation_fill(const struct creation *c, struct fixture *f, u32 pd,
			  u32 cq)
{
	memset(&arg, 0, sizeof(arg));
	switch (c->cmd) {
	case UNIV_MR_REG:
		arg.mr.pd = pd;
		arg.mr.addr = f->user;
		arg.mr.iova = f->user;
		arg.mr.length = PAGE_SIZE;
		arg.mr.access = IB_ACCESS_LOCAL_WRITE;
		break;
	case UNIV_AH_CREATE:
		arg.ah.pd = pd;
		arg.ah.attr.port_num = 1;
		arg.ah.attr.dlid = 1;
		break;
	case UNIV_CQ_CREATE:
		arg.cq.cqe = 8;
		arg.cq.channel_fd = -1;
		break;
	case UNIV_SRQ_CREATE:
		arg.srq.pd = pd;
		arg.srq.max_wr = 8;
		arg.srq.max_sge = 1;
		break;
	case UNIV_QP_CREATE:
		arg.qp.pd = pd;
		arg.qp.send_cq = cq;
		arg.qp.recv_cq = cq;
		arg.qp.qp_type = IB_QPT_RC;
		arg.qp.max_send_wr = 8;
		arg.qp.max_recv_wr = 8;
		arg.qp.max_send_sge = 1;
		arg.qp.max_recv_sge = 1;
		break;
	}
}

static u32 table_size(struct univ_context *ctx)
{
	struct univ_object *obj;
	unsigned long handle;
	u32 n = 0;

	xa_for_each(&ctx->objects, handle, obj)
		n++;
	return n;
}

/* The empty arena that is kept does not count. */
static u32 regions_size(struct univ_context *ctx)
{
	unsigned long id;
	void *region;
	u32 n = 0;

	xa_for_each(&ctx->regions, id, region)
		n++;
	return n - !!ctx->idle_arena;
}

static void verbs_creation_refused(struct kunit *test)
{
	static const int errors[] = { -ENOMEM, -EINVAL, -EOPNOTSUPP, -ENOSYS,
				      -ENOTSUPP, -EBUSY, -EIO };
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f), objects, regions;
	struct univ_cq *cq = fixture_cq(f, 8);
	size_t i, j;
	int want, born;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	objects = table_size(f->ctx);
	regions = regions_size(f->ctx);
	born = atomic_read(&f->mock->objects);
	for (i = 0; i < ARRAY_SIZE(creations); i++)
		for (j = 0; j < ARRAY_SIZE(errors); j++) {
			creation_fill(&creations[i], f, pd, cq->obj.handle);
			mock_fail(f->mock, creations[i].op, 1, errors[j]);
			want = errors[j] == -ENOSYS || errors[j] == -ENOTSUPP ?
				       -EOPNOTSUPP : errors[j];
			KUNIT_EXPECT_EQ_MSG(test,
					    fixture_call(f, creations[i].cmd,
							 &arg,
							 creations[i].size),
					    want, "%s", creations[i].name);
			KUNIT_EXPECT_NE_MSG(test, arg.hdr.reason,
					    UNIV_REASON_NONE, "%s",
					    creations[i].name);
			KUNIT_EXPECT_EQ_MSG(test, table_size(f->ctx), objects,
					    "%s", creations[i].name);
			KUNIT_EXPECT_EQ_MSG(test, regions_size(f->ctx), regions,
					    "%s", creations[i].name);
			KUNIT_EXPECT_EQ_MSG(test,
					    atomic_read(&f->mock->objects),
					    born, "%s", creations[i].name);
		}
}

/* Create the object with an argument that the process may only read, so that the copy-out fails. */
static int create_untold(struct kunit *test, const struct creation *c,
			 struct univ_region *region)
{
	struct fixture *f = test->priv;
	unsigned long addr;
	int ret;

	arg.hdr.size = c->size;
	memcpy(region->vaddr, &arg, c->size);
	fixture_enter(f);
	addr = vm_mmap(f->file, 0, region->size, PROT_READ, MAP_SHARED,
		       univ_region_offset(region));
	fixture_leave(f);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	ret = fixture_call_at(f, c->cmd, addr);
	fixture_enter(f);
	vm_munmap(addr, region->size);
	fixture_leave(f);
	return ret;
}

static void expect_no_event(struct kunit *test, const char *name)
{
	struct fixture *f = test->priv;
	ssize_t ret;

	f->file->f_flags |= O_NONBLOCK;
	fixture_enter(f);
	ret = univ_event_read(&f->ctx->events, f->file,
			      (char __user *)f->user,
			      sizeof(struct univ_event));
	fixture_leave(f);
	KUNIT_EXPECT_EQ_MSG(test, ret, (ssize_t)-EAGAIN, "%s", name);
}

/* If the copy-out fails, the object is destroyed again, and its events are dropped. */
static void verbs_creation_untold(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f), objects, regions;
	struct univ_cq *cq = fixture_cq(f, 8);
	struct univ_region *region;
	struct univ_hdr hdr = {};
	size_t i;
	int born;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	region = univ_region_create(f->ctx, PAGE_SIZE, &hdr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	objects = table_size(f->ctx);
	regions = regions_size(f->ctx);
	born = atomic_read(&f->mock->objects);
	f->mock->early = true;
	for (i = 0; i < ARRAY_SIZE(creations); i++) {
		creation_fill(&creations[i], f, pd, cq->obj.handle);
		KUNIT_EXPECT_EQ_MSG(test,
				    create_untold(test, &creations[i], region),
				    -EFAULT, "%s", creations[i].name);
		KUNIT_EXPECT_EQ_MSG(test, table_size(f->ctx), objects, "%s",
				    creations[i].name);
		KUNIT_EXPECT_EQ_MSG(test, regions_size(f->ctx), regions, "%s",
				    creations[i].name);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&f->mock->objects), born,
				    "%s", creations[i].name);
		expect_no_event(test, creations[i].name);
	}
	f->mock->early = false;
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_CQ_DESTROY,
					      cq->obj.handle), 0);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_PD_DEALLOC, pd), 0);
	univ_region_destroy(f->ctx, region);
}

/*
 * The reply ends on a page that is mapped read-only, since it was never written. No handler waits for a page, since a
 * process can withhold it: the object is destroyed again, and the call is repeated after
 * the page was brought in.
 */
static void verbs_reply_waits_for_no_page(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long page = f->user + FIXTURE_USER_SIZE / 2;
	unsigned long at = page - offsetof(struct univ_pd_alloc, handle);

	KUNIT_ASSERT_TRUE(test, fixture_poke(f, at, sizeof(arg.pd)));
	KUNIT_EXPECT_EQ(test, fixture_call_at(f, UNIV_PD_ALLOC, at), 0);
	KUNIT_EXPECT_EQ(test, mock_calls(f->mock, MOCK_ALLOC_PD), 2);
	KUNIT_EXPECT_EQ(test, mock_calls(f->mock, MOCK_DEALLOC_PD), 1);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_PD_DEALLOC,
					      fixture_peek(f, page)), 0);
}

/* A window was bound to the region first, so the region is freed only with its context. */
static void verbs_untold_and_kept(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f), objects;
	struct univ_region *region;
	struct univ_hdr hdr = {};

	region = univ_region_create(f->ctx, PAGE_SIZE, &hdr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	objects = table_size(f->ctx);
	creation_fill(&creations[1], f, pd, 0);
	mock_fail(f->mock, MOCK_DEREG_MR, 1, -EBUSY);
	KUNIT_EXPECT_EQ(test, create_untold(test, &creations[1], region),
			-EFAULT);
	KUNIT_EXPECT_EQ(test, table_size(f->ctx), objects + 1);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_PD_DEALLOC, pd), -EBUSY);
	univ_region_destroy(f->ctx, region);
	fixture_kill(f);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->mock->objects), 0);
}

/* If the device fails to destroy its object, the core's object is usable as before. */
static void verbs_destruction_refused(struct kunit *test)
{
	static const struct {
		const struct creation *creation;
		enum mock_op op;
		unsigned int cmd;
		size_t handle;
	} destructions[] = {
		{ &creations[0], MOCK_DEALLOC_PD, UNIV_PD_DEALLOC,
		  offsetof(struct univ_pd_alloc, handle) },
		{ &creations[1], MOCK_DEREG_MR, UNIV_MR_DEREG,
		  offsetof(struct univ_mr_reg, handle) },
		{ &creations[2], MOCK_DESTROY_AH, UNIV_AH_DESTROY,
		  offsetof(struct univ_ah_create, handle) },
		{ &creations[3], MOCK_DESTROY_CQ, UNIV_CQ_DESTROY,
		  offsetof(struct univ_cq_create, handle) },
		{ &creations[4], MOCK_DESTROY_SRQ, UNIV_SRQ_DESTROY,
		  offsetof(struct univ_srq_create, handle) },
		{ &creations[5], MOCK_DESTROY_QP, UNIV_QP_DESTROY,
		  offsetof(struct univ_qp_create, handle) },
	};
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f), handle, objects;
	struct univ_cq *cq = fixture_cq(f, 8);
	size_t i;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	for (i = 0; i < ARRAY_SIZE(destructions); i++) {
		const struct creation *c = destructions[i].creation;

		creation_fill(c, f, pd, cq->obj.handle);
		KUNIT_EXPECT_EQ(test, fixture_call(f, c->cmd, &arg, c->size),
				0);
		handle = *(u32 *)((u8 *)&arg + destructions[i].handle);
		objects = table_size(f->ctx);
		mock_fail(f->mock, destructions[i].op, 1, -EBUSY);
		KUNIT_EXPECT_EQ_MSG(test,
				    fixture_destroy(f, destructions[i].cmd,
						    handle),
				    -EBUSY, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, table_size(f->ctx), objects, "%s",
				    c->name);
		KUNIT_EXPECT_EQ_MSG(test,
				    fixture_destroy(f, destructions[i].cmd,
						    handle),
				    0, "%s", c->name);
	}
}

/* Destroying objects in the wrong order is refused until their users are gone. */
static void verbs_dependants(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f);
	struct univ_cq *cq = fixture_cq(f, 8);
	struct univ_srq *srq;
	struct univ_qp *qp;
	u32 handle;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	srq = fixture_srq(f, pd, 8, 1);
	KUNIT_ASSERT_NOT_NULL(test, srq);
	qp = fixture_qp(f, IB_QPT_RC, pd, cq, srq, 8);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	handle = qp->obj.handle;
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_CQ_DESTROY,
					      cq->obj.handle), -EBUSY);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_SRQ_DESTROY,
					      srq->obj.handle), -EBUSY);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_PD_DEALLOC, pd), -EBUSY);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_QP_DESTROY, handle), 0);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_PD_DEALLOC, pd), -EBUSY);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_SRQ_DESTROY,
					      srq->obj.handle), 0);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_CQ_DESTROY,
					      cq->obj.handle), 0);
	KUNIT_EXPECT_EQ(test, fixture_destroy(f, UNIV_PD_DEALLOC, pd), 0);
}

/*
 * The device is removed with everything in use: each object is destroyed once, and
 * calls get ENODEV.
 */
static void verbs_unplug(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f);
	struct univ_cq *cq = fixture_cq(f, 8);
	struct univ_srq *srq;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	srq = fixture_srq(f, pd, 8, 1);
	KUNIT_ASSERT_NOT_NULL(test, srq);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test,
					     fixture_qp(f, IB_QPT_RC, pd, cq,
							i & 1 ? srq : NULL, 8));
	for (i = 0; i < ARRAY_SIZE(creations); i++) {
		creation_fill(&creations[i], f, pd, cq->obj.handle);
		KUNIT_EXPECT_EQ(test, fixture_call(f, creations[i].cmd, &arg,
						   creations[i].size), 0);
	}
	fixture_kill(f);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->mock->objects), 0);
	KUNIT_EXPECT_EQ(test, table_size(f->ctx), 0);
	KUNIT_EXPECT_EQ(test, regions_size(f->ctx), 0);
	memset(&arg, 0, sizeof(arg));
	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_PD_ALLOC, &arg.pd,
					   sizeof(arg.pd)), -ENODEV);
	/* A second removal has no effect. */
	fixture_kill(f);
}

/* Check reason and state when the device refuses a change of state. */
static void verbs_modify_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f);
	struct univ_cq *cq = fixture_cq(f, 8);
	struct univ_qp_modify modify;
	struct univ_qp *qp;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	qp = fixture_qp(f, IB_QPT_RC, pd, cq, NULL, 8);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	memset(&modify, 0, sizeof(modify));
	modify.handle = qp->obj.handle;
	modify.attr.attr_mask = IB_QP_STATE;
	modify.attr.qp_state = IB_QPS_ERR;
	fixture_qp_state(qp, IB_QPS_RTS);
	mock_fail(f->mock, MOCK_MODIFY_QP, 1, -EINVAL);
	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_QP_MODIFY, &modify,
					   sizeof(modify)), -EINVAL);
	KUNIT_EXPECT_EQ(test, modify.hdr.reason, UNIV_REASON_DEVICE_REFUSED);
	KUNIT_EXPECT_EQ(test, modify.hdr.value, EINVAL);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_QP_MODIFY, &modify,
					   sizeof(modify)), 0);
	KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_ERR);
}

/*
 * The flags are those of ib_uverbs: bit 26 is no port capability but says that GIDs are
 * IP addresses.
 */
static void verbs_port_flags(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_port_query query = { .port_num = 1 };

	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_PORT_QUERY, &query,
					   sizeof(query)), 0);
	KUNIT_EXPECT_EQ(test, query.port_cap_flags, BIT(1));
	f->mock->ip_gids = true;
	query = (struct univ_port_query){ .port_num = 1 };
	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_PORT_QUERY, &query,
					   sizeof(query)), 0);
	KUNIT_EXPECT_EQ(test, query.port_cap_flags, BIT(1) | BIT(26));
}

/* Every capability that ibv_query_device() reports can be used. */
static void verbs_device_flags(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_device_query query = {};
	u64 given = IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_SYS_IMAGE_GUID;

	f->mock->ib.attrs.device_cap_flags =
		given | IB_DEVICE_SRQ_RESIZE | IB_DEVICE_RESIZE_MAX_WR |
		IB_DEVICE_MANAGED_FLOW_STEERING | IB_DEVICE_RAW_MULTI |
		IB_DEVICE_UD_IP_CSUM | IB_DEVICE_RC_IP_CSUM |
		IB_DEVICE_RAW_IP_CSUM | IB_DEVICE_RAW_SCATTER_FCS |
		IB_DEVICE_MEM_WINDOW | IB_DEVICE_XRC |
		IB_DEVICE_MEM_MGT_EXTENSIONS | 3ull << 38;
	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_DEVICE_QUERY, &query,
					   sizeof(query)), 0);
	KUNIT_EXPECT_EQ(test, query.device_cap_flags, given);
}

static struct kunit_case verbs_cases[] = {
	KUNIT_CASE(verbs_port_flags),
	KUNIT_CASE(verbs_device_flags),
	KUNIT_CASE(verbs_pd_has_no_dma_key),
	KUNIT_CASE(verbs_mr_takes_no_window),
	KUNIT_CASE(verbs_creation_refused),
	KUNIT_CASE(verbs_creation_untold),
	KUNIT_CASE(verbs_reply_waits_for_no_page),
	KUNIT_CASE(verbs_untold_and_kept),
	KUNIT_CASE(verbs_destruction_refused),
	KUNIT_CASE(verbs_dependants),
	KUNIT_CASE(verbs_unplug),
	KUNIT_CASE(verbs_modify_refused),
	{}
};

static struct kunit_suite verbs_suite = {
	.name = "univ_verbs",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = verbs_cases,
};
kunit_test_suite(verbs_suite);
