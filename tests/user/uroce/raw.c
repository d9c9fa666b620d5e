// SPDX-License-Identifier: GPL-2.0
/*
 * Raw packet queue pairs and flows. A frame that a queue pair sends is seen by a packet socket,
 * and a frame that a packet socket sends reaches the queue pair of a flow. The headers of frames
 * are in raw_headers.c.
 */
#include "flows.h"
#include "side.h"

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
	/* Without the flow the first frame is lost, also while there is another flow. */
	flow = flow_type(&w.near, TYPE + 2);
	put(w.fd, w.frame, to_near(&w, 300));
	frames_arrived(&w);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	flow = flow_type(&w.near, TYPE);
	put(w.fd, w.frame, to_near(&w, 400));
	WANT_FRAME(&w.near, &got, w.frame, 400);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	wire_close(&w);
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
	before = hw_counter(w.near.netdev, "out_of_buffer");
	put(w.fd, w.frame, to_near(&w, 101));
	want_lost(w.near.netdev, before + 1);
	station_recv_len(&w.near, 0, 200);
	put(w.fd, w.frame, to_near(&w, 201));
	put(w.fd, w.frame, to_near(&w, 200));
	WANT_FRAME(&w.near, &got, w.frame, 200);
	want_lost(w.near.netdev, before + 2);
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

/* With IBV_QP_CREATE_BLOCK_SELF_MCAST_LB the sender does not get its own multicast frames; other queue pairs do. */
static void own_multicasts(void)
{
	struct ibv_flow *flow, *others;
	struct station other;
	struct wire w;
	struct got got;
	uint32_t len;

	wire_open_flags(&w, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB, TYPE);
	station_open(&other, 0);
	station_recvs(&other);
	flow = flow_type(&w.near, TYPE);
	others = flow_type(&other, TYPE);
	len = make_frame(w.frame, group, w.near.mac, TYPE, 200);
	send_frame(&w.near, w.frame, len);
	WANT_FRAME(&other, &got, w.frame, len);
	WANT_NO_FRAME(&w.near);
	/* A frame for its own address is no multicast, and multicasts of other senders arrive. */
	len = make_frame(w.frame, w.near.mac, w.near.mac, TYPE, 210);
	post_frame(&w.near, w.frame, len, 0);
	WANT_FRAME(&w.near, &got, w.frame, len);
	CHECK(take(&w.near, &got, WC_TIMEOUT) && got.slot == RECVS, "the frame is sent");
	len = make_frame(w.frame, group, w.near.mac, TYPE, 220);
	post_frame(&other, w.frame, len, 0);
	WANT_FRAME(&w.near, &got, w.frame, len);
	CHECK_ERR(ibv_destroy_flow(others), 0);
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

/* Like a packet socket, a queue pair or a flow is not for processes of other network namespaces. */
static void other_namespace(void)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_SNIFFER, 0);
	struct wire w;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .cap = { SLOTS, SLOTS, 4, 4, 128 },
	};

	wire_open(&w);
	init.send_cq = w.far.s.cq;
	init.recv_cq = w.far.s.cq;
	CHECK_NULL(ibv_create_qp(w.far.s.pd, &init), EPERM);
	CHECK(strstr(why_text(), "network namespace"), "queue pair: %s", why_text());
	CHECK_NULL(ibv_create_flow(w.far.s.qp, &flow.attr), EPERM);
	CHECK(strstr(why_text(), "network namespace"), "flow: %s", why_text());
	CHECK_ERR(ibv_destroy_flow(flow_create(&w.far, &flow)), 0);
	wire_close(&w);
}

static const struct test_case cases[] = {
	{ "sends", sends },
	{ "lengths", lengths },
	{ "receives", receives },
	{ "without_request", without_request },
	{ "loopback", loopback },
	{ "own_multicasts", own_multicasts },
	{ "host_sees", host_sees },
	{ "priorities", priorities },
	{ "drops", drops },
	{ "equal_flows", equal_flows },
	{ "other_namespace", other_namespace },
};

TEST_MAIN("raw", cases, 60)
