// SPDX-License-Identifier: GPL-2.0
/* Packets that are kept after they were received. */
#include <linux/skbuff.h>
#include <net/xfrm.h>

#include "net.h"

struct uroce_kept *uroce_kept(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct uroce_kept) > sizeof(skb->cb));
	return (struct uroce_kept *)skb->cb;
}

/* The sequence number; the header of a packet that was parsed is linear. */
u32 uroce_kept_psn(const struct sk_buff *skb)
{
	return uroce_bth_psn((void *)(skb->data + uroce_kept(skb)->start));
}

/**
 * uroce_packet_keep() - take a reference to a packet that has arrived
 * @pkt: the packet; no other code may queue it
 *
 * The packet is uncharged: the sender may be in another namespace of this host,
 * and could not send while too much is charged to it.
 *
 * Return: the packet, to be freed by the caller
 */
struct sk_buff *uroce_packet_keep(const struct uroce_packet *pkt)
{
	struct sk_buff *skb = pkt->skb;
	struct uroce_kept *kept = uroce_kept(skb);

	skb_orphan(skb);
	/*
	 * As UDP does, so that a waiting packet pins no connection of
	 * netfilter.
	 */
	nf_reset_ct(skb);
	secpath_reset(skb);
	/*
	 * A packet that arrived by lo has a route, which must not outlive its
	 * namespace.
	 */
	skb_dst_drop(skb);
	kept->start = (u8 *)pkt->bth - skb->data;
	kept->ce = pkt->ce;
	return skb_get(skb);
}

/* Parses a packet that was kept, except for the addresses. */
bool uroce_packet_kept(struct sk_buff *skb, struct uroce_packet *pkt)
{
	const struct uroce_kept *kept = uroce_kept(skb);

	pkt->skb = skb;
	pkt->ce = kept->ce;
	return uroce_packet_parse(pkt, kept->start);
}
