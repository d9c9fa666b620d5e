/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room of raw packets: frames that a raw packet queue pair sends (send.c,
 * tso.c); flows (flow.c), and frames of the net device and of the device
 * itself, which flows give to queue pairs (input.c, headers.c, frame.c). The
 * room knows queue pairs and the net device. It does not know which context
 * runs a send queue.
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

/* A bit of uroce_headers.ip.v4.flags: more fragments. */
#define UROCE_FRAME_MF BIT(2)

/**
 * struct uroce_headers - the headers outside of a tunnel, or inside of it
 * @eth: Ethernet header; the type is the one behind all VLAN tags, the tag the
 *	first one
 * @eth.dst: address of the receiver
 * @eth.src: address of the sender
 * @eth.type: protocol behind the tags
 * @eth.tci: first tag; only with %UROCE_HAS_TAG
 * @ip: fields of the IP header, which may lie behind labels of MPLS
 * @ip.v4: with %UROCE_HAS_IPV4
 * @ip.v4.src: address of the sender
 * @ip.v4.dst: address of the receiver
 * @ip.v4.proto: protocol behind the header
 * @ip.v4.tos: type of service
 * @ip.v4.ttl: time to live
 * @ip.v4.flags: %UROCE_FRAME_MF and the flag against fragments, as in the specs
 *	of flows
 * @ip.v6: with %UROCE_HAS_IPV6
 * @ip.v6.src: address of the sender
 * @ip.v6.dst: address of the receiver
 * @ip.v6.label: flow label
 * @ip.v6.next_hdr: protocol behind the header
 * @ip.v6.tclass: traffic class
 * @ip.v6.hops: hop limit
 * @ports: ports of TCP or UDP
 * @ports.dst: port of the receiver
 * @ports.src: port of the sender
 * @esp: the first fields of ESP
 * @esp.spi: security parameters index
 * @esp.seq: sequence number
 * @mpls: the first entry of the labels behind the Ethernet header
 * @ports_at: offset in uroce_frame.skb of @ports
 */
struct uroce_headers {
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
	struct {
		__be32 spi;
		__be32 seq;
	} esp;
	__be32 mpls;
	u32 ports_at;
};

/*
 * Bits of uroce_frame.has: headers of the frame, whose fields are valid. Those
 * of the first line are also there for headers in a tunnel, shifted by
 * UROCE_INNER.
 */
#define UROCE_HAS_ETH		BIT(0)
#define UROCE_HAS_TAG		BIT(1)
#define UROCE_HAS_MPLS		BIT(2)
#define UROCE_HAS_IPV4		BIT(3)
#define UROCE_HAS_IPV6		BIT(4)
#define UROCE_HAS_TCP		BIT(5)
#define UROCE_HAS_UDP		BIT(6)
#define UROCE_HAS_ESP		BIT(7)
#define UROCE_INNER		8
#define UROCE_HAS_VXLAN		BIT(16)
#define UROCE_HAS_GRE		BIT(17)
#define UROCE_HAS_GRE_KEY	BIT(18)
#define UROCE_HAS_IP_MPLS	BIT(19)
#define UROCE_HAS_UDP_MPLS	BIT(20)
#define UROCE_HAS_GRE_MPLS	BIT(21)

/**
 * struct uroce_frame - an Ethernet frame for queue pairs of this device
 * @skb: the frame
 * @from: the queue pair that sends it, if that is one of this device
 * @body: offset in @skb of the bytes behind @type
 * @len: number of these bytes
 * @has: %UROCE_HAS_ETH and so on
 * @type: the type behind the VLAN tag of @outer
 * @vlan_proto: type of that tag
 * @outer: the headers that begin the frame
 * @inner: the headers in a tunnel: VXLAN, GRE, MPLS in UDP, GRE or IP, or IP in
 *	IP
 * @vni: network identifier of VXLAN
 * @gre: GRE header
 * @gre.flags: flags and version
 * @gre.protocol: protocol behind the header
 * @gre.key: only with %UROCE_HAS_GRE_KEY
 * @ip_mpls: the first entry of labels behind an IP header
 * @udp_mpls: likewise, behind a UDP header
 * @gre_mpls: likewise, behind a GRE header
 * @sums_ok: the checksums of IP, and of TCP or UDP, are right
 */
struct uroce_frame {
	const struct sk_buff *skb;
	const struct uroce_qp *from;
	u32 body;
	u32 len;
	u32 has;
	__be16 type;
	__be16 vlan_proto;
	struct uroce_headers outer;
	struct uroce_headers inner;
	__be32 vni;
	struct {
		__be16 flags;
		__be16 protocol;
		__be32 key;
	} gre;
	__be32 ip_mpls;
	__be32 udp_mpls;
	__be32 gre_mpls;
	bool sums_ok;
};

static inline u32 uroce_frame_len(const struct uroce_frame *frame)
{
	return (frame->has & UROCE_HAS_TAG ? VLAN_ETH_HLEN : ETH_HLEN) +
	       frame->len;
}

/*
 * headers.c: fills in a frame whose Ethernet header is that of @skb; @verified
 * says that the checksum of TCP or UDP is right.
 */
bool uroce_frame_parse(struct uroce_frame *frame, const struct sk_buff *skb,
		       bool verified);

/*
 * frame.c: writes a frame to the next receive request of a queue pair. Context:
 * RCU.
 */
void uroce_frame_receive(struct uroce_qp *qp, const struct uroce_frame *frame,
			 u32 tag);
/*
 * frame.c: writes a frame to the next receive request of exactly this queue
 * pair; false if there is none, or if its pages are being faulted in. Context:
 * resp.lock.
 */
bool uroce_frame_give(struct uroce_qp *qp, const struct uroce_frame *frame,
		      u32 tag);

/*
 * delay.c: frames that wait for receive requests of a work queue.
 * uroce_delay_receive() gets each frame of a queue with the flag, and
 * uroce_delay_drop() loses the frames that wait; both under resp.lock.
 * uroce_delay_posted() is called after requests were posted, and may sleep;
 * uroce_delay_destroy() when the receiver is dead and its frames are dropped.
 */
int uroce_delay_create(struct uroce_qp *qp);
void uroce_delay_destroy(struct uroce_qp *qp);
void uroce_delay_receive(struct uroce_qp *qp, const struct uroce_frame *frame,
			 u32 tag);
void uroce_delay_posted(struct uroce_qp *qp);
void uroce_delay_drop(struct uroce_qp *qp);

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
 * Counts frames that are sent, which have the headers of @frame. Returns false
 * if a flow drops them. Context: RCU.
 */
bool uroce_flows_pass(const struct uroce_dev *dev,
		      const struct uroce_frame *frame, u32 frames, u32 bytes);

/*
 * input.c: a frame of the net device, or of its queue pair @from; @skb remains
 * the caller's. Returns the number of copies for queue pairs. Context: RCU,
 * bottom halves off.
 */
u32 uroce_frames_input(struct uroce_dev *dev, const struct sk_buff *skb,
		       const struct uroce_qp *from);
/* May the frame of a queue pair be sent? Context: as above. */
bool uroce_frame_may_leave(const struct uroce_dev *dev,
			   const struct sk_buff *skb);
int uroce_tap(struct sk_buff *skb, struct net_device *netdev,
	      struct packet_type *tap, struct net_device *orig);

/*
 * send.c: uroce_frame_send() sends the frame of a request whose memory is
 * mapped, or its frames. Returns -ENOMEM if there is no memory for it now;
 * otherwise the number of copies for queue pairs of the device, and @reason,
 * which is 0 before the call, says why the request has failed. Context:
 * sq.lock, RCU.
 */
int uroce_frame_send(struct uroce_qp *qp, const struct uroce_wqe *wqe,
		     u16 *reason);
/* Why a request of this length cannot be sent, with or without a VLAN tag. */
u16 uroce_frame_check(const struct uroce_dev *dev, const struct uroce_wqe *wqe);
/*
 * Sets the offset of the network header of a frame, whose protocol is that of
 * its Ethernet header. Returns the type behind the VLAN tag.
 */
__be16 uroce_frame_network(struct sk_buff *skb);

/*
 * tso.c: the packet of a UNIV_WR_TSO. Returns NULL if there is no memory, or
 * with a @reason. Context: sq.lock.
 */
struct sk_buff *uroce_tso_build(struct uroce_qp *qp,
				const struct uroce_wqe *wqe, u16 *reason);

#endif
