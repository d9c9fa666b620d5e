/* SPDX-License-Identifier: GPL-2.0 */
/* Inside the room of memory: pinned pages, and regions that consist of them. */
#ifndef UROCE_PIN_H
#define UROCE_PIN_H

#include <linux/refcount.h>

#include "mem.h"

struct uroce_watch;

/**
 * struct uroce_pin - pages of a process that were pinned by one call
 * @ref: references: of regions, and of the part that was pinned behind it
 * @umem: the RDMA core's state of these pages
 * @before: the part in front of it, or NULL
 * @depth: number of parts, with this one and those in front of it
 * @writable: the pages of all these parts were pinned for writing
 * @watch: the pages may be registered again; NULL if not
 *
 * A region consists of the part that it refers to, and of all parts in front of
 * it: each extension pins a further part. The parts do not change, so regions
 * can share them.
 */
struct uroce_pin {
	refcount_t ref;
	struct ib_umem *umem;
	struct uroce_pin *before;
	u32 depth;
	bool writable;
	struct uroce_watch *watch;
};

int uroce_pin_region(struct uroce_mr *mr, u64 start, u64 length);
int uroce_pin_share(struct uroce_mr *mr, const struct uroce_mr *of);
void uroce_pin_put(struct uroce_mr *mr);
void uroce_pin_free(struct uroce_pin *pin);

#endif
