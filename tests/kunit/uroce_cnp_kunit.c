// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion notification packets (CNPs): their contents, their receiver, and their
 * highest rate. Like NICs, the responder sends two CNPs to one peer at least 50
 * microseconds apart, as senders expect that slow down at each CNP.
 */
#include <kunit/test.h>
#include <linux/ktime.h>
#include <linux/skbuff.h>
#include <linux/string.h>

#include "../../kernel/uroce/conn/conn.h"
#include "bh.h"

#define GAP_NS	(50 * NSEC_PER_USEC)
#define PEER	0x123456
#define CALLS	2000

struct told {
	struct uroce_conn conn;
	struct sk_buff *last;
	u32 sent;
	u32 counts[UROCE_COUNTERS];
};

static struct told *told_of(struct uroce_conn *conn)
{
	return container_of(conn, struct told, conn);
}

static void told_count(struct uroce_conn *conn, enum uroce_counter what)
{
	told_of(conn)->counts[what]++;
}

static int told_xmit(struct uroce_conn *conn, struct sk_buff *skb, bool response)
{
	struct told *t = told_of(conn);

	kfree_skb(t->last);
	t->last = skb;
	t->sent++;
	return 0;
}

static int told_flush(struct uroce_conn *conn, bool response)
{
	return 0;
}

static const struct uroce_conn_ops told_ops = {
	.count = told_count,
	.xmit = told_xmit,
	.flush = told_flush,
};

static int cnp_init(struct kunit *test)
{
	struct told *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	uroce_conn_init(&t->conn, &told_ops, UROCE_RC);
	t->conn.peer = PEER;
	t->conn.pkey = 0xffff;
	uroce_resp_start(&t->conn, 0);
	test->priv = t;
	return 0;
}

static void cnp_exit(struct kunit *test)
{
	struct told *t = test->priv;

	kfree_skb(t->last);
	uroce_resp_halt(&t->conn);
	uroce_conn_stop(&t->conn);
}

static void cnp_packet(struct kunit *test)
{
	struct told *t = test->priv;
	struct uroce_bth *bth;

	IN_BOTTOM_HALF(uroce_resp_congested(&t->conn));
	KUNIT_ASSERT_NOT_NULL(test, t->last);
	KUNIT_ASSERT_EQ(test, t->last->len, (u32)sizeof(*bth) + 16);
	bth = (void *)t->last->data;
	KUNIT_EXPECT_EQ(test, (int)bth->opcode, 0x81);
	/* SE, M, the pad count and the version are 0. */
	KUNIT_EXPECT_EQ(test, (int)bth->flags, 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(bth->qpn), 0x40000000u | PEER);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(bth->psn), 0u);
	KUNIT_EXPECT_NULL(test, memchr_inv(bth + 1, 0, 16));
	KUNIT_EXPECT_EQ(test, t->counts[UROCE_CNT_ECN_MARKED], 1u);
	KUNIT_EXPECT_EQ(test, t->counts[UROCE_CNT_CNP_SENT], 1u);
}

/*
 * The time that passes bounds the number of CNPs. Marked packets and CNPs have separate
 * counters.
 */
static void cnp_gap(struct kunit *test)
{
	struct told *t = test->priv;
	u64 from = ktime_get_ns(), most;
	u32 i;

	for (i = 0; i < CALLS; i++)
		IN_BOTTOM_HALF(uroce_resp_congested(&t->conn));
	most = (ktime_get_ns() - from) / GAP_NS + 1;
	KUNIT_EXPECT_GE(test, t->sent, 1u);
	KUNIT_EXPECT_LE(test, (u64)t->sent, most);
	KUNIT_EXPECT_EQ(test, t->counts[UROCE_CNT_ECN_MARKED], (u32)CALLS);
	KUNIT_EXPECT_EQ(test, t->counts[UROCE_CNT_CNP_SENT], t->sent);
}

/* Call shortly before the time has passed. A call that itself takes too long proves nothing. */
static void cnp_too_early(struct kunit *test)
{
	struct told *t = test->priv;
	u32 tries, early = 0, ago = 35;
	u64 last;

	for (tries = 0; tries < CALLS && early < 20; tries++) {
		/* On a slow machine every call may be too late, so start earlier. */
		if (!early && tries % 200 == 199)
			ago -= 3;
		last = ktime_get_ns() - ago * NSEC_PER_USEC;
		t->conn.resp.told_congestion = last;
		t->sent = 0;
		IN_BOTTOM_HALF(uroce_resp_congested(&t->conn));
		if (ktime_get_ns() - last >= GAP_NS)
			continue;
		early++;
		KUNIT_EXPECT_EQ(test, t->sent, 0u);
	}
	KUNIT_EXPECT_GT(test, early, 0u);
}

/* Wait by the clock that the responder reads; udelay() uses another clock, which may disagree. */
static void gap_passes(void)
{
	u64 from = ktime_get_ns();

	while (ktime_get_ns() - from < GAP_NS)
		cpu_relax();
}

/*
 * The next CNP is sent as soon as the time has passed, and at once after the queue pair
 * is reset.
 */
static void cnp_again(struct kunit *test)
{
	struct told *t = test->priv;
	u32 i;

	for (i = 1; i <= 20; i++) {
		IN_BOTTOM_HALF(uroce_resp_congested(&t->conn));
		KUNIT_EXPECT_EQ(test, t->sent, i);
		gap_passes();
	}
	IN_BOTTOM_HALF(uroce_resp_congested(&t->conn));
	uroce_resp_start(&t->conn, 0);
	IN_BOTTOM_HALF(uroce_resp_congested(&t->conn));
	KUNIT_EXPECT_EQ(test, t->sent, 22u);
}

/* An unreliable sender is notified as well. */
static void cnp_unreliable(struct kunit *test)
{
	struct told *t = test->priv;

	t->conn.service = UROCE_UC;
	cnp_packet(test);
}

/* A halted responder sends no CNP. */
static void cnp_nobody(struct kunit *test)
{
	struct told *t = test->priv;

	uroce_resp_halt(&t->conn);
	IN_BOTTOM_HALF(uroce_resp_congested(&t->conn));
	KUNIT_EXPECT_EQ(test, t->sent, 0u);
	KUNIT_EXPECT_EQ(test, t->counts[UROCE_CNT_ECN_MARKED], 1u);
	KUNIT_EXPECT_EQ(test, t->counts[UROCE_CNT_CNP_SENT], 0u);
}

static struct kunit_case cnp_cases[] = {
	KUNIT_CASE(cnp_packet),
	KUNIT_CASE(cnp_gap),
	KUNIT_CASE(cnp_too_early),
	KUNIT_CASE(cnp_again),
	KUNIT_CASE(cnp_unreliable),
	KUNIT_CASE(cnp_nobody),
	{}
};

static struct kunit_suite cnp_suite = {
	.name = "univ_uroce_cnp",
	.init = cnp_init,
	.exit = cnp_exit,
	.test_cases = cnp_cases,
};

kunit_test_suite(cnp_suite);
