// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that the core itself refuses, each with its errno and its reason, and without
 * asking the device. Also calls that the device refuses, if the core then has nothing
 * left to undo.
 */
#include "fixture.h"

struct refusal {
	const char *name;
	unsigned int cmd;
	u32 size;
	int err;
	u32 reason;
	union {
		struct univ_hdr hdr;
		struct univ_mr_reg mr;
		struct univ_mw_alloc mw;
		struct univ_xrcd_open xrcd;
		struct univ_srq_create srq;
		struct univ_qp_open open;
		struct univ_ah_create ah;
		struct univ_qp_create qp;
		struct univ_srq_modify srq_modify;
		struct univ_mcast mcast;
		struct univ_qp_query query;
		struct univ_destroy destroy;
	} arg;
};

static void refuse(struct kunit *test, struct refusal *r)
{
	KUNIT_EXPECT_EQ_MSG(test,
			    fixture_call(test->priv, r->cmd, &r->arg, r->size),
			    r->err, "%s", r->name);
	KUNIT_EXPECT_EQ_MSG(test, r->arg.hdr.reason, r->reason, "%s", r->name);
}

#define REFUSED(what, number, member, errno_, why, ...)		\
	{ .name = what, .cmd = number,				\
	  .size = sizeof(((struct refusal *)0)->arg.member),	\
	  .err = -(errno_), .reason = UNIV_REASON_##why,	\
	  .arg.member = { __VA_ARGS__ } }

static void refuse_regions(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f);
	struct refusal wrong[] = {
		REFUSED("huge pages", UNIV_MR_REG, mr, EOPNOTSUPP, ACCESS_FLAGS,
			.pd = pd, .addr = f->user, .iova = f->user,
			.length = 8, .access = IB_ACCESS_HUGETLB),
		REFUSED("too long", UNIV_MR_REG, mr, EINVAL, LIMIT,
			.pd = pd, .addr = f->user, .iova = f->user,
			.length = SZ_1G, .access = IB_ACCESS_LOCAL_WRITE),
		REFUSED("places in a page", UNIV_MR_REG, mr, EINVAL, ADDRESS,
			.pd = pd, .addr = f->user, .iova = f->user + 8,
			.length = 8, .access = IB_ACCESS_LOCAL_WRITE),
	};
	size_t i;

	f->mock->ib.attrs.max_mr_size = SZ_1M;
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		refuse(test, &wrong[i]);
	KUNIT_EXPECT_EQ(test, mock_calls(f->mock, MOCK_REG_MR), 0);
}

/* The pump hides the device from the process, so a window could never be bound. */
static void refuse_windows(struct kunit *test)
{
	u32 pd = fixture_pd(test->priv);
	struct refusal wrong[] = {
		REFUSED("window of type 1", UNIV_MW_ALLOC, mw, EOPNOTSUPP,
			UNSUPPORTED, .pd = pd, .type = IB_MW_TYPE_1),
		REFUSED("no such type", UNIV_MW_ALLOC, mw, EOPNOTSUPP,
			UNSUPPORTED, .pd = pd, .type = 3),
		REFUSED("no domain", UNIV_MW_ALLOC, mw, EINVAL, HANDLE,
			.pd = 99999, .type = IB_MW_TYPE_1),
		REFUSED("no window", UNIV_MW_DEALLOC, destroy, EINVAL, HANDLE,
			.handle = 99999),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		refuse(test, &wrong[i]);
}

/* Kernel verbs cannot name the shared receive queue that an XRC request is for. */
static void refuse_xrc(struct kunit *test)
{
	u32 pd = fixture_pd(test->priv);
	struct refusal wrong[] = {
		REFUSED("domain", UNIV_XRCD_OPEN, xrcd, EOPNOTSUPP,
			UNSUPPORTED, .fd = -1),
		REFUSED("no domain", UNIV_XRCD_CLOSE, destroy, EINVAL, HANDLE,
			.handle = 99999),
		REFUSED("shared receive queue", UNIV_SRQ_CREATE, srq,
			EOPNOTSUPP, UNSUPPORTED, .pd = pd, .max_wr = 1,
			.srq_type = IB_SRQT_XRC),
		REFUSED("send", UNIV_QP_CREATE, qp, EOPNOTSUPP, QP_TYPE,
			.pd = pd, .qp_type = IB_QPT_XRC_INI),
		REFUSED("receive", UNIV_QP_CREATE, qp, EOPNOTSUPP, QP_TYPE,
			.qp_type = IB_QPT_XRC_TGT),
		REFUSED("open", UNIV_QP_OPEN, open, EINVAL, HANDLE,
			.xrcd = 99999, .qp_type = IB_QPT_XRC_TGT),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		refuse(test, &wrong[i]);
}

static void refuse_queues(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f);
	struct univ_cq *cq = fixture_cq(f, 8);
	struct univ_srq *srq = fixture_srq(f, pd, 8, 1);
	struct univ_qp *qp;
	size_t i;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	KUNIT_ASSERT_NOT_NULL(test, srq);
	qp = fixture_qp(f, IB_QPT_RC, pd, cq, NULL, 8);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	mock_reset(f->mock);
	{
		struct refusal wrong[] = {
			REFUSED("signal all, twice", UNIV_QP_CREATE, qp,
				EOPNOTSUPP, FLAGS, .pd = pd,
				.send_cq = cq->obj.handle,
				.recv_cq = cq->obj.handle,
				.qp_type = IB_QPT_RC, .sq_sig_all = 2),
			REFUSED("unknown attribute", UNIV_SRQ_MODIFY,
				srq_modify, EOPNOTSUPP, FLAGS,
				.handle = srq->obj.handle, .attr_mask = 0x80),
			REFUSED("another length", UNIV_SRQ_MODIFY, srq_modify,
				EOPNOTSUPP, UNSUPPORTED,
				.handle = srq->obj.handle,
				.attr_mask = IB_SRQ_MAX_WR, .max_wr = 4),
			REFUSED("multicast for RC", UNIV_MCAST_ATTACH, mcast,
				EINVAL, QP_TYPE, .qp = qp->obj.handle,
				.gid = { 0xff, 0x0e }),
		};

		for (i = 0; i < ARRAY_SIZE(wrong); i++)
			refuse(test, &wrong[i]);
	}
	KUNIT_EXPECT_EQ(test, mock_calls(f->mock, MOCK_CREATE_QP), 0);
	KUNIT_EXPECT_EQ(test, mock_calls(f->mock, MOCK_MODIFY_SRQ), 0);
	KUNIT_EXPECT_EQ(test, mock_calls(f->mock, MOCK_ATTACH_MCAST), 0);
}

/* An unknown route to the peer is reported as such, and not as the errno of a driver. */
static void refuse_no_route(struct kunit *test)
{
	static const int errors[] = { EHOSTUNREACH, ENETUNREACH, ETIMEDOUT };
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		struct refusal wrong =
			REFUSED("address handle", UNIV_AH_CREATE, ah,
				errors[i], NO_ROUTE, .pd = pd,
				.attr = { .port_num = 1, .dlid = 1 });

		mock_fail(f->mock, MOCK_CREATE_AH, 1, -errors[i]);
		refuse(test, &wrong);
	}
}

static void refuse_by_device(struct kunit *test)
{
	struct fixture *f = test->priv;
	u32 pd = fixture_pd(f);
	struct univ_cq *cq = fixture_cq(f, 8);
	struct univ_qp *qp;
	struct refusal attach, detach, query;

	KUNIT_ASSERT_NOT_NULL(test, cq);
	qp = fixture_qp(f, IB_QPT_UD, pd, cq, NULL, 8);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	query = (struct refusal)REFUSED("query", UNIV_QP_QUERY, query, EIO,
					DEVICE_REFUSED,
					.handle = qp->obj.handle,
					.attr_mask = IB_QP_STATE);
	mock_fail(f->mock, MOCK_QUERY_QP, 1, -EIO);
	refuse(test, &query);

	attach = (struct refusal)REFUSED("attach", UNIV_MCAST_ATTACH, mcast, 0,
					 NONE, .qp = qp->obj.handle,
					 .lid = 0xc001, .gid = { 0xff, 0x0e });
	refuse(test, &attach);
	/* After the refusal the queue pair is still attached; the next detach succeeds. */
	detach = (struct refusal)REFUSED("detach", UNIV_MCAST_DETACH, mcast,
					 EBUSY, DEVICE_REFUSED,
					 .qp = qp->obj.handle, .lid = 0xc001,
					 .gid = { 0xff, 0x0e });
	mock_fail(f->mock, MOCK_DETACH_MCAST, 1, -EBUSY);
	refuse(test, &detach);
	detach.err = 0;
	detach.reason = UNIV_REASON_NONE;
	refuse(test, &detach);
	detach.err = -EINVAL;
	detach.reason = UNIV_REASON_NOT_ATTACHED;
	refuse(test, &detach);
}

static struct kunit_case refuse_cases[] = {
	KUNIT_CASE(refuse_regions),
	KUNIT_CASE(refuse_windows),
	KUNIT_CASE(refuse_xrc),
	KUNIT_CASE(refuse_queues),
	KUNIT_CASE(refuse_no_route),
	KUNIT_CASE(refuse_by_device),
	{}
};

static struct kunit_suite refuse_suite = {
	.name = "univ_refuse",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = refuse_cases,
};
kunit_test_suite(refuse_suite);
