// SPDX-License-Identifier: GPL-2.0
/*
 * Two processes pass a byte to each other through pipes. Each of them sleeps in read(2) until
 * the byte comes, as perftest does with events. Prints the microseconds of one way.
 */
#include "measure.h"

#define ROUNDS 2000

static int there[2], back[2];

static void pass(int from, int to)
{
	char byte;

	NEED(read(from, &byte, 1) == 1, "read: %s", err_name(errno));
	NEED(write(to, &byte, 1) == 1, "write: %s", err_name(errno));
}

static void return_all(void)
{
	for (int i = 0; i < ROUNDS; i++)
		pass(there[0], back[1]);
	_exit(0);
}

int main(void)
{
	uint64_t began;
	pid_t other;

	NEED(!pipe(there) && !pipe(back), "pipe: %s", err_name(errno));
	other = fork();
	NEED(other >= 0, "fork: %s", err_name(errno));
	if (!other)
		return_all();
	began = now_ns();
	NEED(write(there[1], "", 1) == 1, "write: %s", err_name(errno));
	for (int i = 1; i < ROUNDS; i++)
		pass(back[0], there[1]);
	printf("%.2f\n", (now_ns() - began) / 2e3 / ROUNDS);
	waitpid(other, NULL, 0);
	return 0;
}
