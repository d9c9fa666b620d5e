/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The feeder of a ring: univ_feed_run() in kernel/core/pump/feed.c. Several
 * threads arrive, each with work that it published. One thread feeds; the others
 * set a flag and leave. When all threads have left, all work must be done.
 *
 * With TRY_FIRST the model is uroce_send_run() in kernel/uroce/engine/runner.c:
 * a thread that gets the lock at once feeds without setting the flag, and does
 * not clear a flag that it finds set. It checks the flag after it has unlocked,
 * like every other thread.
 *
 * holds with: TRY_FIRST
 * fails with: NO_COME_RELEASE NO_COME_FENCE NO_CLEAR_FENCE NO_LEAVE_FENCE
 * fails with: TRY_FIRST,NO_COME_RELEASE TRY_FIRST,NO_COME_FENCE
 * fails with: TRY_FIRST,NO_LEAVE_FENCE TRY_FIRST,NO_SECOND_LOOK
 * fails with: TRY_FIRST,COMERS=3,NO_CLEAR_FENCE
 */
#ifndef COMERS
#define COMERS 2
#endif
#define THREADS COMERS
#define LOCK 0
#define AGAIN 1
#define WORK 2		/* a word for each, its one writer */
#define WORDS (WORK + COMERS)
#if COMERS == 2
#define AHEAD (BIT(AGAIN) | BIT(WORK) | BIT(WORK + 1))
#else
#define AHEAD (BIT(AGAIN) | BIT(WORK + 2))
#endif
#include "weak.h"

byte fed[COMERS];
byte gone;

inline step(me)
{
	load(me, WORK, work);
	d_step { assert(work >= fed[0]); fed[0] = work; work = 0; }
	load(me, WORK + 1, work);
	d_step { assert(work >= fed[1]); fed[1] = work; work = 0; }
#if COMERS > 2
	load(me, WORK + 2, work);
	d_step { assert(work >= fed[2]); fed[2] = work; work = 0; }
#endif
}

inline leave_word(me)
{
#ifdef NO_COME_RELEASE
	store(me, AGAIN, 1);
#else
	store_release(me, AGAIN, 1);
#endif
#ifndef NO_COME_FENCE
	fence(me)
#else
	skip
#endif
}

inline let_go(me)
{
	store_release(me, LOCK, 0);
#ifndef NO_LEAVE_FENCE
	fence(me)
#else
	skip
#endif
}

inline feed_run(me)
{
#ifdef TRY_FIRST
	try_lock(me, LOCK, got);
	if
	:: got -> got = 0; step(me); let_go(me)
	:: else -> leave_word(me)
	fi;
#else
	leave_word(me);
#endif
	do
#ifdef NO_SECOND_LOOK
	:: break
#endif
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
		let_go(me)
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
	assert(fed[0] == 1 && fed[1] == 1 && fed[COMERS - 1] == 1)
}
