// SPDX-License-Identifier: GPL-2.0
/* The pace of the packets of one sender. */
#include <linux/ip.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/udp.h>

#include "queue.h"
#include "net.h"

/* Packets of the typical size that leave at once, by default. */
#define BURST 16

/*
 * The least burst. A sender that has used up its burst waits for half of it, so
 * its timer fires at most once in half this time.
 */
#define BURST_NS (100 * NSEC_PER_USEC)

/* Headers and checksum that are added to each packet below; of IPv4. */
#define BELOW (sizeof(struct iphdr) + sizeof(struct udphdr) + UROCE_ICRC_SIZE)

static u64 time_of(const struct uroce_pace *pace, u32 bytes)
{
	/* At 1 kbit/s each bit takes 1000000 ns. */
	return div_u64(bytes * 8000000ull, pace->kbps);
}

/*
 * A rate of 0 ends the limit. A burst of 0 is the default, which depends on the
 * size of the packets. A burst is never below a packet of the size @mtu, which
 * a process cannot choose. Packets that left before do not count.
 */
void uroce_pace_set(struct uroce_pace *pace, u32 mtu,
		    const struct univ_queue_rate *rate)
{
	u32 burst = rate->burst ?: BURST * (rate->packet ?: mtu);

	pace->kbps = rate->kbps;
	pace->next = 0;
	if (rate->kbps)
		pace->burst = max_t(u64, time_of(pace, max(burst, mtu)),
				    BURST_NS);
}

/*
 * A sender that has used up its burst waits for half of it, since a timer for
 * each packet would cost more than the packet.
 */
u64 uroce_pace_time(const struct uroce_pace *pace)
{
	u64 now = ktime_get_ns();

	if (pace->next <= now + pace->burst)
		return 0;
	return pace->next - now - pace->burst / 2;
}

/* The bytes of an IP packet that has @len bytes behind the UDP header. */
u32 uroce_pace_bytes(u32 len)
{
	return len + BELOW;
}

bool uroce_pace_count(struct uroce_pace *pace, u32 len)
{
	u64 now = ktime_get_ns();

	pace->next = max(pace->next, now) +
		     time_of(pace, uroce_pace_bytes(len));
	return pace->next > now + pace->burst;
}
