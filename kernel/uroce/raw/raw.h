/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room of raw packets: frames that a raw packet queue pair sends (send.c);
 * flows (flow.c), and frames of the net device and of the device itself, which
 * flows give to queue pairs (input.c, frame.c). The room knows queue pairs and
 * the net device. It does not know which context runs a send queue.
 *
 * Received frames come from a packet_type handler of the net device. An
 * rx_handler was rejected because a net device has only one, which bridges,
 * bonds and macvlans use; a netfilter or tc hook because it would change the
 * rules that the administrator sees. A handler gets a frame in addition to the
 * host's own protocols, so a flow does not take frames from the host.
 */
#ifndef UROCE_RAW_H
#define UROCE_RAW_H

#include <linux/if_vlan.h>

#include "flow.h"
#include "../net/net.h"
#include "../qp/qp.h"

/*
 * Every frame is compared with the flows, and may be copied for each of them in
 * a softirq, so there may not be many.
 */
#define UROCE_MAX_FLOWS 240

/* A bit of uroce_frame.ip.v4.flags: more fragments. */
#define UROCE_FRAME_MF BIT(2)

/**
 * struct uroce_frame - an Ethernet frame for queue pairs of this device
 * @skb: the frame
 * @body: offset in @skb of the bytes behind the type
 * @len: number of these bytes
 * @eth: Ethernet header; the type is the one behind the VLAN tag
 * @tagged: the frame has a VLAN tag, which is in @eth
 * @vlan_proto: type of the VLAN tag
 * @ip: fields of the IP header
 * @ports: ports of TCP or UDP
 * @ports_at: offset in @skb of @ports
 * @l3: 4 or 6, or 0 for other frames
 * @l4: IPPROTO_TCP or IPPROTO_UDP if @ports is valid, otherwise 0
 * @sums_ok: the checksums of IP, and of TCP or UDP, are right
 */
struct uroce_frame {
	const struct sk_buff *skb;
	u32 body;
	u32 len;
	struct {
		u8 dst[6];
		u8 src[6];
		__be16 type;
		__be16 tci;
	} eth;
	union {
		struct {
			__be32 src;
			__be32 dst;
			u8 proto;
			u8 tos;
			u8 ttl;
			u8 flags;
		} v4;
		struct {
			struct in6_addr src;
			struct in6_addr dst;
			__be32 label;
			u8 next_hdr;
			u8 tclass;
			u8 hops;
		} v6;
	} ip;
	struct {
		__be16 dst;
		__be16 src;
	} ports;
	u32 ports_at;
	__be16 vlan_proto;
	bool tagged;
	u8 l3;
	u8 l4;
	bool sums_ok;
};

static inline u32 uroce_frame_len(const struct uroce_frame *frame)
{
	return (frame->tagged ? VLAN_ETH_HLEN : ETH_HLEN) + frame->len;
}

/*
 * frame.c: uroce_frame_parse() fills in a frame whose Ethernet header is that
 * of @skb; @verified says that the checksum of TCP or UDP is right.
 * uroce_frame_receive() writes it to the next receive request of a queue pair.
 * Context: RCU.
 */
bool uroce_frame_parse(struct uroce_frame *frame, const struct sk_buff *skb,
		       bool verified);
void uroce_frame_receive(struct uroce_qp *qp, const struct uroce_frame *frame,
			 u32 tag);

/*
 * hash.c: the entry of a receive indirection table is in the lower bits. A
 * frame that has none of the fields has the hash 0.
 */
u32 uroce_frame_hash(const struct uroce_rss *rss,
		     const struct uroce_frame *frame);

/*
 * flow.c: may the calling process use raw packets of this device?
 */
bool uroce_raw_is_allowed(const struct uroce_dev *dev);

/*
 * flow.c: flows of a device. uroce_flows_leave() is called when the net device
 * leaves its namespace, under RTNL.
 */
void uroce_flows_init(struct uroce_dev *dev);
void uroce_flows_leave(struct uroce_dev *dev);
struct ib_flow *uroce_flow_create(struct ib_qp *ib, struct ib_flow_attr *attr,
				  struct ib_udata *udata);
int uroce_flow_destroy(struct ib_flow *ib);
/*
 * uroce_flows_deliver() gives a frame to the flows that want it, and returns
 * the number of copies. Context: RCU.
 */
bool uroce_flows_want(const struct uroce_dev *dev,
		      const struct uroce_frame *frame);
u32 uroce_flows_deliver(const struct uroce_dev *dev,
			const struct uroce_frame *frame);

/*
 * input.c: a frame of the net device, or of one of its queue pairs; @skb
 * remains the caller's. Returns the number of copies for queue pairs. Context:
 * RCU, bottom halves off.
 */
u32 uroce_frames_input(struct uroce_dev *dev, const struct sk_buff *skb);
int uroce_tap(struct sk_buff *skb, struct net_device *netdev,
	      struct packet_type *tap, struct net_device *orig);

/*
 * send.c: sends the frame of a request whose memory is mapped. Returns -ENOMEM
 * if there is no memory for it now; otherwise the number of copies for queue
 * pairs of the device, and @reason says why the request has failed, or is 0.
 * Context: sq.lock.
 */
int uroce_frame_send(struct uroce_qp *qp, const struct uroce_wqe *wqe,
		     u16 *reason);
/* Could a frame of this length be sent, with or without a VLAN tag? */
bool uroce_frame_fits(const struct uroce_dev *dev, u32 len);

#endif
