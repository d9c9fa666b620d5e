// SPDX-License-Identifier: GPL-2.0
/*
 * Segmentation: one request of a raw packet queue pair becomes many TCP frames. Each frame is
 * compared with the one that it has to be: over a net device that takes the packet as a whole,
 * over one for which the kernel divides it, in a packet socket, and on the sending device.
 * bad_tso.c has requests that are refused.
 */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include "side.h"
#include "tso.h"

/* The same request with ibv_wr_send_tso(3), which sets the list after the header. */
static void send_by_batch(struct station *r, const struct header *h, uint32_t mss, uint32_t len)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(r->s.qp);

	ibv_wr_start(ex);
	ex->wr_id = RECVS;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_tso(ex, (void *)h->bytes, (uint16_t)h->len, (uint16_t)mss);
	ibv_wr_set_sge(ex, r->s.mr->lkey, (uintptr_t)r->s.buf + PAYLOAD, len);
	CHECK_ERR(ibv_wr_complete(ex), 0);
	want_sent(r);
}

/* Does the net device take packets that are not segmented (ETHTOOL_STSO), or have no checksums (ETHTOOL_STXCSUM)? */
static void offload(const struct station *r, uint32_t what, bool on)
{
	struct ethtool_value value = { .cmd = what, .data = on };
	struct ifreq ifr = { .ifr_data = (void *)&value };
	int home = enter(r), fd = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", r->netdev);
	NEED(fd >= 0 && !ioctl(fd, SIOCETHTOOL, &ifr), "ethtool %#x: %s", what, err_name(errno));
	close(fd);
	leave(home);
}

static void caps(void)
{
	struct ibv_device_attr_ex ex;
	struct test_dev dev;

	dev_open(&dev);
	NEED_OK(ibv_query_device_ex(dev.ctx, NULL, &ex));
	CHECK(ex.tso_caps.max_tso == MOST, "max_tso %u", ex.tso_caps.max_tso);
	CHECK(ex.tso_caps.supported_qpts == 1u << IBV_QPT_RAW_PACKET, "supported_qpts %#x",
	      ex.tso_caps.supported_qpts);
	dev_close(&dev);
}

static void all_shapes(struct wire *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct header h = make_header(w->far.mac, w->near.mac, &shapes[i]);

		printf("# %s\n", shapes[i].name);
		exchange(w, &h, 1000, 5500);
		exchange(w, &h, 1000, 3000);
	}
}

/* The net device takes the packet as a whole, and then the kernel divides it for the device. */
static void segments(void)
{
	struct ibv_flow *flow;
	struct wire w;

	tso_open(&w, TYPE);
	flow = tcp_flow(&w.far);
	all_shapes(&w);
	offload(&w.near, ETHTOOL_STSO, false);
	all_shapes(&w);
	offload(&w.near, ETHTOOL_STSO, true);
	offload(&w.near, ETHTOOL_STXCSUM, false);
	vouched = false;
	all_shapes(&w);
	vouched = true;
	offload(&w.near, ETHTOOL_STXCSUM, true);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	wire_close(&w);
}

static void sizes(void)
{
	struct ibv_flow *flow;
	struct header h;
	struct wire w;
	uint32_t most;

	tso_open(&w, TYPE);
	flow = tcp_flow(&w.far);
	h = make_header(w.far.mac, w.near.mac, &shapes[1]);
	most = netdev_mtu(&w.near) - (h.len - h.ip);
	exchange(&w, &h, 1000, 0);
	exchange(&w, &h, 1000, 1);
	exchange(&w, &h, 1000, 999);
	exchange(&w, &h, 1000, 1000);
	exchange(&w, &h, 1000, 1001);
	exchange(&w, &h, most, MOST);
	exchange(&w, &h, MOST / MOST_FRAMES, MOST);
	exchange(&w, &h, LEAST_MSS, LEAST_MSS * MOST_FRAMES);
	/* The data fits in one frame, so a longer mss does no harm. */
	exchange(&w, &h, UINT16_MAX, most);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	wire_close(&w);
}

static void batches(void)
{
	struct ibv_flow *flow;
	struct wire w;

	tso_open(&w, TYPE);
	flow = tcp_flow(&w.far);
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct header h = make_header(w.far.mac, w.near.mac, &shapes[i]);

		send_by_batch(&w.near, &h, 1300, 9999);
		want_frames(&w.far, &h, 1300, 9999, w.near.s.buf + PAYLOAD);
	}
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	wire_close(&w);
}

/* A packet socket, which knows nothing of this device, sees the same frames. */
static void observed_frames(void)
{
	uint8_t bytes[SLOT];
	struct header h;
	struct wire w;

	tso_open(&w, ETH_P_IP);
	offload(&w.near, ETHTOOL_STXCSUM, false);
	h = make_header(w.far.mac, w.near.mac, &shapes[1]);
	CHECK_ERR(post_tso(&w.near, &h, h.len, 1400, 7000, 0), 0);
	want_sent(&w.near);
	for (uint32_t i = 0; i < 5;) {
		ssize_t got = recv(w.fd, bytes, sizeof(bytes), 0);

		if (!CHECK(got > 0, "the socket gets no frame %u", i))
			break;
		/* The hosts send packets, too. */
		if (got > HDR && !memcmp(bytes + HDR + 12, h.bytes + HDR + 12, 8))
			want_frame(&h, bytes, (uint32_t)got, i++, 1400, 7000, w.near.s.buf + PAYLOAD);
	}
	offload(&w.near, ETHTOOL_STXCSUM, true);
	wire_close(&w);
}

/* Frames for the device itself, and multicast frames, go to its own flows. */
static void looped(void)
{
	struct ibv_flow *flow;
	struct station other;
	struct header h;
	struct wire w;

	tso_open(&w, TYPE);
	station_open(&other, 0);
	flow = tcp_flow(&other);
	for (uint32_t slot = FIRST; slot < SLOTS; slot++)
		station_recv(&other, slot);
	h = make_header(group, w.near.mac, &shapes[2]);
	CHECK_ERR(post_tso(&w.near, &h, h.len, 700, 40000, 0), 0);
	want_sent(&w.near);
	want_frames(&other, &h, 700, 40000, w.near.s.buf + PAYLOAD);
	h = make_header(w.near.mac, w.far.mac, &shapes[0]);
	CHECK_ERR(post_tso(&w.near, &h, h.len, 700, 600, 0), 0);
	want_sent(&w.near);
	want_frames(&other, &h, 700, 600, w.near.s.buf + PAYLOAD);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	side_close(&other.s);
	wire_close(&w);
}

/* A request counts once as a send, with the bytes behind its header. */
static void counted(void)
{
	struct ibv_qp_attach_comp_cntr_attr ops = { .op_mask = IBV_QP_ATTACH_COMP_CNTR_OP_SEND };
	struct ibv_comp_cntr_init_attr init = { .type = IBV_COMP_CNTR_TYPE_BYTES };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET, .port_num = PORT };
	struct ibv_comp_cntr *cntr;
	uint64_t value = 0;
	struct header h;
	struct wire w;

	tso_open(&w, TYPE);
	cntr = ibv_create_comp_cntr(w.near.s.dev.ctx, &init);
	NEED_PTR(cntr, "create_comp_cntr");
	NEED_OK(ibv_modify_qp(w.near.s.qp, &attr, IBV_QP_STATE));
	CHECK_ERR(ibv_qp_attach_comp_cntr(w.near.s.qp, cntr, &ops), 0);
	attr.qp_state = IBV_QPS_INIT;
	NEED_OK(ibv_modify_qp(w.near.s.qp, &attr, IBV_QP_STATE | IBV_QP_PORT));
	for (attr.qp_state = IBV_QPS_RTR; attr.qp_state <= IBV_QPS_RTS; attr.qp_state++)
		NEED_OK(ibv_modify_qp(w.near.s.qp, &attr, IBV_QP_STATE));
	h = make_header(w.far.mac, w.near.mac, &shapes[1]);
	CHECK_ERR(post_tso(&w.near, &h, h.len, 1000, 5500, 0), 0);
	want_sent(&w.near);
	CHECK_ERR(ibv_read_comp_cntr(cntr, &value), 0);
	CHECK(value == 5500, "%" PRIu64 " bytes are counted", value);
	CHECK_ERR(ibv_destroy_qp(w.near.s.qp), 0);
	w.near.s.qp = NULL;
	CHECK_ERR(ibv_destroy_comp_cntr(cntr), 0);
	wire_close(&w);
}

static const struct test_case cases[] = {
	{ "caps", caps },
	{ "segments", segments },
	{ "sizes", sizes },
	{ "batches", batches },
	{ "observed_frames", observed_frames },
	{ "looped", looped },
	{ "counted", counted },
};

TEST_MAIN("tso", cases, 100)
