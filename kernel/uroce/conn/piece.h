/* SPDX-License-Identifier: GPL-2.0 */
/* The pieces in which a read is requested. */
#ifndef UROCE_PIECE_H
#define UROCE_PIECE_H

#include <linux/types.h>

struct uroce_conn;
struct uroce_msg;
struct uroce_requester;

/**
 * struct uroce_piece - the size of the pieces
 * @halved: from the sequence number @from on, a piece has 64 >> @halved
 *	packets, but no more than %UROCE_READ_PACKETS
 * @was: how often it was halved before
 * @from: the first sequence number of a piece of the present size; if all
 *	packets before it are acknowledged, the oldest one in flight
 */
struct uroce_piece {
	u8 halved;
	u8 was;
	u32 from;
};

/* piece.c. Context: the requester's lock. */
void uroce_piece_start(struct uroce_requester *req);
u32 uroce_piece_packets(const struct uroce_requester *req, u32 psn);
bool uroce_piece_fits(struct uroce_conn *conn, const struct uroce_msg *msg);

#endif
