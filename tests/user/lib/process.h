/* SPDX-License-Identifier: GPL-2.0 */
/* Cases that mostly wait for what must not come: several run at once, each in a process. */
#ifndef PROCESS_H
#define PROCESS_H

#include "testlib.h"

#define PROCESSES 6

struct process {
	const struct test_case *what;
	pid_t pid;
	int output;
};

static void process_begin(struct process *p, const struct test_case *what)
{
	*p = (struct process){ .what = what, .output = memfd_create(what->name, MFD_CLOEXEC) };
	NEED(p->output >= 0, "memfd_create: %s", err_name(errno));
	/* The child would print what is buffered, too. */
	fflush(stdout);
	p->pid = fork();
	NEED(p->pid >= 0, "fork: %s", err_name(errno));
	if (p->pid)
		return;
	NEED(dup2(p->output, STDOUT_FILENO) >= 0, "dup2: %s", err_name(errno));
	test_now = what->name;
	test_limit(120);
	printf("%s\n", what->name);
	what->run();
	exit(test_failures ? 1 : 0);
}

/* Wait until the case has ended, and print its output. */
static void process_end(struct process *p)
{
	char text[4096];
	ssize_t n;
	int status;

	NEED(waitpid(p->pid, &status, 0) == p->pid, "waitpid: %s", err_name(errno));
	CHECK(!status, "%s ended with %#x", p->what->name, status);
	for (off_t at = 0; (n = pread(p->output, text, sizeof(text), at)) > 0; at += n)
		fwrite(text, 1, n, stdout);
	close(p->output);
	p->pid = 0;
}

/* Run the cases that are wanted, and print their outputs in their order. Return their number. */
static unsigned int processes_run(int argc, char **argv, const struct test_case *cases, size_t count)
{
	struct process running[PROCESSES] = {}, *p;
	unsigned int ran = 0;

	for (size_t i = 0; i < count; i++) {
		if (!test_wanted(argc, argv, cases[i].name))
			continue;
		p = &running[ran++ % PROCESSES];
		if (p->pid)
			process_end(p);
		process_begin(p, &cases[i]);
	}
	for (unsigned int i = 0; i < PROCESSES; i++) {
		p = &running[(ran + i) % PROCESSES];
		if (p->pid)
			process_end(p);
	}
	return ran;
}

#endif
