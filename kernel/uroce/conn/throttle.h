/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate of a sender that no window limits: packets of UC, and responses to a
 * requester that does not limit them itself. Part of conn.h.
 */
#ifndef UROCE_THROTTLE_H
#define UROCE_THROTTLE_H

#include "../net/net.h"

/**
 * struct uroce_throttle - how a sender reacts to congestion notifications
 * @pace: the rate; its limit of 0 says that there is no congestion
 * @cut: when the rate was last cut, by the monotonic clock
 * @sent: bytes since then
 * @busy: nanoseconds since then in which packets left, without longer pauses
 * @last: when the last packet left
 * @calm: periods since then by which the rate has grown
 * @mtu: path MTU
 *
 * The owner serialises access.
 */
struct uroce_throttle {
	struct uroce_pace pace;
	u64 cut;
	u64 sent;
	u64 busy;
	u64 last;
	u32 calm;
	u32 mtu;
};

void uroce_throttle_cut(struct uroce_throttle *t, u32 mtu);
u64 uroce_throttle_time(struct uroce_throttle *t);
void uroce_throttle_count(struct uroce_throttle *t, u32 len);

/* During the first measurement the rate is this one. */
#define UROCE_THROTTLE_OPEN U32_MAX

/* Is a rate in force or measured? */
static inline bool uroce_throttle_on(const struct uroce_throttle *t)
{
	return unlikely(uroce_pace_limits(&t->pace));
}

static inline bool uroce_throttle_limits(const struct uroce_throttle *t)
{
	return uroce_throttle_on(t) && t->pace.kbps != UROCE_THROTTLE_OPEN;
}

static inline void uroce_throttle_end(struct uroce_throttle *t)
{
	t->pace = (struct uroce_pace){};
}

/* The nanoseconds to wait before the next packet. */
static inline u64 uroce_throttle_wait(struct uroce_throttle *t)
{
	return uroce_throttle_on(t) ? uroce_throttle_time(t) : 0;
}

/* A packet of @len bytes behind the UDP header leaves. */
static inline void uroce_throttle_take(struct uroce_throttle *t, u32 len)
{
	if (uroce_throttle_on(t))
		uroce_throttle_count(t, len);
}

#endif
