/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The room of packets: headers, checksums, and UDP in and out. The room knows
 * network namespaces and routes. It does not know queue pairs, connections or
 * devices; it asks for them through struct uroce_net_ops.
 *
 * Packets arrive through a netfilter hook in front of the local sockets and not
 * through a socket, so that port 4791 stays free for rdma_rxe and so that a
 * firewall's input rules hold for RDMA.
 */
#ifndef UROCE_NET_H
#define UROCE_NET_H

#include <linux/types.h>
#include <net/ipv6.h>

#include "opcode.h"
#include "pace.h"
#include "wire.h"

struct dst_entry;
struct net;
struct net_device;
struct sk_buff;
struct sock;
struct uroce_dev;

/**
 * struct uroce_flow - source, destination and route of packets
 * @src: address of this host; IPv4 as ::ffff:a.b.c.d
 * @dst: address of the other host
 * @label: flow label, 20 bits
 * @tclass: traffic class
 * @hops: hop limit
 * @sport: UDP source port, which spreads flows over paths
 * @oif: index of the net device that has @src, which may be on top of the uroce
 *	device's own (a VLAN); 0: any
 * @route: cached route; NULL before the first packet
 * @cookie: tells whether @route is stale
 * @wary: send packets one by one, since some were lost
 *
 * The owner serialises access.
 */
struct uroce_flow {
	struct in6_addr src;
	struct in6_addr dst;
	u32 label;
	u8 tclass;
	u8 hops;
	__be16 sport;
	int oif;
	struct dst_entry *route;
	u32 cookie;
	bool wary;
};

/**
 * struct uroce_run - packets of one flow that pass the network stack together
 * @head: the first packet; NULL for none
 * @tail: the last packet
 * @sk: the socket that the packets are charged to; NULL for none
 * @count: number of packets
 * @len: their bytes, with IP headers
 * @longest: maximum length of a packet in this run
 * @max_count: maximum number of packets; like @max_len it depends on the first
 *	packet's route
 * @max_len: maximum number of bytes
 * @lost: some packets could not be sent, and uroce_run_send() has not reported
 *	it yet
 *
 * Each packet is complete, with headers and checksum of its own. The run is a
 * super-packet of the kernel's kind "list": a device without support for it
 * gets the packets one by one, and a peer on the same host gets the list. So
 * the packets of a run may differ in length, and small messages travel
 * together. The other kind of super-packet, one payload that is cut at equal
 * lengths, could be cut by hardware. It was rejected because it needs UDP
 * checksums, for which software would read each byte once more on both sides.
 * Where no hardware is on the way, GSO packets (gso.c) have one payload without
 * such checksums.
 */
struct uroce_run {
	struct sk_buff *head;
	struct sk_buff *tail;
	struct sock *sk;
	u32 count;
	u32 len;
	u32 longest;
	u32 max_count;
	u32 max_len;
	bool lost;
};

/**
 * struct uroce_packet - a packet that was received and is complete
 * @skb: the packet
 * @op: properties of its opcode
 * @bth: base transport header, in the linear part of @skb with all headers that
 *	@op announces
 * @payload: offset of the payload in @skb
 * @len: bytes of payload, without padding
 * @psn: sequence number
 * @packets: the sequence numbers that it takes: more than one if it is a GSO
 *	packet
 * @mtu: of a GSO packet: bytes of payload of each packet but the last
 * @qpn: destination queue pair
 * @src: address of the sender; IPv4 as ::ffff:a.b.c.d
 * @dst: an address of this host, or a multicast group
 * @link: if @dst is link-local, the index of the net device by which the packet
 *	came; if the packet came by lo, of the net device that has @dst.
 *	Otherwise 0
 * @ce: a router has marked the packet: congestion experienced
 */
struct uroce_packet {
	struct sk_buff *skb;
	const struct uroce_op *op;
	const struct uroce_bth *bth;
	u32 payload;
	u32 len;
	u32 psn;
	u32 packets;
	u32 mtu;
	u32 qpn;
	struct in6_addr src;
	struct in6_addr dst;
	int link;
	bool ce;
};

/*
 * Does the packet come from the flow's destination to its source? A link-local
 * address has a meaning on its link alone. A VLAN often has the link-local
 * address of the net device below it.
 */
static inline bool uroce_flow_matches(const struct uroce_flow *flow,
				      const struct uroce_packet *pkt)
{
	return ipv6_addr_equal(&pkt->src, &flow->dst) &&
	       ipv6_addr_equal(&pkt->dst, &flow->src) &&
	       (likely(!pkt->link) || pkt->link == flow->oif);
}

/**
 * struct uroce_net_ops - how this room reaches devices and queue pairs
 * @device: the device that has an address; NULL for none
 * @next_listener: the next device that receives the multicast packets of a net
 *	device: the one after @last, or the first one if @last is NULL; NULL
 *	after the last one
 * @has_mac: is this the Ethernet address of the device's interface?
 * @receive: a packet has arrived, and its checksum is right; returns false for
 *	a GSO packet that has to be cut
 * @deliver: deliver a packet for which @receive was called before
 * @damaged: a packet with a wrong checksum has arrived
 *
 * Context: RCU read side. The packet remains the caller's.
 */
struct uroce_net_ops {
	struct uroce_dev *(*device)(struct net *net,
				    const struct in6_addr *dst);
	struct uroce_dev *(*next_listener)(struct net_device *netdev,
					   struct uroce_dev *last);
	bool (*has_mac)(const struct uroce_dev *dev, const u8 *mac);
	bool (*receive)(struct uroce_dev *dev, const struct uroce_packet *pkt);
	void (*deliver)(struct uroce_dev *dev, const struct uroce_packet *pkt);
	void (*damaged)(struct uroce_dev *dev);
};

extern const struct uroce_net_ops *uroce_net_ops;

/* Immediate data, or the key to invalidate. */
static inline __be32 uroce_packet_imm(const struct uroce_packet *pkt)
{
	return *(const __be32 *)((const u8 *)pkt->bth + pkt->op->length -
				 sizeof(__be32));
}

bool uroce_packet_parse(struct uroce_packet *pkt, unsigned int start);

/**
 * struct uroce_kept - in skb->cb of a packet that is kept
 * @start: offset of the base transport header
 * @charge: bytes that the keeper has charged for it
 * @span: the number of sequence numbers that it takes, if the keeper sets it
 * @ce: as in struct uroce_packet
 */
struct uroce_kept {
	u32 start;
	u32 charge;
	u32 span;
	bool ce;
};

/* keep.c */
struct uroce_kept *uroce_kept(const struct sk_buff *skb);
u32 uroce_kept_psn(const struct sk_buff *skb);
struct sk_buff *uroce_packet_keep(const struct uroce_packet *pkt);
bool uroce_packet_kept(struct sk_buff *skb, struct uroce_packet *pkt);

int uroce_net_init(const struct uroce_net_ops *ops);
void uroce_net_exit(void);
void uroce_net_deliver(struct uroce_dev *dev, const struct uroce_packet *pkt);

bool uroce_net_enabled(void);
/*
 * The hook of a namespace is registered while at least one device has joined
 * it.
 */
int uroce_net_join(struct net *net);
void uroce_net_leave(struct net *net);
struct sock *uroce_net_sock(struct net_device *dev);

/*
 * icrc.c: frame check sequence of the Ethernet frame that consists of the bytes
 * at @head and of @len bytes of @skb.
 */
__le32 uroce_net_fcs(const void *head, u32 head_len, const struct sk_buff *skb,
		     u32 offset, u32 len);

/* Bytes in a page fragment of payload. */
#define UROCE_NET_PIECE 4096u

/* output.c */
struct sk_buff *uroce_net_alloc(unsigned int len, bool pages);
bool uroce_net_gathers(const struct uroce_flow *flow);
bool uroce_net_takes_pages(const struct uroce_flow *flow);
void *uroce_net_more(struct sk_buff *skb, u32 len);
bool uroce_net_end_pages(struct sk_buff *skb);
void *uroce_net_put(struct sk_buff *skb, unsigned int len);
bool uroce_net_room(struct net_device *dev, bool waited);
int uroce_net_xmit(struct net_device *dev, struct uroce_flow *flow,
		   struct sk_buff *skb);
int uroce_run_add(struct net_device *dev, struct uroce_flow *flow,
		  struct uroce_run *run, struct sk_buff *skb);
int uroce_run_send(struct net_device *dev, struct uroce_run *run);
bool uroce_run_untouched(struct sk_buff *skb);
void uroce_output_exit(void);
void uroce_net_seal(const struct uroce_flow *flow, struct sk_buff *skb, u16 id);
void uroce_flow_release(struct uroce_flow *flow);

/* gso.c */
u32 uroce_gso_most(const struct uroce_flow *flow, u32 mtu);
void uroce_gso_mark(struct sk_buff *skb, u32 len, u32 mtu);
bool uroce_gso_is(const struct sk_buff *skb);
u32 uroce_gso_more(u8 opcode, u32 packets);

#endif
