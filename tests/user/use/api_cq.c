// SPDX-License-Identifier: GPL-2.0
/* adv17. Completion queues: sizes, resizing, the order of completions. */
#include "testlib.h"

static void sizes(void)
{
	static const int asked[] = { 1, 2, 3, 255, 256, 257, 4096 };
	struct test_dev dev;
	struct ibv_cq *cq;

	dev_open(&dev);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		cq = ibv_create_cq(dev.ctx, asked[i], &dev, NULL, 0);
		if (!CHECK(cq, "create_cq %d: %s; %s", asked[i], err_name(errno), why_text()))
			continue;
		CHECK(cq->cqe >= asked[i], "asked %d, got %d", asked[i], cq->cqe);
		CHECK(cq->cq_context == &dev && cq->context == dev.ctx, "fields of the queue");
		WANT_EMPTY(cq);
		CHECK_ERR(ibv_destroy_cq(cq), 0);
	}
	dev_close(&dev);
}

/* A resize keeps all waiting completions, in order. */
static void resize_with_waiting(void)
{
	static const int to[] = { 512, 64, 1000, 31 };
	struct pair_want want = { .cqe = 64 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	if (no_resize()) {
		CHECK_ERR(ibv_resize_cq(p.cq[0], to[0]), EOPNOTSUPP);
		CHECK(p.cq[0]->cqe == 64, "not resized to %d", p.cq[0]->cqe);
		pair_close(&p);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(to); i++) {
		for (int k = 0; k < 20; k++)
			CHECK_ERR(post_rdma(&p, 0, i * 100 + k, IBV_WR_RDMA_WRITE, 8,
					    IBV_SEND_SIGNALED), 0);
		sleep_ms(50);
		CHECK_ERR(ibv_resize_cq(p.cq[0], to[i]), 0);
		CHECK(p.cq[0]->cqe >= to[i], "resized to %d, got %d", to[i], p.cq[0]->cqe);
		for (int k = 0; k < 20; k++) {
			if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
				break;
			CHECK(wc.wr_id == i * 100 + k, "after resize to %d: wr_id %" PRIu64
			      ", expected %zu", to[i], wc.wr_id, i * 100 + k);
		}
		WANT_EMPTY(p.cq[0]);
	}
	pair_close(&p);
}

/* The size of all mappings of this process. */
static long mapped(void)
{
	FILE *statm = fopen("/proc/self/statm", "r");
	long pages;

	NEED(statm && fscanf(statm, "%ld", &pages) == 1, "statm: %s", err_name(errno));
	fclose(statm);
	return pages * sysconf(_SC_PAGESIZE);
}

/* A completion queue that was resized and is destroyed keeps no mapping of its former rings. */
static void former_rings_end(void)
{
	const long most = 4 << 20;	/* Each round has two former rings of more than 0.5 MiB. */
	struct test_dev dev;
	struct ibv_cq *cq;
	long first = 0;

	if (no_resize())
		return;
	dev_open(&dev);
	for (int i = 0; i < 12; i++) {
		cq = ibv_create_cq(dev.ctx, 16000, NULL, NULL, 0);
		NEED_PTR(cq, "create_cq");
		CHECK_ERR(ibv_resize_cq(cq, 8500), 0);
		CHECK_ERR(ibv_resize_cq(cq, 16000), 0);
		CHECK_ERR(ibv_destroy_cq(cq), 0);
		if (!i)
			first = mapped();
	}
	CHECK(mapped() < first + most, "%ld bytes stay mapped", mapped() - first);
	dev_close(&dev);
}

/* Wait until the completion of one more request is in the first queue, and leave it there. */
static void complete_one(struct pair *p, int k)
{
	struct ibv_cq *got;
	void *context;

	CHECK_ERR(ibv_req_notify_cq(p->cq[0], 0), 0);
	CHECK_ERR(post_rdma(p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	NEED(!ibv_get_cq_event(p->ch, &got, &context), "%s", err_name(errno));
	ibv_ack_cq_events(got, 1);
}

/* A queue cannot shrink below the number of completions in it, however small. */
static void shrink_below(int cqe, int waiting)
{
	struct pair_want want = { .cqe = cqe, .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	if (no_resize())
		return;
	pair_open(&p, &want);
	CHECK_ERR(ibv_resize_cq(p.cq[0], 1), 0);
	CHECK_ERR(ibv_resize_cq(p.cq[0], cqe), 0);
	for (int k = 0; k < waiting; k++)
		complete_one(&p, k);
	CHECK(ibv_resize_cq(p.cq[0], waiting / 10 + 1) == EINVAL, "resize to %d with %d waiting",
	      waiting / 10 + 1, waiting);
	for (int k = 0; k < waiting; k++)
		if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
	pair_close(&p);
}

static void resize_below_waiting(void)
{
	shrink_below(200, 60);
	shrink_below(7, 6);
}

/*
 * Poll several completions at a time, often enough that the library has to report its index
 * to the kernel.
 */
static void wraps_in_lists(void)
{
	struct pair_want want = { .cqe = 16 };
	struct ibv_wc wc[8];
	struct pair p;
	int taken;

	pair_open(&p, &want);
	for (int k = 0; k < 40; k++) {
		for (int i = 0; i < 8; i++)
			CHECK_ERR(post_rdma(&p, 0, i, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
		/* Wait, so that all completions are in the queue and are polled by one call. */
		sleep_ms(k ? 1 : 50);
		for (taken = 0; taken < 8;) {
			int n = ibv_poll_cq(p.cq[0], 8 - taken, wc);

			if (!n && wait_wc(p.cq[0], wc, WC_TIMEOUT) == 1)
				n = 1;
			if (!CHECK(n > 0, "round %d: %d completions", k, taken))
				goto out;
			for (int i = 0; i < n; i++, taken++)
				CHECK(wc[i].status == IBV_WC_SUCCESS &&
				      wc[i].wr_id == (uint64_t)taken, "round %d: wr_id %" PRIu64 ", %s",
				      k, wc[i].wr_id, ibv_wc_status_str(wc[i].status));
		}
	}
out:
	pair_close(&p);
}

/* A poll for more completions than there are takes those that are there. */
static void fewer_than_asked(void)
{
	struct ibv_wc wc[8];
	uint64_t end;
	struct pair p;
	int n;

	pair_open(&p, NULL);
	for (uint64_t k = 0; k < 3; k++) {
		CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
		end = deadline_ms(WC_TIMEOUT);
		do
			n = ibv_poll_cq(p.cq[0], 8, wc);
		while (!n && now_ns() < end);
		CHECK(n == 1 && wc[0].status == IBV_WC_SUCCESS && wc[0].wr_id == k,
		      "round %" PRIu64 ": %d completions", k, n);
	}
	pair_close(&p);
}

/* Each round wraps the ring many times. */
static void wraps(void)
{
	struct pair_want want = { .cqe = 3 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int k = 0; k < 200; k++) {
		CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
		if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
		CHECK(wc.wr_id == (uint64_t)k, "wr_id %" PRIu64 ", expected %d", wc.wr_id, k);
	}
	pair_close(&p);
}

/*
 * A queue of one entry holds two completions, as on devices that round the size up.
 * perftest's ib_send_lat -e relies on it.
 */
static void one_holds_two(void)
{
	struct pair_want want = { .cqe = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int k = 0; k < 2; k++)
		CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	usleep(100 * 1000);
	for (int k = 0; k < 2; k++)
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "sizes", sizes },
	{ "resize_with_waiting", resize_with_waiting },
	{ "resize_below_waiting", resize_below_waiting },
	{ "former_rings_end", former_rings_end },
	{ "wraps", wraps },
	{ "wraps_in_lists", wraps_in_lists },
	{ "fewer_than_asked", fewer_than_asked },
	{ "one_holds_two", one_holds_two },
};

TEST_MAIN("api_cq (adv17)", cases, 30)
