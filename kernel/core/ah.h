/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIV_AH_H
#define UNIV_AH_H

#include "object.h"

struct ib_ah;
struct univ_pd;

struct univ_ah {
	struct univ_object obj;
	struct ib_ah *ib;
	struct univ_pd *pd;		/* dependant of it */
};

int univ_ah_create_ioctl(struct univ_call *call, void *arg);
int univ_ah_destroy_ioctl(struct univ_call *call, void *arg);
int univ_ah_destroy(struct univ_object *obj);

#endif
