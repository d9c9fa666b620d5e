// SPDX-License-Identifier: GPL-2.0
/*
 * Raw packet queue pairs and flows. A frame that a queue pair sends is seen by a packet socket,
 * and a frame that a packet socket sends reaches the queue pair of a flow.
 */
#include "frames.h"
#include "side.h"

/* Two stations, and a packet socket beside the second one. */
struct wire {
	struct station near;
	struct station far;
	int fd;
	uint8_t frame[SLOT];
};

static void wire_open_flags(struct wire *w, uint32_t create_flags, uint16_t type)
{
	station_open_flags(&w->near, 0, create_flags);
	station_open(&w->far, 1);
	station_recvs(&w->near);
	w->fd = observe(&w->far, type);
}

static void wire_open(struct wire *w)
{
	wire_open_flags(w, 0, TYPE);
}

static void wire_close(struct wire *w)
{
	close(w->fd);
	side_close(&w->near.s);
	side_close(&w->far.s);
}

/* A frame of the far end for the near one. */
static uint32_t to_near(struct wire *w, uint32_t len)
{
	return make_frame(w->frame, w->near.mac, w->far.mac, TYPE, len);
}

static uint32_t to_far(struct wire *w, uint32_t len)
{
	return make_frame(w->frame, w->far.mac, w->near.mac, TYPE, len);
}

static void give_back(struct station *s, const struct got *got)
{
	station_recv(s, got->slot);
}

/* ---- sending and receiving ---- */

static void sends(void)
{
	struct wire w;
	uint32_t len;

	wire_open(&w);
	for (uint32_t n = 14; n < 200; n += 31) {
		len = to_far(&w, n);
		send_frame(&w.near, w.frame, len);
		if (!observed(w.fd, w.frame, len))
			break;
	}
	len = to_far(&w, 100);
	send_frame_flags(&w.near, w.frame, len, IBV_SEND_INLINE);
	observed(w.fd, w.frame, len);
	/* The address of the sender is its own business, as on other devices. */
	memset(w.frame + 6, 0x22, 6);
	send_frame(&w.near, w.frame, len);
	observed(w.fd, w.frame, len);
	wire_close(&w);
}

static void want_refused(struct wire *w, uint32_t len)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct got got;

	post_frame(&w->near, w->frame, len, 0);
	if (!CHECK(take(&w->near, &got, WC_TIMEOUT), "no completion of %u bytes", len))
		return;
	CHECK(got.status == IBV_WC_LOC_LEN_ERR, "%u bytes: status %d", len, got.status);
	CHECK(strstr(why_text(), "Ethernet header"), "%u bytes: %s", len, why_text());
	CHECK_ERR(ibv_modify_qp(w->near.s.qp, &attr, IBV_QP_STATE), 0);
}

static void lengths(void)
{
	struct wire w;
	uint32_t mtu;

	wire_open(&w);
	mtu = netdev_mtu(&w.near);
	to_far(&w, mtu + HDR + 8);
	want_refused(&w, 0);
	want_refused(&w, 13);
	want_refused(&w, mtu + HDR + 1);
	want_refused(&w, mtu + HDR + 5);
	send_frame(&w.near, w.frame, mtu + HDR);
	observed(w.fd, w.frame, mtu + HDR);
	/* A VLAN tag does not count. The kernel takes it out for the socket. */
	w.frame[12] = 0x81;
	w.frame[13] = 0;
	want_refused(&w, mtu + HDR + 5);
	want_refused(&w, HDR + 3);
	send_frame(&w.near, w.frame, mtu + HDR + 4);
	wire_close(&w);
}

static void receives(void)
{
	struct ibv_flow *flow;
	struct wire w;
	struct got got;
	uint32_t len;

	wire_open(&w);
	flow = flow_type(&w.near, TYPE);
	for (uint32_t n = 20; n < 1500; n += 300) {
		len = to_near(&w, n);
		put(w.fd, w.frame, len);
		WANT_FRAME(&w.near, &got, w.frame, len);
		CHECK(!got.tag && !got.cvlan && !got.sums_ok, "tag %u, VLAN %u", got.tag, got.cvlan);
	}
	CHECK_ERR(ibv_destroy_qp(w.near.s.qp), EBUSY);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	/* Without the flow the first frame is lost. */
	put(w.fd, w.frame, to_near(&w, 300));
	flow = flow_type(&w.near, TYPE);
	put(w.fd, w.frame, to_near(&w, 400));
	WANT_FRAME(&w.near, &got, w.frame, 400);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	wire_close(&w);
}

static uint64_t lost(const struct station *s)
{
	char path[128], word[64];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/out_of_buffer", s->netdev);
	first_word(path, word);
	return strtoull(word, NULL, 10);
}

/* The kernel reads counters again when some milliseconds have passed. */
static void want_lost(const struct station *s, uint64_t count)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);

	while (lost(s) != count && now_ns() < end)
		usleep(1000);
	CHECK(lost(s) == count, "%" PRIu64 " frames are counted as lost, not %" PRIu64, lost(s), count);
}

/* A frame without a receive request is lost and counted, and so is one that is too long. */
static void without_request(void)
{
	struct ibv_flow *flow;
	struct wire w;
	struct got got;
	uint64_t before;

	wire_open(&w);
	flow = flow_type(&w.near, TYPE);
	for (int i = 0; i < RECVS; i++) {
		put(w.fd, w.frame, to_near(&w, 100));
		WANT_FRAME(&w.near, &got, w.frame, 100);
	}
	before = lost(&w.near);
	put(w.fd, w.frame, to_near(&w, 101));
	usleep(1000);
	station_recv_len(&w.near, 0, 200);
	put(w.fd, w.frame, to_near(&w, 201));
	put(w.fd, w.frame, to_near(&w, 200));
	WANT_FRAME(&w.near, &got, w.frame, 200);
	want_lost(&w.near, before + 2);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	wire_close(&w);
}

/* Multicast frames and frames for the device itself return to its own flows, and leave as well. */
static void loopback(void)
{
	struct station other;
	struct ibv_flow *flow;
	struct wire w;
	struct got got;
	uint32_t len;

	wire_open(&w);
	station_open(&other, 0);
	station_recvs(&other);
	flow = flow_type(&other, TYPE);
	len = make_frame(w.frame, group, w.near.mac, TYPE, 200);
	send_frame(&w.near, w.frame, len);
	WANT_FRAME(&other, &got, w.frame, len);
	observed(w.fd, w.frame, len);
	len = make_frame(w.frame, w.near.mac, w.near.mac, TYPE, 210);
	send_frame(&w.near, w.frame, len);
	WANT_FRAME(&other, &got, w.frame, len);
	/* A frame for the other end does not return. */
	send_frame(&w.near, w.frame, to_far(&w, 220));
	WANT_NO_FRAME(&other);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	side_close(&other.s);
	wire_close(&w);
}

/* The host sees the frames of flows as well. */
static void host_sees(void)
{
	struct ibv_flow *flow;
	struct wire w;
	struct got got;
	int here;

	wire_open(&w);
	here = observe(&w.near, TYPE);
	flow = flow_type(&w.near, TYPE);
	put(w.fd, w.frame, to_near(&w, 100));
	WANT_FRAME(&w.near, &got, w.frame, 100);
	observed(here, w.frame, 100);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	close(here);
	wire_close(&w);
}

/* ---- specs ---- */

/* The frame matches @flow, and does not match it once a byte is another one. */
static void want_match(struct wire *w, struct flow_attr *attr, uint32_t len, uint32_t byte)
{
	struct flow_attr rest = flow_of(IBV_FLOW_ATTR_ALL_DEFAULT, 0);
	struct ibv_flow *flow, *others;
	struct got got;

	spec_tag(attr, 7);
	spec_tag(&rest, 8);
	flow = flow_create(&w->near, attr);
	others = flow_create(&w->near, &rest);
	put(w->fd, w->frame, len);
	WANT_FRAME(&w->near, &got, w->frame, len);
	CHECK(got.tag == 7, "byte %u: the frame does not match (tag %u)", byte, got.tag);
	give_back(&w->near, &got);
	w->frame[byte] ^= 1;
	put(w->fd, w->frame, len);
	WANT_FRAME(&w->near, &got, w->frame, len);
	CHECK(got.tag == 8, "byte %u: another frame matches (tag %u)", byte, got.tag);
	give_back(&w->near, &got);
	w->frame[byte] ^= 1;
	CHECK_ERR(ibv_destroy_flow(others), 0);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
}

/* Specs of one byte of a header: @val is compared with the byte @at of the frame. */
#define WANT_FIELD(w, kind, the_type, member, at, len) do {					\
	struct flow_attr __flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);				\
	struct kind __spec = { .type = the_type, .size = sizeof(__spec) };			\
	memcpy(&__spec.val.member, (w)->frame + (at), sizeof(__spec.val.member));		\
	memset(&__spec.mask.member, 0xff, sizeof(__spec.mask.member));				\
	spec_add(&__flow, &__spec, sizeof(__spec));						\
	want_match(w, &__flow, len, (at) + (uint32_t)sizeof(__spec.val.member) - 1);		\
} while (0)

static void quiet_open(struct wire *w)
{
	wire_open(w);
	/* No other frames may arrive, since one flow takes all of them. */
	quiet(&w->near);
}

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
	struct ip6_hdr *ip;
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

/* ---- which flow takes a frame ---- */

static void want_tag(struct wire *w, const uint8_t *dst, uint32_t tag)
{
	uint32_t len = make_frame(w->frame, dst, w->far.mac, TYPE, 60 + tag);
	struct got got;

	put(w->fd, w->frame, len);
	WANT_FRAME(&w->near, &got, w->frame, len);
	CHECK(got.tag == tag, "the tag is %u, not %u", got.tag, tag);
	give_back(&w->near, &got);
}

static struct ibv_flow *tagged(struct wire *w, enum ibv_flow_attr_type type, uint16_t priority, uint32_t flags,
			       uint32_t tag)
{
	struct flow_attr flow = flow_of(type, priority);

	flow.attr.flags = flags;
	if (type == IBV_FLOW_ATTR_NORMAL)
		spec_type(&flow, TYPE);
	spec_tag(&flow, tag);
	return flow_create(&w->near, &flow);
}

static void priorities(void)
{
	struct ibv_flow *flow[5];
	struct wire w;
	struct got got;

	quiet_open(&w);
	flow[0] = tagged(&w, IBV_FLOW_ATTR_MC_DEFAULT, 0, 0, 1);
	want_tag(&w, group, 1);
	flow[1] = tagged(&w, IBV_FLOW_ATTR_NORMAL, 9, 0, 2);
	want_tag(&w, group, 2);
	flow[2] = tagged(&w, IBV_FLOW_ATTR_NORMAL, 3, 0, 0xfff);
	want_tag(&w, w.near.mac, 0xfff);
	/* This one comes first, and lets the others see the frame. */
	flow[3] = tagged(&w, IBV_FLOW_ATTR_NORMAL, 1, IBV_FLOW_ATTR_FLAGS_DONT_TRAP, 3);
	want_tag(&w, group, 3);
	CHECK(take(&w.near, &got, WC_TIMEOUT) && got.tag == 0xfff, "the flow behind it: tag %u", got.tag);
	give_back(&w.near, &got);
	WANT_NO_FRAME(&w.near);
	CHECK_ERR(ibv_destroy_flow(flow[3]), 0);
	flow[4] = tagged(&w, IBV_FLOW_ATTR_SNIFFER, 0, 0, 4);
	want_tag(&w, group, 4);
	CHECK(take(&w.near, &got, WC_TIMEOUT) && got.tag == 0xfff, "beside the sniffer: tag %u", got.tag);
	CHECK_ERR(ibv_destroy_flow(flow[4]), 0);
	for (int i = 0; i < 3; i++)
		CHECK_ERR(ibv_destroy_flow(flow[i]), 0);
	wire_close(&w);
}

static void drops(void)
{
	struct flow_attr drop = flow_of(IBV_FLOW_ATTR_NORMAL, 3);
	struct ibv_flow *flow, *dropper;
	struct wire w;

	wire_open(&w);
	spec_dst(&drop, group);
	spec_drop(&drop);
	/* It drops frames of a flow of the same priority that was there before. */
	flow = tagged(&w, IBV_FLOW_ATTR_NORMAL, 3, 0, 5);
	want_tag(&w, group, 5);
	dropper = flow_create(&w.near, &drop);
	put(w.fd, w.frame, make_frame(w.frame, group, w.far.mac, TYPE, 70));
	want_tag(&w, w.near.mac, 5);
	CHECK_ERR(ibv_destroy_flow(dropper), 0);
	want_tag(&w, group, 5);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	wire_close(&w);
}

/* Each queue pair with an equal flow gets the frame, unicast as well. */
static void equal_flows(void)
{
	struct ibv_flow *flow[2];
	struct station other;
	struct wire w;
	struct got got;
	uint32_t len;

	wire_open(&w);
	station_open(&other, 0);
	station_recvs(&other);
	flow[0] = flow_type(&w.near, TYPE);
	flow[1] = flow_type(&other, TYPE);
	for (int i = 0; i < 2; i++) {
		len = make_frame(w.frame, i ? group : w.near.mac, w.far.mac, TYPE, 100);
		put(w.fd, w.frame, len);
		WANT_FRAME(&w.near, &got, w.frame, len);
		WANT_FRAME(&other, &got, w.frame, len);
	}
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_flow(flow[i]), 0);
	side_close(&other.s);
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

/* A host sends packets that are cut later. The queue pair gets them cut, with their checksums. */
static void super_packets(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *made;
	struct wire w;
	struct got got;

	wire_open(&w);
	spec_port(&flow, IBV_FLOW_SPEC_UDP, 5002);
	made = flow_create(&w.near, &flow);
	send_super(&w.far, "10.89.0.1", 5002, 1000, 3);
	for (uint32_t i = 0; i < 3; i++) {
		if (!CHECK(take(&w.near, &got, WC_TIMEOUT), "piece %u is lost", i))
			break;
		CHECK(got.len == HDR + 28 + 1000, "piece %u: %u bytes", i, got.len);
		CHECK(sums_right(got.bytes) && got.sums_ok, "piece %u: checksums", i);
		CHECK(got.bytes[HDR + 28] == i, "piece %u begins with %u", i, got.bytes[HDR + 28]);
	}
	CHECK_ERR(ibv_destroy_flow(made), 0);
	wire_close(&w);
}

static const struct test_case cases[] = {
	{ "sends", sends },
	{ "lengths", lengths },
	{ "receives", receives },
	{ "without_request", without_request },
	{ "loopback", loopback },
	{ "host_sees", host_sees },
	{ "specs_eth", specs_eth },
	{ "specs_ip", specs_ip },
	{ "specs_ipv6", specs_ipv6 },
	{ "priorities", priorities },
	{ "drops", drops },
	{ "equal_flows", equal_flows },
	{ "vlans", vlans },
	{ "checksums", checksums },
	{ "super_packets", super_packets },
};

TEST_MAIN("raw", cases, 60)
