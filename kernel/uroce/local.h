/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the files of the same-host path: local.c walks send queues and serves
 * connections, datagram.c delivers datagrams.
 */
#ifndef UROCE_LOCAL_H
#define UROCE_LOCAL_H

#include "uroce.h"

/*
 * When too many packets are on their way out, a datagram looks again so soon, and then
 * ever more seldom, up to 12.8 ms: thousands of queue pairs may wait like this
 */
#define UROCE_FULL_FIRST_NS	(100ull * NSEC_PER_USEC)
#define UROCE_FULL_DOUBLINGS	7

enum outcome {
	DONE,
	MORE,		/* a piece of it */
	RNR,		/* the peer has no receive request */
	SILENT,		/* nobody answers */
	FULL,		/* too many packets are on their way out */
	HELD,		/* somebody asked for a delay */
	FAILED,
};

/**
 * struct turn - one request on its way
 * @qp: whose
 * @peer: whom it is for; its responder's lock is held
 * @answers: it is connected to us and listens
 * @quick: and has heard from us, or sends itself: writes may go the short way
 * @reached: it was asked for something
 * @asked: whoever posts a receive there will run @qp
 * @wqe: it
 * @status: how it failed
 * @reason: and why, in our words
 * @bytes: how many more may be copied in this turn
 * @tail: requests that there are
 * @into: region of the peer's that the last write went to, held for the next, or
 *	NULL; nothing that may take a key back is done meanwhile
 * @told: where messages were received, to be notified at the end; or NULL
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

static inline enum outcome fail(struct turn *t, enum ib_wc_status status)
{
	t->status = status;
	return FAILED;
}

static inline bool has_imm(u8 opcode)
{
	return opcode == UNIV_WR_SEND_WITH_IMM ||
	       opcode == UNIV_WR_RDMA_WRITE_WITH_IMM;
}

/* Context: sq.lock */
enum outcome uroce_local_datagram(struct turn *t);

#endif
