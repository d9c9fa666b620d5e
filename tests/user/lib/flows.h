/* SPDX-License-Identifier: GPL-2.0 */
/* Flows of stations (frames.h). A flow is an attribute with a list of specs behind it. */
#ifndef FLOWS_H
#define FLOWS_H

#include "frames.h"
#include "threads.h"

struct flow_attr {
	struct ibv_flow_attr attr;
	uint8_t specs[512];
} __attribute__((packed, aligned(8)));

static MAYBE_UNUSED struct flow_attr flow_of(enum ibv_flow_attr_type type, uint16_t priority)
{
	return (struct flow_attr) {
		.attr = { .type = type, .size = sizeof(struct ibv_flow_attr), .priority = priority, .port = PORT },
	};
}

static MAYBE_UNUSED void spec_add(struct flow_attr *flow, const void *spec, uint16_t size)
{
	memcpy((uint8_t *)flow + flow->attr.size, spec, size);
	flow->attr.size = (uint16_t)(flow->attr.size + size);
	flow->attr.num_of_specs++;
}

static MAYBE_UNUSED struct ibv_flow_spec_eth eth_spec(void)
{
	return (struct ibv_flow_spec_eth) { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(struct ibv_flow_spec_eth) };
}

static MAYBE_UNUSED void spec_type(struct flow_attr *flow, uint16_t type)
{
	struct ibv_flow_spec_eth spec = eth_spec();

	spec.val.ether_type = htobe16(type);
	spec.mask.ether_type = 0xffff;
	spec_add(flow, &spec, sizeof(spec));
}

static MAYBE_UNUSED void spec_dst(struct flow_attr *flow, const uint8_t *mac)
{
	struct ibv_flow_spec_eth spec = eth_spec();

	memcpy(spec.val.dst_mac, mac, 6);
	memset(spec.mask.dst_mac, 0xff, 6);
	spec_add(flow, &spec, sizeof(spec));
}

static MAYBE_UNUSED void spec_tag(struct flow_attr *flow, uint32_t tag)
{
	struct ibv_flow_spec_action_tag spec = {
		.type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(spec), .tag_id = tag,
	};

	spec_add(flow, &spec, sizeof(spec));
}

static MAYBE_UNUSED void spec_drop(struct flow_attr *flow)
{
	struct ibv_flow_spec_action_drop spec = { .type = IBV_FLOW_SPEC_ACTION_DROP, .size = sizeof(spec) };

	spec_add(flow, &spec, sizeof(spec));
}

static MAYBE_UNUSED void spec_port(struct flow_attr *flow, enum ibv_flow_spec_type type, uint16_t port)
{
	struct ibv_flow_spec_tcp_udp spec = { .type = type, .size = sizeof(spec) };

	spec.val.dst_port = htobe16(port);
	spec.mask.dst_port = 0xffff;
	spec_add(flow, &spec, sizeof(spec));
}

static MAYBE_UNUSED struct ibv_flow *flow_create(struct station *r, struct flow_attr *flow)
{
	int home = enter(r);
	struct ibv_flow *made = ibv_create_flow(r->s.qp, &flow->attr);

	leave(home);
	NEED(made, "create_flow: %s; %s", err_name(errno), why_text());
	return made;
}

/* A flow of all frames of a type. */
static MAYBE_UNUSED struct ibv_flow *flow_type(struct station *r, uint16_t type)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);

	spec_type(&flow, type);
	return flow_create(r, &flow);
}

/* Two stations, and a packet socket beside the second one. */
struct wire {
	struct station near;
	struct station far;
	int fd;
	uint8_t frame[SLOT];
};

static MAYBE_UNUSED void wire_open_flags(struct wire *w, uint32_t create_flags, uint16_t type)
{
	stay_here();
	station_open_flags(&w->near, 0, create_flags);
	station_open(&w->far, 1);
	station_recvs(&w->near);
	w->fd = observe(&w->far, type);
}

static MAYBE_UNUSED void wire_open(struct wire *w)
{
	wire_open_flags(w, 0, TYPE);
}

static MAYBE_UNUSED void wire_close(struct wire *w)
{
	close(w->fd);
	side_close(&w->near.s);
	side_close(&w->far.s);
}

/* A frame of the far end for the near one. */
static MAYBE_UNUSED uint32_t to_near(struct wire *w, uint32_t len)
{
	return make_frame(w->frame, w->near.mac, w->far.mac, TYPE, len);
}

static MAYBE_UNUSED uint32_t to_far(struct wire *w, uint32_t len)
{
	return make_frame(w->frame, w->far.mac, w->near.mac, TYPE, len);
}

static MAYBE_UNUSED void give_back(struct station *s, const struct got *got)
{
	station_recv(s, got->slot);
}

#define MARKER	(TYPE + 1)

/*
 * Wait until each frame that the far end has sent has met the flows, which may change then. The
 * marker is queued behind these frames, and a packet socket gets it without a receive request.
 */
static MAYBE_UNUSED void frames_arrived(struct wire *w)
{
	int here = observe(&w->near, MARKER);
	uint8_t frame[60];

	put(w->fd, frame, make_frame(frame, w->near.mac, w->far.mac, MARKER, sizeof(frame)));
	observed(here, frame, sizeof(frame));
	close(here);
}

static MAYBE_UNUSED void quiet_open(struct wire *w)
{
	wire_open(w);
	/* No other frames may arrive, since one flow takes all of them. */
	quiet(&w->near);
}

static MAYBE_UNUSED struct ibv_flow *tagged(struct wire *w, enum ibv_flow_attr_type type, uint16_t priority,
					     uint32_t flags, uint32_t tag)
{
	struct flow_attr flow = flow_of(type, priority);

	flow.attr.flags = flags;
	if (type == IBV_FLOW_ATTR_NORMAL)
		spec_type(&flow, TYPE);
	spec_tag(&flow, tag);
	return flow_create(&w->near, &flow);
}

/* ---- counters ---- */

#define VALUES	64	/* UNIV_COUNTERS_VALUES */

static MAYBE_UNUSED struct ibv_counters *counters_of(struct station *s)
{
	struct ibv_counters_init_attr attr = {};
	struct ibv_counters *counters = ibv_create_counters(s->s.dev.ctx, &attr);

	NEED(counters, "create_counters: %s; %s", err_name(errno), why_text());
	return counters;
}

static MAYBE_UNUSED int attach(struct ibv_counters *counters, enum ibv_counter_description what, uint32_t index, struct ibv_flow *flow)
{
	struct ibv_counter_attach_attr attr = { .counter_desc = what, .index = index };

	return ibv_attach_counters_point_flow(counters, &attr, flow);
}

static MAYBE_UNUSED void spec_count(struct flow_attr *flow, struct ibv_counters *counters)
{
	struct ibv_flow_spec_counter_action spec = {
		.type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(spec), .counters = counters,
	};

	spec_add(flow, &spec, sizeof(spec));
}

static MAYBE_UNUSED uint64_t value(struct ibv_counters *counters, uint32_t index)
{
	uint64_t values[VALUES];

	CHECK_ERR(ibv_read_counters(counters, values, VALUES, IBV_READ_COUNTERS_ATTR_PREFER_CACHED), 0);
	return values[index];
}

/* A frame arrives some time after it was sent. */
static MAYBE_UNUSED bool want_value(struct ibv_counters *counters, uint32_t index, uint64_t want)
{
	uint64_t end = deadline_ms(WC_TIMEOUT), got;

	do
		got = value(counters, index);
	while (got != want && now_ns() < end);
	return CHECK(got == want, "value %u is %" PRIu64 ", not %" PRIu64, index, got, want);
}

/* ---- headers ---- */

/* The frame matches @flow, and does not match it once a byte is another one. */
static MAYBE_UNUSED void want_match(struct wire *w, struct flow_attr *attr, uint32_t len, uint32_t byte)
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

#endif
