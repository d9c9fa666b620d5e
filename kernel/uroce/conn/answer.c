// SPDX-License-Identifier: GPL-2.0
/*
 * The responder's answers: acknowledgements, and responses to reads and
 * atomics, which are remembered for as long as the peer may ask for them again.
 */
#include <linux/bitfield.h>
#include <linux/ktime.h>
#include <linux/skbuff.h>

#include "compat.h"
#include "queue.h"
#include "resp.h"

/*
 * The minimum interval between congestion notifications to a peer, as hardware
 * has it.
 */
#define CNP_GAP (50 * NSEC_PER_USEC)

/* Packets in flight may arrive for longer than the shortest RNR timers last. */
#define PATIENCE_NS (2 * NSEC_PER_MSEC)

/* The maximum number of packets of read responses that are sent in one turn. */
#define BURST 256

/* ---- sending answers ----------------------------------------------------- */

/*
 * If the queues below are full, one packet is still sent for each request that
 * arrived, as for an acknowledgement: packets of other senders may fill these
 * queues for ever. The peer asks again for the rest. That
 * packet is the last one that is sent now, so @left becomes 1.
 */
bool uroce_resp_has_room(struct uroce_conn *conn, int *left)
{
	if (likely(conn->ops->room(conn, true)))
		return true;
	if (!conn->resp.pressed)
		return false;
	conn->resp.pressed = false;
	*left = 1;
	return true;
}

static int resp_send(struct uroce_conn *conn, struct sk_buff *skb)
{
	return conn->ops->xmit(conn, skb, true);
}

/*
 * Returns true if the packets were sent, or can be treated as lost on the way.
 */
static bool resp_flush(struct uroce_conn *conn)
{
	return conn->ops->flush(conn, true) != -ENOBUFS;
}

/* As resp_flush(). A packet that travels alone is lost before the flush. */
static bool resp_send_now(struct uroce_conn *conn, struct sk_buff *skb)
{
	bool lost = resp_send(conn, skb) == -ENOBUFS;

	return resp_flush(conn) && !lost;
}

/*
 * The peer's packets met congestion. Notifies the peer at once, ahead of all
 * other packets, but not for each packet. A notification that is lost is
 * followed by another one.
 */
void uroce_resp_congested(struct uroce_conn *conn)
{
	u64 now = ktime_get_ns();
	struct uroce_bth *bth;
	struct sk_buff *skb;

	conn->ops->count(conn, UROCE_CNT_ECN_MARKED);
	if (!conn->resp.running ||
	    (conn->resp.told_congestion &&
	     now - conn->resp.told_congestion < CNP_GAP))
		return;
	skb = uroce_net_alloc(uroce_ops[UROCE_CNP].length, false);
	if (!skb)
		return;
	memset(uroce_bth_put(conn, skb, UROCE_CNP, 0, 0), 0,
	       UROCE_CNP_RESERVED);
	bth = (void *)skb->data;
	bth->flags = 0;		/* SE and M are 0, see A17.9.3 */
	bth->qpn |= cpu_to_be32(UROCE_BTH_BECN);
	conn->resp.told_congestion = now;
	conn->ops->count(conn, UROCE_CNT_CNP_SENT);
	resp_send_now(conn, skb);
}

/* Returns true if it was sent, or can be treated as lost on the way. */
static bool send_ack(struct uroce_conn *conn)
{
	struct uroce_responder *resp = &conn->resp;
	u8 opcode = conn->service | UROCE_ACKNOWLEDGE;
	struct sk_buff *skb =
		uroce_net_alloc(uroce_ops[opcode].length +
				sizeof(struct uroce_held_eth), false);
	struct uroce_aeth *aeth;

	if (!skb)
		return false;
	aeth = (void *)uroce_bth_put(conn, skb, opcode, resp->ack_psn, 0);
	aeth->smsn = uroce_aeth_make(resp->syndrome, resp->msn);
	if (resp->held.known)
		uroce_held_sign(conn, skb);
	return resp_send_now(conn, skb);
}

static bool send_atomic(struct uroce_conn *conn, struct uroce_response *res)
{
	u8 opcode = conn->service | UROCE_ATOMIC_ACK;
	struct sk_buff *skb = uroce_net_alloc(uroce_ops[opcode].length, false);
	struct uroce_atomic_ack *ack;
	struct uroce_aeth *aeth;

	if (!skb)
		return false;
	aeth = (void *)uroce_bth_put(conn, skb, opcode, res->first, 0);
	aeth->smsn = uroce_aeth_make(UROCE_AETH_NO_CREDIT, res->msn);
	ack = (void *)(aeth + 1);
	ack->orig = cpu_to_be64(res->orig);
	if (!resp_send_now(conn, skb))
		return false;
	res->pending = false;
	conn->resp.stuck = 0;
	return true;
}

/* The oldest response that has not been sent completely. */
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

static bool send_next(struct uroce_conn *conn, struct uroce_response *res,
		      int *left)
{
	if (res->op & UROCE_OP_READ)
		return uroce_resp_send_read(conn, res, left);
	if (!uroce_resp_has_room(conn, left))
		return false;
	--*left;
	return send_atomic(conn, res);
}

/*
 * An acknowledgement has left. If it is an RNR NAK, the peer waits from now on;
 * it may have waited for responses itself. A later one may have replaced it.
 */
static void peer_waits_from_now(struct uroce_responder *resp)
{
	u64 ns = PATIENCE_NS;

	if (likely(resp->patience != UROCE_PATIENCE_BEGINS))
		return;
	if ((resp->syndrome & UROCE_AETH_KIND) == UROCE_AETH_RNR)
		ns = max(ns, uroce_rnr_ns(resp->syndrome & UROCE_AETH_DETAIL));
	resp->patience = ktime_get_ns() + ns;
}

/* Something could not be sent. Begins again when it can. */
static void resp_later(struct uroce_responder *resp)
{
	u64 wait = resp->waiting ? uroce_throttle_wait(&resp->throttle) : 0;

	if (likely(!wait)) {
		uroce_soon(&resp->soon, &resp->stuck);
		return;
	}
	/* As in uroce_wait_pace(). */
	resp->stuck = 0;
	hrtimer_start(&resp->soon, ns_to_ktime(wait), HRTIMER_MODE_REL_SOFT);
}

/* Sends the responses that are due, and then the acknowledgement. */
void uroce_resp_run(struct uroce_conn *conn)
{
	struct uroce_responder *resp = &conn->resp;
	struct uroce_response *res;
	int left = BURST;

	if (!resp->running)
		return;
	while (resp->waiting && (res = resp_pending(resp)))
		if (!left || !send_next(conn, res, &left))
			goto later;
	resp->waiting = false;
	if (resp->ack) {
		if (!send_ack(conn))
			goto later;
		resp->stuck = 0;
		peer_waits_from_now(resp);
	}
	resp->ack = false;
	if (resp->refused) {
		resp->running = false;
		conn->ops->broken(conn, resp->event);
	}
	return;
later:
	resp_later(resp);
}

enum hrtimer_restart uroce_resp_soon(struct hrtimer *timer)
{
	struct uroce_conn *conn =
		container_of(timer, struct uroce_conn, resp.soon);

	conn->ops->rerun(conn, true);
	return HRTIMER_NORESTART;
}

void uroce_resp_ack(struct uroce_conn *conn, u8 syndrome, u32 psn)
{
	struct uroce_responder *resp = &conn->resp;

	if ((syndrome & UROCE_AETH_KIND) == UROCE_AETH_NAK)
		conn->ops->count(conn, UROCE_CNT_NAKS_SENT);
	resp->ack = true;
	resp->syndrome = syndrome;
	resp->ack_psn = psn;
}

/* The final NAK. It is sent after all answers to earlier requests. */
void uroce_resp_refuse(struct uroce_conn *conn, u8 syndrome, u32 psn, u32 event)
{
	uroce_resp_ack(conn, syndrome, psn);
	conn->resp.refused = true;
	conn->resp.event = event;
}

/* ---- reads and atomics --------------------------------------------------- */

/*
 * The next slot for a response; NULL if the peer has too many reads and atomics
 * outstanding. A response that is only repeated for a late packet gives up its
 * slot.
 */
static struct uroce_response *response_new(struct uroce_responder *resp)
{
	struct uroce_response *res =
		&resp->responses[resp->count % resp->limit];

	if (resp_full(resp))
		return NULL;
	memset(res, 0, sizeof(*res));
	return res;
}

/*
 * Forgets responses before their sequence numbers come round again. Each is
 * checked at least once within 2^21 packets and one message, which is at most
 * 2^23.
 */
void uroce_resp_forget(struct uroce_responder *resp)
{
	struct uroce_response *res;
	u32 i;

	resp->swept = resp->psn;
	for (i = 0; i < resp->limit; i++) {
		res = &resp->responses[i];
		if (!res->pending && ((resp->psn - res->first) &
				      UROCE_PSN_MASK) > 2 * RESP_SWEEP)
			res->op = 0;
	}
}

static struct uroce_response *response_find(struct uroce_responder *resp,
					    u32 psn)
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

static void response_keep(struct uroce_responder *resp,
			  struct uroce_response *res, u32 op, u32 packets)
{
	res->op = op;
	res->first = resp->psn;
	res->last = uroce_psn_add(resp->psn, packets - 1);
	res->until = res->last;
	res->psn = resp->psn;
	res->from = resp->psn;
	res->msn = ++resp->msn;
	res->pending = true;
	resp->waiting = true;
	resp->pressed = true;
	resp->count++;
	resp->psn = uroce_psn_add(resp->psn, packets);
	resp_sweep(resp);
}

/*
 * From now on @responses, with room for @limit entries, is used; @limit is not
 * lower than before. Returns the former memory, which is not used any more.
 */
struct uroce_response *uroce_resp_grow(struct uroce_conn *conn,
				       struct uroce_response *responses,
				       u32 limit)
{
	struct uroce_responder *resp = &conn->resp;
	struct uroce_response *before = resp->responses;
	u32 i, at;

	for (i = 1; i <= resp->limit; i++) {
		at = resp->count - i;
		responses[at % limit] = before[at % resp->limit];
	}
	resp->responses = responses;
	resp->limit = limit;
	return before;
}

static void read_aim(struct uroce_response *res, const struct uroce_reth *reth)
{
	res->rkey = be32_to_cpu(reth->rkey);
	res->va = be64_to_cpu(reth->va);
	res->end = res->va + be32_to_cpu(reth->len);
}

static enum resp_step read_check(struct uroce_conn *conn,
				 const struct uroce_reth *reth)
{
	return uroce_resp_access(conn, be32_to_cpu(reth->rkey),
				 be64_to_cpu(reth->va), be32_to_cpu(reth->len),
				 IB_ACCESS_REMOTE_READ);
}

enum resp_step uroce_resp_read(struct uroce_conn *conn,
			       const struct uroce_packet *pkt)
{
	const struct uroce_reth *reth = resp_eth(conn, pkt);
	u32 packets = uroce_req_packets(conn, be32_to_cpu(reth->len));
	struct uroce_response *res = response_new(&conn->resp);
	enum resp_step step;

	if (!res || be32_to_cpu(reth->len) > UROCE_MAX_MESSAGE ||
	    packets > UROCE_PSN_MASK / 2)
		return RESP_INVALID;
	step = read_check(conn, reth);
	if (step != RESP_OK)
		return step;
	read_aim(res, reth);
	res->srqn = resp_srqn(conn, pkt);
	res->len = be32_to_cpu(reth->len);
	response_keep(&conn->resp, res, UROCE_OP_READ, packets);
	return RESP_OK;
}

enum resp_step uroce_resp_atomic(struct uroce_conn *conn,
				 const struct uroce_packet *pkt)
{
	const struct uroce_atomic_eth *eth = resp_eth(conn, pkt);
	bool swap = (pkt->bth->opcode & UROCE_OPERATION) == UROCE_COMPARE_SWAP;
	u64 va = be64_to_cpu(eth->va);
	u32 rkey = be32_to_cpu(eth->rkey);
	struct uroce_response *res;
	enum resp_step step;
	int status;

	if (va % sizeof(u64))
		return RESP_INVALID;
	step = uroce_resp_access(conn, rkey, va, sizeof(u64),
				 IB_ACCESS_REMOTE_ATOMIC);
	if (step != RESP_OK)
		return step;
	res = response_new(&conn->resp);
	if (!res)
		return RESP_INVALID;
	status = conn->ops->atomic(conn, rkey, va, swap,
				   be64_to_cpu(eth->compare),
				   be64_to_cpu(eth->swap_add), &res->orig);
	if (status)
		return uroce_resp_step(status);
	response_keep(&conn->resp, res, UROCE_OP_ATOMIC, 1);
	return RESP_OK;
}

enum resp_step uroce_resp_atomic_write(struct uroce_conn *conn,
				       const struct uroce_packet *pkt)
{
	const struct uroce_reth *reth = resp_eth(conn, pkt);
	u64 va = be64_to_cpu(reth->va), value;
	u32 rkey = be32_to_cpu(reth->rkey);
	struct uroce_response *res;
	enum resp_step step;
	int status;

	if (va % sizeof(value) || pkt->len != sizeof(value) ||
	    be32_to_cpu(reth->len) != sizeof(value) ||
	    skb_copy_bits(pkt->skb, pkt->payload, &value, sizeof(value)))
		return RESP_INVALID;
	step = uroce_resp_access(conn, rkey, va, sizeof(value),
				 IB_ACCESS_REMOTE_WRITE);
	if (step != RESP_OK)
		return step;
	res = response_new(&conn->resp);
	if (!res)
		return RESP_INVALID;
	status = conn->ops->atomic_write(conn, rkey, va, value);
	if (status)
		return uroce_resp_step(status);
	/*
	 * The answer to an atomic write is the response to a read of zero
	 * bytes.
	 */
	response_keep(&conn->resp, res, UROCE_OP_READ | UROCE_OP_ATOMIC_WRITE,
		      1);
	return RESP_OK;
}

/*
 * Requests are executed in order, so the writes before it have been executed. A
 * flush of no bytes needs a valid key, too. rdma_rxe does not count flushes
 * against max_rd_atomic, so a flush that finds no room for its answer is
 * treated as lost until the peer repeats it.
 */
enum resp_step uroce_resp_flush(struct uroce_conn *conn,
				const struct uroce_packet *pkt)
{
	const struct uroce_feth *feth = resp_eth(conn, pkt);
	const struct uroce_reth *reth = (void *)(feth + 1);
	u32 bits = be32_to_cpu(feth->bits), len = be32_to_cpu(reth->len);
	u32 access = uroce_flush_access(FIELD_GET(UROCE_FETH_TYPE, bits));
	u32 level = FIELD_GET(UROCE_FETH_LEVEL, bits);
	bool whole = level == UNIV_FLUSH_MR;
	struct uroce_response *res;

	if (!access || access & ~UNIV_ACCESS_FLUSH || level > UNIV_FLUSH_MR ||
	    (!whole && len > UROCE_MAX_MESSAGE))
		return RESP_INVALID;
	if (access & ~conn->resp.access)
		return RESP_INVALID;
	res = response_new(&conn->resp);
	if (!res)
		return RESP_DROP;
	if (conn->ops->flush_memory(conn, be32_to_cpu(reth->rkey),
				    be64_to_cpu(reth->va), len, access, whole))
		return RESP_ACCESS;
	response_keep(&conn->resp, res, UROCE_OP_READ | UROCE_OP_FLUSH, 1);
	return RESP_OK;
}

/* ---- repeated requests --------------------------------------------------- */

static void response_again(struct uroce_conn *conn, struct uroce_response *res)
{
	uroce_care_begin(&conn->resp.care, res->psn);
	res->again = !res->pending || res->again;
	res->pending = true;
	conn->resp.waiting = true;
	conn->resp.pressed = true;
}

/* The memory may have changed since; the key is checked again. */
static enum resp_step again_read(struct uroce_conn *conn,
				 const struct uroce_packet *pkt,
				 struct uroce_response *res)
{
	const struct uroce_reth *reth = resp_eth(conn, pkt);
	u32 packets = uroce_req_packets(conn, be32_to_cpu(reth->len));
	u32 last = uroce_psn_add(pkt->psn, packets - 1);

	if (res->op != UROCE_OP_READ || packets > UROCE_PSN_MASK / 2 ||
	    uroce_psn_diff(last, res->last) > 0)
		return RESP_DROP;
	if (!resp_aim(conn, resp_srqn(conn, pkt)) ||
	    read_check(conn, reth) != RESP_OK)
		return RESP_DROP;
	read_aim(res, reth);
	res->srqn = resp_srqn(conn, pkt);
	res->from = pkt->psn;
	res->psn = pkt->psn;
	res->until = last;
	response_again(conn, res);
	return RESP_OK;
}

/*
 * The answer to a send or write that was repeated at @psn acknowledges
 * everything that arrived so far, up to the next read or atomic. The response
 * to that may be lost as well, and the peer may take an acknowledgement with
 * its sequence number for the response.
 */
static u32 again_ack(const struct uroce_responder *resp, u32 psn)
{
	u32 last = uroce_psn_add(resp->psn, -1);
	const struct uroce_response *res;
	u32 i;

	for (i = 0; i < resp->limit; i++) {
		res = &resp->responses[i];
		if (res->op && uroce_psn_diff(res->first, psn) > 0 &&
		    uroce_psn_diff(res->first, last) <= 0)
			last = uroce_psn_add(res->first, -1);
	}
	return last;
}

enum resp_step uroce_resp_again(struct uroce_conn *conn,
				const struct uroce_packet *pkt)
{
	struct uroce_response *res;

	if (pkt->op->flags & (UROCE_OP_SEND | UROCE_OP_WRITE)) {
		/*
		 * An acknowledgement that is due already may be a NAK, which
		 * must not be overridden.
		 */
		if (!conn->resp.ack)
			uroce_resp_ack(conn, UROCE_AETH_NO_CREDIT,
				       again_ack(&conn->resp, pkt->psn));
		return RESP_OK;
	}
	res = response_find(&conn->resp, pkt->psn);
	if (!res)
		return RESP_DROP;
	if (pkt->op->flags & UROCE_OP_READ)
		return again_read(conn, pkt, res);
	if (!(res->op & pkt->op->flags &
	      (UROCE_OP_ATOMIC | UROCE_OP_ATOMIC_WRITE | UROCE_OP_FLUSH)))
		return RESP_DROP;
	res->psn = res->first;
	response_again(conn, res);
	return RESP_OK;
}
