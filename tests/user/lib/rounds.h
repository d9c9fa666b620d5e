/* SPDX-License-Identifier: GPL-2.0 */
/* Rounds of a pair of queue pairs that make no system call beside those of the library. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include "testlib.h"

#define ROUNDS 2000
/* Number of polls of both queues, more than any round takes. */
#define PATIENCE 2000000000u

static MAYBE_UNUSED int poll_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < PATIENCE; i++) {
		int n = ibv_poll_cq(cq, 1, &wc);

		if (n)
			return n == 1 && wc.status == IBV_WC_SUCCESS ? 0 : 1;
	}
	return 1;
}

/* One message, received and sent, with an armed queue. Returns 0 if it arrived. */
static MAYBE_UNUSED int one_round(struct pair *p)
{
	return post_recv_at(p, 1, 1, 0, 64) || post_send_at(p, 0, 2, 0, 64, IBV_SEND_SIGNALED) ||
	       ibv_req_notify_cq(p->cq[1], 0) || poll_one(p->cq[0]) || poll_one(p->cq[1]);
}

#endif
