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
 * holds with: DEVICE
 * fails with: DEVICE,NO_INTERRUPT_ORDER DEVICE,NO_KERNEL_FENCE
 * fails with: NO_USER_FENCE NO_KERNEL_FENCE NO_RECHECK
 */
#define COMPLETIONS 3
#define KERNEL 0
#define PROCESS 1
#define SHOWN 0		/* stands for the phases: completions written */
#define ARM 1		/* user.arm */
#ifndef DEVICE
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
	events++
}
#endif

inline show_one()
{
	index++;
	store_release(KERNEL, SHOWN, index)
}

/* comp_round(), univ_cq_notify(); or the device */
active proctype kernel()
{
	byte index, arm, fired;
#ifdef DEVICE
	byte raised;
#endif

	do
	:: index == COMPLETIONS -> break
	:: else ->
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
		arm = 0
	od
}

inline poll()
{
	load_acquire(PROCESS, SHOWN, shown);
	taken = shown;
	shown = 0
}

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

active proctype judge()
{
	timeout -> assert(taken == COMPLETIONS)
}
