// SPDX-License-Identifier: GPL-2.0
/*
 * GSO packets: packets that stand for several packets of one message.
 *
 * A GSO packet looks like a packet of a path MTU of 60 KiB. It has one set of
 * headers and no checksum, takes as many sequence numbers as the packets that
 * it stands for, and passes the network stack as one packet, as those of TCP
 * do. uroce on the same host takes it whole. For a device, a program or a
 * socket that does not take it, the kernel calls cut() below, and each packet
 * gets its headers, its sequence number and its checksum.
 *
 * For the kernel the packet is one of a tunnel, since for those it chooses the
 * function that cuts by the protocol inside UDP, and any module may register
 * such a function.
 */
#include <linux/skbuff.h>
#include <net/dst.h>
#include <net/protocol.h>
#include <net/sock.h>

#include "compat.h"
#include "gso.h"
#include "icrc.h"
#include "output.h"

/*
 * The number under which the kernel finds the function that cuts. It is never
 * part of a packet. RFC 3692 reserves it for experiments, so no protocol of the
 * kernel uses it.
 */
#define GSO_PROTOCOL 253

/*
 * Only software takes lists, so no network card cuts the packet in a way of its
 * own. UDP segmentation can be switched off for a device, which then gets
 * single packets.
 */
#define GSO_TYPE (SKB_GSO_UDP_TUNNEL | SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST)
#define GSO_FEATURES                                                      \
	(NETIF_F_SG | NETIF_F_GSO_UDP_TUNNEL | NETIF_F_GSO_UDP_L4 | \
	 NETIF_F_GSO_FRAGLIST)

/*
 * The payload takes at most 16 fragments, since pages of a process need not
 * begin at a page boundary. Padding and checksum take one more.
 */
#define GSO_MOST (60u << 10)
static_assert(DIV_ROUND_UP(GSO_MOST, PAGE_SIZE) + 2 <= MAX_SKB_FRAGS);
static_assert(GSO_MOST / UROCE_NET_PIECE + 1 <= MAX_SKB_FRAGS);

/* The smallest path MTU. */
#define GSO_LEAST 256

/*
 * The kernel expects each packet to have gso_size bytes behind a UDP header
 * that the inner transport header points to. So this header is the last part of
 * the headers, and gso_size contains its length and that of the checksum.
 */
#define GSO_EXTRA (sizeof(struct udphdr) + UROCE_ICRC_SIZE)

/* More than the headers of any packet. */
#define GSO_HEADERS 256

/* Is the function that cuts registered? */
static bool registered;

/* ---- sending ------------------------------------------------------------- */

/*
 * Returns the maximum number of packets of @mtu that a GSO packet may stand for
 * on the route of @flow, or 0 if the device would have it cut. IPsec works on
 * single packets, and a lightweight tunnel (MPLS, SRv6) makes a tunnel packet
 * of its own kind.
 */
u32 uroce_gso_most(const struct uroce_flow *flow, u32 mtu)
{
	const struct dst_entry *dst = flow->route;
	const struct net_device *out;
	u32 most;

	if (!registered || !dst || dst_xfrm(dst) || dst->lwtstate)
		return 0;
	out = dst->dev;
	if (GSO_FEATURES & ~(out->features & out->hw_enc_features))
		return 0;
	most = READ_ONCE(out->gso_max_size);
	if (most <= GSO_HEADERS)
		return 0;
	most = min(most - GSO_HEADERS, GSO_MOST) / mtu;
	return min_t(u32, most, READ_ONCE(out->gso_max_segs));
}

/* @skb has @len bytes of payload, which stand for packets of @mtu bytes. */
void uroce_gso_mark(struct sk_buff *skb, u32 len, u32 mtu)
{
	struct skb_shared_info *info = skb_shinfo(skb);

	info->gso_size = mtu + GSO_EXTRA;
	info->gso_segs = DIV_ROUND_UP(len, mtu);
	info->gso_type = GSO_TYPE;
	skb_set_inner_ipproto(skb, GSO_PROTOCOL);
}

/* Bytes of payload of each packet but the last. */
u32 uroce_gso_mtu(const struct sk_buff *skb)
{
	u32 size = skb_shinfo(skb)->gso_size;

	return size > GSO_EXTRA ? size - GSO_EXTRA : 1;
}

/*
 * Adds the headers, and an empty checksum. The function that cuts relies on
 * skb->dev, which the caller sets.
 */
void uroce_gso_seal(const struct uroce_flow *flow, struct sk_buff *skb)
{
	const struct uroce_bth *bth = (void *)skb->data;
	int headers = uroce_ops[bth->opcode].length, at;

	uroce_output_headers(flow, skb, 0);
	memset(uroce_net_put(skb, UROCE_ICRC_SIZE), 0, UROCE_ICRC_SIZE);
	at = skb_transport_offset(skb) + (int)sizeof(struct udphdr);
	skb_set_inner_mac_header(skb, at);
	skb_set_inner_network_header(skb, at);
	skb_set_inner_transport_header(skb, at + headers -
						    (int)sizeof(struct udphdr));
	skb->encapsulation = 1;
	/* No UDP checksum is to be computed. */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

/* ---- the packets that it stands for -------------------------------------- */

/* The opcode of the first packet, of the last one, or of one between them. */
static u8 piece_opcode(u8 opcode, bool first, bool last)
{
	u8 service = opcode & UROCE_SERVICE, begin = UROCE_READ_FIRST;
	u32 flags = uroce_ops[opcode].flags;

	if (flags & UROCE_OP_SEND)
		begin = UROCE_SEND_FIRST;
	else if (flags & UROCE_OP_WRITE)
		begin = UROCE_WRITE_FIRST;
	if (first && flags & UROCE_OP_FIRST)
		return service | begin;
	if (!last || !(flags & UROCE_OP_LAST))
		return service | (begin + 1);
	if (flags & UROCE_OP_INV)
		return service | UROCE_SEND_LAST_INV;
	return service | (begin + (flags & UROCE_OP_IMM ? 3 : 2));
}

/*
 * Returns how many header bytes @packets packets have more than the GSO packet
 * that stands for them; 0 if @packets is below 2.
 */
u32 uroce_gso_more(u8 opcode, u32 packets)
{
	if (packets < 2)
		return 0;
	return uroce_ops[piece_opcode(opcode, true, false)].length +
	       uroce_ops[piece_opcode(opcode, false, false)].length *
		       (packets - 2) +
	       uroce_ops[piece_opcode(opcode, false, true)].length -
	       uroce_ops[opcode].length;
}

/* ---- receiving ----------------------------------------------------------- */

/* No program can make the kernel handle a packet of this type. */
bool uroce_gso_is(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_type == GSO_TYPE &&
	       !skb_has_frag_list(skb) &&
	       skb->inner_protocol_type == ENCAP_TYPE_IPPROTO &&
	       skb->inner_ipproto == GSO_PROTOCOL;
}

/*
 * Can packets be made of it? A program on the way, one of tc for example, may
 * have changed the packet.
 */
bool uroce_gso_fits(const struct uroce_packet *pkt)
{
	u8 service = pkt->bth->opcode & UROCE_SERVICE;
	u32 flags = pkt->op->flags;

	if (service != UROCE_RC && service != UROCE_XRC)
		return false;
	if (!(flags & (UROCE_OP_SEND | UROCE_OP_WRITE)) &&
	    !(flags & UROCE_OP_READ && flags & UROCE_OP_RESPONSE))
		return false;
	return pkt->packets > 1 && pkt->len <= GSO_MOST &&
	       pkt->mtu >= GSO_LEAST && !(pkt->mtu % 4) &&
	       (flags & UROCE_OP_LAST || !(pkt->len % pkt->mtu));
}

/* ---- cutting ------------------------------------------------------------- */

/**
 * struct whole - a GSO packet that is being cut
 * @pkt: the packet, parsed; its data begins at the base transport header
 * @outer: bytes of the headers in front
 * @ip_len: bytes of the IP header
 * @pages: the packets may have fragments
 * @bare: the packets need no checksums
 */
struct whole {
	struct uroce_packet pkt;
	u32 outer;
	u32 ip_len;
	bool pages;
	bool bare;
};

static bool has_ip_header(const struct sk_buff *skb, u32 ip_len)
{
	const u8 *ip = skb->data - sizeof(struct udphdr) - ip_len;

	return ip_len == sizeof(struct iphdr) ? *ip == 0x45 : *ip >> 4 == 6;
}

static bool whole_parse(struct whole *whole, struct sk_buff *skb)
{
	struct uroce_packet *pkt = &whole->pkt;

	pkt->skb = skb;
	return uroce_gso_is(skb) && uroce_packet_parse(pkt, 0) &&
	       uroce_gso_fits(pkt) &&
	       whole->outer >= whole->ip_len + sizeof(struct udphdr) &&
	       whole->outer <= skb_headroom(skb) &&
	       has_ip_header(skb, whole->ip_len);
}

static u8 *copy_header(u8 *to, const u8 **from, u32 len, bool has, bool wants)
{
	if (!has)
		return to;
	if (wants) {
		memcpy(to, *from, len);
		to += len;
	}
	*from += len;
	return to;
}

/*
 * Fills the extended headers of a packet from @eth on. The GSO packet has each
 * header that one of its packets has.
 */
static void copy_headers(const struct uroce_packet *pkt,
			 const struct uroce_op *op, u8 *eth)
{
	u32 has = pkt->op->flags, wants = op->flags;
	const u8 *from = (const u8 *)(pkt->bth + 1);
	bool xrc = (pkt->bth->opcode & UROCE_SERVICE) == UROCE_XRC &&
		   has & UROCE_OP_REQUEST;

	eth = copy_header(eth, &from, sizeof(__be32), xrc, xrc);
	eth = copy_header(eth, &from, sizeof(struct uroce_reth),
			  has & UROCE_OP_RETH, wants & UROCE_OP_RETH);
	eth = copy_header(eth, &from, sizeof(struct uroce_aeth),
			  has & UROCE_OP_AETH, wants & UROCE_OP_AETH);
	copy_header(eth, &from, sizeof(__be32),
		    has & (UROCE_OP_IMM | UROCE_OP_INV),
		    wants & (UROCE_OP_IMM | UROCE_OP_INV));
}

/* The last packet asks for the acknowledgement and for the event. */
static void put_headers(const struct uroce_packet *pkt, struct sk_buff *skb,
			u32 i, u8 opcode)
{
	struct uroce_bth *bth = skb_put(skb, uroce_ops[opcode].length);
	u32 psn = uroce_psn_add(pkt->psn, i);

	*bth = *pkt->bth;
	bth->opcode = opcode;
	if (i == pkt->packets - 1)
		psn |= be32_to_cpu(pkt->bth->psn) & ~UROCE_PSN_MASK;
	else
		bth->flags &= ~(UROCE_BTH_SE | UROCE_BTH_PAD_MASK);
	bth->psn = cpu_to_be32(psn);
	copy_headers(pkt, &uroce_ops[opcode], (u8 *)(bth + 1));
}

/*
 * The kernel sets the same lengths and the same ID once more, behind the
 * function that cuts; the checksum covers them.
 */
static void put_outer(const struct whole *whole, struct sk_buff *skb, u32 i)
{
	struct udphdr *udp = (void *)(skb->data - sizeof(*udp));
	void *ip = (void *)udp - whole->ip_len;
	u32 len = sizeof(*udp) + skb->len + UROCE_ICRC_SIZE;
	struct ipv6hdr *ipv6 = ip;
	struct iphdr *ipv4 = ip;

	memcpy(skb->data - whole->outer, whole->pkt.skb->data - whole->outer,
	       whole->outer);
	udp->len = htons(len);
	/* A program on the way may have set the one of the whole packet. */
	udp->check = 0;
	if (ipv4->version == 4) {
		ipv4->tot_len = htons(sizeof(*ipv4) + len);
		ipv4->id = htons(ntohs(ipv4->id) + i);
	} else {
		ipv6->payload_len = htons(len);
	}
}

static void put_checksum(const struct whole *whole, struct sk_buff *skb)
{
	const struct uroce_bth *bth = (void *)skb->data;
	const struct udphdr *udp = (void *)(skb->data - sizeof(*udp));
	const void *ip = (void *)udp - whole->ip_len;
	u32 len = skb->len - sizeof(*bth), crc;
	__le32 icrc = 0;

	if (!whole->bare) {
		crc = whole->ip_len == sizeof(struct iphdr) ?
			uroce_icrc_ipv4(ip, udp, bth) :
			uroce_icrc_ipv6(ip, udp, bth);
		crc = uroce_icrc_add_skb(crc, skb, sizeof(*bth), len);
		icrc = uroce_icrc_end(crc);
	}
	memcpy(uroce_net_put(skb, sizeof(icrc)), &icrc, sizeof(icrc));
}

/* Each packet is charged to the sender. It is not one of a tunnel. */
static void inherit(struct sk_buff *skb, const struct sk_buff *whole)
{
	skb_copy_header(skb, whole);
	skb_gso_reset(skb);
	skb_set_inner_protocol(skb, 0);
	skb->encapsulation = 0;
	if (whole->destructor == sock_wfree)
		skb_set_owner_w(skb, whole->sk);
}

/*
 * Adds @len bytes of the fragments of @whole, from byte @at of them on, to a
 * packet. Returns false if it has no room for the padding and the checksum.
 */
static bool put_frags(struct sk_buff *skb, const struct sk_buff *whole, u32 at,
		      u32 len)
{
	const skb_frag_t *frag = skb_shinfo(whole)->frags;
	u32 run;

	for (; len; frag++) {
		if (at >= skb_frag_size(frag)) {
			at -= skb_frag_size(frag);
			continue;
		}
		run = min(skb_frag_size(frag) - at, len);
		get_page(skb_frag_page(frag));
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags,
				skb_frag_page(frag), skb_frag_off(frag) + at,
				run, run);
		len -= run;
		at = 0;
	}
	skb_shinfo(skb)->flags |= skb_shinfo(whole)->flags & SKBFL_SHARED_FRAG;
	return uroce_net_end_pages(skb);
}

/*
 * The payload from @from on becomes that of a packet. With @pages it lies
 * wholly in fragments, and is not copied. Returns false without memory.
 */
static bool put_payload(struct sk_buff *skb, const struct sk_buff *whole,
			u32 from, u32 len, bool pages)
{
	u32 pad = uroce_pad(len);

	if (pages) {
		if (!put_frags(skb, whole, from - skb_headlen(whole), len))
			return false;
	} else if (skb_copy_bits(whole, from, skb_put(skb, len), len)) {
		return false;
	}
	memset(uroce_net_put(skb, pad), 0, pad);
	return true;
}

static struct sk_buff *cut_one(const struct whole *whole, u32 i)
{
	const struct uroce_packet *pkt = &whole->pkt;
	bool first = !i, last = i == pkt->packets - 1;
	u8 opcode = piece_opcode(pkt->bth->opcode, first, last);
	u32 at = i * pkt->mtu, len = min(pkt->len - at, pkt->mtu);
	bool pages = whole->pages &&
		     pkt->payload + at >= skb_headlen(pkt->skb);
	struct sk_buff *skb =
		uroce_net_alloc(uroce_ops[opcode].length +
				(pages ? 0 : len + uroce_pad(len)), pages);

	if (!skb)
		return NULL;
	if (skb_headroom(skb) < whole->outer)
		goto free;
	put_headers(pkt, skb, i, opcode);
	if (!put_payload(skb, pkt->skb, pkt->payload + at, len, pages))
		goto free;
	inherit(skb, pkt->skb);
	put_outer(whole, skb, i);
	put_checksum(whole, skb);
	return skb;

free:
	kfree_skb(skb);
	return NULL;
}

/*
 * The first packet points to the last one, as the kernel expects. Returns NULL
 * without memory.
 */
static struct sk_buff *cut_all(const struct whole *whole)
{
	struct sk_buff *segs = NULL, *last = NULL, *skb;
	u32 i;

	for (i = 0; i < whole->pkt.packets; i++) {
		skb = cut_one(whole, i);
		if (!skb) {
			kfree_skb_list(segs);
			return NULL;
		}
		if (last)
			last->next = skb;
		else
			segs = skb;
		last = skb;
	}
	segs->prev = last;
	return segs;
}

/**
 * uroce_gso_split() - cut a GSO packet that has arrived
 * @skb: begins at the IP header; only to be freed afterwards
 * @ip_len: bytes of this header
 *
 * Return: a list of packets that begin at their IP headers, without checksums;
 * NULL without memory, and for a packet that cannot be cut
 */
struct sk_buff *uroce_gso_split(struct sk_buff *skb, u32 ip_len)
{
	u32 headers = ip_len + sizeof(struct udphdr);
	struct whole whole = {
		.outer = headers, .ip_len = ip_len, .pages = true, .bare = true,
	};
	struct sk_buff *segs, *seg;

	__skb_pull(skb, headers);
	if (!whole_parse(&whole, skb))
		return NULL;
	local_bh_disable();
	segs = cut_all(&whole);
	local_bh_enable();
	for (seg = segs; seg; seg = seg->next) {
		__skb_push(seg, headers);
		skb_reset_network_header(seg);
	}
	return segs;
}

/*
 * @skb begins at the base transport header. A device without scatter-gather
 * needs linear packets, and no later code linearizes them. A program that has
 * held the packet in a netfilter queue may make the call with bottom halves on.
 */
static struct sk_buff *cut(struct sk_buff *skb, u32 ip_len,
			   netdev_features_t features)
{
	struct whole whole = {
		.outer = skb_tnl_header_len(skb),
		.ip_len = ip_len,
		.pages = features & NETIF_F_SG,
	};
	struct sk_buff *segs;

	if (!whole_parse(&whole, skb))
		return ERR_PTR(-EINVAL);
	/*
	 * There is no UDP checksum. Where UDP or tc have marked the packet as
	 * one without a checksum that was verified, the kernel would warn.
	 */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	local_bh_disable();
	segs = cut_all(&whole);
	local_bh_enable();
	return segs ?: ERR_PTR(-ENOMEM);
}

static struct sk_buff *cut_ipv4(struct sk_buff *skb, netdev_features_t features)
{
	return cut(skb, sizeof(struct iphdr), features);
}

static struct sk_buff *cut_ipv6(struct sk_buff *skb, netdev_features_t features)
{
	return cut(skb, sizeof(struct ipv6hdr), features);
}

static const struct net_offload ipv4 = { .callbacks.gso_segment = cut_ipv4 };
static const struct net_offload ipv6 = { .callbacks.gso_segment = cut_ipv6 };

/* If another module has taken the number, packets are sent in runs. */
void uroce_gso_init(void)
{
	if (inet_add_offload(&ipv4, GSO_PROTOCOL))
		return;
	if (inet6_add_offload(&ipv6, GSO_PROTOCOL))
		inet_del_offload(&ipv4, GSO_PROTOCOL);
	else
		registered = true;
}

/*
 * No sender runs any more. A packet that is in a queue and has to be cut later
 * is dropped by the kernel.
 */
void uroce_gso_exit(void)
{
	if (!registered)
		return;
	registered = false;
	inet6_del_offload(&ipv6, GSO_PROTOCOL);
	inet_del_offload(&ipv4, GSO_PROTOCOL);
}
