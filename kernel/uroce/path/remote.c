// SPDX-License-Identifier: GPL-2.0
/* Connections over packets, of queue pairs whose peer is on another host. */
#include <linux/moduleparam.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "compat.h"
#include "move.h"
#include "remote.h"

static bool selective = true;
module_param(selective, bool, 0644);
MODULE_PARM_DESC(selective, "repeat only missing packets to peers that can");

/* Maximum number of answers that wait until the send queue is run. */
#define ANSWERS_MAX 1024

/*
 * The shortest ACK timeout. A peer in software may be busy for an eighth of a
 * second, and a timer may end a tick early.
 */
#define TIMEOUT_MIN (HZ / 8 + 1)

/* skb->cb of an answer that waits for the requester. */
struct answer_cb {
	struct uroce_kept kept;
	struct uroce_arrival at;
};

static_assert(sizeof(struct answer_cb) <= sizeof_field(struct sk_buff, cb));

/* ---- the requester ------------------------------------------------------- */

/* Translates a request for packets. */
void uroce_msg_fill(struct uroce_msg *msg, const struct uroce_wqe *wqe)
{
	const struct univ_send_wr *wr = &wqe->wr;

	msg->op = wr->opcode;
	msg->fence = wr->flags & UNIV_WR_FENCE;
	msg->solicited = wr->flags & UNIV_WR_SOLICITED;
	msg->length = uroce_msg_is_atomic(msg) ? sizeof(u64) : wqe->len;
	msg->rkey = wr->rkey;
	msg->va = wr->remote_addr;
	msg->srqn = wr->srqn;
	if (uroce_wr_is(msg->op, UROCE_WRF_OPERANDS)) {
		msg->compare_add = wr->atomic.compare_add;
		msg->swap = wr->atomic.swap;
	} else {
		msg->imm = (__force __be32)wr->imm;
	}
}

static void keep(struct uroce_remote_wqe *kept, const struct uroce_wqe *wqe)
{
	kept->wr_id = wqe->wr.wr_id;
	kept->flags = wqe->wr.flags;
	kept->count = wqe->wr.count;
	uroce_msg_fill(&kept->msg, wqe);
}

/*
 * Copies one request out of the ring. Of a bad request, enough is kept to
 * complete it.
 */
static enum ib_wc_status load_one(struct uroce_remote *w, u16 *reason)
{
	struct uroce_remote_wqe *kept = wqe_at(w, w->loaded);
	struct uroce_wqe wqe __uninitialized;
	enum ib_wc_status status;

	wqe.sge = sges_of(w, kept);
	status = uroce_send_load(w->qp, w->loaded, &wqe, reason);
	if (status)
		wqe.len = 0;
	keep(kept, &wqe);
	if (status || !uroce_msg_is_atomic(&kept->msg) ||
	    wqe.len >= sizeof(u64))
		return status;
	*reason = UNIV_REASON_ATOMIC;
	return IB_WC_LOC_LEN_ERR;
}

/*
 * Other processors queue answers meanwhile, and a ring can hold some megabytes
 * of requests, so one turn takes at most this many of either.
 */
#define REMOTE_TURN 256

/*
 * A bad request waits until all requests before it are complete. Returns true
 * if others are left for the next turn.
 */
static bool load(struct uroce_remote *w, u32 tail)
{
	struct uroce_wqe wqe __uninitialized;
	enum ib_wc_status status;
	u16 reason = 0;
	u32 n = 0;

	while ((s32)(tail - w->loaded) > 0 && n++ < REMOTE_TURN) {
		status = load_one(w, &reason);
		if (!status) {
			w->loaded++;
			continue;
		}
		if (w->conn.req.done != w->loaded)
			return false;
		uroce_req_halt(&w->conn);
		uroce_remote_revive(&w->conn, &wqe_at(w, w->loaded)->msg, &wqe);
		uroce_send_done(w->qp, &wqe, status, reason);
		return false;
	}
	return (s32)(tail - w->loaded) > 0;
}

/* Returns true if answers are left. */
static bool take_answers(struct uroce_remote *w)
{
	struct uroce_packet pkt;
	struct answer_cb *cb;
	struct sk_buff *skb;
	u32 n;

	for (n = 0; n < REMOTE_TURN && (skb = skb_dequeue(&w->answers)); n++) {
		cb = (void *)skb->cb;
		if (w->conn.req.running && uroce_packet_kept(skb, &pkt) &&
		    uroce_move_answer(w, &pkt, &cb->at))
			uroce_comp_receive(&w->conn, &pkt);
		napi_consume_skb(skb, 1);
	}
	/* The requester may send many packets before it returns. */
	uroce_send_write(w->qp);
	return !skb_queue_empty_lockless(&w->answers);
}

/* Takes over the attributes that may change while the connection is up. */
static void req_take_attr(struct uroce_remote *w)
{
	const struct ib_qp_attr *attr = &w->qp->attr;
	struct uroce_requester *req = &w->conn.req;

	req->retry_cnt = attr->retry_cnt;
	req->rnr_retry = attr->rnr_retry;
	req->max_reads = attr->max_rd_atomic ?: 1;
	req->timeout = 0;
	if (uroce_qp_is_reliable(w->qp) && attr->timeout)
		req->timeout = TIMEOUT_MIN +
			nsecs_to_jiffies(uroce_timeout_ns(attr->timeout));
}

/* The queue pair has another path. Context: sq.lock. */
void uroce_remote_retime(struct uroce_remote *w)
{
	if (w->began)
		req_take_attr(w);
}

static void req_begin(struct uroce_remote *w)
{
	const struct ib_qp_attr *attr = &w->qp->attr;
	struct uroce_requester *req = &w->conn.req;

	req_take_attr(w);
	req->done = w->qp->sq.head;
	w->loaded = req->done;
	w->began = true;
	uroce_req_start(&w->conn, attr->sq_psn & UROCE_PSN_MASK);
}

/*
 * Are all requests that were copied out of the ring complete? Context: sq.lock.
 */
bool uroce_remote_idle(struct uroce_qp *qp)
{
	struct uroce_remote *w = qp->remote;

	return !w || !w->began || !w->conn.req.running ||
	       w->conn.req.done == w->loaded;
}

/* Reports the next sequence numbers of both directions. Context: both locks. */
void uroce_remote_psns(const struct uroce_qp *qp, struct ib_qp_attr *attr)
{
	const struct uroce_remote *w = qp->remote;

	if (!w)
		return;
	attr->rq_psn = w->conn.resp.psn;
	if (w->began)
		attr->sq_psn = w->conn.req.psn;
}

/*
 * The queue pair leaves SQE: all posted requests were flushed. The call gives
 * no new PSN, so the next packet has the one after the last. Context: sq.lock.
 */
void uroce_remote_again(struct uroce_qp *qp)
{
	struct uroce_remote *w = qp->remote;

	if (!w || !w->began)
		return;
	qp->attr.sq_psn = w->conn.req.psn;
	w->began = false;
}

/* Runs the requester; requests up to @tail may begin. Context: sq.lock. */
bool uroce_remote_step(struct uroce_qp *qp, u32 tail)
{
	struct uroce_remote *w = qp->remote;
	bool more;

	if (!w)
		return false;
	if (!w->began)
		req_begin(w);
	if (unlikely(READ_ONCE(qp->moved)))
		uroce_move_catch_up(w);
	more = take_answers(w);
	if (!w->conn.req.running)
		goto out;
	/* In SQD no request begins. The others are loaded again in RTS. */
	if (unlikely((s32)(w->loaded - tail) > 0))
		w->loaded = uroce_req_withdraw(&w->conn);
	more |= load(w, tail);
	more |= uroce_req_run(&w->conn, w->loaded);
out:
	uroce_send_notify(qp);
	if (!w->conn.req.running)
		return more;
	/* A bad request may have become the first one. */
	return more || ((s32)(tail - w->loaded) > 0 &&
			w->conn.req.done == w->loaded);
}

/*
 * Without a send ring nothing was requested, and a requester that does not run
 * in this state takes no answers.
 */
static bool expects_answers(const struct uroce_remote *w)
{
	enum ib_qp_state state = READ_ONCE(w->qp->state);

	return READ_ONCE(w->fit.count) &&
	       (state == IB_QPS_RTS || state == IB_QPS_SQD);
}

/* A notification to a queue pair that has requested nothing. */
static bool is_about_responses(const struct uroce_remote *w,
			       const struct uroce_packet *pkt)
{
	return unlikely(pkt->bth->opcode == UROCE_CNP) && !expects_answers(w);
}

/*
 * Queues an answer for the requester and returns true, so that the caller runs
 * the send queue. The state may change before, so flushing the send queue drops
 * the queued answers. Context: RCU.
 */
static bool queue_answer(struct uroce_remote *w, const struct uroce_packet *pkt,
			 const struct uroce_arrival *at)
{
	struct answer_cb *cb;
	struct sk_buff *skb;

	if (!expects_answers(w) ||
	    skb_queue_len_lockless(&w->answers) >= ANSWERS_MAX)
		return false;
	skb = uroce_packet_keep(pkt);
	cb = (void *)skb->cb;
	cb->at = *at;
	skb_queue_tail(&w->answers, skb);
	return true;
}

/* The send queue is being flushed. Context: sq.lock. */
void uroce_remote_flush(struct uroce_qp *qp)
{
	if (qp->remote)
		skb_queue_purge(&qp->remote->answers);
}

/* A request of the peer has arrived. Context: resp.lock. */
static enum uroce_receipt take_request(struct uroce_remote *w,
				       const struct uroce_packet *pkt,
				       bool alternate)
{
	const struct ib_qp_attr *attr = &w->qp->attr;

	if (!uroce_resp_takes(&w->conn, pkt))
		return UROCE_RECEIPT_CUT;
	if (!uroce_move_request(w, pkt, alternate))
		return UROCE_RECEIPT_DONE;
	w->conn.resp.access = w->qp->resp.access;
	w->conn.resp.rnr_timer = attr->min_rnr_timer;
	if (pkt->ce)
		uroce_resp_congested(&w->conn);
	uroce_resp_receive(&w->conn, pkt);
	uroce_recv_notify(w->qp);
	return UROCE_RECEIPT_DONE;
}

/* ---- packets that arrive ------------------------------------------------- */

static bool accepts(const struct uroce_remote *w,
		    const struct uroce_packet *pkt)
{
	u16 pkey = READ_ONCE(w->conn.pkey);

	if (likely(uroce_conn_accepts(&w->conn, pkt, pkey)))
		return true;
	if (!uroce_pkey_matches(pkt->bth, pkey))
		atomic_inc(&w->qp->dev->pkey_violations);
	return false;
}

/*
 * Does the packet come from the connected peer's address to ours? The responder
 * is the first one to know a new path.
 */
bool uroce_remote_is_from(const struct uroce_remote *w,
			  const struct uroce_packet *pkt)
{
	return uroce_flow_matches(&w->resp_flow, pkt);
}

static bool from_peer(const struct uroce_remote *w,
		      const struct uroce_packet *pkt)
{
	return uroce_remote_is_from(w, pkt) && accepts(w, pkt);
}

/*
 * Does an XRC queue pair have the side that the packet is for? One side only
 * requests, the other only responds.
 */
static bool has_side(const struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	return qp->type != (pkt->op->flags & UROCE_OP_REQUEST ?
			    IB_QPT_XRC_INI : IB_QPT_XRC_TGT);
}

/* Context: RCU */
enum uroce_receipt uroce_remote_receive(struct uroce_qp *qp,
					const struct uroce_packet *pkt)
{
	enum uroce_receipt receipt = UROCE_RECEIPT_DONE;
	struct uroce_remote *w = READ_ONCE(qp->remote);
	struct uroce_arrival at;

	if (!w)
		return receipt;
	at = uroce_move_arrival(w, pkt);
	if (!at.alternate && !from_peer(w, pkt))
		return receipt;
	if (is_about_responses(w, pkt)) {
		uroce_resp_told(&w->conn);
		uroce_note(qp, UROCE_CNT_CNP_HANDLED);
		return receipt;
	}
	if (!has_side(qp, pkt))
		return receipt;
	if (!(pkt->op->flags & UROCE_OP_REQUEST)) {
		if (!uroce_comp_takes(&w->conn, pkt))
			return UROCE_RECEIPT_CUT;
		return queue_answer(w, pkt, &at) ? UROCE_RECEIPT_RUN : receipt;
	}
	spin_lock_bh(&qp->resp.lock);
	if (uroce_qp_listens(qp) && qp->remote == w)
		receipt = take_request(w, pkt, at.alternate);
	spin_unlock_bh(&qp->resp.lock);
	return receipt;
}

/* ---- beginning and end --------------------------------------------------- */

/*
 * Frees the parts that are used only under a lock of the queue pair: nearly
 * everything.
 */
static void wire_empty(struct uroce_remote *w)
{
	uroce_flow_release(&w->req_flow);
	uroce_flow_release(&w->resp_flow);
	uroce_fit_free(&w->fit);
	kfree(w->conn.resp.responses);
}

static void wire_free_rcu(struct rcu_head *rcu)
{
	struct uroce_remote *w = container_of(rcu, struct uroce_remote, rcu);

	skb_queue_purge(&w->answers);
	kfree(w);
}

/* The number of answers that are kept, for the new max_dest_rd_atomic. */
static u32 wire_limit(const struct uroce_qp *qp, const struct ib_qp_attr *attr,
		      int mask)
{
	u32 limit = mask & IB_QP_MAX_DEST_RD_ATOMIC ?
			    attr->max_dest_rd_atomic :
			    qp->attr.max_dest_rd_atomic;

	return roundup_pow_of_two(max_t(u32, limit, 1));
}

static struct uroce_response *wire_alloc_responses(u32 limit)
{
	return kcalloc(limit, sizeof(struct uroce_response),
		       GFP_KERNEL_ACCOUNT);
}

static struct uroce_remote *wire_alloc(const struct uroce_qp *qp, u32 limit)
{
	struct uroce_remote *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	struct uroce_conn *conn;

	if (!w)
		return NULL;
	conn = &w->conn;
	skb_queue_head_init(&w->answers);
	uroce_conn_init(conn, &uroce_remote_ops, uroce_service(qp->type));
	conn->resp.limit = limit;
	conn->resp.responses = wire_alloc_responses(conn->resp.limit);
	if (!conn->resp.responses ||
	    uroce_fit_alloc(&w->fit, qp->sq.ring.count, qp->sq.max_sge)) {
		wire_empty(w);
		kfree(w);
		return NULL;
	}
	return w;
}

int uroce_remote_prepare(const struct uroce_qp *qp,
			 const struct ib_qp_attr *attr, int mask, bool far,
			 struct uroce_spare *spare)
{
	spare->limit = wire_limit(qp, attr, mask);
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTR) {
		/* Datagrams need no connection. */
		if (!far || !uroce_qp_is_connected(qp))
			return 0;
		spare->remote = wire_alloc(qp, spare->limit);
		return spare->remote ? 0 : -ENOMEM;
	}
	if (!(mask & IB_QP_MAX_DEST_RD_ATOMIC) || !READ_ONCE(qp->remote))
		return 0;
	spare->responses = wire_alloc_responses(spare->limit);
	return spare->responses ? 0 : -ENOMEM;
}

void uroce_spare_free(struct uroce_spare *spare)
{
	if (spare->remote) {
		wire_empty(spare->remote);
		kfree(spare->remote);
	}
	kfree(spare->responses);
}

/* Takes the addresses of the connection from the address vector. */
static void take_way(struct uroce_remote *w)
{
	uroce_flow_release(&w->req_flow);
	uroce_flow_release(&w->resp_flow);
	w->req_flow = uroce_remote_way(&w->qp->av.flow);
	w->resp_flow = w->req_flow;
	uroce_throttle_end(&w->conn.req.throttle);
	uroce_throttle_end(&w->conn.resp.throttle);
}

/*
 * Attributes of a drained send queue have changed. A connection over packets
 * stays one, even if the new address is on this host. Context: both locks.
 */
void uroce_remote_changed(struct uroce_qp *qp, bool way)
{
	struct uroce_remote *w = qp->remote;

	if (!w)
		return;
	if (way) {
		qp->av.dev_id = 0;
		take_way(w);
		/* Packets that are held came from the former address. */
		uroce_held_purge(&w->conn);
	}
	if (!w->began)
		return;
	req_take_attr(w);
	w->conn.req.tries = w->conn.req.retry_cnt;
	w->conn.req.rnr_tries = w->conn.req.rnr_retry;
	if (uroce_qp_is_reliable(qp))
		uroce_care_set(&w->conn.req.care, w->conn.req.retry_cnt);
}

/*
 * max_dest_rd_atomic has changed while the send queue is drained. The peer may
 * have reads and atomics in flight, so no response is forgotten, and a lower
 * value changes nothing. @spare gets the memory that is not used any more.
 */
void uroce_remote_remember(struct uroce_qp *qp, struct uroce_spare *spare)
{
	struct uroce_conn *conn;

	if (!spare->responses)
		return;
	spin_lock_bh(&qp->resp.lock);
	conn = qp->remote ? &qp->remote->conn : NULL;
	if (conn && spare->limit > conn->resp.limit)
		spare->responses = uroce_resp_grow(conn, spare->responses,
						   spare->limit);
	spin_unlock_bh(&qp->resp.lock);
}

/* The queue pair knows its peer. May sleep. */
void uroce_remote_begin(struct uroce_qp *qp, struct uroce_spare *spare)
{
	struct uroce_remote *w = spare->remote;

	if (!w)
		return;
	spare->remote = NULL;
	w->qp = qp;
	w->conn.peer = qp->attr.dest_qp_num;
	w->conn.mtu = qp->mtu;
	w->conn.pace = &qp->sq.pace;
	w->conn.selective = READ_ONCE(selective) && uroce_qp_is_reliable(qp);
	w->conn.resp.held.budget = &qp->dev->held;
	w->conn.resp.counted = uroce_cntrs_served_by(qp);
	take_way(w);
	uroce_resp_start(&w->conn, qp->attr.rq_psn & UROCE_PSN_MASK);
	uroce_remote_end(qp);
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	w->conn.pkey = qp->pkey;
	/* Packets are received without a lock. */
	smp_store_release(&qp->remote, w);
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
}

/*
 * The P_Key of the queue pair may have changed. Packets that are held behind a
 * gap were accepted with the former one. Context: both locks.
 */
void uroce_remote_partition(struct uroce_qp *qp)
{
	if (!qp->remote || qp->remote->conn.pkey == qp->pkey)
		return;
	WRITE_ONCE(qp->remote->conn.pkey, qp->pkey);
	uroce_held_purge(&qp->remote->conn);
}

/*
 * Drops the routes before the rest: each refers to its namespace, which may end
 * before the queue pair does. No sender looks up a new route, since the queue
 * pair or connection is ending or the device has left the namespace. Context:
 * both locks.
 */
void uroce_remote_drop_routes(struct uroce_qp *qp)
{
	if (!qp->remote)
		return;
	uroce_flow_release(&qp->remote->req_flow);
	uroce_flow_release(&qp->remote->resp_flow);
}

/*
 * Afterwards no thread uses the connection, except those that looked it up
 * without a lock and may still queue an answer that is never taken. The
 * addresses and the queue of answers are freed after a grace period, without
 * waiting: the caller may have thousands of queue pairs to destroy. The rest,
 * megabytes for a long queue, is freed at once.
 */
void uroce_remote_end(struct uroce_qp *qp)
{
	struct uroce_remote *w;

	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	uroce_remote_drop_routes(qp);
	w = qp->remote;
	qp->remote = NULL;
	if (w) {
		uroce_req_halt(&w->conn);
		uroce_resp_halt(&w->conn);
	}
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	if (!w)
		return;
	uroce_conn_stop(&w->conn);
	uroce_held_purge(&w->conn);
	wire_empty(w);
	skb_queue_purge(&w->answers);
	call_rcu(&w->rcu, wire_free_rcu);
}
