// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that migrate to another path: when the requester does, the sequence numbers
 * that a peer may use then, and the MigReq bit.
 */
#include "uroce_end.h"

/* All tries on the primary path are used up first, and the other path has as many again. */
static void conn_migrates(struct kunit *test)
{
	struct wire *w = test->priv;
	int sent = 0;

	w->a.paths = 1;
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	while (w->a.paths && sent < 10) {
		KUNIT_EXPECT_EQ(test, wire_lose(&w->a.out, 1), 0);
		sent++;
		wire_expire(w);
	}
	KUNIT_EXPECT_EQ(test, sent, 1 + w->a.conn.req.retry_cnt);
	KUNIT_EXPECT_EQ(test, w->a.completed, 0u);
	wire_expect_tries(test);
}

/* The first packet on the new path is enough, also without retries. */
static void conn_migrates_at_once(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.retry_cnt = 0;
	w->a.conn.req.tries = 0;
	w->a.paths = 1;
	wire_post(w, IB_WR_SEND, 3 * MTU);
	wire_run(w);
	wire_lose(&w->a.out, -1);
	wire_expire(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->a.paths, 0u);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.tries, (u8)0);
}

/* A peer that is not ready answers, so its path works. */
static void conn_not_ready_stays(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	w->a.paths = 1;
	w->b.recvs = 0;
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	for (i = 0; i < 10 && !w->a.completed; i++) {
		wire_settle(w);
		wire_end_wait(w);
	}
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_RNR_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, w->a.paths, 1u);
}

/* Only packets that were sent and not acknowledged are answered. */
static void conn_expected_answers(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_conn *conn = &w->a.conn;

	KUNIT_EXPECT_TRUE(test, uroce_req_expects(conn, FIRST_PSN - 1));
	KUNIT_EXPECT_FALSE(test, uroce_req_expects(conn, FIRST_PSN));
	wire_post(w, IB_WR_SEND, 4 * MTU);
	wire_run(w);
	KUNIT_EXPECT_TRUE(test, uroce_req_expects(conn, FIRST_PSN));
	KUNIT_EXPECT_TRUE(test, uroce_req_expects(conn, uroce_psn_add(FIRST_PSN, 3)));
	KUNIT_EXPECT_FALSE(test, uroce_req_expects(conn, uroce_psn_add(FIRST_PSN, 4)));
	KUNIT_EXPECT_FALSE(test, uroce_req_expects(conn, FIRST_PSN - 2));
	wire_settle(w);
	KUNIT_EXPECT_FALSE(test, uroce_req_expects(conn, FIRST_PSN));
	KUNIT_EXPECT_TRUE(test, uroce_req_expects(conn, uroce_psn_add(FIRST_PSN, 3)));
}

/* A repeated request is close to the next one, or belongs to a read that is remembered. */
static void conn_expected_requests(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_conn *conn = &w->b.conn;
	u32 far = uroce_psn_add(FIRST_PSN, 1 << 20);

	KUNIT_EXPECT_TRUE(test, uroce_resp_expects(conn, FIRST_PSN));
	KUNIT_EXPECT_TRUE(test, uroce_resp_expects(conn, uroce_psn_add(FIRST_PSN, 1 << 14)));
	KUNIT_EXPECT_TRUE(test, uroce_resp_expects(conn, uroce_psn_add(FIRST_PSN, -(1 << 14))));
	KUNIT_EXPECT_FALSE(test, uroce_resp_expects(conn, uroce_psn_add(FIRST_PSN, (1 << 14) + 1)));
	KUNIT_EXPECT_FALSE(test, uroce_resp_expects(conn, uroce_psn_add(FIRST_PSN, -(1 << 14) - 1)));
	w->b.responses[0] = (struct uroce_response){
		.op = UROCE_OP_READ, .first = far, .last = uroce_psn_add(far, 5) };
	KUNIT_EXPECT_TRUE(test, uroce_resp_expects(conn, uroce_psn_add(far, 5)));
	KUNIT_EXPECT_FALSE(test, uroce_resp_expects(conn, uroce_psn_add(far, 6)));
	w->b.responses[0].op = 0;
	KUNIT_EXPECT_FALSE(test, uroce_resp_expects(conn, far));
	/* Lost packets of an unreliable peer are never repeated. */
	conn->service = UROCE_UC;
	KUNIT_EXPECT_TRUE(test, uroce_resp_expects(conn, far));
	KUNIT_EXPECT_FALSE(test, uroce_resp_expects(conn, FIRST_PSN - 1));
}

/* The bit is set in each packet unless a migration is possible. */
static void conn_mig_req(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;
	int i;

	for (i = 0; i < 2; i++) {
		w->a.conn.mig = i ? 0 : UROCE_BTH_MIG;
		w->b.conn.mig = w->a.conn.mig;
		wire_post(w, IB_WR_SEND, 1);
		wire_run(w);
		KUNIT_ASSERT_NOT_NULL(test, skb_peek(&w->a.out));
		pkt.bth = (void *)skb_peek(&w->a.out)->data;
		KUNIT_EXPECT_EQ(test, pkt.bth->flags & UROCE_BTH_MIG, (int)w->a.conn.mig);
		wire_ask(w, -1);
		KUNIT_ASSERT_NOT_NULL(test, skb_peek(&w->b.out));
		pkt.bth = (void *)skb_peek(&w->b.out)->data;
		KUNIT_EXPECT_EQ(test, pkt.bth->flags & UROCE_BTH_MIG, (int)w->b.conn.mig);
		wire_settle(w);
	}
	wire_expect_done(test, 2);
}

/*
 * Requests that the peer has not acknowledged are sent again, with as many retries and as much
 * time as on the former path.
 */
static void conn_again(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;

	IN_BOTTOM_HALF(uroce_req_again(&w->a.conn));
	KUNIT_EXPECT_FALSE(test, w->a.conn.req.went_back);
	wire_post(w, IB_WR_SEND, 2 * MTU);
	wire_run(w);
	wire_lose(&w->a.out, -1);
	req->tries = 0;
	WRITE_ONCE(req->expired, true);
	IN_BOTTOM_HALF(uroce_req_again(&w->a.conn));
	KUNIT_EXPECT_EQ(test, req->tries, req->retry_cnt);
	KUNIT_EXPECT_FALSE(test, req->expired);
	KUNIT_EXPECT_EQ(test, timer_pending(&req->timer), (int)!!req->timeout);
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_TIMEOUTS], 0u);
}

/* The program has turned the ACK timer off: on the new path it does not run either. */
static void conn_again_without_timer(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;

	wire_post(w, IB_WR_SEND, 2 * MTU);
	wire_run(w);
	wire_lose(&w->a.out, -1);
	KUNIT_EXPECT_TRUE(test, timer_pending(&req->timer));
	req->timeout = 0;
	IN_BOTTOM_HALF(uroce_req_again(&w->a.conn));
	KUNIT_EXPECT_FALSE(test, timer_pending(&req->timer));
	wire_run(w);
	wire_settle(w);
	wire_expect_done(test, 1);
}

static struct kunit_case expect_cases[] = {
	KUNIT_CASE(conn_migrates),
	KUNIT_CASE(conn_migrates_at_once),
	KUNIT_CASE(conn_not_ready_stays),
	KUNIT_CASE(conn_expected_answers),
	KUNIT_CASE(conn_expected_requests),
	KUNIT_CASE(conn_mig_req),
	KUNIT_CASE(conn_again),
	KUNIT_CASE(conn_again_without_timer),
	{}
};

static struct kunit_suite expect_suite = {
	.name = "univ_uroce_expect",
	.init = wire_init,
	.exit = wire_exit,
	.test_cases = expect_cases,
};

kunit_test_suite(expect_suite);
