// SPDX-License-Identifier: GPL-2.0
/* Packets of requests: opcode, headers, payload. */
#include <linux/bitfield.h>
#include <linux/skbuff.h>

#include "compat.h"
#include "req.h"

static void fill_atomic(const struct uroce_msg *msg,
			struct uroce_atomic_eth *eth)
{
	bool swap = msg->op == UNIV_WR_ATOMIC_CMP_AND_SWP;

	eth->va = cpu_to_be64(msg->va);
	eth->rkey = cpu_to_be32(msg->rkey);
	eth->swap_add = cpu_to_be64(swap ? msg->swap : msg->compare_add);
	eth->compare = cpu_to_be64(swap ? msg->compare_add : 0);
}

static void fill_flush(const struct uroce_msg *msg, struct uroce_feth *feth)
{
	feth->bits = cpu_to_be32(FIELD_PREP(UROCE_FETH_TYPE, msg->flush.type) |
				 FIELD_PREP(UROCE_FETH_LEVEL,
					    msg->flush.level));
}

/* Returns the length of the header. */
static u32 fill_operands(const struct uroce_msg *msg, u32 flags, u8 *eth)
{
	if (flags & UROCE_OP_ATOMIC) {
		fill_atomic(msg, (void *)eth);
		return sizeof(struct uroce_atomic_eth);
	}
	fill_flush(msg, (void *)eth);
	return sizeof(struct uroce_feth);
}

/*
 * A RETH names the memory of the whole message, of the @len bytes of a read
 * that this packet asks for, or of the range to be flushed. A flush of a whole
 * region has neither an address nor a length.
 */
static void fill_reth(const struct uroce_conn *conn,
		      const struct uroce_msg *msg, u32 flags, u32 len,
		      struct uroce_reth *reth)
{
	u64 va = msg->va;
	u32 told = msg->length;

	if (flags & UROCE_OP_READ) {
		va += conn->req.offset;
		told = len;
	} else if (flags & UROCE_OP_FLUSH) {
		bool whole = msg->flush.level == UNIV_FLUSH_MR;

		va = whole ? 0 : va;
		told = whole ? 0 : msg->flush.length;
	}
	reth->va = cpu_to_be64(va);
	reth->rkey = cpu_to_be32(msg->rkey);
	reth->len = cpu_to_be32(told);
}

/* Fills the extended headers of @opcode, from @eth on. */
static void fill_headers(const struct uroce_conn *conn,
			 const struct uroce_msg *msg, u8 opcode, u8 *eth,
			 u32 len)
{
	const struct uroce_op *op = &uroce_ops[opcode];

	if (conn->service == UROCE_XRC) {
		*(__be32 *)eth = cpu_to_be32(msg->srqn);
		eth += sizeof(__be32);
	}
	if (unlikely(op->flags & (UROCE_OP_ATOMIC | UROCE_OP_FLUSH)))
		eth += fill_operands(msg, op->flags, eth);
	if (op->flags & UROCE_OP_RETH) {
		fill_reth(conn, msg, op->flags, len, (void *)eth);
		eth += sizeof(struct uroce_reth);
	}
	if (op->flags & UROCE_OP_IMM)
		*(__be32 *)eth = msg->imm;
	if (op->flags & UROCE_OP_INV)
		*(__be32 *)eth = cpu_to_be32((__force u32)msg->imm);
}

/*
 * @pages: attach the payload without a copy. Returns 0, or the error of
 * gather() or attach().
 */
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
		ret = conn->ops->gather(conn, msg, offset, skb_put(skb, len),
					len);
	if (!ret && pad)
		memset(uroce_net_put(skb, pad), 0, pad);
	return ret;
}

/*
 * Builds the packet at req.psn and req.offset of @msg; no other state of the
 * requester is used. A payload above the MTU makes a GSO packet. Returns NULL
 * without memory, and sets @status if the payload is not accessible.
 */
struct sk_buff *uroce_req_build(struct uroce_conn *conn, struct uroce_msg *msg,
				u32 len, int *status, bool pages)
{
	struct uroce_requester *req = &conn->req;
	bool first = !req->offset, last = req->offset + len == msg->length;
	u8 opcode = conn->service | uroce_wr_packet(msg->op, first, last);
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
	/* Other requests cause no completion that could be solicited. */
	if (last && msg->solicited && uroce_wr_is(msg->op, UROCE_WRF_RECV))
		bth->flags |= UROCE_BTH_SE;
	fill_headers(conn, msg, opcode, eth, len);
	*status = fill_payload(conn, msg, skb, payload, pages);
	if (payload > conn->mtu)
		uroce_gso_mark(skb, payload, conn->mtu);
	return skb;
}

/* ---- the next packet ----------------------------------------------------- */

/* From this length on, attaching pages is cheaper than a copy. */
#define PAGES_MIN 1024

/*
 * May the payload be sent without a copy? It must not change until the peer
 * acknowledges it, which programs promise for as long as a request is not
 * complete. Payload that is sent again is copied: if a program breaks its
 * promise, the packet could otherwise be damaged each time.
 */
static bool may_attach(const struct uroce_conn *conn, u32 payload)
{
	return payload >= PAGES_MIN && uroce_conn_is_reliable(conn) &&
	       !conn->req.care.left && !conn->req.copies &&
	       uroce_psn_diff(conn->req.psn, conn->req.high) >= 0;
}

/* Below this window a GSO packet, a quarter of it, is shorter than a run. */
#define GSO_WINDOW 32

/*
 * The number of packets that the next GSO packet can stand for; 0 for none.
 * Four of them fit into the window, so that the peer answers while others are
 * on the way. The limit of a rate counts single packets, and without room in
 * the queues below a single one may be sent.
 */
static u32 together(struct uroce_conn *conn, const struct uroce_msg *msg)
{
	struct uroce_requester *req = &conn->req;
	u32 rest = msg->length - req->offset, packets;

	if (rest <= conn->mtu || uroce_msg_has_response(msg) || req->single ||
	    req->window < GSO_WINDOW || req->care.alone ||
	    !may_attach(conn, rest) ||
	    uroce_pace_limits(conn->pace) || !conn->ops->room(conn, false))
		return 0;
	packets = min3(conn->ops->together(conn, false), req->window / 4,
		       uroce_req_packets(conn, rest));
	return packets > 1 ? packets : 0;
}

static u32 window_left(const struct uroce_requester *req)
{
	return req->window - uroce_psn_diff(req->psn, req->una);
}

/*
 * Has the window room for a part of the next GSO packet only? The requester
 * waits for the rest (compare the silly window syndrome of TCP): it would
 * otherwise send two packets for each acknowledgement, and the second one would
 * be short each time.
 */
bool uroce_req_is_cut_short(struct uroce_conn *conn,
			    const struct uroce_msg *msg)
{
	return together(conn, msg) > window_left(&conn->req);
}

/*
 * Builds the next packet of @msg, with or without a copy of its payload, of
 * which it has @len bytes. Return value and @status as of uroce_req_build().
 */
struct sk_buff *uroce_req_next(struct uroce_conn *conn, struct uroce_msg *msg,
			       u32 *len, int *status)
{
	u32 rest = msg->length - conn->req.offset;
	u32 many = together(conn, msg);
	struct sk_buff *skb;

	if (many) {
		*len = min(rest, many * conn->mtu);
		skb = uroce_req_build(conn, msg, *len, status, true);
		if (!skb || *status != -EOPNOTSUPP)
			return skb;
		kfree_skb(skb);
		conn->req.single = true;
	}
	*len = uroce_req_piece(conn, msg);
	if (!uroce_msg_has_response(msg) && may_attach(conn, *len)) {
		skb = uroce_req_build(conn, msg, *len, status, true);
		if (!skb || *status != -EOPNOTSUPP)
			return skb;
		kfree_skb(skb);
		conn->req.copies = true;
	}
	return uroce_req_build(conn, msg, *len, status, false);
}
