// SPDX-License-Identifier: GPL-2.0
/*
 * The pieces in which a read is requested. The peer sends all packets that one
 * read packet asks for, so a small window has small pieces: a read then has as
 * many packets in flight as a write, and slows down as much.
 */
#include <linux/log2.h>
#include <linux/minmax.h>

#include "req.h"

/* A window contains this many pieces, if the peer accepts as many reads. */
#define PIECES 4

void uroce_piece_start(struct uroce_requester *req)
{
	req->piece = (struct uroce_piece){ .from = req->psn };
}

/* The largest piece, of UROCE_READ_PACKETS, stands for one of 64 packets. */
#define MOST_ORDER order_base_2(UROCE_READ_PACKETS)

/* The number of packets in a whole piece that contains @psn. */
u32 uroce_piece_packets(const struct uroce_requester *req, u32 psn)
{
	const struct uroce_piece *piece = &req->piece;
	bool before = uroce_psn_diff(psn, piece->from) < 0;
	u8 halved = before ? piece->was : piece->halved;

	return min(1u << MOST_ORDER >> halved, UROCE_READ_PACKETS);
}

/* The bytes that one packet carries, or that one read packet asks for. */
u32 uroce_req_piece(const struct uroce_conn *conn, const struct uroce_msg *msg)
{
	const struct uroce_requester *req = &conn->req;
	u32 rest = msg->length - req->offset, whole;

	if (uroce_msg_is_atomic(msg))
		return rest;
	if (!uroce_msg_is_read(msg))
		return min(rest, conn->mtu);
	/*
	 * A piece that is requested again ends where it ended before, so the
	 * peer recognises it as a duplicate.
	 */
	whole = uroce_piece_packets(req, req->psn) * conn->mtu;
	return min(rest, whole - req->offset % whole);
}

/*
 * The size that fits the window. With only one or two reads in flight, larger
 * pieces would exceed it, and smaller ones leave it half empty.
 */
static u8 halvings(const struct uroce_requester *req)
{
	int order = order_base_2(DIV_ROUND_UP(req->window, PIECES));

	if (req->max_reads < PIECES)
		order = ilog2(max(req->window / req->max_reads, 1u));
	return max(MOST_ORDER - order, 0);
}

/*
 * Changes the size if the next packet was never sent. Only two sizes are
 * remembered, so all packets before the last change have to be acknowledged.
 */
static void resize(struct uroce_requester *req)
{
	struct uroce_piece *piece = &req->piece;
	u8 halved;

	if (req->psn != req->high || req->una != piece->from)
		return;
	halved = halvings(req);
	if (halved == piece->halved)
		return;
	piece->was = piece->halved;
	piece->halved = halved;
	piece->from = req->psn;
}

/*
 * May the next piece of the read @msg be requested? It has to fit into the
 * window, unless it is the only one: the window may be smaller than when the
 * size was chosen. Writes before it do not count then. They may not have asked
 * for an acknowledgement, and nothing but the response would tell that they
 * arrived.
 */
bool uroce_piece_fits(struct uroce_conn *conn, const struct uroce_msg *msg)
{
	struct uroce_requester *req = &conn->req;
	u32 flight = uroce_psn_diff(req->psn, req->una);

	resize(req);
	return !req->reads ||
	       flight + uroce_req_packets(conn, uroce_req_piece(conn, msg)) <=
		       req->window;
}
