// SPDX-License-Identifier: GPL-2.0
/*
 * Flags of work queues: the frame check sequence behind each frame, and padding. They are flags of
 * raw packet queue pairs as well. Frames that wait are in wq_delay.c.
 */
#include "rss.h"

#define FCS 4

/* ---- The frame check sequence ---------------------------------------------------- */

static uint32_t crc32_of(const uint8_t *bytes, uint32_t len)
{
	uint32_t crc = UINT32_MAX;

	while (len--) {
		crc ^= *bytes++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/* Send a frame, with a VLAN tag if @tagged, and compare what arrives. */
static void want_fcs(struct ibv_cq *cq, uint8_t (*in)[ROOM], bool tagged, bool stripped, bool fcs)
{
	uint32_t cut = tagged && stripped ? 4 : 0, sum;
	struct ibv_wc wc;
	struct frame f;
	uint8_t *bytes;

	frame_make(&f, false, tagged ? 0 : IPPROTO_UDP);
	if (tagged)
		memcpy(f.bytes + 12, (uint8_t[]){ 0x81, 0, 0x61, 0x23, 0x88, 0xb5 }, 6);
	sum = htole32(crc32_of(f.bytes, f.len));
	frame_send(&f);
	if (!WANT_WC(cq, &wc, IBV_WC_SUCCESS))
		return;
	bytes = in[wc.wr_id];
	if (!CHECK(wc.byte_len == f.len - cut + (fcs ? FCS : 0), "%u bytes of %u", wc.byte_len, f.len))
		return;
	CHECK(!memcmp(bytes, f.bytes, 12) && !memcmp(bytes + 12, f.bytes + 12 + cut, f.len - 12 - cut),
	      "the frame has other bytes");
	if (fcs)
		CHECK(!memcmp(bytes + f.len - cut, &sum, FCS), "a wrong frame check sequence");
}

static void fcs(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_FLAGS, .flags_mask = IBV_WQ_FLAGS_SCATTER_FCS };

	one_open(IBV_WQ_FLAGS_SCATTER_FCS);
	for (int slot = 0; slot < 20; slot++)
		post(0, (uint64_t)slot);
	want_fcs(cqs[0], memory->in[0], false, false, true);
	want_fcs(cqs[0], memory->in[0], true, false, true);
	CHECK_ERR(ibv_modify_wq(wqs[0], &attr), 0);
	want_fcs(cqs[0], memory->in[0], false, false, false);
	attr.flags_mask |= IBV_WQ_FLAGS_CVLAN_STRIPPING;
	attr.flags = attr.flags_mask;
	CHECK_ERR(ibv_modify_wq(wqs[0], &attr), 0);
	want_fcs(cqs[0], memory->in[0], false, true, true);
	/* The sequence covers the tag that the receiver does not get. */
	want_fcs(cqs[0], memory->in[0], true, true, true);
	one_close();
}

/* The room of a receive request has to hold the sequence as well. */
static void fcs_room(void)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;
	struct frame f;

	one_open(IBV_WQ_FLAGS_SCATTER_FCS);
	frame_make(&f, false, IPPROTO_UDP);
	sge = (struct ibv_sge){ (uintptr_t)memory->in[0][0], f.len + FCS - 1, mr->lkey };
	CHECK_ERR(ibv_post_wq_recv(wqs[0], &wr, &bad), 0);
	frame_send(&f);
	WANT_EMPTY(cqs[0]);
	CHECK_ERR(change(wqs[0], IBV_WQS_RESET), 0);
	CHECK_ERR(change(wqs[0], IBV_WQS_RDY), 0);
	sge.length++;
	CHECK_ERR(ibv_post_wq_recv(wqs[0], &wr, &bad), 0);
	frame_send(&f);
	if (WANT_WC(cqs[0], &wc, IBV_WC_SUCCESS))
		CHECK(wc.byte_len == f.len + FCS, "%u bytes", wc.byte_len);
	one_close();
}

/* The same flag of a queue pair, and padding, which changes no byte of a frame. */
static void fcs_qp(uint32_t flags)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RAW_PACKET, .create_flags = flags,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS, .pd = pd,
		.send_cq = cqs[1], .recv_cq = cqs[1], .cap = { 1, FRAMES, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT };
	struct ibv_qp *qp = ibv_create_qp_ex(dev.ctx, &init);

	NEED(qp, "create_qp_ex: %s; %s", err_name(errno), why_text());
	NEED_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT));
	attr.qp_state = IBV_QPS_RTR;
	NEED_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	for (uint64_t slot = 0; slot < 8; slot++) {
		struct ibv_sge sge = { (uintptr_t)memory->in[1][slot], ROOM, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

		CHECK_ERR(ibv_post_recv(qp, &wr, &bad), 0);
	}
	flow_to(qp);
	want_fcs(cqs[1], memory->in[1], false, false, flags & IBV_QP_CREATE_SCATTER_FCS);
	want_fcs(cqs[1], memory->in[1], true, flags & IBV_QP_CREATE_CVLAN_STRIPPING,
		 flags & IBV_QP_CREATE_SCATTER_FCS);
	CHECK_ERR(ibv_destroy_flow(flow), 0);
	CHECK_ERR(ibv_destroy_qp(qp), 0);
}

static void qp_flags(void)
{
	set_up();
	fcs_qp(IBV_QP_CREATE_SCATTER_FCS);
	fcs_qp(IBV_QP_CREATE_SCATTER_FCS | IBV_QP_CREATE_CVLAN_STRIPPING);
	fcs_qp(IBV_QP_CREATE_PCI_WRITE_END_PADDING);
	tear_down();
}

static void padding(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_FLAGS, .flags_mask = IBV_WQ_FLAGS_PCI_WRITE_END_PADDING };

	one_open(IBV_WQ_FLAGS_PCI_WRITE_END_PADDING);
	post(0, 0);
	want_fcs(cqs[0], memory->in[0], false, false, false);
	CHECK_ERR(ibv_modify_wq(wqs[0], &attr), EOPNOTSUPP);
	one_close();
}

static void caps(void)
{
	struct ibv_device_attr_ex ex;
	struct test_dev one;

	dev_open(&one);
	NEED_OK(ibv_query_device_ex(one.ctx, NULL, &ex));
	CHECK(ex.device_cap_flags_ex & IBV_DEVICE_RAW_SCATTER_FCS &&
	      ex.device_cap_flags_ex & IBV_DEVICE_PCI_WRITE_END_PADDING, "flags %#" PRIx64, ex.device_cap_flags_ex);
	CHECK(ex.raw_packet_caps & IBV_RAW_PACKET_CAP_SCATTER_FCS &&
	      ex.raw_packet_caps & IBV_RAW_PACKET_CAP_DELAY_DROP, "raw_packet_caps %#x", ex.raw_packet_caps);
	dev_close(&one);
}

static const struct test_case cases[] = {
	{ "caps", caps },
	{ "fcs", fcs },
	{ "fcs_room", fcs_room },
	{ "qp_flags", qp_flags },
	{ "padding", padding },
};

TEST_MAIN("wq_flags", cases, 60)
