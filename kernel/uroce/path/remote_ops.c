// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of a connection over packets on the queues and the memory of
 * its queue pair.
 */
#include <linux/skbuff.h>

#include "compat.h"
#include "move.h"
#include "remote.h"

/* ---- the send queue's memory --------------------------------------------- */

/* Restores a request as qp/send.c knows it, from the parts that were kept. */
void uroce_remote_revive(struct uroce_conn *conn, const struct uroce_msg *msg,
		       struct uroce_wqe *wqe)
{
	const struct uroce_remote_wqe *kept = wqe_of((struct uroce_msg *)msg);
	struct uroce_remote *w = wire_of(conn);
	struct uroce_sendq *sq = &w->qp->sq;

	wqe->wr.wr_id = kept->wr_id;
	wqe->wr.opcode = msg->op;
	wqe->wr.flags = kept->flags;
	wqe->wr.count = kept->count;
	wqe->len = msg->length;
	wqe->sge = sges_of(w, kept);
	wqe->data = NULL;
	if (kept->flags & UNIV_WR_INLINE)
		wqe->data = (void *)univ_ring_inline(&sq->ring,
							   kept - w->fit.wqes);
	/* Only one request is mapped at a time. */
	wqe->vec.seg = sq->wqe.vec.seg;
}

static struct uroce_msg *op_msg(struct uroce_conn *conn, u32 index)
{
	return &wqe_at(wire_of(conn), index)->msg;
}

static void unmap(struct uroce_remote *w)
{
	if (!w->mapped)
		return;
	uroce_vec_put(&w->vec);
	w->mapped = NULL;
}

/*
 * Holds the memory of a request until another request is mapped or the turn
 * ends.
 */
static int map(struct uroce_remote *w, struct uroce_msg *msg)
{
	struct uroce_remote_wqe *kept = wqe_of(msg);
	struct uroce_wqe wqe __uninitialized;
	int status;

	if (w->mapped == kept)
		return 0;
	unmap(w);
	uroce_remote_revive(&w->conn, msg, &wqe);
	status = uroce_send_map(w->qp, &wqe, 0);
	if (status)
		return status;
	w->vec = wqe.vec;
	w->mapped = kept;
	return 0;
}

/* The status of a request whose own pages are missing. */
static int own_absent(int ret)
{
	return ret == -EFAULT ? IB_WC_LOC_PROT_ERR : ret;
}

static int op_gather(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		     void *to, u32 len)
{
	struct uroce_remote *w = wire_of(conn);
	int status = map(w, msg);

	if (status)
		return status;
	status = uroce_vec_enter(&w->vec, offset, len, false, &w->qp->sq.ask);
	if (unlikely(status))
		return own_absent(status);
	uroce_vec_read(&w->vec, offset, to, len);
	uroce_vec_leave(&w->vec);
	return 0;
}

/* Copies bytes into pages of the packet. */
static int fill(const struct uroce_vec *vec, u32 offset, struct sk_buff *skb,
		u32 len)
{
	u32 done, run;
	void *to;

	for (done = 0; done < len; done += run) {
		run = min_t(u32, len - done, UROCE_NET_PIECE);
		to = uroce_net_more(skb, run);
		if (!to)
			return -ENOMEM;
		uroce_vec_read(vec, offset + done, to, run);
	}
	return uroce_net_end_pages(skb) ? 0 : -ENOMEM;
}

static int op_copy(struct uroce_remote *w, u32 offset, struct sk_buff *skb,
		   u32 len)
{
	int status = uroce_vec_enter(&w->vec, offset, len, false,
				     &w->qp->sq.ask);

	if (unlikely(status))
		return own_absent(status);
	status = fill(&w->vec, offset, skb, len);
	uroce_vec_leave(&w->vec);
	return status ? -EOPNOTSUPP : 0;
}

static int op_attach(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		     struct sk_buff *skb, u32 len)
{
	struct uroce_remote *w = wire_of(conn);
	int status;

	/*
	 * Inline data lies in the ring slot, which is reused before the packet
	 * may be sent again.
	 */
	if (wqe_of(msg)->flags & UNIV_WR_INLINE ||
	    !uroce_net_gathers(&w->req_flow))
		return -EOPNOTSUPP;
	status = map(w, msg);
	if (status)
		return status;
	if (!uroce_net_takes_pages(&w->req_flow))
		return op_copy(w, offset, skb, len);
	return uroce_vec_attach(&w->vec, offset, len, skb) &&
	       uroce_net_end_pages(skb) ? 0 : -EOPNOTSUPP;
}

static u32 op_together(struct uroce_conn *conn, bool response)
{
	const struct uroce_remote *w = wire_of(conn);

	return uroce_gso_most(response ? &w->resp_flow : &w->req_flow,
			      conn->mtu);
}

static void put_response(const struct uroce_msg *msg,
			 const struct uroce_vec *vec, u32 offset,
			 const struct uroce_packet *pkt)
{
	const struct uroce_atomic_ack *ack;
	u64 orig;

	if (!uroce_msg_is_atomic(msg)) {
		uroce_packet_put(pkt, vec, offset);
		return;
	}
	ack = (void *)((u8 *)(pkt->bth + 1) + sizeof(struct uroce_aeth));
	orig = be64_to_cpu(ack->orig);
	uroce_vec_write(vec, 0, &orig, sizeof(orig));
}

static int op_scatter(struct uroce_conn *conn, struct uroce_msg *msg,
		      u32 offset, const struct uroce_packet *pkt)
{
	struct uroce_qp *qp = wire_of(conn)->qp;
	struct uroce_wqe wqe __uninitialized;
	int status;

	uroce_remote_revive(conn, msg, &wqe);
	status = uroce_send_map(qp, &wqe, IB_ACCESS_LOCAL_WRITE);
	if (status)
		return status;
	status = uroce_vec_enter(&wqe.vec, offset, uroce_msg_is_atomic(msg) ?
				 sizeof(u64) : pkt->len, true, &qp->sq.ask);
	if (likely(!status)) {
		put_response(msg, &wqe.vec, offset, pkt);
		uroce_vec_leave(&wqe.vec);
	}
	uroce_vec_put(&wqe.vec);
	return own_absent(status);
}

/* The operands of a bind are kept in the place of an atomic's operands. */
static int bind(struct uroce_remote *w, const struct uroce_msg *msg)
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

	/* The key may belong to memory that the previous request has used. */
	unmap(wire_of(conn));
	if (msg->op == UNIV_WR_BIND_MW)
		return bind(wire_of(conn), msg);
	if (msg->op == UNIV_WR_LOCAL_INV)
		ret = uroce_invalidate(qp, imm);
	else
		ret = uroce_mr_fast(qp->ib->pd, (void *)(uintptr_t)msg->va,
				    msg->rkey, imm);
	return ret && ret != -EAGAIN ? IB_WC_LOC_QP_OP_ERR : ret;
}

/*
 * The reason for a failure that was found on this side. A peer reports only a
 * status.
 */
static u16 own_why(const struct uroce_remote *w, const struct uroce_msg *msg,
		   enum ib_wc_status status)
{
	if (status == IB_WC_MW_BIND_ERR)
		return w->why;
	if (status == IB_WC_LOC_QP_OP_ERR && msg->op == UNIV_WR_LOCAL_INV)
		return UNIV_REASON_MW_TYPE;
	return UNIV_REASON_NONE;
}

static void op_done(struct uroce_conn *conn, struct uroce_msg *msg,
		    enum ib_wc_status status)
{
	struct uroce_remote *w = wire_of(conn);
	struct uroce_qp *qp = w->qp;
	struct uroce_wqe wqe __uninitialized;

	if (status == IB_WC_RETRY_EXC_ERR)
		uroce_note(qp, UROCE_CNT_RETRY_EXCEEDED);
	/*
	 * After an injected failure, acknowledged requests behind it are
	 * reported as flushed.
	 */
	if (!status && static_branch_unlikely(&uroce_faults_on.key)) {
		if (READ_ONCE(qp->state) == IB_QPS_ERR)
			status = IB_WC_WR_FLUSH_ERR;
		else if (uroce_fault_roll(qp->dev, qp->num,
					  UROCE_FAULT_COMPLETION))
			status = uroce_fault_status(qp->dev);
	}
	uroce_remote_revive(conn, msg, &wqe);
	uroce_send_done(qp, &wqe, status, own_why(w, msg, status));
	/* The next answer may be long. */
	if (unlikely(qp->sq.step == UROCE_BATCH))
		uroce_send_write(qp);
}

/* ---- the peer's requests ------------------------------------------------- */

static int op_aim(struct uroce_conn *conn, u32 srqn)
{
	return uroce_target_aim(wire_of(conn)->qp, srqn) ?
		       0 :
		       IB_WC_REM_INV_REQ_ERR;
}

static int op_take(struct uroce_conn *conn)
{
	struct uroce_qp *qp = wire_of(conn)->qp;
	enum ib_wc_status status;

	if (uroce_fault(qp->dev, qp->num, UROCE_FAULT_RNR))
		return -ENOENT;
	if (uroce_fault(qp->dev, qp->num, UROCE_FAULT_REMOTE))
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
	status = uroce_recv_enter(qp, offset, pkt->len);
	if (status)
		return status == IB_WC_RNR_RETRY_EXC_ERR ? -EAGAIN : status;
	uroce_packet_put(pkt, &r->vec, offset);
	uroce_recv_leave(qp);
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
	/*
	 * Shown before the peer's request is acknowledged. The next message of
	 * an XRC target may complete in another queue.
	 */
	if (unlikely(qp->xrcd))
		uroce_recv_notify(qp);
	else
		uroce_recv_write(qp);
}

static bool remote_get(struct uroce_conn *conn, struct uroce_seg *seg, u32 rkey,
		       u64 va, u32 len, u32 access)
{
	return uroce_rkey_get(wire_of(conn)->qp, seg, rkey, va, len, access);
}

/*
 * Resolves memory that the peer names, as a vector of one segment, and begins
 * an access to it. -EAGAIN: pages are missing. @ahead: bytes behind it that are
 * used next; the segment contains them, and they are not checked.
 */
static int remote_enter(struct uroce_conn *conn, struct uroce_vec *vec,
			u32 rkey, u64 va, u32 access, u32 ahead)
{
	struct uroce_qp *qp = wire_of(conn)->qp;
	int ret;

	if (!remote_get(conn, vec->seg, rkey, va, vec->len, access))
		return IB_WC_REM_ACCESS_ERR;
	vec->seg->len += ahead;
	ret = uroce_vec_enter(vec, 0, vec->len,
			      access != IB_ACCESS_REMOTE_READ, &qp->resp.ask);
	if (likely(!ret))
		return 0;
	uroce_rkey_put(vec->seg);
	return ret == -EFAULT ? IB_WC_REM_ACCESS_ERR : ret;
}

static void remote_leave(const struct uroce_vec *vec)
{
	uroce_vec_leave(vec);
	uroce_rkey_put(vec->seg);
}

static int op_check(struct uroce_conn *conn, u32 rkey, u64 va, u32 len,
		    int access)
{
	struct uroce_qp *qp = wire_of(conn)->qp;
	struct uroce_seg seg;

	if (uroce_fault(qp->dev, qp->num, UROCE_FAULT_REMOTE))
		return IB_WC_REM_ACCESS_ERR;
	if (!remote_get(conn, &seg, rkey, va, len, access))
		return IB_WC_REM_ACCESS_ERR;
	uroce_rkey_put(&seg);
	return 0;
}

static int op_write(struct uroce_conn *conn, u32 rkey, u64 va,
		    const struct uroce_packet *pkt)
{
	struct uroce_seg seg;
	struct uroce_vec vec = { .seg = &seg, .count = 1, .len = pkt->len };
	const struct uroce_responder *resp = &conn->resp;
	int ret = remote_enter(conn, &vec, rkey, va, IB_ACCESS_REMOTE_WRITE,
			       resp->length - resp->offset - pkt->len);

	if (ret)
		return ret;
	uroce_packet_put(pkt, &vec, 0);
	remote_leave(&vec);
	return 0;
}

/* A read is likely to go on behind a packet. */
#define READ_AHEAD (64u << 10)

static int op_read(struct uroce_conn *conn, u32 rkey, u64 va, void *to, u32 len)
{
	struct uroce_seg seg;
	struct uroce_vec vec = { .seg = &seg, .count = 1, .len = len };
	int ret = remote_enter(conn, &vec, rkey, va, IB_ACCESS_REMOTE_READ,
			       READ_AHEAD);

	if (ret)
		return ret;
	uroce_vec_read(&vec, 0, to, len);
	remote_leave(&vec);
	return 0;
}

/*
 * The payload is copied, although a packet could hold the owner's pages: what
 * the peer reads is the contents at this time, also if another program keeps
 * the packet until the owner has withdrawn the key and uses the memory anew.
 */
static int op_fill(struct uroce_conn *conn, u32 rkey, u64 va,
		   struct sk_buff *skb, u32 len)
{
	struct uroce_seg seg;
	struct uroce_vec vec = { .seg = &seg, .count = 1, .len = len };
	int ret = remote_enter(conn, &vec, rkey, va, IB_ACCESS_REMOTE_READ, 0);

	if (ret)
		return ret;
	ret = fill(&vec, 0, skb, len);
	remote_leave(&vec);
	return ret;
}

static int op_atomic(struct uroce_conn *conn, u32 rkey, u64 va, bool swap,
		     u64 compare, u64 operand, u64 *orig)
{
	struct uroce_seg seg;
	struct uroce_vec vec = {
		.seg = &seg, .count = 1, .len = sizeof(*orig),
	};
	int ret = remote_enter(conn, &vec, rkey, va, IB_ACCESS_REMOTE_ATOMIC,
			       0);
	bool ok;

	if (ret)
		return ret;
	if (swap)
		ok = uroce_atomic(&seg, UNIV_WR_ATOMIC_CMP_AND_SWP, compare,
				  operand, orig);
	else
		ok = uroce_atomic(&seg, UNIV_WR_ATOMIC_FETCH_AND_ADD, operand,
				  0, orig);
	remote_leave(&vec);
	return ok ? 0 : IB_WC_REM_INV_REQ_ERR;
}

static int op_atomic_write(struct uroce_conn *conn, u32 rkey, u64 va, u64 value)
{
	struct uroce_seg seg;
	struct uroce_vec vec = {
		.seg = &seg, .count = 1, .len = sizeof(value),
	};
	int ret = remote_enter(conn, &vec, rkey, va, IB_ACCESS_REMOTE_WRITE, 0);
	bool ok;

	if (ret)
		return ret;
	ok = uroce_atomic_write(&seg, value);
	remote_leave(&vec);
	return ok ? 0 : IB_WC_REM_INV_REQ_ERR;
}

static int op_flush_memory(struct uroce_conn *conn, u32 rkey, u64 va, u32 len,
			   u32 access, bool whole)
{
	struct uroce_qp *qp = wire_of(conn)->qp;

	if (uroce_fault(qp->dev, qp->num, UROCE_FAULT_REMOTE) ||
	    !uroce_mr_flush(qp->resp.pd, rkey, va, len, access, whole))
		return IB_WC_REM_ACCESS_ERR;
	return 0;
}

static int op_invalidate(struct uroce_conn *conn, u32 rkey)
{
	return uroce_invalidate(wire_of(conn)->qp, rkey);
}

static void op_served(struct uroce_conn *conn, bool read, u32 len)
{
	uroce_cntrs_served(wire_of(conn)->qp, read, len);
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
	struct uroce_remote *w = wire_of(conn);
	const struct uroce_run *run = response ? &w->resp_run : &w->req_run;
	bool waited = conn->service == UROCE_UC &&
		      conn->req.stuck == UROCE_SOON_DOUBLED;

	/* The limit is checked once for all packets that are sent together. */
	return run->head || uroce_net_room(w->qp->dev->netdev, waited);
}

static int op_xmit(struct uroce_conn *conn, struct sk_buff *skb, bool response)
{
	struct uroce_remote *w = wire_of(conn);
	struct uroce_flow *flow = response ? &w->resp_flow : &w->req_flow;
	struct uroce_care *care = response ? &conn->resp.care : &conn->req.care;
	const struct uroce_bth *bth = (void *)skb->data;
	struct uroce_dev *dev = w->qp->dev;

	if (uroce_is_silent(dev)) {
		kfree_skb(skb);
		return 0;
	}
	uroce_count_many(dev, UROCE_CNT_SENT_PKTS,
			 skb_shinfo(skb)->gso_segs ?: 1);
	uroce_count_many(dev, UROCE_CNT_SENT_BYTES,
			 skb->len + uroce_gso_more(bth->opcode,
						   skb_shinfo(skb)->gso_segs));
	flow->wary = uroce_care_alone(care, be32_to_cpu(bth->psn));
	return uroce_run_add(dev->netdev, flow,
			     response ? &w->resp_run : &w->req_run, skb);
}

static int op_flush(struct uroce_conn *conn, bool response)
{
	struct uroce_remote *w = wire_of(conn);

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
	/* In the error state the memory belongs to the process again. */
	uroce_held_check(conn, !uroce_qp_listens(qp));
	if (uroce_qp_listens(qp))
		uroce_resp_run(conn);
	spin_unlock_bh(&qp->resp.lock);
}

const struct uroce_conn_ops uroce_remote_ops = {
	.msg = op_msg,
	.gather = op_gather,
	.attach = op_attach,
	.together = op_together,
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
	.fill = op_fill,
	.atomic = op_atomic,
	.atomic_write = op_atomic_write,
	.flush_memory = op_flush_memory,
	.invalidate = op_invalidate,
	.served = op_served,
	.broken = op_broken,
	.established = op_established,
	.count = op_count,
	.room = op_room,
	.xmit = op_xmit,
	.flush = op_flush,
	.migrate = uroce_move_away,
	.rerun = op_rerun,
};
