// SPDX-License-Identifier: GPL-2.0
/* One frame: its headers, and the receive request that it is written to. */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/ipv6.h>

#include "raw.h"

/* The other value of the IPv4 flags in specs of flows. */
#define FLAG_DF	BIT(1)

/* ---- headers ------------------------------------------------------------- */

static void parse_ports(struct uroce_frame *frame, u32 at, u8 proto)
{
	__be16 buf[2];
	const __be16 *ports;

	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return;
	ports = skb_header_pointer(frame->skb, at, sizeof(buf), buf);
	if (!ports)
		return;
	frame->ports.src = ports[0];
	frame->ports.dst = ports[1];
	frame->ports_at = at;
	frame->l4 = proto;
}

/* Only the first fragment has ports, and none has a checksum of its own. */
static void parse_ipv4(struct uroce_frame *frame, bool verified)
{
	u8 buf[15 * 4] __aligned(4);
	const struct iphdr *ip;
	u32 len;

	ip = skb_header_pointer(frame->skb, frame->body, sizeof(*ip), buf);
	if (!ip || ip->version != IPVERSION || ip->ihl < 5)
		return;
	len = ip->ihl * 4;
	ip = skb_header_pointer(frame->skb, frame->body, len, buf);
	if (!ip)
		return;
	frame->l3 = 4;
	frame->ip.v4.src = ip->saddr;
	frame->ip.v4.dst = ip->daddr;
	frame->ip.v4.proto = ip->protocol;
	frame->ip.v4.tos = ip->tos;
	frame->ip.v4.ttl = ip->ttl;
	frame->ip.v4.flags =
		(ip->frag_off & htons(IP_DF) ? FLAG_DF : 0) |
		(ip->frag_off & htons(IP_MF) ? UROCE_FRAME_MF : 0);
	if (ip->frag_off & htons(IP_OFFSET))
		return;
	parse_ports(frame, frame->body + len, ip->protocol);
	frame->sums_ok = verified && frame->l4 && !ip_is_fragment(ip) &&
			 !ip_fast_csum(ip, ip->ihl);
}

/* Ports behind extension headers are not found, which specs do not name. */
static void parse_ipv6(struct uroce_frame *frame, bool verified)
{
	const struct ipv6hdr *ip;
	struct ipv6hdr buf;

	ip = skb_header_pointer(frame->skb, frame->body, sizeof(buf), &buf);
	if (!ip || ip->version != 6)
		return;
	frame->l3 = 6;
	frame->ip.v6.src = ip->saddr;
	frame->ip.v6.dst = ip->daddr;
	frame->ip.v6.label = ip6_flowlabel(ip);
	frame->ip.v6.next_hdr = ip->nexthdr;
	frame->ip.v6.tclass = ipv6_get_dsfield(ip);
	frame->ip.v6.hops = ip->hop_limit;
	parse_ports(frame, frame->body + sizeof(*ip), ip->nexthdr);
	frame->sums_ok = verified && frame->l4;
}

/*
 * The kernel takes the tag out of most received frames. A tag in the frame is
 * one that a queue pair sends.
 */
static void parse_vlan(struct uroce_frame *frame)
{
	const struct sk_buff *skb = frame->skb;
	const struct vlan_hdr *vlan;
	struct vlan_hdr buf;

	if (skb_vlan_tag_present(skb)) {
		frame->tagged = true;
		frame->vlan_proto = skb->vlan_proto;
		frame->eth.tci = htons(skb_vlan_tag_get(skb));
		return;
	}
	if (!eth_type_vlan(frame->eth.type))
		return;
	vlan = skb_header_pointer(skb, frame->body, sizeof(buf), &buf);
	if (!vlan)
		return;
	frame->tagged = true;
	frame->vlan_proto = frame->eth.type;
	frame->eth.tci = vlan->h_vlan_TCI;
	frame->eth.type = vlan->h_vlan_encapsulated_proto;
	frame->body += sizeof(buf);
}

bool uroce_frame_parse(struct uroce_frame *frame, const struct sk_buff *skb,
		       bool verified)
{
	const struct ethhdr *eth = (void *)skb_mac_header(skb);
	int body = skb_mac_offset(skb) + ETH_HLEN;

	if (!skb_mac_header_was_set(skb) || body < 0 || body > ETH_HLEN ||
	    body > (int)skb_headlen(skb))
		return false;
	memset(frame, 0, sizeof(*frame));
	frame->skb = skb;
	frame->body = body;
	memcpy(frame->eth.dst, eth->h_dest, ETH_ALEN);
	memcpy(frame->eth.src, eth->h_source, ETH_ALEN);
	frame->eth.type = eth->h_proto;
	parse_vlan(frame);
	frame->len = skb->len - frame->body;
	if (frame->eth.type == htons(ETH_P_IP))
		parse_ipv4(frame, verified);
	else if (frame->eth.type == htons(ETH_P_IPV6))
		parse_ipv6(frame, verified);
	return true;
}

/* ---- receive requests ---------------------------------------------------- */

/* Makes the Ethernet header again, with the VLAN tag or without it. */
static u32 make_head(const struct uroce_frame *frame, bool strip, u8 *head)
{
	struct vlan_ethhdr *veth = (void *)head;
	struct ethhdr *eth = (void *)head;

	memcpy(head, &frame->eth, 2 * ETH_ALEN);
	if (!frame->tagged || strip) {
		eth->h_proto = frame->eth.type;
		return ETH_HLEN;
	}
	veth->h_vlan_proto = frame->vlan_proto;
	veth->h_vlan_TCI = frame->eth.tci;
	veth->h_vlan_encapsulated_proto = frame->eth.type;
	return VLAN_ETH_HLEN;
}

static enum ib_wc_status place(struct uroce_qp *qp,
			       const struct uroce_frame *frame, const u8 *head,
			       u32 head_len)
{
	struct uroce_recv *r = &qp->resp.recv;
	const struct uroce_packet pkt = {
		.skb = (struct sk_buff *)frame->skb,
		.payload = frame->body,
		.len = frame->len,
	};
	enum ib_wc_status status;

	status = uroce_recv_enter(qp, 0, head_len + frame->len);
	if (status)
		return status;
	uroce_vec_write(&r->vec, 0, head, head_len);
	uroce_packet_put(&pkt, &r->vec, head_len);
	uroce_recv_leave(qp);
	return IB_WC_SUCCESS;
}

/*
 * A frame that finds no receive request, or one that is too short, is lost, as
 * a datagram is: any host of the network could stop the queue pair otherwise.
 * Context: resp.lock.
 */
static void receive(struct uroce_qp *qp, const struct uroce_frame *frame,
		    u32 tag)
{
	u8 head[VLAN_ETH_HLEN] __aligned(4);
	u32 head_len = make_head(frame, qp->strips, head);
	struct univ_cqe cqe = {
		.opcode = IB_WC_RECV,
		.wc_flags = frame->sums_ok ? UNIV_WC_IP_CSUM_OK : 0,
		.byte_len = head_len + frame->len,
		.cvlan = ntohs(frame->eth.tci),
		.flow_tag = tag,
	};
	enum ib_wc_status status;

	status = uroce_recv_take_datagram(qp, cqe.byte_len);
	if (!status)
		status = place(qp, frame, head, head_len);
	if (!qp->resp.recv.taken || status == IB_WC_RNR_RETRY_EXC_ERR ||
	    status == IB_WC_LOC_LEN_ERR) {
		uroce_note(qp, UROCE_CNT_OUT_OF_BUFFER);
		return;
	}
	uroce_recv_done(qp, &cqe, status, false);
	uroce_recv_notify(qp);
	if (status)
		uroce_qp_fail(qp, 0);
}

/*
 * With a receive indirection table a work queue gets the frame, in each state
 * of the queue pair but the error state: programs for mlx5 do not modify such a
 * queue pair, since that is not possible there.
 */
static struct uroce_qp *receiver(struct uroce_qp *qp,
				 const struct uroce_frame *frame)
{
	const struct uroce_rss *rss = qp->rss;

	if (likely(!rss))
		return qp;
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		return NULL;
	return rss->receivers[uroce_frame_hash(rss, frame) & rss->mask];
}

void uroce_frame_receive(struct uroce_qp *qp, const struct uroce_frame *frame,
			 u32 tag)
{
	qp = receiver(qp, frame);
	if (!qp)
		return;
	spin_lock_bh(&qp->resp.lock);
	if (uroce_qp_listens(qp))
		receive(qp, frame, tag);
	spin_unlock_bh(&qp->resp.lock);
}
