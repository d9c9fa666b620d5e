/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UDP in and out. Packets come through a netfilter hook on the way to local
 * sockets and not through a socket, so that port 4791 stays free for rdma_rxe,
 * and so that a firewall's rules for input hold for RDMA too.
 */
#ifndef UROCE_NET_H
#define UROCE_NET_H

#include <linux/in6.h>
#include <linux/types.h>

#include "wire.h"

struct dst_entry;
struct net;
struct net_device;
struct sk_buff;
struct sock;
struct uroce_dev;

/**
 * struct uroce_flow - where packets go, and from where
 * @src: our address; IPv4 as ::ffff:a.b.c.d
 * @dst: theirs
 * @label: flow label, 20 bits
 * @tclass: traffic class
 * @hops: hop limit
 * @sport: UDP source port, which spreads flows over paths
 * @oif: number of the net device that has @src, which may be one on top of ours (a
 *	VLAN's); 0: any
 * @route: cached; NULL before the first packet
 * @cookie: by which @route is found to be stale
 * @wary: packets go out one by one, since some were lost
 *
 * Whoever owns it serialises its users.
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
 * struct uroce_run - packets of one flow that go down the stack together
 * @head: the first; NULL for none
 * @tail: the last
 * @sk: what they are charged to; NULL for nobody
 * @count: of them
 * @len: their bytes, with IP headers
 * @longest: bytes that one of them may have
 * @max_count: packets that may be in it; this and @max_len are of the first one's route
 * @max_len: bytes
 * @lost: some could not be sent, which uroce_run_send() has not told yet
 *
 * Each is complete, with headers and checksum of its own, and stays a packet of
 * its own wherever one is looked at: the run is a super-packet of the kernel's
 * kind "list", which a device that knows nothing of such gets one by one, and
 * which arrives whole at a peer of this host. So packets of a run need not have
 * one length, and even small messages travel together. (The other kind, one
 * payload cut at equal lengths, could be cut by hardware; but it wants UDP
 * checksums, for which software would read each byte once more at either end.)
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
 * struct uroce_packet - a packet that came and is whole
 * @skb: it
 * @op: what its opcode announces
 * @bth: in the linear part of @skb, with all headers that @op announces
 * @payload: offset in @skb of what follows them
 * @len: bytes of payload, without padding
 * @psn: sequence number
 * @qpn: destination
 * @src: who sent; IPv4 as ::ffff:a.b.c.d
 * @dst: one of our addresses, or a multicast group
 * @ce: a router met congestion
 */
struct uroce_packet {
	struct sk_buff *skb;
	const struct uroce_op *op;
	const struct uroce_bth *bth;
	u32 payload;
	u32 len;
	u32 psn;
	u32 qpn;
	struct in6_addr src;
	struct in6_addr dst;
	bool ce;
};

bool uroce_packet_parse(struct uroce_packet *pkt, unsigned int start);

int uroce_net_init(void);
void uroce_net_exit(void);

/* A namespace listens as long as somebody has joined it */
bool uroce_net_wire(void);
int uroce_net_join(struct net *net);
void uroce_net_leave(struct net *net);
struct sock *uroce_net_sock(struct net_device *dev);

/* output.c */
struct sk_buff *uroce_net_alloc(unsigned int len, bool pages);
bool uroce_net_takes_pages(const struct uroce_flow *flow);
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

/*
 * input.c: whose address it is, NULL for nobody's; and what came for it. link.c:
 * the device on top of another. RCU read side. The packet stays the caller's.
 */
struct uroce_dev *uroce_net_device(struct net *net, const struct in6_addr *dst);
/* input.c: is it the address of the interface that the device lies on? */
bool uroce_net_has_mac(const struct uroce_dev *dev, const u8 *mac);
struct uroce_dev *uroce_dev_by_netdev(const struct net_device *netdev);
void uroce_net_receive(struct uroce_dev *dev, const struct uroce_packet *pkt);
void uroce_net_deliver(struct uroce_dev *dev, const struct uroce_packet *pkt);
/* One whose checksum is wrong */
void uroce_net_damaged(struct uroce_dev *dev);

#endif
