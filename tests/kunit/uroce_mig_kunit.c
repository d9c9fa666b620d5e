// SPDX-License-Identifier: GPL-2.0
/* The states of path migration: what packets change, and what a program may change. */
#include "uroce_host.h"

static void mig_hear(struct kunit *test)
{
	static const struct {
		enum ib_mig_state state;
		bool alternate, requests, fits;
		enum uroce_mig_step step;
	} rows[] = {
		/* By the primary path. */
		{ IB_MIG_MIGRATED, false, false, true, UROCE_MIG_TAKE },
		{ IB_MIG_MIGRATED, false, true, true, UROCE_MIG_TAKE },
		{ IB_MIG_REARM, false, false, true, UROCE_MIG_ARM },
		{ IB_MIG_REARM, false, false, false, UROCE_MIG_TAKE },
		{ IB_MIG_REARM, false, true, true, UROCE_MIG_TAKE },
		{ IB_MIG_ARMED, false, false, true, UROCE_MIG_TAKE },
		{ IB_MIG_ARMED, false, true, true, UROCE_MIG_REFUSE },
		{ IB_MIG_ARMED, false, true, false, UROCE_MIG_TAKE },
		/* By the alternate path. */
		{ IB_MIG_ARMED, true, true, true, UROCE_MIG_MOVE },
		{ IB_MIG_ARMED, true, true, false, UROCE_MIG_DROP },
		{ IB_MIG_ARMED, true, false, true, UROCE_MIG_DROP },
		{ IB_MIG_REARM, true, true, true, UROCE_MIG_DROP },
		{ IB_MIG_MIGRATED, true, true, true, UROCE_MIG_DROP },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, (int)uroce_mig_hear(rows[i].state, rows[i].alternate,
							      rows[i].requests, rows[i].fits),
				    (int)rows[i].step, "row %zu", i);
}

/* As the core does it. @mask: IB_QP_ALT_PATH, IB_QP_PATH_MIG_STATE. */
static int set(struct side *side, int mask, enum ib_mig_state state, u8 timeout, u32 *cause)
{
	struct ib_qp_attr a = {
		.path_mig_state = state, .alt_port_num = 1, .alt_timeout = timeout,
	};
	struct uroce_qp *qp = side->qp.qp;
	u32 none;
	int ret;

	a.alt_ah_attr.port_num = 1;
	ret = uroce_mig_prepare(qp, &a, mask, cause ?: &none);
	if (!ret)
		ret = uroce_qp_modify(&side->qp.ib, &a, mask & ~IB_QP_ALT_PATH, NULL);
	if (ret)
		uroce_mig_cancel(qp);
	return ret;
}

static int load(struct side *side, u8 timeout)
{
	return set(side, IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE, IB_MIG_REARM, timeout, NULL);
}

static enum ib_mig_state mig(struct side *side, u8 *timeout)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr a;

	uroce_qp_query(&side->qp.ib, &a, 0, &init);
	if (timeout)
		*timeout = a.timeout;
	return a.path_mig_state;
}

#define EXPECT_MIG(side, state) KUNIT_EXPECT_EQ(test, (int)mig(side, NULL), (int)(state))

/* The second side arms both. A program then migrates one, and the other one follows. */
static void mig_local(struct kunit *test)
{
	struct host *h = test->priv;
	u8 timeout;

	EXPECT_MIG(&h->a, IB_MIG_MIGRATED);
	KUNIT_EXPECT_EQ(test, load(&h->a, 5), 0);
	EXPECT_MIG(&h->a, IB_MIG_REARM);
	KUNIT_EXPECT_EQ(test, load(&h->b, 6), 0);
	EXPECT_MIG(&h->a, IB_MIG_ARMED);
	EXPECT_MIG(&h->b, IB_MIG_ARMED);
	KUNIT_EXPECT_EQ(test, set(&h->a, IB_QP_PATH_MIG_STATE, IB_MIG_MIGRATED, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, (int)mig(&h->a, &timeout), (int)IB_MIG_MIGRATED);
	KUNIT_EXPECT_EQ(test, timeout, (u8)5);
	KUNIT_EXPECT_EQ(test, (int)mig(&h->b, &timeout), (int)IB_MIG_MIGRATED);
	KUNIT_EXPECT_EQ(test, timeout, (u8)6);
	EVENTUALLY(READ_ONCE(h->a.events) && READ_ONCE(h->b.events));
	KUNIT_EXPECT_EQ(test, h->a.events, (u32)BIT(IB_EVENT_PATH_MIG));
	KUNIT_EXPECT_EQ(test, h->b.events, (u32)BIT(IB_EVENT_PATH_MIG));
	KUNIT_ASSERT_EQ(test, host_ask(h, 1, IB_WR_RDMA_WRITE, 0, 0, 64), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, host_differs(&h->b.area, 0, 0, 64, 1), -1);
}

#define EXPECT_REFUSED(side, mask, state, why) do {					\
	u32 __cause = 0;								\
											\
	KUNIT_EXPECT_EQ(test, set(side, mask, state, 1, &__cause), -EINVAL);		\
	KUNIT_EXPECT_EQ(test, __cause, (u32)(why));					\
} while (0)

/* A call that is refused changes nothing. */
static void mig_refused(struct kunit *test)
{
	const int both = IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE;
	struct host *h = test->priv;
	u8 timeout;

	EXPECT_REFUSED(&h->a, IB_QP_PATH_MIG_STATE, IB_MIG_REARM, UNIV_PATH_MIG_NO_PATH);
	KUNIT_EXPECT_EQ(test, set(&h->a, both, IB_MIG_ARMED, 1, NULL), -EINVAL);
	EXPECT_REFUSED(&h->a, IB_QP_PATH_MIG_STATE, IB_MIG_REARM, UNIV_PATH_MIG_NO_PATH);
	/* The initial state may be set. */
	KUNIT_EXPECT_EQ(test, set(&h->a, IB_QP_PATH_MIG_STATE, IB_MIG_MIGRATED, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, load(&h->a, 5), 0);
	EXPECT_REFUSED(&h->a, IB_QP_PATH_MIG_STATE, IB_MIG_MIGRATED, UNIV_PATH_MIG_NOT_ARMED);
	KUNIT_EXPECT_EQ(test, set(&h->a, IB_QP_ALT_PATH, 0, 7, NULL), 0);
	EXPECT_MIG(&h->a, IB_MIG_REARM);
	KUNIT_EXPECT_EQ(test, load(&h->b, 6), 0);
	EXPECT_REFUSED(&h->a, IB_QP_ALT_PATH, 0, UNIV_PATH_MIG_ARMED);
	EXPECT_REFUSED(&h->a, both, IB_MIG_MIGRATED, UNIV_PATH_MIG_ARMED);
	EXPECT_MIG(&h->a, IB_MIG_ARMED);
	/* Another path is loaded with REARM, and the peer is armed still. */
	KUNIT_EXPECT_EQ(test, load(&h->a, 9), 0);
	EXPECT_MIG(&h->a, IB_MIG_ARMED);
	KUNIT_EXPECT_EQ(test, set(&h->b, IB_QP_PATH_MIG_STATE, IB_MIG_MIGRATED, 0, NULL), 0);
	mig(&h->a, &timeout);
	KUNIT_EXPECT_EQ(test, timeout, (u8)9);
	/* The path was used up by the migration. */
	EXPECT_REFUSED(&h->a, IB_QP_PATH_MIG_STATE, IB_MIG_REARM, UNIV_PATH_MIG_NO_PATH);
	KUNIT_EXPECT_NULL(test, h->a.qp.qp->alt_next);
}

/* A path to another host, while messages stay within this one. */
static void mig_far(struct kunit *test)
{
	struct ib_qp_attr a = { .alt_port_num = 1 };
	struct host *h = test->priv;
	u32 cause = 0;

	a.alt_ah_attr.port_num = FAR_PORT;
	KUNIT_EXPECT_EQ(test, uroce_mig_prepare(h->a.qp.qp, &a, IB_QP_ALT_PATH, &cause), 0);
	KUNIT_EXPECT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &a, 0, NULL), -EOPNOTSUPP);
	uroce_mig_cancel(h->a.qp.qp);
	EXPECT_REFUSED(&h->a, IB_QP_PATH_MIG_STATE, IB_MIG_REARM, UNIV_PATH_MIG_NO_PATH);
}

/* Peers in different partitions do not arm each other, and refuse no message by that. */
static void mig_partitions(struct kunit *test)
{
	struct host *h = test->priv;

	h->dev.pkeys[1] = 0x8001;
	h->b.qp.qp->attr.pkey_index = 1;
	KUNIT_EXPECT_EQ(test, load(&h->a, 5), 0);
	KUNIT_EXPECT_EQ(test, load(&h->b, 6), 0);
	EXPECT_MIG(&h->a, IB_MIG_REARM);
	EXPECT_MIG(&h->b, IB_MIG_REARM);
	KUNIT_EXPECT_EQ(test, atomic_read(&h->dev.pkey_violations), 0);
}

/* A reset forgets the path, also the path of a queue pair that is armed. */
static void mig_reset(struct kunit *test)
{
	struct host *h = test->priv;

	KUNIT_EXPECT_EQ(test, load(&h->a, 5), 0);
	KUNIT_EXPECT_EQ(test, load(&h->b, 6), 0);
	KUNIT_EXPECT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &(struct ib_qp_attr){
		.qp_state = IB_QPS_RESET }, IB_QP_STATE, NULL), 0);
	EXPECT_MIG(&h->a, IB_MIG_MIGRATED);
	KUNIT_EXPECT_FALSE(test, rcu_access_pointer(h->a.qp.qp->alt));
	/* The peer is not connected to this queue pair any more. */
	KUNIT_EXPECT_EQ(test, set(&h->b, IB_QP_PATH_MIG_STATE, IB_MIG_MIGRATED, 0, NULL), 0);
	EXPECT_MIG(&h->b, IB_MIG_MIGRATED);
	KUNIT_EXPECT_EQ(test, h->a.events, 0u);
}

/*
 * The responder migrates on its own lock; the requester follows when it runs, or when the
 * queue pair is queried. Then it fails: an armed queue pair is destroyed at the end.
 */
static void mig_follows(struct kunit *test)
{
	struct host *h = test->priv;
	struct uroce_qp *qp = h->a.qp.qp;
	u8 timeout;

	KUNIT_EXPECT_EQ(test, load(&h->a, 5), 0);
	KUNIT_EXPECT_EQ(test, load(&h->b, 6), 0);
	spin_lock_bh(&qp->resp.lock);
	uroce_mig_move(qp);
	KUNIT_EXPECT_EQ(test, qp->attr.timeout, (u8)1);
	KUNIT_EXPECT_FALSE(test, rcu_access_pointer(qp->alt));
	spin_unlock_bh(&qp->resp.lock);
	KUNIT_EXPECT_EQ(test, (int)mig(&h->a, &timeout), (int)IB_MIG_MIGRATED);
	KUNIT_EXPECT_EQ(test, timeout, (u8)5);
	KUNIT_EXPECT_NULL(test, qp->moved);
	EXPECT_MIG(&h->b, IB_MIG_ARMED);
}

static struct kunit_case mig_cases[] = {
	KUNIT_CASE(mig_hear),
	KUNIT_CASE(mig_local),
	KUNIT_CASE(mig_refused),
	KUNIT_CASE(mig_far),
	KUNIT_CASE(mig_partitions),
	KUNIT_CASE(mig_reset),
	KUNIT_CASE(mig_follows),
	{}
};

static struct kunit_suite mig_suite = {
	.name = "univ_uroce_mig",
	.init = host_init,
	.exit = host_exit,
	.test_cases = mig_cases,
};

kunit_test_suite(mig_suite);
