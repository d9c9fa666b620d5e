// SPDX-License-Identifier: GPL-2.0
/* Packets for packet sockets. See mirror.h. */
#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <net/inet_ecn.h>
#include <net/ip.h>

#include "datagram.h"
#include "remote.h"

/* Of a longer message, only the first bytes and the last packet are shown. */
#define SHOWN_BYTES (64u << 10)

DEFINE_STATIC_KEY_FALSE(uroce_mirrors_on);

/* Protects uroce_dev.mirror and the key. */
static DEFINE_MUTEX(mirrors_lock);

/**
 * struct show - packets of one request
 * @conn: the fields from which conn/build.c builds packets
 * @qp: the queue pair of the request
 * @wqe: the request, mapped
 * @to: the device of the peer
 */
struct show {
	struct uroce_conn conn;
	struct uroce_qp *qp;
	struct uroce_wqe *wqe;
	struct uroce_dev *to;
};

/* ---- packet sockets ------------------------------------------------------ */

static bool watched(const struct uroce_dev *dev)
{
	return READ_ONCE(dev->mirror) && dev_nit_active(dev->netdev);
}

/* Packet sockets keep @skb, so it must not be written any more. */
static void tap(const struct uroce_dev *dev, const struct uroce_dev *src,
		const struct uroce_dev *dst, struct sk_buff *skb)
{
	struct net_device *netdev = dev->netdev;

	if (skb_headroom(skb) < netdev->hard_header_len)
		return;
	skb->dev = netdev;
	dev_hard_header(skb, netdev, ntohs(skb->protocol),
			dst->netdev->dev_addr, src->netdev->dev_addr, skb->len);
	dev_queue_xmit_nit(skb, netdev);
}

/*
 * @skb has the base header up to the padding. Each side that is watched gets
 * it.
 */
static void emit(const struct uroce_flow *flow, const struct uroce_dev *src,
		 const struct uroce_dev *dst, struct sk_buff *skb)
{
	struct sk_buff *copy;

	uroce_net_seal(flow, skb, 0);
	if (skb->protocol == htons(ETH_P_IP))
		ip_send_check(ip_hdr(skb));
	if (src != dst && watched(dst)) {
		copy = skb_copy(skb, GFP_ATOMIC);
		if (copy)
			tap(dst, src, dst, copy);
		consume_skb(copy);
	}
	if (watched(src))
		tap(src, src, dst, skb);
	consume_skb(skb);
}

/* Packets of a connection are marked as capable of ECN. */
static struct uroce_flow flow_of(const struct show *s, bool back)
{
	struct uroce_flow flow = s->qp->av.flow;

	flow.tclass = (flow.tclass & ~INET_ECN_MASK) | INET_ECN_ECT_0;
	if (back)
		swap(flow.src, flow.dst);
	return flow;
}

/* ---- requests ------------------------------------------------------------ */

static int gather(struct uroce_conn *conn, struct uroce_msg *msg, u32 offset,
		  void *to, u32 len)
{
	struct show *s = container_of(conn, struct show, conn);

	uroce_vec_read(&s->wqe->vec, offset, to, len);
	return 0;
}

static const struct uroce_conn_ops show_ops = {
	.gather = gather,
};

static bool show_request(struct show *s, struct uroce_msg *msg, u32 len)
{
	bool last = s->conn.req.offset + len == msg->length;
	struct uroce_flow flow = flow_of(s, false);
	struct uroce_bth *bth;
	struct sk_buff *skb;
	int status = 0;

	s->conn.peer = s->qp->attr.dest_qp_num;
	skb = uroce_req_build(&s->conn, msg, len, &status, false);
	if (!skb)
		return false;
	bth = (void *)skb->data;
	if (last && s->conn.service != UROCE_UC)
		bth->psn |= cpu_to_be32(UROCE_BTH_ACK_REQ);
	emit(&flow, s->qp->dev, s->to, skb);
	return true;
}

/* ---- answers ------------------------------------------------------------- */

/*
 * Shows an answer with @len bytes of the data of the response, from @offset on.
 */
static bool show_answer(struct show *s, u8 opcode, u32 psn, u8 syndrome,
			u32 offset, u32 len)
{
	const struct uroce_op *op = &uroce_ops[s->conn.service | opcode];
	struct uroce_flow flow = flow_of(s, true);
	u32 pad = uroce_pad(len);
	struct sk_buff *skb;
	__be32 *aeth;
	u64 orig;

	skb = uroce_net_alloc(op->length + len + pad, false);
	if (!skb)
		return false;
	s->conn.peer = s->qp->num;
	aeth = (void *)uroce_bth_put(&s->conn, skb, s->conn.service | opcode,
				     psn, pad);
	if (op->flags & UROCE_OP_AETH)
		*aeth = uroce_aeth_make(syndrome, s->qp->sq.shown_msn);
	if (op->flags & UROCE_OP_ATOMIC) {
		uroce_vec_read(&s->wqe->vec, 0, &orig, sizeof(orig));
		put_unaligned_be64(orig, aeth + 1);
	}
	uroce_vec_read(&s->wqe->vec, offset, skb_put(skb, len), len);
	memset(skb_put(skb, pad), 0, pad);
	emit(&flow, s->to, s->qp->dev, skb);
	return true;
}

/*
 * Shows the answers to one read request, which may be a part of a longer read.
 */
static bool show_read(struct show *s, u32 psn, u32 offset, u32 len)
{
	u32 n = uroce_req_packets(&s->conn, len), mtu = s->conn.mtu, i;
	u8 opcode;

	for (i = 0; i < n; i++) {
		opcode = n == 1 ? UROCE_READ_ONLY :
			 !i ? UROCE_READ_FIRST :
			 i + 1 == n ? UROCE_READ_LAST : UROCE_READ_MIDDLE;
		if (!show_answer(s, opcode, uroce_psn_add(psn, i),
				 UROCE_AETH_NO_CREDIT, offset + i * mtu,
				 min(len - i * mtu, mtu)))
			return false;
	}
	return true;
}

/* ---- messages ------------------------------------------------------------ */

/* The number of sequence numbers that the message takes. */
static u32 span(const struct show *s, const struct uroce_msg *msg)
{
	if (uroce_msg_is_atomic(msg))
		return 1;
	return uroce_req_packets(&s->conn, msg->length);
}

/*
 * The offset of the last packet of a message, or of the last request of a read.
 */
static u32 last_piece(struct show *s, const struct uroce_msg *msg)
{
	u32 unit;

	s->conn.req.offset = 0;
	unit = uroce_req_piece(&s->conn, msg);
	return (msg->length - 1) / unit * unit;
}

/* Returns false if a packet could not be built. */
static bool show_pieces(struct show *s, struct uroce_msg *msg, bool answered)
{
	struct uroce_requester *req = &s->conn.req;
	u32 first = s->qp->sq.shown_psn, offset = 0, len;
	bool reads = answered && uroce_msg_is_read(msg);
	u32 last = msg->length ? last_piece(s, msg) : 0;

	do {
		if (offset >= SHOWN_BYTES)
			offset = last;
		req->offset = offset;
		req->psn = uroce_psn_add(first, offset / s->conn.mtu);
		len = uroce_req_piece(&s->conn, msg);
		if (!show_request(s, msg, len) ||
		    (reads && !show_read(s, req->psn, offset, len)))
			return false;
		offset += len;
	} while (offset < msg->length);
	return true;
}

static void show_message(struct show *s, struct uroce_msg *msg, u8 syndrome)
{
	bool ok = (syndrome & UROCE_AETH_KIND) == UROCE_AETH_ACK;
	u32 psn = s->qp->sq.shown_psn;
	u8 opcode = UROCE_ACKNOWLEDGE;

	if (!show_pieces(s, msg, ok) || s->conn.service == UROCE_UC)
		return;
	if (ok && uroce_msg_is_read(msg))
		return;
	if (ok && uroce_msg_is_atomic(msg))
		opcode = UROCE_ATOMIC_ACK;
	else if (ok && uroce_msg_has_response(msg))
		opcode = UROCE_READ_ONLY;
	else if (ok)
		psn = uroce_psn_add(psn, span(s, msg) - 1);
	show_answer(s, opcode, psn, syndrome, 0, 0);
}

void uroce_mirror_message(struct uroce_qp *qp, struct uroce_dev *to,
			  struct uroce_wqe *wqe, u8 syndrome)
{
	struct uroce_sendq *sq = &qp->sq;
	struct show s = {
		.conn.ops = &show_ops,
		.conn.service = uroce_service(qp->type),
		.conn.pkey = qp->pkey,
		.conn.mig = READ_ONCE(qp->mig) == IB_MIG_MIGRATED ?
				    UROCE_BTH_MIG : 0,
		.conn.mtu = qp->mtu,
		.qp = qp,
		.to = to,
		.wqe = wqe,
	};
	bool ok = (syndrome & UROCE_AETH_KIND) == UROCE_AETH_ACK;
	struct uroce_msg msg;

	uroce_msg_fill(&msg, wqe);
	if (ok)
		sq->shown_msn++;
	if ((watched(qp->dev) || watched(to)) && !uroce_send_map(qp, wqe, 0)) {
		/* Pages that are gone again are not faulted in for this. */
		if (!uroce_vec_enter(&wqe->vec, 0, wqe->len, false, NULL)) {
			show_message(&s, &msg, syndrome);
			uroce_vec_leave(&wqe->vec);
		}
		uroce_vec_put(&wqe->vec);
	}
	if (ok)
		sq->shown_psn = uroce_psn_add(sq->shown_psn, span(&s, &msg));
}

void uroce_mirror_datagram(struct uroce_qp *qp, struct uroce_dev *to,
			   struct uroce_wqe *wqe)
{
	struct sk_buff *skb;

	if (!watched(qp->dev) && !watched(to))
		return;
	skb = uroce_datagram_build(qp, wqe);
	if (skb)
		emit(&wqe->av.flow, qp->dev, to, skb);
}

/* ---- the switch ---------------------------------------------------------- */

void uroce_mirror_set(struct uroce_dev *dev, bool on)
{
	mutex_lock(&mirrors_lock);
	if (on && !dev->mirror)
		static_branch_inc(&uroce_mirrors_on);
	if (!on && dev->mirror)
		static_branch_dec(&uroce_mirrors_on);
	WRITE_ONCE(dev->mirror, on);
	mutex_unlock(&mirrors_lock);
}

static int mirror_get(void *data, u64 *val)
{
	struct uroce_dev *dev = data;

	*val = READ_ONCE(dev->mirror);
	return 0;
}

static int mirror_set(void *data, u64 val)
{
	if (val > 1)
		return -EINVAL;
	uroce_mirror_set(data, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(mirror_fops, mirror_get, mirror_set, "%llu\n");

/* The file is in the folder of dev/fault.c, which removes it. */
void uroce_mirror_add(struct uroce_dev *dev)
{
	debugfs_create_file_unsafe("mirror", 0600, dev->faults.dir, dev,
				   &mirror_fops);
}

/* The file is gone, and netlink does not find the device any more. */
void uroce_mirror_remove(struct uroce_dev *dev)
{
	uroce_mirror_set(dev, false);
}
