// SPDX-License-Identifier: GPL-2.0
/*
 * adv27, adv28. Thousands of objects in one process, hundreds of processes at once, and
 * neighbours that flood or starve. Each process may become slower, but gets its
 * completions.
 */
#include <sys/prctl.h>
#include "testlib.h"
#include <univerbs.h>

#define QPS 3000
#define PROCESSES 150

static void queue_pairs(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	int most = test_rounds(QPS), n;
	struct ibv_qp **qp = calloc(most, sizeof(*qp));
	struct pair p;

	pair_open(&p, NULL);
	init.send_cq = p.cq[0];
	init.recv_cq = p.cq[1];
	for (n = 0; n < most; n++) {
		qp[n] = ibv_create_qp(p.pd, &init);
		if (!qp[n])
			break;
	}
	CHECK(n == most || (errno == ENOMEM && n >= p.dev.attr.max_qp - 3),
	      "queue pair %d: %s; %s", n, err_name(errno), why_text());
	printf("%d queue pairs\n", n);
	CHECK(pair_works(&p), "messages among %d queue pairs", n);
	while (n--)
		CHECK_ERR(ibv_destroy_qp(qp[n]), 0);
	free(qp);
	pair_close(&p);
}

/* Register very many regions; their keys must all differ. */
static void regions(void)
{
	enum { N = 2000 };
	static struct ibv_mr *mr[N];
	int most = test_rounds(N), n;
	struct pair p;

	pair_open(&p, NULL);
	for (n = 0; n < most; n++) {
		mr[n] = ibv_reg_mr(p.pd, p.buf[0], 4096, ALL_ACCESS);
		if (!CHECK(mr[n], "region %d: %s; %s", n, err_name(errno), why_text()))
			break;
		if (n)
			CHECK(mr[n]->lkey != mr[n - 1]->lkey && mr[n]->rkey != mr[0]->rkey,
			      "region %d has the key of another", n);
	}
	CHECK(pair_works(&p), "messages among %d regions", n);
	while (n--)
		CHECK_ERR(ibv_dereg_mr(mr[n]), 0);
	pair_close(&p);
}

static void one_process(int start)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	test_failures = 0;
	test_limit(50);
	if (read(start, &byte, 1) < 0)
		_exit(2);
	{
		struct pair p;

		pair_open(&p, NULL);
		pair_works(&p);
		pair_close(&p);
	}
	_exit(test_failures ? 1 : 0);
}

static void processes(void)
{
	static pid_t pid[PROCESSES];
	int start[2], failed = 0, status, most = test_rounds(PROCESSES);

	NEED(!pipe(start), "pipe");
	for (int i = 0; i < most; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			close(start[1]);
			one_process(start[0]);
		}
	}
	close(start[0]);
	close(start[1]);
	for (int i = 0; i < most; i++)
		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			failed++;
	CHECK(!failed, "%d of %d processes failed", failed, most);
}

/* Post batches as fast as possible; only the last request of each is signaled. */
static void *flood(void *arg)
{
	struct pair *p = arg;
	struct ibv_wc wc;

	while (!test_failures && __atomic_load_n(&p->want.cqe, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 60; i++)
			if (post_rdma(p, 0, i, IBV_WR_RDMA_WRITE, 4096, i == 59 ? IBV_SEND_SIGNALED : 0))
				break;
		wait_wc(p->cq[0], &wc, 2000);
	}
	return NULL;
}

/*
 * A pair works beside a flood, beside an SRQ that stays empty, and beside a receiver that
 * never polls.
 */
static void neighbours(void)
{
	struct pair_want loud = { .cqe = 256 }, empty = { .use_srq = 1, .rnr_retry = 7 };
	struct pair_want deaf = { .cqe = 4, .recv_wr = 256 };
	struct pair flooding, starving, silent, p;
	pthread_t t;

	pair_open(&flooding, &loud);
	pair_open(&starving, &empty);
	pair_open(&silent, &deaf);
	for (int i = 0; i < 20; i++)
		CHECK_ERR(post_send_at(&starving, 0, i, 0, 8, IBV_SEND_SIGNALED), 0);
	for (int i = 0; i < 50; i++) {
		CHECK_ERR(post_recv_at(&silent, 1, i, 0, 64), 0);
		CHECK_ERR(post_send_at(&silent, 0, i, 0, 8, 0), 0);
	}
	pthread_create(&t, NULL, flood, &flooding);
	pair_open(&p, NULL);
	for (int i = 0; i < 30; i++)
		if (!CHECK(pair_works(&p), "round %d beside bad neighbours", i))
			break;
	__atomic_store_n(&flooding.want.cqe, 0, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	pair_close(&p);
	pair_close(&silent);
	pair_close(&starving);
	pair_close(&flooding);
}

static const struct test_case cases[] = {
	{ "queue_pairs", queue_pairs },
	{ "regions", regions },
	{ "processes", processes },
	{ "neighbours", neighbours },
};

TEST_MAIN("many (adv27 adv28)", cases, 90)
