/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The lock of a queue: two atomic operations when no other thread wants it, and a
 * futex when the owner keeps it longer than a few hundred spins. It is smaller and faster than a
 * pthread mutex, and fits in the cache line of the data that it protects. Any thread that is awake
 * may take it before a thread that sleeps, which is fair enough because a post or a poll is short.
 * A thread that has kept it across a system call passes it on (univ_unlock_pass()).
 */
#ifndef UNIV_LOCK_H
#define UNIV_LOCK_H

#include <stdint.h>

enum univ_lock_state {
	UNIV_LOCK_FREE,
	UNIV_LOCK_HELD,
	UNIV_LOCK_WAITED,	/* held, and a thread may sleep */
	UNIV_LOCK_PASSED,	/* free, for a thread that has slept */
};

struct univ_lock {
	uint32_t state;
};

void univ_lock_wait(struct univ_lock *lock);
void univ_lock_wake(struct univ_lock *lock);

/* Unlocks, and lets a waiting thread take the lock before the caller can take it again. */
void univ_unlock_pass(struct univ_lock *lock);

static inline int univ_trylock(struct univ_lock *lock)
{
	uint32_t was = UNIV_LOCK_FREE;

	return __atomic_compare_exchange_n(&lock->state, &was, UNIV_LOCK_HELD, 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void univ_lock(struct univ_lock *lock)
{
	if (__builtin_expect(!univ_trylock(lock), 0))
		univ_lock_wait(lock);
}

/*
 * Unlocks. Returns UNIV_LOCK_WAITED if the caller must call univ_lock_wake(), else
 * 0. A lock that is held is in the state HELD or WAITED, which one bit tells apart.
 */
static inline uint32_t univ_unlock_quiet(struct univ_lock *lock)
{
	return __atomic_exchange_n(&lock->state, UNIV_LOCK_FREE, __ATOMIC_RELEASE) &
	       UNIV_LOCK_WAITED;
}

static inline void univ_unlock(struct univ_lock *lock)
{
	if (__builtin_expect(univ_unlock_quiet(lock), 0))
		univ_lock_wake(lock);
}

#endif
