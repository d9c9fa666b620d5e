/* SPDX-License-Identifier: GPL-2.0 */
/* Waiting for a completion with a limit, and checking its status. */
#ifndef COMPLETION_H
#define COMPLETION_H

#include <inttypes.h>
#include <sched.h>
#include <infiniband/verbs.h>
#include "check.h"
#include "clock.h"

/* Return 1 for a completion, 0 for none in time, and a negative value for an error of the queue. */
static MAYBE_UNUSED int wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, unsigned int ms)
{
	uint64_t end = deadline_ms(ms);
	int n;

	do {
		n = ibv_poll_cq(cq, 1, wc);
		if (n)
			return n;
		sched_yield();
	} while (now_ns() < end);
	/* Poll once more, because this process may not have run since the last poll. */
	return ibv_poll_cq(cq, 1, wc);
}

#define WC_TIMEOUT ((int)(10000 * test_slowness()))

/* Expect a completion with this status. */
#define WANT_WC(cq, wc, want_status) ({						\
	int __n = wait_wc(cq, wc, WC_TIMEOUT);					\
	enum ibv_wc_status __s = (want_status);					\
	CHECK(__n == 1, "no completion from %s (poll gave %d), expected %s", #cq, __n, \
	      ibv_wc_status_str(__s)) &&					\
	CHECK((wc)->status == __s, "wr_id %" PRIu64 ": status is %d (%s), expected %s", \
	      (wc)->wr_id, (wc)->status, ibv_wc_status_str((wc)->status),	\
	      ibv_wc_status_str(__s));						\
})

#define WANT_EMPTY(cq) do {							\
	struct ibv_wc __wc;							\
	int __n = ibv_poll_cq(cq, 1, &__wc);					\
	CHECK(!__n, "%s is not empty: poll gave %d, status %s", #cq, __n,	\
	      __n > 0 ? ibv_wc_status_str(__wc.status) : "-");			\
} while (0)

#endif
