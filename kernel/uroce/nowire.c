// SPDX-License-Identifier: GPL-2.0
/* Queue pairs of one host only: whoever is elsewhere does not answer. */
#include "uroce.h"

int uroce_wire_begin(struct uroce_qp *qp)
{
	return 0;
}

void uroce_wire_end(struct uroce_qp *qp)
{
}

void uroce_wire_reset(struct uroce_qp *qp)
{
}

bool uroce_wire_step(struct uroce_qp *qp)
{
	return false;
}

void uroce_wire_datagram(struct uroce_qp *qp, struct uroce_wqe *wqe)
{
}

bool uroce_net_wanted(struct net *net, const struct sk_buff *skb,
		      const struct in6_addr *dst)
{
	return false;
}

void uroce_net_receive(struct net *net, const struct uroce_packet *pkt)
{
}
