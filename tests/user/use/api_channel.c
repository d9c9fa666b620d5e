// SPDX-License-Identifier: GPL-2.0
/* adv17. Completion channels: events, arming, moderation. */
#include "testlib.h"
#include <univerbs.h>

#define CHAIN 9

static void want_event(struct pair *p, struct ibv_cq *from)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	if (!CHECK(!ibv_get_cq_event(p->ch, &cq, &context), "get_cq_event: %s", err_name(errno)))
		return;
	CHECK(cq == from, "event of another queue");
	CHECK(context == from->cq_context, "context of another queue");
	ibv_ack_cq_events(cq, 1);
}

static bool readable(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, ms) == 1 && (pfd.revents & POLLIN);
}

static void channel_blocking(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int k = 0; k < 20; k++) {
		CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
		CHECK_ERR(post_recv_at(&p, 1, k, 0, 64), 0);
		CHECK_ERR(post_send_at(&p, 0, k, 0, 8, IBV_SEND_SIGNALED), 0);
		want_event(&p, p.cq[1]);
		WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	}
	CHECK(!readable(p.ch->fd, 0), "an event that nobody asked for");
	pair_close(&p);
}

static void channel_nonblocking(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_cq *cq;
	struct ibv_wc wc;
	struct pair p;
	void *context;
	int ret;

	pair_open(&p, &want);
	fcntl(p.ch->fd, F_SETFL, fcntl(p.ch->fd, F_GETFL) | O_NONBLOCK);
	errno = 0;
	ret = ibv_get_cq_event(p.ch, &cq, &context);
	CHECK(ret == -1 && errno == EAGAIN, "empty channel: %d, %s", ret, err_name(errno));
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	CHECK(!readable(p.ch->fd, 50), "armed, nothing completed, yet readable");
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	CHECK(readable(p.ch->fd, WC_TIMEOUT), "no event");
	want_event(&p, p.cq[0]);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(!readable(p.ch->fd, 20), "a second event for one arming");
	pair_close(&p);
}

/*
 * An unarmed queue causes no event. An armed queue causes one event for any number of
 * completions.
 */
static void one_event_per_arming(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int k = 0; k < 5; k++)
		CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	for (int k = 0; k < 5; k++)
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK(!readable(p.ch->fd, 50), "an event without arming");
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	for (int k = 0; k < 5; k++)
		CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	for (int k = 0; k < 5; k++)
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	want_event(&p, p.cq[0]);
	CHECK(!readable(p.ch->fd, 50), "more than one event");
	pair_close(&p);
}

/*
 * The usual loop arms the queue, polls once more and then sleeps. A completion at any
 * moment in between must not be missed.
 */
static void arm_then_poll(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int k = 0; k < 300; k++) {
		CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
		for (volatile int spin = 0; spin < k * 37 % 4000; spin++)
			;
		CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
		if (ibv_poll_cq(p.cq[0], 1, &wc) == 1)
			continue;
		if (!CHECK(readable(p.ch->fd, WC_TIMEOUT), "round %d slept through", k))
			break;
		want_event(&p, p.cq[0]);
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	}
	while (readable(p.ch->fd, 10))
		want_event(&p, p.cq[0]);
	pair_close(&p);
}

static void solicited_only(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int k = 0; k < 3; k++)
		CHECK_ERR(post_recv_at(&p, 1, k, 0, 64), 0);
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	/*
	 * Kernel verbs do not report whether a receive was solicited. A device that is
	 * driven through them may cause an unnecessary event, but must not miss one.
	 */
	if (readable(p.ch->fd, 100)) {
		CHECK(why_known() && !on_uroce(), "an event for an unsolicited message");
		want_event(&p, p.cq[1]);
		CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
	}
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 8, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), 0);
	CHECK(readable(p.ch->fd, WC_TIMEOUT), "no event for a solicited message");
	want_event(&p, p.cq[1]);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	for (int k = 0; k < 2; k++)
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* A chain of messages, of which @solicited is solicited (-1: none). */
static void send_chain(struct pair *p, int solicited)
{
	struct ibv_send_wr wr[CHAIN], *bad;
	struct ibv_sge sge = pair_sge(p, 0, 0, 8);

	for (int k = 0; k < CHAIN; k++) {
		CHECK_ERR(post_recv_at(p, 1, k, 0, 64), 0);
		wr[k] = (struct ibv_send_wr){
			.wr_id = k, .next = k + 1 < CHAIN ? &wr[k + 1] : NULL,
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED | (k == solicited ? IBV_SEND_SOLICITED : 0),
		};
	}
	CHECK_ERR(ibv_post_send(p->qp[0], wr, &bad), 0);
}

static void drain_chain(struct pair *p)
{
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		for (int k = 0; k < CHAIN; k++) {
			WANT_WC(p->cq[i], &wc, IBV_WC_SUCCESS);
			CHECK(wc.wr_id == (uint64_t)k, "completion %d is that of request %llu", k,
			      (unsigned long long)wc.wr_id);
		}
}

/* One solicited message anywhere in a chain raises one event, and other messages raise none. */
static void solicited_in_chain(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct pair p;

	pair_open(&p, &want);
	for (int k = -1; k < CHAIN; k++) {
		CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
		send_chain(&p, k);
		drain_chain(&p);
		if (k >= 0) {
			CHECK(readable(p.ch->fd, WC_TIMEOUT), "no event for message %d", k);
			want_event(&p, p.cq[1]);
		} else if (readable(p.ch->fd, 100)) {
			CHECK(why_known() && !on_uroce(), "an event for unsolicited messages");
			want_event(&p, p.cq[1]);
		}
		CHECK(!readable(p.ch->fd, 0), "a second event");
	}
	pair_close(&p);
}

/* A request for any completion stays, if one for solicited completions follows. */
static void stronger_arming_stays(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 64), 0);
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED), 0);
	CHECK(readable(p.ch->fd, WC_TIMEOUT), "no event for an unsolicited message");
	want_event(&p, p.cq[1]);
	for (int k = 0; k < 2; k++)
		WANT_WC(p.cq[k], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* An error completion counts as solicited. */
static void solicited_error(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK_ERR(post_recv_at(&p, 1, 7, 0, 64), 0);
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
	CHECK_ERR(qp_to_state(p.qp[1], IBV_QPS_ERR), 0);
	CHECK(readable(p.ch->fd, WC_TIMEOUT), "no event for a flushed receive");
	want_event(&p, p.cq[1]);
	WANT_WC(p.cq[1], &wc, IBV_WC_WR_FLUSH_ERR);
	CHECK(wc.wr_id == 7, "wr_id %" PRIu64, wc.wr_id);
	pair_close(&p);
}

/*
 * A solicited message that is there already when the queue is armed. The stock library over
 * rdma_rxe raises an event for the next one only.
 */
static void solicited_late(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	if (!why_known())
		return;
	pair_open(&p, &want);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 64), 0);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	sleep_ms(100);
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 1), 0);
	if (CHECK(readable(p.ch->fd, WC_TIMEOUT), "no event of a solicited message that waits"))
		want_event(&p, p.cq[1]);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	/* A successful send is not solicited on any device. */
	CHECK_ERR(post_rdma(&p, 0, 2, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	sleep_ms(100);
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 1), 0);
	CHECK(!readable(p.ch->fd, 50), "an event of a send");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

/* Two completion queues share one channel. */
static void channel_shared(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_req_notify_cq(p.cq[i], 0), 0);
		CHECK_ERR(post_rdma(&p, i, i, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
		want_event(&p, p.cq[i]);
		WANT_WC(p.cq[i], &wc, IBV_WC_SUCCESS);
	}
	CHECK(ibv_destroy_comp_channel(p.ch) == EBUSY, "a channel destroyed below its queues");
	if (why_known())
		CHECK(why_reason() == UNIV_REASON_CHANNEL_BUSY && why_value() == 2,
		      "explained as: %s", why_text());
	pair_close(&p);
}

struct waiter {
	struct ibv_comp_channel *ch;
	int ret;
};

static void *wait_for_event(void *arg)
{
	struct waiter *w = arg;
	struct ibv_cq *cq;
	void *context;

	w->ret = ibv_get_cq_event(w->ch, &cq, &context);
	if (!w->ret)
		ibv_ack_cq_events(cq, 1);
	return NULL;
}

static void channel_wakes_thread(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct waiter w = { .ret = -1 };
	pthread_t thread;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	w.ch = p.ch;
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	pthread_create(&thread, NULL, wait_for_event, &w);
	sleep_ms(100);
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	pthread_join(thread, NULL);
	CHECK(!w.ret, "the thread's get_cq_event gave %d", w.ret);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static int moderate(struct ibv_cq *cq, uint16_t count, uint16_t period)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period },
	};

	return ibv_modify_cq(cq, &attr);
}

/* Wait for an event of the channel; return whether one came within so many milliseconds. */
static bool event_within(struct pair *p, int ms)
{
	struct pollfd fd = { .fd = p->ch->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, ms) != 1)
		return false;
	CHECK_ERR(ibv_get_cq_event(p->ch, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void write_one(struct pair *p)
{
	CHECK_ERR(post_rdma(p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
}

static void moderation(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = 0x80 };
	struct pair_want want = { .use_channel = 1 };
	struct ibv_device_attr_ex device = { 0 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK(ibv_modify_cq(p.cq[0], &attr), "modify_cq with an unknown mask");
	CHECK_ERR(ibv_query_device_ex(p.dev.ctx, NULL, &device), 0);
	CHECK(device.cq_mod_caps.max_cq_count == UINT16_MAX &&
	      device.cq_mod_caps.max_cq_period == UINT16_MAX, "the limits are %u and %u",
	      device.cq_mod_caps.max_cq_count, device.cq_mod_caps.max_cq_period);
	/*
	 * The third completion raises the event. The longest period is 65 ms, so on a slow
	 * machine the timer may come first, and nothing depends on which of the two it was.
	 */
	NEED_OK(moderate(p.cq[0], 3, UINT16_MAX));
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	for (int i = 0; i < 3; i++)
		write_one(&p);
	CHECK(event_within(&p, WC_TIMEOUT), "three completions raised no event");
	CHECK(!event_within(&p, 200), "a second event for one request");
	for (int i = 0; i < 3; i++)
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	/* Fewer completions are reported when the period is over: no event is lost. */
	NEED_OK(moderate(p.cq[0], UINT16_MAX, 1000));
	for (int i = 0; i < test_rounds(20); i++) {
		CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
		write_one(&p);
		if (!CHECK(event_within(&p, WC_TIMEOUT), "round %d: the event was lost", i))
			break;
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	}
	/* The event comes although the program asked again and did not poll in between. */
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	write_one(&p);
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	CHECK(event_within(&p, WC_TIMEOUT), "the event of the first request was lost");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	/* An event that is held back is raised when the moderation ends. */
	NEED_OK(moderate(p.cq[0], 0, UINT16_MAX));
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	write_one(&p);
	NEED_OK(moderate(p.cq[0], 0, 0));
	CHECK(event_within(&p, WC_TIMEOUT), "the event that was held back is lost");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	write_one(&p);
	CHECK(event_within(&p, WC_TIMEOUT), "no event without moderation");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	/* The queue is destroyed while an event is held back. */
	NEED_OK(moderate(p.cq[0], 0, UINT16_MAX));
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	write_one(&p);
	pair_close(&p);
}

/* A queue of another size stays armed. */
static void resized(void)
{
	struct pair_want want = { .use_channel = 1, .cqe = 64 };
	struct ibv_wc wc;
	struct pair p;

	if (no_resize())
		return;
	pair_open(&p, &want);
	CHECK_ERR(ibv_req_notify_cq(p.cq[1], 0), 0);
	CHECK_ERR(ibv_resize_cq(p.cq[1], 500), 0);
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 64), 0);
	CHECK_ERR(post_send_at(&p, 0, 1, 0, 8, IBV_SEND_SIGNALED), 0);
	if (CHECK(readable(p.ch->fd, WC_TIMEOUT), "no event"))
		want_event(&p, p.cq[1]);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "channel_blocking", channel_blocking },
	{ "channel_nonblocking", channel_nonblocking },
	{ "one_event_per_arming", one_event_per_arming },
	{ "arm_then_poll", arm_then_poll },
	{ "solicited_only", solicited_only },
	{ "solicited_in_chain", solicited_in_chain },
	{ "stronger_arming_stays", stronger_arming_stays },
	{ "solicited_error", solicited_error },
	{ "solicited_late", solicited_late },
	{ "channel_shared", channel_shared },
	{ "channel_wakes_thread", channel_wakes_thread },
	{ "moderation", moderation },
	{ "resized", resized },
};

TEST_MAIN("api_channel (adv17)", cases, 30)
