// SPDX-License-Identifier: GPL-2.0
/*
 * adv05, adv06, adv24. Threads create, use and destroy the same handles at once, and close
 * the file descriptor meanwhile. Any result of a call is right, but each call must return and
 * the kernel must survive. Each kind of call must also succeed now and then, or its race was
 * not tested.
 */
#include "raw.h"

#define THREADS 4
#define HANDLES 48
#define RACE_MS 4000

/* Kinds of calls, and how many of them succeeded. */
enum kind {
	CREATE_PD, CREATE_CQ, REG_MR, CREATE_SRQ, CREATE_AH, CREATE_QP, CREATED,
	DESTROY = CREATED,
	RESIZE_CQ = DESTROY + CREATED, RESIZE_SRQ, SET_LIMIT, QUERY_SRQ, QUERY_QP, MODIFY_QP,
	END_QP, KICK, MAP, KINDS
};
static const char *const names[KINDS] = {
	"create a PD", "create a CQ", "register", "create an SRQ", "create an AH", "create a QP",
	"destroy a PD", "destroy a CQ", "deregister", "destroy an SRQ", "destroy an AH",
	"destroy a QP", "resize a CQ", "resize an SRQ", "set a limit", "query an SRQ", "query a QP",
	"modify a QP", "end a QP", "kick", "map",
};
static uint32_t worked[KINDS];

/* Handles of the objects that were created last. All threads write here. */
#define LAST 8
static uint32_t last[CREATED][LAST];

static int fd;
static uint64_t seed0;
static uint64_t end;
static uint8_t *mem;
static struct test_dev dev;

static void tried(enum kind kind, int err)
{
	if (!err)
		__atomic_add_fetch(&worked[kind], 1, __ATOMIC_RELAXED);
}

static uint32_t any(uint64_t *s)
{
	return rnd(s) % HANDLES;
}

/* Usually an object of the kind, unless another thread has destroyed it. */
static uint32_t some(enum kind created, uint64_t *s)
{
	if (rnd(s) % 8 == 0)
		return any(s);
	return __atomic_load_n(&last[created][rnd(s) % LAST], __ATOMIC_RELAXED);
}

static void made(enum kind created, int err, uint32_t handle, uint64_t *s)
{
	tried(created, err);
	if (!err)
		__atomic_store_n(&last[created][rnd(s) % LAST], handle, __ATOMIC_RELAXED);
}

static void create_qp(uint64_t *s)
{
	uint32_t srq = rnd(s) % 2 ? some(CREATE_SRQ, s) : 0;
	struct univ_qp_create qp;
	int err;

	raw_qp_arg(&qp, 2 + rnd(s) % 3, some(CREATE_PD, s), some(CREATE_CQ, s), srq);
	qp.max_send_wr = 8;
	qp.max_recv_wr = 8;
	err = raw_call(fd, UNIV_QP_CREATE, &qp);
	made(CREATE_QP, err, qp.handle, s);
}

static void create_ah(uint64_t *s)
{
	struct univ_ah_create ah = { .pd = some(CREATE_PD, s) };
	int err;

	ah.attr.port_num = PORT;
	ah.attr.is_global = 1;
	ah.attr.sgid_index = dev.gid_index;
	memcpy(ah.attr.dgid, dev.gid.raw, sizeof(ah.attr.dgid));
	err = raw_call(fd, UNIV_AH_CREATE, &ah);
	made(CREATE_AH, err, ah.handle, s);
}

static void create_something(uint64_t *s)
{
	struct univ_pd_alloc pd = { 0 };
	struct univ_cq_create cq = { .cqe = 16 + rnd(s) % 64, .channel_fd = -1 };
	struct univ_mr_reg mr = { .pd = some(CREATE_PD, s), .access = ALL_ACCESS,
		.addr = (uintptr_t)mem, .length = PAGE, .iova = (uintptr_t)mem };
	struct univ_srq_create srq = { .pd = some(CREATE_PD, s), .max_wr = 8, .max_sge = 1 };
	int err;

	switch (rnd(s) % 6) {
	case 0:
		err = raw_call(fd, UNIV_PD_ALLOC, &pd);
		made(CREATE_PD, err, pd.handle, s);
		break;
	case 1:
		err = raw_call(fd, UNIV_CQ_CREATE, &cq);
		made(CREATE_CQ, err, cq.handle, s);
		break;
	case 2:
		err = raw_call(fd, UNIV_MR_REG, &mr);
		made(REG_MR, err, mr.handle, s);
		break;
	case 3:
		err = raw_call(fd, UNIV_SRQ_CREATE, &srq);
		made(CREATE_SRQ, err, srq.handle, s);
		break;
	case 4:
		create_ah(s);
		break;
	default:
		create_qp(s);
	}
}

static void destroy_something(uint64_t *s)
{
	static const unsigned long cmds[CREATED] = {
		[CREATE_PD] = UNIV_PD_DEALLOC, [CREATE_CQ] = UNIV_CQ_DESTROY,
		[REG_MR] = UNIV_MR_DEREG, [CREATE_SRQ] = UNIV_SRQ_DESTROY,
		[CREATE_AH] = UNIV_AH_DESTROY, [CREATE_QP] = UNIV_QP_DESTROY,
	};
	enum kind created = rnd(s) % CREATED;

	tried(DESTROY + created, raw_destroy(fd, cmds[created], some(created, s)));
}

static void use_something(uint64_t *s)
{
	struct univ_cq_resize resize = { .handle = some(CREATE_CQ, s), .cqe = 1 + rnd(s) % 200 };
	struct univ_qp_query query = { .handle = some(CREATE_QP, s) };
	struct univ_srq_query srq = { .handle = some(CREATE_SRQ, s) };
	struct univ_srq_modify limit = { .handle = some(CREATE_SRQ, s), .attr_mask = IBV_SRQ_LIMIT,
					 .limit = 2 };
	struct univ_srq_modify size = { .handle = some(CREATE_SRQ, s), .attr_mask = IBV_SRQ_MAX_WR,
					.max_wr = 2 + rnd(s) % 200 };
	struct univ_qp_attr a;
	void *at;

	switch (rnd(s) % 9) {
	case 0:
		tried(RESIZE_CQ, raw_call(fd, UNIV_CQ_RESIZE, &resize));
		break;
	case 8:
		tried(RESIZE_SRQ, raw_call(fd, UNIV_SRQ_MODIFY, &size));
		break;
	case 1:
		tried(QUERY_QP, raw_call(fd, UNIV_QP_QUERY, &query));
		break;
	case 2:
		tried(QUERY_SRQ, raw_call(fd, UNIV_SRQ_QUERY, &srq));
		break;
	case 3:
		tried(SET_LIMIT, raw_call(fd, UNIV_SRQ_MODIFY, &limit));
		break;
	case 4:
		tried(KICK, raw_kick(fd, some(CREATE_QP, s), rnd(s) & (UNIV_KICK_SEND | UNIV_KICK_RECV)));
		break;
	case 5:
		raw_attr_init(&a, IBV_QPT_RC);
		tried(MODIFY_QP, raw_modify(fd, some(CREATE_QP, s), &a));
		break;
	case 6:
		tried(END_QP, raw_to_state(fd, some(CREATE_QP, s), rnd(s) % 2 ? IBV_QPS_ERR : IBV_QPS_RESET));
		break;
	default:
		at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  (uint64_t)(rnd(s) % 200) << 20);
		tried(MAP, at == MAP_FAILED);
		if (at != MAP_FAILED) {
			memset(at, rnd(s), 64);
			munmap(at, PAGE);
		}
	}
}

static bool impossible(enum kind kind)
{
	return kind == RESIZE_SRQ && !(dev.attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
}

/* A kind that has never succeeded, or KINDS. */
static enum kind missing(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		if (!__atomic_load_n(&worked[kind], __ATOMIC_RELAXED) && !impossible(kind))
			return kind;
	return KINDS;
}

static bool racing(void)
{
	return race_goes_on(end, missing() == KINDS);
}

static void *racer(void *arg)
{
	uint64_t s = seed0 + (uintptr_t)arg * 104729;

	while (racing()) {
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

	dev_open(&dev);
	memset(worked, 0, sizeof(worked));
	memset(last, 0, sizeof(last));
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
	dev_close(&dev);
	CHECK(missing() == KINDS, "no call to %s has succeeded", names[missing() % KINDS]);
}

static void same_handles(void)
{
	race(NULL);
}

/* Replace the descriptor by a fresh context again and again. */
static void *replacer(void *arg)
{
	(void)arg;
	while (racing()) {
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
	while (racing()) {
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
	while (racing()) {
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
