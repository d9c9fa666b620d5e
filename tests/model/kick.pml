/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kick: F1 of Documentation/ordering.rst. The process publishes, and kicks if the flag asks for
 * it. The kernel feeds when it is kicked and when a request completes, and asks for kicks while the
 * device holds too few requests. Every request must be fed, and complete.
 *
 * With POLLER the kernel's side is a thread. While it is awake it looks at the ring and asks for no
 * kicks; it may fall asleep whenever it has found no request.
 *
 * With DEVICE the other side is a device that looks at the ring when its bell
 * rings (D1): the flag stays set, and no completion makes the device look. The
 * fence of F1 is left out there, because it need not include devices.
 *
 * holds with: POLLER DEVICE
 * fails with: DEVICE,NO_BELL_ORDER
 * fails with: NO_USER_FENCE NO_KERNEL_FENCE NO_RECHECK
 * fails with: POLLER,NO_USER_FENCE POLLER,NO_KERNEL_FENCE POLLER,NO_RECHECK
 */
#define REQUESTS 4
#define ENOUGH 2
#define PROCESS 0
#define KERNEL 1
#define THREADS 2
#define TAIL 0		/* user.index */
#define FLAGS 1		/* kernel.flags */
#define WORDS 2
#define AHEAD (_pid == KERNEL -> BIT(TAIL) : BIT(FLAGS))
#include "weak.h"

bool wake;		/* a kick, or a completion's interrupt */
byte held;		/* by the device */
byte fed;
byte published;
bool created;

/* univ_ring_publish(), univ_cmd_kick() */
active proctype process()
{
	bool need;

	created;
	fence(PROCESS);		/* the call that created the ring orders */
	do
	:: published == REQUESTS -> break
	:: else ->
		store_release(PROCESS, TAIL, published + 1);
		published++;
#if !defined(NO_USER_FENCE) && !defined(DEVICE)
		fence(PROCESS);
#endif
		load(PROCESS, FLAGS, need);
		if
		:: need ->
#ifndef NO_BELL_ORDER
			/* A system call orders; univ_mmio_store_after_memory(). */
			fence(PROCESS);
#endif
			wake = true
		:: else
		fi;
		need = 0
	od
}

inline feed()
{
	load_acquire(KERNEL, TAIL, tail);
	d_step {
		held = held + tail - fed;
		fed = tail;
		tail = 0
	}
}

inline ask()
{
	store_release(KERNEL, FLAGS, 1);
#ifndef NO_KERNEL_FENCE
	fence(KERNEL);
#endif
	asked = true
}

#ifndef NO_RECHECK
#define MORE load_acquire(KERNEL, TAIL, tail); more = tail != fed; tail = 0
#else
#define MORE more = false
#endif

#ifdef DEVICE
active proctype hardware()
{
	byte tail;

	mem[FLAGS] = 1;
	created = true;
	do
	:: wake ->
		wake = false;
		fence(KERNEL);			/* reads follow the bell */
		feed()
	od
}
#elif !defined(POLLER)
/* recv_step(), recv_watch() */
active proctype kernel()
{
	byte tail;
	bool asked = true;
	bool more;

	mem[FLAGS] = asked;	/* before there is a process to see the ring */
	created = true;
	do
	:: wake ->
		wake = false;
		fence(KERNEL);			/* F3, feed.pml */
again:		feed();
		if
		:: held >= ENOUGH && asked ->
			asked = false;
			store_release(KERNEL, FLAGS, 0)
		:: held < ENOUGH && !asked ->
			ask();
			MORE;
			if
			:: more -> more = false; goto again
			:: else
			fi
		:: else
		fi
	od
}
#else
active proctype kernel()
{
	byte tail;
	bool asked, more;

	created = true;
	do
	:: true ->
		feed();
		if
		:: true		/* looks on */
		:: true ->	/* falls asleep */
			ask();
			MORE;
			if
			:: more -> more = false
			:: else -> wake; wake = false; fence(KERNEL)
			fi;
			asked = false;
			store(KERNEL, FLAGS, 0)
		fi
	:: published == REQUESTS && fed == REQUESTS -> break
	od
}
#endif

active proctype device()
{
	byte completed;

	do
	:: completed == REQUESTS -> break
	:: atomic { held -> held--; completed++; }
#ifndef DEVICE
		wake = true
#endif
	od
}

active proctype judge()
{
	timeout -> assert(fed == REQUESTS && !held)
}
