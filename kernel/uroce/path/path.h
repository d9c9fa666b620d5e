/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room of the paths that a message takes: within the host, by one copy
 * (local.c, perform.c, datagram.c), or by packets, over a connection (remote.c)
 * or as a datagram (packet.c). The room knows queue pairs, connections and
 * packets. It does not know which context runs a send queue: each step is one
 * call from there.
 */
#ifndef UROCE_PATH_H
#define UROCE_PATH_H

#include "../net/net.h"
#include "../qp/qp.h"
#include "../raw/raw.h"
#include "mirror.h"

struct uroce_remote;
struct uroce_remote_wqe;
struct uroce_response;

/**
 * struct uroce_fit - the requests of a connection, until they are complete
 * @wqes: requests
 * @sges: their scatter lists
 * @count: number of requests; a power of two
 */
struct uroce_fit {
	struct uroce_remote_wqe *wqes;
	struct univ_sge *sges;
	u32 count;
};

/*
 * local.c: handles requests up to @tail. Context: sq.lock. Returns true if
 * there is more to do at once.
 */
bool uroce_local_step(struct uroce_qp *qp, u32 tail);

/**
 * struct uroce_spare - memory that a change of attributes may need
 * @remote: a new connection over packets, or NULL
 * @responses: room for the answers to @limit reads and atomics of the peer, or
 *	NULL
 * @limit: number of @responses
 */
struct uroce_spare {
	struct uroce_remote *remote;
	struct uroce_response *responses;
	u32 limit;
};

/*
 * remote.c: the connection over packets. uroce_remote_prepare() allocates what
 * a modify needs, before it changes anything, and may sleep. @far: the new
 * address is that of a peer on another host. uroce_remote_begin() starts the
 * connection that it has allocated, if any; uroce_remote_end() is called by
 * destroy and reset. uroce_remote_step() runs the requester under sq.lock, and
 * uroce_remote_flush() drops the answers that are queued.
 */
int uroce_remote_prepare(const struct uroce_qp *qp,
			 const struct ib_qp_attr *attr, int mask, bool far,
			 struct uroce_spare *spare);
void uroce_spare_free(struct uroce_spare *spare);
void uroce_remote_begin(struct uroce_qp *qp, struct uroce_spare *spare);
void uroce_remote_end(struct uroce_qp *qp);
void uroce_remote_drop_routes(struct uroce_qp *qp);
bool uroce_remote_step(struct uroce_qp *qp, u32 tail);
void uroce_remote_flush(struct uroce_qp *qp);
void uroce_remote_changed(struct uroce_qp *qp, bool way);
void uroce_remote_remember(struct uroce_qp *qp, struct uroce_spare *spare);
bool uroce_remote_idle(struct uroce_qp *qp);
void uroce_remote_again(struct uroce_qp *qp);
void uroce_remote_psns(const struct uroce_qp *qp, struct ib_qp_attr *attr);

/*
 * fit.c: the send ring gets another number of slots. uroce_remote_fit()
 * allocates, and may sleep; uroce_remote_refit() gives the former memory back.
 * It is called with both locks, and nothing is being sent.
 */
int uroce_remote_fit(const struct uroce_qp *qp, u32 count,
		     struct uroce_fit *fit);
void uroce_remote_refit(struct uroce_qp *qp, struct uroce_fit *fit);
void uroce_fit_free(struct uroce_fit *fit);

/*
 * The connection takes the P_Key of its queue pair (remote.c), and its path and
 * state of migration (move.c). Context: both locks.
 */
void uroce_remote_partition(struct uroce_qp *qp);
void uroce_remote_follow(struct uroce_qp *qp);

/* The result of uroce_remote_receive(). */
enum uroce_receipt {
	UROCE_RECEIPT_DONE,
	UROCE_RECEIPT_RUN,	/* the send queue has to be run */
	UROCE_RECEIPT_CUT,	/* a GSO packet that has to be cut */
};

/* remote.c: a packet has arrived. Context: RCU. */
enum uroce_receipt uroce_remote_receive(struct uroce_qp *qp,
					const struct uroce_packet *pkt);

/* packet.c: a datagram has arrived. Context: RCU. */
void uroce_datagram_receive(struct uroce_qp *qp,
			    const struct uroce_packet *pkt);

#endif
