/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Selective repeat, the state of both sides: a responder holds packets that
 * arrive behind a gap (held.c) and tells the requester which ones they are, and
 * the requester repeats the other ones (missing.c). Part of conn.h.
 */
#ifndef UROCE_REPEAT_H
#define UROCE_REPEAT_H

#include <linux/hrtimer.h>
#include <linux/skbuff.h>
#include <linux/timer.h>

#include "../net/net.h"

/**
 * struct uroce_missing - the packets that the peer misses
 * @known: the peer has shown that it holds packets behind a gap
 * @plain: acknowledgements without UROCE_BTH_SELECTIVE, counted up to
 *	PLAIN_ACKS
 * @armed: packets were repeated, and the peer has not acknowledged @mark
 * @due: @probe has found no progress; set by the timer and cleared by the
 *	requester
 * @probes: probes since the last progress
 * @slow: how often @wait is doubled now
 * @rounds: how often the packet @at was repeated without progress
 * @at: the oldest unacknowledged packet when @rounds and @probes were last
 *	changed
 * @mark: the first sequence number that had not been sent when the packets were
 *	repeated
 * @from: sequence number of bit 0 of @held
 * @next: the next packet to look at; all packets before it were repeated or are
 *	held
 * @request: index of the request of the last packet that was repeated. The
 *	search for the next one begins there: a process can have thousands of
 *	requests without packets before it
 * @end: the sequence number behind the last packet that the peer holds
 * @lost: packets that were repeated before @lost_until was acknowledged
 * @lost_until: the first sequence number that had not been sent when the first
 *	of them was repeated
 * @row: how many packets that one NAK named as missing follow one another
 * @held: the packets that the peer holds
 * @seen: the oldest unacknowledged packet when @probe last looked
 * @wait: nanoseconds without progress until the first probe
 * @probe: looks for progress
 */
struct uroce_missing {
	bool known;
	bool armed;
	bool due;
	u8 plain;
	u8 probes;
	u8 slow;
	u8 rounds;
	u32 at;
	u32 mark;
	u32 from;
	u32 next;
	u32 request;
	u32 end;
	u32 lost;
	u32 lost_until;
	u32 row;
	u64 held[UROCE_HELD_WORDS];
	u32 seen;
	u64 wait;
	struct hrtimer probe;
};

/**
 * struct uroce_held - packets that arrived behind a gap
 * @known: the peer has shown that it can repeat single packets
 * @expired: @expire has fired; set by the timer and cleared by the responder
 * @next: sequence number behind the last packet of @packets
 * @bytes: memory of @packets
 * @budget: bytes that all responders of the device hold
 * @packets: the packets, by sequence number
 * @expire: the packets were not executed in time
 */
struct uroce_held {
	bool known;
	bool expired;
	u32 next;
	u32 bytes;
	atomic_t *budget;
	struct sk_buff_head packets;
	struct timer_list expire;
};

/*
 * The most bytes of packets that a responder holds, all responders of a device,
 * and all responders of all devices.
 */
#define UROCE_HELD_BYTES	(4 << 20)
#define UROCE_HELD_DEVICE	(64 << 20)
#define UROCE_HELD_HOST		(256 << 20)

#endif
