/* SPDX-License-Identifier: GPL-2.0 */
/* Queue pairs: their requester and responder, and their look-up. */
#ifndef UROCE_PAIR_H
#define UROCE_PAIR_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "lines.h"
#include "queue.h"
#include "../dev/dev.h"
#include "../net/net.h"
#include "ah.h"
#include "cq.h"
#include "recvq.h"
#include "sendq.h"
#include "xrc.h"

struct uroce_alt;
struct uroce_cntrs;
struct uroce_delay;
struct uroce_remote;
struct uroce_rss;

/**
 * struct uroce_resp - the responder
 * @lock: protects this struct, the queue pair's own receive queue, and
 *	uroce_qp.state
 * @dead: the queue pair is being destroyed, and no work is done in it any more
 * @srq: XRC target: the shared receive queue of the current request
 * @pd: protection domain for the peer's keys; NULL: none is valid
 * @access: rights of the peer
 * @quick: @access without the requests that are counted
 * @counted: receive requests are counted
 * @wanted: the peer, on this host, waits for a receive request, and the thread
 *	that posts one runs the peer's send queue
 * @awaited: the shared receive queue from which @wanted is to be served; NULL:
 *	the own queue, or not @wanted
 * @prompt: completions are written at once: the next request of an XRC target
 *	may complete in another queue, or they get the time at which they are
 *	written
 * @established: a message has arrived in RTR, and the owner was notified
 * @recv: the receive request that the current message is written to
 * @done: completions that are not written yet
 * @ask: pages of this side that a copy misses
 */
struct uroce_resp {
	spinlock_t lock;
	bool dead;
	bool wanted;
	bool established;
	bool counted;
	bool prompt;
	u32 access;
	u32 quick;
	struct uroce_srq *srq;
	struct uroce_srq *awaited;
	struct ib_pd *pd;
	struct uroce_recv recv;
	struct uroce_batch done;
	struct uroce_ask *ask;
};

struct uroce_qp {
	struct ib_qp *ib;
	struct uroce_dev *dev;
	struct uroce_cq *send_cq;
	struct uroce_cq *recv_cq;
	struct uroce_srq *srq;		/* NULL for none */
	struct uroce_rss *rss;		/* likewise */
	struct uroce_delay *delay;	/* of a work queue; likewise */
	struct uroce_xrcd *xrcd;	/* of an XRC target */
	/*
	 * In @aimed of resp.srq and in @held of resp.recv.srq, under
	 * xrcd->lock.
	 */
	struct list_head aimed;
	struct list_head held;
	/* In resp.awaited->waiters, under the rq.lock of that queue. */
	struct list_head waiter;
	struct univ_qp *core;		/* if attached */
	u32 num;
	u32 source;			/* the number in its datagrams */
	enum ib_qp_type type;

	/*
	 * The P_Key, or 0 if its entry of the table is empty; not valid in
	 * queue pair 1, which uses the whole table. A peer on this host takes
	 * all messages of this queue pair if its @rx_match equals our
	 * @tx_match; see uroce_qp_matches(). All three are written with both
	 * locks.
	 */
	u16 pkey;
	u32 rx_match;
	u32 tx_match;

	/*
	 * Written with both locks, except that ERR needs only the responder's.
	 */
	enum ib_qp_state state;
	bool lost;			/* a completion was lost */
	bool strips;			/* the VLAN tags of frames */
	bool fcs;			/* frames have their checksum behind */
	bool mutes_self;		/* does not get its own multicasts */
	unsigned long events;		/* to be raised by the task */
	/* Written by modify, and the cap by a resize, with both locks. */
	struct ib_qp_attr attr;
	struct uroce_av av;
	u32 mtu;			/* of the path; UD: UROCE_MAX_MTU */

	struct uroce_cntrs *cntrs;	/* NULL for none */

	/*
	 * The connection over packets (path/remote.c); NULL until one is
	 * needed.
	 */
	struct uroce_remote *remote;

	/*
	 * Path migration (migrate.h), with both locks, except that a responder
	 * migrates with its own: the state, enum ib_mig_state; the alternate
	 * path, NULL for none, which is freed after a grace period; and the
	 * path that the requester has yet to follow to. @alt_next belongs to
	 * the call that loads it, since one modifies the queue pair at a time.
	 * @loads is the number of alternate paths that were loaded, and wraps.
	 */
	u8 mig;
	u8 loads;
	struct uroce_alt __rcu *alt;
	struct uroce_alt *moved;
	struct uroce_alt *alt_next;

	/*
	 * The owner of the queue pair writes to its send queue. The sender on
	 * the other side, which may run on another processor, reads the fields
	 * above for each message and writes to @rq and @resp.
	 */
	struct uroce_sendq sq ____cacheline_aligned_in_smp;
	struct uroce_recvq rq ____cacheline_aligned_in_smp;
	struct uroce_resp resp;
	struct list_head windows;	/* of type 2, bound by it */
};

univ_other_line(struct uroce_qp, state, sq);
univ_other_line(struct uroce_qp, attr, sq);
univ_other_line(struct uroce_qp, av.dev_id, sq);
univ_other_line(struct uroce_qp, sq, rq);
univ_other_line(struct uroce_qp, av.dev_id, windows);

/* The queue pair as the RDMA core knows it. */
struct uroce_ibqp {
	struct ib_qp ib;
	struct uroce_qp *qp;
};

static inline struct uroce_qp *to_uqp(struct ib_qp *ib)
{
	return container_of(ib, struct uroce_ibqp, ib)->qp;
}

/* Are requests acknowledged? The peer of an XRC target is an initiator. */
static inline bool uroce_qp_is_reliable(const struct uroce_qp *qp)
{
	return qp->type == IB_QPT_RC || qp->type == IB_QPT_XRC_INI ||
	       qp->type == IB_QPT_XRC_TGT;
}

static inline bool uroce_qp_is_connected(const struct uroce_qp *qp)
{
	return uroce_qp_is_reliable(qp) || qp->type == IB_QPT_UC;
}

/* Are requests of the peer executed and answered? Context: resp.lock. */
static inline bool uroce_qp_listens(const struct uroce_qp *qp)
{
	return !qp->resp.dead && qp->state >= IB_QPS_RTR &&
	       qp->state <= IB_QPS_SQE;
}

/* The service: the upper bits of the opcodes of the queue pair's packets. */
static inline u8 uroce_service(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_UC:
		return UROCE_UC;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return UROCE_XRC;
	default:
		return UROCE_RC;
	}
}

/* Do the queue pair's requests need no connection over packets? */
static inline bool uroce_qp_on_local_path(const struct uroce_qp *qp)
{
	return qp->av.dev_id || qp->sq.datagrams;
}

/* Counts an event that is also worth a line in a trace. */
static inline void uroce_note(struct uroce_qp *qp, enum uroce_counter what)
{
	uroce_count(qp->dev, what);
	trace_uroce_transport(&qp->dev->ib, qp->num, uroce_counter_name(what));
}

/* number.c: look-up, under RCU. */
struct uroce_qp *uroce_qp_find(u64 dev_id, u32 num);
int uroce_qp_number(struct uroce_qp *qp);
void uroce_qp_unnumber(struct uroce_qp *qp);
void uroce_qp_each(const struct uroce_dev *dev,
		   void (*each)(struct uroce_qp *qp));
void uroce_qp_exit(void);
struct uroce_qp *uroce_qp_peer_again(struct uroce_qp *qp, u64 now);
/*
 * The number of queue pairs that were destroyed. It has 64 bits, so it never
 * wraps. Each turn of a send queue reads it.
 */
struct uroce_qp_ends {
	atomic64_t count;
} ____cacheline_aligned_in_smp;
univ_own_lines(struct uroce_qp_ends);

extern struct uroce_qp_ends uroce_qp_ends;

/*
 * The connected queue pair, if it is on this host. The result stays valid until
 * any queue pair is destroyed, and its memory stays for as long as bottom
 * halves are off, since RCU waits for that.
 */
static inline struct uroce_qp *uroce_qp_peer(struct uroce_qp *qp)
{
	struct uroce_sendq *sq = &qp->sq;
	/* Acquire: pairs with the barrier in uroce_qp_unnumber(). */
	u64 now = atomic64_read_acquire(&uroce_qp_ends.count);

	lockdep_assert_held(&sq->lock);
	if (likely(sq->peer && sq->peer_seen == now))
		return sq->peer;
	return uroce_qp_peer_again(qp, now);
}

/*
 * state.c: the memory of queue pairs, which is freed after a grace period; both
 * queues of a queue pair, and failure.
 */
int uroce_qp_slab_init(void);
void uroce_qp_slab_exit(void);
struct uroce_qp *uroce_qp_alloc(void);
void uroce_qp_free(struct uroce_qp *qp);
int uroce_queue_init(struct uroce_qp *qp);
void uroce_queue_free(struct uroce_qp *qp);
void uroce_queue_reset(struct uroce_qp *qp);
/*
 * Moves the queue pair to ERR. The task raises @event (0 for none) and flushes.
 * Context: resp.lock.
 */
void uroce_qp_fail(struct uroce_qp *qp, u32 event);
void uroce_send_failed(struct uroce_qp *qp, u16 reason);
/* Attributes or counters have changed that the peer's rights depend on. */
void uroce_qp_grant(struct uroce_qp *qp);

/*
 * pkey.c: the index or the entry of the P_Key has changed. Context: both locks.
 */
void uroce_qp_partition(struct uroce_qp *qp);
/*
 * The index of the P_Key with which the queue pair takes messages that were
 * sent with @pkey; negative if there is none. Context: resp.lock.
 */
int uroce_qp_pkey_index(const struct uroce_qp *qp, u16 pkey);
bool uroce_qp_matches_slowly(struct uroce_qp *peer, const struct uroce_qp *qp,
			     u16 pkey);

/*
 * Are both queue pairs, of one host, of types that belong together and in one
 * partition? One comparison answers that for full members. Counts a P_Key that
 * does not match, as for a packet. Context: the peer's resp.lock.
 */
static inline bool uroce_qp_matches(struct uroce_qp *peer,
				    const struct uroce_qp *qp)
{
	return likely(peer->rx_match == qp->tx_match) ||
	       uroce_qp_matches_slowly(peer, qp, qp->pkey);
}

#endif
