// SPDX-License-Identifier: GPL-2.0
/*
 * adv06. Processes are killed at any moment: during traffic, blocking reads and ioctls. All
 * their resources must be freed. The script that runs this program compares the kernel's
 * counters.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "raw.h"
#include "threads.h"
#include "xrc.h"

#define ROUNDS 24

static bool has_xrc;
static int domain_fd;			/* Two victims at a time share this XRC domain. */

static void *wait_comp(void *arg)
{
	struct pair *p = arg;
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(p->ch, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	return NULL;
}

static void *wait_async(void *arg)
{
	struct pair *p = arg;
	struct ibv_async_event event;

	while (!ibv_get_async_event(p->dev.ctx, &event))
		ibv_ack_async_event(&event);
	return NULL;
}

static void *churn(void *arg)
{
	struct pair *p = arg;

	for (;;) {
		struct ibv_mr *mr = ibv_reg_mr(p->pd, p->buf[0], PAIR_HALF, ALL_ACCESS);
		struct ibv_cq *cq = ibv_create_cq(p->dev.ctx, 64, NULL, p->ch, 0);

		if (mr)
			ibv_dereg_mr(mr);
		if (cq)
			ibv_destroy_cq(cq);
	}
	return NULL;
}

/*
 * An XRC target with two shared receive queues, which other processes with the domain's
 * file may use too.
 */
static void *xrc_traffic(void *arg)
{
	struct ibv_recv_wr recv = { .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge from, to;
	struct ibv_wc wc[8];
	struct xrc x;

	(void)arg;
	xrc_open(&x, domain_fd);
	from = xrc_sge(&x, 0, 0, 300000);
	to = xrc_sge(&x, 1, 0, HALF);
	recv.sg_list = &to;
	for (int k = 0;; k++) {
		ibv_post_srq_recv(x.srq[k % 2], &recv, &bad_recv);
		wr = request(&x, k % 3 ? IBV_WR_SEND : IBV_WR_RDMA_READ, x.srqn[k % 2], 0, &from);
		ibv_post_send(x.ini, &wr, &bad);
		ibv_poll_cq(x.cq, 8, wc);
		ibv_poll_cq(x.rcq[k % 2], 8, wc);
	}
	return NULL;
}

static void victim(void)
{
	struct pair_want want = { .use_channel = 1 };
	struct ibv_wc wc[8];
	pthread_t t[4];
	struct pair p;

	pair_open(&p, &want);
	pthread_create(&t[0], NULL, wait_comp, &p);
	pthread_create(&t[1], NULL, wait_async, &p);
	pthread_create(&t[2], NULL, churn, &p);
	if (has_xrc)
		pthread_create(&t[3], NULL, xrc_traffic, NULL);
	for (int k = 0;; k++) {
		ibv_req_notify_cq(p.cq[0], 0);
		post_recv_at(&p, 1, k, 8192, PAIR_HALF / 2);
		post_send_at(&p, 0, k, 0, 100000, IBV_SEND_SIGNALED);
		post_rdma(&p, 1, k, IBV_WR_RDMA_READ, 50000, IBV_SEND_SIGNALED);
		for (int i = 0; i < 2; i++)
			ibv_poll_cq(p.cq[i], 8, wc);
	}
}

static pid_t begin(void (*fn)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	alarm(30);
	fn();
	_exit(1);
}

static void end_of(pid_t pid)
{
	uint64_t end = deadline_ms(10000 * test_slowness());
	int status;

	kill(pid, SIGKILL);
	while (now_ns() < end) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
			      "the victim ended by itself: status %#x", status);
			return;
		}
		sleep_ms(5);
	}
	FAIL("the victim %d cannot be killed", pid);
}

static void in_traffic(void)
{
	uint64_t seed = rnd_seed();

	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = begin(victim);

		sleep_ms(30 + rnd(&seed) % 200);
		end_of(pid);
	}
}

/* Kill the process after each of 0 to 39 ms, while it opens, maps and creates. */
static void at_the_start(void)
{
	for (int i = 0; i < 40; i++) {
		pid_t pid = begin(victim);

		sleep_ms(i);
		end_of(pid);
	}
}

static void two_at_once(void)
{
	for (int i = 0; i < 6; i++) {
		pid_t a = begin(victim), b = begin(victim);

		sleep_ms(150);
		end_of(a);
		sleep_ms(50);
		end_of(b);
	}
}

/* The context is shared by two processes, and ends with the last one. */
static void shared_after_fork(void)
{
	struct pair p;
	pid_t pid;

	pair_open(&p, NULL);
	pid = fork();
	if (!pid) {
		alarm(20 * test_slowness());
		pause();
		_exit(0);
	}
	CHECK(pair_works(&p), "with a child that holds the descriptor");
	end_of(pid);
	CHECK(pair_works(&p), "after that child was killed");
	pair_close(&p);
}

#define IN_LINE 64

static struct pair line;
static int served;

static void *modify(void *arg)
{
	(void)arg;
	qp_to_nobody(&line.dev, line.qp[0]);
	/*
	 * If no call waits in line any more, the test would not test anything. The exit
	 * status tells end_of().
	 */
	if (__atomic_add_fetch(&served, 1, __ATOMIC_RELAXED) == IN_LINE)
		_exit(1);
	return NULL;
}

static void victim_in_line(void)
{
	struct pair_want want = { .stay_reset = 1 };
	pthread_t t;

	pair_open(&line, &want);
	NEED_OK(qp_to_init(line.qp[0]));
	for (int i = 0; i < IN_LINE; i++)
		NEED(!pthread_create(&t, NULL, modify, NULL), "pthread_create");
	pause();
}

/* Each thread would resolve a neighbour for a second, one after the other. */
static void in_line(void)
{
	pid_t pid = begin(victim_in_line);

	sleep_ms(1000 * test_slowness());
	end_of(pid);
}

static pid_t resolver;
static int resolved;

static void *resolve(void *arg)
{
	(void)arg;
	__atomic_store_n(&resolver, gettid(), __ATOMIC_RELEASE);
	qp_to_nobody(&line.dev, line.qp[0]);
	__atomic_store_n(&resolved, 1, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_resolved(void)
{
	return __atomic_load_n(&resolved, __ATOMIC_ACQUIRE);
}

static void destroyer(void)
{
	struct univ_destroy arg = { .handle = line.qp[0]->handle };

	raw_call(line.dev.ctx->cmd_fd, UNIV_QP_DESTROY, &arg);
}

/* Return false if the other call ended first: too early for the test, or because the killed process waited for it. */
static bool kill_destroyer(void)
{
	struct pair_want want = { .stay_reset = 1 };
	bool early, in_time;
	pthread_t t;
	pid_t pid;

	resolver = resolved = 0;
	pair_open(&line, &want);
	NEED_OK(qp_to_init(line.qp[0]));
	NEED(!pthread_create(&t, NULL, resolve, NULL), "pthread_create");
	while (!__atomic_load_n(&resolver, __ATOMIC_ACQUIRE) || !thread_sleeps_in(getpid(), resolver, SYS_ioctl))
		if (is_resolved())
			break;
	early = is_resolved();
	pid = begin(destroyer);
	while (!early && !is_resolved() && !thread_sleeps_in(pid, pid, SYS_ioctl))
		;
	early |= is_resolved();
	kill(pid, SIGKILL);
	NEED(waitpid(pid, NULL, 0) == pid, "waitpid: %s", err_name(errno));
	in_time = !is_resolved();
	pthread_join(t, NULL);
	if (early)
		return false;
	CHECK_ERR(qp_to_state(line.qp[0], IBV_QPS_RESET), 0);
	pair_close(&line);
	return in_time;
}

/*
 * A process is killed while it waits to destroy a queue pair that a call of another process holds.
 * It ends at once, and the queue pair is there again.
 */
static void while_destroying(void)
{
	for (int i = 0; i < 5; i++) {
		if (kill_destroyer()) {
			repeated(i, "the call of another process ended first");
			return;
		}
	}
	FAIL("the killed process has always waited for the call of another one, or that was too fast");
}

static void works_after(void)
{
	struct pair p;

	pair_open(&p, NULL);
	CHECK(pair_works(&p), "after all the killing");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "in_traffic", in_traffic },
	{ "at_the_start", at_the_start },
	{ "two_at_once", two_at_once },
	{ "shared_after_fork", shared_after_fork },
	{ "in_line", in_line },
	{ "while_destroying", while_destroying },
	{ "works_after", works_after },
};

int main(int argc, char **argv)
{
	has_xrc = is_offered();
	domain_fd = memfd_create("domain", 0);
	NEED(domain_fd >= 0, "memfd: %s", err_name(errno));
	return test_run("killed (adv06)", argc, argv, cases, ARRAY_SIZE(cases), 60);
}
