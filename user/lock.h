/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The lock of a queue: two atomic operations when nobody else wants it, a
 * futex when the owner keeps it longer than a few hundred spins. Smaller and
 * shorter than a pthread mutex, and it fits in the cache line of what it
 * protects. Whoever is awake gets it first, which is fine for the time that a
 * post or a poll takes; who keeps it across a system call passes it on.
 */
#ifndef UNIV_LOCK_H
#define UNIV_LOCK_H

#include <stdint.h>

enum univ_lock_state {
	UNIV_LOCK_FREE,
	UNIV_LOCK_HELD,
	UNIV_LOCK_WAITED,	/* held, and somebody may sleep */
	UNIV_LOCK_PASSED,	/* for one of those who have slept */
};

struct univ_lock {
	uint32_t state;
};

void univ_lock_wait(struct univ_lock *lock);
void univ_lock_wake(struct univ_lock *lock);

/* Unlocks in favour of those who wait, and not of the caller's next lock. */
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
 * Unlocks; UNIV_LOCK_WAITED when the caller is to call univ_lock_wake(), else 0. What is held is in no
 * other state than held or waited for, which one bit tells apart.
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
