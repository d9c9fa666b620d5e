// SPDX-License-Identifier: GPL-2.0
/*
 * adv28. A thread publishes requests as fast as possible while another thread kicks. The
 * kernel must bound its work in the kick, and in a softirq after it.
 */
#include <pthread.h>
#include "raw.h"

#define MS 2000

static struct {
	int fd;
	struct raw_cq cq;
	struct raw_qp qp;
	struct raw_ring *ring;
	_Atomic bool going;
	_Atomic bool stop;
} env;

/*
 * Publish as many requests as the ring holds, again and again. The empty slots are writes
 * or receives without data.
 */
static void *flooder(void *arg)
{
	struct univ_ring_head *head = env.ring->head;

	for (; !env.stop; env.going = true)
		__atomic_store_n(&head->user.index, __atomic_load_n(&head->kernel.index, __ATOMIC_ACQUIRE) +
				 env.ring->count, __ATOMIC_RELEASE);
	return arg;
}

/* Make room for more completions by marking all as read. */
static void drain(void)
{
	struct univ_ring_head *head = env.cq.ring.head;

	__atomic_store_n(&head->user.index, __atomic_load_n(&head->kernel.index, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

static void flood(struct raw_ring *ring, uint32_t which)
{
	pthread_t thread;
	uint64_t longest = 0, start, end;

	env.ring = ring;
	env.stop = false;
	env.going = false;
	NEED(!pthread_create(&thread, NULL, flooder, NULL), "no thread");
	while (!env.going)
		sched_yield();
	for (end = now_ns() + MS * 1000000ull; now_ns() < end;) {
		start = now_ns();
		CHECK_ERR(raw_kick(env.fd, env.qp.handle, which), 0);
		if (now_ns() - start > longest)
			longest = now_ns() - start;
		drain();
	}
	env.stop = true;
	pthread_join(thread, NULL);
	/* A kick without a bound would last as long as the flood. */
	CHECK(longest < 20000000000ull * test_slowness(), "a kick took %" PRIu64 " ms", longest / 1000000);
}

static void set_up(void)
{
	struct univ_qp_create arg;
	uint32_t pd;

	env.fd = raw_open();
	pd = raw_pd(env.fd);
	raw_cq(env.fd, &env.cq, 64, -1);
	raw_qp_arg(&arg, IBV_QPT_RC, pd, env.cq.handle, 0);
	/* More than the kernel may process in one go. */
	arg.max_send_wr = 1024;
	arg.max_recv_wr = 1024;
	raw_qp_make(env.fd, &env.qp, &arg);
	raw_connect(env.fd, &env.qp, env.qp.qp_num);
}

static void sends(void)
{
	set_up();
	flood(&env.qp.sq, UNIV_KICK_SEND);
}

static void sends_flushed(void)
{
	set_up();
	NEED_OK(raw_to_state(env.fd, env.qp.handle, IBV_QPS_ERR));
	flood(&env.qp.sq, UNIV_KICK_SEND);
}

static void receives_flushed(void)
{
	set_up();
	NEED_OK(raw_to_state(env.fd, env.qp.handle, IBV_QPS_ERR));
	flood(&env.qp.rq, UNIV_KICK_RECV);
}

static const struct test_case cases[] = {
	{ "sends", sends },
	{ "sends_flushed", sends_flushed },
	{ "receives_flushed", receives_flushed },
};

/* A kick that does not end is killed with its process by the time limit. */
TEST_MAIN("flood (adv28)", cases, 60)
