/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that datagram.c, which delivers datagrams on this host, and
 * packet.c share. Private to this room.
 */
#ifndef UROCE_DATAGRAM_H
#define UROCE_DATAGRAM_H

#include "path.h"

struct sk_buff;

/*
 * The bytes in front of a received datagram, which show its IP header or GRH.
 */
#define GRH_LEN 40

u16 uroce_datagram_pkey(const struct uroce_qp *qp, const struct uroce_wqe *wqe);

/* Sends a mapped datagram to @wqe->av, whose flow may get a route. */
void uroce_datagram_send(struct uroce_qp *qp, struct uroce_wqe *wqe);
struct sk_buff *uroce_datagram_build(struct uroce_qp *qp,
				     const struct uroce_wqe *wqe);

#endif
