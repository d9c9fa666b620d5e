/* SPDX-License-Identifier: GPL-2.0 */
/* The memory from which packets are allocated. */
#ifndef UNIV_KUNIT_FRAGS_H
#define UNIV_KUNIT_FRAGS_H

#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/string.h>

/*
 * Fill the memory of the next packets with @byte. Packets come from the processor's cache of page
 * fragments. A fragment that is freed at once returns to it, so after some fragments the whole page
 * has been filled. A packet may still get a page that the cache takes anew, so a test has to repeat
 * this for several packets. Context: bottom halves off until the packets are allocated.
 */
static inline void frags_fill(u8 byte)
{
	int i;

	for (i = 0; i < 64; i++) {
		void *data = napi_alloc_frag(PAGE_SIZE);

		if (!data)
			return;
		memset(data, byte, PAGE_SIZE);
		skb_free_frag(data);
	}
}

#endif
