// SPDX-License-Identifier: GPL-2.0
/*
 * Two connected uroce connections, step by step. Packets stay in a queue until the test
 * delivers, drops or repeats them. The test calls the timers' functions itself.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/skbuff.h>
#include <linux/string.h>

#include "../../kernel/uroce/conn/resp.h"
#include "bh.h"

#define MTU	256
#define MSGS	8
#define BYTES	(16 * MTU)
#define RKEY	0x1234
#define BAD_SOURCE BYTES	/* remote address of a request whose local memory is invalid */
#define FIRST_PSN 0xfffffe	/* PSNs wrap soon */
#define SRQS	4		/* XRC: SRQ numbers below exist, except 0 */

/* One end, and the calls that its operations have recorded. */
struct end {
	struct uroce_conn conn;
	struct uroce_response responses[2];
	struct sk_buff_head out;	/* requests of end a; responses of end b */
	struct uroce_msg msg[MSGS];
	enum ib_wc_status status[MSGS];
	u32 completed;
	u8 bytes[BYTES];
	u32 recvs;			/* receive requests left */
	u32 received;
	u32 atomics;
	u64 found;			/* value found by the last remote atomic */
	u32 held;			/* number of times that a region to invalidate is in use */
	u32 invalidated;
	u32 event;
	bool broken;
	bool full;			/* no more packets may be sent now */
	bool together;			/* packets wait for flush; others may join them */
	u32 aimed;			/* XRC: SRQ number of the latest request */
	u32 taken[SRQS];		/* indexed by SRQ number */
	u32 reads[SRQS];
	u32 counts[UROCE_COUNTERS];
};

struct wire {
	struct end a;			/* requester */
	struct end b;			/* responder */
};

static struct end *end_of(struct uroce_conn *conn)
{
	return container_of(conn, struct end, conn);
}

/* ---- Operations of the connections ------------------------------------------- */

static struct uroce_msg *end_msg(struct uroce_conn *conn, u32 index)
{
	return &end_of(conn)->msg[index % MSGS];
}

/* struct uroce_msg has no local key, so the remote address marks a request without memory. */
static int end_gather(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		      void *to, u32 len)
{
	if (msg->va == BAD_SOURCE)
		return IB_WC_LOC_PROT_ERR;
	memcpy(to, end_of(conn)->bytes + offset, len);
	return 0;
}

static int end_attach(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		      struct sk_buff *skb, u32 len)
{
	return -EOPNOTSUPP;
}

static int end_scatter(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		       const struct uroce_packet *pkt)
{
	const struct uroce_atomic_ack *ack;
	struct end *end = end_of(conn);

	if (uroce_msg_is_atomic(msg)) {
		ack = (void *)((u8 *)(pkt->bth + 1) + sizeof(struct uroce_aeth));
		end->found = be64_to_cpu(ack->orig);
		return 0;
	}
	return skb_copy_bits(pkt->skb, pkt->payload, end->bytes + offset, pkt->len) ?
		IB_WC_LOC_PROT_ERR : 0;
}

/* Invalidate a region, for a request of either end. */
static int end_give_up(struct end *end)
{
	if (end->held) {
		end->held--;
		return -EAGAIN;
	}
	end->invalidated++;
	return 0;
}

static int end_local(struct uroce_conn *conn, struct uroce_msg *msg)
{
	return end_give_up(end_of(conn));
}

static void end_done(struct uroce_conn *conn, struct uroce_msg *msg,
		     enum ib_wc_status status)
{
	struct end *end = end_of(conn);

	end->status[end->completed++ % MSGS] = status;
}

static int end_aim(struct uroce_conn *conn, u32 srqn)
{
	if (!srqn || srqn >= SRQS)
		return IB_WC_REM_INV_REQ_ERR;
	end_of(conn)->aimed = srqn;
	return 0;
}

static int end_take(struct uroce_conn *conn)
{
	struct end *end = end_of(conn);

	if (!end->recvs)
		return -ENOENT;
	end->recvs--;
	end->taken[end->aimed]++;
	return 0;
}

static int end_place(struct uroce_conn *conn, u32 offset,
		     const struct uroce_packet *pkt)
{
	if (offset > BYTES || pkt->len > BYTES - offset)
		return IB_WC_LOC_LEN_ERR;
	skb_copy_bits(pkt->skb, pkt->payload, end_of(conn)->bytes + offset, pkt->len);
	return 0;
}

static void end_received(struct uroce_conn *conn, const struct ib_wc *wc,
			 bool solicited)
{
	end_of(conn)->received++;
}

static int end_check(struct uroce_conn *conn, u32 rkey, u64 va, u32 len, int access)
{
	return rkey != RKEY || va > BYTES || len > BYTES - va;
}

static int end_write(struct uroce_conn *conn, u32 rkey, u64 va,
		     const struct uroce_packet *pkt)
{
	if (end_check(conn, rkey, va, pkt->len, IB_ACCESS_REMOTE_WRITE))
		return IB_WC_REM_ACCESS_ERR;
	return end_place(conn, va, pkt);
}

static int end_read(struct uroce_conn *conn, u32 rkey, u64 va, void *to, u32 len)
{
	if (end_check(conn, rkey, va, len, IB_ACCESS_REMOTE_READ))
		return IB_WC_REM_ACCESS_ERR;
	memcpy(to, end_of(conn)->bytes + va, len);
	end_of(conn)->reads[end_of(conn)->aimed]++;
	return 0;
}

static int end_atomic(struct uroce_conn *conn, u32 rkey, u64 va, bool swap,
		      u64 compare, u64 operand, u64 *orig)
{
	struct end *end = end_of(conn);
	u64 value;

	if (end_check(conn, rkey, va, sizeof(value), IB_ACCESS_REMOTE_ATOMIC))
		return IB_WC_REM_ACCESS_ERR;
	memcpy(orig, end->bytes + va, sizeof(*orig));
	value = swap ? operand : *orig + operand;
	if (!swap || *orig == compare)
		memcpy(end->bytes + va, &value, sizeof(value));
	end->atomics++;
	return 0;
}

static int end_invalidate(struct uroce_conn *conn, u32 rkey)
{
	return end_give_up(end_of(conn));
}

static void end_broken(struct uroce_conn *conn, u32 event)
{
	end_of(conn)->broken = true;
	end_of(conn)->event = event;
}

static void end_established(struct uroce_conn *conn)
{
}

static void end_count(struct uroce_conn *conn, enum uroce_counter what)
{
	end_of(conn)->counts[what]++;
}

static bool end_room(struct uroce_conn *conn, bool response)
{
	return end_of(conn)->together || !end_of(conn)->full;
}

static int end_xmit(struct uroce_conn *conn, struct sk_buff *skb, bool response)
{
	skb_put_zero(skb, UROCE_ICRC_SIZE);
	skb_queue_tail(&end_of(conn)->out, skb);
	end_of(conn)->together = true;
	return 0;
}

static int end_flush(struct uroce_conn *conn, bool response)
{
	end_of(conn)->together = false;
	return 0;
}

static void end_rerun(struct uroce_conn *conn, bool response)
{
}

static const struct uroce_conn_ops end_ops = {
	.msg = end_msg,
	.gather = end_gather,
	.attach = end_attach,
	.scatter = end_scatter,
	.local = end_local,
	.done = end_done,
	.aim = end_aim,
	.take = end_take,
	.place = end_place,
	.received = end_received,
	.check = end_check,
	.write = end_write,
	.read = end_read,
	.atomic = end_atomic,
	.invalidate = end_invalidate,
	.broken = end_broken,
	.established = end_established,
	.count = end_count,
	.room = end_room,
	.xmit = end_xmit,
	.flush = end_flush,
	.rerun = end_rerun,
};

/* ---- The wire ----------------------------------------------------------------- */

static void end_init(struct end *end, u8 seed)
{
	struct uroce_conn *conn = &end->conn;

	skb_queue_head_init(&end->out);
	memset(end->bytes, seed, BYTES);
	uroce_conn_init(conn, &end_ops, UROCE_RC);
	conn->mtu = MTU;
	conn->pkey = 0xffff;
	conn->resp.limit = ARRAY_SIZE(end->responses);
	conn->resp.responses = end->responses;
	conn->resp.access = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
			    IB_ACCESS_REMOTE_ATOMIC;
	conn->req.retry_cnt = 2;
	conn->req.rnr_retry = 2;
	conn->req.max_reads = 2;
	/* The timer never fires by itself. */
	conn->req.timeout = MAX_JIFFY_OFFSET / 2;
	uroce_req_start(conn, FIRST_PSN);
	uroce_resp_start(conn, FIRST_PSN);
}

static int conn_init(struct kunit *test)
{
	struct wire *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w);
	end_init(&w->a, 0xaa);
	end_init(&w->b, 0xbb);
	w->b.recvs = 2 * MSGS;
	test->priv = w;
	return 0;
}

static void conn_exit(struct kunit *test)
{
	struct wire *w = test->priv;

	uroce_req_halt(&w->a.conn);
	uroce_resp_halt(&w->b.conn);
	uroce_conn_stop(&w->a.conn);
	uroce_conn_stop(&w->b.conn);
	skb_queue_purge(&w->a.out);
	skb_queue_purge(&w->b.out);
}

static void run(struct wire *w)
{
	IN_BOTTOM_HALF(uroce_req_run(&w->a.conn, w->a.conn.req.posted));
}

static struct uroce_msg *post(struct wire *w, enum ib_wr_opcode op, u32 length)
{
	struct uroce_requester *req = &w->a.conn.req;
	struct uroce_msg *msg = &w->a.msg[req->posted % MSGS];

	*msg = (struct uroce_msg){ .op = op, .length = length, .rkey = RKEY };
	req->posted++;
	return msg;
}

/* Return the next packet of a queue, parsed, or NULL if there is none. */
static struct sk_buff *next(struct sk_buff_head *queue, struct uroce_packet *pkt)
{
	*pkt = (struct uroce_packet){ .skb = skb_dequeue(queue) };
	if (pkt->skb && !uroce_packet_parse(pkt, 0)) {
		kfree_skb(pkt->skb);
		pkt->skb = NULL;
	}
	return pkt->skb;
}

static int lose(struct sk_buff_head *queue, int n)
{
	struct uroce_packet pkt;

	for (; n && next(queue, &pkt); n--)
		kfree_skb(pkt.skb);
	return n;
}

/* Deliver up to @n requests to the other end; all of them if @n is -1. */
static void ask(struct wire *w, int n)
{
	struct uroce_packet pkt;

	for (; n && next(&w->a.out, &pkt); n--) {
		IN_BOTTOM_HALF(uroce_resp_receive(&w->b.conn, &pkt));
		kfree_skb(pkt.skb);
	}
}

/* Deliver up to @n responses to the requester; all of them if @n is -1. */
static void tell(struct wire *w, int n)
{
	struct uroce_packet pkt;

	for (; n && next(&w->b.out, &pkt); n--) {
		IN_BOTTOM_HALF(uroce_comp_receive(&w->a.conn, &pkt));
		run(w);
		kfree_skb(pkt.skb);
	}
}

static void settle(struct wire *w)
{
	int i;

	for (i = 0; i < 100 && (!skb_queue_empty(&w->a.out) ||
				!skb_queue_empty(&w->b.out)); i++) {
		ask(w, -1);
		tell(w, -1);
	}
}

static void expire(struct wire *w)
{
	timer_delete_sync(&w->a.conn.req.timer);
	w->a.conn.req.expired = true;
	run(w);
}

/* The wait after an RNR NAK is over. */
static void end_wait(struct wire *w)
{
	hrtimer_cancel(&w->a.conn.req.soon);
	w->a.conn.req.ready_at = 0;
	run(w);
}

static void expect_done(struct kunit *test, u32 n)
{
	struct wire *w = test->priv;
	u32 i;

	KUNIT_EXPECT_EQ(test, w->a.completed, n);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, (int)w->a.status[i], (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, w->b.broken);
}

static void expect_packet(struct kunit *test, struct sk_buff_head *queue, u8 opcode,
			  u32 psn)
{
	struct uroce_packet pkt;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, next(queue, &pkt));
	KUNIT_EXPECT_EQ(test, (int)pkt.bth->opcode, (int)opcode);
	KUNIT_EXPECT_EQ(test, pkt.psn, psn & UROCE_PSN_MASK);
	kfree_skb(pkt.skb);
}

/* ---- Tests -------------------------------------------------------------------- */

static void conn_packets(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_SEND, 3 * MTU - 1);
	post(w, IB_WR_SEND_WITH_IMM, 0);
	run(w);
	expect_packet(test, &w->a.out, UROCE_SEND_FIRST, FIRST_PSN);
	expect_packet(test, &w->a.out, UROCE_SEND_MIDDLE, FIRST_PSN + 1);
	expect_packet(test, &w->a.out, UROCE_SEND_LAST, FIRST_PSN + 2);
	expect_packet(test, &w->a.out, UROCE_SEND_ONLY_IMM, FIRST_PSN + 3);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
}

static void conn_good(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_SEND, 3 * MTU - 1);
	post(w, IB_WR_RDMA_WRITE, 5 * MTU);
	run(w);
	settle(w);
	expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	KUNIT_EXPECT_EQ(test, (int)w->b.bytes[5 * MTU - 1], 0xaa);
	KUNIT_EXPECT_EQ(test, (int)w->b.bytes[5 * MTU], 0xbb);
}

static void conn_request_lost(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_SEND, 4 * MTU);
	run(w);
	ask(w, 1);
	lose(&w->a.out, 1);
	ask(w, -1);
	/* One response is sent for the two packets that arrived too early. */
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	tell(w, -1);
	expect_packet(test, &w->a.out, UROCE_SEND_MIDDLE, FIRST_PSN + 1);
	expire(w);
	settle(w);
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
}

static void conn_answer_lost(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_SEND, 2 * MTU);
	run(w);
	ask(w, -1);
	lose(&w->b.out, -1);
	KUNIT_EXPECT_EQ(test, w->a.completed, 0u);
	expire(w);
	settle(w);
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_DUPLICATES], 2u);
}

/* Drop every packet: as many are sent as there are retries, and then the request fails. */
static void expect_tries(struct kunit *test)
{
	struct wire *w = test->priv;
	int sent = 0;

	while (!w->a.completed && sent < 10) {
		KUNIT_EXPECT_EQ(test, lose(&w->a.out, 1), 0);
		sent++;
		expire(w);
	}
	KUNIT_EXPECT_EQ(test, sent, 1 + w->a.conn.req.retry_cnt);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_RETRY_EXC_ERR);
}

static void conn_tries(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_SEND, 1);
	run(w);
	expect_tries(test);
}

static void conn_not_ready(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.recvs = 0;
	post(w, IB_WR_SEND, 1);
	run(w);
	settle(w);
	KUNIT_EXPECT_TRUE(test, w->a.conn.req.waiting);
	w->b.recvs = 1;
	end_wait(w);
	settle(w);
	expect_done(test, 1);
}

/*
 * If the packet that the requester repeats after an RNR wait is lost, the responder
 * sends a NAK at once.
 */
static void conn_not_ready_lost(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.recvs = 0;
	w->b.conn.resp.rnr_timer = 0;	/* 655 ms */
	post(w, IB_WR_SEND, 3 * MTU);
	run(w);
	ask(w, 1);
	w->b.conn.resp.patience = U64_MAX; /* never expires, however slow the machine is */
	ask(w, -1);
	/* The two packets behind the first get no response: they were already under way. */
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	tell(w, -1);
	w->b.recvs = 1;
	w->b.conn.resp.patience = 1;	/* the wait is over */
	end_wait(w);
	lose(&w->a.out, 1);
	ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	settle(w);
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_TIMEOUTS], 0u);
}

static void conn_never_ready(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	w->b.recvs = 0;
	post(w, IB_WR_SEND, 1);
	run(w);
	for (i = 0; i < 10 && !w->a.completed; i++) {
		settle(w);
		end_wait(w);
	}
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_RNR_SENT], 1u + w->a.conn.req.rnr_retry);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_RNR_RETRY_EXC_ERR);
}

/* The wait is as long as the peer asks for, and the timer of a lost packet does not end it. */
static void conn_not_ready_wait(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	u64 before = ktime_get_ns();

	w->b.recvs = 0;
	w->b.conn.resp.rnr_timer = 31;	/* 491.52 ms */
	post(w, IB_WR_SEND, 1);
	run(w);
	settle(w);
	KUNIT_EXPECT_GE(test, req->ready_at, before + 491520000);
	KUNIT_EXPECT_LE(test, req->ready_at, (u64)ktime_get_ns() + 491520000);
	KUNIT_EXPECT_FALSE(test, timer_pending(&req->timer));
	req->ready_at = U64_MAX;	/* never ends, however slow the machine is */
	expire(w);
	KUNIT_EXPECT_TRUE(test, req->waiting);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_TIMEOUTS], 0u);
	w->b.recvs = 1;
	end_wait(w);
	settle(w);
	expect_done(test, 1);
}

/* Without a limit of retries, waits of 10 microseconds grow until they last 1.28 ms. */
static void conn_not_ready_grows(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	u64 before;
	int i;

	w->b.recvs = 0;
	w->b.conn.resp.rnr_timer = 1;
	req->rnr_retry = 7;
	req->rnr_tries = 7;
	post(w, IB_WR_SEND, 1);
	run(w);
	for (i = 0; i < 20; i++) {
		before = ktime_get_ns();
		settle(w);
		KUNIT_EXPECT_GE(test, req->ready_at, before + (10000 << min(i + 1, 7)));
		KUNIT_EXPECT_LE(test, req->ready_at, (u64)ktime_get_ns() + 1280000);
		end_wait(w);
	}
	w->b.recvs = 1;
	settle(w);
	end_wait(w);
	settle(w);
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, req->rnr_waits, (u8)0);
}

static void conn_read_lost(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_RDMA_READ, 5 * MTU);
	run(w);
	expect_packet(test, &w->a.out, UROCE_READ_REQUEST, FIRST_PSN);
	expire(w);
	ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 5u);
	tell(w, 2);
	lose(&w->b.out, 1);
	tell(w, -1);
	/* The requester asks for the missing part, starting at the first missing packet. */
	ask(w, -1);
	expect_packet(test, &w->b.out, UROCE_READ_FIRST, FIRST_PSN + 2);
	expire(w);
	settle(w);
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, (int)w->a.bytes[5 * MTU - 1], 0xbb);
	KUNIT_EXPECT_EQ(test, (int)w->a.bytes[5 * MTU], 0xaa);
}

static void conn_atomic_once(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_ATOMIC_FETCH_AND_ADD, sizeof(u64));
	run(w);
	ask(w, -1);
	lose(&w->b.out, -1);
	expire(w);
	settle(w);
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.atomics, 1u);
}

static struct uroce_msg *post_atomic(struct wire *w, enum ib_wr_opcode op, u64 compare_add,
				     u64 swap)
{
	struct uroce_msg *msg = post(w, op, sizeof(u64));

	msg->va = 8;
	msg->compare_add = compare_add;
	msg->swap = swap;
	return msg;
}

static u64 value_there(struct wire *w)
{
	u64 value;

	memcpy(&value, w->b.bytes + 8, sizeof(value));
	return value;
}

/* The responder gets the requested operands, and the old value comes back. */
static void conn_atomic_operands(struct kunit *test)
{
	struct wire *w = test->priv;
	const u64 before = value_there(w);

	post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 0x100000003ull, 0);
	run(w);
	settle(w);
	KUNIT_EXPECT_EQ(test, w->a.found, before);
	KUNIT_EXPECT_EQ(test, value_there(w), before + 0x100000003ull);
	post_atomic(w, IB_WR_ATOMIC_CMP_AND_SWP, before, 7);
	run(w);
	settle(w);
	KUNIT_EXPECT_EQ(test, w->a.found, before + 0x100000003ull);
	KUNIT_EXPECT_EQ(test, value_there(w), before + 0x100000003ull);
	post_atomic(w, IB_WR_ATOMIC_CMP_AND_SWP, before + 0x100000003ull, 7);
	run(w);
	settle(w);
	KUNIT_EXPECT_EQ(test, value_there(w), 7ull);
	expect_done(test, 3);
}

/* The last packet that is sent requests an acknowledgement, also before local operations. */
static void conn_asks_before_local(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_SEND, 2 * MTU);
	post(w, IB_WR_LOCAL_INV, 0);
	post(w, IB_WR_BIND_MW, 0);
	run(w);
	KUNIT_EXPECT_EQ(test, w->a.invalidated, 2u);
	settle(w);
	expect_done(test, 3);
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_DUPLICATES], 0u);
}

/* A request without valid memory does not leave earlier requests waiting for a timer. */
static void conn_asks_before_bad(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.req.retry_cnt = 0;
	w->a.conn.req.tries = 0;
	post(w, IB_WR_RDMA_WRITE, 2 * MTU);
	post(w, IB_WR_RDMA_WRITE, MTU)->va = BAD_SOURCE;
	run(w);
	settle(w);
	KUNIT_EXPECT_EQ(test, w->a.completed, 2u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[1], (int)IB_WC_LOC_PROT_ERR);
	/* One repetition is enough. */
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_DUPLICATES], 1u);
}

/* Expect an ACK of the responder, and drop it. */
static void expect_ack(struct kunit *test, u32 psn)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, next(&w->b.out, &pkt));
	KUNIT_EXPECT_EQ(test, (int)pkt.bth->opcode, (int)UROCE_ACKNOWLEDGE);
	KUNIT_EXPECT_EQ(test, pkt.psn, psn & UROCE_PSN_MASK);
	kfree_skb(pkt.skb);
}

/*
 * A write is repeated because its ACK was lost, and the response to the request behind
 * it was lost as well. The new ACK must not carry the PSN of that later request,
 * because rdma_rxe would take it for the response.
 */
static void conn_ack_spares(struct kunit *test, enum ib_wr_opcode op, u32 length)
{
	struct wire *w = test->priv;
	int i;

	post(w, IB_WR_RDMA_WRITE, 1);
	post(w, op, length);
	run(w);
	ask(w, -1);
	lose(&w->b.out, -1);
	expire(w);
	ask(w, 1);
	expect_ack(test, FIRST_PSN);
	lose(&w->a.out, -1);
	for (i = 0; i < 2; i++) {
		expire(w);
		settle(w);
	}
	expect_done(test, 2);
}

static void conn_ack_spares_read(struct kunit *test)
{
	conn_ack_spares(test, IB_WR_RDMA_READ, 2 * MTU);
}

static void conn_ack_spares_atomic(struct kunit *test)
{
	conn_ack_spares(test, IB_WR_ATOMIC_FETCH_AND_ADD, sizeof(u64));
}

/* A request with a fence waits until the reads before it are answered. */
static void conn_fence(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_RDMA_READ, 1);
	post(w, IB_WR_SEND, 1)->fence = true;
	run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	settle(w);
	expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
}

/* A fence also holds back a local operation, which sends no packet. */
static void conn_fence_local(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_RDMA_READ, 1);
	post(w, IB_WR_LOCAL_INV, 0)->fence = true;
	run(w);
	KUNIT_EXPECT_EQ(test, w->a.invalidated, 0u);
	settle(w);
	KUNIT_EXPECT_EQ(test, w->a.invalidated, 1u);
	expect_done(test, 2);
}

/* No more reads and atomics are outstanding than the responder keeps responses for. */
static void conn_reads_at_once(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_RDMA_READ, 1);
	post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	post(w, IB_WR_RDMA_READ, 1);
	run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), w->a.conn.req.max_reads);
	settle(w);
	expect_done(test, 3);
}

/* An ACK of a PSN that was not sent yet completes nothing. */
static void conn_ack_of_unsent(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_SEND, 1);
	run(w);
	lose(&w->a.out, -1);
	uroce_resp_ack(&w->b.conn, UROCE_AETH_NO_CREDIT, w->a.conn.req.high);
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	tell(w, -1);
	KUNIT_EXPECT_EQ(test, w->a.completed, 0u);
	expire(w);
	settle(w);
	expect_done(test, 1);
}

/* A read response that is repeated long after the read has completed causes no retry. */
static void conn_answer_again(struct kunit *test)
{
	struct wire *w = test->priv;
	struct sk_buff *again;

	post(w, IB_WR_RDMA_READ, 3 * MTU);
	run(w);
	ask(w, -1);
	again = skb_copy(skb_peek(&w->b.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	settle(w);
	post(w, IB_WR_SEND, 1);
	run(w);
	skb_queue_tail(&w->b.out, again);
	tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	KUNIT_EXPECT_EQ(test, w->a.conn.req.tries, w->a.conn.req.retry_cnt);
	settle(w);
	expect_done(test, 2);
}

/* An unreliable message with a missing packet is lost; the messages behind it are not. */
static void conn_unreliable_hole(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.conn.service = UROCE_UC;
	w->b.conn.service = UROCE_UC;
	post(w, IB_WR_SEND, 3 * MTU);
	post(w, IB_WR_SEND, 2 * MTU);
	run(w);
	ask(w, 1);
	lose(&w->a.out, 1);
	ask(w, -1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	expect_done(test, 2);
}

/* Advance both ends as if @n packets had been sent, and their messages executed. */
static void skip_packets(struct wire *w, u32 n)
{
	struct uroce_requester *req = &w->a.conn.req;

	req->psn = uroce_psn_add(req->psn, n);
	req->free = req->psn;
	req->una = req->psn;
	req->high = req->psn;
	w->b.conn.resp.psn = req->psn;
}

/*
 * After PSNs have wrapped, an atomic with the PSN of an old one does not get the old
 * one's result.
 */
static void conn_atomic_forgotten(struct kunit *test)
{
	struct wire *w = test->priv;
	struct sk_buff *again;
	struct uroce_packet pkt;
	int i;

	post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	run(w);
	again = skb_copy(skb_peek(&w->a.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	settle(w);
	for (i = 0; i < 8; i++) {
		skip_packets(w, 1 << 21);
		post(w, IB_WR_SEND, 0);
		run(w);
		settle(w);
	}
	KUNIT_EXPECT_EQ(test, w->a.completed, 9u);
	KUNIT_EXPECT_EQ(test, w->b.received, 8u);
	pkt = (struct uroce_packet){ .skb = again };
	KUNIT_ASSERT_TRUE(test, uroce_packet_parse(&pkt, 0));
	IN_BOTTOM_HALF(uroce_resp_receive(&w->b.conn, &pkt));
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.out));
	kfree_skb(again);
}

/*
 * The responder keeps as many responses as it has memory for. Growing the memory keeps
 * those present.
 */
static void conn_more_reads(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_response *more = kunit_kcalloc(test, 8, sizeof(*more), GFP_KERNEL);
	struct sk_buff *again;
	struct uroce_packet pkt;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, more);
	w->b.conn.resp.count = U32_MAX - 2;	/* wraps below */
	post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	run(w);
	again = skb_copy(skb_peek(&w->a.out), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, again);
	settle(w);
	KUNIT_EXPECT_PTR_EQ(test, uroce_resp_grow(&w->b.conn, more, 8),
			    (struct uroce_response *)w->b.responses);
	/* The response from before is still kept, and the rest of the room can be used. */
	pkt = (struct uroce_packet){ .skb = again };
	KUNIT_ASSERT_TRUE(test, uroce_packet_parse(&pkt, 0));
	IN_BOTTOM_HALF(uroce_resp_receive(&w->b.conn, &pkt));
	KUNIT_EXPECT_EQ(test, lose(&w->b.out, 1), 0);
	kfree_skb(again);
	w->a.conn.req.max_reads = 8;
	w->b.full = true;
	for (i = 0; i < 7; i++)
		post(w, IB_WR_RDMA_READ, 2 * MTU);
	run(w);
	ask(w, -1);
	w->b.full = false;
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	settle(w);
	expect_done(test, 8);
	KUNIT_EXPECT_EQ(test, w->b.atomics, 1u);
}

/* Requests before a refused request are answered before it is. */
static void conn_refused(struct kunit *test)
{
	struct wire *w = test->priv;

	post(w, IB_WR_RDMA_READ, 3 * MTU);
	post(w, IB_WR_RDMA_WRITE, 1)->rkey = RKEY + 1;
	post(w, IB_WR_SEND, 1);
	run(w);
	settle(w);
	KUNIT_EXPECT_EQ(test, w->a.completed, 2u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[1], (int)IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_TRUE(test, w->b.broken);
	KUNIT_EXPECT_EQ(test, w->b.event, (u32)IB_EVENT_QP_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, w->b.received, 0u);
}

/* On a slow machine the timer may have fired already, so check that it was ever started. */
static bool was_started(const struct hrtimer *timer)
{
	return hrtimer_get_expires(timer) != 0;
}

/*
 * A request waits for a copy from a region that is being invalidated, and no request
 * overtakes it.
 */
static void conn_held_here(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.held = 2;
	post(w, IB_WR_LOCAL_INV, 0);
	post(w, IB_WR_SEND, 1);
	run(w);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->a.out));
	KUNIT_EXPECT_TRUE(test, was_started(&w->a.conn.req.soon));
	run(w);
	KUNIT_EXPECT_EQ(test, w->a.completed, 0u);
	run(w);
	KUNIT_EXPECT_EQ(test, w->a.invalidated, 1u);
	settle(w);
	expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
}

/* The same at the responder: the message is delivered once, when it is repeated. */
static void conn_held_there(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.held = 1;
	post(w, IB_WR_SEND_WITH_INV, 2 * MTU);
	run(w);
	settle(w);
	KUNIT_EXPECT_EQ(test, w->b.received, 0u);
	KUNIT_EXPECT_EQ(test, w->a.completed, 0u);
	expire(w);
	settle(w);
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.received, 1u);
	KUNIT_EXPECT_EQ(test, w->b.invalidated, 1u);
	KUNIT_EXPECT_EQ(test, w->b.recvs, 2u * MSGS - 1);
}

/*
 * The responder sends one CNP for many marked packets; the requester halves its window
 * once for many.
 */
static void conn_congestion(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;
	u32 before;
	int i;

	post(w, IB_WR_SEND, 4 * MTU);
	run(w);
	before = w->a.conn.req.window;
	for (i = 0; i < 3; i++)
		IN_BOTTOM_HALF(uroce_resp_congested(&w->b.conn));
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_ECN_MARKED], 3u);
	KUNIT_EXPECT_GE(test, w->b.counts[UROCE_CNT_CNP_SENT], 1u);
	while (next(&w->b.out, &pkt)) {
		KUNIT_EXPECT_EQ(test, (int)pkt.bth->opcode, UROCE_CNP);
		KUNIT_EXPECT_TRUE(test, pkt.bth->qpn & cpu_to_be32(UROCE_BTH_BECN));
		KUNIT_EXPECT_TRUE(test, uroce_conn_accepts(&w->a.conn, &pkt));
		IN_BOTTOM_HALF(uroce_comp_receive(&w->a.conn, &pkt));
		kfree_skb(pkt.skb);
	}
	KUNIT_EXPECT_EQ(test, w->a.conn.req.window, before / 2);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_CNP_HANDLED],
			w->b.counts[UROCE_CNT_CNP_SENT]);
	settle(w);
	expect_done(test, 1);
}

static void conn_window(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_requester *req = &w->a.conn.req;
	u32 before = req->window;
	int i;

	uroce_window_gain(req, 10);
	KUNIT_EXPECT_EQ(test, req->window, before + 10);
	req->high = uroce_psn_add(req->una, 20);
	uroce_window_cut(req);
	KUNIT_EXPECT_EQ(test, req->window, (before + 10) / 2);
	/* Further losses of the same packets do not cut the window again. */
	uroce_window_cut(req);
	KUNIT_EXPECT_EQ(test, req->window, (before + 10) / 2);
	before = req->window;
	uroce_window_gain(req, before - 1);
	KUNIT_EXPECT_EQ(test, req->window, before);
	uroce_window_gain(req, 1);
	KUNIT_EXPECT_EQ(test, req->window, before + 1);
	uroce_window_close(req);
	KUNIT_EXPECT_LT(test, req->window, 4u);
	/* A loss also counts after more than 2^23 packets without a loss. */
	for (i = 0; i < 3; i++) {
		req->una = uroce_psn_add(req->una, 1 << 22);
		uroce_window_gain(req, 100);
	}
	req->high = uroce_psn_add(req->una, 20);
	before = req->window;
	uroce_window_cut(req);
	KUNIT_EXPECT_EQ(test, req->window, before / 2);
	req->high = req->una;
}

/* Send all single packets but the last, whose PSN is @psn. Return the PSN at which runs begin. */
static u32 last_alone(struct kunit *test, struct uroce_care *care, u32 psn)
{
	care->left = 1;
	KUNIT_EXPECT_TRUE(test, uroce_care_alone(care, psn));
	KUNIT_EXPECT_FALSE(test, uroce_care_alone(care, uroce_psn_add(psn, 1)));
	return uroce_psn_add(psn, 1);
}

/*
 * If runs are lost each time they resume, they resume after ever more packets; other
 * losses have no such effect.
 */
static void conn_care(struct kunit *test)
{
	struct uroce_care care = {};
	u32 psn = FIRST_PSN, i;

	for (i = 1; i <= 16; i++) {
		uroce_care_begin(&care, psn);
		KUNIT_EXPECT_EQ(test, care.left, min(1024u << (i - 1), 1u << 21));
		psn = last_alone(test, &care, uroce_psn_add(psn, i % 2 ? 1023 : 700));
		/* The first run arrives. */
		psn = uroce_psn_add(psn, 1);
	}
	/*
	 * The span stays when a packet is lost that is to go alone, when a later one is
	 * lost, and when one is lost that has gone alone.
	 */
	uroce_care_begin(&care, psn);
	uroce_care_begin(&care, uroce_psn_add(psn, 2000));
	KUNIT_EXPECT_EQ(test, care.left, 1u << 21);
	psn = last_alone(test, &care, psn);
	uroce_care_begin(&care, uroce_psn_add(psn, -1));
	KUNIT_EXPECT_EQ(test, care.left, 1u << 21);
	/* A loss after runs that arrived starts from the beginning. */
	psn = last_alone(test, &care, psn);
	uroce_care_begin(&care, uroce_psn_add(psn, 100));
	KUNIT_EXPECT_EQ(test, care.left, 1024u);
}

/* The queues on the route are full of other traffic: one packet is sent at a time and awaited. */
static void conn_full(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.full = true;
	post(w, IB_WR_RDMA_WRITE, 3 * MTU);
	run(w);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 1u);
	/* The timers wait for room and for a response. */
	KUNIT_EXPECT_TRUE(test, was_started(&w->a.conn.req.soon));
	KUNIT_EXPECT_LE(test, hrtimer_get_remaining(&w->a.conn.req.soon), (s64)NSEC_PER_MSEC);
	KUNIT_EXPECT_TRUE(test, timer_pending(&w->a.conn.req.timer));
	settle(w);
	expect_done(test, 1);
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_DUPLICATES], 0u);
}

/*
 * If the queues stay full and no response arrives, the request fails, and does not wait
 * for ever.
 */
static void conn_full_for_ever(struct kunit *test)
{
	struct wire *w = test->priv;

	w->a.full = true;
	post(w, IB_WR_SEND, 2 * MTU);
	run(w);
	expect_tries(test);
}

/* A read response waits for room no longer than a request does, and always sends one packet. */
static void conn_full_there(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.full = true;
	post(w, IB_WR_RDMA_READ, 3 * MTU);
	run(w);
	ask(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
	KUNIT_EXPECT_TRUE(test, was_started(&w->b.conn.resp.soon));
	KUNIT_EXPECT_LE(test, hrtimer_get_remaining(&w->b.conn.resp.soon), (s64)NSEC_PER_MSEC);
	w->b.full = false;
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	settle(w);
	expect_done(test, 1);
}

/*
 * The responder never finds room: for each request one packet is sent, as an ACK would
 * be, and the requester asks again for the rest.
 */
static void conn_full_there_for_ever(struct kunit *test)
{
	struct wire *w = test->priv;
	int i;

	w->b.full = true;
	w->a.conn.req.retry_cnt = 1;
	post(w, IB_WR_RDMA_READ, 5 * MTU);
	run(w);
	for (i = 0; i < 5; i++) {
		ask(w, -1);
		KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
		IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
		KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 1u);
		tell(w, -1);
		expire(w);
	}
	post_atomic(w, IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	run(w);
	settle(w);
	expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, (int)w->a.bytes[5 * MTU - 1], 0xbb);
	KUNIT_EXPECT_EQ(test, w->b.atomics, 1u);
}

/* Run as the timer would. Return the least number of nanoseconds until the timer runs again. */
static s64 soon_again(struct wire *w)
{
	struct hrtimer *timer = &w->a.conn.req.soon;
	ktime_t before;

	hrtimer_cancel(timer);
	before = ktime_get();
	run(w);
	return ktime_to_ns(ktime_sub(hrtimer_get_expires(timer), before));
}

/* A requester that finds no room retries at growing intervals, until a packet is sent. */
static void conn_full_long(struct kunit *test)
{
	struct wire *w = test->priv;
	s64 wait;
	int i;

	w->a.full = true;
	post(w, IB_WR_RDMA_WRITE, 3 * MTU);
	run(w);
	for (i = 1; i <= 6; i++) {
		wait = UROCE_SOON_NS << min(i, 4);
		KUNIT_EXPECT_GE(test, soon_again(w), wait);
		KUNIT_EXPECT_LE(test, hrtimer_get_remaining(&w->a.conn.req.soon), wait);
	}
	w->a.full = false;
	run(w);
	w->a.full = true;
	post(w, IB_WR_RDMA_WRITE, MTU);
	run(w);
	KUNIT_EXPECT_LE(test, hrtimer_get_remaining(&w->a.conn.req.soon),
			(s64)UROCE_SOON_NS);
}

/* Post @n requests one by one, and return the number of packets that were sent. */
static u32 sent_of(struct wire *w, int n, enum ib_wr_opcode op, u32 length)
{
	u32 before = skb_queue_len(&w->a.out);

	while (n--) {
		post(w, op, length);
		run(w);
	}
	return skb_queue_len(&w->a.out) - before;
}

/* A requester that posts many small requests sends later ones together. */
static void conn_gathers(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.recvs = 100;
	KUNIT_EXPECT_EQ(test, sent_of(w, 8, IB_WR_SEND, 64), 8u);
	ask(w, 4);
	tell(w, -1);
	KUNIT_EXPECT_EQ(test, w->a.completed, 4u);
	/* With requests under way, three more wait for others, or for a response. */
	KUNIT_EXPECT_EQ(test, sent_of(w, 3, IB_WR_SEND, 64), 0u);
	ask(w, -1);
	tell(w, -1);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->a.out), 3u);
	settle(w);
	KUNIT_EXPECT_EQ(test, w->a.completed, 11u);
	KUNIT_EXPECT_EQ(test, w->b.received, 11u);
	/* A requester that posts one by one has each request sent at once. */
	KUNIT_EXPECT_EQ(test, sent_of(w, 2, IB_WR_SEND, 64), 2u);
	settle(w);
}

/*
 * These requests do not wait: a few at a time with a pause, a read, and requests
 * without a timeout.
 */
static void conn_gathers_not(struct kunit *test)
{
	struct wire *w = test->priv;

	w->b.recvs = 100;
	KUNIT_EXPECT_EQ(test, sent_of(w, 4, IB_WR_SEND, 64), 4u);
	settle(w);
	post(w, IB_WR_SEND, 64);
	KUNIT_EXPECT_EQ(test, sent_of(w, 3, IB_WR_SEND, 64), 4u);
	KUNIT_EXPECT_EQ(test, sent_of(w, 1, IB_WR_RDMA_READ, 64), 1u);
	settle(w);
	w->a.conn.req.timeout = 0;
	post(w, IB_WR_SEND, 64);
	KUNIT_EXPECT_EQ(test, sent_of(w, 7, IB_WR_SEND, 64), 8u);
	ask(w, 4);
	tell(w, -1);
	KUNIT_EXPECT_EQ(test, sent_of(w, 3, IB_WR_SEND, 64), 3u);
	settle(w);
}

/* ---- XRC ---------------------------------------------------------------------- */

static void xrc(struct wire *w)
{
	w->a.conn.service = UROCE_XRC;
	w->b.conn.service = UROCE_XRC;
}

static void xrc_packets(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;
	int i;

	xrc(w);
	post(w, IB_WR_SEND, 2 * MTU)->srqn = 0x123456;
	post(w, IB_WR_RDMA_READ, MTU)->srqn = 0x123456;
	run(w);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, next(&w->a.out, &pkt));
		KUNIT_EXPECT_EQ(test, pkt.bth->opcode & UROCE_SERVICE,
				(int)UROCE_XRC);
		KUNIT_EXPECT_EQ(test, be32_to_cpup((__be32 *)(pkt.bth + 1)),
				0x123456u);
		kfree_skb(pkt.skb);
	}
}

/* Each message uses the SRQ that it names. */
static void xrc_choice(struct kunit *test)
{
	struct wire *w = test->priv;
	static const u32 srqn[] = { 2, 1, 3, 2 };
	u32 i;

	xrc(w);
	for (i = 0; i < ARRAY_SIZE(srqn); i++)
		post(w, i % 2 ? IB_WR_SEND : IB_WR_RDMA_WRITE_WITH_IMM,
		     3 * MTU)->srqn = srqn[i];
	run(w);
	settle(w);
	expect_done(test, ARRAY_SIZE(srqn));
	KUNIT_EXPECT_EQ(test, w->b.received, (u32)ARRAY_SIZE(srqn));
	KUNIT_EXPECT_EQ(test, w->b.taken[1], 1u);
	KUNIT_EXPECT_EQ(test, w->b.taken[2], 2u);
	KUNIT_EXPECT_EQ(test, w->b.taken[3], 1u);
}

/*
 * An error is reported in a receive completion if the message has taken one, or else by
 * an event.
 */
static void expect_invalid(struct kunit *test, bool shown)
{
	struct wire *w = test->priv;

	settle(w);
	KUNIT_EXPECT_TRUE(test, w->b.broken);
	KUNIT_EXPECT_EQ(test, w->b.event, shown ? 0 : (u32)IB_EVENT_QP_REQ_ERR);
	KUNIT_EXPECT_EQ(test, w->a.completed, 1u);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_REM_INV_REQ_ERR);
	KUNIT_EXPECT_EQ(test, w->b.received, shown ? 1u : 0u);
}

static void xrc_unknown(struct kunit *test)
{
	struct wire *w = test->priv;

	xrc(w);
	post(w, IB_WR_RDMA_WRITE, MTU)->srqn = SRQS;
	run(w);
	expect_invalid(test, false);
	KUNIT_EXPECT_EQ(test, (int)w->b.bytes[0], 0xbb);
}

/* A message that begins with one SRQ cannot continue with another. */
static void xrc_changed(struct kunit *test)
{
	struct wire *w = test->priv;
	struct uroce_packet pkt;

	xrc(w);
	post(w, IB_WR_SEND, 3 * MTU)->srqn = 1;
	run(w);
	ask(w, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, next(&w->a.out, &pkt));
	*(__be32 *)(pkt.bth + 1) = cpu_to_be32(2);
	IN_BOTTOM_HALF(uroce_resp_receive(&w->b.conn, &pkt));
	kfree_skb(pkt.skb);
	expect_invalid(test, true);
	KUNIT_EXPECT_EQ(test, (int)w->b.bytes[MTU], 0xbb);
	KUNIT_EXPECT_EQ(test, w->b.taken[2], 0u);
}

/* A read that is answered later is answered with the SRQ number of its own request. */
static void xrc_reads(struct kunit *test)
{
	struct wire *w = test->priv;

	xrc(w);
	w->b.full = true;
	post(w, IB_WR_RDMA_READ, MTU)->srqn = 3;
	post(w, IB_WR_RDMA_READ, 2 * MTU)->srqn = 1;
	run(w);
	ask(w, -1);
	KUNIT_EXPECT_EQ(test, w->b.aimed, 1u);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&w->b.out), 2u);
	w->b.full = false;
	IN_BOTTOM_HALF(uroce_resp_run(&w->b.conn));
	settle(w);
	expect_done(test, 2);
	KUNIT_EXPECT_EQ(test, w->b.reads[3], 1u);
	KUNIT_EXPECT_EQ(test, w->b.reads[1], 2u);
}

static struct kunit_case conn_cases[] = {
	KUNIT_CASE(conn_packets),
	KUNIT_CASE(conn_good),
	KUNIT_CASE(conn_request_lost),
	KUNIT_CASE(conn_answer_lost),
	KUNIT_CASE(conn_tries),
	KUNIT_CASE(conn_not_ready),
	KUNIT_CASE(conn_not_ready_lost),
	KUNIT_CASE(conn_never_ready),
	KUNIT_CASE(conn_not_ready_wait),
	KUNIT_CASE(conn_not_ready_grows),
	KUNIT_CASE(conn_read_lost),
	KUNIT_CASE(conn_atomic_once),
	KUNIT_CASE(conn_atomic_operands),
	KUNIT_CASE(conn_asks_before_local),
	KUNIT_CASE(conn_asks_before_bad),
	KUNIT_CASE(conn_atomic_forgotten),
	KUNIT_CASE(conn_ack_spares_read),
	KUNIT_CASE(conn_ack_spares_atomic),
	KUNIT_CASE(conn_more_reads),
	KUNIT_CASE(conn_fence),
	KUNIT_CASE(conn_fence_local),
	KUNIT_CASE(conn_reads_at_once),
	KUNIT_CASE(conn_ack_of_unsent),
	KUNIT_CASE(conn_answer_again),
	KUNIT_CASE(conn_unreliable_hole),
	KUNIT_CASE(conn_refused),
	KUNIT_CASE(conn_held_here),
	KUNIT_CASE(conn_held_there),
	KUNIT_CASE(conn_congestion),
	KUNIT_CASE(conn_window),
	KUNIT_CASE(conn_care),
	KUNIT_CASE(conn_full),
	KUNIT_CASE(conn_full_for_ever),
	KUNIT_CASE(conn_full_there),
	KUNIT_CASE(conn_full_there_for_ever),
	KUNIT_CASE(conn_full_long),
	KUNIT_CASE(conn_gathers),
	KUNIT_CASE(conn_gathers_not),
	KUNIT_CASE(xrc_packets),
	KUNIT_CASE(xrc_choice),
	KUNIT_CASE(xrc_unknown),
	KUNIT_CASE(xrc_changed),
	KUNIT_CASE(xrc_reads),
	{}
};

static struct kunit_suite conn_suite = {
	.name = "univ_uroce_conn",
	.init = conn_init,
	.exit = conn_exit,
	.test_cases = conn_cases,
};

kunit_test_suite(conn_suite);
