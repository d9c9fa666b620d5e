/* SPDX-License-Identifier: GPL-2.0 */
/* Packets that are sent one by one after a loss. Part of conn.h. */
#ifndef UROCE_CARE_H
#define UROCE_CARE_H

#include "../net/net.h"

/*
 * A value of uroce_care.left: a requester without retries cannot find out
 * whether runs arrive, so it sends none.
 */
#define UROCE_CARE_ALWAYS U32_MAX

/**
 * struct uroce_care - after a loss, the packets that are sent one by one
 * @alone: any packet is sent alone at the moment
 * @left: number of packets still to be sent one by one, or UROCE_CARE_ALWAYS
 * @span: value of @left after the last loss; 0: no loss yet
 * @until: the first sequence number that may have travelled in a run since
 */
struct uroce_care {
	bool alone;
	u32 left;
	u32 span;
	u32 until;
};

/*
 * Is the packet of @psn to be sent alone? @until is set when the last of them
 * is sent, since packets that are sent again count as well.
 */
static inline bool uroce_care_alone(struct uroce_care *care, u32 psn)
{
	if (likely(!care->left))
		return care->alone;
	if (care->left != UROCE_CARE_ALWAYS && !--care->left)
		care->until = uroce_psn_add(psn, 1);
	return true;
}

/* window.c. Context: the lock of the requester or responder. */
void uroce_care_set(struct uroce_care *care, bool retries);
void uroce_care_begin(struct uroce_care *care, u32 psn);

#endif
