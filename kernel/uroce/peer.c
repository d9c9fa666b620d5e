// SPDX-License-Identifier: GPL-2.0
/* Queue pairs whose peer is on another host: what their connection stands on. */
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/xfrm.h>

#include "peer.h"

/* Answers that wait for whoever runs the send queue */
#define ANSWERS_MAX 1024

/* A peer in software may be busy for so long, and a clock tick says little */
#define TIMEOUT_MIN (HZ / 8 + 1)

struct answer_cb {
	u32 start;		/* of the base transport header */
	bool ce;
};

static struct uroce_wire *wire_of(struct uroce_conn *conn)
{
	return container_of(conn, struct uroce_wire, conn);
}

static struct uroce_wire_wqe *wqe_of(struct uroce_msg *msg)
{
	return container_of(msg, struct uroce_wire_wqe, msg);
}

/* ---- the send queue's memory -------------------------------------------------- */

static struct uroce_wire_wqe *wqe_at(struct uroce_wire *w, u32 index)
{
	return &w->wqes[index & (w->count - 1)];
}

static struct uroce_msg *op_msg(struct uroce_conn *conn, u32 index)
{
	return &wqe_at(wire_of(conn), index)->msg;
}

static struct univ_sge *sges_of(struct uroce_wire *w,
				const struct uroce_wire_wqe *kept)
{
	return w->sges + (kept - w->wqes) * w->qp->sq.max_sge;
}

/* The request as queue.c knows it, from what was kept */
static void revive(struct uroce_conn *conn, const struct uroce_msg *msg,
		   struct uroce_wqe *wqe)
{
	const struct uroce_wire_wqe *kept = wqe_of((struct uroce_msg *)msg);
	struct uroce_wire *w = wire_of(conn);
	struct uroce_sendq *sq = &w->qp->sq;

	wqe->wr.wr_id = kept->wr_id;
	wqe->wr.opcode = kept->opcode;
	wqe->wr.flags = kept->flags;
	wqe->wr.count = kept->count;
	wqe->len = msg->length;
	wqe->sge = sges_of(w, kept);
	wqe->data = NULL;
	if (kept->flags & UNIV_WR_INLINE)
		wqe->data = (void *)univ_ring_inline(&sq->ring, kept - w->wqes);
	/* Never two at a time */
	wqe->vec.seg = sq->wqe.vec.seg;
}

static void unmap(struct uroce_wire *w)
{
	if (!w->mapped)
		return;
	uroce_vec_put(&w->vec);
	w->mapped = NULL;
}

/* The memory that a request names, held until another's is, or until the turn ends */
static int map(struct uroce_wire *w, struct uroce_msg *msg)
{
	struct uroce_wire_wqe *kept = wqe_of(msg);
	struct uroce_wqe wqe __uninitialized;
	int status;

	if (w->mapped == kept)
		return 0;
	unmap(w);
	revive(&w->conn, msg, &wqe);
	status = uroce_send_map(w->qp, &wqe, 0);
	if (status)
		return status;
	w->vec = wqe.vec;
	w->mapped = kept;
	return 0;
}

static int op_gather(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		     void *to, u32 len)
{
	struct uroce_wire *w = wire_of(conn);
	int status = map(w, msg);

	if (!status)
		uroce_vec_read(&w->vec, offset, to, len);
	return status;
}

static int op_attach(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		     struct sk_buff *skb, u32 len)
{
	struct uroce_wire *w = wire_of(conn);
	int status;

	/* Inline data lies in the request, which is not kept for as long */
	if (wqe_of(msg)->flags & UNIV_WR_INLINE ||
	    !uroce_net_takes_pages(&w->req_flow))
		return -EOPNOTSUPP;
	status = map(w, msg);
	if (status)
		return status;
	return uroce_vec_attach(&w->vec, offset, len, skb) &&
	       uroce_net_end_pages(skb) ? 0 : -EOPNOTSUPP;
}

/* However it lies there */
static void put_pieces(const struct uroce_packet *pkt, const struct uroce_vec *vec,
		       u32 offset)
{
	struct skb_seq_state state;
	u32 done = 0, run;
	const u8 *data;

	skb_prepare_seq_read(pkt->skb, pkt->payload, pkt->payload + pkt->len, &state);
	while (done < pkt->len && (run = skb_seq_read(done, &data, &state))) {
		/* A run ends where memory does, not where the payload does */
		run = min(run, pkt->len - done);
		uroce_vec_write(vec, offset + done, data, run);
		done += run;
	}
	skb_abort_seq_read(&state);
}

/* All of it in fragments, from byte @at of them on; every page has an address */
static void put_frags(const struct uroce_packet *pkt, const struct uroce_vec *vec,
		      u32 offset, u32 at)
{
	const skb_frag_t *frag = skb_shinfo(pkt->skb)->frags;
	u32 left = pkt->len, run;

	for (; left; frag++) {
		if (at >= skb_frag_size(frag)) {
			at -= skb_frag_size(frag);
			continue;
		}
		run = min(skb_frag_size(frag) - at, left);
		uroce_vec_write(vec, offset, skb_frag_address(frag) + at, run);
		offset += run;
		left -= run;
		at = 0;
	}
}

/* A packet's payload, in however many pieces it lies, to mapped memory */
void uroce_packet_put(const struct uroce_packet *pkt, const struct uroce_vec *vec,
		      u32 offset)
{
	unsigned int linear = skb_headlen(pkt->skb);

	if (!pkt->len)
		return;
	if (pkt->payload + pkt->len <= linear)
		uroce_vec_write(vec, offset, pkt->skb->data + pkt->payload, pkt->len);
	else if (pkt->payload >= linear && !skb_has_frag_list(pkt->skb))
		put_frags(pkt, vec, offset, pkt->payload - linear);
	else
		put_pieces(pkt, vec, offset);
}

static int op_scatter(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		      const struct uroce_packet *pkt)
{
	const struct uroce_atomic_ack *ack;
	struct uroce_wqe wqe __uninitialized;
	int status;
	u64 orig;

	revive(conn, msg, &wqe);
	status = uroce_send_map(wire_of(conn)->qp, &wqe, IB_ACCESS_LOCAL_WRITE);
	if (status)
		return status;
	if (uroce_msg_is_atomic(msg)) {
		ack = (void *)((u8 *)(pkt->bth + 1) + sizeof(struct uroce_aeth));
		orig = be64_to_cpu(ack->orig);
		uroce_vec_write(&wqe.vec, 0, &orig, sizeof(orig));
	} else {
		uroce_packet_put(pkt, &wqe.vec, offset);
	}
	uroce_vec_put(&wqe.vec);
	return 0;
}

/* What says how to bind is kept where an atomic's operands would be */
static int bind(struct uroce_wire *w, const struct uroce_msg *msg)
{
	const struct univ_send_wr wr = {
		.rkey = msg->rkey,
		.remote_addr = msg->va,
		.atomic.compare_add = msg->compare_add,
		.atomic.swap = msg->swap,
	};

	return uroce_mw_bind(w->qp, &wr, &w->why);
}

static int op_local(struct uroce_conn *conn, struct uroce_msg *msg)
{
	struct uroce_qp *qp = wire_of(conn)->qp;
	u32 imm = (__force u32)msg->imm;
	int ret;

	/* What it takes back may be what the request before it has used */
	unmap(wire_of(conn));
	if (msg->op == IB_WR_BIND_MW)
		return bind(wire_of(conn), msg);
	if (msg->op == IB_WR_LOCAL_INV)
		ret = uroce_invalidate(qp, imm);
	else
		ret = uroce_mr_fast(qp, (void *)(uintptr_t)msg->va, msg->rkey, imm);
	return ret && ret != -EAGAIN ? IB_WC_LOC_QP_OP_ERR : ret;
}

/* Why a request failed that nothing was sent for; a peer says no more than the status */
static u16 own_why(const struct uroce_wire *w, const struct uroce_msg *msg,
		   enum ib_wc_status status)
{
	if (status == IB_WC_MW_BIND_ERR)
		return w->why;
	if (status == IB_WC_LOC_QP_OP_ERR && msg->op == IB_WR_LOCAL_INV)
		return UNIV_REASON_MW_TYPE;
	return UNIV_REASON_NONE;
}

static void op_done(struct uroce_conn *conn, struct uroce_msg *msg,
		    enum ib_wc_status status)
{
	struct uroce_wire *w = wire_of(conn);
	struct uroce_qp *qp = w->qp;
	struct uroce_wqe wqe __uninitialized;

	/* Those behind one that failed so are acknowledged, and flushed */
	if (!status && static_branch_unlikely(&uroce_faults_on)) {
		if (READ_ONCE(qp->state) == IB_QPS_ERR)
			status = IB_WC_WR_FLUSH_ERR;
		else if (uroce_fault_roll(qp->dev, UROCE_FAULT_COMPLETION))
			status = IB_WC_GENERAL_ERR;
	}
	if (status == IB_WC_RETRY_EXC_ERR)
		uroce_note(qp, UROCE_CNT_RETRY_EXCEEDED);
	revive(conn, msg, &wqe);
	uroce_send_done(qp, &wqe, status, own_why(w, msg, status));
}

/* ---- the peer's requests ------------------------------------------------------ */

static int op_aim(struct uroce_conn *conn, u32 srqn)
{
	return uroce_target_aim(wire_of(conn)->qp, srqn) ? 0 :
							   IB_WC_REM_INV_REQ_ERR;
}

static int op_take(struct uroce_conn *conn)
{
	struct uroce_qp *qp = wire_of(conn)->qp;
	enum ib_wc_status status;

	if (uroce_fault(qp->dev, UROCE_FAULT_RNR))
		return -ENOENT;
	if (uroce_fault(qp->dev, UROCE_FAULT_REMOTE))
		return IB_WC_REM_OP_ERR;
	status = uroce_recv_take(qp);
	return status == IB_WC_RNR_RETRY_EXC_ERR ? -ENOENT : status;
}

static int op_place(struct uroce_conn *conn, u32 offset,
		    const struct uroce_packet *pkt)
{
	struct uroce_qp *qp = wire_of(conn)->qp;
	struct uroce_recv *r = &qp->resp.recv;
	int status;

	if (offset > r->len || pkt->len > r->len - offset)
		return IB_WC_LOC_LEN_ERR;
	status = uroce_recv_map(qp, offset + pkt->len);
	if (status)
		return status;
	uroce_packet_put(pkt, &r->vec, offset);
	uroce_vec_put(&r->vec);
	return 0;
}

static void op_received(struct uroce_conn *conn, const struct ib_wc *wc,
			bool solicited)
{
	struct uroce_qp *qp = wire_of(conn)->qp;
	struct univ_cqe cqe = {
		.opcode = wc->opcode,
		.byte_len = wc->byte_len,
		.src_qp = wc->src_qp,
	};

	if (wc->wc_flags & IB_WC_WITH_IMM) {
		cqe.wc_flags = UNIV_WC_WITH_IMM;
		cqe.imm = (__force u32)wc->ex.imm_data;
	} else if (wc->wc_flags & IB_WC_WITH_INVALIDATE) {
		cqe.wc_flags = UNIV_WC_WITH_INV;
		cqe.imm = wc->ex.invalidate_rkey;
	}
	uroce_recv_done(qp, &cqe, wc->status, solicited);
}

static bool remote_get(struct uroce_conn *conn, struct uroce_seg *seg, u32 rkey,
		       u64 va, u32 len, u32 access)
{
	return uroce_remote_get(wire_of(conn)->qp, seg, rkey, va, len, access);
}

static int op_check(struct uroce_conn *conn, u32 rkey, u64 va, u32 len, int access)
{
	struct uroce_seg seg;

	if (uroce_fault(wire_of(conn)->qp->dev, UROCE_FAULT_REMOTE))
		return IB_WC_REM_ACCESS_ERR;
	if (!remote_get(conn, &seg, rkey, va, len, access))
		return IB_WC_REM_ACCESS_ERR;
	uroce_remote_put(&seg);
	return 0;
}

static int op_write(struct uroce_conn *conn, u32 rkey, u64 va,
		    const struct uroce_packet *pkt)
{
	struct uroce_seg seg;
	struct uroce_vec vec = { .seg = &seg, .count = 1, .len = pkt->len };

	if (!remote_get(conn, &seg, rkey, va, pkt->len, IB_ACCESS_REMOTE_WRITE))
		return IB_WC_REM_ACCESS_ERR;
	uroce_packet_put(pkt, &vec, 0);
	uroce_remote_put(&seg);
	return 0;
}

static int op_read(struct uroce_conn *conn, u32 rkey, u64 va, void *to, u32 len)
{
	struct uroce_seg seg;
	struct uroce_vec vec = { .seg = &seg, .count = 1, .len = len };

	if (!remote_get(conn, &seg, rkey, va, len, IB_ACCESS_REMOTE_READ))
		return IB_WC_REM_ACCESS_ERR;
	uroce_vec_read(&vec, 0, to, len);
	uroce_remote_put(&seg);
	return 0;
}

static int op_atomic(struct uroce_conn *conn, u32 rkey, u64 va, bool swap,
		     u64 compare, u64 operand, u64 *orig)
{
	struct uroce_seg seg;
	bool ok;

	if (!remote_get(conn, &seg, rkey, va, sizeof(*orig),
			IB_ACCESS_REMOTE_ATOMIC))
		return IB_WC_REM_ACCESS_ERR;
	if (swap)
		ok = uroce_atomic(&seg, UNIV_WR_ATOMIC_CMP_AND_SWP, compare,
				  operand, orig);
	else
		ok = uroce_atomic(&seg, UNIV_WR_ATOMIC_FETCH_AND_ADD, operand,
				  0, orig);
	uroce_remote_put(&seg);
	return ok ? 0 : IB_WC_REM_INV_REQ_ERR;
}

static int op_atomic_write(struct uroce_conn *conn, u32 rkey, u64 va, u64 value)
{
	struct uroce_seg seg;
	bool ok;

	if (!remote_get(conn, &seg, rkey, va, sizeof(value),
			IB_ACCESS_REMOTE_WRITE))
		return IB_WC_REM_ACCESS_ERR;
	ok = uroce_atomic_write(&seg, value);
	uroce_remote_put(&seg);
	return ok ? 0 : IB_WC_REM_INV_REQ_ERR;
}

static int op_invalidate(struct uroce_conn *conn, u32 rkey)
{
	return uroce_invalidate(wire_of(conn)->qp, rkey);
}

static void op_broken(struct uroce_conn *conn, u32 event)
{
	uroce_qp_fail(wire_of(conn)->qp, event);
}

static void op_established(struct uroce_conn *conn)
{
	struct uroce_qp *qp = wire_of(conn)->qp;

	if (qp->state != IB_QPS_RTR)
		return;
	set_bit(IB_EVENT_COMM_EST, &qp->events);
	uroce_send_later(qp);
}

static void op_count(struct uroce_conn *conn, enum uroce_counter what)
{
	uroce_note(wire_of(conn)->qp, what);
}

static bool op_room(struct uroce_conn *conn, bool response)
{
	struct uroce_wire *w = wire_of(conn);
	const struct uroce_run *run = response ? &w->resp_run : &w->req_run;
	bool waited = conn->service == UROCE_UC &&
		      conn->req.stuck == UROCE_SOON_DOUBLED;

	/* Looked at once for all that go together */
	return run->head || uroce_net_room(w->qp->dev->netdev, waited);
}

static int op_xmit(struct uroce_conn *conn, struct sk_buff *skb, bool response)
{
	struct uroce_wire *w = wire_of(conn);
	struct uroce_flow *flow = response ? &w->resp_flow : &w->req_flow;
	struct uroce_care *care = response ? &conn->resp.care : &conn->req.care;
	const struct uroce_bth *bth = (void *)skb->data;
	struct uroce_dev *dev = w->qp->dev;

	if (uroce_is_silent(dev)) {
		kfree_skb(skb);
		return 0;
	}
	uroce_count(dev, UROCE_CNT_SENT_PKTS);
	uroce_count_many(dev, UROCE_CNT_SENT_BYTES, skb->len);
	flow->wary = uroce_care_alone(care, be32_to_cpu(bth->psn));
	return uroce_run_add(dev->netdev, flow,
			     response ? &w->resp_run : &w->req_run, skb);
}

static int op_flush(struct uroce_conn *conn, bool response)
{
	struct uroce_wire *w = wire_of(conn);

	if (!response)
		unmap(w);
	return uroce_run_send(w->qp->dev->netdev,
			      response ? &w->resp_run : &w->req_run);
}

static void op_rerun(struct uroce_conn *conn, bool response)
{
	struct uroce_qp *qp = wire_of(conn)->qp;

	if (!response) {
		uroce_send_later(qp);
		return;
	}
	spin_lock_bh(&qp->resp.lock);
	/* In error, memory is the process's own again */
	if (uroce_qp_listens(qp))
		uroce_resp_run(conn);
	spin_unlock_bh(&qp->resp.lock);
}

static const struct uroce_conn_ops wire_ops = {
	.msg = op_msg,
	.gather = op_gather,
	.attach = op_attach,
	.scatter = op_scatter,
	.local = op_local,
	.done = op_done,
	.aim = op_aim,
	.take = op_take,
	.place = op_place,
	.received = op_received,
	.check = op_check,
	.write = op_write,
	.read = op_read,
	.atomic = op_atomic,
	.atomic_write = op_atomic_write,
	.invalidate = op_invalidate,
	.broken = op_broken,
	.established = op_established,
	.count = op_count,
	.room = op_room,
	.xmit = op_xmit,
	.flush = op_flush,
	.rerun = op_rerun,
};

/* ---- the requester ------------------------------------------------------------ */

static u8 wr_opcode(const struct univ_send_wr *wr)
{
	switch (wr->opcode) {
	case UNIV_WR_RDMA_WRITE:
		return IB_WR_RDMA_WRITE;
	case UNIV_WR_RDMA_WRITE_WITH_IMM:
		return IB_WR_RDMA_WRITE_WITH_IMM;
	case UNIV_WR_SEND_WITH_IMM:
		return IB_WR_SEND_WITH_IMM;
	case UNIV_WR_SEND_WITH_INV:
		return IB_WR_SEND_WITH_INV;
	case UNIV_WR_RDMA_READ:
		return IB_WR_RDMA_READ;
	case UNIV_WR_ATOMIC_CMP_AND_SWP:
		return IB_WR_ATOMIC_CMP_AND_SWP;
	case UNIV_WR_ATOMIC_FETCH_AND_ADD:
		return IB_WR_ATOMIC_FETCH_AND_ADD;
	case UNIV_WR_LOCAL_INV:
		return IB_WR_LOCAL_INV;
	case UNIV_WR_BIND_MW:
		return IB_WR_BIND_MW;
	case UNIV_WR_ATOMIC_WRITE:
		return UROCE_WR_ATOMIC_WRITE;
	case UROCE_WR_REG_MR:
		return IB_WR_REG_MR;
	default:
		return IB_WR_SEND;
	}
}

/* A request as packets need it */
void uroce_msg_fill(struct uroce_msg *msg, const struct uroce_wqe *wqe)
{
	const struct univ_send_wr *wr = &wqe->wr;

	msg->op = wr_opcode(wr);
	msg->fence = wr->flags & UNIV_WR_FENCE;
	msg->solicited = wr->flags & UNIV_WR_SOLICITED;
	msg->length = uroce_msg_is_atomic(msg) ? sizeof(u64) : wqe->len;
	msg->rkey = wr->rkey;
	msg->va = wr->remote_addr;
	msg->srqn = wr->srqn;
	if (uroce_msg_is_atomic(msg) || msg->op == IB_WR_BIND_MW) {
		msg->compare_add = wr->atomic.compare_add;
		msg->swap = wr->atomic.swap;
	} else {
		msg->imm = (__force __be32)wr->imm;
	}
}

static void keep(struct uroce_wire_wqe *kept, const struct uroce_wqe *wqe)
{
	kept->wr_id = wqe->wr.wr_id;
	kept->opcode = wqe->wr.opcode;
	kept->flags = wqe->wr.flags;
	kept->count = wqe->wr.count;
	uroce_msg_fill(&kept->msg, wqe);
}

/* Of one that is bad enough is kept to complete it */
static enum ib_wc_status load_one(struct uroce_wire *w, u16 *reason)
{
	struct uroce_wire_wqe *kept = wqe_at(w, w->loaded);
	struct uroce_wqe wqe __uninitialized;
	enum ib_wc_status status;

	wqe.sge = sges_of(w, kept);
	status = uroce_send_load(w->qp, w->loaded, &wqe, reason);
	if (status)
		wqe.len = 0;
	keep(kept, &wqe);
	if (status || !uroce_msg_is_atomic(&kept->msg) || wqe.len >= sizeof(u64))
		return status;
	*reason = UNIV_REASON_ATOMIC;
	return IB_WC_LOC_LEN_ERR;
}

/* One that is bad waits until all before it are done */
static void load(struct uroce_wire *w, u32 tail)
{
	struct uroce_wqe wqe __uninitialized;
	enum ib_wc_status status;
	u16 reason = 0;

	while ((s32)(tail - w->loaded) > 0) {
		status = load_one(w, &reason);
		if (!status) {
			w->loaded++;
			continue;
		}
		if (w->conn.req.done != w->loaded)
			return;
		uroce_req_halt(&w->conn);
		revive(&w->conn, &wqe_at(w, w->loaded)->msg, &wqe);
		uroce_send_done(w->qp, &wqe, status, reason);
		return;
	}
}

/* Other processors queue answers meanwhile, so one turn takes no more than these */
#define ANSWERS_TURN 256

/* Returns whether some are left */
static bool take_answers(struct uroce_wire *w)
{
	struct uroce_packet pkt;
	struct answer_cb *cb;
	struct sk_buff *skb;
	u32 n;

	for (n = 0; n < ANSWERS_TURN && (skb = skb_dequeue(&w->answers)); n++) {
		cb = (void *)skb->cb;
		pkt.skb = skb;
		pkt.ce = cb->ce;
		if (w->conn.req.running && uroce_packet_parse(&pkt, cb->start))
			uroce_comp_receive(&w->conn, &pkt);
		napi_consume_skb(skb, 1);
	}
	return !skb_queue_empty_lockless(&w->answers);
}

/* Take over the attributes that may change while the connection is up */
static void req_take_attr(struct uroce_wire *w)
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

static void req_begin(struct uroce_wire *w)
{
	const struct ib_qp_attr *attr = &w->qp->attr;
	struct uroce_requester *req = &w->conn.req;

	req_take_attr(w);
	req->done = w->qp->sq.head;
	w->loaded = req->done;
	w->began = true;
	uroce_req_start(&w->conn, attr->sq_psn & UROCE_PSN_MASK);
}

/* All that was copied out of the ring is done. Context: sq.lock. */
bool uroce_wire_idle(struct uroce_qp *qp)
{
	struct uroce_wire *w = qp->wire;

	return !w || !w->began || !w->conn.req.running ||
	       w->conn.req.done == w->loaded;
}

/* The sequence numbers of the next packets, in both directions. Context: both locks. */
void uroce_wire_psns(const struct uroce_qp *qp, struct ib_qp_attr *attr)
{
	const struct uroce_wire *w = qp->wire;

	if (!w)
		return;
	attr->rq_psn = w->conn.resp.psn;
	if (w->began)
		attr->sq_psn = w->conn.req.psn;
}

/* Leaving SQE: all that was posted has been flushed. Context: sq.lock. */
void uroce_wire_again(struct uroce_qp *qp)
{
	if (qp->wire)
		qp->wire->began = false;
}

/* Requests up to @tail may begin. Context: sq.lock. */
bool uroce_wire_step(struct uroce_qp *qp, u32 tail)
{
	struct uroce_wire *w = qp->wire;
	bool more;

	if (!w)
		return false;
	if (!w->began)
		req_begin(w);
	more = take_answers(w);
	if (!w->conn.req.running)
		goto out;
	load(w, tail);
	more |= uroce_req_run(&w->conn, w->loaded);
out:
	uroce_cq_notify(qp->send_cq);
	if (!w->conn.req.running)
		return more;
	/* One that is bad may have become the first */
	return more || ((s32)(tail - w->loaded) > 0 &&
			w->conn.req.done == w->loaded);
}

/* A requester that does not run in this state takes no answers */
static bool expects_answers(const struct uroce_qp *qp)
{
	enum ib_qp_state state = READ_ONCE(qp->state);

	return state == IB_QPS_RTS || state == IB_QPS_SQD;
}

/*
 * Context: RCU. The packet is an answer to the requester, who takes it soon; the state
 * may change before, so whoever flushes the send queue drops what is here. It is under
 * way no more: the sender may be another namespace of this host, which cannot send for
 * as long as too much is charged to it.
 */
void uroce_wire_answer(struct uroce_wire *w, const struct uroce_packet *pkt)
{
	struct sk_buff *skb = pkt->skb;
	struct answer_cb *cb = (void *)skb->cb;

	/* Without a ring nothing was asked, and nothing would take the answer */
	if (!w->count || !expects_answers(w->qp) ||
	    skb_queue_len_lockless(&w->answers) >= ANSWERS_MAX)
		return;
	skb_orphan(skb);
	/* As UDP does, so that a packet that waits pins no connection of netfilter */
	nf_reset_ct(skb);
	secpath_reset(skb);
	/* A packet that came by lo has a route, which must not outlive its namespace */
	skb_dst_drop(skb);
	cb->start = (u8 *)pkt->bth - skb->data;
	cb->ce = pkt->ce;
	skb_queue_tail(&w->answers, skb_get(skb));
	uroce_send_run(w->qp);
}

/* The send queue is being flushed. Context: sq.lock. */
void uroce_wire_flush(struct uroce_qp *qp)
{
	if (qp->wire)
		skb_queue_purge(&qp->wire->answers);
}

/* Context: resp.lock */
void uroce_wire_request(struct uroce_wire *w, const struct uroce_packet *pkt)
{
	const struct ib_qp_attr *attr = &w->qp->attr;

	w->conn.resp.access = uroce_qp_access(w->qp);
	w->conn.resp.rnr_timer = attr->min_rnr_timer;
	if (pkt->ce)
		uroce_resp_congested(&w->conn);
	uroce_resp_receive(&w->conn, pkt);
	uroce_recv_notify(w->qp);
}

/* ---- beginning and end -------------------------------------------------------- */

/* The parts that are read and written under a lock of the queue pair alone: nearly all */
static void wire_empty(struct uroce_wire *w)
{
	uroce_flow_release(&w->req_flow);
	uroce_flow_release(&w->resp_flow);
	kvfree(w->sges);
	kvfree(w->wqes);
	kfree(w->conn.resp.responses);
}

static int wire_alloc_wqes(struct uroce_wire *w)
{
	struct uroce_sendq *sq = &w->qp->sq;

	w->count = sq->ring.count;
	if (!w->count)
		return 0;
	w->wqes = kvcalloc(w->count, sizeof(*w->wqes), GFP_KERNEL_ACCOUNT);
	w->sges = kvcalloc(array_size(w->count, max_t(u32, sq->max_sge, 1)),
			   sizeof(*w->sges), GFP_KERNEL_ACCOUNT);
	return w->wqes && w->sges ? 0 : -ENOMEM;
}

static void wire_free_rcu(struct rcu_head *rcu)
{
	struct uroce_wire *w = container_of(rcu, struct uroce_wire, rcu);

	skb_queue_purge(&w->answers);
	kfree(w);
}

static u32 wire_limit(const struct uroce_qp *qp)
{
	return roundup_pow_of_two(max_t(u32, qp->attr.max_dest_rd_atomic, 1));
}

static struct uroce_response *wire_alloc_responses(u32 limit)
{
	return kcalloc(limit, sizeof(struct uroce_response), GFP_KERNEL_ACCOUNT);
}

static struct uroce_wire *wire_alloc(struct uroce_qp *qp)
{
	struct uroce_wire *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	struct uroce_conn *conn;

	if (!w)
		return NULL;
	conn = &w->conn;
	w->qp = qp;
	skb_queue_head_init(&w->answers);
	uroce_conn_init(conn, &wire_ops, uroce_service(qp->type));
	conn->resp.limit = wire_limit(qp);
	conn->resp.responses = wire_alloc_responses(conn->resp.limit);
	if (!conn->resp.responses || wire_alloc_wqes(w)) {
		wire_empty(w);
		kfree(w);
		return NULL;
	}
	return w;
}

/* Where its packets go */
static void take_way(struct uroce_wire *w)
{
	const struct uroce_qp *qp = w->qp;

	uroce_flow_release(&w->req_flow);
	uroce_flow_release(&w->resp_flow);
	w->req_flow = qp->av.flow;
	w->req_flow.route = NULL;
	/* Routers mark instead of dropping, for whoever does something about it */
	if (uroce_qp_is_reliable(qp))
		w->req_flow.tclass = (w->req_flow.tclass & ~INET_ECN_MASK) |
				     INET_ECN_ECT_0;
	w->resp_flow = w->req_flow;
}

/*
 * Attributes of a drained send queue have changed. A connection that has packets keeps
 * them, whatever host the new address is of. Context: both locks.
 */
void uroce_wire_changed(struct uroce_qp *qp, bool way)
{
	struct uroce_wire *w = qp->wire;

	if (!w)
		return;
	if (way) {
		qp->av.peer = 0;
		take_way(w);
	}
	if (!w->began)
		return;
	req_take_attr(w);
	w->conn.req.tries = w->conn.req.retry_cnt;
	w->conn.req.rnr_tries = w->conn.req.rnr_retry;
	/* As uroce_req_start() has it */
	if (uroce_qp_is_reliable(qp) && !w->conn.req.retry_cnt)
		w->conn.req.care.left = U32_MAX;
}

/*
 * max_dest_rd_atomic has changed while the send queue is drained. The peer may have
 * reads and atomics under way, so no answer is forgotten, and one that is lower changes
 * nothing. May sleep.
 */
int uroce_wire_remember(struct uroce_qp *qp)
{
	u32 limit = wire_limit(qp);
	struct uroce_response *responses = wire_alloc_responses(limit);

	if (!responses)
		return -ENOMEM;
	spin_lock_bh(&qp->resp.lock);
	if (qp->wire && limit > qp->wire->conn.resp.limit)
		responses = uroce_resp_grow(&qp->wire->conn, responses, limit);
	spin_unlock_bh(&qp->resp.lock);
	kfree(responses);
	return 0;
}

/* Called once the way to the peer is known; may sleep. A datagram needs nothing. */
int uroce_wire_begin(struct uroce_qp *qp)
{
	struct uroce_wire *w;

	if (!uroce_qp_is_connected(qp))
		return 0;
	w = wire_alloc(qp);
	if (!w)
		return -ENOMEM;
	w->conn.peer = qp->attr.dest_qp_num;
	w->conn.pkey = UROCE_PKEY;
	w->conn.mtu = qp->mtu;
	take_way(w);
	uroce_resp_start(&w->conn, qp->attr.rq_psn & UROCE_PSN_MASK);
	uroce_wire_end(qp);
	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	qp->wire = w;
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	return 0;
}

/*
 * Drop the routes, earlier than the rest: each refers to the memory of its namespace,
 * which may end before the queue pair does. No sender looks for new ones, since the
 * queue pair or its connection is at its end, or the device is gone from the namespace.
 * Context: both locks.
 */
void uroce_wire_lose_way(struct uroce_qp *qp)
{
	if (!qp->wire)
		return;
	uroce_flow_release(&qp->wire->req_flow);
	uroce_flow_release(&qp->wire->resp_flow);
}

/*
 * Afterwards nobody uses the queue pair's connection, but those who looked it up without
 * a lock, to leave an answer that nobody takes. Its addresses and its queue of answers
 * are freed after them; the caller does not wait, since it may have thousands of queue
 * pairs to end. The rest is megabytes for a long queue, and is freed at once.
 */
void uroce_wire_end(struct uroce_qp *qp)
{
	struct uroce_wire *w;

	spin_lock_bh(&qp->sq.lock);
	spin_lock(&qp->resp.lock);
	uroce_wire_lose_way(qp);
	w = qp->wire;
	qp->wire = NULL;
	if (w) {
		uroce_req_halt(&w->conn);
		uroce_resp_halt(&w->conn);
	}
	spin_unlock(&qp->resp.lock);
	spin_unlock_bh(&qp->sq.lock);
	if (!w)
		return;
	uroce_conn_stop(&w->conn);
	wire_empty(w);
	skb_queue_purge(&w->answers);
	call_rcu(&w->rcu, wire_free_rcu);
}

void uroce_wire_reset(struct uroce_qp *qp)
{
	uroce_wire_end(qp);
}
