// SPDX-License-Identifier: GPL-2.0
/*
 * Flow counters: ibv_create_counters(3). A point adds the frames of a flow, or
 * their bytes, to a value. The points of flows that will be created are kept in
 * the counters. Each flow has a list of points of its own, which changes by
 * replacement, because the device reads it under RCU.
 */
#include <linux/slab.h>

#include "flows.h"

/* Freed later than the points, as flows are destroyed before counters. */
struct values {
	struct rcu_head rcu;
	atomic64_t of[UNIV_COUNTERS_VALUES];
};

struct univ_counters {
	struct univ_object obj;
	struct values *values;
	struct mutex lock;		/* the members below */
	u32 bound;			/* flows that were created with them */
	u32 count;			/* entries of @points */
	struct univ_flow_point points[UNIV_COUNTERS_POINTS];
};

static struct univ_counters *counters_get(struct univ_context *ctx, u32 handle,
					  struct univ_hdr *hdr)
{
	struct univ_object *obj =
		univ_object_get(ctx, handle, UNIV_OBJECT_COUNTERS, hdr);

	return IS_ERR(obj) ? ERR_CAST(obj) :
			     container_of(obj, struct univ_counters, obj);
}

static struct univ_counters *counters_alloc(struct univ_hdr *hdr)
{
	struct univ_counters *counters =
		kzalloc(sizeof(*counters), GFP_KERNEL_ACCOUNT);

	if (counters)
		counters->values = kzalloc(sizeof(*counters->values),
					   GFP_KERNEL_ACCOUNT);
	if (counters && counters->values) {
		mutex_init(&counters->lock);
		return counters;
	}
	kfree(counters);
	return ERR_PTR(univ_explain_driver(hdr, -ENOMEM));
}

int univ_counters_create_ioctl(struct univ_call *call, void *arg)
{
	struct univ_counters_create *cmd = arg;
	struct univ_counters *counters;
	int ret;

	if (!univ_raw_offered(call->ctx->dev))
		return univ_explain_driver(&cmd->hdr, -EOPNOTSUPP);
	counters = counters_alloc(&cmd->hdr);
	if (IS_ERR(counters))
		return PTR_ERR(counters);
	ret = univ_object_reserve(call->ctx, &counters->obj,
				  UNIV_OBJECT_COUNTERS, &cmd->hdr);
	if (ret) {
		kfree(counters->values);
		kfree(counters);
		return ret;
	}
	cmd->handle = counters->obj.handle;
	return univ_object_announce(call, &counters->obj,
				    univ_counters_destroy);
}

/*
 * At the end of a context a driver may have refused to destroy a flow, which
 * continues to count. The values then stay in memory.
 */
int univ_counters_destroy(struct univ_object *obj)
{
	struct univ_counters *counters =
		container_of(obj, struct univ_counters, obj);

	if (atomic_read(&obj->dependants))
		return -EBUSY;
	kfree_rcu(counters->values, rcu);
	return 0;
}

int univ_counters_destroy_ioctl(struct univ_call *call, void *arg)
{
	return univ_object_destroy(call, arg, UNIV_OBJECT_COUNTERS,
				   univ_counters_destroy);
}

int univ_counters_read_ioctl(struct univ_call *call, void *arg)
{
	struct univ_counters_read *cmd = arg;
	struct univ_counters *counters =
		counters_get(call->ctx, cmd->handle, &cmd->hdr);
	u32 i;

	if (IS_ERR(counters))
		return PTR_ERR(counters);
	for (i = 0; i < UNIV_COUNTERS_VALUES; i++)
		cmd->values[i] = atomic64_read(&counters->values->of[i]);
	univ_object_put(&counters->obj);
	return 0;
}

/* ---- points -------------------------------------------------------------- */

static struct univ_flow_points *points_alloc(u32 count)
{
	struct univ_flow_points *points;

	points = kzalloc(struct_size(points, of, count), GFP_KERNEL_ACCOUNT);
	if (points)
		points->count = count;
	return points;
}

static void flow_uses(struct univ_flow *flow, struct univ_counters *counters)
{
	u32 i;

	for (i = 0; i < flow->used; i++)
		if (flow->counters[i] == counters)
			return;
	univ_object_depend(&counters->obj);
	flow->counters[flow->used++] = counters;
}

static int explain_full(struct univ_counters_attach *cmd)
{
	return univ_explain(&cmd->hdr, -ENOMEM, UNIV_REASON_LIMIT,
			    UNIV_LIMIT_COUNTERS_POINTS,
			    UNIV_COUNTERS_POINTS + 1, UNIV_COUNTERS_POINTS);
}

static int attach_later(struct univ_counters *counters,
			const struct univ_flow_point *point,
			struct univ_counters_attach *cmd)
{
	if (counters->bound)
		return univ_explain(&cmd->hdr, -EBUSY, UNIV_REASON_COUNTERS,
				    UNIV_COUNTERS_FAULT_BOUND, cmd->handle, 0);
	if (counters->count == UNIV_COUNTERS_POINTS)
		return explain_full(cmd);
	counters->points[counters->count++] = *point;
	return 0;
}

static int attach_now(struct univ_flow *flow, struct univ_counters *counters,
		      const struct univ_flow_point *point,
		      struct univ_counters_attach *cmd)
{
	struct univ_flow_points *old, *points;
	u32 count;

	old = rcu_dereference_protected(flow->counts->points,
					lockdep_is_held(&flow->lock));
	count = old ? old->count : 0;
	if (count == UNIV_COUNTERS_POINTS)
		return explain_full(cmd);
	points = points_alloc(count + 1);
	if (!points)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	if (old)
		memcpy(points->of, old->of, flex_array_size(old, of, count));
	points->of[count] = *point;
	flow_uses(flow, counters);
	rcu_assign_pointer(flow->counts->points, points);
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

static int attach_to_flow(struct univ_call *call,
			  struct univ_counters *counters,
			  const struct univ_flow_point *point,
			  struct univ_counters_attach *cmd)
{
	struct univ_object *obj = univ_object_get(call->ctx, cmd->flow,
						  UNIV_OBJECT_FLOW, &cmd->hdr);
	struct univ_flow *flow;
	int ret;

	if (IS_ERR(obj))
		return PTR_ERR(obj);
	flow = container_of(obj, struct univ_flow, obj);
	mutex_lock(&flow->lock);
	ret = attach_now(flow, counters, point, cmd);
	mutex_unlock(&flow->lock);
	univ_object_put(obj);
	return ret;
}

/* The lock orders an attachment for later flows and the first such flow. */
static int attach(struct univ_call *call, struct univ_counters *counters,
		  struct univ_counters_attach *cmd)
{
	const struct univ_flow_point point = {
		.value = &counters->values->of[cmd->index],
		.bytes = cmd->unit == UNIV_COUNTERS_BYTES,
	};
	int ret;

	if (cmd->flow)
		return attach_to_flow(call, counters, &point, cmd);
	mutex_lock(&counters->lock);
	ret = attach_later(counters, &point, cmd);
	mutex_unlock(&counters->lock);
	return ret;
}

int univ_counters_attach_ioctl(struct univ_call *call, void *arg)
{
	struct univ_counters_attach *cmd = arg;
	struct univ_counters *counters;
	int ret;

	if (cmd->unit > UNIV_COUNTERS_BYTES)
		return univ_explain(&cmd->hdr, -EOPNOTSUPP,
				    UNIV_REASON_COUNTERS,
				    UNIV_COUNTERS_FAULT_UNIT, cmd->unit, 0);
	if (cmd->index >= UNIV_COUNTERS_VALUES)
		return univ_explain_limit(&cmd->hdr, UNIV_LIMIT_COUNTERS_INDEX,
					  cmd->index, UNIV_COUNTERS_VALUES - 1);
	counters = counters_get(call->ctx, cmd->handle, &cmd->hdr);
	if (IS_ERR(counters))
		return PTR_ERR(counters);
	ret = attach(call, counters, cmd);
	univ_object_put(&counters->obj);
	return ret;
}

/* ---- flows --------------------------------------------------------------- */

static int count_in(struct univ_flow *flow, struct univ_counters *counters,
		    struct univ_flow_create *cmd, u32 index)
{
	struct univ_flow_points *points;

	if (!counters->count)
		return univ_flow_explain(&cmd->hdr, -EINVAL,
					 UNIV_FLOW_FAULT_NO_POINT,
					 counters->obj.handle, index);
	points = points_alloc(counters->count);
	if (!points)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	memcpy(points->of, counters->points,
	       flex_array_size(points, of, points->count));
	RCU_INIT_POINTER(flow->counts->points, points);
	flow_uses(flow, counters);
	flow->counts->by_spec = true;
	counters->bound++;
	return 0;
}

static int count_by_spec(struct univ_flow *flow, struct univ_context *ctx,
			 struct univ_flow_create *cmd, u32 index)
{
	struct univ_counters *counters =
		counters_get(ctx, cmd->specs[index].tag, &cmd->hdr);
	int ret;

	if (IS_ERR(counters))
		return PTR_ERR(counters);
	mutex_lock(&counters->lock);
	ret = count_in(flow, counters, cmd, index);
	mutex_unlock(&counters->lock);
	univ_object_put(&counters->obj);
	return ret;
}

int univ_flow_counts_create(struct univ_flow *flow, struct univ_context *ctx,
			    struct univ_flow_create *cmd)
{
	int ret = 0;
	u32 i;

	flow->counts = kzalloc(sizeof(*flow->counts), GFP_KERNEL_ACCOUNT);
	if (!flow->counts)
		return univ_explain_driver(&cmd->hdr, -ENOMEM);
	mutex_init(&flow->lock);
	for (i = 0; !ret && i < cmd->count; i++)
		if (cmd->specs[i].type == UNIV_FLOW_COUNT)
			ret = count_by_spec(flow, ctx, cmd, i);
	if (ret)
		kfree(flow->counts);
	return ret;
}

/* The counters of the spec are the first ones that the flow uses. */
static void count_out(struct univ_flow *flow)
{
	struct univ_counters *counters = flow->counters[0];

	mutex_lock(&counters->lock);
	counters->bound--;
	mutex_unlock(&counters->lock);
}

void univ_flow_counts_destroy(struct univ_flow *flow)
{
	struct univ_flow_points *points =
		rcu_dereference_protected(flow->counts->points, true);
	u32 i;

	if (flow->counts->by_spec)
		count_out(flow);
	for (i = 0; i < flow->used; i++)
		univ_object_undepend(&flow->counters[i]->obj);
	if (points)
		kfree_rcu(points, rcu);
	kfree_rcu(flow->counts, rcu);
}
