// SPDX-License-Identifier: GPL-2.0
/*
 * adv05, adv06, adv24. Threads create, use and destroy the same handles at once, and close
 * the file descriptor meanwhile. Any result is right, but each call must return and the
 * kernel must survive.
 */
#include "raw.h"

#define THREADS 4
#define HANDLES 48
#define RACE_MS 4000

static int fd;
static uint64_t seed0;
static uint64_t end;
static uint8_t *mem;

static uint32_t any(uint64_t *s)
{
	return rnd(s) % HANDLES;
}

static void create_something(uint64_t *s)
{
	struct univ_pd_alloc pd = { 0 };
	struct univ_cq_create cq = { .cqe = 16 + rnd(s) % 64, .channel_fd = -1 };
	struct univ_mr_reg mr = { .pd = any(s), .access = ALL_ACCESS, .addr = (uintptr_t)mem,
		.length = PAGE, .iova = (uintptr_t)mem };
	struct univ_srq_create srq = { .pd = any(s), .max_wr = 8, .max_sge = 1 };
	struct univ_ah_create ah = { .pd = any(s) };
	struct univ_qp_create qp;

	switch (rnd(s) % 6) {
	case 0:
		raw_call(fd, UNIV_PD_ALLOC, &pd);
		break;
	case 1:
		raw_call(fd, UNIV_CQ_CREATE, &cq);
		break;
	case 2:
		raw_call(fd, UNIV_MR_REG, &mr);
		break;
	case 3:
		raw_call(fd, UNIV_SRQ_CREATE, &srq);
		break;
	case 4:
		ah.attr.port_num = PORT;
		ah.attr.is_global = 1;
		ah.attr.sgid_index = 1;
		memcpy(ah.attr.dgid, (uint8_t[16]){ [10] = 0xff, 0xff, 10, 77, 0, 1 }, 16);
		raw_call(fd, UNIV_AH_CREATE, &ah);
		break;
	default:
		raw_qp_arg(&qp, 2 + rnd(s) % 3, any(s), any(s), rnd(s) % 2 ? any(s) : 0);
		qp.max_send_wr = 8;
		qp.max_recv_wr = 8;
		raw_call(fd, UNIV_QP_CREATE, &qp);
	}
}

static void destroy_something(uint64_t *s)
{
	static const unsigned long cmds[] = { UNIV_PD_DEALLOC, UNIV_MR_DEREG, UNIV_AH_DESTROY,
		UNIV_CQ_DESTROY, UNIV_SRQ_DESTROY, UNIV_QP_DESTROY };

	raw_destroy(fd, cmds[rnd(s) % ARRAY_SIZE(cmds)], any(s));
}

static void use_something(uint64_t *s)
{
	struct univ_cq_resize resize = { .handle = any(s), .cqe = 1 + rnd(s) % 200 };
	struct univ_qp_query query = { .handle = any(s) };
	struct univ_srq_query srq = { .handle = any(s) };
	struct univ_srq_modify limit = { .handle = any(s), .attr_mask = IBV_SRQ_LIMIT, .limit = 2 };
	struct univ_srq_modify size = { .handle = any(s), .attr_mask = IBV_SRQ_MAX_WR,
					.max_wr = 2 + rnd(s) % 200 };
	struct univ_qp_attr a;
	void *at;

	switch (rnd(s) % 9) {
	case 0:
		raw_call(fd, UNIV_CQ_RESIZE, &resize);
		break;
	case 8:
		raw_call(fd, UNIV_SRQ_MODIFY, &size);
		break;
	case 1:
		raw_call(fd, UNIV_QP_QUERY, &query);
		break;
	case 2:
		raw_call(fd, UNIV_SRQ_QUERY, &srq);
		break;
	case 3:
		raw_call(fd, UNIV_SRQ_MODIFY, &limit);
		break;
	case 4:
		raw_kick(fd, any(s), rnd(s) & (UNIV_KICK_SEND | UNIV_KICK_RECV));
		break;
	case 5:
		raw_attr_init(&a, IBV_QPT_RC);
		raw_modify(fd, any(s), &a);
		break;
	case 6:
		raw_to_state(fd, any(s), rnd(s) % 2 ? IBV_QPS_ERR : IBV_QPS_RESET);
		break;
	default:
		at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  (uint64_t)(rnd(s) % 200) << 20);
		if (at != MAP_FAILED) {
			memset(at, rnd(s), 64);
			munmap(at, PAGE);
		}
	}
}

static void *racer(void *arg)
{
	uint64_t s = seed0 + (uintptr_t)arg * 104729;

	while (now_ns() < end) {
		switch (rnd(&s) % 4) {
		case 0:
			destroy_something(&s);
			break;
		case 1:
			use_something(&s);
			break;
		default:
			create_something(&s);
		}
	}
	return NULL;
}

static void race(void *(*extra)(void *))
{
	pthread_t t[THREADS + 1];

	seed0 = rnd_seed();
	mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = raw_open();
	end = deadline_ms(RACE_MS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, racer, (void *)i);
	if (extra)
		pthread_create(&t[THREADS], NULL, extra, NULL);
	for (int i = 0; i < THREADS + !!extra; i++)
		pthread_join(t[i], NULL);
	close(fd);
	munmap(mem, PAGE);
}

static void same_handles(void)
{
	race(NULL);
}

/* Replace the descriptor by a fresh context again and again. */
static void *replacer(void *arg)
{
	(void)arg;
	while (now_ns() < end) {
		int other = raw_open();

		sleep_ms(20);
		dup2(other, fd);
		close(other);
	}
	return NULL;
}

static void closed_below(void)
{
	race(replacer);
}

/* List the kernel's view of all objects at the same time. */
static void *dumper(void *arg)
{
	(void)arg;
	while (now_ns() < end) {
		if (system("rdma resource show qp >/dev/null 2>&1; rdma resource show cq >/dev/null 2>&1;"
			   "rdma resource show mr >/dev/null 2>&1; rdma resource show pd >/dev/null 2>&1"))
			sleep_ms(10);
	}
	return NULL;
}

static void dumped(void)
{
	race(dumper);
}

/* Read events while their objects are created and destroyed. */
static void *event_reader(void *arg)
{
	struct univ_event events[4];
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	(void)arg;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (now_ns() < end) {
		poll(&pfd, 1, 10);
		if (read(fd, events, sizeof(events)) < 0)
			sched_yield();
	}
	return NULL;
}

static void events_read(void)
{
	race(event_reader);
}

static const struct test_case cases[] = {
	{ "same_handles", same_handles },
	{ "closed_below", closed_below },
	{ "dumped", dumped },
	{ "events_read", events_read },
};

TEST_MAIN("races (adv05 adv06 adv24)", cases, 60)
