/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the files of the path within the host share: local.c walks
 * send queues, perform.c executes requests of connected queue pairs, datagram.c
 * delivers datagrams. Private to this room.
 */
#ifndef UROCE_LOCAL_H
#define UROCE_LOCAL_H

#include "path.h"

/*
 * If too many packets are queued below, a datagram is tried again after this
 * time, and then ever later, up to 12.8 ms, since thousands of queue pairs may
 * wait like this.
 */
#define UROCE_FULL_FIRST_NS	(100ull * NSEC_PER_USEC)
#define UROCE_FULL_DOUBLINGS	7

enum outcome {
	LOCAL_DONE,
	LOCAL_MORE,		/* a piece is done */
	LOCAL_RNR,		/* the peer has no receive request */
	LOCAL_SILENT,		/* the peer does not answer */
	LOCAL_FULL,		/* too many packets are queued below */
	LOCAL_HELD,		/* delayed by a fault on request */
	LOCAL_FAILED,
};

/**
 * struct turn - one request on its way to a queue pair of this host
 * @qp: the sender
 * @peer: the receiver; its resp.lock is held
 * @answers: the peer is connected to @qp and able to answer
 * @quick: the same, and it has received a message or may send: the fast path
 *	may be used
 * @reached: a request has reached the peer
 * @asked: the thread that posts the peer's next receive request will run @qp
 * @wqe: the request
 * @status: status of a failed request
 * @reason: reason of a failed request, enum univ_reason
 * @bytes: bytes that may still be copied in this turn
 * @tail: tail of the send queue
 * @into: region of the peer that the last write went to, held for the next
 *	write, or NULL; no key is invalidated meanwhile
 * @told: completion queue of received messages, to be notified at the end; or
 *	NULL
 */
struct turn {
	struct uroce_qp *qp;
	struct uroce_qp *peer;
	bool answers;
	bool quick;
	bool reached;
	bool asked;
	struct uroce_wqe *wqe;
	enum ib_wc_status status;
	u16 reason;
	u32 bytes;
	u32 tail;
	struct uroce_mr *into;
	struct uroce_cq *told;
};

static inline enum outcome turn_fail(struct turn *t, enum ib_wc_status status)
{
	t->status = status;
	return LOCAL_FAILED;
}

/* XRC: does the request name a shared receive queue of the peer's domain? */
static inline bool aims_at_srq(struct turn *t)
{
	return likely(!t->peer->xrcd) ||
	       uroce_target_aim(t->peer, t->wqe->wr.srqn);
}

/* perform.c. Context: sq.lock, and the peer's resp.lock if there is one */
enum outcome uroce_local_request(struct turn *t);
enum outcome uroce_local_refuse(struct turn *t, enum ib_wc_status status,
				u32 event);
bool uroce_local_answers(const struct uroce_qp *qp,
			 const struct uroce_qp *peer);

/* datagram.c. Context: sq.lock */
enum outcome uroce_local_datagram(struct turn *t);

#endif
