/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_REASON_H
#define UNIV_REASON_H

#include <linux/types.h>

#include "univerbs.h"

/*
 * The one way to fail a call: stores why in the head that goes back to the
 * process and returns @err, so that a check is one line.
 */
static inline int univ_explain(struct univ_hdr *hdr, int err,
			       enum univ_reason reason, u32 detail, u64 value,
			       u64 bound)
{
	hdr->reason = reason;
	hdr->detail = detail;
	hdr->value = value;
	hdr->bound = bound;
	return err;
}

int univ_explain_driver(struct univ_hdr *hdr, int err);
int univ_explain_limit(struct univ_hdr *hdr, enum univ_limit limit, u64 asked,
		       u64 bound);

#endif
