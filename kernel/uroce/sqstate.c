// SPDX-License-Identifier: GPL-2.0
/* The states that only a send queue is in: SQE after a failure, and SQD. */
#include "uroce.h"

/*
 * A reliable connection is over. Others stop sending until they are told to go
 * on, and still receive. Context: sq.lock.
 */
void uroce_send_failed(struct uroce_qp *qp, u16 reason)
{
	spin_lock(&qp->resp.lock);
	if (uroce_qp_is_reliable(qp) || reason == UNIV_REASON_RING_CORRUPT)
		uroce_qp_fail(qp, 0);
	else if (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD)
		WRITE_ONCE(qp->state, IB_QPS_SQE);
	spin_unlock(&qp->resp.lock);
}

/* What was begun before SQD is done. Context: sq.lock. */
static void send_drained(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;

	if (!sq->draining)
		return;
	WRITE_ONCE(sq->draining, false);
	if (!sq->tell_drained)
		return;
	set_bit(IB_EVENT_SQ_DRAINED, &qp->events);
	uroce_send_later(qp);
}

/* No request is begun in SQD. True when there is more to do. */
bool uroce_send_drain(struct uroce_qp *qp)
{
	bool more = false;

	if (uroce_qp_is_local(qp) && qp->sq.wqe.loaded)
		more = uroce_local_step(qp, qp->sq.head + 1);
	else if (!uroce_qp_is_local(qp))
		more = uroce_wire_step(qp, qp->sq.head);
	if (uroce_qp_is_local(qp) ? !qp->sq.wqe.loaded : uroce_wire_idle(qp))
		send_drained(qp);
	return more;
}
