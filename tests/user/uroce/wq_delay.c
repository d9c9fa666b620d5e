// SPDX-License-Identifier: GPL-2.0
/*
 * IBV_WQ_FLAGS_DELAY_DROP: frames wait for receive requests of a work queue, for a limited time and
 * in limited memory.
 */
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "rss.h"
#include "wire.h"

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

/*
 * Do @step until it takes less time than a frame waits. Each try begins with empty work queues.
 * False if no try was in time.
 */
static bool in_time(void (*step)(void), void (*check)(void), void (*again)(void))
{
	uint64_t start, end = deadline_ms(TRY_MS);

	for (int tries = 0; now_ns() < end; tries++) {
		start = now_ns();
		step();
		if (now_ns() - start < SOON_NS) {
			check();
			repeated(tries, "the frames took too long");
			return true;
		}
		again();
	}
	return false;
}

static void soon(void (*step)(void), void (*check)(void), void (*again)(void))
{
	CHECK(in_time(step, check, again), "the machine is too slow");
}

/* On a kernel with many checks so many frames take longer in each try. Then nothing is checked. */
static bool many_soon(void (*step)(void), void (*check)(void), void (*again)(void))
{
	if (in_time(step, check, again))
		return true;
	if (CHECK(test_slowness() > 1, "the machine is too slow"))
		printf("the kernel is too slow\n");
	return false;
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

/* ---- Memory, flags and tags ------------------------------------------------------ */

#define QUEUES 10
#define LONG 30000	/* bytes of a frame; the kernel needs nearly 33 KiB for it */
#define MIB (1u << 20)
#define TAG 7		/* of the first queue's flow */

/* A work queue of its own, whose flow gets all frames to this device. */
struct queue {
	struct ibv_cq_ex *cq;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
	struct ibv_flow *flow;
};

static struct queue queues[QUEUES];
static uint32_t opened, mtu;
static uint8_t *bytes;		/* LONG of a frame that is sent, and LONG of those that arrive */
static struct ibv_mr *bytes_mr;
static uint32_t sent, held[QUEUES];

/* Set the MTU of the net device. Return the one that it had. */
static uint32_t change_mtu(uint32_t to)
{
	struct ifreq req = { 0 };
	char name[64];
	uint32_t had;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	read_netdev(name);
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%.15s", name);
	NEED(fd >= 0 && !ioctl(fd, SIOCGIFMTU, &req), "SIOCGIFMTU: %s", err_name(errno));
	had = (uint32_t)req.ifr_mtu;
	req.ifr_mtu = (int)to;
	NEED(!ioctl(fd, SIOCSIFMTU, &req), "SIOCSIFMTU: %s", err_name(errno));
	close(fd);
	return had;
}

static struct ibv_flow *tagged_flow(struct ibv_qp *qp, uint32_t tag)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_action_tag tag;
	} want = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(want), .num_of_specs = 2, .port = PORT },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(want.eth) },
		.tag = { .type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(want.tag), .tag_id = tag },
	};
	struct ibv_flow *made;

	memcpy(want.eth.val.dst_mac, mac, 6);
	memset(want.eth.mask.dst_mac, 0xff, 6);
	made = ibv_create_flow(qp, &want.attr);
	NEED(made, "create_flow: %s; %s", err_name(errno), why_text());
	return made;
}

static void queue_open(struct queue *q, uint32_t tag)
{
	struct ibv_cq_init_attr_ex cq = { .cqe = MOST,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG };
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ, .max_wr = MOST, .max_sge = 1, .pd = pd,
		.comp_mask = IBV_WQ_INIT_ATTR_FLAGS, .create_flags = IBV_WQ_FLAGS_DELAY_DROP };
	struct ibv_qp_init_attr_ex qp = rss_attr(0);

	q->cq = ibv_create_cq_ex(dev.ctx, &cq);
	NEED_PTR(q->cq, "create_cq_ex");
	wq.cq = ibv_cq_ex_to_cq(q->cq);
	q->wq = ibv_create_wq(dev.ctx, &wq);
	NEED_PTR(q->wq, "create_wq");
	CHECK_ERR(change(q->wq, IBV_WQS_RDY), 0);
	q->table = make_table(&q->wq, 0);
	qp.rwq_ind_tbl = q->table;
	q->qp = ibv_create_qp_ex(dev.ctx, &qp);
	NEED_PTR(q->qp, "create_qp_ex");
	q->flow = tagged_flow(q->qp, tag);
}

static void queue_close(struct queue *q)
{
	CHECK_ERR(ibv_destroy_flow(q->flow), 0);
	CHECK_ERR(ibv_destroy_qp(q->qp), 0);
	CHECK_ERR(ibv_destroy_rwq_ind_table(q->table), 0);
	CHECK_ERR(ibv_destroy_wq(q->wq), 0);
	CHECK_ERR(ibv_destroy_cq(ibv_cq_ex_to_cq(q->cq)), 0);
}

static void queues_open(uint32_t count)
{
	set_up();
	mtu = change_mtu(LONG);
	bytes = calloc(2, LONG);
	NEED_PTR(bytes, "calloc");
	bytes_mr = ibv_reg_mr(pd, bytes, 2 * LONG, IBV_ACCESS_LOCAL_WRITE);
	NEED_PTR(bytes_mr, "reg_mr");
	for (opened = 0; opened < count; opened++)
		queue_open(&queues[opened], TAG + opened);
}

static void queues_close(void)
{
	while (opened)
		queue_close(&queues[--opened]);
	CHECK_ERR(ibv_dereg_mr(bytes_mr), 0);
	free(bytes);
	change_mtu(mtu);
	tear_down();
}

static void again_all(void)
{
	for (uint32_t i = 0; i < opened; i++)
		empty(queues[i].wq, ibv_cq_ex_to_cq(queues[i].cq));
}

static void send_bytes(uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)bytes, len, bytes_mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | flags }, *bad;
	struct ibv_wc wc;

	CHECK_ERR(ibv_post_send(sender, &wr, &bad), 0);
	WANT_WC(send_cq, &wc, IBV_WC_SUCCESS);
}

static void send_long(uint32_t count)
{
	struct frame f;

	frame_make(&f, false, 0);
	memcpy(bytes, f.bytes, f.len);
	while (count--)
		send_bytes(LONG, 0);
}

static void post_requests(struct queue *q, uint32_t count)
{
	struct ibv_sge sge = { (uintptr_t)bytes + LONG, LONG, bytes_mr->lkey };
	struct ibv_recv_wr wr[MOST], *bad;

	for (uint32_t i = 0; i < count; i++)
		wr[i] = (struct ibv_recv_wr){ .next = i + 1 < count ? &wr[i + 1] : NULL,
			.sg_list = &sge, .num_sge = 1 };
	CHECK_ERR(ibv_post_wq_recv(q->wq, wr, &bad), 0);
}

/* Return the number of frames that have waited for receive requests. */
static uint32_t receive(struct queue *q, uint32_t count)
{
	struct ibv_wc wc;
	uint32_t n = 0;

	post_requests(q, count);
	while (ibv_poll_cq(ibv_cq_ex_to_cq(q->cq), 1, &wc) > 0)
		n++;
	return n;
}

static void send_to_all(void)
{
	send_long(sent);
	for (uint32_t i = 0; i < opened; i++)
		held[i] = receive(&queues[i], sent);
}

#define ROUND 25	/* takes less than the memory of a queue */
#define ROUNDS 20	/* take more than the memory of a device */

static void want_round(void)
{
	CHECK(held[0] == ROUND, "%u of %u frames have waited", held[0], ROUND);
}

/* Frames that have been received leave their memory to later ones. */
static void often(void)
{
	queues_open(1);
	sent = ROUND;
	for (int i = 0; i < ROUNDS && !test_failures; i++)
		if (!many_soon(send_to_all, want_round, again_all))
			break;
	queues_close();
}

static uint32_t alone;

/* A queue has a mebibyte, also for what the kernel needs beside the bytes. */
static void want_mebibyte(void)
{
	alone = held[0];
	CHECK(alone && alone <= MIB / LONG, "%u frames of %u bytes have waited", alone, LONG);
}

static void want_eight(void)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < opened; i++) {
		CHECK(held[i] <= alone, "%u frames have waited in queue %u, %u in one alone", held[i], i, alone);
		all += held[i];
	}
	CHECK(all >= 8 * alone && all < 8 * (alone + 1), "%u frames have waited in all queues, %u in one alone",
	      all, alone);
}

/* The memory of one queue is limited, and all queues together get that of eight. */
static void memory_bounded(void)
{
	queues_open(1);
	sent = MIB / LONG + 10;
	alone = 0;
	many_soon(send_to_all, want_mebibyte, again_all);
	queues_close();
	if (!alone)
		return;
	queues_open(QUEUES);
	sent = alone + 2;
	many_soon(send_to_all, want_eight, again_all);
	queues_close();
}

static bool sums_ok[2];
static uint32_t tags[2];

/* Send a frame whose header has a right checksum and whose datagram does not, and one with both. */
static void send_summed(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct frame f;
	uint32_t n = 0;

	memset(sums_ok, 0, sizeof(sums_ok));
	memset(tags, 0, sizeof(tags));
	frame_make(&f, false, IPPROTO_UDP);
	ip_seal(f.bytes + 14);
	memcpy(bytes, f.bytes, f.len);
	send_bytes(f.len, 0);
	send_bytes(f.len, IBV_SEND_IP_CSUM);
	post_requests(&queues[0], 2);
	if (ibv_start_poll(queues[0].cq, &attr))
		return;
	do {
		sums_ok[n] = ibv_wc_read_wc_flags(queues[0].cq) & IBV_WC_IP_CSUM_OK;
		tags[n++] = ibv_wc_read_flow_tag(queues[0].cq);
	} while (n < 2 && !ibv_next_poll(queues[0].cq));
	ibv_end_poll(queues[0].cq);
}

static void want_flags_and_tags(void)
{
	CHECK(!sums_ok[0], "a wrong checksum is said to be right");
	CHECK(sums_ok[1], "right checksums are not said to be right");
	CHECK(tags[0] == TAG && tags[1] == TAG, "the tags are %u and %u", tags[0], tags[1]);
}

/* A frame that has waited has the same flags and tag as any other. */
static void flags_and_tags(void)
{
	queues_open(1);
	soon(send_summed, want_flags_and_tags, again_all);
	queues_close();
}

static const struct test_case cases[] = {
	{ "waits", waits },
	{ "lost", lost },
	{ "expires", expires },
	{ "bounded", bounded },
	{ "flags_and_tags", flags_and_tags },
	{ "often", often },
	{ "memory_bounded", memory_bounded },
	{ "missing_pages", missing_pages },
	{ "dropped", dropped },
	{ "left_behind", left_behind },
};

TEST_MAIN("wq_delay", cases, 100)
