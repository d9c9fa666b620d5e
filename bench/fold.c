// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the instructions that uroce spends on the checksum of 4 KiB on a processor with
 * VPCLMULQDQ, by single steps. It runs on the machine itself, since the emulated processor of a
 * guest lacks the instruction:
 *   make -C bench && build/bench/fold
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kernel/uroce/net/fold.h"

#define SIZE 4096

static unsigned char bytes[SIZE], rest[UROCE_FOLD_REST];

static void __attribute__((noinline)) nothing(void)
{
	asm volatile("");
}

/* The two calls between the traps, one of them with the work. */
static void child(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	asm volatile("int3");
	nothing();
	asm volatile("int3");
	uroce_fold(rest, ~0u, bytes, SIZE);
	asm volatile("int3");
	_exit(0);
}

/* A step that has come to one of the traps stops behind it. */
static int at_trap(pid_t pid)
{
	struct user_regs_struct regs;
	long text;

	ptrace(PTRACE_GETREGS, pid, NULL, &regs);
	text = ptrace(PTRACE_PEEKTEXT, pid, (void *)(regs.rip - 1), NULL);
	return (text & 0xff) == 0xcc;
}

int main(void)
{
	int status, traps = 0;
	long steps[2] = { 0, 0 };
	pid_t pid;

	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("vpclmulqdq")) {
		puts("this processor has no VPCLMULQDQ");
		return 77;
	}
	pid = fork();
	if (!pid)
		child();
	waitpid(pid, &status, 0);
	while (traps < 3) {
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		waitpid(pid, &status, 0);
		if (!WIFSTOPPED(status))
			return 1;
		if (at_trap(pid))
			traps++;
		else if (traps)
			steps[traps - 1]++;
	}
	ptrace(PTRACE_KILL, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	printf("%d bytes: %ld instructions\n", SIZE, steps[1] - steps[0]);
	return 0;
}
