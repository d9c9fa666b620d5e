// SPDX-License-Identifier: GPL-2.0
/* Copies between regions, requests and packets, and atomic operations. */
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <rdma/ib_umem.h>

#include "queue.h"
#include "mem.h"

void uroce_vec_put(struct uroce_vec *vec)
{
	u32 i;

	for (i = 0; i < vec->count; i++)
		if (vec->seg[i].mr)
			uroce_mr_put(vec->seg[i].mr);
	vec->count = 0;
}

/*
 * The address of a byte of a segment, and in @len the number of bytes that
 * follow there.
 */
static inline void *seg_at(const struct uroce_seg *seg, u32 off, u32 *len,
			   bool write)
{
	u64 at = seg->base + off;

	*len = seg->len - off;
	return seg->mr ? uroce_mr_at(seg->mr, at, len, write) :
			 (void *)(uintptr_t)at;
}

struct cursor {
	const struct uroce_seg *seg;
	const struct uroce_seg *end;
	u32 off;
};

static void cursor_init(struct cursor *c, const struct uroce_vec *vec, u32 off)
{
	c->seg = vec->seg;
	c->end = vec->seg + vec->count;
	while (c->seg != c->end && off >= c->seg->len) {
		off -= c->seg->len;
		c->seg++;
	}
	c->off = off;
}

static void cursor_step(struct cursor *c, u32 len)
{
	c->off += len;
	while (c->seg != c->end && c->off == c->seg->len) {
		c->seg++;
		c->off = 0;
	}
}

static noinline void copy_pages(const struct uroce_mr *to, u64 to_off,
				const struct uroce_mr *from, u64 from_off,
				u32 len)
{
	u32 done = 0, run;
	void *d, *s;

	do {
		run = len - done;
		d = uroce_mr_at(to, to_off + done, &run, true);
		s = uroce_mr_at(from, from_off + done, &run, false);
		/* Source and destination may overlap. */
		memmove(d, s, run);
		done += run;
	} while (done < len);
}

static __always_inline u64 word_of(const void *from, u32 off)
{
	u64 word;

	memcpy(&word, from + off, sizeof(word));
	return word;
}

static __always_inline void put_word(void *to, u32 off, u64 word)
{
	memcpy(to + off, &word, sizeof(word));
}

/*
 * Copies 33 to 64 bytes: the first 32 and the last 32, which may be partly the
 * same, as memmove() does. All words are read before one is written, since
 * source and destination may overlap. The last byte is written once and after
 * all others: a program that waits for it may then write to the memory itself.
 */
static __always_inline void copy_few(void *to, const void *from, u32 len)
{
	u32 last = len - 32;
	u64 a = word_of(from, 0), b = word_of(from, 8);
	u64 c = word_of(from, 16), d = word_of(from, 24);
	u64 w = word_of(from, last), x = word_of(from, last + 8);
	u64 y = word_of(from, last + 16), z = word_of(from, last + 24);

	put_word(to, 0, a);
	put_word(to, 8, b);
	put_word(to, 16, c);
	put_word(to, 24, d);
	put_word(to, last, w);
	put_word(to, last + 8, x);
	put_word(to, last + 16, y);
	barrier();
	put_word(to, last + 24, z);
}

/*
 * Copies between regions that are held. Most messages lie within one page on
 * either side.
 */
void uroce_mr_copy(const struct uroce_mr *to, u64 to_off,
		   const struct uroce_mr *from, u64 from_off, u32 len)
{
	void *d = uroce_mr_whole(to, to_off, len);
	const void *s = uroce_mr_whole(from, from_off, len);

	if (unlikely(!d || !s))
		copy_pages(to, to_off, from, from_off, len);
	else if (len > 32 && len <= 64)
		copy_few(d, s, len);
	else
		memmove(d, s, len);
}

/* Copies to a region that is held, from the kernel's memory or from a ring. */
void uroce_mr_write(const struct uroce_mr *mr, u64 off, const void *from,
		    u32 len)
{
	u32 run;
	void *d;

	for (; len; len -= run, off += run, from += run) {
		run = len;
		d = uroce_mr_at(mr, off, &run, true);
		/* A process may have registered the memory of its own rings. */
		memmove(d, from, run);
	}
}

/* Copies @len bytes; the caller has compared the lengths. */
void uroce_vec_copy(const struct uroce_vec *dst, u32 dst_off,
		    const struct uroce_vec *src, u32 src_off, u32 len)
{
	struct cursor to, from;
	u32 run, more;
	void *d, *s;

	cursor_init(&to, dst, dst_off);
	cursor_init(&from, src, src_off);
	while (len && to.seg != to.end && from.seg != from.end) {
		d = seg_at(to.seg, to.off, &run, true);
		s = seg_at(from.seg, from.off, &more, false);
		run = min3(run, more, len);
		/* Source and destination may overlap. */
		memmove(d, s, run);
		cursor_step(&to, run);
		cursor_step(&from, run);
		len -= run;
	}
}

/*
 * Copies between memory and packets. A packet may contain pages of the same
 * region; then the program overwrites its own data in the packet, which harms
 * no other process.
 */
void uroce_vec_read(const struct uroce_vec *vec, u32 off, void *to, u32 len)
{
	struct cursor from;
	u32 run;
	void *s;

	cursor_init(&from, vec, off);
	while (len && from.seg != from.end) {
		s = seg_at(from.seg, from.off, &run, false);
		run = min(run, len);
		memcpy(to, s, run);
		cursor_step(&from, run);
		to += run;
		len -= run;
	}
}

/*
 * Programs wait for the last bytes of a message and then read the others, and
 * NCCL does so with an entry of 32 bytes. memcpy() of x86 may write the last
 * bytes first. memmove() writes in ascending order unless source and
 * destination overlap, but takes more instructions for long pieces.
 */
static void write_ascending(void *to, const void *from, u32 len)
{
	u32 head = len > 256 ? len - 64 : 0;

	if (head)
		memcpy(to, from, head);
	barrier();
	memmove(to + head, from + head, len - head);
}

void uroce_vec_write(const struct uroce_vec *vec, u32 off, const void *from,
		     u32 len)
{
	struct cursor to;
	u32 run;
	void *d;

	cursor_init(&to, vec, off);
	while (len && to.seg != to.end) {
		d = seg_at(to.seg, to.off, &run, true);
		run = min(run, len);
		write_ascending(d, from, run);
		cursor_step(&to, run);
		from += run;
		len -= run;
	}
}

/*
 * Packets may hold references to pages of a process, but not to pages of kernel
 * users or of devices.
 */
static bool seg_has_pages(const struct uroce_seg *seg)
{
	return seg->mr && seg->mr->umem && !seg->mr->umem->is_dmabuf;
}

/**
 * uroce_vec_attach() - add memory to a packet as fragments, without a copy
 * @vec: memory
 * @off: first byte
 * @len: bytes
 * @skb: the packet; it holds references to the pages, so the region may be
 *	deregistered before the packet is sent
 *
 * If the owner writes to the memory before the packet has left, either the new
 * data is sent or the packet's checksum is wrong. No other process is harmed.
 *
 * Return: false if the memory cannot be attached; then the caller has to free
 * the packet
 */
bool uroce_vec_attach(const struct uroce_vec *vec, u32 off, u32 len,
		      struct sk_buff *skb)
{
	struct cursor from;
	u32 run;
	void *s;

	cursor_init(&from, vec, off);
	while (len) {
		/* One fragment is reserved for padding and checksum. */
		if (from.seg == from.end || !seg_has_pages(from.seg) ||
		    skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS - 1)
			return false;
		s = seg_at(from.seg, from.off, &run, false);
		run = min(run, len);
		get_page(virt_to_page(s));
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, virt_to_page(s),
				offset_in_page(s), run, run);
		cursor_step(&from, run);
		len -= run;
	}
	/*
	 * The owner may write to the pages, so no code on the way may use them
	 * as a buffer.
	 */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return true;
}

/*
 * Executes an atomic operation on eight aligned bytes of held memory. It is
 * atomic with respect to other devices and to instructions of the process.
 * Returns false if the bytes are not aligned or not contiguous.
 */
bool uroce_atomic(const struct uroce_seg *seg, u8 opcode, u64 compare_add,
		  u64 swap, u64 *orig)
{
	atomic64_t *at;
	u32 len;

	at = seg_at(seg, 0, &len, true);
	if (len < 8 || (uintptr_t)at & 7)
		return false;
	if (opcode == UNIV_WR_ATOMIC_FETCH_AND_ADD)
		*orig = atomic64_fetch_add(compare_add, at);
	else
		*orig = atomic64_cmpxchg(at, compare_add, swap);
	return true;
}

/*
 * Writes eight bytes so that no reader sees a part of them. Returns false as
 * uroce_atomic() does.
 */
bool uroce_atomic_write(const struct uroce_seg *seg, u64 value)
{
	atomic64_t *at;
	u32 len;

	at = seg_at(seg, 0, &len, true);
	if (len < 8 || (uintptr_t)at & 7)
		return false;
	/*
	 * Release: a reader that sees this value also sees the peer's earlier
	 * writes.
	 */
	atomic64_set_release(at, value);
	return true;
}
