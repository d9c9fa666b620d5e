// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the system calls of each verb of the data path. A traced child calls the
 * verb many times between two marks, and the parent counts the stops between them.
 * Prints NAME<TAB>CALLS for each.
 */
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include "testlib.h"

#define TIMES 200

static struct pair p;

/* A system call that no other code here makes. Its argument names the next test. */
static void mark(long name)
{
	syscall(SYS_getpgid, -name - 1000);
}

enum { END, POST_RECV, POST_SEND, CHAIN, POLL, POLL_ONE, ARM, NAMES };

static const char *const names[NAMES] = {
	[POST_RECV] = "post_recv in steady traffic",
	[POST_SEND] = "RC inline 8 B: post_send",
	[CHAIN] = "chain of 32 writes, one call",
	[POLL] = "poll_cq, empty",
	[POLL_ONE] = "poll_cq, one completion",
	[ARM] = "req_notify_cq",
};

#define COUNT(name, statement) do { mark(name); statement; mark(END); } while (0)

static int next_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n);
	return n;
}

static void writes(int n, int name)
{
	struct ibv_send_wr wr[32], *bad;
	struct ibv_sge sge = pair_sge(&p, 0, 0, 8);

	for (int i = 0; i < n; i++)
		wr[i] = (struct ibv_send_wr){
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_INLINE | (i + 1 == n ? IBV_SEND_SIGNALED : 0),
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.wr.rdma = { .remote_addr = (uintptr_t)p.buf[1], .rkey = p.mr->rkey },
		};
	for (int i = 0; i < TIMES; i++) {
		COUNT(name, ibv_post_send(p.qp[0], wr, &bad));
		sleep_ms(1);
		COUNT(POLL_ONE, next_completion(p.cq[0]));
	}
}

static void receives(void)
{
	struct ibv_sge to = pair_sge(&p, 1, 4096, 64);
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad;

	for (int i = 0; i < 48; i++)
		ibv_post_recv(p.qp[1], &recv, &bad);
	for (int i = 0; i < TIMES; i++) {
		post_send_at(&p, 0, 1, 0, 8, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
		next_completion(p.cq[1]);
		next_completion(p.cq[0]);
		COUNT(POST_RECV, ibv_post_recv(p.qp[1], &recv, &bad));
	}
}

static void child(void)
{
	struct ibv_wc wc;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	pair_open(&p, NULL);
	writes(1, POST_SEND);
	writes(32, CHAIN);
	receives();
	for (int i = 0; i < TIMES; i++) {
		COUNT(POLL, ibv_poll_cq(p.cq[0], 1, &wc));
		COUNT(ARM, ibv_req_notify_cq(p.cq[0], 0));
	}
	pair_close(&p);
	exit(0);
}

static long argument_of_mark(pid_t pid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) || regs.orig_rax != SYS_getpgid)
		return -1;
	return -(long)(int)regs.rdi - 1000;
}

int main(int argc, char **argv)
{
	unsigned long calls[NAMES] = { 0 }, times[NAMES] = { 0 };
	bool entering = false;
	int status, now = END;
	pid_t pid;

	if (argc > 1)
		setenv("UNIV_TEST_DEVICE", argv[1], 1);
	pid = fork();
	if (!pid)
		child();
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
	while (!ptrace(PTRACE_SYSCALL, pid, NULL, NULL) && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status)) {
		long name;

		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		entering = !entering;
		if (!entering)
			continue;
		name = argument_of_mark(pid);
		if (name < 0 || name >= NAMES) {
			calls[now] += now != END;
		} else {
			now = name;
			times[now]++;
		}
	}
	for (int i = 1; i < NAMES; i++)
		printf("%s\t%.2f\n", names[i], times[i] ? (double)calls[i] / times[i] : 0.0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
