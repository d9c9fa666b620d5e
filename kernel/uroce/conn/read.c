// SPDX-License-Identifier: GPL-2.0
/* The packets of responses to reads. */
#include <linux/skbuff.h>

#include "compat.h"
#include "resp.h"

/* The opcode of the next @packets packets, which travel as one. */
static u8 read_opcode(const struct uroce_response *res, u32 packets)
{
	bool first = res->psn == res->from;
	bool last = uroce_psn_add(res->psn, packets - 1) == res->until;

	if (first)
		return last ? UROCE_READ_ONLY : UROCE_READ_FIRST;
	return last ? UROCE_READ_LAST : UROCE_READ_MIDDLE;
}

static void refuse_read(struct uroce_conn *conn,
			const struct uroce_response *res)
{
	conn->resp.waiting = false;
	uroce_resp_refuse(conn, UROCE_NAK_ACCESS, res->psn,
			  IB_EVENT_QP_ACCESS_ERR);
}

/* The payload of the next @packets packets. */
static int read_payload(struct uroce_conn *conn,
			const struct uroce_response *res, struct sk_buff *skb,
			u64 va, u32 len, u32 packets)
{
	if (!len)
		return 0;
	if (!resp_aim(conn, res->srqn))
		return IB_WC_REM_ACCESS_ERR;
	if (packets > 1)
		return conn->ops->fill(conn, res->rkey, va, skb, len);
	return conn->ops->read(conn, res->rkey, va, skb_put(skb, len), len);
}

/*
 * Builds the next @packets packets, more than one as a GSO packet. Returns NULL
 * without memory.
 */
static struct sk_buff *read_build(struct uroce_conn *conn,
				  const struct uroce_response *res, u32 packets,
				  int *status)
{
	u8 opcode = conn->service | read_opcode(res, packets);
	u64 va = res->va + (u64)uroce_psn_diff(res->psn, res->from) * conn->mtu;
	u32 len = min_t(u64, res->end - va, packets * conn->mtu);
	u32 pad = uroce_pad(len);
	bool pages = packets > 1;
	struct sk_buff *skb =
		uroce_net_alloc(uroce_ops[opcode].length +
				(pages ? 0 : len + pad), pages);
	u8 *eth;

	if (!skb)
		return NULL;
	eth = uroce_bth_put(conn, skb, opcode, res->psn, pad);
	if (uroce_ops[opcode].flags & UROCE_OP_AETH)
		*(__be32 *)eth = uroce_aeth_make(UROCE_AETH_NO_CREDIT,
						 res->msn);
	*status = read_payload(conn, res, skb, va, len, packets);
	if (!*status)
		memset(uroce_net_put(skb, pad), 0, pad);
	if (packets > 1)
		uroce_gso_mark(skb, len, conn->mtu);
	return skb;
}

/*
 * The number of packets that can be sent as one. Packets that the peer asks for
 * again travel one by one, as those of requests do.
 */
static u32 read_together(struct uroce_conn *conn,
			 const struct uroce_response *res, u32 left)
{
	const struct uroce_care *care = &conn->resp.care;
	u32 rest = uroce_psn_diff(res->until, res->psn) + 1;

	if (rest < 2 || res->again || care->left || care->alone ||
	    uroce_throttle_limits(&conn->resp.throttle))
		return 1;
	return clamp(conn->ops->together(conn, true), 1u, min(rest, left));
}

/* Returns the number of packets that were sent, as one. */
static u32 read_packet(struct uroce_conn *conn, struct uroce_response *res,
		       u32 left)
{
	u32 packets = read_together(conn, res, left);
	int status = 0;
	struct sk_buff *skb = read_build(conn, res, packets, &status);

	/* Memory may suffice, or pages be present, for a single packet. */
	if (packets > 1 && (!skb || status == -ENOMEM || status == -EAGAIN)) {
		kfree_skb(skb);
		packets = 1;
		status = 0;
		skb = read_build(conn, res, packets, &status);
	}
	if (!skb)
		return 0;
	if (status) {
		kfree_skb(skb);
		/* The timer of the responder tries again. */
		if (status == -EAGAIN)
			return 0;
		/* A late duplicate is dropped, as again_read() does. */
		if (res->again)
			res->pending = false;
		else
			refuse_read(conn, res);
		return 0;
	}
	uroce_throttle_take(&conn->resp.throttle, skb->len);
	if (conn->ops->xmit(conn, skb, true) == -ENOBUFS)
		return 0;
	res->psn = uroce_psn_add(res->psn, packets);
	res->pending = uroce_psn_diff(res->until, res->psn) >= 0;
	return packets;
}

/*
 * A response has been sent completely. A read that is repeated afterwards is
 * not counted again.
 */
static void read_sent(struct uroce_conn *conn, const struct uroce_response *res)
{
	if (res->op == UROCE_OP_READ && !res->again)
		conn->ops->served(conn, true, res->len);
}

/* An older notification says nothing about the next response. */
#define STALE (HZ / 10)

/*
 * The peer has notified this side that responses may have met congestion. The
 * rate is reduced when the next response is sent. Context: any.
 */
void uroce_resp_told(struct uroce_conn *conn)
{
	WRITE_ONCE(conn->resp.congested, jiffies ?: 1);
}

/*
 * A uroce device limits its responses by the window of its reads, and sends no
 * notification about them.
 */
static void read_slow_down(struct uroce_conn *conn, unsigned long told)
{
	struct uroce_responder *resp = &conn->resp;

	WRITE_ONCE(resp->congested, 0);
	if (!resp->held.known && time_before(jiffies, told + STALE))
		uroce_throttle_cut(&resp->throttle, conn->mtu);
}

/*
 * Sends as much of one response as there is room for. Returns true if it is
 * complete.
 */
bool uroce_resp_send_read(struct uroce_conn *conn, struct uroce_response *res,
			  int *left)
{
	unsigned long told = READ_ONCE(conn->resp.congested);
	u32 from = res->psn, sent;

	if (unlikely(told))
		read_slow_down(conn, told);
	while (res->pending && *left &&
	       !uroce_throttle_wait(&conn->resp.throttle) &&
	       uroce_resp_has_room(conn, left)) {
		sent = read_packet(conn, res, *left);
		if (!sent)
			break;
		*left -= sent;
	}
	if (conn->ops->flush(conn, true) == -ENOBUFS) {
		res->psn = from;
		res->pending = true;
	}
	if (res->psn != from)
		conn->resp.stuck = 0;
	if (unlikely(conn->resp.counted) && !res->pending)
		read_sent(conn, res);
	/* A response that was refused is complete as well. */
	return !res->pending || !conn->resp.waiting;
}
