/* SPDX-License-Identifier: GPL-2.0 */
/* The pace of the packets of one sender: ibv_modify_qp_rate_limit(3). */
#ifndef UROCE_PACE_H
#define UROCE_PACE_H

#include <linux/compiler.h>
#include <linux/types.h>

struct univ_queue_rate;

/**
 * struct uroce_pace - how fast packets may leave
 * @kbps: 1000 bits in each second; 0: no limit
 * @burst: nanoseconds that @kbps needs for the bytes that may leave at once
 * @next: time of the monotonic clock at which all packets so far have left, at
 *	this rate
 *
 * A packet may leave if @next is at most @burst ahead. So in any time the
 * packets exceed the rate by a burst and a packet at most, and a sender that
 * was idle has saved up no more. The owner serialises access.
 */
struct uroce_pace {
	u32 kbps;
	u64 burst;
	u64 next;
};

void uroce_pace_set(struct uroce_pace *pace, u32 mtu,
		    const struct univ_queue_rate *rate);
u64 uroce_pace_time(const struct uroce_pace *pace);
u32 uroce_pace_bytes(u32 len);
bool uroce_pace_count(struct uroce_pace *pace, u32 len);

static inline bool uroce_pace_limits(const struct uroce_pace *pace)
{
	return pace && pace->kbps;
}

/* The nanoseconds to wait before the next packet. */
static inline u64 uroce_pace_wait(const struct uroce_pace *pace)
{
	return likely(!uroce_pace_limits(pace)) ? 0 : uroce_pace_time(pace);
}

/*
 * A packet of @len bytes behind the UDP header leaves. Returns true if the next
 * one has to wait.
 */
static inline bool uroce_pace_take(struct uroce_pace *pace, u32 len)
{
	return unlikely(uroce_pace_limits(pace)) && uroce_pace_count(pace, len);
}

#endif
