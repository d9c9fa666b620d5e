// SPDX-License-Identifier: GPL-2.0
/*
 * adv03, adv04. A process writes rubbish over all memory that it shares with the kernel
 * while it posts, polls, kicks and changes states. It may harm itself and die. The kernel
 * must not be affected, and a fresh process must work.
 */
#include <sys/prctl.h>
#include "raw.h"

#define ROUND_MS 2200
#define SCRIBBLERS 2

enum mode { MODE_BYTES, MODE_INDICES, MODE_REQUESTS };

static struct {
	int fd;
	uint32_t pd;
	uint32_t ah;
	struct raw_cq cq;
	struct raw_srq srq;
	struct raw_qp qp[3];		/* RC, UD, and RC with the SRQ. */
	struct raw_mr mr;
	uint8_t *mem;
	struct raw_map *maps[8];
	int nmaps;
	enum mode mode;
	uint64_t seed;
	uint64_t end;
} env;

#define MEM (64 * PAGE)

static void set_up(void)
{
	struct univ_ah_create ah = { 0 };

	env.fd = raw_open();
	env.pd = raw_pd(env.fd);
	env.mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	env.mr = raw_mr(env.fd, env.pd, env.mem, MEM, ALL_ACCESS);
	raw_cq(env.fd, &env.cq, 64, -1);
	raw_srq(env.fd, &env.srq, env.pd, 32);
	raw_qp(env.fd, &env.qp[0], IBV_QPT_RC, env.pd, env.cq.handle, 0);
	raw_qp(env.fd, &env.qp[1], IBV_QPT_UD, env.pd, env.cq.handle, 0);
	raw_qp(env.fd, &env.qp[2], IBV_QPT_RC, env.pd, env.cq.handle, env.srq.handle);
	for (int i = 0; i < 3; i++)
		raw_connect(env.fd, &env.qp[i], env.qp[i].qp_num);
	ah.pd = env.pd;
	raw_ah_attr(env.fd, &ah.attr);
	NEED_OK(raw_call(env.fd, UNIV_AH_CREATE, &ah));
	env.ah = ah.handle;
	env.maps[0] = &env.cq.map;
	env.maps[1] = &env.srq.map;
	for (int i = 0; i < 3; i++)
		env.maps[2 + i] = &env.qp[i].map;
	env.nmaps = 5;
}

static bool time_left(void)
{
	return now_ns() < env.end;
}

/* ---- Scribbling ---------------------------------------------------------- */

static void scribble_bytes(uint64_t *seed)
{
	struct raw_map *map = env.maps[rnd(seed) % env.nmaps];
	size_t at = rnd(seed) % (map->length - 8);
	volatile uint32_t *word = (void *)(map->base + (at & ~3ul));

	switch (rnd(seed) % 4) {
	case 0:
		*word = rnd(seed);
		break;
	case 1:
		*word ^= 1u << rnd(seed) % 32;
		break;
	case 2:
		map->base[at] = rnd(seed);
		break;
	default:
		*word = rnd(seed) % 2 ? 0xffffffffu : 0;
	}
}

static struct raw_ring *any_ring(uint64_t *seed)
{
	switch (rnd(seed) % 5) {
	case 0:
		return &env.cq.ring;
	case 1:
		return &env.srq.ring;
	case 2:
		return &env.qp[rnd(seed) % 2].rq;
	default:
		return &env.qp[rnd(seed) % 3].sq;
	}
}

static void scribble_index(uint64_t *seed)
{
	static const uint32_t jumps[] = { 0, 1, 2, 31, 32, 33, 64, 1000, 0x7fffffff, 0x80000000u,
		0xffffffffu, 0xffff0000u };
	struct univ_ring_head *head = any_ring(seed)->head;
	volatile uint32_t *index = &head->user.index;

	switch (rnd(seed) % 5) {
	case 0:
		*index = rnd(seed);
		break;
	case 1:
		head->user.arm = rnd(seed);
		break;
	case 2:
		head->kernel.flags = rnd(seed);
		head->kernel.index = rnd(seed);
		head->kernel.fired = rnd(seed);
		head->kernel.fired_index = rnd(seed);
		break;
	default:
		*index += jumps[rnd(seed) % ARRAY_SIZE(jumps)];
	}
}

/* Corrupt fields that decide how far the kernel reads, in requests that are otherwise good. */
static void scribble_request(uint64_t *seed)
{
	static const uint16_t counts[] = { 0, 1, 2, 4, 5, 16, 64, 65, 512, 0x7fff, 0x8000, 0xffff };
	struct raw_qp *qp = &env.qp[rnd(seed) % 3];
	volatile struct univ_send_wr *wr = raw_slot(&qp->sq, rnd(seed));

	switch (rnd(seed) % 7) {
	case 0:
		wr->count = counts[rnd(seed) % ARRAY_SIZE(counts)];
		break;
	case 1:
		wr->opcode = rnd(seed) % 18;
		break;
	case 2:
		wr->flags = rnd(seed);
		break;
	case 3:
		wr->sge[0].length = rnd(seed) % 3 ? rnd(seed) % (2 * MEM) : rnd(seed);
		break;
	case 4:
		wr->sge[0].addr ^= 1ull << rnd(seed) % 64;
		break;
	case 5:
		wr->ud.ah = rnd(seed) % 12;
		break;
	default:
		if (qp->rq.count)
			((volatile struct univ_recv_wr *)raw_slot(&qp->rq, rnd(seed)))->count =
				counts[rnd(seed) % ARRAY_SIZE(counts)];
		else
			((volatile struct univ_recv_wr *)raw_slot(&env.srq.ring, rnd(seed)))->count =
				counts[rnd(seed) % ARRAY_SIZE(counts)];
	}
}

static void *scribbler(void *arg)
{
	uint64_t seed = env.seed + (uintptr_t)arg * 7919;

	while (time_left()) {
		for (int i = 0; i < 200; i++) {
			switch (env.mode) {
			case MODE_BYTES:
				scribble_bytes(&seed);
				break;
			case MODE_INDICES:
				scribble_index(&seed);
				break;
			default:
				scribble_request(&seed);
			}
		}
		sched_yield();
	}
	return NULL;
}

/* ---- Traffic meanwhile --------------------------------------------------- */

static void post_good_send(struct raw_qp *qp, uint64_t *seed)
{
	static const uint8_t opcodes[] = { UNIV_WR_SEND, UNIV_WR_RDMA_WRITE, UNIV_WR_RDMA_READ,
		UNIV_WR_ATOMIC_FETCH_AND_ADD, UNIV_WR_SEND_WITH_IMM, UNIV_WR_RDMA_WRITE_WITH_IMM };
	struct univ_send_wr *wr = raw_slot(&qp->sq, qp->sq.index);

	memset(wr, 0, qp->sq.stride);
	wr->opcode = qp->type == IBV_QPT_UD ? UNIV_WR_SEND : opcodes[rnd(seed) % ARRAY_SIZE(opcodes)];
	wr->flags = UNIV_WR_SIGNALED | (rnd(seed) % 4 ? 0 : UNIV_WR_INLINE);
	wr->count = wr->flags & UNIV_WR_INLINE ? rnd(seed) % 64 : 1;
	wr->rkey = env.mr.rkey;
	wr->remote_addr = (uintptr_t)env.mem + (rnd(seed) % 512) * 8;
	if (qp->type == IBV_QPT_UD) {
		wr->ud.ah = env.ah;
		wr->ud.remote_qpn = qp->qp_num;
		wr->ud.remote_qkey = PAIR_QKEY;
	}
	if (!(wr->flags & UNIV_WR_INLINE))
		wr->sge[0] = (struct univ_sge){ (uintptr_t)env.mem + 8192,
			wr->opcode == UNIV_WR_ATOMIC_FETCH_AND_ADD ? 8 : rnd(seed) % 3000,
			env.mr.lkey };
	raw_publish(env.fd, &qp->sq, qp->handle, UNIV_KICK_SEND);
}

static void post_good_recv(struct raw_ring *ring, uint32_t handle)
{
	struct univ_recv_wr *wr = raw_slot(ring, ring->index);

	memset(wr, 0, ring->stride);
	wr->count = 1;
	wr->sge[0] = (struct univ_sge){ (uintptr_t)env.mem + 32 * PAGE, 8 * PAGE, env.mr.lkey };
	raw_publish(env.fd, ring, handle, UNIV_KICK_RECV);
}

static void drain(void)
{
	struct univ_cqe cqe;

	for (int i = 0; i < 64 && raw_poll(&env.cq, &cqe); i++)
		;
	env.cq.ring.head->user.arm += 2;
}

/* Each connection starts at another PSN, so that responses to the last one do not match. */
static void revive(struct raw_qp *qp, uint64_t *seed)
{
	struct univ_qp_attr a;

	raw_psn = rnd(seed) & 0xffffff;

	if (raw_to_state(env.fd, qp->handle, IBV_QPS_RESET))
		return;
	qp->sq.index = qp->sq.head->kernel.index;
	qp->sq.head->user.index = qp->sq.index;
	if (qp->rq.count) {
		qp->rq.index = qp->rq.head->kernel.index;
		qp->rq.head->user.index = qp->rq.index;
	}
	raw_attr_init(&a, qp->type);
	raw_modify(env.fd, qp->handle, &a);
	raw_attr_rtr(env.fd, &a, qp->type, qp->qp_num);
	raw_modify(env.fd, qp->handle, &a);
	raw_attr_rts(&a, qp->type);
	raw_modify(env.fd, qp->handle, &a);
}

/* The ring moves to other memory; writes to the former one have no effect. */
static void resize_cq(uint64_t *seed)
{
	struct univ_cq_resize arg = { .handle = env.cq.handle, .cqe = 16 + rnd(seed) % 100 };

	raw_call(env.fd, UNIV_CQ_RESIZE, &arg);
}

/* Likewise; the requests that the ring has at the moment are moved. */
static void resize_srq(uint64_t *seed)
{
	struct univ_srq_modify arg = { .handle = env.srq.handle, .attr_mask = IBV_SRQ_MAX_WR,
				       .max_wr = 16 + rnd(seed) % 1000 };

	raw_call(env.fd, UNIV_SRQ_MODIFY, &arg);
}

static void *poster(void *arg)
{
	uint64_t seed = env.seed ^ 0x5555;
	unsigned int n = 0;

	(void)arg;
	while (time_left()) {
		struct raw_qp *qp = &env.qp[rnd(&seed) % 3];

		post_good_recv(&env.srq.ring, env.srq.handle);
		if (qp->rq.count)
			post_good_recv(&qp->rq, qp->handle);
		post_good_send(qp, &seed);
		drain();
		if (!(++n % 16))
			revive(qp, &seed);
		if (!(n % 256) && env.mode == MODE_INDICES)
			resize_cq(&seed);
		if (!(n % 256) && env.mode == MODE_INDICES)
			resize_srq(&seed);
	}
	return NULL;
}

static void *kicker(void *arg)
{
	uint64_t seed = env.seed ^ 0xaaaa;

	(void)arg;
	while (time_left()) {
		for (int i = 0; i < 3; i++)
			raw_kick(env.fd, env.qp[i].handle, UNIV_KICK_SEND | UNIV_KICK_RECV);
		raw_kick(env.fd, env.srq.handle, UNIV_KICK_RECV);
		raw_kick(env.fd, rnd(&seed) % 16, rnd(&seed) & (UNIV_KICK_SEND | UNIV_KICK_RECV));
		sched_yield();
	}
	return NULL;
}

static void abuse(void)
{
	pthread_t t[SCRIBBLERS + 2];

	set_up();
	env.end = deadline_ms(ROUND_MS);
	for (uintptr_t i = 0; i < SCRIBBLERS; i++)
		pthread_create(&t[i], NULL, scribbler, (void *)i);
	pthread_create(&t[SCRIBBLERS], NULL, poster, NULL);
	pthread_create(&t[SCRIBBLERS + 1], NULL, kicker, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
}

/* ---- The library's own rings --------------------------------------------- */

static void find_library_maps(void)
{
	static struct raw_map found[8];
	unsigned long from, to;
	char line[512], prot[8];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f) && env.nmaps < 8) {
		if (!strstr(line, "univerbs") || sscanf(line, "%lx-%lx %7s", &from, &to, prot) != 3 ||
		    prot[1] != 'w' || prot[3] != 's')
			continue;
		found[env.nmaps] = (struct raw_map){ .base = (void *)from, .length = to - from };
		env.maps[env.nmaps] = &found[env.nmaps];
		env.nmaps++;
	}
	if (f)
		fclose(f);
	NEED(env.nmaps, "the library has mapped no ring");
}

/* The library should not crash. Since it may, this runs in a child. */
static void abuse_library(void)
{
	pthread_t t;
	struct ibv_wc wc[4];
	struct pair p;

	pair_open(&p, NULL);
	find_library_maps();
	env.mode = MODE_BYTES;
	env.end = deadline_ms(ROUND_MS);
	pthread_create(&t, NULL, scribbler, NULL);
	for (int n = 0; time_left(); n++) {
		post_recv_at(&p, 1, n, 4096, 4096);
		post_send_at(&p, 0, n, 0, 100, IBV_SEND_SIGNALED);
		post_rdma(&p, 1, n, IBV_WR_RDMA_WRITE, 100, 0);
		for (int i = 0; i < 2; i++)
			ibv_poll_cq(p.cq[i], 4, wc);
		if (n % 64)
			continue;
		for (int i = 0; i < 2; i++) {
			qp_to_state(p.qp[i], IBV_QPS_RESET);
			qp_to_init(p.qp[i]);
			qp_to_rtr(&p.dev, p.qp[i], p.qp[!i]->qp_num);
			qp_to_rts(p.qp[i], NULL);
		}
	}
	pthread_join(t, NULL);
}

/* ---- Rounds -------------------------------------------------------------- */

static int in_child(void (*fn)(void), unsigned int seconds)
{
	uint64_t end = deadline_ms(seconds * 1000 * test_slowness());
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGALRM, SIG_DFL);
		alarm(0);
		fn();
		_exit(0);
	}
	while (now_ns() < end) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		sleep_ms(20);
	}
	FAIL("the child does not end");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return status;
}

static void fresh(void)
{
	struct pair p;

	pair_open(&p, NULL);
	if (!pair_works(&p))
		_exit(1);
	pair_close(&p);
}

static void check_fresh(const char *after)
{
	int status = in_child(fresh, 20);

	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "after %s a fresh process fails: status %#x",
	      after, status);
}

static void run_round(enum mode mode, const char *name)
{
	int status;

	env.mode = mode;
	env.seed = rnd_seed();
	status = in_child(abuse, 30);
	printf("%s: child ended with status %#x\n", name, status);
	CHECK(WIFEXITED(status) ? !WEXITSTATUS(status) : WTERMSIG(status) != SIGKILL,
	      "%s: the child did not get to it, or was killed: status %#x", name, status);
	check_fresh(name);
}

static void bytes(void)
{
	run_round(MODE_BYTES, "random bytes");
}

static void indices(void)
{
	run_round(MODE_INDICES, "random indices");
}

static void requests(void)
{
	run_round(MODE_REQUESTS, "requests changed in flight");
}

static void library(void)
{
	int status;

	env.seed = rnd_seed();
	status = in_child(abuse_library, 30);
	printf("library: child ended with status %#x\n", status);
	CHECK(!WIFEXITED(status) || !WEXITSTATUS(status), "the child did not get to it");
	check_fresh("abuse of the library's rings");
}

static const struct test_case cases[] = {
	{ "bytes", bytes },
	{ "indices", indices },
	{ "requests", requests },
	{ "library", library },
};

TEST_MAIN("ringabuse (adv03 adv04)", cases, 60)
