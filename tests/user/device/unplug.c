// SPDX-License-Identifier: GPL-2.0
/*
 * adv07. The device is removed while everything is in use: objects, mappings, blocked readers,
 * traffic. The argument is the command that removes it.
 *   unplug 'rdma link del rxe0'
 */
#include "xrc.h"

static struct {
	struct pair p;		/* Has traffic. */
	struct pair idle;	/* Has no completions. */
	struct ibv_comp_channel *quiet;	/* Has no queue: only the removal ends a read, and signals. */
	int raw_fd;
	struct raw_cq raw;
	uint8_t *doorbell;
	int comp_ret;
	int comp_err;
	int async_ret;
	struct ibv_async_event event;
	int async_err;
	int async_polled;
	short comp_revents;
	short async_revents;
	unsigned long rounds;
	_Atomic int traffic_end;	/* 1: post failed; 2: poll failed; 3: an error completion. */
	bool has_xrc;
	struct xrc x;
	unsigned long xrc_rounds;
	_Atomic int xrc_end;	/* As traffic_end. */
	struct ibv_comp_cntr *cntr;	/* Counts the sends of @p; NULL if not offered. */
	struct ibv_cq *wq_cq;
	struct ibv_wq *wq;	/* Has a request; NULL if not offered. */
	struct ibv_rwq_ind_table *table;
	struct ibv_context *imported;
	int sleepers;		/* Number of threads that have not returned yet. */
} u;

static void *block_comp(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	(void)arg;
	u.comp_ret = ibv_get_cq_event(u.quiet, &cq, &context);
	u.comp_err = errno;
	__atomic_sub_fetch(&u.sleepers, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

static void *block_async(void *arg)
{
	struct pollfd pfd = { .fd = u.p.dev.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event later;

	(void)arg;
	/* Events of its port and its addresses may come first. */
	do {
		u.async_ret = ibv_get_async_event(u.p.dev.ctx, &u.event);
		if (!u.async_ret)
			ibv_ack_async_event(&u.event);
	} while (!u.async_ret && u.event.event_type != IBV_EVENT_DEVICE_FATAL);
	fcntl(pfd.fd, F_SETFL, O_NONBLOCK);
	/* A second event of its port may come behind it. */
	while (!ibv_get_async_event(u.p.dev.ctx, &later))
		ibv_ack_async_event(&later);
	u.async_err = errno;
	u.async_polled = poll(&pfd, 1, 0);
	__atomic_sub_fetch(&u.sleepers, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

static void *poll_fds(void *arg)
{
	struct pollfd pfd[2] = {
		{ .fd = u.p.ch->fd, .events = 0 },
		{ .fd = u.idle.dev.ctx->async_fd, .events = POLLIN },
	};

	(void)arg;
	/*
	 * Wait without a limit, since the command may take any time. The timeout of
	 * all_back() starts after it.
	 */
	while (!(pfd[0].revents && pfd[1].revents)) {
		poll(pfd, 2, 1000);
		sleep_ms(1);
	}
	u.comp_revents = pfd[0].revents;
	u.async_revents = pfd[1].revents;
	__atomic_sub_fetch(&u.sleepers, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

/* Return the good completions of both queues, or the error that came instead. */
static int both_complete(struct ibv_cq *a, struct ibv_cq *b)
{
	struct ibv_cq *cq[2] = { a, b };
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++) {
		uint64_t end = deadline_ms(2 * WC_TIMEOUT);
		int n;

		do {
			n = ibv_poll_cq(cq[i], 1, &wc);
		} while (!n && now_ns() < end);
		if (n != 1 || wc.status != IBV_WC_SUCCESS)
			return n < 0 ? 2 : n ? 3 : 4;
	}
	return 0;
}

static bool traffic_round(unsigned long k)
{
	if (post_recv_at(&u.p, 1, k, 8192, PAIR_HALF / 2) ||
	    post_send_at(&u.p, 0, k, 0, 20000, IBV_SEND_SIGNALED))
		u.traffic_end = 1;
	else
		u.traffic_end = both_complete(u.p.cq[0], u.p.cq[1]);
	return !u.traffic_end;
}

static void *traffic(void *arg)
{
	(void)arg;
	while (traffic_round(u.rounds))
		__atomic_add_fetch(&u.rounds, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&u.sleepers, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

/* Send to an XRC target by one of the two SRQs. */
static bool xrc_round(int which)
{
	struct ibv_sge from = xrc_sge(&u.x, 0, 0, 20000), to = xrc_sge(&u.x, 1, 0, HALF);
	struct ibv_send_wr wr = request(&u.x, IBV_WR_SEND, u.x.srqn[which], 0, &from), *bad;
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad_recv;

	if (ibv_post_srq_recv(u.x.srq[which], &recv, &bad_recv) ||
	    ibv_post_send(u.x.ini, &wr, &bad))
		u.xrc_end = 1;
	else
		u.xrc_end = both_complete(u.x.cq, u.x.rcq[which]);
	return !u.xrc_end;
}

static void *xrc_traffic(void *arg)
{
	(void)arg;
	while (xrc_round(u.xrc_rounds % 2))
		__atomic_add_fetch(&u.xrc_rounds, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&u.sleepers, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

/* A device with XRC has XRC traffic as well. */
static bool busy(void)
{
	return __atomic_load_n(&u.rounds, __ATOMIC_RELAXED) >= 20 &&
	       (!u.has_xrc || __atomic_load_n(&u.xrc_rounds, __ATOMIC_RELAXED) >= 20);
}

static void open_raw(void)
{
	struct univ_context_query q = { 0 };

	u.raw_fd = raw_open();
	raw_cq(u.raw_fd, &u.raw, 256, -1);
	NEED_OK(raw_call(u.raw_fd, UNIV_CONTEXT_QUERY, &q));
	u.doorbell = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, u.raw_fd, q.doorbell_offset);
	NEED(u.doorbell != MAP_FAILED, "doorbell: %s", err_name(errno));
}

/* Signals of the channel say why they were sent. They are blocked, and read later. */
static void want_signals(int fd)
{
	NEED(!fcntl(fd, F_SETOWN, getpid()) && !fcntl(fd, F_SETSIG, SIGRTMIN) &&
	     !fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC), "signals: %s", err_name(errno));
}

static void check_signals(void)
{
	struct timespec limit = { .tv_sec = WC_TIMEOUT / 1000 };
	siginfo_t info = {};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	while (info.si_code != POLL_HUP && sigtimedwait(&set, &info, &limit) == SIGRTMIN)
		;
	CHECK(info.si_code == POLL_HUP, "no signal says POLL_HUP; the last one says %d", info.si_code);
}

static bool all_back(void)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);

	while (__atomic_load_n(&u.sleepers, __ATOMIC_ACQUIRE) && now_ns() < end)
		sleep_ms(5);
	return !u.sleepers;
}

/* An importer reads the removal, too, and its descriptor is silent after it. */
static void check_imported(void)
{
	struct pollfd pfd = { .fd = u.imported->async_fd, .events = POLLIN };
	struct ibv_async_event event = { .event_type = IBV_EVENT_PORT_ACTIVE };
	int ret;

	fcntl(pfd.fd, F_SETFL, O_NONBLOCK);
	do {
		ret = ibv_get_async_event(u.imported, &event);
		if (!ret)
			ibv_ack_async_event(&event);
	} while (!ret && event.event_type != IBV_EVENT_DEVICE_FATAL);
	CHECK(!ret, "the importer reads no IBV_EVENT_DEVICE_FATAL: %s", err_name(errno));
	while (!ibv_get_async_event(u.imported, &event))
		ibv_ack_async_event(&event);
	CHECK(errno == EAGAIN, "get_async_event after the last event: %s", err_name(errno));
	CHECK(!poll(&pfd, 1, 0), "poll of the importer after the last event: %#x", pfd.revents);
}

static const char *how_it_ended(int end)
{
	static const char *const how[] = { "itself", "a refused post", "a failed poll",
					   "an error completion", "a completion that did not come" };

	return how[end];
}

static void check_sleepers(void)
{
	CHECK(u.comp_ret && u.comp_err == ENODEV, "get_cq_event gave %d, %s", u.comp_ret,
	      err_name(u.comp_err));
	CHECK(!u.async_ret && u.event.event_type == IBV_EVENT_DEVICE_FATAL,
	      "get_async_event gave %d, event %d", u.async_ret, u.event.event_type);
	CHECK(u.async_err == EAGAIN, "get_async_event after the last event: %s", err_name(u.async_err));
	CHECK(!u.async_polled, "poll of the context after the last event: %d", u.async_polled);
	CHECK(u.comp_revents & (POLLERR | POLLHUP), "poll of the channel: %#x", u.comp_revents);
	CHECK(u.async_revents == POLLIN, "poll of the context: %#x", u.async_revents);
	CHECK(u.traffic_end, "the traffic ended by itself after %lu rounds", u.rounds);
	CHECK(u.traffic_end < 4, "a request that nobody completed");
	printf("traffic ended after %lu rounds by %s\n", u.rounds, how_it_ended(u.traffic_end));
	if (!u.has_xrc)
		return;
	CHECK(u.xrc_end && u.xrc_end < 4, "XRC ended after %lu rounds by %s", u.xrc_rounds,
	      how_it_ended(u.xrc_end));
	printf("XRC ended after %lu rounds by %s\n", u.xrc_rounds, how_it_ended(u.xrc_end));
}

/* The traffic is counted if the device has completion counters. */
static void open_counted(struct pair *p, struct pair_want *want)
{
	struct ibv_comp_cntr_init_attr init = { .type = IBV_COMP_CNTR_TYPE_WRS };
	struct ibv_qp_attach_comp_cntr_attr attr = {
		.op_mask = IBV_QP_ATTACH_COMP_CNTR_OP_SEND,
	};

	want->stay_reset = 1;
	pair_open(p, want);
	u.cntr = ibv_create_comp_cntr(p->dev.ctx, &init);
	NEED(u.cntr || (errno == EOPNOTSUPP && !on_uroce()), "create_comp_cntr: %s", why_text());
	if (u.cntr)
		NEED_OK(ibv_qp_attach_comp_cntr(p->qp[0], u.cntr, &attr));
	for (int i = 0; i < 2; i++)
		qp_connect(&p->dev, p->qp[i], p->qp[!i]->qp_num, &p->want);
}

static int post_wq(void)
{
	struct ibv_recv_wr wr = { .wr_id = 77 }, *bad;

	return ibv_post_wq_recv(u.wq, &wr, &bad);
}

static void open_wq(struct pair *p)
{
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ, .max_wr = 4, .pd = p->pd };
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_rwq_ind_table_init_attr table = { .ind_tbl = &u.wq };

	if (!raw_offers(p->dev.ctx->cmd_fd, UNIV_FEATURE_WQ))
		return;
	u.wq_cq = ibv_create_cq(p->dev.ctx, 4, NULL, NULL, 0);
	NEED_PTR(u.wq_cq, "create_cq");
	init.cq = u.wq_cq;
	u.wq = ibv_create_wq(p->dev.ctx, &init);
	NEED_PTR(u.wq, "create_wq");
	NEED_OK(ibv_modify_wq(u.wq, &ready));
	NEED_OK(post_wq());
	u.table = ibv_create_rwq_ind_table(p->dev.ctx, &table);
	NEED_PTR(u.table, "create_rwq_ind_table");
}

#define GONE(call) do {								\
	int __err;								\
	errno = 0;								\
	__err = (call);								\
	CHECK(__err == ENODEV, "%s: expected ENODEV, got %s", #call, err_name(__err)); \
	CHECK(why_reason() == UNIV_REASON_DEVICE_GONE, "%s: reason %u: %s", #call, \
	      why_reason(), why_text());					\
} while (0)

#define GONE_PTR(call) GONE((call) ? 0 : errno)

static void check_verbs(void)
{
	struct ibv_qp_init_attr init = { .send_cq = u.p.cq[0], .recv_cq = u.p.cq[0],
		.qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_context *ctx = u.p.dev.ctx;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	struct ibv_qp_attr qa;
	struct ibv_srq_attr srq = { .max_wr = 100 };

	GONE_PTR(ibv_alloc_pd(ctx));
	GONE_PTR(ibv_reg_mr(u.p.pd, u.p.buf[0], 4096, 0));
	GONE_PTR(ibv_create_cq(ctx, 16, NULL, NULL, 0));
	GONE_PTR(ibv_create_qp(u.p.pd, &init));
	GONE_PTR(ibv_create_comp_channel(ctx));
	GONE(ibv_query_port(ctx, PORT, &port));
	GONE(ibv_query_device(ctx, &attr));
	GONE(ibv_query_qp(u.p.qp[0], &qa, IBV_QP_STATE, &init));
	GONE(qp_to_state(u.p.qp[0], IBV_QPS_ERR));
	GONE(ibv_resize_cq(u.p.cq[0], 500));
	if (u.p.srq)
		GONE(ibv_modify_srq(u.p.srq, &srq, IBV_SRQ_MAX_WR));
}

/* The values stay readable, and count what completed before. */
static void check_cntr(void)
{
	uint64_t value = 0;

	CHECK_ERR(ibv_read_comp_cntr(u.cntr, &value), 0);
	CHECK(value >= u.rounds, "%" PRIu64 " sends counted of %lu", value, u.rounds);
	GONE(ibv_set_comp_cntr(u.cntr, 0));
}

/* The request was flushed before the queue went. */
static void check_wq(void)
{
	struct ibv_wq_init_attr init = { .max_wr = 4, .pd = u.p.pd, .cq = u.wq_cq };
	struct ibv_rwq_ind_table_init_attr table = { .ind_tbl = &u.wq };
	struct ibv_wq_attr reset = { .attr_mask = IBV_WQ_ATTR_STATE };
	struct ibv_context *ctx = u.p.dev.ctx;
	struct ibv_wc wc;

	if (WANT_WC(u.wq_cq, &wc, IBV_WC_WR_FLUSH_ERR))
		CHECK(wc.wr_id == 77, "wr_id %" PRIu64, wc.wr_id);
	CHECK(ibv_poll_cq(u.wq_cq, 1, &wc) < 0, "a dead queue is empty");
	GONE(post_wq());
	GONE(ibv_modify_wq(u.wq, &reset));
	GONE_PTR(ibv_create_wq(ctx, &init));
	GONE_PTR(ibv_create_rwq_ind_table(ctx, &table));
}

static void check_xrc(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_qp_init_attr init;
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad;
	struct ibv_qp_attr qa;

	GONE_PTR(xrcd_of(u.x.dev.ctx, -1, O_CREAT));
	GONE_PTR(target_opened(u.x.dev.ctx, u.x.xrcd, u.x.tgt->qp_num, NULL));
	GONE(ibv_query_qp(u.x.tgt, &qa, IBV_QP_STATE, &init));
	GONE(ibv_modify_srq(u.x.srq[0], &attr, IBV_SRQ_LIMIT));
	CHECK(ibv_post_srq_recv(u.x.srq[0], &recv, &bad), "post_srq_recv on a dead device");
}

/* Posting to and polling a dead device returns an error at once, every time. */
static void check_data_path(void)
{
	struct ibv_wc wc[16];
	int n = 0;

	for (int i = 0; i < 2; i++) {
		uint64_t end = deadline_ms(WC_TIMEOUT);

		do {
			n = ibv_poll_cq(u.p.cq[i], 16, wc);
		} while (n > 0 && now_ns() < end);
		CHECK(n < 0, "polling a dead queue gave %d", n);
		n = ibv_poll_cq(u.idle.cq[i], 16, wc);
		for (int k = 0; k < 8 && n > 0; k++)
			n = ibv_poll_cq(u.idle.cq[i], 16, wc);
		CHECK(n < 0, "polling a dead idle queue gave %d", n);
	}
	CHECK(post_send_at(&u.p, 0, 1, 0, 8, IBV_SEND_SIGNALED), "post_send on a dead device");
	CHECK(post_recv_at(&u.p, 0, 1, 0, 8), "post_recv on a dead device");
	ibv_req_notify_cq(u.p.cq[0], 0);
}

static void check_raw(void)
{
	struct univ_pd_alloc pd = { 0 };
	unsigned int sum = 0;
	void *at;
	int err;

	for (size_t i = 0; i < u.raw.map.length; i += 64)
		sum += ((volatile uint8_t *)u.raw.map.base)[i];
	printf("the mapping reads, sum %u\n", sum);
	u.raw.map.base[0] = 1;
	CHECK(((volatile struct univ_doorbell *)u.doorbell)->state & UNIV_RING_DEAD,
	      "the doorbell page does not say that the device is gone");
	err = raw_call(u.raw_fd, UNIV_PD_ALLOC, &pd);
	CHECK(err == ENODEV && pd.hdr.reason == UNIV_REASON_DEVICE_GONE, "ioctl: %s, reason %u",
	      err_name(err), pd.hdr.reason);
	CHECK_ERR(raw_kick(u.raw_fd, 1, UNIV_KICK_SEND), ENODEV);
	at = mmap(NULL, u.raw.map.length, PROT_READ | PROT_WRITE, MAP_SHARED, u.raw_fd,
		  u.raw.map.offset);
	CHECK(at == MAP_FAILED, "a ring of a dead device was mapped");
}

/* The call must return, with zero or ENODEV; it must not hang or return EBUSY. */
#define AWAY(call) do {								\
	int __err = (call);							\
	CHECK(!__err || __err == ENODEV, "%s: %s", #call, err_name(__err));	\
} while (0)

static void close_wq(void)
{
	AWAY(ibv_destroy_rwq_ind_table(u.table));
	AWAY(ibv_destroy_wq(u.wq));
	AWAY(ibv_destroy_cq(u.wq_cq));
}

static void close_pair(struct pair *p, struct ibv_comp_cntr *cntr)
{
	for (int i = 0; i < 2; i++)
		AWAY(ibv_destroy_qp(p->qp[i]));
	if (cntr)
		AWAY(ibv_destroy_comp_cntr(cntr));
	for (int i = 0; i < 2; i++)
		AWAY(ibv_destroy_cq(p->cq[i]));
	if (p->srq)
		AWAY(ibv_destroy_srq(p->srq));
	AWAY(ibv_destroy_comp_channel(p->ch));
	AWAY(ibv_dereg_mr(p->mr));
	AWAY(ibv_dealloc_pd(p->pd));
	AWAY(ibv_close_device(p->dev.ctx));
}

static void close_xrc(struct xrc *x)
{
	AWAY(ibv_destroy_qp(x->ini));
	AWAY(ibv_destroy_qp(x->tgt));
	for (int i = 0; i < 2; i++) {
		AWAY(ibv_destroy_srq(x->srq[i]));
		AWAY(ibv_destroy_cq(x->rcq[i]));
	}
	AWAY(ibv_close_xrcd(x->xrcd));
	AWAY(ibv_destroy_cq(x->cq));
	AWAY(ibv_dereg_mr(x->mr));
	AWAY(ibv_dealloc_pd(x->pd));
	AWAY(ibv_close_device(x->dev.ctx));
}

int main(int argc, char **argv)
{
	struct pair_want want = { .use_channel = 1 };
	struct pair_want srq = { .use_channel = 1, .use_srq = 1 };
	void *(*fns[])(void *) = { block_comp, block_async, poll_fds, traffic, xrc_traffic };
	size_t threads = ARRAY_SIZE(fns) - 1;
	pthread_t t[ARRAY_SIZE(fns)];
	sigset_t blocked = {};
	uint64_t start;
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	test_program = "unplug (adv07)";
	NEED(argc == 2, "usage: unplug COMMAND");
	test_limit(60);
	open_counted(&u.p, &want);
	open_wq(&u.p);
	pair_open(&u.idle, &srq);
	u.quiet = ibv_create_comp_channel(u.idle.dev.ctx);
	NEED_PTR(u.quiet, "create_comp_channel");
	u.imported = ibv_import_device(dup(u.idle.dev.ctx->cmd_fd));
	NEED(u.imported, "import_device: %s; %s", err_name(errno), why_text());
	open_raw();
	u.has_xrc = is_offered();
	if (u.has_xrc) {
		xrc_open(&u.x, -1);
		threads++;
	}
	NEED_OK(ibv_req_notify_cq(u.idle.cq[0], 0));
	u.sleepers = threads;
	/* SIGCHLD of the command would interrupt a read, which notices the removal then. */
	sigaddset(&blocked, SIGCHLD);
	sigaddset(&blocked, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	want_signals(u.quiet->fd);
	for (size_t i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, fns[i], NULL);
	while (!busy() && !u.traffic_end && !u.xrc_end)
		sleep_ms(5);

	test_now = argv[1];
	start = now_ns();
	status = system(argv[1]);
	printf("%s took %" PRIu64 " ms\n", argv[1], (now_ns() - start) / 1000000);
	NEED(!status, "%s: status %#x", argv[1], status);

	test_now = "sleepers";
	NEED(all_back(), "%d of %zu threads still sleep; comp %d async %d poll %#x %#x traffic %d XRC %d",
	     u.sleepers, threads, u.comp_ret, u.async_ret, u.comp_revents, u.async_revents,
	     u.traffic_end, u.xrc_end);
	for (size_t i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	check_sleepers();
	check_signals();
	check_imported();
	test_now = "verbs";
	check_verbs();
	if (u.cntr)
		check_cntr();
	if (u.wq)
		check_wq();
	if (u.has_xrc)
		check_xrc();
	test_now = "data path";
	check_data_path();
	test_now = "raw";
	check_raw();
	test_now = "close";
	if (u.wq)
		close_wq();
	AWAY(ibv_close_device(u.imported));
	CHECK_ERR(ibv_destroy_comp_channel(u.quiet), 0);
	close_pair(&u.p, u.cntr);
	close_pair(&u.idle, NULL);
	if (u.has_xrc)
		close_xrc(&u.x);
	raw_unmap(&u.raw.map);
	munmap(u.doorbell, PAGE);
	close(u.raw_fd);
	printf("unplug: %d failed checks\n", test_failures);
	return test_failures ? 1 : 0;
}
