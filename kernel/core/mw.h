/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_MW_H
#define UNIV_MW_H

#include "object.h"

struct ib_mw;
struct univ_device;
struct univ_pd;

struct univ_mw {
	struct univ_object obj;
	struct ib_mw *ib;
	struct univ_pd *pd;		/* dependant of it */
};

bool univ_mw_offered(const struct univ_device *dev);
int univ_mw_alloc_ioctl(struct univ_call *call, void *arg);
int univ_mw_dealloc_ioctl(struct univ_call *call, void *arg);
int univ_mw_destroy(struct univ_object *obj);

#endif
