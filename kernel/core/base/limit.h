/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of the memory and the objects that processes make the kernel hold.
 * They are module parameters; a change takes effect from the next call on.
 * Other limits apply as well: RLIMIT_MEMLOCK for registered memory, the rdma
 * and memory cgroups, and the device's own limits.
 */
#ifndef UNIV_LIMIT_H
#define UNIV_LIMIT_H

#include <linux/types.h>

struct univ_context;
struct univ_device;
struct univ_hdr;

bool univ_limit_context(const struct univ_device *dev);
u32 univ_limit_objects(void);
u32 univ_limit_ring_pages(void);
int univ_limit_charge_rings(struct univ_context *ctx, size_t size,
			    struct univ_hdr *hdr);
void univ_limit_uncharge_rings(struct univ_context *ctx, size_t size);
int univ_limit_charge_poller(struct univ_hdr *hdr);
void univ_limit_uncharge_poller(void);

#endif
