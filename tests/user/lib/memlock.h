/* SPDX-License-Identifier: GPL-2.0 */
/* Pinned memory of the process and its limit, and children that give up rights. */
#ifndef MEMLOCK_H
#define MEMLOCK_H

#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/capability.h>
#include "cases.h"

static MAYBE_UNUSED long locked_kb(void)
{
	char line[128];
	long lck = -1, pin = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "VmLck: %ld", &lck);
		sscanf(line, "VmPin: %ld", &pin);
	}
	if (f)
		fclose(f);
	return lck + pin;
}

/* Drop CAP_IPC_LOCK, which would lift the limit, and keep the uid and the other capabilities. */
static MAYBE_UNUSED void drop_ipc_lock(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	NEED(!syscall(SYS_capget, &h, d), "capget");
	d[0].effective &= ~(1u << CAP_IPC_LOCK);
	d[0].permitted &= ~(1u << CAP_IPC_LOCK);
	d[0].inheritable &= ~(1u << CAP_IPC_LOCK);
	NEED(!syscall(SYS_capset, &h, d), "capset: %s", strerror(errno));
}

static MAYBE_UNUSED void set_limit(size_t bytes)
{
	struct rlimit r = { bytes, bytes };

	/* Raising a hard limit needs CAP_SYS_RESOURCE, which the process still has. */
	NEED(!setrlimit(RLIMIT_MEMLOCK, &r), "setrlimit: %s", strerror(errno));
}

/* Run in a child, because a process cannot take back dropped capabilities. */
static MAYBE_UNUSED void in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		test_failures = 0;
		test_limit(40);
		fn();
		exit(test_failures ? 1 : 0);
	}
	NEED(waitpid(pid, &status, 0) == pid, "waitpid");
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "the child: status %#x", status);
}

#endif
