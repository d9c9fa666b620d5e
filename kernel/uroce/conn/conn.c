// SPDX-License-Identifier: GPL-2.0
/* Connections: set-up, tear-down, and helpers of both sides. */
#include <linux/skbuff.h>

#include "compat.h"
#include "req.h"

void uroce_conn_init(struct uroce_conn *conn, const struct uroce_conn_ops *ops,
		     u8 service)
{
	conn->ops = ops;
	conn->service = service;
	conn->mig = UROCE_BTH_MIG;
	timer_setup(&conn->req.timer, uroce_req_timer, 0);
	hrtimer_setup(&conn->req.soon, uroce_req_soon, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	uroce_missing_init(&conn->req.missing);
	uroce_held_init(&conn->resp.held);
	hrtimer_setup(&conn->resp.soon, uroce_resp_soon, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

/*
 * *stuck is 0 after a packet was sent. The timer may then still be set to a
 * later time, which is replaced. Context: the lock of the side that the timer
 * belongs to.
 */
void uroce_soon(struct hrtimer *timer, u8 *stuck)
{
	if (*stuck && hrtimer_is_queued(timer))
		return;
	hrtimer_start(timer, ns_to_ktime(UROCE_SOON_NS << *stuck),
		      HRTIMER_MODE_REL_SOFT);
	if (*stuck < UROCE_SOON_DOUBLED)
		++*stuck;
}

/*
 * The limit of the rate permits no packet, perhaps for seconds. If the limit
 * ends before, uroce_soon() must not wait for this timer, so nothing counts as
 * stuck. Context: the requester's lock.
 */
void uroce_wait_pace(struct uroce_conn *conn)
{
	conn->req.stuck = 0;
	hrtimer_start(&conn->req.soon, ns_to_ktime(uroce_req_wait(conn)),
		      HRTIMER_MODE_REL_SOFT);
}

/* Both sides are halted already. On return no timer runs any more. */
void uroce_conn_stop(struct uroce_conn *conn)
{
	timer_delete_sync(&conn->req.timer);
	hrtimer_cancel(&conn->req.soon);
	hrtimer_cancel(&conn->req.missing.probe);
	timer_delete_sync(&conn->resp.held.expire);
	hrtimer_cancel(&conn->resp.soon);
}

static bool is_of_service(const struct uroce_conn *conn, u8 opcode)
{
	return opcode == UROCE_CNP ||
	       (opcode & UROCE_SERVICE) == conn->service;
}

/* Does the packet fit this connection's service and the partition of @pkey? */
bool uroce_conn_accepts(const struct uroce_conn *conn,
			const struct uroce_packet *pkt, u16 pkey)
{
	return is_of_service(conn, pkt->bth->opcode) &&
	       uroce_pkey_matches(pkt->bth, pkey);
}

u8 *uroce_bth_put(const struct uroce_conn *conn, struct sk_buff *skb, u8 opcode,
		  u32 psn, u32 pad)
{
	struct uroce_bth *bth = skb_put(skb, uroce_ops[opcode].length);

	bth->opcode = opcode;
	bth->flags = READ_ONCE(conn->mig) | pad << UROCE_BTH_PAD_SHIFT;
	bth->pkey = cpu_to_be16(conn->pkey);
	bth->qpn = cpu_to_be32(conn->peer);
	bth->psn = cpu_to_be32(psn);
	return (u8 *)(bth + 1);
}
