// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "barrier.h"
#include "lock.h"

/* About as long as a chain of small posts takes. */
#define SPINS 200

static int lock_try(struct univ_lock *lock)
{
	uint32_t was = UNIV_LOCK_FREE;

	if (univ_peek(&lock->state) != UNIV_LOCK_FREE)
		return 0;
	return __atomic_compare_exchange_n(&lock->state, &was, UNIV_LOCK_HELD, 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Whoever has slept takes the lock as waited for: others may sleep still. */
void univ_lock_wait(struct univ_lock *lock)
{
	int err = errno;
	int i;

	for (i = 0; i < SPINS; i++) {
		if (lock_try(lock))
			return;
		univ_spin_hint();
	}
	while (__atomic_exchange_n(&lock->state, UNIV_LOCK_WAITED, __ATOMIC_ACQUIRE) !=
	       UNIV_LOCK_FREE)
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, UNIV_LOCK_WAITED, NULL, NULL,
			0);
	errno = err;
}

void univ_lock_wake(struct univ_lock *lock)
{
	int err = errno;

	syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = err;
}
