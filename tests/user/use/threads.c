// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs may be called by any thread on the same object: several threads post to one queue
 * pair and poll one completion queue, and each completion is returned exactly once.
 */
#include "cq_ender.h"
#include "threads.h"

#define POSTERS 3
#define POLLERS 2
#define EACH 400

static struct {
	struct pair p;
	int inflight[2];
	int done;
	bool stop;
	uint8_t seen[2][POSTERS * EACH];
} s;

static void stop(void)
{
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
}

static bool stopped(void)
{
	return __atomic_load_n(&s.stop, __ATOMIC_RELAXED);
}

static bool take_from(int *inflight)
{
	int n = __atomic_load_n(inflight, __ATOMIC_RELAXED);

	return n < 48 && __atomic_compare_exchange_n(inflight, &n, n + 1, false,
						     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/*
 * A request is outstanding until its own completion has been polled. The completion of a
 * send does not mean that the matching receive may be posted again.
 */
static bool take_credit(int side)
{
	return take_from(&s.inflight[side]);
}

static void *post_writes(void *arg)
{
	uintptr_t me = (uintptr_t)arg;

	for (int k = 0; k < EACH && !stopped(); k++) {
		while (!take_credit(0) && !stopped())
			sched_yield();
		if (post_rdma(&s.p, 0, me * EACH + k, IBV_WR_RDMA_WRITE, 16, IBV_SEND_SIGNALED)) {
			FAIL("thread %lu, post %d: %s", (unsigned long)me, k, why_text());
			stop();
		}
	}
	return NULL;
}

static void *post_sends(void *arg)
{
	uintptr_t me = (uintptr_t)arg;

	for (int k = 0; k < EACH && !stopped(); k++) {
		while (!take_credit(0) && !stopped())
			sched_yield();
		while (!take_credit(1) && !stopped())
			sched_yield();
		if (post_recv_at(&s.p, 1, me * EACH + k, 4096, 64) ||
		    post_send_at(&s.p, 0, me * EACH + k, 0, 16, IBV_SEND_SIGNALED)) {
			FAIL("thread %lu, post %d: %s", (unsigned long)me, k, why_text());
			stop();
		}
	}
	return NULL;
}

static void note_one(const struct ibv_wc *wc, int side)
{
	if (wc->status || wc->wr_id >= POSTERS * EACH) {
		FAIL("completion %" PRIu64 ": %s", wc->wr_id, ibv_wc_status_str(wc->status));
		stop();
		return;
	}
	if (__atomic_add_fetch(&s.seen[side][wc->wr_id], 1, __ATOMIC_RELAXED) != 1) {
		FAIL("completion %" PRIu64 " came twice", wc->wr_id);
		stop();
	}
	__atomic_sub_fetch(&s.inflight[side], 1, __ATOMIC_ACQ_REL);
	__atomic_add_fetch(&s.done, 1, __ATOMIC_ACQ_REL);
}

static void *poll_side(void *arg)
{
	uintptr_t side = (uintptr_t)arg;
	struct ibv_wc wc[3];

	while (!stopped()) {
		int n = ibv_poll_cq(s.p.cq[side], 3, wc);

		if (n < 0) {
			FAIL("poll_cq: %d", n);
			stop();
		}
		for (int i = 0; i < n; i++)
			note_one(&wc[i], side);
		if (!n)
			sched_yield();
	}
	return NULL;
}

static void wait_done(int want)
{
	uint64_t end = deadline_ms(30000 * test_slowness());

	while (__atomic_load_n(&s.done, __ATOMIC_ACQUIRE) < want && !stopped() && now_ns() < end)
		sleep_ms(5);
	sleep_ms(50);
	CHECK(s.done == want, "%d completions, expected %d", s.done, want);
	stop();
}

static void run(void *(*poster)(void *), int sides)
{
	pthread_t post[POSTERS], poll[2 * POLLERS];

	memset(&s, 0, sizeof(s));
	pair_open(&s.p, NULL);
	for (uintptr_t i = 0; i < POSTERS; i++)
		pthread_create(&post[i], NULL, poster, (void *)i);
	for (int i = 0; i < POLLERS * sides; i++)
		pthread_create(&poll[i], NULL, poll_side, (void *)(uintptr_t)(i / POLLERS));
	wait_done(sides * POSTERS * EACH);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(post[i], NULL);
	for (int i = 0; i < POLLERS * sides; i++)
		pthread_join(poll[i], NULL);
	for (int side = 0; side < sides; side++)
		for (int i = 0; i < POSTERS * EACH; i++)
			CHECK(s.seen[side][i] == 1, "side %d, completion %d came %d times", side, i,
			      s.seen[side][i]);
	pair_close(&s.p);
}

static void writes(void)
{
	run(post_writes, 1);
}

static void sends(void)
{
	run(post_sends, 2);
}

/* Several threads create and destroy objects in one context. */
static void *make_objects(void *arg)
{
	struct test_dev *dev = arg;
	char mem[4096];

	for (int k = 0; k < 40; k++) {
		struct ibv_pd *pd = ibv_alloc_pd(dev->ctx);
		struct ibv_cq *cq = ibv_create_cq(dev->ctx, 8, NULL, NULL, 0);
		struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq,
			.qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
		struct ibv_mr *mr;
		struct ibv_qp *qp;

		if (!CHECK(pd && cq, "alloc_pd or create_cq: %s", why_text()))
			return NULL;
		mr = ibv_reg_mr(pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE);
		qp = ibv_create_qp(pd, &init);
		if (!CHECK(mr && qp, "reg_mr or create_qp: %s", why_text()))
			return NULL;
		CHECK_ERR(ibv_destroy_qp(qp), 0);
		CHECK_ERR(ibv_dereg_mr(mr), 0);
		CHECK_ERR(ibv_destroy_cq(cq), 0);
		CHECK_ERR(ibv_dealloc_pd(pd), 0);
	}
	return NULL;
}

static void objects(void)
{
	struct test_dev dev;
	pthread_t t[4];

	dev_open(&dev);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, make_objects, &dev);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	dev_close(&dev);
}

static void *open_and_close(void *arg)
{
	(void)arg;
	for (int k = 0; k < 20; k++) {
		struct ibv_context *ctx = dev_open_named(dev_wanted());

		if (!CHECK(ctx, "open_device: %s", why_text()))
			return NULL;
		CHECK_ERR(ibv_close_device(ctx), 0);
	}
	return NULL;
}

static void contexts(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, open_and_close, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* ---- A queue pair whose state is queried all the time -------------------------- */

static void *ask(void *unused)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	(void)unused;
	while (!stopped())
		if (!CHECK_ERR(ibv_query_qp(s.p.qp[0], &a, IBV_QP_STATE | IBV_QP_SQ_PSN, &init), 0))
			stop();
	return NULL;
}

/* Each write must wake the device, even if a query runs at that moment. */
static void asked(void)
{
	struct ibv_wc wc;
	pthread_t asker;

	memset(&s, 0, sizeof(s));
	pair_open(&s.p, NULL);
	NEED(!pthread_create(&asker, NULL, ask, NULL), "pthread_create");
	for (int k = 0; k < test_rounds(4000); k++) {
		CHECK_ERR(post_rdma(&s.p, 0, k, IBV_WR_RDMA_WRITE, 16, IBV_SEND_SIGNALED), 0);
		if (!WANT_WC(s.p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
	}
	stop();
	pthread_join(asker, NULL);
	pair_close(&s.p);
}

/* ---- A completion queue that ends with its last queue pair --------------------- */

#define FLUSHED 16

/* A queue pair whose receives wait in the queue as completions. */
static struct ibv_qp *qp_flushed(struct pair *p, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					 .cap = { 1, FLUSHED, 1, 1, 0 } };
	struct ibv_qp *qp = ibv_create_qp(p->pd, &init);
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct ibv_wc wc;

	NEED(qp, "create_qp: %s", why_text());
	NEED_OK(qp_to_init(qp));
	for (int i = 0; i < FLUSHED; i++)
		NEED_OK(ibv_post_recv(qp, &wr, &bad));
	NEED_OK(qp_to_state(qp, IBV_QPS_ERR));
	WANT_WC(cq, &wc, IBV_WC_WR_FLUSH_ERR);
	return qp;
}

/*
 * The kernel lets the completion queue go before the thread that destroys the queue pair has
 * removed its completions.
 */
static void queues_end(void)
{
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct pair p;

	pair_open(&p, NULL);
	for (int k = 0; k < test_rounds(20); k++) {
		cq = ibv_create_cq(p.dev.ctx, 2 * FLUSHED, NULL, NULL, 0);
		NEED_PTR(cq, "create_cq");
		qp = qp_flushed(&p, cq);
		cq_ender_start(cq, k);
		CHECK_ERR(ibv_destroy_qp(qp), 0);
		cq_ender_join();
	}
	pair_close(&p);
}

/* A thread that wants a queue while another one is between two of its calls. */
struct waiter {
	struct pair *p;
	pid_t tid;
	pthread_t thread;
};

static void *posts(void *arg)
{
	struct waiter *w = arg;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	CHECK_ERR(ibv_post_send(w->p->qp[0], &wr, &bad), 0);
	return NULL;
}

/*
 * A thread that posts between ibv_wr_start(3) and ibv_wr_abort(3) of another one sleeps until then.
 * It must not sleep on.
 */
static void waiter_goes_on(void)
{
	struct pair_want want = { .use_ex = 1 };
	struct timespec until;
	struct ibv_wc wc;
	struct pair p;

	pair_open(&p, &want);
	for (int i = 0; i < 20; i++) {
		struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(p.qp[0]);
		struct waiter w = { .p = &p };

		ibv_wr_start(qpx);
		NEED(!pthread_create(&w.thread, NULL, posts, &w), "pthread_create");
		while (!__atomic_load_n(&w.tid, __ATOMIC_ACQUIRE) ||
		       !thread_sleeps_in(getpid(), w.tid, SYS_futex))
			sleep_ms(1);
		ibv_wr_abort(qpx);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += WC_TIMEOUT / 1000;
		NEED(!pthread_timedjoin_np(w.thread, NULL, &until), "the thread still waits");
		WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	}
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "writes", writes },
	{ "sends", sends },
	{ "objects", objects },
	{ "contexts", contexts },
	{ "asked", asked },
	{ "queues_end", queues_end },
	{ "waiter_goes_on", waiter_goes_on },
};

TEST_MAIN("threads", cases, 60)
