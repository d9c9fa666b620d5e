/* SPDX-License-Identifier: GPL-2.0 */
/* Attributes as the ABI has them and as kernel verbs have them. */
#ifndef UNIV_ATTR_H
#define UNIV_ATTR_H

#include <rdma/ib_verbs.h>

#include "univerbs.h"

struct univ_context;

int univ_ah_attr_in(struct univ_context *ctx, struct univ_ah_attr *attr,
		    struct rdma_ah_attr *ah, struct univ_hdr *hdr);
void univ_ah_attr_out(const struct rdma_ah_attr *ah, struct univ_ah_attr *attr);
void univ_qp_attr_in(const struct univ_qp_attr *attr, struct ib_qp_attr *ib);
void univ_qp_attr_out(const struct ib_qp_attr *ib, struct univ_qp_attr *attr);

#endif
