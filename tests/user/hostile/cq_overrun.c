// SPDX-License-Identifier: GPL-2.0
/* adv17. A completion queue that overruns, and one that is resized under traffic. */
#include "events.h"
#include "testlib.h"
#include <univerbs.h>

/*
 * An event and polling both report the overrun; polling first returns the completions before it. A
 * larger ring does not bring back what was lost, so the queue reads as overrun after a resize, too.
 */
static void overrun(void)
{
	struct pair_want want = { .cqe = 8, .send_wr = 512 };
	struct ibv_wc wc;
	struct pair p;
	int size, got = 0, n = 0;
	uint64_t end;

	pair_open(&p, &want);
	size = p.cq[0]->cqe;
	for (int k = 0; k < size + 40; k++)
		CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	want_async(p.dev.ctx, IBV_EVENT_CQ_ERR, p.cq[0]);
	end = deadline_ms(WC_TIMEOUT);
	while (now_ns() < end) {
		n = ibv_poll_cq(p.cq[0], 1, &wc);
		if (n < 0)
			break;
		if (!n)
			continue;
		CHECK(wc.wr_id == (uint64_t)got, "completion %" PRIu64 ", expected %d", wc.wr_id, got);
		got++;
	}
	CHECK(n < 0, "poll_cq does not tell of the overrun");
	CHECK(got <= size, "%d completions from a queue of %d", got, size);
	CHECK(got > 0, "completions from before the overrun are lost");
	CHECK(ibv_poll_cq(p.cq[0], 1, &wc) < 0, "poll_cq tells once only");
	if (!no_resize()) {
		CHECK_ERR(ibv_resize_cq(p.cq[0], 2 * size), 0);
		CHECK(ibv_poll_cq(p.cq[0], 1, &wc) < 0, "poll_cq does not tell after a resize");
	}
	/* The queue pair is destroyed when both events have been acknowledged. */
	if (on_uroce())
		want_async(p.dev.ctx, IBV_EVENT_QP_FATAL, p.qp[0]);
	pair_close(&p);
}

/* The same by ibv_start_poll(), which tells of the overrun after the completions before it. */
static void overrun_ex_with(uint32_t flags)
{
	struct ibv_poll_cq_attr attr = {};
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct ibv_cq_ex *cq;
	struct pair p;
	int err, got = 0;

	pair_open(&p, &(struct pair_want){ .send_wr = 512, .stay_reset = true });
	cq = pair_extend_cq(&p, (struct ibv_cq_init_attr_ex){ .cqe = 8, .flags = flags,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS });
	CHECK(ibv_start_poll(cq, &attr) == ENOENT, "the queue is not empty");
	for (int k = 0; k < cq->cqe + 40; k++)
		CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	want_async(p.dev.ctx, IBV_EVENT_CQ_ERR, p.cq[0]);
	do {
		err = ibv_start_poll(cq, &attr);
		if (err)
			continue;
		CHECK(cq->wr_id == (uint64_t)got, "completion %" PRIu64 ", expected %d", cq->wr_id,
		      got);
		got++;
		ibv_end_poll(cq);
	} while ((!err || err == ENOENT) && now_ns() < end);
	CHECK(err == EOVERFLOW, "start_poll: %s", err_name(err));
	CHECK(got > 0 && got <= cq->cqe, "%d completions from a queue of %d", got, cq->cqe);
	CHECK(why_reason() == UNIV_REASON_QUEUE_FULL, "explained as: %s", why_text());
	CHECK(ibv_start_poll(cq, &attr) == EOVERFLOW, "start_poll tells once only");
	pair_close(&p);
}

static void overrun_ex(void)
{
	overrun_ex_with(0);
	overrun_ex_with(IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
}

/* A queue that is exactly full has lost nothing. */
static void exactly_full(void)
{
	struct pair_want want = { .cqe = 8, .send_wr = 512 };
	struct ibv_wc wc;
	struct pair p;
	int size;

	pair_open(&p, &want);
	size = p.cq[0]->cqe;
	for (int round = 0; round < 3; round++) {
		for (int k = 0; k < size; k++)
			CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
		CHECK(no_event_within(p.dev.ctx, 200), "an event without overrun");
		for (int k = 0; k < size; k++) {
			if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
				goto out;
			CHECK(wc.wr_id == (uint64_t)k, "completion %" PRIu64 ", expected %d",
			      wc.wr_id, k);
		}
	}
out:
	pair_close(&p);
}

static bool nothing_happened(struct pair *p)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	NEED_OK(ibv_query_qp(p->qp[0], &attr, IBV_QP_STATE, &init));
	return attr.qp_state == IBV_QPS_RTS && no_event_within(p->dev.ctx, 0);
}

/* Write to memory of the peer until it has the value; each write has a completion. */
static void overflow(struct pair *p, int count)
{
	volatile uint64_t *to = (uint64_t *)p->buf[1];
	uint64_t end = deadline_ms(WC_TIMEOUT);

	for (uint64_t k = 0; k < (uint64_t)count; k++)
		CHECK_ERR(post_rdma(p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	*(uint64_t *)p->buf[0] = 0x77;
	CHECK_ERR(post_rdma(p, 0, count, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	while (*to != 0x77 && now_ns() < end)
		sched_yield();
	CHECK(*to == 0x77, "the last write does not arrive");
	*to = 0;
	*(uint64_t *)p->buf[0] = 0;
}

/*
 * With IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN the queue loses what finds no room, and goes on: it
 * takes completions again when there is room.
 */
static void ignored(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN };
	struct ibv_cq_ex *cq;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &(struct pair_want){ .send_wr = 512, .stay_reset = true });
	cq = ibv_create_cq_ex(p.dev.ctx, &attr);
	if (!cq) {
		CHECK(errno == EOPNOTSUPP, "create_cq_ex: %s", err_name(errno));
		printf("the device reports overruns always\n");
		pair_make_ready(&p);
		pair_close(&p);
		return;
	}
	pair_replace_cq(&p, ibv_cq_ex_to_cq(cq));
	for (int round = 0; round < 3; round++) {
		overflow(&p, cq->cqe + 100);
		CHECK(nothing_happened(&p), "the overrun was not ignored");
		for (int k = 0; k < cq->cqe; k++)
			if (WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
				CHECK(wc.wr_id == (uint64_t)k, "completion %" PRIu64 ", expected %d",
				      wc.wr_id, k);
		WANT_EMPTY(p.cq[0]);
	}
	CHECK_ERR(post_rdma(&p, 0, 5, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(wc.wr_id == 5, "completion %" PRIu64 " after the overrun", wc.wr_id);
	pair_close(&p);
}

#define TOTAL 2000

struct traffic {
	struct pair p;
	uint32_t posted;
	uint32_t polled;
	bool failed;
};

static void *poster(void *arg)
{
	struct traffic *t = arg;

	while (t->posted < TOTAL && !t->failed) {
		if (t->posted - __atomic_load_n(&t->polled, __ATOMIC_ACQUIRE) >= 32) {
			sched_yield();
			continue;
		}
		if (post_rdma(&t->p, 0, t->posted, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED)) {
			FAIL("post_send %u: %s", t->posted, why_text());
			t->failed = true;
		}
		__atomic_store_n(&t->posted, t->posted + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *poller(void *arg)
{
	struct traffic *t = arg;
	struct ibv_wc wc;

	while (t->polled < TOTAL && !t->failed) {
		if (wait_wc(t->p.cq[0], &wc, WC_TIMEOUT) != 1) {
			FAIL("completion %u does not come, %u were posted", t->polled, t->posted);
			t->failed = true;
			break;
		}
		if (wc.status || wc.wr_id != t->polled) {
			FAIL("completion %" PRIu64 " status %d, expected %u", wc.wr_id, wc.status,
			     t->polled);
			t->failed = true;
		}
		__atomic_store_n(&t->polled, t->polled + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Four threads post, poll, arm and resize at the same time. */
static void resize_under_traffic(void)
{
	static const int sizes[] = { 100, 40, 300, 64, 999, 33 };
	struct pair_want want = { .cqe = 64, .use_channel = 1 };
	struct traffic t = { 0 };
	pthread_t a, b;
	int resized = 0;

	if (no_resize())
		return;
	pair_open(&t.p, &want);
	fcntl(t.p.ch->fd, F_SETFL, O_NONBLOCK);
	pthread_create(&a, NULL, poster, &t);
	pthread_create(&b, NULL, poller, &t);
	while (__atomic_load_n(&t.polled, __ATOMIC_ACQUIRE) < TOTAL && !t.failed) {
		struct ibv_cq *cq;
		void *context;
		int ret = ibv_resize_cq(t.p.cq[0], sizes[resized++ % ARRAY_SIZE(sizes)]);

		CHECK(!ret, "resize %d: %s; %s", resized, err_name(ret), why_text());
		CHECK_ERR(ibv_req_notify_cq(t.p.cq[0], 0), 0);
		if (!ibv_get_cq_event(t.p.ch, &cq, &context))
			ibv_ack_cq_events(cq, 1);
	}
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("resized %d times\n", resized);
	WANT_EMPTY(t.p.cq[0]);
	pair_close(&t.p);
}

static const struct test_case cases[] = {
	{ "overrun", overrun },
	{ "overrun_ex", overrun_ex },
	{ "exactly_full", exactly_full },
	{ "ignored", ignored },
	{ "resize_under_traffic", resize_under_traffic },
};

TEST_MAIN("cq_overrun (adv17)", cases, 60)
