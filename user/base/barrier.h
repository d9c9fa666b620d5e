/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Access to shared memory. A macro's name says how it orders: plain, relaxed,
 * acquire or release. Each load that acquires pairs with a store that releases
 * on the other side; Documentation/ordering.rst lists the pairs.
 */
#ifndef UNIV_BARRIER_H
#define UNIV_BARRIER_H

#include <stdint.h>

/* Earlier stores are visible to a thread that loads the new value with acquire order. */
#define univ_store_release(ptr, value) __atomic_store_n(ptr, value, __ATOMIC_RELEASE)

/* Stores of the other side before its release are visible after this load. */
#define univ_load_acquire(ptr) __atomic_load_n(ptr, __ATOMIC_ACQUIRE)

/*
 * The same for 64 bits, which the other side stores at once. A 32-bit program loads
 * the halves, because its 64-bit atomic load may write to the memory, which may be read
 * only. The lower half belongs to the upper one if the upper one is the same after it.
 */
static inline uint64_t univ_load_acquire_64(const void *ptr)
{
#if __SIZEOF_POINTER__ == 8
	return univ_load_acquire((const uint64_t *)ptr);
#else
	const uint32_t *half = ptr;
	int upper = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	uint32_t high, low, again = univ_load_acquire(&half[upper]);

	do {
		high = again;
		low = univ_load_acquire(&half[!upper]);
		again = univ_load_acquire(&half[upper]);
	} while (again != high);
	return (uint64_t)high << 32 | low;
#endif
}

/* An access that is not torn and orders nothing. */
#define univ_load_relaxed(ptr) __atomic_load_n(ptr, __ATOMIC_RELAXED)
#define univ_store_relaxed(ptr, value) __atomic_store_n(ptr, value, __ATOMIC_RELAXED)

/*
 * A plain load, which the compiler may fold into a comparison with memory: for
 * paths that count instructions. univ_plain_loads_done() orders it: the compiler
 * may sink a plain load below a fence, but not below the empty statement. For
 * ThreadSanitizer the load is a relaxed one, because it reports plain loads.
 */
#ifdef __SANITIZE_THREAD__
#define univ_load_plain(ptr) univ_load_relaxed(ptr)
#else
#define univ_load_plain(ptr) (*(ptr))
#endif

/* Acquire: orders the plain loads before it against all accesses after it. */
static inline void univ_plain_loads_done(void)
{
	__asm__ __volatile__("" ::: "memory");
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/*
 * Full fence between a store that the other side may wait for and a load that
 * tells whether the other side waits. With a fence on both sides, at least one of
 * them sees the other's store.
 */
static inline void univ_fence_before_recheck(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * Stores to a register of a device, after all earlier stores to memory are visible
 * to the device (D1 in Documentation/ordering.rst), and pushes the store out of
 * write-combining buffers. On x86 a store to uncached or write-combining memory is
 * not done before earlier stores to memory; other processors need a fence that
 * includes devices, which the fences of threads do not.
 */
static inline void univ_mmio_store_after_memory(volatile uint32_t *reg, uint32_t value)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ __volatile__("" ::: "memory");
	*reg = value;
	__asm__ __volatile__("sfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ __volatile__("dmb oshst" ::: "memory");
	*reg = value;
	__asm__ __volatile__("dsb st" ::: "memory");
#elif defined(__riscv)
	/* A page that is mapped write-combining is memory to the fence. */
	__asm__ __volatile__("fence ow, ow" ::: "memory");
	*reg = value;
	__asm__ __volatile__("fence ow, ow" ::: "memory");
#else
	__sync_synchronize();
	*reg = value;
	__sync_synchronize();
#endif
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
