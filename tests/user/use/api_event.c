// SPDX-License-Identifier: GPL-2.0
/* adv30. Asynchronous events, and signals while a thread waits for an event. */
#include "testlib.h"
#include "events.h"
#include "memlock.h"
#include "threads.h"

static void nothing_happened(void)
{
	struct ibv_async_event event;
	struct test_dev dev;
	int ret;

	dev_open(&dev);
	CHECK(no_event_within(dev.ctx, 50), "an event on a fresh context");
	fcntl(dev.ctx->async_fd, F_SETFL, fcntl(dev.ctx->async_fd, F_GETFL) | O_NONBLOCK);
	errno = 0;
	ret = ibv_get_async_event(dev.ctx, &event);
	CHECK(ret && errno == EAGAIN, "get_async_event: %d, %s", ret, err_name(errno));
	dev_close(&dev);
}

/* The first message that arrives in RTR causes an event; rxe does not report it. */
static void established(void)
{
	struct pair_want want = { .stay_reset = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	qp_connect(&p.dev, p.qp[0], p.qp[1]->qp_num, NULL);
	NEED_OK(qp_to_init(p.qp[1]));
	CHECK_ERR(post_recv_at(&p, 1, 1, 0, 64), 0);
	NEED_OK(qp_to_rtr(&p.dev, p.qp[1], p.qp[0]->qp_num));
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[1], &wc, IBV_WC_SUCCESS);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	if (on_uroce())
		want_async(p.dev.ctx, IBV_EVENT_COMM_EST, p.qp[1]);
	else
		CHECK(no_event_within(p.dev.ctx, 200), "rxe raises an event");
	pair_close(&p);
}

/* A queue pair with an SRQ reports when its last request has completed; rxe need not. */
static void want_last_request(struct pair *p, struct ibv_qp *qp)
{
	struct ibv_async_event event;

	if (on_uroce())
		want_async(p->dev.ctx, IBV_EVENT_QP_LAST_WQE_REACHED, qp);
	else if (take_event(p->dev.ctx, IBV_EVENT_QP_LAST_WQE_REACHED, &event, 200))
		CHECK(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && event.element.qp == qp,
		      "event %s", ibv_event_type_str(event.event_type));
}

static void last_request(void)
{
	struct pair_want want = { .use_srq = 1 };
	struct pair p;

	pair_open(&p, &want);
	CHECK_ERR(qp_to_state(p.qp[1], IBV_QPS_ERR), 0);
	want_last_request(&p, p.qp[1]);
	pair_close(&p);
}

/* The same after a request of the queue pair itself has failed. */
static void last_request_of_failure(void)
{
	struct pair_want want = { .use_srq = 1 };
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	sge = (struct ibv_sge){ (uintptr_t)p.buf[1], 8, p.mr->lkey ^ 0x55 };
	CHECK_ERR(post_one(&p, 1, &wr), 0);
	/* rdma_rxe reports another status for a wrong key of a send, which has changed in 6.2. */
	CHECK(wait_wc(p.cq[1], &wc, WC_TIMEOUT) == 1 && wc.status != IBV_WC_SUCCESS &&
	      (wc.status == IBV_WC_LOC_PROT_ERR || !on_uroce()), "%s",
	      ibv_wc_status_str(wc.status));
	want_last_request(&p, p.qp[1]);
	pair_close(&p);
}

static int signals;

static void on_signal(int sig)
{
	(void)sig;
	__atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED);
}

struct blocked {
	struct ibv_context *ctx;
	struct ibv_comp_channel *ch;
	pid_t tid;
	int ret;
	int err;
};

static void *block_async(void *arg)
{
	struct blocked *b = arg;
	struct ibv_async_event event;

	__atomic_store_n(&b->tid, gettid(), __ATOMIC_RELEASE);
	b->ret = ibv_get_async_event(b->ctx, &event);
	b->err = errno;
	return NULL;
}

static void *block_comp(void *arg)
{
	struct blocked *b = arg;
	struct ibv_cq *cq;
	void *context;

	b->ret = ibv_get_cq_event(b->ch, &cq, &context);
	b->err = errno;
	return NULL;
}

/* A signal before the thread's system call has no effect, so repeat it. */
static void interrupt(pthread_t thread, const struct blocked *b, const char *what)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &sa, NULL);
	do {
		sleep_ms(50);
		pthread_kill(thread, SIGUSR1);
	} while (pthread_tryjoin_np(thread, NULL));
	CHECK(b->ret == -1 && b->err == EINTR, "%s after a signal: %d, %s", what, b->ret,
	      err_name(b->err));
}

static void signals_interrupt(void)
{
	struct pair_want want = { .use_channel = 1 };
	pthread_t thread;
	struct blocked b;
	struct pair p;

	pair_open(&p, &want);
	b = (struct blocked){ .ctx = p.dev.ctx, .ch = p.ch };
	NEED(!pthread_create(&thread, NULL, block_async, &b), "pthread_create");
	interrupt(thread, &b, "get_async_event");
	NEED(!pthread_create(&thread, NULL, block_comp, &b), "pthread_create");
	interrupt(thread, &b, "get_cq_event");
	CHECK(pair_works(&p), "the pair does not work after signals");
	pair_close(&p);
}

/*
 * A program closes a context with all that it holds, while its thread still waits for an
 * asynchronous event. The objects end all the same, and the thread waits on.
 */
static void close_beside_a_reader(struct ibv_context *ctx)
{
	/* Leak checkers do not report what a static variable reaches; the compiler has to keep it. */
	static struct ibv_mr *volatile left[2];
	static unsigned int closed;
	long before = locked_kb();
	struct ibv_pd *pd;
	pthread_t thread;
	struct blocked b;
	pid_t tid;
	void *buf;

	buf = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(buf != MAP_FAILED, "mmap");
	pd = ibv_alloc_pd(ctx);
	NEED(pd && (left[closed++ % 2] = ibv_reg_mr(pd, buf, 1 << 20, 0)), "reg_mr: %s", err_name(errno));
	CHECK(locked_kb() >= before + 1024, "%ld kB are pinned", locked_kb() - before);
	b = (struct blocked){ .ctx = ctx };
	NEED(!pthread_create(&thread, NULL, block_async, &b), "pthread_create");
	while (!(tid = __atomic_load_n(&b.tid, __ATOMIC_ACQUIRE)) ||
	       !thread_sleeps_in(getpid(), tid, SYS_read))
		sleep_ms(10);
	CHECK_ERR(ibv_close_device(ctx), 0);
	CHECK(locked_kb() < before + 1024, "%ld kB stay pinned", locked_kb() - before);
	/* A thread that was woken might use the context again, which is freed. */
	sleep_ms(50);
	CHECK(thread_sleeps_in(getpid(), tid, SYS_read), "the close has woken the reader");
	interrupt(thread, &b, "get_async_event");
	munmap(buf, 1 << 20);
}

static void closed_beside_a_reader(void)
{
	struct test_dev dev;

	dev_open(&dev);
	close_beside_a_reader(dev.ctx);
}

/* The context that is imported is the last user of the device's file. */
static void imported_closed_beside_a_reader(void)
{
	struct ibv_context *imported;
	struct test_dev dev;

	dev_open(&dev);
	imported = ibv_import_device(dup(dev.ctx->cmd_fd));
	NEED(imported, "import_device: %s; %s", err_name(errno), why_text());
	dev_close(&dev);
	close_beside_a_reader(imported);
}

/* Both descriptors can report an event by SIGIO. */
static void want_sigio(int fd)
{
	NEED(!fcntl(fd, F_SETOWN, getpid()), "F_SETOWN: %s", err_name(errno));
	NEED(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC), "O_ASYNC: %s", err_name(errno));
}

static bool sigio_came(void)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);

	while (!__atomic_load_n(&signals, __ATOMIC_RELAXED) && now_ns() < end)
		sleep_ms(5);
	return __atomic_exchange_n(&signals, 0, __ATOMIC_RELAXED);
}

static void sigio(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	sigaction(SIGIO, &sa, NULL);
	pair_open(&p, &want);
	__atomic_store_n(&signals, 0, __ATOMIC_RELAXED);
	want_sigio(p.ch->fd);
	want_sigio(p.dev.ctx->async_fd);
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	CHECK(sigio_came(), "no SIGIO for a completion");
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	/* After O_ASYNC is cleared, no signal is sent. */
	fcntl(p.ch->fd, F_SETFL, fcntl(p.ch->fd, F_GETFL) & ~O_ASYNC);
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 2, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	sleep_ms(50);
	CHECK(!__atomic_load_n(&signals, __ATOMIC_RELAXED), "SIGIO that nobody asked for");
	pair_close(&p);
	signal(SIGIO, SIG_DFL);
}

/* Destroying a completion queue waits until its event is acknowledged. */
struct late_ack {
	struct ibv_cq *cq;
	unsigned int ms;
};

static void *ack_later(void *arg)
{
	const struct late_ack *late = arg;

	sleep_ms(late->ms);
	ibv_ack_cq_events(late->cq, 1);
	return NULL;
}

static void destroy_waits(unsigned int ms)
{
	struct pair_want want = { .use_channel = 1 };
	struct late_ack late = { .ms = ms };
	pthread_t thread;
	struct ibv_wc wc;
	uint64_t start;
	struct pair p;
	void *context;

	pair_open(&p, &want);
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	NEED_OK(ibv_get_cq_event(p.ch, &late.cq, &context));
	CHECK_ERR(ibv_destroy_qp(p.qp[0]), 0);
	p.qp[0] = NULL;
	start = now_ns();
	pthread_create(&thread, NULL, ack_later, &late);
	CHECK_ERR(ibv_destroy_cq(p.cq[0]), 0);
	CHECK(now_ns() - start > ms * 500000ull, "destroy_cq did not wait for the acknowledgement");
	p.cq[0] = NULL;
	pthread_join(thread, NULL);
	pair_close(&p);
}

/* The second wait exceeds the second after which UNIVERBS_EXPLAIN reports it. */
static void destroy_waits_for_ack(void)
{
	destroy_waits(200);
	destroy_waits(2200);
}

/* An unread event is dropped with its completion queue. */
static void destroy_drops_unread(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	CHECK_ERR(ibv_req_notify_cq(p.cq[0], 0), 0);
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	sleep_ms(50);
	CHECK_ERR(ibv_destroy_qp(p.qp[0]), 0);
	CHECK_ERR(ibv_destroy_cq(p.cq[0]), 0);
	p.qp[0] = NULL;
	p.cq[0] = NULL;
	if (why_known()) {
		struct pollfd pfd = { .fd = p.ch->fd, .events = POLLIN };

		CHECK(!poll(&pfd, 1, 20), "an event of a queue that is gone");
	}
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "nothing_happened", nothing_happened },
	{ "established", established },
	{ "last_request", last_request },
	{ "last_request_of_failure", last_request_of_failure },
	{ "signals_interrupt", signals_interrupt },
	{ "closed_beside_a_reader", closed_beside_a_reader },
	{ "imported_closed_beside_a_reader", imported_closed_beside_a_reader },
	{ "sigio", sigio },
	{ "destroy_waits_for_ack", destroy_waits_for_ack },
	{ "destroy_drops_unread", destroy_drops_unread },
};

TEST_MAIN("api_event (adv30)", cases, 30)
