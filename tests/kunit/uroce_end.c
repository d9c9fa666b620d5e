// SPDX-License-Identifier: GPL-2.0
/* The operations of two connected ends, which record their calls, and the wire between them. */
#include <linux/string.h>

#include "uroce_end.h"

static struct end *end_of(struct uroce_conn *conn)
{
	return container_of(conn, struct end, conn);
}

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
	if (msg == end_of(conn)->absent)
		return -EAGAIN;
	memcpy(to, end_of(conn)->bytes + offset, len);
	return 0;
}

/* Add bytes of the end to a packet as a page. */
static int end_pages(struct end *end, u32 offset, struct sk_buff *skb, u32 len)
{
	struct page *page;

	if (end->scattered || !end->gso)
		return -EOPNOTSUPP;
	page = alloc_page(GFP_ATOMIC);
	if (!page)
		return -EOPNOTSUPP;
	memcpy(page_address(page), end->bytes + offset, len);
	skb_add_rx_frag(skb, 0, page, 0, len, PAGE_SIZE);
	return uroce_net_end_pages(skb) ? 0 : -EOPNOTSUPP;
}

static int end_attach(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		      struct sk_buff *skb, u32 len)
{
	return end_pages(end_of(conn), offset, skb, len);
}

static u32 end_together(struct uroce_conn *conn, bool response)
{
	return end_of(conn)->gso / conn->mtu;
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
	if (end_of(conn)->pages_missing) {
		end_of(conn)->pages_missing--;
		return -EAGAIN;
	}
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

static int end_fill(struct uroce_conn *conn, u32 rkey, u64 va, struct sk_buff *skb, u32 len)
{
	if (end_check(conn, rkey, va, len, IB_ACCESS_REMOTE_READ))
		return IB_WC_REM_ACCESS_ERR;
	return end_pages(end_of(conn), va, skb, len) ? -ENOMEM : 0;
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

static int end_flush_memory(struct uroce_conn *conn, u32 rkey, u64 va, u32 len, u32 access,
			    bool whole)
{
	if (access != UNIV_ACCESS_FLUSH_GLOBAL || rkey != RKEY)
		return IB_WC_REM_ACCESS_ERR;
	if (!whole && end_check(conn, rkey, va, len, access))
		return IB_WC_REM_ACCESS_ERR;
	end_of(conn)->flushes++;
	return 0;
}

static int end_invalidate(struct uroce_conn *conn, u32 rkey)
{
	return end_give_up(end_of(conn));
}

static void end_served(struct uroce_conn *conn, bool read, u32 len)
{
	end_of(conn)->served++;
	end_of(conn)->served_bytes += len;
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
	struct end *end = end_of(conn);

	if (end->refused && !--end->refused) {
		kfree_skb(skb);
		return -ENOBUFS;
	}
	memset(uroce_net_put(skb, UROCE_ICRC_SIZE), 0, UROCE_ICRC_SIZE);
	skb_queue_tail(&end->out, skb);
	end->together = true;
	return 0;
}

static int end_flush(struct uroce_conn *conn, bool response)
{
	struct end *end = end_of(conn);

	end->together = false;
	if (!end->overflows)
		return 0;
	end->overflows = false;
	skb_queue_purge(&end->out);
	return -ENOBUFS;
}

static bool end_migrate(struct uroce_conn *conn)
{
	struct end *end = end_of(conn);

	if (!end->paths)
		return false;
	end->paths--;
	conn->req.tries = conn->req.retry_cnt + 1;
	return true;
}

static void end_rerun(struct uroce_conn *conn, bool response)
{
}

static const struct uroce_conn_ops end_ops = {
	.msg = end_msg,
	.gather = end_gather,
	.attach = end_attach,
	.together = end_together,
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
	.fill = end_fill,
	.atomic = end_atomic,
	.flush_memory = end_flush_memory,
	.invalidate = end_invalidate,
	.served = end_served,
	.broken = end_broken,
	.established = end_established,
	.count = end_count,
	.room = end_room,
	.xmit = end_xmit,
	.flush = end_flush,
	.migrate = end_migrate,
	.rerun = end_rerun,
};

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
	conn->resp.held.budget = &end->budget;
	/* No probe is sent by itself. */
	conn->req.missing.wait = 1000 * (u64)NSEC_PER_SEC;
	conn->resp.access = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
			    IB_ACCESS_REMOTE_ATOMIC | UNIV_ACCESS_FLUSH_GLOBAL;
	conn->req.retry_cnt = 2;
	conn->req.rnr_retry = 2;
	conn->req.max_reads = 2;
	/* The timer never fires by itself. */
	conn->req.timeout = MAX_JIFFY_OFFSET / 2;
	uroce_req_start(conn, FIRST_PSN);
	uroce_resp_start(conn, FIRST_PSN);
}

int wire_init(struct kunit *test)
{
	struct wire *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, w);
	end_init(&w->a, 0xaa);
	end_init(&w->b, 0xbb);
	w->b.recvs = 2 * MSGS;
	test->priv = w;
	return 0;
}

void wire_exit(struct kunit *test)
{
	struct wire *w = test->priv;

	uroce_req_halt(&w->a.conn);
	uroce_resp_halt(&w->b.conn);
	uroce_conn_stop(&w->a.conn);
	uroce_conn_stop(&w->b.conn);
	uroce_held_purge(&w->b.conn);
	skb_queue_purge(&w->a.out);
	skb_queue_purge(&w->b.out);
}

void wire_run(struct wire *w)
{
	IN_BOTTOM_HALF(uroce_req_run(&w->a.conn, w->a.conn.req.posted));
}

struct uroce_msg *wire_post(struct wire *w, enum ib_wr_opcode op, u32 length)
{
	struct uroce_requester *req = &w->a.conn.req;
	struct uroce_msg *msg = &w->a.msg[req->posted % MSGS];

	*msg = (struct uroce_msg){ .op = op, .length = length, .rkey = RKEY };
	req->posted++;
	return msg;
}

struct uroce_msg *wire_post_atomic(struct wire *w, enum ib_wr_opcode op, u64 compare_add,
				   u64 swap)
{
	struct uroce_msg *msg = wire_post(w, op, sizeof(u64));

	msg->va = 8;
	msg->compare_add = compare_add;
	msg->swap = swap;
	return msg;
}

/* Return the next packet of a queue, parsed, or NULL if there is none. */
struct sk_buff *wire_next(struct sk_buff_head *queue, struct uroce_packet *pkt)
{
	*pkt = (struct uroce_packet){ .skb = skb_dequeue(queue) };
	if (pkt->skb && !uroce_packet_parse(pkt, 0)) {
		kfree_skb(pkt->skb);
		pkt->skb = NULL;
	}
	return pkt->skb;
}

int wire_lose(struct sk_buff_head *queue, int n)
{
	struct uroce_packet pkt;

	for (; n && wire_next(queue, &pkt); n--)
		kfree_skb(pkt.skb);
	return n;
}

/* Deliver up to @n requests to the other end; all of them if @n is -1. */
void wire_ask(struct wire *w, int n)
{
	struct uroce_packet pkt;

	for (; n && wire_next(&w->a.out, &pkt); n--) {
		IN_BOTTOM_HALF(uroce_resp_receive(&w->b.conn, &pkt));
		kfree_skb(pkt.skb);
	}
}

/* Deliver up to @n responses to the requester; all of them if @n is -1. */
void wire_tell(struct wire *w, int n)
{
	struct uroce_packet pkt;

	for (; n && wire_next(&w->b.out, &pkt); n--) {
		IN_BOTTOM_HALF(uroce_comp_receive(&w->a.conn, &pkt));
		wire_run(w);
		kfree_skb(pkt.skb);
	}
}

void wire_settle(struct wire *w)
{
	int i;

	for (i = 0; i < 100 && (!skb_queue_empty(&w->a.out) ||
				!skb_queue_empty(&w->b.out)); i++) {
		wire_ask(w, -1);
		wire_tell(w, -1);
	}
}

void wire_expire(struct wire *w)
{
	timer_delete_sync(&w->a.conn.req.timer);
	w->a.conn.req.expired = true;
	wire_run(w);
}

/* The wait after an RNR NAK is over. */
void wire_end_wait(struct wire *w)
{
	hrtimer_cancel(&w->a.conn.req.soon);
	w->a.conn.req.ready_at = 0;
	wire_run(w);
}

/* On a slow machine the timer may have fired already, so check that it was ever started. */
bool timer_was_started(const struct hrtimer *timer)
{
	return hrtimer_get_expires(timer) != 0;
}

void wire_expect_done(struct kunit *test, u32 n)
{
	struct wire *w = test->priv;
	u32 i;

	KUNIT_EXPECT_EQ(test, w->a.completed, n);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, (int)w->a.status[i], (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, w->b.broken);
}

void wire_expect_packet(struct kunit *test, struct sk_buff_head *queue, u8 opcode,
			u32 psn)
{
	struct uroce_packet pkt;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wire_next(queue, &pkt));
	KUNIT_EXPECT_EQ(test, (int)pkt.bth->opcode, (int)opcode);
	KUNIT_EXPECT_EQ(test, pkt.psn, psn & UROCE_PSN_MASK);
	kfree_skb(pkt.skb);
}

/* Drop every packet: as many are sent as there are retries, and then the request fails. */
void wire_expect_tries(struct kunit *test)
{
	struct wire *w = test->priv;
	int sent = 0;

	while (!w->a.completed && sent < 10) {
		KUNIT_EXPECT_EQ(test, wire_lose(&w->a.out, 1), 0);
		sent++;
		wire_expire(w);
	}
	KUNIT_EXPECT_EQ(test, sent, 1 + w->a.conn.req.retry_cnt);
	KUNIT_EXPECT_EQ(test, (int)w->a.status[0], (int)IB_WC_RETRY_EXC_ERR);
}

int repeat_init(struct kunit *test)
{
	int ret = wire_init(test);
	struct wire *w = test->priv;

	if (ret)
		return ret;
	w->a.conn.selective = true;
	w->b.conn.selective = true;
	wire_post(w, IB_WR_SEND, 1);
	wire_run(w);
	wire_settle(w);
	return 0;
}

void repeat_write(struct wire *w, u32 n, u8 seed)
{
	memset(w->a.bytes, seed, BYTES);
	wire_post(w, IB_WR_RDMA_WRITE, n * MTU);
	wire_run(w);
}

void repeat_expect_clean(struct kunit *test, u32 done, u32 repeated)
{
	struct wire *w = test->priv;

	wire_settle(w);
	wire_expect_done(test, done);
	KUNIT_EXPECT_EQ(test, w->b.counts[UROCE_CNT_DUPLICATES], 0u);
	KUNIT_EXPECT_EQ(test, w->a.counts[UROCE_CNT_REPEATED], repeated);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&w->b.conn.resp.held.packets));
	KUNIT_EXPECT_EQ(test, atomic_read(&w->b.budget), 0);
}

void repeat_expect_bytes(struct kunit *test, u8 seed, u32 len)
{
	struct wire *w = test->priv;

	KUNIT_EXPECT_NULL(test, memchr_inv(w->b.bytes, seed, len));
	KUNIT_EXPECT_EQ(test, (int)w->b.bytes[len], 0xbb);
}

void repeat_lose_second(struct wire *w)
{
	repeat_write(w, 4, 0x11);
	wire_ask(w, 1);
	wire_lose(&w->a.out, 1);
	wire_ask(w, -1);
}

void repeat_expect_again(struct kunit *test, u8 opcode, u32 psn)
{
	struct wire *w = test->priv;
	struct sk_buff *skb = skb_peek(&w->a.out);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, (int)skb->data[0], (int)opcode);
	KUNIT_EXPECT_EQ(test, uroce_bth_psn((void *)skb->data), psn & UROCE_PSN_MASK);
	wire_ask(w, 1);
}
