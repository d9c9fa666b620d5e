// SPDX-License-Identifier: GPL-2.0
/* Queue pairs whose rings lie in the same mapping: each keeps its own requests, and memory is used again. */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "random.h"
#include "testlib.h"
#include "threads.h"

#define PAIRS 40
#define THREADS 4

/* Another pair of queue pairs of the same device, with rings for @wr requests. */
static struct pair sibling(const struct pair *p, uint32_t wr)
{
	struct pair q = *p;

	q.want.send_wr = wr;
	q.want.recv_wr = wr;
	for (int i = 0; i < 2; i++)
		pair_create_qp(&q, i);
	pair_make_ready(&q);
	return q;
}

static void sibling_end(struct pair *q)
{
	for (int i = 0; i < 2; i++)
		CHECK_ERR(ibv_destroy_qp(q->qp[i]), 0);
}

/* The number of mappings of the node that this process has. */
static int mappings(void)
{
	const char *node = node_path();
	int found = 0;
	char line[512];
	FILE *maps;

	maps = fopen("/proc/self/maps", "r");
	NEED_PTR(maps, "maps");
	while (fgets(line, sizeof(line), maps))
		found += !!strstr(line, node);
	fclose(maps);
	return found;
}

/*
 * Forty small queue pairs need a few mappings, and none is left but the last one. A context that is
 * closed leaves none.
 */
static void few_mappings(void)
{
	struct pair p, q[PAIRS / 2];
	int before, with;

	pair_open(&p, NULL);
	before = mappings();
	for (size_t i = 0; i < ARRAY_SIZE(q); i++)
		q[i] = sibling(&p, 4);
	with = mappings();
	CHECK(with > before && with <= before + 8, "%d mappings, and %d with %d queue pairs", before,
	      with, PAIRS);
	for (size_t i = 0; i < ARRAY_SIZE(q); i++)
		sibling_end(&q[i]);
	CHECK(mappings() <= before + 1, "%d mappings at first, %d at the end", before,
	      mappings());
	pair_close(&p);
	CHECK(!mappings(), "%d mappings of a context that is closed", mappings());
}

/* A queue pair that is made again and again keeps one mapping, and its rings begin empty. */
static void used_again(void)
{
	struct pair p, q;
	int before;

	pair_open(&p, NULL);
	before = mappings();
	for (int i = 0; i < test_rounds(50); i++) {
		q = sibling(&p, 64);
		CHECK(pair_works(&q), "round %d", i);
		for (int n = 0; n < i % 7; n++)
			CHECK_ERR(post_recv_at(&q, 0, n, 0, 64), 0);
		sibling_end(&q);
		CHECK(mappings() <= before + 2, "%d mappings", mappings());
	}
	pair_close(&p);
}

static void want_receive(struct pair *q, uint64_t id)
{
	struct ibv_wc wc;

	CHECK_ERR(post_send_at(q, 0, id, 0, 64, IBV_SEND_SIGNALED), 0);
	if (WANT_WC(q->cq[1], &wc, IBV_WC_SUCCESS))
		CHECK(wc.wr_id == id && wc.qp_num == q->qp[1]->qp_num,
		      "receive %" PRIu64 " of %u, expected %" PRIu64 " of %u", wc.wr_id, wc.qp_num,
		      id, q->qp[1]->qp_num);
	if (WANT_WC(q->cq[0], &wc, IBV_WC_SUCCESS))
		CHECK(wc.wr_id == id, "send %" PRIu64 ", expected %" PRIu64, wc.wr_id, id);
}

/* Receives stay with their queue pair while the rings around it come and go. */
static void apart(void)
{
	static const uint32_t sizes[] = { 1, 4, 16, 33, 64, 100, 400 };
	uint64_t seed = rnd_seed();
	struct pair p, q[PAIRS];

	pair_open(&p, NULL);
	for (int i = 0; i < PAIRS; i++) {
		q[i] = sibling(&p, sizes[i % ARRAY_SIZE(sizes)]);
		CHECK_ERR(post_recv_at(&q[i], 1, 1000 + i, 4096, 64), 0);
	}
	for (int n = 0; n < test_rounds(200); n++) {
		int i = rnd(&seed) % PAIRS;

		want_receive(&q[i], 1000 + i);
		if (rnd(&seed) % 2) {
			sibling_end(&q[i]);
			q[i] = sibling(&p, sizes[rnd(&seed) % ARRAY_SIZE(sizes)]);
		}
		CHECK_ERR(post_recv_at(&q[i], 1, 1000 + i, 4096, 64), 0);
	}
	for (int i = 0; i < PAIRS; i++) {
		want_receive(&q[i], 1000 + i);
		sibling_end(&q[i]);
	}
	pair_close(&p);
}

/* A child that has inherited a mapping gets no view of the queue pairs that its parent creates later. */
static void parted_by_fork(void)
{
	struct pair p, q, r;
	int before;
	pid_t pid;

	pair_open(&p, NULL);
	q = sibling(&p, 4);
	before = mappings();
	pid = fork();
	NEED(pid >= 0, "fork: %s", err_name(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	r = sibling(&p, 4);
	CHECK(mappings() == before + 1, "%d mappings before, %d after", before, mappings());
	CHECK(pair_works(&q) && pair_works(&r), "with a child");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	sibling_end(&q);
	sibling_end(&r);
	pair_close(&p);
}

static struct rlimit memory_before;

/* Nothing can be mapped until memory_again(). */
static void memory_none(void)
{
	struct rlimit none;

	NEED_OK(getrlimit(RLIMIT_AS, &memory_before));
	none = (struct rlimit){ .rlim_max = memory_before.rlim_max };
	NEED_OK(setrlimit(RLIMIT_AS, &none));
}

static void memory_again(void)
{
	NEED_OK(setrlimit(RLIMIT_AS, &memory_before));
}

/* If the new rings cannot be mapped, the queues are full, and another queue pair is not harmed. */
static void resize_without_memory(void)
{
	struct ibv_qp_attr attr = { .cap = { .max_send_wr = 2000, .max_recv_wr = 2000 } };
	struct pair p, q, r;
	int err;

	pair_open(&p, NULL);
	if (!(p.dev.attr.device_cap_flags & IBV_DEVICE_RESIZE_MAX_WR)) {
		pair_close(&p);
		return;
	}
	q = sibling(&p, 16);
	memory_none();
	err = ibv_modify_qp(q.qp[0], &attr, IBV_QP_CAP);
	memory_again();
	CHECK(err == ENOMEM, "resized: %s", err_name(err));
	r = sibling(&p, 16);
	CHECK(pair_works(&r), "another queue pair");
	CHECK_ERR(post_send_at(&q, 0, 1, 0, 64, IBV_SEND_SIGNALED), ENOMEM);
	CHECK_ERR(post_recv_at(&q, 0, 1, 0, 64), ENOMEM);
	CHECK(pair_works(&r), "another queue pair, after posts to the full one");
	/* The next resize finds memory. */
	CHECK_ERR(ibv_modify_qp(q.qp[0], &attr, IBV_QP_CAP), 0);
	CHECK(pair_works(&q), "after a second resize");
	sibling_end(&q);
	sibling_end(&r);
	pair_close(&p);
}

/* Move the queue pair to SQD and read the event of it, which is not acknowledged. False without such an event. */
static bool drained_event(struct pair *q, struct ibv_async_event *event)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct pollfd ready = { .fd = q->dev.ctx->async_fd, .events = POLLIN };

	if (ibv_modify_qp(q->qp[0], &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) ||
	    poll(&ready, 1, on_uroce() ? WC_TIMEOUT : 1000) != 1) {
		CHECK(!on_uroce(), "no IBV_EVENT_SQ_DRAINED");
		printf("%s raises no IBV_EVENT_SQ_DRAINED\n", dev_wanted());
		return false;
	}
	NEED_OK(ibv_get_async_event(q->dev.ctx, event));
	return CHECK(event->event_type == IBV_EVENT_SQ_DRAINED && event->element.qp == q->qp[0],
		     "event %d", event->event_type);
}

struct destruction {
	struct ibv_qp *qp;
	pid_t tid;
};

static void *destroys(void *arg)
{
	struct destruction *d = arg;

	__atomic_store_n(&d->tid, gettid(), __ATOMIC_RELEASE);
	return (void *)(intptr_t)ibv_destroy_qp(d->qp);
}

/*
 * The thread that handles an event may post while another thread destroys the queue pair, whose
 * rings have gone to a third queue pair by then.
 */
static void posts_before_ack(void)
{
	struct ibv_async_event event;
	struct destruction d = { 0 };
	struct pair p, q, r;
	pthread_t thread;
	void *err;

	pair_open(&p, NULL);
	q = sibling(&p, 16);
	if (!drained_event(&q, &event)) {
		sibling_end(&q);
		pair_close(&p);
		return;
	}
	d.qp = q.qp[0];
	NEED(!pthread_create(&thread, NULL, destroys, &d), "pthread_create");
	while (!__atomic_load_n(&d.tid, __ATOMIC_ACQUIRE) ||
	       !thread_sleeps_in(getpid(), d.tid, SYS_futex))
		sleep_ms(10);
	r = sibling(&p, 16);
	CHECK_ERR(post_send_at(&q, 0, 1, 0, 64, IBV_SEND_SIGNALED), ENOMEM);
	CHECK_ERR(post_recv_at(&q, 0, 1, 0, 64), ENOMEM);
	CHECK(pair_works(&r), "a queue pair in the place of the destroyed one");
	WANT_EMPTY(p.cq[0]);
	ibv_ack_async_event(&event);
	pthread_join(thread, &err);
	CHECK(!err, "destroy: %s", err_name((intptr_t)err));
	CHECK_ERR(ibv_destroy_qp(q.qp[1]), 0);
	sibling_end(&r);
	pair_close(&p);
}

/* Wait until one more request has completed, and leave its completion in the queue. */
static void complete_one(struct pair *p, uint64_t id)
{
	struct ibv_cq *got;
	void *context;

	CHECK_ERR(ibv_req_notify_cq(p->cq[0], 0), 0);
	CHECK_ERR(post_rdma(p, 0, id, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	NEED(!ibv_get_cq_event(p->ch, &got, &context), "get_cq_event: %s", err_name(errno));
	ibv_ack_cq_events(got, 1);
}

/*
 * If the new ring of completions cannot be mapped, the completions that wait can be polled. Then the
 * queue reads as overrun, since the following completions are lost, and cannot be resized any more:
 * no completion comes twice.
 */
static void cq_resize_without_memory(void)
{
	struct ibv_wc wc;
	struct pair p;
	int err;

	if (no_resize())
		return;
	pair_open(&p, &(struct pair_want){ .cqe = 64, .use_channel = 1 });
	complete_one(&p, 0);
	complete_one(&p, 1);
	memory_none();
	err = ibv_resize_cq(p.cq[0], 2000);
	memory_again();
	CHECK(err == ENOMEM, "resized: %s", err_name(err));
	for (uint64_t id = 0; id < 2; id++)
		if (WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			CHECK(wc.wr_id == id, "completion %" PRIu64 ", expected %" PRIu64, wc.wr_id, id);
	CHECK_ERR(post_rdma(&p, 0, 2, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	CHECK_ERR(ibv_resize_cq(p.cq[0], 100), EOVERFLOW);
	CHECK(strstr(why_text(), "could not map"), "not explained: %s", why_text());
	CHECK(ibv_poll_cq(p.cq[0], 1, &wc) < 0, "poll_cq does not tell of the completion that is lost");
	pair_close(&p);
}

/* If the new ring of a shared receive queue cannot be mapped, the queue is full until the next resize. */
static void srq_resize_without_memory(void)
{
	struct ibv_srq_attr attr = { .max_wr = 2000 };
	uint64_t first = 0;
	struct pair p;
	int err;

	pair_open(&p, &(struct pair_want){ .use_srq = 1, .recv_wr = 40 });
	if (!(p.dev.attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE)) {
		pair_close(&p);
		return;
	}
	for (uint64_t id = 0; id < 3; id++)
		CHECK_ERR(post_recv_at(&p, 0, id, 8192, 64), 0);
	memory_none();
	err = ibv_modify_srq(p.srq, &attr, IBV_SRQ_MAX_WR);
	memory_again();
	CHECK(err == ENOMEM, "resized: %s", err_name(err));
	CHECK_ERR(post_recv_at(&p, 0, 99, 8192, 64), ENOMEM);
	take_receives(&p, &first, 3);
	/* The next resize finds memory. */
	CHECK_ERR(ibv_modify_srq(p.srq, &attr, IBV_SRQ_MAX_WR), 0);
	for (uint64_t id = 3; id < 60; id++)
		CHECK_ERR(post_recv_at(&p, 0, id, 8192, 64), 0);
	take_receives(&p, &first, 57);
	pair_close(&p);
}

static void *make_cq(struct pair *p)
{
	return ibv_create_cq(p->dev.ctx, 64, NULL, NULL, 0);
}

static void *make_srq(struct pair *p)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 64, .max_sge = 1 } };

	return ibv_create_srq(p->pd, &init);
}

static void *make_qp(struct pair *p, uint32_t wr)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { wr, wr, 1, 1, 0 } };

	init.send_cq = init.recv_cq = p->cq[0];
	return ibv_create_qp(p->pd, &init);
}

/* These rings share a mapping, which the first queue pair makes. */
static void *make_small_qp(struct pair *p)
{
	return make_qp(p, 4);
}

static void *make_large_qp(struct pair *p)
{
	return make_qp(p, 2000);
}

static void *make_wq(struct pair *p)
{
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ, .max_wr = 64, .max_sge = 1 };

	init.pd = p->pd;
	init.cq = p->cq[0];
	return ibv_create_wq(p->dev.ctx, &init);
}

static void *make_dm(struct pair *p)
{
	return ibv_alloc_dm(p->dev.ctx, &(struct ibv_alloc_dm_attr){ .length = 4096 });
}

static void *make_cntr(struct pair *p)
{
	return ibv_create_comp_cntr(p->dev.ctx, &(struct ibv_comp_cntr_init_attr){ 0 });
}

/*
 * If the rings of a new object cannot be mapped, the object is destroyed: the domain is not in use
 * afterwards. Other devices than uroce do not have all kinds of objects.
 */
static void create_without_memory(void)
{
	static const struct {
		const char *kind;
		void *(*make)(struct pair *p);
	} all[] = {
		{ "completion queue", make_cq }, { "shared receive queue", make_srq },
		{ "queue pair", make_small_qp }, { "large queue pair", make_large_qp },
		{ "work queue", make_wq }, { "device memory", make_dm }, { "counter", make_cntr },
	};
	struct pair p = {};
	void *made;
	int err;

	dev_open(&p.dev);
	p.pd = ibv_alloc_pd(p.dev.ctx);
	NEED_PTR(p.pd, "alloc_pd");
	p.cq[0] = ibv_create_cq(p.dev.ctx, 64, NULL, NULL, 0);
	NEED_PTR(p.cq[0], "create_cq");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		memory_none();
		errno = 0;
		made = all[i].make(&p);
		err = errno;
		memory_again();
		CHECK(!made && (err == ENOMEM || (!on_uroce() && err == EOPNOTSUPP)), "a %s: %s",
		      all[i].kind, made ? "made" : err_name(err));
	}
	CHECK_ERR(ibv_destroy_cq(p.cq[0]), 0);
	CHECK_ERR(ibv_dealloc_pd(p.pd), 0);
	dev_close(&p.dev);
}

struct worker {
	pthread_t thread;
	struct pair pair;
	int rounds;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct pair q[3];

	for (int n = 0; n < w->rounds; n++) {
		for (int i = 0; i < 3; i++)
			q[i] = sibling(&w->pair, 4 << 2 * i);
		for (int i = 0; i < 3; i++) {
			CHECK(pair_works(&q[i]), "round %d", n);
			sibling_end(&q[i]);
		}
	}
	return NULL;
}

/* While threads create and destroy queue pairs at the same time, none of these loses its rings. */
static void threads(void)
{
	struct worker w[THREADS];
	struct pair p;

	pair_open(&p, NULL);
	for (int t = 0; t < THREADS; t++) {
		w[t] = (struct worker){ .pair = p, .rounds = test_rounds(60) };
		for (int i = 0; i < 2; i++) {
			w[t].pair.buf[i] += (t + 1) * 16384;
			w[t].pair.cq[i] = ibv_create_cq(p.dev.ctx, 64, NULL, NULL, 0);
			NEED_PTR(w[t].pair.cq[i], "create_cq");
		}
	}
	for (int t = 0; t < THREADS; t++)
		NEED(!pthread_create(&w[t].thread, NULL, work, &w[t]), "pthread_create");
	for (int t = 0; t < THREADS; t++)
		pthread_join(w[t].thread, NULL);
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < 2; i++)
			CHECK_ERR(ibv_destroy_cq(w[t].pair.cq[i]), 0);
	CHECK(pair_works(&p), "afterwards");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "few_mappings", few_mappings },
	{ "used_again", used_again },
	{ "apart", apart },
	{ "parted_by_fork", parted_by_fork },
	{ "posts_before_ack", posts_before_ack },
	{ "resize_without_memory", resize_without_memory },
	{ "cq_resize_without_memory", cq_resize_without_memory },
	{ "srq_resize_without_memory", srq_resize_without_memory },
	{ "create_without_memory", create_without_memory },
	{ "threads", threads },
};

TEST_MAIN("rings_shared", cases, 100)
