// SPDX-License-Identifier: GPL-2.0
/*
 * The sequence numbers that a peer may use at the moment. A packet that asks
 * for the migration to another path must have one of them.
 */
#include "compat.h"
#include "req.h"

/*
 * A peer that has migrated begins with the oldest packet that was not
 * acknowledged, and has at most EXPECTED_SPAN packets in flight.
 */
#define EXPECTED_SPAN (1 << 14)

/* Is @psn in flight, or the newest acknowledged one? */
bool uroce_req_expects(const struct uroce_conn *conn, u32 psn)
{
	const struct uroce_requester *req = &conn->req;

	return uroce_psn_diff(psn, req->high) < 0 &&
	       uroce_psn_diff(psn, uroce_psn_add(req->una, -1)) >= 0;
}

/* A read may take more sequence numbers than there are packets in flight. */
static bool is_remembered(const struct uroce_responder *resp, u32 psn)
{
	const struct uroce_response *res;
	u32 i;

	for (i = 0; i < resp->limit; i++) {
		res = &resp->responses[i];
		if (res->op && uroce_psn_diff(psn, res->first) >= 0 &&
		    uroce_psn_diff(psn, res->last) <= 0)
			return true;
	}
	return false;
}

/* Is @psn close to the next request? Unreliable requests are not repeated. */
bool uroce_resp_expects(const struct uroce_conn *conn, u32 psn)
{
	s32 ahead = uroce_psn_diff(psn, conn->resp.psn);

	if (!uroce_conn_is_reliable(conn))
		return ahead >= 0;
	return abs(ahead) <= EXPECTED_SPAN || is_remembered(&conn->resp, psn);
}

/*
 * The connection has migrated to another path. The peer takes none of the
 * packets that are on the former path, so they are sent again at once. The
 * retries and the time that were used up there do not count on the new path.
 */
void uroce_req_again(struct uroce_conn *conn)
{
	struct uroce_requester *req = &conn->req;

	req->tries = req->retry_cnt;
	uroce_missing_again(req);
	WRITE_ONCE(req->expired, false);
	if (!req->running || req->waiting || !uroce_req_awaits(req) ||
	    !uroce_conn_is_reliable(conn))
		return;
	uroce_req_back(conn);
	if (req->timeout)
		mod_timer(&req->timer, jiffies + req->timeout);
	else
		timer_delete(&req->timer);
}
