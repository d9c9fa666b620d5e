// SPDX-License-Identifier: GPL-2.0
/*
 * The headers of a frame, and the headers in a tunnel. The sender of a frame
 * chooses each byte, so skb_header_pointer() compares every header with the
 * length of the frame, and the number of headers is limited. A tunnel in a
 * tunnel is not looked at.
 */
#include <linux/if_tunnel.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mpls.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/ipv6.h>
#include <net/mpls.h>

#include "raw.h"

/* The other value of the IPv4 flags in specs of flows. */
#define FLAG_DF		BIT(1)

#define VXLAN_PORT	4789
#define VXLAN_HAS_VNI	BIT(27)
#define MPLS_PORT	6635

#define MAX_TAGS	4
#define MAX_LABELS	16
#define MAX_EXTENSIONS	4

/**
 * struct parser - the headers outside of a tunnel, or inside of it
 * @frame: the frame
 * @to: where they are written to
 * @shift: of their bits in uroce_frame.has
 * @at: offset of the next header in uroce_frame.skb
 * @inner: type of the bytes at @at if they are in a tunnel, as behind an
 *	Ethernet header or a GRE header; otherwise 0
 * @verified: the checksum of TCP or UDP is right
 */
struct parser {
	struct uroce_frame *frame;
	struct uroce_headers *to;
	u32 shift;
	u32 at;
	__be16 inner;
	bool verified;
};

static const void *look(const struct parser *p, void *buf, u32 len)
{
	return skb_header_pointer(p->frame->skb, p->at, len, buf);
}

static void found(struct parser *p, u32 header)
{
	p->frame->has |= header << p->shift;
}

/* ---- tunnels ------------------------------------------------------------- */

/*
 * Labels do not name the type of the bytes behind them. These are taken for a
 * packet of the IP version that they begin with. Returns its type, or 0.
 */
static __be16 parse_labels(struct parser *p, u32 header, __be32 *first)
{
	const __be32 *entry;
	const u8 *version;
	__be32 buf;
	u32 i;

	for (i = 0; i < MAX_LABELS; i++) {
		entry = look(p, &buf, sizeof(buf));
		if (!entry)
			return 0;
		if (!i) {
			found(p, header);
			*first = *entry;
		}
		p->at += sizeof(buf);
		if (*entry & htonl(MPLS_LS_S_MASK))
			break;
	}
	version = look(p, &buf, sizeof(*version));
	if (i == MAX_LABELS || !version)
		return 0;
	return *version >> 4 == 4 ? htons(ETH_P_IP) :
	       *version >> 4 == 6 ? htons(ETH_P_IPV6) : 0;
}

static void parse_vxlan(struct parser *p)
{
	__be32 buf[2];
	const __be32 *vxlan = look(p, buf, sizeof(buf));

	if (!vxlan || !(vxlan[0] & htonl(VXLAN_HAS_VNI)))
		return;
	found(p, UROCE_HAS_VXLAN);
	p->frame->vni = htonl(ntohl(vxlan[1]) >> 8);
	p->at += sizeof(buf);
	p->inner = htons(ETH_P_TEB);
}

static void parse_udp_tunnel(struct parser *p)
{
	p->at += sizeof(struct udphdr);
	if (p->to->ports.dst == htons(VXLAN_PORT))
		parse_vxlan(p);
	else if (p->to->ports.dst == htons(MPLS_PORT))
		p->inner = parse_labels(p, UROCE_HAS_UDP_MPLS,
					&p->frame->udp_mpls);
}

/* The key lies behind the checksum, and before the sequence number. */
static bool parse_gre_key(struct parser *p, __be16 flags)
{
	const __be32 *key;
	__be32 buf;

	if (flags & GRE_CSUM)
		p->at += 4;
	if (flags & GRE_KEY) {
		key = look(p, &buf, sizeof(buf));
		if (!key)
			return false;
		found(p, UROCE_HAS_GRE_KEY);
		p->frame->gre.key = *key;
		p->at += 4;
	}
	if (flags & GRE_SEQ)
		p->at += 4;
	return true;
}

static void parse_gre(struct parser *p)
{
	__be16 buf[2];
	const __be16 *gre = look(p, buf, sizeof(buf));

	if (!gre)
		return;
	found(p, UROCE_HAS_GRE);
	p->frame->gre.flags = gre[0];
	p->frame->gre.protocol = gre[1];
	/* Other versions and routing change what follows. */
	if (gre[0] & (GRE_VERSION | GRE_ROUTING))
		return;
	p->at += sizeof(buf);
	if (!parse_gre_key(p, gre[0]))
		return;
	p->inner = gre[1];
	if (eth_p_mpls(p->inner))
		p->inner = parse_labels(p, UROCE_HAS_GRE_MPLS,
					&p->frame->gre_mpls);
}

/* Only the headers outside of a tunnel have one. */
static void parse_tunnel(struct parser *p, u8 proto)
{
	switch (proto) {
	case IPPROTO_UDP:
		parse_udp_tunnel(p);
		break;
	case IPPROTO_GRE:
		parse_gre(p);
		break;
	case IPPROTO_MPLS:
		p->inner = parse_labels(p, UROCE_HAS_IP_MPLS,
					&p->frame->ip_mpls);
		break;
	case IPPROTO_IPIP:
		p->inner = htons(ETH_P_IP);
		break;
	case IPPROTO_IPV6:
		p->inner = htons(ETH_P_IPV6);
		break;
	}
}

/* ---- headers ------------------------------------------------------------- */

static bool parse_ports(struct parser *p, u32 header)
{
	__be16 buf[2];
	const __be16 *ports = look(p, buf, sizeof(buf));

	if (!ports)
		return false;
	found(p, header);
	p->to->ports.src = ports[0];
	p->to->ports.dst = ports[1];
	p->to->ports_at = p->at;
	return true;
}

static void parse_esp(struct parser *p)
{
	const struct ip_esp_hdr *esp;
	struct ip_esp_hdr buf;

	esp = look(p, &buf, sizeof(buf));
	if (!esp)
		return;
	found(p, UROCE_HAS_ESP);
	p->to->esp.spi = esp->spi;
	p->to->esp.seq = esp->seq_no;
}

static void parse_proto(struct parser *p, u8 proto)
{
	if (proto == IPPROTO_TCP && !parse_ports(p, UROCE_HAS_TCP))
		return;
	if (proto == IPPROTO_UDP && !parse_ports(p, UROCE_HAS_UDP))
		return;
	if (proto == IPPROTO_ESP)
		parse_esp(p);
	if (!p->shift)
		parse_tunnel(p, proto);
}

/* The checksums inside of a tunnel do not count. */
static bool vouched(const struct parser *p)
{
	return p->verified &&
	       p->frame->has & (UROCE_HAS_TCP | UROCE_HAS_UDP);
}

/* Only the first fragment has ports, and none has a checksum of its own. */
static void parse_ipv4(struct parser *p)
{
	u8 buf[15 * 4] __aligned(4);
	const struct iphdr *ip;
	u32 len;

	ip = look(p, buf, sizeof(*ip));
	if (!ip || ip->version != IPVERSION || ip->ihl < 5)
		return;
	len = ip->ihl * 4;
	ip = look(p, buf, len);
	if (!ip)
		return;
	found(p, UROCE_HAS_IPV4);
	p->to->ip.v4.src = ip->saddr;
	p->to->ip.v4.dst = ip->daddr;
	p->to->ip.v4.proto = ip->protocol;
	p->to->ip.v4.tos = ip->tos;
	p->to->ip.v4.ttl = ip->ttl;
	p->to->ip.v4.flags =
		(ip->frag_off & htons(IP_DF) ? FLAG_DF : 0) |
		(ip->frag_off & htons(IP_MF) ? UROCE_FRAME_MF : 0);
	if (ip->frag_off & htons(IP_OFFSET))
		return;
	p->at += len;
	parse_proto(p, ip->protocol);
	if (vouched(p))
		p->frame->sums_ok = !ip_is_fragment(ip) &&
				    !ip_fast_csum(ip, ip->ihl);
}

static bool is_extension(u8 proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING ||
	       proto == IPPROTO_DSTOPTS || proto == IPPROTO_FRAGMENT;
}

/*
 * The length of an extension header, or 0 if no header is looked for behind it.
 * Each of them begins with the type of the next header. A fragment header is
 * skipped if the packet is whole: the first fragment has no ports either,
 * because uroce_frame_hash() would not see that the others lack them.
 */
static u32 extension_len(const struct parser *p, u8 type, u8 *next)
{
	const struct frag_hdr *ext;
	struct frag_hdr buf;

	ext = look(p, &buf, sizeof(buf));
	if (!ext)
		return 0;
	*next = ext->nexthdr;
	if (type != IPPROTO_FRAGMENT)
		return ipv6_optlen((const struct ipv6_opt_hdr *)ext);
	return ext->frag_off & htons(IP6_OFFSET | IP6_MF) ? 0 : sizeof(*ext);
}

/*
 * A sender can put extension headers in front of any other header, so they must
 * not hide it from flows. Returns the type of the header behind them.
 */
static u8 skip_extensions(struct parser *p, u8 proto)
{
	u32 i, len;

	for (i = 0; i < MAX_EXTENSIONS && is_extension(proto); i++) {
		len = extension_len(p, proto, &proto);
		if (!len)
			return IPPROTO_NONE;
		/* A network card may not have looked behind it. */
		p->verified = false;
		p->at += len;
	}
	return proto;
}

static void parse_ipv6(struct parser *p)
{
	const struct ipv6hdr *ip;
	struct ipv6hdr buf;
	u8 proto;

	ip = look(p, &buf, sizeof(buf));
	if (!ip || ip->version != 6)
		return;
	found(p, UROCE_HAS_IPV6);
	p->to->ip.v6.src = ip->saddr;
	p->to->ip.v6.dst = ip->daddr;
	p->to->ip.v6.label = ip6_flowlabel(ip);
	p->to->ip.v6.next_hdr = ip->nexthdr;
	p->to->ip.v6.tclass = ipv6_get_dsfield(ip);
	p->to->ip.v6.hops = ip->hop_limit;
	p->at += sizeof(*ip);
	proto = skip_extensions(p, ip->nexthdr);
	parse_proto(p, proto);
	if (vouched(p))
		p->frame->sums_ok = true;
}

static void parse_type(struct parser *p, __be16 type)
{
	if (eth_p_mpls(type)) {
		/* A network card may have verified another checksum. */
		p->verified = false;
		type = parse_labels(p, UROCE_HAS_MPLS, &p->to->mpls);
	}
	if (type == htons(ETH_P_IP))
		parse_ipv4(p);
	else if (type == htons(ETH_P_IPV6))
		parse_ipv6(p);
}

/*
 * Tags in the frame. The first one is that of the frame unless the kernel has
 * taken a tag out. Specs name the type behind the last one.
 */
static void parse_tags(struct parser *p)
{
	struct vlan_hdr buf;
	const struct vlan_hdr *vlan;
	u32 i;

	for (i = 0; i < MAX_TAGS && eth_type_vlan(p->to->eth.type); i++) {
		vlan = look(p, &buf, sizeof(buf));
		if (!vlan)
			return;
		if (!(p->frame->has & UROCE_HAS_TAG << p->shift))
			p->to->eth.tci = vlan->h_vlan_TCI;
		found(p, UROCE_HAS_TAG);
		p->to->eth.type = vlan->h_vlan_encapsulated_proto;
		p->at += sizeof(buf);
	}
}

static void eth_set(struct parser *p, const struct ethhdr *eth)
{
	found(p, UROCE_HAS_ETH);
	memcpy(p->to->eth.dst, eth->h_dest, ETH_ALEN);
	memcpy(p->to->eth.src, eth->h_source, ETH_ALEN);
	p->to->eth.type = eth->h_proto;
}

static void parse_inner(const struct parser *outer)
{
	struct parser p = {
		.frame = outer->frame,
		.to = &outer->frame->inner,
		.shift = UROCE_INNER,
		.at = outer->at,
	};
	const struct ethhdr *eth;
	struct ethhdr buf;

	if (outer->inner != htons(ETH_P_TEB)) {
		parse_type(&p, outer->inner);
		return;
	}
	eth = look(&p, &buf, sizeof(buf));
	if (!eth)
		return;
	eth_set(&p, eth);
	p.at += sizeof(buf);
	parse_tags(&p);
	parse_type(&p, p.to->eth.type);
}

/*
 * The tag that the frame is received with, and the type behind it. The kernel
 * takes the tag out of most frames. A tag in the frame is one that a queue pair
 * sends.
 */
static void take_tag(struct parser *p)
{
	struct uroce_frame *frame = p->frame;
	const struct sk_buff *skb = frame->skb;
	const struct vlan_hdr *vlan;
	struct vlan_hdr buf;

	frame->type = p->to->eth.type;
	if (skb_vlan_tag_present(skb)) {
		found(p, UROCE_HAS_TAG);
		frame->vlan_proto = skb->vlan_proto;
		p->to->eth.tci = htons(skb_vlan_tag_get(skb));
		return;
	}
	if (!eth_type_vlan(frame->type))
		return;
	vlan = look(p, &buf, sizeof(buf));
	if (!vlan)
		return;
	frame->vlan_proto = frame->type;
	frame->type = vlan->h_vlan_encapsulated_proto;
	frame->body += sizeof(buf);
}

bool uroce_frame_parse(struct uroce_frame *frame, const struct sk_buff *skb,
		       bool verified)
{
	const struct ethhdr *eth = (void *)skb_mac_header(skb);
	int body = skb_mac_offset(skb) + ETH_HLEN;
	struct parser p = {
		.frame = frame,
		.to = &frame->outer,
		.at = body,
		.verified = verified,
	};

	if (!skb_mac_header_was_set(skb) || body < 0 || body > ETH_HLEN ||
	    body > (int)skb_headlen(skb))
		return false;
	memset(frame, 0, sizeof(*frame));
	frame->skb = skb;
	frame->body = body;
	eth_set(&p, eth);
	take_tag(&p);
	frame->len = skb->len - frame->body;
	parse_tags(&p);
	parse_type(&p, frame->outer.eth.type);
	if (p.inner)
		parse_inner(&p);
	return true;
}
