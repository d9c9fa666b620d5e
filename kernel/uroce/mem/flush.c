// SPDX-License-Identifier: GPL-2.0
/* Flushes of regions. */
#include "../dev/dev.h"
#include "mem.h"

/*
 * Executes a flush of a peer: of @len bytes from @addr on, or of the @whole
 * region. Returns false if the region does not grant @access. Windows grant no
 * flush.
 *
 * Regions are ordinary memory, which all processors and devices see alike. So
 * it is enough that the stores of earlier requests, which this processor has
 * executed or has seen under the responder's lock, are visible before the
 * answer is sent. No region is persistent, see univ_mr_check_access(). Context:
 * bottom halves off.
 */
bool uroce_mr_flush(struct ib_pd *pd, u32 key, u64 addr, u32 len, u32 access,
		    bool whole)
{
	struct uroce_mr_table *table =
		rcu_dereference_bh(to_udev(pd->device)->table);
	struct uroce_mr *mr;

	if (whole) {
		mr = uroce_mr_lookup(table, key >> 8);
		addr = mr ? READ_ONCE(mr->iova) : 0;
		len = 0;
	}
	mr = uroce_mr_get(pd, key, addr, len, access);
	if (!mr)
		return false;
	uroce_mr_put(mr);
	/* Not smp_mb(), since a device may be told of the answer. */
	mb();
	return true;
}
