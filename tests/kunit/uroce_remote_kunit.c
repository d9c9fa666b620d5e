// SPDX-License-Identifier: GPL-2.0
/* The connection over packets of a queue pair: answers that wait for the send queue. */
#include <kunit/test.h>

/* uroce_host.c has stubs of these names for queue pairs of one host. */
#define uroce_remote_prepare real_prepare
#define uroce_spare_free real_spare_free
#define uroce_remote_begin real_begin
#define uroce_remote_end real_end
#define uroce_remote_drop_routes real_drop_routes
#define uroce_remote_step real_step
#define uroce_remote_flush real_flush
#define uroce_remote_changed real_changed
#define uroce_remote_remember real_remember
#define uroce_remote_idle real_idle
#define uroce_remote_psns real_psns
#define uroce_remote_again real_again
#define uroce_remote_partition real_partition
#include "../../kernel/uroce/path/remote.c"

#define PKEY 0xffff

/* A queue pair in RTS that is connected to a peer on another host. */
struct far {
	struct uroce_qp qp;
	struct uroce_dev dev;
};

/* A packet of the peer arrives, and nothing takes it. */
static enum uroce_receipt receive(struct kunit *test, u8 opcode)
{
	u32 len = uroce_ops[opcode].length + UROCE_ICRC_SIZE;
	struct uroce_packet pkt = { .skb = alloc_skb(len, GFP_KERNEL) };
	enum uroce_receipt receipt = UROCE_RECEIPT_CUT;
	struct far *far = test->priv;
	struct uroce_bth *bth;

	if (!pkt.skb)
		return receipt;
	bth = skb_put_zero(pkt.skb, len);
	bth->opcode = opcode;
	bth->pkey = cpu_to_be16(PKEY);
	rcu_read_lock();
	if (uroce_packet_parse(&pkt, 0))
		receipt = uroce_remote_receive(&far->qp, &pkt);
	rcu_read_unlock();
	kfree_skb(pkt.skb);
	return receipt;
}

/* A peer cannot fill the memory with answers while the send queue does not run. */
static void remote_answers(struct kunit *test)
{
	struct far *far = test->priv;
	struct sk_buff_head *answers = &far->qp.remote->answers;
	u32 i, wrong = 0;

	for (i = 0; i < 2 * ANSWERS_MAX; i++)
		wrong += receive(test, UROCE_ACKNOWLEDGE) !=
			 (i < ANSWERS_MAX ? UROCE_RECEIPT_RUN : UROCE_RECEIPT_DONE);
	KUNIT_EXPECT_EQ(test, wrong, 0u);
	KUNIT_EXPECT_EQ(test, skb_queue_len(answers), (u32)ANSWERS_MAX);
	/* As soon as they are gone others are taken. */
	uroce_remote_flush(&far->qp);
	KUNIT_EXPECT_EQ(test, (int)receive(test, UROCE_ACKNOWLEDGE), (int)UROCE_RECEIPT_RUN);
	KUNIT_EXPECT_EQ(test, skb_queue_len(answers), 1u);
}

/*
 * A queue pair that requests nothing, as an XRC target or one in RTR, is notified of congestion
 * that its responses met. Otherwise the requester takes the notification first.
 */
static void remote_notified(struct kunit *test)
{
	struct far *far = test->priv;
	struct uroce_responder *resp = &far->qp.remote->conn.resp;

	KUNIT_EXPECT_EQ(test, (int)receive(test, UROCE_CNP), (int)UROCE_RECEIPT_RUN);
	KUNIT_EXPECT_EQ(test, resp->congested, 0ul);
	far->qp.state = IB_QPS_RTR;
	KUNIT_EXPECT_EQ(test, (int)receive(test, UROCE_CNP), (int)UROCE_RECEIPT_DONE);
	KUNIT_EXPECT_NE(test, resp->congested, 0ul);
	resp->congested = 0;
	far->qp.state = IB_QPS_RTS;
	far->qp.type = IB_QPT_XRC_TGT;
	far->qp.remote->fit.count = 0;
	KUNIT_EXPECT_EQ(test, (int)receive(test, UROCE_CNP), (int)UROCE_RECEIPT_DONE);
	KUNIT_EXPECT_NE(test, resp->congested, 0ul);
	far->qp.type = IB_QPT_RC;
	far->qp.remote->fit.count = 8;
}

static int remote_init(struct kunit *test)
{
	struct far *far = kunit_kzalloc(test, sizeof(*far), GFP_KERNEL);
	struct uroce_spare spare = {};
	struct uroce_qp *qp;

	if (!far)
		return -ENOMEM;
	far->dev.counters = __alloc_percpu(UROCE_COUNTERS * sizeof(u64), sizeof(u64));
	if (!far->dev.counters)
		return -ENOMEM;
	test->priv = far;
	qp = &far->qp;
	qp->dev = &far->dev;
	qp->type = IB_QPT_RC;
	qp->state = IB_QPS_RTS;
	qp->mtu = 1024;
	qp->pkey = PKEY;
	qp->sq.ring.count = 8;
	qp->sq.max_sge = 1;
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->resp.lock);
	spare.remote = wire_alloc(qp, 1);
	if (!spare.remote)
		return -ENOMEM;
	uroce_remote_begin(qp, &spare);
	return 0;
}

static void remote_exit(struct kunit *test)
{
	struct far *far = test->priv;

	if (!far)
		return;
	uroce_remote_end(&far->qp);
	/* The callback that frees the connection. */
	rcu_barrier();
	free_percpu(far->dev.counters);
}

static struct kunit_case remote_cases[] = {
	KUNIT_CASE(remote_answers),
	KUNIT_CASE(remote_notified),
	{}
};

static struct kunit_suite remote_suite = {
	.name = "univ_uroce_remote",
	.init = remote_init,
	.exit = remote_exit,
	.test_cases = remote_cases,
};

kunit_test_suite(remote_suite);
