/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The structs of uapi/univerbs.h that have grown since their first version. */
#ifndef FIRST_SIZE_H
#define FIRST_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "univerbs.h"

/* The size of the first version of a call's struct, or 0 if there is no other version. */
static inline uint32_t first_size(unsigned long cmd)
{
	switch (cmd) {
	case UNIV_CONTEXT_QUERY:
		return offsetof(struct univ_context_query, bell_offset);
	case UNIV_DEVICE_QUERY:
		return offsetof(struct univ_device_query, rate_limit_min);
	case UNIV_FLOW_CREATE:
		return offsetof(struct univ_flow_create, specs[8]);
	case UNIV_MR_REG:
		return offsetof(struct univ_mr_reg, dmah);
	case UNIV_MR_DMABUF_REG:
		return offsetof(struct univ_mr_dmabuf_reg, dmah);
	case UNIV_QP_CREATE:
		return offsetof(struct univ_qp_create, xrcd);
	case UNIV_QP_MODIFY:
		return offsetof(struct univ_qp_modify, max_send_wr);
	case UNIV_SRQ_CREATE:
		return offsetof(struct univ_srq_create, srq_type);
	case UNIV_SRQ_MODIFY:
		return offsetof(struct univ_srq_modify, map_offset);
	default:
		return 0;
	}
}

#endif
