// SPDX-License-Identifier: GPL-2.0
/*
 * How many packets a requester has under way. The window doubles in each round
 * until something is lost, and then grows by a packet in each round from half of
 * what it was; so that many queue pairs, or a slow peer, do not drown each other.
 */
#include "conn.h"

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

/* So many packets were acknowledged */
void uroce_window_gain(struct uroce_requester *req, u32 packets)
{
	/* A cut that stayed half the circle behind would seem to be ahead */
	if (uroce_psn_diff(req->una, req->cut) > 0)
		req->cut = req->una;
	/* Below the calm, one for each that arrived; above, one for a whole window */
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

/* Packets were lost, or met congestion: what was under way then counts once */
void uroce_window_cut(struct uroce_requester *req)
{
	if (uroce_psn_diff(req->una, req->cut) < 0)
		return;
	req->cut = req->high;
	req->calm = max(req->window / 2, (u32)WINDOW_MIN);
	req->window = req->calm;
	req->gained = 0;
}

/* Nobody answers: begin again from nearly nothing */
void uroce_window_close(struct uroce_requester *req)
{
	req->cut = req->high;
	req->calm = max(req->window / 2, (u32)WINDOW_MIN);
	req->window = WINDOW_MIN;
	req->gained = 0;
}

/* So many packets go out one by one after one was lost, in case that runs get lost */
#define CARE_FIRST	1024
#define CARE_MAX	(1 << 21)

/* Sequence numbers of a run */
#define RUN_PACKETS	64

/*
 * The packet of @psn was lost. If it is one of the first that travelled in runs again,
 * something on the way takes runs for single packets, and they come back later each
 * time, which is never in the end. If runs have arrived since, it was a loss like any
 * other, and one that had gone alone says nothing of runs.
 */
void uroce_care_begin(struct uroce_care *care, u32 psn)
{
	s32 past = uroce_psn_diff(psn, care->until);

	if (!care->span || (!care->left && past > RUN_PACKETS))
		care->span = CARE_FIRST;
	else if (!care->left && past >= 0)
		care->span = min(2 * care->span, (u32)CARE_MAX);
	care->left = care->span;
}
