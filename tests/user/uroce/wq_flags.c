// SPDX-License-Identifier: GPL-2.0
/*
 * Flags of work queues: the frame check sequence behind each frame, frames that wait for receive
 * requests, and padding. The first flag and the last one are flags of raw packet queue pairs as
 * well.
 */
#include <sys/mman.h>
#include "rss.h"

#define FCS 4
/* Frames wait for a tenth of a second. A slow machine may need longer for a step; then it is repeated. */
#define SOON_NS 80000000ull
#define TRY_MS 40000
#define MOST 256	/* frames that wait */
#define PAGES 3
#define PAGE_ROOM 65536	/* a page on every architecture, or several */

static struct ibv_wq *saved;

/* One work queue with @flags gets all frames, and has no receive requests yet. */
static void one_open(uint32_t flags)
{
	set_up();
	CHECK_ERR(ibv_destroy_rwq_ind_table(table), 0);
	saved = wqs[0];
	wqs[0] = make_wq(cqs[0], flags);
	CHECK_ERR(change(wqs[0], IBV_WQS_RDY), 0);
	table = make_table(&wqs[0], 0);
	make_rss(0);
}

static void one_close(void)
{
	drop_rss();
	CHECK_ERR(ibv_destroy_rwq_ind_table(table), 0);
	CHECK_ERR(ibv_destroy_wq(wqs[0]), 0);
	wqs[0] = saved;
	table = make_table(entries, LOG);
	tear_down();
}

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

/* ---- Frames that wait ------------------------------------------------------------ */

/* A frame that has a number. */
static void send_number(uint32_t n)
{
	struct frame f;

	frame_make(&f, false, 0);
	memcpy(f.bytes + 20, &n, sizeof(n));
	frame_send(&f);
}

static void want_number(uint32_t n)
{
	struct ibv_wc wc;
	uint32_t got;

	if (!WANT_WC(cqs[0], &wc, IBV_WC_SUCCESS))
		return;
	memcpy(&got, memory->in[0][wc.wr_id] + 20, sizeof(got));
	CHECK(got == n, "frame %u instead of %u", got, n);
}

/* Do @step until it takes less time than a frame waits. Each try begins with an empty work queue. */
static void soon(void (*step)(void), void (*check)(void))
{
	uint64_t start, end = deadline_ms(TRY_MS * test_slowness());
	struct ibv_wc wc;

	for (int again = 0; now_ns() < end; again++) {
		start = now_ns();
		step();
		if (now_ns() - start < SOON_NS) {
			check();
			repeated(again, "the frames took too long");
			return;
		}
		CHECK_ERR(change(wqs[0], IBV_WQS_RESET), 0);
		CHECK_ERR(change(wqs[0], IBV_WQS_RDY), 0);
		while (ibv_poll_cq(cqs[0], 1, &wc) > 0)
			continue;
	}
	CHECK(false, "the machine is too slow");
}

static void send_and_post(void)
{
	for (uint32_t i = 0; i < 5; i++)
		send_number(i);
	post(0, 0);
	post(0, 1);
	/* It has to wait behind the others. */
	send_number(5);
	for (uint64_t slot = 2; slot < 6; slot++)
		post(0, slot);
}

static void want_six(void)
{
	for (uint32_t i = 0; i < 6; i++)
		want_number(i);
	WANT_EMPTY(cqs[0]);
}

/* Frames wait for requests, and arrive in their order. */
static void waits(void)
{
	one_open(IBV_WQ_FLAGS_DELAY_DROP);
	soon(send_and_post, want_six);
	/* Frames that find a request do not wait. */
	post(0, 0);
	send_number(7);
	want_number(7);
	one_close();
}

/* Without the flag they are lost. */
static void lost(void)
{
	one_open(0);
	send_number(0);
	post(0, 0);
	send_number(1);
	want_number(1);
	WANT_EMPTY(cqs[0]);
	one_close();
}

/* A frame waits for a limited time. A late timer would leave it for a receive request. */
static void expires(void)
{
	uint64_t before;

	one_open(IBV_WQ_FLAGS_DELAY_DROP);
	before = hw_counter(dev_wanted(), "out_of_buffer");
	send_number(0);
	send_number(1);
	want_lost(dev_wanted(), before + 2);
	post(0, 0);
	send_number(2);
	want_number(2);
	WANT_EMPTY(cqs[0]);
	/* The next one waits again. */
	soon(send_and_post, want_six);
	one_close();
}

static uint32_t arrived;
static bool in_order;

static void send_many(void)
{
	struct ibv_wc wc;

	arrived = 0;
	in_order = true;
	for (uint32_t i = 0; i < MOST + 40; i++)
		send_number(i);
	for (uint64_t slot = 0; slot < FRAMES; slot++)
		post(0, slot);
	while (ibv_poll_cq(cqs[0], 1, &wc) > 0) {
		uint32_t got;

		memcpy(&got, memory->in[0][wc.wr_id] + 20, sizeof(got));
		in_order &= got == arrived;
		arrived++;
		post(0, wc.wr_id);
	}
}

static void want_most(void)
{
	CHECK(arrived == MOST, "%u frames have waited", arrived);
	CHECK(in_order, "frames have arrived in another order");
}

/* Not more than a number of frames wait. */
static void bounded(void)
{
	one_open(IBV_WQ_FLAGS_DELAY_DROP);
	soon(send_many, want_most);
	one_close();
}

static uint8_t *pages;
static struct ibv_mr *pages_mr;

/* Each frame finds a receive request whose page is missing. */
static void send_to_missing(void)
{
	uint64_t start = now_ns();
	struct ibv_wc wc;

	NEED(!madvise(pages, PAGES * PAGE_ROOM, MADV_DONTNEED), "madvise: %s", err_name(errno));
	for (uint64_t i = 0; i < PAGES; i++) {
		struct ibv_sge sge = { (uintptr_t)pages + i * PAGE_ROOM, ROOM, pages_mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		CHECK_ERR(ibv_post_wq_recv(wqs[0], &wr, &bad), 0);
	}
	for (uint32_t i = 0; i < PAGES; i++)
		send_number(i);
	arrived = 0;
	while (arrived < PAGES && now_ns() - start < SOON_NS) {
		if (ibv_poll_cq(cqs[0], 1, &wc) <= 0)
			continue;
		CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == arrived, "status %d of request %" PRIu64,
		      wc.status, wc.wr_id);
		arrived++;
	}
}

static void want_all(void)
{
	for (uint32_t i = 0; i < PAGES; i++) {
		uint32_t got;

		memcpy(&got, pages + i * PAGE_ROOM + 20, sizeof(got));
		CHECK(got == i, "frame %u instead of %u", got, i);
	}
	WANT_EMPTY(cqs[0]);
}

/* Frames wait for the pages of their requests, without another post. */
static void missing_pages(void)
{
	struct ibv_device_attr_ex ex;

	one_open(IBV_WQ_FLAGS_DELAY_DROP);
	NEED_OK(ibv_query_device_ex(dev.ctx, NULL, &ex));
	if (!(ex.odp_caps.general_caps & IBV_ODP_SUPPORT))
		SKIP("the device has no on-demand paging");
	pages = mmap(NULL, PAGES * PAGE_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(pages != MAP_FAILED, "mmap: %s", err_name(errno));
	pages_mr = ibv_reg_mr(pd, pages, PAGES * PAGE_ROOM, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	NEED(pages_mr, "reg_mr: %s; %s", err_name(errno), why_text());
	soon(send_to_missing, want_all);
	CHECK_ERR(ibv_dereg_mr(pages_mr), 0);
	munmap(pages, PAGES * PAGE_ROOM);
	one_close();
}

/* A reset, an error and the end of the queue lose the frames that wait. */
static void dropped(void)
{
	struct ibv_wc wc;

	one_open(IBV_WQ_FLAGS_DELAY_DROP);
	for (int i = 0; i < 20; i++) {
		send_number(0);
		if (i % 2) {
			CHECK_ERR(change(wqs[0], IBV_WQS_ERR), 0);
			post(0, 5);
			WANT_WC(cqs[0], &wc, IBV_WC_WR_FLUSH_ERR);
		}
		CHECK_ERR(change(wqs[0], IBV_WQS_RESET), 0);
		CHECK_ERR(change(wqs[0], IBV_WQS_RDY), 0);
		post(0, 0);
		WANT_EMPTY(cqs[0]);
		send_number(1);
		want_number(1);
	}
	send_number(2);
	one_close();
}

/* A process ends while frames wait, and one queue is destroyed as their time ends. */
static void left_behind(void)
{
	for (int i = 0; i < 20; i++) {
		one_open(IBV_WQ_FLAGS_DELAY_DROP);
		send_number(0);
		if (i % 4 == 3)
			usleep(95000 + 500 * i);
		if (i % 2) {
			one_close();
			continue;
		}
		CHECK_ERR(ibv_close_device(dev.ctx), 0);
	}
}

static const struct test_case cases[] = {
	{ "caps", caps },
	{ "fcs", fcs },
	{ "fcs_room", fcs_room },
	{ "qp_flags", qp_flags },
	{ "padding", padding },
	{ "waits", waits },
	{ "lost", lost },
	{ "expires", expires },
	{ "bounded", bounded },
	{ "missing_pages", missing_pages },
	{ "dropped", dropped },
	{ "left_behind", left_behind },
};

TEST_MAIN("wq_flags", cases, 60)
