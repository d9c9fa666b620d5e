// SPDX-License-Identifier: GPL-2.0
/*
 * Flow counters: points that count frames and bytes, for flows that are created with them and for
 * flows that exist already.
 */
#include <pthread.h>
#include "flows.h"
#include "raw.h"
#include "side.h"

#define POINTS	16	/* UNIV_COUNTERS_POINTS */

/* A flow of frames for @dst that is counted. */
static struct ibv_flow *counted(struct wire *w, const uint8_t *dst, struct ibv_counters *counters)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);

	spec_dst(&flow, dst);
	spec_type(&flow, TYPE);
	spec_count(&flow, counters);
	return flow_create(&w->near, &flow);
}

static void put_many(struct wire *w, const uint8_t *dst, uint32_t len, uint32_t count)
{
	make_frame(w->frame, dst, w->far.mac, TYPE, len);
	for (uint32_t i = 0; i < count; i++)
		put(w->fd, w->frame, len);
}

/* ---- points of flows that are created with them ---- */

static void counts(void)
{
	uint64_t values[VALUES + 6];
	struct ibv_counters *counters;
	struct ibv_flow *flow[2];
	struct wire w;

	wire_open(&w);
	counters = counters_of(&w.near);
	CHECK_ERR(attach(counters, IBV_COUNTER_BYTES, 0, NULL), 0);
	CHECK_ERR(attach(counters, IBV_COUNTER_PACKETS, 1, NULL), 0);
	/* Points of one index add up. */
	CHECK_ERR(attach(counters, IBV_COUNTER_PACKETS, VALUES - 1, NULL), 0);
	CHECK_ERR(attach(counters, IBV_COUNTER_PACKETS, VALUES - 1, NULL), 0);
	CHECK_ERR(attach(counters, IBV_COUNTER_BYTES, VALUES - 1, NULL), 0);
	CHECK(!value(counters, 0) && !value(counters, 1), "new counters are not 0");
	flow[0] = counted(&w, w.near.mac, counters);
	flow[1] = counted(&w, group, counters);
	put_many(&w, w.near.mac, 100, 3);
	/* More frames than there are receive requests: the flow matches nevertheless. */
	put_many(&w, group, 60, RECVS);
	want_value(counters, 1, 3 + RECVS);
	want_value(counters, 0, 300 + 60 * RECVS);
	want_value(counters, VALUES - 1, 2 * (3 + RECVS) + 300 + 60 * RECVS);
	CHECK(!value(counters, 2), "a value without a point");
	/* The program chooses how many values it reads; more than there are do not exist. */
	memset(values, 0xff, sizeof(values));
	CHECK_ERR(ibv_read_counters(counters, values, 1, 0), 0);
	CHECK(values[0] == 300 + 60 * RECVS && values[1] == UINT64_MAX, "one value was asked for");
	CHECK_ERR(ibv_read_counters(counters, values, VALUES + 6, 0), 0);
	CHECK(values[1] == 3 + RECVS && !values[VALUES] && !values[VALUES + 5], "more values than there are");
	CHECK_ERR(ibv_destroy_counters(counters), EBUSY);
	CHECK(strstr(why_text(), "2 objects") && strstr(why_text(), "flows"), "explained as: %s", why_text());
	CHECK_ERR(ibv_destroy_flow(flow[0]), 0);
	CHECK_ERR(ibv_destroy_counters(counters), EBUSY);
	CHECK_ERR(ibv_destroy_flow(flow[1]), 0);
	/* The values stay, and later flows add to them. */
	want_value(counters, 1, 3 + RECVS);
	flow[0] = counted(&w, w.near.mac, counters);
	put_many(&w, w.near.mac, 70, 1);
	want_value(counters, 1, 4 + RECVS);
	CHECK_ERR(ibv_destroy_flow(flow[0]), 0);
	CHECK_ERR(ibv_destroy_counters(counters), 0);
	wire_close(&w);
}

/* A flow that drops frames counts them. A flow counts no frame that a flow before it has taken. */
static void who_counts(void)
{
	struct flow_attr drop = flow_of(IBV_FLOW_ATTR_NORMAL, 3), first = flow_of(IBV_FLOW_ATTR_NORMAL, 2),
		sniff = flow_of(IBV_FLOW_ATTR_SNIFFER, 0);
	struct ibv_counters *dropped, *taken, *sniffed;
	struct ibv_flow *flow[3];
	struct wire w;
	struct got got;

	quiet_open(&w);
	dropped = counters_of(&w.near);
	taken = counters_of(&w.near);
	sniffed = counters_of(&w.near);
	CHECK_ERR(attach(dropped, IBV_COUNTER_PACKETS, 0, NULL), 0);
	CHECK_ERR(attach(dropped, IBV_COUNTER_BYTES, 1, NULL), 0);
	CHECK_ERR(attach(taken, IBV_COUNTER_PACKETS, 0, NULL), 0);
	CHECK_ERR(attach(sniffed, IBV_COUNTER_PACKETS, 0, NULL), 0);
	spec_type(&drop, TYPE);
	spec_drop(&drop);
	spec_count(&drop, dropped);
	flow[0] = flow_create(&w.near, &drop);
	put_many(&w, w.near.mac, 90, 2);
	want_value(dropped, 0, 2);
	want_value(dropped, 1, 180);
	spec_dst(&first, group);
	spec_count(&first, taken);
	flow[1] = flow_create(&w.near, &first);
	put_many(&w, group, 80, 1);
	WANT_FRAME(&w.near, &got, w.frame, 80);
	want_value(taken, 0, 1);
	want_value(dropped, 0, 2);
	CHECK_ERR(ibv_destroy_flow(flow[1]), 0);
	/* A flow that shares its frames, and a sniffer. */
	first.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	flow[1] = flow_create(&w.near, &first);
	spec_count(&sniff, sniffed);
	flow[2] = flow_create(&w.near, &sniff);
	put_many(&w, group, 80, 1);
	want_value(sniffed, 0, 1);
	want_value(taken, 0, 2);
	want_value(dropped, 0, 3);
	for (int i = 0; i < 3; i++)
		CHECK_ERR(ibv_destroy_flow(flow[i]), 0);
	CHECK_ERR(ibv_destroy_counters(dropped), 0);
	CHECK_ERR(ibv_destroy_counters(taken), 0);
	CHECK_ERR(ibv_destroy_counters(sniffed), 0);
	wire_close(&w);
}

/* A flow that drops frames keeps them from later flows, also if it is to share them. */
static void drop_that_shares(void)
{
	struct flow_attr drop = flow_of(IBV_FLOW_ATTR_NORMAL, 0), later = flow_of(IBV_FLOW_ATTR_NORMAL, 1);
	struct ibv_counters *dropped, *taken;
	struct ibv_flow *flow[2];
	struct wire w;

	wire_open(&w);
	dropped = counters_of(&w.near);
	taken = counters_of(&w.near);
	CHECK_ERR(attach(dropped, IBV_COUNTER_PACKETS, 0, NULL), 0);
	CHECK_ERR(attach(taken, IBV_COUNTER_PACKETS, 0, NULL), 0);
	drop.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	spec_type(&drop, TYPE);
	spec_drop(&drop);
	spec_count(&drop, dropped);
	spec_type(&later, TYPE);
	spec_count(&later, taken);
	flow[0] = flow_create(&w.near, &drop);
	flow[1] = flow_create(&w.near, &later);
	put_many(&w, w.near.mac, 90, 2);
	want_value(dropped, 0, 2);
	CHECK_ERR(ibv_destroy_flow(flow[0]), 0);
	put_many(&w, w.near.mac, 90, 1);
	want_value(taken, 0, 1);
	CHECK_ERR(ibv_destroy_flow(flow[1]), 0);
	CHECK_ERR(ibv_destroy_counters(dropped), 0);
	CHECK_ERR(ibv_destroy_counters(taken), 0);
	wire_close(&w);
}

/* Frames that a host sends as one packet are counted as they would be on a wire. */
static void pieces(void)
{
	struct flow_attr attr = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_counters *counters;
	struct ibv_flow *flow;
	struct wire w;

	wire_open(&w);
	counters = counters_of(&w.near);
	CHECK_ERR(attach(counters, IBV_COUNTER_PACKETS, 0, NULL), 0);
	CHECK_ERR(attach(counters, IBV_COUNTER_BYTES, 1, NULL), 0);
	spec_port(&attr, IBV_FLOW_SPEC_UDP, 5005);
	spec_count(&attr, counters);
	flow = flow_create(&w.near, &attr);
	send_super(&w.far, "10.89.0.1", 5005, 1000, 3);
	want_value(counters, 0, 3);
	want_value(counters, 1, 3 * (HDR + 28 + 1000));
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	CHECK_ERR(ibv_destroy_counters(counters), 0);
	wire_close(&w);
}

/* ---- points of flows that exist ---- */

static void attached_to_flows(void)
{
	struct flow_attr to_group = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_counters *first, *second;
	struct ibv_flow *flow[2], *later;
	struct wire w;

	wire_open(&w);
	first = counters_of(&w.near);
	second = counters_of(&w.near);
	flow[0] = flow_type(&w.near, TYPE);
	spec_dst(&to_group, group);
	to_group.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	flow[1] = flow_create(&w.near, &to_group);
	put_many(&w, group, 100, 1);
	frames_arrived(&w);
	/* Each flow has a value of its own, and a flow is counted in two objects. */
	CHECK_ERR(attach(first, IBV_COUNTER_PACKETS, 3, flow[0]), 0);
	CHECK_ERR(attach(first, IBV_COUNTER_PACKETS, 4, flow[1]), 0);
	CHECK_ERR(attach(second, IBV_COUNTER_BYTES, 0, flow[1]), 0);
	put_many(&w, w.near.mac, 100, 2);
	put_many(&w, group, 110, 1);
	want_value(first, 3, 3);
	want_value(first, 4, 1);
	want_value(second, 0, 110);
	/* They are in use, and may be attached to other flows nevertheless, and to later ones. */
	CHECK_ERR(ibv_destroy_counters(second), EBUSY);
	CHECK_ERR(attach(second, IBV_COUNTER_BYTES, 2, NULL), 0);
	/* The points of later flows do not change while a flow exists that was created with them. */
	later = counted(&w, w.near.mac, second);
	CHECK_ERR(attach(second, IBV_COUNTER_BYTES, 1, NULL), EBUSY);
	CHECK(why_reason() == UNIV_REASON_COUNTERS && strstr(why_text(), "already"), "explained as: %s", why_text());
	CHECK_ERR(attach(second, IBV_COUNTER_BYTES, 5, later), 0);
	CHECK_ERR(ibv_destroy_flow(later), 0);
	CHECK_ERR(attach(second, IBV_COUNTER_BYTES, 6, NULL), 0);
	CHECK_ERR(attach(second, IBV_COUNTER_BYTES, 1, flow[0]), 0);
	CHECK_ERR(ibv_destroy_flow(flow[1]), 0);
	CHECK_ERR(ibv_destroy_counters(second), EBUSY);
	put_many(&w, group, 120, 1);
	want_value(second, 1, 120);
	want_value(first, 3, 4);
	want_value(first, 4, 1);
	want_value(second, 0, 110);
	CHECK_ERR(ibv_destroy_flow(flow[0]), 0);
	CHECK_ERR(attach(second, IBV_COUNTER_BYTES, 1, NULL), 0);
	CHECK_ERR(ibv_destroy_counters(second), 0);
	CHECK_ERR(ibv_destroy_counters(first), 0);
	wire_close(&w);
}

/* ---- mistakes ---- */

static void want_no_flow(struct wire *w, struct flow_attr *attr, const char *text)
{
	int home = enter(&w->near);

	CHECK_NULL(ibv_create_flow(w->near.s.qp, &attr->attr), EINVAL);
	leave(home);
	CHECK(strstr(why_text(), text), "explained as: %s", why_text());
}

static void wrong_points(void)
{
	struct ibv_counters_init_attr init = { .comp_mask = 1 };
	struct ibv_counter_attach_attr masked = { .comp_mask = 1 };
	struct ibv_counters *counters;
	struct ibv_flow *foreign, *flow;
	uint64_t values[1];
	struct wire w;

	wire_open(&w);
	foreign = flow_type(&w.far, TYPE);
	CHECK_NULL(ibv_create_counters(w.near.s.dev.ctx, &init), EOPNOTSUPP);
	CHECK(strstr(why_text(), "comp_mask"), "explained as: %s", why_text());
	counters = counters_of(&w.near);
	CHECK_ERR(ibv_attach_counters_point_flow(counters, &masked, NULL), EOPNOTSUPP);
	CHECK_ERR(attach(counters, IBV_COUNTER_BYTES + 1, 0, NULL), ENOTSUP);
	CHECK(strstr(why_text(), "IBV_COUNTER_BYTES"), "explained as: %s", why_text());
	CHECK_ERR(attach(counters, IBV_COUNTER_BYTES, VALUES, NULL), EINVAL);
	CHECK(why_reason() == UNIV_REASON_LIMIT, "explained as: %s", why_text());
	CHECK_ERR(attach(counters, IBV_COUNTER_BYTES, UINT32_MAX, NULL), EINVAL);
	CHECK_ERR(attach(counters, IBV_COUNTER_BYTES, 0, foreign), EINVAL);
	CHECK(why_reason() == UNIV_REASON_CONTEXT, "explained as: %s", why_text());
	CHECK_ERR(ibv_read_counters(counters, values, 1, 2), EOPNOTSUPP);
	CHECK(strstr(why_text(), "PREFER_CACHED"), "explained as: %s", why_text());
	for (int i = 0; i < POINTS; i++)
		CHECK_ERR(attach(counters, IBV_COUNTER_PACKETS, 0, NULL), 0);
	CHECK_ERR(attach(counters, IBV_COUNTER_PACKETS, 0, NULL), ENOMEM);
	CHECK(why_reason() == UNIV_REASON_LIMIT && strstr(why_text(), "points"), "explained as: %s", why_text());
	/* Such a flow has all points that a flow can have. */
	flow = counted(&w, w.near.mac, counters);
	CHECK_ERR(attach(counters, IBV_COUNTER_PACKETS, 0, flow), ENOMEM);
	put_many(&w, w.near.mac, 100, 1);
	want_value(counters, 0, POINTS);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	CHECK_ERR(ibv_destroy_counters(counters), 0);
	CHECK_ERR(ibv_destroy_flow(foreign), 0);
	wire_close(&w);
}

static void wrong_specs(void)
{
	struct flow_attr none = flow_of(IBV_FLOW_ATTR_NORMAL, 0), twice = flow_of(IBV_FLOW_ATTR_NORMAL, 0),
		other = flow_of(IBV_FLOW_ATTR_NORMAL, 0), brief = flow_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_counter_action spec = { .type = IBV_FLOW_SPEC_ACTION_COUNT, .size = 8 };
	struct ibv_counters *counters, *foreign;
	struct wire w;

	wire_open(&w);
	counters = counters_of(&w.near);
	foreign = counters_of(&w.far);
	spec_count(&none, counters);
	want_no_flow(&w, &none, "count nothing");
	CHECK_ERR(attach(counters, IBV_COUNTER_PACKETS, 0, NULL), 0);
	CHECK_ERR(attach(foreign, IBV_COUNTER_PACKETS, 0, NULL), 0);
	spec_count(&twice, counters);
	spec_count(&twice, counters);
	want_no_flow(&w, &twice, "another spec");
	spec_count(&other, foreign);
	want_no_flow(&w, &other, "another context");
	spec_add(&brief, &spec, 8);
	want_no_flow(&w, &brief, "too short");
	/* The failures have left no use behind. */
	CHECK_ERR(ibv_destroy_counters(counters), 0);
	CHECK_ERR(ibv_destroy_counters(foreign), 0);
	wire_close(&w);
}

/* ---- races ---- */

static struct wire racing;
static _Atomic bool over;

static void *send_frames(void *arg)
{
	(void)arg;
	while (!over)
		put_many(&racing, racing.near.mac, 60, 20);
	return NULL;
}

/* The number of frames that a destroyed flow has counted: the last one may still be under way. */
static uint64_t settled(struct ibv_counters *counters)
{
	uint64_t last, now = value(counters, 0);

	do {
		last = now;
		usleep(200);
		now = value(counters, 0);
	} while (now != last);
	return now;
}

/* Points, flows and counters come and go while frames are counted. */
static void races(void)
{
	uint64_t before, values[2];
	struct ibv_counters *counters[2];
	struct ibv_flow *flow;
	pthread_t thread;

	wire_open(&racing);
	NEED(!pthread_create(&thread, NULL, send_frames, NULL), "pthread_create");
	for (int n = 0; n < test_rounds(300); n++) {
		counters[0] = counters_of(&racing.near);
		counters[1] = counters_of(&racing.near);
		CHECK_ERR(attach(counters[0], IBV_COUNTER_PACKETS, 0, NULL), 0);
		CHECK_ERR(attach(counters[0], IBV_COUNTER_BYTES, 1, NULL), 0);
		flow = counted(&racing, racing.near.mac, counters[0]);
		before = 0;
		for (uint32_t i = 0; i < 8; i++) {
			CHECK_ERR(attach(counters[i % 2], IBV_COUNTER_PACKETS, 2 + i, flow), 0);
			CHECK_ERR(ibv_read_counters(counters[0], values, 2, 0), 0);
			CHECK(values[0] >= before, "a value falls");
			before = values[0];
		}
		CHECK_ERR(ibv_destroy_counters(counters[0]), EBUSY);
		CHECK_ERR(ibv_destroy_flow(flow), 0);
		want_value(counters[0], 1, 60 * settled(counters[0]));
		CHECK_ERR(ibv_destroy_counters(counters[0]), 0);
		CHECK_ERR(ibv_destroy_counters(counters[1]), 0);
	}
	over = true;
	pthread_join(thread, NULL);
	wire_close(&racing);
}

static const struct test_case cases[] = {
	{ "counts", counts },
	{ "who_counts", who_counts },
	{ "drop_that_shares", drop_that_shares },
	{ "pieces", pieces },
	{ "attached_to_flows", attached_to_flows },
	{ "wrong_points", wrong_points },
	{ "wrong_specs", wrong_specs },
	{ "races", races },
};

TEST_MAIN("flow_counters", cases, 60)
