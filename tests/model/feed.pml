/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who feeds a ring: univ_feed_run() in kernel/core/pump.c. Several come, each
 * with work that it published; one feeds, the others leave word and go. When all
 * have gone, all work must be done.
 *
 * fails with: NO_COME_RELEASE NO_COME_FENCE NO_CLEAR_FENCE NO_LEAVE_FENCE
 */
#define COMERS 2
#define THREADS COMERS
#define LOCK 0
#define AGAIN 1
#define WORK 2		/* two words, each with one writer */
#define WORDS (WORK + 2)
#define AHEAD (BIT(AGAIN) | BIT(WORK) | BIT(WORK + 1))
#include "weak.h"

byte fed[2];
byte gone;

inline step(me)
{
	load(me, WORK, work);
	d_step { assert(work >= fed[0]); fed[0] = work; work = 0; }
	load(me, WORK + 1, work);
	d_step { assert(work >= fed[1]); fed[1] = work; work = 0; }
}

inline feed_run(me)
{
#ifdef NO_COME_RELEASE
	store(me, AGAIN, 1);
#else
	store_release(me, AGAIN, 1);
#endif
#ifndef NO_COME_FENCE
	fence(me);
#endif
	do
	:: load(me, AGAIN, again);
		if
		:: !again -> break
		:: else
		fi;
		again = 0;
		try_lock(me, LOCK, got);
		if
		:: !got -> break
		:: else
		fi;
		got = 0;
		store(me, AGAIN, 0);
#ifndef NO_CLEAR_FENCE
		fence(me);
#endif
		step(me);
		store_release(me, LOCK, 0);
#ifndef NO_LEAVE_FENCE
		fence(me);
#endif
	od
}

active [COMERS] proctype comer()
{
	byte me = _pid - THREADS;
	byte again, got, work;

	store(me, WORK + me, 1);
	feed_run(me);
	gone++
}

active proctype judge()
{
	timeout ->
	assert(gone == COMERS);
	assert(fed[0] == 1 && fed[1] == 1)
}
