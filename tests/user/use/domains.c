// SPDX-License-Identifier: GPL-2.0
/*
 * Thread domains and parent domains: every kind of object in a parent domain, traffic between
 * them, and the order in which domains go.
 */
#include "testlib.h"

static struct pair p;

static void *no_memory(struct ibv_pd *pd, void *context, size_t size, size_t align, uint64_t type)
{
	FAIL("asked for %zu bytes at %zu for %#" PRIx64 " of %p, %p", size, align, type,
	     (void *)pd, context);
	return NULL;
}

static void no_free(struct ibv_pd *pd, void *context, void *memory, uint64_t type)
{
	FAIL("given %p for %#" PRIx64 " of %p, %p", memory, type, (void *)pd, context);
}

static struct ibv_pd *parent_of(struct ibv_pd *pd, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.td = td,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = no_memory,
		.free = no_free,
		.pd_context = &p,
	};
	struct ibv_pd *parent = ibv_alloc_parent_domain(pd->context, &attr);

	NEED(parent, "alloc_parent_domain: %s; %s", err_name(errno), why_text());
	CHECK(parent != pd && parent->context == pd->context && parent->handle == pd->handle,
	      "not another domain with the same handle");
	return parent;
}

static struct ibv_cq *cq_in(struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(parent->context, &attr);

	NEED(cq, "create_cq_ex: %s; %s", err_name(errno), why_text());
	return ibv_cq_ex_to_cq(cq);
}

static void close_in_order(struct ibv_pd *pd, struct ibv_td *td)
{
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_qp(p.qp[i]), 0);
		CHECK_ERR(ibv_destroy_cq(p.cq[i]), 0);
	}
	CHECK_ERR(ibv_dereg_mr(p.mr), 0);
	munmap(p.buf[0], 2 * PAIR_HALF);
	CHECK_ERR(ibv_dealloc_pd(p.pd), 0);
	CHECK_ERR(ibv_dealloc_td(td), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&p.dev);
}

/* The pair works when its objects are of a parent domain with a thread domain. */
static void traffic(void)
{
	struct pair_want want = { .stay_reset = 1 };
	struct ibv_td_init_attr init = { 0 };
	struct ibv_pd *pd, *parent;
	struct ibv_td *td;

	pair_open(&p, &want);
	td = ibv_alloc_td(p.dev.ctx, &init);
	NEED_PTR(td, "alloc_td");
	pd = p.pd;
	parent = parent_of(pd, td);
	CHECK_ERR(ibv_dereg_mr(p.mr), 0);
	p.mr = ibv_reg_mr(parent, p.buf[0], 2 * PAIR_HALF, ALL_ACCESS);
	NEED_PTR(p.mr, "reg_mr");
	p.pd = parent;
	pair_replace_cq(&p, cq_in(parent));
	CHECK(p.qp[0]->pd == parent && p.mr->pd == parent, "not of the parent domain");
	/* The other queue pair is of the protection domain itself. */
	CHECK(p.qp[1]->pd == pd, "not of the protection domain");
	CHECK(pair_works(&p), "no traffic between both domains");

	CHECK_ERR(ibv_dealloc_td(td), EBUSY);
	CHECK_ERR(ibv_dealloc_pd(parent), EBUSY);
	CHECK_ERR(ibv_dealloc_pd(pd), EBUSY);
	close_in_order(pd, td);
}

/* Destroy the objects of a parent domain one by one; each keeps it until it goes. */
static void each_object(void)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr qp_init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_ah_attr ah_attr;
	struct ibv_pd *pd, *parent;
	struct test_dev dev;
	struct ibv_buf *buf = NULL;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_mw *mw;
	static uint8_t memory[64];

	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	parent = parent_of(pd, NULL);
	cq = cq_in(parent);
	CHECK_ERR(ibv_dealloc_pd(parent), EBUSY);
	CHECK(!why_known() || strstr(why_text(), "in use by 1 object"), "explained as: %s", why_text());
	srq = ibv_create_srq(parent, &srq_init);
	NEED_PTR(srq, "create_srq");
	qp_init.send_cq = qp_init.recv_cq = cq;
	qp = ibv_create_qp(parent, &qp_init);
	NEED_PTR(qp, "create_qp");
	mr = ibv_reg_mr(parent, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	NEED_PTR(mr, "reg_mr");
	ah_attr_to(&dev, &ah_attr);
	ah = ibv_create_ah(parent, &ah_attr);
	NEED_PTR(ah, "create_ah");
	mw = ibv_alloc_mw(parent, IBV_MW_TYPE_2);
	NEED_PTR(ibv_alloc_buf(parent, 1, &buf), "alloc_buf");

	CHECK_ERR(ibv_destroy_qp(qp), 0);
	CHECK_ERR(ibv_dealloc_pd(parent), EBUSY);
	CHECK_ERR(ibv_destroy_srq(srq), 0);
	CHECK_ERR(ibv_dealloc_pd(parent), EBUSY);
	CHECK_ERR(ibv_destroy_cq(cq), 0);
	CHECK_ERR(ibv_dealloc_pd(parent), EBUSY);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_dealloc_pd(parent), EBUSY);
	ibv_free_buf(buf);
	CHECK_ERR(ibv_dealloc_pd(parent), EBUSY);
	if (mw)
		CHECK_ERR(ibv_dealloc_mw(mw), 0);
	CHECK_ERR(ibv_dealloc_pd(parent), EBUSY);
	CHECK_ERR(ibv_destroy_ah(ah), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), EBUSY);
	CHECK_ERR(ibv_dealloc_pd(parent), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

/* A parent domain of a parent domain is one of the protection domain itself. */
static void nested(void)
{
	struct ibv_td_init_attr init = { 0 };
	struct ibv_pd *pd, *one, *two;
	struct ibv_td *td;
	struct test_dev dev;

	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	td = ibv_alloc_td(dev.ctx, &init);
	NEED_PTR(td, "alloc_td");
	one = parent_of(pd, td);
	two = parent_of(one, td);
	CHECK_ERR(ibv_dealloc_pd(one), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), EBUSY);
	CHECK_ERR(ibv_dealloc_td(td), EBUSY);
	CHECK_ERR(ibv_dealloc_pd(two), 0);
	CHECK_ERR(ibv_dealloc_td(td), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

/* A region that changes its domain keeps the new one and releases the former one. */
static void reregistered(void)
{
	struct ibv_pd *pd, *one, *two;
	struct test_dev dev;
	struct ibv_mr *mr;
	static uint8_t memory[64];
	int ret;

	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	NEED_PTR(pd, "alloc_pd");
	one = parent_of(pd, NULL);
	two = parent_of(pd, NULL);
	mr = ibv_reg_mr(one, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	NEED_PTR(mr, "reg_mr");
	ret = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, two, NULL, 0, 0);
	CHECK(!ret || !on_uroce(), "rereg_mr: %d, %s", ret, err_name(errno));
	CHECK_ERR(ibv_dealloc_pd(ret ? one : two), EBUSY);
	CHECK_ERR(ibv_dealloc_pd(ret ? two : one), 0);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	CHECK_ERR(ibv_dealloc_pd(ret ? one : two), 0);
	CHECK_ERR(ibv_dealloc_pd(pd), 0);
	dev_close(&dev);
}

static void mistakes(void)
{
	struct ibv_parent_domain_init_attr attr = { 0 };
	struct ibv_cq_init_attr_ex cq = { .cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_td_init_attr init = { .comp_mask = 1 };
	struct test_dev dev, other;
	struct ibv_pd *parent;
	struct ibv_td *td;

	dev_open(&dev);
	dev_open(&other);
	CHECK_NULL(ibv_alloc_td(dev.ctx, &init), EOPNOTSUPP);
	init.comp_mask = 0;
	CHECK_NULL(ibv_alloc_parent_domain(dev.ctx, &attr), EINVAL);
	attr.pd = ibv_alloc_pd(other.ctx);
	NEED_PTR(attr.pd, "alloc_pd");
	CHECK_NULL(ibv_alloc_parent_domain(dev.ctx, &attr), EINVAL);
	CHECK(strstr(why_text(), "protection domain is of another context"), "explained as: %s", why_text());
	attr.comp_mask = 1 << 7;
	CHECK_NULL(ibv_alloc_parent_domain(other.ctx, &attr), EOPNOTSUPP);
	attr.comp_mask = 0;
	td = ibv_alloc_td(dev.ctx, &init);
	NEED_PTR(td, "alloc_td");
	attr.td = td;
	CHECK_NULL(ibv_alloc_parent_domain(other.ctx, &attr), EINVAL);
	CHECK(strstr(why_text(), "thread domain is of another context"), "explained as: %s", why_text());
	CHECK_ERR(ibv_dealloc_td(td), 0);

	CHECK_NULL(ibv_create_cq_ex(dev.ctx, &cq), EINVAL);
	cq.parent_domain = attr.pd;
	CHECK_NULL(ibv_create_cq_ex(dev.ctx, &cq), EINVAL);
	CHECK_NULL(ibv_create_cq_ex(other.ctx, &cq), EINVAL);
	CHECK(strstr(why_text(), "is not a parent domain"), "explained as: %s", why_text());
	parent = parent_of(attr.pd, NULL);
	CHECK_ERR(ibv_dealloc_pd(parent), 0);
	CHECK_ERR(ibv_dealloc_pd(attr.pd), 0);
	dev_close(&other);
	dev_close(&dev);
}

static const struct test_case cases[] = {
	{ "traffic", traffic },
	{ "each_object", each_object },
	{ "nested", nested },
	{ "reregistered", reregistered },
	{ "mistakes", mistakes },
};

TEST_MAIN("domains", cases, 30)
