/* SPDX-License-Identifier: GPL-2.0 */
/* Flows, for the files that work on them. */
#ifndef UNIV_FLOWS_H
#define UNIV_FLOWS_H

#include "flow.h"
#include "verbs.h"

struct univ_counters;

struct univ_flow {
	struct univ_object obj;
	struct ib_flow *ib;
	struct univ_qp *qp;		/* dependant of it */
	struct mutex lock;		/* changes of all members below */
	struct univ_flow_counts *counts;
	u32 used;			/* entries of @counters */
	struct univ_counters *counters[UNIV_COUNTERS_POINTS]; /* likewise */
};

/*
 * counters.c: the points of a new flow, which has those of its spec
 * %UNIV_FLOW_COUNT if there is one. Undone by univ_flow_counts_destroy(), after
 * the device has destroyed its flow.
 */
int univ_flow_counts_create(struct univ_flow *flow, struct univ_context *ctx,
			    struct univ_flow_create *cmd);
void univ_flow_counts_destroy(struct univ_flow *flow);

/*
 * flow_spec.c: checks the specs; writes them for the device, behind @attr,
 * which has room for one more.
 */
int univ_flow_specs_check(struct univ_flow_create *cmd);
void univ_flow_specs_fill(struct ib_flow_attr *attr,
			  const struct univ_flow_create *cmd,
			  struct univ_flow_counts *counts);

int univ_flow_explain(struct univ_hdr *hdr, int err, enum univ_flow_fault fault,
		      u64 value, u64 bound);

#endif
