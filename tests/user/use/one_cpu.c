// SPDX-License-Identifier: GPL-2.0
/*
 * Two threads that poll on one processor: a thread that finds nothing gives way, so its peer
 * answers at once and not at the end of the thread's time slice. A thread of SCHED_DEADLINE does
 * not, because sched_yield(2) would stop it until its next period.
 */
#include <sys/syscall.h>
#include "testlib.h"

#define MESSAGES 200
/*
 * The most polls that find nothing for each message. A time slice of some milliseconds has
 * tens of thousands of polls.
 */
#define FUTILE 16384

struct side {
	struct pair *p;
	int i;				/* The number of the queue pair. 0 sends first. */
	int (*take)(struct ibv_cq *cq);
	uint64_t futile;
	bool ok;
};

static void stay_on_first(void)
{
	cpu_set_t set, one;
	int cpu = 0;

	NEED(!sched_getaffinity(0, sizeof(set), &set), "sched_getaffinity: %s", err_name(errno));
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	NEED(!sched_setaffinity(0, sizeof(one), &one), "sched_setaffinity: %s", err_name(errno));
}

/* Each returns 1 for a successful completion, 0 for none, and a negative value for a failure. */
static int take_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(cq, 1, &wc);

	return n == 1 && wc.status != IBV_WC_SUCCESS ? -1 : n;
}

static int take_ex(struct ibv_cq *cq)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)cq;
	struct ibv_poll_cq_attr attr = {};
	int err = ibv_start_poll(ex, &attr);
	int status;

	if (err)
		return err == ENOENT ? 0 : -1;
	status = ex->status;
	ibv_end_poll(ex);
	return status == IBV_WC_SUCCESS ? 1 : -1;
}

static bool take(struct side *s, int count)
{
	uint64_t end = deadline_ms(WC_TIMEOUT);
	int n;

	while (count) {
		n = s->take(s->p->cq[s->i]);
		if (n < 0)
			return false;
		count -= n;
		s->futile += !n;
		if (!n && !(s->futile % FUTILE) && now_ns() > end)
			return false;
	}
	return true;
}

/* Each side sends a message and receives one, in turn with the other. */
static void *play(void *arg)
{
	struct side *s = arg;

	for (int k = 0; k < MESSAGES; k++) {
		if (s->i && !take(s, k ? 2 : 1))
			return NULL;
		if (post_recv_at(s->p, s->i, k, 0, 8) || post_send_at(s->p, s->i, k, 8, 8, IBV_SEND_SIGNALED))
			return NULL;
		if (!s->i && !take(s, 2))
			return NULL;
	}
	s->ok = !s->i || take(s, 1);
	return NULL;
}

/* @first takes completions of the first side. */
static void ping_pong(struct pair *p, int (*first)(struct ibv_cq *cq))
{
	struct side sides[2] = { { p, 0, first }, { p, 1, take_wc } };
	pthread_t other;

	stay_on_first();
	CHECK_ERR(post_recv_at(p, 1, 0, 0, 8), 0);
	NEED(!pthread_create(&other, NULL, play, &sides[1]), "no thread");
	play(&sides[0]);
	pthread_join(other, NULL);
	for (int i = 0; i < 2; i++) {
		CHECK(sides[i].ok, "side %d did not exchange %d messages", i, MESSAGES);
		/* From Linux 6.2 on a worker of rdma_rxe may wait for another processor. */
		CHECK(!on_uroce() || sides[i].futile < (uint64_t)MESSAGES * FUTILE,
		      "side %d polled %" PRIu64 " times for %d messages and found nothing", i,
		      sides[i].futile, MESSAGES);
	}
}

static void poll_cq(void)
{
	struct pair p;

	pair_open(&p, NULL);
	ping_pong(&p, take_wc);
	pair_close(&p);
}

static void start_poll(void)
{
	struct pair_want want = { .stay_reset = 1 };
	struct pair p;

	pair_open(&p, &want);
	pair_extend_cq(&p, (struct ibv_cq_init_attr_ex){ .cqe = 64 });
	ping_pong(&p, take_ex);
	pair_close(&p);
}

static uint32_t yields;

/* The library calls this function, and not libc's. */
int sched_yield(void)
{
	__atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED);
	return (int)syscall(SYS_sched_yield);
}

static uint32_t yields_of_polls(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	__atomic_store_n(&yields, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 2048; i++)
		NEED(!ibv_poll_cq(cq, 1, &wc), "an empty queue has a completion");
	return __atomic_load_n(&yields, __ATOMIC_RELAXED);
}

/* As in <linux/sched/types.h>, which cannot be included with <sched.h> */
struct attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

static void *poll_with_deadline(void *cq)
{
	struct attr attr = {
		.size = sizeof(attr),
		.policy = SCHED_DEADLINE,
		.runtime = 5000000,
		.deadline = 100000000,
		.period = 100000000,
	};

	NEED(!syscall(SYS_sched_setattr, 0, &attr, 0), "sched_setattr: %s", err_name(errno));
	CHECK(!yields_of_polls(cq), "a thread of SCHED_DEADLINE called sched_yield()");
	return NULL;
}

/* It comes before the cases that bind the thread to a processor, which this policy does not allow. */
static void deadline(void)
{
	pthread_t thread;
	struct pair p;

	pair_open(&p, NULL);
	CHECK(yields_of_polls(p.cq[0]), "a thread did not give way");
	NEED(!pthread_create(&thread, NULL, poll_with_deadline, p.cq[0]), "no thread");
	pthread_join(thread, NULL);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "deadline", deadline },
	{ "poll_cq", poll_cq },
	{ "start_poll", start_poll },
};

TEST_MAIN("one_cpu", cases, 60)
