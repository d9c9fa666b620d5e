// SPDX-License-Identifier: GPL-2.0
/*
 * Specs of tunnels, of the headers in them, of labels and of ESP. A frame is built from its headers;
 * each spec matches it, and does not match it once a byte of the field is another one.
 */
#include "flows.h"
#include "side.h"

#define INNER		IBV_FLOW_SPEC_INNER
#define PAD		40		/* bytes behind the last header */
#define VXLAN_PORT	4789
#define MPLS_PORT	6635
#define PROTO_MPLS	137

/* A frame under construction. */
static struct wire w;
static uint32_t len;

static void add(const void *bytes, uint32_t count)
{
	memcpy(w.frame + len, bytes, count);
	len += count;
}

static void add_word(uint32_t word)
{
	word = htobe32(word);
	add(&word, 4);
}

static void start(uint16_t type)
{
	memset(w.frame, 0, SLOT);
	make_frame(w.frame, w.near.mac, w.far.mac, type, HDR);
	len = HDR;
}

/* Each function returns where its header begins. */
static uint32_t add_eth(uint16_t type)
{
	static const uint8_t macs[12] = { 2, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2 };

	type = htobe16(type);
	add(macs, 12);
	add(&type, 2);
	return len - 14;
}

static uint32_t add_ipv4(uint8_t proto)
{
	struct iphdr ip = {
		.version = 4, .ihl = 5, .ttl = 9, .protocol = proto, .tos = 0x28, .tot_len = htobe16(100),
		.saddr = htobe32(0x0a580001), .daddr = htobe32(0x0a580002),
	};

	add(&ip, sizeof(ip));
	return len - (uint32_t)sizeof(ip);
}

static uint32_t add_ipv6(uint8_t proto)
{
	struct ip6_hdr ip = { .ip6_nxt = proto, .ip6_hlim = 9, .ip6_plen = htobe16(60) };

	ip.ip6_flow = htobe32(6u << 28 | 0x12345);
	fill((uint8_t *)&ip.ip6_src, 32, 5);
	add(&ip, sizeof(ip));
	return len - (uint32_t)sizeof(ip);
}

/* A destination options header, whose one option is padding. */
static uint32_t add_options(uint8_t next)
{
	add_word((uint32_t)next << 24 | 0x0104);
	add_word(0);
	return len - 8;
}

static uint32_t add_udp(uint16_t port)
{
	struct udphdr udp = { .source = htobe16(4000), .dest = htobe16(port), .len = htobe16(80) };

	add(&udp, sizeof(udp));
	return len - (uint32_t)sizeof(udp);
}

static uint32_t add_vxlan(uint32_t flags, uint32_t vni)
{
	add_word(flags);
	add_word(vni << 8);
	return len - 8;
}

/* Two labels, of which the second one is the last. */
static uint32_t add_labels(void)
{
	add_word(0x12345040);
	add_word(0x54321140);
	return len - 8;
}

#define FIELD(kind, type, member, at) \
	WANT_FIELD(&w, ibv_flow_spec_##kind, (enum ibv_flow_spec_type)(type), member, at, len + PAD)

static void want_vni(uint32_t at, uint32_t vni)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_tunnel spec = { .type = IBV_FLOW_SPEC_VXLAN_TUNNEL, .size = sizeof(spec) };

	spec.val.tunnel_id = htobe32(vni);
	spec.mask.tunnel_id = htobe32(0xffffff);
	spec_add(&flow, &spec, sizeof(spec));
	want_match(&w, &flow, len + PAD, at + 6);
}

/* A label behind a header of the type @before; 0 for none. */
static void want_label(enum ibv_flow_spec_type before, size_t size, uint32_t at, uint32_t flags)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_mpls spec = { .size = sizeof(spec) };
	struct ibv_flow_spec head = { .hdr = { before, (uint16_t)size } };

	spec.type = (enum ibv_flow_spec_type)(IBV_FLOW_SPEC_MPLS | flags);
	memcpy(&spec.val, w.frame + at, 4);
	memset(&spec.mask, 0xff, 4);
	if (before)
		spec_add(&flow, &head, (uint16_t)size);
	spec_add(&flow, &spec, sizeof(spec));
	want_match(&w, &flow, len + PAD, at + 1);
}

/* ---- tunnels ---- */

static void vxlan(void)
{
	uint32_t ip, udp, tunnel, eth, inner, ports;

	quiet_open(&w);
	for (int version = 4; version <= 6; version += 2) {
		start(version == 4 ? ETH_P_IP : ETH_P_IPV6);
		ip = version == 4 ? add_ipv4(IPPROTO_UDP) : add_ipv6(IPPROTO_UDP);
		udp = add_udp(VXLAN_PORT);
		tunnel = add_vxlan(0x08000000, 0xabcdef);
		eth = add_eth(ETH_P_IP);
		inner = add_ipv4(IPPROTO_UDP);
		ports = add_udp(53);
		want_vni(tunnel, 0xabcdef);
		FIELD(tcp_udp, IBV_FLOW_SPEC_UDP, dst_port, udp + 2);
		FIELD(eth, IBV_FLOW_SPEC_ETH | INNER, dst_mac, eth);
		FIELD(eth, IBV_FLOW_SPEC_ETH | INNER, ether_type, eth + 12);
		FIELD(ipv4, IBV_FLOW_SPEC_IPV4 | INNER, src_ip, inner + 12);
		FIELD(ipv4_ext, IBV_FLOW_SPEC_IPV4_EXT | INNER, ttl, inner + 8);
		FIELD(tcp_udp, IBV_FLOW_SPEC_UDP | INNER, dst_port, ports + 2);
		CHECK(ip == HDR, "the header of IP is at %u", ip);
	}
	/* A tag, IPv6 and TCP in the tunnel. */
	len = eth;
	eth = add_eth(ETH_P_8021Q);
	add_word(0x0123u << 16 | ETH_P_IPV6);
	inner = add_ipv6(IPPROTO_TCP);
	ports = add_udp(80);
	FIELD(eth, IBV_FLOW_SPEC_ETH | INNER, vlan_tag, eth + 14);
	FIELD(eth, IBV_FLOW_SPEC_ETH | INNER, ether_type, eth + 16);
	FIELD(ipv6, IBV_FLOW_SPEC_IPV6 | INNER, dst_ip, inner + 24);
	FIELD(tcp_udp, IBV_FLOW_SPEC_TCP | INNER, src_port, ports);
	wire_close(&w);
}

static void gre(void)
{
	uint32_t head, key, inner;

	quiet_open(&w);
	start(ETH_P_IP);
	add_ipv4(IPPROTO_GRE);
	head = len;
	/* A checksum, a key and a sequence number. */
	add_word(0xb000u << 16 | ETH_P_IP);
	add_word(0x11112222);
	key = len;
	add_word(0x33334444);
	add_word(0x55556666);
	inner = add_ipv4(IPPROTO_UDP);
	add_udp(53);
	FIELD(gre, IBV_FLOW_SPEC_GRE, key, key);
	FIELD(gre, IBV_FLOW_SPEC_GRE, c_ks_res0_ver, head);
	FIELD(gre, IBV_FLOW_SPEC_GRE, protocol, head + 2);
	FIELD(ipv4, IBV_FLOW_SPEC_IPV4 | INNER, dst_ip, inner + 16);
	/* Without any of them, and with an Ethernet header. */
	len = head;
	add_word(0x6558);
	inner = add_eth(ETH_P_IP);
	FIELD(gre, IBV_FLOW_SPEC_GRE, protocol, head + 2);
	FIELD(eth, IBV_FLOW_SPEC_ETH | INNER, src_mac, inner + 6);
	wire_close(&w);
}

static void ip_in_ip(void)
{
	uint32_t inner, ports;

	quiet_open(&w);
	start(ETH_P_IP);
	add_ipv4(IPPROTO_IPIP);
	inner = add_ipv4(IPPROTO_UDP);
	ports = add_udp(53);
	FIELD(ipv4, IBV_FLOW_SPEC_IPV4 | INNER, src_ip, inner + 12);
	FIELD(tcp_udp, IBV_FLOW_SPEC_UDP | INNER, dst_port, ports + 2);
	start(ETH_P_IPV6);
	add_ipv6(IPPROTO_IPV6);
	inner = add_ipv6(IPPROTO_UDP);
	FIELD(ipv6, IBV_FLOW_SPEC_IPV6 | INNER, src_ip, inner + 8);
	wire_close(&w);
}

/* The tunnels of Linux over IPv6 have an extension header, and a sender can add one to any packet. */
static void extensions(void)
{
	uint32_t ip, at, inner;

	quiet_open(&w);
	start(ETH_P_IPV6);
	ip = add_ipv6(IPPROTO_DSTOPTS);
	add_options(IPPROTO_GRE);
	at = len;
	add_word(ETH_P_IP);
	inner = add_ipv4(IPPROTO_UDP);
	add_udp(53);
	FIELD(ipv6, IBV_FLOW_SPEC_IPV6, next_hdr, ip + 6);
	FIELD(gre, IBV_FLOW_SPEC_GRE, protocol, at + 2);
	FIELD(ipv4, IBV_FLOW_SPEC_IPV4 | INNER, src_ip, inner + 12);
	start(ETH_P_IPV6);
	add_ipv6(IPPROTO_DSTOPTS);
	add_options(IPPROTO_UDP);
	at = add_udp(53);
	FIELD(tcp_udp, IBV_FLOW_SPEC_UDP, dst_port, at + 2);
	wire_close(&w);
}

/* Labels are found where the spec before theirs says, and IP behind the last one. */
static void mpls(void)
{
	const size_t ports = sizeof(struct ibv_flow_spec_tcp_udp);
	uint32_t labels, ip;

	quiet_open(&w);
	start(ETH_P_MPLS_UC);
	labels = add_labels();
	ip = add_ipv4(IPPROTO_UDP);
	add_udp(53);
	want_label(0, 0, labels, 0);
	want_label(IBV_FLOW_SPEC_ETH, sizeof(struct ibv_flow_spec_eth), labels, 0);
	FIELD(ipv4, IBV_FLOW_SPEC_IPV4, src_ip, ip + 12);
	start(ETH_P_IP);
	add_ipv4(PROTO_MPLS);
	labels = add_labels();
	ip = add_ipv4(IPPROTO_UDP);
	want_label(IBV_FLOW_SPEC_IPV4, sizeof(struct ibv_flow_spec_ipv4), labels, 0);
	FIELD(ipv4, IBV_FLOW_SPEC_IPV4 | INNER, src_ip, ip + 12);
	start(ETH_P_IPV6);
	add_ipv6(IPPROTO_UDP);
	add_udp(MPLS_PORT);
	labels = add_labels();
	ip = add_ipv6(IPPROTO_UDP);
	want_label(IBV_FLOW_SPEC_UDP, ports, labels, 0);
	want_label(IBV_FLOW_SPEC_UDP, ports, labels, INNER);
	FIELD(ipv6, IBV_FLOW_SPEC_IPV6 | INNER, src_ip, ip + 8);
	start(ETH_P_IP);
	add_ipv4(IPPROTO_GRE);
	add_word(ETH_P_MPLS_UC);
	labels = add_labels();
	ip = add_ipv4(IPPROTO_UDP);
	want_label(IBV_FLOW_SPEC_GRE, sizeof(struct ibv_flow_spec_gre), labels, 0);
	want_label(IBV_FLOW_SPEC_GRE, sizeof(struct ibv_flow_spec_gre), labels, INNER);
	FIELD(ipv4, IBV_FLOW_SPEC_IPV4 | INNER, src_ip, ip + 12);
	/* In the tunnel. */
	start(ETH_P_IP);
	add_ipv4(IPPROTO_UDP);
	add_udp(VXLAN_PORT);
	add_vxlan(0x08000000, 7);
	add_eth(ETH_P_MPLS_UC);
	labels = add_labels();
	ip = add_ipv4(IPPROTO_UDP);
	want_label(0, 0, labels, INNER);
	FIELD(ipv4, IBV_FLOW_SPEC_IPV4 | INNER, src_ip, ip + 12);
	wire_close(&w);
}

static void esp(void)
{
	uint32_t at;

	quiet_open(&w);
	for (int version = 4; version <= 6; version += 2) {
		start(version == 4 ? ETH_P_IP : ETH_P_IPV6);
		version == 4 ? add_ipv4(IPPROTO_ESP) : add_ipv6(IPPROTO_ESP);
		at = len;
		add_word(0x1234abcd);
		add_word(0x00000007);
		FIELD(esp, IBV_FLOW_SPEC_ESP, spi, at);
		FIELD(esp, IBV_FLOW_SPEC_ESP, seq, at + 4);
	}
	start(ETH_P_IP);
	add_ipv4(IPPROTO_IPIP);
	add_ipv4(IPPROTO_ESP);
	at = len;
	add_word(0x1234abcd);
	FIELD(esp, IBV_FLOW_SPEC_ESP | INNER, spi, at);
	wire_close(&w);
}

/* The type of a frame with several tags is the one behind the last tag, and the tag is the first one. */
static void two_tags(void)
{
	uint32_t ip;

	quiet_open(&w);
	start(ETH_P_8021AD);
	add_word(0x0123u << 16 | ETH_P_8021Q);
	add_word(0x0456u << 16 | ETH_P_IP);
	ip = add_ipv4(IPPROTO_UDP);
	add_udp(53);
	FIELD(eth, IBV_FLOW_SPEC_ETH, vlan_tag, HDR);
	FIELD(eth, IBV_FLOW_SPEC_ETH, ether_type, HDR + 6);
	FIELD(ipv4, IBV_FLOW_SPEC_IPV4, src_ip, ip + 12);
	wire_close(&w);
}

/* ---- a whole flow, and frames that are no tunnels ---- */

/* As many specs as a flow can have. */
static void all_layers(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_ipv4 ip = { .type = IBV_FLOW_SPEC_IPV4, .size = sizeof(ip) };
	struct ibv_flow_spec_tunnel vni = { .type = IBV_FLOW_SPEC_VXLAN_TUNNEL, .size = sizeof(vni) };
	struct ibv_flow_spec_mpls labels = { .size = sizeof(labels) };
	struct ibv_flow_spec_eth eth = eth_spec();
	uint32_t last;

	quiet_open(&w);
	start(ETH_P_IP);
	add_ipv4(IPPROTO_UDP);
	add_udp(VXLAN_PORT);
	add_vxlan(0x08000000, 7);
	add_eth(ETH_P_MPLS_UC);
	add_labels();
	add_ipv4(IPPROTO_UDP);
	last = add_udp(53);
	spec_dst(&flow, w.near.mac);
	spec_type(&flow, ETH_P_IP);
	spec_add(&flow, &ip, sizeof(ip));
	spec_port(&flow, IBV_FLOW_SPEC_UDP, VXLAN_PORT);
	vni.val.tunnel_id = htobe32(7);
	vni.mask.tunnel_id = htobe32(0xffffff);
	spec_add(&flow, &vni, sizeof(vni));
	eth.type = (enum ibv_flow_spec_type)(IBV_FLOW_SPEC_ETH | INNER);
	spec_add(&flow, &eth, sizeof(eth));
	labels.type = (enum ibv_flow_spec_type)(IBV_FLOW_SPEC_MPLS | INNER);
	spec_add(&flow, &labels, sizeof(labels));
	ip.type = (enum ibv_flow_spec_type)(IBV_FLOW_SPEC_IPV4 | INNER);
	spec_add(&flow, &ip, sizeof(ip));
	spec_port(&flow, (enum ibv_flow_spec_type)(IBV_FLOW_SPEC_UDP | INNER), 53);
	/* want_match() adds a tag. */
	want_match(&w, &flow, len + PAD, last + 3);
	wire_close(&w);
}

static void want_no_inner(const char *what)
{
	struct flow_attr inner = flow_of(IBV_FLOW_ATTR_NORMAL, 0), rest = flow_of(IBV_FLOW_ATTR_ALL_DEFAULT, 0);
	struct ibv_flow_spec_ipv4 ip = { .size = sizeof(ip) };
	struct ibv_flow *flow[2];
	struct got got;

	ip.type = (enum ibv_flow_spec_type)(IBV_FLOW_SPEC_IPV4 | INNER);
	spec_add(&inner, &ip, sizeof(ip));
	spec_tag(&inner, 1);
	spec_tag(&rest, 2);
	flow[0] = flow_create(&w.near, &inner);
	flow[1] = flow_create(&w.near, &rest);
	put(w.fd, w.frame, len + PAD);
	WANT_FRAME(&w.near, &got, w.frame, len + PAD);
	CHECK(got.tag == 2, "%s: a header in a tunnel is found", what);
	give_back(&w.near, &got);
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_flow(flow[i]), 0);
}

static void no_tunnels(void)
{
	quiet_open(&w);
	start(ETH_P_IP);
	add_ipv4(IPPROTO_UDP);
	want_no_inner("a frame without a tunnel");
	start(ETH_P_IP);
	add_ipv4(IPPROTO_UDP);
	add_udp(VXLAN_PORT);
	add_vxlan(0, 7);
	add_eth(ETH_P_IP);
	add_ipv4(IPPROTO_UDP);
	want_no_inner("VXLAN without an identifier");
	start(ETH_P_IP);
	add_ipv4(IPPROTO_GRE);
	add_word(1u << 16 | ETH_P_IP);
	add_ipv4(IPPROTO_UDP);
	want_no_inner("GRE of version 1");
	start(ETH_P_IP);
	add_ipv4(PROTO_MPLS);
	for (int i = 0; i < 16; i++)
		add_word(0x12345040);
	add_ipv4(IPPROTO_UDP);
	want_no_inner("labels of which none is the last");
	/* A second tunnel is not looked at, and the first one is. */
	start(ETH_P_IPV6);
	add_ipv6(IPPROTO_IPV6);
	add_ipv6(IPPROTO_IPIP);
	add_ipv4(IPPROTO_UDP);
	want_no_inner("a tunnel in a tunnel");
	wire_close(&w);
}

static const struct test_case cases[] = {
	{ "vxlan", vxlan },
	{ "gre", gre },
	{ "ip_in_ip", ip_in_ip },
	{ "extensions", extensions },
	{ "mpls", mpls },
	{ "esp", esp },
	{ "two_tags", two_tags },
	{ "all_layers", all_layers },
	{ "no_tunnels", no_tunnels },
};

TEST_MAIN("raw_tunnels", cases, 100)
