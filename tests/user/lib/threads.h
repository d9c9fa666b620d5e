/* SPDX-License-Identifier: GPL-2.0 */
/* Threads of this process or another one: their system calls, as /proc shows them, and their processor. */
#ifndef THREADS_H
#define THREADS_H

#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include "cases.h"

/* Does the thread @tid of the process @pid sleep in the system call @wanted (SYS_*)? */
static MAYBE_UNUSED bool thread_sleeps_in(pid_t pid, pid_t tid, int wanted)
{
	char path[64];
	int call = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	f = fopen(path, "r");
	NEED(f, "%s: %s", path, err_name(errno));
	/* A thread that runs has the word "running" instead of a number. */
	if (fscanf(f, "%d", &call) != 1)
		call = -1;
	fclose(f);
	return call == wanted;
}

/*
 * Pin the thread to the processor that it runs on; otherwise packets that it sends from two
 * processors may overtake each other.
 */
static MAYBE_UNUSED void stay_here(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	NEED(!sched_setaffinity(0, sizeof(one), &one), "sched_setaffinity: %s", err_name(errno));
}

#endif
