// SPDX-License-Identifier: GPL-2.0
/* Datagrams and groups on one host: datagrams that are dropped, and the members of a group. */
#include "uroce_host.h"

/* @dev_id: the device that has the address; 0 for another host, or a group. */
static int post_datagram(struct host *h, u64 dev_id, u32 qpn, u64 id, u32 len)
{
	struct uroce_ah ah = { .index = dev_id };
	struct ib_sge sge = host_piece(&h->a, 0, len);
	const struct ib_ud_wr wr = {
		.wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED },
		.ah = &ah.ib, .remote_qpn = qpn, .remote_qkey = QKEY,
	};
	const struct ib_send_wr *bad;

	return uroce_post_send(&h->a.qp.ib, &wr.wr, &bad);
}

static int datagram_to(struct host *h, u64 dev_id, u64 id, u32 len)
{
	return post_datagram(h, dev_id, h->b.qp.ib.qp_num, id, len);
}

static int datagram(struct host *h, u64 id, u32 len)
{
	return datagram_to(h, h->dev.id, id, len);
}

static u64 counted(const struct host *h, enum uroce_counter what)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(h->dev.counters, cpu)[what];
	return sum;
}

/*
 * A datagram that is too long is dropped. The receive request serves a datagram that
 * fits, and the queue pair continues.
 */
static void local_datagram_too_long(struct kunit *test)
{
	struct host *h = test->priv;

	h->dev.netdev->mtu = 1500;
	host_again(test, IB_QPT_UD, 0);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 40 + 64), 0);
	KUNIT_ASSERT_EQ(test, datagram(h, 1, 65), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	host_expect_none(test, &h->b);
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->b), (int)IB_QPS_RTS);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
	KUNIT_ASSERT_EQ(test, datagram(h, 2, 64), 0);
	host_expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	host_expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)*host_byte(&h->b.area, 40), (int)host_pattern(0, 1));
	KUNIT_EXPECT_EQ(test, counted(h, UROCE_CNT_OUT_OF_BUFFER), 1ull);
	/* No receive request is left. */
	KUNIT_ASSERT_EQ(test, datagram(h, 3, 1), 0);
	host_expect_wc(test, &h->a, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, counted(h, UROCE_CNT_OUT_OF_BUFFER), 2ull);
}

/*
 * The pages of a receive request were not there for an earlier datagram, so the request is taken.
 * It serves the next datagram that fits.
 */
static void local_datagram_taken(struct kunit *test)
{
	struct host *h = test->priv;
	u64 before;

	h->dev.netdev->mtu = 1500;
	host_again(test, IB_QPT_UD, 0);
	before = counted(h, UROCE_CNT_RECV_SHORT);
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 40 + 64), 0);
	host_take(test, &h->b);
	KUNIT_ASSERT_EQ(test, datagram(h, 1, 65), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	host_expect_none(test, &h->b);
	KUNIT_EXPECT_TRUE(test, host_is_stale(&h->b));
	KUNIT_EXPECT_EQ(test, counted(h, UROCE_CNT_RECV_SHORT), before + 1);
	KUNIT_ASSERT_EQ(test, datagram(h, 2, 64), 0);
	host_expect_wc(test, &h->a, 2, IB_WC_SUCCESS);
	host_expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)*host_byte(&h->b.area, 40), (int)host_pattern(0, 1));
}

/* A send follows the MTU of the netdev, which may change while the queue pair is in use. */
static void local_datagram_mtu(struct kunit *test)
{
	struct host *h = test->priv;

	h->dev.netdev->mtu = 1500;
	host_again(test, IB_QPT_UD, 0);
	h->dev.netdev->mtu = 4200;
	KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, 5, 0, 40 + 4096), 0);
	KUNIT_ASSERT_EQ(test, datagram(h, 1, 4096), 0);
	host_expect_wc(test, &h->a, 1, IB_WC_SUCCESS);
	host_expect_wc(test, &h->b, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)*host_byte(&h->b.area, 40 + 4095), (int)host_pattern(4095, 1));
	h->dev.netdev->mtu = 1500;
	KUNIT_ASSERT_EQ(test, datagram(h, 2, 1025), 0);
	host_expect_wc(test, &h->a, 2, IB_WC_LOC_LEN_ERR);
	KUNIT_EXPECT_EQ(test, (int)host_state(&h->a), (int)IB_QPS_SQE);
}

/*
 * A user in the kernel gets the VLAN of the datagram's destination, without which the
 * connection manager would not find the address.
 */
static void local_datagram_vlan(struct kunit *test)
{
	static const u16 vlans[] = { 7, 0, 4094, UROCE_NO_VLAN };
	struct host *h = test->priv;
	struct ib_wc wc = {};
	int i;

	host_again(test, IB_QPT_UD, 0);
	for (i = 0; i < ARRAY_SIZE(vlans); i++) {
		bool tagged = vlans[i] != UROCE_NO_VLAN;

		host_vlan = vlans[i];
		KUNIT_ASSERT_EQ(test, host_receive(h, &h->b, i, 0, 40 + 64), 0);
		KUNIT_ASSERT_EQ(test, datagram(h, i, 64), 0);
		host_expect_wc(test, &h->a, i, IB_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, uroce_cq_poll(&h->b.cq.ib, 1, &wc), 1);
		KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_GRH);
		KUNIT_EXPECT_EQ(test, !!(wc.wc_flags & IB_WC_WITH_VLAN), tagged);
		if (tagged)
			KUNIT_EXPECT_EQ(test, wc.vlan_id, vlans[i]);
	}
}

/* No packet arrives here, so no operation is called. */
static const struct uroce_net_ops no_ops;

/* Packets have used up a rate limit. A reset ends it, and the next datagram leaves at once. */
static void local_datagram_rate(struct kunit *test)
{
	const struct univ_queue_rate rate = { .kbps = 1 };
	struct host *h = test->priv;
	struct uroce_sendq *sq;
	struct ib_wc wc = {};

	host_again(test, IB_QPT_UD, 0);
	sq = &h->a.qp.qp->sq;
	spin_lock_bh(&sq->lock);
	uroce_pace_set(&sq->pace, 1024, &rate);
	while (!uroce_pace_take(&sq->pace, 1024))
		;
	spin_unlock_bh(&sq->lock);
	/* It waits for a minute. */
	KUNIT_ASSERT_EQ(test, datagram_to(h, 0, 1, 64), 0);
	host_expect_none(test, &h->a);
	KUNIT_ASSERT_EQ(test, uroce_qp_modify(&h->a.qp.ib, &(struct ib_qp_attr){
		.qp_state = IB_QPS_RESET }, IB_QP_STATE, NULL), 0);
	KUNIT_ASSERT_EQ(test, host_to_init(&h->a), 0);
	KUNIT_ASSERT_EQ(test, host_to_rtr(&h->a, &h->b), 0);
	KUNIT_ASSERT_EQ(test, host_to_rts(&h->a, 0), 0);
	/* No socket counts packets in the namespace, so there is room for them. */
	KUNIT_ASSERT_EQ(test, uroce_net_init(&no_ops), 0);
	KUNIT_EXPECT_EQ(test, datagram_to(h, 0, 2, 64), 0);
	KUNIT_EXPECT_EQ(test, uroce_cq_poll(&h->a.cq.ib, 1, &wc), 1);
	uroce_net_exit();
	KUNIT_EXPECT_EQ(test, wc.wr_id, 2ull);
	KUNIT_EXPECT_EQ(test, (int)wc.status, (int)IB_WC_SUCCESS);
}

/*
 * A group has as many members as the device reports, and accepts another after a member
 * has left.
 */
static void local_group_limit(struct kunit *test)
{
	struct uroce_qp *qps = kunit_kcalloc(test, UROCE_MAX_MEMBERS + 1, sizeof(*qps),
					     GFP_KERNEL);
	struct uroce_ibqp member = { .ib.device = NULL };
	union ib_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
	struct host *h = test->priv;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, qps);
	for (i = 0; i <= UROCE_MAX_MEMBERS; i++) {
		qps[i].dev = &h->dev;
		member.qp = &qps[i];
		KUNIT_EXPECT_EQ(test, uroce_mcast_attach(&member.ib, &gid, 0),
				i < UROCE_MAX_MEMBERS ? 0 : -ENOMEM);
	}
	KUNIT_EXPECT_EQ(test, h->dev.group_count, 1u);
	/* Attach a member that is attached already, then use the place of a member that leaves. */
	member.qp = &qps[0];
	KUNIT_EXPECT_EQ(test, uroce_mcast_attach(&member.ib, &gid, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, uroce_mcast_detach(&member.ib, &gid, 0), 0);
	KUNIT_EXPECT_EQ(test, uroce_mcast_detach(&member.ib, &gid, 0), -EINVAL);
	member.qp = &qps[UROCE_MAX_MEMBERS];
	KUNIT_EXPECT_EQ(test, uroce_mcast_attach(&member.ib, &gid, 0), 0);
	for (i = 1; i <= UROCE_MAX_MEMBERS; i++) {
		member.qp = &qps[i];
		KUNIT_EXPECT_EQ(test, uroce_mcast_detach(&member.ib, &gid, 0), 0);
	}
	KUNIT_EXPECT_EQ(test, h->dev.group_count, 0u);
}

/* The netdev leaves: no queue pair joins a group any more. */
static void local_group_of_gone(struct kunit *test)
{
	union ib_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
	struct host *h = test->priv;

	host_again(test, IB_QPT_UD, 0);
	h->dev.gone = true;
	KUNIT_EXPECT_EQ(test, uroce_mcast_attach(&h->b.qp.ib, &gid, 0), -ENODEV);
	KUNIT_EXPECT_EQ(test, h->dev.group_count, 0u);
	h->dev.gone = false;
}

#define MEMBERS 6		/* more than a sender serves before it looks at others */

static void members_open(struct kunit *test, struct side *member, union ib_gid *gid)
{
	struct host *h = test->priv;
	int i;

	for (i = 0; i < MEMBERS; i++)
		KUNIT_ASSERT_EQ(test, host_side_init(test, &member[i]), 0);
	for (i = 0; i < MEMBERS; i += 2)
		host_connect(test, &member[i], &member[i + 1], IB_QPT_UD, 0);
	for (i = 0; i < MEMBERS; i++) {
		KUNIT_EXPECT_EQ(test, uroce_mcast_attach(&member[i].qp.ib, gid, 0), 0);
		KUNIT_EXPECT_EQ(test, host_receive(h, &member[i], 10, 0, 40 + 64), 0);
		KUNIT_EXPECT_EQ(test, host_receive(h, &member[i], 11, 200, 40 + 64), 0);
	}
}

static void members_close(struct kunit *test, struct side *member, union ib_gid *gid)
{
	int i;

	for (i = 0; i < MEMBERS; i++) {
		KUNIT_EXPECT_EQ(test, uroce_mcast_detach(&member[i].qp.ib, gid, 0), 0);
		host_drop(&member[i]);
		host_side_exit(&member[i]);
	}
}

/* Each of many members gets a copy of each datagram. No ASSERT, since the members have to end. */
static void local_group_copies(struct kunit *test)
{
	struct side *member = kunit_kcalloc(test, MEMBERS, sizeof(*member), GFP_KERNEL);
	union ib_gid gid = {};	/* that of an address handle here */
	struct host *h = test->priv;
	struct ib_wc wc = {};
	int i, id;

	KUNIT_ASSERT_NOT_NULL(test, member);
	h->dev.netdev->mtu = 1500;
	host_again(test, IB_QPT_UD, 0);
	KUNIT_ASSERT_EQ(test, uroce_net_init(&no_ops), 0);
	members_open(test, member, &gid);
	for (id = 1; id <= 2; id++)
		KUNIT_EXPECT_EQ(test, post_datagram(h, 0, UROCE_MCAST_QPN, id, 64), 0);
	EVENTUALLY(READ_ONCE(h->a.cq.tail) - h->a.cq.head >= 2);
	KUNIT_EXPECT_EQ(test, READ_ONCE(h->a.cq.tail) - h->a.cq.head, 2u);
	for (i = 0; i < MEMBERS; i++) {
		for (id = 10; id <= 11; id++) {
			KUNIT_EXPECT_EQ(test, uroce_cq_poll(&member[i].cq.ib, 1, &wc), 1);
			KUNIT_EXPECT_EQ(test, wc.wr_id, (u64)id);
			KUNIT_EXPECT_EQ(test, (int)wc.status, (int)IB_WC_SUCCESS);
		}
		KUNIT_EXPECT_EQ(test, (int)*host_byte(&member[i].area, 40), (int)host_pattern(0, 1));
		KUNIT_EXPECT_EQ(test, uroce_cq_poll(&member[i].cq.ib, 1, &wc), 0);
	}
	members_close(test, member, &gid);
	uroce_net_exit();
}

static struct kunit_case datagram_cases[] = {
	KUNIT_CASE(local_datagram_too_long),
	KUNIT_CASE(local_datagram_taken),
	KUNIT_CASE(local_datagram_mtu),
	KUNIT_CASE(local_datagram_vlan),
	KUNIT_CASE(local_datagram_rate),
	KUNIT_CASE(local_group_limit),
	KUNIT_CASE(local_group_of_gone),
	KUNIT_CASE(local_group_copies),
	{}
};

static struct kunit_suite datagram_suite = {
	.name = "univ_uroce_datagram",
	.init = host_init,
	.exit = host_exit,
	.test_cases = datagram_cases,
};

kunit_test_suite(datagram_suite);
