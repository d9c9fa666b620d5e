/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host with two connected queue pairs of uroce, with uroce's own queues, regions and
 * private rings. Packets, injected faults and mirrors are stubbed out.
 */
#ifndef UROCE_HOST_H
#define UROCE_HOST_H

#include <kunit/test.h>

#include "../../kernel/uroce/control/control.h"
#include "../../kernel/uroce/mem/mr.h"

#define PAGES	4
#define BEGIN	100		/* offset of a region in its first page */
#define BYTES	(PAGES * PAGE_SIZE - 2 * BEGIN)
#define QUEUE	8
#define ALL_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		    IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)
#define IOVA	(0x10000000ull + BEGIN)
#define QKEY	0x1234
#define STALE	0x77		/* contents of memory before a test writes to it */

/* Pages that are not adjacent, registered from BEGIN on. */
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
	bool no_receives;		/* create queue pairs without a receive queue */
	struct ib_srq *srq;		/* of responders created later; NULL for none */
	struct side a;			/* requester */
	struct side b;
};

u8 *host_byte(const struct area *area, u32 at);
/* The byte of a filled area at offset @at. */
u8 host_pattern(u32 at, u8 seed);
/* Fill all of the pages with STALE, including bytes that are not registered. */
void host_stale(struct area *area);
/*
 * Check that bytes @from.. of a filled area are at @to, and that all other bytes are
 * STALE. Return the first wrong byte, or -1.
 */
int host_differs(const struct area *area, u32 to, u32 from, u32 len, u8 seed);
/* Register the same pages again, in @pd and with @access. */
void host_reopen(struct kunit *test, struct side *side, struct ib_pd *pd, u32 access);
/* Make the queue pairs new, and the second one's memory STALE. */
void host_again(struct kunit *test, enum ib_qp_type type, u8 rnr_retry);

/*
 * Further sides, and connections between them: the first one sends. A side must have no
 * queue pair when it ends.
 */
int host_side_init(struct kunit *test, struct side *side);
void host_side_exit(struct side *side);
void host_connect(struct kunit *test, struct side *from, struct side *to,
		  enum ib_qp_type type, u8 rnr_retry);
void host_drop(struct side *side);

/* Bytes @at.. of the memory of a side. */
struct ib_sge host_piece(const struct side *side, u64 at, u32 len);
int host_receive(struct host *h, struct side *side, u64 id, u64 at, u32 len);
/* Post a request with @len bytes at @at of the first side's memory and @to of the second side's. */
int host_ask(struct host *h, u64 id, enum ib_wr_opcode opcode, u64 at, u64 to, u32 len);
/* Expect this as the next completion of a side. */
void host_expect_wc(struct kunit *test, struct side *side, u64 id, enum ib_wc_status status);
void host_expect_none(struct kunit *test, struct side *side);
/* As host_expect_wc(), for a request that waits for the other side or a thread. */
void host_expect_soon(struct kunit *test, struct side *side, u64 id, enum ib_wc_status status);
/* A message takes a receive request, and is to go on later. */
void host_take(struct kunit *test, struct side *side);
enum ib_qp_state host_state(const struct side *side);
bool host_is_stale(const struct side *side);

/* The port whose addresses belong to another host. */
#define FAR_PORT 9

/* Connections with another host get no memory. */
extern bool host_lacks_memory;

/* The VLAN of every address. */
extern u16 host_vlan;

/* Change one state, for tests that do not begin with host_again(). */
int host_to_init(struct side *side);
int host_to_rtr(struct side *side, const struct side *peer);
int host_to_rts(struct side *side, u8 rnr_retry);

/* Wait up to 20 s for the effect of a softirq. Only a machine that stalls comes near to this. */
#define EVENTUALLY(cond) do {						\
	int __i;							\
									\
	for (__i = 0; __i < 20000 && !(cond); __i++)			\
		usleep_range(1000, 2000);				\
} while (0)

/* For a suite: test->priv is a struct host. The first queue pair's memory is filled. */
int host_init(struct kunit *test);
void host_exit(struct kunit *test);

#endif
