// SPDX-License-Identifier: GPL-2.0
/*
 * Segmentation requests of raw packet queue pairs that are refused: wrong headers and sizes,
 * headers for which there is no room, and slots that the library would not write.
 */
#include "random.h"
#include "raw.h"
#include "side.h"
#include "tso.h"

static void again(struct station *r)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	CHECK_ERR(ibv_modify_qp(r->s.qp, &attr, IBV_QP_STATE), 0);
}

static void want_refused(struct station *r, const struct header *h, uint32_t size, uint32_t mss, uint32_t len,
			 enum ibv_wc_status status, const char *says)
{
	struct ibv_wc wc;

	CHECK_ERR(post_tso(r, h, size, mss, len, 0), 0);
	if (!CHECK(wait_wc(r->s.cq, &wc, WC_TIMEOUT) == 1, "no completion: %s", says))
		return;
	CHECK(wc.status == status, "%s: status %d instead of %d, header of %u bytes", says, wc.status, status, size);
	CHECK(strstr(why_text(), says), "not '%s': %s", says, why_text());
	if (wc.status)
		again(r);
}

#define BAD_HEADER(h, size) want_refused(&w.near, h, size, 1000, 5000, IBV_WC_LOC_QP_OP_ERR, "is exactly an Ethernet header")

static void bad_headers(void)
{
	struct header h, bad;
	struct wire w;

	tso_open(&w, TYPE);
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		h = make_header(w.far.mac, w.near.mac, &shapes[i]);
		BAD_HEADER(&h, h.len - 1);
		BAD_HEADER(&h, h.len + 1);
		BAD_HEADER(&h, h.len + 4);
		BAD_HEADER(&h, h.tcp + 19);
		BAD_HEADER(&h, h.tcp);
		BAD_HEADER(&h, h.ip + 1);
		BAD_HEADER(&h, h.ip);
		BAD_HEADER(&h, HDR);
		BAD_HEADER(&h, 0);
		for (uint32_t doff = 0; doff < 16; doff++) {
			bad = h;
			bad.bytes[h.tcp + TCP_DOFF] = (uint8_t)(doff << 4);
			if (bad.bytes[h.tcp + TCP_DOFF] != h.bytes[h.tcp + TCP_DOFF])
				BAD_HEADER(&bad, h.len);
		}
		bad = h;
		bad.bytes[h.ip - 2] ^= 1;
		BAD_HEADER(&bad, h.len);
		bad = h;
		bad.bytes[h.ip] ^= 0x20;
		BAD_HEADER(&bad, h.len);
		bad = h;
		bad.bytes[h.ip + (h.v6 ? 6 : IP_PROTO)] = IPPROTO_UDP;
		BAD_HEADER(&bad, h.len);
	}
	h = make_header(w.far.mac, w.near.mac, &shapes[0]);
	for (uint32_t ihl = 0; ihl < 16; ihl++) {
		bad = h;
		bad.bytes[h.ip] = (uint8_t)(0x40 | ihl);
		if (ihl != 5)
			BAD_HEADER(&bad, h.len);
	}
	bad = h;
	put16(bad.bytes + h.ip + IP_FRAG, 0x2000);
	BAD_HEADER(&bad, h.len);
	put16(bad.bytes + h.ip + IP_FRAG, 1);
	BAD_HEADER(&bad, h.len);
	/* IPv6 with an extension header, and two VLAN tags. */
	h = make_header(w.far.mac, w.near.mac, &shapes[2]);
	h.bytes[h.ip + 6] = 0;
	BAD_HEADER(&h, h.len);
	h = make_header(w.far.mac, w.near.mac, &shapes[3]);
	h.bytes[16] = 0x81;
	BAD_HEADER(&h, h.len);
	wire_close(&w);
}

#define BAD_FRAMES(mss, bytes) want_refused(&w.near, &h, h.len, mss, bytes, IBV_WC_LOC_LEN_ERR, "65280 bytes of data")

static void bad_sizes(void)
{
	struct header h;
	struct wire w;
	uint32_t most;

	tso_open(&w, TYPE);
	h = make_header(w.far.mac, w.near.mac, &shapes[1]);
	most = netdev_mtu(&w.near) - (h.len - h.ip);
	BAD_FRAMES(0, 100);
	BAD_FRAMES(0, 0);
	BAD_FRAMES(LEAST_MSS - 1, 100);
	BAD_FRAMES(LEAST_MSS, LEAST_MSS * MOST_FRAMES + 1);
	BAD_FRAMES(MOST / MOST_FRAMES - 1, MOST);
	BAD_FRAMES(most + 1, MOST);
	BAD_FRAMES(UINT16_MAX, most + 1);
	BAD_FRAMES(1000, MOST + 1);
	wire_close(&w);
}

static void want_unposted(struct station *r, const struct header *h, uint32_t size, unsigned int flags, const char *says)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(r->s.qp);

	CHECK_ERR(post_tso(r, h, size, 1000, 2000, flags), EINVAL);
	CHECK(strstr(why_text(), says), "not '%s': %s", says, why_text());
	if (flags)
		return;
	ibv_wr_start(ex);
	ibv_wr_send_tso(ex, (void *)h->bytes, (uint16_t)size, 1000);
	ibv_wr_set_sge(ex, r->s.mr->lkey, (uintptr_t)r->s.buf + PAYLOAD, 2000);
	CHECK_ERR(ibv_wr_complete(ex), EINVAL);
	CHECK(strstr(why_text(), says), "not '%s': %s", says, why_text());
}

/* The library refuses a header for which the slot has no room, and inline data. */
static void unposted(void)
{
	struct header h;
	struct wire w;

	tso_open(&w, TYPE);
	h = make_header(w.far.mac, w.near.mac, &shapes[0]);
	want_unposted(&w.near, &h, HEADER + 1, 0, "the limit is 128");
	want_unposted(&w.near, &h, UINT16_MAX, 0, "the limit is 128");
	want_unposted(&w.near, &h, h.len, IBV_SEND_INLINE, "IBV_WR_TSO");
	tso_qp(&w.near, (uint16_t)h.len);
	want_unposted(&w.near, &h, h.len + 1, 0, "max_tso_header");
	CHECK_ERR(post_tso(&w.near, &h, h.len, 1000, 2000, 0), 0);
	want_sent(&w.near);
	tso_qp(&w.near, 0);
	want_unposted(&w.near, &h, h.len, 0, "max_tso_header");
	want_unposted(&w.near, &h, 0, 0, "max_tso_header");
	wire_close(&w);
}

static void want_not_created(struct station *r, struct ibv_qp_init_attr_ex *init, int err)
{
	int home = enter(r);

	init->pd = r->s.pd;
	init->send_cq = init->recv_cq = r->s.cq;
	init->cap = (struct ibv_qp_cap){ 4, 4, 1, 1, 0 };
	init->comp_mask |= IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	CHECK_NULL(ibv_create_qp_ex(r->s.dev.ctx, init), err);
	leave(home);
	CHECK(why_reason() == UNIV_REASON_LIMIT && strstr(why_text(), "max_tso_header"), "%s", why_text());
}

static void not_created(void)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RAW_PACKET, .max_tso_header = 513 };
	struct station r;

	station_open(&r, 0);
	want_not_created(&r, &init, EINVAL);
	init.max_tso_header = UINT16_MAX;
	want_not_created(&r, &init, EINVAL);
	init.max_tso_header = 1;
	init.qp_type = IBV_QPT_UD;
	want_not_created(&r, &init, EOPNOTSUPP);
	init.qp_type = IBV_QPT_RC;
	want_not_created(&r, &init, EOPNOTSUPP);
	side_close(&r.s);
}

/* ---- hostile processes ---- */

/* Headers that are wrong in a few bytes are sent or refused, and the kernel goes on. */
static void garbage(void)
{
	uint64_t seed = rnd_seed();
	struct ibv_flow *flow;
	struct header h, bad;
	struct wire w;
	struct ibv_wc wc;

	tso_open(&w, TYPE);
	flow = tagged(&w, IBV_FLOW_ATTR_SNIFFER, 0, 0, 9);
	for (uint32_t n = 0; n < 1500; n++) {
		h = make_header(n % 4 ? w.far.mac : group, w.near.mac, &shapes[n % ARRAY_SIZE(shapes)]);
		bad = h;
		for (uint32_t i = rnd(&seed) % 4; i; i--)
			bad.bytes[12 + rnd(&seed) % (h.len - 12)] = (uint8_t)rnd(&seed);
		CHECK_ERR(post_tso(&w.near, &bad, h.len, 48 + rnd(&seed) % 2000, (uint32_t)(rnd(&seed) % 6000), 0), 0);
		if (!CHECK(wait_wc(w.near.s.cq, &wc, WC_TIMEOUT) == 1, "no completion of request %u", n))
			break;
		/* Frames that come back complete receive requests of the queue pair first. */
		while (wc.opcode == IBV_WC_RECV && wait_wc(w.near.s.cq, &wc, WC_TIMEOUT) == 1)
			;
		CHECK(!wc.status || wc.status == IBV_WC_LOC_QP_OP_ERR || wc.status == IBV_WC_LOC_LEN_ERR,
		      "request %u: status %d", n, wc.status);
		if (wc.status)
			again(&w.near);
	}
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	/* Late frames would reach the new flow. This one arrives behind them. */
	send_frame(&w.near, w.frame, to_far(&w, 60));
	observed(w.fd, w.frame, 60);
	flow = tcp_flow(&w.far);
	h = make_header(w.far.mac, w.near.mac, &shapes[0]);
	exchange(&w, &h, 1000, 5500);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	wire_close(&w);
}

/* A slot that the library would not write. Returns the reason of its completion. */
static uint32_t refused_header(int fd, struct raw_qp *qp, struct raw_cq *cq, struct univ_send_wr head, uint32_t at,
			       const void *header, uint32_t len)
{
	struct univ_cqe cqe = { 0 };
	struct univ_send_wr *wr = raw_slot(&qp->sq, qp->sq.index);

	memset(wr, 0xff, qp->sq.stride);
	head.opcode = UNIV_WR_TSO;
	head.flags |= UNIV_WR_SIGNALED;
	memcpy(wr, &head, offsetof(struct univ_send_wr, data));
	memcpy((uint8_t *)wr + at, header, len);
	CHECK_ERR(raw_publish(fd, &qp->sq, qp->handle, UNIV_KICK_SEND), 0);
	if (CHECK(raw_wait(cq, &cqe, WC_TIMEOUT), "no completion"))
		CHECK(cqe.status == IBV_WC_LOC_QP_OP_ERR, "status %u", cqe.status);
	CHECK_ERR(raw_to_state(fd, qp->handle, IBV_QPS_RTS), 0);
	return cqe.reason;
}

/* The header is of bytes 0xff. */
static uint32_t refused_slot(int fd, struct raw_qp *qp, struct raw_cq *cq, struct univ_send_wr head)
{
	return refused_header(fd, qp, cq, head, 0, "", 0);
}

/* Returns where the header is in a slot. */
static uint32_t raw_tso_qp(int fd, struct raw_qp *qp, uint32_t pd, uint32_t cq, uint32_t max_tso)
{
	struct univ_qp_attr init = { .attr_mask = IBV_QP_STATE | IBV_QP_PORT, .qp_state = IBV_QPS_INIT,
		.port_num = PORT };
	struct univ_qp_create arg;
	uint32_t at;

	raw_qp_arg(&arg, IBV_QPT_RAW_PACKET, pd, cq, 0);
	arg.max_tso_header = max_tso;
	raw_qp_make(fd, qp, &arg);
	at = offsetof(struct univ_send_wr, data) + 16 * arg.max_send_sge;
	CHECK(qp->sq.stride >= at + max_tso, "stride %u", qp->sq.stride);
	NEED_OK(raw_modify(fd, qp->handle, &init));
	NEED_OK(raw_to_state(fd, qp->handle, IBV_QPS_RTR));
	NEED_OK(raw_to_state(fd, qp->handle, IBV_QPS_RTS));
	return at;
}

static void lying_slots(void)
{
	static const struct shape longer = { .tcp_options = 16 };
	struct univ_send_wr head = { .tso = { UINT16_MAX, 1000 } };
	struct header h;
	struct raw_qp qp, plain;
	struct station r;
	struct raw_cq cq;
	uint32_t pd, reason, at;
	int fd, home;

	station_open(&r, 0);
	home = enter(&r);
	fd = raw_open();
	pd = raw_pd(fd);
	raw_cq(fd, &cq, 64, -1);
	at = raw_tso_qp(fd, &qp, pd, cq.handle, 66);
	raw_tso_qp(fd, &plain, pd, cq.handle, 0);
	leave(home);
	reason = refused_slot(fd, &qp, &cq, head);
	CHECK(reason == UNIV_REASON_TSO_HEADER, "a long header: reason %u", reason);
	head.tso.header = 67;
	reason = refused_slot(fd, &qp, &cq, head);
	CHECK(reason == UNIV_REASON_TSO_HEADER, "a header with a byte too many: reason %u", reason);
	/* Nothing else is wrong with this one. */
	h = make_header(r.mac, r.mac, &longer);
	head.tso.header = h.len;
	reason = refused_header(fd, &qp, &cq, head, at, h.bytes, h.len);
	CHECK(reason == UNIV_REASON_TSO_HEADER, "a header of %u bytes: reason %u", h.len, reason);
	head.tso.header = 66;
	reason = refused_slot(fd, &qp, &cq, head);
	CHECK(reason == UNIV_REASON_TSO_HEADER, "a header of bytes 0xff: reason %u", reason);
	head.count = UINT16_MAX;
	reason = refused_slot(fd, &qp, &cq, head);
	CHECK(reason == UNIV_REASON_WR_SGE, "a long list: reason %u", reason);
	head.flags = UNIV_WR_INLINE;
	head.count = 8;
	reason = refused_slot(fd, &qp, &cq, head);
	CHECK(reason == UNIV_REASON_WR_OPCODE, "inline data: reason %u", reason);
	head.flags = 0;
	head.count = 0;
	reason = refused_slot(fd, &plain, &cq, head);
	CHECK(reason == UNIV_REASON_WR_OPCODE, "a queue pair without headers: reason %u", reason);
	close(fd);
	raw_unmap(&qp.map);
	raw_unmap(&plain.map);
	raw_unmap(&cq.map);
	side_close(&r.s);
}

static const struct test_case cases[] = {
	{ "bad_headers", bad_headers },
	{ "bad_sizes", bad_sizes },
	{ "unposted", unposted },
	{ "not_created", not_created },
	{ "garbage", garbage },
	{ "lying_slots", lying_slots },
};

TEST_MAIN("bad_tso", cases, 100)
