// SPDX-License-Identifier: GPL-2.0
/*
 * The headers of raw packets: each field of each spec of a flow, VLAN tags, checksums, and
 * frames whose headers lie.
 */
#include <linux/virtio_net.h>
#include "flows.h"
#include "random.h"
#include "side.h"

/* ---- specs ---- */

static void specs_eth(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_eth spec = eth_spec();
	struct wire w;
	uint32_t len;

	quiet_open(&w);
	len = to_near(&w, 100);
	WANT_FIELD(&w, ibv_flow_spec_eth, IBV_FLOW_SPEC_ETH, dst_mac, 0, len);
	WANT_FIELD(&w, ibv_flow_spec_eth, IBV_FLOW_SPEC_ETH, src_mac, 6, len);
	WANT_FIELD(&w, ibv_flow_spec_eth, IBV_FLOW_SPEC_ETH, ether_type, 12, len);
	/* Bits outside of the mask do not count. */
	memset(&spec.val, 0xff, sizeof(spec.val));
	spec.val.src_mac[5] = w.frame[11];
	spec.mask.src_mac[5] = 1;
	spec_add(&flow, &spec, sizeof(spec));
	want_match(&w, &flow, len, 11);
	wire_close(&w);
}

static void specs_ip(void)
{
	struct wire w;
	uint32_t len, ip = HDR;

	quiet_open(&w);
	len = make_udp(w.frame, w.near.mac, w.far.mac, 5000, 100);
	WANT_FIELD(&w, ibv_flow_spec_ipv4, IBV_FLOW_SPEC_IPV4, src_ip, ip + 12, len);
	WANT_FIELD(&w, ibv_flow_spec_ipv4, IBV_FLOW_SPEC_IPV4, dst_ip, ip + 16, len);
	WANT_FIELD(&w, ibv_flow_spec_ipv4_ext, IBV_FLOW_SPEC_IPV4_EXT, dst_ip, ip + 16, len);
	WANT_FIELD(&w, ibv_flow_spec_ipv4_ext, IBV_FLOW_SPEC_IPV4_EXT, proto, ip + 9, len);
	WANT_FIELD(&w, ibv_flow_spec_ipv4_ext, IBV_FLOW_SPEC_IPV4_EXT, tos, ip + 1, len);
	WANT_FIELD(&w, ibv_flow_spec_ipv4_ext, IBV_FLOW_SPEC_IPV4_EXT, ttl, ip + 8, len);
	WANT_FIELD(&w, ibv_flow_spec_tcp_udp, IBV_FLOW_SPEC_UDP, src_port, ip + 20, len);
	WANT_FIELD(&w, ibv_flow_spec_tcp_udp, IBV_FLOW_SPEC_UDP, dst_port, ip + 22, len);
	/* Now for TCP. */
	w.frame[ip + 9] = IPPROTO_TCP;
	WANT_FIELD(&w, ibv_flow_spec_tcp_udp, IBV_FLOW_SPEC_TCP, dst_port, ip + 22, len);
	wire_close(&w);
}

static void specs_ipv6(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_ipv6 spec = { .type = IBV_FLOW_SPEC_IPV6, .size = sizeof(spec) };
	ip6_hdr_at *ip;
	struct wire w;
	uint32_t len, at = HDR;

	quiet_open(&w);
	len = make_frame(w.frame, w.near.mac, w.far.mac, ETH_P_IPV6, 120);
	ip = (void *)(w.frame + HDR);
	fill((uint8_t *)ip, sizeof(*ip), 1);
	ip->ip6_flow = htobe32(6u << 28 | 0x5a << 20 | 0x12345);
	ip->ip6_plen = htobe16((uint16_t)(len - HDR - sizeof(*ip)));
	ip->ip6_nxt = IPPROTO_UDP;
	WANT_FIELD(&w, ibv_flow_spec_ipv6, IBV_FLOW_SPEC_IPV6, src_ip, at + 8, len);
	WANT_FIELD(&w, ibv_flow_spec_ipv6, IBV_FLOW_SPEC_IPV6, dst_ip, at + 24, len);
	WANT_FIELD(&w, ibv_flow_spec_ipv6, IBV_FLOW_SPEC_IPV6, next_hdr, at + 6, len);
	WANT_FIELD(&w, ibv_flow_spec_ipv6, IBV_FLOW_SPEC_IPV6, hop_limit, at + 7, len);
	WANT_FIELD(&w, ibv_flow_spec_tcp_udp, IBV_FLOW_SPEC_UDP, dst_port, at + 42, len);
	spec.val.flow_label = htobe32(0x12345);
	spec.mask.flow_label = htobe32(0xfffff);
	spec.val.traffic_class = 0x5a;
	spec.mask.traffic_class = 0xff;
	spec_add(&flow, &spec, sizeof(spec));
	want_match(&w, &flow, len, at + 3);
	wire_close(&w);
}

/* A spec without a mask still names its protocol. */
static void specs_empty(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_ipv4_ext ipv4 = { .type = IBV_FLOW_SPEC_IPV4_EXT, .size = sizeof(ipv4) };
	struct ibv_flow_spec_eth eth = eth_spec();
	struct wire w;

	quiet_open(&w);
	memset(&eth.val, 0xff, sizeof(eth.val));
	spec_add(&flow, &eth, sizeof(eth));
	spec_add(&flow, &ipv4, sizeof(ipv4));
	want_match(&w, &flow, make_udp(w.frame, w.near.mac, w.far.mac, 5003, 80), HDR);
	wire_close(&w);
}

/* ---- VLAN tags and checksums ---- */

#define TCI 0x6123	/* priority 3, VLAN 0x123 */

static uint32_t make_tagged(uint8_t *frame, const uint8_t *dst, const uint8_t *src, uint32_t len)
{
	make_frame(frame, dst, src, ETH_P_8021Q, len);
	frame[14] = TCI >> 8;
	frame[15] = TCI & 0xff;
	frame[16] = TYPE >> 8;
	frame[17] = TYPE & 0xff;
	fill(frame + 18, len - 18, len);
	return len;
}

static void spec_vlan(struct flow_attr *flow)
{
	struct ibv_flow_spec_eth spec = eth_spec();

	spec.val.ether_type = htobe16(TYPE);
	spec.mask.ether_type = 0xffff;
	spec.val.vlan_tag = htobe16(TCI & 0xfff);
	spec.mask.vlan_tag = htobe16(0xfff);
	spec_add(flow, &spec, sizeof(spec));
}

/* By the wire (@loop is false), or from another queue pair of the device. */
static void want_vlan(uint32_t create_flags, bool loop)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct station other;
	struct ibv_flow *made;
	struct wire w;
	struct got got;
	uint32_t len;

	wire_open_flags(&w, create_flags, TYPE);
	station_open(&other, 0);
	spec_vlan(&flow);
	made = flow_create(&w.near, &flow);
	len = make_tagged(w.frame, group, w.far.mac, 150);
	if (loop)
		send_frame(&other, w.frame, len);
	else
		put(w.fd, w.frame, len);
	if (create_flags) {
		memmove(w.frame + 12, w.frame + 16, len - 16);
		len -= 4;
	}
	WANT_FRAME(&w.near, &got, w.frame, len);
	CHECK(got.cvlan == TCI, "the tag is %#x", got.cvlan);
	/* A frame of another VLAN, and one without a tag, do not match. */
	make_tagged(w.frame, group, w.far.mac, 150);
	w.frame[15] ^= 1;
	put(w.fd, w.frame, 150);
	put(w.fd, w.frame, to_near(&w, 160));
	frames_arrived(&w);
	CHECK_ERR(ibv_destroy_flow(made), 0);
	made = flow_type(&w.near, TYPE);
	put(w.fd, w.frame, to_near(&w, 170));
	WANT_FRAME(&w.near, &got, w.frame, 170);
	CHECK_ERR(ibv_destroy_flow(made), 0);
	side_close(&other.s);
	wire_close(&w);
}

static void vlans(void)
{
	want_vlan(0, false);
	want_vlan(0, true);
	want_vlan(IBV_QP_CREATE_CVLAN_STRIPPING, false);
	want_vlan(IBV_QP_CREATE_CVLAN_STRIPPING, true);
}

/* IBV_SEND_IP_CSUM makes checksums, which a receiver on the device knows to be right. */
static void checksums(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *made;
	struct station other;
	uint8_t bytes[SLOT];
	struct wire w;
	struct got got;
	uint32_t len;

	wire_open_flags(&w, 0, ETH_P_IP);
	station_open(&other, 0);
	spec_port(&flow, IBV_FLOW_SPEC_UDP, 5001);
	made = flow_create(&w.near, &flow);
	for (uint32_t n = 60; n < 63; n++) {
		len = make_udp(w.frame, group, w.near.mac, 5001, n);
		send_frame_flags(&other, w.frame, len, IBV_SEND_IP_CSUM);
		if (!CHECK(take(&w.near, &got, WC_TIMEOUT) && got.len == len, "%u bytes are lost", n))
			continue;
		CHECK(sums_right(got.bytes), "%u bytes: the checksums are wrong", n);
		CHECK(got.sums_ok, "%u bytes: the flag is missing", n);
		while (recv(w.fd, bytes, sizeof(bytes), 0) > 0)
			if (!memcmp(bytes, w.frame, 24))
				break;
		CHECK(sums_right(bytes), "%u bytes: wrong checksums on the wire", n);
	}
	/* Without the flag the frame is sent as it is. */
	len = make_udp(w.frame, group, w.near.mac, 5001, 64);
	send_frame(&other, w.frame, len);
	WANT_FRAME(&w.near, &got, w.frame, len);
	CHECK(!got.sums_ok, "a frame without checksums");
	CHECK_ERR(ibv_destroy_flow(made), 0);
	side_close(&other.s);
	wire_close(&w);
}

#define IPV6_PORT 5005

/* A frame with a packet of IPv6 that has @room bytes behind its header, and @pad more bytes. */
static uint32_t make_ipv6(struct wire *w, uint8_t proto, uint32_t room, uint32_t pad)
{
	uint32_t len = HDR + sizeof(struct ip6_hdr) + room + pad;
	ip6_hdr_at *ip = (void *)(w->frame + HDR);
	struct udphdr *ports = (void *)(ip + 1);

	make_frame(w->frame, group, w->near.mac, ETH_P_IPV6, len);
	ip->ip6_flow = htobe32(6u << 28);
	ip->ip6_plen = htobe16((uint16_t)room);
	ip->ip6_nxt = proto;
	ip->ip6_hlim = 9;
	fill(ip->ip6_src.s6_addr, 16, 1);
	fill(ip->ip6_dst.s6_addr, 16, 2);
	fill((uint8_t *)ports, room + pad, room);
	ports->dest = htobe16(IPV6_PORT);
	if (proto == IPPROTO_UDP)
		ports->len = htobe16((uint16_t)room);
	else
		((uint8_t *)ports)[12] = 5 << 4;
	return len;
}

/* The place of the checksum in the header of TCP or UDP. */
static uint8_t *sum_of(uint8_t *frame, uint8_t proto)
{
	return frame + HDR + sizeof(struct ip6_hdr) + (proto == IPPROTO_TCP ? 16 : 6);
}

static bool sum_right_ipv6(const uint8_t *frame, uint8_t proto)
{
	const ip6_hdr_at *ip = (const void *)(frame + HDR);
	uint32_t room = be16toh(ip->ip6_plen), pseudo = add_up(proto + room, &ip->ip6_src, 32);

	return add_up(pseudo, ip + 1, room) == 0xffff;
}

/* Post @len bytes for a checksum. They arrive with the right one, and are otherwise as they were. */
static void want_sum_ipv6(struct wire *w, struct station *other, uint8_t proto, uint32_t len)
{
	uint8_t *sum = sum_of(w->frame, proto), bytes[SLOT];
	struct got got;

	send_frame_flags(other, w->frame, len, IBV_SEND_IP_CSUM);
	if (!CHECK(take(&w->near, &got, WC_TIMEOUT) && got.len == len, "protocol %u: %u bytes are lost", proto, len))
		return;
	CHECK(got.sums_ok, "protocol %u, %u bytes: the flag is missing", proto, len);
	CHECK(sum_right_ipv6(got.bytes, proto), "protocol %u, %u bytes: the checksum is wrong", proto, len);
	memcpy(sum, got.bytes + (sum - w->frame), 2);
	CHECK(!memcmp(got.bytes, w->frame, len), "protocol %u, %u bytes: other bytes have changed", proto, len);
	give_back(&w->near, &got);
	while (recv(w->fd, bytes, sizeof(bytes), 0) > 0)
		if (!memcmp(bytes, w->frame, HDR + 24))
			break;
	CHECK(!memcmp(bytes, w->frame, len), "protocol %u, %u bytes: other bytes on the wire", proto, len);
}

/* IPv6 has no checksum of its own. UDP over IPv6 must have one, and 0 would mean that it has none. */
static void checksums_ipv6(void)
{
	static const uint8_t protos[] = { IPPROTO_UDP, IPPROTO_TCP };
	struct flow_attr flow[2];
	struct ibv_flow *made[2];
	struct station other;
	struct wire w;
	uint32_t len;

	wire_open_flags(&w, 0, ETH_P_IPV6);
	station_open(&other, 0);
	for (int i = 0; i < 2; i++) {
		flow[i] = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
		spec_port(&flow[i], i ? IBV_FLOW_SPEC_TCP : IBV_FLOW_SPEC_UDP, IPV6_PORT);
		made[i] = flow_create(&w.near, &flow[i]);
		for (uint32_t n = 0; n < 4; n++)
			want_sum_ipv6(&w, &other, protos[i], make_ipv6(&w, protos[i], 20 + n, n));
	}
	/* With the checksum of the first packet as payload, the sum of the second one is 0. */
	len = make_ipv6(&w, IPPROTO_UDP, 20, 0);
	memset(w.frame + len - 2, 0, 2);
	want_sum_ipv6(&w, &other, IPPROTO_UDP, len);
	memcpy(w.frame + len - 2, sum_of(w.frame, IPPROTO_UDP), 2);
	want_sum_ipv6(&w, &other, IPPROTO_UDP, len);
	CHECK(!memcmp(sum_of(w.frame, IPPROTO_UDP), "\xff\xff", 2), "the checksum 0 is not sent as 0xffff");
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_flow(made[i]), 0);
	side_close(&other.s);
	wire_close(&w);
}

#define TCP_PORT 5006
#define TCP_HDR (HDR + 20 + 20)
#define PIECE 1000
#define PIECES 15
#define SUPER (TCP_HDR + PIECES * PIECE)

/* Pieces of a packet arrive, each with @head bytes of headers and @size others, of which the first is its number. */
static void want_pieces(struct station *r, uint32_t count, uint32_t head, uint32_t size,
			bool (*right)(const uint8_t *frame))
{
	struct got got;

	for (uint32_t i = 0; i < count; i++) {
		if (!CHECK(take(r, &got, WC_TIMEOUT), "piece %u is lost", i))
			break;
		CHECK(got.len == head + size, "piece %u: %u bytes", i, got.len);
		CHECK(right(got.bytes) && got.sums_ok, "piece %u: checksums", i);
		CHECK(got.bytes[head] == i, "piece %u begins with %u", i, got.bytes[head]);
	}
}

static void want_super(struct wire *w, uint32_t count)
{
	send_super(&w->far, "10.89.0.1", 5002, PIECE, count);
	want_pieces(&w->near, count, HDR + 28, PIECE, sums_right);
}

/*
 * A host sends packets that are cut later, or whose checksum is made later. The queue pair gets
 * them cut, with their checksums.
 */
static void super_packets(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *made;
	struct wire w;

	wire_open(&w);
	spec_port(&flow, IBV_FLOW_SPEC_UDP, 5002);
	made = flow_create(&w.near, &flow);
	want_super(&w, 1);
	want_super(&w, 3);
	CHECK_ERR(ibv_destroy_flow(made), 0);
	wire_close(&w);
}

/* Send a frame as a virtual machine does, with a header that says how the kernel is to change it. */
static bool put_with(int fd, const struct virtio_net_hdr *head, const uint8_t *frame, uint32_t len)
{
	uint8_t bytes[sizeof(*head) + SUPER];

	NEED(len <= SUPER, "%u bytes", len);
	memcpy(bytes, head, sizeof(*head));
	memcpy(bytes + sizeof(*head), frame, len);
	return send(fd, bytes, sizeof(*head) + len, 0) == (ssize_t)(sizeof(*head) + len);
}

/* Send a frame whose checksum is to be made from @start on and written to @start + @offset. */
static bool put_unsummed(int fd, const uint8_t *frame, uint32_t len, uint32_t start, uint32_t offset)
{
	struct virtio_net_hdr head = { .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = (uint16_t)start, .csum_offset = (uint16_t)offset };

	return put_with(fd, &head, frame, len);
}

/*
 * A virtual machine says where a checksum is to be made. It may lie: the kernel does not warn, and
 * the checksum of UDP is not said to be right. A veth forgets a place in the Ethernet header, as a
 * tap device does not, so that case is not seen here; newer kernels may refuse it with EINVAL.
 */
static void lying_sums(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	int on = 1, errors;
	struct ibv_flow *made;
	iphdr_at *ip;
	struct wire w;
	struct got got;
	uint32_t len;

	wire_open(&w);
	NEED(!setsockopt(w.fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)), "PACKET_VNET_HDR");
	made = flow_type(&w.near, TYPE);
	len = to_near(&w, 100);
	for (uint32_t start = 0; start <= len - 2; start += 7) {
		errors = put_unsummed(w.fd, w.frame, len, start, 0) ? 0 : errno;
		CHECK(!errors || (errors == EINVAL && start < 64), "from %u: %s", start, err_name(errors));
		if (errors || !CHECK(take(&w.near, &got, WC_TIMEOUT), "from %u: no frame", start))
			continue;
		CHECK(got.len == len && !got.sums_ok, "from %u: %u bytes", start, got.len);
		give_back(&w.near, &got);
	}
	CHECK_ERR(ibv_destroy_flow(made), 0);
	spec_port(&flow, IBV_FLOW_SPEC_UDP, 5004);
	made = flow_create(&w.near, &flow);
	len = make_udp(w.frame, w.near.mac, w.far.mac, 5004, 100);
	ip = (void *)(w.frame + HDR);
	ip->check = htobe16((uint16_t)~add_up(0, ip, sizeof(*ip)));
	/* The place of UDP's checksum, another one, and another begin. */
	for (uint32_t i = 0; i < 3; i++) {
		NEED(put_unsummed(w.fd, w.frame, len, HDR + 20 + (i == 2) * 2, i == 1 ? 8 : 6), "send: %s",
		     err_name(errno));
		if (CHECK(take(&w.near, &got, WC_TIMEOUT), "no frame %u", i))
			CHECK(got.sums_ok == !i, "frame %u: the flag is %d", i, got.sums_ok);
	}
	CHECK_ERR(ibv_destroy_flow(made), 0);
	wire_close(&w);
}

static uint32_t tcp_pseudo(const iphdr_at *ip)
{
	uint32_t room = be16toh(ip->tot_len) - (uint32_t)sizeof(*ip);

	return add_up(IPPROTO_TCP + room, &ip->saddr, 8);
}

static bool tcp_sum_right(const uint8_t *frame)
{
	const iphdr_at *ip = (const void *)(frame + HDR);

	return add_up(tcp_pseudo(ip), ip + 1, be16toh(ip->tot_len) - (uint32_t)sizeof(*ip)) == 0xffff;
}

/* A packet of TCP, in which each piece of PIECE bytes begins with its number. */
static void make_tcp(const struct wire *w, uint8_t *frame)
{
	iphdr_at *ip = (void *)(frame + HDR);
	uint8_t *tcp = (uint8_t *)(ip + 1);
	uint32_t sum;

	make_udp(frame, w->near.mac, w->far.mac, TCP_PORT, SUPER);
	ip->protocol = IPPROTO_TCP;
	tcp[12] = 5 << 4;
	tcp[13] = 1 << 4;
	sum = tcp_pseudo(ip);
	tcp[16] = (uint8_t)(sum >> 8);
	tcp[17] = (uint8_t)sum;
	for (uint32_t i = 0; i < PIECES; i++)
		frame[TCP_HDR + i * PIECE] = (uint8_t)i;
}

/* Send a packet that is to be cut into pieces of @size bytes. */
static void put_super(int fd, const uint8_t *frame, uint16_t size)
{
	struct virtio_net_hdr head = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = size,
		.hdr_len = TCP_HDR, .csum_start = HDR + 20, .csum_offset = 16,
	};
	NEED(put_with(fd, &head, frame, SUPER), "send: %s", err_name(errno));
}

/*
 * A virtual machine says how long the pieces of a packet are, and the kernel makes them as short as
 * 8 bytes. A packet of too many pieces is lost as a whole.
 */
static void tiny_pieces(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	uint8_t frame[SUPER];
	struct ibv_flow *made;
	uint64_t before;
	struct wire w;
	int on = 1, fd;

	wire_open(&w);
	for (uint32_t slot = RECVS; slot < PIECES; slot++)
		station_recv(&w.near, slot);
	fd = observe(&w.far, ETH_P_IP);
	NEED(!setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)), "PACKET_VNET_HDR");
	spec_port(&flow, IBV_FLOW_SPEC_TCP, TCP_PORT);
	made = flow_create(&w.near, &flow);
	make_tcp(&w, frame);
	before = hw_counter(w.near.netdev, "out_of_buffer");
	put_super(fd, frame, 1);
	frames_arrived(&w);
	WANT_NO_FRAME(&w.near);
	want_lost(w.near.netdev, before + 1);
	put_super(fd, frame, PIECE);
	want_pieces(&w.near, PIECES, TCP_HDR, PIECE, tcp_sum_right);
	CHECK_ERR(ibv_destroy_flow(made), 0);
	close(fd);
	wire_close(&w);
}

/* No checksum is made over more bytes than a frame has: it leaves as it was posted. */
static void sums_beyond(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *made;
	iphdr_at *ip;
	struct wire w;
	struct got got;
	uint32_t len;

	wire_open(&w);
	spec_dst(&flow, w.near.mac);
	made = flow_create(&w.near, &flow);
	len = make_udp(w.frame, w.near.mac, w.far.mac, 5004, 100);
	ip = (void *)(w.frame + HDR);
	for (uint16_t more = 1; more < 100; more += 33) {
		ip->tot_len = htobe16((uint16_t)(len - HDR + more));
		send_frame_flags(&w.far, w.frame, len, IBV_SEND_IP_CSUM);
		WANT_FRAME(&w.near, &got, w.frame, len);
		give_back(&w.near, &got);
	}
	CHECK_ERR(ibv_destroy_flow(made), 0);
	wire_close(&w);
}

/* Frames whose headers lie about lengths harm nothing, with and without checksums to be made. */
static void garbage(void)
{
	static const uint16_t types[] = { ETH_P_IP, ETH_P_IPV6, ETH_P_8021Q, TYPE };
	uint64_t seed = rnd_seed();
	struct ibv_flow *flow;
	struct wire w;
	struct got got;
	uint32_t len;

	wire_open(&w);
	flow = tagged(&w, IBV_FLOW_ATTR_SNIFFER, 0, 0, 9);
	for (uint32_t n = 0; n < 2000; n++) {
		len = 18 + rnd(&seed) % 100;
		make_frame(w.frame, group, w.near.mac, types[n % 4], len);
		for (uint32_t i = HDR; i < len; i++)
			w.frame[i] = (uint8_t)rnd(&seed);
		/* Plausible first bytes reach the checks behind them. */
		if (n % 3)
			w.frame[HDR] = n % 4 ? 0x60 : 0x45;
		if (n % 3 == 2)
			w.frame[HDR + (n % 4 ? 6 : 9)] = n % 5 ? IPPROTO_UDP : IPPROTO_TCP;
		if (n % 4 == 2) {
			w.frame[16] = 0x08;
			w.frame[17] = 0;
		}
		post_frame(&w.far, w.frame, len, n % 2 ? IBV_SEND_IP_CSUM : 0);
		post_frame(&w.near, w.frame, len, n % 2 ? IBV_SEND_IP_CSUM : 0);
		while (take(&w.near, &got, WC_TIMEOUT) && got.slot != RECVS)
			give_back(&w.near, &got);
		CHECK(take(&w.far, &got, WC_TIMEOUT) && !got.status, "frame %u: status %d", n, got.status);
	}
	frames_arrived(&w);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	while (take(&w.near, &got, 0))
		give_back(&w.near, &got);
	flow = flow_type(&w.near, TYPE);
	put(w.fd, w.frame, to_near(&w, 100));
	WANT_FRAME(&w.near, &got, w.frame, 100);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	wire_close(&w);
}

static const struct test_case cases[] = {
	{ "specs_eth", specs_eth },
	{ "specs_ip", specs_ip },
	{ "specs_ipv6", specs_ipv6 },
	{ "specs_empty", specs_empty },
	{ "vlans", vlans },
	{ "checksums", checksums },
	{ "checksums_ipv6", checksums_ipv6 },
	{ "super_packets", super_packets },
	{ "lying_sums", lying_sums },
	{ "tiny_pieces", tiny_pieces },
	{ "sums_beyond", sums_beyond },
	{ "garbage", garbage },
};

TEST_MAIN("raw_headers", cases, 100)
