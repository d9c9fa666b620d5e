// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of the memory and the objects that processes make the kernel hold; see
 * limit.h.
 */
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>

#include "context.h"
#include "limit.h"
#include "reason.h"
#include "univerbs.h"

static unsigned int max_contexts = 16384;
module_param(max_contexts, uint, 0644);
MODULE_PARM_DESC(max_contexts, "open contexts of one device");

static unsigned int max_objects = 131072;
module_param(max_objects, uint, 0644);
MODULE_PARM_DESC(max_objects, "objects of one context");

static unsigned int max_ring_mib = 1024;
module_param(max_ring_mib, uint, 0644);
MODULE_PARM_DESC(max_ring_mib, "memory of one context's rings, in MiB");

static unsigned int max_device_ring_mib;
module_param(max_device_ring_mib, uint, 0644);
MODULE_PARM_DESC(max_device_ring_mib,
		 "memory of one device's rings, in MiB (0: a quarter of RAM)");

static unsigned int max_pollers;
module_param(max_pollers, uint, 0644);
MODULE_PARM_DESC(max_pollers,
		 "poller threads of all processes (0: one for each two CPUs)");

static atomic_t pollers = ATOMIC_INIT(0);

/*
 * Returns whether one more context may be opened. Context: dev->lock is held.
 */
bool univ_limit_context(const struct univ_device *dev)
{
	lockdep_assert_held(&dev->lock);
	return dev->num_contexts < READ_ONCE(max_contexts);
}

/*
 * Returns how many objects a context may have: at least 1, at most all handles.
 */
u32 univ_limit_objects(void)
{
	return clamp_t(u32, READ_ONCE(max_objects), 1, UNIV_KICK_HANDLE);
}

static u64 limit_bytes(unsigned int mib)
{
	return (u64)mib << 20;
}

static u64 limit_device(void)
{
	unsigned int mib = READ_ONCE(max_device_ring_mib);

	if (mib)
		return limit_bytes(mib);
	return (u64)totalram_pages() << PAGE_SHIFT >> 2;
}

/* Returns how many pages of ring memory a context may have. */
u32 univ_limit_ring_pages(void)
{
	u64 bytes = min(limit_bytes(READ_ONCE(max_ring_mib)), limit_device());

	return min_t(u64, bytes >> PAGE_SHIFT, U32_MAX);
}

/*
 * Adds @size to @used unless the sum passes @limit. Two callers that race for
 * the last bytes may both be refused.
 */
static bool limit_add(atomic_long_t *used, size_t size, u64 limit)
{
	if ((u64)atomic_long_add_return(size, used) <= limit)
		return true;
	atomic_long_sub(size, used);
	return false;
}

static int limit_refuse(struct univ_hdr *hdr, size_t size, atomic_long_t *used,
			u64 limit)
{
	u64 held = atomic_long_read(used);

	return univ_explain(hdr, -ENOMEM, UNIV_REASON_LIMIT, UNIV_LIMIT_RINGS,
			    size, held < limit ? limit - held : 0);
}

/*
 * Charges @size bytes of ring memory to the context and its device. Any
 * context.
 * Returns 0 or -ENOMEM, with the bytes that are left as the reason's bound.
 * Undone by univ_limit_uncharge_rings().
 */
int univ_limit_charge_rings(struct univ_context *ctx, size_t size,
			    struct univ_hdr *hdr)
{
	u64 own = limit_bytes(READ_ONCE(max_ring_mib));
	u64 all = limit_device();

	if (!limit_add(&ctx->ring_bytes, size, own))
		return limit_refuse(hdr, size, &ctx->ring_bytes, own);
	if (limit_add(&ctx->dev->ring_bytes, size, all))
		return 0;
	atomic_long_sub(size, &ctx->ring_bytes);
	return limit_refuse(hdr, size, &ctx->dev->ring_bytes, all);
}

void univ_limit_uncharge_rings(struct univ_context *ctx, size_t size)
{
	atomic_long_sub(size, &ctx->ring_bytes);
	atomic_long_sub(size, &ctx->dev->ring_bytes);
}

static u32 limit_pollers(void)
{
	unsigned int max = READ_ONCE(max_pollers);

	return max ? max : DIV_ROUND_UP(num_online_cpus(), 2);
}

/* Charges one more poller. Returns 0 or -EAGAIN. */
int univ_limit_charge_poller(struct univ_hdr *hdr)
{
	u32 max = limit_pollers();
	u32 now = atomic_inc_return(&pollers);

	if (now <= max)
		return 0;
	atomic_dec(&pollers);
	return univ_explain(hdr, -EAGAIN, UNIV_REASON_LIMIT,
			    UNIV_LIMIT_POLLERS, now, max);
}

void univ_limit_uncharge_poller(void)
{
	atomic_dec(&pollers);
}
