/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_PD_H
#define UNIV_PD_H

#include "object.h"

struct ib_pd;

struct univ_pd {
	struct univ_object obj;
	struct ib_pd *ib;
};

struct univ_pd *univ_pd_get(struct univ_context *ctx, u32 handle,
			    struct univ_hdr *hdr);
int univ_pd_alloc_ioctl(struct univ_call *call, void *arg);
int univ_pd_dealloc_ioctl(struct univ_call *call, void *arg);
int univ_pd_destroy(struct univ_object *obj);

#endif
