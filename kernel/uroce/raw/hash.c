// SPDX-License-Identifier: GPL-2.0
/*
 * The Toeplitz hash of a frame's addresses and ports, as network cards compute
 * it, by which frames are spread over work queues.
 */
#include <linux/build_bug.h>

#include "raw.h"

/* Two addresses of IPv6 and two ports. */
#define HASH_BYTES 36

struct tuple {
	u32 len;
	u8 bytes[HASH_BYTES];
};

static void add(struct tuple *t, bool wanted, const void *from, u32 len)
{
	if (!wanted)
		return;
	memcpy(t->bytes + t->len, from, len);
	t->len += len;
}

static void add_addresses(struct tuple *t, u64 fields,
			  const struct uroce_frame *frame)
{
	const struct uroce_headers *outer = &frame->outer;

	if (frame->has & UROCE_HAS_IPV4) {
		add(t, fields & UNIV_RX_HASH_SRC_IPV4, &outer->ip.v4.src, 4);
		add(t, fields & UNIV_RX_HASH_DST_IPV4, &outer->ip.v4.dst, 4);
	} else if (frame->has & UROCE_HAS_IPV6) {
		add(t, fields & UNIV_RX_HASH_SRC_IPV6, &outer->ip.v6.src, 16);
		add(t, fields & UNIV_RX_HASH_DST_IPV6, &outer->ip.v6.dst, 16);
	}
}

/*
 * Only the first fragment of a datagram has ports. All of its fragments go to
 * the same work queue, so the ports of the first one do not count.
 */
static void add_ports(struct tuple *t, u64 fields,
		      const struct uroce_frame *frame)
{
	u64 src = UNIV_RX_HASH_SRC_PORT_UDP, dst = UNIV_RX_HASH_DST_PORT_UDP;
	bool tcp = frame->has & UROCE_HAS_TCP;

	if (!(tcp || frame->has & UROCE_HAS_UDP) ||
	    (frame->has & UROCE_HAS_IPV4 &&
	     frame->outer.ip.v4.flags & UROCE_FRAME_MF))
		return;
	if (tcp) {
		src = UNIV_RX_HASH_SRC_PORT_TCP;
		dst = UNIV_RX_HASH_DST_PORT_TCP;
	}
	add(t, fields & src, &frame->outer.ports.src, 2);
	add(t, fields & dst, &frame->outer.ports.dst, 2);
}

/* Each bit of the data that is set adds the 32 bits of the key from there. */
static u32 toeplitz(const u8 *key, const struct tuple *t)
{
	u32 window = (u32)key[0] << 24 | key[1] << 16 | key[2] << 8 | key[3];
	u32 hash = 0, i;
	int bit;

	BUILD_BUG_ON(HASH_BYTES + sizeof(window) > UNIV_RX_HASH_KEY);
	for (i = 0; i < t->len; i++) {
		for (bit = 7; bit >= 0; bit--) {
			if (t->bytes[i] >> bit & 1)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> bit & 1);
		}
	}
	return hash;
}

u32 uroce_frame_hash(const struct uroce_rss *rss,
		     const struct uroce_frame *frame)
{
	struct tuple t = {};

	add_addresses(&t, rss->fields, frame);
	add_ports(&t, rss->fields, frame);
	return toeplitz(rss->key, &t);
}
