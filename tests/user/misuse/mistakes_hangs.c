// SPDX-License-Identifier: GPL-2.0
/* Mistakes after which a program waits for ever or loses a message silently: see mistakes.h. */
#include <sys/syscall.h>

#include "mistakes.h"

/* Poll until the library prints its sentence, which it does at the first poll after a second. */
static void poll_in_vain(struct ibv_cq *cq)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct ibv_wc wc;

	forget();
	do {
		CHECK(ibv_poll_cq(cq, 1, &wc) <= 0, "a completion");
	} while (now_ns() < end && !*all_printed());
}

static void poll_ex_in_vain(struct ibv_cq_ex *cq)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct ibv_poll_cq_attr attr = {};

	forget();
	do {
		CHECK(ibv_start_poll(cq, &attr) == ENOENT, "a completion");
	} while (now_ns() < end && !*all_printed());
}

static void nothing_signaled(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, 0), 0);
	poll_in_vain(p.cq[0]);
	SAYS("ibv_poll_cq", "signaled (IBV_SEND_SIGNALED");
	pair_close(&p);
}

static void nothing_signaled_ex(void)
{
	struct ibv_cq_ex *cq;
	struct pair p;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1 });
	cq = pair_extend_cq(&p, (struct ibv_cq_init_attr_ex) { .cqe = 4 });
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, 0), 0);
	poll_ex_in_vain(cq);
	SAYS("ibv_poll_cq", "signaled (IBV_SEND_SIGNALED");
	pair_close(&p);
}

static void lost_peer_without_timeout(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 1 };
	struct pair p;

	pair_open(&p, &(struct pair_want) { .stay_reset = 1 });
	NEED_OK(qp_to_init(p.qp[0]));
	NEED_OK(qp_to_rtr(&p.dev, p.qp[0], p.qp[1]->qp_num));
	NEED_OK(ibv_modify_qp(p.qp[0], &a, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	poll_in_vain(p.cq[0]);
	SAYS("ibv_poll_cq", "timeout of 0", "IBV_QP_TIMEOUT");
	pair_close(&p);
}

/* The second queue pair waits for a datagram that was dropped. */
static void open_dropped(struct pair *p)
{
	struct ibv_qp_attr a = { .qkey = PAIR_QKEY + 1 };
	struct ibv_wc wc;

	pair_open(p, &(struct pair_want) { .type = IBV_QPT_UD });
	NEED_OK(ibv_modify_qp(p->qp[1], &a, IBV_QP_QKEY));
	CHECK_ERR(post_recv_at(p, 1, 1, 4096, 1000), 0);
	CHECK_ERR(post_send_at(p, 0, 2, 0, 8, IBV_SEND_SIGNALED), 0);
	WANT_WC(p->cq[0], &wc, IBV_WC_SUCCESS);
}

static void wrong_qkey(void)
{
	struct pair p;

	open_dropped(&p);
	poll_in_vain(p.cq[1]);
	SAYS("ibv_poll_cq", "dropped 1 datagram", "Q_Key", "remote_qkey", "IBV_QP_QKEY");
	pair_close(&p);
}

/* rdma_rxe of 6.1 completes such a receive with an error instead. */
static void no_room_for_grh(void)
{
	struct ibv_wc wc;
	struct pair p;

	if (!on_uroce())
		return;
	pair_open(&p, &(struct pair_want) { .type = IBV_QPT_UD });
	CHECK_ERR(post_recv_at(&p, 1, 1, 4096, 100), 0);
	CHECK_ERR(post_send_at(&p, 0, 2, 0, 100, IBV_SEND_SIGNALED), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	poll_in_vain(p.cq[1]);
	SAYS("ibv_poll_cq", "dropped 1 datagram", "40 bytes more, for the GRH");
	pair_close(&p);
}

/*
 * Datagrams that the port dropped earlier were not for this queue pair, so the library
 * reports nothing.
 */
static void dropped_before(void)
{
	struct pair p;

	wrong_qkey();
	pair_open(&p, &(struct pair_want) { .type = IBV_QPT_UD });
	CHECK_ERR(post_recv_at(&p, 1, 1, 4096, 1000), 0);
	poll_in_vain(p.cq[1]);
	CHECK(!*all_printed(), "printed: %s", all_printed());
	pair_close(&p);
}

static void *wait_event(void *arg)
{
	struct pair *p = arg;
	struct ibv_cq *cq;
	void *context;

	ibv_get_cq_event(p->ch, &cq, &context);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

static bool printed_within(unsigned int ms)
{
	uint64_t end = deadline_ms(ms);

	while (!*all_printed() && now_ns() < end)
		sleep_ms(20);
	return *all_printed();
}

static void not_armed(void)
{
	struct pair_want want = { .use_channel = 1 };
	pthread_t thread;
	struct pair p;

	pair_open(&p, &want);
	forget();
	pthread_create(&thread, NULL, wait_event, &p);
	CHECK(printed_within(WC_TIMEOUT), "nothing");
	SAYS("ibv_get_cq_event", "armed", "ibv_req_notify_cq");
	NEED_OK(ibv_req_notify_cq(p.cq[0], 0));
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	pthread_join(thread, NULL);
	pair_close(&p);
}

/* Return true if another thread sets the flag in time. */
static bool set_within(const int *flag, unsigned int ms)
{
	uint64_t end = deadline_ms(ms);

	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE) && now_ns() < end)
		sleep_ms(10);
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

/* A thread that waits for an event while a signal arrives. */
struct waiter {
	struct pair *p;
	pthread_t thread;
	pid_t tid;
	int ret;
	int err;
	int back;
};

static int handled;

static void on_signal(int number)
{
	(void)number;
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELEASE);
}

static void *wait_interrupted(void *arg)
{
	struct waiter *w = arg;
	struct ibv_cq *cq;
	void *context;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->ret = ibv_get_cq_event(w->p->ch, &cq, &context);
	w->err = errno;
	if (!w->ret)
		ibv_ack_cq_events(cq, 1);
	__atomic_store_n(&w->back, 1, __ATOMIC_RELEASE);
	return NULL;
}

static char state_of(pid_t tid)
{
	char path[64], text[512] = "", *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (file) {
		fgets(text, sizeof(text), file);
		fclose(file);
	}
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : 0;
}

/*
 * Wait until the thread was asleep at five consecutive looks: then it waits for the event
 * and not for a page.
 */
static void until_asleep(struct waiter *w)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	pid_t tid;
	int looks;

	for (looks = 0; looks < 5 && now_ns() < end; sleep_ms(10)) {
		tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);
		looks = tid && state_of(tid) == 'S' ? looks + 1 : 0;
	}
	CHECK(looks == 5, "the thread does not wait");
}

/* Start a thread that waits for an event of @p, which never comes, and send it a signal. */
static void waiter_open(struct waiter *w, struct pair *p, int sa_flags)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = sa_flags };
	struct pair_want want = { .use_channel = 1 };

	pair_open(p, &want);
	*w = (struct waiter) { .p = p };
	handled = 0;
	NEED(!sigaction(SIGUSR1, &act, NULL), "sigaction: %s", err_name(errno));
	NEED(!pthread_create(&w->thread, NULL, wait_interrupted, w), "pthread_create");
	until_asleep(w);
	pthread_kill(w->thread, SIGUSR1);
	CHECK(set_within(&handled, WC_TIMEOUT), "the signal did not come");
}

/*
 * While a thread waits, the library looks for the cause of the wait. That must not swallow
 * the signal that ends the wait.
 */
static void interrupted(void)
{
	struct waiter w;
	struct pair p;

	waiter_open(&w, &p, 0);
	if (!CHECK(set_within(&w.back, WC_TIMEOUT), "the signal was swallowed"))
		pthread_kill(w.thread, SIGUSR1);
	pthread_join(w.thread, NULL);
	CHECK(w.ret == -1 && w.err == EINTR, "gave %d and %s", w.ret, err_name(w.err));
	pair_close(&p);
	forget();
}

/*
 * With SA_RESTART a signal does not end the wait. The library's look for a cause must not
 * change that.
 */
static void not_interrupted(void)
{
	struct waiter w;
	struct pair p;

	waiter_open(&w, &p, SA_RESTART);
	NEED_OK(ibv_req_notify_cq(p.cq[0], 0));
	CHECK_ERR(post_rdma(&p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	pthread_join(w.thread, NULL);
	CHECK(!w.ret, "gave %d and %s", w.ret, err_name(w.err));
	pair_close(&p);
	forget();
}

static void *destroy_queue(void *arg)
{
	CHECK_ERR(ibv_destroy_cq(arg), 0);
	return NULL;
}

/* The first completion queue has an event that was read, and no queue pair uses it. */
static void open_with_event(struct pair *p)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_cq *cq;
	void *context;

	pair_open(p, &want);
	NEED_OK(ibv_req_notify_cq(p->cq[0], 0));
	CHECK_ERR(post_rdma(p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED), 0);
	NEED(!ibv_get_cq_event(p->ch, &cq, &context), "no event");
	NEED_OK(ibv_destroy_qp(p->qp[0]));
	p->qp[0] = NULL;
}

static void unacknowledged(void)
{
	pthread_t thread;
	struct pair p;

	open_with_event(&p);
	forget();
	pthread_create(&thread, NULL, destroy_queue, p.cq[0]);
	CHECK(printed_within(WC_TIMEOUT), "nothing");
	SAYS("ibv_destroy_cq", "1 event", "acknowledged", "ibv_ack_cq_events");
	ibv_ack_cq_events(p.cq[0], 1);
	pthread_join(thread, NULL);
	p.cq[0] = NULL;
	pair_close(&p);
}

static void left_objects(void)
{
	/* Leak checkers do not report what a static variable reaches; the compiler has to keep it. */
	static struct ibv_pd *volatile left[2];
	struct test_dev dev;

	dev_open(&dev);
	NEED_PTR((left[0] = ibv_alloc_pd(dev.ctx)), "alloc_pd");
	NEED_PTR((left[1] = ibv_alloc_pd(dev.ctx)), "alloc_pd");
	dev_close(&dev);
	SAYS("ibv_close_device", "2 objects", "not destroyed");
	dev_open(&dev);
	dev_close(&dev);
	CHECK(!*all_printed(), "without objects left: %s", all_printed());
}

/* @post uses the parent's queue pair in the child. */
static void in_forked_child(struct pair *p, void (*post)(struct pair *p))
{
	pid_t pid = fork();

	if (!pid) {
		post(p);
		_exit(0);
	}
	NEED(waitpid(pid, NULL, 0) == pid, "%s", err_name(errno));
}

static void post_write(struct pair *p)
{
	post_rdma(p, 0, 1, IBV_WR_RDMA_WRITE, 8, IBV_SEND_SIGNALED);
}

static void start_batch(struct pair *p)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(p->qp[0]);

	ibv_wr_start(qp);
	ibv_wr_abort(qp);
}

static void queue_pair_of_parent(void)
{
	struct pair p;

	pair_open(&p, &(struct pair_want) { .use_ex = 1 });
	in_forked_child(&p, post_write);
	SAYS("ibv_post_send", "child of fork()", "open the device in the child");
	in_forked_child(&p, start_batch);
	SAYS("ibv_wr_start", "child of fork()", "open the device in the child");
	/* The child moved the ring's index, so the parent no longer uses this queue pair. */
	NEED_OK(qp_to_state(p.qp[0], IBV_QPS_RESET));
	pair_close(&p);
}

/* ---- A standard error that no process reads --------------------------------------- */

static struct pair stuck;
static int poller_is_back;
static int stderr_pipe[2];
static int stderr_before;
static int lines;		/* The number of lines that threads have begun to print. */

/* This overrides the libc function for the library's lines. */
ssize_t write(int fd, const void *data, size_t size)
{
	if (fd == STDERR_FILENO)
		__atomic_add_fetch(&lines, 1, __ATOMIC_RELEASE);
	return syscall(SYS_write, fd, data, size);
}

static void *poll_stuck(void *arg)
{
	struct ibv_wc wc;

	(void)arg;
	ibv_poll_cq(stuck.cq[0], 1, &wc);
	__atomic_store_n(&poller_is_back, 1, __ATOMIC_RELEASE);
	pause();
	return NULL;
}

static void pipe_fill(int fd)
{
	char page[4096] = "";

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, page, sizeof(page)) > 0)
		;
	while (write(fd, page, 1) > 0)
		;
	fcntl(fd, F_SETFL, 0);
}

static void pipe_drain(int fd)
{
	char page[4096];

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (read(fd, page, sizeof(page)) > 0)
		;
}

static void stderr_stop(void)
{
	stderr_before = dup(STDERR_FILENO);
	NEED(!pipe(stderr_pipe), "%s", err_name(errno));
	pipe_fill(stderr_pipe[1]);
	NEED(dup2(stderr_pipe[1], STDERR_FILENO) >= 0, "%s", err_name(errno));
	lines = 0;
}

static void stderr_go(void)
{
	pipe_drain(stderr_pipe[0]);
	dup2(stderr_before, STDERR_FILENO);
}

/*
 * A thread that prints blocks until standard error is read. It holds no lock meanwhile, nor
 * when it is cancelled.
 */
static void nobody_reads(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED };
	pthread_t first, second;
	struct ibv_wc wc;

	pair_open(&stuck, &(struct pair_want) { .use_channel = 1 });
	sge = pair_sge(&stuck, 0, 0, 8);
	sge.lkey += 77777;
	NEED_OK(ibv_req_notify_cq(stuck.cq[0], 0));
	CHECK_ERR(post_one(&stuck, 0, &wr), 0);
	wait_event(&stuck);
	stderr_stop();
	pthread_create(&first, NULL, poll_stuck, NULL);
	sleep_ms(300);
	CHECK(!poller_is_back, "the line found room");
	pthread_cancel(first);
	pthread_create(&second, NULL, poll_stuck, NULL);
	for (uint64_t end = deadline_ms(WC_TIMEOUT); !poller_is_back && now_ns() < end;)
		sleep_ms(10);
	CHECK(poller_is_back, "a thread that polls waits for one that prints");
	stderr_go();
	pthread_join(first, NULL);
	pthread_cancel(second);
	pthread_join(second, NULL);
	CHECK(!ibv_poll_cq(stuck.cq[0], 1, &wc), "the queue is not free");
	pair_close(&stuck);
}

static void *poll_until_line(void *arg)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	struct ibv_wc wc;

	(void)arg;
	while (!__atomic_load_n(&lines, __ATOMIC_ACQUIRE) && now_ns() < end)
		ibv_poll_cq(stuck.cq[1], 1, &wc);
	return NULL;
}

static struct ibv_qp *another;
static int done;

static void *create_another(void *arg)
{
	struct ibv_qp_init_attr init = {
		.send_cq = stuck.cq[0], .recv_cq = stuck.cq[0], .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	(void)arg;
	another = ibv_create_qp(stuck.pd, &init);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *acknowledge(void *arg)
{
	ibv_ack_cq_events(arg, 1);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Start a thread in @run, which sets @done, and check that it is not blocked. */
static pthread_t not_held_up(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	done = 0;
	pthread_create(&thread, NULL, run, arg);
	CHECK(set_within(&done, WC_TIMEOUT), "held up by a thread that prints");
	return thread;
}

/* A thread releases the table of queue pairs before it prints about a queue pair in it. */
static void nobody_reads_of_datagrams(void)
{
	pthread_t poller, creator;

	open_dropped(&stuck);
	stderr_stop();
	pthread_create(&poller, NULL, poll_until_line, NULL);
	CHECK(set_within(&lines, WC_TIMEOUT), "nothing printed");
	creator = not_held_up(create_another, NULL);
	stderr_go();
	pthread_join(poller, NULL);
	pthread_join(creator, NULL);
	NEED_PTR(another, "create_qp");
	CHECK_ERR(ibv_destroy_qp(another), 0);
	pair_close(&stuck);
}

static void nobody_reads_of_events(void)
{
	pthread_t destroyer, acker;

	open_with_event(&stuck);
	stderr_stop();
	pthread_create(&destroyer, NULL, destroy_queue, stuck.cq[0]);
	CHECK(set_within(&lines, WC_TIMEOUT), "nothing printed");
	acker = not_held_up(acknowledge, stuck.cq[0]);
	stderr_go();
	pthread_join(destroyer, NULL);
	pthread_join(acker, NULL);
	stuck.cq[0] = NULL;
	pair_close(&stuck);
}

/* No verb is a cancellation point, not even a poll that reads the device's counters. */
static void cancelled(void)
{
	pthread_t thread;

	open_dropped(&stuck);
	lines = 0;
	pthread_create(&thread, NULL, poll_until_line, NULL);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	NEED(lines, "the thread ended in ibv_poll_cq");
	pthread_join(not_held_up(create_another, NULL), NULL);
	NEED_PTR(another, "create_qp");
	CHECK_ERR(ibv_destroy_qp(another), 0);
	pair_close(&stuck);
	forget();
}

static const struct test_case cases[] = {
	{ "nothing_signaled", nothing_signaled },
	{ "nothing_signaled_ex", nothing_signaled_ex },
	{ "lost_peer_without_timeout", lost_peer_without_timeout },
	{ "wrong_qkey", wrong_qkey },
	{ "no_room_for_grh", no_room_for_grh },
	{ "dropped_before", dropped_before },
	{ "not_armed", not_armed },
	{ "interrupted", interrupted },
	{ "not_interrupted", not_interrupted },
	{ "unacknowledged", unacknowledged },
	{ "left_objects", left_objects },
	{ "queue_pair_of_parent", queue_pair_of_parent },
	{ "nobody_reads", nobody_reads },
	{ "nobody_reads_of_datagrams", nobody_reads_of_datagrams },
	{ "nobody_reads_of_events", nobody_reads_of_events },
	{ "cancelled", cancelled },
};

TEST_MAIN("mistakes_hangs", cases, 60)
