// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/barrier.h"
#include "base/lock.h"

/* About as long as a chain of small posts takes. */
#define SPINS 200

static bool state_change(struct univ_lock *lock, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&lock->state, &from, to, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static bool spin(struct univ_lock *lock)
{
	int i;

	for (i = 0; i < SPINS; i++) {
		if (univ_load_relaxed(&lock->state) == UNIV_LOCK_FREE &&
		    state_change(lock, UNIV_LOCK_FREE, UNIV_LOCK_HELD))
			return true;
		univ_spin_hint();
	}
	return false;
}

/*
 * A lock that was passed on is for threads that have slept, and not for the thread that passed it
 * on.
 */
static bool may_take(uint32_t state, bool slept)
{
	return state == UNIV_LOCK_FREE || (state == UNIV_LOCK_PASSED && slept);
}

static void sleep_on(struct univ_lock *lock, uint32_t state)
{
	if (state == UNIV_LOCK_HELD) {
		if (!state_change(lock, UNIV_LOCK_HELD, UNIV_LOCK_WAITED))
			return;
		state = UNIV_LOCK_WAITED;
	}
	syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
}

void univ_lock_wait(struct univ_lock *lock)
{
	bool slept = false;
	int err = errno;
	uint32_t state;

	if (spin(lock))
		return;
	for (;;) {
		state = univ_load_relaxed(&lock->state);
		if (!may_take(state, slept)) {
			sleep_on(lock, state);
			slept = true;
		} else if (state_change(lock, state, UNIV_LOCK_WAITED)) {
			/* As WAITED, since other threads may still wait. */
			break;
		}
	}
	errno = err;
}

static long wake_one(struct univ_lock *lock)
{
	return syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void univ_lock_wake(struct univ_lock *lock)
{
	int err = errno;

	wake_one(lock);
	errno = err;
}

/*
 * If the wake-up found no sleeping thread, the lock becomes free. A thread may
 * have begun to sleep in between, so one more wake-up follows.
 */
void univ_unlock_pass(struct univ_lock *lock)
{
	int err = errno;

	if (state_change(lock, UNIV_LOCK_HELD, UNIV_LOCK_FREE))
		return;
	univ_store_release(&lock->state, UNIV_LOCK_PASSED);
	if (wake_one(lock) <= 0 && state_change(lock, UNIV_LOCK_PASSED, UNIV_LOCK_FREE))
		wake_one(lock);
	errno = err;
}
