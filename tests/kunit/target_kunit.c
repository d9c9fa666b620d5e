// SPDX-License-Identifier: GPL-2.0
/* A handle of an XRC target that the kernel opens and then refuses, since the target has too many. */
#include <rdma/ib_verbs.h>

static struct ib_qp *open_and_raise(struct ib_xrcd *xrcd, struct ib_qp_open_attr *attr);
static int close_handle(struct ib_qp *ib, struct ib_udata *udata);

#define ib_open_qp		open_and_raise
#define ib_destroy_qp_user	close_handle
#include "../../kernel/core/verbs/xrc_target.c"

#include "fixture.h"

static struct ib_qp target, handle;
static int closed;

/* The target's event comes before the number of its handles is checked. */
static struct ib_qp *open_and_raise(struct ib_xrcd *xrcd, struct ib_qp_open_attr *attr)
{
	struct ib_event event = { .event = IB_EVENT_QP_FATAL };

	attr->event_handler(&event, attr->qp_context);
	handle.real_qp = &target;
	return &handle;
}

static int close_handle(struct ib_qp *ib, struct ib_udata *udata)
{
	closed += ib == &handle;
	return 0;
}

static struct univ_xrcd *domain_handle(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_xrcd *xrcd = kzalloc(sizeof(*xrcd), GFP_KERNEL);
	struct univ_hdr hdr = {};

	KUNIT_ASSERT_NOT_NULL(test, xrcd);
	xrcd->domain = kunit_kzalloc(test, sizeof(*xrcd->domain), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, xrcd->domain);
	mutex_init(&xrcd->domain->lock);
	KUNIT_ASSERT_EQ(test, univ_object_reserve(f->ctx, &xrcd->obj, UNIV_OBJECT_XRCD, &hdr), 0);
	univ_object_publish(&xrcd->obj);
	return xrcd;
}

/* No event of the refused handle is left, and the context's later events are still read. */
static void target_refused_with_event(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct univ_xrcd *xrcd = domain_handle(test);
	struct univ_qp_open cmd = { .qp_type = IB_QPT_XRC_TGT, .xrcd = xrcd->obj.handle };
	struct univ_hdr hdr = {};

	closed = 0;
	atomic_set(&target.usecnt, TARGET_HANDLES + 1);
	KUNIT_EXPECT_EQ(test, fixture_call(f, UNIV_QP_OPEN, &cmd, sizeof(cmd)), -ENOMEM);
	KUNIT_EXPECT_EQ(test, cmd.hdr.reason, UNIV_REASON_LIMIT);
	KUNIT_EXPECT_EQ(test, cmd.hdr.detail, UNIV_LIMIT_TARGET_HANDLES);
	KUNIT_EXPECT_EQ(test, closed, 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->ctx->events.ready));
	KUNIT_EXPECT_EQ(test, atomic_read(&xrcd->obj.dependants), 0);
	KUNIT_EXPECT_PTR_EQ(test, univ_object_unpublish(f->ctx, cmd.xrcd, UNIV_OBJECT_XRCD, &hdr),
			    &xrcd->obj);
	univ_object_release(&xrcd->obj);
}

static struct kunit_case target_cases[] = {
	KUNIT_CASE(target_refused_with_event),
	{}
};

static struct kunit_suite target_suite = {
	.name = "univ_target",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = target_cases,
};
kunit_test_suite(target_suite);
