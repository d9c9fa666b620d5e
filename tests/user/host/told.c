// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the library notes when a program reads an event of a completion queue while another thread
 * polls the queue. The poller stands between its two stores: it has taken a completion, so the head
 * is behind it, and the cursor still shows it.
 */
#include <stdio.h>

#include "ring/ring.h"

#define SLOTS 4
#define NEVER 77

static struct univ_cqe slots[SLOTS] __attribute__((aligned(64)));
static int failed;

/* Reads an event when the completions @first to @end are there; returns what the library noted. */
static uint32_t told(uint32_t head, uint32_t cursor, uint32_t first, uint32_t end)
{
	struct univ_cq cq = { .slots = slots, .mask = SLOTS - 1, .head = head, .told = NEVER };

	cq.cursor = univ_cursor_make(slots, cq.mask, cursor);
	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i].phase = 0;
	for (uint32_t i = first; i != end; i++)
		slots[i % SLOTS].phase = UNIV_CQE_PHASE(i, SLOTS);
	univ_cq_told(&cq);
	return cq.told;
}

static void expect(const char *what, uint32_t got, uint32_t wanted)
{
	if (got == wanted)
		return;
	fprintf(stderr, "%s: the library noted %u, expected %u\n", what, got, wanted);
	failed = 1;
}

int main(void)
{
	expect("an empty queue", told(0, 0, 0, 0), NEVER);
	expect("one completion", told(0, 0, 0, 1), 0);
	expect("a completion behind polled ones", told(2, 2, 2, 3), 2);
	expect("a completion that is being polled", told(1, 0, 0, 1), NEVER);
	expect("the same at the end of the ring", told(4, 3, 3, 4), NEVER);
	expect("one behind that which is being polled", told(1, 0, 0, 2), 1);
	return failed;
}
