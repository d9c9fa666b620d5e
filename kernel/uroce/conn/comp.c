// SPDX-License-Identifier: GPL-2.0
/*
 * The completer: handles the peer's answers to requests that req.c sent. The
 * packets are untrusted. A sequence number that was never sent is ignored. A
 * response that arrives early means that an earlier one is lost.
 */
#include <linux/ktime.h>
#include <linux/skbuff.h>

#include "compat.h"
#include "req.h"

enum comp_step {
	COMP_DROP,
	COMP_OK,
	COMP_LOST,	/* go back to the oldest unacknowledged packet */
	COMP_BAD,	/* a response to nothing that was requested */
};

static struct uroce_msg *comp_head(struct uroce_conn *conn)
{
	return conn->ops->msg(conn, conn->req.done);
}

/* Is there a request that has sequence numbers? */
static bool comp_more(const struct uroce_requester *req)
{
	return req->done != req->begun;
}

/* Everything before @una is acknowledged. */
void uroce_comp_advance(struct uroce_conn *conn, u32 una)
{
	struct uroce_requester *req = &conn->req;
	s32 packets = uroce_psn_diff(una, req->una);
	struct uroce_msg *msg;

	if (packets) {
		WRITE_ONCE(req->una, una);
		uroce_window_gain(req, packets);
		req->tries = req->retry_cnt;
		req->rnr_tries = req->rnr_retry;
		req->rnr_waits = 0;
		req->went_back = false;
		if (unlikely(req->missing.armed))
			uroce_missing_advance(req);
		if (req->timeout && !req->waiting)
			mod_timer(&req->timer, jiffies + req->timeout);
	}
	/* A late ACK for packets that are being sent again: skip them. */
	if (uroce_psn_diff(una, req->psn) > 0)
		uroce_req_seek(conn, una, req->done);
	while (comp_more(req)) {
		msg = comp_head(conn);
		if (uroce_psn_diff(msg->last, una) >= 0 ||
		    (uroce_msg_is_local(msg) && !msg->executed))
			break;
		req->done++;
		conn->ops->done(conn, msg, IB_WC_SUCCESS);
	}
}

/*
 * The peer has executed all requests before @psn. Returns true if all of them
 * are complete, false if one is a read or an atomic whose response must have
 * been lost.
 */
static bool comp_passed(struct uroce_conn *conn, u32 psn)
{
	struct uroce_requester *req = &conn->req;
	struct uroce_msg *msg;
	u32 i;

	if (uroce_psn_diff(psn, req->una) <= 0)
		return true;
	for (i = req->done; i != req->begun; i++) {
		msg = conn->ops->msg(conn, i);
		if (uroce_psn_diff(msg->first, psn) >= 0)
			break;
		if (!uroce_msg_has_response(msg) ||
		    uroce_psn_diff(msg->last, req->una) < 0)
			continue;
		if (uroce_psn_diff(msg->first, req->una) > 0)
			uroce_comp_advance(conn, msg->first);
		return false;
	}
	uroce_comp_advance(conn, psn);
	return true;
}

/*
 * The wait that the peer asks for. A requester that retries without limit waits
 * twice as long after each RNR NAK in a row, up to RNR_DOUBLINGS times, where
 * that is longer: many queue pairs that ask again every 10 microseconds, or
 * thousands that ask every millisecond, would use up a processor on both hosts.
 * The longest wait is 10 ms.
 */
#define RNR_FIRST_NS	(10ull * NSEC_PER_USEC)
#define RNR_DOUBLINGS	10

static u64 comp_wait_ns(struct uroce_requester *req, u8 timer)
{
	u64 ns = uroce_rnr_ns(timer);
	u8 waits = req->rnr_waits;

	if (req->rnr_retry != 7)
		return ns;
	if (req->rnr_waits < RNR_DOUBLINGS)
		req->rnr_waits++;
	return max(ns, RNR_FIRST_NS << waits);
}

static enum comp_step comp_wait(struct uroce_conn *conn, u8 timer)
{
	struct uroce_requester *req = &conn->req;

	if (req->waiting)
		return COMP_DROP;
	conn->ops->count(conn, UROCE_CNT_RNR_RECEIVED);
	if (!req->rnr_tries) {
		uroce_req_fail(conn, IB_WC_RNR_RETRY_EXC_ERR);
		return COMP_DROP;
	}
	if (req->rnr_retry != 7)
		req->rnr_tries--;
	uroce_req_pause(conn, comp_wait_ns(req, timer));
	return COMP_OK;
}

static enum comp_step comp_nak(struct uroce_conn *conn,
			       const struct uroce_packet *pkt, u8 syndrome)
{
	conn->ops->count(conn, UROCE_CNT_NAKS);
	switch (syndrome) {
	case UROCE_NAK_SEQUENCE:
		if (!pkt->len || !conn->req.timeout)
			return COMP_LOST;
		uroce_missing_told(conn, pkt);
		break;
	case UROCE_NAK_INVALID:
		uroce_req_fail(conn, IB_WC_REM_INV_REQ_ERR);
		break;
	case UROCE_NAK_ACCESS:
		uroce_req_fail(conn, IB_WC_REM_ACCESS_ERR);
		break;
	case UROCE_NAK_OPERATION:
	default:	/* a reserved code; rdma_rxe reports the same status */
		uroce_req_fail(conn, IB_WC_REM_OP_ERR);
		break;
	}
	return COMP_DROP;
}

static enum comp_step comp_ack(struct uroce_conn *conn,
			       const struct uroce_packet *pkt, u8 syndrome)
{
	u8 kind = syndrome & UROCE_AETH_KIND;

	uroce_missing_heard(conn, pkt, kind != UROCE_AETH_ACK);
	if (kind == UROCE_AETH_ACK)
		return comp_passed(conn, uroce_psn_add(pkt->psn, 1)) ?
			COMP_OK : COMP_LOST;
	/* A reserved type. A late packet must not end the connection. */
	if (kind != UROCE_AETH_RNR && kind != UROCE_AETH_NAK)
		return uroce_psn_diff(pkt->psn, conn->req.una) < 0 ?
			COMP_DROP : COMP_BAD;
	if (!comp_passed(conn, pkt->psn))
		return COMP_LOST;
	/*
	 * An outdated NAK: the refused packet was acknowledged later.
	 */
	if (pkt->psn != conn->req.una)
		return COMP_DROP;
	if (kind == UROCE_AETH_RNR)
		return comp_wait(conn, syndrome & UROCE_AETH_DETAIL);
	return comp_nak(conn, pkt, syndrome);
}

/* Is this the next response? Otherwise an earlier one is missing. */
static enum comp_step comp_expect(struct uroce_conn *conn,
				  const struct uroce_packet *pkt, u16 op)
{
	struct uroce_requester *req = &conn->req;
	struct uroce_msg *msg;

	if (!comp_passed(conn, pkt->psn) || pkt->psn != req->una)
		return COMP_LOST;
	if (!comp_more(req))
		return COMP_BAD;
	msg = comp_head(conn);
	if (uroce_psn_diff(pkt->psn, msg->first) < 0 ||
	    !uroce_msg_has_response(msg) ||
	    uroce_msg_is_atomic(msg) != (op == UROCE_OP_ATOMIC))
		return COMP_BAD;
	return COMP_OK;
}

static void comp_answered(struct uroce_conn *conn)
{
	if (conn->req.reads)
		conn->req.reads--;
}

/*
 * The wait before a response that was dropped, because its pages are being
 * faulted in, is requested again. It doubles up to PAGING_DOUBLINGS times.
 */
#define PAGING_NS	(320ull * NSEC_PER_USEC)
#define PAGING_DOUBLINGS 5

static void comp_paging(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;
	u8 waits = min_t(u8, req->rnr_waits, PAGING_DOUBLINGS);

	if (req->rnr_waits < RNR_DOUBLINGS)
		req->rnr_waits++;
	uroce_req_pause(conn, PAGING_NS << waits);
}

static enum comp_step comp_scatter(struct uroce_conn *conn,
				   struct uroce_msg *msg, u32 offset,
				   const struct uroce_packet *pkt)
{
	int status = conn->ops->scatter(conn, msg, offset, pkt);

	if (!status)
		return COMP_OK;
	if (status == -EAGAIN)
		comp_paging(conn);
	else
		uroce_req_fail(conn, status);
	return COMP_DROP;
}

/* The expected length of the response in @packets packets. */
static u32 comp_length(const struct uroce_conn *conn,
		       const struct uroce_msg *msg, u32 offset, u32 packets)
{
	if (!uroce_wr_is(msg->op, UROCE_WRF_FETCH))
		return 0;
	return min(msg->length - offset, packets * conn->mtu);
}

/*
 * Does the packet begin and end a response where the request does? Otherwise a
 * request could complete while req.reads still counts it. A GSO packet belongs
 * to one piece as well.
 */
static bool comp_in_order(const struct uroce_requester *req,
			  const struct uroce_msg *msg,
			  const struct uroce_packet *pkt)
{
	u32 piece = uroce_piece_packets(req, pkt->psn);
	u32 at = uroce_psn_diff(pkt->psn, msg->first);
	u32 behind = at + pkt->packets;
	u32 count = uroce_psn_diff(msg->last, msg->first) + 1;
	bool ends = behind == count || !(behind % piece);

	if (pkt->psn == msg->first && !(pkt->op->flags & UROCE_OP_FIRST))
		return false;
	if (behind > count || at / piece != (behind - 1) / piece)
		return false;
	return ends == !!(pkt->op->flags & UROCE_OP_LAST);
}

static enum comp_step comp_read(struct uroce_conn *conn,
				const struct uroce_packet *pkt)
{
	enum comp_step step = comp_expect(conn, pkt, UROCE_OP_READ);
	struct uroce_msg *msg;
	u32 offset;

	if (step != COMP_OK)
		return step;
	msg = comp_head(conn);
	offset = uroce_psn_diff(pkt->psn, msg->first) * conn->mtu;
	if (pkt->len != comp_length(conn, msg, offset, pkt->packets) ||
	    !comp_in_order(&conn->req, msg, pkt))
		return COMP_BAD;
	if (uroce_msg_is_read(msg))
		step = comp_scatter(conn, msg, offset, pkt);
	if (step != COMP_OK)
		return step;
	if (pkt->op->flags & UROCE_OP_LAST)
		comp_answered(conn);
	uroce_comp_advance(conn, uroce_psn_add(pkt->psn, pkt->packets));
	return COMP_OK;
}

static enum comp_step comp_atomic(struct uroce_conn *conn,
				  const struct uroce_packet *pkt)
{
	enum comp_step step = comp_expect(conn, pkt, UROCE_OP_ATOMIC);

	if (step != COMP_OK)
		return step;
	step = comp_scatter(conn, comp_head(conn), 0, pkt);
	if (step != COMP_OK)
		return step;
	comp_answered(conn);
	uroce_comp_advance(conn, uroce_psn_add(pkt->psn, 1));
	return COMP_OK;
}

static enum comp_step comp_dispatch(struct uroce_conn *conn,
				    const struct uroce_packet *pkt)
{
	struct uroce_requester *req = &conn->req;
	u32 before = uroce_psn_add(req->una, -1);
	u32 last = uroce_psn_add(pkt->psn, pkt->packets - 1);
	u8 syndrome = UROCE_AETH_ACK;
	bool ack;

	if (pkt->op->flags & UROCE_OP_AETH)
		syndrome = uroce_aeth_syndrome((void *)(pkt->bth + 1));
	ack = !(pkt->op->flags & (UROCE_OP_READ | UROCE_OP_ATOMIC));
	if (uroce_psn_diff(last, req->high) >= 0 ||
	    uroce_psn_diff(pkt->psn, before) < 0)
		return COMP_DROP;
	if (ack)
		return comp_ack(conn, pkt, syndrome);
	if (pkt->psn == before)
		return COMP_DROP;
	if ((syndrome & UROCE_AETH_KIND) != UROCE_AETH_ACK)
		return COMP_BAD;
	return pkt->op->flags & UROCE_OP_READ ? comp_read(conn, pkt) :
						comp_atomic(conn, pkt);
}

/*
 * The peer notifies us that packets of this side met congestion. If no request
 * is under way, they may have been responses. Annex A17 of the specification
 * leaves the reaction to the implementation.
 */
static void comp_told(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;

	conn->ops->count(conn, UROCE_CNT_CNP_HANDLED);
	if (!uroce_conn_is_reliable(conn)) {
		uroce_throttle_cut(&req->throttle, conn->mtu);
		return;
	}
	if (req->una == req->high)
		uroce_resp_told(conn);
	uroce_window_cut(req);
}

/* A GSO packet of another path MTU has to be cut. */
bool uroce_comp_takes(const struct uroce_conn *conn,
		      const struct uroce_packet *pkt)
{
	return pkt->packets == 1 || pkt->mtu == conn->mtu;
}

/* The caller runs the requester afterwards. */
void uroce_comp_receive(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	if (pkt->bth->opcode == UROCE_CNP) {
		comp_told(conn);
		return;
	}
	/* Responses met congestion. */
	if (pkt->ce)
		uroce_window_cut(&conn->req);
	switch (comp_dispatch(conn, pkt)) {
	case COMP_LOST:
		/*
		 * The NAKs for the other packets in flight report the same
		 * loss.
		 */
		if (conn->req.went_back || conn->req.waiting)
			break;
		uroce_window_cut(&conn->req);
		uroce_req_retry(conn);
		break;
	case COMP_BAD:
		uroce_req_fail(conn, IB_WC_BAD_RESP_ERR);
		break;
	case COMP_DROP:
	case COMP_OK:
		break;
	}
}
