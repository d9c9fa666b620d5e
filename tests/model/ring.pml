/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ring of requests: P1 and P2 of Documentation/ordering.rst. Every request must arrive as it was
 * written, and no slot may be overwritten while it is read.
 *
 * The branch after univ_ring_room() keeps a slot from being written before room was seen. Its
 * acquire is for the compiler and has no variant.
 *
 * fails with: NO_PUBLISH_RELEASE NO_PUBLISH_ACQUIRE NO_RETIRE_RELEASE
 */
#define SLOTS 2
#define REQUESTS 4
#define PROCESS 0
#define KERNEL 1
#define THREADS 2
#define TAIL 0		/* user.index */
#define RETIRED 1	/* kernel.index */
#define SLOT 2
#define WORDS (SLOT + SLOTS)
#define AHEAD (_pid == KERNEL -> BIT(SLOT) | BIT(SLOT + 1) : 0)
#include "weak.h"

bool done;

/* univ_ring_room(), the slot, univ_ring_publish() */
active proctype process()
{
	byte tail, retired;

	do
	:: tail == REQUESTS -> break
	:: else ->
		load_acquire(PROCESS, RETIRED, retired);
		if
		:: tail - retired == SLOTS -> goto next
		:: else
		fi;
		store(PROCESS, SLOT + tail % SLOTS, tail + 1);
		tail++;
#ifdef NO_PUBLISH_RELEASE
		store(PROCESS, TAIL, tail);
#else
		store_release(PROCESS, TAIL, tail);
#endif
next:		retired = 0
	od
}

inline fetch()
{
	load(KERNEL, SLOT + fed % SLOTS, slot);
	assert(slot == fed + 1);
	slot = 0
}

/* univ_ring_published(), univ_ring_fetch(), univ_ring_retire() */
active proctype kernel()
{
	byte fed, published, slot;

	do
	:: fed == REQUESTS -> break
	:: else ->
#ifdef NO_PUBLISH_ACQUIRE
		load(KERNEL, TAIL, published);
#else
		load_acquire(KERNEL, TAIL, published);
#endif
		if
		:: published == fed -> goto next
		:: else
		fi;
#ifdef NO_RETIRE_RELEASE
		/* the load of the slot may be satisfied after the store */
		if
		:: fetch();
			store(KERNEL, RETIRED, fed + 1)
		:: store(KERNEL, RETIRED, fed + 1);
			fetch()
		fi;
#else
		fetch();
		store_release(KERNEL, RETIRED, fed + 1);
#endif
		fed++;
next:		published = 0
	od;
	done = true
}

active proctype judge()
{
	timeout -> assert(done)
}
