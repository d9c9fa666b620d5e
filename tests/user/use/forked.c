// SPDX-License-Identifier: GPL-2.0
/*
 * adv16. A process forks with registered memory, which is unaligned and lies beside other
 * data. The device still reaches the parent's bytes, and neither process sees the writes of
 * the other. The program does not call ibv_fork_init().
 */
#include "testlib.h"

#define LEN 3000
#define OFFSET 777		/* Offset in the first page, so that other bytes share the page. */

struct shared {
	volatile int child_wrote;
	volatile int parent_done;
};

static struct shared *sync_area(void)
{
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	NEED(mem != MAP_FAILED, "mmap");
	return mem;
}

static void wait_for(volatile int *flag)
{
	uint64_t end = deadline_ms(10000 * test_slowness());

	while (!*flag && now_ns() < end)
		sleep_ms(1);
	if (!*flag) {
		printf("the other process does not come\n");
		_exit(1);
	}
}

static int child(uint8_t *mem, struct shared *sync)
{
	memset(mem, 0xcc, 8192);
	sync->child_wrote = 1;
	wait_for(&sync->parent_done);
	for (size_t i = 0; i < 8192; i++)
		if (mem[i] != 0xcc) {
			printf("child: byte %zu is %#x\n", i, mem[i]);
			return 1;
		}
	return 0;
}

static void child_beside(void)
{
	struct shared *sync = sync_area();
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	uint8_t *mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct pair p;
	int status;
	pid_t pid;

	pair_open(&p, NULL);
	memset(mem, 0x11, 8192);
	mr = ibv_reg_mr(p.pd, mem + OFFSET, LEN, ALL_ACCESS);
	NEED_PTR(mr, "reg_mr");
	pid = fork();
	if (!pid)
		_exit(child(mem, sync));
	wait_for(&sync->child_wrote);

	/* The parent writes to the page as well, which triggers copy-on-write. */
	mem[0] = 0x22;
	mem[OFFSET + LEN] = 0x33;
	fill(p.buf[0], LEN, 8);
	sge = pair_sge(&p, 0, 0, LEN);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.remote_addr = (uintptr_t)mem + OFFSET;
	wr.wr.rdma.rkey = mr->rkey;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(mem + OFFSET, LEN, 8, "what the device wrote");
	CHECK(mem[0] == 0x22 && mem[1] == 0x11 && mem[OFFSET + LEN] == 0x33 &&
	      mem[OFFSET + LEN + 1] == 0x11, "bytes beside the region");

	/* The device reads the parent's later writes. */
	fill(mem + OFFSET, LEN, 9);
	wr.opcode = IBV_WR_RDMA_READ;
	CHECK_ERR(post_one(&p, 0, &wr), 0);
	WANT_WC(p.cq[0], &wc, IBV_WC_SUCCESS);
	CHECK_BYTES(p.buf[0], LEN, 9, "what the device read");
	sync->parent_done = 1;
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "the child: status %#x", status);
	CHECK(pair_works(&p), "after the child ended");
	CHECK_ERR(ibv_dereg_mr(mr), 0);
	pair_close(&p);
	munmap(mem, 8192);
	munmap(sync, 4096);
}

/* A child that calls exec at once closes the descriptors, and the parent's objects remain. */
static void exec_child(void)
{
	struct pair p;
	int status;
	pid_t pid;

	pair_open(&p, NULL);
	pid = fork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c",
		      "for f in /proc/self/fd/*; do readlink $f; done | grep -q univerbs && exit 9; exit 0",
		      (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status),
	      "a program that was executed holds the node: status %#x", status);
	CHECK(pair_works(&p), "after fork and exec");
	pair_close(&p);
}

/* The child and the parent each open the device. */
static void child_opens(void)
{
	struct pair p;
	int status;
	pid_t pid;

	pair_open(&p, NULL);
	pid = fork();
	if (!pid) {
		struct pair q;

		test_failures = 0;
		pair_open(&q, NULL);
		pair_works(&q);
		pair_close(&q);
		exit(test_failures ? 1 : 0);
	}
	CHECK(pair_works(&p), "the parent meanwhile");
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "the child: status %#x", status);
	CHECK(pair_works(&p), "the parent afterwards");
	pair_close(&p);
}

/* Symbols of the library that its header does not declare. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

/* Since fork() copies pinned pages, memory reaches the child whatever these calls say. */
static void ranges(void)
{
	uint8_t *mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	NEED(mem != MAP_FAILED, "mmap");
	fill(mem, 8192, 1);
	CHECK_ERR(ibv_dontfork_range(mem, 8192), 0);
	pid = fork();
	if (!pid)
		_exit(differs(mem, 8192, 1) >= 0);
	NEED(waitpid(pid, &status, 0) == pid, "waitpid: %s", err_name(errno));
	if (why_known())
		CHECK(!status, "the child: status %#x", status);
	CHECK_ERR(ibv_dofork_range(mem, 8192), 0);
	munmap(mem, 8192);
}

static const struct test_case cases[] = {
	{ "child_beside", child_beside },
	{ "exec_child", exec_child },
	{ "child_opens", child_opens },
	{ "ranges", ranges },
};

TEST_MAIN("forked (adv16)", cases, 30)
