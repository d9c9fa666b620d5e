// SPDX-License-Identifier: GPL-2.0
/* Frames for flows: those of the net device, and those of its queue pairs. */
#include <linux/netdevice.h>
#include <linux/sctp.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include "compat.h"
#include "raw.h"

static u32 input_one(struct uroce_dev *dev, const struct sk_buff *skb,
		     bool verified, const struct uroce_qp *from)
{
	struct uroce_frame frame;

	if (!uroce_frame_parse(&frame, skb, verified))
		return 0;
	frame.from = from;
	return uroce_flows_deliver(dev, &frame);
}

/*
 * A copy of @skb whose data begins with the Ethernet header. Its headers are
 * not shared with @skb, which the host gets next: segmentation writes to them.
 */
static struct sk_buff *clone_whole(const struct sk_buff *skb)
{
	struct sk_buff *clone = skb_clone((struct sk_buff *)skb, GFP_ATOMIC);

	if (!clone)
		return NULL;
	if (skb_cow_head(clone, 0)) {
		kfree_skb(clone);
		return NULL;
	}
	__skb_push(clone, -skb_mac_offset(clone));
	return clone;
}

/*
 * A virtual machine chooses the length of the pieces by itself, and a single
 * byte would make 64 k frames.
 */
#define PIECES 1024

/*
 * The kernel has put frames of a connection together, or a host on the same
 * machine has not taken them apart yet. A queue pair gets the frames as they
 * are on a wire, with their checksums.
 */
static u32 input_pieces(struct uroce_dev *dev, const struct sk_buff *skb,
			bool verified, const struct uroce_qp *from)
{
	struct sk_buff *whole = NULL, *pieces = NULL, *next;
	u32 copies = 0;

	if (skb->len / PIECES <= skb_shinfo(skb)->gso_size)
		whole = clone_whole(skb);
	if (whole)
		pieces = __skb_gso_segment(whole, 0, false);
	if (IS_ERR_OR_NULL(pieces)) {
		uroce_count(dev, UROCE_CNT_OUT_OF_BUFFER);
		kfree_skb(whole);
		return 0;
	}
	consume_skb(whole);
	skb_list_walk_safe(pieces, pieces, next) {
		skb_mark_not_on_list(pieces);
		copies += input_one(dev, pieces, verified, from);
		consume_skb(pieces);
	}
	return copies;
}

/*
 * Makes the checksum, also that of SCTP. A virtual machine chooses the offset
 * by itself, and may choose one in the Ethernet header or before it. The kernel
 * warns of an offset outside of the data, so it is checked here. @skb is
 * linear.
 */
static bool sum_up(struct sk_buff *skb)
{
	u32 room = skb_csum_is_sctp(skb) ? sizeof(struct sctphdr) :
					   skb->csum_offset + sizeof(__sum16);
	int start;

	__skb_push(skb, -skb_mac_offset(skb));
	start = skb_checksum_start_offset(skb);
	return start >= 0 && start + room <= skb_headlen(skb) &&
	       !skb_csum_hwoffload_help(skb, 0);
}

/* The checksum was left to hardware, but no hardware follows. */
static u32 input_unsummed(struct uroce_dev *dev, const struct sk_buff *skb,
			  bool verified, const struct uroce_qp *from)
{
	struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC);
	u32 copies = 0;

	if (copy && sum_up(copy))
		copies = input_one(dev, copy, verified, from);
	else
		uroce_count(dev, UROCE_CNT_OUT_OF_BUFFER);
	kfree_skb(copy);
	return copies;
}

/* Is the checksum that is still to be made that of the TCP or UDP header? */
static bool sum_is_of_ports(const struct sk_buff *skb,
			    const struct uroce_frame *frame)
{
	u32 sum = frame->has & UROCE_HAS_TCP ? offsetof(struct tcphdr, check) :
					       offsetof(struct udphdr, check);

	return frame->has & (UROCE_HAS_TCP | UROCE_HAS_UDP) &&
	       skb->csum_offset == sum &&
	       (u32)skb_checksum_start_offset(skb) == frame->outer.ports_at;
}

u32 uroce_frames_input(struct uroce_dev *dev, const struct sk_buff *skb,
		       const struct uroce_qp *from)
{
	bool unsummed = skb->ip_summed == CHECKSUM_PARTIAL;
	bool verified = skb->ip_summed == CHECKSUM_UNNECESSARY;
	struct uroce_frame frame;

	if (!uroce_frame_parse(&frame, skb, verified))
		return 0;
	frame.from = from;
	if (!unsummed && !skb_is_gso(skb))
		return uroce_flows_deliver(dev, &frame);
	/* A frame is not copied in vain. */
	if (!uroce_flows_want(dev, &frame))
		return 0;
	if (unsummed)
		verified = sum_is_of_ports(skb, &frame);
	return skb_is_gso(skb) ? input_pieces(dev, skb, verified, from) :
				 input_unsummed(dev, skb, verified, from);
}

/* All frames of a packet that is cut later have the same headers. */
bool uroce_frame_may_leave(const struct uroce_dev *dev,
			   const struct sk_buff *skb)
{
	u32 frames = skb_shinfo(skb)->gso_segs ?: 1;
	struct uroce_frame frame;

	if (list_empty(&dev->egress) || !uroce_frame_parse(&frame, skb, false))
		return true;
	return uroce_flows_pass(dev, &frame, frames,
				skb->len + (frames - 1) * skb_headlen(skb));
}

/*
 * The host's own copies of its multicast packets pass here too. They are not
 * for flows, which get frames of queue pairs from uroce_frame_send(). Frames
 * whose bytes lie in the memory of a device cannot be copied.
 */
static bool is_for_flows(struct uroce_dev *dev, const struct sk_buff *skb)
{
	return skb->pkt_type != PACKET_LOOPBACK && skb_frags_readable(skb) &&
	       !uroce_is_silent(dev);
}

int uroce_tap(struct sk_buff *skb, struct net_device *netdev,
	      struct packet_type *tap, struct net_device *orig)
{
	struct uroce_dev *dev = container_of(tap, struct uroce_dev, tap);

	if (is_for_flows(dev, skb)) {
		local_bh_disable();
		uroce_frames_input(dev, skb, NULL);
		local_bh_enable();
	}
	consume_skb(skb);
	return NET_RX_SUCCESS;
}
