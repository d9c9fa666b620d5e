// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: executes what the peer asks for, each packet when it comes. A
 * packet runs through a ladder of checks, each of which may end it; only one that
 * passed them all touches memory. Whatever is in it is hostile.
 */
#include <linux/skbuff.h>

#include "conn.h"

/* Packets of read responses that go out at a time */
#define BURST 64

/* How packets end */
enum resp_step {
	RESP_OK,
	RESP_DROP,
	RESP_AGAIN,	/* was executed before: say so again */
	RESP_GAP,	/* something before it is missing */
	RESP_RNR,	/* no receive request */
	RESP_INVALID,
	RESP_ACCESS,
	RESP_OPERATION,
};

static bool reliable(const struct uroce_conn *conn)
{
	return conn->service != UROCE_UC;
}

/* Where the headers begin that the opcode announces */
static const void *resp_eth(const struct uroce_conn *conn,
			    const struct uroce_packet *pkt)
{
	const u8 *eth = (const u8 *)(pkt->bth + 1);

	return conn->service == UROCE_XRC ? eth + sizeof(__be32) : eth;
}

static u32 resp_srqn(const struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	if (conn->service != UROCE_XRC)
		return 0;
	return be32_to_cpup((const __be32 *)(pkt->bth + 1)) & 0xffffff;
}

/* Immediate data, or the key to invalidate */
static __be32 resp_imm(const struct uroce_packet *pkt)
{
	return *(const __be32 *)((const u8 *)pkt->bth + pkt->op->length -
				 sizeof(__be32));
}

/* ---- what goes out ------------------------------------------------------------ */

static int resp_send(struct uroce_conn *conn, struct sk_buff *skb)
{
	return conn->ops->xmit(conn, skb, true);
}

/* True if it went out, or can be taken for lost */
static bool send_ack(struct uroce_conn *conn)
{
	struct uroce_responder *resp = &conn->resp;
	u8 opcode = conn->service | UROCE_ACKNOWLEDGE;
	struct sk_buff *skb = uroce_net_alloc(uroce_ops[opcode].length, GFP_ATOMIC);
	struct uroce_aeth *aeth;

	if (!skb)
		return false;
	aeth = (void *)uroce_bth_put(conn, skb, opcode, resp->ack_psn, 0);
	aeth->smsn = uroce_aeth_make(resp->syndrome, resp->msn);
	return resp_send(conn, skb) != -ENOBUFS;
}

static bool send_atomic(struct uroce_conn *conn, struct uroce_response *res)
{
	u8 opcode = conn->service | UROCE_ATOMIC_ACK;
	struct sk_buff *skb = uroce_net_alloc(uroce_ops[opcode].length, GFP_ATOMIC);
	struct uroce_atomic_ack *ack;
	struct uroce_aeth *aeth;

	if (!skb)
		return false;
	aeth = (void *)uroce_bth_put(conn, skb, opcode, res->first, 0);
	aeth->smsn = uroce_aeth_make(UROCE_AETH_NO_CREDIT, res->msn);
	ack = (void *)(aeth + 1);
	ack->orig = cpu_to_be64(res->orig);
	if (resp_send(conn, skb) == -ENOBUFS)
		return false;
	res->pending = false;
	return true;
}

static u8 read_opcode(const struct uroce_response *res)
{
	bool first = res->psn == res->from, last = res->psn == res->last;

	if (first)
		return last ? UROCE_READ_ONLY : UROCE_READ_FIRST;
	return last ? UROCE_READ_LAST : UROCE_READ_MIDDLE;
}

static void resp_refuse(struct uroce_conn *conn, u8 syndrome, u32 psn);

static bool send_read(struct uroce_conn *conn, struct uroce_response *res)
{
	u8 opcode = conn->service | read_opcode(res);
	u64 va = res->va + (u64)uroce_psn_diff(res->psn, res->from) * conn->mtu;
	u32 len = min_t(u64, res->end - va, conn->mtu), pad = uroce_pad(len);
	struct sk_buff *skb;
	u8 *eth;

	skb = uroce_net_alloc(uroce_ops[opcode].length + len + pad, GFP_ATOMIC);
	if (!skb)
		return false;
	eth = uroce_bth_put(conn, skb, opcode, res->psn, pad);
	if (uroce_ops[opcode].flags & UROCE_OP_AETH)
		*(__be32 *)eth = uroce_aeth_make(UROCE_AETH_NO_CREDIT, res->msn);
	if (len && conn->ops->read(conn, res->rkey, va, skb_put(skb, len), len)) {
		kfree_skb(skb);
		resp_refuse(conn, UROCE_NAK_ACCESS, res->psn);
		return true;
	}
	memset(skb_put(skb, pad), 0, pad);
	if (resp_send(conn, skb) == -ENOBUFS)
		return false;
	res->pending = res->psn != res->last;
	res->psn = uroce_psn_add(res->psn, 1);
	return true;
}

/* The oldest response of which something is still to be sent */
static struct uroce_response *resp_pending(struct uroce_responder *resp)
{
	struct uroce_response *res;
	u32 i;

	for (i = resp->limit; i; i--) {
		res = &resp->responses[(resp->count - i) % resp->limit];
		if (res->pending)
			return res;
	}
	return NULL;
}

static bool send_next(struct uroce_conn *conn, struct uroce_response *res)
{
	return res->op & UROCE_OP_READ ? send_read(conn, res) : send_atomic(conn, res);
}

/* Sends what is due, in order: responses, then the acknowledgement of all */
void uroce_resp_run(struct uroce_conn *conn)
{
	struct uroce_responder *resp = &conn->resp;
	struct uroce_response *res;
	int left = BURST;

	if (!resp->running)
		return;
	while (resp->waiting && (res = resp_pending(resp))) {
		if (!left-- || !send_next(conn, res))
			goto later;
		if (!resp->running)
			return;
	}
	resp->waiting = false;
	if (resp->ack && !send_ack(conn))
		goto later;
	resp->ack = false;
	return;
later:
	if (!timer_pending(&resp->timer))
		mod_timer(&resp->timer, jiffies + 1);
}

void uroce_resp_timer(struct timer_list *timer)
{
	struct uroce_conn *conn = from_timer(conn, timer, resp.timer);

	conn->ops->rerun(conn, true);
}

static void resp_ack(struct uroce_conn *conn, u8 syndrome, u32 psn)
{
	struct uroce_responder *resp = &conn->resp;

	resp->ack = true;
	resp->syndrome = syndrome;
	resp->ack_psn = psn;
}

/* The last word: the connection is over */
static void resp_refuse(struct uroce_conn *conn, u8 syndrome, u32 psn)
{
	struct uroce_responder *resp = &conn->resp;

	resp_ack(conn, syndrome, psn);
	send_ack(conn);
	resp->running = false;
	conn->ops->broken(conn, syndrome == UROCE_NAK_ACCESS ?
			  IB_EVENT_QP_ACCESS_ERR : IB_EVENT_QP_REQ_ERR);
}

/* ---- checks ------------------------------------------------------------------- */

static enum resp_step check_psn(struct uroce_conn *conn,
				const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	s32 ahead = uroce_psn_diff(pkt->psn, resp->psn);

	if (!ahead)
		return RESP_OK;
	if (reliable(conn))
		return ahead < 0 ? RESP_AGAIN : RESP_GAP;
	/* A message with a hole is forgotten, and another may begin */
	resp->op = 0;
	resp->psn = pkt->psn;
	return pkt->op->flags & UROCE_OP_FIRST ? RESP_OK : RESP_DROP;
}

/* First, middle, last in this order, and all of one message alike */
static enum resp_step check_order(struct uroce_conn *conn,
				  const struct uroce_packet *pkt)
{
	u16 op = pkt->op->flags & (UROCE_OP_SEND | UROCE_OP_WRITE);
	bool first = pkt->op->flags & UROCE_OP_FIRST;
	bool fits = first ? !conn->resp.op : conn->resp.op && conn->resp.op == op;

	if (fits)
		return RESP_OK;
	if (reliable(conn))
		return RESP_INVALID;
	conn->resp.op = 0;
	return first ? RESP_OK : RESP_DROP;
}

/* Every packet but the last of a message is full, and the last is not empty */
static enum resp_step check_length(struct uroce_conn *conn,
				   const struct uroce_packet *pkt)
{
	bool first = pkt->op->flags & UROCE_OP_FIRST;
	bool last = pkt->op->flags & UROCE_OP_LAST;

	if (!(pkt->op->flags & UROCE_OP_PAYLOAD))
		return RESP_OK;
	if (pkt->len > conn->mtu || (!last && pkt->len < conn->mtu) ||
	    (last && !first && !pkt->len))
		return RESP_INVALID;
	return RESP_OK;
}

static enum resp_step check_access(struct uroce_conn *conn, u32 rkey, u64 va,
				   u32 len, int access)
{
	if (!(conn->resp.access & access))
		return RESP_ACCESS;
	return len && conn->ops->check(conn, rkey, va, len, access) ?
		RESP_ACCESS : RESP_OK;
}

/* ---- sends and writes --------------------------------------------------------- */

/* A receive request; one that an unreliable message left behind serves again */
static enum resp_step need_recv(struct uroce_conn *conn,
				const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	int ret;

	if (resp->has_recv)
		return RESP_OK;
	ret = conn->ops->take(conn, resp_srqn(conn, pkt));
	if (ret == -ENOENT)
		return RESP_RNR;
	if (ret)
		return RESP_OPERATION;
	resp->has_recv = true;
	return RESP_OK;
}

static enum resp_step begin_write(struct uroce_conn *conn,
				  const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	const struct uroce_reth *reth = resp_eth(conn, pkt);

	resp->rkey = be32_to_cpu(reth->rkey);
	resp->va = be64_to_cpu(reth->va);
	resp->length = be32_to_cpu(reth->len);
	return check_access(conn, resp->rkey, resp->va, resp->length,
			    IB_ACCESS_REMOTE_WRITE);
}

/* Nothing is altered before each packet's checks have passed */
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
	if (pkt->len && conn->ops->write(conn, resp->rkey, resp->va + resp->offset,
					 pkt))
		return RESP_ACCESS;
	return RESP_OK;
}

static void recv_complete(struct uroce_conn *conn, const struct uroce_packet *pkt,
			  enum ib_wc_status status)
{
	struct uroce_responder *resp = &conn->resp;
	struct ib_wc wc = {
		.status = status,
		.opcode = pkt->op->flags & UROCE_OP_WRITE ?
			IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV,
		.byte_len = resp->op == UROCE_OP_WRITE ? resp->length : resp->offset,
		.src_qp = conn->peer,
	};

	if (pkt->op->flags & UROCE_OP_IMM) {
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = resp_imm(pkt);
	} else if (pkt->op->flags & UROCE_OP_INV) {
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = be32_to_cpu(resp_imm(pkt));
	}
	resp->has_recv = false;
	conn->ops->received(conn, &wc, pkt->bth->flags & UROCE_BTH_SE);
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
	if (status) {
		recv_complete(conn, pkt, status);
		return status == IB_WC_LOC_LEN_ERR ? RESP_INVALID : RESP_OPERATION;
	}
	if ((pkt->op->flags & UROCE_OP_INV) &&
	    conn->ops->invalidate(conn, be32_to_cpu(resp_imm(pkt))))
		return RESP_ACCESS;
	return RESP_OK;
}

static void message_end(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;

	if (pkt->op->flags & UROCE_OP_RECV)
		recv_complete(conn, pkt, IB_WC_SUCCESS);
	resp->op = 0;
	resp->msn++;
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
	resp->psn = uroce_psn_add(resp->psn, 1);
	if (pkt->op->flags & UROCE_OP_LAST)
		message_end(conn, pkt);
	return RESP_OK;
}

/* ---- reads and atomics -------------------------------------------------------- */

/* The next slot to remember a response in; NULL if the peer asks too much at once */
static struct uroce_response *response_new(struct uroce_responder *resp)
{
	struct uroce_response *res = &resp->responses[resp->count % resp->limit];

	if (res->pending)
		return NULL;
	memset(res, 0, sizeof(*res));
	return res;
}

static struct uroce_response *response_find(struct uroce_responder *resp, u32 psn)
{
	struct uroce_response *res;
	u32 i;

	for (i = 0; i < resp->limit; i++) {
		res = &resp->responses[i];
		if (res->op && uroce_psn_diff(psn, res->first) >= 0 &&
		    uroce_psn_diff(psn, res->last) <= 0)
			return res;
	}
	return NULL;
}

static void response_keep(struct uroce_responder *resp, struct uroce_response *res,
			  u16 op, u32 packets)
{
	res->op = op;
	res->first = resp->psn;
	res->last = uroce_psn_add(resp->psn, packets - 1);
	res->psn = resp->psn;
	res->from = resp->psn;
	res->msn = ++resp->msn;
	res->pending = true;
	resp->waiting = true;
	resp->count++;
	resp->psn = uroce_psn_add(resp->psn, packets);
}

static void read_aim(struct uroce_response *res, const struct uroce_reth *reth)
{
	res->rkey = be32_to_cpu(reth->rkey);
	res->va = be64_to_cpu(reth->va);
	res->end = res->va + be32_to_cpu(reth->len);
}

static u32 read_packets(const struct uroce_conn *conn, u32 len)
{
	return len ? DIV_ROUND_UP(len, conn->mtu) : 1;
}

static enum resp_step read_check(struct uroce_conn *conn,
				 const struct uroce_reth *reth)
{
	return check_access(conn, be32_to_cpu(reth->rkey), be64_to_cpu(reth->va),
			    be32_to_cpu(reth->len), IB_ACCESS_REMOTE_READ);
}

static enum resp_step read_request(struct uroce_conn *conn,
				   const struct uroce_packet *pkt)
{
	const struct uroce_reth *reth = resp_eth(conn, pkt);
	u32 packets = read_packets(conn, be32_to_cpu(reth->len));
	enum resp_step step = read_check(conn, reth);
	struct uroce_response *res;

	if (step != RESP_OK)
		return step;
	res = response_new(&conn->resp);
	if (!res || packets > UROCE_PSN_MASK / 2)
		return RESP_INVALID;
	read_aim(res, reth);
	response_keep(&conn->resp, res, UROCE_OP_READ, packets);
	return RESP_OK;
}

static enum resp_step atomic_request(struct uroce_conn *conn,
				     const struct uroce_packet *pkt)
{
	const struct uroce_atomic_eth *eth = resp_eth(conn, pkt);
	bool swap = (pkt->bth->opcode & UROCE_OPERATION) == UROCE_COMPARE_SWAP;
	u64 va = be64_to_cpu(eth->va);
	u32 rkey = be32_to_cpu(eth->rkey);
	struct uroce_response *res;
	enum resp_step step;

	if (va % sizeof(u64))
		return RESP_INVALID;
	step = check_access(conn, rkey, va, sizeof(u64), IB_ACCESS_REMOTE_ATOMIC);
	if (step != RESP_OK)
		return step;
	res = response_new(&conn->resp);
	if (!res)
		return RESP_INVALID;
	if (conn->ops->atomic(conn, rkey, va, swap, be64_to_cpu(eth->compare),
			      be64_to_cpu(eth->swap_add), &res->orig))
		return RESP_ACCESS;
	response_keep(&conn->resp, res, UROCE_OP_ATOMIC, 1);
	return RESP_OK;
}

/* ---- what was asked before ---------------------------------------------------- */

/* Memory may have been altered since; keys are checked anew */
static enum resp_step again_read(struct uroce_conn *conn,
				 const struct uroce_packet *pkt,
				 struct uroce_response *res)
{
	const struct uroce_reth *reth = resp_eth(conn, pkt);
	u32 packets = read_packets(conn, be32_to_cpu(reth->len));
	u32 last = uroce_psn_add(pkt->psn, packets - 1);

	if (!(res->op & UROCE_OP_READ) || packets > UROCE_PSN_MASK / 2 ||
	    uroce_psn_diff(last, conn->resp.psn) >= 0)
		return RESP_DROP;
	if (read_check(conn, reth) != RESP_OK)
		return RESP_DROP;
	read_aim(res, reth);
	res->from = pkt->psn;
	res->psn = pkt->psn;
	res->last = last;
	res->pending = true;
	conn->resp.waiting = true;
	return RESP_OK;
}

static enum resp_step again(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	struct uroce_response *res;

	if (!(pkt->op->flags & (UROCE_OP_READ | UROCE_OP_ATOMIC))) {
		/* All that came so far, or an older word would unsay a NAK */
		if (!conn->resp.ack)
			resp_ack(conn, UROCE_AETH_NO_CREDIT,
				 uroce_psn_add(conn->resp.psn, -1));
		return RESP_OK;
	}
	res = response_find(&conn->resp, pkt->psn);
	if (!res)
		return RESP_DROP;
	if (pkt->op->flags & UROCE_OP_READ)
		return again_read(conn, pkt, res);
	if (!(res->op & UROCE_OP_ATOMIC))
		return RESP_DROP;
	res->pending = true;
	conn->resp.waiting = true;
	return RESP_OK;
}

/* ---- the ladder --------------------------------------------------------------- */

static enum resp_step execute(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	if (pkt->op->flags & UROCE_OP_READ)
		return read_request(conn, pkt);
	if (pkt->op->flags & UROCE_OP_ATOMIC)
		return atomic_request(conn, pkt);
	return message_packet(conn, pkt);
}

static enum resp_step ladder(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	enum resp_step step = check_psn(conn, pkt);

	if (step == RESP_OK)
		step = check_order(conn, pkt);
	if (step == RESP_OK)
		step = check_length(conn, pkt);
	if (step == RESP_OK)
		step = execute(conn, pkt);
	if (step == RESP_OK) {
		conn->resp.told = false;
		if (uroce_bth_ack_req(pkt->bth) &&
		    pkt->op->flags & UROCE_OP_PAYLOAD)
			resp_ack(conn, UROCE_AETH_NO_CREDIT, pkt->psn);
	}
	return step;
}

/* Nobody hears of what goes wrong with an unreliable connection */
static void end_unreliable(struct uroce_conn *conn, enum resp_step step)
{
	struct uroce_responder *resp = &conn->resp;

	if (step == RESP_OK || step == RESP_DROP)
		return;
	resp->op = 0;
	resp->psn = uroce_psn_add(resp->psn, 1);
	if (step != RESP_OPERATION)
		return;
	resp->running = false;
	conn->ops->broken(conn, IB_EVENT_QP_FATAL);
}

/* Told once; the peer comes back to the expected packet */
static void tell(struct uroce_conn *conn, u8 syndrome)
{
	if (conn->resp.told)
		return;
	conn->resp.told = true;
	resp_ack(conn, syndrome, conn->resp.psn);
}

static void end_reliable(struct uroce_conn *conn, const struct uroce_packet *pkt,
			 enum resp_step step)
{
	switch (step) {
	case RESP_OK:
	case RESP_DROP:
		break;
	case RESP_AGAIN:
		again(conn, pkt);
		break;
	case RESP_GAP:
		tell(conn, UROCE_NAK_SEQUENCE);
		break;
	case RESP_RNR:
		conn->resp.told = false;
		tell(conn, UROCE_AETH_RNR | conn->resp.rnr_timer);
		break;
	case RESP_INVALID:
		resp_refuse(conn, UROCE_NAK_INVALID, pkt->psn);
		break;
	case RESP_ACCESS:
		resp_refuse(conn, UROCE_NAK_ACCESS, pkt->psn);
		break;
	case RESP_OPERATION:
		resp_refuse(conn, UROCE_NAK_OPERATION, pkt->psn);
		break;
	}
}

/* Executes a request, and sends what is due */
void uroce_resp_receive(struct uroce_conn *conn, const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &conn->resp;
	enum resp_step step;

	if (!resp->running)
		return;
	step = ladder(conn, pkt);
	if (reliable(conn))
		end_reliable(conn, pkt, step);
	else
		end_unreliable(conn, step);
	if (!resp->heard && resp->running) {
		resp->heard = true;
		conn->ops->established(conn);
	}
	uroce_resp_run(conn);
}

/* ---- what the owner asks for -------------------------------------------------- */

void uroce_resp_start(struct uroce_conn *conn, u32 psn)
{
	struct uroce_responder *resp = &conn->resp;

	resp->psn = psn;
	resp->msn = 0;
	resp->op = 0;
	resp->told = false;
	resp->heard = false;
	resp->has_recv = false;
	resp->ack = false;
	resp->waiting = false;
	resp->count = 0;
	memset(resp->responses, 0, resp->limit * sizeof(*resp->responses));
	resp->running = true;
}

void uroce_resp_halt(struct uroce_conn *conn)
{
	conn->resp.running = false;
	del_timer(&conn->resp.timer);
}
