/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A completion ring: P3 and P4 of Documentation/ordering.rst. The process knows
 * a completion by its phase; each completion must arrive once and as it was written, over several
 * passes.
 *
 * fails with: NO_SHOW_RELEASE NO_READY_ACQUIRE NO_CONSUME_RELEASE ONE_PHASE
 */
#define SLOTS 2
#define COMPLETIONS 5
#define KERNEL 0
#define PROCESS 1
#define THREADS 2
#define HEAD 0		/* user.index */
#define PHASE 1		/* univ_cqe.phase of each slot */
#define DATA 3		/* the rest of it */
#define WORDS (DATA + SLOTS)
#define AHEAD (_pid == PROCESS -> BIT(DATA) | BIT(DATA + 1) : 0)
#include "weak.h"

#ifdef ONE_PHASE
#define PHASE_OF(index) 1
#else
#define PHASE_OF(index) (1 + (index / SLOTS) % 2)
#endif

bool done;

/*
 * univ_cq_ring_fits(), the slots, univ_cq_ring_show(): one look at the index serves for
 * all slots that it leaves
 */
active proctype kernel()
{
	byte index, head, room;

	do
	:: index == COMPLETIONS -> break
	:: else ->
		if
		:: room -> skip
		:: else ->
			load_acquire(KERNEL, HEAD, head);
			room = SLOTS - (index - head);
			head = 0
		fi;
		if
		:: room -> room--
		:: else -> goto next
		fi;
		store(KERNEL, DATA + index % SLOTS, index + 1);
#ifdef NO_SHOW_RELEASE
		store(KERNEL, PHASE + index % SLOTS, PHASE_OF(index));
#else
		store_release(KERNEL, PHASE + index % SLOTS, PHASE_OF(index));
#endif
		index++;
next:		skip
	od
}

inline take()
{
	load(PROCESS, DATA + head % SLOTS, data);
	assert(data == head + 1);
	data = 0
}

/* univ_cursor_ready(), the completion, univ_cq_ring_consume() */
active proctype process()
{
	byte head, phase, data;

	do
	:: head == COMPLETIONS -> break
	:: else ->
#ifdef NO_READY_ACQUIRE
		load(PROCESS, PHASE + head % SLOTS, phase);
#else
		load_acquire(PROCESS, PHASE + head % SLOTS, phase);
#endif
		if
		:: phase != PHASE_OF(head) -> goto next
		:: else
		fi;
#ifdef NO_CONSUME_RELEASE
		/* the completion may be read after its slot was given back */
		if
		:: take();
			store(PROCESS, HEAD, head + 1)
		:: store(PROCESS, HEAD, head + 1);
			take()
		fi;
#else
		take();
		store_release(PROCESS, HEAD, head + 1);
#endif
		head++;
next:		phase = 0
	od;
	done = true
}

active proctype judge()
{
	timeout -> assert(done)
}
