// SPDX-License-Identifier: GPL-2.0
/*
 * A receiver that is late, on another processor than the sender: the time from the post of
 * the receive request, 2 ms after the send, to the completion of the send. Beside it the time
 * from a write into a pipe to the return of the thread that sleeps in read(). Prints
 * NAME<TAB>MICROSECONDS, medians.
 *   late DEVICE
 */
#include <stdatomic.h>
#include "measure.h"

#define ROUNDS 200
#define SENDER 0
#define RECEIVER 1

static struct pair pair;
static atomic_int sent = -1;		/* The last round that was sent. */
static int ends[2];			/* The pipe. */
static uint64_t began[ROUNDS], took[ROUNDS];

static void run_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	NEED(!sched_setaffinity(0, sizeof(one), &one), "processor %d: %s", cpu, err_name(errno));
}

static void show(const char *name)
{
	printf("%s\t%.1f\n", name, median(took, ROUNDS) / 1e3);
}

static void complete(int side)
{
	struct ibv_wc wc;

	NEED(wait_wc(pair.cq[side], &wc, 10000) == 1 && wc.status == IBV_WC_SUCCESS,
	     "no message: status %d", wc.status);
}

static void *receive(void *unused)
{
	(void)unused;
	run_on(RECEIVER);
	for (int i = 0; i < ROUNDS; i++) {
		while (sent < i)
			;
		sleep_ms(2);
		began[i] = now_ns();
		NEED_OK(post_recv_at(&pair, RECEIVER, i, 0, 64));
		complete(RECEIVER);
	}
	return NULL;
}

static void send_all(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		NEED_OK(post_send_at(&pair, SENDER, i, 0, 64, IBV_SEND_SIGNALED));
		sent = i;
		complete(SENDER);
		took[i] = now_ns() - began[i];
	}
}

static void *write_bytes(void *unused)
{
	(void)unused;
	run_on(RECEIVER);
	for (int i = 0; i < ROUNDS; i++) {
		/* The reader sleeps by now. */
		sleep_ms(2);
		began[i] = now_ns();
		NEED(write(ends[1], "", 1) == 1, "write: %s", err_name(errno));
	}
	return NULL;
}

static void read_all(void)
{
	char byte;

	for (int i = 0; i < ROUNDS; i++) {
		NEED(read(ends[0], &byte, 1) == 1, "read: %s", err_name(errno));
		took[i] = now_ns() - began[i];
	}
}

static void beside(void *(*other)(void *), void (*here)(void))
{
	pthread_t thread;

	NEED(!pthread_create(&thread, NULL, other, NULL), "pthread_create");
	here();
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	NEED(argc == 2, "usage: late DEVICE");
	setenv("UNIV_TEST_DEVICE", argv[1], 1);
	test_program = "late";
	run_on(SENDER);
	pair_open(&pair, NULL);
	beside(receive, send_all);
	show("late receiver");
	pair_close(&pair);
	NEED(!pipe(ends), "pipe: %s", err_name(errno));
	beside(write_bytes, read_all);
	show("pipe");
	return test_failures ? 1 : 0;
}
