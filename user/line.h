/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sentences of failures, each beside the function that records its reason:
 * fail_call.c, fail_post.c and fail_device.c; the rest is in explain.c.
 */
#ifndef UNIV_LINE_H
#define UNIV_LINE_H

#include <stddef.h>

#include "reason.h"

typedef unsigned long long ull;

/* A line under construction; what does not fit is cut. */
struct univ_line {
	char *text;
	size_t size;
	size_t used;
};

void univ_say(struct univ_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

typedef void univ_explainer(struct univ_line *line, const struct univ_failure *f);

/* fail_call.c */
univ_explainer univ_explain_size, univ_explain_flags, univ_explain_flags_missing,
	univ_explain_zero, univ_explain_limit, univ_explain_memory, univ_explain_handle,
	univ_explain_context, univ_explain_address, univ_explain_access, univ_explain_qp_type,
	univ_explain_gid_index, univ_explain_no_route, univ_explain_channel_busy,
	univ_explain_not_xrc, univ_explain_not_offered;

/* fail_post.c */
univ_explainer univ_explain_wr_opcode, univ_explain_wr_not_asked, univ_explain_wr_device,
	univ_explain_wr_batch, univ_explain_wr_sge, univ_explain_wr_inline, univ_explain_wr_ah,
	univ_explain_wr_key, univ_explain_mw_type, univ_explain_atomic, univ_explain_full,
	univ_explain_post_state, univ_explain_completion;

/* fail_device.c */
univ_explainer univ_explain_gone, univ_explain_no_module, univ_explain_no_device,
	univ_explain_no_verbs, univ_explain_node_permission, univ_explain_cgroup,
	univ_explain_driver_unchecked,
	univ_explain_unacknowledged, univ_explain_not_armed, univ_explain_unsignaled,
	univ_explain_no_timeout, univ_explain_left_objects, univ_explain_forked,
	univ_explain_qkey, univ_explain_recv_short;

#endif
