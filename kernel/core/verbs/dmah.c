// SPDX-License-Identifier: GPL-2.0
/*
 * DMA handles: ibv_alloc_dmah(3). They contain hints for a PCI device, which
 * processor's cache its writes should reach (TPH). Software writes by a
 * processor, so the hints are checked as those of a device, and have no effect.
 */
#include <linux/cpumask.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "verbs.h"

#define DMAH_FIELDS (UNIV_DMAH_CPU | UNIV_DMAH_PH | UNIV_DMAH_MEM_TYPE)
/* A processing hint has two bits, and there are two types of memory. */
#define DMAH_PH_MAX 3
#define DMAH_MEM_TYPE_MAX 1

static int dmah_explain(struct univ_dmah_alloc *cmd, int err,
			enum univ_dmah_fault fault, u64 value, u64 bound)
{
	return univ_explain(&cmd->hdr, err, UNIV_REASON_DMAH, fault, value,
			    bound);
}

/*
 * A process must not direct data to the cache of a processor that it may not
 * use.
 */
static int check_cpu(struct univ_dmah_alloc *cmd)
{
	if (cmd->cpu >= nr_cpu_ids)
		return dmah_explain(cmd, -EINVAL, UNIV_DMAH_FAULT_CPU, cmd->cpu,
				    nr_cpu_ids);
	if (!cpumask_test_cpu(array_index_nospec(cmd->cpu, nr_cpu_ids),
			      current->cpus_ptr))
		return dmah_explain(cmd, -EPERM, UNIV_DMAH_FAULT_AFFINITY,
				    cmd->cpu, 0);
	return 0;
}

/* The processor and the type of memory are given together, or not at all. */
static int check_target(struct univ_dmah_alloc *cmd)
{
	const u32 target = UNIV_DMAH_CPU | UNIV_DMAH_MEM_TYPE;

	if (!(cmd->fields & target))
		return 0;
	if ((cmd->fields & target) != target)
		return dmah_explain(cmd, -EINVAL, UNIV_DMAH_FAULT_PARTIAL,
				    cmd->fields, 0);
	if (cmd->mem_type > DMAH_MEM_TYPE_MAX)
		return dmah_explain(cmd, -EOPNOTSUPP, UNIV_DMAH_FAULT_MEM_TYPE,
				    cmd->mem_type, DMAH_MEM_TYPE_MAX);
	return check_cpu(cmd);
}

static int dmah_check(struct univ_call *call, struct univ_dmah_alloc *cmd)
{
	if (!univ_queue_can(call->ctx->dev, UNIV_QUEUE_DMAH))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	if (cmd->fields & ~DMAH_FIELDS)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP, UNIV_REASON_FLAGS,
				    0, cmd->fields, DMAH_FIELDS);
	if (!(cmd->fields & UNIV_DMAH_PH))
		return dmah_explain(cmd, -EINVAL, UNIV_DMAH_FAULT_NO_PH, 0, 0);
	if (cmd->ph > DMAH_PH_MAX)
		return dmah_explain(cmd, -EINVAL, UNIV_DMAH_FAULT_PH, cmd->ph,
				    DMAH_PH_MAX);
	return check_target(cmd);
}

int univ_dmah_alloc_ioctl(struct univ_call *call, void *arg)
{
	struct univ_dmah_alloc *cmd = arg;
	struct univ_dmah *dmah;
	int ret = dmah_check(call, cmd);

	if (ret)
		return ret;
	dmah = kzalloc(sizeof(*dmah), GFP_KERNEL_ACCOUNT);
	if (!dmah)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	ret = univ_object_reserve(call->ctx, &dmah->obj, UNIV_OBJECT_DMAH,
				  &cmd->hdr);
	if (ret) {
		kfree(dmah);
		return ret;
	}
	cmd->handle = dmah->obj.handle;
	return univ_object_announce(call, &dmah->obj, univ_dmah_destroy);
}

int univ_dmah_destroy(struct univ_object *obj)
{
	return 0;
}

int univ_dmah_free_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_DMAH,
				   univ_dmah_destroy);
}

struct univ_dmah *univ_dmah_get(struct univ_context *ctx, u32 handle,
				struct univ_hdr *hdr)
{
	struct univ_object *obj;

	if (!handle)
		return NULL;
	obj = univ_object_get(ctx, handle, UNIV_OBJECT_DMAH, hdr);
	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_dmah, obj);
}

void univ_dmah_put(struct univ_dmah *dmah)
{
	if (dmah)
		univ_object_put(&dmah->obj);
}

/*
 * The hints are for pinned pages; mlx5, too, refuses them for on-demand paging.
 */
int univ_dmah_check_access(struct univ_hdr *hdr, u32 access)
{
	if (!(access & IB_ACCESS_ON_DEMAND))
		return 0;
	return univ_explain(hdr, -EOPNOTSUPP, UNIV_REASON_DMAH,
			    UNIV_DMAH_FAULT_ON_DEMAND, access, 0);
}

void univ_mr_use_dmah(struct univ_mr *mr, struct univ_dmah *dmah)
{
	mr->dmah = dmah;
	if (dmah)
		univ_object_depend(&dmah->obj);
}
