// SPDX-License-Identifier: GPL-2.0
/*
 * The table of queue pair states agrees with the RDMA core's, which it repeats only to
 * give reasons (adv18). A stricter table would refuse valid changes; a laxer one would
 * let the RDMA core refuse the change without a reason.
 */
#include "../../kernel/core/verbs/qpstate.c"

#include "fixture.h"

/* A process can name these bits; the RDMA core has more bits for other callers. */
#define MASK_BITS 21

static const enum ib_qp_type types[] = {
	IB_QPT_RC, IB_QPT_UC, IB_QPT_UD, IB_QPT_XRC_INI, IB_QPT_XRC_TGT,
	IB_QPT_RAW_PACKET,
};

/* A queue pair with only the fields that the table reads. */
struct fake {
	struct ib_qp ib;
	struct univ_qp qp;
};

static struct fake *fake_qp(struct kunit *test, enum ib_qp_type type)
{
	struct fixture *f = test->priv;
	struct fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake->ib.qp_type = type;
	fake->ib.device = &f->mock->ib;
	fake->ib.real_qp = &fake->ib;
	fake->ib.port = 1;
	fake->qp.ib = &fake->ib;
	fake->qp.obj.ctx = f->ctx;
	mutex_init(&fake->qp.mutex);
	return fake;
}

#define for_each_change(t, from, to)					\
	for ((t) = 0; (t) < ARRAY_SIZE(types); (t)++)			\
		for ((from) = IB_QPS_RESET; (from) <= IB_QPS_ERR; (from)++) \
			for ((to) = IB_QPS_RESET; (to) <= IB_QPS_ERR; (to)++)

/* Ask the table alone; whether a change to SQE is allowed is left to the device. */
static bool table_takes(struct univ_qp *qp, u32 from, u32 to, u32 mask)
{
	const struct qp_masks *masks = qp_masks(qp, from, to);

	if (!masks)
		return false;
	return !(masks->required & ~mask) &&
	       !(mask & ~(masks->required | masks->optional));
}

static void same_answer(struct kunit *test, struct univ_qp *qp, int from,
			int to, u32 mask)
{
	bool core = ib_modify_qp_is_ok(from, to, qp->ib->qp_type,
				       mask | IB_QP_STATE);

	KUNIT_EXPECT_EQ_MSG(test, table_takes(qp, from, to, mask), core,
			    "type %d, %d -> %d, mask %#x", qp->ib->qp_type,
			    from, to, mask);
}

/* Both tables agree on the empty mask, each bit alone and each pair of bits. */
static void qpstate_pairs_of_bits(struct kunit *test)
{
	int from, to, a, b;
	struct fake *fake;
	size_t t;

	for_each_change(t, from, to) {
		fake = fake_qp(test, types[t]);
		same_answer(test, &fake->qp, from, to, 0);
		for (a = 1; a < MASK_BITS; a++)
			for (b = a; b < MASK_BITS; b++)
				same_answer(test, &fake->qp, from, to,
					    BIT(a) | BIT(b));
	}
}

/* Test the least and the most that each change accepts, with one bit less and one bit more. */
static void qpstate_around_the_table(struct kunit *test)
{
	const struct qp_masks *masks;
	int from, to, bit;
	struct fake *fake;
	u32 least, most;
	size_t t;

	for_each_change(t, from, to) {
		fake = fake_qp(test, types[t]);
		masks = qp_masks(&fake->qp, from, to);
		if (!masks)
			continue;
		least = masks->required;
		most = masks->required | masks->optional;
		same_answer(test, &fake->qp, from, to, least);
		same_answer(test, &fake->qp, from, to, most);
		for (bit = 1; bit < MASK_BITS; bit++) {
			same_answer(test, &fake->qp, from, to,
				    least ^ BIT(bit));
			same_answer(test, &fake->qp, from, to, most ^ BIT(bit));
		}
	}
}

/* Test random masks between the two, other ones each day. */
static void qpstate_random_masks(struct kunit *test)
{
	int from, to, i;
	struct fake *fake;
	u32 seed = div_u64(ktime_get_real_seconds(), 24 * 60 * 60);
	size_t t;

	kunit_info(test, "seed %u", seed);

	for_each_change(t, from, to) {
		fake = fake_qp(test, types[t]);
		for (i = 0; i < 300; i++) {
			seed = seed * 1664525 + 1013904223;
			same_answer(test, &fake->qp, from, to,
				    (seed >> 8) & (BIT(MASK_BITS) - 2));
		}
	}
}

/* Test invalid states, and every reason that the checks give. */
static void qpstate_explained(struct kunit *test)
{
	static const struct {
		struct univ_qp_attr attr;
		u32 state;
		u32 reason;
	} wrong[] = {
		{ { .attr_mask = IB_QP_STATE, .qp_state = IB_QPS_ERR + 1 },
		  IB_QPS_INIT, UNIV_REASON_ATTR_VALUE },
		{ { .attr_mask = IB_QP_STATE, .qp_state = U32_MAX },
		  IB_QPS_INIT, UNIV_REASON_ATTR_VALUE },
		{ { .attr_mask = IB_QP_STATE, .qp_state = IB_QPS_RTS },
		  IB_QPS_RESET, UNIV_REASON_QP_STATE },
		{ { .attr_mask = IB_QP_STATE, .qp_state = IB_QPS_INIT },
		  IB_QPS_RESET, UNIV_REASON_ATTR_MISSING },
		{ { .attr_mask = IB_QP_STATE | IB_QP_SQ_PSN,
		    .qp_state = IB_QPS_ERR },
		  IB_QPS_RTS, UNIV_REASON_ATTR_SURPLUS },
		{ { .attr_mask = IB_QP_CUR_STATE, .cur_qp_state = IB_QPS_RTR },
		  IB_QPS_RTS, UNIV_REASON_CUR_STATE },
		{ { .attr_mask = IB_QP_TIMEOUT, .timeout = 32 },
		  IB_QPS_SQD, UNIV_REASON_ATTR_VALUE },
		{ { .attr_mask = IB_QP_PORT, .port_num = 2 },
		  IB_QPS_INIT, UNIV_REASON_PORT },
		{ { .attr_mask = IB_QP_PORT, .port_num = 0 },
		  IB_QPS_INIT, UNIV_REASON_PORT },
		{ { .attr_mask = IB_QP_PKEY_INDEX, .pkey_index = 1 },
		  IB_QPS_INIT, UNIV_REASON_PKEY_INDEX },
	};
	struct fake *fake = fake_qp(test, IB_QPT_RC);
	struct univ_hdr hdr;
	size_t i;

	mutex_lock(&fake->qp.mutex);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		memset(&hdr, 0, sizeof(hdr));
		fake->qp.state = wrong[i].state;
		KUNIT_EXPECT_EQ_MSG(test,
				    univ_qp_check_modify(&fake->qp,
							 &wrong[i].attr, &hdr),
				    -EINVAL, "case %zu", i);
		KUNIT_EXPECT_EQ_MSG(test, hdr.reason, wrong[i].reason,
				    "case %zu", i);
	}
	mutex_unlock(&fake->qp.mutex);
}

/* Each value of a byte: counts become the highest that is finite, and the timer loses bits. */
static void qpstate_counts_fit(struct kunit *test)
{
	struct univ_qp_attr attr;
	u32 i;

	for (i = 0; i <= U8_MAX; i++) {
		memset(&attr, 0, sizeof(attr));
		attr.retry_cnt = i;
		attr.rnr_retry = i;
		attr.min_rnr_timer = i;
		attr.timeout = i;
		univ_qp_attr_fit(&attr);
		KUNIT_EXPECT_EQ(test, (u32)attr.retry_cnt, i < 8 ? i : 7);
		KUNIT_EXPECT_EQ(test, (u32)attr.rnr_retry, i < 8 ? i : 6);
		KUNIT_EXPECT_EQ(test, (u32)attr.min_rnr_timer, i % 32);
		KUNIT_EXPECT_EQ(test, (u32)attr.timeout, i);
	}
}

/* A failed request moves a queue pair to SQE without a call, from RTS and from SQD. */
static void qpstate_seen_in_sqe(struct kunit *test)
{
	const struct univ_qp_attr attr = {
		.attr_mask = IB_QP_STATE | IB_QP_CUR_STATE,
		.qp_state = IB_QPS_RTS,
		.cur_qp_state = IB_QPS_SQE,
	};
	static const u32 known[] = { IB_QPS_RTR, IB_QPS_RTS, IB_QPS_SQD, IB_QPS_SQE };
	struct fake *fake = fake_qp(test, IB_QPT_UD);
	struct univ_hdr hdr = {};
	size_t i;

	mutex_lock(&fake->qp.mutex);
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		fake->qp.state = known[i];
		KUNIT_EXPECT_EQ_MSG(test,
				    univ_qp_check_modify(&fake->qp, &attr, &hdr),
				    known[i] == IB_QPS_RTR ? -EINVAL : 0,
				    "state %u", known[i]);
	}
	mutex_unlock(&fake->qp.mutex);
}

/* No mock device has two ports, so the queue pair is given a port number that it cannot have. */
static void qpstate_path_of_another_port(struct kunit *test)
{
	const struct univ_qp_attr attr = { .attr_mask = IB_QP_AV, .ah.port_num = 1 };
	struct fake *fake = fake_qp(test, IB_QPT_RC);
	struct univ_hdr hdr = {};

	fake->ib.port = 2;
	fake->qp.state = IB_QPS_SQD;
	mutex_lock(&fake->qp.mutex);
	KUNIT_EXPECT_EQ(test, univ_qp_check_modify(&fake->qp, &attr, &hdr), -EINVAL);
	mutex_unlock(&fake->qp.mutex);
	KUNIT_EXPECT_EQ(test, hdr.reason, (u32)UNIV_REASON_ATTR_VALUE);
	KUNIT_EXPECT_EQ(test, hdr.detail, (u32)IB_QP_AV);
	KUNIT_EXPECT_EQ(test, hdr.value, 1ull);
	KUNIT_EXPECT_EQ(test, hdr.bound, 2ull);
}

static struct kunit_case qpstate_cases[] = {
	KUNIT_CASE(qpstate_pairs_of_bits),
	KUNIT_CASE(qpstate_around_the_table),
	KUNIT_CASE(qpstate_random_masks),
	KUNIT_CASE(qpstate_explained),
	KUNIT_CASE(qpstate_counts_fit),
	KUNIT_CASE(qpstate_seen_in_sqe),
	KUNIT_CASE(qpstate_path_of_another_port),
	{}
};

static struct kunit_suite qpstate_suite = {
	.name = "univ_qpstate",
	.suite_init = fixture_suite_init,
	.suite_exit = fixture_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = qpstate_cases,
};
kunit_test_suite(qpstate_suite);
