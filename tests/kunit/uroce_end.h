/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two connected uroce connections, step by step. Packets stay in a queue until the test
 * delivers, drops or repeats them. The test calls the timers' functions itself.
 */
#ifndef UROCE_END_H
#define UROCE_END_H

#include <kunit/test.h>
#include <linux/skbuff.h>

#include "../../kernel/uroce/conn/resp.h"
#include "bh.h"

#define MTU	256
#define MSGS	8
#define BYTES	(16 * MTU)
#define RKEY	0x1234
#define BAD_SOURCE BYTES	/* remote address of a request whose local memory is invalid */
#define FIRST_PSN 0xfffffe	/* PSNs wrap soon */
#define NEXT	(FIRST_PSN + 1)	/* the first PSN after repeat_init() */
#define SRQS	4		/* XRC: SRQ numbers below exist, except 0 */

/* One end, and the calls that its operations have recorded. */
struct end {
	struct uroce_conn conn;
	struct uroce_response responses[2];
	struct sk_buff_head out;	/* requests of end a; responses of end b */
	struct uroce_msg msg[MSGS];
	enum ib_wc_status status[MSGS];
	u32 completed;
	u8 bytes[BYTES];
	u32 recvs;			/* receive requests left */
	u32 received;
	u32 atomics;
	u32 flushes;
	u64 found;			/* value found by the last remote atomic */
	u32 held;			/* number of times that a region to invalidate is in use */
	u32 invalidated;
	u32 event;
	bool broken;
	bool full;			/* no more packets may be sent now */
	u32 refused;			/* this packet, from 1, finds a full queue; 0: none */
	const struct uroce_msg *absent;	/* a message whose pages are not there */
	u32 pages_missing;		/* as many packets find no pages */
	bool overflows;			/* the next packets are lost in a queue of this host */
	bool together;			/* packets wait for flush; others may join them */
	u32 gso;			/* maximum payload of a GSO packet; 0 for none */
	bool scattered;			/* no payload can be added as pages */
	u32 aimed;			/* XRC: SRQ number of the latest request */
	u32 taken[SRQS];		/* indexed by SRQ number */
	u32 reads[SRQS];
	u32 paths;			/* alternate paths that it may migrate to */
	u32 served;			/* counted reads and writes of the peer */
	u32 served_bytes;
	u32 counts[UROCE_COUNTERS];
	atomic_t budget;
};

struct wire {
	struct end a;			/* requester */
	struct end b;			/* responder */
};

/* For a suite: test->priv is a struct wire. */
int wire_init(struct kunit *test);
void wire_exit(struct kunit *test);

/* Post a request of end a, and let end a send. */
struct uroce_msg *wire_post(struct wire *w, enum ib_wr_opcode op, u32 length);
struct uroce_msg *wire_post_atomic(struct wire *w, enum ib_wr_opcode op, u64 compare_add,
				   u64 swap);
void wire_run(struct wire *w);

/* Return the next packet of a queue, parsed, or NULL if there is none. */
struct sk_buff *wire_next(struct sk_buff_head *queue, struct uroce_packet *pkt);
/* Drop up to @n packets, all of them if @n is -1. Return 0 if there were @n. */
int wire_lose(struct sk_buff_head *queue, int n);
/* Deliver up to @n requests to the other end; all of them if @n is -1. */
void wire_ask(struct wire *w, int n);
/* Deliver up to @n responses to the requester; all of them if @n is -1. */
void wire_tell(struct wire *w, int n);
/* Deliver requests and responses until there are none. */
void wire_settle(struct wire *w);

/* The timer of end a fires. */
void wire_expire(struct wire *w);
/* The wait after an RNR NAK is over. */
void wire_end_wait(struct wire *w);
/* On a slow machine a timer may have fired already, so check that it was ever started. */
bool timer_was_started(const struct hrtimer *timer);

/* Expect that the first @n requests have completed, and that end b is not broken. */
void wire_expect_done(struct kunit *test, u32 n);
void wire_expect_packet(struct kunit *test, struct sk_buff_head *queue, u8 opcode,
			u32 psn);
/* Drop every packet: as many are sent as there are retries, and then the request fails. */
void wire_expect_tries(struct kunit *test);

/* As wire_init(), but both ends repeat selectively, and have learned of each other by a request. */
int repeat_init(struct kunit *test);
/* Post a write of @n packets of @seed, and let end a send. */
void repeat_write(struct wire *w, u32 n, u8 seed);
/* Lose the second packet of a write of four. */
void repeat_lose_second(struct wire *w);
/* Expect a request of end a, and deliver it. */
void repeat_expect_again(struct kunit *test, u8 opcode, u32 psn);
/* Expect that @done requests have completed, no packet was executed twice, and end b holds none. */
void repeat_expect_clean(struct kunit *test, u32 done, u32 repeated);
/* Expect that @len bytes of end b, and no more, have been written with @seed. */
void repeat_expect_bytes(struct kunit *test, u8 seed, u32 len);

#endif
