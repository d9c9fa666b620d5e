// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * For which completions arming asks the kernel for a late event: those that the program has neither
 * polled nor learned of by an event. The ring and the program's place in it are made up, also as
 * they stand between two stores of another thread that polls.
 */
#include <stdbool.h>
#include <stdio.h>

#include "ring/ring.h"

#define SLOTS 4
#define NONE UINT32_MAX

struct place {
	uint32_t head;
	uint32_t current;	/* index of the current completion, or NONE */
	bool told;		/* an event was read */
	uint32_t fired_index;	/* of the last event */
	uint32_t end;		/* completions are there from @head to @end */
	uint32_t later;		/* more that come after the event was read */
};

static struct univ_cqe slots[SLOTS] __attribute__((aligned(64)));
static struct univ_ring_head ring;
static int failed, calls;

/* The library's call, in place of that in user/sys. */
int univ_cmd_cq_notify_try(int fd, struct univ_cq_notify *cmd)
{
	(void)fd;
	(void)cmd;
	calls++;
	return 0;
}

static void show(uint32_t end)
{
	for (uint32_t i = end - SLOTS; i != end; i++)
		slots[i % SLOTS].phase = UNIV_CQE_PHASE(i, SLOTS);
}

/* Whether each of the two armings that follow asks: 1 is the first one, 2 the second one. */
static int asks(const struct place *at)
{
	struct ibv_comp_channel channel = {};
	struct ibv_context context = {};
	struct univ_cq cq = { .ring = &ring, .slots = slots, .mask = SLOTS - 1, .told = at->head - 1 };
	int asked = 0;

	cq.ibv.channel = &channel;
	cq.ibv.context = &context;
	cq.head = at->head;
	cq.cursor = univ_cursor_make(slots, cq.mask, at->head);
	if (at->current != NONE)
		cq.current = &slots[at->current % SLOTS];
	ring.kernel.fired_index = at->fired_index;
	show(at->end);
	if (at->told)
		univ_cq_told(&cq);
	show(at->end + at->later);
	for (int i = 0; i < 2; i++) {
		calls = 0;
		univ_req_notify_cq((struct ibv_cq *)&cq, i);
		if (calls)
			asked |= 1 << i;
	}
	return asked;
}

static void expect(const char *what, int wanted, struct place at)
{
	int got = asks(&at);

	if (got == wanted)
		return;
	fprintf(stderr, "%s: the armings that asked are %d, expected %d\n", what, got, wanted);
	failed = 1;
}

/*
 * Two completions wait, and the queue pair of the second one is destroyed. The first one moves to its slot, and the kernel
 * does not know that it is solicited. Is the queue armed for solicited completions only, then and after a poll?
 */
static void moved(void)
{
	struct ibv_context context = {};
	struct univ_cq cq = { .ring = &ring, .slots = slots, .mask = SLOTS - 1, .told = UINT32_MAX };
	int solicited;

	cq.ibv.context = &context;
	cq.cursor = univ_cursor_make(slots, cq.mask, 0);
	for (uint32_t i = 0; i < SLOTS; i++) {
		slots[i].phase = UNIV_CQE_PHASE(i - (i < 2 ? 0 : SLOTS), SLOTS);
		slots[i].qp_num = 7 + i;
	}
	univ_cq_forget((struct ibv_cq *)&cq, 8);
	univ_req_notify_cq((struct ibv_cq *)&cq, 1);
	solicited = ring.user.arm & 1;
	/* An event answers the arming. */
	ring.kernel.fired = cq.arm;
	if (cq.head != 1 || slots[1].qp_num != 7)
		solicited = -1;
	cq.head = 2;
	cq.cursor = univ_cursor_make(slots, cq.mask, 2);
	univ_req_notify_cq((struct ibv_cq *)&cq, 1);
	if (solicited == 0 && ring.user.arm & 1)
		return;
	fprintf(stderr, "a completion that was moved: armed as %d, then as %u\n", solicited, ring.user.arm & 1);
	failed = 1;
}

int main(void)
{
	moved();
	expect("an empty queue", 0, (struct place) { 0, NONE, false, 0, 0, 0 });
	expect("an empty queue, after an event", 0, (struct place) { 1, NONE, true, 1, 1, 0 });
	expect("a completion", 3, (struct place) { 0, NONE, false, 0, 1, 0 });
	expect("one that an unread event tells of", 3, (struct place) { 0, NONE, false, 1, 1, 0 });
	expect("one that an event has told of", 2, (struct place) { 0, NONE, true, 1, 1, 0 });
	expect("two that an event has told of", 2, (struct place) { 0, NONE, true, 2, 2, 0 });
	expect("a full ring that an event has told of", 2, (struct place) { 0, NONE, true, 4, 4, 0 });
	expect("one that is newer than the event", 3, (struct place) { 0, NONE, true, 1, 2, 0 });
	expect("one behind those of an old event", 3, (struct place) { 5, NONE, true, 3, 6, 0 });
	expect("one rounds behind an old event", 3, (struct place) { 9, NONE, true, 2, 10, 0 });
	expect("a module that does not tell", 2, (struct place) { 0, NONE, true, 0, 1, 0 });
	expect("such a module, and an event of which none waits", 3, (struct place) { 1, NONE, true, 0, 1, 1 });
	expect("an event of which none waits", 3, (struct place) { 1, NONE, true, 1, 1, 1 });
	expect("such a module, before the wrap", 2, (struct place) { UINT32_MAX - 1, NONE, true, 0, 0, 0 });
	expect("an event behind the wrap", 2, (struct place) { UINT32_MAX, NONE, true, 1, 1, 0 });
	expect("one behind it", 3, (struct place) { UINT32_MAX, NONE, true, 1, 2, 0 });
	expect("an event before the wrap", 3, (struct place) { 0, NONE, true, UINT32_MAX, 1, 0 });
	expect("the current completion", 0, (struct place) { 1, 1, false, 0, 2, 0 });
	expect("the current one, after its event", 0, (struct place) { 1, 1, true, 2, 2, 0 });
	expect("one behind the current one", 3, (struct place) { 1, 1, false, 0, 3, 0 });
	expect("one that is newer than the current one's event", 3, (struct place) { 1, 1, true, 2, 3, 0 });
	expect("one behind the current one, after its event", 2, (struct place) { 1, 1, true, 3, 3, 0 });
	expect("a current completion of the former head", 3, (struct place) { 2, 1, false, 0, 3, 0 });
	return failed;
}
