/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a driver with %UNIV_QUEUE_RAW counts the frames of flows. The core owns
 * the values and decides where a frame is counted, which may change while the
 * flow exists.
 */
#ifndef UNIV_FLOW_H
#define UNIV_FLOW_H

#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

/**
 * struct univ_flow_point - where the frames of a flow are counted
 * @value: the value to add to
 * @bytes: adds the bytes of a frame, and not 1
 */
struct univ_flow_point {
	atomic64_t *value;
	bool bytes;
};

/**
 * struct univ_flow_points - all points of a flow
 * @rcu: freed after a grace period
 * @count: number of entries of @of
 * @of: the points
 */
struct univ_flow_points {
	struct rcu_head rcu;
	u32 count;
	struct univ_flow_point of[];
};

/**
 * struct univ_flow_counts - the points of a flow, for its driver
 * @ib: the driver gets it in a spec %IB_FLOW_SPEC_ACTION_COUNT of each flow
 * @rcu: freed after a grace period that begins behind destroy_flow()
 * @by_spec: for the core: the flow was created with counters
 * @points: NULL for none
 */
struct univ_flow_counts {
	struct ib_counters ib;
	struct rcu_head rcu;
	bool by_spec;
	struct univ_flow_points __rcu *points;
};

/**
 * univ_flow_count() - count frames of a flow
 * @ib: of the flow's spec
 * @frames: their number
 * @bytes: their length
 *
 * Context: RCU. It may be called for one flow by several processors at once.
 */
static inline void univ_flow_count(struct ib_counters *ib, u32 frames,
				   u32 bytes)
{
	struct univ_flow_counts *counts =
		container_of(ib, struct univ_flow_counts, ib);
	const struct univ_flow_points *points = rcu_dereference(counts->points);
	u32 i;

	for (i = 0; points && i < points->count; i++)
		atomic64_add(points->of[i].bytes ? bytes : frames,
			     points->of[i].value);
}

#endif
