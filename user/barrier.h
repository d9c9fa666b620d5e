/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ordering of shared memory, named by purpose. Each load that acquires pairs
 * with a store that releases on the other side; Documentation/ordering.rst
 * tables the pairs.
 */
#ifndef UNIV_BARRIER_H
#define UNIV_BARRIER_H

#include <stdint.h>

/* What was written before is visible to whoever loads the new value. */
#define univ_publish(ptr, value) __atomic_store_n(ptr, value, __ATOMIC_RELEASE)

/* What the other side wrote before it published is visible after this. */
#define univ_observe(ptr) __atomic_load_n(ptr, __ATOMIC_ACQUIRE)

/* One untorn access that orders nothing. */
#define univ_peek(ptr) __atomic_load_n(ptr, __ATOMIC_RELAXED)
#define univ_poke(ptr, value) __atomic_store_n(ptr, value, __ATOMIC_RELAXED)

/*
 * A plain load, which the compiler may fold into a comparison with memory: for
 * paths that count instructions. univ_glance_done() says where those before it
 * must have happened; compilers may sink a plain load below a fence, but not
 * below the empty statement. ThreadSanitizer, which takes a plain load for an
 * oversight, is shown what it is meant to be.
 */
#ifdef __SANITIZE_THREAD__
#define univ_glance(ptr) univ_peek(ptr)
#else
#define univ_glance(ptr) (*(ptr))
#endif

static inline void univ_glance_done(void)
{
	__asm__ __volatile__("" ::: "memory");
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/*
 * Between a store that the other side may wait for and a load that tells
 * whether it does: neither side can miss the other's store.
 */
static inline void univ_fence_before_recheck(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void univ_spin_hint(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
	__asm__ __volatile__("yield");
#else
	__asm__ __volatile__("" ::: "memory");
#endif
}

#endif
