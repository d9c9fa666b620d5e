// SPDX-License-Identifier: GPL-2.0
/* Frames for flows: those of the net device, and those of its queue pairs. */
#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include "raw.h"

static void input_one(struct uroce_dev *dev, const struct sk_buff *skb,
		      bool verified)
{
	struct uroce_frame frame;

	if (uroce_frame_parse(&frame, skb, verified))
		uroce_flows_deliver(dev, &frame);
}

/* A copy of @skb whose data begins with the Ethernet header. */
static struct sk_buff *clone_whole(const struct sk_buff *skb)
{
	struct sk_buff *clone = skb_clone((struct sk_buff *)skb, GFP_ATOMIC);

	if (clone)
		__skb_push(clone, -skb_mac_offset(clone));
	return clone;
}

/*
 * The kernel has put frames of a connection together, or a host on the same
 * machine has not taken them apart yet. A queue pair gets the frames as they
 * are on a wire, with their checksums.
 */
static void input_pieces(struct uroce_dev *dev, const struct sk_buff *skb,
			 bool verified)
{
	struct sk_buff *whole = clone_whole(skb), *pieces, *next;

	if (!whole)
		return;
	pieces = __skb_gso_segment(whole, 0, false);
	if (!IS_ERR_OR_NULL(pieces))
		consume_skb(whole);
	else
		kfree_skb(whole);
	if (IS_ERR_OR_NULL(pieces))
		return;
	skb_list_walk_safe(pieces, pieces, next) {
		skb_mark_not_on_list(pieces);
		input_one(dev, pieces, verified);
		consume_skb(pieces);
	}
}

/* The checksum was left to hardware that there is none of. */
static void input_unsummed(struct uroce_dev *dev, const struct sk_buff *skb)
{
	struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC);

	if (copy && !skb_checksum_help(copy))
		input_one(dev, copy, true);
	kfree_skb(copy);
}

void uroce_frames_input(struct uroce_dev *dev, const struct sk_buff *skb)
{
	bool verified = skb->ip_summed == CHECKSUM_UNNECESSARY ||
			skb->ip_summed == CHECKSUM_PARTIAL;
	struct uroce_frame frame;

	if (!uroce_frame_parse(&frame, skb, verified) ||
	    !uroce_flows_want(dev, &frame))
		return;
	if (skb_is_gso(skb))
		input_pieces(dev, skb, verified);
	else if (skb->ip_summed == CHECKSUM_PARTIAL)
		input_unsummed(dev, skb);
	else
		uroce_flows_deliver(dev, &frame);
}

/*
 * The host's own copies of its multicast packets pass here too. They are not
 * for flows, which get frames of queue pairs from uroce_frame_send().
 */
int uroce_tap(struct sk_buff *skb, struct net_device *netdev,
	      struct packet_type *tap, struct net_device *orig)
{
	struct uroce_dev *dev = container_of(tap, struct uroce_dev, tap);

	if (skb->pkt_type != PACKET_LOOPBACK && !uroce_is_silent(dev)) {
		local_bh_disable();
		uroce_frames_input(dev, skb);
		local_bh_enable();
	}
	consume_skb(skb);
	return NET_RX_SUCCESS;
}
