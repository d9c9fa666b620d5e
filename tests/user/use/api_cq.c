// SPDX-License-Identifier: GPL-2.0
/* adv17. Completion queues: sizes, resizing, channels, arming, the extended interface. */
#include "testlib.h"
#include <univerbs.h>

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

/* A queue cannot shrink below the number of completions in it, however small. */
static void shrink_below(int cqe, int waiting)
{
	struct pair_want want = { .cqe = cqe };
	struct ibv_wc wc;
	struct pair p;

	if (no_resize())
		return;
	pair_open(&p, &want);
	CHECK_ERR(ibv_resize_cq(p.cq[0], 1), 0);
	CHECK_ERR(ibv_resize_cq(p.cq[0], cqe), 0);
	for (int k = 0; k < waiting; k++)
		CHECK_ERR(post_rdma(&p, 0, k, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	sleep_ms(100);
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
	CHECK(readable(p.ch->fd, 5000), "no event in 5 s");
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
		if (!CHECK(readable(p.ch->fd, 5000), "round %d slept through", k))
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
	CHECK(readable(p.ch->fd, 5000), "no event for a solicited message");
	want_event(&p, p.cq[1]);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	for (int k = 0; k < 2; k++)
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
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
	CHECK(readable(p.ch->fd, 5000), "no event for an unsolicited message");
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
	CHECK(readable(p.ch->fd, 5000), "no event for a flushed receive");
	want_event(&p, p.cq[1]);
	WANT_WC(p.cq[1], &wc, IBV_WC_WR_FLUSH_ERR);
	CHECK(wc.wr_id == 7, "wr_id %" PRIu64, wc.wr_id);
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

/* The extended interface: call all read functions on a batch between start and end. */
static void read_one_ex(struct ibv_cq_ex *cq, struct pair *p, uint64_t flags)
{
	if (cq->wr_id >= 100) {
		CHECK(ibv_wc_read_opcode(cq) == IBV_WC_RECV, "opcode %d", ibv_wc_read_opcode(cq));
		CHECK(ibv_wc_read_byte_len(cq) == 24, "byte_len %u", ibv_wc_read_byte_len(cq));
		CHECK(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM, "flags %#x",
		      ibv_wc_read_wc_flags(cq));
		CHECK(ibv_wc_read_imm_data(cq) == htobe32(0x01020304), "imm %#x",
		      ibv_wc_read_imm_data(cq));
		CHECK(ibv_wc_read_qp_num(cq) == p->qp[1]->qp_num, "qp_num");
	} else {
		CHECK(ibv_wc_read_opcode(cq) == IBV_WC_SEND, "opcode %d", ibv_wc_read_opcode(cq));
		CHECK(ibv_wc_read_qp_num(cq) == p->qp[0]->qp_num, "qp_num");
	}
	CHECK(!ibv_wc_read_vendor_err(cq), "vendor_err %u", ibv_wc_read_vendor_err(cq));
	ibv_wc_read_src_qp(cq);
	ibv_wc_read_slid(cq);
	CHECK(!ibv_wc_read_sl(cq), "sl %u", ibv_wc_read_sl(cq));
	ibv_wc_read_dlid_path_bits(cq);
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		CHECK(ibv_wc_read_completion_ts(cq), "no timestamp");
	if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		CHECK(ibv_wc_read_completion_wallclock_ns(cq), "no wall-clock time");
}

static void poll_all_ex(struct ibv_cq_ex *cq, struct pair *p, uint64_t flags, int want)
{
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t end = deadline_ms(5000);
	int ret;

	while (want > 0 && now_ns() < end) {
		ret = ibv_start_poll(cq, &attr);
		if (ret == ENOENT)
			continue;
		if (!CHECK(!ret, "start_poll: %s", err_name(ret)))
			return;
		do {
			CHECK(cq->status == IBV_WC_SUCCESS, "status %d", cq->status);
			read_one_ex(cq, p, flags);
			want--;
			ret = ibv_next_poll(cq);
		} while (!ret);
		CHECK(ret == ENOENT, "next_poll: %s", err_name(ret));
		ibv_end_poll(cq);
	}
	CHECK(!want, "%d completions are missing", want);
	if (!why_known())
		return;
	CHECK(ibv_start_poll(cq, &attr) == ENOENT, "start_poll of an empty queue");
	attr.comp_mask = 1;
	CHECK(ibv_start_poll(cq, &attr) == EINVAL, "start_poll with an unknown mask");
}

static void ex_send(struct pair *p, int k)
{
	struct ibv_sge sge = pair_sge(p, 0, 0, 24);
	struct ibv_send_wr wr = {
		.wr_id = k,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0x01020304),
	};

	CHECK_ERR(post_recv_at(p, 1, 100 + k, 1024, 64), 0);
	CHECK_ERR(post_one(p, 0, &wr), 0);
}

static void extended_with(uint64_t flags)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 64, .wc_flags = flags, .cq_context = &init };
	struct pair_want want = { .stay_reset = 1 };
	struct ibv_cq_ex *cq;
	struct pair p;

	pair_open(&p, &want);
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_qp(p.qp[i]), 0);
		CHECK_ERR(ibv_destroy_cq(p.cq[i]), 0);
	}
	cq = ibv_create_cq_ex(p.dev.ctx, &init);
	NEED(cq, "create_cq_ex with flags %#" PRIx64 ": %s; %s", flags, err_name(errno),
	     why_text());
	for (int i = 0; i < 2; i++) {
		p.cq[i] = ibv_cq_ex_to_cq(cq);
		pair_create_qp(&p, i);
	}
	pair_make_ready(&p);
	for (int k = 0; k < 8; k++)
		ex_send(&p, k);
	poll_all_ex(cq, &p, flags, 16);
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(ibv_destroy_qp(p.qp[i]), 0);
		p.qp[i] = NULL;
		p.cq[i] = NULL;
	}
	CHECK_ERR(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	pair_close(&p);
}

static void extended(void)
{
	extended_with(IBV_WC_STANDARD_FLAGS);
}

static void extended_times(void)
{
	if (!why_known())
		return;
	extended_with(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	extended_with(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
}

/* A program that polls by ibv_start_poll() may arm the queue before ibv_end_poll(). */
static void extended_arms(void)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 16 };
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq *got = NULL;
	struct ibv_cq_ex *cq;
	struct pair p;
	void *context;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1, .use_channel = 1 });
	init.channel = p.ch;
	cq = ibv_create_cq_ex(p.dev.ctx, &init);
	NEED_PTR(cq, "create_cq_ex");
	pair_replace_cq(&p, ibv_cq_ex_to_cq(cq));
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	for (uint64_t end = deadline_ms(WC_TIMEOUT); ibv_start_poll(cq, &attr); sched_yield())
		NEED(now_ns() < end, "no completion");
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	ibv_end_poll(cq);
	CHECK_ERR(post_rdma(&p, 0, 2, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	CHECK(!ibv_get_cq_event(p.ch, &got, &context) && got == p.cq[0], "no event");
	ibv_ack_cq_events(p.cq[0], 1);
	pair_close(&p);
}

/* The raw clock is one number in tv_nsec, in the units of the completion timestamps. */
static void raw_clock(void)
{
	struct ibv_values_ex before = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK }, after = before;
	struct test_dev dev;

	/* rxe's own library has no clock. */
	if (!why_known())
		return;
	dev_open(&dev);
	NEED_OK(ibv_query_rt_values_ex(dev.ctx, &before));
	sleep_ms(1100);
	NEED_OK(ibv_query_rt_values_ex(dev.ctx, &after));
	CHECK(!before.raw_clock.tv_sec && !after.raw_clock.tv_sec, "tv_sec is used");
	CHECK(after.raw_clock.tv_nsec - before.raw_clock.tv_nsec >= 1100000000L &&
	      (uint64_t)after.raw_clock.tv_nsec <= now_ns(), "tv_nsec went from %ld to %ld",
	      before.raw_clock.tv_nsec, after.raw_clock.tv_nsec);
	dev_close(&dev);
}

static void extended_refuses(void)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 64, .wc_flags = 1ull << 40 };
	struct test_dev dev;

	dev_open(&dev);
	CHECK(!ibv_create_cq_ex(dev.ctx, &init), "unknown wc_flags accepted");
	init.wc_flags = 0;
	init.comp_mask = 1 << 20;
	CHECK(!ibv_create_cq_ex(dev.ctx, &init), "unknown comp_mask accepted");
	dev_close(&dev);
}

static const struct test_case cases[] = {
	{ "sizes", sizes },
	{ "resize_with_waiting", resize_with_waiting },
	{ "resize_below_waiting", resize_below_waiting },
	{ "wraps", wraps },
	{ "wraps_in_lists", wraps_in_lists },
	{ "one_holds_two", one_holds_two },
	{ "channel_blocking", channel_blocking },
	{ "channel_nonblocking", channel_nonblocking },
	{ "one_event_per_arming", one_event_per_arming },
	{ "arm_then_poll", arm_then_poll },
	{ "solicited_only", solicited_only },
	{ "stronger_arming_stays", stronger_arming_stays },
	{ "solicited_error", solicited_error },
	{ "channel_shared", channel_shared },
	{ "channel_wakes_thread", channel_wakes_thread },
	{ "moderation", moderation },
	{ "extended", extended },
	{ "extended_times", extended_times },
	{ "extended_arms", extended_arms },
	{ "raw_clock", raw_clock },
	{ "extended_refuses", extended_refuses },
};

TEST_MAIN("api_cq (adv17)", cases, 30)
