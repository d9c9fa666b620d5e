// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: sends requests in order, as far as the window permits. The
 * owner keeps each request until comp.c completes it, so going back to an
 * earlier sequence number only means counting packets.
 */
#include <linux/ktime.h>
#include <linux/skbuff.h>

#include "compat.h"
#include "req.h"

/*
 * Within long messages an acknowledgement is requested at least once in
 * ACK_EVERY packets.
 */
#define ACK_EVERY 64

/* Packets that are sent before other work gets a turn. */
#define TURN 256

/* Sequence numbers cannot be compared over more than half of their range. */
#define PSN_SPAN (1 << 23)
static_assert(UROCE_MAX_SEND / 256 < PSN_SPAN);

/*
 * Requests of at most GATHER_SIZE bytes are held until GATHER of them can be
 * sent together, see req_gathers().
 */
#define GATHER_SIZE 1024
#define GATHER 8u

/* The streak is not counted beyond this. */
#define STREAK_MAX (4 * GATHER)

static struct uroce_msg *msg_at(struct uroce_conn *conn, u32 index)
{
	return conn->ops->msg(conn, index);
}

/* The number of sequence numbers that @len bytes take. */
u32 uroce_req_packets(const struct uroce_conn *conn, u32 len)
{
	return len ? len / conn->mtu + !!(len % conn->mtu) : 1;
}

/* ---- one packet ---------------------------------------------------------- */

/* Will no packet follow the current request? Local operations send none. */
static bool none_follows(struct uroce_conn *conn)
{
	u32 i = conn->req.next + 1;

	while (i != conn->req.posted && uroce_msg_is_local(msg_at(conn, i)))
		i++;
	return i == conn->req.posted;
}

/*
 * Should this packet, which stands for @sent packets, ask for an
 * acknowledgement, since the peer would otherwise stay silent for long? @held:
 * the next one has to wait for its time.
 */
static bool ask(struct uroce_conn *conn, u32 sent, bool last, bool held)
{
	struct uroce_requester *req = &conn->req;

	if (!uroce_conn_is_reliable(conn))
		return false;
	req->silent += sent;
	/*
	 * Four times in a window, so that the window does not fill up without
	 * an answer.
	 */
	if (held || (last && none_follows(conn)) ||
	    req->silent >= clamp(req->window / 4, 1u, (u32)ACK_EVERY)) {
		req->silent = 0;
		return true;
	}
	return false;
}

/* ---- the walk over requests ---------------------------------------------- */

static bool is_small(const struct uroce_msg *msg)
{
	return msg->length <= GATHER_SIZE && !uroce_msg_is_local(msg) &&
	       !uroce_msg_has_response(msg);
}

/* Assigns sequence numbers to a request that comes up for the first time. */
static enum uroce_req_step req_begin(struct uroce_conn *conn,
				     struct uroce_msg *msg)
{
	struct uroce_requester *req = &conn->req;
	u32 n = uroce_msg_is_local(msg) ? 0 :
					  uroce_req_packets(conn, msg->length);

	if (uroce_msg_is_atomic(msg))
		n = 1;
	if (uroce_psn_diff(req->free, req->una) + n >= PSN_SPAN)
		return REQ_STOP;
	msg->executed = false;
	msg->first = req->free;
	msg->last = uroce_psn_add(req->free, n - 1);
	req->free = uroce_psn_add(req->free, n);
	req->begun++;
	req->streak = is_small(msg) ? min(req->streak + 1, STREAK_MAX) : 0;
	return REQ_GO_ON;
}

/* Has the window room for the next packet of @msg? */
static bool req_has_window(struct uroce_conn *conn, const struct uroce_msg *msg)
{
	const struct uroce_requester *req = &conn->req;

	return !uroce_conn_is_reliable(conn) ||
	       (uroce_psn_diff(req->psn, req->una) < req->window &&
		!uroce_req_is_cut_short(conn, msg));
}

/*
 * An acknowledgement makes room in the window, and is on its way, unless no
 * packet in flight has asked for one: the window may have become smaller.
 */
static enum uroce_req_step req_await_window(const struct uroce_requester *req)
{
	return uroce_req_unasked(req) ? REQ_ASK : REQ_STOP;
}

/* May the next packet of @msg be sent, if the window has room? */
static bool req_may_send(struct uroce_conn *conn, const struct uroce_msg *msg)
{
	const struct uroce_requester *req = &conn->req;

	if (!uroce_conn_is_reliable(conn))
		return true;
	if (msg->fence && req->reads && !req->offset)
		return false;
	if (!uroce_msg_has_response(msg))
		return true;
	return req->reads < req->max_reads &&
	       (!uroce_msg_is_read(msg) || uroce_piece_fits(conn, msg));
}

/*
 * Without room in the queues below, one packet may still be sent if no answer
 * is due, and asks for one: the queues may be full of packets of others that
 * never move. Without an answer the timer counts it as a try.
 */
static bool req_presses(struct uroce_conn *conn)
{
	if (!uroce_req_unasked(&conn->req) || !uroce_conn_is_reliable(conn))
		return false;
	conn->req.silent = ACK_EVERY;
	return true;
}

static void req_next_msg(struct uroce_requester *req)
{
	req->next++;
	req->offset = 0;
	req->copies = false;
	req->single = false;
}

static void req_moved(struct uroce_conn *conn, struct uroce_msg *msg, u32 len,
		      u32 sent)
{
	struct uroce_requester *req = &conn->req;
	u32 n = uroce_msg_is_read(msg) ? uroce_req_packets(conn, len) : sent;

	req->psn = uroce_psn_add(req->psn, n);
	if (uroce_psn_diff(req->psn, req->high) > 0)
		WRITE_ONCE(req->high, req->psn);
	if (uroce_msg_has_response(msg))
		req->reads++;
	req->offset += len;
	if (req->offset == msg->length)
		req_next_msg(req);
}

/*
 * A request cannot be executed. It fails in its turn, since requests before it
 * may still succeed.
 */
static enum uroce_req_step req_refuse(struct uroce_conn *conn, int status)
{
	struct uroce_requester *req = &conn->req;

	if (req->done != req->next)
		return req->silent ? REQ_ASK : REQ_STOP;
	uroce_req_fail(conn, status);
	return REQ_FAILED;
}

/* @asks: the packet asks for an acknowledgement. */
int uroce_req_xmit(struct uroce_conn *conn, struct sk_buff *skb, bool asks)
{
	struct uroce_bth *bth = (void *)skb->data;

	if (asks)
		bth->psn |= cpu_to_be32(UROCE_BTH_ACK_REQ);
	if (asks && uroce_missing_shown(conn))
		bth->psn |= cpu_to_be32(UROCE_BTH_SELECTIVE);
	return conn->ops->xmit(conn, skb, false);
}

static enum uroce_req_step req_packet(struct uroce_conn *conn,
				      struct uroce_msg *msg)
{
	struct uroce_requester *req = &conn->req;
	u32 len, sent, silent = req->silent;
	int status = 0, ret;
	struct sk_buff *skb = uroce_req_next(conn, msg, &len, &status);
	bool last, held;

	if (!skb)
		return REQ_LATER;
	if (status) {
		kfree_skb(skb);
		req->refused = false;
		return status == -EAGAIN ? REQ_LATER : req_refuse(conn, status);
	}
	last = req->offset + len == msg->length;
	sent = skb_shinfo(skb)->gso_segs ?: 1;
	held = uroce_pace_take(conn->pace, skb->len);
	uroce_throttle_take(&req->throttle, skb->len);
	ret = uroce_req_xmit(conn, skb, ask(conn, sent, last, held));
	if (ret == -ENOBUFS) {
		req->silent = silent;
		req->refused = true;
		return REQ_LATER;
	}
	/* Any other error is treated like a packet lost on the way. */
	req_moved(conn, msg, len, sent);
	return REQ_GO_ON;
}

static enum uroce_req_step req_local(struct uroce_conn *conn,
				     struct uroce_msg *msg)
{
	int status;

	if (msg->fence && conn->req.reads)
		return REQ_STOP;
	status = msg->executed ? 0 : conn->ops->local(conn, msg);
	if (status == -EAGAIN)
		return REQ_LATER;
	if (status)
		return req_refuse(conn, status);
	msg->executed = true;
	req_next_msg(&conn->req);
	uroce_comp_advance(conn, conn->req.una);
	return REQ_GO_ON;
}

static enum uroce_req_step req_step(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;
	enum uroce_req_step step;
	struct uroce_msg *msg;
	bool room;

	if (!req->running || req->waiting)
		return REQ_STOP;
	if (unlikely(uroce_missing_left(req)))
		return uroce_missing_step(conn);
	/* The last packet asks, unless requests behind it were withdrawn. */
	if (req->next == req->posted)
		return req->silent ? REQ_ASK : REQ_STOP;
	msg = msg_at(conn, req->next);
	if (req->next == req->begun) {
		step = req_begin(conn, msg);
		if (step != REQ_GO_ON)
			return step;
	}
	if (uroce_msg_is_local(msg))
		return req_local(conn, msg);
	if (!req_has_window(conn, msg))
		return req_await_window(req);
	if (!req_may_send(conn, msg))
		return REQ_STOP;
	if (unlikely(uroce_req_wait(conn)))
		return REQ_PACED;
	room = conn->ops->room(conn, false);
	if (unlikely(!room) && !req_presses(conn))
		return REQ_LATER;
	step = req_packet(conn, msg);
	/* Until the flush, the packets behind it would find room too. */
	if (unlikely(!room) && step == REQ_GO_ON)
		return REQ_LATER;
	/*
	 * An unreliable request is complete when its last packet has been sent.
	 */
	if (step == REQ_GO_ON && !uroce_conn_is_reliable(conn))
		uroce_comp_advance(conn, req->psn);
	return step;
}

/*
 * Small requests cost per packet, not per byte (compare Nagle): a requester
 * that sends only small requests without waiting for answers holds them until
 * GATHER are queued or an ACK arrives. The last packet has asked for that ACK,
 * and the timer covers its loss. A single request that finds nothing in flight
 * halves the streak.
 */
static bool req_gathers(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;
	u32 waiting = req->posted - req->next;

	if (req->una == req->psn) {
		if (waiting == 1)
			req->streak /= 2;
		return false;
	}
	return req->streak >= GATHER && waiting && waiting < GATHER &&
	       req->next == req->begun && !req->silent && req->timeout &&
	       is_small(msg_at(conn, req->next));
}

static void req_set_timer(struct uroce_conn *conn, enum uroce_req_step step)
{
	struct uroce_requester *req = &conn->req;

	if (step == REQ_FAILED || req->waiting || !req->running)
		return;
	if (step == REQ_LATER)
		uroce_soon(&req->soon, &req->stuck);
	else if (step == REQ_PACED)
		uroce_wait_pace(conn);
	/* No answer is missing while the oldest packet waits for its pace. */
	if (!uroce_req_awaits(req) || !req->timeout ||
	    (step == REQ_PACED && uroce_req_at_oldest(req) && !req->refused))
		timer_delete(&req->timer);
	else if (!timer_pending(&req->timer))
		mod_timer(&req->timer, jiffies + req->timeout);
}

static void req_expired(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;

	WRITE_ONCE(req->expired, false);
	/*
	 * The timer was set again meanwhile, since a packet was acknowledged.
	 */
	if (timer_pending(&req->timer))
		return;
	if (req->waiting || !uroce_req_awaits(req))
		return;
	conn->ops->count(conn, UROCE_CNT_TIMEOUTS);
	uroce_window_close(req);
	uroce_req_retry(conn);
}

/*
 * The wait after an RNR NAK may be over. The retransmission begins then, so a
 * gap that the peer reports from there on is a new loss.
 */
static void req_end_wait(struct uroce_requester *req)
{
	if (ktime_get_ns() < req->ready_at)
		return;
	req->waiting = false;
	req->went_back = false;
}

/*
 * The packets from @psn on were sent, or lost in a full queue. If lost, all
 * unacknowledged packets are sent again when there may be room.
 */
static enum uroce_req_step req_flush(struct uroce_conn *conn, u32 psn,
				     enum uroce_req_step step)
{
	bool went_back = conn->req.went_back;

	if (conn->ops->flush(conn, false) != -ENOBUFS || !conn->req.running) {
		if (conn->req.psn != psn)
			uroce_req_accepted(&conn->req);
		return step;
	}
	if (uroce_conn_is_reliable(conn)) {
		conn->req.refused = true;
		uroce_req_back(conn);
	}
	/* The peer has reported nothing, so its first NAK is no repetition. */
	conn->req.went_back = went_back;
	return REQ_LATER;
}

/*
 * Asks for an acknowledgement if the packets that were sent did not and the
 * next one is not sent now: no request follows, or the next one waits for its
 * pages, perhaps for longer than the ACK timeout. If the queues below are
 * full, nothing is sent to ask.
 */
static enum uroce_req_step req_ask(struct uroce_conn *conn,
				   enum uroce_req_step step)
{
	if (step == REQ_ASK)
		return uroce_req_ask_again(conn);
	if (step == REQ_LATER && conn->req.silent &&
	    conn->ops->room(conn, false))
		uroce_req_ask_again(conn);
	return step;
}

/**
 * uroce_req_run() - send as much as possible
 * @conn: connection
 * @posted: number of requests that were posted and may begin
 *
 * Return: true if there is more to send at once
 */
bool uroce_req_run(struct uroce_conn *conn, u32 posted)
{
	enum uroce_req_step step = REQ_GO_ON;
	u32 left = TURN, psn;

	conn->req.posted = posted;
	if (conn->req.running && READ_ONCE(conn->req.expired))
		req_expired(conn);
	if (unlikely(conn->req.waiting))
		req_end_wait(&conn->req);
	if (unlikely(READ_ONCE(conn->req.missing.due)) && conn->req.running)
		uroce_missing_probe(conn);
	psn = conn->req.psn;
	if (req_gathers(conn) && !uroce_missing_left(&conn->req))
		step = REQ_STOP;
	while (step == REQ_GO_ON && left--)
		step = req_step(conn);
	step = req_ask(conn, step);
	step = req_flush(conn, psn, step);
	req_set_timer(conn, step);
	uroce_missing_watch(conn);
	return step == REQ_GO_ON;
}

void uroce_req_timer(struct timer_list *timer)
{
	struct uroce_conn *conn = timer_container_of(conn, timer, req.timer);

	WRITE_ONCE(conn->req.expired, true);
	conn->ops->rerun(conn, false);
}

enum hrtimer_restart uroce_req_soon(struct hrtimer *timer)
{
	struct uroce_conn *conn =
		container_of(timer, struct uroce_conn, req.soon);

	conn->ops->rerun(conn, false);
	return HRTIMER_NORESTART;
}

/* ---- going back ---------------------------------------------------------- */

/*
 * Makes the packet of @psn the next one to send. @psn belongs to a request that
 * has begun, or is @free. @from: index of a request that is not behind it.
 */
void uroce_req_seek(struct uroce_conn *conn, u32 psn, u32 from)
{
	struct uroce_requester *req = &conn->req;
	struct uroce_msg *msg;
	u32 i;

	req->psn = psn;
	req->offset = 0;
	for (i = from; i != req->begun; i++) {
		msg = msg_at(conn, i);
		if (uroce_psn_diff(msg->last, psn) < 0 &&
		    (!uroce_msg_is_local(msg) || msg->executed))
			continue;
		if (!uroce_msg_is_local(msg))
			req->offset =
				uroce_psn_diff(psn, msg->first) * conn->mtu;
		break;
	}
	req->next = i;
}

/* Goes back to the oldest unacknowledged packet. */
void uroce_req_back(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;

	req->went_back = true;
	req->reads = 0;
	req->silent = 0;
	uroce_missing_forget(req);
	uroce_req_seek(conn, req->una, req->done);
}

/*
 * Sends nothing for @ns, and then begins with the oldest unacknowledged packet.
 */
void uroce_req_pause(struct uroce_conn *conn, u64 ns)
{
	struct uroce_requester *req = &conn->req;

	uroce_req_back(conn);
	req->waiting = true;
	req->ready_at = ktime_get_ns() + ns;
	timer_delete(&req->timer);
	hrtimer_start(&req->soon, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}

void uroce_req_fail(struct uroce_conn *conn, enum ib_wc_status status)
{
	struct uroce_requester *req = &conn->req;

	req->running = false;
	timer_delete(&req->timer);
	if (req->done == req->posted)
		return;
	conn->ops->done(conn, msg_at(conn, req->done++), status);
}

/* Goes back, if a retry is left. */
void uroce_req_retry(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;

	if (!req->tries && !conn->ops->migrate(conn)) {
		uroce_req_fail(conn, IB_WC_RETRY_EXC_ERR);
		return;
	}
	req->tries--;
	uroce_care_begin(&req->care, req->una);
	uroce_req_back(conn);
	if (req->timeout)
		mod_timer(&req->timer, jiffies + req->timeout);
}

/* ---- calls of the owner -------------------------------------------------- */

/*
 * No request begins any more. A request that has sequence numbers, but of which
 * no packet was sent, gives them back. Returns the number of requests that have
 * begun.
 */
u32 uroce_req_withdraw(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;

	if (req->begun - req->next == 1 && !req->offset &&
	    req->psn == req->high) {
		req->free = msg_at(conn, req->next)->first;
		req->begun = req->next;
		req->refused = false;
	}
	return req->begun;
}

void uroce_req_start(struct uroce_conn *conn, u32 psn)
{
	struct uroce_requester *req = &conn->req;

	req->psn = psn;
	req->free = psn;
	req->una = psn;
	req->high = psn;
	req->reads = 0;
	req->silent = 0;
	memset(&req->care, 0, sizeof(req->care));
	if (uroce_conn_is_reliable(conn))
		uroce_care_set(&req->care, req->retry_cnt);
	req->copies = false;
	req->single = false;
	req->streak = 0;
	uroce_window_start(req);
	uroce_missing_start(req);
	uroce_piece_start(req);
	uroce_throttle_end(&req->throttle);
	req->tries = req->retry_cnt;
	req->rnr_tries = req->rnr_retry;
	req->rnr_waits = 0;
	req->waiting = false;
	req->expired = false;
	req->went_back = false;
	req->refused = false;
	req->stuck = 0;
	req->next = req->done;
	req->begun = req->done;
	req->offset = 0;
	req->running = true;
}

void uroce_req_halt(struct uroce_conn *conn)
{
	conn->req.running = false;
	timer_delete(&conn->req.timer);
}
