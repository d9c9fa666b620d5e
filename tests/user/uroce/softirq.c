// SPDX-License-Identifier: GPL-2.0
/*
 * Long messages between queue pairs of one host are copied by the process that posted them,
 * or by a kernel thread, but not in softirqs: the scheduler does not account softirqs to a
 * thread, and they delay all other work of the processor. Softirqs flush receive requests,
 * and threads continue when that has taken too long.
 */
#include "testlib.h"

#define LENGTH	(32u << 20)
#define WRITES	16
#define PAIRS	8
#define RECVS	8192		/* Of a queue pair that is flushed. */

struct times {
	unsigned long system, softirq;
};

/* Times of all processors together, in ticks. */
static struct times times_now(void)
{
	FILE *f = fopen("/proc/stat", "r");
	struct times t;

	NEED(f && fscanf(f, "cpu %*u %*u %lu %*u %*u %*u %lu", &t.system, &t.softirq) == 2,
	     "/proc/stat");
	fclose(f);
	return t;
}

static void long_messages(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct times before, after;
	unsigned long softirq, all;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct pair p;
	uint8_t *mem;

	pair_open(&p, NULL);
	mem = mmap(NULL, 2 * LENGTH, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	NEED(mem != MAP_FAILED, "mmap: %s", err_name(errno));
	mr = ibv_reg_mr(p.pd, mem, 2 * LENGTH, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	fill(mem, LENGTH, 9);
	sge = (struct ibv_sge){ (uintptr_t)mem, LENGTH, mr->lkey };
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = (uintptr_t)mem + LENGTH;
	wr.wr.rdma.rkey = mr->rkey;
	before = times_now();
	for (int n = 0; n < WRITES; n++) {
		CHECK_ERR(ibv_post_send(p.qp[0], &wr, &bad), 0);
		if (!WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS))
			break;
	}
	after = times_now();
	CHECK_BYTES(mem + LENGTH, LENGTH, 9, "written");
	softirq = after.softirq - before.softirq;
	all = softirq + after.system - before.system;
	printf("%lu of %lu ticks in softirqs\n", softirq, all);
	CHECK(softirq * 2 < all || all < 10, "%lu of %lu ticks in softirqs", softirq, all);
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	munmap(mem, 2 * LENGTH);
	pair_close(&p);
}

static void fail_and_post(const struct pair *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	static struct ibv_recv_wr wr[RECVS];
	struct ibv_recv_wr *bad;

	NEED_OK(ibv_modify_qp(p->qp[1], &attr, IBV_QP_STATE));
	for (int n = 0; n < RECVS; n++)
		wr[n] = (struct ibv_recv_wr){ .wr_id = n, .next = n + 1 < RECVS ? &wr[n + 1] : NULL };
	CHECK_ERR(ibv_post_recv(p->qp[1], wr, &bad), 0);
}

/* All of these requests together take longer than softirqs may. */
static void flushed(void)
{
	struct pair_want want = { .recv_wr = RECVS, .cqe = RECVS };
	static struct pair p[PAIRS];
	struct ibv_wc wc;

	for (int i = 0; i < PAIRS; i++)
		pair_open(&p[i], &want);
	for (int i = 0; i < PAIRS; i++)
		fail_and_post(&p[i]);
	for (int i = 0; i < PAIRS; i++)
		for (int n = 0; n < RECVS; n++)
			if (!WANT_WC(p[i].cq[1], &wc, IBV_WC_WR_FLUSH_ERR) ||
			    !CHECK(wc.wr_id == (uint64_t)n, "request %d: %llu", n,
				   (unsigned long long)wc.wr_id))
				break;
	for (int i = 0; i < PAIRS; i++)
		pair_close(&p[i]);
}

static const struct test_case cases[] = {
	{ "long_messages", long_messages },
	{ "flushed", flushed },
};

TEST_MAIN("softirq", cases, 120)
