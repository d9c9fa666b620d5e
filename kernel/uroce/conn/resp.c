// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: executes the peer's requests packet by packet. Each packet
 * passes a series of checks before it touches memory. Any of them may reject
 * the packet. The contents are untrusted.
 */
#include <linux/ktime.h>
#include <linux/skbuff.h>

#include "compat.h"
#include "resp.h"

/* ---- checks -------------------------------------------------------------- */

static enum resp_step check_psn(struct uroce_conn *conn,
				const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	s32 ahead = uroce_psn_diff(pkt->psn, resp->psn);

	if (!ahead)
		return RESP_OK;
	if (uroce_conn_is_reliable(conn))
		return ahead < 0 ? RESP_AGAIN : RESP_GAP;
	/*
	 * A message with a missing packet is dropped, and the next message may
	 * begin.
	 */
	resp->op = 0;
	resp->psn = pkt->psn;
	return pkt->op->flags & UROCE_OP_FIRST ? RESP_OK : RESP_DROP;
}

/*
 * First, middle and last packets arrive in this order, and all packets of a
 * message are of one type.
 */
static enum resp_step check_order(struct uroce_conn *conn,
				  const struct uroce_packet *pkt)
{
	u16 op = pkt->op->flags & (UROCE_OP_SEND | UROCE_OP_WRITE);
	bool first = pkt->op->flags & UROCE_OP_FIRST;
	bool fits =
		first ? !conn->resp.op : conn->resp.op && conn->resp.op == op;

	if (fits)
		return RESP_OK;
	if (uroce_conn_is_reliable(conn))
		return RESP_INVALID;
	conn->resp.op = 0;
	return first ? RESP_OK : RESP_DROP;
}

/*
 * Every packet but the last of a message has the length of the MTU, and the
 * last of several is not empty.
 */
static enum resp_step check_length(struct uroce_conn *conn,
				   const struct uroce_packet *pkt)
{
	bool first = pkt->op->flags & UROCE_OP_FIRST;
	bool last = pkt->op->flags & UROCE_OP_LAST;
	u32 full = pkt->packets * conn->mtu;

	if (!(pkt->op->flags & UROCE_OP_PAYLOAD))
		return RESP_OK;
	if (pkt->len > full || (!last && pkt->len < full) ||
	    (last && !first && !pkt->len))
		return RESP_INVALID;
	return RESP_OK;
}

/*
 * XRC: all packets of a message are for one shared receive queue, which exists.
 */
static enum resp_step check_target(struct uroce_conn *conn,
				   const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	u32 srqn = resp_srqn(conn, pkt);

	if (resp->op && srqn != resp->srqn)
		return RESP_INVALID;
	resp->srqn = srqn;
	return resp_aim(conn, srqn) ? RESP_OK : RESP_INVALID;
}

/* The result of an operation on the peer's behalf; see uroce_conn_ops. */
enum resp_step uroce_resp_step(int status)
{
	switch (status) {
	case 0:
		return RESP_OK;
	case -EAGAIN:
		return RESP_PAGING;
	/*
	 * The address is aligned, but the memory that a window maps it to need
	 * not be.
	 */
	case IB_WC_REM_INV_REQ_ERR:
		return RESP_INVALID;
	default:
		return RESP_ACCESS;
	}
}

enum resp_step uroce_resp_access(struct uroce_conn *conn, u32 rkey, u64 va,
				 u32 len, int access)
{
	if (!(conn->resp.access & access))
		return RESP_INVALID;
	return len && conn->ops->check(conn, rkey, va, len, access) ?
		RESP_ACCESS : RESP_OK;
}

/* ---- sends and writes ---------------------------------------------------- */

static void recv_complete(struct uroce_conn *conn,
			  const struct uroce_packet *pkt,
			  enum ib_wc_status status)
{
	struct uroce_responder *resp = &conn->resp;
	struct ib_wc wc = {
		.status = status,
		.opcode = pkt->op->flags & UROCE_OP_WRITE ?
				  IB_WC_RECV_RDMA_WITH_IMM :
				  IB_WC_RECV,
		.byte_len = resp->op == UROCE_OP_WRITE ? resp->length :
							 resp->offset,
		.src_qp = conn->peer,
	};

	if (pkt->op->flags & UROCE_OP_IMM) {
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = uroce_packet_imm(pkt);
	} else if (pkt->op->flags & UROCE_OP_INV) {
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = be32_to_cpu(uroce_packet_imm(pkt));
	}
	resp->has_recv = false;
	conn->ops->received(conn, &wc, pkt->bth->flags & UROCE_BTH_SE);
}

/*
 * Takes a receive request. One that an unfinished unreliable message left
 * behind is used again.
 */
static enum resp_step need_recv(struct uroce_conn *conn,
				const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	int ret;

	if (resp->has_recv)
		return RESP_OK;
	ret = conn->ops->take(conn);
	if (ret == -ENOENT)
		return RESP_RNR;
	resp->has_recv = !ret || ret == IB_WC_LOC_QP_OP_ERR;
	if (!ret)
		return RESP_OK;
	if (!resp->has_recv)
		return RESP_OPERATION;
	recv_complete(conn, pkt, ret);
	return RESP_BAD_RECV;
}

static enum resp_step begin_write(struct uroce_conn *conn,
				  const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	const struct uroce_reth *reth = resp_eth(conn, pkt);

	resp->rkey = be32_to_cpu(reth->rkey);
	resp->va = be64_to_cpu(reth->va);
	resp->length = be32_to_cpu(reth->len);
	if (resp->length > UROCE_MAX_MESSAGE)
		return RESP_INVALID;
	return uroce_resp_access(conn, resp->rkey, resp->va, resp->length,
				 IB_ACCESS_REMOTE_WRITE);
}

/* Memory is changed only after all checks of the packet have passed. */
static enum resp_step write_packet(struct uroce_conn *conn,
				   const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	u32 end = resp->offset + pkt->len;

	if (end > resp->length ||
	    ((pkt->op->flags & UROCE_OP_LAST) && end != resp->length))
		return RESP_INVALID;
	if (pkt->op->flags & UROCE_OP_RECV) {
		enum resp_step step = need_recv(conn, pkt);

		if (step != RESP_OK)
			return step;
	}
	if (!pkt->len)
		return RESP_OK;
	return uroce_resp_step(conn->ops->write(conn, resp->rkey,
						resp->va + resp->offset, pkt));
}

static enum resp_step send_packet(struct uroce_conn *conn,
				  const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	enum resp_step step = need_recv(conn, pkt);
	int status;

	if (step != RESP_OK)
		return step;
	status = pkt->len ? conn->ops->place(conn, resp->offset, pkt) : 0;
	if (status == -EAGAIN)
		return RESP_PAGING;
	if (status) {
		recv_complete(conn, pkt, status);
		return status == IB_WC_LOC_LEN_ERR ? RESP_TOO_LONG :
						     RESP_BAD_RECV;
	}
	if (!(pkt->op->flags & UROCE_OP_INV))
		return RESP_OK;
	status =
		conn->ops->invalidate(conn, be32_to_cpu(uroce_packet_imm(pkt)));
	/* The packet is treated as lost until the peer repeats it. */
	if (status == -EAGAIN)
		return RESP_DROP;
	if (!status)
		return RESP_OK;
	recv_complete(conn, pkt, IB_WC_LOC_QP_OP_ERR);
	return RESP_BAD_KEY;
}

static void message_end(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;

	if (unlikely(resp->counted) && resp->op == UROCE_OP_WRITE)
		conn->ops->served(conn, false, resp->length);
	if (pkt->op->flags & UROCE_OP_RECV)
		recv_complete(conn, pkt, IB_WC_SUCCESS);
	resp->op = 0;
	resp->msn++;
	resp_sweep(resp);
}

static enum resp_step message_packet(struct uroce_conn *conn,
				     const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	bool first = pkt->op->flags & UROCE_OP_FIRST;
	enum resp_step step = RESP_OK;

	if (first)
		resp->offset = 0;
	if (pkt->op->flags & UROCE_OP_WRITE) {
		if (first)
			step = begin_write(conn, pkt);
		if (step == RESP_OK)
			step = write_packet(conn, pkt);
	} else {
		step = send_packet(conn, pkt);
	}
	if (step != RESP_OK)
		return step;
	resp->op = pkt->op->flags & (UROCE_OP_SEND | UROCE_OP_WRITE);
	resp->offset += pkt->len;
	resp->psn = uroce_psn_add(resp->psn, pkt->packets);
	if (pkt->op->flags & UROCE_OP_LAST)
		message_end(conn, pkt);
	return RESP_OK;
}

/* ---- one packet ---------------------------------------------------------- */

static enum resp_step execute(struct uroce_conn *conn,
			      const struct uroce_packet *pkt)
{
	if (likely(pkt->op->flags & (UROCE_OP_SEND | UROCE_OP_WRITE)))
		return message_packet(conn, pkt);
	if (pkt->op->flags & UROCE_OP_READ)
		return uroce_resp_read(conn, pkt);
	if (pkt->op->flags & UROCE_OP_ATOMIC)
		return uroce_resp_atomic(conn, pkt);
	if (pkt->op->flags & UROCE_OP_ATOMIC_WRITE)
		return uroce_resp_atomic_write(conn, pkt);
	return uroce_resp_flush(conn, pkt);
}

static enum resp_step ladder(struct uroce_conn *conn,
			     const struct uroce_packet *pkt)
{
	enum resp_step step = check_psn(conn, pkt);

	if (step == RESP_OK)
		step = check_order(conn, pkt);
	if (step == RESP_OK)
		step = check_length(conn, pkt);
	if (step == RESP_OK)
		step = check_target(conn, pkt);
	if (step == RESP_OK)
		step = execute(conn, pkt);
	if (step == RESP_OK) {
		conn->resp.told = false;
		if (uroce_bth_ack_req(pkt->bth) &&
		    uroce_conn_is_reliable(conn) &&
		    pkt->op->flags & (UROCE_OP_SEND | UROCE_OP_WRITE)) {
			conn->resp.held.known =
				conn->selective &&
				uroce_bth_selective(pkt->bth);
			uroce_resp_ack(conn, UROCE_AETH_NO_CREDIT,
				       uroce_psn_add(pkt->psn,
						     pkt->packets - 1));
		}
	}
	return step;
}

/* The peer of an unreliable connection is not told about errors. */
static void end_unreliable(struct uroce_conn *conn, enum resp_step step)
{
	struct uroce_responder *resp = &conn->resp;

	if (step == RESP_OK || step == RESP_DROP)
		return;
	resp->op = 0;
	resp->psn = uroce_psn_add(resp->psn, 1);
	if (step < RESP_OPERATION)
		return;
	resp->running = false;
	conn->ops->broken(conn, step == RESP_OPERATION ? IB_EVENT_QP_FATAL : 0);
}

/* Sends one NAK; the peer goes back to the expected packet. */
static void tell(struct uroce_conn *conn, u8 syndrome)
{
	conn->resp.told = true;
	conn->resp.patience = 0;
	uroce_resp_ack(conn, syndrome, conn->resp.psn);
}

/*
 * An earlier packet is missing. A peer that was told to wait had other packets
 * in flight, which are dropped silently. When its wait is over it has sent
 * again, and a gap then means a new loss.
 */
static void tell_gap(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	const struct uroce_responder *resp = &conn->resp;
	bool news;

	if (uroce_held_take(conn, pkt, &news)) {
		if (news)
			tell(conn, UROCE_NAK_SEQUENCE);
		return;
	}
	if (!resp->told || (resp->patience && ktime_get_ns() > resp->patience))
		tell(conn, UROCE_NAK_SEQUENCE);
}

/*
 * The RNR timer for pages that are being faulted in, 0.64 ms: a page that has
 * to be read takes longer than one that only has to be cleared.
 */
#define PAGING_TIMER 12

/*
 * A longer wait that the owner asks for lets a peer with few RNR retries wait
 * for slow pages. The codes rise with the time, but for 0, which is 655 ms:
 * that is what a program has that did not choose.
 */
static u8 paging_timer(const struct uroce_responder *resp)
{
	return max_t(u8, resp->rnr_timer, PAGING_TIMER);
}

static void tell_not_ready(struct uroce_conn *conn, u8 timer)
{
	conn->ops->count(conn, UROCE_CNT_RNR_SENT);
	tell(conn, UROCE_AETH_RNR | timer);
	conn->resp.patience = UROCE_PATIENCE_BEGINS;
}

/*
 * Without a receive request that can show the error, the owner gets an event.
 */
static void refuse(struct uroce_conn *conn, const struct uroce_packet *pkt,
		   enum resp_step step)
{
	bool shown = step == RESP_INVALID && conn->resp.has_recv;
	u32 psn = pkt->psn;

	if (shown)
		recv_complete(conn, pkt, IB_WC_REM_INV_REQ_ERR);
	switch (step) {
	case RESP_ACCESS:
		uroce_resp_refuse(conn, UROCE_NAK_ACCESS, psn,
				  IB_EVENT_QP_ACCESS_ERR);
		break;
	case RESP_OPERATION:
		uroce_resp_refuse(conn, UROCE_NAK_OPERATION, psn,
				  IB_EVENT_QP_FATAL);
		break;
	case RESP_TOO_LONG:
		uroce_resp_refuse(conn, UROCE_NAK_INVALID, psn, 0);
		break;
	case RESP_BAD_KEY:
		uroce_resp_refuse(conn, UROCE_NAK_ACCESS, psn, 0);
		break;
	case RESP_BAD_RECV:
		uroce_resp_refuse(conn, UROCE_NAK_OPERATION, psn, 0);
		break;
	default:
		uroce_resp_refuse(conn, UROCE_NAK_INVALID, psn,
				  shown ? 0 : IB_EVENT_QP_REQ_ERR);
	}
}

static void end_reliable(struct uroce_conn *conn,
			 const struct uroce_packet *pkt, enum resp_step step)
{
	switch (step) {
	case RESP_OK:
	case RESP_DROP:
		break;
	case RESP_AGAIN:
		conn->ops->count(conn, UROCE_CNT_DUPLICATES);
		uroce_resp_again(conn, pkt);
		break;
	case RESP_GAP:
		conn->ops->count(conn, UROCE_CNT_OUT_OF_SEQUENCE);
		tell_gap(conn, pkt);
		break;
	case RESP_RNR:
		tell_not_ready(conn, conn->resp.rnr_timer);
		break;
	case RESP_PAGING:
		tell_not_ready(conn, paging_timer(&conn->resp));
		break;
	default:
		refuse(conn, pkt, step);
	}
}

/*
 * Executes a packet that was held. If all slots for responses are in use, their
 * responses are sent before, as if the packets had arrived one by one; @asked
 * is set if an acknowledgement may have been sent with them.
 */
static enum resp_step execute_late(struct uroce_conn *conn,
				   const struct uroce_packet *pkt, bool *asked)
{
	struct uroce_responder *resp = &conn->resp;
	enum resp_step step;

	if (!(pkt->op->flags & (UROCE_OP_SEND | UROCE_OP_WRITE)) &&
	    resp_full(resp)) {
		*asked |= resp->ack;
		uroce_resp_run(conn);
		if (resp->refused)
			return RESP_DROP;
	}
	step = ladder(conn, pkt);
	end_reliable(conn, pkt, step);
	return step;
}

/*
 * Executes the packets that are held behind the one that was missing. If one of
 * them cannot be executed now, the peer goes back and repeats all of them.
 */
static void execute_held(struct uroce_conn *conn)
{
	struct uroce_responder *resp = &conn->resp;
	u32 psn = resp->psn;
	struct uroce_packet pkt;
	bool asked = false;
	struct sk_buff *skb;
	enum resp_step step;

	while ((skb = uroce_held_next(conn, &pkt))) {
		step = execute_late(conn, &pkt, &asked);
		consume_skb(skb);
		if (step == RESP_OK)
			continue;
		uroce_held_purge(conn);
		return;
	}
	if (skb_queue_empty(&resp->held.packets))
		return;
	if (resp->psn != psn)
		uroce_held_wait(&resp->held);
	/* An acknowledgement that is due names what is still missing. */
	if ((resp->ack || asked) &&
	    (resp->syndrome & UROCE_AETH_KIND) == UROCE_AETH_ACK)
		tell(conn, UROCE_NAK_SEQUENCE);
}

/*
 * A GSO packet is executed as one packet if it is the next one. Otherwise it
 * has to be cut: each of its packets is held, or answered again.
 */
bool uroce_resp_takes(const struct uroce_conn *conn,
		      const struct uroce_packet *pkt)
{
	return pkt->packets == 1 ||
	       (pkt->psn == conn->resp.psn && pkt->mtu == conn->mtu &&
		skb_queue_empty(&conn->resp.held.packets));
}

/* Executes the packet of a request, and sends the answers that are due. */
void uroce_resp_receive(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	enum resp_step step;

	if (!resp->running || resp->refused)
		return;
	step = ladder(conn, pkt);
	if (uroce_conn_is_reliable(conn))
		end_reliable(conn, pkt, step);
	else
		end_unreliable(conn, step);
	if (unlikely(!skb_queue_empty(&resp->held.packets)))
		execute_held(conn);
	if (!resp->established && resp->running) {
		resp->established = true;
		conn->ops->established(conn);
	}
	uroce_resp_run(conn);
}

/* ---- calls of the owner -------------------------------------------------- */

void uroce_resp_start(struct uroce_conn *conn, u32 psn)
{
	struct uroce_responder *resp = &conn->resp;

	resp->psn = psn;
	resp->swept = psn;
	resp->msn = 0;
	resp->op = 0;
	resp->told = false;
	resp->held.known = false;
	resp->held.expired = false;
	resp->told_congestion = 0;
	WRITE_ONCE(resp->congested, 0);
	uroce_throttle_end(&resp->throttle);
	resp->care = (struct uroce_care){};
	resp->established = false;
	resp->has_recv = false;
	resp->ack = false;
	resp->refused = false;
	resp->waiting = false;
	resp->pressed = false;
	resp->stuck = 0;
	resp->count = 0;
	memset(resp->responses, 0, resp->limit * sizeof(*resp->responses));
	resp->running = true;
}

void uroce_resp_halt(struct uroce_conn *conn)
{
	conn->resp.running = false;
}
