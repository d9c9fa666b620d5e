/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host with two connected queue pairs of uroce, by its own queues, regions and
 * private rings. Packets, faults and mirrors are out of the way.
 */
#ifndef UROCE_HOST_H
#define UROCE_HOST_H

#include <kunit/test.h>

#include "../../kernel/uroce/uroce.h"

#define PAGES	4
#define BEGIN	100		/* of a region in its first page */
#define BYTES	(PAGES * PAGE_SIZE - 2 * BEGIN)
#define QUEUE	8
#define ALL_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		    IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
#define IOVA	(0x10000000ull + BEGIN)
#define QKEY	0x1234
#define STALE	0x77		/* what memory holds before a test writes to it */

/* Pages that do not follow each other, registered from BEGIN on */
struct area {
	struct page *page[PAGES];
	struct ib_mr *mr;
};

struct side {
	struct uroce_ibqp qp;
	struct uroce_cq cq;
	struct area area;
	u32 events;
};

struct host {
	struct uroce_dev dev;
	struct ib_pd pd;
	struct ib_pd other;
	bool no_receives;		/* queue pairs are made without a receive queue */
	struct side a;			/* asks */
	struct side b;
};

u8 *host_byte(const struct area *area, u32 at);
/* What a filled area holds */
u8 host_pattern(u32 at, u8 seed);
/* All of the pages, those bytes too that are not registered */
void host_stale(struct area *area);
/*
 * Bytes @from.. of a filled area lie at @to, and all else is stale: the first byte
 * that is wrong, or -1
 */
int host_differs(const struct area *area, u32 to, u32 from, u32 len, u8 seed);
/* The same pages, opened to others */
void host_reopen(struct kunit *test, struct side *side, struct ib_pd *pd, u32 access);
/* Queue pairs as new; the second one's memory is stale */
void host_again(struct kunit *test, enum ib_qp_type type, u8 rnr_retry);

/* The port of an address that is another host's */
#define FAR_PORT 9

/* From state to state, for tests that do not begin with host_again() */
int host_to_init(struct side *side);
int host_to_rtr(struct side *side, const struct side *peer);
int host_to_rts(struct side *side, u8 rnr_retry);

/* For up to 20 s, which only a machine that stalls comes near to: what softirqs bring about */
#define EVENTUALLY(cond) do {						\
	int __i;							\
									\
	for (__i = 0; __i < 20000 && !(cond); __i++)			\
		usleep_range(1000, 2000);				\
} while (0)

/* Of a suite; test->priv is a struct host. The first one's memory is filled. */
int host_init(struct kunit *test);
void host_exit(struct kunit *test);

#endif
