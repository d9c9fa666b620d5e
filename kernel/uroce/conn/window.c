// SPDX-License-Identifier: GPL-2.0
/*
 * The number of packets that a requester may have in flight. The window doubles
 * in each round trip until a packet is lost. Then it is halved and grows by one
 * packet in each round trip, so that many queue pairs or a slow peer are not
 * flooded.
 */
#include "req.h"

#define WINDOW_FIRST	32
#define WINDOW_MIN	2
#define WINDOW_MAX	256

void uroce_window_start(struct uroce_requester *req)
{
	req->window = WINDOW_FIRST;
	req->calm = WINDOW_MAX;
	req->gained = 0;
	req->cut = req->una;
}

/* @packets packets were acknowledged. */
void uroce_window_gain(struct uroce_requester *req, u32 packets)
{
	/*
	 * Numbers that fall behind by half of the range would seem to be ahead.
	 */
	if (uroce_psn_diff(req->una, req->cut) > 0)
		req->cut = req->una;
	if (uroce_psn_diff(req->una, req->missing.lost_until) > 0)
		req->missing.lost_until = req->una;
	if (uroce_psn_diff(req->una, req->piece.from) > 0)
		req->piece.from = req->una;
	/*
	 * Below @calm the window grows by one for each packet; above it, by one
	 * for each window.
	 */
	req->gained += packets;
	while (req->window < req->calm && req->gained) {
		req->gained--;
		req->window++;
	}
	while (req->gained >= req->window) {
		req->gained -= req->window;
		req->window = min(req->window + 1, (u32)WINDOW_MAX);
	}
}

/*
 * Packets were lost or met congestion. All losses within one window count once.
 * A signal that arrives while nothing is in flight concerns earlier packets.
 * Such signals count once, until a later packet is acknowledged.
 */
void uroce_window_cut(struct uroce_requester *req)
{
	if (uroce_psn_diff(req->una, req->cut) < 0)
		return;
	req->cut = req->high;
	if (req->una == req->high)
		req->cut = uroce_psn_add(req->high, 1);
	req->calm = max(req->window / 2, (u32)WINDOW_MIN);
	req->window = req->calm;
	req->gained = 0;
}

/* The peer does not answer: begin again with the smallest window. */
void uroce_window_close(struct uroce_requester *req)
{
	req->cut = req->high;
	req->calm = max(req->window / 2, (u32)WINDOW_MIN);
	req->window = WINDOW_MIN;
	req->gained = 0;
}

/*
 * After a loss this many packets are sent one by one, in case the network drops
 * runs. The number doubles from CARE_FIRST up to CARE_MAX.
 */
#define CARE_FIRST	1024
#define CARE_MAX	(1 << 21)

/* Maximum number of packets in a run. */
#define RUN_PACKETS	64

/*
 * The packet of @psn was lost. If it was among the first that travelled in runs
 * again, a device on the way drops runs, and @span doubles, up to CARE_MAX, so
 * that runs become rare. If runs have arrived since the last loss, or the
 * packet travelled alone, the loss says nothing about runs.
 */
void uroce_care_begin(struct uroce_care *care, u32 psn)
{
	s32 past = uroce_psn_diff(psn, care->until);

	if (care->left == UROCE_CARE_ALWAYS)
		return;
	if (!care->span || (!care->left && past > RUN_PACKETS))
		care->span = CARE_FIRST;
	else if (!care->left && past >= 0)
		care->span = min(2 * care->span, (u32)CARE_MAX);
	care->left = care->span;
}

/* The number of retries is set, or has changed. */
void uroce_care_set(struct uroce_care *care, bool retries)
{
	if (!retries)
		care->left = UROCE_CARE_ALWAYS;
	else if (care->left == UROCE_CARE_ALWAYS)
		*care = (struct uroce_care){};
}
