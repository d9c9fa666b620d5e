// SPDX-License-Identifier: GPL-2.0
/*
 * The rate of a sender that no window limits. The first congestion notification
 * begins a measurement of the rate at which packets leave. Later ones halve the
 * rate, at most once in each period, since queues on the way need some time to
 * drain. In each period without one it grows by the same amount for all senders
 * with the same path MTU, so that these converge to equal shares, and this
 * amount doubles every few periods. As in DCQCN, no acknowledgement is needed.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "queue.h"
#include "throttle.h"

#define PERIOD_NS (10 * NSEC_PER_MSEC)

/* After this many periods without a notification the limit ends. */
#define PERIODS 100

/* The growth doubles after this many periods. */
#define DOUBLING 4

/* The least rate, and the first growth: a packet in a period. */
static u32 least(const struct uroce_throttle *t)
{
	return t->mtu * BITS_PER_BYTE * (NSEC_PER_SEC / PERIOD_NS) / 1000;
}

static void set_rate(struct uroce_throttle *t, u64 kbps)
{
	const struct univ_queue_rate rate = {
		.kbps = min_t(u64, kbps, UROCE_THROTTLE_OPEN),
		.burst = t->mtu,
	};
	u64 next = t->pace.next;

	uroce_pace_set(&t->pace, t->mtu, &rate);
	t->pace.next = next;
}

static void grow(struct uroce_throttle *t, u64 now)
{
	u64 periods = div_u64(now - t->cut, PERIOD_NS), kbps = t->pace.kbps;

	if (t->calm >= periods)
		return;
	if (periods > PERIODS) {
		uroce_throttle_end(t);
		return;
	}
	while (t->calm < periods)
		kbps += (u64)least(t) << t->calm++ / DOUBLING;
	set_rate(t, kbps);
}

/* The rate of packets since the last cut, in kbit/s. A pause does not count. */
static u64 measured(const struct uroce_throttle *t)
{
	return div64_u64(t->sent * 8000000, max_t(u64, t->busy, PERIOD_NS));
}

/*
 * A notification of congestion has arrived. It is ignored while the last cut is
 * too recent to have an effect, and if nothing was sent since.
 */
void uroce_throttle_cut(struct uroce_throttle *t, u32 mtu)
{
	u64 now = ktime_get_ns(), kbps = UROCE_THROTTLE_OPEN;

	if (uroce_throttle_on(t))
		grow(t, now);
	if (uroce_throttle_on(t)) {
		if (!t->calm || !t->sent)
			return;
		kbps = min_t(u64, t->pace.kbps, measured(t)) / 2;
	}
	t->mtu = mtu;
	t->cut = now;
	t->last = now;
	t->sent = 0;
	t->busy = 0;
	t->calm = 0;
	set_rate(t, max_t(u64, kbps, least(t)));
}

u64 uroce_throttle_time(struct uroce_throttle *t)
{
	grow(t, ktime_get_ns());
	return uroce_pace_wait(&t->pace);
}

void uroce_throttle_count(struct uroce_throttle *t, u32 len)
{
	u64 now = ktime_get_ns();

	t->sent += uroce_pace_bytes(len);
	t->busy += min_t(u64, now - t->last, PERIOD_NS);
	t->last = now;
	uroce_pace_count(&t->pace, len);
}
