// SPDX-License-Identifier: GPL-2.0
/* Flows of frames that are sent (IBV_FLOW_ATTR_FLAGS_EGRESS): they count them, drop them, and do nothing else. */
#include "flows.h"
#include "side.h"

static struct wire w;
static struct station other;

static void begin(void)
{
	wire_open(&w);
	station_open(&other, 0);
	station_recvs(&other);
}

static void end(void)
{
	side_close(&other.s);
	wire_close(&w);
}

static struct flow_attr egress(uint16_t priority)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, priority);

	flow.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	spec_type(&flow, TYPE);
	return flow;
}

/* Counters of frames at index 0 and of bytes at index 1. */
static struct ibv_counters *both_counters(void)
{
	struct ibv_counters *counters = counters_of(&w.near);

	CHECK_ERR(attach(counters, IBV_COUNTER_PACKETS, 0, NULL), 0);
	CHECK_ERR(attach(counters, IBV_COUNTER_BYTES, 1, NULL), 0);
	return counters;
}

/* Sent frames are counted when the request completes. */
static void want_counts(struct ibv_counters *counters, uint64_t frames, uint64_t bytes)
{
	CHECK(value(counters, 0) == frames && value(counters, 1) == bytes, "%" PRIu64 " frames of %" PRIu64 " bytes",
	      value(counters, 0), value(counters, 1));
}

/* The queue pair of the flow only says which device it is. */
static void counts(void)
{
	struct ibv_counters *counters;
	struct flow_attr attr;
	struct ibv_flow *flow;
	struct got got;
	uint32_t len;

	begin();
	counters = both_counters();
	attr = egress(0);
	spec_count(&attr, counters);
	flow = flow_create(&w.near, &attr);
	len = to_far(&w, 100);
	send_frame(&w.near, w.frame, len);
	observed(w.fd, w.frame, len);
	send_frame(&other, w.frame, len);
	observed(w.fd, w.frame, len);
	want_counts(counters, 2, 200);
	/* Frames that are received, and frames of other types, do not count. */
	put(w.fd, w.frame, to_near(&w, 100));
	make_frame(w.frame, w.far.mac, w.near.mac, TYPE + 1, 100);
	send_frame(&w.near, w.frame, 100);
	send_frame(&w.near, w.frame, to_far(&w, 60));
	observed(w.fd, w.frame, 60);
	want_counts(counters, 3, 260);
	CHECK(!take(&w.near, &got, 0), "an egress flow delivers frames");
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	send_frame(&w.near, w.frame, to_far(&w, 60));
	want_counts(counters, 3, 260);
	CHECK_ERR(ibv_destroy_counters(counters), 0);
	end();
}

/* A dropped frame does not leave, does not return, and its request succeeds. */
static void drops(void)
{
	struct flow_attr attr = egress(4), in = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *flow, *receiving;
	struct ibv_counters *counters;
	struct got got;

	begin();
	counters = both_counters();
	spec_type(&in, TYPE);
	receiving = flow_create(&other, &in);
	spec_drop(&attr);
	spec_count(&attr, counters);
	flow = flow_create(&w.near, &attr);
	make_frame(w.frame, group, w.near.mac, TYPE, 90);
	send_frame(&w.near, w.frame, 90);
	send_frame(&w.near, w.frame, to_far(&w, 80));
	want_counts(counters, 2, 170);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	make_frame(w.frame, group, w.near.mac, TYPE, 70);
	send_frame(&w.near, w.frame, 70);
	WANT_FRAME(&other, &got, w.frame, 70);
	observed(w.fd, w.frame, 70);
	CHECK_ERR(ibv_destroy_flow(receiving), 0);
	CHECK_ERR(ibv_destroy_counters(counters), 0);
	end();
}

/* The flow with the lowest number decides, unless it shares the frame. */
static void priorities(void)
{
	struct ibv_counters *first, *second;
	struct flow_attr attr = egress(3), drop = egress(5);
	struct ibv_flow *flow[2];

	begin();
	first = both_counters();
	second = both_counters();
	spec_count(&attr, first);
	spec_drop(&drop);
	spec_count(&drop, second);
	flow[0] = flow_create(&w.near, &attr);
	flow[1] = flow_create(&w.near, &drop);
	send_frame(&w.near, w.frame, to_far(&w, 100));
	observed(w.fd, w.frame, 100);
	want_counts(first, 1, 100);
	want_counts(second, 0, 0);
	CHECK_ERR(ibv_destroy_flow(flow[0]), 0);
	attr.attr.flags |= IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	flow[0] = flow_create(&w.near, &attr);
	send_frame(&w.near, w.frame, to_far(&w, 110));
	want_counts(first, 2, 210);
	want_counts(second, 1, 110);
	CHECK_ERR(ibv_destroy_flow(flow[1]), 0);
	send_frame(&w.near, w.frame, to_far(&w, 120));
	observed(w.fd, w.frame, 120);
	want_counts(first, 3, 330);
	CHECK_ERR(ibv_destroy_flow(flow[0]), 0);
	CHECK_ERR(ibv_destroy_counters(first), 0);
	CHECK_ERR(ibv_destroy_counters(second), 0);
	end();
}

/* The other flows of the device go on when an egress flow comes and goes, and the other way round. */
static void both_directions(void)
{
	struct flow_attr attr = egress(0);
	struct ibv_flow *in, *out;
	struct got got;

	begin();
	spec_drop(&attr);
	out = flow_create(&w.near, &attr);
	in = flow_type(&w.near, TYPE);
	put(w.fd, w.frame, to_near(&w, 100));
	WANT_FRAME(&w.near, &got, w.frame, 100);
	CHECK_ERR(ibv_destroy_flow(in), 0);
	in = flow_type(&w.near, TYPE);
	CHECK_ERR(ibv_destroy_flow(out), 0);
	put(w.fd, w.frame, to_near(&w, 110));
	WANT_FRAME(&w.near, &got, w.frame, 110);
	send_frame(&w.near, w.frame, to_far(&w, 120));
	observed(w.fd, w.frame, 120);
	CHECK_ERR(ibv_destroy_flow(in), 0);
	end();
}

static const struct test_case cases[] = {
	{ "counts", counts },
	{ "drops", drops },
	{ "priorities", priorities },
	{ "both_directions", both_directions },
};

TEST_MAIN("raw_egress", cases, 60)
