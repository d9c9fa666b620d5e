/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requester of a queue pair: its send queue, and the request at the head.
 */
#ifndef UROCE_SENDQ_H
#define UROCE_SENDQ_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "ring.h"
#include "../mem/mem.h"
#include "../net/net.h"
#include "ah.h"
#include "cq.h"

struct uroce_qp;

/**
 * enum uroce_stage - what a request of a connection on this host has done
 * @UROCE_STAGE_NEW: nothing that has to be remembered
 * @UROCE_STAGE_TAKEN: taken the peer's receive request, before its first byte
 * @UROCE_STAGE_PLACED: transferred all bytes, so that only the invalidation of
 *	the peer's key remains
 */
enum uroce_stage {
	UROCE_STAGE_NEW,
	UROCE_STAGE_TAKEN,
	UROCE_STAGE_PLACED,
};

/**
 * struct uroce_wqe - the private copy of the request at the head of a send
 *	queue
 * @wr: as in the ring; @wr.count is checked
 * @sge: its scatter list, copied; room for uroce_sendq.max_sge
 * @data: inline data, in the slot; NULL for a scatter list
 * @len: total length
 * @vec: its memory, between uroce_send_map() and uroce_vec_put()
 * @av: datagrams: copy of the address vector, without a route of its own
 * @done: bytes transferred
 * @stage: what remains to be done
 * @loaded: the copy is valid
 */
struct uroce_wqe {
	struct univ_send_wr wr;
	struct univ_sge *sge;
	void *data;
	u32 len;
	struct uroce_vec vec;
	struct uroce_av av;
	u32 done;
	u8 stage;
	bool loaded;
};

/*
 * Which successful requests get a completion. A negative value says that
 * requests are counted as well, so that one comparison finds it.
 */
enum uroce_signal {
	UROCE_SIGNAL_COUNTED_ALL	= -2,
	UROCE_SIGNAL_COUNTED		= -1,
	UROCE_SIGNAL_ASKED		= 0,	/* with UNIV_WR_SIGNALED */
	UROCE_SIGNAL_ALL		= 1,
};

enum uroce_wait {
	UROCE_WAIT_NONE,
	UROCE_WAIT_RNR,			/* for a receive request of the peer */
	UROCE_WAIT_RETRY,		/* for the timer, which tries again */
	UROCE_WAIT_PACE,		/* as above, at the limit of the rate */
};

/**
 * struct uroce_sendq - the requester
 * @lock: protects this struct
 * @again: more work has arrived; see send_run() in engine/runner.c
 * @dead: the queue pair is being destroyed, and no work is done in it any more
 * @ring: shared with a process, or private
 * @pace: how fast packets may leave
 * @head: the first request that is not complete
 * @wqe: the request at @head, of a queue pair without a connection over packets
 * @ask: pages of this side that a copy misses
 * @peer: the last result of uroce_qp_peer()
 * @peer_seen: value of uroce_qp_ends.count at that time; if it has changed, the
 *	look-up is repeated
 * @wait: enum uroce_wait
 * @due: the timer has fired
 * @recv_posted: a receive request was posted that the peer's responder waited
 *	for; set by the thread that posted it, cleared under the peer's
 *	uroce_resp.lock
 * @early: the request at the head is tried because of @recv_posted, before the
 *	timer has fired; this try is not a retry
 * @tried: the request at the head was tried before
 * @waits: number of waits for the shared receive queue of an XRC target, for
 *	room in the queues below, or for pages, up to a limit
 * @asks: how often pages were asked for, modulo 256, since bytes were moved
 * @rnr_left: RNR retries that are left
 * @retry_left: waits for an answer that are left, one more than retries
 * @max_sge: maximum number of segments of a request
 * @max_inline: maximum number of bytes of inline data
 * @max_tso: maximum number of bytes of a TSO header
 * @signal: enum uroce_signal
 * @opcodes: opcodes that the queue pair may send, as bits by enum
 *	univ_wr_opcode
 * @quick: those of them that uroce_send_load_quick() takes
 * @step: added to a counter for each request; completions are written when it
 *	reaches a multiple of %UROCE_BATCH: 1, or %UROCE_BATCH if completions
 *	get the time at which they are written
 * @done: completions that are not written yet
 * @untold: completions were written, and uroce_cq_notify() is due
 * @draining: in SQD, with requests that have begun
 * @tell_drained: raise an event when @draining ends
 * @attached: the ring belongs to a process
 * @datagrams: the type of the queue pair is UD, GSI or raw packet
 * @shown_psn: mirror: sequence number of the next packet
 * @shown_msn: mirror: sequence number of the next message
 * @timer: ends a wait
 * @task: handles events that were found under locks, and the timer
 * @rest: continues after a caller has used up its turns
 * @rcu: frees the queue pair after a grace period; @rest is not used any more
 * @post: protects @tail and the private ring's slots
 * @tail: tail of a private ring
 * @memory: memory of a private ring
 */
struct uroce_sendq {
	spinlock_t lock;
	bool again;
	bool dead;
	struct univ_ring ring;
	u32 head;
	struct uroce_wqe wqe;
	struct uroce_qp *peer;
	u64 peer_seen;
	u32 opcodes;
	u32 quick;
	enum uroce_wait wait;
	bool due;
	bool recv_posted;
	bool early;
	bool tried;
	u8 waits;
	u8 asks;
	u8 rnr_left;
	u8 retry_left;
	u32 max_sge;
	u32 max_inline;
	u32 max_tso;
	s8 signal;
	bool untold;
	bool draining;
	bool tell_drained;
	bool attached;
	bool datagrams;
	u32 shown_psn;
	u32 shown_msn;
	u32 step;
	struct uroce_batch done;
	struct uroce_pace pace;
	struct hrtimer timer;
	struct tasklet_struct task;
	union {
		struct work_struct rest;
		struct rcu_head rcu;
	};
	spinlock_t post;
	u32 tail;
	void *memory;
	struct uroce_ask *ask;
};

static inline bool uroce_signals_all(const struct uroce_sendq *sq)
{
	return sq->signal == UROCE_SIGNAL_ALL ||
	       sq->signal == UROCE_SIGNAL_COUNTED_ALL;
}

#endif
