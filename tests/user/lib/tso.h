/* SPDX-License-Identifier: GPL-2.0 */
/* Segmentation requests of stations (frames.h), and the frames that they have to become. */
#ifndef TSO_H
#define TSO_H

#include "flows.h"

#define MOST		65280	/* bytes of a request */
#define MOST_FRAMES	128
#define LEAST_MSS	48
#define HEADER		128	/* max_tso_header */
#define TCP_PORT	7300
#define PAYLOAD		(16 * SLOT)	/* of the sender's memory */
#define FIRST		16	/* slots of the receiver */

/* The header of a request, by what it contains. */
struct shape {
	const char *name;
	bool v6;
	bool tagged;
	uint32_t ip_options;
	uint32_t tcp_options;
};

static MAYBE_UNUSED const struct shape shapes[] = {
	{ "IPv4", false, false, 0, 0 },
	{ "IPv4 and TCP with options", false, false, 8, 12 },
	{ "IPv6", true, false, 0, 20 },
	{ "IPv4 in a VLAN", false, true, 0, 12 },
	{ "IPv6 in a VLAN", true, true, 0, 0 },
};

struct header {
	uint8_t bytes[2 * HEADER];
	uint32_t len;
	uint32_t ip;		/* offsets */
	uint32_t tcp;
	bool v6;
};


static MAYBE_UNUSED void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static MAYBE_UNUSED void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

#define TCP_LEN	20
#define ID	0xfffe
#define SEQ	0xfffffff0u

/* Offsets in the headers of IPv4 and TCP. */
enum { IP_TOT_LEN = 2, IP_ID = 4, IP_FRAG = 6, IP_PROTO = 9, IP_CHECK = 10, TCP_SEQ = 4, TCP_DOFF = 12, TCP_FLAGS, TCP_CHECK = 16 };

static MAYBE_UNUSED void put_ipv4(uint8_t *ip, uint32_t options)
{
	memcpy(ip, (uint8_t[]){ (uint8_t)(0x45 + options / 4), 0x28, 0x12, 0x34, ID >> 8, ID & 0xff, 0, 0, 9, IPPROTO_TCP,
		0x55, 0xaa, 10, 88, 0, 1, 10, 88, 0, 2 }, 20);
	memset(ip + 20, 1, options);
}

static MAYBE_UNUSED void put_ipv6(uint8_t *ip)
{
	fill(ip, 40, 3);
	ip[0] = 0x60;
	ip[6] = IPPROTO_TCP;
}

/* With FIN and PSH, which the last frame has, and CWR, which the first one has. */
static MAYBE_UNUSED void put_tcp(uint8_t *tcp, uint32_t options)
{
	put16(tcp, 4000);
	put16(tcp + 2, TCP_PORT);
	put32(tcp + TCP_SEQ, SEQ);
	put32(tcp + 8, 7);
	tcp[TCP_DOFF] = (uint8_t)((5 + options / 4) << 4);
	tcp[TCP_FLAGS] = 0x99;
	put16(tcp + 14, 99);
	put16(tcp + TCP_CHECK, 0x1111);
	memset(tcp + TCP_LEN, 1, options);
}

/* A header with wrong lengths and checksums, and with an ID and a sequence number that wrap soon. */
static MAYBE_UNUSED struct header make_header(const uint8_t *dst, const uint8_t *src, const struct shape *s)
{
	struct header h = { .ip = s->tagged ? HDR + 4 : HDR, .v6 = s->v6 };

	h.tcp = h.ip + (s->v6 ? 40 : 20 + s->ip_options);
	h.len = h.tcp + TCP_LEN + s->tcp_options;
	make_frame(h.bytes, dst, src, s->v6 ? ETH_P_IPV6 : ETH_P_IP, h.len);
	if (s->tagged) {
		memcpy(h.bytes + 16, h.bytes + 12, 2);
		memcpy(h.bytes + 12, (uint8_t[]){ 0x81, 0, 0x61, 0x23 }, 4);
	}
	if (s->v6)
		put_ipv6(h.bytes + h.ip);
	else
		put_ipv4(h.bytes + h.ip, s->ip_options);
	put_tcp(h.bytes + h.tcp, s->tcp_options);
	return h;
}

/* ---- sending and receiving ---- */

static MAYBE_UNUSED void tso_qp(struct station *r, uint16_t max_tso)
{
	struct ibv_qp_init_attr_ex init = {
		.max_tso_header = max_tso, .send_ops_flags = IBV_QP_EX_WITH_TSO | IBV_QP_EX_WITH_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};

	CHECK_ERR(ibv_destroy_qp(r->s.qp), 0);
	station_qp_ex(r, &init);
}

static MAYBE_UNUSED void tso_open(struct wire *w, uint16_t type)
{
	wire_open_flags(w, 0, type);
	tso_qp(&w->near, HEADER);
	station_recvs(&w->near);
	fill(w->near.s.buf + PAYLOAD, MOST + 1, 9);
	for (uint32_t slot = FIRST; slot < SLOTS; slot++)
		station_recv(&w->far, slot);
}

static MAYBE_UNUSED struct ibv_flow *tcp_flow(struct station *r)
{
	struct flow_attr flow = flow_of(IBV_FLOW_ATTR_NORMAL, 0);

	spec_port(&flow, IBV_FLOW_SPEC_TCP, TCP_PORT);
	return flow_create(r, &flow);
}

/* Post @len bytes in three pieces. */
static MAYBE_UNUSED int post_tso(struct station *r, const struct header *h, uint32_t size, uint32_t mss, uint32_t len,
		    unsigned int flags)
{
	uint32_t cut = len / 3;
	uint64_t at = (uintptr_t)r->s.buf + PAYLOAD;
	struct ibv_sge sge[3] = {
		{ at, cut, r->s.mr->lkey },
		{ at + cut, cut, r->s.mr->lkey },
		{ at + 2 * cut, len - 2 * cut, r->s.mr->lkey },
	};
	struct ibv_send_wr wr = {
		.wr_id = RECVS, .sg_list = sge, .num_sge = 3, .opcode = IBV_WR_TSO,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.tso = { (void *)h->bytes, (uint16_t)size, (uint16_t)mss },
	}, *bad;

	return ibv_post_send(r->s.qp, &wr, &bad);
}

static MAYBE_UNUSED void want_sent(struct station *r)
{
	struct ibv_wc wc;

	if (CHECK(wait_wc(r->s.cq, &wc, WC_TIMEOUT) == 1, "no completion") &&
	    CHECK(!wc.status, "status %d: %s", wc.status, why_text()))
		CHECK(wc.opcode == IBV_WC_TSO && wc.wr_id == RECVS, "opcode %d", wc.opcode);
}

/* The sum over a pseudo header and @len bytes of TCP. */
static MAYBE_UNUSED bool tcp_sum_right(uint8_t *frame, const struct header *h, uint32_t len)
{
	uint32_t sum = add_up(IPPROTO_TCP + len, frame + h->ip + (h->v6 ? 8 : 12), h->v6 ? 32 : 8);

	return add_up(sum, frame + h->tcp, len) == 0xffff;
}

/* Turn the header in @want into that of frame @i of @count, with @len bytes behind it. */
static MAYBE_UNUSED void header_of(uint8_t *want, const struct header *h, uint32_t i, uint32_t count, uint32_t mss,
				   uint32_t len)
{
	uint8_t *ip = want + h->ip, *tcp = want + h->tcp;

	if (h->v6) {
		put16(ip + 4, h->len - h->tcp + len);
	} else {
		put16(ip + IP_TOT_LEN, h->len - h->ip + len);
		put16(ip + IP_ID, ID + i);
	}
	put32(tcp + TCP_SEQ, SEQ + i * mss);
	tcp[TCP_FLAGS] &= (uint8_t)~((i ? 0x80 : 0) | (i + 1 < count ? 0x09 : 0));
}

/* Is @frame the frame @i of a request? */
static MAYBE_UNUSED bool want_frame(const struct header *h, uint8_t *frame, uint32_t got, uint32_t i, uint32_t mss,
		       uint32_t len, const uint8_t *payload)
{
	uint32_t count = len ? (len + mss - 1) / mss : 1;
	uint32_t bytes = i + 1 < count ? mss : len - i * mss;
	uint8_t want[2 * HEADER];

	if (!CHECK(got == h->len + bytes, "frame %u of %u has %u bytes, not %u", i, count, got, h->len + bytes))
		return false;
	memcpy(want, h->bytes, h->len);
	header_of(want, h, i, count, mss, bytes);
	if (!h->v6) {
		CHECK(add_up(0, frame + h->ip, h->tcp - h->ip) == 0xffff, "frame %u: checksum of IP", i);
		memcpy(want + h->ip + IP_CHECK, frame + h->ip + IP_CHECK, 2);
	}
	CHECK(tcp_sum_right(frame, h, h->len - h->tcp + bytes), "frame %u: checksum of TCP", i);
	memcpy(want + h->tcp + TCP_CHECK, frame + h->tcp + TCP_CHECK, 2);
	for (uint32_t at = 0; at < h->len; at++)
		if (!CHECK(frame[at] == want[at], "frame %u, byte %u: %#x, not %#x", i, at, frame[at], want[at]))
			return false;
	return CHECK(!memcmp(frame + h->len, payload + i * mss, bytes), "frame %u: other data", i);
}

/* The sender is on the same host, and vouches for the checksums that its net device does not have to make. */
static bool vouched = true;

/* The queue pair of @r gets the frames of a request. */
static MAYBE_UNUSED void want_frames(struct station *r, const struct header *h, uint32_t mss, uint32_t len, const uint8_t *payload)
{
	uint32_t count = len ? (len + mss - 1) / mss : 1;
	struct got got;

	for (uint32_t i = 0; i < count; i++) {
		if (!CHECK(take(r, &got, WC_TIMEOUT), "frame %u of %u is lost", i, count))
			return;
		CHECK(got.sums_ok == vouched, "frame %u: the flag of checksums is %d", i, got.sums_ok);
		want_frame(h, (uint8_t *)got.bytes, got.len, i, mss, len, payload);
		give_back(r, &got);
	}
	WANT_NO_FRAME(r);
}

static MAYBE_UNUSED void exchange(struct wire *w, const struct header *h, uint32_t mss, uint32_t len)
{
	CHECK_ERR(post_tso(&w->near, h, h->len, mss, len, 0), 0);
	want_sent(&w->near);
	want_frames(&w->far, h, mss, len, w->near.s.buf + PAYLOAD);
}

#endif
