/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arming a completion queue: F2 of Documentation/ordering.rst. The process
 * polls, arms, polls once more and waits for the event; the kernel writes
 * completions, alone or two at a time, and raises the event if the queue is
 * armed. The process must get all completions.
 *
 * With DEVICE a device writes the completions and looks whether the queue is armed. It writes an
 * event and interrupts the driver (D2), which raises the event.
 *
 * With LATE the process does not poll again before it waits. It looks whether completions are there
 * of which it does not know, and has the kernel raise an event for them. It knows of completions
 * that it has polled, and, if it has read an event since then, of those before FIRED. It may arm
 * the queue before it polls, and poll before it reads the event.
 *
 * holds with: DEVICE LATE
 * fails with: LATE,NO_USER_FENCE LATE,NO_KERNEL_FENCE LATE,EVENT_TELLS_ALL LATE,NO_RECHECK
 * fails with: DEVICE,NO_INTERRUPT_ORDER DEVICE,NO_KERNEL_FENCE
 * fails with: NO_USER_FENCE NO_KERNEL_FENCE NO_RECHECK
 */
#define COMPLETIONS 3
#define KERNEL 0
#define PROCESS 1
#define SHOWN 0		/* stands for the phases: completions written */
#define ARM 1		/* user.arm */
#ifdef LATE
#define FIRED 2		/* kernel.fired_index */
#define THREADS 2
#define WORDS 3
#define AHEAD (_pid == KERNEL -> BIT(ARM) : BIT(SHOWN) | BIT(FIRED))
#elif !defined(DEVICE)
#define THREADS 2
#define WORDS 2
#define AHEAD (_pid == KERNEL -> BIT(ARM) : BIT(SHOWN))
#else
#define DRIVER 2
#define EVENT 2		/* the tail of the device's events */
#define THREADS 3
#define WORDS 3
#define AHEAD (_pid == KERNEL -> BIT(ARM) : (_pid == DRIVER -> BIT(EVENT) : BIT(SHOWN)))
#endif
#include "weak.h"

byte events;
byte taken;
byte index, fired;	/* the kernel's own, or the device's */

#ifdef DEVICE
bool interrupt;

inline raise()
{
	fired = arm;
	raised++;
	store_release(KERNEL, EVENT, raised);
#ifndef NO_INTERRUPT_ORDER
	fence(KERNEL);		/* the message does not pass earlier writes */
#endif
	interrupt = true
}

/* The interrupt handler of samples/pci, univ_queue_raise() */
active proctype driver()
{
	byte head, tail;

	do
	:: interrupt ->
		interrupt = false;
		fence(DRIVER);
		load(DRIVER, EVENT, tail);
		d_step {
			events = events + tail - head;
			head = tail;
			tail = 0
		}
	od
}
#else
inline raise()
{
	fired = arm;
#ifdef LATE
	store(KERNEL, FIRED, index);
#endif
	events++
}
#endif

#ifdef LATE
bool locked;		/* univ_cq.lock */

inline lock()
{
	atomic {
		!locked;
		locked = true;
		views[KERNEL].seen = 0
	}
}

inline unlock()
{
	locked = false
}

/* univ_cq_notify_ioctl(): the lock shows it the stores of its last holder. */
inline notify()
{
	atomic {
		!locked && !views[KERNEL].held;
		if
		:: mem[ARM] != fired ->
			fired = mem[ARM];
			mem[FIRED] = index;
			events++
		:: else
		fi
	}
}
#else
#define lock() skip
#define unlock() skip
#endif

inline show_one()
{
	index++;
	store_release(KERNEL, SHOWN, index)
}

/* comp_round(), univ_cq_notify(); or the device */
active proctype kernel()
{
	byte arm;
#ifdef DEVICE
	byte raised;
#endif

	do
	:: index == COMPLETIONS -> break
	:: else ->
		lock();
		show_one();
		if
		:: index < COMPLETIONS -> show_one()
		:: true
		fi;
#ifndef NO_KERNEL_FENCE
		fence(KERNEL);
#endif
		load(KERNEL, ARM, arm);
		if
		:: arm != fired -> raise()
		:: else
		fi;
		unlock();
		arm = 0
	od
}

inline poll()
{
	load_acquire(PROCESS, SHOWN, shown);
	taken = shown;
	shown = 0
}

#ifdef LATE
/* unknown_wait(), event_end() */
inline look_for_unknown()
{
	first = taken;
	if
	:: told == taken + 1 ->
#ifdef EVENT_TELLS_ALL
		first = COMPLETIONS
#else
		load(PROCESS, FIRED, end);
		if
		:: end > first -> first = end
		:: else
		fi;
		end = 0
#endif
	:: else
	fi;
	told = 0;
	load_acquire(PROCESS, SHOWN, shown);
	if
	:: shown > first -> notify()
	:: else
	fi;
	first = 0;
	shown = 0
}

inline request()
{
	arm++;
	store(PROCESS, ARM, arm);
#ifndef NO_USER_FENCE
	fence(PROCESS);
#endif
#ifndef NO_RECHECK
	look_for_unknown()
#endif
}

active proctype process()
{
	byte shown, arm, first, end;
	byte told;		/* one more than @taken when an event was read */

	do
	:: taken == COMPLETIONS -> break
	:: else ->
		if
		:: request(); poll()
		:: poll(); request()
		fi;
		if
		:: taken != COMPLETIONS ->
			events > 0;
			fence(PROCESS);		/* a system call orders */
			if
			:: poll()
			:: true
			fi;
			events--;
			told = taken + 1
		:: else
		fi
	od
}
#else
/* ibv_req_notify_cq(), ibv_poll_cq(), ibv_get_cq_event() */
active proctype process()
{
	byte shown, arm, before;

	do
	:: taken == COMPLETIONS -> break
	:: else ->
		poll();
		arm++;
		store(PROCESS, ARM, arm);
#ifndef NO_USER_FENCE
		fence(PROCESS);
#endif
		before = taken;
#ifndef NO_RECHECK
		poll();
#endif
		if
		:: taken == before && taken != COMPLETIONS ->
			events > 0;
			fence(PROCESS);		/* a system call orders */
			events--
		:: else
		fi;
		before = 0
	od
}

#endif

active proctype judge()
{
	timeout -> assert(taken == COMPLETIONS)
}
