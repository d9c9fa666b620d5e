// SPDX-License-Identifier: GPL-2.0
/*
 * The requester. It sends requests in order as far as the window goes. What was
 * sent stays with the owner until comp.c completes it, so that going back to any
 * sequence number is only a matter of counting packets.
 */
#include <linux/skbuff.h>

#include "compat.h"
#include "conn.h"

/* An acknowledgement is asked for so often within long messages, or oftener */
#define ACK_EVERY 32

/*
 * A read is asked for in pieces of so many packets, so that a window is as much
 * an answer's as a request's. A retransmission may ask so too, hence every
 * responder knows it.
 */
#define READ_PACKETS 32

/* Packets that are sent before others get a turn */
#define TURN 256

/* Sequence numbers further apart than half the circle could not be compared */
#define PSN_SPAN (1 << 23)
static_assert(UROCE_MAX_SEND / 256 < PSN_SPAN);

/* Requests of no more bytes wait for so many to leave together, see req_gathers() */
#define COMPANY_SIZE 1024
#define COMPANY 8u

/* Of a row that was longer no more counts */
#define ROW_MAX (4 * COMPANY)

static bool reliable(const struct uroce_conn *conn)
{
	return conn->service != UROCE_UC;
}

static struct uroce_msg *msg_at(struct uroce_conn *conn, u32 index)
{
	return conn->ops->msg(conn, index);
}

/* How many sequence numbers so many bytes take */
u32 uroce_req_packets(const struct uroce_conn *conn, u32 len)
{
	return len ? DIV_ROUND_UP(len, conn->mtu) : 1;
}

/* ---- one packet --------------------------------------------------------------- */

/* Sends and writes: first, middle, last, last with immediate, only, and so again */
static u8 data_opcode(const struct uroce_msg *msg, bool first, bool last)
{
	bool write = msg->op == IB_WR_RDMA_WRITE ||
		     msg->op == IB_WR_RDMA_WRITE_WITH_IMM;
	bool imm = msg->op == IB_WR_RDMA_WRITE_WITH_IMM ||
		   msg->op == IB_WR_SEND_WITH_IMM;
	u8 base = write ? UROCE_WRITE_FIRST : UROCE_SEND_FIRST;

	if (!last)
		return base + (first ? 0 : 1);
	if (msg->op == IB_WR_SEND_WITH_INV)
		return first ? UROCE_SEND_ONLY_INV : UROCE_SEND_LAST_INV;
	return base + (first ? 4 : 2) + imm;
}

static u8 opcode_of(const struct uroce_msg *msg, bool first, bool last)
{
	switch (msg->op) {
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		return UROCE_READ_REQUEST;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return UROCE_COMPARE_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return UROCE_FETCH_ADD;
	case UROCE_WR_ATOMIC_WRITE:
		return UROCE_ATOMIC_WRITE;
	default:
		return data_opcode(msg, first, last);
	}
}

static void fill_atomic(const struct uroce_msg *msg, struct uroce_atomic_eth *eth)
{
	bool swap = msg->op == IB_WR_ATOMIC_CMP_AND_SWP;

	eth->va = cpu_to_be64(msg->va);
	eth->rkey = cpu_to_be32(msg->rkey);
	eth->swap_add = cpu_to_be64(swap ? msg->swap : msg->compare_add);
	eth->compare = cpu_to_be64(swap ? msg->compare_add : 0);
}

/* The extended headers of @opcode, from @eth on; @len is what a read asks for */
static void fill_headers(const struct uroce_conn *conn, const struct uroce_msg *msg,
			 u8 opcode, u8 *eth, u32 len)
{
	const struct uroce_op *op = &uroce_ops[opcode];
	struct uroce_reth *reth;

	if (conn->service == UROCE_XRC) {
		*(__be32 *)eth = cpu_to_be32(msg->srqn);
		eth += sizeof(__be32);
	}
	if (op->flags & UROCE_OP_ATOMIC)
		fill_atomic(msg, (void *)eth);
	if (op->flags & UROCE_OP_RETH) {
		reth = (void *)eth;
		reth->va = cpu_to_be64(msg->va + (op->flags & UROCE_OP_READ ?
						  conn->req.offset : 0));
		reth->rkey = cpu_to_be32(msg->rkey);
		reth->len = cpu_to_be32(len);
		eth += sizeof(*reth);
	}
	if (op->flags & UROCE_OP_IMM)
		*(__be32 *)eth = msg->imm;
	if (op->flags & UROCE_OP_INV)
		*(__be32 *)eth = cpu_to_be32((__force u32)msg->imm);
}

/* Will no packet follow the request that is being sent? Local operations send none. */
static bool none_follows(struct uroce_conn *conn)
{
	u32 i = conn->req.next + 1;

	while (i != conn->req.posted && uroce_msg_is_local(msg_at(conn, i)))
		i++;
	return i == conn->req.posted;
}

/* Asks when the peer would otherwise not have to answer for long */
static bool ask(struct uroce_conn *conn, bool last)
{
	struct uroce_requester *req = &conn->req;

	if (!reliable(conn))
		return false;
	req->silent++;
	/* Four times in a window, so that it does not fill without a word */
	if ((last && none_follows(conn)) ||
	    req->silent >= clamp(req->window / 4, 1u, (u32)ACK_EVERY)) {
		req->silent = 0;
		return true;
	}
	return false;
}

/* From so many bytes on pages are cheaper than a copy */
#define PAGES_MIN 1024

/*
 * May the payload leave without a copy? It has to stay as it is until the peer
 * acknowledges it, which is what programs promise for as long as a request is not
 * complete. For those that break their word, what is sent again is copied: else
 * it could be damaged again and again.
 */
static bool may_attach(const struct uroce_conn *conn, u32 payload)
{
	return payload >= PAGES_MIN && reliable(conn) && !conn->req.care.left &&
	       !conn->req.copies &&
	       uroce_psn_diff(conn->req.psn, conn->req.high) >= 0;
}

/* @pages: the payload goes without a copy. 0, or what gather() and attach() return. */
static int fill_payload(struct uroce_conn *conn, struct uroce_msg *msg,
			struct sk_buff *skb, u32 len, bool pages)
{
	u32 offset = conn->req.offset, pad = uroce_pad(len);
	int ret;

	if (!len)
		return 0;
	if (pages)
		ret = conn->ops->attach(conn, msg, offset, skb, len);
	else
		ret = conn->ops->gather(conn, msg, offset, skb_put(skb, len), len);
	if (!ret && pad)
		memset(uroce_net_put(skb, pad), 0, pad);
	return ret;
}

/*
 * The packet at req.psn and req.offset of @msg; of the requester it needs no more.
 * NULL without memory; a status when the payload could not be had.
 */
struct sk_buff *uroce_req_build(struct uroce_conn *conn, struct uroce_msg *msg,
				u32 len, int *status, bool pages)
{
	struct uroce_requester *req = &conn->req;
	bool first = !req->offset, last = req->offset + len == msg->length;
	u8 opcode = conn->service | opcode_of(msg, first, last);
	bool data = uroce_ops[opcode].flags & UROCE_OP_PAYLOAD;
	u32 payload = data ? len : 0, pad = uroce_pad(payload);
	struct uroce_bth *bth;
	struct sk_buff *skb;
	u8 *eth;

	skb = uroce_net_alloc(uroce_ops[opcode].length +
			      (pages ? 0 : payload + pad), pages);
	if (!skb)
		return NULL;
	bth = (void *)skb->data;
	eth = uroce_bth_put(conn, skb, opcode, req->psn, pad);
	if (last && msg->solicited)
		bth->flags |= UROCE_BTH_SE;
	fill_headers(conn, msg, opcode, eth, data ? msg->length : len);
	*status = fill_payload(conn, msg, skb, payload, pages);
	return skb;
}

static struct sk_buff *build(struct uroce_conn *conn, struct uroce_msg *msg,
			     u32 len, int *status)
{
	struct sk_buff *skb;

	if (!uroce_msg_has_response(msg) && may_attach(conn, len)) {
		skb = uroce_req_build(conn, msg, len, status, true);
		if (!skb || *status != -EOPNOTSUPP)
			return skb;
		kfree_skb(skb);
		conn->req.copies = true;
	}
	return uroce_req_build(conn, msg, len, status, false);
}

/* ---- the walk over requests --------------------------------------------------- */

enum uroce_req_step {
	REQ_GO_ON,
	REQ_STOP,	/* until something happens that runs us again */
	REQ_ASK,	/* the same, but the peer has not been asked for an answer */
	REQ_LATER,	/* to be tried again soon */
	REQ_FAILED,
};

static bool is_small(const struct uroce_msg *msg)
{
	return msg->length <= COMPANY_SIZE && !uroce_msg_is_local(msg) &&
	       !uroce_msg_has_response(msg);
}

/* Gives a request its sequence numbers, the first time that it comes up */
static enum uroce_req_step req_begin(struct uroce_conn *conn, struct uroce_msg *msg)
{
	struct uroce_requester *req = &conn->req;
	u32 n = uroce_msg_is_local(msg) ? 0 : uroce_req_packets(conn, msg->length);

	if (uroce_msg_is_atomic(msg))
		n = 1;
	if (uroce_psn_diff(req->free, req->una) + n >= PSN_SPAN)
		return REQ_STOP;
	msg->executed = false;
	msg->first = req->free;
	msg->last = uroce_psn_add(req->free, n - 1);
	req->free = uroce_psn_add(req->free, n);
	req->begun++;
	req->row = is_small(msg) ? min(req->row + 1, ROW_MAX) : 0;
	return REQ_GO_ON;
}

/* May the next packet of @msg leave? */
static bool req_may_send(const struct uroce_conn *conn, const struct uroce_msg *msg)
{
	const struct uroce_requester *req = &conn->req;

	if (!reliable(conn))
		return true;
	if (uroce_psn_diff(req->psn, req->una) >= req->window)
		return false;
	if (msg->fence && req->reads && !req->offset)
		return false;
	return !uroce_msg_has_response(msg) || req->reads < req->max_reads;
}

/*
 * Without room, the oldest packet that is not acknowledged may still leave, and asks for
 * an answer: the queues may be full of others' packets, and those may never move. It is
 * one packet at a time, and without an answer the timer counts it as a try.
 */
static bool req_presses(struct uroce_conn *conn)
{
	if (conn->req.psn != conn->req.una || !reliable(conn))
		return false;
	conn->req.silent = ACK_EVERY;
	return true;
}

/* What goes into one packet, or is asked for by one */
u32 uroce_req_piece(const struct uroce_conn *conn, const struct uroce_msg *msg)
{
	u32 rest = msg->length - conn->req.offset, whole = READ_PACKETS * conn->mtu;

	if (uroce_msg_is_atomic(msg))
		return rest;
	/* Always the same pieces: the peer takes a repetition for what it did */
	if (uroce_msg_is_read(msg))
		return min(rest, whole - conn->req.offset % whole);
	return min(rest, conn->mtu);
}

static void req_next_msg(struct uroce_requester *req)
{
	req->next++;
	req->offset = 0;
	req->copies = false;
}

static void req_moved(struct uroce_conn *conn, struct uroce_msg *msg, u32 len)
{
	struct uroce_requester *req = &conn->req;
	u32 n = uroce_msg_is_read(msg) ? uroce_req_packets(conn, len) : 1;

	req->psn = uroce_psn_add(req->psn, n);
	if (uroce_psn_diff(req->psn, req->high) > 0)
		req->high = req->psn;
	if (uroce_msg_has_response(msg))
		req->reads++;
	req->offset += len;
	if (req->offset == msg->length)
		req_next_msg(req);
}

/*
 * A request cannot be executed. It fails in its turn: what was sent before may still
 * succeed.
 */
static enum uroce_req_step req_refuse(struct uroce_conn *conn, int status)
{
	struct uroce_requester *req = &conn->req;

	if (req->done != req->next)
		return req->silent ? REQ_ASK : REQ_STOP;
	uroce_req_fail(conn, status);
	return REQ_FAILED;
}

static int req_xmit(struct uroce_conn *conn, struct sk_buff *skb, bool asks)
{
	struct uroce_bth *bth = (void *)skb->data;

	if (asks)
		bth->psn |= cpu_to_be32(UROCE_BTH_ACK_REQ);
	return conn->ops->xmit(conn, skb, false);
}

static enum uroce_req_step req_packet(struct uroce_conn *conn, struct uroce_msg *msg)
{
	struct uroce_requester *req = &conn->req;
	u32 len = uroce_req_piece(conn, msg);
	int status = 0, ret;
	struct sk_buff *skb = build(conn, msg, len, &status);

	if (!skb)
		return REQ_LATER;
	if (status) {
		kfree_skb(skb);
		return req_refuse(conn, status);
	}
	ret = req_xmit(conn, skb, ask(conn, req->offset + len == msg->length));
	if (ret == -ENOBUFS)
		return REQ_LATER;
	/* Anything else is as good as lost on the way */
	req_moved(conn, msg, len);
	return REQ_GO_ON;
}

static enum uroce_req_step req_local(struct uroce_conn *conn, struct uroce_msg *msg)
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

	if (!req->running || req->waiting || req->next == req->posted)
		return REQ_STOP;
	msg = msg_at(conn, req->next);
	if (req->next == req->begun) {
		step = req_begin(conn, msg);
		if (step != REQ_GO_ON)
			return step;
	}
	if (uroce_msg_is_local(msg))
		return req_local(conn, msg);
	if (!req_may_send(conn, msg))
		return REQ_STOP;
	room = conn->ops->room(conn, false);
	if (unlikely(!room) && !req_presses(conn))
		return REQ_LATER;
	step = req_packet(conn, msg);
	/* Others would find room behind it, until it has been flushed */
	if (unlikely(!room) && step == REQ_GO_ON)
		return REQ_LATER;
	/* Who expects no answer is done when the last packet is on its way */
	if (step == REQ_GO_ON && !reliable(conn))
		uroce_comp_advance(conn, req->psn);
	return step;
}

/*
 * Small requests cost the way to the network, not the bytes. So from one who sends
 * nothing else and does not wait for answers, a few wait until there are enough of
 * them to go down together, or until the peer has acknowledged something. It will: the
 * last packet has asked for that, and should its answer be lost there is the timer.
 * A request that has nothing to wait for, nor to go with, takes half of the row away.
 */
static bool req_gathers(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;
	u32 waiting = req->posted - req->next;

	if (req->una == req->psn) {
		if (waiting == 1)
			req->row /= 2;
		return false;
	}
	return req->row >= COMPANY && waiting && waiting < COMPANY &&
	       req->next == req->begun && !req->silent && req->timeout &&
	       is_small(msg_at(conn, req->next));
}

/*
 * The request behind the last packet failed before it could send one, so that packet
 * did not ask for an acknowledgement. It is sent once more, and asks; the peer takes it
 * for a duplicate. Where that is not possible the timer asks, as for a lost packet.
 */
static enum uroce_req_step req_ask_again(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;
	struct uroce_msg *msg;
	struct sk_buff *skb;
	u32 psn = req->psn;
	int status = 0;

	req->silent = 0;
	if (psn == req->una)
		return REQ_STOP;
	uroce_req_seek(conn, uroce_psn_add(psn, -1));
	msg = msg_at(conn, req->next);
	/* A read or an atomic is answered without being asked */
	skb = uroce_msg_has_response(msg) ? NULL :
	      build(conn, msg, uroce_req_piece(conn, msg), &status);
	if (skb && !status)
		req_xmit(conn, skb, true);
	else
		kfree_skb(skb);
	uroce_req_seek(conn, psn);
	return REQ_STOP;
}

static void req_set_timer(struct uroce_conn *conn, enum uroce_req_step step)
{
	struct uroce_requester *req = &conn->req;

	if (step == REQ_FAILED || req->waiting || !req->running)
		return;
	if (step == REQ_LATER)
		uroce_soon(&req->soon, &req->stuck);
	if (req->una == req->high || !req->timeout)
		timer_delete(&req->timer);
	else if (!timer_pending(&req->timer))
		mod_timer(&req->timer, jiffies + req->timeout);
}

static void req_expired(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;

	WRITE_ONCE(req->expired, false);
	/* Set again meanwhile, by something that moved */
	if (timer_pending(&req->timer))
		return;
	if (req->waiting) {
		req->waiting = false;
		/* It begins now, so what is said to be missing is lost */
		req->went_back = false;
	} else if (req->una != req->high) {
		conn->ops->count(conn, UROCE_CNT_TIMEOUTS);
		uroce_window_close(req);
		uroce_req_retry(conn);
	}
}

/*
 * The packets from @psn on are on their way, or lost in a queue that is full: then all
 * that is not acknowledged is sent again when there may be room.
 */
static enum uroce_req_step req_flush(struct uroce_conn *conn, u32 psn,
				     enum uroce_req_step step)
{
	if (conn->ops->flush(conn, false) != -ENOBUFS || !conn->req.running) {
		if (conn->req.psn != psn)
			conn->req.stuck = 0;
		return step;
	}
	if (reliable(conn))
		uroce_req_back(conn);
	return REQ_LATER;
}

/**
 * uroce_req_run() - send what may be sent
 * @conn: connection
 * @posted: requests that there are now
 *
 * Return: whether there is more to send at once
 */
bool uroce_req_run(struct uroce_conn *conn, u32 posted)
{
	enum uroce_req_step step = REQ_GO_ON;
	u32 left = TURN, psn;

	conn->req.posted = posted;
	if (conn->req.running && READ_ONCE(conn->req.expired))
		req_expired(conn);
	psn = conn->req.psn;
	if (req_gathers(conn))
		step = REQ_STOP;
	while (step == REQ_GO_ON && left--)
		step = req_step(conn);
	if (step == REQ_ASK)
		step = req_ask_again(conn);
	step = req_flush(conn, psn, step);
	req_set_timer(conn, step);
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
	struct uroce_conn *conn = container_of(timer, struct uroce_conn, req.soon);

	conn->ops->rerun(conn, false);
	return HRTIMER_NORESTART;
}

/* ---- going back --------------------------------------------------------------- */

/* The next packet to send is that of @psn, in a request that has begun, or @free */
void uroce_req_seek(struct uroce_conn *conn, u32 psn)
{
	struct uroce_requester *req = &conn->req;
	struct uroce_msg *msg;
	u32 i;

	req->psn = psn;
	req->offset = 0;
	for (i = req->done; i != req->begun; i++) {
		msg = msg_at(conn, i);
		if (uroce_psn_diff(msg->last, psn) < 0 &&
		    (!uroce_msg_is_local(msg) || msg->executed))
			continue;
		if (!uroce_msg_is_local(msg))
			req->offset = uroce_psn_diff(psn, msg->first) * conn->mtu;
		break;
	}
	req->next = i;
}

/* From the oldest on that is not acknowledged */
void uroce_req_back(struct uroce_conn *conn)
{
	conn->req.went_back = true;
	conn->req.reads = 0;
	conn->req.silent = 0;
	uroce_req_seek(conn, conn->req.una);
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

/* Goes back, if that may be tried once more */
void uroce_req_retry(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;

	if (!req->tries) {
		uroce_req_fail(conn, IB_WC_RETRY_EXC_ERR);
		return;
	}
	req->tries--;
	uroce_care_begin(&req->care, req->una);
	uroce_req_back(conn);
	if (req->timeout)
		mod_timer(&req->timer, jiffies + req->timeout);
}

/* ---- what the owner asks for -------------------------------------------------- */

void uroce_req_start(struct uroce_conn *conn, u32 psn)
{
	struct uroce_requester *req = &conn->req;

	req->psn = psn;
	req->free = psn;
	req->una = psn;
	req->high = psn;
	req->reads = 0;
	req->silent = 0;
	/* A requester that may not try again cannot find out whether runs arrive */
	req->care = (struct uroce_care){
		.left = reliable(conn) && !req->retry_cnt ? U32_MAX : 0,
	};
	req->copies = false;
	req->row = 0;
	uroce_window_start(req);
	req->tries = req->retry_cnt;
	req->rnr_tries = req->rnr_retry;
	req->waiting = false;
	req->expired = false;
	req->went_back = false;
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
