// SPDX-License-Identifier: GPL-2.0
/*
 * On-demand paging under traffic: the process gives pages back, forks, truncates files,
 * evicts pages and deregisters regions, while a peer writes to them.
 */
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "odp.h"
#include "random.h"

static _Atomic bool stop;

/* Writes a region to another one until @stop, at least once; the status of the last request. */
struct traffic {
	struct pair *p;
	struct odp *from, *to;
	enum ibv_wc_status status;
	unsigned long count;
	pthread_t thread;
};

static void *send_on(void *arg)
{
	struct traffic *t = arg;
	struct ibv_wc wc;

	do {
		post(t->p, IBV_WR_RDMA_WRITE, t->from, 0, t->to, 0, t->to->len);
		if (wait_wc(t->p->cq[0], &wc, WC_TIMEOUT) != 1) {
			FAIL("no completion");
			break;
		}
		t->status = wc.status;
		t->count++;
	} while (!stop && !t->status);
	return NULL;
}

static void traffic_begin(struct traffic *t, struct pair *p, struct odp *from, struct odp *to)
{
	*t = (struct traffic){ .p = p, .from = from, .to = to };
	stop = false;
	NEED(!pthread_create(&t->thread, NULL, send_on, t), "pthread_create");
}

static void traffic_end(struct traffic *t)
{
	stop = true;
	pthread_join(t->thread, NULL);
}

/* Memory that the kernel has just taken from the region must not be written any more. */
static void canary(int seed)
{
	uint8_t *mem = map(16 * PAGE, -1);

	fill(mem, 16 * PAGE, seed);
	sched_yield();
	CHECK_BYTES(mem, 16 * PAGE, seed, "memory of another mapping");
	munmap(mem, 16 * PAGE);
}

/* The process gives its pages back again and again. */
static void dropped_under_traffic(void)
{
	uint64_t end;
	struct traffic t;
	struct odp a, b;
	struct pair p;

	start(&p, NULL);
	a = odp_open(&p, 16 * PAGE);
	b = odp_open(&p, 16 * PAGE);
	memset(a.mem, 0xee, 16 * PAGE);
	traffic_begin(&t, &p, &a, &b);
	end = deadline_ms(2000);
	for (int i = 0; now_ns() < end; i++) {
		madvise(b.mem, 16 * PAGE, MADV_DONTNEED);
		canary(i);
	}
	traffic_end(&t);
	CHECK(!t.status && t.count, "status %d after %lu requests", t.status, t.count);
	fill(a.mem, 16 * PAGE, 4);
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, 16 * PAGE);
	done(&p, IBV_WC_SUCCESS);
	CHECK_BYTES(b.mem, 16 * PAGE, 4, "the last write");
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

/* The nanoseconds that it takes to fault a page in, on a host that does nothing else. */
static uint64_t prefetch_time(const struct pair *p, const struct odp *o)
{
	uint64_t begin, took, least = UINT64_MAX;

	for (int i = 0; i < 10; i++) {
		madvise(o->mem, PAGE, MADV_DONTNEED);
		begin = now_ns();
		prefetch(p, o, 0, PAGE, IBV_ADVISE_MR_FLAG_FLUSH);
		took = now_ns() - begin;
		least = took < least ? took : least;
	}
	return least;
}

/* The process gives a page back while the kernel faults it in, and uses another one there. */
static void dropped_while_faulted(void)
{
	uint64_t random = rnd_seed(), time = 0, end;
	struct odp a, b;
	struct pair p;

	start(&p, NULL);
	a = odp_open(&p, PAGE);
	b = odp_open(&p, 2 * PAGE);
	for (int i = 0; i < test_rounds(2000) && !test_failures; i++) {
		if (i % 100 == 0)
			time = prefetch_time(&p, &b);
		fill(a.mem, PAGE, i);
		madvise(b.mem, PAGE, MADV_DONTNEED);
		prefetch(&p, &b, 0, PAGE, 0);
		end = now_ns() + time / 2 + rnd(&random) % time;
		while (now_ns() < end)
			;
		madvise(b.mem, PAGE, MADV_DONTNEED);
		prefetch(&p, &b, PAGE, PAGE, IBV_ADVISE_MR_FLAG_FLUSH);
		b.mem[0] = 0;
		post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, PAGE);
		done(&p, IBV_WC_SUCCESS);
		CHECK_BYTES(b.mem, PAGE, i, "the page of this round");
	}
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

/* A child keeps its copy of memory that a peer writes to in the parent. */
static void forked_under_traffic(void)
{
	struct traffic t;
	struct odp a, b;
	struct pair p;
	int status;

	start(&p, NULL);
	a = odp_open(&p, 16 * PAGE);
	b = odp_open(&p, 16 * PAGE);
	for (int i = 0; i < 8; i++) {
		pid_t child;

		memset(a.mem, 0xdd, 16 * PAGE);
		fill(b.mem, 16 * PAGE, i);
		child = fork();
		if (!child) {
			sleep_ms(50);
			_exit(differs(b.mem, 16 * PAGE, i) >= 0);
		}
		traffic_begin(&t, &p, &a, &b);
		NEED(waitpid(child, &status, 0) == child, "waitpid");
		traffic_end(&t);
		CHECK(!status, "the child's memory was written");
		CHECK(!t.status && t.count, "status %d", t.status);
		CHECK(b.mem[0] == 0xdd && b.mem[16 * PAGE - 1] == 0xdd, "round %d: not written", i);
	}
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

/* The file behind the memory becomes shorter; then it is as long as before. */
static void truncated_under_traffic(void)
{
	char path[] = "/tmp/odp.XXXXXX";
	int fd = mkstemp(path);
	struct traffic t;
	struct odp a, b;
	struct pair p;

	NEED(fd >= 0 && !unlink(path), "mkstemp: %s", err_name(errno));
	for (int i = 0; i < 3; i++) {
		start(&p, NULL);
		NEED(!ftruncate(fd, 16 * PAGE), "ftruncate: %s", err_name(errno));
		a = odp_open(&p, 16 * PAGE);
		b = odp_of(&p, map(16 * PAGE, fd), 16 * PAGE);
		traffic_begin(&t, &p, &a, &b);
		sleep_ms(50);
		NEED(!ftruncate(fd, PAGE), "ftruncate: %s", err_name(errno));
		pthread_join(t.thread, NULL);
		CHECK(t.status == IBV_WC_REM_ACCESS_ERR, "status %d", t.status);
		odp_close(&a);
		odp_close(&b);
		pair_close(&p);
	}
	close(fd);
}

/* Pages are written back and evicted, and what was written stays. */
static void evicted_under_traffic(void)
{
	char path[] = "/tmp/odp.XXXXXX";
	int fd = mkstemp(path);
	uint64_t end;
	struct traffic t;
	struct odp a, b;
	struct pair p;
	uint8_t *other;

	start(&p, NULL);
	NEED(fd >= 0 && !unlink(path) && !ftruncate(fd, 16 * PAGE), "file: %s", err_name(errno));
	a = odp_open(&p, 16 * PAGE);
	b = odp_of(&p, map(16 * PAGE, fd), 16 * PAGE);
	fill(a.mem, 16 * PAGE, 6);
	traffic_begin(&t, &p, &a, &b);
	end = deadline_ms(1000);
	while (now_ns() < end) {
		msync(b.mem, 16 * PAGE, MS_SYNC);
		madvise(b.mem, 16 * PAGE, MADV_PAGEOUT);
		madvise(a.mem, 16 * PAGE, MADV_PAGEOUT);
	}
	traffic_end(&t);
	CHECK(!t.status && t.count, "status %d after %lu requests", t.status, t.count);
	other = map(16 * PAGE, fd);
	CHECK_BYTES(other, 16 * PAGE, 6, "the file");
	munmap(other, 16 * PAGE);
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
	close(fd);
}

/*
 * A peer reads a private mapping of a file, and then writes it. The write goes to a copy, as one of
 * the process itself does, and not to the file.
 */
static void written_after_read(void)
{
	int fd = memfd_create("private", MFD_CLOEXEC);
	uint8_t *shared, *own;
	struct odp a, b;
	struct pair p;

	start(&p, NULL);
	NEED(fd >= 0 && !ftruncate(fd, 4 * PAGE), "memfd: %s", err_name(errno));
	shared = map(4 * PAGE, fd);
	fill(shared, 4 * PAGE, 1);
	own = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	NEED(own != MAP_FAILED, "mmap: %s", err_name(errno));
	a = odp_open(&p, 4 * PAGE);
	b = odp_of(&p, own, 4 * PAGE);
	post(&p, IBV_WR_RDMA_READ, &a, 0, &b, 0, 4 * PAGE);
	done(&p, IBV_WC_SUCCESS);
	CHECK_BYTES(a.mem, 4 * PAGE, 1, "what was read");
	fill(a.mem, 4 * PAGE, 2);
	post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, 4 * PAGE);
	done(&p, IBV_WC_SUCCESS);
	CHECK_BYTES(b.mem, 4 * PAGE, 2, "what was written");
	CHECK_BYTES(shared, 4 * PAGE, 1, "the file");
	munmap(shared, 4 * PAGE);
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
	close(fd);
}

/* The number of pages that are zeros. */
static size_t zero_pages(const struct odp *o)
{
	size_t n = 0;

	for (size_t at = 0; at < o->len; at += PAGE)
		n += all_zero(o->mem + at, PAGE);
	return n;
}

/*
 * With MADV_FREE a process lets the kernel discard its pages, unless they are written before. A
 * peer writes half of them: the kernel then discards some of the others, and none of these.
 */
static void written_after_free(void)
{
	const size_t len = 256 * PAGE, half = len / 2;
	size_t discarded = 0;
	struct odp a, b;
	struct pair p;

	start(&p, NULL);
	a = odp_open(&p, half);
	b = odp_open(&p, len);
	madvise(b.mem, len, MADV_NOHUGEPAGE);
	for (int i = 0; i < 20 && !discarded && !test_failures; i++) {
		fill(a.mem, half, i);
		memset(b.mem, 0xee, len);
		NEED(!madvise(b.mem, len, MADV_FREE), "MADV_FREE: %s", err_name(errno));
		post(&p, IBV_WR_RDMA_WRITE, &a, 0, &b, 0, half);
		done(&p, IBV_WC_SUCCESS);
		NEED(!madvise(b.mem, len, MADV_PAGEOUT), "MADV_PAGEOUT: %s", err_name(errno));
		CHECK_BYTES(b.mem, half, i, "what was written after MADV_FREE");
		discarded = zero_pages(&b);
	}
	CHECK(discarded, "the kernel has discarded no page");
	odp_close(&a);
	odp_close(&b);
	pair_close(&p);
}

/* A process whose region lists all pages of its memory. Returns after the parent has seen it. */
static void listed_in_child(int ready)
{
	struct ibv_sge sge;
	struct pair p;
	struct odp o;

	start(&p, NULL);
	o = odp_open(&p, BIG);
	sge = sge_of(&o, 0, BIG);
	NEED_OK(ibv_advise_mr(p.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
			      &sge, 1));
	NEED(write(ready, "", 1) == 1, "write: %s", err_name(errno));
	pause();
}

/* Stops @child in its exit, before it gives its memory back. */
static void stop_in_exit(pid_t child)
{
	int status;

	NEED(!ptrace(PTRACE_SEIZE, child, NULL, PTRACE_O_TRACEEXIT), "ptrace: %s", err_name(errno));
	kill(child, SIGKILL);
	NEED(waitpid(child, &status, 0) == child, "waitpid");
	NEED(status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8), "the child ended with %#x", status);
}

/*
 * The OOM reaper takes the memory of a process that has been killed and does not end. It must not
 * wait. process_mrelease(2) does the same.
 */
static void reaped(void)
{
	int ready[2], fd, status;
	pid_t child;
	char byte;

	NEED_OK(pipe(ready));
	child = fork();
	if (!child) {
		close(ready[0]);
		listed_in_child(ready[1]);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		NEED(waitpid(child, &status, 0) == child, "waitpid");
		if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP)
			SKIP("skipped");
		NEED(false, "the child ended with %#x", status);
	}
	stop_in_exit(child);
	fd = syscall(SYS_pidfd_open, child, 0);
	NEED(fd >= 0, "pidfd_open: %s", err_name(errno));
	CHECK(!syscall(SYS_process_mrelease, fd, 0), "process_mrelease: %s", err_name(errno));
	close(fd);
	close(ready[0]);
	NEED(!ptrace(PTRACE_DETACH, child, NULL, NULL), "ptrace: %s", err_name(errno));
	NEED(waitpid(child, &status, 0) == child, "waitpid");
}

/* ---- more memory than the kernel lists ------------------------------------------------------ */

#define PART (2ul << 20)
#define PARTS 300

/* One side of a pair writes all over a region. */
struct rover {
	struct pair *p;
	struct odp *all;
	int side;
	pthread_t thread;
};

static void *rove(void *arg)
{
	struct rover *r = arg;
	uint32_t random = r->side + 1;
	struct ibv_wc wc;

	for (int i = 0; i < 1500; i++) {
		struct ibv_sge sge = pair_sge(r->p, r->side, 0, PAGE);
		struct ibv_send_wr wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED, .wr.rdma.rkey = r->all->mr->rkey,
		};
		uint8_t *to;

		random = random * 1103515245u + 12345u;
		/* Across the end of a part, and apart from the other side. */
		to = r->all->mem + (random >> 8) % (PARTS - 1) * PART + PART - 100 +
		     r->side * 2 * PAGE;
		wr.wr.rdma.remote_addr = (uintptr_t)to;
		fill(r->p->buf[r->side], PAGE, i);
		CHECK_ERR(post_one(r->p, r->side, &wr), 0);
		if (!WANT_WC(r->p->cq[r->side], &wc, IBV_WC_SUCCESS))
			break;
		CHECK_BYTES(to, PAGE, i, "write");
	}
	return NULL;
}

static void recycled(void)
{
	struct rover r[2];
	struct odp all;
	struct pair p;

	start(&p, NULL);
	all = odp_open(&p, PARTS * PART);
	for (int i = 0; i < 2; i++) {
		r[i] = (struct rover){ .p = &p, .all = &all, .side = i };
		NEED(!pthread_create(&r[i].thread, NULL, rove, &r[i]), "pthread_create");
	}
	for (int i = 0; i < 2; i++)
		pthread_join(r[i].thread, NULL);
	odp_close(&all);
	pair_close(&p);
}

/* The memory is unmapped, the region deregistered and the queue pair destroyed meanwhile. */
static void ended_under_traffic(void)
{
	struct odp a, b;
	struct pair p;

	for (int i = 0; i < 20; i++) {
		start(&p, NULL);
		a = odp_open(&p, BIG);
		b = odp_open(&p, BIG);
		for (int n = 0; n < 4; n++)
			post(&p, n & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, &a, 0, &b, 0, BIG);
		if (i & 1)
			munmap(b.mem, BIG);
		CHECK_ERR(ibv_dereg_mr(b.mr), 0);
		if (i & 2)
			NEED_OK(ibv_destroy_qp(p.qp[1]));
		CHECK_ERR(ibv_dereg_mr(a.mr), 0);
		if (!(i & 1))
			munmap(b.mem, BIG);
		munmap(a.mem, BIG);
		if (i & 2)
			p.qp[1] = NULL;
		pair_close(&p);
	}
}

/* An atomic write to a page that the process has given back. */
static void atomic_write(void)
{
	static uint8_t value[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct ibv_qp_ex *ex;
	struct odp to;
	struct pair p;

	start(&p, &(struct pair_want){ .use_ex = 1, .ex_ops = IBV_QP_EX_WITH_ATOMIC_WRITE });
	to = odp_open(&p, PAGE);
	madvise(to.mem, PAGE, MADV_DONTNEED);
	ex = ibv_qp_to_qp_ex(p.qp[0]);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(ex, to.mr->rkey, (uintptr_t)to.mem, value);
	NEED_OK(ibv_wr_complete(ex));
	done(&p, IBV_WC_SUCCESS);
	CHECK(!memcmp(to.mem, value, sizeof(value)), "other bytes were written");
	odp_close(&to);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "dropped", dropped_under_traffic },
	{ "dropped_while_faulted", dropped_while_faulted },
	{ "written_after_read", written_after_read },
	{ "forked", forked_under_traffic },
	{ "truncated", truncated_under_traffic },
	{ "evicted", evicted_under_traffic },
	{ "written_after_free", written_after_free },
	{ "ended", ended_under_traffic },
	{ "reaped", reaped },
	{ "recycled", recycled },
	{ "atomic_write", atomic_write },
};
TEST_MAIN("odp_traffic", cases, 60)
