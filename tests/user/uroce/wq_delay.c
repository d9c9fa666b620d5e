// SPDX-License-Identifier: GPL-2.0
/*
 * IBV_WQ_FLAGS_DELAY_DROP: frames wait for receive requests of a work queue, for a limited time and
 * in limited memory.
 */
#include <sys/mman.h>
#include "rss.h"

/* Frames wait for a tenth of a second. A slow machine may need longer for a step; then it is repeated. */
#define SOON_NS 80000000ull
#define TRY_MS 40000
#define MOST 256	/* frames that wait */
#define PAGES 3
#define PAGE_ROOM 65536	/* a page on every architecture, or several */

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

static void empty(struct ibv_wq *wq, struct ibv_cq *cq)
{
	struct ibv_wc wc;

	CHECK_ERR(change(wq, IBV_WQS_RESET), 0);
	CHECK_ERR(change(wq, IBV_WQS_RDY), 0);
	while (ibv_poll_cq(cq, 1, &wc) > 0)
		continue;
}

/* Do @step until it takes less time than a frame waits. Each try begins with empty work queues. */
static void soon(void (*step)(void), void (*check)(void), void (*again)(void))
{
	uint64_t start, end = deadline_ms(TRY_MS * test_slowness());

	for (int tries = 0; now_ns() < end; tries++) {
		start = now_ns();
		step();
		if (now_ns() - start < SOON_NS) {
			check();
			repeated(tries, "the frames took too long");
			return;
		}
		again();
	}
	CHECK(false, "the machine is too slow");
}

static void again_one(void)
{
	empty(wqs[0], cqs[0]);
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
	soon(send_and_post, want_six, again_one);
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
	soon(send_and_post, want_six, again_one);
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
	soon(send_many, want_most, again_one);
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
	soon(send_to_missing, want_all, again_one);
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
	{ "waits", waits },
	{ "lost", lost },
	{ "expires", expires },
	{ "bounded", bounded },
	{ "missing_pages", missing_pages },
	{ "dropped", dropped },
	{ "left_behind", left_behind },
};

TEST_MAIN("wq_delay", cases, 60)
